/* test_sweep_spec.c: the trials that a specification stands for, how rungs thin them, and what cannot be trained. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "made_spec.h"
#include "sweep_draw.h"

static uint64_t trials_of(const struct lm_sweep_spec *spec, struct lm_trial **trial, uint64_t *drawn)
{
    struct lm_error err;
    uint64_t n = 99;
    if (lm_sweep_trials(spec, trial, &n, drawn, &err) != LM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(*drawn, lm_sweep_drawn(spec));
    return n;
}

/* Seven nested loops, the last the fastest: no function of the grid's own is asked. */
static void test_grid(void **state)
{
    static const char *const values[LM_GRID_AXES] = {"0.01,0.02", "0.5,1",   "0.1,0.2,0.3", "3,9",
                                                     "8x4,4x8",   "5,1,9,7", "64,32"};
    static const float rate[] = {0.01f, 0.02f}, decay[] = {0.5f, 1.0f}, range[] = {0.1f, 0.2f, 0.3f};
    static const uint32_t epochs[] = {3, 9}, seed[] = {5, 1, 9, 7}, block[] = {64, 32};
    static const struct lm_shape shape[] = {{8, 4}, {4, 8}};
    struct lm_trial *trial;
    uint64_t drawn, t = 0;

    (void)state;
    struct lm_sweep_spec spec = made_spec(LM_SEARCH_GRID, 0, values);
    assert_int_equal(trials_of(&spec, &trial, &drawn), 384);
    assert_int_equal(drawn, 384);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            for (int c = 0; c < 3; c++)
                for (int d = 0; d < 2; d++)
                    for (int e = 0; e < 2; e++)
                        for (int f = 0; f < 4; f++)
                            for (int g = 0; g < 2; g++, t++) {
                                struct lm_trial x = {rate[a], decay[b], range[c], epochs[d],
                                                     seed[f], block[g], shape[e]};
                                assert_memory_equal(&trial[t], &x, sizeof x);
                            }
    free(trial);
    /* Halving without a number of trials is the same grid. */
    spec.search = LM_SEARCH_HALVING;
    assert_int_equal(trials_of(&spec, &trial, &drawn), 384);
    assert_int_equal(trial[383].seed, 7);
    free(trial);
    lm_sweep_spec_free(&spec);
}

/* Draws from few values repeat: the first of each stays, in order, whatever the search. */
static void expect_no_repeats(enum lm_search search, uint64_t trials, const char *const values[LM_GRID_AXES],
                              uint64_t most)
{
    struct lm_sweep_spec spec = made_spec(search, trials, values);
    struct lm_trial *trial, *all = calloc(trials, sizeof *all);
    struct lm_draws draws;
    struct lm_error err;
    uint64_t drawn, n = trials_of(&spec, &trial, &drawn), kept = 0;

    lm_draws_begin(&draws, &spec);
    if (search == LM_SEARCH_LATIN)
        assert_int_equal(lm_draws_latin(&draws, all, &err), LM_OK);
    for (uint64_t t = 0; t < trials; t++) {
        if (search != LM_SEARCH_LATIN)
            all[t] = lm_draws_random(&draws, t);
        uint64_t k = 0;
        while (k < kept && memcmp(&all[k], &all[t], sizeof *all) != 0)
            k++;
        if (k == kept)
            all[kept++] = all[t];
    }
    assert_int_equal(drawn, trials);
    assert_true(n == kept && n <= most);
    assert_memory_equal(trial, all, n * sizeof *all);
    free(trial);
    free(all);
    lm_sweep_spec_free(&spec);
}

