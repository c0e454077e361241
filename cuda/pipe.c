/* pipe.c: see pipe.h.
 *
 * The samples go through the device in chunks, each in one of three slots: while chunk c is scored, c + 1 is on its way
 * in and c - 1 on its way out, on a stream each. Events say when a slot's chunk has arrived, is scored, has left. The
 * link works in both directions at once, so the time is that of the larger direction, 256 bytes a sample, or 64 where
 * pixels have 8 bits: the kernels need less.
 *
 * Memory that is not pinned would be copied by CUDA through a buffer of its own while the caller waits. So it goes by
 * way of pinned slots of ours, filled and emptied here while the device works on others.
 */
#include "pipe.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 3
/* Samples of a chunk: 17 MB of floats, a third of a millisecond on the link; 4 MB where the host copies, too. */
#define CHUNK        ((size_t)1 << 16)
#define COPIED_CHUNK ((size_t)1 << 14)

struct lm_pipe {
    cudaStream_t in, out;
    cudaEvent_t arrived[SLOTS], scored[SLOTS], left[SLOTS];
};

struct run {
    struct lm_gpu_session *s;
    struct lm_pipe *pipe;
    struct lm_pipe_input input;
    const unsigned char *from; /* the samples, */
    size_t sample_bytes;       /* of so many bytes each */
    float *scores;
    size_t n, chunk;
    cudaStream_t in, out;
    unsigned char *device_in, *here_in; /* (SLOTS, chunk); here: NULL where the caller's memory is pinned */
    float *device_out, *here_out;
    struct lm_gpu_tile tile;
    struct lm_gpu_grey grey;
};

static int check(cudaError_t result, struct lm_error *err)
{
    return result == cudaSuccess ? LM_OK
                                 : lm_fail(err, LM_FAILED, "GPU: a batch in chunks: %s (%s)",
                                           cudaGetErrorString(result), cudaGetErrorName(result));
}

/* ---- what the session keeps ---- */

static int make(struct lm_gpu_session *s, struct lm_error *err)
{
    struct lm_pipe *pipe = calloc(1, sizeof *pipe);
    if (!pipe)
        return lm_fail_memory(err, sizeof *pipe, "streams");
    s->pipe = pipe;
    cudaError_t result = cudaStreamCreateWithFlags(&pipe->in, cudaStreamNonBlocking);
    if (result == cudaSuccess)
        result = cudaStreamCreateWithFlags(&pipe->out, cudaStreamNonBlocking);
    for (int k = 0; k < SLOTS && result == cudaSuccess; k++)
        if ((result = cudaEventCreateWithFlags(&pipe->arrived[k], cudaEventDisableTiming)) == cudaSuccess &&
            (result = cudaEventCreateWithFlags(&pipe->scored[k], cudaEventDisableTiming)) == cudaSuccess)
            result = cudaEventCreateWithFlags(&pipe->left[k], cudaEventDisableTiming);
    if (result != cudaSuccess)
        lm_pipe_close(s);
    return check(result, err);
}

void lm_pipe_close(struct lm_gpu_session *s)
{
    struct lm_pipe *pipe = s->pipe;
    if (!pipe)
        return;
    for (int k = 0; k < SLOTS; k++) {
        cudaEvent_t event[] = {pipe->arrived[k], pipe->scored[k], pipe->left[k]};
        for (int e = 0; e < 3; e++)
            if (event[e])
                cudaEventDestroy(event[e]);
    }
    if (pipe->in)
        cudaStreamDestroy(pipe->in);
    if (pipe->out)
        cudaStreamDestroy(pipe->out);
    free(pipe);
    s->pipe = NULL;
}

/* ---- before the first chunk ---- */

