/* test_decimal.c: decimal numbers are read as the nearest double: bit for bit what the C library's strtod gives in the
 * C locale, and no more of the text than belongs to the number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "random.h"

static void same_as_strtod(const char *text)
{
    double ours, libc = strtod(text, NULL);
    size_t n = strlen(text);

    if (lm_decimal_read(text, text + n, &ours) != text + n || memcmp(&ours, &libc, sizeof ours) != 0)
        print_error("%s: %.17g, not %.17g\n", text, ours, libc);
    assert_ptr_equal(lm_decimal_read(text, text + n, &ours), text + n);
    assert_memory_equal(&ours, &libc, sizeof ours);
}

static void test_rounding(void **state)
{
    struct lm_mt19937 generator;
    char text[400];

    (void)state;
    lm_mt19937_seed(&generator, 7);
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = (uint64_t)lm_mt19937_next(&generator) << 32 | lm_mt19937_next(&generator);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.*g", 1 + i % 20, value);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%.*f", i % 25, ldexp(value, -ilogb(value) + i % 40));
        same_as_strtod(text);
        snprintf(text, sizeof text, "%lu.%lue%d", (unsigned long)(bits >> 40), (unsigned long)(bits & 0xfffffff),
                 i % 60 - 30);
        same_as_strtod(text);
    }
}

/* Halfway cases whose answer hangs on the last of very many digits, and zeros without end. */
static void test_many_digits(void **state)
{
    static char text[6000];

    (void)state;
    same_as_strtod("9007199254740993");
    same_as_strtod("9007199254740993.00000000000000000000000000000000000000000000000000000000000000000001");
    same_as_strtod("2.2250738585072011e-308");
    same_as_strtod("4.9406564584124654e-324");
    same_as_strtod("2.4703282292062327208e-324");
    for (int zeros = 700; zeros < 900; zeros += 7) {
        strcpy(text, "9007199254740993.");
        for (int i = 0; i < zeros; i++)
            strcat(text, "0");
        same_as_strtod(text);
        strcat(text, "1");
        same_as_strtod(text);
    }
    strcpy(text, "0.");
    for (int i = 0; i < 2000; i++)
        strcat(text, "0");
    strcat(text, "123e2000");
    same_as_strtod(text);
    strcpy(text, "1");
    for (int i = 0; i < 2000; i++)
        strcat(text, "0");
    strcat(text, "e-2000");
    same_as_strtod(text);
    same_as_strtod("1e99999999999999999999");
    same_as_strtod("1e-99999999999999999999");
    same_as_strtod("0e99999999999999999999");
}

/* Where a number ends: how many bytes of the text belong to it. */
static void test_extent(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{"", 0},    {"+", 0},     {"-.", 0},    {".", 0},     {".e5", 0},     {"e5", 0},  {"nan", 0},
                 {"inf", 0}, {" 1", 0},    {"1 ", 1},    {"0x1A", 1},  {"1e", 1},      {"1e+", 1}, {"1e+5", 4},
                 {"1.", 2},  {"1.e2", 4},  {".5.6", 2},  {"1.2.3", 3}, {"12abc", 2},   {"+-5", 0}, {"-5-5", 2},
                 {"1,5", 1}, {"1E5e5", 3}, {"1'000", 1}, {"00012", 5}, {"1.5e-3,", 6}, {"--5", 0}, {"5\xC3", 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        double value;
        assert_int_equal(lm_decimal_read(text, text + strlen(text), &value) - text, cases[i].n);
    }
    /* the end that is given counts, not a NUL */
    const char *text = "123.456e7";
    const size_t length[] = {0, 1, 2, 3, 4, 5, 6, 7, 7, 9};
    for (size_t n = 0; n < 10; n++) {
        double value;
        assert_int_equal(lm_decimal_read(text, text + n, &value) - text, length[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_many_digits),
        cmocka_unit_test(test_extent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
