/* verify.c: `libras_mpi verify RESULTS.h5`: everything that the file says, computed once more from its data.
 *
 * From the data: split, normalisation. From the trials: a sweep's configurations and leaderboard. From the weights:
 * their digests, losses and accuracies, scores, predictions, confusion. From nothing but the data: K trials, trained
 * again by the CPU reference.
 */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "checks.h"
#include "cpu_backend.h"
#include "evaluate.h"
#include "json_results.h"
#include "replica_choice.h"
#include "replicas.h"
#include "report.h"
#include "source.h"
#include "stored.h"

struct verify {
    const struct lm_call *call;
    struct lm_stored stored;
    struct lm_results *file;  /* the stored results */
    struct lm_results checks; /* only its checks are used */
    struct lm_problem problem;
    struct lm_replica *replica;
    uint64_t n_replicas;
    void *session; /* of cpu-ref, on rank 0 */
};

/* ---- from the data ---- */

static uint64_t different(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    uint64_t count = n > m ? n - m : m - n;
    for (size_t k = 0; k < n && k < m; k++)
        count += a[k] != b[k];
    return count;
}

static int check_split(struct verify *v, const struct lm_split *split, struct lm_error *err)
{
    const struct lm_results *file = v->file;
    uint64_t wrong = different(split->train, split->n_train, file->train_index, file->n_train) +
                     different(split->validation, split->n_validation, file->validation_index, file->n_validation) +
                     different(split->test, split->n_test, file->test_index, file->n_test);
    return lm_check_counts(&v->checks, "split", split->n_train + split->n_validation + split->n_test, wrong, err);
}

static int check_scaler(struct verify *v, const struct lm_scaler *scaler, struct lm_error *err)
{
    uint64_t wrong = 0;
    for (int p = 0; p < LM_PIXELS; p++) {
        wrong += memcmp(&scaler->mean[p], &v->file->scaler.mean[p], sizeof(double)) != 0;
        wrong += memcmp(&scaler->scale[p], &v->file->scaler.scale[p], sizeof(double)) != 0;
    }
    return lm_check_counts(&v->checks, "normalisation", 2 * LM_PIXELS, wrong, err);
}

static int check_counts(struct verify *v, const struct lm_dataset *data, struct lm_error *err)
{
    uint64_t wrong = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        wrong += data->count[c] != v->file->count[c];
    return lm_check_counts(&v->checks, "counts", LM_CLASSES, wrong, err);
}

/* The problem as the data makes it: what follows is computed from it, not from what the file claims. */
static int prepare_training(struct verify *v, const struct lm_dataset *data, struct lm_error *err)
{
    struct lm_split split;
    struct lm_scaler scaler;
    int code = lm_split_make_kind((enum lm_split_kind)v->file->split, data->count, v->file->split_seed,
                                  v->file->holdout, &split, err);
    if (code != LM_OK)
        return code;
    lm_scaler_fit(data, split.train, split.n_train, &scaler);
    if ((code = check_split(v, &split, err)) == LM_OK && (code = check_scaler(v, &scaler, err)) == LM_OK)
        code = lm_problem_make(data, &split, &scaler, &v->problem, err);
    lm_split_free(&split);
    return code;
}

/* A file that `infer` wrote: no training; its samples, normalised by another file's fit. */
static int prepare_inference(struct verify *v, const struct lm_dataset *data, struct lm_error *err)
{
    int code = lm_check_not_run(&v->checks, "split", err);
    if (code == LM_OK)
        code = lm_check_not_run(&v->checks, "normalisation", err);
    return code == LM_OK ? lm_stored_test(&v->stored, data, &v->problem.test, err) : code;
}

/* A file whose scores stream: its data are looked at by all ranks, later (verify_stream.c). */
static int prepare_stream(struct verify *v, struct lm_error *err)
{
    int code = lm_check_not_run(&v->checks, "split", err);
    if (code == LM_OK)
        code = lm_check_not_run(&v->checks, "normalisation", err);
    return code == LM_OK ? lm_backend_cpu_ref.open(&v->problem, &v->session, err) : code;
}

