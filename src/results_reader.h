/* results_reader.h: what the two halves of the reader (results_read.c, results_load.c) share; nobody else's. */
#ifndef LM_RESULTS_READER_H
#define LM_RESULTS_READER_H

#include <hdf5.h>

#include "h5read.h"
#include "results.h"
#include "results_layout.h"

/* A group of /weights. */
struct lm_stored_group {
    struct lm_shape shape;
    uint64_t rows;
    hid_t part[LM_PARTS];
    uint64_t *trial; /* owned, (rows), ascending, each below the number of trials */
};

struct lm_results_reader {
    struct lm_h5_source source;
    char *path; /* owned */
    uint32_t format_version, arithmetic_version;
    uint64_t n_trials, max_epochs;
    hid_t loss;
    size_t n_groups;
    struct lm_stored_group *group; /* owned */
};

#endif
