/* voc.h: the labelled box of a picture, from the Pascal VOC XML file beside it.
 *
 * Read are annotation/size/{width, height} and annotation/object/bndbox/{xmin, ymin, xmax, ymax}, whole numbers, taken
 * as the pixels [xmin, xmax) x [ymin, ymax), as the real data set was made. Everything else is passed over. By expat,
 * where the build found it. A file that declares entities is refused (a few lines can stand for gigabytes), as is one
 * that is large or deep. */
#ifndef LM_VOC_H
#define LM_VOC_H

#include <stddef.h>
#include <stdint.h>

#include "shrink.h"
#include "status.h"

#define LM_VOC_MOST_BYTES ((size_t)1 << 20)

struct lm_voc {
    uint32_t width, height; /* of the picture it speaks of; 0: it does not say */
    struct lm_box box;
};

/* bytes: (n), the whole file. LM_BAD_INPUT with line and reason: no XML, no box, two boxes, a box without four whole
 * numbers; LM_UNAVAILABLE: the build has no expat. */
int lm_voc_parse(const uint8_t *bytes, size_t n, struct lm_voc *out, struct lm_error *err);

/* The same of a file; the message begins with its path. */
int lm_voc_load(const char *path, struct lm_voc *out, struct lm_error *err);

/* "expat 2.5.0", or "none: ..." */
void lm_voc_library(char *text, size_t size);

#endif
