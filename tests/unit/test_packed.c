/* test_packed.c: the packed file: its bytes, sizes on paper, what is read from what was written, normalised to the bit,
 * and every kind of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "pack.h"
#include "packed.h"
#include "scratch.h"
#include "synth.h"

#define SAMPLES 25
#define BLOCK   10

struct image {
    struct lm_packed_layout layout;
    uint8_t grey[SAMPLES * LM_PIXELS], label[SAMPLES];
    float real[SAMPLES * LM_PIXELS];
};

static struct image image_of(enum lm_packed_type type, int labelled)
{
    struct image image = {.layout = {.type = type, .samples = SAMPLES, .block = BLOCK, .labelled = labelled}};
    uint32_t x = 7;
    for (size_t i = 0; i < SAMPLES * LM_PIXELS; i++) {
        x = x * 1664525u + 1013904223u;
        image.grey[i] = (uint8_t)(x >> 24);
        image.real[i] = (float)(int32_t)x * 1e-6f;
    }
    for (size_t i = 0; i < SAMPLES; i++)
        image.label[i] = (uint8_t)(i * 7 % LM_CLASSES);
    return image;
}

static const void *pixels_of(const struct image *image, size_t sample)
{
    return image->layout.type == LM_PACKED_U8 ? (const void *)(image->grey + sample * LM_PIXELS)
                                              : (const void *)(image->real + sample * LM_PIXELS);
}

static struct lm_scaler scaler_of(void)
{
    struct lm_scaler scaler;
    for (int p = 0; p < LM_PIXELS; p++) {
        scaler.mean[p] = 100.0 + p / 7.0;
        scaler.scale[p] = p == 5 ? 1e-6 : 30.0 + p / 3.0;
    }
    return scaler;
}

static char *path_in(const char *dir, const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

/* Blocks in the order given. */
static void write_image(const struct image *image, const char *path, const uint64_t *order, size_t n)
{
    struct lm_packed_writer *writer;
    struct lm_error err;
    assert_int_equal(lm_packed_create(path, &image->layout, 1, &writer, &err), LM_OK);
    for (size_t k = 0; k < n; k++)
        assert_int_equal(
            lm_packed_put(writer, order[k], pixels_of(image, order[k] * BLOCK), image->label + order[k] * BLOCK, &err),
            LM_OK);
    assert_int_equal(lm_packed_finish(writer, &err), LM_OK);
}

static const uint64_t in_order[] = {0, 1, 2}, mixed[] = {2, 0, 1, 0};

/* The file's bytes; the caller frees. */
static unsigned char *bytes_of(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(100000);
    assert_non_null(file);
    assert_non_null(bytes);
    *n = fread(bytes, 1, 100000, file);
    fclose(file);
    return bytes;
}

static void put_little(unsigned char *at, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* ---- layout ---- */

static void test_bytes(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_U8, 1);
    size_t n;
    (void)state;
    write_image(&image, path, in_order, 3);
    unsigned char *bytes = bytes_of(path, &n), expected[64] = "LIBRASPK\1\0\0\0\1\0\0\0\31\0\0\0\0\0\0\0\12\0\0\0\1";
    put_little(expected + 60, lm_crc32c(0, expected, 60), 4);
    assert_memory_equal(bytes, expected, 64);
    /* two blocks of 640 + 16 + 8 bytes, one of 320 + 8 + 8 */
    assert_int_equal(n, 64 + 2 * 664 + 336);
    assert_memory_equal(bytes + 64, image.grey, 640);
    assert_memory_equal(bytes + 64 + 640, image.label, 10);
    assert_memory_equal(bytes + 64 + 664, image.grey + 640, 640);
    unsigned char number[8] = {1};
    uint32_t sum = lm_crc32c(lm_crc32c(0, number, 8), bytes + 64 + 664, 656);
    put_little(number, sum, 8);
    assert_memory_equal(bytes + 64 + 664 + 656, number, 8);
    free(bytes);
    free(path);
    scratch_remove(dir);
}

