/* run.c: `libras_mpi run`, the whole job: train, score, gather, validate, write, report. lm_command_run is the story.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"
#include "command.h"
#include "cpu_backend.h"
#include "devices.h"
#include "ending.h"
#include "gpu.h"
#include "keep.h"
#include "prepare.h"
#include "provenance.h"
#include "report.h"
#include "sharded.h"
#include "source.h"

/* What a run owns. The problem and the session are on every rank, the rest on rank 0. */
struct run {
    const struct lm_call *call;
    const struct lm_backend *backend;
    struct lm_problem problem;
    void *session;
    struct lm_output output;
    struct lm_results results;
    struct lm_results_writer *writer;
    struct lm_keeper keeper;
    double seconds[LM_PHASES];
    struct lm_times times;
    int kept_old; /* rank 0: --force, and nothing that is worth an older file */
};

/* ---- data ---- */

static int load_on_rank_0(struct run *run, struct lm_error *err)
{
    const struct lm_options *options = run->call->options;
    struct lm_dataset data;
    struct lm_split split = {0};
    int code = lm_source_load(run->call->world, options, &data, err);
    if (code != LM_OK)
        return code;
    code = lm_split_make_kind(options->split, data.count, options->split_seed, options->holdout, &split, err);
    if (code == LM_OK) {
        lm_scaler_fit(&data, split.train, split.n_train, &run->results.scaler);
        code = lm_problem_make(&data, &split, &run->results.scaler, &run->problem, err);
    }
    if (code == LM_OK)
        code = lm_copy_dataset(&run->results, &data, err);
    if (code == LM_OK)
        code = lm_copy_split(&run->results, &split, err);
    run->results.split = (int)options->split;
    run->results.split_seed = options->split_seed;
    run->results.holdout = options->holdout;
    lm_split_free(&split);
    lm_dataset_free(&data);
    return code;
}

static int load(struct run *run)
{
    struct lm_error err;
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_DATA]);
    int code = run->call->world->rank == 0 ? load_on_rank_0(run, &err) : LM_OK;
    code = lm_agree(run->call->world, code, &err);
    if (code == LM_OK)
        code = lm_source_share(run->call->world, &run->problem);
    run->seconds[LM_PHASE_DATA] = lm_now() - start;
    lm_gpu_range_end();
    lm_detail(run->call->world, "data: %zu training, %zu validation, %zu test samples, %.3f s", run->problem.train.n,
              run->problem.validation.n, run->problem.test.n, run->seconds[LM_PHASE_DATA]);
    return code;
}

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
    const struct lm_options *options = run->call->options;
    struct lm_results *results = &run->results;
    struct lm_error err;
    int code = LM_OK;
    if (run->call->world->rank == 0) {
        results->max_epochs = longest(&options->grid.epochs);
        code = lm_results_create(run->output.part, results->n_trials, results->max_epochs, &run->writer, &err);
        if (code == LM_OK)
            code = lm_keeper_begin(&run->keeper, options, results, run->writer, &err);
    }
    return lm_agree(run->call->world, code, &err);
}

/* ---- train ---- */

static int train(struct run *run)
{
    const struct lm_world *world = run->call->world;
    const struct lm_options *options = run->call->options;
    char device[32];
    struct lm_error err;
    lm_device_of(run->backend, device, sizeof device);
    struct lm_schedule schedule = {.world = world,
                                   .grid = &options->grid,
                                   .backend = run->backend,
                                   .session = run->session,
                                   .problem = &run->problem,
                                   .device = device,
                                   .all_parameters = options->keep != LM_KEEP_NONE,
                                   .replicas = options->validate_replicas};
    struct lm_sink sink = {lm_keeper_take, &run->keeper};
    LM_MPI(world, MPI_Barrier(world->comm));
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_TRAIN]);
    lm_schedule_run(&schedule, &sink, &run->seconds[LM_PHASE_TRAIN]);
    lm_gpu_range_end();
    lm_detail(world, "train: %.3f s on %s", run->seconds[LM_PHASE_TRAIN], run->backend->name);
    LM_MPI(world, MPI_Barrier(world->comm));
    run->times.train = lm_now() - start;
    return lm_agree(world, world->rank == 0 ? lm_keeper_finish(&run->keeper, &err) : LM_OK, &err);
}

/* ---- score the test samples with the first trial's weights ---- */

