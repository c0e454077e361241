/* calibrate_kernels.cuh: the smallest kernels that show one cost of the machine each, timed by the multiprocessor's own
 * clock. One block; the answers go out, so that nothing is optimised away, and so that a test can look at them.
 *
 * A chase follows indices: each load's address is the one before's result, so its time is a latency. For constant
 * memory the indices are a table of zeros, which the compiler cannot know.
 */
#ifndef LM_CALIBRATE_KERNELS_CUH
#define LM_CALIBRATE_KERNELS_CUH

#include "arithmetic.cuh"
#include "chase.h"

#ifdef __CUDACC__
#define LM_CYCLES() clock64()
#define LM_CONSTANT __constant__
#else
#define LM_CYCLES() 0
#define LM_CONSTANT static
#endif

#define LM_CHASE_SHARED 1024 /* words */

/* chain[i] = (i + stride) mod n, in a grid of any size. */
__global__ void lm_chain_kernel(struct lm_gpu_chase c)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < c.n; i += gridDim.x * blockDim.x)
        c.chain[i] = (uint32_t)(((unsigned long long)i + c.stride) % c.n);
}

LM_CONSTANT uint32_t lm_constant_chain[LM_CHASE_SHARED];

__device__ __forceinline__ uint32_t lm_chase(const volatile uint32_t *chain, uint32_t at, uint32_t steps)
{
    for (uint32_t k = 0; k < steps; k++)
        at = chain[at];
    return at;
}

/* 8 dependent multiply-adds a turn. */
__device__ __forceinline__ float lm_chain_of_operations(float x, uint32_t steps)
{
    for (uint32_t k = 0; k < steps; k += 8)
        for (int u = 0; u < 8; u++)
            x = __fmaf_rn(x, 0.5f, 1.0f);
    return x;
}

__global__ void lm_chase_kernel(struct lm_gpu_chase c)
{
    LM_ARENA(arena);
    uint32_t *shared = reinterpret_cast<uint32_t *>(arena), at = 0;
    for (uint32_t k = threadIdx.x; k < LM_CHASE_SHARED; k += blockDim.x)
        shared[k] = (k + 33) % LM_CHASE_SHARED;
    __syncthreads();
    if (c.cost == LM_GPU_COST_GLOBAL && c.warm && threadIdx.x == 0)
        at = lm_chase(c.chain, 0, c.steps) / UINT32_MAX; /* 0, and the next one waits for it */
    if (c.cost == LM_GPU_COST_CONSTANT && threadIdx.x == 0)
        for (uint32_t k = 0; k < 64; k++)
            at = lm_constant_chain[at];
    long long start = LM_CYCLES();
    if (c.cost == LM_GPU_COST_GLOBAL && threadIdx.x == 0)
        at = lm_chase(c.chain, at, c.steps);
    if (c.cost == LM_GPU_COST_SHARED && threadIdx.x == 0)
        at = lm_chase(shared, 0, c.steps);
    if (c.cost == LM_GPU_COST_CONSTANT && threadIdx.x == 0)
        for (uint32_t k = 0; k < c.steps; k++)
            at = lm_constant_chain[at];
    if (c.cost == LM_GPU_COST_OPERATION)
        at = __float_as_uint(lm_chain_of_operations((float)threadIdx.x, c.steps));
    if (c.cost == LM_GPU_COST_BARRIER)
        for (uint32_t k = 0; k < c.steps; k++, at++)
            __syncthreads();
    long long end = LM_CYCLES();
    if (threadIdx.x == 0) {
        *c.cycles = end - start;
        *c.last = at;
    }
}

__global__ void lm_empty_kernel(void)
{
}

#endif
