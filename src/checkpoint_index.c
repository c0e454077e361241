/* checkpoint_index.c: see checkpoint_index.h. */
#include "checkpoint_index.h"

#include <stdlib.h>
#include <string.h>

#include "crc32c.h"

#define FIRST_ROOM 1024 /* a power of two, as all sizes are */

/* 0 and -0 are one value. */
static float plain_zero(float value)
{
    return value + 0.0f;
}

uint32_t lm_checkpoint_hash(const struct lm_trial *trial)
{
    const float real[3] = {plain_zero(trial->learning_rate), plain_zero(trial->decay),
                           plain_zero(trial->initial_range)};
    const uint32_t whole[4] = {trial->seed, trial->block, trial->shape.hidden1, trial->shape.hidden2};
    uint32_t sum = lm_crc32c(0, real, sizeof real);
    return lm_crc32c(sum, whole, sizeof whole);
}

int lm_checkpoint_index_begin(struct lm_checkpoint_index *index, struct lm_error *err)
{
    *index = (struct lm_checkpoint_index){.room = FIRST_ROOM};
    index->place = calloc(index->room, sizeof *index->place);
    return index->place ? LM_OK : lm_fail_memory(err, index->room * sizeof *index->place, "the checkpoint's index");
}

void lm_checkpoint_index_end(struct lm_checkpoint_index *index)
{
    free(index->place);
    *index = (struct lm_checkpoint_index){.room = 0};
}

/* A sum is linear in its bits: its low ones alone would put trials that differ in one number side by side. */
static size_t home_of(const struct lm_checkpoint_index *index, uint32_t hash)
{
    return (size_t)((hash * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (index->room - 1);
}

struct lm_checkpoint_place *lm_checkpoint_index_next(const struct lm_checkpoint_index *index, uint32_t hash, size_t *at)
{
    for (size_t home = home_of(index, hash); *at < index->room; (*at)++) {
        struct lm_checkpoint_place *place = &index->place[(home + *at) & (index->room - 1)];
        if (place->offset == 0)
            return NULL;
        if (place->hash == hash) {
            (*at)++;
            return place;
        }
    }
    return NULL;
}

static void put(struct lm_checkpoint_index *index, const struct lm_checkpoint_place *place)
{
    size_t k = home_of(index, place->hash);
    while (index->place[k].offset != 0)
        k = (k + 1) & (index->room - 1);
    index->place[k] = *place;
}

static int grow(struct lm_checkpoint_index *index, struct lm_error *err)
{
    struct lm_checkpoint_index larger = {.room = 2 * index->room, .used = index->used};
    larger.place = calloc(larger.room, sizeof *larger.place);
    if (!larger.place)
        return lm_fail_memory(err, larger.room * sizeof *larger.place, "the checkpoint's index");
    for (size_t k = 0; k < index->room; k++)
        if (index->place[k].offset != 0)
            put(&larger, &index->place[k]);
    free(index->place);
    *index = larger;
    return LM_OK;
}

int lm_checkpoint_index_add(struct lm_checkpoint_index *index, const struct lm_checkpoint_place *place,
                            struct lm_error *err)
{
    if (2 * (index->used + 1) > index->room && grow(index, err) != LM_OK)
        return err->code;
    put(index, place);
    index->used++;
    return LM_OK;
}
