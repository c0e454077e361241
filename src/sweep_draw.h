/* sweep_draw.h: what random search and the Latin hypercube draw, the same bits on every machine.
 *
 * Every draw is a function of (search_seed, t, j): the trial's number and the parameter's place among the seven.
 * Nothing is kept from draw to draw, so a parameter that gets another range changes no other parameter's values, and
 * more trials change none of the first ones (of random search; a Latin hypercube is another one for each number of
 * trials).
 *
 *   bits    Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC '11,
 *           article 16) of the counter (t's low word, t's high word, j, purpose) and the key (search_seed, 0).
 *           purpose 0: the 53 high bits of words 0 (high) and 1 make u, in [0, 1); purpose 1: word 0 seeds mt19937
 *   random  a list: value floor(u n); a range: from + (to - from) u, or from (to / from)^u
 *   latin   McKay, Beckman and Conover, Technometrics 21 (1979) 239-245: of N trials, trial t is in stratum k = p_j[t],
 *           where p_j is a permutation of 0 to N - 1; the place in it is u's: (k + u) / N stands for u above. A list of
 *           n values is cut into N runs at floor(k n / N), so that each value comes as often as another, or once more
 */
#ifndef LM_SWEEP_DRAW_H
#define LM_SWEEP_DRAW_H

#include <stdint.h>

#include "status.h"
#include "sweep_spec.h"

enum lm_draw_purpose { LM_DRAW_VALUE, LM_DRAW_PERMUTATION };

void lm_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t word[4]);

#define LM_DRAW_BITS 53
/* u times 2^53. */
uint64_t lm_draw_bits(uint32_t search_seed, uint64_t t, int j);

/* A specification made ready to draw from. */
struct lm_draws {
    const struct lm_sweep_spec *spec;        /* borrowed */
    double root[LM_GRID_AXES][LM_DRAW_BITS]; /* LM_SCALE_LOG: (to / from)^(1/2), ^(1/4), ^(1/8), ... */
};
void lm_draws_begin(struct lm_draws *draws, const struct lm_sweep_spec *spec);

/* A continuous parameter's value at u = bits / 2^53, within its ends as floats. */
float lm_draws_value(const struct lm_draws *draws, int j, uint64_t bits);

struct lm_trial lm_draws_random(const struct lm_draws *draws, uint64_t t);

/* trial: (spec->trials), all of them, each stratum once; spec->trials < 2^32. LM_FAILED: out of memory. */
int lm_draws_latin(const struct lm_draws *draws, struct lm_trial *trial, struct lm_error *err);

#endif
