/* baseline.h: the rival in the benchmark (baseline.c): plain loops, built with -O3 -march=native -ffast-math. */
#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>
#include <stdint.h>

#define BASELINE_X  64
#define BASELINE_H1 32
#define BASELINE_H2 16
#define BASELINE_Y  15

/* Laid out as src/network.h lays out the parameters of 64-32-16-15. */
struct baseline {
    float w1[BASELINE_H1][BASELINE_X], b1[BASELINE_H1];
    float w2[BASELINE_H2][BASELINE_H1], b2[BASELINE_H2];
    float w3[BASELINE_Y][BASELINE_H2], b3[BASELINE_Y];
};

/* One pass over the samples index[0..n) of x (., 64); returns the sum of the losses. */
double baseline_train(struct baseline *net, float rate, const float *x, const uint8_t *label, const uint32_t *index,
                      size_t n);
/* scores (n, 15) of x (n, 64). */
void baseline_infer(const struct baseline *net, const float *x, size_t n, float *scores);

#endif
