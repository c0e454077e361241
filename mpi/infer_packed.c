/* infer_packed.c: `libras_mpi infer RESULTS.h5 --data FILE`: a packed file of any size, in bounded memory.
 *
 * Every rank opens the file and reads its own chunks; the scores go through rank 0 straight into the results file
 * (stream.c). What is not kept cannot be looked at again: losses, confusion and accuracy are summed up on the way, and
 * the samples that the reference checks are put aside on the way (spots.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "gpu.h"
#include "infer.h"
#include "packed_source.h"
#include "prepare.h"
#include "report_stream.h"
#include "stream.h"

struct packed_infer {
    struct lm_infer *infer;
    struct lm_packed *packed;
    struct lm_stream stream;
    struct lm_spots spots;
    struct lm_results_writer *writer; /* rank 0, until it is finished */
    int32_t *rank_column;             /* rank 0: a slab's sample_rank */
    size_t rank_room;
    struct lm_tally tally; /* rank 0 */
    double reading;        /* rank 0: of the rank that read longest */
};

/* ---- before the stream ---- */

static int describe_data(struct packed_infer *p, struct lm_error *err)
{
    struct lm_results *results = &p->infer->results;
    const struct lm_packed_layout *layout = lm_packed_layout_of(p->packed);
    int code = lm_packed_digest(p->packed, p->stream.digest, err);
    if (code != LM_OK)
        return code;
    results->data_path = realpath(lm_packed_named(p->infer->call->options), NULL);
    if (!results->data_path)
        return lm_fail(err, LM_BAD_INPUT, "%s: it is gone", lm_packed_named(p->infer->call->options));
    memcpy(results->data_digest, p->stream.digest, sizeof results->data_digest);
    results->streamed = 1;
    results->unlabelled = !layout->labelled;
    results->n_scores = (size_t)layout->samples;
    return LM_OK;
}

/* The results file with room for all scores: a disk that is too small is found now. */
static int open_file(struct packed_infer *p, struct lm_error *err)
{
    const struct lm_results *results = &p->infer->results;
    int code = describe_data(p, err);
    if (code == LM_OK)
        code = lm_infer_create(p->infer, &p->writer, err);
    return code == LM_OK ? lm_results_add_scores(p->writer, results->n_scores, results->unlabelled, err) : code;
}

static int load(struct packed_infer *p)
{
    struct lm_infer *infer = p->infer;
    const struct lm_world *world = infer->call->world;
    struct lm_error err;
    int code = lm_agree(world, world->rank == 0 ? lm_infer_network(infer, &err) : LM_OK, &err);
    if (code == LM_OK)
        code = lm_infer_share_network(infer);
    if (code == LM_OK)
        code = lm_packed_share(world, lm_packed_named(infer->call->options), &infer->results.scaler, &p->packed);
    if (code == LM_OK)
        code = lm_agree(world, world->rank == 0 ? open_file(p, &err) : LM_OK, &err);
    if (code == LM_OK) {
        const struct lm_packed_layout *layout = lm_packed_layout_of(p->packed);
        code = lm_infer_decide(infer, layout->samples, lm_stream_chunk(layout));
    }
    if (code == LM_OK)
        code = lm_agree_once(world, infer->backend->open(&infer->nothing, &infer->session, &err), &err);
    if (code == LM_OK)
        code = lm_agree_once(world,
                             lm_spots_begin(&p->spots, world, infer->shape, infer->parameters,
                                            lm_packed_layout_of(p->packed)->samples,
                                            infer->call->options->validate_samples, &err),
                             &err);
    return code;
}

/* ---- the stream ---- */

static int fill_ranks(struct packed_infer *p, const struct lm_scored *chunk, struct lm_error *err)
{
    if (chunk->n > p->rank_room) {
        int32_t *more = realloc(p->rank_column, chunk->n * sizeof *more);
        if (!more)
            return lm_fail_memory(err, chunk->n * sizeof *more, "a column");
        p->rank_column = more;
        p->rank_room = chunk->n;
    }
    for (size_t k = 0; k < chunk->n; k++)
        p->rank_column[k] = chunk->rank;
    return LM_OK;
}

