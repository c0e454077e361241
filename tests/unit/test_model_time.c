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

/* ---- what later calibrations add, by hand ---- */

/* 1 byte a ns up to 4 MB, 3 ns from 256 MB on; at 32 MB, half of the way of six doublings, 2 ns. */
static void test_byte_time(void **state)
{
    (void)state;
    assert_true(near(lm_byte_time(1.0, 4e6, 1e9, 256e6, 1e9 / 3.0), 1e-9, 1e-12));
    assert_true(near(lm_byte_time(4e6, 4e6, 1e9, 256e6, 1e9 / 3.0), 1e-9, 1e-12));
    assert_true(near(lm_byte_time(32e6, 4e6, 1e9, 256e6, 1e9 / 3.0), 2e-9, 1e-12));
    assert_true(near(lm_byte_time(256e6, 4e6, 1e9, 256e6, 1e9 / 3.0), 3e-9, 1e-12));
    assert_true(near(lm_byte_time(1e12, 4e6, 1e9, 256e6, 1e9 / 3.0), 3e-9, 1e-12));
    assert_true(near(lm_byte_time(1e12, 4e6, 1e9, 256e6, 0.0), 1e-9, 1e-12));   /* not known */
    assert_true(near(lm_byte_time(1e12, 4e6, 1e9, 256e6, 1.1e9), 1e-9, 1e-12)); /* noise: no memory is faster far */
}

static void test_staging(void **state)
{
    struct lm_machine m = round_machine();
    (void)state;
    m.gpu.staging = 10e9;
    m.cpu.memory = 4e9;
    assert_true(near(lm_time_staging_in(&m, 10e6), 1e-3, 1e-12)); /* no more is known: a cache of 16 MB, then memory */
    assert_true(near(lm_time_staging_in(&m, 20e6), 1.6e-3 + 2e-3, 1e-12));
    assert_true(near(lm_time_staging_out(&m, 10e6), 1e-3, 1e-12));
    m.gpu.staging_cache = 5e9;
    m.gpu.staging_far = 2e9;
    m.gpu.staging_out = 4e9;
    assert_true(near(lm_time_staging_in(&m, LM_NEAR_BYTES), LM_NEAR_BYTES * 0.1e-9, 1e-12));
    assert_true(near(lm_time_staging_in(&m, LM_CACHE_BYTES), LM_CACHE_BYTES * 0.2e-9, 1e-12));
    /* one doubling of three from 512 KiB, then three of six from 4 MiB */
    assert_true(near(lm_time_staging_in(&m, 1048576.0), 1048576.0 * (0.1 + 0.1 / 3.0) * 1e-9, 1e-12));
    assert_true(near(lm_time_staging_in(&m, 33554432.0), 33554432.0 * 0.35e-9, 1e-12));
    assert_true(near(lm_time_staging_out(&m, 10e6), 2.5e-3, 1e-12));
    m.gpu.in_far = 0.25e9; /* in_pageable: 10 us and 1 ns a byte near, so 2.5 ns at 32 MiB */
    assert_true(near(lm_time_batch_in(&m, 2.0, 33554432.0), 20e-6 + 33554432.0 * 2.5e-9, 1e-12));
    assert_true(near(lm_time_batch_out(&m, 1.0, 33554432.0), 10e-6 + 33554432.0 * 1e-9, 1e-12));
}

static void test_allocations(void **state)
{
    struct lm_machine m = round_machine();
    (void)state;
    m.gpu.allocation = 80e-6;
    assert_true(near(lm_time_allocations(&m, 9.0, 3.0), 720e-6, 1e-12));
    m.gpu.allocation_more = 10e-6;
    assert_true(near(lm_time_allocations(&m, 9.0, 3.0), 300e-6, 1e-12));
    assert_true(lm_time_allocations(&m, 0.0, 0.0) == 0.0);
}

/* A batch whose kernels compute for nothing. global: two copies in, the clear and three launches, a copy out behind
 * them, of 12,544 + 256 n and 60 n bytes. */
