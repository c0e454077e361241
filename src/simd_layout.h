/* simd_layout.h: how a network lies in memory for simd_train.h, at `rows` lanes of four floats a vector.
 *
 * A tile is one vector: lane l holds four neighbouring weights of one output. Four tiles, q = 0 ... 3, make a block of
 * 4 rows outputs. A layer is [block][chunk of four inputs][q][vector], its biases [block][vector]. Everything is one
 * array of floats, and the layout is offsets into it.
 *
 * Where is output i? With chains = 4 / rows:
 *   layer 1        block i / (4 rows), lane i % (4 rows) / 4, q = i % 4: sums come out in their own order
 *   layers 2, 3    with group g = i / 4 and residue i % 4: block g / rows, lane residue / chains,
 *                  q = chains (g % rows) + residue % chains. So lane and q % chains fix the residue, and a backward sum
 *                  keeps each of rule 1's four partial sums in one lane of one accumulator. "Dealt" order.
 * A vector with one element an output (biases, sums, deltas) has it in element 4 lane + q.
 */
#ifndef LM_SIMD_LAYOUT_H
#define LM_SIMD_LAYOUT_H

#include "network.h"

struct lm_simd_layer {
    size_t outputs, blocks; /* real outputs; blocks they fill */
    size_t inputs, chunks;  /* real inputs; chunks of four that they fill */
    size_t stride;          /* floats from block to block: a few zero chunks may lie between */
    size_t w, b;            /* offsets */
};

struct lm_simd_layout {
    size_t rows;
    struct lm_simd_layer layer[LM_LAYERS];
    size_t onehot;  /* (15, 16), each row in dealt order */
    size_t a[2];    /* activations of layers 1 and 2 in their own order, whole blocks; this step's and the last one's */
    size_t keep[2]; /* masks (all bits or none) of whole blocks: which of them are no padding */
    size_t tail;    /* a vector: which inputs of layer 2's last chunk are no padding */
    size_t e;       /* (16): the last layer's delta in its own order */
    size_t floats;  /* in all */
};

static inline size_t lm_simd_divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static inline __attribute__((always_inline)) struct lm_simd_layer lm_simd_layer_of(size_t inputs, size_t outputs,
                                                                                   size_t rows, size_t w)
{
    const size_t block = 4 * rows, blocks = lm_simd_divide_up(outputs, block), chunks = lm_simd_divide_up(inputs, 4);
    /* A backward pass takes `rows` chunks at a time. */
    const size_t stride = lm_simd_divide_up(chunks, rows) * rows * 4 * block;
    return (struct lm_simd_layer){outputs, blocks, inputs, chunks, stride, w, w + blocks * stride};
}

/* A function of constants is a constant: inlined where the shape is known. It has no loop, so that a compiler knows the
 * constants before it decides which loops of the step it unrolls (with one, GCC left most of them as loops). */
static inline __attribute__((always_inline)) struct lm_simd_layout lm_simd_layout_of(struct lm_shape shape, size_t rows)
{
    const size_t block = 4 * rows;
    struct lm_simd_layout at = {.rows = rows};
    at.layer[0] = lm_simd_layer_of(LM_PIXELS, shape.hidden1, rows, 0);
    const size_t padded1 = at.layer[0].blocks * block;
    at.layer[1] = lm_simd_layer_of(shape.hidden1, shape.hidden2, rows, at.layer[0].b + padded1);
    const size_t padded2 = at.layer[1].blocks * block;
    at.layer[2] = lm_simd_layer_of(shape.hidden2, LM_CLASSES, rows, at.layer[1].b + padded2);
    at.onehot = at.layer[2].b + at.layer[2].blocks * block;
    at.e = at.onehot + LM_CLASSES * 16;
    at.a[0] = at.e + 16;
    at.keep[0] = at.a[0] + 2 * padded1;
    at.a[1] = at.keep[0] + padded1;
    at.keep[1] = at.a[1] + 2 * padded2;
    at.tail = at.keep[1] + padded2;
    at.floats = at.tail + block;
    return at;
}

/* Zeroes the memory (at.floats floats) and fills in masks and one-hot rows. */
void lm_simd_prepare(const struct lm_simd_layout *at, float *memory);
/* Parameters as network.h lays them out, in and out. */
void lm_simd_put(const struct lm_simd_layout *at, float *memory, const float *parameters);
void lm_simd_get(const struct lm_simd_layout *at, const float *memory, float *parameters);

#endif
