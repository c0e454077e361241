/* quick_layout.h: a network of the lab's shape as the lanes of quick_kernel.cuh load it, and what that kernel is given.
 * Plain C.
 *
 * Layer 1: 16-byte words [m][i], the weights 4 m to 4 m + 3 of neuron i. Layers 2 and 3: 16-byte words [m][l]; lane
 * l = i + 16 h has of neuron i the terms of partial sums 2 h and 2 h + 1: words 8 m + 2 h, + 1, + 4, + 5 of its row.
 * Row 15 of layer 3 is +0.
 */
#ifndef LM_QUICK_LAYOUT_H
#define LM_QUICK_LAYOUT_H

#include "replica.h"

#define LM_QUICK_W1     0
#define LM_QUICK_B1     2048
#define LM_QUICK_W2     2080
#define LM_QUICK_B2     2592
#define LM_QUICK_W3     2608
#define LM_QUICK_B3     2864
#define LM_QUICK_FLOATS 2880

/* Threads of a block, and samples that it takes at a time. */
#define LM_QUICK_BLOCK   256
#define LM_QUICK_SAMPLES (LM_QUICK_BLOCK / 16)
/* Bytes of its shared memory: each warp's samples and activations, and the scores. */
#define LM_QUICK_BYTES ((LM_QUICK_BLOCK / 32 * 224 + LM_QUICK_SAMPLES * 16) * sizeof(float))

struct lm_gpu_quick {
    const float *network; /* the device's */
    const float *x;       /* (n, 64); this and the rest: the host's, as the device sees it, aligned to 16 bytes */
    float *scores;        /* (n, 15) */
    uint32_t *done;       /* (blocks): becomes 1 when the block's scores are there */
    uint32_t n;
};

#ifdef __CUDACC__
#define LM_QUICK_BOTH __host__ __device__
#else
#define LM_QUICK_BOTH
#endif

/* Where term j of n lies, among those of a layer: by h, then by m. */
static LM_QUICK_BOTH inline uint32_t lm_quick_place(uint32_t j, uint32_t n)
{
    return j % 4 / 2 * (n / 2) + j / 4 * 2 + j % 2;
}

#ifdef __cplusplus
extern "C" {
#endif

/* parameters: network.h's order. */
void lm_quick_pack(const float *parameters, float *packed);

#ifdef __cplusplus
}
#endif

#endif