static int reserve(struct run *r, struct lm_error *err)
{
    struct lm_gpu_session *s = r->s;
    const size_t in = r->chunk * r->sample_bytes, out = r->chunk * LM_CLASSES * sizeof(float);
    const int copy_in = !lm_gpu_seen(r->from, r->n * r->sample_bytes),
              copy_out = !lm_gpu_seen(r->scores, r->n * LM_CLASSES * sizeof(float));
    void *memory = NULL, *normalised = NULL;
    int code = lm_gpu_reserve(s, LM_GPU_PIPE_IN, SLOTS * in, &memory, err);
    r->device_in = memory;
    if (code == LM_OK)
        code = lm_gpu_reserve(s, LM_GPU_PIPE_OUT, SLOTS * out, &memory, err);
    r->device_out = memory;
    if (code == LM_OK && (copy_in || copy_out))
        code = lm_gpu_reserve_pinned(s, SLOTS * (in + out), &memory, err);
    if (copy_in)
        r->here_in = memory;
    if (copy_out)
        r->here_out = (float *)(void *)((unsigned char *)memory + SLOTS * in);
    if (code == LM_OK && r->input.pixel)
        code = lm_gpu_reserve(s, LM_GPU_X, r->chunk * LM_PIXELS * sizeof(float), &normalised, err);
    r->grey.x = normalised;
    return code;
}

static int bring_network(struct run *r, const float *packed, struct lm_error *err)
{
    struct lm_gpu_session *s = r->s;
    const size_t bytes = r->tile.layout.floats * sizeof *packed, table = LM_PIXELS * sizeof *r->input.grey;
    void *memory = NULL;
    int code = lm_gpu_reserve(s, LM_GPU_PARAMETERS, bytes, &memory, err);
    r->tile.parameters = memory;
    if (code == LM_OK)
        code = lm_gpu_copy_in(s, memory, packed, bytes, err);
    if (code != LM_OK || !r->input.pixel)
        return code;
    code = lm_gpu_reserve(s, LM_GPU_GREY, table, &memory, err);
    r->grey.table = memory;
    return code == LM_OK ? lm_gpu_copy_in(s, memory, r->input.grey, table, err) : code;
}

/* ---- a chunk ---- */

static size_t samples_of(const struct run *r, size_t c)
{
    const size_t left = r->n - c * r->chunk;
    return left < r->chunk ? left : r->chunk;
}

static int send(struct run *r, size_t c, struct lm_error *err)
{
    const size_t slot = c % SLOTS, bytes = samples_of(r, c) * r->sample_bytes;
    const unsigned char *from = r->from + c * r->chunk * r->sample_bytes;
    int code = LM_OK;
    if (r->here_in) {
        unsigned char *here = r->here_in + slot * r->chunk * r->sample_bytes;
        code = check(cudaEventSynchronize(r->pipe->arrived[slot]), err); /* the chunk that was there before */
        if (code == LM_OK)
            memcpy(here, from, bytes);
        from = here;
    }
    if (code == LM_OK)
        code = check(cudaStreamWaitEvent(r->in, r->pipe->scored[slot], 0), err);
    if (code == LM_OK)
        code = lm_gpu_copy(r->s, r->in, r->device_in + slot * r->chunk * r->sample_bytes, from, bytes,
                           cudaMemcpyHostToDevice, err);
    return code == LM_OK ? check(cudaEventRecord(r->pipe->arrived[slot], r->in), err) : code;
}

static int score(struct run *r, size_t c, struct lm_error *err)
{
    struct lm_gpu_session *s = r->s;
    const size_t slot = c % SLOTS;
    const unsigned char *in = r->device_in + slot * r->chunk * r->sample_bytes;
    int code = check(cudaStreamWaitEvent(s->stream, r->pipe->arrived[slot], 0), err);
    if (code == LM_OK)
        code = check(cudaStreamWaitEvent(s->stream, r->pipe->left[slot], 0), err);
    r->tile.n = r->grey.n = samples_of(r, c);
    r->tile.scores = r->device_out + slot * r->chunk * LM_CLASSES;
    r->tile.x = (const float *)(const void *)in;
    if (r->input.pixel) {
        r->tile.x = r->grey.x;
        r->grey.pixel = in;
        if (code == LM_OK)
            code = LM_GPU_LAUNCH(s, lm_launch_grey(r->grey, (unsigned)s->multiprocessors, s->stream), "grey", err);
    }
    if (code == LM_OK)
        code = LM_GPU_LAUNCH(s, lm_launch_tile(r->tile, s->block_shared, (unsigned)s->multiprocessors, s->stream),
                             "tile", err);
    return code == LM_OK ? check(cudaEventRecord(r->pipe->scored[slot], s->stream), err) : code;
}

