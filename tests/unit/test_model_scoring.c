/* test_model_scoring.c: what it takes to score the networks that were trained: by hand, where only copies cost
 * anything; the parts of a prediction; what other ways than gpu:fast do, one network after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "made_machine.h"
#include "model_predict.h"
#include "model_scoring.h"

#define NETWORK 11452.0 /* bytes of 2,863 floats */
#define SCORE   5711.0  /* FLOP: 2 x 2,800 multiply-adds, 63 biases, 48 ReLUs */

static const struct lm_shape lab = {32, 16};

static int near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b);
}

static struct lm_training_work work_of(double replicas)
{
    return (struct lm_training_work){lab, 3532.0, 51.0, replicas, 128.0, 0.0, 0.0, 1};
}

static const struct lm_prediction *find(const struct lm_prediction *p, int n, const char *device, const char *where)
{
    for (int k = 0; k < n; k++)
        if (strcmp(p[k].device, device) == 0 && strcmp(p[k].where, where) == 0)
            return &p[k];
    fail_msg("no %s, %s", device, where);
    return NULL;
}

/* A GPU whose kernels and launches take next to nothing. */
static struct lm_machine only_copies(void)
{
    struct lm_machine m = made_machine();
    m.gpu.clock = 1e30;
    m.gpu.l2_bandwidth = m.gpu.bandwidth = 1e30;
    m.gpu.launch = m.gpu.launch_wait = 1e-30;
    m.gpu.staging = m.gpu.staging_cache = m.gpu.staging_far = 1e9; /* wherever the networks are */
    m.gpu.in_pageable = (struct lm_copy_cost){1e-3, 1e6};
    m.gpu.in_pinned = (struct lm_copy_cost){2e-3, 2e9};
    m.gpu.out_pinned = (struct lm_copy_cost){3e-3, 4e9};
    return m;
}

/* 2,050 networks are three calls: 1,024, 1,024 and 2. */
static void test_copies_by_hand(void **state)
{
    struct lm_machine m = only_copies();
    struct lm_training_work w = work_of(2050.0);
    double samples = 2.0 * 1e-3 + 350.0 * 257.0 / 1e6, host = 2050.0 * NETWORK / 1e9;
    double in = 3.0 * 2e-3 + 2050.0 * NETWORK / 2e9, out = 6.0 * 3e-3 + 2050.0 * 12.0 / 4e9;
    (void)state;
    assert_true(near(lm_time_scoring(&m, LM_TRAIN_FAST, &w, 1, 350.0, 1.0), samples + host + in + out, 1e-9));
    /* a third: the slowest rank has 684 */
    host = 684.0 * NETWORK / 1e9;
    in = 2e-3 + 684.0 * NETWORK / 2e9;
    out = 2.0 * 3e-3 + 684.0 * 12.0 / 4e9;
    assert_true(near(lm_time_scoring(&m, LM_TRAIN_FAST, &w, 1, 350.0, 3.0), samples + host + in + out, 1e-9));
}

/* Kinds of one shape go together, whatever their blocks. */
static void test_kinds_together(void **state)
{
    struct lm_machine m = only_copies();
    struct lm_training_work one = work_of(600.0), two[2] = {work_of(200.0), work_of(400.0)};
    (void)state;
    two[1].block = 32.0;
    double together = lm_time_scoring(&m, LM_TRAIN_FAST, &one, 1, 350.0, 1.0);
    assert_true(near(lm_time_scoring(&m, LM_TRAIN_FAST, two, 2, 350.0, 1.0), together, 1e-12));
    assert_true(lm_time_scoring(&m, LM_TRAIN_FAST, &one, 1, 0.0, 1.0) == 0.0);
    assert_true(lm_time_scoring(&m, LM_TRAIN_FAST, &one, 0, 350.0, 1.0) == 0.0);
    one.replicas = 0.0;
    assert_true(lm_time_scoring(&m, LM_TRAIN_FAST, &one, 1, 350.0, 1.0) == 0.0);
}

/* Others: as long as so many batches of their own kernels. */
static void test_one_by_one(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = work_of(10.0);
    (void)state;
    int n = lm_predict_score(&m, lab, 878.0, 0, p);
    double global = find(p, n, "gpu:whole+global", "weights in global memory")->seconds;
    double naive = find(p, n, "gpu:naive", "weights travel with every call")->seconds;
    assert_true(near(lm_time_scoring(&m, LM_TRAIN_WHOLE, &w, 1, 878.0, 1.0), 10.0 * global, 1e-12));
    assert_true(near(lm_time_scoring(&m, LM_TRAIN_BATCH, &w, 1, 878.0, 4.0), 3.0 * global, 1e-12));
    assert_true(near(lm_time_scoring(&m, LM_TRAIN_NAIVE, &w, 1, 878.0, 1.0), 10.0 * naive, 1e-12));
    w.shape = (struct lm_shape){64, 32}; /* gpu:fast, of another shape than the lab's */
    n = lm_predict_score(&m, w.shape, 878.0, 0, p);
    global = find(p, n, "gpu:whole+global", "weights in global memory")->seconds;
    assert_true(near(lm_time_scoring(&m, LM_TRAIN_FAST, &w, 1, 878.0, 1.0), 10.0 * global, 1e-12));
}

/* The kernel: no fewer instructions than the multiply-adds, no more than three times as many; all at work, it takes no
 * less than the plain peak allows. */
static void test_kernel(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_kernel k = lm_kernel_metrics(5000.0, 384.0), none = lm_kernel_metrics(0.0, 384.0);
    (void)state;
    assert_true(k.blocks == 5000.0 && k.threads == 128.0 && k.useful == 384.0 * 2800.0);
    assert_true(k.instructions * 32.0 >= k.useful && k.instructions * 32.0 <= 3.0 * k.useful);
    double peak = 132.0 * 4.0 * 32.0 * 1.98e9, seconds = lm_time_kernel(&m, &k).seconds;
    assert_true(seconds >= 5000.0 * 384.0 * 2800.0 / peak && seconds <= 10.0 * 5000.0 * 384.0 * 2800.0 / peak);
    assert_true(lm_time_kernel(&m, &none).seconds == 0.0);
}

/* The scores are a part of the seconds, and nothing else in them depends on the samples. */
static void test_part_of_prediction(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction with[LM_PREDICTIONS], without[LM_PREDICTIONS];
    struct lm_training_work w = work_of(12.0);
    (void)state;
    int n = lm_predict_train(&m, &w, 1, 878.0, 1.0, with);
    assert_int_equal(lm_predict_train(&m, &w, 1, 0.0, 1.0, without), n);
    for (int k = 0; k < n; k++) {
        assert_true(with[k].scoring > 0.0 && without[k].scoring == 0.0);
        assert_true(near(with[k].seconds - with[k].scoring, without[k].seconds, 1e-9));
    }
    double core = find(with, n, "cpu:avx512", "one core")->scoring;
    assert_true(near(core, 12.0 * 878.0 * SCORE / 89e9, 1e-12));
    assert_true(
        near(find(with, n, "cpu:avx512", "all cores")->scoring, core / 12.0, 1e-12)); /* 16 cores, 12 trainings */
    m.gpu.memory = 1000.0;
    lm_predict_train(&m, &w, 1, 878.0, 1.0, with);
    const struct lm_prediction *none = find(with, n, "gpu:fast", "weights in registers");
    assert_true(!none->fits && isinf(none->seconds) && none->scoring == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_by_hand),     cmocka_unit_test(test_kinds_together),
        cmocka_unit_test(test_one_by_one),         cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_part_of_prediction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
