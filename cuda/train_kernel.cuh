/* train_kernel.cuh: many training steps in one launch, by one block. What `batch` and `whole` run.
 *
 * SGD is a chain: each step needs the weights of the one before, so one block trains one network, and all that crosses
 * from step to step stays in its shared memory: the weights (layout.h), two samples' inputs, activations and deltas. A
 * launch reads the weights once and writes them once, however many steps it does. `batch` gives it an epoch, `whole`
 * all of them; the kernel is the same, and counts the epochs' ends itself.
 *
 * A step has six stages with a barrier behind each:
 *   1. layer 1 forward. Meanwhile the next sample goes into the other input buffer, and the loads for the one after it
 *      start: index, row and label are each fetched a step before they are used, so no step waits for global memory.
 *   2. layer 2 forward.      3. layer 3 forward, and e = score - onehot.
 *   4. delta2; the last thread adds the sample's loss to the epoch's sum, in double, in order.
 *   5. delta1; layer 3's update (nobody reads its weights any more).
 *   6. the updates of layers 2 and 1.
 * Forward, four neighbouring lanes do one neuron, a lane a partial sum of rule 1, joined by two shuffles: 128 threads
 * are just what the lab's 32 neurons need. Backward, a thread a neuron. In an update, a warp a row, lanes its columns:
 * no division, and neighbouring lanes touch neighbouring words.
 *
 * It is compiled twice: for any shape, and with the lab's widths as constants, which leaves loops without conditions.
 * Left out: registers for weights, fewer barriers, one warp alone. That is another kernel's business; this one is the
 * lab's, and takes every shape and every block size.
 */
#ifndef LM_TRAIN_KERNEL_CUH
#define LM_TRAIN_KERNEL_CUH

#include "arithmetic.cuh"

#define LM_WARP     32u
#define LM_FETCHERS (LM_PIXELS / 4) /* threads 0 ... 15 bring a sample, four pixels each */

/* The block's shared memory. lm_gpu_training_bytes_of (kernels.h) is its size. */
struct lm_block {
    float *parameters;
    float *x;        /* (2, 64): this step's sample and the next one's */
    float *a1, *a2;  /* after the ReLU */
    float *d1, *d2;  /* deltas */
    float *e;        /* (16): delta3; e[15] is +0 */
    uint32_t *label; /* (2), as x */
    uint32_t *stop;
};

__device__ __forceinline__ struct lm_block lm_block_of(float *arena, const struct lm_gpu_layout &layout)
{
    const uint32_t hidden1 = LM_ROUND4(layout.layer[0].outputs), hidden2 = LM_ROUND4(layout.layer[1].outputs);
    struct lm_block b;
    b.parameters = arena;
    b.x = b.parameters + layout.floats;
    b.a1 = b.x + 2 * LM_PIXELS;
    b.d1 = b.a1 + hidden1;
    b.a2 = b.d1 + hidden1;
    b.d2 = b.a2 + hidden2;
    b.e = b.d2 + hidden2;
    b.label = reinterpret_cast<uint32_t *>(b.e + LM_ROUND4(LM_CLASSES));
    b.stop = b.label + 2;
    return b;
}

/* ---- fetching samples ahead ---- */

/* What a thread holds of the samples to come: its four pixels of the next one, and where the one after it lies. */
struct lm_ahead {
    float4 pixels;
    uint32_t label;
    uint32_t index;
};

/* The index of step s; behind the last one, that of the last one: it is fetched and never used. */
__device__ __forceinline__ uint32_t lm_index(const struct lm_gpu_training &t, uint32_t s)
{
    return t.order[s < t.steps ? s : t.steps - 1];
}

__device__ __forceinline__ void lm_fetch(const struct lm_gpu_training &t, uint32_t index, struct lm_ahead *ahead)
{
    ahead->pixels = lm_load4(t.x + (size_t)index * LM_PIXELS + 4 * threadIdx.x);
    ahead->label = t.label[index];
}

