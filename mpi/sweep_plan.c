/* sweep_plan.c: from the specification to the trials, and what --dry-run tells of them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_read.h"
#include "sweep.h"
#include "sweep_yaml.h"

size_t lm_sweep_rungs(const struct lm_sweep_spec *spec)
{
    return spec->n_rungs ? spec->n_rungs : 1;
}

struct lm_trial lm_sweep_trial(const struct lm_sweep *sweep, uint64_t t, size_t rung)
{
    struct lm_trial trial = sweep->job.results.trial[t];
    if (sweep->spec.n_rungs)
        trial.epochs = sweep->spec.rung[rung];
    return trial;
}

uint64_t lm_sweep_longest(const struct lm_sweep *sweep)
{
    uint64_t most = 1;
    char fault[160];
    for (uint64_t t = 0; t < sweep->n; t++) {
        struct lm_trial trial = lm_sweep_trial(sweep, t, lm_sweep_rungs(&sweep->spec) - 1);
        if (trial.epochs > most && !lm_trial_fault(&trial, fault, sizeof fault))
            most = trial.epochs;
    }
    return most;
}

uint64_t lm_sweep_trainings(const struct lm_sweep_spec *spec, uint64_t n)
{
    uint64_t sum = 0;
    for (size_t rung = 0; rung < lm_sweep_rungs(spec); rung++) {
        sum += n;
        n = spec->n_rungs ? lm_sweep_kept(spec, n) : n;
    }
    return sum;
}

static int read_text(const char *path, char **text, struct lm_error *err)
{
    uint8_t *bytes = NULL;
    size_t n;
    int code = lm_file_read(path, (size_t)1 << 20, &bytes, &n, err);
    *text = (char *)bytes; /* a 0 stands behind it */
    return code;
}

/* Without a name the file of the next start has another one, outside of Slurm. */
static int check_name(const struct lm_options *options, struct lm_error *err)
{
    if (options->resume && !options->out && !getenv("SLURM_JOB_ID"))
        return lm_fail(err, LM_BAD_INPUT, "--resume: say with --out which file is to be gone on with");
    return LM_OK;
}

int lm_sweep_plan(struct lm_sweep *sweep, struct lm_error *err)
{
    const char *path = sweep->job.call->options->operand[0];
    struct lm_trial *trial = NULL;
    int code = check_name(sweep->job.call->options, err);
    if (code == LM_OK)
        code = lm_sweep_read(path, &sweep->spec, err);
    if (code == LM_OK)
        code = read_text(path, &sweep->text, err);
    if (code == LM_OK)
        code = lm_sweep_trials(&sweep->spec, &trial, &sweep->n, &sweep->drawn, err);
    if (code == LM_OK)
        code = lm_results_allocate(sweep->n, &sweep->job.results, err);
    if (code == LM_OK) {
        memcpy(sweep->job.results.trial, trial, sweep->n * sizeof *trial);
        sweep->job.holdout = sweep->spec.holdout;
        uint64_t wanted = sweep->spec.keep == LM_KEEP_TOP ? sweep->spec.keep_top : LM_SWEEP_LEADERS;
        sweep->leaders = wanted < sweep->n ? wanted : sweep->n;
        sweep->total = lm_sweep_trainings(&sweep->spec, sweep->n);
    }
    free(trial);
    return code;
}

/* ---- --dry-run ---- */

struct sizes {
    uint64_t faults;
    double epochs, losses, weights; /* epochs of all trainings; bytes of the file's losses and weights */
    double states;                  /* bytes of weights in the checkpoint, about */
    char fault[160];                /* the first one's */
};

static double longest_losses(const struct lm_sweep *sweep)
{
    return (double)sweep->n * (double)lm_sweep_longest(sweep) * sizeof(double);
}

/* The checkpoint has the weights of trials that were among the best when they came in, K (1 + ln(n/K)) of n in a random
 * order, and those of all but the last rung. */
static double state_bytes(const struct lm_sweep *sweep, double network)
{
    double leaders = (double)sweep->leaders, n = (double)sweep->n, networks = leaders * (1.0 + log(n / leaders));
    uint64_t rung_trials = sweep->n;
    for (size_t rung = 0; rung + 1 < sweep->spec.n_rungs; rung++) {
        networks += (double)rung_trials * network <= 2e9 ? (double)rung_trials : 0.0;
        rung_trials = lm_sweep_kept(&sweep->spec, rung_trials);
    }
    return network * (sweep->spec.keep == LM_KEEP_ALL ? (double)sweep->total : networks);
}

