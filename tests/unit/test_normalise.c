/* test_normalise.c: mean and scale against long double, constant pixels, values that are too large; and the problem
 * that is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "normalise.h"
#include "problem.h"
#include "random.h"

/* 15 letters of 40 images: grey values, pixel 9 constant, pixel 10 with a large mean and a small deviation. */
static int setup(void **state)
{
    static struct lm_dataset data;
    struct lm_mt19937 generator;
    struct lm_error err;
    uint64_t count[LM_CLASSES];

    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = 40;
    if (lm_dataset_allocate(count, &data, &err) != LM_OK)
        return -1;
    lm_mt19937_seed(&generator, 5);
    for (size_t i = 0; i < data.samples * LM_PIXELS; i++) {
        data.pixel[i] = lm_draw_below(&generator, 256);
        if (i % LM_PIXELS == 9)
            data.pixel[i] = 17;
        if (i % LM_PIXELS == 10)
            data.pixel[i] = 1e6 + data.pixel[i] / 1e3;
    }
    *state = &data;
    return 0;
}

static int teardown(void **state)
{
    lm_dataset_free(*state);
    return 0;
}

static size_t every_third(const struct lm_dataset *data, uint32_t index[])
{
    size_t n = 0;
    for (size_t i = 0; i < data->samples; i += 3)
        index[n++] = (uint32_t)(data->samples - 1 - i);
    return n;
}

static void test_fit(void **state)
{
    const struct lm_dataset *data = *state;
    struct lm_scaler scaler;
    uint32_t index[600] = {0};
    size_t n = every_third(data, index);

    lm_scaler_fit(data, index, n, &scaler);
    for (int p = 0; p < LM_PIXELS; p++) {
        long double sum = 0, square = 0;
        for (size_t i = n; i-- > 0;)
            sum += data->pixel[index[i] * LM_PIXELS + (size_t)p];
        long double mean = sum / n;
        for (size_t i = n; i-- > 0;)
            square += powl(data->pixel[index[i] * LM_PIXELS + (size_t)p] - mean, 2);
        long double deviation = sqrtl(square / n);

        assert_true(fabsl(scaler.mean[p] - mean) <= 1e-14L * fabsl(mean));
        if (p == 9) {
            assert_true(scaler.mean[p] == 17);
            assert_true(scaler.scale[p] == 1e-6);
        } else {
            assert_true(fabsl(scaler.scale[p] - deviation) <= 1e-7L * deviation);
            assert_true(scaler.scale[p] > 0.01);
        }
    }
}

/* The order of the sums is the order of the index, in double, bit for bit. */
static void test_order(void **state)
{
    const struct lm_dataset *data = *state;
    struct lm_scaler scaler;
    uint32_t index[600] = {0};
    size_t n = every_third(data, index);
    double sum = 0, square = 0;

    lm_scaler_fit(data, index, n, &scaler);
    for (size_t i = 0; i < n; i++)
        sum += data->pixel[index[i] * LM_PIXELS + 10];
    assert_true(scaler.mean[10] == sum / (double)n);
    for (size_t i = 0; i < n; i++) {
        double d = data->pixel[index[i] * LM_PIXELS + 10] - scaler.mean[10];
        square += d * d;
    }
    assert_true(scaler.scale[10] == sqrt(square / (double)n));
}

static void test_apply(void **state)
{
    const struct lm_dataset *data = *state;
    struct lm_scaler scaler;
    uint32_t index[600] = {0};
    float x[LM_PIXELS], rows[600 * LM_PIXELS];
    struct lm_error err;
    size_t n = every_third(data, index);

    lm_scaler_fit(data, index, n, &scaler);
    assert_int_equal(lm_scaler_gather(&scaler, data, index, n, rows, &err), LM_OK);
    for (size_t i = 0; i < n; i++) {
        const double *pixel = data->pixel + index[i] * LM_PIXELS;
        lm_scaler_apply(&scaler, pixel, x);
        assert_memory_equal(x, rows + i * LM_PIXELS, sizeof x);
        for (int p = 0; p < LM_PIXELS; p++)
            assert_true(x[p] == (float)((pixel[p] - scaler.mean[p]) / scaler.scale[p]));
        assert_true(x[9] == 0);
    }
}

