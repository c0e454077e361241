/* infer.c: `libras_mpi infer RESULTS.h5`: every sample of a data folder under stored weights, sharded over the ranks.
 *
 * Its file has the same format: one trial (the row of the network that was used), all samples as test samples, the
 * normalisation of the results it came from. `verify` checks it as it checks a run's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "command.h"
#include "cpu_backend.h"
#include "ending.h"
#include "evaluate.h"
#include "gpu.h"
#include "infer.h"
#include "packed_source.h"
#include "prepare.h"
#include "provenance.h"
#include "report.h"
#include "sharded.h"
#include "source.h"
#include "stored.h"

enum { TAG_SHARD = 30 };

/* ---- on rank 0: the network, the data, the row of the trial ---- */

static int copy_trial(struct lm_infer *infer, uint64_t trial, struct lm_error *err)
{
    const struct lm_results *from = &infer->stored.results;
    int code = lm_results_allocate(1, &infer->results, err);
    if (code != LM_OK)
        return code;
    infer->results.trial[0] = from->trial[trial];
    infer->results.outcome[0] = from->outcome[trial];
    infer->results.execution[0] = from->execution[trial];
    infer->results.max_epochs = from->max_epochs;
    infer->results.scaler = from->scaler;
    infer->results.split = from->split;
    infer->results.split_seed = from->split_seed;
    infer->results.inference_trial = 0;
    return LM_OK;
}

static int gather_samples(struct lm_infer *infer, const struct lm_dataset *data, struct lm_error *err)
{
    struct lm_results *results = &infer->results;
    results->test_index = malloc((data->samples + 1) * sizeof *results->test_index);
    if (!results->test_index)
        return lm_fail_memory(err, data->samples * sizeof *results->test_index, "the samples");
    for (size_t k = 0; k < data->samples; k++)
        results->test_index[k] = (uint32_t)k;
    results->n_test = data->samples;
    int code = lm_copy_dataset(results, data, err);
    if (code == LM_OK)
        code = lm_samples_allocate(data->samples, &infer->samples, err);
    if (code != LM_OK)
        return code;
    memcpy(infer->samples.label, data->label, data->samples);
    return lm_scaler_gather(&results->scaler, data, results->test_index, data->samples, infer->samples.x, err);
}

int lm_infer_network(struct lm_infer *infer, struct lm_error *err)
{
    const struct lm_options *options = infer->call->options;
    int code = lm_stored_open(options->operand[0], &infer->stored, err);
    if (code != LM_OK)
        return code;
    if ((code = lm_stored_choose(&infer->stored, options, &infer->trial, err)) != LM_OK ||
        (code = lm_stored_network(&infer->stored, infer->trial, &infer->shape, &infer->parameters, err)) != LM_OK)
        return lm_fail_within(err, "%s: ", options->operand[0]);
    return copy_trial(infer, infer->trial, err);
}

/* Letters that a network has been trained on say little about others. */
static void say_what_is_known(const struct lm_infer *infer)
{
    const struct lm_results *from = &infer->stored.results;
    if (from->n_train > 0 && strcmp(from->data_digest, infer->results.data_digest) == 0)
        lm_note(infer->call->world,
                "%zu of these %zu samples are those that the network was trained with: how many it reads right is no "
                "measure for new ones",
                from->n_train, infer->results.n_test);
}

static int load_on_rank_0(struct lm_infer *infer, struct lm_error *err)
{
    struct lm_dataset data;
    int code = lm_infer_network(infer, err);
    if (code != LM_OK || (code = lm_source_load(infer->call->world, infer->call->options, &data, err)) != LM_OK)
        return code;
    code = gather_samples(infer, &data, err);
    if (code == LM_OK)
        code = lm_allocate_inference(&infer->results, data.samples, err);
    if (code == LM_OK)
        say_what_is_known(infer);
    lm_dataset_free(&data);
    return code;
}

/* ---- to all ranks: the network to each, the samples in shards ---- */

int lm_infer_share_network(struct lm_infer *infer)
{
    const struct lm_world *world = infer->call->world;
    struct lm_error err;
    lm_broadcast(world, &infer->shape, sizeof infer->shape);
    size_t bytes = lm_network_floats(infer->shape) * sizeof(float);
    if (world->rank != 0)
        infer->parameters = malloc(bytes);
    int code = infer->parameters ? LM_OK : lm_fail_memory(&err, bytes, "a network");
    if ((code = lm_agree(world, code, &err)) == LM_OK)
        lm_broadcast(world, infer->parameters, bytes);
    return code;
}

int lm_infer_decide(struct lm_infer *infer, uint64_t n, size_t batch)
{
    lm_decide_read(&infer->decide);
    if (infer->call->world->rank == 0)
        lm_decide_ask_infer(&infer->decide, infer->shape, (double)n, (double)batch);
    lm_decide_share(&infer->decide);
    infer->backend = infer->decide.backend[LM_HISTORY_INFER];
    return lm_prepare_ranks(infer->call->world, infer->backend, &infer->results);
}

