/* batch.h: one batch of trials on this rank: trained, scored on the validation and test samples, reported. */
#ifndef LM_BATCH_H
#define LM_BATCH_H

#include "schedule.h"

/* Called for each trial of the batch, in order. */
typedef int (*lm_deliver)(void *context, const struct lm_report *report, struct lm_error *err);

/* Trains trials first ... first + count - 1 of the grid and delivers each. */
int lm_train_batch(const struct lm_schedule *schedule, uint64_t first, uint64_t count, struct lm_tick tick,
                   lm_deliver deliver, void *context, struct lm_error *err);

#endif
