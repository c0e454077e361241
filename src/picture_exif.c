/* picture_exif.c: which way up a picture was taken, and turning it. */
#include <stdlib.h>
#include <string.h>

#include "picture_codec.h"

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT      3

static uint32_t number_at(const uint8_t *p, int bytes, int little)
{
    uint32_t value = 0;
    for (int k = 0; k < bytes; k++)
        value |= (uint32_t)p[little ? k : bytes - 1 - k] << 8 * k;
    return value;
}

int lm_exif_orientation(const uint8_t *tiff, size_t n)
{
    if (n < 8 || (memcmp(tiff, "II*\0", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0))
        return 0;
    int little = tiff[0] == 'I';
    size_t at = number_at(tiff + 4, 4, little);
    if (at > n - 2 || at < 8)
        return 0;
    size_t entries = number_at(tiff + at, 2, little);
    for (at += 2; entries-- && at <= n && n - at >= 12; at += 12) {
        if (number_at(tiff + at, 2, little) != TAG_ORIENTATION || number_at(tiff + at + 2, 2, little) != TYPE_SHORT)
            continue;
        uint32_t orientation = number_at(tiff + at + 8, 2, little);
        return orientation >= 1 && orientation <= 8 ? (int)orientation : 0;
    }
    return 0;
}

/* Where pixel (x, y) of the upright picture (w, h) lies in the stored one: 2, 3, 4 are mirrored or upside down; 5 to 8
 * lie on their side, so that the stored picture is (h, w). */
static size_t stored_at(int orientation, uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
    uint32_t right = w - 1 - x, below = h - 1 - y;
    switch (orientation) {
    case 2:
        return (size_t)y * w + right;
    case 3:
        return (size_t)below * w + right;
    case 4:
        return (size_t)below * w + x;
    case 5:
        return (size_t)x * h + y;
    case 6:
        return (size_t)right * h + y;
    case 7:
        return (size_t)right * h + below;
    case 8:
        return (size_t)x * h + below;
    default:
        return (size_t)y * w + x;
    }
}

int lm_picture_turn(struct lm_picture *picture, int orientation, struct lm_error *err)
{
    if (orientation <= 1)
        return LM_OK;
    uint32_t w = orientation >= 5 ? picture->height : picture->width;
    uint32_t h = orientation >= 5 ? picture->width : picture->height;
    uint8_t *upright = malloc((size_t)w * h);
    if (!upright)
        return lm_fail_memory(err, (unsigned long long)w * h, "a picture");
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++)
            upright[(size_t)y * w + x] = picture->grey[stored_at(orientation, x, y, w, h)];
    free(picture->grey);
    picture->grey = upright;
    picture->width = w;
    picture->height = h;
    return LM_OK;
}
