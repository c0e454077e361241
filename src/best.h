/* best.h: the K best of many trials, as they come in, in memory for K.
 *
 * Better: of a higher rung (halving); then the lower validation loss, or the higher validation accuracy with the loss
 * behind it; then the lower number. A value that is not a number is worse than any. It is a total order, so the K best
 * do not depend on the order in which trials come in.
 */
#ifndef LM_BEST_H
#define LM_BEST_H

#include <stdint.h>

#include "status.h"

struct lm_rating {
    uint64_t trial;
    uint32_t rung;
    double loss, accuracy; /* of the validation samples */
};
int lm_rating_better(int by_accuracy, const struct lm_rating *a, const struct lm_rating *b);

struct lm_best_entry {
    struct lm_rating rating;
    float *parameters; /* owned; NULL: none */
};

struct lm_best {
    int by_accuracy;
    uint64_t room, n;
    struct lm_best_entry *entry; /* owned, (room), the first n count: a heap, the worst in front */
};

/* room may be 0: then nothing is ever wanted. */
int lm_best_begin(struct lm_best *best, uint64_t room, int by_accuracy, struct lm_error *err);
void lm_best_end(struct lm_best *best);

/* Would this one be among the K best so far? */
int lm_best_wants(const struct lm_best *best, const struct lm_rating *rating);
/* Takes one that is wanted, in place of the worst where there are K. parameters: (floats), copied; NULL, 0: none. */
int lm_best_put(struct lm_best *best, const struct lm_rating *rating, const float *parameters, uint64_t floats,
                struct lm_error *err);

#endif
