/* sweep.c: `libras_mpi sweep SPEC.yaml`: a search that can be stopped, killed and resumed at any moment, on any number
 * of ranks, with the same answer. lm_command_sweep is the story; sweep.h names the chapters.
 */
#include "sweep.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ending.h"
#include "forecast.h"
#include "gpu.h"
#include "prepare.h"
#include "stop.h"

/* ---- before the training ---- */

static int plan(struct lm_sweep *sweep)
{
    struct lm_error err;
    const struct lm_world *world = sweep->job.call->world;
    int code = world->rank == 0 ? lm_sweep_plan(sweep, &err) : lm_results_allocate(0, &sweep->job.results, &err);
    return lm_agree(world, code, &err);
}

static int work_of(struct lm_sweep *sweep, struct lm_work *work, struct lm_error *err)
{
    return lm_forecast_sweep(&sweep->spec, sweep->job.results.trial, sweep->n, work, err);
}

static int show_plan(struct lm_sweep *sweep, struct lm_place place, struct lm_error *err)
{
    struct lm_work work = {0};
    int code = lm_sweep_show_plan(sweep, err);
    if (code == LM_OK && (code = work_of(sweep, &work, err)) == LM_OK) {
        lm_forecast_show(sweep->job.call, place, &work, sweep->spec.holdout, 0);
        code = lm_flush_stdout(err);
    }
    lm_work_free(&work);
    return code;
}

static int dry_run(struct lm_sweep *sweep)
{
    struct lm_error err;
    struct lm_place place;
    const struct lm_world *world = sweep->job.call->world;
    lm_place_find(world, 0, &place);
    return lm_agree(world, world->rank == 0 ? show_plan(sweep, place, &err) : LM_OK, &err);
}

/* Of a sweep that goes on, what is left: of each kind of trainings the same part. */
static int decide(struct lm_sweep *sweep)
{
    struct lm_job *job = &sweep->job;
    const struct lm_world *world = job->call->world;
    struct lm_work work = {0};
    struct lm_error err;
    double left = sweep->total > 0 ? 1.0 - (double)sweep->done / (double)sweep->total : 1.0;
    int code = lm_agree(world, world->rank == 0 ? work_of(sweep, &work, &err) : LM_OK, &err);
    if (code == LM_OK) {
        lm_work_end(&work, (double)job->problem.train.n, left);
        code = lm_job_decide(job, &work, (double)job->problem.validation.n,
                             sweep->n ? job->results.trial[0].shape : (struct lm_shape){32, 16});
    }
    lm_work_free(&work);
    return code;
}

static int name_files(struct lm_sweep *sweep, struct lm_error *err)
{
    const char *path = sweep->job.output.path;
    if (asprintf(&sweep->checkpoint_path, "%s.ckpt", path) < 0)
        sweep->checkpoint_path = NULL;
    if (asprintf(&sweep->status_path, "%s.status", path) < 0)
        sweep->status_path = NULL;
    return sweep->checkpoint_path && sweep->status_path ? LM_OK : lm_fail_memory(err, strlen(path), "a path");
}

static int open_on_rank_0(struct lm_sweep *sweep, int *nothing_to_do, struct lm_error *err)
{
    int code = name_files(sweep, err);
    if (code == LM_OK)
        code =
            lm_best_begin(&sweep->best, sweep->leaders, sweep->spec.objective == LM_OBJECTIVE_VALIDATION_ACCURACY, err);
    return code == LM_OK ? lm_sweep_open(sweep, nothing_to_do, err) : code;
}

static int open_checkpoint(struct lm_sweep *sweep, int *nothing_to_do)
{
    struct lm_error err;
    const struct lm_world *world = sweep->job.call->world;
    int code = world->rank == 0 ? open_on_rank_0(sweep, nothing_to_do, &err) : LM_OK;
    if ((code = lm_agree(world, code, &err)) == LM_OK)
        lm_broadcast(world, nothing_to_do, sizeof *nothing_to_do);
    return code;
}

/* ---- training ---- */

static int train_round(struct lm_sweep *sweep, const struct lm_round *round)
{
    struct lm_job *job = &sweep->job;
    const struct lm_world *world = job->call->world;
    char device[32];
    struct lm_error err;
    double seconds;
    struct lm_task_source source = {0, lm_sweep_take_tasks, sweep};
    lm_device_of(job->backend, device, sizeof device);
    const struct lm_schedule schedule = {.world = world,
                                         .source = &source,
                                         .backend = job->backend,
                                         .session = job->session,
                                         .problem = &job->problem,
                                         .device = device,
                                         .all_parameters = round->all_parameters,
                                         .best = round->best,
                                         .by_accuracy = round->by_accuracy,
                                         .snapshot_every = job->call->options->checkpoint_every,
                                         .may_stop = 1};
    const struct lm_sink sink = {lm_sweep_take_report, lm_sweep_pulse, sweep};
    int code = lm_agree(world, world->rank == 0 ? lm_sweep_count_tasks(sweep, &source.total, &err) : LM_OK, &err);
    if (code != LM_OK)
        return code;
    code = lm_schedule_run(&schedule, &sink, &seconds);
    job->seconds[LM_PHASE_TRAIN] += seconds;
    return code;
}