static void test_any_order(void **state)
{
    char *dir = scratch_make(), *a = path_in(dir, "a"), *b = path_in(dir, "b");
    (void)state;
    for (int type = LM_PACKED_U8; type <= LM_PACKED_F32; type++) {
        struct image image = image_of((enum lm_packed_type)type, 1);
        size_t n, m;
        write_image(&image, a, in_order, 3);
        write_image(&image, b, mixed, 4);
        unsigned char *x = bytes_of(a, &n), *y = bytes_of(b, &m);
        assert_int_equal(n, m);
        assert_memory_equal(x, y, n);
        free(x);
        free(y);
    }
    free(a);
    free(b);
    scratch_remove(dir);
}

/* Far beyond 2^31 and 2^32 bytes. */
static void test_sizes_on_paper(void **state)
{
    (void)state;
    for (uint64_t samples = 1; samples <= LM_PACKED_MOST_SAMPLES; samples = samples * 3 + 1)
        for (uint32_t block = 1; block <= LM_PACKED_MOST_BLOCK; block = block * 5 + 3)
            for (int kind = 0; kind < 4; kind++) {
                struct lm_packed_layout layout = {kind / 2 ? LM_PACKED_F32 : LM_PACKED_U8, samples, block, kind % 2};
                uint64_t blocks = lm_packed_blocks(&layout), last = lm_packed_count(&layout, blocks - 1);
                assert_true((blocks - 1) * block + last == samples && last >= 1 && last <= block);
                uint64_t data = samples * LM_PIXELS * (kind / 2 ? 4 : 1) + 8 * blocks;
                uint64_t labels = kind % 2 ? (blocks - 1) * ((block + 7) / 8 * 8) + (last + 7) / 8 * 8 : 0;
                assert_true(lm_packed_offset(&layout, blocks) == 64 + data + labels);
                assert_true(lm_packed_offset(&layout, 0) == 64);
                uint64_t k = blocks / 2;
                assert_true(lm_packed_offset(&layout, k + 1) - lm_packed_offset(&layout, k) ==
                            lm_packed_block_bytes(&layout, lm_packed_count(&layout, k)));
            }
    struct lm_packed_layout large = {LM_PACKED_U8, UINT64_C(5000000000), LM_PACKED_BLOCK, 1};
    assert_true(lm_packed_offset(&large, 1000000) == 64 + UINT64_C(1000000) * (4096 * 65 + 8));
}

/* ---- reading ---- */

static void check_values(const struct image *image, struct lm_packed *file)
{
    const struct lm_scaler scaler = scaler_of();
    struct lm_error err;
    float x[BLOCK * LM_PIXELS], expected[LM_PIXELS];
    uint8_t label[BLOCK];
    unsigned char sum[4];
    assert_int_equal(lm_packed_set_scaler(file, &scaler, &err), LM_OK);
    for (uint64_t k = 3; k-- > 0;) {
        memset(label, 99, sizeof label);
        lm_packed_expect(file, k);
        assert_int_equal(lm_packed_read(file, k, x, label, sum, &err), LM_OK);
        for (size_t i = 0; i < lm_packed_count(&image->layout, k); i++) {
            double pixel[LM_PIXELS];
            size_t sample = k * BLOCK + i;
            for (size_t p = 0; p < LM_PIXELS; p++)
                pixel[p] = image->layout.type == LM_PACKED_U8 ? (double)image->grey[sample * LM_PIXELS + p]
                                                              : (double)image->real[sample * LM_PIXELS + p];
            lm_scaler_apply(&scaler, pixel, expected);
            assert_memory_equal(x + i * LM_PIXELS, expected, sizeof expected);
            assert_int_equal(label[i], image->layout.labelled ? image->label[sample] : 99);
        }
    }
}

