/* picture.h: a picture from a file's bytes, as grey values: JPEG, PNG, PGM and PPM.
 *
 * What comes in is not trusted: sizes are limited before anything is allocated, and whatever a picture holds ends in a
 * picture or in LM_BAD_INPUT with the reason. JPEG and PNG are read by their own libraries, where the build found them;
 * elsewhere such a picture is LM_UNAVAILABLE. The kind is told by the first bytes, never by the name.
 *
 * Grey is (19595 R + 38470 G + 7471 B + 32768) >> 16; of a grey picture, the value itself. Taken are 8 bits a channel,
 * grey or RGB, in whatever the file packs them (palettes, interlaced and progressive files, fewer bits). Refused, since
 * nobody can say what their grey is: 16 bits, CMYK, transparent pixels. An EXIF orientation turns the picture upright.
 */
#ifndef LM_PICTURE_H
#define LM_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define LM_PICTURE_MOST_SIDE   32768u
#define LM_PICTURE_MOST_PIXELS (1u << 26)        /* 67 million: a telephone's 48 have room */
#define LM_PICTURE_MOST_BYTES  ((size_t)1 << 28) /* of a file */

enum lm_picture_kind { LM_PICTURE_NONE, LM_PICTURE_JPEG, LM_PICTURE_PNG, LM_PICTURE_PNM, LM_PICTURE_KINDS };

struct lm_picture {
    uint32_t width, height; /* of what stands upright */
    uint8_t *grey;          /* (height, width), owned */
    int orientation;        /* EXIF's, 1 to 8; 1: nothing was turned */
    int opaque_alpha;       /* 1: there was an alpha channel, opaque throughout */
};

enum lm_picture_kind lm_picture_kind_of(const uint8_t *bytes, size_t n);

/* What reads this kind, with its version ("libpng 1.6.39"); "no ..., so no JPEG" where the build has none. */
void lm_picture_library(enum lm_picture_kind kind, char *text, size_t size);

/* bytes: (n), the whole file. On failure nothing is owned by *out. */
int lm_picture_decode(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err);

/* The same of a file; the message begins with its path. LM_BAD_INPUT: the file or what is in it; LM_FAILED: the machine
 * (it cannot be read to its end, no memory). */
int lm_picture_load(const char *path, struct lm_picture *out, struct lm_error *err);

void lm_picture_free(struct lm_picture *picture);

#endif
