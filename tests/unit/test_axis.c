/* test_axis.c: every form of an axis, every refusal and what it says, and the bits of spaced values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axis.h"

enum { RATE, DECAY, RANGE, EPOCHS, HIDDEN, SEED, BLOCK };

static struct lm_axis parse(int k, const char *text)
{
    struct lm_axis axis;
    struct lm_error err;
    if (lm_axis_parse(&lm_grid_rule[k], text, &axis, &err) != LM_OK)
        fail_msg("%s '%s': %s", lm_grid_rule[k].name, text, err.text);
    return axis;
}

/* Refused, with this message after the option's name, and with nothing left to free. */
static void refuse(int k, const char *text, const char *message)
{
    struct lm_axis axis;
    struct lm_error err;
    char whole[400];

    snprintf(whole, sizeof whole, "%s: %s", lm_grid_rule[k].name, message);
    if (lm_axis_parse(&lm_grid_rule[k], text, &axis, &err) != LM_BAD_INPUT)
        fail_msg("%s '%s' is accepted", lm_grid_rule[k].name, text);
    assert_string_equal(err.text, whole);
    assert_int_equal(err.code, LM_BAD_INPUT);
    assert_true(axis.n == 0 && !axis.real && !axis.whole && !axis.shape);
}

static void expect_whole(int k, const char *text, size_t n, const uint32_t *value)
{
    struct lm_axis axis = parse(k, text);
    assert_int_equal(axis.n, n);
    assert_memory_equal(axis.whole, value, n * sizeof *value);
    assert_true(!axis.real && !axis.shape);
    lm_axis_free(&axis);
    assert_null(axis.whole);
}

static void expect_real(int k, const char *text, size_t n, const uint32_t *bits)
{
    struct lm_axis axis = parse(k, text);
    assert_int_equal(axis.n, n);
    assert_memory_equal(axis.real, bits, n * sizeof *bits);
    assert_true(!axis.whole && !axis.shape);
    lm_axis_free(&axis);
}

static void test_forms(void **state)
{
    (void)state;
    expect_whole(EPOCHS, "51", 1, (const uint32_t[]){51});
    expect_whole(BLOCK, "32,64,1024", 3, (const uint32_t[]){32, 64, 1024});
    expect_whole(SEED, "1:5", 5, (const uint32_t[]){1, 2, 3, 4, 5});
    expect_whole(SEED, "7:7", 1, (const uint32_t[]){7});
    expect_whole(SEED, "4294967294:4294967295", 2, (const uint32_t[]){4294967294u, 4294967295u});
    expect_whole(BLOCK, "32:128", 4, (const uint32_t[]){32, 64, 96, 128}); /* in steps of 32 */
    expect_real(RATE, "0.02", 1, (const uint32_t[]){0x3CA3D70A});
    expect_real(RATE, "2e-2,.5,1", 3, (const uint32_t[]){0x3CA3D70A, 0x3F000000, 0x3F800000});
    expect_real(RATE, "1e-45", 1, (const uint32_t[]){1}); /* the smallest number above 0 */
    expect_real(RANGE, "0", 1, (const uint32_t[]){0});
    struct lm_axis hidden = parse(HIDDEN, "32x16,1x128,128x1");
    assert_int_equal(hidden.n, 3);
    assert_true(lm_shape_equal(hidden.shape[0], (struct lm_shape){32, 16}));
    assert_true(lm_shape_equal(hidden.shape[1], (struct lm_shape){1, 128}));
    assert_true(lm_shape_equal(hidden.shape[2], (struct lm_shape){128, 1}));
    lm_axis_free(&hidden);
}

/* A value that comes twice counts once, in its first place; what is equal as a float is equal; -0 is 0. */
static void test_repeats(void **state)
{
    (void)state;
    expect_whole(SEED, "3,1,3,2,1,1", 3, (const uint32_t[]){3, 1, 2});
    expect_whole(SEED, "7,007", 1, (const uint32_t[]){7});
    expect_real(RATE, "0.02,0.5,2e-2,0.0200000000001", 2, (const uint32_t[]){0x3CA3D70A, 0x3F000000});
    expect_real(RANGE, "-0,0,0.0", 1, (const uint32_t[]){0});
    expect_real(RANGE, "1e-60", 1, (const uint32_t[]){0});
    expect_real(RATE, "0.1:0.1:log5", 1, (const uint32_t[]){0x3DCCCCCD});
    expect_real(RANGE, "0:0:lin5", 1, (const uint32_t[]){0});
    expect_real(RATE, "1:1.0000001:lin4", 2, (const uint32_t[]){0x3F800000, 0x3F800001});
    struct lm_axis hidden = parse(HIDDEN, "1x2,2x1,1x2");
    assert_int_equal(hidden.n, 2);
    lm_axis_free(&hidden);
}

