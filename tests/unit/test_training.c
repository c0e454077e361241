/* test_training.c: the course of a training: the order of the samples, divergence, decay, the stop; and the float
 * arithmetic against the lab's formulas in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "cpu_backend.h"
#include "float64.h"
#include "made_problem.h"
#include "reference.h"
#include "split.h"

static const uint64_t real[LM_CLASSES] = {540, 589, 500, 504, 609, 260, 150, 197, 156, 150, 154, 151, 150, 150, 150};
static const struct lm_tick no_tick = {0};

/* ---- the order of the samples ---- */

/* The lab has one generator: it makes the split, then the epochs' shuffles. Here both are made by one, by hand: the
 * split must be lm_split_make's, and what the same generator then shuffles must be lm_order's. */
static void test_order_goes_on_from_the_split(void **state)
{
    enum { EPOCHS = 6 };
    struct lm_mt19937 generator;
    struct lm_split split;
    struct lm_order order;
    struct lm_error err;
    uint32_t letter[700], epoch[3532], first = 0;
    size_t trained = 0;

    (void)state;
    assert_int_equal(lm_split_make(real, 1337, 0.0, &split, &err), LM_OK);
    lm_mt19937_seed(&generator, 1337);
    for (int c = 0; c < LM_CLASSES; c++) {
        for (uint32_t k = 0; k < real[c]; k++)
            letter[k] = first + k;
        lm_shuffle(&generator, letter, real[c]);
        size_t test = real[c] / 5, train = real[c] - test;
        assert_memory_equal(letter + test, split.train + trained, train * sizeof *letter);
        trained += train;
        first += (uint32_t)real[c];
    }
    assert_int_equal(trained, 3532);
    for (uint32_t k = 0; k < trained; k++)
        epoch[k] = k;
    assert_int_equal(lm_order_begin(&order, 1337, real, trained, &err), LM_OK);
    assert_memory_equal(order.index, epoch, sizeof epoch);
    for (int e = 0; e < EPOCHS; e++) {
        lm_shuffle(&generator, epoch, trained);
        lm_order_next(&order);
        assert_memory_equal(order.index, epoch, sizeof epoch);
    }
    lm_order_end(&order);
    lm_split_free(&split);
}

static void test_order(void **state)
{
    enum { N = 1000 };
    struct lm_order order[3];
    struct lm_error err;
    unsigned char seen[N] = {0};
    uint64_t other[LM_CLASSES];

    (void)state;
    memcpy(other, real, sizeof other);
    other[3] += 2; /* one draw more: each serves two samples */
    assert_int_equal(lm_order_begin(&order[0], 7, real, N, &err), LM_OK);
    assert_int_equal(lm_order_begin(&order[1], 8, real, N, &err), LM_OK);
    assert_int_equal(lm_order_begin(&order[2], 7, other, N, &err), LM_OK);
    for (int k = 0; k < 3; k++)
        lm_order_next(&order[k]);
    for (size_t k = 0; k < N; k++) {
        assert_true(order[0].index[k] < N);
        assert_int_equal(seen[order[0].index[k]]++, 0);
    }
    assert_memory_not_equal(order[0].index, order[1].index, sizeof(uint32_t) * N); /* the seed counts */
    assert_memory_not_equal(order[0].index, order[2].index, sizeof(uint32_t) * N); /* and so do the dropped shuffles */
    for (int k = 0; k < 3; k++)
        lm_order_end(&order[k]);
    /* no samples are no reason to fail */
    assert_int_equal(lm_order_begin(&order[0], 7, real, 0, &err), LM_OK);
    lm_order_next(&order[0]);
    lm_order_end(&order[0]);
}

/* ---- one training ---- */

struct run {
    struct lm_trial trial;
    struct lm_training_result result;
    struct lm_error err;
    int code;
};

static struct lm_trial trial_of(float rate, uint32_t epochs)
{
    return (struct lm_trial){.learning_rate = rate,
                             .decay = 1.0f,
                             .initial_range = 0.05f,
                             .epochs = epochs,
                             .seed = 1337,
                             .block = 32,
                             .shape = {32, 16}};
}

static const struct lm_cpu_kernels *fastest(void)
{
#ifdef LM_HAVE_REFERENCE_FMA
    if (__builtin_cpu_supports("fma"))
        return &lm_reference_fma;
#endif
    return &lm_reference_plain;
}

