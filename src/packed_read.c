/* packed_read.c: a packed file, block by block; see packed.h.
 *
 * A block is read whole (pread: no position that two readers could move), summed, and only then believed. Grey values
 * of 8 bits are normalised by a table: 256 possible values for each of 64 pixels, each computed once by the very
 * division that lm_scaler_apply would do, so the bits are the same. A division a pixel would take longer than the
 * network.
 *
 * Files are read, not mapped: a mapped file that another program cuts short kills the reader, and the pages would count
 * as this process's memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "packed.h"
#include "packed_bytes.h"

#define GREYS 256

struct lm_packed {
    int fd;
    char *path; /* owned, for messages */
    unsigned char header[LM_PACKED_HEADER];
    struct lm_packed_layout layout;
    unsigned char *raw; /* owned: a block as it is in the file */
    struct lm_scaler scaler;
    float (*grey)[GREYS]; /* owned, (64, 256): uint8 alone */
};

/* ---- open ---- */

/* n bytes from offset on; a file that ends before is damaged. */
static int read_at(const struct lm_packed *file, void *bytes, size_t n, uint64_t offset, struct lm_error *err)
{
    for (size_t have = 0; have < n;) {
        ssize_t got = pread(file->fd, (char *)bytes + have, n - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lm_fail(err, LM_FAILED, "byte %llu: cannot read: %s", (unsigned long long)(offset + have),
                           strerror(errno));
        if (got == 0)
            return lm_fail(err, LM_BAD_INPUT, "byte %llu: the file ends here; it was longer when it was opened",
                           (unsigned long long)(offset + have));
        have += (size_t)got;
    }
    return LM_OK;
}

/* Not blocking, so that a pipe cannot hold us up. */
static int open_plain(struct lm_packed *file, uint64_t *size, struct lm_error *err)
{
    struct stat about = {0};
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return lm_fail(err, LM_BAD_INPUT, "%s", strerror(errno));
    if (fstat(file->fd, &about) != 0)
        return lm_fail(err, LM_FAILED, "%s", strerror(errno));
    if (!S_ISREG(about.st_mode))
        return lm_fail(err, LM_BAD_INPUT,
                       S_ISDIR(about.st_mode) ? "a folder; a packed file was expected" : "not a regular file");
    *size = (uint64_t)about.st_size;
    return LM_OK;
}

static int check_size(const struct lm_packed *file, uint64_t size, struct lm_error *err)
{
    uint64_t wanted = lm_packed_offset(&file->layout, lm_packed_blocks(&file->layout));
    if (size < wanted)
        return lm_fail(err, LM_BAD_INPUT, "byte %llu: the file ends here; its header says %llu samples in %llu bytes",
                       (unsigned long long)size, (unsigned long long)file->layout.samples, (unsigned long long)wanted);
    if (size > wanted)
        return lm_fail(err, LM_BAD_INPUT,
                       "byte %llu: the last block ends here, and %llu bytes more follow; its header says %llu samples",
                       (unsigned long long)wanted, (unsigned long long)(size - wanted),
                       (unsigned long long)file->layout.samples);
    return LM_OK;
}

static int open_steps(struct lm_packed *file, struct lm_error *err)
{
    uint64_t size = 0;
    int code = open_plain(file, &size, err);
    if (code == LM_OK && size < LM_PACKED_HEADER)
        code = lm_fail(err, LM_BAD_INPUT, "byte %llu: the file ends here; a packed file's header alone has %d bytes",
                       (unsigned long long)size, LM_PACKED_HEADER);
    if (code == LM_OK)
        code = read_at(file, file->header, sizeof file->header, 0, err);
    if (code == LM_OK)
        code = lm_packed_get_header(file->header, &file->layout, err);
    if (code == LM_OK)
        code = check_size(file, size, err);
    if (code != LM_OK)
        return code;
    size_t bytes = lm_packed_block_bytes(&file->layout, file->layout.block);
    file->raw = malloc(bytes);
    return file->raw ? LM_OK : lm_fail_memory(err, bytes, "a block");
}

int lm_packed_open(const char *path, struct lm_packed **out, struct lm_error *err)
{
    struct lm_packed *file = calloc(1, sizeof *file);
    *out = NULL;
    if (file)
        file->path = strdup(path);
    if (!file || !file->path) {
        free(file);
        return lm_fail_memory(err, sizeof *file + strlen(path), "a packed file");
    }
    file->fd = -1;
    if (open_steps(file, err) != LM_OK) {
        lm_packed_close(file);
        return lm_fail_within(err, "%s: ", path);
    }
    *out = file;
    return LM_OK;
}

void lm_packed_close(struct lm_packed *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    free(file->raw);
    free(file->grey);
    free(file);
}

const struct lm_packed_layout *lm_packed_layout_of(const struct lm_packed *file)
{
    return &file->layout;
}

void lm_packed_hash_begin(const struct lm_packed *file, struct lm_sha256 *hash)
{
    lm_sha256_begin(hash);
    lm_sha256_add(hash, file->header, sizeof file->header);
}

int lm_packed_digest(struct lm_packed *file, char hex[LM_SHA256_HEX], struct lm_error *err)
{
    struct lm_sha256 hash;
    unsigned char sum[4];
    lm_packed_hash_begin(file, &hash);
    for (uint64_t k = 0; k < lm_packed_blocks(&file->layout); k++) {
        if (read_at(file, sum, sizeof sum, lm_packed_offset(&file->layout, k + 1) - LM_PACKED_TRAILER, err) != LM_OK)
            return lm_fail_within(err, "%s: ", file->path);
        lm_sha256_add(&hash, sum, sizeof sum);
    }
    lm_sha256_end(&hash, hex);
    return LM_OK;
}

/* ---- normalise ---- */

static int fail_scaler(const struct lm_packed *file, int p, struct lm_error *err)
{
    return lm_fail(err, LM_BAD_INPUT, "%s: value %d cannot be normalised: mean %.17g and scale %.17g", file->path,
                   p + 1, file->scaler.mean[p], file->scaler.scale[p]);
}

static int make_table(struct lm_packed *file, struct lm_error *err)
{
    double pixel[LM_PIXELS];
    float x[LM_PIXELS];
    if (!file->grey)
        file->grey = malloc(LM_PIXELS * sizeof *file->grey);
    if (!file->grey)
        return lm_fail_memory(err, LM_PIXELS * sizeof *file->grey, "a table of grey values");
    for (int v = 0; v < GREYS; v++) {
        for (int p = 0; p < LM_PIXELS; p++)
            pixel[p] = v;
        lm_scaler_apply(&file->scaler, pixel, x);
        for (int p = 0; p < LM_PIXELS; p++) {
            if (!isfinite(x[p]))
                return fail_scaler(file, p, err);
            file->grey[p][v] = x[p];
        }
    }
    return LM_OK;
}

int lm_packed_set_scaler(struct lm_packed *file, const struct lm_scaler *scaler, struct lm_error *err)
{
    file->scaler = *scaler;
    for (int p = 0; p < LM_PIXELS; p++)
        if (!isfinite(scaler->mean[p]) || !isfinite(scaler->scale[p]) || scaler->scale[p] == 0)
            return fail_scaler(file, p, err);
    return file->layout.type == LM_PACKED_U8 ? make_table(file, err) : LM_OK;
}

static void take_bytes(const struct lm_packed *file, uint32_t n, float *x)
{
    const unsigned char *pixel = file->raw;
    for (uint32_t i = 0; i < n; i++, pixel += LM_PIXELS, x += LM_PIXELS)
        for (int p = 0; p < LM_PIXELS; p++)
            x[p] = file->grey[p][pixel[p]];
}

/* In shifts that compilers know to be one load. */
static float float_at(const unsigned char *at)
{
    uint32_t bits = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int fail_value(const struct lm_packed *file, uint64_t k, uint32_t i, const float *x, struct lm_error *err)
{
    int p = 0;
    const unsigned char *at = file->raw + (size_t)i * LM_PIXELS * 4;
    while (p < LM_PIXELS - 1 && isfinite(x[p]))
        p++;
    return lm_fail(err, LM_BAD_INPUT, "%s: block %llu, byte %llu: sample %llu, value %d: %.9g is not finite%s",
                   file->path, (unsigned long long)k,
                   (unsigned long long)(lm_packed_offset(&file->layout, k) + ((size_t)i * LM_PIXELS + (size_t)p) * 4),
                   (unsigned long long)(k * file->layout.block + i), p + 1, (double)float_at(at + 4 * p),
                   isfinite(float_at(at + 4 * p)) ? " as a float32 once normalised" : "");
}

static int take_floats(const struct lm_packed *file, uint64_t k, uint32_t n, float *x, struct lm_error *err)
{
    const unsigned char *at = file->raw;
    for (uint32_t i = 0; i < n; i++, x += LM_PIXELS) {
        double pixel[LM_PIXELS];
        int finite = 1;
        for (int p = 0; p < LM_PIXELS; p++, at += 4)
            pixel[p] = (double)float_at(at);
        lm_scaler_apply(&file->scaler, pixel, x);
        for (int p = 0; p < LM_PIXELS; p++)
            finite &= isfinite(x[p]) != 0; /* a value that is not finite before is none after, either */
        if (!finite)
            return fail_value(file, k, i, x, err);
    }
    return LM_OK;
}

/* ---- read ---- */

static int check_sum(const struct lm_packed *file, uint64_t k, size_t bytes, struct lm_error *err)
{
    const unsigned char *trailer = file->raw + bytes - LM_PACKED_TRAILER;
    uint32_t found = lm_packed_sum(k, file->raw, bytes - LM_PACKED_TRAILER);
    uint32_t said = (uint32_t)lm_get_little(trailer, 4);
    const unsigned long long offset = lm_packed_offset(&file->layout, k);
    if (found != said)
        return lm_fail(err, LM_BAD_INPUT,
                       "%s: block %llu (bytes %llu to %llu) is damaged: its CRC-32C is 0x%08x, and 0x%08x is written "
                       "there",
                       file->path, (unsigned long long)k, offset, offset + bytes - 1, (unsigned)found, (unsigned)said);
    if (lm_get_little(trailer + 4, 4) != 0)
        return lm_fail(err, LM_BAD_INPUT, "%s: block %llu, byte %llu: not zero, as it should be", file->path,
                       (unsigned long long)k, offset + bytes - 4);
    return LM_OK;
}

static int take_labels(const struct lm_packed *file, uint64_t k, uint32_t n, uint8_t *label, struct lm_error *err)
{
    size_t pixels = (size_t)n * LM_PIXELS * lm_packed_pixel_bytes(file->layout.type);
    memcpy(label, file->raw + pixels, n);
    for (uint32_t i = 0; i < n; i++)
        if (label[i] >= LM_CLASSES)
            return lm_fail(err, LM_BAD_INPUT, "%s: block %llu, byte %llu: sample %llu: label %d: 0 to %d are letters",
                           file->path, (unsigned long long)k,
                           (unsigned long long)(lm_packed_offset(&file->layout, k) + pixels + i),
                           (unsigned long long)(k * file->layout.block + i), label[i], LM_CLASSES - 1);
    return LM_OK;
}

/* Block k into file->raw, checked; n: its samples. */
static int read_block(struct lm_packed *file, uint64_t k, uint32_t n, uint8_t *label, unsigned char sum[4],
                      struct lm_error *err)
{
    size_t bytes = lm_packed_block_bytes(&file->layout, n);
    if (read_at(file, file->raw, bytes, lm_packed_offset(&file->layout, k), err) != LM_OK)
        return lm_fail_within(err, "%s: block %llu: ", file->path, (unsigned long long)k);
    int code = check_sum(file, k, bytes, err);
    if (code == LM_OK && file->layout.labelled)
        code = take_labels(file, k, n, label, err);
    if (code == LM_OK)
        memcpy(sum, file->raw + bytes - LM_PACKED_TRAILER, 4);
    return code;
}

int lm_packed_read(struct lm_packed *file, uint64_t k, float *x, uint8_t *label, unsigned char sum[4],
                   struct lm_error *err)
{
    uint32_t n = lm_packed_count(&file->layout, k);
    int code = read_block(file, k, n, label, sum, err);
    if (code != LM_OK)
        return code;
    if (file->layout.type == LM_PACKED_F32)
        return take_floats(file, k, n, x, err);
    take_bytes(file, n, x);
    return LM_OK;
}

int lm_packed_read_grey(struct lm_packed *file, uint64_t k, uint8_t *pixel, uint8_t *label, unsigned char sum[4],
                        struct lm_error *err)
{
    uint32_t n = lm_packed_count(&file->layout, k);
    if (file->layout.type != LM_PACKED_U8)
        return lm_fail(err, LM_BAD_INPUT, "%s: its pixels have no 8 bits", file->path);
    int code = read_block(file, k, n, label, sum, err);
    if (code == LM_OK)
        memcpy(pixel, file->raw, (size_t)n * LM_PIXELS);
    return code;
}

const float (*lm_packed_grey(const struct lm_packed *file))[256]
{
    return (const float(*)[GREYS])file->grey;
}

void lm_packed_expect(const struct lm_packed *file, uint64_t k)
{
    if (k < lm_packed_blocks(&file->layout))
        (void)posix_fadvise(file->fd, (off_t)lm_packed_offset(&file->layout, k),
                            (off_t)lm_packed_block_bytes(&file->layout, lm_packed_count(&file->layout, k)),
                            POSIX_FADV_WILLNEED); /* a wish */
}
