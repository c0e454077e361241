/* stream.c: see stream.h.
 *
 * The file's blocks make chunks of about CHUNK samples, and the ranks take them in turn: chunk c is rank c mod R's. So
 * the chunks that are scored at the same time lie side by side in the file and in the order of the samples, and rank 0
 * can take them in that order, write each where it belongs and add up the losses one after the other, with room for
 * three chunks: the answer does not depend on R, nor on CHUNK. (With one long shard a rank, rank 0 would have to keep
 * most of the scores, or let all ranks but one wait.)
 *
 * A round is R chunks, one a rank. While rank 0 takes the chunks of a round, the others score those of the next: each
 * has two buffers, one to send from and one to fill. Rank 0 has two receives posted ahead. The system is told which
 * blocks are wanted next and reads them meanwhile. Where a GPU scores, a thread reads the next chunk while this one is
 * scored and written, 8-bit pixels go to the device as they are, and chunks and scores lie in pinned memory.
 *
 * A rank that fails (a damaged block, a full disk) goes on with the rounds, sending nothing in place of its chunks. In
 * each round all agree whether somebody has failed, without waiting (MPI_Iallreduce), and look at the outcome one round
 * later: so all stop after the same round, with the reason told, and no file or lock is left behind.
 *
 * Every chunk carries its blocks' sums. Rank 0 hashes them: if a rank's host sees another file under the same name, or
 * somebody writes to it, the digest is another.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "gpu.h"
#include "slabs.h"

#define CHUNK   ((uint32_t)16384)
#define BUFFERS 2

enum { TAG_CHUNK = 50 };

/* A sample in a message: scores, loss, expected, predicted. In front of them are the sums of the blocks. */
#define SAMPLE_BYTES (LM_CLASSES * sizeof(float) + sizeof(float) + 2)

struct plan {
    const struct lm_packed_layout *layout;
    uint64_t blocks, chunks, rounds;
    uint32_t blocks_a_chunk;
    size_t samples; /* of a whole chunk */
};

/* Where the parts of a message lie. */
struct parts {
    size_t bytes;
    unsigned char *sums;
    float *scores, *loss;
    uint8_t *expected, *predicted;
};

struct buffer {
    unsigned char *bytes; /* owned */
    int pinned;
    MPI_Request request;
};

struct work {
    struct lm_stream *stream;
    struct plan plan;
    struct lm_slabs *slabs;          /* owned: this rank's chunks, one after the other */
    struct buffer own[BUFFERS];      /* this rank's chunks; rank 0 needs one only */
    struct buffer incoming[BUFFERS]; /* rank 0: other ranks' chunks */
    uint64_t posted;                 /* rank 0: the next chunk to post a receive for */
    struct lm_sha256 hash;           /* rank 0 */
    MPI_Request agreement[BUFFERS];  /* of this round and the last one */
    int failed_here[BUFFERS], failed_anywhere[BUFFERS];
    double lap; /* when the current phase began */
    int code;   /* this rank's */
    struct lm_error err;
};

/* ---- chunks ---- */

static struct plan make_plan(const struct lm_packed_layout *layout, int ranks)
{
    struct plan plan = {.layout = layout, .blocks = lm_packed_blocks(layout)};
    plan.blocks_a_chunk = layout->block < CHUNK ? CHUNK / layout->block : 1;
    plan.chunks = (plan.blocks - 1) / plan.blocks_a_chunk + 1;
    plan.rounds = (plan.chunks - 1) / (uint64_t)ranks + 1;
    plan.samples = (size_t)plan.blocks_a_chunk * layout->block;
    if (plan.samples > layout->samples)
        plan.samples = (size_t)layout->samples;
    return plan;
}

static uint64_t first_sample(const struct plan *plan, uint64_t c)
{
    return c * plan->blocks_a_chunk * plan->layout->block;
}

static size_t chunk_samples(const struct plan *plan, uint64_t c)
{
    uint64_t left = plan->layout->samples - first_sample(plan, c);
    return left < plan->samples ? (size_t)left : plan->samples;
}

static uint32_t chunk_blocks(const struct plan *plan, uint64_t c)
{
    uint64_t left = plan->blocks - c * plan->blocks_a_chunk;
    return left < plan->blocks_a_chunk ? (uint32_t)left : plan->blocks_a_chunk;
}

