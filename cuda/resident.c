/* resident.c: training with the network on the device. Buffers are allocated once; per sample its pixels go in, a
 * kernel a layer runs, the scores come out, the loss and its gradient are computed on the CPU, the gradient goes in,
 * and a kernel a layer runs again, backward and for the update.
 *
 * The copies are small and the host waits for each sample's scores: the time is latency, not work.
 */
#include "resident.h"

#include "course.h"
#include "evaluate.h"

/* Room in a buffer for floats. */
static int room(struct lm_gpu_session *s, enum lm_gpu_buffer_name name, size_t floats, float **to, struct lm_error *err)
{
    void *memory = NULL;
    int code = lm_gpu_reserve(s, name, floats * sizeof(float), &memory, err);
    *to = memory;
    return code;
}

int lm_resident_begin(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, size_t n,
                      struct lm_resident *net, struct lm_error *err)
{
    size_t width1 = LM_ROUND4(shape.hidden1), width2 = LM_ROUND4(shape.hidden2);
    int code;
    net->layout = lm_gpu_layout_of(shape);
    if ((code = room(s, LM_GPU_PARAMETERS, net->layout.floats, &net->parameters, err)) != LM_OK ||
        (code = room(s, LM_GPU_X, n * LM_PIXELS, &net->x, err)) != LM_OK ||
        (code = room(s, LM_GPU_HIDDEN1, n * width1, &net->a1, err)) != LM_OK ||
        (code = room(s, LM_GPU_HIDDEN2, n * width2, &net->a2, err)) != LM_OK ||
        (code = room(s, LM_GPU_OUT, n * LM_CLASSES, &net->scores, err)) != LM_OK ||
        (code = room(s, LM_GPU_DELTA1, width1, &net->d1, err)) != LM_OK ||
        (code = room(s, LM_GPU_DELTA2, width2, &net->d2, err)) != LM_OK ||
        (code = room(s, LM_GPU_DELTA3, LM_CLASSES + 1, &net->e, err)) != LM_OK)
        return code;
    code = lm_gpu_clear(s, net->e, (LM_CLASSES + 1) * sizeof(float), err); /* its padding; the rest is copied in */
    if (code == LM_OK)
        code = lm_gpu_copy_in(s, net->parameters, packed, net->layout.floats * sizeof(float), err);
    return code;
}

int lm_resident_forward(struct lm_gpu_session *s, const struct lm_resident *net, size_t n, int activation,
                        lm_layer_launch launch, uint32_t block, struct lm_error *err)
{
    const float *in[LM_LAYERS] = {net->x, net->a1, net->a2};
    float *out[LM_LAYERS] = {net->a1, net->a2, net->scores};
    int code = LM_OK;
    for (int l = 0; l < LM_LAYERS && code == LM_OK; l++) {
        const struct lm_gpu_layer *layer = &net->layout.layer[l];
        int last = l == LM_LAYERS - 1;
        struct lm_gpu_forward f = {.layer = *layer,
                                   .parameters = net->parameters,
                                   .x = in[l],
                                   .out = out[l],
                                   .n = (uint32_t)n,
                                   .x_pitch = LM_ROUND4(layer->inputs),
                                   .columns = last ? LM_CLASSES : LM_ROUND4(layer->outputs),
                                   .activation = last ? activation : LM_GPU_RELU};
        code = LM_GPU_LAUNCH(s, launch(f, block, s->stream), "forward", err);
    }
    return code;
}

/* ---- training ---- */

static int delta(struct lm_gpu_session *s, const struct lm_resident *net, int l, const float *next_delta,
                 const float *activation, float *delta, uint32_t block, struct lm_error *err)
{
    struct lm_gpu_delta d = {net->layout.layer[l + 1], net->parameters, next_delta, activation, delta};
    return LM_GPU_LAUNCH(s, lm_launch_delta(d, block, s->stream), "delta", err);
}

static int update(struct lm_gpu_session *s, const struct lm_resident *net, int l, const float *delta, const float *x,
                  float rate, uint32_t block, struct lm_error *err)
{
    struct lm_gpu_update u = {net->layout.layer[l], net->parameters, delta, x, rate};
    return LM_GPU_LAUNCH(s, lm_launch_update(u, block, s->stream), "update", err);
}

static int backward(struct lm_gpu_session *s, const struct lm_resident *net, float rate, uint32_t block,
                    struct lm_error *err)
{
    int code;
    if ((code = delta(s, net, 1, net->e, net->a2, net->d2, block, err)) != LM_OK ||
        (code = delta(s, net, 0, net->d2, net->a1, net->d1, block, err)) != LM_OK ||
        (code = update(s, net, 2, net->e, net->a2, rate, block, err)) != LM_OK ||
        (code = update(s, net, 1, net->d2, net->a1, rate, block, err)) != LM_OK)
        return code;
    return update(s, net, 0, net->d1, net->x, rate, block, err);
}

static int step(struct lm_gpu_session *s, const struct lm_gpu_course *c, const struct lm_resident *net, uint32_t sample,
                double *sum, struct lm_error *err)
{
    float scores[LM_CLASSES], e[LM_CLASSES];
    int label = c->samples->label[sample];
    uint32_t block = c->trial->block;
    int code;
    if ((code = lm_gpu_copy_in(s, net->x, c->samples->x + (size_t)sample * LM_PIXELS, LM_PIXELS * sizeof(float),
                               err)) != LM_OK ||
        (code = lm_resident_forward(s, net, 1, LM_GPU_LINEAR, lm_launch_forward, block, err)) != LM_OK ||
        (code = lm_gpu_copy_out(s, scores, net->scores, sizeof scores, err)) != LM_OK)
        return code;
    for (int i = 0; i < LM_CLASSES; i++)
        e[i] = scores[i] - (i == label ? 1.0f : 0.0f);
    *sum += lm_sample_loss(scores, label);
    if ((code = lm_gpu_copy_in(s, net->e, e, sizeof e, err)) != LM_OK)
        return code;
    return backward(s, net, c->rate, block, err);
}

static int epoch(struct lm_gpu_session *s, struct lm_gpu_course *c, const struct lm_resident *net, double *sum,
                 struct lm_error *err)
{
    int code = LM_OK;
    for (size_t k = 0; k < c->order.n && code == LM_OK; k++) {
        code = step(s, c, net, c->order.index[k], sum, err);
        lm_gpu_tick(&c->ticker);
        if (code == LM_OK)
            code = lm_gpu_course_goes_on(c, err);
    }
    return code;
}

int lm_gpu_train_resident(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err)
{
    struct lm_resident net;
    int ended = 0, code = lm_resident_begin(s, course->trial->shape, course->packed, 1, &net, err);
    while (code == LM_OK && !ended) {
        double sum = 0.0;
        lm_order_next(&course->order);
        code = epoch(s, course, &net, &sum, err);
        ended = code == LM_OK && lm_gpu_course_epoch(course, sum);
    }
    if (code == LM_OK)
        code = lm_gpu_copy_out(s, course->packed, net.parameters, net.layout.floats * sizeof(float), err);
    return code;
}
