/* test_filter.c: the window filter of tests/perf: its plain loop against whole numbers added up the other way round,
 * and its counts against loops that walk what the kernels walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "filter_counts.h"
#include "filter_gauge.h"
#include "made_machine.h"
#include "model_time.h"

static const struct filter some[] = {{1, 1, 1, 4}, {3, 3, 9, 1},  {3, 3, 4, 2},    {1, 9, 9, 4},    {9, 1, 5, 8},
                                     {5, 4, 2, 2}, {7, 7, 49, 8}, {3, 31, 93, 1},  {31, 3, 8, 4},   {15, 15, 225, 2},
                                     {2, 2, 4, 8}, {2, 3, 3, 1},  {64, 64, 40, 8}, {100, 90, 64, 4}};
#define SOME (sizeof some / sizeof *some)

/* ---- the definition ---- */

static void put(void *source, uint32_t bytes, size_t k, int value)
{
    if (bytes == 1)
        ((uint8_t *)source)[k] = (uint8_t)value;
    else if (bytes == 2)
        ((uint16_t *)source)[k] = (uint16_t)value;
    else if (bytes == 4)
        ((float *)source)[k] = (float)value;
    else
        ((double *)source)[k] = value;
}

/* Each source element is added to all the results that it is in, in whole numbers: below 2^24, so every float of the
 * plain loop is exact. */
static void test_whole_numbers(void **state)
{
    (void)state;
    for (size_t s = 0; s < SOME; s++) {
        const struct filter f = some[s];
        const size_t rows = 7, columns = 13, height = rows + f.a - 1, width = columns + f.b - 1;
        struct filter_term term[FILTER_TERMS_MOST];
        void *source = malloc(height * width * f.bytes), *result = malloc(rows * columns * 8);
        long long sum[7 * 13] = {0};
        filter_terms(&f, term);
        for (uint32_t k = 0; k < f.references; k++)
            term[k].weight = (double)(k % 7) - 3.0;
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++) {
                const int value = (int)((y * 37 + x * 11 + y * x) % 251);
                put(source, f.bytes, y * width + x, value);
                for (uint32_t k = 0; k < f.references; k++)
                    if (y >= term[k].row && y - term[k].row < rows && x >= term[k].column &&
                        x - term[k].column < columns)
                        sum[(y - term[k].row) * columns + x - term[k].column] += ((int)(k % 7) - 3) * value;
            }
        filter_apply(&f, term, source, width, rows, columns, result);
        for (size_t k = 0; k < rows * columns; k++)
            assert_true((f.bytes == 8 ? ((double *)result)[k] : (double)((float *)result)[k]) == (double)sum[k]);
        free(source);
        free(result);
    }
}

/* By hand: (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24 where product and sum are rounded once, 2^-11 where twice. In order: -1
 * first. The same with doubles, 2^-27. */
static void test_fused(void **state)
{
    (void)state;
    const struct filter f = {1, 2, 2, 4}, d = {1, 2, 2, 8};
    const struct filter_term term[2] = {{0, 0, -1.0}, {0, 1, 1.0 + 0x1p-12}},
                             finer[2] = {{0, 0, -1.0}, {0, 1, 1.0 + 0x1p-27}};
    const float source[2] = {1.0f, 1.0f + 0x1p-12f};
    const double source_d[2] = {1.0, 1.0 + 0x1p-27};
    float result;
    double result_d;
    filter_apply(&f, term, source, 2, 1, 1, &result);
    filter_apply(&d, finer, source_d, 2, 1, 1, &result_d);
    assert_true(result == 0x1p-11f + 0x1p-24f);
    assert_true(result_d == 0x1p-26 + 0x1p-54);
}

/* A pitch beyond the row is passed over. */
static void test_pitch(void **state)
{
    (void)state;
    const struct filter f = {2, 2, 4, 1};
    const struct filter_term term[4] = {{0, 0, 1.0}, {0, 1, 10.0}, {1, 0, 100.0}, {1, 1, 1000.0}};
    const uint8_t source[] = {1, 2, 3, 99, 4, 5, 6, 99};
    float result[2];
    filter_apply(&f, term, source, 4, 1, 2, result);
    assert_true(result[0] == 5421.0f && result[1] == 6532.0f);
}

