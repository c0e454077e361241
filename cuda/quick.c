/* quick.c: see quick.h, and quick_kernel.cuh for the kernel.
 *
 * The kernel is launched as a graph of one node, which costs the host a third of what a launch does; the node is told
 * when a call has other arguments than the last one. The end is seen by looking at the blocks' words: each becomes 1
 * when that block's scores lie in the host's memory. Waiting for the stream would be right, too, and a microsecond
 * slower. A kernel that fails sets no word, so the stream is asked now and then.
 */
#include "quick.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "quick_layout.h"

/* A block takes 16 samples at a time, twice: fewer blocks start sooner. */
#define SAMPLES_A_BLOCK (2 * LM_QUICK_SAMPLES)
#define MOST_BLOCKS     ((LM_QUICK_MOST + SAMPLES_A_BLOCK - 1) / SAMPLES_A_BLOCK)
/* Looks at a word between two looks at the stream: about 50 us. */
#define PATIENCE 10000

struct lm_quick {
    float *parameters; /* owned: of the network on the device, (2863) */
    int has_network;
    float *network; /* the device's, (LM_QUICK_FLOATS) */
    /* Pinned and mapped: the words, a network on its way, scores; and samples, which the host only writes. */
    uint32_t *done;
    float *packed, *scores, *x;
    struct lm_quick_graph graph;
    struct lm_gpu_quick launched; /* what the graph's node was told */
};

static int failed(cudaError_t result, const char *what, struct lm_error *err)
{
    return lm_fail(err, LM_FAILED, "GPU: %s: %s (%s)", what, cudaGetErrorString(result), cudaGetErrorName(result));
}

/* ---- what the session keeps ---- */

static int make(struct lm_gpu_session *s, struct lm_error *err)
{
    struct lm_quick *quick = calloc(1, sizeof *quick);
    const unsigned flags = cudaHostAllocMapped | cudaHostAllocPortable;
    if (!quick || !(quick->parameters = malloc(LM_REPLICA_FLOATS * sizeof(float)))) {
        free(quick);
        return lm_fail_memory(err, sizeof *quick + LM_REPLICA_FLOATS * sizeof(float), "a small batch");
    }
    s->quick = quick;
    int code = lm_gpu_allocate(s, LM_QUICK_FLOATS * sizeof(float), (void **)&quick->network, err);
    cudaError_t result = cudaSuccess;
    if (code == LM_OK &&
        ((result = cudaHostAlloc((void **)&quick->done, MOST_BLOCKS * sizeof(uint32_t), flags)) != cudaSuccess ||
         (result = cudaHostAlloc((void **)&quick->packed, LM_QUICK_FLOATS * sizeof(float), flags)) != cudaSuccess ||
         (result = cudaHostAlloc((void **)&quick->scores, LM_QUICK_MOST * LM_CLASSES * sizeof(float), flags)) !=
             cudaSuccess ||
         (result = cudaHostAlloc((void **)&quick->x, LM_QUICK_MOST * LM_PIXELS * sizeof(float),
                                 flags | cudaHostAllocWriteCombined)) != cudaSuccess))
        code = failed(result, "pinned memory of the host", err);
    if (code != LM_OK)
        lm_quick_close(s);
    return code;
}

void lm_quick_close(struct lm_gpu_session *s)
{
    struct lm_quick *quick = s->quick;
    struct lm_error nobody;
    if (!quick)
        return;
    lm_quick_forget(&quick->graph);
    lm_gpu_free(s, quick->network, &nobody);
    void *pinned[] = {quick->done, quick->packed, quick->scores, quick->x};
    for (size_t k = 0; k < sizeof pinned / sizeof *pinned; k++)
        if (pinned[k])
            cudaFreeHost(pinned[k]);
    free(quick->parameters);
    free(quick);
    s->quick = NULL;
}

/* ---- a call ---- */

/* Where the device sees the caller's memory; NULL if it does not, or not as the kernel wants it. */
static void *seen(const void *memory, size_t bytes)
{
    return (uintptr_t)memory % 16 == 0 ? lm_gpu_seen(memory, bytes) : NULL;
}

/* What the session's own memory is to the device. */
static cudaError_t mapped(void *memory, void *to)
{
    return cudaHostGetDevicePointer((void **)to, memory, 0);
}

