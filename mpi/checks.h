/* checks.h: a batch's scores computed once more by the CPU reference and in double: rows of /validation. */
#ifndef LM_CHECKS_H
#define LM_CHECKS_H

#include "results.h"

/* Adds the rows "scores" (every score against cpu-ref, bit for bit; a NaN never passes), "predictions", "confusion",
 * and "float64" (every score against the same network in double, within the bound of float64.h) for the results'
 * inference under these parameters. x: (n_scores, 64), label: (n_scores). */
int lm_check_inference(struct lm_results *results, struct lm_shape shape, const float *parameters, const float *x,
                       const uint8_t *label, struct lm_error *err);

/* Two of those rows, for n samples of any batch: scores as found against the reference's, and against double. */
struct lm_check lm_compare_scores(const float *found, const float *again, size_t n);
struct lm_check lm_compare_double(struct lm_shape shape, const float *parameters, const float *x, const float *found,
                                  size_t n);

/* Adds a row with the counts that the caller found. */
int lm_check_counts(struct lm_results *results, const char *name, uint64_t compared, uint64_t mismatches,
                    struct lm_error *err);
/* Adds a row "not run". */
int lm_check_not_run(struct lm_results *results, const char *name, struct lm_error *err);

/* LM_CHECK_FAILED if any row failed, else LM_CHECK_PASSED if any passed, else LM_CHECK_NOT_RUN. */
int lm_checks_verdict(const struct lm_results *results);

#endif