/* K positions of the window, all different, row by row, opposite corners among them, each K's a part of the next one's;
 * a b are all of them. */
static void test_terms(void **state)
{
    (void)state;
    static const uint32_t side[][2] = {{1, 1}, {1, 2}, {2, 1},   {1, 3}, {2, 2},
                                       {3, 3}, {5, 7}, {31, 31}, {1, 9}, {64, 64}};
    for (size_t s = 0; s < sizeof side / sizeof *side; s++) {
        struct filter f = {side[s][0], side[s][1], 0, 4};
        const uint32_t all = f.a * f.b, most = all < FILTER_TERMS_MOST ? all : FILTER_TERMS_MOST;
        unsigned char *was = calloc(all, 1);
        for (f.references = all > 1 ? 2 : 1; f.references <= most; f.references++) {
            struct filter_term term[FILTER_TERMS_MOST];
            uint32_t kept = 0, before = 0;
            filter_terms(&f, term);
            assert_true(filter_is_valid(&f));
            for (uint32_t k = 0; k < f.references; k++) {
                uint32_t at = term[k].row * f.b + term[k].column;
                assert_true(term[k].row < f.a && term[k].column < f.b && term[k].weight > 0.0);
                assert_true(term[k].weight == (double)(float)term[k].weight);
                assert_true(k == 0 ? at == 0 : at > before);
                before = at;
                kept += was[at];
                was[at] = 1;
            }
            assert_true(before == all - 1);
            assert_true(kept == (f.references <= 2 ? 0 : f.references - 1));
        }
        free(was);
    }
}

/* A few terms lie in all parts of a large window: each of 4 x 4 parts has one of 32, or two or three. */
static void test_scattered(void **state)
{
    (void)state;
    const struct filter f = {64, 64, 32, 4};
    struct filter_term term[FILTER_TERMS_MOST];
    int rows[4] = {0}, columns[4] = {0};
    filter_terms(&f, term);
    for (uint32_t k = 0; k < f.references; k++) {
        rows[term[k].row / 16]++;
        columns[term[k].column / 16]++;
    }
    for (int part = 0; part < 4; part++)
        assert_true(rows[part] >= 5 && rows[part] <= 11 && columns[part] >= 4 && columns[part] <= 12);
}

static void test_valid(void **state)
{
    (void)state;
    static const struct filter not [] = {{0, 3, 1, 4},      {3, 0, 1, 4},        {3, 3, 10, 4}, {3, 3, 1, 4},
                                         {3, 3, 0, 4},      {3, 3, 9, 3},        {3, 3, 9, 16}, {3, 3, 9, 0},
                                         {64, 64, 1025, 4}, {1, 1, 0, 4},        {1, 1, 2, 4},  {1025, 1, 2, 4},
                                         {1, 1025, 2, 4},   {65536, 65536, 2, 4}};
    for (size_t k = 0; k < sizeof not / sizeof *not ; k++)
        assert_false(filter_is_valid(&not [k]));
    for (size_t k = 0; k < SOME; k++)
        assert_true(filter_is_valid(&some[k]));
}

/* Sources: the same for the same seed, all of the range, fractions on both sides of 0. */
static void test_fill(void **state)
{
    (void)state;
    enum { N = 4096 };
    static unsigned char a[8 * N], b[8 * N], c[8 * N];
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        double least = HUGE_VAL, most = -HUGE_VAL;
        filter_fill(a, bytes, N, 5);
        filter_fill(b, bytes, N, 5);
        filter_fill(c, bytes, N, 6);
        assert_memory_equal(a, b, bytes * N);
        assert_true(memcmp(a, c, bytes * N) != 0);
        for (size_t k = 0; k < N; k++) {
            double x = bytes == 1   ? a[k]
                       : bytes == 2 ? ((uint16_t *)a)[k]
                       : bytes == 4 ? (double)((float *)a)[k]
                                    : ((double *)a)[k];
            least = fmin(least, x);
            most = fmax(most, x);
        }
        if (bytes < 4)
            assert_true(least < 300 && most > (bytes == 1 ? 250 : 65000));
        else
            assert_true(least >= -1.0 && least < -0.99 && most < 1.0 && most > 0.99);
    }
}

