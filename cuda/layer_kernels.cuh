/* layer_kernels.cuh: one kernel a layer, everything in global memory. The lab's first versions.
 *
 * naive and resident train with these three, one sample a launch; forward with n samples is inference `global`. A
 * thread an answer: (sample, neuron) forward, a neuron's delta backward, a weight in the update. No shared memory, so
 * no shape and no block size that they cannot take.
 */
#ifndef LM_LAYER_KERNELS_CUH
#define LM_LAYER_KERNELS_CUH

#include "arithmetic.cuh"

/* A thread a (sample, column). Threads of a warp that share a sample read its x as one broadcast. */
__global__ void __launch_bounds__(1024) lm_forward_kernel(struct lm_gpu_forward f)
{
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t sample = thread / f.columns, i = thread % f.columns;
    if (sample >= f.n)
        return; /* no barrier follows */
    float out = 0.0f;
    if (i < f.layer.outputs) {
        const float *row = f.parameters + f.layer.weights + i * f.layer.pitch;
        float z =
            __fadd_rn(lm_sum(row, f.x + (size_t)sample * f.x_pitch, f.layer.inputs), f.parameters[f.layer.biases + i]);
        out = lm_activate(z, f.activation);
    }
    f.out[(size_t)sample * f.columns + i] = out;
}

/* A thread an input of the next layer; threads behind the last write the padding. */
__global__ void __launch_bounds__(1024) lm_delta_kernel(struct lm_gpu_delta d)
{
    uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= LM_ROUND4(d.next.inputs))
        return;
    float delta = 0.0f;
    if (j < d.next.inputs && d.activation[j] > 0.0f)
        delta = lm_sum_column(d.parameters + d.next.weights + j, d.next.pitch, d.next_delta, d.next.outputs);
    d.delta[j] = delta;
}

/* A thread a weight (output i, input j), and one more a row for the bias. */
__global__ void __launch_bounds__(1024) lm_update_kernel(struct lm_gpu_update u)
{
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t i = thread / (u.layer.inputs + 1), j = thread % (u.layer.inputs + 1);
    if (i >= u.layer.outputs)
        return;
    float t = __fmul_rn(u.rate, u.delta[i]);
    if (j < u.layer.inputs) {
        float *w = u.parameters + u.layer.weights + i * u.layer.pitch + j;
        *w = lm_updated_weight(*w, t, u.x[j]);
    } else {
        float *b = u.parameters + u.layer.biases + i;
        *b = lm_updated_bias(*b, t);
    }
}

#endif
