/* prepare.h: what is done before any work: agree on the options, say who is where, reserve the file. */
#ifndef LM_PREPARE_H
#define LM_PREPARE_H

#include "backend.h"
#include "command.h"
#include "output.h"
#include "results.h"

/* All ranks were started with the same options (LM_BAD_INPUT otherwise, naming the rank and the option), and srun has
 * not started several worlds of one rank. */
int lm_prepare_agree(const struct lm_call *call);

/* "cpu" of "cpu-ref". */
void lm_device_of(const struct lm_backend *backend, char *device, size_t size);

/* Gathers host and device of every rank into results->ranks on rank 0. */
int lm_prepare_ranks(const struct lm_world *world, const struct lm_backend *backend, struct lm_results *results);
/* Gathers every rank's seconds into results->ranks on rank 0. */
void lm_gather_seconds(const struct lm_world *world, const double seconds[LM_PHASES], struct lm_results *results);

/* Rank 0 reserves the results file; the status is the same on all. */
int lm_prepare_output(const struct lm_call *call, struct lm_output *output);

/* Room for the answers of n scored samples. */
int lm_allocate_inference(struct lm_results *results, size_t n, struct lm_error *err);
/* Fills expected, predicted, confusion and sample_rank from the gathered scores. */
void lm_fill_inference(struct lm_results *results, const uint8_t *label, int ranks);
/* Copies the split's indices. */
int lm_copy_split(struct lm_results *results, const struct lm_split *split, struct lm_error *err);
/* Path, digest and counts of the data. */
int lm_copy_dataset(struct lm_results *results, const struct lm_dataset *data, struct lm_error *err);

#endif
