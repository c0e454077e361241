/* json.c: see json.h. */
#include "json.h"

#include <inttypes.h>
#include <math.h>

#include "number.h"

void lm_json_begin(struct lm_json *json, FILE *f)
{
    *json = (struct lm_json){.f = f};
}

static void put_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void before(struct lm_json *json, const char *key)
{
    if (json->filled[json->depth])
        fputc(',', json->f);
    if (json->depth > 0)
        fprintf(json->f, "\n%*s", 1 * json->depth, "");
    json->filled[json->depth] = 1;
    if (key) {
        put_string(json->f, key);
        fputs(": ", json->f);
    }
}

void lm_json_open(struct lm_json *json, const char *key, char bracket)
{
    before(json, key);
    fputc(bracket, json->f);
    json->filled[++json->depth] = 0;
}

void lm_json_close(struct lm_json *json, char bracket)
{
    json->depth--;
    fputc(bracket, json->f);
    if (json->depth == 0)
        fputc('\n', json->f);
}

void lm_json_text(struct lm_json *json, const char *key, const char *value)
{
    before(json, key);
    put_string(json->f, value);
}

void lm_json_whole(struct lm_json *json, const char *key, int64_t value)
{
    before(json, key);
    fprintf(json->f, "%" PRId64, value);
}

void lm_json_double(struct lm_json *json, const char *key, double value)
{
    before(json, key);
    if (isfinite(value))
        fprintf(json->f, "%.17g", value);
    else
        fputs("null", json->f);
}

void lm_json_float(struct lm_json *json, const char *key, float value)
{
    char text[LM_FLOAT_TEXT];
    before(json, key);
    fputs(isfinite(value) ? lm_float_text(value, text) : "null", json->f);
}
