/* replica_kernel.cuh: many trainings in one launch, a warp each. What gpu:fast runs.
 *
 * A training is a chain of steps, and a step a chain of five small products. What a GPU can do is to run many chains at
 * once: a warp takes a replica, keeps its whole network in registers (replica_layout.cuh), trains it to the end of its
 * epochs or until it diverges, and takes the next one that nobody has. Blocks of one warp: nobody waits for others.
 *
 * A step passes through shared memory six times, each time with what the next product needs in the order in which its
 * lanes read it, 16 bytes at a time:
 *   the partial sums of layer 1 -> a1 -> a2 -> e -> delta2 -> t1 = rate delta1, and then, in one pass over its weights,
 *   layer 1's update and its forward pass of the next sample.
 * The small layers are held twice, by rows for the forward pass and by columns for the backward pass; both copies get
 * the same updates. The sample after next is on its way from global memory meanwhile. Losses: e of 32 steps is kept;
 * then each lane makes one step's loss, and all add them up in order.
 *
 * Three warps share a scheduler, 168 registers a lane. Tried and slower: two replicas a warp (fewer instructions, but
 * no registers left to load ahead: 0.8 of the speed), 255 registers (0.86), loading a1 again instead of keeping it
 * (0.9).
 */
#ifndef LM_REPLICA_KERNEL_CUH
#define LM_REPLICA_KERNEL_CUH

#include "replica_layout.cuh"

/* Steps whose e is kept, and words of one: two halves at 64 bytes' distance, and rows in different banks. */
#define LM_RING       32
#define LM_RING_PITCH 36

/* Vectors of 16 lie as p16 below says; x, a1 by partial sums. */
struct lm_warp_memory {
    float x[2 * 64]; /* this step's sample; beside it the one before, and then the next one */
    float p1[4 * 32];
    float a1[32], t1[32];
    float a2[32], t3[32], d2[32], t2[32];
    uint64_t coming[LM_RING]; /* of the steps of this round: where the sample two steps later lies, and the label */
    double loss[LM_RING];
    float e[LM_RING][LM_RING_PITCH];
};

/* A lane's places in vectors of the warp's memory, in bytes, so that an address is one of these, a vector's place that
 * is the same for all lanes, and a constant. Kept: the compiler would rather compute them anew each time. */
struct lm_warp_lane {
    uint32_t lane, word; /* its number; its word of a vector of 32 */
    uint32_t q, h, g;    /* its quarter's 16 words, its half's 16 words, its four neurons of layer 1 */
    uint32_t p32, p16;   /* where a vector of 32 has its word, and one of 16 */
};

__device__ __forceinline__ uint32_t lm_kept(uint32_t word)
{
#ifdef __CUDACC__
    asm volatile("" : "+r"(word));
#endif
    return word;
}

__device__ __forceinline__ struct lm_warp_lane lm_lane_places(uint32_t lane)
{
    struct lm_warp_lane at;
    at.lane = lm_kept(lane);
    at.word = lm_kept(lane * 4);
    at.q = lm_kept(lane / 8 * 64);
    at.h = lm_kept(lane / 16 * 64);
    at.g = lm_kept(lane % 8 * 16);
    at.p32 = lm_kept(lane % 4 * 32 + lane / 4 * 4);
    at.p16 = lm_kept(lane % 4 / 2 * 64 + lane % 2 * 16 + lane % 16 / 4 * 4);
    return at;
}

__device__ __forceinline__ float *lm_place(float *vector, uint32_t bytes)
{
    return reinterpret_cast<float *>(reinterpret_cast<char *>(vector) + bytes);
}

__device__ __forceinline__ const float *lm_place(const float *vector, uint32_t bytes)
{
    return reinterpret_cast<const float *>(reinterpret_cast<const char *>(vector) + bytes);
}

/* N floats from shared memory, 16 bytes at a time and in this order: left to itself the compiler loads what is needed
 * last too early, and then has no registers for what is needed first. */
