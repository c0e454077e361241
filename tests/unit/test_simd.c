/* test_simd.c: every SIMD path against the reference, bit for bit: all widths, batches of every kind, values that try
 * an implementation, trainings that overflow. A path that this processor lacks is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "cpu_backend.h"
#include "made_problem.h"
#include "reference.h"
#include "simd.h"

struct path {
    const struct lm_backend *backend;
    const struct lm_cpu_kernels *kernels;
};

static const struct path *path_of(void **state)
{
    const struct path *path = *state;
    struct lm_error err;
    if (path->backend->probe(&err) != LM_OK) {
        print_message("# %s: %s\n", path->backend->name, err.text);
        skip();
    }
    return path;
}

static const struct lm_cpu_kernels *reference(void)
{
#ifdef LM_HAVE_REFERENCE_FMA
    if (__builtin_cpu_supports("fma"))
        return &lm_reference_fma;
#endif
    return &lm_reference_plain;
}

static const struct lm_shape odd_shapes[] = {
    {32, 16}, {1, 1}, {1, 128}, {128, 1}, {4, 4}, {5, 3}, {7, 9}, {31, 15}, {33, 17}, {63, 65}, {127, 126}, {128, 128},
};
#define ODD_SHAPES (sizeof odd_shapes / sizeof *odd_shapes)

/* Parameters of all sizes, with zeros of both signs and subnormals among them. */
static float *made_parameters(struct lm_shape shape, uint32_t seed, float scale)
{
    struct lm_mt19937 generator;
    size_t n = lm_network_floats(shape);
    float *p = malloc(n * sizeof *p);
    assert_non_null(p);
    lm_mt19937_seed(&generator, seed);
    for (size_t k = 0; k < n; k++)
        p[k] = scale * made_float(&generator);
    return p;
}

/* ---- training ---- */

struct trained {
    double loss;
    float *parameters;
};

/* The samples in order, in calls of 1, 2, 3, ... of them: nothing may be owed between two calls. */
static struct trained train(const struct lm_cpu_kernels *kernels, struct lm_shape shape, const float *parameters,
                            const struct lm_samples *samples, size_t steps)
{
    struct trained t = {.parameters = malloc(lm_network_floats(shape) * sizeof(float))};
    void *net = kernels->begin(shape);
    assert_non_null(t.parameters);
    assert_non_null(net);
    kernels->put(net, parameters);
    t.loss = kernels->train(net, 0.02f, samples, NULL, 0, 0.0);
    for (size_t first = 0, n = 1; first < steps; first += n, n++) {
        uint32_t index[64];
        if (n > steps - first)
            n = steps - first;
        for (size_t k = 0; k < n; k++)
            index[k] = (uint32_t)((first + k) * 7 % samples->n);
        t.loss = kernels->train(net, 0.02f, samples, index, n, t.loss);
    }
    kernels->get(net, t.parameters);
    kernels->end(net);
    return t;
}

static void same_training(const struct path *path, struct lm_shape shape, const struct lm_samples *samples,
                          size_t steps)
{
    float *parameters = made_parameters(shape, shape.hidden1 * 1000 + shape.hidden2, 0.3f);
    struct trained want = train(reference(), shape, parameters, samples, steps);
    struct trained got = train(path->kernels, shape, parameters, samples, steps);
    assert_true(isfinite(want.loss));
    if (memcmp(&want.loss, &got.loss, sizeof want.loss) != 0)
        fail_msg("%u-%u: the loss is %.17g, not %.17g", shape.hidden1, shape.hidden2, got.loss, want.loss);
    for (size_t k = 0; k < lm_network_floats(shape); k++)
        if (bits_of(want.parameters[k]) != bits_of(got.parameters[k]))
            fail_msg("%u-%u: parameter %zu is %a, not %a", shape.hidden1, shape.hidden2, k, (double)got.parameters[k],
                     (double)want.parameters[k]);
    free(want.parameters);
    free(got.parameters);
    free(parameters);
}