/* What was fetched, into buffer k. */
__device__ __forceinline__ void lm_place(const struct lm_block &b, uint32_t k, const struct lm_ahead &ahead)
{
    lm_store4(b.x + k * LM_PIXELS + 4 * threadIdx.x, ahead.pixels);
    if (threadIdx.x == 0)
        b.label[k] = ahead.label;
}

/* Before step 0: its sample is in buffer 0, step 1's is fetched, step 2's index is known. */
__device__ __forceinline__ void lm_start_fetching(const struct lm_gpu_training &t, const struct lm_block &b,
                                                  struct lm_ahead *ahead)
{
    if (threadIdx.x >= LM_FETCHERS)
        return;
    lm_fetch(t, lm_index(t, 0), ahead);
    lm_place(b, 0, *ahead);
    lm_fetch(t, lm_index(t, 1), ahead);
    ahead->index = lm_index(t, 2);
}

/* During step s: step s + 1's sample into its buffer, step s + 2's is fetched. */
__device__ __forceinline__ void lm_keep_fetching(const struct lm_gpu_training &t, const struct lm_block &b, uint32_t s,
                                                 struct lm_ahead *ahead)
{
    if (threadIdx.x >= LM_FETCHERS)
        return;
    lm_place(b, (s + 1) & 1, *ahead);
    lm_fetch(t, ahead->index, ahead);
    ahead->index = lm_index(t, s + 3);
}

/* ---- the stages ---- */

/* z of output i, for all four lanes of its quad; all threads of the block call it, i may be beyond the last. */
__device__ __forceinline__ float lm_quad_z(const struct lm_gpu_layer &layer, const float *parameters, const float *x,
                                           uint32_t i)
{
    const uint32_t lane = threadIdx.x & 3;
    float p = LM_NO_TERM;
    if (i < layer.outputs) {
        const float *w = parameters + layer.weights + i * layer.pitch + lane, *v = x + lane;
        uint32_t j = 0;
        for (; j + 12 < layer.inputs; j += 16) { /* as in lm_sum */
            const float w0 = w[j], w1 = w[j + 4], w2 = w[j + 8], w3 = w[j + 12];
            const float v0 = v[j], v1 = v[j + 4], v2 = v[j + 8], v3 = v[j + 12];
            p = lm_term(w3, v3, lm_term(w2, v2, lm_term(w1, v1, lm_term(w0, v0, p))));
        }
        for (; j < layer.inputs; j += 4)
            p = lm_term(w[j], v[j], p);
    }
    p = lm_sum_of_quad(p);
    return i < layer.outputs ? __fadd_rn(p, parameters[layer.biases + i]) : 0.0f;
}

__device__ __forceinline__ void lm_block_hidden(const struct lm_gpu_layer &layer, const float *parameters,
                                                const float *x, float *a)
{
    const uint32_t quads = blockDim.x / 4;
    for (uint32_t first = 0; first < layer.outputs; first += quads) {
        uint32_t i = first + threadIdx.x / 4;
        float z = lm_quad_z(layer, parameters, x, i);
        if (i < layer.outputs && threadIdx.x % 4 == 0)
            a[i] = lm_relu(z);
    }
}

/* Rule 3: e of the last layer. */
__device__ __forceinline__ void lm_block_errors(const struct lm_gpu_layer &layer, const float *parameters,
                                                const float *x, uint32_t label, float *e)
{
    const uint32_t quads = blockDim.x / 4;
    for (uint32_t first = 0; first < LM_CLASSES; first += quads) {
        uint32_t c = first + threadIdx.x / 4;
        float score = lm_quad_z(layer, parameters, x, c);
        if (c < LM_CLASSES && threadIdx.x % 4 == 0)
            e[c] = __fsub_rn(score, c == label ? 1.0f : 0.0f);
    }
}

__device__ __forceinline__ void lm_block_deltas(const struct lm_gpu_layer &next, const float *parameters,
                                                const float *next_delta, const float *a, float *delta)
{
    for (uint32_t j = threadIdx.x; j < next.inputs; j += blockDim.x)
        delta[j] =
            a[j] > 0.0f ? lm_sum_column(parameters + next.weights + j, next.pitch, next_delta, next.outputs) : 0.0f;
}

