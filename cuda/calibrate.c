/* calibrate.c: the GPU's part of a calibration: what a launch, a copy, an allocation, a load, a barrier and a training
 * step cost here. See calibrate.h in src/.
 *
 * The machine's latencies are counted by its own clock in kernels of one block (calibrate_kernels.cuh); calls are timed
 * by the host, since the host's time is what a user waits for.
 */
#include "calibrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replica.h"
#include "session.h"

#define REPEATS     7
#define CALLS       200
#define STEPS       4096
#define SMALL       ((size_t)1024)
#define LARGE       ((size_t)32 << 20)
#define NEAR_STRIDE 65   /* words: another line each, and a chase of STEPS stays within 1.1 MB of L2 */
#define FAR_STRIDE  4099 /* the same within 67 MB of memory */

struct gauge {
    cudaStream_t stream;
    struct lm_calibration *out;
    long long *cycles; /* the device's */
    uint32_t *last;
    struct lm_error *err;
};

static int check(struct gauge *g, cudaError_t result, const char *what)
{
    if (result == cudaSuccess)
        return LM_OK;
    return lm_fail(g->err, LM_FAILED, "GPU: calibration: %s: %s (%s)", what, cudaGetErrorString(result),
                   cudaGetErrorName(result));
}

/* ---- what the driver says ---- */

static double attribute(enum cudaDeviceAttr which)
{
    int device = 0, value = 0;
    if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&value, which, device) != cudaSuccess)
        return 0.0;
    return value;
}

void lm_gpu_driver(char *text, size_t size)
{
    char line[256] = "";
    int version = 0;
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    const char *at = NULL;
    if (f && fgets(line, sizeof line, f))
        at = line;
    if (f)
        fclose(f);
    for (; at && *at;
         at++) /* "... Kernel Module for x86_64  580.159.04  Release Build ...": the first with two points */
        if (*at >= '0' && *at <= '9' && at > line && at[-1] == ' ') {
            size_t n = strspn(at, "0123456789.");
            if (memchr(at, '.', n) && (at[n] == ' ' || at[n] == '\t' || at[n] == '\n')) {
                snprintf(text, size, "%.*s", (int)n, at);
                return;
            }
        }
    cudaDriverGetVersion(&version);
    snprintf(text, size, "CUDA %d.%d", version / 1000, version % 1000 / 10);
}

static int describe(struct gauge *g)
{
    struct lm_gpu_device device;
    struct lm_machine *m = &g->out->machine;
    int code = lm_gpu_current(&device, g->err);
    if (code != LM_OK)
        return code;
    snprintf(m->key.gpu, sizeof m->key.gpu, "%s", device.uuid);
    lm_gpu_driver(m->key.driver, sizeof m->key.driver);
    m->gpu.multiprocessors = device.multiprocessors;
    m->gpu.memory = (double)device.memory;
    m->gpu.block_shared = device.block_shared;
    m->gpu.warp = attribute(cudaDevAttrWarpSize);
    m->gpu.schedulers = 4.0; /* since Maxwell; no attribute says so */
    m->gpu.registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    m->gpu.threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    m->gpu.blocks = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    m->gpu.shared = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    m->gpu.banks = 32.0; /* likewise */
    m->gpu.constant = attribute(cudaDevAttrTotalConstantMemory);
    m->gpu.l2 = attribute(cudaDevAttrL2CacheSize);
    return LM_OK;
}

/* ---- calls, by the host's clock ---- */

typedef cudaError_t (*call)(struct gauge *g, void *context);

/* Seconds of one of CALLS calls in a row, with one wait at the end. */
static int time_calls(struct gauge *g, call what, void *context, double *at, const char *name)
{
    double second[REPEATS];
    int code = LM_OK;
    for (int r = -1; r < REPEATS && code == LM_OK; r++) { /* the first is to warm up */
        double start = lm_gpu_now();
        cudaError_t result = cudaSuccess;
        for (int k = 0; k < CALLS && result == cudaSuccess; k++)
            result = what(g, context);
        if (result == cudaSuccess)
            result = cudaStreamSynchronize(g->stream);
        if (r >= 0)
            second[r] = (lm_gpu_now() - start) / CALLS;
        code = check(g, result, name);
    }
    if (code == LM_OK)
        lm_calibration_set(g->out, at, second, REPEATS);
    return code;
}

