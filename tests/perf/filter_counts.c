/* filter_counts.c: the filter's counts (filter_counts.h), read off tests/gpu/filter_kernels.cuh. K references an
 * element, z bytes each, tile A x B for windows a x b.
 *
 * Instructions are those that the compiler makes for sm_90, a warp's: a turn of four terms is four times load, constant
 * and multiply-add, and five round them (six for doubles); from global memory two more a term make an address of 64
 * bits, where a tile's address is part of the load; z < 4 converts each element, z = 8 has constants of two words.
 * Terms left over (K mod 4) go one by one. Not counted: that a multiply-add of doubles, or a conversion, may take more
 * than one cycle.
 */
#include "filter_counts.h"

#include <math.h>

#define LANES 32.0
#define WARPS 8.0
#define LINE  128.0 /* bytes of a line of the L1 cache, and of a wavefront of shared memory */

/* Instructions of a warp round the sums. */
#define AROUND_ELEMENT 40.0 /* global: indices, edges, store; all of a thread's life */
#define AROUND_BLOCK   45.0 /* tile: where the block stands */
#define AROUND_LOADS   18.0 /* a row of the tile, or four rows of a narrow one */
#define LOADS          43.0 /* four loads of a lane into the tile: tests, addresses, loads, stores */
#define LOADS_NARROW   62.0 /* in a column of it */
#define LOADS_LESS     9.0  /* of bytes: addresses need no factor */
#define AROUND_ROW     12.0 /* tile: eight rows of the result */
#define AROUND_SUM     25.0 /* tile: an element: indices, edges, store */
#define TERM_GLOBAL    10.0 /* a term of those left over */
#define TERM_TILE      6.0

struct lm_window filter_window(const struct filter *f)
{
    return (struct lm_window){.a = f->a, .b = f->b, .bytes = f->bytes, .references = f->references};
}

/* ---- the tile ---- */

