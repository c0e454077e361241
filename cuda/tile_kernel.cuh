/* tile_kernel.cuh: scoring millions of samples with one network of the lab's shape: `tile`.
 *
 * Inference is three products of a tall matrix with a small one, 2,816 multiply-adds and 316 bytes a sample: on a large
 * GPU the multiply-adds take longer than the memory. So a warp takes 64 samples, and a lane 8 samples x 8 neurons of
 * layer 1 (8 x 4 of the others): from 16 numbers that it reads from shared memory it makes 64 multiply-adds. Rule 1's
 * four partial sums are made one after the other, each over all 64 outputs, so three sets of sums are alive at most and
 * not four.
 *
 * Samples lie transposed in shared memory: x[j][s], where s is mixed with j / 4 so that a warp that stores one pixel of
 * many samples, or four samples of one pixel, meets different banks. Activations take the samples' place.
 */
#ifndef LM_TILE_KERNEL_CUH
#define LM_TILE_KERNEL_CUH

#include "arithmetic.cuh"
#include "replica.h"

#define LM_TILE_SAMPLES 64 /* a warp */
#define LM_TILE_BLOCK   256

/* Shared memory: the weights by columns, then a tile for each warp. */
struct lm_tile_weights {
    float w1[64 * 32], w2[32 * 16], w3[16 * 16];
    float b1[32], b2[16], b3[16];
};

#define LM_TILE_FLOATS (LM_PIXELS * LM_TILE_SAMPLES)
#define LM_TILE_BYTES  (sizeof(struct lm_tile_weights) + LM_TILE_BLOCK / 32 * LM_TILE_FLOATS * sizeof(float))

/* Where sample s of row j lies in its row. */
__device__ __forceinline__ uint32_t lm_tile_place(uint32_t j, uint32_t s)
{
    return s ^ (j / 4 % 8 * 4);
}

/* A lane's eight samples: four neighbours, and the four that lie 32 behind them. So eight lanes read 128 bytes in a
 * row. */
__device__ __forceinline__ uint32_t lm_tile_sample(uint32_t lane, uint32_t s)
{
    return lane % 8 * 4 + s / 4 * 32 + s % 4;
}

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

/* 64 samples from row `first` on into x; rows behind the last are the last again. All loads, then all stores. */
__device__ __forceinline__ void lm_tile_fetch(float *x, const struct lm_gpu_tile &t, size_t first, uint32_t lane)
{
    float4 v[LM_TILE_SAMPLES / 2];
    LM_UNROLL
    for (uint32_t k = 0; k < LM_TILE_SAMPLES / 2; k++) {
        const size_t row = first + 2 * k + lane / 16;
        v[k] = lm_load4(t.x + (row < t.n ? row : t.n - 1) * LM_PIXELS + lane % 16 * 4);
    }
    LM_UNROLL
    for (uint32_t k = 0; k < LM_TILE_SAMPLES / 2; k++) {
        const uint32_t j = lane % 16 * 4;
        float *to = x + j * LM_TILE_SAMPLES + lm_tile_place(j, 2 * k + lane / 16);
        to[0] = v[k].x;
        to[LM_TILE_SAMPLES] = v[k].y;
        to[2 * LM_TILE_SAMPLES] = v[k].z;
        to[3 * LM_TILE_SAMPLES] = v[k].w;
    }
}

template <int N> __device__ __forceinline__ void lm_tile_row(float *to, const float *from)
{
    LM_UNROLL
    for (int k = 0; k < N; k += 4) {
        const float4 v = lm_load4(from + k);
        to[k] = v.x;
        to[k + 1] = v.y;
        to[k + 2] = v.z;
        to[k + 3] = v.w;
    }
}

/* Partial sum k of J inputs for 8 samples and N neurons; w: by columns, `pitch` apart. */
template <int J, int N, int PITCH>
__device__ __forceinline__ void lm_tile_partial(float (*p)[N], const float *x, const float *w, uint32_t k,
                                                uint32_t samples)
{
    LM_UNROLL_BY(8) /* the mixing repeats after 8 */
    for (uint32_t m = 0; m < J / 4; m++) {
        const uint32_t j = 4 * m + k;
        float v[8], u[N];
        const float *row = x + j * LM_TILE_SAMPLES + lm_tile_place(j, samples);
        lm_tile_row<4>(v, row);
        lm_tile_row<4>(v + 4, row + 32);
        lm_tile_row<N>(u, w + j * PITCH);
        LM_UNROLL
        for (int s = 0; s < 8; s++)
            LM_UNROLL
        for (int i = 0; i < N; i++)
            p[s][i] = lm_term(u[i], v[s], p[s][i]);
    }
}

template <int N> __device__ __forceinline__ void lm_tile_clear(float (*p)[N])
{
    LM_UNROLL
    for (int s = 0; s < 8; s++)
        LM_UNROLL
    for (int i = 0; i < N; i++)
        p[s][i] = LM_NO_TERM;
}

