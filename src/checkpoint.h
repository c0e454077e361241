/* checkpoint.h: FILE.ckpt: what has been trained so far, in a form that survives the death of its writer at any moment.
 *
 * A log: a header that says whose trials these are, then records, each with a sum of its own, only ever added at the
 * end. A record is a trial that has ended, found by its parameters and never by a number (a specification that grows
 * finds again what it shares with the older one), or the state of a training that goes on. What stands behind the last
 * whole record, torn by a kill, is cut off at the next opening; a record that is damaged otherwise is passed over.
 *
 *   byte  size                                     a record, at a multiple of 8
 *      0     8  "LIBRASCK"                             4  "LREC"
 *      8     4  version, 1                             4  bytes of the record, these included
 *     12     4  arithmetic_version                     4  CRC-32C of all that follows
 *     16     4  kind of split                          4  zeros
 *     20     4  split seed                           176  the trial and its outcome: struct body in checkpoint.c
 *     24     8  hold-out, float64                          reason, padded with zeros to a multiple of 8
 *     32    64  SHA-256 of the data, as text             8 loss of each epoch run, float64
 *     96    28  zeros                                    4 parameters, float32, if they are kept; padded likewise
 *    124     4  CRC-32C of bytes 0 to 123
 *
 * All in the byte order of a little-endian machine; another one refuses the file. Nobody but the holder of the output's
 * lock (output.h) may open it.
 */
#ifndef LM_CHECKPOINT_H
#define LM_CHECKPOINT_H

#include <stdint.h>

#include "results.h"
#include "status.h"
#include "trial.h"

/* Whose trials these are, beside their own parameters. */
struct lm_checkpoint_of {
    char data_digest[LM_SHA256_HEX];
    uint32_t arithmetic_version;
    uint32_t split, split_seed;
    double holdout;
};

struct lm_record {
    struct lm_trial trial;
    struct lm_outcome outcome; /* status LM_TRIAL_NOT_RUN: a state after epochs_run of the trial's epochs */
    struct lm_trial_execution execution;
    const double *loss;      /* (outcome.epochs_run) */
    const float *parameters; /* (lm_network_floats(shape)), or NULL: not kept, or there are none */
};

struct lm_checkpoint; /* opaque */

/* Opens, or makes it where it is not there. LM_BAD_INPUT: it is of other data, another split or another arithmetic, or
 * no checkpoint at all. */
int lm_checkpoint_open(const char *path, const struct lm_checkpoint_of *of, struct lm_checkpoint **out,
                       struct lm_error *err);
/* Closes without a flush. */
void lm_checkpoint_close(struct lm_checkpoint *checkpoint);

/* What there is: trials that have ended, and states of those that have not. */
struct lm_checkpoint_facts {
    uint64_t ended, states;
    uint64_t damaged;    /* records that were passed over at the opening */
    uint64_t torn_bytes; /* that were cut off at the opening */
    uint64_t bytes;      /* of the file, with what is not yet written */
};
struct lm_checkpoint_facts lm_checkpoint_facts(const struct lm_checkpoint *checkpoint);

/* Adds a record. An older one of the same trial counts no more. */
int lm_checkpoint_put(struct lm_checkpoint *checkpoint, const struct lm_record *record, struct lm_error *err);
/* All records are on disk when it returns. */
int lm_checkpoint_flush(struct lm_checkpoint *checkpoint, struct lm_error *err);

/* The record of a trial that has ended; *found is 0 if there is none. Its arrays are good until the next call. */
int lm_checkpoint_find(struct lm_checkpoint *checkpoint, const struct lm_trial *trial, struct lm_record *record,
                       int *found, struct lm_error *err);
/* The state from which the training of this trial can go on: the same training after fewer epochs (or as many), with
 * its parameters; the longest there is. It may be the end of a trial of fewer epochs. */
int lm_checkpoint_find_start(struct lm_checkpoint *checkpoint, const struct lm_trial *trial, struct lm_record *record,
                             int *found, struct lm_error *err);
#endif
