/* run.c: `libras_mpi run`, the whole job: train, score, gather, validate, write, report. lm_command_run is the story.
 */
#include <string.h>

#include "forecast.h"
#include "gpu.h"
#include "job.h"
#include "keep.h"
#include "prepare.h"
#include "progress.h"
#include "replica_choice.h"
#include "schedule.h"

struct run {
    struct lm_job job;
    struct lm_keeper keeper; /* rank 0 */
    struct lm_progress progress;
    uint64_t next, finished; /* trials handed out, and ended */
};

/* ---- results and file ---- */

static uint64_t longest(const struct lm_axis *epochs)
{
    uint64_t most = 0;
    for (size_t k = 0; k < epochs->n; k++)
        most = epochs->whole[k] > most ? epochs->whole[k] : most;
    return most;
}

static int open_file(struct run *run)
{
    const struct lm_options *options = run->job.call->options;
    struct lm_results *results = &run->job.results;
    struct lm_error err;
    int code = LM_OK;
    if (run->job.call->world->rank == 0) {
        results->max_epochs = longest(&options->grid.epochs);
        code = lm_results_create(run->job.output.part, results->n_trials, results->max_epochs, &run->job.writer, &err);
        if (code == LM_OK)
            code = lm_keeper_begin(&run->keeper, options, results, run->job.writer, &err);
    }
    return lm_agree(run->job.call->world, code, &err);
}

/* ---- train ---- */

static size_t take_tasks(void *context, size_t most, struct lm_task *task)
{
    struct run *run = context;
    const struct lm_options *options = run->job.call->options;
    uint64_t trials = run->job.results.n_trials;
    size_t n = 0;
    for (; n < most && run->next < trials; n++, run->next++)
        task[n] = (struct lm_task){.number = run->next,
                                   .trial = lm_grid_trial(&options->grid, run->next),
                                   .wanted = (uint32_t)lm_replica_is(trials, options->validate_replicas, run->next)};
    return n;
}

static int take_report(void *context, const struct lm_report *report, struct lm_error *err)
{
    struct run *run = context;
    run->finished++;
    run->job.times.trainings++;
    run->job.times.updates += (double)(report->outcome.epochs_run - report->begun) * (double)run->job.problem.train.n;
    return lm_keeper_take(&run->keeper, report, err);
}

static int show_progress(void *context, struct lm_error *err)
{
    struct run *run = context;
    (void)err;
    lm_progress_show(&run->progress, run->finished);
    return LM_OK;
}

/* What was kept of the trials goes where the shared chapters look for it. */
static void hand_over(struct run *run)
{
    struct lm_keeper *keeper = &run->keeper;
    struct lm_job *job = &run->job;
    job->network_trial = keeper->first;
    job->network = keeper->first_parameters;
    job->network_loss = keeper->first_loss;
    job->n_replicas = keeper->n_replicas;
    job->replica = keeper->replica;
    keeper->first_parameters = NULL;
    keeper->first_loss = NULL;
    keeper->replica = NULL;
    if (keeper->first != UINT64_MAX)
        job->network_shape = job->results.trial[keeper->first].shape;
}

/* A GPU leaves the host idle: it can begin with what will be compared in the end. */
static void begin_early(struct run *run, const char *device)
{
    struct lm_job *job = &run->job;
    const struct lm_world *world = job->call->world;
    const struct lm_options *options = job->call->options;
    if (world->rank != 0 || strcmp(device, "gpu") != 0 || options->validate_replicas == 0)
        return;
    struct lm_trial first =
        lm_grid_trial(&options->grid, lm_replica_of(job->results.n_trials, options->validate_replicas, 0));
    job->early = lm_early_begin(&job->problem, &first);
}

