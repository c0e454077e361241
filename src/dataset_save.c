/* dataset_save.c: a data set as a folder of CSV files.
 *
 * All fifteen files are written first, under temporary names in the same folder, and flushed to disk; only then do they
 * get their names. A full disk or a killed job so leaves the folder as it was, but for temporary files.
 *
 * Grey values are written as whole numbers, others in the fewest digits (15, else 17) that read back as the same bits.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset.h"
#include "decimal.h"

#define NUMBER 40
#define BUFFER ((size_t)1 << 18)

static char *letter_path(const char *dir, char letter, const char *extension)
{
    char *path;
    return asprintf(&path, "%s/%c.csv%s", dir, letter, extension) < 0 ? NULL : path;
}

/* mkdir -p. */
static int make_folder(const char *dir, struct lm_error *err)
{
    char *path = strdup(dir);
    int code = path ? LM_OK : lm_fail_memory(err, strlen(dir) + 1, "a path");

    for (char *p = path; code == LM_OK && p && *p;) {
        p += strspn(p, "/");
        p += strcspn(p, "/");
        char kept = *p;
        *p = '\0';
        if (*path && mkdir(path, 0777) != 0 && errno != EEXIST)
            code = lm_fail(err, LM_FAILED, "%s: cannot make the folder: %s", path, strerror(errno));
        *p = kept;
    }
    free(path);
    struct stat status;
    if (code == LM_OK && (stat(dir, &status) != 0 || !S_ISDIR(status.st_mode)))
        code = lm_fail(err, LM_BAD_INPUT, "%s: not a folder", dir);
    return code;
}

/* Neither a letter's file nor its twin in small letters may be there. */
static int refuse_existing(const char *dir, struct lm_error *err)
{
    for (int c = 0; c < 2 * LM_CLASSES; c++) {
        char letter = (char)(LM_LETTERS[c / 2] | (c % 2 ? 0x20 : 0));
        char *path = letter_path(dir, letter, "");
        struct stat status;

        if (!path)
            return lm_fail_memory(err, strlen(dir) + 8, "a path");
        int there = lstat(path, &status) == 0;
        int code = there ? lm_fail(err, LM_BAD_INPUT, "%s: the file exists; --force replaces it", path) : LM_OK;
        free(path);
        if (there)
            return code;
    }
    return LM_OK;
}

int lm_dataset_check_target(const char *dir, int force, struct lm_error *err)
{
    int code = make_folder(dir, err);
    if (code == LM_OK && !force)
        code = refuse_existing(dir, err);
    if (code == LM_OK && access(dir, W_OK | X_OK) != 0)
        code = lm_fail(err, LM_BAD_INPUT, "%s: cannot write in this folder: %s", dir, strerror(errno));
    return code;
}

/* Writes the number at p and returns its end. By way of printf only where it is not a grey value, and then with a
 * point, whatever the locale says. */
static char *write_number(char *p, double value)
{
    if (value >= 0 && value <= 255 && value == (double)(int)value && !signbit(value)) {
        int grey = (int)value;
        if (grey >= 100)
            *p++ = (char)('0' + grey / 100);
        if (grey >= 10)
            *p++ = (char)('0' + grey / 10 % 10);
        *p++ = (char)('0' + grey % 10);
        return p;
    }
    for (int digits = 15; digits <= 17; digits += 2) {
        double back;
        int n = snprintf(p, NUMBER, "%.*e", digits - 1, value);

        /* The point is the one thing a locale changes; it may be several bytes long. */
        char *first = p + (*p == '-') + 1, *rest = first;
        while (*rest < '0' || *rest > '9')
            rest++;
        *first = '.';
        memmove(first + 1, rest, (size_t)(p + n - rest));
        n -= (int)(rest - first) - 1;
        (void)lm_decimal_read(p, p + n, &back);
        if (digits == 17 || memcmp(&back, &value, sizeof back) == 0)
            return p + n;
    }
    return p; /* not reached */
}

