/* baseline.c: what a good student writes: the lab's network as plain float loops over constant sizes, unpadded.
 *
 * The rival that the backends' times are divided by. Its arithmetic is not ours: the Makefile compiles this file alone
 * with -O3 -march=native -ffast-math, so the compiler sums in whatever order is fastest on this very machine, and
 * fuses where it likes. Nothing of this file is linked into the program.
 *
 * A program that is wholly built so also runs with subnormals flushed to zero (gcc links a start-up object for it);
 * the two entries do the same, and put the mode back.
 *
 * Written both ways where there is a choice, and the faster one kept: the backward sums run over outputs in the outer
 * loop, so that the inner one walks along a row.
 */
#include "baseline.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#define FLUSH_BEGIN                                                                                                    \
    unsigned mode = _mm_getcsr();                                                                                      \
    _mm_setcsr(mode | 0x8040)
#define FLUSH_END _mm_setcsr(mode)
#else
#define FLUSH_BEGIN (void)0
#define FLUSH_END   (void)0
#endif

static void forward(const struct baseline *net, const float *x, float *a1, float *a2, float *score)
{
    for (int i = 0; i < BASELINE_H1; i++) {
        float z = net->b1[i];
        for (int j = 0; j < BASELINE_X; j++)
            z += net->w1[i][j] * x[j];
        a1[i] = z < 0.0f ? 0.0f : z;
    }
    for (int i = 0; i < BASELINE_H2; i++) {
        float z = net->b2[i];
        for (int j = 0; j < BASELINE_H1; j++)
            z += net->w2[i][j] * a1[j];
        a2[i] = z < 0.0f ? 0.0f : z;
    }
    for (int i = 0; i < BASELINE_Y; i++) {
        float z = net->b3[i];
        for (int j = 0; j < BASELINE_H2; j++)
            z += net->w3[i][j] * a2[j];
        score[i] = z;
    }
}

static float step(struct baseline *net, float rate, const float *x, int label)
{
    float a1[BASELINE_H1], a2[BASELINE_H2], score[BASELINE_Y];
    float delta1[BASELINE_H1] = {0}, delta2[BASELINE_H2] = {0}, delta3[BASELINE_Y], loss = 0.0f;
    forward(net, x, a1, a2, score);
    for (int i = 0; i < BASELINE_Y; i++) {
        delta3[i] = score[i] - (i == label ? 1.0f : 0.0f);
        loss += 0.5f * delta3[i] * delta3[i];
    }
    for (int j = 0; j < BASELINE_H2; j++) {
        float s = 0.0f;
        for (int i = 0; i < BASELINE_Y; i++)
            s += net->w3[i][j] * delta3[i];
        delta2[j] = a2[j] > 0.0f ? s : 0.0f;
    }
    for (int j = 0; j < BASELINE_H1; j++) {
        float s = 0.0f;
        for (int i = 0; i < BASELINE_H2; i++)
            s += net->w2[i][j] * delta2[i];
        delta1[j] = a1[j] > 0.0f ? s : 0.0f;
    }
    for (int i = 0; i < BASELINE_Y; i++) {
        for (int j = 0; j < BASELINE_H2; j++)
            net->w3[i][j] -= rate * delta3[i] * a2[j];
        net->b3[i] -= rate * delta3[i];
    }
    for (int i = 0; i < BASELINE_H2; i++) {
        for (int j = 0; j < BASELINE_H1; j++)
            net->w2[i][j] -= rate * delta2[i] * a1[j];
        net->b2[i] -= rate * delta2[i];
    }
    for (int i = 0; i < BASELINE_H1; i++) {
        for (int j = 0; j < BASELINE_X; j++)
            net->w1[i][j] -= rate * delta1[i] * x[j];
        net->b1[i] -= rate * delta1[i];
    }
    return loss;
}

double baseline_train(struct baseline *net, float rate, const float *x, const uint8_t *label, const uint32_t *index,
                      size_t n)
{
    double sum = 0.0;
    FLUSH_BEGIN;
    for (size_t k = 0; k < n; k++)
        sum += step(net, rate, x + (size_t)index[k] * BASELINE_X, label[index[k]]);
    FLUSH_END;
    return sum;
}

void baseline_infer(const struct baseline *net, const float *x, size_t n, float *scores)
{
    float a1[BASELINE_H1], a2[BASELINE_H2];
    FLUSH_BEGIN;
    for (size_t k = 0; k < n; k++)
        forward(net, x + k * BASELINE_X, a1, a2, scores + k * BASELINE_Y);
    FLUSH_END;
}
