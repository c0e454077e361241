/* score.h: the ways to score a batch; each is lm_gpu_ways.score. */
#ifndef LM_GPU_SCORE_H
#define LM_GPU_SCORE_H

#include "session.h"

#define LM_GPU_SCORE(way)                                                                                              \
    int lm_gpu_score_##way(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, const float *x,       \
                           size_t n, float *scores, struct lm_error *err)

LM_GPU_SCORE(naive);    /* a sample at a time, a layer at a time, everything copied in and out each time */
LM_GPU_SCORE(resident); /* a sample at a time: in, a kernel a layer, out */
LM_GPU_SCORE(global);   /* a kernel a layer for the whole batch, a thread a (sample, neuron) */
LM_GPU_SCORE(shared);   /* the same with the weights staged in shared memory */
LM_GPU_SCORE(fused);    /* one kernel for the three layers */

#endif
