/* voc.c: see voc.h. */
#include "voc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_read.h"
#include "number.h"

#ifdef LM_HAVE_EXPAT

#include <expat.h>

#define MOST_DEPTH  32
#define MOST_DIGITS 24
#define PATH_SIZE   128

enum { WIDTH, HEIGHT, XMIN, YMIN, XMAX, YMAX, VALUES };
static const char *const place[VALUES] = {"/annotation/size/width",         "/annotation/size/height",
                                          "/annotation/object/bndbox/xmin", "/annotation/object/bndbox/ymin",
                                          "/annotation/object/bndbox/xmax", "/annotation/object/bndbox/ymax"};
static const char *const name[VALUES] = {"width", "height", "xmin", "ymin", "xmax", "ymax"};

struct parsing {
    XML_Parser parser;
    int depth;
    int foreign;          /* elements open that are longer names than ours, and all in them */
    char path[PATH_SIZE]; /* of the element, where none is foreign */
    size_t end[MOST_DEPTH];
    char text[MOST_DIGITS + 1]; /* of the value that is being read */
    size_t length;
    int closed; /* a blank has come behind it */
    int boxes, value_of[VALUES];
    uint64_t value[VALUES];
    struct lm_error *err;
    int code;
};

/* The first failure counts. */
static void stop(struct parsing *p, const char *what, const char *detail)
{
    if (p->code != LM_OK)
        return;
    p->code = lm_fail(p->err, LM_BAD_INPUT, "line %lu: %s%s", (unsigned long)XML_GetCurrentLineNumber(p->parser), what,
                      detail);
    XML_StopParser(p->parser, XML_FALSE);
}

static int value_here(const struct parsing *p)
{
    for (int k = 0; k < VALUES; k++)
        if (!p->foreign && strcmp(p->path, place[k]) == 0)
            return k;
    return -1;
}

static void XMLCALL begin_element(void *user, const XML_Char *element, const XML_Char **attributes)
{
    struct parsing *p = user;
    (void)attributes;
    if (p->depth == MOST_DEPTH) {
        stop(p, "elements within elements within elements", "");
        return;
    }
    if (value_here(p) >= 0) {
        stop(p, "an element within ", name[value_here(p)]);
        return;
    }
    size_t used = strlen(p->path), length = strlen(element);
    p->end[p->depth++] = used;
    p->length = 0;
    p->closed = 0;
    if (p->foreign || used + length + 2 > PATH_SIZE) {
        p->foreign++;
        return;
    }
    p->path[used] = '/';
    memcpy(p->path + used + 1, element, length + 1);
    if (strcmp(p->path, "/annotation/object/bndbox") == 0 && ++p->boxes > 1)
        stop(p, "a second box: one hand was expected", "");
}

static void XMLCALL take_text(void *user, const XML_Char *text, int n)
{
    struct parsing *p = user;
    if (value_here(p) < 0)
        return;
    for (int k = 0; k < n; k++) {
        if (text[k] == ' ' || text[k] == '\t' || text[k] == '\n' || text[k] == '\r') {
            p->closed = p->length > 0;
            continue;
        }
        if (p->closed || p->length == MOST_DIGITS) {
            stop(p, "a number was expected in ", name[value_here(p)]);
            return;
        }
        p->text[p->length++] = text[k];
    }
}

static void XMLCALL end_element(void *user, const XML_Char *element)
{
    struct parsing *p = user;
    int k = value_here(p);
    (void)element;
    if (k >= 0) {
        if (p->value_of[k]++)
            stop(p, "a second ", name[k]);
        else if (!lm_read_whole(p->text, p->length, UINT32_MAX, &p->value[k]))
            stop(p, "a whole number from 0 was expected in ", name[k]);
    }
    p->path[p->end[--p->depth]] = '\0';
    p->foreign -= p->foreign > 0;
    p->length = 0;
    p->closed = 0;
}

