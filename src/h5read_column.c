/* h5read_column.c: columns, texts and attributes of a file that may be damaged; see h5read.h. */
#include <stdlib.h>
#include <string.h>

#include "h5read.h"
#include "h5util.h"

/* ---- columns of numbers ---- */

static int get_numbers(struct lm_h5_source *source, hid_t group, const struct lm_column *column, char *base,
                       size_t stride, uint64_t n, struct lm_error *err)
{
    const size_t bytes = lm_kind_bytes(column->kind);
    char *values = malloc(n * bytes + 1);
    if (!values)
        return lm_fail_memory(err, n * bytes, column->name);
    int status = lm_h5_get_array(source, group, column->name, column->kind, column->axis != NULL, &n, values, err);
    for (uint64_t i = 0; i < n && status == LM_OK; i++)
        memcpy(base + i * stride + column->offset, values + i * bytes, bytes);
    free(values);
    return status;
}

/* ---- columns of text ---- */

static int set_word(const struct lm_column *column, const char *text, size_t length, char *member, struct lm_error *err)
{
    for (int value = 0; value < (int)column->size; value++) {
        const char *word = column->word(value);
        if (strlen(word) == length && memcmp(word, text, length) == 0) {
            memcpy(member, &value, sizeof value);
            return LM_OK;
        }
    }
    return lm_fail(err, LM_BAD_INPUT, "'%.*s' is no known %s", (int)(length < 40 ? length : 40), text, column->name);
}

static int set_text(const struct lm_column *column, const char *text, size_t length, char *member, struct lm_error *err)
{
    if (column->kind == LM_KIND_WORD)
        return set_word(column, text, length, member, err);
    if (length >= column->size)
        return lm_fail(err, LM_BAD_INPUT, "a text of %zu bytes; at most %zu are allowed", length, column->size - 1);
    memset(member, 0, column->size);
    memcpy(member, text, length);
    return LM_OK;
}

static int get_texts(struct lm_h5_source *source, hid_t group, const struct lm_column *column, char *base,
                     size_t stride, uint64_t n, struct lm_error *err)
{
    unsigned char(*reference)[LM_H5_REFERENCE_BYTES] = malloc(n * sizeof *reference + 1);
    if (!reference)
        return lm_fail_memory(err, n * sizeof *reference, column->name);
    int status = lm_h5_get_array(source, group, column->name, column->kind, column->axis != NULL, &n, reference, err);
    if (status != LM_OK) {
        free(reference);
        return status;
    }
    for (uint64_t i = 0; i < n && status == LM_OK; i++) {
        const char *text;
        size_t length;
        status = lm_h5_heap_find(&source->heap, reference[i], &text, &length, err);
        if (status == LM_OK)
            status = set_text(column, text, length, base + i * stride + column->offset, err);
        if (status != LM_OK)
            lm_fail_within(err, "%s[%llu]: ", column->name, (unsigned long long)i);
    }
    free(reference);
    return status;
}

int lm_h5_get_column(struct lm_h5_source *source, hid_t group, const struct lm_column *column, void *base,
                     size_t stride, uint64_t n, struct lm_error *err)
{
    /* Once more before the allocation: n may come from another data set than this one. */
    uint64_t dims[1] = {n};
    hid_t data_set;
    int status =
        lm_h5_open_array(source, group, column->name, column->kind, column->axis != NULL, dims, &data_set, err);
    status = lm_h5_close(data_set, status, err);
    if (status != LM_OK)
        return status;
    return lm_kind_is_text(column->kind) ? get_texts(source, group, column, base, stride, n, err)
                                         : get_numbers(source, group, column, base, stride, n, err);
}

/* ---- single texts and attributes ---- */

static int copy_text(struct lm_h5_source *source, const unsigned char *reference, char **out, struct lm_error *err)
{
    const char *text;
    size_t length;
    int status = lm_h5_heap_find(&source->heap, reference, &text, &length, err);
    if (status != LM_OK)
        return status;
    *out = malloc(length + 1);
    if (!*out)
        return lm_fail_memory(err, length + 1, "a text");
    memcpy(*out, text, length);
    (*out)[length] = '\0';
    return LM_OK;
}

int lm_h5_get_text(struct lm_h5_source *source, hid_t group, const char *name, char **out, struct lm_error *err)
{
    unsigned char reference[LM_H5_REFERENCE_BYTES];
    *out = NULL;
    int status = lm_h5_get_array(source, group, name, LM_KIND_TEXT, 0, NULL, reference, err);
    if (status == LM_OK && copy_text(source, reference, out, err) != LM_OK)
        return lm_fail_within(err, "%s: ", name);
    return status;
}

/* Opens an attribute; refuses one that is no scalar, so that reading it fills one value. */
static int open_attribute(hid_t object, const char *name, int text, hid_t *out, struct lm_error *err)
{
    *out = -1;
    htri_t there = H5Aexists(object, name);
    if (there == 0)
        return lm_fail(err, LM_BAD_INPUT, "there is no attribute %s", name);
    if (there > 0)
        *out = H5Aopen(object, name, H5P_DEFAULT);
    if (*out < 0) {
        lm_h5_fail(err, LM_BAD_INPUT, object, NULL, "damaged");
        return lm_fail_within(err, "attribute %s of ", name);
    }
    int status = LM_OK;
    hid_t type = H5Aget_type(*out), space = H5Aget_space(*out);
    int matches = type >= 0 && space >= 0 && H5Sget_simple_extent_type(space) == H5S_SCALAR;
    if (matches && text)
        matches = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
    else if (matches)
        matches = H5Tget_class(type) == H5T_INTEGER;
    if (!matches)
        status = lm_fail(err, LM_BAD_INPUT, "attribute %s has a wrong type", name);
    status = lm_h5_close(space, status, err);
    status = lm_h5_close(type, status, err);
    if (status != LM_OK) {
        status = lm_h5_close(*out, status, err);
        *out = -1;
    }
    return status;
}

int lm_h5_get_text_attribute(struct lm_h5_source *source, hid_t object, const char *name, char **out,
                             struct lm_error *err)
{
    unsigned char reference[LM_H5_REFERENCE_BYTES];
    hid_t attribute;
    *out = NULL;
    int status = open_attribute(object, name, 1, &attribute, err);
    if (status != LM_OK)
        return status;
    if (H5Aread(attribute, source->reference, reference) < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, object, NULL, "cannot read an attribute");
    else
        status = copy_text(source, reference, out, err);
    if (status != LM_OK)
        lm_fail_within(err, "attribute %s: ", name);
    return lm_h5_close(attribute, status, err);
}

int lm_h5_get_number_attribute(hid_t object, const char *name, uint32_t *out, struct lm_error *err)
{
    hid_t attribute;
    int status = open_attribute(object, name, 0, &attribute, err);
    if (status == LM_OK && H5Aread(attribute, H5T_NATIVE_UINT32, out) < 0) {
        lm_h5_fail(err, LM_BAD_INPUT, object, NULL, "cannot read an attribute");
        status = lm_fail_within(err, "attribute %s of ", name);
    }
    return lm_h5_close(attribute, status, err);
}
