/* test_model_decide.c: the rule, its margin, the regret, the crossover, and what ten runs teach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "made_machine.h"
#include "model_decide.h"

static const struct lm_shape lab = {32, 16};

static struct lm_prediction made(const char *device, int gpu, double seconds)
{
    return (struct lm_prediction){
        .device = device, .where = "here", .gpu = gpu, .fits = 1, .seconds = seconds, .limit = "launches"};
}

static void test_rule(void **state)
{
    struct lm_prediction p[4] = {made("cpu-ref", 0, 9.0), made("cpu:avx2", 0, 1.2), made("gpu:naive", 1, 50.0),
                                 made("gpu:fast", 1, 1.01)};
    (void)state;
    struct lm_decision d = lm_decide(p, 4, 0.2); /* 1.01 x 1.2 = 1.212 is not below 1.2 */
    assert_true(d.chosen == 1 && !d.offload && d.cpu == 1 && d.gpu == 3);
    assert_true(fabs(d.gain - 1.01 / 1.2) < 1e-12);
    p[3].seconds = 0.99; /* 1.188 is */
    d = lm_decide(p, 4, 0.2);
    assert_true(d.chosen == 3 && d.offload);
    p[3].seconds = 1.19; /* without a margin the faster one */
    assert_true(lm_decide(p, 4, 0.0).offload);
    p[3].seconds = 1.2; /* of equals the CPU */
    assert_false(lm_decide(p, 4, 0.0).offload);
    p[3].seconds = 0.01;
    p[3].fits = 0; /* whatever it would take, and the other one is slower */
    d = lm_decide(p, 4, 0.2);
    assert_true(!d.offload && d.gpu == 2);
}

static void test_alone(void **state)
{
    struct lm_prediction p[2] = {made("cpu-ref", 0, 9.0), made("gpu:fast", 1, 10.0)};
    char text[300];
    (void)state;
    struct lm_decision d = lm_decide(p, 1, 0.2);
    assert_true(d.chosen == 0 && d.gpu == -1 && isinf(d.gain));
    lm_decision_text(p, &d, text, sizeof text);
    assert_string_equal(text, "cpu-ref (here): 9 s, there is no GPU that can");
    d = lm_decide(p + 1, 1, 0.2);
    assert_true(d.chosen == 0 && d.offload && d.cpu == -1);
    p[0].fits = 0;
    d = lm_decide(p, 1, 0.2);
    assert_int_equal(d.chosen, -1);
    lm_decision_text(p, &d, text, sizeof text);
    assert_string_equal(text, "nothing that fits");
    assert_int_equal(lm_decide(p, 0, 0.2).chosen, -1);
}

static void test_words(void **state)
{
    struct lm_prediction p[2] = {made("cpu:avx2", 0, 4.0), made("gpu:fast", 1, 2.0)};
    char text[300];
    (void)state;
    struct lm_decision d = lm_decide(p, 2, 0.2);
    lm_decision_text(p, &d, text, sizeof text);
    assert_string_equal(text,
                        "gpu:fast (here): 2 s, 2 times as fast as cpu:avx2 (here), whose time is mostly launches");
    p[1].seconds = 3.9;
    d = lm_decide(p, 2, 0.2);
    lm_decision_text(p, &d, text, sizeof text);
    assert_string_equal(text, "cpu:avx2 (here): 4 s; gpu:fast (here) would be 1.03 times as fast, less than the "
                              "model's error (20 %)");
}

static void test_regret(void **state)
{
    (void)state;
    assert_true(lm_regret(1.0, 2.0) == 0.0 && lm_regret(2.0, 2.0) == 0.0);
    assert_true(fabs(lm_regret(2.5, 2.0) - 0.25) < 1e-12);
    assert_true(lm_regret(1.0, 0.0) == 0.0);
}