static size_t message_bytes(size_t samples, uint32_t blocks)
{
    return samples * SAMPLE_BYTES + blocks * sizeof(uint32_t);
}

static struct parts parts_of(const struct plan *plan, uint64_t c, unsigned char *bytes)
{
    size_t n = chunk_samples(plan, c);
    uint32_t blocks = chunk_blocks(plan, c);
    struct parts parts = {.bytes = message_bytes(n, blocks), .sums = bytes};
    parts.scores = (float *)(void *)(bytes + blocks * sizeof(uint32_t));
    parts.loss = parts.scores + n * LM_CLASSES;
    parts.expected = (uint8_t *)(parts.loss + n);
    parts.predicted = parts.expected + n;
    return parts;
}

uint64_t lm_stream_bytes(const struct lm_packed_layout *layout)
{
    struct plan plan = make_plan(layout, 1);
    return lm_packed_block_bytes(layout, layout->block) + 2 * plan.samples * (LM_PIXELS * sizeof(float) + 1) +
           3 * message_bytes(plan.samples, plan.blocks_a_chunk);
}

size_t lm_stream_chunk(const struct lm_packed_layout *layout)
{
    return make_plan(layout, 1).samples;
}

/* ---- time ---- */

/* Books what has passed since the last call. */
static void book(struct work *work, enum lm_phase phase)
{
    double now = lm_now();
    work->stream->seconds[phase] += now - work->lap;
    work->lap = now;
}

/* ---- this rank's chunk: read, score ---- */

static void fail(struct work *work, int code)
{
    if (code != LM_OK && work->code == LM_OK)
        work->code = code;
}

static int score_chunk(struct work *work, uint64_t c, const struct lm_slab *slab, const struct parts *parts)
{
    struct lm_stream *stream = work->stream;
    const struct lm_spots_from from = {slab->x, slab->pixel, lm_packed_grey(stream->packed)};
    const size_t n = slab->n;
    int code;
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_INFER]);
    if (slab->x)
        code = stream->backend->infer(stream->session, stream->shape, stream->parameters, slab->x, n, parts->scores,
                                      &work->err);
    else
        code = stream->backend->infer_grey(stream->session, stream->shape, stream->parameters, from.grey, slab->pixel,
                                           n, parts->scores, &work->err);
    book(work, LM_PHASE_INFER);
    lm_gpu_range_end();
    if (!work->plan.layout->labelled)
        memset(parts->expected, 0, n);
    for (size_t k = 0; k < n && code == LM_OK; k++) {
        const float *scores = parts->scores + k * LM_CLASSES;
        parts->predicted[k] = (uint8_t)lm_predict(scores);
        parts->loss[k] = work->plan.layout->labelled ? lm_sample_loss(scores, parts->expected[k]) : 0.0f;
    }
    book(work, LM_PHASE_GATHER);
    if (code == LM_OK)
        code = lm_spots_add(stream->spots, first_sample(&work->plan, c), n, from, parts->scores, &work->err);
    book(work, LM_PHASE_VALIDATE);
    return code;
}

/* The bytes of chunk c, in this buffer; 0 where it could not be made. */
static size_t make_chunk(struct work *work, uint64_t c, struct buffer *buffer)
{
    const struct parts parts = parts_of(&work->plan, c, buffer->bytes);
    if (work->code != LM_OK)
        return 0;
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_DATA]);
    const struct lm_slab *slab = lm_slabs_next(work->slabs);
    book(work, LM_PHASE_DATA);
    lm_gpu_range_end();
    int code = slab->code;
    work->stream->reading += slab->seconds;
    if (code != LM_OK)
        work->err = slab->err;
    memcpy(parts.sums, slab->sums, slab->blocks * sizeof(uint32_t));
    memcpy(parts.expected, slab->label, slab->n);
    if (code == LM_OK)
        code = score_chunk(work, c, slab, &parts);
    fail(work, code);
    return work->code == LM_OK ? parts.bytes : 0;
}

/* ---- rank 0: all chunks, in order ---- */

