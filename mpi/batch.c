/* batch.c: see batch.h. */
#include "batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "evaluate.h"
#include "large.h"

/* The others are heard again after so many reports, and so many digests of each thread: of 10 us for the lab's shape,
 * which trains by thousands. */
#define REPORTS_A_TICK 64
#define DIGESTS_A_TICK 256
#define DIGESTS_A_PART 32 /* that a thread takes at a time */

#define SECONDS_BETWEEN_SNAPSHOTS 0.05

/* The trials of one call of backend->train, and where their results go. */
struct batch {
    const struct lm_schedule *schedule;
    const struct lm_task *task;
    size_t count;
    struct lm_trial *trial;
    struct lm_training_result *result;
    double *loss;      /* of all trials, one after the other: thousands of small blocks would be a page fault each */
    float *parameters; /* likewise */
    struct lm_snapshot *snapshot;         /* (count), or NULL */
    struct lm_metrics *validation, *test; /* (count): of the trials that ended well */
    char (*digest)[LM_SHA256_HEX];        /* (count): likewise */
    float *scores;                        /* for evaluation: the larger of the two sample sets */

    struct lm_tick tick; /* the caller's */
    lm_deliver deliver;
    void *context;
    double looked; /* lm_now() of the last look at the snapshots */
    int code;      /* of a state that could not be delivered; err is its message */
    struct lm_error *err;
};

static void free_batch(struct batch *batch)
{
    free(batch->loss);
    free(batch->parameters);
    for (size_t k = 0; batch->snapshot && k < batch->count; k++)
        free(batch->snapshot[k].parameters);
    free(batch->result);
    free(batch->trial);
    free(batch->snapshot);
    free(batch->validation);
    free(batch->test);
    free(batch->digest);
    free(batch->scores);
}

static int make_snapshot(struct batch *batch, size_t k, struct lm_error *err)
{
    size_t bytes = lm_network_floats(batch->trial[k].shape) * sizeof(float);
    double every = batch->schedule->snapshot_every;
    batch->snapshot[k] = (struct lm_snapshot){.every = every, .due = lm_now() + every, .parameters = malloc(bytes)};
    batch->result[k].snapshot = &batch->snapshot[k];
    return batch->snapshot[k].parameters ? LM_OK : lm_fail_memory(err, bytes, "the state of a trial");
}

/* A trial's share of them: whole cache lines, since several threads may write at the same time. */
static size_t losses_of(const struct lm_task *task)
{
    return ((size_t)task->trial.epochs + 7) / 8 * 8;
}

static size_t floats_of(const struct lm_task *task)
{
    return (lm_network_floats(task->trial.shape) + 15) / 16 * 16;
}

static int make_room(struct batch *batch, struct lm_error *err)
{
    size_t epochs = 0, floats = 0;
    for (size_t k = 0; k < batch->count; k++) {
        epochs += losses_of(&batch->task[k]);
        floats += floats_of(&batch->task[k]);
    }
    batch->loss = lm_large(epochs * sizeof *batch->loss);
    batch->parameters = lm_large(floats * sizeof *batch->parameters);
    return batch->loss && batch->parameters
               ? LM_OK
               : lm_fail_memory(err, epochs * sizeof *batch->loss + floats * sizeof *batch->parameters,
                                "losses and weights of a batch of trials");
}

/* *loss and *parameters: where its own begin; moved on to where the next one's do. */
static int make_trial(struct batch *batch, size_t k, double **loss, float **parameters, struct lm_error *err)
{
    const struct lm_task *task = &batch->task[k];
    struct lm_training_result *result = &batch->result[k];
    size_t floats = lm_network_floats(task->trial.shape);
    batch->trial[k] = task->trial;
    result->status = LM_TRIAL_NOT_RUN;
    result->loss = *loss;
    result->parameters = *parameters;
    *loss += losses_of(task);
    *parameters += floats_of(task);
    if (task->begun) {
        result->begun = task->begun;
        memcpy(result->loss, lm_task_loss(task), task->begun * sizeof(double));
        memcpy(result->parameters, lm_task_parameters(task), floats * sizeof(float));
    }
    return batch->snapshot ? make_snapshot(batch, k, err) : LM_OK;
}

static int make_batch(struct batch *batch, struct lm_error *err)
{
    const struct lm_schedule *schedule = batch->schedule;
    const struct lm_problem *problem = schedule->problem;
    size_t widest = problem->validation.n > problem->test.n ? problem->validation.n : problem->test.n;
    size_t count = batch->count;
    int snapshots = schedule->snapshot_every > 0.0 && schedule->backend->continues;
    batch->trial = calloc(count, sizeof *batch->trial);
    batch->result = calloc(count, sizeof *batch->result);
    batch->snapshot = snapshots ? calloc(count, sizeof *batch->snapshot) : NULL;
    batch->scores = lm_large((widest * LM_CLASSES + 1) * sizeof *batch->scores);
    batch->validation = calloc(count, sizeof *batch->validation);
    batch->test = calloc(count, sizeof *batch->test);
    batch->digest = calloc(count, sizeof *batch->digest);
    if (!batch->trial || !batch->result || !batch->validation || !batch->test || !batch->digest || !batch->scores ||
        (snapshots && !batch->snapshot))
        return lm_fail_memory(err, widest * LM_CLASSES * sizeof *batch->scores, "a batch of trials");
    int code = make_room(batch, err);
    double *loss = batch->loss;
    float *parameters = batch->parameters;
    for (size_t k = 0; k < count && code == LM_OK; k++)
        code = make_trial(batch, k, &loss, &parameters, err);
    return code;
}

