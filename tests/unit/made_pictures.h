/* made_pictures.h: pictures that tests make themselves, as the bytes of a file. Used by the unit tests, by
 * make_pictures (for the tests of the program) and for the fuzzers' corpora. Without libjpeg or libpng their pictures
 * are not made: `bytes` is then NULL. */
#ifndef TEST_MADE_PICTURES_H
#define TEST_MADE_PICTURES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LM_HAVE_JPEG
#include <jpeglib.h>
#endif
#ifdef LM_HAVE_PNG
#include <png.h>
#endif

struct made {
    uint8_t *bytes; /* free */
    size_t n;
};

/* Smooth, so that a JPEG keeps it, and unlike its own mirror images. seed: another one. */
static inline uint8_t made_value(uint32_t x, uint32_t y, uint32_t w, uint32_t h, int channel, unsigned seed)
{
    uint32_t along = (2 * 255 * x / w + 255 * y / h) / 3, wave = (x * (seed % 5 + 1) + y * (seed % 7)) % (w + h);
    uint32_t value = seed ? (along + 150 * wave / (w + h)) / 2 + 10 * (seed % 9) : along;
    value += channel == 1 ? value / 4 : channel == 2 ? 30 : 0;
    return (uint8_t)(value > 255 ? 255 : value);
}

static inline void made_row(uint32_t y, uint32_t w, uint32_t h, int channels, unsigned seed, uint8_t *row)
{
    for (uint32_t x = 0; x < w; x++)
        for (int c = 0; c < channels; c++)
            row[x * (uint32_t)channels + (uint32_t)c] = made_value(x, y, w, h, c, seed);
}

/* What the reader should make of made_value's channels. */
static inline uint8_t made_grey(uint32_t x, uint32_t y, uint32_t w, uint32_t h, int channels, unsigned seed)
{
    uint32_t v[3];
    for (int c = 0; c < 3; c++)
        v[c] = made_value(x, y, w, h, c, seed);
    return channels < 3 ? (uint8_t)v[0] : (uint8_t)((19595 * v[0] + 38470 * v[1] + 7471 * v[2] + 32768) >> 16);
}

/* ---- JPEG ---- */

struct made_jpeg {
    uint32_t w, h;
    int channels; /* 1 grey, 3 RGB, 4 CMYK */
    int progressive, orientation;
    unsigned seed;
};

/* An APP1 marker with nothing but an orientation. */
static inline void made_exif(int orientation, uint8_t exif[32])
{
    static const uint8_t head[32] = {'E', 'x', 'i', 'f', 0, 0,  'M', 'M', 0, 42, 0, 0,
                                     0,   8,   0,   1,   1, 18, 0,   3,   0, 0,  0, 1};
    memcpy(exif, head, sizeof head);
    exif[25] = (uint8_t)orientation;
}

static inline struct made made_jpeg(struct made_jpeg what)
{
    struct made made = {NULL, 0};
#ifdef LM_HAVE_JPEG
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr reports;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    uint8_t *row = malloc((size_t)4 * what.w), exif[32];
    jpeg.err = jpeg_std_error(&reports);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &n);
    jpeg.image_width = what.w;
    jpeg.image_height = what.h;
    jpeg.input_components = what.channels;
    jpeg.in_color_space = what.channels == 1 ? JCS_GRAYSCALE : what.channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 98, TRUE);
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1; /* colours as fine as brightness */
    if (what.progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    if (what.orientation) {
        made_exif(what.orientation, exif);
        jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof exif);
    }
    while (jpeg.next_scanline < what.h) {
        made_row(jpeg.next_scanline, what.w, what.h, what.channels, what.seed, row);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    made = (struct made){bytes, n};
#else
    (void)what;
#endif
    return made;
}

/* ---- PNG ---- */

enum made_alpha { MADE_OPAQUE, MADE_HOLE }; /* a hole: one pixel lets the background through */

struct made_png {
    uint32_t w, h;
    int type, depth; /* PNG_COLOR_TYPE_..., as numbers: 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGB + alpha */
    int interlaced;
    enum made_alpha alpha;
    unsigned seed;
};

