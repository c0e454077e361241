/* picture_pnm.c: PGM and PPM, by a reader of our own: libnetpbm ends the process where a file is wrong.
 *
 *   P2 or P5 (grey), P3 or P6 (RGB), then width, height, largest value, in decimal, between blanks and # comments;
 *   P5, P6: one blank, then a byte a value; P2, P3: decimal numbers between blanks.
 *
 * Values are stretched to 0 ... 255 where the largest is less. P1 and P4 (bitmaps) have no grey and are refused, as are
 * files of 16 bits. What follows the picture is not looked at: the format allows a second one there.
 */
#include <stdlib.h>
#include <string.h>

#include "picture_codec.h"

struct reading {
    const uint8_t *at, *end;
    int plain, colours;
    uint32_t largest;
};

static int is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_blanks(struct reading *r)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
                r->at++;
        if (r->at == r->end || !is_blank(*r->at))
            return;
    }
}

/* A whole number of at most 9 digits, after blanks; 0 where there is none. */
static int read_number(struct reading *r, uint32_t *out)
{
    int digits = 0;
    skip_blanks(r);
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && digits < 9; r->at++, digits++)
        *out = 10 * *out + (uint32_t)(*r->at - '0');
    return digits > 0 && (r->at == r->end || is_blank(*r->at) || *r->at == '#');
}

static int read_head(struct reading *r, struct lm_picture *out, struct lm_error *err)
{
    uint32_t width, height;
    int format = r->at[1] - '0';
    if (format == 1 || format == 4)
        return lm_fail(err, LM_BAD_INPUT, "a PBM, black and white: PGM or PPM were expected");
    r->plain = format < 4;
    r->colours = format == 3 || format == 6 ? 3 : 1;
    r->at += 2;
    if (!read_number(r, &width) || !read_number(r, &height) || !read_number(r, &r->largest))
        return lm_fail(err, LM_BAD_INPUT, "a damaged PGM or PPM: width, height and largest value were expected");
    if (r->largest > 255)
        return lm_fail(err, LM_BAD_INPUT, "a PGM or PPM of values up to %lu: save it with 8 bits, values up to 255",
                       (unsigned long)r->largest);
    if (r->largest == 0)
        return lm_fail(err, LM_BAD_INPUT, "a damaged PGM or PPM: it says that its largest value is 0");
    if (!r->plain) {
        if (r->at == r->end || !is_blank(*r->at))
            return lm_fail(err, LM_BAD_INPUT, "a damaged PGM or PPM: a blank was expected before the pixels");
        r->at++;
    }
    /* A value takes a byte at least: what cannot be whole is not allocated. */
    uint64_t values = (uint64_t)width * height * (unsigned)r->colours;
    if (width <= LM_PICTURE_MOST_SIDE && height <= LM_PICTURE_MOST_SIDE && (size_t)(r->end - r->at) < values)
        return lm_fail(err, LM_BAD_INPUT, "a damaged PGM or PPM: the file ends too early");
    return lm_picture_allocate(out, width, height, err);
}

static int next_value(struct reading *r, uint32_t *value)
{
    if (r->plain)
        return read_number(r, value);
    *value = *r->at++; /* the head has counted them */
    return 1;
}

int lm_picture_read_pnm(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err)
{
    struct reading r = {.at = bytes, .end = bytes + n};
    int code = read_head(&r, out, err);
    if (code != LM_OK)
        return code;
    for (size_t i = 0; i < (size_t)out->width * out->height; i++) {
        uint8_t rgb[3] = {0};
        for (int c = 0; c < r.colours; c++) {
            uint32_t value;
            if (!next_value(&r, &value))
                return lm_fail(err, LM_BAD_INPUT, "a damaged PGM or PPM: pixel %zu is no number, or is not there", i);
            if (value > r.largest)
                return lm_fail(err, LM_BAD_INPUT, "a damaged PGM or PPM: pixel %zu is %lu, above the largest value %lu",
                               i, (unsigned long)value, (unsigned long)r.largest);
            rgb[c] = (uint8_t)((2 * 255 * value + r.largest) / (2 * r.largest));
        }
        if (r.colours == 3)
            lm_picture_grey(rgb, 1, out->grey + i);
        else
            out->grey[i] = rgb[0];
    }
    return LM_OK;
}
