/* dataset.c: the data set in memory: room for it, its digest, and reading it from a folder.
 *
 * Reading is one pass. The folder is listed once, so that only the fifteen names count and the order of its entries
 * cannot; then every file is read whole into one buffer, which serves them all in turn, and parsed straight into its
 * place in the array of pixels. How many rows a file holds is known only afterwards, but not how many it can hold at
 * most (a row takes 128 bytes of text or more), so the array is reserved at that size and cut at the end: pages that
 * were never touched cost nothing.
 *
 * Files are read, not mapped: a mapped file that another program cuts short kills the reader.
 *
 * Left out: reading letters in parallel. One core reads a million images in under a second.
 */
#include "dataset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csv.h"
#include "large.h"

#define ROW (sizeof(double) * LM_PIXELS)

_Static_assert(LM_CSV_FIELDS == LM_PIXELS, "a line of the file is an image");

/* ---- room ------------------------------------------------------------------------------------------------------ */

static double *allocate_rows(size_t rows)
{
    return rows > SIZE_MAX / ROW ? NULL : lm_large(rows * ROW);
}

/* Takes the counts: checks them, sums them and fills in the labels. */
static int set_counts(const uint64_t count[LM_CLASSES], struct lm_dataset *data, struct lm_error *err)
{
    uint64_t total = 0;

    for (int c = 0; c < LM_CLASSES; c++) {
        if (count[c] < 2)
            return lm_fail(err, LM_BAD_INPUT, "letter %c: %llu sample%s: at least 2 are needed", LM_LETTERS[c],
                           (unsigned long long)count[c], count[c] == 1 ? "" : "s");
        if (count[c] > UINT32_MAX || (total += count[c]) > UINT32_MAX)
            return lm_fail(err, LM_BAD_INPUT, "letter %c: more than %lu samples in all", LM_LETTERS[c],
                           (unsigned long)UINT32_MAX);
        data->count[c] = count[c];
    }
    data->samples = (size_t)total;
    data->label = malloc(data->samples);
    if (!data->label)
        return lm_fail_memory(err, total, "the labels");
    for (size_t c = 0, i = 0; c < LM_CLASSES; i += (size_t)count[c], c++)
        memset(data->label + i, (int)c, (size_t)count[c]);
    return LM_OK;
}

int lm_dataset_allocate(const uint64_t count[LM_CLASSES], struct lm_dataset *out, struct lm_error *err)
{
    memset(out, 0, sizeof *out);
    int code = set_counts(count, out, err);
    if (code == LM_OK) {
        out->pixel = allocate_rows(out->samples);
        if (!out->pixel)
            code = lm_fail_memory(err, (unsigned long long)out->samples * ROW, "the pixels");
    }
    if (code != LM_OK)
        lm_dataset_free(out);
    return code;
}

void lm_dataset_free(struct lm_dataset *data)
{
    free(data->pixel);
    free(data->label);
    free(data->path);
    memset(data, 0, sizeof *data);
}

/* ---- digest ---------------------------------------------------------------------------------------------------- */

/* The 64 values as bytes; 0 where one is not exactly 0, 1, ... 255 (-0 is not). Adding 2^52 leaves a whole number in
 * the low bits; what they stand for must be the value, bit for bit, which also turns away NaN and all that is out of
 * range. No branch and no conversion that could be undefined: a compiler makes vectors of it. */
static int as_bytes(const double *pixel, unsigned char byte[LM_PIXELS])
{
    const double shift = 4503599627370496.0;
    uint64_t different = 0;

    for (int p = 0; p < LM_PIXELS; p++) {
        double sum = pixel[p] + shift, back;
        uint64_t bits, value_bits, back_bits;

        memcpy(&bits, &sum, sizeof bits);
        memcpy(&value_bits, &pixel[p], sizeof value_bits);
        byte[p] = (unsigned char)bits;
        back = (double)byte[p];
        memcpy(&back_bits, &back, sizeof back_bits);
        different |= back_bits ^ value_bits;
    }
    return different == 0;
}

static void as_little_endian(const double *pixel, unsigned char byte[ROW])
{
    for (int p = 0; p < LM_PIXELS; p++) {
        uint64_t bits;

        memcpy(&bits, &pixel[p], sizeof bits);
        for (int i = 0; i < 8; i++)
            *byte++ = (unsigned char)(bits >> 8 * i);
    }
}