static void test_repeats(void **state)
{
    static const char *const four[LM_GRID_AXES] = {"0.01,0.02", NULL, NULL, NULL, NULL, "1,2", NULL};
    static const char *const many[LM_GRID_AXES] = {"0.01,0.02", NULL, NULL, NULL, "4x4,8x4", "1:1200", NULL};
    (void)state;
    expect_no_repeats(LM_SEARCH_RANDOM, 1000, four, 4);
    expect_no_repeats(LM_SEARCH_HALVING, 1000, four, 4);
    expect_no_repeats(LM_SEARCH_LATIN, 1000, four, 4);
    expect_no_repeats(LM_SEARCH_RANDOM, 1, four, 1);
    expect_no_repeats(LM_SEARCH_RANDOM, 5000, many, 4800); /* the set grows twice */
    expect_no_repeats(LM_SEARCH_LATIN, 5000, many, 4800);
}

/* -0 is 0, in what is drawn and in a range that ends there. */
static void test_zero(void **state)
{
    struct lm_sweep_spec spec = made_spec(LM_SEARCH_RANDOM, 50, NULL);
    struct lm_trial *trial;
    uint64_t drawn;

    (void)state;
    make_continuous(&spec, RANGE, -1e-60, -0.0, LM_SCALE_LIN);
    assert_int_equal(trials_of(&spec, &trial, &drawn), 1);
    assert_int_equal(bits_of(trial[0].initial_range), 0);
    free(trial);
    lm_sweep_spec_free(&spec);
}

static void refuse(const struct lm_sweep_spec *spec, const char *message)
{
    struct lm_trial *trial = (struct lm_trial *)spec;
    struct lm_error err;
    uint64_t n = 9, drawn = 9;
    assert_int_equal(lm_sweep_trials(spec, &trial, &n, &drawn, &err), LM_BAD_INPUT);
    assert_string_equal(err.text, message);
    assert_true(!trial && n == 0 && drawn == 0);
}

static void test_refused(void **state)
{
    static const char *const big[LM_GRID_AXES] = {NULL, NULL, NULL, "1:70000", NULL, "1:70000", NULL};
    (void)state;
    struct lm_sweep_spec spec = made_spec(LM_SEARCH_RANDOM, 0, NULL);
    refuse(&spec, "search random needs a number of trials");
    spec.trials = LM_MAX_TRIALS + 1;
    refuse(&spec, "more than 4294967296 trials");
    spec.search = LM_SEARCH_LATIN;
    spec.trials = LM_MAX_TRIALS;
    refuse(&spec, "more than 4294967295 trials");
    spec.search = LM_SEARCH_GRID;
    make_continuous(&spec, DECAY, 0.5, 1.0, LM_SCALE_LIN);
    refuse(&spec, "decay: a grid needs a count of values");
    lm_sweep_spec_free(&spec);
    refuse(&spec, "learning_rate: no values");
    spec = made_spec(LM_SEARCH_GRID, 0, big);
    assert_true(lm_sweep_drawn(&spec) == LM_MAX_TRIALS + 1);
    refuse(&spec, "more than 4294967296 trials");
    lm_sweep_spec_free(&spec);
}

/* A million trials of each search, all different, in less than two seconds of this thread's time. */
static void test_million(void **state)
{
    static const char *const grid[LM_GRID_AXES] = {"0.001:0.1:log100", NULL, NULL, NULL, NULL, "1:2500", "32:128"};
    static const char *const lists[LM_GRID_AXES] = {NULL, NULL, NULL, NULL, NULL, "1:2500", "32:128"};
#ifdef __SANITIZE_ADDRESS__
    const double most = 20.0;
#else
    const double most = 2.0;
#endif
    (void)state;
    for (int search = 0; search < LM_SEARCHES; search++) {
        struct lm_sweep_spec spec =
            made_spec((enum lm_search)search, search == LM_SEARCH_GRID ? 0 : 1000000, search ? lists : grid);
        struct lm_trial *trial;
        uint64_t drawn;
        if (search != LM_SEARCH_GRID) {
            make_continuous(&spec, RATE, 1e-4, 1.0, LM_SCALE_LOG);
            make_continuous(&spec, DECAY, 0.5, 1.0, LM_SCALE_LOG);
            make_continuous(&spec, RANGE, 0.01, 0.1, LM_SCALE_LOG);
        }
        clock_t begun = clock();
        assert_int_equal(trials_of(&spec, &trial, &drawn), 1000000);
        double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
        printf("%s: a million trials in %.3f s\n", lm_search_text(search), seconds);
        assert_true(seconds < most);
        free(trial);
        lm_sweep_spec_free(&spec);
    }
}