static void XMLCALL refuse_entity(void *user, const XML_Char *entity, int is_parameter, const XML_Char *value, int n,
                                  const XML_Char *base, const XML_Char *system, const XML_Char *public_id,
                                  const XML_Char *notation)
{
    (void)entity, (void)is_parameter, (void)value, (void)n, (void)base, (void)system, (void)public_id, (void)notation;
    stop(user, "it declares entities, which is refused: a few lines can stand for gigabytes", "");
}

static int check_values(const struct parsing *p, struct lm_voc *out, struct lm_error *err)
{
    if (p->boxes == 0)
        return lm_fail(err, LM_BAD_INPUT, "no annotation/object/bndbox in it: no box");
    for (int k = XMIN; k < VALUES; k++)
        if (!p->value_of[k])
            return lm_fail(err, LM_BAD_INPUT, "the box has no %s", name[k]);
    out->width = (uint32_t)p->value[WIDTH];
    out->height = (uint32_t)p->value[HEIGHT];
    out->box = (struct lm_box){(uint32_t)p->value[XMIN], (uint32_t)p->value[YMIN], (uint32_t)p->value[XMAX],
                               (uint32_t)p->value[YMAX]};
    return LM_OK;
}

static int parse(struct parsing *p, const uint8_t *bytes, size_t n, struct lm_voc *out, struct lm_error *err)
{
    XML_SetUserData(p->parser, p);
    XML_SetElementHandler(p->parser, begin_element, end_element);
    XML_SetCharacterDataHandler(p->parser, take_text);
    XML_SetEntityDeclHandler(p->parser, refuse_entity);
    if (XML_Parse(p->parser, (const char *)bytes, (int)n, XML_TRUE) == XML_STATUS_OK && p->code == LM_OK)
        return check_values(p, out, err);
    if (p->code != LM_OK)
        return p->code;
    enum XML_Error reason = XML_GetErrorCode(p->parser);
    if (reason == XML_ERROR_NO_MEMORY)
        return lm_fail_memory(err, n, "an XML file");
    return lm_fail(err, LM_BAD_INPUT, "line %lu: no well-formed XML: %s",
                   (unsigned long)XML_GetCurrentLineNumber(p->parser), XML_ErrorString(reason));
}

int lm_voc_parse(const uint8_t *bytes, size_t n, struct lm_voc *out, struct lm_error *err)
{
    struct parsing p = {.err = err, .parser = XML_ParserCreate(NULL)};
    *out = (struct lm_voc){0};
    if (!p.parser)
        return lm_fail_memory(err, n, "an XML file");
    int code = n <= LM_VOC_MOST_BYTES ? parse(&p, bytes, n, out, err)
                                      : lm_fail(err, LM_BAD_INPUT, "%zu bytes are too many", n);
    XML_ParserFree(p.parser);
    return code;
}

void lm_voc_library(char *text, size_t size)
{
    XML_Expat_Version version = XML_ExpatVersionInfo();
    snprintf(text, size, "expat %d.%d.%d", version.major, version.minor, version.micro);
}

#else

int lm_voc_parse(const uint8_t *bytes, size_t n, struct lm_voc *out, struct lm_error *err)
{
    (void)bytes, (void)n;
    *out = (struct lm_voc){0};
    return lm_fail(err, LM_UNAVAILABLE,
                   "the box is in XML, and this program was built without expat (libexpat1-dev); --whole takes the "
                   "whole picture");
}

void lm_voc_library(char *text, size_t size)
{
    snprintf(text, size, "none: built without expat (libexpat1-dev)");
}

#endif

int lm_voc_load(const char *path, struct lm_voc *out, struct lm_error *err)
{
    uint8_t *bytes;
    size_t n;
    *out = (struct lm_voc){0};
    int code = lm_file_read(path, LM_VOC_MOST_BYTES, &bytes, &n, err);
    if (code != LM_OK)
        return code;
    code = lm_voc_parse(bytes, n, out, err);
    free(bytes);
    return code == LM_OK ? LM_OK : lm_fail_within(err, "%s: ", path);
}
