/* make_results OUT.h5 TRIALS EPOCHS SAMPLES KEPT: a results file with reproducible contents, for tests of its readers.
 *
 * The values are simple functions of their indices, which the test in Python computes again: see test_readers.py. A
 * sixth argument, "shuffled", puts losses and weights in another order: the file must have the same contents; "sweep"
 * makes it that of a sweep with seeds, "halving" of one with rungs, too, whose objective is the accuracy. A seventh, a
 * number of seconds, is the most that writing may take. KEPT networks are kept, alternately of two shapes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arithmetic.h"
#include "h5util.h"
#include "results.h"

static struct lm_error error;

static void must(int status)
{
    if (status == LM_OK)
        return;
    fprintf(stderr, "make_results: %s\n", error.text);
    exit(status);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        exit(1);
    return p;
}

static struct lm_shape shape_of(uint64_t trial)
{
    return trial % 2 ? (struct lm_shape){16, 16} : (struct lm_shape){32, 16};
}

static void fill_trials(struct lm_results *r, uint64_t epochs)
{
    for (uint64_t t = 0; t < r->n_trials; t++) {
        int failed = t % 5 == 4;
        r->trial[t] =
            (struct lm_trial){0.01f * (float)(t % 7 + 1), 1.0f,       0.05f, (uint32_t)epochs, 1337 + (uint32_t)t,
                              32 * (uint32_t)(t % 4 + 1), shape_of(t)};
        r->outcome[t] = (struct lm_outcome){.status = failed ? LM_TRIAL_DIVERGED : LM_TRIAL_OK,
                                            .epochs_run = failed ? 0 : (uint32_t)epochs,
                                            .train_loss = failed ? NAN : 1.0 / (double)(t + 1),
                                            .validation_loss = NAN,
                                            .validation_accuracy = NAN,
                                            .test_loss = failed ? NAN : 0.5 / (double)(t + 1),
                                            .test_accuracy = failed ? NAN : 0.75};
        if (failed)
            snprintf(r->outcome[t].reason, sizeof r->outcome[t].reason, "época %d: perda não finita", (int)(t % 3));
        else
            snprintf(r->outcome[t].digest, sizeof r->outcome[t].digest, "%064llx", (unsigned long long)t);
        r->execution[t] = (struct lm_trial_execution){.seconds = 0.25 * (double)(t + 1), .rank = (int32_t)(t % 2)};
        strcpy(r->execution[t].device, "cpu");
        strcpy(r->execution[t].variant, "cpu-ref");
    }
}

/* Configurations of up to 4 seeds, among one another: trials of one shape out of eight in a row. All but every fifth
 * are ok; some scores are shared. */
static void fill_sweep(struct lm_results *r, int halving)
{
    r->is_sweep = 1;
    strcpy(r->search, halving ? "halving" : "grid");
    strcpy(r->objective, halving ? "validation_accuracy" : "validation_loss");
    r->specification = strdup("search: grid # busca\nparameters:\n  seed: {from: 1, to: 4}  # é assim\n");
    r->rung = halving ? room(r->n_trials, sizeof *r->rung) : NULL;
    for (uint64_t t = 0; t < r->n_trials; t++) {
        struct lm_trial *trial = &r->trial[t];
        struct lm_outcome *o = &r->outcome[t];
        trial->learning_rate = 0.01f * (float)(t / 8 + 1);
        trial->block = 32;
        if (o->status == LM_TRIAL_OK) {
            o->validation_loss = (double)(t * 7 % 16 + 1) / 16;
            o->validation_accuracy = (double)(t * 5 % 8) / 8;
        }
        if (halving)
            r->rung[t] = (uint32_t)(t % 3 == 2 && r->max_epochs > 2);
    }
    must(lm_results_summarise(r, 7, &error));
}

static void fill_dataset(struct lm_results *r, size_t samples)
{
    r->data_path = strdup("/dados/São João/mãos");
    strcpy(r->data_digest, "ab");
    for (int c = 0; c < LM_CLASSES; c++)
        r->count[c] = samples; /* so that index < 15 samples */
    r->split_seed = 1337;
    for (int p = 0; p < LM_PIXELS; p++) {
        r->scaler.mean[p] = p;
        r->scaler.scale[p] = p + 0.5;
    }
    r->n_train = 2 * samples;
    r->n_test = samples;
    r->train_index = room(r->n_train, sizeof *r->train_index);
    r->validation_index = room(0, 1);
    r->test_index = room(r->n_test, sizeof *r->test_index);
    for (size_t i = 0; i < r->n_train; i++)
        r->train_index[i] = (uint32_t)i;
    for (size_t i = 0; i < r->n_test; i++)
        r->test_index[i] = (uint32_t)(r->n_train + i);
}

static void fill_inference(struct lm_results *r, size_t samples)
{
    r->inference_trial = samples && r->n_trials ? 0 : -1;
    r->n_scores = samples;
    r->scores = room(samples * LM_CLASSES, sizeof *r->scores);
    r->expected = room(samples, 1);
    r->predicted = room(samples, 1);
    r->sample_rank = room(samples, sizeof *r->sample_rank);
    for (size_t i = 0; i < samples; i++) {
        for (size_t c = 0; c < LM_CLASSES; c++)
            r->scores[i * LM_CLASSES + c] = (float)i + (float)c / 16;
        r->expected[i] = (uint8_t)(i % LM_CLASSES);
        r->predicted[i] = LM_CLASSES - 1;
        r->sample_rank[i] = (int32_t)(i % 2);
        r->confusion[r->expected[i]][r->predicted[i]]++;
    }
}