static void test_small_widths(void **state)
{
    const struct path *path = path_of(state);
    struct lm_problem problem = made_problem(16, 5);
    for (uint32_t h1 = 1; h1 <= 40; h1++)
        for (uint32_t h2 = 1; h2 <= 40; h2++)
            same_training(path, (struct lm_shape){h1, h2}, &problem.train, 3);
    lm_problem_free(&problem);
}

static void test_all_widths(void **state)
{
    static const uint32_t other[] = {1, 3, 4, 16, 33, 66, 127, 128};
    const struct path *path = path_of(state);
    struct lm_problem problem = made_problem(16, 6);
    for (uint32_t h = 1; h <= LM_MAX_HIDDEN; h++)
        for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
            same_training(path, (struct lm_shape){h, other[k]}, &problem.train, 2);
            same_training(path, (struct lm_shape){other[k], h}, &problem.train, 2);
        }
    lm_problem_free(&problem);
}

static void test_long_training(void **state)
{
    const struct path *path = path_of(state);
    struct lm_problem problem = made_problem(300, 7);
    for (size_t k = 0; k < ODD_SHAPES; k++)
        same_training(path, odd_shapes[k], &problem.train, k == 0 ? 1500 : 300);
    lm_problem_free(&problem);
}

/* Whole trainings through the backend, whose end is a status, in trials that overflow sooner or later. */
static void run_trial(const struct lm_backend *backend, const struct lm_problem *problem, const struct lm_trial *trial,
                      struct lm_training_result *result)
{
    struct lm_error err;
    void *session;
    assert_int_equal(backend->open(problem, &session, &err), LM_OK);
    assert_int_equal(backend->train(session, trial, 1, result, (struct lm_tick){0}, &err), LM_OK);
    backend->close(session);
}

static void same_end(const struct path *path, const struct lm_problem *problem, const struct lm_trial *trial,
                     size_t count[3])
{
    size_t n = lm_network_floats(trial->shape);
    struct lm_training_result result[2] = {{0}};
    for (int k = 0; k < 2; k++) {
        result[k].loss = malloc(trial->epochs * sizeof(double));
        result[k].parameters = malloc(n * sizeof(float));
        run_trial(k == 0 ? &lm_backend_cpu_ref : path->backend, problem, trial, &result[k]);
    }
    if (result[0].status != result[1].status || result[0].epochs_run != result[1].epochs_run)
        fail_msg("%u-%u, rate %g, decay %g, range %g: status %d after %u epochs, not %d after %u", trial->shape.hidden1,
                 trial->shape.hidden2, (double)trial->learning_rate, (double)trial->decay, (double)trial->initial_range,
                 result[1].status, result[1].epochs_run, result[0].status, result[0].epochs_run);
    assert_memory_equal(result[0].loss, result[1].loss, result[0].epochs_run * sizeof(double));
    assert_string_equal(result[0].reason, result[1].reason);
    if (result[0].status == LM_TRIAL_OK)
        assert_memory_equal(result[0].parameters, result[1].parameters, n * sizeof(float));
    /* ok, diverged at once, diverged later or at the very end */
    count[result[0].status == LM_TRIAL_OK ? 0 : result[0].epochs_run == 0 ? 1 : 2]++;
    for (int k = 0; k < 2; k++) {
        free(result[k].loss);
        free(result[k].parameters);
    }
}

static void test_divergence(void **state)
{
    static const float rate[] = {0.02f, 0.3f, 5.0f, 1e30f, 3e38f}, range[] = {0.0f, 0.05f, 3.0f, 1e12f, 1e37f};
    const struct path *path = path_of(state);
    size_t count[3] = {0};
    for (size_t n = 1; n <= 9; n += 4) {
        struct lm_problem problem = made_problem(n, 8);
        for (size_t shape = 0; shape < ODD_SHAPES; shape++)
            for (size_t r = 0; r < 25; r++) {
                struct lm_trial trial = {.learning_rate = rate[r / 5],
                                         .decay = r % 2 ? 1e4f : 1.0f,
                                         .initial_range = range[r % 5],
                                         .epochs = 12,
                                         .seed = (uint32_t)(n + r),
                                         .block = 32,
                                         .shape = odd_shapes[shape]};
                same_end(path, &problem, &trial, count);
            }
        lm_problem_free(&problem);
    }
    for (int k = 0; k < 3; k++)
        assert_true(count[k] > 20); /* all three ends were really met */
}

