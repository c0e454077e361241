/* order_kernel.cuh: sample orders and first weights, made on the device: src/random.c and lm_order_next by warps.
 *
 * The host makes 40,000 orders a second, and fast replicas want 600,000. A warp has one replica's generator and order
 * in shared memory. The generator's words are made 32 at a time; the draws of a shuffle depend on nothing but the
 * words, so 32 positions are drawn together; and the swaps of 32 positions are done together as far as no two of them
 * touch the same place. What a draw that libstdc++ rejects does to all later ones is respected: the words behind it
 * move on by one.
 */
#ifndef LM_ORDER_KERNEL_CUH
#define LM_ORDER_KERNEL_CUH

#include "replica_layout.cuh"

#define LM_MT_SHIFT 397u

/* A replica's generator: words in shared memory, worked by one warp. */
struct lm_warp_generator {
    uint32_t *s;
    uint32_t used;
};

__device__ __forceinline__ void lm_warp_seed(struct lm_warp_generator &g, uint32_t seed)
{
    if (threadIdx.x == 0) {
        uint32_t word = seed;
        g.s[0] = word;
        for (uint32_t i = 1; i < LM_MT_WORDS; i++) {
            word = 1812433253u * (word ^ word >> 30) + i;
            g.s[i] = word;
        }
    }
    g.used = LM_MT_WORDS;
    __syncwarp();
}

/* A word needs the old ones beside it and one 227 places back or 397 ahead: 32 in a row do not need one another. */
__device__ __forceinline__ void lm_warp_refill(struct lm_warp_generator &g)
{
    for (uint32_t first = 0; first < LM_MT_WORDS; first += LM_WARP_LANES) {
        const uint32_t i = first + threadIdx.x;
        uint32_t word = 0;
        if (i < LM_MT_WORDS) {
            const uint32_t beside = i + 1 < LM_MT_WORDS ? i + 1 : 0;
            const uint32_t far = i < LM_MT_WORDS - LM_MT_SHIFT ? i + LM_MT_SHIFT : i + LM_MT_SHIFT - LM_MT_WORDS;
            const uint32_t y = (g.s[i] & 0x80000000u) | (g.s[beside] & 0x7fffffffu);
            word = g.s[far] ^ y >> 1 ^ (0x9908b0dfu & (0u - (y & 1u)));
        }
        __syncwarp();
        if (i < LM_MT_WORDS)
            g.s[i] = word;
        __syncwarp();
    }
    g.used = 0;
}

