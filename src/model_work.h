/* model_work.h: the trials of a run as the performance model counts them: kinds of trainings of one shape and block
 * each.
 */
#ifndef LM_MODEL_WORK_H
#define LM_MODEL_WORK_H

#include "model_counts.h"
#include "status.h"
#include "trial.h"

/* More kinds than this are counted to those that are there, each to the one whose step costs nearest as much: the
 * prediction of a sweep over all widths stays as cheap as any. */
#define LM_WORK_KINDS 256

/* Zeroed at the start. Memory is the list's: lm_work_free. */
struct lm_work {
    struct lm_training_work *kind; /* owned, (kinds) */
    size_t kinds, room;
    double trainings, epochs, steps; /* of all, after lm_work_end */
};

/* One trial more, of so many epochs (a mean, where rungs decide). One that cannot be trained (lm_trial_fault) is left
 * out: it takes no time. */
int lm_work_add(struct lm_work *work, const struct lm_trial *trial, double epochs, struct lm_error *err);

/* After the last: each kind has its mean epochs, each epoch so many samples; `share` of the trainings are still to be
 * done (1: all), of each kind the same part and at least one. */
void lm_work_end(struct lm_work *work, double samples, double share);
void lm_work_free(struct lm_work *work);

#endif
