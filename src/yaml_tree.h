/* yaml_tree.h: a YAML text as a tree of nodes with their lines, by libyaml; and what its readers have in common.
 *
 * One document of scalars, lists and mappings, nested at most LM_YAML_DEPTH deep. Anchors, aliases and tags are
 * refused: they say nothing that cannot be said by the values themselves, and an alias may stand for more than memory
 * holds.
 *
 * Every fault is LM_BAD_INPUT and "NAME:LINE: what is wrong; what to do".
 */
#ifndef LM_YAML_TREE_H
#define LM_YAML_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define LM_YAML_DEPTH      8
#define LM_YAML_MOST_BYTES ((size_t)1 << 20)

enum lm_yaml_kind { LM_YAML_SCALAR, LM_YAML_LIST, LM_YAML_MAP };

struct lm_yaml_node {
    enum lm_yaml_kind kind;
    uint32_t line; /* from 1 */
    int plain;     /* scalar: without quotes */
    char *text;    /* scalar: (n), and a 0 behind it; owned by the tree */
    size_t n;
    uint32_t items;       /* children; of a mapping keys and values in turn */
    uint32_t first, next; /* places in the tree of the first child, and of the next one of its parent; 0: none */
};

struct lm_yaml_tree {
    const char *name;          /* of the file, for messages; borrowed */
    struct lm_error *err;      /* where faults go; borrowed */
    struct lm_yaml_node *node; /* (n), owned; the root is node[0] */
    size_t n, room;
};

/* name and err are borrowed for the tree's life. LM_UNAVAILABLE: a build without libyaml; LM_FAILED: out of memory. On
 * failure nothing is owned by *out. */
int lm_yaml_parse(const char *name, const char *text, size_t n, struct lm_yaml_tree *out, struct lm_error *err);
void lm_yaml_free(struct lm_yaml_tree *tree);

/* The version of libyaml in this program, or NULL. */
const char *lm_yaml_version(void);

/* ---- for readers of a tree; `what` is the key that a value belongs to ---- */

const struct lm_yaml_node *lm_yaml_first(const struct lm_yaml_tree *tree, const struct lm_yaml_node *parent);
const struct lm_yaml_node *lm_yaml_next(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node);

/* Returns LM_BAD_INPUT. */
int lm_yaml_fault(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A node in a message: its text in quotes (cut), "a list", "a mapping", "nothing". */
#define LM_YAML_SHOWN 64
const char *lm_yaml_show(const struct lm_yaml_node *node, char text[LM_YAML_SHOWN]);

/* The values of a mapping's keys, value[k] for known[k], NULL where it is not there. A key that is none of them names
 * the nearest; one that comes twice is refused. */
int lm_yaml_keys(const struct lm_yaml_tree *tree, const struct lm_yaml_node *map, const char *what,
                 const char *const *known, size_t n, const struct lm_yaml_node **value);

/* A plain scalar that is a whole number from least to most. */
int lm_yaml_whole(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what, uint64_t least,
                  uint64_t most, uint64_t *out);
/* A plain scalar that is a number: decimal, finite as a double. -0 becomes 0. */
int lm_yaml_real(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what, double *out);
/* A scalar that is one of the words: *out is its place. */
int lm_yaml_word(const struct lm_yaml_tree *tree, const struct lm_yaml_node *node, const char *what,
                 const char *const *word, size_t n, int *out);

#endif
