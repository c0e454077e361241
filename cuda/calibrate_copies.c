/* calibrate_copies.c: what copies cost: over the link, from pinned memory and from the user's, and by the host itself.
 *
 * What the user's memory gives depends on where it is. A small batch that was used a moment ago is in a core's caches,
 * a large one is in memory, at a quarter of the rate; and the host's copies are most of a batch's time. So copies are
 * measured at two or three sizes, as score.c, quick.c and pipe.c make them, and lm_byte_time is between.
 */
#include <stdlib.h>
#include <string.h>

#include "gauge.h"
#include "session.h"

#define ROUNDS  9
#define NUMBERS 16
#define SMALL   ((size_t)1024)
#define LARGE   ((size_t)32 << 20) /* pinned */
#define NEAR    ((size_t)LM_NEAR_BYTES)
#define CACHE   ((size_t)LM_CACHE_BYTES)
#define FAR     ((size_t)LM_FAR_BYTES)
#define PART    ((size_t)16 << 20) /* score.c: 65,536 samples */
#define SLOTS   3                  /* pipe.c */
#define WRITTEN ((size_t)1 << 20)  /* by the device, before the host takes it */

struct lm_gauge_copies {
    struct lm_gauge *g;
    char *device, *pinned, *combined; /* LARGE, LARGE, CACHE; combined: the host only writes it, as quick.c's samples */
    char *pageable;                   /* FAR */
    double value[NUMBERS][ROUNDS];    /* of `at` */
    double *at[NUMBERS];
    int numbers, rounds;
};

int lm_gauge_copies_open(struct lm_gauge *g, struct lm_gauge_copies **copies)
{
    struct lm_gauge_copies *c = calloc(1, sizeof *c);
    const unsigned flags = cudaHostAllocMapped | cudaHostAllocWriteCombined;
    *copies = c;
    if (!c || !(c->pageable = malloc(FAR)))
        return lm_fail_memory(g->err, FAR, "copies");
    c->g = g;
    memset(c->pageable, 1, FAR);
    int code = lm_gauge_check(g, cudaMalloc((void **)&c->device, LARGE), "memory");
    if (code == LM_OK)
        code = lm_gauge_check(g, cudaMallocHost((void **)&c->pinned, LARGE), "pinned memory");
    if (code == LM_OK)
        code = lm_gauge_check(g, cudaHostAlloc((void **)&c->combined, CACHE, flags), "pinned memory");
    return code;
}

void lm_gauge_copies_close(struct lm_gauge_copies *c)
{
    if (!c)
        return;
    cudaFree(c->device);
    if (c->pinned)
        cudaFreeHost(c->pinned);
    if (c->combined)
        cudaFreeHost(c->combined);
    free(c->pageable);
    free(c);
}

static void note(struct lm_gauge_copies *c, double *at, double value)
{
    int k = 0;
    while (k < c->numbers && c->at[k] != at)
        k++;
    if (k == NUMBERS || c->rounds == ROUNDS)
        return;
    c->numbers += k == c->numbers;
    c->at[k] = at;
    c->value[k][c->rounds] = value;
}

/* ---- over the link ---- */

struct copying {
    char *device, *host;
    size_t bytes;
    int out;
};

/* As session.c copies: in is queued, out is waited for. */
static cudaError_t copy(struct lm_gauge *g, void *context)
{
    const struct copying *c = context;
    if (!c->out)
        return cudaMemcpyAsync(c->device, c->host, c->bytes, cudaMemcpyHostToDevice, g->stream);
    cudaError_t result = cudaMemcpyAsync(c->host, c->device, c->bytes, cudaMemcpyDeviceToHost, g->stream);
    return result == cudaSuccess ? cudaStreamSynchronize(g->stream) : result;
}

static cudaError_t copy_behind(struct lm_gauge *g, void *context)
{
    cudaError_t result = lm_launch_empty(0, g->stream);
    return result == cudaSuccess ? copy(g, context) : result;
}

/* Bytes a second of `total` from `host` on, `part` at a time; fixed: what each of the copies takes besides. */
static int time_large(struct lm_gauge *g, struct copying c, size_t total, size_t part, double fixed, double *rate)
{
    cudaError_t result = cudaSuccess;
    double start = lm_gpu_now(), less = fixed * (double)(total / part);
    c.bytes = part;
    for (size_t done = 0; done < total && result == cudaSuccess; done += part, c.host += part)
        result = copy(g, &c);
    if (result == cudaSuccess)
        result = cudaStreamSynchronize(g->stream);
    double seconds = lm_gpu_now() - start;
    *rate = (double)total / (seconds > 2.0 * less ? seconds - less : seconds);
    return lm_gauge_check(g, result, "a large copy");
}

