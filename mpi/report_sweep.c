/* report_sweep.c: see report_sweep.h. */
#include "report_sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MOST_PLACES 10

static void put_number(FILE *f, int width, int decimals, double value)
{
    if (isnan(value))
        fprintf(f, " %*s", width, "n/a");
    else
        fprintf(f, " %*.*f", width, decimals, value);
}

/* ---- parameters ---- */

struct columns {
    int decay, range, seed, rung;
};

static struct columns columns_of(const struct lm_results *results, int seed)
{
    struct columns columns = {.seed = seed, .rung = results->rung != NULL};
    for (uint64_t t = 1; t < results->n_trials; t++) {
        columns.decay |= results->trial[t].decay != results->trial[0].decay;
        columns.range |= results->trial[t].initial_range != results->trial[0].initial_range;
    }
    return columns;
}

static void put_head(struct columns columns, FILE *f)
{
    fprintf(f, " %13s", "learning rate");
    if (columns.decay)
        fprintf(f, " %9s", "decay");
    if (columns.range)
        fprintf(f, " %9s", "range");
    fprintf(f, " %6s %13s", "epochs", "network");
    if (columns.seed)
        fprintf(f, " %10s", "seed");
    fprintf(f, " %5s", "block");
    if (columns.rung)
        fprintf(f, " %4s", "rung");
}

static void put_parameters(const struct lm_trial *trial, uint32_t rung, struct columns columns, FILE *f)
{
    char shape[LM_SHAPE_TEXT];
    lm_shape_text(trial->shape, shape);
    fprintf(f, " %13.6g", (double)trial->learning_rate);
    if (columns.decay)
        fprintf(f, " %9.6g", (double)trial->decay);
    if (columns.range)
        fprintf(f, " %9.6g", (double)trial->initial_range);
    fprintf(f, " %6" PRIu32 " %13s", trial->epochs, shape);
    if (columns.seed)
        fprintf(f, " %10" PRIu32, trial->seed);
    fprintf(f, " %5" PRIu32, trial->block);
    if (columns.rung)
        fprintf(f, " %4" PRIu32, rung);
}

/* ---- trials ---- */

void lm_report_leaderboard(const struct lm_results *results, FILE *f)
{
    const struct columns columns = columns_of(results, 1);
    uint64_t shown = results->n_leaders < MOST_PLACES ? results->n_leaders : MOST_PLACES;
    fprintf(f, "\nthe best trials by %s\n%5s %8s",
            lm_results_by_accuracy(results) ? "validation accuracy" : "validation loss", "place", "trial");
    put_head(columns, f);
    fprintf(f, " %10s %8s %8s\n", "valid loss", "valid %", "test %");
    for (uint64_t k = 0; k < shown; k++) {
        uint64_t t = results->leader[k];
        const struct lm_outcome *outcome = &results->outcome[t];
        fprintf(f, "%5" PRIu64 " %8" PRIu64, k + 1, t);
        put_parameters(&results->trial[t], results->rung ? results->rung[t] : 0, columns, f);
        put_number(f, 10, 4, outcome->validation_loss);
        put_number(f, 8, 2, 100.0 * outcome->validation_accuracy);
        put_number(f, 8, 2, 100.0 * outcome->test_accuracy);
        fputc('\n', f);
    }
    if (shown == 0)
        fprintf(f, "   none: no trial ended well\n");
    if (shown < results->n_leaders)
        fprintf(f, "   ... %" PRIu64 " more places are in the file\n", results->n_leaders - shown);
}

/* ---- configurations ---- */

static void put_configuration(const struct lm_results *results, const struct lm_configuration *c,
                              struct columns columns, FILE *f)
{
    int accuracy = lm_results_by_accuracy(results), decimals = accuracy ? 2 : 4;
    double factor = accuracy ? 100.0 : 1.0;
    put_parameters(&results->trial[c->first], c->rung, columns, f);
    fprintf(f, " %6" PRIu64, c->ok);
    put_number(f, 10, decimals, factor * (accuracy ? c->accuracy_mean : c->loss_mean));
    put_number(f, 9, decimals, factor * (accuracy ? c->accuracy_sd : c->loss_sd));
    put_number(f, 10, decimals, factor * (accuracy ? c->accuracy_low : c->loss_low));
    put_number(f, 10, decimals, factor * (accuracy ? c->accuracy_high : c->loss_high));
    fprintf(f, " %8" PRIu64 " %6" PRIu64 "\n", c->diverged, c->failed);
}

static int has_repeats(const struct lm_results *results)
{
    for (uint64_t k = 0; k < results->n_configurations; k++)
        if (results->configuration[k].trials > 1)
            return 1;
    return 0;
}

void lm_report_configurations(const struct lm_results *results, FILE *f)
{
    const struct columns columns = columns_of(results, 0);
    int accuracy = lm_results_by_accuracy(results);
    uint64_t *order, shown;
    struct lm_error err;
    if (!has_repeats(results))
        return;
    if (lm_configurations_order(results->configuration, results->n_configurations, accuracy, MOST_PLACES, &order,
                                &shown, &err) != LM_OK) {
        fprintf(f, "\nthe best configurations cannot be shown: %s\n", err.text);
        return;
    }
    /* Means never mix epochs: of a setting's seeds, those that stopped on one rung are a configuration. */
    fprintf(f, "\nthe best configurations by mean %s over seeds%s\n%5s",
            accuracy ? "validation accuracy (%)" : "validation loss", results->rung ? " that went equally far" : "",
            "place");
    put_head(columns, f);
    fprintf(f, " %6s %10s %9s %10s %10s %8s %6s\n", "n", "mean", "sd", "95 % from", "to", "diverged", "failed");
    for (uint64_t k = 0; k < shown; k++) {
        fprintf(f, "%5" PRIu64, k + 1);
        put_configuration(results, &results->configuration[order[k]], columns, f);
    }
    if (shown < results->n_configurations)
        fprintf(f, "   ... %" PRIu64 " more configurations are in the file\n", results->n_configurations - shown);
    free(order);
}
