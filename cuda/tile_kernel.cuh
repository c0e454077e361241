/* tile_kernel.cuh: scoring millions of samples with one network of the lab's shape: `tile`.
 *
 * Inference is three products of a tall matrix with a small one, 2,816 multiply-adds and 316 bytes a sample: on a large
 * GPU the multiply-adds take longer than the memory. So a warp takes 64 samples, and a lane 8 samples x 8 neurons of
 * layer 1 (4 x 8 of the others): from 16 numbers that it reads from shared memory it makes 64 multiply-adds. Rule 1's
 * four partial sums are made one after the other, each over all 64 outputs; (p0 + p1) waits in shared memory, where its
 * pixels lay, so two sets of sums are alive at most.
 *
 * Samples lie transposed in shared memory, a row a pixel, x[j][q], with four words to spare behind four rows: a warp
 * that stores pixels of four samples, or reads four samples of one pixel, meets different banks. Activations, and then
 * the scores, take the pixels' rows. Place q is sample q / 4 + 16 (q mod 4): a lane's four places of layer 3 are then
 * samples 16 apart, whose scores (15 words each) it stores into different banks than its neighbours.
 *
 * The code is kept short: warps work at different places of it, and written out (85 KB) twelve of them waited for
 * instructions a quarter of the time. So the sums are loops of two terms, layers 2 and 3 are the same
 * code, and what a term needs from shared memory is asked for a term ahead. Half of the next samples' pixels is asked
 * for before layer 2, and stored where layer 1's activations lay; the other half before layer 3. Tried, and slower:
 * cp.async, word by word, for the transposition; twelve warps with 168 registers each; prefetches into the L2 cache.
 */
#ifndef LM_TILE_KERNEL_CUH
#define LM_TILE_KERNEL_CUH

#include "arithmetic.cuh"
#include "replica.h"

#define LM_TILE_SAMPLES 64 /* a warp */
#define LM_TILE_WARPS   8  /* of a block, at most: 255 registers a lane */

/* Shared memory: the weights by columns, then a tile for each warp. */
struct lm_tile_weights {
    float w1[64 * 32], w2[32 * 16], w3[16 * 16];
    float b1[32], b2[16], b3[16];
};

/* Four rows of a tile of pixels, and four words to spare: so that pixels 4 j lie in different banks. */
#define LM_TILE_ROWS4        (4 * LM_TILE_SAMPLES + 4)
#define LM_TILE_FLOATS       (LM_PIXELS / 4 * LM_TILE_ROWS4)
#define LM_TILE_BYTES(warps) (sizeof(struct lm_tile_weights) + (warps)*LM_TILE_FLOATS * sizeof(float))
/* Rows of a tile behind layer 1: its activations, those of layer 2, the scores. */
#define LM_TILE_HIDDEN2 (LM_TILE_FLOATS / 2)
#define LM_TILE_SCORES  (LM_TILE_HIDDEN2 + 16 * LM_TILE_SAMPLES)

/* ---- from the memory of the device ---- */

__device__ __forceinline__ void lm_tile_stage(struct lm_tile_weights &m, const struct lm_gpu_tile &t)
{
    const struct lm_gpu_layer *layer = t.layout.layer;
    for (uint32_t k = threadIdx.x; k < 64 * 32; k += blockDim.x)
        m.w1[k] = t.parameters[layer[0].weights + k % 32 * layer[0].pitch + k / 32];
    for (uint32_t k = threadIdx.x; k < 32 * 16; k += blockDim.x)
        m.w2[k] = t.parameters[layer[1].weights + k % 16 * layer[1].pitch + k / 16];
    for (uint32_t k = threadIdx.x; k < 16 * 16; k += blockDim.x) /* row 15 is padding: +0 */
        m.w3[k] = t.parameters[layer[2].weights + k % 16 * layer[2].pitch + k / 16];
    for (uint32_t k = threadIdx.x; k < 32; k += blockDim.x)
        m.b1[k] = t.parameters[layer[0].biases + k];
    for (uint32_t k = threadIdx.x; k < 16; k += blockDim.x) {
        m.b2[k] = t.parameters[layer[1].biases + k];
        m.b3[k] = t.parameters[layer[2].biases + k];
    }
}

/* Four pixels, from 4 (lane mod 8) + 32 half on, of the sample at place 4 k + lane / 8. */
__device__ __forceinline__ void lm_tile_put(float *x, float4 v, uint32_t k, uint32_t half, uint32_t lane)
{
    float *to = x + (8 * half + lane % 8) * LM_TILE_ROWS4 + lane / 8 + 4 * k;
    to[0] = v.x;
    to[LM_TILE_SAMPLES] = v.y;
    to[2 * LM_TILE_SAMPLES] = v.z;
    to[3 * LM_TILE_SAMPLES] = v.w;
}

