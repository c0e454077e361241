/* gpu_bits.c: every GPU backend of this build against cpu-ref, bit for bit. Needs a GPU and the library, nothing else.
 *
 *   gpu_bits [--small] [--scores] [--time] [NAME...]     NAME: gpu:batch, ...; none: all
 *
 * Speaks TAP, a line a backend and a shape; ends 1 if any bit differs. --small: little work, for compute-sanitizer;
 * --scores: no training.
 * --time: no comparison but times, on as many made samples as the lab's data has (medians of 5; to look at, not to
 * quote).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu_backend.h"
#include "gpu.h"
#include "kernels.h"
#include "random.h"

struct test {
    int small;
    int results, failures;
    struct lm_problem problem;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *memory)
{
    if (!memory) {
        puts("Bail out! out of memory");
        exit(1);
    }
    return memory;
}

static void report(struct test *test, int ok, const char *backend, const char *what, const char *why)
{
    test->results++;
    test->failures += !ok;
    printf("%sok %d - %s: %s%s%s\n", ok ? "" : "not ", test->results, backend, what, *why ? ": " : "", why);
    fflush(stdout);
}

/* ---- made data ---- */

static void fill(float *x, size_t n, uint32_t seed, float range)
{
    struct lm_mt19937 generator;
    lm_mt19937_seed(&generator, seed);
    for (size_t k = 0; k < n; k++) {
        uint32_t kind = lm_draw_below(&generator, 32);
        x[k] = kind == 0 ? -0.0f : kind == 1 ? 1e-40f : lm_draw_uniform(&generator, -range, range);
    }
}

static void make_problem(struct test *test, size_t n)
{
    struct lm_error err;
    struct lm_samples *train = &test->problem.train;
    if (lm_samples_allocate(n, train, &err) != LM_OK)
        must(NULL);
    fill(train->x, n * LM_PIXELS, 3, 2.0f);
    for (size_t k = 0; k < n; k++) {
        train->label[k] = (uint8_t)(k * 7 % LM_CLASSES);
        train->x[k * LM_PIXELS + train->label[k]] += 3.0f; /* something to learn */
    }
    for (int c = 0; c < LM_CLASSES; c++)
        test->problem.count[c] = n / LM_CLASSES + (uint64_t)c;
}

/* ---- training ---- */

struct trained {
    struct lm_training_result result;
    double loss[64];
    float parameters[LM_MAX_HIDDEN * (LM_PIXELS + LM_MAX_HIDDEN + LM_CLASSES + 2) + LM_CLASSES];
};

static struct trained *room(size_t n)
{
    struct trained *t = must(calloc(n, sizeof *t));
    for (size_t k = 0; k < n; k++) {
        t[k].result.loss = t[k].loss;
        t[k].result.parameters = t[k].parameters;
    }
    return t;
}

/* The reference's own arrays are handed over one by one: results need not lie side by side. */
static int train(const struct lm_backend *backend, struct test *test, const struct lm_trial *trial, size_t n,
                 struct trained *out, struct lm_error *err)
{
    void *session = NULL;
    struct lm_tick no_tick = {NULL, NULL};
    struct lm_training_result *result = must(calloc(n, sizeof *result));
    for (size_t k = 0; k < n; k++)
        result[k] = out[k].result;
    int code = backend->open(&test->problem, &session, err);
    if (code == LM_OK) {
        code = backend->train(session, trial, n, result, no_tick, err);
        backend->close(session);
    }
    for (size_t k = 0; k < n; k++)
        out[k].result = result[k];
    free(result);
    return code;
}

static int same(const struct lm_trial *trial, const struct trained *a, const struct trained *b)
{
    return a->result.status == b->result.status && a->result.epochs_run == b->result.epochs_run &&
           strcmp(a->result.reason, b->result.reason) == 0 &&
           memcmp(a->loss, b->loss, a->result.epochs_run * sizeof *a->loss) == 0 &&
           (a->result.status != LM_TRIAL_OK ||
            memcmp(a->parameters, b->parameters, lm_network_floats(trial->shape) * sizeof(float)) == 0);
}