static int prepare(struct verify *v, struct lm_error *err)
{
    const struct lm_options *options = v->call->options;
    struct lm_dataset data;
    int code = lm_stored_open(options->operand[0], &v->stored, err);
    if (code != LM_OK)
        return code;
    v->file = &v->stored.results;
    if (v->file->streamed)
        return prepare_stream(v, err);
    if ((code = lm_stored_data(&v->stored, options, &data, err)) != LM_OK)
        return lm_fail_within(err, "%s: ", options->operand[0]);
    if ((code = check_counts(v, &data, err)) == LM_OK)
        code = v->file->n_train ? prepare_training(v, &data, err) : prepare_inference(v, &data, err);
    lm_dataset_free(&data);
    return code == LM_OK ? lm_backend_cpu_ref.open(&v->problem, &v->session, err) : code;
}

/* ---- from the weights ---- */

static int same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* Loss and accuracy of a stored network on some samples against what the row says; the differences found. */
static int compare_metrics(struct verify *v, struct lm_shape shape, const float *parameters,
                           const struct lm_samples *samples, double loss, double accuracy, uint64_t *wrong,
                           struct lm_error *err)
{
    float *scores = malloc((samples->n * LM_CLASSES + 1) * sizeof *scores);
    if (!scores)
        return lm_fail_memory(err, samples->n * LM_CLASSES * sizeof *scores, "scores");
    int code = lm_backend_cpu_ref.infer(v->session, shape, parameters, samples->x, samples->n, scores, err);
    if (code == LM_OK) {
        struct lm_metrics m = lm_evaluate(scores, samples->label, samples->n);
        *wrong += !same_double(m.loss, loss) + !same_double(m.accuracy, accuracy);
    }
    free(scores);
    return code;
}

/* A sweep scores the test samples of its leaders, and of nobody else. */
static int is_tested(const struct lm_results *file, uint64_t trial)
{
    for (uint64_t k = 0; k < file->n_leaders; k++)
        if (file->leader[k] == trial)
            return 1;
    return !file->is_sweep;
}

struct weight_counts {
    uint64_t rows, wrong_rows, metrics, wrong_metrics;
};

static int all_fill(const float *parameters, size_t n)
{
    const uint32_t fill = LM_NAN_BITS;
    for (size_t k = 0; k < n; k++)
        if (memcmp(&parameters[k], &fill, sizeof fill) != 0)
            return 0;
    return 1;
}

static int check_row(struct verify *v, struct lm_shape shape, uint64_t trial, const float *parameters,
                     struct weight_counts *counts, struct lm_error *err)
{
    const struct lm_outcome *outcome = &v->file->outcome[trial];
    char digest[LM_SHA256_HEX];
    int code;
    counts->rows++;
    if (outcome->status != LM_TRIAL_OK) {
        counts->wrong_rows += !all_fill(parameters, lm_network_floats(shape)) || outcome->digest[0] != '\0';
        return LM_OK;
    }
    lm_network_digest(shape, parameters, digest);
    counts->wrong_rows += strcmp(digest, outcome->digest) != 0 || !lm_shape_equal(shape, v->file->trial[trial].shape);
    if (v->file->n_train == 0)
        return LM_OK; /* the row's losses are of the data it was trained on */
    counts->metrics += 4;
    code = compare_metrics(v, shape, parameters, &v->problem.validation, outcome->validation_loss,
                           outcome->validation_accuracy, &counts->wrong_metrics, err);
    if (code == LM_OK && !is_tested(v->file, trial)) {
        counts->wrong_metrics += !isnan(outcome->test_loss) + !isnan(outcome->test_accuracy);
        return LM_OK;
    }
    return code == LM_OK ? compare_metrics(v, shape, parameters, &v->problem.test, outcome->test_loss,
                                           outcome->test_accuracy, &counts->wrong_metrics, err)
                         : code;
}