static void fill_model(struct lm_results *r)
{
    strcpy(r->decided_by, "model");
    strcpy(r->decision, "cpu:avx2 (um núcleo): 0.25 s");
    for (int k = 0; k < 4; k++) {
        struct lm_model_row row = {.predicted = k == 3 ? NAN : 0.25 * (k + 1),
                                   .bound = 2.0 + k,
                                   .measured = k % 2 ? NAN : 0.5 + k,
                                   .chosen = (uint8_t)(k % 2 == 0),
                                   .regret = k % 2 ? NAN : 0.125 * k,
                                   .size = 1000.0 + k,
                                   .factor = 1.0 + k};
        strcpy(row.phase, k < 2 ? "train" : "infer");
        strcpy(row.device, k % 2 ? "gpu:fast" : "cpu:avx2");
        strcpy(row.where, k % 2 ? "" : "um núcleo");
        must(lm_results_model(r, &row, &error));
    }
}

static void fill_rest(struct lm_results *r)
{
    strcpy(r->created, "2026-11-30T12:00:00Z");
    r->title = strdup("varredura número 1");
    r->arithmetic_version = LM_ARITHMETIC_VERSION;
    must(lm_results_note(r, "command_line", "libras_mpi run --title 'número 1'", &error));
    must(lm_results_note(r, "empty", "", &error));
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "env_%02d", i);
        must(lm_results_note(r, name, "valor", &error));
    }
    struct lm_check check = {.name = "scores", .compared = 100, .max_abs_error = 0.0, .result = LM_CHECK_PASSED};
    must(lm_results_check(r, &check, &error));
    check = (struct lm_check){.name = "replica 0", .max_abs_error = NAN, .result = LM_CHECK_NOT_RUN};
    must(lm_results_check(r, &check, &error));
    r->n_ranks = 2;
    r->ranks = room(2, sizeof *r->ranks);
    for (int i = 0; i < 2; i++) {
        snprintf(r->ranks[i].host, sizeof r->ranks[i].host, "nó%d", i);
        strcpy(r->ranks[i].device, "cpu");
        for (int p = 0; p < LM_PHASES; p++)
            r->ranks[i].seconds[p] = i + 0.125 * p;
    }
    fill_model(r);
}

/* Where row i of n is put at step i. */
static uint64_t row_at(uint64_t i, uint64_t n, int shuffled)
{
    return shuffled ? (i % 2 ? n - 1 - i / 2 : i / 2) : i;
}

static void put_losses(struct lm_results_writer *writer, const struct lm_results *r, int shuffled)
{
    double *loss = room(r->max_epochs, sizeof *loss);
    for (uint64_t i = 0; i < r->n_trials; i++) {
        uint64_t t = row_at(i, r->n_trials, shuffled);
        uint64_t n = r->outcome[t].epochs_run;
        for (uint64_t e = 0; e < n; e++)
            loss[e] = (double)t + 1.0 / (double)(e + 1);
        if (n > 0)
            must(lm_results_put_loss(writer, t, loss, n, &error));
    }
    free(loss);
}

static void put_weights(struct lm_results_writer *writer, uint64_t kept, int shuffled)
{
    for (int g = 0; g < 2; g++) {
        struct lm_shape shape = shape_of((uint64_t)g);
        uint64_t rows = (kept + 1 - (uint64_t)g) / 2;
        size_t group, floats = lm_network_floats(shape);
        if (rows == 0)
            continue;
        float *w = room(floats, sizeof *w);
        must(lm_results_add_kept(writer, shape, rows, &group, &error));
        for (uint64_t i = 0; i < rows; i++) {
            uint64_t row = row_at(i, rows, shuffled), trial = 2 * row + (uint64_t)g;
            for (size_t k = 0; k < floats; k++)
                w[k] = (float)(trial % 1000) + (float)k / 65536;
            must(lm_results_put_weights(writer, group, row, trial, trial % 5 == 4 ? NULL : w, &error));
        }
        free(w);
    }
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr,
                "usage: make_results OUT.h5 TRIALS EPOCHS SAMPLES KEPT [ordered|shuffled|sweep|halving [SECONDS]]\n");
        return 2;
    }
    lm_hdf5_setup();
    const uint64_t trials = strtoull(argv[2], NULL, 10), epochs = strtoull(argv[3], NULL, 10);
    const size_t samples = strtoull(argv[4], NULL, 10);
    const uint64_t kept = strtoull(argv[5], NULL, 10);
    const int shuffled = argc > 6 && strcmp(argv[6], "shuffled") == 0;
    struct lm_results r;
    must(lm_results_allocate(trials, &r, &error));
    r.max_epochs = epochs;
    fill_trials(&r, epochs);
    const int halving = argc > 6 && strcmp(argv[6], "halving") == 0;
    if (halving || (argc > 6 && strcmp(argv[6], "sweep") == 0))
        fill_sweep(&r, halving);
    fill_dataset(&r, samples);
    fill_inference(&r, samples);
    fill_rest(&r);
    struct lm_results_writer *writer;
    double begin = now();
    must(lm_results_create(argv[1], trials, epochs, &writer, &error));
    put_losses(writer, &r, shuffled);
    put_weights(writer, kept < trials ? kept : trials, shuffled);
    double streamed = now();
    must(lm_results_finish(writer, &r, &error));
    double end = now();
    printf("streamed %.3f s, finished %.3f s\n", streamed - begin, end - streamed);
    lm_results_free(&r);
    if (argc > 7 && end - begin > strtod(argv[7], NULL)) {
        fprintf(stderr, "make_results: took longer than %s s\n", argv[7]);
        return 1;
    }
    return 0;
}
