/* model_phases.h: from counts to seconds for kernels whose blocks go through phases with a barrier between two, such as
 * filling a tile and then working on it. model_time.h's form takes a kernel for one long mixture, in which what one
 * warp waits for another warp fills; phases do not mix: resident blocks begin together, and stay together.
 *
 * Within a phase the resident warps of a multiprocessor are customers of a closed network. Each goes round for ever:
 * alone through its chain of dependent operations and loads (a delay), and through stations which it shares with all
 * others and where it queues: issue, wavefronts of L1 and shared memory, global memory, L2, constants that miss. Mean
 * value analysis says what a round takes with n customers, from what it takes with n - 1: at a station of demand d a
 * newcomer finds q(n - 1) waiting,
 *     r(n) = d (1 + q(n - 1)),   round = delay + sum of r(n),   q(n) = n / round x r(n)
 * Few warps: delay and demands add up. Many: the busiest station decides. Between the two there is no corner, and that
 * is where a GPU works: a load waits longer the busier its memory is. Little's law is the same law.
 *
 *     kernel = sum over turns of resident blocks of the sum over phases of (a round of its warps)
 */
#ifndef LM_MODEL_PHASES_H
#define LM_MODEL_PHASES_H

#include "model_counts.h"
#include "model_machine.h"

/* What a machine's file does not have. 0: nothing. */
struct lm_phase_costs {
    /* Cycles that a block's place on a multiprocessor is idle, a turn: from a block's last instruction to the first one
     * of the next, and what its slowest warp takes longer than the mean one. */
    double turn;
    /* Constants that a multiprocessor has at hand, bytes, and cycles of it that a warp's load of another one takes: the
     * cache behind serves several multiprocessors, one load after the other. Of loads that go round in more bytes than
     * are at hand, those within that many hit. */
    double constant_near, constant_miss;
};

/* Seconds of one launch. phase[n]: counts of one block (instructions, wavefronts, constants, chain) and of all blocks
 * (bytes), phase by phase; blocks, threads, registers and shared_bytes are the kernel's, the same in each. Infinity
 * where a block does not fit; 0 without blocks or phases. */
double lm_time_phases(const struct lm_machine *machine, const struct lm_phase_costs *costs,
                      const struct lm_kernel *phase, int n);

#endif
