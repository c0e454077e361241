/* sweep_finish.c: from the checkpoint to the results file.
 *
 * Selection sees the validation samples alone. The test samples are scored for the leaders and nobody else: so nobody
 * can choose by them, not even afterwards.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "replica_choice.h"
#include "sweep.h"

int lm_sweep_need(struct lm_sweep *sweep, const struct lm_trial *trial, struct lm_record *record, struct lm_error *err)
{
    int found;
    int code = lm_checkpoint_find(sweep->checkpoint, trial, record, &found, err);
    if (code == LM_OK && !found)
        code = lm_fail(err, LM_FAILED, "a trial that has ended is not in '%s'", sweep->checkpoint_path);
    return code;
}

static int need(struct lm_sweep *sweep, uint64_t t, struct lm_record *record, struct lm_error *err)
{
    return lm_sweep_need(sweep, &sweep->job.results.trial[t], record, err);
}

static int need_weights(struct lm_sweep *sweep, uint64_t t, struct lm_record *record, struct lm_error *err)
{
    int code = need(sweep, t, record, err);
    if (code == LM_OK && !record->parameters)
        code = lm_fail(err, LM_FAILED, "the weights of trial %llu are not in '%s'", (unsigned long long)t,
                       sweep->checkpoint_path);
    return code;
}

/* ---- rows ---- */

int lm_sweep_collect(struct lm_sweep *sweep, struct lm_error *err)
{
    struct lm_results *results = &sweep->job.results;
    int code = LM_OK;
    for (uint64_t t = 0; t < sweep->n && code == LM_OK; t++) {
        struct lm_record record;
        results->trial[t] = lm_sweep_trial(sweep, t, sweep->reached ? sweep->reached[t] : 0);
        if ((code = need(sweep, t, &record, err)) != LM_OK)
            break;
        results->outcome[t] = record.outcome;
        results->outcome[t].test_loss = results->outcome[t].test_accuracy = NAN;
        results->execution[t] = record.execution;
    }
    return code;
}

/* ---- leaders ---- */

int lm_sweep_leaders(const struct lm_sweep *sweep, uint64_t **leader, uint64_t *n, struct lm_error *err)
{
    return lm_leaderboard_make(sweep->job.results.outcome, sweep->reached, sweep->n,
                               sweep->spec.objective == LM_OBJECTIVE_VALIDATION_ACCURACY, sweep->leaders, leader, n,
                               err);
}

/* What the file tells of the sweep itself; after the test scores. */
static int summarise(struct lm_sweep *sweep, struct lm_error *err)
{
    struct lm_results *results = &sweep->job.results;
    results->is_sweep = 1;
    snprintf(results->search, sizeof results->search, "%s", lm_search_text((int)sweep->spec.search));
    snprintf(results->objective, sizeof results->objective, "%s", lm_objective_text((int)sweep->spec.objective));
    results->rung = sweep->reached;
    sweep->reached = NULL;
    results->specification = sweep->text;
    sweep->text = NULL;
    return lm_results_summarise(results, sweep->leaders, err);
}

/* ---- test scores ---- */

static int score_leader(struct lm_sweep *sweep, uint64_t t, float *scores, struct lm_error *err)
{
    const struct lm_job *job = &sweep->job;
    const struct lm_samples *test = &job->problem.test;
    struct lm_record record;
    int code = need_weights(sweep, t, &record, err);
    if (code == LM_OK)
        code = job->backend->infer(job->session, record.trial.shape, record.parameters, test->x, test->n, scores, err);
    if (code != LM_OK)
        return code;
    struct lm_metrics metrics = lm_evaluate(scores, test->label, test->n);
    sweep->job.results.outcome[t].test_loss = metrics.loss;
    sweep->job.results.outcome[t].test_accuracy = metrics.accuracy;
    return LM_OK;
}

static int score_leaders(struct lm_sweep *sweep, const uint64_t *leader, uint64_t n, struct lm_error *err)
{
    size_t bytes = (sweep->job.problem.test.n * LM_CLASSES + 1) * sizeof(float);
    float *scores = malloc(bytes);
    int code = scores ? LM_OK : lm_fail_memory(err, bytes, "the leaders' scores");
    for (uint64_t k = 0; k < n && code == LM_OK; k++)
        code = score_leader(sweep, leader[k], scores, err);
    free(scores);
    return code;
}

/* ---- losses and weights ---- */

static int put_losses(struct lm_sweep *sweep, struct lm_error *err)
{
    int code = LM_OK;
    for (uint64_t t = 0; t < sweep->n && code == LM_OK; t++) {
        struct lm_record record;
        if (sweep->job.results.outcome[t].epochs_run > 0 && (code = need(sweep, t, &record, err)) == LM_OK)
            code = lm_results_put_loss(sweep->job.writer, t, record.loss, record.outcome.epochs_run, err);
    }
    return code;
}

/* Weights of the trials in list (n), ascending, of one shape. */
static int put_shape(struct lm_sweep *sweep, struct lm_shape shape, const uint64_t *list, uint64_t n,
                     struct lm_error *err)
{
    uint64_t rows = 0, row = 0;
    size_t group;
    for (uint64_t k = 0; k < n; k++)
        rows += (uint64_t)lm_shape_equal(sweep->job.results.trial[list[k]].shape, shape);
    int code = lm_results_add_kept(sweep->job.writer, shape, rows, &group, err);
    for (uint64_t k = 0; k < n && code == LM_OK; k++) {
        struct lm_record record;
        if (!lm_shape_equal(sweep->job.results.trial[list[k]].shape, shape))
            continue;
        if ((code = need_weights(sweep, list[k], &record, err)) == LM_OK)
            code = lm_results_put_weights(sweep->job.writer, group, row++, list[k], record.parameters, err);
    }
    return code;
}

