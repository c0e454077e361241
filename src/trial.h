/* trial.h: one training to be done (a trial), and what came of it (its outcome).
 *
 * The parameters of a trained network are a pure function of (data set, split seed, hold-out, trial without its block,
 * arithmetic version). block changes a time, never an answer; a trial that differs in block alone is a trial all the
 * same, and is really trained.
 */
#ifndef LM_TRIAL_H
#define LM_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#include "network.h"
#include "sha256.h"

struct lm_trial {
    float learning_rate; /* finite, > 0 */
    float decay;         /* finite, > 0: the learning rate is multiplied by it after each epoch, in float */
    float initial_range; /* finite, >= 0: weights start uniform in [-range, range) */
    uint32_t epochs;     /* >= 1 */
    uint32_t seed;       /* weights and sample order */
    uint32_t block;      /* threads of the GPU block that trains it: a multiple of 32, 32 to 1024 */
    struct lm_shape shape;
};

/* Two trials that are one: all members equal, as numbers. */
int lm_trial_equal(const struct lm_trial *a, const struct lm_trial *b);

/* The fault for which a trial cannot be trained, as a reason for its row ("block 4096 is not a multiple of 32 from 32
 * to 1024"), into text (size bytes, cut where it is longer). Returns 1, or 0 and an empty text if there is none. The
 * limits are those of the command line (lm_grid_rule). */
int lm_trial_fault(const struct lm_trial *trial, char *text, size_t size);

enum lm_trial_status {
    LM_TRIAL_OK = 0,
    LM_TRIAL_DIVERGED = 1, /* an epoch's loss was not finite */
    LM_TRIAL_FAILED = 2,   /* could not be trained: see reason */
    LM_TRIAL_NOT_RUN = 3   /* nobody came to it */
};
const char *lm_trial_status_text(int status); /* "ok", "diverged", "failed", "not run" */

struct lm_outcome {
    int status;                 /* an lm_trial_status */
    uint32_t epochs_run;        /* epochs done with a finite loss */
    double train_loss;          /* mean loss of the last epoch; NaN where there is none */
    double validation_loss;     /* NaN without a hold-out, or without weights */
    double validation_accuracy; /* share of samples, 0 to 1; NaN likewise */
    double test_loss;
    double test_accuracy;
    char digest[LM_SHA256_HEX]; /* of the parameters; "" if there are none */
    char reason[160];           /* why it diverged or failed; "" if it is ok */
};

#endif
