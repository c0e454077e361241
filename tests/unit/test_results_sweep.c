/* test_results_sweep.c: files of a sweep whose groups were changed: what the loader refuses, and what it can do
 * without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forged_results.h"

static void test_impossible_numbers(void **state)
{
    (void)state;
    const int64_t large = 1 << 20, negative = -1, thirteen = 13, twelve = 12, four = 4, one = 1, none = 0;
    set_number("/trials/rung", H5T_NATIVE_INT64, &four);
    refused("/trials/rung[0]: rung 4, where the longest trial has 4 epochs");
    set_number("/sweep/trial", H5T_NATIVE_INT64, &twelve);
    refused("/sweep/trial: place 1: there is no trial 12");
    set_number("/sweep/trial", H5T_NATIVE_UINT64, &negative);
    refused("there is no trial 18446744073709551615");
    set_number("/configurations/first_trial", H5T_NATIVE_INT64, &large);
    refused("/configurations: configuration 0: its first trial is none");
    set_number("/configurations/first_trial", H5T_NATIVE_INT64, &four);
    refused("it is not in the order of the first trials");
    set_number("/configurations/trials", H5T_NATIVE_INT64, &none);
    refused("no such number of trials");
    set_number("/configurations/trials", H5T_NATIVE_INT64, &thirteen);
    refused("no such number of trials");
    set_number("/configurations/trials", H5T_NATIVE_INT64, &twelve);
    refused("together they do not have the file's 12 trials");
    set_number("/configurations/ok", H5T_NATIVE_UINT64, &negative);
    refused("more trials ended than there are");
    set_number("/configurations/diverged", H5T_NATIVE_UINT64, &negative);
    refused("more trials ended than there are");
    set_number("/configurations/failed", H5T_NATIVE_INT64, &twelve);
    refused("more trials ended than there are");
    set_number("/configurations/rung", H5T_NATIVE_INT64, &four);
    refused("no such rung");
    set_number("/configurations/trials", H5T_NATIVE_INT64, &one); /* as it is: nothing to refuse */
    struct lm_error err;
    assert_int_equal(sample_read_all(path, &err), LM_OK);
}

static void test_wrong_data_sets(void **state)
{
    (void)state;
    static const char *const each[] = {"/sweep/place",
                                       "/sweep/trial",
                                       "/sweep/test_accuracy",
                                       "/sweep/search",
                                       "/sweep/specification",
                                       "/configurations/configuration",
                                       "/configurations/loss_sd",
                                       "/configurations/epochs",
                                       "/configurations/trials",
                                       "/configurations/rung"};
    const hsize_t huge[2] = {(hsize_t)1 << 40, 1 << 20}, small[3] = {1, 1, 1}, thirteen[1] = {13};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        replace(each[i], -1, 0, NULL);
        refused("there is no data set /");
        refused(strrchr(each[i], '/') + 1);
        replace(each[i], H5T_NATIVE_SHORT, 1, small);
        refused("wrong type");
        replace(each[i], H5T_IEEE_F32LE, 3, small);
        refused("it has a wrong");
        replace(each[i], H5T_STD_I64LE, 1, huge);
        refused("it ");
        replace(each[i], H5T_IEEE_F64LE, 2, huge);
        refused("it ");
    }
    replace("/sweep/place", H5T_STD_I64LE, 1, huge);
    refused("larger than the file");
    replace("/configurations/configuration", H5T_STD_I64LE, 1, huge);
    refused("larger than the file");
    replace("/sweep/place", H5T_STD_I64LE, 1, thirteen);
    refused("more places than trials");
    replace("/configurations/configuration", H5T_STD_I64LE, 1, thirteen);
    refused("more configurations than trials");
    replace("/trials/rung", H5T_STD_I64LE, 1, thirteen);
    refused("/trials/rung: it has a wrong type");
    replace("/trials/rung", H5T_STD_U32LE, 1, thirteen);
    refused("/trials/rung: its length differs");
    replace("/sweep", H5T_NATIVE_INT, 0, NULL);
    refused("/sweep");
    replace("/configurations", -1, 0, NULL);
    refused("there is no group /configurations");
}

static void set_text(const char *name, const char *text)
{
    struct lm_error err;
    hid_t file = open_to_change(), type, data_set = H5Dopen2(file, name, H5P_DEFAULT);
    assert_int_equal(lm_h5_text_type(&type, &err), LM_OK);
    assert_true(H5Dwrite(data_set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0);
    assert_true(H5Dclose(data_set) >= 0 && H5Tclose(type) >= 0);
    close_file(file);
}

static void test_wrong_texts(void **state)
{
    (void)state;
    struct lm_error err;
    set_text("/sweep/objective", "test_accuracy"); /* nobody chooses by that */
    refused("/sweep/objective: 'test_accuracy' is none: validation_loss or validation_accuracy");
    set_text("/sweep/objective", "validation_loss, but of a very long name");
    refused("a text of 40 bytes; at most 31 are allowed");
    set_text("/sweep/search", "a search of the future");
    refused("a text of 22 bytes; at most 15 are allowed");
    set_text("/sweep/search", "bayes");
    assert_int_equal(sample_read_all(path, &err), LM_OK);
}

/* Files without any of it, as they were before there were sweeps, or without rungs. */
static void test_parts_that_may_be_missing(void **state)
{
    (void)state;
    struct lm_error err;
    hid_t file = open_to_change();
    assert_true(H5Ldelete(file, "/trials/rung", H5P_DEFAULT) >= 0);
    close_file(file);
    assert_int_equal(sample_read_all(path, &err), LM_OK);
    file = open_to_change();
    assert_true(H5Ldelete(file, "/sweep", H5P_DEFAULT) >= 0 && H5Ldelete(file, "/configurations", H5P_DEFAULT) >= 0);
    close_file(file);
    assert_int_equal(sample_read_all(path, &err), LM_OK);
}

int main(void)
{
    lm_hdf5_setup();
    forged_sweep = 1;
#define T(name) cmocka_unit_test_setup_teardown(name, forged_setup, forged_teardown)
    const struct CMUnitTest tests[] = {
        T(test_impossible_numbers),
        T(test_wrong_data_sets),
        T(test_wrong_texts),
        T(test_parts_that_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
