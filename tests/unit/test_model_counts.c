/* test_model_counts.c: the model's counts against what an NVIDIA H200 counted (tests/gpu/bench_h200.txt and
 * fast_h200.txt: 51 epochs of 3,532 samples, 878 test samples), against cost.h, and at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "model_counts.h"

static const struct lm_shape lab = {32, 16};

static struct lm_training_work the_lab(double epochs)
{
    return (struct lm_training_work){lab, 3532.0, epochs, 1.0, 128.0, 1.24e-6, 1584.0, 1};
}

static void check(struct lm_calls c, double launches, double in, double out, double allocations, double mb_in,
                  double mb_out)
{
    assert_true(c.launches == launches);
    assert_true(c.copies_in == in);
    assert_true(c.copies_out == out);
    assert_true(c.allocations == allocations && c.frees == allocations);
    assert_true(fabs(1e-6 * c.bytes_in - mb_in) < 0.0006); /* three digits behind the point are printed */
    assert_true(fabs(1e-6 * c.bytes_out - mb_out) < 0.0006);
}

static void test_measured_training(void **state)
{
    struct lm_training_work w = the_lab(51.0), ten = the_lab(10.0);
    (void)state;
    check(lm_calls_train(LM_TRAIN_WHOLE, &w), 1, 2, 2, 0, 0.733, 0.013);
    check(lm_calls_train(LM_TRAIN_BATCH, &w), 51, 52, 52, 0, 0.733, 0.013);
    check(lm_calls_train(LM_TRAIN_FAST, &w), 4, 1, 3, 0, 0.000, 0.012);
    check(lm_calls_train(LM_TRAIN_NAIVE, &w), 1441056, 3782772, 1441056, 4683432, 5452.956, 2339.554);
    /* resident was measured for 10 epochs and stated for 51, its two copies of the network too */
    struct lm_calls c = lm_calls_train(LM_TRAIN_RESIDENT, &ten);
    assert_true(c.launches * 5.1 == 1441056.0);
    assert_true(fabs(c.copies_in * 5.1 - 360269.0) < 0.5 && fabs(c.copies_out * 5.1 - 180137.0) < 0.5);
    assert_true(fabs(c.bytes_in * 5.1e-6 - 56.986) < 0.0006 && fabs(c.bytes_out * 5.1e-6 - 10.872) < 0.0006);
}

static void test_measured_batch(void **state)
{
    (void)state;
    check(lm_calls_score(LM_SCORE_FUSED, lab, 878.0), 1, 2, 1, 0, 0.237, 0.053);
    check(lm_calls_score(LM_SCORE_SHARED, lab, 878.0), 3, 2, 1, 0, 0.237, 0.053);
    check(lm_calls_score(LM_SCORE_GLOBAL, lab, 878.0), 3, 2, 1, 0, 0.237, 0.053);
    check(lm_calls_score(LM_SCORE_RESIDENT, lab, 878.0), 2634, 879, 878, 0, 0.237, 0.053);
    check(lm_calls_score(LM_SCORE_NAIVE, lab, 878.0), 2634, 5268, 2634, 7902, 11.407, 0.221);
}

/* What no counter of a session shows. naive.c: of 3 (forward, updates) or 4 arrays a call (deltas), one comes first; a
 * copy out a call. score.c: e's padding is cleared once a batch, the scores are asked for behind the kernels. */
