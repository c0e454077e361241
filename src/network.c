/* network.c: see network.h. */
#include "network.h"

#include <stdio.h>
#include <string.h>

#include "random.h"

struct lm_layer lm_layer_of(struct lm_shape shape, int l)
{
    const size_t width[LM_LAYERS + 1] = {LM_PIXELS, shape.hidden1, shape.hidden2, LM_CLASSES};
    size_t offset = 0;
    for (int k = 0; k < l; k++)
        offset += (width[k] + 1) * width[k + 1];
    return (struct lm_layer){
        .inputs = width[l],
        .outputs = width[l + 1],
        .weights = offset,
        .biases = offset + width[l] * width[l + 1],
    };
}

size_t lm_network_floats(struct lm_shape shape)
{
    struct lm_layer last = lm_layer_of(shape, LM_LAYERS - 1);
    return last.biases + last.outputs;
}

int lm_shape_equal(struct lm_shape a, struct lm_shape b)
{
    return a.hidden1 == b.hidden1 && a.hidden2 == b.hidden2;
}

void lm_shape_text(struct lm_shape shape, char *text)
{
    snprintf(text, LM_SHAPE_TEXT, "%d-%u-%u-%d", LM_PIXELS, shape.hidden1, shape.hidden2, LM_CLASSES);
}

int lm_shape_parse(const char *text, struct lm_shape *out)
{
    char again[LM_SHAPE_TEXT];
    unsigned hidden1, hidden2;
    if (sscanf(text, "64-%3u-%3u-15", &hidden1, &hidden2) != 2)
        return 0;
    if (hidden1 < 1 || hidden1 > LM_MAX_HIDDEN || hidden2 < 1 || hidden2 > LM_MAX_HIDDEN)
        return 0;
    *out = (struct lm_shape){hidden1, hidden2};
    lm_shape_text(*out, again);
    return strcmp(text, again) == 0;
}

void lm_network_initialise(struct lm_shape shape, uint32_t seed, float range, float *parameters)
{
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer layer = lm_layer_of(shape, l);
        struct lm_mt19937 generator;
        lm_mt19937_seed(&generator, seed);
        for (size_t k = 0; k < layer.inputs * layer.outputs; k++)
            parameters[layer.weights + k] = lm_draw_uniform(&generator, -range, range);
        for (size_t i = 0; i < layer.outputs; i++)
            parameters[layer.biases + i] = 0.0f;
    }
}

void lm_network_digest(struct lm_shape shape, const float *parameters, char hex[LM_SHA256_HEX])
{
    struct lm_sha256 hash;
    size_t n = lm_network_floats(shape);
    lm_sha256_begin(&hash);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    lm_sha256_add(&hash, parameters, n * sizeof *parameters);
#else
    for (size_t k = 0; k < n; k++) {
        uint32_t word;
        memcpy(&word, &parameters[k], sizeof word);
        const unsigned char byte[4] = {word, word >> 8, word >> 16, word >> 24};
        lm_sha256_add(&hash, byte, sizeof byte);
    }
#endif
    lm_sha256_end(&hash, hex);
}
