/* results_reader.h: what the two halves of the reader (results_read.c, results_load.c) share; nobody else's. */
#ifndef LM_RESULTS_READER_H
#define LM_RESULTS_READER_H

#include <hdf5.h>

#include "h5read.h"
#include "results.h"
#include "results_layout.h"

/* A group of /weights. */
struct lm_stored_group {
    struct lm_shape shape;
    uint64_t rows;
    hid_t part[LM_PARTS];
    uint64_t *trial; /* owned, (rows), ascending, each below the number of trials */
};

/* The data sets of /inference and the samples of /execution, opened when the first of them is asked for. */
enum { LM_STORED_SCORES, LM_STORED_EXPECTED, LM_STORED_PREDICTED, LM_STORED_RANK, LM_STORED_SETS };
struct lm_stored_scores {
    int opened;
    uint64_t n; /* samples; 0: the file has no scores */
    int unlabelled;
    hid_t set[LM_STORED_SETS]; /* -1: not there */
};

struct lm_results_reader {
    struct lm_h5_source source;
    char *path; /* owned */
    uint32_t format_version, arithmetic_version;
    uint64_t n_trials, max_epochs;
    hid_t loss;
    size_t n_groups;
    struct lm_stored_group *group; /* owned */
    struct lm_stored_scores scores;
};

/* All columns of a table, into an array of its structs: (n). */
int lm_results_get_table(struct lm_h5_source *source, hid_t group, const struct lm_table *table, void *rows, uint64_t n,
                         struct lm_error *err);
/* Are all columns there, in n rows? Before n rows of structs are allocated. */
int lm_results_check_table(struct lm_h5_source *source, const char *group_name, const struct lm_table *table,
                           uint64_t n, struct lm_error *err);
/* The length of a scale, which the columns must share. */
int lm_results_get_length(struct lm_h5_source *source, hid_t group, const char *scale, uint64_t *n,
                          struct lm_error *err);
/* What a sweep adds, where it is there (results_sweep.c). After the trials. */
int lm_results_load_sweep(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err);

/* /model, where it is there (results_model.c). */
int lm_results_load_model(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err);

/* Opens them, if they are not: shapes and types are then known to be right. */
int lm_results_open_scores(struct lm_results_reader *reader, struct lm_error *err);
void lm_results_close_stored_scores(struct lm_results_reader *reader);

#endif
