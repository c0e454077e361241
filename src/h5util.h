/* h5util.h: HDF5 calls that are checked, and say in one line which object of the file they failed on.
 *
 * The only headers that include hdf5.h are the h5*.h and results_*.h of this folder: callers see results.h alone.
 * A message made here is "/trials/seed: cannot write: REASON", where REASON is HDF5's innermost description, or the
 * system's reason inside it; the caller puts the file's name before it (lm_fail_within).
 */
#ifndef LM_H5UTIL_H
#define LM_H5UTIL_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* Once, before any other HDF5 call of the process. Turns off HDF5's own printing of errors, and its exit handler, which
 * (1.10) crashes after a file that could not be written, and so replaces the program's exit code. */
void lm_hdf5_setup(void);

/* Fills *err from HDF5's error stack; to be called right after the failed call. loc and name say the object: name is
 * relative to loc, or NULL for loc itself. verb: "cannot write". */
int lm_h5_fail(struct lm_error *err, int code, hid_t loc, const char *name, const char *verb);

/* "/trials/seed" for name in group loc, or for loc itself where name is NULL; into path, which it returns. */
#define LM_H5_PATH 200
const char *lm_h5_path(hid_t loc, const char *name, char path[LM_H5_PATH]);

/* Was the failure of the last HDF5 call a file lock that could not be had? Then the system's error number, else 0. */
int lm_h5_lock_failure(void);

/* Closes an identifier of any kind (negative: nothing) and returns `status`; where that is LM_OK and closing fails,
 * *err is filled, and LM_FAILED returned. */
int lm_h5_close(hid_t id, int status, struct lm_error *err);

/* About 1 MiB of a data set, at least 1 in each dimension: whole trailing dimensions, and even pieces of the leading
 * ones, so that the last chunk is not mostly air. Returns 0, and leaves chunk alone, where the data set is empty or a
 * scalar: those are contiguous. dims and chunk: (rank). */
int lm_chunk(int rank, const hsize_t *dims, size_t element_bytes, hsize_t *chunk);

/* "group": links keep the order in which they are made, which is the order readers list them in. */
int lm_h5_make_group(hid_t loc, const char *name, hid_t *out, struct lm_error *err);
/* For the file's own root group: the same property. */
int lm_h5_order_properties(hid_t property_class, hid_t *out, struct lm_error *err);

/* Variable-length UTF-8, the only type of text in our files. */
int lm_h5_text_type(hid_t *out, struct lm_error *err);

int lm_h5_put_text_attribute(hid_t object, const char *name, const char *value, struct lm_error *err);
int lm_h5_put_number_attribute(hid_t object, const char *name, uint32_t value, struct lm_error *err);

/* A data set to be made: everything about it but its values. */
#define LM_H5_MAX_RANK 3
struct lm_h5_array {
    const char *name;
    const char *long_name; /* for readers; NULL: none */
    const char *units;     /* NULL: none */
    hid_t type;            /* in the file */
    int rank;              /* 0: a scalar */
    hsize_t dims[LM_H5_MAX_RANK];
    const char *axis[LM_H5_MAX_RANK]; /* names of the scales, in the same group; its own name: it is the scale */
    const void *fill;                 /* of that type's native one, or NULL. With it the data set is in chunks, all of
                                       * its room is reserved at once, and its maker must write every element */
};
int lm_h5_make_array(hid_t group, const struct lm_h5_array *array, hid_t *out, struct lm_error *err);

/* The scale of an axis without values of its own: 0, 1, ... or first, first + 1, ... (int64). */
int lm_h5_put_scale(hid_t group, const char *name, const char *long_name, int64_t first, uint64_t n,
                    struct lm_error *err);

#endif
