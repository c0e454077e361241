/* simd_train.h: the training step on tiles, at any vector width. Included once by each simd_*.c; see simd.h.
 *
 * A vector has ROWS (1, 2 or 4) lanes of four floats. A weight tile is one vector: lane l holds four neighbouring
 * weights of one output, so a multiply-add with four inputs repeated in every lane advances the four partial sums of
 * rule 1 of ROWS outputs. Four tiles, q = 0 ... 3, make a block of 4 ROWS outputs; a layer lies in memory as
 * [block][chunk of four inputs][q][vector], which is the order in which all three passes walk through it:
 *   forward   p[q] += tile[q] * inputs; two steps of pairwise sums inside the lanes turn p[0..3] into the block's sums
 *   backward  the sum runs over outputs, so an output's residue modulo 4 must say which accumulator it goes to: layers
 *             2 and 3 deal their outputs so that lane and q mod (4 / ROWS) determine it (row_of)
 *   update    tile[q] -= t[q] * inputs
 * One copy of the weights serves all three. Layer 1 needs no backward pass: its update is fused with the next sample's
 * forward pass, one load and one store a tile, and its outputs are dealt so that sums come out in their own order.
 *
 * Padding. Outputs are padded to whole blocks, inputs to whole chunks. Padded weights and biases start as +0 and stay
 * +0, padded activations and deltas are +0: these are rule 1's terms (+0)(+0). That holds as long as all is finite. A
 * training that overflows has to end in the same epoch as the reference's, so the general instance masks what padding
 * could inject (infinity times a padded 0 is NaN): activations after each layer, the last chunk of a forward pass, the
 * last group of a backward pass. In 64-32-16-15 only output 15 of the last layer is padding, and an activation that is
 * not finite makes every score, and so the loss, not finite in the reference as well: it needs no mask.
 *
 * The including file defines ROWS, vec, vec_keep(p) and the vec_*, quad_* operations used below.
 *
 * Left out, since it gained nothing: forward sums of layer 2 begun while layer 1 is under way (it takes the registers),
 * activations kept in registers between layers, updates deferred over two samples (they cost the multiply-adds that
 * they save in stores), updates skipped where a delta is 0 (mispredicted, and a weight -0 would have to become +0).
 */
#include <stdlib.h>
#include <string.h>

#include "simd_layout.h"

#define TILE (4 * ROWS)      /* floats of a vector */
#define BLOCK (4 * ROWS)     /* outputs of a block */
#define CHUNK_STRIDE (4 * TILE)
#define CHAINS (4 / ROWS)    /* accumulators of a backward sum: CHAINS vectors of ROWS partial sums */
#define MAX_BLOCKS (LM_MAX_HIDDEN / BLOCK)

/* The weights' last touch is far from the compiler's view; without this it keeps all sums of a loop for its end. */

struct network {
    struct lm_simd_layout at; /* a copy: the default shape's instance uses constants instead */
    struct lm_shape shape;
    float *memory; /* everything that `at` points into */
};

INLINE vec tile_mask(vec w, const float *mask)
{
    return vec_and(w, vec_load(mask));
}

/* The sums of one block: w [chunk][q], x (4 chunks). tail masks the last chunk, NULL where inputs fill it. */
INLINE vec block_sums(const float *w, const float *x, size_t chunks, const float *tail)
{
    vec p[4];
    vec in = vec_repeat(x);
    UNROLL(4)
    for (int q = 0; q < 4; q++) {
        vec tile = vec_load(w + q * TILE);
        p[q] = vec_mul(tail && chunks == 1 ? tile_mask(tile, tail) : tile, in);
    }
    vec_keep(p);
    UNROLL(8)
    for (size_t c = 1; c < chunks; c++) {
        in = vec_repeat(x + 4 * c);
        UNROLL(4)
        for (int q = 0; q < 4; q++) {
            vec tile = vec_load(w + c * CHUNK_STRIDE + q * TILE);
            p[q] = vec_fma(tail && c == chunks - 1 ? tile_mask(tile, tail) : tile, in, p[q]);
        }
        vec_keep(p);
    }
    return vec_pairs(vec_pairs(p[0], p[1]), vec_pairs(p[2], p[3]));
}

INLINE void update_block(float *w, float *b, const float *x, size_t chunks, vec t)
{
    vec tq[4];
    vec_spread(t, tq);
    UNROLL(4)
    for (size_t c = 0; c < chunks; c++) {
        vec in = vec_repeat(x + 4 * c);
        UNROLL(4)
        for (int q = 0; q < 4; q++) {
            float *tile = w + c * CHUNK_STRIDE + q * TILE;
            vec_store(tile, vec_fnma(tq[q], in, vec_load(tile)));
        }
    }
    vec_store(b, vec_sub(vec_load(b), t));
}

/* Layer 1: the last sample's update and the next sample's sums, in one pass. Returns z. */
INLINE vec update_and_sum(float *w, float *b, const float *last, const float *next, vec t)
{
    vec p[4], tq[4];
    vec_spread(t, tq);
    vec old = vec_repeat(last), in = vec_repeat(next);
    UNROLL(4)
    for (int q = 0; q < 4; q++) {
        vec tile = vec_fnma(tq[q], old, vec_load(w + q * TILE));
        vec_store(w + q * TILE, tile);
        p[q] = vec_mul(tile, in);
    }
    vec_keep(p);
    UNROLL(3)
    for (size_t c = 1; c < LM_PIXELS / 4; c++) {
        old = vec_repeat(last + 4 * c);
        in = vec_repeat(next + 4 * c);
        UNROLL(4)
        for (int q = 0; q < 4; q++) {
            float *at = w + c * CHUNK_STRIDE + q * TILE;
            vec tile = vec_fnma(tq[q], old, vec_load(at));
            vec_store(at, tile);
            p[q] = vec_fma(tile, in, p[q]);
        }
        vec_keep(p);
    }
    vec bias = vec_sub(vec_load(b), t);
    vec_store(b, bias);
    return vec_add(vec_pairs(vec_pairs(p[0], p[1]), vec_pairs(p[2], p[3])), bias);
}

/* Backward sums of ROWS chunks of columns, from chunk `first` on: s[k] is chunk first + k. d is delta by [block][q],
 * repeated; stride is a block's. last masks the tiles of the last group, NULL where outputs fill it. */
INLINE void column_sums(const float *w, size_t stride, size_t first, const vec *d, size_t groups, const float *last,
                        vec *s)
{
    vec p[ROWS][CHAINS];
    UNROLL(4)
    for (size_t g = 0; g < groups; g++) {
        const float *block = w + g / ROWS * stride + first * CHUNK_STRIDE;
        UNROLL(4)
        for (int k = 0; k < ROWS; k++)
            UNROLL(4)
        for (int r = 0; r < CHAINS; r++) {
            size_t q = g % ROWS * CHAINS + (size_t)r;
            vec tile = vec_load(block + k * CHUNK_STRIDE + q * TILE);
            if (last && g == groups - 1)
                tile = tile_mask(tile, last + r * TILE);
            p[k][r] = g == 0 ? vec_mul(tile, d[q]) : vec_fma(tile, d[g / ROWS * 4 + q], p[k][r]);
        }
    }
    UNROLL(4)
    for (int k = 0; k < ROWS; k++)
        s[k] = vec_chains(p[k]);
}
