/* infer.c: lm_backend.infer and infer_grey of gpu:fast: which of its ways a batch takes. */
#include <stdlib.h>

#include "fast.h"
#include "pipe.h"
#include "quick.h"
#include "score.h"

/* Samples that are normalised here at once, where no kernel does it. */
#define NORMALISED 4096

static int tiles_fit(const struct lm_gpu_session *s, struct lm_shape shape)
{
    return lm_replica_fits(shape) && lm_tile_warps(s->block_shared) > 0;
}

static int by_layers(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, struct lm_pipe_input input,
                     size_t n, float *scores, struct lm_error *err)
{
    return lm_gpu_score_global(s, shape, packed, input.x, n, scores, err);
}

/* way: lm_pipe_infer or by_layers. */
static int packed_infer(struct lm_gpu_session *s, struct lm_shape shape, const float *parameters,
                        struct lm_pipe_input input, size_t n, float *scores, struct lm_error *err)
{
    const size_t floats = lm_gpu_layout_of(shape).floats;
    float *packed = malloc(floats * sizeof *packed);
    if (!packed)
        return lm_fail_memory(err, floats * sizeof *packed, "a network");
    lm_gpu_pack(shape, parameters, packed);
    int code = (tiles_fit(s, shape) ? lm_pipe_infer : by_layers)(s, shape, packed, input, n, scores, err);
    free(packed);
    return code;
}

int lm_gpu_infer_fast(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n,
                      float *scores, struct lm_error *err)
{
    const struct lm_pipe_input input = {.x = x};
    if (n == 0)
        return LM_OK;
    if (lm_replica_fits(shape) && n <= LM_QUICK_MOST)
        return lm_quick_infer(session, parameters, x, n, scores, err);
    return packed_infer(session, shape, parameters, input, n, scores, err);
}

int lm_gpu_infer_grey(void *session, struct lm_shape shape, const float *parameters, const float (*grey)[256],
                      const uint8_t *pixel, size_t n, float *scores, struct lm_error *err)
{
    const struct lm_pipe_input input = {.pixel = pixel, .grey = grey};
    const size_t most = n < NORMALISED ? n : NORMALISED;
    if (n == 0)
        return LM_OK;
    if (tiles_fit(session, shape))
        return packed_infer(session, shape, parameters, input, n, scores, err);
    float *x = malloc(most * LM_PIXELS * sizeof *x);
    int code = x ? LM_OK : lm_fail_memory(err, most * LM_PIXELS * sizeof *x, "normalised samples");
    for (size_t first = 0; first < n && code == LM_OK; first += most) {
        const size_t count = n - first < most ? n - first : most;
        for (size_t k = 0; k < count * LM_PIXELS; k++)
            x[k] = grey[k % LM_PIXELS][pixel[first * LM_PIXELS + k]];
        code = lm_gpu_infer_fast(session, shape, parameters, x, count, scores + first * LM_CLASSES, err);
    }
    free(x);
    return code;
}