static size_t blocks_of(const struct test *test, const struct lm_backend *backend, struct lm_shape shape,
                        uint32_t block[32])
{
    static const uint32_t few[] = {32, 96, 128, 256, 512, 1024};
    int every = shape.hidden1 == 32 && strstr(backend->name, "naive") == NULL && !test->small;
    size_t n = every ? 32 : test->small ? 3 : sizeof few / sizeof *few;
    for (size_t k = 0; k < n; k++)
        block[k] = every ? 32 * (uint32_t)(k + 1) : test->small ? few[2 * k + 1] : few[k];
    return n;
}

static struct lm_trial trial_of(struct lm_shape shape, uint32_t block)
{
    return (struct lm_trial){0.02f, 0.875f, 0.1f, 3, 1337, block, shape};
}

static void test_shape(struct test *test, const struct lm_backend *backend, struct lm_shape shape)
{
    struct lm_trial trial[32];
    struct lm_error err = {0};
    uint32_t block[32];
    char what[80], network[LM_SHAPE_TEXT], why[200] = "";
    size_t n = blocks_of(test, backend, shape, block), wrong = 0;
    struct trained *wanted = room(1), *got = room(n);
    struct lm_gpu_layout layout = lm_gpu_layout_of(shape);
    for (size_t k = 0; k < n; k++)
        trial[k] = trial_of(shape, block[k]);
    int code = train(&lm_backend_cpu_ref, test, trial, 1, wanted, &err);
    if (code == LM_OK)
        code = train(backend, test, trial, n, got, &err);
    for (size_t k = 0; k < n && code == LM_OK; k++)
        if (!same(&trial[k], wanted, &got[k]) && wrong++ == 0)
            snprintf(why, sizeof why, "block %u: %s %.100s", block[k], lm_trial_status_text(got[k].result.status),
                     got[k].result.reason);
    lm_shape_text(shape, network);
    snprintf(what, sizeof what, "train %s, %zu block sizes, %u bytes a block", network, n,
             lm_gpu_training_bytes_of(&layout));
    report(test, code == LM_OK && wrong == 0, backend->name, what, code == LM_OK ? why : err.text);
    free(wanted);
    free(got);
}

/* Among good trials one that diverges and one that cannot be: the others are not touched by it. */
static void test_mixture(struct test *test, const struct lm_backend *backend)
{
    struct lm_shape shape = {7, 15};
    struct lm_trial trial[5];
    struct lm_error err = {0};
    struct trained *wanted = room(5), *got = room(5);
    for (int k = 0; k < 5; k++)
        trial[k] = trial_of(shape, 64);
    trial[1].learning_rate = 0.1f;
    trial[1].decay = 1.6f;
    trial[1].epochs = 40;
    trial[2].block = 48;
    trial[3].initial_range = INFINITY; /* weights that are not finite from the start */
    int code = train(&lm_backend_cpu_ref, test, trial, 5, wanted, &err);
    if (code == LM_OK)
        code = train(backend, test, trial, 5, got, &err);
    int ok = code == LM_OK && wanted[1].result.status == LM_TRIAL_DIVERGED && wanted[1].result.epochs_run > 0;
    for (int k = 0; k < 5; k++)
        ok = ok && (k == 2 || same(&trial[k], &wanted[k], &got[k]));
    ok = ok && got[2].result.status == LM_TRIAL_FAILED && strstr(got[2].result.reason, "48 threads");
    report(test, ok, backend->name, "one trial diverges, one is refused, the others go on", err.text);
    free(wanted);
    free(got);
}

/* The shapes whose block needs just under, exactly and just over 48 KiB. The one in the middle may not exist. */
static size_t shapes_at_48_kib(struct lm_shape shape[3])
{
    uint32_t below = 0, above = UINT32_MAX;
    struct lm_shape exact = {0, 0};
    for (uint32_t h1 = 1; h1 <= LM_MAX_HIDDEN; h1++)
        for (uint32_t h2 = 1; h2 <= LM_MAX_HIDDEN; h2++) {
            struct lm_shape s = {h1, h2};
            struct lm_gpu_layout layout = lm_gpu_layout_of(s);
            uint32_t bytes = lm_gpu_training_bytes_of(&layout);
            if (bytes == 48 * 1024)
                exact = s;
            if (bytes < 48 * 1024 && bytes > below) {
                below = bytes;
                shape[0] = s;
            }
            if (bytes > 48 * 1024 && bytes < above) {
                above = bytes;
                shape[1] = s;
            }
        }
    shape[2] = exact;
    return exact.hidden1 ? 3 : 2;
}

