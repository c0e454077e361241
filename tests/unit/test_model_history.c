/* test_model_history.c: the history's file: what is appended is read again, only for the machine it is of; bad lines,
 * torn ones, large files, several writers; and what cannot be written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_machine.h"
#include "model_history.h"
#include "scratch.h"

static char *dir, *path;
static struct lm_machine machine;
static struct lm_past past;
static const struct lm_prediction fast = {
    .device = "gpu:fast", .where = "weights in shared memory, sums in registers", .gpu = 1, .fits = 1, .seconds = 2.0};

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    assert_true(asprintf(&path, "%s/history.txt", dir) > 0);
    machine = made_machine();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(path);
    scratch_remove(dir);
    return 0;
}

static void append(enum lm_history_phase phase, double size, double measured)
{
    struct lm_error err = {0, ""};
    if (lm_history_append(path, &machine, phase, &fast, size, measured, &err) != LM_OK)
        fail_msg("%s", err.text);
}

static void read_again(void)
{
    struct lm_error err = {0, ""};
    if (lm_history_read(path, &machine, &past, &err) != LM_OK)
        fail_msg("%s", err.text);
}

/* The whole file; free it. */
static char *text_of(void)
{
    static const size_t most = (size_t)1 << 20;
    char *text = calloc(1, most + 1);
    FILE *f = fopen(path, "rb");
    assert_true(f && text);
    fread(text, 1, most, f);
    fclose(f);
    return text;
}

/* Puts text behind the file's end. */
static void add_text(const char *text, size_t n)
{
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void test_there_and_back(void **state)
{
    (void)state;
    read_again(); /* no file */
    assert_true(past.lines == 0 && past.bad == 0 && !past.foreign);
    for (int k = 0; k < LM_HISTORY_RUNS; k++) {
        assert_true(lm_history_factor(&past.phase[LM_HISTORY_TRAIN], &fast, 1000.0) == 1.0);
        append(LM_HISTORY_TRAIN, 1000.0, 3.0);
        read_again();
        assert_int_equal(past.lines, k + 1);
    }
    assert_true(past.bad == 0 && !past.foreign);
    assert_true(lm_history_factor(&past.phase[LM_HISTORY_TRAIN], &fast, 1000.0) == 1.5);
    assert_true(lm_history_factor(&past.phase[LM_HISTORY_INFER], &fast, 1000.0) == 1.0); /* the other phase */
    char *text = text_of(), *second = strchr(text, '\n');
    assert_int_equal(strncmp(text, "libras-history 1|GPU-made|580.1|Made CPU @ 3 GHz|0.1.0 abc|", 59), 0);
    assert_non_null(second);
    static const char line[] = "\ntrain\tgpu:fast\tweights in shared memory, sums in registers\t1000\t2\t3\ts\ntrain\t";
    assert_int_equal(strncmp(second, line, sizeof line - 1), 0);
    free(text);
    append(LM_HISTORY_INFER, 16384.0, 1.25e-5);
    read_again();
    assert_true(past.lines == LM_HISTORY_RUNS + 1 && past.phase[LM_HISTORY_INFER].n == 1);
}

/* Another program, or another calibration of the same machine: nothing is believed, and the file is begun afresh. */
static void test_foreign(void **state)
{
    (void)state;
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    strcpy(machine.key.build, "0.1.0 abd");
    read_again();
    assert_true(past.foreign && past.lines == 0 && past.phase[LM_HISTORY_TRAIN].n == 0);
    append(LM_HISTORY_TRAIN, 1000.0, 4.0);
    read_again();
    assert_true(!past.foreign && past.lines == 1);
    machine.cpu.call *= 1.001;
    read_again();
    assert_true(past.foreign);
    append(LM_HISTORY_TRAIN, 1000.0, 4.0);
    read_again();
    assert_true(!past.foreign && past.lines == 1);
    scratch_write(dir, "history.txt", "", 0);
    read_again();
    assert_true(past.foreign && past.lines == 0);
    append(LM_HISTORY_TRAIN, 1000.0, 4.0);
    read_again();
    assert_true(!past.foreign && past.lines == 1);
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "train",
        "train\tgpu:fast\there\t1000\t2\ts",
        "train\tgpu:fast\there\t1000\t2\t3",
        "train\tgpu:fast\there\t1000\t2\t3\tms",
        "train\tgpu:fast\there\t1000\t2\t3\ts\ts",
        "learn\tgpu:fast\there\t1000\t2\t3\ts",
        "train\t\there\t1000\t2\t3\ts",
        "train\tgpu:a-name-that-is-too-long-for-it\there\t1000\t2\t3\ts",
        "train\tgpu:fast\there and much further than any place of a weight is\t1000\t2\t3\ts",
        "train\tgpu:fast\there\t0.5\t2\t3\ts",
        "train\tgpu:fast\there\t-1000\t2\t3\ts",
        "train\tgpu:fast\there\t1000\tnan\t3\ts",
        "train\tgpu:fast\there\t1000\t2\tinf\ts",
        "train\tgpu:fast\there\t1000\t2\t0\ts",
        "train\tgpu:fast\there\t1000\t2\t 3\ts",
        "train\tgpu:fast\there\t1000\t2\t3s\ts"};
    const size_t n = sizeof bad / sizeof *bad;
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    for (size_t k = 0; k < n; k++) {
        add_text(bad[k], strlen(bad[k]));
        add_text("\n", 1);
        append(LM_HISTORY_TRAIN, 1000.0, 3.0); /* the next one is good again */
    }
    static const char zero[] = "train\tgpu:fast\th\0re\t1000\t2\t3\ts\n";
    add_text(zero, sizeof zero - 1);
    add_text("\n\n", 2); /* empty ones are nothing */
    read_again();
    assert_int_equal(past.lines, n + 1);
    assert_int_equal(past.bad, n + 1);
    assert_int_equal(past.phase[LM_HISTORY_TRAIN].n, 1);
    assert_true(lm_history_factor(&past.phase[LM_HISTORY_TRAIN], &fast, 1000.0) == 1.5);
}

