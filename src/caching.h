/* caching.h: does a copy in shared memory pay? The caching criterion of shared-memory tiles, as pure functions.
 *
 * An element of the result needs a window of a x b elements of a source and makes K references to it; a source element
 * has z bytes. A tile of A x B source elements in shared memory serves
 *     n = (A - a + 1)(B - b + 1)    elements of the result,    A B z <= M_s.
 * References to global memory for N elements: K N without the tile, ceil(N / n) A B with it. So the tile pays if
 *     A B / n < K,
 * and the best tile has the least A B / n: over the real numbers A = sqrt(M_s/z (a-1)/(b-1)), B = M_s/z / A.
 * One dimension is b = 1.
 *
 * Counts alone decide here. A modern GPU's caches do part of a tile's work, and shared memory costs residency: compare
 * times (model_phases.h) before believing a count.
 */
#ifndef LM_CACHING_H
#define LM_CACHING_H

#include <stddef.h>
#include <stdint.h>

struct lm_window {
    uint32_t a, b;     /* elements of the source that one element of the result needs; >= 1 */
    uint32_t bytes;    /* z: of a source element; >= 1 */
    double references; /* K: to the source, an element of the result; a mean may be below 1 */
};

enum lm_caching_why {
    LM_CACHING_PAYS,
    LM_CACHING_NO_REUSE, /* a = b = 1: no two elements share anything; repeats by one thread are a register's matter */
    LM_CACHING_NO_ROOM,  /* one window is larger than the memory */
    LM_CACHING_TOO_FEW   /* the best tile still loads as much as is referred to: A B / n >= K */
};
const char *lm_caching_text(enum lm_caching_why why);

struct lm_caching {
    enum lm_caching_why why;
    uint32_t tile_a, tile_b; /* the best tile; 0 where none fits */
    double elements;         /* n that it serves */
    double per_element;      /* A B / n: global references an element with it */
};

/* The best tile of one source in shared_bytes (up to 2^31 - 1 elements are looked at), and whether it pays. The tile is
 * the optimum over whole numbers; of equally good ones that with fewest elements, then the least A. */
struct lm_caching lm_caching_best(struct lm_window window, uint64_t shared_bytes);

/* References to global memory for N elements: without a tile, and with one of A x B >= a x b. */
double lm_references_global(struct lm_window window, double elements);
double lm_references_cached(struct lm_window window, uint32_t tile_a, uint32_t tile_b, double elements);

/* ---- several sources ---- */

#define LM_CACHING_SOURCES 8

struct lm_caching_shared {
    int cached[LM_CACHING_SOURCES]; /* 1: this source has a tile */
    uint32_t block_a, block_b;      /* elements of the result that a block makes; 0: nothing is cached */
    double saved;                   /* references an element: sum over cached sources of K - A B / (block_a block_b) */
    uint64_t bytes;                 /* of all tiles together */
};

/* n sources (at most LM_CACHING_SOURCES) of one result: all tiles serve the same block of elements and share the
 * memory, so a source's tile is (block_a + a - 1) x (block_b + b - 1). For a set of sources the block is the whole
 * numbers' optimum. All sources that pay alone start in the set; then the one that saves least goes, again and again;
 * the best set on that way is the answer. (Not always the best of all 2^n sets.) */
struct lm_caching_shared lm_caching_several(const struct lm_window *source, size_t n, uint64_t shared_bytes);

/* ---- three dimensions, or no regular window: a list an element ---- */

struct lm_caching_list {
    enum lm_caching_why why;
    uint64_t tiles;
    double global, cached; /* references to global memory without and with tiles */
};

/* Element e of n refers to source elements index[first[e] ... first[e + 1] - 1], each below `sources`, repeats allowed.
 * Elements are taken in their order; a tile is the union of the lists of as many as fit. scratch: (2 sources) words of
 * the caller's. Both counts are exact for this order; NO_REUSE: no element of the source is in two lists. */
struct lm_caching_list lm_caching_of_list(const uint64_t *first, const uint32_t *index, size_t n, uint32_t sources,
                                          uint32_t bytes, uint64_t shared_bytes, uint64_t *scratch);

#endif
