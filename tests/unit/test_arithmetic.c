/* test_arithmetic.c: the reference against the page that defines the arithmetic.
 *
 * What follows is written from arithmetic.h's text alone, in other words than reference.c's: padded copies, four
 * separate chains, a fused multiply-add made of exact double operations, parameters taken apart into matrices. Every
 * bit of the scores, the loss and the trained parameters must agree, in each build of the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "arithmetic.h"
#include "evaluate.h"
#include "made_problem.h"
#include "reference.h"

/* ---- the page, slowly ---- */

/* The exact a b + c, rounded once, without fmaf. a b is exact in double (24 + 24 bits). The sum with c is not: its
 * error is found (Knuth's two-sum) and put into the last bit ("rounding to odd"), so that the rounding to float sees on
 * which side of a tie the exact value lies. */
static float exact_fma(float a, float b, float c)
{
    double product = (double)a * (double)b, sum = product + (double)c;
    if (!isfinite(sum) || sum == 0.0)
        return (float)sum;
    double part = sum - product, error = (product - (sum - part)) + ((double)c - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error != 0.0 && bits % 2 == 0) {
        bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
        memcpy(&sum, &bits, sizeof sum);
    }
    return (float)sum;
}

#define ROOM 128

/* Rule 1 */
static float page_sum(const float *a, const float *b, size_t n)
{
    float padded_a[ROOM] = {0}, padded_b[ROOM] = {0}, p[4];
    memcpy(padded_a, a, n * sizeof *a);
    memcpy(padded_b, b, n * sizeof *b);
    size_t groups = (n + 3) / 4;
    for (int k = 0; k < 4; k++) {
        p[k] = padded_a[k] * padded_b[k];
        for (size_t g = 1; g < groups; g++)
            p[k] = exact_fma(padded_a[4 * g + (size_t)k], padded_b[4 * g + (size_t)k], p[k]);
    }
    float left = p[0] + p[1], right = p[2] + p[3];
    return left + right;
}

struct page {
    size_t width[4];
    float w[3][ROOM][ROOM], b[3][ROOM];
    float z[3][ROOM], in[3][ROOM], delta[3][ROOM];
};

static void page_take(struct page *net, struct lm_shape shape, const float *parameters)
{
    const size_t width[4] = {64, shape.hidden1, shape.hidden2, 15};
    memcpy(net->width, width, sizeof width);
    for (int l = 0; l < 3; l++) {
        for (size_t i = 0; i < width[l + 1]; i++)
            for (size_t j = 0; j < width[l]; j++)
                net->w[l][i][j] = *parameters++;
        for (size_t i = 0; i < width[l + 1]; i++)
            net->b[l][i] = *parameters++;
    }
}

static void page_give(const struct page *net, float *parameters)
{
    for (int l = 0; l < 3; l++) {
        for (size_t i = 0; i < net->width[l + 1]; i++)
            for (size_t j = 0; j < net->width[l]; j++)
                *parameters++ = net->w[l][i][j];
        for (size_t i = 0; i < net->width[l + 1]; i++)
            *parameters++ = net->b[l][i];
    }
}

/* Rule 2 */
static void page_forward(struct page *net, const float *x)
{
    memcpy(net->in[0], x, 64 * sizeof *x);
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < net->width[l + 1]; i++) {
            float z = page_sum(net->w[l][i], net->in[l], net->width[l]);
            z = z + net->b[l][i];
            net->z[l][i] = z;
            if (l < 2)
                net->in[l + 1][i] = z < 0 ? 0 : z;
        }
}

/* Rule 3 */
static float page_loss(const float *score, int label, float *e)
{
    for (int c = 0; c < 15; c++)
        e[c] = score[c] - (c == label ? 1.0f : 0.0f);
    float sum = page_sum(e, e, 15);
    return 0.5f * sum;
}

