/* made_problem.h: small problems and random networks for tests of the arithmetic. Include after cmocka.h. */
#ifndef TEST_MADE_PROBLEM_H
#define TEST_MADE_PROBLEM_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"
#include "problem.h"
#include "random.h"

/* n samples whose letters lie apart: each letter has a centre, its samples are strewn around it. count[] is such that
 * the split of a data set could have left them. */
static inline struct lm_problem made_problem(size_t n, uint32_t seed)
{
    struct lm_problem problem = {0};
    struct lm_mt19937 generator;
    struct lm_error err;
    float centre[LM_CLASSES][LM_PIXELS];

    lm_mt19937_seed(&generator, seed);
    assert_int_equal(lm_samples_allocate(n, &problem.train, &err), LM_OK);
    for (int c = 0; c < LM_CLASSES; c++) {
        problem.count[c] = n / LM_CLASSES + 2 + (uint64_t)c;
        for (int p = 0; p < LM_PIXELS; p++)
            centre[c][p] = lm_draw_uniform(&generator, -1.5f, 1.5f);
    }
    for (size_t k = 0; k < n; k++) {
        uint8_t label = (uint8_t)lm_draw_below(&generator, LM_CLASSES);
        problem.train.label[k] = label;
        for (int p = 0; p < LM_PIXELS; p++)
            problem.train.x[k * LM_PIXELS + (size_t)p] = centre[label][p] + lm_draw_uniform(&generator, -1.0f, 1.0f);
    }
    return problem;
}

/* A value that tries an implementation: of very different sizes, of both signs, now and then a zero of either sign or a
 * subnormal number. */
static inline float made_float(struct lm_mt19937 *generator)
{
    uint32_t kind = lm_draw_below(generator, 40);
    float value = lm_draw_uniform(generator, -1.0f, 1.0f);

    if (kind == 0)
        return copysignf(0.0f, value);
    if (kind == 1)
        return ldexpf(value, -130);
    return ldexpf(value, -(int)lm_draw_below(generator, 12));
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
