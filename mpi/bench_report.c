/* bench_report.c: the table of `libras_mpi bench`. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "json.h"
#include "report.h"

static int measured(const struct lm_bench_variant *v)
{
    return v->status == LM_TRIAL_OK && v->train.n > 0;
}

static int is_gpu(const struct lm_bench_variant *v)
{
    return strncmp(v->backend->name, "gpu", 3) == 0;
}

static double least(const struct lm_bench_times *times)
{
    return times->second[0];
}

static double largest(const struct lm_bench_times *times)
{
    return times->second[times->n - 1];
}

/* What the others are compared with: the lab's best kernel where there is a GPU, else the reference. */
static const struct lm_bench_variant *baseline(const struct lm_bench *bench)
{
    static const char *const name[] = {"gpu:batch", "cpu-ref"};
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < bench->n; k++)
            if (strcmp(bench->variant[k].backend->name, name[b]) == 0 && measured(&bench->variant[k]))
                return &bench->variant[k];
    return NULL;
}

int lm_bench_valid(const struct lm_bench *bench)
{
    uint64_t wrong = 0, compared = 0;
    for (int k = 0; k < bench->n; k++) {
        wrong += bench->variant[k].wrong_words;
        compared += bench->variant[k].compared_words;
    }
    return wrong == 0 && compared > 0;
}

/* ---- text ---- */

static void time_row(const struct lm_bench *bench, const struct lm_bench_variant *v,
                     const struct lm_bench_variant *base)
{
    double steps = (double)bench->epochs * (double)bench->problem->train.n;
    double train = lm_bench_median(&v->train), infer = lm_bench_median(&v->infer);
    printf("%-22s %c%9.4f [%9.4f %9.4f] %9.3f", v->backend->name, v->trial.epochs < bench->epochs ? '~' : ' ', train,
           least(&v->train), largest(&v->train), 1e6 * train / steps);
    if (base)
        printf(" %8.2f", lm_bench_median(&base->train) / train);
    else
        printf(" %8s", "n/a");
    printf(" %10.4f [%9.4f %9.4f]", 1e3 * infer, 1e3 * least(&v->infer), 1e3 * largest(&v->infer));
    if (base)
        printf(" %8.2f", lm_bench_median(&base->infer) / infer);
    else
        printf(" %8s", "n/a");
    if (v->wrong_words)
        printf("  %" PRIu64 " WRONG\n", v->wrong_words);
    else
        printf("  same\n");
}

static void text_times(const struct lm_bench *bench)
{
    const struct lm_bench_variant *base = baseline(bench);
    printf("\n%-22s  %9s %21s %9s %8s %10s %21s %8s  %s\n", "variant", "train s", "[least     largest]", "us/step",
           "speed-up", "batch ms", "[least     largest]", "speed-up", "bits");
    for (int k = 0; k < bench->n; k++)
        if (measured(&bench->variant[k]))
            time_row(bench, &bench->variant[k], base);
        else
            printf("%-22s  not measured: %s\n", bench->variant[k].backend->name, bench->variant[k].reason);
    printf("train: %" PRIu32 " epochs of %zu samples, 1 replica; ~ fewer epochs were measured and are stated for all.\n"
           "batch: %zu test samples, host to host. speed-up: against %s. bits: parameters, losses and scores are\n"
           "compared with cpu-ref's after every repeat.\n",
           bench->epochs, bench->problem->train.n, bench->problem->test.n, base ? base->backend->name : "nothing");
}

static void calls_row(const char *name, const char *what, const struct lm_gpu_counters *c, double part)
{
    printf("%-22s %-6s %9.0f %9.0f %9.0f %9.0f %11.3f %11.3f %10.5f %10.5f\n", name, what, part * (double)c->launches,
           part * (double)c->copies_in, part * (double)c->copies_out, part * (double)c->allocations,
           1e-6 * part * (double)c->bytes_in, 1e-6 * part * (double)c->bytes_out, part * c->copy_seconds,
           part * c->kernel_seconds);
}

