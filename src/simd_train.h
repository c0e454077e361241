/* simd_train.h: the training step on tiles of weights, at any vector width. Included once by each simd_*.c.
 *
 * A tile (simd_layout.h) is ROWS outputs by four inputs in one vector. A multiply-add with four inputs, repeated in
 * every lane, advances the four partial sums of rule 1 of ROWS outputs. One copy of the weights serves three passes:
 *   forward   p[q] += tile[q] * inputs; two steps of sums of pairs inside the lanes turn p[0..3] into a block's sums
 *   backward  p[r] += tile[q] * deltas over the outputs: a lane of an accumulator is a partial sum of four columns
 *   update    tile[q] -= t[q] * inputs
 * A step owes its updates to the next one: there they are done in the same pass as the forward sums, one load and one
 * store a tile. So a step is three such passes and two backward sums. Layer 1's pass is more than half of it, and is
 * bound by multiply-adds and stores. The rest is a chain of short dependent sums, and that is where other work finds
 * room: the updates of layers 2 and 3, which wait for nothing, beside sums that wait for the layer before.
 *
 * The step of the default shape is to be one piece of straight code: with a loop over layer 1's blocks, whose addresses
 * GCC then keeps on the stack, AVX2 takes 22 % more time on an Intel Xeon. Hence constants everywhere (simd_layout.h),
 * and two calls of step, the first of which is owed nothing, instead of a test.
 *
 * Padding. Outputs are padded to whole blocks, inputs to whole chunks. Padded weights and biases start as +0 and stay
 * +0; padded activations and deltas are +0: these are rule 1's terms (+0)(+0), and chunks and groups beyond them are
 * not summed. That holds as long as all is finite. A training that overflows must still end in the reference's epoch,
 * and not all that overflows shows in the loss at once: ReLU hides minus infinity. So what padding could inject there
 * (infinity times a padded 0 is NaN) is masked, in two places: activations that are padding, after each hidden layer,
 * and the weights in layer 2's last chunk (after a step by an infinite t). Elsewhere the reference's own loss is not
 * finite by then: an infinite activation of layer 2, or step of layer 3, reaches every score, a padded row of layer 2
 * is spoilt only by an activation that spoils all of its column. The default shape, 64-32-16-15, has no padding in
 * either place: its instance has no masks (`masked` is a constant), as all of its sizes are constants.
 *
 * The including file defines ROWS, vec, and the operations vec_* and quad_loss (a manual of them is in simd.h).
 *
 * Tried without a gain: beginning layer 2's sums while layer 1 is under way, and with AVX2 eight sums at once in layer
 * 1 instead of four (both take the registers), updates of layers 2 and 3 right after the backward sums (10 % slower),
 * layer 2's backward sums just before each block of layer 1 instead of all before the first (8 % slower). Not tried:
 * skipping updates where a delta is 0, as half of them are. The branches would be mispredicted, and the update of a
 * weight -0 by a t of 0 can make it +0.
 */
#include <stdlib.h>
#include <string.h>

#include "simd_layout.h"

#define TILE   (4 * ROWS)             /* floats of a vector, and outputs of a block */
#define CHAINS (4 / ROWS)             /* accumulators of a column's sum */
#define CHUNK  (4 * TILE)             /* floats of the four tiles of a chunk */
#define MOST   (LM_MAX_HIDDEN / TILE) /* blocks of a layer */

/* The parameters twice: as tiles for training, and as network.h has them, for inference and the caller. */
struct network {
    struct lm_shape shape;
    struct lm_simd_layout at;
    float *tiles, *plain;
    int newest; /* which of the two: PLAIN since put(), TILES since train() */
};
enum { PLAIN, TILES };

INLINE vec block_of_sums(const vec p[4])
{
    return vec_pairs(vec_pairs(p[0], p[1]), vec_pairs(p[2], p[3]));
}

/* A layer's inputs: in memory, and from chunk `first` on in registers as well, as blocks in their own or in dealt
 * order. Repeating a lane takes less time than loading what has just been stored. */
struct inputs {
    const float *x;
    const vec *block;
    size_t first; /* NONE_HELD: all are loaded */
    int dealt;
};
#define NONE_HELD SIZE_MAX

INLINE vec input(const struct inputs *in, size_t c)
{
    if (c < in->first)
        return vec_repeat(in->x + 4 * c);
    return in->dealt ? vec_repeat_dealt(in->block[c / ROWS], c % ROWS) : vec_repeat_lane(in->block[c / ROWS], c % ROWS);
}

