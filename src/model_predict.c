/* model_predict.c: see model_predict.h. What the CPU takes is model_cpu.c's. */
#include "model_predict.h"

#include <math.h>

#include "model_cpu.h"
#include "model_round.h"
#include "model_scoring.h"

static void name_limit(struct lm_prediction *p)
{
    double most = lm_larger(lm_larger(p->copies, p->launches), lm_larger(p->kernels, p->allocations));
    p->limit = most == p->kernels       ? "kernels"
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

/* What gpu:fast does beside its steps: once a call, for each replica, and for each window but the first its copies and
 * launches (model_counts.c, fast_training); where the machine's file says what that takes. */
static void add_fast_calls(const struct lm_machine *machine, const struct lm_calls *calls, double replicas,
                           struct lm_prediction *p)
{
    double more = lm_larger(0.0, calls->copies_in - 1.0); /* windows */
    p->launches += machine->gpu.training_fast + more * machine->gpu.launch_wait;
    p->copies += (replicas - 1.0) * machine->gpu.replica +
                 more * (machine->gpu.in_pageable.fixed + 2.0 * machine->gpu.out_pageable.fixed);
}

/* The host's part of a training that it leads: the order's generator, the first weights. */
static void add_calls(const struct lm_machine *machine, const struct lm_calls *calls, double replicas, double kernels,
                      struct lm_prediction *p)
{
    p->copies += lm_time_copies(machine->gpu.in_pageable, calls->copies_in, calls->bytes_in) +
                 lm_time_copies(machine->gpu.out_pageable, calls->copies_out, calls->bytes_out) +
                 calls->behind * machine->gpu.behind;
    p->allocations += lm_time_allocations(machine, calls->allocations, calls->openings);
    p->launches += lm_time_launches(machine, calls->launches + calls->clears, kernels) - kernels +
                   replicas * machine->cpu.training;
}

/* The kernels of a sample's step, which naive and resident share. */
struct step_kernels {
    struct lm_shape shape;
    double block; /* 0: none yet */
    struct lm_kernel kernel[LM_MOST_KERNELS];
    int n;
    double seconds; /* of a step */
};

static void make_step(const struct lm_machine *machine, const struct lm_training_work *w, struct step_kernels *step)
{
    if (step->block == w->block && step->shape.hidden1 == w->shape.hidden1 && step->shape.hidden2 == w->shape.hidden2)
        return;
    step->shape = w->shape;
    step->block = w->block;
    step->n = lm_kernels_step(w->shape, w->block, step->kernel);
    step->seconds = step->n * machine->gpu.kernel;
    for (int k = 0; k < step->n; k++)
        step->seconds += lm_time_kernel(machine, &step->kernel[k]).seconds;
}

/* One kind of training, this rank's share of it, added to p. */
static void add_gpu_train(const struct lm_machine *machine, enum lm_train_way way, struct lm_training_work w,
                          struct step_kernels *step, struct lm_prediction *p)
{
    const int by_block = way == LM_TRAIN_BATCH || way == LM_TRAIN_WHOLE || (way == LM_TRAIN_FAST && !is_lab(w.shape));
    const int fast = way == LM_TRAIN_FAST && !by_block;
    double steps = w.samples * w.epochs, kernels = 0.0;
    struct lm_kernel one, *kernel = &one;
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
        make_step(machine, &w, step);
        kernel = step->kernel;
        n = step->n;
        for (int k = 0; k < n; k++)
            kernel[k].launches = steps * w.replicas;
        kernels = steps * w.replicas > 0.0 ? steps * w.replicas * step->seconds : 0.0; /* not 0 times infinity */
    }
    if (w.replicas <= 0.0 || steps <= 0.0 || !isfinite(kernels)) {
        p->fits = p->fits && (isfinite(kernels) || w.replicas <= 0.0 || steps <= 0.0);
        return;
    }
    p->kernels += kernels;
    if (fast && machine->gpu.training_fast > 0.0)
        add_fast_calls(machine, &calls, w.replicas, p);
    else
        add_calls(machine, &calls, fast ? 0.0 : w.replicas, kernels, p);
    p->copies += lm_time_copies(machine->gpu.in_pageable, first.copies_in, first.bytes_in);
    p->allocations += lm_time_allocations(machine, first.allocations, first.openings);
    p->bound += lm_time_bound(machine, &calls, kernel, n);
    p->roofline += w.replicas * steps * lm_cost_step(w.shape).multiply_adds / peak(machine);
    p->memory = lm_larger(p->memory, lm_memory_train(way, &w));
}

/* gpu:fast trains all of the lab's shape together, whatever their blocks and epochs. */
static int together(enum lm_train_way way, const struct lm_training_work *w)
{
    return way == LM_TRAIN_FAST && is_lab(w->shape);
}

