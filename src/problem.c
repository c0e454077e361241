/* problem.c: the normalised samples of a split, as a backend gets them.
 *
 * Three blocks of rows, each contiguous and aligned to a cache line, so that a backend may copy a block to a device in
 * one call, or read rows of 64 floats (four lines exactly) without crossing one.
 *
 * Left out: the order of training. It depends on a trial's seed, and a problem serves all trials.
 */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

#include "large.h"

int lm_samples_allocate(size_t n, struct lm_samples *out, struct lm_error *err)
{
    size_t row = sizeof(float) * LM_PIXELS;

    memset(out, 0, sizeof *out);
    if (n == 0)
        return LM_OK;
    if (n <= SIZE_MAX / row - 1) {
        out->x = lm_large(n * row);
        out->label = lm_large(n);
    }
    if (out->x && out->label) {
        out->n = n;
        return LM_OK;
    }
    lm_samples_free(out);
    return lm_fail_memory(err, (unsigned long long)n * (row + 1), "normalised samples");
}

void lm_samples_free(struct lm_samples *samples)
{
    free(samples->x);
    free(samples->label);
    memset(samples, 0, sizeof *samples);
}

static int gather(const struct lm_dataset *data, const uint32_t *index, size_t n, const struct lm_scaler *scaler,
                  struct lm_samples *out, struct lm_error *err)
{
    int code = lm_samples_allocate(n, out, err);

    if (code != LM_OK)
        return code;
    for (size_t i = 0; i < n; i++)
        out->label[i] = data->label[index[i]];
    return lm_scaler_gather(scaler, data, index, n, out->x, err);
}

int lm_problem_make(const struct lm_dataset *data, const struct lm_split *split, const struct lm_scaler *scaler,
                    struct lm_problem *out, struct lm_error *err)
{
    memset(out, 0, sizeof *out);
    int code = gather(data, split->train, split->n_train, scaler, &out->train, err);
    if (code == LM_OK)
        code = gather(data, split->validation, split->n_validation, scaler, &out->validation, err);
    if (code == LM_OK)
        code = gather(data, split->test, split->n_test, scaler, &out->test, err);
    if (code == LM_OK)
        memcpy(out->count, data->count, sizeof out->count);
    else
        lm_problem_free(out);
    return code;
}

void lm_problem_free(struct lm_problem *problem)
{
    lm_samples_free(&problem->train);
    lm_samples_free(&problem->validation);
    lm_samples_free(&problem->test);
    memset(problem->count, 0, sizeof problem->count);
}
