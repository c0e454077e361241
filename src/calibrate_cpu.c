/* calibrate_cpu.c: see calibrate.h. */
#include "calibrate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cost.h"
#include "large.h"
#include "model_predict.h"

#define REPEATS     9
#define ROWS        16384 /* scored at once by one core */
#define SLOW_ROWS   2048
#define FAR_ROWS    262144 /* 83 MB with their scores: beyond a core's caches */
#define CALLS       200    /* of a batch of one sample */
#define COPY_BYTES  ((size_t)32 << 20)
#define TIMER_READS 10000
#define THE_SHAPE   ((struct lm_shape){32, 16})

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What this process has had of processors, s. */
static double processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void lm_calibration_set(struct lm_calibration *c, double *at, double *measured, int n)
{
    qsort(measured, (size_t)n, sizeof *measured, ascending);
    *at = n % 2 ? measured[n / 2] : 0.5 * (measured[n / 2 - 1] + measured[n / 2]);
    double *spread = (double *)((char *)&c->spread + ((char *)at - (char *)&c->machine));
    *spread = *at > 0.0 ? (measured[n - 1] - measured[0]) / *at : 0.0;
}

const struct lm_backend *lm_calibrate_backend(const char *name)
{
    for (const struct lm_backend *const *b = lm_backends(); *b; b++)
        if (strcmp((*b)->name, name) == 0)
            return *b;
    return NULL;
}

/* ---- trainings ---- */

struct group {
    size_t n;
    struct lm_trial *trial;
    struct lm_training_result *result;
    double *loss;      /* of all */
    float *parameters; /* likewise */
};

static void free_group(struct group *g)
{
    free(g->trial);
    free(g->result);
    free(g->loss);
    free(g->parameters);
}

static int make_group(size_t n, uint32_t epochs, struct group *g, struct lm_error *err)
{
    size_t floats = lm_network_floats(THE_SHAPE);
    *g = (struct group){.n = n};
    g->trial = calloc(n, sizeof *g->trial);
    g->result = calloc(n, sizeof *g->result);
    g->loss = malloc(n * epochs * sizeof *g->loss);
    g->parameters = malloc(n * floats * sizeof *g->parameters);
    if (!g->trial || !g->result || !g->loss || !g->parameters)
        return lm_fail_memory(err, n * floats * sizeof *g->parameters, "trainings to be timed");
    for (size_t k = 0; k < n; k++) {
        g->trial[k] = (struct lm_trial){0.02f, 1.0f, 0.05f, epochs, (uint32_t)(1337 + k), 128, THE_SHAPE};
        g->result[k].loss = g->loss + k * epochs;
        g->result[k].parameters = g->parameters + k * floats;
    }
    return LM_OK;
}

static int time_group(const struct lm_backend *backend, void *session, struct group *g, uint32_t epochs,
                      double *seconds, struct lm_error *err)
{
    struct lm_tick nobody = {0};
    for (size_t k = 0; k < g->n; k++)
        g->trial[k].epochs = epochs;
    double start = now();
    int code = backend->train(session, g->trial, g->n, g->result, nobody, err);
    *seconds = now() - start;
    if (code == LM_OK && g->result[0].status != LM_TRIAL_OK)
        code = lm_fail(err, LM_FAILED, "%s: a training to be timed: %s", backend->name, g->result[0].reason);
    return code;
}

int lm_calibrate_step(const struct lm_backend *backend, void *session, const struct lm_problem *problem, size_t n,
                      uint32_t more, double *step, double *once, struct lm_error *err)
{
    struct group g;
    double one = 0.0, longer = 0.0;
    int code = make_group(n, more, &g, err);
    if (code == LM_OK)
        code = time_group(backend, session, &g, 1, &one, err);
    if (code == LM_OK)
        code = time_group(backend, session, &g, more, &longer, err);
    if (longer <= one) /* something else had the processor: then what is done once counts as steps */
        one = longer / more;
    *step = (longer - one) / ((double)(more - 1) * (double)problem->train.n);
    if (once)
        *once = one > *step * (double)problem->train.n ? one - *step * (double)problem->train.n : 0.0;
    free_group(&g);
    return code;
}

/* ---- one backend ---- */

struct timing {
    const struct lm_problem *problem;
    struct lm_problem threaded; /* the same with all threads */
    struct lm_calibration *out;
    float *x, *scores, *parameters;
    size_t rows;
};

/* So many epochs that a training of few samples takes as long as one of the real set. */
static uint32_t epochs_for(const struct timing *t, int slow)
{
    const size_t usual = 3532, n = t->problem->train.n;
    return 1 + (slow ? 1 : 8) * (uint32_t)(n < usual ? (usual + n - 1) / n : 1);
}

static int time_training(struct timing *t, const struct lm_backend *backend, void *session, size_t n, int slow,
                         double *second, double *once, struct lm_error *err)
{
    int code = LM_OK;
    for (int r = 0; r < REPEATS && code == LM_OK; r++)
        code = lm_calibrate_step(backend, session, t->problem, n, epochs_for(t, slow), &second[r], &once[r], err);
    return code;
}

