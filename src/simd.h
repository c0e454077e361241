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
#define INLINE static inline __attribute__((always_inline))
#define LM_PRAGMA(text) _Pragma(#text)
#if defined(__SANITIZE_ADDRESS__)
#define UNROLL(n)
#elif defined(__clang__)
#define UNROLL(n) LM_PRAGMA(unroll n)
#else
#define UNROLL(n) LM_PRAGMA(GCC unroll n)
#endif

#endif
