/* axis.c: see axis.h.
 *
 * A spaced axis never calls pow() or log(): a C library may differ from another one in the last bit. The ratio of a
 * logarithmic axis is an n-th root, found by bisection from + - * / alone, which IEEE 754 rounds the same everywhere
 * (Newton's method would need a good start: from a bad one it takes n steps for each factor of e). Values are rounded
 * to float at the end, and the two ends are exact.
 */
#include "axis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

#define MOST_VALUES (UINT64_C(1) << 24)

const struct lm_axis_rule lm_grid_rule[LM_GRID_AXES] = {
    {"--learning-rate", LM_AXIS_REAL, 0.0, 3.4e38, 1, 0}, {"--decay", LM_AXIS_REAL, 0.0, 1e3, 1, 0},
    {"--initial-range", LM_AXIS_REAL, 0.0, 1e3, 0, 0},    {"--epochs", LM_AXIS_WHOLE, 1, 1e6, 0, 1},
    {"--hidden", LM_AXIS_SHAPE, 1, LM_MAX_HIDDEN, 0, 1},  {"--seed", LM_AXIS_WHOLE, 0, 4294967295.0, 0, 1},
    {"--block", LM_AXIS_WHOLE, 32, 1024, 0, 32},
};

/* ---- one value ---- */

static double nearest_allowed(const struct lm_axis_rule *rule, double value)
{
    return value < rule->least ? rule->least : value > rule->most ? rule->most : value;
}

static int out_of_range(const struct lm_axis_rule *rule, const char *text, size_t n, double value, struct lm_error *err)
{
    char nearest[40] = ""; /* above an excluded end there is no nearest value */
    if (!(rule->least_excluded && value <= rule->most))
        snprintf(nearest, sizeof nearest, "; nearest: %.9g", nearest_allowed(rule, value));
    return lm_fail(err, LM_BAD_INPUT, "%s: %.*s is out of range (%s%.9g to %.9g)%s", rule->name, (int)n, text,
                   rule->least_excluded ? "above " : "", rule->least, rule->most, nearest);
}

static int real_value(const struct lm_axis_rule *rule, const char *text, size_t n, double *out, struct lm_error *err)
{
    if (!lm_read_real(text, n, out))
        return lm_fail(err, LM_BAD_INPUT, "%s: '%.*s' is not a number such as 0.02 or 1e-3%s", rule->name, (int)n, text,
                       memchr(text, ';', n) ? " (values are separated by commas, decimals by a point)" : "");
    /* The range holds for the float that it becomes: 1e-60 is a 0. */
    if (*out < rule->least || *out > rule->most || (rule->least_excluded && (float)*out <= (float)rule->least))
        return out_of_range(rule, text, n, *out, err);
    *out += 0.0; /* -0 is 0 */
    return LM_OK;
}

/* Digits alone; more of them than a uint64_t holds are UINT64_MAX: out of every range. */
static int read_digits(const char *text, size_t n, uint64_t *out)
{
    *out = UINT64_MAX;
    for (size_t k = 0; k < n; k++)
        if (text[k] < '0' || text[k] > '9')
            return 0;
    return lm_read_whole(text, n, UINT64_MAX, out) || n > 0;
}

static int whole_value(const struct lm_axis_rule *rule, const char *text, size_t n, uint64_t *out, struct lm_error *err)
{
    if (!read_digits(text, n, out))
        return lm_fail(err, LM_BAD_INPUT, "%s: '%.*s' is not a whole number (%.0f to %.0f)", rule->name, (int)n, text,
                       rule->least, rule->most);
    if (*out <= UINT32_MAX && *out % rule->step != 0) {
        uint64_t below = *out - *out % rule->step, above = below + rule->step;
        if ((double)below < rule->least)
            below = above;
        if ((double)above > rule->most)
            above = below = (uint64_t)rule->most;
        return lm_fail(err, LM_BAD_INPUT, "%s: %.*s is not a multiple of %u (%.0f to %.0f); nearest: %llu%s%.0llu",
                       rule->name, (int)n, text, rule->step, rule->least, rule->most, (unsigned long long)below,
                       below == above ? "" : " or ", (unsigned long long)(below == above ? 0 : above));
    }
    if ((double)*out < rule->least || (double)*out > rule->most)
        return lm_fail(err, LM_BAD_INPUT, "%s: %.*s is out of range (%.0f to %.0f); nearest: %.0f", rule->name, (int)n,
                       text, rule->least, rule->most, nearest_allowed(rule, (double)*out));
    return LM_OK;
}

static int shape_value(const struct lm_axis_rule *rule, const char *text, size_t n, struct lm_shape *out,
                       struct lm_error *err)
{
    const char *x = memchr(text, 'x', n);
    uint64_t width[2];
    if (!x || !read_digits(text, (size_t)(x - text), &width[0]) ||
        !read_digits(x + 1, n - 1 - (size_t)(x - text), &width[1]))
        return lm_fail(err, LM_BAD_INPUT, "%s: '%.*s' is no pair of widths such as 32x16", rule->name, (int)n, text);
    double near[2] = {nearest_allowed(rule, (double)width[0]), nearest_allowed(rule, (double)width[1])};
    if (near[0] != (double)width[0] || near[1] != (double)width[1])
        return lm_fail(err, LM_BAD_INPUT, "%s: %.*s is out of range (widths %.0f to %.0f); nearest: %.0fx%.0f",
                       rule->name, (int)n, text, rule->least, rule->most, near[0], near[1]);
    *out = (struct lm_shape){(uint32_t)width[0], (uint32_t)width[1]};
    return LM_OK;
}

/* ---- the array ---- */