/* Overflows that the loss does not show, since ReLU hides minus infinity: padding must not show either. Every weight of
 * a layer is the same, and so is every pixel. */
struct hidden_overflow {
    float pixel, last_pixel, w1, w2, w3; /* w1 is divided by 64, w3 by both widths */
    float rate;
    size_t steps;
};

static void same_hidden_overflow(const struct path *path, struct lm_shape shape, const struct hidden_overflow *h)
{
    float x[LM_PIXELS], *parameters = calloc(lm_network_floats(shape), sizeof(float));
    const float value[LM_LAYERS] = {h->w1 / 64.0f, h->w2, h->w3 / (float)shape.hidden1 / (float)shape.hidden2};
    uint8_t label = 3;
    struct lm_samples samples = {.n = 1, .x = x, .label = &label};
    assert_non_null(parameters);
    for (int p = 0; p < LM_PIXELS; p++)
        x[p] = p < LM_PIXELS - 1 ? h->pixel : h->last_pixel;
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(shape, l);
        for (size_t k = 0; k < layer.inputs * layer.outputs; k++)
            parameters[layer.weights + k] = value[l];
    }
    double loss[2] = {0.0, 0.0};
    for (int k = 0; k < 2; k++) {
        const struct lm_cpu_kernels *kernels = k == 0 ? reference() : path->kernels;
        const uint32_t index[4] = {0, 0, 0, 0};
        void *net = kernels->begin(shape);
        assert_non_null(net);
        kernels->put(net, parameters);
        loss[k] = kernels->train(net, h->rate, &samples, index, h->steps, 0.0);
        kernels->end(net);
    }
    assert_true(isfinite(loss[0]));
    if (memcmp(&loss[0], &loss[1], sizeof loss[0]) != 0)
        fail_msg("%u-%u, w1 %g: the loss is %.17g, not %.17g", shape.hidden1, shape.hidden2, (double)h->w1, loss[1],
                 loss[0]);
    free(parameters);
}

static void test_hidden_overflow(void **state)
{
    static const struct hidden_overflow hidden[] = {
        {1.0f, INFINITY, -64.0f, 1.0f, 1.0f, 0.02f, 1}, /* z1 is minus infinity: padding of layer 1 is 0 * infinity */
        {8.0f, 8.0f, 3e38f, -1.0f, 1.0f, 0.02f, 1},     /* a1 infinite, z2 minus infinity: likewise in layer 2 */
        {1.0f, 1.0f, 1e12f, 1e-42f, 2e30f, 1e12f, 2},   /* t of layer 2 infinite: weights there minus infinity */
    };
    const struct path *path = path_of(state);
    for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++)
        for (uint32_t h1 = 1; h1 <= 40; h1++)
            for (uint32_t h2 = 1; h2 <= 40; h2++)
                same_hidden_overflow(path, (struct lm_shape){h1, h2}, &hidden[k]);
}

/* ---- inference ---- */

static void infer(const struct lm_cpu_kernels *kernels, struct lm_shape shape, const float *parameters, const float *x,
                  size_t n, float *scores)
{
    void *net = kernels->begin(shape);
    assert_non_null(net);
    kernels->put(net, parameters);
    kernels->infer(net, x, n, scores);
    kernels->end(net);
}

