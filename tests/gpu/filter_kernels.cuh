/* filter_kernels.cuh: the window filter (tests/perf/filter.h) on a GPU, from global memory and from a tile.
 *
 * A lane is a column of the result, so that a warp's loads of one term are neighbours; a thread sums an element alone,
 * terms in their order, so both kernels have the reference's bits. Terms come from constant memory: all lanes read the
 * same one. Without a tile, the caches are what makes a window cheap.
 *
 * Left out, since the two are to differ in the tile alone: several elements a thread, loads of several elements, terms
 * that the compiler knows.
 */
#ifndef FILTER_KERNELS_CUH
#define FILTER_KERNELS_CUH

#include "arithmetic.cuh"
#include "filter_launch.h"

#ifdef __CUDACC__
#define FILTER_CONSTANT __constant__
#else
#define FILTER_CONSTANT static
#endif

FILTER_CONSTANT struct filter_float_term filter_float_terms[FILTER_TERMS_MOST];
FILTER_CONSTANT struct filter_double_term filter_double_terms[FILTER_TERMS_MOST];

__device__ __forceinline__ struct filter_float_term filter_term_at(uint32_t k, float)
{
    return filter_float_terms[k];
}

__device__ __forceinline__ struct filter_double_term filter_term_at(uint32_t k, double)
{
    return filter_double_terms[k];
}

__device__ __forceinline__ float filter_multiply_add(float weight, float x, float sum)
{
    return __fmaf_rn(weight, x, sum);
}

__device__ __forceinline__ double filter_multiply_add(double weight, double x, double sum)
{
    return __fma_rn(weight, x, sum);
}

/* The sum of the window whose first element is *at. */
template <class Sum, class Element>
__device__ __forceinline__ Sum filter_sum(const Element *__restrict__ at, uint32_t references)
{
    const char *bytes = reinterpret_cast<const char *>(at);
    Sum sum = 0;
    LM_UNROLL_BY(4)
    for (uint32_t k = 0; k < references; k++) {
        const auto term = filter_term_at(k, Sum());
        const Element x = *reinterpret_cast<const Element *>(bytes + term.offset);
        sum = filter_multiply_add(term.weight, (Sum)x, sum);
    }
    return sum;
}

/* Grid: x over columns, y over rows; a thread an element. */
template <class Sum, class Element>
__global__ void __launch_bounds__(FILTER_THREADS) filter_global_kernel(struct filter_launch f)
{
    const uint32_t i = blockIdx.y * FILTER_WARPS + threadIdx.x / FILTER_LANES;
    const uint32_t j = blockIdx.x * FILTER_LANES + threadIdx.x % FILTER_LANES;
    if (i >= f.rows || j >= f.columns)
        return; /* no barrier follows */
    const Element *source = static_cast<const Element *>(f.source);
    static_cast<Sum *>(f.result)[(size_t)i * f.columns + j] =
        filter_sum<Sum>(source + (size_t)i * f.pitch + j, f.references);
}

/* Rows of the source into the tile, a warp a row. A lane's next four loads all come before their stores: with few warps
 * on a multiprocessor, what waits together is what hides the wait. The four are neighbours in the row or, where that is
 * too short for them, in the column. */
template <bool narrow, class Element>
__device__ __forceinline__ void filter_load_tile(Element *tile, const Element *__restrict__ source,
                                                 const struct filter_launch &f, uint32_t rows, uint32_t columns)
{
    constexpr uint32_t down = narrow ? FILTER_WARPS : 0, right = narrow ? 0 : FILTER_LANES;
    constexpr uint32_t rows_a_turn = narrow ? FILTER_BATCH * FILTER_WARPS : FILTER_WARPS;
    constexpr uint32_t columns_a_turn = narrow ? FILTER_LANES : FILTER_BATCH * FILTER_LANES;
    for (uint32_t r = threadIdx.x / FILTER_LANES; r < rows; r += rows_a_turn)
        for (uint32_t c = threadIdx.x % FILTER_LANES; c < columns; c += columns_a_turn) {
            Element x[FILTER_BATCH];
            LM_UNROLL
            for (uint32_t u = 0; u < FILTER_BATCH; u++)
                if (r + u * down < rows && c + u * right < columns)
                    x[u] = source[(r + u * down) * f.pitch + c + u * right];
            LM_UNROLL
            for (uint32_t u = 0; u < FILTER_BATCH; u++)
                if (r + u * down < rows && c + u * right < columns)
                    tile[(r + u * down) * f.tile_b + c + u * right] = x[u];
        }
}

/* Grid: x over columns of tiles, y over rows of tiles. A tile serves (tile_a - a + 1) x (tile_b - b + 1) elements;
 * those at the right and lower edge of the result serve fewer, and are not filled beyond the source. All threads go
 * through every turn, those beyond the tile with its last row or column and no store: so the terms stay the whole
 * warp's, and the compiler keeps them in its uniform registers. */
template <class Sum, class Element>
__global__ void __launch_bounds__(FILTER_THREADS) filter_tile_kernel(struct filter_launch f)
{
    LM_ARENA(arena);
    Element *tile = reinterpret_cast<Element *>(arena);
    const uint32_t high = f.tile_a - f.a + 1, wide = f.tile_b - f.b + 1;
    const uint32_t top = blockIdx.y * high, left = blockIdx.x * wide;
    const uint32_t rows = f.rows - top < high ? f.rows - top : high;
    const uint32_t columns = f.columns - left < wide ? f.columns - left : wide;
    const Element *source = static_cast<const Element *>(f.source) + (size_t)top * f.pitch + left;
    if (FILTER_IS_NARROW(f.tile_b))
        filter_load_tile<true>(tile, source, f, rows + f.a - 1, columns + f.b - 1);
    else
        filter_load_tile<false>(tile, source, f, rows + f.a - 1, columns + f.b - 1);
    __syncthreads();
    Sum *result = static_cast<Sum *>(f.result) + (size_t)top * f.columns + left;
    for (uint32_t first_row = 0; first_row < rows; first_row += FILTER_WARPS)
        for (uint32_t first = 0; first < columns; first += FILTER_LANES) {
            const uint32_t i = first_row + threadIdx.x / FILTER_LANES, j = first + threadIdx.x % FILTER_LANES;
            const uint32_t row = i < rows ? i : rows - 1, column = j < columns ? j : columns - 1;
            const Sum sum = filter_sum<Sum>(tile + row * f.tile_b + column, f.references);
            if (i < rows && j < columns)
                result[(size_t)i * f.columns + j] = sum;
        }
}

#endif