static struct run train(const struct lm_problem *problem, struct lm_trial trial, struct lm_tick tick)
{
    struct run run = {.trial = trial};
    run.result.loss = malloc(trial.epochs * sizeof *run.result.loss);
    run.result.parameters = malloc(lm_network_floats(trial.shape) * sizeof(float));
    assert_true(run.result.loss && run.result.parameters);
    memset(run.result.loss, 0, trial.epochs * sizeof *run.result.loss);
    memset(run.result.reason, 'x', sizeof run.result.reason);
    run.code = lm_train_one(fastest(), problem, &trial, &run.result, tick, &run.err);
    return run;
}

static void run_free(struct run *run)
{
    free(run->result.loss);
    free(run->result.parameters);
}

/* The parameters handed out are those of the start: what a diverged training made of them is kept from the caller. */
static void assert_untouched(const struct run *run)
{
    float *start = malloc(lm_network_floats(run->trial.shape) * sizeof *start);
    assert_non_null(start);
    lm_network_initialise(run->trial.shape, run->trial.seed, run->trial.initial_range, start);
    assert_memory_equal(run->result.parameters, start, lm_network_floats(run->trial.shape) * sizeof *start);
    free(start);
}

static void test_ok(void **state)
{
    struct lm_problem problem = made_problem(300, 2);
    struct run run = train(&problem, trial_of(0.02f, 6), no_tick);

    (void)state;
    assert_int_equal(run.code, LM_OK);
    assert_int_equal(run.result.status, LM_TRIAL_OK);
    assert_int_equal(run.result.epochs_run, 6);
    assert_string_equal(run.result.reason, "");
    assert_true(run.result.seconds > 0.0 && run.result.seconds < 60.0);
    assert_true(run.result.loss[0] < 0.6 && run.result.loss[5] < run.result.loss[0]);
    run_free(&run);
    lm_problem_free(&problem);
}

static void test_diverges_at_once(void **state)
{
    struct lm_problem problem = made_problem(300, 2);
    struct run run = train(&problem, trial_of(1e30f, 4), no_tick);

    (void)state;
    assert_int_equal(run.code, LM_OK);
    assert_int_equal(run.result.status, LM_TRIAL_DIVERGED);
    assert_int_equal(run.result.epochs_run, 0);
    assert_string_equal(run.result.reason, "the loss of epoch 1 is not finite");
    for (int e = 0; e < 4; e++)
        assert_true(isnan(run.result.loss[e]));
    assert_untouched(&run);
    run_free(&run);
    lm_problem_free(&problem);
}

/* A rate that grows a hundredfold each epoch: the losses before the bad epoch stay, those from it on are NaN. */
static void test_diverges_later(void **state)
{
    struct lm_problem problem = made_problem(300, 2);
    struct lm_trial trial = trial_of(1e-4f, 8);
    char reason[160];

    (void)state;
    trial.decay = 100.0f;
    struct run run = train(&problem, trial, no_tick);
    uint32_t n = run.result.epochs_run;
    assert_int_equal(run.code, LM_OK);
    assert_int_equal(run.result.status, LM_TRIAL_DIVERGED);
    assert_in_range(n, 1, 7);
    for (uint32_t e = 0; e < 8; e++)
        assert_int_equal(!isfinite(run.result.loss[e]), e >= n);
    snprintf(reason, sizeof reason, "the loss of epoch %u is not finite", n + 1);
    assert_string_equal(run.result.reason, reason);
    assert_untouched(&run);
    run_free(&run);
    lm_problem_free(&problem);
}

/* One sample, one epoch: the loss is taken before the step, and the step overflows. */
static void test_weights_not_finite(void **state)
{
    struct lm_problem problem = made_problem(1, 2);

    (void)state;
    for (int p = 0; p < LM_PIXELS; p++)
        problem.train.x[p] = 1e20f;
    struct run run = train(&problem, trial_of(1e10f, 1), no_tick);
    assert_int_equal(run.code, LM_OK);
    assert_int_equal(run.result.epochs_run, 1);
    assert_true(isfinite(run.result.loss[0]));
    assert_int_equal(run.result.status, LM_TRIAL_DIVERGED);
    assert_string_equal(run.result.reason, "the weights after the last epoch are not finite");
    run_free(&run);
    lm_problem_free(&problem);
}

/* An infinite loss is no finite one, though nothing is a NaN and the weights stay finite. */
static void test_infinite_loss(void **state)
{
    struct lm_problem problem = made_problem(1, 2);

    (void)state;
    for (int p = 0; p < LM_PIXELS; p++)
        problem.train.x[p] = 1e25f;
    struct run run = train(&problem, trial_of(1e-38f, 1), no_tick);
    assert_int_equal(run.code, LM_OK);
    assert_int_equal(run.result.status, LM_TRIAL_DIVERGED);
    assert_int_equal(run.result.epochs_run, 0);
    assert_true(isnan(run.result.loss[0]));
    assert_string_equal(run.result.reason, "the loss of epoch 1 is not finite");
    run_free(&run);
    lm_problem_free(&problem);
}