static void test_values(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct lm_error err;
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct image image = image_of(kind / 2 ? LM_PACKED_F32 : LM_PACKED_U8, kind % 2);
        struct lm_packed *file;
        write_image(&image, path, in_order, 3);
        assert_int_equal(lm_packed_open(path, &file, &err), LM_OK);
        assert_memory_equal(&lm_packed_layout_of(file)->samples, &image.layout.samples, sizeof image.layout.samples);
        check_values(&image, file);
        lm_packed_close(file);
    }
    free(path);
    scratch_remove(dir);
}

/* All 256 values of each of the 64 pixels. */
static void test_every_grey_value(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct lm_packed_layout layout = {.type = LM_PACKED_U8, .samples = 256, .block = 256};
    const struct lm_scaler scaler = scaler_of();
    struct lm_packed_writer *writer;
    struct lm_packed *file;
    struct lm_error err;
    static uint8_t pixel[256 * LM_PIXELS];
    float *x = malloc(256 * LM_PIXELS * sizeof *x), expected[LM_PIXELS];
    unsigned char sum[4];
    (void)state;
    for (size_t i = 0; i < sizeof pixel; i++)
        pixel[i] = (uint8_t)(i / LM_PIXELS);
    assert_int_equal(lm_packed_create(path, &layout, 0, &writer, &err), LM_OK);
    assert_int_equal(lm_packed_put(writer, 0, pixel, NULL, &err), LM_OK);
    assert_int_equal(lm_packed_finish(writer, &err), LM_OK);
    assert_int_equal(lm_packed_open(path, &file, &err), LM_OK);
    assert_int_equal(lm_packed_set_scaler(file, &scaler, &err), LM_OK);
    assert_int_equal(lm_packed_read(file, 0, x, NULL, sum, &err), LM_OK);
    for (size_t v = 0; v < 256; v++) {
        double grey[LM_PIXELS];
        for (int p = 0; p < LM_PIXELS; p++)
            grey[p] = (double)v;
        lm_scaler_apply(&scaler, grey, expected);
        assert_memory_equal(x + v * LM_PIXELS, expected, sizeof expected);
    }
    lm_packed_close(file);
    free(x);
    free(path);
    scratch_remove(dir);
}

/* ---- damage ---- */

/* Opens, and reads all blocks: the first failure's text into err. */
static int read_all(const char *path, struct lm_error *err)
{
    const struct lm_scaler scaler = scaler_of();
    struct lm_packed *file;
    float x[BLOCK * LM_PIXELS];
    uint8_t label[BLOCK];
    unsigned char sum[4];
    int code = lm_packed_open(path, &file, err);
    if (code != LM_OK)
        return code;
    code = lm_packed_set_scaler(file, &scaler, err);
    for (uint64_t k = 0; code == LM_OK && k < lm_packed_blocks(lm_packed_layout_of(file)); k++)
        code = lm_packed_read(file, k, x, label, sum, err);
    lm_packed_close(file);
    return code;
}

