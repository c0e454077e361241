/* packed.c: the layout of a packed file as numbers and bytes; see packed.h. Files: packed_read.c, packed_write.c.
 *
 * Nothing here knows of files, so sizes beyond any disk at hand can be tested.
 */
#include "packed.h"

#include <string.h>

#include "crc32c.h"
#include "packed_bytes.h"

static const char magic[8] = {'L', 'I', 'B', 'R', 'A', 'S', 'P', 'K'};

enum { AT_VERSION = 8, AT_TYPE = 12, AT_SAMPLES = 16, AT_BLOCK = 24, AT_FLAGS = 28, AT_ZEROS = 32, AT_SUM = 60 };
#define FLAG_LABELLED 1u

/* ---- sizes ---- */

size_t lm_packed_pixel_bytes(enum lm_packed_type type)
{
    return type == LM_PACKED_U8 ? 1 : 4;
}

uint64_t lm_packed_blocks(const struct lm_packed_layout *layout)
{
    return (layout->samples - 1) / layout->block + 1;
}

uint32_t lm_packed_count(const struct lm_packed_layout *layout, uint64_t k)
{
    uint64_t left = layout->samples - k * layout->block;
    return left < layout->block ? (uint32_t)left : layout->block;
}

size_t lm_packed_block_bytes(const struct lm_packed_layout *layout, uint32_t n)
{
    size_t pixels = (size_t)n * LM_PIXELS * lm_packed_pixel_bytes(layout->type);
    size_t labels = layout->labelled ? ((size_t)n + 7) / 8 * 8 : 0;
    return pixels + labels + LM_PACKED_TRAILER;
}

/* At most 64 + 2^40 (256 + 8 + 8): far below 2^63. */
uint64_t lm_packed_offset(const struct lm_packed_layout *layout, uint64_t k)
{
    uint64_t whole = k < lm_packed_blocks(layout) ? k : lm_packed_blocks(layout) - 1;
    uint64_t offset = LM_PACKED_HEADER + whole * lm_packed_block_bytes(layout, layout->block);
    return k == whole ? offset : offset + lm_packed_block_bytes(layout, lm_packed_count(layout, whole));
}

/* ---- bytes ---- */

void lm_put_little(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

uint64_t lm_get_little(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

uint32_t lm_packed_sum(uint64_t k, const unsigned char *data, size_t n)
{
    unsigned char number[8];
    lm_put_little(number, k, 8);
    return lm_crc32c(lm_crc32c(0, number, sizeof number), data, n);
}

void lm_packed_put_header(const struct lm_packed_layout *layout, unsigned char bytes[LM_PACKED_HEADER])
{
    memset(bytes, 0, LM_PACKED_HEADER);
    memcpy(bytes, magic, sizeof magic);
    lm_put_little(bytes + AT_VERSION, LM_PACKED_VERSION, 4);
    lm_put_little(bytes + AT_TYPE, layout->type, 4);
    lm_put_little(bytes + AT_SAMPLES, layout->samples, 8);
    lm_put_little(bytes + AT_BLOCK, layout->block, 4);
    lm_put_little(bytes + AT_FLAGS, layout->labelled ? FLAG_LABELLED : 0, 4);
    lm_put_little(bytes + AT_SUM, lm_crc32c(0, bytes, AT_SUM), 4);
}

/* What it is, and of which version, before anything else is believed. */
static int check_kind(const unsigned char bytes[LM_PACKED_HEADER], struct lm_error *err)
{
    static const unsigned char hdf5[4] = {0x89, 'H', 'D', 'F'};
    if (memcmp(bytes, hdf5, sizeof hdf5) == 0)
        return lm_fail(err, LM_BAD_INPUT, "byte 0: an HDF5 file; a packed file of images was expected");
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return lm_fail(err, LM_BAD_INPUT, "byte 0: no packed file: it does not begin with LIBRASPK");
    uint32_t found = lm_crc32c(0, bytes, AT_SUM), said = (uint32_t)lm_get_little(bytes + AT_SUM, 4);
    if (found != said)
        return lm_fail(err, LM_BAD_INPUT,
                       "byte %d: the header is damaged: its CRC-32C is 0x%08x, and 0x%08x is written there", AT_SUM,
                       (unsigned)found, (unsigned)said);
    uint32_t version = (uint32_t)lm_get_little(bytes + AT_VERSION, 4);
    if (version > LM_PACKED_VERSION)
        return lm_fail(err, LM_BAD_INPUT,
                       "byte %d: its format version is %u, and this program reads up to %d: use a newer one",
                       AT_VERSION, (unsigned)version, LM_PACKED_VERSION);
    if (version == 0)
        return lm_fail(err, LM_BAD_INPUT, "byte %d: its format version is 0, which there never was", AT_VERSION);
    return LM_OK;
}

int lm_packed_get_header(const unsigned char bytes[LM_PACKED_HEADER], struct lm_packed_layout *layout,
                         struct lm_error *err)
{
    int code = check_kind(bytes, err);
    if (code != LM_OK)
        return code;
    uint64_t type = lm_get_little(bytes + AT_TYPE, 4), samples = lm_get_little(bytes + AT_SAMPLES, 8);
    uint64_t block = lm_get_little(bytes + AT_BLOCK, 4), flags = lm_get_little(bytes + AT_FLAGS, 4);
    if (type != LM_PACKED_U8 && type != LM_PACKED_F32)
        return lm_fail(err, LM_BAD_INPUT, "byte %d: type of pixel %u: 1 (uint8) or 2 (float32) was expected", AT_TYPE,
                       (unsigned)type);
    if (samples == 0 || samples > LM_PACKED_MOST_SAMPLES)
        return lm_fail(err, LM_BAD_INPUT, "byte %d: %llu samples: 1 to 2^40 are possible", AT_SAMPLES,
                       (unsigned long long)samples);
    if (block == 0 || block > LM_PACKED_MOST_BLOCK)
        return lm_fail(err, LM_BAD_INPUT, "byte %d: %u samples a block: 1 to %d are possible", AT_BLOCK,
                       (unsigned)block, LM_PACKED_MOST_BLOCK);
    if (flags & ~(uint64_t)FLAG_LABELLED)
        return lm_fail(err, LM_BAD_INPUT, "byte %d: flags 0x%x: only bit 0 is known", AT_FLAGS, (unsigned)flags);
    for (int i = AT_ZEROS; i < AT_SUM; i++)
        if (bytes[i] != 0)
            return lm_fail(err, LM_BAD_INPUT, "byte %d: %d where a zero was expected", i, bytes[i]);
    *layout = (struct lm_packed_layout){.type = (enum lm_packed_type)type,
                                        .samples = samples,
                                        .block = (uint32_t)block,
                                        .labelled = (flags & FLAG_LABELLED) != 0};
    return LM_OK;
}
