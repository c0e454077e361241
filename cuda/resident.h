/* resident.h: a network that stays on the device while samples come and go, for training and for scoring. */
#ifndef LM_GPU_RESIDENT_H
#define LM_GPU_RESIDENT_H

#include "session.h"

struct lm_resident {
    struct lm_gpu_layout layout;
    float *parameters, *x, *a1, *a2, *scores, *d1, *d2, *e; /* the session's, on the device */
};

/* Room for n samples (1: training too), and the network's copy. */
int lm_resident_begin(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, size_t n,
                      struct lm_resident *net, struct lm_error *err);
/* The three layers for the n samples at net->x, a kernel each, into net->scores (n, 15). activation: of the last one.
 * launch: lm_launch_forward or lm_launch_shared. */
typedef cudaError_t (*lm_layer_launch)(struct lm_gpu_forward f, unsigned block, cudaStream_t stream);
int lm_resident_forward(struct lm_gpu_session *s, const struct lm_resident *net, size_t n, int activation,
                        lm_layer_launch launch, uint32_t block, struct lm_error *err);

#endif