/* ---- metrics ---- */

static int score_one(const struct lm_schedule *schedule, struct batch *batch, size_t k,
                     const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_error *err)
{
    int code = schedule->backend->infer(schedule->session, batch->trial[k].shape, batch->result[k].parameters,
                                        samples->x, samples->n, batch->scores, err);
    if (code == LM_OK)
        metrics[k] = lm_evaluate(batch->scores, samples->label, samples->n);
    return code;
}

/* The networks of one shape together, from trial k on. */
static int score_shape(const struct lm_schedule *schedule, struct batch *batch, size_t k,
                       const struct lm_samples *samples, struct lm_metrics *metrics, unsigned char *scored,
                       struct lm_tick tick, struct lm_error *err)
{
    const struct lm_shape shape = batch->trial[k].shape;
    const float **parameters = malloc(batch->count * sizeof *parameters);
    struct lm_metrics *found = malloc(batch->count * sizeof *found);
    size_t n = 0;
    int code = parameters && found ? LM_OK : lm_fail_memory(err, batch->count * sizeof *found, "a batch's metrics");
    for (size_t t = k; t < batch->count && code == LM_OK; t++)
        if (batch->result[t].status == LM_TRIAL_OK && lm_shape_equal(batch->trial[t].shape, shape))
            parameters[n++] = batch->result[t].parameters;
    if (code == LM_OK)
        code = schedule->backend->evaluate(schedule->session, shape, parameters, n, samples, found, tick, err);
    n = 0;
    for (size_t t = k; t < batch->count && code == LM_OK; t++)
        if (batch->result[t].status == LM_TRIAL_OK && lm_shape_equal(batch->trial[t].shape, shape)) {
            metrics[t] = found[n++];
            scored[t] = 1;
        }
    free(parameters);
    free(found);
    return code;
}

static int score_batch(const struct lm_schedule *schedule, struct batch *batch, const struct lm_samples *samples,
                       struct lm_metrics *metrics, struct lm_tick tick, struct lm_error *err)
{
    unsigned char *scored = calloc(batch->count + 1, 1); /* with an earlier one of the same shape */
    int code = scored ? LM_OK : lm_fail_memory(err, batch->count, "a batch's metrics");
    for (size_t k = 0; k < batch->count && code == LM_OK; k++) {
        if (batch->result[k].status != LM_TRIAL_OK || scored[k])
            continue;
        if (schedule->backend->evaluate)
            code = score_shape(schedule, batch, k, samples, metrics, scored, tick, err);
        else
            code = score_one(schedule, batch, k, samples, metrics, err);
    }
    free(scored);
    return code;
}

/* ---- digests ---- */

struct digests {
    struct batch *batch;
    size_t first;
};

static void digest_some(void *context, size_t first, size_t last)
{
    const struct digests *d = context;
    struct batch *batch = d->batch;
    for (size_t k = d->first + first; k < d->first + last; k++)
        if (batch->result[k].status == LM_TRIAL_OK)
            lm_network_digest(batch->trial[k].shape, batch->result[k].parameters, batch->digest[k]);
}

/* By all cores of this rank: one alone would take a tenth of the time in which a GPU trains the networks. */
static void digest_all(struct batch *batch)
{
    size_t threads = batch->schedule->problem->threads > 0 ? (size_t)batch->schedule->problem->threads : 1;
    size_t most = threads * DIGESTS_A_TICK;
    for (size_t count, first = 0; first < batch->count; first += count) {
        struct digests some = {batch, first};
        count = batch->count - first < most ? batch->count - first : most;
        lm_crew(threads, count, DIGESTS_A_PART, digest_some, &some);
        if (batch->tick.call)
            batch->tick.call(batch->tick.context); /* a stop waits for the few that are left */
    }
}

/* ---- reports ---- */

static void say_where(const struct lm_schedule *schedule, struct lm_trial_execution *execution)
{
    execution->rank = schedule->world->rank;
    snprintf(execution->device, sizeof execution->device, "%s", schedule->device);
    snprintf(execution->variant, sizeof execution->variant, "%s", schedule->backend->name);
}

