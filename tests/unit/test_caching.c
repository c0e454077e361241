/* test_caching.c: the caching criterion against every tile there is, for memories small enough to try them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "caching.h"

static struct lm_window window(uint32_t a, uint32_t b, double k, uint32_t z)
{
    return (struct lm_window){.a = a, .b = b, .bytes = z, .references = k};
}

/* ---- one source ---- */

/* The least A B / n over all tiles that fit, as a fraction; 0 if none fits. */
static int try_all(uint32_t a, uint32_t b, uint64_t room, uint64_t *area, uint64_t *served)
{
    int found = 0;
    for (uint64_t A = a; A <= room; A++)
        for (uint64_t B = b; A * B <= room; B++) {
            uint64_t n = (A - a + 1) * (B - b + 1);
            if (!found || A * B * *served < *area * n || (A * B * *served == *area * n && A * B < *area)) {
                *area = A * B;
                *served = n;
                found = 1;
            }
        }
    return found;
}

static void test_every_tile(void **state)
{
    (void)state;
    int pays = 0, not = 0;
    for (uint64_t memory = 1; memory <= 260; memory += memory < 40 ? 1 : 11)
        for (uint32_t z = 1; z <= 8; z++)
            for (uint32_t a = 1; a <= 9; a++)
                for (uint32_t b = 1; b <= 9; b++) {
                    uint64_t area = 0, served = 1;
                    struct lm_caching c = lm_caching_best(window(a, b, 2.0, z), memory);
                    if (a == 1 && b == 1) {
                        assert_int_equal(c.why, LM_CACHING_NO_REUSE);
                        continue;
                    }
                    if (!try_all(a, b, memory / z, &area, &served)) {
                        assert_int_equal(c.why, LM_CACHING_NO_ROOM);
                        assert_int_equal(c.tile_a, 0);
                        continue;
                    }
                    assert_true((uint64_t)c.tile_a * c.tile_b == area);
                    assert_true(c.elements == (double)served);
                    assert_true((uint64_t)c.tile_a * c.tile_b * z <= memory);
                    assert_true(c.tile_a >= a && c.tile_b >= b);
                    assert_int_equal(c.why, area < 2 * served ? LM_CACHING_PAYS : LM_CACHING_TOO_FEW);
                    pays += c.why == LM_CACHING_PAYS;
                    not += c.why == LM_CACHING_TOO_FEW;
                }
    assert_true(pays > 1000 && not > 1000); /* both answers were really asked for */
}

/* A real multiprocessor's memory, every height tried: long windows, flat ones, square ones. */
static void test_large_memory(void **state)
{
    static const struct {
        uint32_t a, b, z;
    } w[] = {{3, 3, 4}, {64, 1, 4}, {1, 64, 4}, {17, 2, 8}, {2, 300, 1}, {100, 100, 4}, {5, 7, 3}, {2, 1, 4}};
    (void)state;
    for (size_t k = 0; k < sizeof w / sizeof *w; k++) {
        const uint64_t memory = 227 * 1024, room = memory / w[k].z;
        uint64_t area = 0, served = 0;
        for (uint64_t A = w[k].a; A * w[k].b <= room; A++) { /* for each height the widest: wider is never worse */
            uint64_t B = room / A, n = (A - w[k].a + 1) * (B - w[k].b + 1);
            if (served == 0 || A * B * served < area * n) {
                area = A * B;
                served = n;
            }
        }
        struct lm_caching c = lm_caching_best(window(w[k].a, w[k].b, 1.5, w[k].z), memory);
        assert_true((uint64_t)c.tile_a * c.tile_b * served == area * (uint64_t)c.elements);
    }
}

/* The formula's tile, A = sqrt(M/z (a-1)/(b-1)), real numbers and no remainder, bounds the whole-number one from below,
 * and in a memory that holds thousands of elements that comes within 0.5 % of it. */
static void test_near_the_formula(void **state)
{
    (void)state;
    for (uint32_t a = 2; a < 12; a++)
        for (uint32_t b = 2; b < 12; b++) {
            double room = 12288.0, A = sqrt(room * (a - 1.0) / (b - 1.0)), B = sqrt(room * (b - 1.0) / (a - 1.0));
            double real = A * B / ((A - a + 1.0) * (B - b + 1.0));
            struct lm_caching c = lm_caching_best(window(a, b, 100.0, 4), 48 * 1024);
            assert_true(c.per_element >= real * (1.0 - 1e-12) && c.per_element <= real * 1.005);
            assert_int_equal(c.why, LM_CACHING_PAYS);
        }
}

