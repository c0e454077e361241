/* test_model_time.c: seconds from counts: by hand on a machine of round numbers, at the limits, monotone; against the
 * lab's published figures, and against what an H200 needed (its own latencies are not known here: made_machine.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "made_machine.h"
#include "model_predict.h"

static const struct lm_shape lab = {32, 16};

static int near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b);
}

/* 10 multiprocessors at 1 GHz, latencies 400 and 20, one block each. */
static struct lm_machine round_machine(void)
{
    struct lm_machine m = made_machine();
    m.gpu.multiprocessors = 10.0;
    m.gpu.clock = 1e9;
    m.gpu.latency_global = 400.0;
    m.gpu.latency_l2 = 200.0;
    m.gpu.latency_shared = 20.0;
    m.gpu.latency_constant = 30.0;
    m.gpu.latency_operation = 4.0;
    m.gpu.launch = 2e-6;
    m.gpu.in_pageable = m.gpu.out_pageable = (struct lm_copy_cost){10e-6, 1e9};
    return m;
}

/* ---- the dissertation's form ---- */

/* (64000/64 + 640/64 400 + 64/64 30 + 1280/64 20) / 1e9 = (1000 + 4000 + 30 + 400) ns */
static void test_block_by_hand(void **state)
{
    struct lm_machine m = round_machine();
    struct lm_kernel k = {.launches = 1, .threads = 64, .blocks = 1, .operations = 64000};
    (void)state;
    k.global = 640;
    k.constant = 64;
    k.shared = 1280;
    assert_true(near(lm_time_block(&m, &k), 5430e-9, 1e-12));
    /* G blocks on m multiprocessors: turns */
    static const double turns[][2] = {{0, 0}, {1, 1}, {9, 1}, {10, 1}, {11, 2}, {20, 2}, {21, 3}};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        k.blocks = turns[i][0];
        assert_true(near(lm_time_stage(&m, &k), turns[i][1] * 5430e-9, 1e-12));
    }
    struct lm_calls c = {.bytes_in = 2e6, .bytes_out = 1e6};
    k.launches = 3.0;
    assert_true(near(lm_time_bound(&m, &c, &k, 1), 2e-3 + 1e-3 + 9 * 5430e-9, 1e-12));
    struct lm_calls none = {0};
    assert_true(lm_time_bound(&m, &none, &k, 0) == 0.0);
    assert_true(near(lm_time_sequential(6e9, 3e9), 2.0, 1e-12));
    assert_true(lm_time_sequential(0.0, 0.0) == 0.0 && isinf(lm_time_sequential(1.0, 0.0)));
}

/* The lab's figures from its fits (S_cpu 1.2 GFLOP/s; 4.5 us a copy in, 8 us out, 1.4 us a launch, 12 us an allocation
 * and free) and its own counts: 115.7774 s naive, 5.7497 s resident, 2.2276 s on a CPU. */
static void test_the_labs_figures(void **state)
{
    struct lm_training_work w = {lab, 3532.0, 51.0, 1.0, 128.0, 0.0, 0.0, 1};
    static const struct {
        enum lm_train_way way;
        double published;
    } figure[] = {{LM_TRAIN_LAB_NAIVE, 115.7774}, {LM_TRAIN_LAB_RESIDENT, 5.7497}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct lm_calls c = lm_calls_train(figure[k].way, &w);
        double seconds = c.allocations * 12e-6 + c.copies_in * 4.5e-6 + c.copies_out * 8e-6 + c.launches * 1.4e-6;
        assert_true(near(seconds, figure[k].published, 0.05));
    }
    assert_true(near(lm_time_sequential(180132.0 * lm_cost_step(lab).flops, 1.2e9), 2.2276, 0.15));
}

/* ---- refined ---- */

static void test_copies_by_hand(void **state)
{
    struct lm_machine m = round_machine();
    (void)state;
    assert_true(near(lm_time_copies(m.gpu.in_pageable, 3.0, 5e6), 30e-6 + 5e-3, 1e-12));
    assert_true(lm_time_copies(m.gpu.in_pageable, 0.0, 0.0) == 0.0);
    assert_true(near(lm_time_launches(&m, 100.0, 50e-6), 200e-6, 1e-12));  /* launches are the limit */
    assert_true(near(lm_time_launches(&m, 100.0, 900e-6), 900e-6, 1e-12)); /* kernels are */
    m.job.gather = (struct lm_copy_cost){1e-3, 1e6};
    m.job.file = (struct lm_copy_cost){2e-3, 1e6};
    assert_true(lm_time_gather(&m, 1.0, 1e6) == 0.0);
    assert_true(near(lm_time_gather(&m, 4.0, 1e6), 3e-3 + 0.75, 1e-12));
    assert_true(near(lm_time_file(&m, 3e6), 2e-3 + 3.0, 1e-12) && lm_time_file(&m, 0.0) == 0.0);
}

