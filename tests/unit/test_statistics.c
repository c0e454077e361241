/* test_statistics.c: configurations and leaderboards against values computed by hand, and against slow and plain code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "statistics.h"

#define MOST 400
static struct lm_trial trial[MOST];
static struct lm_outcome outcome[MOST];
static uint32_t rung[MOST];

/* n trials of one configuration, seeds 1, 2, ..., all ok with loss and accuracy 0. */
static void begin(uint64_t n)
{
    for (uint64_t t = 0; t < n; t++) {
        trial[t] = (struct lm_trial){0.02f, 1.0f, 0.05f, 51, (uint32_t)t + 1, 32, {32, 16}};
        outcome[t] = (struct lm_outcome){.status = LM_TRIAL_OK};
        rung[t] = 0;
    }
}

static struct lm_configuration *make(const uint32_t *rungs, uint64_t n, uint64_t expected)
{
    struct lm_configuration *made;
    struct lm_error err;
    uint64_t count;
    assert_int_equal(lm_statistics_make(trial, outcome, rungs, n, &made, &count, &err), LM_OK);
    assert_int_equal(count, expected);
    assert_non_null(made);
    return made;
}

static void near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-12 * fabs(wanted)))
        fail_msg("%.17g, not %.17g", found, wanted);
}

static void is_nan(double x)
{
    static const uint64_t one = UINT64_C(0x7FF8000000000000);
    assert_memory_equal(&x, &one, sizeof x); /* the same bits on every machine */
}

/* ---- Student's t ---- */

/* By mpmath at 40 digits: the root of the regularised incomplete beta function. */
static void test_quantiles(void **state)
{
    (void)state;
    static const struct {
        uint64_t degrees;
        double t;
    } known[] = {
        {1, 12.706204736174705},   {2, 4.3026527297494639},  {3, 3.1824463052837096},    {5, 2.5705818356363155},
        {10, 2.2281388519862747},  {29, 2.0452296421327043}, {30, 2.0422724563012383},   {31, 2.0395134463964085},
        {32, 2.036933343460102},   {33, 2.0345152974493387}, {40, 2.0210753903062734},   {50, 2.0085591121007611},
        {60, 2.0002978220142605},  {99, 1.9842169515864175}, {100, 1.9839715185235523},  {120, 1.9799304050824408},
        {255, 1.9693105698498752}, {999, 1.96234146113345},  {9999, 1.9602012636213577}, {1000000, 1.959966356814107}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!(fabs(lm_student_t(known[i].degrees) - known[i].t) < 1e-7))
            fail_msg("%llu degrees: %.12f, not %.12f", (unsigned long long)known[i].degrees,
                     lm_student_t(known[i].degrees), known[i].t);
    assert_true(isnan(lm_student_t(0)));
    near(lm_student_t(UINT64_MAX), 1.9599639845400543); /* the normal distribution's */
    for (uint64_t v = 1; v < 2000; v++)
        assert_true(lm_student_t(v) > lm_student_t(v + 1));
}

/* The table that is printed in textbooks, to three digits (Fisher and Yates, 1938, and everybody since). */
static void test_printed_table(void **state)
{
    (void)state;
    static const double printed[30] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                       2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                       2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    for (uint64_t v = 1; v <= 30; v++)
        assert_true(fabs(lm_student_t(v) - printed[v - 1]) < 0.00051);
    assert_true(fabs(lm_student_t(40) - 2.021) < 0.00051 && fabs(lm_student_t(60) - 2.000) < 0.00051 &&
                fabs(lm_student_t(120) - 1.980) < 0.00051);
}

/* ---- configurations ---- */

static void test_none(void **state)
{
    (void)state;
    free(make(NULL, 0, 0));
}

static void test_one_seed(void **state)
{
    (void)state;
    begin(1);
    outcome[0].validation_loss = 0.25;
    outcome[0].validation_accuracy = 0.75;
    struct lm_configuration *c = make(NULL, 1, 1);
    assert_true(c->first == 0 && c->trials == 1 && c->ok == 1 && c->diverged == 0 && c->failed == 0 && c->rung == 0);
    assert_true(c->loss_mean == 0.25 && c->accuracy_mean == 0.75);
    is_nan(c->loss_sd);
    is_nan(c->loss_low);
    is_nan(c->loss_high);
    is_nan(c->accuracy_sd);
    is_nan(c->accuracy_low);
    is_nan(c->accuracy_high);
    free(c);
}

