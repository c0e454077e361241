/* host_cuda.h: enough of CUDA C++ to compile and run our kernels (cuda/ *.cuh) on the host, where there is no GPU.
 *
 * To be included before them, with g++. A block's threads are fibers (ucontext) on one real thread. A fiber runs until
 * it reaches a barrier or a shuffle; when all are there, or ended, what they wait for is done, and they go on. Between
 * two such points the fibers run whole, one after the other, in an order that is chosen: forward, backward, or shuffled
 * anew each time. So a kernel that needs a barrier and has none computes other bits in at least one of the orders, or
 * reads shared memory that nobody has written: it is filled with NaN before each block.
 *
 * A launch returns what is wrong with it as a text, NULL if nothing:
 *   - a barrier that some threads reach and others do not (they ended, or wait at another one, or at a shuffle),
 *   - a shuffle some of whose lanes never come, or come to another one.
 * Shared memory is a malloc of exactly the size asked for, and global memory is the test's: AddressSanitizer sees every
 * access beyond them. With it the fibers announce themselves, as it wants.
 *
 * Left out: textures, most atomics, streams, several blocks at the same time (they run one after the other), and
 * everything else that our kernels do not use. This header defines variables: one source file of a program includes it.
 */
#ifndef HOST_CUDA_H
#define HOST_CUDA_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <ucontext.h>
#include <vector>

#if defined __SANITIZE_ADDRESS__
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define HOST_CUDA_ASAN 1
#else
#define HOST_CUDA_ASAN 0
#endif

/* ---- the language ---- */

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};

static dim3 threadIdx, blockIdx, blockDim, gridDim;

