/* test_dataset.c: folders of CSV files: which files count, what is refused, what the digest sees, and that what was
 * saved is loaded again bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "dataset.h"
#include "random.h"
#include "scratch.h"

#define LINES 3

/* The text of a letter's file: LINES lines of grey values that depend on letter, line and pixel. */
static size_t letter_text(char letter, const char *newline, char *text)
{
    char *p = text;

    for (int line = 0; line < LINES; line++)
        for (int k = 0; k < LM_PIXELS; k++)
            p += sprintf(p, "%d%s", (letter * 31 + line * 57 + k * 13) % 256, k < LM_PIXELS - 1 ? "," : newline);
    return (size_t)(p - text);
}

static void write_letter(const char *dir, char letter)
{
    char name[] = "X.csv", text[2000];

    name[0] = letter;
    scratch_write(dir, name, text, letter_text((char)(letter & ~0x20), "\n", text));
}

static char *make_folder(void)
{
    char *dir = scratch_make();
    for (const char *p = LM_LETTERS; *p; p++)
        write_letter(dir, *p);
    return dir;
}

static struct lm_dataset load(const char *dir)
{
    struct lm_dataset data;
    struct lm_error err;
    int code = lm_dataset_load(dir, &data, &err);

    if (code != LM_OK)
        print_error("%s\n", err.text);
    assert_int_equal(code, LM_OK);
    return data;
}

static void refused(const char *dir, const char *first, const char *second)
{
    struct lm_dataset data;
    struct lm_error err = {0};

    assert_int_equal(lm_dataset_load(dir, &data, &err), LM_BAD_INPUT);
    if (!strstr(err.text, first) || !strstr(err.text, second))
        print_error("expected '%s' and '%s' in: %s\n", first, second, err.text);
    assert_non_null(strstr(err.text, first));
    assert_non_null(strstr(err.text, second));
    assert_null(data.pixel);
    assert_null(data.path);
}

static void assert_same(const struct lm_dataset *a, const struct lm_dataset *b)
{
    assert_int_equal(a->samples, b->samples);
    assert_memory_equal(a->count, b->count, sizeof a->count);
    assert_memory_equal(a->pixel, b->pixel, a->samples * LM_PIXELS * sizeof(double));
    assert_memory_equal(a->label, b->label, a->samples);
    assert_string_equal(a->digest, b->digest);
}

static void test_load(void **state)
{
    char *dir = make_folder(), *real = realpath(dir, NULL);
    struct lm_dataset data = load(dir);

    (void)state;
    assert_int_equal(data.samples, LM_CLASSES * LINES);
    assert_string_equal(data.path, real);
    assert_int_equal(strlen(data.digest), 64);
    for (size_t i = 0; i < data.samples; i++) {
        char letter = LM_LETTERS[i / LINES];
        assert_int_equal(data.label[i], i / LINES);
        for (int k = 0; k < LM_PIXELS; k++)
            assert_true(data.pixel[i * LM_PIXELS + (size_t)k] == (letter * 31 + (int)(i % LINES) * 57 + k * 13) % 256);
    }
    for (int c = 0; c < LM_CLASSES; c++) {
        assert_int_equal(data.count[c], LINES);
        assert_int_equal(data.lines[c], LINES);
    }
    lm_dataset_free(&data);
    free(real);
    scratch_remove(dir);
}

/* Any name that is not one of the fifteen is nobody's; links are followed; a path may be relative or end in a slash. */
static void test_other_entries(void **state)
{
    static const char *const others[] = {"A.CSVX", ".A.csv", "._A.csv", "A.csv~",  "A.csv.bak", "F.csv",       "f.csv",
                                         "AA.csv", "A.txt",  "README",  "#A.csv#", "A",         "A.csv.tmp.12"};
    char *plain = make_folder(), *dir = make_folder(), path[300];
    struct lm_dataset a = load(plain);

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        scratch_write(dir, others[i], "no numbers", 10);
    snprintf(path, sizeof path, "%s/folder", dir);
    assert_int_equal(mkdir(path, 0777), 0);
    scratch_delete(dir, "W.csv");
    write_letter(path, 'W');
    snprintf(path, sizeof path, "%s/W.csv", dir);
    assert_int_equal(symlink("folder/W.csv", path), 0);
    snprintf(path, sizeof path, "%s/./", dir);
    struct lm_dataset b = load(path);
    assert_same(&a, &b);
    assert_null(strstr(b.path, "/./"));
    lm_dataset_free(&a);
    lm_dataset_free(&b);
    scratch_remove(plain);
    scratch_remove(dir);
}

