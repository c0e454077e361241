/* fast_speed.c: the figures of gpu:fast beside their floors (floor.h). `make bench-gpu` builds and calls it.
 *
 *   fast_speed [REPEATS [DATA]]     DATA: a folder of CSV files; else the built-in synthetic set
 *
 * 1. one full training (51 epochs), from the call to the weights in the host's memory, orders included
 * 2. full trainings a second, as many at once as the backend asks for, each with its own seed and learning rate; 16 of
 *    them are compared with the CPU's bits
 * 3. samples a second that lie on the device, 4 Mi of them, distinct, scores written; compared with the CPU's bits
 * 4. a batch of the test set's size, from the host's memory to the host's memory
 * Medians of REPEATS (default 20; a quarter of it for 2), with the least and the largest. Ends 1 if a bit differs.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "dataset.h"
#include "floor.h"
#include "gpu.h"
#include "random.h"
#include "split.h"
#include "synth.h"

#define EPOCHS   51
#define MILLIONS ((size_t)4 << 20)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char *what, const struct lm_error *err)
{
    fprintf(stderr, "fast_speed: %s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        stop("out of memory", NULL);
    return memory;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing {
    double median, least, largest;
};

static struct timing summary(double *seconds, size_t n)
{
    qsort(seconds, n, sizeof *seconds, ascending);
    return (struct timing){n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2, seconds[0],
                           seconds[n - 1]};
}

/* ---- the work ---- */

static void make_problem(const char *dir, struct lm_problem *problem)
{
    struct lm_error err;
    struct lm_dataset data;
    struct lm_split split;
    struct lm_scaler scaler;
    int code =
        dir ? lm_dataset_load(dir, &data, &err) : lm_synth(lm_synth_default_count, LM_SYNTH_DEFAULT_SEED, &data, &err);
    if (code != LM_OK || (code = lm_split_make(data.count, 1337, 0.0, &split, &err)) != LM_OK)
        stop("data", &err);
    lm_scaler_fit(&data, split.train, split.n_train, &scaler);
    if (lm_problem_make(&data, &split, &scaler, problem, &err) != LM_OK)
        stop("data", &err);
    lm_split_free(&split);
    lm_dataset_free(&data);
}

struct batch {
    size_t n;
    struct lm_trial *trial;
    struct lm_training_result *result;
};

static struct batch make_batch(size_t n)
{
    struct batch b = {n, room(n * sizeof *b.trial), room(n * sizeof *b.result)};
    for (size_t k = 0; k < n; k++) {
        float rate = n == 1 ? 0.02f : 0.001f + 0.019f * (float)k / (float)n;
        b.trial[k] = (struct lm_trial){rate, 1.0f, 0.05f, EPOCHS, (uint32_t)(1337 + k), 128, {32, 16}};
        memset(&b.result[k], 0, sizeof b.result[k]);
        b.result[k].loss = room(EPOCHS * sizeof(double));
        b.result[k].parameters = room(lm_network_floats(b.trial[k].shape) * sizeof(float));
    }
    return b;
}

static void free_batch(struct batch *b)
{
    for (size_t k = 0; k < b->n; k++) {
        free(b->result[k].loss);
        free(b->result[k].parameters);
    }
    free(b->trial);
    free(b->result);
}

static void train(const struct lm_backend *backend, void *session, struct batch *b)
{
    struct lm_error err;
    struct lm_tick none = {0};
    if (backend->train(session, b->trial, b->n, b->result, none, &err) != LM_OK)
        stop(backend->name, &err);
}

