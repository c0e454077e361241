/* results.h: a run's answer and its circumstances, in memory and as one HDF5 file (format version 1).
 *
 * results/README.md describes the file for its readers; this is the view of a C program. What is small is one struct,
 * lm_results. What grows with trials x epochs or trials x weights (losses, weights) streams: it is written while the
 * trials come in, in any order, and read in slabs, so that memory stays bounded.
 *
 * The file is made under a temporary name in its own folder and renamed when it is complete and on disk (output.h):
 * under its final name there is only ever the old file or a whole new one.
 */
#ifndef LM_RESULTS_H
#define LM_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"
#include "evaluate.h"
#include "normalise.h"
#include "split.h"
#include "statistics.h"
#include "status.h"
#include "trial.h"

#define LM_FORMAT_NAME    "libras-results"
#define LM_FORMAT_VERSION 1

/* One attribute of /provenance. */
struct lm_note {
    char *name, *value; /* owned, UTF-8; name is an identifier: [a-z][a-z0-9_]* */
};

/* A row of /validation. */
enum lm_check_result { LM_CHECK_NOT_RUN = 0, LM_CHECK_PASSED = 1, LM_CHECK_FAILED = 2 };
const char *lm_check_text(int result); /* "not run", "passed", "failed" */
struct lm_check {
    char name[64];     /* "scores", "predictions", "replica 0", ... */
    uint64_t compared; /* 32-bit words, or values, that were compared */
    uint64_t mismatches;
    double max_abs_error; /* NaN where it has no meaning */
    int result;           /* an lm_check_result */
};

/* Where and how a trial was trained: may differ between two runs with the same answer. */
struct lm_trial_execution {
    double seconds;   /* wall time of its training; NaN if it was not run */
    int32_t rank;     /* that trained it; -1 if none */
    char device[32];  /* "cpu", "gpu" */
    char variant[32]; /* the backend's name: "cpu-ref", "gpu:batch" */
};

#define LM_PHASES 5
enum lm_phase { LM_PHASE_DATA, LM_PHASE_TRAIN, LM_PHASE_INFER, LM_PHASE_GATHER, LM_PHASE_VALIDATE };
extern const char *const lm_phase_name[LM_PHASES]; /* "data", "train", "infer", "gather", "validate" */

struct lm_rank {
    char host[256];
    char device[96]; /* "cpu", or the GPU's name */
    char uuid[48];   /* of the GPU; "" on a CPU */
    char pci[16];
    uint8_t shared; /* 1 if another rank uses the same GPU */
    double seconds[LM_PHASES];
};

/* The weights that were kept, a group a shape, in ascending order of trial within a group. */
struct lm_kept {
    struct lm_shape shape;
    uint64_t rows; /* K */
};

/* A row of the leaderboard: a trial, and the scores of its row of /trials. */
struct lm_leader {
    uint64_t trial;
    double validation_loss, validation_accuracy, test_loss, test_accuracy;
};

/* A row of /model: a way to do a phase, as it was predicted, and measured if it is the one that ran. */
struct lm_model_row {
    char phase[16];                    /* "train", "infer" */
    char device[32], where[48];        /* "gpu:fast", "weights in registers"; where: "" if nothing was predicted */
    double predicted, bound, measured; /* s; NaN: not predicted, does not fit, did not run */
    uint8_t chosen;                    /* 1: it ran */
    double regret; /* of the chosen one: measured over the least predicted of another device's, minus
                    * 1, never below 0; else NaN */
    double size;   /* of the phase: training steps, samples */
    double factor; /* of the history, that predicted has in it; 1: none */
};

struct lm_results {
    char created[32]; /* UTC, ISO 8601: "2026-11-30T12:00:00Z" */
    char *title;      /* owned */
    uint32_t format_version, arithmetic_version;

    size_t n_notes;
    struct lm_note *notes; /* owned: /provenance */

