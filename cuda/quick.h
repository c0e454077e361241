/* quick.h: a small batch under a network of the lab's shape, from the host's memory to the host's memory. */
#ifndef LM_GPU_QUICK_H
#define LM_GPU_QUICK_H

#include "session.h"

/* More samples are faster through the device's memory (pipe.c): see tests/gpu/fast_h200.txt. */
#define LM_QUICK_MOST 16384

/* scores (n, 15) of x (n, 64), n <= LM_QUICK_MOST; parameters: network.h's order. The network goes to the device when
 * it is another than the last call's. Memory that is pinned (lm_gpu_pinned) and aligned to 16 bytes is read and written
 * where it lies; other memory by way of the session's own. */
int lm_quick_infer(struct lm_gpu_session *s, const float *parameters, const float *x, size_t n, float *scores,
                   struct lm_error *err);
/* What the session keeps for it. */
void lm_quick_close(struct lm_gpu_session *s);

#endif
