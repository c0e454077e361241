/* sweep_parameter.h: one of the seven parameters, from its value in a sweep file (internal to sweep_yaml.c). */
#ifndef LM_SWEEP_PARAMETER_H
#define LM_SWEEP_PARAMETER_H

#include "sweep_spec.h"
#include "yaml_tree.h"

/* node: one value; a list of values; or a mapping:
 *     learning_rate, decay, initial_range   {from, to, scale: lin|log, count}; without count continuous
 *     epochs, seed, block                   {from, to, step}; step is the command line's: 1, and 32 for block
 *     hidden                                none; a value is [32, 16] within a list, or the text 32x16
 * *out is empty before, and to be freed even after a failure. */
int lm_sweep_parameter(const struct lm_yaml_tree *tree, int k, const struct lm_yaml_node *node,
                       struct lm_parameter *out);

/* The value of a parameter that a file does not name: run's default, and for block, of which run tries several, 128. */
int lm_sweep_standard(int k, struct lm_parameter *out, struct lm_error *err);

#endif
