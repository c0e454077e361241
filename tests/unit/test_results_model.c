/* test_results_model.c: files whose /model was changed: what the loader refuses, and what it can do without. (There and
 * back is test_results.c's.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forged_results.h"

static void test_wrong_data_sets(void **state)
{
    (void)state;
    static const char *const each[] = {"/model/candidate", "/model/phase",  "/model/device", "/model/where",
                                       "/model/predicted", "/model/chosen", "/model/factor"};
    const hsize_t huge[2] = {(hsize_t)1 << 40, 1 << 20}, small[3] = {1, 1, 1}, many[1] = {4097};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        replace(each[i], -1, 0, NULL);
        refused("there is no data set /");
        refused(strrchr(each[i], '/') + 1);
        replace(each[i], H5T_NATIVE_SHORT, 1, small);
        refused("wrong type");
        replace(each[i], H5T_IEEE_F32LE, 3, small);
        refused("it has a wrong");
        replace(each[i], H5T_IEEE_F64LE, 2, huge);
        refused("it ");
    }
    replace("/model/candidate", H5T_STD_I64LE, 1, huge);
    refused("larger than the file");
    replace("/model/candidate", H5T_STD_I64LE, 1, many);
    refused("/model: 4097 candidates; at most 4096 are allowed");
    replace("/model/measured", H5T_IEEE_F64LE, 1, small);
    refused("/model/measured: its length differs");
    replace("/model", H5T_NATIVE_INT, 0, NULL);
    refused("/model");
}

static void set_attribute(const char *name, const char *text)
{
    struct lm_error err;
    hid_t file = open_to_change(), group = H5Gopen2(file, "/model", H5P_DEFAULT);
    assert_true(H5Adelete(group, name) >= 0);
    if (text)
        assert_int_equal(lm_h5_put_text_attribute(group, name, text, &err), LM_OK);
    assert_true(H5Gclose(group) >= 0);
    close_file(file);
}

static void test_wrong_texts(void **state)
{
    (void)state;
    char text[641];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    set_attribute("decision", text);
    refused("/model: attribute decision: a text of 640 bytes; at most 639 are allowed");
    text[40] = '\0';
    set_attribute("decided_by", text);
    refused("/model: attribute decided_by: a text of 40 bytes; at most 39 are allowed");
    set_attribute("decided_by", NULL);
    refused("/model: ");
    refused("decided_by");
}

/* As files were before it. */
static void test_without(void **state)
{
    (void)state;
    struct lm_error err;
    struct lm_results_reader *reader;
    struct lm_results r;
    hid_t file = open_to_change();
    assert_true(H5Ldelete(file, "/model", H5P_DEFAULT) >= 0);
    close_file(file);
    assert_int_equal(lm_results_open(path, &reader, &err), LM_OK);
    assert_int_equal(lm_results_load(reader, &r, &err), LM_OK);
    assert_true(r.n_model == 0 && r.model == NULL && r.decided_by[0] == '\0');
    lm_results_free(&r);
    lm_results_close(reader);
}

int main(void)
{
    lm_hdf5_setup();
#define T(name) cmocka_unit_test_setup_teardown(name, forged_setup, forged_teardown)
    const struct CMUnitTest tests[] = {
        T(test_wrong_data_sets),
        T(test_wrong_texts),
        T(test_without),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
