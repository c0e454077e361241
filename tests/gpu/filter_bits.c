/* filter_bits.c: the window filter's kernels on a GPU against the plain loop (tests/perf/filter.h), bit for bit. Needs
 * a GPU and the library, nothing else.
 *
 *   filter_bits [--small]
 *
 * Speaks TAP, a line a filter; ends 1 if any bit differs. --small: little work, for compute-sanitizer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter_gpu.h"
#include "gpu.h"

#define GUARD 256 /* bytes behind a result that nobody may touch */

struct test {
    int results, failures;
    int block_shared; /* bytes of shared memory that a block can have */
};

static void *must(void *memory)
{
    if (!memory) {
        puts("Bail out! out of memory");
        exit(1);
    }
    return memory;
}

struct made {
    struct filter f;
    uint32_t rows, columns;
    struct filter_term term[FILTER_TERMS_MOST];
    size_t source_bytes, result_bytes;
    void *source, *wanted, *got;
};

static void make(struct made *m, const struct filter *f, uint32_t rows, uint32_t columns)
{
    size_t elements = filter_source_elements(f, rows, columns);
    m->f = *f;
    m->rows = rows;
    m->columns = columns;
    m->source_bytes = elements * f->bytes;
    m->result_bytes = (size_t)rows * columns * filter_result_bytes(f);
    m->source = must(malloc(m->source_bytes));
    m->wanted = must(malloc(m->result_bytes + GUARD));
    m->got = must(malloc(m->result_bytes + GUARD));
    filter_terms(f, m->term);
    filter_fill(m->source, f->bytes, elements, rows + columns);
    memset(m->wanted, 0xff, m->result_bytes + GUARD);
    filter_apply(f, m->term, m->source, columns + f->b - 1, rows, columns, m->wanted);
}

/* One way; the result's memory holds nothing of an earlier one. */
static int same(const struct made *m, struct filter_gpu *gpu, const struct filter_tile *tile, struct lm_error *err)
{
    double seconds;
    int code = filter_gpu_source(gpu, m->source, m->source_bytes, err);
    if (code == LM_OK)
        code = filter_gpu_wipe(gpu, err);
    if (code == LM_OK)
        code = filter_gpu_run(gpu, &m->f, m->term, m->rows, m->columns, tile, 1, &seconds, err);
    if (code == LM_OK)
        code = filter_gpu_result(gpu, m->got, m->result_bytes + GUARD, err);
    return code == LM_OK && memcmp(m->got, m->wanted, m->result_bytes + GUARD) == 0;
}

/* From global memory, from the criterion's tiles for a small memory, for what needs no leave, and for all that a block
 * can have, and from one of odd sides. */
static void test_filter(struct test *test, const struct filter *f, uint32_t rows, uint32_t columns)
{
    const uint64_t memory[] = {4000, 48 * 1024, (uint64_t)test->block_shared};
    struct made m;
    struct lm_error err = {0};
    struct filter_gpu *gpu = NULL;
    struct filter_tile tile = {f->a + 2, f->b + 36};
    char why[100] = "";
    int tiles = 0;
    make(&m, f, rows, columns);
    int ok = filter_gpu_open(m.source_bytes, m.result_bytes + GUARD, &gpu, &err) == LM_OK;
    if (ok && !same(&m, gpu, NULL, &err)) {
        ok = 0;
        snprintf(why, sizeof why, "from global memory");
    }
    for (int k = -1; k < 3 && ok; k++) {
        if (k >= 0)
            tile = filter_tile_of(f, rows, columns, memory[k]);
        if (tile.a == 0)
            continue;
        tiles++;
        if (!same(&m, gpu, &tile, &err)) {
            ok = 0;
            snprintf(why, sizeof why, "from a tile of %u x %u", tile.a, tile.b);
        }
    }
    ok = ok && tiles > 1;
    filter_gpu_close(gpu);
    test->results++;
    test->failures += !ok;
    printf("%sok %d - filter: %u terms of %u x %u of %u bytes, %u x %u elements, %d tiles%s%s %s\n", ok ? "" : "not ",
           test->results, f->references, f->a, f->b, f->bytes, rows, columns, tiles, ok ? "" : ": ", why, err.text);
    fflush(stdout);
    free(m.source);
    free(m.wanted);
    free(m.got);
}

int main(int argc, char **argv)
{
    static const struct {
        uint32_t a, b, references, rows, columns;
    } all[] = {{3, 3, 9, 61, 131},      {1, 9, 7, 19, 203},   {11, 13, 143, 67, 97},  {9, 1, 4, 101, 33},
               {1, 1, 1, 1001, 1003},   {5, 4, 2, 1, 1},      {33, 2, 66, 515, 1029}, {31, 31, 961, 127, 259},
               {60, 50, 100, 203, 333}, {3, 3, 9, 2049, 4099}};
    struct test test = {0};
    struct lm_gpu_device device;
    struct lm_error err;
    const int small = argc == 2 && strcmp(argv[1], "--small") == 0;
    if (argc > 1 && !small) {
        fprintf(stderr, "usage: filter_bits [--small]\n");
        return 2;
    }
    if (lm_gpu_select(0, &device, &err) != LM_OK) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    printf("# %s, compute capability %d.%d, %d bytes of shared memory a block\n", device.name, device.major,
           device.minor, device.block_shared);
    test.block_shared = device.block_shared;
    for (size_t k = 0; k < (small ? 3 : sizeof all / sizeof *all); k++)
        for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
            const struct filter f = {all[k].a, all[k].b, all[k].references, bytes};
            test_filter(&test, &f, all[k].rows, all[k].columns);
        }
    printf("1..%d\n", test.results);
    return test.failures != 0;
}