static void take(struct work *work, uint64_t c, unsigned char *bytes)
{
    const struct plan *plan = &work->plan;
    const struct parts parts = parts_of(plan, c, bytes);
    struct lm_scored chunk = {.first = first_sample(plan, c),
                              .n = chunk_samples(plan, c),
                              .rank = (int)(c % (uint64_t)work->stream->world->size),
                              .scores = parts.scores,
                              .loss = parts.loss,
                              .expected = parts.expected,
                              .predicted = parts.predicted};
    lm_sha256_add(&work->hash, parts.sums, chunk_blocks(plan, c) * sizeof(uint32_t));
    if (work->code == LM_OK)
        fail(work, work->stream->take(work->stream->context, &chunk, &work->err));
}

/* Posts a receive for the next chunk of another rank, if there is one. */
static void post(struct work *work, struct buffer *buffer)
{
    const struct lm_world *world = work->stream->world;
    if (work->posted % (uint64_t)world->size == 0)
        work->posted++; /* rank 0's own */
    uint64_t c = work->posted;
    buffer->request = MPI_REQUEST_NULL;
    if (world->size == 1 || c >= work->plan.chunks)
        return;
    work->posted++;
    LM_MPI(world, MPI_Irecv(buffer->bytes, (int)parts_of(&work->plan, c, buffer->bytes).bytes, MPI_BYTE,
                            (int)(c % (uint64_t)world->size), TAG_CHUNK, world->comm, &buffer->request));
}

static void receive_round(struct work *work, uint64_t round)
{
    const struct lm_world *world = work->stream->world;
    const uint64_t size = (uint64_t)world->size, first = round * size;
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_GATHER]);
    for (uint64_t c = first + 1; c < first + size && c < work->plan.chunks; c++) {
        /* receives are posted in the order of chunks, into the buffers by turns */
        struct buffer *buffer = &work->incoming[(c - 1 - c / size) % BUFFERS];
        MPI_Status status;
        int bytes = 0;
        LM_MPI(world, MPI_Wait(&buffer->request, &status));
        LM_MPI(world, MPI_Get_count(&status, MPI_BYTE, &bytes));
        if ((size_t)bytes == parts_of(&work->plan, c, buffer->bytes).bytes)
            take(work, c, buffer->bytes); /* else its rank has failed, and will be heard */
        post(work, buffer);
    }
    book(work, LM_PHASE_GATHER);
    lm_gpu_range_end();
}

/* ---- rounds ---- */

static void send_chunk(struct work *work, struct buffer *buffer, size_t bytes)
{
    const struct lm_world *world = work->stream->world;
    LM_MPI(world, MPI_Isend(buffer->bytes, (int)bytes, MPI_BYTE, 0, TAG_CHUNK, world->comm, &buffer->request));
}

static void one_round(struct work *work, uint64_t round)
{
    const struct lm_world *world = work->stream->world;
    const uint64_t c = round * (uint64_t)world->size + (uint64_t)world->rank;
    struct buffer *buffer = &work->own[world->rank == 0 ? 0 : round % BUFFERS];
    LM_MPI(world, MPI_Wait(&buffer->request, MPI_STATUS_IGNORE));
    book(work, LM_PHASE_GATHER);
    if (c < work->plan.chunks) {
        size_t bytes = make_chunk(work, c, buffer);
        if (world->rank != 0)
            send_chunk(work, buffer, bytes);
        else if (bytes > 0)
            take(work, c, buffer->bytes);
    }
    if (world->rank == 0)
        receive_round(work, round);
}

/* Begins the agreement of this round, and ends that of the last: has anybody failed before this round? */
static int somebody_failed(struct work *work, uint64_t round)
{
    const struct lm_world *world = work->stream->world;
    int now = (int)(round % BUFFERS), last = (int)((round + 1) % BUFFERS);
    work->failed_here[now] = work->code;
    LM_MPI(world, MPI_Iallreduce(&work->failed_here[now], &work->failed_anywhere[now], 1, MPI_INT, MPI_MAX, world->comm,
                                 &work->agreement[now]));
    LM_MPI(world, MPI_Wait(&work->agreement[last], MPI_STATUS_IGNORE));
    book(work, LM_PHASE_GATHER);
    return work->failed_anywhere[last] != LM_OK;
}

static void cancel_receive(const struct lm_world *world, struct buffer *buffer)
{
    if (buffer->request != MPI_REQUEST_NULL)
        LM_MPI(world, MPI_Cancel(&buffer->request));
    LM_MPI(world, MPI_Wait(&buffer->request, MPI_STATUS_IGNORE));
}

