/* decide.c: see decide.h. */
#include "decide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu_backend.h"
#include "gpu.h"

#define MOST_BACKENDS 64 /* bits of lm_devices.common */
#define WHOLE         0.1

/* Who decides where the model cannot; /model has these words. */
static const char no_calibration[] = "rule: no calibration", unreadable[] = "rule: unreadable calibration",
                  stale[] = "rule: stale calibration", nothing_fits[] = "rule: nothing that fits";

/* ---- where the program runs ---- */

/* Rank 0: how many different GPUs the ranks have taken. */
static double count_gpus(const struct lm_world *world, int gpu)
{
    struct lm_gpu_device device;
    struct lm_error err;
    char own[sizeof device.uuid] = "", *all = NULL;
    double count = 0.0;
    if (gpu && lm_gpu_current(&device, &err) == LM_OK)
        memcpy(own, device.uuid, sizeof own);
    if (world->rank == 0 && !(all = malloc((size_t)world->size * sizeof own))) {
        lm_fail_memory(&err, (size_t)world->size * sizeof own, "the ranks' GPUs");
        lm_abort(world, &err);
    }
    LM_MPI(world, MPI_Gather(own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, 0, world->comm));
    for (int r = 0; all && r < world->size; r++) {
        int seen = 0;
        while (seen < r && strcmp(all + seen * (int)sizeof own, all + r * (int)sizeof own) != 0)
            seen++;
        count += all[r * (int)sizeof own] != '\0' && seen == r;
    }
    free(all);
    return count;
}

void lm_place_find(const struct lm_world *world, int gpu, struct lm_place *place)
{
    double own[3] = {lm_cpu_threads(world->mask_ranks), world->node_rank == 0, 0.0}, all[3] = {0.0};
    if (world->node_rank == 0) /* more ranks than cores have no more cores than there are */
        own[2] = (double)sysconf(_SC_NPROCESSORS_ONLN);
    LM_MPI(world, MPI_Reduce(own, all, 3, MPI_DOUBLE, MPI_SUM, 0, world->comm));
    double gpus = count_gpus(world, gpu), ranks = (double)world->size;
    *place = (struct lm_place){ranks, fmax(1.0, all[1]), fmax(1.0, fmin(all[0], fmax(1.0, all[2]))), gpus};
}

/* ---- calibration and history ---- */

/* A CPU that was asked for by name needs no GPU to be looked at, and the file's GPU does not change its times. */
static int is_ours(const struct lm_decide *decide, const char *path, struct lm_error *err)
{
    struct lm_machine_key here;
    const struct lm_devices *devices = &decide->devices;
    lm_machine_key_here(devices->gpu, &here);
    if (!devices->is_auto && !lm_device_is_gpu(devices->backend->name)) {
        memcpy(here.gpu, decide->machine.key.gpu, sizeof here.gpu);
        memcpy(here.driver, decide->machine.key.driver, sizeof here.driver);
    }
    return lm_machine_check(&decide->machine, &here, !devices->is_auto, path, err) == LM_OK;
}

static void read_machine(struct lm_decide *decide)
{
    char path[LM_MACHINE_PATH];
    struct lm_error err = {0};
    lm_machine_default_path(decide->call->world, path);
    decide->why_not = NULL;
    if (access(path, F_OK) != 0)
        decide->why_not = no_calibration;
    else if (lm_machine_read(path, &decide->machine, &err) != LM_OK)
        decide->why_not = unreadable;
    else if (!is_ours(decide, path, &err))
        decide->why_not = stale;
    decide->known = decide->why_not == NULL;
    if (!decide->known && err.text[0] && decide->devices.is_auto)
        lm_note(decide->call->world, "--device auto: the calibration is not used: %s", err.text);
}

static void read_past(struct lm_decide *decide)
{
    struct lm_error err;
    lm_history_default_path(decide->call->world, decide->history_path);
    decide->past = malloc(sizeof *decide->past);
    if (decide->past && lm_history_read(decide->history_path, &decide->machine, decide->past, &err) != LM_OK)
        lm_detail(decide->call->world, "earlier runs' times are not used: %s", err.text);
}

