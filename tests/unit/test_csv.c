/* test_csv.c: what the reader of CSV files accepts, what it refuses, and what it says then: path, line, column, cause.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "random.h"
#include "scratch.h"

struct outcome {
    int code;
    struct lm_csv_count count;
    double *row;
    struct lm_error err;
};

/* Parses from a block of exactly n bytes, and into one of exactly the rows that are promised to be enough, so that a
 * checker of memory sees every byte too far. */
static struct outcome parse(const char *text, size_t n)
{
    struct outcome o;
    char *exact = malloc(n ? n : 1);

    assert_non_null(exact);
    memcpy(exact, text, n);
    o.row = malloc(lm_csv_room(n) * LM_CSV_FIELDS * sizeof(double));
    assert_non_null(o.row);
    o.code = lm_csv_parse("dir/A.csv", exact, n, o.row, &o.count, &o.err);
    free(exact);
    return o;
}

/* A line of n fields, "v" each, with `special` as field `at` (from 1) instead. No end of line. */
static void append_line(char *text, int n, const char *v, int at, const char *special, const char *separator)
{
    for (int i = 1; i <= n; i++) {
        strcat(text, i == at ? special : v);
        if (i < n)
            strcat(text, separator);
    }
}

static void expect_rows_n(const char *text, size_t n, size_t rows, uint64_t lines)
{
    struct outcome o = parse(text, n);

    if (o.code != LM_OK)
        print_error("%s\n", o.err.text);
    assert_int_equal(o.code, LM_OK);
    assert_int_equal(o.count.rows, rows);
    assert_int_equal(o.count.lines, lines);
    free(o.row);
}

static void expect_error_n(const char *text, size_t n, const char *place, const char *cause)
{
    struct outcome o = parse(text, n);
    char expected[400];

    assert_int_equal(o.code, LM_BAD_INPUT);
    assert_int_equal(o.err.code, LM_BAD_INPUT);
    snprintf(expected, sizeof expected, "dir/A.csv:%s: 64 comma-separated numbers were expected: ", place);
    if (strncmp(o.err.text, expected, strlen(expected)) != 0 || !strstr(o.err.text, cause))
        print_error("expected %s ... %s\ngot      %s\n", expected, cause, o.err.text);
    assert_memory_equal(o.err.text, expected, strlen(expected));
    assert_non_null(strstr(o.err.text + strlen(expected), cause));
    assert_null(strchr(o.err.text, '\n'));
    free(o.row);
}

static void expect_error(const char *text, const char *place, const char *cause)
{
    expect_error_n(text, strlen(text), place, cause);
}

/* ---- accepted -------------------------------------------------------------------------------------------------- */

static void test_line_ends(void **state)
{
    char one[300] = "", text[2000];

    (void)state;
    append_line(one, 64, "7", 0, "", ",");
    static const char *const shapes[] = {"%s\n%s\n",
                                         "%s\n%s",
                                         "%s\r\n%s\r\n",
                                         "%s\r\n%s",
                                         "%s\r\n%s\r",
                                         "\xEF\xBB\xBF%s\n%s\n",
                                         "\xEF\xBB\xBF%s\r\n%s\r\n"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        snprintf(text, sizeof text, shapes[i], one, one);
        expect_rows_n(text, strlen(text), 2, 2);
        struct outcome o = parse(text, strlen(text));
        for (int k = 0; k < 128; k++)
            assert_true(o.row[k] == 7);
        free(o.row);
    }
    snprintf(text, sizeof text, "\n\r\n%s\n \t\n\n%s\n\n\n  ", one, one);
    expect_rows_n(text, strlen(text), 2, 9);
    expect_rows_n(one, strlen(one), 1, 1);
}