static int check_group(struct verify *v, size_t group, struct weight_counts *counts, struct lm_error *err)
{
    struct lm_shape shape = v->file->kept[group].shape;
    float *parameters = malloc(lm_network_floats(shape) * sizeof *parameters);
    int code = parameters ? LM_OK : lm_fail_memory(err, lm_network_floats(shape) * sizeof *parameters, "a network");
    for (uint64_t row = 0; row < v->file->kept[group].rows && code == LM_OK; row++) {
        uint64_t trial;
        code = lm_results_get_weights(v->stored.reader, group, row, 1, parameters, &trial, err);
        if (code == LM_OK)
            code = check_row(v, shape, trial, parameters, counts, err);
    }
    free(parameters);
    return code;
}

static int check_weights(struct verify *v, struct lm_error *err)
{
    struct weight_counts counts = {0};
    int code = LM_OK;
    for (size_t group = 0; group < v->file->n_kept && code == LM_OK; group++)
        code = check_group(v, group, &counts, err);
    if (code != LM_OK)
        return code;
    code = counts.rows ? lm_check_counts(&v->checks, "weights", counts.rows, counts.wrong_rows, err)
                       : lm_check_not_run(&v->checks, "weights", err);
    if (code != LM_OK)
        return code;
    return counts.metrics
               ? lm_check_counts(&v->checks, "losses and accuracies", counts.metrics, counts.wrong_metrics, err)
               : lm_check_not_run(&v->checks, "losses and accuracies", err);
}

/* A trial that is ok has run all its epochs, and the last loss is its train_loss. One that is not has no answers. */
static int is_consistent(const struct lm_trial *trial, const struct lm_outcome *outcome, const double *loss)
{
    if (outcome->status == LM_TRIAL_OK)
        return outcome->epochs_run == trial->epochs && same_double(loss[outcome->epochs_run - 1], outcome->train_loss);
    return outcome->digest[0] == '\0' && isnan(outcome->train_loss) && isnan(outcome->validation_loss) &&
           isnan(outcome->validation_accuracy) && isnan(outcome->test_loss) && isnan(outcome->test_accuracy);
}

/* Every row's losses: finite up to epochs_run, NaN after it, and in keeping with the rest of the row. */
static int check_losses(struct verify *v, struct lm_error *err)
{
    uint64_t epochs = v->file->max_epochs, wrong = 0;
    double *loss = malloc((epochs + 1) * sizeof *loss);
    int code = loss ? LM_OK : lm_fail_memory(err, epochs * sizeof *loss, "losses");
    for (uint64_t t = 0; t < v->file->n_trials && code == LM_OK; t++) {
        const struct lm_outcome *outcome = &v->file->outcome[t];
        int good = outcome->epochs_run <= epochs;
        if ((code = lm_results_get_loss(v->stored.reader, t, 1, loss, err)) != LM_OK)
            break;
        for (uint64_t e = 0; e < epochs && good; e++)
            good = e < outcome->epochs_run ? isfinite(loss[e]) : isnan(loss[e]);
        wrong += !(good && is_consistent(&v->file->trial[t], outcome, loss));
    }
    free(loss);
    return code == LM_OK ? lm_check_counts(&v->checks, "loss curves", v->file->n_trials, wrong, err) : code;
}

/* ---- the inference ---- */

/* The network of the inference: stored, else (it was not kept) trained again. */
static int inference_network(struct verify *v, uint64_t trial, float **parameters, struct lm_error *err)
{
    struct lm_shape shape;
    struct lm_tick no_tick = {0};
    const struct lm_trial *row = &v->file->trial[trial];
    if (lm_stored_network(&v->stored, trial, &shape, parameters, err) == LM_OK)
        return lm_shape_equal(shape, row->shape)
                   ? LM_OK
                   : lm_fail(err, LM_BAD_INPUT, "trial %llu: two shapes", (unsigned long long)trial);
    if (!v->file->n_train)
        return err->code;
    struct lm_training_result result = {0};
    result.loss = malloc(row->epochs * sizeof *result.loss);
    result.parameters = malloc(lm_network_floats(row->shape) * sizeof *result.parameters);
    int code = result.loss && result.parameters ? lm_backend_cpu_ref.train(v->session, row, 1, &result, no_tick, err)
                                                : lm_fail_memory(err, row->epochs * sizeof *result.loss, "a trial");
    if (code == LM_OK && result.status != LM_TRIAL_OK)
        code = lm_fail(err, LM_MISMATCH, "trial %llu, trained again, has no weights", (unsigned long long)trial);
    free(result.loss);
    *parameters = result.parameters;
    return code;
}

