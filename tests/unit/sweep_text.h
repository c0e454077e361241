/* sweep_text.h: sweep files that lie in memory, read or refused. Include after cmocka.h. */
#ifndef TEST_SWEEP_TEXT_H
#define TEST_SWEEP_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_yaml.h"

#define P "parameters: {}\n" /* what each file must have */

static inline int parse_sweep(const char *text, size_t n, struct lm_sweep_spec *spec, struct lm_error *err)
{
    char *copy = malloc(n + 1); /* of its own size: a sanitizer sees what is read behind it */
    memcpy(copy, text, n);
    copy = realloc(copy, n ? n : 1);
    int code = lm_sweep_parse("a.yaml", copy, n, spec, err);
    free(copy);
    return code;
}

static inline struct lm_sweep_spec accept(const char *text)
{
    struct lm_sweep_spec spec;
    struct lm_error err;
    if (parse_sweep(text, strlen(text), &spec, &err) != LM_OK)
        fail_msg("%s", err.text);
    return spec;
}

static inline void refuse_bytes(const char *text, size_t n, const char *message)
{
    static const struct lm_sweep_spec empty;
    struct lm_sweep_spec spec;
    struct lm_error err;
    char whole[400];
    snprintf(whole, sizeof whole, "a.yaml:%s", message);
    if (parse_sweep(text, n, &spec, &err) != LM_BAD_INPUT)
        fail_msg("accepted; wanted: %s", message);
    assert_string_equal(err.text, whole);
    assert_memory_equal(&spec, &empty, sizeof spec); /* nothing to free */
}

static inline void refuse(const char *text, const char *message)
{
    refuse_bytes(text, strlen(text), message);
}

#endif
