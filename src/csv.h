/* csv.h: the reader of one letter's file: rows of 64 decimal numbers separated by commas.
 *
 * Accepted: a UTF-8 byte order mark at the very beginning; lines ended by LF or CR LF, the last one by nothing as well;
 * spaces and tabs around a number; lines of nothing but spaces and tabs, anywhere, which are skipped. A number is
 * what decimal.h reads, and finite. Everything else is refused with "path:line:column: reason", never guessed at:
 * lines and columns count from 1, columns in bytes, and the reason names the likely cause (decimal commas, a header,
 * another encoding ...).
 */
#ifndef LM_CSV_H
#define LM_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define LM_CSV_FIELDS 64

struct lm_csv_count {
    size_t rows;    /* lines with numbers */
    uint64_t lines; /* all lines, blank ones too */
};

/* Rows for which lm_csv_parse needs room when it reads n bytes: a row takes 128 of them or more, and one row may be
 * begun and refused. */
size_t lm_csv_room(size_t n);

/* Reads n bytes of text. path is for messages only. row: (lm_csv_room(n), 64), of which count->rows are filled; the row
 * after them may be overwritten. A text without any row is LM_BAD_INPUT too. */
int lm_csv_parse(const char *path, const char *text, size_t n, double *row, struct lm_csv_count *count,
                 struct lm_error *err);

#endif