/* One of the fields written in some legal way; the neighbours must not suffer. */
static void test_legal_numbers(void **state)
{
    static const struct {
        const char *text;
        double value;
    } legal[] = {
        {"+5", 5},
        {"5.", 5},
        {".5", .5},
        {"1e-3", 1e-3},
        {"1E+3", 1000},
        {" 3", 3},
        {"3\t ", 3},
        {"  42 ", 42},
        {"-7", -7},
        {"007", 7},
        {"0255", 255},
        {"12345", 12345},
        {"0", 0},
        {"1000", 1000},
        {"999", 999},
        {"0.1", 0.1},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"5e-324", 5e-324},
        {"1e-400", 0},
        {"1.7976931348623157e308", DBL_MAX},
        {"0e999", 0},
        {"-.5e1", -5},
        {"9007199254740993", 9007199254740992.0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof legal / sizeof *legal; i++)
        for (int at = 1; at <= 64; at += 21) {
            char text[1000] = "";
            append_line(text, 64, "9", at, legal[i].text, ",");
            strcat(text, i % 2 ? "\r\n" : "\n");
            append_line(text, 64, "9", at, legal[i].text, ",");
            struct outcome o = parse(text, strlen(text));
            if (o.code != LM_OK)
                print_error("%s: %s\n", legal[i].text, o.err.text);
            assert_int_equal(o.code, LM_OK);
            assert_int_equal(o.count.rows, 2);
            for (int k = 1; k <= 128; k++) {
                double want = (k - 1) % 64 + 1 == at ? legal[i].value : 9;
                assert_memory_equal(&o.row[k - 1], &want, sizeof want);
            }
            free(o.row);
        }
}

static void test_minus_zero(void **state)
{
    char text[300] = "";

    (void)state;
    append_line(text, 64, "0", 2, "-0", ",");
    struct outcome o = parse(text, strlen(text));
    assert_int_equal(o.code, LM_OK);
    assert_false(signbit(o.row[0]));
    assert_true(signbit(o.row[1]));
    free(o.row);
}

/* Every grey value, at every place in the line, in lines of mixed widths. */
static void test_grey_values(void **state)
{
    static char text[256 * 64 * 4 + 1];
    char *p = text;

    (void)state;
    for (int i = 0; i < 256 * 64; i++)
        p += sprintf(p, "%d%c", (i % 64 * 37 + i / 64) % 256, i % 64 < 63 ? ',' : '\n');
    struct outcome o = parse(text, (size_t)(p - text));
    assert_int_equal(o.code, LM_OK);
    assert_int_equal(o.count.rows, 256);
    for (int i = 0; i < 256 * 64; i++)
        assert_true(o.row[i] == (i % 64 * 37 + i / 64) % 256);
    free(o.row);
}

/* A locale with a decimal comma changes nothing, on the fast way nor on the slow one. */
static void test_locale(void **state)
{
    char text[400] = "", *dir = scratch_make();
    int set = scratch_comma_locale(dir);

    (void)state;
    append_line(text, 64, "1.5", 5, "0.123456789012345678", ",");
    struct outcome o = parse(text, strlen(text));
    if (set) /* the test would be void if strtod did not care */
        assert_true(strtod("1.5", NULL) == 1);
    setlocale(LC_ALL, "C");
    assert_int_equal(o.code, LM_OK);
    assert_true(o.row[3] == 1.5);
    assert_true(o.row[4] == 0.123456789012345678);
    free(o.row);
    scratch_remove(dir);
    if (!set)
        skip();
}

/* ---- refused: the file ----------------------------------------------------------------------------------------- */

static void test_encodings(void **state)
{
    char one[300] = "", text[1000];
    unsigned char wide[600];
    size_t n = 0;

    (void)state;
    append_line(one, 64, "7", 0, "", ",");
    wide[n++] = 0xff, wide[n++] = 0xfe;
    for (const char *p = one; *p; p++)
        wide[n++] = (unsigned char)*p, wide[n++] = 0;
    expect_error_n((char *)wide, n, "1:1", "UTF-16");
    expect_error_n((char *)wide + 2, n - 2, "1:2", "UTF-16");

    snprintf(text, sizeof text, "%s\n\xEF\xBB\xBF%s\n", one, one);
    expect_error(text, "2:1", "byte order mark");
    snprintf(text, sizeof text, "%s\r%s\r", one, one);
    expect_error(text, "1:128", "CR) alone");
    snprintf(text, sizeof text, "%s\r", one);
    expect_error(text, "1:128", "CR) alone");
    expect_error("\r", "1:1", "CR) alone");
    snprintf(text, sizeof text, "%s\n%s\r%s\n", one, one, one);
    expect_error(text, "2:128", "not followed by a line feed");
    snprintf(text, sizeof text,
             "%s\n1,\xC2\xA0"
             "2\n",
             one);
    expect_error(text, "2:3", "no-break space");
    snprintf(text, sizeof text,
             "%s\n1,\xE2\x88\x92"
             "2\n",
             one);
    expect_error(text, "2:3", "minus");
}

