/* yaml_read.c: what readers of a YAML tree have in common (yaml_tree.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "number.h"
#include "yaml_tree.h"

const struct lm_yaml_node *lm_yaml_first(const struct lm_yaml_tree *tree, const struct lm_yaml_node *parent)
{
    return parent->first ? &tree->node[parent->first] : NULL;
}

const struct lm_yaml_node *lm_yaml_next(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node)
{
    return node->next ? &tree->node[node->next] : NULL;
}

int lm_yaml_fault(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *format, ...)
{
    char what[sizeof tree->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return lm_fail(tree->err, LM_BAD_INPUT, "%s:%u: %s", tree->name, node->line, what);
}

const char *lm_yaml_show(const struct lm_yaml_node *node, char text[LM_YAML_SHOWN])
{
    enum { MOST = 40 };
    if (node->kind != LM_YAML_SCALAR || (node->n == 0 && node->plain)) {
        const char *what = node->kind == LM_YAML_LIST ? "a list" : node->kind == LM_YAML_MAP ? "a mapping" : "nothing";
        snprintf(text, LM_YAML_SHOWN, "%s", what);
        return text;
    }
    size_t n = node->n;
    if (n > MOST)
        for (n = MOST; n > 0 && ((unsigned char)node->text[n] & 0xC0) == 0x80;)
            n--; /* not within a character */
    text[0] = '\'';
    for (size_t k = 0; k < n; k++)
        text[1 + k] = node->text[k] ? node->text[k] : ' ';
    snprintf(text + 1 + n, LM_YAML_SHOWN - 1 - n, "%s'", n < node->n ? "..." : "");
    return text;
}

/* ---- keys ---- */

static int is_text(const struct lm_yaml_node *node, const char *text)
{
    return node->kind == LM_YAML_SCALAR && node->n == strlen(text) && memcmp(node->text, text, node->n) == 0;
}

static const char *joined(const char *const *word, size_t n, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (size_t k = 0; k < n && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", k ? ", " : "", word[k]);
    return text;
}

static int key_fault(const struct lm_yaml_tree *tree, const struct lm_yaml_node *key, const char *what,
                     const char *const *known, size_t n)
{
    char shown[LM_YAML_SHOWN], all[200];
    if (key->kind != LM_YAML_SCALAR)
        return lm_yaml_fault(tree, key, "%s: %s is no key", what, lm_yaml_show(key, shown));
    const char *nearest = strlen(key->text) == key->n ? lm_nearest(key->text, known, n) : NULL;
    if (nearest)
        return lm_yaml_fault(tree, key, "%s: unknown key %s; did you mean '%s'?", what, lm_yaml_show(key, shown),
                             nearest);
    return lm_yaml_fault(tree, key, "%s: unknown key %s; there are %s", what, lm_yaml_show(key, shown),
                         joined(known, n, all, sizeof all));
}

static int repeat_fault(const struct lm_yaml_tree *tree, const struct lm_yaml_node *map, const struct lm_yaml_node *key,
                        const char *what)
{
    const struct lm_yaml_node *before = lm_yaml_first(tree, map);
    while (!is_text(before, key->text))
        before = lm_yaml_next(tree, lm_yaml_next(tree, before));
    return lm_yaml_fault(tree, key, "%s: %s comes twice, before in line %u; leave one out", what, key->text,
                         before->line);
}

int lm_yaml_keys(const struct lm_yaml_tree *tree, const struct lm_yaml_node *map, const char *what,
                 const char *const *known, size_t n, const struct lm_yaml_node **value)
{
    char shown[LM_YAML_SHOWN], all[200];
    for (size_t k = 0; k < n; k++)
        value[k] = NULL;
    if (map->kind != LM_YAML_MAP)
        return lm_yaml_fault(tree, map, "%s: %s is no mapping; write 'key: value' with keys of %s", what,
                             lm_yaml_show(map, shown), joined(known, n, all, sizeof all));
    for (const struct lm_yaml_node *key = lm_yaml_first(tree, map); key;) {
        const struct lm_yaml_node *its = lm_yaml_next(tree, key);
        size_t k = 0;
        while (k < n && !is_text(key, known[k]))
            k++;
        if (k == n)
            return key_fault(tree, key, what, known, n);
        if (value[k])
            return repeat_fault(tree, map, key, what);
        value[k] = its;
        key = lm_yaml_next(tree, its);
    }
    return LM_OK;
}

/* ---- scalars ---- */

/* A number, as far as quotes and kinds go. */
static int wants_number(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what)
{
    char shown[LM_YAML_SHOWN];
    if (node->kind == LM_YAML_SCALAR && node->plain && node->n > 0)
        return LM_OK;
    return lm_yaml_fault(tree, node, "%s: %s is %s", what, lm_yaml_show(node, shown),
                         node->kind == LM_YAML_SCALAR && !node->plain ? "a text; write a number, without quotes"
                                                                      : "no number");
}

int lm_yaml_whole(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what, uint64_t least,
                  uint64_t most, uint64_t *out)
{
    char shown[LM_YAML_SHOWN];
    int code = wants_number(tree, node, what);
    if (code == LM_OK && (!lm_read_whole(node->text, node->n, most, out) || *out < least))
        return lm_yaml_fault(tree, node, "%s: %s is not a whole number from %llu to %llu", what,
                             lm_yaml_show(node, shown), (unsigned long long)least, (unsigned long long)most);
    return code;
}

int lm_yaml_real(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what, double *out)
{
    char shown[LM_YAML_SHOWN];
    int code = wants_number(tree, node, what);
    if (code == LM_OK && !lm_read_real(node->text, node->n, out))
        return lm_yaml_fault(tree, node, "%s: %s is not a number such as 0.02 or 1e-3%s", what,
                             lm_yaml_show(node, shown), memchr(node->text, ',', node->n) ? " (with a point)" : "");
    if (code == LM_OK)
        *out += 0.0; /* -0 is 0 */
    return code;
}

int lm_yaml_word(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what,
                 const char *const *word, size_t n, int *out)
{
    char shown[LM_YAML_SHOWN], all[200];
    for (size_t k = 0; k < n; k++)
        if (is_text(node, word[k])) {
            *out = (int)k;
            return LM_OK;
        }
    int named = node->kind == LM_YAML_SCALAR && strlen(node->text) == node->n;
    const char *nearest = named ? lm_nearest(node->text, word, n) : NULL;
    return lm_yaml_fault(tree, node, "%s: %s is none of %s%s%s%s", what, lm_yaml_show(node, shown),
                         joined(word, n, all, sizeof all), nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
}
