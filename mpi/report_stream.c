/* report_stream.c: see report_stream.h.
 *
 * Three rates, each over the slowest rank's time, which are not to be taken for one another: from the file to the
 * scores in the results file (the figure of merit: reading, normalising, scoring, sending, writing; without the check
 * by the reference), the network alone, and reading and normalising alone. Reading may go on beside the rest (slabs.h):
 * then it takes longer than the phase "data", which waits for it.
 */
#include "report_stream.h"

#include <inttypes.h>
#include <string.h>

/* Seconds of the slowest rank in some phases together (a bit each). */
static double slowest_of(const struct lm_results *results, unsigned phases, size_t *rank)
{
    double most = 0.0;
    *rank = 0;
    for (size_t r = 0; r < results->n_ranks; r++) {
        double seconds = 0.0;
        for (int phase = 0; phase < LM_PHASES; phase++)
            seconds += phases >> phase & 1u ? results->ranks[r].seconds[phase] : 0.0;
        if (seconds > most) {
            most = seconds;
            *rank = r;
        }
    }
    return most;
}

#define SCORING    (1u << LM_PHASE_INFER)
#define END_TO_END (1u << LM_PHASE_DATA | SCORING | 1u << LM_PHASE_GATHER)

struct rates {
    double bytes;                        /* of the file */
    double end_to_end, scoring, reading; /* seconds */
    size_t slowest;
};

static struct rates rates_of(const struct lm_results *results, const struct lm_packed_layout *layout, double reading)
{
    size_t ignored;
    struct rates rates = {.bytes = (double)lm_packed_offset(layout, lm_packed_blocks(layout)), .reading = reading};
    rates.end_to_end = slowest_of(results, END_TO_END, &rates.slowest);
    rates.scoring = slowest_of(results, SCORING, &ignored);
    return rates;
}

static void put_rate(FILE *f, const char *name, double work, const char *unit, double seconds)
{
    if (seconds > 0.0)
        fprintf(f, "%-24s %12.4g %-10s %10.4f s\n", name, work / seconds, unit, seconds);
    else
        fprintf(f, "%-24s %12s %-10s\n", name, "n/a", unit);
}

static void report_throughput(const struct lm_results *results, const struct lm_packed_layout *layout, double reading,
                              FILE *f)
{
    struct rates rates = rates_of(results, layout, reading);
    const double samples = (double)layout->samples;
    fprintf(f, "\n%-24s %12s %-10s %10s\n", "throughput", "rate", "", "slowest rank");
    put_rate(f, "file to scores", samples, "samples/s", rates.end_to_end);
    put_rate(f, "scoring alone", samples, "samples/s", rates.scoring);
    put_rate(f, "reading and normalising", rates.bytes, "bytes/s", rates.reading);
}

static void report_answer(const struct lm_report_input *input, const struct lm_packed_layout *layout, FILE *f)
{
    const struct lm_results *results = input->results;
    const struct lm_metrics m = lm_results_metrics(results);
    lm_report_weights(input, f);
    fprintf(f, "data       %s\n           %" PRIu64 " samples, %s pixels%s; SHA-256 %.16s...\n", results->data_path,
            layout->samples, layout->type == LM_PACKED_U8 ? "8-bit" : "float32",
            results->unlabelled ? ", no labels" : "", results->data_digest);
    if (results->unlabelled) {
        fprintf(f, "inference  %zu predictions; accuracy n/a: the file has no labels\n", m.n);
        return;
    }
    fprintf(f, "inference  %zu/%zu right (%.2f %%), mean loss %.4f\n", m.hits, m.n, 100.0 * m.accuracy, m.loss);
    lm_report_letters(results, f);
    lm_report_confusion(results, f);
}

static size_t count_gpus(const struct lm_results *results)
{
    size_t n = 0;
    for (size_t r = 0; r < results->n_ranks; r++) {
        int again = results->ranks[r].uuid[0] == '\0';
        for (size_t q = 0; q < r && !again; q++)
            again = strcmp(results->ranks[q].uuid, results->ranks[r].uuid) == 0;
        n += !again;
    }
    return n;
}

static void figure_of_merit(const struct lm_report_input *input, const struct lm_packed_layout *layout, double reading,
                            FILE *f)
{
    const struct lm_results *results = input->results;
    struct rates rates = rates_of(results, layout, reading);
    const double samples = (double)layout->samples;
    if (input->code == LM_OK && rates.scoring > 0.0 && rates.reading > 0.0)
        fprintf(f, "FOM infer_samples_per_s=%.4g score_samples_per_s=%.4g read_bytes_per_s=%.4g",
                samples / rates.end_to_end, samples / rates.scoring, rates.bytes / rates.reading);
    else
        fprintf(f, "FOM infer_samples_per_s=n/a score_samples_per_s=n/a read_bytes_per_s=n/a");
    fprintf(f, " scope=end_to_end ranks=%zu gpus=%zu slowest_rank=%zu status=%s\n", results->n_ranks,
            count_gpus(results), rates.slowest, lm_outcome_word(input));
}

static void report_text(const struct lm_report_input *input, const struct lm_packed_layout *layout, double reading,
                        FILE *f)
{
    lm_report_head(input->call, f);
    lm_report_ranks(input->results, f);
    report_answer(input, layout, f);
    lm_report_checks(input->results, f);
    lm_report_phases(input, f);
    report_throughput(input->results, layout, reading, f);
    fprintf(f, "\nfile       %s\n", input->path);
}

int lm_report_stream(const struct lm_report_input *input, const struct lm_packed_layout *layout, double reading,
                     struct lm_error *err)
{
    if (input->call->options->format == LM_FORMAT_JSON) {
        lm_report_json(input, stdout);
        return lm_flush_stdout(err);
    }
    if (!input->call->options->quiet)
        report_text(input, layout, reading, stdout);
    printf("verdict    %s\n", lm_outcome_word(input));
    figure_of_merit(input, layout, reading, stdout);
    return lm_flush_stdout(err);
}
