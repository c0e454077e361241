/* calibrate.c: the GPU's part of a calibration: what a launch, a copy, an allocation, a load, a barrier and a training
 * step cost here. See calibrate.h in src/.
 *
 * The machine's latencies are counted by its own clock in kernels of one block (calibrate_kernels.cuh); calls are timed
 * by the host, since the host's time is what a user waits for.
 */
#include <stdio.h>
#include <string.h>

#include "gauge.h"
#include "replica.h"
#include "session.h"

#define REPEATS      7
#define STEPS        4096
#define NEAR_STRIDE  65   /* words: another line each, and a chase of STEPS stays within 1.1 MB of L2 */
#define FAR_STRIDE   4099 /* the same within 67 MB of memory */
#define QUEUE_SHARED ((size_t)16 << 10)

int lm_gauge_check(struct lm_gauge *g, cudaError_t result, const char *what)
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

static int describe(struct lm_gauge *g)
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

int lm_gauge_calls(struct lm_gauge *g, lm_gauge_call what, void *context, double *second, const char *name)
{
    double start = lm_gpu_now();
    cudaError_t result = cudaSuccess;
    for (int k = 0; k < LM_GAUGE_CALLS && result == cudaSuccess; k++)
        result = what(g, context);
    if (result == cudaSuccess)
        result = cudaStreamSynchronize(g->stream);
    *second = (lm_gpu_now() - start) / LM_GAUGE_CALLS;
    return lm_gauge_check(g, result, name);
}

static int time_calls(struct lm_gauge *g, lm_gauge_call what, void *context, double *at, const char *name)
{
    double second[REPEATS], first;
    int code = lm_gauge_calls(g, what, context, &first, name); /* to warm up */
    for (int r = 0; r < REPEATS && code == LM_OK; r++)
        code = lm_gauge_calls(g, what, context, &second[r], name);
    if (code == LM_OK)
        lm_calibration_set(g->out, at, second, REPEATS);
    return code;
}

static cudaError_t launch(struct lm_gauge *g, void *context)
{
    (void)context;
    return lm_launch_empty(0, g->stream);
}

static cudaError_t launch_and_wait(struct lm_gauge *g, void *context)
{
    cudaError_t result = launch(g, context);
    return result == cudaSuccess ? cudaStreamSynchronize(g->stream) : result;
}

/* Of the size that a layer's call of gpu:naive takes. */
static cudaError_t allocate_and_free(struct lm_gauge *g, void *context)
{
    void *memory;
    (void)g, (void)context;
    cudaError_t result = cudaMalloc(&memory, 8192);
    return result == cudaSuccess ? cudaFree(memory) : result;
}

static int measure_calls(struct lm_gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    int code = time_calls(g, launch, NULL, &m->gpu.launch, "launches");
    if (code == LM_OK)
        code = time_calls(g, launch_and_wait, NULL, &m->gpu.launch_wait, "launches and waits");
    if (code == LM_OK)
        code = time_calls(g, allocate_and_free, NULL, &m->gpu.allocation, "allocations");
    void *other = NULL; /* keeps the chunk that small allocations are taken from */
    if (code == LM_OK)
        code = lm_gauge_check(g, cudaMalloc(&other, 8192), "memory");
    if (code == LM_OK)
        code = time_calls(g, allocate_and_free, NULL, &m->gpu.allocation_more, "allocations beside another");
    cudaFree(other);
    return code;
}

/* ---- latencies, by the device's clock ---- */

/* Cycles of a step of one chase. */
static int chase_once(struct lm_gauge *g, struct lm_gpu_chase c, unsigned block, double *each)
{
    long long cycles = 0;
    c.cycles = g->cycles;
    c.last = g->last;
    int code = lm_gauge_check(g, lm_launch_chase(c, block, g->stream), "a chase");
    if (code == LM_OK)
        code = lm_gauge_check(g, cudaStreamSynchronize(g->stream), "a chase");
    if (code == LM_OK)
        code = lm_gauge_check(g, cudaMemcpy(&cycles, g->cycles, sizeof cycles, cudaMemcpyDeviceToHost), "its time");
    *each = (double)cycles / c.steps;
    return code;
}

static int chase(struct lm_gauge *g, struct lm_gpu_chase c, unsigned block, double *at)
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
static int measure_global(struct lm_gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    size_t bytes = 4 * (size_t)m->gpu.l2;
    struct lm_gpu_chase c = {.steps = STEPS, .stride = FAR_STRIDE, .cost = LM_GPU_COST_GLOBAL};
    double each[REPEATS];
    int code = LM_OK;
    bytes = bytes > ((size_t)128 << 20) ? bytes : (size_t)128 << 20;
    c.n = (uint32_t)(bytes / sizeof *c.chain);
    code = lm_gauge_check(g, cudaMalloc((void **)&c.chain, bytes), "memory");
    for (int r = 0; r < REPEATS && code == LM_OK; r++) { /* written anew each time: the chase itself fills L2 */
        code = lm_gauge_check(g, lm_launch_chain(c, g->stream), "a chain");
        if (code == LM_OK)
            code = chase_once(g, c, 32, &each[r]);
    }
    if (code == LM_OK) {
        lm_calibration_set(g->out, &m->gpu.latency_global, each, REPEATS);
        c.stride = NEAR_STRIDE;
        code = lm_gauge_check(g, lm_launch_chain(c, g->stream), "a chain");
    }
    c.warm = 1;
    if (code == LM_OK)
        code = chase(g, c, 32, &m->gpu.latency_l2);
    cudaFree(c.chain);
    return code;
}

