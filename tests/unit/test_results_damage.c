/* test_results_damage.c: results files that are cut, flipped, forged, of another kind, or that cannot be written:
 * always a message that names the file and the fault, never a crash, never a great allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "forged_results.h"

static int flock_errno;

/* HDF5's locking, in a kernel or a file system without locks. The program's definition comes before libc's. */
int flock(int fd, int operation)
{
    if (flock_errno) {
        errno = flock_errno;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static int teardown(void **state)
{
    flock_errno = 0;
    return forged_teardown(state);
}

static char *slurp(size_t *n)
{
    char *bytes = malloc(1 << 24);
    FILE *file = fopen(path, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    *n = fread(bytes, 1, 1 << 24, file);
    fclose(file);
    return bytes;
}

/* ---- other files ---- */

static void test_no_results_file(void **state)
{
    (void)state;
    refused("No such file or directory");
    scratch_write(dir, "r.h5", "", 0);
    refused("no HDF5 file");
    scratch_write(dir, "r.h5", "LIBRAS_MENDELEY_GPU_V1\n", 23);
    refused("no HDF5 file");
    scratch_write(dir, "r.h5", "\211HDF\r\n\032\nand then nothing of the sort", 36);
    refused("damaged");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    refused("is a folder");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0666), 0);
    refused("no plain file"); /* and does not wait for a writer */
    assert_int_equal(unlink(path), 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0 && H5Fclose(file) >= 0);
    refused("not a results file: there is no attribute format");
}

/* ---- forged files: a good one, changed by HDF5 itself ---- */

static void set_attribute(const char *name, const char *text, uint32_t number)
{
    struct lm_error err;
    hid_t file = open_to_change();
    assert_true(H5Adelete(file, name) >= 0);
    assert_int_equal(text ? lm_h5_put_text_attribute(file, name, text, &err)
                          : lm_h5_put_number_attribute(file, name, number, &err),
                     LM_OK);
    close_file(file);
}

static void test_formats(void **state)
{
    (void)state;
    set_attribute("format", "other-results", 0);
    refused("its format is 'other-results'");
    set_attribute("format", NULL, 1);
    refused("attribute format has a wrong type");
    set_attribute("format_version", NULL, 2);
    refused("its format version is 2, and this program reads up to 1: use a newer one");
    set_attribute("format_version", NULL, 0);
    refused("version is 0");
    set_attribute("format_version", "1", 0);
    refused("attribute format_version has a wrong type");
    set_attribute("created", "a very long time ago, in a galaxy far, far away", 0);
    refused("is no time");
}

static void test_impossible_numbers(void **state)
{
    (void)state;
    const int64_t large = 1 << 20, negative = -2;
    const uint64_t huge = UINT64_MAX, none = 0;
    const int32_t class = LM_CLASSES;
    set_number("/dataset/train_index", H5T_NATIVE_INT64, &large);
    refused("/dataset/train_index[0]: there is no sample 1048576");
    set_number("/dataset/test_index", H5T_NATIVE_INT64, &large);
    refused("/dataset/test_index[0]");
    set_number("/dataset/counts", H5T_NATIVE_UINT64, &huge);
    refused("/dataset/counts");
    set_number("/trials/epochs", H5T_NATIVE_INT64, &large);
    refused("trial 0: more epochs than there are losses");
    set_number("/trials/epochs_run", H5T_NATIVE_INT64, &large);
    refused("trial 0: more epochs run");
    set_number("/inference/expected", H5T_NATIVE_INT32, &class);
    refused("sample 0 has no such class");
    set_number("/inference/predicted", H5T_NATIVE_INT32, &class);
    refused("sample 0 has no such class");
    set_number("/inference/trial", H5T_NATIVE_INT64, &large);
    refused("there is no trial 1048576");
    set_number("/inference/trial", H5T_NATIVE_INT64, &negative);
    refused("there is no trial -2");
    set_number("/weights/64-32-16-15/trial", H5T_NATIVE_INT64, &large);
    refused("/weights/64-32-16-15: damaged: trial number 1048576 in row 0");
    set_number("/weights/64-32-16-15/trial", H5T_NATIVE_INT64, &negative);
    refused("trial number -2 in row 0");
    set_number("/trials/hidden1", H5T_NATIVE_UINT64, &none);
    refused("trial 0");
}

static void test_wrong_data_sets(void **state)
{
    (void)state;
    static const char *const each[] = {"/trials/seed",         "/trials/status",          "/trials/loss",
                                       "/dataset/path",        "/dataset/validation",     "/inference/scores",
                                       "/validation/name",     "/execution/rank_seconds", "/execution/sample_rank",
                                       "/inference/confusion", "/weights/64-32-16-15/b2", "/weights/64-32-16-15/trial"};
    const hsize_t huge[3] = {(hsize_t)1 << 40, 1 << 20, 3}, small[3] = {1, 1, 1};
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
    replace("/trials/trial", H5T_STD_I64LE, 1, huge);
    refused("its length differs");
    replace("/execution/rank", H5T_STD_I64LE, 1, huge);
    refused("larger than the file");
    replace("/validation/check", H5T_STD_I64LE, 1, huge);
    refused("larger than the file");
    replace("/dataset/train", H5T_STD_I64LE, 1, huge);
    refused("larger than the file");
    replace("/weights/64-32-16-15/trial", H5T_STD_I64LE, 1, huge);
    refused("larger than the file");
    static const char *const group[] = {"provenance", "dataset", "trials", "weights", "inference", "validation"};
    for (size_t i = 0; i < sizeof group / sizeof group[0]; i++) {
        replace(group[i], -1, 0, NULL);
        refused("there is no group /");
    }
    replace("/trials", H5T_NATIVE_INT, 0, NULL);
    refused("/trials");
}

static void test_strange_links(void **state)
{
    (void)state;
    hid_t file = open_to_change();
    assert_true(H5Ldelete(file, "/trials/seed", H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_external("/etc/passwd", "/x", file, "/trials/seed", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    close_file(file);
    refused("link to another place");
    file = open_to_change();
    assert_true(H5Gclose(H5Gcreate2(file, "/weights/64-0-16-15", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    close_file(file);
    refused("/weights/64-0-16-15");
    file = open_to_change();
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, (hsize_t[]){12}, NULL);
    assert_true(H5Pset_external(properties, "/etc/passwd", 0, 48) >= 0);
    assert_true(H5Ldelete(file, "/trials/seed", H5P_DEFAULT) >= 0);
    hid_t data_set = H5Dcreate2(file, "/trials/seed", H5T_STD_U32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(H5Dclose(data_set) >= 0 && H5Sclose(space) >= 0 && H5Pclose(properties) >= 0);
    close_file(file);
    refused("/trials/seed: its values are in another file");
}

static void test_wrong_texts(void **state)
{
    (void)state;
    static const char *const text[] = {"fine", "ok"};
    for (int i = 0; i < 2; i++) {
        struct lm_error err;
        hid_t file = open_to_change(), type, space = H5Screate_simple(1, (hsize_t[]){12}, NULL);
        hid_t data_set = H5Dopen2(file, i == 0 ? "/trials/status" : "/trials/reason", H5P_DEFAULT);
        char longer[400];
        const char *value[12];
        memset(longer, 'x', sizeof longer - 1);
        longer[sizeof longer - 1] = '\0';
        for (int t = 0; t < 12; t++)
            value[t] = i == 0 ? text[t == 0] : t == 3 ? longer : "";
        if (i == 0)
            value[5] = "fine";
        assert_int_equal(lm_h5_text_type(&type, &err), LM_OK);
        assert_true(H5Dwrite(data_set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
        assert_true(H5Dclose(data_set) >= 0 && H5Sclose(space) >= 0 && H5Tclose(type) >= 0);
        close_file(file);
        refused(i == 0 ? "status[1]: 'fine' is no known status" : "reason[3]: a text of 399 bytes; at most 159");
    }
}

/* Where the references of a data set of text lie in the file. */
static off_t offset_of(const char *name)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), data_set = H5Dopen2(file, name, H5P_DEFAULT);
    haddr_t offset = H5Dget_offset(data_set);
    assert_true(data_set >= 0 && offset != HADDR_UNDEF && H5Dclose(data_set) >= 0);
    close_file(file);
    return (off_t)offset;
}

static void patch(off_t at, uint64_t value, size_t n)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseeko(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(&value, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* A reference is a length (4 bytes), the address of a heap (8), and an index in it (4). */
static void test_wrong_references(void **state)
{
    (void)state;
    static const struct {
        int at; /* in the reference, or with 100 more, in the heap: its mark, version and size, its first object */
        size_t n;
        uint64_t value;
        const char *said;
    } wrong[] = {
        {0, 4, UINT32_MAX, "longer than its room"},
        {4, 8, UINT64_C(1) << 40, "beyond the end"},
        {4, 8, UINT64_MAX, "beyond the end"},
        {4, 8, UINT64_MAX - 7, "beyond the end"},
        {4, 8, 0, "beyond the end"},
        {4, 8, 8, "no heap where it should be"},
        {12, 4, UINT32_MAX, "not in its heap"},
        {12, 4, 65535, "not in its heap"},
        {12, 4, 0, "not in its heap"},
        {100, 4, 0, "no heap where it should be"},
        {104, 1, 2, "no heap where it should be"},
        {108, 8, UINT64_MAX, "its heap has a wrong size"},
        {108, 8, 15, "its heap has a wrong size"},
        {108, 8, 16, "not in its heap"},
        {116 + 8, 8, UINT64_MAX, "does not fit"},
        {116 + 8, 8, 1 << 20, "does not fit"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        make(12);
        off_t reference = offset_of("/trials/status");
        size_t n;
        uint64_t heap;
        char *bytes = slurp(&n);
        memcpy(&heap, bytes + reference + 4, sizeof heap);
        free(bytes);
        int in_heap = wrong[i].at >= 100;
        patch(in_heap ? (off_t)heap + wrong[i].at - 100 : reference + wrong[i].at, wrong[i].value, wrong[i].n);
        refused(wrong[i].said);
        refused("damaged text");
    }
}

/* ---- cut and flipped files ---- */

static void test_truncated(void **state)
{
    (void)state;
    size_t n;
    make(40);
    char *bytes = slurp(&n);
    assert_true(n > 100000);
    for (size_t cut = 0; cut < n; cut += 4096) {
        scratch_write(dir, "r.h5", bytes, cut);
        refused(cut < 4096 ? "no HDF5 file" : "truncated");
    }
    scratch_write(dir, "r.h5", bytes, n - 1);
    refused("truncated");
    scratch_write(dir, "r.h5", bytes, n);
    struct lm_error err;
    assert_int_equal(sample_read_all(path, &err), LM_OK);
    free(bytes);
}

/* cmocka turns a child's crash into a failed test of a second runner, which then ends with any code. */
static void crash_plainly(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
}

/* A reader in a child: what it makes of the file at path. */
static int read_in_child(void)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lm_error err = {0, ""};
        crash_plainly();
        alarm(120);
        int status = sample_read_all(path, &err);
        if (status != LM_OK && (!strstr(err.text, path) || strchr(err.text, '\n')))
            status = 99;
        _exit(status);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* LIBRAS_FLIPS: how many (200), LIBRAS_FLIP_SEED: which. */
static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void test_flipped(void **state)
{
    (void)state;
    size_t n;
    forged_sweep = 1; /* everything that a file can have */
    make(2);
    forged_sweep = 0;
    char *bytes = slurp(&n);
    struct sample s = {.random = setting("LIBRAS_FLIP_SEED", 7)};
    int found = 0;
    for (uint64_t i = setting("LIBRAS_FLIPS", 200); i > 0; i--) {
        size_t at = sample_random(&s) % n;
        char kept = bytes[at];
        bytes[at] = (char)(i % 2 ? bytes[at] ^ (1 << sample_random(&s) % 8) : (char)sample_random(&s));
        scratch_write(dir, "r.h5", bytes, n);
        int status = read_in_child();
        if (status != LM_OK && status != LM_BAD_INPUT)
            fail_msg("byte %zu, %d to %d: ended with %d", at, kept, bytes[at], status);
        found += status == LM_BAD_INPUT;
        bytes[at] = kept;
    }
    assert_true(found > 0);
    free(bytes);
}

/* ---- files that cannot be written ---- */

/* With that little room: 0 if it was written, 1 if it failed as it should; the child's way to end otherwise. */
static int write_with_limit(rlim_t limit)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sample s;
        struct lm_error err = {0, ""};
        struct rlimit room = {limit, limit};
        crash_plainly();
        sample_make(9, 300, 40, 1000, 1, &s);
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &room) != 0)
            _exit(97);
        int status = sample_write(&s, path, &err);
        sample_free(&s);
        if (status != LM_OK && (!strstr(err.text, path) || !strstr(err.text, "File too large")))
            fprintf(stderr, "%s\n", err.text), status = 98;
        exit(status); /* with the exit handlers, where HDF5 would crash */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_no_room(void **state)
{
    (void)state;
    int failures = 0;
    for (rlim_t limit = 0; limit < 40 << 20; limit = limit * 3 / 2 + 1000) {
        int status = write_with_limit(limit);
        if (status != 0 && status != LM_FAILED)
            fail_msg("with %lu bytes: ended with %d", (unsigned long)limit, status);
        failures += status == LM_FAILED;
    }
    assert_true(failures > 10);
    assert_int_equal(write_with_limit(RLIM_INFINITY), LM_OK);
}

static void test_no_folder(void **state)
{
    (void)state;
    struct lm_results_writer *writer;
    struct lm_error err = {0, ""};
    char *lost = NULL;
    assert_true(asprintf(&lost, "%s/missing/r.h5", dir) > 0);
    assert_int_equal(lm_results_create(lost, 1, 1, &writer, &err), LM_FAILED);
    assert_non_null(strstr(err.text, lost));
    assert_non_null(strstr(err.text, "No such file or directory"));
    free(lost);
}

static void test_no_locks(void **state)
{
    (void)state;
    struct lm_results_writer *writer;
    struct lm_error err = {0, ""};
    static const int code[] = {ENOLCK, 524, EOPNOTSUPP};
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) {
        flock_errno = code[i];
        int status = lm_results_create(path, 1, 1, &writer, &err);
        if (status == LM_OK) { /* this HDF5 does not lock, or was told not to */
            lm_results_abandon(writer);
            skip();
        }
        assert_int_equal(status, LM_FAILED);
        assert_non_null(strstr(err.text, "HDF5_USE_FILE_LOCKING=FALSE"));
        assert_non_null(strstr(err.text, "file system ("));
        assert_non_null(strstr(err.text, path));
        flock_errno = 0;
        make(2); /* the file was emptied before it was locked */
        flock_errno = code[i];
        assert_int_equal(sample_read_all(path, &err), LM_FAILED);
        assert_non_null(strstr(err.text, "HDF5_USE_FILE_LOCKING=FALSE"));
    }
    flock_errno = EWOULDBLOCK;
    assert_int_equal(lm_results_create(path, 1, 1, &writer, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "another program"));
    flock_errno = 0;
    make(2);
    flock_errno = EWOULDBLOCK;
    assert_int_equal(sample_read_all(path, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "another program"));
}

int main(void)
{
    lm_hdf5_setup();
#define T(name) cmocka_unit_test_setup_teardown(name, forged_setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_no_results_file), T(test_formats),     T(test_impossible_numbers), T(test_wrong_data_sets),
        T(test_strange_links),   T(test_wrong_texts), T(test_wrong_references),   T(test_truncated),
        T(test_flipped),         T(test_no_room),     T(test_no_folder),          T(test_no_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
