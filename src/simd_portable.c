/* simd_portable.c: the kernels at one lane of four floats a vector, in C with the vector types of GCC and Clang: two
 * SSE or NEON registers' worth of work everywhere, with no instruction named.
 *
 * The fused multiply-add is what decides the speed. On aarch64 and wherever else the compiler has the instruction,
 * fmaf() is that. An x86 processor without it (older than 2013) would call the C library four times a vector; fused()
 * below does it in double, exactly, at a quarter of that.
 */
#include "arithmetic.h"
#include "simd.h"

#include <math.h>

#define ROWS 1
typedef float vec __attribute__((vector_size(16), aligned(16), may_alias));
typedef float loose __attribute__((vector_size(16), aligned(4), may_alias)); /* at any address */
typedef int32_t mask __attribute__((vector_size(16)));