static void test_batch_by_hand(void **state)
{
    struct lm_machine m = round_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    (void)state;
    m.gpu.clock = 1e30;
    m.gpu.bandwidth = m.gpu.l2_bandwidth = 1e30;
    m.gpu.behind = 3e-6;
    int n = lm_predict_score(&m, lab, 100.0, 0, p);
    double copies = 30e-6 + (12544.0 + 31600.0) * 1e-9 + 3e-6;
    assert_true(near(seconds_of(p, n, "gpu:whole+global"), copies + 4 * 2e-6, 1e-9));
    assert_true(near(seconds_of(p, n, "gpu:whole+fused"), copies + 2 * 2e-6, 1e-9));
    m.gpu.kernel = 5e-6; /* each: the host is no longer the slower one */
    n = lm_predict_score(&m, lab, 100.0, 0, p);
    assert_true(near(seconds_of(p, n, "gpu:whole+global"), copies + 3 * 5e-6, 1e-9));
    m.gpu.division = 7e-6; /* global has no shared memory, shared three sizes of it, fused one */
    n = lm_predict_score(&m, lab, 100.0, 0, p);
    assert_true(near(seconds_of(p, n, "gpu:whole+global"), copies + 3 * 5e-6, 1e-9));
    assert_true(near(seconds_of(p, n, "gpu:whole+shared"), copies + 3 * 12e-6, 1e-9));
    assert_true(near(seconds_of(p, n, "gpu:whole+fused"), copies + 12e-6, 1e-9));
    n = lm_predict_score(&m, lab, 131072.0, 0, p); /* two parts: fused divides once, shared six times */
    copies = 50e-6 + (12544.0 + 131072.0 * 316.0) * 1e-9 + 6e-6;
    assert_true(near(seconds_of(p, n, "gpu:whole+fused"), copies + 2 * 5e-6 + 7e-6, 1e-9));
    assert_true(near(seconds_of(p, n, "gpu:whole+shared"), copies + 6 * 12e-6, 1e-9));
}

/* Weights that were just copied: the first block waits for memory instead of L1, 400 - 20 cycles a load, once. */
static void test_cold_weights(void **state)
{
    struct lm_machine m = round_machine();
    struct lm_kernel k = {.threads = 32, .blocks = 1, .registers = 32, .chain_shared = 10, .chain_cold = 6};
    (void)state;
    assert_true(near(lm_time_kernel(&m, &k).latency, (10 * 20 + 6 * 380) * 1e-9, 1e-12));
    k.blocks = 321; /* two waves */
    assert_true(near(lm_time_kernel(&m, &k).latency, (2 * 10 * 20 + 6 * 380) * 1e-9, 1e-12));
}

/* 64-24-12-15 is 64 x 24 + 24 x 12 + 12 x 16 = 2,016 padded multiply-adds, 64-96-48-15 11,520; 64-64-32-15 is 6,656. */
static void test_other_shapes(void **state)
{
    struct lm_machine m = made_machine();
    const struct lm_shape middle = {64, 32}, widest = {128, 128}, least = {4, 4};
    (void)state;
    double by_stages = lm_time_step(&m, middle, 128.0);
    m.gpu.step_small = 2e-6;
    assert_true(lm_time_step(&m, middle, 128.0) == by_stages); /* one point is none */
    m.gpu.step_wide = 3e-6;
    assert_true(near(lm_time_step(&m, LM_SMALL_SHAPE, 128.0), 2e-6, 1e-12));
    assert_true(near(lm_time_step(&m, LM_WIDE_SHAPE, 128.0), 3e-6, 1e-12));
    assert_true(near(lm_time_step(&m, middle, 128.0), (2.0 + (6656.0 - 2016.0) / (11520.0 - 2016.0)) * 1e-6, 1e-12));
    assert_true(lm_time_step(&m, lab, 128.0) == m.gpu.step_whole);
    double blocks = lm_time_step_unscaled(&m, middle, 512.0) / lm_time_step_unscaled(&m, middle, 128.0);
    assert_true(near(lm_time_step(&m, middle, 512.0) / lm_time_step(&m, middle, 128.0), blocks, 1e-12));
    double wider = lm_time_step_unscaled(&m, widest, 128.0) / lm_time_step_unscaled(&m, LM_WIDE_SHAPE, 128.0);
    assert_true(near(lm_time_step(&m, widest, 128.0), 3e-6 * wider, 1e-12));
    m.gpu.step_wide = 20e-6; /* a line that would meet 0 at 960: least has 336, of the small one's 2,016 */
    assert_true(near(lm_time_step(&m, least, 128.0), 2e-6 * 336.0 / 2016.0, 1e-12));
    m.gpu.step_wide = 1e-6; /* noise: more work is not done sooner */
    assert_true(near(lm_time_step(&m, middle, 128.0), 2e-6, 1e-12));
}

