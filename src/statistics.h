/* statistics.h: what a sweep's trials say together: its configurations, with means over seeds, and its leaderboard.
 *
 * Pure functions of the rows of /trials, and the same bits on every machine: each sum goes through the trials in the
 * order of their numbers, in double, and nothing but +, -, *, / and sqrt is used, which IEEE 754 defines to the last
 * bit. So whoever has the rows can compute all of it again and compare (`verify`).
 */
#ifndef LM_STATISTICS_H
#define LM_STATISTICS_H

#include <stdint.h>

#include "status.h"
#include "trial.h"

/* The trials that share everything but the seed; block is part of it. Of validation_loss and validation_accuracy over
 * the trials that are ok: mean, sample standard deviation, and the 95 % interval of the mean by Student's t. What is
 * not defined is NaN: the mean of no trial, the rest of fewer than 2, and all of it where a trial that is ok has a
 * NaN. */
struct lm_configuration {
    uint64_t first;                        /* its lowest trial: all parameters but the seed are that trial's */
    uint64_t trials, ok, diverged, failed; /* trials: all of them, those that were not run too */
    double loss_mean, loss_sd, loss_low, loss_high;
    double accuracy_mean, accuracy_sd, accuracy_low, accuracy_high; /* not clipped to 0 ... 1 */
    uint32_t rung;                                                  /* the highest that one of its trials has reached */
};

/* All configurations of n trials, in order of their first trial; *out, of *n_out, is the caller's (never NULL for
 * LM_OK). trial, outcome: (n). rung: (n), or NULL: all 0. Parameters are equal as numbers are; a NaN is equal to
 * itself. Takes O(n) time, and no memory that grows with n beyond a small multiple of the output. */
int lm_statistics_make(const struct lm_trial *trial, const struct lm_outcome *outcome, const uint32_t *rung, uint64_t n,
                       struct lm_configuration **out, uint64_t *n_out, struct lm_error *err);

/* The numbers of the best k trials (of all that are ok, if there are fewer), the best first; *trial, of *count, is the
 * caller's. In front is the higher rung (a trial that was promoted beats one that was not), then the lower
 * validation_loss; or, by_accuracy, the higher validation_accuracy, then the lower validation_loss. NaN is behind every
 * number; ties go to the lower trial. O(n log k) time, memory for k. */
int lm_leaderboard_make(const struct lm_outcome *outcome, const uint32_t *rung, uint64_t n, int by_accuracy, uint64_t k,
                        uint64_t **trial, uint64_t *count, struct lm_error *err);

/* The numbers (0 ... n - 1) of the best k configurations by the mean of the same objective, the best first, in the same
 * order: the higher rung in front, ties to the lower number; those without an ok trial come last of all. *order, of
 * *count, is the caller's. */
int lm_configurations_order(const struct lm_configuration *configuration, uint64_t n, int by_accuracy, uint64_t k,
                            uint64_t **order, uint64_t *count, struct lm_error *err);

/* Student's t: the quantile 0.975 for so many degrees of freedom, off by less than 1e-7; NaN for 0. */
double lm_student_t(uint64_t degrees);

#endif
