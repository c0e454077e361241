/* infer.h: what the two ways of `libras_mpi infer` share: a folder's samples at once (infer.c), a packed file's as a
 * stream (infer_packed.c). */
#ifndef LM_INFER_H
#define LM_INFER_H

#include "backend.h"
#include "command.h"
#include "decide.h"
#include "output.h"
#include "report.h"
#include "results.h"
#include "stored.h"

struct lm_infer {
    const struct lm_call *call;
    struct lm_decide decide;
    const struct lm_backend *backend;
    void *session;
    struct lm_stored stored;   /* rank 0 */
    uint64_t trial;            /* rank 0: whose weights, in the stored file */
    struct lm_problem nothing; /* a session wants a problem */
    struct lm_samples samples; /* of a folder: rank 0 all, elsewhere its shard */
    struct lm_shape shape;
    float *parameters;
    struct lm_results results; /* rank 0: what is written */
    struct lm_output output;
    double seconds[LM_PHASES];
    struct lm_times times;
};

/* The whole command, for a packed file; infer->call and times.start are set. Ends *infer. */
int lm_infer_packed(struct lm_infer *infer);

/* Rank 0: opens the results file, chooses the trial, reads its network, makes the new file's one row. */
int lm_infer_network(struct lm_infer *infer, struct lm_error *err);
/* Rank 0's network to all; the status is the same on all. */
int lm_infer_share_network(struct lm_infer *infer);
/* All ranks: which backend scores n samples, `batch` at a time (0: each rank its shard at once); and the table of
 * ranks. */
int lm_infer_decide(struct lm_infer *infer, uint64_t n, size_t batch);
/* All ranks: the slowest one's time. */
void lm_infer_measured(struct lm_infer *infer);
/* Rank 0: makes the file, with the trial's losses and weights. */
int lm_infer_create(struct lm_infer *infer, struct lm_results_writer **writer, struct lm_error *err);
/* Rank 0: all the rest, and the file gets its name. The writer is gone afterwards. */
int lm_infer_complete(struct lm_infer *infer, struct lm_results_writer *writer, struct lm_error *err);
void lm_infer_end(struct lm_infer *infer);

#endif
