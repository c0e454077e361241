/* pack.h: what is put into a packed file: drawn hands, or the images of a folder; block by block, in any order. */
#ifndef LM_PACK_H
#define LM_PACK_H

#include <stdint.h>

#include "dataset.h"
#include "packed.h"
#include "status.h"

/* Letters that take turns: A, B, ..., W, A, B, ...; one that has no image left is passed over. So every beginning of
 * the file has about as many images of each letter. */
struct lm_turn {
    int letter;
    uint64_t k; /* the letter's k-th image */
};
/* Whose turn sample i is; i is below the sum of count[]. */
struct lm_turn lm_turn_of(const uint64_t count[LM_CLASSES], uint64_t i);
/* The one after it. */
struct lm_turn lm_turn_next(const uint64_t count[LM_CLASSES], struct lm_turn turn);

/* Block b of drawn hands (synth.h) whose letters take turns. pixel: (n, 64) uint8_t or float, as the layout says;
 * label: (n). */
void lm_pack_drawn(const uint64_t count[LM_CLASSES], uint32_t seed, const struct lm_packed_layout *layout, uint64_t b,
                   void *pixel, uint8_t *label);

/* Block b of a data set, in its own order: sample i of the file is sample i of the folder. uint8: a value that is no
 * whole number from 0 to 255 is LM_BAD_INPUT. float32: values go to the nearest one; *rounded is increased by the
 * number of those that changed; one beyond all of them is LM_BAD_INPUT. */
int lm_pack_dataset(const struct lm_dataset *data, const struct lm_packed_layout *layout, uint64_t b, void *pixel,
                    uint8_t *label, uint64_t *rounded, struct lm_error *err);

#endif
