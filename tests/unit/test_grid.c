/* test_grid.c: the product of the axes: its order, its size, and the rows of the weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "axis.h"

/* In the order of struct lm_grid. */
static struct lm_grid make(const char *const text[LM_GRID_AXES])
{
    struct lm_grid grid = {0};
    struct lm_error err;
    for (int k = 0; k < LM_GRID_AXES; k++)
        if (lm_axis_parse(&lm_grid_rule[k], text[k], lm_grid_axis(&grid, k), &err) != LM_OK)
            fail_msg("%s", err.text);
    return grid;
}

static const char *const mixed[LM_GRID_AXES] = {"0.1,0.2",       "1,0.5,0.9", "0.05,0.1", "1,2",
                                                "32x16,1x1,8x8", "5:8",       "32,64"};

/* Seven loops, the last the innermost. */
static void test_order(void **state)
{
    struct lm_grid g = make(mixed);
    uint64_t t = 0;

    (void)state;
    for (size_t a = 0; a < g.learning_rate.n; a++)
        for (size_t b = 0; b < g.decay.n; b++)
            for (size_t c = 0; c < g.initial_range.n; c++)
                for (size_t d = 0; d < g.epochs.n; d++)
                    for (size_t e = 0; e < g.hidden.n; e++)
                        for (size_t f = 0; f < g.seed.n; f++)
                            for (size_t h = 0; h < g.block.n; h++) {
                                struct lm_trial trial = lm_grid_trial(&g, t++);
                                assert_true(trial.learning_rate == g.learning_rate.real[a]);
                                assert_true(trial.decay == g.decay.real[b]);
                                assert_true(trial.initial_range == g.initial_range.real[c]);
                                assert_int_equal(trial.epochs, g.epochs.whole[d]);
                                assert_true(lm_shape_equal(trial.shape, g.hidden.shape[e]));
                                assert_int_equal(trial.seed, g.seed.whole[f]);
                                assert_int_equal(trial.block, g.block.whole[h]);
                            }
    assert_int_equal(lm_grid_size(&g), t);
    assert_int_equal(t, 2 * 3 * 2 * 2 * 3 * 4 * 2);
    lm_grid_free(&g);
    assert_int_equal(lm_grid_size(&g), 0);
}

/* Each shape's rows are numbered 0, 1, 2, ... in the order of the trials, without a gap. */
static void test_rows(void **state)
{
    struct lm_grid g = make(mixed);
    uint64_t next[3] = {0};

    (void)state;
    for (uint64_t t = 0; t < lm_grid_size(&g); t++) {
        size_t group;
        uint64_t row = lm_grid_row(&g, t, &group);
        assert_true(group < 3);
        assert_true(lm_shape_equal(lm_grid_trial(&g, t).shape, g.hidden.shape[group]));
        assert_int_equal(row, next[group]++);
    }
    for (int k = 0; k < 3; k++)
        assert_int_equal(next[k], lm_grid_size(&g) / 3);
    lm_grid_free(&g);
}

/* Sizes, of axes that need not be there. */
static void test_size(void **state)
{
    struct lm_grid g = {{.n = 1}, {.n = 1}, {.n = 1}, {.n = 1}, {.n = 1}, {.n = 1}, {.n = 1}};

    (void)state;
    assert_int_equal(lm_grid_size(&g), 1);
    g.seed.n = 65536;
    g.learning_rate.n = 65536;
    assert_int_equal(lm_grid_size(&g), LM_MAX_TRIALS);
    g.learning_rate.n = 65537;
    assert_int_equal(lm_grid_size(&g), LM_MAX_TRIALS + 1);
    g.block.n = 32;
    assert_int_equal(lm_grid_size(&g), LM_MAX_TRIALS + 1);
    for (int k = 0; k < LM_GRID_AXES; k++) /* 2^168 */
        lm_grid_axis(&g, k)->n = 1 << 24;
    assert_int_equal(lm_grid_size(&g), LM_MAX_TRIALS + 1);
    g.learning_rate.n = 0;
    assert_int_equal(lm_grid_size(&g), 0);
}

/* The last trial of the largest grid: no number overflows on the way. */
static void test_largest(void **state)
{
    const char *const text[LM_GRID_AXES] = {
        "1:2:lin1024", "1", "0.05", "1:256", "1x1,2x2,3x3,4x4", "0:511", "32,64,96,128,160,192,224,256"};
    struct lm_grid g = make(text);
    uint64_t last = lm_grid_size(&g) - 1;
    size_t group;

    (void)state;
    assert_int_equal(last, LM_MAX_TRIALS - 1);
    struct lm_trial trial = lm_grid_trial(&g, last);
    assert_true(trial.learning_rate == 2.0f);
    assert_int_equal(trial.epochs, 256);
    assert_int_equal(trial.shape.hidden1, 4);
    assert_int_equal(trial.seed, 511);
    assert_int_equal(trial.block, 256);
    assert_int_equal(lm_grid_row(&g, last, &group), LM_MAX_TRIALS / 4 - 1);
    assert_int_equal(group, 3);
    lm_grid_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
