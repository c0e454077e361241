/* test_slabs.c: a packed file in slabs, read by the caller and by a thread ahead of it: the values that were written,
 * normalised and as pixels; damage; and an end at any time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"
#include "slabs.h"

#define SAMPLES 107
#define BLOCK   9
#define BLOCKS  12 /* the last one has 8 samples */

struct image {
    struct lm_packed_layout layout;
    uint8_t grey[SAMPLES * LM_PIXELS], label[SAMPLES];
    float real[SAMPLES * LM_PIXELS];
};

static struct image image_of(enum lm_packed_type type, int labelled)
{
    struct image image = {.layout = {type, SAMPLES, BLOCK, labelled}};
    for (size_t k = 0; k < SAMPLES * LM_PIXELS; k++) {
        image.grey[k] = (uint8_t)(k * 7 + k / 64);
        image.real[k] = (float)image.grey[k] * 0.5f - 3.0f;
    }
    for (size_t k = 0; k < SAMPLES; k++)
        image.label[k] = (uint8_t)(k * 4 % LM_CLASSES);
    return image;
}

static struct lm_scaler scaler_of(void)
{
    struct lm_scaler scaler;
    for (int p = 0; p < LM_PIXELS; p++) {
        scaler.mean[p] = 100.0 + p / 3.0;
        scaler.scale[p] = 17.0 + p / 7.0;
    }
    return scaler;
}

static char *write_image(const char *dir, const struct image *image)
{
    char *path;
    struct lm_packed_writer *writer;
    struct lm_error err;
    assert_true(asprintf(&path, "%s/a.pack", dir) > 0);
    assert_int_equal(lm_packed_create(path, &image->layout, 1, &writer, &err), LM_OK);
    for (uint64_t k = 0; k < BLOCKS; k++) {
        const size_t at = (size_t)k * BLOCK;
        const void *pixels = image->layout.type == LM_PACKED_U8 ? (const void *)(image->grey + at * LM_PIXELS)
                                                                : (const void *)(image->real + at * LM_PIXELS);
        assert_int_equal(lm_packed_put(writer, k, pixels, image->label + at, &err), LM_OK);
    }
    assert_int_equal(lm_packed_finish(writer, &err), LM_OK);
    return path;
}

static struct lm_packed *open_image(const char *path)
{
    const struct lm_scaler scaler = scaler_of();
    struct lm_packed *file;
    struct lm_error err;
    assert_int_equal(lm_packed_open(path, &file, &err), LM_OK);
    assert_int_equal(lm_packed_set_scaler(file, &scaler, &err), LM_OK);
    return file;
}

/* What sample's value p becomes. */
static float expected_of(const struct image *image, size_t sample, int p)
{
    const struct lm_scaler scaler = scaler_of();
    const size_t k = sample * LM_PIXELS + (size_t)p;
    double value = image->layout.type == LM_PACKED_U8 ? (double)image->grey[k] : (double)image->real[k];
    return (float)((value - scaler.mean[p]) / scaler.scale[p]);
}

static void check_slab(const struct image *image, const struct lm_slab *slab, uint64_t first, int grey)
{
    assert_int_equal(slab->code, LM_OK);
    assert_true(slab->seconds > 0.0 && slab->seconds < 100.0);
    for (size_t i = 0; i < slab->n; i++) {
        const size_t sample = (size_t)first + i;
        if (grey)
            assert_memory_equal(slab->pixel + i * LM_PIXELS, image->grey + sample * LM_PIXELS, LM_PIXELS);
        for (int p = 0; p < LM_PIXELS && !grey; p++)
            assert_true(slab->x[i * LM_PIXELS + (size_t)p] == expected_of(image, sample, p));
        if (image->layout.labelled)
            assert_int_equal(slab->label[i], image->label[sample]);
    }
}

/* The sums that stand in the file behind block k. */
static void check_sums(const char *path, const struct lm_slab *slab, const struct lm_packed_layout *layout,
                       uint64_t block)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (uint32_t b = 0; b < slab->blocks; b++) {
        unsigned char sum[4];
        assert_int_equal(fseek(file, (long)lm_packed_offset(layout, block + b + 1) - 8, SEEK_SET), 0);
        assert_int_equal(fread(sum, 1, 4, file), 4);
        assert_memory_equal(slab->sums + 4 * b, sum, 4);
    }
    fclose(file);
}

static void *some(size_t bytes)
{
    return calloc(1, bytes);
}

static void read_all(const struct image *image, const char *path, struct lm_slabs_plan plan)
{
    struct lm_packed *file = open_image(path);
    struct lm_slabs *slabs;
    struct lm_error err;
    uint64_t count = (BLOCKS + plan.blocks - 1) / plan.blocks;
    assert_int_equal(lm_slabs_open(file, plan, &slabs, &err), LM_OK);
    for (uint64_t c = plan.first; c < count; c += plan.stride) {
        const struct lm_slab *slab = lm_slabs_next(slabs);
        const uint64_t first = c * plan.blocks * BLOCK, left = SAMPLES - first;
        assert_int_equal(slab->n, left < plan.blocks * BLOCK ? left : plan.blocks * BLOCK);
        check_slab(image, slab, first, plan.grey);
        check_sums(path, slab, &image->layout, c * plan.blocks);
    }
    lm_slabs_close(slabs);
    lm_packed_close(file);
}

