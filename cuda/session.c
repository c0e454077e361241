/* session.c: see session.h. */
#include "session.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* A look outside costs little, but a message can wait for a millisecond. */
#define SECONDS_A_TICK 1e-3
/* While a launch runs: so long without a pause, since most end sooner, then pauses, since ranks may share a core. */
#define SECONDS_AWAKE     200e-6
#define PAUSE_NANOSECONDS 20000

double lm_gpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(cudaError_t result, const char *what, struct lm_error *err)
{
    return lm_fail(err, LM_FAILED, "GPU: %s: %s (%s)", what, cudaGetErrorString(result), cudaGetErrorName(result));
}

int lm_gpu_alive(void)
{
    cudaGetLastError();
    return cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess;
}

/* ---- timing ---- */

static void start_clock(struct lm_gpu_session *s)
{
    if (s->timed)
        cudaEventRecord(s->begin, s->stream);
}

static void stop_clock(struct lm_gpu_session *s, double *seconds)
{
    float milliseconds = 0.0f;
    if (s->timed && cudaEventRecord(s->end, s->stream) == cudaSuccess && cudaEventSynchronize(s->end) == cudaSuccess &&
        cudaEventElapsedTime(&milliseconds, s->begin, s->end) == cudaSuccess)
        *seconds += 1e-3 * (double)milliseconds;
}

struct lm_gpu_counters lm_gpu_counters(const void *session)
{
    return ((const struct lm_gpu_session *)session)->counters;
}

void lm_gpu_time_calls(void *session, int on)
{
    ((struct lm_gpu_session *)session)->timed = on;
}

/* ---- memory ---- */

int lm_gpu_allocate(struct lm_gpu_session *s, size_t bytes, void **memory, struct lm_error *err)
{
    cudaError_t result = cudaMalloc(memory, bytes);
    s->counters.allocations++;
    if (result == cudaSuccess)
        return LM_OK;
    *memory = NULL;
    if (result != cudaErrorMemoryAllocation)
        return failed(result, "cudaMalloc", err);
    cudaGetLastError();
    return lm_fail(err, LM_FAILED, "GPU: out of memory: %zu bytes (other processes on the same GPU may have it)",
                   bytes);
}

int lm_gpu_free(struct lm_gpu_session *s, void *memory, struct lm_error *err)
{
    if (!memory)
        return LM_OK;
    cudaError_t result = cudaFree(memory);
    s->counters.frees++;
    return result == cudaSuccess ? LM_OK : failed(result, "cudaFree", err);
}

int lm_gpu_reserve(struct lm_gpu_session *s, enum lm_gpu_buffer_name name, size_t bytes, void **memory,
                   struct lm_error *err)
{
    struct lm_gpu_buffer *buffer = &s->buffer[name];
    int code = LM_OK;
    if (buffer->bytes < bytes) {
        code = lm_gpu_free(s, buffer->memory, err);
        *buffer = (struct lm_gpu_buffer){NULL, 0};
        if (code == LM_OK)
            code = lm_gpu_allocate(s, bytes, &buffer->memory, err);
        if (code == LM_OK)
            buffer->bytes = bytes;
    }
    *memory = buffer->memory;
    return code;
}

int lm_gpu_reserve_pinned(struct lm_gpu_session *s, size_t bytes, void **memory, struct lm_error *err)
{
    cudaError_t result = cudaSuccess;
    if (s->pinned.bytes < bytes) {
        if (s->pinned.memory)
            result = cudaFreeHost(s->pinned.memory);
        s->pinned = (struct lm_gpu_buffer){NULL, 0};
        if (result == cudaSuccess && (result = cudaMallocHost(&s->pinned.memory, bytes)) == cudaSuccess)
            s->pinned.bytes = bytes;
    }
    *memory = s->pinned.memory;
    return result == cudaSuccess ? LM_OK : failed(result, "pinned memory of the host", err);
}

void lm_gpu_release_all(struct lm_gpu_session *s)
{
    if (s->pinned.memory)
        cudaFreeHost(s->pinned.memory);
    s->pinned = (struct lm_gpu_buffer){NULL, 0};
    s->has_fast_samples = 0;
    struct lm_error nobody;
    for (int k = 0; k < LM_GPU_BUFFERS; k++) {
        lm_gpu_free(s, s->buffer[k].memory, &nobody);
        s->buffer[k] = (struct lm_gpu_buffer){NULL, 0};
    }
}

