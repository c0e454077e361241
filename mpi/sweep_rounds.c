/* sweep_rounds.c: what is trained next, and where its results go.
 *
 * A grid, and drawn trials, are one round. Halving has a round a rung: all its trials end before the first is promoted,
 * so that the promotions are a function of the answers, and the same on any number of ranks. The last round trains
 * those again whose weights are wanted and nowhere: after a resume with another specification, or where the best trials
 * of a rung were not the best of all when they came in. Without `keep_weights: all` it costs as many trainings as there
 * are leaders, at most.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "stop.h"
#include "sweep.h"

/* Weights of a rung's trials, from which the next one goes on, are kept up to this many bytes. */
#define MOST_STATES ((uint64_t)2 << 30)

/* ---- promotion ---- */

struct rated {
    struct lm_rating rating;
    int by_accuracy;
};

static int by_rating(const void *a, const void *b)
{
    const struct rated *x = a, *y = b;
    return lm_rating_better(x->by_accuracy, &x->rating, &y->rating) ? -1 : 1;
}

int lm_sweep_by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static struct lm_rating rating_of(uint64_t trial, size_t rung, const struct lm_outcome *outcome)
{
    return (struct lm_rating){.trial = trial,
                              .rung = (uint32_t)rung,
                              .loss = outcome->validation_loss,
                              .accuracy = outcome->validation_accuracy};
}

/* The rung's trials that ended well, best first. */
static int rate_rung(struct lm_sweep *sweep, struct rated *rated, uint64_t *n, struct lm_error *err)
{
    *n = 0;
    for (uint64_t k = 0; k < sweep->n_alive; k++) {
        struct lm_trial trial = lm_sweep_trial(sweep, sweep->alive[k], sweep->rung);
        struct lm_record record;
        int code = lm_sweep_need(sweep, &trial, &record, err);
        if (code != LM_OK)
            return code;
        if (record.outcome.status == LM_TRIAL_OK)
            rated[(*n)++] = (struct rated){rating_of(sweep->alive[k], sweep->rung, &record.outcome),
                                           sweep->spec.objective == LM_OBJECTIVE_VALIDATION_ACCURACY};
    }
    qsort(rated, (size_t)*n, sizeof *rated, by_rating);
    return LM_OK;
}

static int promote(struct lm_sweep *sweep, struct lm_error *err)
{
    struct rated *rated = malloc((sweep->n_alive + 1) * sizeof *rated);
    uint64_t kept = lm_sweep_kept(&sweep->spec, sweep->n_alive), n = 0;
    int code = rated ? rate_rung(sweep, rated, &n, err)
                     : lm_fail_memory(err, sweep->n_alive * sizeof *rated, "the trials of a rung");
    kept = kept < n ? kept : n;
    sweep->rung++;
    for (uint64_t k = 0; k < kept && code == LM_OK; k++) {
        sweep->alive[k] = rated[k].rating.trial;
        sweep->reached[sweep->alive[k]] = (uint32_t)sweep->rung;
    }
    sweep->n_alive = kept;
    qsort(sweep->alive, (size_t)kept, sizeof *sweep->alive, lm_sweep_by_number);
    free(rated);
    return code;
}

/* ---- rounds ---- */

static int begin_first(struct lm_sweep *sweep, struct lm_error *err)
{
    sweep->alive = malloc((sweep->n + 1) * sizeof *sweep->alive);
    sweep->reached = sweep->spec.n_rungs ? calloc(sweep->n + 1, sizeof *sweep->reached) : NULL;
    if (!sweep->alive || (sweep->spec.n_rungs && !sweep->reached))
        return lm_fail_memory(err, sweep->n * sizeof *sweep->alive, "the trials");
    for (uint64_t t = 0; t < sweep->n; t++)
        sweep->alive[t] = t;
    sweep->n_alive = sweep->n;
    return LM_OK;
}

/* The trials whose weights will be stored or scored, and are not in the checkpoint, in sweep->alive. */
static int begin_again(struct lm_sweep *sweep, struct lm_error *err)
{
    uint64_t *wanted = NULL, n = 0;
    int code = lm_sweep_collect(sweep, err);
    if (code == LM_OK)
        code = lm_sweep_with_weights(sweep, &wanted, &n, err);
    sweep->again = 1;
    sweep->n_alive = 0;
    for (uint64_t k = 0; k < n && code == LM_OK; k++) {
        struct lm_record record;
        code = lm_sweep_need(sweep, &sweep->job.results.trial[wanted[k]], &record, err);
        if (code == LM_OK && !record.parameters)
            sweep->alive[sweep->n_alive++] = wanted[k];
    }
    free(wanted);
    return code;
}