static void test_refused_whole(void **state)
{
    (void)state;
    refuse(BLOCK, "48", "48 is not a multiple of 32 (32 to 1024); nearest: 32 or 64");
    refuse(BLOCK, "5", "5 is not a multiple of 32 (32 to 1024); nearest: 32");
    refuse(BLOCK, "1030", "1030 is not a multiple of 32 (32 to 1024); nearest: 1024");
    refuse(BLOCK, "5000", "5000 is not a multiple of 32 (32 to 1024); nearest: 1024");
    refuse(BLOCK, "0", "0 is out of range (32 to 1024); nearest: 32");
    refuse(BLOCK, "2048", "2048 is out of range (32 to 1024); nearest: 1024");
    refuse(BLOCK, "32,64,96,100", "100 is not a multiple of 32 (32 to 1024); nearest: 96 or 128");
    refuse(EPOCHS, "0", "0 is out of range (1 to 1000000); nearest: 1");
    refuse(EPOCHS, "1000001", "1000001 is out of range (1 to 1000000); nearest: 1000000");
    refuse(SEED, "4294967296", "4294967296 is out of range (0 to 4294967295); nearest: 4294967295");
    refuse(SEED, "99999999999999999999999",
           "99999999999999999999999 is out of range (0 to 4294967295); nearest: 4294967295");
    refuse(BLOCK, "99999999999999999999999", "99999999999999999999999 is out of range (32 to 1024); nearest: 1024");
    refuse(SEED, "-1", "'-1' is not a whole number (0 to 4294967295)");
    refuse(EPOCHS, "1.5", "'1.5' is not a whole number (1 to 1000000)");
    refuse(EPOCHS, "", "'' is not a whole number (1 to 1000000)");
    refuse(EPOCHS, "1,,2", "'' is not a whole number (1 to 1000000)");
    refuse(EPOCHS, "1,2,", "'' is not a whole number (1 to 1000000)");
    refuse(EPOCHS, "1, 2", "' 2' is not a whole number (1 to 1000000)");
    refuse(EPOCHS, "fifty", "'fifty' is not a whole number (1 to 1000000)");
}

static void test_refused_range(void **state)
{
    (void)state;
    refuse(SEED, "5:1", "5:1 ends before it begins");
    refuse(SEED, "1:", "'' is not a whole number (0 to 4294967295)");
    refuse(SEED, ":5", "'' is not a whole number (0 to 4294967295)");
    refuse(SEED, "1:4,8", "'4,8' is not a whole number (0 to 4294967295)");
    refuse(EPOCHS, "0:5", "0 is out of range (1 to 1000000); nearest: 1");
    refuse(BLOCK, "32:100", "100 is not a multiple of 32 (32 to 1024); nearest: 96 or 128");
    refuse(SEED, "0:16777216", "16777217 values are more than 16777216");
    refuse(SEED, "0:4294967295", "4294967296 values are more than 16777216");
    refuse(EPOCHS, "1:8:log4", "'log4' is no spacing: write A:B");
    refuse(HIDDEN, "1:8:lin4", "'lin4' is no spacing: write A:B");
    refuse(RATE, "0.1:0.2", "0.1:0.2: a range needs whole numbers; or write A:B:lin16, A:B:log16");
}