static void run_rounds(struct work *work)
{
    const struct lm_world *world = work->stream->world;
    uint64_t round = 0;
    for (int k = 0; k < BUFFERS && world->rank == 0; k++)
        post(work, &work->incoming[k]);
    do
        one_round(work, round);
    while (!somebody_failed(work, round) && ++round < work->plan.rounds);
    for (int k = 0; k < BUFFERS; k++) {
        LM_MPI(world, MPI_Wait(&work->agreement[k], MPI_STATUS_IGNORE));
        LM_MPI(world, MPI_Wait(&work->own[k].request, MPI_STATUS_IGNORE));
        cancel_receive(world, &work->incoming[k]);
    }
    book(work, LM_PHASE_GATHER);
}

/* ---- */

/* What a GPU writes scores to had better be pinned; if it cannot be, any memory will do. */
static int make_buffer(struct work *work, struct buffer *buffer, size_t bytes)
{
    buffer->bytes = work->stream->backend->infer_grey ? lm_gpu_pinned(bytes) : NULL;
    buffer->pinned = buffer->bytes != NULL;
    if (!buffer->bytes)
        buffer->bytes = malloc(bytes);
    return buffer->bytes != NULL;
}

static void free_buffer(struct buffer *buffer)
{
    if (buffer->pinned)
        lm_gpu_unpin(buffer->bytes);
    else
        free(buffer->bytes);
}

static int allocate(struct work *work)
{
    const struct lm_stream *stream = work->stream;
    const struct plan *plan = &work->plan;
    const int rank_0 = stream->world->rank == 0, gpu = stream->backend->infer_grey != NULL;
    const struct lm_slabs_plan slabs = {.blocks = plan->blocks_a_chunk,
                                        .first = (uint64_t)stream->world->rank,
                                        .stride = (uint64_t)stream->world->size,
                                        .ahead = gpu,
                                        .grey = gpu && plan->layout->type == LM_PACKED_U8,
                                        .take = gpu ? lm_gpu_pinned : NULL,
                                        .give = lm_gpu_unpin};
    size_t bytes = message_bytes(plan->samples, plan->blocks_a_chunk);
    int complete = 1;
    for (int k = 0; k < BUFFERS; k++) {
        work->own[k].request = work->incoming[k].request = work->agreement[k] = MPI_REQUEST_NULL;
        if (k == 0 || !rank_0)
            complete &= make_buffer(work, &work->own[k], bytes);
        if (rank_0 && stream->world->size > 1)
            complete &= (work->incoming[k].bytes = malloc(bytes)) != NULL;
    }
    return complete ? lm_slabs_open(stream->packed, slabs, &work->slabs, &work->err)
                    : lm_fail_memory(&work->err, lm_stream_bytes(plan->layout), "chunks of samples");
}

static void clean_up(struct work *work)
{
    lm_slabs_close(work->slabs);
    for (int k = 0; k < BUFFERS; k++) {
        free_buffer(&work->own[k]);
        free_buffer(&work->incoming[k]);
    }
}

/* Rank 0, when nobody has failed. */
static int check_digest(struct work *work)
{
    char found[LM_SHA256_HEX];
    lm_sha256_end(&work->hash, found);
    if (strcmp(found, work->stream->digest) == 0)
        return LM_OK;
    return lm_fail(&work->err, LM_BAD_INPUT,
                   "the packed file changed while it was read, or not all hosts see the same one (SHA-256 %.16s..., at "
                   "the start %.16s...)",
                   found, work->stream->digest);
}

int lm_stream_run(struct lm_stream *stream)
{
    const struct lm_world *world = stream->world;
    struct work work = {.stream = stream, .plan = make_plan(lm_packed_layout_of(stream->packed), world->size)};
    lm_packed_hash_begin(stream->packed, &work.hash);
    int code = lm_agree_once(world, allocate(&work), &work.err);
    if (code == LM_OK) {
        LM_MPI(world, MPI_Barrier(world->comm));
        work.lap = lm_now();
        run_rounds(&work);
        code = lm_agree(world, work.code, &work.err);
    }
    if (code == LM_OK)
        code = lm_agree(world, world->rank == 0 ? check_digest(&work) : LM_OK, &work.err);
    clean_up(&work);
    return code;
}
