/* calibrate_rows.c: what a trial costs in a results file, beside its bytes: rank 0 writes all of them alone, so with
 * many GPUs it is this that the others wait for.
 */
#include "calibrate_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results.h"
#include "world.h"

#define REPEATS 5
#define TRIALS  2000
#define EPOCHS  51

/* Texts and numbers as a trial that went well has them: lengths count. */
static void fill(struct lm_results *results)
{
    results->max_epochs = EPOCHS;
    for (uint64_t t = 0; t < results->n_trials; t++) {
        results->trial[t] = (struct lm_trial){0.02f, 1.0f, 0.05f, EPOCHS, (uint32_t)t, 32, {32, 16}};
        results->outcome[t].status = LM_TRIAL_OK;
        results->outcome[t].epochs_run = EPOCHS;
        memset(results->outcome[t].digest, 'a', sizeof results->outcome[t].digest - 1);
        snprintf(results->execution[t].device, sizeof results->execution[t].device, "cpu");
        snprintf(results->execution[t].variant, sizeof results->execution[t].variant, "cpu:avx512");
    }
}

/* Seconds of a whole file of so many trials. */
static int write_file(const char *path, uint64_t trials, double *seconds, struct lm_error *err)
{
    const double loss[EPOCHS] = {0.0};
    struct lm_results results;
    struct lm_results_writer *writer;
    int code = lm_results_allocate(trials, &results, err);
    if (code != LM_OK)
        return code;
    fill(&results);
    results.inference_trial = -1;
    double start = lm_now();
    code = lm_results_create(path, trials, EPOCHS, &writer, err);
    if (code == LM_OK) {
        for (uint64_t t = 0; t < trials && code == LM_OK; t++)
            code = lm_results_put_loss(writer, t, loss, EPOCHS, err);
        if (code == LM_OK)
            code = lm_results_finish(writer, &results, err);
        else
            lm_results_abandon(writer);
    }
    *seconds = lm_now() - start;
    unlink(path);
    lm_results_free(&results);
    return code;
}

int lm_calibrate_rows(const char *path, struct lm_calibration *out, struct lm_error *err)
{
    double few[REPEATS], row[REPEATS], many;
    int code = LM_OK;
    for (int r = 0; r < REPEATS && code == LM_OK; r++) {
        if ((code = write_file(path, 1, &few[r], err)) == LM_OK &&
            (code = write_file(path, TRIALS, &many, err)) == LM_OK)
            row[r] = many > few[r] ? (many - few[r]) / (TRIALS - 1) : 0.0;
    }
    if (code == LM_OK) {
        lm_calibration_set(out, &out->machine.job.results, few, REPEATS);
        lm_calibration_set(out, &out->machine.job.row, row, REPEATS);
    }
    return code;
}