/* The trial whose weights the test samples are scored with: a sweep's first place, else the first that has any; -1:
 * none has. */
static int64_t first_ok(const struct lm_results *results)
{
    if (results->is_sweep)
        return results->n_leaders ? (int64_t)results->leader[0] : -1;
    for (uint64_t t = 0; t < results->n_trials; t++)
        if (results->outcome[t].status == LM_TRIAL_OK)
            return (int64_t)t;
    return -1;
}

static int check_inference(struct verify *v, struct lm_error *err)
{
    float *parameters = NULL;
    struct lm_results *file = v->file;
    if (file->streamed)
        return LM_OK; /* by all ranks, later */
    if (file->inference_trial != first_ok(file) ||
        file->n_scores != (file->inference_trial < 0 ? 0 : v->problem.test.n))
        return lm_check_counts(&v->checks, "scores", v->problem.test.n, v->problem.test.n, err);
    if (file->inference_trial < 0)
        return lm_check_not_run(&v->checks, "scores", err);
    uint64_t trial = (uint64_t)file->inference_trial;
    int code = inference_network(v, trial, &parameters, err);
    if (code == LM_OK) {
        /* the file's own checks are history: the rows of today replace them */
        file->n_checks = 0;
        code = lm_check_inference(file, file->trial[trial].shape, parameters, v->problem.test.x, v->problem.test.label,
                                  err);
    }
    for (size_t k = 0; k < file->n_checks && code == LM_OK; k++)
        code = lm_results_check(&v->checks, &file->checks[k], err);
    free(parameters);
    return code;
}

/* ---- from nothing but the data ---- */

static int load_replica(struct verify *v, uint64_t trial, struct lm_replica *replica, struct lm_error *err)
{
    const struct lm_outcome *outcome = &v->file->outcome[trial];
    struct lm_shape shape;
    *replica = (struct lm_replica){.number = trial, .trial = v->file->trial[trial], .outcome = *outcome};
    replica->loss = malloc((v->file->max_epochs + 1) * sizeof *replica->loss);
    if (!replica->loss)
        return lm_fail_memory(err, v->file->max_epochs * sizeof *replica->loss, "losses");
    if (outcome->epochs_run > v->file->max_epochs)
        return lm_fail(err, LM_BAD_INPUT, "trial %llu: more epochs run than there are losses",
                       (unsigned long long)trial);
    int code = lm_results_get_loss(v->stored.reader, trial, 1, replica->loss, err);
    if (code == LM_OK && outcome->status == LM_TRIAL_OK &&
        lm_stored_network(&v->stored, trial, &shape, &replica->parameters, err) != LM_OK)
        replica->parameters = NULL; /* not kept: the digest is compared */
    replica->untested = v->file->is_sweep ? !is_tested(v->file, trial) : !replica->parameters && v->file->n_kept > 0;
    if (replica->parameters && !lm_shape_equal(shape, replica->trial.shape))
        return lm_fail(err, LM_BAD_INPUT, "trial %llu: two shapes", (unsigned long long)trial);
    return code;
}

/* The k-th of n trials that are trained again: evenly spread; of a sweep first of all the best one. */
static uint64_t replica_number(const struct lm_results *file, uint64_t n, uint64_t k)
{
    if (!file->is_sweep || file->n_leaders == 0)
        return lm_replica_of(file->n_trials, n, k);
    return k == 0 ? file->leader[0] : lm_replica_of(file->n_trials, n - 1, k - 1);
}