/* ---- rungs ---- */

static void test_kept(void **state)
{
    static const struct {
        double keep;
        uint64_t n, kept;
    } table[] = {{0.33, 100, 33},
                 {0.33, 1000000, 330000},
                 {0.33, 101, 34},
                 {0.33, 3, 1},
                 {0.33, 1, 1},
                 {0.5, 3, 2},
                 {1.0, 7, 7},
                 {1.0, LM_MAX_TRIALS, LM_MAX_TRIALS},
                 {0.001, 5, 1},
                 {0.333333333, 3000000000, 999999999},
                 {0.999999999, LM_MAX_TRIALS, 4294967292},
                 {1e-9, LM_MAX_TRIALS, 5},
                 {0.00000096, 1000000000, 960}, /* times 1e9 is a little less than 960 as a double */
                 {1e-12, 1000, 1}};
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct lm_sweep_spec spec = {.rung_keep = table[k].keep};
        assert_int_equal(lm_sweep_kept(&spec, table[k].n), table[k].kept);
    }
    /* Every hundredth of every number: in whole numbers. A product of doubles would be wrong for some of them. */
    int rounded_up = 0;
    for (uint64_t hundredth = 1; hundredth <= 100; hundredth++)
        for (uint64_t n = 1; n <= 1000; n++) {
            struct lm_sweep_spec spec = {.rung_keep = (double)hundredth / 100.0};
            uint64_t exact = (hundredth * n + 99) / 100;
            assert_int_equal(lm_sweep_kept(&spec, n), exact);
            rounded_up += (uint64_t)ceil(spec.rung_keep * (double)n) != exact;
        }
    assert_true(rounded_up > 0);
}

/* ---- faults ---- */

static void test_faults(void **state)
{
    const struct lm_trial good = {0.02f, 1.0f, 0.05f, 51, 1337, 128, {32, 16}};
    static const struct {
        int member;
        double value;
        const char *text;
    } table[] = {
        {RATE, 0.0, "learning_rate 0 is out of range (above 0 to 3.4e+38)"},
        {RATE, -1.0, "learning_rate -1 is out of range (above 0 to 3.4e+38)"},
        {RATE, 1e30, ""},
        {RATE, 1e-45, ""},
        {RATE, 3.402e38, "learning_rate 3.402e+38 is out of range (above 0 to 3.4e+38)"},
        {RATE, NAN, "learning_rate nan is out of range (above 0 to 3.4e+38)"},
        {RATE, INFINITY, "learning_rate inf is out of range (above 0 to 3.4e+38)"},
        {DECAY, 0.0, "decay 0 is out of range (above 0 to 1000)"},
        {DECAY, 1000.0, ""},
        {DECAY, 1001.0, "decay 1001 is out of range (above 0 to 1000)"},
        {RANGE, 0.0, ""},
        {RANGE, -0.1, "initial_range -0.1 is out of range (0 to 1000)"},
        {EPOCHS, 0, "epochs 0 is out of range (1 to 1000000)"},
        {EPOCHS, 1000000, ""},
        {EPOCHS, 2e6, "epochs 2000000 is out of range (1 to 1000000)"},
        {HIDDEN, 100000, "hidden 100000x16 is out of range (widths 1 to 128)"},
        {HIDDEN, 128, ""},
        {HIDDEN, 0, "hidden 0x16 is out of range (widths 1 to 128)"},
        {SEED, 0, ""},
        {SEED, 4294967295.0, ""},
        {BLOCK, 4096, "block 4096 is not a multiple of 32 from 32 to 1024"},
        {BLOCK, 48, "block 48 is not a multiple of 32 from 32 to 1024"},
        {BLOCK, 0, "block 0 is not a multiple of 32 from 32 to 1024"},
        {BLOCK, 1024, ""},
    };
    char text[160] = "x";

    (void)state;
    assert_int_equal(lm_trial_fault(&good, text, sizeof text), 0);
    assert_string_equal(text, "");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct lm_trial trial = good;
        float *const real[] = {&trial.learning_rate, &trial.decay, &trial.initial_range};
        uint32_t *const whole[] = {&trial.epochs, &trial.shape.hidden1, &trial.seed, &trial.block};
        if (table[k].member <= RANGE)
            *real[table[k].member] = (float)table[k].value;
        else
            *whole[table[k].member - EPOCHS] = (uint32_t)table[k].value;
        assert_int_equal(lm_trial_fault(&trial, text, sizeof text), table[k].text[0] != '\0');
        assert_string_equal(text, table[k].text);
    }
    /* The second width, the first of two faults, and a text that has no room. */
    struct lm_trial trial = good;
    trial.shape.hidden2 = 129;
    trial.block = 1;
    assert_int_equal(lm_trial_fault(&trial, text, 20), 1);
    assert_string_equal(text, "hidden 32x129 is ou");
}

