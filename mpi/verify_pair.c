/* verify_pair.c: `libras_mpi verify A.h5 B.h5`: are the answers the same bits?
 *
 * Compared: the data (digest, split, normalisation), every trial's hyperparameters and outcome, every loss, every kept
 * weight, every score and prediction; of sweeps also how they searched, rungs, configurations and leaderboard. Not
 * compared: who did it where, when and how fast (/execution, /model, /provenance), and /validation.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "stored.h"
#include "verify.h"

struct pair {
    struct lm_stored a, b;
    struct lm_results checks;
};

/* Two doubles are the same answer if they are the same bits; NaN says "not there", whatever its bits. */
static int other_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b));
}

static uint64_t other_indices(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    uint64_t count = n > m ? n - m : m - n;
    for (size_t k = 0; k < n && k < m; k++)
        count += a[k] != b[k];
    return count;
}

static size_t longer(size_t n, size_t m)
{
    return n > m ? n : m;
}

static int compare_dataset(struct pair *pair, struct lm_error *err)
{
    const struct lm_results *a = &pair->a.results, *b = &pair->b.results;
    uint64_t wrong = (uint64_t)(strcmp(a->data_digest, b->data_digest) != 0) + (a->split != b->split) +
                     /* a split by tails draws nothing */
                     (a->split == LM_SPLIT_RANDOM && a->split_seed != b->split_seed) +
                     other_double(a->holdout, b->holdout) + (memcmp(a->count, b->count, sizeof a->count) != 0);
    wrong += other_indices(a->train_index, a->n_train, b->train_index, b->n_train) +
             other_indices(a->validation_index, a->n_validation, b->validation_index, b->n_validation) +
             other_indices(a->test_index, a->n_test, b->test_index, b->n_test);
    for (int p = 0; p < LM_PIXELS; p++)
        wrong += (uint64_t)other_double(a->scaler.mean[p], b->scaler.mean[p]) +
                 (uint64_t)other_double(a->scaler.scale[p], b->scaler.scale[p]);
    return lm_check_counts(&pair->checks, "data set",
                           5 + longer(a->n_train, b->n_train) + longer(a->n_validation, b->n_validation) +
                               longer(a->n_test, b->n_test) + 2 * LM_PIXELS,
                           wrong, err);
}

static int other_trial(const struct lm_trial *a, const struct lm_trial *b)
{
    return memcmp(&a->learning_rate, &b->learning_rate, sizeof(float)) != 0 ||
           memcmp(&a->decay, &b->decay, sizeof(float)) != 0 ||
           memcmp(&a->initial_range, &b->initial_range, sizeof(float)) != 0 || a->epochs != b->epochs ||
           a->seed != b->seed || a->block != b->block || !lm_shape_equal(a->shape, b->shape);
}

static int other_outcome(const struct lm_outcome *a, const struct lm_outcome *b)
{
    return a->status != b->status || a->epochs_run != b->epochs_run || strcmp(a->digest, b->digest) != 0 ||
           strcmp(a->reason, b->reason) != 0 || other_double(a->train_loss, b->train_loss) ||
           other_double(a->validation_loss, b->validation_loss) ||
           other_double(a->validation_accuracy, b->validation_accuracy) || other_double(a->test_loss, b->test_loss) ||
           other_double(a->test_accuracy, b->test_accuracy);
}

static int compare_trials(struct pair *pair, struct lm_error *err)
{
    const struct lm_results *a = &pair->a.results, *b = &pair->b.results;
    uint64_t n = a->n_trials < b->n_trials ? a->n_trials : b->n_trials, most = a->n_trials + b->n_trials - n;
    uint64_t trials = most - n, outcomes = most - n;
    for (uint64_t t = 0; t < n; t++) {
        trials += (uint64_t)other_trial(&a->trial[t], &b->trial[t]);
        outcomes += (uint64_t)other_outcome(&a->outcome[t], &b->outcome[t]);
    }
    int code = lm_check_counts(&pair->checks, "hyperparameters", most, trials, err);
    return code == LM_OK ? lm_check_counts(&pair->checks, "outcomes", most, outcomes, err) : code;
}