/* How many of `tries` trials of b, chosen at random, have other bits than the CPU's. */
static size_t compare(const struct lm_problem *problem, const struct batch *b, size_t tries)
{
    const struct lm_backend *cpu;
    struct lm_mt19937 random;
    struct lm_error err;
    struct batch one = make_batch(1);
    void *session;
    size_t differ = 0;
    if (lm_backend_find("cpu", &cpu, &err) != LM_OK || cpu->open(problem, &session, &err) != LM_OK)
        stop("the CPU backend", &err);
    lm_mt19937_seed(&random, 1);
    for (size_t k = 0; k < tries; k++) {
        size_t which = lm_draw_below(&random, (uint32_t)b->n);
        one.trial[0] = b->trial[which];
        train(cpu, session, &one);
        const struct lm_training_result *a = &one.result[0], *r = &b->result[which];
        differ += a->status != r->status || a->epochs_run != r->epochs_run ||
                  memcmp(a->loss, r->loss, a->epochs_run * sizeof(double)) != 0 ||
                  memcmp(a->parameters, r->parameters, lm_network_floats(one.trial[0].shape) * sizeof(float)) != 0;
    }
    cpu->close(session);
    free_batch(&one);
    return differ;
}

static struct timing time_training(const struct lm_backend *backend, void *session, struct batch *b, size_t repeats)
{
    double *seconds = room(repeats * sizeof *seconds);
    train(backend, session, b);
    for (size_t k = 0; k < repeats; k++) {
        double start = now();
        train(backend, session, b);
        seconds[k] = now() - start;
    }
    struct timing t = summary(seconds, repeats);
    free(seconds);
    return t;
}

/* ---- inference ---- */

struct scoring {
    size_t n;
    float *x, *scores;
    float *parameters;
};

static struct scoring make_scoring(const struct lm_problem *problem, const struct batch *trained, size_t n)
{
    struct scoring s = {n, room(n * LM_PIXELS * sizeof(float)), room(n * LM_CLASSES * sizeof(float)),
                        trained->result[0].parameters};
    struct lm_mt19937 random;
    lm_mt19937_seed(&random, 2);
    for (size_t k = 0; k < n * LM_PIXELS; k++)
        s.x[k] = problem->test.x[k % (problem->test.n * LM_PIXELS)] +
                 (n > problem->test.n ? (float)lm_mt19937_next(&random) * 1e-11f : 0.0f);
    return s;
}

static void infer(const struct lm_backend *backend, void *session, struct scoring *s)
{
    struct lm_error err;
    struct lm_shape lab = {32, 16};
    if (backend->infer(session, lab, s->parameters, s->x, s->n, s->scores, &err) != LM_OK)
        stop(backend->name, &err);
}

static int same_scores(const struct lm_problem *problem, struct scoring *s)
{
    const struct lm_backend *cpu;
    struct lm_error err;
    void *session;
    struct scoring again = *s;
    again.scores = room(s->n * LM_CLASSES * sizeof(float));
    if (lm_backend_find("cpu", &cpu, &err) != LM_OK || cpu->open(problem, &session, &err) != LM_OK)
        stop("the CPU backend", &err);
    infer(cpu, session, &again);
    cpu->close(session);
    int same = memcmp(again.scores, s->scores, s->n * LM_CLASSES * sizeof(float)) == 0;
    free(again.scores);
    return same;
}

/* By events round the kernels (on_device), or by the clock round the call. */
static struct timing time_scoring(const struct lm_backend *backend, void *session, struct scoring *s, size_t repeats,
                                  int on_device)
{
    double *seconds = room(repeats * sizeof *seconds);
    infer(backend, session, s);
    lm_gpu_time_calls(session, on_device);
    for (size_t k = 0; k < repeats; k++) {
        struct lm_gpu_counters before = lm_gpu_counters(session);
        double start = now();
        infer(backend, session, s);
        seconds[k] = on_device ? lm_gpu_counters(session).kernel_seconds - before.kernel_seconds : now() - start;
    }
    lm_gpu_time_calls(session, 0);
    struct timing t = summary(seconds, repeats);
    free(seconds);
    return t;
}

/* ---- the table ---- */

