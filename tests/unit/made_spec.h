/* made_spec.h: sweep specifications made by hand, without a file. */
#ifndef TEST_MADE_SPEC_H
#define TEST_MADE_SPEC_H

#include <stdlib.h>
#include <string.h>

#include "sweep_spec.h"

enum { RATE, DECAY, RANGE, EPOCHS, HIDDEN, SEED, BLOCK };

/* The values of each parameter as the command line has them, in the order of the grid; NULL: one value. */
static inline struct lm_sweep_spec made_spec(enum lm_search search, uint64_t trials,
                                             const char *const values[LM_GRID_AXES])
{
    static const char *const one[LM_GRID_AXES] = {"0.02", "1", "0.05", "51", "32x16", "1337", "128"};
    struct lm_sweep_spec spec = {.search = search, .trials = trials, .search_seed = 7};
    struct lm_error err;
    for (int k = 0; k < LM_GRID_AXES; k++)
        if (lm_axis_parse(&lm_grid_rule[k], values && values[k] ? values[k] : one[k], &spec.parameter[k].axis, &err) !=
            LM_OK)
            fail_msg("%s", err.text);
    return spec;
}

static inline void make_continuous(struct lm_sweep_spec *spec, int k, double from, double to, enum lm_scale scale)
{
    lm_axis_free(&spec->parameter[k].axis);
    spec->parameter[k] = (struct lm_parameter){.continuous = 1, .from = from, .to = to, .scale = scale};
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
