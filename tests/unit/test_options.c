/* test_options.c: the command line: defaults, values, refusals, suggestions, help and echo. What holds for every option
 * is tried on every option of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_table.h"

#define MOST_WORDS 24

/* The words of one command line; what is parsed borrows from it. */
struct line {
    char *word[MOST_WORDS + 1];
    int n;
};

static struct line line_of(const char *const *word)
{
    struct line line = {.word = {(char *)"libras_mpi"}, .n = 1};
    while (word[line.n - 1] && line.n < MOST_WORDS) {
        line.word[line.n] = (char *)word[line.n - 1];
        line.n++;
    }
    line.word[line.n] = NULL;
    return line;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct lm_options accept(const char *const *word)
{
    struct line line = line_of(word);
    struct lm_options options;
    struct lm_error err;
    if (lm_options_parse(line.n, line.word, &options, &err) != LM_OK)
        fail_msg("%s", err.text);
    return options;
}

/* Refused with exactly this text; or, with a '*' at its end, with a text that begins so. */
static void refuse(const char *const *word, const char *message)
{
    struct line line = line_of(word);
    struct lm_options options;
    struct lm_error err;
    size_t n = strcspn(message, "*");
    if (lm_options_parse(line.n, line.word, &options, &err) != LM_BAD_INPUT)
        fail_msg("accepted; wanted: %s", message);
    if (strncmp(err.text, message, n) != 0 || (message[n] == '\0' && err.text[n] != '\0'))
        fail_msg("'%s', not '%s'", err.text, message);
    assert_int_equal(err.code, LM_BAD_INPUT);
}

static void refuse_saying(const char *const *word, const char *part)
{
    struct line line = line_of(word);
    struct lm_options options;
    struct lm_error err;
    if (lm_options_parse(line.n, line.word, &options, &err) != LM_BAD_INPUT)
        fail_msg("accepted; wanted: %s", part);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static char *echo_of(const char *const *word)
{
    struct lm_options options = accept(word);
    char *echo = lm_options_echo(&options);
    assert_non_null(echo);
    lm_options_free(&options);
    return echo;
}

static void same_echo(const char *const *a, const char *const *b, int same)
{
    char *x = echo_of(a), *y = echo_of(b);
    if ((strcmp(x, y) == 0) != same)
        fail_msg("%s\n---\n%s", x, y);
    free(x);
    free(y);
}

static int takes(const struct lm_option *o, int command)
{
    return (o->commands >> command) & 1u;
}

/* ---- values ---- */

static void test_defaults_are_the_lab(void **state)
{
    static const uint32_t block[] = {32, 64, 128, 256};
    struct lm_error err;
    struct lm_options o;
    char *alone[] = {(char *)"libras_mpi", NULL};

    (void)state;
    assert_int_equal(lm_options_parse(1, alone, &o, &err), LM_OK);
    assert_int_equal(o.command, LM_COMMAND_RUN);
    assert_false(o.command_given || o.help || o.version || o.force || o.dry_run || o.quiet || o.verbose);
    assert_true(o.grid.learning_rate.n == 1 && o.grid.learning_rate.real[0] == 0.02f);
    assert_true(o.grid.decay.n == 1 && o.grid.decay.real[0] == 1.0f);
    assert_true(o.grid.initial_range.n == 1 && o.grid.initial_range.real[0] == 0.05f);
    assert_true(o.grid.epochs.n == 1 && o.grid.epochs.whole[0] == 51);
    assert_true(o.grid.hidden.n == 1 && lm_shape_equal(o.grid.hidden.shape[0], (struct lm_shape){32, 16}));
    assert_true(o.grid.seed.n == 1 && o.grid.seed.whole[0] == 1337);
    assert_int_equal(o.grid.block.n, 4);
    assert_memory_equal(o.grid.block.whole, block, sizeof block);
    assert_int_equal(o.split, LM_SPLIT_RANDOM);
    assert_int_equal(o.split_seed, 1337);
    assert_true(o.holdout == 0.0);
    assert_int_equal(o.keep, LM_KEEP_ALL);
    assert_int_equal(o.validate_replicas, 1);
    assert_string_equal(o.device, "auto");
    assert_int_equal(o.format, LM_FORMAT_TEXT);
    assert_true(!o.data && !o.out && o.timeout == 0.0 && o.trial == -1);
    lm_options_free(&o);

    o = accept(WORDS("synth", "dir"));
    assert_int_equal(o.synth_seed, 1);
    assert_int_equal(o.samples, 0);
    lm_options_free(&o);
    o = accept(WORDS("export", "a.h5"));
    assert_int_equal(o.format, LM_FORMAT_CSV);
    assert_string_equal(o.table, "trials");
    lm_options_free(&o);
}

static void test_values(void **state)
{
    (void)state;
    struct lm_options o =
        accept(WORDS("run", "--data", "d", "--out=f.h5", "--device", "gpu:batch", "--epochs=3", "--seed", "1:4",
                     "--split-seed", "7", "--holdout", "0.25", "--force", "--timeout", "1.5"));
    assert_string_equal(o.data, "d");
    assert_string_equal(o.out, "f.h5");
    assert_string_equal(o.device, "gpu:batch");
    assert_int_equal(o.grid.epochs.whole[0], 3);
    assert_int_equal(o.grid.seed.n, 4);
    assert_int_equal(o.split_seed, 7);
    assert_true(o.holdout == 0.25 && o.timeout == 1.5 && o.force && o.command_given);
    lm_options_free(&o);

    o = accept(WORDS("--epochs", "2", "--epochs", "4", "--quiet")); /* the last one counts; no command is run */
    assert_int_equal(o.command, LM_COMMAND_RUN);
    assert_int_equal(o.grid.epochs.n, 1);
    assert_int_equal(o.grid.epochs.whole[0], 4);
    assert_true(o.quiet && !o.command_given);
    lm_options_free(&o);

    o = accept(WORDS("run", "-e", "3", "-b64", "-qf", "-s1:2", "-d", "x")); /* short forms */
    assert_int_equal(o.grid.epochs.whole[0], 3);
    assert_int_equal(o.grid.block.whole[0], 64);
    assert_true(o.quiet && o.force && o.grid.seed.n == 2);
    assert_string_equal(o.data, "x");
    lm_options_free(&o);

    o = accept(WORDS("run", "--ep", "3", "--hold=0.5", "--split-s", "9", "--dry")); /* as short as is clear */
    assert_int_equal(o.grid.epochs.whole[0], 3);
    assert_true(o.holdout == 0.5 && o.split_seed == 9 && o.dry_run);
    lm_options_free(&o);
}

static void test_split(void **state)
{
    (void)state;
    struct lm_options o = accept(WORDS("run", "--split", "tail"));
    assert_int_equal(o.split, LM_SPLIT_TAIL);
    lm_options_free(&o);
    refuse(WORDS("run", "--split", "tial"), "--split: 'tial' is not random|tail; did you mean 'tail'?");
    same_echo(WORDS("run", "--split", "tail"), WORDS("run"), 0);
    same_echo(WORDS("run", "--split", "random"), WORDS("run"), 1);
}

static void test_pictures(void **state)
{
    const char *many[LM_MAX_OPERANDS + 4] = {"predict"};
    char *word[LM_MAX_OPERANDS + 4];
    struct lm_options o;
    struct lm_error err;

    (void)state;
    o = accept(WORDS("import", "images", "dir", "--whole", "--packed", "f32", "-f"));
    assert_int_equal(o.command, LM_COMMAND_IMPORT);
    assert_true(o.operands == 2 && o.whole && o.force && o.packed == LM_PACKING_F32);
    lm_options_free(&o);
    same_echo(WORDS("import", "a", "b", "--whole"), WORDS("import", "a", "b"), 0);
    refuse(WORDS("import", "images"), "'import' needs IMAGES DIR|FILE");
    refuse(WORDS("predict", "r.h5"), "'predict' needs RESULTS.h5 PICTURE...");
    for (int k = 1; k <= LM_MAX_OPERANDS + 1; k++)
        many[k] = "x";
    word[0] = (char *)"libras_mpi";
    for (int k = 0; k < LM_MAX_OPERANDS + 2; k++)
        word[k + 1] = (char *)many[k];
    word[LM_MAX_OPERANDS + 3] = NULL;
    assert_int_equal(lm_options_parse(LM_MAX_OPERANDS + 2, word, &o, &err), LM_OK);
    assert_int_equal(o.operands, LM_MAX_OPERANDS);
    lm_options_free(&o);
    assert_int_equal(lm_options_parse(LM_MAX_OPERANDS + 3, word, &o, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "no more than RESULTS.h5 PICTURE..., 256 in all"));
}

static void test_formats(void **state)
{
    (void)state;
    struct lm_options o = accept(WORDS("run", "--format", "lab"));
    assert_int_equal(o.format, LM_FORMAT_LAB);
    lm_options_free(&o);
    o = accept(WORDS("run", "--format", "json"));
    assert_int_equal(o.format, LM_FORMAT_JSON);
    lm_options_free(&o);
    o = accept(WORDS("export", "a.h5", "--format", "csv", "--table", "loss"));
    assert_int_equal(o.format, LM_FORMAT_CSV);
    assert_string_equal(o.table, "loss");
    lm_options_free(&o);
    o = accept(WORDS("export", "a.h5", "--format", "lab"));
    assert_int_equal(o.format, LM_FORMAT_LAB);
    lm_options_free(&o);
    o = accept(WORDS("verify", "a.h5", "--format", "json"));
    assert_int_equal(o.format, LM_FORMAT_JSON);
    lm_options_free(&o);
    refuse(WORDS("run", "--format", "csv"), "--format: 'csv' is not text|json|lab");
    refuse(WORDS("run", "--format", "jsn"), "--format: 'jsn' is not text|json|lab; did you mean 'json'?");
    refuse(WORDS("export", "a.h5", "--format", "text"), "--format: 'text' is not csv|json|lab");
    refuse_saying(WORDS("export", "a.h5", "--table", "los"), "did you mean 'loss'?");
}

static void test_keep_and_holdout(void **state)
{
    (void)state;
    struct lm_options o = accept(WORDS("--keep-weights", "top:3"));
    assert_int_equal(o.keep, LM_KEEP_TOP);
    assert_int_equal(o.keep_top, 3);
    assert_true(o.holdout == 0.1); /* selection needs samples that did not train */
    lm_options_free(&o);
    o = accept(WORDS("--keep-weights", "top:3", "--holdout", "0.3"));
    assert_true(o.holdout == 0.3);
    lm_options_free(&o);
    o = accept(WORDS("--keep-weights", "top:3", "--keep-weights", "none"));
    assert_int_equal(o.keep, LM_KEEP_NONE);
    assert_true(o.holdout == 0.0);
    lm_options_free(&o);
    refuse(WORDS("--holdout", "0", "--keep-weights", "top:3"),
           "--keep-weights top:3 selects by validation loss, and --holdout 0 leaves no samples for it");
    refuse(WORDS("--keep-weights", "top:3", "--holdout", "-0"), "--keep-weights top:3 selects*");
    refuse(WORDS("--keep-weights", "top:0"), "--keep-weights: '0' is not a whole number from 1 to 4294967296");
    refuse(WORDS("--keep-weights", "top:"), "--keep-weights: '' is not a whole number from 1 to 4294967296");
    refuse(WORDS("--keep-weights", "al"), "--keep-weights: 'al' is not all|none|top:K; did you mean 'all'?");
    refuse(WORDS("--holdout", "0.95"), "--holdout: '0.95' is not a share from 0 to 0.9, such as 0.1");
    refuse(WORDS("--holdout", "-0.1"), "--holdout: '-0.1' is not*");
    refuse(WORDS("--holdout", "10%"), "--holdout: '10%' is not*");
}

static void test_operands(void **state)
{
    (void)state;
    struct lm_options o = accept(WORDS("verify", "a.h5", "--quiet", "b.h5")); /* options may stand between */
    assert_int_equal(o.operands, 2);
    assert_string_equal(o.operand[0], "a.h5");
    assert_string_equal(o.operand[1], "b.h5");
    assert_true(o.quiet);
    lm_options_free(&o);
    o = accept(WORDS("infer", "--", "--odd-name.h5"));
    assert_string_equal(o.operand[0], "--odd-name.h5");
    lm_options_free(&o);
    refuse(WORDS("infer"), "'infer' needs RESULTS.h5");
    refuse(WORDS("verify", "--quiet"), "'verify' needs RESULTS.h5 [OTHER.h5]");
    refuse(WORDS("verify", "a", "b", "c"), "'c': 'verify' takes no more than RESULTS.h5 [OTHER.h5]");
    refuse(WORDS("infer", "a", "b"), "'b': 'infer' takes no more than RESULTS.h5");
    refuse(WORDS("run", "a"), "'a': 'run' takes no operands, only options");
    refuse(WORDS("--epochs", "3", "run"), "'run': 'run' takes no operands, only options");
}

/* ---- refusals ---- */

static void test_commands(void **state)
{
    (void)state;
    refuse(WORDS("rn"), "'rn' is no command; did you mean 'run'? libras_mpi --help lists them");
    refuse(WORDS("verfy", "a.h5"), "'verfy' is no command; did you mean 'verify'? libras_mpi --help lists them");
    refuse(WORDS("paint"), "'paint' is no command; libras_mpi --help lists them");
    refuse(WORDS(""), "'' is no command; libras_mpi --help lists them");
    for (int k = 0; k < LM_COMMANDS; k++) {
        assert_string_equal(lm_command_name((enum lm_command)k), lm_command_table[k].name);
        char name[64];
        snprintf(name, sizeof name, "%ss", lm_command_table[k].name);
        char part[100];
        snprintf(part, sizeof part, "did you mean '%s'?", lm_command_table[k].name);
        refuse_saying(WORDS(name), part);
    }
}

static void test_unknown_options(void **state)
{
    (void)state;
    refuse(WORDS("run", "--epoch-s", "3"),
           "--epoch-s is no option of 'run'; did you mean --epochs? `libras_mpi run --help` lists them");
    refuse(WORDS("run", "--momentum=0.9"), "--momentum is no option of 'run'; `libras_mpi run --help` lists them");
    refuse(WORDS("info", "--epochs", "3"), "--epochs is no option of 'info'; `libras_mpi info --help` lists them");
    refuse(WORDS("run", "--d", "x"), "--d is the beginning of more than one option of 'run'*");
    refuse(WORDS("run", "-Z"), "'-Z' is no option of 'run'; `libras_mpi run --help` lists them");
    refuse(WORDS("run", "-qZ"), "'-Z' is no option of 'run'*");
    refuse(WORDS("run", "-é"), "'-?' is no option of 'run'*"); /* half a character */
    refuse(WORDS("run", "-e"), "--epochs needs a value: AXIS");
    refuse(WORDS("run", "--format"), "--format needs a value: text|json|lab");
    refuse(WORDS("run", "--force=yes"), "--force takes no value");
    refuse(WORDS("run", "--data="), "--data: the value is empty");
    refuse(WORDS("run", "--seed", "1:70000", "--learning-rate", "0.1:0.2:lin70000"),
           "the axes span more than 4294967296 trials");
}

/* Each option of the table, under each command that takes it: a bad value is refused by its name, a missing one is
 * asked for, a flag takes none, and a misspelling finds the way back. */
static void try_option(const struct lm_option *o, const struct lm_command_entry *command)
{
    static const char *const free_text[] = {"data", "out", "device", "machine"}; /* any text but "" */
    char given[100], bad[100], expected[200];
    const char *value = "?bad";

    for (size_t k = 0; k < sizeof free_text / sizeof *free_text; k++)
        value = strcmp(o->name, free_text[k]) == 0 ? "" : value;
    snprintf(bad, sizeof bad, "--%s=%s", o->name, value);
    snprintf(given, sizeof given, "--%s", o->name);
    if (o->argument) {
        snprintf(expected, sizeof expected, "--%s: *", o->name);
        refuse(WORDS(command->name, bad), expected);
        snprintf(expected, sizeof expected, "--%s needs a value: %.100s", o->name, o->argument);
        refuse(WORDS(command->name, given), expected);
    } else {
        snprintf(expected, sizeof expected, "--%s takes no value", o->name);
        refuse(WORDS(command->name, bad), expected);
    }
    snprintf(given, sizeof given, "--%c%c%s", o->name[1], o->name[0], o->name + 2);
    snprintf(expected, sizeof expected, "did you mean --%s?", o->name);
    refuse_saying(WORDS(command->name, given), expected);
}

static void test_every_option(void **state)
{
    size_t tried = 0;

    (void)state;
    for (size_t k = 0; k < lm_option_count; k++)
        for (int c = 0; c < LM_COMMANDS; c++)
            if (takes(&lm_option_table[k], c)) {
                try_option(&lm_option_table[k], &lm_command_table[c]);
                tried++;
            }
    assert_true(tried > 40);
    refuse_saying(WORDS("run", "--block", "48"), "nearest: 32 or 64");
    refuse_saying(WORDS("synth", "d", "--samples", "1"), "--samples: '1' is not a whole number from 2 to 100000000");
    refuse_saying(WORDS("run", "--split-seed", "4294967296"), "from 0 to 4294967295");
    refuse_saying(WORDS("run", "--timeout", "0"), "--timeout: '0' is no number of seconds above 0");
}

/* ---- the table itself ---- */

/* No command has two options of one name or letter, or more than the parser has room for. */
static void test_table(void **state)
{
    (void)state;
    for (int c = 0; c < LM_COMMANDS; c++) {
        size_t n = 0;
        for (size_t k = 0; k < lm_option_count; k++) {
            if (!takes(&lm_option_table[k], c))
                continue;
            n++;
            for (size_t i = 0; i < k; i++)
                if (takes(&lm_option_table[i], c)) {
                    assert_string_not_equal(lm_option_table[i].name, lm_option_table[k].name);
                    assert_true(!lm_option_table[k].letter || lm_option_table[i].letter != lm_option_table[k].letter);
                }
        }
        assert_in_range(n, 3, 32);
    }
}

/* ---- help ---- */

static void check_lines(const char *text)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (n > 120 || (n > 0 && line[n - 1] == ' '))
            fail_msg("too long, or ends in a blank: '%.*s'", (int)n, line);
        line += n;
        assert_int_equal(*line, '\n');
        line++;
    }
}

