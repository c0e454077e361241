/* block.c: training by one block that does many steps a launch (train_kernel.cuh): `batch`, an epoch a launch, and
 * `whole`, all epochs in one.
 *
 * Their only difference is how many epochs' orders are made and sent at once. A launch must end in about a second,
 * though: the driver of a GPU with a screen kills longer ones, and nobody is heard while one runs to a limit of time.
 * So `whole` takes as many whole epochs as it expects to fit, and an epoch that alone is too long is done in parts.
 * What a step costs is guessed at first, pessimistically, and then measured.
 */
#include <stdlib.h>
#include <string.h>

#include "course.h"

/* A launch is planned for so long. */
#define SECONDS_A_LAUNCH 1.0
/* Indices sent at once, 64 MB of them at most. */
#define MOST_INDICES ((size_t)16 << 20)

struct block_run {
    struct lm_gpu_training training; /* what all launches of the trial share */
    size_t shared;
    double step_seconds;
    uint32_t *order; /* owned: of the epochs of one launch */
    double *sums;    /* owned: of their losses */
    size_t epochs;   /* room for so many */
};

/* ---- before the first epoch ---- */

/* Shared memory from 48 KiB on, what the kernel has by itself included, must be asked for. */
static int allow_shared(const struct lm_gpu_session *s, struct lm_shape shape, size_t bytes, struct lm_error *err)
{
    size_t fixed = 0;
    char network[LM_SHAPE_TEXT];
    lm_shape_text(shape, network);
    cudaError_t result = lm_train_fixed_shared(&fixed);
    if (result == cudaSuccess && fixed + bytes > s->block_shared)
        return lm_fail(err, LM_FAILED,
                       "shared memory: %s needs %zu bytes in one block, this GPU has %zu; gpu:resident can train it",
                       network, fixed + bytes, s->block_shared);
    if (result == cudaSuccess && fixed + bytes >= 48 * 1024)
        result = lm_train_allow_shared(bytes);
    return result == cudaSuccess ? LM_OK
                                 : lm_fail(err, LM_FAILED, "GPU: %zu bytes of shared memory for a block: %s (%s)",
                                           fixed + bytes, cudaGetErrorString(result), cudaGetErrorName(result));
}

/* The training samples, once a session. */
static int bring_samples(struct lm_gpu_session *s, struct lm_gpu_training *t, struct lm_error *err)
{
    const struct lm_samples *samples = &s->problem->train;
    int known = s->buffer[LM_GPU_TRAIN_X].memory && s->buffer[LM_GPU_TRAIN_LABEL].memory;
    size_t x_bytes = samples->n * LM_PIXELS * sizeof(float);
    void *x, *label;
    int code = lm_gpu_reserve(s, LM_GPU_TRAIN_X, x_bytes, &x, err);
    if (code == LM_OK)
        code = lm_gpu_reserve(s, LM_GPU_TRAIN_LABEL, samples->n, &label, err);
    if (code != LM_OK)
        return code;
    t->x = x;
    t->label = label;
    if (!known && (code = lm_gpu_copy_in(s, x, samples->x, x_bytes, err)) == LM_OK)
        code = lm_gpu_copy_in(s, label, samples->label, samples->n, err);
    return code;
}

/* A step of this network by this many threads, for a slow GPU. */
static double guess_step(const struct lm_gpu_layout *layout, uint32_t block)
{
    double products = 0.0;
    for (int l = 0; l < LM_LAYERS; l++)
        products += (double)layout->layer[l].inputs * (double)layout->layer[l].outputs;
    return 2e-6 + 12e-9 * products / (double)block;
}

static int begin(struct lm_gpu_session *s, struct lm_gpu_course *c, struct block_run *run, struct lm_error *err)
{
    struct lm_gpu_training *t = &run->training;
    size_t bytes = c->layout.floats * sizeof(float);
    void *memory;
    *run = (struct block_run){.shared = lm_gpu_training_bytes_of(&c->layout)};
    run->step_seconds = guess_step(&c->layout, c->trial->block);
    t->layout = c->layout;
    t->n = (uint32_t)c->order.n;
    t->decay = c->trial->decay;
    int code = allow_shared(s, c->trial->shape, run->shared, err);
    if (code == LM_OK)
        code = bring_samples(s, t, err);
    if (code == LM_OK && (code = lm_gpu_reserve(s, LM_GPU_PARAMETERS, bytes, &memory, err)) == LM_OK) {
        t->parameters = memory;
        code = lm_gpu_copy_in(s, memory, c->packed, bytes, err);
    }
    return code;
}

/* ---- epochs ---- */

/* How many epochs the next launch takes: at least 1. */
static size_t epochs_at_once(const struct block_run *run, const struct lm_gpu_course *c, size_t most)
{
    size_t left = c->trial->epochs - c->epoch;
    double seconds = run->step_seconds * (double)c->order.n;
    double fit = SECONDS_A_LAUNCH / seconds;
    size_t room = MOST_INDICES / c->order.n;
    most = most < left ? most : left;
    most = most < room ? most : room;
    most = (double)most < fit ? most : (size_t)fit;
    return most > 0 ? most : 1;
}

