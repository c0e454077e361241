/* report.c: the run's report as text: version, options, ranks, trials, test, validation, phases, verdict, figure of
 * merit, in that order. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "devices.h"
#include "evaluate.h"
#include "provenance.h"
#include "report_sweep.h"
#include "version.h"

/* A sweep's rows beyond this are in the file, not on the screen. */
#define MOST_ROWS 24

void lm_report_head(const struct lm_call *call, FILE *f)
{
    fprintf(f, "libras_mpi %s (%s)\n", LM_VERSION, LM_COMMIT);
    fprintf(f, "command    %s\n", call->command_line);
}

/* ---- ranks ---- */

/* Who does each phase, and who decided that. */
static void report_choice(const struct lm_results *results, FILE *f)
{
    const char *before = "devices    ";
    for (size_t k = 0; k < results->n_model; k++) {
        const struct lm_model_row *row = &results->model[k];
        if (!row->chosen)
            continue;
        fprintf(f, "%s%s on %s", before, row->phase, row->device);
        before = ", ";
    }
    if (results->n_model > 0)
        fprintf(f, " (%s)\n", results->decided_by);
}

/* Consecutive ranks with the same host and device are one line. */
void lm_report_ranks(const struct lm_results *results, FILE *f)
{
    fprintf(f, "\n%-11s %-32s %s\n", "rank", "host", "device");
    for (size_t r = 0, next; r < results->n_ranks; r = next) {
        const struct lm_rank *rank = &results->ranks[r];
        for (next = r + 1; next < results->n_ranks; next++)
            if (strcmp(results->ranks[next].host, rank->host) != 0 ||
                strcmp(results->ranks[next].device, rank->device) != 0 ||
                strcmp(results->ranks[next].uuid, rank->uuid) != 0)
                break;
        char range[48];
        if (next - r > 1)
            snprintf(range, sizeof range, "%zu-%zu", r, next - 1);
        else
            snprintf(range, sizeof range, "%zu", r);
        fprintf(f, "%-11s %-32s %s%s%s%s%s%s\n", range, rank->host, rank->device, rank->uuid[0] ? " " : "", rank->uuid,
                rank->pci[0] ? " " : "", rank->pci, rank->shared ? " (shared)" : "");
    }
    report_choice(results, f);
}

/* ---- data and trials ---- */

void lm_report_weights(const struct lm_report_input *input, FILE *f)
{
    fprintf(f, "\nweights    %s, trial %" PRIu64 "\n", input->call->options->operand[0], *input->weights_trial);
}

static void report_data(const struct lm_results *results, FILE *f)
{
    fprintf(f, "\ndata       %s\n           %zu samples: %zu train, %zu validation, %zu test; SHA-256 %.16s...\n",
            results->data_path, results->n_train + results->n_validation + results->n_test, results->n_train,
            results->n_validation, results->n_test, results->data_digest);
}

static void put_number(FILE *f, int width, int decimals, double value)
{
    if (isnan(value))
        fprintf(f, " %*s", width, "n/a");
    else
        fprintf(f, " %*.*f", width, decimals, value);
}

static void report_trial(const struct lm_results *results, uint64_t t, FILE *f)
{
    const struct lm_trial *trial = &results->trial[t];
    const struct lm_outcome *outcome = &results->outcome[t];
    char shape[LM_SHAPE_TEXT];
    lm_shape_text(trial->shape, shape);
    fprintf(f, "%6" PRIu64 " %13.6g %6" PRIu32 " %12s %10" PRIu32 " %5" PRIu32 " %-8s", t, (double)trial->learning_rate,
            trial->epochs, shape, trial->seed, trial->block, lm_trial_status_text(outcome->status));
    put_number(f, 10, 4, outcome->train_loss);
    put_number(f, 10, 4, outcome->validation_loss);
    put_number(f, 9, 4, outcome->test_loss);
    put_number(f, 8, 2, 100.0 * outcome->test_accuracy);
    put_number(f, 8, 3, results->execution[t].seconds);
    fprintf(f, " %4" PRId32, results->execution[t].rank);
    fprintf(f, outcome->reason[0] ? "  %s\n" : "%s\n", outcome->reason);
}

static void count_trials(const struct lm_results *results, FILE *f)
{
    uint64_t diverged = 0, failed = 0;
    for (uint64_t t = 0; t < results->n_trials; t++) {
        diverged += results->outcome[t].status == LM_TRIAL_DIVERGED;
        failed += results->outcome[t].status == LM_TRIAL_FAILED;
    }
    fprintf(f, "trials     %" PRIu64 " trained: %" PRIu64 " ok, %" PRIu64 " diverged, %" PRIu64 " failed\n",
            results->n_trials, results->n_trials - diverged - failed, diverged, failed);
}

