/* device.c: which GPU this process uses, and four ways of having none.
 *
 * The order of the questions matters. A process without a driver, or with one too old, gets the same error (35) from
 * the count of devices, which then leaves its result as it was; so the driver's version is asked first, and the count
 * is never used after a failure. And any call that needs a context makes one (some 300 MB) on device 0 unless another
 * was set: so no such call comes before cudaSetDevice.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "launch.h"
#include "probe.h"

#ifndef LM_CUDA_BUILT_FOR
#define LM_CUDA_BUILT_FOR "unknown architectures" /* the Makefile says */
#endif

/* ---- is there any? ---- */

/* "13.0" of 13000. */
static void version_text(int version, char text[16])
{
    snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10);
}

static int check_driver(struct lm_error *err)
{
    int driver = 0, runtime = 0;
    char have[16], need[16];
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return lm_fail(err, LM_UNAVAILABLE, "no NVIDIA driver on this host (libcuda.so.1 is not there)");
    cudaRuntimeGetVersion(&runtime);
    /* A driver serves all minor versions of its major one. */
    if (driver / 1000 >= runtime / 1000)
        return LM_OK;
    version_text(driver, have);
    version_text(runtime / 1000 * 1000, need);
    return lm_fail(
        err, LM_UNAVAILABLE,
        "the NVIDIA driver is too old: it serves CUDA %s, this program needs %s or newer (or a build with an "
        "older CUDA)",
        have, need);
}

static int other_failure(cudaError_t result, const char *what, struct lm_error *err)
{
    return lm_fail(err, LM_UNAVAILABLE, "the GPU cannot be used: %s: %s (%s)", what, cudaGetErrorString(result),
                   cudaGetErrorName(result));
}

static int count_devices(int *count, struct lm_error *err)
{
    int n = 0;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    cudaError_t result = cudaGetDeviceCount(&n);
    if (result == cudaSuccess && n > 0) {
        *count = n;
        return LM_OK;
    }
    cudaGetLastError();
    if (result != cudaSuccess && result != cudaErrorNoDevice && result != cudaErrorInvalidDevice)
        return other_failure(result, "cudaGetDeviceCount", err);
    return lm_fail(err, LM_UNAVAILABLE, "there is a driver, but no GPU that this process can see (%s%s%s)",
                   visible ? "CUDA_VISIBLE_DEVICES='" : "CUDA_VISIBLE_DEVICES is not set", visible ? visible : "",
                   visible ? "'" : "");
}

/* ---- does it work? ---- */

static int no_image(int device, struct lm_error *err)
{
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    return lm_fail(err, LM_UNAVAILABLE,
                   "this build has no code for this GPU: its compute capability is %d.%d, the build has %s; build with "
                   "CUDA_ARCHS=%d%d",
                   major, minor, LM_CUDA_BUILT_FOR, major, minor);
}

static int is_exclusive(int device)
{
    int mode = cudaComputeModeDefault;
    return cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, device) == cudaSuccess &&
           mode != cudaComputeModeDefault;
}

static int refuse(cudaError_t result, const char *what, int device, struct lm_error *err)
{
    cudaGetLastError();
    if (result == cudaErrorNoKernelImageForDevice || result == cudaErrorInvalidDeviceFunction ||
        result == cudaErrorUnsupportedPtxVersion)
        return no_image(device, err);
    if (result == cudaErrorDevicesUnavailable && is_exclusive(device))
        return lm_fail(
            err, LM_UNAVAILABLE,
            "the GPU is in an exclusive compute mode and another process has it: use a rank a GPU, start NVIDIA "
            "MPS (nvidia-cuda-mps-control -d), or have the mode set to Default (nvidia-smi -c)");
    return other_failure(result, what, err);
}