/* Are the weights of this rung's trials worth keeping for the next one? */
static int keeps_states(const struct lm_sweep *sweep)
{
    double bytes = 0.0;
    if (sweep->again || sweep->rung + 1 >= lm_sweep_rungs(&sweep->spec) || !sweep->job.backend->continues)
        return 0;
    for (uint64_t k = 0; k < sweep->n_alive; k++)
        bytes += (double)lm_network_floats(sweep->job.results.trial[sweep->alive[k]].shape) * sizeof(float);
    return bytes <= (double)MOST_STATES;
}

int lm_sweep_next_round(struct lm_sweep *sweep, struct lm_round *round, struct lm_error *err)
{
    int code = LM_OK;
    *round = (struct lm_round){.go = 0};
    if (!sweep->alive)
        code = begin_first(sweep, err);
    else if (sweep->again)
        return LM_OK;
    else if (sweep->rung + 1 < lm_sweep_rungs(&sweep->spec))
        code = promote(sweep, err);
    else
        code = begin_again(sweep, err);
    if (code == LM_OK && !sweep->again && sweep->n_alive == 0)
        code = begin_again(sweep, err); /* all of a rung have diverged */
    if (code != LM_OK || (sweep->again && sweep->n_alive == 0))
        return code;
    sweep->cursor = 0;
    sweep->keep_states = keeps_states(sweep);
    *round = (struct lm_round){.go = 1,
                               .all_parameters = sweep->spec.keep == LM_KEEP_ALL || sweep->keep_states,
                               .by_accuracy = sweep->spec.objective == LM_OBJECTIVE_VALIDATION_ACCURACY,
                               .best = sweep->leaders};
    return LM_OK;
}

/* ---- tasks ---- */

static struct lm_trial trial_now(const struct lm_sweep *sweep, uint64_t t)
{
    return sweep->again ? sweep->job.results.trial[t] : lm_sweep_trial(sweep, t, sweep->rung);
}

/* Has it ended, for this round? */
static int is_known(struct lm_sweep *sweep, uint64_t t, int *known, struct lm_error *err)
{
    struct lm_trial trial = trial_now(sweep, t);
    struct lm_record record;
    if (sweep->again) {
        *known = 0;
        return LM_OK;
    }
    return lm_checkpoint_find(sweep->checkpoint, &trial, &record, known, err);
}

int lm_sweep_count_tasks(struct lm_sweep *sweep, uint64_t *count, struct lm_error *err)
{
    int known, code = LM_OK;
    *count = 0;
    for (uint64_t k = 0; k < sweep->n_alive && code == LM_OK; k++) {
        if ((code = is_known(sweep, sweep->alive[k], &known, err)) == LM_OK)
            *count += !known;
    }
    return code;
}

/* A trial that nobody can train has its reason at once. */
static int put_fault(struct lm_sweep *sweep, uint64_t t, const char *fault, struct lm_error *err)
{
    struct lm_report report = {.trial = t, .outcome = {.status = LM_TRIAL_FAILED}};
    struct lm_outcome *outcome = &report.outcome;
    outcome->train_loss = outcome->validation_loss = outcome->validation_accuracy = NAN;
    outcome->test_loss = outcome->test_accuracy = NAN;
    snprintf(outcome->reason, sizeof outcome->reason, "%s", fault);
    report.execution.seconds = NAN;
    report.execution.rank = -1;
    return lm_sweep_take_report(sweep, &report, err);
}

/* From where it goes on, if there is anything. */
static int find_start(struct lm_sweep *sweep, struct lm_task *task, struct lm_error *err)
{
    struct lm_record record;
    int found;
    if (!sweep->job.backend->continues)
        return LM_OK;
    int code = lm_checkpoint_find_start(sweep->checkpoint, &task->trial, &record, &found, err);
    if (code != LM_OK || !found)
        return code;
    task->begun = record.outcome.epochs_run;
    if (!(task->start = malloc(lm_task_start_bytes(task))))
        return lm_fail_memory(err, lm_task_start_bytes(task), "a trial's state");
    size_t losses = task->begun * sizeof(double);
    memcpy(task->start, record.loss, losses);
    memcpy((char *)task->start + losses, record.parameters, lm_task_start_bytes(task) - losses);
    return LM_OK;
}

