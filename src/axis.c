/* axis.c: see axis.h. How the values are computed is in axis_values.c. */
#include "axis.h"

#include <stdio.h>
#include <string.h>

#include "axis_values.h"
#include "number.h"

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
    int code = lm_axis_room(rule->name, rule->kind, values, axis, err);
    while (code == LM_OK) {
        size_t n = strcspn(text, ",");
        code = put_value(rule, text, n, axis, err);
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    return code;
}

static int parse_spaced(const struct lm_axis_rule *rule, const char *a, size_t a_size, const char *b, size_t b_size,
                        const char *spacing, struct lm_axis *axis, struct lm_error *err)
{
    double from, to;
    uint64_t n;
    int code, logarithmic = strncmp(spacing, "log", 3) == 0;
    if (rule->kind != LM_AXIS_REAL || (!logarithmic && strncmp(spacing, "lin", 3) != 0) ||
        !lm_read_whole(spacing + 3, strlen(spacing + 3), LM_AXIS_MOST_SPACE, &n) || n < 2)
        return lm_fail(err, LM_BAD_INPUT, "%s: '%s' is no spacing: %s", rule->name, spacing,
                       rule->kind == LM_AXIS_REAL ? "log16 or lin16, with 2 to 100000 values" : "write A:B");
    if ((code = real_value(rule, a, a_size, &from, err)) != LM_OK ||
        (code = real_value(rule, b, b_size, &to, err)) != LM_OK ||
        (code = lm_axis_room(rule->name, rule->kind, n, axis, err)) != LM_OK)
        return code;
    if (logarithmic && !((float)from > 0.0f && (float)to > 0.0f)) /* 1e-320 becomes a 0, and the ratio infinite */
        return lm_fail(err, LM_BAD_INPUT, "%s: a logarithmic axis needs values above 0", rule->name);
    lm_axis_space(from, to, logarithmic, n, axis);
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
    return lm_axis_count(rule->name, (uint32_t)from, (uint32_t)to, rule->step, axis, err);
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
        code = lm_axis_drop_repeats(out, err);
    if (code != LM_OK)
        lm_axis_free(out);
    return code;
}
