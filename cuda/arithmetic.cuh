/* arithmetic.cuh: src/arithmetic.h on a GPU: its operations, one rounding each, and the sum of rule 1.
 *
 * Every product and sum is an intrinsic with its rounding in its name, which nvcc neither fuses nor reorders;
 * -fmad=false and no fast-math stand beside that in the Makefile, so that a plain `a * b + c` somebody writes later is
 * no fault.
 *
 * The kernels also compile for the host (tests/cuda/host_cuda.h, included before this file): LM_ARENA is the one thing
 * that the two cannot say in the same words.
 */
#ifndef LM_ARITHMETIC_CUH
#define LM_ARITHMETIC_CUH

#include "arithmetic.h"
#include "kernels.h"

#ifdef __CUDACC__
/* The block's dynamic shared memory, as floats, aligned to 16 bytes. */
#define LM_ARENA(name)                                                                                                 \
    extern __shared__ float4 lm_arena_words[];                                                                         \
    float *name = reinterpret_cast<float *>(lm_arena_words)
#endif

#define LM_ALL_LANES 0xffffffffu

/* One term into its partial sum. */
__device__ __forceinline__ float lm_term(float a, float b, float p)
{
    return __fmaf_rn(a, b, p);
}

__device__ __forceinline__ float4 lm_load4(const float *from)
{
    return *reinterpret_cast<const float4 *>(from);
}

/* Rule 1 by one thread: the sum of a[j] b[j], j = 0 ... n-1, n rounded up to a multiple of four (padding is +0). Both
 * are aligned to 16 bytes: a load holds one term of each of the four partial sums. */
__device__ __forceinline__ float lm_sum(const float *a, const float *b, uint32_t n)
{
    float4 u = lm_load4(a), v = lm_load4(b);
    float p0 = __fmul_rn(u.x, v.x), p1 = __fmul_rn(u.y, v.y), p2 = __fmul_rn(u.z, v.z), p3 = __fmul_rn(u.w, v.w);
    for (uint32_t j = 4; j < n; j += 4) {
        u = lm_load4(a + j);
        v = lm_load4(b + j);
        p0 = lm_term(u.x, v.x, p0);
        p1 = lm_term(u.y, v.y, p1);
        p2 = lm_term(u.z, v.z, p2);
        p3 = lm_term(u.w, v.w, p3);
    }
    return __fadd_rn(__fadd_rn(p0, p1), __fadd_rn(p2, p3));
}

/* The same down a column: the sum of a[i * pitch] b[i]. */
__device__ __forceinline__ float lm_sum_column(const float *a, uint32_t pitch, const float *b, uint32_t n)
{
    float p0 = __fmul_rn(a[0], b[0]), p1 = __fmul_rn(a[pitch], b[1]), p2 = __fmul_rn(a[2 * pitch], b[2]),
          p3 = __fmul_rn(a[3 * pitch], b[3]);
    for (uint32_t i = 4; i < n; i += 4) {
        const float *row = a + i * pitch;
        p0 = lm_term(row[0], b[i], p0);
        p1 = lm_term(row[pitch], b[i + 1], p1);
        p2 = lm_term(row[2 * pitch], b[i + 2], p2);
        p3 = lm_term(row[3 * pitch], b[i + 3], p3);
    }
    return __fadd_rn(__fadd_rn(p0, p1), __fadd_rn(p2, p3));
}

/* Rule 1 by four neighbouring lanes, each with one partial sum: the last step, for the whole warp. A sum of two does
 * not depend on their order, so all four lanes have the result. */
__device__ __forceinline__ float lm_sum_of_quad(float p)
{
    p = __fadd_rn(p, __shfl_xor_sync(LM_ALL_LANES, p, 1));
    return __fadd_rn(p, __shfl_xor_sync(LM_ALL_LANES, p, 2));
}

/* Rule 2: -0 and NaN stay. */
__device__ __forceinline__ float lm_relu(float z)
{
    return z < 0.0f ? 0.0f : z;
}

/* Rule 6. */
__device__ __forceinline__ float lm_canonical(float z)
{
    return z != z ? __uint_as_float(LM_NAN_BITS) : z;
}

__device__ __forceinline__ float lm_activate(float z, int activation)
{
    return activation == LM_GPU_RELU ? lm_relu(z) : activation == LM_GPU_SCORES ? lm_canonical(z) : z;
}

/* Rule 4: one weight, and one bias. t = rate * delta, rounded. */
__device__ __forceinline__ float lm_updated_weight(float w, float t, float x)
{
    return __fmaf_rn(-t, x, w);
}

__device__ __forceinline__ float lm_updated_bias(float b, float t)
{
    return __fsub_rn(b, t);
}

#endif
