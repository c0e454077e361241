/* network.h: the shape of a network and how its parameters lie in memory.
 *
 * 64 -> hidden1 ReLU -> hidden2 ReLU -> 15 linear. The parameters are one array of floats, without padding:
 *   w1 (hidden1, 64), b1 (hidden1), w2 (hidden2, hidden1), b2 (hidden2), w3 (15, hidden2), b3 (15)
 * row-major, w[output][input]. That array is what is initialised, stored, hashed, sent and compared; a backend may keep
 * its own copy in any layout.
 */
#ifndef LM_NETWORK_H
#define LM_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"
#include "sha256.h"

#define LM_MAX_HIDDEN 128
#define LM_LAYERS     3

struct lm_shape {
    uint32_t hidden1, hidden2; /* 1 to LM_MAX_HIDDEN */
};

/* Where layer l (0, 1, 2) lies in the parameter array. */
struct lm_layer {
    size_t inputs, outputs;
    size_t weights; /* offset of w, (outputs, inputs) */
    size_t biases;  /* offset of b, (outputs) */
};

struct lm_layer lm_layer_of(struct lm_shape shape, int l);
size_t lm_network_floats(struct lm_shape shape); /* 2,863 for 64-32-16-15 */
int lm_shape_equal(struct lm_shape a, struct lm_shape b);

/* "64-32-16-15" into text, at least LM_SHAPE_TEXT bytes. */
#define LM_SHAPE_TEXT 32
void lm_shape_text(struct lm_shape shape, char *text);
/* The inverse; 0 if text is no such shape. */
int lm_shape_parse(const char *text, struct lm_shape *out);

/* The lab's start: each layer's weights from a fresh mt19937(seed), uniform in [-range, range), row by row; biases 0.
 */
void lm_network_initialise(struct lm_shape shape, uint32_t seed, float range, float *parameters);

/* SHA-256 of the parameters as little-endian IEEE 754 words. */
void lm_network_digest(struct lm_shape shape, const float *parameters, char hex[LM_SHA256_HEX]);

#endif
