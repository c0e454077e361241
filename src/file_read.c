/* file_read.c: see file_read.h. */
#include "file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file may grow or shrink meanwhile: as many bytes are read as it had when it was opened. */
static int read_all(int fd, const char *path, uint8_t *bytes, size_t n, struct lm_error *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t now = read(fd, bytes + done, n - done);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return lm_fail(err, LM_FAILED, "%s: byte %zu: cannot read: %s", path, done, strerror(errno));
        if (now == 0)
            return lm_fail(err, LM_FAILED, "%s: byte %zu: the file ends here; it had %zu", path, done, n);
        done += (size_t)now;
    }
    return LM_OK;
}

static int measure(int fd, const char *path, size_t most, size_t *n, struct lm_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return lm_fail(err, LM_FAILED, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return lm_fail(err, LM_BAD_INPUT, "%s: %s", path, S_ISDIR(about.st_mode) ? "this is a folder" : "no file");
    if ((uintmax_t)about.st_size > most)
        return lm_fail(err, LM_BAD_INPUT, "%s: %llu bytes; at most %zu are read", path,
                       (unsigned long long)about.st_size, most);
    *n = (size_t)about.st_size;
    return LM_OK;
}

int lm_file_read(const char *path, size_t most, uint8_t **bytes, size_t *n, struct lm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *bytes = NULL;
    if (fd < 0)
        return lm_fail(err, errno == EMFILE || errno == ENFILE || errno == EIO ? LM_FAILED : LM_BAD_INPUT, "%s: %s",
                       path, strerror(errno));
    int code = measure(fd, path, most, n, err);
    if (code == LM_OK && !(*bytes = malloc(*n + 1)))
        code = lm_fail_memory(err, *n + 1, path);
    if (code == LM_OK && (code = read_all(fd, path, *bytes, *n, err)) == LM_OK)
        (*bytes)[*n] = 0;
    close(fd);
    if (code != LM_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return code;
}
