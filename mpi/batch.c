/* batch.c: see batch.h. */
#include "batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

/* The trials of one call of backend->train, and where their results go. */
struct batch {
    uint64_t first, count;
    struct lm_trial *trial;
    struct lm_training_result *result;
    float *scores; /* for evaluation: the larger of the two sample sets */
};

static void free_batch(struct batch *batch)
{
    for (uint64_t k = 0; batch->result && k < batch->count; k++) {
        free(batch->result[k].loss);
        free(batch->result[k].parameters);
    }
    free(batch->result);
    free(batch->trial);
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
    if (!batch->trial || !batch->result || !batch->scores)
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

static int score_samples(const struct lm_schedule *schedule, const struct lm_trial *trial, const float *parameters,
                         const struct lm_samples *samples, float *scores, struct lm_metrics *metrics,
                         struct lm_error *err)
{
    int code =
        schedule->backend->infer(schedule->session, trial->shape, parameters, samples->x, samples->n, scores, err);
    if (code == LM_OK)
        *metrics = lm_evaluate(scores, samples->label, samples->n);
    return code;
}

static int make_report(const struct lm_schedule *schedule, struct batch *batch, uint64_t k, struct lm_report *report,
                       struct lm_error *err)
{
    const struct lm_trial *trial = &batch->trial[k];
    const struct lm_training_result *result = &batch->result[k];
    struct lm_metrics validation = {.loss = NAN, .accuracy = NAN}, test = validation;
    int ok = result->status == LM_TRIAL_OK, code = LM_OK;
    *report = (struct lm_report){.trial = batch->first + k, .loss = result->loss};
    report->parameters = ok ? result->parameters : NULL;
    if (ok && ((code = score_samples(schedule, trial, result->parameters, &schedule->problem->validation, batch->scores,
                                     &validation, err)) != LM_OK ||
               (code = score_samples(schedule, trial, result->parameters, &schedule->problem->test, batch->scores,
                                     &test, err)) != LM_OK))
        return code;
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
    return LM_OK;
}

int lm_train_batch(const struct lm_schedule *schedule, uint64_t first, uint64_t count, struct lm_tick tick,
                   lm_deliver deliver, void *context, struct lm_error *err)
{
    struct batch batch;
    int code = make_batch(schedule, first, count, &batch, err);
    if (code == LM_OK)
        code = schedule->backend->train(schedule->session, batch.trial, count, batch.result, tick, err);
    for (uint64_t k = 0; k < count && code == LM_OK; k++) {
        struct lm_report report;
        code = make_report(schedule, &batch, k, &report, err);
        if (code == LM_OK)
            code = deliver(context, &report, err);
    }
    free_batch(&batch);
    return code;
}