/* Two sizes make the fixed part and the rate. again: so often the same memory. */
static int measure_link(struct lm_gauge_copies *c, char *host, int out, size_t bytes, int again,
                        struct lm_copy_cost *cost)
{
    struct copying small = {c->device, host, SMALL, out};
    double fixed = 0.0, rate = 1.0, sum = 0.0;
    int code = lm_gauge_calls(c->g, copy, &small, &fixed, "a small copy");
    for (int k = -1; k < again && code == LM_OK; k++) { /* the first brings it near */
        code = time_large(c->g, small, bytes, bytes, fixed, &rate);
        sum += k < 0 ? 0.0 : 1.0 / rate;
    }
    note(c, &cost->fixed, fixed);
    note(c, &cost->rate, again / (sum > 0.0 ? sum : 1.0));
    return code;
}

static int measure_far(struct lm_gauge_copies *c, int out, double *at)
{
    const struct copying all = {c->device, c->pageable, PART, out};
    double rate = 1.0;
    int code = time_large(c->g, all, FAR, PART, 0.0, &rate);
    note(c, at, rate);
    return code;
}

/* ---- by the host ---- */

/* The same memory again and again, into memory that it only writes, as quick.c does. */
static void measure_near(struct lm_gauge_copies *c, size_t bytes, int again, double *at)
{
    double start = 0.0;
    for (int k = -1; k < again; k++) {
        if (k == 0)
            start = lm_gpu_now();
        memcpy(c->combined, c->pageable, bytes);
    }
    note(c, at, again * (double)bytes / (lm_gpu_now() - start));
}

/* From memory into pinned slots, as pipe.c does. */
static void measure_staging_far(struct lm_gauge_copies *c)
{
    double start = lm_gpu_now();
    for (size_t done = 0; done < FAR; done += CACHE)
        memcpy(c->pinned + done / CACHE % SLOTS * CACHE, c->pageable + done, CACHE);
    note(c, &c->g->out->machine.gpu.staging_far, (double)FAR / (lm_gpu_now() - start));
}

/* What the device has just written is in nobody's cache. */
static int measure_staging_out(struct lm_gauge_copies *c)
{
    struct copying written = {c->device, c->pinned, WRITTEN, 1};
    const int parts = 16;
    double seconds = 0.0;
    int code = LM_OK;
    for (int k = 0; k < parts && code == LM_OK; k++) {
        code = lm_gauge_check(c->g, copy(c->g, &written), "a copy out");
        double start = lm_gpu_now();
        memcpy(c->pageable + (size_t)k * WRITTEN, c->pinned, WRITTEN);
        seconds += lm_gpu_now() - start;
    }
    note(c, &c->g->out->machine.gpu.staging_out, parts * (double)WRITTEN / seconds);
    return code;
}

/* ---- rounds ---- */

static int one_round(struct lm_gauge_copies *c)
{
    struct lm_machine *m = &c->g->out->machine;
    struct copying scores = {c->device, c->pageable, SMALL, 1};
    double behind = 0.0;
    int code = measure_link(c, c->pinned, 0, LARGE, 1, &m->gpu.in_pinned);
    if (code == LM_OK)
        code = measure_link(c, c->pinned, 1, LARGE, 1, &m->gpu.out_pinned);
    if (code == LM_OK)
        code = measure_link(c, c->pageable, 0, CACHE, 4, &m->gpu.in_pageable);
    if (code == LM_OK)
        code = measure_link(c, c->pageable, 1, CACHE, 4, &m->gpu.out_pageable);
    if (code == LM_OK)
        code = lm_gauge_calls(c->g, copy_behind, &scores, &behind, "a launch and a copy out");
    note(c, &m->gpu.behind, behind); /* with the launch and the copy, until `finish` */
    if (code == LM_OK)
        code = measure_far(c, 0, &m->gpu.in_far);
    if (code == LM_OK)
        code = measure_far(c, 1, &m->gpu.out_far);
    measure_near(c, NEAR, 20, &m->gpu.staging);
    measure_near(c, CACHE, 4, &m->gpu.staging_cache);
    measure_staging_far(c);
    if (code == LM_OK)
        code = measure_staging_out(c);
    c->rounds += c->rounds < ROUNDS;
    return code;
}

int lm_gauge_copies_rounds(struct lm_gauge_copies *c, int rounds)
{
    int code = LM_OK;
    for (int k = 0; k < rounds && code == LM_OK; k++)
        code = one_round(c);
    return code;
}

void lm_gauge_copies_finish(struct lm_gauge_copies *c)
{
    struct lm_machine *m = &c->g->out->machine;
    for (int k = 0; k < c->numbers; k++)
        lm_calibration_set(c->g->out, c->at[k], c->value[k], c->rounds);
    double behind = m->gpu.behind - m->gpu.launch - m->gpu.out_pageable.fixed;
    m->gpu.behind = behind > 0.0 ? behind : 0.0;
}
