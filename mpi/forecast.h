/* forecast.h: a run as the performance model sees it before it is made: its trainings, its samples, the machine. For
 * run and sweep, which then decide by it, and for plan and --dry-run, which only tell.
 */
#ifndef LM_FORECAST_H
#define LM_FORECAST_H

#include "command.h"
#include "machine.h"
#include "model_choice.h"
#include "sweep_spec.h"

/* The trials of the options' axes; of a sweep file, (n), whose epochs are with halving the mean of all that start.
 * lm_work_end follows. */
int lm_forecast_axes(const struct lm_options *options, struct lm_work *work, struct lm_error *err);
int lm_forecast_sweep(const struct lm_sweep_spec *spec, const struct lm_trial *trial, uint64_t n, struct lm_work *work,
                      struct lm_error *err);

/* Rank 0: reads the data, since their number counts. */
struct lm_forecast_samples {
    double train, validation, test;
    double read; /* s: reading them here, just now */
};
int lm_forecast_count(const struct lm_call *call, double holdout, struct lm_forecast_samples *out,
                      struct lm_error *err);

/* Rank 0: --machine, or this machine's calibration, refused if it is of another: LM_BAD_INPUT. Takes rank 0's GPU, to
 * know it. path: the file that was meant. */
int lm_forecast_machine(const struct lm_call *call, char path[LM_MACHINE_PATH], struct lm_machine *out,
                        struct lm_error *err);

/* Rank 0, for --dry-run: a line on stdout, how long the training would take on what would be chosen, or on what is
 * asked for. Nothing where the machine has not been measured; why not, where it cannot be said. work: before
 * lm_work_end. scores_test: 1: each trial scores the test samples, too. */
void lm_forecast_show(const struct lm_call *call, struct lm_place place, struct lm_work *work, double holdout,
                      int scores_test);

#endif
