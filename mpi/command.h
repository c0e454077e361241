/* command.h: the subcommands. Each is called by all ranks and returns the same exit code on all. */
#ifndef LM_COMMAND_H
#define LM_COMMAND_H

#include "options.h"
#include "world.h"

struct lm_call {
    struct lm_world *world;
    const struct lm_options *options;
    const char *command_line;
    double start; /* lm_now() at the start of main */
};

int lm_command_run(const struct lm_call *call);
int lm_command_sweep(const struct lm_call *call);
int lm_command_infer(const struct lm_call *call);
int lm_command_predict(const struct lm_call *call);
int lm_command_bench(const struct lm_call *call);
int lm_command_verify(const struct lm_call *call);
int lm_command_export(const struct lm_call *call);
int lm_command_synth(const struct lm_call *call);
int lm_command_import(const struct lm_call *call);
int lm_command_info(const struct lm_call *call);
int lm_command_calibrate(const struct lm_call *call);
int lm_command_plan(const struct lm_call *call);

#endif
