/* evaluate.c: loss and hits of many networks on a set of samples (metrics_kernel.cuh). */
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "fast.h"

/* Other shapes: scores of one network after the other. */
static int one_by_one(struct lm_gpu_session *s, struct lm_shape shape, const float *const *parameters, size_t n,
                      const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_error *err)
{
    size_t floats = lm_gpu_layout_of(shape).floats;
    float *scores = malloc((samples->n * LM_CLASSES + 1) * sizeof *scores), *packed = malloc(floats * sizeof *packed);
    int code = scores && packed
                   ? LM_OK
                   : lm_fail_memory(err, samples->n * LM_CLASSES * sizeof *scores, "scores of one network");
    for (size_t k = 0; k < n && code == LM_OK; k++) {
        lm_gpu_pack(shape, parameters[k], packed);
        code = s->ways->score(s, shape, packed, samples->x, samples->n, scores, err);
        if (code == LM_OK)
            metrics[k] = lm_evaluate(scores, samples->label, samples->n);
    }
    free(scores);
    free(packed);
    return code;
}

static int bring_samples(struct lm_gpu_session *s, const struct lm_samples *samples, struct lm_gpu_metrics *m,
                         struct lm_error *err)
{
    size_t bytes = samples->n * LM_PIXELS * sizeof(float);
    void *x, *label;
    int code = lm_gpu_reserve(s, LM_GPU_X, bytes, &x, err);
    if (code == LM_OK)
        code = lm_gpu_reserve(s, LM_GPU_SAMPLE_LABEL, samples->n, &label, err);
    if (code == LM_OK)
        code = lm_gpu_copy_in(s, x, samples->x, bytes, err);
    if (code == LM_OK)
        code = lm_gpu_copy_in(s, label, samples->label, samples->n, err);
    if (code == LM_OK)
        *m = (struct lm_gpu_metrics){.x = x, .label = label, .n = (uint32_t)samples->n};
    return code;
}

/* A thread copies so many networks at a time: 0.7 MB. */
#define NETWORKS_A_PART 64

struct staging {
    const float *const *parameters;
    float *networks;
};

static void stage_some(void *context, size_t first, size_t last)
{
    const struct staging *staging = context;
    for (size_t k = first; k < last; k++)
        memcpy(staging->networks + k * LM_REPLICA_FLOATS, staging->parameters[k], LM_REPLICA_FLOATS * sizeof(float));
}

/* What the device is given and what it gives back, in pinned memory: the parameters, then the losses, then the hits. */
static int evaluate_some(struct lm_gpu_session *s, struct lm_gpu_metrics m, unsigned char *here,
                         const float *const *parameters, size_t count, struct lm_metrics *metrics,
                         struct lm_gpu_ticker *ticker, struct lm_error *err)
{
    const size_t bytes = LM_REPLICA_FLOATS * sizeof(float);
    double *loss = (double *)(void *)here;
    uint32_t *hits = (uint32_t *)(void *)(loss + count);
    float *networks = (float *)(void *)(hits + count);
    struct staging staging = {parameters, networks};
    lm_crew(lm_gpu_host_threads(s), count, NETWORKS_A_PART, stage_some, &staging);
    int code = lm_gpu_copy_in(s, (void *)m.parameters, networks, count * bytes, err);
    if (code == LM_OK)
        code = LM_GPU_LAUNCH(s, lm_launch_metrics(m, (unsigned)count, s->stream), "metrics", err);
    if (code == LM_OK)
        code = lm_gpu_wait(s, ticker, "metrics", err);
    if (code == LM_OK)
        code = lm_gpu_copy_out(s, loss, m.loss, count * sizeof *loss, err);
    if (code == LM_OK)
        code = lm_gpu_copy_out(s, hits, m.hits, count * sizeof *hits, err);
    for (size_t k = 0; k < count && code == LM_OK; k++) {
        struct lm_tally tally = {.n = m.n, .hits = hits[k], .loss = loss[k]};
        metrics[k] = lm_tally_end(&tally);
    }
    return code;
}

static int all_together(struct lm_gpu_session *s, const float *const *parameters, size_t n,
                        const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_gpu_ticker *ticker,
                        struct lm_error *err)
{
    const size_t most = n < LM_NETWORKS_AT_ONCE ? n : LM_NETWORKS_AT_ONCE;
    const size_t each = LM_REPLICA_FLOATS * sizeof(float) + sizeof(double) + sizeof(uint32_t);
    struct lm_gpu_metrics m;
    void *networks, *loss, *hits, *here;
    int code = bring_samples(s, samples, &m, err);
    if (code != LM_OK ||
        (code = lm_gpu_reserve(s, LM_GPU_NETWORKS, most * LM_REPLICA_FLOATS * sizeof(float), &networks, err)) !=
            LM_OK ||
        (code = lm_gpu_reserve(s, LM_GPU_LOSS, most * sizeof(double), &loss, err)) != LM_OK ||
        (code = lm_gpu_reserve(s, LM_GPU_HITS, most * sizeof(uint32_t), &hits, err)) != LM_OK ||
        (code = lm_gpu_reserve_pinned(s, most * each, &here, err)) != LM_OK)
        return code;
    m.parameters = networks;
    m.loss = loss;
    m.hits = hits;
    for (size_t first = 0, count; first < n && code == LM_OK; first += count) {
        count = n - first < most ? n - first : most;
        code = evaluate_some(s, m, here, parameters + first, count, metrics + first, ticker, err);
    }
    return code;
}

int lm_gpu_evaluate(void *session, struct lm_shape shape, const float *const *parameters, size_t n,
                    const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_tick tick,
                    struct lm_error *err)
{
    struct lm_gpu_ticker ticker = {tick, lm_gpu_now(), 0};
    if (samples->n == 0)
        for (size_t k = 0; k < n; k++)
            metrics[k] = lm_evaluate(NULL, NULL, 0);
    if (n == 0 || samples->n == 0)
        return LM_OK;
    if (!lm_replica_fits(shape) || samples->n > UINT32_MAX)
        return one_by_one(session, shape, parameters, n, samples, metrics, err);
    return all_together(session, parameters, n, samples, metrics, &ticker, err);
}
