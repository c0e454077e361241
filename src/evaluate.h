/* evaluate.h: from scores to predictions, losses, accuracy and the confusion matrix. */
#ifndef LM_EVALUATE_H
#define LM_EVALUATE_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"

/* The class of the first maximum of scores (15). */
int lm_predict(const float *scores);

/* The loss of one sample: rule 3 of arithmetic.h. */
float lm_sample_loss(const float *scores, int label);

struct lm_metrics {
    size_t n;
    size_t hits;
    double loss;     /* mean over samples, in order, of the sample's float loss; NaN for n = 0 */
    double accuracy; /* hits / n; NaN for n = 0 */
};

/* scores: (n, 15), label: (n). */
struct lm_metrics lm_evaluate(const float *scores, const uint8_t *label, size_t n);

/* The same of samples that come piece by piece, in order: the same bits, whatever the pieces. {0} at the start. */
struct lm_tally {
    size_t n, hits;
    double loss; /* the sum */
};
void lm_tally_add(struct lm_tally *tally, const float *scores, const uint8_t *label, size_t n);
struct lm_metrics lm_tally_end(const struct lm_tally *tally);

/* confusion[expected][predicted], (15, 15), counts added to what is there. predicted may be NULL, else (n). */
void lm_confusion(const float *scores, const uint8_t *label, size_t n, uint8_t *predicted,
                  uint64_t confusion[LM_CLASSES][LM_CLASSES]);

#endif