/* Four weights of one row. Columns behind the layer's inputs are padding, and stay +0 even if t is not finite. */
__device__ __forceinline__ float4 lm_updated_weights(float4 w, float t, float4 x, uint32_t column, uint32_t inputs)
{
    w.x = lm_updated_weight(w.x, t, x.x);
    w.y = column + 1 < inputs ? lm_updated_weight(w.y, t, x.y) : 0.0f;
    w.z = column + 2 < inputs ? lm_updated_weight(w.z, t, x.z) : 0.0f;
    w.w = column + 3 < inputs ? lm_updated_weight(w.w, t, x.w) : 0.0f;
    return w;
}

/* A thread keeps its four columns' inputs and goes down the rows, four rows at a time: all loads, then all stores,
 * since nobody can tell the compiler that one row's store does not change the next one's load. A row has as many
 * threads as its groups of four columns, rounded up to a power of two: 32 at most. */
__device__ __forceinline__ void lm_block_update(const struct lm_gpu_layer &layer, float *parameters, float rate,
                                                const float *delta, const float *x)
{
    const uint32_t groups = LM_ROUND4(layer.inputs) / 4,
                   bits = groups > 1 ? 32 - (uint32_t)__clz((int)(groups - 1)) : 0;
    const uint32_t column = 4 * (threadIdx.x & ((1u << bits) - 1)), rows = blockDim.x >> bits;
    if (column >= layer.inputs)
        return; /* no barrier follows in here */
    const float4 v = lm_load4(x + column);
    float *w = parameters + layer.weights + column, *b = parameters + layer.biases;
    uint32_t i = threadIdx.x >> bits;
    for (; i + 3 * rows < layer.outputs; i += 4 * rows) {
        const uint32_t i1 = i + rows, i2 = i1 + rows, i3 = i2 + rows;
        const float t0 = __fmul_rn(rate, delta[i]), t1 = __fmul_rn(rate, delta[i1]), t2 = __fmul_rn(rate, delta[i2]),
                    t3 = __fmul_rn(rate, delta[i3]);
        const float4 w0 = lm_load4(w + i * layer.pitch), w1 = lm_load4(w + i1 * layer.pitch),
                     w2 = lm_load4(w + i2 * layer.pitch), w3 = lm_load4(w + i3 * layer.pitch);
        float b0 = 0.0f, b1 = 0.0f, b2 = 0.0f, b3 = 0.0f;
        if (column == 0) { /* nobody else may even look: this thread writes them below */
            b0 = b[i];
            b1 = b[i1];
            b2 = b[i2];
            b3 = b[i3];
        }
        lm_store4(w + i * layer.pitch, lm_updated_weights(w0, t0, v, column, layer.inputs));
        lm_store4(w + i1 * layer.pitch, lm_updated_weights(w1, t1, v, column, layer.inputs));
        lm_store4(w + i2 * layer.pitch, lm_updated_weights(w2, t2, v, column, layer.inputs));
        lm_store4(w + i3 * layer.pitch, lm_updated_weights(w3, t3, v, column, layer.inputs));
        if (column == 0) {
            b[i] = lm_updated_bias(b0, t0);
            b[i1] = lm_updated_bias(b1, t1);
            b[i2] = lm_updated_bias(b2, t2);
            b[i3] = lm_updated_bias(b3, t3);
        }
    }
    for (; i < layer.outputs; i += rows) {
        const float t = __fmul_rn(rate, delta[i]);
        lm_store4(w + i * layer.pitch, lm_updated_weights(lm_load4(w + i * layer.pitch), t, v, column, layer.inputs));
        if (column == 0)
            b[i] = lm_updated_bias(b[i], t);
    }
}

