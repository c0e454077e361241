/* model_predict.c: see model_predict.h. */
#include "model_predict.h"

#include <math.h>

#include "model_scoring.h"

const char *lm_cpu_way_name(enum lm_cpu_way way)
{
    static const char *const name[] = {"cpu-ref", "cpu:portable", "cpu:avx2", "cpu:avx512"};
    return name[way];
}

int lm_fastest_cpu(const double rate[LM_CPU_WAYS])
{
    int best = -1;
    for (int k = 0; k < LM_CPU_WAYS; k++)
        if (rate[k] > 0.0 && (best < 0 || rate[k] > rate[best]))
            best = k;
    return best;
}

static void name_limit(struct lm_prediction *p)
{
    double most = fmax(fmax(p->copies, p->launches), fmax(p->kernels, p->allocations));
    p->limit = !p->gpu                  ? (p->copies > p->kernels ? "memory" : "arithmetic")
               : most == p->kernels     ? "kernels"
               : most == p->copies      ? "copies"
               : most == p->launches    ? "launches"
               : most == p->allocations ? "allocations"
                                        : "nothing";
}

static void finish(const struct lm_machine *machine, struct lm_prediction *p)
{
    p->fits = p->fits && p->memory <= machine->gpu.memory;
    p->seconds = p->fits ? p->copies + p->launches + p->kernels + p->allocations : HUGE_VAL;
    name_limit(p);
}

/* ---- the CPU ---- */

/* Steps of a share of the work, on one core: S_cpu, and what is done once a training. */
static double cpu_training(const struct lm_machine *machine, int way, const struct lm_training_work *w)
{
    double step = lm_cost_step(w->shape).flops;
    return machine->cpu.training + lm_time_sequential(w->samples * w->epochs * step, machine->cpu.train[way]);
}

/* Trainings side by side: no core has less to do than its part of the whole, and none less than the longest of them. */
static struct lm_prediction cpu_train(const struct lm_machine *machine, int way, int all,
                                      const struct lm_training_work *work, size_t n, double test, double ranks)
{
    struct lm_prediction p = {.device = lm_cpu_way_name(way), .where = all ? "all cores" : "one core", .fits = 1};
    double sum = 0.0, longest = 0.0, trainings = 0.0, scores = 0.0;
    for (size_t k = 0; k < n; k++) {
        double share = ceil(work[k].replicas / ranks);
        double score = lm_time_sequential(test * lm_cost_infer(work[k].shape).flops, machine->cpu.infer[way]);
        double one = cpu_training(machine, way, &work[k]) + score;
        double steps = share * work[k].samples * work[k].epochs;
        sum += one * share;
        scores += score * share;
        longest = share > 0.0 && one > longest ? one : longest;
        trainings += share;
        p.bound += lm_time_sequential(steps * lm_cost_step(work[k].shape).flops, machine->cpu.train[way]);
    }
    double cores = all ? fmax(1.0, fmin(machine->cpu.train_all, trainings)) : 1.0;
    p.seconds = p.kernels = p.roofline = fmax(sum / cores, longest);
    p.scoring = sum > 0.0 ? p.seconds * (scores / sum) : 0.0;
    name_limit(&p);
    return p;
}

double lm_cpu_batch(enum lm_cpu_way way)
{
    static const double samples[] = {1.0, 1.0, 24.0, 32.0};
    return samples[way];
}

/* src/cpu_backend.c, ROWS_A_THREAD: a smaller batch is scored sooner than threads are started. */
#define ROWS_A_THREAD 4096.0

static struct lm_prediction cpu_score(const struct lm_machine *machine, int way, int all, struct lm_shape shape,
                                      double n)
{
    struct lm_prediction p = {.device = lm_cpu_way_name(way), .where = all ? "all cores" : "one core", .fits = 1};
    const struct lm_cost cost = lm_cost_infer(shape);
    double threads = all ? fmax(1.0, fmin(floor(n / ROWS_A_THREAD), machine->cpu.infer_all)) : 1.0;
    double rate = machine->cpu.infer[way] * threads, bytes = n * (cost.bytes_in + cost.bytes_out);
    double rows = ceil(n / lm_cpu_batch(way)) * lm_cpu_batch(way);
    p.bound = lm_time_sequential(n * cost.flops, machine->cpu.infer[way]);
    p.roofline = fmax(lm_time_sequential(n * cost.flops, rate),
                      lm_time_sequential(bytes, threads > 1.0 ? machine->cpu.memory_all : machine->cpu.memory));
    if (n > 0.0) {
        double faster = fmax(1.0, machine->cpu.memory_all / machine->cpu.memory);
        double stream = machine->cpu.stream * fmin(threads, faster);
        p.copies = lm_time_sequential(bytes - LM_CACHED_BYTES, stream);
        p.kernels = lm_time_sequential(rows * cost.flops, rate) + (way == LM_CPU_REF ? 0.0 : machine->cpu.call);
        p.seconds = p.kernels + p.copies;
    }
    name_limit(&p);
    return p;
}

