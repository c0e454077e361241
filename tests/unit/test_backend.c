/* test_backend.c: backends by name, and each of them, whatever it is, against the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "cpu_backend.h"
#include "made_problem.h"

static int in_family(const char *name, const char *family)
{
    size_t n = strlen(family);
    return strncmp(name, family, n) == 0 && (name[n] == '\0' || name[n] == ':' || name[n] == '-');
}

/* The first of the list that runs here, of a family or ("") of all; NULL where none does. */
static const struct lm_backend *first_of(const char *family)
{
    struct lm_error err;
    for (const struct lm_backend *const *b = lm_backends(); *b; b++)
        if ((*family == '\0' || in_family((*b)->name, family)) && (*b)->probe(&err) == LM_OK)
            return *b;
    return NULL;
}

static const struct lm_backend *find(const char *name)
{
    const struct lm_backend *found = NULL;
    struct lm_error err;
    if (lm_backend_find(name, &found, &err) != LM_OK)
        fail_msg("%s: %s", name, err.text);
    return found;
}

/* ---- names ---- */

static void test_list(void **state)
{
    size_t n = 0;

    (void)state;
    for (const struct lm_backend *const *b = lm_backends(); *b; b++, n++) {
        assert_true((*b)->probe && (*b)->open && (*b)->close && (*b)->capacity && (*b)->train && (*b)->infer);
        assert_true(in_family((*b)->name, "cpu") || in_family((*b)->name, "gpu"));
        assert_true(strlen((*b)->summary) > 10);
        for (size_t k = 0; k < n; k++)
            assert_string_not_equal(lm_backends()[k]->name, (*b)->name);
    }
    assert_true(n >= 1);
    assert_ptr_equal(lm_backends()[n - 1], &lm_backend_cpu_ref); /* the last, and always there */
    assert_ptr_equal(find("cpu-ref"), &lm_backend_cpu_ref);
}

/* "auto" and the families are the first that runs, and a name is that one and no other. */
static void test_find(void **state)
{
    struct lm_error err;

    (void)state;
    assert_ptr_equal(find("auto"), first_of(""));
    assert_ptr_equal(find("cpu"), first_of("cpu"));
    for (const struct lm_backend *const *b = lm_backends(); *b; b++) {
        const struct lm_backend *found = NULL;
        struct lm_error why;
        if ((*b)->probe(&why) == LM_OK) {
            assert_ptr_equal(find((*b)->name), *b);
        } else { /* said with its reason, and not replaced by another */
            assert_int_equal(lm_backend_find((*b)->name, &found, &err), LM_UNAVAILABLE);
            assert_string_equal(err.text, why.text);
            assert_null(found);
        }
    }
}

static void test_gpu(void **state)
{
    const struct lm_backend *found = NULL;
    struct lm_error err;

    (void)state;
    if (first_of("gpu")) {
        assert_ptr_equal(find("gpu"), first_of("gpu"));
        return;
    }
    assert_int_equal(lm_backend_find("gpu", &found, &err), LM_UNAVAILABLE); /* no fallback */
    assert_int_equal(err.code, LM_UNAVAILABLE);
    assert_null(found);
    assert_int_equal(lm_backend_find("gpu:batch", &found, &err), LM_UNAVAILABLE);
    assert_null(found);
    for (const struct lm_backend *const *b = lm_backends(); *b; b++)
        if (in_family((*b)->name, "gpu"))
            return; /* built in, but nothing here to run it: the reason is the backend's own */
    assert_int_equal(lm_backend_find("gpu", &found, &err), LM_UNAVAILABLE);
    assert_string_equal(err.text,
                        "--device gpu: this build has no such backend; `libras_mpi info` lists those that it has");
}

static void test_unknown(void **state)
{
    static const char *const word[][2] = {
        {"gpuu", "gpu"}, {"cpu-rf", "cpu-ref"}, {"aut", "auto"}, {"CPU", NULL}, {"", NULL}, {"quantum", NULL},
    };
    const struct lm_backend *found = NULL;
    struct lm_error err;
    char part[80];

    (void)state;
    for (size_t k = 0; k < sizeof word / sizeof *word; k++) {
        if (lm_backend_find(word[k][0], &found, &err) != LM_BAD_INPUT)
            fail_msg("'%s' is a device", word[k][0]);
        assert_null(found);
        snprintf(part, sizeof part, "--device: '%s' is no device; ", word[k][0]);
        assert_ptr_equal(strstr(err.text, part), err.text);
        snprintf(part, sizeof part, "did you mean '%s'?", word[k][1] ? word[k][1] : "");
        assert_int_equal(strstr(err.text, word[k][1] ? part : "did you mean") != NULL, word[k][1] != NULL);
    }
}

/* ---- what they do ---- */

struct trained {
    struct lm_training_result result[4];
    float *scores;
};

enum { TRIALS = 4, EPOCHS = 3, TEST = 37 };