/* 1 and 3: mean 2, deviations 1 and 1, variance 2, half the interval 12.706... * sqrt(2) / sqrt(2). */
static void test_two_seeds(void **state)
{
    (void)state;
    begin(2);
    outcome[0].validation_loss = 1;
    outcome[1].validation_loss = 3;
    outcome[0].validation_accuracy = outcome[1].validation_accuracy = 0.5;
    struct lm_configuration *c = make(NULL, 2, 1);
    assert_true(c->trials == 2 && c->ok == 2 && c->loss_mean == 2);
    near(c->loss_sd, 1.4142135623730951);
    near(c->loss_low, 2 - 12.706204736174705);
    near(c->loss_high, 2 + 12.706204736174705);
    assert_true(c->accuracy_mean == 0.5 && c->accuracy_sd == 0 && c->accuracy_low == 0.5 && c->accuracy_high == 0.5);
    free(c);
}

/* 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares 9+1+1+1+0+0+4+16 = 32, variance 32/7, 7 degrees of freedom. */
static void test_eight_seeds(void **state)
{
    (void)state;
    static const double loss[] = {2, 4, 4, 4, 5, 5, 7, 9};
    begin(8);
    for (int t = 0; t < 8; t++) {
        outcome[t].validation_loss = loss[t];
        outcome[t].validation_accuracy = loss[t] / 16;
    }
    struct lm_configuration *c = make(NULL, 8, 1);
    const double half = 2.3646242515927853 * 0.75592894601845440; /* t times sqrt(32 / 7 / 8) */
    assert_true(c->loss_mean == 5 && c->accuracy_mean == 0.3125);
    near(c->loss_sd, 2.1380899352993950);
    near(c->loss_low, 5 - half);
    near(c->loss_high, 5 + half);
    near(c->accuracy_sd, 2.1380899352993950 / 16);
    near(c->accuracy_high, (5 + half) / 16);
    free(c);
}

static void test_diverged_among_them(void **state)
{
    (void)state;
    begin(6);
    for (int t = 0; t < 6; t++)
        outcome[t].validation_loss = t + 1;
    outcome[0].status = LM_TRIAL_DIVERGED; /* whatever stands in its row is no answer */
    outcome[2].status = LM_TRIAL_FAILED;
    outcome[4].status = LM_TRIAL_NOT_RUN;
    outcome[5].status = LM_TRIAL_DIVERGED;
    struct lm_configuration *c = make(NULL, 6, 1);
    assert_true(c->first == 0 && c->trials == 6 && c->ok == 2 && c->diverged == 2 && c->failed == 1);
    assert_true(c->loss_mean == 3); /* of 2 and 4 */
    near(c->loss_sd, 1.4142135623730951);
    free(c);
    for (int t = 0; t < 6; t++)
        outcome[t].status = LM_TRIAL_FAILED;
    c = make(NULL, 6, 1);
    assert_true(c->ok == 0 && c->failed == 6);
    is_nan(c->loss_mean);
    is_nan(c->loss_sd);
    is_nan(c->loss_high);
    is_nan(c->accuracy_mean);
    free(c);
}

static void test_not_finite(void **state)
{
    (void)state;
    begin(3);
    outcome[1].validation_loss = -NAN; /* without a hold-out, or beyond a float */
    outcome[2].validation_accuracy = INFINITY;
    struct lm_configuration *c = make(NULL, 3, 1);
    assert_int_equal(c->ok, 3);
    is_nan(c->loss_mean);
    is_nan(c->loss_sd);
    is_nan(c->loss_low);
    assert_true(isinf(c->accuracy_mean));
    is_nan(c->accuracy_sd);
    free(c);
}

