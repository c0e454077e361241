/* task.h: what is handed out to the ranks: a trial with its number, and where rank 0 takes them from. */
#ifndef LM_TASK_H
#define LM_TASK_H

#include <stddef.h>
#include <stdint.h>

#include "trial.h"

struct lm_task {
    uint64_t number;
    struct lm_trial trial;
    uint32_t wanted; /* 1: rank 0 wants its parameters, whatever they are worth */
    /* Epochs that were trained before; then start, owned by whoever has the task, holds their losses (begun doubles)
     * and after them the parameters. Else 0 and NULL. */
    uint32_t begun;
    void *start;
};

struct lm_task_source {
    uint64_t total; /* tasks that there will be, at most */
    /* Puts the next tasks, at most `most`, into task; how many there were: 0 only when there are no more. */
    size_t (*take)(void *context, size_t most, struct lm_task *task);
    void *context;
};

/* Bytes of a start. */
size_t lm_task_start_bytes(const struct lm_task *task);
const double *lm_task_loss(const struct lm_task *task);
const float *lm_task_parameters(const struct lm_task *task);
void lm_tasks_free(struct lm_task *task, size_t n); /* their starts, not the array */

#endif
