/* simd_layout.c: see simd_layout.h. Nothing here is hot: a training calls it twice. */
#include "simd_layout.h"

#include <string.h>

/* Where output i of layer l lies: its block, and the element of that block's vectors. */
struct place {
    size_t block, lane, q;
};

static struct place place_of(size_t rows, int l, size_t i)
{
    size_t chains = 4 / rows, group = i / 4, residue = i % 4;
    if (l == 0)
        return (struct place){i / (4 * rows), i % (4 * rows) / 4, i % 4};
    return (struct place){group / rows, residue / chains, chains * (group % rows) + residue % chains};
}

static size_t weight_at(const struct lm_simd_layout *at, int l, size_t i, size_t j)
{
    const struct lm_simd_layer *layer = &at->layer[l];
    struct place p = place_of(at->rows, l, i);
    size_t tile = j / 4 * 4 + p.q;
    return layer->w + p.block * layer->stride + tile * 4 * at->rows + 4 * p.lane + j % 4;
}

static size_t bias_at(const struct lm_simd_layout *at, int l, size_t i)
{
    struct place p = place_of(at->rows, l, i);
    return at->layer[l].b + p.block * 4 * at->rows + 4 * p.lane + p.q;
}

static void set_all_bits(float *word, int on)
{
    const uint32_t bits = on ? UINT32_MAX : 0;
    memcpy(word, &bits, sizeof bits);
}

static void fill_masks(const struct lm_simd_layout *at, float *memory)
{
    size_t block = 4 * at->rows;
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < at->layer[l].blocks * block; i++)
            set_all_bits(memory + at->keep[l] + i, i < at->layer[l].outputs);
    for (size_t k = 0; k < block; k++)
        set_all_bits(memory + at->tail + k, 4 * (at->layer[1].chunks - 1) + k % 4 < at->layer[1].inputs);
}

void lm_simd_prepare(const struct lm_simd_layout *at, float *memory)
{
    memset(memory, 0, at->floats * sizeof *memory);
    fill_masks(at, memory);
    size_t first = at->layer[2].b; /* a row of one-hot is laid out as the last layer's biases */
    for (size_t label = 0; label < LM_CLASSES; label++)
        memory[at->onehot + label * 16 + bias_at(at, 2, label) - first] = 1.0f;
}

void lm_simd_put(const struct lm_simd_layout *at, float *memory, const float *parameters)
{
    for (int l = 0; l < LM_LAYERS; l++) {
        for (size_t i = 0; i < at->layer[l].outputs; i++)
            for (size_t j = 0; j < at->layer[l].inputs; j++)
                memory[weight_at(at, l, i, j)] = *parameters++;
        for (size_t i = 0; i < at->layer[l].outputs; i++)
            memory[bias_at(at, l, i)] = *parameters++;
    }
}

void lm_simd_get(const struct lm_simd_layout *at, const float *memory, float *parameters)
{
    for (int l = 0; l < LM_LAYERS; l++) {
        for (size_t i = 0; i < at->layer[l].outputs; i++)
            for (size_t j = 0; j < at->layer[l].inputs; j++)
                *parameters++ = memory[weight_at(at, l, i, j)];
        for (size_t i = 0; i < at->layer[l].outputs; i++)
            *parameters++ = memory[bias_at(at, l, i)];
    }
}