/* Small letters, and the files made in the opposite order. */
static void test_small_letters(void **state)
{
    char *plain = make_folder(), *dir = scratch_make();

    (void)state;
    for (int c = LM_CLASSES - 1; c >= 0; c--)
        write_letter(dir, (char)(LM_LETTERS[c] | (c % 2 ? 0x20 : 0)));
    struct lm_dataset a = load(plain), b = load(dir);
    assert_same(&a, &b);
    lm_dataset_free(&a);
    lm_dataset_free(&b);
    scratch_remove(plain);
    scratch_remove(dir);
}

/* Written in another way, the same data: CR LF, a byte order mark, no last newline, blank lines, exponents. */
static void test_same_digest(void **state)
{
    char *plain = make_folder(), *dir = make_folder(), text[3000];
    struct lm_dataset a = load(plain);

    (void)state;
    size_t n = letter_text('A', "\r\n", text);
    scratch_write(dir, "A.csv", text, n);
    memcpy(text, "\xEF\xBB\xBF", 3);
    n = letter_text('B', "\r\n", text + 3);
    scratch_write(dir, "B.csv", text, n + 3);
    n = letter_text('C', "\n", text);
    scratch_write(dir, "C.csv", text, n - 1);
    n = letter_text('D', "\n\n \t\r\n", text);
    scratch_write(dir, "D.csv", text, n);
    n = 0;
    for (int i = 0; i < LINES * LM_PIXELS; i++) {
        int value = ('E' * 31 + i / LM_PIXELS * 57 + i % LM_PIXELS * 13) % 256;
        n += (size_t)sprintf(text + n, " +%d.%de1%c", value / 10, value % 10, i % LM_PIXELS < 63 ? ',' : '\n');
    }
    scratch_write(dir, "E.csv", text, n);
    struct lm_dataset b = load(dir);
    assert_same(&a, &b);
    assert_int_equal(b.lines[3], 3 * LINES);
    lm_dataset_free(&a);
    lm_dataset_free(&b);
    scratch_remove(plain);
    scratch_remove(dir);
}

static void digest_differs(struct lm_dataset *data, size_t at, double value)
{
    double kept = data->pixel[at];
    char before[LM_SHA256_HEX];

    memcpy(before, data->digest, sizeof before);
    data->pixel[at] = value;
    lm_dataset_digest(data);
    assert_string_not_equal(data->digest, before);
    data->pixel[at] = kept;
    lm_dataset_digest(data);
    assert_string_equal(data->digest, before);
}

static void test_digest(void **state)
{
    char *dir = make_folder();
    struct lm_dataset data = load(dir);
    char known[LM_SHA256_HEX];

    (void)state;
    memcpy(known, data.digest, sizeof known);
    /* fixed for ever: it is stored in results files. By an independent program, from the page in dataset.c. */
    assert_string_equal(known, "c430d9da64722c5fdfeb98eac3692da1797bad20468e282d619166d0e6399b71");
    for (size_t i = 0; i < data.samples * LM_PIXELS; i += 101) {
        digest_differs(&data, i, data.pixel[i] + 1);
        digest_differs(&data, i, data.pixel[i] + 0.25);
        digest_differs(&data, i, data.pixel[i] + 256);
        digest_differs(&data, i, nextafter(data.pixel[i], 1000));
        digest_differs(&data, i, -data.pixel[i] - 1);
    }
    data.pixel[5] = 0;
    lm_dataset_digest(&data);
    digest_differs(&data, 5, -0.0);
    digest_differs(&data, 5, 5e-324);
    digest_differs(&data, 5, 4503599627370496.0);
    digest_differs(&data, 5, DBL_MAX);
    data.pixel[5] = 0.5;
    data.pixel[70] = -0.0;
    lm_dataset_digest(&data);
    assert_string_equal(data.digest, "a72f36f0a59ae09c9483f4e85a8e2eee0fcadcd9f1c8453973b3ec022065e39a");

    /* the same values, another letter's: the counts are in it */
    lm_dataset_digest(&data);
    memcpy(known, data.digest, sizeof known);
    data.count[0]--, data.count[1]++;
    lm_dataset_digest(&data);
    assert_string_not_equal(data.digest, known);
    lm_dataset_free(&data);
    scratch_remove(dir);
}

