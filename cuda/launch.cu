/* launch.cu: see launch.h. The one file of the program that nvcc compiles: what it needs for a file and an
 * architecture, kernels or not, is more than these kernels take, so they share it. */
#include "launch.h"

#include "calibrate_kernels.cuh"
#include "grey_kernel.cuh"
#include "infer_kernels.cuh"
#include "layer_kernels.cuh"
#include "metrics_kernel.cuh"
#include "order_kernel.cuh"
#include "quick_kernel.cuh"
#include "replica_kernel.cuh"
#include "tile_kernel.cuh"
#include "train_kernel.cuh"

static unsigned blocks_for(size_t threads, unsigned block)
{
    return (unsigned)((threads + block - 1) / block);
}

/* ---- a kernel a layer ---- */

extern "C" cudaError_t lm_launch_forward(struct lm_gpu_forward f, unsigned block, cudaStream_t stream)
{
    lm_forward_kernel<<<blocks_for((size_t)f.n * f.columns, block), block, 0, stream>>>(f);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_delta(struct lm_gpu_delta d, unsigned block, cudaStream_t stream)
{
    lm_delta_kernel<<<blocks_for(LM_ROUND4(d.next.inputs), block), block, 0, stream>>>(d);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_update(struct lm_gpu_update u, unsigned block, cudaStream_t stream)
{
    lm_update_kernel<<<blocks_for((size_t)u.layer.outputs * (u.layer.inputs + 1), block), block, 0, stream>>>(u);
    return cudaGetLastError();
}

/* ---- scoring batches: under 48 KiB of shared memory for every shape, so there is nothing to opt into ---- */

extern "C" cudaError_t lm_launch_shared(struct lm_gpu_forward f, unsigned block, cudaStream_t stream)
{
    const dim3 grid(blocks_for(f.n, LM_GPU_SHARED_SAMPLES), blocks_for(LM_ROUND4(f.layer.outputs), LM_GPU_SHARED_ROWS));
    lm_shared_kernel<<<grid, block, lm_gpu_shared_bytes_of(f.layer), stream>>>(f);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_fused(struct lm_gpu_fused f, cudaStream_t stream)
{
    static_assert(LM_GPU_FUSED_SAMPLES * (LM_PIXELS + 4 + 2 * LM_GPU_WIDEST_PITCH) * sizeof(float) < 48 * 1024,
                  "the widest network needs an opt-in");
    lm_fused_kernel<<<blocks_for(f.n, LM_GPU_FUSED_SAMPLES), LM_GPU_INFER_BLOCK, lm_gpu_fused_bytes_of(&f.layout),
                      stream>>>(f);
    return cudaGetLastError();
}

/* ---- training by one block ---- */

extern "C" cudaError_t lm_launch_train(struct lm_gpu_training t, unsigned block, size_t shared, cudaStream_t stream)
{
    if (t.layout.layer[0].outputs == 32 && t.layout.layer[1].outputs == 16)
        lm_train_lab_kernel<<<1, block, shared, stream>>>(t);
    else
        lm_train_kernel<<<1, block, shared, stream>>>(t);
    return cudaGetLastError();
}

/* Of the kernel for any shape: the lab's needs 14 KB and nobody's leave. */
extern "C" cudaError_t lm_train_fixed_shared(size_t *fixed)
{
    cudaFuncAttributes attributes;
    cudaError_t result = cudaFuncGetAttributes(&attributes, lm_train_kernel);
    *fixed = result == cudaSuccess ? attributes.sharedSizeBytes : 0;
    return result;
}

extern "C" cudaError_t lm_train_allow_shared(size_t dynamic)
{
    return cudaFuncSetAttribute(lm_train_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)dynamic);
}

/* ---- many trainings ---- */

extern "C" cudaError_t lm_launch_begin(struct lm_gpu_replicas r, cudaStream_t stream)
{
    lm_begin_kernel<<<r.count, 32, LM_BEGIN_BYTES, stream>>>(r);
    return cudaGetLastError();
}

/* A warp's generator and order, in shared memory where the order fits, else the order where it lies. */
static cudaError_t launch_orders(struct lm_gpu_replicas r, size_t block_shared, cudaStream_t stream,
                                 void (*kernel)(struct lm_gpu_replicas), void (*long_kernel)(struct lm_gpu_replicas))
{
    const size_t shared = LM_ORDERS_BYTES((size_t)r.n);
    if (shared > block_shared) {
        long_kernel<<<r.count, 32, LM_ORDERS_BYTES(0), stream>>>(r);
        return cudaGetLastError();
    }
    cudaError_t result = cudaSuccess;
    if (shared >= 48 * 1024)
        result = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (result != cudaSuccess)
        return result;
    kernel<<<r.count, 32, shared, stream>>>(r);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_orders(struct lm_gpu_replicas r, size_t block_shared, cudaStream_t stream)
{
    return launch_orders(r, block_shared, stream, lm_orders_kernel, lm_long_orders_kernel);
}

extern "C" cudaError_t lm_launch_pass(struct lm_gpu_replicas r, size_t block_shared, cudaStream_t stream)
{
    return launch_orders(r, block_shared, stream, lm_pass_kernel, lm_long_pass_kernel);
}

extern "C" cudaError_t lm_launch_replicas(struct lm_gpu_replicas r, unsigned blocks, int few, cudaStream_t stream)
{
    const size_t shared = sizeof(struct lm_warp_memory);
    if (few)
        lm_few_replicas_kernel<<<blocks, 32, shared, stream>>>(r);
    else
        lm_many_replicas_kernel<<<blocks, 32, shared, stream>>>(r);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_unpack(const float *packed, float *parameters, unsigned count, cudaStream_t stream)
{
    const struct lm_gpu_unpacking u = {packed, parameters};
    lm_unpack_kernel<<<count, 128, 0, stream>>>(u);
    return cudaGetLastError();
}

/* ---- many samples, one network ---- */

extern "C" unsigned lm_tile_warps(size_t block_shared)
{
    unsigned warps = LM_TILE_WARPS;
    while (warps > 0 && LM_TILE_BYTES(warps) > block_shared)
        warps--;
    return warps;
}

extern "C" cudaError_t lm_launch_tile(struct lm_gpu_tile t, size_t block_shared, unsigned multiprocessors,
                                      cudaStream_t stream)
{
    const unsigned warps = lm_tile_warps(block_shared);
    const size_t shared = LM_TILE_BYTES(warps), tiles = (t.n + LM_TILE_SAMPLES - 1) / LM_TILE_SAMPLES;
    const size_t blocks = (tiles + warps - 1) / warps;
    cudaError_t result = cudaFuncSetAttribute(lm_tile_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (result != cudaSuccess)
        return result;
    lm_tile_kernel<<<(unsigned)(blocks < multiprocessors ? blocks : multiprocessors), 32 * warps, shared, stream>>>(t);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_grey(struct lm_gpu_grey g, unsigned multiprocessors, cudaStream_t stream)
{
    cudaError_t result =
        cudaFuncSetAttribute(lm_grey_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LM_GREY_BYTES);
    if (result != cudaSuccess)
        return result;
    lm_grey_kernel<<<multiprocessors, LM_GREY_BLOCK, LM_GREY_BYTES, stream>>>(g);
    return cudaGetLastError();
}

/* ---- few samples: a graph of one kernel ---- */

extern "C" cudaError_t lm_quick_tell(struct lm_quick_graph *g, struct lm_gpu_quick q, unsigned blocks)
{
    void *arguments[] = {&q};
    cudaKernelNodeParams node = {};
    node.func = reinterpret_cast<void *>(lm_quick_kernel);
    node.gridDim = dim3(blocks);
    node.blockDim = dim3(LM_QUICK_BLOCK);
    node.sharedMemBytes = LM_QUICK_BYTES;
    node.kernelParams = arguments;
    if (g->exec)
        return cudaGraphExecKernelNodeSetParams(g->exec, g->node, &node);
    cudaError_t result = cudaGraphCreate(&g->graph, 0);
    if (result == cudaSuccess)
        result = cudaGraphAddKernelNode(&g->node, g->graph, NULL, 0, &node);
    if (result == cudaSuccess)
        result = cudaGraphInstantiateWithFlags(&g->exec, g->graph, 0);
    return result;
}

extern "C" void lm_quick_forget(struct lm_quick_graph *g)
{
    if (g->exec)
        cudaGraphExecDestroy(g->exec);
    if (g->graph)
        cudaGraphDestroy(g->graph);
    *g = {};
}

extern "C" cudaError_t lm_launch_metrics(struct lm_gpu_metrics m, unsigned count, cudaStream_t stream)
{
    lm_metrics_kernel<<<count, LM_METRICS_BLOCK, sizeof(struct lm_metrics_memory), stream>>>(m);
    return cudaGetLastError();
}

/* ---- the machine's costs, one at a time ---- */

extern "C" cudaError_t lm_launch_chain(struct lm_gpu_chase c, cudaStream_t stream)
{
    lm_chain_kernel<<<blocks_for(c.n, 1024), 1024, 0, stream>>>(c);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_chase(struct lm_gpu_chase c, unsigned block, cudaStream_t stream)
{
    lm_chase_kernel<<<1, block, LM_CHASE_SHARED * sizeof(uint32_t), stream>>>(c);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_empty(size_t shared, cudaStream_t stream)
{
    lm_empty_kernel<<<1, 32, shared, stream>>>();
    return cudaGetLastError();
}

/* ---- the smallest kernel ---- */

/* A kernel without code for the device is not launched, and who does not look never learns: the results are whatever
 * lay in memory. If this one answers, there is code for all of them. */
static __global__ void tiny_kernel(unsigned *word, unsigned value)
{
    *word = value;
}

extern "C" cudaError_t lm_launch_tiny(unsigned *device_word, unsigned value)
{
    tiny_kernel<<<1, 1>>>(device_word, value);
    return cudaGetLastError();
}
