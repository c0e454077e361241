/* cpu_backend.c: the session of a CPU backend, and the tables: a path a table (simd.h), and cpu-ref.
 *
 * A session has as many threads as the problem allows. Trials are independent: each thread takes the next one not yet
 * taken, with a network of its own. Rows are independent: each thread scores a part. So no answer depends on the number
 * of threads. The calling thread works as well, and is the only one that calls the tick: when it finds no more trials
 * while others still train, it waits, and ticks. Threads live for one call: a training takes a thousand times as long
 * as starting a thread. They block all signals, which are the program's and meant for its own thread.
 *
 * A path that this processor lacks is in the list all the same, so that `info` names it and --device can say why not.
 *
 * Left out: binding threads to cores. A rank's cores are what its launcher bound it to, its threads inherit that;
 * memory is touched first by the thread that uses it, except the samples, which are small.
 */
#include "cpu_backend.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "crew.h"
#include "reference.h"
#include "simd.h"

/* A batch of fewer rows is scored sooner than threads are started. */
#define ROWS_A_THREAD 4096

struct session {
    const struct lm_cpu_kernels *kernels;
    const struct lm_problem *problem;
    size_t threads;
};

int lm_cpu_open(const struct lm_cpu_kernels *kernels, const struct lm_problem *problem, int threads, void **session,
                struct lm_error *err)
{
    struct session *new = malloc(sizeof *new);
    if (!new)
        return lm_fail_memory(err, sizeof *new, "a CPU session");
    *new = (struct session){kernels, problem,
                            threads < 1                 ? 1
                            : threads < LM_MOST_THREADS ? (size_t)threads
                                                        : LM_MOST_THREADS};
    *session = new;
    return LM_OK;
}

void lm_cpu_close(void *session)
{
    free(session);
}

/* With several threads some trials more than threads, so that they end together although trials differ. */
size_t lm_cpu_capacity(const void *session)
{
    const struct session *s = session;
    return s->threads > 1 ? 4 * s->threads : 1;
}

int lm_cpu_threads(int ranks)
{
#ifdef CPU_COUNT
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0 && ranks > 0 && CPU_COUNT(&mask) > ranks)
        return CPU_COUNT(&mask) / ranks;
#endif
    (void)ranks;
    return 1;
}

/* ---- threads ---- */

/* ---- training ---- */

/* What the threads of one call share. */
struct training {
    const struct session *session;
    const struct lm_trial *trial;
    struct lm_training_result *result;
    size_t n;
    struct lm_tick tick; /* the caller's, for its own thread */
    atomic_size_t next;  /* the first trial that nobody has taken */
    atomic_size_t busy;  /* other threads that are still at work */
    atomic_int stop;
    pthread_mutex_t lock;
    int code; /* of the first trial that failed; err is its message */
    struct lm_error *err;
};

static int others_tick(void *context)
{
    struct training *t = context;
    return atomic_load_explicit(&t->stop, memory_order_relaxed);
}

static int own_tick(void *context)
{
    struct training *t = context;
    if (!others_tick(t) && t->tick.call && t->tick.call(t->tick.context))
        atomic_store(&t->stop, 1);
    return others_tick(t);
}

static void failed(struct training *t, int code, const struct lm_error *err)
{
    pthread_mutex_lock(&t->lock);
    if (t->code == LM_OK) {
        t->code = code;
        *t->err = *err;
    }
    pthread_mutex_unlock(&t->lock);
    atomic_store(&t->stop, 1);
}

static void train_trials(struct training *t, struct lm_tick tick)
{
    struct lm_error err;
    size_t k;
    while (!others_tick(t) && (k = atomic_fetch_add(&t->next, 1)) < t->n) {
        int code = lm_train_one(t->session->kernels, t->session->problem, &t->trial[k], &t->result[k], tick, &err);
        if (code != LM_OK)
            failed(t, code, &err);
    }
}

static void *other_thread(void *context)
{
    struct training *t = context;
    train_trials(t, (struct lm_tick){others_tick, t});
    atomic_fetch_sub(&t->busy, 1);
    return NULL;
}

int lm_cpu_train(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                 struct lm_tick tick, struct lm_error *err)
{
    struct session *s = session;
    struct training t = {
        .session = s, .trial = trial, .result = result, .n = n, .tick = tick, .code = LM_OK, .err = err};
    const struct timespec millisecond = {0, 1000000};
    pthread_t thread[LM_MOST_THREADS];
    size_t others = (s->threads < n ? s->threads : n);
    others -= others > 0;
    pthread_mutex_init(&t.lock, NULL);
    atomic_store(&t.busy, others);
    size_t started = lm_threads_start(thread, others, other_thread, &t);
    atomic_fetch_sub(&t.busy, others - started);
    if (started > 0)
        own_tick(&t); /* the others may take all trials before this thread comes to one */
    train_trials(&t, (struct lm_tick){own_tick, &t});
    while (atomic_load(&t.busy) > 0) {
        nanosleep(&millisecond, NULL);
        own_tick(&t);
    }
    lm_threads_join(thread, started);
    pthread_mutex_destroy(&t.lock);
    if (t.code == LM_OK && others_tick(&t))
        return lm_fail(err, LM_STOPPED, "stopped");
    return t.code;
}

