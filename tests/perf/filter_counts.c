/* filter_counts.c: the filter's counts (filter_counts.h), read off tests/gpu/filter_kernels.cuh. K references an
 * element, z bytes each, tile A x B for windows a x b.
 *
 * Instructions are those that the compiler (CUDA 13.0) makes for sm_90, a warp's: a turn of four terms is four times
 * load, constant and multiply-add, and five round them (six for doubles); from global memory two more a term make an
 * address of 64 bits, where a tile's address is part of the load; z < 4 converts each element, z = 8 has constants of
 * two words. Terms left over (K mod 4) go one by one, from a tile the last two of three together. Not counted: that a
 * multiply-add of doubles, or a conversion, may take more than one cycle.
 */
#include "filter_counts.h"

#include <math.h>

#define LANES 32.0
#define WARPS 8.0
#define LINE  128.0 /* bytes of a line of the L1 cache, and of a wavefront of shared memory */

/* Instructions of a warp round the sums. */
#define AROUND_ELEMENT 40.0 /* global: indices, edges, store; all of a thread's life */
#define AROUND_BLOCK   58.0 /* tile: where the block stands */
#define AROUND_LOADS   18.0 /* a row of the tile, or four rows of a narrow one */
#define LOADS          43.0 /* four loads of a lane into the tile: tests, addresses, loads, stores */
#define LOADS_NARROW   62.0 /* in a column of it */
#define LOADS_LESS     9.0  /* of bytes: addresses need no factor */
#define AROUND_ROW     19.0 /* tile: eight rows of the result */
#define AROUND_SUM     30.0 /* tile: an element: indices, edges, store */
#define TERM_GLOBAL    10.0 /* a term of those left over */
#define TERM_TILE      7.0  /* the first one left over; with a second one, or two */
#define TERMS_TILE     15.0

/* Of these, one after the other: what a warp alone waits for. Loads of constants are apart. */
#define CHAIN_ELEMENT    17.0 /* global: where the thread stands; address and store of the result */
#define CHAIN_TURN       4.0  /* global: terms whose loads are made together: index, address of two words, branch */
#define CHAIN_SUM        16.0 /* tile: an element */
#define CHAIN_TILE       3.0  /* tile: terms whose loads are made together: index, address or nothing, branch */
#define CHAIN_LOADS      10.0 /* four loads of a lane into the tile: test, address, store, branch */
#define CONSTANTS_AROUND 3.0  /* global: loads of the kernel's arguments; tile, an element or four loads: one */

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
    double left = tiled ? (rest > 1.0 ? TERMS_TILE : rest * TERM_TILE) : rest * TERM_GLOBAL;
    return turns * (4.0 * (3.0 + more + address) + around) + rest * more + left;
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

/* Times that a thread waits for loads one after the other: four terms together, then those left over. */
static double turns_of(const struct filter *f, int tiled)
{
    double turns = floor(f->references / 4.0), rest = f->references - 4.0 * turns;
    return turns + (tiled ? fmin(rest, 2.0) : rest);
}

/* Conversions of a turn, one behind its loads. */
static double conversion_of(const struct filter *f)
{
    return f->bytes < 4 ? 1.0 : 0.0;
}

/* Loads of a term's constants: offset and weight, in one of 8 bytes; with a double in two. */
static double constants_of(const struct filter *f)
{
    return f->bytes == 8 ? 2.0 : 1.0;
}