static void test_refused_real(void **state)
{
    (void)state;
    refuse(RATE, "0", "0 is out of range (above 0 to 3.4e+38)");
    refuse(RATE, "-0", "-0 is out of range (above 0 to 3.4e+38)");
    refuse(RATE, "-0.5", "-0.5 is out of range (above 0 to 3.4e+38)");
    refuse(RATE, "1e-60", "1e-60 is out of range (above 0 to 3.4e+38)"); /* the float is 0 */
    refuse(RATE, "1e39", "1e39 is out of range (above 0 to 3.4e+38); nearest: 3.4e+38");
    refuse(DECAY, "1001", "1001 is out of range (above 0 to 1000); nearest: 1000");
    refuse(RANGE, "-0.1", "-0.1 is out of range (0 to 1000); nearest: 0");
    refuse(RANGE, "1001", "1001 is out of range (0 to 1000); nearest: 1000");
    refuse(RATE, "0,02", "0 is out of range (above 0 to 3.4e+38)");
    refuse(RATE, "0.1;0.2",
           "'0.1;0.2' is not a number such as 0.02 or 1e-3 (values are separated by commas, decimals by a point)");
    refuse(RATE, "", "'' is not a number such as 0.02 or 1e-3");
    refuse(RATE, "fast", "'fast' is not a number such as 0.02 or 1e-3");
    refuse(RATE, "nan", "'nan' is not a number such as 0.02 or 1e-3");
    refuse(RATE, "inf", "'inf' is not a number such as 0.02 or 1e-3");
    refuse(RATE, "0x1p-3", "'0x1p-3' is not a number such as 0.02 or 1e-3");
    refuse(RATE, "1e999", "'1e999' is not a number such as 0.02 or 1e-3");
}

static void test_refused_spacing(void **state)
{
    static const char allowed[] = "is no spacing: log16 or lin16, with 2 to 100000 values";
    static const char *const bad[] = {"",     "log",   "lin",       "log1",  "lin0",  "log100001", "cube5",
                                      "LOG5", "log 5", "log5:lin5", "log-5", "log5x", "5"};
    char text[80], message[200];

    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(text, sizeof text, "0.1:0.2:%s", bad[k]);
        snprintf(message, sizeof message, "'%s' %s", bad[k], allowed);
        refuse(RATE, text, message);
    }
    refuse(RATE, "0:0.1:log5", "0 is out of range (above 0 to 3.4e+38)");
    refuse(RATE, "0.1:2e39:lin5", "2e39 is out of range (above 0 to 3.4e+38); nearest: 3.4e+38");
    refuse(RANGE, "0:0.1:log5", "a logarithmic axis needs values above 0");
    refuse(RANGE, "0.1:0:log5", "a logarithmic axis needs values above 0");
    refuse(RANGE, "1e-320:1:log5", "a logarithmic axis needs values above 0"); /* the float is 0 */
    refuse(RATE, "x:0.1:log5", "'x' is not a number such as 0.02 or 1e-3");
    refuse(RATE, "0.1:x:log5", "'x' is not a number such as 0.02 or 1e-3");
}

static void test_refused_shape(void **state)
{
    static const char *const bad[] = {"", "32", "32x", "x16", "32X16", "32-16", "32x16x8", "-1x2", "a x b", "32 x16"};
    char message[100];

    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(message, sizeof message, "'%s' is no pair of widths such as 32x16", bad[k]);
        refuse(HIDDEN, bad[k], message);
    }
    refuse(HIDDEN, "0x16", "0x16 is out of range (widths 1 to 128); nearest: 1x16");
    refuse(HIDDEN, "32x129", "32x129 is out of range (widths 1 to 128); nearest: 32x128");
    refuse(HIDDEN, "32x16,99999999999x0", "99999999999x0 is out of range (widths 1 to 128); nearest: 128x1");
    refuse(HIDDEN, "32:64", "32:64: a range needs whole numbers; or write A:B:lin16, A:B:log16");
}

/* The bits, computed apart from this code with 80 decimal digits and rounded once; none lies within 4e-10 of itself of
 * the middle between two floats, so that the rounding errors of doubles (1e-14) cannot decide. */
