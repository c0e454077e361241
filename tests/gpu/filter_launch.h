/* filter_launch.h: what the filter's kernels are given (filter_kernels.cuh). Plain C; pointers are the device's. */
#ifndef FILTER_LAUNCH_H
#define FILTER_LAUNCH_H

#include "filter.h"

#define FILTER_LANES   32
#define FILTER_WARPS   8
#define FILTER_THREADS (FILTER_LANES * FILTER_WARPS) /* of a block, with and without a tile */
#define FILTER_BATCH   4                             /* loads of a lane that are on their way at once, into a tile */
/* Is a row of the tile too short for a lane's batch? Then a batch goes down a column. */
#define FILTER_IS_NARROW(columns) ((columns) <= (FILTER_BATCH - 1) * FILTER_LANES)

struct filter_launch {
    const void *source;
    void *result;
    uint32_t rows, columns; /* of the result */
    uint32_t pitch;         /* of the source, elements */
    uint32_t a, b;          /* the window */
    uint32_t references;
    uint32_t tile_a, tile_b; /* of the source; without a tile they are not read */
};

/* A term as the kernels read it: how many bytes its element lies behind the window's first one, in the source, z (row
 * pitch + column), or in the tile, z (row tile_b + column). */
struct filter_float_term {
    uint32_t offset;
    float weight;
};
struct filter_double_term {
    double weight;
    uint32_t offset, unused;
};

/* The K terms, of which one array serves: floats up to 4 bytes a source element, else doubles. */
static inline void filter_place_terms(const struct filter *f, const struct filter_term *term, uint32_t pitch,
                                      struct filter_float_term *single, struct filter_double_term *twice)
{
    for (uint32_t k = 0; k < f->references; k++) {
        uint32_t offset = f->bytes * (term[k].row * pitch + term[k].column);
        single[k].offset = twice[k].offset = offset;
        single[k].weight = (float)term[k].weight;
        twice[k].weight = term[k].weight;
    }
}

/* Blocks of the grid: a block makes FILTER_WARPS x FILTER_LANES elements of the result, or what a tile serves. */
static inline uint32_t filter_blocks(uint32_t elements, uint32_t each)
{
    return (elements + each - 1) / each;
}

#endif
