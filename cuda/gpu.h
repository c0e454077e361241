/* gpu.h: the GPU as the rest of the program sees it. Plain C; no CUDA header is needed to use it.
 *
 * The backends themselves are tables like any other (src/gpu_backends.h). What stands here is what a
 * table of functions cannot say: which device this process uses, how it is called, and what a session asked of it.
 * A build without CUDA has the same functions (none.c), and they say so.
 */
#ifndef LM_GPU_H
#define LM_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "gpu_backends.h"
#include "status.h"

struct lm_gpu_device {
    int visible;      /* GPUs that this process can see */
    int ordinal;      /* the one it uses, among those */
    char name[96];    /* "NVIDIA H200" */
    char uuid[48];    /* "GPU-8d5e...": the same whatever CUDA_VISIBLE_DEVICES says */
    char pci[16];     /* "0000:06:00.0" */
    int major, minor; /* compute capability */
    size_t memory;    /* bytes */
    int multiprocessors;
    int block_shared; /* most bytes of shared memory that a block can opt into */
};

/* Takes device `node_rank modulo visible devices` for this process, tries it with a tiny kernel, and describes it in
 * *out. Facts of this node alone decide. Nothing of CUDA but the driver's version and the count of devices is asked
 * before the device is set, so that no other device gets a context. LM_UNAVAILABLE, each with its own text: no driver;
 * a driver too old; no visible device; a device for which this build has no code; a device in exclusive mode that
 * somebody else has. */
int lm_gpu_select(int node_rank, struct lm_gpu_device *out, struct lm_error *err);

/* The device in use; the first one if none was selected. Same failures. */
int lm_gpu_current(struct lm_gpu_device *out, struct lm_error *err);

/* "13.0, driver 13.0; code for sm_75 ..., PTX 120", or why there is none. Makes no context. */
void lm_gpu_version(char *text, size_t size);

/* Memory of the host that a GPU reads and writes by itself (pinned), aligned to 16 bytes: batches that lie in it, and
 * scores that go to it, cross the link at its full rate. NULL if there is none (and in a build without CUDA). Any
 * thread, before or after sessions are opened; unpin(NULL) does nothing. */
void *lm_gpu_pinned(size_t bytes);
void lm_gpu_unpin(void *memory);

/* What a session has asked of CUDA since it was opened. A wait is a synchronisation. */
struct lm_gpu_counters {
    uint64_t copies_in, copies_out, launches, allocations, frees, waits;
    uint64_t bytes_in, bytes_out;
    double copy_seconds, kernel_seconds; /* by events, while lm_gpu_time_calls is on */
};
/* session: of an open GPU backend. */
struct lm_gpu_counters lm_gpu_counters(const void *session);
/* On: each copy and each launch is timed by two events and waited for. So its own time is right and the time of the
 * whole is not: measure that in a run of its own, with this off (the default). */
void lm_gpu_time_calls(void *session, int on);

struct lm_calibration; /* calibrate.h */
/* Measures the device in use for the performance model: all numbers of out->machine.gpu but the context, and the key's
 * GPU and driver. problem: what the backends train in it. About five seconds. LM_UNAVAILABLE, LM_FAILED. */
int lm_gpu_calibrate(const struct lm_problem *problem, struct lm_calibration *out, struct lm_error *err);
/* The driver's version ("580.159.04"; of CUDA where the system does not say), for that key. Makes no context. */
void lm_gpu_driver(char *text, size_t size);

/* A phase of the program, as a profiler's timeline names it: an NVTX range of this thread. Ranges nest, and each is to
 * be ended. Without a profiler that listens, and in a build without NVTX, nothing happens. */
void lm_gpu_range_begin(const char *phase);
void lm_gpu_range_end(void);

#endif
