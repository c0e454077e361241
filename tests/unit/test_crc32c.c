/* test_crc32c.c: CRC-32C against the vectors of RFC 3720, against a sum bit by bit, in pieces of every size, and the
 * processor's instructions against plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"

/* The definition, a bit at a time. */
static uint32_t by_bits(const unsigned char *bytes, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int b = 0; b < 8; b++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

static void check(const void *bytes, size_t n, uint32_t expected)
{
    assert_int_equal(by_bits(bytes, n), expected);
    assert_int_equal(lm_crc32c(0, bytes, n), expected);
    assert_int_equal(lm_crc32c_plain(0, bytes, n), expected);
    if (lm_crc32c_has_x86())
        assert_int_equal(lm_crc32c_x86(0, bytes, n), expected);
}

static unsigned char *text_of(size_t n)
{
    unsigned char *bytes = malloc(n + 1);
    uint32_t x = 12345;
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(x >> 24);
    }
    return bytes;
}

static void test_known(void **state)
{
    unsigned char bytes[32];
    static const unsigned char read_command[48] = {0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
                                                   0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
                                                   0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
    (void)state;
    check("", 0, 0);
    check("123456789", 9, 0xE3069283u);
    memset(bytes, 0, sizeof bytes);
    check(bytes, 32, 0x8A9136AAu);
    memset(bytes, 0xFF, sizeof bytes);
    check(bytes, 32, 0x62A8AB43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    check(bytes, 32, 0x46DD794Eu);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    check(bytes, 32, 0x113FDB5Cu);
    check(read_command, sizeof read_command, 0xD9963A56u);
}

/* Every length over two turns of the three stretches, from addresses of every alignment. */
static void test_lengths(void **state)
{
    unsigned char *bytes = text_of(9000);
    (void)state;
    for (size_t n = 0; n < 8400; n += n < 100 || (n > 4060 && n < 4110) || (n > 8150 && n < 8200) ? 1 : 37)
        for (size_t from = 0; from < 8; from += n < 300 ? 1 : 3)
            check(bytes + from, n, by_bits(bytes + from, n));
    free(bytes);
}

static void test_pieces(void **state)
{
    const size_t n = 20000;
    unsigned char *bytes = text_of(n);
    const uint32_t whole = by_bits(bytes, n);
    (void)state;
    for (size_t piece = 1; piece < n; piece = piece * 2 + 1) {
        uint32_t crc = 0, plain = 0;
        for (size_t i = 0; i < n; i += piece) {
            size_t now = n - i < piece ? n - i : piece;
            crc = lm_crc32c(crc, bytes + i, now);
            plain = lm_crc32c_plain(plain, bytes + i, now);
        }
        assert_int_equal(crc, whole);
        assert_int_equal(plain, whole);
    }
    free(bytes);
}

/* Each single flipped bit changes the sum. */
static void test_flips(void **state)
{
    unsigned char *bytes = text_of(600);
    const uint32_t whole = lm_crc32c(0, bytes, 600);
    (void)state;
    for (size_t bit = 0; bit < 600 * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_not_equal(lm_crc32c(0, bytes, 600), whole);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_lengths),
                                       cmocka_unit_test(test_pieces), cmocka_unit_test(test_flips)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
