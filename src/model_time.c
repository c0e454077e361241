/* model_time.c: see model_time.h. */
#include "model_time.h"

#include <math.h>

#include "model_round.h"

/* cuda/replica.h: warps a multiprocessor of gpu:fast. Beyond one a scheduler they slow each other down. */
#define FAST_WARPS 12.0
/* What CUDA keeps of shared memory for itself, a block. */
#define BLOCK_RESERVED 1024.0
/* A thread's loads on their way at once: four of 16 bytes (lm_sum). */
#define BYTES_IN_FLIGHT 64.0

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
    return lm_up(k->blocks / machine->gpu.multiprocessors) * lm_time_block(machine, k);
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
    double least = 1.0;
    int k = 0;
    for (; k < LM_BARRIERS - 1 && 2.0 * least <= warps; k++)
        least *= 2.0;
    if (k == LM_BARRIERS - 1 || warps <= 1.0)
        return barrier[k];
    return barrier[k] + (warps - least) / least * (barrier[k + 1] - barrier[k]);
}

/* Blocks that a multiprocessor holds: the scarcest of slots, threads, registers and shared memory decides. */
static double residency(const struct lm_machine *machine, const struct lm_kernel *k)
{
    double most = machine->gpu.blocks;
    if (k->threads <= 0.0 || k->shared_bytes > machine->gpu.block_shared)
        return 0.0;
    most = lm_smaller(most, lm_down(machine->gpu.threads / k->threads));
    if (k->registers > 0.0)
        most = lm_smaller(most, lm_down(machine->gpu.registers / (k->registers * k->threads)));
    if (k->shared_bytes > 0.0)
        most = lm_smaller(most, lm_down(machine->gpu.shared / (k->shared_bytes + BLOCK_RESERVED)));
    return most;
}

static double memory_time(const struct lm_machine *machine, const struct lm_kernel *k, double resident)
{
    if (k->memory_bytes <= 0.0)
        return 0.0;
    double together = lm_smaller(k->blocks, resident * machine->gpu.multiprocessors);
    double flying = together * k->threads * BYTES_IN_FLIGHT;
    double rate = flying * machine->gpu.clock / machine->gpu.latency_global;
    return k->memory_bytes / lm_smaller(rate, machine->gpu.bandwidth);
}