/* Thousands at once: every one its own rate, decay, range, epochs and seed, some of them diverging, against the fastest
 * CPU backend, which has the reference's bits. */
static void test_many(struct test *test, const struct lm_backend *backend)
{
    const size_t n = test->small ? 40 : 3000;
    const struct lm_backend *cpu;
    struct lm_error err;
    struct lm_trial *trial = must(calloc(n, sizeof *trial));
    struct trained *a = room(n), *b = room(n);
    size_t differ = 0, diverged = 0;
    for (size_t k = 0; k < n; k++) {
        trial[k] = trial_of((struct lm_shape){32, 16}, 32);
        trial[k].learning_rate = k % 50 == 7 ? 50.0f : 0.001f + 0.00001f * (float)(k % 1000);
        trial[k].decay = k % 3 ? 1.0f : 0.5f;
        trial[k].initial_range = 0.01f + 0.01f * (float)(k % 9);
        trial[k].epochs = 1 + (uint32_t)(k % 4);
        trial[k].seed = (uint32_t)(k * 2654435761u);
    }
    int code = lm_backend_find("cpu", &cpu, &err);
    if (code == LM_OK)
        code = train(cpu, test, trial, n, a, &err);
    if (code == LM_OK)
        code = train(backend, test, trial, n, b, &err);
    for (size_t k = 0; k < n && code == LM_OK; k++) {
        differ += !same(&trial[k], &a[k], &b[k]);
        diverged += b[k].result.status == LM_TRIAL_DIVERGED;
    }
    char what[100];
    snprintf(what, sizeof what, "%zu replicas at once, %zu of them diverge", n, diverged);
    report(test, code == LM_OK && differ == 0 && diverged > 0, backend->name, what, code == LM_OK ? "" : err.text);
    free(trial);
    free(a);
    free(b);
}

static void test_training(struct test *test, const struct lm_backend *backend)
{
    static const struct lm_shape all[] = {{1, 1}, {5, 3}, {7, 15}, {32, 16}, {33, 17}, {64, 32}, {128, 128}};
    static const struct lm_shape few[] = {{5, 3}, {32, 16}, {33, 17}};
    size_t n = test->small ? sizeof few / sizeof *few : sizeof all / sizeof *all;
    for (size_t k = 0; k < n; k++)
        test_shape(test, backend, test->small ? few[k] : all[k]);
    if (!test->small && strstr(backend->name, "gpu:naive") == NULL) {
        struct lm_shape edge[3];
        for (size_t k = shapes_at_48_kib(edge); k > 0; k--)
            test_shape(test, backend, edge[k - 1]);
    }
    test_mixture(test, backend);
    if (strcmp(backend->name, "gpu:fast") == 0)
        test_many(test, backend);
}

/* ---- scoring ---- */

static void test_scores(struct test *test, const struct lm_backend *backend, struct lm_shape shape, size_t n)
{
    struct lm_error err = {0};
    void *session = NULL, *reference = NULL;
    char what[80], network[LM_SHAPE_TEXT];
    float *x = must(malloc((n + 1) * LM_PIXELS * sizeof *x)), *parameters = must(malloc(sizeof(struct trained)));
    float *wanted = must(calloc(n + 1, LM_CLASSES * sizeof *wanted)),
          *got = must(calloc(n + 1, LM_CLASSES * sizeof *got));
    fill(x, n * LM_PIXELS, 5, 3.0f);
    fill(parameters, lm_network_floats(shape), 6, 0.5f);
    if (n > 0)
        x[n * LM_PIXELS - 1] = INFINITY;
    if (n > 20)
        x[20 * LM_PIXELS + 3] = NAN;
    int code = lm_backend_cpu_ref.open(&test->problem, &reference, &err);
    if (code == LM_OK)
        code = lm_backend_cpu_ref.infer(reference, shape, parameters, x, n, wanted, &err);
    if (code == LM_OK && (code = backend->open(&test->problem, &session, &err)) == LM_OK) {
        code = backend->infer(session, shape, parameters, x, n, got, &err);
        if (code == LM_OK) /* once more, with buffers that have been used */
            code = backend->infer(session, shape, parameters, x, n, got, &err);
        backend->close(session);
    }
    lm_backend_cpu_ref.close(reference);
    lm_shape_text(shape, network);
    snprintf(what, sizeof what, "score %zu samples, %s", n, network);
    report(test, code == LM_OK && memcmp(wanted, got, n * LM_CLASSES * sizeof *got) == 0, backend->name, what,
           err.text);
    free(x);
    free(parameters);
    free(wanted);
    free(got);
}

