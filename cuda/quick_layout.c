/* quick_layout.c: see quick_layout.h. */
#include "quick_layout.h"

#include <string.h>

/* Rows of a layer of n inputs for two lanes each. */
static void pack_halves(const float *from, uint32_t rows, uint32_t n, float *to)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint32_t place = lm_quick_place(j, n), lane = i + place / (n / 2) * 16, k = place % (n / 2);
            to[k / 4 * 128 + lane * 4 + k % 4] = from[i * n + j];
        }
}

void lm_quick_pack(const float *parameters, float *packed)
{
    const struct lm_shape lab = {32, 16};
    const struct lm_layer l1 = lm_layer_of(lab, 0), l2 = lm_layer_of(lab, 1), l3 = lm_layer_of(lab, 2);
    memset(packed, 0, LM_QUICK_FLOATS * sizeof *packed);
    for (uint32_t i = 0; i < 32; i++)
        for (uint32_t j = 0; j < LM_PIXELS; j++)
            packed[LM_QUICK_W1 + j / 4 * 128 + i * 4 + j % 4] = parameters[l1.weights + i * LM_PIXELS + j];
    pack_halves(parameters + l2.weights, 16, 32, packed + LM_QUICK_W2);
    pack_halves(parameters + l3.weights, LM_CLASSES, 16, packed + LM_QUICK_W3);
    memcpy(packed + LM_QUICK_B1, parameters + l1.biases, 32 * sizeof *packed);
    memcpy(packed + LM_QUICK_B2, parameters + l2.biases, 16 * sizeof *packed);
    memcpy(packed + LM_QUICK_B3, parameters + l3.biases, LM_CLASSES * sizeof *packed);
}