/* Rules 2, 3 and 4 */
static float page_step(struct page *net, float rate, const float *x, int label)
{
    float column[ROOM];
    page_forward(net, x);
    float loss = page_loss(net->z[2], label, net->delta[2]);
    for (int l = 1; l >= 0; l--)
        for (size_t j = 0; j < net->width[l + 1]; j++) {
            for (size_t i = 0; i < net->width[l + 2]; i++)
                column[i] = net->w[l + 1][i][j];
            float sum = page_sum(column, net->delta[l + 1], net->width[l + 2]);
            net->delta[l][j] = net->z[l][j] > 0 ? sum : 0;
        }
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < net->width[l + 1]; i++) {
            float t = rate * net->delta[l][i];
            for (size_t j = 0; j < net->width[l]; j++)
                net->w[l][i][j] = exact_fma(-t, net->in[l][j], net->w[l][i][j]);
            net->b[l][i] = net->b[l][i] - t;
        }
    return loss;
}

/* ---- the builds of the reference ---- */

static size_t builds(const struct lm_cpu_kernels *build[2])
{
    build[0] = &lm_reference_plain;
#ifdef LM_HAVE_REFERENCE_FMA
    if (__builtin_cpu_supports("fma")) {
        build[1] = &lm_reference_fma;
        return 2;
    }
#endif
    return 1;
}

static void infer_with(const struct lm_cpu_kernels *build, struct lm_shape shape, const float *parameters,
                       const float *x, size_t n, float *scores)
{
    void *state = build->begin(shape);
    assert_non_null(state);
    build->put(state, parameters);
    build->infer(state, x, n, scores);
    build->end(state);
}

static float *random_parameters(struct lm_shape shape, struct lm_mt19937 *generator)
{
    size_t n = lm_network_floats(shape);
    float *parameters = malloc(n * sizeof *parameters);
    assert_non_null(parameters);
    for (size_t k = 0; k < n; k++)
        parameters[k] = made_float(generator);
    return parameters;
}

/* ---- tests ---- */

/* The tool itself: cases where a b + c rounded twice, or not fused, is another number. */
static void test_exact_fma(void **state)
{
    struct lm_mt19937 generator;
    size_t unfused = 0;

    (void)state;
    lm_mt19937_seed(&generator, 5);
    for (int k = 0; k < 200000; k++) {
        /* random bits: every exponent, subnormals, infinities; NaNs are left out */
        float v[3];
        for (int i = 0; i < 3; i++)
            do
                v[i] = float_of(lm_mt19937_next(&generator));
            while (isnan(v[i]));
        if (k % 2) /* near cancellation, where the low bits of the product decide */
            v[2] = -(v[0] * v[1]) * (1.0f + ldexpf((float)lm_draw_below(&generator, 8), -23));
        float ours = exact_fma(v[0], v[1], v[2]), libc = fmaf(v[0], v[1], v[2]);
        if (!isnan(libc))
            assert_int_equal(bits_of(ours), bits_of(libc));
        volatile float product = v[0] * v[1];
        unfused += bits_of(product + v[2]) != bits_of(libc);
    }
    assert_true(unfused > 1000);
    /* 1 + 2^-23 + 2^-24 - 2^-56: just below a tie, which rounding to double first would make a tie, and then the larger
     */
    float a = 1.0f + 0x1p-16f, b = (1.0f - 0x1p-16f) * 0x1p-24f, c = 1.0f + 0x1p-23f;
    assert_int_equal(bits_of(exact_fma(a, b, c)), 0x3F800001);
    assert_int_equal(bits_of((float)((double)a * (double)b + (double)c)), 0x3F800002);
}

