/* sample_results.h: results with all sorts of values in them, written in any order, and compared. After cmocka.h. */
#ifndef TEST_SAMPLE_RESULTS_H
#define TEST_SAMPLE_RESULTS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "results.h"

#define SAMPLE_SHAPES 5
static const struct lm_shape sample_shape[SAMPLE_SHAPES] = {{32, 16}, {128, 1}, {16, 16}, {1, 128}, {128, 128}};

struct sample {
    struct lm_results results;
    double *loss;    /* (n_trials, max_epochs) */
    float *weights;  /* of all trials, one after the other */
    size_t *offset;  /* (n_trials), into weights */
    int validation;  /* with a hold-out */
    uint64_t random; /* state */
};

static inline uint64_t sample_random(struct sample *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return s->random >> 20;
}

static inline void *sample_room(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    assert_non_null(p);
    return p;
}

/* Any bits, often special ones; of the NaNs only the one that is stored. */
static inline float sample_f32(struct sample *s)
{
    static const uint32_t special[] = {0x80000000u, 0, 1, 0x807FFFFFu, 0x7F800000u, 0xFF800000u, LM_NAN_BITS};
    uint32_t bits = (uint32_t)sample_random(s);
    if (bits % 4 == 0)
        bits = special[bits / 4 % 7];
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        bits = LM_NAN_BITS;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double sample_f64(struct sample *s)
{
    static const uint64_t special[] = {UINT64_C(0x8000000000000000), 0, 1, UINT64_C(0x7FF0000000000000),
                                       UINT64_C(0x7FF8000000000000)};
    uint64_t bits = sample_random(s) << 32 ^ sample_random(s);
    if (bits % 4 == 0)
        bits = special[bits / 4 % 5];
    if ((bits & ~(UINT64_C(1) << 63)) > UINT64_C(0x7FF0000000000000))
        bits = UINT64_C(0x7FF8000000000000);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void sample_text(struct sample *s, char *text, size_t size)
{
    static const char *const piece[] = {"a", "Ç", "日", " ", "\n", "😀", "x/y", "\"", "\\"};
    text[0] = '\0';
    for (uint64_t n = sample_random(s) % 8; n > 0; n--) {
        const char *next = piece[sample_random(s) % 9];
        if (strlen(text) + strlen(next) < size)
            strcat(text, next);
    }
}

static inline void sample_trials(struct sample *s)
{
    struct lm_results *r = &s->results;
    size_t floats = 0;
    s->offset = sample_room(r->n_trials, sizeof *s->offset);
    for (uint64_t t = 0; t < r->n_trials; t++) {
        struct lm_outcome *o = &r->outcome[t];
        o->status = (int)(sample_random(s) % 4);
        r->trial[t] = (struct lm_trial){
            .learning_rate = 1e-45f * (float)(t + 1), /* subnormal */
            .decay = 1.0f,
            .initial_range = -0.0f,
            .epochs = (uint32_t)(sample_random(s) % r->max_epochs + 1),
            .seed = (uint32_t)sample_random(s),
            .block = 32 * (uint32_t)(sample_random(s) % 32 + 1),
            .shape = sample_shape[sample_random(s) % SAMPLE_SHAPES],
        };
        if (o->status == LM_TRIAL_FAILED)
            r->trial[t].block = 4096;
        o->epochs_run = (uint32_t)(sample_random(s) % (r->trial[t].epochs + 1));
        double *value[] = {&o->train_loss, &o->validation_loss, &o->validation_accuracy,
                           &o->test_loss,  &o->test_accuracy,   &r->execution[t].seconds};
        for (size_t i = 0; i < sizeof value / sizeof value[0]; i++)
            *value[i] = sample_f64(s);
        sample_text(s, o->digest, sizeof o->digest);
        sample_text(s, o->reason, sizeof o->reason);
        sample_text(s, r->execution[t].device, sizeof r->execution[t].device);
        sample_text(s, r->execution[t].variant, sizeof r->execution[t].variant);
        r->execution[t].rank = (int32_t)(sample_random(s) % 9) - 1;
        s->offset[t] = floats;
        floats += lm_network_floats(r->trial[t].shape);
    }
    s->loss = sample_room(r->n_trials * r->max_epochs, sizeof *s->loss);
    s->weights = sample_room(floats, sizeof *s->weights);
    for (size_t i = 0; i < r->n_trials * r->max_epochs; i++)
        s->loss[i] = NAN;
    for (uint64_t t = 0; t < r->n_trials; t++) {
        for (uint64_t e = 0; e < r->outcome[t].epochs_run; e++)
            s->loss[t * r->max_epochs + e] = sample_f64(s);
    }
    for (size_t i = 0; i < floats; i++)
        s->weights[i] = sample_f32(s);
    for (uint64_t t = 0; t < r->n_trials; t++) {
        size_t n = lm_network_floats(r->trial[t].shape);
        const uint32_t nan = LM_NAN_BITS;
        for (size_t i = 0; i < n && r->outcome[t].status != LM_TRIAL_OK; i++) /* put as NULL */
            memcpy(s->weights + s->offset[t] + i, &nan, sizeof nan);
    }
}

static inline void sample_dataset(struct sample *s)
{
    struct lm_results *r = &s->results;
    uint64_t total = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        total += r->count[c] = sample_random(s) % 20 + 2;
    r->n_test = sample_random(s) % total;
    r->n_validation = s->validation ? sample_random(s) % total : 0;
    r->n_train = total - r->n_test;
    uint32_t **list[] = {&r->train_index, &r->validation_index, &r->test_index};
    size_t n[] = {r->n_train, r->n_validation, r->n_test};
    for (int l = 0; l < 3; l++) {
        *list[l] = sample_room(n[l], sizeof **list[l]);
        for (size_t i = 0; i < n[l]; i++)
            (*list[l])[i] = (uint32_t)(sample_random(s) % total);
    }
    for (int p = 0; p < LM_PIXELS; p++) {
        r->scaler.mean[p] = sample_f64(s);
        r->scaler.scale[p] = sample_f64(s);
    }
    r->split_seed = (uint32_t)sample_random(s);
    r->split = (int)(r->split_seed % LM_SPLIT_KINDS);
    r->holdout = s->validation ? 0.1 : 0;
    memset(r->data_digest, 'f', sizeof r->data_digest - 1);
    r->data_path = strdup("/dados/São João/r 1");
}

static inline void sample_inference(struct sample *s, size_t n)
{
    struct lm_results *r = &s->results;
    r->inference_trial = n && r->n_trials ? (int64_t)(sample_random(s) % r->n_trials) : -1;
    r->n_scores = n;
    r->scores = sample_room(n * LM_CLASSES, sizeof *r->scores);
    r->expected = sample_room(n, 1);
    r->predicted = sample_room(n, 1);
    r->sample_rank = sample_room(n, sizeof *r->sample_rank);
    for (size_t i = 0; i < n * LM_CLASSES; i++)
        r->scores[i] = sample_f32(s);
    for (size_t i = 0; i < n; i++) {
        r->expected[i] = (uint8_t)(sample_random(s) % LM_CLASSES);
        r->predicted[i] = (uint8_t)(sample_random(s) % LM_CLASSES);
        r->sample_rank[i] = (int32_t)(sample_random(s) % 3) - 1;
        r->confusion[r->expected[i]][r->predicted[i]]++;
    }
}

static inline void sample_rest(struct sample *s)
{
    struct lm_results *r = &s->results;
    struct lm_error err;
    strcpy(r->created, "2026-11-30T12:00:00Z");
    r->title = strdup(sample_random(s) % 2 ? "varredura número 1 日本" : "");
    r->format_version = LM_FORMAT_VERSION;
    r->arithmetic_version = LM_ARITHMETIC_VERSION;
    for (uint64_t n = sample_random(s) % 30; n > 0; n--) {
        char name[20], value[40];
        snprintf(name, sizeof name, "z%02d", (int)n); /* not in the order of the alphabet */
        sample_text(s, value, sizeof value);
        assert_int_equal(lm_results_note(r, name, value, &err), LM_OK);
    }
    for (uint64_t n = sample_random(s) % 4; n > 0; n--) {
        struct lm_check check = {.compared = UINT64_MAX - n, .mismatches = n, .max_abs_error = sample_f64(s)};
        check.result = (int)(sample_random(s) % 3);
        sample_text(s, check.name, sizeof check.name);
        assert_int_equal(lm_results_check(r, &check, &err), LM_OK);
    }
    r->n_ranks = sample_random(s) % 4;
    r->ranks = sample_room(r->n_ranks, sizeof *r->ranks);
    for (size_t i = 0; i < r->n_ranks; i++) {
        sample_text(s, r->ranks[i].host, sizeof r->ranks[i].host);
        sample_text(s, r->ranks[i].device, sizeof r->ranks[i].device);
        sample_text(s, r->ranks[i].uuid, sizeof r->ranks[i].uuid);
        sample_text(s, r->ranks[i].pci, sizeof r->ranks[i].pci);
        r->ranks[i].shared = i % 2;
        for (int p = 0; p < LM_PHASES; p++)
            r->ranks[i].seconds[p] = sample_f64(s);
    }
}

static inline void sample_model(struct sample *s, uint64_t rows)
{
    struct lm_results *r = &s->results;
    struct lm_error err;
    for (uint64_t n = 0; n < rows; n++) {
        struct lm_model_row row = {.chosen = (uint8_t)(sample_random(s) % 2)};
        double *value[] = {&row.predicted, &row.bound, &row.measured, &row.regret, &row.size, &row.factor};
        for (size_t i = 0; i < sizeof value / sizeof value[0]; i++)
            *value[i] = sample_f64(s);
        sample_text(s, row.phase, sizeof row.phase);
        sample_text(s, row.device, sizeof row.device);
        sample_text(s, row.where, sizeof row.where);
        assert_int_equal(lm_results_model(r, &row, &err), LM_OK);
    }
    if (rows > 0) {
        sample_text(s, r->decided_by, sizeof r->decided_by);
        sample_text(s, r->decision, sizeof r->decision);
    }
}

static inline void sample_make(uint64_t seed, uint64_t trials, uint64_t epochs, size_t scores, int validation,
                               struct sample *s)
{
    struct lm_error err;
    *s = (struct sample){.random = seed * 977 + 1, .validation = validation};
    assert_int_equal(lm_results_allocate(trials, &s->results, &err), LM_OK);
    s->results.max_epochs = epochs;
    sample_trials(s);
    sample_dataset(s);
    sample_inference(s, scores);
    sample_rest(s);
    sample_model(s, seed % 3 * 5);
}

/* Makes them those of a sweep, after sample_make: half of the trials share their parameters with the one before. */
static inline void sample_sweep(struct sample *s, int rungs)
{
    struct lm_results *r = &s->results;
    struct lm_error err;
    r->is_sweep = 1;
    strcpy(r->search, rungs ? "halving" : "latin");
    strcpy(r->objective, sample_random(s) % 2 ? "validation_loss" : "validation_accuracy");
    size_t bytes = sample_random(s) % 3 ? sample_random(s) % 300 : 200000; /* more than a heap's first size, or none */
    r->specification = sample_room(bytes + 1, 1);
    memset(r->specification, '#', bytes);
    for (uint64_t t = 1; t < r->n_trials; t++) {
        uint32_t epochs = r->trial[t].epochs, block = r->trial[t].block;
        struct lm_shape shape = r->trial[t].shape;
        r->trial[t] = r->trial[t - t % 2];
        r->trial[t].seed = (uint32_t)t;
        r->trial[t].epochs = epochs; /* the rest of the sample hangs on these */
        r->trial[t].block = block;
        r->trial[t].shape = shape;
    }
    r->rung = rungs ? sample_room(r->n_trials, sizeof *r->rung) : NULL;
    for (uint64_t t = 0; t < r->n_trials && rungs; t++)
        r->rung[t] = (uint32_t)(sample_random(s) % r->max_epochs);
    assert_int_equal(lm_results_summarise(r, sample_random(s) % 30, &err), LM_OK);
}

static inline void sample_free(struct sample *s)
{
    lm_results_free(&s->results);
    free(s->loss);
    free(s->weights);
    free(s->offset);
}

/* ---- writing ---- */

static inline void sample_shuffle(struct sample *s, uint64_t *order, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        order[i] = i;
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = sample_random(s) % i, kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* Trials of that shape, ascending, into list; returns how many. */
static inline uint64_t sample_of_shape(const struct sample *s, struct lm_shape shape, uint64_t *list)
{
    uint64_t n = 0;
    for (uint64_t t = 0; t < s->results.n_trials; t++) {
        if (lm_shape_equal(s->results.trial[t].shape, shape))
            list[n++] = t;
    }
    return n;
}

/* The first failure of the whole, or LM_OK. Groups are added in the order of sample_shape, empty ones too. */
static inline int sample_write(struct sample *s, const char *path, struct lm_error *err)
{
    const struct lm_results *r = &s->results;
    struct lm_results_writer *writer;
    uint64_t *order = sample_room(r->n_trials, sizeof *order), *list = sample_room(r->n_trials, sizeof *list);
    int status = lm_results_create(path, r->n_trials, r->max_epochs, &writer, err);
    int created = status == LM_OK;
    sample_shuffle(s, order, r->n_trials);
    for (uint64_t i = 0; i < r->n_trials && status == LM_OK; i++) {
        uint64_t t = order[i], n = r->outcome[t].epochs_run;
        if (n > 0)
            status = lm_results_put_loss(writer, t, s->loss + t * r->max_epochs, n, err);
    }
    for (int g = 0; g < SAMPLE_SHAPES && status == LM_OK; g++) {
        size_t group;
        uint64_t rows = sample_of_shape(s, sample_shape[g], list);
        status = lm_results_add_kept(writer, sample_shape[g], rows, &group, err);
        sample_shuffle(s, order, rows);
        for (uint64_t i = 0; i < rows && status == LM_OK; i++) {
            uint64_t t = list[order[i]];
            const float *weights = r->outcome[t].status == LM_TRIAL_OK ? s->weights + s->offset[t] : NULL;
            status = lm_results_put_weights(writer, group, order[i], t, weights, err);
        }
    }
    if (status == LM_OK)
        status = lm_results_finish(writer, r, err);
    else if (created)
        lm_results_abandon(writer);
    free(order);
    free(list);
    return status;
}

/* Reads everything there is, and touches every byte; the first failure, or LM_OK. */
static inline int sample_read_all(const char *path, struct lm_error *err)
{
    struct lm_results_reader *reader;
    struct lm_results r;
    int status = lm_results_open(path, &reader, err);
    if (status != LM_OK)
        return status;
    status = lm_results_load(reader, &r, err);
    if (status != LM_OK) {
        lm_results_close(reader);
        return status;
    }
    double *loss = malloc(r.n_trials * r.max_epochs * sizeof *loss + 1);
    assert_non_null(loss);
    status = lm_results_get_loss(reader, 0, r.n_trials, loss, err);
    free(loss);
    for (size_t g = 0; g < r.n_kept && status == LM_OK; g++) {
        float *weights = malloc(r.kept[g].rows * lm_network_floats(r.kept[g].shape) * sizeof *weights + 1);
        assert_non_null(weights);
        status = lm_results_get_weights(reader, g, 0, r.kept[g].rows, weights, NULL, err);
        free(weights);
    }
    lm_results_free(&r);
    lm_results_close(reader);
    return status;
}

#endif
