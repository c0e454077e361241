/* slabs.c: see slabs.h.
 *
 * Two slots: the caller has one, the thread fills the other. A slot is full or it is not; who wants it otherwise waits.
 * The thread takes no signals: they are for the program's own thread.
 */
#include "slabs.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "large.h"

#define SLOTS 2

struct lm_slabs {
    struct lm_packed *file;
    struct lm_slabs_plan plan;
    uint64_t slabs;              /* of the file */
    uint64_t next;               /* the one to be read next */
    struct lm_slab slot[SLOTS];  /* their memory is owned */
    int taken[SLOTS];            /* the slot's samples are the plan's memory, not malloc's */
    int held;                    /* the caller's slot; -1: none yet */
    int has_thread, full[SLOTS]; /* under the lock: full, closing */
    int closing;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- reading ---- */

static void expect(const struct lm_slabs *s, uint64_t slab)
{
    for (uint32_t b = 0; slab < s->slabs && b < s->plan.blocks; b++)
        lm_packed_expect(s->file, slab * s->plan.blocks + b); /* nothing behind the end */
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int read_slab(const struct lm_slabs *s, uint64_t slab, struct lm_slab *to)
{
    const double start = now();
    const struct lm_packed_layout *layout = lm_packed_layout_of(s->file);
    const uint64_t first = slab * s->plan.blocks, left = lm_packed_blocks(layout) - first;
    int code = LM_OK;
    expect(s, slab + s->plan.stride);
    to->blocks = left < s->plan.blocks ? (uint32_t)left : s->plan.blocks;
    to->n = 0;
    for (uint32_t b = 0; b < to->blocks && code == LM_OK; b++) {
        unsigned char *sum = to->sums + 4 * (size_t)b;
        if (s->plan.grey)
            code = lm_packed_read_grey(s->file, first + b, to->pixel + to->n * LM_PIXELS, to->label + to->n, sum,
                                       &to->err);
        else
            code = lm_packed_read(s->file, first + b, to->x + to->n * LM_PIXELS, to->label + to->n, sum, &to->err);
        to->n += lm_packed_count(layout, first + b);
    }
    to->seconds = now() - start;
    return to->code = code;
}

static void *read_ahead(void *slabs)
{
    struct lm_slabs *s = slabs;
    int code = LM_OK;
    for (int k = 0; s->next < s->slabs && code == LM_OK; k = (k + 1) % SLOTS, s->next += s->plan.stride) {
        pthread_mutex_lock(&s->lock);
        while (s->full[k] && !s->closing)
            pthread_cond_wait(&s->changed, &s->lock);
        int closing = s->closing;
        pthread_mutex_unlock(&s->lock);
        if (closing)
            break;
        code = read_slab(s, s->next, &s->slot[k]);
        pthread_mutex_lock(&s->lock);
        s->full[k] = 1;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

const struct lm_slab *lm_slabs_next(struct lm_slabs *s)
{
    if (!s->has_thread) {
        read_slab(s, s->next, &s->slot[0]);
        s->next += s->plan.stride;
        return &s->slot[0];
    }
    pthread_mutex_lock(&s->lock);
    if (s->held >= 0)
        s->full[s->held] = 0;
    s->held = (s->held + 1) % SLOTS;
    pthread_cond_broadcast(&s->changed);
    while (!s->full[s->held])
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return &s->slot[s->held];
}

/* ---- opening and closing ---- */

/* Without signals, which a new thread would take as its parent does. */
static int start_thread(struct lm_slabs *s)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return 0;
    int started = pthread_create(&s->thread, NULL, read_ahead, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static int allocate(struct lm_slabs *s, int k, size_t n, struct lm_error *err)
{
    const size_t bytes = n * LM_PIXELS * (s->plan.grey ? 1 : sizeof(float));
    struct lm_slab *slot = &s->slot[k];
    void *samples = s->plan.take ? s->plan.take(bytes) : NULL;
    s->taken[k] = samples != NULL;
    if (!samples)
        samples = lm_large(bytes);
    if (s->plan.grey)
        slot->pixel = samples;
    else
        slot->x = samples;
    slot->label = malloc(n);
    slot->sums = malloc(4 * (size_t)s->plan.blocks);
    return samples && slot->label && slot->sums ? LM_OK : lm_fail_memory(err, bytes, "samples of a packed file");
}

int lm_slabs_open(struct lm_packed *file, struct lm_slabs_plan plan, struct lm_slabs **out, struct lm_error *err)
{
    const struct lm_packed_layout *layout = lm_packed_layout_of(file);
    struct lm_slabs *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return lm_fail_memory(err, sizeof *s, "a reader");
    uint64_t n = (uint64_t)plan.blocks * layout->block;
    n = n < layout->samples ? n : layout->samples;
    s->file = file;
    s->plan = plan;
    s->slabs = (lm_packed_blocks(layout) - 1) / plan.blocks + 1;
    s->next = plan.first;
    s->held = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    int code = LM_OK;
    for (int k = 0; k < (plan.ahead ? SLOTS : 1) && code == LM_OK; k++)
        code = allocate(s, k, (size_t)n, err);
    if (code != LM_OK) {
        lm_slabs_close(s);
        return code;
    }
    s->has_thread = plan.ahead && start_thread(s); /* if none can be had, the caller reads */
    *out = s;
    return LM_OK;
}

void lm_slabs_close(struct lm_slabs *s)
{
    if (!s)
        return;
    if (s->has_thread) {
        pthread_mutex_lock(&s->lock);
        s->closing = 1;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    for (int k = 0; k < SLOTS; k++) {
        void *samples = s->plan.grey ? (void *)s->slot[k].pixel : (void *)s->slot[k].x;
        if (s->taken[k])
            s->plan.give(samples);
        else
            free(samples);
        free(s->slot[k].label);
        free(s->slot[k].sums);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
