/* problem.h: what a backend is given once and keeps: the normalised samples. The same bytes on every rank. */
#ifndef LM_PROBLEM_H
#define LM_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"
#include "normalise.h"
#include "split.h"
#include "status.h"

struct lm_samples {
    size_t n;
    float *x;       /* (n, 64), owned */
    uint8_t *label; /* (n), owned: index into LM_LETTERS */
};

struct lm_problem {
    struct lm_samples train, validation, test; /* validation.n is 0 without a hold-out */
    uint64_t count[LM_CLASSES];                /* samples of each letter in the whole data set: see order.h */
    int threads; /* of the host's that a backend may use; 0 means 1. Never part of an answer */
};

/* Gathers and normalises the samples of a split. */
int lm_problem_make(const struct lm_dataset *data, const struct lm_split *split, const struct lm_scaler *scaler,
                    struct lm_problem *out, struct lm_error *err);
int lm_samples_allocate(size_t n, struct lm_samples *out, struct lm_error *err);
void lm_samples_free(struct lm_samples *samples);
void lm_problem_free(struct lm_problem *problem);

#endif
