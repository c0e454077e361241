/* filter_gpu.cu: see filter_gpu.h. Compiled for the measurements and tests alone: the program has none of it. */
#include "filter_gpu.h"

#include <cstdlib>

#include "filter_kernels.cuh"

struct filter_gpu {
    void *source, *result;
    size_t result_bytes;
    cudaStream_t stream;
    cudaEvent_t start, stop;
};

static int check(cudaError_t result, const char *what, struct lm_error *err)
{
    if (result == cudaSuccess)
        return LM_OK;
    return lm_fail(err, LM_FAILED, "GPU: filter: %s: %s (%s)", what, cudaGetErrorString(result),
                   cudaGetErrorName(result));
}

extern "C" int filter_gpu_open(size_t source_bytes, size_t result_bytes, struct filter_gpu **out, struct lm_error *err)
{
    struct filter_gpu *g = static_cast<struct filter_gpu *>(calloc(1, sizeof *g));
    *out = NULL;
    if (!g)
        return lm_fail_memory(err, sizeof *g, "a filter");
    g->result_bytes = result_bytes;
    int code = check(cudaMalloc(&g->source, source_bytes), "memory", err);
    if (code == LM_OK)
        code = check(cudaMalloc(&g->result, result_bytes), "memory", err);
    if (code == LM_OK)
        code = check(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking), "a stream", err);
    if (code == LM_OK)
        code = check(cudaEventCreate(&g->start), "an event", err);
    if (code == LM_OK)
        code = check(cudaEventCreate(&g->stop), "an event", err);
    if (code == LM_OK)
        *out = g;
    else
        filter_gpu_close(g);
    return code;
}

extern "C" void filter_gpu_close(struct filter_gpu *g)
{
    if (!g)
        return;
    if (g->start)
        cudaEventDestroy(g->start);
    if (g->stop)
        cudaEventDestroy(g->stop);
    if (g->stream)
        cudaStreamDestroy(g->stream);
    cudaFree(g->source);
    cudaFree(g->result);
    free(g);
}

extern "C" int filter_gpu_source(struct filter_gpu *g, const void *source, size_t bytes, struct lm_error *err)
{
    int code =
        check(cudaMemcpyAsync(g->source, source, bytes, cudaMemcpyHostToDevice, g->stream), "the source's copy", err);
    return code == LM_OK ? check(cudaStreamSynchronize(g->stream), "the source's copy", err) : code;
}

extern "C" int filter_gpu_wipe(struct filter_gpu *g, struct lm_error *err)
{
    int code = check(cudaMemsetAsync(g->result, 0xff, g->result_bytes, g->stream), "an empty result", err);
    return code == LM_OK ? check(cudaStreamSynchronize(g->stream), "an empty result", err) : code;
}

extern "C" int filter_gpu_result(struct filter_gpu *g, void *result, size_t bytes, struct lm_error *err)
{
    int code =
        check(cudaMemcpyAsync(result, g->result, bytes, cudaMemcpyDeviceToHost, g->stream), "the result's copy", err);
    return code == LM_OK ? check(cudaStreamSynchronize(g->stream), "the result's copy", err) : code;
}

/* ---- running ---- */

typedef void (*filter_kernel)(struct filter_launch);

static filter_kernel kernel_of(uint32_t bytes, int tiled)
{
    switch (bytes) {
    case 1:
        return tiled ? filter_tile_kernel<float, uint8_t> : filter_global_kernel<float, uint8_t>;
    case 2:
        return tiled ? filter_tile_kernel<float, uint16_t> : filter_global_kernel<float, uint16_t>;
    case 4:
        return tiled ? filter_tile_kernel<float, float> : filter_global_kernel<float, float>;
    default:
        return tiled ? filter_tile_kernel<double, double> : filter_global_kernel<double, double>;
    }
}

/* The terms into constant memory: offsets in rows of `pitch` elements. */
static cudaError_t tell_terms(struct filter_gpu *g, const struct filter *f, const struct filter_term *term,
                              uint32_t pitch)
{
    struct filter_float_term single[FILTER_TERMS_MOST] = {};
    struct filter_double_term twice[FILTER_TERMS_MOST] = {};
    filter_place_terms(f, term, pitch, single, twice);
    cudaError_t result = f->bytes > 4
                             ? cudaMemcpyToSymbolAsync(filter_double_terms, twice, f->references * sizeof *twice, 0,
                                                       cudaMemcpyHostToDevice, g->stream)
                             : cudaMemcpyToSymbolAsync(filter_float_terms, single, f->references * sizeof *single, 0,
                                                       cudaMemcpyHostToDevice, g->stream);
    return result == cudaSuccess ? cudaStreamSynchronize(g->stream) : result;
}

static cudaError_t run(struct filter_gpu *g, filter_kernel kernel, dim3 grid, size_t shared,
                       const struct filter_launch &launch, int launches, float *milliseconds)
{
    cudaError_t result = cudaEventRecord(g->start, g->stream);
    for (int k = 0; k < launches && result == cudaSuccess; k++) {
        kernel<<<grid, FILTER_THREADS, shared, g->stream>>>(launch);
        result = cudaGetLastError();
    }
    if (result == cudaSuccess)
        result = cudaEventRecord(g->stop, g->stream);
    if (result == cudaSuccess)
        result = cudaEventSynchronize(g->stop);
    return result == cudaSuccess ? cudaEventElapsedTime(milliseconds, g->start, g->stop) : result;
}

extern "C" int filter_gpu_run(struct filter_gpu *g, const struct filter *f, const struct filter_term *term,
                              uint32_t rows, uint32_t columns, const struct filter_tile *tile, int launches,
                              double *seconds, struct lm_error *err)
{
    struct filter_launch launch = {g->source, g->result, rows,          columns, columns + f->b - 1,
                                   f->a,      f->b,      f->references, 0,       0};
    uint32_t high = FILTER_WARPS, wide = FILTER_LANES;
    size_t shared = 0;
    if (tile) {
        launch.tile_a = tile->a;
        launch.tile_b = tile->b;
        high = tile->a - f->a + 1;
        wide = tile->b - f->b + 1;
        shared = (size_t)tile->a * tile->b * f->bytes;
    }
    const dim3 grid(filter_blocks(columns, wide), filter_blocks(rows, high));
    if ((uint64_t)f->bytes * filter_source_elements(f, rows, columns) > UINT32_MAX || grid.y > 65535)
        return lm_fail(err, LM_BAD_INPUT, "a filter of %u x %u elements is too large", rows, columns);
    filter_kernel kernel = kernel_of(f->bytes, tile != NULL);
    int code = check(tell_terms(g, f, term, tile ? tile->b : launch.pitch), "the terms", err);
    if (code == LM_OK && shared > 48 * 1024)
        code = check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared),
                     "shared memory", err);
    float milliseconds = 0.0f;
    if (code == LM_OK)
        code = check(run(g, kernel, grid, shared, launch, launches, &milliseconds), "a launch", err);
    *seconds = 1e-3 * (double)milliseconds / launches;
    return code;
}