static struct lm_prediction gpu_train(const struct lm_machine *machine, enum lm_train_way way,
                                      const struct lm_training_work *work, size_t n, double test, double ranks,
                                      struct step_kernels *step)
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
        w.replicas = lm_up(w.replicas / ranks);
        add_gpu_train(machine, way, w, step, &p);
    }
    all.replicas = lm_up(all.replicas / ranks);
    if (all.replicas > 0.0)
        add_gpu_train(machine, way, all, step, &p);
    finish(machine, &p);
    p.scoring = p.fits ? lm_time_scoring(machine, way, work, n, test, ranks) : 0.0;
    p.fits = p.fits && isfinite(p.scoring);
    p.seconds += p.scoring;
    return p;
}

int lm_predict_train(const struct lm_machine *machine, const struct lm_training_work *work, size_t n, double test,
                     double ranks, struct lm_prediction out[LM_PREDICTIONS])
{
    struct step_kernels step;
    int count = 0, fastest = lm_fastest_cpu(machine->cpu.train);
    step.shape = (struct lm_shape){0, 0};
    step.block = 0.0;
    for (int way = 0; way < LM_CPU_WAYS; way++)
        if (machine->cpu.train[way] > 0.0)
            out[count++] = lm_cpu_train_time(machine, way, 0, work, n, test, ranks);
    if (fastest >= 0)
        out[count++] = lm_cpu_train_time(machine, fastest, 1, work, n, test, ranks);
    if (lm_machine_has_gpu(machine))
        for (int way = LM_TRAIN_NAIVE; way <= LM_TRAIN_FAST; way++)
            out[count++] = gpu_train(machine, way, work, n, test, ranks, &step);
    return count;
}

/* ---- scoring on a GPU ---- */

/* How often in a part another division of L1 and shared memory is asked for than just before. */
static double divisions(const struct lm_kernel *kernel, int count, double parts)
{
    double sum = 0.0;
    for (int k = 0; k < count; k++) /* before the first of the next part the last one of this one ran */
        sum += kernel[k].shared_bytes != kernel[(k + count - 1) % count].shared_bytes;
    return parts * sum + (kernel[0].shared_bytes > 0.0 && sum == 0.0); /* the clear before all needs none */
}

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

/* One after the other: score.c. */
static void parts_in_turn(const struct lm_machine *machine, const struct lm_calls *calls, double kernels,
                          struct lm_prediction *p)
{
    p->copies = lm_time_batch_in(machine, calls->copies_in, calls->bytes_in) +
                lm_time_batch_out(machine, calls->copies_out, calls->bytes_out) + calls->behind * machine->gpu.behind;
    p->allocations = lm_time_allocations(machine, calls->allocations, calls->openings);
    p->launches = lm_time_launches(machine, calls->launches + calls->clears, kernels) - kernels;
}

/* quick.c: the host copies the pixels, launches, waits; the kernel waits for the link; the host copies the scores. */
static void quick_batch(const struct lm_machine *machine, const struct lm_calls *calls, struct lm_prediction *p)
{
    double link = lm_larger(lm_time_sequential(calls->bytes_in, machine->gpu.in_pinned.rate),
                            lm_time_sequential(calls->bytes_out, machine->gpu.out_pinned.rate));
    p->copies = lm_time_staging_in(machine, calls->bytes_in) + lm_time_staging_out(machine, calls->bytes_out) + link;
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
    double host = lm_time_staging_in(machine, calls->bytes_in) + lm_time_staging_out(machine, calls->bytes_out);
    double first = lm_score_part(LM_SCORE_PIPE, n) / n;
    p->copies = 2.0 * machine->gpu.in_pinned.fixed + machine->gpu.out_pinned.fixed;
    p->copies += lm_larger(lm_larger(in, out), host) + first * lm_smaller(in, host);
    p->launches = machine->gpu.launch_wait;
    p->kernels = lm_larger(0.0, kernels - lm_larger(lm_larger(in, out), host)) + first * kernels;
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
    kernels = p.fits ? kernels : 0.0;
    if (way != LM_SCORE_QUICK && way != LM_SCORE_PIPE) /* these do their own */
        kernels += calls.launches * machine->gpu.kernel +
                   divisions(kernel, count, calls.launches / count) * machine->gpu.division;
    p.kernels = kernels;
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
    p.roofline = lm_larger(n * lm_cost_infer(shape).multiply_adds / peak(machine),
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
            out[count++] = lm_cpu_score_time(machine, way, 0, shape, n);
    if (fastest >= 0 && !on_device)
        out[count++] = lm_cpu_score_time(machine, fastest, 1, shape, n);
    if (!lm_machine_has_gpu(machine))
        return count;
    for (int way = on_device ? LM_SCORE_GLOBAL : LM_SCORE_NAIVE; way <= LM_SCORE_FUSED; way++)
        out[count++] = gpu_score(machine, way, shape, n, on_device);
    struct lm_prediction fast = gpu_score(machine, fast_way(shape, n, on_device), shape, n, on_device);
    fast.device = "gpu:fast";
    out[count++] = fast;
    return count;
}
