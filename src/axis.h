/* axis.h: one hyperparameter's values, and the grid that several of them span. */
#ifndef LM_AXIS_H
#define LM_AXIS_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "trial.h"

enum lm_axis_kind {
    LM_AXIS_REAL,  /* float: learning rate, decay, initial range */
    LM_AXIS_WHOLE, /* uint32_t: epochs, seed, block */
    LM_AXIS_SHAPE  /* hidden layers: "32x16" */
};

/* What an axis is called and what its values may be. */
struct lm_axis_rule {
    const char *name; /* for messages: "--learning-rate" */
    enum lm_axis_kind kind;
    double least, most; /* both allowed, but see least_excluded */
    int least_excluded;
    uint32_t step; /* whole numbers: a multiple of this */
};

struct lm_axis {
    size_t n;
    /* the values, owned: the one of the kind; all different, in the order given */
    float *real;
    uint32_t *whole;
    struct lm_shape *shape;
};

/* text: one value; a list "32,64,128"; whole numbers "1:32" (by rule->step); "A:B:logN" or "A:B:linN", N values from A
 * to B, both included. A value that comes twice counts once. LM_BAD_INPUT names the rule, the value and what is
 * allowed. Spaced values are computed with + - * / alone, so that they are the same bits everywhere. */
int lm_axis_parse(const struct lm_axis_rule *rule, const char *text, struct lm_axis *out, struct lm_error *err);
void lm_axis_free(struct lm_axis *axis);

/* The product of the axes. Trial t counts with the last axis (block) fastest. */
struct lm_grid {
    struct lm_axis learning_rate, decay, initial_range, epochs, hidden, seed, block;
};
#define LM_GRID_AXES 7
extern const struct lm_axis_rule lm_grid_rule[LM_GRID_AXES]; /* in the order of struct lm_grid */
extern const char *const lm_grid_name[LM_GRID_AXES];         /* "learning_rate": as in files */
struct lm_axis *lm_grid_axis(struct lm_grid *grid, int k);   /* the k-th axis, in the same order */

#define LM_MAX_TRIALS (UINT64_C(1) << 32)
uint64_t lm_grid_size(const struct lm_grid *grid); /* at most LM_MAX_TRIALS; LM_MAX_TRIALS + 1 means more */
struct lm_trial lm_grid_trial(const struct lm_grid *grid, uint64_t t);
/* Trials of one shape, numbered among themselves in the order of t: *group is the shape's place in grid->hidden. */
uint64_t lm_grid_row(const struct lm_grid *grid, uint64_t t, size_t *group);
void lm_grid_free(struct lm_grid *grid);

#endif