    /* /dataset */
    char *data_path; /* owned */
    char data_digest[LM_SHA256_HEX];
    uint64_t count[LM_CLASSES];
    int split; /* an lm_split_kind: how the test samples were chosen */
    uint32_t split_seed;
    double holdout; /* 0: none */
    struct lm_scaler scaler;
    size_t n_train, n_validation, n_test;
    uint32_t *train_index, *validation_index, *test_index; /* owned */

    /* /trials, /execution; rows in order of trial */
    uint64_t n_trials;
    uint64_t max_epochs;                  /* E: the longest trial's epochs */
    struct lm_trial *trial;               /* owned, (n_trials) */
    struct lm_outcome *outcome;           /* owned, (n_trials) */
    struct lm_trial_execution *execution; /* owned, (n_trials) */

    /* /sweep, /configurations and /trials/rung: of a sweep alone. What they say follows from the rows above:
     * lm_results_summarise */
    int is_sweep;
    uint32_t *rung;     /* owned, (n_trials), or NULL: the halving rung that a trial has reached, 0 the first */
    char objective[32]; /* "validation_loss" or "validation_accuracy" */
    char search[16];    /* "grid", "random", "latin", "halving" */
    uint64_t n_configurations;
    struct lm_configuration *configuration; /* owned, in order of their first trial */
    uint64_t n_leaders;
    uint64_t *leader;    /* owned, (n_leaders): trials, the best first */
    char *specification; /* owned: the text of the sweep file; NULL: "" */

    /* /weights: what is there; the values stream */
    size_t n_kept;
    struct lm_kept *kept; /* owned */

    /* /inference: of the test samples under one trial's weights; n_scores is 0 if no trial has weights */
    int64_t inference_trial; /* -1: none */
    size_t n_scores;
    /* 1: scored from a packed file, so many that they stream: scores, expected, predicted and sample_rank are NULL
     * here, n_test is 0, and sample k of the scores is sample k of the data. Then metrics stands for them, where it is
     * known. */
    int streamed;
    int unlabelled; /* 1: nobody knows the right letters: no expected, no confusion, metrics NaN. Streamed alone */
    struct lm_metrics metrics;
    float *scores;                              /* owned, (n_scores, 15) */
    uint8_t *expected;                          /* owned, (n_scores) */
    uint8_t *predicted;                         /* owned, (n_scores) */
    uint64_t confusion[LM_CLASSES][LM_CLASSES]; /* [expected][predicted] */
    int32_t *sample_rank;                       /* owned, (n_scores): the rank that scored it */

    /* /validation */
    size_t n_checks;
    struct lm_check *checks; /* owned */

    size_t n_ranks;
    struct lm_rank *ranks; /* owned */

    /* /model, where a run predicted its times, or chose without; n_model 0: the file has no such group */
    size_t n_model;
    struct lm_model_row *model; /* owned: the phases in their order */
    char decided_by[40];        /* "model", "model and history", "asked for", "rule: no calibration", ... */
    char decision[640];         /* why, in a line; "": nothing was to be decided */
};

/* Room for n trials with status "not run"; everything else zero. */
int lm_results_allocate(uint64_t n_trials, struct lm_results *out, struct lm_error *err);
int lm_results_note(struct lm_results *results, const char *name, const char *value, struct lm_error *err);
const char *lm_results_find_note(const struct lm_results *results, const char *name); /* NULL if not there */
int lm_results_check(struct lm_results *results, const struct lm_check *check, struct lm_error *err);
int lm_results_model(struct lm_results *results, const struct lm_model_row *row, struct lm_error *err);
void lm_results_free(struct lm_results *results);
/* Makes the configurations, and the leaderboard of the best k trials by results->objective, from trials, outcomes and
 * rungs (statistics.h); older ones are replaced. */
int lm_results_summarise(struct lm_results *results, uint64_t k, struct lm_error *err);
int lm_results_by_accuracy(const struct lm_results *results); /* 1: the objective is validation_accuracy */
/* Of all scored samples: computed from the scores, or what is known of them where they stream. */
struct lm_metrics lm_results_metrics(const struct lm_results *results);

/* ---- writing ---- */

