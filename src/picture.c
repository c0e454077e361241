/* picture.c: see picture.h. What is common to all kinds: which one it is, limits, files. */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_read.h"
#include "picture_codec.h"

/* ---- kinds ---- */

enum lm_picture_kind lm_picture_kind_of(const uint8_t *bytes, size_t n)
{
    static const uint8_t jpeg[] = {0xFF, 0xD8, 0xFF}, png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    if (n >= sizeof jpeg && memcmp(bytes, jpeg, sizeof jpeg) == 0)
        return LM_PICTURE_JPEG;
    if (n >= sizeof png && memcmp(bytes, png, sizeof png) == 0)
        return LM_PICTURE_PNG;
    if (n >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' && strchr(" \t\r\n#", bytes[2]) && bytes[2])
        return LM_PICTURE_PNM;
    return LM_PICTURE_NONE;
}

void lm_picture_library(enum lm_picture_kind kind, char *text, size_t size)
{
    *text = '\0';
    if (kind == LM_PICTURE_JPEG)
        lm_picture_jpeg_version(text, size);
    else if (kind == LM_PICTURE_PNG)
        lm_picture_png_version(text, size);
    else
        snprintf(text, size, "our own reader");
    if (!*text)
        snprintf(text, size, "none: built without %s",
                 kind == LM_PICTURE_JPEG ? "libjpeg (libjpeg-dev)" : "libpng (libpng-dev)");
}

/* ---- what the readers share ---- */

int lm_picture_allocate(struct lm_picture *picture, uint64_t width, uint64_t height, struct lm_error *err)
{
    if (width == 0 || height == 0)
        return lm_fail(err, LM_BAD_INPUT, "it says that it is %llu x %llu pixels", (unsigned long long)width,
                       (unsigned long long)height);
    if (width > LM_PICTURE_MOST_SIDE || height > LM_PICTURE_MOST_SIDE || width * height > LM_PICTURE_MOST_PIXELS)
        return lm_fail(err, LM_BAD_INPUT, "%llu x %llu pixels: at most %u a side and %u in all are read",
                       (unsigned long long)width, (unsigned long long)height, LM_PICTURE_MOST_SIDE,
                       LM_PICTURE_MOST_PIXELS);
    picture->width = (uint32_t)width;
    picture->height = (uint32_t)height;
    picture->grey = malloc(width * height);
    return picture->grey ? LM_OK : lm_fail_memory(err, width * height, "a picture");
}

void lm_picture_grey(const uint8_t *rgb, size_t n, uint8_t *grey)
{
    for (size_t i = 0; i < n; i++)
        grey[i] = (uint8_t)((19595u * rgb[3 * i] + 38470u * rgb[3 * i + 1] + 7471u * rgb[3 * i + 2] + 32768u) >> 16);
}

/* ---- bytes ---- */

static int nothing_we_know(const uint8_t *bytes, size_t n, struct lm_error *err)
{
    static const struct {
        const char *magic;
        size_t length;
        const char *name;
    } known[] = {{"GIF8", 4, "a GIF"},
                 {"RIFF", 4, "a RIFF file (WebP?)"},
                 {"BM", 2, "a BMP"},
                 {"II*\0", 4, "a TIFF"},
                 {"MM\0*", 4, "a TIFF"},
                 {"%PDF", 4, "a PDF"},
                 {"PK\3\4", 4, "a ZIP"},
                 {"<?xml", 5, "XML"},
                 {"<svg", 4, "an SVG"},
                 {"<html", 5, "a web page"},
                 {"<!DOCTYPE", 9, "a web page"}};
    if (n == 0)
        return lm_fail(err, LM_BAD_INPUT, "the file is empty");
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (n >= known[k].length && memcmp(bytes, known[k].magic, known[k].length) == 0)
            return lm_fail(err, LM_BAD_INPUT, "this is %s, not JPEG, PNG, PGM or PPM", known[k].name);
    if (n >= 12 && memcmp(bytes + 4, "ftyp", 4) == 0)
        return lm_fail(err, LM_BAD_INPUT, "this is HEIC, AVIF or a film, not JPEG, PNG, PGM or PPM");
    return lm_fail(err, LM_BAD_INPUT, "this is no picture: neither JPEG, PNG, PGM nor PPM begins so");
}

static int read_kind(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err)
{
    switch (lm_picture_kind_of(bytes, n)) {
    case LM_PICTURE_JPEG:
        return lm_picture_read_jpeg(bytes, n, out, err);
    case LM_PICTURE_PNG:
        return lm_picture_read_png(bytes, n, out, err);
    case LM_PICTURE_PNM:
        return lm_picture_read_pnm(bytes, n, out, err);
    default:
        return nothing_we_know(bytes, n, err);
    }
}

int lm_picture_decode(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err)
{
    *out = (struct lm_picture){0};
    int code = read_kind(bytes, n, out, err);
    if (code == LM_OK && out->orientation == 0)
        out->orientation = 1;
    if (code == LM_OK)
        code = lm_picture_turn(out, out->orientation, err);
    if (code != LM_OK)
        lm_picture_free(out);
    return code;
}

/* ---- files ---- */

int lm_picture_load(const char *path, struct lm_picture *out, struct lm_error *err)
{
    uint8_t *bytes;
    size_t n;
    *out = (struct lm_picture){0};
    int code = lm_file_read(path, LM_PICTURE_MOST_BYTES, &bytes, &n, err);
    if (code != LM_OK)
        return code;
    code = lm_picture_decode(bytes, n, out, err);
    free(bytes);
    return code == LM_OK ? LM_OK : lm_fail_within(err, "%s: ", path);
}

void lm_picture_free(struct lm_picture *picture)
{
    free(picture->grey);
    *picture = (struct lm_picture){0};
}
