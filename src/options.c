/* options.c: argv into struct lm_options, by the table and getopt_long. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "option_table.h"

#define MOST_OPTIONS 32
#define FIRST_VALUE  256 /* getopt's return value of option k of the command is FIRST_VALUE + its place in the table */

const char *lm_command_name(enum lm_command command)
{
    return lm_command_table[command].name;
}

static int takes(const struct lm_option *o, enum lm_command command)
{
    return (o->commands >> command) & 1u;
}

/* ---- the command ---- */

static int find_command(const char *word, struct lm_options *options, struct lm_error *err)
{
    const char *name[LM_COMMANDS];
    for (int k = 0; k < LM_COMMANDS; k++) {
        name[k] = lm_command_table[k].name;
        if (strcmp(word, name[k]) == 0) {
            options->command = (enum lm_command)k;
            options->command_given = 1;
            return LM_OK;
        }
    }
    const char *nearest = lm_nearest(word, name, LM_COMMANDS);
    return lm_fail(err, LM_BAD_INPUT, "'%s' is no command; %s%s%slibras_mpi --help lists them", word,
                   nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
}

/* ---- getopt's view of the table ---- */

struct view {
    struct option longs[MOST_OPTIONS + 1];
    char shorts[2 * MOST_OPTIONS + 2];
    const char *names[MOST_OPTIONS];
    size_t n;
};

static void make_view(enum lm_command command, struct view *view)
{
    size_t s = 0;
    *view = (struct view){0};
    view->shorts[s++] = ':'; /* a missing value is ':', not '?' */
    for (size_t k = 0; k < lm_option_count && view->n < MOST_OPTIONS; k++) {
        const struct lm_option *o = &lm_option_table[k];
        if (!takes(o, command))
            continue;
        view->names[view->n] = o->name;
        view->longs[view->n++] =
            (struct option){o->name, o->argument ? required_argument : no_argument, NULL, FIRST_VALUE + (int)k};
        if (o->letter) {
            view->shorts[s++] = o->letter;
            if (o->argument)
                view->shorts[s++] = ':';
        }
    }
}

static const struct lm_option *option_of(int value, enum lm_command command)
{
    if (value >= FIRST_VALUE)
        return &lm_option_table[value - FIRST_VALUE];
    for (size_t k = 0; k < lm_option_count; k++)
        if (lm_option_table[k].letter == value && takes(&lm_option_table[k], command))
            return &lm_option_table[k];
    return NULL;
}

static int unknown_option(const char *word, const struct view *view, enum lm_command command, struct lm_error *err)
{
    if (strncmp(word, "--", 2) != 0)
        return lm_fail(err, LM_BAD_INPUT, "'%s' is no option of '%s'; `libras_mpi %s --help` lists them", word,
                       lm_command_name(command), lm_command_name(command));
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t k = 0; command == LM_COMMAND_SWEEP && k < lm_option_count; k++)
        if (takes(&lm_option_table[k], LM_COMMAND_RUN) && !takes(&lm_option_table[k], command) &&
            strcmp(lm_option_table[k].name, name) == 0)
            return lm_fail(err, LM_BAD_INPUT,
                           "--%s is no option of 'sweep': what is trained and kept stands in its file (jobs/*.yaml "
                           "explain the keys)",
                           name);
    size_t fits = 0;
    for (size_t k = 0; k < view->n; k++)
        fits += strncmp(view->names[k], name, strlen(name)) == 0;
    const char *nearest = lm_nearest(name, view->names, view->n);
    return lm_fail(err, LM_BAD_INPUT, "--%s is %s option of '%s'; %s%s%s`libras_mpi %s --help` lists them", name,
                   fits > 1 ? "the beginning of more than one" : "no", lm_command_name(command),
                   nearest ? "did you mean --" : "", nearest ? nearest : "", nearest ? "? " : "",
                   lm_command_name(command));
}

/* getopt_long says '?' for an unknown option, an ambiguous one, and a flag that was given a value. */
static int refused(int argc, char **argv, const struct view *view, enum lm_command command, struct lm_error *err)
{
    const char *word = optind >= 1 && optind <= argc ? argv[optind - 1] : "";
    if (optopt >= FIRST_VALUE)
        return lm_fail(err, LM_BAD_INPUT, "--%s takes no value", lm_option_table[optopt - FIRST_VALUE].name);
    if (optopt) {
        char letter[3] = {'-', (char)optopt, '\0'};
        return unknown_option(letter, view, command, err);
    }
    return unknown_option(word, view, command, err);
}

/* ---- defaults, values, operands ---- */