void lm_infer_measured(struct lm_infer *infer)
{
    double slowest = 0.0;
    const struct lm_world *world = infer->call->world;
    LM_MPI(world, MPI_Reduce(&infer->seconds[LM_PHASE_INFER], &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, world->comm));
    if (world->rank == 0)
        lm_decide_measured(&infer->decide, LM_HISTORY_INFER, slowest, 1.0);
}

static int share_samples(struct lm_infer *infer, uint64_t n)
{
    const struct lm_world *world = infer->call->world;
    const uint64_t row = LM_PIXELS * sizeof(float);
    struct lm_error err;
    int code = LM_OK;
    if (world->rank != 0)
        code = lm_samples_allocate(lm_shard(n, world->size, world->rank).count, &infer->samples, &err);
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    if (world->rank != 0) {
        lm_receive_bytes(world, infer->samples.x, infer->samples.n * row, 0, TAG_SHARD);
        return LM_OK;
    }
    for (int r = 1; r < world->size; r++) {
        struct lm_range shard = lm_shard(n, world->size, r);
        lm_send_bytes(world, infer->samples.x + shard.first * LM_PIXELS, shard.count * row, r, TAG_SHARD);
    }
    return LM_OK;
}

static int load(struct lm_infer *infer, uint64_t *n)
{
    const struct lm_world *world = infer->call->world;
    struct lm_error err;
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_DATA]);
    int code = lm_agree(world, world->rank == 0 ? load_on_rank_0(infer, &err) : LM_OK, &err);
    if (code == LM_OK) {
        *n = infer->samples.n;
        lm_broadcast(world, n, sizeof *n);
        code = lm_infer_share_network(infer);
    }
    if (code == LM_OK)
        code = share_samples(infer, *n);
    infer->seconds[LM_PHASE_DATA] = lm_now() - start;
    lm_gpu_range_end();
    return code;
}

/* ---- score, validate ---- */

static int score(struct lm_infer *infer, uint64_t n)
{
    const struct lm_world *world = infer->call->world;
    struct lm_error err;
    int code = infer->backend->open(&infer->nothing, &infer->session, &err);
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    struct lm_sharded batch = {.world = world,
                               .backend = infer->backend,
                               .session = infer->session,
                               .shape = infer->shape,
                               .parameters = infer->parameters,
                               .n = n,
                               .x = infer->samples.x};
    lm_sharded_infer(&batch, infer->results.scores, &infer->seconds[LM_PHASE_INFER], &infer->seconds[LM_PHASE_GATHER]);
    lm_infer_measured(infer);
    return LM_OK;
}

static int validate(struct lm_infer *infer)
{
    const struct lm_world *world = infer->call->world;
    struct lm_error err;
    int code = LM_OK;
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_VALIDATE]);
    if (world->rank == 0) {
        lm_fill_inference(&infer->results, infer->samples.label, world->size);
        code = lm_check_inference(&infer->results, infer->shape, infer->parameters, infer->samples.x,
                                  infer->samples.label, &err);
    }
    infer->seconds[LM_PHASE_VALIDATE] = lm_now() - start;
    lm_gpu_range_end();
    return lm_agree(world, code, &err);
}

/* ---- write, report ---- */

static int write_weights(struct lm_infer *infer, struct lm_results_writer *writer, struct lm_error *err)
{
    size_t group;
    int code = lm_results_add_kept(writer, infer->shape, 1, &group, err);
    return code == LM_OK ? lm_results_put_weights(writer, group, 0, 0, infer->parameters, err) : code;
}

static int copy_losses(struct lm_infer *infer, struct lm_results_writer *writer, struct lm_error *err)
{
    uint64_t epochs = infer->results.max_epochs;
    double *loss = malloc((epochs + 1) * sizeof *loss);
    if (!loss)
        return lm_fail_memory(err, epochs * sizeof *loss, "the losses");
    int code = lm_results_get_loss(infer->stored.reader, infer->trial, 1, loss, err);
    if (code == LM_OK)
        code = lm_results_put_loss(writer, 0, loss, infer->results.outcome[0].epochs_run, err);
    free(loss);
    return code;
}

int lm_infer_create(struct lm_infer *infer, struct lm_results_writer **writer, struct lm_error *err)
{
    int code = lm_results_create(infer->output.part, 1, infer->results.max_epochs, writer, err);
    if (code != LM_OK)
        return code;
    if ((code = copy_losses(infer, *writer, err)) != LM_OK || (code = write_weights(infer, *writer, err)) != LM_OK) {
        lm_results_abandon(*writer);
        *writer = NULL;
    }
    return code;
}

