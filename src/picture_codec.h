/* picture_codec.h: what the readers of each kind share (internal to picture*.c). */
#ifndef LM_PICTURE_CODEC_H
#define LM_PICTURE_CODEC_H

#include "picture.h"

/* Sets width and height and allocates grey; LM_BAD_INPUT if a side is 0 or beyond the limits. */
int lm_picture_allocate(struct lm_picture *picture, uint64_t width, uint64_t height, struct lm_error *err);

/* grey: (n) from rgb: (n, 3). */
void lm_picture_grey(const uint8_t *rgb, size_t n, uint8_t *grey);

/* Each reads the whole file into a picture of {0}; orientation is what EXIF says, 0 where it says nothing. On failure
 * the caller frees. */
int lm_picture_read_jpeg(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err);
int lm_picture_read_png(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err);
int lm_picture_read_pnm(const uint8_t *bytes, size_t n, struct lm_picture *out, struct lm_error *err);

/* The library's name and version, or "" where the build has none. */
void lm_picture_jpeg_version(char *text, size_t size);
void lm_picture_png_version(char *text, size_t size);

/* The orientation that a TIFF structure (what follows "Exif\0\0") gives, 1 to 8; 0: none, or none that can be read. */
int lm_exif_orientation(const uint8_t *tiff, size_t n);

/* Turns and mirrors the picture as the orientation says (1 to 8), so that it stands upright. */
int lm_picture_turn(struct lm_picture *picture, int orientation, struct lm_error *err);

#endif