static void check_shape(const struct lm_cpu_kernels *build, struct lm_shape shape, struct page *net)
{
    enum { STEPS = 3 };
    struct lm_mt19937 generator;
    size_t n = lm_network_floats(shape);
    float x[STEPS * LM_PIXELS], scores[STEPS * LM_CLASSES], *trained = malloc(n * sizeof(float));
    uint8_t label[STEPS];
    const uint32_t index[STEPS] = {2, 0, 1};
    const float rate = 0.3f;

    assert_non_null(trained);
    lm_mt19937_seed(&generator, shape.hidden1 * 1000 + shape.hidden2);
    float *parameters = random_parameters(shape, &generator);
    for (size_t k = 0; k < STEPS * LM_PIXELS; k++)
        x[k] = made_float(&generator);
    for (int k = 0; k < STEPS; k++)
        label[k] = (uint8_t)lm_draw_below(&generator, LM_CLASSES);
    struct lm_samples samples = {.n = STEPS, .x = x, .label = label};

    page_take(net, shape, parameters);
    infer_with(build, shape, parameters, x, STEPS, scores);
    for (size_t k = 0; k < STEPS; k++) {
        page_forward(net, x + k * LM_PIXELS);
        assert_memory_equal(net->z[2], scores + k * LM_CLASSES, LM_CLASSES * sizeof(float));
    }

    double expected = 0.25;
    for (int k = 0; k < STEPS; k++)
        expected += page_step(net, rate, x + index[k] * LM_PIXELS, label[index[k]]);
    void *state = build->begin(shape);
    assert_non_null(state);
    build->put(state, parameters);
    double loss = build->train(state, rate, &samples, index, STEPS, 0.25);
    build->get(state, trained);
    build->end(state);
    assert_memory_equal(&loss, &expected, sizeof loss);
    page_give(net, parameters);
    assert_memory_equal(trained, parameters, n * sizeof(float));
    free(parameters);
    free(trained);
}

static void test_every_bit(void **state)
{
    static const uint32_t width[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 128};
    const size_t widths = sizeof width / sizeof *width;
    const struct lm_cpu_kernels *build[2];
    struct page *net = calloc(1, sizeof *net);

    (void)state;
    assert_non_null(net);
    for (size_t k = 0, n = builds(build); k < n; k++)
        for (size_t i = 0; i < widths; i++)
            for (size_t j = 0; j < widths; j++)
                check_shape(build[k], (struct lm_shape){width[i], width[j]}, net);
    check_shape(build[0], (struct lm_shape){32, 16}, net);
    free(net);
}

/* Every product is -0, and so is every bias. Whole groups of four keep -0 to the end; a padding term makes +0 of it. A
 * ReLU that lost the sign would make it +0 as well. */
static void test_minus_zero(void **state)
{
    const struct lm_cpu_kernels *build[2];
    float x[LM_PIXELS], scores[LM_CLASSES];

    (void)state;
    for (int p = 0; p < LM_PIXELS; p++)
        x[p] = -0.0f;
    for (size_t k = 0, n = builds(build); k < n; k++)
        for (uint32_t hidden2 = 1; hidden2 <= 12; hidden2++) {
            struct lm_shape shape = {4, hidden2};
            size_t floats = lm_network_floats(shape);
            float *parameters = malloc(floats * sizeof *parameters);
            assert_non_null(parameters);
            for (size_t i = 0; i < floats; i++)
                parameters[i] = 1.0f;
            for (int l = 0; l < LM_LAYERS; l++) {
                struct lm_layer layer = lm_layer_of(shape, l);
                for (size_t i = 0; i < layer.outputs; i++)
                    parameters[layer.biases + i] = -0.0f;
            }
            infer_with(build[k], shape, parameters, x, 1, scores);
            for (int c = 0; c < LM_CLASSES; c++)
                assert_int_equal(bits_of(scores[c]), hidden2 % 4 == 0 ? 0x80000000 : 0);
            free(parameters);
        }
}

