/* machine.h: this machine's calibration file: where it lies, and whose it is. */
#ifndef LM_MACHINE_FILE_H
#define LM_MACHINE_FILE_H

#include "model_machine.h"
#include "world.h"

#define LM_MACHINE_PATH (LM_HOST_SIZE + 32)

/* results/machine_<host>.txt, and what earlier runs took, results/history_<host>.txt */
void lm_machine_default_path(const struct lm_world *world, char path[LM_MACHINE_PATH]);
void lm_history_default_path(const struct lm_world *world, char path[LM_MACHINE_PATH]);

/* The key of this process's machine: processor, program, and (gpu) the GPU that it has taken and its driver. */
void lm_machine_key_here(int gpu, struct lm_machine_key *key);

/* This rank's GPU (unless without_gpu, or there is none), its driver, the processor, this program. Takes the GPU.
 * *context: seconds that this took; NULL: not asked. gpu_err: why there is no GPU; its code is LM_OK where there is
 * one.
 */
void lm_machine_here(const struct lm_world *world, int without_gpu, struct lm_machine_key *key, double *context,
                     struct lm_error *gpu_err);

#endif
