/* options.h: what the program was asked to do. One table (option_table.c) drives parsing, help and the echo that is
 * stored in every results file. */
#ifndef LM_OPTIONS_H
#define LM_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "axis.h"
#include "keep_kind.h"
#include "split.h"
#include "status.h"

enum lm_command {
    LM_COMMAND_RUN,
    LM_COMMAND_SWEEP,
    LM_COMMAND_INFER,
    LM_COMMAND_PREDICT,
    LM_COMMAND_BENCH,
    LM_COMMAND_VERIFY,
    LM_COMMAND_EXPORT,
    LM_COMMAND_SYNTH,
    LM_COMMAND_IMPORT,
    LM_COMMAND_INFO,
    LM_COMMAND_CALIBRATE,
    LM_COMMAND_PLAN,
    LM_COMMANDS
};

enum lm_format { LM_FORMAT_TEXT, LM_FORMAT_JSON, LM_FORMAT_LAB, LM_FORMAT_CSV };
enum lm_packing { LM_PACKING_NONE, LM_PACKING_U8, LM_PACKING_F32 }; /* the types are those of packed.h */

#define LM_MAX_OPERANDS 256 /* options.c says so in words */

struct lm_options {
    enum lm_command command;
    int help;    /* --help: print the command's help, end 0 */
    int version; /* --version */
    int command_given;

    const char *operand[LM_MAX_OPERANDS]; /* RESULTS.h5, DIR, A.h5 B.h5, ...; borrowed from argv */
    size_t operands;

    const char *data; /* folder, or packed file; NULL: $LIBRAS_DATA, else the synthetic set. Borrowed from argv, like
                         all texts here */
    const char *out;  /* file; NULL: the default name */
    const char *device;
    const char *table;   /* export: which table */
    const char *machine; /* plan: a calibration's file; NULL: this machine's */

    struct lm_grid grid; /* owned */
    enum lm_split_kind split;
    uint32_t split_seed;
    double holdout; /* 0: none; -1: not said (then none, or LM_DEFAULT_HOLDOUT where the run selects) */
    enum lm_keep keep;
    uint64_t keep_top;
    uint64_t validate_replicas;
    uint64_t samples; /* synth: of each letter; 0: the default counts */
    uint32_t synth_seed;
    enum lm_packing packed;    /* synth, import: one packed file instead of a folder */
    int whole;                 /* import, predict: the whole picture, whatever box is labelled */
    int no_labels;             /* synth: a packed file without them */
    uint64_t validate_samples; /* infer, of a packed file; UINT64_MAX: all */
    int64_t trial;             /* infer, export: which trial's weights; -1: the first there is */
    double timeout;            /* seconds; 0: none */
    uint64_t repeats;          /* bench */
    double seconds;            /* bench: about so long for the training of each variant */

    double checkpoint_every; /* sweep: seconds */

    int force, resume, dry_run, quiet, verbose;
    enum lm_format format;
};

#define LM_DEFAULT_HOLDOUT 0.1

/* Parses argv (argv[0] is the program). Unknown commands, options and values are LM_BAD_INPUT: the message names what
 * was given and the nearest valid one. Options not given have their defaults. --help and --version end the parsing. */
int lm_options_parse(int argc, char **argv, struct lm_options *out, struct lm_error *err);
void lm_options_free(struct lm_options *options);

const char *lm_command_name(enum lm_command command);

/* The help of the program (all commands), or of one command. Returned text is owned by the caller (free); NULL: out of
 * memory. */
char *lm_options_help(const struct lm_options *options);

/* Every option that this command takes with the value in force, "name=value", one a line, in the table's order. Two
 * runs with the same echo were asked for the same thing. Owned by the caller; NULL: out of memory. */
char *lm_options_echo(const struct lm_options *options);

#endif
