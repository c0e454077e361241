/* test_sweep_yaml.c: a sweep file to its meaning; files of all kinds; the examples of jobs/. Mistakes:
 * test_sweep_faults.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_spec.h"
#include "options.h"
#include "scratch.h"
#include "sweep_text.h"

#ifdef LM_HAVE_YAML

static void expect_reals(const char *text, int k, size_t n, const uint32_t *bits)
{
    struct lm_sweep_spec spec = accept(text);
    assert_false(spec.parameter[k].continuous);
    assert_int_equal(spec.parameter[k].axis.n, n);
    assert_memory_equal(spec.parameter[k].axis.real, bits, n * sizeof *bits);
    lm_sweep_spec_free(&spec);
}

static void expect_wholes(const char *text, int k, size_t n, const uint32_t *value)
{
    struct lm_sweep_spec spec = accept(text);
    assert_false(spec.parameter[k].continuous);
    assert_int_equal(spec.parameter[k].axis.n, n);
    assert_memory_equal(spec.parameter[k].axis.whole, value, n * sizeof *value);
    lm_sweep_spec_free(&spec);
}

/* ---- what is meant ---- */

/* The parameters' defaults are those of `run`, but for the block, of which run tries several. */
static void test_defaults(void **state)
{
    char *argv[] = {"libras_mpi", "run", NULL};
    struct lm_options options;
    struct lm_error err;

    (void)state;
    assert_int_equal(lm_options_parse(2, argv, &options, &err), LM_OK);
    struct lm_sweep_spec spec = accept(P);
    for (int k = 0; k < LM_GRID_AXES; k++) {
        struct lm_axis *run = lm_grid_axis(&options.grid, k), *sweep = &spec.parameter[k].axis;
        assert_true(!spec.parameter[k].continuous && sweep->n == 1);
        if (k == BLOCK)
            assert_int_equal(sweep->whole[0], 128);
        else if (k == HIDDEN)
            assert_true(lm_shape_equal(sweep->shape[0], run->shape[0]));
        else
            assert_memory_equal(k <= RANGE ? (void *)sweep->real : (void *)sweep->whole,
                                k <= RANGE ? (void *)run->real : (void *)run->whole, 4);
    }
    assert_int_equal(spec.search, LM_SEARCH_GRID);
    assert_true(spec.trials == 0 && spec.search_seed == 1);
    assert_true(spec.holdout == 0.1 && spec.objective == LM_OBJECTIVE_VALIDATION_LOSS);
    assert_true(spec.keep == LM_KEEP_TOP && spec.keep_top == 10);
    assert_true(spec.n_rungs == 0 && !spec.rung);
    lm_sweep_spec_free(&spec);
    lm_options_free(&options);
}

static void test_keys(void **state)
{
    (void)state;
    struct lm_sweep_spec spec = accept("search: latin\ntrials: 12\nsearch_seed: 4294967295\nholdout: .25\n"
                                       "objective: 'validation_accuracy'\nkeep_weights: none\n" P);
    assert_int_equal(spec.search, LM_SEARCH_LATIN);
    assert_true(spec.trials == 12 && spec.search_seed == UINT32_MAX && spec.holdout == 0.25);
    assert_true(spec.objective == LM_OBJECTIVE_VALIDATION_ACCURACY && spec.keep == LM_KEEP_NONE);
    lm_sweep_spec_free(&spec);
    spec = accept("keep_weights: all\n" P);
    assert_true(spec.keep == LM_KEEP_ALL);
    lm_sweep_spec_free(&spec);
    spec = accept("search: random\ntrials: 4294967296\nkeep_weights: {top: 3}\n" P);
    assert_true(spec.keep == LM_KEEP_TOP && spec.keep_top == 3 && spec.trials == LM_MAX_TRIALS);
    lm_sweep_spec_free(&spec);
}

