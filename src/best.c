/* best.c: see best.h. */
#include "best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double or_infinite(double value, double infinite)
{
    return isnan(value) ? infinite : value;
}

int lm_rating_better(int by_accuracy, const struct lm_rating *a, const struct lm_rating *b)
{
    if (a->rung != b->rung)
        return a->rung > b->rung;
    double x = or_infinite(a->accuracy, -INFINITY), y = or_infinite(b->accuracy, -INFINITY);
    if (by_accuracy && x != y)
        return x > y;
    x = or_infinite(a->loss, INFINITY);
    y = or_infinite(b->loss, INFINITY);
    return x != y ? x < y : a->trial < b->trial;
}

int lm_best_begin(struct lm_best *best, uint64_t room, int by_accuracy, struct lm_error *err)
{
    *best = (struct lm_best){.by_accuracy = by_accuracy, .room = room};
    best->entry = calloc(room ? room : 1, sizeof *best->entry);
    return best->entry ? LM_OK : lm_fail_memory(err, room * sizeof *best->entry, "the best trials");
}

void lm_best_end(struct lm_best *best)
{
    for (uint64_t k = 0; best->entry && k < best->n; k++)
        free(best->entry[k].parameters);
    free(best->entry);
    *best = (struct lm_best){.n = 0};
}

int lm_best_wants(const struct lm_best *best, const struct lm_rating *rating)
{
    return best->n < best->room || (best->n > 0 && lm_rating_better(best->by_accuracy, rating, &best->entry[0].rating));
}

/* ---- the heap: every entry is worse than the two below it ---- */

static int worse(const struct lm_best *best, uint64_t a, uint64_t b)
{
    return lm_rating_better(best->by_accuracy, &best->entry[b].rating, &best->entry[a].rating);
}

static void swap(struct lm_best *best, uint64_t a, uint64_t b)
{
    struct lm_best_entry kept = best->entry[a];
    best->entry[a] = best->entry[b];
    best->entry[b] = kept;
}

static void rise(struct lm_best *best, uint64_t k)
{
    for (; k > 0 && worse(best, k, (k - 1) / 2); k = (k - 1) / 2)
        swap(best, k, (k - 1) / 2);
}

static void sink(struct lm_best *best, uint64_t k)
{
    for (;;) {
        uint64_t worst = k;
        for (uint64_t child = 2 * k + 1; child <= 2 * k + 2 && child < best->n; child++)
            if (worse(best, child, worst))
                worst = child;
        if (worst == k)
            return;
        swap(best, k, worst);
        k = worst;
    }
}

int lm_best_put(struct lm_best *best, const struct lm_rating *rating, const float *parameters, uint64_t floats,
                struct lm_error *err)
{
    float *copy = NULL;
    if (parameters) {
        if (!(copy = malloc(floats * sizeof *copy)))
            return lm_fail_memory(err, floats * sizeof *copy, "a trial's weights");
        memcpy(copy, parameters, floats * sizeof *copy);
    }
    struct lm_best_entry entry = {*rating, copy};
    if (best->n < best->room) {
        best->entry[best->n] = entry;
        rise(best, best->n++);
        return LM_OK;
    }
    free(best->entry[0].parameters);
    best->entry[0] = entry;
    sink(best, 0);
    return LM_OK;
}
