/* shrink.c: see shrink.h.
 *
 * The set's maker multiplied by the reciprocal of a cell's size as a fixed-point number of 22 bits. That decides where
 * a mean lies on or near x.5, and so it is done here: the published lines come out to the last bit. Dividing instead
 * would put 4 % of the pixels one grey level beside.
 */
#include "shrink.h"

#include <stddef.h>

#define BITS 22

static int check_box(const struct lm_picture *picture, const struct lm_box *box, struct lm_error *err)
{
    if (box->xmin >= box->xmax || box->ymin >= box->ymax || box->xmax > picture->width || box->ymax > picture->height)
        return lm_fail(err, LM_BAD_INPUT, "the box x %u to %u, y %u to %u is not inside the picture of %u x %u pixels",
                       box->xmin, box->xmax, box->ymin, box->ymax, picture->width, picture->height);
    if (box->xmax - box->xmin < LM_SIDE || box->ymax - box->ymin < LM_SIDE)
        return lm_fail(err, LM_BAD_INPUT, "%u x %u pixels are too few for %d x %d", box->xmax - box->xmin,
                       box->ymax - box->ymin, LM_SIDE, LM_SIDE);
    return LM_OK;
}

static size_t edge(size_t k, size_t n)
{
    return (k * n + LM_SIDE / 2) / LM_SIDE;
}

/* n is at most LM_PICTURE_MOST_SIDE / 8 or so: 255 stays 255. */
static uint8_t mean(uint64_t sum, uint64_t n)
{
    uint64_t weight = ((UINT64_C(2) << BITS) + n) / (2 * n);
    return (uint8_t)((sum * weight + (UINT64_C(1) << (BITS - 1))) >> BITS);
}

int lm_shrink(const struct lm_picture *picture, const struct lm_box *box, uint8_t pixel[LM_PIXELS],
              struct lm_error *err)
{
    int code = check_box(picture, box, err);
    if (code != LM_OK)
        return code;
    const size_t width = box->xmax - box->xmin, height = box->ymax - box->ymin;
    for (size_t row = 0; row < LM_SIDE; row++) {
        uint64_t sum[LM_SIDE] = {0};
        size_t first = edge(row, height), last = edge(row + 1, height);
        for (size_t y = first; y < last; y++) {
            const uint8_t *line = picture->grey + (box->ymin + y) * picture->width + box->xmin;
            for (size_t column = 0; column < LM_SIDE; column++) {
                size_t from = edge(column, width), to = edge(column + 1, width);
                uint64_t along = 0;
                for (size_t x = from; x < to; x++)
                    along += line[x];
                sum[column] += mean(along, to - from);
            }
        }
        for (size_t column = 0; column < LM_SIDE; column++)
            pixel[row * LM_SIDE + column] = mean(sum[column], last - first);
    }
    return LM_OK;
}
