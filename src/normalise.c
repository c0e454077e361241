/* normalise.c: zero mean and unit deviation, pixel by pixel.
 *
 * The sums run over the samples in the order of the index list, in double, one sum a pixel: the order is part of the
 * answer. The inner loop runs over the 64 pixels, whose sums are independent, so a compiler may use vectors without
 * changing a bit. Two passes (mean, then deviations from it): one pass over sums of squares would lose digits.
 *
 * A pixel that never changes gets scale 1e-6, as in the lab, and so becomes 0 in training; a value that differs in the
 * test part becomes large, but stays finite.
 */
#include "normalise.h"

#include <math.h>
#include <string.h>

#define SMALLEST_SCALE 1e-6

static const double *pixels_of(const struct lm_dataset *data, uint32_t sample)
{
    return data->pixel + (size_t)sample * LM_PIXELS;
}

void lm_scaler_fit(const struct lm_dataset *data, const uint32_t *index, size_t n, struct lm_scaler *out)
{
    double sum[LM_PIXELS] = {0}, square[LM_PIXELS] = {0};

    for (size_t i = 0; i < n; i++) {
        const double *pixel = pixels_of(data, index[i]);
        for (int p = 0; p < LM_PIXELS; p++)
            sum[p] += pixel[p];
    }
    for (int p = 0; p < LM_PIXELS; p++)
        out->mean[p] = sum[p] / (double)n;

    for (size_t i = 0; i < n; i++) {
        const double *pixel = pixels_of(data, index[i]);
        for (int p = 0; p < LM_PIXELS; p++) {
            double deviation = pixel[p] - out->mean[p];
            square[p] += deviation * deviation;
        }
    }
    for (int p = 0; p < LM_PIXELS; p++) {
        double deviation = sqrt(square[p] / (double)n);
        /* Written so that a NaN is kept: lm_scaler_gather refuses it. */
        out->scale[p] = deviation < SMALLEST_SCALE ? SMALLEST_SCALE : deviation;
    }
}

void lm_scaler_apply(const struct lm_scaler *scaler, const double *pixel, float *x)
{
    for (int p = 0; p < LM_PIXELS; p++)
        x[p] = (float)((pixel[p] - scaler->mean[p]) / scaler->scale[p]);
}

static int all_finite(const float *x)
{
    int finite = 1;

    for (int p = 0; p < LM_PIXELS; p++)
        finite &= isfinite(x[p]) != 0;
    return finite;
}

static int refuse(const struct lm_scaler *scaler, const struct lm_dataset *data, uint32_t sample, const float *x,
                  struct lm_error *err)
{
    char where[LM_WHERE_TEXT];
    int p = 0;

    while (p < LM_PIXELS - 1 && isfinite(x[p]))
        p++;
    lm_dataset_where(data, sample, where, sizeof where);
    return lm_fail(err, LM_BAD_INPUT,
                   "%s: value %d: %.17g with mean %.17g and scale %.17g is not a finite float32 once normalised", where,
                   p + 1, pixels_of(data, sample)[p], scaler->mean[p], scaler->scale[p]);
}

/* Value p has no mean or no deviation: its largest among the samples is the likely cause. */
static int refuse_scale(const struct lm_scaler *scaler, const struct lm_dataset *data, const uint32_t *index, size_t n,
                        int p, struct lm_error *err)
{
    char where[LM_WHERE_TEXT] = "no samples";
    size_t largest = 0;

    for (size_t i = 1; i < n; i++)
        if (fabs(pixels_of(data, index[i])[p]) > fabs(pixels_of(data, index[largest])[p]))
            largest = i;
    if (n > 0)
        lm_dataset_where(data, index[largest], where, sizeof where);
    return lm_fail(err, LM_BAD_INPUT, "%s: value %d: %.17g, the largest, is too large to normalise (mean %g, scale %g)",
                   where, p + 1, n > 0 ? pixels_of(data, index[largest])[p] : 0.0, scaler->mean[p], scaler->scale[p]);
}

int lm_scaler_gather(const struct lm_scaler *scaler, const struct lm_dataset *data, const uint32_t *index, size_t n,
                     float *x, struct lm_error *err)
{
    /* An infinite scale (squares beyond 1e308) would turn every value into a silent 0. */
    for (int p = 0; p < LM_PIXELS; p++)
        if (!isfinite(scaler->mean[p]) || !isfinite(scaler->scale[p]))
            return refuse_scale(scaler, data, index, n, p, err);

    for (size_t i = 0; i < n; i++, x += LM_PIXELS) {
        lm_scaler_apply(scaler, pixels_of(data, index[i]), x);
        if (!all_finite(x))
            return refuse(scaler, data, index[i], x, err);
    }
    return LM_OK;
}