/* ---- inference ---- */

struct scoring {
    const struct session *session;
    struct lm_shape shape;
    const float *parameters, *x;
    float *scores;
    size_t n, part;     /* rows, and rows that a thread takes */
    atomic_size_t next; /* the first part that nobody has taken */
};

static void *score_parts(void *context)
{
    struct scoring *c = context;
    const struct lm_cpu_kernels *kernels = c->session->kernels;
    void *net = kernels->begin(c->shape);
    if (!net)
        return NULL;
    kernels->put(net, c->parameters);
    for (size_t first; (first = atomic_fetch_add(&c->next, c->part)) < c->n;) {
        size_t rows = c->n - first < c->part ? c->n - first : c->part;
        kernels->infer(net, c->x + first * LM_PIXELS, rows, c->scores + first * LM_CLASSES);
    }
    kernels->end(net);
    return NULL;
}

int lm_cpu_infer(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n, float *scores,
                 struct lm_error *err)
{
    const struct session *s = session;
    struct scoring c = {.session = s, .shape = shape, .parameters = parameters, .x = x, .scores = scores, .n = n};
    pthread_t thread[LM_MOST_THREADS];
    size_t threads = n / ROWS_A_THREAD < s->threads ? n / ROWS_A_THREAD : s->threads;
    threads += threads == 0;
    c.part = threads == 1 ? n : ROWS_A_THREAD;
    size_t started = lm_threads_start(thread, threads - 1, score_parts, &c);
    score_parts(&c);
    lm_threads_join(thread, started);
    if (atomic_load(&c.next) < n) /* a thread without a network is no fault, as long as another had one */
        return lm_fail_memory(err, lm_network_floats(shape) * sizeof(float), "a network");
    return LM_OK;
}

/* ---- the tables ---- */

static const struct lm_cpu_kernels *reference_kernels(void)
{
#ifdef LM_HAVE_REFERENCE_FMA
    if (__builtin_cpu_supports("fma"))
        return &lm_reference_fma;
#endif
    return &lm_reference_plain;
}

static int open_reference(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(reference_kernels(), problem, 1, session, err);
}

static int always_there(struct lm_error *err)
{
    (void)err;
    return LM_OK;
}

static int open_portable(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(&lm_simd_portable, problem, problem->threads, session, err);
}

#ifdef LM_HAVE_SIMD_X86

static int probe_avx2(struct lm_error *err)
{
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return LM_OK;
    return lm_fail(err, LM_UNAVAILABLE, "this processor, or its operating system, has no AVX2 or no FMA");
}

static int probe_avx512(struct lm_error *err)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return LM_OK;
    return lm_fail(err, LM_UNAVAILABLE, "this processor, or its operating system, has no AVX-512");
}

static int open_avx2(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(&lm_simd_avx2, problem, problem->threads, session, err);
}

static int open_avx512(const struct lm_problem *problem, void **session, struct lm_error *err)
{
    return lm_cpu_open(&lm_simd_avx512, problem, problem->threads, session, err);
}

#else

static int no_x86(struct lm_error *err)
{
    return lm_fail(err, LM_UNAVAILABLE, "AVX2 and AVX-512 are for x86-64, and this is another processor");
}

#define probe_avx2   no_x86
#define probe_avx512 no_x86
#define open_avx2    open_portable /* never called */
#define open_avx512  open_portable

#endif

#define CPU_BACKEND(label, what, probing, opening)                                                                     \
    {                                                                                                                  \
        .name = label, .summary = what, .probe = probing, .open = opening, .close = lm_cpu_close,                      \
        .capacity = lm_cpu_capacity, .continues = 1, .train = lm_cpu_train, .infer = lm_cpu_infer,                     \
    }

const struct lm_backend lm_backend_cpu_avx512 =
    CPU_BACKEND("cpu:avx512", "16 floats a vector, for x86 with AVX-512F", probe_avx512, open_avx512);
const struct lm_backend lm_backend_cpu_avx2 =
    CPU_BACKEND("cpu:avx2", "8 floats a vector, for x86 with AVX2 and FMA", probe_avx2, open_avx2);
const struct lm_backend lm_backend_cpu_portable =
    CPU_BACKEND("cpu:portable", "4 floats a vector, for processors without AVX2 (x86 emulates the fused multiply-add)",
                always_there, open_portable);
const struct lm_backend lm_backend_cpu_ref =
    CPU_BACKEND("cpu-ref", "the arithmetic's definition as a plain C loop, one core", always_there, open_reference);
