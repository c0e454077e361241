/* filter.h: a two-dimensional window filter, an example for the performance model: its definition and plain reference.
 *
 * Element (i, j) of the result is a weighted sum of K elements of an a x b window of the source:
 *     result(i, j) = sum over k of weight(k) source(i + row(k), j + column(k))
 * The result has rows x columns elements, the source (rows + a - 1) x (columns + b - 1), row by row: every window lies
 * within the source, so there are no edges. A source element has z = 1, 2, 4 or 8 bytes: uint8_t, uint16_t, float or
 * double. The sum is a float up to 4 bytes, else a double: one chain of fused multiply-adds from +0 on, terms in their
 * order. So every way of doing it has the same bits.
 *
 * K is independent of the window: the terms are the first K positions of a fixed scattered order, of which the first
 * two are opposite corners; they are summed row by row. K = a b is the whole window.
 *
 * Nothing here is part of the training program.
 */
#ifndef FILTER_H
#define FILTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FILTER_TERMS_MOST  1024 /* K: what the kernels' constant memory has room for */
#define FILTER_WINDOW_MOST 1024 /* a, b */

struct filter {
    uint32_t a, b;       /* rows and columns of the window */
    uint32_t references; /* K */
    uint32_t bytes;      /* z */
};

struct filter_term {
    uint32_t row, column; /* in the window */
    double weight;        /* of a sum of floats it is one */
};

/* 1: a and b within FILTER_WINDOW_MOST, K within a b and FILTER_TERMS_MOST, 2 at least where the window has more than
 * one element (fewer would not span it), z one of the four. */
int filter_is_valid(const struct filter *f);

/* The K terms of a valid filter; no two weights nearby are the same, and few are exact in binary, so that an order of
 * summation shows. */
void filter_terms(const struct filter *f, struct filter_term term[FILTER_TERMS_MOST]);

uint32_t filter_result_bytes(const struct filter *f); /* of an element: 4 or 8 */
size_t filter_source_elements(const struct filter *f, size_t rows, size_t columns);

/* n source elements of z bytes, the same for the same seed: whole numbers from 0 to 255 or 65,535; fractions within
 * [-1, 1). */
void filter_fill(void *source, uint32_t bytes, size_t n, uint32_t seed);

/* The reference: result (rows, columns) of source, as above. pitch: elements from a row of the source to the next, at
 * least columns + b - 1. */
void filter_apply(const struct filter *f, const struct filter_term *term, const void *source, size_t pitch, size_t rows,
                  size_t columns, void *result);

#ifdef __cplusplus
}
#endif

#endif
