/* evaluate.c: see evaluate.h. The loss of a sample follows rule 3 of arithmetic.h. */
#include "evaluate.h"

#include <math.h>

#include "arithmetic.h"

int lm_predict(const float *scores)
{
    int best = 0;
    for (int c = 1; c < LM_CLASSES; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

/* e[15], a term (+0)(+0), makes the sum's sixteen. */
static inline __attribute__((always_inline)) float loss_of(const float *scores, int label)
{
    float e[LM_CLASSES + 1], p[LM_PARTIALS];
    for (int c = 0; c < LM_CLASSES; c++)
        e[c] = scores[c] - (c == label ? 1.0f : 0.0f);
    e[LM_CLASSES] = 0.0f;
    for (int k = 0; k < LM_PARTIALS; k++)
        p[k] = e[k] * e[k];
    for (int c = LM_PARTIALS; c <= LM_CLASSES; c++)
        p[c % LM_PARTIALS] = fmaf(e[c], e[c], p[c % LM_PARTIALS]);
    return 0.5f * ((p[0] + p[1]) + (p[2] + p[3]));
}

/* The same lines twice, as the reference is built: without the instruction each fmaf is a call of the C library, and a
 * sample takes 70 ns instead of 10. The same bits. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("fma"))) static float loss_by_fma(const float *scores, int label)
{
    return loss_of(scores, label);
}

float lm_sample_loss(const float *scores, int label)
{
    return __builtin_cpu_supports("fma") ? loss_by_fma(scores, label) : loss_of(scores, label);
}
#else
float lm_sample_loss(const float *scores, int label)
{
    return loss_of(scores, label);
}
#endif

void lm_tally_add(struct lm_tally *tally, const float *scores, const uint8_t *label, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        tally->loss += lm_sample_loss(scores + k * LM_CLASSES, label[k]);
        tally->hits += lm_predict(scores + k * LM_CLASSES) == label[k];
    }
    tally->n += n;
}

struct lm_metrics lm_tally_end(const struct lm_tally *tally)
{
    struct lm_metrics m = {.n = tally->n, .hits = tally->hits, .loss = NAN, .accuracy = NAN};
    if (m.n > 0) {
        m.loss = tally->loss / (double)m.n;
        m.accuracy = (double)m.hits / (double)m.n;
        if (isnan(m.loss))
            m.loss = NAN; /* the same NaN on every machine */
    }
    return m;
}

struct lm_metrics lm_evaluate(const float *scores, const uint8_t *label, size_t n)
{
    struct lm_tally tally = {0};
    lm_tally_add(&tally, scores, label, n);
    return lm_tally_end(&tally);
}

void lm_confusion(const float *scores, const uint8_t *label, size_t n, uint8_t *predicted,
                  uint64_t confusion[LM_CLASSES][LM_CLASSES])
{
    for (size_t k = 0; k < n; k++) {
        int c = lm_predict(scores + k * LM_CLASSES);
        confusion[label[k]][c]++;
        if (predicted)
            predicted[k] = (uint8_t)c;
    }
}
