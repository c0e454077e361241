/* packed.h: the packed file: millions of images in one file whose parts can be read by many processes at once.
 *
 * Little-endian throughout. A header of 64 bytes, then blocks of the same number of samples, the last one shorter:
 *
 *   byte  size                                        a block of n samples
 *      0     8  "LIBRASPK"                               64 n w  pixels, image by image, row by row (w: 1 or 4 bytes)
 *      8     4  format version, 1                             n  labels, 0 to 14, place in LM_LETTERS; then zeros up to
 *     12     4  type of a pixel: 1 uint8, 2 float32              a multiple of 8; nothing of this without labels
 *     16     8  samples, 1 to 2^40                            4  CRC-32C of the block's number (8 bytes) and all above
 *     24     4  samples a block, 1 to 65536                   4  zeros
 *     28     4  flags; bit 0: there are labels
 *     32    28  zeros
 *     60     4  CRC-32C of bytes 0 to 59
 *
 * All blocks but the last are of one size, so the place of each is a product. The magic, the version and the header's
 * sum stay where they are in every later version. The sum of a block starts with its number: a block in another's place
 * is found, too.
 */
#ifndef LM_PACKED_H
#define LM_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"
#include "normalise.h"
#include "sha256.h"
#include "status.h"

enum lm_packed_type { LM_PACKED_U8 = 1, LM_PACKED_F32 = 2 };

#define LM_PACKED_VERSION      1
#define LM_PACKED_HEADER       64
#define LM_PACKED_BLOCK        4096 /* samples a block, where nobody asks for another number */
#define LM_PACKED_MOST_BLOCK   65536
#define LM_PACKED_MOST_SAMPLES (UINT64_C(1) << 40)

struct lm_packed_layout {
    enum lm_packed_type type;
    uint64_t samples;
    uint32_t block; /* samples a block */
    int labelled;
};

/* Numbers alone, for any size. k: the number of a block. */
size_t lm_packed_pixel_bytes(enum lm_packed_type type);
uint64_t lm_packed_blocks(const struct lm_packed_layout *layout);
uint32_t lm_packed_count(const struct lm_packed_layout *layout, uint64_t k);  /* samples of block k */
uint64_t lm_packed_offset(const struct lm_packed_layout *layout, uint64_t k); /* k = blocks: the size of the file */
size_t lm_packed_block_bytes(const struct lm_packed_layout *layout, uint32_t n);

/* The header's bytes, and the other way round: LM_BAD_INPUT with the byte and the reason. */
void lm_packed_put_header(const struct lm_packed_layout *layout, unsigned char bytes[LM_PACKED_HEADER]);
int lm_packed_get_header(const unsigned char bytes[LM_PACKED_HEADER], struct lm_packed_layout *layout,
                         struct lm_error *err);
/* The sum that stands behind block k. data: (n), all that is before it. */
uint32_t lm_packed_sum(uint64_t k, const unsigned char *data, size_t n);

/* ---- reading ---- */

struct lm_packed; /* an open file; opaque */

/* Opens, and compares what the header says with the file's size. Failures name the file, the byte and the reason. */
int lm_packed_open(const char *path, struct lm_packed **out, struct lm_error *err);
void lm_packed_close(struct lm_packed *file); /* NULL: nothing */
const struct lm_packed_layout *lm_packed_layout_of(const struct lm_packed *file);

/* The SHA-256 of the header and of all sums of blocks: reads these alone. Together with the sums being right, which
 * lm_packed_read finds out, it stands for all values. */
int lm_packed_digest(struct lm_packed *file, char hex[LM_SHA256_HEX], struct lm_error *err);

/* The same from sums that others have read: begins the hash; then each block's sum, 4 bytes, is added in order. */
void lm_packed_hash_begin(const struct lm_packed *file, struct lm_sha256 *hash);

/* How lm_packed_read normalises; to be said before it. LM_BAD_INPUT if that cannot be. */
int lm_packed_set_scaler(struct lm_packed *file, const struct lm_scaler *scaler, struct lm_error *err);

/* Block k: x (n, 64) is bit for bit what lm_scaler_apply makes of the same values; label (n), untouched where the file
 * has none; sum: the block's, as it is in the file. Everything is checked: the sum, each label, each value for being
 * finite before and after. */
int lm_packed_read(struct lm_packed *file, uint64_t k, float *x, uint8_t *label, unsigned char sum[4],
                   struct lm_error *err);

/* Block k of a file of 8-bit pixels as it is: pixel (n, 64), checked as above; and (64, 256), the float that
 * lm_packed_read makes of value v of pixel p, which the file owns; NULL for other files. */
int lm_packed_read_grey(struct lm_packed *file, uint64_t k, uint8_t *pixel, uint8_t *label, unsigned char sum[4],
                        struct lm_error *err);
const float (*lm_packed_grey(const struct lm_packed *file))[256];

/* Tells the system that block k is wanted soon: it may read it meanwhile. */
void lm_packed_expect(const struct lm_packed *file, uint64_t k);

/* ---- writing ---- */

struct lm_packed_writer; /* opaque */

/* Refuses a file that is there unless force. Written under a temporary name in the same folder. */
int lm_packed_create(const char *path, const struct lm_packed_layout *layout, int force, struct lm_packed_writer **out,
                     struct lm_error *err);
/* Whether lm_packed_create may begin, before any work is done for it. */
int lm_packed_check_target(const char *path, int force, struct lm_error *err);
/* Block k, in any order; the last one counts where it comes twice. pixel: (n, 64) of uint8_t or float, by the type;
 * label: (n); not looked at without labels. */
int lm_packed_put(struct lm_packed_writer *writer, uint64_t k, const void *pixel, const uint8_t *label,
                  struct lm_error *err);
/* All blocks are there: to disk and under its name. The writer is gone afterwards, whatever is returned. */
int lm_packed_finish(struct lm_packed_writer *writer, struct lm_error *err);
/* Removes what was written. NULL: nothing. */
void lm_packed_abandon(struct lm_packed_writer *writer);

#endif