static int has_earlier(const struct lm_sweep *sweep, const uint64_t *list, uint64_t k)
{
    for (uint64_t i = 0; i < k; i++)
        if (lm_shape_equal(sweep->job.results.trial[list[i]].shape, sweep->job.results.trial[list[k]].shape))
            return 1;
    return 0;
}

int lm_sweep_with_weights(const struct lm_sweep *sweep, uint64_t **list, uint64_t *n, struct lm_error *err)
{
    if (sweep->spec.keep != LM_KEEP_ALL) {
        int code = lm_sweep_leaders(sweep, list, n, err);
        if (code == LM_OK)
            qsort(*list, (size_t)*n, sizeof **list, lm_sweep_by_number);
        return code;
    }
    *n = 0;
    *list = malloc((sweep->n + 1) * sizeof **list);
    if (!*list)
        return lm_fail_memory(err, sweep->n * sizeof **list, "the trials that are kept");
    for (uint64_t t = 0; t < sweep->n; t++)
        if (sweep->job.results.outcome[t].status == LM_TRIAL_OK)
            (*list)[(*n)++] = t;
    return LM_OK;
}

static int put_weights(struct lm_sweep *sweep, struct lm_error *err)
{
    uint64_t *list = NULL, kept = 0;
    int code = sweep->spec.keep == LM_KEEP_NONE ? LM_OK : lm_sweep_with_weights(sweep, &list, &kept, err);
    for (uint64_t k = 0; k < kept && code == LM_OK; k++)
        if (!has_earlier(sweep, list, k))
            code = put_shape(sweep, sweep->job.results.trial[list[k]].shape, list, kept, err);
    free(list);
    return code;
}

/* ---- what the shared chapters need ---- */

static int copy(const void *from, size_t bytes, void **to, struct lm_error *err)
{
    *to = malloc(bytes + 1);
    if (!*to)
        return lm_fail_memory(err, bytes, "a trial");
    if (bytes)
        memcpy(*to, from, bytes);
    return LM_OK;
}

static int take_network(struct lm_sweep *sweep, uint64_t t, struct lm_error *err)
{
    struct lm_job *job = &sweep->job;
    struct lm_record record;
    void *parameters = NULL, *loss = NULL;
    int code = need(sweep, t, &record, err);
    if (code == LM_OK)
        code = copy(record.parameters, lm_network_floats(record.trial.shape) * sizeof(float), &parameters, err);
    if (code == LM_OK)
        code = copy(record.loss, record.outcome.epochs_run * sizeof(double), &loss, err);
    job->network = parameters;
    job->network_loss = loss;
    job->network_shape = job->results.trial[t].shape;
    job->network_trial = t;
    return code;
}

static int take_replica(struct lm_sweep *sweep, uint64_t t, struct lm_error *err)
{
    struct lm_job *job = &sweep->job;
    struct lm_replica *replica = &job->replica[job->n_replicas];
    struct lm_record record;
    void *parameters = NULL, *loss = NULL;
    int code = need(sweep, t, &record, err);
    if (code == LM_OK)
        code = copy(record.loss, record.outcome.epochs_run * sizeof(double), &loss, err);
    if (code == LM_OK && record.parameters)
        code = copy(record.parameters, lm_network_floats(record.trial.shape) * sizeof(float), &parameters, err);
    *replica = (struct lm_replica){.number = t,
                                   .trial = job->results.trial[t],
                                   .outcome = job->results.outcome[t],
                                   .untested = isnan(job->results.outcome[t].test_loss),
                                   .loss = loss,
                                   .parameters = parameters};
    job->n_replicas++;
    return code;
}

/* The best one, and others evenly spread. One that failed has nothing that could be compared. */
static int take_replicas(struct lm_sweep *sweep, struct lm_error *err)
{
    struct lm_job *job = &sweep->job;
    uint64_t wanted = job->call->options->validate_replicas;
    wanted = wanted < sweep->n ? wanted : sweep->n;
    int code = LM_OK;
    job->replica = calloc(wanted + 1, sizeof *job->replica);
    if (!job->replica)
        return lm_fail_memory(err, wanted * sizeof *job->replica, "the trials to be trained again");
    if (wanted > 0 && job->network_trial != UINT64_MAX)
        code = take_replica(sweep, job->network_trial, err);
    for (uint64_t k = 0; k + 1 < wanted && code == LM_OK; k++) {
        uint64_t t = lm_replica_of(sweep->n, wanted - 1, k);
        if (t != job->network_trial && job->results.outcome[t].status != LM_TRIAL_FAILED)
            code = take_replica(sweep, t, err);
    }
    return code;
}

int lm_sweep_finish(struct lm_sweep *sweep, struct lm_error *err)
{
    struct lm_job *job = &sweep->job;
    uint64_t *leader = NULL, n = 0;
    job->network_trial = UINT64_MAX;
    job->results.max_epochs = lm_sweep_longest(sweep);
    int code = lm_sweep_leaders(sweep, &leader, &n, err);
    if (code == LM_OK)
        code = lm_results_create(job->output.part, sweep->n, job->results.max_epochs, &job->writer, err);
    if (code == LM_OK)
        code = score_leaders(sweep, leader, n, err);
    if (code == LM_OK)
        code = put_losses(sweep, err);
    if (code == LM_OK)
        code = put_weights(sweep, err);
    if (code == LM_OK && n > 0)
        code = take_network(sweep, leader[0], err);
    if (code == LM_OK)
        code = take_replicas(sweep, err);
    if (code == LM_OK)
        code = summarise(sweep, err);
    free(leader);
    return code;
}
