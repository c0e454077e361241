/* batch.cu: launches of infer_kernels.cuh. Both stay under 48 KiB of shared memory for every shape: nothing to opt
 * into. */
#include "infer_kernels.cuh"
#include "launch.h"

extern "C" cudaError_t lm_launch_shared(struct lm_gpu_forward f, unsigned block, cudaStream_t stream)
{
    const dim3 grid((f.n + LM_GPU_SHARED_SAMPLES - 1) / LM_GPU_SHARED_SAMPLES,
                    (LM_ROUND4(f.layer.outputs) + LM_GPU_SHARED_ROWS - 1) / LM_GPU_SHARED_ROWS);
    lm_shared_kernel<<<grid, block, lm_gpu_shared_bytes_of(f.layer), stream>>>(f);
    return cudaGetLastError();
}

extern "C" cudaError_t lm_launch_fused(struct lm_gpu_fused f, cudaStream_t stream)
{
    static_assert(LM_GPU_FUSED_SAMPLES * (68 + 2 * LM_GPU_WIDEST_PITCH) * sizeof(float) < 48 * 1024,
                  "the widest network needs an opt-in");
    lm_fused_kernel<<<(f.n + LM_GPU_FUSED_SAMPLES - 1) / LM_GPU_FUSED_SAMPLES, LM_GPU_INFER_BLOCK,
                      lm_gpu_fused_bytes_of(&f.layout), stream>>>(f);
    return cudaGetLastError();
}
