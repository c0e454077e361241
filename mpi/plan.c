/* plan.c: `libras_mpi plan [SPEC.yaml]`: what the performance model says of a run that is not made: how long each
 * device would take, which is chosen and why, how that goes with several GPUs, and the lines for Slurm.
 *
 * Nothing is trained. Data are read, since their number counts. A rank here stands for as many as there are.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "machine.h"
#include "model_decide.h"
#include "report.h"
#include "source.h"
#include "sweep_spec.h"
#include "sweep_yaml.h"

#define MOST_GPUS     64
#define GPUS_A_NODE   8
#define FAST_TURNS    13  /* cuda/fast.c: turns of all warps in one launch */
#define GOOD_SHARE    0.7 /* of the ideal speed-up: so many GPUs are worth asking for */
#define ROW_BYTES     200.0
#define SCORE_BYTES   72.0 /* of a test sample in the file */
#define SECONDS_SPARE 300.0

struct plan {
    const struct lm_call *call;
    struct lm_machine machine;
    char path[LM_MACHINE_PATH];
    const char *machine_path;
    struct lm_trial *trial; /* owned, (trials) */
    uint64_t trials;
    double holdout, kept;          /* networks in the file */
    double train, test;            /* samples */
    struct lm_training_work *work; /* owned, (works): trainings of one shape and block each */
    size_t works;
    double steps, epochs; /* of all */
};

/* ---- what is to be done ---- */

static double kept_of(enum lm_keep keep, uint64_t top, uint64_t trials)
{
    return keep == LM_KEEP_NONE ? 0.0 : keep == LM_KEEP_TOP && top < trials ? (double)top : (double)trials;
}

static int trials_of_file(struct plan *plan, struct lm_error *err)
{
    struct lm_sweep_spec spec = {0};
    uint64_t drawn;
    int code = lm_sweep_read(plan->call->options->operand[0], &spec, err);
    if (code == LM_OK)
        code = lm_sweep_trials(&spec, &plan->trial, &plan->trials, &drawn, err);
    if (code == LM_OK) {
        plan->holdout = spec.holdout;
        plan->kept = kept_of(spec.keep, spec.keep_top, plan->trials);
        /* Halving: what a trial trains on the average. */
        double epochs = 0.0;
        uint64_t going = plan->trials, before = 0;
        for (size_t k = 0; k < spec.n_rungs; k++) {
            epochs += (double)going * (double)(spec.rung[k] - before);
            before = spec.rung[k];
            going = lm_sweep_kept(&spec, going);
        }
        for (uint64_t t = 0; t < plan->trials && spec.n_rungs; t++)
            plan->trial[t].epochs = (uint32_t)fmax(1.0, round(epochs / (double)plan->trials));
    }
    lm_sweep_spec_free(&spec);
    return code;
}

static int trials_of_options(struct plan *plan, struct lm_error *err)
{
    const struct lm_options *options = plan->call->options;
    plan->trials = lm_grid_size(&options->grid);
    if (plan->trials > LM_MAX_TRIALS)
        return lm_fail(err, LM_BAD_INPUT, "these axes make more than %llu trials", (unsigned long long)LM_MAX_TRIALS);
    plan->trial = malloc(plan->trials * sizeof *plan->trial);
    if (!plan->trial)
        return lm_fail_memory(err, plan->trials * sizeof *plan->trial, "trials");
    for (uint64_t t = 0; t < plan->trials; t++)
        plan->trial[t] = lm_grid_trial(&options->grid, t);
    plan->holdout = options->holdout >= 0.0        ? options->holdout
                    : options->keep == LM_KEEP_TOP ? LM_DEFAULT_HOLDOUT
                                                   : 0.0;
    plan->kept = kept_of(options->keep, options->keep_top, plan->trials);
    return LM_OK;
}

static int count_samples(struct plan *plan, struct lm_error *err)
{
    struct lm_dataset data;
    struct lm_split split = {0};
    const struct lm_options *options = plan->call->options;
    int code = lm_source_load(plan->call->world, options, &data, err);
    if (code != LM_OK)
        return code;
    code = lm_split_make(data.count, options->split_seed, plan->holdout, &split, err);
    if (code == LM_OK) {
        plan->train = (double)split.n_train;
        plan->test = (double)split.n_test;
    }
    lm_split_free(&split);
    lm_dataset_free(&data);
    return code;
}