/* Seconds of a batch of n. */
static int time_scoring(struct timing *t, const struct lm_backend *backend, void *session, size_t n, int calls,
                        double *second, struct lm_error *err)
{
    int code = LM_OK;
    for (int r = -1; r < REPEATS && code == LM_OK; r++) { /* the first is to warm up */
        double start = now();
        for (int k = 0; k < calls && code == LM_OK; k++)
            code = backend->infer(session, THE_SHAPE, t->parameters, t->x, n, t->scores, err);
        if (r >= 0)
            second[r] = (now() - start) / calls;
    }
    return code;
}

static void as_rates(double *second, double work)
{
    for (int r = 0; r < REPEATS; r++)
        second[r] = work / (second[r] > 1e-12 ? second[r] : 1e-12);
}

/* One core. */
static int measure_way(struct timing *t, const struct lm_backend *backend, int way, struct lm_error *err)
{
    struct lm_machine *m = &t->out->machine;
    const int slow = way == LM_CPU_REF || way == LM_CPU_PORTABLE;
    const double flops = lm_cost_infer(THE_SHAPE).flops;
    size_t rows = slow ? SLOW_ROWS : ROWS;
    double second[REPEATS], once[REPEATS], call[REPEATS];
    void *session = NULL;
    int code = backend->open(t->problem, &session, err);
    if (code != LM_OK)
        return code;
    code = time_training(t, backend, session, 1, slow, second, once, err);
    if (code == LM_OK) {
        as_rates(second, lm_cost_step(THE_SHAPE).flops);
        lm_calibration_set(t->out, &m->cpu.train[way], second, REPEATS);
        code = time_scoring(t, backend, session, rows, 1, second, err);
    }
    if (code == LM_OK)
        code = time_scoring(t, backend, session, 1, CALLS, call, err);
    if (code == LM_OK) {
        as_rates(second, (double)rows * flops);
        lm_calibration_set(t->out, &m->cpu.infer[way], second, REPEATS);
    }
    if (code == LM_OK && lm_fastest_cpu(m->cpu.train) == way) { /* ways come slowest first */
        const double one = lm_cpu_batch((enum lm_cpu_way)way) * flops / m->cpu.infer[way];
        for (int r = 0; r < REPEATS; r++)
            call[r] = call[r] > one ? call[r] - one : 0.0;
        lm_calibration_set(t->out, &m->cpu.call, call, REPEATS);
        lm_calibration_set(t->out, &m->cpu.training, once, REPEATS);
    }
    backend->close(session);
    return code;
}

/* What a batch far larger than the caches takes longer than arithmetic does, by the byte; by the fastest way. */
static int measure_stream(struct timing *t, const struct lm_backend *backend, int way, struct lm_error *err)
{
    struct lm_machine *m = &t->out->machine;
    const struct lm_cost cost = lm_cost_infer(THE_SHAPE);
    double second[REPEATS];
    void *session = NULL;
    int code = backend->open(t->problem, &session, err);
    if (code != LM_OK)
        return code;
    code = time_scoring(t, backend, session, FAR_ROWS, 1, second, err);
    for (int r = 0; r < REPEATS && code == LM_OK; r++) {
        double more = second[r] - FAR_ROWS * cost.flops / m->cpu.infer[way];
        second[r] = (FAR_ROWS * (cost.bytes_in + cost.bytes_out) - LM_CACHED_BYTES) / (more > 1e-6 ? more : 1e-6);
    }
    if (code == LM_OK)
        lm_calibration_set(t->out, &m->cpu.stream, second, REPEATS);
    backend->close(session);
    return code;
}

/* All cores, by the fastest way: as many trainings as threads, a batch as many times as large. */
static int measure_all(struct timing *t, const struct lm_backend *backend, int way, struct lm_error *err)
{
    struct lm_machine *m = &t->out->machine;
    const size_t threads = (size_t)t->threaded.threads, rows = ROWS * threads;
    double second[REPEATS], once[REPEATS];
    void *session = NULL;
    int code = backend->open(&t->threaded, &session, err);
    if (code != LM_OK)
        return code;
    code = time_training(t, backend, session, threads, 0, second, once, err);
    if (code == LM_OK) {
        as_rates(second, (double)threads * lm_cost_step(THE_SHAPE).flops / m->cpu.train[way]);
        lm_calibration_set(t->out, &m->cpu.train_all, second, REPEATS);
        code = time_scoring(t, backend, session, rows, 1, second, err);
    }
    if (code == LM_OK) {
        as_rates(second, (double)rows * lm_cost_infer(THE_SHAPE).flops / m->cpu.infer[way]);
        lm_calibration_set(t->out, &m->cpu.infer_all, second, REPEATS);
    }
    backend->close(session);
    return code;
}

/* ---- memory and the clock ---- */

struct copier {
    char *memory; /* two halves of COPY_BYTES */
    pthread_t thread;
};