void *lm_gpu_pinned(size_t bytes)
{
    void *memory = NULL;
    if (cudaHostAlloc(&memory, bytes ? bytes : 1, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess)
        return memory;
    cudaGetLastError();
    return NULL;
}

void lm_gpu_unpin(void *memory)
{
    if (memory)
        cudaFreeHost(memory);
}

void *lm_gpu_seen(const void *memory, size_t bytes)
{
    struct cudaPointerAttributes first, last;
    if (cudaPointerGetAttributes(&first, memory) != cudaSuccess ||
        cudaPointerGetAttributes(&last, (const char *)memory + bytes - 1) != cudaSuccess) {
        cudaGetLastError(); /* memory that CUDA does not know is no error of ours */
        return NULL;
    }
    if (first.type != cudaMemoryTypeHost || last.type != cudaMemoryTypeHost || !first.devicePointer ||
        (char *)last.devicePointer - (char *)first.devicePointer != (ptrdiff_t)(bytes - 1))
        return NULL;
    return first.devicePointer;
}

/* ---- copies ---- */

int lm_gpu_copy(struct lm_gpu_session *s, cudaStream_t stream, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind, struct lm_error *err)
{
    const int in = kind == cudaMemcpyHostToDevice;
    start_clock(s);
    cudaError_t result = cudaMemcpyAsync(to, from, bytes, kind, stream);
    stop_clock(s, &s->counters.copy_seconds);
    *(in ? &s->counters.copies_in : &s->counters.copies_out) += 1;
    *(in ? &s->counters.bytes_in : &s->counters.bytes_out) += bytes;
    return result == cudaSuccess ? LM_OK : failed(result, in ? "a copy to the device" : "a copy from the device", err);
}

int lm_gpu_copy_in(struct lm_gpu_session *s, void *to, const void *from, size_t bytes, struct lm_error *err)
{
    return lm_gpu_copy(s, s->stream, to, from, bytes, cudaMemcpyHostToDevice, err);
}

int lm_gpu_copy_out(struct lm_gpu_session *s, void *to, const void *from, size_t bytes, struct lm_error *err)
{
    int code = lm_gpu_copy(s, s->stream, to, from, bytes, cudaMemcpyDeviceToHost, err);
    s->counters.waits++;
    if (code != LM_OK)
        return code;
    cudaError_t result = cudaStreamSynchronize(s->stream);
    return result == cudaSuccess ? LM_OK : failed(result, "a copy from the device", err);
}

int lm_gpu_clear(struct lm_gpu_session *s, void *memory, size_t bytes, struct lm_error *err)
{
    cudaError_t result = cudaMemsetAsync(memory, 0, bytes, s->stream);
    return result == cudaSuccess ? LM_OK : failed(result, "cudaMemset", err);
}

/* ---- launches ---- */

void lm_gpu_before_launch(struct lm_gpu_session *s)
{
    start_clock(s);
}

int lm_gpu_after_launch(struct lm_gpu_session *s, cudaError_t result, const char *kernel, struct lm_error *err)
{
    if (result != cudaSuccess)
        return lm_fail(err, LM_FAILED, "GPU: launch of kernel %s: %s (%s)", kernel, cudaGetErrorString(result),
                       cudaGetErrorName(result));
    stop_clock(s, &s->counters.kernel_seconds);
    s->counters.launches++;
    return LM_OK;
}

void lm_gpu_tick(struct lm_gpu_ticker *ticker)
{
    double now = lm_gpu_now();
    if (!ticker->tick.call || now - ticker->last < SECONDS_A_TICK)
        return;
    ticker->last = now;
    if (ticker->tick.call(ticker->tick.context))
        ticker->stop = 1;
}

int lm_gpu_wait(struct lm_gpu_session *s, struct lm_gpu_ticker *ticker, const char *what, struct lm_error *err)
{
    const struct timespec pause = {0, PAUSE_NANOSECONDS};
    double start = lm_gpu_now();
    cudaError_t result = cudaEventRecord(s->done, s->stream);
    s->counters.waits++;
    while (result == cudaSuccess && (result = cudaEventQuery(s->done)) == cudaErrorNotReady) {
        cudaGetLastError(); /* "not ready" is no error, but stays as the last one: the next launch would find it */
        result = cudaSuccess;
        lm_gpu_tick(ticker);
        if (lm_gpu_now() - start < SECONDS_AWAKE)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
    return result == cudaSuccess ? LM_OK : failed(result, what, err);
}