static void test_scoring(struct test *test, const struct lm_backend *backend)
{
    static const struct lm_shape shape[] = {{32, 16}, {1, 1}, {33, 17}, {128, 128}};
    static const size_t count[] = {0, 1, 33, 64, 1000, 5003};
    for (size_t s = 0; s < (test->small ? 1 : sizeof shape / sizeof *shape); s++)
        for (size_t k = 0; k < (test->small ? 3 : sizeof count / sizeof *count); k++)
            test_scores(test, backend, shape[s], count[k]);
    /* More than one part of a batch. */
    if (!test->small && strchr(backend->name, '+'))
        test_scores(test, backend, shape[0], (1 << 16) + 3);
    if (!test->small && strcmp(backend->name, "gpu:fast") == 0)
        test_scores(test, backend, shape[0], (1 << 20) + 67);
}

/* ---- scoring from all kinds of memory ---- */

#define GUARD 64 /* words behind the scores that nobody may touch */

enum memory { PLAIN, PINNED, SHIFTED, KINDS_OF_MEMORY }; /* SHIFTED: pinned, and aligned to 4 bytes alone */

static const char *const memory_name[] = {"plain memory", "pinned memory", "pinned memory, not aligned"};

static void *take(enum memory kind, size_t bytes)
{
    char *memory = must(kind == PLAIN ? malloc(bytes) : lm_gpu_pinned(bytes + 4));
    return kind == SHIFTED ? memory + 4 : memory;
}

static void drop(enum memory kind, void *memory)
{
    if (kind == PLAIN)
        free(memory);
    else
        lm_gpu_unpin(kind == SHIFTED ? (char *)memory - 4 : memory);
}

struct batch {
    size_t n;
    struct lm_shape shape;
    float *parameters[2]; /* two networks: a session must not mistake one for the other */
    float *x, *wanted[2];
    uint8_t *pixel;
    float (*grey)[256];
};

/* The wanted scores are the CPU's fastest path's, which the unit tests compare with cpu-ref. */
static struct batch make_batch(struct test *test, struct lm_shape shape, size_t n, int grey)
{
    struct batch b = {.n = n, .shape = shape};
    const struct lm_backend *cpu;
    struct lm_error err = {0};
    void *session;
    b.x = must(malloc((n + 1) * LM_PIXELS * sizeof *b.x));
    b.pixel = must(malloc((n + 1) * LM_PIXELS));
    b.grey = must(malloc(LM_PIXELS * sizeof *b.grey));
    fill(b.x, n * LM_PIXELS, 5, 3.0f);
    fill(b.grey[0], LM_PIXELS * 256, 7, 3.0f);
    for (size_t k = 0; k < n * LM_PIXELS; k++) {
        b.pixel[k] = (uint8_t)(k * 2654435761u >> 11);
        if (grey)
            b.x[k] = b.grey[k % LM_PIXELS][b.pixel[k]];
    }
    if (n > 20 && !grey)
        b.x[20 * LM_PIXELS + 3] = NAN;
    if (lm_backend_find("cpu", &cpu, &err) != LM_OK || cpu->open(&test->problem, &session, &err) != LM_OK)
        must(NULL);
    for (int k = 0; k < 2; k++) {
        b.parameters[k] = must(malloc(sizeof(struct trained)));
        b.wanted[k] = must(malloc((n + 1) * LM_CLASSES * sizeof(float)));
        fill(b.parameters[k], lm_network_floats(shape), 6 + (uint32_t)k, 0.5f);
        if (cpu->infer(session, shape, b.parameters[k], b.x, n, b.wanted[k], &err) != LM_OK)
            must(NULL);
    }
    cpu->close(session);
    return b;
}

static void free_batch(struct batch *b)
{
    for (int k = 0; k < 2; k++) {
        free(b->parameters[k]);
        free(b->wanted[k]);
    }
    free(b->x);
    free(b->pixel);
    free(b->grey);
}