/* The sums of one block, w: [chunk][q], over x. tail masks the last chunk; NULL: no need. */
INLINE vec sum_block(const float *w, const struct inputs *x, size_t chunks, const float *tail)
{
    vec p[4];
    vec in = input(x, 0);
    UNROLL(4)
    for (size_t q = 0; q < 4; q++) {
        vec tile = vec_load(w + q * TILE);
        p[q] = vec_mul(tail && chunks == 1 ? vec_and(tile, vec_load(tail)) : tile, in);
    }
    vec_keep(p);
    UNROLL(8)
    for (size_t c = 1; c < chunks; c++) {
        in = input(x, c);
        UNROLL(4)
        for (size_t q = 0; q < 4; q++) {
            vec tile = vec_load(w + c * CHUNK + q * TILE);
            p[q] = vec_fma(tail && c == chunks - 1 ? vec_and(tile, vec_load(tail)) : tile, in, p[q]);
        }
        vec_keep(p);
    }
    return block_of_sums(p);
}

INLINE void update_block(float *w, float *b, const float *x, size_t chunks, vec t)
{
    vec tq[4];
    vec_spread(t, tq);
    UNROLL(4)
    for (size_t c = 0; c < chunks; c++) {
        vec in = vec_repeat(x + 4 * c);
        UNROLL(4)
        for (size_t q = 0; q < 4; q++) {
            float *tile = w + c * CHUNK + q * TILE;
            vec_store(tile, vec_fnma(tq[q], in, vec_load(tile)));
        }
    }
    vec_store(b, vec_sub(vec_load(b), t));
}

INLINE void update_and_sum_chunk(float *w, const float *last, vec in, const float *tail, const vec tq[4], vec p[4])
{
    vec before = vec_repeat(last);
    UNROLL(4)
    for (size_t q = 0; q < 4; q++) {
        vec tile = vec_fnma(tq[q], before, vec_load(w + q * TILE));
        vec_store(w + q * TILE, tile);
        p[q] = vec_fma(tail ? vec_and(tile, vec_load(tail)) : tile, in, p[q]);
    }
    vec_keep(p);
}

/* The update by the last sample's inputs and t, and the sums over the next one's inputs, in one pass over a block. */
INLINE vec update_and_sum(float *w, float *b, const float *last, const struct inputs *next, size_t chunks,
                          const float *tail, vec t)
{
    vec p[4], tq[4];
    vec_spread(t, tq);
    vec before = vec_repeat(last), in = input(next, 0);
    UNROLL(4)
    for (size_t q = 0; q < 4; q++) {
        vec tile = vec_fnma(tq[q], before, vec_load(w + q * TILE));
        vec_store(w + q * TILE, tile);
        p[q] = vec_mul(tail && chunks == 1 ? vec_and(tile, vec_load(tail)) : tile, in);
    }
    vec_keep(p);
    if (__builtin_constant_p(chunks)) {
        UNROLL(16)
        for (size_t c = 1; c < chunks; c++)
            update_and_sum_chunk(w + c * CHUNK, last + 4 * c, input(next, c), c == chunks - 1 ? tail : NULL, tq, p);
    } else {
        UNROLL(5)
        for (size_t c = 1; c < chunks; c++)
            update_and_sum_chunk(w + c * CHUNK, last + 4 * c, input(next, c), c == chunks - 1 ? tail : NULL, tq, p);
    }
    vec_store(b, vec_sub(vec_load(b), t));
    return block_of_sums(p);
}

/* Sums over a layer's outputs for ROWS chunks of its columns, w at the first of them: s[k] has chunk k's sums, still
 * one partial sum, or pair of them, a lane. d: the deltas that belong to tile [block][q]. */
INLINE void sum_columns(const float *w, size_t stride, const vec *d, size_t groups, vec s[ROWS])
{
    vec p[ROWS][CHAINS];
    UNROLL(4)
    for (size_t k = 0; k < ROWS; k++) {
        UNROLL(4)
        for (size_t r = 0; r < CHAINS; r++)
            p[k][r] = vec_mul(vec_load(w + k * CHUNK + r * TILE), d[r]);
    }
    UNROLL(4)
    for (size_t g = 1; g < groups; g++) {
        const float *group = w + g / ROWS * stride + g % ROWS * CHAINS * TILE;
        UNROLL(4)
        for (size_t k = 0; k < ROWS; k++) {
            UNROLL(4)
            for (size_t r = 0; r < CHAINS; r++)
                p[k][r] = vec_fma(vec_load(group + k * CHUNK + r * TILE), d[g * CHAINS + r], p[k][r]);
        }
    }
    UNROLL(4)
    for (size_t k = 0; k < ROWS; k++)
        s[k] = vec_chains(p[k]);
}