/* ---- the tile ---- */

static void test_tile(void **state)
{
    (void)state;
    static const uint64_t memory[] = {0, 100, 1024, 8192, 49152, 232448};
    int fitted = 0, none = 0, own = 0;
    for (size_t s = 0; s < SOME; s++)
        for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
            for (uint32_t size = 5; size <= 5000; size *= 10) {
                const struct filter f = some[s];
                const struct lm_caching best = lm_caching_best(filter_window(&f), memory[m]);
                struct filter_tile t = filter_tile_of(&f, size, size + 3, memory[m]);
                if ((uint64_t)f.a * f.b * f.bytes > memory[m]) {
                    assert_true(t.a == 0 && t.b == 0);
                    none++;
                    continue;
                }
                uint32_t high = t.a - f.a + 1, wide = t.b - f.b + 1;
                assert_true(t.a >= f.a && t.b >= f.b && high <= size && wide <= size + 3);
                assert_true((uint64_t)t.a * t.b * f.bytes <= memory[m]);
                assert_true(filter_tile_loads(&f, t) == (double)t.a * t.b / ((double)high * wide));
                if ((uint64_t)(f.a + 7) * (f.b + 31) * f.bytes > memory[m] || size < 500) {
                    own++;
                    continue;
                }
                assert_true((wide % 32 == 0 || wide == size + 3) && high % 8 == 0);
                if (best.tile_a) /* never better than the criterion's; where there is room, hardly worse */
                    assert_true(filter_tile_loads(&f, t) >= best.per_element * (1.0 - 1e-12));
                if (best.tile_a && memory[m] >= 49152 && (size == 5000 || f.a > 1))
                    assert_true(filter_tile_loads(&f, t) <= 1.25 * best.per_element);
                fitted++;
            }
    assert_true(fitted > 20 && none > 20 && own > 20);
}

/* ---- counts, by walking ---- */

/* Different lines of 128 bytes that 32 neighbours of z bytes touch: the mean over all places of the first one. */
static double walk_lines(uint32_t z)
{
    int touched = 0, places = 0;
    for (uint32_t start = 0; start < 128; start += z, places++) {
        int last = -1;
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t byte = 0; byte < z; byte++) {
                int line = (int)((start + lane * z + byte) / 128);
                touched += line != last;
                last = line;
            }
    }
    return (double)touched / places;
}

/* Most different words that one of 32 banks has to give to 32 neighbours of z bytes, wherever they begin. */
static double walk_banks(uint32_t z)
{
    int most = 0;
    for (uint32_t start = 0; start < 128; start += z) {
        int given[32] = {0}, last = -1;
        for (uint32_t byte = start; byte < start + 32 * z; byte++)
            if ((int)(byte / 4) != last) {
                last = (int)(byte / 4);
                given[last % 32]++;
            }
        for (int bank = 0; bank < 32; bank++)
            most = given[bank] > most ? given[bank] : most;
    }
    return most;
}

/* Elements of the source that the windows of high x wide results refer to: all references, and different ones. */
static double walk_windows(const struct filter *f, uint32_t high, uint32_t wide, double *different)
{
    struct filter_term term[FILTER_TERMS_MOST];
    const uint32_t width = wide + f->b - 1;
    unsigned char *seen = calloc((size_t)(high + f->a - 1) * width, 1);
    double all = 0.0;
    *different = 0.0;
    filter_terms(f, term);
    for (uint32_t i = 0; i < high; i++)
        for (uint32_t j = 0; j < wide; j++)
            for (uint32_t k = 0; k < f->references; k++) {
                unsigned char *at = &seen[(i + term[k].row) * width + j + term[k].column];
                all += 1.0;
                *different += *at == 0;
                *at = 1;
            }
    free(seen);
    return all;
}

/* Batches of four loads that the first warp's first lane makes, one after the other, as the kernel's loops do. */
static double walk_batches(uint32_t a, uint32_t b)
{
    const int narrow = b <= 96;
    double n = 0.0;
    for (uint32_t r = 0; r < a; r += narrow ? 32 : 8)
        for (uint32_t c = 0; c < b; c += narrow ? 32 : 128)
            n += 1.0;
    return n;
}

