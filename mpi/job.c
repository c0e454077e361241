/* job.c: see job.h. */
#include "job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"
#include "cpu_backend.h"
#include "ending.h"
#include "gpu.h"
#include "prepare.h"
#include "provenance.h"
#include "sharded.h"
#include "source.h"

/* ---- data ---- */

static int load_on_rank_0(struct lm_job *job, struct lm_error *err)
{
    const struct lm_options *options = job->call->options;
    struct lm_dataset data;
    struct lm_split split = {0};
    int code = lm_source_load(job->call->world, options, &data, err);
    if (code != LM_OK)
        return code;
    code = lm_split_make_kind(options->split, data.count, options->split_seed, job->holdout, &split, err);
    if (code == LM_OK) {
        lm_scaler_fit(&data, split.train, split.n_train, &job->results.scaler);
        code = lm_problem_make(&data, &split, &job->results.scaler, &job->problem, err);
    }
    if (code == LM_OK)
        code = lm_copy_dataset(&job->results, &data, err);
    if (code == LM_OK)
        code = lm_copy_split(&job->results, &split, err);
    job->results.split = (int)options->split;
    job->results.split_seed = options->split_seed;
    job->results.holdout = job->holdout;
    lm_split_free(&split);
    lm_dataset_free(&data);
    return code;
}

int lm_job_load(struct lm_job *job)
{
    struct lm_error err;
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_DATA]);
    int code = job->call->world->rank == 0 ? load_on_rank_0(job, &err) : LM_OK;
    code = lm_agree(job->call->world, code, &err);
    if (code == LM_OK)
        code = lm_source_share(job->call->world, &job->problem);
    job->seconds[LM_PHASE_DATA] = lm_now() - start;
    lm_gpu_range_end();
    lm_detail(job->call->world, "data: %zu training, %zu validation, %zu test samples, %.3f s", job->problem.train.n,
              job->problem.validation.n, job->problem.test.n, job->seconds[LM_PHASE_DATA]);
    return code;
}

/* ---- who does it ---- */

int lm_job_decide(struct lm_job *job, const struct lm_work *work, double scored, struct lm_shape shape)
{
    struct lm_decide *decide = &job->decide;
    lm_decide_read(decide);
    if (job->call->world->rank == 0) {
        lm_decide_ask_train(decide, work, scored);
        job->decided_shape = shape;
        lm_decide_ask_infer(decide, shape, (double)job->problem.test.n, 0.0);
    }
    lm_decide_share(decide);
    job->backend = decide->backend[LM_HISTORY_TRAIN];
    job->scorer = decide->backend[LM_HISTORY_INFER];
    return lm_prepare_ranks(job->call->world, lm_decide_shown(decide), &job->results);
}

void lm_job_trained(struct lm_job *job)
{
    double steps = job->decide.choice[LM_HISTORY_TRAIN].size;
    if (job->call->world->rank == 0 && job->times.updates > 0.0)
        lm_decide_measured(&job->decide, LM_HISTORY_TRAIN, job->times.train, job->times.updates / steps);
}

int lm_job_open_backend(struct lm_job *job)
{
    struct lm_error err;
    job->problem.threads = lm_cpu_threads(job->call->world->mask_ranks);
    int code = lm_agree(job->call->world, job->backend->open(&job->problem, &job->session, &err), &err);
    if (code != LM_OK || job->scorer == job->backend) {
        job->scorer_session = job->session;
        return code;
    }
    return lm_agree(job->call->world, job->scorer->open(&job->problem, &job->scorer_session, &err), &err);
}

/* ---- score the test samples with one trial's weights ---- */

/* Shape and parameters from rank 0 to all. *parameters is owned by the caller; NULL if no trial has any. */
static int share_network(struct lm_job *job, struct lm_shape *shape, float **parameters)
{
    const struct lm_world *world = job->call->world;
    struct lm_error err;
    uint64_t first = job->network_trial;
    lm_broadcast(world, &first, sizeof first);
    *parameters = NULL;
    if (first == UINT64_MAX)
        return LM_OK;
    *shape = job->network_shape;
    lm_broadcast(world, shape, sizeof *shape);
    size_t n = lm_network_floats(*shape);
    *parameters = malloc(n * sizeof **parameters);
    int code = *parameters ? LM_OK : lm_fail_memory(&err, n * sizeof **parameters, "a network");
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    if (world->rank == 0)
        memcpy(*parameters, job->network, n * sizeof **parameters);
    lm_broadcast(world, *parameters, n * sizeof **parameters);
    return LM_OK;
}

