/* schedule.h: trials over the ranks: whoever is free takes the next. */
#ifndef LM_SCHEDULE_H
#define LM_SCHEDULE_H

#include "backend.h"
#include "results.h"
#include "task.h"
#include "world.h"

/* What rank 0 hears of a trial. loss and parameters are borrowed for the call; parameters is NULL if the trial has
 * none, or they were not wanted. With the status LM_TRIAL_NOT_RUN it is the state of a training that goes on:
 * epochs_run epochs are done, and parameters is what they have made. */
struct lm_report {
    uint64_t trial;
    struct lm_outcome outcome;
    struct lm_trial_execution execution;
    uint32_t begun;          /* epochs that were not trained now: the rank went on from there */
    const double *loss;      /* (outcome.epochs_run) */
    const float *parameters; /* (lm_network_floats(shape)) or NULL */
};

struct lm_sink {
    /* Rank 0: called for each trial that has ended, in the order of ending, and for states of those that go on. Not
     * LM_OK: the job ends with err. */
    int (*take)(void *context, const struct lm_report *report, struct lm_error *err);
    /* Rank 0: called now and then, at most once in a fraction of a millisecond; NULL: not wanted. */
    int (*pulse)(void *context, struct lm_error *err);
    void *context;
};

struct lm_schedule {
    const struct lm_world *world;
    const struct lm_task_source *source; /* rank 0's */
    const struct lm_backend *backend;
    void *session;
    const struct lm_problem *problem;
    const char *device; /* "cpu" or "gpu" */

    /* Whose parameters rank 0 wants to see, beside those of the tasks that say so: */
    int all_parameters; /* everybody's */
    int lowest;         /* the lowest trial's that has any */
    uint64_t best;      /* the K best ones' (best.h) */
    int by_accuracy;

    int test;              /* 1: loss and accuracy of the test samples, too */
    double snapshot_every; /* s: states of trainings that go on longer than this; 0: none */
    int may_stop;          /* 1: a signal (stop.h) ends the training */
};

/* To be called by all ranks; returns on all when all trials are done: LM_OK, or LM_STOPPED on all: rank 0 has heard of
 * everything that was done, and no rank trains any more. seconds: this rank's time spent training. A rank that cannot
 * go on ends the job (lm_abort). */
int lm_schedule_run(const struct lm_schedule *schedule, const struct lm_sink *sink, double *seconds);

#endif