/* A NaN, whatever its bits, goes through a hidden layer, and is stored with the bits of rule 6; infinities stay. */
static void test_nan(void **state)
{
    static const uint32_t nan[] = {0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0x7FC01234};
    const struct lm_cpu_kernels *build[2];
    const struct lm_shape shape = {5, 3};
    struct lm_layer last = lm_layer_of(shape, 2);
    struct lm_mt19937 generator;
    float x[LM_PIXELS], scores[LM_CLASSES], plain[LM_CLASSES];

    (void)state;
    lm_mt19937_seed(&generator, 3);
    float *parameters = random_parameters(shape, &generator);
    for (int p = 0; p < LM_PIXELS; p++)
        x[p] = 1.0f;
    for (size_t k = 0, n = builds(build); k < n; k++) {
        infer_with(build[k], shape, parameters, x, 1, plain);
        for (size_t i = 0; i < sizeof nan / sizeof *nan; i++) {
            float kept = parameters[7], kept_bias = parameters[last.biases + 7];
            parameters[7] = float_of(nan[i]); /* in the first layer */
            infer_with(build[k], shape, parameters, x, 1, scores);
            for (int c = 0; c < LM_CLASSES; c++)
                assert_int_equal(bits_of(scores[c]), LM_NAN_BITS);
            parameters[7] = kept;

            parameters[last.biases + 7] = float_of(nan[i]);
            infer_with(build[k], shape, parameters, x, 1, scores);
            for (int c = 0; c < LM_CLASSES; c++)
                assert_int_equal(bits_of(scores[c]), c == 7 ? LM_NAN_BITS : bits_of(plain[c]));
            parameters[last.biases + 7] = -INFINITY;
            infer_with(build[k], shape, parameters, x, 1, scores);
            assert_int_equal(bits_of(scores[7]), 0xFF800000);
            parameters[last.biases + 7] = kept_bias;
        }
    }
    free(parameters);
}

/* 2^-149 comes out of three layers as it went in: nothing is flushed to zero on the way, as an input or as a result. */
static void test_subnormals(void **state)
{
    const struct lm_cpu_kernels *build[2];
    const struct lm_shape shape = {1, 1};
    float parameters[64 + 1 + 1 + 1 + 15 + 15] = {0}, x[LM_PIXELS] = {0}, scores[LM_CLASSES];

    (void)state;
    assert_int_equal(lm_network_floats(shape), sizeof parameters / sizeof *parameters);
    parameters[lm_layer_of(shape, 1).weights] = 1.0f;
    parameters[lm_layer_of(shape, 2).weights] = 1.0f;
    for (size_t k = 0, n = builds(build); k < n; k++) {
        parameters[0] = 1.0f;
        x[0] = float_of(1);
        infer_with(build[k], shape, parameters, x, 1, scores);
        assert_int_equal(bits_of(scores[0]), 1);
        parameters[0] = ldexpf(1.0f, -80);
        x[0] = ldexpf(1.0f, -60);
        infer_with(build[k], shape, parameters, x, 1, scores);
        assert_int_equal(bits_of(scores[0]), bits_of(ldexpf(1.0f, -140)));
        assert_int_equal(bits_of(scores[1]), 0);
    }
}

/* The loss by rule 3, where the order of the sum matters, and added up in double; evaluate.c's is the same. */
static void test_loss(void **state)
{
    const struct lm_cpu_kernels *build[2];
    const struct lm_shape shape = {1, 1};
    struct lm_layer last = lm_layer_of(shape, 2);
    float parameters[97] = {0}, x[LM_PIXELS] = {0}, e[LM_CLASSES];
    struct lm_mt19937 generator;
    size_t order_matters = 0;
    uint8_t label;
    uint32_t index = 0;
    struct lm_samples samples = {.n = 1, .x = x, .label = &label};

    (void)state;
    lm_mt19937_seed(&generator, 11);
    for (size_t k = 0, n = builds(build); k < n; k++)
        for (int t = 0; t < 500; t++) {
            float *scores = parameters + last.biases, in_index_order = 0.0f;
            for (int c = 0; c < LM_CLASSES; c++)
                scores[c] = lm_draw_uniform(&generator, -2.0f, 2.0f);
            label = (uint8_t)(t % LM_CLASSES);
            float loss = page_loss(scores, label, e);
            for (int c = 0; c < LM_CLASSES; c++)
                in_index_order += e[c] * e[c];
            order_matters += bits_of(0.5f * in_index_order) != bits_of(loss);

            double expected = 0.1 + (double)loss, evaluated = lm_evaluate(scores, &label, 1).loss;
            void *net = build[k]->begin(shape);
            assert_non_null(net);
            build[k]->put(net, parameters);
            double got = build[k]->train(net, 0.1f, &samples, &index, 1, 0.1);
            build[k]->end(net);
            assert_memory_equal(&got, &expected, sizeof got);
            assert_true(evaluated == (double)loss);
        }
    assert_true(order_matters > 100);
}