/* Trials are one configuration only if nothing but the seed differs, and need not stand side by side. */
static void test_what_separates(void **state)
{
    (void)state;
    begin(18);
    trial[1].block = 64;
    trial[2].learning_rate = nextafterf(0.02f, 1);
    trial[3].decay = 0.5f;
    trial[4].initial_range = 0.1f;
    trial[5].epochs = 50;
    trial[6].shape.hidden1 = 16;
    trial[7].shape.hidden2 = 32;
    trial[8].shape = (struct lm_shape){16, 32};
    for (int t = 0; t < 9; t++) { /* once more, in another order, with other seeds */
        trial[17 - t] = trial[t];
        trial[17 - t].seed += 100;
        outcome[17 - t].validation_loss = 2;
    }
    struct lm_configuration *c = make(NULL, 18, 9);
    for (uint64_t k = 0; k < 9; k++) {
        assert_true(c[k].first == k && c[k].trials == 2 && c[k].ok == 2);
        assert_true(c[k].loss_mean == 1);
    }
    free(c);
}

static void test_equal_numbers(void **state)
{
    (void)state;
    begin(4);
    trial[0].initial_range = 0.0f;
    trial[1].initial_range = -0.0f;
    trial[2].initial_range = trial[3].initial_range = NAN; /* of a file: such trials have failed */
    struct lm_configuration *c = make(NULL, 4, 2);
    assert_true(c[0].trials == 2 && c[1].trials == 2);
    free(c);
}

