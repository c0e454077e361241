/* none.c: gpu.h in a build without CUDA. */
#include "gpu.h"

#include <stdio.h>

static int none(struct lm_error *err)
{
    return lm_fail(err, LM_UNAVAILABLE, "this build has no GPU backend (it was made without nvcc, or with CUDA=0)");
}

int lm_gpu_select(int node_rank, struct lm_gpu_device *out, struct lm_error *err)
{
    (void)node_rank;
    (void)out;
    return none(err);
}

int lm_gpu_current(struct lm_gpu_device *out, struct lm_error *err)
{
    (void)out;
    return none(err);
}

void lm_gpu_version(char *text, size_t size)
{
    snprintf(text, size, "none: built without CUDA");
}

void *lm_gpu_pinned(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void lm_gpu_unpin(void *memory)
{
    (void)memory;
}

struct lm_gpu_counters lm_gpu_counters(const void *session)
{
    (void)session;
    return (struct lm_gpu_counters){0};
}

void lm_gpu_time_calls(void *session, int on)
{
    (void)session;
    (void)on;
}

int lm_gpu_calibrate(const struct lm_problem *problem, struct lm_calibration *out, struct lm_error *err)
{
    (void)problem;
    (void)out;
    return none(err);
}

void lm_gpu_driver(char *text, size_t size)
{
    snprintf(text, size, "none");
}

void lm_gpu_range_begin(const char *phase)
{
    (void)phase;
}

void lm_gpu_range_end(void)
{
}
