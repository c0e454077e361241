/* model_predict.h: how long each way of doing some work takes on a machine, and what it needs.
 *
 * A candidate is a value of --device with a place for the weights: a core's caches, the GPU's global memory, a block's
 * shared memory, a warp's registers. Both forms of time are given (model_time.h). What else a job does
 * (reading, validating, writing) is not here: mpi/plan_whole.c.
 */
#ifndef LM_MODEL_PREDICT_H
#define LM_MODEL_PREDICT_H

#include "model_time.h"

struct lm_prediction {
    const char *device; /* "cpu:avx512", "gpu:fast"; for a scored batch "gpu:whole+shared" and so on */
    const char *where;  /* "one core", "all cores", "weights in global memory", "weights in registers", ... */
    int gpu;
    int fits;        /* in the device's memory, and a block in a multiprocessor */
    double seconds;  /* refined; infinity where it does not fit */
    double bound;    /* the dissertation's form */
    double roofline; /* the plain roofline: multiply-adds at the peak rate or bytes at the bandwidth, nothing else */
    double memory;   /* bytes of the GPU's memory; 0 on a CPU */
    double scoring;  /* of training, part of seconds: each trained network's test samples */
    double copies, launches, kernels, allocations; /* parts of seconds: copies, launches that no kernel hides, ... */
    const char *limit;                             /* what most of the time is: "copies", "kernels", ... */
};

#define LM_PREDICTIONS 16

/* `work` (n): trainings of one kind each, one after the other; each is spread over `ranks` equal devices (or over all
 * cores of as many nodes), and the slowest has a share rounded up. Returns how many candidates are in out; those that
 * the machine lacks are left out. work[].turn and .step_seconds are filled in here. test: samples that each trained
 * network scores, where it was trained (model_scoring.h). */
int lm_predict_train(const struct lm_machine *machine, const struct lm_training_work *work, size_t n, double test,
                     double ranks, struct lm_prediction out[LM_PREDICTIONS]);

/* One batch of n samples, from the host's memory to the host's memory; on_device: samples and scores are and stay on
 * the GPU (N_HD = N_DH = 0), where only GPU candidates are given. */
int lm_predict_score(const struct lm_machine *machine, struct lm_shape shape, double n, int on_device,
                     struct lm_prediction out[LM_PREDICTIONS]);

/* Samples that this way scores at once (src/simd_infer.h): a few take as long as so many. */
double lm_cpu_batch(enum lm_cpu_way way);

/* The fastest way of the CPU that was measured; -1: none. */
int lm_fastest_cpu(const double rate[LM_CPU_WAYS]);
const char *lm_cpu_way_name(enum lm_cpu_way way); /* "cpu-ref", "cpu:avx2" */

#endif
