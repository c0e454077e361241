/* test_picture.c: pictures of every kind to grey, and whatever is no such picture to a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_pictures.h"
#include "picture.h"
#include "picture_codec.h"
#include "scratch.h"

/* Without the library that would have made it: skipped. */
#define NEED(made)                                                                                                     \
    do {                                                                                                               \
        if (!(made).bytes) {                                                                                           \
            skip();                                                                                                    \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

#define W 37
#define H 23

static struct lm_picture decode(struct made made)
{
    struct lm_picture picture;
    struct lm_error err;
    if (lm_picture_decode(made.bytes, made.n, &picture, &err) != LM_OK)
        fail_msg("%s", err.text);
    return picture;
}

/* The picture is the made one, no pixel off by more than this. */
static void same(const struct lm_picture *p, int channels, unsigned seed, int off)
{
    assert_int_equal(p->width, W);
    assert_int_equal(p->height, H);
    for (uint32_t y = 0; y < H; y++)
        for (uint32_t x = 0; x < W; x++)
            if (abs(p->grey[y * W + x] - made_grey(x, y, W, H, channels, seed)) > off)
                fail_msg("(%u, %u) is %d, not %d", x, y, p->grey[y * W + x], made_grey(x, y, W, H, channels, seed));
}

static void refused(const void *bytes, size_t n, int code, const char *part)
{
    struct lm_picture picture;
    struct lm_error err;
    uint8_t *copy = malloc(n + 1); /* of its own size: a sanitizer sees what is read behind it */
    memcpy(copy, bytes, n);
    int got = lm_picture_decode(copy, n, &picture, &err);
    if (got != code)
        fail_msg("%d, not %d: %s", got, code, got == LM_OK ? part : err.text);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
    assert_null(picture.grey);
    free(copy);
}

static void refused_text(const char *text, const char *part)
{
    refused(text, strlen(text), LM_BAD_INPUT, part);
}

/* No beginning of a file is a picture. */
static void try_cuts(struct made made)
{
    struct lm_picture picture;
    struct lm_error err;
    for (size_t n = 0; n < made.n; n++) {
        uint8_t *copy = malloc(n + 1);
        memcpy(copy, made.bytes, n);
        if (lm_picture_decode(copy, n, &picture, &err) != LM_BAD_INPUT)
            fail_msg("the first %zu of %zu bytes pass for a picture", n, made.n);
        assert_null(picture.grey);
        free(copy);
    }
}

/* Nothing else than a picture or a reason, whichever byte is another. */
static void try_changes(struct made made)
{
    struct lm_picture picture;
    struct lm_error err;
    for (size_t at = 0; at < made.n; at++)
        for (int k = 0; k < 3; k++) {
            uint8_t kept = made.bytes[at];
            made.bytes[at] = k == 0 ? 0 : k == 1 ? 255 : (uint8_t)(kept ^ 1 << at % 8);
            int code = lm_picture_decode(made.bytes, made.n, &picture, &err);
            assert_true(code == LM_OK || code == LM_BAD_INPUT);
            lm_picture_free(&picture);
            made.bytes[at] = kept;
        }
}

static void test_grey(void **state)
{
    static const uint8_t rgb[] = {0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3, 200, 100, 50};
    static const uint8_t expected[] = {0, 255, 76, 150, 29, 2, 124};
    uint8_t grey[7];

    (void)state;
    lm_picture_grey(rgb, 7, grey);
    assert_memory_equal(grey, expected, 7);
    for (unsigned v = 0; v < 256; v++) { /* a grey picture's grey is its value */
        uint8_t one[3] = {(uint8_t)v, (uint8_t)v, (uint8_t)v};
        lm_picture_grey(one, 1, grey);
        assert_int_equal(grey[0], v);
    }
}

/* ---- PGM, PPM ---- */

static void test_pnm(void **state)
{
    static const int formats[] = {2, 3, 5, 6};
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct made made = made_pnm(formats[k], W, H, 0);
        struct lm_picture p = decode(made);
        same(&p, formats[k] % 3 == 0 ? 3 : 1, 0, 0);
        assert_int_equal(p.orientation, 1);
        lm_picture_free(&p);
        if (formats[k] >= 5) /* a last number cut short is a number */
            try_cuts(made);
        try_changes(made);
        free(made.bytes);
    }
    /* The largest value is white. */
    struct lm_picture p = decode((struct made){(uint8_t *)(uintptr_t) "P2#c\n3 1 #c\n10 0 5#c\n10", 23});
    assert_int_equal(p.width, 3);
    assert_true(p.grey[0] == 0 && p.grey[1] == 128 && p.grey[2] == 255);
    lm_picture_free(&p);
}

static void test_pnm_faults(void **state)
{
    (void)state;
    refused_text("P5\n2 2\n255\nabc", "ends too early");
    refused_text("P5\n2 2\n65535\nabcdefgh", "values up to 65535");
    refused_text("P5\n2 2\n0\nabcd", "largest value is 0");
    refused_text("P5\n0 2\n255\n", "0 x 2 pixels");
    refused_text("P5\n2 2\n255", "a blank was expected");
    refused_text("P5\n2 2\n255#x\nabcd", "a blank was expected");
    refused_text("P5\n2 -2\n255\nabcd", "width, height and largest value");
    refused_text("P5\n1234567890 2\n255\nabcd", "width, height and largest value");
    refused_text("P5\n99999 99999\n255\nabcd", "99999 x 99999 pixels: at most 32768 a side");
    refused_text("P5\n32768 32768\n255\nabcd", "ends too early");
    refused_text("P2\n2 1\n100\n7 101", "pixel 1 is 101, above the largest value 100");
    refused_text("P2\n2 1\n100\n7 x", "pixel 1 is no number");
    refused_text("P2\n2 2\n100\n7 7 7", "pixel 3 is no number, or is not there");
    refused_text("P4\n8 8\n", "a PBM");
    refused_text("P1\n8 8\n", "a PBM");
    refused_text("P5\n# a comment without end", "width, height");
}

/* ---- PNG ---- */

static void test_png(void **state)
{
    static const struct made_png kinds[] = {{W, H, 0, 8, 0, MADE_OPAQUE, 0}, {W, H, 2, 8, 0, MADE_OPAQUE, 0},
                                            {W, H, 3, 8, 0, MADE_OPAQUE, 0}, {W, H, 4, 8, 0, MADE_OPAQUE, 0},
                                            {W, H, 6, 8, 0, MADE_OPAQUE, 0}, {W, H, 0, 8, 1, MADE_OPAQUE, 0},
                                            {W, H, 2, 8, 1, MADE_OPAQUE, 0}, {W, H, 6, 8, 1, MADE_OPAQUE, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct made made = made_png(kinds[k]);
        NEED(made);
        struct lm_picture p = decode(made);
        same(&p, kinds[k].type % 4 == 2 ? 3 : 1, 0, 0);
        assert_int_equal(p.opaque_alpha, kinds[k].type >= 4);
        lm_picture_free(&p);
        try_cuts(made);
        free(made.bytes);
    }
    struct made made = made_png(kinds[2]);
    NEED(made);
    try_changes(made);
    free(made.bytes);
}

static void test_png_few_bits(void **state)
{
    (void)state;
    for (int depth = 1; depth < 8; depth *= 2) {
        struct made made = made_png((struct made_png){W, H, 0, depth, 0, MADE_OPAQUE, 0});
        NEED(made);
        struct lm_picture p = decode(made);
        int most = (1 << depth) - 1;
        for (uint32_t x = 0; x < W; x++)
            assert_int_equal(p.grey[x], (made_value(x, 0, W, H, 0, 0) >> (8 - depth)) * 255 / most);
        lm_picture_free(&p);
        free(made.bytes);
    }
}

static void put_big(uint8_t *p, uint32_t value)
{
    for (int k = 0; k < 4; k++)
        p[k] = (uint8_t)(value >> 8 * (3 - k));
}

static uint32_t png_sum(const uint8_t *bytes, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t k = 0; k < n; k++) {
        crc ^= bytes[k];
        for (int b = 0; b < 8; b++)
            crc = crc & 1 ? 0xEDB88320u ^ crc >> 1 : crc >> 1;
    }
    return ~crc;
}

static void test_png_faults(void **state)
{
    static const struct {
        struct made_png what;
        const char *reason;
    } faults[] = {{{W, H, 0, 16, 0, MADE_OPAQUE, 0}, "a PNG of 16 bits a channel"},
                  {{W, H, 6, 16, 1, MADE_OPAQUE, 0}, "a PNG of 16 bits a channel"},
                  {{W, H, 4, 8, 0, MADE_HOLE, 0}, "transparent pixels"},
                  {{W, H, 6, 8, 1, MADE_HOLE, 0}, "transparent pixels"}};
    (void)state;
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        struct made made = made_png(faults[k].what);
        NEED(made);
        refused(made.bytes, made.n, LM_BAD_INPUT, faults[k].reason);
        free(made.bytes);
    }
    /* A head that promises billions of pixels. */
    struct made made = made_png((struct made_png){W, H, 2, 8, 0, MADE_OPAQUE, 0});
    NEED(made);
    static const uint32_t sides[][2] = {{2000000000, 2000000000}, {32768, 32768}, {32769, 1}};
    for (int k = 0; k < 3; k++) {
        put_big(made.bytes + 16, sides[k][0]);
        put_big(made.bytes + 20, sides[k][1]);
        put_big(made.bytes + 29, png_sum(made.bytes + 12, 17));
        refused(made.bytes, made.n, LM_BAD_INPUT, k == 1 ? "32768 x 32768 pixels: at most" : "a damaged PNG: ");
    }
    free(made.bytes);
}