/* __builtin_fmaf: one instruction with -mfma, else the C library's, which rounds once as well. */
static inline float __fmaf_rn(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
static inline double __fma_rn(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __fsub_rn(float a, float b)
{
    return a - b;
}
static inline float __uint_as_float(unsigned u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline unsigned __float_as_uint(float f)
{
    unsigned u;
    memcpy(&u, &f, sizeof u);
    return u;
}
static inline float __uint2float_rn(unsigned u)
{
    return (float)u;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
/* Blocks run one after the other, and a fiber is not interrupted. */
static inline unsigned atomicAdd(unsigned *to, unsigned v)
{
    unsigned old = *to;
    *to = old + v;
    return old;
}
static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
template <class T> static inline T __ldg(const T *from)
{
    return *from;
}

/* ---- one block ---- */

enum host_order { HOST_FORWARD, HOST_BACKWARD, HOST_SHUFFLED, HOST_ORDERS };

/* Why a fiber does not run. */
enum host_wait { HOST_RUNS, HOST_AT_BARRIER, HOST_AT_WARP, HOST_ENDED };

struct host_fiber {
    ucontext_t context;
    host_wait wait;
    const char *file; /* where it waits */
    int line;
    unsigned mask;    /* of a warp's operation */
    unsigned value;   /* given to it, and then its answer */
    unsigned source;  /* the lane whose value is wanted */
    unsigned all[32]; /* what every lane gave */
    void *fake_stack;
};

struct host_block {
    std::vector<host_fiber> fiber;
    std::vector<char *> stack;  /* kept from block to block */
    std::vector<unsigned> turn; /* the order of the threads */
    std::function<void()> kernel;
    ucontext_t scheduler;
    void *scheduler_fake_stack;
    const void *scheduler_stack;
    size_t scheduler_stack_size;
    unsigned current;
    host_order order;
    uint32_t random;
    float *arena;
    std::string problem;
};

static host_block host;

static constexpr size_t HOST_STACK = HOST_CUDA_ASAN ? 256 * 1024 : 64 * 1024;

/* From the scheduler into fiber k, until it waits. */
static void host_enter(unsigned k)
{
    host.current = k;
    threadIdx = dim3(k, 0, 0);
#if HOST_CUDA_ASAN
    __sanitizer_start_switch_fiber(&host.scheduler_fake_stack, host.stack[k], HOST_STACK);
#endif
    swapcontext(&host.scheduler, &host.fiber[k].context);
#if HOST_CUDA_ASAN
    __sanitizer_finish_switch_fiber(host.scheduler_fake_stack, nullptr, nullptr);
#endif
}

/* From the running fiber back to the scheduler. */
static void host_leave(host_wait why)
{
    host_fiber &self = host.fiber[host.current];
    self.wait = why;
#if HOST_CUDA_ASAN
    __sanitizer_start_switch_fiber(why == HOST_ENDED ? nullptr : &self.fake_stack, host.scheduler_stack,
                                   host.scheduler_stack_size);
#endif
    swapcontext(&self.context, &host.scheduler);
#if HOST_CUDA_ASAN
    __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
#endif
}

static void host_fiber_main()
{
#if HOST_CUDA_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    host.kernel();
    host_leave(HOST_ENDED);
}

/* ---- barriers and shuffles, as a kernel calls them ---- */

static inline void host_barrier(const char *file, int line)
{
    host_fiber &self = host.fiber[host.current];
    self.file = file;
    self.line = line;
    host_leave(HOST_AT_BARRIER);
}

static inline unsigned host_warp(unsigned mask, unsigned value, unsigned source, const char *file, int line)
{
    host_fiber &self = host.fiber[host.current];
    self.file = file;
    self.line = line;
    self.mask = mask;
    self.value = value;
    self.source = source;
    host_leave(HOST_AT_WARP);
    return self.value;
}

template <class T> static inline T host_shuffle(unsigned mask, T value, unsigned source, const char *file, int line)
{
    static_assert(sizeof(T) == sizeof(unsigned), "shuffles of 32-bit values only");
    unsigned word;
    memcpy(&word, &value, sizeof word);
    word = host_warp(mask, word, source, file, line);
    memcpy(&value, &word, sizeof word);
    return value;
}

static inline unsigned host_lane()
{
    return host.current % 32;
}

#define __syncthreads()     host_barrier(__FILE__, __LINE__)
#define __syncwarp_of(mask) ((void)host_warp(mask, 0, host_lane(), __FILE__, __LINE__))
#define __syncwarp(...)     __syncwarp_of(host_mask(__VA_ARGS__))
static inline unsigned host_mask(unsigned mask = 0xffffffffu)
{
    return mask;
}
/* A lane beyond the warp, or none: its own value, as the real ones do. */
#define __shfl_sync(mask, v, lane)     host_shuffle(mask, v, (lane)&31u, __FILE__, __LINE__)
#define __shfl_xor_sync(mask, v, bits) host_shuffle(mask, v, host_lane() ^ (bits), __FILE__, __LINE__)
#define __shfl_down_sync(mask, v, n)                                                                                   \
    host_shuffle(mask, v, host_lane() + (n) < 32u ? host_lane() + (n) : host_lane(), __FILE__, __LINE__)
#define __shfl_up_sync(mask, v, n)                                                                                     \
    host_shuffle(mask, v, host_lane() >= (n) ? host_lane() - (n) : host_lane(), __FILE__, __LINE__)

/* Votes and matches: what every lane of the mask gave; the others count as 0, and match nobody. */
static inline unsigned host_vote(unsigned mask, bool mine, const char *file, int line)
{
    unsigned lanes = 0;
    host_warp(mask, mine, host_lane(), file, line);
    for (unsigned l = 0; l < 32; l++)
        lanes |= (mask >> l & 1u && host.fiber[host.current].all[l] ? 1u : 0u) << l;
    return lanes;
}
static inline unsigned host_match(unsigned mask, unsigned value, const char *file, int line)
{
    unsigned lanes = 0;
    host_warp(mask, value, host_lane(), file, line);
    for (unsigned l = 0; l < 32; l++)
        lanes |= (mask >> l & 1u && host.fiber[host.current].all[l] == value ? 1u : 0u) << l;
    return lanes;
}
#define __ballot_sync(mask, mine)     host_vote(mask, mine, __FILE__, __LINE__)
#define __all_sync(mask, mine)        (host_vote(mask, mine, __FILE__, __LINE__) == (mask))
#define __match_any_sync(mask, value) host_match(mask, value, __FILE__, __LINE__)

/* The block's dynamic shared memory, as the kernels name it (cuda/arithmetic.cuh). */
#define LM_ARENA(name) float *name = host.arena

/* ---- the scheduler ---- */

static uint32_t host_random()
{
    host.random = host.random * 1664525u + 1013904223u;
    return host.random >> 8;
}

static void host_take_turns()
{
    unsigned n = (unsigned)host.turn.size();
    for (unsigned k = 0; k < n; k++)
        host.turn[k] = host.order == HOST_BACKWARD ? n - 1 - k : k;
    if (host.order == HOST_SHUFFLED)
        for (unsigned k = n - 1; k > 0; k--)
            std::swap(host.turn[k], host.turn[host_random() % (k + 1)]);
}

static int host_complain(unsigned thread, const char *what)
{
    char text[300];
    const host_fiber &f = host.fiber[thread];
    const char *name = strrchr(f.file, '/');
    snprintf(text, sizeof text, "block %u, thread %u waits at %s:%d: %s", blockIdx.x, thread, name ? name + 1 : f.file,
             f.line, what);
    host.problem = text;
    return 0;
}

/* The lanes that warp w's first waiting lane names: all there? Then their values change hands. -1: not yet. */
static int host_finish_warp(unsigned w)
{
    unsigned n = (unsigned)host.fiber.size(), first = w * 32, done = 0;
    for (unsigned k = first; k < first + 32 && k < n; k++) {
        host_fiber &leader = host.fiber[k];
        if (leader.wait != HOST_AT_WARP)
            continue;
        unsigned given[32] = {0};
        if (!(leader.mask >> (k % 32) & 1u))
            return host_complain(k, "its mask does not name the lane itself");
        for (unsigned l = 0; l < 32; l++) {
            if (!(leader.mask >> l & 1u))
                continue;
            if (first + l >= n || host.fiber[first + l].wait == HOST_ENDED)
                return host_complain(k, "a lane of its mask has ended");
            host_fiber &lane = host.fiber[first + l];
            if (lane.wait != HOST_AT_WARP)
                return host_complain(k, "a lane of its mask waits at a barrier");
            if (lane.line != leader.line || lane.file != leader.file || lane.mask != leader.mask)
                return host_complain(k, "a lane of its mask waits at another shuffle");
            given[l] = lane.value;
        }
        unsigned mask = leader.mask;
        for (unsigned l = 0; l < 32; l++) {
            if (!(mask >> l & 1u))
                continue;
            host_fiber &lane = host.fiber[first + l];
            if (!(mask >> lane.source & 1u))
                return host_complain(first + l, "it wants the value of a lane outside its mask");
            lane.value = given[lane.source];
            memcpy(lane.all, given, sizeof given);
            lane.wait = HOST_RUNS;
        }
        done = 1;
    }
    return done ? 1 : -1;
}

/* Everybody waits or has ended. 1: somebody can go on; 0: no (host.problem says why, or all have ended). */
static int host_resolve()
{
    unsigned n = (unsigned)host.fiber.size(), moved = 0;
    for (unsigned w = 0; w * 32 < n; w++) {
        int done = host_finish_warp(w);
        if (done == 0)
            return 0;
        moved |= done > 0;
    }
    if (moved)
        return 1;
    int first = -1;
    unsigned ended = 0;
    for (unsigned k = 0; k < n; k++) {
        if (host.fiber[k].wait == HOST_ENDED)
            ended++;
        else if (first < 0)
            first = (int)k;
        else if (host.fiber[k].line != host.fiber[first].line || host.fiber[k].file != host.fiber[first].file)
            return host_complain(k, "divergent barrier: another thread waits at another one");
    }
    if (first < 0)
        return 0;
    if (ended)
        return host_complain((unsigned)first, "divergent barrier: another thread of the block has ended");
    for (host_fiber &f : host.fiber)
        f.wait = HOST_RUNS;
    return 1;
}

static void host_begin_block(unsigned threads)
{
    host.fiber.assign(threads, host_fiber());
    host.turn.resize(threads);
    while (host.stack.size() < threads)
        host.stack.push_back(static_cast<char *>(malloc(HOST_STACK)));
    for (unsigned k = 0; k < threads; k++) {
        host_fiber &f = host.fiber[k];
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = host.stack[k];
        f.context.uc_stack.ss_size = HOST_STACK;
        f.context.uc_link = nullptr;
        makecontext(&f.context, host_fiber_main, 0);
        f.wait = HOST_RUNS;
#if HOST_CUDA_ASAN
        __asan_unpoison_memory_region(host.stack[k], HOST_STACK); /* frames that the last fiber here never left */
#endif
    }
}

static void host_run_block(unsigned threads)
{
    host_begin_block(threads);
    do {
        host_take_turns();
        for (unsigned k : host.turn)
            if (host.fiber[k].wait == HOST_RUNS)
                host_enter(k);
    } while (host_resolve());
}

/* kernel<<<grid, threads, shared>>>(argument). Returns NULL, or what is wrong; the text lives until the next launch. */
template <class Argument>
static const char *host_launch(void (*kernel)(Argument), dim3 grid, unsigned threads, size_t shared, host_order order,
                               Argument argument)
{
    host.kernel = [=] { kernel(argument); };
    host.order = order;
    host.random = 1;
    host.problem.clear();
    gridDim = grid;
    blockDim = dim3(threads);
#if HOST_CUDA_ASAN
    pthread_attr_t attributes;
    void *bottom = nullptr;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &bottom, &host.scheduler_stack_size);
    pthread_attr_destroy(&attributes);
    host.scheduler_stack = bottom;
#endif
    for (unsigned y = 0; y < grid.y && host.problem.empty(); y++)
        for (unsigned x = 0; x < grid.x && host.problem.empty(); x++) {
            blockIdx = dim3(x, y);
            host.arena = static_cast<float *>(malloc(shared ? shared : 1)) /* aligned to 16 bytes */;
            memset(host.arena, 0xff, shared); /* NaN in every word */
            host_run_block(threads);
            free(host.arena);
        }
    return host.problem.empty() ? nullptr : host.problem.c_str();
}

#endif