static void test_spaced_bits(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        uint32_t bits[16];
    } table[] = {
        {"0.001:0.1:log16",
         16,
         {0x3A83126F, 0x3AB22C6E, 0x3AF2338D, 0x3B249E76, 0x3B5FC6A0, 0x3B981878, 0x3BCEC08A, 0x3C0C8660, 0x3C3F05FF,
          0x3C81D59F, 0x3CB07DC5, 0x3CEFEA21, 0x3D231090, 0x3D5DA9BD, 0x3D96A8D7, 0x3DCCCCCD}},
        {"0.001:0.1:lin16",
         16,
         {0x3A83126F, 0x3BF9096C, 0x3C68A71E, 0x3CAA64C3, 0x3CE075F7, 0x3D0B4396, 0x3D264C30, 0x3D4154CA, 0x3D5C5D64,
          0x3D7765FE, 0x3D89374C, 0x3D96BB99, 0x3DA43FE6, 0x3DB1C433, 0x3DBF4880, 0x3DCCCCCD}},
        {"0.1:0.001:log7", 7, {0x3DCCCCCD, 0x3D3E1E96, 0x3CB07DC5, 0x3C23D70A, 0x3B981878, 0x3B0D316B, 0x3A83126F}},
        {"1e-5:1:log11",
         11,
         {0x3727C5AC, 0x3804A2B3, 0x38D1B717, 0x39A5CB5F, 0x3A83126F, 0x3B4F3E37, 0x3C23D70A, 0x3D0186E2, 0x3DCCCCCD,
          0x3EA1E89B, 0x3F800000}},
        {"0.003:0.7:log5", 5, {0x3B449BA6, 0x3C401A82, 0x3D3BB3CA, 0x3E3766E2, 0x3F333333}},
        {"1:0.25:lin7", 7, {0x3F800000, 0x3F600000, 0x3F400000, 0x3F200000, 0x3F000000, 0x3EC00000, 0x3E800000}},
        {"1e-30:3e38:log9",
         9,
         {0x0DA24260, 0x1BDB4913, 0x2A142D40, 0x384840ED, 0x46875104, 0x54B6DFA2, 0x62F72508, 0x7127007F, 0x7F61B1E6}},
        {"0.001:0.1:log2", 2, {0x3A83126F, 0x3DCCCCCD}},
    };

    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        expect_real(RATE, table[k].text, table[k].n, table[k].bits);
}

/* From end to end without a step back or a leap, however many values and however far apart the ends. */
static void test_log_shape(void **state)
{
    static const struct {
        const char *from, *to;
        size_t n;
    } axes[] = {{"0.001", "0.1", 16},  {"0.001", "0.1", 1000},  {"1e-5", "0.1", 5000}, {"1e-44", "3e38", 3},
                {"1e-5", "1", 100000}, {"1e-30", "1e30", 2000}, {"0.1", "1e-5", 5000}, {"0.5", "0.50001", 100}};

    (void)state;
    for (size_t k = 0; k < sizeof axes / sizeof *axes; k++) {
        char text[80];
        float from = strtof(axes[k].from, NULL), to = strtof(axes[k].to, NULL);
        snprintf(text, sizeof text, "%s:%s:log%zu", axes[k].from, axes[k].to, axes[k].n);
        struct lm_axis axis = parse(RATE, text);
        double step = log(strtod(axes[k].to, NULL) / strtod(axes[k].from, NULL)) / (double)(axes[k].n - 1);
        assert_int_equal(axis.n, axes[k].n);
        assert_memory_equal(&axis.real[0], &from, sizeof from);
        assert_memory_equal(&axis.real[axis.n - 1], &to, sizeof to);
        for (size_t i = 0; i < axis.n; i++) {
            double exact = exp(log(strtod(axes[k].from, NULL)) + (double)i * step);
            /* half a unit of a float, and what log and exp lose for exponents of this size */
            if (fabs((double)axis.real[i] - exact) > 0x1.01p-24 * exact + 0x1p-150)
                fail_msg("%s: value %zu is %.9g, not %.9g", text, i, (double)axis.real[i], exact);
            if (i > 0)
                assert_int_equal(axis.real[i] > axis.real[i - 1], to > from);
        }
        lm_axis_free(&axis);
    }
}

static void test_lin_shape(void **state)
{
    (void)state;
    struct lm_axis axis = parse(RANGE, "0:1000:lin1001");
    assert_int_equal(axis.n, 1001);
    for (size_t i = 0; i < axis.n; i++)
        assert_true(axis.real[i] == (float)i);
    lm_axis_free(&axis);
    axis = parse(RANGE, "0.7:0:lin100000");
    assert_true(axis.real[0] == 0.7f && axis.real[axis.n - 1] == 0.0f);
    for (size_t i = 1; i < axis.n; i++)
        assert_true(axis.real[i] < axis.real[i - 1]);
    lm_axis_free(&axis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),         cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_refused_whole), cmocka_unit_test(test_refused_range),
        cmocka_unit_test(test_refused_real),  cmocka_unit_test(test_refused_spacing),
        cmocka_unit_test(test_refused_shape), cmocka_unit_test(test_spaced_bits),
        cmocka_unit_test(test_log_shape),     cmocka_unit_test(test_lin_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
