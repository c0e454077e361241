/* gauge.h: what the parts of the GPU's calibration share: calibrate.c, calibrate_copies.c. */
#ifndef LM_GPU_GAUGE_H
#define LM_GPU_GAUGE_H

#include "calibrate.h"
#include "launch.h"

struct lm_gauge {
    cudaStream_t stream;
    struct lm_calibration *out;
    long long *cycles; /* the device's */
    uint32_t *last;
    struct lm_error *err;
};

/* LM_OK, or LM_FAILED with what it was and CUDA's name of the failure. */
int lm_gauge_check(struct lm_gauge *g, cudaError_t result, const char *what);

/* *second: of one of so many calls in a row, with one wait at the end, by the host's clock. */
#define LM_GAUGE_CALLS 200
typedef cudaError_t (*lm_gauge_call)(struct lm_gauge *g, void *context);
int lm_gauge_calls(struct lm_gauge *g, lm_gauge_call what, void *context, double *second, const char *name);

/* Copies over the link and in the host's memory, in rounds that measure each of them once; 268 MB of the host's memory
 * while it is open. `finish` makes the medians of all rounds, after gpu.launch is known. close(NULL) does nothing. */
struct lm_gauge_copies;
int lm_gauge_copies_open(struct lm_gauge *g, struct lm_gauge_copies **copies);
int lm_gauge_copies_rounds(struct lm_gauge_copies *copies, int rounds);
void lm_gauge_copies_finish(struct lm_gauge_copies *copies);
void lm_gauge_copies_close(struct lm_gauge_copies *copies);

#endif
