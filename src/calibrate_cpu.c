/* calibrate_cpu.c: the processor's part of a calibration. See calibrate.h.
 *
 * A core is not always as fast: its clock changes, and on a machine that others use, too, its neighbours have their
 * part of it, for seconds at a time, and not of every core. So nothing is measured nine times in a row: a round
 * measures every number once, one way after the other, on another core than the last one, and the medians are over
 * rounds that lie as far apart as the calibration lasts.
 */
#include "calibrate.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cost.h"
#include "large.h"
#include "model_predict.h"

#define REPEATS     9
#define ROUNDS      15
#define NUMBERS     32
#define ROWS        32768 /* scored at once by one core: a millisecond and more */
#define SLOW_ROWS   2048
#define FAR_ROWS    262144 /* 83 MB with their scores: beyond a core's caches */
#define SCORINGS    3
#define CALLS       200 /* of a batch of one sample */
#define STARTS      20  /* of threads */
#define COPY_BYTES  ((size_t)32 << 20)
#define TIMER_READS 10000
#define THE_SHAPE   ((struct lm_shape){32, 16})

/* A number of the machine, as the rounds measured it. */
struct series {
    double *at;
    double value[ROUNDS];
    int n;
};

struct rounds {
    struct lm_problem single, threaded; /* the same, with one thread and with all */
    struct lm_calibration *out;
    const struct lm_backend *backend[LM_CPU_WAYS];
    void *session[LM_CPU_WAYS]; /* NULL: not on this processor */
    int fastest;                /* way */
    void *all;                  /* session of the fastest, with all threads */
    float *x, *scores, *parameters;
    size_t rows;
    int done;         /* rounds */
    double wall, had; /* s of one core's part, and what of it the process had a processor */
    struct series series[NUMBERS];
    int numbers;
};

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

static void note(struct rounds *c, double *at, double value)
{
    int k = 0;
    while (k < c->numbers && c->series[k].at != at)
        k++;
    if (k == NUMBERS)
        return;
    if (k == c->numbers)
        c->series[c->numbers++] = (struct series){.at = at};
    struct series *s = &c->series[k];
    if (s->n < ROUNDS)
        s->value[s->n++] = value;
}

/* ---- one way, once ---- */

static int is_slow(int way)
{
    return way == LM_CPU_REF || way == LM_CPU_PORTABLE;
}

/* So many epochs that a training of few samples takes as long as one of the real set. */
static uint32_t epochs_for(const struct rounds *c, int slow)
{
    const size_t usual = 3532, n = c->single.train.n;
    return 1 + (slow ? 1 : 8) * (uint32_t)(n < usual ? (usual + n - 1) / n : 1);
}

/* FLOP/s of so many trainings at once. once: s, what is done once; NULL: not asked. */
static int time_training(const struct rounds *c, int way, void *session, struct lm_shape shape, size_t n, double *rate,
                         double *once, struct lm_error *err)
{
    double step = 0.0;
    int code = lm_calibrate_step(c->backend[way], session, &c->single, shape, n, epochs_for(c, is_slow(way)), &step,
                                 once, err);
    *rate = (double)n * lm_cost_step(shape).flops / (step > 1e-15 ? step : 1e-15);
    return code;
}

/* Seconds of a batch of n, after one that does not count. */
static int time_scoring(const struct rounds *c, int way, void *session, size_t n, int calls, double *second,
                        struct lm_error *err)
{
    int code = c->backend[way]->infer(session, THE_SHAPE, c->parameters, c->x, n, c->scores, err);
    double start = now();
    for (int k = 0; k < calls && code == LM_OK; k++)
        code = c->backend[way]->infer(session, THE_SHAPE, c->parameters, c->x, n, c->scores, err);
    *second = (now() - start) / calls;
    *second = *second > 1e-12 ? *second : 1e-12;
    return code;
}

/* Shapes that no code is made for. The portable way, where it is not the fastest, emulates each multiply-add: nobody
 * would train by it, and it takes long. */
