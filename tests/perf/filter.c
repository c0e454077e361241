/* filter.c: see filter.h. */
#include "filter.h"

#include <math.h>
#include <string.h>

int filter_is_valid(const struct filter *f)
{
    if (f->a < 1 || f->a > FILTER_WINDOW_MOST || f->b < 1 || f->b > FILTER_WINDOW_MOST)
        return 0;
    uint32_t all = f->a * f->b, least = all > 1 ? 2 : 1;
    if (f->references < least || f->references > all || f->references > FILTER_TERMS_MOST)
        return 0;
    return f->bytes == 1 || f->bytes == 2 || f->bytes == 4 || f->bytes == 8;
}

/* ---- the terms ---- */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Position k of the scattered order of n: the first, the last, and then those between by steps of about 0.618 of their
 * number, which spread evenly however many are taken. */
static uint32_t scattered(uint32_t k, uint32_t n)
{
    if (k < 2)
        return k ? n - 1 : 0;
    uint32_t between = n - 2, step = (uint32_t)(0.618 * between);
    while (common_divisor(step, between) != 1)
        step++;
    return 1 + (uint32_t)((uint64_t)step * (k - 1) % between);
}

void filter_terms(const struct filter *f, struct filter_term term[FILTER_TERMS_MOST])
{
    for (uint32_t k = 0; k < f->references; k++) {
        uint32_t at = scattered(k, f->a * f->b), place = k;
        struct filter_term t = {at / f->b, at % f->b, 0.0};
        for (; place > 0 && term[place - 1].row * f->b + term[place - 1].column > at; place--)
            term[place] = term[place - 1];
        term[place] = t;
    }
    for (uint32_t k = 0; k < f->references; k++)
        term[k].weight = (float)(1.0 / (3.0 + (31 * term[k].row + 17 * term[k].column) % 29));
}

uint32_t filter_result_bytes(const struct filter *f)
{
    return f->bytes > 4 ? 8 : 4;
}

size_t filter_source_elements(const struct filter *f, size_t rows, size_t columns)
{
    return (rows + f->a - 1) * (columns + f->b - 1);
}

/* ---- the source ---- */

void filter_fill(void *source, uint32_t bytes, size_t n, uint32_t seed)
{
    uint64_t state = seed;
    for (size_t k = 0; k < n; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t word = (uint32_t)(state >> 33); /* 31 bits */
        if (bytes == 1)
            ((uint8_t *)source)[k] = (uint8_t)(word >> 8);
        else if (bytes == 2)
            ((uint16_t *)source)[k] = (uint16_t)(word >> 8);
        else if (bytes == 4)
            ((float *)source)[k] = (float)(word >> 7) / 8388608.0f - 1.0f;
        else
            ((double *)source)[k] = (double)word / 1073741824.0 - 1.0;
    }
}

/* ---- the reference: the same loop for each type ---- */

#define FILTER_OF(name, element, sum_type, multiply_add)                                                               \
    static void name(const struct filter *f, const struct filter_term *term, const element *source, size_t pitch,      \
                     size_t rows, size_t columns, sum_type *result)                                                    \
    {                                                                                                                  \
        for (size_t i = 0; i < rows; i++)                                                                              \
            for (size_t j = 0; j < columns; j++) {                                                                     \
                sum_type sum = 0;                                                                                      \
                for (uint32_t k = 0; k < f->references; k++) {                                                         \
                    element x = source[(i + term[k].row) * pitch + j + term[k].column];                                \
                    sum = multiply_add((sum_type)term[k].weight, (sum_type)x, sum);                                    \
                }                                                                                                      \
                result[i * columns + j] = sum;                                                                         \
            }                                                                                                          \
    }

FILTER_OF(apply_u8, uint8_t, float, fmaf)
FILTER_OF(apply_u16, uint16_t, float, fmaf)
FILTER_OF(apply_float, float, float, fmaf)
FILTER_OF(apply_double, double, double, fma)

void filter_apply(const struct filter *f, const struct filter_term *term, const void *source, size_t pitch, size_t rows,
                  size_t columns, void *result)
{
    if (f->bytes == 1)
        apply_u8(f, term, source, pitch, rows, columns, result);
    else if (f->bytes == 2)
        apply_u16(f, term, source, pitch, rows, columns, result);
    else if (f->bytes == 4)
        apply_float(f, term, source, pitch, rows, columns, result);
    else
        apply_double(f, term, source, pitch, rows, columns, result);
}