static void test_halving(void **state)
{
    static const uint32_t standard[] = {3, 9, 27, 51}, other[] = {1, 2, 1000000};
    (void)state;
    struct lm_sweep_spec spec = accept("search: halving\n" P);
    assert_true(spec.n_rungs == 4 && spec.rung_keep == 0.33 && spec.trials == 0);
    assert_memory_equal(spec.rung, standard, sizeof standard);
    assert_int_equal(spec.parameter[EPOCHS].axis.whole[0], 51);
    assert_int_equal(lm_sweep_kept(&spec, 100), 33);
    lm_sweep_spec_free(&spec);
    spec = accept("search: halving\ntrials: 5\nhalving: {rungs: [1, 2, 1000000], keep: 0.5}\n" P);
    assert_true(spec.n_rungs == 3 && spec.rung_keep == 0.5 && spec.trials == 5);
    assert_memory_equal(spec.rung, other, sizeof other);
    assert_int_equal(spec.parameter[EPOCHS].axis.whole[0], 1000000);
    lm_sweep_spec_free(&spec);
    spec = accept("search: halving\nparameters: {epochs: [51, 51]}\n");
    lm_sweep_spec_free(&spec);
}

static void test_values(void **state)
{
    (void)state;
    expect_wholes("parameters: {seed: 7}\n", SEED, 1, (const uint32_t[]){7});
    expect_wholes("parameters: {seed: [3, 1, 3, 007, 7]}\n", SEED, 3, (const uint32_t[]){3, 1, 7});
    expect_wholes("parameters:\n  seed:\n  - 3\n  - 1\n", SEED, 2, (const uint32_t[]){3, 1});
    expect_wholes("parameters: {seed: {from: 1, to: 4}}\n", SEED, 4, (const uint32_t[]){1, 2, 3, 4});
    expect_wholes("parameters: {seed: {from: 1, to: 8, step: 3}}\n", SEED, 3, (const uint32_t[]){1, 4, 7});
    expect_wholes("parameters: {seed: {to: 4294967295, from: 4294967294}}\n", SEED, 2,
                  (const uint32_t[]){4294967294u, 4294967295u});
    expect_wholes("parameters: {seed: {from: 1, to: 4294967295, step: 4294967295}}\n", SEED, 1, (const uint32_t[]){1});
    expect_wholes("parameters: {block: {from: 32, to: 128}}\n", BLOCK, 4, (const uint32_t[]){32, 64, 96, 128});
    expect_wholes("parameters: {block: {from: 30, to: 32, step: 1}}\n", BLOCK, 3, (const uint32_t[]){30, 31, 32});
    expect_reals("parameters: {learning_rate: 0.02}\n", RATE, 1, (const uint32_t[]){0x3CA3D70A});
    expect_reals("parameters: {learning_rate: [1e-1, .1, 1.0, 2e-2]}\n", RATE, 3,
                 (const uint32_t[]){0x3DCCCCCD, 0x3F800000, 0x3CA3D70A});
    expect_reals("parameters: {initial_range: [0, -0, -0.0, 1e-60, -1e-60]}\n", RANGE, 1, (const uint32_t[]){0});
    expect_reals(
        "parameters: {decay: {from: 1, to: 0.25, count: 7}}\n", DECAY, 7,
        (const uint32_t[]){0x3F800000, 0x3F600000, 0x3F400000, 0x3F200000, 0x3F000000, 0x3EC00000, 0x3E800000});
    expect_reals("parameters: {initial_range: {from: -1, to: 1, count: 3}}\n", RANGE, 3,
                 (const uint32_t[]){0xBF800000, 0, 0x3F800000});
    static const char *const shapes[] = {"[[32, 16], [64, 32]]", "[32x16, 64x32]", "['32x16', [64, 32], 32x16]"};
    for (size_t k = 0; k < 3; k++) {
        char text[80];
        snprintf(text, sizeof text, "parameters: {hidden: %s}", shapes[k]);
        struct lm_sweep_spec spec = accept(text);
        assert_int_equal(spec.parameter[HIDDEN].axis.n, 2);
        assert_true(lm_shape_equal(spec.parameter[HIDDEN].axis.shape[0], (struct lm_shape){32, 16}));
        assert_true(lm_shape_equal(spec.parameter[HIDDEN].axis.shape[1], (struct lm_shape){64, 32}));
        lm_sweep_spec_free(&spec);
    }
}

