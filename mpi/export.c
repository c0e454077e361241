/* export.c: `libras_mpi export RESULTS.h5`: tables as CSV, the whole as JSON, or the lab's text, on stdout. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "cpu_backend.h"
#include "json_results.h"
#include "number.h"
#include "report.h"
#include "stored.h"

/* ---- CSV (RFC 4180): the first line names the columns; a value that is not there is an empty field ---- */

static void put_field(const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void put_double(double value, const char *after)
{
    if (isnan(value))
        fputs(after, stdout);
    else
        printf("%.17g%s", value, after);
}

static int csv_trials(struct lm_stored *stored, struct lm_error *err)
{
    const struct lm_results *r = &stored->results;
    (void)err;
    printf("trial,learning_rate,decay,initial_range,epochs,seed,block,hidden1,hidden2,status,epochs_run,train_loss,"
           "validation_loss,validation_accuracy,test_loss,test_accuracy,digest,reason%s\n",
           r->rung ? ",rung" : "");
    for (uint64_t t = 0; t < r->n_trials; t++) {
        const struct lm_trial *trial = &r->trial[t];
        const struct lm_outcome *o = &r->outcome[t];
        char rate[LM_FLOAT_TEXT], decay[LM_FLOAT_TEXT], range[LM_FLOAT_TEXT];
        printf("%" PRIu64 ",%s,%s,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%s,%" PRIu32 ",", t,
               lm_float_text(trial->learning_rate, rate), lm_float_text(trial->decay, decay),
               lm_float_text(trial->initial_range, range), trial->epochs, trial->seed, trial->block,
               trial->shape.hidden1, trial->shape.hidden2, lm_trial_status_text(o->status), o->epochs_run);
        put_double(o->train_loss, ",");
        put_double(o->validation_loss, ",");
        put_double(o->validation_accuracy, ",");
        put_double(o->test_loss, ",");
        put_double(o->test_accuracy, ",");
        printf("%s,", o->digest);
        put_field(o->reason);
        if (r->rung)
            printf(",%" PRIu32, r->rung[t]);
        putchar('\n');
    }
    return LM_OK;
}

static int csv_loss(struct lm_stored *stored, struct lm_error *err)
{
    const struct lm_results *r = &stored->results;
    double *loss = malloc((r->max_epochs + 1) * sizeof *loss);
    int code = loss ? LM_OK : lm_fail_memory(err, r->max_epochs * sizeof *loss, "losses");
    printf("trial,epoch,loss\n");
    for (uint64_t t = 0; t < r->n_trials && code == LM_OK; t++) {
        code = lm_results_get_loss(stored->reader, t, 1, loss, err);
        for (uint64_t e = 0; e < r->outcome[t].epochs_run && e < r->max_epochs && code == LM_OK; e++)
            printf("%" PRIu64 ",%" PRIu64 ",%.17g\n", t, e + 1, loss[e]);
    }
    free(loss);
    return code;
}

#define SLAB ((size_t)4096) /* samples at once: there may be more than fit in memory */

/* Samples first ... first + n - 1. A file whose scores stream has them in the order of its data, and lists none. */
static void csv_slab(const struct lm_results *r, size_t first, size_t n, const float *scores, const uint8_t *expected,
                     const uint8_t *predicted)
{
    for (size_t k = 0; k < n; k++) {
        size_t sample = r->streamed ? first + k : r->test_index[first + k];
        if (r->unlabelled)
            printf("\n%zu,,%c", sample, LM_LETTERS[predicted[k]]);
        else
            printf("\n%zu,%c,%c", sample, LM_LETTERS[expected[k]], LM_LETTERS[predicted[k]]);
        for (int c = 0; c < LM_CLASSES; c++)
            printf(",%.9g", (double)scores[k * LM_CLASSES + (size_t)c]);
    }
}

static int csv_scores(struct lm_stored *stored, struct lm_error *err)
{
    const struct lm_results *r = &stored->results;
    if (!r->streamed && r->n_scores > r->n_test)
        return lm_fail(err, LM_BAD_INPUT, "damaged: %zu scored samples of %zu", r->n_scores, r->n_test);
    float *scores = malloc(SLAB * LM_CLASSES * sizeof *scores);
    uint8_t *letters = malloc(2 * SLAB);
    int code = scores && letters ? LM_OK : lm_fail_memory(err, SLAB * LM_CLASSES * sizeof *scores, "scores");
    printf("sample,expected,predicted");
    for (int c = 0; c < LM_CLASSES; c++)
        printf(",score_%c", LM_LETTERS[c]);
    for (size_t first = 0; first < r->n_scores && code == LM_OK; first += SLAB) {
        size_t n = r->n_scores - first < SLAB ? r->n_scores - first : SLAB;
        code = lm_results_get_scores(stored->reader, first, n, scores, letters, letters + SLAB, NULL, err);
        if (code == LM_OK)
            csv_slab(r, first, n, scores, letters, letters + SLAB);
    }
    putchar('\n');
    free(scores);
    free(letters);
    return code;
}

static int csv_confusion(struct lm_stored *stored, struct lm_error *err)
{
    (void)err;
    printf("expected,predicted,count\n");
    for (int a = 0; a < LM_CLASSES; a++)
        for (int b = 0; b < LM_CLASSES; b++)
            if (stored->results.unlabelled) /* nobody knows: not 0 */
                printf("%c,%c,\n", LM_LETTERS[a], LM_LETTERS[b]);
            else
                printf("%c,%c,%" PRIu64 "\n", LM_LETTERS[a], LM_LETTERS[b], stored->results.confusion[a][b]);
    return LM_OK;
}

static int csv_validation(struct lm_stored *stored, struct lm_error *err)
{
    (void)err;
    printf("name,compared,mismatches,max_abs_error,result\n");
    for (size_t k = 0; k < stored->results.n_checks; k++) {
        const struct lm_check *check = &stored->results.checks[k];
        put_field(check->name);
        printf(",%" PRIu64 ",%" PRIu64 ",", check->compared, check->mismatches);
        put_double(check->max_abs_error, ",");
        printf("%s\n", lm_check_text(check->result));
    }
    return LM_OK;
}

static int csv_execution(struct lm_stored *stored, struct lm_error *err)
{
    (void)err;
    printf("trial,seconds,rank,device,variant\n");
    for (uint64_t t = 0; t < stored->results.n_trials; t++) {
        const struct lm_trial_execution *e = &stored->results.execution[t];
        printf("%" PRIu64 ",", t);
        put_double(e->seconds, ",");
        printf("%" PRId32 ",%s,%s\n", e->rank, e->device, e->variant);
    }
    return LM_OK;
}

static int csv_ranks(struct lm_stored *stored, struct lm_error *err)
{
    (void)err;
    printf("rank,host,device,uuid,pci,shared");
    for (int phase = 0; phase < LM_PHASES; phase++)
        printf(",%s_s", lm_phase_name[phase]);
    for (size_t k = 0; k < stored->results.n_ranks; k++) {
        const struct lm_rank *rank = &stored->results.ranks[k];
        printf("\n%zu,", k);
        put_field(rank->host);
        putchar(',');
        put_field(rank->device);
        printf(",%s,%s,%d", rank->uuid, rank->pci, rank->shared);
        for (int phase = 0; phase < LM_PHASES; phase++)
            printf(",%.9g", rank->seconds[phase]);
    }
    putchar('\n');
    return LM_OK;
}

static int csv_model(struct lm_stored *stored, struct lm_error *err)
{
    const struct lm_results *r = &stored->results;
    if (r->n_model == 0)
        return lm_fail(err, LM_BAD_INPUT, "--table: the file has no /model: an older program made it");
    printf("phase,device,where,predicted_s,bound_s,measured_s,chosen,regret,size,factor\n");
    for (size_t k = 0; k < r->n_model; k++) {
        const struct lm_model_row *row = &r->model[k];
        printf("%s,%s,", row->phase, row->device);
        put_field(row->where);
        putchar(',');
        put_double(row->predicted, ",");
        put_double(row->bound, ",");
        put_double(row->measured, ",");
        printf("%d,", row->chosen);
        put_double(row->regret, ",");
        put_double(row->size, ",");
        put_double(row->factor, "");
        putchar('\n');
    }
    return LM_OK;
}

/* ---- of a sweep ---- */

static void put_parameters(const struct lm_trial *trial)
{
    char rate[LM_FLOAT_TEXT], decay[LM_FLOAT_TEXT], range[LM_FLOAT_TEXT];
    printf("%s,%s,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",", lm_float_text(trial->learning_rate, rate),
           lm_float_text(trial->decay, decay), lm_float_text(trial->initial_range, range), trial->epochs, trial->block,
           trial->shape.hidden1, trial->shape.hidden2);
}

static int no_sweep(const struct lm_results *r, struct lm_error *err)
{
    return r->is_sweep ? LM_OK
                       : lm_fail(err, LM_BAD_INPUT, "--table: the file is not of a sweep, and has no such table");
}

static int csv_configurations(struct lm_stored *stored, struct lm_error *err)
{
    const struct lm_results *r = &stored->results;
    if (no_sweep(r, err) != LM_OK)
        return err->code;
    printf("configuration,learning_rate,decay,initial_range,epochs,block,hidden1,hidden2,first_trial,trials,ok,"
           "diverged,failed,loss_mean,loss_sd,loss_low,loss_high,accuracy_mean,accuracy_sd,accuracy_low,accuracy_high"
           "%s\n",
           r->rung ? ",rung" : "");
    for (uint64_t k = 0; k < r->n_configurations; k++) {
        const struct lm_configuration *c = &r->configuration[k];
        printf("%" PRIu64 ",", k);
        put_parameters(&r->trial[c->first]);
        printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", c->first, c->trials, c->ok, c->diverged,
               c->failed);
        put_double(c->loss_mean, ",");
        put_double(c->loss_sd, ",");
        put_double(c->loss_low, ",");
        put_double(c->loss_high, ",");
        put_double(c->accuracy_mean, ",");
        put_double(c->accuracy_sd, ",");
        put_double(c->accuracy_low, ",");
        put_double(c->accuracy_high, "");
        if (r->rung)
            printf(",%" PRIu32, c->rung);
        putchar('\n');
    }
    return LM_OK;
}

