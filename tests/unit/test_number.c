/* test_number.c: numbers are read strictly, whole, in every locale, and nothing beyond their end is looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "scratch.h"

/* The text without a NUL, in a block that ends where it ends: a sanitizer sees a read beyond it. */
static int real(const char *text, double *out)
{
    size_t n = strlen(text);
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, text, n);
    int ok = lm_read_real(exact, n, out);
    free(exact);
    return ok;
}

static void test_real(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0.0},         {"1", 1.0},
                {"-1", -1.0},       {"+2", 2.0},
                {".5", 0.5},        {"5.", 5.0},
                {"0.02", 0.02},     {"2e-2", 0.02},
                {"2E-02", 0.02},    {"1e+3", 1e3},
                {"007", 7.0},       {"1e308", 1e308},
                {"-0", -0.0},       {"1e-400", 0.0},
                {"5e-324", 5e-324}, {"0.1000000000000000055511151231257827021181583404541015625000000000000000", 0.1}};
    static const char *const bad[] = {"",   " ",   " 1",  "1 ",   "0x10", "nan",   "inf", "1e",    "e1",    ".",
                                      "+",  "-",   "1e+", "--1",  "1,5",  "1.2.3", "1_0", "1e1e1", "1e400", "-1e400",
                                      "1f", "1d3", "٣",   "1e 3", "1-1",  "0b1",   "1p3", "\t1",   "1\n"};

    (void)state;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        double value = 99.0;
        if (!real(good[k].text, &value) || memcmp(&value, &good[k].value, sizeof value) != 0)
            fail_msg("'%s' is read as %.17g", good[k].text, value);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        double value = 99.0;
        if (real(bad[k], &value))
            fail_msg("'%s' is read as %.17g", bad[k], value);
        assert_true(value == 99.0); /* untouched */
    }
}

/* The given length counts, not what stands behind it. */
static void test_length(void **state)
{
    double value;
    uint64_t whole;

    (void)state;
    assert_int_equal(lm_read_real("0.25,0.5", 4, &value), 1);
    assert_true(value == 0.25);
    assert_int_equal(lm_read_real("0.25:1", 3, &value), 1);
    assert_true(value == 0.2);
    assert_int_equal(lm_read_whole("32,64", 2, UINT64_MAX, &whole), 1);
    assert_int_equal(whole, 32);
    assert_int_equal(lm_read_whole("32,64", 3, UINT64_MAX, &whole), 0);
}

static int whole(const char *text, uint64_t most, uint64_t *out)
{
    return lm_read_whole(text, strlen(text), most, out);
}

static void test_whole(void **state)
{
    static const char *const bad[] = {
        "", " 1", "1 ", "-1", "+1", "1.0", "1e3", "0x1", "a", "1a", "18446744073709551616", "99999999999999999999999"};
    uint64_t value;

    (void)state;
    assert_true(whole("0", 0, &value) && value == 0);
    assert_true(whole("007", 9, &value) && value == 7);
    assert_true(whole("4294967295", UINT32_MAX, &value) && value == UINT32_MAX);
    assert_false(whole("4294967296", UINT32_MAX, &value));
    assert_true(whole("18446744073709551615", UINT64_MAX, &value) && value == UINT64_MAX);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        value = 99;
        if (whole(bad[k], UINT64_MAX, &value))
            fail_msg("'%s' is read as %llu", bad[k], (unsigned long long)value);
        assert_int_equal(value, 99);
    }
    /* every limit at every distance from it */
    for (uint64_t most = 0; most < 300; most++)
        for (uint64_t k = 0; k < 300; k++) {
            char text[8];
            snprintf(text, sizeof text, "%llu", (unsigned long long)k);
            assert_int_equal(whole(text, most, &value), k <= most);
        }
}

static void test_float_text(void **state)
{
    static const struct {
        float value;
        const char *text;
    } known[] = {{0.02f, "0.02"},
                 {0.05f, "0.05"},
                 {1.0f, "1"},
                 {-0.1f, "-0.1"},
                 {1e30f, "1e+30"},
                 {0.0f, "0"},
                 {-0.0f, "-0"},
                 {16777216.0f, "16777216"},
                 {0.333333343f, "0.33333334"},
                 {1e-45f, "1.4013e-45"},
                 {3.40282347e38f, "3.4028235e+38"}};
    char text[LM_FLOAT_TEXT];
    uint32_t bits = 1;
    double back;

    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        assert_string_equal(lm_float_text(known[k].value, text), known[k].text);
    for (int k = 0; k < 200000; k++) { /* any finite float reads back to its bits */
        float value;
        bits = bits * 1664525u + 1013904223u;
        memcpy(&value, &bits, sizeof value);
        if ((bits & 0x7F800000u) == 0x7F800000u)
            continue;
        assert_true(lm_read_real(text, strlen(lm_float_text(value, text)), &back));
        float again = (float)back;
        assert_memory_equal(&again, &value, sizeof value);
    }
}

static void test_decimal_comma(void **state)
{
    char *dir = scratch_make(), text[LM_FLOAT_TEXT];
    double value;

    (void)state;
    if (!scratch_comma_locale(dir)) {
        scratch_remove(dir);
        print_message("# no locale with a decimal comma here\n");
        skip();
    }
    assert_true(real("0.25", &value) && value == 0.25);
    assert_false(real("0,25", &value));
    assert_string_equal(lm_float_text(0.02f, text), "0.02");
    assert_string_equal(lm_float_text(1e-45f, text), "1.4013e-45");
    setlocale(LC_ALL, "C");
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real),       cmocka_unit_test(test_length),        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_float_text), cmocka_unit_test(test_decimal_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
