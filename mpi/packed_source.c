/* packed_source.c: see packed_source.h. */
#include "packed_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *lm_packed_named(const struct lm_options *options)
{
    const char *path = options->data ? options->data : getenv("LIBRAS_DATA");
    struct stat about;
    return path && *path && stat(path, &about) == 0 && !S_ISDIR(about.st_mode) ? path : NULL;
}

/* Rank 0's path on every rank; the caller's to free. */
static char *share_path(const struct lm_world *world, const char *path)
{
    uint64_t size = world->rank == 0 ? strlen(path) + 1 : 0;
    struct lm_error err;
    lm_broadcast(world, &size, sizeof size);
    char *copy = malloc(size);
    if (!copy) {
        lm_fail_memory(&err, size, "a path");
        lm_abort(world, &err);
    }
    if (world->rank == 0)
        memcpy(copy, path, size);
    lm_broadcast(world, copy, size);
    return copy;
}

static int same_layout(const struct lm_world *world, struct lm_packed *file, const char *path, struct lm_error *err)
{
    struct lm_packed_layout own = *lm_packed_layout_of(file), first = own;
    lm_broadcast(world, &first, sizeof first);
    if (own.type == first.type && own.samples == first.samples && own.block == first.block &&
        own.labelled == first.labelled)
        return LM_OK;
    return lm_fail(err, LM_BAD_INPUT, "%s: rank 0 sees another file under this name: put it where all hosts see it",
                   path);
}

int lm_packed_share(const struct lm_world *world, const char *path, const struct lm_scaler *scaler,
                    struct lm_packed **out)
{
    struct lm_error err;
    struct lm_scaler fit = {.mean = {0}};
    *out = NULL;
    if (world->rank == 0)
        fit = *scaler;
    lm_broadcast(world, &fit, sizeof fit);
    char *own_path = share_path(world, path);
    int code = lm_agree_once(world, lm_packed_open(own_path, out, &err), &err);
    if (code == LM_OK)
        code = lm_agree(world, same_layout(world, *out, own_path, &err), &err);
    if (code == LM_OK)
        code = lm_agree_once(world, lm_packed_set_scaler(*out, &fit, &err), &err);
    free(own_path);
    return code;
}
