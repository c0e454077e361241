/* layers.cu: launches of layer_kernels.cuh. */
#include "launch.h"
#include "layer_kernels.cuh"

static unsigned blocks_for(size_t threads, unsigned block)
{
    return (unsigned)((threads + block - 1) / block);
}

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
