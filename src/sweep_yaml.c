/* sweep_yaml.c: see sweep_yaml.h. The keys of a sweep file, and which go together; a parameter's value is read by
 * sweep_parameter.c, and the YAML by yaml_tree.c. */
#include "sweep_yaml.h"

#include <stdlib.h>
#include <string.h>

#include "file_read.h"
#include "options.h"
#include "sweep_parameter.h"
#include "yaml_tree.h"

#define DEFAULT_TOP 10

enum { SEARCH, TRIALS, SEARCH_SEED, PARAMETERS, HOLDOUT, OBJECTIVE, KEEP_WEIGHTS, HALVING, KEYS };
static const char *const key_name[KEYS] = {"search",  "trials",    "search_seed",  "parameters",
                                           "holdout", "objective", "keep_weights", "halving"};

enum { LEARNING_RATE, DECAY, INITIAL_RANGE, EPOCHS, HIDDEN, SEED, BLOCK };

struct reading {
    struct lm_yaml_tree tree;
    const struct lm_yaml_node *root, *value[KEYS], *parameter[LM_GRID_AXES]; /* NULL: not in the file */
    struct lm_sweep_spec *spec;
};

/* ---- the keys, one by one ---- */

static int read_search(struct reading *r)
{
    const char *word[LM_SEARCHES];
    int search = LM_SEARCH_GRID, code = LM_OK;
    uint64_t seed = 1;
    for (int k = 0; k < LM_SEARCHES; k++)
        word[k] = lm_search_text(k);
    if (r->value[SEARCH])
        code = lm_yaml_word(&r->tree, r->value[SEARCH], "search", word, LM_SEARCHES, &search);
    r->spec->search = (enum lm_search)search;
    /* A Latin hypercube's permutations have places of 32 bits. */
    if (code == LM_OK && r->value[TRIALS])
        code = lm_yaml_whole(&r->tree, r->value[TRIALS], "trials", 1,
                             search == LM_SEARCH_LATIN ? LM_MAX_TRIALS - 1 : LM_MAX_TRIALS, &r->spec->trials);
    if (code == LM_OK && r->value[SEARCH_SEED])
        code = lm_yaml_whole(&r->tree, r->value[SEARCH_SEED], "search_seed", 0, UINT32_MAX, &seed);
    r->spec->search_seed = (uint32_t)seed;
    return code;
}

static int read_selection(struct reading *r)
{
    const char *word[LM_OBJECTIVES];
    const struct lm_yaml_node *holdout = r->value[HOLDOUT];
    int objective = LM_OBJECTIVE_VALIDATION_LOSS, code = LM_OK;
    r->spec->holdout = LM_DEFAULT_HOLDOUT;
    if (holdout)
        code = lm_yaml_real(&r->tree, holdout, "holdout", &r->spec->holdout);
    if (code == LM_OK && (r->spec->holdout <= 0.0 || r->spec->holdout > 0.9))
        return lm_yaml_fault(&r->tree, holdout,
                             "holdout: %.*s is not above 0 and up to 0.9; a sweep selects by the samples that are held "
                             "out, so it needs some",
                             (int)(holdout->n < 40 ? holdout->n : 40), holdout->text);
    for (int k = 0; k < LM_OBJECTIVES; k++)
        word[k] = lm_objective_text(k);
    if (code == LM_OK && r->value[OBJECTIVE])
        code = lm_yaml_word(&r->tree, r->value[OBJECTIVE], "objective", word, LM_OBJECTIVES, &objective);
    r->spec->objective = (enum lm_objective)objective;
    return code;
}

