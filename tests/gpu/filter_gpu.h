/* filter_gpu.h: the window filter (tests/perf/filter.h) on the GPU in use, as C calls it: memory, terms, launches,
 * times.
 *
 * Returns LM_OK, or LM_FAILED with what CUDA says.
 */
#ifndef FILTER_GPU_H
#define FILTER_GPU_H

#include "filter.h"
#include "filter_counts.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "status.h"

struct filter_gpu;

/* Memory for sources and results of at most so many bytes. */
int filter_gpu_open(size_t source_bytes, size_t result_bytes, struct filter_gpu **out, struct lm_error *err);
void filter_gpu_close(struct filter_gpu *gpu); /* NULL: nothing happens */

int filter_gpu_source(struct filter_gpu *gpu, const void *source, size_t bytes, struct lm_error *err);
/* Every byte of the result's memory becomes 0xff: nothing of an earlier run is left to be taken for this one's. */
int filter_gpu_wipe(struct filter_gpu *gpu, struct lm_error *err);
/* The first bytes of the result's memory. */
int filter_gpu_result(struct filter_gpu *gpu, void *result, size_t bytes, struct lm_error *err);

/* Makes the result (rows, columns) of a valid filter: with this tile, which fits the filter, or, NULL, without one. The
 * source's pitch is columns + b - 1. *seconds: of one of `launches` launches in a row, between two events.
 * LM_BAD_INPUT: a source of 4 GiB and more, or more rows than a grid has. */
int filter_gpu_run(struct filter_gpu *gpu, const struct filter *f, const struct filter_term *term, uint32_t rows,
                   uint32_t columns, const struct filter_tile *tile, int launches, double *seconds,
                   struct lm_error *err);

#ifdef __cplusplus
}
#endif

#endif
