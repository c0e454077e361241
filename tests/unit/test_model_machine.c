/* test_model_machine.c: the machine's file: what is written is read again, and every wrong line is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "made_machine.h"
#include "scratch.h"

/* Of the files in *state, a folder. */
#define PATH 400
static void path_of(void **state, const char *name, char path[PATH])
{
    snprintf(path, PATH, "%s/%s", (const char *)*state, name);
}

/* All numbers different, so that none can take another's place. */
static struct lm_machine all_different(void)
{
    struct lm_machine machine = made_machine();
    for (size_t k = 0; k < lm_machine_values; k++) {
        const struct lm_machine_value *p = &lm_machine_table[k];
        lm_machine_value_set(&machine, p, (p->least > 0.0 ? p->least : 1e-9) * (1.0 + (double)k / 128.0));
    }
    return machine;
}

static void test_there_and_back(void **state)
{
    struct lm_machine machine = all_different(), again;
    struct lm_error err;
    char path[PATH];
    path_of(state, "machine.txt", path);
    for (int gpu = 1; gpu >= 0; gpu--) {
        for (size_t k = 0; k < lm_machine_values && !gpu; k++)
            if (strncmp(lm_machine_table[k].name, "gpu.", 4) == 0)
                lm_machine_value_set(&machine, &lm_machine_table[k], 0.0);
        assert_int_equal(lm_machine_write(&machine, path, &err), LM_OK);
        assert_int_equal(lm_machine_read(path, &again, &err), LM_OK);
        assert_memory_equal(&machine.key, &again.key, sizeof machine.key);
        for (size_t k = 0; k < lm_machine_values; k++) {
            double a = lm_machine_value_of(&machine, &lm_machine_table[k]);
            double b = lm_machine_value_of(&again, &lm_machine_table[k]);
            assert_true(fabs(a - b) <= 1e-7 * fabs(a)); /* float32's digits are kept */
        }
        assert_int_equal(lm_machine_has_gpu(&again), gpu);
    }
}

/* Every place in the struct has one name: what is set by one parameter is no other's. */
static void test_table(void **state)
{
    (void)state;
    size_t doubles = (sizeof(struct lm_machine) - sizeof(struct lm_machine_key)) / sizeof(double);
    assert_int_equal(lm_machine_values, doubles);
    for (size_t k = 0; k < lm_machine_values; k++)
        for (size_t j = 0; j < k; j++) {
            assert_true(lm_machine_table[j].offset != lm_machine_table[k].offset);
            assert_true(strcmp(lm_machine_table[j].name, lm_machine_table[k].name) != 0);
        }
}

/* The text of a good machine with `from` replaced by `to`. */
static char *changed(const char *from, const char *to)
{
    char *text = NULL, *out;
    size_t n = 0;
    struct lm_machine machine = made_machine();
    FILE *f = open_memstream(&text, &n);
    assert_true(lm_machine_print(&machine, f));
    fclose(f);
    char *at = strstr(text, from);
    assert_non_null(at);
    assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
    free(text);
    return out;
}

static void refuse(const char *from, const char *to, const char *message)
{
    struct lm_machine machine;
    struct lm_error err;
    char *text = changed(from, to);
    assert_int_equal(lm_machine_parse("m.txt", text, strlen(text), &machine, &err), LM_BAD_INPUT);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
    free(text);
}

static void test_wrong_lines(void **state)
{
    (void)state;
    refuse("libras-machine 1", "libras-machine 2", "m.txt: no machine's file");
    refuse("cpu.cores 16 count", "cpu.core 16 count",
           "m.txt:6: 'cpu.core' is no key of a machine; did you mean 'cpu.cores'?");
    refuse("cpu.cores 16 count", "zebra 16 count", "m.txt:6: 'zebra' is no key of a machine");
    refuse("cpu.cores 16 count", "cpu.cores 16", "m.txt:6: cpu.cores: there is no value");
    refuse("cpu.cores 16 count", "cpu.cores", "m.txt:6: a line is `key value unit`");
    refuse("cpu.cores 16 count", "cpu.cores 16 s", "m.txt:6: cpu.cores: its unit is count, not 's'");
    refuse("cpu.cores 16 count", "cpu.cores 16x count", "'16x' is no number from 1 to 1e+06");
    refuse("cpu.cores 16 count", "cpu.cores 0 count", "'0' is no number from 1 to 1e+06");
    refuse("cpu.cores 16 count", "cpu.cores nan count", "'nan' is no number");
    refuse("cpu.cores 16 count", "cpu.cores 16 count\ncpu.cores 16 count", "m.txt:7: cpu.cores: it stands there twice");
    refuse("cpu.cores 16 count\n", "", "m.txt: cpu.cores is missing (cores a rank may use, count)");
    refuse("gpu.clock", "# gpu.clock", "m.txt: gpu.clock is missing");
    refuse("key.cpu Made CPU @ 3 GHz text", "key.cpu Made CPU s", "key.cpu: its unit is text");
    char name[200] = "key.cpu ";
    memset(name + 8, 'x', 150);
    memcpy(name + 158, " text", 6);
    refuse("key.cpu Made CPU @ 3 GHz text", name, "key.cpu: the text is too long");
}