/* The clock: cycles of a long chain of operations over its seconds. */
static int measure_clock(struct lm_gauge *g)
{
    struct lm_gpu_chase c = {.steps = 4u << 20, .cost = LM_GPU_COST_OPERATION, .cycles = g->cycles, .last = g->last};
    double hertz[REPEATS];
    int code = LM_OK;
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        long long cycles = 0;
        double start = lm_gpu_now();
        code = lm_gauge_check(g, lm_launch_chase(c, 32, g->stream), "a chain of operations");
        if (code == LM_OK)
            code = lm_gauge_check(g, cudaStreamSynchronize(g->stream), "a chain of operations");
        double seconds = lm_gpu_now() - start;
        if (code == LM_OK)
            code = lm_gauge_check(g, cudaMemcpy(&cycles, g->cycles, sizeof cycles, cudaMemcpyDeviceToHost), "its time");
        if (r >= 0)
            hertz[r] = (double)cycles / seconds;
    }
    if (code == LM_OK)
        lm_calibration_set(g->out, &g->out->machine.gpu.clock, hertz, REPEATS);
    return code;
}

/* Seconds of one of many kernels by the device's clock: they are queued behind a chain of operations that takes longer
 * than launching them, so that the host keeps none of them waiting. Every second one has so much shared memory. */
static int time_queue(struct lm_gauge *g, cudaEvent_t begin, cudaEvent_t end, size_t shared, double *second)
{
    struct lm_gpu_chase c = {.steps = 2u << 20, .cost = LM_GPU_COST_OPERATION, .cycles = g->cycles, .last = g->last};
    float milliseconds = 0.0f;
    cudaError_t result = lm_launch_chase(c, 32, g->stream);
    if (result == cudaSuccess)
        result = cudaEventRecord(begin, g->stream);
    for (int k = 0; k < LM_GAUGE_CALLS && result == cudaSuccess; k++)
        result = lm_launch_empty(k % 2 ? shared : 0, g->stream);
    if (result == cudaSuccess)
        result = cudaEventRecord(end, g->stream);
    if (result == cudaSuccess)
        result = cudaEventSynchronize(end);
    if (result == cudaSuccess)
        result = cudaEventElapsedTime(&milliseconds, begin, end);
    *second = 1e-3 * (double)milliseconds / LM_GAUGE_CALLS;
    return lm_gauge_check(g, result, "kernels in a queue");
}

static int measure_queue(struct lm_gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    double same[REPEATS], other[REPEATS], first;
    cudaEvent_t begin = NULL, end = NULL;
    int code = lm_gauge_check(g, cudaEventCreate(&begin), "an event");
    if (code == LM_OK)
        code = lm_gauge_check(g, cudaEventCreate(&end), "an event");
    if (code == LM_OK)
        code = time_queue(g, begin, end, QUEUE_SHARED, &first);
    for (int r = 0; r < REPEATS && code == LM_OK; r++) {
        code = time_queue(g, begin, end, 0, &same[r]);
        if (code == LM_OK)
            code = time_queue(g, begin, end, QUEUE_SHARED, &other[r]);
        if (code == LM_OK)
            other[r] = other[r] > same[r] ? other[r] - same[r] : 0.0;
    }
    if (code == LM_OK) {
        lm_calibration_set(g->out, &m->gpu.kernel, same, REPEATS);
        lm_calibration_set(g->out, &m->gpu.division, other, REPEATS);
    }
    if (begin)
        cudaEventDestroy(begin);
    if (end)
        cudaEventDestroy(end);
    return code;
}

static int measure_latencies(struct lm_gauge *g)
{
    struct lm_machine *m = &g->out->machine;
    struct lm_gpu_chase c = {.steps = STEPS};
    int code = lm_gauge_check(g, cudaMalloc((void **)&g->cycles, sizeof *g->cycles), "memory");
    if (code == LM_OK)
        code = lm_gauge_check(g, cudaMalloc((void **)&g->last, sizeof *g->last), "memory");
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
    if (code == LM_OK)
        code = measure_queue(g);
    cudaFree(g->cycles);
    cudaFree(g->last);
    return code;
}

/* ---- bandwidths: a copy on the device reads and writes ---- */

