/* results_sweep.c: what a sweep adds to a results file: the groups /sweep (how the trials were chosen, and the best of
 * them) and /configurations (means over seeds), and the column /trials/rung where the search has rungs.
 *
 * All of it is optional: a file without it is as it always was, and a reader that knows nothing of it passes over it.
 * It is written last, and repeats values of /trials where a table reads better for them; they come from there, so that
 * they cannot differ in a file that was written here.
 */
#include <stdlib.h>
#include <string.h>

#include "h5util.h"
#include "results_reader.h"
#include "results_writer.h"

/* ---- writing ---- */

static int put_leaderboard(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    const uint64_t n = results->n_leaders;
    struct lm_leader *leaders = malloc((n ? n : 1) * sizeof *leaders);
    if (!leaders)
        return lm_fail_memory(err, n * sizeof *leaders, "the leaderboard");
    for (uint64_t k = 0; k < n; k++) {
        const struct lm_outcome *o = &results->outcome[results->leader[k]];
        leaders[k] = (struct lm_leader){results->leader[k], o->validation_loss, o->validation_accuracy, o->test_loss,
                                        o->test_accuracy};
    }
    int status = lm_h5_put_scale(group, "place", "place on the leaderboard, from 1", 1, n, err);
    if (status == LM_OK)
        status = lm_results_put_table(group, &lm_layout_leader, leaders, n, err);
    free(leaders);
    return status;
}

static int put_sweep(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    int status = lm_h5_put_column(group, &lm_layout_search, results, 0, 1, err);
    if (status == LM_OK)
        status = lm_h5_put_column(group, &lm_layout_objective, results, 0, 1, err);
    if (status == LM_OK)
        status = lm_h5_put_column(group, &lm_layout_specification, results, 0, 1, err);
    return status == LM_OK ? put_leaderboard(group, results, err) : status;
}

static int put_configurations(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    const uint64_t n = results->n_configurations;
    struct lm_trial *parameters = malloc((n ? n : 1) * sizeof *parameters);
    if (!parameters)
        return lm_fail_memory(err, n * sizeof *parameters, "the configurations");
    for (uint64_t k = 0; k < n; k++)
        parameters[k] = results->trial[results->configuration[k].first];
    int status = lm_h5_put_scale(group, "configuration", "number of the configuration", 0, n, err);
    if (status == LM_OK)
        status = lm_results_put_table(group, &lm_layout_parameters, parameters, n, err);
    free(parameters);
    if (status == LM_OK)
        status = lm_results_put_table(group, &lm_layout_configuration, results->configuration, n, err);
    if (status == LM_OK && results->rung)
        status = lm_h5_put_column(group, &lm_layout_configuration_rung, results->configuration,
                                  sizeof *results->configuration, n, err);
    return status;
}

static int put_group(hid_t file, const char *name, int (*put)(hid_t, const struct lm_results *, struct lm_error *),
                     const struct lm_results *results, struct lm_error *err)
{
    hid_t group;
    int status = lm_h5_make_group(file, name, &group, err);
    if (status == LM_OK)
        status = put(group, results, err);
    return lm_h5_close(group, status, err);
}

/* A number that is no trial would be read beyond the rows, here and by whoever reads the file. */
static int check_numbers(const struct lm_results *results, struct lm_error *err)
{
    for (uint64_t k = 0; k < results->n_leaders; k++)
        if (results->leader[k] >= results->n_trials)
            return lm_fail(err, LM_FAILED, "/sweep: place %llu: there is no trial %llu", (unsigned long long)k + 1,
                           (unsigned long long)results->leader[k]);
    for (uint64_t k = 0; k < results->n_configurations; k++)
        if (results->configuration[k].first >= results->n_trials)
            return lm_fail(err, LM_FAILED, "/configurations: %llu: there is no trial %llu", (unsigned long long)k,
                           (unsigned long long)results->configuration[k].first);
    return LM_OK;
}

int lm_results_put_sweep(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err)
{
    int status = LM_OK;
    if (results->rung)
        status = lm_h5_put_column(writer->group[LM_GROUP_TRIALS], &lm_layout_trial_rung, results->rung,
                                  sizeof *results->rung, results->n_trials, err);
    if (status != LM_OK || !results->is_sweep)
        return status;
    status = check_numbers(results, err);
    if (status == LM_OK)
        status = put_group(writer->file, "sweep", put_sweep, results, err);
    return status == LM_OK ? put_group(writer->file, "configurations", put_configurations, results, err) : status;
}