/* A term in constant memory: offset and weight. */
static double constant_bytes(const struct filter *f)
{
    return f->references * (f->bytes == 8 ? 16.0 : 8.0);
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
 * from L2. Loads that are made together wait for the source once for each row that is new to the block: at most once a
 * row of the window. One of these waits is for memory; the others find L2, where the blocks above have left the row.
 * Warps of a block do not stay together for long, so each loads its constants for itself. */
struct lm_kernel filter_kernel_global(const struct filter *f, uint32_t rows, uint32_t columns)
{
    const double K = f->references, z = f->bytes, out = filter_result_bytes(f), N = (double)rows * columns;
    double threads = WARPS * LANES, turns = turns_of(f, 0), waits = fmin(turns, f->a);
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
    k.chain_operations = CHAIN_ELEMENT + turns * (CHAIN_TURN + conversion_of(f)) + K;
    k.chain_shared = turns - waits;
    k.chain_global = 1.0;
    k.chain_l2 = waits - 1.0;
    k.chain_constant = CONSTANTS_AROUND + turns;
    k.constant_loads = WARPS * K * constants_of(f);
    k.constant_bytes = constant_bytes(f);
    k.registers = 24.0;
    return k;
}

/* ---- from a tile ---- */

/* What both phases of a block have in common. Counts are those of a whole tile. */
static struct lm_kernel phase_of(const struct filter *f, struct filter_tile tile, uint32_t rows, uint32_t columns,
                                 const char *name)
{
    struct lm_kernel k = {.name = name, .launches = 1.0, .threads = WARPS * LANES, .registers = 32.0};
    k.blocks = ceil(rows / rows_of(f, tile)) * ceil(columns / columns_of(f, tile));
    k.shared_bytes = (double)tile.a * tile.b * f->bytes;
    return k;
}

/* A block fills its tile and waits for all of it: eight warps, a row each, a lane's loads in batches of four, side by
 * side; where a row has no four for a lane, a row each of four times eight, below each other. The part of a tile that
 * no tile before had comes from memory, the rest from L2; so do the waits. */
static struct lm_kernel filling_of(const struct filter *f, struct filter_tile tile, uint32_t rows, uint32_t columns)
{
    const int narrow = tile.b <= 3.0 * LANES;
    const double A = tile.a, B = tile.b, z = f->bytes;
    struct lm_kernel k = phase_of(f, tile, rows, columns, "filter tile: fill");
    double turns = ceil(A / (narrow ? 4.0 * WARPS : WARPS));           /* of a warp */
    double batches = turns * ceil(B / (narrow ? LANES : 4.0 * LANES)); /* in all of them, one after the other */
    double loads = (narrow ? LOADS_NARROW : LOADS) - (f->bytes == 1 ? LOADS_LESS : 0.0);
    k.operations = k.global = k.shared = A * B;
    k.instructions = WARPS * (AROUND_BLOCK + turns * AROUND_LOADS + batches * loads);
    k.wavefronts = A * ceil(B / LANES) * (lines_of(z) + wavefronts_of(z));
    k.memory_bytes = source_bytes(f, rows, columns);
    k.cache_bytes = k.blocks * A * B * z;
    double fresh = fmin(1.0, k.memory_bytes / k.cache_bytes);
    k.chain_operations = batches * CHAIN_LOADS;
    k.chain_constant = batches;
    k.chain_global = batches * fresh;
    k.chain_l2 = batches * (1.0 - fresh);
    k.barriers = 1.0;
    return k;
}

/* Then it sums: eight rows at a time, 32 columns at a time, lanes beyond the tile for nothing. The barrier has put its
 * warps in step, and a tile gives each what it asks for as fast as the others: so they load a constant together, once a
 * block. That is the best case: an H200 needs as much up to about 90 terms; over hundreds of terms, and turns behind
 * one another, its warps part, until each loads for itself. For bytes the compiler has constants loaded by lanes, not
 * by the warp (LDC, not ULDC), and those were seen to miss nothing. */
static struct lm_kernel summing_of(const struct filter *f, struct filter_tile tile, uint32_t rows, uint32_t columns)
{
    const double K = f->references, z = f->bytes, out = filter_result_bytes(f), N = (double)rows * columns;
    const double high = rows_of(f, tile), wide = columns_of(f, tile), n = high * wide;
    const double row_turns = ceil(high / WARPS), sums = row_turns * ceil(wide / LANES); /* of a warp */
    struct lm_kernel k = phase_of(f, tile, rows, columns, "filter tile: sum");
    k.operations = n * operations_of(f);
    k.global = n;
    k.constant = k.shared = n * K;
    k.instructions = WARPS * (row_turns * AROUND_ROW + sums * (AROUND_SUM + instructions_of(f, 1)));
    k.wavefronts = WARPS * sums * (K * wavefronts_of(z) + lines_of(out));
    k.useful = N * K / k.blocks;
    k.memory_bytes = k.cache_bytes = N * out;
    k.chain_operations = sums * (CHAIN_SUM + turns_of(f, 1) * (CHAIN_TILE + conversion_of(f)) + K);
    k.chain_shared = sums * turns_of(f, 1);
    k.chain_constant = sums * (1.0 + turns_of(f, 1));
    k.constant_loads = f->bytes == 1 ? 0.0 : sums * K * constants_of(f);
    k.constant_bytes = constant_bytes(f);
    return k;
}

void filter_kernel_tile(const struct filter *f, struct filter_tile tile, uint32_t rows, uint32_t columns,
                        struct lm_kernel phase[FILTER_PHASES])
{
    phase[0] = filling_of(f, tile, rows, columns);
    phase[1] = summing_of(f, tile, rows, columns);
}
