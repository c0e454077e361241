/* test_sweep_faults.c: every mistake in a sweep file: its line, what is wrong, what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sweep_text.h"

#ifdef LM_HAVE_YAML

#define TOP_KEYS "search, trials, search_seed, parameters, holdout, objective, keep_weights, halving"
#define NAMES    "learning_rate, decay, initial_range, epochs, hidden, seed, block"
#define LOOK     "; look at indentation, colons, quotes and brackets"

static void test_no_yaml(void **state)
{
    (void)state;
    refuse("", "1: the file is empty");
    refuse("# a comment\n", "1: the file is empty");
    refuse(P "---\n" P, "2: a second document: one a file, please");
    refuse("parameters: &a {}\n", "1: an anchor (&): leave it out, and write values themselves");
    refuse("parameters:\n  seed: &a [1]\n", "2: an anchor (&): leave it out, and write values themselves");
    refuse("parameters:\n  seed: &a 1\n", "2: an anchor (&): leave it out, and write values themselves");
    refuse("parameters:\n  seed: *a\n", "2: an alias (*): write the value itself");
    refuse("parameters:\n  seed: !!int 3\n", "2: a tag (!): leave it out");
    refuse("parameters: !x {}\n", "1: a tag (!): leave it out");
    refuse("parameters:\n  seed: !!seq [1]\n", "2: a tag (!): leave it out");
    refuse("parameters:\n\tseed: 3\n", "2: a tab: indent by blanks");
    refuse("parameters:\n  seed: [1, 2\n", "3: no YAML: did not find expected ',' or ']'" LOOK);
    refuse("search: b: c\n", "1: no YAML: mapping values are not allowed in this context" LOOK);
    refuse("parameters:\n  seed: 1\n epochs: 3\n", "3: no YAML: did not find expected key" LOOK);
    refuse("parameters: {seed: [[[[[[[1]]]]]]]}\n", "1: lists within lists within lists: no key needs so many");
    refuse("\xFF\xFEp\0", "1: this is UTF-16: save the file as UTF-8");
    refuse_bytes("\xFE\xFF\0p", 4, "1: this is UTF-16: save the file as UTF-8");
    refuse_bytes("search:\n\0grid\n", 14, "2: a byte 0: this is no text in UTF-8");
    refuse("search: grid\nparameters: \xFF\n",
           "2: no text that YAML allows: invalid leading UTF-8 octet; save the file as UTF-8");
    refuse("parameters: \x01\n",
           "1: no text that YAML allows: control characters are not allowed; save the file as UTF-8");
    struct lm_sweep_spec spec = accept("\xEF\xBB\xBF%YAML 1.1\r\n---\r\n# a BOM, CRLF\r\nparameters: {}\r\n...\r\n");
    lm_sweep_spec_free(&spec);
    refuse("\r\n\r\nserach: grid\r\n", "3: a sweep file: unknown key 'serach'; did you mean 'search'?");
}

static void test_wrong_keys(void **state)
{
    (void)state;
    refuse("hello\n", "1: a sweep file: 'hello' is no mapping; write 'key: value' with keys of " TOP_KEYS);
    refuse("\n- a\n", "2: a sweep file: a list is no mapping; write 'key: value' with keys of " TOP_KEYS);
    refuse(P "foo: 1\n", "2: a sweep file: unknown key 'foo'; there are " TOP_KEYS);
    refuse("? [a]\n: 3\n", "1: a sweep file: a list is no key");
    refuse("\"sear\\0ch\": grid\n", "1: a sweep file: unknown key 'sear ch'; there are " TOP_KEYS);
    refuse("search: grid\nsearch: grid\n", "2: a sweep file: search comes twice, before in line 1; leave one out");
    refuse("search: grid\n",
           "1: 'parameters' is missing; write it, with values below, or parameters: {} for the defaults");
    refuse("parameters:\n", "1: parameters: nothing is no mapping; write 'key: value' with keys of " NAMES);
    refuse("parameters:\n  learning_rat: 0.1\n",
           "2: parameters: unknown key 'learning_rat'; did you mean 'learning_rate'?");
    refuse("parameters:\n  <<: {a: 3}\n", "2: parameters: unknown key '<<'; there are " NAMES);
    refuse("parameters:\n  seed:\n    1\n  block: 32\n  seed: 2\n",
           "5: parameters: seed comes twice, before in line 2; leave one out");
    refuse("parameters:\n  seed:\n    from: 1\n    to: 2\n    from: 3\n",
           "5: seed: from comes twice, before in line 3; leave one out");
    refuse("parameters: {seed: {from: 1, to: 5, count: 3}}", "1: seed: unknown key 'count'; there are from, to, step");
    refuse("parameters: {decay: {from: 1, to: 5, setp: 3}}",
           "1: decay: unknown key 'setp'; there are from, to, scale, count");
    refuse("keep_weights: {tpo: 3}\n" P, "1: keep_weights: unknown key 'tpo'; did you mean 'top'?");
    refuse("search: halving\nhalving: {rung: [3]}\n" P, "2: halving: unknown key 'rung'; did you mean 'rungs'?");
}

static void test_wrong_numbers(void **state)
{
    static const char *const no_whole[] = {"x3", "-1", "1e3", "1.0", "4294967296", "0x10", "~", "1_000", "+1", "1 2"};
    static const char *const no_real[] = {"fast", ".nan", ".inf", "nan", "0x10", "1e999", "1.2.3", "1e", "~", "true"};
    char text[80], message[120];
    (void)state;
    for (size_t k = 0; k < sizeof no_whole / sizeof *no_whole; k++) {
        snprintf(text, sizeof text, "parameters:\n  seed: [1,\n    %s]\n", no_whole[k]);
        snprintf(message, sizeof message, "3: seed: '%s' is not a whole number from 0 to 4294967295", no_whole[k]);
        refuse(text, message);
    }
    for (size_t k = 0; k < sizeof no_real / sizeof *no_real; k++) {
        snprintf(text, sizeof text, "parameters:\n  decay: %s\n", no_real[k]);
        snprintf(message, sizeof message, "2: decay: '%s' is not a number such as 0.02 or 1e-3", no_real[k]);
        refuse(text, message);
    }
    refuse("parameters:\n  decay: 0,5\n", "2: decay: '0,5' is not a number such as 0.02 or 1e-3 (with a point)");
    refuse("parameters:\n  decay: 1e39\n", "2: decay: '1e39' is more than a float holds (3.4e38)");
    refuse("parameters:\n  decay: -3.41e38\n", "2: decay: '-3.41e38' is more than a float holds (3.4e38)");
    refuse("parameters:\n  seed: '3'\n", "2: seed: '3' is a text; write a number, without quotes");
    refuse("parameters:\n  seed: \"a\\0b\"\n", "2: seed: 'a b' is a text; write a number, without quotes");
    refuse("parameters:\n  seed: [1, [2]]\n", "2: seed: a list is no number");
    refuse("parameters:\n  decay: [1, {from: 2}]\n", "2: decay: a mapping is no number");
    refuse("parameters:\n  seed: []\n", "2: seed: the list is empty; write a value, or leave seed out");
    refuse("parameters:\n  seed:\n", "2: seed: there is no value; write one, or leave seed out");
    refuse("parameters:\n  seed: [1,\n  ''\n  ]\n", "3: seed: '' is a text; write a number, without quotes");
    refuse("parameters:\n  seed: 'ééééééééééééééééééééééééé'\n",
           "2: seed: 'éééééééééééééééééééé...' is a text; write a number, without quotes");
}

static void test_wrong_ranges(void **state)
{
    (void)state;
    refuse("parameters:\n  seed: {from: 1}\n", "2: seed: a range needs from and to; 'to' is missing");
    refuse("parameters:\n  decay: {to: 1}\n", "2: decay: a range needs from and to; 'from' is missing");
    refuse("parameters:\n  seed: {from: 5, to: 1}\n", "2: seed: 5 to 1 ends before it begins; swap them");
    refuse("parameters:\n  seed: {from: 1, to: 5, step: 0}\n",
           "2: step: '0' is not a whole number from 1 to 4294967295");
    refuse("parameters:\n  seed: {from: 0, to: 4294967295}\n", "2: seed: 4294967296 values are more than 16777216");
    refuse("parameters:\n  decay: {from: 0.5,\n    to: 1, count: 1}\n",
           "3: count: '1' is not a whole number from 2 to 100000");
    refuse("parameters:\n  decay: {from: 0.5, to: 1, count: 100001}\n",
           "2: count: '100001' is not a whole number from 2 to 100000");
    refuse("parameters:\n  decay: {from: 1, to: 2, scale: lgo}\n",
           "2: scale: 'lgo' is none of lin, log; did you mean 'log'?");
    refuse("parameters:\n  decay: {from: 1e39, to: 2}\n", "2: decay: '1e39' is more than a float holds (3.4e38)");
    static const char above[] = "decay: a logarithmic scale needs values above 0; or write scale: lin";
    static const char *const ends[] = {"{\n  from: 0, to: 1", "{\n  from: 1e-60, to: 1", "{from: 1,\n  to: -1"};
    for (size_t k = 0; k < 3; k++) {
        char text[100], message[120];
        snprintf(text, sizeof text, "parameters:\n  decay: %s, scale: log, count: 3}\n", ends[k]);
        snprintf(message, sizeof message, "3: %s", above);
        refuse(text, message);
    }
    static const char *const no_pair[] = {"32", "32x", "x16", "32x16x8", "32X16", "-1x2", "99999999999x1"};
    static const char pair[] = "is no pair of widths; write 32x16, or pairs in a list: [[32, 16], [64, 32]]";
    for (size_t k = 0; k < sizeof no_pair / sizeof *no_pair; k++) {
        char text[80], message[160];
        snprintf(text, sizeof text, "parameters:\n  hidden: %s\n", no_pair[k]);
        snprintf(message, sizeof message, "2: hidden: '%s' %s", no_pair[k], pair);
        refuse(text, message);
    }
    refuse("parameters: {hidden: [32, 16]}",
           "1: hidden: '32' is no pair of widths; write 32x16, or pairs in a list: [[32, "
           "16], [64, 32]]");
    refuse("parameters: {hidden: [[32, 16, 8]]}",
           "1: hidden: a list is no pair of widths; write 32x16, or pairs in a list: "
           "[[32, 16], [64, 32]]");
    refuse("parameters: {hidden: [[32, a]]}", "1: hidden: 'a' is not a whole number from 0 to 4294967295");
    refuse("parameters: {hidden: {from: 1, to: 2}}",
           "1: hidden: a mapping is no list of widths; write [[32, 16], [64, 32]]");
}

static void test_wrong_values(void **state)
{
    (void)state;
    refuse("search: gird\n" P, "1: search: 'gird' is none of grid, random, latin, halving; did you mean 'grid'?");
    refuse("search: [grid]\n" P, "1: search: a list is none of grid, random, latin, halving");
    refuse("search: latin\ntrials: 4294967296\n" P,
           "2: trials: '4294967296' is not a whole number from 1 to 4294967295");
    refuse("search: random\ntrials: 0\n" P, "2: trials: '0' is not a whole number from 1 to 4294967296");
    refuse("search_seed: 4294967296\n" P, "1: search_seed: '4294967296' is not a whole number from 0 to 4294967295");
    static const char *const holdouts[] = {"0", "0.91", "-0.1", "1e-400"};
    for (size_t k = 0; k < 4; k++) {
        char text[60], message[200];
        snprintf(text, sizeof text, P "holdout: %s\n", holdouts[k]);
        snprintf(message, sizeof message,
                 "2: holdout: %s is not above 0 and up to 0.9; a sweep selects by the samples that "
                 "are held out, so it needs some",
                 holdouts[k]);
        refuse(text, message);
    }
    refuse(P "objective: test_accuracy\n",
           "2: objective: 'test_accuracy' is none of validation_loss, validation_accuracy");
    refuse(P "objective: validation_los\n",
           "2: objective: 'validation_los' is none of validation_loss, validation_accuracy; "
           "did you mean 'validation_loss'?");
    refuse(P "keep_weights: top:10\n", "2: keep_weights: 'top:10' is none of all, none, {top: K}");
    refuse(P "keep_weights: '{top: K}'\n", "2: keep_weights: K is no number; write {top: 10}, without quotes");
    refuse(P "keep_weights: {top: 0}\n", "2: top: '0' is not a whole number from 1 to 4294967296");
    refuse(P "keep_weights: {}\n", "2: keep_weights: the mapping is empty; write {top: 10}, all or none");
    refuse("search: halving\nhalving: {rungs: 3}\n" P, "2: rungs: write a list of epochs, such as [3, 9, 27, 51]");
    refuse("search: halving\nhalving: {rungs: []}\n" P, "2: rungs: write a list of epochs, such as [3, 9, 27, 51]");
    refuse("search: halving\nhalving:\n  rungs: [3, 9,\n    9]\n" P,
           "4: rungs: 9 after 9; each rung has more epochs than the one before");
    refuse("search: halving\nhalving: {rungs: [0, 3]}\n" P, "2: rungs: '0' is not a whole number from 1 to 1000000");
    refuse("search: halving\nhalving: {keep: 0}\n" P, "2: keep: '0' is not above 0 and up to 1, the part that goes on");
    refuse("search: halving\nhalving: {keep: 33}\n" P,
           "2: keep: '33' is not above 0 and up to 1, the part that goes on");
}

/* Keys that are right one by one. */
static void test_wrong_together(void **state)
{
    static const char range[] = "parameters:\n  decay: {from: 0.1, to: 1}\n";
    char text[120];
    (void)state;
    refuse("trials: 5\n" P,
           "1: trials: a grid is every combination of the values; say search: random (or latin, halving) to "
           "draw so many, or leave trials out");
    refuse("search: random\n" P, "1: search: random needs to know how many; write trials: 100");
    refuse(P "search: latin\n", "2: search: latin needs to know how many; write trials: 100");
    refuse(range,
           "2: decay: a grid needs single values; write a count in it, such as count: 16, or draw by search: random "
           "with trials: 100");
    snprintf(text, sizeof text, "search: halving\n%s", range);
    refuse(text,
           "3: decay: a grid needs single values; write a count in it, such as count: 16, or draw by trials: 100");
    refuse(P "halving: {}\n", "2: halving: the search is grid; say search: halving, or leave it out");
    refuse("search: random\ntrials: 3\nhalving: {keep: 0.5}\n" P,
           "3: halving: the search is random; say search: halving, or leave it out");
    refuse("search: halving\nparameters:\n  epochs: 50\n",
           "3: epochs: under halving the rungs say it, and the last is 51; leave epochs out");
    refuse("search: halving\nparameters:\n  epochs: [9, 51]\n",
           "3: epochs: under halving the rungs say it, and the last is 51; leave epochs out");
    refuse("parameters: {epochs: {from: 1, to: 70000}, seed: {from: 1, to: 70000}}\n",
           "1: parameters: the grid has more than 4294967296 trials; leave values out, or draw by search: random");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_yaml),      cmocka_unit_test(test_wrong_keys),   cmocka_unit_test(test_wrong_numbers),
        cmocka_unit_test(test_wrong_ranges), cmocka_unit_test(test_wrong_values), cmocka_unit_test(test_wrong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_nothing(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
