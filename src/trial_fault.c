/* trial_fault.c: can this trial be trained? The command line asks of each value as it reads it (axis.c), by the same
 * limits; a sweep file may hold any number, and its trials are asked one by one. */
#include <stdio.h>

#include "axis.h"
#include "number.h"
#include "trial.h"

enum { LEARNING_RATE, DECAY, INITIAL_RANGE, EPOCHS, HIDDEN, SEED, BLOCK };

static int real_fault(int k, float value, char *text, size_t size)
{
    const struct lm_axis_rule *rule = &lm_grid_rule[k];
    char number[LM_FLOAT_TEXT];
    const double x = value, least = (float)rule->least;
    if (x <= rule->most && (rule->least_excluded ? x > least : x >= least)) /* not so of a NaN */
        return 0;
    if (x - x == 0.0)
        lm_float_text(value, number);
    else
        snprintf(number, sizeof number, "%g", x);
    snprintf(text, size, "%s %s is out of range (%s%.9g to %.9g)", lm_grid_name[k], number,
             rule->least_excluded ? "above " : "", rule->least, rule->most);
    return 1;
}

static int whole_fault(int k, uint32_t value, char *text, size_t size)
{
    const struct lm_axis_rule *rule = &lm_grid_rule[k];
    if (value >= rule->least && value <= rule->most && value % rule->step == 0)
        return 0;
    if (rule->step > 1)
        snprintf(text, size, "%s %u is not a multiple of %u from %.0f to %.0f", lm_grid_name[k], value, rule->step,
                 rule->least, rule->most);
    else
        snprintf(text, size, "%s %u is out of range (%.0f to %.0f)", lm_grid_name[k], value, rule->least, rule->most);
    return 1;
}

static int shape_fault(struct lm_shape shape, char *text, size_t size)
{
    const struct lm_axis_rule *rule = &lm_grid_rule[HIDDEN];
    if (shape.hidden1 >= rule->least && shape.hidden1 <= rule->most && shape.hidden2 >= rule->least &&
        shape.hidden2 <= rule->most)
        return 0;
    snprintf(text, size, "%s %ux%u is out of range (widths %.0f to %.0f)", lm_grid_name[HIDDEN], shape.hidden1,
             shape.hidden2, rule->least, rule->most);
    return 1;
}

int lm_trial_fault(const struct lm_trial *trial, char *text, size_t size)
{
    if (size > 0)
        *text = '\0';
    return real_fault(LEARNING_RATE, trial->learning_rate, text, size) || real_fault(DECAY, trial->decay, text, size) ||
           real_fault(INITIAL_RANGE, trial->initial_range, text, size) ||
           whole_fault(EPOCHS, trial->epochs, text, size) || shape_fault(trial->shape, text, size) ||
           whole_fault(SEED, trial->seed, text, size) || whole_fault(BLOCK, trial->block, text, size);
}