static void test_rungs(void **state)
{
    (void)state;
    begin(5);
    trial[3].block = trial[4].block = 64;
    rung[1] = 3;
    rung[2] = 1;
    outcome[1].status = LM_TRIAL_DIVERGED; /* it was promoted all the same */
    struct lm_configuration *c = make(rung, 5, 2);
    assert_true(c[0].rung == 3 && c[1].rung == 0);
    free(c);
    c = make(NULL, 5, 2);
    assert_int_equal(c[0].rung, 0);
    free(c);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static double some_score(uint64_t *random)
{
    static const double few[] = {0.5, 0.25, NAN, 0.75, INFINITY, -0.0, 0.0};
    uint64_t k = next_random(random) % 12;
    return k < 7 ? few[k] : (double)next_random(random) / 4294967296.0;
}

static void make_random(uint64_t n, uint64_t *random)
{
    begin(n);
    for (uint64_t t = 0; t < n; t++) {
        trial[t].block = 32 * (uint32_t)(next_random(random) % 4 + 1);
        trial[t].learning_rate = 0.01f * (float)(next_random(random) % 9);
        outcome[t].status = next_random(random) % 3 ? LM_TRIAL_OK : (int)(next_random(random) % 4);
        outcome[t].validation_loss = some_score(random);
        outcome[t].validation_accuracy = (double)(next_random(random) % 5) / 4;
        rung[t] = (uint32_t)(next_random(random) % 3);
    }
}

/* Against quadratic code: counts and order exactly, means in long double. */
static void test_configurations_of_many(void **state)
{
    (void)state;
    uint64_t random = 11;
    make_random(MOST, &random);
    uint64_t expected = 0, seen = 0;
    for (uint64_t t = 0; t < MOST; t++) {
        uint64_t earlier = 0;
        for (uint64_t s = 0; s < t; s++)
            earlier += trial[s].block == trial[t].block && trial[s].learning_rate == trial[t].learning_rate;
        expected += earlier == 0;
    }
    struct lm_configuration *c = make(rung, MOST, expected);
    for (uint64_t k = 0; k < expected; k++) {
        uint64_t n = 0, ok = 0, diverged = 0, failed = 0, most = 0;
        long double loss = 0, accuracy = 0, squares = 0;
        for (uint64_t t = 0; t < MOST; t++) {
            if (trial[t].block != trial[c[k].first].block || trial[t].learning_rate != trial[c[k].first].learning_rate)
                continue;
            assert_true(t >= c[k].first);
            n++;
            ok += outcome[t].status == LM_TRIAL_OK;
            diverged += outcome[t].status == LM_TRIAL_DIVERGED;
            failed += outcome[t].status == LM_TRIAL_FAILED;
            most = rung[t] > most ? rung[t] : most;
            if (outcome[t].status == LM_TRIAL_OK) {
                loss += outcome[t].validation_loss;
                accuracy += outcome[t].validation_accuracy;
                squares += (long double)outcome[t].validation_accuracy * outcome[t].validation_accuracy;
            }
        }
        assert_true(c[k].trials == n && c[k].ok == ok && c[k].diverged == diverged && c[k].failed == failed &&
                    c[k].rung == most);
        assert_true(k == 0 || c[k].first > c[k - 1].first);
        seen += n;
        if (isnan(loss))
            is_nan(c[k].loss_mean);
        if (ok < 2)
            continue;
        near(c[k].accuracy_mean, (double)(accuracy / (long double)ok));
        long double variance = (squares - accuracy * accuracy / (long double)ok) / (long double)(ok - 1);
        assert_true(fabsl((long double)c[k].accuracy_sd * c[k].accuracy_sd - variance) < 1e-14L);
    }
    assert_int_equal(seen, MOST);
    free(c);
}

/* ---- leaderboards ---- */

static uint64_t *leaders(const uint32_t *rungs, uint64_t n, int by_accuracy, uint64_t k, uint64_t expected)
{
    uint64_t *made, count;
    struct lm_error err;
    assert_int_equal(lm_leaderboard_make(outcome, rungs, n, by_accuracy, k, &made, &count, &err), LM_OK);
    assert_int_equal(count, expected);
    assert_non_null(made);
    return made;
}

static void check_order(uint64_t *found, const uint64_t *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found[i], wanted[i]);
    free(found);
}
#define ORDER(found, ...) check_order((found), (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static void test_leaderboard(void **state)
{
    (void)state;
    static const double loss[] = {0.5, 0.25, NAN, 0.25, 0.125, INFINITY, 0.75};
    static const double accuracy[] = {0.5, 0.75, 0.875, 0.75, 0.5, 0.25, NAN};
    begin(7);
    for (int t = 0; t < 7; t++) {
        outcome[t].validation_loss = loss[t];
        outcome[t].validation_accuracy = accuracy[t];
    }
    ORDER(leaders(NULL, 7, 0, 7, 7), 4, 1, 3, 0, 6, 5, 2);
    ORDER(leaders(NULL, 7, 0, 3, 3), 4, 1, 3);
    ORDER(leaders(NULL, 7, 0, 2, 2), 4, 1); /* a tie at the last place: the lower trial */
    ORDER(leaders(NULL, 7, 0, UINT64_MAX, 7), 4, 1, 3, 0, 6, 5, 2);
    ORDER(leaders(NULL, 7, 1, 7, 7), 2, 1, 3, 4, 0, 5, 6); /* 4 and 0 are as accurate: the lower loss */
    outcome[4].status = LM_TRIAL_DIVERGED;
    outcome[1].status = LM_TRIAL_FAILED;
    outcome[6].status = LM_TRIAL_NOT_RUN;
    ORDER(leaders(NULL, 7, 0, 7, 4), 3, 0, 5, 2);
    rung[2] = 1; /* promoted: in front, though it has no number */
    rung[5] = 2;
    rung[4] = 9; /* diverged */
    ORDER(leaders(rung, 7, 0, 7, 4), 5, 2, 3, 0);
    ORDER(leaders(rung, 7, 1, 1, 1), 5);
    free(leaders(rung, 7, 0, 0, 0));
    free(leaders(NULL, 0, 0, 5, 0));
    for (int t = 0; t < 7; t++)
        outcome[t].status = LM_TRIAL_DIVERGED;
    free(leaders(NULL, 7, 0, 5, 0));
}

/* Is a in front of b? Written once more, in other words. */
static int in_front(uint64_t a, uint64_t b, const uint32_t *rungs, int by_accuracy)
{
    double x[2], y[2];
    int n = 0;
    if (rungs && rungs[a] != rungs[b])
        return rungs[a] > rungs[b];
    if (by_accuracy) {
        x[n] = isnan(outcome[a].validation_accuracy) ? INFINITY : 1 - outcome[a].validation_accuracy;
        y[n++] = isnan(outcome[b].validation_accuracy) ? INFINITY : 1 - outcome[b].validation_accuracy;
    }
    if (isnan(outcome[a].validation_loss) != isnan(outcome[b].validation_loss) && (n == 0 || x[0] == y[0]))
        return isnan(outcome[b].validation_loss);
    x[n] = isnan(outcome[a].validation_loss) ? 0 : outcome[a].validation_loss;
    y[n++] = isnan(outcome[b].validation_loss) ? 0 : outcome[b].validation_loss;
    for (int i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i];
    return a < b;
}