/* A lane's share of half of the pixels of 64 samples, on its way: while it is, the lane's sums have no need of these
 * registers. */
struct lm_tile_half {
    float4 v[LM_TILE_SAMPLES / 4];
};

__device__ __forceinline__ void lm_tile_ask(struct lm_tile_half &next, const struct lm_gpu_tile &t, size_t first,
                                            uint32_t half, uint32_t lane)
{
    const float *from = t.x + (first + lane / 8 * 16) * LM_PIXELS + 32 * half + lane % 8 * 4;
    LM_UNROLL
    for (uint32_t k = 0; k < LM_TILE_SAMPLES / 4; k++)
        next.v[k] = lm_load4_now(from + k * LM_PIXELS);
}

__device__ __forceinline__ void lm_tile_put_half(float *x, const struct lm_tile_half &next, uint32_t half,
                                                 uint32_t lane)
{
    LM_UNROLL
    for (uint32_t k = 0; k < LM_TILE_SAMPLES / 4; k++)
        lm_tile_put(x, next.v[k], k, half, lane);
}

/* 64 samples, or fewer, from row `first` on into x: rows behind the last are the last again. */
__device__ __forceinline__ void lm_tile_fetch_some(float *x, const struct lm_gpu_tile &t, size_t first, uint32_t lane)
{
    const size_t row = first + lane / 8 * 16;
    LM_UNROLL_BY(1)
    for (uint32_t k = 0; k < LM_TILE_SAMPLES / 4; k++) {
        const float *from = t.x + (row + k < t.n ? row + k : t.n - 1) * LM_PIXELS + lane % 8 * 4;
        lm_tile_put(x, lm_load4(from), k, 0, lane);
        lm_tile_put(x, lm_load4(from + 32), k, 1, lane);
    }
}

/* ---- sums ---- */

template <int S> __device__ __forceinline__ void lm_tile_set(float (*p)[8], float v)
{
    LM_UNROLL
    for (int s = 0; s < S; s++)
        LM_UNROLL
    for (int i = 0; i < 8; i++)
        p[s][i] = v;
}

template <int S> __device__ __forceinline__ void lm_tile_add(float (*p)[8], const float (*q)[8])
{
    LM_UNROLL
    for (int s = 0; s < S; s++)
        LM_UNROLL
    for (int i = 0; i < 8; i++)
        p[s][i] = __fadd_rn(p[s][i], q[s][i]);
}

__device__ __forceinline__ void lm_tile_four(float *v, const float *from)
{
    const float4 u = lm_load4(from);
    v[0] = u.x;
    v[1] = u.y;
    v[2] = u.z;
    v[3] = u.w;
}

/* What one term of S samples and 8 neurons is made of. */
template <int S> struct lm_tile_operands {
    float v[S], u[8];
};

/* The next four samples lie 32 places behind the first. */
template <int S>
__device__ __forceinline__ void lm_tile_take(struct lm_tile_operands<S> &o, const float *x, const float *w)
{
    LM_UNROLL
    for (int s = 0; s < S; s += 4)
        lm_tile_four(o.v + s, x + 8 * s);
    lm_tile_four(o.u, w);
    lm_tile_four(o.u + 4, w + 4);
}

/* One term. To and fro, so that neighbouring multiply-adds share an operand. */
template <int S> __device__ __forceinline__ void lm_tile_term(float (*p)[8], const struct lm_tile_operands<S> &o)
{
    LM_UNROLL
    for (int s = 0; s < S; s++)
        LM_UNROLL
    for (int k = 0; k < 8; k++) {
        const int i = s % 2 ? 7 - k : k;
        p[s][i] = lm_term(o.u[i], o.v[s], p[s][i]);
    }
}

/* A partial sum of layer 1: every fourth row from x on. What a term needs is asked for a term ahead: `o` is the first
 * one's, and becomes the first one's of the rows from next_x on. */
__device__ __forceinline__ void lm_tile_partial1(float (*p)[8], struct lm_tile_operands<8> &o, const float *x,
                                                 const float *w, const float *next_x, const float *next_w)
{
    struct lm_tile_operands<8> ahead;
    lm_tile_set<8>(p, LM_NO_TERM);
    x += LM_TILE_ROWS4;
    w += 128;
    lm_tile_take<8>(ahead, x, w);
    lm_tile_term<8>(p, o);
    LM_UNROLL_BY(1)
    for (uint32_t m = 1; m < LM_PIXELS / 4 - 1; m += 2) {
        lm_tile_take<8>(o, x + m * LM_TILE_ROWS4, w + m * 128);
        lm_tile_term<8>(p, ahead);
        lm_tile_take<8>(ahead, x + (m + 1) * LM_TILE_ROWS4, w + (m + 1) * 128);
        lm_tile_term<8>(p, o);
    }
    lm_tile_take<8>(o, next_x, next_w);
    lm_tile_term<8>(p, ahead);
}

