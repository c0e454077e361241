/* range.c: the program's phases as NVTX ranges, for Nsight Systems and Nsight Compute.
 *
 * NVTX 3 is headers alone. A profiler puts a library's path into the environment; without one the first range finds
 * none, and every later one is a test of a pointer. Toolkits before CUDA 10 have no such headers: no ranges then.
 */
#include "gpu.h"

#ifdef __has_include
#if __has_include(<nvtx3/nvToolsExt.h>)
#define HAVE_NVTX 1
#include <nvtx3/nvToolsExt.h>
#endif
#endif

#ifdef HAVE_NVTX

void lm_gpu_range_begin(const char *phase)
{
    nvtxRangePushA(phase);
}

void lm_gpu_range_end(void)
{
    nvtxRangePop();
}

#else

void lm_gpu_range_begin(const char *phase)
{
    (void)phase;
}

void lm_gpu_range_end(void)
{
}

#endif
