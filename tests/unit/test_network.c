/* test_network.c: where the parameters lie, their start, their digest, and the name of a shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "made_problem.h"
#include "trial.h"

static void test_layout(void **state)
{
    static const struct lm_layer expected[] = {
        {.inputs = 64, .outputs = 32, .weights = 0, .biases = 2048},
        {.inputs = 32, .outputs = 16, .weights = 2080, .biases = 2592},
        {.inputs = 16, .outputs = 15, .weights = 2608, .biases = 2848},
    };
    const struct lm_shape lab = {32, 16};

    (void)state;
    assert_int_equal(lm_network_floats(lab), 2863);
    assert_int_equal(lm_network_floats((struct lm_shape){1, 1}), 65 + 2 + 30);
    assert_int_equal(lm_network_floats((struct lm_shape){128, 128}), 65 * 128 + 129 * 128 + 129 * 15);
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(lab, l);
        assert_int_equal(layer.inputs, expected[l].inputs);
        assert_int_equal(layer.outputs, expected[l].outputs);
        assert_int_equal(layer.weights, expected[l].weights);
        assert_int_equal(layer.biases, expected[l].biases);
    }
    assert_true(lm_shape_equal(lab, (struct lm_shape){32, 16}));
    assert_false(lm_shape_equal(lab, (struct lm_shape){16, 32}));
    assert_false(lm_shape_equal(lab, (struct lm_shape){32, 17}));
}

/* The layers follow one another without a gap, whatever the widths. */
static void test_no_gaps(void **state)
{
    (void)state;
    for (uint32_t h1 = 1; h1 <= LM_MAX_HIDDEN; h1++)
        for (uint32_t h2 = 1; h2 <= LM_MAX_HIDDEN; h2++) {
            size_t next = 0;
            for (int l = 0; l < LM_LAYERS; l++) {
                struct lm_layer layer = lm_layer_of((struct lm_shape){h1, h2}, l);
                assert_true(layer.weights == next);
                assert_true(layer.biases == next + layer.inputs * layer.outputs);
                next = layer.biases + layer.outputs;
            }
            assert_true(lm_network_floats((struct lm_shape){h1, h2}) == next);
        }
}

static void test_shape_text(void **state)
{
    static const char *const refused[] = {"",
                                          "64",
                                          "64-32-16",
                                          "64-32-16-1",
                                          "64-32-16-150",
                                          "64-32-16-15 ",
                                          " 64-32-16-15",
                                          "63-32-16-15",
                                          "64-0-16-15",
                                          "64-32-0-15",
                                          "64-129-16-15",
                                          "64-32-129-15",
                                          "64-032-16-15",
                                          "64-+2-16-15",
                                          "64--2-16-15",
                                          "64- 2-16-15",
                                          "64-32-16-14",
                                          "64-32-16-15x",
                                          "64x32x16x15",
                                          "64-9999-16-15",
                                          "64-32-16-15\n",
                                          "64-32.0-16-15"};
    char text[LM_SHAPE_TEXT];
    struct lm_shape shape;

    (void)state;
    lm_shape_text((struct lm_shape){32, 16}, text);
    assert_string_equal(text, "64-32-16-15");
    for (uint32_t h1 = 1; h1 <= LM_MAX_HIDDEN; h1++)
        for (uint32_t h2 = 1; h2 <= LM_MAX_HIDDEN; h2 += 7) {
            lm_shape_text((struct lm_shape){h1, h2}, text);
            assert_int_equal(lm_shape_parse(text, &shape), 1);
            assert_true(lm_shape_equal(shape, (struct lm_shape){h1, h2}));
        }
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        if (lm_shape_parse(refused[k], &shape))
            fail_msg("'%s' is taken for a shape", refused[k]);
}

/* Each layer starts from a fresh generator, row by row: all layers begin with the same numbers, and a layer of one
 * shape with those of another. */
