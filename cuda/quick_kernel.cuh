/* quick_kernel.cuh: scoring a few hundred samples from the host's memory to the host's memory: `quick`.
 *
 * A batch of 878 samples is 225 KB: at a link's rate 4 us. What takes time is the way there: a copy in, a kernel and
 * a copy out are three things to start and to wait for. So the kernel reads the samples where they lie, in memory of
 * the host that the device sees (mapped), writes the scores there, and each block says so by a word that the host looks
 * at.
 *
 * A warp takes two samples: 512 bytes in one load, asked for before anything else. While they cross the link, a lane
 * loads its part of the network into registers: row `lane` of layer 1, half a row of the others. Layer 1: a lane
 * a neuron. Layers 2 and 3: two lanes a neuron, 16 lanes apart, with partial sums 0 and 1, and 2 and 3. The network
 * lies as the lanes load it (quick_layout.h), activations lie so that a lane's terms are neighbours.
 */
#ifndef LM_QUICK_KERNEL_CUH
#define LM_QUICK_KERNEL_CUH

#include "arithmetic.cuh"
#include "quick_layout.h"

/* A lane's part of the network. */
struct lm_quick_part {
    float4 w1[16], w2[4], w3[2];
    float b1, b2, b3;
};

/* A warp's shared memory: two samples, their activations. */
struct lm_quick_room {
    float x[2][64], a1[2][32], a2[2][16];
};

__device__ __forceinline__ void lm_quick_load(struct lm_quick_part &p, const float *network, uint32_t lane)
{
    LM_UNROLL
    for (uint32_t m = 0; m < 16; m++)
        p.w1[m] = lm_load4(network + LM_QUICK_W1 + 128 * m + 4 * lane);
    LM_UNROLL
    for (uint32_t m = 0; m < 4; m++)
        p.w2[m] = lm_load4(network + LM_QUICK_W2 + 128 * m + 4 * lane);
    LM_UNROLL
    for (uint32_t m = 0; m < 2; m++)
        p.w3[m] = lm_load4(network + LM_QUICK_W3 + 128 * m + 4 * lane);
    p.b1 = network[LM_QUICK_B1 + lane];
    p.b2 = network[LM_QUICK_B2 + lane % 16];
    p.b3 = network[LM_QUICK_B3 + lane % 16];
}

/* Rule 1 by lanes l and l + 16: w and v are two partial sums' terms by turns, 2 N of them. */
template <int N> __device__ __forceinline__ float lm_quick_sum(const float4 *w, const float *v)
{
    float p = LM_NO_TERM, q = LM_NO_TERM;
    LM_UNROLL
    for (int m = 0; m < N; m++) {
        const float4 u = lm_load4(v + 4 * m);
        p = lm_term(w[m].x, u.x, p);
        q = lm_term(w[m].y, u.y, q);
        p = lm_term(w[m].z, u.z, p);
        q = lm_term(w[m].w, u.w, q);
    }
    p = __fadd_rn(p, q);
    return __fadd_rn(p, __shfl_xor_sync(LM_ALL_LANES, p, 16));
}

/* Scores of sample c of the warp's two, in lanes 0 to 14, from its pixels in shared memory; the warp's other half has
 * them, too. */
__device__ __forceinline__ void lm_quick_scores(struct lm_quick_room &room, const struct lm_quick_part &p,
                                                float score[2], uint32_t lane)
{
    LM_UNROLL
    for (int c = 0; c < 2; c++) {
        struct lm_partials sum = {LM_NO_TERM, LM_NO_TERM, LM_NO_TERM, LM_NO_TERM};
        LM_UNROLL
        for (int m = 0; m < 16; m++)
            lm_four_terms(&sum, p.w1[m], lm_load4(room.x[c] + 4 * m));
        room.a1[c][lm_quick_place(lane, 32)] = lm_relu(__fadd_rn(lm_total(sum), p.b1));
    }
    __syncwarp();
    LM_UNROLL
    for (int c = 0; c < 2; c++) {
        const float z = __fadd_rn(lm_quick_sum<4>(p.w2, room.a1[c] + lane / 16 * 16), p.b2);
        if (lane < 16)
            room.a2[c][lm_quick_place(lane, 16)] = lm_relu(z);
    }
    __syncwarp();
    LM_UNROLL
    for (int c = 0; c < 2; c++)
        score[c] = lm_canonical(__fadd_rn(lm_quick_sum<2>(p.w3, room.a2[c] + lane / 16 * 8), p.b3));
}

/* The block's scores, `count` words from shared memory: whole 16-byte words, but for the last ones. */
__device__ __forceinline__ void lm_quick_write(float *to, const float *scores, uint32_t count)
{
    const uint32_t at = 4 * threadIdx.x;
    if (at + 4 <= count)
        lm_store4(to + at, lm_load4(scores + at));
    else
        for (uint32_t k = at; k < count; k++)
            to[k] = scores[k];
}

__global__ void __launch_bounds__(LM_QUICK_BLOCK) lm_quick_kernel(struct lm_gpu_quick q)
{
    LM_ARENA(arena);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, step = gridDim.x * LM_QUICK_SAMPLES;
    struct lm_quick_room &room = reinterpret_cast<struct lm_quick_room *>(arena)[warp];
    float *scores = arena + LM_QUICK_BLOCK / 32 * sizeof(struct lm_quick_room) / sizeof(float);
    struct lm_quick_part part;
    uint32_t first = blockIdx.x * LM_QUICK_SAMPLES, sample = first + 2 * warp + lane / 16;
    float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
    if (sample < q.n)
        x = lm_load4(q.x + (size_t)sample * LM_PIXELS + lane % 16 * 4);
    lm_quick_load(part, q.network, lane);
    for (; first < q.n; first += step) {
        float score[2];
        lm_store4(room.x[lane / 16] + lane % 16 * 4, x);
        sample += step; /* the next, on its way meanwhile */
        if (sample < q.n)
            x = lm_load4(q.x + (size_t)sample * LM_PIXELS + lane % 16 * 4);
        __syncwarp();
        lm_quick_scores(room, part, score, lane);
        if (lane < LM_CLASSES) {
            scores[2 * warp * LM_CLASSES + lane] = score[0];
            scores[(2 * warp + 1) * LM_CLASSES + lane] = score[1];
        }
        __syncthreads();
        const uint32_t left = q.n - first;
        lm_quick_write(q.scores + (size_t)first * LM_CLASSES, scores,
                       (left < LM_QUICK_SAMPLES ? left : LM_QUICK_SAMPLES) * LM_CLASSES);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        lm_publish(q.done + blockIdx.x);
}

#endif
