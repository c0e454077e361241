/* simd.h: the fast CPU kernels, one table a path. Each gives cpu-ref's bits (arithmetic.h); tests/unit/test_simd.c.
 *
 *   simd_avx512.c   x86 with AVX-512F       16 floats a vector
 *   simd_avx2.c     x86 with AVX2 and FMA    8
 *   simd_portable.c everywhere               4, by the compiler's vector types
 *
 * All three are one algorithm, written once: simd_train.h (a training step on tiles of weights) and simd_infer.h (many
 * samples side by side), over a dozen small operations that each file defines for its vectors. simd_layout.h says how
 * the weights lie. Files are compiled with plain flags; only the functions of a path may use its instructions, and the
 * processor is asked at run time (cpu_backend.c).
 *
 * A file defines ROWS, the lanes of four floats in a `vec`, and
 *   vec_load, vec_store, vec_all      whole vectors; one float everywhere
 *   vec_repeat(p)                     four floats in every lane
 *   vec_repeat_lane(v, k)             lane k in every lane
 *   vec_repeat_dealt(v, k)            the k-th four of v, which is in dealt order, in their own order in every lane
 *   vec_add, vec_sub, vec_mul, vec_and, vec_fma(a, b, c) = a b + c, vec_fnma(a, b, c) = -(a b) + c, rounded once
 *   vec_relu, vec_where_positive(z, d), vec_canonical     z < 0 ? 0 : z;  z > 0 ? d : +0;  a NaN as LM_NAN_BITS
 *   vec_pairs(a, b)                   in each lane: a0 + a1, a2 + a3, b0 + b1, b2 + b3
 *   vec_spread(v, out)                out[q]: element q of each lane, all over that lane
 *   vec_chains(p)                     the 4 / ROWS accumulators of a column's sum, as far as they add up inside lanes
 *   vec_join(s), vec_join_dealt(s)    ROWS such: the sums of 4 ROWS columns, in their own or in dealt order
 *   vec_undeal(v)                     dealt order to own order (simd_layout.h)
 *   vec_gather_rows, vec_scatter_rows rows 0, 4, ... to lanes and back; vec_transpose: a 4 x 4 matrix a lane
 *   vec_keep(p)                       pins four sums here: a compiler that sees only the last use of a sum moves all of
 *                                     a loop's multiply-adds to its end, and spills what they need
 *   quad_loss(e)                      rule 3
 *
 * Why four partial sums with the bias last (arithmetic.h), and not one, two or eight: tests/perf/README.md.
 */
#ifndef LM_SIMD_H
#define LM_SIMD_H

#include "training.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define LM_HAVE_SIMD_X86 1
extern const struct lm_cpu_kernels lm_simd_avx512;
extern const struct lm_cpu_kernels lm_simd_avx2;
#endif
extern const struct lm_cpu_kernels lm_simd_portable;

/* For the simd_*.c files. Everything is inlined into a few entries, so that the sizes of the default shape are
 * constants there; a loop over registers must be unrolled for its array to be registers. (Not under a sanitizer: its
 * checks, unrolled, take the compiler minutes.) */
#define INLINE          static inline __attribute__((always_inline))
#define LM_PRAGMA(text) _Pragma(#text)
#if defined(__SANITIZE_ADDRESS__)
#define UNROLL(n)
#elif defined(__clang__)
#define UNROLL(n) LM_PRAGMA(unroll n)
#else
#define UNROLL(n) LM_PRAGMA(GCC unroll n)
#endif

#endif
