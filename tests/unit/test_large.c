/* test_large.c: memory for many rows: where it begins, that all of it can be used and given back, and that a size that
 * nobody has is refused. Whether the system gave huge pages is not tested: it may have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "large.h"

static void check_block(size_t bytes, size_t boundary)
{
    unsigned char *block = lm_large(bytes);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % boundary, 0);
    memset(block, 0x5a, bytes); /* the sanitizers see a byte too many */
    for (size_t k = 0; k < bytes; k += 509)
        assert_int_equal(block[k], 0x5a);
    free(block);
}

static void test_small(void **state)
{
    static const size_t bytes[] = {0, 1, 63, 64, 65, 4096, LM_LARGE_AT_LEAST - 1};
    (void)state;
    for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
        check_block(bytes[k], 64);
}

static void test_huge(void **state)
{
    static const size_t bytes[] = {LM_LARGE_AT_LEAST, (2u << 20) - 1, 2u << 20, (2u << 20) + 1, 3532 * 256, 40u << 20};
    (void)state;
    for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
        check_block(bytes[k], 2u << 20);
}

static void test_too_much(void **state)
{
    (void)state;
    assert_null(lm_large(SIZE_MAX));
    assert_null(lm_large(SIZE_MAX - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_too_much),
    };
    return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
