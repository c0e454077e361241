/* test_model_phases.c: seconds of kernels in phases, by hand on a machine of round numbers: rounds of few warps step by
 * step, of many by the closed form that balanced stations have, at both limits, and never falling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "made_machine.h"
#include "model_phases.h"
#include "model_time.h"

static const struct lm_phase_costs free_of_cost = {0.0, 0.0, 0.0};

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* 10 multiprocessors at 1 GHz: a cycle is a nanosecond, and a byte a nanosecond a byte a cycle. */
static struct lm_machine round_machine(void)
{
    struct lm_machine m = made_machine();
    m.gpu.multiprocessors = 10.0;
    m.gpu.clock = 1e9;
    m.gpu.schedulers = 4.0;
    m.gpu.bandwidth = 1e9;
    m.gpu.l2_bandwidth = 2e9;
    m.gpu.latency_global = 400.0;
    m.gpu.latency_l2 = 200.0;
    m.gpu.latency_shared = 20.0;
    m.gpu.latency_constant = 30.0;
    m.gpu.latency_operation = 4.0;
    return m;
}

static double cycles_of(const struct lm_kernel *phase, int n)
{
    const struct lm_machine m = round_machine();
    return 1e9 * lm_time_phases(&m, &free_of_cost, phase, n);
}

/* Alone a warp only waits: 2 x 4 + 3 x 20 + 400 + 2 x 200 + 5 x 30 = 1018 cycles. Two have nothing to queue for. */
static void test_delay(void **state)
{
    (void)state;
    struct lm_kernel k = {.threads = 32, .blocks = 10, .chain_operations = 2, .chain_shared = 3, .memory_bytes = 1e-9};
    k.chain_global = 1;
    k.chain_l2 = 2;
    k.chain_constant = 5;
    assert_true(near(cycles_of(&k, 1), 1018.0));
    k.threads = 64;
    assert_true(near(cycles_of(&k, 1), 1018.0));
    const struct lm_machine m = round_machine();
    assert_true(lm_time_kernel(&m, &k).chain == 1018.0);
}

/* Delay 300, one station of 100 a warp. One: 400 cycles; queue 100/400. Two: stay 100 x 1.25, round 425; queue
 * 2 x 125/425. Three: stay 100 x (1 + 10/17), round 458.82... */
static void test_queue(void **state)
{
    (void)state;
    static const double wanted[] = {400.0, 425.0, 300.0 + 2700.0 / 17.0};
    for (int warps = 1; warps <= 3; warps++) {
        struct lm_kernel k = {
            .threads = 32.0 * warps, .blocks = 3, .chain_operations = 75, .wavefronts = 100.0 * warps};
        assert_true(near(cycles_of(&k, 1), wanted[warps - 1]));
        k.threads -= 31.0; /* a warp that is not full is one */
        assert_true(near(cycles_of(&k, 1), wanted[warps - 1]));
    }
}

/* K stations of demand d alike and no delay: n customers' round is d (n + K - 1). Each station in its own units: 4
 * schedulers; memory and L2 serve ten multiprocessors, five if only five have blocks; half of the constants miss. */
static void test_balanced(void **state)
{
    (void)state;
    const struct lm_phase_costs costs = {0.0, 256.0, 8.0};
    const struct lm_machine m = round_machine();
    for (int warps = 4; warps <= 32; warps += 7)
        for (int blocks = 5; blocks <= 10; blocks += 5) {
            const double all = 100.0 * warps;
            struct lm_kernel k = {.threads = 32.0 * warps, .blocks = blocks, .wavefronts = all};
            assert_true(near(cycles_of(&k, 1), all));
            k.instructions = 4.0 * all;
            assert_true(near(cycles_of(&k, 1), 100.0 * (warps + 1)));
            k.memory_bytes = all;
            assert_true(near(cycles_of(&k, 1), 100.0 * (warps + 2)));
            k.cache_bytes = 2.0 * all;
            assert_true(near(cycles_of(&k, 1), 100.0 * (warps + 3)));
            k.constant_loads = all / 4.0;
            k.constant_bytes = 512.0;
            assert_true(near(cycles_of(&k, 1), 100.0 * (warps + 3)));
            assert_true(near(1e9 * lm_time_phases(&m, &costs, &k, 1), 100.0 * (warps + 4)));
            k.constant_bytes = 256.0; /* all at hand */
            assert_true(near(1e9 * lm_time_phases(&m, &costs, &k, 1), 100.0 * (warps + 3)));
        }
}