/* Times that a thread waits for what it loaded, as the compiler makes the sums: four terms at once, then one by one;
 * from a tile the last two of three at once. */
static double walk_waits(uint32_t terms, int tiled)
{
    double n = 0.0;
    for (; terms >= 4; terms -= 4)
        n += 1.0;
    for (int first = 1; terms > 0; first = 0, n += 1.0)
        terms -= tiled && !first ? terms : 1;
    return n;
}

static double walk_blocks(uint32_t rows, uint32_t columns, uint32_t high, uint32_t wide)
{
    double n = 0.0;
    for (uint32_t i = 0; i < rows; i += high)
        for (uint32_t j = 0; j < columns; j += wide)
            n += 1.0;
    return n;
}

static int near(double x, double y)
{
    return fabs(x - y) <= 1e-9 * fabs(y);
}

static void test_global_counts(void **state)
{
    (void)state;
    for (size_t s = 0; s < SOME; s++) {
        const struct filter f = some[s];
        const uint32_t rows = 403, columns = 517;
        const double z = f.bytes, out = f.bytes == 8 ? 8.0 : 4.0, N = (double)rows * columns;
        struct lm_kernel k = filter_kernel_global(&f, rows, columns);
        double different, all = walk_windows(&f, 8, 32, &different);
        assert_true(k.threads == 256.0 && k.blocks == walk_blocks(rows, columns, 8, 32));
        assert_true(k.global == all + 256.0 && k.constant == all && k.shared == 0.0);
        assert_true(near(k.useful * k.blocks, N * f.references));
        assert_true(near(k.wavefronts, 8.0 * (f.references * walk_lines(f.bytes) + walk_lines((uint32_t)out))));
        assert_true(k.memory_bytes == z * filter_source_elements(&f, rows, columns) + out * N);
        double asked = (k.cache_bytes - out * N) / k.blocks / z; /* exact for whole windows, else a bound */
        assert_true(f.references == f.a * f.b ? near(asked, different) : asked >= different * (1.0 - 1e-9));
        assert_true(asked <= all && asked <= (8.0 + f.a - 1.0) * (32.0 + f.b - 1.0));
        double waits = walk_waits(f.references, 0);
        assert_true(k.chain_global == 1.0 && k.chain_global + k.chain_l2 + k.chain_shared == waits);
        assert_true(k.chain_l2 < f.a && k.chain_shared >= 0.0 && k.chain_constant == 3.0 + waits);
    }
}

static void test_tile_counts(void **state)
{
    (void)state;
    int whole = 0;
    for (size_t s = 0; s < SOME; s++) {
        const struct filter f = some[s];
        struct filter_tile t = filter_tile_of(&f, 100000, 100000, 49152);
        const uint32_t high = t.a - f.a + 1, wide = t.b - f.b + 1, rows = 3 * high, columns = 2 * wide;
        const double z = f.bytes, out = f.bytes == 8 ? 8.0 : 4.0, N = (double)rows * columns;
        if (t.a == 0)
            continue;
        struct lm_kernel k[FILTER_PHASES], more[FILTER_PHASES], *fill = &k[0], *sum = &k[1];
        filter_kernel_tile(&f, t, rows, columns, k);
        filter_kernel_tile(&f, t, rows + 1, columns + 1, more);
        double different, all = walk_windows(&f, high, wide, &different), loads = (double)t.a * t.b;
        for (int p = 0; p < FILTER_PHASES; p++) {
            assert_true(k[p].blocks == 6.0 && k[p].threads == 256.0 && k[p].shared_bytes == loads * z);
            assert_true(more[p].blocks == walk_blocks(rows + 1, columns + 1, high, wide));
        }
        assert_true(fill->shared == loads && fill->global == loads && fill->constant == 0.0);
        assert_true(sum->shared == all && sum->constant == all && sum->global == (double)high * wide);
        assert_true(f.references == f.a * f.b ? loads == different : loads >= different);
        /* the criterion's own formula, where tiles divide the result */
        assert_true(lm_references_cached(filter_window(&f), t.a, t.b, N) == fill->blocks * loads);
        assert_true(fill->useful == 0.0 && near(sum->useful * sum->blocks, N * f.references));
        assert_true(fill->memory_bytes == z * filter_source_elements(&f, rows, columns));
        assert_true(near(fill->cache_bytes, fill->blocks * loads * z) && fill->memory_bytes <= fill->cache_bytes);
        assert_true(sum->memory_bytes == N * out && sum->cache_bytes == N * out);
        double fills = 0.0, sums = 0.0; /* warps' turns, as the kernel's loops make them */
        for (uint32_t r = 0; r < t.a; r++)
            for (uint32_t c = 0; c < t.b; c += 32)
                fills += 1.0;
        for (uint32_t i = 0; i < high; i += 8)
            for (uint32_t j = 0; j < wide; j += 32)
                sums += 8.0;
        double stores = walk_lines((uint32_t)out), banks = walk_banks(f.bytes), waits = walk_waits(f.references, 1);
        assert_true(near(fill->wavefronts, fills * (walk_lines(f.bytes) + banks)));
        assert_true(near(sum->wavefronts, sums * (f.references * banks + stores)));
        assert_true(near(fill->chain_global + fill->chain_l2, walk_batches(t.a, t.b)) && fill->barriers == 1.0);
        assert_true(sum->chain_global == 0.0 && sum->barriers == 0.0 && sum->chain_shared == sums / 8.0 * waits);
        whole += f.references == f.a * f.b;
    }
    assert_true(whole > 4);
}