/* A core's step with vectors of 16: outputs are padded, 2,624 against 11,520 multiply-adds; 64-64-32-15 has 6,656. */
static void test_cpu_shapes(void **state)
{
    struct lm_machine m = made_machine();
    const struct lm_shape middle = {64, 32};
    double small = lm_cost_step(LM_SMALL_SHAPE).flops, wide = lm_cost_step(LM_WIDE_SHAPE).flops;
    (void)state;
    assert_true(near(lm_time_cpu_step(&m, LM_CPU_AVX512, middle), lm_cost_step(middle).flops / 73e9, 1e-12));
    m.cpu.train_small[LM_CPU_AVX512] = small / 100e-9;
    m.cpu.train_wide[LM_CPU_AVX512] = wide / 500e-9;
    assert_true(near(lm_time_cpu_step(&m, LM_CPU_AVX512, LM_SMALL_SHAPE), 100e-9, 1e-12));
    assert_true(near(lm_time_cpu_step(&m, LM_CPU_AVX512, LM_WIDE_SHAPE), 500e-9, 1e-12));
    double part = (6656.0 - 2624.0) / (11520.0 - 2624.0);
    assert_true(near(lm_time_cpu_step(&m, LM_CPU_AVX512, middle), (100.0 + 400.0 * part) * 1e-9, 1e-12));
    assert_true(near(lm_time_cpu_step(&m, LM_CPU_AVX512, lab), lm_cost_step(lab).flops / 73e9, 1e-12));
    assert_true(near(lm_time_cpu_step(&m, LM_CPU_AVX2, middle), lm_cost_step(middle).flops / 57e9, 1e-12));
}

/* 16 cores together 8.5 times as fast as one: 4 threads 1 + 7.5 x 3 / 15 = 2.5 times, each 1.6 times as long. */
static void test_threads(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    (void)state;
    m.cpu.train_all = m.cpu.infer_all = 8.5;
    m.cpu.thread = 50e-6;
    m.cpu.thread_more = 5e-6;
    assert_true(lm_time_threads(&m, 1.0) == 0.0 && near(lm_time_threads(&m, 4.0), 60e-6, 1e-12));
    assert_true(lm_thread_share(&m, 8.5, 1.0) == 1.0 && near(lm_thread_share(&m, 8.5, 4.0), 1.6, 1e-12));
    assert_true(near(lm_thread_share(&m, 8.5, 16.0), 16.0 / 8.5, 1e-12));
    assert_true(lm_thread_share(&m, 0.5, 2.0) == 2.0); /* slower than one alone: not believed */
    /* 4 trainings: a turn; 18 on 16: two turns, the second with most of the cores idle */
    double one = 50e-6 + 180132.0 * lm_cost_step(lab).flops / 73e9;
    struct lm_training_work w = {lab, 3532.0, 51.0, 4.0, 128.0, 0.0, 0.0, 1};
    lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(near(p[4].seconds, 1.6 * one + 60e-6, 1e-12));
    w.replicas = 18.0;
    lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(near(p[4].seconds, 2.0 * one * 16.0 / 8.5 + 120e-6, 1e-12));
    /* 18,000 rows, 4 threads: five parts of 4,096; the fifth has 1,616, and somebody takes it after the first. In
     * batches of 32: 5,712 rows are 179 of them. */
    double batch = 32.0 * lm_cost_infer(lab).flops / 89e9;
    lm_predict_score(&m, lab, 18000.0, 0, p);
    assert_true(near(p[4].seconds, 1.6 * 179.0 * batch + m.cpu.call + 60e-6, 1e-9));
    /* 26,000 rows, 6 threads, seven parts, 1,424 in the last: 5,520 rows; 32,000, 7 threads, eight parts: 4,096 + 3,328
     */
    lm_predict_score(&m, lab, 26000.0, 0, p);
    double share = 6.0 / (1.0 + 7.5 * 5.0 / 15.0);
    assert_true(near(p[4].seconds, share * 173.0 * batch + m.cpu.call + 70e-6, 1e-9));
    lm_predict_score(&m, lab, 4096.0, 0, p);
    assert_true(p[4].seconds == p[3].seconds);
}