static int fetch(struct run *r, size_t c, struct lm_error *err)
{
    const size_t slot = c % SLOTS;
    float *to = r->here_out ? r->here_out + slot * r->chunk * LM_CLASSES : r->scores + c * r->chunk * LM_CLASSES;
    int code = check(cudaStreamWaitEvent(r->out, r->pipe->scored[slot], 0), err);
    if (code == LM_OK)
        code = lm_gpu_copy(r->s, r->out, to, r->device_out + slot * r->chunk * LM_CLASSES,
                           samples_of(r, c) * LM_CLASSES * sizeof(float), cudaMemcpyDeviceToHost, err);
    return code == LM_OK ? check(cudaEventRecord(r->pipe->left[slot], r->out), err) : code;
}

/* From our memory to the caller's. */
static int take(struct run *r, size_t c, struct lm_error *err)
{
    const size_t slot = c % SLOTS;
    int code = check(cudaEventSynchronize(r->pipe->left[slot]), err);
    if (code == LM_OK)
        memcpy(r->scores + c * r->chunk * LM_CLASSES, r->here_out + slot * r->chunk * LM_CLASSES,
               samples_of(r, c) * LM_CLASSES * sizeof(float));
    return code;
}

static int run_chunks(struct run *r, struct lm_error *err)
{
    const size_t chunks = (r->n + r->chunk - 1) / r->chunk;
    size_t taken = 0;
    int code = LM_OK;
    for (size_t c = 0; c < chunks && code == LM_OK; c++) {
        code = send(r, c, err);
        if (code == LM_OK && r->here_out && c >= SLOTS)
            code = take(r, taken++, err);
        if (code == LM_OK)
            code = score(r, c, err);
        if (code == LM_OK)
            code = fetch(r, c, err);
    }
    while (code == LM_OK && r->here_out && taken < chunks)
        code = take(r, taken++, err);
    /* Whatever happened: nothing of the caller's is read or written any more. */
    cudaError_t result[] = {cudaStreamSynchronize(r->in), cudaStreamSynchronize(r->s->stream),
                            cudaStreamSynchronize(r->out)};
    r->s->counters.waits++;
    for (int k = 0; k < 3 && code == LM_OK; k++)
        code = check(result[k], err);
    return code;
}

int lm_pipe_infer(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, struct lm_pipe_input input,
                  size_t n, float *scores, struct lm_error *err)
{
    int code = s->pipe ? LM_OK : make(s, err);
    if (code != LM_OK || n == 0)
        return code;
    struct run r = {.s = s,
                    .pipe = s->pipe,
                    .input = input,
                    .from = input.pixel ? input.pixel : (const unsigned char *)input.x,
                    .sample_bytes = LM_PIXELS * (input.pixel ? 1 : sizeof(float)),
                    .scores = scores,
                    .n = n,
                    /* Timed calls wait for their ends on the session's stream. */
                    .in = s->timed ? s->stream : s->pipe->in,
                    .out = s->timed ? s->stream : s->pipe->out,
                    .tile = {.layout = lm_gpu_layout_of(shape)}};
    r.chunk = lm_gpu_seen(r.from, n * r.sample_bytes) ? CHUNK : COPIED_CHUNK;
    r.chunk = n < r.chunk ? n : r.chunk;
    r.chunk = (r.chunk + 63) / 64 * 64; /* slots are aligned to 16 bytes */
    code = reserve(&r, err);
    if (code == LM_OK)
        code = bring_network(&r, packed, err);
    return code == LM_OK ? run_chunks(&r, err) : code;
}
