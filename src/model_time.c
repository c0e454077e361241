/* model_time.c: see model_time.h. */
#include "model_time.h"

#include <math.h>

/* cuda/replica.h: warps a multiprocessor of gpu:fast. Beyond one a scheduler they slow each other down. */
#define FAST_WARPS 12.0
/* What CUDA keeps of shared memory for itself, a block. */
#define BLOCK_RESERVED 1024.0
/* A thread's loads on their way at once: four of 16 bytes (lm_sum). */
#define BYTES_IN_FLIGHT 64.0

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- the dissertation's form ---- */

double lm_time_sequential(double operations, double rate)
{
    if (operations <= 0.0)
        return 0.0;
    return rate > 0.0 ? operations / rate : HUGE_VAL;
}

double lm_time_block(const struct lm_machine *machine, const struct lm_kernel *k)
{
    double cycles = k->operations + k->global * machine->gpu.latency_global +
                    k->constant * machine->gpu.latency_constant + k->shared * machine->gpu.latency_shared;
    return k->threads > 0.0 ? cycles / k->threads / machine->gpu.clock : 0.0;
}

double lm_time_stage(const struct lm_machine *machine, const struct lm_kernel *k)
{
    return ceil(k->blocks / machine->gpu.multiprocessors) * lm_time_block(machine, k);
}

double lm_time_bound(const struct lm_machine *machine, const struct lm_calls *calls, const struct lm_kernel *kernel,
                     int n)
{
    double sum = lm_time_sequential(calls->bytes_in, machine->gpu.in_pageable.rate) +
                 lm_time_sequential(calls->bytes_out, machine->gpu.out_pageable.rate);
    for (int k = 0; k < n; k++)
        sum += kernel[k].launches * lm_time_stage(machine, &kernel[k]);
    return sum;
}

/* ---- a kernel ---- */

double lm_barrier_cycles(const struct lm_machine *machine, double warps)
{
    const double *barrier = machine->gpu.barrier;
    double at = warps > 1.0 ? log2(warps) : 0.0;
    if (at >= LM_BARRIERS - 1)
        return barrier[LM_BARRIERS - 1];
    int k = (int)at;
    double least = exp2(k), part = (warps > 1.0 ? warps - least : 0.0) / least;
    return barrier[k] + part * (barrier[k + 1] - barrier[k]);
}

/* Blocks that a multiprocessor holds: the scarcest of slots, threads, registers and shared memory decides. */
static double residency(const struct lm_machine *machine, const struct lm_kernel *k)
{
    double most = machine->gpu.blocks;
    if (k->threads <= 0.0 || k->shared_bytes > machine->gpu.block_shared)
        return 0.0;
    most = fmin(most, floor(machine->gpu.threads / k->threads));
    if (k->registers > 0.0)
        most = fmin(most, floor(machine->gpu.registers / (k->registers * k->threads)));
    if (k->shared_bytes > 0.0)
        most = fmin(most, floor(machine->gpu.shared / (k->shared_bytes + BLOCK_RESERVED)));
    return most;
}

static double memory_time(const struct lm_machine *machine, const struct lm_kernel *k, double resident)
{
    if (k->memory_bytes <= 0.0)
        return 0.0;
    double together = fmin(k->blocks, resident * machine->gpu.multiprocessors);
    double flying = together * k->threads * BYTES_IN_FLIGHT;
    double rate = flying * machine->gpu.clock / machine->gpu.latency_global;
    return k->memory_bytes / fmin(rate, machine->gpu.bandwidth);
}

/* Pixels that a copy has just brought come from memory; what a kernel before wrote is in L2. */
static double chain_cycles(const struct lm_machine *machine, const struct lm_kernel *k)
{
    double load = k->memory_bytes > 0.0 ? machine->gpu.latency_global : machine->gpu.latency_l2;
    return k->chain_operations * machine->gpu.latency_operation + k->chain_shared * machine->gpu.latency_shared +
           k->chain_global * load + k->barriers * lm_barrier_cycles(machine, k->threads / machine->gpu.warp);
}

