/* sharded.c: see sharded.h. */
#include "sharded.h"

#include <stdlib.h>

#include "gpu.h"
#include "results.h"

enum { TAG_SCORES = 10 };

/* Rank 0 takes the shards one after the other, straight to their place: no memory but the answer's own. */
static void gather(const struct lm_sharded *batch, const float *own, float *scores)
{
    const struct lm_world *world = batch->world;
    const uint64_t row = LM_CLASSES * sizeof(float);
    if (world->rank != 0) {
        lm_send_bytes(world, own, lm_shard(batch->n, world->size, world->rank).count * row, 0, TAG_SCORES);
        return;
    }
    for (int r = 1; r < world->size; r++) {
        struct lm_range shard = lm_shard(batch->n, world->size, r);
        lm_receive_bytes(world, scores + shard.first * LM_CLASSES, shard.count * row, r, TAG_SCORES);
    }
}

void lm_sharded_infer(const struct lm_sharded *batch, float *scores, double *infer_seconds, double *gather_seconds)
{
    const struct lm_world *world = batch->world;
    struct lm_range shard = lm_shard(batch->n, world->size, world->rank);
    struct lm_error err;
    float *own = scores; /* rank 0's shard is the first: scored in place */
    if (world->rank != 0)
        own = malloc((shard.count * LM_CLASSES + 1) * sizeof *own);
    if (!own) {
        lm_fail_memory(&err, shard.count * LM_CLASSES * sizeof *own, "a shard's scores");
        lm_abort(world, &err);
    }
    LM_MPI(world, MPI_Barrier(world->comm));
    double start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_INFER]);
    if (batch->backend->infer(batch->session, batch->shape, batch->parameters, batch->x, shard.count, own, &err) !=
        LM_OK)
        lm_abort(world, &err);
    *infer_seconds = lm_now() - start;
    lm_gpu_range_end();
    LM_MPI(world, MPI_Barrier(world->comm));
    start = lm_now();
    lm_gpu_range_begin(lm_phase_name[LM_PHASE_GATHER]);
    gather(batch, own, scores);
    *gather_seconds = lm_now() - start;
    lm_gpu_range_end();
    if (world->rank != 0)
        free(own);
}
