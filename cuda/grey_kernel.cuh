/* grey_kernel.cuh: 8-bit pixels to normalised floats, by the table that src/packed_read.c would use: the same bits, and
 * a quarter of the bytes on the way to the device.
 *
 * The table, 64 KB, is staged in shared memory. A thread looks four pixels up; neighbouring threads look in
 * neighbouring rows, and often for the same value (a background), so the place in a row is mixed with its number.
 */
#ifndef LM_GREY_KERNEL_CUH
#define LM_GREY_KERNEL_CUH

#include "arithmetic.cuh"
#include "replica.h"

#define LM_GREY_BLOCK 1024
#define LM_GREY_BYTES (LM_PIXELS * 256 * sizeof(float))

__device__ __forceinline__ uint32_t lm_grey_place(uint32_t p, uint32_t v)
{
    return p * 256 + (v ^ p / 4 * 2);
}

__global__ void __launch_bounds__(LM_GREY_BLOCK) lm_grey_kernel(struct lm_gpu_grey g)
{
    LM_ARENA(table);
    for (uint32_t k = threadIdx.x; k < LM_PIXELS * 256; k += blockDim.x)
        table[lm_grey_place(k / 256, k % 256)] = g.table[k];
    __syncthreads();
    const size_t words = g.n * (LM_PIXELS / 4), step = (size_t)gridDim.x * blockDim.x;
    for (size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x; k < words; k += step) {
        const uint32_t four = reinterpret_cast<const uint32_t *>(g.pixel)[k], p = k % (LM_PIXELS / 4) * 4;
        float4 x;
        x.x = table[lm_grey_place(p, four & 255u)];
        x.y = table[lm_grey_place(p + 1, four >> 8 & 255u)];
        x.z = table[lm_grey_place(p + 2, four >> 16 & 255u)];
        x.w = table[lm_grey_place(p + 3, four >> 24)];
        lm_store4(g.x + 4 * k, x);
    }
}

#endif
