/* layout.c: see layout.h. */
#include "layout.h"

#include <string.h>

static uint32_t pitch_of(uint32_t inputs)
{
    uint32_t pitch = LM_ROUND4(inputs);
    return pitch / 4 % 2 ? pitch : pitch + 4;
}

struct lm_gpu_layout lm_gpu_layout_of(struct lm_shape shape)
{
    struct lm_gpu_layout layout = {.floats = 0};
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer from = lm_layer_of(shape, l);
        struct lm_gpu_layer *to = &layout.layer[l];
        to->inputs = (uint32_t)from.inputs;
        to->outputs = (uint32_t)from.outputs;
        to->pitch = pitch_of(to->inputs);
        to->weights = layout.floats;
        to->biases = to->weights + LM_ROUND4(to->outputs) * to->pitch;
        layout.floats = to->biases + LM_ROUND4(to->outputs);
    }
    return layout;
}

void lm_gpu_pack(struct lm_shape shape, const float *parameters, float *packed)
{
    struct lm_gpu_layout layout = lm_gpu_layout_of(shape);
    memset(packed, 0, layout.floats * sizeof *packed);
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer from = lm_layer_of(shape, l);
        struct lm_gpu_layer to = layout.layer[l];
        for (uint32_t i = 0; i < to.outputs; i++)
            memcpy(packed + to.weights + i * to.pitch, parameters + from.weights + i * from.inputs,
                   from.inputs * sizeof *packed);
        memcpy(packed + to.biases, parameters + from.biases, from.outputs * sizeof *packed);
    }
}

void lm_gpu_unpack(struct lm_shape shape, const float *packed, float *parameters)
{
    struct lm_gpu_layout layout = lm_gpu_layout_of(shape);
    for (int l = 0; l < LM_LAYERS; l++) {
        struct lm_layer to = lm_layer_of(shape, l);
        struct lm_gpu_layer from = layout.layer[l];
        for (uint32_t i = 0; i < from.outputs; i++)
            memcpy(parameters + to.weights + i * to.inputs, packed + from.weights + i * from.pitch,
                   to.inputs * sizeof *packed);
        memcpy(parameters + to.biases, packed + from.biases, to.outputs * sizeof *packed);
    }
}
