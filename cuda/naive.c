/* naive.c: training the way a first port does it: each layer's call allocates memory on the device, copies its inputs
 * and weights in, launches, copies its result out, and frees the memory. The network lives on the host.
 *
 * It is here to be measured: almost all of its time goes into calls that compute nothing. Eight such calls a sample:
 * three layers forward, two backward, three updates.
 */
#include "naive.h"

#include <string.h>

#include "course.h"
#include "evaluate.h"

/* ---- one call's memory on the device ---- */

#define MOST_ARRAYS 4

struct call {
    struct lm_gpu_session *s;
    void *memory[MOST_ARRAYS];
    int arrays;
    int code;
    struct lm_error *err;
};

/* Memory of the device with a copy of floats from the host; NULL: only room. After a failure: nothing. */
static float *bring(struct call *call, const float *from, size_t floats)
{
    void *memory = NULL;
    if (call->code != LM_OK)
        return NULL;
    call->code = lm_gpu_allocate(call->s, floats * sizeof(float), &memory, call->err);
    call->memory[call->arrays++] = memory;
    if (call->code == LM_OK && from)
        call->code = lm_gpu_copy_in(call->s, memory, from, floats * sizeof(float), call->err);
    return memory;
}

static void fetch(struct call *call, float *to, const float *from, size_t floats)
{
    if (call->code == LM_OK)
        call->code = lm_gpu_copy_out(call->s, to, from, floats * sizeof(float), call->err);
}

static int end(struct call *call)
{
    struct lm_error later;
    for (int k = 0; k < call->arrays; k++) {
        int code = lm_gpu_free(call->s, call->memory[k], call->code == LM_OK ? call->err : &later);
        call->code = call->code == LM_OK ? code : call->code;
    }
    return call->code;
}

/* ---- layers ---- */

/* The layer as it lies in a copy of its own. */
static struct lm_gpu_layer alone(const struct lm_gpu_layer *layer)
{
    struct lm_gpu_layer copy = *layer;
    copy.weights = 0;
    copy.biases = layer->biases - layer->weights;
    return copy;
}

static size_t floats_of(const struct lm_gpu_layer *layer)
{
    return (size_t)LM_ROUND4(layer->outputs) * (layer->pitch + 1);
}

int lm_naive_forward(struct lm_gpu_session *s, const struct lm_gpu_layer *layer, const float *packed, const float *x,
                     uint32_t columns, int activation, uint32_t block, float *out, struct lm_error *err)
{
    struct call call = {.s = s, .err = err};
    struct lm_gpu_forward f = {.layer = alone(layer), .n = 1, .columns = columns, .activation = activation};
    f.x_pitch = LM_ROUND4(layer->inputs);
    f.x = bring(&call, x, f.x_pitch);
    f.parameters = bring(&call, packed + layer->weights, floats_of(layer));
    f.out = bring(&call, NULL, columns);
    if (call.code == LM_OK)
        call.code = LM_GPU_LAUNCH(s, lm_launch_forward(f, block, s->stream), "forward", err);
    fetch(&call, out, f.out, columns);
    return end(&call);
}

static int delta_call(struct lm_gpu_session *s, const struct lm_gpu_layer *next, const float *packed,
                      const float *next_delta, const float *activation, uint32_t block, float *delta,
                      struct lm_error *err)
{
    struct call call = {.s = s, .err = err};
    struct lm_gpu_delta d = {.next = alone(next)};
    size_t width = LM_ROUND4(next->inputs);
    d.parameters = bring(&call, packed + next->weights, floats_of(next));
    d.next_delta = bring(&call, next_delta, LM_ROUND4(next->outputs));
    d.activation = bring(&call, activation, width);
    d.delta = bring(&call, NULL, width);
    if (call.code == LM_OK)
        call.code = LM_GPU_LAUNCH(s, lm_launch_delta(d, block, s->stream), "delta", err);
    fetch(&call, delta, d.delta, width);
    return end(&call);
}

