/* crew.c: see crew.h. */
#include "crew.h"

#include <signal.h>
#include <stdatomic.h>

size_t lm_threads_start(pthread_t *thread, size_t n, void *(*call)(void *), void *context)
{
    sigset_t all, before;
    size_t started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < n && pthread_create(&thread[started], NULL, call, context) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void lm_threads_join(const pthread_t *thread, size_t n)
{
    for (size_t k = 0; k < n; k++)
        pthread_join(thread[k], NULL);
}

struct crew {
    lm_crew_work work;
    void *context;
    size_t n, part;
    atomic_size_t next; /* the first item that nobody has taken */
};

static void *take_parts(void *context)
{
    struct crew *c = context;
    for (size_t first; (first = atomic_fetch_add(&c->next, c->part)) < c->n;)
        c->work(c->context, first, c->n - first < c->part ? c->n : first + c->part);
    return NULL;
}

void lm_crew(size_t threads, size_t n, size_t part, lm_crew_work work, void *context)
{
    struct crew c = {.work = work, .context = context, .n = n, .part = part};
    pthread_t thread[LM_MOST_THREADS];
    size_t parts = n / part + (n % part > 0), wanted = threads < parts ? threads : parts;
    wanted = wanted < LM_MOST_THREADS ? wanted : LM_MOST_THREADS;
    size_t started = wanted > 1 ? lm_threads_start(thread, wanted - 1, take_parts, &c) : 0;
    take_parts(&c);
    lm_threads_join(thread, started);
}