static int take_one(struct lm_sweep *sweep, uint64_t t, struct lm_task *task, size_t *n, struct lm_error *err)
{
    char fault[sizeof((struct lm_outcome *)0)->reason];
    int known;
    int code = is_known(sweep, t, &known, err);
    if (code != LM_OK || known)
        return code;
    *task = (struct lm_task){.number = t, .trial = trial_now(sweep, t), .wanted = (uint32_t)sweep->again};
    if (lm_trial_fault(&task->trial, fault, sizeof fault))
        return put_fault(sweep, t, fault, err);
    ++*n;
    return find_start(sweep, task, err);
}

size_t lm_sweep_take_tasks(void *context, size_t most, struct lm_task *task)
{
    struct lm_sweep *sweep = context;
    struct lm_error err;
    size_t n = 0;
    while (n < most && sweep->cursor < sweep->n_alive)
        if (take_one(sweep, sweep->alive[sweep->cursor++], &task[n], &n, &err) != LM_OK)
            lm_abort(sweep->job.call->world, &err);
    return n;
}

/* ---- results ---- */

static int check_again(struct lm_sweep *sweep, const struct lm_report *report, struct lm_error *err)
{
    const struct lm_outcome *before = &sweep->job.results.outcome[report->trial];
    if (report->outcome.status == LM_TRIAL_NOT_RUN || strcmp(before->digest, report->outcome.digest) == 0)
        return LM_OK;
    return lm_fail(err, LM_MISMATCH,
                   "trial %llu, trained again, has other weights: SHA-256 %.16s... before, %.16s... now",
                   (unsigned long long)report->trial, before->digest, report->outcome.digest);
}

static void count_report(struct lm_sweep *sweep, const struct lm_report *report)
{
    const struct lm_outcome *outcome = &report->outcome;
    double epochs = (double)(outcome->epochs_run - report->begun);
    sweep->done += !sweep->again;
    sweep->failed += outcome->status == LM_TRIAL_FAILED;
    sweep->diverged += outcome->status == LM_TRIAL_DIVERGED;
    sweep->job.times.trainings += outcome->status != LM_TRIAL_FAILED;
    sweep->job.times.updates += epochs * (double)sweep->job.problem.train.n;
}

int lm_sweep_take_report(void *context, const struct lm_report *report, struct lm_error *err)
{
    struct lm_sweep *sweep = context;
    struct lm_record record = {.trial = trial_now(sweep, report->trial),
                               .outcome = report->outcome,
                               .execution = report->execution,
                               .loss = report->loss,
                               .parameters = report->parameters};
    int state = report->outcome.status == LM_TRIAL_NOT_RUN;
    if (sweep->again && check_again(sweep, report, err) != LM_OK)
        return err->code;
    if (!state) {
        const struct lm_rating rating = rating_of(report->trial, sweep->rung, &report->outcome);
        int wanted = sweep->again || sweep->spec.keep == LM_KEEP_ALL || sweep->keep_states;
        count_report(sweep, report);
        if (report->outcome.status == LM_TRIAL_OK && lm_best_wants(&sweep->best, &rating)) {
            if (lm_best_put(&sweep->best, &rating, NULL, 0, err) != LM_OK)
                return err->code;
            wanted = 1;
        }
        if (!wanted)
            record.parameters = NULL;
    }
    return lm_checkpoint_put(sweep->checkpoint, &record, err);
}

int lm_sweep_flush(struct lm_sweep *sweep, struct lm_error *err)
{
    sweep->flushed = lm_now();
    return lm_checkpoint_flush(sweep->checkpoint, err);
}

int lm_sweep_pulse(void *context, struct lm_error *err)
{
    struct lm_sweep *sweep = context;
    double t = lm_now();
    if (t - sweep->progress.last >= 0.2)
        lm_sweep_best_text(sweep, sweep->progress.more, sizeof sweep->progress.more);
    lm_progress_show(&sweep->progress, sweep->done);
    if (lm_stop_word_wanted())
        lm_sweep_word(sweep);
    if (t - sweep->shown >= 0.25)
        lm_sweep_status(sweep, "running");
    if (lm_stop_asked() && !sweep->stopping) { /* what there is, at once: the next signal may be the last */
        sweep->stopping = 1;
        return lm_sweep_flush(sweep, err);
    }
    return t - sweep->flushed >= sweep->job.call->options->checkpoint_every ? lm_sweep_flush(sweep, err) : LM_OK;
}
