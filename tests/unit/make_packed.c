/* make_packed OUT.pack u8|f32 SAMPLES BLOCK labels|none: a packed file of made-up grey values, quickly and of any size,
 * for tests of the program. The values depend on the number of the sample alone: files with other blocks have the same
 * ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packed.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static void fill(const struct lm_packed_layout *layout, uint64_t first, uint32_t n, void *pixel, uint8_t *label)
{
    for (uint32_t i = 0; i < n; i++) {
        for (size_t p = 0; p < LM_PIXELS; p++) {
            unsigned grey = (unsigned)(mix((first + i) * LM_PIXELS + p) >> 56);
            size_t at = (size_t)i * LM_PIXELS + p;
            if (layout->type == LM_PACKED_U8)
                ((uint8_t *)pixel)[at] = (uint8_t)grey;
            else
                ((float *)pixel)[at] = (float)grey;
        }
        label[i] = (uint8_t)((first + i) % LM_CLASSES);
    }
}

int main(int argc, char **argv)
{
    struct lm_packed_writer *writer = NULL;
    struct lm_error err;
    if (argc != 6) {
        fprintf(stderr, "make_packed OUT.pack u8|f32 SAMPLES BLOCK labels|none\n");
        return 2;
    }
    struct lm_packed_layout layout = {.type = strcmp(argv[2], "u8") == 0 ? LM_PACKED_U8 : LM_PACKED_F32,
                                      .samples = strtoull(argv[3], NULL, 10),
                                      .block = (uint32_t)strtoul(argv[4], NULL, 10),
                                      .labelled = strcmp(argv[5], "labels") == 0};
    int code = lm_packed_create(argv[1], &layout, 1, &writer, &err);
    if (code == LM_OK) {
        void *pixel = malloc((size_t)layout.block * LM_PIXELS * sizeof(float));
        uint8_t *label = malloc(layout.block);
        for (uint64_t k = 0; k < lm_packed_blocks(&layout) && code == LM_OK; k++) {
            fill(&layout, k * layout.block, lm_packed_count(&layout, k), pixel, label);
            code = lm_packed_put(writer, k, pixel, label, &err);
        }
        free(pixel);
        free(label);
        if (code == LM_OK)
            code = lm_packed_finish(writer, &err);
        else
            lm_packed_abandon(writer);
    }
    if (code != LM_OK)
        fprintf(stderr, "make_packed: %s\n", err.text);
    return code;
}
