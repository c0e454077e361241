/* verify_stream.c: `libras_mpi verify` of a file that was scored from a packed file: everything of it that depends on
 * the data, computed once more by the CPU reference on all ranks and compared chunk by chunk, in bounded memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "cpu_backend.h"
#include "packed_source.h"
#include "stream.h"
#include "verify.h"

/* Samples compared with the network in double, which takes several times as long as the reference. */
#define IN_DOUBLE 100000

struct verify_stream {
    struct lm_stored *stored;      /* rank 0 */
    const struct lm_results *file; /* rank 0: the stored results */
    struct lm_results *checks;     /* rank 0 */
    struct lm_packed *packed;
    struct lm_stream stream;
    struct lm_spots spots;
    float *parameters; /* owned */
    struct lm_results_reader *reader;
    size_t room; /* rank 0: of the slab below */
    float *scores;
    uint8_t *expected, *predicted;
    struct lm_check found; /* rank 0: the row "scores" */
    uint64_t letters, wrong_letters;
    uint64_t confusion[LM_CLASSES][LM_CLASSES], count[LM_CLASSES];
};

/* ---- before the stream ---- */

static int network(struct verify_stream *v, struct lm_error *err)
{
    if (v->file->inference_trial < 0)
        return lm_fail(err, LM_BAD_INPUT, "damaged: it has scores, and says that no trial has weights");
    uint64_t trial = (uint64_t)v->file->inference_trial;
    int code = lm_stored_network(v->stored, trial, &v->stream.shape, &v->parameters, err);
    if (code == LM_OK && !lm_shape_equal(v->stream.shape, v->file->trial[trial].shape))
        code = lm_fail(err, LM_BAD_INPUT, "trial %llu: two shapes", (unsigned long long)trial);
    return code;
}

static int share_network(struct verify_stream *v, const struct lm_world *world, const char *path)
{
    struct lm_error err;
    int code = LM_OK;
    if (world->rank == 0 && (code = network(v, &err)) != LM_OK)
        lm_fail_within(&err, "%s: ", path);
    if ((code = lm_agree(world, code, &err)) != LM_OK)
        return code;
    lm_broadcast(world, &v->stream.shape, sizeof v->stream.shape);
    size_t bytes = lm_network_floats(v->stream.shape) * sizeof *v->parameters;
    if (world->rank != 0 && !(v->parameters = malloc(bytes)))
        code = lm_fail_memory(&err, bytes, "a network");
    if ((code = lm_agree(world, code, &err)) == LM_OK)
        lm_broadcast(world, v->parameters, bytes);
    return code;
}

static int same_data(struct verify_stream *v, struct lm_error *err)
{
    const struct lm_packed_layout *layout = lm_packed_layout_of(v->packed);
    int code = lm_packed_digest(v->packed, v->stream.digest, err);
    if (code != LM_OK)
        return code;
    if (strcmp(v->stream.digest, v->file->data_digest) != 0)
        return lm_fail(err, LM_BAD_INPUT,
                       "the packed file is other data than the results were made from (SHA-256 %.16s..., the file says "
                       "%.16s...); give the right one by --data",
                       v->stream.digest, v->file->data_digest);
    if (layout->samples != v->file->n_scores || layout->labelled == v->file->unlabelled)
        return lm_fail(err, LM_BAD_INPUT, "damaged: %zu scored samples%s of a packed file with %llu%s",
                       v->file->n_scores, v->file->unlabelled ? " without labels" : "",
                       (unsigned long long)layout->samples, layout->labelled ? "" : " without labels");
    return LM_OK;
}

static int open_data(struct verify_stream *v, const struct lm_call *call)
{
    const struct lm_world *world = call->world;
    struct lm_error err;
    const char *path = NULL;
    if (world->rank == 0)
        path = call->options->data ? call->options->data : v->file->data_path;
    int code = lm_packed_share(world, path, world->rank == 0 ? &v->file->scaler : NULL, &v->packed);
    if (code != LM_OK)
        return code;
    if (world->rank == 0 && (code = same_data(v, &err)) != LM_OK)
        lm_fail_within(&err, "%s: ", call->options->operand[0]);
    return lm_agree(world, code, &err);
}

/* ---- the stream ---- */

static int make_room(struct verify_stream *v, size_t n, struct lm_error *err)
{
    if (n <= v->room)
        return LM_OK;
    free(v->scores);
    free(v->expected);
    free(v->predicted);
    v->room = n;
    v->scores = malloc(n * LM_CLASSES * sizeof *v->scores);
    v->expected = calloc(n, 1);
    v->predicted = malloc(n);
    return v->scores && v->expected && v->predicted ? LM_OK
                                                    : lm_fail_memory(err, n * (LM_CLASSES * 4 + 2), "stored scores");
}

