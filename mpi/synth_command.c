/* synth_command.c: `libras_mpi synth DIR`. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "report.h"
#include "synth.h"

static int make(const struct lm_call *call, struct lm_error *err)
{
    const struct lm_options *options = call->options;
    uint64_t count[LM_CLASSES];
    struct lm_dataset data;
    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = options->samples ? options->samples : lm_synth_default_count[c];
    int code = lm_synth(count, options->synth_seed, &data, err);
    if (code != LM_OK)
        return code;
    code = lm_dataset_save(&data, options->operand[0], options->force, err);
    if (code == LM_OK && !options->quiet)
        printf("%zu images of %d letters in %s; SHA-256 %s\n", data.samples, LM_CLASSES, options->operand[0],
               data.digest);
    lm_dataset_free(&data);
    return code == LM_OK ? lm_flush_stdout(err) : code;
}

int lm_command_synth(const struct lm_call *call)
{
    struct lm_error err;
    return lm_agree(call->world, call->world->rank == 0 ? make(call, &err) : LM_OK, &err);
}
