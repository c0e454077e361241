/* simd_avx512.c: the kernels at four lanes of four floats a vector, for x86 with AVX-512F. */
#include "arithmetic.h"
#include "simd.h"

#ifdef LM_HAVE_SIMD_X86

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#endif

#define ROWS 4
typedef __m512 vec;

#define vec_keep(p) __asm__("" : "+v"((p)[0]), "+v"((p)[1]), "+v"((p)[2]), "+v"((p)[3]))

INLINE vec vec_load(const float *p)
{
    return _mm512_load_ps(p);
}

INLINE void vec_store(float *p, vec v)
{
    _mm512_store_ps(p, v);
}

INLINE vec vec_all(float x)
{
    return _mm512_set1_ps(x);
}

INLINE vec vec_repeat(const float *p)
{
    return _mm512_broadcast_f32x4(_mm_loadu_ps(p));
}

INLINE vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

INLINE vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

INLINE vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

INLINE vec vec_and(vec a, vec b)
{
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a), _mm512_castps_si512(b)));
}

/* max gives its second operand for two zeros and for a NaN: rule 2's -0 and NaN stay. */
INLINE vec vec_relu(vec z)
{
    return _mm512_max_ps(_mm512_setzero_ps(), z);
}

INLINE vec vec_where_positive(vec z, vec d)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(z, _mm512_setzero_ps(), _CMP_GT_OQ), d);
}

INLINE vec vec_canonical(vec z)
{
    const vec nan = _mm512_castsi512_ps(_mm512_set1_epi32((int)LM_NAN_BITS));
    return _mm512_mask_mov_ps(z, _mm512_cmp_ps_mask(z, z, _CMP_UNORD_Q), nan);
}

INLINE vec vec_pairs(vec a, vec b)
{
    return vec_add(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

INLINE void vec_spread(vec v, vec out[4])
{
    out[0] = _mm512_permute_ps(v, 0x00);
    out[1] = _mm512_permute_ps(v, 0x55);
    out[2] = _mm512_permute_ps(v, 0xaa);
    out[3] = _mm512_permute_ps(v, 0xff);
}

INLINE vec vec_chains(const vec p[1])
{
    return p[0];
}

/* Lane l of s[k] is partial sum l of chunk k. */
INLINE vec vec_join(const vec s[4])
{
    vec a = vec_add(_mm512_shuffle_f32x4(s[0], s[1], 0x88), _mm512_shuffle_f32x4(s[0], s[1], 0xdd));
    vec b = vec_add(_mm512_shuffle_f32x4(s[2], s[3], 0x88), _mm512_shuffle_f32x4(s[2], s[3], 0xdd));
    return vec_add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* Dealt order is the transpose of a 4 x 4 matrix: there and back are the same. */
INLINE vec vec_undeal(vec v)
{
    const __m512i transposed = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_ps(transposed, v);
}

INLINE vec vec_join_dealt(const vec s[4])
{
    return vec_undeal(vec_join(s));
}

INLINE vec vec_repeat_lane(vec v, size_t k)
{
    return k == 0   ? _mm512_shuffle_f32x4(v, v, 0x00)
           : k == 1 ? _mm512_shuffle_f32x4(v, v, 0x55)
           : k == 2 ? _mm512_shuffle_f32x4(v, v, 0xaa)
                    : _mm512_shuffle_f32x4(v, v, 0xff);
}

INLINE vec vec_repeat_dealt(vec v, size_t k)
{
    const __m512i column = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    return _mm512_permutexvar_ps(_mm512_add_epi32(column, _mm512_set1_epi32((int)k)), v);
}

/* Rows 0, 4, 8 and 12 from p on, stride floats apart. */
INLINE vec vec_gather_rows(const float *p, size_t stride)
{
    vec v = _mm512_castps128_ps512(_mm_loadu_ps(p));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 4 * stride), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 8 * stride), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(p + 12 * stride), 3);
}

INLINE void vec_scatter_rows(float *p, size_t stride, vec v)
{
    _mm_storeu_ps(p, _mm512_castps512_ps128(v));
    _mm_storeu_ps(p + 4 * stride, _mm512_extractf32x4_ps(v, 1));
    _mm_storeu_ps(p + 8 * stride, _mm512_extractf32x4_ps(v, 2));
    _mm_storeu_ps(p + 12 * stride, _mm512_extractf32x4_ps(v, 3));
}

/* Four vectors as four 4 x 4 matrices, a matrix a lane. */
INLINE void vec_transpose(vec v[4])
{
    vec a = _mm512_unpacklo_ps(v[0], v[1]), b = _mm512_unpackhi_ps(v[0], v[1]);
    vec c = _mm512_unpacklo_ps(v[2], v[3]), d = _mm512_unpackhi_ps(v[2], v[3]);
    v[0] = _mm512_shuffle_ps(a, c, 0x44);
    v[1] = _mm512_shuffle_ps(a, c, 0xee);
    v[2] = _mm512_shuffle_ps(b, d, 0x44);
    v[3] = _mm512_shuffle_ps(b, d, 0xee);
}

#include "simd_x86.h"

#include "simd_train.h"

/* Two vectors, not three: a batch and its activations then stay in a first cache of 32 KiB beside the weights. */
#define INFER_VECTORS 2
#define INFER_OUTPUTS 8
#include "simd_infer.h"

const struct lm_cpu_kernels lm_simd_avx512 = {
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