int lm_decide_begin(const struct lm_call *call, struct lm_decide *decide)
{
    *decide = (struct lm_decide){.call = call, .by = "", .why_not = no_calibration};
    int code = lm_devices_choose(call, &decide->devices);
    for (int k = 0; k < LM_HISTORY_PHASES; k++) {
        decide->backend[k] = decide->devices.backend;
        decide->measured[k] = NAN;
    }
    return code;
}

void lm_decide_read(struct lm_decide *decide)
{
    lm_place_find(decide->call->world, decide->devices.gpu, &decide->place);
    if (decide->call->world->rank != 0)
        return;
    read_machine(decide);
    if (decide->known)
        read_past(decide);
}

/* ---- the phases ---- */

static void refine(struct lm_decide *decide, enum lm_history_phase phase)
{
    if (decide->past)
        lm_choice_refine(&decide->choice[phase], &decide->past->phase[phase]);
}

void lm_decide_ask_train(struct lm_decide *decide, const struct lm_work *work, double scored)
{
    struct lm_choice *choice = &decide->choice[LM_HISTORY_TRAIN];
    if (!decide->known) {
        lm_choice_unknown(LM_HISTORY_TRAIN, work->steps, decide->devices.backend->name, choice);
        return;
    }
    lm_choice_train(&decide->machine, &decide->place, work, scored, choice);
    refine(decide, LM_HISTORY_TRAIN);
}

void lm_decide_ask_infer(struct lm_decide *decide, struct lm_shape shape, double n, double batch)
{
    struct lm_choice *choice = &decide->choice[LM_HISTORY_INFER];
    if (!decide->known) {
        lm_choice_unknown(LM_HISTORY_INFER, n, decide->devices.backend->name, choice);
        return;
    }
    lm_choice_infer(&decide->machine, &decide->place, shape, n, batch, choice);
    refine(decide, LM_HISTORY_INFER);
}

/* ---- the decision ---- */

static int is_asked_about(const struct lm_decide *decide, int phase)
{
    return decide->choice[phase].n > 0;
}

/* Rank 0: one phase, by the model; 0: it names none that every rank can run. */
static int decide_phase(struct lm_decide *decide, int phase, const char *const *able)
{
    const struct lm_backend *const *list = lm_backends();
    struct lm_choice *choice = &decide->choice[phase];
    if (lm_choice_decide(choice, able, decide->machine.error) < 0)
        return 0;
    for (size_t k = 0; list[k]; k++)
        if (strcmp(list[k]->name, choice->candidate[choice->chosen].device) == 0)
            decide->backend[phase] = list[k];
    return 1;
}

static int decide_by_model(struct lm_decide *decide)
{
    const struct lm_backend *const *list = lm_backends();
    const char *able[MOST_BACKENDS + 1] = {NULL};
    int n = 0, good = 1, refined = 0;
    for (size_t k = 0; list[k] && k < MOST_BACKENDS; k++)
        if (decide->devices.common >> k & 1)
            able[n++] = list[k]->name;
    for (int phase = 0; phase < LM_HISTORY_PHASES && good; phase++)
        if (is_asked_about(decide, phase)) {
            good = decide_phase(decide, phase, able);
            refined = refined || decide->choice[phase].refined;
        }
    decide->by = refined ? "model and history" : "model";
    return good;
}

/* What was asked for, or the rule without a model. */
static void decide_without(struct lm_decide *decide)
{
    for (int phase = 0; phase < LM_HISTORY_PHASES; phase++) {
        decide->backend[phase] = decide->devices.backend;
        if (is_asked_about(decide, phase))
            lm_choice_ask(&decide->choice[phase], decide->devices.backend->name);
    }
}

static void make_text(struct lm_decide *decide)
{
    static const char *const what[LM_HISTORY_PHASES] = {"training", "scoring"};
    size_t used = 0;
    for (int phase = 0; phase < LM_HISTORY_PHASES; phase++) {
        char text[300];
        if (!is_asked_about(decide, phase))
            continue;
        lm_choice_text(&decide->choice[phase], text, sizeof text);
        used += (size_t)snprintf(decide->text + used, sizeof decide->text - used, "%s%s: %s", used ? "; " : "",
                                 what[phase], text);
        used = used < sizeof decide->text ? used : sizeof decide->text - 1;
    }
}

