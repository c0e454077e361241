/* pipe.h: many samples under one network of the lab's shape, from the host's memory to the host's memory, with copies
 * and kernels at the same time. */
#ifndef LM_GPU_PIPE_H
#define LM_GPU_PIPE_H

#include "session.h"

struct lm_pipe_input {
    const float *x; /* (n, 64); or NULL: */
    const uint8_t *pixel;
    const float (*grey)[256]; /* (64, 256): what value v of pixel p stands for */
};

/* scores (n, 15); packed: layout.h. Pinned memory (lm_gpu_pinned) of the caller's is copied from and to where it lies,
 * other memory by way of the session's own. The GPU must have room for a tile (lm_tile_warps). */
int lm_pipe_infer(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, struct lm_pipe_input input,
                  size_t n, float *scores, struct lm_error *err);
/* What the session keeps for it. */
void lm_pipe_close(struct lm_gpu_session *s);

#endif
