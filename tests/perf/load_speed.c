/* load_speed.c: how fast is a data set read?
 *
 *     load_speed [LINES [FOLDER]]     default: 1000000 lines, a new folder under $TMPDIR
 *
 * Writes a folder with about LINES lines of random grey values (as wide as photographs': 3.7 bytes a value), loads it a
 * few times, and prints the best time of each part in MB of text a second, on one core:
 *   parse   lm_csv_parse alone, from memory into rows that were touched before
 *   digest  lm_dataset_digest alone
 *   load    lm_dataset_load from the page cache: open, read, parse, digest, page faults
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "csv.h"
#include "dataset.h"
#include "random.h"

#define REPEATS 5

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(const struct lm_error *err)
{
    fprintf(stderr, "load_speed: %s\n", err->text);
    return 1;
}

static int make_data(const char *dir, uint64_t lines, struct lm_error *err)
{
    struct lm_dataset data;
    struct lm_mt19937 generator;
    uint64_t count[LM_CLASSES];

    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = (lines + LM_CLASSES - 1) / LM_CLASSES;
    int code = lm_dataset_allocate(count, &data, err);
    if (code != LM_OK)
        return code;
    lm_mt19937_seed(&generator, 1);
    for (size_t i = 0; i < data.samples * LM_PIXELS; i++)
        data.pixel[i] = lm_draw_below(&generator, 240) + 10;
    code = lm_dataset_save(&data, dir, 0, err);
    lm_dataset_free(&data);
    return code;
}

/* The letter files of a folder, one after the other, as one text: legal for the parser as well. */
static char *read_all(const char *dir, size_t *size)
{
    char path[4200], *text = NULL;

    *size = 0;
    for (int c = 0; c < LM_CLASSES; c++) {
        struct stat status;
        snprintf(path, sizeof path, "%s/%c.csv", dir, LM_LETTERS[c]);
        FILE *file = fopen(path, "rb");
        if (!file || fstat(fileno(file), &status) != 0)
            return NULL;
        text = realloc(text, *size + (size_t)status.st_size);
        *size += fread(text + *size, 1, (size_t)status.st_size, file);
        fclose(file);
    }
    return text;
}

static void show(const char *what, double seconds, size_t bytes, size_t lines)
{
    printf("%-8s %10.3f %10.0f %14.0f\n", what, seconds, (double)bytes / 1e6 / seconds, (double)lines / seconds);
}

static int measure(const char *dir, struct lm_error *err)
{
    double parse = 1e9, digest = 1e9, load = 1e9;
    struct lm_csv_count count = {0};
    struct lm_dataset data;
    size_t size;
    char *text = read_all(dir, &size);
    double *row = text ? malloc(lm_csv_room(size) * LM_PIXELS * sizeof(double)) : NULL;

    if (!row)
        return lm_fail(err, LM_FAILED, "%s: cannot read the files again", dir);
    memset(row, 0, lm_csv_room(size) * LM_PIXELS * sizeof(double));
    for (int r = 0; r < REPEATS; r++) {
        double start = now();
        if (lm_csv_parse(dir, text, size, row, &count, err) != LM_OK)
            return err->code;
        parse = now() - start < parse ? now() - start : parse;
    }
    free(text);
    free(row);
    for (int r = 0; r < REPEATS; r++) {
        double start = now();
        if (lm_dataset_load(dir, &data, err) != LM_OK)
            return err->code;
        load = now() - start < load ? now() - start : load;
        start = now();
        lm_dataset_digest(&data);
        digest = now() - start < digest ? now() - start : digest;
        lm_dataset_free(&data);
    }
    printf("%zu lines, %.1f MB of text, best of %d\n", count.rows, (double)size / 1e6, REPEATS);
    printf("%-8s %10s %10s %14s\n", "part", "s", "MB/s", "lines/s");
    show("parse", parse, size, count.rows);
    show("digest", digest, size, count.rows);
    show("load", load, size, count.rows);
    return LM_OK;
}

static void remove_data(const char *dir)
{
    char path[4200];

    for (int c = 0; c < LM_CLASSES; c++) {
        snprintf(path, sizeof path, "%s/%c.csv", dir, LM_LETTERS[c]);
        unlink(path);
    }
    rmdir(dir);
}

int main(int argc, char **argv)
{
    const char *temporary = getenv("TMPDIR");
    char *end = "", dir[4096];
    unsigned long long lines = argc > 1 ? strtoull(argv[1], &end, 10) : 1000000;
    struct lm_error err;

    if (*end || lines < 2 * LM_CLASSES || argc > 3) {
        fprintf(stderr, "usage: load_speed [LINES (%d or more) [FOLDER]]\n", 2 * LM_CLASSES);
        return 2;
    }
    if (argc > 2) {
        snprintf(dir, sizeof dir, "%s", argv[2]);
    } else {
        snprintf(dir, sizeof dir, "%s/load_speed.XXXXXX", temporary ? temporary : "/tmp");
        if (!mkdtemp(dir)) {
            perror(dir);
            return 1;
        }
    }
    int code = make_data(dir, lines, &err);
    if (code == LM_OK)
        code = measure(dir, &err);
    if (code == LM_OK || argc <= 2)
        remove_data(dir);
    return code == LM_OK ? 0 : failed(&err);
}