/* ---- training on a GPU ---- */

static const char *where_of(enum lm_train_way way)
{
    static const char *const text[LM_TRAIN_WAYS] = {
        [LM_TRAIN_NAIVE] = "weights travel with every call",
        [LM_TRAIN_RESIDENT] = "weights in global memory",
        [LM_TRAIN_BATCH] = "weights in shared memory",
        [LM_TRAIN_WHOLE] = "weights in shared memory",
        [LM_TRAIN_FAST] = "weights in registers",
    };
    return text[way];
}

static int is_lab(struct lm_shape s)
{
    return s.hidden1 == 32 && s.hidden2 == 16;
}

/* cuda/kernels.h, lm_gpu_training_bytes_of: the network and the activations in one block's shared memory. */
static int block_fits(const struct lm_machine *machine, struct lm_shape s)
{
    double floats = lm_padded_network(s) + 2.0 * LM_PIXELS + 2.0 * s.hidden1 + 2.0 * s.hidden2 + 36.0;
    return floats * 4.0 <= machine->gpu.block_shared;
}

/* The abstract multiprocessor's counts of all steps of one training by one block (whole) or warp (fast):
 * train_kernel.cuh has two loads from shared memory a multiply-add forward, 1.25 backward, 0.75 in an update;
 * replica_kernel.cuh has 224 multiply-adds, 32 loads and 9 stores a lane and a step. */
static struct lm_kernel training_kernel(const struct lm_training_work *w, int fast, double steps, double blocks)
{
    struct lm_cost cost = lm_cost_step(w->shape), infer = lm_cost_infer(w->shape);
    struct lm_kernel k = {.name = "train", .launches = 1.0, .threads = fast ? 32.0 : w->block, .blocks = blocks};
    double forward = infer.multiply_adds, backward = cost.multiply_adds - 2.0 * forward;
    k.operations = steps * (fast ? 224.0 * 32.0 : cost.flops - cost.multiply_adds);
    k.shared = steps * (fast ? 41.0 * 32.0 : 2.0 * forward + 1.25 * backward + 0.75 * forward);
    k.global = steps * (fast ? 33.0 : 18.0);
    k.useful = steps * cost.multiply_adds;
    return k;
}

static double peak(const struct lm_machine *machine)
{
    return machine->gpu.multiprocessors * machine->gpu.schedulers * machine->gpu.warp * machine->gpu.clock;
}

/* One kind of training, this rank's share of it, added to p. */
static void add_gpu_train(const struct lm_machine *machine, enum lm_train_way way, struct lm_training_work w,
                          struct lm_prediction *p)
{
    const int by_block = way == LM_TRAIN_BATCH || way == LM_TRAIN_WHOLE || (way == LM_TRAIN_FAST && !is_lab(w.shape));
    const int fast = way == LM_TRAIN_FAST && !by_block;
    double steps = w.samples * w.epochs, kernels = 0.0;
    struct lm_kernel kernel[LM_MOST_KERNELS];
    int n = 1;
    w.turn = lm_replicas_at_once(machine);
    w.step_seconds = by_block ? lm_time_step(machine, w.shape, w.block) : 0.0;
    struct lm_calls calls = lm_calls_train(way, &w), first = {0};
    if (w.first)
        first = lm_calls_first(way, &w);
    if (by_block || fast) {
        kernel[0] = training_kernel(&w, fast, steps, fast ? w.replicas : 1.0);
        kernels = fast ? lm_time_replicas(machine, w.replicas, steps) : w.replicas * steps * w.step_seconds;
        kernel[0].launches = fast ? 1.0 : w.replicas;
        p->fits = p->fits && (fast || block_fits(machine, w.shape));
    } else {
        n = lm_kernels_step(w.shape, w.block, kernel);
        for (int k = 0; k < n; k++) {
            kernel[k].launches = steps * w.replicas;
            kernels += kernel[k].launches * lm_time_kernel(machine, &kernel[k]).seconds;
        }
    }
    if (w.replicas <= 0.0 || steps <= 0.0 || !isfinite(kernels)) {
        p->fits = p->fits && (isfinite(kernels) || w.replicas <= 0.0 || steps <= 0.0);
        return;
    }
    p->copies +=
        lm_time_copies(machine->gpu.in_pageable, calls.copies_in + first.copies_in, calls.bytes_in + first.bytes_in) +
        lm_time_copies(machine->gpu.out_pageable, calls.copies_out, calls.bytes_out);
    p->allocations += (calls.allocations + first.allocations) * machine->gpu.allocation;
    p->kernels += kernels;
    p->launches += lm_time_launches(machine, calls.launches, kernels) - kernels;
    p->bound += lm_time_bound(machine, &calls, kernel, n);
    p->roofline += w.replicas * steps * lm_cost_step(w.shape).multiply_adds / peak(machine);
    p->memory = fmax(p->memory, lm_memory_train(way, &w));
}