__device__ __forceinline__ float4 lm_load4_here(const float *from)
{
#ifdef __CUDACC__
    float4 v;
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"((uint32_t)__cvta_generic_to_shared(from)));
    return v;
#else
    return lm_load4(from);
#endif
}

template <int N> __device__ __forceinline__ void lm_read_many(float *v, const float *from)
{
    LM_UNROLL
    for (int j = 0; j < N; j += 4) {
        const float4 u = lm_load4_here(from + j);
        v[j] = u.x;
        v[j + 1] = u.y;
        v[j + 2] = u.z;
        v[j + 3] = u.w;
    }
}

/* A vector of 16 for lanes that need all of it. */
__device__ __forceinline__ void lm_read_both_halves(float *v, const float *from)
{
    lm_read_many<8>(v, from);
    lm_read_many<8>(v + 8, from + 16);
}

/* Rule 1 by two lanes: two partial sums of M terms each, joined with the other half's two. */
template <int M> __device__ __forceinline__ float lm_half_sum(const float *w, const float *v)
{
    float p0 = __fmul_rn(w[0], v[0]), p1 = __fmul_rn(w[M], v[M]);
    LM_UNROLL
    for (int u = 1; u < M; u++) {
        p0 = lm_term(w[u], v[u], p0);
        p1 = lm_term(w[M + u], v[M + u], p1);
    }
    const float p = __fadd_rn(p0, p1);
    return __fadd_rn(p, __shfl_xor_sync(LM_ALL_LANES, p, 16));
}

/* Rule 1 by one lane: four partial sums of four terms. */
__device__ __forceinline__ float lm_sum16(const float *w, const float *v)
{
    float p[4];
    LM_UNROLL
    for (int u = 0; u < 4; u++)
        LM_UNROLL
    for (int k = 0; k < 4; k++)
        p[k] = u == 0 ? __fmul_rn(w[4 * k], v[4 * k]) : lm_term(w[4 * k + u], v[4 * k + u], p[k]);
    return __fadd_rn(__fadd_rn(p[0], p[1]), __fadd_rn(p[2], p[3]));
}

__device__ __forceinline__ void lm_store_sums(float *p1, const struct lm_warp_lane &at, const float *z)
{
    float4 sums;
    sums.x = z[0];
    sums.y = z[1];
    sums.z = z[2];
    sums.w = z[3];
    lm_store4(lm_place(p1, 4 * at.word), sums);
}

/* A word of what is coming: a sample's address, whose low byte is free (replica.h), and in that byte the label. */
__device__ __forceinline__ float2 lm_coming_pixels(uint64_t coming, uint32_t word)
{
    const uint32_t low = (static_cast<uint32_t>(coming) & ~255u) | word * 2;
    const float2 *pixels = reinterpret_cast<const float2 *>((coming & 0xffffffff00000000u) | low);
#ifdef __CUDACC__
    return __ldg(pixels); /* an address that was a number is not known to be one of global memory */
#else
    return *pixels;
#endif
}

/* What a step leaves to the next one: layer 1's update, which is made in one pass with the next sample's sums. */
struct lm_warp_pending {
    float4 t1;  /* of this lane's four neurons */
    float x[4]; /* the sample that it came from, and the next one: the first four of this lane's terms */
    float y[4];
};

__device__ __forceinline__ void lm_warp_ask(struct lm_warp_pending &pending, const struct lm_warp_lane &at,
                                            const float *x, const float *y)
{
    lm_read_many<4>(pending.x, lm_place(x, at.q));
    lm_read_many<4>(pending.y, lm_place(y, at.q));
}

