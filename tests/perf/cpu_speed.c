/* cpu_speed.c: the CPU kernels side by side, on one core.
 *
 *     cpu_speed [REPEATS [DATA]]       default: 25 repeats, the real set in ../shared if it is there, else the
 * synthetic cpu_speed train NAME EPOCHS      one training and nothing else, to be timed from outside the process
 *
 * The rival is baseline.c: plain loops, -O3 -march=native -ffast-math. All variants, it among them, run through the
 * same lm_train_one. A training is stated for 51 epochs, from the difference between trainings of EPOCHS + 1 and of one
 * epoch: what is done once a training cancels out. Repeats are interleaved: a variant each, then all again, so that
 * clocks and other users touch all alike. Times are the thread's own: what others get of the core does not count.
 * Inference is measured twice: with rows as a training has left them, mostly in no cache, so that memory is in it; and
 * once more at once, when rows and scores (5 MB) have just been touched. Shown are the median and the spread (least and
 * largest) of the repeats, and the median of the ratios to the baseline's time in the same repeat.
 * Floors are cost.c's; the clock that turns cycles into time is measured, in each repeat, by a chain of dependent
 * instructions.
 *
 * Ends 1 if a variant's answer is not the reference's, bit for bit. Ratios and rates are judged by the reader.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "baseline.h"
#include "cost.h"
#include "cpu_backend.h"
#include "large.h"
#include "reference.h"
#include "simd.h"
#include "split.h"
#include "synth.h"

#define EPOCHS         8 /* of which the time is the difference to one */
#define ROWS_IN_MEMORY 16384
#define MOST_REPEATS   1000
#define VARIANTS       5

static const struct lm_shape shape = {BASELINE_H1, BASELINE_H2};

/* Time of this thread on a core: what others get of it meanwhile does not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the baseline as kernels ---- */

static void *baseline_begin(struct lm_shape unused)
{
    (void)unused;
    return aligned_alloc(64, (sizeof(struct baseline) + 63) / 64 * 64);
}

static void baseline_put(void *state, const float *parameters)
{
    memcpy(state, parameters, sizeof(struct baseline));
}

static void baseline_get(const void *state, float *parameters)
{
    memcpy(parameters, state, sizeof(struct baseline));
}

static double baseline_part(void *state, float rate, const struct lm_samples *samples, const uint32_t *index, size_t n,
                            double loss_sum)
{
    return loss_sum + baseline_train(state, rate, samples->x, samples->label, index, n);
}

static void baseline_scores(void *state, const float *x, size_t n, float *scores)
{
    baseline_infer(state, x, n, scores);
}

static const struct lm_cpu_kernels baseline_kernels = {
    .begin = baseline_begin,
    .end = free,
    .put = baseline_put,
    .get = baseline_get,
    .train = baseline_part,
    .infer = baseline_scores,
};

/* ---- variants ---- */

struct variant {
    const char *name;
    const struct lm_cpu_kernels *kernels;
    const struct lm_backend *backend; /* whose probe decides; NULL: the baseline */
    int floats;                       /* of a vector */
    int fewer;                        /* epochs and rows are divided by it */
    double training[MOST_REPEATS], rows_a_second[2][MOST_REPEATS];
};

static const struct lm_cpu_kernels *reference(void)
{
#ifdef LM_HAVE_REFERENCE_FMA
    if (__builtin_cpu_supports("fma"))
        return &lm_reference_fma;
#endif
    return &lm_reference_plain;
}

