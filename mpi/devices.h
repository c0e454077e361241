/* devices.h: what each rank computes on: the backend that all agree on, each rank's GPU, and who shares one. */
#ifndef LM_DEVICES_H
#define LM_DEVICES_H

#include "backend.h"
#include "command.h"
#include "results.h"

/* The backend that --device asks for, the same on all ranks, or the same failure on all. Where it may be a GPU, each
 * rank takes one first (by its rank within the node), before anything else of CUDA is called. `auto`, `cpu` and `gpu`
 * are the first backend of the list that every rank can run; only `auto` ever turns from the GPU to the CPU, and says
 * so. */
int lm_devices_backend(const struct lm_call *call, const struct lm_backend **backend);

/* Host and device of this rank. */
int lm_devices_describe(const struct lm_world *world, const struct lm_backend *backend, struct lm_rank *own,
                        struct lm_error *err);

/* Rank 0, with all ranks' rows: marks those that share a GPU and says so, a line a GPU. */
void lm_devices_find_shared(const struct lm_world *world, struct lm_rank *rank, size_t n);

/* Different GPUs among the rows. */
size_t lm_devices_count(const struct lm_rank *rank, size_t n);

#endif