static void refused(const char *dir, const unsigned char *bytes, size_t n, const char *text)
{
    char *path = path_in(dir, "damaged");
    struct lm_error err;
    scratch_write(dir, "damaged", bytes, n);
    assert_int_equal(read_all(path, &err), LM_BAD_INPUT);
    if (!strstr(err.text, path) || !strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    free(path);
}

/* A field of the header with another value, and a sum that is right. */
static void test_header_fields(void **state)
{
    static const struct {
        int at, size;
        uint64_t value;
        const char *text;
    } wrong[] = {{0, 1, 'X', "byte 0: no packed file"},
                 {0, 4, 0x46444889, "byte 0: an HDF5 file"},
                 {8, 4, 2, "byte 8: its format version is 2"},
                 {8, 4, 0, "byte 8: its format version is 0"},
                 {12, 4, 0, "byte 12: type of pixel 0"},
                 {12, 4, 3, "byte 12: type of pixel 3"},
                 {12, 4, 2, "byte 1728: the file ends here"},
                 {16, 8, 0, "byte 16: 0 samples"},
                 {16, 8, UINT64_MAX, "byte 16: 18446744073709551615 samples"},
                 {16, 8, 26, "byte 1728: the file ends here"},
                 {16, 8, 20, "byte 1392: the last block ends here, and 336 bytes more"},
                 {16, 8, UINT64_C(1) << 40, "byte 1728: the file ends here"},
                 {24, 4, 0, "byte 24: 0 samples a block"},
                 {24, 4, 65537, "byte 24: 65537 samples a block"},
                 {28, 4, 3, "byte 28: flags 0x3"},
                 {28, 4, 0, "bytes more follow"},
                 {32, 1, 1, "byte 32: 1 where a zero"},
                 {59, 1, 255, "byte 59: 255 where a zero"}};
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_U8, 1);
    size_t n;
    (void)state;
    write_image(&image, path, in_order, 3);
    unsigned char *bytes = bytes_of(path, &n), kept[64];
    memcpy(kept, bytes, 64);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        put_little(bytes + wrong[k].at, wrong[k].value, wrong[k].size);
        put_little(bytes + 60, lm_crc32c(0, bytes, 60), 4);
        refused(dir, bytes, n, wrong[k].text);
        memcpy(bytes, kept, 64);
    }
    free(bytes);
    free(path);
    scratch_remove(dir);
}

static void test_every_bit(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_U8, 1);
    size_t n;
    (void)state;
    write_image(&image, path, in_order, 3);
    unsigned char *bytes = bytes_of(path, &n);
    for (size_t bit = 0; bit < n * 8; bit += bit < 64 * 8 || bit > (n - 40) * 8 ? 1 : 29) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        refused(dir, bytes, n, bit < 64 * 8 ? "byte" : "block");
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    bytes[64 + 664 + 3] ^= 4;
    refused(dir, bytes, n, "block 1 (bytes 728 to 1391) is damaged: its CRC-32C is 0x");
    free(bytes);
    free(path);
    scratch_remove(dir);
}

static void test_every_length(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_F32, 1);
    size_t n;
    (void)state;
    write_image(&image, path, in_order, 3);
    unsigned char *bytes = bytes_of(path, &n);
    for (size_t length = 0; length < n; length += length < 70 || length > n - 20 ? 1 : 97) {
        char text[64];
        snprintf(text, sizeof text, "byte %zu: the file ends here", length);
        refused(dir, bytes, length, text);
    }
    bytes[n] = 0;
    refused(dir, bytes, n + 1, "1 bytes more follow");
    free(bytes);
    free(path);
    scratch_remove(dir);
}

/* Right sums over wrong contents; and two blocks that have changed places. */
static void test_contents(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_F32, 1);
    size_t n;
    (void)state;
    image.label[13] = 15;
    write_image(&image, path, in_order, 3);
    unsigned char *bytes = bytes_of(path, &n);
    refused(dir, bytes, n, "block 1, byte 5211: sample 13: label 15: 0 to 14 are letters");
    free(bytes);

    image = image_of(LM_PACKED_F32, 1);
    const float values[] = {NAN, INFINITY, -INFINITY, 3e38f};
    for (int k = 0; k < 4; k++) {
        image.real[21 * LM_PIXELS + 5] = values[k];
        write_image(&image, path, in_order, 3);
        bytes = bytes_of(path, &n);
        refused(dir, bytes, n, k < 3 ? "block 2, byte 5508: sample 21, value 6" : "not finite as a float32 once norm");
        free(bytes);
    }

    image = image_of(LM_PACKED_U8, 0);
    write_image(&image, path, in_order, 3);
    bytes = bytes_of(path, &n);
    unsigned char first[648];
    memcpy(first, bytes + 64, 648);
    memcpy(bytes + 64, bytes + 64 + 648, 648);
    memcpy(bytes + 64 + 648, first, 648);
    refused(dir, bytes, n, "block 0 (bytes 64 to 711) is damaged");
    free(bytes);
    free(path);
    scratch_remove(dir);
}