static void make_report(const struct batch *batch, size_t k, struct lm_report *report)
{
    const struct lm_trial *trial = &batch->trial[k];
    const struct lm_training_result *result = &batch->result[k];
    const struct lm_metrics none = {.loss = NAN, .accuracy = NAN};
    int ok = result->status == LM_TRIAL_OK;
    struct lm_metrics validation = ok ? batch->validation[k] : none;
    struct lm_metrics test = ok && batch->schedule->test ? batch->test[k] : none;
    *report = (struct lm_report){.trial = batch->task[k].number, .begun = result->begun, .loss = result->loss};
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
    memcpy(outcome->digest, batch->digest[k], sizeof outcome->digest);
    report->execution.seconds = result->seconds;
    say_where(batch->schedule, &report->execution);
}

/* The state that the snapshot holds. */
static int deliver_state(struct batch *batch, size_t k)
{
    struct lm_snapshot *snapshot = &batch->snapshot[k];
    struct lm_report report = {.trial = batch->task[k].number, .loss = batch->result[k].loss};
    report.parameters = snapshot->parameters;
    report.outcome = (struct lm_outcome){.status = LM_TRIAL_NOT_RUN,
                                         .epochs_run = snapshot->epochs,
                                         .train_loss = NAN,
                                         .validation_loss = NAN,
                                         .validation_accuracy = NAN,
                                         .test_loss = NAN,
                                         .test_accuracy = NAN};
    report.execution.seconds = NAN;
    say_where(batch->schedule, &report.execution);
    return batch->deliver(batch->context, &report, batch->err);
}

static int batch_tick(void *context)
{
    struct batch *batch = context;
    int stop = batch->tick.call && batch->tick.call(batch->tick.context);
    double t = batch->snapshot ? lm_now() : 0.0;
    if (t - batch->looked < SECONDS_BETWEEN_SNAPSHOTS)
        return stop;
    batch->looked = t;
    for (size_t k = 0; k < batch->count && batch->code == LM_OK; k++) {
        struct lm_snapshot *snapshot = &batch->snapshot[k];
        if (!__atomic_load_n(&snapshot->full, __ATOMIC_ACQUIRE))
            continue;
        batch->code = deliver_state(batch, k);
        __atomic_store_n(&snapshot->full, 0, __ATOMIC_RELEASE);
    }
    return stop || batch->code != LM_OK;
}

/* ---- the batch ---- */

/* One that was stopped in its course has the status of a failure, and no reason. */
static int has_ended(const struct lm_training_result *result)
{
    return result->status == LM_TRIAL_OK || result->status == LM_TRIAL_DIVERGED ||
           (result->status == LM_TRIAL_FAILED && result->reason[0]);
}

static int deliver_all(struct batch *batch, struct lm_error *err)
{
    int code = LM_OK;
    for (size_t k = 0; k < batch->count && code == LM_OK; k++) {
        struct lm_report report;
        if (!has_ended(&batch->result[k]))
            continue;
        make_report(batch, k, &report);
        code = batch->deliver(batch->context, &report, err);
        if (batch->tick.call && k % REPORTS_A_TICK == 0)
            batch->tick.call(batch->tick.context); /* a stop waits for the few that are left */
    }
    return code;
}

/* A failure of a trial of whose reason nobody spoke. */
static void give_reasons(struct batch *batch)
{
    for (size_t k = 0; k < batch->count; k++)
        if (batch->result[k].status == LM_TRIAL_FAILED && !batch->result[k].reason[0])
            snprintf(batch->result[k].reason, sizeof batch->result[k].reason, "it could not be trained");
}

int lm_train_batch(const struct lm_schedule *schedule, const struct lm_task *task, size_t count, struct lm_tick tick,
                   lm_deliver deliver, void *context, struct lm_error *err)
{
    struct lm_error why;
    struct batch batch = {.schedule = schedule,
                          .task = task,
                          .count = count,
                          .tick = tick,
                          .deliver = deliver,
                          .context = context,
                          .err = err};
    const struct lm_tick both = {batch_tick, &batch}, none = {0};
    int code = make_batch(&batch, err), trained = LM_OK;
    if (code == LM_OK)
        code = trained = schedule->backend->train(schedule->session, batch.trial, count, batch.result, both, &why);
    if (batch.code != LM_OK) /* err says why */
        code = batch.code;
    else if (trained == LM_STOPPED)
        code = LM_OK;
    else if (trained != LM_OK)
        *err = why;
    else
        give_reasons(&batch);
    /* Of a batch that was stopped, what has ended is scored without looking up: it is little. */
    struct lm_tick scoring = trained == LM_STOPPED ? none : tick;
    if (code == LM_OK)
        code = score_batch(schedule, &batch, &schedule->problem->validation, batch.validation, scoring, err);
    if (code == LM_OK && schedule->test)
        code = score_batch(schedule, &batch, &schedule->problem->test, batch.test, scoring, err);
    if (code == LM_OK) {
        digest_all(&batch);
        code = deliver_all(&batch, err);
    }
    free_batch(&batch);
    return code == LM_OK && trained == LM_STOPPED ? lm_fail(err, LM_STOPPED, "%s", why.text) : code;
}