static void test_not_counted(void **state)
{
    struct lm_training_work w = {lab, 1.0, 1.0, 1.0, 128.0, 0.0, 0.0, 1};
    (void)state;
    struct lm_calls c = lm_calls_train(LM_TRAIN_NAIVE, &w);
    assert_true(c.allocations == 6.0 * 3.0 + 2.0 * 4.0 && c.openings == 8.0 && c.behind == 8.0 && c.clears == 0.0);
    c = lm_calls_score(LM_SCORE_NAIVE, lab, 10.0);
    assert_true(c.allocations == 90.0 && c.openings == 30.0 && c.behind == 30.0 && c.clears == 0.0);
    c = lm_calls_score(LM_SCORE_RESIDENT, lab, 10.0);
    assert_true(c.openings == 0.0 && c.behind == 10.0 && c.clears == 1.0);
    c = lm_calls_score(LM_SCORE_FUSED, lab, 65537.0); /* two parts */
    assert_true(c.behind == 2.0 && c.clears == 1.0);
    c = lm_calls_score(LM_SCORE_PIPE, lab, 65537.0);
    assert_true(c.behind == 0.0 && c.clears == 0.0);
    w = the_lab(51.0);
    assert_true(lm_calls_train(LM_TRAIN_WHOLE, &w).clears == 1.0); /* losses of 51 epochs */
    assert_true(lm_calls_train(LM_TRAIN_BATCH, &w).clears == 0.0);
    w.step_seconds = 1e-3; /* parts of an epoch */
    assert_true(lm_calls_train(LM_TRAIN_WHOLE, &w).clears == 0.0);
    assert_true(lm_calls_first(LM_TRAIN_WHOLE, &w).openings == 1.0);
}

/* Groups of four: 64 x 32 + 32 x 16 + 16 x 16; outputs in whole vectors of 16: 64 x 32 + 24 x 16 + 12 x 16. */
static void test_padded_products(void **state)
{
    (void)state;
    assert_true(lm_padded_products(lab, 4.0) == 2816.0);
    assert_true(lm_padded_products((struct lm_shape){24, 12}, 16.0) == 2624.0);
    assert_true(lm_padded_products((struct lm_shape){5, 3}, 1.0) == 64 * 5 + 8 * 3 + 4 * 15);
}

/* fused: a warp has 8, 4 and 4 neurons of the three layers, and waits 4, 2 and 1 times for weights and once for a bias:
 * 8 x 5 + 4 x 3 + 4 x 2. shared: 16 rows of 69 floats by 128 threads, four loads each on their way: 3 waits, and one
 * for the biases; a thread has as many samples as there are groups of 8, 8 at the most. */
static void test_cold_weights(void **state)
{
    struct lm_kernel k[LM_MOST_KERNELS];
    (void)state;
    lm_kernels_score(LM_SCORE_FUSED, lab, 878.0, 132.0, k);
    assert_true(k[0].chain_cold == 60.0 && k[0].chain_shared == 60.0 && k[0].chain_global == 4.0);
    lm_kernels_score(LM_SCORE_FUSED, lab, 1.0, 132.0, k);
    assert_true(k[0].chain_global == 1.0);
    static const double each[][2] = {{1, 1}, {8, 1}, {9, 2}, {64, 8}, {1000, 8}};
    for (int i = 0; i < 5; i++) {
        lm_kernels_score(LM_SCORE_SHARED, lab, each[i][0], 132.0, k);
        assert_true(k[0].chain_cold == 4.0 && k[0].chain_global == each[i][1] * 4.0);
        assert_true(k[1].chain_global == each[i][1] * 2.0);
    }
}

/* The lab's own programs, a sample: the counts that the lab published. */
static void test_the_labs_programs(void **state)
{
    struct lm_training_work w = {lab, 1.0, 1.0, 1.0, 128.0, 0.0, 0.0, 1};
    (void)state;
    struct lm_calls c = lm_calls_train(LM_TRAIN_LAB_NAIVE, &w);
    assert_true(c.allocations == 33.0 && c.frees == 33.0 && c.copies_in == 23.0 && c.copies_out == 13.0 &&
                c.launches == 11.0);
    c = lm_calls_train(LM_TRAIN_LAB_RESIDENT, &w);
    assert_true(c.copies_in == 2.0 && c.copies_out == 1.0 && c.launches == 11.0 && c.allocations == 0.0);
    assert_true(c.bytes_in == 256.0 + 60.0 && c.bytes_out == 60.0);
}

