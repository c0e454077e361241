/* task.c: see task.h. */
#include "task.h"

#include <stdlib.h>

#include "network.h"

size_t lm_task_start_bytes(const struct lm_task *task)
{
    return task->begun * sizeof(double) + lm_network_floats(task->trial.shape) * sizeof(float);
}

const double *lm_task_loss(const struct lm_task *task)
{
    return task->start;
}

const float *lm_task_parameters(const struct lm_task *task)
{
    return (const float *)(const void *)((const char *)task->start + task->begun * sizeof(double));
}

void lm_tasks_free(struct lm_task *task, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        free(task[k].start);
        task[k].start = NULL;
    }
}
