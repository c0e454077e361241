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

/* Before a loop: all its turns written out, or so many at a time. The host's compiler does as it likes. */
#ifdef __CUDACC__
#define LM_PRAGMA(text) _Pragma(#text)
#define LM_UNROLL       LM_PRAGMA(unroll)
#define LM_UNROLL_BY(n) LM_PRAGMA(unroll n)
#else
#define LM_UNROLL
#define LM_UNROLL_BY(n)
#endif

/* One term into its partial sum. A sum starts from LM_NO_TERM: fma(a, b, -0) is a b rounded, its zeros' signs too, so
 * the first term needs no code of its own, and loops come out in whole turns of four. */
#define LM_NO_TERM (-0.0f)

__device__ __forceinline__ float lm_term(float a, float b, float p)
{
    return __fmaf_rn(a, b, p);
}

__device__ __forceinline__ float4 lm_load4(const float *from)
{
    return *reinterpret_cast<const float4 *>(from);
}

/* The same from the device's memory, and asked for here, not where it is used. */
__device__ __forceinline__ float4 lm_load4_now(const float *from)
{
#ifdef __CUDACC__
    float4 v;
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    return v;
#else
    return lm_load4(from);
#endif
}

__device__ __forceinline__ void lm_store4(float *to, float4 v)
{
    *reinterpret_cast<float4 *>(to) = v;
}

/* A word for the host: all that the block wrote before its last barrier is there when the word is 1. */
__device__ __forceinline__ void lm_publish(uint32_t *word)
{
#ifdef __CUDACC__
    __threadfence_system();
#endif
    *reinterpret_cast<volatile uint32_t *>(word) = 1;
}

/* Rule 1 by one thread: the sum of a[j] b[j], j = 0 ... n-1, n rounded up to a multiple of four (padding is +0). Both
 * are aligned to 16 bytes: a load holds one term of each of the four partial sums. Sixteen terms at a time, all loads
 * before the first product: with so few threads the wait for one load after the other would be most of the time, and a
 * loop that may end at each turn is not unrolled so by itself. */
struct lm_partials {
    float p0, p1, p2, p3;
};

__device__ __forceinline__ void lm_four_terms(struct lm_partials *p, float4 u, float4 v)
{
    p->p0 = lm_term(u.x, v.x, p->p0);
    p->p1 = lm_term(u.y, v.y, p->p1);
    p->p2 = lm_term(u.z, v.z, p->p2);
    p->p3 = lm_term(u.w, v.w, p->p3);
}

__device__ __forceinline__ float lm_total(struct lm_partials p)
{
    return __fadd_rn(__fadd_rn(p.p0, p.p1), __fadd_rn(p.p2, p.p3));
}

__device__ __forceinline__ float lm_sum(const float *a, const float *b, uint32_t n)
{
    struct lm_partials p = {LM_NO_TERM, LM_NO_TERM, LM_NO_TERM, LM_NO_TERM};
    uint32_t j = 0;
    for (; j + 12 < n; j += 16) {
        const float4 u0 = lm_load4(a + j), u1 = lm_load4(a + j + 4), u2 = lm_load4(a + j + 8),
                     u3 = lm_load4(a + j + 12);
        const float4 v0 = lm_load4(b + j), v1 = lm_load4(b + j + 4), v2 = lm_load4(b + j + 8),
                     v3 = lm_load4(b + j + 12);
        lm_four_terms(&p, u0, v0);
        lm_four_terms(&p, u1, v1);
        lm_four_terms(&p, u2, v2);
        lm_four_terms(&p, u3, v3);
    }
    for (; j < n; j += 4)
        lm_four_terms(&p, lm_load4(a + j), lm_load4(b + j));
    return lm_total(p);
}

/* The same down a column: the sum of a[i * pitch] b[i]. b is aligned to 16 bytes. */
__device__ __forceinline__ float4 lm_load_column(const float *a, uint32_t pitch)
{
    float4 u;
    u.x = a[0];
    u.y = a[pitch];
    u.z = a[2 * pitch];
    u.w = a[3 * pitch];
    return u;
}

__device__ __forceinline__ float lm_sum_column(const float *a, uint32_t pitch, const float *b, uint32_t n)
{
    struct lm_partials p = {LM_NO_TERM, LM_NO_TERM, LM_NO_TERM, LM_NO_TERM};
    uint32_t i = 0;
    for (; i + 12 < n; i += 16) {
        const float *row = a + i * pitch;
        const float4 u0 = lm_load_column(row, pitch), u1 = lm_load_column(row + 4 * pitch, pitch),
                     u2 = lm_load_column(row + 8 * pitch, pitch), u3 = lm_load_column(row + 12 * pitch, pitch);
        const float4 v0 = lm_load4(b + i), v1 = lm_load4(b + i + 4), v2 = lm_load4(b + i + 8),
                     v3 = lm_load4(b + i + 12);
        lm_four_terms(&p, u0, v0);
        lm_four_terms(&p, u1, v1);
        lm_four_terms(&p, u2, v2);
        lm_four_terms(&p, u3, v3);
    }
    for (; i < n; i += 4)
        lm_four_terms(&p, lm_load_column(a + i * pitch, pitch), lm_load4(b + i));
    return lm_total(p);
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
