/* h5read.h: reading an HDF5 file that may be damaged, or made to harm.
 *
 * Whatever is asked for is first compared with what is there: kind of link, class of type, rank, dimensions, layout,
 * and the bytes it claims against the bytes of the file. Only then is anything allocated or read. Failures are
 * LM_BAD_INPUT and name the object; the caller puts the file's name before it.
 */
#ifndef LM_H5READ_H
#define LM_H5READ_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "h5column.h"
#include "h5heap.h"
#include "status.h"

struct lm_h5_source {
    hid_t file;
    hid_t reference; /* see lm_h5_reference_type */
    struct lm_h5_heap heap;
};

/* On failure nothing is owned by *out. */
int lm_h5_source_open(const char *path, struct lm_h5_source *out, struct lm_error *err);
void lm_h5_source_close(struct lm_h5_source *source);

int lm_h5_open_group(hid_t loc, const char *name, hid_t *out, struct lm_error *err);

/* Opens a data set of numbers (kind) or text. dims: (rank), in: what they must be, LM_H5_ANY: anything; out: what they
 * are. rank 0: a scalar. */
#define LM_H5_ANY UINT64_MAX
int lm_h5_open_array(const struct lm_h5_source *source, hid_t group, const char *name, enum lm_kind kind, int rank,
                     uint64_t *dims, hid_t *out, struct lm_error *err);

/* Opens, checks against dims exactly, and reads all of it: values is of the kind's native type. */
int lm_h5_get_array(const struct lm_h5_source *source, hid_t group, const char *name, enum lm_kind kind, int rank,
                    const uint64_t *dims, void *values, struct lm_error *err);

/* The inverse of lm_h5_put_column, for n rows; all kinds but LM_KIND_TEXT. */
int lm_h5_get_column(struct lm_h5_source *source, hid_t group, const struct lm_column *column, void *base,
                     size_t stride, uint64_t n, struct lm_error *err);

/* A scalar text; *out is the caller's. */
int lm_h5_get_text(struct lm_h5_source *source, hid_t group, const char *name, char **out, struct lm_error *err);

int lm_h5_get_text_attribute(struct lm_h5_source *source, hid_t object, const char *name, char **out,
                             struct lm_error *err);
int lm_h5_get_number_attribute(hid_t object, const char *name, uint32_t *out, struct lm_error *err);

#endif