/* What the command line accepts has no fault, and what it refuses has one: the limits are the same. */
static void test_same_limits(void **state)
{
    static const char *const text[] = {"0",    "1",    "31",   "32",    "48",      "1024",   "1025", "1056",
                                       "1000", "1001", "1e-3", "1e-46", "1000000", "3.4e38", "-1",   "4294967295"};
    (void)state;
    for (int k = 0; k < LM_GRID_AXES; k++)
        for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
            struct lm_trial trial = {0.02f, 1.0f, 0.05f, 51, 1337, 128, {32, 16}};
            float *const real[] = {&trial.learning_rate, &trial.decay, &trial.initial_range};
            uint32_t *const whole[] = {&trial.epochs, NULL, &trial.seed, &trial.block};
            char reason[160];
            struct lm_axis axis;
            struct lm_error err;
            if (k == HIDDEN || (k > RANGE && strpbrk(text[i], "-.e")))
                continue;
            if (k <= RANGE)
                *real[k] = strtof(text[i], NULL);
            else
                *whole[k - EPOCHS] = (uint32_t)strtoul(text[i], NULL, 10);
            int refused = lm_axis_parse(&lm_grid_rule[k], text[i], &axis, &err) != LM_OK;
            if (lm_trial_fault(&trial, reason, sizeof reason) != refused)
                fail_msg("%s %s: '%s', on the command line '%s'", lm_grid_name[k], text[i], reason,
                         refused ? err.text : "");
            lm_axis_free(&axis);
        }
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(lm_search_text(LM_SEARCH_GRID), "grid");
    assert_string_equal(lm_search_text(LM_SEARCH_RANDOM), "random");
    assert_string_equal(lm_search_text(LM_SEARCH_LATIN), "latin");
    assert_string_equal(lm_search_text(LM_SEARCH_HALVING), "halving");
    assert_string_equal(lm_search_text(LM_SEARCHES), "?");
    assert_string_equal(lm_search_text(-1), "?");
    assert_string_equal(lm_objective_text(LM_OBJECTIVE_VALIDATION_LOSS), "validation_loss");
    assert_string_equal(lm_objective_text(LM_OBJECTIVE_VALIDATION_ACCURACY), "validation_accuracy");
    assert_string_equal(lm_objective_text(7), "?");
    for (int k = 0; k < LM_GRID_AXES; k++) { /* "--learning-rate" is learning_rate */
        char name[40];
        snprintf(name, sizeof name, "%s", lm_grid_rule[k].name + 2);
        for (char *c = name; *c; c++)
            *c = *c == '-' ? '_' : *c;
        assert_string_equal(lm_grid_name[k], name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid),    cmocka_unit_test(test_repeats),     cmocka_unit_test(test_zero),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_million),     cmocka_unit_test(test_kept),
        cmocka_unit_test(test_faults),  cmocka_unit_test(test_same_limits), cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