static struct gpu_machine machine_of(const struct lm_gpu_device *device)
{
    int clock = 0, memory_clock = 0, bus = 0;
    if (cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, device->ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, device->ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&bus, cudaDevAttrGlobalMemoryBusWidth, device->ordinal) != cudaSuccess)
        stop("cudaDeviceGetAttribute", NULL);
    return (struct gpu_machine){device->multiprocessors, 1e3 * clock, 2e3 * memory_clock * bus / 8.0};
}

static void row(const char *what, const char *unit, double value, double least, double largest, double floor,
                double share, const char *bits)
{
    printf("%-44s %12.4g [%10.4g %10.4g] %-12s floor %10.4g %5.1f %%  %s\n", what, value, least, largest, unit, floor,
           100 * share, bits);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    size_t repeats = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
    struct lm_error err;
    struct lm_gpu_device device;
    struct lm_problem problem;
    const struct lm_backend *backend;
    void *session;
    if (repeats < 1)
        repeats = 1;
    if (lm_gpu_select(0, &device, &err) != LM_OK || lm_backend_find("gpu:fast", &backend, &err) != LM_OK)
        stop("gpu:fast", &err);
    make_problem(argc > 2 ? argv[2] : NULL, &problem);
    if (backend->open(&problem, &session, &err) != LM_OK)
        stop("gpu:fast", &err);
    struct gpu_machine m = machine_of(&device);
    const double steps = (double)problem.train.n * EPOCHS;
    printf("%s, %d multiprocessors at %.0f MHz, %.0f GB/s; %zu training samples; medians of %zu [least largest]\n",
           device.name, device.multiprocessors, m.clock / 1e6, m.bandwidth / 1e9, problem.train.n, repeats);

    struct batch one = make_batch(1);
    struct timing t = time_training(backend, session, &one, repeats);
    size_t differ = compare(&problem, &one, 1), differ_all = differ;
    double floor = floor_one_training(m, steps);
    row("one full training", "ms", 1e3 * t.median, 1e3 * t.least, 1e3 * t.largest, 1e3 * floor, floor / t.median,
        differ ? "DIFFERENT BITS" : "same bits");

    struct batch many = make_batch(backend->capacity(session));
    char what[64];
    t = time_training(backend, session, &many, repeats / 4 + 1);
    differ = compare(&problem, &many, 16);
    differ_all += differ;
    floor = floor_trainings(m, steps);
    snprintf(what, sizeof what, "full trainings, %zu at once", many.n);
    row(what, "a second", (double)many.n / t.median, (double)many.n / t.largest, (double)many.n / t.least, floor,
        (double)many.n / t.median / floor, differ ? "DIFFERENT BITS" : "same bits (16 of them)");

    struct scoring millions = make_scoring(&problem, &one, MILLIONS);
    t = time_scoring(backend, session, &millions, repeats, 1);
    differ = !same_scores(&problem, &millions);
    differ_all += differ;
    floor = floor_inference(m);
    row("inference, 4 Mi samples on the device", "samples/s", (double)MILLIONS / t.median, (double)MILLIONS / t.largest,
        (double)MILLIONS / t.least, floor, (double)MILLIONS / t.median / floor,
        differ ? "DIFFERENT BITS" : "same bits");

    struct scoring few = make_scoring(&problem, &one, problem.test.n);
    t = time_scoring(backend, session, &few, 15 * repeats, 0);
    differ = !same_scores(&problem, &few);
    differ_all += differ;
    snprintf(what, sizeof what, "inference, %zu samples, host to host", few.n);
    printf("%-44s %12.4g [%10.4g %10.4g] %-12s %s\n", what, 1e6 * t.median, 1e6 * t.least, 1e6 * t.largest, "us",
           differ ? "DIFFERENT BITS" : "same bits");
    backend->close(session);
    free_batch(&many);
    free_batch(&one);
    lm_problem_free(&problem);
    return differ_all != 0;
}