/* A pixel that is constant in training and not in the test: large, finite. */
static void test_constant_pixel(void **state)
{
    struct lm_dataset *data = *state;
    struct lm_scaler scaler;
    const uint32_t train[] = {1, 2, 3, 4}, test[] = {0};
    float x[LM_PIXELS];
    struct lm_error err;
    double kept = data->pixel[9];

    data->pixel[9] = 18;
    lm_scaler_fit(data, train, 4, &scaler);
    assert_int_equal(lm_scaler_gather(&scaler, data, test, 1, x, &err), LM_OK);
    assert_true(fabsf(x[9] - 1e6f) < 1);
    data->pixel[9] = kept;
}

static void test_too_large(void **state)
{
    struct lm_dataset *data = *state;
    struct lm_scaler scaler;
    uint32_t index[600] = {0};
    float x[600 * LM_PIXELS];
    struct lm_error err;
    size_t n = every_third(data, index), at = (size_t)index[7] * LM_PIXELS + 20;
    static const double large[] = {1e308, DBL_MAX, -DBL_MAX, 1e200};
    double kept = data->pixel[at];

    /* in training: the mean or the scale is beyond a double */
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        data->pixel[at] = large[i];
        lm_scaler_fit(data, index, n, &scaler);
        assert_int_equal(lm_scaler_gather(&scaler, data, index, n, x, &err), LM_BAD_INPUT);
        assert_non_null(strstr(err.text, "value 21"));
    }
    /* in the test part: the quotient is beyond a float */
    data->pixel[at] = kept;
    lm_scaler_fit(data, index, n, &scaler);
    data->pixel[at] = 1e300;
    assert_int_equal(lm_scaler_gather(&scaler, data, index, n, x, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "value 21"));
    assert_non_null(strstr(err.text, "1.0000000000000001e+300"));
    data->pixel[at] = kept;
}

static void test_problem(void **state)
{
    struct lm_dataset *data = *state;
    struct lm_scaler scaler;
    struct lm_split split;
    struct lm_problem problem;
    struct lm_error err;
    float x[LM_PIXELS];

    assert_int_equal(lm_split_make(data->count, 1337, 0.25, &split, &err), LM_OK);
    lm_scaler_fit(data, split.train, split.n_train, &scaler);
    assert_int_equal(lm_problem_make(data, &split, &scaler, &problem, &err), LM_OK);
    const struct lm_samples *part[] = {&problem.train, &problem.validation, &problem.test};
    const uint32_t *index[] = {split.train, split.validation, split.test};
    assert_int_equal(problem.train.n, 15 * 24);
    assert_int_equal(problem.validation.n, 15 * 8);
    assert_int_equal(problem.test.n, 15 * 8);
    assert_memory_equal(problem.count, data->count, sizeof problem.count);
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < part[k]->n; i++) {
            assert_int_equal(part[k]->label[i], index[k][i] / 40);
            lm_scaler_apply(&scaler, data->pixel + (size_t)index[k][i] * LM_PIXELS, x);
            assert_memory_equal(part[k]->x + i * LM_PIXELS, x, sizeof x);
        }
    lm_problem_free(&problem);
    assert_null(problem.train.x);

    /* a failure in the last part leaves nothing behind */
    double kept = data->pixel[(size_t)split.test[3] * LM_PIXELS];
    data->pixel[(size_t)split.test[3] * LM_PIXELS] = 1e300;
    assert_int_equal(lm_problem_make(data, &split, &scaler, &problem, &err), LM_BAD_INPUT);
    assert_null(problem.train.x);
    assert_null(problem.test.label);
    data->pixel[(size_t)split.test[3] * LM_PIXELS] = kept;
    lm_split_free(&split);

    /* no hold-out: an empty part */
    assert_int_equal(lm_split_make(data->count, 1337, 0, &split, &err), LM_OK);
    assert_int_equal(lm_problem_make(data, &split, &scaler, &problem, &err), LM_OK);
    assert_int_equal(problem.validation.n, 0);
    lm_problem_free(&problem);
    lm_split_free(&split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_apply),     cmocka_unit_test(test_constant_pixel),
        cmocka_unit_test(test_too_large), cmocka_unit_test(test_problem),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