/* ---- JPEG ---- */

static void test_jpeg(void **state)
{
    static const struct made_jpeg kinds[] = {
        {W, H, 1, 0, 0, 0}, {W, H, 1, 1, 0, 0}, {W, H, 3, 0, 0, 0}, {W, H, 3, 1, 1, 0}};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct made made = made_jpeg(kinds[k]);
        NEED(made);
        struct lm_picture p = decode(made);
        same(&p, kinds[k].channels, 0, 6);
        assert_int_equal(p.orientation, 1);
        lm_picture_free(&p);
        try_cuts(made);
        try_changes(made);
        free(made.bytes);
    }
}

/* Pixel (x, y) of the upright picture, in a stored one of W x H: by the words of the EXIF standard, "row 0 of what is
 * stored is the visual ..., column 0 the visual ...". */
static void test_orientation(void **state)
{
    static const struct {
        char row, column; /* t top, b bottom, l left, r right */
    } side[9] = {{0, 0},     {'t', 'l'}, {'t', 'r'}, {'b', 'r'}, {'b', 'l'},
                 {'l', 't'}, {'r', 't'}, {'r', 'b'}, {'l', 'b'}};
    (void)state;
    for (int o = 1; o <= 8; o++) {
        struct lm_picture stored = {.width = W, .height = H, .grey = malloc(W * H)};
        struct lm_error err;
        for (size_t k = 0; k < W * H; k++)
            stored.grey[k] = (uint8_t)(k * 7 % 251);
        assert_int_equal(lm_picture_turn(&stored, o, &err), LM_OK);
        assert_int_equal(stored.width, o >= 5 ? H : W);
        assert_int_equal(stored.height, o >= 5 ? W : H);
        for (size_t r = 0; r < H; r++)
            for (size_t c = 0; c < W; c++) {
                size_t right = stored.width - 1, bottom = stored.height - 1;
                char a = side[o].row, b = side[o].column;
                size_t y = a == 't' ? r : a == 'b' ? bottom - r : b == 't' ? c : bottom - c;
                size_t x = a == 'l' ? r : a == 'r' ? right - r : b == 'l' ? c : right - c;
                assert_int_equal(stored.grey[y * stored.width + x], (r * W + c) * 7 % 251);
            }
        lm_picture_free(&stored);
    }
}