static int csv_leaderboard(struct lm_stored *stored, struct lm_error *err)
{
    const struct lm_results *r = &stored->results;
    if (no_sweep(r, err) != LM_OK)
        return err->code;
    printf("place,trial,validation_loss,validation_accuracy,test_loss,test_accuracy\n");
    for (uint64_t k = 0; k < r->n_leaders; k++) {
        const struct lm_outcome *o = &r->outcome[r->leader[k]];
        printf("%" PRIu64 ",%" PRIu64 ",", k + 1, r->leader[k]);
        put_double(o->validation_loss, ",");
        put_double(o->validation_accuracy, ",");
        put_double(o->test_loss, ",");
        put_double(o->test_accuracy, "\n");
    }
    return LM_OK;
}

static int export_csv(struct lm_stored *stored, const char *table, struct lm_error *err)
{
    static const struct {
        const char *name;
        int (*write)(struct lm_stored *, struct lm_error *);
    } writer[] = {{"trials", csv_trials},
                  {"loss", csv_loss},
                  {"scores", csv_scores},
                  {"confusion", csv_confusion},
                  {"validation", csv_validation},
                  {"execution", csv_execution},
                  {"ranks", csv_ranks},
                  {"model", csv_model},
                  {"configurations", csv_configurations},
                  {"leaderboard", csv_leaderboard}};
    for (size_t k = 0; k < sizeof writer / sizeof *writer; k++)
        if (strcmp(table, writer[k].name) == 0)
            return writer[k].write(stored, err);
    return lm_fail(err, LM_BAD_INPUT, "--table: %s", table);
}

