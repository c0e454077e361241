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

/* All but the seed, which a configuration has none of. */
static void json_parameters(struct lm_json *json, const struct lm_trial *trial)
{
    lm_json_float(json, "learning_rate", trial->learning_rate);
    lm_json_float(json, "decay", trial->decay);
    lm_json_float(json, "initial_range", trial->initial_range);
    lm_json_whole(json, "epochs", trial->epochs);
    lm_json_whole(json, "block", trial->block);
    lm_json_whole(json, "hidden1", trial->shape.hidden1);
    lm_json_whole(json, "hidden2", trial->shape.hidden2);
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
    if (results->rung)
        lm_json_whole(json, "rung", results->rung[t]);
    lm_json_close(json, '}');
}

void lm_json_trials(struct lm_json *json, const struct lm_results *results)
{
    lm_json_open(json, "trials", '[');
    for (uint64_t t = 0; t < results->n_trials; t++)
        json_trial(json, results, t);
    lm_json_close(json, ']');
}

static void json_configuration(struct lm_json *json, const struct lm_results *results, uint64_t k)
{
    const struct lm_configuration *c = &results->configuration[k];
    lm_json_open(json, NULL, '{');
    lm_json_whole(json, "configuration", (int64_t)k);
    json_parameters(json, &results->trial[c->first]);
    lm_json_whole(json, "first_trial", (int64_t)c->first);
    lm_json_whole(json, "trials", (int64_t)c->trials);
    lm_json_whole(json, "ok", (int64_t)c->ok);
    lm_json_whole(json, "diverged", (int64_t)c->diverged);
    lm_json_whole(json, "failed", (int64_t)c->failed);
    lm_json_double(json, "loss_mean", c->loss_mean);
    lm_json_double(json, "loss_sd", c->loss_sd);
    lm_json_double(json, "loss_low", c->loss_low);
    lm_json_double(json, "loss_high", c->loss_high);
    lm_json_double(json, "accuracy_mean", c->accuracy_mean);
    lm_json_double(json, "accuracy_sd", c->accuracy_sd);
    lm_json_double(json, "accuracy_low", c->accuracy_low);
    lm_json_double(json, "accuracy_high", c->accuracy_high);
    if (results->rung)
        lm_json_whole(json, "rung", c->rung);
    lm_json_close(json, '}');
}

static void json_leader(struct lm_json *json, const struct lm_results *results, uint64_t k)
{
    const struct lm_outcome *outcome = &results->outcome[results->leader[k]];
    lm_json_open(json, NULL, '{');
    lm_json_whole(json, "place", (int64_t)k + 1);
    lm_json_whole(json, "trial", (int64_t)results->leader[k]);
    lm_json_double(json, "validation_loss", outcome->validation_loss);
    lm_json_double(json, "validation_accuracy", outcome->validation_accuracy);
    lm_json_double(json, "test_loss", outcome->test_loss);
    lm_json_double(json, "test_accuracy", outcome->test_accuracy);
    lm_json_close(json, '}');
}

void lm_json_sweep(struct lm_json *json, const struct lm_results *results)
{
    if (!results->is_sweep)
        return;
    lm_json_open(json, "sweep", '{');
    lm_json_text(json, "search", results->search);
    lm_json_text(json, "objective", results->objective);
    lm_json_text(json, "specification", results->specification ? results->specification : "");
    lm_json_open(json, "leaderboard", '[');
    for (uint64_t k = 0; k < results->n_leaders; k++)
        json_leader(json, results, k);
    lm_json_close(json, ']');
    lm_json_close(json, '}');
    lm_json_open(json, "configurations", '[');
    for (uint64_t k = 0; k < results->n_configurations; k++)
        json_configuration(json, results, k);
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

static void json_candidate(struct lm_json *json, const struct lm_model_row *row)
{
    lm_json_open(json, NULL, '{');
    lm_json_text(json, "phase", row->phase);
    lm_json_text(json, "device", row->device);
    lm_json_text(json, "where", row->where);
    lm_json_double(json, "predicted_s", row->predicted);
    lm_json_double(json, "bound_s", row->bound);
    lm_json_double(json, "measured_s", row->measured);
    lm_json_whole(json, "chosen", row->chosen);
    lm_json_double(json, "regret", row->regret);
    lm_json_double(json, "size", row->size);
    lm_json_double(json, "factor", row->factor);
    lm_json_close(json, '}');
}

void lm_json_model(struct lm_json *json, const struct lm_results *results)
{
    if (results->n_model == 0)
        return;
    lm_json_open(json, "model", '{');
    lm_json_text(json, "decided_by", results->decided_by);
    lm_json_text(json, "decision", results->decision);
    lm_json_open(json, "candidates", '[');
    for (size_t k = 0; k < results->n_model; k++)
        json_candidate(json, &results->model[k]);
    lm_json_close(json, ']');
    lm_json_close(json, '}');
}

void lm_json_provenance(struct lm_json *json, const struct lm_results *results)
{
    lm_json_open(json, "provenance", '{');
    for (size_t k = 0; k < results->n_notes; k++)
        lm_json_text(json, results->notes[k].name, results->notes[k].value);
    lm_json_close(json, '}');
}