/* A writer was killed within a line: that one is lost, and no other. */
static void test_torn_line(void **state)
{
    (void)state;
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    static const char torn[] = "train\tgpu:fast\there\t1000\t2\t30"; /* of 30.5 */
    add_text(torn, sizeof torn - 1);
    read_again();
    assert_true(past.lines == 1 && past.bad == 1);
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    read_again();
    assert_true(past.lines == 3 && past.bad == 1);
}

static void test_large(void **state)
{
    (void)state;
    struct stat status;
    static const char line[] = "infer\tcpu:avx2\tone core\t878\t1\t2\ts\n";
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    for (size_t n = 0; n <= LM_HISTORY_BYTES; n += sizeof line - 1)
        add_text(line, sizeof line - 1);
    append(LM_HISTORY_TRAIN, 1000.0, 5.0);
    assert_int_equal(stat(path, &status), 0);
    assert_in_range(status.st_size, LM_HISTORY_BYTES / 2 - 100, LM_HISTORY_BYTES / 2 + 500);
    read_again();
    assert_true(past.bad == 0 && !past.foreign);
    assert_true(past.phase[LM_HISTORY_INFER].n == 1 && past.phase[LM_HISTORY_TRAIN].n == 1);
    assert_true(past.phase[LM_HISTORY_TRAIN].entry[0].median ==
                2.5); /* the old line is gone, the new one is the last */
    append(LM_HISTORY_TRAIN, 1000.0, 5.0);
    read_again();
    assert_int_equal(past.phase[LM_HISTORY_TRAIN].entry[0].runs, 2);
    char *text = calloc(1, (size_t)5 * LM_HISTORY_BYTES); /* so large that it is none of ours */
    assert_non_null(text);
    memset(text, '\n', (size_t)5 * LM_HISTORY_BYTES);
    add_text(text, (size_t)5 * LM_HISTORY_BYTES);
    free(text);
    struct lm_error err;
    assert_int_equal(lm_history_read(path, &machine, &past, &err), LM_BAD_INPUT);
    assert_true(past.lines == 0 && past.phase[LM_HISTORY_TRAIN].n == 0);
    append(LM_HISTORY_TRAIN, 1000.0, 5.0);
    read_again();
    assert_true(past.lines == 1 && past.bad == 0);
}