static int compare_losses(struct pair *pair, struct lm_error *err)
{
    const struct lm_results *a = &pair->a.results, *b = &pair->b.results;
    uint64_t epochs = a->max_epochs, n = a->n_trials < b->n_trials ? a->n_trials : b->n_trials, wrong = 0;
    if (a->max_epochs != b->max_epochs)
        return lm_check_counts(&pair->checks, "losses", n * epochs, n * epochs, err);
    double *x = malloc((epochs + 1) * sizeof *x), *y = malloc((epochs + 1) * sizeof *y);
    int code = x && y ? LM_OK : lm_fail_memory(err, epochs * sizeof *x, "losses");
    for (uint64_t t = 0; t < n && code == LM_OK; t++) {
        if ((code = lm_results_get_loss(pair->a.reader, t, 1, x, err)) != LM_OK ||
            (code = lm_results_get_loss(pair->b.reader, t, 1, y, err)) != LM_OK)
            break;
        for (uint64_t e = 0; e < epochs; e++)
            wrong += (uint64_t)other_double(x[e], y[e]);
    }
    free(x);
    free(y);
    return code == LM_OK ? lm_check_counts(&pair->checks, "losses", n * epochs, wrong, err) : code;
}

/* ---- weights ---- */

struct words {
    uint64_t compared, wrong;
};

static int compare_row(struct pair *pair, size_t group, uint64_t row, float *x, float *y, struct words *words,
                       struct lm_error *err)
{
    size_t n = lm_network_floats(pair->a.results.kept[group].shape);
    uint64_t a_trial, b_trial;
    int code;
    if ((code = lm_results_get_weights(pair->a.reader, group, row, 1, x, &a_trial, err)) != LM_OK ||
        (code = lm_results_get_weights(pair->b.reader, group, row, 1, y, &b_trial, err)) != LM_OK)
        return code;
    words->compared += n;
    for (size_t k = 0; k < n; k++)
        words->wrong += a_trial != b_trial || memcmp(&x[k], &y[k], sizeof *x) != 0;
    return LM_OK;
}

static int compare_group(struct pair *pair, size_t group, struct words *words, struct lm_error *err)
{
    const struct lm_kept *kept = &pair->a.results.kept[group];
    size_t bytes = lm_network_floats(kept->shape) * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes);
    int code = x && y ? LM_OK : lm_fail_memory(err, bytes, "a network");
    for (uint64_t row = 0; row < kept->rows && code == LM_OK; row++)
        code = compare_row(pair, group, row, x, y, words, err);
    free(x);
    free(y);
    return code;
}

static int compare_weights(struct pair *pair, struct lm_error *err)
{
    const struct lm_results *a = &pair->a.results, *b = &pair->b.results;
    struct words words = {0};
    int same = a->n_kept == b->n_kept, code = LM_OK;
    for (size_t k = 0; k < a->n_kept && same; k++)
        same = lm_shape_equal(a->kept[k].shape, b->kept[k].shape) && a->kept[k].rows == b->kept[k].rows;
    if (!same)
        return lm_check_counts(&pair->checks, "kept weights (other trials)", 1, 1, err);
    for (size_t k = 0; k < a->n_kept && code == LM_OK; k++)
        code = compare_group(pair, k, &words, err);
    return code == LM_OK ? lm_check_counts(&pair->checks, "weights", words.compared, words.wrong, err) : code;
}

/* ---- inference ---- */

#define SLAB ((uint64_t)16384) /* samples at once: there may be more than fit in memory */

struct slab {
    float *scores;
    uint8_t *expected, *predicted;
};

static int allocate_slab(struct slab *slab, struct lm_error *err)
{
    slab->scores = malloc(SLAB * LM_CLASSES * sizeof *slab->scores);
    slab->expected = calloc(SLAB, 1);
    slab->predicted = malloc(SLAB);
    return slab->scores && slab->expected && slab->predicted
               ? LM_OK
               : lm_fail_memory(err, SLAB * LM_CLASSES * sizeof *slab->scores, "scores");
}

