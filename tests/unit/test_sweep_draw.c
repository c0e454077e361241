/* test_sweep_draw.c: what is drawn, to the bit; where it may lie; and that each stratum comes once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "made_spec.h"
#include "sweep_draw.h"

/* The answers that the authors' Random123 gives for Philox4x32-10. */
static void test_philox(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], word[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint32_t word[4];
        lm_philox4x32(known[k].counter, known[k].key, word);
        assert_memory_equal(word, known[k].word, sizeof word);
    }
    /* The 10000th word from key 20111115: what the C++ standard (2026) demands of std::philox4x32. */
    uint32_t word[4];
    lm_philox4x32((const uint32_t[4]){2499, 0, 0, 0}, (const uint32_t[2]){20111115, 0}, word);
    assert_int_equal(word[3], 1955073260u);
}

struct row {
    uint64_t t;
    uint32_t rate, decay; /* bits */
    float range;
    uint32_t epochs, wide, seed, block; /* wide: 64x32, else 32x16 */
};

static const char *const lists[LM_GRID_AXES] = {NULL,          NULL,     "1,5,10",       "3,9,27,51",
                                                "32x16,64x32", "1:1000", "32,64,128,256"};

static struct lm_sweep_spec table_spec(enum lm_search search, uint64_t trials)
{
    struct lm_sweep_spec spec = made_spec(search, trials, lists);
    make_continuous(&spec, RATE, 1e-4, 1.0, LM_SCALE_LOG);
    make_continuous(&spec, DECAY, 0.5, 1.0, LM_SCALE_LIN);
    return spec;
}

static void expect_row(const struct lm_trial *trial, const struct row *row)
{
    assert_int_equal(bits_of(trial->learning_rate), row->rate);
    assert_int_equal(bits_of(trial->decay), row->decay);
    assert_true(trial->initial_range == row->range);
    assert_int_equal(trial->epochs, row->epochs);
    assert_true(lm_shape_equal(trial->shape, row->wide ? (struct lm_shape){64, 32} : (struct lm_shape){32, 16}));
    assert_int_equal(trial->seed, row->seed);
    assert_int_equal(trial->block, row->block);
}

/* Both tables come from another program, in Python: Philox with its integers, powers with 80 decimal digits, rounded
 * once to float (none within 1e-11 of itself of the middle between two floats), permutations by GNU's std::shuffle. */
static void test_random_table(void **state)
{
    static const struct row table[] = {
        {0, 0x3F2882D6, 0x3F3F5D77, 10, 27, 1, 209, 128},        {1, 0x3B8B16AF, 0x3F719493, 10, 27, 0, 578, 32},
        {2, 0x38DDC8BB, 0x3F2512D0, 5, 9, 0, 847, 32},           {3, 0x3B6E622E, 0x3F206A53, 1, 9, 0, 432, 64},
        {4, 0x3ABD5509, 0x3F12380F, 5, 27, 0, 373, 128},         {5, 0x3B143A80, 0x3F46104E, 5, 51, 1, 759, 256},
        {4294967297, 0x3A692A6A, 0x3F0672BE, 5, 9, 0, 914, 256}, /* the number's high word counts */
    };
    (void)state;
    struct lm_sweep_spec spec = table_spec(LM_SEARCH_RANDOM, 7);
    struct lm_draws draws;
    lm_draws_begin(&draws, &spec);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct lm_trial trial = lm_draws_random(&draws, table[k].t);
        expect_row(&trial, &table[k]);
    }
    lm_sweep_spec_free(&spec);
}

static void test_latin_table(void **state)
{
    static const struct row table[6] = {
        {0, 0x3E4DC304, 0x3F0A8F94, 1, 3, 0, 368, 128},  {1, 0x3ECE0539, 0x3F7D98C3, 10, 27, 1, 596, 32},
        {2, 0x38D3AE1A, 0x3F462DCD, 1, 51, 0, 141, 256}, {3, 0x3B8080F9, 0x3F1ABC63, 5, 3, 1, 238, 32},
        {4, 0x3C7FAF6D, 0x3F2DB402, 10, 9, 1, 729, 64},  {5, 0x3A4C9EC7, 0x3F6102B8, 5, 27, 0, 960, 128},
    };
    (void)state;
    struct lm_sweep_spec spec = table_spec(LM_SEARCH_LATIN, 6);
    struct lm_trial trial[6];
    struct lm_draws draws;
    struct lm_error err;
    lm_draws_begin(&draws, &spec);
    assert_int_equal(lm_draws_latin(&draws, trial, &err), LM_OK);
    for (size_t k = 0; k < 6; k++)
        expect_row(&trial[k], &table[k]);
    lm_sweep_spec_free(&spec);
}

/* ---- ranges ---- */

