/* yaml_tree.c: libyaml's events to a tree (yaml_tree.h). The only file that includes its header. */
#include "yaml_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lm_yaml_free(struct lm_yaml_tree *tree)
{
    for (size_t k = 0; k < tree->n; k++)
        free(tree->node[k].text);
    free(tree->node);
    tree->node = NULL;
    tree->n = tree->room = 0;
}

#ifdef LM_HAVE_YAML

#include <yaml.h>

struct building {
    struct lm_yaml_tree *tree;
    const char *text; /* all of it: (n) */
    size_t n;
    int depth, documents;
    uint32_t open[LM_YAML_DEPTH], last[LM_YAML_DEPTH]; /* lists and mappings not yet closed; the last child of each */
};

static int fault_at(const struct building *b, size_t line, const char *what)
{
    return lm_fail(b->tree->err, LM_BAD_INPUT, "%s:%zu: %s", b->tree->name, line, what);
}

/* ---- what libyaml cannot read ---- */

static size_t line_at(const struct building *b, size_t offset)
{
    size_t line = 1;
    for (size_t k = 0; k < b->n && k < offset; k++)
        line += b->text[k] == '\n';
    return line;
}

/* Is that line indented by a tab? */
static int has_tab(const struct building *b, size_t line)
{
    const char *at = b->text, *end = b->text + b->n;
    for (; line > 1 && at < end; line--) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed ? feed + 1 : end;
    }
    while (at < end && *at == ' ')
        at++;
    return at < end && *at == '\t';
}

static int parser_fault(const struct building *b, const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "unreadable";
    char what[200];
    if (parser->error == YAML_MEMORY_ERROR)
        return lm_fail_memory(b->tree->err, b->n, b->tree->name);
    if (parser->error == YAML_READER_ERROR) {
        snprintf(what, sizeof what, "no text that YAML allows: %.120s; save the file as UTF-8", problem);
        return fault_at(b, line_at(b, parser->problem_offset), what);
    }
    size_t line = parser->problem_mark.line + 1;
    if (has_tab(b, line))
        return fault_at(b, line, "a tab: indent by blanks");
    snprintf(what, sizeof what, "no YAML: %.120s; look at indentation, colons, quotes and brackets", problem);
    return fault_at(b, line, what);
}

/* libyaml would take UTF-16, but its columns and our offsets would not agree. */
static int encoding_fault(const struct building *b)
{
    const unsigned char *c = (const unsigned char *)b->text;
    if (b->n >= 2 && ((c[0] == 0xFF && c[1] == 0xFE) || (c[0] == 0xFE && c[1] == 0xFF)))
        return fault_at(b, 1, "this is UTF-16: save the file as UTF-8");
    const char *zero = memchr(b->text, '\0', b->n);
    return zero ? fault_at(b, line_at(b, (size_t)(zero - b->text)), "a byte 0: this is no text in UTF-8") : LM_OK;
}

/* ---- nodes ---- */

static int make_room(struct lm_yaml_tree *tree)
{
    if (tree->n < tree->room)
        return LM_OK;
    size_t room = tree->room ? 2 * tree->room : 64;
    struct lm_yaml_node *node = realloc(tree->node, room * sizeof *node);
    if (!node)
        return lm_fail_memory(tree->err, room * sizeof *node, "a YAML file's nodes");
    tree->node = node;
    tree->room = room;
    return LM_OK;
}

/* A child of what is open. */
static int add_node(struct building *b, enum lm_yaml_kind kind, const yaml_event_t *event)
{
    struct lm_yaml_tree *tree = b->tree;
    int code = make_room(tree);
    if (code != LM_OK)
        return code;
    uint32_t place = (uint32_t)tree->n;
    struct lm_yaml_node *node = &tree->node[place];
    *node = (struct lm_yaml_node){.kind = kind, .line = (uint32_t)event->start_mark.line + 1};
    if (kind == LM_YAML_SCALAR) {
        node->n = event->data.scalar.length;
        node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        node->text = malloc(node->n + 1);
        if (!node->text)
            return lm_fail_memory(tree->err, node->n + 1, "a YAML file's text");
        memcpy(node->text, event->data.scalar.value, node->n);
        node->text[node->n] = '\0';
    }
    tree->n++;
    if (b->depth > 0) {
        uint32_t *last = &b->last[b->depth - 1], parent = b->open[b->depth - 1];
        *(tree->node[parent].items++ == 0 ? &tree->node[parent].first : &tree->node[*last].next) = place;
        *last = place;
    }
    return LM_OK;
}