static void test_finished(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const struct lm_trial trial = trial_of(0.02f, 1);
    float parameters[2863];
    struct lm_training_result result = {.parameters = parameters, .status = LM_TRIAL_FAILED};

    (void)state;
    lm_network_initialise(trial.shape, 1, 0.05f, parameters);
    lm_training_finished(&trial, &result);
    assert_int_equal(result.status, LM_TRIAL_OK);
    assert_string_equal(result.reason, "");
    for (size_t k = 0; k < 3; k++)
        for (size_t place = 0; place < 2863; place += 1431) { /* the first, one in the middle, the last */
            float kept = parameters[place];
            parameters[place] = bad[k];
            lm_training_finished(&trial, &result);
            assert_int_equal(result.status, LM_TRIAL_DIVERGED);
            assert_non_null(strstr(result.reason, "not finite"));
            parameters[place] = kept;
        }
}

/* The same training by hand: the rate falls after each epoch, in float; the loss is a mean over the samples. */
static void test_decay(void **state)
{
    struct lm_problem problem = made_problem(300, 3);
    struct lm_trial trial = trial_of(0.05f, 5);
    struct lm_order order;
    struct lm_error err;
    float parameters[2863], rate = 0.05f;

    (void)state;
    trial.decay = 0.7f;
    struct run run = train(&problem, trial, no_tick);
    assert_int_equal(run.result.status, LM_TRIAL_OK);

    void *net = fastest()->begin(trial.shape);
    assert_non_null(net);
    lm_network_initialise(trial.shape, trial.seed, trial.initial_range, parameters);
    fastest()->put(net, parameters);
    assert_int_equal(lm_order_begin(&order, trial.seed, problem.count, problem.train.n, &err), LM_OK);
    for (int e = 0; e < 5; e++) {
        lm_order_next(&order);
        double loss = fastest()->train(net, rate, &problem.train, order.index, order.n, 0.0) / 300.0;
        assert_memory_equal(&loss, &run.result.loss[e], sizeof loss);
        rate *= 0.7f;
    }
    fastest()->get(net, parameters);
    assert_memory_equal(parameters, run.result.parameters, sizeof parameters);
    fastest()->end(net);
    lm_order_end(&order);
    run_free(&run);
    lm_problem_free(&problem);
}

struct ticks {
    int calls, stop_at;
};

static int count_ticks(void *context)
{
    struct ticks *ticks = context;
    return ++ticks->calls == ticks->stop_at;
}

static void test_tick(void **state)
{
    struct lm_problem problem = made_problem(1000, 4);
    struct ticks heard = {0}, stopper = {.stop_at = 5};

    (void)state;
    struct run quiet = train(&problem, trial_of(0.02f, 3), no_tick);
    struct run run = train(&problem, trial_of(0.02f, 3), (struct lm_tick){count_ticks, &heard});
    assert_true(heard.calls >= 3 * 2); /* a few hundred samples at a time */
    assert_memory_equal(run.result.parameters, quiet.result.parameters, 2863 * sizeof(float));
    assert_memory_equal(run.result.loss, quiet.result.loss, 3 * sizeof(double));
    run_free(&run);

    run = train(&problem, trial_of(0.02f, 100), (struct lm_tick){count_ticks, &stopper});
    assert_int_equal(run.code, LM_STOPPED);
    assert_int_equal(run.err.code, LM_STOPPED);
    assert_non_null(strstr(run.err.text, "stopped in epoch 2 of 100"));
    assert_int_equal(stopper.calls, 5); /* and at once */
    run_free(&run);
    run_free(&quiet);
    lm_problem_free(&problem);
}

/* ---- against double ---- */

/* One step rounds each weight once more, by at most half a unit of a number below 1: u = 2^-24. If steps neither grew
 * nor shrank what came before, N samples would move a weight by N u at most, and by about sqrt(N) u as rounding errors
 * go (6000 steps: 4e-4 and 5e-6); a loss is off by about as much of itself. The bound for both is the sure one, N u
 * with N the steps so far; a few thousandths of it are used. A wrong formula or another order is off by far more: the
 * same training with a rate that differs by 1e-4 of itself breaks both bounds. */