/* Layer 1: the update by the sample before, x, and the partial sums of this one, y. */
__device__ __forceinline__ void lm_warp_layer1(struct lm_warp_network &net, struct lm_warp_memory &m,
                                               const struct lm_warp_lane &at, const struct lm_warp_pending &pending,
                                               const float *x, const float *y)
{
    const float t[4] = {pending.t1.x, pending.t1.y, pending.t1.z, pending.t1.w};
    float z[4];
    LM_UNROLL
    for (int j = 0; j < 16; j += 4) {
        float v[4] = {pending.x[0], pending.x[1], pending.x[2], pending.x[3]};
        float w[4] = {pending.y[0], pending.y[1], pending.y[2], pending.y[3]};
        if (j > 0) {
            lm_read_many<4>(v, lm_place(x, at.q) + j);
            lm_read_many<4>(w, lm_place(y, at.q) + j);
        }
        LM_UNROLL
        for (int u = 0; u < 4; u++) {
            LM_UNROLL
            for (int r = 0; r < 4; r++)
                net.w1[r][j + u] = lm_updated_weight(net.w1[r][j + u], t[r], v[u]);
            LM_UNROLL
            for (int r = 0; r < 4; r++)
                z[r] = j + u == 0 ? __fmul_rn(net.w1[r][0], w[0]) : lm_term(net.w1[r][j + u], w[u], z[r]);
        }
    }
    lm_store_sums(m.p1, at, z);
}

/* The update that the last step has left. */
__device__ __forceinline__ void lm_warp_last(struct lm_warp_network &net, const struct lm_warp_lane &at,
                                             const struct lm_warp_pending &pending, const float *x)
{
    const float t[4] = {pending.t1.x, pending.t1.y, pending.t1.z, pending.t1.w};
    float v[16];
    lm_read_many<16>(v, lm_place(x, at.q));
    LM_UNROLL
    for (int j = 0; j < 16; j++)
        LM_UNROLL
    for (int r = 0; r < 4; r++)
        net.w1[r][j] = lm_updated_weight(net.w1[r][j], t[r], v[j]);
}

/* One step with sample y. x, the one before, becomes the next one, from pixels; and pixels those of the one after it.
 * Each vector is asked for as soon as it is there, and what nobody waits for is done behind that. */
__device__ __forceinline__ void lm_warp_step(struct lm_warp_network &net, struct lm_warp_memory &m,
                                             const struct lm_warp_lane &at, struct lm_warp_pending &pending, float *x,
                                             const float *y, float *e, float2 &pixels, uint64_t coming, float rate)
{
    lm_warp_layer1(net, m, at, pending, x, y);
    __syncwarp();

    const float *p1 = lm_place(m.p1, at.word);
    const float a1 = lm_relu(__fadd_rn(__fadd_rn(__fadd_rn(p1[0], p1[32]), __fadd_rn(p1[64], p1[96])), net.b1));
    *lm_place(m.a1, at.p32) = a1;
    *reinterpret_cast<float2 *>(lm_place(x, 2 * at.word)) = pixels;
    __syncwarp();

    float v1[16];
    lm_read_many<16>(v1, lm_place(m.a1, at.h));
    const float a2 = lm_relu(__fadd_rn(lm_half_sum<8>(net.w2, v1), net.b2));
    *lm_place(m.a2, at.p16) = a2;
    __syncwarp();

    pixels = lm_coming_pixels(coming, at.word);
    float v2[8];
    lm_read_many<8>(v2, lm_place(m.a2, at.h));
    const float score = __fadd_rn(lm_half_sum<4>(net.w3, v2), net.b3);
    const float error = __fsub_rn(score, (at.lane ^ static_cast<uint32_t>(coming)) % 16 == 0 ? 1.0f : 0.0f),
                t3 = __fmul_rn(rate, error);
    *lm_place(e, at.p16) = error;
    *lm_place(m.t3, at.p16) = t3;
    LM_UNROLL
    for (int u = 0; u < 8; u++)
        net.w3[u] = lm_updated_weight(net.w3[u], t3, v2[u]);
    net.b3 = lm_updated_bias(net.b3, t3);
    __syncwarp();

    float ve[8];
    lm_read_many<8>(ve, lm_place(e, at.h));
    const float s2 = lm_half_sum<4>(net.w3t, ve), d2 = a2 > 0.0f ? s2 : 0.0f, t2 = __fmul_rn(rate, d2);
    *lm_place(m.d2, at.p16) = d2;
    *lm_place(m.t2, at.p16) = t2;
    LM_UNROLL
    for (int u = 0; u < 16; u++)
        net.w2[u] = lm_updated_weight(net.w2[u], t2, v1[u]);
    net.b2 = lm_updated_bias(net.b2, t2);
    __syncwarp();

    float vd[16], vt3[8], vt2[16];
    lm_read_both_halves(vd, m.d2);
    const float s1 = lm_sum16(net.w2t, vd), t1 = __fmul_rn(rate, a1 > 0.0f ? s1 : 0.0f);
    *lm_place(m.t1, at.word) = t1;
    net.b1 = lm_updated_bias(net.b1, t1);
    __syncwarp();

    pending.t1 = lm_load4_here(lm_place(m.t1, at.g));
    lm_warp_ask(pending, at, y, x);
    lm_read_many<8>(vt3, lm_place(m.t3, at.h));
    LM_UNROLL
    for (int u = 0; u < 8; u++)
        net.w3t[u] = lm_updated_weight(net.w3t[u], vt3[u], a2);
    lm_read_both_halves(vt2, m.t2);
    LM_UNROLL
    for (int u = 0; u < 16; u++)
        net.w2t[u] = lm_updated_weight(net.w2t[u], vt2[u], a1);
}