/* Shape and parameters from rank 0 to all. *parameters is owned by the caller; NULL if no trial has any. */
static int share_network(struct run *run, struct lm_shape *shape, float **parameters)
{
    const struct lm_world *world = run->call->world;
    struct lm_error err;
    uint64_t first = run->keeper.first;
    lm_broadcast(world, &first, sizeof first);
    *parameters = NULL;
    if (first == UINT64_MAX)
        return LM_OK;
    *shape = lm_grid_trial(&run->call->options->grid, first).shape;
    size_t n = lm_network_floats(*shape);
    *parameters = malloc(n * sizeof **parameters);
    int code = *parameters ? LM_OK : lm_fail_memory(&err, n * sizeof **parameters, "a network");
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    if (world->rank == 0)
        memcpy(*parameters, run->keeper.first_parameters, n * sizeof **parameters);
    lm_broadcast(world, *parameters, n * sizeof **parameters);
    return LM_OK;
}

static int infer(struct run *run)
{
    const struct lm_world *world = run->call->world;
    const struct lm_samples *test = &run->problem.test;
    struct lm_error err;
    struct lm_shape shape;
    float *parameters;
    int code = share_network(run, &shape, &parameters);
    run->results.inference_trial = -1;
    if (code != LM_OK || !parameters)
        return code;
    if (world->rank == 0)
        code = lm_allocate_inference(&run->results, test->n, &err);
    if ((code = lm_agree(world, code, &err)) == LM_OK) {
        struct lm_range shard = lm_shard(test->n, world->size, world->rank);
        struct lm_sharded batch = {.world = world,
                                   .backend = run->backend,
                                   .session = run->session,
                                   .shape = shape,
                                   .parameters = parameters,
                                   .n = test->n,
                                   .x = test->x + shard.first * LM_PIXELS};
        lm_sharded_infer(&batch, run->results.scores, &run->seconds[LM_PHASE_INFER], &run->seconds[LM_PHASE_GATHER]);
    }
    if (code == LM_OK && world->rank == 0) {
        run->results.inference_trial = (int64_t)run->keeper.first;
        lm_fill_inference(&run->results, test->label, world->size);
    }
    lm_detail(world, "infer: %.6f s; gather: %.6f s", run->seconds[LM_PHASE_INFER], run->seconds[LM_PHASE_GATHER]);
    free(parameters);
    return code;
}

/* ---- validate ---- */

static int check_scores(struct run *run, struct lm_error *err)
{
    struct lm_results *results = &run->results;
    if (results->inference_trial < 0)
        return lm_check_not_run(results, "scores", err);
    return lm_check_inference(results, results->trial[results->inference_trial].shape, run->keeper.first_parameters,
                              run->problem.test.x, run->problem.test.label, err);
}

static int validate(struct run *run)
{
    const struct lm_world *world = run->call->world;
    struct lm_error err;
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_VALIDATE]);
    int code = lm_agree(world, world->rank == 0 ? check_scores(run, &err) : LM_OK, &err);
    if (code == LM_OK)
        code = lm_replicas_validate(world, &run->problem, run->keeper.replica, run->keeper.n_replicas, &run->results);
    run->seconds[LM_PHASE_VALIDATE] = lm_now() - start;
    lm_gpu_range_end();
    lm_detail(world, "validate: %.3f s", run->seconds[LM_PHASE_VALIDATE]);
    return code;
}

/* ---- write and report ---- */

static int describe(struct run *run, struct lm_error *err)
{
    struct lm_results *results = &run->results;
    results->title = strdup("libras_mpi run");
    if (!results->title)
        return lm_fail_memory(err, 16, "a title");
    return lm_provenance(run->call->options, run->call->command_line, results, err);
}

static int write_file(struct run *run, char **path)
{
    struct lm_error err;
    int code = LM_OK;
    double start = lm_now();
    lm_gpu_range_begin("file");
    if (run->call->world->rank == 0) {
        struct lm_results_writer *writer = run->writer;
        *path = strdup(run->output.path);
        run->writer = NULL; /* finish takes it, whatever comes of it */
        code = *path ? describe(run, &err) : lm_fail_memory(&err, 256, "a path");
        /* A run that has failed (exit 1) replaces nothing, also with --force: its reasons are in the report. */
        run->kept_old = code == LM_OK && run->results.inference_trial < 0 && access(*path, F_OK) == 0;
        if (code != LM_OK || run->kept_old) {
            lm_results_abandon(writer);
            lm_output_abandon(&run->output);
        } else if ((code = lm_results_finish(writer, &run->results, &err)) == LM_OK)
            code = lm_output_commit(&run->output, &err);
        lm_ending_files(NULL, NULL);
    }
    run->times.file = lm_now() - start;
    lm_gpu_range_end();
    return lm_agree(run->call->world, code, &err);
}

