/* sweep_spec.c: see sweep_spec.h. */
#include "sweep_spec.h"

#include <stdlib.h>

const char *lm_search_text(int search)
{
    static const char *const text[LM_SEARCHES] = {"grid", "random", "latin", "halving"};
    return search >= 0 && search < LM_SEARCHES ? text[search] : "?";
}

const char *lm_objective_text(int objective)
{
    static const char *const text[LM_OBJECTIVES] = {"validation_loss", "validation_accuracy"};
    return objective >= 0 && objective < LM_OBJECTIVES ? text[objective] : "?";
}

void lm_sweep_spec_free(struct lm_sweep_spec *spec)
{
    for (int k = 0; k < LM_GRID_AXES; k++)
        lm_axis_free(&spec->parameter[k].axis);
    free(spec->rung);
    *spec = (struct lm_sweep_spec){0};
}

/* 0.33 as a double is a little more than 0.33, and 100 times that is a little more than 33. So it is counted in whole
 * billionths: nine decimals of any keep up to 1 lie nearer to that whole number than half. keep * n < 2^62. */
uint64_t lm_sweep_kept(const struct lm_sweep_spec *spec, uint64_t n)
{
    const uint64_t billion = 1000000000;
    uint64_t keep = (uint64_t)(spec->rung_keep * 1e9 + 0.5);
    uint64_t kept = (keep * n + billion - 1) / billion;
    return kept > 1 ? kept : 1;
}

double lm_sweep_halving_epochs(const struct lm_sweep_spec *spec, uint64_t n)
{
    double sum = 0.0;
    uint32_t before = 0;
    for (size_t k = 0; k < spec->n_rungs; k++) {
        sum += (double)n * (double)(spec->rung[k] - before);
        before = spec->rung[k];
        n = lm_sweep_kept(spec, n);
    }
    return sum;
}
