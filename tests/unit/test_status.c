/* test_status.c: messages: one line, whole or marked as cut, with their prefixes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "status.h"
#include "utf8.h"

static void test_fail(void **state)
{
    struct lm_error err;

    (void)state;
    memset(&err, 'x', sizeof err);
    assert_int_equal(lm_fail(&err, LM_BAD_INPUT, "%s:%d: %s", "A.csv", 7, "no number"), LM_BAD_INPUT);
    assert_int_equal(err.code, LM_BAD_INPUT);
    assert_string_equal(err.text, "A.csv:7: no number");
    assert_int_equal(lm_fail_within(&err, "trial %d: ", 3), LM_BAD_INPUT);
    assert_int_equal(err.code, LM_BAD_INPUT);
    assert_string_equal(err.text, "trial 3: A.csv:7: no number");
    assert_int_equal(lm_fail_memory(&err, 12345, "the split"), LM_FAILED);
    assert_string_equal(err.text, "out of memory: 12345 bytes for the split");
}

/* The exit codes are the interface's. */
static void test_codes(void **state)
{
    (void)state;
    assert_int_equal(LM_OK, 0);
    assert_int_equal(LM_FAILED, 1);
    assert_int_equal(LM_BAD_INPUT, 2);
    assert_int_equal(LM_MISMATCH, 3);
    assert_int_equal(LM_UNAVAILABLE, 4);
    assert_int_equal(LM_STOPPED, 75);
}

/* What a user gives may hold line breaks; the message does not. */
static void test_one_line(void **state)
{
    struct lm_error err;

    (void)state;
    lm_fail(&err, LM_FAILED, "%s", "a\nb\r\nc\td\x1b[1m\x7f é");
    assert_string_equal(err.text, "a b  c d [1m  é");
    lm_fail_within(&err, "%s", "x\ny: ");
    assert_string_equal(err.text, "x y: a b  c d [1m  é");
    lm_fail(&err, LM_FAILED, "%s", "Jos\xE9.csv: \xC3");
    assert_string_equal(err.text, "Jos?.csv: ?");
    char bytes[1200];
    memset(bytes, 0x80, sizeof bytes);
    bytes[1199] = '\0';
    lm_fail(&err, LM_FAILED, "%s", bytes);
    assert_true(lm_utf8_ok(err.text) && strlen(err.text) > 990);
}

/* Every length around the limit, of characters of 1 to 4 bytes: valid UTF-8, NUL-terminated, "..." where it was cut. */
static void test_cut(void **state)
{
    static const char *const character[] = {"a", "é", "€", "🖐"};
    struct lm_error err;
    char text[1400];

    (void)state;
    for (int c = 0; c < 4; c++)
        for (size_t shift = 0; shift < 4; shift++)
            for (size_t n = 980; n < 1010; n++) {
                size_t used = shift;
                memset(text, '.', shift);
                while (used < n) {
                    strcpy(text + used, character[c]);
                    used += strlen(character[c]);
                }
                memset(&err, 0xFF, sizeof err);
                lm_fail(&err, LM_FAILED, "%s", text);
                size_t length = strnlen(err.text, sizeof err.text);
                assert_true(length < sizeof err.text);
                assert_true(lm_utf8_ok(err.text));
                if (used < sizeof err.text) {
                    assert_string_equal(err.text, text);
                    continue;
                }
                assert_string_equal(err.text + length - 3, "...");
                assert_memory_equal(err.text, text, length - 3);
                assert_true(length >= sizeof err.text - 4);
            }
}

static void test_cut_within(void **state)
{
    struct lm_error err;
    char text[1200];

    (void)state;
    memset(text, 'b', sizeof text);
    text[998] = '\0';
    lm_fail(&err, LM_FAILED, "%s", text);
    lm_fail_within(&err, "é");
    assert_int_equal(strlen(err.text), 999);
    assert_memory_equal(err.text, "ébbb", 5);
    assert_string_equal(err.text + 995, "b...");
    /* a prefix that leaves no room for the message is left out */
    lm_fail(&err, LM_FAILED, "the reason");
    text[998] = 'b';
    text[1199] = '\0';
    assert_int_equal(lm_fail_within(&err, "%s", text), LM_FAILED);
    assert_string_equal(err.text, "the reason");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail), cmocka_unit_test(test_codes),      cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_cut),  cmocka_unit_test(test_cut_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