/* Both networks in turn, in one session. */
static int same_from(const struct batch *b, const struct lm_backend *backend, void *session, enum memory in,
                     enum memory out, int grey, struct lm_error *err)
{
    const size_t words = b->n * LM_CLASSES, bytes = b->n * LM_PIXELS * (grey ? 1 : sizeof(float));
    void *from = take(in, bytes + 1);
    float *scores = take(out, (words + GUARD) * sizeof *scores);
    int ok = 1;
    memcpy(from, grey ? (const void *)b->pixel : (const void *)b->x, bytes);
    for (int k = 0; k < (b->n > 1000000 ? 2 : 4) && ok; k++) {
        const float *parameters = b->parameters[k % 2];
        memset(scores, 0xa5, (words + GUARD) * sizeof *scores);
        int code = grey ? backend->infer_grey(session, b->shape, parameters, (const float(*)[256])b->grey, from, b->n,
                                              scores, err)
                        : backend->infer(session, b->shape, parameters, from, b->n, scores, err);
        ok = code == LM_OK && memcmp(scores, b->wanted[k % 2], words * sizeof *scores) == 0;
        for (size_t g = words * sizeof *scores; g < (words + GUARD) * sizeof *scores && ok; g++)
            ok = ((unsigned char *)scores)[g] == 0xa5;
    }
    drop(in, from);
    drop(out, scores);
    return ok;
}

static void test_memory(struct test *test, const struct lm_backend *backend)
{
    static const struct lm_shape shape[] = {{32, 16}, {33, 17}};
    static const size_t count[] = {1, 31, 33, 878, 4096, 4097, 70000, ((size_t)4 << 20) + 1};
    const size_t counts = test->small ? 4 : sizeof count / sizeof *count;
    for (int s = 0; s < 2; s++)
        for (size_t k = 0; k < (s == 0 ? counts : 4); k++)
            for (int grey = 0; grey <= (backend->infer_grey != NULL); grey++) {
                struct batch b = make_batch(test, shape[s], count[k], grey);
                struct lm_error err = {0};
                char what[160];
                void *session;
                int ok = backend->open(&test->problem, &session, &err) == LM_OK, failed = -1;
                /* of millions: plain to plain, pinned to pinned, pinned and shifted to itself */
                int step = count[k] > 1000000 ? KINDS_OF_MEMORY + 1 : 1;
                for (int way = 0; ok && way < KINDS_OF_MEMORY * KINDS_OF_MEMORY; way += step)
                    if (!same_from(&b, backend, session, (enum memory)(way % KINDS_OF_MEMORY),
                                   (enum memory)(way / KINDS_OF_MEMORY), grey, &err)) {
                        ok = 0;
                        failed = way;
                    }
                backend->close(session);
                snprintf(what, sizeof what,
                         "score %zu samples%s, shape %d, two networks by turns, memory of all kinds%s%s%s%s", count[k],
                         grey ? " of 8 bits" : "", s, failed < 0 ? "" : "; fails from ",
                         failed < 0 ? "" : memory_name[failed % KINDS_OF_MEMORY], failed < 0 ? "" : " to ",
                         failed < 0 ? "" : memory_name[failed / KINDS_OF_MEMORY]);
                report(test, ok, backend->name, what, err.text);
                free_batch(&b);
            }
}

