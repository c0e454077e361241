/* bench.c: `libras_mpi bench`: all variants side by side, in one run, on the same work.
 *
 * Every variant trains the same trial and scores the same test samples; every answer is compared with the CPU
 * reference's, bit for bit, before its time counts. Repeats are interleaved (each variant once, then each once more),
 * so that what changes with time (clocks, other users) touches all alike; medians with the least and the largest are
 * shown. A variant too slow for all epochs within --seconds trains fewer and is stated for all (its epochs are all
 * alike); the table marks it. CUDA calls are counted and timed in a run of their own, since timing them slows it.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_backend.h"
#include "report.h"
#include "source.h"

/* Of batch inference, which is short, there are more repeats than of training. */
#define INFER_REPEATS 5

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double lm_bench_median(const struct lm_bench_times *times)
{
    int n = times->n;
    if (n == 0)
        return NAN;
    return n % 2 ? times->second[n / 2] : 0.5 * (times->second[n / 2 - 1] + times->second[n / 2]);
}

static void add_time(struct lm_bench_times *times, double seconds)
{
    if (times->n < LM_BENCH_MOST_REPEATS)
        times->second[times->n++] = seconds;
}

/* ---- which variants ---- */

/* Is name in the list "cpu-ref,gpu:batch"? A family ("gpu") stands for all of its members, "all" for everything. */
static int is_wanted(const char *list, const char *name)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        if ((n == 3 && strncmp(list, "all", 3) == 0) ||
            (strncmp(list, name, n) == 0 && (name[n] == '\0' || name[n] == ':' || name[n] == '-')))
            return 1;
        list += n + (list[n] == ',');
    }
    return 0;
}

/* A name that no build knows is a mistake, also beside good ones. */
static int check_names(const char *list, struct lm_error *err)
{
    while (*list) {
        char name[64];
        const struct lm_backend *found;
        size_t n = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, list);
        if (strcmp(name, "all") != 0 && lm_backend_find(name, &found, err) == LM_BAD_INPUT)
            return LM_BAD_INPUT;
        list += n + (list[n] == ',');
    }
    return LM_OK;
}

static struct lm_trial the_trial(const struct lm_options *options)
{
    return lm_grid_trial(&options->grid, 0);
}

static int open_variant(struct lm_bench *bench, const struct lm_backend *backend, struct lm_error *err)
{
    struct lm_bench_variant *v = &bench->variant[bench->n];
    *v = (struct lm_bench_variant){.backend = backend, .trial = the_trial(bench->call->options)};
    v->result.loss = malloc(v->trial.epochs * sizeof *v->result.loss);
    v->result.parameters = malloc(lm_network_floats(v->trial.shape) * sizeof *v->result.parameters);
    v->scores = malloc((bench->problem->test.n * LM_CLASSES + 1) * sizeof *v->scores);
    bench->n++;
    if (!v->result.loss || !v->result.parameters || !v->scores)
        return lm_fail_memory(err, bench->problem->test.n * LM_CLASSES * sizeof *v->scores, "a variant");
    return backend->open(bench->problem, &v->session, err);
}

static int open_variants(struct lm_bench *bench, struct lm_error *err)
{
    const char *list = bench->call->options->device;
    struct lm_error why, told = {.text = ""};
    int code = check_names(list, err);
    for (const struct lm_backend *const *b = lm_backends(); *b && code == LM_OK; b++) {
        if (!is_wanted(list, (*b)->name))
            continue;
        if ((*b)->probe(&why) != LM_OK) {
            if (strcmp(why.text, told.text) != 0) /* sixteen GPU variants lack the same driver: once is enough */
                lm_note(bench->call->world, "left out: %s, and others for the same reason: %s", (*b)->name, why.text);
            told = why;
        } else if (bench->n < LM_BENCH_MOST_VARIANTS)
            code = open_variant(bench, *b, err);
    }
    if (code == LM_OK && bench->n == 0)
        return lm_fail(err, LM_UNAVAILABLE, "--device %s: no such variant can run here; `libras_mpi info` lists them",
                       list);
    return code;
}

static void close_variants(struct lm_bench *bench)
{
    for (int k = 0; k < bench->n; k++) {
        struct lm_bench_variant *v = &bench->variant[k];
        if (v->session)
            v->backend->close(v->session);
        free(v->result.loss);
        free(v->result.parameters);
        free(v->scores);
    }
}

/* ---- one measurement ---- */

/* In a profiler's timeline: the variant, and within it the phase. */
static void begin_ranges(const struct lm_bench_variant *v, enum lm_phase phase)
{
    lm_gpu_range_begin(v->backend->name);
    lm_gpu_range_begin(lm_phase_name[phase]);
}