/* Four terms more, a warp: what the compiler makes for sm_90 (a turn of the loop over terms), by z. */
static void test_instructions(void **state)
{
    (void)state;
    static const double global[] = {29, 29, 25, 30}, tiled[] = {25, 21, 17, 22};
    const struct filter_tile tile = {40, 42}; /* 32 x 32 of a 9 x 11 window: 8 warps, 4 turns */
    for (int z = 0; z < 4; z++)
        for (uint32_t K = 2; K < 90; K++) {
            struct filter f = {9, 11, K, 1u << z}, more = {9, 11, K + 4, 1u << z};
            struct lm_kernel g = filter_kernel_global(&f, 64, 64), h = filter_kernel_global(&more, 64, 64);
            struct lm_kernel t[FILTER_PHASES], u[FILTER_PHASES];
            filter_kernel_tile(&f, tile, 64, 64, t);
            filter_kernel_tile(&more, tile, 64, 64, u);
            assert_true(h.instructions - g.instructions == 8.0 * global[z]);
            assert_true(u[1].instructions - t[1].instructions == 8.0 * 4.0 * tiled[z]);
            assert_true(u[0].instructions == t[0].instructions);
            assert_true(g.instructions * 32.0 > g.useful && t[1].instructions * 32.0 > t[1].useful);
        }
}

/* 9 terms of a 9 x 11 window: two turns of four and one. From global memory 17 operations round them, four a turn and a
 * conversion, and the sum's 9; three rows, of which one comes from memory. From a tile of 32 x 32 elements each warp
 * makes 4 sums. The tile is two times four rows of eight warps high, two loads wide: 4 batches, of which as much comes
 * from memory as tiles do not overlap. */
static void test_chains(void **state)
{
    (void)state;
    const struct filter f = {9, 11, 9, 1}, twice = {9, 11, 9, 8};
    const struct filter_tile tile = {40, 42};
    struct lm_kernel g = filter_kernel_global(&f, 64, 64), d = filter_kernel_global(&twice, 64, 64);
    struct lm_kernel t[FILTER_PHASES];
    assert_true(g.chain_operations == 17 + 3 * (4 + 1) + 9 && d.chain_operations == 17 + 3 * 4 + 9);
    assert_true(g.chain_global == 1 && g.chain_l2 == 2 && g.chain_shared == 0 && g.chain_constant == 6);
    assert_true(g.constant_loads == 8 * 9 && g.constant_bytes == 72.0);
    assert_true(d.constant_loads == 8 * 9 * 2 && d.constant_bytes == 144.0);
    filter_kernel_tile(&f, tile, 64, 64, t);
    assert_true(t[0].chain_operations == 4 * 10 && t[0].chain_constant == 4 && t[0].constant_loads == 0.0);
    assert_true(near(t[0].chain_global, 4.0 * 72 * 74 / (4 * 40 * 42)));
    assert_true(t[1].chain_operations == 4 * (16 + 3 * (3 + 1) + 9) && t[1].chain_constant == 4 * (1 + 3));
    assert_true(t[1].constant_loads == 0.0);
    filter_kernel_tile(&twice, tile, 64, 64, t);
    assert_true(t[1].constant_loads == 4 * 9 * 2 && t[1].constant_bytes == 144.0);
}