static int make_room(const struct lm_axis_rule *rule, uint64_t n, struct lm_axis *axis, struct lm_error *err)
{
    if (n > MOST_VALUES)
        return lm_fail(err, LM_BAD_INPUT, "%s: %llu values are more than %llu", rule->name, (unsigned long long)n,
                       (unsigned long long)MOST_VALUES);
    size_t size = rule->kind == LM_AXIS_SHAPE ? sizeof(struct lm_shape) : sizeof(float);
    void *room = calloc(n, size);
    if (!room)
        return lm_fail_memory(err, n * size, "an axis");
    if (rule->kind == LM_AXIS_REAL)
        axis->real = room;
    else if (rule->kind == LM_AXIS_WHOLE)
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

/* Keeps the first of equal values. */
static int drop_repeats(struct lm_axis *axis, struct lm_error *err)
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

/* ---- the forms ---- */

static int put_value(const struct lm_axis_rule *rule, const char *text, size_t n, struct lm_axis *axis,
                     struct lm_error *err)
{
    double real;
    uint64_t whole;
    int code;
    switch (rule->kind) {
    case LM_AXIS_REAL:
        if ((code = real_value(rule, text, n, &real, err)) == LM_OK)
            axis->real[axis->n++] = (float)real;
        return code;
    case LM_AXIS_WHOLE:
        if ((code = whole_value(rule, text, n, &whole, err)) == LM_OK)
            axis->whole[axis->n++] = (uint32_t)whole;
        return code;
    default:
        if ((code = shape_value(rule, text, n, &axis->shape[axis->n], err)) == LM_OK)
            axis->n++;
        return code;
    }
}

static int parse_list(const struct lm_axis_rule *rule, const char *text, struct lm_axis *axis, struct lm_error *err)
{
    uint64_t values = 1;
    for (const char *c = text; *c; c++)
        values += *c == ',';
    int code = make_room(rule, values, axis, err);
    while (code == LM_OK) {
        size_t n = strcspn(text, ",");
        code = put_value(rule, text, n, axis, err);
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    return code;
}

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

static int parse_spaced(const struct lm_axis_rule *rule, const char *a, size_t a_size, const char *b, size_t b_size,
                        const char *spacing, struct lm_axis *axis, struct lm_error *err)
{
    double from, to;
    uint64_t n;
    int code, logarithmic = strncmp(spacing, "log", 3) == 0;
    if (rule->kind != LM_AXIS_REAL || (!logarithmic && strncmp(spacing, "lin", 3) != 0) ||
        !lm_read_whole(spacing + 3, strlen(spacing + 3), 100000, &n) || n < 2)
        return lm_fail(err, LM_BAD_INPUT, "%s: '%s' is no spacing: %s", rule->name, spacing,
                       rule->kind == LM_AXIS_REAL ? "log16 or lin16, with 2 to 100000 values" : "write A:B");
    if ((code = real_value(rule, a, a_size, &from, err)) != LM_OK ||
        (code = real_value(rule, b, b_size, &to, err)) != LM_OK || (code = make_room(rule, n, axis, err)) != LM_OK)
        return code;
    if (logarithmic && !((float)from > 0.0f && (float)to > 0.0f)) /* 1e-320 becomes a 0, and the ratio infinite */
        return lm_fail(err, LM_BAD_INPUT, "%s: a logarithmic axis needs values above 0", rule->name);
    double ratio = logarithmic ? root(to / from, n - 1) : 0.0, value = from;
    for (uint64_t k = 0; k < n; k++, value *= ratio)
        axis->real[k] = (float)(logarithmic ? value : from + (to - from) * (double)k / (double)(n - 1));
    axis->real[n - 1] = (float)to;
    axis->n = n;
    return LM_OK;
}

static int parse_range(const struct lm_axis_rule *rule, const char *a, size_t a_size, const char *b,
                       struct lm_axis *axis, struct lm_error *err)
{
    uint64_t from, to;
    int code;
    if (rule->kind != LM_AXIS_WHOLE)
        return lm_fail(err, LM_BAD_INPUT, "%s: %.*s:%s: a range needs whole numbers; or write A:B:lin16, A:B:log16",
                       rule->name, (int)a_size, a, b);
    if ((code = whole_value(rule, a, a_size, &from, err)) != LM_OK ||
        (code = whole_value(rule, b, strlen(b), &to, err)) != LM_OK)
        return code;
    if (to < from)
        return lm_fail(err, LM_BAD_INPUT, "%s: %.*s:%s ends before it begins", rule->name, (int)a_size, a, b);
    if ((code = make_room(rule, (to - from) / rule->step + 1, axis, err)) != LM_OK)
        return code;
    for (uint64_t value = from; value <= to; value += rule->step)
        axis->whole[axis->n++] = (uint32_t)value;
    return LM_OK;
}

int lm_axis_parse(const struct lm_axis_rule *rule, const char *text, struct lm_axis *out, struct lm_error *err)
{
    *out = (struct lm_axis){0};
    size_t first = strcspn(text, ":");
    int code;
    if (text[first] == '\0') {
        code = parse_list(rule, text, out, err);
    } else {
        const char *b = text + first + 1;
        size_t second = strcspn(b, ":");
        code = b[second] == ':' ? parse_spaced(rule, text, first, b, second, b + second + 1, out, err)
                                : parse_range(rule, text, first, b, out, err);
    }
    if (code == LM_OK)
        code = drop_repeats(out, err);
    if (code != LM_OK)
        lm_axis_free(out);
    return code;
}

void lm_axis_free(struct lm_axis *axis)
{
    free(axis->real);
    free(axis->whole);
    free(axis->shape);
    *axis = (struct lm_axis){0};
}