static void test_strange_files(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "pipe");
    struct lm_packed *file;
    struct lm_error err;
    (void)state;
    assert_int_equal(lm_packed_open(dir, &file, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "a folder"));
    assert_int_equal(lm_packed_open(path, &file, &err), LM_BAD_INPUT);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(lm_packed_open(path, &file, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "not a regular file"));
    free(path);
    scratch_remove(dir);
}

static void test_scaler(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_U8, 1);
    struct lm_packed *file;
    struct lm_error err;
    (void)state;
    write_image(&image, path, in_order, 3);
    assert_int_equal(lm_packed_open(path, &file, &err), LM_OK);
    const double wrong[] = {0.0, NAN, INFINITY, 1e-300};
    for (int k = 0; k < 4; k++) {
        struct lm_scaler scaler = scaler_of();
        scaler.scale[9] = wrong[k];
        assert_int_equal(lm_packed_set_scaler(file, &scaler, &err), LM_BAD_INPUT);
        assert_non_null(strstr(err.text, "value 10 cannot be normalised"));
    }
    lm_packed_close(file);
    free(path);
    scratch_remove(dir);
}

/* ---- digest ---- */

static void test_digest(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack"), hex[5][LM_SHA256_HEX];
    struct lm_error err;
    (void)state;
    for (int k = 0; k < 5; k++) {
        struct image image = image_of(k == 4 ? LM_PACKED_F32 : LM_PACKED_U8, 1);
        image.grey[SAMPLES * LM_PIXELS - 1] ^= k == 1;
        image.label[0] ^= k == 2;
        struct lm_packed *file;
        write_image(&image, path, k == 3 ? mixed : in_order, k == 3 ? 4 : 3);
        assert_int_equal(lm_packed_open(path, &file, &err), LM_OK);
        assert_int_equal(lm_packed_digest(file, hex[k], &err), LM_OK);
        lm_packed_close(file);
    }
    assert_string_equal(hex[0], hex[3]); /* the order of writing does not count */
    assert_string_not_equal(hex[0], hex[1]);
    assert_string_not_equal(hex[0], hex[2]);
    assert_string_not_equal(hex[0], hex[4]);
    free(path);
    scratch_remove(dir);
}

/* ---- writing ---- */

static void test_refuses_to_overwrite(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_U8, 1);
    struct lm_packed_writer *writer, *second;
    struct lm_error err;
    (void)state;
    write_image(&image, path, in_order, 3);
    assert_int_equal(lm_packed_create(path, &image.layout, 0, &writer, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "--force"));
    assert_int_equal(lm_packed_create(dir, &image.layout, 1, &writer, &err), LM_BAD_INPUT);
    assert_int_equal(lm_packed_create("/nowhere/at/all", &image.layout, 1, &writer, &err), LM_BAD_INPUT);

    /* a file that comes in between is left alone */
    scratch_delete(dir, "a.pack");
    assert_int_equal(lm_packed_create(path, &image.layout, 0, &second, &err), LM_OK);
    for (uint64_t k = 0; k < 3; k++)
        assert_int_equal(lm_packed_put(second, k, image.grey + k * BLOCK * LM_PIXELS, image.label + k * BLOCK, &err),
                         LM_OK);
    scratch_write(dir, "a.pack", "mine", 4);
    assert_int_equal(lm_packed_finish(second, &err), LM_BAD_INPUT);
    size_t n;
    unsigned char *bytes = bytes_of(path, &n);
    assert_int_equal(n, 4);
    free(bytes);
    free(path);
    scratch_remove(dir);
}

static void test_incomplete(void **state)
{
    char *dir = scratch_make(), *path = path_in(dir, "a.pack");
    struct image image = image_of(LM_PACKED_U8, 1);
    struct lm_packed_writer *writer;
    struct lm_error err;
    (void)state;
    assert_int_equal(lm_packed_create(path, &image.layout, 0, &writer, &err), LM_OK);
    assert_int_equal(lm_packed_put(writer, 3, image.grey, image.label, &err), LM_FAILED);
    assert_int_equal(lm_packed_put(writer, 1, image.grey, image.label, &err), LM_OK);
    assert_int_equal(lm_packed_put(writer, 1, image.grey, image.label, &err), LM_OK);
    assert_int_equal(lm_packed_finish(writer, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "2 blocks were never put"));
    assert_int_equal(rmdir(dir), 0); /* nothing is left */
    free(path);
    free(dir);
}