/* A warp's instructions of all its life, floats: 40, turns of 25, 10 a term left over; from a tile 19 four times eight
 * rows, 30 a sum, turns of 17, and 7 or 15 for one term left over, or for more. */
static void test_left_over(void **state)
{
    (void)state;
    static const double global[] = {40 + 50, 40 + 50 + 10, 40 + 50 + 20, 40 + 50 + 30}, tiled[] = {34, 41, 49, 49};
    for (uint32_t left = 0; left < 4; left++) {
        const struct filter f = {9, 11, 8 + left, 4};
        const struct filter_tile tile = {40, 42};
        struct lm_kernel t[FILTER_PHASES];
        filter_kernel_tile(&f, tile, 64, 64, t);
        assert_true(filter_kernel_global(&f, 64, 64).instructions == 8.0 * global[left]);
        assert_true(t[1].instructions == 8.0 * 4.0 * (19.0 + 30.0 + tiled[left]));
    }
}

/* ---- times ---- */

struct both {
    double refined[2], bound[2]; /* from global memory, from a tile */
};

static struct both times_of(const struct lm_machine *m, const struct filter *f, uint32_t size)
{
    const struct lm_phase_costs costs = filter_costs_known();
    struct lm_kernel g = filter_kernel_global(f, size, size), t[FILTER_PHASES];
    filter_kernel_tile(f, filter_tile_of(f, size, size, 49152), size, size, t);
    return (struct both){{lm_time_phases(m, &costs, &g, 1), lm_time_phases(m, &costs, t, FILTER_PHASES)},
                         {lm_time_stage(m, &g), lm_time_stage(m, &t[0]) + lm_time_stage(m, &t[1])}};
}

/* More terms take no less time, in both forms and both ways; and where a tile brings in 27 elements for one that makes
 * two references, criterion and times agree that it does not pay. */
static void test_times(void **state)
{
    (void)state;
    const struct lm_machine m = made_machine();
    const uint32_t size = 4001;
    for (uint32_t z = 1; z <= 8; z *= 2) {
        struct both before = {{0.0, 0.0}, {0.0, 0.0}};
        for (uint32_t K = 2; K <= 225; K += 13) {
            const struct filter f = {15, 15, K, z};
            struct both now = times_of(&m, &f, size);
            for (int way = 0; way < 2; way++) {
                assert_true(now.refined[way] >= before.refined[way] && now.bound[way] >= before.bound[way]);
                assert_true(now.refined[way] > 0.0 && now.refined[way] < now.bound[way] && now.bound[way] < 1.0);
            }
            before = now;
        }
    }
    const struct filter far = {64, 64, 2, 8};
    struct both now = times_of(&m, &far, size);
    assert_int_equal(lm_caching_best(filter_window(&far), 49152).why, LM_CACHING_TOO_FEW);
    assert_true(now.refined[1] > now.refined[0] && now.bound[1] > now.bound[0]);
    assert_true(filter_operations(&far, 100.0) == 400.0);
}

