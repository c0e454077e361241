/* metrics_kernel.cuh: loss and hits of many networks of the lab's shape on the same samples, a block a network.
 *
 * A sweep of 20,000 trials scores each of them on the validation and the test set; 20,000 scores that cross the link
 * and are reduced on the host would take as long as the trainings. Here a block has one network in shared memory, a
 * thread scores a sample with all activations in registers, and one thread adds the block's losses up in the order of
 * the samples, in double, as src/evaluate.c does.
 */
#ifndef LM_METRICS_KERNEL_CUH
#define LM_METRICS_KERNEL_CUH

#include "arithmetic.cuh"
#include "replica.h"

#define LM_METRICS_BLOCK 128

/* The network, 16 bytes a row's four weights; layer 3 has a row of +0 more. */
struct lm_metrics_memory {
    float w1[32 * 64], b1[32], w2[16 * 32], b2[16], w3[16 * 16], b3[16];
    float loss[LM_METRICS_BLOCK];
    uint32_t hit[LM_METRICS_BLOCK];
};

/* Rule 1 for one row of N weights, v in registers. */
template <int N> __device__ __forceinline__ float lm_row_sum(const float *w, const float *v)
{
    struct lm_partials p = {LM_NO_TERM, LM_NO_TERM, LM_NO_TERM, LM_NO_TERM};
    LM_UNROLL
    for (int j = 0; j < N; j += 4) {
        const float4 u = lm_load4(w + j);
        p.p0 = lm_term(u.x, v[j], p.p0);
        p.p1 = lm_term(u.y, v[j + 1], p.p1);
        p.p2 = lm_term(u.z, v[j + 2], p.p2);
        p.p3 = lm_term(u.w, v[j + 3], p.p3);
    }
    return lm_total(p);
}

/* The scores of sample x (64); score[15] is +0. */
__device__ __forceinline__ void lm_lab_scores(const struct lm_metrics_memory &m, const float *x, float *score)
{
    float v[64], a1[32], a2[16];
    LM_UNROLL
    for (int j = 0; j < 64; j += 4) {
        const float4 u = lm_load4(x + j);
        v[j] = u.x;
        v[j + 1] = u.y;
        v[j + 2] = u.z;
        v[j + 3] = u.w;
    }
    LM_UNROLL
    for (int i = 0; i < 32; i++)
        a1[i] = lm_relu(__fadd_rn(lm_row_sum<64>(m.w1 + 64 * i, v), m.b1[i]));
    LM_UNROLL
    for (int i = 0; i < 16; i++)
        a2[i] = lm_relu(__fadd_rn(lm_row_sum<32>(m.w2 + 32 * i, a1), m.b2[i]));
    LM_UNROLL
    for (int i = 0; i < LM_CLASSES; i++)
        score[i] = __fadd_rn(lm_row_sum<16>(m.w3 + 16 * i, a2), m.b3[i]);
}

/* Rule 3, and lm_predict: the class of the first maximum. */
__device__ __forceinline__ float lm_sample_metrics(const float *score, uint32_t label, uint32_t *hit)
{
    float e[16], best = score[0];
    uint32_t predicted = 0;
    LM_UNROLL
    for (int c = 0; c < LM_CLASSES; c++) {
        e[c] = __fsub_rn(score[c], (uint32_t)c == label ? 1.0f : 0.0f);
        if (score[c] > best) {
            best = score[c];
            predicted = (uint32_t)c;
        }
    }
    e[15] = 0.0f;
    struct lm_partials p = {LM_NO_TERM, LM_NO_TERM, LM_NO_TERM, LM_NO_TERM};
    LM_UNROLL
    for (int c = 0; c < 16; c += 4) {
        p.p0 = lm_term(e[c], e[c], p.p0);
        p.p1 = lm_term(e[c + 1], e[c + 1], p.p1);
        p.p2 = lm_term(e[c + 2], e[c + 2], p.p2);
        p.p3 = lm_term(e[c + 3], e[c + 3], p.p3);
    }
    *hit = predicted == label;
    return __fmul_rn(0.5f, lm_total(p));
}

/* Word k of network.h's array, into its place. */
__device__ __forceinline__ void lm_metrics_stage(struct lm_metrics_memory &m, const float *parameters)
{
    for (uint32_t k = threadIdx.x; k < 2048; k += LM_METRICS_BLOCK)
        m.w1[k] = parameters[k];
    for (uint32_t k = threadIdx.x; k < 512; k += LM_METRICS_BLOCK)
        m.w2[k] = parameters[2080 + k];
    for (uint32_t k = threadIdx.x; k < 240; k += LM_METRICS_BLOCK)
        m.w3[k] = parameters[2608 + k];
    if (threadIdx.x < 32)
        m.b1[threadIdx.x] = parameters[2048 + threadIdx.x];
    if (threadIdx.x < 16)
        m.b2[threadIdx.x] = parameters[2592 + threadIdx.x];
    if (threadIdx.x < LM_CLASSES)
        m.b3[threadIdx.x] = parameters[2848 + threadIdx.x];
}

__global__ void __launch_bounds__(LM_METRICS_BLOCK) lm_metrics_kernel(struct lm_gpu_metrics g)
{
    LM_ARENA(arena);
    struct lm_metrics_memory &m = *reinterpret_cast<struct lm_metrics_memory *>(arena);
    lm_metrics_stage(m, g.parameters + (size_t)blockIdx.x * LM_REPLICA_FLOATS);
    __syncthreads();
    double sum = 0.0;
    uint32_t hits = 0;
    for (uint32_t first = 0; first < g.n; first += LM_METRICS_BLOCK) {
        const uint32_t k = first + threadIdx.x, count = g.n - first < LM_METRICS_BLOCK ? g.n - first : LM_METRICS_BLOCK;
        if (k < g.n) {
            float score[16];
            lm_lab_scores(m, g.x + (size_t)k * LM_PIXELS, score);
            m.loss[threadIdx.x] = lm_sample_metrics(score, g.label[k], &m.hit[threadIdx.x]);
        }
        __syncthreads();
        if (threadIdx.x == 0)
            for (uint32_t s = 0; s < count; s++) {
                sum += (double)m.loss[s];
                hits += m.hit[s];
            }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        g.loss[blockIdx.x] = sum;
        g.hits[blockIdx.x] = hits;
    }
}

#endif
