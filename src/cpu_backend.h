/* cpu_backend.h: what all CPU backends share: a session that trains and scores with some kernels, on some threads. */
#ifndef LM_CPU_BACKEND_H
#define LM_CPU_BACKEND_H

#include "training.h"

/* threads: at least one, and no more than the number of trials or parts of a batch is ever used. */
int lm_cpu_open(const struct lm_cpu_kernels *kernels, const struct lm_problem *problem, int threads, void **session,
                struct lm_error *err);
void lm_cpu_close(void *session);
size_t lm_cpu_capacity(const void *session);
int lm_cpu_train(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                 struct lm_tick tick, struct lm_error *err);
int lm_cpu_infer(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n, float *scores,
                 struct lm_error *err);

/* How many threads a process may use: the cores of its affinity mask, divided by the ranks that share this mask (1
 * where the launcher has bound each rank to cores of its own). For lm_problem.threads. At least 1. */
int lm_cpu_threads(int ranks);

/* Fastest first: "cpu" is the first that the processor can run; cpu-ref comes last everywhere. */
#define LM_EACH_CPU_BACKEND(X)                                                                                         \
    X(lm_backend_cpu_avx512) X(lm_backend_cpu_avx2) X(lm_backend_cpu_portable) X(lm_backend_cpu_ref)
extern const struct lm_backend lm_backend_cpu_avx512;
extern const struct lm_backend lm_backend_cpu_avx2;
extern const struct lm_backend lm_backend_cpu_portable;
extern const struct lm_backend lm_backend_cpu_ref;

#endif
