/* source.c: see source.h.
 *
 * Only rank 0 reads the data, once: a thousand ranks do not storm the file system, and no two ranks can see different
 * files. The others receive the normalised samples.
 */
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"

#define SYNTHETIC "synthetic"

static int load_synthetic(struct lm_dataset *out, struct lm_error *err)
{
    return lm_synth(lm_synth_default_count, LM_SYNTH_DEFAULT_SEED, out, err);
}

int lm_source_load(const struct lm_world *world, const struct lm_options *options, struct lm_dataset *out,
                   struct lm_error *err)
{
    const char *named = getenv("LIBRAS_DATA");
    if (options->data)
        return lm_dataset_load(options->data, out, err);
    if (named && *named) {
        lm_note(world, "data from $LIBRAS_DATA: %s", named);
        return lm_dataset_load(named, out, err) == LM_OK ? LM_OK : lm_fail_within(err, "$LIBRAS_DATA: ");
    }
    lm_note(world, "no --data and no $LIBRAS_DATA: using the built-in synthetic set (drawn hands)");
    return load_synthetic(out, err);
}

int lm_source_reload(const struct lm_options *options, const char *path, struct lm_dataset *out, struct lm_error *err)
{
    if (options->data)
        return lm_dataset_load(options->data, out, err);
    if (strncmp(path, SYNTHETIC, strlen(SYNTHETIC)) == 0)
        return load_synthetic(out, err);
    if (lm_dataset_load(path, out, err) != LM_OK)
        return lm_fail_within(err, "the data that the results file names (--data DIR if it has moved): ");
    return LM_OK;
}

static int share_samples(const struct lm_world *world, struct lm_samples *samples)
{
    struct lm_error err;
    uint64_t n = samples->n;
    lm_broadcast(world, &n, sizeof n);
    int code = world->rank == 0 ? LM_OK : lm_samples_allocate(n, samples, &err);
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    lm_broadcast(world, samples->x, n * LM_PIXELS * sizeof *samples->x);
    lm_broadcast(world, samples->label, n * sizeof *samples->label);
    return LM_OK;
}

int lm_source_share(const struct lm_world *world, struct lm_problem *problem)
{
    int code;
    lm_broadcast(world, problem->count, sizeof problem->count);
    if ((code = share_samples(world, &problem->train)) != LM_OK ||
        (code = share_samples(world, &problem->validation)) != LM_OK ||
        (code = share_samples(world, &problem->test)) != LM_OK)
        return code;
    return LM_OK;
}

int lm_source_problem(const struct lm_world *world, const struct lm_options *options, uint32_t split_seed,
                      struct lm_problem *problem, struct lm_error *err)
{
    struct lm_dataset data;
    struct lm_split split = {0};
    struct lm_scaler scaler;
    int code = lm_source_load(world, options, &data, err);
    if (code != LM_OK)
        return code;
    code = lm_split_make(data.count, split_seed, 0.0, &split, err);
    if (code == LM_OK) {
        lm_scaler_fit(&data, split.train, split.n_train, &scaler);
        code = lm_problem_make(&data, &split, &scaler, problem, err);
    }
    lm_split_free(&split);
    lm_dataset_free(&data);
    return code;
}