/* ---- reading ---- */

static void *zeros(uint64_t n, size_t size)
{
    return calloc(n ? n : 1, size);
}

static int is_there(hid_t loc, const char *name, int *there, struct lm_error *err)
{
    htri_t found = H5Lexists(loc, name, H5P_DEFAULT);
    *there = found > 0;
    return found < 0 ? lm_h5_fail(err, LM_BAD_INPUT, loc, name, "cannot be looked for") : LM_OK;
}

/* A trial on rung r was trained at least r + 1 epochs. */
static int load_rungs(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    int there = 0;
    const uint64_t n = out->n_trials;
    int status = lm_h5_open_group(reader->source.file, "trials", &group, err);
    if (status == LM_OK)
        status = is_there(group, lm_layout_trial_rung.name, &there, err);
    if (status == LM_OK && there) {
        out->rung = zeros(n, sizeof *out->rung);
        status = out->rung ? lm_h5_get_column(&reader->source, group, &lm_layout_trial_rung, out->rung,
                                              sizeof *out->rung, n, err)
                           : lm_fail_memory(err, n * sizeof *out->rung, "the rungs");
    }
    for (uint64_t t = 0; t < n && there && status == LM_OK; t++)
        if (out->rung[t] > 0 && out->rung[t] >= out->max_epochs)
            status = lm_fail(err, LM_BAD_INPUT, "/trials/rung[%llu]: rung %lu, where the longest trial has %llu epochs",
                             (unsigned long long)t, (unsigned long)out->rung[t], (unsigned long long)out->max_epochs);
    return lm_h5_close(group, status, err);
}

int lm_results_get_leaders(struct lm_results_reader *reader, uint64_t n, struct lm_leader *leaders,
                           struct lm_error *err)
{
    hid_t group;
    int status = lm_h5_open_group(reader->source.file, "sweep", &group, err);
    if (status == LM_OK)
        status = lm_results_get_table(&reader->source, group, &lm_layout_leader, leaders, n, err);
    if (status != LM_OK)
        lm_fail_within(err, "cannot read '%s': ", reader->path);
    return lm_h5_close(group, status, err);
}

static int load_leaderboard(struct lm_results_reader *reader, hid_t group, struct lm_results *out, struct lm_error *err)
{
    uint64_t n = 0;
    int status = lm_results_get_length(&reader->source, group, "place", &n, err);
    if (status == LM_OK && n > out->n_trials)
        status = lm_fail(err, LM_BAD_INPUT, "/sweep: more places than trials");
    if (status == LM_OK)
        status = lm_results_check_table(&reader->source, "sweep", &lm_layout_leader, n, err);
    if (status != LM_OK)
        return status;
    out->leader = zeros(n, sizeof *out->leader);
    if (!out->leader)
        return lm_fail_memory(err, n * sizeof *out->leader, "the leaderboard");
    out->n_leaders = n;
    const struct lm_column trial = {.name = "trial", .axis = "place", .kind = LM_KIND_U64};
    status = lm_h5_get_column(&reader->source, group, &trial, out->leader, sizeof *out->leader, n, err);
    for (uint64_t k = 0; k < n && status == LM_OK; k++)
        if (out->leader[k] >= out->n_trials)
            status = lm_fail(err, LM_BAD_INPUT, "/sweep/trial: place %llu: there is no trial %llu",
                             (unsigned long long)k + 1, (unsigned long long)out->leader[k]);
    return status;
}

static int load_sweep(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    struct lm_h5_source *source = &reader->source;
    int status = lm_h5_open_group(source->file, "sweep", &group, err);
    if (status == LM_OK)
        status = lm_h5_get_column(source, group, &lm_layout_search, out, 0, 1, err);
    if (status == LM_OK)
        status = lm_h5_get_column(source, group, &lm_layout_objective, out, 0, 1, err);
    if (status == LM_OK && strcmp(out->objective, "validation_loss") != 0 && !lm_results_by_accuracy(out))
        status = lm_fail(err, LM_BAD_INPUT, "/sweep/objective: '%s' is none: validation_loss or validation_accuracy",
                         out->objective);
    if (status == LM_OK)
        status = lm_h5_get_text(source, group, lm_layout_specification.name, &out->specification, err);
    if (status == LM_OK)
        status = load_leaderboard(reader, group, out, err);
    return lm_h5_close(group, status, err);
}

