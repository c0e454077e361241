/* simd_avx2.c: the kernels at two lanes of four floats a vector, for x86 with AVX2 and FMA. */
#include "arithmetic.h"
#include "simd.h"

#ifdef LM_HAVE_SIMD_X86

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define ROWS 2
typedef __m256 vec;

#define vec_keep(p) __asm__("" : "+x"((p)[0]), "+x"((p)[1]), "+x"((p)[2]), "+x"((p)[3]))

INLINE vec vec_load(const float *p)
{
    return _mm256_load_ps(p);
}

INLINE void vec_store(float *p, vec v)
{
    _mm256_store_ps(p, v);
}

INLINE vec vec_all(float x)
{
    return _mm256_set1_ps(x);
}

INLINE vec vec_repeat(const float *p)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)p);
}

INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

INLINE vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

INLINE vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

INLINE vec vec_and(vec a, vec b)
{
    return _mm256_and_ps(a, b);
}

/* max gives its second operand for two zeros and for a NaN: rule 2's -0 and NaN stay. */
INLINE vec vec_relu(vec z)
{
    return _mm256_max_ps(_mm256_setzero_ps(), z);
}

INLINE vec vec_where_positive(vec z, vec d)
{
    return _mm256_and_ps(_mm256_cmp_ps(z, _mm256_setzero_ps(), _CMP_GT_OQ), d);
}

INLINE vec vec_canonical(vec z)
{
    const vec nan = _mm256_castsi256_ps(_mm256_set1_epi32((int)LM_NAN_BITS));
    return _mm256_blendv_ps(z, nan, _mm256_cmp_ps(z, z, _CMP_UNORD_Q));
}

/* Two shuffles and an add: sooner done than vhaddps. */
INLINE vec vec_pairs(vec a, vec b)
{
    return vec_add(_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xdd));
}

INLINE void vec_spread(vec v, vec out[4])
{
    out[0] = _mm256_permute_ps(v, 0x00);
    out[1] = _mm256_permute_ps(v, 0x55);
    out[2] = _mm256_permute_ps(v, 0xaa);
    out[3] = _mm256_permute_ps(v, 0xff);
}

INLINE vec vec_chains(const vec p[2])
{
    return vec_add(p[0], p[1]);
}

INLINE vec vec_join(const vec s[2])
{
    return vec_add(_mm256_permute2f128_ps(s[0], s[1], 0x20), _mm256_permute2f128_ps(s[0], s[1], 0x31));
}

INLINE vec low_halves(vec a, vec b)
{
    return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}

INLINE vec high_halves(vec a, vec b)
{
    return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}

/* Outputs 0 1 4 5 | 2 3 6 7. */
INLINE vec vec_join_dealt(const vec s[2])
{
    const vec halves[2] = {low_halves(s[0], s[1]), high_halves(s[0], s[1])};
    return vec_join(halves);
}

INLINE vec vec_undeal(vec v)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
}

INLINE vec vec_repeat_lane(vec v, size_t k)
{
    return k == 0 ? _mm256_permute2f128_ps(v, v, 0x00) : _mm256_permute2f128_ps(v, v, 0x11);
}

INLINE vec vec_repeat_dealt(vec v, size_t k)
{
    const __m256d pairs = _mm256_castps_pd(v);
    return _mm256_castpd_ps(k == 0 ? _mm256_permute4x64_pd(pairs, 0x88) : _mm256_permute4x64_pd(pairs, 0xdd));
}

/* Rows 0 and 4 from p on, stride floats apart. */
INLINE vec vec_gather_rows(const float *p, size_t stride)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * stride), 1);
}

INLINE void vec_scatter_rows(float *p, size_t stride, vec v)
{
    _mm_storeu_ps(p, _mm256_castps256_ps128(v));
    _mm_storeu_ps(p + 4 * stride, _mm256_extractf128_ps(v, 1));
}

/* Four vectors as four 4 x 4 matrices, a matrix a lane. */
INLINE void vec_transpose(vec v[4])
{
    vec a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
    vec c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
    v[0] = low_halves(a, c);
    v[1] = high_halves(a, c);
    v[2] = low_halves(b, d);
    v[3] = high_halves(b, d);
}

#include "simd_x86.h"

#include "simd_train.h"

#define INFER_VECTORS 3
#define INFER_OUTPUTS 4
#include "simd_infer.h"

const struct lm_cpu_kernels lm_simd_avx2 = {
    .begin = begin,
    .end = end,
    .put = put,
    .get = get,
    .train = train,
    .infer = infer,
};

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
