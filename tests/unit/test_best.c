/* test_best.c: the K best against a plain sort, in any order of arrival. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "best.h"
#include "statistics.h"

enum { N = 300 };

/* What the head of best.h says, once more, as a key for a sort: smaller is better. */
struct key {
    double rung, first, second, trial;
};

static struct key key_of(const struct lm_rating *r, int by_accuracy)
{
    double loss = isnan(r->loss) ? HUGE_VAL : r->loss;
    double accuracy = isnan(r->accuracy) ? -HUGE_VAL : r->accuracy;
    return (struct key){-(double)r->rung, by_accuracy ? -accuracy : loss, by_accuracy ? loss : 0.0, (double)r->trial};
}

static int sort_by_accuracy;

static int compare(const void *a, const void *b)
{
    struct key x = key_of(a, sort_by_accuracy), y = key_of(b, sort_by_accuracy);
    const double left[4] = {x.rung, x.first, x.second, x.trial}, right[4] = {y.rung, y.first, y.second, y.trial};
    for (int k = 0; k < 4; k++)
        if (left[k] != right[k])
            return left[k] < right[k] ? -1 : 1;
    return 0;
}

/* Many ties, some values that are not numbers, numbers in a scrambled order. */
static void make(struct lm_rating rating[N], unsigned seed)
{
    srand(seed);
    for (int k = 0; k < N; k++) {
        int r = rand();
        rating[k] = (struct lm_rating){.trial = (uint64_t)((k * 7 + (int)seed) % N),
                                       .rung = (uint32_t)(r % 3),
                                       .loss = r % 11 == 0 ? NAN : (double)(r / 3 % 20),
                                       .accuracy = r % 13 == 0 ? NAN : (double)(r / 60 % 5) / 5.0};
    }
}

static int has(const struct lm_best *best, uint64_t trial)
{
    for (uint64_t k = 0; k < best->n; k++)
        if (best->entry[k].rating.trial == trial)
            return 1;
    return 0;
}

static void test_against_a_sort(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++)
        for (uint64_t room = 0; room <= N + 5; room += room < 4 ? 1 : 61) {
            struct lm_rating rating[N];
            struct lm_best best;
            struct lm_error err;
            sort_by_accuracy = seed % 2;
            make(rating, seed);
            assert_int_equal(lm_best_begin(&best, room, sort_by_accuracy, &err), LM_OK);
            for (int k = 0; k < N; k++)
                if (lm_best_wants(&best, &rating[k]))
                    assert_int_equal(lm_best_put(&best, &rating[k], NULL, 0, &err), LM_OK);
            qsort(rating, N, sizeof *rating, compare);
            assert_int_equal(best.n, room < N ? room : N);
            for (uint64_t k = 0; k < best.n; k++)
                assert_true(has(&best, rating[k].trial));
            lm_best_end(&best);
        }
}

/* The leaderboard of a file is made by another function: it must name the same trials, in the order of the sort. */
static void test_against_the_leaderboard(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct lm_rating rating[N], by_trial[N];
        struct lm_outcome outcome[N];
        uint32_t rung[N];
        uint64_t *leader, n;
        struct lm_error err;
        sort_by_accuracy = seed % 2;
        make(rating, seed);
        memset(outcome, 0, sizeof outcome);
        for (int k = 0; k < N; k++)
            by_trial[rating[k].trial] = rating[k];
        for (int t = 0; t < N; t++) {
            outcome[t].validation_loss = by_trial[t].loss;
            outcome[t].validation_accuracy = by_trial[t].accuracy;
            rung[t] = by_trial[t].rung;
        }
        qsort(rating, N, sizeof *rating, compare);
        assert_int_equal(lm_leaderboard_make(outcome, rung, N, sort_by_accuracy, 50, &leader, &n, &err), LM_OK);
        assert_int_equal(n, 50);
        for (uint64_t k = 0; k < n; k++)
            assert_int_equal(leader[k], rating[k].trial);
        free(leader);
    }
}

static void test_parameters_are_copied(void **state)
{
    (void)state;
    struct lm_best best;
    struct lm_error err;
    float parameters[2] = {1.0f, 2.0f};
    const struct lm_rating worse = {.trial = 1, .loss = 2.0}, better = {.trial = 2, .loss = 1.0};
    assert_int_equal(lm_best_begin(&best, 1, 0, &err), LM_OK);
    assert_int_equal(lm_best_put(&best, &worse, parameters, 2, &err), LM_OK);
    assert_true(lm_best_wants(&best, &better));
    assert_false(lm_best_wants(&best, &worse));
    parameters[0] = 5.0f;
    assert_int_equal(lm_best_put(&best, &better, parameters, 2, &err), LM_OK);
    parameters[0] = 6.0f;
    assert_int_equal(best.n, 1);
    assert_int_equal(best.entry[0].rating.trial, 2);
    assert_true(best.entry[0].parameters[0] == 5.0f && best.entry[0].parameters[1] == 2.0f);
    lm_best_end(&best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_a_sort),
        cmocka_unit_test(test_against_the_leaderboard),
        cmocka_unit_test(test_parameters_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