/* What was queued before is done: nobody reads `packed` any more. */
static int bring_network(struct lm_gpu_session *s, const float *parameters, struct lm_error *err)
{
    struct lm_quick *quick = s->quick;
    const size_t bytes = LM_REPLICA_FLOATS * sizeof *parameters;
    if (quick->has_network && memcmp(quick->parameters, parameters, bytes) == 0)
        return LM_OK;
    quick->has_network = 0;
    memcpy(quick->parameters, parameters, bytes);
    lm_quick_pack(parameters, quick->packed);
    int code = lm_gpu_copy_in(s, quick->network, quick->packed, LM_QUICK_FLOATS * sizeof(float), err);
    quick->has_network = code == LM_OK;
    return code;
}

static int launch(struct lm_gpu_session *s, struct lm_gpu_quick q, unsigned blocks, struct lm_error *err)
{
    struct lm_quick *quick = s->quick;
    const struct lm_gpu_quick *last = &quick->launched;
    if (!quick->graph.exec || last->x != q.x || last->scores != q.scores || last->n != q.n) {
        cudaError_t result = lm_quick_tell(&quick->graph, q, blocks);
        if (result != cudaSuccess) {
            lm_quick_forget(&quick->graph);
            return failed(result, "a graph", err);
        }
        quick->launched = q;
    }
    for (unsigned b = 0; b < blocks; b++)
        __atomic_store_n(&quick->done[b], 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return LM_GPU_LAUNCH(s, cudaGraphLaunch(quick->graph.exec, s->stream), "quick", err);
}

static int all_done(const struct lm_quick *quick, unsigned blocks)
{
    for (unsigned b = 0; b < blocks; b++)
        if (__atomic_load_n(&quick->done[b], __ATOMIC_ACQUIRE) != 1)
            return 0;
    return 1;
}

static int await(struct lm_gpu_session *s, unsigned blocks, struct lm_error *err)
{
    const struct lm_quick *quick = s->quick;
    s->counters.waits++;
    for (unsigned b = 0, looks = 0; b < blocks;) {
        if (__atomic_load_n(&quick->done[b], __ATOMIC_ACQUIRE) == 1) {
            b++;
            continue;
        }
        if (++looks % PATIENCE != 0)
            continue;
        cudaError_t result = cudaStreamQuery(s->stream);
        if (result == cudaErrorNotReady) {
            cudaGetLastError(); /* it would be the next launch's */
            sched_yield();
            continue;
        }
        if (result != cudaSuccess)
            return failed(result, "a small batch", err);
        return all_done(quick, blocks) ? LM_OK : lm_fail(err, LM_FAILED, "GPU: a small batch ended without its scores");
    }
    return LM_OK;
}

int lm_quick_infer(struct lm_gpu_session *s, const float *parameters, const float *x, size_t n, float *scores,
                   struct lm_error *err)
{
    const size_t x_bytes = n * LM_PIXELS * sizeof *x, bytes = n * LM_CLASSES * sizeof *scores;
    const unsigned blocks = (unsigned)((n + SAMPLES_A_BLOCK - 1) / SAMPLES_A_BLOCK);
    int code = s->quick ? LM_OK : make(s, err);
    if (code != LM_OK || n == 0)
        return code;
    struct lm_quick *quick = s->quick;
    struct lm_gpu_quick q = {.network = quick->network, .n = (uint32_t)n};
    cudaError_t result = mapped(quick->done, &q.done);
    q.x = seen(x, x_bytes);
    q.scores = seen(scores, bytes);
    const int own_scores = q.scores == NULL;
    if (!q.x && result == cudaSuccess) {
        memcpy(quick->x, x, x_bytes);
        result = mapped(quick->x, &q.x);
    }
    if (own_scores && result == cudaSuccess)
        result = mapped(quick->scores, &q.scores);
    if (result != cudaSuccess)
        return failed(result, "memory of the host", err);
    if ((code = bring_network(s, parameters, err)) != LM_OK || (code = launch(s, q, blocks, err)) != LM_OK ||
        (code = await(s, blocks, err)) != LM_OK)
        return code;
    if (own_scores)
        memcpy(scores, quick->scores, bytes);
    return LM_OK;
}
