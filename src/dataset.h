/* dataset.h: the labelled images as they were read, before any split or normalisation.
 *
 * A data set is a folder with one CSV file a letter (X.csv, else x.csv), one image a line, 64 numbers a line: the grey
 * values of 8 x 8 pixels, row by row. Samples are kept letter by letter, in the order of LM_LETTERS, and within a
 * letter in the order of the file: everything downstream (split, sample order) is a function of that order.
 */
#ifndef LM_DATASET_H
#define LM_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "sha256.h"
#include "status.h"

#define LM_CLASSES 15
#define LM_SIDE    8
#define LM_PIXELS  (LM_SIDE * LM_SIDE)
#define LM_LETTERS "ABCDEILMNORSUVW"

struct lm_dataset {
    size_t samples;             /* n, the sum of count[] */
    uint64_t count[LM_CLASSES]; /* samples of each letter, each >= 2 */
    uint64_t lines[LM_CLASSES]; /* lines read from each letter's file, blank ones included; 0 for synthetic data */
    double *pixel;              /* (n, 64), owned: the value nearest to the decimal number in the file */
    uint8_t *label;             /* (n), owned: index into LM_LETTERS; ascending */
    char digest[LM_SHA256_HEX]; /* of the values and labels: see lm_dataset_digest */
    char *path;                 /* owned: the folder as an absolute path, or "synthetic" and its parameters */
};

/* Reads the folder DIR. Strict: everything that is not 64 finite decimal numbers on a line, blank lines apart, is
 * LM_BAD_INPUT with "file:line:column: reason". CRLF and a leading UTF-8 byte order mark are accepted. Both X.csv and
 * x.csv, or neither, is LM_BAD_INPUT naming the letter, as is a letter with fewer than 2 samples, and a file X.CSV.
 * On failure nothing is owned by *out. Independent of the locale and of the order of the folder's entries. */
int lm_dataset_load(const char *dir, struct lm_dataset *out, struct lm_error *err);

/* Allocates room for the given counts (labels are filled in, pixels are not). */
int lm_dataset_allocate(const uint64_t count[LM_CLASSES], struct lm_dataset *out, struct lm_error *err);

/* Computes out->digest from counts and pixels: a SHA-256 of a canonical encoding of the values, so that the same
 * numbers written in another way (CRLF, "1e1" for "10") have the same digest, and any changed value another. */
void lm_dataset_digest(struct lm_dataset *data);

/* Writes X.csv for every letter into DIR (made where it is missing). Refuses to replace a file unless force. The
 * numbers are written so that lm_dataset_load reads the same bits. */
int lm_dataset_save(const struct lm_dataset *data, const char *dir, int force, struct lm_error *err);

/* Whether lm_dataset_save may begin, before any work is done for it: makes DIR where it is missing. */
int lm_dataset_check_target(const char *dir, int force, struct lm_error *err);

/* Where sample k comes from, for a message: "/folder/A.csv:17", or "letter A, its sample 17" where no file is left. */
#define LM_WHERE_TEXT 500
void lm_dataset_where(const struct lm_dataset *data, size_t sample, char *text, size_t size);

void lm_dataset_free(struct lm_dataset *data);

#endif