/* ---- times ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void time_training(struct test *test, const struct lm_backend *backend, uint32_t block, uint32_t epochs)
{
    struct lm_shape lab = {32, 16};
    struct lm_trial trial = trial_of(lab, block);
    struct trained *out = room(1);
    struct lm_error err = {0};
    double seconds[5];
    int n = strstr(backend->name, "naive") ? 1 : 5;
    trial.epochs = epochs;
    trial.decay = 1.0f;
    for (int k = 0; k < n; k++) {
        if (train(backend, test, &trial, 1, out, &err) != LM_OK)
            printf("# %s: %s\n", backend->name, err.text);
        seconds[k] = out->result.seconds;
    }
    qsort(seconds, (size_t)n, sizeof *seconds, ascending);
    printf("# %-18s block %4u: %2u epochs of %zu in %9.3f ms, %8.3f us a step\n", backend->name, block, epochs,
           test->problem.train.n, 1e3 * seconds[n / 2],
           1e6 * seconds[n / 2] / (double)epochs / (double)test->problem.train.n);
    fflush(stdout);
    free(out);
}

static void time_scoring(struct test *test, const struct lm_backend *backend, size_t n)
{
    struct lm_shape lab = {32, 16};
    struct lm_error err = {0};
    double seconds[5];
    void *session;
    float *parameters = must(malloc(sizeof(struct trained))), *scores = must(malloc(n * LM_CLASSES * sizeof *scores));
    float *x = must(malloc(n * LM_PIXELS * sizeof *x));
    fill(parameters, lm_network_floats(lab), 6, 0.5f);
    fill(x, n * LM_PIXELS, 5, 3.0f);
    if (backend->open(&test->problem, &session, &err) != LM_OK)
        return;
    for (int k = -1; k < 5; k++) {
        double start = now();
        backend->infer(session, lab, parameters, x, n, scores, &err);
        if (k >= 0)
            seconds[k] = now() - start;
    }
    lm_gpu_time_calls(session, 1);
    struct lm_gpu_counters before = lm_gpu_counters(session);
    backend->infer(session, lab, parameters, x, n, scores, &err);
    struct lm_gpu_counters c = lm_gpu_counters(session);
    qsort(seconds, 5, sizeof *seconds, ascending);
    printf(
        "# %-18s scores %7zu samples in %9.4f ms; one run: %llu launches, %llu + %llu copies, kernels %.4f ms, copies "
        "%.4f ms\n",
        backend->name, n, 1e3 * seconds[2], (unsigned long long)(c.launches - before.launches),
        (unsigned long long)(c.copies_in - before.copies_in), (unsigned long long)(c.copies_out - before.copies_out),
        1e3 * (c.kernel_seconds - before.kernel_seconds), 1e3 * (c.copy_seconds - before.copy_seconds));
    fflush(stdout);
    backend->close(session);
    free(x);
    free(scores);
    free(parameters);
}

static void time_all(struct test *test, const struct lm_backend *backend)
{
    static const uint32_t block[] = {32, 64, 128, 256, 512, 1024};
    int one_block = strstr(backend->name, "gpu:batch") || strstr(backend->name, "gpu:whole");
    if (!strchr(backend->name, '+')) {
        if (one_block)
            for (size_t k = 0; k < sizeof block / sizeof *block; k++)
                time_training(test, backend, block[k], 51);
        else
            time_training(test, backend, 128, strstr(backend->name, "naive") ? 1 : 5);
    }
    if (!strchr(backend->name, '+') || strstr(backend->name, "whole+")) {
        time_scoring(test, backend, 878);
        if (one_block)
            time_scoring(test, backend, 1 << 20);
    }
}

/* ---- all of it ---- */

static int wanted(const char *name, int argc, char **argv)
{
    int named = 0;
    for (int k = 1; k < argc; k++) {
        if (argv[k][0] == '-')
            continue;
        named = 1;
        if (strcmp(argv[k], name) == 0)
            return 1;
    }
    return !named;
}

static int has(const char *option, int argc, char **argv)
{
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], option) == 0)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    struct test test = {.small = has("--small", argc, argv)};
    struct lm_gpu_device device;
    struct lm_error err;
    int timing = has("--time", argc, argv), scores = has("--scores", argc, argv), backends = 0;
    if (lm_gpu_select(0, &device, &err) != LM_OK) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    printf("# %s, %s, PCI %s, compute capability %d.%d, %d bytes of shared memory a block\n", device.name, device.uuid,
           device.pci, device.major, device.minor, device.block_shared);
    make_problem(&test, timing ? 3532 : test.small ? 7 : 61);
    for (const struct lm_backend *const *b = lm_backends(); *b; b++) {
        if (strncmp((*b)->name, "gpu:", 4) != 0 || !wanted((*b)->name, argc, argv))
            continue;
        backends++;
        if (timing) {
            time_all(&test, *b);
        } else {
            if (!strchr((*b)->name, '+') && !scores) /* gpu:TRAIN+INFER trains as gpu:TRAIN does */
                test_training(&test, *b);
            test_scoring(&test, *b);
            if (strcmp((*b)->name, "gpu:fast") == 0)
                test_memory(&test, *b);
        }
    }
    lm_problem_free(&test.problem);
    if (!timing)
        printf("1..%d\n", test.results);
    return backends == 0 || test.failures != 0;
}
