/* verify_sweep.c: what a sweep adds to its file, for `libras_mpi verify`: computed again from the rows of the trials,
 * or compared with another file's.
 *
 * The test scores alone are not computed here (a file may keep no weights): those of the leaderboard must be those of
 * the trials' rows. The text of the sweep file is no answer, and is not compared: the same sweep can be written in many
 * ways.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "verify.h"

/* The same bits; NaN says "not there", whatever its bits. */
static int other_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b));
}

static int other_float(float a, float b)
{
    return memcmp(&a, &b, sizeof a) != 0;
}

/* All that a row stores but its parameters. */
static int other_configuration(const struct lm_configuration *a, const struct lm_configuration *b)
{
    return a->first != b->first || a->trials != b->trials || a->ok != b->ok || a->diverged != b->diverged ||
           a->failed != b->failed || a->rung != b->rung || other_double(a->loss_mean, b->loss_mean) ||
           other_double(a->loss_sd, b->loss_sd) || other_double(a->loss_low, b->loss_low) ||
           other_double(a->loss_high, b->loss_high) || other_double(a->accuracy_mean, b->accuracy_mean) ||
           other_double(a->accuracy_sd, b->accuracy_sd) || other_double(a->accuracy_low, b->accuracy_low) ||
           other_double(a->accuracy_high, b->accuracy_high);
}

static int other_parameters(const struct lm_trial *a, const struct lm_trial *b)
{
    return other_float(a->learning_rate, b->learning_rate) || other_float(a->decay, b->decay) ||
           other_float(a->initial_range, b->initial_range) || a->epochs != b->epochs || a->block != b->block ||
           !lm_shape_equal(a->shape, b->shape);
}

static uint64_t longer(uint64_t n, uint64_t m)
{
    return n > m ? n : m;
}

/* Rows that differ, those that only one of them has too. */
static uint64_t other_configurations(const struct lm_configuration *a, uint64_t n, const struct lm_configuration *b,
                                     uint64_t m)
{
    uint64_t count = longer(n, m) - (n < m ? n : m);
    for (uint64_t k = 0; k < n && k < m; k++)
        count += (uint64_t)other_configuration(&a[k], &b[k]);
    return count;
}

/* ---- one file ---- */

/* The parameters beside them must be the first trial's. */
static int check_parameters(struct lm_stored *stored, uint64_t *wrong, struct lm_error *err)
{
    const struct lm_results *file = &stored->results;
    const uint64_t n = file->n_configurations;
    struct lm_trial *parameters = malloc((n + 1) * sizeof *parameters);
    if (!parameters)
        return lm_fail_memory(err, n * sizeof *parameters, "the configurations");
    int code = lm_results_get_parameters(stored->reader, n, parameters, err);
    for (uint64_t k = 0; k < n && code == LM_OK; k++)
        *wrong += (uint64_t)other_parameters(&parameters[k], &file->trial[file->configuration[k].first]);
    free(parameters);
    return code;
}

static int check_configurations(struct lm_stored *stored, struct lm_results *checks, struct lm_error *err)
{
    const struct lm_results *file = &stored->results;
    struct lm_configuration *again;
    uint64_t n;
    int code = lm_statistics_make(file->trial, file->outcome, file->rung, file->n_trials, &again, &n, err);
    if (code != LM_OK)
        return code;
    uint64_t compared = 2 * longer(file->n_configurations, n);
    uint64_t wrong = other_configurations(file->configuration, file->n_configurations, again, n);
    free(again);
    code = check_parameters(stored, &wrong, err);
    return code == LM_OK ? lm_check_counts(checks, "configurations", compared, wrong, err) : code;
}

/* A row's scores must be its trial's. */
static int other_scores(const struct lm_leader *row, const struct lm_outcome *outcome)
{
    return other_double(row->validation_loss, outcome->validation_loss) ||
           other_double(row->validation_accuracy, outcome->validation_accuracy) ||
           other_double(row->test_loss, outcome->test_loss) || other_double(row->test_accuracy, outcome->test_accuracy);
}

static int check_leaderboard(struct lm_stored *stored, struct lm_results *checks, struct lm_error *err)
{
    const struct lm_results *file = &stored->results;
    uint64_t *again, n, wrong = 0;
    struct lm_leader *rows = malloc((file->n_leaders + 1) * sizeof *rows);
    if (!rows)
        return lm_fail_memory(err, file->n_leaders * sizeof *rows, "the leaderboard");
    int code = lm_results_get_leaders(stored->reader, file->n_leaders, rows, err);
    if (code == LM_OK)
        code = lm_leaderboard_make(file->outcome, file->rung, file->n_trials, lm_results_by_accuracy(file),
                                   file->n_leaders, &again, &n, err);
    if (code == LM_OK) {
        for (uint64_t k = 0; k < file->n_leaders; k++)
            wrong += (uint64_t)(k >= n || again[k] != file->leader[k]) +
                     (uint64_t)other_scores(&rows[k], &file->outcome[file->leader[k]]);
        free(again);
        code = lm_check_counts(checks, "leaderboard", 2 * file->n_leaders, wrong, err);
    }
    free(rows);
    return code;
}

int lm_verify_sweep(struct lm_stored *stored, struct lm_results *checks, struct lm_error *err)
{
    if (!stored->results.is_sweep)
        return LM_OK;
    int code = check_configurations(stored, checks, err);
    return code == LM_OK ? check_leaderboard(stored, checks, err) : code;
}

/* ---- two files ---- */

static int compare_rungs(const struct lm_results *a, const struct lm_results *b, struct lm_results *checks,
                         struct lm_error *err)
{
    uint64_t n = a->n_trials < b->n_trials ? a->n_trials : b->n_trials, most = longer(a->n_trials, b->n_trials);
    uint64_t wrong = most - n;
    if (!a->rung && !b->rung)
        return LM_OK;
    for (uint64_t t = 0; t < n; t++)
        wrong += !a->rung || !b->rung || a->rung[t] != b->rung[t];
    return lm_check_counts(checks, "rungs", most, wrong, err);
}

static int compare_leaderboards(const struct lm_results *a, const struct lm_results *b, struct lm_results *checks,
                                struct lm_error *err)
{
    uint64_t n = a->n_leaders < b->n_leaders ? a->n_leaders : b->n_leaders, most = longer(a->n_leaders, b->n_leaders);
    uint64_t wrong = most - n;
    for (uint64_t k = 0; k < n; k++)
        wrong += a->leader[k] != b->leader[k];
    return lm_check_counts(checks, "leaderboard", most, wrong, err);
}

int lm_verify_sweep_pair(struct lm_stored *first, struct lm_stored *second, struct lm_results *checks,
                         struct lm_error *err)
{
    const struct lm_results *a = &first->results, *b = &second->results;
    int code = compare_rungs(a, b, checks, err);
    if (code != LM_OK || (!a->is_sweep && !b->is_sweep))
        return code;
    code = lm_check_counts(checks, "search", 3,
                           (uint64_t)(a->is_sweep != b->is_sweep) + (strcmp(a->search, b->search) != 0) +
                               (strcmp(a->objective, b->objective) != 0),
                           err);
    if (code == LM_OK)
        code = lm_check_counts(
            checks, "configurations", longer(a->n_configurations, b->n_configurations),
            other_configurations(a->configuration, a->n_configurations, b->configuration, b->n_configurations), err);
    return code == LM_OK ? compare_leaderboards(a, b, checks, err) : code;
}