static char *help_of(const char *const *word)
{
    struct lm_options options = accept(word);
    assert_true(options.help);
    char *text = lm_options_help(&options);
    assert_non_null(text);
    lm_options_free(&options);
    check_lines(text);
    return text;
}

static void test_help(void **state)
{
    (void)state;
    char *text = help_of(WORDS("--help"));
    for (int c = 0; c < LM_COMMANDS; c++) {
        char entry[100];
        snprintf(entry, sizeof entry, "\n  %s ", lm_command_table[c].name);
        assert_non_null(strstr(text, entry));
    }
    assert_non_null(strstr(text, "75"));
    free(text);

    for (int c = 0; c < LM_COMMANDS; c++) {
        size_t listed = 0, expected = 0;
        text = help_of(WORDS(lm_command_table[c].name, "--help"));
        for (const char *line = text; (line = strchr(line, '\n')); line++)
            listed += line[1 + strspn(line + 1, " ")] == '-';
        for (size_t k = 0; k < lm_option_count; k++) {
            const struct lm_option *o = &lm_option_table[k];
            char entry[200];
            if (!takes(o, c))
                continue;
            expected++;
            snprintf(entry, sizeof entry, " --%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
            if (!strstr(text, entry))
                fail_msg("the help of %s lacks '%s'", lm_command_table[c].name, entry);
        }
        assert_int_equal(listed, expected);
        free(text);
    }
    text = help_of(WORDS("run", "--help", "--nonsense")); /* it ends the parsing */
    assert_non_null(strstr(text, "(default: 32,64,128,256)"));
    free(text);
    struct lm_options o = accept(WORDS("-V"));
    assert_true(o.version);
    lm_options_free(&o);
}

/* ---- echo ---- */

static void test_echo(void **state)
{
    (void)state;
    same_echo(WORDS("--learning-rate", "0.02"), WORDS("run", "--learning-rate", "2e-2"), 1);
    same_echo(WORDS("--seed", "1,2,3"), WORDS("--seed", "1:3"), 1);
    same_echo(WORDS("--holdout", "0.1"), WORDS("--holdout", "1e-1"), 1);
    same_echo(WORDS("--holdout", "0"), WORDS("--holdout", "-0"), 1);
    same_echo(WORDS("--quiet"), WORDS("--block=32,64,128,256"), 1); /* how much is said is no part of it */
    same_echo(WORDS("--learning-rate", "0.02"), WORDS("--learning-rate", "0.020000001"), 0); /* the next float */
    same_echo(WORDS("--seed", "1,2"), WORDS("--seed", "2,1"), 0);
    same_echo(WORDS("--keep-weights", "top:1"), WORDS("--keep-weights", "top:2"), 0);
    same_echo(WORDS("--holdout", "0.1"), WORDS("--holdout", "0.10000000000000002"), 0);
    same_echo(WORDS("verify", "a"), WORDS("verify", "b"), 0);
    same_echo(WORDS("verify", "a"), WORDS("infer", "a"), 0);

    char *echo = echo_of(WORDS("--hidden", "32x16,8x8", "--keep-weights", "top:5", "--out", "f.h5"));
    assert_ptr_equal(strstr(echo, "command=run\n"), echo);
    assert_non_null(strstr(echo, "\nlearning-rate=0.02\n"));
    assert_non_null(strstr(echo, "\nhidden=32x16,8x8\n"));
    assert_non_null(strstr(echo, "\nkeep-weights=top:5\n"));
    assert_non_null(strstr(echo, "\nout=f.h5\n"));
    assert_non_null(strstr(echo, "\nseed=1337\n"));
    free(echo);
    echo = echo_of(WORDS("verify", "a.h5", "b.h5"));
    assert_non_null(strstr(echo, "\noperand0=a.h5\noperand1=b.h5\n"));
    free(echo);
}

/* An axis too long to be written out: a line that still fits, says how many there are, and differs where a value does.
 */
static void test_long_echo(void **state)
{
    char list[2][16000];

    (void)state;
    for (int which = 0; which < 2; which++) {
        size_t used = 0;
        for (unsigned k = 0; k < 1200; k++)
            used += (size_t)snprintf(list[which] + used, sizeof list[0] - used, "%s%u", k ? "," : "",
                                     1000000000u + k + (which && k == 1100));
        strcpy(list[which] + used, ",7,8");
    }
    same_echo(WORDS("--seed", list[0]), WORDS("--seed", list[0]), 1);
    same_echo(WORDS("--seed", list[0]), WORDS("--seed", list[1]), 0);
    char *echo = echo_of(WORDS("--seed", list[0])), *line = strstr(echo, "\nseed=1000000000,1000000001,");
    assert_non_null(line);
    line++;
    line[strcspn(line, "\n")] = '\0';
    assert_in_range(strlen(line), 3000, 4096 + 5);
    char *rest = strstr(line, ",... (1202 values");
    assert_non_null(rest);
    assert_null(strstr(rest + 5, "..."));
    assert_int_equal(line[strlen(line) - 1], ')');
    free(echo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_the_lab),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_keep_and_holdout),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_unknown_options),
        cmocka_unit_test(test_every_option),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_echo),
        cmocka_unit_test(test_long_echo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