static int make_variants(struct variant *v)
{
    struct lm_error err;
    struct variant all[] = {
        {.name = "baseline", .kernels = &baseline_kernels, .floats = 8, .fewer = 1},
        {.name = "cpu-ref", .kernels = reference(), .backend = &lm_backend_cpu_ref, .floats = 1, .fewer = 8},
        {.name = "cpu:portable",
         .kernels = &lm_simd_portable,
         .backend = &lm_backend_cpu_portable,
         .floats = 4,
         .fewer = 8},
#ifdef LM_HAVE_SIMD_X86
        {.name = "cpu:avx2", .kernels = &lm_simd_avx2, .backend = &lm_backend_cpu_avx2, .floats = 8, .fewer = 1},
        {.name = "cpu:avx512", .kernels = &lm_simd_avx512, .backend = &lm_backend_cpu_avx512, .floats = 16, .fewer = 1},
#endif
    };
    int n = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (!all[k].backend || all[k].backend->probe(&err) == LM_OK)
            v[n++] = all[k];
        else
            printf("%s is not measured: %s\n", all[k].name, err.text);
    return n;
}

static int prepare(const char *dir, struct lm_problem *problem, struct lm_error *err)
{
    struct lm_dataset data;
    struct lm_split split;
    struct lm_scaler scaler;
    int code =
        dir ? lm_dataset_load(dir, &data, err) : lm_synth(lm_synth_default_count, LM_SYNTH_DEFAULT_SEED, &data, err);
    if (code == LM_OK && (code = lm_split_make(data.count, 1337, 0.0, &split, err)) == LM_OK) {
        lm_scaler_fit(&data, split.train, split.n_train, &scaler);
        code = lm_problem_make(&data, &split, &scaler, problem, err);
    }
    return code; /* the program ends soon: nothing is freed */
}

/* ---- measuring ---- */

/* Seconds of one training; its answer in result. */
static double train(const struct variant *v, const struct lm_problem *problem, uint32_t epochs,
                    struct lm_training_result *result)
{
    struct lm_trial trial = {.learning_rate = 0.02f,
                             .decay = 1.0f,
                             .initial_range = 0.05f,
                             .epochs = epochs,
                             .seed = 1337,
                             .block = 32,
                             .shape = shape};
    struct lm_error err;
    double start = now();
    if (lm_train_one(v->kernels, problem, &trial, result, (struct lm_tick){0}, &err) != LM_OK) {
        fprintf(stderr, "cpu_speed: %s\n", err.text);
        exit(1);
    }
    return now() - start;
}

static double score(const struct variant *v, const float *parameters, const float *x, size_t n, float *scores)
{
    void *net = v->kernels->begin(shape);
    v->kernels->put(net, parameters);
    double start = now();
    v->kernels->infer(net, x, n, scores);
    double seconds = now() - start;
    v->kernels->end(net);
    return seconds;
}

/* On x86 by multiplications, three cycles each: some processors add a constant in no time. */
static double clock_now(void)
{
#if defined(__x86_64__)
    uint64_t x = 3;
    double start = now();
    for (int k = 0; k < 8000; k++)
        __asm__ volatile("imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0" : "+r"(x));
    return 3.0 * 32000.0 / (now() - start);
#elif defined(__aarch64__)
    uint64_t x = 3;
    double start = now();
    for (int k = 0; k < 20000; k++)
        __asm__ volatile("add %0, %0, %0\n add %0, %0, %0" : "+r"(x));
    return 2.0 * 40000.0 / (now() - start);
#else
    return NAN;
#endif
}