/* At the crossover, and nowhere before, the rule says GPU. */
static void test_crossover(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    (void)state;
    m.cpu.infer_all = 1.0; /* one core */
    double n = lm_crossover(&m, lab, 0.2, 4194304.0);
    assert_true(n > 100.0 && n < 100000.0);
    int count = lm_predict_score(&m, lab, n, 0, p);
    assert_true(lm_decide(p, count, 0.2).offload);
    count = lm_predict_score(&m, lab, n - 1.0, 0, p);
    assert_false(lm_decide(p, count, 0.2).offload);
    assert_true(lm_crossover(&m, lab, 0.5, 4194304.0) > n); /* a larger margin waits for longer */
    m.gpu.in_pageable.rate = m.gpu.in_pinned.rate = 1e6;    /* a link that slow never pays */
    assert_true(lm_crossover(&m, lab, 0.2, 4194304.0) == 0.0);
    m = made_machine();
    m.cpu.infer[LM_CPU_REF] = 1.0; /* a CPU that slow always does */
    m.cpu.infer[LM_CPU_AVX2] = m.cpu.infer[LM_CPU_AVX512] = m.cpu.infer[LM_CPU_PORTABLE] = 0.0;
    assert_true(lm_crossover(&m, lab, 0.2, 4194304.0) == 1.0);
}

static void test_history(void **state)
{
    static struct lm_history h;
    struct lm_prediction a = made("gpu:fast", 1, 2.0), b = made("cpu:avx2", 0, 1.0), c = b;
    (void)state;
    c.where = "elsewhere";
    for (int k = 0; k < LM_HISTORY_RUNS; k++) {
        assert_true(lm_history_factor(&h, &a, 1500.0) == 1.0);
        lm_history_add(&h, &a, 1024.0 + k, 2.0 * (1.45 + 0.01 * k)); /* ratios 1.45 to 1.54 */
    }
    assert_true(fabs(lm_history_factor(&h, &a, 2047.0) - 1.495) < 1e-12);
    assert_true(lm_history_factor(&h, &a, 2048.0) == 1.0); /* another size class */
    assert_true(lm_history_factor(&h, &b, 1500.0) == 1.0); /* another device */
    for (int k = 0; k < LM_HISTORY_RUNS; k++)
        lm_history_add(&h, &a, 1100.0, 6.0); /* the machine has changed: the last ten count */
    assert_true(fabs(lm_history_factor(&h, &a, 1100.0) - 3.0) < 1e-12);
    for (int k = 0; k < LM_HISTORY_RUNS; k++)
        lm_history_add(&h, &b, 1100.0, 0.5);
    struct lm_prediction p[3] = {a, b, c};
    lm_history_refine(&h, 1100.0, p, 3);
    assert_true(p[0].seconds == 6.0 && p[1].seconds == 0.5 && p[2].seconds == 1.0);
    lm_history_add(&h, &a, 1100.0, 0.0); /* no times */
    lm_history_add(&h, &a, 1100.0, NAN);
    lm_history_add(&h, &a, 0.0, 1.0);
    assert_int_equal(h.n, 2);
    assert_true(fabs(lm_history_factor(&h, &a, 1100.0) - 3.0) < 1e-12);
}

/* A full history forgets who ran least. */
static void test_full_history(void **state)
{
    static struct lm_history h;
    char name[LM_HISTORY_CLASSES + 1][24];
    (void)state;
    for (int k = 0; k < LM_HISTORY_CLASSES; k++) {
        snprintf(name[k], sizeof name[k], "gpu:%d", k);
        struct lm_prediction p = made(name[k], 1, 1.0);
        for (int r = 0; r < (k == 77 ? 5 : LM_HISTORY_RUNS); r++)
            lm_history_add(&h, &p, 10.0, 2.0);
    }
    struct lm_prediction late = made("gpu:late", 1, 1.0), kept = made(name[78], 1, 1.0), gone = made(name[77], 1, 1.0);
    for (int r = 0; r < LM_HISTORY_RUNS; r++)
        lm_history_add(&h, &late, 10.0, 4.0);
    assert_int_equal(h.n, LM_HISTORY_CLASSES);
    assert_true(lm_history_factor(&h, &late, 10.0) == 4.0);
    assert_true(lm_history_factor(&h, &kept, 10.0) == 2.0);
    assert_true(lm_history_factor(&h, &gone, 10.0) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),         cmocka_unit_test(test_alone),     cmocka_unit_test(test_words),
        cmocka_unit_test(test_regret),       cmocka_unit_test(test_crossover), cmocka_unit_test(test_history),
        cmocka_unit_test(test_full_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
