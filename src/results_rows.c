/* results_rows.c: see results_rows.h. */
#include "results_rows.h"

#include <stdlib.h>
#include <string.h>

#include "h5util.h"

int lm_rows_begin(struct lm_rows *rows, uint64_t total, size_t row_bytes, size_t buffer_bytes, struct lm_error *err)
{
    size_t room = row_bytes > 0 && row_bytes < buffer_bytes ? buffer_bytes / row_bytes : 1;
    if (room > total)
        room = total > 0 ? (size_t)total : 1;
    *rows = (struct lm_rows){.total = total, .row_bytes = row_bytes, .room = room};
    size_t bytes = room * row_bytes + 1; /* never 0 */
    rows->entry = malloc(room * sizeof *rows->entry);
    rows->buffer = malloc(bytes);
    rows->piece = malloc(bytes);
    rows->present = calloc(total / 8 + 1, 1);
    if (rows->entry && rows->buffer && rows->piece && rows->present)
        return LM_OK;
    lm_fail_memory(err, 2 * bytes + total / 8, "a buffer of rows");
    return lm_rows_end(rows, LM_FAILED, err);
}

int lm_rows_has(const struct lm_rows *rows, uint64_t row)
{
    return rows->present[row / 8] >> (row % 8) & 1;
}

/* ---- from the buffer to the data sets ---- */

static int write_run(const struct lm_rows_part *part, uint64_t first, uint64_t n, const void *values,
                     struct lm_error *err)
{
    const hsize_t start[3] = {first, 0, 0};
    const hsize_t count[3] = {n, part->dims[1], part->dims[2]};
    int status = LM_OK;
    hid_t file = H5Screate_simple(part->rank, part->dims, NULL);
    hid_t memory = H5Screate_simple(part->rank, count, NULL);
    if (file < 0 || memory < 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        H5Dwrite(part->data_set, part->memory, memory, file, H5P_DEFAULT, values) < 0)
        status = lm_h5_fail(err, LM_FAILED, part->data_set, NULL, "cannot write");
    status = lm_h5_close(memory, status, err);
    return lm_h5_close(file, status, err);
}

static int by_row(const void *a, const void *b)
{
    const struct lm_rows_entry *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* Trials come nearly in order, so mostly there is nothing to do. */
static void sort_entries(struct lm_rows *rows)
{
    for (size_t i = 1; i < rows->used; i++) {
        if (rows->entry[i - 1].row >= rows->entry[i].row) {
            qsort(rows->entry, rows->used, sizeof *rows->entry, by_row);
            return;
        }
    }
}

/* Of several entries of one row the last is the latest. */
static void drop_replaced(struct lm_rows *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->used; i++) {
        if (i + 1 < rows->used && rows->entry[i].row == rows->entry[i + 1].row)
            continue;
        rows->entry[kept++] = rows->entry[i];
    }
    rows->used = kept;
}

static int write_part(struct lm_rows *rows, const struct lm_rows_part *part, struct lm_error *err)
{
    for (size_t i = 0; i < rows->used; i++)
        memcpy(rows->piece + i * part->bytes, rows->buffer + rows->entry[i].slot * rows->row_bytes + part->offset,
               part->bytes);
    if (part->bytes == 0) /* no epochs: HDF5 selects nothing by a count of 0 in some versions, and fails in others */
        return LM_OK;
    int status = LM_OK;
    size_t end;
    for (size_t begin = 0; begin < rows->used && status == LM_OK; begin = end) {
        uint64_t first = rows->entry[begin].row;
        end = begin + 1;
        while (end < rows->used && rows->entry[end].row == first + (end - begin))
            end++;
        status = write_run(part, first, end - begin, rows->piece + begin * part->bytes, err);
    }
    return status;
}

static int empty_buffer(struct lm_rows *rows, struct lm_error *err)
{
    int status = LM_OK;
    sort_entries(rows);
    drop_replaced(rows);
    for (size_t i = 0; i < rows->n_parts && status == LM_OK; i++)
        status = write_part(rows, &rows->part[i], err);
    rows->used = 0;
    return status;
}

/* ---- */

int lm_rows_slot(struct lm_rows *rows, uint64_t row, void **slot, struct lm_error *err)
{
    int status = rows->used == rows->room ? empty_buffer(rows, err) : LM_OK;
    if (status != LM_OK)
        return status;
    rows->entry[rows->used] = (struct lm_rows_entry){.row = row, .slot = rows->used};
    rows->present[row / 8] |= (unsigned char)(1 << (row % 8));
    *slot = rows->buffer + rows->used++ * rows->row_bytes;
    return LM_OK;
}

int lm_rows_complete(struct lm_rows *rows, const void *filling, struct lm_error *err)
{
    int status = LM_OK;
    for (uint64_t row = 0; row < rows->total && status == LM_OK; row++) {
        void *slot;
        if (lm_rows_has(rows, row))
            continue;
        status = lm_rows_slot(rows, row, &slot, err);
        if (status == LM_OK)
            memcpy(slot, filling, rows->row_bytes);
    }
    return status == LM_OK ? empty_buffer(rows, err) : status;
}

int lm_rows_end(struct lm_rows *rows, int status, struct lm_error *err)
{
    for (size_t i = 0; i < rows->n_parts; i++)
        status = lm_h5_close(rows->part[i].data_set, status, err);
    free(rows->entry);
    free(rows->buffer);
    free(rows->piece);
    free(rows->present);
    *rows = (struct lm_rows){0};
    return status;
}