__device__ __forceinline__ uint32_t lm_tempered(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* The lowest lane for which it is true; 32 if there is none. */
__device__ __forceinline__ uint32_t lm_first_lane(bool here)
{
    const uint32_t lanes = __ballot_sync(LM_ALL_LANES, here);
    return lanes ? (uint32_t)__ffs((int)lanes) - 1 : LM_WARP_LANES;
}

/* How the positions of a shuffle of n take their words: libstdc++ draws two positions from one word while (n)(n) fits
 * a word, but if n is even the first position goes alone. */
struct lm_drawing {
    bool pairs;
    uint32_t base; /* the first position of a pair */
};

/* A lane's draw for position i, if it has one: where it goes (0 ... i), and whether its word is one too many. */
struct lm_draw {
    uint32_t with;
    bool rejected;
};

__device__ __forceinline__ struct lm_draw lm_draw_position(uint32_t word, uint32_t i, bool pair, uint32_t first)
{
    const uint32_t range = pair ? (first + 1) * (first + 2) : i + 1;
    const uint64_t product = (uint64_t)lm_tempered(word) * range;
    const uint32_t low = (uint32_t)product, x = (uint32_t)(product >> 32);
    struct lm_draw draw;
    draw.rejected = low < range && low < (0u - range) % range;
    draw.with = !pair ? x : i == first ? x / (first + 2) : x % (first + 2);
    return draw;
}

/* The swaps order[i], order[with] of the lanes below count, as if one lane after the other did them; stops before the
 * first that needs what an earlier one of them moves, and returns how many were done. */
__device__ __forceinline__ uint32_t lm_warp_swap(uint32_t *order, uint32_t position, uint32_t with, uint32_t count)
{
    const uint32_t lane = threadIdx.x, i = position + lane;
    const uint32_t same = __match_any_sync(LM_ALL_LANES, lane < count ? with : 0x80000000u + lane);
    const bool earlier = (same & ((1u << lane) - 1)) != 0 || (with >= position && with < i);
    const uint32_t clash = lm_first_lane(lane < count && earlier);
    count = clash < count ? clash : count;
    uint32_t here = 0, there = 0;
    if (lane < count) {
        here = order[i];
        there = order[with];
    }
    __syncwarp();
    if (lane < count) {
        order[with] = here;
        order[i] = there;
    }
    __syncwarp();
    return count;
}

/* lm_shuffle. order NULL: draws what it would draw, and moves nothing. */
__device__ __forceinline__ void lm_warp_shuffle(struct lm_warp_generator &g, uint32_t *order, uint32_t n)
{
    const uint32_t lane = threadIdx.x;
    const bool pairs = n > 0 && 0xffffffffu / n >= n;
    const uint32_t base = pairs && n % 2 == 0 ? 2 : 1;
    for (uint32_t position = 1; position < n;) {
        if (g.used == LM_MT_WORDS)
            lm_warp_refill(g);
        const bool pair = pairs && position >= base;
        const uint32_t i = position + lane, first = pair ? i - (i - base) % 2 : i;
        const uint32_t word = g.used + (pair ? (i - base) / 2 - (position - base) / 2 : lane);
        const bool mine = i < n && word < LM_MT_WORDS && (pair || !pairs || lane == 0);
        struct lm_draw draw = {0, false};
        if (mine)
            draw = lm_draw_position(g.s[word], i, pair, first);
        const uint32_t had = lm_first_lane(!mine), rejected = lm_first_lane(draw.rejected);
        uint32_t count = rejected < had ? rejected : had;
        bool drop = rejected < had;
        if (order) {
            const uint32_t done = lm_warp_swap(order, position, draw.with, count);
            drop = drop && done == count;
            count = done;
        }
        g.used += (pair ? (position + count - base) / 2 - (position - base) / 2 : count) + (drop ? 1 : 0);
        position += count;
    }
}

/* lm_network_initialise of the lab's shape: each layer from a fresh generator of the same seed, so all from one. */
__device__ __forceinline__ void lm_warp_initialise(struct lm_warp_generator &g, float range, float *weight)
{
    const float low = -range, width = __fsub_rn(range, low);
    for (uint32_t k = threadIdx.x; k <= LM_REPLICA_FLOATS; k += LM_WARP_LANES)
        weight[k] = 0.0f; /* the biases; and LM_NOWHERE */
    __syncwarp();
    for (uint32_t first = 0; first < 2048; first += LM_MT_WORDS) {
        lm_warp_refill(g);
        for (uint32_t i = threadIdx.x; i < LM_MT_WORDS && first + i < 2048; i += LM_WARP_LANES) {
            const uint32_t k = first + i;
            float unit = __fmul_rn(__uint2float_rn(lm_tempered(g.s[i])), 1.0f / 4294967296.0f);
            unit = unit >= 1.0f ? __uint_as_float(0x3f7fffffu) : unit;
            const float w = __fadd_rn(__fmul_rn(unit, width), low);
            weight[k] = w;
            if (k < 512)
                weight[2080 + k] = w;
            if (k < 240)
                weight[2608 + k] = w;
        }
        __syncwarp();
    }
}

/* The generator back to memory. */
__device__ __forceinline__ void lm_warp_keep(const struct lm_gpu_replicas &r, uint32_t k,
                                             const struct lm_warp_generator &g)
{
    for (uint32_t i = threadIdx.x; i < LM_MT_WORDS; i += LM_WARP_LANES)
        r.words[(size_t)k * LM_MT_WORDS + i] = g.s[i];
    if (threadIdx.x == 0)
        r.used[k] = g.used;
}

/* Bytes of dynamic shared memory. */
#define LM_BEGIN_BYTES     ((LM_MT_WORDS + LM_REPLICA_FLOATS + 1) * 4)
#define LM_ORDERS_BYTES(n) ((LM_MT_WORDS + (n)) * 4)

/* A network from network.h's order to where lm_warp_initialise makes one. */
__device__ __forceinline__ void lm_warp_load(const float *start, float *weight)
{
    for (uint32_t k = threadIdx.x; k <= LM_REPLICA_FLOATS; k += LM_WARP_LANES)
        weight[k] = k < LM_REPLICA_FLOATS ? start[k] : 0.0f; /* LM_NOWHERE */
    __syncwarp();
}

/* A block a replica: its first weights, or those that it goes on from, its generator behind the letters' shuffles, and
 * the order 0, 1, ... as the last one of the window. */
__global__ void __launch_bounds__(32) lm_begin_kernel(struct lm_gpu_replicas r)
{
    LM_ARENA(arena);
    const uint32_t k = blockIdx.x;
    float *weight = arena + LM_MT_WORDS;
    struct lm_warp_generator g = {reinterpret_cast<uint32_t *>(arena), 0};
    lm_warp_seed(g, r.replica[k].seed);
    if (r.start && r.replica[k].epoch > 0)
        lm_warp_load(r.start + (size_t)k * LM_REPLICA_FLOATS, weight);
    else
        lm_warp_initialise(g, r.replica[k].range, weight);
    float *packed = r.packed + (size_t)k * LM_REPLICA_PACKED;
    for (uint32_t w = threadIdx.x; w < LM_REPLICA_PACKED; w += LM_WARP_LANES)
        packed[w] = weight[lm_packed_place(w / 128 * 4 + w % 4, w / 4 % LM_WARP_LANES)];
    lm_warp_seed(g, r.replica[k].seed);
    for (int c = 0; c < LM_CLASSES; c++)
        lm_warp_shuffle(g, NULL, r.letters[c]);
    lm_warp_keep(r, k, g);
    uint32_t *last = r.order + ((size_t)k * r.window + r.window - 1) * r.n;
    for (uint32_t i = threadIdx.x; i < r.n; i += LM_WARP_LANES)
        last[i] = i | (uint32_t)r.label[i] << LM_REPLICA_LABEL_SHIFT;
}

/* A block a replica that goes on: the orders of r.pass of the epochs behind it, which leave only the generator and the
 * last order. */
template <bool SHARED> __device__ __forceinline__ void lm_pass_orders(const struct lm_gpu_replicas &r, float *arena)
{
    const uint32_t k = blockIdx.x, begun = r.replica[k].epoch;
    const uint32_t left = begun > r.passed ? begun - r.passed : 0, epochs = left < r.pass ? left : r.pass;
    uint32_t *last = r.order + ((size_t)k * r.window + r.window - 1) * r.n;
    struct lm_warp_generator g = {reinterpret_cast<uint32_t *>(arena), r.used[k]};
    uint32_t *order = SHARED ? g.s + LM_MT_WORDS : last;
    if (epochs == 0)
        return;
    for (uint32_t i = threadIdx.x; i < LM_MT_WORDS; i += LM_WARP_LANES)
        g.s[i] = r.words[(size_t)k * LM_MT_WORDS + i];
    if (SHARED)
        for (uint32_t i = threadIdx.x; i < r.n; i += LM_WARP_LANES)
            order[i] = last[i];
    __syncwarp();
    for (uint32_t e = 0; e < epochs; e++)
        lm_warp_shuffle(g, order, r.n);
    if (SHARED)
        for (uint32_t i = threadIdx.x; i < r.n; i += LM_WARP_LANES)
            last[i] = order[i];
    __syncwarp();
    lm_warp_keep(r, k, g);
}

__global__ void __launch_bounds__(32) lm_pass_kernel(struct lm_gpu_replicas r)
{
    LM_ARENA(arena);
    lm_pass_orders<true>(r, arena);
}

__global__ void __launch_bounds__(32) lm_long_pass_kernel(struct lm_gpu_replicas r)
{
    LM_ARENA(arena);
    lm_pass_orders<false>(r, arena);
}

/* A block a replica: the orders of the epochs to come, each the last one shuffled again. In shared memory where n
 * samples fit, else where they will lie. */
template <bool SHARED> __device__ __forceinline__ void lm_make_orders(const struct lm_gpu_replicas &r, float *arena)
{
    const uint32_t k = blockIdx.x, left = r.replica[k].epochs - r.replica[k].epoch;
    const uint32_t epochs = left < r.window ? left : r.window;
    uint32_t *row = r.order + (size_t)k * r.window * r.n;
    const uint32_t *last = row + (size_t)(r.window - 1) * r.n;
    struct lm_warp_generator g = {reinterpret_cast<uint32_t *>(arena), r.used[k]};
    uint32_t *order = g.s + LM_MT_WORDS;
    if (epochs == 0)
        return;
    for (uint32_t i = threadIdx.x; i < LM_MT_WORDS; i += LM_WARP_LANES)
        g.s[i] = r.words[(size_t)k * LM_MT_WORDS + i];
    if (SHARED)
        for (uint32_t i = threadIdx.x; i < r.n; i += LM_WARP_LANES)
            order[i] = last[i];
    for (uint32_t e = 0; e < epochs; e++, row += r.n) {
        if (!SHARED)
            for (uint32_t i = threadIdx.x; i < r.n; i += LM_WARP_LANES)
                row[i] = last[i];
        __syncwarp();
        lm_warp_shuffle(g, SHARED ? order : row, r.n);
        if (SHARED)
            for (uint32_t i = threadIdx.x; i < r.n; i += LM_WARP_LANES)
                row[i] = order[i];
        last = row;
    }
    __syncwarp();
    lm_warp_keep(r, k, g);
}

__global__ void __launch_bounds__(32) lm_orders_kernel(struct lm_gpu_replicas r)
{
    LM_ARENA(arena);
    lm_make_orders<true>(r, arena);
}

__global__ void __launch_bounds__(32) lm_long_orders_kernel(struct lm_gpu_replicas r)
{
    LM_ARENA(arena);
    lm_make_orders<false>(r, arena);
}

/* A block a replica: its network into network.h's order, parameters (count, 2863). */
struct lm_gpu_unpacking {
    const float *packed;
    float *parameters;
};

__global__ void __launch_bounds__(128) lm_unpack_kernel(struct lm_gpu_unpacking u)
{
    const float *from = u.packed + (size_t)blockIdx.x * LM_REPLICA_PACKED;
    float *to = u.parameters + (size_t)blockIdx.x * LM_REPLICA_FLOATS;
    for (uint32_t w = threadIdx.x; w < LM_REPLICA_PACKED; w += blockDim.x) {
        const uint32_t place = lm_packed_place(w / 128 * 4 + w % 4, w / 4 % LM_WARP_LANES);
        if (place != LM_NOWHERE)
            to[place] = from[w];
    }
}

#endif