int lm_infer_complete(struct lm_infer *infer, struct lm_results_writer *writer, struct lm_error *err)
{
    char trial[24];
    snprintf(trial, sizeof trial, "%llu", (unsigned long long)infer->trial);
    infer->results.title = strdup("libras_mpi infer");
    int code = infer->results.title
                   ? lm_provenance(infer->call->options, infer->call->command_line, &infer->results, err)
                   : lm_fail_memory(err, 32, "a title");
    if (code == LM_OK)
        code = lm_results_note(&infer->results, "weights_trial", trial, err);
    if (code == LM_OK)
        code = lm_decide_rows(&infer->decide, &infer->results, err);
    if (code != LM_OK) {
        lm_results_abandon(writer);
        return code;
    }
    code = lm_results_finish(writer, &infer->results, err);
    return code == LM_OK ? lm_output_commit(&infer->output, err) : code;
}

static int write_file(struct lm_infer *infer, struct lm_error *err)
{
    struct lm_results_writer *writer;
    int code = lm_infer_create(infer, &writer, err);
    return code == LM_OK ? lm_infer_complete(infer, writer, err) : code;
}

static void report_text(const struct lm_report_input *input, FILE *f)
{
    const struct lm_results *results = input->results;
    struct lm_metrics m = lm_evaluate(results->scores, results->expected, results->n_scores);
    lm_report_head(input->call, f);
    lm_report_ranks(results, f);
    lm_report_weights(input, f);
    fprintf(f, "data       %s\ninference  %zu/%zu right (%.2f %%), mean loss %.4f\n", results->data_path, m.hits, m.n,
            100.0 * m.accuracy, m.loss);
    lm_report_letters(results, f);
    lm_report_confusion(results, f);
    lm_report_checks(results, f);
    lm_report_phases(input, f);
    fprintf(f, "\nfile       %s\n", input->path);
}

static int report(const struct lm_report_input *input, struct lm_error *err)
{
    if (input->call->options->format == LM_FORMAT_JSON) {
        lm_report_json(input, stdout);
        return lm_flush_stdout(err);
    }
    if (!input->call->options->quiet)
        report_text(input, stdout);
    printf("verdict    %s\n", lm_verdict_word(input->results));
    lm_report_figure_of_merit(input, stdout);
    return lm_flush_stdout(err);
}

static int finish_on_rank_0(struct lm_infer *infer, struct lm_error *err)
{
    char *path = strdup(infer->output.path);
    double start = lm_now();
    lm_gpu_range_begin("file");
    int code = path ? write_file(infer, err) : lm_fail_memory(err, 256, "a path");
    infer->times.file = lm_now() - start;
    lm_gpu_range_end();
    infer->times.total = lm_now() - infer->call->start;
    if (code == LM_OK) {
        int outcome = lm_checks_verdict(&infer->results) == LM_CHECK_FAILED ? LM_MISMATCH : LM_OK;
        struct lm_report_input input = {infer->call, &infer->results, &infer->times, path, outcome,
                                        NULL,        &infer->trial};
        code = report(&input, err);
        if (code == LM_OK && outcome != LM_OK)
            code = lm_fail(err, outcome, "the scores are not those of the CPU reference: see the checks above");
    }
    free(path);
    return code;
}

void lm_infer_end(struct lm_infer *infer)
{
    if (infer->session)
        infer->backend->close(infer->session);
    if (infer->output.path)
        lm_output_abandon(&infer->output);
    lm_ending_files(NULL, NULL);
    lm_decide_end(&infer->decide);
    lm_stored_close(&infer->stored);
    lm_samples_free(&infer->samples);
    lm_results_free(&infer->results);
    free(infer->parameters);
}

int lm_command_infer(const struct lm_call *call)
{
    struct lm_infer infer = {.call = call};
    const struct lm_world *world = call->world;
    struct lm_error err;
    uint64_t n = 0;
    int code;
    infer.nothing.threads = lm_cpu_threads(call->world->mask_ranks);
    infer.times.start = lm_now() - call->start;
    int packed = world->rank == 0 && lm_packed_named(call->options);
    lm_broadcast(world, &packed, sizeof packed);
    if (packed)
        return lm_infer_packed(&infer);
    if ((code = lm_decide_begin(call, &infer.decide)) == LM_OK &&
        (code = lm_prepare_output(call, &infer.output)) == LM_OK && (code = load(&infer, &n)) == LM_OK &&
        (code = lm_infer_decide(&infer, n, 0)) == LM_OK && (code = score(&infer, n)) == LM_OK &&
        (code = validate(&infer)) == LM_OK) {
        lm_gather_seconds(world, infer.seconds, &infer.results);
        code = lm_agree(world, world->rank == 0 ? finish_on_rank_0(&infer, &err) : LM_OK, &err);
    }
    lm_infer_end(&infer);
    return code;
}