/* Against pow() in long double, for ranges of all kinds, ends and 1,000 places in each. */
static void test_values(void **state)
{
    static const struct {
        double from, to;
        enum lm_scale scale;
    } range[] = {{1e-4, 1.0, LM_SCALE_LOG}, {1.0, 1e-4, LM_SCALE_LOG},       {0.1, 0.1000001, LM_SCALE_LOG},
                 {0.1, 0.1, LM_SCALE_LOG},  {1e-44, 3.4e38, LM_SCALE_LOG},   {3.4e38, 1e-30, LM_SCALE_LOG},
                 {0.5, 1.0, LM_SCALE_LIN},  {-3.4e38, 3.4e38, LM_SCALE_LIN}, {1.0, -1.0, LM_SCALE_LIN},
                 {0.3, 0.3, LM_SCALE_LIN},  {-1e-50, 0.0, LM_SCALE_LIN},     {-1e-50, 1e-50, LM_SCALE_LIN}};
    (void)state;
    for (size_t k = 0; k < sizeof range / sizeof *range; k++) {
        struct lm_sweep_spec spec = made_spec(LM_SEARCH_RANDOM, 1, NULL);
        const double from = range[k].from, to = range[k].to;
        const float low = (float)fmin(from, to), high = (float)fmax(from, to);
        struct lm_draws draws;
        make_continuous(&spec, RATE, from, to, range[k].scale);
        lm_draws_begin(&draws, &spec);
        for (uint64_t t = 0; t < 1002; t++) {
            uint64_t bits = t == 0 ? 0 : t == 1 ? (UINT64_C(1) << 53) - 1 : lm_draw_bits(3, t, 0);
            long double u = (long double)bits / 0x1p53L;
            float value = lm_draws_value(&draws, RATE, bits);
            long double exact = range[k].scale == LM_SCALE_LOG ? (long double)from * powl((long double)to / from, u)
                                                               : (long double)from + ((long double)to - from) * u;
            assert_true(value >= low && value <= high && bits_of(value) != 0x80000000u);
            long double unit = (long double)(nextafterf(fabsf(value), INFINITY) - fabsf(value));
            if (fabsl((long double)value - exact) > 0.501L * unit + 1e-60L)
                fail_msg("range %zu, bits %llu: %.9g is not %.12Lg", k, (unsigned long long)bits, (double)value, exact);
        }
        lm_sweep_spec_free(&spec);
    }
}

