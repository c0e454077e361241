/* calibrate.h: measuring a machine for the performance model: the CPU's part here, the GPU's in cuda/calibrate.c.
 *
 * Every number is the median of several measurements; how far they lie apart is kept beside it. All are made by the
 * backends' own kernels on a problem that the caller gives (a few thousand training samples), not by others that stand
 * for them.
 */
#ifndef LM_CALIBRATE_H
#define LM_CALIBRATE_H

#include "backend.h"
#include "model_machine.h"

struct lm_calibration {
    struct lm_machine machine;
    struct lm_machine spread; /* of each number: (largest - least) / median; 0: it was not measured so */
    double had; /* share of its time that one core's part had the core: below 0.9, others were at work, too */
};

/* *at, a number of calibration->machine, and its spread, from n measurements, which are sorted. */
void lm_calibration_set(struct lm_calibration *calibration, double *at, double *measured, int n);

/* What else is to be measured, while the processor has its time to change. */
typedef int (*lm_calibrate_between)(void *context, struct lm_error *err);

/* The CPU's numbers, with so many threads for "all cores", in rounds of some tenths of a second. Half way through them
 * `between` is called once (NULL: nothing is), so that the first and the last lie farther apart; what it fails with is
 * returned. Backends that this processor cannot run are left out. About six seconds. */
int lm_calibrate_cpu(const struct lm_problem *problem, int threads, lm_calibrate_between between, void *context,
                     struct lm_calibration *out, struct lm_error *err);

/* What a step of a trial of this shape takes in a session: from trainings of `more` epochs and of one, so that what is
 * done once a training cancels out. n trials at once: a step of all of them together. *once: what is done once; NULL:
 * not asked. */
int lm_calibrate_step(const struct lm_backend *backend, void *session, const struct lm_problem *problem,
                      struct lm_shape shape, size_t n, uint32_t more, double *step, double *once, struct lm_error *err);

/* The backend of this name in this build; NULL. */
const struct lm_backend *lm_calibrate_backend(const char *name);

#endif