static void end_ranges(void)
{
    lm_gpu_range_end();
    lm_gpu_range_end();
}

static int train_once(struct lm_bench_variant *v, double *seconds, struct lm_error *err)
{
    struct lm_tick no_tick = {0};
    begin_ranges(v, LM_PHASE_TRAIN);
    double start = lm_now();
    int code = v->backend->train(v->session, &v->trial, 1, &v->result, no_tick, err);
    *seconds = lm_now() - start;
    end_ranges();
    v->status = v->result.status;
    if (code == LM_OK && v->status != LM_TRIAL_OK)
        snprintf(v->reason, sizeof v->reason, "%s", v->result.reason);
    return code;
}

static int infer_once(const struct lm_bench *bench, struct lm_bench_variant *v, const float *parameters,
                      double *seconds, struct lm_error *err)
{
    const struct lm_samples *test = &bench->problem->test;
    memset(v->scores, 0xff, test->n * LM_CLASSES * sizeof *v->scores); /* what is not written shows */
    begin_ranges(v, LM_PHASE_INFER);
    double start = lm_now();
    int code = v->backend->infer(v->session, v->trial.shape, parameters, test->x, test->n, v->scores, err);
    *seconds = lm_now() - start;
    end_ranges();
    return code;
}

/* The reference's answer for some number of epochs. */
struct truth {
    void *session;
    struct lm_trial trial;
    struct lm_training_result result;
    float *scores;
    int there;
};

static void free_truth(struct truth *truth)
{
    free(truth->result.loss);
    free(truth->result.parameters);
    free(truth->scores);
}

/* Trains the reference for as many epochs as the variant did, unless that was the last one asked for. */
static int ask_reference(const struct lm_bench *bench, const struct lm_trial *trial, struct truth *truth,
                         struct lm_error *err)
{
    const struct lm_samples *test = &bench->problem->test;
    const struct lm_backend *reference = &lm_backend_cpu_ref;
    struct lm_tick no_tick = {0};
    if (truth->there && truth->trial.epochs == trial->epochs)
        return LM_OK;
    free_truth(truth);
    *truth = (struct truth){.trial = *trial};
    truth->result.loss = malloc(trial->epochs * sizeof *truth->result.loss);
    truth->result.parameters = malloc(lm_network_floats(trial->shape) * sizeof *truth->result.parameters);
    truth->scores = malloc((test->n * LM_CLASSES + 1) * sizeof *truth->scores);
    if (!truth->result.loss || !truth->result.parameters || !truth->scores)
        return lm_fail_memory(err, test->n * LM_CLASSES * sizeof *truth->scores, "the reference");
    int code = reference->open(bench->problem, &truth->session, err);
    if (code != LM_OK)
        return code;
    code = reference->train(truth->session, trial, 1, &truth->result, no_tick, err);
    if (code == LM_OK)
        code = reference->infer(truth->session, trial->shape, truth->result.parameters, test->x, test->n, truth->scores,
                                err);
    reference->close(truth->session);
    truth->there = code == LM_OK;
    return code;
}

static void compare_words(struct lm_bench_variant *v, const void *a, const void *b, size_t size, size_t n)
{
    for (size_t k = 0; k < n; k++)
        v->wrong_words += memcmp((const char *)a + k * size, (const char *)b + k * size, size) != 0;
    v->compared_words += n;
}

static int measure_once(const struct lm_bench *bench, struct lm_bench_variant *v, struct truth *truth,
                        struct lm_error *err)
{
    double seconds;
    int code = ask_reference(bench, &v->trial, truth, err);
    if (code != LM_OK || (code = train_once(v, &seconds, err)) != LM_OK || v->status != LM_TRIAL_OK)
        return code;
    add_time(&v->train, seconds * bench->epochs / v->trial.epochs);
    compare_words(v, v->result.parameters, truth->result.parameters, sizeof(float), lm_network_floats(v->trial.shape));
    compare_words(v, v->result.loss, truth->result.loss, sizeof(double), v->trial.epochs);
    for (int k = 0; k < INFER_REPEATS && code == LM_OK; k++) {
        code = infer_once(bench, v, v->result.parameters, &seconds, err);
        add_time(&v->infer, seconds);
    }
    if (code == LM_OK)
        compare_words(v, v->scores, truth->scores, sizeof(float), bench->problem->test.n * LM_CLASSES);
    return code;
}

/* ---- CUDA calls ---- */