/* 100,000 draws: means and counts within five standard deviations. */
static void test_means(void **state)
{
    enum { N = 100000 };
    struct lm_sweep_spec spec = table_spec(LM_SEARCH_RANDOM, N);
    struct lm_draws draws;
    double rate = 0.0, decay = 0.0, square = 0.0, cross = 0.0;
    int count[4] = {0};

    (void)state;
    lm_draws_begin(&draws, &spec);
    for (uint64_t t = 0; t < N; t++) {
        struct lm_trial trial = lm_draws_random(&draws, t);
        double x = log(trial.learning_rate) / log(1e-4), y = 2.0 * (trial.decay - 0.5);
        rate += x;
        decay += y;
        square += y * y;
        cross += (x - 0.5) * (y - 0.5);
        count[trial.block == 32 ? 0 : trial.block == 64 ? 1 : trial.block == 128 ? 2 : 3]++;
    }
    assert_true(fabs(rate / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(decay / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(square / N - 1.0 / 3) < 5 * sqrt(4.0 / 45 / N));
    assert_true(fabs(cross / N) < 5.0 / 12 / sqrt(N)); /* the parameters are drawn apart */
    for (int k = 0; k < 4; k++)
        assert_true(fabs(count[k] - N / 4.0) < 5 * sqrt(N * 3.0 / 16));
    lm_sweep_spec_free(&spec);
}

/* A draw knows its seed, its trial and its parameter, and nothing else. */
static void test_apart(void **state)
{
    struct lm_sweep_spec few = table_spec(LM_SEARCH_RANDOM, 10), many = table_spec(LM_SEARCH_RANDOM, 100000);
    struct lm_draws a, b;
    int differ = 0;

    (void)state;
    make_continuous(&many, DECAY, 0.1, 0.2, LM_SCALE_LOG);
    lm_draws_begin(&a, &few);
    lm_draws_begin(&b, &many);
    for (uint64_t t = 0; t < 10; t++) {
        struct lm_trial x = lm_draws_random(&a, t), y = lm_draws_random(&b, t);
        assert_true(x.decay != y.decay);
        x.decay = y.decay;
        assert_memory_equal(&x, &y, sizeof x);
    }
    few.search_seed = 8;
    for (uint64_t t = 0; t < 10; t++)
        differ += lm_draws_random(&a, t).learning_rate != lm_draws_random(&b, t).learning_rate;
    assert_int_equal(differ, 10);
    lm_sweep_spec_free(&few);
    lm_sweep_spec_free(&many);
}

/* ---- strata ---- */

static int by_float(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorted, value k lies in stratum k: between the k-th and the (k+1)-th of N + 1 limits, but for a float's rounding. */
static void expect_strata(const struct lm_sweep_spec *spec, const struct lm_trial *trial, int j)
{
    const size_t n = (size_t)spec->trials;
    const struct lm_parameter *p = &spec->parameter[j];
    float *value = calloc(n, sizeof *value);
    double inside = 0.0;
    for (size_t t = 0; t < n; t++)
        value[t] = j == RATE ? trial[t].learning_rate : j == DECAY ? trial[t].decay : trial[t].initial_range;
    qsort(value, n, sizeof *value, by_float);
    for (size_t k = 0; k < n; k++) {
        double u = p->scale == LM_SCALE_LOG ? log(value[k] / p->from) / log(p->to / p->from)
                                            : (value[k] - p->from) / (p->to - p->from);
        assert_true(u * (double)n > (double)k - 1e-3 && u * (double)n < (double)k + 1.0 + 1e-3);
        inside += u * (double)n - (double)k;
    }
    assert_true(fabs(inside / (double)n - 0.5) < 5 * sqrt(1.0 / 12 / (double)n)); /* anywhere in it */
    free(value);
}

/* How often each of 1 to n comes among the seeds: at most one apart. */
static void expect_even(const struct lm_trial *trial, size_t trials, size_t n)
{
    size_t *count = calloc(n + 1, sizeof *count), least = trials, most = 0;
    for (size_t t = 0; t < trials; t++) {
        assert_in_range(trial[t].seed, 1, n);
        count[trial[t].seed]++;
    }
    for (size_t k = 1; k <= n; k++) {
        least = count[k] < least ? count[k] : least;
        most = count[k] > most ? count[k] : most;
    }
    assert_true(most - least <= 1);
    free(count);
}

static void test_strata(void **state)
{
    static const struct {
        uint64_t trials;
        const char *seeds;
        size_t n;
    } table[] = {{1, "1:5", 5},       {10, "1:3", 3},         {10, "1:4", 4}, {1000, "1:7", 7},
                 {997, "1:997", 997}, {1000, "1:1500", 1500}, {2, "1:3", 3},  {300, "1:100000", 100000}};
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const char *values[LM_GRID_AXES] = {[SEED] = table[k].seeds};
        struct lm_sweep_spec spec = made_spec(LM_SEARCH_LATIN, table[k].trials, values);
        struct lm_trial *trial = calloc(table[k].trials, sizeof *trial);
        struct lm_draws draws;
        struct lm_error err;
        make_continuous(&spec, RATE, 1e-4, 1.0, LM_SCALE_LOG);
        make_continuous(&spec, DECAY, 0.5, 1.0, LM_SCALE_LIN);
        make_continuous(&spec, RANGE, 0.01, 0.3, LM_SCALE_LOG);
        lm_draws_begin(&draws, &spec);
        assert_int_equal(lm_draws_latin(&draws, trial, &err), LM_OK);
        for (int j = RATE; j <= RANGE; j++)
            expect_strata(&spec, trial, j);
        expect_even(trial, table[k].trials, table[k].n);
        free(trial);
        lm_sweep_spec_free(&spec);
    }
}

/* The permutations of two parameters, and of two seeds, are others: the ranks are not correlated. */
static void test_permutations(void **state)
{
    enum { N = 2000 };
    struct lm_sweep_spec spec = table_spec(LM_SEARCH_LATIN, N);
    struct lm_trial *one = calloc(N, sizeof *one), *two = calloc(N, sizeof *two);
    struct lm_draws draws;
    struct lm_error err;
    double across = 0.0, between = 0.0, in_order = 0.0;

    (void)state;
    lm_draws_begin(&draws, &spec);
    assert_int_equal(lm_draws_latin(&draws, one, &err), LM_OK);
    spec.search_seed = 8;
    assert_int_equal(lm_draws_latin(&draws, two, &err), LM_OK);
    for (size_t t = 0; t < N; t++) {
        double x = 2.0 * one[t].decay - 1.5, y = log(one[t].learning_rate) / log(1e-4) - 0.5;
        across += x * y;
        between += x * (2.0 * two[t].decay - 1.5);
        in_order += x * ((double)t / N - 0.5);
    }
    assert_true(fabs(across) < 5.0 / 12 * sqrt(N));
    assert_true(fabs(between) < 5.0 / 12 * sqrt(N));
    assert_true(fabs(in_order) < 5.0 / 12 * sqrt(N));
    free(one);
    free(two);
    lm_sweep_spec_free(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox), cmocka_unit_test(test_random_table), cmocka_unit_test(test_latin_table),
        cmocka_unit_test(test_values), cmocka_unit_test(test_means),        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_strata), cmocka_unit_test(test_permutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
