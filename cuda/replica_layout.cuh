/* replica_layout.cuh: a network of 64-32-16-15 in the registers of one warp, and how it is packed in memory for it.
 *
 * Lane L is quarter q = L / 8 and half h = L / 16 of the warp, g = L % 8 and l = L % 16:
 *   w1   neurons 4 g + r (r = 0 ... 3), the 16 inputs of partial sum q: rule 1 by four lanes
 *   w2   neuron l, the inputs of partial sums 2 h and 2 h + 1: rule 1 by two lanes
 *   w2t  the same weights again by columns: column L, all 16 rows, by partial sums
 *   w3   output l, as w2;  w3t  column l, the rows of partial sums 2 h and 2 h + 1
 *   b1   of neuron L;  b2, b3  of neuron l
 * Row 15 of layer 3, which nobody has, is +0 and stays it (rule 4 with a delta of +0).
 *
 * Packed: 29 groups of four words a lane, lane beside lane, so that a warp loads 512 bytes at a time. Neighbours in a
 * group change places (word ^ 1): a load puts a group into four registers in a row, and then in z = fma(w, x, z) the
 * weight and the sum, and in w = fma(-t, x, w) the weight and t, come from different banks of the register file, while
 * x is kept from the instruction before. Otherwise every third instruction waits for a second read of a bank.
 */
#ifndef LM_REPLICA_LAYOUT_CUH
#define LM_REPLICA_LAYOUT_CUH

#include "arithmetic.cuh"
#include "replica.h"

#define LM_WARP_LANES 32u
#define LM_NOWHERE    LM_REPLICA_FLOATS

struct lm_warp_network {
    float w1[4][16];
    float w2[16], w2t[16];
    float w3[8], w3t[8];
    float b1, b2, b3;
};

/* The index j of term u, of N inputs, in half h. */
__device__ __forceinline__ uint32_t lm_half_term(uint32_t h, uint32_t u, uint32_t N)
{
    return 4 * (u % (N / 4)) + 2 * h + u / (N / 4);
}

/* Where in network.h's array word `word` (0 ... 115) of a lane lies; LM_NOWHERE: it is +0. */
__device__ __forceinline__ uint32_t lm_packed_place(uint32_t word, uint32_t lane)
{
    const uint32_t q = lane / 8, g = lane % 8, h = lane / 16, l = lane % 16, w = word ^ 1;
    if (w < 64)
        return (4 * g + w % 4) * 64 + 4 * (w / 4) + q;
    if (w < 80)
        return 2080 + l * 32 + lm_half_term(h, w - 64, 32);
    if (w < 96)
        return 2080 + (4 * (w % 4) + (w - 80) / 4) * 32 + lane;
    if (w < 104)
        return l < LM_CLASSES ? 2608 + l * 16 + lm_half_term(h, w - 96, 16) : LM_NOWHERE;
    if (w < 112) {
        const uint32_t row = lm_half_term(h, w - 104, 16);
        return row < LM_CLASSES ? 2608 + row * 16 + l : LM_NOWHERE;
    }
    if (w == 112)
        return 2048 + lane;
    if (w == 113)
        return 2592 + l;
    return w == 114 && l < LM_CLASSES ? 2848 + l : LM_NOWHERE;
}

template <int N> __device__ __forceinline__ void lm_unpack_group(float *w, const float *from)
{
    LM_UNROLL
    for (int k = 0; k < N; k += 4) {
        const float4 v = lm_load4(from + k * LM_WARP_LANES);
        w[k + 1] = v.x;
        w[k] = v.y;
        w[k + 3] = v.z;
        w[k + 2] = v.w;
    }
}

template <int N> __device__ __forceinline__ void lm_pack_group(const float *w, float *to)
{
    LM_UNROLL
    for (int k = 0; k < N; k += 4) {
        float4 v;
        v.x = w[k + 1];
        v.y = w[k];
        v.z = w[k + 3];
        v.w = w[k + 2];
        lm_store4(to + k * LM_WARP_LANES, v);
    }
}

__device__ __forceinline__ void lm_warp_load(struct lm_warp_network &net, const float *packed, uint32_t lane)
{
    const float *p = packed + 4 * lane;
    float w1[64], b[4];
    lm_unpack_group<64>(w1, p);
    LM_UNROLL
    for (int k = 0; k < 64; k++)
        net.w1[k % 4][k / 4] = w1[k];
    lm_unpack_group<16>(net.w2, p + 64 * LM_WARP_LANES);
    lm_unpack_group<16>(net.w2t, p + 80 * LM_WARP_LANES);
    lm_unpack_group<8>(net.w3, p + 96 * LM_WARP_LANES);
    lm_unpack_group<8>(net.w3t, p + 104 * LM_WARP_LANES);
    lm_unpack_group<4>(b, p + 112 * LM_WARP_LANES);
    net.b1 = b[0];
    net.b2 = b[1];
    net.b3 = b[2];
}

__device__ __forceinline__ void lm_warp_store(const struct lm_warp_network &net, float *packed, uint32_t lane)
{
    float *p = packed + 4 * lane;
    float w1[64];
    LM_UNROLL
    for (int k = 0; k < 64; k++)
        w1[k] = net.w1[k % 4][k / 4];
    const float b[4] = {net.b1, net.b2, net.b3, 0.0f};
    lm_pack_group<64>(w1, p);
    lm_pack_group<16>(net.w2, p + 64 * LM_WARP_LANES);
    lm_pack_group<16>(net.w2t, p + 80 * LM_WARP_LANES);
    lm_pack_group<8>(net.w3, p + 96 * LM_WARP_LANES);
    lm_pack_group<8>(net.w3t, p + 104 * LM_WARP_LANES);
    lm_pack_group<4>(b, p + 112 * LM_WARP_LANES);
}

#endif
