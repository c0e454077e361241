/* model_cpu.c: see model_cpu.h. */
#include "model_cpu.h"

#include "model_round.h"

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

/* Steps of a share of the work, on one core: S_cpu, and what is done once a training. */
static double cpu_training(const struct lm_machine *machine, int way, const struct lm_training_work *w)
{
    double steps = w->samples * w->epochs;
    return machine->cpu.training + (steps > 0.0 ? steps * lm_time_cpu_step(machine, way, w->shape) : 0.0);
}

/* So many trainings that take `sum` together, by threads that each take the next one (src/cpu_backend.c): equal ones
 * (kinds 1) end together, in turns. */
static double side_by_side(const struct lm_machine *machine, double trainings, double sum, double longest, size_t kinds)
{
    double threads = lm_larger(1.0, lm_smaller(machine->cpu.cores, trainings));
    double each = kinds == 1 ? lm_up(trainings / threads) * longest : lm_larger(sum / threads, longest);
    return each * lm_thread_share(machine, machine->cpu.train_all, threads) + lm_time_threads(machine, threads);
}

/* Trainings side by side: no core has less to do than its part of the whole, and none less than the longest of them. */
struct lm_prediction lm_cpu_train_time(const struct lm_machine *machine, int way, int all,
                                       const struct lm_training_work *work, size_t n, double test, double ranks)
{
    struct lm_prediction p = {.device = lm_cpu_way_name(way), .where = all ? "all cores" : "one core", .fits = 1};
    double sum = 0.0, longest = 0.0, trainings = 0.0, scores = 0.0;
    for (size_t k = 0; k < n; k++) {
        double share = lm_up(work[k].replicas / ranks);
        double score = lm_time_sequential(test * lm_cost_infer(work[k].shape).flops, machine->cpu.infer[way]);
        double one = cpu_training(machine, way, &work[k]) + score;
        double steps = share * work[k].samples * work[k].epochs;
        sum += one * share;
        scores += score * share;
        longest = share > 0.0 && one > longest ? one : longest;
        trainings += share;
        p.bound += lm_time_sequential(steps * lm_cost_step(work[k].shape).flops, machine->cpu.train[way]);
    }
    p.seconds = p.kernels = p.roofline = all ? side_by_side(machine, trainings, sum, longest, n) : sum;
    p.scoring = sum > 0.0 ? p.seconds * (scores / sum) : 0.0;
    p.limit = p.copies > p.kernels ? "memory" : "arithmetic";
    return p;
}

double lm_cpu_batch(enum lm_cpu_way way)
{
    static const double samples[] = {1.0, 1.0, 24.0, 32.0};
    return samples[way];
}

/* src/cpu_backend.c, ROWS_A_THREAD: a smaller batch is scored sooner than threads are started. */
#define ROWS_A_THREAD 4096.0

/* Rows of the thread that has most of them: parts are taken in turns, and the last one is what is left. */
static double most_rows(double n, double threads)
{
    double parts = lm_up(n / ROWS_A_THREAD), turns = lm_up(parts / threads);
    double only_the_last = parts == (turns - 1.0) * threads + 1.0;
    return turns * ROWS_A_THREAD - (only_the_last ? parts * ROWS_A_THREAD - n : 0.0);
}

struct lm_prediction lm_cpu_score_time(const struct lm_machine *machine, int way, int all, struct lm_shape shape,
                                       double n)
{
    struct lm_prediction p = {.device = lm_cpu_way_name(way), .where = all ? "all cores" : "one core", .fits = 1};
    const struct lm_cost cost = lm_cost_infer(shape);
    double threads = all ? lm_larger(1.0, lm_smaller(lm_down(n / ROWS_A_THREAD), machine->cpu.cores)) : 1.0;
    double share = lm_thread_share(machine, machine->cpu.infer_all, threads);
    double rate = machine->cpu.infer[way] * threads / share, bytes = n * (cost.bytes_in + cost.bytes_out);
    double rows = lm_up_to(threads > 1.0 ? most_rows(n, threads) : n, lm_cpu_batch(way));
    p.bound = lm_time_sequential(n * cost.flops, machine->cpu.infer[way]);
    p.roofline = lm_larger(lm_time_sequential(n * cost.flops, rate),
                           lm_time_sequential(bytes, threads > 1.0 ? machine->cpu.memory_all : machine->cpu.memory));
    if (n > 0.0) {
        double faster = lm_larger(1.0, machine->cpu.memory_all / machine->cpu.memory);
        double stream = machine->cpu.stream * lm_smaller(threads / share, faster);
        p.copies = lm_time_sequential(bytes - LM_CACHED_BYTES, stream);
        p.kernels = lm_time_sequential(rows * cost.flops, machine->cpu.infer[way]) * share +
                    (way == LM_CPU_REF ? 0.0 : machine->cpu.call) + lm_time_threads(machine, threads);
        p.seconds = p.kernels + p.copies;
    }
    p.limit = p.copies > p.kernels ? "memory" : "arithmetic";
    return p;
}