static void test_nothing(void **state)
{
    (void)state;
    for (int way = 0; way < LM_TRAIN_WAYS; way++) {
        struct lm_training_work w = the_lab(51.0);
        w.replicas = 0.0;
        struct lm_calls c = lm_calls_train(way, &w);
        assert_true(c.launches == 0.0 && c.copies_in == 0.0 && c.copies_out == 0.0 && c.bytes_in == 0.0);
        assert_true(lm_train_way_name(way)[0] != '\0');
    }
    for (int way = 0; way < LM_SCORE_WAYS; way++) {
        struct lm_calls c = lm_calls_score(way, lab, 0.0);
        assert_true(c.launches == 0.0 && c.copies_in == 0.0 && c.bytes_in == 0.0);
        assert_true(lm_score_way_name(way)[0] != '\0');
    }
}

/* Launches that would last longer than a second are split; parts of a batch; windows of many replicas. */
static void test_split(void **state)
{
    struct lm_training_work w = the_lab(51.0);
    (void)state;
    w.step_seconds = 1e-4; /* an epoch 0.3532 s: two fit a launch */
    assert_true(lm_calls_train(LM_TRAIN_WHOLE, &w).launches == 26.0);
    assert_true(lm_calls_train(LM_TRAIN_WHOLE, &w).copies_in == 27.0);
    w.step_seconds = 1e-3; /* an epoch 3.5 s: four launches each, which share the orders */
    assert_true(lm_calls_train(LM_TRAIN_WHOLE, &w).launches == 204.0);
    assert_true(lm_calls_train(LM_TRAIN_BATCH, &w).launches == 204.0);
    assert_true(lm_calls_train(LM_TRAIN_BATCH, &w).copies_in == 52.0);
    assert_true(lm_calls_score(LM_SCORE_GLOBAL, lab, 65536.0).launches == 3.0);
    assert_true(lm_calls_score(LM_SCORE_GLOBAL, lab, 65537.0).launches == 6.0);
    struct lm_calls pipe = lm_calls_score(LM_SCORE_PIPE, lab, 4194304.0),
                    quick = lm_calls_score(LM_SCORE_QUICK, lab, 878.0);
    assert_true(pipe.launches == 256.0 && pipe.copies_in == 257.0 && pipe.copies_out == 256.0 && pipe.waits == 1.0);
    assert_true(quick.launches == 1.0 && quick.copies_in == 0.0 && quick.copies_out == 0.0 &&
                quick.bytes_in == 878 * 256);
    w = the_lab(51.0);
    w.replicas = 20592.0; /* 13 turns: an epoch is taken to last 0.069 s, so 21 fit: three windows */
    struct lm_calls c = lm_calls_train(LM_TRAIN_FAST, &w);
    assert_true(c.launches == 1.0 + 2.0 * 3.0 + 21.0 && c.copies_in == 3.0);
    assert_true(c.bytes_out >= 20592.0 * 11452.0);
    /* another shape is trained one after the other */
    w.shape = (struct lm_shape){64, 32};
    w.replicas = 3.0;
    assert_true(lm_calls_train(LM_TRAIN_FAST, &w).launches == 3.0);
    assert_true(lm_calls_first(LM_TRAIN_FAST, &w).bytes_in == 3532.0 * 257.0);
    assert_true(lm_calls_first(LM_TRAIN_NAIVE, &w).copies_in == 0.0);
}

/* cuda/layout.h says 3,136 floats for the lab's network; 16 bytes a group, an odd number of groups a row. */
static void test_layout(void **state)
{
    (void)state;
    assert_true(lm_padded_network(lab) == 3136.0);
    assert_true(lm_padded_layer(lab, 0) == 32 * 69 && lm_padded_layer(lab, 1) == 16 * 37 &&
                lm_padded_layer(lab, 2) == 16 * 21);
    struct lm_shape odd = {5, 3};
    assert_true(lm_padded_layer(odd, 1) == 4 * 13 && lm_padded_layer(odd, 2) == 16 * 5);
}

