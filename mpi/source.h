/* source.h: which data this run uses, and how every rank gets it. */
#ifndef LM_SOURCE_H
#define LM_SOURCE_H

#include "dataset.h"
#include "options.h"
#include "problem.h"
#include "world.h"

/* Loads on one process: --data, else $LIBRAS_DATA, else the synthetic set, with a line that says so. */
int lm_source_load(const struct lm_world *world, const struct lm_options *options, struct lm_dataset *out,
                   struct lm_error *err);

/* Loads what a results file names (its path: a folder, or "synthetic..."), unless --data says another place. */
int lm_source_reload(const struct lm_options *options, const char *path, struct lm_dataset *out, struct lm_error *err);

/* Gives rank 0's samples to all: rank 0 has made *problem, the others receive it. The status is the same on all. */
int lm_source_share(const struct lm_world *world, struct lm_problem *problem);

/* Rank 0: the data of --data (or the default), split at random by this seed without a hold-out, normalised. */
int lm_source_problem(const struct lm_world *world, const struct lm_options *options, uint32_t split_seed,
                      struct lm_problem *problem, struct lm_error *err);

#endif
