/* json.h: JSON (RFC 8259) on a stream, with commas and quotes in the right places. Not finite numbers are null. */
#ifndef LM_JSON_H
#define LM_JSON_H

#include <stdint.h>
#include <stdio.h>

struct lm_json {
    FILE *f;
    int depth;
    int filled[16]; /* at each depth: something stands there already */
};

void lm_json_begin(struct lm_json *json, FILE *f);
/* key is NULL inside an array. bracket is '{' or '['. */
void lm_json_open(struct lm_json *json, const char *key, char bracket);
void lm_json_close(struct lm_json *json, char bracket);
void lm_json_text(struct lm_json *json, const char *key, const char *value);
void lm_json_whole(struct lm_json *json, const char *key, int64_t value);
/* With as many digits as the type needs to be read back exactly. */
void lm_json_double(struct lm_json *json, const char *key, double value);
void lm_json_float(struct lm_json *json, const char *key, float value);

#endif
