/* stored.h: a results file and the data it speaks of, opened again: for verify, infer and export. */
#ifndef LM_STORED_H
#define LM_STORED_H

#include "options.h"
#include "problem.h"
#include "results.h"

struct lm_stored {
    struct lm_results_reader *reader;
    struct lm_results results;
};

int lm_stored_open(const char *path, struct lm_stored *out, struct lm_error *err);
void lm_stored_close(struct lm_stored *stored);

/* The row of a trial's weights; LM_BAD_INPUT if the file keeps none of it. parameters is owned by the caller. */
int lm_stored_network(struct lm_stored *stored, uint64_t trial, struct lm_shape *shape, float **parameters,
                      struct lm_error *err);
/* The trial that --trial names, else the inference's, else the first whose weights are kept. */
int lm_stored_choose(struct lm_stored *stored, const struct lm_options *options, uint64_t *trial, struct lm_error *err);

/* The data that the file names (or --data), refused with LM_BAD_INPUT if its digest is another. */
int lm_stored_data(const struct lm_stored *stored, const struct lm_options *options, struct lm_dataset *data,
                   struct lm_error *err);
/* The samples of the file's test_index, normalised as the file says. */
int lm_stored_test(const struct lm_stored *stored, const struct lm_dataset *data, struct lm_samples *test,
                   struct lm_error *err);

#endif