/* 45 blocks on 10 multiprocessors, of 80,000 bytes each, so that two are resident: the busiest has 5, two turns of two
 * and one of one. A phase's rounds: 425 of two, 400 of one. The next one has no delay but a barrier's. A block's turn
 * is idle once, before the first phase. */
static void test_turns(void **state)
{
    (void)state;
    struct lm_machine m = round_machine();
    struct lm_kernel k[2] = {{.threads = 32, .blocks = 45, .shared_bytes = 80000.0}};
    k[1] = k[0];
    k[0].chain_operations = 75;
    k[0].wavefronts = 100;
    assert_true(near(cycles_of(k, 1), 425.0 + 425.0 + 400.0));
    k[1].wavefronts = 1000;
    k[1].barriers = 1;
    m.gpu.barrier[0] = 500.0;
    /* 500 and 1000: one 1500, queue 2/3; two 500 + 1000 x 5/3 */
    assert_true(near(1e9 * lm_time_phases(&m, &free_of_cost, k, 2), 1250.0 + 2.0 * (500.0 + 5000.0 / 3.0) + 1500.0));
    const struct lm_phase_costs costs = {.turn = 100.0};
    k[0].wavefronts = 0;
    k[1].wavefronts = 0;
    assert_true(near(1e9 * lm_time_phases(&m, &costs, k, 2), 3.0 * (300.0 + 100.0 + 500.0)));
}

static void test_limits(void **state)
{
    (void)state;
    struct lm_kernel k = {.threads = 256, .blocks = 1000, .chain_operations = 75, .wavefronts = 100};
    assert_true(cycles_of(&k, 0) == 0.0);
    k.shared_bytes = 1e6;
    assert_true(isinf(cycles_of(&k, 1)));
    k.blocks = 0;
    assert_true(cycles_of(&k, 1) == 0.0);
    struct lm_kernel nothing = {.threads = 256, .blocks = 1000};
    assert_true(cycles_of(&nothing, 1) == 0.0);
}

/* Between the busiest resource and everything one after the other; and more of anything takes no less. */
static void test_bounds(void **state)
{
    (void)state;
    const struct lm_machine m = round_machine();
    const struct lm_phase_costs costs = {700.0, 256.0, 8.0};
    const double step = 1.5;
    for (double memory = 1e3; memory < 1e9; memory *= 10.0)
        for (double work = 1e2; work < 1e6; work *= 10.0) {
            struct lm_kernel k = {.threads = 256, .blocks = 777, .chain_operations = 100, .chain_l2 = 1};
            k.memory_bytes = k.cache_bytes = memory;
            k.instructions = work;
            k.wavefronts = 0.7 * work;
            k.constant_loads = 0.01 * work;
            k.constant_bytes = 400.0;
            double now = lm_time_phases(&m, &costs, &k, 1);
            struct lm_kernel_time t = lm_time_kernel(&m, &k);
            double constants = 78.0 * k.constant_loads * 8.0 * (1.0 - 256.0 / 400.0) * 1e-9;
            double least = fmax(fmax(t.issue, t.wavefronts), fmax(t.cache, constants));
            double sum = t.issue + t.wavefronts + t.cache + constants + memory / 1e9;
            assert_true(now >= least && now >= memory / 1e9);
            assert_true(now <= 78.0 * (700.0 + t.chain) * 1e-9 + sum * 1.01);
            double *const count[] = {&k.memory_bytes,   &k.cache_bytes,    &k.instructions, &k.wavefronts,
                                     &k.constant_loads, &k.constant_bytes, &k.chain_l2,     &k.chain_operations};
            for (size_t c = 0; c < sizeof count / sizeof *count; c++) {
                double before = *count[c];
                *count[c] *= step;
                assert_true(lm_time_phases(&m, &costs, &k, 1) >= now * (1.0 - 1e-12));
                *count[c] = before;
            }
            k.blocks *= step; /* and their bytes with them */
            k.memory_bytes *= step;
            k.cache_bytes *= step;
            assert_true(lm_time_phases(&m, &costs, &k, 1) >= now * (1.0 - 1e-12));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay), cmocka_unit_test(test_queue),  cmocka_unit_test(test_balanced),
        cmocka_unit_test(test_turns), cmocka_unit_test(test_limits), cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