static void text_calls(const struct lm_bench *bench)
{
    int head = 0;
    for (int k = 0; k < bench->n; k++) {
        const struct lm_bench_variant *v = &bench->variant[k];
        if (!measured(v) || !is_gpu(v))
            continue;
        if (!head++)
            printf("\n%-22s %-6s %9s %9s %9s %9s %11s %11s %10s %10s\n", "CUDA calls of one", "", "launches",
                   "copies in", "out", "allocs", "MB in", "MB out", "s copying", "s kernels");
        calls_row(v->backend->name, "train", &v->train_calls, (double)bench->epochs / v->trial.epochs);
        calls_row("", "batch", &v->infer_calls, 1.0);
    }
}

static const struct lm_bench_variant *fastest(const struct lm_bench *bench)
{
    const struct lm_bench_variant *best = NULL;
    for (int k = 0; k < bench->n; k++)
        if (measured(&bench->variant[k]) &&
            (!best || lm_bench_median(&bench->variant[k].train) < lm_bench_median(&best->train)))
            best = &bench->variant[k];
    return best;
}

static void figure_of_merit(const struct lm_bench *bench)
{
    const struct lm_bench_variant *best = fastest(bench);
    double updates = (double)bench->epochs * (double)bench->problem->train.n;
    if (best && lm_bench_valid(bench))
        printf("FOM train_sample_updates_per_s=%.4g variant=%s scope=one_replica ranks=1 gpus=%d status=VALID\n",
               updates / lm_bench_median(&best->train), best->backend->name, is_gpu(best));
    else
        printf("FOM train_sample_updates_per_s=n/a scope=one_replica ranks=1 gpus=0 status=INVALID\n");
}

/* ---- JSON ---- */

static void json_variant(struct lm_json *json, const struct lm_bench *bench, const struct lm_bench_variant *v)
{
    lm_json_open(json, NULL, '{');
    lm_json_text(json, "variant", v->backend->name);
    lm_json_text(json, "reason", v->reason);
    if (measured(v)) {
        lm_json_whole(json, "epochs_measured", v->trial.epochs);
        lm_json_double(json, "train_s_median", lm_bench_median(&v->train));
        lm_json_double(json, "train_s_least", least(&v->train));
        lm_json_double(json, "train_s_largest", largest(&v->train));
        lm_json_double(json, "batch_s_median", lm_bench_median(&v->infer));
        lm_json_double(json, "batch_s_least", least(&v->infer));
        lm_json_double(json, "batch_s_largest", largest(&v->infer));
        lm_json_whole(json, "compared_words", (int64_t)v->compared_words);
        lm_json_whole(json, "wrong_words", (int64_t)v->wrong_words);
        lm_json_double(json, "copy_s", v->train_calls.copy_seconds * bench->epochs / v->trial.epochs);
        lm_json_double(json, "kernel_s", v->train_calls.kernel_seconds * bench->epochs / v->trial.epochs);
    }
    lm_json_close(json, '}');
}

static void json_report(const struct lm_bench *bench)
{
    struct lm_json json;
    lm_json_begin(&json, stdout);
    lm_json_open(&json, NULL, '{');
    lm_json_whole(&json, "epochs", bench->epochs);
    lm_json_whole(&json, "train_samples", (int64_t)bench->problem->train.n);
    lm_json_whole(&json, "test_samples", (int64_t)bench->problem->test.n);
    lm_json_open(&json, "variants", '[');
    for (int k = 0; k < bench->n; k++)
        json_variant(&json, bench, &bench->variant[k]);
    lm_json_close(&json, ']');
    lm_json_text(&json, "verdict", lm_bench_valid(bench) ? "VALID" : "INVALID");
    lm_json_close(&json, '}');
}

void lm_bench_report(const struct lm_bench *bench)
{
    if (bench->call->options->format == LM_FORMAT_JSON) {
        json_report(bench);
        return;
    }
    lm_report_head(bench->call, stdout);
    text_times(bench);
    text_calls(bench);
    putchar('\n');
    figure_of_merit(bench);
}