/* Of a large sweep the leaderboard says more than its first rows. */
static void report_trials(const struct lm_results *results, FILE *f)
{
    uint64_t shown = results->n_trials < MOST_ROWS ? results->n_trials : results->is_sweep ? 0 : MOST_ROWS;
    if (results->is_sweep)
        fprintf(f, "\nsearch     %s\n", results->search);
    if (shown == 0) {
        count_trials(results, f);
        return;
    }
    fprintf(f, "\n%6s %13s %6s %12s %10s %5s %-8s %10s %10s %9s %8s %8s %4s\n", "trial", "learning rate", "epochs",
            "network", "seed", "block", "status", "train loss", "valid loss", "test loss", "test %", "seconds", "rank");
    for (uint64_t t = 0; t < shown; t++)
        report_trial(results, t, f);
    if (shown < results->n_trials)
        fprintf(f, "   ... %" PRIu64 " more trials are in the file\n", results->n_trials - shown);
    count_trials(results, f);
}

/* ---- the test batch ---- */

static uint64_t row_sum(const struct lm_results *results, int letter)
{
    uint64_t sum = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        sum += results->confusion[letter][c];
    return sum;
}

/* The wrong letter that a letter is most often read as; -1: none. */
static int most_confused(const struct lm_results *results, int letter)
{
    int worst = -1;
    for (int c = 0; c < LM_CLASSES; c++)
        if (c != letter && results->confusion[letter][c] > 0 &&
            (worst < 0 || results->confusion[letter][c] > results->confusion[letter][worst]))
            worst = c;
    return worst;
}

void lm_report_letters(const struct lm_results *results, FILE *f)
{
    fprintf(f, "\n%-7s %8s %8s %8s  %s\n", "letter", "samples", "right", "%", "most often read as");
    for (int c = 0; c < LM_CLASSES; c++) {
        uint64_t n = row_sum(results, c), right = results->confusion[c][c];
        int wrong = most_confused(results, c);
        fprintf(f, "%-7c %8" PRIu64 " %8" PRIu64, LM_LETTERS[c], n, right);
        put_number(f, 8, 2, n ? 100.0 * (double)right / (double)n : NAN);
        if (wrong >= 0)
            fprintf(f, "  %c (%" PRIu64 ")", LM_LETTERS[wrong], results->confusion[c][wrong]);
        fputc('\n', f);
    }
}

void lm_report_confusion(const struct lm_results *results, FILE *f)
{
    fprintf(f, "\nconfusion matrix: a row a letter shown, a column a letter read\n ");
    for (int c = 0; c < LM_CLASSES; c++)
        fprintf(f, " %5c", LM_LETTERS[c]);
    for (int r = 0; r < LM_CLASSES; r++) {
        fprintf(f, "\n%c", LM_LETTERS[r]);
        for (int c = 0; c < LM_CLASSES; c++)
            if (results->confusion[r][c])
                fprintf(f, " %5" PRIu64, results->confusion[r][c]);
            else
                fprintf(f, " %5s", ".");
    }
    fputc('\n', f);
}

static void report_test(const struct lm_results *results, FILE *f)
{
    if (results->inference_trial < 0) {
        fprintf(f, "\ntest       not run: no trial has weights\n");
        return;
    }
    struct lm_metrics m = lm_evaluate(results->scores, results->expected, results->n_scores);
    fprintf(f, "\ntest       trial %" PRId64 ": %zu/%zu right (%.2f %%), mean loss %.4f\n", results->inference_trial,
            m.hits, m.n, 100.0 * m.accuracy, m.loss);
    lm_report_letters(results, f);
    lm_report_confusion(results, f);
}

/* ---- validation ---- */

void lm_report_checks(const struct lm_results *results, FILE *f)
{
    fprintf(f, "\n%-24s %12s %12s %12s  %s\n", "check", "compared", "mismatches", "max |error|", "result");
    for (size_t k = 0; k < results->n_checks; k++) {
        const struct lm_check *check = &results->checks[k];
        char error[32] = "n/a";
        if (!isnan(check->max_abs_error))
            snprintf(error, sizeof error, "%.3g", check->max_abs_error);
        fprintf(f, "%-24s %12" PRIu64 " %12" PRIu64 " %12s  %s\n", check->name, check->compared, check->mismatches,
                error, lm_check_text(check->result));
    }
}

const char *lm_verdict_word(const struct lm_results *results)
{
    switch (lm_checks_verdict(results)) {
    case LM_CHECK_PASSED:
        return "VALID";
    case LM_CHECK_FAILED:
        return "INVALID";
    default:
        return "NOT_VALIDATED";
    }
}

const char *lm_outcome_word(const struct lm_report_input *input)
{
    return input->code == LM_FAILED ? "FAILED" : lm_verdict_word(input->results);
}

/* ---- time ---- */

static double slowest(const struct lm_results *results, int phase, size_t *rank)
{
    *rank = 0;
    for (size_t r = 1; r < results->n_ranks; r++)
        if (results->ranks[r].seconds[phase] > results->ranks[*rank].seconds[phase])
            *rank = r;
    return results->n_ranks ? results->ranks[*rank].seconds[phase] : 0.0;
}