static void test_kernel_by_hand(void **state)
{
    struct lm_machine m = round_machine();
    struct lm_kernel k = {.threads = 128, .blocks = 10, .instructions = 4000, .registers = 64};
    (void)state;
    struct lm_kernel_time t = lm_time_kernel(&m, &k);
    assert_true(near(t.issue, 1e-6, 1e-12) && near(t.seconds, 1e-6, 1e-12)); /* 4000 / 4 schedulers */
    assert_string_equal(t.limit, "issue");
    assert_true(t.resident == 8.0); /* 65536 / (64 128) registers */
    k.blocks = 11;                  /* the busiest multiprocessor has two */
    assert_true(near(lm_time_kernel(&m, &k).issue, 2e-6, 1e-12));
    k.blocks = 10;
    k.wavefronts = 3000; /* one warp a scheduler: nothing overlaps, 3 + 1 us */
    t = lm_time_kernel(&m, &k);
    assert_true(near(t.seconds, 4e-6, 1e-12));
    assert_string_equal(t.limit, "shared memory");
    k.blocks = 20; /* two: 6 us, and half of the 2 that the other needs */
    assert_true(near(lm_time_kernel(&m, &k).seconds, 7e-6, 1e-12));
    /* one chain: 100 operations, 10 loads from shared memory, 5 from L2 (nothing of it in memory), a barrier */
    k = (struct lm_kernel){.threads = 32, .blocks = 1, .instructions = 10, .registers = 32};
    k.chain_operations = 100;
    k.chain_shared = 10;
    k.chain_global = 5;
    k.barriers = 1;
    t = lm_time_kernel(&m, &k);
    assert_true(near(t.latency, (400 + 200 + 1000 + m.gpu.barrier[0]) * 1e-9, 1e-12) && t.seconds == t.latency);
    k.memory_bytes = 1;
    assert_true(near(lm_time_kernel(&m, &k).latency, (400 + 200 + 2000 + m.gpu.barrier[0]) * 1e-9, 1e-12));
    k.blocks = 321; /* 33 on the busiest, 32 at once: two waves */
    assert_true(near(lm_time_kernel(&m, &k).latency, 2 * (2600 + m.gpu.barrier[0]) * 1e-9, 1e-12));
    k.shared_bytes = 1e9;
    t = lm_time_kernel(&m, &k);
    assert_true(t.resident == 0.0 && isinf(t.seconds));
    k.blocks = 0;
    assert_true(lm_time_kernel(&m, &k).seconds == 0.0);
}

/* Little's law: 10 blocks of 128 threads, 64 bytes each on their way for 400 ns: 204.8 GB/s, below the bandwidth. */
static void test_memory_by_hand(void **state)
{
    struct lm_machine m = round_machine();
    struct lm_kernel k = {.threads = 128, .blocks = 10, .registers = 32, .memory_bytes = 2048e3};
    (void)state;
    m.gpu.bandwidth = 1e12;
    assert_true(near(lm_time_kernel(&m, &k).memory, 10e-6, 1e-9));
    k.blocks = 1e4; /* 16 at once on each: more than the bandwidth bears */
    assert_true(near(lm_time_kernel(&m, &k).memory, 2.048e-6, 1e-9));
}

static void test_barrier(void **state)
{
    struct lm_machine m = made_machine();
    (void)state;
    assert_true(lm_barrier_cycles(&m, 1.0) == 12.0 && lm_barrier_cycles(&m, 2.0) == 16.0);
    assert_true(lm_barrier_cycles(&m, 3.0) == 19.0 && lm_barrier_cycles(&m, 4.0) == 22.0);
    assert_true(lm_barrier_cycles(&m, 24.0) == 60.0 && lm_barrier_cycles(&m, 32.0) == 75.0);
    assert_true(lm_barrier_cycles(&m, 64.0) == 75.0 && lm_barrier_cycles(&m, 0.5) == 12.0);
}

