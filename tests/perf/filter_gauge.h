/* filter_gauge.h: the costs of a GPU that a calibrated machine does not have (struct lm_phase_costs), from how long
 * three filters take from global memory; none of them is a point of caching_accuracy's sweep.
 */
#ifndef FILTER_GAUGE_H
#define FILTER_GAUGE_H

#include "filter.h"
#include "model_phases.h"

#define FILTER_PROBES 3
/* Two terms: nearly nothing but a block's turn. Then constants many times as many as a multiprocessor can have at hand,
 * and a few times as many. */
extern const struct filter filter_probe[FILTER_PROBES];

/* The costs with which the model takes seconds[k] for filter_probe[k], result (rows, columns). No less than nothing: 0
 * where the model takes longer without them. */
struct lm_phase_costs filter_costs(const struct lm_machine *machine, uint32_t rows, uint32_t columns,
                                   const double seconds[FILTER_PROBES]);

/* Those of an NVIDIA H200, rounded, for a machine whose GPU is not here. */
struct lm_phase_costs filter_costs_known(void);

#endif