static void same_scores(const struct path *path, struct lm_shape shape, const float *parameters, const float *x,
                        size_t n)
{
    /* Exactly as long as they must be, so that a sanitizer sees what goes beyond. */
    float *rows = malloc((n ? n : 1) * LM_PIXELS * sizeof *rows);
    float *want = malloc((n ? n : 1) * LM_CLASSES * sizeof *want),
          *got = malloc((n ? n : 1) * LM_CLASSES * sizeof *got);
    assert_true(rows && want && got);
    memcpy(rows, x, n * LM_PIXELS * sizeof *rows);
    infer(reference(), shape, parameters, rows, n, want);
    infer(path->kernels, shape, parameters, rows, n, got);
    for (size_t k = 0; k < n * LM_CLASSES; k++)
        if (bits_of(want[k]) != bits_of(got[k]))
            fail_msg("%u-%u, %zu samples: score %zu of sample %zu is %a (%08x), not %a (%08x)", shape.hidden1,
                     shape.hidden2, n, k % LM_CLASSES, k / LM_CLASSES, (double)got[k], bits_of(got[k]), (double)want[k],
                     bits_of(want[k]));
    free(rows);
    free(want);
    free(got);
}

static float *made_rows(size_t n, uint32_t seed)
{
    struct lm_mt19937 generator;
    float *x = malloc(n * LM_PIXELS * sizeof *x);
    assert_non_null(x);
    lm_mt19937_seed(&generator, seed);
    for (size_t k = 0; k < n * LM_PIXELS; k++)
        x[k] = made_float(&generator);
    return x;
}

/* Some rows get what a score must survive; kind 0 leaves them as they are. */
static void spoil(float *x, size_t n, uint32_t seed)
{
    static const uint32_t value[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F812345, 0x80000000, 0x00000000,
                                     0x00000001, 0x807FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7E967699, 0xFE967699};
    struct lm_mt19937 generator;
    lm_mt19937_seed(&generator, seed);
    for (size_t k = 0; k < n; k++) {
        uint32_t kind = lm_draw_below(&generator, 4), which = lm_draw_below(&generator, sizeof value / sizeof *value);
        for (size_t p = 0; kind != 0 && p < LM_PIXELS; p++)
            if (kind == 3 || lm_draw_below(&generator, kind == 2 ? 2 : 40) == 0)
                x[k * LM_PIXELS + p] = float_of(value[which]);
    }
}

static void test_batches(void **state)
{
    static const size_t batch[] = {0, 1, 2, 3, 7, 11, 12, 13, 23, 24, 25, 47, 48, 49, 95, 96, 97, 145, 1000};
    const struct path *path = path_of(state);
    float *x = made_rows(1000, 9);
    spoil(x + 500 * LM_PIXELS, 500, 10);
    for (size_t shape = 0; shape < ODD_SHAPES; shape++) {
        float *parameters = made_parameters(odd_shapes[shape], 11, 1.0f);
        for (size_t k = 0; k < sizeof batch / sizeof *batch; k++)
            same_scores(path, odd_shapes[shape], parameters, x + (1000 - batch[k]) * LM_PIXELS, batch[k]);
        free(parameters);
    }
    free(x);
}

/* Activations that overflow, or are not numbers from the start, in every width: no padding may show. */
static void test_values(void **state)
{
    static const float scale[] = {1.0f, 1e19f, 1e38f, 1e-20f, 1e-38f};
    const struct path *path = path_of(state);
    float *x = made_rows(60, 12);
    spoil(x + 6 * LM_PIXELS, 54, 13);
    for (uint32_t h = 1; h <= LM_MAX_HIDDEN; h++) {
        struct lm_shape shape = {h % 2 ? h : h * 37 % LM_MAX_HIDDEN + 1, h % 2 ? h * 37 % LM_MAX_HIDDEN + 1 : h};
        float *parameters = made_parameters(shape, 14 + h, scale[h % 5]);
        same_scores(path, shape, parameters, x, h % 5 == 0 ? 60 : 20 + h % 20);
        free(parameters);
    }
    for (size_t k = 0; k < 5 * ODD_SHAPES; k++) {
        float *parameters = made_parameters(odd_shapes[k / 5], 15, scale[k % 5]);
        same_scores(path, odd_shapes[k / 5], parameters, x, 60);
        free(parameters);
    }
    free(x);
}