static void test_where(void **state)
{
    char *dir = make_folder(), where[LM_WHERE_TEXT], expected[400];
    struct lm_dataset data;
    struct lm_error err;

    (void)state;
    assert_int_equal(lm_dataset_load(dir, &data, &err), LM_OK);
    size_t first = (size_t)(data.count[0] + data.count[1]); /* of letter C */
    snprintf(expected, sizeof expected, "%s/C.csv:1", data.path);
    lm_dataset_where(&data, first, where, sizeof where);
    assert_string_equal(where, expected);
    snprintf(expected, sizeof expected, "%s/C.csv:2", data.path);
    lm_dataset_where(&data, first + 1, where, sizeof where);
    assert_string_equal(where, expected);
    scratch_delete(dir, "C.csv");
    lm_dataset_where(&data, first + 1, where, sizeof where);
    assert_string_equal(where, "letter C, its sample 2");
    lm_dataset_free(&data);
    scratch_remove(dir);
}

static void test_refused_folders(void **state)
{
    char *dir = make_folder(), path[300];

    (void)state;
    snprintf(path, sizeof path, "%s/nowhere", dir);
    refused(path, path, "No such file");
    snprintf(path, sizeof path, "%s/A.csv", dir);
    refused(path, path, "not a folder");
    refused("", "", "No such file");

    scratch_delete(dir, "C.csv");
    refused(dir, dir, "letter C: neither C.csv nor c.csv");
    snprintf(path, sizeof path, "%s/C.csv", dir);
    assert_int_equal(mkdir(path, 0777), 0);
    refused(dir, path, "a folder");
    scratch_delete(dir, "C.csv");
    assert_int_equal(mkfifo(path, 0666), 0);
    refused(dir, path, "not a regular file");
    scratch_delete(dir, "C.csv");
    assert_int_equal(symlink("nowhere", path), 0);
    refused(dir, path, "No such file");
    scratch_delete(dir, "C.csv");
    write_letter(dir, 'C');
    write_letter(dir, 'n');
    refused(dir, dir, "letter N: both N.csv and n.csv");
    scratch_delete(dir, "n.csv");
    static const char *const other[] = {"A.CSV", "a.CSV", "a.Csv", "W.csV"};
    for (size_t k = 0; k < sizeof other / sizeof *other; k++) { /* beside A.csv: not overlooked */
        scratch_write(dir, other[k], "", 0);
        refused(dir, other[k], "only the ending .csv is read: rename that file to");
        scratch_delete(dir, other[k]);
    }

    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        refused(dir, path, "Permission denied");
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(chmod(dir, 0), 0);
        refused(dir, dir, "Permission denied");
        assert_int_equal(chmod(dir, 0700), 0);
    }
    scratch_remove(dir);
}

static void test_refused_files(void **state)
{
    char *dir = make_folder(), text[3000], path[300];

    (void)state;
    snprintf(path, sizeof path, "%s/L.csv", dir);
    scratch_write(dir, "L.csv", "", 0);
    refused(dir, path, "empty");
    scratch_write(dir, "L.csv", "\n\n", 2);
    refused(dir, path, "blank");
    size_t n = letter_text('L', "\n", text);
    scratch_write(dir, "L.csv", text, (size_t)(strchr(text, '\n') - text));
    refused(dir, path, "letter L: 1 sample");
    text[n - 1] = ',';
    scratch_write(dir, "L.csv", text, n);
    snprintf(path, sizeof path, "%s/L.csv:3:", dir);
    refused(dir, path, "trailing comma");
    scratch_remove(dir);
}

static void test_allocate(void **state)
{
    struct lm_dataset data;
    struct lm_error err;
    uint64_t count[LM_CLASSES];

    (void)state;
    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = 2 + (uint64_t)c;
    assert_int_equal(lm_dataset_allocate(count, &data, &err), LM_OK);
    assert_int_equal(data.samples, 135);
    assert_int_equal(data.label[0], 0);
    assert_int_equal(data.label[134], 14);
    assert_int_equal(data.label[134 - 16], 13);
    lm_dataset_free(&data);
    count[2] = 1;
    assert_int_equal(lm_dataset_allocate(count, &data, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "letter C"));
    assert_null(data.label);
    count[2] = UINT64_MAX;
    assert_int_equal(lm_dataset_allocate(count, &data, &err), LM_BAD_INPUT);
    assert_null(data.label);
}