/* Trials of one shape and block together; their epochs are the mean. */
static int gather_work(struct plan *plan, struct lm_error *err)
{
    size_t room = 0;
    for (uint64_t t = 0; t < plan->trials; t++) {
        const struct lm_trial *trial = &plan->trial[t];
        char fault[160];
        size_t k = 0;
        if (lm_trial_fault(trial, fault, sizeof fault))
            continue;
        while (k < plan->works &&
               !(lm_shape_equal(plan->work[k].shape, trial->shape) && plan->work[k].block == trial->block))
            k++;
        if (k == room) {
            room = room ? 2 * room : 16;
            struct lm_training_work *more = realloc(plan->work, room * sizeof *more);
            if (!more)
                return lm_fail_memory(err, room * sizeof *more, "kinds of trainings");
            plan->work = more;
        }
        if (k == plan->works)
            plan->work[plan->works++] = (struct lm_training_work){
                .shape = trial->shape, .samples = plan->train, .block = trial->block, .first = 1};
        plan->work[k].replicas += 1.0;
        plan->work[k].epochs += trial->epochs;
    }
    for (size_t k = 0; k < plan->works; k++) {
        plan->epochs += plan->work[k].epochs;
        plan->work[k].epochs /= plan->work[k].replicas;
    }
    plan->steps = plan->epochs * plan->train;
    return LM_OK;
}

/* ---- the machine ---- */

static int read_machine(struct plan *plan, struct lm_error *err)
{
    const struct lm_options *options = plan->call->options;
    struct lm_machine_key here;
    struct lm_error gpu;
    lm_machine_default_path(plan->call->world, plan->path);
    plan->machine_path = options->machine ? options->machine : plan->path;
    if (!options->machine && access(plan->path, F_OK) != 0)
        return lm_fail(err, LM_BAD_INPUT,
                       "%s: this machine has not been measured: `libras_mpi calibrate`, or describe one with --machine",
                       plan->path);
    int code = lm_machine_read(plan->machine_path, &plan->machine, err);
    if (code != LM_OK || options->machine)
        return code;
    lm_machine_here(plan->call->world, 0, &here, NULL, &gpu);
    return lm_machine_check(&plan->machine, &here, 1, plan->machine_path, err);
}

/* ---- predictions ---- */

static double file_bytes(const struct plan *plan)
{
    double weights = plan->works ? plan->kept * 4.0 * (double)lm_network_floats(plan->work[0].shape) : 0.0;
    return (double)plan->trials * ROW_BYTES + plan->epochs * 8.0 + weights + plan->test * SCORE_BYTES;
}

/* The whole job where training takes so long. */
static double job_seconds(const struct plan *plan, double train, double ranks, int gpu)
{
    const struct lm_machine *m = &plan->machine;
    double results = file_bytes(plan);
    return m->job.start + (gpu ? m->gpu.context : 0.0) + train + lm_time_gather(m, ranks, results) +
           lm_time_file(m, results);
}

static void show_work(const struct plan *plan)
{
    const struct lm_machine_key *key = &plan->machine.key;
    printf("machine    %s (%s%s%s)\n", plan->machine_path, key->cpu, key->gpu[0] ? "; GPU " : "; no GPU", key->gpu);
    printf("work       %" PRIu64 " trials, %.0f epochs of %.0f samples: %.4g steps; %.0f test samples\n", plan->trials,
           plan->epochs, plan->train, plan->steps, plan->test);
    printf("file       about %.3g MB\n\n", 1e-6 * file_bytes(plan));
}

static void show_candidates(const struct lm_prediction *p, int n)
{
    printf("%-14s %-32s %11s %11s %11s  %s\n", "device", "where", "train s", "bound s", "GPU MB", "mostly");
    for (int k = 0; k < n; k++)
        if (p[k].fits)
            printf("%-14s %-32s %11.4g %11.4g %11.4g  %s\n", p[k].device, p[k].where, p[k].seconds, p[k].bound,
                   1e-6 * p[k].memory, p[k].limit);
        else
            printf("%-14s %-32s %11s %11.4g %11.4g  does not fit\n", p[k].device, p[k].where, "-", p[k].bound,
                   1e-6 * p[k].memory);
    printf("bound: without any overlap, and without what a copy or a launch costs as such\n\n");
}

static void show_choice(const struct lm_prediction *p, const struct lm_decision *d)
{
    char text[300];
    lm_decision_text(p, d, text, sizeof text);
    printf("choice     %s\n", text);
}

