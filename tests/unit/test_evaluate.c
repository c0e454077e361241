/* test_evaluate.c: predictions, ties, NaN, losses, accuracy, the confusion matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "arithmetic.h"
#include "evaluate.h"

static void test_first_maximum(void **state)
{
    float scores[LM_CLASSES];

    (void)state;
    for (int best = 0; best < LM_CLASSES; best++) {
        for (int c = 0; c < LM_CLASSES; c++)
            scores[c] = c == best ? -0.5f : -1.0f;
        assert_int_equal(lm_predict(scores), best);
        for (int tie = best + 1; tie < LM_CLASSES; tie++) { /* the first of equals */
            scores[tie] = -0.5f;
            assert_int_equal(lm_predict(scores), best);
            scores[tie] = nextafterf(-0.5f, 0.0f); /* the least difference decides */
            assert_int_equal(lm_predict(scores), tie);
            scores[tie] = -1.0f;
        }
    }
    memset(scores, 0, sizeof scores);
    assert_int_equal(lm_predict(scores), 0);
    scores[0] = -0.0f; /* -0 is not less than +0 */
    assert_int_equal(lm_predict(scores), 0);
    scores[3] = INFINITY;
    scores[9] = INFINITY;
    assert_int_equal(lm_predict(scores), 3);
}

/* A NaN is greater than nothing, and nothing is greater than it: it is passed over, but in the first place it stays. */
static void test_nan_scores(void **state)
{
    float scores[LM_CLASSES] = {0.1f, NAN, 0.3f, NAN, 0.2f};

    (void)state;
    assert_int_equal(lm_predict(scores), 2);
    scores[0] = NAN;
    assert_int_equal(lm_predict(scores), 0);
    for (int c = 0; c < LM_CLASSES; c++)
        scores[c] = NAN;
    assert_int_equal(lm_predict(scores), 0);
}

static void test_metrics(void **state)
{
    float scores[4 * LM_CLASSES] = {0};
    const uint8_t label[4] = {0, 3, 14, 7};

    (void)state;
    scores[0 * LM_CLASSES + 0] = 1.0f; /* exact: loss 0, a hit */
    /* nothing at all: loss 0.5, the first class, no hit */
    scores[2 * LM_CLASSES + 14] = 3.0f; /* too sure: loss 2, a hit */
    scores[3 * LM_CLASSES + 7] = 0.5f;  /* loss 0.125 + 0.5, no hit */
    scores[3 * LM_CLASSES + 8] = 1.0f;
    struct lm_metrics m = lm_evaluate(scores, label, 4);
    assert_int_equal(m.n, 4);
    assert_int_equal(m.hits, 2);
    assert_true(m.accuracy == 0.5);
    assert_true(m.loss == (0.0 + 0.5 + 2.0 + 0.625) / 4.0);
}

/* The mean is taken in double: twenty thousand losses added up in float would drift away. */
static void test_mean_in_double(void **state)
{
    enum { N = 20000 };
    static float scores[N][LM_CLASSES];
    static uint8_t label[N];

    (void)state;
    for (size_t k = 0; k < N; k++)
        scores[k][0] = 0.3f;
    struct lm_metrics m = lm_evaluate(&scores[0][0], label, N);
    float e = 0.3f - 1.0f, loss = 0.5f * (e * e);
    assert_true(fabs(m.loss - (double)loss) <= 1e-12);
}

static void test_not_a_number(void **state)
{
    const uint64_t quiet = UINT64_C(0x7FF8000000000000);
    float scores[LM_CLASSES] = {0};
    const uint8_t label[1] = {0};

    (void)state;
    struct lm_metrics m = lm_evaluate(scores, label, 0);
    assert_int_equal(m.n, 0);
    assert_int_equal(m.hits, 0);
    assert_true(isnan(m.loss) && isnan(m.accuracy));
    const uint32_t negative_nan = 0xFFC00000;
    memcpy(&scores[4], &negative_nan, sizeof negative_nan);
    m = lm_evaluate(scores, label, 1);
    assert_memory_equal(&m.loss, &quiet, sizeof quiet); /* the same bits on every machine */
    assert_true(m.accuracy == 1.0);
    scores[4] = 1e30f;
    m = lm_evaluate(scores, label, 1);
    assert_true(isinf(m.loss));
}

static void test_confusion(void **state)
{
    float scores[3 * LM_CLASSES] = {0};
    const uint8_t label[3] = {2, 2, 14};
    uint8_t predicted[3] = {99, 99, 99};
    uint64_t confusion[LM_CLASSES][LM_CLASSES] = {{0}}, sum = 0;

    (void)state;
    scores[0 * LM_CLASSES + 2] = 1.0f;
    scores[1 * LM_CLASSES + 5] = 1.0f;
    confusion[14][0] = 10; /* counts are added to what is there */
    lm_confusion(scores, label, 3, predicted, confusion);
    assert_int_equal(predicted[0], 2);
    assert_int_equal(predicted[1], 5);
    assert_int_equal(predicted[2], 0);
    assert_int_equal(confusion[2][2], 1);
    assert_int_equal(confusion[2][5], 1);
    assert_int_equal(confusion[14][0], 11);
    lm_confusion(scores, label, 3, NULL, confusion);
    for (int a = 0; a < LM_CLASSES; a++)
        for (int b = 0; b < LM_CLASSES; b++)
            sum += confusion[a][b];
    assert_int_equal(sum, 10 + 3 + 3);
    lm_confusion(scores, label, 0, NULL, confusion);
    assert_int_equal(confusion[2][5], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_maximum),  cmocka_unit_test(test_nan_scores),   cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_mean_in_double), cmocka_unit_test(test_not_a_number), cmocka_unit_test(test_confusion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