/* The file and the command line mean the same bits. */
static void test_spaced(void **state)
{
    static const char *const ends[][2] = {{"0.001", "0.1"}, {"1e-5", "1"}, {"0.7", "0.003"}};
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (int count = 2; count < 40; count += 7)
            for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
                char file[120], line[80];
                struct lm_axis axis;
                struct lm_error err;
                const char *scale = logarithmic ? "log" : "lin";
                snprintf(file, sizeof file, "parameters: {learning_rate: {from: %s, to: %s, scale: %s, count: %d}}",
                         ends[k][0], ends[k][1], scale, count);
                snprintf(line, sizeof line, "%s:%s:%s%d", ends[k][0], ends[k][1], scale, count);
                assert_int_equal(lm_axis_parse(&lm_grid_rule[RATE], line, &axis, &err), LM_OK);
                expect_reals(file, RATE, axis.n, (const uint32_t *)(const void *)axis.real);
                lm_axis_free(&axis);
            }
}

static void test_continuous(void **state)
{
    (void)state;
    struct lm_sweep_spec spec = accept("search: random\ntrials: 5\nparameters:\n  learning_rate: {from: 1e-3, to: 0.1, "
                                       "scale: log}\n  decay: {from: 1, to: 0.5}\n");
    const struct lm_parameter *rate = &spec.parameter[RATE], *decay = &spec.parameter[DECAY];
    assert_true(rate->continuous && rate->from == 1e-3 && rate->to == 0.1 && rate->scale == LM_SCALE_LOG);
    assert_true(decay->continuous && decay->from == 1.0 && decay->to == 0.5 && decay->scale == LM_SCALE_LIN);
    assert_int_equal(rate->axis.n, 0);
    lm_sweep_spec_free(&spec);
}

/* Numbers that the types hold and no trial may have: trials all the same, each with its reason. */
static void test_failing_values(void **state)
{
    struct lm_trial *trial;
    struct lm_error err;
    uint64_t n, drawn;
    char reason[160];
    int faults = 0;

    (void)state;
    struct lm_sweep_spec spec = accept("parameters:\n  block: [4096, 48, 64]\n  hidden: [[100000, 16], 32x16]\n"
                                       "  epochs: [0, 2000000, 5]\n  learning_rate: [1e30, 0, -1, 3.4e38]\n");
    assert_int_equal(lm_sweep_trials(&spec, &trial, &n, &drawn, &err), LM_OK);
    assert_int_equal(n, 3 * 2 * 3 * 4);
    for (uint64_t t = 0; t < n; t++)
        faults += lm_trial_fault(&trial[t], reason, sizeof reason);
    assert_int_equal(faults, 72 - 2); /* good: 64, 32x16, 5 epochs, and 1e30 or 3.4e38 */
    assert_int_equal(lm_trial_fault(&trial[0], reason, sizeof reason), 1);
    assert_string_equal(reason, "epochs 0 is out of range (1 to 1000000)");
    free(trial);
    lm_sweep_spec_free(&spec);
}

/* ---- files ---- */

static void expect_file(const char *file, int code, const char *message)
{
    struct lm_sweep_spec spec;
    struct lm_error err;
    assert_int_equal(lm_sweep_read(file, &spec, &err), code);
    if (code == LM_OK) {
        lm_sweep_spec_free(&spec);
        return;
    }
    assert_true(strncmp(err.text, file, strlen(file)) == 0);
    assert_string_equal(err.text + strlen(file), message);
}

