/* model_round.h: the model's small arithmetic, inlined. Without -ffast-math a compiler calls the C library for ceil,
 * fmin and fmax, which a decision does some hundred times: that was half of its time (model_decide.h). None of the
 * numbers is NaN.
 */
#ifndef LM_MODEL_ROUND_H
#define LM_MODEL_ROUND_H

#include <stdint.h>

static inline double lm_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double lm_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Counts: whatever is too large for an integer has no digits behind the point. */
static inline double lm_down(double x)
{
    if (!(x > -4e15 && x < 4e15))
        return x;
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1.0 : whole;
}

static inline double lm_up(double x)
{
    double whole = lm_down(x);
    return whole < x ? whole + 1.0 : whole;
}

/* To a whole group of `group`: 13 of 4 is 16. */
static inline double lm_up_to(double n, double group)
{
    return group * lm_up(n / group);
}

#endif