static uint32_t least(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

/* Columns that a tile serves: the criterion's, to the nearest multiple of 32, as long as eight rows are left. Where not
 * even 32 x 8 fit, the criterion's own. */
static uint32_t columns_served(const struct filter *f, uint32_t own, uint64_t room)
{
    const uint32_t lanes = (uint32_t)LANES;
    uint64_t widest = room / (f->a + (uint32_t)WARPS - 1); /* of the source */
    if (widest < f->b - 1 + lanes)
        return own;
    uint32_t near = (own + lanes / 2) / lanes, most = (uint32_t)((widest - f->b + 1) / lanes);
    return lanes * (near < 1 ? 1 : least(near, most));
}

struct filter_tile filter_tile_of(const struct filter *f, uint32_t rows, uint32_t columns, uint64_t shared_bytes)
{
    struct lm_caching best = lm_caching_best(filter_window(f), shared_bytes);
    uint64_t room = shared_bytes / f->bytes;
    if (room < (uint64_t)f->a * f->b)
        return (struct filter_tile){0, 0};
    /* no two windows share anything: any tile is as good as another */
    uint32_t own = best.tile_b ? best.tile_b - f->b + 1 : (uint32_t)sqrt((double)room);
    uint32_t wide = least(columns_served(f, own, room), columns);
    uint64_t lines = room / (wide + f->b - 1);
    uint32_t high = lines - f->a + 1 < rows ? (uint32_t)(lines - f->a + 1) : rows;
    if (high >= (uint32_t)WARPS)
        high -= high % (uint32_t)WARPS;
    return (struct filter_tile){high + f->a - 1, wide + f->b - 1};
}

static double rows_of(const struct filter *f, struct filter_tile tile)
{
    return tile.a - f->a + 1.0;
}

static double columns_of(const struct filter *f, struct filter_tile tile)
{
    return tile.b - f->b + 1.0;
}

double filter_tile_loads(const struct filter *f, struct filter_tile tile)
{
    return (double)tile.a * tile.b / (rows_of(f, tile) * columns_of(f, tile));
}

/* ---- terms ---- */

double filter_operations(const struct filter *f, double elements)
{
    return 2.0 * f->references * elements;
}

/* A warp's sums of K terms. For bytes in a tile the compiler adds up addresses after all. */
static double instructions_of(const struct filter *f, int tiled)
{
    double turns = floor(f->references / 4.0), rest = f->references - 4.0 * turns;
    double more = f->bytes == 4 ? 0.0 : 1.0, around = f->bytes == 8 ? 6.0 : 5.0;
    double address = !tiled ? 2.0 : f->bytes == 1 ? 1.0 : 0.0;
    return turns * (4.0 * (3.0 + more + address) + around) + rest * (more + (tiled ? TERM_TILE : TERM_GLOBAL));
}

/* Lines that a warp's 32 neighbours of z bytes lie in, from any multiple of z on: the mean. Each is a wavefront. */
static double lines_of(double z)
{
    return 1.0 + (LANES * z - z) / LINE;
}

/* Wavefronts of a warp's 32 neighbours in shared memory, which has no lines. */
static double wavefronts_of(double z)
{
    return fmax(1.0, LANES * z / LINE);
}

/* Multiply-adds, conversions of z < 4, and five round them: what the abstract multiprocessor counts an element. */
static double operations_of(const struct filter *f)
{
    return f->references * (f->bytes < 4 ? 2.0 : 1.0) + 5.0;
}

/* A thread's loads one after the other, of four terms each. */
static double turns_of(const struct filter *f)
{
    return ceil(f->references / 4.0);
}

static double source_bytes(const struct filter *f, double rows, double columns)
{
    return f->bytes * (rows + f->a - 1.0) * (columns + f->b - 1.0);
}

/* ---- from global memory ---- */

/* Elements of the source that a block of 8 x 32 asks for: no more than all windows together span, and no more than it
 * has references. */
static double footprint(const struct filter *f)
{
    return fmin((WARPS + f->a - 1.0) * (LANES + f->b - 1.0), WARPS * LANES * f->references);
}

/* A thread an element: K loads and a store; a term is a constant. What the block has asked for is in L1, the rest comes
 * from L2. A turn of four terms waits for the source once for each row that is new to the block: at most once a row of
 * the window; the first time for memory, then for L2, about half as long, as the neighbours above have been there. */
struct lm_kernel filter_kernel_global(const struct filter *f, uint32_t rows, uint32_t columns)
{
    const double K = f->references, z = f->bytes, out = filter_result_bytes(f), N = (double)rows * columns;
    double threads = WARPS * LANES, waits = fmin(turns_of(f), f->a);
    struct lm_kernel k = {.name = "filter", .launches = 1.0, .threads = threads};
    k.blocks = ceil(rows / WARPS) * ceil(columns / LANES);
    k.operations = threads * operations_of(f);
    k.global = threads * (K + 1.0);
    k.constant = threads * K;
    k.instructions = WARPS * (AROUND_ELEMENT + instructions_of(f, 0));
    k.wavefronts = WARPS * (K * lines_of(z) + lines_of(out));
    k.useful = N * K / k.blocks;
    k.memory_bytes = source_bytes(f, rows, columns) + N * out;
    k.cache_bytes = k.blocks * footprint(f) * z + N * out;
    k.chain_operations = K;
    k.chain_shared = turns_of(f) - waits;
    k.chain_global = 1.0 + 0.5 * (waits - 1.0);
    k.registers = 24.0;
    return k;
}

/* ---- from a tile ---- */

/* How a block fills its tile: eight warps, a row each, a lane's loads in batches of four, side by side; where a row has
 * no four for a lane, a row each of four times eight, below each other. */
struct filling {
    double rows, batches; /* turns of a warp; batches in all of them, one after the other */
    double instructions;  /* of a warp */
};

static struct filling filling_of(const struct filter *f, struct filter_tile tile)
{
    const int narrow = tile.b <= 3.0 * LANES;
    struct filling l = {.rows = ceil(tile.a / (narrow ? 4.0 * WARPS : WARPS))};
    l.batches = l.rows * ceil(tile.b / (narrow ? LANES : 4.0 * LANES));
    l.instructions =
        l.rows * AROUND_LOADS + l.batches * ((narrow ? LOADS_NARROW : LOADS) - (f->bytes == 1 ? LOADS_LESS : 0.0));
    return l;
}

/* A block fills its tile, waits for all of it, and sums: eight rows at a time, 32 columns at a time, lanes beyond the
 * tile for nothing. Counts are those of a whole tile. */
struct lm_kernel filter_kernel_tile(const struct filter *f, struct filter_tile tile, uint32_t rows, uint32_t columns)
{
    const double K = f->references, z = f->bytes, out = filter_result_bytes(f), N = (double)rows * columns;
    const double A = tile.a, B = tile.b, high = rows_of(f, tile), wide = columns_of(f, tile), n = high * wide;
    const double row_turns = ceil(high / WARPS), turns = row_turns * ceil(wide / LANES); /* of a warp */
    const struct filling fill = filling_of(f, tile);
    struct lm_kernel k = {.name = "filter tile", .launches = 1.0, .threads = WARPS * LANES};
    k.blocks = ceil(rows / high) * ceil(columns / wide);
    k.operations = n * operations_of(f) + A * B;
    k.global = A * B + n;
    k.constant = n * K;
    k.shared = A * B + n * K;
    k.instructions = WARPS * (AROUND_BLOCK + fill.instructions + row_turns * AROUND_ROW +
                              turns * (AROUND_SUM + instructions_of(f, 1)));
    k.wavefronts =
        A * ceil(B / LANES) * (lines_of(z) + wavefronts_of(z)) + WARPS * turns * (K * wavefronts_of(z) + lines_of(out));
    k.useful = N * K / k.blocks;
    k.memory_bytes = source_bytes(f, rows, columns) + N * out;
    k.cache_bytes = k.blocks * A * B * z + N * out;
    k.chain_operations = turns * K;
    k.chain_shared = turns * turns_of(f) + 1.0;
    k.chain_global = fill.batches;
    k.barriers = 1.0;
    k.registers = 32.0;
    k.shared_bytes = A * B * z;
    return k;
}
