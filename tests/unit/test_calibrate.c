/* test_calibrate.c: measuring the processor: medians by hand; every number is there and possible; what is done in the
 * middle is done once, and its failure is the whole's. No time is asserted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "made_problem.h"
#include "model_predict.h"

static struct lm_calibration *made_calibration(void)
{
    struct lm_calibration *c = calloc(1, sizeof *c);
    assert_non_null(c);
    lm_machine_clear(&c->machine);
    return c;
}

static void test_medians(void **state)
{
    struct lm_calibration *c = made_calibration();
    double odd[] = {5.0, 1.0, 2.0}, even[] = {4.0, 1.0, 3.0, 2.0}, none[] = {0.0};
    (void)state;
    lm_calibration_set(c, &c->machine.cpu.call, odd, 3);
    assert_true(c->machine.cpu.call == 2.0 && c->spread.cpu.call == 2.0);
    lm_calibration_set(c, &c->machine.gpu.behind, even, 4);
    assert_true(c->machine.gpu.behind == 2.5 && c->spread.gpu.behind == 3.0 / 2.5);
    lm_calibration_set(c, &c->machine.gpu.division, none, 1);
    assert_true(c->machine.gpu.division == 0.0 && c->spread.gpu.division == 0.0);
    free(c);
}

static int count_it(void *context, struct lm_error *err)
{
    (void)err;
    ++*(int *)context;
    return LM_OK;
}

static int fail_it(void *context, struct lm_error *err)
{
    ++*(int *)context;
    return lm_fail(err, LM_UNAVAILABLE, "no device in the middle");
}

/* What a file of this machine must have, and what every processor gives. */
static int is_measured(const struct lm_machine_value *p)
{
    static const char *const always[] = {"cpu.ref.train.small", "cpu.ref.train.wide", "cpu.thread"};
    for (size_t k = 0; k < sizeof always / sizeof *always; k++)
        if (strcmp(p->name, always[k]) == 0)
            return 1;
    return p->need == LM_FOR_CPU && strncmp(p->name, "cpu.", 4) == 0;
}

static void test_all_numbers(void **state)
{
    struct lm_problem problem = made_problem(200, 7);
    struct lm_calibration *c = made_calibration();
    struct lm_error err;
    int calls = 0;
    (void)state;
    assert_int_equal(lm_calibrate_cpu(&problem, 3, count_it, &calls, c, &err), LM_OK);
    assert_int_equal(calls, 1);
    assert_true(c->machine.cpu.cores == 3.0 && c->had > 0.0);
    for (size_t k = 0; k < lm_machine_values; k++) {
        const struct lm_machine_value *p = &lm_machine_table[k];
        double value = lm_machine_value_of(&c->machine, p);
        if (!isfinite(value) || (value != 0.0 && (value < p->least || value > p->most)) ||
            (is_measured(p) && p->least > 0.0 && value == 0.0))
            fail_msg("%s is %g", p->name, value);
    }
    int fastest = lm_fastest_cpu(c->machine.cpu.train);
    assert_true(c->machine.cpu.train_small[fastest] > 0.0 && c->machine.cpu.train_wide[fastest] > 0.0);
    assert_true(c->machine.cpu.thread > 0.0); /* starting a thread is not free */
    assert_true(c->machine.gpu.multiprocessors == 0.0);
    free(c);
    lm_problem_free(&problem);
}

static void test_failures(void **state)
{
    struct lm_problem problem = made_problem(200, 7), empty = {0};
    struct lm_calibration *c = made_calibration();
    struct lm_error err;
    int calls = 0;
    (void)state;
    assert_int_equal(lm_calibrate_cpu(&problem, 1, fail_it, &calls, c, &err), LM_UNAVAILABLE);
    assert_int_equal(calls, 1);
    assert_string_equal(err.text, "no device in the middle");
    assert_int_equal(lm_calibrate_cpu(&empty, 1, count_it, &calls, c, &err), LM_BAD_INPUT);
    assert_int_equal(calls, 1);
    free(c);
    lm_problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_all_numbers),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
