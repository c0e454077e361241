/* test_model_work.c: trials to kinds of trainings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "model_work.h"

static struct lm_trial made(uint32_t block, uint32_t hidden1)
{
    return (struct lm_trial){.learning_rate = 0.02f,
                             .decay = 1.0f,
                             .initial_range = 0.05f,
                             .epochs = 10,
                             .seed = 1,
                             .block = block,
                             .shape = {hidden1, 16}};
}

static void add(struct lm_work *work, struct lm_trial trial, double epochs)
{
    struct lm_error err;
    assert_int_equal(lm_work_add(work, &trial, epochs, &err), LM_OK);
}

static void test_kinds(void **state)
{
    struct lm_work work = {0};
    (void)state;
    add(&work, made(32, 32), 10.0);
    add(&work, made(64, 32), 10.0);
    add(&work, made(32, 32), 20.0);
    add(&work, made(32, 8), 4.0);
    add(&work, made(48, 32), 1000.0); /* cannot be trained */
    lm_work_end(&work, 100.0, 1.0);
    assert_int_equal(work.kinds, 3);
    assert_true(work.kind[0].replicas == 2.0 && work.kind[0].epochs == 15.0 && work.kind[0].block == 32.0);
    assert_true(work.kind[1].replicas == 1.0 && work.kind[1].epochs == 10.0 && work.kind[1].block == 64.0);
    assert_true(work.kind[2].replicas == 1.0 && work.kind[2].shape.hidden1 == 8);
    assert_true(work.kind[0].samples == 100.0 && work.kind[0].first == 1);
    assert_true(work.trainings == 4.0 && work.epochs == 44.0 && work.steps == 4400.0);
    lm_work_free(&work);
    assert_true(work.kind == NULL && work.kinds == 0);
}

/* Of 8 and of 2 trainings a quarter is left: 2, and no less than one. */
static void test_share(void **state)
{
    struct lm_work work = {0};
    (void)state;
    for (int k = 0; k < 8; k++)
        add(&work, made(32, 32), 10.0);
    for (int k = 0; k < 2; k++)
        add(&work, made(64, 32), 10.0);
    lm_work_end(&work, 10.0, 0.25);
    assert_true(work.kind[0].replicas == 2.0 && work.kind[1].replicas == 1.0);
    assert_true(work.trainings == 3.0 && work.steps == 300.0);
    lm_work_free(&work);
}

/* 128 widths x 3 blocks are 384 kinds: all trainings are there, in 256. */
static void test_many(void **state)
{
    struct lm_work work = {0};
    (void)state;
    for (uint32_t block = 32; block <= 96; block += 32)
        for (uint32_t hidden = 1; hidden <= 128; hidden++)
            add(&work, made(block, hidden), 2.0);
    lm_work_end(&work, 5.0, 1.0);
    assert_int_equal(work.kinds, LM_WORK_KINDS);
    assert_true(work.trainings == 384.0 && work.epochs == 768.0 && work.steps == 3840.0);
    for (size_t k = 0; k < 128; k++) /* the third block's go to the first kind of the same width */
        assert_true(work.kind[k].replicas == 2.0 && work.kind[128 + k].replicas == 1.0);
    lm_work_free(&work);
}

static void test_nothing(void **state)
{
    struct lm_work work = {0};
    (void)state;
    add(&work, made(48, 32), 1.0);
    lm_work_end(&work, 100.0, 1.0);
    assert_true(work.kinds == 0 && work.steps == 0.0);
    lm_work_free(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