static int update_call(struct lm_gpu_session *s, const struct lm_gpu_layer *layer, float *packed, const float *delta,
                       const float *x, float rate, uint32_t block, struct lm_error *err)
{
    struct call call = {.s = s, .err = err};
    struct lm_gpu_update u = {.layer = alone(layer), .rate = rate};
    u.parameters = bring(&call, packed + layer->weights, floats_of(layer));
    u.delta = bring(&call, delta, LM_ROUND4(layer->outputs));
    u.x = bring(&call, x, LM_ROUND4(layer->inputs));
    if (call.code == LM_OK)
        call.code = LM_GPU_LAUNCH(s, lm_launch_update(u, block, s->stream), "update", err);
    fetch(&call, packed + layer->weights, u.parameters, floats_of(layer));
    return end(&call);
}

/* ---- training ---- */

/* What a step keeps on the host, padded to whole groups of four. */
struct step {
    float a1[LM_MAX_HIDDEN], a2[LM_MAX_HIDDEN], scores[LM_CLASSES];
    float d1[LM_MAX_HIDDEN], d2[LM_MAX_HIDDEN], e[LM_CLASSES + 1];
};

static int forward(struct lm_gpu_session *s, struct lm_gpu_course *c, const float *x, struct step *step,
                   struct lm_error *err)
{
    const struct lm_gpu_layer *layer = c->layout.layer;
    uint32_t block = c->trial->block;
    int code =
        lm_naive_forward(s, &layer[0], c->packed, x, LM_ROUND4(layer[0].outputs), LM_GPU_RELU, block, step->a1, err);
    if (code == LM_OK)
        code = lm_naive_forward(s, &layer[1], c->packed, step->a1, LM_ROUND4(layer[1].outputs), LM_GPU_RELU, block,
                                step->a2, err);
    if (code == LM_OK)
        code = lm_naive_forward(s, &layer[2], c->packed, step->a2, LM_CLASSES, LM_GPU_LINEAR, block, step->scores, err);
    return code;
}

static int backward(struct lm_gpu_session *s, struct lm_gpu_course *c, const float *x, struct step *step,
                    struct lm_error *err)
{
    const struct lm_gpu_layer *layer = c->layout.layer;
    uint32_t block = c->trial->block;
    int code = delta_call(s, &layer[2], c->packed, step->e, step->a2, block, step->d2, err);
    if (code == LM_OK)
        code = delta_call(s, &layer[1], c->packed, step->d2, step->a1, block, step->d1, err);
    if (code == LM_OK)
        code = update_call(s, &layer[2], c->packed, step->e, step->a2, c->rate, block, err);
    if (code == LM_OK)
        code = update_call(s, &layer[1], c->packed, step->d2, step->a1, c->rate, block, err);
    if (code == LM_OK)
        code = update_call(s, &layer[0], c->packed, step->d1, x, c->rate, block, err);
    return code;
}

static int epoch(struct lm_gpu_session *s, struct lm_gpu_course *c, double *sum, struct lm_error *err)
{
    struct step step = {.e = {0}};
    int code = LM_OK;
    for (size_t k = 0; k < c->order.n && code == LM_OK; k++) {
        uint32_t sample = c->order.index[k];
        const float *x = c->samples->x + (size_t)sample * LM_PIXELS;
        int label = c->samples->label[sample];
        if ((code = forward(s, c, x, &step, err)) != LM_OK)
            break;
        for (int i = 0; i < LM_CLASSES; i++)
            step.e[i] = step.scores[i] - (i == label ? 1.0f : 0.0f);
        *sum += lm_sample_loss(step.scores, label);
        code = backward(s, c, x, &step, err);
        lm_gpu_tick(&c->ticker);
        if (code == LM_OK)
            code = lm_gpu_course_goes_on(c, err);
    }
    return code;
}

int lm_gpu_train_naive(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err)
{
    int code, ended;
    do {
        double sum = 0.0;
        lm_order_next(&course->order);
        code = epoch(s, course, &sum, err);
        ended = code != LM_OK || lm_gpu_course_epoch(course, sum);
    } while (!ended);
    return code;
}