static void test_files(void **state)
{
    char *dir = scratch_make(), path[300];
    size_t most = (size_t)1 << 20;
    char *big = malloc(most + 1);

    (void)state;
    expect_file(dir, LM_BAD_INPUT, ": this is a folder");
    snprintf(path, sizeof path, "%s/none.yaml", dir);
    expect_file(path, LM_BAD_INPUT, ": No such file or directory");
    memset(big, '#', most + 1);
    memcpy(big, P, strlen(P));
    scratch_write(dir, "big.yaml", big, most);
    snprintf(path, sizeof path, "%s/big.yaml", dir);
    expect_file(path, LM_OK, "");
    scratch_write(dir, "big.yaml", big, most + 1);
    expect_file(path, LM_BAD_INPUT, ": 1048577 bytes; at most 1048576 are read");
    refuse_bytes(big, most + 1, "1: 1048577 bytes; at most 1048576 are read");
    scratch_write(dir, "wrong.yaml", P "x: 1\n", strlen(P "x: 1\n"));
    snprintf(path, sizeof path, "%s/wrong.yaml", dir);
    expect_file(path, LM_BAD_INPUT,
                ":2: a sweep file: unknown key 'x'; there are search, trials, search_seed, parameters, holdout, "
                "objective, keep_weights, halving");
    /* As many values as a file can hold. */
    char *at = big + sprintf(big, "parameters: {seed: [");
    while (at < big + most - 20)
        at += sprintf(at, "%zu,", (size_t)(at - big) % 1000);
    at += sprintf(at, "5]}");
    struct lm_sweep_spec spec;
    struct lm_error err;
    assert_int_equal(parse_sweep(big, (size_t)(at - big), &spec, &err), LM_OK);
    assert_in_range(spec.parameter[SEED].axis.n, 100, 1000);
    lm_sweep_spec_free(&spec);
    free(big);
    scratch_remove(dir);
}

/* The examples are read, and are what their heads say. */
static void test_examples(void **state)
{
    static const struct {
        const char *file;
        enum lm_search search;
        uint64_t trials;
    } example[] = {{"sweep", LM_SEARCH_GRID, 128},
                   {"random", LM_SEARCH_RANDOM, 200},
                   {"latin", LM_SEARCH_LATIN, 64},
                   {"halving", LM_SEARCH_HALVING, 300},
                   {"blocks", LM_SEARCH_GRID, 18}};
    const char *home = getenv("LIBRAS_ROOT");
    (void)state;
    for (size_t k = 0; k < sizeof example / sizeof *example; k++) {
        struct lm_sweep_spec spec;
        struct lm_trial *trial;
        struct lm_error err;
        uint64_t n, drawn;
        char path[1000], reason[160];
        snprintf(path, sizeof path, "%s/jobs/%s.yaml", home ? home : ".", example[k].file);
        if (lm_sweep_read(path, &spec, &err) != LM_OK)
            fail_msg("%s", err.text);
        assert_int_equal(spec.search, example[k].search);
        assert_int_equal(lm_sweep_trials(&spec, &trial, &n, &drawn, &err), LM_OK);
        assert_true(n == example[k].trials && drawn == n);
        for (uint64_t t = 0; t < n; t++)
            if (lm_trial_fault(&trial[t], reason, sizeof reason))
                fail_msg("%s: trial %llu: %s", path, (unsigned long long)t, reason);
        if (spec.search == LM_SEARCH_HALVING) { /* "300, 99, 33, 11" */
            assert_int_equal(lm_sweep_kept(&spec, 300), 99);
            assert_int_equal(lm_sweep_kept(&spec, 99), 33);
            assert_int_equal(lm_sweep_kept(&spec, 33), 11);
        }
        free(trial);
        lm_sweep_spec_free(&spec);
    }
}

static void test_version(void **state)
{
    (void)state;
    assert_in_range(lm_sweep_yaml_version()[0], '0', '9');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_keys),     cmocka_unit_test(test_halving),
        cmocka_unit_test(test_values),         cmocka_unit_test(test_spaced),   cmocka_unit_test(test_continuous),
        cmocka_unit_test(test_failing_values),

        cmocka_unit_test(test_files),          cmocka_unit_test(test_examples), cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_without(void **state)
{
    static const char says[] = ": this build has no libyaml: install libyaml-dev and build again, or give axes on the "
                               "command line (libras_mpi run --learning-rate 0.001:0.1:log16)";
    struct lm_sweep_spec spec;
    struct lm_error err;
    (void)state;
    assert_int_equal(lm_sweep_parse("a.yaml", "parameters: {}", 14, &spec, &err), LM_UNAVAILABLE);
    assert_string_equal(err.text + strlen("a.yaml"), says);
    assert_int_equal(lm_sweep_read("/nowhere/a.yaml", &spec, &err), LM_UNAVAILABLE);
    assert_string_equal(err.text + strlen("/nowhere/a.yaml"), says);
    assert_string_equal(lm_sweep_yaml_version(), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
