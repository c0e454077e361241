/* statistics.c: see statistics.h. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Student's t ---- */

double lm_student_t(uint64_t degrees)
{
    static const double exact[] = {
        12.706204736174705, 4.3026527297494639, 3.1824463052837096, 2.7764451051977944, 2.5705818356363155,
        2.44691185114497,   2.3646242515927853, 2.3060041352041667, 2.2621571627982055, 2.2281388519862747,
        2.2009851600916399, 2.1788128296672289, 2.1603686564627925, 2.1447866879178038, 2.1314495455597757,
        2.1199052992212547, 2.1098155778333171, 2.1009220402410385, 2.0930240544083098, 2.0859634472658648,
        2.0796138447276804, 2.0738730679040262, 2.0686576104190487, 2.0638985616280258, 2.0595385527532977,
        2.0555294386428732, 2.0518305164802856, 2.0484071417952452, 2.0452296421327043, 2.0422724563012383,
    };
    /* The expansion of Cornish and Fisher: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5, at the
     * normal quantile x = 1.95996...: x + g1/v + g2/v^2 + g3/v^3 + g4/v^4 with
     *   g1 = (x^3 + x) / 4                        g3 = (3x^7 + 19x^5 + 17x^3 - 15x) / 384
     *   g2 = (5x^5 + 16x^3 + 3x) / 96             g4 = (79x^9 + 776x^7 + 1482x^5 - 1920x^3 - 945x) / 92160
     * From 31 degrees on it is off by less than 3e-8. */
    static const double x = 1.9599639845400543, g1 = 2.3722712302985626, g2 = 2.8224986157396117,
                        g3 = 2.5558496795077233, g4 = 1.5895340533938235;
    if (degrees == 0)
        return NAN;
    if (degrees <= sizeof exact / sizeof *exact)
        return exact[degrees - 1];
    double v = (double)degrees;
    return x + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}

/* ---- which trials belong together ---- */

#define KEY_WORDS 7

