/* stored.c: see stored.h. */
#include "stored.h"

#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "source.h"

int lm_stored_open(const char *path, struct lm_stored *out, struct lm_error *err)
{
    *out = (struct lm_stored){0};
    int code = lm_results_open(path, &out->reader, err);
    if (code == LM_OK)
        code = lm_results_load(out->reader, &out->results, err);
    if (code == LM_OK && out->results.arithmetic_version != LM_ARITHMETIC_VERSION)
        code = lm_fail(err, LM_BAD_INPUT, "%s: made with arithmetic version %u; this program computes with version %d",
                       path, out->results.arithmetic_version, LM_ARITHMETIC_VERSION);
    if (code != LM_OK)
        lm_stored_close(out);
    return code;
}

void lm_stored_close(struct lm_stored *stored)
{
    lm_results_free(&stored->results);
    if (stored->reader)
        lm_results_close(stored->reader);
    stored->reader = NULL;
}

/* Where a trial's row is; 0 if nowhere. Rows are in ascending order of trial: halves are searched. */
static int find_row(struct lm_stored *stored, uint64_t trial, size_t *group, uint64_t *row, struct lm_error *err)
{
    for (*group = 0; *group < stored->results.n_kept; (*group)++) {
        uint64_t low = 0, high = stored->results.kept[*group].rows;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2, there;
            if (lm_results_get_weights(stored->reader, *group, middle, 1, NULL, &there, err) != LM_OK)
                return 0;
            if (there == trial) {
                *row = middle;
                return 1;
            }
            if (there < trial)
                low = middle + 1;
            else
                high = middle;
        }
    }
    lm_fail(err, LM_BAD_INPUT, "the file keeps no weights of trial %llu", (unsigned long long)trial);
    return 0;
}

int lm_stored_network(struct lm_stored *stored, uint64_t trial, struct lm_shape *shape, float **parameters,
                      struct lm_error *err)
{
    size_t group;
    uint64_t row;
    if (trial >= stored->results.n_trials)
        return lm_fail(err, LM_BAD_INPUT, "the file has no trial %llu, only 0 to %llu", (unsigned long long)trial,
                       (unsigned long long)stored->results.n_trials - 1);
    if (stored->results.outcome[trial].status != LM_TRIAL_OK)
        return lm_fail(err, LM_BAD_INPUT, "trial %llu has no weights: it is %s", (unsigned long long)trial,
                       lm_trial_status_text(stored->results.outcome[trial].status));
    if (!find_row(stored, trial, &group, &row, err))
        return err->code;
    *shape = stored->results.kept[group].shape;
    size_t bytes = lm_network_floats(*shape) * sizeof **parameters;
    if (!(*parameters = malloc(bytes)))
        return lm_fail_memory(err, bytes, "a network");
    int code = lm_results_get_weights(stored->reader, group, row, 1, *parameters, NULL, err);
    if (code != LM_OK) {
        free(*parameters);
        *parameters = NULL;
    }
    return code;
}

int lm_stored_choose(struct lm_stored *stored, const struct lm_options *options, uint64_t *trial, struct lm_error *err)
{
    const struct lm_results *results = &stored->results;
    size_t group;
    uint64_t row;
    if (options->trial >= 0) {
        *trial = (uint64_t)options->trial;
        return LM_OK;
    }
    if (results->inference_trial >= 0 && find_row(stored, (uint64_t)results->inference_trial, &group, &row, err)) {
        *trial = (uint64_t)results->inference_trial;
        return LM_OK;
    }
    for (*trial = 0; *trial < results->n_trials; (*trial)++)
        if (results->outcome[*trial].status == LM_TRIAL_OK && find_row(stored, *trial, &group, &row, err))
            return LM_OK;
    uint64_t ended_well = 0;
    for (uint64_t t = 0; t < results->n_trials; t++)
        ended_well += results->outcome[t].status == LM_TRIAL_OK;
    if (ended_well == 0)
        return lm_fail(err, LM_BAD_INPUT, "none of the file's %llu trials ended well: it keeps no weights",
                       (unsigned long long)results->n_trials);
    return lm_fail(err, LM_BAD_INPUT, "the file keeps no weights (it was written with --keep-weights none?)");
}

int lm_stored_data(const struct lm_stored *stored, const struct lm_options *options, struct lm_dataset *data,
                   struct lm_error *err)
{
    const struct lm_results *results = &stored->results;
    int code = lm_source_reload(options, results->data_path, data, err);
    if (code != LM_OK)
        return code;
    if (strcmp(data->digest, results->data_digest) == 0)
        return LM_OK;
    code = lm_fail(err, LM_BAD_INPUT,
                   "%s is other data than the results were made from (SHA-256 %.16s..., the file says %.16s...); give "
                   "the right folder by --data",
                   data->path, data->digest, results->data_digest);
    lm_dataset_free(data);
    return code;
}

int lm_stored_test(const struct lm_stored *stored, const struct lm_dataset *data, struct lm_samples *test,
                   struct lm_error *err)
{
    const struct lm_results *results = &stored->results;
    for (size_t k = 0; k < results->n_test; k++)
        if (results->test_index[k] >= data->samples)
            return lm_fail(err, LM_BAD_INPUT, "the file's test_index names sample %u of %zu", results->test_index[k],
                           data->samples);
    int code = lm_samples_allocate(results->n_test, test, err);
    if (code != LM_OK)
        return code;
    for (size_t k = 0; k < results->n_test; k++)
        test->label[k] = data->label[results->test_index[k]];
    code = lm_scaler_gather(&results->scaler, data, results->test_index, results->n_test, test->x, err);
    if (code != LM_OK)
        lm_samples_free(test);
    return code;
}