static void expect_empty(const char *text, const char *cause)
{
    struct outcome o = parse(text, strlen(text));

    assert_int_equal(o.code, LM_BAD_INPUT);
    assert_non_null(strstr(o.err.text, "dir/A.csv: "));
    assert_non_null(strstr(o.err.text, cause));
    free(o.row);
}

static void test_empty(void **state)
{
    (void)state;
    expect_empty("", "empty");
    expect_empty("\n", "1 line, all of them blank");
    expect_empty("\n\r\n \t\n", "3 lines, all of them blank");
    expect_empty("\xEF\xBB\xBF", "byte order mark");
}

/* ---- refused: the line ----------------------------------------------------------------------------------------- */

static void refused_line(int n, const char *v, int at, const char *special, const char *separator, const char *place,
                         const char *cause)
{
    char text[3000] = "", both[4000];

    append_line(text, 64, "1", 0, "", ",");
    snprintf(both, sizeof both, "\n%s\r\n", text);
    text[0] = '\0';
    append_line(text, n, v, at, special, separator);
    strcat(both, text);
    expect_error(both, place, cause); /* line 3, without newline at its end */
    strcat(both, "\n");
    expect_error(both, place, cause);
    both[strlen(both) - 1] = '\0';
    strcat(both, "\r\n1,2");
    expect_error(both, place, cause);
}

static void test_counts(void **state)
{
    (void)state;
    refused_line(63, "1", 0, "", ",", "3:126", "63 fields found");
    refused_line(65, "1", 0, "", ",", "3:128", "65 fields found");
    refused_line(1, "1", 0, "", ",", "3:2", "1 field found");
    refused_line(65, "1", 65, "", ",", "3:128", "65 fields found, the last one empty: a trailing comma?");
    refused_line(64, "1", 64, "", ",", "3:127", "field 64 is empty");
    refused_line(64, "1", 7, "", ",", "3:13", "field 7 is empty");
    refused_line(64, "1", 1, "", ",", "3:1", "field 1 is empty");
    refused_line(64, "1", 7, "  ", ",", "3:15", "field 7 is empty");
}

static void test_dialects(void **state)
{
    char text[3000] = "";

    (void)state;
    refused_line(64, "0,5", 0, "", ";", "3:4", "semicolon");
    refused_line(64, "0,5", 0, "", ";", "3:4", "decimal comma");
    refused_line(64, "5", 0, "", ";", "3:2", "63 semicolons as separators");
    refused_line(64, "0,5", 0, "", ",", "3:128", "128 fields found: decimal comma");
    refused_line(64, "1", 9, "0,5", ",", "3:128", "65 fields found");
    refused_line(64, "0,5", 9, "1", ",", "3:128", "127 fields found: decimal comma");
    refused_line(64, "5", 0, "", "\t", "3:3", "tabs");
    refused_line(64, "5", 0, "", " ", "3:3", "missing comma");
    refused_line(64, "\"3\"", 0, "", ",", "3:1", "quotes");
    refused_line(64, "3", 4, "\"3\"", ",", "3:7", "quotes");
    refused_line(64, "3", 4, "'3'", ",", "3:7", "quotes");
    refused_line(1, "# made by hand", 0, "", ",", "3:1", "comment");
    refused_line(1, "// made by hand", 0, "", ",", "3:1", "comment");
    refused_line(64, "3", 64, "3 # last", ",", "3:129", "comment");
    refused_line(1, "sep=;", 0, "", ",", "3:1", "sep=");
    expect_error("sep=;\n1;2\n", "1:1", "sep=");
    expect_error("SEP=,\n1,2\n", "1:1", "sep=");

    for (int i = 1; i <= 64; i++)
        sprintf(text + strlen(text), "a%d%s", i, i < 64 ? "," : "\n");
    expect_error(text, "1:1", "'a1' is not a number: a header line?");
    expect_error("\xEF\xBB\xBF"
                 "a1,a2\n",
                 "1:1", "header");
}

/* ---- refused: the field ---------------------------------------------------------------------------------------- */

