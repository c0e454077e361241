/* scratch.h: folders for tests that need files. Include after cmocka.h. */
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new folder under $TMPDIR. Free the name with scratch_remove. */
static inline char *scratch_make(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = NULL;

    assert_true(asprintf(&dir, "%s/libras_test.XXXXXX", base && *base ? base : "/tmp") > 0);
    assert_non_null(mkdtemp(dir));
    return dir;
}

static inline int scratch_remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static inline void scratch_remove(char *dir)
{
    assert_int_equal(nftw(dir, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(dir);
}

static inline void scratch_write(const char *dir, const char *name, const void *bytes, size_t n)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static inline int scratch_exists(const char *dir, const char *name)
{
    char *path = NULL;
    struct stat status;

    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    int there = lstat(path, &status) == 0;
    free(path);
    return there;
}

static inline void scratch_delete(const char *dir, const char *name)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    assert_int_equal(remove(path), 0);
    free(path);
}

/* Sets a locale with a decimal comma, made in the folder where the machine has none. 0 where that cannot be done. */
static inline int scratch_comma_locale(const char *dir)
{
    char command[600];

    snprintf(command, sizeof command, "localedef -c -i pt_BR -f UTF-8 '%s/pt_BR.UTF-8' >/dev/null 2>&1", dir);
    if (!setlocale(LC_ALL, "pt_BR.UTF-8")) {
        if (system(command) != 0 || setenv("LOCPATH", dir, 1) != 0 || !setlocale(LC_ALL, "pt_BR.UTF-8"))
            return 0;
    }
    return localeconv()->decimal_point[0] == ',';
}

#endif
