/* plan.c: `libras_mpi plan [SPEC.yaml]`: what the performance model says of a run that is not made: how long each
 * device would take, which is chosen and why, how that goes with several GPUs, and the lines for Slurm.
 *
 * Nothing is trained. Data are read, since their number counts, and the time that takes. A rank here stands for as many
 * as there are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"
#include "report.h"
#include "source.h"
#include "sweep_spec.h"
#include "sweep_yaml.h"

/* ---- what is to be done ---- */

static double kept_of(enum lm_keep keep, uint64_t top, uint64_t trials)
{
    return keep == LM_KEEP_NONE ? 0.0 : keep == LM_KEEP_TOP && top < trials ? (double)top : (double)trials;
}

static int trials_of_file(struct lm_plan *plan, struct lm_error *err)
{
    struct lm_sweep_spec spec = {0};
    uint64_t drawn;
    int code = lm_sweep_read(plan->call->options->operand[0], &spec, err);
    if (code == LM_OK)
        code = lm_sweep_trials(&spec, &plan->trial, &plan->trials, &drawn, err);
    if (code == LM_OK) {
        plan->holdout = spec.holdout;
        plan->kept = kept_of(spec.keep, spec.keep_top, plan->trials);
        /* Halving: what a trial trains on the average. */
        double epochs = 0.0;
        uint64_t going = plan->trials, before = 0;
        for (size_t k = 0; k < spec.n_rungs; k++) {
            epochs += (double)going * (double)(spec.rung[k] - before);
            before = spec.rung[k];
            going = lm_sweep_kept(&spec, going);
        }
        for (uint64_t t = 0; t < plan->trials && spec.n_rungs; t++)
            plan->trial[t].epochs = (uint32_t)fmax(1.0, round(epochs / (double)plan->trials));
    }
    lm_sweep_spec_free(&spec);
    return code;
}

static int trials_of_options(struct lm_plan *plan, struct lm_error *err)
{
    const struct lm_options *options = plan->call->options;
    plan->trials = lm_grid_size(&options->grid);
    if (plan->trials > LM_MAX_TRIALS)
        return lm_fail(err, LM_BAD_INPUT, "these axes make more than %llu trials", (unsigned long long)LM_MAX_TRIALS);
    plan->trial = malloc(plan->trials * sizeof *plan->trial);
    if (!plan->trial)
        return lm_fail_memory(err, plan->trials * sizeof *plan->trial, "trials");
    for (uint64_t t = 0; t < plan->trials; t++)
        plan->trial[t] = lm_grid_trial(&options->grid, t);
    plan->holdout = options->holdout >= 0.0        ? options->holdout
                    : options->keep == LM_KEEP_TOP ? LM_DEFAULT_HOLDOUT
                                                   : 0.0;
    plan->kept = kept_of(options->keep, options->keep_top, plan->trials);
    return LM_OK;
}

static int count_samples(struct lm_plan *plan, struct lm_error *err)
{
    struct lm_dataset data;
    struct lm_split split = {0};
    const struct lm_options *options = plan->call->options;
    double start = lm_now();
    int code = lm_source_load(plan->call->world, options, &data, err);
    if (code != LM_OK)
        return code;
    plan->read = lm_now() - start;
    code = lm_split_make_kind(options->split, data.count, options->split_seed, plan->holdout, &split, err);
    if (code == LM_OK) {
        plan->train = (double)split.n_train;
        plan->validation = (double)split.n_validation;
        plan->test = (double)split.n_test;
    }
    lm_split_free(&split);
    lm_dataset_free(&data);
    return code;
}

/* Trials of one shape and block together; their epochs are the mean. */
static int gather_work(struct lm_plan *plan, struct lm_error *err)
{
    size_t room = 0;
    for (uint64_t t = 0; t < plan->trials; t++) {
        const struct lm_trial *trial = &plan->trial[t];
        char fault[160];
        size_t k = 0;
        if (lm_trial_fault(trial, fault, sizeof fault))
            continue;
        while (k < plan->works &&
               !(lm_shape_equal(plan->work[k].shape, trial->shape) && plan->work[k].block == trial->block))
            k++;
        if (k == room) {
            room = room ? 2 * room : 16;
            struct lm_training_work *more = realloc(plan->work, room * sizeof *more);
            if (!more)
                return lm_fail_memory(err, room * sizeof *more, "kinds of trainings");
            plan->work = more;
        }
        if (k == plan->works)
            plan->work[plan->works++] = (struct lm_training_work){
                .shape = trial->shape, .samples = plan->train, .block = trial->block, .first = 1};
        plan->work[k].replicas += 1.0;
        plan->work[k].epochs += trial->epochs;
    }
    for (size_t k = 0; k < plan->works; k++) {
        plan->epochs += plan->work[k].epochs;
        plan->work[k].epochs /= plan->work[k].replicas;
    }
    plan->steps = plan->epochs * plan->train;
    return LM_OK;
}

/* ---- the machine ---- */

static int read_machine(struct lm_plan *plan, struct lm_error *err)
{
    const struct lm_options *options = plan->call->options;
    struct lm_machine_key here;
    struct lm_error gpu;
    lm_machine_default_path(plan->call->world, plan->path);
    plan->machine_path = options->machine ? options->machine : plan->path;
    if (!options->machine && access(plan->path, F_OK) != 0)
        return lm_fail(err, LM_BAD_INPUT,
                       "%s: this machine has not been measured: `libras_mpi calibrate`, or describe one with --machine",
                       plan->path);
    int code = lm_machine_read(plan->machine_path, &plan->machine, err);
    if (code != LM_OK || options->machine)
        return code;
    lm_machine_here(plan->call->world, 0, &here, NULL, &gpu);
    return lm_machine_check(&plan->machine, &here, 1, plan->machine_path, err);
}

/* ---- the command ---- */

static int on_rank_0(const struct lm_call *call, struct lm_error *err)
{
    struct lm_plan plan = {.call = call, .sweep = call->options->operands > 0};
    int code = read_machine(&plan, err);
    if (code == LM_OK)
        code = plan.sweep ? trials_of_file(&plan, err) : trials_of_options(&plan, err);
    if (code == LM_OK)
        code = count_samples(&plan, err);
    if (code == LM_OK)
        code = gather_work(&plan, err);
    if (code == LM_OK) {
        struct lm_plan_choice choice;
        choice.n = lm_predict_train(&plan.machine, plan.work, plan.works, lm_plan_scored(&plan), 1.0, choice.candidate);
        choice.decision = lm_decide(choice.candidate, choice.n, plan.machine.error);
        if (call->options->format == LM_FORMAT_JSON)
            lm_plan_json(&plan, &choice);
        else
            lm_plan_text(&plan, &choice);
        code = lm_flush_stdout(err);
    }
    free(plan.trial);
    free(plan.work);
    return code;
}

int lm_command_plan(const struct lm_call *call)
{
    struct lm_error err;
    return lm_agree(call->world, call->world->rank == 0 ? on_rank_0(call, &err) : LM_OK, &err);
}