/* The useful multiply-adds of all blocks are the definition's: cost.h's, which are counted from the shape alone. */
static void check_work(struct lm_shape shape, double n)
{
    struct lm_kernel k[LM_MOST_KERNELS];
    for (int way = LM_SCORE_GLOBAL; way <= LM_SCORE_FUSED; way++) {
        double sum = 0.0;
        int count = lm_kernels_score(way, shape, n, 132.0, k);
        for (int i = 0; i < count; i++) {
            sum += k[i].useful * k[i].blocks;
            assert_true(k[i].operations >= k[i].useful);
            /* idle lanes count: warps start at least as many lanes' instructions as are useful */
            assert_true(k[i].instructions * 32.0 >= k[i].useful);
        }
        double exact = n * lm_cost_infer(shape).multiply_adds;
        assert_true(sum >= 0.999 * exact && sum <= 1.1 * exact); /* tails of blocks: up to 1.1 for so many samples */
    }
    double step = 0.0;
    int count = lm_kernels_step(shape, 128.0, k);
    assert_int_equal(count, 8);
    for (int i = 0; i < count; i++)
        step += k[i].useful * k[i].blocks;
    assert_true(fabs(step - (lm_cost_step(shape).multiply_adds - LM_CLASSES)) < 1e-6); /* the loss is the host's */
}

static void test_work(void **state)
{
    (void)state;
    check_work(lab, 65536.0);
    check_work(lab, 4096.0);
    check_work((struct lm_shape){64, 32}, 8192.0);
    struct lm_kernel k[LM_MOST_KERNELS];
    assert_int_equal(lm_kernels_score(LM_SCORE_PIPE, lab, 1048576.0, 128.0, k), 1);
    assert_true(k[0].useful * k[0].blocks == 1048576.0 * 2800.0 && k[0].blocks == 128.0);
    /* ncu on an H200: 7,672 instructions a tile of 64 samples (tests/gpu/fast_h200.txt) */
    assert_true(fabs(k[0].instructions * k[0].blocks / (1048576.0 / 64.0) / 7672.0 - 1.0) < 0.1);
    assert_int_equal(lm_kernels_score(LM_SCORE_QUICK, lab, 8192.0, 128.0, k), 1);
    assert_true(k[0].useful * k[0].blocks == 8192.0 * 2800.0);
}

/* Stages: more threads never make a chain longer, and instructions never fewer than the multiply-adds. */
static void test_stages(void **state)
{
    (void)state;
    struct lm_stage before[LM_STAGES], s[LM_STAGES];
    lm_stages_of_step(lab, 32.0, before);
    for (double block = 64.0; block <= 1024.0; block *= 2.0) {
        double instructions = 0.0;
        lm_stages_of_step(lab, block, s);
        for (int k = 0; k < LM_STAGES; k++) {
            assert_true(s[k].chain_operations <= before[k].chain_operations);
            assert_true(s[k].wavefronts > 0.0);
            instructions += s[k].instructions;
            before[k] = s[k];
        }
        assert_true(instructions * 32.0 > lm_cost_step(lab).multiply_adds);
    }
    /* layer 1 of the lab's network by 128 threads: a lane a partial sum of 16 terms, one round */
    lm_stages_of_step(lab, 128.0, s);
    assert_true(s[0].chain_operations == 16.0 + 5.0);
}

static void test_memory(void **state)
{
    struct lm_training_work w = the_lab(51.0);
    (void)state;
    double samples = 3532.0 * 257.0, network = 12544.0;
    assert_true(lm_memory_train(LM_TRAIN_BATCH, &w) == samples + network + 3532.0 * 4.0 + 8.0);
    assert_true(lm_memory_train(LM_TRAIN_WHOLE, &w) == samples + network + 51.0 * (3532.0 * 4.0 + 8.0));
    w.replicas = 1000.0;
    /* each replica: its orders of 51 epochs, its network, its generator, its losses */
    assert_true(lm_memory_train(LM_TRAIN_FAST, &w) ==
                samples + 1000.0 * (24.0 + 3712.0 * 4.0 + 2500.0 + 51.0 * 8.0 + 51.0 * 3532.0 * 4.0) +
                    1000.0 * 11452.0);
    assert_true(lm_memory_score(LM_SCORE_FUSED, lab, 1e9) < 65536.0 * 600.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured_training),
        cmocka_unit_test(test_measured_batch),
        cmocka_unit_test(test_not_counted),
        cmocka_unit_test(test_padded_products),
        cmocka_unit_test(test_cold_weights),
        cmocka_unit_test(test_the_labs_programs),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