static cudaError_t launch(struct gauge *g, void *context)
{
    (void)context;
    return lm_launch_empty(g->stream);
}

static cudaError_t launch_and_wait(struct gauge *g, void *context)
{
    cudaError_t result = launch(g, context);
    return result == cudaSuccess ? cudaStreamSynchronize(g->stream) : result;
}

/* Of the size that a layer's call of gpu:naive takes. */
static cudaError_t allocate_and_free(struct gauge *g, void *context)
{
    void *memory;
    (void)g, (void)context;
    cudaError_t result = cudaMalloc(&memory, 8192);
    return result == cudaSuccess ? cudaFree(memory) : result;
}

struct copying {
    void *device, *host;
    size_t bytes;
    int out;
};

/* As session.c copies: in is queued, out is waited for. */
static cudaError_t copy(struct gauge *g, void *context)
{
    const struct copying *c = context;
    if (!c->out)
        return cudaMemcpyAsync(c->device, c->host, c->bytes, cudaMemcpyHostToDevice, g->stream);
    cudaError_t result = cudaMemcpyAsync(c->host, c->device, c->bytes, cudaMemcpyDeviceToHost, g->stream);
    return result == cudaSuccess ? cudaStreamSynchronize(g->stream) : result;
}

/* Two sizes make the fixed part and the rate. */
static int measure_copy(struct gauge *g, void *device, void *host, int out, struct lm_copy_cost *cost)
{
    struct copying c = {device, host, SMALL, out};
    double rate[REPEATS];
    int code = time_calls(g, copy, &c, &cost->fixed, "a small copy");
    c.bytes = LARGE;
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        double start = lm_gpu_now();
        cudaError_t result = copy(g, &c);
        if (result == cudaSuccess)
            result = cudaStreamSynchronize(g->stream);
        double seconds = lm_gpu_now() - start;
        if (r >= 0)
            rate[r] = (double)LARGE / (seconds > cost->fixed ? seconds - cost->fixed : seconds);
        code = check(g, result, "a large copy");
    }
    if (code == LM_OK)
        lm_calibration_set(g->out, &cost->rate, rate, REPEATS);
    return code;
}

/* The host's own copy of a few hundred KB into memory that it only writes, as quick.c does. */
static int measure_staging(struct gauge *g, const char *from)
{
    const size_t bytes = (size_t)512 << 10;
    char *to = NULL;
    double rate[REPEATS];
    int code =
        check(g, cudaHostAlloc((void **)&to, bytes, cudaHostAllocMapped | cudaHostAllocWriteCombined), "pinned memory");
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        double start = lm_gpu_now();
        for (int k = 0; k < 20; k++)
            memcpy(to, from, bytes);
        if (r >= 0)
            rate[r] = 20.0 * (double)bytes / (lm_gpu_now() - start);
    }
    if (code == LM_OK)
        lm_calibration_set(g->out, &g->out->machine.gpu.staging, rate, REPEATS);
    if (to)
        cudaFreeHost(to);
    return code;
}

static int measure_copies(struct gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    void *device = NULL, *pinned = NULL, *pageable = malloc(LARGE);
    int code = pageable ? LM_OK : lm_fail_memory(g->err, LARGE, "copies");
    if (code == LM_OK) {
        memset(pageable, 1, LARGE);
        code = check(g, cudaMalloc(&device, LARGE), "memory");
    }
    if (code == LM_OK)
        code = check(g, cudaMallocHost(&pinned, LARGE), "pinned memory");
    if (code == LM_OK)
        code = measure_copy(g, device, pinned, 0, &m->gpu.in_pinned);
    if (code == LM_OK)
        code = measure_copy(g, device, pinned, 1, &m->gpu.out_pinned);
    if (code == LM_OK)
        code = measure_copy(g, device, pageable, 0, &m->gpu.in_pageable);
    if (code == LM_OK)
        code = measure_copy(g, device, pageable, 1, &m->gpu.out_pageable);
    if (code == LM_OK)
        code = measure_staging(g, pageable);
    cudaFree(device);
    cudaFreeHost(pinned);
    free(pageable);
    return code;
}