#ifdef __CUDACC__
#define LM_NOT_INLINE __noinline__ /* its registers are not to crowd the step's */
#else
#define LM_NOT_INLINE
#endif

/* Rule 3: the losses of rows first ... last - 1 of the ring, added in order to sum. */
static __device__ LM_NOT_INLINE double lm_warp_losses(struct lm_warp_memory &m, uint32_t lane, uint32_t first,
                                                      uint32_t last, double sum)
{
    float e[16];
    lm_read_both_halves(e, m.e[lane]);
    m.loss[lane] = (double)__fmul_rn(0.5f, lm_sum16(e, e));
    __syncwarp();
    LM_UNROLL_BY(8)
    for (uint32_t k = first; k < last; k++)
        sum += m.loss[k];
    __syncwarp();
    return sum;
}

/* The coming 32 steps; now and next: this lane's words of this round's order and of the next one's. */
__device__ __forceinline__ void lm_warp_coming(struct lm_warp_memory &m, uint32_t lane, const float *x, uint32_t now,
                                               uint32_t next)
{
    const uint32_t later = __shfl_sync(LM_ALL_LANES, lane < 2 ? next : now, (lane + 2) % 32);
    const float *sample = x + (later & LM_REPLICA_INDEX) * LM_PIXELS;
    m.coming[lane] = reinterpret_cast<uint64_t>(sample) | now >> LM_REPLICA_LABEL_SHIFT;
    __syncwarp();
}

__device__ __forceinline__ float2 lm_warp_pixels(const float *lane_pixels, uint32_t now, uint32_t k)
{
    const uint32_t word = __shfl_sync(LM_ALL_LANES, now, k);
    return *reinterpret_cast<const float2 *>(lane_pixels + (word & LM_REPLICA_INDEX) * LM_PIXELS);
}

/* Asks for what the next round loads: the compiler waits for a load before it calls lm_warp_losses. */
__device__ __forceinline__ void lm_ask_ahead(const uint32_t *order)
{
#ifdef __CUDACC__
    asm volatile("prefetch.global.L1 [%0];" ::"l"(order));
#else
    (void)order;
#endif
}

