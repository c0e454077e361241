/* results_writer.h: what the two halves of the writer (results_write.c, results_finish.c) share; nobody else's. */
#ifndef LM_RESULTS_WRITER_H
#define LM_RESULTS_WRITER_H

#include <hdf5.h>

#include "results.h"
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

struct lm_results_writer {
    hid_t file;
    char *path; /* owned */
    uint64_t n_trials, max_epochs;
    hid_t group[LM_GROUPS];
    struct lm_rows loss;
    size_t n_kept;
    struct lm_kept_group *kept; /* owned */
};

/* A scale of the 15 letters. */
int lm_results_put_classes(hid_t group, const char *name, const char *long_name, struct lm_error *err);

/* Closes everything and frees writer; returns `status`, or LM_FAILED where that is LM_OK and a close fails. */
int lm_results_close_writer(struct lm_results_writer *writer, int status, struct lm_error *err);

#endif
