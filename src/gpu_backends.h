/* gpu_backends.h: the backends of cuda/, for the list in backend.c. Defined there; a build without CUDA has none.
 *
 * gpu:TRAIN+INFER is a way to train (naive, resident, batch, whole) and a way to score a batch (global, shared, fused);
 * gpu:TRAIN scores as the lab's program of that name does. gpu:fast trains many trials at once. All of the family
 * "gpu".
 */
#ifndef LM_GPU_BACKENDS_H
#define LM_GPU_BACKENDS_H

#include "backend.h"

/* EACH(table) for all of them, fastest first: the first is what `--device gpu` means. */
#ifdef LM_HAVE_CUDA
#define LM_EACH_GPU_BACKEND(EACH)                                                                                      \
    EACH(lm_gpu_fast)                                                                                                  \
    EACH(lm_gpu_whole_fused)                                                                                           \
    EACH(lm_gpu_whole_shared)                                                                                          \
    EACH(lm_gpu_whole_global)                                                                                          \
    EACH(lm_gpu_whole)                                                                                                 \
    EACH(lm_gpu_batch_fused)                                                                                           \
    EACH(lm_gpu_batch_shared)                                                                                          \
    EACH(lm_gpu_batch_global)                                                                                          \
    EACH(lm_gpu_batch)                                                                                                 \
    EACH(lm_gpu_resident_fused)                                                                                        \
    EACH(lm_gpu_resident_shared)                                                                                       \
    EACH(lm_gpu_resident_global)                                                                                       \
    EACH(lm_gpu_resident)                                                                                              \
    EACH(lm_gpu_naive_fused)                                                                                           \
    EACH(lm_gpu_naive_shared)                                                                                          \
    EACH(lm_gpu_naive_global)                                                                                          \
    EACH(lm_gpu_naive)
#else
#define LM_EACH_GPU_BACKEND(EACH)
#endif

#define LM_DECLARE_BACKEND(table) extern const struct lm_backend table;
LM_EACH_GPU_BACKEND(LM_DECLARE_BACKEND)

#endif
