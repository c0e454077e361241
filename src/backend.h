/* backend.h: a way to do the work, named by a string, as a table of functions.
 *
 * Callers never know what is behind a name: the same tests run on every backend. A new one (SIMD, GPU) is a new table
 * in backend.c's list and nothing else. Its answer must be cpu-ref's, bit for bit (arithmetic.h).
 */
#ifndef LM_BACKEND_H
#define LM_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "evaluate.h"
#include "network.h"
#include "problem.h"
#include "status.h"
#include "trial.h"

/* Called by a backend at least every few milliseconds while it works, on the thread that called it: the program serves
 * the other ranks and looks at signals there. Not 0: stop soon; train then returns LM_STOPPED. */
struct lm_tick {
    int (*call)(void *context);
    void *context;
};

/* Where a long training leaves its state now and then, for a checkpoint. One writes, the thread that trains; one reads,
 * who ticks: `full` passes from 0 to 1 and back (__atomic, acquire and release), and says whose it is. */
struct lm_snapshot {
    int full;          /* 0: the training may write it; 1: it holds a state, until the reader sets 0 */
    double every, due; /* s between two; not before this time of the steady clock */
    uint32_t epochs;   /* done: their losses are in the result's loss[0 ... epochs-1], which do not change any more */
    float *parameters; /* (lm_network_floats(shape)): after them */
};

/* What training one trial gives, in memory of the caller's. */
struct lm_training_result {
    int status;          /* LM_TRIAL_OK, _DIVERGED or _FAILED */
    uint32_t epochs_run; /* epochs done with a finite loss */
    double *loss;        /* (trial.epochs): mean loss of each epoch; NaN from epochs_run on */
    float *parameters;   /* (lm_network_floats(shape)); has a meaning only if status is LM_TRIAL_OK */
    char reason[160];    /* "" when ok */
    double seconds;      /* wall time of this trial's training */

    /* In: so many epochs are done already; loss[0 ... begun-1] and parameters are as they were after them. The answer
     * is the same if a backend starts anew, and some do. Out: the epochs that this call did not train. */
    uint32_t begun;
    struct lm_snapshot *snapshot; /* NULL: not wanted. Not every backend leaves any */
};

struct lm_backend {
    const char *name;    /* "cpu-ref": what --device takes and the file stores */
    const char *summary; /* one line for `info` */

    /* LM_OK, or LM_UNAVAILABLE with the reason why this machine cannot run it. */
    int (*probe)(struct lm_error *err);

    /* Takes a problem that outlives the session. *session is opaque. */
    int (*open)(const struct lm_problem *problem, void **session, struct lm_error *err);
    void (*close)(void *session);

    /* How many trials train() likes to be given at once (1 on a CPU core, thousands on a GPU). */
    size_t (*capacity)(const void *session);

    /* How many trials take no longer together than one alone (a GPU's warps); NULL: one. capacity is a multiple of it.
     */
    size_t (*turn)(const void *session);

    int continues; /* 1: train() goes on from result->begun, and leaves snapshots; 0: it starts anew, and leaves none */

    /* Trains trial[0..n). A trial that cannot be trained, or diverges, has that as its status; the call still returns
     * LM_OK. Anything else than LM_OK means that the backend itself is lost or was stopped. */
    int (*train)(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                 struct lm_tick tick, struct lm_error *err);

    /* scores (n, 15) of x (n, 64) under parameters; a NaN score is written as 0x7FC00000. n may be 0. */
    int (*infer)(void *session, struct lm_shape shape, const float *parameters, const float *x, size_t n, float *scores,
                 struct lm_error *err);

    /* Optional (NULL: the caller normalises): the same for n samples of 8-bit pixels, (n, 64). grey (64, 256) says
     * which float value v of pixel p stands for (lm_packed_grey). */
    int (*infer_grey)(void *session, struct lm_shape shape, const float *parameters, const float (*grey)[256],
                      const uint8_t *pixel, size_t n, float *scores, struct lm_error *err);

    /* Optional (NULL: infer does): loss and accuracy of n networks of one shape on the samples. */
    int (*evaluate)(void *session, struct lm_shape shape, const float *const *parameters, size_t n,
                    const struct lm_samples *samples, struct lm_metrics *metrics, struct lm_tick tick,
                    struct lm_error *err);
};

/* The backends of this build, fastest first; the last is cpu-ref. NULL-terminated. */
const struct lm_backend *const *lm_backends(void);

/* By name: a backend's own, or "auto" (the first whose probe says LM_OK), or a family, "cpu" or "gpu" (the first of the
 * family likewise). A name that no build knows is LM_BAD_INPUT and names the nearest; one that this build or machine
 * cannot serve is LM_UNAVAILABLE. Never anything else than what was asked for. */
int lm_backend_find(const char *name, const struct lm_backend **out, struct lm_error *err);

#endif
