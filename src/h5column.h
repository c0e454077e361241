/* h5column.h: a member of an array of structs, and the 1-D data set it is stored as.
 *
 * The file holds columns and the program holds rows. A struct lm_column says how one becomes the other, so that the
 * writer and the reader cannot disagree: both follow the tables of results_layout.h.
 */
#ifndef LM_H5COLUMN_H
#define LM_H5COLUMN_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

enum lm_kind {
    LM_KIND_F32,
    LM_KIND_F64,
    LM_KIND_U8,
    LM_KIND_U32,
    LM_KIND_U64,
    LM_KIND_I32,
    LM_KIND_I64,
    LM_KIND_CHARS, /* char[size] in the struct, text in the file */
    LM_KIND_TEXT,  /* char * in the struct (NULL: ""), text in the file; read by lm_h5_get_text */
    LM_KIND_WORD   /* int in the struct, text in the file: word(0) ... word(size - 1) */
};

struct lm_column {
    const char *name, *axis; /* axis: the name of its scale, in the same group; NULL: a scalar */
    const char *long_name, *units;
    enum lm_kind kind;
    size_t offset; /* in the struct */
    size_t size;   /* LM_KIND_CHARS: of the array; LM_KIND_WORD: the number of words */
    const char *(*word)(int value);
};

int lm_kind_is_text(enum lm_kind kind);
size_t lm_kind_bytes(enum lm_kind kind); /* of a number in memory */
hid_t lm_kind_in_file(enum lm_kind kind);
hid_t lm_kind_in_memory(enum lm_kind kind);

/* Writes the member of rows base, base + stride, ... (n of them) as the data set column->name. */
int lm_h5_put_column(hid_t group, const struct lm_column *column, const void *base, size_t stride, uint64_t n,
                     struct lm_error *err);

/* The stored form of floating-point values: a NaN's bits differ by machine, so there is one NaN in a file
 * (arithmetic.h, 6). into and from: (n); they may be the same. */
void lm_store_f32(float *into, const float *from, size_t n);
void lm_store_f64(double *into, const double *from, size_t n);
extern const uint32_t lm_f32_nan; /* its bits */
extern const uint64_t lm_f64_nan;

#endif
