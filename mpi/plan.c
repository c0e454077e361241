/* plan.c: `libras_mpi plan [SPEC.yaml]`: what the performance model says of a run that is not made: how long each
 * device would take, which is chosen and why, how that goes with several GPUs, and the lines for Slurm.
 *
 * Nothing is trained. Data are read, since their number counts, and the time that takes. A rank here stands for as many
 * as there are.
 */
#include "plan.h"

#include <stdlib.h>

#include "report.h"
#include "sweep_yaml.h"

/* ---- what is to be done ---- */

static double kept_of(enum lm_keep keep, uint64_t top, uint64_t trials)
{
    return keep == LM_KEEP_NONE ? 0.0 : keep == LM_KEEP_TOP && top < trials ? (double)top : (double)trials;
}

static int trials_of_file(struct lm_plan *plan, struct lm_error *err)
{
    struct lm_sweep_spec spec = {0};
    struct lm_trial *trial = NULL;
    uint64_t drawn;
    int code = lm_sweep_read(plan->call->options->operand[0], &spec, err);
    if (code == LM_OK)
        code = lm_sweep_trials(&spec, &trial, &plan->trials, &drawn, err);
    if (code == LM_OK) {
        plan->holdout = spec.holdout;
        plan->kept = kept_of(spec.keep, spec.keep_top, plan->trials);
        code = lm_forecast_sweep(&spec, trial, plan->trials, &plan->work, err);
    }
    free(trial);
    lm_sweep_spec_free(&spec);
    return code;
}

static int trials_of_options(struct lm_plan *plan, struct lm_error *err)
{
    const struct lm_options *options = plan->call->options;
    plan->trials = lm_grid_size(&options->grid);
    plan->holdout = options->holdout >= 0.0        ? options->holdout
                    : options->keep == LM_KEEP_TOP ? LM_DEFAULT_HOLDOUT
                                                   : 0.0;
    plan->kept = kept_of(options->keep, options->keep_top, plan->trials);
    return lm_forecast_axes(options, &plan->work, err);
}

/* ---- the command ---- */

static void show(const struct lm_plan *plan)
{
    struct lm_plan_choice choice;
    choice.n = lm_predict_train(&plan->machine, plan->work.kind, plan->work.kinds, lm_plan_scored(plan), 1.0,
                                choice.candidate);
    choice.decision = lm_decide(choice.candidate, choice.n, plan->machine.error);
    if (plan->call->options->format == LM_FORMAT_JSON)
        lm_plan_json(plan, &choice);
    else
        lm_plan_text(plan, &choice);
}

static int on_rank_0(const struct lm_call *call, struct lm_error *err)
{
    struct lm_plan plan = {.call = call, .sweep = call->options->operands > 0};
    int code = lm_forecast_machine(call, plan.path, &plan.machine, err);
    plan.machine_path = call->options->machine ? call->options->machine : plan.path;
    if (code == LM_OK)
        code = plan.sweep ? trials_of_file(&plan, err) : trials_of_options(&plan, err);
    if (code == LM_OK)
        code = lm_forecast_count(call, plan.holdout, &plan.samples, err);
    if (code == LM_OK) {
        lm_work_end(&plan.work, plan.samples.train, 1.0);
        show(&plan);
        code = lm_flush_stdout(err);
    }
    lm_work_free(&plan.work);
    return code;
}

int lm_command_plan(const struct lm_call *call)
{
    struct lm_error err;
    return lm_agree(call->world, call->world->rank == 0 ? on_rank_0(call, &err) : LM_OK, &err);
}
