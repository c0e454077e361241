/* batch.c: see batch.h. */
#include "batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

/* A digest takes 10 us: the others are heard again after half a millisecond. */
#define REPORTS_A_TICK 64

/* The trials of one call of backend->train, and where their results go. */
struct batch {
    uint64_t first, count;
    struct lm_trial *trial;
    struct lm_training_result *result;
    struct lm_metrics *validation, *test; /* (count): of the trials that ended well */
    float *scores;                        /* for evaluation: the larger of the two sample sets */
};

static void free_batch(struct batch *batch)
{
    for (uint64_t k = 0; batch->result && k < batch->count; k++) {
        free(batch->result[k].loss);
        free(batch->result[k].parameters);
    }
    free(batch->result);
    free(batch->trial);
    free(batch->validation);
    free(batch->test);
    free(batch->scores);
}

static int make_batch(const struct lm_schedule *schedule, uint64_t first, uint64_t count, struct batch *batch,
                      struct lm_error *err)
{
    const struct lm_problem *problem = schedule->problem;
    size_t widest = problem->validation.n > problem->test.n ? problem->validation.n : problem->test.n;
    *batch = (struct batch){.first = first, .count = count};
    batch->trial = calloc(count, sizeof *batch->trial);
    batch->result = calloc(count, sizeof *batch->result);
    batch->scores = malloc((widest * LM_CLASSES + 1) * sizeof *batch->scores);
    batch->validation = calloc(count, sizeof *batch->validation);
    batch->test = calloc(count, sizeof *batch->test);
    if (!batch->trial || !batch->result || !batch->validation || !batch->test || !batch->scores)
        return lm_fail_memory(err, widest * LM_CLASSES * sizeof *batch->scores, "a batch of trials");
    for (uint64_t k = 0; k < count; k++) {
        struct lm_trial *trial = &batch->trial[k];
        *trial = lm_grid_trial(schedule->grid, first + k);
        batch->result[k].loss = malloc(trial->epochs * sizeof(double));
        batch->result[k].parameters = malloc(lm_network_floats(trial->shape) * sizeof(float));
        if (!batch->result[k].loss || !batch->result[k].parameters)
            return lm_fail_memory(err, trial->epochs * sizeof(double), "a trial");
    }
    return LM_OK;
}

/* ---- metrics ---- */

static int score_one(const struct lm_schedule *schedule, struct batch *batch, uint64_t k,
                     const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_error *err)
{
    int code = schedule->backend->infer(schedule->session, batch->trial[k].shape, batch->result[k].parameters,
                                        samples->x, samples->n, batch->scores, err);
    if (code == LM_OK)
        metrics[k] = lm_evaluate(batch->scores, samples->label, samples->n);
    return code;
}

/* The networks of one shape together, from trial k on. */
static int score_shape(const struct lm_schedule *schedule, struct batch *batch, uint64_t k,
                       const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_tick tick,
                       struct lm_error *err)
{
    const struct lm_shape shape = batch->trial[k].shape;
    const float **parameters = malloc(batch->count * sizeof *parameters);
    struct lm_metrics *found = malloc(batch->count * sizeof *found);
    size_t n = 0;
    int code = parameters && found ? LM_OK : lm_fail_memory(err, batch->count * sizeof *found, "a batch's metrics");
    for (uint64_t t = k; t < batch->count && code == LM_OK; t++)
        if (batch->result[t].status == LM_TRIAL_OK && lm_shape_equal(batch->trial[t].shape, shape))
            parameters[n++] = batch->result[t].parameters;
    if (code == LM_OK)
        code = schedule->backend->evaluate(schedule->session, shape, parameters, n, samples, found, tick, err);
    n = 0;
    for (uint64_t t = k; t < batch->count && code == LM_OK; t++)
        if (batch->result[t].status == LM_TRIAL_OK && lm_shape_equal(batch->trial[t].shape, shape))
            metrics[t] = found[n++];
    free(parameters);
    free(found);
    return code;
}

/* Has an earlier trial of this shape brought this one's metrics with its own? */
static int scored(const struct batch *batch, uint64_t k)
{
    for (uint64_t t = 0; t < k; t++)
        if (batch->result[t].status == LM_TRIAL_OK && lm_shape_equal(batch->trial[t].shape, batch->trial[k].shape))
            return 1;
    return 0;
}

static int score_batch(const struct lm_schedule *schedule, struct batch *batch, const struct lm_samples *samples,
                       struct lm_metrics *metrics, struct lm_tick tick, struct lm_error *err)
{
    int code = LM_OK;
    for (uint64_t k = 0; k < batch->count && code == LM_OK; k++) {
        if (batch->result[k].status != LM_TRIAL_OK)
            continue;
        if (!schedule->backend->evaluate)
            code = score_one(schedule, batch, k, samples, metrics, err);
        else if (!scored(batch, k))
            code = score_shape(schedule, batch, k, samples, metrics, tick, err);
    }
    return code;
}

static void make_report(const struct lm_schedule *schedule, const struct batch *batch, uint64_t k,
                        struct lm_report *report)
{
    const struct lm_trial *trial = &batch->trial[k];
    const struct lm_training_result *result = &batch->result[k];
    const struct lm_metrics none = {.loss = NAN, .accuracy = NAN};
    int ok = result->status == LM_TRIAL_OK;
    struct lm_metrics validation = ok ? batch->validation[k] : none, test = ok ? batch->test[k] : none;
    *report = (struct lm_report){.trial = batch->first + k, .loss = result->loss};
    report->parameters = ok ? result->parameters : NULL;
    struct lm_outcome *outcome = &report->outcome;
    outcome->status = result->status;
    outcome->epochs_run = result->epochs_run;
    outcome->train_loss = ok ? result->loss[trial->epochs - 1] : NAN;
    outcome->validation_loss = validation.loss;
    outcome->validation_accuracy = validation.accuracy;
    outcome->test_loss = test.loss;
    outcome->test_accuracy = test.accuracy;
    snprintf(outcome->reason, sizeof outcome->reason, "%s", result->reason);
    if (ok)
        lm_network_digest(trial->shape, result->parameters, outcome->digest);
    report->execution.seconds = result->seconds;
    report->execution.rank = schedule->world->rank;
    snprintf(report->execution.device, sizeof report->execution.device, "%s", schedule->device);
    snprintf(report->execution.variant, sizeof report->execution.variant, "%s", schedule->backend->name);
}

int lm_train_batch(const struct lm_schedule *schedule, uint64_t first, uint64_t count, struct lm_tick tick,
                   lm_deliver deliver, void *context, struct lm_error *err)
{
    struct batch batch;
    int code = make_batch(schedule, first, count, &batch, err);
    if (code == LM_OK)
        code = schedule->backend->train(schedule->session, batch.trial, count, batch.result, tick, err);
    if (code == LM_OK)
        code = score_batch(schedule, &batch, &schedule->problem->validation, batch.validation, tick, err);
    if (code == LM_OK)
        code = score_batch(schedule, &batch, &schedule->problem->test, batch.test, tick, err);
    for (uint64_t k = 0; k < count && code == LM_OK; k++) {
        struct lm_report report;
        make_report(schedule, &batch, k, &report);
        code = deliver(context, &report, err);
        if (tick.call && k % REPORTS_A_TICK == 0 && tick.call(tick.context) && code == LM_OK)
            code = lm_fail(err, LM_STOPPED, "stopped while results were handed in");
    }
    free_batch(&batch);
    return code;
}
