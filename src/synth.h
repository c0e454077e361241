/* synth.h: the project's own data set: hands drawn from a description of each letter's fingers. */
#ifndef LM_SYNTH_H
#define LM_SYNTH_H

#include <stdint.h>

#include "dataset.h"
#include "status.h"

/* The counts of the built-in set, which are the real set's: A 540, B 589, C 500, D 504, E 609, I 260, L 150, M 197,
 * N 156, O 150, R 154, S 151, U 150, V 150, W 150; 4,410 in all, 3,532 for training. */
extern const uint64_t lm_synth_default_count[LM_CLASSES];
#define LM_SYNTH_DEFAULT_SEED 1

/* Draws count[c] images of each letter: varied size, turn, place, light and noise, area-averaged to 8 x 8 grey values
 * 0 ... 255, whole numbers. A pure function of (count, seed): the same bytes on every machine, compiler and
 * optimisation level; image k of a letter does not depend on the counts. Fills out->digest and out->path. */
int lm_synth(const uint64_t count[LM_CLASSES], uint32_t seed, struct lm_dataset *out, struct lm_error *err);

/* Image k of one letter (its place in LM_LETTERS), the same as above: for those who do not want all at once. */
void lm_synth_image(uint32_t seed, int letter, uint64_t k, double pixel[LM_PIXELS]);

#endif