/* Scores of -0: only where no sum has a padding term (+0)(+0), which makes it +0. */
static void test_negative_zero(void **state)
{
    const struct path *path = path_of(state);
    const float x[2 * LM_PIXELS] = {0.0f};
    for (uint32_t h1 = 1; h1 <= 20; h1++)
        for (uint32_t h2 = 1; h2 <= 20; h2++) {
            const struct lm_shape shape = {h1, h2};
            float *parameters = malloc(lm_network_floats(shape) * sizeof *parameters), score[LM_CLASSES];
            assert_non_null(parameters);
            for (size_t k = 0; k < lm_network_floats(shape); k++)
                parameters[k] = k < (size_t)h1 * LM_PIXELS ? -1.0f : 1.0f; /* z1 = -0 */
            for (int l = 0; l < LM_LAYERS; l++)
                for (size_t i = 0; i < lm_layer_of(shape, l).outputs; i++)
                    parameters[lm_layer_of(shape, l).biases + i] = -0.0f;
            infer(path->kernels, shape, parameters, x, 1, score);
            assert_int_equal(bits_of(score[0]), h1 % 4 == 0 && h2 % 4 == 0 ? 0x80000000 : 0);
            same_scores(path, shape, parameters, x, 2);
            free(parameters);
        }
}

/* What put() gave is what get() gives and infer() uses, before and after a training. */
static void test_parameters(void **state)
{
    const struct path *path = path_of(state);
    struct lm_problem problem = made_problem(8, 16);
    for (size_t k = 0; k < ODD_SHAPES; k++) {
        size_t n = lm_network_floats(odd_shapes[k]);
        float *parameters = made_parameters(odd_shapes[k], 17, 0.5f), *out = malloc(n * sizeof *out);
        float score[2][LM_CLASSES];
        void *net = path->kernels->begin(odd_shapes[k]);
        assert_true(out && net);
        path->kernels->put(net, parameters);
        path->kernels->get(net, out);
        assert_memory_equal(out, parameters, n * sizeof *out);
        path->kernels->train(net, 0.02f, &problem.train, (const uint32_t[]){3}, 1, 0.0);
        path->kernels->get(net, out);
        assert_memory_not_equal(out, parameters, n * sizeof *out);
        path->kernels->infer(net, problem.train.x, 1, score[0]);
        infer(reference(), odd_shapes[k], out, problem.train.x, 1, score[1]);
        assert_memory_equal(score[0], score[1], sizeof score[0]);
        path->kernels->put(net, parameters);
        path->kernels->infer(net, problem.train.x, 1, score[0]);
        infer(reference(), odd_shapes[k], parameters, problem.train.x, 1, score[1]);
        assert_memory_equal(score[0], score[1], sizeof score[0]);
        path->kernels->end(net);
        free(parameters);
        free(out);
    }
    lm_problem_free(&problem);
}

int main(void)
{
    static const struct path path[] = {
#ifdef LM_HAVE_SIMD_X86
        {&lm_backend_cpu_avx512, &lm_simd_avx512},
        {&lm_backend_cpu_avx2, &lm_simd_avx2},
#endif
        {&lm_backend_cpu_portable, &lm_simd_portable},
    };
    static const struct {
        const char *name;
        CMUnitTestFunction call;
    } test[] = {
        {"widths 1 to 40 with 1 to 40", test_small_widths},
        {"all widths", test_all_widths},
        {"a long training", test_long_training},
        {"trainings that diverge", test_divergence},
        {"overflows that ReLU hides", test_hidden_overflow},
        {"batches", test_batches},
        {"values", test_values},
        {"scores of -0", test_negative_zero},
        {"parameters in and out", test_parameters},
    };
    enum { PATHS = sizeof path / sizeof *path, TESTS = sizeof test / sizeof *test };
    struct CMUnitTest all[PATHS * TESTS];
    char name[PATHS * TESTS][80];
    for (size_t k = 0; k < PATHS * TESTS; k++) {
        snprintf(name[k], sizeof name[k], "%s: %s", path[k / TESTS].backend->name, test[k % TESTS].name);
        all[k] = (struct CMUnitTest){
            .name = name[k], .test_func = test[k % TESTS].call, .initial_state = (void *)(uintptr_t)&path[k / TESTS]};
    }
    return cmocka_run_group_tests_name("simd", all, NULL, NULL);
}
