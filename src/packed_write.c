/* packed_write.c: makes a packed file; see packed.h.
 *
 * Blocks go to their places by pwrite, in any order, under a temporary name in the same folder; the name is given when
 * all are there and on disk. A full disk or a killed job so leaves the old file, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "packed.h"
#include "packed_bytes.h"

struct lm_packed_writer {
    int fd, force;
    char *path, *temporary; /* owned */
    struct lm_packed_layout layout;
    unsigned char *raw;     /* owned: a block as it will be in the file */
    unsigned char *present; /* owned, a bit a block */
    uint64_t missing;       /* blocks that were not put yet */
};

/* ---- create ---- */

static int write_at(const struct lm_packed_writer *writer, const void *bytes, size_t n, uint64_t offset,
                    struct lm_error *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t now = pwrite(writer->fd, (const char *)bytes + done, n - done, (off_t)(offset + done));
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return lm_fail(err, LM_FAILED, "%s: byte %llu: cannot write: %s", writer->temporary,
                           (unsigned long long)(offset + done), strerror(now ? errno : EIO));
        done += (size_t)now;
    }
    return LM_OK;
}

int lm_packed_check_target(const char *path, int force, struct lm_error *err)
{
    struct stat about;
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return lm_fail(err, LM_BAD_INPUT, "'%s': the name of a file was expected", path);
    if (lstat(path, &about) != 0)
        return LM_OK;
    if (S_ISDIR(about.st_mode))
        return lm_fail(err, LM_BAD_INPUT, "%s: a folder is there; the name of a file was expected", path);
    return force ? LM_OK : lm_fail(err, LM_BAD_INPUT, "%s: the file exists; --force replaces it", path);
}

static int check_layout(const struct lm_packed_layout *layout, struct lm_error *err)
{
    unsigned char bytes[LM_PACKED_HEADER];
    struct lm_packed_layout back;
    lm_packed_put_header(layout, bytes);
    return lm_packed_get_header(bytes, &back, err);
}

static int allocate(struct lm_packed_writer *writer, struct lm_error *err)
{
    size_t bytes = lm_packed_block_bytes(&writer->layout, writer->layout.block);
    writer->missing = lm_packed_blocks(&writer->layout);
    writer->raw = malloc(bytes);
    writer->present = calloc(writer->missing / 8 + 1, 1);
    if (writer->raw && writer->present && asprintf(&writer->temporary, "%s.tmp.%ld", writer->path, (long)getpid()) > 0)
        return LM_OK;
    writer->temporary = NULL;
    return lm_fail_memory(err, bytes + writer->missing / 8, "a packed file");
}

static int make_file(struct lm_packed_writer *writer, struct lm_error *err)
{
    unsigned char header[LM_PACKED_HEADER];
    writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        return lm_fail(err, errno == ENOENT || errno == ENOTDIR || errno == EACCES ? LM_BAD_INPUT : LM_FAILED,
                       "%s: cannot make the file: %s", writer->path, strerror(errno));
    lm_packed_put_header(&writer->layout, header);
    return write_at(writer, header, sizeof header, 0, err);
}

int lm_packed_create(const char *path, const struct lm_packed_layout *layout, int force, struct lm_packed_writer **out,
                     struct lm_error *err)
{
    *out = NULL;
    int code = check_layout(layout, err);
    if (code != LM_OK)
        return lm_fail_within(err, "%s: ", path);
    struct lm_packed_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return lm_fail_memory(err, sizeof *writer, "a packed file");
    writer->fd = -1;
    writer->force = force;
    writer->layout = *layout;
    writer->path = strdup(path);
    code = writer->path ? lm_packed_check_target(path, force, err) : lm_fail_memory(err, strlen(path), "a name");
    if (code == LM_OK)
        code = allocate(writer, err);
    if (code == LM_OK)
        code = make_file(writer, err);
    if (code != LM_OK) {
        lm_packed_abandon(writer);
        return code;
    }
    *out = writer;
    return LM_OK;
}

/* ---- put ---- */

static size_t put_pixels(unsigned char *at, enum lm_packed_type type, const void *pixel, size_t n)
{
    if (type == LM_PACKED_U8) {
        memcpy(at, pixel, n);
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)pixel + 4 * i, sizeof bits);
        lm_put_little(at + 4 * i, bits, 4);
    }
    return 4 * n;
}

int lm_packed_put(struct lm_packed_writer *writer, uint64_t k, const void *pixel, const uint8_t *label,
                  struct lm_error *err)
{
    const struct lm_packed_layout *layout = &writer->layout;
    if (k >= lm_packed_blocks(layout))
        return lm_fail(err, LM_FAILED, "%s: there is no block %llu", writer->path, (unsigned long long)k);
    uint32_t n = lm_packed_count(layout, k);
    size_t bytes = lm_packed_block_bytes(layout, n), data = bytes - LM_PACKED_TRAILER;
    size_t used = put_pixels(writer->raw, layout->type, pixel, (size_t)n * LM_PIXELS);
    memset(writer->raw + used, 0, bytes - used);
    if (layout->labelled)
        memcpy(writer->raw + used, label, n);
    lm_put_little(writer->raw + data, lm_packed_sum(k, writer->raw, data), 4);
    int code = write_at(writer, writer->raw, bytes, lm_packed_offset(layout, k), err);
    unsigned char bit = (unsigned char)(1 << k % 8);
    if (code == LM_OK && !(writer->present[k / 8] & bit)) {
        writer->present[k / 8] |= bit;
        writer->missing--;
    }
    return code;
}

/* ---- finish ---- */

/* Without force by a hard link, which never replaces a file that came in between; where the file system has no such
 * links, by a rename. */
static int publish(const struct lm_packed_writer *writer, struct lm_error *err)
{
    if (!writer->force) {
        if (link(writer->temporary, writer->path) == 0) {
            (void)unlink(writer->temporary);
            return LM_OK;
        }
        if (errno == EEXIST)
            return lm_fail(err, LM_BAD_INPUT, "%s: the file exists; --force replaces it", writer->path);
    }
    if (rename(writer->temporary, writer->path) == 0)
        return LM_OK;
    return lm_fail(err, LM_FAILED, "%s: cannot give the file its name: %s", writer->path, strerror(errno));
}

int lm_packed_finish(struct lm_packed_writer *writer, struct lm_error *err)
{
    int code = writer->missing ? lm_fail(err, LM_FAILED, "%s: %llu blocks were never put", writer->path,
                                         (unsigned long long)writer->missing)
                               : LM_OK;
    if (code == LM_OK && fsync(writer->fd) != 0)
        code = lm_fail(err, LM_FAILED, "%s: cannot write it to disk: %s", writer->temporary, strerror(errno));
    if (close(writer->fd) != 0 && code == LM_OK)
        code = lm_fail(err, LM_FAILED, "%s: cannot write it to disk: %s", writer->temporary, strerror(errno));
    writer->fd = -1;
    if (code == LM_OK && (code = publish(writer, err)) == LM_OK) {
        free(writer->temporary); /* nothing is left to remove */
        writer->temporary = NULL;
    }
    lm_packed_abandon(writer);
    return code;
}

void lm_packed_abandon(struct lm_packed_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    /* Only what this writer has made: a create that failed before has no file. */
    if (writer->temporary)
        (void)unlink(writer->temporary);
    free(writer->path);
    free(writer->temporary);
    free(writer->raw);
    free(writer->present);
    free(writer);
}
