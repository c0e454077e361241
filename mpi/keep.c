/* keep.c: see keep.h.
 *
 * Losses and (with --keep-weights all) weights go to the file at once. top:K holds K networks. Nothing depends on the
 * order in which trials come in: ties go to the lower trial, rows are places by number.
 */
#include "keep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replica_choice.h"

static int declare_all(struct lm_keeper *keeper, struct lm_error *err)
{
    const struct lm_axis *shapes = &keeper->options->grid.hidden;
    for (size_t s = 0; s < shapes->n; s++) {
        size_t group;
        int code = lm_results_add_kept(keeper->writer, shapes->shape[s], keeper->trials / shapes->n, &group, err);
        if (code != LM_OK)
            return code;
    }
    return LM_OK;
}

int lm_keeper_begin(struct lm_keeper *keeper, const struct lm_options *options, struct lm_results *results,
                    struct lm_results_writer *writer, struct lm_error *err)
{
    uint64_t trials = lm_grid_size(&options->grid);
    uint64_t replicas = options->validate_replicas < trials ? options->validate_replicas : trials;
    uint64_t top = options->keep != LM_KEEP_TOP ? 0 : options->keep_top < trials ? options->keep_top : trials;
    *keeper = (struct lm_keeper){.options = options,
                                 .results = results,
                                 .writer = writer,
                                 .trials = trials,
                                 .first = UINT64_MAX,
                                 .n_replicas = replicas};
    keeper->replica = calloc(replicas ? replicas : 1, sizeof *keeper->replica);
    if (!keeper->replica)
        return lm_fail_memory(err, replicas * sizeof *keeper->replica, "the trials to be trained again");
    if (lm_best_begin(&keeper->best, top, 0, err) != LM_OK)
        return err->code;
    return options->keep == LM_KEEP_ALL ? declare_all(keeper, err) : LM_OK;
}

static float *copy_of(const float *parameters, struct lm_shape shape, struct lm_error *err)
{
    size_t bytes = lm_network_floats(shape) * sizeof *parameters;
    float *copy = malloc(bytes);
    if (copy)
        memcpy(copy, parameters, bytes);
    else
        lm_fail_memory(err, bytes, "a trial's weights");
    return copy;
}

static double *copy_losses(const double *loss, uint32_t epochs, struct lm_error *err)
{
    double *copy = malloc((epochs + (size_t)1) * sizeof *copy);
    if (!copy)
        lm_fail_memory(err, epochs * sizeof *copy, "a trial's losses");
    else if (epochs)
        memcpy(copy, loss, epochs * sizeof *copy);
    return copy;
}

static int keep_first(struct lm_keeper *keeper, const struct lm_report *report, struct lm_shape shape,
                      struct lm_error *err)
{
    if (!report->parameters || report->trial >= keeper->first)
        return LM_OK;
    float *parameters = copy_of(report->parameters, shape, err);
    double *loss = parameters ? copy_losses(report->loss, report->outcome.epochs_run, err) : NULL;
    if (!loss) {
        free(parameters);
        return err->code;
    }
    free(keeper->first_parameters);
    free(keeper->first_loss);
    keeper->first_parameters = parameters;
    keeper->first_loss = loss;
    keeper->first = report->trial;
    return LM_OK;
}

static int keep_replica(struct lm_keeper *keeper, const struct lm_report *report, const struct lm_trial *trial,
                        struct lm_error *err)
{
    if (!lm_replica_is(keeper->trials, keeper->n_replicas, report->trial))
        return LM_OK;
    struct lm_replica *replica = &keeper->replica[lm_replica_place(keeper->trials, keeper->n_replicas, report->trial)];
    *replica = (struct lm_replica){.number = report->trial, .trial = *trial, .outcome = report->outcome};
    if (!(replica->loss = copy_losses(report->loss, replica->outcome.epochs_run, err)))
        return err->code;
    if (report->parameters && !(replica->parameters = copy_of(report->parameters, trial->shape, err)))
        return err->code;
    return LM_OK;
}

