/* filter_counts.h: what the window filter (filter.h) asks of the machine, way by way, term by term: the CPU's loop, a
 * GPU from global memory, a GPU from a tile in shared memory. model_time.h makes seconds of the counts.
 *
 * Where each term comes from stands in filter_counts.c; none is measured.
 */
#ifndef FILTER_COUNTS_H
#define FILTER_COUNTS_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "caching.h"
#include "model_counts.h"

/* The filter as the caching criterion sees it. */
struct lm_window filter_window(const struct filter *f);

/* a x b elements of the source; 0 x 0: no tile fits. It serves (a - window's a + 1) x (b - window's b + 1) elements. */
struct filter_tile {
    uint32_t a, b;
};

/* The criterion's tile for so many bytes (lm_caching_best), whether it pays or not, fitted to blocks of 8 warps and to
 * the result: it serves a multiple of 32 columns and of 8 rows where the memory has room for 32 x 8, and no more rows
 * or columns than the result (rows, columns) has. */
struct filter_tile filter_tile_of(const struct filter *f, uint32_t rows, uint32_t columns, uint64_t shared_bytes);

/* References to global memory an element of the result, A B / n. */
double filter_tile_loads(const struct filter *f, struct filter_tile tile);

/* W_S: floating-point operations of the plain loop; a multiply-add is two. */
double filter_operations(const struct filter *f, double elements);

/* One launch that makes a result (rows, columns) from a source in the device's memory (filter_kernels.cuh): from global
 * memory in one phase; from a tile in two, which a barrier parts: filling the tile, and summing (model_phases.h). */
#define FILTER_PHASES 2
struct lm_kernel filter_kernel_global(const struct filter *f, uint32_t rows, uint32_t columns);
void filter_kernel_tile(const struct filter *f, struct filter_tile tile, uint32_t rows, uint32_t columns,
                        struct lm_kernel phase[FILTER_PHASES]);

#ifdef __cplusplus
}
#endif

#endif
