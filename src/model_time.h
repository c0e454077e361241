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
 *                  and once the loads of weights that a copy has just brought: from memory
 *     kernel     = max + (sum of issue, wavefronts, memory - the largest of them) / warps a scheduler, or latency
 *     launches   = max(n l, sum of kernels)                                asynchronous, one behind the other; a kernel
 *                  takes at least what an empty one does, and longer if shared memory is divided anew for it
 *     copies     = n fixed + bytes / rate                                  the host's rate falls with the batch's size:
 *                  from its caches to its memory; a copy out behind a kernel takes longer
 *     threads    = turns of equal parts, each slowed by the others; starting them
 *     job        = start + slowest rank + gather + file                    over MPI
 * The kernel's middle term: a warp alone overlaps nothing of its own, W warps fill all but 1/W of one another's gaps.
 * Kernels whose blocks go through phases, as with tiles in shared memory, have a form of their own: model_phases.h.
 *
 * Units: seconds, bytes, counts. Times are 0 for no work, never negative, and never fall when work is added.
 */
#ifndef LM_MODEL_TIME_H
#define LM_MODEL_TIME_H

#include "model_counts.h"
#include "model_machine.h"

/* A batch beyond so many bytes does not stay in a core's caches, and is waited for besides (cpu.stream): the kernels
 * read it once, from its beginning to its end, and hide only part of that. Where it begins is an assumption. */
#define LM_CACHED_BYTES 16e6

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
    double chain;                                     /* a block's longest chain alone, cycles */
    double resident;                                  /* blocks a multiprocessor holds; 0: the block does not fit */
    double seconds;                                   /* infinity where it does not fit */
    const char *limit;                                /* which resource decides: "issue", ... */
};
struct lm_kernel_time lm_time_kernel(const struct lm_machine *machine, const struct lm_kernel *kernel);

/* cycles of a barrier of so many warps: between two measured numbers of warps a straight line. */
double lm_barrier_cycles(const struct lm_machine *machine, double warps);

double lm_time_copies(struct lm_copy_cost cost, double copies, double bytes);
/* Seconds a byte of copies that go through `span` bytes of the host's memory, from its rates at two sizes: between them
 * a straight line over the logarithm, beyond them the nearer one's. far_rate 0, or above the other: near_rate. */
double lm_byte_time(double span, double near_bytes, double near_rate, double far_bytes, double far_rate);
/* A batch in or out of pageable memory, in so many copies. */
double lm_time_batch_in(const struct lm_machine *machine, double copies, double bytes);
double lm_time_batch_out(const struct lm_machine *machine, double copies, double bytes);
/* The host's own copies to pinned memory, and from what the device has written there. */
double lm_time_staging_in(const struct lm_machine *machine, double bytes);
double lm_time_staging_out(const struct lm_machine *machine, double bytes);
double lm_time_launches(const struct lm_machine *machine, double launches, double kernels);

/* cudaMalloc and cudaFree: those that find nothing else allocated, and the others. */
double lm_time_allocations(const struct lm_machine *machine, double allocations, double openings);

/* A training step by one block of so many threads: for each of its six stages the longest of latency, issue and
 * wavefronts, and a barrier. The sum, scaled so that the lab's network with 128 threads takes step_whole. Another shape
 * runs other code (cuda/launch.cu): with 128 threads a straight line through step_small and step_wide over the padded
 * multiply-adds; beyond the wide one as the sum grows; other blocks as the sum has it. */
double lm_time_step(const struct lm_machine *machine, struct lm_shape shape, double block);
/* The same unscaled: from latencies alone. */
double lm_time_step_unscaled(const struct lm_machine *machine, struct lm_shape shape, double block);

/* A training step by one core; likewise a straight line for shapes other than the lab's. */
double lm_time_cpu_step(const struct lm_machine *machine, enum lm_cpu_way way, struct lm_shape shape);
/* What it costs to have so many threads at work (the caller's is one of them), and how many times as long each then
 * takes as one alone: between one core and all a straight line of the speed-up `all`. */
double lm_time_threads(const struct lm_machine *machine, double threads);
double lm_thread_share(const struct lm_machine *machine, double all, double threads);

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
