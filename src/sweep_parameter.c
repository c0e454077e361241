/* sweep_parameter.c: see sweep_parameter.h.
 *
 * A value may be any number that the parameter's type holds, unlike on the command line: a value that cannot be trained
 * makes trials that fail, each with its reason, and the others go on (trial_fault.c).
 */
#include "sweep_parameter.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "axis_values.h"
#include "number.h"

int lm_sweep_standard(int k, struct lm_parameter *out, struct lm_error *err)
{
    static const char *const standard[LM_GRID_AXES] = {"0.02", "1", "0.05", "51", "32x16", "1337", "128"};
    *out = (struct lm_parameter){0};
    return lm_axis_parse(&lm_grid_rule[k], standard[k], &out->axis, err);
}

/* ---- one value ---- */

static int real_value(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what, double *out)
{
    char shown[LM_YAML_SHOWN];
    int code = lm_yaml_real(tree, node, what, out);
    if (code == LM_OK && ((float)*out > FLT_MAX || (float)*out < -FLT_MAX))
        return lm_yaml_fault(tree, node, "%s: %s is more than a float holds (3.4e38)", what, lm_yaml_show(node, shown));
    return code;
}

static int whole_value(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what,
                       uint64_t least, uint32_t *out)
{
    uint64_t value;
    int code = lm_yaml_whole(tree, node, what, least, UINT32_MAX, &value);
    if (code == LM_OK)
        *out = (uint32_t)value;
    return code;
}

static int width(const char *text, size_t n, uint32_t *out)
{
    uint64_t value;
    if (!lm_read_whole(text, n, UINT32_MAX, &value))
        return 0;
    *out = (uint32_t)value;
    return 1;
}

/* 32x16, or [32, 16]. */
static int shape_value(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what,
                       struct lm_shape *out)
{
    char shown[LM_YAML_SHOWN];
    if (node->kind == LM_YAML_LIST && node->items == 2) {
        const struct lm_yaml_node *first = lm_yaml_first(tree, node);
        int code = whole_value(tree, first, what, 0, &out->hidden1);
        return code != LM_OK ? code : whole_value(tree, lm_yaml_next(tree, first), what, 0, &out->hidden2);
    }
    const char *x = node->kind == LM_YAML_SCALAR ? memchr(node->text, 'x', node->n) : NULL;
    if (x && width(node->text, (size_t)(x - node->text), &out->hidden1) &&
        width(x + 1, node->n - 1 - (size_t)(x - node->text), &out->hidden2))
        return LM_OK;
    return lm_yaml_fault(tree, node,
                         "%s: %s is no pair of widths; write 32x16, or pairs in a list: [[32, 16], [64, 32]]", what,
                         lm_yaml_show(node, shown));
}

static int put_value(const struct lm_yaml_tree *tree, int k, const struct lm_yaml_node *node, struct lm_axis *axis)
{
    const char *what = lm_grid_name[k];
    double real = 0.0;
    int code;
    switch (lm_grid_rule[k].kind) {
    case LM_AXIS_REAL:
        code = real_value(tree, node, what, &real);
        axis->real[axis->n] = (float)real + 0.0f;
        break;
    case LM_AXIS_WHOLE:
        code = whole_value(tree, node, what, 0, &axis->whole[axis->n]);
        break;
    default:
        code = shape_value(tree, node, what, &axis->shape[axis->n]);
        break;
    }
    axis->n += code == LM_OK;
    return code;
}

/* ---- the forms ---- */

/* What a function without a place in the file has said. */
static int placed(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, int code)
{
    return code == LM_OK ? LM_OK : lm_fail_within(tree->err, "%s:%u: ", tree->name, node->line);
}

static int read_list(const struct lm_yaml_tree *tree, int k, const struct lm_yaml_node *node, struct lm_axis *axis)
{
    const char *what = lm_grid_name[k];
    const struct lm_yaml_node *item = node->kind == LM_YAML_LIST ? lm_yaml_first(tree, node) : node;
    if (!item)
        return lm_yaml_fault(tree, node, "%s: the list is empty; write a value, or leave %s out", what, what);
    if (node->kind == LM_YAML_SCALAR && node->n == 0)
        return lm_yaml_fault(tree, node, "%s: there is no value; write one, or leave %s out", what, what);
    int code =
        placed(tree, node, lm_axis_room(what, lm_grid_rule[k].kind, node->items ? node->items : 1, axis, tree->err));
    for (; item && code == LM_OK; item = item == node ? NULL : lm_yaml_next(tree, item))
        code = put_value(tree, k, item, axis);
    return code != LM_OK ? code : placed(tree, node, lm_axis_drop_repeats(axis, tree->err));
}

