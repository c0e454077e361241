/* results_layout.h: the names and types of everything in a results file: the one place to add a column.
 *
 * A new column is a new line in a table of results_layout.c; the writer and the reader follow. Old files lack it, so it
 * also raises LM_FORMAT_VERSION; but not where readers do without it, old and new: they open by name what they know.
 */
#ifndef LM_RESULTS_LAYOUT_H
#define LM_RESULTS_LAYOUT_H

#include "h5column.h"
#include "results.h"

/* Columns of one array of structs. */
struct lm_table {
    const struct lm_column *column;
    size_t n;
    size_t stride; /* sizeof the struct */
};
extern const struct lm_table lm_layout_trial;     /* of struct lm_trial, in /trials */
extern const struct lm_table lm_layout_outcome;   /* of struct lm_outcome, in /trials */
extern const struct lm_table lm_layout_execution; /* of struct lm_trial_execution, in /execution */
extern const struct lm_table lm_layout_check;     /* of struct lm_check, in /validation */
extern const struct lm_table lm_layout_rank;      /* of struct lm_rank, in /execution */

extern const struct lm_table lm_layout_model; /* of struct lm_model_row, in /model, which is optional */

/* The groups of a sweep, which are optional. */
extern const struct lm_table lm_layout_parameters;    /* of struct lm_trial, in /configurations: all but the seed */
extern const struct lm_table lm_layout_configuration; /* of struct lm_configuration, in /configurations */
extern const struct lm_table lm_layout_leader;        /* of struct lm_leader, in /sweep */
/* Where a search has rungs: in /trials, of uint32_t, and in /configurations, of struct lm_configuration. */
extern const struct lm_column lm_layout_trial_rung, lm_layout_configuration_rung;
/* Single texts in /sweep: members of struct lm_results itself. */
extern const struct lm_column lm_layout_search, lm_layout_objective, lm_layout_specification;

/* /dataset: members of struct lm_results itself, of a length that is known. */
struct lm_field {
    struct lm_column column;
    uint64_t n;
};
#define LM_DATASET_FIELDS 6
extern const struct lm_field lm_layout_dataset[LM_DATASET_FIELDS];

/* /dataset: a text that files of 0.1.0's first days lack; they were all split at random. */
extern const struct lm_column lm_layout_split_kind;

/* /dataset: the three lists of samples. */
#define LM_SPLIT_PARTS 3
struct lm_split_part {
    const char *axis, *axis_long_name;
    struct lm_column column;
    size_t n_offset;     /* in struct lm_results: where its size_t count is */
    size_t index_offset; /* where its uint32_t pointer is */
};
extern const struct lm_split_part lm_layout_split[LM_SPLIT_PARTS];

/* /inference and /execution: arrays of numbers, one value a sample. */
extern const struct lm_column lm_layout_expected, lm_layout_predicted, lm_layout_sample_rank;
extern const struct lm_column lm_layout_inference_trial;

/* A group's data sets that hold the weights, in the order of the parameter array. */
#define LM_PARTS 6
struct lm_part_layout {
    const char *name, *long_name;
    int rank;
    uint64_t dims[3]; /* a network's part; dims[0] is the number of networks */
    const char *axis[3];
    size_t offset, floats; /* in the parameter array */
};
void lm_layout_part(struct lm_shape shape, uint64_t rows, int part, struct lm_part_layout *out);

/* "A", "B", ...: the text of class c, into text[2]. */
void lm_layout_class(int c, char text[2]);

#endif
