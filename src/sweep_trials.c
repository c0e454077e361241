/* sweep_trials.c: all trials of a specification, in order, each once (sweep_spec.h).
 *
 * A grid has no repeats, since its axes have none. What is drawn may come twice: a set of the trials so far, open
 * addressing over their places, tells. It and the list grow with what is kept: a billion draws from four values need
 * room for four.
 */
#include <stdlib.h>
#include <string.h>

#include "sweep_draw.h"
#include "sweep_spec.h"

/* Compared and hashed as bytes: no padding, and no -0 (sweep_draw.c makes none). */
_Static_assert(sizeof(struct lm_trial) == 32, "a trial is eight words");

#define FIRST_ROOM 1024
#define EMPTY                                                                                                          \
    UINT32_MAX /* as a place: only the last of 2^32 different trials has it, and nobody looks for that one             \
                */

struct trial_list {
    struct lm_trial *trial; /* (n of room) */
    uint64_t n, room;
    uint32_t *slot; /* (slots), a power of two, at least twice room: places in trial, or EMPTY */
    uint64_t slots;
};

/* ---- how many ---- */

static int is_drawn(const struct lm_sweep_spec *spec)
{
    return spec->search == LM_SEARCH_RANDOM || spec->search == LM_SEARCH_LATIN ||
           (spec->search == LM_SEARCH_HALVING && spec->trials > 0);
}

/* Borrows the axes: not for lm_grid_free. */
static struct lm_grid grid_of(const struct lm_sweep_spec *spec)
{
    struct lm_grid grid;
    for (int k = 0; k < LM_GRID_AXES; k++)
        *lm_grid_axis(&grid, k) = spec->parameter[k].axis;
    return grid;
}

uint64_t lm_sweep_drawn(const struct lm_sweep_spec *spec)
{
    struct lm_grid grid = grid_of(spec);
    if (!is_drawn(spec))
        return lm_grid_size(&grid);
    return spec->trials > LM_MAX_TRIALS ? LM_MAX_TRIALS + 1 : spec->trials;
}

/* ---- the set ---- */

/* The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 14), over the trial's words. */
static uint64_t hash(const struct lm_trial *trial)
{
    uint64_t word[4], h = 0;
    memcpy(word, trial, sizeof word);
    for (int k = 0; k < 4; k++) {
        h = (h ^ word[k]) + 0x9E3779B97F4A7C15u;
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
        h = (h ^ h >> 27) * 0x94D049BB133111EBu;
        h ^= h >> 31;
    }
    return h;
}

/* The slot of this trial, or the empty one where it would be. */
static uint32_t *slot_of(const struct trial_list *list, const struct lm_trial *trial)
{
    uint64_t k = hash(trial) & (list->slots - 1);
    while (list->slot[k] != EMPTY && memcmp(&list->trial[list->slot[k]], trial, sizeof *trial) != 0)
        k = (k + 1) & (list->slots - 1);
    return &list->slot[k];
}

/* A set for `room` trials, with those so far in it. */
static int make_set(struct trial_list *list, uint64_t room, struct lm_error *err)
{
    free(list->slot);
    for (list->slots = 2; list->slots < 2 * room; list->slots *= 2)
        continue;
    list->slot = list->slots <= SIZE_MAX / sizeof *list->slot ? malloc(list->slots * sizeof *list->slot) : NULL;
    if (!list->slot)
        return lm_fail_memory(err, list->slots * sizeof *list->slot, "the set of trials");
    memset(list->slot, 0xFF, list->slots * sizeof *list->slot);
    for (uint64_t k = 0; k < list->n; k++)
        *slot_of(list, &list->trial[k]) = (uint32_t)k;
    return LM_OK;
}

static int set_room(struct trial_list *list, uint64_t room, struct lm_error *err)
{
    struct lm_trial *trial = room <= SIZE_MAX / sizeof *trial ? realloc(list->trial, room * sizeof *trial) : NULL;
    if (!trial)
        return lm_fail_memory(err, room * sizeof *trial, "the trials");
    list->trial = trial;
    list->room = room;
    return LM_OK;
}

