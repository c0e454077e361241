/* test_shrink.c: 8 x 8 of any box, by the words of the data set's page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "shrink.h"

static struct lm_picture picture_of(uint32_t width, uint32_t height, unsigned seed)
{
    struct lm_picture p = {.width = width, .height = height, .grey = malloc((size_t)width * height)};
    assert_non_null(p.grey);
    for (size_t k = 0; k < (size_t)width * height; k++) {
        seed = seed * 1664525u + 1013904223u;
        p.grey[k] = (uint8_t)(seed >> 24);
    }
    return p;
}

static void shrink(const struct lm_picture *p, struct lm_box box, uint8_t pixel[LM_PIXELS])
{
    struct lm_error err;
    if (lm_shrink(p, &box, pixel, &err) != LM_OK)
        fail_msg("%s", err.text);
}

/* The mean of from[0], from[stride], ... of the pixels of cell k of n, as the page has it, not rounded. */
static double cell(const double *from, size_t stride, int k, int n)
{
    int first = (int)((k + 0.5) * n / 8 - n / 16.0 + 0.5), end = (int)((k + 0.5) * n / 8 + n / 16.0 + 0.5);
    double sum = 0;
    assert_true(first >= 0 && first < end && end <= n);
    for (int i = first; i < end; i++)
        sum += from[(size_t)i * stride];
    return sum / (end - first);
}

/* Rounded to 8 bits after each pass. Where a mean is x.5, or as near to it as the weights of 22 bits are from even
 * ones, either neighbour may come out; elsewhere it is the nearest. */
static void compare(const struct lm_picture *p, struct lm_box box)
{
    const int w = (int)(box.xmax - box.xmin), h = (int)(box.ymax - box.ymin);
    double *line = malloc((size_t)w * sizeof *line), *column = malloc((size_t)h * LM_SIDE * sizeof *column);
    uint8_t pixel[LM_PIXELS];
    int unsure[LM_SIDE] = {0};

    shrink(p, box, pixel);
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++)
            line[x] = p->grey[(box.ymin + (uint32_t)y) * p->width + box.xmin + (uint32_t)x];
        for (int k = 0; k < LM_SIDE; k++) {
            double mean = cell(line, 1, k, w), rest = mean - (int)mean - 0.5;
            unsure[k] += rest > -1e-3 && rest < 1e-3;
            column[y * LM_SIDE + k] = (int)(mean + 0.5);
        }
    }
    for (int k = 0; k < LM_SIDE; k++)
        for (int r = 0; r < LM_SIDE; r++) {
            double mean = cell(column + k, LM_SIDE, r, h);
            double off = pixel[r * LM_SIDE + k] - mean;
            if (off > 0.501 + unsure[k] || off < -0.501 - unsure[k])
                fail_msg("box of %d x %d, pixel (%d, %d): %d, not %.3f", w, h, k, r, pixel[r * LM_SIDE + k], mean);
        }
    free(line);
    free(column);
}

static void test_sizes(void **state)
{
    struct lm_picture p = picture_of(700, 300, 1);
    (void)state;
    for (uint32_t n = 8; n < 300; n += n < 40 ? 1 : 13) {
        compare(&p, (struct lm_box){0, 0, n, 300 - n / 2});
        compare(&p, (struct lm_box){700 - n, n / 3, 700, n / 3 + 100});
    }
    compare(&p, (struct lm_box){0, 0, 700, 300});
    free(p.grey);
}

/* One pixel a cell: the picture itself. One grey: that grey, at every size. */
static void test_plain(void **state)
{
    struct lm_picture p = picture_of(8, 8, 2);
    uint8_t pixel[LM_PIXELS];
    (void)state;
    shrink(&p, (struct lm_box){0, 0, 8, 8}, pixel);
    assert_memory_equal(pixel, p.grey, LM_PIXELS);
    free(p.grey);
    p = picture_of(32768, 9, 3);
    for (int grey = 0; grey < 256; grey += 51) {
        memset(p.grey, grey, (size_t)p.width * p.height);
        for (uint32_t n = 8; n <= 32768; n = n * 2 + 1) {
            shrink(&p, (struct lm_box){0, 0, n, 9}, pixel);
            for (int k = 0; k < LM_PIXELS; k++)
                assert_int_equal(pixel[k], grey);
        }
        shrink(&p, (struct lm_box){0, 0, 32768, 9}, pixel);
        assert_int_equal(pixel[63], grey);
    }
    free(p.grey);
}

/* Means of x.5 go up where 22 bits hold the weight or round it up, down where they round it down. The published lines
 * are so: 1/2 is exact, 1/14 is 299593.14 / 2^22, 1/6 is 699050.67 / 2^22. */
static void test_halves(void **state)
{
    static const struct {
        uint32_t size; /* of a cell */
        int expected;  /* of half zeros, half ones */
    } halves[] = {{2, 1}, {4, 1}, {6, 1}, {10, 0}, {14, 0}, {16, 1}};
    uint8_t pixel[LM_PIXELS];
    (void)state;
    for (size_t k = 0; k < sizeof halves / sizeof *halves; k++) {
        uint32_t n = halves[k].size * 8;
        struct lm_picture p = picture_of(n, 8, 4);
        for (uint32_t x = 0; x < n * 8; x++)
            p.grey[x] = x % 2;
        shrink(&p, (struct lm_box){0, 0, n, 8}, pixel);
        for (int i = 0; i < LM_PIXELS; i++)
            assert_int_equal(pixel[i], halves[k].expected);
        free(p.grey);
    }
}

static void test_boxes(void **state)
{
    static const struct {
        struct lm_box box;
        const char *part;
    } faults[] = {{{0, 0, 41, 30}, "the box x 0 to 41, y 0 to 30 is not inside the picture of 40 x 30 pixels"},
                  {{0, 0, 40, 31}, "not inside"},
                  {{20, 0, 20, 30}, "not inside"},
                  {{30, 0, 20, 30}, "not inside"},
                  {{0, 20, 40, 10}, "not inside"},
                  {{0, 0, UINT32_MAX, 30}, "not inside"},
                  {{UINT32_MAX - 8, 0, UINT32_MAX, 30}, "not inside"},
                  {{0, 0, 7, 30}, "7 x 30 pixels are too few for 8 x 8"},
                  {{33, 23, 40, 30}, "7 x 7 pixels are too few"}};
    struct lm_picture p = picture_of(40, 30, 5);
    uint8_t pixel[LM_PIXELS];
    struct lm_error err;
    (void)state;
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        assert_int_equal(lm_shrink(&p, &faults[k].box, pixel, &err), LM_BAD_INPUT);
        if (!strstr(err.text, faults[k].part))
            fail_msg("'%s' does not say '%s'", err.text, faults[k].part);
    }
    shrink(&p, (struct lm_box){32, 22, 40, 30}, pixel);
    free(p.grey);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
