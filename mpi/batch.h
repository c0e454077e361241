/* batch.h: one batch of trials on this rank: trained, scored on the validation and test samples, reported. */
#ifndef LM_BATCH_H
#define LM_BATCH_H

#include "schedule.h"

/* Called for each trial of the batch, in order. */
typedef int (*lm_deliver)(void *context, const struct lm_report *report, struct lm_error *err);

/* Trains the tasks and delivers each; before it, where the schedule wants them, states of those that take long. Tasks
 * that have begun go on from there. LM_STOPPED: the tick asked for it; what was done by then has been delivered. */
int lm_train_batch(const struct lm_schedule *schedule, const struct lm_task *task, size_t count, struct lm_tick tick,
                   lm_deliver deliver, void *context, struct lm_error *err);

#endif