static void test_values(void **state)
{
    char *dir = scratch_make();
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct image image = image_of(kind / 2 ? LM_PACKED_F32 : LM_PACKED_U8, kind % 2);
        char *path = write_image(dir, &image);
        for (uint32_t blocks = 1; blocks <= BLOCKS + 1; blocks += 2)
            for (uint64_t stride = 1; stride < 4; stride++)
                for (int way = 0; way < 4; way++) {
                    struct lm_slabs_plan plan = {blocks, stride - 1, stride, way % 2, way / 2 && kind < 2, some, free};
                    read_all(&image, path, plan);
                }
        free(path);
    }
    scratch_remove(dir);
}

/* Pixels need a table to be worth anything: what each value stands for. Other files have neither. */
static void test_grey(void **state)
{
    char *dir = scratch_make();
    const struct lm_scaler scaler = scaler_of();
    struct image image = image_of(LM_PACKED_U8, 1), real = image_of(LM_PACKED_F32, 1);
    char *path = write_image(dir, &image);
    struct lm_packed *file = open_image(path);
    const float(*grey)[256] = lm_packed_grey(file);
    uint8_t pixel[BLOCK * LM_PIXELS], label[BLOCK];
    unsigned char sum[4];
    struct lm_error err;
    (void)state;
    assert_non_null(grey);
    for (int p = 0; p < LM_PIXELS; p++)
        for (int v = 0; v < 256; v++)
            assert_true(grey[p][v] == (float)((v - scaler.mean[p]) / scaler.scale[p]));
    lm_packed_close(file);
    free(path);
    path = write_image(dir, &real);
    file = open_image(path);
    assert_null(lm_packed_grey(file));
    assert_int_equal(lm_packed_read_grey(file, 0, pixel, label, sum, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "no 8 bits"));
    lm_packed_close(file);
    free(path);
    scratch_remove(dir);
}

/* A damaged block ends the reading: with the reason, and not before its slab. */
static void test_damage(void **state)
{
    char *dir = scratch_make();
    struct image image = image_of(LM_PACKED_U8, 1);
    char *path = write_image(dir, &image);
    FILE *f = fopen(path, "r+b");
    (void)state;
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)lm_packed_offset(&image.layout, 7) + 100, SEEK_SET), 0);
    assert_int_equal(fputc(255 - image.grey[7 * BLOCK * LM_PIXELS + 100], f) < 0, 0);
    fclose(f);
    for (int way = 0; way < 4; way++) {
        struct lm_slabs_plan plan = {2, 0, 1, way % 2, way / 2, NULL, NULL};
        struct lm_packed *file = open_image(path);
        struct lm_slabs *slabs;
        struct lm_error err;
        assert_int_equal(lm_slabs_open(file, plan, &slabs, &err), LM_OK);
        for (uint64_t c = 0; c < 3; c++)
            check_slab(&image, lm_slabs_next(slabs), c * 2 * BLOCK, plan.grey);
        const struct lm_slab *slab = lm_slabs_next(slabs);
        assert_int_equal(slab->code, LM_BAD_INPUT);
        assert_non_null(strstr(slab->err.text, "block 7 "));
        assert_non_null(strstr(slab->err.text, "is damaged"));
        lm_slabs_close(slabs);
        lm_packed_close(file);
    }
    free(path);
    scratch_remove(dir);
}

/* Closed before, among and behind the slabs, while the thread waits or works. */
static void test_early_end(void **state)
{
    char *dir = scratch_make();
    struct image image = image_of(LM_PACKED_F32, 0);
    char *path = write_image(dir, &image);
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct lm_slabs_plan plan = {1, 0, 1, 1, 0, NULL, NULL};
        struct lm_packed *file = open_image(path);
        struct lm_slabs *slabs;
        struct lm_error err;
        assert_int_equal(lm_slabs_open(file, plan, &slabs, &err), LM_OK);
        for (int c = 0; c < round % (BLOCKS + 1); c++)
            check_slab(&image, lm_slabs_next(slabs), (uint64_t)c * BLOCK, 0);
        if (round % 3 == 0)
            usleep(300); /* the thread has filled what it can, and waits */
        lm_slabs_close(slabs);
        lm_packed_close(file);
    }
    lm_slabs_close(NULL);
    free(path);
    scratch_remove(dir);
}

/* The plan's memory holds the samples, is given back, and is not needed. */
static int taken, given;

static void *count_take(size_t bytes)
{
    taken++;
    return taken % 2 ? malloc(bytes) : NULL;
}

static void count_give(void *memory)
{
    given++;
    free(memory);
}

static void test_memory(void **state)
{
    char *dir = scratch_make();
    struct image image = image_of(LM_PACKED_U8, 1);
    char *path = write_image(dir, &image);
    (void)state;
    read_all(&image, path, (struct lm_slabs_plan){3, 0, 1, 1, 1, count_take, count_give});
    assert_int_equal(taken, 2);
    assert_int_equal(given, 1);
    free(path);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),    cmocka_unit_test(test_grey),   cmocka_unit_test(test_damage),
        cmocka_unit_test(test_early_end), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