/* Values of every kind: all grey values, all exponents, subnormals, -0, the largest, thirds. */
static struct lm_dataset awkward(void)
{
    static const double some[] = {-0.0,       5e-324,
                                  -5e-324,    DBL_MIN,
                                  DBL_MAX,    -DBL_MAX,
                                  1.0 / 3,    0.1,
                                  255.5,      -1,
                                  256,        1e22,
                                  1e23,       123456789012345678.0,
                                  0.3,        9007199254740993.0,
                                  DBL_EPSILON};
    struct lm_dataset data;
    struct lm_mt19937 generator;
    struct lm_error err;
    uint64_t count[LM_CLASSES];

    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = 20 + (uint64_t)c;
    assert_int_equal(lm_dataset_allocate(count, &data, &err), LM_OK);
    lm_mt19937_seed(&generator, 11);
    for (size_t i = 0; i < data.samples * LM_PIXELS; i++) {
        uint64_t bits = (uint64_t)lm_mt19937_next(&generator) << 32 | lm_mt19937_next(&generator);
        memcpy(&data.pixel[i], &bits, sizeof bits);
        if (i / LM_PIXELS % 3 == 0 || !isfinite(data.pixel[i]))
            data.pixel[i] = lm_draw_below(&generator, 256);
        if (i < sizeof some / sizeof *some)
            data.pixel[i] = some[i];
    }
    lm_dataset_digest(&data);
    return data;
}

static void test_round_trip(void **state)
{
    char *dir = scratch_make(), path[300];
    struct lm_dataset data = awkward();
    struct lm_error err;

    (void)state;
    snprintf(path, sizeof path, "%s/new/deeper/", dir);
    assert_int_equal(lm_dataset_save(&data, path, 0, &err), LM_OK);
    struct lm_dataset again = load(path);
    assert_same(&data, &again);
    lm_dataset_free(&data);
    lm_dataset_free(&again);
    scratch_remove(dir);
}

/* The same folder, byte for byte, from a program whose locale writes decimal commas. */
static void test_save_locale(void **state)
{
    char *places = scratch_make(), *dir = scratch_make();
    struct lm_dataset data = awkward();
    struct lm_error err;
    int set = scratch_comma_locale(places);

    (void)state;
    assert_int_equal(lm_dataset_save(&data, dir, 0, &err), LM_OK);
    setlocale(LC_ALL, "C");
    struct lm_dataset again = load(dir);
    assert_same(&data, &again);
    lm_dataset_free(&data);
    lm_dataset_free(&again);
    scratch_remove(dir);
    scratch_remove(places);
    if (!set)
        skip();
}

/* Counts the names in a folder: no temporary file may be left. */
static size_t entries(const char *dir)
{
    char command[400];
    size_t n = 0;

    snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%zu", &n), 1);
    assert_int_equal(pclose(pipe), 0);
    return n;
}

static void test_save_refuses(void **state)
{
    char *dir = scratch_make(), path[300];
    struct lm_dataset data = awkward();
    struct lm_error err;

    (void)state;
    scratch_write(dir, "s.csv", "mine", 4);
    assert_int_equal(lm_dataset_save(&data, dir, 0, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "s.csv: the file exists"));
    assert_int_equal(entries(dir), 1);
    assert_int_equal(lm_dataset_save(&data, dir, 1, &err), LM_OK);
    assert_false(scratch_exists(dir, "s.csv")); /* replaced: as a twin it would spoil the folder */
    assert_int_equal(entries(dir), LM_CLASSES);
    assert_int_equal(lm_dataset_save(&data, dir, 0, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "A.csv: the file exists"));

    data.pixel[0] = 77;
    lm_dataset_digest(&data);
    assert_int_equal(lm_dataset_save(&data, dir, 1, &err), LM_OK);
    struct lm_dataset again = load(dir);
    assert_same(&data, &again);
    lm_dataset_free(&again);

    snprintf(path, sizeof path, "%s/A.csv", dir);
    assert_int_not_equal(lm_dataset_save(&data, path, 1, &err), LM_OK);
    assert_non_null(strstr(err.text, "not a folder"));
    snprintf(path, sizeof path, "%s/A.csv/x", dir);
    assert_int_not_equal(lm_dataset_save(&data, path, 1, &err), LM_OK);

    /* a letter's name taken by a folder: fails, and cleans up */
    scratch_delete(dir, "W.csv");
    snprintf(path, sizeof path, "%s/W.csv", dir);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(lm_dataset_save(&data, dir, 1, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "W.csv"));
    assert_int_equal(entries(dir), LM_CLASSES);
    lm_dataset_free(&data);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_other_entries),
        cmocka_unit_test(test_small_letters),
        cmocka_unit_test(test_same_digest),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_refused_folders),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_allocate),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_save_locale),
        cmocka_unit_test(test_save_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