/* The device in use: a context, some memory, a launch, and its answer. */
static int try_device(int device, struct lm_error *err)
{
    const unsigned sent = 0x4c4d5350;
    unsigned *word = NULL, answer = 0;
    cudaError_t result = cudaMalloc((void **)&word, sizeof *word);
    if (result != cudaSuccess)
        return refuse(result, "cudaMalloc", device, err);
    result = lm_launch_tiny(word, sent);
    if (result == cudaSuccess)
        result = cudaMemcpy(&answer, word, sizeof answer, cudaMemcpyDeviceToHost);
    cudaFree(word);
    if (result != cudaSuccess)
        return refuse(result, "a first kernel", device, err);
    if (answer != sent)
        return lm_fail(err, LM_UNAVAILABLE, "the GPU cannot be used: a first kernel answered %#x, not %#x", answer,
                       sent);
    return LM_OK;
}

/* ---- who is it? ---- */

static void describe_uuid(const cudaUUID_t *uuid, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "GPU-");
    for (int k = 0; k < 16; k++)
        used += (size_t)snprintf(text + used, size - used, k == 4 || k == 6 || k == 8 || k == 10 ? "-%02x" : "%02x",
                                 (unsigned char)uuid->bytes[k]);
}

static int describe(int device, int visible, struct lm_gpu_device *out, struct lm_error *err)
{
    struct cudaDeviceProp properties;
    cudaError_t result = cudaGetDeviceProperties(&properties, device);
    memset(out, 0, sizeof *out);
    if (result == cudaSuccess)
        result = cudaDeviceGetPCIBusId(out->pci, sizeof out->pci, device);
    if (result == cudaSuccess)
        result = cudaDeviceGetAttribute(&out->block_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (result != cudaSuccess)
        return other_failure(result, "cudaGetDeviceProperties", err);
    out->visible = visible;
    out->ordinal = device;
    snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, properties.name);
    describe_uuid(&properties.uuid, out->uuid, sizeof out->uuid);
    out->major = properties.major;
    out->minor = properties.minor;
    out->memory = properties.totalGlobalMem;
    out->multiprocessors = properties.multiProcessorCount;
    return LM_OK;
}

/* ---- gpu.h ---- */

int lm_gpu_select(int node_rank, struct lm_gpu_device *out, struct lm_error *err)
{
    int count = 0;
    int code = check_driver(err);
    if (code == LM_OK)
        code = count_devices(&count, err);
    if (code != LM_OK)
        return code;
    int device = node_rank % count;
    cudaError_t result = cudaSetDevice(device);
    if (result != cudaSuccess)
        return refuse(result, "cudaSetDevice", device, err);
    code = try_device(device, err);
    return code == LM_OK ? describe(device, count, out, err) : code;
}

int lm_gpu_current(struct lm_gpu_device *out, struct lm_error *err)
{
    int count = 0, device = 0;
    int code = check_driver(err);
    if (code == LM_OK)
        code = count_devices(&count, err);
    if (code == LM_OK && cudaGetDevice(&device) != cudaSuccess)
        code = lm_fail(err, LM_UNAVAILABLE, "the GPU cannot be used: cudaGetDevice failed");
    return code == LM_OK ? describe(device, count, out, err) : code;
}

int lm_gpu_probe(struct lm_error *err)
{
    int count = 0, device = 0;
    int code = check_driver(err);
    if (code == LM_OK)
        code = count_devices(&count, err);
    if (code != LM_OK)
        return code;
    cudaError_t result = cudaGetDevice(&device);
    return result == cudaSuccess ? try_device(device, err) : refuse(result, "cudaGetDevice", device, err);
}

void lm_gpu_version(char *text, size_t size)
{
    int runtime = 0, driver = 0;
    char built[16], serves[16];
    cudaRuntimeGetVersion(&runtime);
    version_text(runtime, built);
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        snprintf(serves, sizeof serves, "none");
    else
        version_text(driver, serves);
    snprintf(text, size, "%s, driver %s; code for %s", built, serves, LM_CUDA_BUILT_FOR);
}
