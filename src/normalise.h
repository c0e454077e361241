/* normalise.h: grey values to zero mean and unit deviation, pixel by pixel, fitted on the training samples alone. */
#ifndef LM_NORMALISE_H
#define LM_NORMALISE_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"
#include "status.h"

struct lm_scaler {
    double mean[LM_PIXELS];
    double scale[LM_PIXELS]; /* max(1e-6, population standard deviation) */
};

/* In double: mean over the n samples in the order of index[], then sqrt of the mean of the squared deviations, in the
 * same order. index: (n), into data. n >= 1. */
void lm_scaler_fit(const struct lm_dataset *data, const uint32_t *index, size_t n, struct lm_scaler *out);

/* x[p] = (float)((pixel[p] - mean[p]) / scale[p]). pixel: (64), x: (64). */
void lm_scaler_apply(const struct lm_scaler *scaler, const double *pixel, float *x);

/* The same for index[0..n): x is (n, 64). A value that is not finite as a float (pixels near 1e308) is LM_BAD_INPUT. */
int lm_scaler_gather(const struct lm_scaler *scaler, const struct lm_dataset *data, const uint32_t *index, size_t n,
                     float *x, struct lm_error *err);

#endif