static void test_exif(void **state)
{
    uint8_t exif[32], *tiff = exif + 6;
    (void)state;
    for (int o = 1; o <= 8; o++) {
        struct made made = made_jpeg((struct made_jpeg){W, H, 1, 0, o, 0});
        NEED(made);
        struct lm_picture p = decode(made);
        assert_int_equal(p.orientation, o);
        assert_int_equal(p.width, o >= 5 ? H : W);
        if (o == 3) /* upside down */
            assert_true(p.grey[0] > 240 && p.grey[W * H - 1] < 15);
        lm_picture_free(&p);
        free(made.bytes);
    }
    made_exif(6, exif);
    assert_int_equal(lm_exif_orientation(tiff, 26), 6);
    for (size_t n = 0; n < 20; n++) {
        uint8_t *cut = malloc(n + 1);
        memcpy(cut, tiff, n);
        assert_int_equal(lm_exif_orientation(cut, n), 0);
        free(cut);
    }
    memcpy(tiff + 4, "\xFF\xFF\xFF\xFF", 4); /* the directory lies beyond the end */
    assert_int_equal(lm_exif_orientation(tiff, 26), 0);
    made_exif(9, exif);
    assert_int_equal(lm_exif_orientation(tiff, 26), 0);
    static const uint8_t little[] = {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0};
    assert_int_equal(lm_exif_orientation(little, sizeof little), 8);
}

static void test_jpeg_faults(void **state)
{
    (void)state;
    struct made made = made_jpeg((struct made_jpeg){W, H, 4, 0, 0, 0});
    NEED(made);
    refused(made.bytes, made.n, LM_BAD_INPUT, "a JPEG in CMYK");
    free(made.bytes);
    made = made_jpeg((struct made_jpeg){W, H, 3, 0, 0, 0});
    for (size_t k = 0; k + 8 < made.n; k++)
        if (made.bytes[k] == 0xFF && made.bytes[k + 1] == 0xC0) { /* the frame's head: precision, height, width */
            memcpy(made.bytes + k + 5, "\xFF\xDC\xFF\xDC", 4);
            refused(made.bytes, made.n, LM_BAD_INPUT, "65500 x 65500 pixels: at most");
            made.bytes[k + 4] = 12;
            refused(made.bytes, made.n, LM_BAD_INPUT, "JPEG");
        }
    free(made.bytes);
    refused("\xFF\xD8\xFF\xE0 and then text", 18, LM_BAD_INPUT, "a damaged JPEG: ");
}

