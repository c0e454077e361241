/* replica.h: many trainings in one launch: what the kernels of gpu:fast are given. Plain C.
 *
 * A replica is a trial on its way through the device. Its network lies packed for one warp (replica_layout.cuh), its
 * sample orders lie behind one another, and both stay there from launch to launch, so that a launch may end at the end
 * of any epoch and the next one goes on.
 */
#ifndef LM_GPU_REPLICA_H
#define LM_GPU_REPLICA_H

#include "kernels.h"

/* The one shape that a warp holds: the lab's. */
static inline int lm_replica_fits(struct lm_shape shape)
{
    return shape.hidden1 == 32 && shape.hidden2 == 16;
}

/* Floats of a packed network, and of one in network.h's order. */
#define LM_REPLICA_PACKED 3712
#define LM_REPLICA_FLOATS 2863

/* An order's words: 28 bits of a sample's index, and its label above them. */
#define LM_REPLICA_LABEL_SHIFT 28
#define LM_REPLICA_INDEX       0x0fffffffu
/* The kernel reads ahead so many words behind the last order. */
#define LM_REPLICA_ORDER_SPARE 128

#define LM_MT_WORDS 624

/* Warps, and so replicas, that a multiprocessor holds of each kernel. */
#define LM_REPLICA_MANY 12
#define LM_REPLICA_FEW  8

struct lm_gpu_replica {
    float rate, decay; /* of the epoch to come */
    float range;       /* weights start uniform in [-range, range) */
    uint32_t seed;
    uint32_t epoch, epochs; /* done, and to do in all */
};

/* All arrays are the device's. count replicas, `window` epochs' orders at a time. */
struct lm_gpu_replicas {
    struct lm_gpu_replica *replica; /* (count) */
    float *packed;                  /* (count, 3712) */
    double *loss;                   /* (count, window): sums of losses */
    uint32_t *words;                /* (count, 624): each replica's generator, */
    uint32_t *used;                 /* (count): and how many of its words are used up */
    uint32_t *order;                /* (count, window, n), and LM_REPLICA_ORDER_SPARE */
    uint32_t *next;                 /* the next replica that nobody has taken */
    const float *x;                 /* (n, 64), each sample by partial sums: word 16 (j mod 4) + j / 4 is pixel j;
                                       aligned to 256 bytes, as cudaMalloc's memory is */
    const uint8_t *label;           /* (n) */
    const float *start;             /* (count, 2863): networks of the replicas whose epoch is above 0 at the beginning;
                                       NULL: there are none */
    uint32_t passed, pass;          /* epochs whose orders are made and dropped: so many before, so many at a time */
    uint32_t count, window, n;
    uint32_t letters[LM_CLASSES]; /* samples of each letter in the whole data set */
};

/* Scores of n samples by one network of the lab's shape. */
struct lm_gpu_tile {
    struct lm_gpu_layout layout;
    const float *parameters; /* layout.h */
    const float *x;          /* (n, 64), aligned to 16 bytes */
    float *scores;           /* (n, 15), likewise */
    size_t n;
};

/* Samples of 8-bit pixels. */
struct lm_gpu_grey {
    const float *table;   /* (64, 256): what value v of pixel p stands for */
    const uint8_t *pixel; /* (n, 64), aligned to 4 bytes */
    float *x;             /* (n, 64) */
    size_t n;
};

/* Loss and hits of `count` networks on n samples. */
struct lm_gpu_metrics {
    const float *parameters; /* (count, 2863): network.h's order */
    const float *x;          /* (n, 64) */
    const uint8_t *label;    /* (n) */
    double *loss;            /* (count): sum of the losses, in the order of the samples */
    uint32_t *hits;          /* (count) */
    uint32_t n;
};

#endif
