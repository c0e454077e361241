/* grid.c: the product of the axes (axis.h): a trial is computed from its number, so a million of them need no memory.
 */
#include "axis.h"

const char *const lm_grid_name[LM_GRID_AXES] = {"learning_rate", "decay", "initial_range", "epochs",
                                                "hidden",        "seed",  "block"};

struct lm_axis *lm_grid_axis(struct lm_grid *grid, int k)
{
    struct lm_axis *const axis[LM_GRID_AXES] = {&grid->learning_rate, &grid->decay, &grid->initial_range, &grid->epochs,
                                                &grid->hidden,        &grid->seed,  &grid->block};
    return axis[k];
}

uint64_t lm_grid_size(const struct lm_grid *grid)
{
    const size_t n[LM_GRID_AXES] = {grid->learning_rate.n, grid->decay.n, grid->initial_range.n, grid->epochs.n,
                                    grid->hidden.n,        grid->seed.n,  grid->block.n};
    uint64_t size = 1;
    for (int k = 0; k < LM_GRID_AXES; k++) {
        if (n[k] == 0)
            return 0;
        if (size > LM_MAX_TRIALS / n[k])
            return LM_MAX_TRIALS + 1;
        size *= n[k];
    }
    return size;
}

/* The next digit of t in the mixed radix of the axes, the fastest first. */
static size_t take(uint64_t *t, size_t n)
{
    size_t digit = (size_t)(*t % n);
    *t /= n;
    return digit;
}

struct lm_trial lm_grid_trial(const struct lm_grid *grid, uint64_t t)
{
    struct lm_trial trial;
    trial.block = grid->block.whole[take(&t, grid->block.n)];
    trial.seed = grid->seed.whole[take(&t, grid->seed.n)];
    trial.shape = grid->hidden.shape[take(&t, grid->hidden.n)];
    trial.epochs = grid->epochs.whole[take(&t, grid->epochs.n)];
    trial.initial_range = grid->initial_range.real[take(&t, grid->initial_range.n)];
    trial.decay = grid->decay.real[take(&t, grid->decay.n)];
    trial.learning_rate = grid->learning_rate.real[take(&t, grid->learning_rate.n)];
    return trial;
}

uint64_t lm_grid_row(const struct lm_grid *grid, uint64_t t, size_t *group)
{
    uint64_t faster = (uint64_t)grid->seed.n * grid->block.n; /* the axes that vary faster than the shape */
    uint64_t low = t % faster, high = t / faster;
    *group = take(&high, grid->hidden.n);
    return high * faster + low;
}

void lm_grid_free(struct lm_grid *grid)
{
    for (int k = 0; k < LM_GRID_AXES; k++)
        lm_axis_free(lm_grid_axis(grid, k));
}
