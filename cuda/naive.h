/* naive.h: one layer of the naive way, for training and for scoring: all of x, weights and result travel each time. */
#ifndef LM_GPU_NAIVE_H
#define LM_GPU_NAIVE_H

#include "session.h"

/* out (columns) = activation(W x + b) of layer l; all four on the host, x padded to whole groups of four. */
int lm_naive_forward(struct lm_gpu_session *s, const struct lm_gpu_layer *layer, const float *packed, const float *x,
                     uint32_t columns, int activation, uint32_t block, float *out, struct lm_error *err);

#endif
