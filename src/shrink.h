/* shrink.h: a part of a picture to 8 x 8 grey values, as the real data set was made. */
#ifndef LM_SHRINK_H
#define LM_SHRINK_H

#include <stdint.h>

#include "dataset.h"
#include "picture.h"

struct lm_box {
    uint32_t xmin, ymin, xmax, ymax; /* pixels [xmin, xmax) x [ymin, ymax), counted from 0 */
};

/* pixel: (8, 8), row by row. Along an axis of n pixels, cell k is the mean of pixels [(k n + 4)/8, ((k + 1) n + 4)/8),
 * in whole numbers: that is [int((k + 0.5) n/8 - n/16 + 0.5), int((k + 0.5) n/8 + n/16 + 0.5)). Rows first, rounded to
 * 8 bits after each pass. LM_BAD_INPUT: the box is not inside the picture, or less than 8 pixels wide or high. */
int lm_shrink(const struct lm_picture *picture, const struct lm_box *box, uint8_t pixel[LM_PIXELS],
              struct lm_error *err);

#endif