/* most: how many there can ever be. */
static int add(struct trial_list *list, const struct lm_trial *trial, uint64_t most, struct lm_error *err)
{
    uint32_t *slot = list->slot ? slot_of(list, trial) : NULL;
    if (slot && *slot != EMPTY)
        return LM_OK;
    if (list->n == list->room || !slot) {
        uint64_t room = list->room == 0 ? FIRST_ROOM : list->n == list->room ? 2 * list->room : list->room;
        int code = set_room(list, room < most ? room : most, err);
        if (code == LM_OK)
            code = make_set(list, list->room, err);
        if (code != LM_OK)
            return code;
        slot = slot_of(list, trial);
    }
    *slot = (uint32_t)list->n;
    list->trial[list->n++] = *trial;
    return LM_OK;
}

/* ---- the searches ---- */

static int all_of_grid(const struct lm_sweep_spec *spec, struct trial_list *list, uint64_t n, struct lm_error *err)
{
    struct lm_grid grid = grid_of(spec);
    int code = set_room(list, n, err);
    if (code == LM_OK)
        for (list->n = 0; list->n < n; list->n++)
            list->trial[list->n] = lm_grid_trial(&grid, list->n);
    return code;
}

static int all_random(const struct lm_draws *draws, struct trial_list *list, uint64_t n, struct lm_error *err)
{
    int code = LM_OK;
    for (uint64_t t = 0; t < n && code == LM_OK; t++) {
        struct lm_trial trial = lm_draws_random(draws, t);
        code = add(list, &trial, n, err);
    }
    return code;
}

/* Drawn into the list's own room; each then moves up to where it stays, which is never behind it. */
static int all_latin(const struct lm_draws *draws, struct trial_list *list, uint64_t n, struct lm_error *err)
{
    int code = set_room(list, n, err);
    if (code == LM_OK)
        code = lm_draws_latin(draws, list->trial, err);
    for (uint64_t t = 0; t < n && code == LM_OK; t++) {
        struct lm_trial trial = list->trial[t];
        code = add(list, &trial, n, err);
    }
    return code;
}

/* What sweep_yaml.c refuses with the line; for a specification that was made otherwise. */
static int check(const struct lm_sweep_spec *spec, uint64_t n, struct lm_error *err)
{
    for (int k = 0; k < LM_GRID_AXES; k++) {
        const struct lm_parameter *p = &spec->parameter[k];
        if (p->continuous ? !is_drawn(spec) : p->axis.n == 0)
            return lm_fail(err, LM_BAD_INPUT, "%s: %s", lm_grid_name[k],
                           p->continuous ? "a grid needs a count of values" : "no values");
    }
    if (n == 0)
        return lm_fail(err, LM_BAD_INPUT, "search %s needs a number of trials", lm_search_text((int)spec->search));
    if (n > LM_MAX_TRIALS || (spec->search == LM_SEARCH_LATIN && n > UINT32_MAX))
        return lm_fail(err, LM_BAD_INPUT, "more than %llu trials",
                       (unsigned long long)(n > LM_MAX_TRIALS ? LM_MAX_TRIALS : UINT32_MAX));
    return LM_OK;
}

int lm_sweep_trials(const struct lm_sweep_spec *spec, struct lm_trial **trial, uint64_t *n, uint64_t *drawn,
                    struct lm_error *err)
{
    struct trial_list list = {NULL, 0, 0, NULL, 0};
    uint64_t wanted = lm_sweep_drawn(spec);
    *trial = NULL;
    *n = *drawn = 0;
    int code = check(spec, wanted, err);
    if (code == LM_OK && !is_drawn(spec)) {
        code = all_of_grid(spec, &list, wanted, err);
    } else if (code == LM_OK) {
        struct lm_draws draws;
        lm_draws_begin(&draws, spec);
        code = spec->search == LM_SEARCH_LATIN ? all_latin(&draws, &list, wanted, err)
                                               : all_random(&draws, &list, wanted, err);
    }
    free(list.slot);
    if (code == LM_OK && list.n < list.room)
        code = set_room(&list, list.n, err);
    if (code != LM_OK) {
        free(list.trial);
        return code;
    }
    *trial = list.trial;
    *n = list.n;
    *drawn = wanted;
    return LM_OK;
}