/* A few bytes a pass over the whole picture: hours in one megabyte. */
static void test_jpeg_passes(void **state)
{
    (void)state;
    struct made made = made_jpeg((struct made_jpeg){W, H, 1, 1, 0, 0});
    NEED(made);
    size_t last = 0;
    for (size_t k = 0; k + 1 < made.n; k++)
        if (made.bytes[k] == 0xFF && made.bytes[k + 1] == 0xDA)
            last = k; /* the last scan, with all that follows */
    size_t scan = made.n - 2 - last, more = 1000;
    uint8_t *bytes = malloc(made.n + more * scan);
    memcpy(bytes, made.bytes, made.n - 2);
    for (size_t k = 0; k < more; k++)
        memcpy(bytes + made.n - 2 + k * scan, made.bytes + last, scan);
    memcpy(bytes + made.n - 2 + more * scan, "\xFF\xD9", 2);
    refused(bytes, made.n + more * scan, LM_BAD_INPUT, "a damaged JPEG: ");
    free(bytes);
    free(made.bytes);
}

/* ---- what it is, and files ---- */

static void test_kinds(void **state)
{
    (void)state;
    refused("", 0, LM_BAD_INPUT, "the file is empty");
    refused_text("hello, this is no picture", "no picture: neither JPEG, PNG, PGM nor PPM begins so");
    refused_text("GIF89a", "a GIF");
    refused_text("RIFF....WEBP", "WebP");
    refused_text("BM......", "a BMP");
    refused("MM\0*....", 8, LM_BAD_INPUT, "a TIFF");
    refused_text("<html><body>404", "a web page");
    refused("....ftypheic", 12, LM_BAD_INPUT, "HEIC");
    refused_text("P", "no picture");
    refused_text("P7\nWIDTH 3", "no picture");
    refused("P5\0", 3, LM_BAD_INPUT, "no picture");
#ifndef LM_HAVE_JPEG
    refused("\xFF\xD8\xFF\xE0....", 8, LM_UNAVAILABLE, "without libjpeg");
#endif
#ifndef LM_HAVE_PNG
    refused("\x89PNG\r\n\x1A\n", 8, LM_UNAVAILABLE, "without libpng");
#endif
}

static void load_refused(const char *dir, const char *name, const char *part)
{
    struct lm_picture picture;
    struct lm_error err;
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(lm_picture_load(path, &picture, &err), LM_BAD_INPUT);
    if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static void test_files(void **state)
{
    char *dir = scratch_make(), path[300];
    struct lm_picture picture;
    struct lm_error err;
    struct made made = made_pnm(5, W, H, 0);

    (void)state;
    scratch_write(dir, "good.jpg", made.bytes, made.n); /* named after another kind: what is in it counts */
    snprintf(path, sizeof path, "%s/good.jpg", dir);
    assert_int_equal(lm_picture_load(path, &picture, &err), LM_OK);
    same(&picture, 1, 0, 0);
    lm_picture_free(&picture);
    scratch_write(dir, "text.jpg", "no", 2);
    load_refused(dir, "text.jpg", "no picture");
    load_refused(dir, "none.jpg", "No such file");
    snprintf(path, sizeof path, "%s/folder.jpg", dir);
    assert_int_equal(mkdir(path, 0777), 0);
    load_refused(dir, "folder.jpg", "this is a folder");
    snprintf(path, sizeof path, "%s/pipe.jpg", dir);
    assert_int_equal(mkfifo(path, 0666), 0);
    load_refused(dir, "pipe.jpg", "no file"); /* and nobody waits for a writer */
    snprintf(path, sizeof path, "%s/huge.jpg", dir);
    scratch_write(dir, "huge.jpg", "P", 1);
    assert_int_equal(truncate(path, 1 << 29), 0);
    load_refused(dir, "huge.jpg", "536870912 bytes; at most 268435456 are read");
    free(made.bytes);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grey),        cmocka_unit_test(test_pnm),          cmocka_unit_test(test_pnm_faults),
        cmocka_unit_test(test_png),         cmocka_unit_test(test_png_few_bits), cmocka_unit_test(test_png_faults),
        cmocka_unit_test(test_jpeg),        cmocka_unit_test(test_orientation),  cmocka_unit_test(test_exif),
        cmocka_unit_test(test_jpeg_faults), cmocka_unit_test(test_jpeg_passes),  cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
