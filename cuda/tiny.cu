/* tiny.cu: the smallest kernel: if it runs, this build has code for the device. A kernel without code is not launched,
 * and who does not look never learns: the results are whatever lay in memory. */
#include "launch.h"

static __global__ void tiny_kernel(unsigned *word, unsigned value)
{
    *word = value;
}

extern "C" cudaError_t lm_launch_tiny(unsigned *device_word, unsigned value)
{
    tiny_kernel<<<1, 1>>>(device_word, value);
    return cudaGetLastError();
}