static int read_keep_weights(struct reading *r)
{
    static const char *const top[] = {"top"}, *const word[] = {"all", "none", "{top: K}"};
    const struct lm_yaml_node *node = r->value[KEEP_WEIGHTS], *number;
    int keep = LM_KEEP_TOP, code;
    r->spec->keep = LM_KEEP_TOP;
    r->spec->keep_top = DEFAULT_TOP;
    if (!node)
        return LM_OK;
    if (node->kind == LM_YAML_MAP) {
        code = lm_yaml_keys(&r->tree, node, "keep_weights", top, 1, &number);
        if (code == LM_OK && !number)
            return lm_yaml_fault(&r->tree, node, "keep_weights: the mapping is empty; write {top: 10}, all or none");
        return code != LM_OK ? code : lm_yaml_whole(&r->tree, number, "top", 1, LM_MAX_TRIALS, &r->spec->keep_top);
    }
    code = lm_yaml_word(&r->tree, node, "keep_weights", word, 3, &keep);
    if (code == LM_OK && keep == 2)
        return lm_yaml_fault(&r->tree, node, "keep_weights: K is no number; write {top: 10}, without quotes");
    r->spec->keep = keep == 0 ? LM_KEEP_ALL : LM_KEEP_NONE;
    r->spec->keep_top = 0;
    return code;
}

static int read_rungs(struct reading *r, const struct lm_yaml_node *list)
{
    static const uint32_t standard[] = {3, 9, 27, 51};
    struct lm_sweep_spec *spec = r->spec;
    size_t n = list ? list->items : sizeof standard / sizeof *standard;
    if (list && (list->kind != LM_YAML_LIST || n == 0))
        return lm_yaml_fault(&r->tree, list, "rungs: write a list of epochs, such as [3, 9, 27, 51]");
    spec->rung = calloc(n, sizeof *spec->rung);
    if (!spec->rung)
        return lm_fail_memory(r->tree.err, n * sizeof *spec->rung, "the rungs");
    if (!list)
        memcpy(spec->rung, standard, sizeof standard);
    spec->n_rungs = n;
    const struct lm_yaml_node *item = list ? lm_yaml_first(&r->tree, list) : NULL;
    for (size_t k = 0; item; k++, item = lm_yaml_next(&r->tree, item)) {
        uint64_t epochs;
        int code = lm_yaml_whole(&r->tree, item, "rungs", (uint64_t)lm_grid_rule[EPOCHS].least,
                                 (uint64_t)lm_grid_rule[EPOCHS].most, &epochs);
        if (code != LM_OK)
            return code;
        spec->rung[k] = (uint32_t)epochs;
        if (k > 0 && spec->rung[k] <= spec->rung[k - 1])
            return lm_yaml_fault(&r->tree, item, "rungs: %u after %u; each rung has more epochs than the one before",
                                 spec->rung[k], spec->rung[k - 1]);
    }
    return LM_OK;
}

static int read_halving(struct reading *r)
{
    static const char *const known[] = {"rungs", "keep"};
    const struct lm_yaml_node *node = r->value[HALVING], *value[2] = {NULL, NULL};
    char shown[LM_YAML_SHOWN];
    int code = LM_OK;
    if (r->spec->search != LM_SEARCH_HALVING)
        return node ? lm_yaml_fault(&r->tree, node, "halving: the search is %s; say search: halving, or leave it out",
                                    lm_search_text((int)r->spec->search))
                    : LM_OK;
    if (node)
        code = lm_yaml_keys(&r->tree, node, "halving", known, 2, value);
    if (code == LM_OK)
        code = read_rungs(r, value[0]);
    r->spec->rung_keep = 0.33;
    if (code == LM_OK && value[1])
        code = lm_yaml_real(&r->tree, value[1], "keep", &r->spec->rung_keep);
    if (code == LM_OK && (r->spec->rung_keep <= 0.0 || r->spec->rung_keep > 1.0))
        return lm_yaml_fault(&r->tree, value[1], "keep: %s is not above 0 and up to 1, the part that goes on",
                             lm_yaml_show(value[1], shown));
    return code;
}

/* ---- the parameters ---- */

static int read_parameters(struct reading *r)
{
    const struct lm_yaml_node *node = r->value[PARAMETERS];
    if (!node)
        return lm_yaml_fault(&r->tree, r->root,
                             "'parameters' is missing; write it, with values below, or parameters: "
                             "{} for the defaults");
    int code = lm_yaml_keys(&r->tree, node, "parameters", lm_grid_name, LM_GRID_AXES, r->parameter);
    for (int k = 0; k < LM_GRID_AXES && code == LM_OK; k++) {
        struct lm_parameter *p = &r->spec->parameter[k];
        code = r->parameter[k] ? lm_sweep_parameter(&r->tree, k, r->parameter[k], p)
                               : lm_sweep_standard(k, p, r->tree.err);
    }
    return code;
}

