/* fuzz_sweep.c: any bytes as a sweep file. What is accepted stands for trials, all different, each value where it may
 * lie; the same bytes stand for the same trials. */
#include "fuzz_file.h"
#include "sweep_yaml.h"

enum { MOST_TRIALS = 3000 };

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct lm_trial));
}

static void look_at_spec(const struct lm_sweep_spec *spec)
{
    fuzz_demand(lm_sweep_drawn(spec) >= 1 && lm_sweep_drawn(spec) <= LM_MAX_TRIALS, "a number of trials");
    fuzz_demand(spec->holdout > 0.0 && spec->holdout <= 0.9, "a hold-out");
    fuzz_demand((spec->search == LM_SEARCH_HALVING) == (spec->n_rungs > 0), "rungs belong to halving");
    for (size_t k = 1; k < spec->n_rungs; k++)
        fuzz_demand(spec->rung[k] > spec->rung[k - 1], "rungs ascend");
    for (uint64_t n = LM_MAX_TRIALS; n > 1 && spec->n_rungs > 0; n /= 3) {
        uint64_t kept = lm_sweep_kept(spec, n);
        fuzz_demand(kept >= 1 && kept <= n, "a rung keeps some of its trials");
    }
}

static void look_at_trial(const struct lm_sweep_spec *spec, const struct lm_trial *trial)
{
    const float real[] = {trial->learning_rate, trial->decay, trial->initial_range};
    char reason[160];
    for (int k = 0; k < 3; k++) {
        const struct lm_parameter *p = &spec->parameter[k];
        if (p->continuous)
            fuzz_demand((real[k] >= (float)p->from && real[k] <= (float)p->to) ||
                            (real[k] >= (float)p->to && real[k] <= (float)p->from),
                        "a value within its range");
        fuzz_demand(real[k] - real[k] == 0.0f, "a finite value");
    }
    int fault = lm_trial_fault(trial, reason, sizeof reason);
    fuzz_demand(fault == (reason[0] != '\0'), "a fault has a reason");
}

static void take(const uint8_t *data, size_t size, struct lm_trial **trial, uint64_t *n)
{
    struct lm_sweep_spec spec;
    struct lm_error err = {0, ""};
    uint64_t drawn;
    int code = lm_sweep_parse("a.yaml", (const char *)data, size, &spec, &err);
    fuzz_message(code, &err, "a.yaml");
    *trial = NULL;
    *n = 0;
    if (code != LM_OK)
        return;
    look_at_spec(&spec);
    if (lm_sweep_drawn(&spec) <= MOST_TRIALS) {
        fuzz_demand(lm_sweep_trials(&spec, trial, n, &drawn, &err) == LM_OK, "trials");
        fuzz_demand(*n >= 1 && *n <= drawn && drawn == lm_sweep_drawn(&spec), "their number");
        for (uint64_t t = 0; t < *n; t++)
            look_at_trial(&spec, &(*trial)[t]);
    }
    lm_sweep_spec_free(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lm_trial *first, *second;
    uint64_t n, again;
    if (strcmp(lm_sweep_yaml_version(), "none") == 0)
        return 0;
    take(data, size, &first, &n);
    take(data, size, &second, &again);
    fuzz_demand(n == again && (n == 0 || memcmp(first, second, n * sizeof *first) == 0),
                "the same file, the same trials");
    if (n > 0)
        qsort(first, n, sizeof *first, by_bytes);
    for (uint64_t t = 1; t < n; t++)
        fuzz_demand(by_bytes(&first[t - 1], &first[t]) != 0, "all trials differ");
    free(first);
    free(second);
    return 0;
}