static int measure_shapes(struct rounds *c, int way, struct lm_error *err)
{
    struct lm_machine *m = &c->out->machine;
    double small = 0.0, wide = 0.0;
    if (way == LM_CPU_PORTABLE && c->fastest != way)
        return LM_OK;
    int code = time_training(c, way, c->session[way], LM_SMALL_SHAPE, 1, &small, NULL, err);
    if (code == LM_OK)
        code = time_training(c, way, c->session[way], LM_WIDE_SHAPE, 1, &wide, NULL, err);
    note(c, &m->cpu.train_small[way], small);
    note(c, &m->cpu.train_wide[way], wide);
    return code;
}

static int measure_way(struct rounds *c, int way, struct lm_error *err)
{
    struct lm_machine *m = &c->out->machine;
    const size_t rows = is_slow(way) ? SLOW_ROWS : ROWS;
    double train = 0.0, once = 0.0, batch = 1.0, call = 0.0;
    int code = time_training(c, way, c->session[way], THE_SHAPE, 1, &train, &once, err);
    if (code == LM_OK)
        code = time_scoring(c, way, c->session[way], rows, SCORINGS, &batch, err);
    note(c, &m->cpu.train[way], train);
    note(c, &m->cpu.infer[way], (double)rows * lm_cost_infer(THE_SHAPE).flops / batch);
    if (code == LM_OK && way == c->fastest) {
        code = time_scoring(c, way, c->session[way], 1, CALLS, &call, err);
        note(c, &m->cpu.call, call); /* of one sample: `finish` takes its arithmetic off */
        note(c, &m->cpu.training, once);
    }
    return code == LM_OK ? measure_shapes(c, way, err) : code;
}

/* ---- large batches, all cores ---- */

static void *do_nothing(void *context)
{
    return context;
}

/* Seconds of starting so many threads and waiting for them. */
static int time_threads(int threads, double *second, struct lm_error *err)
{
    pthread_t thread[1024];
    int all = 1, most = threads < 1024 ? threads : 1024;
    double start = now();
    for (int k = 0; k < STARTS && all; k++) {
        int started = 0;
        while (started < most && pthread_create(&thread[started], NULL, do_nothing, NULL) == 0)
            started++;
        all = started == most;
        while (started > 0)
            pthread_join(thread[--started], NULL);
    }
    *second = (now() - start) / STARTS;
    return all ? LM_OK : lm_fail(err, LM_FAILED, "a thread to be timed could not be started");
}

static int measure_threads(struct rounds *c, struct lm_error *err)
{
    struct lm_machine *m = &c->out->machine;
    const int others = c->threaded.threads - 1;
    double one = 0.0, all = 0.0;
    int code = time_threads(1, &one, err);
    if (code == LM_OK && others > 1)
        code = time_threads(others, &all, err);
    note(c, &m->cpu.thread, one);
    if (others > 1)
        note(c, &m->cpu.thread_more, all > one ? (all - one) / (others - 1) : 0.0);
    return code;
}

/* By the fastest way. What is noted is turned into the machine's numbers by `finish`. A batch far larger than the
 * caches, by one core: */
static int measure_far(struct rounds *c, struct lm_error *err)
{
    double far = 0.0;
    int code = time_scoring(c, c->fastest, c->session[c->fastest], FAR_ROWS, 1, &far, err);
    note(c, &c->out->machine.cpu.stream, far);
    return code;
}

/* By all cores as many trainings as threads, and a batch as many times as large. */
static int measure_all(struct rounds *c, struct lm_error *err)
{
    struct lm_machine *m = &c->out->machine;
    const size_t threads = (size_t)c->threaded.threads;
    double train = 0.0, batch = 1.0;
    int code = time_training(c, c->fastest, c->all, THE_SHAPE, threads, &train, NULL, err);
    note(c, &m->cpu.train_all, train);
    if (code == LM_OK)
        code = time_scoring(c, c->fastest, c->all, ROWS * threads, 1, &batch, err);
    note(c, &m->cpu.infer_all, batch);
    return code == LM_OK ? measure_threads(c, err) : code;
}

