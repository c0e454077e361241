/* calibrate_step.c: what a training step takes, and what is done once a training; and medians. See calibrate.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void lm_calibration_set(struct lm_calibration *c, double *at, double *measured, int n)
{
    qsort(measured, (size_t)n, sizeof *measured, ascending);
    *at = n % 2 ? measured[n / 2] : 0.5 * (measured[n / 2 - 1] + measured[n / 2]);
    double *spread = (double *)((char *)&c->spread + ((char *)at - (char *)&c->machine));
    *spread = *at > 0.0 ? (measured[n - 1] - measured[0]) / *at : 0.0;
}

const struct lm_backend *lm_calibrate_backend(const char *name)
{
    for (const struct lm_backend *const *b = lm_backends(); *b; b++)
        if (strcmp((*b)->name, name) == 0)
            return *b;
    return NULL;
}

/* ---- trainings ---- */

struct group {
    size_t n;
    struct lm_trial *trial;
    struct lm_training_result *result;
    double *loss;      /* of all */
    float *parameters; /* likewise */
};

static void free_group(struct group *g)
{
    free(g->trial);
    free(g->result);
    free(g->loss);
    free(g->parameters);
}

/* What the results go to is written once before: memory that is touched for the first time would count as work of the
 * first training, and be missing in what a step of the next one takes. */
static int make_group(struct lm_shape shape, size_t n, uint32_t epochs, struct group *g, struct lm_error *err)
{
    size_t floats = lm_network_floats(shape);
    *g = (struct group){.n = n};
    g->trial = calloc(n, sizeof *g->trial);
    g->result = calloc(n, sizeof *g->result);
    g->loss = malloc(n * epochs * sizeof *g->loss);
    g->parameters = malloc(n * floats * sizeof *g->parameters);
    if (!g->trial || !g->result || !g->loss || !g->parameters)
        return lm_fail_memory(err, n * floats * sizeof *g->parameters, "trainings to be timed");
    memset(g->loss, 0, n * epochs * sizeof *g->loss);
    memset(g->parameters, 0, n * floats * sizeof *g->parameters);
    for (size_t k = 0; k < n; k++) {
        g->trial[k] = (struct lm_trial){0.02f, 1.0f, 0.05f, epochs, (uint32_t)(1337 + k), 128, shape};
        g->result[k].loss = g->loss + k * epochs;
        g->result[k].parameters = g->parameters + k * floats;
    }
    return LM_OK;
}

static int time_group(const struct lm_backend *backend, void *session, struct group *g, uint32_t epochs,
                      double *seconds, struct lm_error *err)
{
    struct lm_tick nobody = {0};
    for (size_t k = 0; k < g->n; k++)
        g->trial[k].epochs = epochs;
    double start = now();
    int code = backend->train(session, g->trial, g->n, g->result, nobody, err);
    *seconds = now() - start;
    if (code == LM_OK && g->result[0].status != LM_TRIAL_OK)
        code = lm_fail(err, LM_FAILED, "%s: a training to be timed: %s", backend->name, g->result[0].reason);
    return code;
}

int lm_calibrate_step(const struct lm_backend *backend, void *session, const struct lm_problem *problem,
                      struct lm_shape shape, size_t n, uint32_t more, double *step, double *once, struct lm_error *err)
{
    struct group g;
    double one = 0.0, longer = 0.0;
    int code = make_group(shape, n, more, &g, err);
    if (code == LM_OK)
        code = time_group(backend, session, &g, 1, &one, err);
    if (code == LM_OK)
        code = time_group(backend, session, &g, more, &longer, err);
    if (longer <= one) /* something else had the processor: then what is done once counts as steps */
        one = longer / more;
    *step = (longer - one) / ((double)(more - 1) * (double)problem->train.n);
    if (once)
        *once = one > *step * (double)problem->train.n ? one - *step * (double)problem->train.n : 0.0;
    free_group(&g);
    return code;
}
