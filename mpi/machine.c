/* machine.c: see machine.h. */
#include "machine.h"

#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "version.h"

void lm_machine_default_path(const struct lm_world *world, char path[LM_MACHINE_PATH])
{
    snprintf(path, LM_MACHINE_PATH, "results/machine_%s.txt", world->host);
}

void lm_history_default_path(const struct lm_world *world, char path[LM_MACHINE_PATH])
{
    snprintf(path, LM_MACHINE_PATH, "results/history_%s.txt", world->host);
}

void lm_machine_key_here(int gpu, struct lm_machine_key *key)
{
    struct lm_gpu_device device;
    struct lm_error err;
    memset(key, 0, sizeof *key);
    lm_machine_cpu_name(key->cpu, sizeof key->cpu);
    snprintf(key->build, sizeof key->build, "%s %s", LM_VERSION, LM_COMMIT);
    if (gpu && lm_gpu_current(&device, &err) == LM_OK) {
        snprintf(key->gpu, sizeof key->gpu, "%s", device.uuid);
        lm_gpu_driver(key->driver, sizeof key->driver);
    }
}

void lm_machine_here(const struct lm_world *world, int without_gpu, struct lm_machine_key *key, double *context,
                     struct lm_error *gpu_err)
{
    struct lm_gpu_device device;
    double start = lm_now();
    if (without_gpu)
        lm_fail(gpu_err, LM_UNAVAILABLE, "not asked for");
    else
        gpu_err->code = lm_gpu_select(world->node_rank, &device, gpu_err);
    lm_machine_key_here(gpu_err->code == LM_OK, key);
    if (context)
        *context = lm_now() - start;
}
