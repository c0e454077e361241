/* option_table.h: the table of all options (internal to options*.c). */
#ifndef LM_OPTION_TABLE_H
#define LM_OPTION_TABLE_H

#include "options.h"

struct lm_command_entry {
    const char *name;
    const char *operands; /* for the usage line */
    size_t least_operands, most_operands;
    const char *summary;
};
extern const struct lm_command_entry lm_command_table[LM_COMMANDS];

struct lm_option;
/* Reads one value into options; text is NULL for a flag. */
typedef int (*lm_option_reader)(const struct lm_option *option, const char *text, struct lm_options *options,
                                struct lm_error *err);
/* Writes the value in force. */
typedef void (*lm_option_writer)(const struct lm_option *option, const struct lm_options *options, char *text,
                                 size_t size);

struct lm_option {
    const char *name;     /* without the dashes */
    char letter;          /* short form, or 0 */
    const char *argument; /* for the help; NULL: a flag */
    unsigned commands;    /* a bit a command that takes it */
    lm_option_reader read;
    lm_option_writer write; /* NULL: not part of the echo */
    int axis;               /* which axis of the grid, where it is one */
    const char *standard;   /* the default as text that `read` takes; NULL: none */
    const char *help;
};
extern const struct lm_option lm_option_table[];
extern const size_t lm_option_count;

#endif
