/* results.c: a run's answer in memory; see results.h. Its file: results_write.c and results_read.c. */
#include "results.h"

#include <stdlib.h>
#include <string.h>

const char *const lm_phase_name[LM_PHASES] = {"data", "train", "infer", "gather", "validate"};

const char *lm_check_text(int result)
{
    switch (result) {
    case LM_CHECK_PASSED:
        return "passed";
    case LM_CHECK_FAILED:
        return "failed";
    default:
        return "not run";
    }
}

/* n elements of zeros, never NULL for n = 0. */
static void *zeros(uint64_t n, size_t size)
{
    return calloc(n ? n : 1, size);
}

int lm_results_allocate(uint64_t n_trials, struct lm_results *out, struct lm_error *err)
{
    *out = (struct lm_results){.n_trials = n_trials, .inference_trial = -1};
    out->trial = zeros(n_trials, sizeof *out->trial);
    out->outcome = zeros(n_trials, sizeof *out->outcome);
    out->execution = zeros(n_trials, sizeof *out->execution);
    if (!out->trial || !out->outcome || !out->execution) {
        lm_results_free(out);
        return lm_fail_memory(err, n_trials * (sizeof *out->trial + sizeof *out->outcome + sizeof *out->execution),
                              "the trials");
    }
    for (uint64_t i = 0; i < n_trials; i++)
        out->outcome[i].status = LM_TRIAL_NOT_RUN;
    return LM_OK;
}

/* Room for one more. There are tens of them: no need for a capacity. */
static void *grown(void *array, size_t n, size_t size)
{
    return realloc(array, (n + 1) * size);
}

int lm_results_note(struct lm_results *results, const char *name, const char *value, struct lm_error *err)
{
    char *copy = strdup(value);
    if (!copy)
        return lm_fail_memory(err, strlen(value) + 1, name);
    for (size_t i = 0; i < results->n_notes; i++) {
        if (strcmp(results->notes[i].name, name) == 0) { /* names are unique in the file: the last word counts */
            free(results->notes[i].value);
            results->notes[i].value = copy;
            return LM_OK;
        }
    }
    struct lm_note *notes = grown(results->notes, results->n_notes, sizeof *notes);
    if (notes)
        results->notes = notes;
    char *name_copy = strdup(name);
    if (!notes || !name_copy) {
        free(copy);
        free(name_copy);
        return lm_fail_memory(err, strlen(name) + sizeof *notes, "a note");
    }
    results->notes[results->n_notes++] = (struct lm_note){.name = name_copy, .value = copy};
    return LM_OK;
}

const char *lm_results_find_note(const struct lm_results *results, const char *name)
{
    for (size_t i = 0; i < results->n_notes; i++) {
        if (strcmp(results->notes[i].name, name) == 0)
            return results->notes[i].value;
    }
    return NULL;
}

int lm_results_check(struct lm_results *results, const struct lm_check *check, struct lm_error *err)
{
    struct lm_check *checks = grown(results->checks, results->n_checks, sizeof *checks);
    if (!checks)
        return lm_fail_memory(err, sizeof *checks, "a check");
    results->checks = checks;
    results->checks[results->n_checks++] = *check;
    return LM_OK;
}

int lm_results_model(struct lm_results *results, const struct lm_model_row *row, struct lm_error *err)
{
    struct lm_model_row *rows = grown(results->model, results->n_model, sizeof *rows);
    if (!rows)
        return lm_fail_memory(err, sizeof *rows, "a prediction");
    results->model = rows;
    results->model[results->n_model++] = *row;
    return LM_OK;
}

int lm_results_by_accuracy(const struct lm_results *results)
{
    return strcmp(results->objective, "validation_accuracy") == 0;
}

int lm_results_summarise(struct lm_results *results, uint64_t k, struct lm_error *err)
{
    free(results->configuration);
    free(results->leader);
    results->leader = NULL;
    results->n_leaders = 0;
    int status = lm_statistics_make(results->trial, results->outcome, results->rung, results->n_trials,
                                    &results->configuration, &results->n_configurations, err);
    if (status == LM_OK)
        status = lm_leaderboard_make(results->outcome, results->rung, results->n_trials,
                                     lm_results_by_accuracy(results), k, &results->leader, &results->n_leaders, err);
    return status;
}

struct lm_metrics lm_results_metrics(const struct lm_results *results)
{
    return results->streamed ? results->metrics : lm_evaluate(results->scores, results->expected, results->n_scores);
}

void lm_results_free(struct lm_results *results)
{
    for (size_t i = 0; i < results->n_notes; i++) {
        free(results->notes[i].name);
        free(results->notes[i].value);
    }
    free(results->notes);
    free(results->title);
    free(results->data_path);
    free(results->train_index);
    free(results->validation_index);
    free(results->test_index);
    free(results->trial);
    free(results->outcome);
    free(results->execution);
    free(results->rung);
    free(results->configuration);
    free(results->leader);
    free(results->specification);
    free(results->kept);
    free(results->scores);
    free(results->expected);
    free(results->predicted);
    free(results->sample_rank);
    free(results->checks);
    free(results->ranks);
    free(results->model);
    *results = (struct lm_results){.inference_trial = -1};
}