/* gpu:fast trains all of the lab's shape together, whatever their blocks and epochs. */
static int together(enum lm_train_way way, const struct lm_training_work *w)
{
    return way == LM_TRAIN_FAST && is_lab(w->shape);
}

static struct lm_prediction gpu_train(const struct lm_machine *machine, enum lm_train_way way,
                                      const struct lm_training_work *work, size_t n, double test, double ranks)
{
    struct lm_prediction p = {.device = lm_train_way_name(way), .where = where_of(way), .gpu = 1, .fits = 1};
    struct lm_training_work all = {.replicas = 0.0};
    for (size_t k = 0; k < n; k++) {
        struct lm_training_work w = work[k];
        if (together(way, &w)) {
            double epochs = all.epochs * all.replicas + w.epochs * w.replicas, replicas = all.replicas + w.replicas;
            all = w;
            all.replicas = replicas;
            all.epochs = replicas > 0.0 ? epochs / replicas : 0.0;
            continue;
        }
        w.replicas = ceil(w.replicas / ranks);
        add_gpu_train(machine, way, w, &p);
    }
    all.replicas = ceil(all.replicas / ranks);
    if (all.replicas > 0.0)
        add_gpu_train(machine, way, all, &p);
    finish(machine, &p);
    p.scoring = p.fits ? lm_time_scoring(machine, way, work, n, test, ranks) : 0.0;
    p.fits = p.fits && isfinite(p.scoring);
    p.seconds += p.scoring;
    return p;
}

int lm_predict_train(const struct lm_machine *machine, const struct lm_training_work *work, size_t n, double test,
                     double ranks, struct lm_prediction out[LM_PREDICTIONS])
{
    int count = 0, fastest = lm_fastest_cpu(machine->cpu.train);
    for (int way = 0; way < LM_CPU_WAYS; way++)
        if (machine->cpu.train[way] > 0.0)
            out[count++] = cpu_train(machine, way, 0, work, n, test, ranks);
    if (fastest >= 0)
        out[count++] = cpu_train(machine, fastest, 1, work, n, test, ranks);
    if (lm_machine_has_gpu(machine))
        for (int way = LM_TRAIN_NAIVE; way <= LM_TRAIN_FAST; way++)
            out[count++] = gpu_train(machine, way, work, n, test, ranks);
    return count;
}

/* ---- scoring on a GPU ---- */

/* The kernels of a batch of n, `part` at a time. */
static double score_kernels(const struct lm_machine *machine, enum lm_score_way way, struct lm_shape shape, double n,
                            double part, struct lm_kernel kernel[LM_MOST_KERNELS], int *count)
{
    double sum = 0.0;
    *count = lm_kernels_score(way, shape, part, machine->gpu.multiprocessors, kernel);
    for (int k = 0; k < *count; k++) {
        kernel[k].launches = n / part;
        sum += n / part * lm_time_kernel(machine, &kernel[k]).seconds;
    }
    return sum;
}

/* The host's own copies to and from pinned memory: as fast as its caches give so much, then as its memory does. */
static double staging(const struct lm_machine *machine, double bytes)
{
    double near = fmin(bytes, LM_CACHED_BYTES);
    return lm_time_sequential(near, machine->gpu.staging) +
           lm_time_sequential(2.0 * (bytes - near), machine->cpu.memory);
}

/* One after the other: score.c. */
static void parts_in_turn(const struct lm_machine *machine, const struct lm_calls *calls, double kernels,
                          struct lm_prediction *p)
{
    p->copies = lm_time_copies(machine->gpu.in_pageable, calls->copies_in, calls->bytes_in) +
                lm_time_copies(machine->gpu.out_pageable, calls->copies_out, calls->bytes_out);
    p->allocations = calls->allocations * machine->gpu.allocation;
    p->launches = lm_time_launches(machine, calls->launches, kernels) - kernels;
}

/* quick.c: the host copies the pixels, launches, waits; the kernel waits for the link; the host copies the scores. */
static void quick_batch(const struct lm_machine *machine, const struct lm_calls *calls, struct lm_prediction *p)
{
    double link = fmax(lm_time_sequential(calls->bytes_in, machine->gpu.in_pinned.rate),
                       lm_time_sequential(calls->bytes_out, machine->gpu.out_pinned.rate));
    p->copies = staging(machine, calls->bytes_in + calls->bytes_out) + link;
    p->launches = machine->gpu.launch_wait;
}

