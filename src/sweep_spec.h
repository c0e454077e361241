/* sweep_spec.h: what a sweep file asks for, and the trials that it stands for. sweep_yaml.h reads the file.
 *
 * A grid is the product of the parameters' values. Random search and the Latin hypercube draw trials from them (from a
 * range too, where a parameter is continuous). Successive halving trains the trials of a grid, or drawn ones, up to a
 * first number of epochs, keeps the best part of them, trains those on, and so on: its trials are all those that start.
 *
 * The same file stands for the same trials, bit for bit and in the same order, on every machine (sweep_draw.h).
 *
 * A value may be any number that its type holds. A trial that cannot be trained (block 48) is a trial all the same: its
 * row says why (lm_trial_fault), and the others are trained.
 */
#ifndef LM_SWEEP_SPEC_H
#define LM_SWEEP_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "axis.h"
#include "keep_kind.h"
#include "status.h"
#include "trial.h"

enum lm_search { LM_SEARCH_GRID, LM_SEARCH_RANDOM, LM_SEARCH_LATIN, LM_SEARCH_HALVING, LM_SEARCHES };
const char *lm_search_text(int search); /* "grid", "random", "latin", "halving"; "?" for another number */

enum lm_objective { LM_OBJECTIVE_VALIDATION_LOSS, LM_OBJECTIVE_VALIDATION_ACCURACY, LM_OBJECTIVES };
const char *lm_objective_text(int objective); /* "validation_loss", "validation_accuracy"; "?" */

enum lm_scale { LM_SCALE_LIN, LM_SCALE_LOG };

/* What one of the seven parameters may be. */
struct lm_parameter {
    int continuous;      /* drawn between from and to; else one of the values of the axis. A real one only */
    double from, to;     /* continuous: both included, finite as floats; of a LM_SCALE_LOG both above 0 as floats */
    enum lm_scale scale; /* continuous: what is uniform, the value or its logarithm */
    struct lm_axis axis; /* owned; not continuous: never empty */
};

struct lm_sweep_spec {
    enum lm_search search;
    uint64_t trials; /* how many are drawn; 0: not said (grid; halving: of the grid) */
    uint32_t search_seed;
    struct lm_parameter parameter[LM_GRID_AXES]; /* in the order of struct lm_grid; lm_grid_name names them */
    double holdout;                              /* above 0, below 1 */
    enum lm_objective objective;
    enum lm_keep keep;
    uint64_t keep_top;
    /* Halving alone, else 0 and NULL: a trial that survives them all has trained rung[n_rungs - 1] epochs, and that is
     * what its struct lm_trial says. */
    size_t n_rungs;
    uint32_t *rung;   /* owned; epochs, ascending */
    double rung_keep; /* the part of a rung's trials that goes on: above 0, at most 1, to nine decimals */
};
void lm_sweep_spec_free(struct lm_sweep_spec *spec);

/* How many of a rung's n trials go on: max(1, ceil(keep * n)), where keep is the decimal fraction that was written
 * (0.33 of 100 are 33). n <= LM_MAX_TRIALS. */
uint64_t lm_sweep_kept(const struct lm_sweep_spec *spec, uint64_t n);

/* Epochs that halving trains of n trials together, where none diverges: a trial that goes on trains no epoch twice. 0
 * without halving. */
double lm_sweep_halving_epochs(const struct lm_sweep_spec *spec, uint64_t n);

/* How many trials are drawn, before repeats are dropped; of a grid, its size. LM_MAX_TRIALS + 1 means more. */
uint64_t lm_sweep_drawn(const struct lm_sweep_spec *spec);

/* All trials, in order, each once: two are the same if all members of struct lm_trial are (-0 is 0). A grid's order is
 * lm_grid_trial's, a drawn trial's place is its first draw's. *trial: *n of them, owned by the caller (free). *drawn:
 * how many there were before the repeats were dropped. LM_BAD_INPUT: more than LM_MAX_TRIALS; LM_FAILED: out of memory.
 */
int lm_sweep_trials(const struct lm_sweep_spec *spec, struct lm_trial **trial, uint64_t *n, uint64_t *drawn,
                    struct lm_error *err);

#endif