static void free_slab(struct slab *slab)
{
    free(slab->scores);
    free(slab->expected);
    free(slab->predicted);
}

static int compare_slabs(struct pair *pair, struct slab slab[2], uint64_t *scores, uint64_t *predictions,
                         struct lm_error *err)
{
    struct lm_results_reader *const reader[2] = {pair->a.reader, pair->b.reader};
    const uint64_t samples = pair->a.results.n_scores;
    int code = LM_OK;
    for (uint64_t first = 0; first < samples; first += SLAB) {
        uint64_t n = samples - first < SLAB ? samples - first : SLAB;
        for (int f = 0; f < 2 && code == LM_OK; f++)
            code = lm_results_get_scores(reader[f], first, n, slab[f].scores, slab[f].expected, slab[f].predicted, NULL,
                                         err);
        if (code != LM_OK)
            return code;
        for (uint64_t k = 0; k < n * LM_CLASSES; k++)
            *scores += memcmp(&slab[0].scores[k], &slab[1].scores[k], sizeof *slab->scores) != 0;
        for (uint64_t k = 0; k < n; k++)
            *predictions += slab[0].predicted[k] != slab[1].predicted[k] || slab[0].expected[k] != slab[1].expected[k];
    }
    return LM_OK;
}

static int compare_inference(struct pair *pair, struct lm_error *err)
{
    const struct lm_results *a = &pair->a.results, *b = &pair->b.results;
    uint64_t n = a->n_scores, scores = 0, predictions = 0;
    struct slab slab[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    if (a->inference_trial != b->inference_trial || a->n_scores != b->n_scores)
        return lm_check_counts(&pair->checks, "scores (of another trial or batch)", 1, 1, err);
    int code = allocate_slab(&slab[0], err);
    if (code == LM_OK)
        code = allocate_slab(&slab[1], err);
    if (code == LM_OK)
        code = compare_slabs(pair, slab, &scores, &predictions, err);
    free_slab(&slab[0]);
    free_slab(&slab[1]);
    predictions += memcmp(a->confusion, b->confusion, sizeof a->confusion) != 0 || a->unlabelled != b->unlabelled;
    if (code == LM_OK)
        code = lm_check_counts(&pair->checks, "scores", n * LM_CLASSES, scores, err);
    return code == LM_OK ? lm_check_counts(&pair->checks, "predictions", n + 1, predictions, err) : code;
}

static int compare(struct pair *pair, const struct lm_options *options, struct lm_error *err)
{
    int code;
    if ((code = lm_stored_open(options->operand[0], &pair->a, err)) != LM_OK ||
        (code = lm_stored_open(options->operand[1], &pair->b, err)) != LM_OK)
        return code;
    if ((code = compare_dataset(pair, err)) != LM_OK || (code = compare_trials(pair, err)) != LM_OK ||
        (code = lm_verify_sweep_pair(&pair->a, &pair->b, &pair->checks, err)) != LM_OK ||
        (code = compare_losses(pair, err)) != LM_OK || (code = compare_weights(pair, err)) != LM_OK)
        return code;
    return compare_inference(pair, err);
}

int lm_verify_pair(const struct lm_call *call)
{
    struct pair pair = {0};
    struct lm_error err;
    int code = compare(&pair, call->options, &err);
    if (code == LM_OK) {
        int same = lm_checks_verdict(&pair.checks) == LM_CHECK_PASSED;
        code = lm_verify_report(call, &pair.checks, same ? "SAME_BITS" : "DIFFERENT", &err);
        if (code == LM_OK && !same)
            code = LM_MISMATCH;
    }
    if (code != LM_OK && code != LM_MISMATCH)
        lm_say(call->world, "%s", err.text);
    lm_results_free(&pair.checks);
    lm_stored_close(&pair.a);
    lm_stored_close(&pair.b);
    return code;
}
