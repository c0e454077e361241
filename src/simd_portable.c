/* simd_portable.c: the kernels at one lane of four floats a vector, in the vector types of GCC and Clang: for aarch64
 * and other machines, and for x86 processors without AVX2.
 *
 * The fused multiply-add decides the speed. Where the compiler has the instruction (aarch64, POWER), fmaf() is that.
 * Plain x86-64 has none, and four calls of the C library a vector would take most of the time: there vec_fma() computes
 * it exactly from double arithmetic instead, in a function of its own, for it is too long to be everywhere.
 */
#include <math.h>

#include "arithmetic.h"
#include "simd.h"

#if defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define ROWS 1
typedef float vec __attribute__((vector_size(16)));
typedef float vec_anywhere __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t vec_mask __attribute__((vector_size(16)));

#if defined(__SSE2__)
#define vec_keep(p) __asm__("" : "+x"((p)[0]), "+x"((p)[1]), "+x"((p)[2]), "+x"((p)[3]))
#elif defined(__aarch64__)
#define vec_keep(p) __asm__("" : "+w"((p)[0]), "+w"((p)[1]), "+w"((p)[2]), "+w"((p)[3]))
#else
#define vec_keep(p) (void)(p)
#endif

INLINE vec vec_load(const float *p)
{
    return *(const vec_anywhere *)p;
}

INLINE void vec_store(float *p, vec v)
{
    *(vec_anywhere *)p = v;
}

INLINE vec vec_repeat(const float *p)
{
    return vec_load(p);
}

INLINE vec vec_all(float x)
{
    return (vec){x, x, x, x};
}

INLINE vec vec_add(vec a, vec b)
{
    return a + b;
}

INLINE vec vec_sub(vec a, vec b)
{
    return a - b;
}

INLINE vec vec_mul(vec a, vec b)
{
    return a * b;
}

#if defined(__ARM_NEON) && defined(__aarch64__)

INLINE vec vec_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

#elif defined(__FP_FAST_FMAF) || !defined(__SSE2__)

INLINE vec vec_fma(vec a, vec b, vec c)
{
    return (vec){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3])};
}

#else

/* Two of a vector's four. a b is exact in double (48 bits). The sum with c is not: its error is (exactly) known, and
 * where there is one, the sum's last bit is made odd, in the error's direction. Rounding an odd sum to float then never
 * takes a tie that is none: a double has more than two bits more than a float. An infinity's and a NaN's error is NaN,
 * which compares false: they stay. */
INLINE __m128 fma_pair(__m128 a, __m128 b, __m128 c)
{
    const __m128d zero = _mm_setzero_pd();
    __m128d product = _mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), addend = _mm_cvtps_pd(c);
    __m128d sum = _mm_add_pd(product, addend), rest = _mm_sub_pd(sum, product);
    __m128d error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, rest)), _mm_sub_pd(addend, rest));
    __m128i more = _mm_castpd_si128(_mm_cmpgt_pd(error, zero)), less = _mm_castpd_si128(_mm_cmplt_pd(error, zero));
    __m128i negative = _mm_castpd_si128(_mm_cmplt_pd(sum, zero)), bits = _mm_castpd_si128(sum);
    /* All bits, which is -1: the error points away from zero, so the exact sum is larger than this one. */
    __m128i outwards = _mm_xor_si128(more, negative);
    __m128i to_odd = _mm_or_si128(outwards, _mm_set1_epi64x(1)); /* -1 or 1 */
    __m128i is_even = _mm_sub_epi64(_mm_and_si128(bits, _mm_set1_epi64x(1)), _mm_set1_epi64x(1));
    to_odd = _mm_and_si128(to_odd, _mm_and_si128(_mm_or_si128(more, less), is_even));
    return _mm_cvtpd_ps(_mm_castsi128_pd(_mm_sub_epi64(bits, to_odd)));
}

/* Not inlined: a hundred copies of it in the unrolled step take the compiler minutes. */
static __attribute__((noinline)) vec vec_fma(vec a, vec b, vec c)
{
    __m128 low = fma_pair((__m128)a, (__m128)b, (__m128)c);
    __m128 high = fma_pair(_mm_movehl_ps((__m128)a, (__m128)a), _mm_movehl_ps((__m128)b, (__m128)b),
                           _mm_movehl_ps((__m128)c, (__m128)c));
    return (vec)_mm_movelh_ps(low, high);
}

#endif

INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return vec_fma(-a, b, c);
}

INLINE vec vec_and(vec a, vec b)
{
    return (vec)((vec_mask)a & (vec_mask)b);
}

INLINE vec vec_relu(vec z)
{
    return (vec)((vec_mask)z & ~(z < 0.0f));
}

INLINE vec vec_where_positive(vec z, vec d)
{
    return (vec)((vec_mask)d & (z > 0.0f));
}

INLINE vec vec_canonical(vec z)
{
    const vec_mask nan = {LM_NAN_BITS, LM_NAN_BITS, LM_NAN_BITS, LM_NAN_BITS}, is_nan = z != z;
    return (vec)(((vec_mask)z & ~is_nan) | (nan & is_nan));
}

INLINE vec vec_pairs(vec a, vec b)
{
    return (vec){a[0], a[2], b[0], b[2]} + (vec){a[1], a[3], b[1], b[3]};
}

INLINE void vec_spread(vec v, vec out[4])
{
    UNROLL(4)
    for (int q = 0; q < 4; q++)
        out[q] = vec_all(v[q]);
}

INLINE vec vec_chains(const vec p[4])
{
    return (p[0] + p[1]) + (p[2] + p[3]);
}

/* With one lane, dealt order is the outputs' own. */
INLINE vec vec_join(const vec s[1])
{
    return s[0];
}

INLINE vec vec_join_dealt(const vec s[1])
{
    return s[0];
}

INLINE vec vec_undeal(vec v)
{
    return v;
}

INLINE vec vec_repeat_lane(vec v, size_t k)
{
    (void)k;
    return v;
}

INLINE vec vec_repeat_dealt(vec v, size_t k)
{
    (void)k;
    return v;
}

INLINE vec vec_gather_rows(const float *p, size_t stride)
{
    (void)stride;
    return vec_load(p);
}

INLINE void vec_scatter_rows(float *p, size_t stride, vec v)
{
    (void)stride;
    vec_store(p, v);
}

INLINE void vec_transpose(vec v[4])
{
    const vec a = v[0], b = v[1], c = v[2], d = v[3];
    UNROLL(4)
    for (int k = 0; k < 4; k++)
        v[k] = (vec){a[k], b[k], c[k], d[k]};
}

/* Rule 3 over e (16 floats, the last +0). */
INLINE float quad_loss(const float *e)
{
    vec p = vec_load(e) * vec_load(e);
    UNROLL(3)
    for (int c = 4; c < 16; c += 4)
        p = vec_fma(vec_load(e + c), vec_load(e + c), p);
    return 0.5f * ((p[0] + p[1]) + (p[2] + p[3]));
}

#include "simd_train.h"

#define INFER_VECTORS 3
#define INFER_OUTPUTS 4
#include "simd_infer.h"

const struct lm_cpu_kernels lm_simd_portable = {
    .begin = begin,
    .end = end,
    .put = put,
    .get = get,
    .train = train,
    .infer = infer,
};