/* Losses are added in the order of the samples: the same sum as lm_tally_add's, whatever the ranks and chunks. */
static int take(void *context, const struct lm_scored *chunk, struct lm_error *err)
{
    struct packed_infer *p = context;
    struct lm_results *results = &p->infer->results;
    int code = fill_ranks(p, chunk, err);
    if (code != LM_OK)
        return code;
    for (size_t k = 0; k < chunk->n && !results->unlabelled; k++) {
        p->tally.loss += chunk->loss[k];
        p->tally.hits += chunk->predicted[k] == chunk->expected[k];
        results->confusion[chunk->expected[k]][chunk->predicted[k]]++;
        results->count[chunk->expected[k]]++;
    }
    p->tally.n += chunk->n;
    return lm_results_put_scores(p->writer, chunk->n, chunk->scores, chunk->expected, chunk->predicted, p->rank_column,
                                 err);
}

static int score(struct packed_infer *p)
{
    struct lm_infer *infer = p->infer;
    p->stream.world = infer->call->world;
    p->stream.packed = p->packed;
    p->stream.backend = infer->backend;
    p->stream.session = infer->session;
    p->stream.shape = infer->shape;
    p->stream.parameters = infer->parameters;
    p->stream.spots = &p->spots;
    p->stream.take = take;
    p->stream.context = p;
    int code = lm_stream_run(&p->stream);
    memcpy(infer->seconds, p->stream.seconds, sizeof infer->seconds);
    if (code == LM_OK) /* the same on all ranks */
        lm_infer_measured(infer);
    LM_MPI(p->stream.world,
           MPI_Reduce(&p->stream.reading, &p->reading, 1, MPI_DOUBLE, MPI_MAX, 0, p->stream.world->comm));
    infer->results.metrics = lm_tally_end(&p->tally);
    if (infer->results.unlabelled)
        infer->results.metrics = (struct lm_metrics){p->tally.n, 0, NAN, NAN};
    return code;
}

static int validate(struct packed_infer *p)
{
    const struct lm_world *world = p->infer->call->world;
    struct lm_error err;
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_VALIDATE]);
    int code = lm_agree(world, lm_spots_check(&p->spots, &err), &err);
    p->infer->seconds[LM_PHASE_VALIDATE] += lm_now() - start;
    lm_gpu_range_end();
    return code == LM_OK ? lm_spots_rows(&p->spots, world, LM_SPOTS_SCORES | LM_SPOTS_PREDICTIONS | LM_SPOTS_FLOAT64,
                                         &p->infer->results)
                         : code;
}

/* ---- after it ---- */

static int finish_on_rank_0(struct packed_infer *p, struct lm_error *err)
{
    struct lm_infer *infer = p->infer;
    char *path = strdup(infer->output.path);
    double start = lm_now();
    struct lm_results_writer *writer = p->writer;
    if (!path)
        return lm_fail_memory(err, 256, "a path");
    p->writer = NULL;
    lm_gpu_range_begin("file");
    int code = lm_infer_complete(infer, writer, err);
    infer->times.file = lm_now() - start;
    lm_gpu_range_end();
    infer->times.total = lm_now() - infer->call->start;
    if (code == LM_OK) {
        int outcome = lm_checks_verdict(&infer->results) == LM_CHECK_FAILED ? LM_MISMATCH : LM_OK;
        struct lm_report_input input = {infer->call, &infer->results, &infer->times, path, outcome,
                                        NULL,        &infer->trial};
        code = lm_report_stream(&input, lm_packed_layout_of(p->packed), p->reading, err);
        if (code == LM_OK && outcome != LM_OK)
            code = lm_fail(err, outcome, "the scores are not those of the CPU reference: see the checks above");
    }
    free(path);
    return code;
}

static void clean_up(struct packed_infer *p)
{
    if (p->writer)
        lm_results_abandon(p->writer);
    lm_spots_end(&p->spots);
    lm_packed_close(p->packed);
    free(p->rank_column);
    lm_infer_end(p->infer);
}

int lm_infer_packed(struct lm_infer *infer)
{
    const struct lm_call *call = infer->call;
    const struct lm_world *world = call->world;
    struct packed_infer p = {.infer = infer};
    struct lm_error err;
    int code;
    if ((code = lm_decide_begin(call, &infer->decide)) == LM_OK &&
        (code = lm_prepare_output(call, &infer->output)) == LM_OK && (code = load(&p)) == LM_OK &&
        (code = score(&p)) == LM_OK && (code = validate(&p)) == LM_OK) {
        lm_gather_seconds(world, infer->seconds, &infer->results);
        code = lm_agree(world, world->rank == 0 ? finish_on_rank_0(&p, &err) : LM_OK, &err);
    }
    clean_up(&p);
    return code;
}
