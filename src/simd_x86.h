/* simd_x86.h: what the AVX2 and AVX-512 paths share: the loss, four partial sums in one 128-bit register. */
#include <immintrin.h>

/* Rule 3 over e (16 floats, the last +0). */
INLINE float quad_loss(const float *e)
{
    __m128 p = _mm_mul_ps(_mm_load_ps(e), _mm_load_ps(e));
    UNROLL(3)
    for (int c = 4; c < 16; c += 4)
        p = _mm_fmadd_ps(_mm_load_ps(e + c), _mm_load_ps(e + c), p);
    p = _mm_add_ps(p, _mm_movehdup_ps(p));
    return 0.5f * _mm_cvtss_f32(_mm_add_ss(p, _mm_movehl_ps(p, p)));
}
