/* sweep_resume.c: FILE and FILE.ckpt at the start, and what is known already.
 *
 * A sweep that was stopped or killed has left FILE.ckpt. One that was completed has left FILE alone: its rows are put
 * into a new checkpoint, so that a specification that has grown trains only what is new. Both are found by the trials'
 * parameters; data, split, hold-out and arithmetic must be the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arithmetic.h"
#include "ending.h"
#include "prepare.h"
#include "stored.h"
#include "sweep.h"

#define LOSSES_AT_ONCE ((size_t)1 << 20)

static int is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- from a finished file ---- */

/* The rows of weights in a file, in the order of their trials: each group has a cursor. */
struct kept_rows {
    struct lm_stored *stored;
    uint64_t **trial; /* owned, (n_kept) of (rows) */
    uint64_t *next;   /* owned, (n_kept) */
};

static void kept_end(struct kept_rows *kept)
{
    for (size_t g = 0; kept->trial && g < kept->stored->results.n_kept; g++)
        free(kept->trial[g]);
    free(kept->trial);
    free(kept->next);
}

static int kept_begin(struct kept_rows *kept, struct lm_stored *stored, struct lm_error *err)
{
    size_t groups = stored->results.n_kept;
    int code = LM_OK;
    *kept = (struct kept_rows){stored, calloc(groups + 1, sizeof *kept->trial), calloc(groups + 1, sizeof *kept->next)};
    if (!kept->trial || !kept->next)
        return lm_fail_memory(err, groups * sizeof *kept->trial, "the groups of weights");
    for (size_t g = 0; g < groups && code == LM_OK; g++) {
        uint64_t rows = stored->results.kept[g].rows;
        if (!(kept->trial[g] = malloc((rows + 1) * sizeof **kept->trial)))
            return lm_fail_memory(err, rows * sizeof **kept->trial, "a group of weights");
        code = lm_results_get_weights(stored->reader, g, 0, rows, NULL, kept->trial[g], err);
    }
    return code;
}

/* The weights of trial t, which is not below any that was asked for before; *parameters is NULL if they are not kept.
 */
static int kept_take(struct kept_rows *kept, uint64_t t, float **parameters, struct lm_error *err)
{
    *parameters = NULL;
    for (size_t g = 0; g < kept->stored->results.n_kept; g++) {
        const struct lm_kept *group = &kept->stored->results.kept[g];
        while (kept->next[g] < group->rows && kept->trial[g][kept->next[g]] < t)
            kept->next[g]++;
        if (kept->next[g] == group->rows || kept->trial[g][kept->next[g]] != t)
            continue;
        size_t bytes = lm_network_floats(group->shape) * sizeof **parameters;
        if (!(*parameters = malloc(bytes)))
            return lm_fail_memory(err, bytes, "a network");
        return lm_results_get_weights(kept->stored->reader, g, kept->next[g], 1, *parameters, NULL, err);
    }
    return LM_OK;
}

static int put_row(struct lm_sweep *sweep, struct kept_rows *kept, uint64_t t, const double *loss, struct lm_error *err)
{
    const struct lm_results *file = &kept->stored->results;
    struct lm_record there,
        record = {.trial = file->trial[t], .outcome = file->outcome[t], .execution = file->execution[t], .loss = loss};
    float *parameters = NULL;
    int found;
    int code = lm_checkpoint_find(sweep->checkpoint, &record.trial, &there, &found, err);
    if (code != LM_OK || found || record.outcome.status == LM_TRIAL_NOT_RUN)
        return code;
    if (record.outcome.status == LM_TRIAL_OK)
        code = kept_take(kept, t, &parameters, err);
    record.parameters = parameters;
    if (code == LM_OK)
        code = lm_checkpoint_put(sweep->checkpoint, &record, err);
    free(parameters);
    return code;
}

static int put_rows(struct lm_sweep *sweep, struct lm_stored *stored, struct lm_error *err)
{
    uint64_t n = stored->results.n_trials, epochs = stored->results.max_epochs ? stored->results.max_epochs : 1;
    uint64_t most = LOSSES_AT_ONCE / epochs + 1;
    struct kept_rows kept;
    double *loss = malloc(most * epochs * sizeof *loss);
    int code = kept_begin(&kept, stored, err);
    if (code == LM_OK && !loss)
        code = lm_fail_memory(err, most * epochs * sizeof *loss, "losses");
    for (uint64_t first = 0; first < n && code == LM_OK; first += most) {
        uint64_t count = n - first < most ? n - first : most;
        code = lm_results_get_loss(stored->reader, first, count, loss, err);
        for (uint64_t k = 0; k < count && code == LM_OK; k++)
            code = put_row(sweep, &kept, first + k, loss + k * epochs, err);
    }
    kept_end(&kept);
    free(loss);
    return code;
}

static int other_file(const struct lm_sweep *sweep, const char *what, struct lm_error *err)
{
    return lm_fail(err, LM_BAD_INPUT,
                   "--resume: '%s' holds results of %s: choose another --out, or replace it with --force and without "
                   "--resume",
                   sweep->job.output.path, what);
}

static int check_file(const struct lm_sweep *sweep, const struct lm_results *file, struct lm_error *err)
{
    const struct lm_results *ours = &sweep->job.results;
    if (strcmp(file->data_digest, ours->data_digest) != 0)
        return other_file(sweep, "other data", err);
    if (file->split != ours->split || file->split_seed != ours->split_seed)
        return other_file(sweep, "another split", err);
    if (file->holdout != ours->holdout)
        return other_file(sweep, "another hold-out", err);
    return LM_OK;
}