static int write_rows(FILE *file, const double *pixel, uint64_t rows)
{
    char line[LM_PIXELS * (NUMBER + 1)];

    for (uint64_t i = 0; i < rows; i++) {
        char *p = line;
        for (int k = 0; k < LM_PIXELS; k++) {
            p = write_number(p, *pixel++);
            *p++ = k < LM_PIXELS - 1 ? ',' : '\n';
        }
        if (fwrite(line, 1, (size_t)(p - line), file) != (size_t)(p - line))
            return -1;
    }
    return fflush(file) == 0 && fsync(fileno(file)) == 0 ? 0 : -1;
}

/* One letter, to a new file: a name of this process's own, so never another's. */
static int write_letter(const char *path, const double *pixel, uint64_t rows, struct lm_error *err)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");

    if (!file) {
        int code = lm_fail(err, LM_FAILED, "%s: cannot create the file: %s", path, strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        return code;
    }
    (void)setvbuf(file, NULL, _IOFBF, BUFFER);
    int failed = write_rows(file, pixel, rows) != 0, reason = errno;
    if (fclose(file) != 0 && !failed)
        failed = 1, reason = errno;
    return failed ? lm_fail(err, LM_FAILED, "%s: cannot write the file: %s", path, strerror(reason)) : LM_OK;
}

/* Gives the finished file its name. Without force by a hard link, which never replaces a file that came in between;
 * where the file system has no such links, by a rename. */
static int publish(const char *temporary, const char *path, int force, struct lm_error *err)
{
    if (!force) {
        if (link(temporary, path) == 0)
            return unlink(temporary) == 0 ? LM_OK : lm_fail(err, LM_FAILED, "%s: %s", temporary, strerror(errno));
        if (errno == EEXIST)
            return lm_fail(err, LM_BAD_INPUT, "%s: the file exists; --force replaces it", path);
    }
    if (rename(temporary, path) != 0)
        return lm_fail(err, LM_FAILED, "%s: cannot give the file its name: %s", path, strerror(errno));
    return LM_OK;
}

/* With force, x.csv is what X.csv replaces: left there, the two would be refused as twins. On a file system that takes
 * capitals and small letters for the same, x.csv is the new file itself and stays. */
static int remove_twin(const char *path, const char *twin, struct lm_error *err)
{
    struct stat ours, theirs;

    if (lstat(twin, &theirs) != 0)
        return LM_OK;
    if (lstat(path, &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
        return LM_OK;
    return unlink(twin) == 0 ? LM_OK : lm_fail(err, LM_FAILED, "%s: cannot remove: %s", twin, strerror(errno));
}

static int publish_letter(const char *dir, char letter, const char *temporary, int force, struct lm_error *err)
{
    char *path = letter_path(dir, letter, ""), *twin = letter_path(dir, (char)(letter | 0x20), "");
    int code = path && twin ? LM_OK : lm_fail_memory(err, strlen(dir) + 8, "a path");

    if (code == LM_OK)
        code = publish(temporary, path, force, err);
    if (code == LM_OK && force)
        code = remove_twin(path, twin, err);
    free(path);
    free(twin);
    return code;
}

int lm_dataset_save(const struct lm_dataset *data, const char *dir, int force, struct lm_error *err)
{
    char *temporary[LM_CLASSES] = {NULL}, extension[32];
    const double *pixel = data->pixel;
    int code = lm_dataset_check_target(dir, force, err);

    snprintf(extension, sizeof extension, ".tmp.%ld", (long)getpid());
    for (int c = 0; c < LM_CLASSES && code == LM_OK; c++) {
        temporary[c] = letter_path(dir, LM_LETTERS[c], extension);
        code = temporary[c] ? write_letter(temporary[c], pixel, data->count[c], err)
                            : lm_fail_memory(err, strlen(dir) + 40, "a path");
        pixel += (size_t)data->count[c] * LM_PIXELS;
    }
    for (int c = 0; c < LM_CLASSES && code == LM_OK; c++)
        code = publish_letter(dir, LM_LETTERS[c], temporary[c], force, err);
    for (int c = 0; c < LM_CLASSES; c++) {
        if (temporary[c] && code != LM_OK)
            (void)unlink(temporary[c]);
        free(temporary[c]);
    }
    return code;
}