/* ---- what is packed ---- */

static void test_turns(void **state)
{
    const uint64_t equal[LM_CLASSES] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    (void)state;
    for (uint64_t i = 0; i < 60; i++) {
        struct lm_turn turn = lm_turn_of(equal, i);
        assert_int_equal(turn.letter, i % LM_CLASSES);
        assert_int_equal(turn.k, i / LM_CLASSES);
    }
    uint64_t seen[LM_CLASSES] = {0}, total = 0;
    struct lm_turn next = {0, 0};
    for (int c = 0; c < LM_CLASSES; c++)
        total += lm_synth_default_count[c];
    for (uint64_t i = 0; i < total; i++) {
        struct lm_turn turn = lm_turn_of(lm_synth_default_count, i);
        assert_int_equal(turn.letter, next.letter);
        assert_int_equal(turn.k, next.k);
        assert_int_equal(turn.k, seen[turn.letter]++); /* each letter's in order, every one of them */
        next = lm_turn_next(lm_synth_default_count, turn);
    }
    assert_memory_equal(seen, lm_synth_default_count, sizeof seen);
}

static void test_pack_dataset(void **state)
{
    const uint64_t count[LM_CLASSES] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    struct lm_packed_layout layout = {LM_PACKED_U8, 30, 7, 1};
    struct lm_dataset data;
    struct lm_error err;
    uint8_t pixel[7 * LM_PIXELS], drawn[7 * LM_PIXELS], label[7];
    float real[7 * LM_PIXELS];
    uint64_t rounded = 0;
    (void)state;
    assert_int_equal(lm_synth(count, 1, &data, &err), LM_OK);
    for (uint64_t b = 0; b < lm_packed_blocks(&layout); b++) {
        assert_int_equal(lm_pack_dataset(&data, &layout, b, pixel, label, &rounded, &err), LM_OK);
        for (size_t i = 0; i < lm_packed_count(&layout, b); i++) {
            assert_int_equal(label[i], data.label[b * 7 + i]);
            for (size_t p = 0; p < LM_PIXELS; p++)
                assert_true(pixel[i * LM_PIXELS + p] == data.pixel[(b * 7 + i) * LM_PIXELS + p]);
        }
    }
    /* drawn: sample 16 is B's second image, sample 3 of the folder */
    lm_pack_drawn(count, 1, &layout, 2, drawn, label);
    for (size_t p = 0; p < LM_PIXELS; p++)
        assert_true(drawn[2 * LM_PIXELS + p] == data.pixel[3 * LM_PIXELS + p]);
    assert_int_equal(label[2], 1);

    data.pixel[8 * LM_PIXELS + 1] = 12.3;
    assert_int_equal(lm_pack_dataset(&data, &layout, 1, pixel, label, &rounded, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "letter E, sample 9 of the data set, value 2: 12.3"));
    layout.type = LM_PACKED_F32;
    assert_int_equal(rounded, 0);
    assert_int_equal(lm_pack_dataset(&data, &layout, 1, real, label, &rounded, &err), LM_OK);
    assert_int_equal(rounded, 1);
    assert_true(real[LM_PIXELS + 1] == 12.3f);
    data.pixel[8 * LM_PIXELS + 1] = 1e300;
    assert_int_equal(lm_pack_dataset(&data, &layout, 1, real, label, &rounded, &err), LM_BAD_INPUT);
    lm_dataset_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_sizes_on_paper),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_every_grey_value),
        cmocka_unit_test(test_header_fields),
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_strange_files),
        cmocka_unit_test(test_scaler),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_refuses_to_overwrite),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_pack_dataset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