/* Workers send the weights of those that can be among the best. */
static int keep_best(struct lm_keeper *keeper, const struct lm_report *report, struct lm_shape shape,
                     struct lm_error *err)
{
    const struct lm_rating rating = {.trial = report->trial, .loss = report->outcome.validation_loss};
    if (!report->parameters || !lm_best_wants(&keeper->best, &rating))
        return LM_OK;
    return lm_best_put(&keeper->best, &rating, report->parameters, lm_network_floats(shape), err);
}

int lm_keeper_take(void *context, const struct lm_report *report, struct lm_error *err)
{
    struct lm_keeper *keeper = context;
    struct lm_trial trial = lm_grid_trial(&keeper->options->grid, report->trial);
    keeper->results->trial[report->trial] = trial;
    keeper->results->outcome[report->trial] = report->outcome;
    keeper->results->execution[report->trial] = report->execution;
    int code = lm_results_put_loss(keeper->writer, report->trial, report->loss, report->outcome.epochs_run, err);
    if (code == LM_OK && keeper->options->keep == LM_KEEP_ALL) {
        size_t group;
        uint64_t row = lm_grid_row(&keeper->options->grid, report->trial, &group);
        code = lm_results_put_weights(keeper->writer, group, row, report->trial, report->parameters, err);
    }
    if (code == LM_OK && keeper->options->keep == LM_KEEP_TOP)
        code = keep_best(keeper, report, trial.shape, err);
    if (code == LM_OK)
        code = keep_replica(keeper, report, &trial, err);
    return code == LM_OK ? keep_first(keeper, report, trial.shape, err) : code;
}

/* ---- the end of top:K ---- */

static int by_trial(const void *a, const void *b)
{
    const struct lm_best_entry *x = a, *y = b;
    return (x->rating.trial > y->rating.trial) - (x->rating.trial < y->rating.trial);
}

static int write_shape(struct lm_keeper *keeper, struct lm_shape shape, struct lm_error *err)
{
    uint64_t rows = 0, row = 0;
    size_t group;
    for (uint64_t k = 0; k < keeper->best.n; k++)
        rows += (uint64_t)lm_shape_equal(keeper->results->trial[keeper->best.entry[k].rating.trial].shape, shape);
    if (rows == 0)
        return LM_OK;
    int code = lm_results_add_kept(keeper->writer, shape, rows, &group, err);
    for (uint64_t k = 0; k < keeper->best.n && code == LM_OK; k++)
        if (lm_shape_equal(keeper->results->trial[keeper->best.entry[k].rating.trial].shape, shape))
            code = lm_results_put_weights(keeper->writer, group, row++, keeper->best.entry[k].rating.trial,
                                          keeper->best.entry[k].parameters, err);
    return code;
}

/* Where a run selects, the test set speaks only of the chosen ones: nobody can choose by it afterwards. */
static void blank_test_scores(struct lm_keeper *keeper)
{
    uint64_t next = 0;
    for (uint64_t t = 0; t < keeper->trials; t++) {
        if (next < keeper->best.n && keeper->best.entry[next].rating.trial == t) {
            next++;
            continue;
        }
        keeper->results->outcome[t].test_loss = NAN;
        keeper->results->outcome[t].test_accuracy = NAN;
    }
}

int lm_keeper_finish(struct lm_keeper *keeper, struct lm_error *err)
{
    const struct lm_axis *shapes = &keeper->options->grid.hidden;
    int code = LM_OK;
    if (keeper->options->keep != LM_KEEP_TOP)
        return LM_OK;
    qsort(keeper->best.entry, keeper->best.n, sizeof *keeper->best.entry, by_trial);
    for (size_t s = 0; s < shapes->n && code == LM_OK; s++)
        code = write_shape(keeper, shapes->shape[s], err);
    blank_test_scores(keeper);
    return code;
}

void lm_keeper_end(struct lm_keeper *keeper)
{
    lm_best_end(&keeper->best);
    free(keeper->first_parameters);
    free(keeper->first_loss);
    lm_replicas_free(keeper->replica, keeper->n_replicas);
}
