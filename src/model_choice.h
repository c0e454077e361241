/* model_choice.h: from predictions to what a program does: the candidates of one phase where it runs, what earlier runs
 * say of them, which is chosen, and its rows of /model.
 *
 * Plain numbers and names: backends are known by name alone, so that a machine may be asked about that is not at hand.
 */
#ifndef LM_MODEL_CHOICE_H
#define LM_MODEL_CHOICE_H

#include "model_history.h"
#include "model_work.h"
#include "results.h"

/* Where the program runs. */
struct lm_place {
    double ranks, nodes; /* at least 1 */
    double threads;      /* of the CPU, of all ranks together; at least 1 */
    double gpus;         /* different ones of all ranks; 0: none, or not asked: a prediction is then of one */
};

#define LM_CHOICES (LM_PREDICTIONS + 2)

/* A phase: training of all trials, or scoring of a batch. */
struct lm_choice {
    enum lm_history_phase phase;
    double size; /* that the history counts by: training steps; samples */
    int n;
    struct lm_prediction candidate[LM_CHOICES]; /* seconds: with the history */
    double factor[LM_CHOICES];                  /* the history's; seconds / factor is the machine alone's */
    int able[LM_CHOICES];                       /* 1: every rank can run it, as far as was asked */
    struct lm_decision decision;
    int chosen;  /* candidate; -1: none */
    int refined; /* 1: the history has changed a candidate's time */
};

/* The candidates of a phase, as they would be done here: each way of the CPU on the threads of the place ("all cores";
 * "one core" where there is no more, or the work is none for several), each of the GPU on the GPUs of the place. train:
 * work, after lm_work_end; scored: samples that each trained network scores. infer: n samples, each rank its
 * shard; or, with batch above 0, so many at a time (a stream), in turn over the ranks. */
void lm_choice_train(const struct lm_machine *machine, const struct lm_place *place, const struct lm_work *work,
                     double scored, struct lm_choice *out);
void lm_choice_infer(const struct lm_machine *machine, const struct lm_place *place, struct lm_shape shape, double n,
                     double batch, struct lm_choice *out);
/* Nothing is predicted: `backend` runs, as its only candidate. Its name is borrowed. */
void lm_choice_unknown(enum lm_history_phase phase, double size, const char *backend, struct lm_choice *out);

/* To be called once, before a choice. A candidate that the history does not know (ten runs of its size class) takes the
 * factor of the fastest of its sort, CPU or GPU, that it knows. */
void lm_choice_refine(struct lm_choice *choice, const struct lm_history *history);

/* By lm_decide, of those candidates whose backend is in able (NULL-terminated names: what every rank can run). Returns
 * chosen. */
int lm_choice_decide(struct lm_choice *choice, const char *const *able, double margin);
/* What was asked for: chosen is its candidate, one without a prediction if there is none. The name is borrowed. */
void lm_choice_ask(struct lm_choice *choice, const char *backend);

/* 1: there is a prediction for the chosen one. */
int lm_choice_known(const struct lm_choice *choice);
/* The chosen one as the machine alone predicts it: what a history takes. */
struct lm_prediction lm_choice_alone(const struct lm_choice *choice);
/* lm_decision_text, and whether the history had a say. */
void lm_choice_text(const struct lm_choice *choice, char *text, size_t size);

/* The time of the chosen one over the least that was predicted of another device's that could run, minus 1, never below
 * 0. NaN where there is none, or nothing was measured (NaN). */
double lm_choice_regret(const struct lm_choice *choice, double measured);
/* Candidate k as a row; measured: of the chosen one, NaN if it did not come to its end. */
void lm_choice_row(const struct lm_choice *choice, int k, double measured, struct lm_model_row *row);

#endif
