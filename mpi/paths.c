/* paths.c: see paths.h. */
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *text_of(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

void lm_default_out(char *path, size_t size)
{
    const char *job = text_of("SLURM_JOB_ID"), *array_job = text_of("SLURM_ARRAY_JOB_ID"),
               *task = text_of("SLURM_ARRAY_TASK_ID");
    if (array_job && task) {
        snprintf(path, size, "results/libras_%s_%s.h5", array_job, task);
    } else if (job) {
        snprintf(path, size, "results/libras_%s.h5", job);
    } else {
        /* To the millisecond: a loop in a shell starts several runs a second. */
        char stamp[32] = "";
        struct timespec now = {0};
        struct tm utc;
        clock_gettime(CLOCK_REALTIME, &now);
        if (gmtime_r(&now.tv_sec, &utc))
            strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", &utc);
        snprintf(path, size, "results/libras_%s.%03dZ.h5", stamp, (int)(now.tv_nsec / 1000000));
    }
}
