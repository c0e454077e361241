/* test_lab_data.c: the whole path of the data against the lab's own output. The real set is loaded, split, fitted and
 * normalised; every attribute and label of the test samples, written as the lab writes them, must be the text of its
 * export. Skipped without LIBRAS_REAL_DATA (a folder of CSV files) and LIBRAS_LAB_REFERENCE (the export). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset.h"
#include "normalise.h"
#include "problem.h"
#include "split.h"

#define LAYERS_LINES (32 + 16 + 15)

static struct lm_problem make_problem(const char *dir)
{
    struct lm_dataset data;
    struct lm_split split;
    struct lm_scaler scaler;
    struct lm_problem problem;
    struct lm_error err = {0};
    int code = lm_dataset_load(dir, &data, &err);

    if (code != LM_OK)
        print_error("%s\n", err.text);
    assert_int_equal(code, LM_OK);
    assert_int_equal(lm_split_make(data.count, 1337, 0, &split, &err), LM_OK);
    lm_scaler_fit(&data, split.train, split.n_train, &scaler);
    assert_int_equal(lm_problem_make(&data, &split, &scaler, &problem, &err), LM_OK);
    lm_split_free(&split);
    lm_dataset_free(&data);
    return problem;
}

/* The label and the 64 attributes at the head of a line, as the lab writes them. */
static size_t write_sample(const struct lm_samples *samples, size_t i, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%d", samples->label[i]);

    for (int p = 0; p < LM_PIXELS; p++)
        n += (size_t)snprintf(text + n, size - n, " %.9g", (double)samples->x[i * LM_PIXELS + (size_t)p]);
    n += (size_t)snprintf(text + n, size - n, " ");
    return n;
}

static void test_lab_export(void **state)
{
    const char *dir = getenv("LIBRAS_REAL_DATA"), *reference = getenv("LIBRAS_LAB_REFERENCE");
    char *line = NULL, text[4096];
    size_t room = 0;

    (void)state;
    if (!dir || !*dir || !reference || !*reference)
        skip();
    struct lm_problem problem = make_problem(dir);
    FILE *file = fopen(reference, "r");
    assert_non_null(file);
    assert_int_equal(problem.train.n, 3532);
    assert_int_equal(problem.test.n, 878);

    assert_true(getline(&line, &room, file) > 0);
    assert_string_equal(line, "LIBRAS_MENDELEY_GPU_V1\n");
    assert_true(getline(&line, &room, file) > 0);
    assert_string_equal(line, "64 32 16 15 878\n");
    for (int i = 0; i < LAYERS_LINES; i++)
        assert_true(getline(&line, &room, file) > 0);
    for (size_t i = 0; i < problem.test.n; i++) {
        assert_true(getline(&line, &room, file) > 0);
        size_t n = write_sample(&problem.test, i, text, sizeof text);
        if (strncmp(line, text, n) != 0)
            print_error("test sample %zu differs\n", i);
        assert_memory_equal(line, text, n);
    }
    assert_true(getline(&line, &room, file) < 0);
    free(line);
    fclose(file);
    lm_problem_free(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lab_export)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
