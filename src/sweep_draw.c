/* sweep_draw.c: see sweep_draw.h.
 *
 * No pow(), exp() or log(): a C library may differ from another one in the last bit. A power with an exponent below 1
 * is made from its binary digits: ratio^0.1011 = ratio^(1/2) ratio^(1/8) ratio^(1/16), and those are repeated square
 * roots, which IEEE 754 rounds correctly like + - * /. 53 roots, each with half a unit of error at most and half that
 * of the one before, and their product are good to 1e-14: far within a float, which is what comes out.
 */
#include "sweep_draw.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "random.h"

/* Doubles are rounded to double after each operation; the build's flags keep multiply and add apart. */
_Static_assert(FLT_EVAL_METHOD == 0, "a machine that computes with more digits than it stores draws other values");

/* ---- bits ---- */

static void multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low)
{
    uint64_t product = (uint64_t)a * b;
    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
}

void lm_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t word[4])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint32_t high0, low0, high1, low1;
        multiply(0xD2511F53u, x0, &high0, &low0);
        multiply(0xCD9E8D57u, x2, &high1, &low1);
        x0 = high1 ^ x1 ^ k0;
        x1 = low1;
        x2 = high0 ^ x3 ^ k1;
        x3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    word[0] = x0, word[1] = x1, word[2] = x2, word[3] = x3;
}

static void draw(uint32_t search_seed, uint64_t t, int j, enum lm_draw_purpose purpose, uint32_t word[4])
{
    const uint32_t counter[4] = {(uint32_t)t, (uint32_t)(t >> 32), (uint32_t)j, purpose};
    const uint32_t key[2] = {search_seed, 0};
    lm_philox4x32(counter, key, word);
}

uint64_t lm_draw_bits(uint32_t search_seed, uint64_t t, int j)
{
    uint32_t word[4];
    draw(search_seed, t, j, LM_DRAW_VALUE, word);
    return ((uint64_t)word[0] << 32 | word[1]) >> (64 - LM_DRAW_BITS);
}

/* ---- values ---- */

void lm_draws_begin(struct lm_draws *draws, const struct lm_sweep_spec *spec)
{
    draws->spec = spec;
    for (int j = 0; j < LM_GRID_AXES; j++) {
        const struct lm_parameter *p = &spec->parameter[j];
        double root = p->continuous && p->scale == LM_SCALE_LOG ? p->to / p->from : 1.0;
        for (int k = 0; k < LM_DRAW_BITS; k++)
            draws->root[j][k] = root = sqrt(root);
    }
}

/* (to / from)^u, from the highest bit that is set to the lowest. */
static double power(const double *root, uint64_t bits)
{
    double product = 1.0;
    while (bits) {
        int place = 63 - __builtin_clzll(bits);
        product *= root[LM_DRAW_BITS - 1 - place];
        bits ^= UINT64_C(1) << place;
    }
    return product;
}

float lm_draws_value(const struct lm_draws *draws, int j, uint64_t bits)
{
    const struct lm_parameter *p = &draws->spec->parameter[j];
    const float low = (float)(p->from < p->to ? p->from : p->to), high = (float)(p->from < p->to ? p->to : p->from);
    double exact = p->scale == LM_SCALE_LOG ? p->from * power(draws->root[j], bits)
                                            : p->from + (p->to - p->from) * ((double)bits * 0x1p-53);
    float value = (float)exact;
    return (value < low ? low : value > high ? high : value) + 0.0f; /* -0 is 0 */
}

static void put_real(struct lm_trial *trial, int j, float value)
{
    float *const member[] = {&trial->learning_rate, &trial->decay, &trial->initial_range};
    *member[j] = value;
}

static void put_listed(struct lm_trial *trial, int j, const struct lm_axis *axis, uint64_t place)
{
    uint32_t *const member[] = {&trial->epochs, NULL, &trial->seed, &trial->block};
    if (axis->real)
        put_real(trial, j, axis->real[place] + 0.0f);
    else if (axis->shape)
        trial->shape = axis->shape[place];
    else
        *member[j - 3] = axis->whole[place];
}

/* ---- random ---- */

struct lm_trial lm_draws_random(const struct lm_draws *draws, uint64_t t)
{
    struct lm_trial trial;
    for (int j = 0; j < LM_GRID_AXES; j++) {
        const struct lm_parameter *p = &draws->spec->parameter[j];
        uint64_t bits = lm_draw_bits(draws->spec->search_seed, t, j);
        if (p->continuous)
            put_real(&trial, j, lm_draws_value(draws, j, bits));
        else /* n <= 2^24 and u <= 1 - 2^-53: the rounded product is below n */
            put_listed(&trial, j, &p->axis, (uint64_t)((double)bits * 0x1p-53 * (double)p->axis.n));
    }
    return trial;
}

/* ---- the Latin hypercube ---- */

/* (k + u) / n in units of 2^-53; a sum that rounds up to the next stratum's lower end is its own upper one. */
static uint64_t place_in_stratum(uint64_t k, uint64_t bits, uint64_t n)
{
    double u = ((double)k + (double)bits * 0x1p-53) / (double)n;
    return u < 1.0 ? (uint64_t)(u * 0x1p53) : (UINT64_C(1) << LM_DRAW_BITS) - 1;
}

/* Which of `values` in a list belongs to stratum k: one of its run, or the one that a run without any lies in. */
static uint64_t place_in_list(uint64_t k, uint64_t bits, uint64_t n, uint64_t values)
{
    uint64_t first = k * values / n, end = (k + 1) * values / n;
    return end <= first ? first : first + (uint64_t)((double)bits * 0x1p-53 * (double)(end - first));
}

static void draw_column(const struct lm_draws *draws, int j, const uint32_t *stratum, struct lm_trial *trial)
{
    const struct lm_parameter *p = &draws->spec->parameter[j];
    const uint64_t n = draws->spec->trials;
    for (uint64_t t = 0; t < n; t++) {
        uint64_t bits = lm_draw_bits(draws->spec->search_seed, t, j);
        if (p->continuous)
            put_real(&trial[t], j, lm_draws_value(draws, j, place_in_stratum(stratum[t], bits, n)));
        else
            put_listed(&trial[t], j, &p->axis, place_in_list(stratum[t], bits, n, p->axis.n));
    }
}

int lm_draws_latin(const struct lm_draws *draws, struct lm_trial *trial, struct lm_error *err)
{
    const uint64_t n = draws->spec->trials;
    uint32_t *stratum = n <= UINT32_MAX ? calloc(n, sizeof *stratum) : NULL;
    if (!stratum)
        return lm_fail_memory(err, n * sizeof *stratum, "a permutation");
    for (int j = 0; j < LM_GRID_AXES; j++) {
        struct lm_mt19937 generator;
        uint32_t word[4];
        draw(draws->spec->search_seed, 0, j, LM_DRAW_PERMUTATION, word);
        lm_mt19937_seed(&generator, word[0]);
        for (uint64_t k = 0; k < n; k++)
            stratum[k] = (uint32_t)k;
        lm_shuffle(&generator, stratum, n); /* Fisher and Yates */
        draw_column(draws, j, stratum, trial);
    }
    free(stratum);
    return LM_OK;
}
