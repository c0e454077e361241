/* results_rows.h: rows that come in any order, written to data sets in long pieces.
 *
 * A row (a trial's losses, or a network's parameters) is copied into a buffer of some MiB. When that is full, it is
 * sorted, and each run of consecutive rows is one write for each data set that shares the row. Every row is written at
 * least once: those that nobody put are written with a filling at the end.
 */
#ifndef LM_RESULTS_ROWS_H
#define LM_RESULTS_ROWS_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define LM_ROWS_MAX_PARTS 6

/* One data set, and the bytes of a row that it takes. */
struct lm_rows_part {
    hid_t data_set; /* owned: closed at the end */
    hid_t memory;   /* type */
    int rank;
    hsize_t dims[3]; /* dims[0]: the number of rows */
    size_t offset, bytes;
};

struct lm_rows_entry {
    uint64_t row;
    size_t slot; /* in the buffer: slots are given out in order of arrival */
};

struct lm_rows {
    uint64_t total;
    size_t row_bytes;
    size_t room, used;           /* rows in the buffer */
    struct lm_rows_entry *entry; /* owned, (room), the first `used` count */
    unsigned char *buffer;       /* owned, (room, row_bytes) */
    unsigned char *piece;        /* owned, (room, row_bytes): one part, sorted */
    unsigned char *present;      /* owned, a bit a row */
    size_t n_parts;
    struct lm_rows_part part[LM_ROWS_MAX_PARTS];
};

/* The buffer takes about buffer_bytes, and never more than all rows. parts are added by the caller, with room for total
 * rows each. */
int lm_rows_begin(struct lm_rows *rows, uint64_t total, size_t row_bytes, size_t buffer_bytes, struct lm_error *err);

/* *slot: where row's bytes are to be put before the next call. Put twice, the later one counts. */
int lm_rows_slot(struct lm_rows *rows, uint64_t row, void **slot, struct lm_error *err);
int lm_rows_has(const struct lm_rows *rows, uint64_t row);

/* Writes what is left, and `filling` (row_bytes) to rows that were not put. Does not close. */
int lm_rows_complete(struct lm_rows *rows, const void *filling, struct lm_error *err);

/* Closes and frees; returns `status`, or LM_FAILED where that is LM_OK and a close fails. */
int lm_rows_end(struct lm_rows *rows, int status, struct lm_error *err);

#endif