static int take(void *context, const struct lm_scored *chunk, struct lm_error *err)
{
    struct verify_stream *v = context;
    const int labelled = !v->file->unlabelled;
    int code = make_room(v, chunk->n, err);
    if (code == LM_OK)
        code =
            lm_results_get_scores(v->reader, chunk->first, chunk->n, v->scores, v->expected, v->predicted, NULL, err);
    if (code != LM_OK)
        return code;
    struct lm_check found = lm_compare_scores(v->scores, chunk->scores, chunk->n);
    v->found.compared += found.compared;
    v->found.mismatches += found.mismatches;
    if (isnan(found.max_abs_error) || found.max_abs_error > v->found.max_abs_error)
        v->found.max_abs_error = found.max_abs_error;
    for (size_t k = 0; k < chunk->n; k++) {
        v->wrong_letters +=
            v->predicted[k] != chunk->predicted[k] || (labelled && v->expected[k] != chunk->expected[k]);
        if (labelled) {
            v->confusion[chunk->expected[k]][chunk->predicted[k]]++;
            v->count[chunk->expected[k]]++;
        }
    }
    v->letters += chunk->n;
    return LM_OK;
}

static int run(struct verify_stream *v, const struct lm_world *world)
{
    const struct lm_problem nothing = {0};
    struct lm_error err;
    v->stream.world = world;
    v->stream.packed = v->packed;
    v->stream.backend = &lm_backend_cpu_ref;
    v->stream.parameters = v->parameters;
    v->stream.spots = &v->spots;
    v->stream.take = take;
    v->stream.context = v;
    int code = lm_backend_cpu_ref.open(&nothing, &v->stream.session, &err);
    if (code == LM_OK)
        code = lm_spots_begin(&v->spots, world, v->stream.shape, v->parameters, lm_packed_layout_of(v->packed)->samples,
                              IN_DOUBLE, &err);
    if ((code = lm_agree_once(world, code, &err)) == LM_OK)
        code = lm_stream_run(&v->stream);
    if (code == LM_OK)
        code = lm_agree(world, lm_spots_check(&v->spots, &err), &err);
    return code;
}

/* ---- rows ---- */

static int labelled_rows(struct verify_stream *v, struct lm_error *err)
{
    uint64_t cells = 0, counts = 0;
    if (v->file->unlabelled) {
        int code = lm_check_not_run(v->checks, "confusion", err);
        return code == LM_OK ? lm_check_not_run(v->checks, "counts", err) : code;
    }
    for (int a = 0; a < LM_CLASSES; a++) {
        counts += v->count[a] != v->file->count[a];
        for (int b = 0; b < LM_CLASSES; b++)
            cells += v->confusion[a][b] != v->file->confusion[a][b];
    }
    int code = lm_check_counts(v->checks, "confusion", LM_CLASSES * LM_CLASSES, cells, err);
    return code == LM_OK ? lm_check_counts(v->checks, "counts", LM_CLASSES, counts, err) : code;
}

static int put_rows(struct verify_stream *v, struct lm_error *err)
{
    v->found.result = v->found.mismatches ? LM_CHECK_FAILED : LM_CHECK_PASSED;
    int code = lm_results_check(v->checks, &v->found, err);
    if (code == LM_OK)
        code = lm_check_counts(v->checks, "predictions", v->letters, v->wrong_letters, err);
    return code == LM_OK ? labelled_rows(v, err) : code;
}

static void clean_up(struct verify_stream *v)
{
    if (v->stream.session)
        lm_backend_cpu_ref.close(v->stream.session);
    lm_spots_end(&v->spots);
    lm_packed_close(v->packed);
    free(v->parameters);
    free(v->scores);
    free(v->expected);
    free(v->predicted);
}

int lm_verify_stream(const struct lm_call *call, struct lm_stored *stored, struct lm_results *checks)
{
    const struct lm_world *world = call->world;
    struct verify_stream v = {
        .stored = stored, .file = &stored->results, .checks = checks, .reader = stored->reader, .found = {"scores"}};
    struct lm_error err;
    int streamed = world->rank == 0 && stored->results.streamed, code;
    lm_broadcast(world, &streamed, sizeof streamed);
    if (!streamed)
        return LM_OK;
    if ((code = share_network(&v, world, call->options->operand[0])) == LM_OK &&
        (code = open_data(&v, call)) == LM_OK && (code = run(&v, world)) == LM_OK)
        code = lm_agree(world, world->rank == 0 ? put_rows(&v, &err) : LM_OK, &err);
    if (code == LM_OK)
        code = lm_spots_rows(&v.spots, world, LM_SPOTS_FLOAT64, checks);
    clean_up(&v);
    return code;
}
