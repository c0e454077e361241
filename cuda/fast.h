/* fast.h: gpu:fast: many trials at once, and their metrics. */
#ifndef LM_GPU_FAST_H
#define LM_GPU_FAST_H

#include "evaluate.h"
#include "session.h"

/* Networks that cross the link at once: 12 MB of them. */
#define LM_NETWORKS_AT_ONCE ((size_t)1024)

/* lm_backend.train: trials of the lab's shape all together, a warp each (replica_kernel.cuh); the others one after the
 * other, as gpu:whole. */
int lm_gpu_train_fast(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                      struct lm_tick tick, struct lm_error *err);

/* lm_backend.turn: the warps of the device; and lm_backend.capacity: thirteen turns. */
size_t lm_gpu_fast_turn(const void *session);
size_t lm_gpu_fast_capacity(const void *session);

/* lm_backend.infer: the lab's shape by way of quick.h up to LM_QUICK_MOST samples, of pipe.h behind that; others in a
 * kernel a layer. And lm_backend.infer_grey. */
int lm_gpu_infer_fast(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n,
                      float *scores, struct lm_error *err);
int lm_gpu_infer_grey(void *session, struct lm_shape shape, const float *parameters, const float (*grey)[256],
                      const uint8_t *pixel, size_t n, float *scores, struct lm_error *err);

/* lm_backend.evaluate. */
int lm_gpu_evaluate(void *session, struct lm_shape shape, const float *const *parameters, size_t n,
                    const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_tick tick,
                    struct lm_error *err);

#endif
