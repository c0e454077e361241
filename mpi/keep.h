/* keep.h: what rank 0 keeps of the trials as they come in: rows, losses, weights; in bounded memory. */
#ifndef LM_KEEP_H
#define LM_KEEP_H

#include "axis.h"
#include "best.h"
#include "options.h"
#include "replicas.h"
#include "results.h"
#include "schedule.h"

struct lm_keeper {
    const struct lm_options *options;
    struct lm_results *results;
    struct lm_results_writer *writer;
    uint64_t trials;

    /* the lowest trial that has parameters */
    uint64_t first; /* UINT64_MAX: none yet */
    float *first_parameters;
    double *first_loss; /* (its epochs) */

    /* trials to be trained again */
    uint64_t n_replicas;
    struct lm_replica *replica;

    struct lm_best best; /* --keep-weights top:K */
};

/* Declares the groups of weights in the file. results has room for all trials. */
int lm_keeper_begin(struct lm_keeper *keeper, const struct lm_options *options, struct lm_results *results,
                    struct lm_results_writer *writer, struct lm_error *err);
/* The sink of the schedule; context is the keeper. */
int lm_keeper_take(void *context, const struct lm_report *report, struct lm_error *err);
/* After the last trial: writes the best ones, and blanks the test scores of those not chosen. */
int lm_keeper_finish(struct lm_keeper *keeper, struct lm_error *err);
void lm_keeper_end(struct lm_keeper *keeper);

#endif