/* Under halving the rungs say how many epochs. */
static int settle_epochs(struct reading *r)
{
    struct lm_axis *epochs = &r->spec->parameter[EPOCHS].axis;
    if (r->spec->search != LM_SEARCH_HALVING)
        return LM_OK;
    uint32_t last = r->spec->rung[r->spec->n_rungs - 1];
    if (r->parameter[EPOCHS] && (epochs->n != 1 || epochs->whole[0] != last))
        return lm_yaml_fault(&r->tree, r->parameter[EPOCHS],
                             "epochs: under halving the rungs say it, and the last is %u; leave epochs out", last);
    epochs->whole[0] = last;
    return LM_OK;
}

static int settle_trials(struct reading *r)
{
    const struct lm_sweep_spec *spec = r->spec;
    if (spec->search == LM_SEARCH_GRID && r->value[TRIALS])
        return lm_yaml_fault(&r->tree, r->value[TRIALS],
                             "trials: a grid is every combination of the values; say search: random (or latin, "
                             "halving) to draw so many, or leave trials out");
    if ((spec->search == LM_SEARCH_RANDOM || spec->search == LM_SEARCH_LATIN) && !r->value[TRIALS])
        return lm_yaml_fault(&r->tree, r->value[SEARCH], "search: %s needs to know how many; write trials: 100",
                             lm_search_text((int)spec->search));
    for (int k = 0; k < LM_GRID_AXES && !r->value[TRIALS]; k++)
        if (spec->parameter[k].continuous)
            return lm_yaml_fault(&r->tree, r->parameter[k],
                                 "%s: a grid needs single values; write a count in it, such as count: 16, or draw by "
                                 "%s",
                                 lm_grid_name[k],
                                 spec->search == LM_SEARCH_GRID ? "search: random with trials: 100" : "trials: 100");
    if (lm_sweep_drawn(spec) > LM_MAX_TRIALS)
        return lm_yaml_fault(&r->tree, r->value[PARAMETERS],
                             "parameters: the grid has more than %llu trials; leave values out, or draw by search: "
                             "random",
                             (unsigned long long)LM_MAX_TRIALS);
    return LM_OK;
}

static int read_tree(struct reading *r)
{
    static int (*const step[])(struct reading *) = {read_search,     read_selection, read_keep_weights, read_halving,
                                                    read_parameters, settle_epochs,  settle_trials};
    int code = lm_yaml_keys(&r->tree, r->root, "a sweep file", key_name, KEYS, r->value);
    for (size_t k = 0; k < sizeof step / sizeof *step && code == LM_OK; k++)
        code = step[k](r);
    return code;
}

int lm_sweep_parse(const char *name, const char *text, size_t n, struct lm_sweep_spec *out, struct lm_error *err)
{
    struct reading r = {.spec = out};
    *out = (struct lm_sweep_spec){0};
    int code = lm_yaml_parse(name, text, n, &r.tree, err);
    if (code != LM_OK)
        return code;
    r.root = &r.tree.node[0];
    code = read_tree(&r);
    lm_yaml_free(&r.tree);
    if (code != LM_OK)
        lm_sweep_spec_free(out);
    return code;
}

int lm_sweep_read(const char *path, struct lm_sweep_spec *out, struct lm_error *err)
{
    uint8_t *bytes;
    size_t n;
    *out = (struct lm_sweep_spec){0};
    if (!lm_yaml_version()) /* before anybody looks for a mistake in the file */
        return lm_sweep_parse(path, "", 0, out, err);
    int code = lm_file_read(path, LM_YAML_MOST_BYTES, &bytes, &n, err);
    if (code != LM_OK)
        return code;
    code = lm_sweep_parse(path, (const char *)bytes, n, out, err);
    free(bytes);
    return code;
}

const char *lm_sweep_yaml_version(void)
{
    const char *version = lm_yaml_version();
    return version ? version : "none";
}
