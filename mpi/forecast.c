/* forecast.c: see forecast.h. */
#include "forecast.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "devices.h"
#include "source.h"

/* ---- the work ---- */

int lm_forecast_axes(const struct lm_options *options, struct lm_work *work, struct lm_error *err)
{
    uint64_t n = lm_grid_size(&options->grid);
    int code = LM_OK;
    if (n > LM_MAX_TRIALS)
        return lm_fail(err, LM_BAD_INPUT, "these axes make more than %llu trials", (unsigned long long)LM_MAX_TRIALS);
    for (uint64_t t = 0; t < n && code == LM_OK; t++) {
        struct lm_trial trial = lm_grid_trial(&options->grid, t);
        code = lm_work_add(work, &trial, trial.epochs, err);
    }
    return code;
}

int lm_forecast_sweep(const struct lm_sweep_spec *spec, const struct lm_trial *trial, uint64_t n, struct lm_work *work,
                      struct lm_error *err)
{
    double mean = n ? lm_sweep_halving_epochs(spec, n) / (double)n : 0.0;
    int code = LM_OK;
    for (uint64_t t = 0; t < n && code == LM_OK; t++)
        code = lm_work_add(work, &trial[t], spec->n_rungs ? mean : trial[t].epochs, err);
    return code;
}

int lm_forecast_count(const struct lm_call *call, double holdout, struct lm_forecast_samples *out, struct lm_error *err)
{
    struct lm_dataset data;
    struct lm_split split = {0};
    const struct lm_options *options = call->options;
    double start = lm_now(), read;
    int code = lm_source_load(call->world, options, &data, err);
    if (code != LM_OK)
        return code;
    read = lm_now() - start;
    code = lm_split_make_kind(options->split, data.count, options->split_seed, holdout, &split, err);
    if (code == LM_OK)
        *out =
            (struct lm_forecast_samples){(double)split.n_train, (double)split.n_validation, (double)split.n_test, read};
    lm_split_free(&split);
    lm_dataset_free(&data);
    return code;
}

/* ---- the machine ---- */

int lm_forecast_machine(const struct lm_call *call, char path[LM_MACHINE_PATH], struct lm_machine *out,
                        struct lm_error *err)
{
    const struct lm_options *options = call->options;
    struct lm_machine_key here;
    struct lm_error gpu;
    lm_machine_default_path(call->world, path);
    if (!options->machine && access(path, F_OK) != 0)
        return lm_fail(err, LM_BAD_INPUT,
                       "%s: this machine has not been measured: `libras_mpi calibrate`, or describe one with --machine",
                       path);
    int code = lm_machine_read(options->machine ? options->machine : path, out, err);
    if (code != LM_OK || options->machine)
        return code;
    lm_machine_here(call->world, 0, &here, NULL, &gpu);
    return lm_machine_check(out, &here, 1, path, err);
}

/* ---- --dry-run ---- */

#define MOST_BACKENDS 64

/* What rank 0 could run: of another's GPU nothing is known before the run. */
static void list_able(const char *able[MOST_BACKENDS + 1])
{
    const struct lm_backend *const *list = lm_backends();
    struct lm_error why;
    int n = 0;
    for (size_t k = 0; list[k] && n < MOST_BACKENDS; k++)
        if (list[k]->probe(&why) == LM_OK)
            able[n++] = list[k]->name;
    able[n] = NULL;
}

static void show_choice(const struct lm_call *call, const struct lm_machine *machine, struct lm_choice *choice)
{
    const char *able[MOST_BACKENDS + 1], *device = call->options->device;
    const struct lm_backend *backend;
    struct lm_error err;
    char text[300];
    list_able(able);
    if (strcmp(device, "auto") == 0) {
        lm_choice_decide(choice, able, machine->error);
        lm_choice_text(choice, text, sizeof text);
        printf("training   predicted: %s\n", text);
        return;
    }
    if (lm_backend_find(device, &backend, &err) != LM_OK) {
        printf("training   not predicted: %s\n", err.text);
        return;
    }
    lm_choice_ask(choice, backend->name);
    if (lm_choice_known(choice))
        printf("training   predicted: %s (%s): %.3g s, as asked for\n", backend->name,
               choice->candidate[choice->chosen].where, choice->candidate[choice->chosen].seconds);
    else
        printf("training   not predicted: %s is not in the calibration\n", backend->name);
}

void lm_forecast_show(const struct lm_call *call, struct lm_place place, struct lm_work *work, double holdout,
                      int scores_test)
{
    char path[LM_MACHINE_PATH];
    struct lm_machine machine;
    struct lm_forecast_samples samples;
    struct lm_choice choice;
    struct lm_error err;
    lm_machine_default_path(call->world, path);
    if (access(path, F_OK) != 0)
        return;
    if (lm_forecast_machine(call, path, &machine, &err) != LM_OK ||
        lm_forecast_count(call, holdout, &samples, &err) != LM_OK) {
        printf("training   not predicted: %s\n", err.text);
        return;
    }
    lm_work_end(work, samples.train, 1.0);
    place.gpus = lm_machine_has_gpu(&machine) ? place.ranks : 0.0; /* a rank a GPU, as is usual */
    lm_choice_train(&machine, &place, work, samples.validation + (scores_test ? samples.test : 0.0), &choice);
    show_choice(call, &machine, &choice);
}
