/* progress.h: how far a run is: a bar with the time left on a terminal, a line now and then in a batch log. */
#ifndef LM_PROGRESS_H
#define LM_PROGRESS_H

#include "world.h"

struct lm_progress {
    const struct lm_world *world;
    const char *what; /* "trials" */
    uint64_t total;
    double start, last;
    int terminal, shown;
    uint64_t before; /* done before the start: they say nothing about the time */
    char more[120];  /* what else is said, such as the best so far; may be changed between two calls */
};

void lm_progress_begin(struct lm_progress *progress, const struct lm_world *world, const char *what, uint64_t total);
void lm_progress_show(struct lm_progress *progress, uint64_t done);
void lm_progress_end(struct lm_progress *progress);

#endif
