/* replicas.h: some trials trained once more by the CPU reference, over the ranks, and every bit compared. */
#ifndef LM_REPLICAS_H
#define LM_REPLICAS_H

#include "problem.h"
#include "results.h"
#include "world.h"

/* A trial's answer as it was found, to be compared. Which trials: replica_choice.h. */
struct lm_replica {
    uint64_t number;
    struct lm_trial trial;
    struct lm_outcome outcome;
    int untested;      /* 1: its test scores are left out on purpose (--keep-weights top:K) */
    double *loss;      /* (outcome.epochs_run), owned */
    float *parameters; /* owned; NULL: only the digest is known */
};
void lm_replicas_free(struct lm_replica *replica, uint64_t n);

/* One replica that the reference trains on another core while a GPU trains all of them. */
struct lm_early; /* opaque */
/* problem outlives it. NULL: it could not be begun, which is no fault: it is trained later. */
struct lm_early *lm_early_begin(const struct lm_problem *problem, const struct lm_trial *trial);
/* Stops it, if it is not done. NULL is allowed. */
void lm_early_end(struct lm_early *early);

/* To be called by all ranks; replica[] (n) early (or NULL) and results are rank 0's alone. Replica i is trained by rank
 * i mod size; a row "replica T" a trial is added to results. */
int lm_replicas_validate(const struct lm_world *world, const struct lm_problem *problem,
                         const struct lm_replica *replica, uint64_t n, struct lm_early *early,
                         struct lm_results *results);

#endif
