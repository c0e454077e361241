/* model_work.c: see model_work.h. */
#include "model_work.h"

#include <math.h>
#include <stdlib.h>

static double flops_of(struct lm_shape shape)
{
    return lm_cost_step(shape).flops;
}

static size_t find(const struct lm_work *work, const struct lm_trial *trial)
{
    size_t k = 0;
    while (k < work->kinds &&
           !(lm_shape_equal(work->kind[k].shape, trial->shape) && work->kind[k].block == trial->block))
        k++;
    return k;
}

static size_t nearest(const struct lm_work *work, const struct lm_trial *trial)
{
    size_t best = 0;
    double flops = flops_of(trial->shape);
    for (size_t k = 1; k < work->kinds; k++)
        if (fabs(flops_of(work->kind[k].shape) - flops) < fabs(flops_of(work->kind[best].shape) - flops))
            best = k;
    return best;
}

static int make_room(struct lm_work *work, struct lm_error *err)
{
    if (work->kinds < work->room)
        return LM_OK;
    size_t room = work->room ? 2 * work->room : 16;
    struct lm_training_work *more = realloc(work->kind, room * sizeof *more);
    if (!more)
        return lm_fail_memory(err, room * sizeof *more, "kinds of trainings");
    work->kind = more;
    work->room = room;
    return LM_OK;
}

int lm_work_add(struct lm_work *work, const struct lm_trial *trial, double epochs, struct lm_error *err)
{
    char fault[160];
    if (lm_trial_fault(trial, fault, sizeof fault))
        return LM_OK;
    size_t k = find(work, trial);
    if (k == LM_WORK_KINDS)
        k = nearest(work, trial);
    else if (k == work->kinds) {
        if (make_room(work, err) != LM_OK)
            return err->code;
        work->kind[work->kinds++] = (struct lm_training_work){.shape = trial->shape, .block = trial->block, .first = 1};
    }
    work->kind[k].replicas += 1.0;
    work->kind[k].epochs += epochs; /* their sum, until the end */
    return LM_OK;
}

void lm_work_end(struct lm_work *work, double samples, double share)
{
    work->trainings = work->epochs = 0.0;
    for (size_t k = 0; k < work->kinds; k++) {
        struct lm_training_work *kind = &work->kind[k];
        kind->samples = samples;
        kind->epochs /= kind->replicas;
        kind->replicas = fmax(1.0, round(share * kind->replicas));
        work->trainings += kind->replicas;
        work->epochs += kind->replicas * kind->epochs;
    }
    work->steps = work->epochs * samples;
}

void lm_work_free(struct lm_work *work)
{
    free(work->kind);
    *work = (struct lm_work){0};
}
