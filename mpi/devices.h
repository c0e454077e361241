/* devices.h: what each rank computes on: the backend that all agree on, each rank's GPU, and who shares one. */
#ifndef LM_DEVICES_H
#define LM_DEVICES_H

#include "backend.h"
#include "command.h"
#include "results.h"

struct lm_devices {
    const struct lm_backend *backend; /* what was asked for; of auto, what it is where nothing is predicted */
    int is_auto, gpu;                 /* gpu: this rank has taken one */
    uint64_t common;                  /* bit k: every rank can run backend k of lm_backends(); of auto, cpu and gpu */
    char
        without_gpu[sizeof((struct lm_error *)0)->text]; /* of auto: which rank has no GPU, and why; "": each has one */
};

/* The backend that --device asks for, the same on all ranks, or the same failure on all. Where it may be a GPU, each
 * rank takes one first (by its rank within the node), before anything else of CUDA is called. `auto`, `cpu` and `gpu`
 * are the first backend of the list that every rank can run; only `auto` ever turns from the GPU to the CPU: who calls
 * says so, by lm_devices_say or, where a model decides (decide.h), in its words. */
int lm_devices_choose(const struct lm_call *call, struct lm_devices *devices);
/* A line: what auto is without a model, and why no GPU; `more` (or "") at its end. Nothing where something was asked
 * for. */
void lm_devices_say(const struct lm_world *world, const struct lm_devices *devices, const char *more);
/* "gpu", "gpu:...". */
int lm_device_is_gpu(const char *name);

/* Host and device of this rank. */
int lm_devices_describe(const struct lm_world *world, const struct lm_backend *backend, struct lm_rank *own,
                        struct lm_error *err);

/* Rank 0, with all ranks' rows: marks those that share a GPU and says so, a line a GPU. */
void lm_devices_find_shared(const struct lm_world *world, struct lm_rank *rank, size_t n);

/* Different GPUs among the rows. */
size_t lm_devices_count(const struct lm_rank *rank, size_t n);

#endif
