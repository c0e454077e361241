/* schedule.h: the trials of a grid over the ranks: whoever is free takes the next. */
#ifndef LM_SCHEDULE_H
#define LM_SCHEDULE_H

#include "axis.h"
#include "backend.h"
#include "results.h"
#include "world.h"

/* What rank 0 hears of one finished trial. loss and parameters are borrowed for the call; parameters is NULL if the
 * trial has none, or was not asked to send them. */
struct lm_report {
    uint64_t trial;
    struct lm_outcome outcome;
    struct lm_trial_execution execution;
    const double *loss;      /* (trial.epochs) */
    const float *parameters; /* (lm_network_floats(shape)) or NULL */
};

struct lm_sink {
    /* Rank 0: called once for each trial, in the order of finishing. Not LM_OK: the job ends with err. */
    int (*take)(void *context, const struct lm_report *report, struct lm_error *err);
    void *context;
};

struct lm_schedule {
    const struct lm_world *world;
    const struct lm_grid *grid;
    const struct lm_backend *backend;
    void *session;
    const struct lm_problem *problem;
    const char *device; /* "cpu" or "gpu" */
    /* Whose parameters rank 0 wants to see: everybody's, or only those of the first trial that has any and of the
     * `replicas` trials that will be trained again (replicas.h). */
    int all_parameters;
    uint64_t replicas;
};

/* To be called by all ranks; returns on all when all trials are done. seconds: this rank's time spent training.
 * A rank that cannot go on ends the job (lm_abort). */
void lm_schedule_run(const struct lm_schedule *schedule, const struct lm_sink *sink, double *seconds);

#endif
