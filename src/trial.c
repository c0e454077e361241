/* trial.c: see trial.h. */
#include "trial.h"

const char *lm_trial_status_text(int status)
{
    switch (status) {
    case LM_TRIAL_OK:
        return "ok";
    case LM_TRIAL_DIVERGED:
        return "diverged";
    case LM_TRIAL_FAILED:
        return "failed";
    default:
        return "not run";
    }
}

int lm_trial_equal(const struct lm_trial *a, const struct lm_trial *b)
{
    return a->learning_rate == b->learning_rate && a->decay == b->decay && a->initial_range == b->initial_range &&
           a->epochs == b->epochs && a->seed == b->seed && a->block == b->block && lm_shape_equal(a->shape, b->shape);
}
