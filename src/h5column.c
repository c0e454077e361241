/* h5column.c: see h5column.h. */
#include "h5column.h"

#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "h5util.h"
#include "utf8.h"

const uint32_t lm_f32_nan = LM_NAN_BITS;
const uint64_t lm_f64_nan = UINT64_C(0x7FF8000000000000);

/* ---- kinds ---- */

int lm_kind_is_text(enum lm_kind kind)
{
    return kind == LM_KIND_CHARS || kind == LM_KIND_TEXT || kind == LM_KIND_WORD;
}

size_t lm_kind_bytes(enum lm_kind kind)
{
    switch (kind) {
    case LM_KIND_U8:
        return 1;
    case LM_KIND_F32:
    case LM_KIND_U32:
    case LM_KIND_I32:
        return 4;
    default:
        return 8;
    }
}

hid_t lm_kind_in_file(enum lm_kind kind)
{
    switch (kind) {
    case LM_KIND_F32:
        return H5T_IEEE_F32LE;
    case LM_KIND_F64:
        return H5T_IEEE_F64LE;
    case LM_KIND_U8:
        return H5T_STD_U8LE;
    case LM_KIND_U32:
        return H5T_STD_U32LE;
    case LM_KIND_U64:
        return H5T_STD_U64LE;
    case LM_KIND_I32:
        return H5T_STD_I32LE;
    case LM_KIND_I64:
        return H5T_STD_I64LE;
    default:
        return -1;
    }
}

hid_t lm_kind_in_memory(enum lm_kind kind)
{
    switch (kind) {
    case LM_KIND_F32:
        return H5T_NATIVE_FLOAT;
    case LM_KIND_F64:
        return H5T_NATIVE_DOUBLE;
    case LM_KIND_U8:
        return H5T_NATIVE_UINT8;
    case LM_KIND_U32:
        return H5T_NATIVE_UINT32;
    case LM_KIND_U64:
        return H5T_NATIVE_UINT64;
    case LM_KIND_I32:
        return H5T_NATIVE_INT32;
    case LM_KIND_I64:
        return H5T_NATIVE_INT64;
    default:
        return -1;
    }
}

/* ---- one NaN ---- */

/* By bits, and through memcpy: a signalling NaN that is loaded as a float may change on the way. */
void lm_store_f32(float *into, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof bits);
        bits = (bits & UINT32_C(0x7FFFFFFF)) > UINT32_C(0x7F800000) ? lm_f32_nan : bits;
        memcpy(into + i, &bits, sizeof bits);
    }
}

void lm_store_f64(double *into, const double *from, size_t n)
{
    const uint64_t infinity = UINT64_C(0x7FF0000000000000);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, from + i, sizeof bits);
        bits = (bits & ~(UINT64_C(1) << 63)) > infinity ? lm_f64_nan : bits;
        memcpy(into + i, &bits, sizeof bits);
    }
}

/* ---- writing ---- */

static int make_and_write(hid_t group, const struct lm_column *column, hid_t type, hid_t memory, uint64_t n,
                          const void *values, struct lm_error *err)
{
    const struct lm_h5_array array = {.name = column->name,
                                      .long_name = column->long_name,
                                      .units = column->units,
                                      .type = type,
                                      .rank = column->axis != NULL,
                                      .dims = {n},
                                      .axis = {column->axis}};
    hid_t data_set;
    int status = lm_h5_make_array(group, &array, &data_set, err);
    if (status == LM_OK && n > 0 && H5Dwrite(data_set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = lm_h5_fail(err, LM_FAILED, group, column->name, "cannot write");
    return lm_h5_close(data_set, status, err);
}

/* The members, side by side. */
static void gather(const struct lm_column *column, const char *base, size_t stride, uint64_t n, char *into)
{
    size_t bytes = lm_kind_bytes(column->kind);
    for (uint64_t i = 0; i < n; i++)
        memcpy(into + i * bytes, base + i * stride + column->offset, bytes);
    if (column->kind == LM_KIND_F32)
        lm_store_f32((float *)(void *)into, (float *)(void *)into, n);
    if (column->kind == LM_KIND_F64)
        lm_store_f64((double *)(void *)into, (double *)(void *)into, n);
}

static int put_numbers(hid_t group, const struct lm_column *column, const void *base, size_t stride, uint64_t n,
                       struct lm_error *err)
{
    char *values = malloc((n ? n : 1) * lm_kind_bytes(column->kind));
    if (!values)
        return lm_fail_memory(err, n * lm_kind_bytes(column->kind), column->name);
    gather(column, base, stride, n, values);
    int status =
        make_and_write(group, column, lm_kind_in_file(column->kind), lm_kind_in_memory(column->kind), n, values, err);
    free(values);
    return status;
}

static const char *text_of(const struct lm_column *column, const char *row)
{
    const char *member = row + column->offset;
    if (column->kind == LM_KIND_CHARS)
        return member;
    if (column->kind == LM_KIND_WORD) {
        int value;
        memcpy(&value, member, sizeof value);
        return column->word(value);
    }
    const char *text;
    memcpy(&text, member, sizeof text);
    return text ? text : "";
}

/* The text itself where it is UTF-8, else a mended copy. NULL without memory. */
static const char *mended(const char *text)
{
    if (lm_utf8_ok(text))
        return text;
    char *copy = strdup(text);
    if (copy)
        lm_utf8_mend(copy);
    return copy;
}

static int put_texts(hid_t group, const struct lm_column *column, const char *base, size_t stride, uint64_t n,
                     struct lm_error *err)
{
    const char **text = calloc(n ? n : 1, sizeof *text);
    if (!text)
        return lm_fail_memory(err, n * sizeof *text, column->name);
    int status = LM_OK;
    for (uint64_t i = 0; i < n && status == LM_OK; i++) {
        const char *as_given = text_of(column, base + i * stride);
        text[i] = mended(as_given);
        if (!text[i])
            status = lm_fail_memory(err, strlen(as_given), column->name);
    }
    hid_t type = -1;
    if (status == LM_OK)
        status = lm_h5_text_type(&type, err);
    if (status == LM_OK)
        status = make_and_write(group, column, type, type, n, text, err);
    for (uint64_t i = 0; i < n && text[i]; i++) {
        if (text[i] != text_of(column, base + i * stride))
            free((void *)(uintptr_t)text[i]);
    }
    free(text);
    return lm_h5_close(type, status, err);
}

int lm_h5_put_column(hid_t group, const struct lm_column *column, const void *base, size_t stride, uint64_t n,
                     struct lm_error *err)
{
    return lm_kind_is_text(column->kind) ? put_texts(group, column, base, stride, n, err)
                                         : put_numbers(group, column, base, stride, n, err);
}