/* ---- memory and the clock ---- */

struct copier {
    char *memory; /* two halves of COPY_BYTES */
    pthread_t thread;
};

static void *copy_once(void *context)
{
    struct copier *own = context;
    memcpy(own->memory, own->memory + COPY_BYTES, COPY_BYTES);
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

static int measure_memory(struct rounds *c, struct lm_error *err)
{
    const int threads = c->threaded.threads;
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
        lm_calibration_set(c->out, &c->out->machine.cpu.memory, one, REPEATS);
        lm_calibration_set(c->out, &c->out->machine.cpu.memory_all, all, REPEATS);
    }
    for (int k = 0; k < threads && copier; k++)
        free(copier[k].memory);
    free(copier);
    return code;
}

static void measure_timer(struct rounds *c)
{
    double second[REPEATS], end = 0.0;
    for (int r = 0; r < REPEATS; r++) {
        double start = now();
        for (int k = 0; k < TIMER_READS; k++)
            end = now();
        second[r] = (end - start) / TIMER_READS;
    }
    lm_calibration_set(c->out, &c->out->machine.cpu.timer, second, REPEATS);
}

/* ---- all of it ---- */

static int make_rows(struct rounds *c, struct lm_error *err)
{
    const struct lm_samples *train = &c->single.train;
    size_t bytes = c->rows * LM_PIXELS * sizeof *c->x;
    c->x = lm_large(bytes);
    c->scores = lm_large(c->rows * LM_CLASSES * sizeof *c->scores);
    c->parameters = malloc(lm_network_floats(THE_SHAPE) * sizeof *c->parameters);
    if (!c->x || !c->scores || !c->parameters)
        return lm_fail_memory(err, bytes, "samples to be scored");
    for (size_t k = 0; k < c->rows; k++)
        memcpy(c->x + k * LM_PIXELS, train->x + k % train->n * LM_PIXELS, LM_PIXELS * sizeof *c->x);
    lm_network_initialise(THE_SHAPE, 1337, 0.05f, c->parameters);
    return LM_OK;
}

/* The ways that this processor has, each tried once: which is the fastest, and the first time does not count. */
static int open_ways(struct rounds *c, struct lm_error *err)
{
    struct lm_error why;
    double most = 0.0, rate = 0.0;
    int code = LM_OK;
    for (int way = 0; way < LM_CPU_WAYS && code == LM_OK; way++) {
        c->backend[way] = lm_calibrate_backend(lm_cpu_way_name(way));
        if (!c->backend[way] || c->backend[way]->probe(&why) != LM_OK)
            continue;
        code = c->backend[way]->open(&c->single, &c->session[way], err);
        if (code == LM_OK)
            code = time_training(c, way, c->session[way], THE_SHAPE, 1, &rate, NULL, err);
        if (rate > most)
            c->fastest = way;
        most = rate > most ? rate : most;
    }
    return code == LM_OK ? c->backend[c->fastest]->open(&c->threaded, &c->all, err) : code;
}

static void close_all(struct rounds *c)
{
    for (int way = 0; way < LM_CPU_WAYS; way++)
        if (c->session[way])
            c->backend[way]->close(c->session[way]);
    if (c->all)
        c->backend[c->fastest]->close(c->all);
    free(c->x);
    free(c->scores);
    free(c->parameters);
    free(c);
}

/* This thread alone, to one of the cores that it may use: as many of them as there are rounds, spread over all. A
 * system that does not allow it leaves it where it is. */
static void take_core(const cpu_set_t *all, int round)
{
    const int cores = CPU_COUNT(all),
              wanted = cores > ROUNDS ? round * cores / ROUNDS : round % (cores > 0 ? cores : 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0, k = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, all) && k++ == wanted)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* The slow ways take most of a round's time, and every third one has them. */