enum { FROM, TO, THIRD, FOURTH, MAP_KEYS };

/* The keys of a range, of which the first two must be there. */
static int read_ends(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what,
                     const char *const *known, size_t n, const struct lm_yaml_node **value)
{
    int code = lm_yaml_keys(tree, node, what, known, n, value);
    if (code == LM_OK && (!value[FROM] || !value[TO]))
        return lm_yaml_fault(tree, node, "%s: a range needs from and to; '%s' is missing", what,
                             value[FROM] ? "to" : "from");
    return code;
}

static int read_real_range(const struct lm_yaml_tree *tree, int k, const struct lm_yaml_node *node,
                           struct lm_parameter *out)
{
    static const char *const known[] = {"from", "to", "scale", "count"}, *const scales[] = {"lin", "log"};
    const struct lm_yaml_node *value[MAP_KEYS];
    const char *what = lm_grid_name[k];
    int code = read_ends(tree, node, what, known, 4, value), scale = LM_SCALE_LIN;
    uint64_t count = 0;
    if (code == LM_OK)
        code = real_value(tree, value[FROM], what, &out->from);
    if (code == LM_OK)
        code = real_value(tree, value[TO], what, &out->to);
    if (code == LM_OK && value[THIRD])
        code = lm_yaml_word(tree, value[THIRD], "scale", scales, 2, &scale);
    if (code == LM_OK && value[FOURTH])
        code = lm_yaml_whole(tree, value[FOURTH], "count", 2, LM_AXIS_MOST_SPACE, &count);
    if (code != LM_OK)
        return code;
    if (scale == LM_SCALE_LOG && !((float)out->from > 0.0f && (float)out->to > 0.0f))
        return lm_yaml_fault(tree, (float)out->from > 0.0f ? value[TO] : value[FROM],
                             "%s: a logarithmic scale needs values above 0; or write scale: lin", what);
    out->scale = (enum lm_scale)scale;
    out->continuous = !value[FOURTH];
    if (out->continuous)
        return LM_OK;
    code = placed(tree, node, lm_axis_room(what, LM_AXIS_REAL, count, &out->axis, tree->err));
    if (code != LM_OK)
        return code;
    lm_axis_space(out->from, out->to, scale == LM_SCALE_LOG, count, &out->axis);
    return placed(tree, node, lm_axis_drop_repeats(&out->axis, tree->err));
}

static int read_whole_range(const struct lm_yaml_tree *tree, int k, const struct lm_yaml_node *node,
                            struct lm_parameter *out)
{
    static const char *const known[] = {"from", "to", "step"};
    const struct lm_yaml_node *value[MAP_KEYS];
    const char *what = lm_grid_name[k];
    uint32_t from = 0, to = 0, step = lm_grid_rule[k].step;
    int code = read_ends(tree, node, what, known, 3, value);
    if (code == LM_OK)
        code = whole_value(tree, value[FROM], what, 0, &from);
    if (code == LM_OK)
        code = whole_value(tree, value[TO], what, 0, &to);
    if (code == LM_OK && value[THIRD])
        code = whole_value(tree, value[THIRD], "step", 1, &step);
    if (code == LM_OK && to < from)
        return lm_yaml_fault(tree, value[TO], "%s: %u to %u ends before it begins; swap them", what, from, to);
    return code != LM_OK ? code : placed(tree, node, lm_axis_count(what, from, to, step, &out->axis, tree->err));
}

int lm_sweep_parameter(const struct lm_yaml_tree *tree, int k, const struct lm_yaml_node *node,
                       struct lm_parameter *out)
{
    const enum lm_axis_kind kind = lm_grid_rule[k].kind;
    if (node->kind != LM_YAML_MAP)
        return read_list(tree, k, node, &out->axis);
    if (kind == LM_AXIS_SHAPE)
        return lm_yaml_fault(tree, node, "%s: a mapping is no list of widths; write [[32, 16], [64, 32]]",
                             lm_grid_name[k]);
    return kind == LM_AXIS_REAL ? read_real_range(tree, k, node, out) : read_whole_range(tree, k, node, out);
}
