/* split.h: which samples train, which are held out for selection, which test. Indices count from 0 in the data set. */
#ifndef LM_SPLIT_H
#define LM_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"
#include "status.h"

enum lm_split_kind { LM_SPLIT_RANDOM, LM_SPLIT_TAIL, LM_SPLIT_KINDS };
const char *lm_split_text(int kind); /* "random", "tail" */

struct lm_split {
    size_t n_train, n_validation, n_test;
    uint32_t *train, *validation, *test; /* owned, (n_train), (n_validation), (n_test) */
};

/* The lab's split: one mt19937(split_seed); for each letter in order its n samples are shuffled, the first max(1, n/5)
 * become test, the rest train, each in that order. With 0 < holdout < 1 the last max(1, floor(holdout * m)) of each
 * letter's m training samples are taken out of train and become validation (at least one stays in train, or
 * LM_BAD_INPUT names the letter); holdout 0: no validation. The test part does not depend on holdout. */
int lm_split_make(const uint64_t count[LM_CLASSES], uint32_t split_seed, double holdout, struct lm_split *out,
                  struct lm_error *err);

/* By position: the last max(1, n/5) of each letter's n samples, as the data set has them, become test, the rest train;
 * of those the last become validation, as many as above. All in the order of the data set. Where samples are frames of
 * a video, the test is then of other moments than the training: no near-duplicates on both sides but where they meet.
 */
int lm_split_make_tail(const uint64_t count[LM_CLASSES], double holdout, struct lm_split *out, struct lm_error *err);

/* Either, by its kind; split_seed is not looked at for a tail. */
int lm_split_make_kind(enum lm_split_kind kind, const uint64_t count[LM_CLASSES], uint32_t split_seed, double holdout,
                       struct lm_split *out, struct lm_error *err);

void lm_split_free(struct lm_split *split);

#endif