/* What an H200 measured, of which the machine here has the latencies and rates: both ways within a quarter. */
static void test_measured(void **state)
{
    (void)state;
    struct lm_machine m = made_machine();
    m.gpu.clock = 1.9756e9;
    m.gpu.bandwidth = 4.078e12;
    m.gpu.latency_global = 661.3;
    m.gpu.latency_l2 = 287.5;
    m.gpu.latency_shared = 29.1;
    m.gpu.latency_constant = 34.1;
    m.gpu.latency_operation = 4.41;
    static const struct {
        struct filter f;
        double global, tile; /* us, 8,209 x 8,219 elements */
    } point[] = {{{3, 3, 9, 2}, 292.5, 273.3},    {{9, 1, 3, 4}, 336.5, 232.4},    {{5, 5, 25, 4}, 476.0, 398.3},
                 {{31, 31, 31, 4}, 784.7, 458.6}, {{64, 64, 3, 8}, 389.3, 3634.2}, {{100, 100, 2, 4}, 282.2, 6827.9}};
    for (size_t k = 0; k < sizeof point / sizeof *point; k++) {
        const struct lm_phase_costs costs = filter_costs_known();
        const struct filter *f = &point[k].f;
        struct lm_kernel g = filter_kernel_global(f, 8209, 8219), t[FILTER_PHASES];
        filter_kernel_tile(f, filter_tile_of(f, 8209, 8219, 49152), 8209, 8219, t);
        double global = 1e6 * lm_time_phases(&m, &costs, &g, 1);
        double tile = 1e6 * lm_time_phases(&m, &costs, t, FILTER_PHASES);
        assert_true(fabs(global / point[k].global - 1.0) < 0.25 && fabs(tile / point[k].tile - 1.0) < 0.25);
        assert_true((tile < global) == (point[k].tile < point[k].global));
    }
}

/* ---- the costs that a machine's file does not have ---- */

static void probe_seconds(const struct lm_machine *m, struct lm_phase_costs costs, double seconds[FILTER_PROBES])
{
    for (int k = 0; k < FILTER_PROBES; k++) {
        struct lm_kernel g = filter_kernel_global(&filter_probe[k], 8209, 8219);
        seconds[k] = lm_time_phases(m, &costs, &g, 1);
    }
}

/* From the seconds that known costs make the costs come back; costs of nothing, and less than that, are nothing. */
static void test_costs(void **state)
{
    (void)state;
    static const struct lm_phase_costs all[] = {{800.0, 256.0, 8.0}, {300.0, 100.0, 20.0}, {2000.0, 400.0, 5.0}};
    const struct lm_machine m = made_machine();
    double seconds[FILTER_PROBES];
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        probe_seconds(&m, all[k], seconds);
        struct lm_phase_costs c = filter_costs(&m, 8209, 8219, seconds);
        assert_true(fabs(c.turn - all[k].turn) < 0.01 * all[k].turn);
        assert_true(fabs(c.constant_miss - all[k].constant_miss) < 0.01 * all[k].constant_miss);
        assert_true(fabs(c.constant_near - all[k].constant_near) < 0.01 * all[k].constant_near);
    }
    const struct lm_phase_costs none = {0.0, 0.0, 0.0};
    for (int faster = 0; faster < 2; faster++) {
        probe_seconds(&m, none, seconds);
        for (int k = 0; k < FILTER_PROBES; k++)
            seconds[k] *= faster ? 0.5 : 1.0;
        struct lm_phase_costs c = filter_costs(&m, 8209, 8219, seconds);
        assert_true(c.turn < 1e-6 && c.constant_miss < 1e-6);
    }
}

/* A probe is a filter, and the third one's constants are few beside the second's. */
static void test_probes(void **state)
{
    (void)state;
    for (int k = 0; k < FILTER_PROBES; k++)
        assert_true(filter_is_valid(&filter_probe[k]) && filter_probe[k].bytes == 4);
    assert_true(4 * filter_probe[2].references < filter_probe[1].references && filter_probe[0].references == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers), cmocka_unit_test(test_fused),        cmocka_unit_test(test_pitch),
        cmocka_unit_test(test_terms),         cmocka_unit_test(test_scattered),    cmocka_unit_test(test_valid),
        cmocka_unit_test(test_fill),          cmocka_unit_test(test_tile),         cmocka_unit_test(test_global_counts),
        cmocka_unit_test(test_tile_counts),   cmocka_unit_test(test_instructions), cmocka_unit_test(test_times),
        cmocka_unit_test(test_chains),        cmocka_unit_test(test_left_over),    cmocka_unit_test(test_measured),
        cmocka_unit_test(test_costs),         cmocka_unit_test(test_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
