/* devices.c: see devices.h.
 *
 * A GPU is known by its UUID: every rank may call its own "device 0" (CUDA_VISIBLE_DEVICES), and two ranks that both do
 * may use two GPUs or one. Memory of the device never reaches MPI: backends give and take host memory.
 */
#include "devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

int lm_device_is_gpu(const char *name)
{
    return strncmp(name, "gpu", 3) == 0 && (name[3] == '\0' || name[3] == ':');
}

/* auto, cpu and gpu mean any of several backends. */
static int means(const char *wish, const char *name)
{
    size_t n = strlen(wish);
    if (strcmp(wish, "auto") == 0)
        return 1;
    return strncmp(name, wish, n) == 0 && (name[n] == ':' || name[n] == '-' || name[n] == '\0');
}

/* ---- the backend ---- */

/* Bit k: this rank can run backend k of the list. gpu: it has a GPU that works. */
static uint64_t able(const char *wish, int gpu)
{
    uint64_t mask = 0;
    struct lm_error why;
    const struct lm_backend *const *list = lm_backends();
    for (size_t k = 0; list[k] && k < 64; k++)
        if (means(wish, list[k]->name) && (gpu || !lm_device_is_gpu(list[k]->name)) && list[k]->probe(&why) == LM_OK)
            mask |= UINT64_C(1) << k;
    return mask;
}

/* The first that every rank can run; NULL: none. */
static const struct lm_backend *first_common(const struct lm_world *world, const char *wish, int gpu, uint64_t *common)
{
    uint64_t own = able(wish, gpu);
    const struct lm_backend *const *list = lm_backends();
    LM_MPI(world, MPI_Allreduce(&own, common, 1, MPI_UINT64_T, MPI_BAND, world->comm));
    for (size_t k = 0; list[k] && k < 64; k++)
        if (*common >> k & 1)
            return list[k];
    return NULL;
}

/* The first rank that has no GPU tells all why. */
static void ask_who_lacks(const struct lm_world *world, int gpu_code, const struct lm_error *why,
                          struct lm_devices *devices)
{
    int without = gpu_code != LM_OK ? world->rank : world->size, first = 0;
    const size_t size = sizeof devices->without_gpu;
    LM_MPI(world, MPI_Allreduce(&without, &first, 1, MPI_INT, MPI_MIN, world->comm));
    if (first == world->size)
        return;
    if (world->rank == first)
        snprintf(devices->without_gpu, size, "rank %d on %s: %.*s", world->rank, world->host,
                 (int)(size - LM_HOST_SIZE - 32), why->text);
    LM_MPI(world, MPI_Bcast(devices->without_gpu, (int)size, MPI_BYTE, first, world->comm));
}

void lm_devices_say(const struct lm_world *world, const struct lm_devices *devices, const char *more)
{
    if (!devices->is_auto)
        return;
    if (devices->without_gpu[0])
        lm_note(world, "--device auto: %s, no GPU (%s)%s", devices->backend->name, devices->without_gpu, more);
    else
        lm_note(world, "--device auto: %s%s", devices->backend->name, more);
}

int lm_devices_choose(const struct lm_call *call, struct lm_devices *devices)
{
    const struct lm_world *world = call->world;
    const char *wish = call->options->device ? call->options->device : "auto"; /* info has no such option */
    struct lm_gpu_device device;
    struct lm_error err = {0}, gpu_err = {0};
    int gpu_code = LM_OK, asks_gpu = lm_device_is_gpu(wish);
    *devices = (struct lm_devices){.is_auto = strcmp(wish, "auto") == 0};
    if (devices->is_auto || asks_gpu)
        gpu_code = lm_gpu_select(world->node_rank, &device, &gpu_err);
    devices->gpu = (devices->is_auto || asks_gpu) && gpu_code == LM_OK;

    if (devices->is_auto || strcmp(wish, "cpu") == 0 || (strcmp(wish, "gpu") == 0 && gpu_code == LM_OK)) {
        devices->backend = first_common(world, wish, gpu_code == LM_OK, &devices->common);
        if (devices->backend && devices->is_auto)
            ask_who_lacks(world, gpu_code, &gpu_err, devices);
        if (devices->backend)
            return LM_OK;
    }
    /* A name that nobody knows is a mistake, whatever the machine has. */
    int code = lm_backend_find(wish, &devices->backend, &err);
    if (gpu_code != LM_OK && code != LM_BAD_INPUT) {
        code = gpu_code;
        lm_fail(&err, gpu_code, "--device %s: %s", wish, gpu_err.text);
    }
    return lm_agree_once(world, code, &err);
}

/* ---- the table of ranks ---- */

int lm_devices_describe(const struct lm_world *world, const struct lm_backend *backend, struct lm_rank *own,
                        struct lm_error *err)
{
    struct lm_gpu_device device;
    memset(own, 0, sizeof *own);
    snprintf(own->host, sizeof own->host, "%s", world->host);
    if (!lm_device_is_gpu(backend->name)) {
        snprintf(own->device, sizeof own->device, "%s", backend->name);
        return LM_OK;
    }
    int code = lm_gpu_current(&device, err);
    if (code != LM_OK)
        return code;
    snprintf(own->device, sizeof own->device, "%s", device.name);
    snprintf(own->uuid, sizeof own->uuid, "%s", device.uuid);
    snprintf(own->pci, sizeof own->pci, "%s", device.pci);
    return LM_OK;
}

static int same_gpu(const struct lm_rank *a, const struct lm_rank *b)
{
    return a->uuid[0] && strcmp(a->uuid, b->uuid) == 0 && strcmp(a->host, b->host) == 0;
}

/* "0, 2, 3": the ranks on the same GPU as rank r, cut where there are very many. */
static void list_sharers(const struct lm_rank *rank, size_t n, size_t r, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = r; k < n; k++) {
        if (!same_gpu(&rank[r], &rank[k]))
            continue;
        if (used + 32 > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%zu", used ? ", " : "", k);
    }
}

void lm_devices_find_shared(const struct lm_world *world, struct lm_rank *rank, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        char sharers[400];
        int first = 1, shared = 0;
        for (size_t k = 0; k < n; k++) {
            if (k == r || !same_gpu(&rank[r], &rank[k]))
                continue;
            shared = 1;
            first = first && k > r;
        }
        rank[r].shared = (uint8_t)shared;
        if (!shared || !first)
            continue;
        list_sharers(rank, n, r, sharers, sizeof sharers);
        lm_note(world, "%s %s on %s is shared by ranks %s: their times are not those of a GPU alone", rank[r].device,
                rank[r].uuid, rank[r].host, sharers);
    }
}

size_t lm_devices_count(const struct lm_rank *rank, size_t n)
{
    size_t count = 0;
    for (size_t r = 0; r < n; r++) {
        size_t seen = 0;
        while (seen < r && strcmp(rank[seen].uuid, rank[r].uuid) != 0)
            seen++;
        count += rank[r].uuid[0] && seen == r;
    }
    return count;
}