/* The slowest rank's time, if the network was of the shape that was asked about. */
static void scored(struct lm_job *job, size_t n)
{
    double slowest = 0.0;
    const struct lm_world *world = job->call->world;
    LM_MPI(world, MPI_Reduce(&job->seconds[LM_PHASE_INFER], &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, world->comm));
    if (world->rank == 0 && n > 0)
        lm_decide_measured(&job->decide, LM_HISTORY_INFER, slowest,
                           lm_shape_equal(job->network_shape, job->decided_shape) ? 1.0 : NAN);
}

int lm_job_infer(struct lm_job *job)
{
    const struct lm_world *world = job->call->world;
    const struct lm_samples *test = &job->problem.test;
    struct lm_error err;
    struct lm_shape shape;
    float *parameters;
    int code = share_network(job, &shape, &parameters);
    job->results.inference_trial = -1;
    if (code != LM_OK || !parameters)
        return code;
    if (world->rank == 0)
        code = lm_allocate_inference(&job->results, test->n, &err);
    if ((code = lm_agree(world, code, &err)) == LM_OK) {
        struct lm_range shard = lm_shard(test->n, world->size, world->rank);
        struct lm_sharded batch = {.world = world,
                                   .backend = job->scorer,
                                   .session = job->scorer_session,
                                   .shape = shape,
                                   .parameters = parameters,
                                   .n = test->n,
                                   .x = test->x + shard.first * LM_PIXELS};
        lm_sharded_infer(&batch, job->results.scores, &job->seconds[LM_PHASE_INFER], &job->seconds[LM_PHASE_GATHER]);
    }
    if (code == LM_OK)
        scored(job, test->n);
    if (code == LM_OK && world->rank == 0) {
        job->results.inference_trial = (int64_t)job->network_trial;
        lm_fill_inference(&job->results, test->label, world->size);
    }
    lm_detail(world, "infer: %.6f s; gather: %.6f s", job->seconds[LM_PHASE_INFER], job->seconds[LM_PHASE_GATHER]);
    free(parameters);
    return code;
}

/* ---- validate ---- */

static int check_scores(struct lm_job *job, struct lm_error *err)
{
    struct lm_results *results = &job->results;
    if (results->inference_trial < 0)
        return lm_check_not_run(results, "scores", err);
    return lm_check_inference(results, results->trial[results->inference_trial].shape, job->network,
                              job->problem.test.x, job->problem.test.label, err);
}

int lm_job_validate(struct lm_job *job)
{
    const struct lm_world *world = job->call->world;
    struct lm_error err;
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_VALIDATE]);
    int code = lm_agree(world, world->rank == 0 ? check_scores(job, &err) : LM_OK, &err);
    if (code == LM_OK)
        code = lm_replicas_validate(world, &job->problem, job->replica, job->n_replicas, job->early, &job->results);
    job->seconds[LM_PHASE_VALIDATE] = lm_now() - start;
    lm_gpu_range_end();
    lm_detail(world, "validate: %.3f s", job->seconds[LM_PHASE_VALIDATE]);
    return code;
}

/* ---- write and report ---- */

/* What this start has trained, and in what time: with them a reader of the file has the figure of merit. */
static int note_training(struct lm_job *job, struct lm_error *err)
{
    const struct lm_times *times = &job->times;
    char seconds[32], trainings[32], updates[32];
    snprintf(seconds, sizeof seconds, "%.6f", times->train);
    snprintf(trainings, sizeof trainings, "%llu", (unsigned long long)times->trainings);
    snprintf(updates, sizeof updates, "%.0f", times->updates);
    int code = lm_results_note(&job->results, "train_seconds", seconds, err);
    if (code == LM_OK)
        code = lm_results_note(&job->results, "trainings", trainings, err);
    return code == LM_OK ? lm_results_note(&job->results, "updates", updates, err) : code;
}