/* What a step leaves to the next one: its inputs and t of each layer, for the updates. */
struct owed {
    const float *x, *a1, *a2;
    vec a[MOST]; /* of no use to the next one: a1 without a mask */
    vec t1[MOST], t2[MOST], t3[CHAINS];
};

/* z of block b of a layer; with the update that is owed to it, if any is. */
INLINE vec forward_block(float *m, const struct lm_simd_layer *layer, size_t b, int is_owed, const float *last, vec t,
                         const struct inputs *next, const float *tail)
{
    float *w = m + layer->w + b * layer->stride, *bias = m + layer->b + b * TILE;
    vec sum =
        is_owed ? update_and_sum(w, bias, last, next, layer->chunks, tail, t) : sum_block(w, next, layer->chunks, tail);
    return vec_add(sum, vec_load(bias));
}

/* One step, but for its own updates: those that the last one owes, forward, backward. Returns the sample's loss. a1 and
 * a2: room for the activations, not the last step's. */
INLINE float step(float *m, const struct lm_simd_layout *at, int masked, float rate, const float *x, int label,
                  int is_owed, struct owed *o, float *a1, float *a2)
{
    const struct lm_simd_layer *l1 = &at->layer[0], *l2 = &at->layer[1], *l3 = &at->layer[2];
    const float *tail = masked ? m + at->tail : NULL;
    vec r[MOST], z2[MOST], d2q[MOST * 4], e[CHAINS], eq[CHAINS * 4], s[ROWS];
    const vec all_rate = vec_all(rate);
    const struct inputs in1 = {x, NULL, NONE_HELD, 0};
    const struct inputs in2 = {a1, o->a, masked ? NONE_HELD : (l1->blocks - 1) * ROWS, 0};
    const struct inputs in3 = {a2, r, masked ? NONE_HELD : 0, 1};

    UNROLL(8)
    for (size_t b = 0; b < l1->blocks; b++) {
        o->a[b] = vec_relu(forward_block(m, l1, b, is_owed, o->x, o->t1[b], &in1, NULL));
        vec_store(a1 + b * TILE, masked ? vec_and(o->a[b], vec_load(m + at->keep[0] + b * TILE)) : o->a[b]);
    }
    UNROLL(4)
    for (size_t b = 0; b < l2->blocks; b++) {
        z2[b] = forward_block(m, l2, b, is_owed, o->a1, o->t2[b], &in2, tail);
        r[b] = vec_relu(z2[b]);
        vec own = vec_undeal(r[b]);
        vec_store(a2 + b * TILE, masked ? vec_and(own, vec_load(m + at->keep[1] + b * TILE)) : own);
    }
    UNROLL(4)
    for (size_t b = 0; b < CHAINS; b++) {
        e[b] = vec_sub(forward_block(m, l3, b, is_owed, o->a2, o->t3[b], &in3, NULL),
                       vec_load(m + at->onehot + label * 16 + b * TILE));
        vec_spread(e[b], eq + 4 * b);
        vec_store(m + at->e + b * TILE, vec_undeal(e[b]));
        o->t3[b] = vec_mul(all_rate, e[b]);
    }
    UNROLL(4)
    for (size_t b = 0; b < l2->blocks; b++) {
        sum_columns(m + l3->w + b * ROWS * CHUNK, l3->stride, eq, 4, s);
        vec delta = vec_where_positive(z2[b], vec_join_dealt(s));
        vec_spread(delta, d2q + 4 * b);
        o->t2[b] = vec_mul(all_rate, delta);
    }
    UNROLL(8)
    for (size_t b = 0; b < l1->blocks; b++) {
        sum_columns(m + l2->w + b * ROWS * CHUNK, l2->stride, d2q, (l2->outputs + 3) / 4, s);
        o->t1[b] = vec_mul(all_rate, vec_where_positive(o->a[b], vec_join(s)));
    }
    o->x = x;
    o->a1 = a1;
    o->a2 = a2;
    return quad_loss(m + at->e);
}