/* Trials that failed for a reason of their machine cannot be compared: they are passed over. */
static int load_replicas(struct verify *v, struct lm_error *err)
{
    uint64_t trials = v->file->n_trials, wanted = v->call->options->validate_replicas;
    uint64_t n = v->file->n_train == 0 ? 0 : wanted < trials ? wanted : trials;
    int code = LM_OK;
    v->replica = calloc(n ? n : 1, sizeof *v->replica);
    if (!v->replica)
        return lm_fail_memory(err, n * sizeof *v->replica, "the replicas");
    for (uint64_t k = 0; k < n && code == LM_OK; k++) {
        uint64_t trial = replica_number(v->file, n, k);
        int status = v->file->outcome[trial].status;
        if (k > 0 && v->file->is_sweep && v->file->n_leaders && trial == v->file->leader[0])
            continue;
        if (status == LM_TRIAL_OK || status == LM_TRIAL_DIVERGED)
            code = load_replica(v, trial, &v->replica[v->n_replicas++], err);
    }
    return code;
}

/* ---- the verdict ---- */

static void json_report(const struct lm_call *call, const struct lm_results *checks, const char *verdict)
{
    struct lm_json json;
    lm_json_begin(&json, stdout);
    lm_json_open(&json, NULL, '{');
    for (size_t k = 0; k < call->options->operands; k++)
        lm_json_text(&json, k ? "other" : "file", call->options->operand[k]);
    lm_json_text(&json, "verdict", verdict);
    lm_json_validation(&json, checks);
    lm_json_close(&json, '}');
}

int lm_verify_report(const struct lm_call *call, const struct lm_results *checks, const char *verdict,
                     struct lm_error *err)
{
    if (call->options->format == LM_FORMAT_JSON) {
        json_report(call, checks, verdict);
    } else {
        if (!call->options->quiet)
            lm_report_checks(checks, stdout);
        printf("verdict    %s\n", verdict);
    }
    return lm_flush_stdout(err);
}

static int judge(struct verify *v, struct lm_error *err)
{
    int code = lm_verify_report(v->call, &v->checks, lm_verdict_word(&v->checks), err);
    if (code != LM_OK)
        return code;
    return lm_checks_verdict(&v->checks) == LM_CHECK_FAILED ? LM_MISMATCH : LM_OK;
}

static int check_on_rank_0(struct verify *v, struct lm_error *err)
{
    int code;
    if ((code = prepare(v, err)) != LM_OK || (code = check_weights(v, err)) != LM_OK ||
        (code = check_losses(v, err)) != LM_OK || (code = lm_verify_sweep(&v->stored, &v->checks, err)) != LM_OK ||
        (code = check_inference(v, err)) != LM_OK)
        return code;
    return load_replicas(v, err);
}

int lm_verify_file(const struct lm_call *call)
{
    const struct lm_world *world = call->world;
    struct verify v = {.call = call};
    struct lm_error err;
    int code = lm_agree(world, world->rank == 0 ? check_on_rank_0(&v, &err) : LM_OK, &err);
    if (code == LM_OK && (code = lm_verify_stream(call, &v.stored, &v.checks)) == LM_OK &&
        (code = lm_source_share(world, &v.problem)) == LM_OK &&
        (code = lm_replicas_validate(world, &v.problem, v.replica, v.n_replicas, NULL, &v.checks)) == LM_OK) {
        code = world->rank == 0 ? judge(&v, &err) : LM_OK;
        code = lm_agree(world, code, code == LM_MISMATCH ? NULL : &err);
    }
    if (v.session)
        lm_backend_cpu_ref.close(v.session);
    lm_replicas_free(v.replica, v.n_replicas);
    lm_results_free(&v.checks);
    lm_stored_close(&v.stored);
    lm_problem_free(&v.problem);
    return code;
}

int lm_command_verify(const struct lm_call *call)
{
    struct lm_error err;
    if (call->options->operands == 1)
        return lm_verify_file(call);
    if (call->options->data) {
        int code = call->world->rank ? LM_OK
                                     : lm_fail(&err, LM_BAD_INPUT, "--data: two files are compared without their data");
        return lm_agree(call->world, code, &err);
    }
    return lm_agree(call->world, call->world->rank == 0 ? lm_verify_pair(call) : LM_OK, NULL);
}