/* Trains a replica through the orders it has. */
__device__ __forceinline__ void lm_warp_train(const struct lm_gpu_replicas &r, struct lm_warp_memory &m,
                                              const struct lm_warp_lane &at, uint32_t mine)
{
    struct lm_gpu_replica *replica = &r.replica[mine];
    const uint32_t lane = at.lane, begun = __shfl_sync(LM_ALL_LANES, replica->epoch, 0);
    const uint32_t wanted = __shfl_sync(LM_ALL_LANES, replica->epochs - begun, 0);
    const uint32_t epochs = wanted < r.window ? wanted : r.window;
    if (epochs == 0)
        return;
    const uint32_t *order = r.order + (size_t)mine * r.window * r.n + lane;
    const float *lane_pixels = r.x + 2 * lane;
    float rate = replica->rate;
    struct lm_warp_network net;
    lm_warp_load(net, r.packed + (size_t)mine * LM_REPLICA_PACKED, lane);

    uint32_t this_round = order[0], next_round = order[32];
    *reinterpret_cast<float2 *>(m.x + 2 * lane) = lm_warp_pixels(lane_pixels, this_round, 0);
    float2 pixels = lm_warp_pixels(lane_pixels, this_round, 1);
    /* Before the first step there is no update: w - 0 x 0 is w, of each sign of zero, too. */
    struct lm_warp_pending pending = {};
    *reinterpret_cast<float2 *>(m.x + LM_PIXELS + 2 * lane) = float2{0.0f, 0.0f};
    __syncwarp();
    lm_warp_ask(pending, at, m.x + LM_PIXELS, m.x);

    double sum = 0.0;
    uint32_t left = r.n, epoch = 0; /* steps to the end of the epoch; epochs done here */
    uint32_t here = 0;              /* where in m.x this step's sample lies; the one before, and the next, beside it */
    for (;;) { /* rounds of 32 steps; k and left are the same in all lanes, and the compiler must see it */
        order += 32;
        lm_ask_ahead(order + 64);
        const uint32_t ahead = order[32];
        lm_warp_coming(m, lane, r.x, this_round, next_round);
        uint32_t k = 0;
        do {
            const uint32_t first = k, stop = left < LM_RING - k ? k + left : LM_RING;
            left -= stop - k;
            LM_UNROLL_BY(1)
            for (; k < stop; k++) {
                lm_warp_step(net, m, at, pending, m.x + (here ^ LM_PIXELS), m.x + here, m.e[k], pixels, m.coming[k],
                             rate);
                here ^= LM_PIXELS;
            }
            sum = lm_warp_losses(m, lane, first, stop, sum);
            if (left == 0) {
                if (lane == 0)
                    r.loss[(size_t)mine * r.window + epoch] = sum;
                rate = __fmul_rn(rate, replica->decay);
                epoch++;
                if (epoch == epochs || !__all_sync(LM_ALL_LANES, sum - sum == 0.0)) /* infinity minus itself is NaN */
                    goto trained;
                left = r.n;
                sum = 0.0;
            }
        } while (k < LM_RING);
        this_round = next_round;
        next_round = ahead;
    }
trained:
    lm_warp_last(net, at, pending, m.x + (here ^ LM_PIXELS));
    lm_warp_store(net, r.packed + (size_t)mine * LM_REPLICA_PACKED, lane);
    if (lane == 0) {
        replica->rate = rate;
        replica->epoch = begun + epoch;
    }
    __syncwarp(); /* also tells the compiler that the warp is whole again: or it would not believe it in the next loop
                   */
}

__device__ __forceinline__ void lm_train_replicas(const struct lm_gpu_replicas &r, float *arena)
{
    struct lm_warp_memory &m = *reinterpret_cast<struct lm_warp_memory *>(arena);
    const struct lm_warp_lane at = lm_lane_places(threadIdx.x);
    for (;;) {
        uint32_t mine = 0;
        if (at.lane == 0)
            mine = atomicAdd(r.next, 1u);
        mine = __shfl_sync(LM_ALL_LANES, mine, 0);
        if (mine >= r.count)
            break;
        lm_warp_train(r, m, at, mine);
    }
}

/* Many replicas: LM_REPLICA_MANY warps a multiprocessor. */
__global__ void __launch_bounds__(32, LM_REPLICA_MANY) lm_many_replicas_kernel(struct lm_gpu_replicas r)
{
    LM_ARENA(arena);
    lm_train_replicas(r, arena);
}

/* Few, LM_REPLICA_FEW a multiprocessor at most: with more registers a step waits less, and is a fifth shorter. */
__global__ void __launch_bounds__(32, LM_REPLICA_FEW) lm_few_replicas_kernel(struct lm_gpu_replicas r)
{
    LM_ARENA(arena);
    lm_train_replicas(r, arena);
}

#endif