static void *copy_once(void *context)
{
    struct copier *c = context;
    memcpy(c->memory, c->memory + COPY_BYTES, COPY_BYTES);
    return NULL;
}

/* Bytes a second read and written by so many threads at once. */
static int time_copies(struct copier *copier, int threads, double *rate, struct lm_error *err)
{
    int started = 0;
    double start = now();
    for (; started < threads; started++)
        if (pthread_create(&copier[started].thread, NULL, copy_once, &copier[started]) != 0)
            break;
    for (int k = 0; k < started; k++)
        pthread_join(copier[k].thread, NULL);
    *rate = 2.0 * (double)COPY_BYTES * threads / (now() - start);
    return started == threads ? LM_OK : lm_fail(err, LM_FAILED, "a thread to copy memory could not be started");
}

static int measure_memory(struct timing *t, struct lm_error *err)
{
    const int threads = t->threaded.threads;
    struct copier *copier = calloc((size_t)threads, sizeof *copier);
    double one[REPEATS], all[REPEATS];
    int code = copier ? LM_OK : lm_fail_memory(err, sizeof *copier, "copies");
    for (int k = 0; k < threads && code == LM_OK; k++) {
        copier[k].memory = malloc(2 * COPY_BYTES);
        if (!copier[k].memory)
            code = lm_fail_memory(err, 2 * COPY_BYTES, "copies");
        else
            memset(copier[k].memory, k, 2 * COPY_BYTES); /* so that it is there */
    }
    for (int r = 0; r < REPEATS && code == LM_OK; r++) {
        code = time_copies(copier, 1, &one[r], err);
        if (code == LM_OK)
            code = time_copies(copier, threads, &all[r], err);
    }
    if (code == LM_OK) {
        lm_calibration_set(t->out, &t->out->machine.cpu.memory, one, REPEATS);
        lm_calibration_set(t->out, &t->out->machine.cpu.memory_all, all, REPEATS);
    }
    for (int k = 0; k < threads && copier; k++)
        free(copier[k].memory);
    free(copier);
    return code;
}

static void measure_timer(struct timing *t)
{
    double second[REPEATS], end = 0.0;
    for (int r = 0; r < REPEATS; r++) {
        double start = now();
        for (int k = 0; k < TIMER_READS; k++)
            end = now();
        second[r] = (end - start) / TIMER_READS;
    }
    lm_calibration_set(t->out, &t->out->machine.cpu.timer, second, REPEATS);
}

/* ---- all of it ---- */

static int make_rows(struct timing *t, struct lm_error *err)
{
    const struct lm_samples *train = &t->problem->train;
    size_t bytes = t->rows * LM_PIXELS * sizeof *t->x;
    t->x = lm_large(bytes);
    t->scores = lm_large(t->rows * LM_CLASSES * sizeof *t->scores);
    t->parameters = malloc(lm_network_floats(THE_SHAPE) * sizeof *t->parameters);
    if (!t->x || !t->scores || !t->parameters)
        return lm_fail_memory(err, bytes, "samples to be scored");
    for (size_t k = 0; k < t->rows; k++)
        memcpy(t->x + k * LM_PIXELS, train->x + k % train->n * LM_PIXELS, LM_PIXELS * sizeof *t->x);
    lm_network_initialise(THE_SHAPE, 1337, 0.05f, t->parameters);
    return LM_OK;
}

int lm_calibrate_cpu(const struct lm_problem *problem, int threads, struct lm_calibration *out, struct lm_error *err)
{
    struct lm_problem single = *problem, several = *problem;
    struct lm_error why;
    single.threads = 1;
    several.threads = threads > 0 ? threads : 1;
    struct timing t = {.problem = &single, .threaded = several, .out = out, .rows = ROWS * (size_t)several.threads};
    t.rows = t.rows > FAR_ROWS ? t.rows : FAR_ROWS;
    if (problem->train.n == 0)
        return lm_fail(err, LM_BAD_INPUT, "there are no training samples to calibrate with");
    out->machine.cpu.cores = several.threads;
    lm_machine_cpu_name(out->machine.key.cpu, sizeof out->machine.key.cpu);
    int code = make_rows(&t, err);
    double start = now(), had = processor();
    for (int way = 0; way < LM_CPU_WAYS && code == LM_OK; way++) {
        const struct lm_backend *backend = lm_calibrate_backend(lm_cpu_way_name(way));
        if (backend && backend->probe(&why) == LM_OK)
            code = measure_way(&t, backend, way, err);
    }
    out->had = (processor() - had) / (now() - start);
    int way = lm_fastest_cpu(out->machine.cpu.train);
    if (code == LM_OK)
        code = measure_stream(&t, lm_calibrate_backend(lm_cpu_way_name(way)), way, err);
    if (code == LM_OK)
        code = measure_all(&t, lm_calibrate_backend(lm_cpu_way_name(way)), way, err);
    if (code == LM_OK)
        code = measure_memory(&t, err);
    measure_timer(&t);
    free(t.x);
    free(t.scores);
    free(t.parameters);
    return code;
}
