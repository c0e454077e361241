/* checkpoint_index.h: where in the log a trial's record is: a hash table of 24 bytes a place. For checkpoint.c alone.
 */
#ifndef LM_CHECKPOINT_INDEX_H
#define LM_CHECKPOINT_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "trial.h"

struct lm_checkpoint_place {
    uint64_t offset; /* of the record in the file; 0: an empty place */
    uint32_t hash;   /* of the trial without its epochs: what is trained, whatever its length */
    uint32_t epochs, epochs_run;
    uint8_t ended, has_parameters;
};

struct lm_checkpoint_index {
    struct lm_checkpoint_place *place; /* owned, (room): open addressing, at most half full */
    size_t room, used;
};

uint32_t lm_checkpoint_hash(const struct lm_trial *trial);

int lm_checkpoint_index_begin(struct lm_checkpoint_index *index, struct lm_error *err);
void lm_checkpoint_index_end(struct lm_checkpoint_index *index);
/* The next place with this hash, from *at on (0 to begin with: the caller passes it on); NULL: no more. */
struct lm_checkpoint_place *lm_checkpoint_index_next(const struct lm_checkpoint_index *index, uint32_t hash,
                                                     size_t *at);
int lm_checkpoint_index_add(struct lm_checkpoint_index *index, const struct lm_checkpoint_place *place,
                            struct lm_error *err);

#endif