static struct sizes measure(const struct lm_sweep *sweep)
{
    struct sizes sizes = {.losses = longest_losses(sweep)};
    size_t last = lm_sweep_rungs(&sweep->spec) - 1;
    double all = 0.0;
    for (uint64_t t = 0; t < sweep->n; t++) {
        char fault[160];
        struct lm_trial trial = lm_sweep_trial(sweep, t, last);
        if (lm_trial_fault(&trial, fault, sizeof fault)) {
            if (sizes.faults++ == 0)
                memcpy(sizes.fault, fault, sizeof fault);
            continue;
        }
        sizes.epochs += (double)trial.epochs;
        all += (double)lm_network_floats(trial.shape) * sizeof(float);
    }
    if (sweep->spec.n_rungs)
        sizes.epochs = lm_sweep_halving_epochs(&sweep->spec, sweep->n);
    if (sweep->spec.keep == LM_KEEP_ALL)
        sizes.weights = all;
    else if (sweep->spec.keep == LM_KEEP_TOP && sweep->n > sizes.faults)
        sizes.weights = all / (double)(sweep->n - sizes.faults) * (double)sweep->leaders;
    if (sweep->n > sizes.faults)
        sizes.states = state_bytes(sweep, all / (double)(sweep->n - sizes.faults));
    return sizes;
}

/* 12.3 kB, 4.5 MB */
static const char *size_text(double bytes, char text[32])
{
    const char *unit[] = {"kB", "MB", "GB", "TB"};
    int k = 0;
    for (bytes *= 1e-3; bytes >= 1000.0 && k < 3; k++)
        bytes *= 1e-3;
    snprintf(text, 32, "%.1f %s", bytes, unit[k]);
    return text;
}

static void show_rungs(const struct lm_sweep *sweep)
{
    uint64_t n = sweep->n;
    for (size_t rung = 0; rung < sweep->spec.n_rungs; rung++) {
        printf("rung %zu     %" PRIu64 " trials up to epoch %" PRIu32 "\n", rung, n, sweep->spec.rung[rung]);
        n = lm_sweep_kept(&sweep->spec, n);
    }
}

/* Measured: a trial takes ROW bytes of rank 0 and COLUMNS of the file, its losses and weights apart. */
#define ROW     520.0
#define COLUMNS 360.0

static void show_sizes(const struct lm_sweep *sweep, const struct sizes *sizes)
{
    double n = (double)sweep->n;
    char a[32], b[32], c[32];
    printf("memory     about %s of rank 0 for the trials; another rank's does not grow with their number\n",
           size_text(n * ROW, a));
    printf("file       about %s: %s of losses, %s of weights\n",
           size_text(n * COLUMNS + sizes->losses + sizes->weights, a), size_text(sizes->losses, b),
           size_text(sizes->weights, c));
    printf("checkpoint about %s beside the file, until that is complete\n",
           size_text((double)sweep->total * 192.0 + 8.0 * sizes->epochs + sizes->states, a));
}

int lm_sweep_show_plan(struct lm_sweep *sweep, struct lm_error *err)
{
    const struct lm_sweep_spec *spec = &sweep->spec;
    const struct lm_call *call = sweep->job.call;
    struct sizes sizes = measure(sweep);
    (void)err;
    printf("dry run    %s: %" PRIu64 " trials over %d rank%s", call->options->operand[0], sweep->n, call->world->size,
           call->world->size == 1 ? "" : "s");
    if (sweep->drawn != sweep->n)
        printf(" (%" PRIu64 " drawn, %" PRIu64 " of them repeats)", sweep->drawn, sweep->drawn - sweep->n);
    printf("\nsearch     %s, hold-out %g, objective %s\n", lm_search_text((int)spec->search), spec->holdout,
           lm_objective_text((int)spec->objective));
    show_rungs(sweep);
    if (sizes.faults)
        printf("fail       %" PRIu64 " trials cannot be trained and become rows of status failed; the first: %s\n",
               sizes.faults, sizes.fault);
    printf("epochs     %.0f in all\n", sizes.epochs);
    show_sizes(sweep, &sizes);
    return lm_flush_stdout(err);
}
