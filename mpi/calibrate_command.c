/* calibrate_command.c: `libras_mpi calibrate`: measures this machine for the performance model and keeps it in a file.
 *
 * Rank 0 measures its own processor and GPU; with more ranks also what comes from one to the other. The file is whole
 * or not there, and says whose it is: another GPU, driver, processor or build refuses it (model_machine.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate_rows.h"
#include "command.h"
#include "cpu_backend.h"
#include "gpu.h"
#include "machine.h"
#include "report.h"
#include "source.h"

#define REPEATS    5
#define SMALL_FILE ((size_t)64 << 10)
#define LARGE_FILE ((size_t)16 << 20)
#define MESSAGE    ((uint64_t)8 << 20)

enum { TAG_PING = 60, TAG_PONG };

/* ---- what is around the work ---- */

/* Seconds until so many bytes are on the disk. */
static int time_file(const char *path, const char *bytes, size_t n, double *seconds, struct lm_error *err)
{
    double start = lm_now();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    size_t done = 0;
    while (fd >= 0 && done < n) {
        ssize_t more = write(fd, bytes + done, n - done);
        if (more <= 0)
            break;
        done += (size_t)more;
    }
    int good = fd >= 0 && done == n && fsync(fd) == 0, number = errno;
    if (fd >= 0)
        close(fd);
    *seconds = lm_now() - start;
    unlink(path);
    return good ? LM_OK : lm_fail(err, LM_FAILED, "%s: cannot be written: %s", path, strerror(number));
}

static int measure_file(const char *path, struct lm_calibration *out, struct lm_error *err)
{
    double fixed[REPEATS], rate[REPEATS], large;
    char *bytes = calloc(1, LARGE_FILE), *name = NULL;
    int code = bytes && asprintf(&name, "%s.%ld.trial.part", path, (long)getpid()) > 0
                   ? LM_OK
                   : lm_fail_memory(err, LARGE_FILE, "a file to be timed");
    for (int r = 0; r < REPEATS && code == LM_OK; r++) {
        code = time_file(name, bytes, SMALL_FILE, &fixed[r], err);
        if (code == LM_OK)
            code = time_file(name, bytes, LARGE_FILE, &large, err);
        if (code == LM_OK)
            rate[r] = (double)LARGE_FILE / (large > fixed[r] ? large - fixed[r] : large);
    }
    if (code == LM_OK) {
        lm_calibration_set(out, &out->machine.job.file.fixed, fixed, REPEATS);
        lm_calibration_set(out, &out->machine.job.file.rate, rate, REPEATS);
        code = lm_calibrate_rows(name, out, err);
    }
    free(bytes);
    free(name);
    return code;
}

/* Rank 1 sends to rank 0, a byte and many; the way back is a byte each time. All ranks call it. */
static void measure_gather(const struct lm_world *world, struct lm_calibration *out)
{
    double fixed[REPEATS], rate[REPEATS];
    char *bytes = calloc(1, MESSAGE), word = 0;
    struct lm_error err;
    if (!bytes) {
        lm_fail_memory(&err, MESSAGE, "a message to be timed");
        lm_abort(world, &err);
    }
    for (int r = -1; r < REPEATS && world->rank < 2; r++) {
        double start = lm_now(), middle;
        if (world->rank == 1) {
            lm_receive_bytes(world, &word, 1, 0, TAG_PING);
            lm_send_bytes(world, &word, 1, 0, TAG_PONG);
            lm_receive_bytes(world, &word, 1, 0, TAG_PING);
            lm_send_bytes(world, bytes, MESSAGE, 0, TAG_PONG);
            continue;
        }
        lm_send_bytes(world, &word, 1, 1, TAG_PING);
        lm_receive_bytes(world, &word, 1, 1, TAG_PONG);
        middle = lm_now();
        lm_send_bytes(world, &word, 1, 1, TAG_PING);
        lm_receive_bytes(world, bytes, MESSAGE, 1, TAG_PONG);
        if (r >= 0) {
            fixed[r] = 0.5 * (middle - start);
            rate[r] = (double)MESSAGE / (lm_now() - middle);
        }
    }
    if (world->rank == 0) {
        lm_calibration_set(out, &out->machine.job.gather.fixed, fixed, REPEATS);
        lm_calibration_set(out, &out->machine.job.gather.rate, rate, REPEATS);
    }
    free(bytes);
}

/* ---- the table ---- */

