/* import.h: what `libras_mpi import` knows, for its two parts: the work (import_command.c), the report
 * (import_report.c). */
#ifndef LM_IMPORT_H
#define LM_IMPORT_H

#include <stdio.h>

#include "command.h"
#include "dataset.h"
#include "photo_list.h"
#include "report.h"

enum lm_import_state { LM_IMPORT_LEFT_OUT, LM_IMPORT_NOT_BUILT_IN, LM_IMPORT_BOXED, LM_IMPORT_WHOLE, LM_IMPORT_STATES };

/* The pictures that one rank reads. */
struct lm_import_share {
    uint8_t *pixel; /* (n, 64) */
    uint8_t *state; /* (n), an lm_import_state each */
    char *remarks;  /* (remark_bytes) */
    size_t remark_bytes;
};

struct lm_import {
    const struct lm_call *call;
    struct lm_photo_list list;
    struct lm_import_share *share; /* [0] is this rank's; on rank 0 [r] that of rank r. Owned */

    /* rank 0; in the order of the list */
    int made_folder;     /* DIR was not there before */
    uint8_t *pixel;      /* (n, 64), owned */
    uint8_t *state;      /* (n), owned */
    const char **remark; /* (n), owned, into the shares: why it was left out, or what was done to it; NULL: nothing */
    uint64_t count[LM_CLASSES][LM_IMPORT_STATES], taken[LM_CLASSES], n_taken;
    int letters; /* with a picture that was taken */
    char digest[LM_SHA256_HEX];
};

/* Fills count, taken, n_taken and letters from state. */
void lm_import_count(struct lm_import *import);
/* A line a letter, then a line for each picture that was left out or changed, and for what is no picture. */
void lm_import_report(const struct lm_import *import, FILE *f);
/* Is what was taken a data set? LM_UNAVAILABLE if pictures need a library that the build lacks; LM_BAD_INPUT if there
 * are too few. */
int lm_import_enough(const struct lm_import *import, struct lm_error *err);

#endif
