/* checks.c: see checks.h. */
#include "checks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_backend.h"
#include "evaluate.h"
#include "float64.h"

int lm_check_counts(struct lm_results *results, const char *name, uint64_t compared, uint64_t mismatches,
                    struct lm_error *err)
{
    struct lm_check check = {.compared = compared, .mismatches = mismatches, .max_abs_error = NAN};
    snprintf(check.name, sizeof check.name, "%s", name);
    check.result = mismatches ? LM_CHECK_FAILED : LM_CHECK_PASSED;
    return lm_results_check(results, &check, err);
}

int lm_check_not_run(struct lm_results *results, const char *name, struct lm_error *err)
{
    struct lm_check check = {.max_abs_error = NAN, .result = LM_CHECK_NOT_RUN};
    snprintf(check.name, sizeof check.name, "%s", name);
    return lm_results_check(results, &check, err);
}

int lm_checks_verdict(const struct lm_results *results)
{
    int verdict = LM_CHECK_NOT_RUN;
    for (size_t k = 0; k < results->n_checks; k++) {
        if (results->checks[k].result == LM_CHECK_FAILED)
            return LM_CHECK_FAILED;
        if (results->checks[k].result == LM_CHECK_PASSED)
            verdict = LM_CHECK_PASSED;
    }
    return verdict;
}

/* The reference's scores of all samples; owned by the caller. */
static int score_again(struct lm_shape shape, const float *parameters, const float *x, size_t n, float **scores,
                       struct lm_error *err)
{
    const struct lm_backend *reference = &lm_backend_cpu_ref;
    const struct lm_problem nothing = {0};
    void *session;
    *scores = malloc((n * LM_CLASSES + 1) * sizeof **scores);
    if (!*scores)
        return lm_fail_memory(err, n * LM_CLASSES * sizeof **scores, "the reference's scores");
    int code = reference->open(&nothing, &session, err);
    if (code == LM_OK) {
        code = reference->infer(session, shape, parameters, x, n, *scores, err);
        reference->close(session);
    }
    return code;
}

struct lm_check lm_compare_scores(const float *found, const float *again, size_t n)
{
    struct lm_check check = {.name = "scores", .compared = n * LM_CLASSES, .max_abs_error = 0.0};
    for (size_t k = 0; k < n * LM_CLASSES; k++) {
        double error = fabs((double)found[k] - (double)again[k]);
        if (memcmp(&found[k], &again[k], sizeof *found) != 0 || isnan(found[k]))
            check.mismatches++;
        if (!isnan(check.max_abs_error) && !(error <= check.max_abs_error))
            check.max_abs_error = error;
    }
    check.result = check.mismatches ? LM_CHECK_FAILED : LM_CHECK_PASSED;
    return check;
}

struct lm_check lm_compare_double(struct lm_shape shape, const float *parameters, const float *x, const float *found,
                                  size_t n)
{
    struct lm_check check = {.name = "float64", .compared = n * LM_CLASSES, .max_abs_error = 0.0};
    for (size_t k = 0; k < n; k++) {
        double score[LM_CLASSES], bound[LM_CLASSES];
        lm_forward64(shape, parameters, x + k * LM_PIXELS, score, bound);
        for (int c = 0; c < LM_CLASSES; c++) {
            double error = fabs((double)found[k * LM_CLASSES + c] - score[c]);
            check.mismatches += !(error <= bound[c]); /* a NaN never passes */
            if (!isnan(check.max_abs_error) && !(error <= check.max_abs_error))
                check.max_abs_error = error;
        }
    }
    check.result = check.mismatches ? LM_CHECK_FAILED : LM_CHECK_PASSED;
    return check;
}

static int compare_predictions(struct lm_results *results, const float *again, const uint8_t *label,
                               struct lm_error *err)
{
    uint64_t confusion[LM_CLASSES][LM_CLASSES] = {{0}}, wrong = 0, wrong_cells = 0;
    size_t n = results->n_scores;
    for (size_t k = 0; k < n; k++)
        wrong += results->predicted[k] != lm_predict(again + k * LM_CLASSES) || results->expected[k] != label[k];
    lm_confusion(again, label, n, NULL, confusion);
    for (int c = 0; c < LM_CLASSES * LM_CLASSES; c++)
        wrong_cells += confusion[c / LM_CLASSES][c % LM_CLASSES] != results->confusion[c / LM_CLASSES][c % LM_CLASSES];
    int code = lm_check_counts(results, "predictions", n, wrong, err);
    return code == LM_OK ? lm_check_counts(results, "confusion", LM_CLASSES * LM_CLASSES, wrong_cells, err) : code;
}

int lm_check_inference(struct lm_results *results, struct lm_shape shape, const float *parameters, const float *x,
                       const uint8_t *label, struct lm_error *err)
{
    float *again = NULL;
    int code = score_again(shape, parameters, x, results->n_scores, &again, err);
    if (code == LM_OK) {
        struct lm_check check = lm_compare_scores(results->scores, again, results->n_scores);
        code = lm_results_check(results, &check, err);
    }
    if (code == LM_OK)
        code = compare_predictions(results, again, label, err);
    if (code == LM_OK) {
        struct lm_check check = lm_compare_double(shape, parameters, x, results->scores, results->n_scores);
        code = lm_results_check(results, &check, err);
    }
    free(again);
    return code;
}
