/* provenance.c: see provenance.h. */
#include "provenance.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arithmetic.h"
#include "gpu.h"
#include "version.h"

static const char *const environment[] = {
    "LIBRAS_DATA",
    "LIBRAS_LAUNCHER",
    "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "HDF5_USE_FILE_LOCKING",
    "SLURM_JOB_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CLUSTER_NAME",
    "SLURM_RESTART_COUNT",
    "LANG",
    "LC_ALL",
};

/* ISO 8601. */
static void utc_now(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        snprintf(text, size, "unknown");
}

/* ---- the command line ---- */

static int is_plain(const char *word)
{
    return *word &&
           strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%") == strlen(word);
}

static void put_quoted(FILE *f, const char *word)
{
    if (is_plain(word)) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", f);
        else
            fputc(*word, f);
    fputc('\'', f);
}

char *lm_command_line(int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    for (int k = 0; k < argc; k++) {
        if (k)
            fputc(' ', f);
        put_quoted(f, argv[k]);
    }
    return fclose(f) == 0 ? text : NULL;
}

/* ---- versions ---- */

static void mpi_version(char *value, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, "\n")] = '\0';
    snprintf(value, size, "%.150s", text);
}

void lm_versions(struct lm_pair pair[LM_VERSIONS])
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    pair[0].name = "version";
    snprintf(pair[0].value, sizeof pair[0].value, "%s", LM_VERSION);
    pair[1].name = "commit";
    snprintf(pair[1].value, sizeof pair[1].value, "%s", LM_COMMIT);
    pair[2].name = "compiler";
#if defined __clang__
    snprintf(pair[2].value, sizeof pair[2].value, "%s", "clang " __clang_version__);
#else
    snprintf(pair[2].value, sizeof pair[2].value, "gcc %s", __VERSION__);
#endif
    pair[3].name = "mpi";
    mpi_version(pair[3].value, sizeof pair[3].value);
    pair[4].name = "hdf5";
    snprintf(pair[4].value, sizeof pair[4].value, "%u.%u.%u (built against %d.%d.%d)", major, minor, release,
             H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
    pair[5].name = "cuda";
    lm_gpu_version(pair[5].value, sizeof pair[5].value);
}

/* ---- all of it ---- */

static int note_options(const struct lm_options *options, struct lm_results *results, struct lm_error *err)
{
    char *echo = lm_options_echo(options), *rest = echo;
    int code = echo ? LM_OK : lm_fail_memory(err, 4096, "the options");
    while (code == LM_OK && rest && *rest) {
        char *line = strsep(&rest, "\n"), *value = strchr(line, '='), name[64];
        if (!value)
            continue;
        *value++ = '\0';
        snprintf(name, sizeof name, "option_%s", line);
        for (char *c = name; *c; c++)
            if (*c == '-')
                *c = '_';
        code = lm_results_note(results, name, value, err);
    }
    free(echo);
    return code;
}

static int note_hosts(struct lm_results *results, struct lm_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return lm_fail_memory(err, 256, "the hosts");
    for (size_t r = 0; r < results->n_ranks; r++) {
        size_t seen = 0;
        while (seen < r && strcmp(results->ranks[seen].host, results->ranks[r].host) != 0)
            seen++;
        if (seen == r)
            fprintf(f, "%s%s", r ? "," : "", results->ranks[r].host);
    }
    int code = fclose(f) == 0 ? lm_results_note(results, "hosts", text, err) : lm_fail_memory(err, 256, "the hosts");
    free(text);
    return code;
}

static int note_environment(struct lm_results *results, struct lm_error *err)
{
    int code = LM_OK;
    for (size_t k = 0; k < sizeof environment / sizeof *environment && code == LM_OK; k++) {
        const char *value = getenv(environment[k]);
        char name[64] = "env_";
        for (size_t c = 0; environment[k][c] && c < sizeof name - 5; c++)
            name[4 + c] = environment[k][c] == '_' ? '_' : (char)(environment[k][c] | 0x20); /* lower case */
        if (value)
            code = lm_results_note(results, name, value, err);
    }
    return code;
}

int lm_provenance(const struct lm_options *options, const char *command_line, struct lm_results *results,
                  struct lm_error *err)
{
    struct lm_pair pair[LM_VERSIONS];
    int code = lm_results_note(results, "command_line", command_line, err);
    utc_now(results->created, sizeof results->created);
    results->format_version = LM_FORMAT_VERSION;
    results->arithmetic_version = LM_ARITHMETIC_VERSION;
    lm_versions(pair);
    for (int k = 0; k < LM_VERSIONS && code == LM_OK; k++)
        code = lm_results_note(results, pair[k].name, pair[k].value, err);
    if (code == LM_OK)
        code = note_hosts(results, err);
    if (code == LM_OK)
        code = note_options(options, results, err);
    return code == LM_OK ? note_environment(results, err) : code;
}
