/* score.c: see score.h. Batches go through the device in parts, so that memory stays bounded whatever n is. */
#include "score.h"

#include "naive.h"
#include "resident.h"

/* Samples on the device at once: 16 MB of pixels, and at most 67 MB of activations. */
#define PART ((size_t)1 << 16)

LM_GPU_SCORE(naive)
{
    struct lm_gpu_layout layout = lm_gpu_layout_of(shape);
    const struct lm_gpu_layer *layer = layout.layer;
    float a1[LM_MAX_HIDDEN], a2[LM_MAX_HIDDEN];
    int code = LM_OK;
    for (size_t k = 0; k < n && code == LM_OK; k++) {
        code = lm_naive_forward(s, &layer[0], packed, x + k * LM_PIXELS, LM_ROUND4(layer[0].outputs), LM_GPU_RELU,
                                LM_GPU_INFER_BLOCK, a1, err);
        if (code == LM_OK)
            code = lm_naive_forward(s, &layer[1], packed, a1, LM_ROUND4(layer[1].outputs), LM_GPU_RELU,
                                    LM_GPU_INFER_BLOCK, a2, err);
        if (code == LM_OK)
            code = lm_naive_forward(s, &layer[2], packed, a2, LM_CLASSES, LM_GPU_SCORES, LM_GPU_INFER_BLOCK,
                                    scores + k * LM_CLASSES, err);
    }
    return code;
}

/* ---- parts of a batch ---- */

typedef int (*score_part)(struct lm_gpu_session *s, const struct lm_resident *net, size_t n, struct lm_error *err);

static int in_parts(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, const float *x, size_t n,
                    size_t part, score_part kernels, float *scores, struct lm_error *err)
{
    struct lm_resident net;
    size_t most = n < part ? n : part;
    int code = lm_resident_begin(s, shape, packed, most, &net, err);
    for (size_t first = 0; first < n && code == LM_OK; first += most) {
        size_t count = n - first < most ? n - first : most;
        code = lm_gpu_copy_in(s, net.x, x + first * LM_PIXELS, count * LM_PIXELS * sizeof(float), err);
        if (code == LM_OK)
            code = kernels(s, &net, count, err);
        if (code == LM_OK)
            code = lm_gpu_copy_out(s, scores + first * LM_CLASSES, net.scores, count * LM_CLASSES * sizeof(float), err);
    }
    return code;
}

static int part_global(struct lm_gpu_session *s, const struct lm_resident *net, size_t n, struct lm_error *err)
{
    return lm_resident_forward(s, net, n, LM_GPU_SCORES, lm_launch_forward, LM_GPU_INFER_BLOCK, err);
}

static int part_shared(struct lm_gpu_session *s, const struct lm_resident *net, size_t n, struct lm_error *err)
{
    return lm_resident_forward(s, net, n, LM_GPU_SCORES, lm_launch_shared, LM_GPU_INFER_BLOCK, err);
}

static int part_fused(struct lm_gpu_session *s, const struct lm_resident *net, size_t n, struct lm_error *err)
{
    struct lm_gpu_fused f = {net->layout, net->parameters, net->x, net->scores, (uint32_t)n};
    return LM_GPU_LAUNCH(s, lm_launch_fused(f, s->stream), "fused", err);
}

LM_GPU_SCORE(resident)
{
    return in_parts(s, shape, packed, x, n, 1, part_global, scores, err);
}

LM_GPU_SCORE(global)
{
    return in_parts(s, shape, packed, x, n, PART, part_global, scores, err);
}

LM_GPU_SCORE(shared)
{
    return in_parts(s, shape, packed, x, n, PART, part_shared, scores, err);
}

LM_GPU_SCORE(fused)
{
    return in_parts(s, shape, packed, x, n, PART, part_fused, scores, err);
}
