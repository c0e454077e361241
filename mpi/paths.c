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
        char stamp[32] = "";
        time_t now = time(NULL);
        struct tm utc;
        if (gmtime_r(&now, &utc))
            strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
        snprintf(path, size, "results/libras_%s.h5", stamp);
    }
}