static int measure_calls(struct gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    int code = time_calls(g, launch, NULL, &m->gpu.launch, "launches");
    if (code == LM_OK)
        code = time_calls(g, launch_and_wait, NULL, &m->gpu.launch_wait, "launches and waits");
    if (code == LM_OK)
        code = time_calls(g, allocate_and_free, NULL, &m->gpu.allocation, "allocations");
    return code;
}

/* ---- latencies, by the device's clock ---- */

/* Cycles of a step of one chase. */
static int chase_once(struct gauge *g, struct lm_gpu_chase c, unsigned block, double *each)
{
    long long cycles = 0;
    c.cycles = g->cycles;
    c.last = g->last;
    int code = check(g, lm_launch_chase(c, block, g->stream), "a chase");
    if (code == LM_OK)
        code = check(g, cudaStreamSynchronize(g->stream), "a chase");
    if (code == LM_OK)
        code = check(g, cudaMemcpy(&cycles, g->cycles, sizeof cycles, cudaMemcpyDeviceToHost), "its time");
    *each = (double)cycles / c.steps;
    return code;
}

static int chase(struct gauge *g, struct lm_gpu_chase c, unsigned block, double *at)
{
    double each[REPEATS];
    int code = LM_OK;
    for (int r = 0; r < REPEATS && code == LM_OK; r++)
        code = chase_once(g, c, block, &each[r]);
    if (code == LM_OK)
        lm_calibration_set(g->out, at, each, REPEATS);
    return code;
}

/* Global memory: a chain four times as long as L2, written from its beginning to its end just before, so that what is
 * read first has left the cache again. The same chase twice, near: L2. */
static int measure_global(struct gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    size_t bytes = 4 * (size_t)m->gpu.l2;
    struct lm_gpu_chase c = {.steps = STEPS, .stride = FAR_STRIDE, .cost = LM_GPU_COST_GLOBAL};
    double each[REPEATS];
    int code = LM_OK;
    bytes = bytes > ((size_t)128 << 20) ? bytes : (size_t)128 << 20;
    c.n = (uint32_t)(bytes / sizeof *c.chain);
    code = check(g, cudaMalloc((void **)&c.chain, bytes), "memory");
    for (int r = 0; r < REPEATS && code == LM_OK; r++) { /* written anew each time: the chase itself fills L2 */
        code = check(g, lm_launch_chain(c, g->stream), "a chain");
        if (code == LM_OK)
            code = chase_once(g, c, 32, &each[r]);
    }
    if (code == LM_OK) {
        lm_calibration_set(g->out, &m->gpu.latency_global, each, REPEATS);
        c.stride = NEAR_STRIDE;
        code = check(g, lm_launch_chain(c, g->stream), "a chain");
    }
    c.warm = 1;
    if (code == LM_OK)
        code = chase(g, c, 32, &m->gpu.latency_l2);
    cudaFree(c.chain);
    return code;
}

/* The clock: cycles of a long chain of operations over its seconds. */
static int measure_clock(struct gauge *g)
{
    struct lm_gpu_chase c = {.steps = 4u << 20, .cost = LM_GPU_COST_OPERATION, .cycles = g->cycles, .last = g->last};
    double hertz[REPEATS];
    int code = LM_OK;
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        long long cycles = 0;
        double start = lm_gpu_now();
        code = check(g, lm_launch_chase(c, 32, g->stream), "a chain of operations");
        if (code == LM_OK)
            code = check(g, cudaStreamSynchronize(g->stream), "a chain of operations");
        double seconds = lm_gpu_now() - start;
        if (code == LM_OK)
            code = check(g, cudaMemcpy(&cycles, g->cycles, sizeof cycles, cudaMemcpyDeviceToHost), "its time");
        if (r >= 0)
            hertz[r] = (double)cycles / seconds;
    }
    if (code == LM_OK)
        lm_calibration_set(g->out, &g->out->machine.gpu.clock, hertz, REPEATS);
    return code;
}

