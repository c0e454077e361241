/* session.h: an open GPU backend, and the only way in which its parts call CUDA: checked, counted, and timed if asked.
 *
 * A failed call is LM_FAILED with CUDA's reason. Whether the device survived it is another question (lm_gpu_alive):
 * after a launch that was refused it has, after an illegal address every later call fails with the same error.
 */
#ifndef LM_GPU_SESSION_H
#define LM_GPU_SESSION_H

#include <cuda_runtime_api.h>

#include "backend.h"
#include "gpu.h"
#include "launch.h"

/* Memory of the device that grows to the largest use and is freed when the session is closed. */
struct lm_gpu_buffer {
    void *memory;
    size_t bytes;
};

enum lm_gpu_buffer_name {
    LM_GPU_TRAIN_X, /* the training samples, all of them */
    LM_GPU_TRAIN_LABEL,
    LM_GPU_PARAMETERS,
    LM_GPU_ORDER,
    LM_GPU_LOSS,
    LM_GPU_X, /* a batch to be scored, or one sample */
    LM_GPU_HIDDEN1,
    LM_GPU_HIDDEN2,
    LM_GPU_OUT, /* scores */
    LM_GPU_DELTA1,
    LM_GPU_DELTA2,
    LM_GPU_DELTA3,
    LM_GPU_FAST_X, /* gpu:fast: the training samples by partial sums, and what replica.h names */
    LM_GPU_REPLICAS,
    LM_GPU_PACKED,
    LM_GPU_WORDS,
    LM_GPU_USED,
    LM_GPU_ORDERS,
    LM_GPU_NEXT,
    LM_GPU_NETWORKS,
    LM_GPU_STARTS,
    LM_GPU_SAMPLE_LABEL,
    LM_GPU_HITS,
    LM_GPU_PIPE_IN, /* pipe.c: chunks that arrive, their scores, and a table of grey values */
    LM_GPU_PIPE_OUT,
    LM_GPU_GREY,
    LM_GPU_BUFFERS
};

struct lm_gpu_session;

/* When the backend last looked outside. */
struct lm_gpu_ticker {
    struct lm_tick tick;
    double last;
    int stop; /* it was told to stop, once and for all */
};

struct lm_gpu_session {
    const struct lm_problem *problem;
    const struct lm_gpu_ways *ways;
    cudaStream_t stream;
    cudaEvent_t begin, end; /* round a timed call */
    cudaEvent_t done;       /* behind a long launch */
    int timed;
    struct lm_gpu_counters counters;
    size_t block_shared; /* most shared memory a block can have */
    int multiprocessors;
    int has_fast_samples;        /* all of them have arrived: memory alone does not say so after a failure */
    struct lm_gpu_buffer pinned; /* the host's, for copies at the link's full rate */
    struct lm_gpu_buffer buffer[LM_GPU_BUFFERS];
    struct lm_quick *quick; /* owned: quick.c's and pipe.c's own, NULL until they are used */
    struct lm_pipe *pipe;
};

/* Threads that the host's part of a call may use, the caller's among them. */
static inline size_t lm_gpu_host_threads(const struct lm_gpu_session *s)
{
    return s->problem->threads > 0 ? (size_t)s->problem->threads : 1;
}

/* At least so many bytes; *memory is NULL for none. What was in the buffer is lost when it grows. */
int lm_gpu_reserve(struct lm_gpu_session *s, enum lm_gpu_buffer_name name, size_t bytes, void **memory,
                   struct lm_error *err);
void lm_gpu_release_all(struct lm_gpu_session *s);
/* Likewise, of the host's memory: pinned, so that a copy runs at the link's full rate. */
int lm_gpu_reserve_pinned(struct lm_gpu_session *s, size_t bytes, void **memory, struct lm_error *err);

/* Where the device sees `bytes` of the host's memory, if all of it is pinned; else NULL. */
void *lm_gpu_seen(const void *memory, size_t bytes);

/* The naive way's own allocations. */
int lm_gpu_allocate(struct lm_gpu_session *s, size_t bytes, void **memory, struct lm_error *err);
int lm_gpu_free(struct lm_gpu_session *s, void *memory, struct lm_error *err);

/* Queued on the session's stream. Out: has arrived when the call returns. */
int lm_gpu_copy_in(struct lm_gpu_session *s, void *to, const void *from, size_t bytes, struct lm_error *err);
int lm_gpu_copy_out(struct lm_gpu_session *s, void *to, const void *from, size_t bytes, struct lm_error *err);
/* Queued on any stream; it has not arrived when the call returns. Timed calls must be on the session's own. */
int lm_gpu_copy(struct lm_gpu_session *s, cudaStream_t stream, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind, struct lm_error *err);
int lm_gpu_clear(struct lm_gpu_session *s, void *memory, size_t bytes, struct lm_error *err);

/* LM_GPU_LAUNCH(s, lm_launch_forward(f, block, s->stream), "forward", err): a status. */
#define LM_GPU_LAUNCH(s, call, kernel, err) (lm_gpu_before_launch(s), lm_gpu_after_launch((s), (call), (kernel), (err)))
void lm_gpu_before_launch(struct lm_gpu_session *s);
int lm_gpu_after_launch(struct lm_gpu_session *s, cudaError_t result, const char *kernel, struct lm_error *err);

/* Waits for all that was queued, looking outside meanwhile. A wish to stop is kept in the ticker: a launch cannot be
 * interrupted, but it is short. */
int lm_gpu_wait(struct lm_gpu_session *s, struct lm_gpu_ticker *ticker, const char *what, struct lm_error *err);

/* Looks outside if a millisecond has passed. */
void lm_gpu_tick(struct lm_gpu_ticker *ticker);

double lm_gpu_now(void); /* seconds of a steady clock */

/* 0 if the device is lost to this process. Clears the last error. */
int lm_gpu_alive(void);

/* ---- the ways to train and to score (naive.c, resident.c, block.c, score.c) ---- */

struct lm_gpu_course; /* course.h */

struct lm_gpu_ways {
    /* Trains course from its first epoch to its end. */
    int (*train)(struct lm_gpu_session *s, struct lm_gpu_course *course, struct lm_error *err);
    /* scores (n, 15) of x (n, 64), n > 0; packed: layout.h. */
    int (*score)(struct lm_gpu_session *s, struct lm_shape shape, const float *packed, const float *x, size_t n,
                 float *scores, struct lm_error *err);
};

#endif