/* Four terms of layers 2 and 3. */
__device__ __forceinline__ void lm_tile_four_terms(float (*p)[8], struct lm_tile_operands<4> &o, const float *x,
                                                   const float *w, const float *next_x, const float *next_w)
{
    struct lm_tile_operands<4> ahead;
    lm_tile_take<4>(ahead, x + 4 * LM_TILE_SAMPLES, w + 64);
    lm_tile_term<4>(p, o);
    lm_tile_take<4>(o, x + 8 * LM_TILE_SAMPLES, w + 128);
    lm_tile_term<4>(p, ahead);
    lm_tile_take<4>(ahead, x + 12 * LM_TILE_SAMPLES, w + 192);
    lm_tile_term<4>(p, o);
    lm_tile_take<4>(o, next_x, next_w);
    lm_tile_term<4>(p, ahead);
}

/* A partial sum of layers 2 and 3, `turns` terms, 4 or 8; o as above. */
__device__ __forceinline__ void lm_tile_partial(float (*p)[8], struct lm_tile_operands<4> &o, const float *x,
                                                const float *w, uint32_t turns, const float *next_x,
                                                const float *next_w)
{
    const float *half_x = x + 16 * LM_TILE_SAMPLES, *half_w = w + 256;
    lm_tile_set<4>(p, LM_NO_TERM);
    lm_tile_four_terms(p, o, x, w, turns > 4 ? half_x : next_x, turns > 4 ? half_w : next_w);
    if (turns > 4)
        lm_tile_four_terms(p, o, half_x, half_w, next_x, next_w);
}

/* The bias, last. */
template <int S> __device__ __forceinline__ void lm_tile_bias(float (*z)[8], const float *b)
{
    float bias[8];
    lm_tile_four(bias, b);
    lm_tile_four(bias + 4, b + 4);
    LM_UNROLL
    for (int s = 0; s < S; s++)
        LM_UNROLL
    for (int i = 0; i < 8; i++)
        z[s][i] = __fadd_rn(z[s][i], bias[i]);
}

/* Sums wait where rows 0 and 1 mod 4 of the tile were: a lane's i-th four words. */
__device__ __forceinline__ float *lm_tile_kept(float *x, uint32_t i, uint32_t lane)
{
    return x + i * LM_TILE_ROWS4 + lane * 4;
}

/* Rule 1 and the bias of layer 1, for 8 samples x 8 neurons. */
__device__ __forceinline__ void lm_tile_layer1(float (*z)[8], float *x, const float *w, const float *b, uint32_t lane)
{
    const float *at = x + lane % 8 * 4;
    float p[8][8];
    struct lm_tile_operands<8> o;
    lm_tile_take<8>(o, at, w);
    LM_UNROLL_BY(1)
    for (uint32_t pair = 0;; pair++) {
        const float *second = at + LM_TILE_SAMPLES, *next = at + (pair > 0 ? 0 : 2 * LM_TILE_SAMPLES);
        lm_tile_partial1(z, o, at, w, second, w + 32);
        lm_tile_partial1(p, o, second, w + 32, next, w + 64);
        lm_tile_add<8>(z, p);
        if (pair > 0)
            break;
        at = next;
        w += 64;
        __syncwarp();
        LM_UNROLL
        for (uint32_t i = 0; i < 16; i++) {
            const float *from = &z[i / 2][i % 2 * 4];
            float4 v;
            v.x = from[0];
            v.y = from[1];
            v.z = from[2];
            v.w = from[3];
            lm_store4(lm_tile_kept(x, i, lane), v);
        }
    }
    LM_UNROLL
    for (uint32_t i = 0; i < 16; i++) /* its own words: no barrier */
        lm_tile_four(&p[i / 2][i % 2 * 4], lm_tile_kept(x, i, lane));
    lm_tile_add<8>(z, p);
    lm_tile_bias<8>(z, b);
}

/* Of layers 2 and 3, for 4 samples x 8 neurons. */
__device__ __forceinline__ void lm_tile_layer(float (*z)[8], const float *x, const float *w, const float *b,
                                              uint32_t turns)
{
    float p[4][8], q[4][8];
    struct lm_tile_operands<4> o;
    lm_tile_take<4>(o, x, w);
    lm_tile_set<4>(z, LM_NO_TERM); /* adds nothing to whatever is added to it */
    LM_UNROLL_BY(1)
    for (uint32_t pair = 0; pair < 2; pair++) {
        const float *second = x + LM_TILE_SAMPLES, *next = x + (pair > 0 ? 0 : 2 * LM_TILE_SAMPLES);
        lm_tile_partial(p, o, x, w, turns, second, w + 16);
        lm_tile_partial(q, o, second, w + 16, turns, next, w + 32);
        lm_tile_add<4>(p, q);
        lm_tile_add<4>(z, p);
        x = next;
        w += 32;
    }
    lm_tile_bias<4>(z, b);
}