static void test_fields(void **state)
{
    static const struct {
        const char *text, *place, *cause;
    } refused[] = {
        {"nan", "3:9", "field 5: 'nan' is not a finite number"},
        {"NaN", "3:9", "not a finite number"},
        {"nan(1)", "3:9", "not a finite number"},
        {"NA", "3:9", "not a finite number"},
        {"inf", "3:9", "not a finite number"},
        {"-inf", "3:9", "field 5: '-inf' is not a finite number"},
        {"+Infinity", "3:9", "not a finite number"},
        {"1e999", "3:9", "'1e999' is beyond the range of a double, so not finite"},
        {"-1e309", "3:9", "not finite"},
        {".1e999", "3:9", "not finite"},
        {"1e99999999999999999999", "3:9", "not finite"},
        {"0x1A", "3:10", "field 5: '0x1A' is hexadecimal"},
        {"-0X1p3", "3:11", "hexadecimal"},
        {"1.2.3", "3:12", "field 5: '1.2.3' has a second decimal point"},
        {"12abc", "3:11", "field 5: '12abc' is not a number: 'a' follows its digits"},
        {"1e", "3:10", "'1e' has no digits in its exponent"},
        {"1e+", "3:10", "no digits in its exponent"},
        {"12-3", "3:11", "'-' follows"},
        {"1_000", "3:10", "'_' follows"},
        {"abc", "3:9", "field 5: 'abc' is not a number"},
        {"--5", "3:9", "field 5: '--5' is not a number"},
        {"+-5", "3:9", "is not a number"},
        {"+", "3:9", "is not a number"},
        {".", "3:9", "is not a number"},
        {"e5", "3:9", "is not a number"},
        {"- 5", "3:9", "is not a number"},
        {"1 2", "3:11", "a space inside a value, or a missing comma"},
        {"5 x", "3:11", "a space inside a value, or a missing comma"},
        {"\xC3\xA9", "3:9", "is not a number"},
        {"5\xC3\xA9", "3:10", "follows its digits"},
        {"\x1a", "3:9", "is not a number"},
        {"a text that is far too long to be shown whole", "3:9",
         "'a text that is far too long to b...' is not a number"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refused_line(64, "1", 5, refused[i].text, ",", refused[i].place, refused[i].cause);
    /* the same in the last field, where the end of the line is what follows */
    refused_line(64, "1", 64, "12abc", ",", "3:129", "'12abc' is not a number: 'a' follows its digits");
    refused_line(64, "1", 64, "nan", ",", "3:127", "field 64: 'nan' is not a finite number");
    refused_line(64, "1", 64, "1.2.3", ",", "3:130", "second decimal point");
}

static void test_nul(void **state)
{
    char text[300] = "";

    (void)state;
    append_line(text, 64, "1", 0, "", ",");
    size_t n = strlen(text);
    text[9] = '\0'; /* after the fifth value */
    expect_error_n(text, n, "1:10", "NUL byte");
    text[8] = '\0';
    text[9] = ',';
    expect_error_n(text, n, "1:9", "NUL byte");
}

/* No text, however broken, may be read beyond its end or crash the parser: pieces of legal and illegal text at random.
 */
static void test_garbage(void **state)
{
    static const char *const piece[] = {"1",
                                        "255",
                                        ",",
                                        ",",
                                        "\n",
                                        "\r",
                                        "\r\n",
                                        " ",
                                        "\t",
                                        ";",
                                        "\"",
                                        "e5",
                                        ".",
                                        "-",
                                        "+",
                                        "nan",
                                        "x",
                                        "0x1",
                                        "#",
                                        "1e9",
                                        "é",
                                        "\xEF\xBB\xBF",
                                        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"};
    struct lm_mt19937 generator;
    int rows = 0, faults = 0;

    (void)state;
    lm_mt19937_seed(&generator, 3);
    for (int round = 0; round < 20000; round++) {
        char text[2000] = "";
        uint32_t pieces = lm_draw_below(&generator, 40);
        if (round % 2)
            append_line(text, 64, "1", 0, "", ",");
        for (uint32_t i = 0; i < pieces; i++)
            strcat(text, piece[lm_draw_below(&generator, sizeof piece / sizeof *piece)]);
        struct outcome o = parse(text, strlen(text));
        assert_true(o.code == LM_OK || o.code == LM_BAD_INPUT);
        if (o.code == LM_OK)
            rows++;
        else
            faults++, assert_non_null(strstr(o.err.text, "dir/A.csv"));
        free(o.row);
    }
    assert_true(rows > 100 && faults > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_ends),   cmocka_unit_test(test_legal_numbers), cmocka_unit_test(test_minus_zero),
        cmocka_unit_test(test_grey_values), cmocka_unit_test(test_locale),        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_empty),       cmocka_unit_test(test_counts),        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_fields),      cmocka_unit_test(test_nul),           cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
