/* sharded.h: the samples of a batch over the ranks: each scores its own, rank 0 gathers all. */
#ifndef LM_SHARDED_H
#define LM_SHARDED_H

#include "backend.h"
#include "shard.h"
#include "world.h"

struct lm_sharded {
    const struct lm_world *world;
    const struct lm_backend *backend;
    void *session;
    struct lm_shape shape;
    const float *parameters; /* the same on all ranks */
    uint64_t n;              /* samples of all ranks */
    const float *x;          /* (lm_shard(n, size, rank).count, 64): this rank's */
};

/* scores: (n, 15) on rank 0; not used elsewhere. The two times are this rank's: between two barriers for the scoring.
 */
void lm_sharded_infer(const struct lm_sharded *batch, float *scores, double *infer_seconds, double *gather_seconds);

#endif