struct lm_results_writer; /* opaque */

/* Makes the file at path (the temporary name; an existing file there is replaced). n_trials and max_epochs fix the
 * shape of loss (n_trials, max_epochs), which is NaN until it is put. */
int lm_results_create(const char *path, uint64_t n_trials, uint64_t max_epochs, struct lm_results_writer **out,
                      struct lm_error *err);

/* loss: (epochs), the first epochs of the trial's row. */
int lm_results_put_loss(struct lm_results_writer *writer, uint64_t trial, const double *loss, uint64_t epochs,
                        struct lm_error *err);

/* Declares the group of a shape with room for rows networks; *group is its number, 0, 1, ... */
int lm_results_add_kept(struct lm_results_writer *writer, struct lm_shape shape, uint64_t rows, size_t *group,
                        struct lm_error *err);
/* Row `row` of a group: trial's parameters (lm_network_floats(shape)); NULL: none (a diverged trial): LM_NAN_BITS. */
int lm_results_put_weights(struct lm_results_writer *writer, size_t group, uint64_t row, uint64_t trial,
                           const float *parameters, struct lm_error *err);

/* Scores that stream, n samples of them (results->streamed and n_scores say the same in the end). Declared once; then
 * all samples in ascending order, in slabs: scores (n, 15), expected, predicted, sample_rank (n). expected is not
 * looked at where they are unlabelled. */
int lm_results_add_scores(struct lm_results_writer *writer, uint64_t n, int unlabelled, struct lm_error *err);
int lm_results_put_scores(struct lm_results_writer *writer, uint64_t n, const float *scores, const uint8_t *expected,
                          const uint8_t *predicted, const int32_t *sample_rank, struct lm_error *err);
/* Writes all the rest, closes, and flushes to disk (fsync). The writer is gone afterwards, whatever is returned. */
int lm_results_finish(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err);
/* Closes without completing. The file at path is no results file then; the caller removes it. */
void lm_results_abandon(struct lm_results_writer *writer);

/* ---- reading ---- */

struct lm_results_reader; /* opaque */

/* Opens a file; LM_BAD_INPUT with the reason if it is none of ours, of a newer format, or damaged. */
int lm_results_open(const char *path, struct lm_results_reader **out, struct lm_error *err);
/* Everything but losses and weights. Every size is checked against the others before it is used. */
int lm_results_load(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err);
/* loss: (n, max_epochs) of trials first ... first + n - 1. */
int lm_results_get_loss(struct lm_results_reader *reader, uint64_t first, uint64_t n, double *loss,
                        struct lm_error *err);
/* Rows first ... first + n - 1 of a group: parameters (n, lm_network_floats(shape)) and their trials (n). Either may
 * be NULL. */
int lm_results_get_weights(struct lm_results_reader *reader, size_t group, uint64_t first, uint64_t n,
                           float *parameters, uint64_t *trial, struct lm_error *err);
/* Samples first ... first + n - 1 of the scores of any file, streamed or not: scores (n, 15), expected, predicted,
 * sample_rank (n), each of which may be NULL. expected is untouched where the file has none. */
int lm_results_get_scores(struct lm_results_reader *reader, uint64_t first, uint64_t n, float *scores,
                          uint8_t *expected, uint8_t *predicted, int32_t *sample_rank, struct lm_error *err);
/* What the groups of a sweep repeat of /trials, for whoever compares: the parameters of each configuration (n of them;
 * seed is 0), and the rows of the leaderboard (n). n is what lm_results_load said. */
int lm_results_get_parameters(struct lm_results_reader *reader, uint64_t n, struct lm_trial *parameters,
                              struct lm_error *err);
int lm_results_get_leaders(struct lm_results_reader *reader, uint64_t n, struct lm_leader *leaders,
                           struct lm_error *err);
/* Fills results->metrics of a streamed file, by reading all of its scores once. */
int lm_results_measure(struct lm_results_reader *reader, struct lm_results *results, struct lm_error *err);
void lm_results_close(struct lm_results_reader *reader);

#endif