/* Warps: 132 x 12 at once. */
static void test_replicas(void **state)
{
    struct lm_machine m = made_machine();
    (void)state;
    assert_true(lm_replicas_at_once(&m) == 1584.0);
    assert_true(lm_time_replicas(&m, 0.0, 1e5) == 0.0);
    assert_true(near(lm_time_replicas(&m, 1.0, 1e5), 0.043, 1e-12));
    assert_true(near(lm_time_replicas(&m, 528.0, 1e5), 0.043, 1e-12)); /* 4 a multiprocessor: one a scheduler */
    assert_true(near(lm_time_replicas(&m, 1584.0, 1e5), 0.080, 1e-12));
    assert_true(near(lm_time_replicas(&m, 1056.0, 1e5), 0.0615, 1e-12)); /* 8: half way */
    assert_true(near(lm_time_replicas(&m, 1585.0, 1e5), 0.080 + 0.043, 1e-12));
}

/* ---- against an H200 ---- */

/* A step by blocks of other sizes than the one that calibrates, us (tests/gpu/bench_h200.txt, block sizes). */
static void test_block_sizes(void **state)
{
    static const double measured[][2] = {{32, 2.344}, {64, 1.513}, {256, 1.244}, {512, 1.293}, {1024, 1.548}};
    struct lm_machine m = made_machine();
    (void)state;
    assert_true(near(lm_time_step(&m, lab, 128.0), 1.244e-6, 1e-12));
    for (int k = 0; k < 5; k++)
        assert_true(near(lm_time_step(&m, lab, measured[k][0]), 1e-6 * measured[k][1], 0.10));
}

static double seconds_of(const struct lm_prediction *p, int n, const char *device)
{
    for (int k = 0; k < n; k++)
        if (strcmp(p[k].device, device) == 0)
            return p[k].seconds;
    return NAN;
}

/* One training and one batch of 878 (README.md, Figures): launches, copies and allocations decide, which are known. */
static void test_variants(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = {lab, 3532.0, 51.0, 1.0, 128.0, 0.0, 0.0, 1};
    static const struct {
        const char *device;
        double training;
    } measured[] = {{"gpu:naive", 63.9},  {"gpu:resident", 9.61}, {"gpu:batch", 0.2276}, {"gpu:whole", 0.2240},
                    {"gpu:fast", 0.0778}, {"cpu:avx512", 0.0321}, {"cpu:avx2", 0.0410},  {"cpu-ref", 0.763}};
    (void)state;
    int n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    for (size_t k = 0; k < sizeof measured / sizeof *measured; k++)
        assert_true(near(seconds_of(p, n, measured[k].device), measured[k].training, 0.15));
    n = lm_predict_score(&m, lab, 878.0, 0, p);
    assert_true(near(seconds_of(p, n, "gpu:naive"), 111.3e-3, 0.25));
    assert_true(near(seconds_of(p, n, "gpu:resident"), 27.5e-3, 0.25));
    assert_true(near(seconds_of(p, n, "gpu:whole+global"), 71.6e-6, 0.25));
    assert_true(near(seconds_of(p, n, "cpu:avx512"), 60.5e-6, 0.25));
    /* gpu:fast (tests/gpu/fast_h200.txt, "plain": memory that is not pinned): quick up to 16,384 samples, us */
    static const double small[][2] = {{1, 8.1},     {64, 11.1},    {878, 28.5},   {2048, 51.8},
                                      {4096, 98.4}, {8192, 180.4}, {16384, 353.4}};
    for (int k = 0; k < 7; k++) {
        n = lm_predict_score(&m, lab, small[k][0], 0, p);
        assert_true(near(seconds_of(p, n, "gpu:fast"), 1e-6 * small[k][1], 0.25));
    }
    n = lm_predict_score(&m, lab, 4194304.0, 1, p); /* on the device: 6.38 G samples/s */
    assert_true(near(4194304.0 / seconds_of(p, n, "gpu:fast"), 6.38e9, 0.25));
    /* 20,592 at once: 10,540 a second */
    w.replicas = 20592.0;
    n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(near(20592.0 / seconds_of(p, n, "gpu:fast"), 10540.0, 0.15));
}

/* ---- limits and order ---- */