static void touch(const float *x, float *scores, size_t rows)
{
    volatile float sum = 0.0f;
    for (size_t k = 0; k < rows * LM_PIXELS; k += 16)
        sum = sum + x[k];
    memset(scores, 0, rows * LM_CLASSES * sizeof *scores);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *value, int n)
{
    double sorted[MOST_REPEATS];
    memcpy(sorted, value, (size_t)n * sizeof *value);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

static double extreme(const double *value, int n, int sign)
{
    double most = value[0];
    for (int k = 1; k < n; k++)
        most = sign * (value[k] - most) > 0 ? value[k] : most;
    return most;
}

/* ---- report ---- */

static void report_training(const struct variant *v, int n, int repeats, double hertz)
{
    const double steps = 51.0 * 3532.0;
    printf("\n%-14s %9s %9s %9s %9s %9s %9s %9s\n", "training", "median ms", "least", "largest", "us/step", "ratio",
           "floor us", "share");
    for (int k = 0; k < n; k++) {
        double ratio[MOST_REPEATS], middle = median(v[k].training, repeats);
        for (int r = 0; r < repeats; r++)
            ratio[r] = v[k].training[r] / v[0].training[r];
        struct lm_floor floor = lm_floor_of(lm_cost_step(shape), lm_core_of(v[k].floats));
        double floor_us = 1e6 * floor.cycles / hertz;
        printf("%-14s %9.1f %9.1f %9.1f %9.3f %9.3f %9.3f %8.0f%%\n", v[k].name, 1e3 * middle,
               1e3 * extreme(v[k].training, repeats, -1), 1e3 * extreme(v[k].training, repeats, 1),
               1e6 * middle / steps, median(ratio, repeats), floor_us, 100.0 * floor_us * steps / 1e6 / middle);
    }
}

static void report_inference(const struct variant *v, int n, int touched, int repeats, double hertz)
{
    printf("\n%s\n%-14s %9s %9s %9s %9s %9s %9s %9s\n",
           touched ? "rows that were just touched:" : "rows as the training before left them:", "inference",
           "median M/s", "least", "largest", "ns/sample", "ratio", "floor ns", "share");
    for (int k = 0; k < n; k++) {
        const double *rate = v[k].rows_a_second[touched];
        double ratio[MOST_REPEATS], middle = median(rate, repeats);
        for (int r = 0; r < repeats; r++)
            ratio[r] = v[0].rows_a_second[touched][r] / rate[r];
        struct lm_floor floor = lm_floor_of(lm_cost_infer(shape), lm_core_of(v[k].floats));
        printf("%-14s %10.2f %9.2f %9.2f %9.1f %9.3f %9.1f %8.0f%%\n", v[k].name, 1e-6 * middle,
               1e-6 * extreme(rate, repeats, -1), 1e-6 * extreme(rate, repeats, 1), 1e9 / middle,
               median(ratio, repeats), 1e9 * floor.cycles / hertz, 100.0 * floor.cycles / hertz * middle);
    }
}

/* ---- the story ---- */

static struct lm_training_result room_for_result(void)
{
    return (struct lm_training_result){.loss = malloc(1000000 * sizeof(double)),
                                       .parameters = malloc(lm_network_floats(shape) * sizeof(float))};
}

static int train_only(const char *name, const char *epochs_text, const struct lm_problem *problem)
{
    static struct variant variant[VARIANTS];
    struct lm_training_result result = room_for_result();
    int n = make_variants(variant), epochs = atoi(epochs_text);
    for (int k = 0; k < n; k++)
        if (strcmp(variant[k].name, name) == 0 && epochs > 0 && epochs <= 1000000) {
            double seconds = train(&variant[k], problem, (uint32_t)epochs, &result);
            printf("%s: %d epochs, %.4f s, mean loss %.6f\n", name, epochs, seconds, result.loss[epochs - 1]);
            return 0;
        }
    fprintf(stderr, "cpu_speed: no variant '%s' here, or not 1 to 1000000 epochs: '%s'\n", name, epochs_text);
    return 2;
}

/* Every variant but the baseline against the first that has a backend, cpu-ref: EPOCHS epochs, and all rows. */
static int check_bits(const struct variant *v, int n, const struct lm_problem *problem, const float *x,
                      float *parameters)
{
    size_t floats = lm_network_floats(shape), scores = ROWS_IN_MEMORY * LM_CLASSES;
    float *want = malloc(scores * sizeof *want), *got = malloc(scores * sizeof *got);
    struct lm_training_result result = room_for_result();
    int wrong = 0;
    for (int k = 1; k < n; k++) {
        train(&v[k], problem, EPOCHS, &result);
        if (k == 1)
            memcpy(parameters, result.parameters, floats * sizeof *parameters);
        score(&v[k], parameters, x, ROWS_IN_MEMORY, k == 1 ? want : got);
        int same = memcmp(parameters, result.parameters, floats * sizeof *parameters) == 0 &&
                   (k == 1 || memcmp(want, got, scores * sizeof *want) == 0);
        if (!same)
            printf("%s: NOT the reference's bits\n", v[k].name);
        wrong += !same;
    }
    free(want);
    free(got);
    return wrong;
}

static void measure(struct variant *v, int n, int repeats, const struct lm_problem *problem, const float *x,
                    const float *parameters, double *hertz)
{
    struct lm_training_result result = room_for_result();
    float *scores = lm_large(ROWS_IN_MEMORY * LM_CLASSES * sizeof *scores);
    for (int r = 0; r < repeats; r++) {
        hertz[r] = clock_now();
        for (int k = 0; k < n; k++) {
            uint32_t epochs = EPOCHS / (uint32_t)v[k].fewer;
            double longer = train(&v[k], problem, epochs + 1, &result), one = train(&v[k], problem, 1, &result);
            v[k].training[r] = (longer - one) / epochs * 51.0;
            size_t rows = ROWS_IN_MEMORY / (size_t)v[k].fewer;
            v[k].rows_a_second[0][r] = (double)rows / score(&v[k], parameters, x, rows, scores);
            touch(x, scores, rows);
            v[k].rows_a_second[1][r] = (double)rows / score(&v[k], parameters, x, rows, scores);
        }
    }
    free(scores);
}

int main(int argc, char **argv)
{
    static struct variant variant[VARIANTS];
    static double hertz[MOST_REPEATS];
    struct lm_problem problem;
    struct lm_error err;
    const int only_train = argc == 4 && strcmp(argv[1], "train") == 0;
    const char *real = "../shared/data/libras_csv", *dir = argc == 3 ? argv[2] : NULL;
    FILE *found = dir ? NULL : fopen("../shared/data/libras_csv/A.csv", "r");
    int repeats = argc > 1 && !only_train ? atoi(argv[1]) : 25;
    if (argc > 4 || (argc == 4 && !only_train) || repeats < 1 || repeats > MOST_REPEATS) {
        fprintf(stderr, "usage: cpu_speed [REPEATS (1 to %d) [DATA]], or cpu_speed train NAME EPOCHS\n", MOST_REPEATS);
        return 2;
    }
    if (prepare(dir ? dir : found ? real : NULL, &problem, &err) != LM_OK) {
        fprintf(stderr, "cpu_speed: %s\n", err.text);
        return 1;
    }
    if (only_train)
        return train_only(argv[2], argv[3], &problem);

    static float parameters[sizeof(struct baseline) / sizeof(float)];
    float *x = lm_large(ROWS_IN_MEMORY * LM_PIXELS * sizeof *x);
    for (size_t k = 0; k < ROWS_IN_MEMORY; k++)
        memcpy(x + k * LM_PIXELS, problem.train.x + k % problem.train.n * LM_PIXELS, LM_PIXELS * sizeof *x);
    int n = make_variants(variant);
    int wrong = check_bits(variant, n, &problem, x, parameters);
    measure(variant, n, repeats, &problem, x, parameters, hertz);
    printf("one core, %d interleaved repeats, %s data; the clock was %.2f GHz (median)\n", repeats,
           dir     ? dir
           : found ? "real"
                   : "synthetic",
           1e-9 * median(hertz, repeats));
    report_training(variant, n, repeats, median(hertz, repeats));
    for (int touched = 0; touched < 2; touched++)
        report_inference(variant, n, touched, repeats, median(hertz, repeats));
    printf("\nevery answer but the baseline's: %s\n", wrong ? "NOT cpu-ref's bits" : "cpu-ref's bits");
    return wrong != 0;
}
