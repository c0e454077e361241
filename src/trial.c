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
