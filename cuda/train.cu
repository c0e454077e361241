/* train.cu: launches of train_kernel.cuh, and the shared memory it needs. */
#include "launch.h"
#include "train_kernel.cuh"

extern "C" cudaError_t lm_launch_train(struct lm_gpu_training t, unsigned block, size_t shared, cudaStream_t stream)
{
    lm_train_kernel<<<1, block, shared, stream>>>(t);
    return cudaGetLastError();
}

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
