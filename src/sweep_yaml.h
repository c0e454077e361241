/* sweep_yaml.h: a sweep file (YAML) to what it asks for (sweep_spec.h). jobs/ has examples that explain every key.
 *
 * Read by libyaml's parser, event by event. A build without it says so: LM_UNAVAILABLE from both functions. Every fault
 * of the file is LM_BAD_INPUT and "FILE:LINE: what is wrong; what to do".
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
