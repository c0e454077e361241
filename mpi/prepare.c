/* prepare.c: see prepare.h. */
#include "prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "ending.h"
#include "evaluate.h"
#include "large.h"
#include "paths.h"
#include "shard.h"

/* ---- agreement ---- */

/* The first line in which two echoes differ, as this rank has it. */
static void first_difference(const char *theirs, const char *ours, char *line, size_t size)
{
    size_t same = 0, begin = 0;
    while (ours[same] && ours[same] == theirs[same]) {
        if (ours[same] == '\n')
            begin = same + 1;
        same++;
    }
    snprintf(line, size, "%.*s", (int)strcspn(ours + begin, "\n"), ours + begin);
}

static char *echo_with_environment(const struct lm_options *options)
{
    char *echo = lm_options_echo(options), *whole = NULL;
    const char *data = getenv("LIBRAS_DATA");
    if (echo && asprintf(&whole, "%sdry-run=%d\nLIBRAS_DATA=%s\n", echo, options->dry_run, data ? data : "") < 0)
        whole = NULL;
    free(echo);
    return whole;
}

static int compare_options(const struct lm_world *world, const char *own, struct lm_error *err)
{
    uint64_t size = strlen(own) + 1;
    lm_broadcast(world, &size, sizeof size);
    char *first = malloc(size);
    if (!first) {
        lm_fail_memory(err, size, "the options");
        lm_abort(world, err);
    }
    if (world->rank == 0)
        memcpy(first, own, size);
    lm_broadcast(world, first, size);
    int code = LM_OK;
    if (strcmp(first, own) != 0) {
        char line[400];
        first_difference(first, own, line, sizeof line);
        code = lm_fail(err, LM_BAD_INPUT, "this rank was started with other options than rank 0: %s", line);
    }
    free(first);
    return code;
}

int lm_prepare_agree(const struct lm_call *call)
{
    struct lm_error err;
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    char *own = echo_with_environment(call->options);
    int code = LM_OK;
    if (!own) {
        lm_fail_memory(&err, 4096, "the options");
        lm_abort(call->world, &err);
    }
    /* srun without PMIx starts every task as a world of its own: N programs that all do all of the work. */
    if (call->world->size == 1 && tasks && atoi(tasks) > 1 && !getenv("OMPI_COMM_WORLD_SIZE"))
        code = lm_fail(&err, LM_BAD_INPUT,
                       "srun started %s tasks, but MPI sees a single one: use srun --mpi=pmix, or mpirun", tasks);
    if (code == LM_OK)
        code = compare_options(call->world, own, &err);
    free(own);
    return lm_agree(call->world, code, &err);
}

/* ---- devices and ranks ---- */

void lm_device_of(const struct lm_backend *backend, char *device, size_t size)
{
    snprintf(device, size, "%.*s", (int)strcspn(backend->name, ":-"), backend->name);
}

int lm_prepare_ranks(const struct lm_world *world, const struct lm_backend *backend, struct lm_results *results)
{
    struct lm_error err;
    struct lm_rank own;
    int code = lm_devices_describe(world, backend, &own, &err);
    if (code == LM_OK && world->rank == 0) {
        results->n_ranks = (size_t)world->size;
        results->ranks = calloc(results->n_ranks, sizeof *results->ranks);
        if (!results->ranks)
            code = lm_fail_memory(&err, results->n_ranks * sizeof own, "the table of ranks");
    }
    if ((code = lm_agree(world, code, &err)) == LM_OK)
        LM_MPI(world,
               MPI_Gather(&own, (int)sizeof own, MPI_BYTE, results->ranks, (int)sizeof own, MPI_BYTE, 0, world->comm));
    if (code == LM_OK && world->rank == 0)
        lm_devices_find_shared(world, results->ranks, results->n_ranks);
    return code;
}