static void test_edges(void **state)
{
    (void)state;
    assert_int_equal(lm_caching_best(window(1, 1, 1.0, 4), 1024).why, LM_CACHING_NO_REUSE);
    assert_int_equal(lm_caching_best(window(1, 1, 100.0, 1), 1u << 20).why, LM_CACHING_NO_REUSE);
    assert_int_equal(lm_caching_best(window(33, 33, 1089.0, 4), 4096).why, LM_CACHING_NO_ROOM);
    assert_int_equal(lm_caching_best(window(32, 32, 1089.0, 4), 4096).why, LM_CACHING_PAYS); /* 1024 < 1089 */
    assert_int_equal(lm_caching_best(window(32, 32, 1024.0, 4), 4096).why, LM_CACHING_TOO_FEW);
    assert_int_equal(lm_caching_best(window(3, 3, 9.0, 4), 0).why, LM_CACHING_NO_ROOM);
    assert_int_equal(lm_caching_best(window(UINT32_MAX, UINT32_MAX, 9.0, 1), 1u << 20).why, LM_CACHING_NO_ROOM);
    /* a tile loads more than one element each: below that many references never */
    assert_int_equal(lm_caching_best(window(3, 3, 0.5, 4), 1u << 20).why, LM_CACHING_TOO_FEW);
    assert_int_equal(lm_caching_best(window(3, 1, 1.0, 1), 1u << 20).why, LM_CACHING_TOO_FEW);
    assert_int_equal(lm_caching_best(window(3, 1, 0.0, 8), 1u << 20).why, LM_CACHING_TOO_FEW);
    /* one dimension: 12 of 4 bytes, a = 3: 10 elements for 12 loads */
    struct lm_caching c = lm_caching_best(window(3, 1, 3.0, 4), 48);
    assert_int_equal(c.tile_a, 12);
    assert_int_equal(c.tile_b, 1);
    assert_true(c.elements == 10.0 && c.per_element == 1.2);
    /* turned round, the same */
    c = lm_caching_best(window(1, 3, 3.0, 4), 48);
    assert_true(c.tile_a == 1 && c.tile_b == 12);
    /* as large as elements can be counted: an answer, and soon */
    assert_int_equal(lm_caching_best(window(3, 3, 9.0, 1), UINT64_MAX).why, LM_CACHING_PAYS);
    assert_string_equal(lm_caching_text(LM_CACHING_PAYS), "pays");
}

/* By hand: a 3 x 3 window, a 6 x 5 tile serves 4 x 3 = 12; 25 elements take 3 tiles of 30. */
static void test_references(void **state)
{
    (void)state;
    struct lm_window w = window(3, 3, 9.0, 4);
    assert_true(lm_references_global(w, 25.0) == 225.0);
    assert_true(lm_references_cached(w, 6, 5, 25.0) == 90.0);
    assert_true(lm_references_cached(w, 6, 5, 24.0) == 60.0);
    assert_true(lm_references_cached(w, 6, 5, 0.0) == 0.0 && lm_references_global(w, 0.0) == 0.0);
}

/* ---- several sources ---- */

static double saved_by(const struct lm_window *w, size_t n, unsigned set, uint32_t a, uint32_t b, uint64_t memory)
{
    double saved = 0.0;
    uint64_t bytes = 0;
    for (size_t s = 0; s < n; s++)
        if (set >> s & 1) {
            uint64_t area = (uint64_t)(a + w[s].a - 1) * (b + w[s].b - 1);
            bytes += area * w[s].bytes;
            saved += w[s].references - (double)area / ((double)a * b);
        }
    return bytes <= memory ? saved : -HUGE_VAL;
}

static double best_of_set(const struct lm_window *w, size_t n, unsigned set, uint64_t memory)
{
    double best = -HUGE_VAL;
    for (uint32_t a = 1; a <= memory; a++)
        for (uint32_t b = 1; (uint64_t)a * b <= memory; b++)
            best = fmax(best, saved_by(w, n, set, a, b, memory));
    return best;
}

static void test_several(void **state)
{
    (void)state;
    uint32_t seed = 7;
    int optimal = 0, cases = 300, shared = 0;
    for (int k = 0; k < cases; k++) {
        struct lm_window w[3];
        for (int s = 0; s < 3; s++) {
            uint32_t r[4];
            for (int i = 0; i < 4; i++)
                r[i] = (seed = seed * 1664525u + 1013904223u) >> 16;
            w[s] = window(1 + r[0] % 4, 1 + r[1] % 4, 1.0 + r[2] % 12, 1 + r[3] % 8);
        }
        const uint64_t memory = 20 + seed % 200;
        struct lm_caching_shared c = lm_caching_several(w, 3, memory);
        double all_sets = 0.0, alone = 0.0;
        unsigned set = 0, may = 0;
        for (int s = 0; s < 3; s++) {
            set |= c.cached[s] ? 1u << s : 0;
            may |= w[s].a * w[s].b > 1 ? 1u << s : 0;
        }
        assert_int_equal(set & ~may, 0);
        for (unsigned other = 1; other < 8; other++)
            if ((other & ~may) == 0)
                all_sets = fmax(all_sets, best_of_set(w, 3, other, memory));
        for (int s = 0; s < 3; s++)
            if (may >> s & 1)
                alone = fmax(alone, best_of_set(w, 3, 1u << s, memory));
        if (set) { /* its block is the best for its set, and fits */
            assert_true(c.bytes <= memory);
            assert_true(fabs(c.saved - saved_by(w, 3, set, c.block_a, c.block_b, memory)) < 1e-9);
            assert_true(fabs(c.saved - best_of_set(w, 3, set, memory)) < 1e-9);
        }
        assert_true(set || alone <= 0.0);
        assert_true(c.saved <= all_sets + 1e-9);
        optimal += c.saved >= all_sets - 1e-9;
        shared += set & (set - 1) ? 1 : 0;
    }
    assert_true(shared > cases / 10);       /* two and more tiles do occur */
    assert_true(optimal >= cases * 9 / 10); /* taking away the least saver is nearly always the best set, too */
}

