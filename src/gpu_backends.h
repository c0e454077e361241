/* gpu_backends.h: the backends of cuda/, for the list in backend.c. Defined there; a build without CUDA has none. */
#ifndef LM_GPU_BACKENDS_H
#define LM_GPU_BACKENDS_H

#include "backend.h"

/* Fastest first; NULL-terminated. Their family is "gpu", and its first is what `--device gpu` means.
 * gpu:TRAIN+INFER is a way to train (naive, resident, batch, whole) and a way to score (global, shared, fused); gpu:TRAIN
 * scores as the lab's program of that name does. */
#define LM_GPU_BACKENDS 16
extern const struct lm_backend *const lm_gpu_backends[LM_GPU_BACKENDS + 1];

#endif
