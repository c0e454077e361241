/* test_cpu_threads.c: trials and rows on several threads: the same answers, the tick on the caller's thread alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "cpu_backend.h"
#include "made_problem.h"

static const struct lm_backend *fastest(void)
{
    const struct lm_backend *backend = NULL;
    struct lm_error err;
    assert_int_equal(lm_backend_find("cpu", &backend, &err), LM_OK);
    return backend;
}

static const struct lm_shape shapes[] = {{32, 16}, {1, 1}, {7, 9}, {33, 17}, {64, 32}};
#define SHAPES (sizeof shapes / sizeof *shapes)

struct ticks {
    pthread_t caller;
    size_t calls, stop_after;
};

static int tick(void *context)
{
    struct ticks *t = context;
    assert_true(pthread_equal(pthread_self(), t->caller)); /* cmocka itself is of this thread */
    return ++t->calls >= t->stop_after;
}

enum { TRIALS = 14 };

static int train_trials(struct lm_problem *problem, int threads, struct ticks *ticks,
                        struct lm_training_result result[TRIALS], struct lm_error *err)
{
    const struct lm_backend *backend = fastest();
    struct lm_trial trial[TRIALS];
    void *session;
    problem->threads = threads;
    assert_int_equal(backend->open(problem, &session, err), LM_OK);
    for (size_t k = 0; k < TRIALS; k++) {
        trial[k] = (struct lm_trial){.learning_rate = k == 5 ? 1e30f : 0.02f,
                                     .decay = 0.9f,
                                     .initial_range = 0.1f,
                                     .epochs = k % 3 ? 4 : 30,
                                     .seed = (uint32_t)k,
                                     .block = 32,
                                     .shape = shapes[k % SHAPES]};
        result[k] = (struct lm_training_result){.loss = calloc(30, sizeof(double)),
                                                .parameters = calloc(lm_network_floats(trial[k].shape), sizeof(float))};
    }
    *ticks = (struct ticks){pthread_self(), 0, ticks->stop_after};
    int code = backend->train(session, trial, TRIALS, result, (struct lm_tick){tick, ticks}, err);
    backend->close(session);
    return code;
}

static void free_results(struct lm_training_result result[TRIALS])
{
    for (size_t k = 0; k < TRIALS; k++) {
        free(result[k].loss);
        free(result[k].parameters);
    }
}

/* The answers of one thread and of several; the tick comes on the calling thread, and stops all of them. */
static void test_threads(void **state)
{
    (void)state;
    struct lm_problem problem = made_problem(300, 18);
    struct lm_training_result one[TRIALS], many[TRIALS];
    struct ticks ticks = {.stop_after = SIZE_MAX};
    struct lm_error err;
    assert_int_equal(train_trials(&problem, 1, &ticks, one, &err), LM_OK);
    for (int threads = 2; threads <= 40; threads += 19) {
        assert_int_equal(train_trials(&problem, threads, &ticks, many, &err), LM_OK);
        assert_true(ticks.calls > 0);
        for (size_t k = 0; k < TRIALS; k++) {
            size_t n = lm_network_floats(shapes[k % SHAPES]);
            assert_int_equal(many[k].status, k == 5 ? LM_TRIAL_DIVERGED : LM_TRIAL_OK);
            assert_int_equal(many[k].epochs_run, one[k].epochs_run);
            assert_memory_equal(many[k].loss, one[k].loss, one[k].epochs_run * sizeof(double));
            if (k != 5)
                assert_memory_equal(many[k].parameters, one[k].parameters, n * sizeof(float));
        }
        free_results(many);
    }
    for (int threads = 1; threads <= 3; threads++) {
        ticks.stop_after = 3;
        assert_int_equal(train_trials(&problem, threads, &ticks, many, &err), LM_STOPPED);
        free_results(many);
    }
    free_results(one);
    lm_problem_free(&problem);
}

static void test_threads_infer(void **state)
{
    (void)state;
    static const size_t batch[] = {0, 1, 4095, 8192, 8193, 20000};
    const struct lm_shape shape = {32, 16};
    struct lm_mt19937 generator;
    float *x = malloc(20000 * LM_PIXELS * sizeof *x),
          *parameters = malloc(lm_network_floats(shape) * sizeof *parameters);
    float *want = malloc(20000 * LM_CLASSES * sizeof *want), *got = malloc(20000 * LM_CLASSES * sizeof *got);
    struct lm_problem problem = {.threads = 3};
    struct lm_error err;
    void *session, *ref;
    assert_true(x && parameters && want && got);
    lm_mt19937_seed(&generator, 19);
    for (size_t k = 0; k < 20000 * LM_PIXELS; k++)
        x[k] = made_float(&generator);
    lm_network_initialise(shape, 1, 1.0f, parameters);
    assert_int_equal(lm_backend_cpu_ref.open(&problem, &ref, &err), LM_OK);
    assert_int_equal(fastest()->open(&problem, &session, &err), LM_OK);
    assert_true(fastest()->capacity(session) >= 3);
    assert_int_equal(lm_backend_cpu_ref.infer(ref, shape, parameters, x, 20000, want, &err), LM_OK);
    for (size_t k = 0; k < sizeof batch / sizeof *batch; k++) {
        memset(got, 0, 20000 * LM_CLASSES * sizeof *got);
        assert_int_equal(fastest()->infer(session, shape, parameters, x, batch[k], got, &err), LM_OK);
        assert_memory_equal(got, want, batch[k] * LM_CLASSES * sizeof *got);
        for (size_t i = batch[k] * LM_CLASSES; i < 20000 * LM_CLASSES; i++)
            assert_int_equal(bits_of(got[i]), 0);
    }
    fastest()->close(session);
    lm_backend_cpu_ref.close(ref);
    assert_int_equal(lm_cpu_threads(1 << 20), 1);
    assert_int_equal(lm_cpu_threads(0), 1);
    assert_true(lm_cpu_threads(1) >= 1);
    free(x);
    free(parameters);
    free(want);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_infer),
    };
    return cmocka_run_group_tests_name("cpu_threads", tests, NULL, NULL);
}