/* Where the machine has a GPU and a rank does not, that is part of why. */
static void say_choice(const struct lm_decide *decide)
{
    const struct lm_devices *devices = &decide->devices;
    int lacks = lm_machine_has_gpu(&decide->machine) && devices->without_gpu[0];
    lm_note(decide->call->world, "--device auto: %s%s%s", decide->text, lacks ? "; no GPU for " : "",
            lacks ? devices->without_gpu : "");
}

static void decide_on_rank_0(struct lm_decide *decide)
{
    const struct lm_world *world = decide->call->world;
    if (decide->devices.is_auto && decide->known) {
        if (decide_by_model(decide)) {
            make_text(decide);
            say_choice(decide);
            return;
        }
        decide->why_not = nothing_fits;
    }
    decide_without(decide);
    if (!decide->devices.is_auto) {
        decide->by = "asked for";
        snprintf(decide->text, sizeof decide->text, "--device %s", decide->call->options->device);
        return;
    }
    decide->by = decide->why_not;
    snprintf(decide->text, sizeof decide->text, "a GPU if every rank has one, else the CPU's fastest");
    lm_devices_say(world, &decide->devices,
                   decide->why_not == no_calibration ? "; `libras_mpi calibrate` would let the performance model decide"
                                                     : "");
}

static int number_of(const struct lm_backend *backend)
{
    const struct lm_backend *const *list = lm_backends();
    int k = 0;
    while (list[k] && list[k] != backend)
        k++;
    return k;
}

void lm_decide_share(struct lm_decide *decide)
{
    int number[LM_HISTORY_PHASES];
    if (decide->call->world->rank == 0) {
        decide_on_rank_0(decide);
        if (!is_asked_about(decide, LM_HISTORY_TRAIN))
            decide->backend[LM_HISTORY_TRAIN] = decide->backend[LM_HISTORY_INFER];
        if (!is_asked_about(decide, LM_HISTORY_INFER))
            decide->backend[LM_HISTORY_INFER] = decide->backend[LM_HISTORY_TRAIN];
        for (int k = 0; k < LM_HISTORY_PHASES; k++)
            number[k] = number_of(decide->backend[k]);
    }
    lm_broadcast(decide->call->world, number, sizeof number);
    for (int k = 0; k < LM_HISTORY_PHASES; k++)
        decide->backend[k] = lm_backends()[number[k]];
}

const struct lm_backend *lm_decide_shown(const struct lm_decide *decide)
{
    const struct lm_backend *train = decide->backend[LM_HISTORY_TRAIN], *infer = decide->backend[LM_HISTORY_INFER];
    return !lm_device_is_gpu(train->name) && lm_device_is_gpu(infer->name) ? infer : train;
}

/* ---- what came of it ---- */

void lm_decide_measured(struct lm_decide *decide, enum lm_history_phase phase, double seconds, double done)
{
    struct lm_choice *choice = &decide->choice[phase];
    struct lm_error err;
    decide->measured[phase] = seconds;
    if (!decide->known || !is_asked_about(decide, phase) || !lm_choice_known(choice) || !(fabs(done - 1.0) <= WHOLE))
        return;
    const struct lm_prediction alone = lm_choice_alone(choice);
    if (lm_history_append(decide->history_path, &decide->machine, phase, &alone, choice->size, seconds, &err) ==
            LM_OK ||
        decide->complained++)
        return;
    lm_note(decide->call->world, "the history of run times is not kept: %s", err.text);
}

int lm_decide_rows(const struct lm_decide *decide, struct lm_results *results, struct lm_error *err)
{
    int code = LM_OK;
    for (int phase = 0; phase < LM_HISTORY_PHASES; phase++)
        for (int k = 0; k < decide->choice[phase].n && code == LM_OK; k++) {
            struct lm_model_row row;
            lm_choice_row(&decide->choice[phase], k, decide->measured[phase], &row);
            code = lm_results_model(results, &row, err);
        }
    snprintf(results->decided_by, sizeof results->decided_by, "%s", decide->by);
    snprintf(results->decision, sizeof results->decision, "%s", decide->text);
    return code;
}

void lm_decide_end(struct lm_decide *decide)
{
    free(decide->past);
    decide->past = NULL;
}
