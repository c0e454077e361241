/* layout.h: how a network lies in the memory of a GPU, and in the shared memory of a block.
 *
 * network.h's array has no padding. Here each layer is its weights, row-major, then its biases, and
 *   - a row has `pitch` floats: the inputs rounded up to a multiple of four (one 16-byte load holds four terms of rule
 * 1 of arithmetic.h), plus four more where that makes pitch / 4 odd: then eight rows read at the same column lie in
 *     different banks of shared memory;
 *   - rows and biases are rounded up to a multiple of four outputs.
 * All padding is +0. So a sum along a row, or down a column, runs over whole groups of four without asking where the
 * network ends, and the padding's terms are the (+0)(+0) that rule 1 demands. Kernels write nothing else there.
 *
 * The same array is copied to the device in one call and staged in shared memory word by word. Left out: a layout for
 * each kernel. One is enough to test, and its padding costs 10 % for the lab's network.
 */
#ifndef LM_GPU_LAYOUT_H
#define LM_GPU_LAYOUT_H

#include <stdint.h>

#include "network.h"

struct lm_gpu_layer {
    uint32_t inputs, outputs;
    uint32_t pitch;   /* floats from one row to the next */
    uint32_t weights; /* offset of the first row; a multiple of four */
    uint32_t biases;
};

struct lm_gpu_layout {
    struct lm_gpu_layer layer[LM_LAYERS];
    uint32_t floats; /* of the whole array: 3,136 for 64-32-16-15 */
};

/* n rounded up to a multiple of four. */
#define LM_ROUND4(n) (((n) + 3u) & ~3u)

#ifdef __cplusplus
extern "C" {
#endif

struct lm_gpu_layout lm_gpu_layout_of(struct lm_shape shape);
/* From network.h's array into this one (padding included), and back. */
void lm_gpu_pack(struct lm_shape shape, const float *parameters, float *packed);
void lm_gpu_unpack(struct lm_shape shape, const float *packed, float *parameters);

#ifdef __cplusplus
}
#endif

#endif