/* ---- JSON ---- */

static int export_json(struct lm_stored *stored, struct lm_error *err)
{
    struct lm_json json;
    int code = lm_results_measure(stored->reader, &stored->results, err);
    if (code != LM_OK)
        return code;
    lm_json_begin(&json, stdout);
    lm_json_open(&json, NULL, '{');
    lm_json_text(&json, "format", LM_FORMAT_NAME);
    lm_json_whole(&json, "format_version", stored->results.format_version);
    lm_json_whole(&json, "arithmetic_version", stored->results.arithmetic_version);
    lm_json_text(&json, "created", stored->results.created);
    lm_json_provenance(&json, &stored->results);
    lm_json_dataset(&json, &stored->results);
    lm_json_trials(&json, &stored->results);
    lm_json_sweep(&json, &stored->results);
    lm_json_inference(&json, &stored->results);
    lm_json_validation(&json, &stored->results);
    lm_json_execution(&json, &stored->results);
    lm_json_model(&json, &stored->results);
    lm_json_close(&json, '}');
    return LM_OK;
}

/* ---- the lab's text, "LIBRAS_MENDELEY_GPU_V1" ---- */

static void lab_network(struct lm_shape shape, const float *parameters)
{
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(shape, l);
        for (size_t i = 0; i < layer.outputs; i++) {
            for (size_t j = 0; j < layer.inputs; j++)
                printf("%.9g ", (double)parameters[layer.weights + i * layer.inputs + j]);
            printf("%.9g\n", (double)parameters[layer.biases + i]);
        }
    }
}