/* Is it the file of the same specification, and one that has not failed altogether? */
static int is_of_specification(const struct lm_results *file, const char *text)
{
    return file->is_sweep && file->n_leaders > 0 && file->specification && strcmp(file->specification, text) == 0;
}

static int take_over_file(struct lm_sweep *sweep, int *same, struct lm_error *err)
{
    struct lm_stored stored;
    int code = lm_stored_open(sweep->job.output.path, &stored, err);
    if (code != LM_OK)
        return code;
    code = check_file(sweep, &stored.results, err);
    if (code == LM_OK)
        code = put_rows(sweep, &stored, err);
    *same = code == LM_OK && is_of_specification(&stored.results, sweep->text);
    lm_stored_close(&stored);
    return code;
}

/* ---- what is known ---- */

/* Trainings of the specification that are in the checkpoint. */
static int count_known(struct lm_sweep *sweep, struct lm_error *err)
{
    int code = LM_OK;
    sweep->known = 0;
    if (lm_checkpoint_facts(sweep->checkpoint).ended == 0)
        return LM_OK;
    for (uint64_t t = 0; t < sweep->n && code == LM_OK; t++)
        for (size_t rung = 0; rung < lm_sweep_rungs(&sweep->spec) && code == LM_OK; rung++) {
            struct lm_trial trial = lm_sweep_trial(sweep, t, rung);
            struct lm_record record;
            int found;
            code = lm_checkpoint_find(sweep->checkpoint, &trial, &record, &found, err);
            if (code == LM_OK && found) {
                sweep->known++;
                sweep->failed += record.outcome.status == LM_TRIAL_FAILED;
                sweep->diverged += record.outcome.status == LM_TRIAL_DIVERGED;
            }
        }
    sweep->done = sweep->known < sweep->total ? sweep->known : sweep->total; /* halving: some may be of no use now */
    return code;
}

static void say_known(const struct lm_sweep *sweep)
{
    const struct lm_world *world = sweep->job.call->world;
    struct lm_checkpoint_facts facts = lm_checkpoint_facts(sweep->checkpoint);
    if (facts.torn_bytes)
        lm_note(world, "%s: %" PRIu64 " bytes of a record that was not written whole are cut off",
                sweep->checkpoint_path, facts.torn_bytes);
    if (facts.damaged)
        lm_say(world, "%s: %" PRIu64 " damaged records are passed over: their trials are trained again",
               sweep->checkpoint_path, facts.damaged);
    if (facts.ended || facts.states)
        lm_note(world, "going on: %" PRIu64 " of %" PRIu64 " trainings are known, and the states of %" PRIu64 " more",
                sweep->done, sweep->total, facts.states);
    if (facts.ended > sweep->known)
        lm_note(world, "%" PRIu64 " trials of the earlier specification are not in this one: not in the new file",
                facts.ended - sweep->known);
}

/* ---- at the start ---- */

static int open_checkpoint(struct lm_sweep *sweep, struct lm_error *err)
{
    const struct lm_results *results = &sweep->job.results;
    struct lm_checkpoint_of of = {.arithmetic_version = LM_ARITHMETIC_VERSION,
                                  .split = (uint32_t)results->split,
                                  .split_seed = results->split_seed,
                                  .holdout = results->holdout};
    memcpy(of.data_digest, results->data_digest, sizeof of.data_digest);
    return lm_checkpoint_open(sweep->checkpoint_path, &of, &sweep->checkpoint, err);
}

static int check_leftover(const struct lm_sweep *sweep, struct lm_error *err)
{
    const struct lm_options *options = sweep->job.call->options;
    if (options->resume || !is_there(sweep->checkpoint_path))
        return LM_OK;
    if (options->force) {
        unlink(sweep->checkpoint_path);
        return LM_OK;
    }
    return lm_fail(err, LM_BAD_INPUT,
                   "'%s' is there, of a sweep that was not completed: --resume goes on with it, --force drops it",
                   sweep->checkpoint_path);
}

static int nothing_lost(const struct lm_sweep *sweep, struct lm_error *err)
{
    uint64_t ended = lm_checkpoint_facts(sweep->checkpoint).ended;
    if (sweep->job.call->options->force || ended <= sweep->known)
        return LM_OK;
    return lm_fail(err, LM_BAD_INPUT,
                   "--resume: '%s' has %" PRIu64 " trials that this specification does not have, and the new file "
                   "would lose them: choose another --out, or drop them with --force",
                   sweep->job.output.path, ended - sweep->known);
}

int lm_sweep_open(struct lm_sweep *sweep, int *nothing_to_do, struct lm_error *err)
{
    const struct lm_options *options = sweep->job.call->options;
    int had_checkpoint = is_there(sweep->checkpoint_path), same = 0;
    int from_file = options->resume && is_there(sweep->job.output.path);
    *nothing_to_do = 0;
    int code = check_leftover(sweep, err);
    if (code != LM_OK || (code = open_checkpoint(sweep, err)) != LM_OK)
        return code;
    if (from_file)
        code = take_over_file(sweep, &same, err);
    if (code == LM_OK)
        code = count_known(sweep, err);
    if (code == LM_OK && from_file)
        code = nothing_lost(sweep, err);
    *nothing_to_do = code == LM_OK && same && !had_checkpoint;
    if (code == LM_OK && !*nothing_to_do)
        say_known(sweep);
    if (!had_checkpoint && (code != LM_OK || *nothing_to_do))
        unlink(sweep->checkpoint_path); /* FILE is as it was, and all there is */
    return code;
}
