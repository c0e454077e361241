/* crew.h: independent pieces of work, done by the caller and by threads that live as long as the call. */
#ifndef LM_CREW_H
#define LM_CREW_H

#include <pthread.h>
#include <stddef.h>

#define LM_MOST_THREADS 1024

/* Starts up to n threads, each with all signals blocked, since those are the main thread's; returns how many there are:
 * fewer, where the system allows no more, is no fault. */
size_t lm_threads_start(pthread_t *thread, size_t n, void *(*call)(void *), void *context);
void lm_threads_join(const pthread_t *thread, size_t n);

/* Items first ... last - 1. Called by several threads at a time, never twice for an item. */
typedef void (*lm_crew_work)(void *context, size_t first, size_t last);

/* work for each of n items, `part` (at least 1) at a time, whoever is free taking the next ones; returns when all are
 * done. As many threads as are allowed and have a part, the caller's among them; 0 threads are 1. */
void lm_crew(size_t threads, size_t n, size_t part, lm_crew_work work, void *context);

#endif
