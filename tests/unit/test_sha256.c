/* test_sha256.c: SHA-256 against the vectors of NIST (FIPS 180-2, appendix B, and SHA256ShortMsg of the CAVP), cut into
 * pieces of every size, and the SHA instructions against plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"
#include "sha256_blocks.h"

static void check(const void *bytes, size_t n, const char *expected)
{
    struct lm_sha256 hash;
    char hex[LM_SHA256_HEX];

    lm_sha256_begin(&hash);
    lm_sha256_add(&hash, bytes, n);
    lm_sha256_end(&hash, hex);
    assert_string_equal(hex, expected);
}

static void test_known(void **state)
{
    (void)state;
    check("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("\xd3", 1, "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check(
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqr"
        "stu",
        112, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void test_million(void **state)
{
    (void)state;
    char *bytes = malloc(1000000);
    assert_non_null(bytes);
    memset(bytes, 'a', 1000000);
    check(bytes, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(bytes);
}

/* Every length round the block borders, in pieces of every size, gives the digest of the whole. */
static void test_pieces(void **state)
{
    unsigned char bytes[200];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        struct lm_sha256 hash;
        char whole[LM_SHA256_HEX], pieces[LM_SHA256_HEX];

        lm_sha256_begin(&hash);
        lm_sha256_add(&hash, bytes, n);
        lm_sha256_end(&hash, whole);
        for (size_t piece = 1; piece <= 131; piece++) {
            lm_sha256_begin(&hash);
            for (size_t at = 0; at < n; at += piece)
                lm_sha256_add(&hash, bytes + at, n - at < piece ? n - at : piece);
            lm_sha256_end(&hash, pieces);
            assert_string_equal(pieces, whole);
        }
    }
}

/* 55, 56, 63, 64, 65 zero bytes: where the padding needs a block of its own. Digests from coreutils' sha256sum. */
static void test_padding(void **state)
{
    static const unsigned char zero[65] = {0};

    (void)state;
    check(zero, 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
    check(zero, 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
    check(zero, 63, "c7723fa1e0127975e49e62e753db53924c1bd84b8ac1ac08df78d09270f3d971");
    check(zero, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
    check(zero, 65, "98ce42deef51d40269d542f5314bef2c7468d401ad5d85168bfab4c0108f75f7");
}

static void test_instructions(void **state)
{
    unsigned char bytes[64 * 9 + 1];
    uint32_t plain[8] = {1, 2, 3, 4, 5, 6, 7, 0xffffffff}, x86[8];

    (void)state;
    if (!lm_sha256_has_x86())
        skip();
    memcpy(x86, plain, sizeof x86);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i * 31 + i);
    for (size_t n = 0; n <= 9; n++) {
        lm_sha256_blocks_plain(plain, bytes + 1, n);
        lm_sha256_blocks_x86(x86, bytes + 1, n);
        assert_memory_equal(plain, x86, sizeof x86);
    }
}

/* The plain code by itself, where the instructions would hide it: "abc", padded by hand. */
static void test_plain(void **state)
{
    unsigned char block[64] = {'a', 'b', 'c', 0x80, [63] = 24};
    uint32_t words[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint32_t expected[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                                  0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};

    (void)state;
    lm_sha256_blocks_plain(words, block, 1);
    assert_memory_equal(words, expected, sizeof words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),   cmocka_unit_test(test_million),      cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_padding), cmocka_unit_test(test_instructions), cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
