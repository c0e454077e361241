/* checkpoint_record.h: a record of the checkpoint as bytes, and back. For checkpoint.c and its tests alone. */
#ifndef LM_CHECKPOINT_RECORD_H
#define LM_CHECKPOINT_RECORD_H

#include <stddef.h>

#include "checkpoint.h"

#define LM_RECORD_WORD 0x4345524Cu /* "LREC" */
#define LM_MOST_RECORD ((uint32_t)1 << 30)

struct lm_record_head {
    uint32_t word, bytes, sum, zero;
};

/* As it lies in the file: no gaps. */
struct lm_record_body {
    float learning_rate, decay, initial_range;
    uint32_t epochs, seed, block, hidden1, hidden2;
    uint32_t status, epochs_run;
    double train_loss, validation_loss, validation_accuracy, test_loss, test_accuracy, seconds;
    int32_t rank;
    uint32_t floats; /* 0: no parameters */
    uint32_t reason_bytes, has_digest;
    unsigned char digest[32];
    char device[8], variant[32];
};

/* Bytes of a record with so many bytes of reason, losses and parameters; 0 where it has none. */
size_t lm_record_bytes(uint64_t reason, uint64_t losses, uint64_t floats);
size_t lm_record_floats(const struct lm_record *record);
/* Writes it, head and sum included; bytes is its lm_record_bytes. */
void lm_record_make(const struct lm_record *record, size_t bytes, unsigned char *to);
/* bytes: a whole record with a right sum, at a multiple of 8; the arrays of *record lie in it. 0: its numbers do not
 * fit each other. */
int lm_record_parse(const unsigned char *bytes, struct lm_record *record);

#endif