/* pipe.c: three copies and a wait that nothing hides; then the slowest of the link's two directions, the kernels and
 * the host's own copies, since all go on at the same time; and the first chunk's way in, which has nobody to hide
 * behind. */
static void piped_batch(const struct lm_machine *machine, const struct lm_calls *calls, double n, double kernels,
                        struct lm_prediction *p)
{
    double in = lm_time_sequential(calls->bytes_in, machine->gpu.in_pinned.rate);
    double out = lm_time_sequential(calls->bytes_out, machine->gpu.out_pinned.rate);
    double host = staging(machine, calls->bytes_in + calls->bytes_out), first = lm_score_part(LM_SCORE_PIPE, n) / n;
    p->copies = 2.0 * machine->gpu.in_pinned.fixed + machine->gpu.out_pinned.fixed;
    p->copies += fmax(fmax(in, out), host) + first * fmin(in, host);
    p->launches = machine->gpu.launch_wait;
    p->kernels = fmax(0.0, kernels - fmax(fmax(in, out), host)) + first * kernels;
}

static struct lm_prediction gpu_score(const struct lm_machine *machine, enum lm_score_way way, struct lm_shape shape,
                                      double n, int on_device)
{
    static const char *const device[] = {"gpu:naive",       "gpu:resident", "gpu:whole+global", "gpu:whole+shared",
                                         "gpu:whole+fused", "gpu:fast",     "gpu:fast"};
    static const char *const where[] = {"weights travel with every call",
                                        "weights in global memory",
                                        "weights in global memory",
                                        "weights in shared memory",
                                        "weights through the L1 cache",
                                        "weights in registers",
                                        "weights in shared memory, sums in registers"};
    struct lm_prediction p = {.device = device[way], .where = where[way], .gpu = 1, .fits = 1};
    struct lm_calls calls = lm_calls_score(way, shape, n);
    struct lm_kernel kernel[LM_MOST_KERNELS];
    int count;
    if (n <= 0.0)
        return p;
    double part = on_device && way == LM_SCORE_PIPE ? n : lm_score_part(way, n); /* nothing to overlap: one launch */
    double kernels = score_kernels(machine, way, shape, n, part, kernel, &count);
    p.fits = isfinite(kernels);
    p.kernels = kernels = p.fits ? kernels : 0.0;
    if (on_device) {
        calls = (struct lm_calls){.launches = part < n ? calls.launches : count};
        p.launches = lm_time_launches(machine, calls.launches, kernels) - kernels + machine->gpu.launch_wait -
                     machine->gpu.launch; /* the wait for the last */
    } else if (way == LM_SCORE_QUICK)
        quick_batch(machine, &calls, &p);
    else if (way == LM_SCORE_PIPE)
        piped_batch(machine, &calls, n, kernels, &p);
    else
        parts_in_turn(machine, &calls, kernels, &p);
    p.memory = lm_memory_score(way, shape, n);
    p.bound = lm_time_bound(machine, &calls, kernel, count);
    p.roofline = fmax(n * lm_cost_infer(shape).multiply_adds / peak(machine),
                      n * 4.0 * (LM_PIXELS + LM_CLASSES) / machine->gpu.bandwidth) +
                 lm_time_sequential(calls.bytes_in, machine->gpu.in_pageable.rate) +
                 lm_time_sequential(calls.bytes_out, machine->gpu.out_pageable.rate);
    finish(machine, &p);
    return p;
}

/* cuda/infer.c: gpu:fast scores other shapes as +global. */
static enum lm_score_way fast_way(struct lm_shape shape, double n, int on_device)
{
    if (!is_lab(shape))
        return LM_SCORE_GLOBAL;
    return n <= LM_QUICK_SAMPLES_MOST && !on_device ? LM_SCORE_QUICK : LM_SCORE_PIPE;
}

int lm_predict_score(const struct lm_machine *machine, struct lm_shape shape, double n, int on_device,
                     struct lm_prediction out[LM_PREDICTIONS])
{
    int count = 0, fastest = lm_fastest_cpu(machine->cpu.infer);
    for (int way = 0; way < LM_CPU_WAYS && !on_device; way++)
        if (machine->cpu.infer[way] > 0.0)
            out[count++] = cpu_score(machine, way, 0, shape, n);
    if (fastest >= 0 && !on_device)
        out[count++] = cpu_score(machine, fastest, 1, shape, n);
    if (!lm_machine_has_gpu(machine))
        return count;
    for (int way = on_device ? LM_SCORE_GLOBAL : LM_SCORE_NAIVE; way <= LM_SCORE_FUSED; way++)
        out[count++] = gpu_score(machine, way, shape, n, on_device);
    struct lm_prediction fast = gpu_score(machine, fast_way(shape, n, on_device), shape, n, on_device);
    fast.device = "gpu:fast";
    out[count++] = fast;
    return count;
}
