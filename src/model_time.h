/* model_time.h: from counts and a machine to seconds, in two forms side by side.
 *
 * The dissertation's (D. S. Kapustin, Vologda, 2013; its formulas as reconstructed): nothing overlaps, an upper bound.
 *     T_cpu  = W_S / S_cpu
 *     T_M    = (W_M/p + R_M/p L_g + K_c/p L_c + R_s/p L_s) / f             one block
 *     T      = ceil(G / m) T_M                                             a stage
 *     T_gpu  = N_HD / S_HD + sum over stages + N_DH / S_DH
 * Refined, for a GPU of today: a kernel's resources work at the same time, copies and launches have a fixed cost.
 *     issue      = B instructions / min(schedulers, warps) / f             B = ceil(G / m) blocks of the busiest one
 *     wavefronts = B wavefronts / f
 *     memory     = bytes / min(bandwidth, bytes in flight / latency)       Little's law
 *     cache      = bytes asked of L2 / its bandwidth
 *     latency    = waves (dependent operations L_op + loads L + barriers) / f,     waves = ceil(B / resident blocks)
 *     kernel     = max + (sum of issue, wavefronts, memory - the largest of them) / warps a scheduler, or latency
 *     launches   = max(n l, sum of kernels)                                asynchronous, one behind the other
 *     copies     = n fixed + bytes / rate
 *     job        = start + slowest rank + gather + file                    over MPI
 * The kernel's middle term: a warp alone overlaps nothing of its own, W warps fill all but 1/W of one another's gaps.
 *
 * Units: seconds, bytes, counts. Times are 0 for no work, never negative, and never fall when work is added.
 */
#ifndef LM_MODEL_TIME_H
#define LM_MODEL_TIME_H

#include "model_counts.h"
#include "model_machine.h"

/* ---- the dissertation's form ---- */

/* operations / operations a second; 0 for no work, infinity where the rate is not known (0). */
double lm_time_sequential(double operations, double rate);
double lm_time_block(const struct lm_machine *machine, const struct lm_kernel *kernel);
double lm_time_stage(const struct lm_machine *machine, const struct lm_kernel *kernel);
/* T_gpu of n kernels; each counts `launches` times. The link's rates are the pageable ones: the user's memory. */
double lm_time_bound(const struct lm_machine *machine, const struct lm_calls *calls, const struct lm_kernel *kernel,
                     int n);

/* ---- refined ---- */

struct lm_kernel_time {
    double issue, wavefronts, memory, cache, latency; /* each resource's own time, s */
    double resident;                                  /* blocks a multiprocessor holds; 0: the block does not fit */
    double seconds;                                   /* infinity where it does not fit */
    const char *limit;                                /* which resource decides: "issue", ... */
};
struct lm_kernel_time lm_time_kernel(const struct lm_machine *machine, const struct lm_kernel *kernel);

/* cycles of a barrier of so many warps: between two measured numbers of warps a straight line. */
double lm_barrier_cycles(const struct lm_machine *machine, double warps);

double lm_time_copies(struct lm_copy_cost cost, double copies, double bytes);
double lm_time_launches(const struct lm_machine *machine, double launches, double kernels);

/* A training step by one block of so many threads: for each of its six stages the longest of latency, issue and
 * wavefronts, and a barrier. The sum, scaled so that the lab's network with 128 threads takes step_whole. */
double lm_time_step(const struct lm_machine *machine, struct lm_shape shape, double block);
/* The same unscaled: from latencies alone. */
double lm_time_step_unscaled(const struct lm_machine *machine, struct lm_shape shape, double block);

/* All steps of `replicas` trainings of so many steps, each a warp's (gpu:fast): whole turns of all warps, and a last
 * one of those that are left. A step takes step_fast while schedulers have one warp each, step_fast_full when all have
 * three; a straight line between. */
double lm_time_replicas(const struct lm_machine *machine, double replicas, double steps);
/* Warps, and so replicas, that the GPU holds at once. */
double lm_replicas_at_once(const struct lm_machine *machine);

/* After the slowest rank: `bytes` come from the ranks - 1 others to rank 0, file_bytes go to disk. */
double lm_time_gather(const struct lm_machine *machine, double ranks, double bytes);
double lm_time_file(const struct lm_machine *machine, double file_bytes);

#endif