/* The encoding: a line of text with its version, the letters and the counts; then, for each sample, 'b' and 64 bytes
 * where all values are grey values, else 'd' and 64 doubles, least significant byte first. */
void lm_dataset_digest(struct lm_dataset *data)
{
    struct lm_sha256 hash;
    unsigned char record[1 + ROW];
    char text[64];

    lm_sha256_begin(&hash);
    lm_sha256_add(&hash, text, (size_t)snprintf(text, sizeof text, "libras dataset 1 " LM_LETTERS));
    for (int c = 0; c < LM_CLASSES; c++) {
        int n = snprintf(text, sizeof text, " %llu", (unsigned long long)data->count[c]);
        lm_sha256_add(&hash, text, (size_t)n);
    }
    lm_sha256_add(&hash, "\n", 1);

    for (size_t i = 0; i < data->samples; i++) {
        const double *pixel = data->pixel + i * LM_PIXELS;
        if (as_bytes(pixel, record + 1)) {
            record[0] = 'b';
            lm_sha256_add(&hash, record, 1 + LM_PIXELS);
        } else {
            record[0] = 'd';
            as_little_endian(pixel, record + 1);
            lm_sha256_add(&hash, record, 1 + ROW);
        }
    }
    lm_sha256_end(&hash, data->digest);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

struct source {
    char name[8]; /* "A.csv" or "a.csv" */
    size_t size;
};

/* Which of the names are there. Asking for each by name would not do: a file system that takes capitals and small
 * letters for the same would show twins. A.CSV is not read, and must not be overlooked either: it may hold the images
 * that are missing, or newer ones. */
static int list_folder(const char *dir, struct source source[LM_CLASSES], struct lm_error *err)
{
    int capital[LM_CLASSES] = {0}, small[LM_CLASSES] = {0};
    char other[8] = ""; /* the first in alphabetical order: no message depends on that of the folder */
    struct dirent *entry;
    DIR *folder = opendir(dir);

    if (!folder)
        return lm_fail(err, LM_BAD_INPUT, "%s: %s", dir,
                       errno == ENOTDIR ? "not a folder: one with a file A.csv, B.csv, ... a letter was expected"
                                        : strerror(errno));
    while (errno = 0, (entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        char capital_of = (char)(name[0] & ~0x20);
        const char *letter = capital_of ? strchr(LM_LETTERS, capital_of) : NULL;

        if (letter && strcmp(name + 1, ".csv") == 0)
            (name[0] == capital_of ? capital : small)[letter - LM_LETTERS] = 1;
        else if (letter && strcasecmp(name + 1, ".csv") == 0 && (!*other || strcmp(name, other) < 0))
            snprintf(other, sizeof other, "%.6s", name);
    }
    int code = errno ? lm_fail(err, LM_BAD_INPUT, "%s: %s", dir, strerror(errno)) : LM_OK;
    closedir(folder);
    if (code == LM_OK && *other)
        code =
            lm_fail(err, LM_BAD_INPUT, "%s: %s: only the ending .csv is read: rename that file to %c.csv, or remove it",
                    dir, other, other[0] & ~0x20);

    for (int c = 0; c < LM_CLASSES && code == LM_OK; c++) {
        char upper = LM_LETTERS[c], lower = (char)(upper | 0x20);

        if (capital[c] && small[c])
            code = lm_fail(err, LM_BAD_INPUT, "%s: letter %c: both %c.csv and %c.csv are there: keep one", dir, upper,
                           upper, lower);
        else if (!capital[c] && !small[c])
            code = lm_fail(err, LM_BAD_INPUT, "%s: letter %c: neither %c.csv nor %c.csv is there", dir, upper, upper,
                           lower);
        else
            snprintf(source[c].name, sizeof source[c].name, "%c.csv", capital[c] ? upper : lower);
    }
    return code;
}

/* Opens one of the files: a regular one, whose size goes to *size. Not blocking, so that a pipe cannot hold us up. */
static int open_source(const char *path, int *file, size_t *size, struct lm_error *err)
{
    struct stat status = {0};

    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*file < 0)
        return lm_fail(err, LM_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (fstat(*file, &status) == 0 && S_ISREG(status.st_mode)) {
        *size = (size_t)status.st_size;
        return LM_OK;
    }
    close(*file);
    return lm_fail(err, LM_BAD_INPUT, "%s: %s", path,
                   S_ISDIR(status.st_mode) ? "a folder; a file was expected" : "not a regular file");
}

/* Reads the file whole. text: (size + 1); the byte more tells whether the file grew. */
static int read_source(const char *path, size_t size, char *text, struct lm_error *err)
{
    size_t opened_size, have = 0;
    int file, code = open_source(path, &file, &opened_size, err);

    if (code != LM_OK)
        return code;
    while (have <= size) {
        ssize_t got = read(file, text + have, size + 1 - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            code = lm_fail(err, LM_BAD_INPUT, "%s: %s", path, strerror(errno));
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    close(file);
    if (code == LM_OK && have != size)
        code = lm_fail(err, LM_BAD_INPUT, "%s: the file changed while it was being read", path);
    return code;
}

static int join(const char *dir, const char *name, char **path, struct lm_error *err)
{
    if (asprintf(path, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name) >= 0)
        return LM_OK;
    *path = NULL;
    return lm_fail_memory(err, strlen(dir) + strlen(name) + 2, "a path");
}

/* The sizes of all files, before anything is read: *rows at most in all, *largest in bytes. */
static int measure(const char *dir, struct source source[LM_CLASSES], size_t *rows, size_t *largest,
                   struct lm_error *err)
{
    *rows = *largest = 0;
    for (int c = 0; c < LM_CLASSES; c++) {
        char *path;
        int file, code = join(dir, source[c].name, &path, err);

        if (code != LM_OK)
            return code;
        code = open_source(path, &file, &source[c].size, err);
        free(path);
        if (code != LM_OK)
            return code;
        close(file);
        *rows += lm_csv_room(source[c].size);
        *largest = source[c].size > *largest ? source[c].size : *largest;
    }
    return LM_OK;
}

/* Reads all letters into data->pixel, which has room for them, one after the other. */
static int read_letters(const char *dir, const struct source source[LM_CLASSES], char *text, struct lm_dataset *data,
                        struct lm_error *err)
{
    uint64_t count[LM_CLASSES];
    double *row = data->pixel;

    for (int c = 0; c < LM_CLASSES; c++) {
        struct lm_csv_count found = {0};
        char *path;
        int code = join(dir, source[c].name, &path, err);

        if (code != LM_OK)
            return code;
        code = read_source(path, source[c].size, text, err);
        if (code == LM_OK)
            code = lm_csv_parse(path, text, source[c].size, row, &found, err);
        if (code == LM_OK && found.rows < 2)
            code = lm_fail(err, LM_BAD_INPUT, "%s: letter %c: 1 sample: at least 2 are needed", path, LM_LETTERS[c]);
        free(path);
        if (code != LM_OK)
            return code;
        count[c] = found.rows;
        data->lines[c] = found.lines;
        row += found.rows * LM_PIXELS;
    }
    return set_counts(count, data, err);
}

int lm_dataset_load(const char *dir, struct lm_dataset *out, struct lm_error *err)
{
    struct source source[LM_CLASSES];
    size_t rows, largest;
    char *text = NULL;

    memset(out, 0, sizeof *out);
    out->path = realpath(dir, NULL);
    int code = out->path ? list_folder(dir, source, err) : lm_fail(err, LM_BAD_INPUT, "%s: %s", dir, strerror(errno));
    if (code == LM_OK)
        code = measure(dir, source, &rows, &largest, err);
    if (code == LM_OK) {
        text = malloc(largest + 1);
        out->pixel = allocate_rows(rows);
        if (!text || !out->pixel)
            code = lm_fail_memory(err, (unsigned long long)rows * ROW + largest, "the data set");
    }
    if (code == LM_OK)
        code = read_letters(dir, source, text, out, err);
    free(text);
    if (code != LM_OK) {
        lm_dataset_free(out);
        return code;
    }
    double *cut = realloc(out->pixel, out->samples * ROW);
    out->pixel = cut ? cut : out->pixel;
    lm_dataset_digest(out);
    return LM_OK;
}
