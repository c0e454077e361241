/* spots.c: see spots.h.
 *
 * The reference takes ten times as long as a fast backend, so the chosen samples are put aside while the stream goes
 * on, and checked when it is over: what is measured is the stream. Only where more are asked for than MOST_WAITING do
 * some of them interrupt it.
 */
#include "spots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "cpu_backend.h"
#include "evaluate.h"
#include "shard.h"

#define MOST_WAITING ((uint64_t)100000) /* 32 MB */

static struct lm_check empty_row(const char *name, double error)
{
    struct lm_check row = {.max_abs_error = error};
    snprintf(row.name, sizeof row.name, "%s", name);
    return row;
}

static void merge(struct lm_check *into, const struct lm_check *more)
{
    into->compared += more->compared;
    into->mismatches += more->mismatches;
    if (isnan(more->max_abs_error) || more->max_abs_error > into->max_abs_error)
        into->max_abs_error = more->max_abs_error;
}

/* A rank has about as many as every other; a little more, since they do not share out evenly. */
static uint64_t room_for(uint64_t chosen, uint64_t ranks)
{
    uint64_t room = chosen / ranks + chosen / ranks / 8 + 1024;
    room = room < chosen ? room : chosen;
    return room < MOST_WAITING ? room : MOST_WAITING;
}

int lm_spots_begin(struct lm_spots *spots, const struct lm_world *world, struct lm_shape shape, const float *parameters,
                   uint64_t total, uint64_t chosen, struct lm_error *err)
{
    const struct lm_problem nothing = {0};
    *spots = (struct lm_spots){.shape = shape,
                               .parameters = parameters,
                               .total = total,
                               .chosen = chosen < total ? chosen : total,
                               .bits = empty_row("scores", 0.0),
                               .letters = empty_row("predictions", NAN),
                               .real = empty_row("float64", 0.0)};
    spots->room = (size_t)room_for(spots->chosen, (uint64_t)world->size);
    spots->x = malloc((spots->room * LM_PIXELS + 1) * sizeof *spots->x);
    spots->scores = malloc((spots->room * LM_CLASSES + 1) * sizeof *spots->scores);
    if (!spots->x || !spots->scores)
        return lm_fail_memory(err, spots->room * (LM_PIXELS + LM_CLASSES) * sizeof *spots->x, "samples to be checked");
    return lm_backend_cpu_ref.open(&nothing, &spots->session, err);
}

void lm_spots_end(struct lm_spots *spots)
{
    if (spots->session)
        lm_backend_cpu_ref.close(spots->session);
    free(spots->x);
    free(spots->scores);
    *spots = (struct lm_spots){.chosen = 0};
}

/* ---- checking ---- */

int lm_spots_check(struct lm_spots *spots, struct lm_error *err)
{
    size_t n = spots->used;
    if (n == 0)
        return LM_OK;
    float *again = malloc(n * LM_CLASSES * sizeof *again);
    if (!again)
        return lm_fail_memory(err, n * LM_CLASSES * sizeof *again, "the reference's scores");
    int code = lm_backend_cpu_ref.infer(spots->session, spots->shape, spots->parameters, spots->x, n, again, err);
    if (code == LM_OK) {
        struct lm_check bits = lm_compare_scores(spots->scores, again, n);
        struct lm_check real = lm_compare_double(spots->shape, spots->parameters, spots->x, spots->scores, n);
        merge(&spots->bits, &bits);
        merge(&spots->real, &real);
        for (size_t k = 0; k < n; k++)
            spots->letters.mismatches +=
                lm_predict(spots->scores + k * LM_CLASSES) != lm_predict(again + k * LM_CLASSES);
        spots->letters.compared += n;
    }
    free(again);
    spots->used = 0;
    return code;
}

static void copy_sample(struct lm_spots_from from, size_t k, float *x)
{
    if (from.x)
        memcpy(x, from.x + k * LM_PIXELS, LM_PIXELS * sizeof *x);
    for (size_t p = 0; p < LM_PIXELS && !from.x; p++)
        x[p] = from.grey[p][from.pixel[k * LM_PIXELS + p]];
}

int lm_spots_add(struct lm_spots *spots, uint64_t first, size_t n, struct lm_spots_from from, const float *scores,
                 struct lm_error *err)
{
    if (spots->chosen == 0)
        return LM_OK;
    for (uint64_t j = lm_spread_from(spots->total, spots->chosen, first); j < spots->chosen; j++) {
        uint64_t sample = lm_spread(spots->total, spots->chosen, j);
        if (sample >= first + n)
            break;
        if (spots->used == spots->room && lm_spots_check(spots, err) != LM_OK)
            return err->code;
        size_t k = (size_t)(sample - first);
        copy_sample(from, k, spots->x + spots->used * LM_PIXELS);
        memcpy(spots->scores + spots->used * LM_CLASSES, scores + k * LM_CLASSES, LM_CLASSES * sizeof *scores);
        spots->used++;
    }
    return LM_OK;
}

/* ---- rows ---- */

static int put_row(struct lm_check *row, struct lm_results *results, struct lm_error *err)
{
    row->result = row->mismatches ? LM_CHECK_FAILED : row->compared ? LM_CHECK_PASSED : LM_CHECK_NOT_RUN;
    if (row->compared == 0)
        row->max_abs_error = NAN;
    return lm_results_check(results, row, err);
}

int lm_spots_rows(const struct lm_spots *spots, const struct lm_world *world, int which, struct lm_results *results)
{
    struct lm_check own[3] = {spots->bits, spots->letters, spots->real}, *all = NULL;
    struct lm_error err = {.code = LM_OK};
    int code = LM_OK;
    if (world->rank == 0 && !(all = malloc((size_t)world->size * sizeof own)))
        code = lm_fail_memory(&err, (size_t)world->size * sizeof own, "the checks of the ranks");
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    LM_MPI(world, MPI_Gather(own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, 0, world->comm));
    for (int k = 0; k < 3 && all && code == LM_OK; k++) {
        for (int r = 1; r < world->size; r++)
            merge(&all[k], &all[3 * r + k]);
        if (which & 1 << k)
            code = put_row(&all[k], results, &err);
    }
    free(all);
    return lm_agree(world, code, &err);
}