/* One step. The last thread alone knows and returns the sum of losses. */
__device__ __forceinline__ double lm_block_step(const struct lm_gpu_training &t, const struct lm_gpu_layout &layout,
                                                const struct lm_block &b, uint32_t s, float rate,
                                                struct lm_ahead *ahead, double sum)
{
    const struct lm_gpu_layer *layer = layout.layer;
    const float *x = b.x + (s & 1) * LM_PIXELS;
    lm_keep_fetching(t, b, s, ahead);
    lm_block_hidden(layer[0], b.parameters, x, b.a1);
    __syncthreads();
    lm_block_hidden(layer[1], b.parameters, b.a1, b.a2);
    __syncthreads();
    lm_block_errors(layer[2], b.parameters, b.a2, b.label[s & 1], b.e);
    __syncthreads();
    lm_block_deltas(layer[2], b.parameters, b.e, b.a2, b.d2);
    if (threadIdx.x == blockDim.x - 1)
        sum += (double)__fmul_rn(0.5f, lm_sum(b.e, b.e, LM_CLASSES));
    __syncthreads();
    lm_block_deltas(layer[1], b.parameters, b.d2, b.a1, b.d1);
    lm_block_update(layer[2], b.parameters, rate, b.e, b.a2);
    __syncthreads();
    lm_block_update(layer[1], b.parameters, rate, b.d2, b.a1);
    lm_block_update(layer[0], b.parameters, rate, b.d1, x);
    __syncthreads();
    return sum;
}

/* ---- the kernel ---- */

/* All that the steps read before they write it: weights, and +0 where there is padding. */
__device__ __forceinline__ void lm_block_begin(const struct lm_gpu_training &t, const struct lm_block &b)
{
    for (uint32_t k = threadIdx.x; k < t.layout.floats; k += blockDim.x)
        b.parameters[k] = t.parameters[k];
    for (float *word = b.a1 + threadIdx.x; word < b.e + LM_ROUND4(LM_CLASSES); word += blockDim.x)
        *word = 0.0f;
}

/* The end of an epoch: its loss goes out. Not 0, for all threads alike, if it is not finite. */
__device__ __forceinline__ uint32_t lm_block_epoch(const struct lm_block &b, double sum, double *loss)
{
    if (threadIdx.x == blockDim.x - 1) {
        *loss = sum;
        *b.stop = !(sum - sum == 0.0); /* infinity minus itself is NaN */
    }
    __syncthreads();
    return *b.stop;
}

__device__ __forceinline__ void lm_train(struct lm_gpu_training &t, const struct lm_gpu_layout &layout, float *arena)
{
    const struct lm_block b = lm_block_of(arena, layout);
    struct lm_ahead ahead = {};
    lm_block_begin(t, b);
    lm_start_fetching(t, b, &ahead);
    __syncthreads();

    double sum = t.first > 0 ? *t.loss : 0.0;
    uint32_t place = t.first, stop = 0;
    float rate = t.rate;
    for (uint32_t s = 0; s < t.steps && !stop; s++) {
        sum = lm_block_step(t, layout, b, s, rate, &ahead, sum);
        if (++place == t.n) {
            stop = lm_block_epoch(b, sum, t.loss++);
            place = 0;
            sum = 0.0;
            rate = __fmul_rn(rate, t.decay);
        }
    }
    if (place > 0 && threadIdx.x == blockDim.x - 1)
        *t.loss = sum;
    for (uint32_t k = threadIdx.x; k < t.layout.floats; k += blockDim.x)
        t.parameters[k] = b.parameters[k];
}

/* Any shape. */
__global__ void __launch_bounds__(1024) lm_train_kernel(struct lm_gpu_training t)
{
    LM_ARENA(arena);
    lm_train(t, t.layout, arena);
}

/* The lab's, 64-32-16-15: the same code with its widths as constants, as the lab's programs have them. */
__device__ __forceinline__ struct lm_gpu_layout lm_lab_layout()
{
    return {{{64, 32, 68, 0, 2176}, {32, 16, 36, 2208, 2784}, {16, 15, 20, 2800, 3120}}, 3136};
}

__global__ void __launch_bounds__(1024) lm_train_lab_kernel(struct lm_gpu_training t)
{
    LM_ARENA(arena);
    const struct lm_gpu_layout layout = lm_lab_layout();
    lm_train(t, layout, arena);
}

#endif