static int describe(struct lm_job *job, struct lm_error *err)
{
    struct lm_results *results = &job->results;
    results->title = strdup(job->title);
    if (!results->title)
        return lm_fail_memory(err, 16, "a title");
    int code = lm_provenance(job->call->options, job->call->command_line, results, err);
    if (code == LM_OK)
        code = lm_decide_rows(&job->decide, results, err);
    return code == LM_OK ? note_training(job, err) : code;
}

static int write_file(struct lm_job *job, char **path)
{
    struct lm_error err;
    int code = LM_OK;
    double start = lm_now();
    lm_gpu_range_begin("file");
    if (job->call->world->rank == 0) {
        struct lm_results_writer *writer = job->writer;
        *path = strdup(job->output.path);
        job->writer = NULL; /* finish takes it, whatever comes of it */
        code = *path ? describe(job, &err) : lm_fail_memory(&err, 256, "a path");
        /* A run that has failed (exit 1) replaces nothing, also with --force: its reasons are in the report. */
        job->kept_old = code == LM_OK && job->results.inference_trial < 0 && access(*path, F_OK) == 0;
        if (code != LM_OK || job->kept_old) {
            lm_results_abandon(writer);
            lm_output_abandon(&job->output);
        } else if ((code = lm_results_finish(writer, &job->results, &err)) == LM_OK)
            code = lm_output_commit(&job->output, &err);
        lm_ending_files(NULL, NULL);
    }
    job->times.file = lm_now() - start;
    lm_gpu_range_end();
    return lm_agree(job->call->world, code, &err);
}

/* 0, 1 (no trial has weights) or 3 */
static int verdict(const struct lm_job *job, struct lm_error *err)
{
    if (lm_checks_verdict(&job->results) == LM_CHECK_FAILED)
        return lm_fail(err, LM_MISMATCH, "the answers are not those of the CPU reference: see the checks above");
    if (job->results.inference_trial < 0 && job->results.is_sweep)
        return lm_fail(err, LM_FAILED, "no trial has weights: all %llu diverged or failed; the first: %s%s",
                       (unsigned long long)job->results.n_trials,
                       job->results.n_trials ? job->results.outcome[0].reason : "there is none",
                       job->kept_old ? ". The file keeps its older results" : "");
    if (job->results.inference_trial < 0)
        return lm_fail(
            err, LM_FAILED, "no trial has weights: all %llu diverged or failed; a smaller --learning-rate?%s",
            (unsigned long long)job->results.n_trials, job->kept_old ? " The file keeps its older results" : "");
    return LM_OK;
}

static int report(struct lm_job *job, const char *path, struct lm_error *err)
{
    struct lm_error loss_of_words;
    int code = verdict(job, err);
    job->times.total = lm_now() - job->call->start;
    struct lm_report_input input = {.call = job->call,
                                    .results = &job->results,
                                    .times = &job->times,
                                    .path = job->kept_old ? NULL : path,
                                    .code = code,
                                    .loss = job->network_loss};
    if (lm_report_run(&input, &loss_of_words) == LM_OK)
        return code;
    if (code == LM_OK)
        *err = loss_of_words;
    return err->code;
}

int lm_job_finish(struct lm_job *job)
{
    char *path = NULL;
    struct lm_error err;
    lm_gather_seconds(job->call->world, job->seconds, &job->results);
    int code = write_file(job, &path);
    if (code == LM_OK)
        code = lm_agree(job->call->world, job->call->world->rank == 0 ? report(job, path, &err) : LM_OK, &err);
    free(path);
    return code;
}

void lm_job_end(struct lm_job *job)
{
    lm_early_end(job->early); /* it reads the problem */
    if (job->scorer_session && job->scorer_session != job->session)
        job->scorer->close(job->scorer_session);
    if (job->session)
        job->backend->close(job->session);
    if (job->writer)
        lm_results_abandon(job->writer);
    if (job->output.path)
        lm_output_abandon(&job->output);
    lm_decide_end(&job->decide);
    lm_replicas_free(job->replica, job->n_replicas);
    free(job->network);
    free(job->network_loss);
    lm_results_free(&job->results);
    lm_problem_free(&job->problem);
}
