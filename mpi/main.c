/* main.c: the program libras_mpi. Options first, so that a mistake costs nothing; then MPI; then the subcommand, which
 * all ranks enter and leave together with one exit code.
 *
 * A mistake is told after MPI has started, if a launcher started us: it ends the job as soon as the first process
 * fails, and that one may not be the one that speaks; and a mistake of one rank alone is told by that rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "ending.h"
#include "gpu.h"
#include "h5util.h"
#include "prepare.h"
#include "provenance.h"
#include "stop.h"
#include "version.h"

/* A standard stream that is closed would be the next file that is opened, and what is said would be written into it. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDONLY); /* the lowest free one; writing to it fails, as it should */
}

/* Without a launcher (or srun without one for MPI): all processes say the same, so that of rank 0 is enough. */
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
        if (failed)
            fprintf(stderr, "libras_mpi: stdout: the help could not be written whole\n");
    }
    free(text);
    return failed ? LM_FAILED : LM_OK;
}

static int dispatch(const struct lm_call *call)
{
    static int (*const command[LM_COMMANDS])(const struct lm_call *) = {
        [LM_COMMAND_RUN] = lm_command_run,
        [LM_COMMAND_SWEEP] = lm_command_sweep,
        [LM_COMMAND_INFER] = lm_command_infer,
        [LM_COMMAND_BENCH] = lm_command_bench,
        [LM_COMMAND_VERIFY] = lm_command_verify,
        [LM_COMMAND_EXPORT] = lm_command_export,
        [LM_COMMAND_SYNTH] = lm_command_synth,
        [LM_COMMAND_INFO] = lm_command_info,
        [LM_COMMAND_IMPORT] = lm_command_import,
        [LM_COMMAND_PREDICT] = lm_command_predict,
        [LM_COMMAND_CALIBRATE] = lm_command_calibrate,
        [LM_COMMAND_PLAN] = lm_command_plan,
    };
    return command[call->options->command](call);
}

/* mistake: what the options came to. */
static int work(int argc, char **argv, const struct lm_options *options, const struct lm_error *mistake,
                const char *command_line, double start)
{
    struct lm_world world;
    struct lm_error err;
    double seconds = mistake->code == LM_OK ? options->timeout : 0.0;
    if (lm_world_check(NULL, &err) != LM_OK)
        return refuse(&err);
    lm_gpu_range_begin("start-up");
    lm_ending_begin(seconds, lm_launcher_rank());
    if (mistake->code == LM_OK && options->command == LM_COMMAND_SWEEP)
        lm_stop_begin(); /* before MPI starts: until then a signal would kill */
    lm_world_begin(&world, &argc, &argv);
    lm_ending_started(seconds);
    lm_gpu_range_end();
    if (lm_world_check(&world, &err) != LM_OK) {
        lm_world_end(&world);
        return refuse(&err);
    }
    int code = lm_agree_once(&world, mistake->code, mistake);
    if (code == LM_OK) {
        struct lm_call call = {&world, options, command_line, start};
        world.quiet = options->quiet;
        world.verbose = options->verbose;
        if ((code = lm_prepare_agree(&call)) == LM_OK)
            code = dispatch(&call);
    }
    lm_world_end(&world);
    return code;
}

int main(int argc, char **argv)
{
    double start = lm_now();
    struct lm_options options;
    struct lm_error err;
    char *command_line = lm_command_line(argc, argv); /* before the parser sorts argv */
    int code;
    hold_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may grow no further is a failed write, with a message */
    lm_hdf5_setup();          /* before any other call of HDF5 */
    err.code = command_line ? LM_OK : lm_fail_memory(&err, 4096, "the command line");
    if (err.code == LM_OK)
        err.code = lm_options_parse(argc, argv, &options, &err);
    if (err.code != LM_OK && !lm_launched())
        code = refuse(&err);
    else if (err.code == LM_OK && (options.help || options.version))
        code = print_help(&options);
    else
        code = work(argc, argv, &options, &err, command_line, start);
    if (err.code == LM_OK)
        lm_options_free(&options);
    free(command_line);
    return code;
}