/* What is wrong with a row; so that counts can be added up and trials looked up by it. */
static const char *configuration_fault(const struct lm_results *results, uint64_t k)
{
    const struct lm_configuration *c = &results->configuration[k];
    if (c->first >= results->n_trials)
        return "its first trial is none";
    if (k > 0 && c->first <= c[-1].first)
        return "it is not in the order of the first trials";
    if (c->trials < 1 || c->trials > results->n_trials)
        return "it has no such number of trials";
    if (c->ok > c->trials || c->diverged > c->trials - c->ok || c->failed > c->trials - c->ok - c->diverged)
        return "more trials ended than there are";
    if (c->rung > 0 && c->rung >= results->max_epochs)
        return "no such rung";
    return NULL;
}

static int check_configurations(const struct lm_results *results, struct lm_error *err)
{
    uint64_t trials = 0, counted = 0;
    for (uint64_t k = 0; k < results->n_configurations; k++) {
        const char *fault = configuration_fault(results, k);
        if (fault)
            return lm_fail(err, LM_BAD_INPUT, "/configurations: configuration %llu: %s", (unsigned long long)k, fault);
        if (results->configuration[k].trials > results->n_trials - trials)
            break;
        trials += results->configuration[k].trials;
        counted++;
    }
    if (trials != results->n_trials || counted != results->n_configurations)
        return lm_fail(err, LM_BAD_INPUT, "/configurations: together they do not have the file's %llu trials",
                       (unsigned long long)results->n_trials);
    return LM_OK;
}

int lm_results_get_parameters(struct lm_results_reader *reader, uint64_t n, struct lm_trial *parameters,
                              struct lm_error *err)
{
    hid_t group;
    memset(parameters, 0, n * sizeof *parameters);
    int status = lm_h5_open_group(reader->source.file, "configurations", &group, err);
    if (status == LM_OK)
        status = lm_results_get_table(&reader->source, group, &lm_layout_parameters, parameters, n, err);
    if (status != LM_OK)
        lm_fail_within(err, "cannot read '%s': ", reader->path);
    return lm_h5_close(group, status, err);
}

static int load_configurations(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    uint64_t n = 0;
    struct lm_h5_source *source = &reader->source;
    int status = lm_h5_open_group(source->file, "configurations", &group, err);
    if (status == LM_OK)
        status = lm_results_get_length(source, group, "configuration", &n, err);
    if (status == LM_OK && n > out->n_trials)
        status = lm_fail(err, LM_BAD_INPUT, "/configurations: more configurations than trials");
    if (status == LM_OK)
        status = lm_results_check_table(source, "configurations", &lm_layout_configuration, n, err);
    if (status == LM_OK)
        status = lm_results_check_table(source, "configurations", &lm_layout_parameters, n, err);
    if (status == LM_OK) {
        out->configuration = zeros(n, sizeof *out->configuration);
        out->n_configurations = out->configuration ? n : 0;
        status = out->configuration
                     ? lm_results_get_table(source, group, &lm_layout_configuration, out->configuration, n, err)
                     : lm_fail_memory(err, n * sizeof *out->configuration, "the configurations");
    }
    if (status == LM_OK && out->rung)
        status = lm_h5_get_column(source, group, &lm_layout_configuration_rung, out->configuration,
                                  sizeof *out->configuration, n, err);
    if (status == LM_OK)
        status = check_configurations(out, err);
    return lm_h5_close(group, status, err);
}

int lm_results_load_sweep(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    int status = load_rungs(reader, out, err);
    if (status == LM_OK)
        status = is_there(reader->source.file, "sweep", &out->is_sweep, err);
    if (status == LM_OK && out->is_sweep)
        status = load_sweep(reader, out, err);
    if (status == LM_OK && out->is_sweep)
        status = load_configurations(reader, out, err);
    return status;
}
