/* picture_png.c: PNG by libpng.
 *
 * libpng turns every kind of PNG of up to 8 bits into grey or RGB, with or without alpha. Errors jump back here;
 * warnings (a damaged comment, an odd colour profile) change no pixel and are dropped. Rows are turned into grey one by
 * one; of an interlaced file all rows must be held, since each pass brings some pixels of many.
 *
 * Colour profiles and gamma are not applied: grey is that of the values in the file, as for a JPEG.
 */
#include "picture_codec.h"

#ifdef LM_HAVE_PNG

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHUNK    ((png_alloc_size_t)8 << 20) /* bytes of a comment or profile, unpacked */
#define MOST_COMMENTS 128

struct reading {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t n, at;
    uint8_t *rows; /* one, or all of an interlaced file */
    int channels, passes;
    int code; /* where it is not libpng that refuses */
    char text[160];
    struct lm_picture *out;
    struct lm_error *err;
};

static void stop(png_structp png, png_const_charp message)
{
    struct reading *r = png_get_error_ptr(png);
    snprintf(r->text, sizeof r->text, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void drop(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static void give_bytes(png_structp png, png_bytep to, size_t n)
{
    struct reading *r = png_get_io_ptr(png);
    if (n > r->n - r->at)
        png_error(png, "the file ends too early");
    memcpy(to, r->bytes + r->at, n);
    r->at += n;
}

static int orientation_of(struct reading *r)
{
#if defined PNG_eXIf_SUPPORTED
    png_uint_32 n = 0;
    png_bytep tiff = NULL;
    if (png_get_eXIf_1(r->png, r->info, &n, &tiff) && tiff)
        return lm_exif_orientation(tiff, n);
#endif
    (void)r;
    return 0;
}

static int read_head(struct reading *r)
{
    png_set_read_fn(r->png, r, give_bytes);
    png_set_user_limits(r->png, LM_PICTURE_MOST_SIDE, LM_PICTURE_MOST_SIDE);
    png_set_chunk_malloc_max(r->png, MOST_CHUNK);
    png_set_chunk_cache_max(r->png, MOST_COMMENTS);
    png_read_info(r->png, r->info);
    if (png_get_bit_depth(r->png, r->info) == 16)
        return r->code = lm_fail(r->err, LM_BAD_INPUT, "a PNG of 16 bits a channel: save it with 8");
    r->code = lm_picture_allocate(r->out, png_get_image_width(r->png, r->info), png_get_image_height(r->png, r->info),
                                  r->err);
    if (r->code != LM_OK)
        return r->code;
    r->out->orientation = orientation_of(r);
    png_set_expand(r->png); /* palettes, fewer than 8 bits, a colour that stands for transparent */
    r->passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->channels = png_get_channels(r->png, r->info);
    return LM_OK;
}

/* A row of 1, 2, 3 or 4 channels, in place; the 2nd or 4th is alpha, which must be opaque. Returns 0 where it is not.
 */
static int row_to_grey(struct reading *r, uint8_t *row, uint8_t *grey)
{
    const size_t width = r->out->width, colours = r->channels >= 3 ? 3 : 1, channels = (size_t)r->channels;
    if (channels == 2 || channels == 4)
        for (size_t x = 0; x < width; x++) {
            if (row[x * channels + colours] != 255)
                return 0;
            memmove(row + x * colours, row + x * channels, colours);
        }
    if (colours == 3)
        lm_picture_grey(row, width, grey);
    else
        memcpy(grey, row, width);
    return 1;
}

static int read_rows(struct reading *r)
{
    const size_t stride = (size_t)r->channels * r->out->width;
    const size_t all = r->passes > 1 ? stride : 0; /* from one row to the next, where all are held */
    for (int pass = 0; pass < r->passes; pass++)
        for (size_t y = 0; y < r->out->height; y++) {
            uint8_t *row = r->rows + y * all;
            png_read_row(r->png, row, NULL);
            if (pass < r->passes - 1)
                continue;
            if (!row_to_grey(r, row, r->out->grey + y * r->out->width))
                return lm_fail(r->err, LM_BAD_INPUT,
                               "a PNG with transparent pixels: nobody knows what stands behind them; save it without "
                               "alpha");
        }
    png_read_end(r->png, NULL);
    r->out->opaque_alpha = r->channels == 2 || r->channels == 4;
    return LM_OK;
}

/* All that may jump back, and nothing that lives on: what must be freed lies in *r. */
static int read_guarded(struct reading *r)
{
    if (setjmp(png_jmpbuf(r->png)))
        return lm_fail(r->err, LM_BAD_INPUT, "a damaged PNG: %s", r->text);
    if (read_head(r) != LM_OK)
        return r->code;
    size_t bytes = (size_t)r->channels * r->out->width * (r->passes > 1 ? r->out->height : 1);
    r->rows = malloc(bytes);
    if (!r->rows)
        return lm_fail_memory(r->err, bytes, "a PNG's pixels");
    return read_rows(r);
}

int lm_picture_read_png(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err)
{
    struct reading r = {.bytes = bytes, .n = n, .out = out, .err = err};
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, stop, drop);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    int code = r.info ? read_guarded(&r) : lm_fail_memory(err, 4096, "a PNG's reader");
    png_destroy_read_struct(&r.png, &r.info, NULL);
    free(r.rows);
    return code;
}

void lm_picture_png_version(char *text, size_t size)
{
    snprintf(text, size, "libpng %s", png_get_libpng_ver(NULL));
}

#else

int lm_picture_read_png(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err)
{
    (void)bytes, (void)n, (void)out;
    return lm_fail(err, LM_UNAVAILABLE, "a PNG, and this program was built without libpng (libpng-dev)");
}

void lm_picture_png_version(char *text, size_t size)
{
    (void)size;
    *text = '\0';
}

#endif