static void test_every_k(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 8; round++) {
        uint64_t n = 60, sorted[60], ok = 0;
        int by_accuracy = round % 2;
        const uint32_t *rungs = round % 4 < 2 ? NULL : rung;
        make_random(n, &random);
        for (uint64_t t = 0; t < n; t++) { /* by insertion */
            uint64_t at = ok;
            if (outcome[t].status != LM_TRIAL_OK)
                continue;
            for (; at > 0 && in_front(t, sorted[at - 1], rungs, by_accuracy); at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = t;
            ok++;
        }
        assert_true(ok > 10 && ok < n);
        for (uint64_t k = 0; k <= n + 1; k++) {
            uint64_t *found = leaders(rungs, n, by_accuracy, k, k < ok ? k : ok);
            assert_memory_equal(found, sorted, (k < ok ? k : ok) * sizeof *found);
            free(found);
        }
    }
}

static void test_order_of_configurations(void **state)
{
    (void)state;
    struct lm_configuration c[6] = {
        {.ok = 2, .loss_mean = 0.5, .accuracy_mean = 0.5},  {.ok = 0, .loss_mean = NAN, .accuracy_mean = NAN},
        {.ok = 1, .loss_mean = NAN, .accuracy_mean = 0.9},  {.ok = 3, .loss_mean = 0.25, .accuracy_mean = 0.5},
        {.ok = 1, .loss_mean = 0.5, .accuracy_mean = 0.75}, {.ok = 0, .loss_mean = NAN, .accuracy_mean = NAN}};
    uint64_t *order, n;
    struct lm_error err;
    assert_int_equal(lm_configurations_order(c, 6, 0, 6, &order, &n, &err), LM_OK);
    ORDER(order, 3, 0, 4, 2, 1, 5);
    assert_int_equal(lm_configurations_order(c, 6, 1, 6, &order, &n, &err), LM_OK);
    ORDER(order, 2, 4, 3, 0, 1, 5);
    c[0].rung = 1;
    c[1].rung = 2; /* promoted, and then nobody was left of it */
    assert_int_equal(lm_configurations_order(c, 6, 0, 2, &order, &n, &err), LM_OK);
    assert_int_equal(n, 2);
    ORDER(order, 0, 3);
    assert_int_equal(lm_configurations_order(NULL, 0, 0, 2, &order, &n, &err), LM_OK);
    assert_int_equal(n, 0);
    free(order);
}

/* Hundreds of thousands of trials, in few configurations and in as many: a quadratic way would take minutes. */
static void test_speed(void **state)
{
    (void)state;
    const uint64_t n = 200000;
    struct lm_trial *many = calloc(n, sizeof *many);
    struct lm_outcome *ended = calloc(n, sizeof *ended);
    assert_true(many && ended);
    for (uint64_t width = 50; width <= n; width *= n / 50) {
        struct lm_configuration *made;
        uint64_t count, *best;
        struct lm_error err;
        for (uint64_t t = 0; t < n; t++) {
            many[t].learning_rate = 1e-6f * (float)(t % width + 1);
            many[t].epochs = (uint32_t)(t % width);
            ended[t].validation_loss = (double)(n - t);
        }
        clock_t start = clock();
        assert_int_equal(lm_statistics_make(many, ended, NULL, n, &made, &count, &err), LM_OK);
        assert_int_equal(count, width);
        assert_true(made[width - 1].first == width - 1 && made[width - 1].trials == n / width);
        free(made);
        assert_int_equal(lm_leaderboard_make(ended, NULL, n, 0, width, &best, &count, &err), LM_OK);
        assert_true(count == width && best[0] == n - 1 && best[width - 1] == n - width);
        free(best);
        assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
    }
    free(many);
    free(ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_printed_table),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_one_seed),
        cmocka_unit_test(test_two_seeds),
        cmocka_unit_test(test_eight_seeds),
        cmocka_unit_test(test_diverged_among_them),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_what_separates),
        cmocka_unit_test(test_equal_numbers),
        cmocka_unit_test(test_rungs),
        cmocka_unit_test(test_configurations_of_many),
        cmocka_unit_test(test_leaderboard),
        cmocka_unit_test(test_every_k),
        cmocka_unit_test(test_order_of_configurations),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
