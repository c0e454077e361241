/* h5heap.h: the text of an HDF5 file, read with distrust.
 *
 * A variable-length text is stored as a reference of 16 bytes into one of the file's global heaps. HDF5 (1.10) follows
 * such a reference without checking it: one flipped bit makes it read beyond its memory, or allocate gigabytes. Nothing
 * else in our files has that weakness (object headers have checksums), so the references alone are read through HDF5,
 * and followed here. That is also several times as fast.
 *
 * The format: HDF5 File Format Specification, "Disk Format: Level 1E - Global Heap"; it has one version.
 */
#ifndef LM_H5HEAP_H
#define LM_H5HEAP_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define LM_H5_REFERENCE_BYTES 16

struct lm_h5_heap {
    int fd;         /* of the same file, owned by the caller */
    uint64_t bytes; /* of the file */
    /* The collection of objects that was read last: texts that are neighbours in a data set mostly share one. */
    uint64_t address; /* 0: none */
    unsigned char *collection;
    size_t size, room;
    uint64_t *object; /* (65536): offset of each object's header, 0: not there */
    unsigned last;    /* the highest index set in object[] */
};

int lm_h5_heap_begin(int fd, uint64_t bytes, struct lm_h5_heap *out, struct lm_error *err);
void lm_h5_heap_end(struct lm_h5_heap *heap);

/* Makes HDF5 hand out a text's reference when it is read as *type (to be closed by the caller). */
int lm_h5_reference_type(hid_t *type, struct lm_error *err);

/* *text: (*length) bytes, without a NUL, until the next call. Fails with LM_BAD_INPUT and a reason. */
int lm_h5_heap_find(struct lm_h5_heap *heap, const unsigned char reference[LM_H5_REFERENCE_BYTES], const char **text,
                    size_t *length, struct lm_error *err);

#endif
