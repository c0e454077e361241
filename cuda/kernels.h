/* kernels.h: what each kernel is given. Plain C, so that the host code that fills it in, the kernels (.cuh) and the
 * test that runs them on the host (tests/cuda) share it. Each struct is passed to its kernel by value; pointers are the
 * device's. */
#ifndef LM_GPU_KERNELS_H
#define LM_GPU_KERNELS_H

#include "layout.h"

/* What becomes of a layer's z. */
enum lm_gpu_activation {
    LM_GPU_RELU,   /* a hidden layer */
    LM_GPU_LINEAR, /* scores on the way to a loss */
    LM_GPU_SCORES  /* scores that are given out: a NaN becomes LM_NAN_BITS */
};

/* out (n, columns) = activation(x (n, x_pitch) w^T + b). Columns beyond the layer's outputs are set to +0: the next
 * layer's padding. x and rows of x are aligned to 16 bytes. */
struct lm_gpu_forward {
    struct lm_gpu_layer layer;
    const float *parameters; /* where the layer's offsets count from */
    const float *x;
    float *out;
    uint32_t n, x_pitch, columns;
    int activation;
};

/* delta (inputs of `next`) from those behind it: rule 4, first half. */
struct lm_gpu_delta {
    struct lm_gpu_layer next;
    const float *parameters;
    const float *next_delta; /* (LM_ROUND4(next.outputs)), padding +0 */
    const float *activation; /* (next.inputs): after the ReLU; above 0 where z is */
    float *delta;            /* (LM_ROUND4(next.inputs)), padding is set to +0 */
};

/* Rule 4, second half, one layer. */
struct lm_gpu_update {
    struct lm_gpu_layer layer;
    float *parameters;
    const float *delta, *x;
    float rate;
};

/* The three layers for n samples. */
struct lm_gpu_fused {
    struct lm_gpu_layout layout;
    const float *parameters;
    const float *x; /* (n, 64) */
    float *scores;  /* (n, 15) */
    uint32_t n;
};

/* `steps` training steps by one block, from step `first` of an epoch of n on, over epochs' ends. */
struct lm_gpu_training {
    struct lm_gpu_layout layout;
    float *parameters;     /* read at the start, written at the end */
    const float *x;        /* (n, 64) */
    const uint8_t *label;  /* (n) */
    const uint32_t *order; /* (steps): each sample's index */
    uint32_t n, first, steps;
    float rate, decay;
    double *loss; /* sum of the losses of each epoch touched; loss[0] is continued if first is not 0. Nothing is written
                   * behind an epoch whose sum is not finite: the block stops there. */
};

/* Threads of the blocks that score. Training's are the trial's own. */
#define LM_GPU_INFER_BLOCK 128
/* `shared`: outputs whose weights a block stages, and samples it reuses them for. */
#define LM_GPU_SHARED_ROWS    16
#define LM_GPU_SHARED_SAMPLES 64
/* `fused`: samples a block. A warp's lanes are its samples, so it is the size of a warp. */
#define LM_GPU_FUSED_SAMPLES 32

/* The largest pitch (layout.h) a layer can have: 128 inputs. */
#define LM_GPU_WIDEST_PITCH 132

/* Bytes of dynamic shared memory that each of them needs. */
static inline uint32_t lm_gpu_shared_bytes_of(struct lm_gpu_layer layer)
{
    uint32_t rows = LM_ROUND4(layer.outputs) < LM_GPU_SHARED_ROWS ? LM_ROUND4(layer.outputs) : LM_GPU_SHARED_ROWS;
    return rows * (layer.pitch + 1) * (uint32_t)sizeof(float);
}

static inline uint32_t lm_gpu_fused_bytes_of(const struct lm_gpu_layout *layout)
{
    const struct lm_gpu_layer *layer = layout->layer;
    return LM_GPU_FUSED_SAMPLES * (layer[0].pitch + layer[1].pitch + layer[2].pitch) * (uint32_t)sizeof(float);
}

/* Weights, two inputs (this step's and the next one's), activations and deltas, labels and a flag. */
static inline uint32_t lm_gpu_training_bytes_of(const struct lm_gpu_layout *layout)
{
    uint32_t hidden1 = LM_ROUND4(layout->layer[0].outputs), hidden2 = LM_ROUND4(layout->layer[1].outputs);
    return (layout->floats + 2 * LM_PIXELS + 2 * hidden1 + 2 * hidden2 + LM_ROUND4(LM_CLASSES) + 4) *
           (uint32_t)sizeof(float);
}

#endif