/* 3.7e-6 "s" is 3.7 us. */
static void show_number(double value, const char *unit, char text[32])
{
    static const struct {
        double factor;
        const char *prefix;
    } prefix[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1.0, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
    size_t k = 0;
    if (strcmp(unit, "count") == 0 || strcmp(unit, "cycle") == 0 || strcmp(unit, "ratio") == 0) {
        snprintf(text, 32, "%.5g %s", value, strcmp(unit, "ratio") == 0 ? "" : unit);
        return;
    }
    while (k + 1 < sizeof prefix / sizeof *prefix && fabs(value) < prefix[k].factor)
        k++;
    if (strcmp(unit, "s") == 0 && k < 4)
        k = 4;                                 /* nobody says kiloseconds */
    int bytes = strncmp(unit, "byte", 4) == 0; /* GB/s, as everybody writes it */
    snprintf(text, 32, "%.4g %s%s%s", value / prefix[k].factor, prefix[k].prefix, bytes ? "B" : "",
             bytes ? unit + 4 : unit);
}

static void show_table(const struct lm_calibration *c, double seconds, const char *path)
{
    printf("%-22s %16s %8s  %s\n", "parameter", "median", "spread", "what it is");
    for (size_t k = 0; k < lm_machine_values; k++) {
        const struct lm_machine_value *p = &lm_machine_table[k];
        double value = lm_machine_value_of(&c->machine, p), spread = lm_machine_value_of(&c->spread, p);
        char number[32], part[16] = "";
        if (value == 0.0)
            continue;
        show_number(value, p->unit, number);
        if (spread > 0.0)
            snprintf(part, sizeof part, "%.1f %%", 100.0 * spread);
        printf("%-22s %16s %8s  %s\n", p->name, number, part, p->what);
    }
    printf("\nfor        %s; GPU %s%s%s; libras_mpi %s\n", c->machine.key.cpu,
           c->machine.key.gpu[0] ? c->machine.key.gpu : "none", c->machine.key.gpu[0] ? ", driver " : "",
           c->machine.key.driver, c->machine.key.build);
    printf("measured   in %.1f s; spread: (largest - least) / median\n", seconds);
    printf("file       %s\n", path);
}

/* ---- the command ---- */

/* The folder of the file, where it is results/. */
static void make_folder(const char *path)
{
    if (strncmp(path, "results/", 8) == 0)
        mkdir("results", 0777); /* if it is there or cannot be made, the write says so */
}

struct on_device {
    const struct lm_problem *problem;
    struct lm_calibration *out;
};

static int measure_gpu(void *context, struct lm_error *err)
{
    struct on_device *part = context;
    return lm_gpu_calibrate(part->problem, part->out, err);
}

static int measure(const struct lm_call *call, const char *path, struct lm_calibration *out, struct lm_error *err)
{
    const struct lm_world *world = call->world;
    const char *device = call->options->device;
    struct lm_problem problem = {0};
    struct lm_error gpu;
    double context = 0.0;
    if (strcmp(device, "auto") != 0 && strcmp(device, "cpu") != 0 && strcmp(device, "gpu") != 0)
        return lm_fail(err, LM_BAD_INPUT, "--device: '%s' is not auto, cpu or gpu", device);
    lm_machine_here(world, strcmp(device, "cpu") == 0, &out->machine.key, &context, &gpu);
    if (strcmp(device, "gpu") == 0 && gpu.code != LM_OK)
        return lm_fail(err, gpu.code, "--device gpu: %s", gpu.text);
    if (strcmp(device, "auto") == 0 && gpu.code != LM_OK)
        lm_note(world, "--device auto: the CPU alone (%s)", gpu.text);
    make_folder(path);
    int code = measure_file(path, out, err);
    if (code == LM_OK)
        code = lm_source_problem(call->world, call->options, 1337, &problem, err);
    problem.threads = lm_cpu_threads(1); /* as a job's rank has them: they share in what follows a kernel */
    if (gpu.code == LM_OK)
        out->machine.gpu.context = context;
    struct on_device part = {&problem, out};
    if (code == LM_OK)
        code = lm_calibrate_cpu(&problem, problem.threads, gpu.code == LM_OK ? measure_gpu : NULL, &part, out, err);
    if (code == LM_OK && out->had < 0.9)
        lm_note(world,
                "one core's part had the core for %.0f %% of its time: others were at work, so its numbers are too low",
                100.0 * out->had);
    lm_problem_free(&problem);
    return code;
}

static int on_rank_0(const struct lm_call *call, struct lm_calibration *out, struct lm_error *err)
{
    char standard[LM_MACHINE_PATH];
    const char *path = call->options->out ? call->options->out : standard;
    double start = lm_now();
    lm_machine_default_path(call->world, standard);
    int code = measure(call, path, out, err);
    if (code == LM_OK)
        code = lm_machine_write(&out->machine, path, err);
    if (code == LM_OK) {
        if (!call->options->quiet)
            show_table(out, lm_now() - start, path);
        code = lm_flush_stdout(err);
    }
    return code;
}

int lm_command_calibrate(const struct lm_call *call)
{
    const struct lm_world *world = call->world;
    struct lm_error err;
    struct lm_calibration *out = calloc(1, sizeof *out);
    int code = lm_agree(world, out ? LM_OK : lm_fail_memory(&err, sizeof *out, "a calibration"), &err);
    if (code == LM_OK) {
        lm_machine_clear(&out->machine);
        out->machine.job.start = lm_now() - call->start;
        if (world->size > 1)
            measure_gather(world, out);
        code = lm_agree(world, world->rank == 0 ? on_rank_0(call, out, &err) : LM_OK, &err);
    }
    free(out);
    return code;
}