static int add_group(struct building *b, enum lm_yaml_kind kind, const yaml_event_t *event)
{
    if (b->depth == LM_YAML_DEPTH)
        return fault_at(b, event->start_mark.line + 1, "lists within lists within lists: no key needs so many");
    int code = add_node(b, kind, event);
    if (code == LM_OK)
        b->open[b->depth++] = (uint32_t)b->tree->n - 1;
    return code;
}

static int refuse_extras(const struct building *b, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        return fault_at(b, event->start_mark.line + 1, "an alias (*): write the value itself");
    if (event->type == YAML_SCALAR_EVENT)
        anchor = event->data.scalar.anchor, tag = event->data.scalar.tag;
    else if (event->type == YAML_SEQUENCE_START_EVENT)
        anchor = event->data.sequence_start.anchor, tag = event->data.sequence_start.tag;
    else if (event->type == YAML_MAPPING_START_EVENT)
        anchor = event->data.mapping_start.anchor, tag = event->data.mapping_start.tag;
    if (anchor)
        return fault_at(b, event->start_mark.line + 1, "an anchor (&): leave it out, and write values themselves");
    if (tag)
        return fault_at(b, event->start_mark.line + 1, "a tag (!): leave it out");
    return LM_OK;
}

static int take_event(struct building *b, const yaml_event_t *event)
{
    int code = refuse_extras(b, event);
    if (code != LM_OK)
        return code;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->documents++ == 0 ? LM_OK
                                   : fault_at(b, event->start_mark.line + 1, "a second document: one a file, please");
    case YAML_SCALAR_EVENT:
        return add_node(b, LM_YAML_SCALAR, event);
    case YAML_SEQUENCE_START_EVENT:
        return add_group(b, LM_YAML_LIST, event);
    case YAML_MAPPING_START_EVENT:
        return add_group(b, LM_YAML_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return LM_OK;
    case YAML_STREAM_END_EVENT:
        return b->tree->n > 0 ? LM_OK : fault_at(b, 1, "the file is empty");
    default:
        return LM_OK;
    }
}

static int build(struct building *b)
{
    yaml_parser_t parser;
    int code = encoding_fault(b), done = 0;
    if (code != LM_OK)
        return code;
    if (!yaml_parser_initialize(&parser))
        return lm_fail_memory(b->tree->err, sizeof parser, "a YAML parser");
    yaml_parser_set_input_string(&parser, (const unsigned char *)b->text, b->n);
    while (code == LM_OK && !done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            code = parser_fault(b, &parser);
            break;
        }
        code = take_event(b, &event);
        done = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return code;
}

int lm_yaml_parse(const char *name, const char *text, size_t n, struct lm_yaml_tree *out, struct lm_error *err)
{
    *out = (struct lm_yaml_tree){.name = name, .err = err};
    if (n > LM_YAML_MOST_BYTES)
        return lm_fail(err, LM_BAD_INPUT, "%s:1: %zu bytes; at most %zu are read", name, n, LM_YAML_MOST_BYTES);
    struct building b = {.tree = out, .text = text, .n = n};
    int code = build(&b);
    if (code != LM_OK)
        lm_yaml_free(out);
    return code;
}

const char *lm_yaml_version(void)
{
    return yaml_get_version_string();
}

#else

int lm_yaml_parse(const char *name, const char *text, size_t n, struct lm_yaml_tree *out, struct lm_error *err)
{
    (void)text, (void)n;
    *out = (struct lm_yaml_tree){.name = name, .err = err};
    return lm_fail(
        err, LM_UNAVAILABLE,
        "%s: this build has no libyaml: install libyaml-dev and build again, or give axes on the command line "
        "(libras_mpi run --learning-rate 0.001:0.1:log16)",
        name);
}

const char *lm_yaml_version(void)
{
    return NULL;
}

#endif