/* A neuron at exactly 0 learns nothing: the derivative of the ReLU is 1 above 0 alone. */
static void test_derivative_at_zero(void **state)
{
    const struct lm_shape shape = {1, 1};
    struct lm_layer first = lm_layer_of(shape, 0), second = lm_layer_of(shape, 1), last = lm_layer_of(shape, 2);
    float x[LM_PIXELS] = {0}, parameters[97] = {0}, trained[97];
    uint8_t label = 4;
    uint32_t index = 0;
    struct lm_samples samples = {.n = 1, .x = x, .label = &label};

    (void)state;
    x[0] = 1.0f;
    parameters[second.weights] = 1.0f;
    for (size_t c = 0; c < LM_CLASSES; c++)
        parameters[last.weights + c] = 1.0f;
    for (int above = 0; above < 2; above++) {
        parameters[first.weights] = above ? 0x1p-20f : 0.0f;
        void *net = lm_reference_plain.begin(shape);
        assert_non_null(net);
        lm_reference_plain.put(net, parameters);
        lm_reference_plain.train(net, 1.0f, &samples, &index, 1, 0.0);
        lm_reference_plain.get(net, trained);
        lm_reference_plain.end(net);
        assert_int_equal(trained[first.weights] != parameters[first.weights], above);
        assert_int_equal(trained[second.biases] != parameters[second.biases], above);
        assert_true(trained[last.biases + 4] == parameters[last.biases + 4] + 1.0f - parameters[first.weights]);
    }
}

/* Both builds of the reference, over thousands of steps. */
static void test_builds_agree(void **state)
{
    static const struct lm_shape shapes[] = {{32, 16}, {1, 1}, {7, 5}, {128, 3}};
    const struct lm_cpu_kernels *build[2];

    (void)state;
    if (builds(build) < 2) {
        print_message("# one build alone: no fma in this processor, or in this compiler's target\n");
        skip();
    }
    struct lm_problem problem = made_problem(700, 1);
    struct lm_order order;
    struct lm_error err;
    assert_int_equal(lm_order_begin(&order, 9, problem.count, problem.train.n, &err), LM_OK);
    lm_order_next(&order);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        size_t bytes = lm_network_floats(shapes[k]) * sizeof(float);
        float *parameters[2] = {malloc(bytes), malloc(bytes)};
        double loss[2];
        assert_true(parameters[0] && parameters[1]);
        for (int b = 0; b < 2; b++) {
            lm_network_initialise(shapes[k], 4, 0.1f, parameters[b]);
            void *net = build[b]->begin(shapes[k]);
            assert_non_null(net);
            build[b]->put(net, parameters[b]);
            loss[b] = build[b]->train(net, 0.02f, &problem.train, order.index, order.n, 0.0);
            build[b]->get(net, parameters[b]);
            build[b]->end(net);
        }
        assert_memory_equal(&loss[0], &loss[1], sizeof *loss);
        assert_memory_equal(parameters[0], parameters[1], bytes);
        free(parameters[0]);
        free(parameters[1]);
    }
    lm_order_end(&order);
    lm_problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_fma),          cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_minus_zero),         cmocka_unit_test(test_nan),
        cmocka_unit_test(test_subnormals),         cmocka_unit_test(test_loss),
        cmocka_unit_test(test_derivative_at_zero), cmocka_unit_test(test_builds_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
