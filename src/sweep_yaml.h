/* sweep_yaml.h: a sweep file (YAML) to what it asks for (sweep_spec.h). jobs/sweep.yaml and the files beside it explain
 * every key to users; here is what a program must know. All keys but `parameters` are optional.
 *
 *   search         grid (where nothing is said), random, latin, halving
 *   trials         how many are drawn: needed by random and latin, allowed for halving, refused for a grid
 *   search_seed    1; a grid has no use for it
 *   parameters     of the seven of struct lm_grid; one that is left out has run's default (block: 128). One value, a
 * list (of repeats the first counts), or a range. Ranges: sweep_parameter.h. The values are all numbers that the type
 * holds, finite: what cannot be trained is found trial by trial (lm_trial_fault) holdout        0.1; above 0, at most
 * 0.9 objective      validation_loss, validation_accuracy keep_weights   {top: 10}; {top: K}, all, none halving {rungs:
 * [3, 9, 27, 51], keep: 0.33}; refused for the other searches. The last rung is every trial's epochs; epochs among the
 * parameters are refused unless they are that one number
 *
 * Read by libyaml, event by event, at most 1 MiB; one document without anchors, aliases and tags. A build without
 * libyaml says so: LM_UNAVAILABLE from both functions. Every fault of the file is LM_BAD_INPUT and "FILE:LINE: what is
 * wrong; what to do"; of a file that cannot be opened "FILE: why".
 */
#ifndef LM_SWEEP_YAML_H
#define LM_SWEEP_YAML_H

#include <stddef.h>

#include "status.h"
#include "sweep_spec.h"

/* *out is for lm_sweep_spec_free; empty after an error. */
int lm_sweep_read(const char *path, struct lm_sweep_spec *out, struct lm_error *err);

/* The same of text[0..n); name stands for the file in messages. */
int lm_sweep_parse(const char *name, const char *text, size_t n, struct lm_sweep_spec *out, struct lm_error *err);

/* The version of libyaml in this program ("0.2.5"), or "none". */
const char *lm_sweep_yaml_version(void);

#endif