/* All rounds, until there is none, or a stop. */
static int train_rounds(struct lm_sweep *sweep)
{
    const struct lm_world *world = sweep->job.call->world;
    struct lm_error err;
    for (;;) {
        struct lm_round round;
        int code = lm_agree(world, world->rank == 0 ? lm_sweep_next_round(sweep, &round, &err) : LM_OK, &err);
        if (code != LM_OK)
            return code;
        lm_broadcast(world, &round, sizeof round);
        if (!round.go)
            return LM_OK;
        if ((code = train_round(sweep, &round)) != LM_OK)
            return code;
    }
}

static int train(struct lm_sweep *sweep)
{
    struct lm_job *job = &sweep->job;
    const struct lm_world *world = job->call->world;
    LM_MPI(world, MPI_Barrier(world->comm));
    double start = sweep->began = sweep->flushed = lm_now();
    sweep->before = sweep->done;
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_TRAIN]);
    lm_progress_begin(&sweep->progress, world, "trainings", sweep->total);
    sweep->progress.before = sweep->done;
    int code = train_rounds(sweep);
    lm_progress_end(&sweep->progress);
    lm_gpu_range_end();
    lm_detail(world, "train: %.3f s on %s", job->seconds[LM_PHASE_TRAIN], job->backend->name);
    job->times.train = lm_now() - start;
    if (code == LM_OK)
        lm_job_trained(job);
    return code;
}

/* ---- the end of it ---- */

static const char *signal_name(int number)
{
    switch (number) {
    case SIGUSR1:
        return "USR1";
    case SIGTERM:
        return "TERM";
    case SIGINT:
        return "INT";
    default:
        return "a signal to another rank";
    }
}

static int stopped_on_rank_0(struct lm_sweep *sweep, struct lm_error *err)
{
    int code = lm_sweep_flush(sweep, err);
    if (code != LM_OK)
        return code;
    lm_sweep_status(sweep, "stopped");
    lm_say(sweep->job.call->world,
           "stopped by %s: %llu of %llu trainings are in '%s'; the same command with --resume goes on",
           signal_name(lm_stop_asked()), (unsigned long long)sweep->done, (unsigned long long)sweep->total,
           sweep->checkpoint_path);
    return LM_STOPPED;
}

static int stopped(struct lm_sweep *sweep)
{
    struct lm_error err = {.text = ""};
    const struct lm_world *world = sweep->job.call->world;
    int code = world->rank == 0 ? stopped_on_rank_0(sweep, &err) : LM_STOPPED;
    return lm_agree(world, code, code == LM_STOPPED ? NULL : &err);
}

static int finish(struct lm_sweep *sweep)
{
    struct lm_error err;
    const struct lm_world *world = sweep->job.call->world;
    int code = world->rank == 0 ? lm_sweep_flush(sweep, &err) : LM_OK;
    if (code == LM_OK)
        lm_ending_after_checkpoint();
    if (world->rank == 0) {
        lm_sweep_status(sweep, "trained, checking the answers");
        code = code == LM_OK ? lm_sweep_finish(sweep, &err) : code;
    }
    if (code == LM_OK && world->rank == 0) /* not before FILE has its name, and before another may write it */
        code = lm_output_remove_later(&sweep->job.output, sweep->checkpoint_path, sweep->status_path, &err);
    return lm_agree(world, code, &err);
}

static int say_nothing_to_do(const struct lm_sweep *sweep)
{
    lm_note(sweep->job.call->world, "'%s' has all %llu trials of %s: nothing to do",
            sweep->job.output.path ? sweep->job.output.path : "", (unsigned long long)sweep->n,
            sweep->job.call->options->operand[0]);
    return LM_OK;
}

static void clean_up(struct lm_sweep *sweep)
{
    lm_checkpoint_close(sweep->checkpoint);
    lm_best_end(&sweep->best);
    lm_sweep_spec_free(&sweep->spec);
    free(sweep->text);
    free(sweep->checkpoint_path);
    free(sweep->status_path);
    free(sweep->alive);
    free(sweep->reached);
    lm_job_end(&sweep->job);
}

static int story(struct lm_sweep *sweep)
{
    struct lm_job *job = &sweep->job;
    const struct lm_call *call = job->call;
    int code, nothing_to_do = 0;
    if ((code = plan(sweep)) != LM_OK) /* the specification to trials */
        return code;
    if (call->options->dry_run)
        return dry_run(sweep);
    job->times.start = lm_now() - call->start;
    if ((code = lm_decide_begin(call, &job->decide)) != LM_OK ||
        (code = lm_prepare_output(call, &job->output)) != LM_OK || /* one run at a time */
        (code = lm_job_load(job)) != LM_OK ||
        (code = open_checkpoint(sweep, &nothing_to_do)) != LM_OK) /* what is known already */
        return code;
    if (nothing_to_do)
        return say_nothing_to_do(sweep);
    if ((code = decide(sweep)) != LM_OK || (code = lm_job_open_backend(job)) != LM_OK)
        return code;
    if ((code = train(sweep)) == LM_STOPPED) /* round by round, all into the checkpoint */
        return stopped(sweep);
    if (code != LM_OK || (code = finish(sweep)) != LM_OK || /* from there into the file */
        (code = lm_job_infer(job)) != LM_OK ||              /* the best trial's test scores */
        (code = lm_job_validate(job)) != LM_OK)
        return code;
    return lm_job_finish(job);
}

int lm_command_sweep(const struct lm_call *call)
{
    struct lm_sweep sweep = {.job = {.call = call, .title = "libras_mpi sweep", .network_trial = UINT64_MAX}};
    int code = story(&sweep);
    clean_up(&sweep);
    return code;
}
