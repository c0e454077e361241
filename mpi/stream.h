/* stream.h: every sample of a packed file scored in bounded memory: the ranks read and score, rank 0 takes all in
 * order.
 */
#ifndef LM_STREAM_H
#define LM_STREAM_H

#include "backend.h"
#include "packed.h"
#include "results.h"
#include "spots.h"
#include "world.h"

/* A chunk as rank 0 gets it: samples first ... first + n - 1, scored by `rank`. */
struct lm_scored {
    uint64_t first;
    size_t n;
    int rank;
    const float *scores;      /* (n, 15) */
    const float *loss;        /* (n); of no meaning without labels */
    const uint8_t *expected;  /* (n); likewise */
    const uint8_t *predicted; /* (n) */
};
/* Called on rank 0 for each chunk, in the order of the samples. */
typedef int (*lm_take)(void *context, const struct lm_scored *chunk, struct lm_error *err);

struct lm_stream {
    const struct lm_world *world;
    struct lm_packed *packed;   /* open, and with its scaler, on every rank */
    char digest[LM_SHA256_HEX]; /* rank 0: the file's; that of what was read must be the same */
    const struct lm_backend *backend;
    void *session;
    struct lm_shape shape;
    const float *parameters;
    struct lm_spots *spots; /* this rank's */
    lm_take take;
    void *context;
    double reading;            /* out: seconds that this rank, or its thread, read and normalised */
    double seconds[LM_PHASES]; /* out: this rank's. Reading and normalising (with a GPU, waiting for it), scoring, all
                                * the rest but checking, checking; their sum is the stream's wall time */
};

/* The status is the same on all ranks; the rank that failed has said why. Spots still wait afterwards. */
int lm_stream_run(struct lm_stream *stream);

/* Samples that a rank scores at once; the file's last chunk may have fewer. */
size_t lm_stream_chunk(const struct lm_packed_layout *layout);

/* The bytes that this takes on rank 0, at most, besides what HDF5 and MPI take. */
uint64_t lm_stream_bytes(const struct lm_packed_layout *layout);

#endif
