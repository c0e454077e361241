/* test_shard.c: every sample has one rank, shares are even, and messages stay small, also for sizes beyond any memory
 * at hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>

#include "shard.h"

static void check_cover(uint64_t n, int ranks)
{
    uint64_t next = 0, least = UINT64_MAX, most = 0;
    for (int r = 0; r < ranks; r++) {
        struct lm_range range = lm_shard(n, ranks, r);
        assert_true(range.first == next);
        next += range.count;
        least = range.count < least ? range.count : least;
        most = range.count > most ? range.count : most;
        if (range.count) {
            assert_int_equal(lm_shard_owner(n, ranks, range.first), r);
            assert_int_equal(lm_shard_owner(n, ranks, range.first + range.count / 2), r);
            assert_int_equal(lm_shard_owner(n, ranks, range.first + range.count - 1), r);
        }
        if (r > 0) /* the larger ones come first */
            assert_true(range.count <= lm_shard(n, ranks, r - 1).count);
    }
    assert_true(next == n);
    assert_true(most - least <= 1);
}

static void test_cover(void **state)
{
    static const uint64_t large[] = {
        878, INT_MAX, (uint64_t)INT_MAX + 1, UINT32_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 40) + 7, UINT64_MAX};

    (void)state;
    for (uint64_t n = 0; n < 130; n++)
        for (int ranks = 1; ranks < 70; ranks++)
            check_cover(n, ranks);
    for (size_t k = 0; k < sizeof large / sizeof *large; k++)
        for (int ranks = 1; ranks < 3000; ranks = ranks * 3 + 1)
            check_cover(large[k], ranks);
}

/* Every sample by itself. */
static void test_owner(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 60; n++)
        for (int ranks = 1; ranks < 70; ranks++)
            for (uint64_t k = 0; k < n; k++) {
                struct lm_range range = lm_shard(n, ranks, lm_shard_owner(n, ranks, k));
                assert_true(k >= range.first && k - range.first < range.count);
            }
}

static void test_lab_shares(void **state)
{
    (void)state;
    assert_int_equal(lm_shard(878, 4, 0).count, 220);
    assert_int_equal(lm_shard(878, 4, 1).count, 220);
    assert_int_equal(lm_shard(878, 4, 2).count, 219);
    assert_int_equal(lm_shard(878, 4, 3).first, 659);
    assert_int_equal(lm_shard(3, 5, 4).count, 0);
}

static void check_pieces(uint64_t bytes)
{
    uint64_t n = lm_pieces(bytes), next = 0;
    for (uint64_t k = 0; k < n; k++) {
        struct lm_range piece = lm_piece(bytes, k);
        assert_true(piece.first == next);
        assert_true(piece.count > 0 && piece.count <= LM_PIECE_BYTES && piece.count <= INT_MAX);
        assert_true(k + 1 == n || piece.count == LM_PIECE_BYTES); /* all full but the last */
        next += piece.count;
    }
    assert_true(next == bytes);
}

static void test_pieces(void **state)
{
    (void)state;
    assert_int_equal(lm_pieces(0), 0);
    assert_int_equal(lm_pieces(1), 1);
    assert_int_equal(lm_pieces(LM_PIECE_BYTES), 1);
    assert_int_equal(lm_pieces(LM_PIECE_BYTES + 1), 2);
    for (int power = 0; power <= 43; power++)
        for (int more = -1; more <= 1; more++)
            check_pieces((UINT64_C(1) << power) + (uint64_t)more);
    check_pieces(3 * LM_PIECE_BYTES);
    check_pieces((UINT64_C(1) << 40) + 12345);
    /* too many to walk through: the last of 2^64 - 1 bytes */
    assert_int_equal(lm_pieces(UINT64_MAX), UINT64_C(1) << 38);
    struct lm_range last = lm_piece(UINT64_MAX, (UINT64_C(1) << 38) - 1);
    assert_true(last.count == LM_PIECE_BYTES - 1 && last.first + last.count == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cover),
        cmocka_unit_test(test_owner),
        cmocka_unit_test(test_lab_shares),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
