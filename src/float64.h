/* float64.h: the lab's formulas in double, to see that the float arithmetic computes what it should. */
#ifndef LM_FLOAT64_H
#define LM_FLOAT64_H

#include "network.h"
#include "problem.h"

/* scores (15) of x (64) under float parameters, all in double, sums in ascending order. bound (15): how far the float
 * arithmetic of arithmetic.h may be from it at most, by the standard running error analysis (Higham, Accuracy and
 * Stability of Numerical Algorithms, 2nd ed., 2002, section 3.1): a sum of n products, rounded m times along its
 * longest path, is off by at most gamma(m) sum |w x|, gamma(m) = m u / (1 - m u), u = 2^-24; errors of the inputs are
 * carried on through |w|. */
void lm_forward64(struct lm_shape shape, const float *parameters, const float *x, double *scores, double *bound);

/* The lab's training in double from the same start and in the same order: parameters (lm_network_floats(shape)) in and
 * out, loss (epochs) out. LM_OK, or LM_FAILED out of memory. For tests. */
int lm_train64(const struct lm_problem *problem, struct lm_shape shape, double learning_rate, uint32_t epochs,
               uint32_t seed, float initial_range, double *parameters, double *loss, struct lm_error *err);

#endif