template <int N> __device__ __forceinline__ void lm_tile_add(float (*p)[N], const float (*q)[N])
{
    LM_UNROLL
    for (int s = 0; s < 8; s++)
        LM_UNROLL
    for (int i = 0; i < N; i++)
        p[s][i] = __fadd_rn(p[s][i], q[s][i]);
}

/* Rule 1 and the bias, for 8 samples x N neurons: z. */
template <int J, int N, int PITCH>
__device__ __forceinline__ void lm_tile_layer(float (*z)[N], const float *x, const float *w, const float *b,
                                              uint32_t samples)
{
    float p[8][N], q[8][N];
    lm_tile_clear<N>(z);
    lm_tile_partial<J, N, PITCH>(z, x, w, 0, samples);
    lm_tile_clear<N>(p);
    lm_tile_partial<J, N, PITCH>(p, x, w, 1, samples);
    lm_tile_add<N>(z, p);
    lm_tile_clear<N>(p);
    lm_tile_partial<J, N, PITCH>(p, x, w, 2, samples);
    lm_tile_clear<N>(q);
    lm_tile_partial<J, N, PITCH>(q, x, w, 3, samples);
    lm_tile_add<N>(p, q);
    lm_tile_add<N>(z, p);
    LM_UNROLL
    for (int s = 0; s < 8; s++)
        LM_UNROLL
    for (int i = 0; i < N; i++)
        z[s][i] = __fadd_rn(z[s][i], b[i]);
}

/* The activations of 8 samples x N neurons from neuron `first` on, as the next layer's x. */
template <int N>
__device__ __forceinline__ void lm_tile_activate(float *x, const float (*z)[N], uint32_t first, uint32_t samples)
{
    LM_UNROLL
    for (int i = 0; i < N; i++) {
        const uint32_t j = first + (uint32_t)i;
        LM_UNROLL
        for (int s = 0; s < 8; s += 4) { /* 32 samples apart, see lm_tile_sample */
            float4 a;
            a.x = lm_relu(z[s][i]);
            a.y = lm_relu(z[s + 1][i]);
            a.z = lm_relu(z[s + 2][i]);
            a.w = lm_relu(z[s + 3][i]);
            lm_store4(x + j * LM_TILE_SAMPLES + lm_tile_place(j, samples) + 8 * (uint32_t)s, a);
        }
    }
}

/* Scores (64, 15) by way of shared memory, so that a warp writes whole lines. */
__device__ __forceinline__ void lm_tile_write(float *x, const float (*z)[4], const struct lm_gpu_tile &t, size_t first,
                                              uint32_t lane)
{
    LM_UNROLL
    for (uint32_t s = 0; s < 8; s++)
        LM_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        if (lane / 8 * 4 + i < LM_CLASSES)
            x[lm_tile_sample(lane, s) * LM_CLASSES + lane / 8 * 4 + i] = lm_canonical(z[s][i]);
    __syncwarp();
    const size_t left = (t.n - first) * LM_CLASSES;
    for (uint32_t k = lane; k < LM_TILE_SAMPLES * LM_CLASSES; k += 32)
        if (k < left)
            t.scores[first * LM_CLASSES + k] = x[k];
}

__global__ void __launch_bounds__(LM_TILE_BLOCK, 1) lm_tile_kernel(struct lm_gpu_tile t)
{
    LM_ARENA(arena);
    struct lm_tile_weights &m = *reinterpret_cast<struct lm_tile_weights *>(arena);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = LM_TILE_BLOCK / 32;
    float *x = arena + sizeof(struct lm_tile_weights) / sizeof(float) + warp * LM_TILE_FLOATS;
    const uint32_t samples = lm_tile_sample(lane, 0),
                   group = lane / 8; /* a quarter of the warp reads the same weights */
    lm_tile_stage(m, t);
    __syncthreads();
    for (size_t first = ((size_t)blockIdx.x * warps + warp) * LM_TILE_SAMPLES; first < t.n;
         first += (size_t)gridDim.x * warps * LM_TILE_SAMPLES) {
        lm_tile_fetch(x, t, first, lane);
        __syncwarp();
        float z1[8][8], z[8][4];
        lm_tile_layer<64, 8, 32>(z1, x, m.w1 + group * 8, m.b1 + group * 8, samples);
        __syncwarp();
        lm_tile_activate<8>(x, z1, group * 8, samples);
        __syncwarp();
        lm_tile_layer<32, 4, 16>(z, x, m.w2 + group * 4, m.b2 + group * 4, samples);
        __syncwarp();
        lm_tile_activate<4>(x, z, group * 4, samples);
        __syncwarp();
        lm_tile_layer<16, 4, 16>(z, x, m.w3 + group * 4, m.b3 + group * 4, samples);
        __syncwarp();
        lm_tile_write(x, z, t, first, lane);
        __syncwarp();
    }
}

#endif
