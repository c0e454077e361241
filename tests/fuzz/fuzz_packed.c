/* fuzz_packed.c: any bytes as a packed file. The first byte says whether the sums in it are mended first: else no
 * change would ever get beyond them. */
#include <math.h>

#include "crc32c.h"
#include "fuzz_file.h"
#include "packed.h"

enum { MEND_HEADER = 1, MEND_BLOCKS = 2, LARGE_SCALE = 4 };

static void mend(uint8_t *file, size_t size, int what)
{
    struct lm_packed_layout layout;
    struct lm_error err;
    if (size < LM_PACKED_HEADER)
        return;
    if (what & MEND_HEADER) {
        uint32_t sum = lm_crc32c(0, file, LM_PACKED_HEADER - 4);
        for (int i = 0; i < 4; i++)
            file[LM_PACKED_HEADER - 4 + i] = (uint8_t)(sum >> 8 * i);
    }
    if (!(what & MEND_BLOCKS) || lm_packed_get_header(file, &layout, &err) != LM_OK)
        return;
    for (uint64_t k = 0; k < lm_packed_blocks(&layout) && lm_packed_offset(&layout, k + 1) <= size; k++) {
        uint64_t first = lm_packed_offset(&layout, k), end = lm_packed_offset(&layout, k + 1);
        uint32_t sum = lm_packed_sum(k, file + first, (size_t)(end - first) - 8);
        for (int i = 0; i < 4; i++)
            file[end - 8 + (uint64_t)i] = (uint8_t)(sum >> 8 * i);
    }
}

static void read_blocks(struct lm_packed *packed, const char *name)
{
    const struct lm_packed_layout *layout = lm_packed_layout_of(packed);
    struct lm_error err = {0, ""};
    for (uint64_t k = 0; k < lm_packed_blocks(layout); k++) {
        uint32_t n = lm_packed_count(layout, k);
        float *x = malloc((size_t)n * LM_PIXELS * sizeof *x);
        uint8_t *label = calloc(n, 1);
        unsigned char sum[4];
        fuzz_demand(x && label && n > 0, "memory");
        lm_packed_expect(packed, k);
        int code = lm_packed_read(packed, k, x, label, sum, &err);
        fuzz_message(code, &err, name);
        for (uint32_t i = 0; i < n && code == LM_OK; i++) {
            fuzz_demand(label[i] < LM_CLASSES, "labels are classes");
            for (int p = 0; p < LM_PIXELS; p++)
                fuzz_demand(isfinite(x[(size_t)i * LM_PIXELS + (size_t)p]) != 0, "all values are finite");
        }
        free(x);
        free(label);
        if (code != LM_OK)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lm_packed *packed;
    struct lm_error err = {0, ""};
    struct lm_scaler scaler;
    char name[FUZZ_NAME], digest[LM_SHA256_HEX];
    if (size == 0)
        return 0;
    uint8_t *file = malloc(size);
    fuzz_demand(file != NULL, "memory");
    memcpy(file, data + 1, size - 1);
    mend(file, size - 1, data[0]);
    fuzz_file(file, size - 1, name);
    free(file);
    for (int p = 0; p < LM_PIXELS; p++) {
        scaler.mean[p] = 100 + p;
        scaler.scale[p] = data[0] & LARGE_SCALE ? 1e-6 : 50;
    }
    int code = lm_packed_open(name, &packed, &err);
    fuzz_message(code, &err, name);
    if (code == LM_OK) {
        fuzz_demand(lm_packed_digest(packed, digest, &err) == LM_OK, "an open file has a digest");
        code = lm_packed_set_scaler(packed, &scaler, &err);
        fuzz_message(code, &err, name);
        if (code == LM_OK)
            read_blocks(packed, name);
        lm_packed_close(packed);
    }
    return 0;
}