static int measure_latencies(struct gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    struct lm_gpu_chase c = {.steps = STEPS};
    int code = check(g, cudaMalloc((void **)&g->cycles, sizeof *g->cycles), "memory");
    if (code == LM_OK)
        code = check(g, cudaMalloc((void **)&g->last, sizeof *g->last), "memory");
    if (code == LM_OK)
        code = measure_clock(g);
    if (code == LM_OK)
        code = measure_global(g);
    c.cost = LM_GPU_COST_SHARED;
    if (code == LM_OK)
        code = chase(g, c, 32, &m->gpu.latency_shared);
    c.cost = LM_GPU_COST_CONSTANT;
    if (code == LM_OK)
        code = chase(g, c, 32, &m->gpu.latency_constant);
    c.cost = LM_GPU_COST_OPERATION;
    if (code == LM_OK)
        code = chase(g, c, 32, &m->gpu.latency_operation);
    c.cost = LM_GPU_COST_BARRIER;
    for (int k = 0; k < LM_BARRIERS && code == LM_OK; k++)
        code = chase(g, c, 32u << k, &m->gpu.barrier[k]);
    cudaFree(g->cycles);
    cudaFree(g->last);
    return code;
}

/* ---- bandwidths: a copy on the device reads and writes ---- */

static int measure_bandwidth(struct gauge *g, size_t bytes, int copies, double *at)
{
    char *memory = NULL;
    double rate[REPEATS];
    int code = check(g, cudaMalloc((void **)&memory, 2 * bytes), "memory");
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        cudaError_t result = cudaSuccess;
        double start = lm_gpu_now();
        for (int k = 0; k < copies && result == cudaSuccess; k++)
            result = cudaMemcpyAsync(memory, memory + bytes, bytes, cudaMemcpyDeviceToDevice, g->stream);
        if (result == cudaSuccess)
            result = cudaStreamSynchronize(g->stream);
        if (r >= 0)
            rate[r] = 2.0 * (double)bytes * copies / (lm_gpu_now() - start);
        code = check(g, result, "a copy on the device");
    }
    cudaFree(memory);
    if (code == LM_OK)
        lm_calibration_set(g->out, at, rate, REPEATS);
    return code;
}

/* ---- training steps ---- */

static int measure_step(struct gauge *g, const struct lm_problem *problem, const char *name, size_t n, uint32_t more,
                        double *at)
{
    const struct lm_backend *backend = lm_calibrate_backend(name);
    double step[REPEATS];
    void *session = NULL;
    if (!backend)
        return lm_fail(g->err, LM_FAILED, "this build has no %s", name);
    int code = backend->open(problem, &session, g->err);
    if (code != LM_OK)
        return code;
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        double seconds;
        code = lm_calibrate_step(backend, session, problem, n, more, &seconds, NULL, g->err);
        if (r >= 0)
            step[r] = seconds;
    }
    backend->close(session);
    if (code == LM_OK)
        lm_calibration_set(g->out, at, step, REPEATS);
    return code;
}

static int measure_steps(struct gauge *g, const struct lm_problem *problem)
{
    struct lm_machine *m = &g->out->machine;
    int code = measure_step(g, problem, "gpu:whole", 1, 11, &m->gpu.step_whole);
    if (code == LM_OK)
        code = measure_step(g, problem, "gpu:fast", 1, 21, &m->gpu.step_fast);
    if (code == LM_OK)
        code = measure_step(g, problem, "gpu:fast", (size_t)m->gpu.multiprocessors * LM_REPLICA_MANY, 11,
                            &m->gpu.step_fast_full);
    return code;
}

int lm_gpu_calibrate(const struct lm_problem *problem, struct lm_calibration *out, struct lm_error *err)
{
    struct gauge g = {.out = out, .err = err};
    struct lm_machine *m = &out->machine;
    if (problem->train.n == 0)
        return lm_fail(err, LM_BAD_INPUT, "there are no training samples to calibrate with");
    int code = describe(&g);
    if (code == LM_OK)
        code = check(&g, cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking), "a stream");
    if (code == LM_OK)
        code = measure_calls(&g);
    if (code == LM_OK)
        code = measure_copies(&g);
    if (code == LM_OK)
        code = measure_latencies(&g);
    if (code == LM_OK)
        code = measure_bandwidth(&g, (size_t)512 << 20, 1, &m->gpu.bandwidth);
    if (code == LM_OK)
        code = measure_bandwidth(&g, (size_t)(m->gpu.l2 / 8.0) + 4096, 50, &m->gpu.l2_bandwidth);
    if (g.stream)
        cudaStreamDestroy(g.stream);
    return code == LM_OK ? measure_steps(&g, problem) : code;
}