/* How much a GPU takes at once, and from where on it pays for batches. */
static void show_gpu(const struct plan *plan)
{
    const struct lm_machine *m = &plan->machine;
    if (!lm_machine_has_gpu(m))
        return;
    double at_once = lm_replicas_at_once(m), launch = at_once * FAST_TURNS, n = (double)plan->trials;
    printf("a launch   gpu:fast trains %.0f together, %.0f at the same time\n", n < launch ? n : launch,
           n < at_once ? n : at_once);
    double batch = lm_crossover(m, (struct lm_shape){32, 16}, m->error, 4194304.0);
    if (batch > 0.0)
        printf("batches    from %.0f samples on the GPU scores faster than the CPU, from host memory to host memory\n",
               batch);
    else
        printf("batches    the CPU scores any of up to 4 Mi samples as fast as the GPU, from host memory\n");
}

/* One GPU a rank, 1, 2, 4, ...: the last row that still has a good share of the ideal is worth asking for. */
static double show_gpus(const struct plan *plan, const char *device, double *seconds)
{
    struct lm_prediction p[LM_PREDICTIONS];
    double one = 0.0, worth = 1.0;
    printf("\n%6s %11s %11s %9s %11s   with --device %s\n", "GPUs", "train s", "whole s", "speed-up", "efficiency",
           device);
    for (double gpus = 1.0; gpus <= MOST_GPUS; gpus *= 2.0) {
        int n = lm_predict_train(&plan->machine, plan->work, plan->works, plan->test, gpus, p), k = 0;
        while (k < n && strcmp(p[k].device, device) != 0)
            k++;
        double whole = job_seconds(plan, p[k].seconds, gpus, 1);
        one = gpus == 1.0 ? whole : one;
        double share = one / whole / gpus;
        printf("%6.0f %11.4g %11.4g %9.2f %9.0f %%\n", gpus, p[k].seconds, whole, one / whole, 100.0 * share);
        if (share >= GOOD_SHARE || gpus == 1.0) {
            worth = gpus;
            *seconds = whole;
        }
    }
    return worth;
}

static void show_slurm(double ranks, int gpu, double seconds)
{
    double nodes = gpu ? ceil(ranks / GPUS_A_NODE) : 1.0, minutes = ceil((2.0 * seconds + SECONDS_SPARE) / 60.0);
    printf("\n#SBATCH --nodes=%.0f\n#SBATCH --ntasks=%.0f\n", nodes, ranks);
    if (gpu)
        printf("#SBATCH --gres=gpu:%.0f\n", ceil(ranks / nodes));
    printf("#SBATCH --time=%02.0f:%02.0f:00\n", floor(minutes / 60.0), fmod(minutes, 60.0));
    printf("(twice the time, and five minutes%s)\n", gpu && nodes > 1.0 ? "; 8 GPUs a node" : "");
}

static void show(const struct plan *plan)
{
    struct lm_prediction p[LM_PREDICTIONS];
    int n = lm_predict_train(&plan->machine, plan->work, plan->works, plan->test, 1.0, p);
    struct lm_decision d = lm_decide(p, n, plan->machine.error);
    double ranks = fmax(1.0, fmin(plan->machine.cpu.cores, (double)plan->trials)), seconds = 0.0;
    if (plan->call->options->quiet) {
        show_choice(p, &d);
        return;
    }
    show_work(plan);
    show_candidates(p, n);
    show_choice(p, &d);
    show_gpu(plan);
    if (d.chosen < 0)
        return;
    if (d.offload)
        ranks = show_gpus(plan, p[d.chosen].device, &seconds);
    else
        printf("whole      %.4g s with start-up and file\n", seconds = job_seconds(plan, p[d.chosen].seconds, 1.0, 0));
    show_slurm(ranks, d.offload, seconds);
}

/* ---- the command ---- */

static int on_rank_0(const struct lm_call *call, struct lm_error *err)
{
    struct plan plan = {.call = call};
    int code = read_machine(&plan, err);
    if (code == LM_OK)
        code = call->options->operands ? trials_of_file(&plan, err) : trials_of_options(&plan, err);
    if (code == LM_OK)
        code = count_samples(&plan, err);
    if (code == LM_OK)
        code = gather_work(&plan, err);
    if (code == LM_OK) {
        show(&plan);
        code = lm_flush_stdout(err);
    }
    free(plan.trial);
    free(plan.work);
    return code;
}

int lm_command_plan(const struct lm_call *call)
{
    struct lm_error err;
    return lm_agree(call->world, call->world->rank == 0 ? on_rank_0(call, &err) : LM_OK, &err);
}