INLINE void pay_layer(float *m, const struct lm_simd_layer *layer, const float *x, const vec *t)
{
    for (size_t b = 0; b < layer->blocks; b++)
        update_block(m + layer->w + b * layer->stride, m + layer->b + b * TILE, x, layer->chunks, t[b]);
}

/* The updates that are still owed after a last step. */
INLINE void pay(float *m, const struct lm_simd_layout *at, const struct owed *o)
{
    pay_layer(m, &at->layer[0], o->x, o->t1);
    pay_layer(m, &at->layer[1], o->a1, o->t2);
    pay_layer(m, &at->layer[2], o->a2, o->t3);
}

/* Two steps ahead, not one: a step is shorter than the way from memory (AVX2 3 % faster where others fill the caches).
 */
INLINE void prefetch_row(const float *x)
{
    for (int line = 0; line < LM_PIXELS; line += 16)
        __builtin_prefetch(x + line);
}

/* A part of an epoch. Nothing is owed between two calls. */
INLINE double train_at(float *m, const struct lm_simd_layout *at, int masked, float rate,
                       const struct lm_samples *samples, const uint32_t *index, size_t n, double loss_sum)
{
    const size_t room1 = at->layer[0].blocks * TILE, room2 = at->layer[1].blocks * TILE;
    struct owed o = {.x = NULL};
    if (n == 0)
        return loss_sum;
    loss_sum += step(m, at, masked, rate, samples->x + (size_t)index[0] * LM_PIXELS, samples->label[index[0]], 0, &o,
                     m + at->a[0], m + at->a[1]);
    for (size_t k = 1; k < n; k++) {
        prefetch_row(samples->x + (size_t)index[k + 2 < n ? k + 2 : k] * LM_PIXELS);
        loss_sum += step(m, at, masked, rate, samples->x + (size_t)index[k] * LM_PIXELS, samples->label[index[k]], 1,
                         &o, m + at->a[0] + k % 2 * room1, m + at->a[1] + k % 2 * room2);
    }
    pay(m, at, &o);
    return loss_sum;
}

static double train_default(float *m, float rate, const struct lm_samples *samples, const uint32_t *index, size_t n,
                            double loss_sum)
{
    const struct lm_simd_layout at = lm_simd_layout_of((struct lm_shape){32, 16}, ROWS);
    return train_at(m, &at, 0, rate, samples, index, n, loss_sum);
}

static double train_any(float *m, const struct lm_simd_layout *at, float rate, const struct lm_samples *samples,
                        const uint32_t *index, size_t n, double loss_sum)
{
    return train_at(m, at, 1, rate, samples, index, n, loss_sum);
}

static double train(void *state, float rate, const struct lm_samples *samples, const uint32_t *index, size_t n,
                    double loss_sum)
{
    struct network *net = state;
    if (net->newest == PLAIN)
        lm_simd_put(&net->at, net->tiles, net->plain);
    net->newest = TILES;
    if (net->shape.hidden1 == 32 && net->shape.hidden2 == 16)
        return train_default(net->tiles, rate, samples, index, n, loss_sum);
    return train_any(net->tiles, &net->at, rate, samples, index, n, loss_sum);
}

static void end(void *state)
{
    struct network *net = state;
    if (net) {
        free(net->tiles);
        free(net->plain);
    }
    free(net);
}

static void *begin(struct lm_shape shape)
{
    struct network *net = calloc(1, sizeof *net);
    if (!net)
        return NULL;
    net->shape = shape;
    net->at = lm_simd_layout_of(shape, ROWS);
    net->tiles = aligned_alloc(64, lm_simd_divide_up(net->at.floats * sizeof(float), 64) * 64);
    net->plain = calloc(lm_network_floats(shape), sizeof(float));
    if (!net->tiles || !net->plain) {
        end(net);
        return NULL;
    }
    lm_simd_prepare(&net->at, net->tiles);
    return net;
}

static void put(void *state, const float *parameters)
{
    struct network *net = state;
    memcpy(net->plain, parameters, lm_network_floats(net->shape) * sizeof *parameters);
    net->newest = PLAIN;
}

static void get(const void *state, float *parameters)
{
    const struct network *net = state;
    if (net->newest == PLAIN)
        memcpy(parameters, net->plain, lm_network_floats(net->shape) * sizeof *parameters);
    else
        lm_simd_get(&net->at, net->tiles, parameters);
}

static const float *plain_parameters(struct network *net)
{
    if (net->newest == TILES)
        lm_simd_get(&net->at, net->tiles, net->plain);
    return net->plain;
}