static int set_defaults(struct lm_options *options, struct lm_error *err)
{
    for (size_t k = 0; k < lm_option_count; k++) {
        const struct lm_option *o = &lm_option_table[k];
        int code = LM_OK;
        if (o->standard && takes(o, options->command))
            code = o->read(o, o->standard, options, err);
        if (code != LM_OK)
            return code;
    }
    return LM_OK;
}

static int read_options(int argc, char **argv, struct lm_options *options, struct lm_error *err)
{
    struct view view;
    int value;
    make_view(options->command, &view);
    optind = 0; /* glibc: start over */
    opterr = 0;
    while ((value = getopt_long(argc, argv, view.shorts, view.longs, NULL)) != -1) {
        if (value == '?')
            return refused(argc, argv, &view, options->command, err);
        const struct lm_option *o = option_of(value == ':' ? optopt : value, options->command);
        if (value == ':' || !o)
            return lm_fail(err, LM_BAD_INPUT, "--%s needs a value: %s", o ? o->name : "?", o ? o->argument : "");
        int code = o->read(o, optarg, options, err);
        if (code != LM_OK)
            return code;
        if (options->help || options->version)
            return LM_OK;
    }
    return LM_OK;
}

static int read_operands(int argc, char **argv, struct lm_options *options, struct lm_error *err)
{
    const struct lm_command_entry *command = &lm_command_table[options->command];
    for (int k = optind; k < argc; k++) {
        if (options->operands == command->most_operands)
            return lm_fail(err, LM_BAD_INPUT, "'%s': '%s' takes %s%s%s", argv[k], command->name,
                           command->most_operands ? "no more than " : "no operands, only options",
                           command->most_operands ? command->operands : "",
                           command->most_operands == LM_MAX_OPERANDS ? ", 256 in all" : "");
        options->operand[options->operands++] = argv[k];
    }
    if (options->operands < command->least_operands)
        return lm_fail(err, LM_BAD_INPUT, "'%s' needs %s", command->name, command->operands);
    return LM_OK;
}

static int check_synth(const struct lm_options *options, struct lm_error *err)
{
    if (options->packed == LM_PACKING_NONE && (options->data || options->no_labels))
        return lm_fail(err, LM_BAD_INPUT, "--%s goes with --packed u8 or --packed f32",
                       options->data ? "data" : "no-labels");
    if (options->data && options->samples)
        return lm_fail(err, LM_BAD_INPUT, "--samples is for drawn images; those of --data are as many as they are");
    return LM_OK;
}

/* What no option can see alone. */
static int check_together(struct lm_options *options, struct lm_error *err)
{
    if (options->command == LM_COMMAND_SYNTH)
        return check_synth(options, err);
    if (options->command == LM_COMMAND_BENCH && lm_grid_size(&options->grid) != 1)
        return lm_fail(err, LM_BAD_INPUT, "bench measures one training: give one value of each hyperparameter");
    if (options->command != LM_COMMAND_RUN)
        return LM_OK;
    if (lm_grid_size(&options->grid) > LM_MAX_TRIALS)
        return lm_fail(err, LM_BAD_INPUT, "the axes span more than %llu trials", (unsigned long long)LM_MAX_TRIALS);
    if (options->keep == LM_KEEP_TOP && options->holdout == 0.0)
        return lm_fail(err, LM_BAD_INPUT,
                       "--keep-weights top:%llu selects by validation loss, and --holdout 0 leaves no samples for it",
                       (unsigned long long)options->keep_top);
    if (options->holdout < 0.0)
        options->holdout = options->keep == LM_KEEP_TOP ? LM_DEFAULT_HOLDOUT : 0.0;
    return LM_OK;
}

static int parse(int argc, char **argv, struct lm_options *options, struct lm_error *err)
{
    int code = LM_OK;
    /* The command is the first word, if it is no option: the parser then starts there. */
    if (argc > 1 && argv[1][0] != '-') {
        if ((code = find_command(argv[1], options, err)) != LM_OK)
            return code;
        argc--;
        argv++;
    }
    if ((code = set_defaults(options, err)) != LM_OK || (code = read_options(argc, argv, options, err)) != LM_OK ||
        options->help || options->version || (code = read_operands(argc, argv, options, err)) != LM_OK)
        return code;
    return check_together(options, err);
}

int lm_options_parse(int argc, char **argv, struct lm_options *out, struct lm_error *err)
{
    *out = (struct lm_options){.command = LM_COMMAND_RUN, .holdout = -1.0, .trial = -1};
    int code = parse(argc, argv, out, err);
    if (code != LM_OK)
        lm_options_free(out);
    return code;
}

void lm_options_free(struct lm_options *options)
{
    lm_grid_free(&options->grid);
}
