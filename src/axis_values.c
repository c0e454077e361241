/* axis_values.c: see axis_values.h.
 *
 * A spaced axis never calls pow() or log(): a C library may differ from another one in the last bit. The ratio of a
 * logarithmic axis is an n-th root, found by bisection from + - * / alone, which IEEE 754 rounds the same everywhere
 * (Newton's method would need a good start: from a bad one it takes n steps for each factor of e). Values are rounded
 * to float at the end, and the two ends are exact.
 */
#include "axis_values.h"

#include <stdlib.h>
#include <string.h>

/* ---- the array ---- */

int lm_axis_room(const char *name, enum lm_axis_kind kind, uint64_t n, struct lm_axis *axis, struct lm_error *err)
{
    if (n > LM_AXIS_MOST)
        return lm_fail(err, LM_BAD_INPUT, "%s: %llu values are more than %llu", name, (unsigned long long)n,
                       (unsigned long long)LM_AXIS_MOST);
    size_t size = kind == LM_AXIS_SHAPE ? sizeof(struct lm_shape) : sizeof(float);
    void *room = calloc(n, size);
    if (!room)
        return lm_fail_memory(err, n * size, "an axis");
    if (kind == LM_AXIS_REAL)
        axis->real = room;
    else if (kind == LM_AXIS_WHOLE)
        axis->whole = room;
    else
        axis->shape = room;
    return LM_OK;
}

static void *values_of(struct lm_axis *axis, size_t *size)
{
    *size = axis->shape ? sizeof *axis->shape : sizeof(float);
    return axis->real ? (void *)axis->real : axis->whole ? (void *)axis->whole : (void *)axis->shape;
}

/* qsort has no context: what is sorted carries its place and its bits. */
struct keyed {
    unsigned char bits[8];
    size_t place;
};

static int by_bits_then_place(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = memcmp(x->bits, y->bits, sizeof x->bits);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

int lm_axis_drop_repeats(struct lm_axis *axis, struct lm_error *err)
{
    size_t size, kept = 0;
    unsigned char *value = values_of(axis, &size);
    struct keyed *key = calloc(axis->n, sizeof *key);
    unsigned char *repeat = calloc(axis->n, 1);
    if (!key || !repeat) {
        free(key);
        free(repeat);
        return lm_fail_memory(err, axis->n * sizeof *key, "an axis");
    }
    for (size_t k = 0; k < axis->n; k++) {
        memcpy(key[k].bits, value + k * size, size);
        key[k].place = k;
    }
    qsort(key, axis->n, sizeof *key, by_bits_then_place);
    for (size_t k = 1; k < axis->n; k++)
        repeat[key[k].place] = memcmp(key[k].bits, key[k - 1].bits, sizeof key->bits) == 0;
    for (size_t k = 0; k < axis->n; k++)
        if (!repeat[k])
            memmove(value + kept++ * size, value + k * size, size);
    axis->n = kept;
    free(key);
    free(repeat);
    return LM_OK;
}

void lm_axis_free(struct lm_axis *axis)
{
    free(axis->real);
    free(axis->whole);
    free(axis->shape);
    *axis = (struct lm_axis){0};
}

/* ---- spaced values ---- */

static double power(double r, uint64_t n)
{
    double p = 1.0;
    for (; n > 0; n /= 2, r *= r)
        if (n % 2 == 1)
            p *= r;
    return p;
}

/* ratio^(1/n) for a finite ratio > 0, n >= 1: the largest r whose n-th power is not above ratio, by bisection until two
 * neighbouring doubles are left (53 halvings for the digits and one for each binary order of magnitude). */
static double root(double ratio, uint64_t n)
{
    double low = 1.0, high = ratio;
    if (ratio < 1.0)
        return 1.0 / root(1.0 / ratio, n);
    for (double middle = low + (high - low) / 2.0; middle > low && middle < high; middle = low + (high - low) / 2.0) {
        if (power(middle, n) <= ratio)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void lm_axis_space(double from, double to, int logarithmic, uint64_t n, struct lm_axis *axis)
{
    double ratio = logarithmic ? root(to / from, n - 1) : 0.0, value = from;
    for (uint64_t k = 0; k < n; k++, value *= ratio)
        axis->real[k] = (float)(logarithmic ? value : from + (to - from) * (double)k / (double)(n - 1)) + 0.0f;
    axis->real[n - 1] = (float)to + 0.0f; /* -0 is 0 */
    axis->n = n;
}

int lm_axis_count(const char *name, uint32_t from, uint32_t to, uint32_t step, struct lm_axis *axis,
                  struct lm_error *err)
{
    int code = lm_axis_room(name, LM_AXIS_WHOLE, (to - from) / step + UINT64_C(1), axis, err);
    for (uint64_t value = from; code == LM_OK && value <= to; value += step)
        axis->whole[axis->n++] = (uint32_t)value;
    return code;
}
