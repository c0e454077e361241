/* csv_fault.h: says what is wrong with a text that csv.c could not read. Used by csv.c alone. */
#ifndef LM_CSV_FAULT_H
#define LM_CSV_FAULT_H

#include <stdint.h>

#include "status.h"

struct lm_csv_fault {
    const char *path;
    const char *text, *end; /* the whole file */
    const char *start;      /* the line's first byte */
    const char *at;         /* the byte that could not be read; the line's end where it ended too early */
    uint64_t line;
    int field;    /* the number of the field, from 1, in which `at` lies */
    int complete; /* a number was read in that field already, and `at` follows it */
    int first;    /* no row was read before this line */
    double value; /* the number, where it is complete */
};

/* Fills *err and returns LM_BAD_INPUT. */
int lm_csv_explain(const struct lm_csv_fault *fault, struct lm_error *err);

/* The same for a text without any row. */
int lm_csv_explain_empty(const char *path, const char *text, const char *end, uint64_t lines, struct lm_error *err);

#endif
