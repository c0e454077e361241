/* model_scoring.h: how long a GPU scores the networks that it has trained: losses and hits of each on the samples that
 * are held out, and on the test samples.
 *
 * gpu:fast scores networks of the lab's shape together, a block a network (cuda/evaluate.c); every other way, and every
 * other shape, is a batch a network, one after the other.
 */
#ifndef LM_MODEL_SCORING_H
#define LM_MODEL_SCORING_H

#include "model_time.h"

/* `work` (n) spread over `ranks` equal GPUs, of each network `test` samples; the slowest rank's seconds. 0 for no
 * samples; infinity where a batch does not fit. */
double lm_time_scoring(const struct lm_machine *machine, enum lm_train_way way, const struct lm_training_work *work,
                       size_t n, double test, double ranks);

#endif
