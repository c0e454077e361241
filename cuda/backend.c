/* backend.c: the GPU backends as tables (src/backend.h), and how a session is opened and closed.
 *
 * A backend is a way to train and a way to score, chosen by its name; a session belongs to one of them. It holds a
 * stream, events and the device's memory, grows its buffers as they are needed, and gives all back when it is closed.
 * The device is never reset: MPI may still use it.
 */
#include <stdlib.h>

#include "course.h"
#include "fast.h"
#include "pipe.h"
#include "probe.h"
#include "quick.h"
#include "score.h"

/* ---- sessions ---- */

static void close_session(void *session)
{
    struct lm_gpu_session *s = session;
    lm_quick_close(s);
    lm_pipe_close(s);
    lm_gpu_release_all(s);
    if (s->begin)
        cudaEventDestroy(s->begin);
    if (s->end)
        cudaEventDestroy(s->end);
    if (s->done)
        cudaEventDestroy(s->done);
    if (s->stream)
        cudaStreamDestroy(s->stream);
    free(s);
}

static int open_session(const struct lm_gpu_ways *ways, const struct lm_problem *problem, void **session,
                        struct lm_error *err)
{
    struct lm_gpu_device device;
    struct lm_gpu_session *s = calloc(1, sizeof *s);
    if (!s)
        return lm_fail_memory(err, sizeof *s, "a GPU session");
    s->problem = problem;
    s->ways = ways;
    int code = lm_gpu_current(&device, err);
    cudaError_t result = cudaSuccess;
    if (code == LM_OK &&
        ((result = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking)) != cudaSuccess ||
         (result = cudaEventCreate(&s->begin)) != cudaSuccess || (result = cudaEventCreate(&s->end)) != cudaSuccess ||
         (result = cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming)) != cudaSuccess))
        code = lm_fail(err, LM_FAILED, "GPU: a stream: %s (%s)", cudaGetErrorString(result), cudaGetErrorName(result));
    if (code != LM_OK) {
        close_session(s);
        return code;
    }
    s->block_shared = (size_t)device.block_shared;
    s->multiprocessors = device.multiprocessors;
    *session = s;
    return LM_OK;
}

/* One trial after the other: each is a chain of steps that a single block follows. */
static size_t capacity(const void *session)
{
    (void)session;
    return 1;
}

static int infer(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n, float *scores,
                 struct lm_error *err)
{
    struct lm_gpu_session *s = session;
    size_t floats = lm_gpu_layout_of(shape).floats;
    if (n == 0)
        return LM_OK;
    float *packed = malloc(floats * sizeof *packed);
    if (!packed)
        return lm_fail_memory(err, floats * sizeof *packed, "a network");
    lm_gpu_pack(shape, parameters, packed);
    int code = s->ways->score(s, shape, packed, x, n, scores, err);
    free(packed);
    return code;
}

/* ---- the tables ---- */

#define TRAIN_NAIVE    "every layer call allocates, copies and frees"
#define TRAIN_RESIDENT "the network stays on the device, a kernel a layer, a sample at a time"
#define TRAIN_BATCH    "one block trains, a launch an epoch"
#define TRAIN_WHOLE    "one block trains, all epochs in one launch"

#define TRAIN_FAST "all trials of 64-32-16-15 at once, a warp each"

#define BACKEND(id, train_way, score_way, full_name, text)                                                             \
    TABLE(id, train_way, score_way, full_name, text, capacity, NULL, 0, lm_gpu_train, NULL, infer, NULL)

#define TABLE(id, train_way, score_way, full_name, text, how_many, at_once, goes_on, training, evaluating, inferring,  \
              of_grey)                                                                                                 \
    static int open_##id(const struct lm_problem *problem, void **session, struct lm_error *err)                       \
    {                                                                                                                  \
        static const struct lm_gpu_ways ways = {lm_gpu_train_##train_way, lm_gpu_score_##score_way};                   \
        return open_session(&ways, problem, session, err);                                                             \
    }                                                                                                                  \
    const struct lm_backend lm_gpu_##id = {                                                                            \
        .name = full_name,                                                                                             \
        .summary = text,                                                                                               \
        .probe = lm_gpu_probe,                                                                                         \
        .open = open_##id,                                                                                             \
        .close = close_session,                                                                                        \
        .capacity = how_many,                                                                                          \
        .turn = at_once,                                                                                               \
        .continues = goes_on,                                                                                          \
        .train = training,                                                                                             \
        .evaluate = evaluating,                                                                                        \
        .infer = inferring,                                                                                            \
        .infer_grey = of_grey,                                                                                         \
    };

#define LAB(train, score, text) BACKEND(train, train, score, "gpu:" #train, text)
#define PAIR(train, score, text)                                                                                       \
    BACKEND(train##_##score, train, score, "gpu:" #train "+" #score, text ", inference " #score)

TABLE(fast, whole, global, "gpu:fast", TRAIN_FAST ", inference by tiles", lm_gpu_fast_capacity, lm_gpu_fast_turn, 1,
      lm_gpu_train_fast, lm_gpu_evaluate, lm_gpu_infer_fast, lm_gpu_infer_grey)

LAB(naive, naive, TRAIN_NAIVE)
LAB(resident, resident, TRAIN_RESIDENT)
LAB(batch, global, TRAIN_BATCH ", scores in a kernel a layer")
LAB(whole, global, TRAIN_WHOLE ", scores in a kernel a layer")

PAIR(naive, global, TRAIN_NAIVE)
PAIR(naive, shared, TRAIN_NAIVE)
PAIR(naive, fused, TRAIN_NAIVE)
PAIR(resident, global, TRAIN_RESIDENT)
PAIR(resident, shared, TRAIN_RESIDENT)
PAIR(resident, fused, TRAIN_RESIDENT)
PAIR(batch, global, TRAIN_BATCH)
PAIR(batch, shared, TRAIN_BATCH)
PAIR(batch, fused, TRAIN_BATCH)
PAIR(whole, global, TRAIN_WHOLE)
PAIR(whole, shared, TRAIN_WHOLE)
PAIR(whole, fused, TRAIN_WHOLE)
