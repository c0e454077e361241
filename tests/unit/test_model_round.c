/* test_model_round.c: the model's own rounding, against the C library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "model_round.h"

static void test_as_the_library(void **state)
{
    static const double x[] = {0.0,       0.5,        1.0,    1.5,    2.999999, 1e-300, 31.0 / 32.0, 4194304.0,
                               4194303.5, 1e9 + 0.25, 3.9e15, 4.1e15, 1e18,     1e300,  HUGE_VAL};
    (void)state;
    for (size_t k = 0; k < sizeof x / sizeof *x; k++) {
        assert_true(lm_up(x[k]) == ceil(x[k]) && lm_up(-x[k]) == ceil(-x[k]));
        assert_true(lm_down(x[k]) == floor(x[k]) && lm_down(-x[k]) == floor(-x[k]));
    }
    assert_false(signbit(lm_up(0.0)) || signbit(lm_down(0.0)));
}

static void test_two(void **state)
{
    (void)state;
    assert_true(lm_larger(1.0, 2.0) == 2.0 && lm_larger(2.0, 1.0) == 2.0 && lm_larger(-HUGE_VAL, 1.0) == 1.0);
    assert_true(lm_smaller(1.0, 2.0) == 1.0 && lm_smaller(2.0, 1.0) == 1.0 && lm_smaller(HUGE_VAL, 1.0) == 1.0);
    assert_true(lm_up_to(13.0, 4.0) == 16.0 && lm_up_to(16.0, 4.0) == 16.0 && lm_up_to(0.0, 4.0) == 0.0);
    assert_true(lm_up_to(25.0, 24.0) == 48.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_library),
        cmocka_unit_test(test_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
