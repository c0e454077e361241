/* backend.c: the list of backends, and what --device may say. */
#include "backend.h"

#include <stdio.h>
#include <string.h>

#include "cpu_backend.h"
#include "gpu_backends.h"
#include "nearest.h"

const struct lm_backend *const *lm_backends(void)
{
#define ADDRESS(table) &table,
    static const struct lm_backend *const list[] = {LM_EACH_GPU_BACKEND(ADDRESS) LM_EACH_CPU_BACKEND(ADDRESS) NULL};
#undef ADDRESS
    return list;
}

/* "gpu:batch" and "cpu-ref" belong to the families "gpu" and "cpu". */
static int in_family(const char *name, const char *family)
{
    size_t n = strlen(family);
    return strncmp(name, family, n) == 0 && (name[n] == '\0' || name[n] == ':' || name[n] == '-');
}

/* The first backend that the wish allows and the machine can run; err keeps why the first candidate could not. */
static int first_that_runs(const char *wish, const struct lm_backend **out, struct lm_error *err)
{
    int candidates = 0;
    for (const struct lm_backend *const *b = lm_backends(); *b; b++) {
        if (strcmp(wish, "auto") != 0 && strcmp(wish, (*b)->name) != 0 && !in_family((*b)->name, wish))
            continue;
        struct lm_error why;
        if ((*b)->probe(&why) == LM_OK) {
            *out = *b;
            return LM_OK;
        }
        if (candidates++ == 0)
            *err = why;
    }
    if (candidates)
        return err->code;
    return lm_fail(err, LM_UNAVAILABLE,
                   "--device %s: this build has no such backend; `libras_mpi info` lists those that it has", wish);
}

/* Names that are known although this build may lack them: they are no misspellings. */
static int is_known(const char *wish)
{
    if (strcmp(wish, "auto") == 0 || strcmp(wish, "cpu") == 0 || strcmp(wish, "gpu") == 0)
        return 1;
#ifndef LM_HAVE_CUDA
    if (in_family(wish, "gpu"))
        return 1; /* with CUDA the list has them all */
#endif
    for (const struct lm_backend *const *b = lm_backends(); *b; b++)
        if (strcmp(wish, (*b)->name) == 0)
            return 1;
    return 0;
}

#define MOST_NAMES 48

static int unknown(const char *wish, struct lm_error *err)
{
    const char *name[MOST_NAMES] = {"auto", "cpu", "gpu"};
    size_t n = 3;
    for (const struct lm_backend *const *b = lm_backends(); *b && n < MOST_NAMES; b++)
        name[n++] = (*b)->name;
    const char *nearest = lm_nearest(wish, name, n);
    return lm_fail(err, LM_BAD_INPUT, "--device: '%s' is no device; %s%s%s`libras_mpi info` lists them", wish,
                   nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
}

int lm_backend_find(const char *name, const struct lm_backend **out, struct lm_error *err)
{
    return is_known(name) ? first_that_runs(name, out, err) : unknown(name, err);
}