/* Pixels that a copy has just brought come from memory; what a kernel before wrote is in L2. */
static double chain_cycles(const struct lm_machine *machine, const struct lm_kernel *k)
{
    double load = k->memory_bytes > 0.0 ? machine->gpu.latency_global : machine->gpu.latency_l2;
    return k->chain_operations * machine->gpu.latency_operation + k->chain_shared * machine->gpu.latency_shared +
           k->chain_global * load + k->chain_l2 * machine->gpu.latency_l2 +
           k->chain_constant * machine->gpu.latency_constant +
           k->barriers * lm_barrier_cycles(machine, k->threads / machine->gpu.warp);
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
    double busiest = lm_up(k->blocks / machine->gpu.multiprocessors), together = lm_smaller(busiest, t.resident);
    double warps = together * k->threads / machine->gpu.warp, schedulers = lm_smaller(machine->gpu.schedulers, warps);
    double cold = k->chain_cold * lm_larger(0.0, machine->gpu.latency_global - machine->gpu.latency_shared);
    t.issue = busiest * k->instructions / schedulers / f;
    t.wavefronts = busiest * k->wavefronts / f;
    t.memory = memory_time(machine, k, t.resident);
    t.cache = k->cache_bytes / machine->gpu.l2_bandwidth;
    t.chain = chain_cycles(machine, k);
    t.latency = (lm_up(busiest / t.resident) * t.chain + cold) / f;

    double most = lm_larger(lm_larger(t.issue, t.wavefronts), lm_larger(t.memory, t.cache));
    double others = t.issue + t.wavefronts + t.memory - lm_larger(lm_larger(t.issue, t.wavefronts), t.memory);
    double busy = most + others / lm_larger(1.0, warps / machine->gpu.schedulers);
    t.seconds = lm_larger(busy, t.latency);
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

/* Inlined where the sizes are constants: a logarithm less. */
static inline double byte_time(double span, double near_bytes, double near_rate, double far_bytes, double far_rate)
{
    if (!(far_rate > 0.0 && far_rate < near_rate) || span <= near_bytes)
        return 1.0 / near_rate;
    double part = span < far_bytes ? log(span / near_bytes) / log(far_bytes / near_bytes) : 1.0;
    return 1.0 / near_rate + part * (1.0 / far_rate - 1.0 / near_rate);
}

double lm_byte_time(double span, double near_bytes, double near_rate, double far_bytes, double far_rate)
{
    return byte_time(span, near_bytes, near_rate, far_bytes, far_rate);
}

double lm_time_batch_in(const struct lm_machine *machine, double copies, double bytes)
{
    double near = machine->gpu.in_pageable.rate;
    return copies * machine->gpu.in_pageable.fixed +
           bytes * byte_time(bytes, LM_CACHE_BYTES, near, LM_FAR_BYTES, machine->gpu.in_far);
}

double lm_time_batch_out(const struct lm_machine *machine, double copies, double bytes)
{
    double near = machine->gpu.out_pageable.rate;
    return copies * machine->gpu.out_pageable.fixed +
           bytes * byte_time(bytes, LM_CACHE_BYTES, near, LM_FAR_BYTES, machine->gpu.out_far);
}

/* As fast as its caches give so much, then as its memory does: where no more is known. */
static double coarse_staging(const struct lm_machine *machine, double bytes)
{
    double near = lm_smaller(bytes, LM_CACHED_BYTES);
    return lm_time_sequential(near, machine->gpu.staging) +
           lm_time_sequential(2.0 * (bytes - near), machine->cpu.memory);
}

double lm_time_staging_in(const struct lm_machine *machine, double bytes)
{
    double near = machine->gpu.staging, middle = machine->gpu.staging_cache;
    if (!(middle > 0.0) || !(machine->gpu.staging_far > 0.0))
        return coarse_staging(machine, bytes);
    middle = lm_smaller(middle, near);
    return bytes * (bytes < LM_CACHE_BYTES
                        ? byte_time(bytes, LM_NEAR_BYTES, near, LM_CACHE_BYTES, middle)
                        : byte_time(bytes, LM_CACHE_BYTES, middle, LM_FAR_BYTES, machine->gpu.staging_far));
}

double lm_time_staging_out(const struct lm_machine *machine, double bytes)
{
    return machine->gpu.staging_out > 0.0 ? bytes / machine->gpu.staging_out : coarse_staging(machine, bytes);
}

double lm_time_allocations(const struct lm_machine *machine, double allocations, double openings)
{
    double more = machine->gpu.allocation_more > 0.0 ? machine->gpu.allocation_more : machine->gpu.allocation;
    return openings * machine->gpu.allocation + (allocations - openings) * more;
}

double lm_time_launches(const struct lm_machine *machine, double launches, double kernels)
{
    return lm_larger(launches * machine->gpu.launch, kernels);
}

/* ---- training ---- */

double lm_time_step_unscaled(const struct lm_machine *machine, struct lm_shape shape, double block)
{
    struct lm_stage stage[LM_STAGES];
    double warps = block / machine->gpu.warp, schedulers = lm_smaller(machine->gpu.schedulers, warps), cycles = 0.0;
    lm_stages_of_step(shape, block, stage);
    for (int k = 0; k < LM_STAGES; k++) {
        double chain = stage[k].chain_operations * machine->gpu.latency_operation +
                       stage[k].chain_shared * machine->gpu.latency_shared;
        double busy = lm_larger(stage[k].instructions / schedulers, stage[k].wavefronts);
        cycles += lm_larger(chain, busy) + lm_barrier_cycles(machine, warps);
    }
    return cycles / machine->gpu.clock;
}

/* A straight line through two measured shapes, over their padded multiply-adds. Below the smaller one no less than its
 * part of that one's time. */
static double between(double x, double x_small, double small, double x_wide, double wide)
{
    double slope = lm_larger(0.0, (wide - small) / (x_wide - x_small));
    return lm_larger(small + slope * (x - x_small), small * lm_smaller(x / x_small, 1.0));
}

/* A step of a shape that no code is made for, by 128 threads. */
static double other_step(const struct lm_machine *machine, struct lm_shape shape, double unscaled)
{
    const struct lm_shape small = LM_SMALL_SHAPE, wide = LM_WIDE_SHAPE;
    double x = lm_padded_products(shape, 4.0), x_wide = lm_padded_products(wide, 4.0);
    if (x > x_wide)
        return machine->gpu.step_wide * lm_larger(1.0, unscaled / lm_time_step_unscaled(machine, wide, 128.0));
    return between(x, lm_padded_products(small, 4.0), machine->gpu.step_small, x_wide, machine->gpu.step_wide);
}

double lm_time_step(const struct lm_machine *machine, struct lm_shape shape, double block)
{
    const struct lm_shape lab = {32, 16};
    const int is_lab = shape.hidden1 == 32 && shape.hidden2 == 16;
    if (is_lab && block == 128.0)
        return machine->gpu.step_whole;
    double here = lm_time_step_unscaled(machine, shape, block);
    if (is_lab || !(machine->gpu.step_small > 0.0) || !(machine->gpu.step_wide > 0.0))
        return here * (machine->gpu.step_whole / lm_time_step_unscaled(machine, lab, 128.0));
    double usual = block == 128.0 ? here : lm_time_step_unscaled(machine, shape, 128.0);
    return here * (other_step(machine, shape, usual) / usual);
}

/* src/simd_layout.h: outputs of a block, by the way. */
static double block_of(enum lm_cpu_way way)
{
    static const double outputs[LM_CPU_WAYS] = {1.0, 4.0, 8.0, 16.0};
    return outputs[way];
}

double lm_time_cpu_step(const struct lm_machine *machine, enum lm_cpu_way way, struct lm_shape shape)
{
    const struct lm_shape small = LM_SMALL_SHAPE, wide = LM_WIDE_SHAPE;
    double small_rate = machine->cpu.train_small[way], wide_rate = machine->cpu.train_wide[way], width = block_of(way);
    if ((shape.hidden1 == 32 && shape.hidden2 == 16) || !(small_rate > 0.0) || !(wide_rate > 0.0))
        return lm_time_sequential(lm_cost_step(shape).flops, machine->cpu.train[way]);
    return between(lm_padded_products(shape, width), lm_padded_products(small, width),
                   lm_cost_step(small).flops / small_rate, lm_padded_products(wide, width),
                   lm_cost_step(wide).flops / wide_rate);
}

double lm_time_threads(const struct lm_machine *machine, double threads)
{
    if (threads < 2.0)
        return 0.0;
    return machine->cpu.thread + (threads - 2.0) * machine->cpu.thread_more;
}

double lm_thread_share(const struct lm_machine *machine, double all, double threads)
{
    double cores = machine->cpu.cores, speed = lm_larger(1.0, all);
    if (threads < cores && cores > 1.0)
        speed = 1.0 + (speed - 1.0) * (threads - 1.0) / (cores - 1.0);
    return lm_larger(1.0, threads / speed);
}

double lm_replicas_at_once(const struct lm_machine *machine)
{
    return machine->gpu.multiprocessors * FAST_WARPS;
}

/* A step of `warps` warps on one multiprocessor. */
static double step_of(const struct lm_machine *machine, double warps)
{
    double alone = machine->gpu.schedulers, full = lm_larger(machine->gpu.step_fast_full, machine->gpu.step_fast);
    if (warps <= alone)
        return machine->gpu.step_fast;
    double part = (warps - alone) / lm_larger(FAST_WARPS - alone, 1.0);
    return machine->gpu.step_fast + lm_smaller(part, 1.0) * (full - machine->gpu.step_fast);
}

double lm_time_replicas(const struct lm_machine *machine, double replicas, double steps)
{
    double at_once = lm_replicas_at_once(machine), turns = lm_down(replicas / at_once);
    double left = replicas - turns * at_once, seconds = turns * step_of(machine, FAST_WARPS);
    if (left > 0.0)
        seconds += step_of(machine, lm_up(left / machine->gpu.multiprocessors));
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