static void lab_samples(const struct lm_samples *test, const float *scores)
{
    for (size_t k = 0; k < test->n; k++) {
        printf("%d", test->label[k]);
        for (int p = 0; p < LM_PIXELS; p++)
            printf(" %.9g", (double)test->x[k * LM_PIXELS + (size_t)p]);
        for (int c = 0; c < LM_CLASSES; c++)
            printf(" %.9g", (double)scores[k * LM_CLASSES + (size_t)c]);
        putchar('\n');
    }
}

/* The scores of the chosen trial: stored if it is the inference's, else computed by cpu-ref. */
static int lab_scores(struct lm_stored *stored, uint64_t trial, struct lm_shape shape, const float *parameters,
                      const struct lm_samples *test, float *scores, struct lm_error *err)
{
    const struct lm_problem nothing = {0};
    void *session;
    if (stored->results.inference_trial == (int64_t)trial && stored->results.n_scores == test->n) {
        memcpy(scores, stored->results.scores, test->n * LM_CLASSES * sizeof *scores);
        return LM_OK;
    }
    int code = lm_backend_cpu_ref.open(&nothing, &session, err);
    if (code != LM_OK)
        return code;
    code = lm_backend_cpu_ref.infer(session, shape, parameters, test->x, test->n, scores, err);
    lm_backend_cpu_ref.close(session);
    return code;
}

static int load_test(const struct lm_stored *stored, const struct lm_options *options, struct lm_samples *test,
                     struct lm_error *err)
{
    struct lm_dataset data;
    int code = lm_stored_data(stored, options, &data, err);
    if (code != LM_OK)
        return code;
    code = lm_stored_test(stored, &data, test, err);
    lm_dataset_free(&data);
    return code;
}

static int export_lab(struct lm_stored *stored, const struct lm_options *options, struct lm_error *err)
{
    struct lm_samples test = {0};
    struct lm_shape shape;
    float *parameters = NULL, *scores = NULL;
    uint64_t trial;
    int code;
    if (stored->results.streamed)
        return lm_fail(
            err, LM_BAD_INPUT,
            "--format lab: the file was scored from a packed file; --format csv --table scores has its scores");
    if ((code = lm_stored_choose(stored, options, &trial, err)) != LM_OK ||
        (code = lm_stored_network(stored, trial, &shape, &parameters, err)) != LM_OK ||
        (code = load_test(stored, options, &test, err)) != LM_OK) {
        free(parameters);
        return code;
    }
    scores = malloc((test.n * LM_CLASSES + 1) * sizeof *scores);
    code = scores ? lab_scores(stored, trial, shape, parameters, &test, scores, err)
                  : lm_fail_memory(err, test.n * LM_CLASSES * sizeof *scores, "scores");
    if (code == LM_OK) {
        printf("LIBRAS_MENDELEY_GPU_V1\n%d %u %u %d %zu\n", LM_PIXELS, shape.hidden1, shape.hidden2, LM_CLASSES,
               test.n);
        lab_network(shape, parameters);
        lab_samples(&test, scores);
    }
    lm_samples_free(&test);
    free(parameters);
    free(scores);
    return code;
}

static int export(const struct lm_options *options, struct lm_error *err)
{
    struct lm_stored stored;
    int code = lm_stored_open(options->operand[0], &stored, err);
    if (code != LM_OK)
        return code;
    if (options->format == LM_FORMAT_JSON)
        code = export_json(&stored, err);
    else if (options->format == LM_FORMAT_LAB)
        code = export_lab(&stored, options, err);
    else
        code = export_csv(&stored, options->table, err);
    lm_stored_close(&stored);
    if (code != LM_OK)
        return lm_fail_within(err, "%s: ", options->operand[0]);
    return lm_flush_stdout(err);
}

int lm_command_export(const struct lm_call *call)
{
    struct lm_error err;
    return lm_agree(call->world, call->world->rank == 0 ? export(call->options, &err) : LM_OK, &err);
}