static void test_start(void **state)
{
    static const struct lm_shape shapes[] = {{32, 16}, {1, 1}, {128, 7}};
    struct lm_mt19937 generator;
    float draw[128 * LM_PIXELS];

    (void)state;
    lm_mt19937_seed(&generator, 1337);
    for (size_t k = 0; k < sizeof draw / sizeof *draw; k++)
        draw[k] = lm_draw_uniform(&generator, -0.05f, 0.05f);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t n = lm_network_floats(shapes[s]);
        float *parameters = malloc(n * sizeof *parameters);
        assert_non_null(parameters);
        memset(parameters, 0xFF, n * sizeof *parameters);
        lm_network_initialise(shapes[s], 1337, 0.05f, parameters);
        for (int l = 0; l < LM_LAYERS; l++) {
            struct lm_layer layer = lm_layer_of(shapes[s], l);
            assert_memory_equal(parameters + layer.weights, draw, layer.inputs * layer.outputs * sizeof *draw);
            for (size_t i = 0; i < layer.outputs; i++)
                assert_int_equal(bits_of(parameters[layer.biases + i]), 0);
        }
        free(parameters);
    }
}

static void test_start_range(void **state)
{
    const struct lm_shape lab = {32, 16};
    float a[2863], b[2863];

    (void)state;
    lm_network_initialise(lab, 1, 0.0f, a); /* +0, not -0 */
    for (size_t k = 0; k < 2863; k++)
        assert_int_equal(bits_of(a[k]), 0);
    lm_network_initialise(lab, 1, 0.25f, a);
    lm_network_initialise(lab, 2, 0.25f, b);
    assert_memory_not_equal(a, b, sizeof a);
    float least = 0, most = 0;
    for (size_t k = 0; k < 2863; k++) {
        least = fminf(least, a[k]);
        most = fmaxf(most, a[k]);
    }
    assert_true(least >= -0.25f && least < -0.24f);
    assert_true(most < 0.25f && most > 0.24f);
}

/* The digest is that of the bytes, in the order that little-endian machines have: of a known array a known number
 * (sha256sum of 97 words 0x3F800000 + k), and any changed bit changes it. */
static void test_digest(void **state)
{
    const struct lm_shape shape = {1, 1};
    float parameters[97];
    char digest[LM_SHA256_HEX], other[LM_SHA256_HEX];

    (void)state;
    for (uint32_t k = 0; k < 97; k++)
        parameters[k] = float_of(0x3F800000 + k);
    lm_network_digest(shape, parameters, digest);
    assert_string_equal(digest, "1c70b391e85b2e8e91ef603c518273e359d8fbff02ad7d98aeb8543ac49057ca");
    for (size_t k = 0; k < 97; k += 48) {
        float kept = parameters[k];
        parameters[k] = float_of(bits_of(kept) ^ 1);
        lm_network_digest(shape, parameters, other);
        assert_string_not_equal(digest, other);
        parameters[k] = kept;
    }
    parameters[0] = 0.0f;
    lm_network_digest(shape, parameters, digest);
    parameters[0] = -0.0f;
    lm_network_digest(shape, parameters, other);
    assert_string_not_equal(digest, other); /* equal numbers, other bits */
}

static void test_status_text(void **state)
{
    (void)state;
    assert_string_equal(lm_trial_status_text(LM_TRIAL_OK), "ok");
    assert_string_equal(lm_trial_status_text(LM_TRIAL_DIVERGED), "diverged");
    assert_string_equal(lm_trial_status_text(LM_TRIAL_FAILED), "failed");
    assert_string_equal(lm_trial_status_text(LM_TRIAL_NOT_RUN), "not run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),      cmocka_unit_test(test_no_gaps),     cmocka_unit_test(test_shape_text),
        cmocka_unit_test(test_start),       cmocka_unit_test(test_start_range), cmocka_unit_test(test_digest),
        cmocka_unit_test(test_status_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