static void test_no_work(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = {lab, 0.0, 51.0, 3.0, 128.0, 0.0, 0.0, 1};
    (void)state;
    for (int k = 0; k < 3; k++) { /* no samples, no epochs, no replicas */
        int n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
        assert_int_equal(n, 10);
        for (int i = 0; i < n; i++)
            assert_true(p[i].seconds >= 0.0 && p[i].seconds < 1e-3 && p[i].fits);
        w.samples = 3532.0;
        w.epochs = k == 0 ? 0.0 : 51.0;
        w.replicas = k == 1 ? 0.0 : 3.0;
    }
    int n = lm_predict_score(&m, lab, 0.0, 0, p);
    for (int i = 0; i < n; i++)
        assert_true(p[i].seconds == 0.0 && p[i].bound == 0.0);
    assert_int_equal(lm_predict_train(&m, &w, 0, 0.0, 1.0, p), 10);
    m.gpu.multiprocessors = 0.0; /* no GPU, no candidates of it */
    assert_int_equal(lm_predict_train(&m, &w, 1, 0.0, 1.0, p), 5);
    assert_int_equal(lm_predict_score(&m, lab, 5.0, 1, p), 0);
}

/* More samples, replicas or bytes never take less time; fewer ranks neither. */
static void test_monotone(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS], before[LM_PREDICTIONS];
    (void)state;
    for (int on_device = 0; on_device < 2; on_device++)
        for (double n = 1.0; n <= 8388608.0; n *= 2.0) {
            int count = lm_predict_score(&m, lab, n, on_device, p);
            for (int k = 0; k < count - 1; k++) { /* the last, gpu:fast, changes its way at 16,384 */
                assert_true(n == 1.0 || p[k].seconds >= before[k].seconds * (1.0 - 1e-12));
                assert_true(p[k].seconds > 0.0 && p[k].bound > 0.0);
            }
            memcpy(before, p, sizeof p);
        }
    for (double r = 1.0; r <= 30000.0; r = ceil(r * 1.3)) {
        struct lm_training_work w = {lab, 3532.0, 51.0, r, 128.0, 0.0, 0.0, 1};
        int count = lm_predict_train(&m, &w, 1, 878.0, 1.0, p);
        for (int k = 0; k < count; k++)
            assert_true(r == 1.0 || p[k].seconds >= before[k].seconds * (1.0 - 1e-12));
        memcpy(before, p, sizeof p);
        lm_predict_train(&m, &w, 1, 878.0, 4.0, p);
        for (int k = 0; k < count; k++)
            assert_true(p[k].seconds <= before[k].seconds * (1.0 + 1e-12));
    }
}

/* A network too large for one block's shared memory cannot be trained by a block; a batch larger than memory nowhere.
 */
static void test_fits(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = {{128, 128}, 3532.0, 51.0, 1.0, 128.0, 0.0, 0.0, 1};
    (void)state;
    m.gpu.block_shared = 49152.0;
    int n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(isinf(seconds_of(p, n, "gpu:whole")) && isinf(seconds_of(p, n, "gpu:fast")));
    assert_true(isfinite(seconds_of(p, n, "gpu:resident")));
    w.shape = lab;
    n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(isfinite(seconds_of(p, n, "gpu:whole")));
    m.gpu.memory = 1000.0;
    n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(isinf(seconds_of(p, n, "gpu:resident")) && isfinite(seconds_of(p, n, "cpu:avx2")));
}

/* 16 cores: as many trainings side by side, one training no faster. */
static void test_cores(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = {lab, 3532.0, 51.0, 16.0, 128.0, 0.0, 0.0, 1};
    (void)state;
    lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_string_equal(p[4].where, "all cores");
    assert_string_equal(p[4].device, "cpu:avx512");
    assert_true(near(p[3].seconds, 16.0 * p[4].seconds, 1e-9));
    w.replicas = 1.0;
    lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(p[4].seconds == p[3].seconds);
    double by_hand = 50e-6 + 180132.0 * lm_cost_step(lab).flops / 73e9;
    assert_true(near(p[3].seconds, by_hand, 1e-12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_by_hand),  cmocka_unit_test(test_the_labs_figures),
        cmocka_unit_test(test_copies_by_hand), cmocka_unit_test(test_kernel_by_hand),
        cmocka_unit_test(test_memory_by_hand), cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_replicas),       cmocka_unit_test(test_block_sizes),
        cmocka_unit_test(test_variants),       cmocka_unit_test(test_no_work),
        cmocka_unit_test(test_monotone),       cmocka_unit_test(test_fits),
        cmocka_unit_test(test_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
