/* photo.h: one photograph to one sample: the picture, its labelled box, 8 x 8 grey values. */
#ifndef LM_PHOTO_H
#define LM_PHOTO_H

#include <stdint.h>

#include "dataset.h"
#include "status.h"

struct lm_photo {
    uint8_t pixel[LM_PIXELS];
    int boxed;      /* 1: cut to a labelled box; 0: the whole picture */
    char note[120]; /* what was done to it that its owner should know, "" for nothing; one line */
};

/* voc: the XML file with the box; NULL: the whole picture. LM_BAD_INPUT: this picture or its XML, named in the message
 * by the path given; LM_UNAVAILABLE: the build lacks what reads it; LM_FAILED: the machine. A picture that EXIF turns
 * and that has a box is refused: nobody says which way up the box was drawn. */
int lm_photo_load(const char *picture, const char *voc, struct lm_photo *out, struct lm_error *err);

/* ".xml" in capitals and small letters: a file of "A7.jpg" is "A7" and one of these. */
#define LM_VOC_EXTENSIONS 8
const char *lm_voc_extension(int k);

/* The XML file that lies beside a picture, "A/A7.jpg" to "A/A7.xml": *voc, owned by the caller; NULL if there is none.
 * A link that leads nowhere is there: it is for the reader to fail. LM_FAILED: no memory. */
int lm_photo_find_voc(const char *picture, char **voc, struct lm_error *err);

#endif