/* Room for the orders and losses of so many epochs, here and on the device. */
static int make_room(struct lm_gpu_session *s, struct block_run *run, size_t n, size_t epochs, struct lm_error *err)
{
    void *order, *loss;
    int code = lm_gpu_reserve(s, LM_GPU_ORDER, epochs * n * sizeof *run->order, &order, err);
    if (code == LM_OK)
        code = lm_gpu_reserve(s, LM_GPU_LOSS, epochs * sizeof *run->sums, &loss, err);
    if (code != LM_OK)
        return code;
    run->training.order = order;
    run->training.loss = loss;
    if (run->epochs >= epochs)
        return LM_OK;
    free(run->order);
    free(run->sums);
    run->epochs = epochs;
    run->order = malloc(epochs * n * sizeof *run->order);
    run->sums = malloc(epochs * sizeof *run->sums);
    return run->order && run->sums ? LM_OK : lm_fail_memory(err, epochs * n * sizeof *run->order, "sample orders");
}

static int send_orders(struct lm_gpu_session *s, struct block_run *run, struct lm_gpu_course *c, size_t epochs,
                       struct lm_error *err)
{
    size_t n = c->order.n;
    for (size_t k = 0; k < epochs; k++) {
        lm_order_next(&c->order);
        memcpy(run->order + k * n, c->order.index, n * sizeof *run->order);
        lm_gpu_tick(&c->ticker);
    }
    return lm_gpu_copy_in(s, (void *)run->training.order, run->order, epochs * n * sizeof *run->order, err);
}

/* One launch, waited for. Its time is the next one's guess. */
static int launch(struct lm_gpu_session *s, struct block_run *run, struct lm_gpu_course *c, size_t first, size_t steps,
                  struct lm_error *err)
{
    struct lm_gpu_training t = run->training;
    double start = lm_gpu_now();
    t.order += first;
    t.first = (uint32_t)first;
    t.steps = (uint32_t)steps;
    t.rate = c->rate;
    int code = LM_GPU_LAUNCH(s, lm_launch_train(t, c->trial->block, run->shared, s->stream), "train", err);
    if (code == LM_OK)
        code = lm_gpu_wait(s, &c->ticker, "training", err);
    run->step_seconds = (lm_gpu_now() - start) / (double)steps;
    return code == LM_OK ? lm_gpu_course_goes_on(c, err) : code;
}

/* So many whole epochs in one launch; a single one in parts if it is too long. */
static int launch_epochs(struct lm_gpu_session *s, struct block_run *run, struct lm_gpu_course *c, size_t epochs,
                         struct lm_error *err)
{
    size_t n = c->order.n;
    int code = LM_OK;
    if (epochs > 1) {
        /* A kernel that stops early leaves the later sums unwritten, and they are copied out with the others. */
        code = lm_gpu_clear(s, run->training.loss, epochs * sizeof *run->training.loss, err);
        return code == LM_OK ? launch(s, run, c, 0, epochs * n, err) : code;
    }
    for (size_t first = 0, steps; first < n && code == LM_OK; first += steps) {
        double fit = SECONDS_A_LAUNCH / run->step_seconds;
        steps = fit < 1.0 ? 1 : fit < (double)(n - first) ? (size_t)fit : n - first;
        code = launch(s, run, c, first, steps, err);
    }
    return code;
}

static int train(struct lm_gpu_session *s, struct lm_gpu_course *c, struct block_run *run, size_t most,
                 struct lm_error *err)
{
    int code = begin(s, c, run, err), ended = 0;
    while (code == LM_OK && !ended) {
        size_t epochs = epochs_at_once(run, c, most);
        if ((code = make_room(s, run, c->order.n, epochs, err)) != LM_OK ||
            (code = send_orders(s, run, c, epochs, err)) != LM_OK ||
            (code = launch_epochs(s, run, c, epochs, err)) != LM_OK ||
            (code = lm_gpu_copy_out(s, run->sums, run->training.loss, epochs * sizeof *run->sums, err)) != LM_OK)
            return code;
        for (size_t k = 0; k < epochs && !ended; k++)
            ended = lm_gpu_course_epoch(c, run->sums[k]);
    }
    if (code == LM_OK)
        code = lm_gpu_copy_out(s, c->packed, run->training.parameters, c->layout.floats * sizeof(float), err);
    return code;
}

static int train_at_once(struct lm_gpu_session *s, struct lm_gpu_course *course, size_t most, struct lm_error *err)
{
    struct block_run run = {.order = NULL};
    int code = train(s, course, &run, most, err);
    free(run.order);
    free(run.sums);
    return code;
}

int lm_gpu_train_batch(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err)
{
    return train_at_once(s, course, 1, err);
}

int lm_gpu_train_whole(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err)
{
    return train_at_once(s, course, course->trial->epochs, err);
}
