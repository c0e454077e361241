/* axis_values.h: the values of an axis as an array: room for them, spaced ones, repeats. What the command line (axis.c)
 * and a sweep file (sweep_parameter.c) have in common, so that both mean the same bits. */
#ifndef LM_AXIS_VALUES_H
#define LM_AXIS_VALUES_H

#include <stdint.h>

#include "axis.h"
#include "status.h"

#define LM_AXIS_MOST       (UINT64_C(1) << 24) /* values of an axis */
#define LM_AXIS_MOST_SPACE 100000              /* of a spaced one, which has 2 or more */

/* Room for n >= 1 values of that kind in an empty axis; n stays 0. More than LM_AXIS_MOST: LM_BAD_INPUT, "NAME: ...".
 */
int lm_axis_room(const char *name, enum lm_axis_kind kind, uint64_t n, struct lm_axis *axis, struct lm_error *err);

/* n values from `from` to `to`, both included and exact, in equal steps (logarithmic: by equal factors; then both are
 * above 0 as floats). 2 <= n <= LM_AXIS_MOST_SPACE; from and to are finite as floats. axis: with room for them. */
void lm_axis_space(double from, double to, int logarithmic, uint64_t n, struct lm_axis *axis);

/* Whole numbers from `from` by step up to `to`, which is not below it; step >= 1. axis: empty. */
int lm_axis_count(const char *name, uint32_t from, uint32_t to, uint32_t step, struct lm_axis *axis,
                  struct lm_error *err);

/* Of equal values the first stays. */
int lm_axis_drop_repeats(struct lm_axis *axis, struct lm_error *err);

#endif