struct lm_kernel_time lm_time_kernel(const struct lm_machine *machine, const struct lm_kernel *k)
{
    struct lm_kernel_time t = {.limit = "nothing"};
    const double f = machine->gpu.clock;
    t.resident = residency(machine, k);
    if (k->blocks <= 0.0)
        return t;
    if (t.resident < 1.0) {
        t.seconds = HUGE_VAL;
        t.limit = "residency";
        return t;
    }
    double busiest = ceil(k->blocks / machine->gpu.multiprocessors), together = fmin(busiest, t.resident);
    double warps = together * k->threads / machine->gpu.warp, schedulers = fmin(machine->gpu.schedulers, warps);
    double cold = k->chain_cold * larger(0.0, machine->gpu.latency_l2 - machine->gpu.latency_shared);
    t.issue = busiest * k->instructions / schedulers / f;
    t.wavefronts = busiest * k->wavefronts / f;
    t.memory = memory_time(machine, k, t.resident);
    t.cache = k->cache_bytes / machine->gpu.l2_bandwidth;
    t.latency = (ceil(busiest / t.resident) * chain_cycles(machine, k) + cold) / f;

    double most = larger(larger(t.issue, t.wavefronts), larger(t.memory, t.cache));
    double others = t.issue + t.wavefronts + t.memory - larger(larger(t.issue, t.wavefronts), t.memory);
    double busy = most + others / larger(1.0, warps / machine->gpu.schedulers);
    t.seconds = larger(busy, t.latency);
    t.limit = t.latency >= busy      ? "latency"
              : most == t.issue      ? "issue"
              : most == t.wavefronts ? "shared memory"
              : most == t.memory     ? "memory"
                                     : "L2";
    return t;
}

/* ---- copies and launches ---- */

double lm_time_copies(struct lm_copy_cost cost, double copies, double bytes)
{
    return copies * cost.fixed + lm_time_sequential(bytes, cost.rate);
}

double lm_time_launches(const struct lm_machine *machine, double launches, double kernels)
{
    return larger(launches * machine->gpu.launch, kernels);
}

/* ---- training ---- */

double lm_time_step_unscaled(const struct lm_machine *machine, struct lm_shape shape, double block)
{
    struct lm_stage stage[LM_STAGES];
    double warps = block / machine->gpu.warp, schedulers = fmin(machine->gpu.schedulers, warps), cycles = 0.0;
    lm_stages_of_step(shape, block, stage);
    for (int k = 0; k < LM_STAGES; k++) {
        double chain = stage[k].chain_operations * machine->gpu.latency_operation +
                       stage[k].chain_shared * machine->gpu.latency_shared;
        double busy = larger(stage[k].instructions / schedulers, stage[k].wavefronts);
        cycles += larger(chain, busy) + lm_barrier_cycles(machine, warps);
    }
    return cycles / machine->gpu.clock;
}

double lm_time_step(const struct lm_machine *machine, struct lm_shape shape, double block)
{
    const struct lm_shape lab = {32, 16};
    double scale = machine->gpu.step_whole / lm_time_step_unscaled(machine, lab, 128.0);
    return scale * lm_time_step_unscaled(machine, shape, block);
}

double lm_replicas_at_once(const struct lm_machine *machine)
{
    return machine->gpu.multiprocessors * FAST_WARPS;
}

/* A step of `warps` warps on one multiprocessor. */
static double step_of(const struct lm_machine *machine, double warps)
{
    double alone = machine->gpu.schedulers, full = larger(machine->gpu.step_fast_full, machine->gpu.step_fast);
    if (warps <= alone)
        return machine->gpu.step_fast;
    double part = (warps - alone) / larger(FAST_WARPS - alone, 1.0);
    return machine->gpu.step_fast + fmin(part, 1.0) * (full - machine->gpu.step_fast);
}

double lm_time_replicas(const struct lm_machine *machine, double replicas, double steps)
{
    double at_once = lm_replicas_at_once(machine), turns = floor(replicas / at_once);
    double left = replicas - turns * at_once, seconds = turns * step_of(machine, FAST_WARPS);
    if (left > 0.0)
        seconds += step_of(machine, ceil(left / machine->gpu.multiprocessors));
    return seconds * steps;
}

/* ---- a job ---- */

double lm_time_gather(const struct lm_machine *machine, double ranks, double bytes)
{
    if (ranks <= 1.0 || machine->job.gather.rate <= 0.0)
        return 0.0;
    return lm_time_copies(machine->job.gather, ranks - 1.0, bytes * (ranks - 1.0) / ranks);
}

double lm_time_file(const struct lm_machine *machine, double file_bytes)
{
    return file_bytes > 0.0 ? lm_time_copies(machine->job.file, 1.0, file_bytes) : 0.0;
}
