/* forged_results.h: a good results file, changed by HDF5 itself into one that nobody should believe, and refused. After
 * cmocka.h. Each change starts from a new file. */
#ifndef TEST_FORGED_RESULTS_H
#define TEST_FORGED_RESULTS_H

#include "h5util.h"
#include "sample_results.h"
#include "scratch.h"

static char *dir, *path;
static int forged_sweep; /* 1: the file is that of a sweep with rungs */

static inline int forged_setup(void **state)
{
    (void)state;
    dir = scratch_make();
    assert_true(asprintf(&path, "%s/r.h5", dir) > 0);
    return 0;
}

static inline int forged_teardown(void **state)
{
    (void)state;
    free(path);
    scratch_remove(dir);
    return 0;
}

static inline void make(uint64_t trials)
{
    struct sample s;
    struct lm_error err = {0, ""};
    sample_make(5, trials, 4, 20, 1, &s);
    if (trials > 0)
        s.results.outcome[0].status = LM_TRIAL_DIVERGED; /* one that failed may have any values */
    if (forged_sweep) {
        sample_sweep(&s, 1);
        strcpy(s.results.objective, "validation_loss");
        assert_int_equal(lm_results_summarise(&s.results, 3, &err), LM_OK);
    }
    s.results.inference_trial = 0;
    if (sample_write(&s, path, &err) != LM_OK)
        fail_msg("%s", err.text);
    sample_free(&s);
}

static inline void refused(const char *text)
{
    struct lm_error err = {0, ""};
    assert_int_equal(sample_read_all(path, &err), LM_BAD_INPUT);
    if (!strstr(err.text, text) || !strstr(err.text, path))
        fail_msg("'%s', or the file's name, is not in '%s'", text, err.text);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

static inline hid_t open_to_change(void)
{
    make(12);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static inline void close_file(hid_t file)
{
    assert_true(H5Fclose(file) >= 0);
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

/* Overwrites element 0 of a data set of numbers. */
static inline void set_number(const char *name, hid_t type, const void *value)
{
    hid_t file = open_to_change(), data_set = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(data_set);
    int rank = H5Sget_simple_extent_ndims(space);
    hsize_t first[3] = {0}, one[3] = {1, 1, 1};
    hid_t memory = H5Screate(H5S_SCALAR);
    if (rank > 0)
        assert_true(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, one, NULL) >= 0);
    assert_true(H5Dwrite(data_set, type, memory, space, H5P_DEFAULT, value) >= 0);
    assert_true(H5Sclose(memory) >= 0 && H5Sclose(space) >= 0 && H5Dclose(data_set) >= 0);
    close_file(file);
}

static inline void replace(const char *name, hid_t type, int rank, const hsize_t *dims)
{
    hid_t file = open_to_change();
    assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    if (type >= 0) {
        hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
        hid_t data_set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(data_set >= 0 && H5Dclose(data_set) >= 0 && H5Sclose(space) >= 0);
    }
    close_file(file);
}

#endif