void lm_report_phases(const struct lm_report_input *input, FILE *f)
{
    const struct lm_times *times = input->times;
    size_t rank;
    fprintf(f, "\n%-10s %10s  %s\n", "phase", "seconds", "slowest rank");
    fprintf(f, "%-10s %10.4f  %s\n", "start-up", times->start, "(rank 0: MPI_Init and options)");
    for (int phase = 0; phase < LM_PHASES; phase++) {
        double seconds = slowest(input->results, phase, &rank);
        fprintf(f, "%-10s %10.4f  %zu\n", lm_phase_name[phase], seconds, rank);
    }
    fprintf(f, "%-10s %10.4f  (rank 0)\n%-10s %10.4f  (rank 0: from its start to this line)\n", "file", times->file,
            "total", times->total);
}

/* A rate with its unit in the key; n/a where nothing valid was measured. */
static void put_rate(FILE *f, const char *key, double work, double seconds, int valid)
{
    if (valid && seconds > 0.0)
        fprintf(f, " %s=%.4g", key, work / seconds);
    else
        fprintf(f, " %s=n/a", key);
}

void lm_report_figure_of_merit(const struct lm_report_input *input, FILE *f)
{
    const struct lm_results *results = input->results;
    int trains = input->call->options->command == LM_COMMAND_RUN || input->call->options->command == LM_COMMAND_SWEEP,
        valid = input->code == LM_OK;
    size_t slowest_rank;
    double infer = slowest(results, LM_PHASE_INFER, &slowest_rank);
    if (trains)
        slowest(results, LM_PHASE_TRAIN, &slowest_rank);
    fprintf(f, "FOM");
    if (trains) {
        put_rate(f, "train_sample_updates_per_s", input->times->updates, input->times->train, valid);
        put_rate(f, "trainings_per_s", (double)input->times->trainings, input->times->train, valid);
    }
    put_rate(f, "infer_samples_per_s", (double)results->n_scores, infer, valid);
    fprintf(f, " scope=end_to_end ranks=%zu gpus=%zu slowest_rank=%zu status=%s\n", results->n_ranks,
            lm_devices_count(results->ranks, results->n_ranks), slowest_rank, lm_outcome_word(input));
}

/* ---- all of it ---- */

int lm_flush_stdout(struct lm_error *err)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return lm_fail(err, LM_FAILED, "stdout: the report could not be written whole");
    return LM_OK;
}

static void report_text(const struct lm_report_input *input, FILE *f)
{
    lm_report_head(input->call, f);
    lm_report_ranks(input->results, f);
    report_data(input->results, f);
    report_trials(input->results, f);
    if (input->results->is_sweep) {
        lm_report_leaderboard(input->results, f);
        lm_report_configurations(input->results, f);
    }
    report_test(input->results, f);
    lm_report_checks(input->results, f);
    lm_report_phases(input, f);
    fprintf(f, "\nfile       %s\n", input->path ? input->path : "not written: the older one stays");
}

int lm_report_run(const struct lm_report_input *input, struct lm_error *err)
{
    const struct lm_options *options = input->call->options;
    if (options->format == LM_FORMAT_JSON) {
        lm_report_json(input, stdout);
    } else if (options->format == LM_FORMAT_LAB) {
        lm_report_lab(input, stdout);
    } else {
        if (!options->quiet)
            report_text(input, stdout);
        fprintf(stdout, "verdict    %s\n", lm_outcome_word(input));
        lm_report_figure_of_merit(input, stdout);
    }
    return lm_flush_stdout(err);
}

int lm_report_plan(const struct lm_call *call, struct lm_error *err)
{
    const struct lm_options *options = call->options;
    uint64_t trials = lm_grid_size(&options->grid);
    uint64_t kept = options->keep == LM_KEEP_ALL ? trials : options->keep == LM_KEEP_TOP ? options->keep_top : 0;
    uint64_t weights = 0, epochs = 0;
    for (size_t k = 0; k < options->grid.hidden.n; k++)
        weights += lm_network_floats(options->grid.hidden.shape[k]) * sizeof(float);
    for (size_t k = 0; k < options->grid.epochs.n; k++)
        epochs = options->grid.epochs.whole[k] > epochs ? options->grid.epochs.whole[k] : epochs;
    weights = weights / options->grid.hidden.n * (kept < trials ? kept : trials);
    char *echo = lm_options_echo(options);
    printf("dry run    %" PRIu64 " trials over %d ranks\n%s", trials, call->world->size, echo ? echo : "");
    printf("file       about %.1f MB of losses, %.1f MB of weights\n", 8e-6 * (double)trials * (double)epochs,
           1e-6 * (double)weights);
    free(echo);
    return lm_flush_stdout(err);
}