static void test_against_double(void **state)
{
    enum { EPOCHS = 6, N = 1000 };
    struct lm_problem problem = made_problem(N, 5);
    struct lm_trial trial = trial_of(0.02f, EPOCHS);
    struct run run = train(&problem, trial, no_tick);
    size_t floats = lm_network_floats(trial.shape);
    double *parameters = malloc(floats * sizeof *parameters), loss[EPOCHS];
    struct lm_error err;

    (void)state;
    assert_non_null(parameters);
    assert_true(run.result.loss[EPOCHS - 1] < 0.5 * run.result.loss[0]); /* it learns: the comparison means something */
    for (int wrong = 0; wrong < 2; wrong++) {
        double rate = (double)0.02f * (wrong ? 1.0001 : 1.0), worst_weight = 0.0;
        int broken = 0, broken_weights;
        assert_int_equal(
            lm_train64(&problem, trial.shape, rate, EPOCHS, trial.seed, trial.initial_range, parameters, loss, &err),
            LM_OK);
        for (int e = 0; e < EPOCHS; e++) {
            double bound = (double)N * (e + 1) * 0x1p-24 * loss[e], error = fabs(run.result.loss[e] - loss[e]);
            print_message("# epoch %d: loss %.6f, off by %.2e of itself (bound %.2e)\n", e + 1, loss[e],
                          error / loss[e], bound / loss[e]);
            broken += !(error <= bound);
        }
        for (size_t k = 0; k < floats; k++)
            worst_weight = fmax(worst_weight, fabs((double)run.result.parameters[k] - parameters[k]));
        print_message("# weights off by %.2e at most (bound %.2e)\n", worst_weight, EPOCHS * N * 0x1p-24);
        broken_weights = !(worst_weight <= EPOCHS * N * 0x1p-24);
        assert_int_equal(broken > 0, wrong);
        assert_int_equal(broken_weights, wrong);
    }
    free(parameters);
    run_free(&run);
    lm_problem_free(&problem);
}

/* The scores of one network for some inputs: never beyond the bound; returns the largest share of it that was used. */
static double share_of_bound(struct lm_shape shape, float range, struct lm_mt19937 *generator)
{
    enum { INPUTS = 8 };
    size_t floats = lm_network_floats(shape);
    float *parameters = malloc(floats * sizeof *parameters), x[LM_PIXELS], scores[LM_CLASSES];
    double exact[LM_CLASSES], bound[LM_CLASSES], share = 0.0;

    assert_non_null(parameters);
    for (size_t k = 0; k < floats; k++)
        parameters[k] = lm_draw_uniform(generator, -range, range);
    void *net = fastest()->begin(shape);
    assert_non_null(net);
    fastest()->put(net, parameters);
    for (int k = 0; k < INPUTS; k++) {
        for (int p = 0; p < LM_PIXELS; p++)
            x[p] = lm_draw_uniform(generator, -3.0f, 3.0f);
        fastest()->infer(net, x, 1, scores);
        lm_forward64(shape, parameters, x, exact, bound);
        for (int c = 0; c < LM_CLASSES; c++) {
            double error = fabs((double)scores[c] - exact[c]);
            assert_true(bound[c] > 0.0 && error <= bound[c]);
            share = fmax(share, error / bound[c]);
        }
    }
    fastest()->end(net);
    free(parameters);
    return share;
}

/* The bound is a sure one, and rounding errors mostly cancel: a few hundredths of it are used. Were it a hundred times
 * too wide, a real mistake could hide in it. */
static void test_forward_bound(void **state)
{
    static const uint32_t width[] = {1, 3, 16, 32, 128};
    static const float range[] = {0.05f, 1.0f, 30.0f};
    struct lm_mt19937 generator;
    double most = 0.0;

    (void)state;
    lm_mt19937_seed(&generator, 21);
    for (size_t r = 0; r < 3; r++)
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < 5; j++)
                for (int t = 0; t < 4; t++)
                    most = fmax(most, share_of_bound((struct lm_shape){width[i], width[j]}, range[r], &generator));
    print_message("# the largest error is %.3f of its bound\n", most);
    assert_true(most > 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_goes_on_from_the_split),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ok),
        cmocka_unit_test(test_diverges_at_once),
        cmocka_unit_test(test_diverges_later),
        cmocka_unit_test(test_weights_not_finite),
        cmocka_unit_test(test_infinite_loss),
        cmocka_unit_test(test_finished),
        cmocka_unit_test(test_decay),
        cmocka_unit_test(test_tick),
        cmocka_unit_test(test_against_double),
        cmocka_unit_test(test_forward_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