/* 0, 1 (no trial has weights) or 3 */
static int verdict(const struct run *run, struct lm_error *err)
{
    if (lm_checks_verdict(&run->results) == LM_CHECK_FAILED)
        return lm_fail(err, LM_MISMATCH, "the answers are not those of the CPU reference: see the checks above");
    if (run->results.inference_trial < 0)
        return lm_fail(
            err, LM_FAILED, "no trial has weights: all %llu diverged or failed; a smaller --learning-rate?%s",
            (unsigned long long)run->results.n_trials, run->kept_old ? " The file keeps its older results" : "");
    return LM_OK;
}

static int report(struct run *run, const char *path, struct lm_error *err)
{
    struct lm_error loss_of_words;
    int code = verdict(run, err);
    run->times.total = lm_now() - run->call->start;
    struct lm_report_input input = {run->call, &run->results,          &run->times, run->kept_old ? NULL : path,
                                    code,      run->keeper.first_loss, NULL};
    if (lm_report_run(&input, &loss_of_words) == LM_OK)
        return code;
    if (code == LM_OK)
        *err = loss_of_words;
    return err->code;
}

static int finish(struct run *run)
{
    char *path = NULL;
    struct lm_error err;
    lm_gather_seconds(run->call->world, run->seconds, &run->results);
    int code = write_file(run, &path);
    if (code == LM_OK)
        code = lm_agree(run->call->world, run->call->world->rank == 0 ? report(run, path, &err) : LM_OK, &err);
    free(path);
    return code;
}

static void clean_up(struct run *run)
{
    if (run->session)
        run->backend->close(run->session);
    if (run->writer)
        lm_results_abandon(run->writer);
    if (run->output.path)
        lm_output_abandon(&run->output);
    lm_keeper_end(&run->keeper);
    lm_results_free(&run->results);
    lm_problem_free(&run->problem);
}

static int open_backend(struct run *run)
{
    struct lm_error err;
    run->problem.threads = lm_cpu_threads(run->call->world->mask_ranks);
    return lm_agree(run->call->world, run->backend->open(&run->problem, &run->session, &err), &err);
}

static int allocate(struct run *run)
{
    struct lm_error err;
    uint64_t trials = run->call->world->rank == 0 ? lm_grid_size(&run->call->options->grid) : 0;
    run->keeper.first = UINT64_MAX;
    return lm_agree(run->call->world, lm_results_allocate(trials, &run->results, &err), &err);
}

static int plan(const struct lm_call *call)
{
    struct lm_error err;
    return lm_agree(call->world, call->world->rank == 0 ? lm_report_plan(call, &err) : LM_OK, &err);
}

int lm_command_run(const struct lm_call *call)
{
    struct run run = {.call = call};
    int code;
    if (call->options->dry_run)
        return plan(call);
    run.times.start = lm_now() - call->start;
    if ((code = lm_devices_backend(call, &run.backend)) == LM_OK && (code = allocate(&run)) == LM_OK &&
        (code = lm_prepare_ranks(call->world, run.backend, &run.results)) == LM_OK &&
        (code = lm_prepare_output(call, &run.output)) == LM_OK && /* before any work */
        (code = load(&run)) == LM_OK &&                           /* rank 0 reads, all receive */
        (code = open_backend(&run)) == LM_OK &&                   /* with the threads this rank may use */
        (code = open_file(&run)) == LM_OK &&                      /* losses and weights stream into it */
        (code = train(&run)) == LM_OK &&                          /* ranks take trials as they are free */
        (code = infer(&run)) == LM_OK &&                          /* each rank its shard; gathered on rank 0 */
        (code = validate(&run)) == LM_OK)                         /* against cpu-ref, bit for bit */
        code = finish(&run);                                      /* the file, then the report */
    clean_up(&run);
    return code;
}