static int one_core(struct rounds *c, struct lm_error *err)
{
    double start = now(), had = processor();
    int code = LM_OK;
    for (int way = 0; way < LM_CPU_WAYS && code == LM_OK; way++)
        if (c->session[way] && (way == c->fastest || !is_slow(way) || c->done % 3 == 0))
            code = measure_way(c, way, err);
    c->wall += now() - start;
    c->had += processor() - had;
    return code == LM_OK ? measure_far(c, err) : code;
}

static int one_round(struct rounds *c, struct lm_error *err)
{
    cpu_set_t all; /* threads may use what the thread may that starts them */
    int known = sched_getaffinity(0, sizeof all, &all) == 0;
    if (known)
        take_core(&all, c->done);
    int code = one_core(c, err);
    if (known && sched_setaffinity(0, sizeof all, &all) != 0 && code == LM_OK)
        code = lm_fail(err, LM_FAILED, "the cores that this process may use could not be had back after measuring one");
    c->done++;
    return code == LM_OK ? measure_all(c, err) : code;
}

/* The medians; then those that are ratios and differences of what was measured. */
static void finish(struct rounds *c)
{
    struct lm_machine *m = &c->out->machine;
    const struct lm_cost cost = lm_cost_infer(THE_SHAPE);
    const double threads = c->threaded.threads;
    for (int k = 0; k < c->numbers; k++)
        lm_calibration_set(c->out, c->series[k].at, c->series[k].value, c->series[k].n);
    double rate = m->cpu.infer[c->fastest], more = m->cpu.stream - FAR_ROWS * cost.flops / rate;
    m->cpu.stream = (FAR_ROWS * (cost.bytes_in + cost.bytes_out) - LM_CACHED_BYTES) / (more > 1e-6 ? more : 1e-6);
    double arithmetic = lm_cpu_batch((enum lm_cpu_way)c->fastest) * cost.flops / rate;
    m->cpu.call = m->cpu.call > arithmetic ? m->cpu.call - arithmetic : 0.0;
    m->cpu.train_all = fmin(m->cpu.train_all / m->cpu.train[c->fastest], threads);
    double batch = m->cpu.infer_all - lm_time_threads(m, threads);
    batch = batch > 0.5 * m->cpu.infer_all ? batch : 0.5 * m->cpu.infer_all; /* threads that start beside the work */
    m->cpu.infer_all = fmin(threads * ROWS * cost.flops / rate / batch, threads);
}

static int begin(struct rounds *c, struct lm_error *err)
{
    struct lm_machine *m = &c->out->machine;
    c->rows = (size_t)ROWS * (size_t)c->threaded.threads;
    c->rows = c->rows > FAR_ROWS ? c->rows : FAR_ROWS;
    m->cpu.cores = c->threaded.threads;
    lm_machine_cpu_name(m->key.cpu, sizeof m->key.cpu);
    int code = make_rows(c, err);
    return code == LM_OK ? open_ways(c, err) : code;
}

int lm_calibrate_cpu(const struct lm_problem *problem, int threads, lm_calibrate_between between, void *context,
                     struct lm_calibration *out, struct lm_error *err)
{
    struct rounds *c = calloc(1, sizeof *c);
    if (!c)
        return lm_fail_memory(err, sizeof *c, "a calibration");
    c->single = c->threaded = *problem;
    c->single.threads = 1;
    c->threaded.threads = threads > 0 ? threads : 1;
    c->out = out;
    int code = problem->train.n > 0 ? begin(c, err)
                                    : lm_fail(err, LM_BAD_INPUT, "there are no training samples to calibrate with");
    for (int k = 0; k < ROUNDS && code == LM_OK; k++) {
        if (k == ROUNDS / 2 && between)
            code = between(context, err);
        if (code == LM_OK)
            code = one_round(c, err);
    }
    if (code == LM_OK) {
        finish(c);
        out->had = c->had / c->wall;
        code = measure_memory(c, err);
        measure_timer(c);
    }
    close_all(c);
    return code;
}