/* gpu:fast beside its steps: 190 us once, 3 us a replica more; two windows of 20,592 replicas more than one. */
static void test_replica_costs(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = {lab, 3532.0, 51.0, 1.0, 128.0, 0.0, 0.0, 0};
    (void)state;
    m.gpu.training_fast = 190e-6;
    m.gpu.replica = 3e-6;
    int n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(near(seconds_of(p, n, "gpu:fast"), 180132.0 * 0.43e-6 + 190e-6, 1e-12));
    w.replicas = 528.0;
    n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    assert_true(near(seconds_of(p, n, "gpu:fast"), 180132.0 * 0.43e-6 + 190e-6 + 527.0 * 3e-6, 1e-12));
    w.replicas = 20592.0; /* 13 turns; 21 epochs a window: three */
    n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    double more = 2.0 * (m.gpu.launch_wait + m.gpu.in_pageable.fixed + 2.0 * m.gpu.out_pageable.fixed);
    assert_true(near(seconds_of(p, n, "gpu:fast"), 13.0 * 180132.0 * 0.8e-6 + 190e-6 + 20591.0 * 3e-6 + more, 1e-12));
}

/* What the host does once a training (orders, first weights) it does for a GPU that trains one at a time, too; gpu:fast
 * does it on the device. */
static void test_host_part(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS], later[LM_PREDICTIONS];
    struct lm_training_work w = {lab, 3532.0, 51.0, 3.0, 128.0, 0.0, 0.0, 0};
    static const char *const led[] = {"gpu:naive", "gpu:resident", "gpu:batch", "gpu:whole"};
    (void)state;
    int n = lm_predict_train(&m, &w, 1, 0.0, 1.0, p);
    m.cpu.training += 1e-3;
    lm_predict_train(&m, &w, 1, 0.0, 1.0, later);
    for (int k = 0; k < 4; k++)
        assert_true(near(seconds_of(later, n, led[k]) - seconds_of(p, n, led[k]), 3e-3, 1e-6));
    assert_true(seconds_of(later, n, "gpu:fast") == seconds_of(p, n, "gpu:fast"));
}

/* With all of it known, too, nothing gets faster by more work. */
static void know_all(struct lm_machine *m)
{
    for (int way = 0; way < LM_CPU_WAYS; way++) {
        m->cpu.train_small[way] = 0.6 * m->cpu.train[way];
        m->cpu.train_wide[way] = 1.1 * m->cpu.train[way];
    }
    m->cpu.thread = 50e-6;
    m->cpu.thread_more = 5e-6;
    m->gpu.kernel = 1.5e-6;
    m->gpu.division = 2e-6;
    m->gpu.behind = 2e-6;
    m->gpu.allocation_more = 2e-6;
    m->gpu.staging_cache = 15e9;
    m->gpu.staging_far = 9e9;
    m->gpu.staging_out = 6e9;
    m->gpu.in_far = m->gpu.out_far = 6e9;
    m->gpu.step_small = 2e-6;
    m->gpu.step_wide = 3e-6;
    m->gpu.training_fast = 190e-6;
    m->gpu.replica = 3e-6;
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
static void check_monotone(struct lm_machine m)
{
    struct lm_prediction p[LM_PREDICTIONS], before[LM_PREDICTIONS];
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

static void test_monotone(void **state)
{
    struct lm_machine m = made_machine();
    (void)state;
    check_monotone(m);
    know_all(&m);
    check_monotone(m);
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
        cmocka_unit_test(test_cores),          cmocka_unit_test(test_byte_time),
        cmocka_unit_test(test_staging),        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_batch_by_hand),  cmocka_unit_test(test_cold_weights),
        cmocka_unit_test(test_other_shapes),   cmocka_unit_test(test_cpu_shapes),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_replica_costs),
        cmocka_unit_test(test_host_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
