/* sweep.h: what the parts of `libras_mpi sweep` share: sweep.c (the story), sweep_plan.c (specification and trials),
 * sweep_resume.c (what is known already), sweep_rounds.c (what is trained next), sweep_train.c (training it),
 * sweep_status.c (following it), sweep_finish.c (from the checkpoint to the results file).
 *
 * Everything that has been trained is in the checkpoint, and nowhere else: the results file is made from it in one pass
 * at the end. So a run that was resumed and one that was not have nothing by which they could differ.
 */
#ifndef LM_SWEEP_H
#define LM_SWEEP_H

#include "best.h"
#include "checkpoint.h"
#include "job.h"
#include "progress.h"
#include "schedule.h"
#include "sweep_spec.h"

/* Beside the specification's K, so many are leaders and get a test score where no K is said. */
#define LM_SWEEP_LEADERS 10

/* How a round is trained; from rank 0 to all. */
struct lm_round {
    int32_t go; /* 0: there is no more to train */
    int32_t all_parameters, by_accuracy;
    uint64_t best;
};

/* All on rank 0, but job. Its results hold the trials: results.trial[t] is the whole trial t, whose epochs are, with
 * halving, those of the last rung. */
struct lm_sweep {
    struct lm_job job;
    struct lm_sweep_spec spec;
    char *text;        /* of the specification; owned */
    uint64_t n, drawn; /* trials, and draws before repeats were dropped */
    uint64_t leaders;  /* how many */

    struct lm_checkpoint *checkpoint;
    char *checkpoint_path, *status_path; /* owned */
    uint64_t known;                      /* trials (of all rungs) that were there at the start */

    /* The round. */
    size_t rung;     /* of n_rungs, or of one */
    uint64_t *alive; /* owned, (n_alive): trials of this round, ascending */
    uint64_t n_alive, cursor;
    uint32_t *reached; /* owned, (n): the rung that each trial has reached; NULL without halving */
    int keep_states;   /* 1: the weights of all its trials, from which the next rung goes on */
    int again;         /* 1: trials whose weights are wanted, and not in the checkpoint */

    struct lm_best best; /* of what has come in */

    /* For whoever follows it. */
    struct lm_progress progress;
    uint64_t total, done, failed, diverged; /* trainings of all rounds */
    uint64_t before;                        /* done when training began */
    double began, flushed, shown;
    int stopping; /* a signal has been seen */
};

/* ---- sweep_plan.c ---- */

/* Rank 0: reads the specification, makes the trials. */
int lm_sweep_plan(struct lm_sweep *sweep, struct lm_error *err);
size_t lm_sweep_rungs(const struct lm_sweep_spec *spec); /* 1 without halving */
/* Trial t as it is trained in this round. */
struct lm_trial lm_sweep_trial(const struct lm_sweep *sweep, uint64_t t, size_t rung);
/* Epochs of the longest trial that can be trained. */
uint64_t lm_sweep_longest(const struct lm_sweep *sweep);
/* Trainings of all rounds together, where none diverges. */
uint64_t lm_sweep_trainings(const struct lm_sweep_spec *spec, uint64_t n);
/* --dry-run. */
int lm_sweep_show_plan(struct lm_sweep *sweep, struct lm_error *err);

/* ---- sweep_resume.c ---- */

/* Rank 0: reserves FILE and opens FILE.ckpt; with --resume takes over what an unfinished or a finished sweep knows.
 * *nothing_to_do: FILE is this sweep's, complete. */
int lm_sweep_open(struct lm_sweep *sweep, int *nothing_to_do, struct lm_error *err);

/* ---- sweep_rounds.c ---- */

/* Rank 0: what is trained next. */
int lm_sweep_next_round(struct lm_sweep *sweep, struct lm_round *round, struct lm_error *err);
/* Rank 0: tasks of the round that are not known. */
int lm_sweep_count_tasks(struct lm_sweep *sweep, uint64_t *count, struct lm_error *err);
size_t lm_sweep_take_tasks(void *sweep, size_t most, struct lm_task *task);
int lm_sweep_take_report(void *sweep, const struct lm_report *report, struct lm_error *err);
int lm_sweep_pulse(void *sweep, struct lm_error *err);
/* Rank 0: writes all that has come in to disk. */
int lm_sweep_flush(struct lm_sweep *sweep, struct lm_error *err);

/* ---- sweep_status.c ---- */

void lm_sweep_status(struct lm_sweep *sweep, const char *state);
/* The best of what has come in, in words. */
int lm_sweep_best_text(const struct lm_sweep *sweep, char *text, size_t size);
void lm_sweep_word(struct lm_sweep *sweep); /* USR2 */

/* For qsort: uint64_t, ascending. */
int lm_sweep_by_number(const void *a, const void *b);

/* ---- sweep_finish.c ---- */

/* Rank 0: the record of a trial that has ended. */
int lm_sweep_need(struct lm_sweep *sweep, const struct lm_trial *trial, struct lm_record *record, struct lm_error *err);

/* Rank 0: rows of all trials from the checkpoint into results. */
int lm_sweep_collect(struct lm_sweep *sweep, struct lm_error *err);
/* Rank 0, after lm_sweep_collect: the leaders, best first; *leader owned by the caller. */
int lm_sweep_leaders(const struct lm_sweep *sweep, uint64_t **leader, uint64_t *n, struct lm_error *err);
/* Rank 0, likewise: the trials whose weights are stored, or scored, ascending; *list owned by the caller. */
int lm_sweep_with_weights(const struct lm_sweep *sweep, uint64_t **list, uint64_t *n, struct lm_error *err);
/* Rank 0: losses and weights into the file, the leaders' test scores, what is to be validated. */
int lm_sweep_finish(struct lm_sweep *sweep, struct lm_error *err);

#endif