static int measure_bandwidth(struct lm_gauge *g, size_t bytes, int copies, double *at)
{
    char *memory = NULL;
    double rate[REPEATS];
    int code = lm_gauge_check(g, cudaMalloc((void **)&memory, 2 * bytes), "memory");
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        cudaError_t result = cudaSuccess;
        double start = lm_gpu_now();
        for (int k = 0; k < copies && result == cudaSuccess; k++)
            result = cudaMemcpyAsync(memory, memory + bytes, bytes, cudaMemcpyDeviceToDevice, g->stream);
        if (result == cudaSuccess)
            result = cudaStreamSynchronize(g->stream);
        if (r >= 0)
            rate[r] = 2.0 * (double)bytes * copies / (lm_gpu_now() - start);
        code = lm_gauge_check(g, result, "a copy on the device");
    }
    cudaFree(memory);
    if (code == LM_OK)
        lm_calibration_set(g->out, at, rate, REPEATS);
    return code;
}

/* ---- training steps ---- */

/* once: what is done once a call; NULL: not asked. */
static int measure_step(struct lm_gauge *g, const struct lm_problem *problem, const char *name, struct lm_shape shape,
                        size_t n, uint32_t more, double *at, double *once)
{
    const struct lm_backend *backend = lm_calibrate_backend(name);
    double step[REPEATS], begun[REPEATS];
    void *session = NULL;
    if (!backend)
        return lm_fail(g->err, LM_FAILED, "this build has no %s", name);
    int code = backend->open(problem, &session, g->err);
    if (code != LM_OK)
        return code;
    for (int r = -1; r < REPEATS && code == LM_OK; r++) {
        double seconds, first;
        code = lm_calibrate_step(backend, session, problem, shape, n, more, &seconds, &first, g->err);
        if (r < 0)
            continue;
        step[r] = seconds;
        begun[r] = first;
    }
    backend->close(session);
    if (code == LM_OK)
        lm_calibration_set(g->out, at, step, REPEATS);
    if (code == LM_OK && once)
        lm_calibration_set(g->out, once, begun, REPEATS);
    return code;
}

/* What a replica more costs beside its steps: all at once against one. */
static int measure_replicas(struct lm_gauge *g, const struct lm_problem *problem)
{
    const struct lm_shape lab = {32, 16};
    struct lm_machine *m = &g->out->machine;
    const size_t all = (size_t)m->gpu.multiprocessors * LM_REPLICA_MANY;
    int code = measure_step(g, problem, "gpu:fast", lab, 1, 21, &m->gpu.step_fast, &m->gpu.training_fast);
    if (code == LM_OK)
        code = measure_step(g, problem, "gpu:fast", lab, all, 11, &m->gpu.step_fast_full, &m->gpu.replica);
    double more = m->gpu.replica - m->gpu.training_fast;
    m->gpu.replica = more > 0.0 ? more / (double)(all - 1) : 0.0;
    return code;
}

static int measure_steps(struct lm_gauge *g, const struct lm_problem *problem)
{
    const struct lm_shape lab = {32, 16};
    struct lm_machine *m = &g->out->machine;
    int code = measure_step(g, problem, "gpu:whole", lab, 1, 11, &m->gpu.step_whole, NULL);
    if (code == LM_OK)
        code = measure_step(g, problem, "gpu:whole", LM_SMALL_SHAPE, 1, 5, &m->gpu.step_small, NULL);
    if (code == LM_OK)
        code = measure_step(g, problem, "gpu:whole", LM_WIDE_SHAPE, 1, 5, &m->gpu.step_wide, NULL);
    return code == LM_OK ? measure_replicas(g, problem) : code;
}

/* ---- all of it ---- */

/* Copies are measured a few times between the other parts: the host's memory is not always as fast. */
static int measure_all(struct lm_gauge *g, const struct lm_problem *problem)
{
    struct lm_machine *m = &g->out->machine;
    struct lm_gauge_copies *copies = NULL;
    int code = measure_calls(g);
    if (code == LM_OK)
        code = lm_gauge_copies_open(g, &copies);
    if (code == LM_OK)
        code = lm_gauge_copies_rounds(copies, 3);
    if (code == LM_OK)
        code = measure_latencies(g);
    if (code == LM_OK)
        code = measure_bandwidth(g, (size_t)512 << 20, 1, &m->gpu.bandwidth);
    if (code == LM_OK)
        code = measure_bandwidth(g, (size_t)(m->gpu.l2 / 8.0) + 4096, 50, &m->gpu.l2_bandwidth);
    if (code == LM_OK)
        code = lm_gauge_copies_rounds(copies, 3);
    if (code == LM_OK)
        code = measure_steps(g, problem);
    if (code == LM_OK)
        code = lm_gauge_copies_rounds(copies, 3);
    if (code == LM_OK)
        lm_gauge_copies_finish(copies);
    lm_gauge_copies_close(copies);
    return code;
}

int lm_gpu_calibrate(const struct lm_problem *problem, struct lm_calibration *out, struct lm_error *err)
{
    struct lm_gauge g = {.out = out, .err = err};
    if (problem->train.n == 0)
        return lm_fail(err, LM_BAD_INPUT, "there are no training samples to calibrate with");
    int code = describe(&g);
    if (code == LM_OK)
        code = lm_gauge_check(&g, cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking), "a stream");
    if (code == LM_OK)
        code = measure_all(&g, problem);
    if (g.stream)
        cudaStreamDestroy(g.stream);
    return code;
}
