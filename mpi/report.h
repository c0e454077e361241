/* report.h: what the program says on stdout. Rank 0 alone calls it. */
#ifndef LM_REPORT_H
#define LM_REPORT_H

#include <stdio.h>

#include "command.h"
#include "results.h"

/* Wall times of rank 0, in seconds, beside those of the phases. */
struct lm_times {
    double start; /* until MPI had started */
    double train; /* between the two barriers round all training */
    double file;  /* writing and flushing the results file */
    double total;
    uint64_t trainings; /* trials that ended in these seconds: a sweep that goes on has others, too */
    double updates;     /* training steps of theirs */
};

struct lm_report_input {
    const struct lm_call *call;
    const struct lm_results *results;
    const struct lm_times *times;
    const char *path;              /* of the results file; NULL: none */
    int code;                      /* the exit code to come */
    const double *loss;            /* (epochs_run of results->inference_trial); NULL if no trial has weights */
    const uint64_t *weights_trial; /* infer: whose weights, in the file they came from; else NULL */
};

/* In the format that the options ask for. LM_FAILED if stdout cannot be written. */
int lm_report_run(const struct lm_report_input *input, struct lm_error *err);

/* The parts, for other commands too. */
void lm_report_head(const struct lm_call *call, FILE *f);
void lm_report_ranks(const struct lm_results *results, FILE *f);      /* and who does what, where that is known */
void lm_report_weights(const struct lm_report_input *input, FILE *f); /* infer: the file and the trial */
void lm_report_letters(const struct lm_results *results, FILE *f);
void lm_report_confusion(const struct lm_results *results, FILE *f);
void lm_report_checks(const struct lm_results *results, FILE *f);
void lm_report_phases(const struct lm_report_input *input, FILE *f);
/* "VALID", "INVALID" or "NOT_VALIDATED": what the checks say */
const char *lm_verdict_word(const struct lm_results *results);
/* The same of a whole run: "FAILED" where there is nothing to be valid */
const char *lm_outcome_word(const struct lm_report_input *input);
/* The last line: FOM ... status=... */
void lm_report_figure_of_merit(const struct lm_report_input *input, FILE *f);

void lm_report_json(const struct lm_report_input *input, FILE *f); /* report_json.c */
void lm_report_lab(const struct lm_report_input *input, FILE *f);  /* report_lab.c */

/* --dry-run: the trials, their number, memory and file. */
int lm_report_plan(const struct lm_call *call, struct lm_error *err);

/* Flushes stdout; LM_FAILED if anything written to it was lost. */
int lm_flush_stdout(struct lm_error *err);

#endif
