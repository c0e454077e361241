/* test_random.c: fixed numbers of the generator, the shuffle and the weights, as the real libstdc++ gives them. The
 * tables hold on every compiler, optimisation level and C library; test_libstdcxx.sh compares much more, where there is
 * a libstdc++. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* The C++ standard's own check: the 10000th word of the default seed. */
static void test_mt19937(void **state)
{
    static const uint32_t seed_1[] = {1791095845, 4282876139, 3093770124, 4005303368, 491263};
    struct lm_mt19937 generator;
    uint32_t word = 0;

    (void)state;
    lm_mt19937_seed(&generator, 5489);
    for (int i = 0; i < 10000; i++)
        word = lm_mt19937_next(&generator);
    assert_int_equal(word, 4123659995u);

    lm_mt19937_seed(&generator, 1);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(lm_mt19937_next(&generator), seed_1[i]);
}

static void check_shuffle(uint32_t n, const uint32_t first[10])
{
    struct lm_mt19937 generator;
    uint32_t *order = malloc(n * sizeof *order);

    assert_non_null(order);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    lm_mt19937_seed(&generator, 1);
    lm_shuffle(&generator, order, n);
    for (int i = 0; i < 10; i++)
        assert_int_equal(order[i], first[i]);

    unsigned char *seen = calloc(n, 1);
    assert_non_null(seen);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(order[i] < n);
        assert_int_equal(seen[order[i]]++, 0);
    }
    free(seen);
    free(order);
}

static void test_shuffle(void **state)
{
    (void)state;
    check_shuffle(10, (const uint32_t[]){9, 0, 2, 5, 7, 4, 6, 3, 1, 8});
    check_shuffle(3532, (const uint32_t[]){1033, 1358, 397, 406, 3430, 3343, 810, 3070, 2760, 532});
    check_shuffle(70000, (const uint32_t[]){7199, 23693, 65840, 9893, 62829, 19725, 36303, 54563, 22771, 36291});
}

/* Nothing to shuffle: nothing drawn. Two elements: one draw. */
static void test_shuffle_small(void **state)
{
    struct lm_mt19937 generator;
    uint32_t order[2] = {7, 8};

    (void)state;
    lm_mt19937_seed(&generator, 1);
    lm_shuffle(&generator, order, 0);
    lm_shuffle(&generator, order, 1);
    assert_int_equal(order[0], 7);
    assert_int_equal(lm_mt19937_next(&generator), 1791095845u);
    lm_shuffle(&generator, order, 2);
    assert_int_equal(order[0] + order[1], 15);
    assert_int_equal(lm_mt19937_next(&generator), 3093770124u);
}

static void test_weights(void **state)
{
    static const uint32_t expected[10] = {0xbc07f380, 0x3d4ba59b, 0x3cb47d66, 0x3d312ced, 0xbd4cc0cf,
                                          0xbd1851fa, 0xbca1eddd, 0x3d4c6831, 0xbd10b054, 0xbcd83227};
    struct lm_mt19937 generator;

    (void)state;
    lm_mt19937_seed(&generator, 1);
    for (int i = 0; i < 10; i++) {
        float weight = lm_draw_uniform(&generator, -0.05f, 0.05f);
        uint32_t bits;
        memcpy(&bits, &weight, sizeof bits);
        assert_int_equal(bits, expected[i]);
    }
}

/* Every value of a small range comes, none beyond it, about equally often: 6 sigma is 1.4 % of the mean here. */
static void test_below(void **state)
{
    struct lm_mt19937 generator;
    int count[5] = {0};

    (void)state;
    lm_mt19937_seed(&generator, 1);
    for (int i = 0; i < 1000000; i++) {
        uint32_t x = lm_draw_below(&generator, 5);
        assert_true(x < 5);
        count[x]++;
    }
    for (int i = 0; i < 5; i++)
        assert_in_range(count[i], 197600, 202400);
    for (int i = 0; i < 100; i++)
        assert_int_equal(lm_draw_below(&generator, 1), 0);
}

static void test_seeds_differ(void **state)
{
    struct lm_mt19937 zero, one;

    (void)state;
    lm_mt19937_seed(&zero, 0);
    lm_mt19937_seed(&one, 1);
    assert_int_not_equal(lm_mt19937_next(&zero), lm_mt19937_next(&one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mt19937), cmocka_unit_test(test_shuffle), cmocka_unit_test(test_shuffle_small),
        cmocka_unit_test(test_weights), cmocka_unit_test(test_below),   cmocka_unit_test(test_seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
