/* infer_kernels.cuh: scoring a batch with less traffic than one thread a (sample, neuron): `shared` and `fused`.
 *
 * shared: one launch a layer. A block stages the weights of up to 16 neurons in shared memory and uses them for 64
 *   samples: a weight comes from global memory once for 64 multiply-adds. 16 lanes are the 16 neurons (their rows lie
 * in different banks, layout.h), and read their sample's x as one broadcast. fused: one launch for the three layers. A
 * block takes 32 samples, a lane a sample, and keeps their activations in shared memory, so only x comes in and only
 * scores go out. Lanes of a warp work on the same neuron: its weight is one broadcast, from global memory by way of the
 * L1 cache.
 *
 * Both serve every shape: what they keep in shared memory stays under 48 KiB. Left out: several samples or neurons a
 * thread, which would need fewer loads a multiply-add.
 */
#ifndef LM_INFER_KERNELS_CUH
#define LM_INFER_KERNELS_CUH

#include "arithmetic.cuh"

/* ---- shared ---- */

/* Grid: x over groups of samples, y over groups of neurons. */
__global__ void __launch_bounds__(LM_GPU_INFER_BLOCK) lm_shared_kernel(struct lm_gpu_forward f)
{
    LM_ARENA(arena);
    const uint32_t first_row = blockIdx.y * LM_GPU_SHARED_ROWS, pitch = f.layer.pitch;
    /* Rows of the network, padding included; the last group may have fewer. */
    const uint32_t left = LM_ROUND4(f.layer.outputs) - first_row;
    const uint32_t rows = left < LM_GPU_SHARED_ROWS ? left : LM_GPU_SHARED_ROWS;
    float *weights = arena, *biases = arena + rows * pitch;

    const float *from = f.parameters + f.layer.weights + first_row * pitch;
    for (uint32_t k = threadIdx.x; k < rows * pitch; k += blockDim.x)
        weights[k] = from[k];
    for (uint32_t k = threadIdx.x; k < rows; k += blockDim.x)
        biases[k] = f.parameters[f.layer.biases + first_row + k];
    __syncthreads();

    const uint32_t row = threadIdx.x % LM_GPU_SHARED_ROWS, i = first_row + row;
    const uint32_t first_sample = blockIdx.x * LM_GPU_SHARED_SAMPLES, lanes = blockDim.x / LM_GPU_SHARED_ROWS;
    for (uint32_t s = threadIdx.x / LM_GPU_SHARED_ROWS; s < LM_GPU_SHARED_SAMPLES; s += lanes) {
        uint32_t sample = first_sample + s;
        if (sample >= f.n || i >= f.columns)
            continue;
        float out = 0.0f;
        if (i < f.layer.outputs) {
            float sum = lm_sum(weights + row * pitch, f.x + (size_t)sample * f.x_pitch, f.layer.inputs);
            out = lm_activate(__fadd_rn(sum, biases[row]), f.activation);
        }
        f.out[(size_t)sample * f.columns + i] = out;
    }
}

/* ---- fused ---- */

/* One layer of the block's samples: in and out are (32, pitch) in shared memory; out NULL: scores to global memory. */
__device__ __forceinline__ void lm_fused_layer(const struct lm_gpu_fused &f, int l, const float *in, float *out)
{
    const struct lm_gpu_layer layer = f.layout.layer[l];
    const uint32_t lane = threadIdx.x % LM_GPU_FUSED_SAMPLES, warps = blockDim.x / LM_GPU_FUSED_SAMPLES;
    const uint32_t sample = blockIdx.x * LM_GPU_FUSED_SAMPLES + lane;
    const uint32_t out_pitch = l + 1 < LM_LAYERS ? f.layout.layer[l + 1].pitch : 0;
    const uint32_t columns = out ? LM_ROUND4(layer.outputs) : LM_CLASSES;
    for (uint32_t i = threadIdx.x / LM_GPU_FUSED_SAMPLES; i < columns; i += warps) {
        float z = 0.0f;
        if (i < layer.outputs)
            z = __fadd_rn(lm_sum(f.parameters + layer.weights + i * layer.pitch, in + lane * layer.pitch, layer.inputs),
                          f.parameters[layer.biases + i]);
        if (out)
            out[lane * out_pitch + i] = lm_relu(z);
        else if (sample < f.n)
            f.scores[(size_t)sample * LM_CLASSES + i] = lm_canonical(z);
    }
}

__global__ void __launch_bounds__(LM_GPU_INFER_BLOCK) lm_fused_kernel(struct lm_gpu_fused f)
{
    LM_ARENA(arena);
    const struct lm_gpu_layer *layer = f.layout.layer;
    float *x = arena, *hidden1 = x + LM_GPU_FUSED_SAMPLES * layer[0].pitch,
          *hidden2 = hidden1 + LM_GPU_FUSED_SAMPLES * layer[1].pitch;

    /* A missing sample of the last block is all +0. */
    const uint32_t first = blockIdx.x * LM_GPU_FUSED_SAMPLES;
    for (uint32_t k = threadIdx.x; k < LM_GPU_FUSED_SAMPLES * LM_PIXELS; k += blockDim.x) {
        uint32_t sample = k / LM_PIXELS, j = k % LM_PIXELS;
        x[sample * layer[0].pitch + j] = first + sample < f.n ? f.x[(size_t)(first + sample) * LM_PIXELS + j] : 0.0f;
    }
    __syncthreads();
    lm_fused_layer(f, 0, x, hidden1);
    __syncthreads();
    lm_fused_layer(f, 1, hidden1, hidden2);
    __syncthreads();
    lm_fused_layer(f, 2, hidden2, NULL);
}

#endif