static void cannot(const char *where)
{
    struct lm_error err = {0, ""};
    assert_int_equal(lm_history_append(where, &machine, LM_HISTORY_TRAIN, &fast, 1000.0, 3.0, &err), LM_FAILED);
    if (!strstr(err.text, where) || !strstr(err.text, "cannot be written"))
        fail_msg("%s", err.text);
}

static void test_cannot_be_written(void **state)
{
    (void)state;
    struct lm_error err;
    char *other = NULL;
    assert_true(asprintf(&other, "%s/nowhere/history.txt", dir) > 0);
    cannot(other);
    free(other);
    cannot(dir);
    assert_int_equal(lm_history_read(dir, &machine, &past, &err), LM_BAD_INPUT);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody reads it: no waiting */
    cannot(path);
    assert_int_equal(lm_history_read(path, &machine, &past, &err), LM_BAD_INPUT);
    scratch_delete(dir, "history.txt");
    if (geteuid() != 0) {
        append(LM_HISTORY_TRAIN, 1000.0, 3.0);
        assert_int_equal(chmod(path, 0444), 0);
        cannot(path);
        assert_int_equal(chmod(dir, 0555), 0);
        scratch_exists(dir, "history.txt");
        assert_int_equal(unlink(path), -1);
        assert_int_equal(chmod(dir, 0755), 0);
    }
}

static void test_no_times(void **state)
{
    (void)state;
    struct lm_prediction none = fast;
    struct lm_error err;
    append(LM_HISTORY_TRAIN, 1000.0, 0.0);
    append(LM_HISTORY_TRAIN, 1000.0, NAN);
    append(LM_HISTORY_TRAIN, 1000.0, 1e300); /* no float32 */
    append(LM_HISTORY_TRAIN, 0.5, 1.0);
    none.seconds = HUGE_VAL;
    assert_int_equal(lm_history_append(path, &machine, LM_HISTORY_TRAIN, &none, 1000.0, 3.0, &err), LM_OK);
    assert_false(scratch_exists(dir, "history.txt"));
}

/* Four programs at once: every line is whole. */
static void test_together(void **state)
{
    (void)state;
    pid_t child[4];
    append(LM_HISTORY_TRAIN, 1000.0, 3.0);
    for (int c = 0; c < 4; c++)
        if ((child[c] = fork()) == 0) {
            struct lm_error err;
            int bad = 0;
            for (int k = 0; k < 100; k++)
                bad |= lm_history_append(path, &machine, LM_HISTORY_TRAIN, &fast, 1000.0, 3.0, &err) != LM_OK;
            _exit(bad);
        }
    for (int c = 0; c < 4; c++) {
        int status = -1;
        assert_int_equal(waitpid(child[c], &status, 0), child[c]);
        assert_int_equal(status, 0);
    }
    read_again();
    assert_true(past.lines == 401 && past.bad == 0);
}

static void test_decimal_comma(void **state)
{
    (void)state;
    if (!scratch_comma_locale(dir))
        skip();
    append(LM_HISTORY_TRAIN, 1000.0, 2.5);
    setlocale(LC_ALL, "C");
    char *text = text_of();
    assert_non_null(strstr(text, "\t1000\t2\t2.5\ts\n"));
    free(text);
    read_again();
    assert_true(past.lines == 1 && past.bad == 0);
}

/* The digest is of the numbers, each in its place. */
static void test_digest(void **state)
{
    (void)state;
    char a[LM_SHA256_HEX], b[LM_SHA256_HEX];
    lm_machine_digest(&machine, a);
    strcpy(machine.key.gpu, "another"); /* the key stands beside it */
    lm_machine_digest(&machine, b);
    assert_string_equal(a, b);
    for (size_t k = 0; k < lm_machine_values; k++) {
        struct lm_machine other = machine;
        lm_machine_value_set(&other, &lm_machine_table[k],
                             1.5 + lm_machine_value_of(&other, &lm_machine_table[k]) * 2.0);
        lm_machine_digest(&other, b);
        assert_string_not_equal(a, b);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_there_and_back),    T(test_foreign),  T(test_bad_lines), T(test_torn_line),     T(test_large),
        T(test_cannot_be_written), T(test_no_times), T(test_together),  T(test_decimal_comma), T(test_digest),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