/* As bits, so that a NaN is itself; -0 is 0. */
static uint32_t bits_of(float x)
{
    uint32_t bits = 0;
    if (x != 0.0f)
        memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* All parameters but the seed. */
static void key_of(const struct lm_trial *trial, uint32_t key[KEY_WORDS])
{
    key[0] = bits_of(trial->learning_rate);
    key[1] = bits_of(trial->decay);
    key[2] = bits_of(trial->initial_range);
    key[3] = trial->epochs;
    key[4] = trial->block;
    key[5] = trial->shape.hidden1;
    key[6] = trial->shape.hidden2;
}

/* The configurations so far, and where each is found: place is a hash table with open addressing, of a power of two of
 * slots, at most half of them filled, each a configuration's number + 1, or 0. */
struct set {
    const struct lm_trial *trial;
    struct lm_configuration *configuration;
    uint64_t n, room;
    uint64_t *place, slots;
};

static uint64_t hash(const uint32_t key[KEY_WORDS])
{
    uint64_t h = 0;
    for (int i = 0; i < KEY_WORDS; i++) {
        h = (h ^ key[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
    }
    return h;
}

/* The slot of this key: that of its configuration, or the free one where it belongs. */
static uint64_t slot_of(const struct set *set, const uint32_t key[KEY_WORDS])
{
    uint64_t slot = hash(key) & (set->slots - 1);
    for (; set->place[slot]; slot = (slot + 1) & (set->slots - 1)) {
        uint32_t other[KEY_WORDS];
        key_of(&set->trial[set->configuration[set->place[slot] - 1].first], other);
        if (memcmp(key, other, sizeof other) == 0)
            break;
    }
    return slot;
}

static struct lm_configuration *find(const struct set *set, uint64_t t)
{
    uint32_t key[KEY_WORDS];
    key_of(&set->trial[t], key);
    return &set->configuration[set->place[slot_of(set, key)] - 1];
}

/* Room for twice as many. */
static int grow(struct set *set, struct lm_error *err)
{
    uint64_t room = set->room ? 2 * set->room : 64;
    struct lm_configuration *bigger = realloc(set->configuration, room * sizeof *bigger);
    if (!bigger)
        return lm_fail_memory(err, room * sizeof *bigger, "the configurations");
    set->configuration = bigger;
    free(set->place);
    set->slots = 2 * room;
    set->place = calloc(set->slots, sizeof *set->place);
    if (!set->place)
        return lm_fail_memory(err, set->slots * sizeof *set->place, "the configurations");
    set->room = room;
    for (uint64_t c = 0; c < set->n; c++) {
        uint32_t key[KEY_WORDS];
        key_of(&set->trial[set->configuration[c].first], key);
        set->place[slot_of(set, key)] = c + 1;
    }
    return LM_OK;
}

/* The configuration of trial t, a new one if it is the first of it. NULL without memory. */
static struct lm_configuration *find_or_add(struct set *set, uint64_t t, struct lm_error *err)
{
    uint32_t key[KEY_WORDS];
    if (set->n == set->room && grow(set, err) != LM_OK)
        return NULL;
    key_of(&set->trial[t], key);
    uint64_t slot = slot_of(set, key);
    if (!set->place[slot]) {
        set->configuration[set->n] = (struct lm_configuration){.first = t};
        set->place[slot] = ++set->n;
    }
    return &set->configuration[set->place[slot] - 1];
}

/* ---- means ---- */

/* One NaN, whatever the machine made (arithmetic.h, 6). */
static double one_nan(double x)
{
    return isnan(x) ? NAN : x;
}

/* Counts, and the sums, which stand in the means until they are divided. */
static int tally(struct set *set, const struct lm_outcome *outcome, const uint32_t *rung, uint64_t n,
                 struct lm_error *err)
{
    for (uint64_t t = 0; t < n; t++) {
        struct lm_configuration *c = find_or_add(set, t, err);
        if (!c)
            return err->code;
        c->trials++;
        c->diverged += outcome[t].status == LM_TRIAL_DIVERGED;
        c->failed += outcome[t].status == LM_TRIAL_FAILED;
        if (rung && rung[t] > c->rung)
            c->rung = rung[t];
        if (outcome[t].status != LM_TRIAL_OK)
            continue;
        c->ok++;
        c->loss_mean += outcome[t].validation_loss;
        c->accuracy_mean += outcome[t].validation_accuracy;
    }
    for (uint64_t k = 0; k < set->n; k++) {
        struct lm_configuration *c = &set->configuration[k];
        c->loss_mean = c->ok ? one_nan(c->loss_mean / (double)c->ok) : NAN;
        c->accuracy_mean = c->ok ? one_nan(c->accuracy_mean / (double)c->ok) : NAN;
    }
    return LM_OK;
}

/* From the sum of the squared deviations, which stands in *sd. */
static void spread(uint64_t n, double mean, double *sd, double *low, double *high)
{
    if (n < 2) {
        *sd = *low = *high = NAN;
        return;
    }
    *sd = one_nan(sqrt(*sd / (double)(n - 1)));
    double half = lm_student_t(n - 1) * *sd / sqrt((double)n);
    *low = one_nan(mean - half);
    *high = one_nan(mean + half);
}

static void measure(struct set *set, const struct lm_outcome *outcome, uint64_t n)
{
    for (uint64_t t = 0; t < n; t++) {
        if (outcome[t].status != LM_TRIAL_OK)
            continue;
        struct lm_configuration *c = find(set, t);
        double loss = outcome[t].validation_loss - c->loss_mean;
        double accuracy = outcome[t].validation_accuracy - c->accuracy_mean;
        c->loss_sd += loss * loss;
        c->accuracy_sd += accuracy * accuracy;
    }
    for (uint64_t k = 0; k < set->n; k++) {
        struct lm_configuration *c = &set->configuration[k];
        spread(c->ok, c->loss_mean, &c->loss_sd, &c->loss_low, &c->loss_high);
        spread(c->ok, c->accuracy_mean, &c->accuracy_sd, &c->accuracy_low, &c->accuracy_high);
    }
}

int lm_statistics_make(const struct lm_trial *trial, const struct lm_outcome *outcome, const uint32_t *rung, uint64_t n,
                       struct lm_configuration **out, uint64_t *n_out, struct lm_error *err)
{
    struct set set = {.trial = trial};
    *out = NULL;
    *n_out = 0;
    int status = grow(&set, err);
    if (status == LM_OK)
        status = tally(&set, outcome, rung, n, err);
    if (status == LM_OK)
        measure(&set, outcome, n);
    free(set.place);
    if (status != LM_OK) {
        free(set.configuration);
        return status;
    }
    struct lm_configuration *fitting = realloc(set.configuration, (set.n ? set.n : 1) * sizeof *fitting);
    *out = fitting ? fitting : set.configuration;
    *n_out = set.n;
    return LM_OK;
}

/* ---- the best k of something ---- */

/* A trial or a configuration, by what it is ranked by, so that a comparison looks nowhere else. */
struct entry {
    int without;         /* 1: a configuration without an ok trial: behind all others */
    uint32_t rung;       /* the higher in front */
    double first, score; /* the lower in front, NaN behind every number */
    uint64_t number;     /* the lower in front */
};

static struct entry entry_of(uint64_t number, uint32_t rung, int by_accuracy, double loss, double accuracy)
{
    return (struct entry){.rung = rung, .first = by_accuracy ? -accuracy : loss, .score = loss, .number = number};
}

/* -1 if a is in front of b, 1 behind it, 0 neither. */
static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare(const struct entry *a, const struct entry *b)
{
    int order = a->without - b->without;
    if (!order)
        order = (a->rung < b->rung) - (a->rung > b->rung);
    if (!order)
        order = compare_numbers(a->first, b->first);
    if (!order)
        order = compare_numbers(a->score, b->score);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_places(const void *a, const void *b)
{
    return compare(a, b);
}

/* The best so far: a heap with the worst of them on top, once there are k. */
struct board {
    struct entry *entry; /* owned, (k) */
    uint64_t n, k;
};

/* The entry at `at` goes down until none below it is worse. */
static void sink(struct board *board, uint64_t at)
{
    struct entry *heap = board->entry, moving = heap[at];
    for (uint64_t below; (below = 2 * at + 1) < board->n; at = below) {
        if (below + 1 < board->n && compare(&heap[below], &heap[below + 1]) < 0)
            below++;
        if (compare(&moving, &heap[below]) >= 0)
            break;
        heap[at] = heap[below];
    }
    heap[at] = moving;
}

static void offer(struct board *board, struct entry entry)
{
    if (board->n < board->k) {
        board->entry[board->n++] = entry;
        for (uint64_t at = board->k / 2; board->n == board->k && at-- > 0;)
            sink(board, at);
    } else if (board->k > 0 && compare(&entry, &board->entry[0]) < 0) {
        board->entry[0] = entry;
        sink(board, 0);
    }
}

static int open_board(struct board *board, uint64_t candidates, uint64_t k, struct lm_error *err)
{
    *board = (struct board){.k = k < candidates ? k : candidates};
    board->entry = malloc((board->k ? board->k : 1) * sizeof *board->entry);
    return board->entry ? LM_OK : lm_fail_memory(err, board->k * sizeof *board->entry, "the leaderboard");
}

/* The numbers, the best first. */
static int close_board(struct board *board, uint64_t **out, uint64_t *count, struct lm_error *err)
{
    *count = 0;
    *out = malloc((board->n ? board->n : 1) * sizeof **out);
    if (*out) {
        qsort(board->entry, board->n, sizeof *board->entry, compare_places);
        for (uint64_t i = 0; i < board->n; i++)
            (*out)[i] = board->entry[i].number;
        *count = board->n;
    }
    free(board->entry);
    return *out ? LM_OK : lm_fail_memory(err, board->n * sizeof **out, "the leaderboard");
}

int lm_leaderboard_make(const struct lm_outcome *outcome, const uint32_t *rung, uint64_t n, int by_accuracy, uint64_t k,
                        uint64_t **trial, uint64_t *count, struct lm_error *err)
{
    struct board board;
    uint64_t ok = 0;
    *trial = NULL;
    *count = 0;
    for (uint64_t t = 0; t < n; t++)
        ok += outcome[t].status == LM_TRIAL_OK;
    int status = open_board(&board, ok, k, err);
    if (status != LM_OK)
        return status;
    for (uint64_t t = 0; t < n; t++)
        if (outcome[t].status == LM_TRIAL_OK)
            offer(&board, entry_of(t, rung ? rung[t] : 0, by_accuracy, outcome[t].validation_loss,
                                   outcome[t].validation_accuracy));
    return close_board(&board, trial, count, err);
}

int lm_configurations_order(const struct lm_configuration *configuration, uint64_t n, int by_accuracy, uint64_t k,
                            uint64_t **order, uint64_t *count, struct lm_error *err)
{
    struct board board;
    *order = NULL;
    *count = 0;
    int status = open_board(&board, n, k, err);
    if (status != LM_OK)
        return status;
    for (uint64_t i = 0; i < n; i++) {
        const struct lm_configuration *c = &configuration[i];
        struct entry entry = entry_of(i, c->rung, by_accuracy, c->loss_mean, c->accuracy_mean);
        entry.without = c->ok == 0;
        offer(&board, entry);
    }
    return close_board(&board, order, count, err);
}
