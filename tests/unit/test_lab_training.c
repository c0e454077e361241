/* test_lab_training.c: the lab's training on the lab's data, against its published figures, its weights after one epoch
 * and its formulas in double. Skipped without LIBRAS_REAL_DATA (a folder of CSV files) and, in part, without
 * LIBRAS_LAB_REFERENCE (the lab's text export after one epoch). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu_backend.h"
#include "evaluate.h"
#include "float64.h"
#include "network.h"
#include "normalise.h"
#include "split.h"

#define FLOATS 2863

static const struct lm_shape lab = {32, 16};

static const char *folder(const char *name)
{
    const char *value = getenv(name);
    if (!value || !*value) {
        print_message("# %s is not set\n", name);
        skip();
    }
    return value;
}

static struct lm_problem load(const char *dir)
{
    struct lm_dataset data;
    struct lm_split split;
    struct lm_scaler scaler;
    struct lm_problem problem;
    struct lm_error err = {0};

    if (lm_dataset_load(dir, &data, &err) != LM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lm_split_make(data.count, 1337, 0, &split, &err), LM_OK);
    lm_scaler_fit(&data, split.train, split.n_train, &scaler);
    assert_int_equal(lm_problem_make(&data, &split, &scaler, &problem, &err), LM_OK);
    lm_split_free(&split);
    lm_dataset_free(&data);
    assert_int_equal(problem.train.n, 3532);
    assert_int_equal(problem.test.n, 878);
    return problem;
}

/* Trains as the lab does, through the backend, and scores the test samples. */
static struct lm_metrics train(const struct lm_problem *problem, uint32_t epochs, double *loss, float *parameters)
{
    const struct lm_backend *backend = &lm_backend_cpu_ref;
    struct lm_trial trial = {.learning_rate = 0.02f,
                             .decay = 1.0f,
                             .initial_range = 0.05f,
                             .epochs = epochs,
                             .seed = 1337,
                             .block = 32,
                             .shape = lab};
    struct lm_training_result result = {.loss = loss, .parameters = parameters};
    float *scores = malloc(problem->test.n * LM_CLASSES * sizeof *scores);
    struct lm_error err;
    void *session;

    assert_non_null(scores);
    assert_int_equal(backend->open(problem, &session, &err), LM_OK);
    assert_int_equal(backend->train(session, &trial, 1, &result, (struct lm_tick){0}, &err), LM_OK);
    assert_int_equal(result.status, LM_TRIAL_OK);
    assert_int_equal(result.epochs_run, epochs);
    assert_int_equal(backend->infer(session, lab, parameters, problem->test.x, problem->test.n, scores, &err), LM_OK);
    backend->close(session);
    struct lm_metrics metrics = lm_evaluate(scores, problem->test.label, problem->test.n);
    free(scores);
    return metrics;
}

static void test_one_epoch(void **state)
{
    struct lm_problem problem = load(folder("LIBRAS_REAL_DATA"));
    float parameters[FLOATS];
    double loss;
    struct lm_metrics test = train(&problem, 1, &loss, parameters);

    (void)state;
    print_message("# 1 epoch: loss %.4f; test %zu/878, loss %.4f\n", loss, test.hits, test.loss);
    assert_true(fabs(loss - 0.3559) <= 0.005 * 0.3559);
    assert_in_range(test.hits, 663 - 5, 663 + 5);
    assert_true(fabs(test.loss - 0.2078) <= 0.005 * 0.2078);
    lm_problem_free(&problem);
}

/* The lab sums in index order and does not fuse; after 3,532 steps its weights differ from ours in the last digits. */
static void test_weights(void **state)
{
    const char *data = folder("LIBRAS_REAL_DATA"), *export = folder("LIBRAS_LAB_REFERENCE");
    struct lm_problem problem = load(data);
    float parameters[FLOATS];
    double loss, worst = 0.0;
    FILE *file = fopen(export, "r");
    int sizes[5];

    (void)state;
    assert_non_null(file);
    train(&problem, 1, &loss, parameters);
    assert_int_equal(
        fscanf(file, "LIBRAS_MENDELEY_GPU_V1 %d %d %d %d %d", &sizes[0], &sizes[1], &sizes[2], &sizes[3], &sizes[4]),
        5);
    assert_int_equal(sizes[4], 878);
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(lab, l);
        assert_int_equal(layer.inputs, sizes[l]);
        for (size_t i = 0; i < layer.outputs; i++)
            for (size_t j = 0; j <= layer.inputs; j++) { /* the bias ends the line */
                double theirs;
                size_t place = j < layer.inputs ? layer.weights + i * layer.inputs + j : layer.biases + i;
                assert_int_equal(fscanf(file, "%lf", &theirs), 1);
                worst = fmax(worst, fabs(theirs - (double)parameters[place]));
            }
    }
    print_message("# weights differ from the lab's by %.2e at most\n", worst);
    assert_true(worst <= 1e-4);
    fclose(file);
    lm_problem_free(&problem);
}

/* N steps, each of which rounds a weight once more by at most u = 2^-24 (test_training.c): N u = 2.1e-4 is the sure
 * bound where errors do not grow; a few thousandths of it are used. */
static void test_double(void **state)
{
    struct lm_problem problem = load(folder("LIBRAS_REAL_DATA"));
    const double bound = 3532 * 0x1p-24;
    float parameters[FLOATS];
    double exact[FLOATS], loss, exact_loss, worst = 0.0;
    struct lm_error err;

    (void)state;
    train(&problem, 1, &loss, parameters);
    assert_int_equal(lm_train64(&problem, lab, 0.02f, 1, 1337, 0.05f, exact, &exact_loss, &err), LM_OK);
    for (size_t k = 0; k < FLOATS; k++)
        worst = fmax(worst, fabs((double)parameters[k] - exact[k]));
    print_message("# in double: loss off by %.2e of itself, weights by %.2e (bound %.2e)\n",
                  fabs(loss - exact_loss) / exact_loss, worst, bound);
    assert_true(fabs(loss - exact_loss) <= bound * exact_loss);
    assert_true(worst <= bound);
    lm_problem_free(&problem);
}

/* Every loss that the lab prints, within 5 %: rounding errors have 180,000 steps to grow in. */
static void test_51_epochs(void **state)
{
    static const double published[] = {0.3559, 0.0564, 0.0319, 0.0193, 0.0144, 0.0114,
                                       0.0096, 0.0085, 0.0074, 0.0065, 0.0059};
    struct lm_problem problem = load(folder("LIBRAS_REAL_DATA"));
    float parameters[FLOATS];
    double loss[51];
    struct lm_metrics test = train(&problem, 51, loss, parameters);

    (void)state;
    print_message("# 51 epochs: loss %.4f; test %zu/878, loss %.4f\n", loss[50], test.hits, test.loss);
    for (int k = 0; k < 11; k++)
        assert_true(fabs(loss[5 * k] - published[k]) <= 0.05 * published[k]);
    assert_true(test.accuracy >= 0.995);
    assert_true(test.loss < 0.02);
    lm_problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_epoch),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_51_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
