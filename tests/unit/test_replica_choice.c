/* test_replica_choice.c: K of T trials, evenly spread: every small T and K, and the largest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "replica_choice.h"

static void check(uint64_t trials, uint64_t replicas)
{
    uint64_t k = replicas < trials ? replicas : trials, next = 0;
    for (uint64_t i = 0; i < k; i++) {
        uint64_t trial = lm_replica_of(trials, replicas, i);
        assert_true(trial < trials);
        assert_true(i == 0 ? trial == 0 : trial >= next);
        if (i > 0) { /* the distance of neighbours is T / K, rounded down or up */
            uint64_t distance = trial - (next - 1);
            assert_true(distance >= trials / k && distance <= (trials + k - 1) / k);
        }
        assert_true(lm_replica_place(trials, replicas, trial) == i);
        next = trial + 1;
    }
}

/* lm_replica_is says yes to those trials that lm_replica_of names, and to no other. */
static void check_membership(uint64_t trials, uint64_t replicas)
{
    uint64_t k = replicas < trials ? replicas : trials, i = 0;
    for (uint64_t trial = 0; trial < trials; trial++) {
        int is = i < k && lm_replica_of(trials, replicas, i) == trial;
        assert_int_equal(lm_replica_is(trials, replicas, trial), is);
        i += (uint64_t)is;
    }
    assert_true(i == k);
    assert_int_equal(lm_replica_is(trials, replicas, trials), 0);
}

static void test_small(void **state)
{
    (void)state;
    for (uint64_t trials = 1; trials <= 60; trials++)
        for (uint64_t replicas = 0; replicas <= 70; replicas++) {
            check(trials, replicas);
            check_membership(trials, replicas);
        }
}

static void test_large(void **state)
{
    static const uint64_t replicas[] = {1, 2, 3, 1000, 65537};
    const uint64_t most = UINT64_C(1) << 32;

    (void)state;
    for (size_t k = 0; k < sizeof replicas / sizeof *replicas; k++) {
        check(most, replicas[k]);
        check(most - 1, replicas[k]);
    }
    for (uint64_t few = most - 1; few <= most; few++) { /* all, or all but one */
        assert_int_equal(lm_replica_is(most, few, 0), 1);
        assert_int_equal(lm_replica_is(most, few, most - 1), few == most);
        assert_true(lm_replica_of(most, few, few - 1) == few - 1);
        assert_true(lm_replica_place(most, few, few - 1) == few - 1);
    }
    assert_true(lm_replica_of(most, 4, 3) == 3 * (most / 4));
    assert_int_equal(lm_replica_is(most, 4, 3 * (most / 4)), 1);
    assert_int_equal(lm_replica_is(most, 4, 3 * (most / 4) + 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
