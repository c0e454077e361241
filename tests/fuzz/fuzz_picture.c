/* fuzz_picture.c: any bytes as a picture: a picture that is what it says, or a reason. The first byte chooses a box. */
#include "fuzz_file.h"
#include "picture.h"
#include "shrink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lm_picture picture;
    struct lm_error err;
    uint8_t pixel[LM_PIXELS];
    uint32_t inset = size ? data[0] : 0;
    int code = lm_picture_decode(data + (size > 0), size - (size > 0), &picture, &err);
    if (code != LM_OK) {
        if (code != LM_UNAVAILABLE) /* a build without the library */
            fuzz_message(code, &err, NULL);
        fuzz_demand(!picture.grey, "what failed owns nothing");
        return 0;
    }
    fuzz_demand(picture.width >= 1 && picture.width <= LM_PICTURE_MOST_SIDE && picture.height >= 1 &&
                    picture.height <= LM_PICTURE_MOST_SIDE &&
                    (uint64_t)picture.width * picture.height <= LM_PICTURE_MOST_PIXELS,
                "the limits of a picture");
    fuzz_demand(picture.orientation >= 1 && picture.orientation <= 8, "an orientation of EXIF");
    struct lm_box box = {inset / 16, inset % 16, picture.width - inset % 8, picture.height};
    int inside = box.xmin + LM_SIDE <= box.xmax && box.xmax <= picture.width && box.ymin + LM_SIDE <= box.ymax;
    code = lm_shrink(&picture, &box, pixel, &err);
    fuzz_demand((code == LM_OK) == inside, "a box inside the picture, and no other, is taken");
    /* The last pixel is there. */
    volatile uint8_t last = picture.grey[(size_t)picture.width * picture.height - 1];
    (void)last;
    lm_picture_free(&picture);
    return 0;
}
