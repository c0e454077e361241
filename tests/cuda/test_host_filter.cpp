/* test_host_filter.cpp: the window filter's kernels on the host, against the plain loop, bit for bit: sizes that are no
 * multiples of anything, tiles of the criterion and others, threads in three orders. */
#include "host_cuda.h"

#include "filter_counts.h"
#include "filter_kernels.cuh"

static int results, failures;
static std::string complaint;

static void report(bool ok, const std::string &name)
{
    results++;
    failures += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", results, name.c_str());
}

static bool launched(const char *problem)
{
    if (problem && complaint.empty())
        complaint = std::string(": ") + problem;
    return !problem;
}

typedef void (*filter_kernel)(struct filter_launch);

static filter_kernel kernel_of(uint32_t bytes, bool tiled)
{
    switch (bytes) {
    case 1:
        return tiled ? filter_tile_kernel<float, uint8_t> : filter_global_kernel<float, uint8_t>;
    case 2:
        return tiled ? filter_tile_kernel<float, uint16_t> : filter_global_kernel<float, uint16_t>;
    case 4:
        return tiled ? filter_tile_kernel<float, float> : filter_global_kernel<float, float>;
    default:
        return tiled ? filter_tile_kernel<double, double> : filter_global_kernel<double, double>;
    }
}

/* A filter, its source (exactly as large as it must be) and the reference's result. */
struct made {
    struct filter f;
    uint32_t rows, columns;
    struct filter_term term[FILTER_TERMS_MOST];
    std::vector<unsigned char> source, wanted;
    made(const struct filter &filter, uint32_t rows, uint32_t columns)
        : f(filter), rows(rows), columns(columns), term(), source(filter_source_elements(&f, rows, columns) * f.bytes),
          wanted((size_t)rows * columns * filter_result_bytes(&f))
    {
        filter_terms(&f, term);
        filter_fill(source.data(), f.bytes, source.size() / f.bytes, 7);
        filter_apply(&f, term, source.data(), columns + f.b - 1, rows, columns, wanted.data());
    }
};

/* tile {0, 0}: from global memory. */
static bool same(const made &m, struct filter_tile tile, host_order order)
{
    const bool tiled = tile.a != 0;
    const uint32_t pitch = m.columns + m.f.b - 1;
    const uint32_t high = tiled ? tile.a - m.f.a + 1 : FILTER_WARPS, wide = tiled ? tile.b - m.f.b + 1 : FILTER_LANES;
    std::vector<unsigned char> got(m.wanted.size(), 0xa5);
    struct filter_launch f = {m.source.data(), got.data(), m.rows,         m.columns, pitch,
                              m.f.a,           m.f.b,      m.f.references, tile.a,    tile.b};
    filter_place_terms(&m.f, m.term, tiled ? tile.b : pitch, filter_float_terms, filter_double_terms);
    const dim3 grid(filter_blocks(m.columns, wide), filter_blocks(m.rows, high));
    const size_t shared = (size_t)tile.a * tile.b * m.f.bytes;
    return launched(host_launch(kernel_of(m.f.bytes, tiled), grid, FILTER_THREADS, shared, order, f)) &&
           memcmp(got.data(), m.wanted.data(), got.size()) == 0;
}

static void test_filter(uint32_t a, uint32_t b, uint32_t references, uint32_t rows, uint32_t columns)
{
    static const uint32_t memory[] = {1024, 5000, 49152};
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        const struct filter f = {a, b, references, bytes};
        const made m(f, rows, columns);
        bool good = filter_is_valid(&f);
        int tiles = 0;
        complaint.clear();
        for (int order = 0; order < HOST_ORDERS; order++) {
            good = good && same(m, {0, 0}, (host_order)order);
            for (uint32_t room : memory) {
                struct filter_tile tile = filter_tile_of(&f, rows, columns, room);
                if (tile.a == 0)
                    continue;
                good = good && same(m, tile, (host_order)order);
                tiles++;
            }
            /* what no criterion would choose: odd sides; one element a block */
            good = good && same(m, {a + 2, b + 36}, (host_order)order);
            if (rows * columns < 50)
                good = good && same(m, {a, b}, (host_order)order);
        }
        char name[120];
        snprintf(name, sizeof name, "%u terms of %u x %u of %u bytes, %u x %u elements, %d tiles", references, a, b,
                 bytes, rows, columns, tiles);
        report(good && tiles > 0, name + complaint);
    }
}

/* A kernel that leaves something out is found out: other weights are other bits. */
static void test_difference()
{
    const struct filter f = {3, 3, 9, 4};
    made m(f, 5, 37);
    m.term[8].weight += 0.0001;
    report(!same(m, {0, 0}, HOST_FORWARD) && !same(m, {7, 34}, HOST_FORWARD), "another weight is seen");
    m.term[8].weight -= 0.0001;
    std::swap(m.term[0], m.term[8]);
    report(!same(m, {0, 0}, HOST_FORWARD) && !same(m, {7, 34}, HOST_FORWARD), "another order of the terms is seen");
}

int main()
{
    test_filter(1, 1, 1, 3, 41);
    test_filter(3, 3, 9, 13, 203);
    test_filter(5, 2, 7, 9, 33);
    test_filter(1, 9, 4, 11, 70);
    test_filter(9, 1, 9, 17, 31);
    test_filter(6, 7, 2, 5, 5);
    test_filter(11, 13, 143, 19, 37);
    test_difference();
    printf("1..%d\n", results);
    for (char *stack : host.stack)
        free(stack);
    return failures != 0;
}