void lm_gather_seconds(const struct lm_world *world, const double seconds[LM_PHASES], struct lm_results *results)
{
    double *all = NULL;
    struct lm_error err;
    if (world->rank == 0 && !(all = malloc((size_t)world->size * LM_PHASES * sizeof *all))) {
        lm_fail_memory(&err, (size_t)world->size * LM_PHASES * sizeof *all, "the times of the ranks");
        lm_abort(world, &err);
    }
    LM_MPI(world, MPI_Gather(seconds, LM_PHASES, MPI_DOUBLE, all, LM_PHASES, MPI_DOUBLE, 0, world->comm));
    for (int r = 0; all && r < world->size; r++)
        memcpy(results->ranks[r].seconds, all + r * LM_PHASES, sizeof results->ranks[r].seconds);
    free(all);
}

/* ---- the file ---- */

int lm_prepare_output(const struct lm_call *call, struct lm_output *output)
{
    struct lm_error err;
    int code = LM_OK;
    if (call->world->rank == 0) {
        char standard[200];
        lm_default_out(standard, sizeof standard);
        /* --resume may find its file complete, and replaces it by one that has all of it. */
        code = lm_output_reserve(call->options->out ? call->options->out : standard,
                                 call->options->force || call->options->resume, output, &err);
        if (code == LM_OK && output->found_stray)
            lm_note(call->world, "%s: a run that was killed had left it; removed", output->part);
        if (code == LM_OK)
            lm_ending_files(output->part, output->lock);
    }
    return lm_agree(call->world, code, &err);
}

/* ---- parts of the results ---- */

int lm_allocate_inference(struct lm_results *results, size_t n, struct lm_error *err)
{
    results->n_scores = n;
    results->scores = lm_large((n * LM_CLASSES + 1) * sizeof *results->scores);
    results->expected = malloc(n + 1);
    results->predicted = malloc(n + 1);
    results->sample_rank = malloc((n + 1) * sizeof *results->sample_rank);
    if (!results->scores || !results->expected || !results->predicted || !results->sample_rank)
        return lm_fail_memory(err, n * LM_CLASSES * sizeof *results->scores, "the scores");
    return LM_OK;
}

void lm_fill_inference(struct lm_results *results, const uint8_t *label, int ranks)
{
    memset(results->confusion, 0, sizeof results->confusion);
    memcpy(results->expected, label, results->n_scores);
    lm_confusion(results->scores, label, results->n_scores, results->predicted, results->confusion);
    for (int r = 0; r < ranks; r++) {
        struct lm_range shard = lm_shard(results->n_scores, ranks, r);
        for (uint64_t k = 0; k < shard.count; k++)
            results->sample_rank[shard.first + k] = r;
    }
}

static int copy_indices(const uint32_t *from, size_t n, uint32_t **to, struct lm_error *err)
{
    *to = malloc((n + 1) * sizeof **to);
    if (!*to)
        return lm_fail_memory(err, n * sizeof **to, "the split");
    if (n)
        memcpy(*to, from, n * sizeof **to);
    return LM_OK;
}

int lm_copy_split(struct lm_results *results, const struct lm_split *split, struct lm_error *err)
{
    int code = copy_indices(split->train, split->n_train, &results->train_index, err);
    if (code == LM_OK)
        code = copy_indices(split->validation, split->n_validation, &results->validation_index, err);
    if (code == LM_OK)
        code = copy_indices(split->test, split->n_test, &results->test_index, err);
    results->n_train = split->n_train;
    results->n_validation = split->n_validation;
    results->n_test = split->n_test;
    return code;
}

int lm_copy_dataset(struct lm_results *results, const struct lm_dataset *data, struct lm_error *err)
{
    results->data_path = strdup(data->path);
    if (!results->data_path)
        return lm_fail_memory(err, strlen(data->path), "a path");
    memcpy(results->data_digest, data->digest, sizeof results->data_digest);
    memcpy(results->count, data->count, sizeof results->count);
    return LM_OK;
}
