/* slabs.h: a packed file's samples in slabs of some blocks each, every stride-th slab: what one of several readers
 * takes. With a thread of its own that reads the next slab while the caller works on this one.
 */
#ifndef LM_SLABS_H
#define LM_SLABS_H

#include "packed.h"

/* A slab as it was read. Its memory is the reader's and lives until the next one is asked for. */
struct lm_slab {
    int code;            /* anything else than LM_OK: it could not be read, and none comes after it */
    struct lm_error err; /* why */
    size_t n;            /* samples */
    uint32_t blocks;
    float *x;            /* (n, 64) normalised; NULL where pixels were asked for */
    uint8_t *pixel;      /* (n, 64); NULL else */
    uint8_t *label;      /* (n); untouched where the file has none */
    unsigned char *sums; /* (blocks, 4): the blocks' sums, as they are in the file */
    double seconds;      /* that reading, checking and normalising took, whoever did it */
};

struct lm_slabs_plan {
    uint32_t blocks;        /* of a slab; the file's last one may have fewer */
    uint64_t first, stride; /* slabs first, first + stride, ... up to the end of the file */
    int ahead;              /* a thread reads the next one meanwhile */
    int grey;               /* pixels as they are: the file's have 8 bits */
    /* Where samples lie; NULL, or a take that returns NULL: malloc and free. */
    void *(*take)(size_t bytes);
    void (*give)(void *memory);
};

struct lm_slabs; /* opaque */

/* The file has its scaler, outlives this, and is nobody else's meanwhile. */
int lm_slabs_open(struct lm_packed *file, struct lm_slabs_plan plan, struct lm_slabs **out, struct lm_error *err);
/* The next one; waits for it. Not to be called when there is none. */
const struct lm_slab *lm_slabs_next(struct lm_slabs *slabs);
/* At any time. NULL: nothing. */
void lm_slabs_close(struct lm_slabs *slabs);

#endif
