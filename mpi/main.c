/* main.c: the program libras_mpi. Options first, without MPI, so that a mistake costs nothing; then MPI; then the
 * subcommand, which all ranks enter and leave together with one exit code. */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "h5util.h"
#include "provenance.h"
#include "version.h"

/* Before MPI every process speaks for itself: only the launcher's rank 0 does, so that all is said once. */
static int refuse(const struct lm_error *err)
{
    if (lm_launcher_rank() == 0)
        fprintf(stderr, "libras_mpi: %s\n", err->text);
    return err->code;
}

static int print_help(const struct lm_options *options)
{
    char *text = options->version ? NULL : lm_options_help(options);
    int failed = 0;
    if (lm_launcher_rank() == 0) {
        if (options->version)
            printf("libras_mpi %s (%s)\n", LM_VERSION, LM_COMMIT);
        else
            fputs(text ? text : "", stdout);
        failed = fflush(stdout) != 0 || (!options->version && !text);
    }
    free(text);
    return failed ? LM_FAILED : LM_OK;
}

static int dispatch(const struct lm_call *call)
{
    static int (*const command[LM_COMMANDS])(const struct lm_call *) = {
        [LM_COMMAND_RUN] = lm_command_run,       [LM_COMMAND_INFER] = lm_command_infer,
        [LM_COMMAND_VERIFY] = lm_command_verify, [LM_COMMAND_EXPORT] = lm_command_export,
        [LM_COMMAND_SYNTH] = lm_command_synth,   [LM_COMMAND_INFO] = lm_command_info,
    };
    return command[call->options->command](call);
}

static int work(int argc, char **argv, const struct lm_options *options, const char *command_line, double start)
{
    struct lm_world world;
    lm_world_begin(&world, &argc, &argv);
    world.quiet = options->quiet;
    world.verbose = options->verbose;
    lm_world_timeout(&world, options->timeout);
    struct lm_call call = {&world, options, command_line, start};
    int code = dispatch(&call);
    lm_world_end(&world);
    return code;
}

int main(int argc, char **argv)
{
    double start = lm_now();
    struct lm_options options;
    struct lm_error err;
    char *command_line = lm_command_line(argc, argv); /* before the parser sorts argv */
    int code = LM_FAILED;
    lm_hdf5_setup(); /* before any other call of HDF5 */
    if (lm_options_parse(argc, argv, &options, &err) != LM_OK) {
        code = refuse(&err);
    } else {
        if (options.help || options.version)
            code = print_help(&options);
        else if (command_line)
            code = work(argc, argv, &options, command_line, start);
        lm_options_free(&options);
    }
    free(command_line);
    return code;
}
