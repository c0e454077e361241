/* model_decide.c: see model_decide.h. */
#include "model_decide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fastest(const struct lm_prediction *candidate, int n, int gpu)
{
    int best = -1;
    for (int k = 0; k < n; k++)
        if (candidate[k].gpu == gpu && candidate[k].fits &&
            (best < 0 || candidate[k].seconds < candidate[best].seconds))
            best = k;
    return best;
}

struct lm_decision lm_decide(const struct lm_prediction *candidate, int n, double margin)
{
    struct lm_decision d = {.margin = margin, .gain = HUGE_VAL};
    d.cpu = fastest(candidate, n, 0);
    d.gpu = fastest(candidate, n, 1);
    d.offload = d.gpu >= 0 && (d.cpu < 0 || candidate[d.gpu].seconds * (1.0 + margin) < candidate[d.cpu].seconds);
    d.chosen = d.offload ? d.gpu : d.cpu;
    if (d.cpu >= 0 && d.gpu >= 0) {
        double other = candidate[d.offload ? d.cpu : d.gpu].seconds;
        d.gain = candidate[d.chosen].seconds > 0.0 ? other / candidate[d.chosen].seconds : 1.0;
    }
    return d;
}

static void name(const struct lm_prediction *p, char text[96])
{
    snprintf(text, 96, "%s (%s)", p->device, p->where);
}

void lm_decision_text(const struct lm_prediction *candidate, const struct lm_decision *d, char *text, size_t size)
{
    char chosen[96], other[96];
    if (d->chosen < 0) {
        snprintf(text, size, "nothing that fits");
        return;
    }
    const struct lm_prediction *p = &candidate[d->chosen];
    name(p, chosen);
    if (d->cpu < 0 || d->gpu < 0) {
        snprintf(text, size, "%s: %.3g s, %s", chosen, p->seconds,
                 d->gpu < 0 ? "there is no GPU that can" : "there is no CPU that can");
        return;
    }
    name(&candidate[d->offload ? d->cpu : d->gpu], other);
    if (d->gain >= 1.0)
        snprintf(text, size, "%s: %.3g s, %.3g times as fast as %s, whose time is mostly %s", chosen, p->seconds,
                 d->gain, other, candidate[d->offload ? d->cpu : d->gpu].limit);
    else
        snprintf(text, size, "%s: %.3g s; %s would be %.3g times as fast, less than the model's error (%.0f %%)",
                 chosen, p->seconds, other, 1.0 / d->gain, 100.0 * d->margin);
}

double lm_regret(double chosen_seconds, double other_seconds)
{
    double better = fmin(chosen_seconds, other_seconds);
    return better > 0.0 ? chosen_seconds / better - 1.0 : 0.0;
}

static int goes_to_gpu(const struct lm_machine *machine, struct lm_shape shape, double n, double margin)
{
    struct lm_prediction p[LM_PREDICTIONS];
    int count = lm_predict_score(machine, shape, n, 0, p);
    return lm_decide(p, count, margin).offload;
}

/* Powers of two until one goes to the GPU, then halves of the interval. */
double lm_crossover(const struct lm_machine *machine, struct lm_shape shape, double margin, double most)
{
    double low = 0.0, high = 1.0;
    while (!goes_to_gpu(machine, shape, high, margin)) {
        low = high;
        high *= 2.0;
        if (low >= most)
            return 0.0;
    }
    while (high - low > 1.0) {
        double middle = floor(0.5 * (low + high));
        if (goes_to_gpu(machine, shape, middle, margin))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* ---- history ---- */

static int class_of(double size)
{
    return size >= 1.0 ? ilogb(size) : -1;
}

static int find(const struct lm_history *history, const struct lm_prediction *p, int size_class)
{
    for (int k = 0; k < history->n; k++) {
        const struct lm_history_class *c = &history->entry[k];
        if (c->size_class == size_class && strcmp(c->device, p->device) == 0 && strcmp(c->where, p->where) == 0)
            return k;
    }
    return -1;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int place_for(struct lm_history *history, const struct lm_prediction *p, int size_class)
{
    int at = 0;
    if (history->n < LM_HISTORY_CLASSES)
        at = history->n++;
    else
        for (int k = 1; k < history->n; k++)
            if (history->entry[k].runs < history->entry[at].runs)
                at = k;
    struct lm_history_class *c = &history->entry[at];
    *c = (struct lm_history_class){.size_class = size_class, .median = 1.0};
    snprintf(c->device, sizeof c->device, "%s", p->device);
    snprintf(c->where, sizeof c->where, "%s", p->where);
    return at;
}

void lm_history_add(struct lm_history *history, const struct lm_prediction *p, double size, double measured)
{
    if (!(p->seconds > 0.0) || !(measured > 0.0) || !isfinite(measured / p->seconds) || class_of(size) < 0)
        return;
    int at = find(history, p, class_of(size));
    if (at < 0)
        at = place_for(history, p, class_of(size));
    struct lm_history_class *c = &history->entry[at];
    c->ratio[c->runs++ % LM_HISTORY_RUNS] = measured / p->seconds;
    int n = c->runs < LM_HISTORY_RUNS ? c->runs : LM_HISTORY_RUNS;
    double sorted[LM_HISTORY_RUNS];
    memcpy(sorted, c->ratio, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    c->median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
}

double lm_history_factor(const struct lm_history *history, const struct lm_prediction *p, double size)
{
    int at = find(history, p, class_of(size));
    return at >= 0 && history->entry[at].runs >= LM_HISTORY_RUNS ? history->entry[at].median : 1.0;
}

void lm_history_refine(const struct lm_history *history, double size, struct lm_prediction *candidate, int n)
{
    for (int k = 0; k < n; k++)
        candidate[k].seconds *= lm_history_factor(history, &candidate[k], size);
}
