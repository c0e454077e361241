/* results_writer.h: what the two halves of the writer (results_write.c, results_finish.c) share; nobody else's. */
#ifndef LM_RESULTS_WRITER_H
#define LM_RESULTS_WRITER_H

#include <hdf5.h>

#include "results.h"
#include "results_layout.h"
#include "results_rows.h"

enum lm_group {
    LM_GROUP_PROVENANCE,
    LM_GROUP_DATASET,
    LM_GROUP_TRIALS,
    LM_GROUP_WEIGHTS,
    LM_GROUP_INFERENCE,
    LM_GROUP_VALIDATION,
    LM_GROUP_EXECUTION,
    LM_GROUPS
};

struct lm_kept_group {
    struct lm_shape shape;
    hid_t group, trial_set;
    uint64_t *trial; /* owned, (rows.total): the trial of each row that was put */
    struct lm_rows rows;
};

/* The data sets of a stream of scores, in this order: see results_scores.c. */
enum lm_score_set { LM_SET_SCORES, LM_SET_EXPECTED, LM_SET_PREDICTED, LM_SET_RANK, LM_SCORE_SETS };

struct lm_score_stream {
    int declared, unlabelled;
    uint64_t total, done;
    hid_t set[LM_SCORE_SETS];
};

struct lm_results_writer {
    hid_t file;
    char *path; /* owned */
    uint64_t n_trials, max_epochs;
    hid_t group[LM_GROUPS];
    struct lm_rows loss;
    size_t n_kept;
    struct lm_kept_group *kept; /* owned */
    struct lm_score_stream scores;
};

/* /inference but its trial and confusion, and the samples of /execution, are there, and whole. */
int lm_results_end_scores(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err);
/* Closes its data sets; returns `status`, or LM_FAILED where that is LM_OK and a close fails. */
int lm_results_close_scores(struct lm_results_writer *writer, int status, struct lm_error *err);

/* All columns of a table, from an array of its structs: (n). */
int lm_results_put_table(hid_t group, const struct lm_table *table, const void *rows, uint64_t n, struct lm_error *err);
/* /trials/rung, /sweep and /configurations, where the results have them: results_sweep.c. */
int lm_results_put_sweep(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err);

/* /model, where the results have rows of it: results_model.c. */
int lm_results_put_model(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err);

/* A scale of the 15 letters. */
int lm_results_put_classes(hid_t group, const char *name, const char *long_name, struct lm_error *err);

/* Closes everything and frees writer; returns `status`, or LM_FAILED where that is LM_OK and a close fails. */
int lm_results_close_writer(struct lm_results_writer *writer, int status, struct lm_error *err);

#endif