static void test_forms(void **state)
{
    struct lm_machine machine;
    struct lm_error err;
    (void)state;
    char *text = changed("cpu.cores 16 count", "\n# a comment\n \t cpu.cores\t 1.6e1   count  \r");
    assert_int_equal(lm_machine_parse("m.txt", text, strlen(text), &machine, &err), LM_OK);
    assert_true(machine.cpu.cores == 16.0);
    assert_string_equal(machine.key.cpu, "Made CPU @ 3 GHz");
    text[strlen(text) / 2] = '\0';
    assert_int_equal(lm_machine_parse("m.txt", text, strlen(text) + 20, &machine, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "a byte 0"));
    assert_int_equal(lm_machine_parse("m.txt", "", 0, &machine, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "it is empty"));
    assert_int_equal(lm_machine_read("/nowhere/m.txt", &machine, &err), LM_BAD_INPUT);
    free(text);
}

static void test_whole_or_not(void **state)
{
    struct lm_machine machine = made_machine(), again;
    struct lm_error err;
    char path[PATH], folder[PATH + 32];
    assert_int_equal(lm_machine_write(&machine, "/nowhere/at/all.txt", &err), LM_FAILED);
    assert_non_null(strstr(err.text, "/nowhere/at/all.txt: cannot be written"));
    path_of(state, "taken", path);
    snprintf(folder, sizeof folder, "%s/inside", path);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(lm_machine_write(&machine, path, &err), LM_FAILED); /* a folder: nothing is left beside it */
    snprintf(folder, sizeof folder, "%s.%ld.part", path, (long)getpid());
    assert_int_equal(access(folder, F_OK), -1);
    path_of(state, "old.txt", path);
    machine.cpu.train_all = -1.0;
    assert_int_equal(lm_machine_write(&machine, path, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "cpu.train.all is -1, which no machine has"));
    machine.cpu.train_all = NAN;
    assert_int_equal(lm_machine_write(&machine, path, &err), LM_FAILED);
    assert_int_equal(access(path, F_OK), -1);
    machine = made_machine();
    assert_int_equal(lm_machine_write(&machine, path, &err), LM_OK);
    machine.cpu.cores = 3.0;
    assert_int_equal(lm_machine_write(&machine, path, &err), LM_OK);
    assert_int_equal(lm_machine_read(path, &again, &err), LM_OK);
    assert_true(again.cpu.cores == 3.0);
}

static void foreign(struct lm_machine_key *key, char *text, const char *message)
{
    struct lm_machine machine = made_machine();
    struct lm_error err;
    text[0] ^= 1;
    assert_int_equal(lm_machine_check(&machine, key, 0, "m.txt", &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, message));
    assert_non_null(strstr(err.text, "calibrate again"));
    text[0] ^= 1;
}

static void test_key(void **state)
{
    struct lm_machine machine = made_machine();
    struct lm_machine_key key = machine.key;
    struct lm_error err;
    char name[96];
    (void)state;
    assert_int_equal(lm_machine_check(&machine, &key, 0, "m.txt", &err), LM_OK);
    foreign(&key, key.gpu, "m.txt: not of this machine: the GPU is 'GPU-made' there and 'FPU-made' here");
    foreign(&key, key.driver, "the GPU's driver is");
    foreign(&key, key.cpu, "the processor is");
    foreign(&key, key.build, "the program is");
    machine.key.gpu[0] = machine.key.driver[0] = '\0'; /* measured without its GPU */
    assert_int_equal(lm_machine_check(&machine, &key, 0, "m.txt", &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "the GPU is 'none' there"));
    assert_int_equal(lm_machine_check(&machine, &key, 1, "m.txt", &err), LM_OK);
    lm_machine_cpu_name(name, sizeof name);
    assert_true(strlen(name) > 0 && !strchr(name, '\n'));
}

static int make_folder(void **state)
{
    *state = scratch_make();
    return 0;
}

static int remove_folder(void **state)
{
    scratch_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_wrong_lines),
        cmocka_unit_test(test_forms), cmocka_unit_test(test_whole_or_not),   cmocka_unit_test(test_key),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