#ifdef LM_HAVE_PNG
static inline void made_png_write(png_structp png, png_bytep bytes, size_t n)
{
    struct made *made = png_get_io_ptr(png);
    made->bytes = realloc(made->bytes, made->n + n);
    memcpy(made->bytes + made->n, bytes, n);
    made->n += n;
}

static inline void made_png_flush(png_structp png)
{
    (void)png;
}

/* A row as it is before libpng packs it: 8 or 16 bits a value, big-endian. */
static inline void made_png_row(const struct made_png *what, uint32_t y, uint8_t *row)
{
    int colours = what->type == 2 || what->type == 6 ? 3 : 1, channels = colours + (what->type >= 4);
    int bytes = what->depth == 16 ? 2 : 1;
    for (uint32_t x = 0; x < what->w; x++)
        for (int c = 0; c < channels; c++) {
            uint8_t value = made_value(x, y, what->w, what->h, c, what->seed);
            if (c == colours)
                value = what->alpha == MADE_HOLE && x == what->w / 2 && y == what->h / 2 ? 254 : 255;
            if (what->depth < 8)
                value = (uint8_t)(value >> (8 - what->depth));
            for (int b = 0; b < bytes; b++)
                row[((x * (uint32_t)channels) + (uint32_t)c) * (uint32_t)bytes + (uint32_t)b] = value;
        }
}
#endif

static inline struct made made_png(struct made_png what)
{
    struct made made = {NULL, 0};
#ifdef LM_HAVE_PNG
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    uint8_t *pixels = malloc((size_t)8 * what.w * what.h), **rows = malloc(what.h * sizeof *rows);
    png_color palette[256];
    for (int k = 0; k < 256; k++)
        palette[k] = (png_color){(png_byte)k, (png_byte)k, (png_byte)k};
    png_set_write_fn(png, &made, made_png_write, made_png_flush);
    png_set_IHDR(png, info, what.w, what.h, what.depth, what.type,
                 what.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (what.type == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, 1 << what.depth);
    png_write_info(png, info);
    png_set_packing(png);
    for (uint32_t y = 0; y < what.h; y++) {
        rows[y] = pixels + (size_t)8 * what.w * y;
        made_png_row(&what, y, rows[y]);
    }
    png_write_image(png, rows);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    free(pixels);
    free(rows);
#else
    (void)what;
#endif
    return made;
}

/* ---- PGM, PPM ---- */

/* format: 2, 3, 5 or 6. */
static inline struct made made_pnm(int format, uint32_t w, uint32_t h, unsigned seed)
{
    struct made made = {NULL, 0};
    int channels = format == 3 || format == 6 ? 3 : 1;
    FILE *f = open_memstream((char **)&made.bytes, &made.n);
    fprintf(f, "P%d\n# made by a test\n%u %u\n255\n", format, w, h);
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++)
            for (int c = 0; c < channels; c++)
                if (format >= 5)
                    fputc(made_value(x, y, w, h, c, seed), f);
                else
                    fprintf(f, "%u%c", made_value(x, y, w, h, c, seed), x % 9 == 8 ? '\n' : ' ');
    fclose(f);
    return made;
}

/* ---- Pascal VOC ---- */

static inline struct made made_voc(uint32_t w, uint32_t h, uint32_t xmin, uint32_t ymin, uint32_t xmax, uint32_t ymax)
{
    struct made made = {NULL, 0};
    FILE *f = open_memstream((char **)&made.bytes, &made.n);
    fprintf(f,
            "<annotation>\n\t<size>\n\t\t<width>%u</width>\n\t\t<height>%u</height>\n\t\t<depth>3</depth>\n\t</size>\n"
            "\t<object>\n\t\t<name>hand</name>\n\t\t<bndbox>\n\t\t\t<xmin>%u</xmin>\n\t\t\t<ymin>%u</ymin>\n"
            "\t\t\t<xmax>%u</xmax>\n\t\t\t<ymax>%u</ymax>\n\t\t</bndbox>\n\t</object>\n</annotation>\n",
            w, h, xmin, ymin, xmax, ymax);
    fclose(f);
    return made;
}

#endif