/* The activations of S samples x 8 neurons: rows from h on. */
template <int S> __device__ __forceinline__ void lm_tile_activate(float *h, const float (*z)[8])
{
    LM_UNROLL
    for (int i = 0; i < 8; i++)
        LM_UNROLL
    for (int s = 0; s < S; s += 4) { /* the second four lie 32 places behind */
        float4 a;
        a.x = lm_relu(z[s][i]);
        a.y = lm_relu(z[s + 1][i]);
        a.z = lm_relu(z[s + 2][i]);
        a.w = lm_relu(z[s + 3][i]);
        lm_store4(h + i * LM_TILE_SAMPLES + 8 * s, a);
    }
}

/* Scores (64, 15) by way of shared memory, so that a warp writes whole lines. */
__device__ __forceinline__ void lm_tile_write(float *scores, const float (*z)[8], const struct lm_gpu_tile &t,
                                              size_t first, uint32_t lane)
{
    LM_UNROLL
    for (uint32_t s = 0; s < 4; s++)
        LM_UNROLL
    for (uint32_t i = 0; i < 8; i++)
        if (lane / 16 * 8 + i < LM_CLASSES)
            scores[(lane % 16 + 16 * s) * LM_CLASSES + lane / 16 * 8 + i] = lm_canonical(z[s][i]);
    __syncwarp();
    float *to = t.scores + first * LM_CLASSES;
    const size_t left = (t.n - first) * LM_CLASSES;
    if (left >= LM_TILE_SAMPLES * LM_CLASSES) {
        LM_UNROLL
        for (uint32_t k = 4 * lane; k < LM_TILE_SAMPLES * LM_CLASSES; k += 128)
            lm_store4(to + k, lm_load4(scores + k));
        return;
    }
    LM_UNROLL_BY(1)
    for (uint32_t k = lane; k < left; k += 32)
        to[k] = scores[k];
}

__global__ void __launch_bounds__(32 * LM_TILE_WARPS, 1) lm_tile_kernel(struct lm_gpu_tile t)
{
    LM_ARENA(arena);
    struct lm_tile_weights &m = *reinterpret_cast<struct lm_tile_weights *>(arena);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    float *x = arena + sizeof(struct lm_tile_weights) / sizeof(float) + warp * LM_TILE_FLOATS;
    /* All lanes of a quarter (layer 1), of a half (the others) of a warp read the same weights. */
    const uint32_t quarter = lane / 8 * 8, half = lane / 16 * 8, four = lane % 16 * 4;
    const size_t step = (size_t)gridDim.x * warps * LM_TILE_SAMPLES;
    lm_tile_stage(m, t);
    size_t first = ((size_t)blockIdx.x * warps + warp) * LM_TILE_SAMPLES;
    if (first < t.n)
        lm_tile_fetch_some(x, t, first, lane);
    __syncthreads();
    while (first < t.n) {
        float z1[8][8], z[4][8];
        struct lm_tile_half next;
        const size_t now = first;
        lm_tile_layer1(z1, x, m.w1 + quarter, m.b1 + quarter, lane);
        __syncwarp();
        lm_tile_activate<8>(x + quarter * LM_TILE_SAMPLES + lane % 8 * 4, z1);
        first += step;
        const bool whole = first + LM_TILE_SAMPLES <= t.n;
        if (whole)
            lm_tile_ask(next, t, first, 0, lane);
        __syncwarp();
        const float *from = x + four, *w = m.w2 + half, *bias = m.b2 + half;
        LM_UNROLL_BY(1)
        for (uint32_t turns = 8;; turns = 4) {
            lm_tile_layer(z, from, w, bias, turns);
            if (turns == 4)
                break;
            lm_tile_activate<4>(x + LM_TILE_HIDDEN2 + half * LM_TILE_SAMPLES + four, z);
            __syncwarp();
            if (whole) {
                lm_tile_put_half(x, next, 0, lane);
                lm_tile_ask(next, t, first, 1, lane);
            }
            from += LM_TILE_HIDDEN2;
            w = m.w3 + half;
            bias = m.b3 + half;
        }
        lm_tile_write(x + LM_TILE_SCORES, z, t, now, lane);
        __syncwarp();
        if (whole)
            lm_tile_put_half(x, next, 1, lane);
        else if (first < t.n)
            lm_tile_fetch_some(x, t, first, lane);
        __syncwarp();
    }
}

#endif
