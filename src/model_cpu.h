/* model_cpu.h: how long one way of the CPU takes, on one core or on all (src/cpu_backend.c). For model_predict.c, whose
 * header says what a prediction is. */
#ifndef LM_MODEL_CPU_H
#define LM_MODEL_CPU_H

#include "model_predict.h"

struct lm_prediction lm_cpu_train_time(const struct lm_machine *machine, int way, int all,
                                       const struct lm_training_work *work, size_t n, double test, double ranks);
struct lm_prediction lm_cpu_score_time(const struct lm_machine *machine, int way, int all, struct lm_shape shape,
                                       double n);

#endif