/* Room for one tile alone: the source with fewer references goes. */
static void test_least_saver_goes(void **state)
{
    (void)state;
    struct lm_window w[2] = {window(3, 3, 4.0, 4), window(3, 3, 40.0, 4)};
    struct lm_caching_shared c = lm_caching_several(w, 2, 16 * 4);
    assert_int_equal(c.cached[0], 0);
    assert_int_equal(c.cached[1], 1);
    c = lm_caching_several(w, 2, 48 * 1024);
    assert_true(c.cached[0] && c.cached[1]);
    c = lm_caching_several(w, 0, 48 * 1024);
    assert_true(c.saved == 0.0 && c.block_a == 0);
    w[0].a = w[0].b = w[1].a = w[1].b = 1;
    c = lm_caching_several(w, 2, 48 * 1024);
    assert_true(!c.cached[0] && !c.cached[1]);
}

/* ---- lists ---- */

/* By hand: three elements {0 1 2} {1 2 3} {2 3 4} and room for four: the first two share a tile {0 1 2 3}, the third
 * needs its own: 7 loads for 9 references. */
static void test_list_by_hand(void **state)
{
    (void)state;
    const uint64_t first[] = {0, 3, 6, 9};
    const uint32_t index[] = {0, 1, 2, 1, 2, 3, 2, 3, 4};
    uint64_t scratch[10];
    struct lm_caching_list l = lm_caching_of_list(first, index, 3, 5, 4, 16, scratch);
    assert_true(l.why == LM_CACHING_PAYS && l.tiles == 2 && l.global == 9.0 && l.cached == 7.0);
    l = lm_caching_of_list(first, index, 3, 5, 4, 20, scratch);
    assert_true(l.tiles == 1 && l.cached == 5.0);
    l = lm_caching_of_list(first, index, 3, 5, 4, 12, scratch);
    assert_true(l.why == LM_CACHING_TOO_FEW && l.tiles == 3 && l.cached == 9.0);
    assert_int_equal(lm_caching_of_list(first, index, 3, 5, 4, 11, scratch).why, LM_CACHING_NO_ROOM);
    assert_int_equal(lm_caching_of_list(first, index, 1, 5, 4, 64, scratch).why, LM_CACHING_NO_REUSE);
    const uint32_t repeats[] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
    l = lm_caching_of_list(first, repeats, 3, 5, 4, 64, scratch);
    assert_true(l.why == LM_CACHING_NO_REUSE && l.cached == 3.0);
    l = lm_caching_of_list(first, index, 0, 5, 4, 64, scratch);
    assert_true(l.tiles == 0 && l.global == 0.0 && l.cached == 0.0);
}

/* Three dimensions: seven points of a grid of g^3 with a border; with room for all, each point is loaded once. */
#define G 5
static void test_three_dimensions(void **state)
{
    (void)state;
    static const int step[7][3] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    uint64_t first[G * G * G + 1] = {0}, scratch[2 * (G + 2) * (G + 2) * (G + 2)];
    uint32_t index[7 * G * G * G];
    size_t n = 0, k = 0;
    for (int x = 1; x <= G; x++)
        for (int y = 1; y <= G; y++)
            for (int z = 1; z <= G; z++) {
                for (int s = 0; s < 7; s++)
                    index[k++] = (uint32_t)(((x + step[s][0]) * (G + 2) + y + step[s][1]) * (G + 2) + z + step[s][2]);
                first[++n] = k;
            }
    const uint32_t sources = (G + 2) * (G + 2) * (G + 2);
    struct lm_caching_list l = lm_caching_of_list(first, index, n, sources, 4, sources * 4, scratch);
    /* all but the border's edges and corners */
    assert_true(l.why == LM_CACHING_PAYS && l.tiles == 1 && l.cached == G * G * G + 6 * G * G && l.global == 7 * 125);
    /* room for one window: every element loads its own seven */
    l = lm_caching_of_list(first, index, n, sources, 4, 28, scratch);
    assert_true(l.tiles == n && l.cached == l.global && l.why == LM_CACHING_TOO_FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tile),       cmocka_unit_test(test_large_memory),
        cmocka_unit_test(test_near_the_formula), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_references),       cmocka_unit_test(test_several),
        cmocka_unit_test(test_least_saver_goes), cmocka_unit_test(test_list_by_hand),
        cmocka_unit_test(test_three_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