/* The first is plain, the second decays, the third diverges, the fourth has another shape. */
static const struct lm_trial trial[TRIALS] = {
    {.learning_rate = 0.02f,
     .decay = 1,
     .initial_range = 0.05f,
     .epochs = 3,
     .seed = 1,
     .block = 32,
     .shape = {32, 16}},
    {.learning_rate = 0.05f,
     .decay = 0.7f,
     .initial_range = 0.1f,
     .epochs = 2,
     .seed = 2,
     .block = 64,
     .shape = {7, 5}},
    {.learning_rate = 1e30f,
     .decay = 1,
     .initial_range = 0.05f,
     .epochs = 3,
     .seed = 3,
     .block = 32,
     .shape = {32, 16}},
    {.learning_rate = 0.02f,
     .decay = 1,
     .initial_range = 0.05f,
     .epochs = 1,
     .seed = 4,
     .block = 32,
     .shape = {128, 1}},
};

static struct trained train_with(const struct lm_backend *backend, const struct lm_problem *problem)
{
    struct trained t = {.scores = malloc(TRIALS * TEST * LM_CLASSES * sizeof(float))};
    struct lm_error err;
    void *session;

    assert_non_null(t.scores);
    for (int k = 0; k < TRIALS; k++) {
        t.result[k].loss = malloc(EPOCHS * sizeof(double));
        t.result[k].parameters = malloc(lm_network_floats(trial[k].shape) * sizeof(float));
        assert_true(t.result[k].loss && t.result[k].parameters);
    }
    assert_int_equal(backend->open(problem, &session, &err), LM_OK);
    assert_true(backend->capacity(session) >= 1);
    assert_int_equal(backend->train(session, trial, TRIALS, t.result, (struct lm_tick){0}, &err), LM_OK);
    for (int k = 0; k < TRIALS; k++)
        if (t.result[k].status == LM_TRIAL_OK)
            assert_int_equal(backend->infer(session, trial[k].shape, t.result[k].parameters, problem->train.x, TEST,
                                            t.scores + k * TEST * LM_CLASSES, &err),
                             LM_OK);
    assert_int_equal(backend->infer(session, trial[0].shape, t.result[0].parameters, problem->train.x, 0, NULL, &err),
                     LM_OK); /* a rank may have no samples */
    backend->close(session);
    return t;
}

static void trained_free(struct trained *t)
{
    for (int k = 0; k < TRIALS; k++) {
        free(t->result[k].loss);
        free(t->result[k].parameters);
    }
    free(t->scores);
}

static void compare(const struct trained *a, const struct trained *b)
{
    for (int k = 0; k < TRIALS; k++) {
        const struct lm_training_result *x = &a->result[k], *y = &b->result[k];
        assert_int_equal(x->status, y->status);
        assert_int_equal(x->epochs_run, y->epochs_run);
        assert_string_equal(x->reason, y->reason);
        assert_memory_equal(x->loss, y->loss, x->epochs_run * sizeof(double));
        for (uint32_t e = x->epochs_run; e < trial[k].epochs; e++)
            assert_true(isnan(x->loss[e]) && isnan(y->loss[e]));
        if (x->status != LM_TRIAL_OK)
            continue;
        assert_memory_equal(x->parameters, y->parameters, lm_network_floats(trial[k].shape) * sizeof(float));
        assert_memory_equal(a->scores + k * TEST * LM_CLASSES, b->scores + k * TEST * LM_CLASSES,
                            TEST * LM_CLASSES * sizeof(float));
    }
}

static void test_same_bits(void **state)
{
    struct lm_problem problem = made_problem(300, 8);
    struct trained reference = train_with(&lm_backend_cpu_ref, &problem);
    struct lm_error err;

    (void)state;
    assert_int_equal(reference.result[0].status, LM_TRIAL_OK);
    assert_int_equal(reference.result[1].status, LM_TRIAL_OK);
    assert_int_equal(reference.result[2].status, LM_TRIAL_DIVERGED);
    assert_int_equal(reference.result[3].status, LM_TRIAL_OK);
    for (const struct lm_backend *const *b = lm_backends(); *b; b++) {
        if ((*b)->probe(&err) != LM_OK) {
            print_message("# %s: %s\n", (*b)->name, err.text);
            continue;
        }
        struct trained other = train_with(*b, &problem);
        compare(&reference, &other);
        trained_free(&other);
    }
    trained_free(&reference);
    lm_problem_free(&problem);
}

static int stop_at_once(void *context)
{
    ++*(int *)context;
    return 1;
}

static void test_stop(void **state)
{
    struct lm_problem problem = made_problem(300, 9);
    struct lm_error err;

    (void)state;
    for (const struct lm_backend *const *b = lm_backends(); *b; b++) {
        float parameters[2863];
        double loss[EPOCHS];
        int heard = 0;
        void *session;
        struct lm_training_result result = {.loss = loss, .parameters = parameters};
        if ((*b)->probe(&err) != LM_OK)
            continue;
        assert_int_equal((*b)->open(&problem, &session, &err), LM_OK);
        assert_int_equal((*b)->train(session, trial, 1, &result, (struct lm_tick){stop_at_once, &heard}, &err),
                         LM_STOPPED);
        assert_true(heard >= 1);
        (*b)->close(session);
    }
    lm_problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),    cmocka_unit_test(test_find),      cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_same_bits), cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
