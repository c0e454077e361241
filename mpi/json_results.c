/* json_results.c: see json_results.h. */
#include "json_results.h"

#include "evaluate.h"

void lm_json_dataset(struct lm_json *json, const struct lm_results *results)
{
    lm_json_open(json, "dataset", '{');
    lm_json_text(json, "path", results->data_path);
    lm_json_text(json, "digest", results->data_digest);
    lm_json_text(json, "classes", LM_LETTERS);
    lm_json_text(json, "split", lm_split_text(results->split));
    lm_json_whole(json, "split_seed", results->split_seed);
    lm_json_double(json, "holdout", results->holdout);
    lm_json_whole(json, "train", (int64_t)results->n_train);
    lm_json_whole(json, "validation", (int64_t)results->n_validation);
    lm_json_whole(json, "test", (int64_t)results->n_test);
    lm_json_close(json, '}');
}

static void json_trial(struct lm_json *json, const struct lm_results *results, uint64_t t)
{
    const struct lm_trial *trial = &results->trial[t];
    const struct lm_outcome *outcome = &results->outcome[t];
    lm_json_open(json, NULL, '{');
    lm_json_whole(json, "trial", (int64_t)t);
    lm_json_float(json, "learning_rate", trial->learning_rate);
    lm_json_float(json, "decay", trial->decay);
    lm_json_float(json, "initial_range", trial->initial_range);
    lm_json_whole(json, "epochs", trial->epochs);
    lm_json_whole(json, "seed", trial->seed);
    lm_json_whole(json, "block", trial->block);
    lm_json_whole(json, "hidden1", trial->shape.hidden1);
    lm_json_whole(json, "hidden2", trial->shape.hidden2);
    lm_json_text(json, "status", lm_trial_status_text(outcome->status));
    lm_json_text(json, "reason", outcome->reason);
    lm_json_whole(json, "epochs_run", outcome->epochs_run);
    lm_json_double(json, "train_loss", outcome->train_loss);
    lm_json_double(json, "validation_loss", outcome->validation_loss);
    lm_json_double(json, "validation_accuracy", outcome->validation_accuracy);
    lm_json_double(json, "test_loss", outcome->test_loss);
    lm_json_double(json, "test_accuracy", outcome->test_accuracy);
    lm_json_text(json, "digest", outcome->digest);
    lm_json_close(json, '}');
}

void lm_json_trials(struct lm_json *json, const struct lm_results *results)
{
    lm_json_open(json, "trials", '[');
    for (uint64_t t = 0; t < results->n_trials; t++)
        json_trial(json, results, t);
    lm_json_close(json, ']');
}

void lm_json_inference(struct lm_json *json, const struct lm_results *results)
{
    struct lm_metrics m = lm_results_metrics(results);
    lm_json_open(json, "inference", '{');
    lm_json_whole(json, "trial", results->inference_trial);
    lm_json_whole(json, "samples", (int64_t)m.n);
    if (!results->unlabelled)
        lm_json_whole(json, "right", (int64_t)m.hits);
    lm_json_double(json, "accuracy", m.accuracy);
    lm_json_double(json, "loss", m.loss);
    lm_json_open(json, "confusion", '[');
    for (int r = 0; r < LM_CLASSES && !results->unlabelled; r++) { /* without labels: empty */
        lm_json_open(json, NULL, '[');
        for (int c = 0; c < LM_CLASSES; c++)
            lm_json_whole(json, NULL, (int64_t)results->confusion[r][c]);
        lm_json_close(json, ']');
    }
    lm_json_close(json, ']');
    lm_json_close(json, '}');
}

void lm_json_validation(struct lm_json *json, const struct lm_results *results)
{
    lm_json_open(json, "validation", '[');
    for (size_t k = 0; k < results->n_checks; k++) {
        const struct lm_check *check = &results->checks[k];
        lm_json_open(json, NULL, '{');
        lm_json_text(json, "name", check->name);
        lm_json_whole(json, "compared", (int64_t)check->compared);
        lm_json_whole(json, "mismatches", (int64_t)check->mismatches);
        lm_json_double(json, "max_abs_error", check->max_abs_error);
        lm_json_text(json, "result", lm_check_text(check->result));
        lm_json_close(json, '}');
    }
    lm_json_close(json, ']');
}

void lm_json_execution(struct lm_json *json, const struct lm_results *results)
{
    lm_json_open(json, "ranks", '[');
    for (size_t r = 0; r < results->n_ranks; r++) {
        lm_json_open(json, NULL, '{');
        lm_json_whole(json, "rank", (int64_t)r);
        lm_json_text(json, "host", results->ranks[r].host);
        lm_json_text(json, "device", results->ranks[r].device);
        if (results->ranks[r].uuid[0]) {
            lm_json_text(json, "uuid", results->ranks[r].uuid);
            lm_json_text(json, "pci", results->ranks[r].pci);
            lm_json_whole(json, "shared", results->ranks[r].shared);
        }
        for (int phase = 0; phase < LM_PHASES; phase++) {
            char key[32];
            snprintf(key, sizeof key, "%s_s", lm_phase_name[phase]);
            lm_json_double(json, key, results->ranks[r].seconds[phase]);
        }
        lm_json_close(json, '}');
    }
    lm_json_close(json, ']');
}

void lm_json_provenance(struct lm_json *json, const struct lm_results *results)
{
    lm_json_open(json, "provenance", '{');
    for (size_t k = 0; k < results->n_notes; k++)
        lm_json_text(json, results->notes[k].name, results->notes[k].value);
    lm_json_close(json, '}');
}