static int train(struct run *run)
{
    const struct lm_world *world = run->job.call->world;
    const struct lm_options *options = run->job.call->options;
    char device[32];
    struct lm_error err;
    lm_device_of(run->job.backend, device, sizeof device);
    uint64_t trials = lm_grid_size(&options->grid), top = options->keep == LM_KEEP_TOP ? options->keep_top : 0;
    const struct lm_task_source source = {trials, take_tasks, run};
    const struct lm_schedule schedule = {.world = world,
                                         .source = &source,
                                         .backend = run->job.backend,
                                         .session = run->job.session,
                                         .problem = &run->job.problem,
                                         .device = device,
                                         .all_parameters = options->keep == LM_KEEP_ALL,
                                         .best = top < trials ? top : trials,
                                         .lowest = 1,
                                         .test = 1};
    const struct lm_sink sink = {take_report, show_progress, run};
    LM_MPI(world, MPI_Barrier(world->comm));
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_TRAIN]);
    begin_early(run, device);
    lm_progress_begin(&run->progress, world, "trials", run->job.results.n_trials);
    lm_schedule_run(&schedule, &sink, &run->job.seconds[LM_PHASE_TRAIN]);
    lm_progress_end(&run->progress);
    lm_gpu_range_end();
    lm_detail(world, "train: %.3f s on %s", run->job.seconds[LM_PHASE_TRAIN], run->job.backend->name);
    LM_MPI(world, MPI_Barrier(world->comm));
    run->job.times.train = lm_now() - start;
    lm_job_trained(&run->job);
    int code = world->rank == 0 ? lm_keeper_finish(&run->keeper, &err) : LM_OK;
    hand_over(run);
    return lm_agree(world, code, &err);
}

static int allocate(struct run *run)
{
    struct lm_error err;
    uint64_t trials = run->job.call->world->rank == 0 ? lm_grid_size(&run->job.call->options->grid) : 0;
    run->keeper.first = UINT64_MAX;
    return lm_agree(run->job.call->world, lm_results_allocate(trials, &run->job.results, &err), &err);
}

/* Who does it, now that the number of samples is known. */
static int decide(struct run *run)
{
    struct lm_job *job = &run->job;
    const struct lm_options *options = job->call->options;
    struct lm_work work = {0};
    struct lm_error err;
    int code = job->call->world->rank == 0 ? lm_forecast_axes(options, &work, &err) : LM_OK;
    if ((code = lm_agree(job->call->world, code, &err)) == LM_OK) {
        lm_work_end(&work, (double)job->problem.train.n, 1.0);
        code = lm_job_decide(job, &work, (double)(job->problem.validation.n + job->problem.test.n),
                             lm_grid_trial(&options->grid, 0).shape);
    }
    lm_work_free(&work);
    return code;
}

/* ---- --dry-run ---- */

static int plan_on_rank_0(const struct lm_call *call, struct lm_place place, struct lm_error *err)
{
    struct lm_work work = {0};
    int code = lm_report_plan(call, err);
    if (code == LM_OK && (code = lm_forecast_axes(call->options, &work, err)) == LM_OK) {
        lm_forecast_show(call, place, &work, call->options->holdout, 1);
        code = lm_flush_stdout(err);
    }
    lm_work_free(&work);
    return code;
}

static int plan(const struct lm_call *call)
{
    struct lm_error err;
    struct lm_place place;
    lm_place_find(call->world, 0, &place);
    return lm_agree(call->world, call->world->rank == 0 ? plan_on_rank_0(call, place, &err) : LM_OK, &err);
}

int lm_command_run(const struct lm_call *call)
{
    struct run run = {.job = {.call = call, .title = "libras_mpi run", .holdout = call->options->holdout}};
    struct lm_job *job = &run.job;
    int code;
    if (call->options->dry_run)
        return plan(call);
    job->times.start = lm_now() - call->start;
    if ((code = lm_decide_begin(call, &job->decide)) == LM_OK && /* what was asked for is there */
        (code = allocate(&run)) == LM_OK &&
        (code = lm_prepare_output(call, &job->output)) == LM_OK && /* before any work */
        (code = lm_job_load(job)) == LM_OK &&                      /* rank 0 reads, all receive */
        (code = decide(&run)) == LM_OK &&                          /* --device auto: by the model, or by a rule */
        (code = lm_job_open_backend(job)) == LM_OK &&              /* with the threads this rank may use */
        (code = open_file(&run)) == LM_OK &&                       /* losses and weights stream into it */
        (code = train(&run)) == LM_OK &&                           /* ranks take trials as they are free */
        (code = lm_job_infer(job)) == LM_OK &&                     /* each rank its shard; gathered on rank 0 */
        (code = lm_job_validate(job)) == LM_OK)                    /* against cpu-ref, bit for bit */
        code = lm_job_finish(job);                                 /* the file, then the report */
    lm_keeper_end(&run.keeper);
    lm_job_end(job);
    return code;
}
