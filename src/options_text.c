/* options_text.c: the help and the echo, from the same table as the parser. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_table.h"

static const char exit_codes[] =
    "\nExit codes: 0 done and valid; 1 failed while running; 2 bad usage or bad input; 3 a validation found\n"
    "other bits; 4 a device or resource that was asked for is not there; 75 a sweep stopped by a\n"
    "signal after a checkpoint: --resume goes on.\n";

static const char axis_forms[] =
    "\nAXIS is one value, a list 32,64,128, whole numbers 1:32, or 0.001:0.1:log16 or :lin16 (16 values).\n"
    "The trials are the product of all axes; the last axis in this list varies fastest.\n";

/* Writes text wrapped at 100 columns, from this column on, with the lines after the first indented. */
static void wrapped(FILE *f, const char *text, size_t column, size_t indent)
{
    const char *gap = "";
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column + strlen(gap) + word > 100) {
            fprintf(f, "\n%*s", (int)indent, "");
            column = indent;
            gap = "";
        }
        fprintf(f, "%s%.*s", gap, (int)word, text);
        column += strlen(gap) + word;
        gap = " ";
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', f);
}

static void help_option(FILE *f, const struct lm_option *o)
{
    char left[96], whole[400];
    snprintf(left, sizeof left, "  %c%c%s --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
             o->letter ? "," : " ", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    snprintf(whole, sizeof whole, "%s%s%s%s", o->help, o->standard ? " (default: " : "", o->standard ? o->standard : "",
             o->standard ? ")" : "");
    if (strlen(left) <= 36)
        fprintf(f, "%-38s", left);
    else
        fprintf(f, "%s\n%38s", left, "");
    wrapped(f, whole, 38, 38);
}

static void help_command(FILE *f, enum lm_command command)
{
    const struct lm_command_entry *entry = &lm_command_table[command];
    int axes = 0;
    fprintf(f, "Usage: [mpirun -np N] libras_mpi %s%s%s [options]\n\n", entry->name, *entry->operands ? " " : "",
            entry->operands);
    wrapped(f, entry->summary, 0, 0);
    fprintf(f, "\nOptions:\n");
    for (size_t k = 0; k < lm_option_count; k++)
        if ((lm_option_table[k].commands >> command) & 1u) {
            help_option(f, &lm_option_table[k]);
            axes |= lm_option_table[k].argument && strcmp(lm_option_table[k].argument, "AXIS") == 0;
        }
    fputs(axes ? axis_forms : "", f);
    fputs(exit_codes, f);
}

static void help_program(FILE *f)
{
    fprintf(
        f,
        "Usage: [mpirun -np N] libras_mpi [COMMAND] [options]\n\n"
        "Trains and runs a tiny dense network that reads 15 letters of Libras from 8 x 8 images of a hand,\n"
        "over MPI ranks, and writes one validated HDF5 file. The answer is the same bits everywhere.\n\nCommands:\n");
    for (int k = 0; k < LM_COMMANDS; k++) {
        char left[64];
        snprintf(left, sizeof left, "  %s %s", lm_command_table[k].name, lm_command_table[k].operands);
        fprintf(f, "%-32s  ", left);
        wrapped(f, lm_command_table[k].summary, 34, 34);
    }
    fprintf(f, "\n`libras_mpi COMMAND --help` lists a command's options. Without a command: run.\n%s", exit_codes);
}

char *lm_options_help(const struct lm_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    if (options->command_given)
        help_command(f, options->command);
    else
        help_program(f);
    return fclose(f) == 0 ? text : NULL;
}

char *lm_options_echo(const struct lm_options *options)
{
    char *text = NULL, value[4096];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fprintf(f, "command=%s\n", lm_command_name(options->command));
    for (size_t k = 0; k < options->operands; k++)
        fprintf(f, "operand%zu=%s\n", k, options->operand[k]);
    for (size_t k = 0; k < lm_option_count; k++) {
        const struct lm_option *o = &lm_option_table[k];
        if (!o->write || !((o->commands >> options->command) & 1u))
            continue;
        value[0] = '\0';
        o->write(o, options, value, sizeof value);
        fprintf(f, "%s=%s\n", o->name, value);
    }
    return fclose(f) == 0 ? text : NULL;
}