static struct lm_gpu_counters minus(struct lm_gpu_counters a, struct lm_gpu_counters b)
{
    return (struct lm_gpu_counters){.copies_in = a.copies_in - b.copies_in,
                                    .copies_out = a.copies_out - b.copies_out,
                                    .launches = a.launches - b.launches,
                                    .allocations = a.allocations - b.allocations,
                                    .frees = a.frees - b.frees,
                                    .waits = a.waits - b.waits,
                                    .bytes_in = a.bytes_in - b.bytes_in,
                                    .bytes_out = a.bytes_out - b.bytes_out,
                                    .copy_seconds = a.copy_seconds - b.copy_seconds,
                                    .kernel_seconds = a.kernel_seconds - b.kernel_seconds};
}

static int count_calls(const struct lm_bench *bench, struct lm_bench_variant *v, struct lm_error *err)
{
    double seconds;
    if (strncmp(v->backend->name, "gpu", 3) != 0 || v->status != LM_TRIAL_OK)
        return LM_OK;
    lm_gpu_time_calls(v->session, 1);
    struct lm_gpu_counters before = lm_gpu_counters(v->session);
    int code = train_once(v, &seconds, err);
    v->train_calls = minus(lm_gpu_counters(v->session), before);
    before = lm_gpu_counters(v->session);
    if (code == LM_OK)
        code = infer_once(bench, v, v->result.parameters, &seconds, err);
    v->infer_calls = minus(lm_gpu_counters(v->session), before);
    lm_gpu_time_calls(v->session, 0);
    return code;
}

/* ---- all of it ---- */

/* One epoch to warm up and to see how slow the variant is: as many epochs as fit into its share of --seconds. */
static int choose_epochs(const struct lm_bench *bench, struct lm_bench_variant *v, struct lm_error *err)
{
    const struct lm_options *options = bench->call->options;
    double seconds = 0.0, share = options->seconds / (double)options->repeats;
    v->trial.epochs = 1;
    for (int k = 0; k < 2; k++) { /* the first includes what is made once: contexts, memory, code */
        int code = train_once(v, &seconds, err);
        if (code != LM_OK || v->status != LM_TRIAL_OK)
            return code;
    }
    double fit = share / (seconds > 1e-9 ? seconds : 1e-9);
    v->trial.epochs = fit >= bench->epochs ? bench->epochs : fit < 1.0 ? 1 : (uint32_t)fit;
    return LM_OK;
}

static int measure_all(struct lm_bench *bench, struct lm_error *err)
{
    struct truth truth = {0};
    int code = LM_OK, repeats = (int)bench->call->options->repeats;
    for (int k = 0; k < bench->n && code == LM_OK; k++)
        code = choose_epochs(bench, &bench->variant[k], err);
    for (int r = 0; r < repeats && code == LM_OK; r++)
        for (int k = 0; k < bench->n && code == LM_OK; k++)
            if (bench->variant[k].status == LM_TRIAL_OK)
                code = measure_once(bench, &bench->variant[k], &truth, err);
    for (int k = 0; k < bench->n && code == LM_OK; k++)
        code = count_calls(bench, &bench->variant[k], err);
    for (int k = 0; k < bench->n; k++) {
        qsort(bench->variant[k].train.second, (size_t)bench->variant[k].train.n, sizeof(double), by_value);
        qsort(bench->variant[k].infer.second, (size_t)bench->variant[k].infer.n, sizeof(double), by_value);
    }
    free_truth(&truth);
    return code;
}

static int bench_on_rank_0(const struct lm_call *call, struct lm_error *err)
{
    struct lm_problem problem = {0};
    struct lm_bench *bench = calloc(1, sizeof *bench);
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_DATA]);
    int code = bench ? lm_source_problem(call->world, call->options, call->options->split_seed, &problem, err)
                     : lm_fail_memory(err, sizeof *bench, "the measurements");
    lm_gpu_range_end();
    if (code == LM_OK) {
        bench->call = call;
        bench->problem = &problem;
        bench->epochs = the_trial(call->options).epochs;
        code = open_variants(bench, err);
    }
    if (code == LM_OK)
        code = measure_all(bench, err);
    if (code == LM_OK) {
        lm_bench_report(bench);
        code = lm_flush_stdout(err);
    }
    if (code == LM_OK && !lm_bench_valid(bench))
        code = lm_fail(err, LM_MISMATCH, "not every variant gave the reference's bits: see the table");
    if (bench)
        close_variants(bench);
    lm_problem_free(&problem);
    free(bench);
    return code;
}

int lm_command_bench(const struct lm_call *call)
{
    struct lm_error err;
    if (call->world->size > 1)
        lm_note(call->world, "bench measures on rank 0; the other ranks (%d) are idle", call->world->size - 1);
    return lm_agree(call->world, call->world->rank == 0 ? bench_on_rank_0(call, &err) : LM_OK, &err);
}
