/* report_sweep.h: the parts of a sweep's report on stdout. Rank 0 alone calls them. */
#ifndef LM_REPORT_SWEEP_H
#define LM_REPORT_SWEEP_H

#include <stdio.h>

#include "results.h"

/* The 10 best trials: place, trial, parameters, validation loss and accuracy, test accuracy (n/a where nobody computed
 * it). Decay and initial range have a column where they vary, the rung where the search has rungs. */
void lm_report_leaderboard(const struct lm_results *results, FILE *f);

/* The 10 best configurations by the mean of the objective: parameters, how many trials are ok, mean, standard deviation
 * and 95 % interval of the mean, how many diverged or failed. Nothing where no configuration has more than one trial.
 * Without memory for the 10, a line that says so. */
void lm_report_configurations(const struct lm_results *results, FILE *f);

#endif
