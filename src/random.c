/* random.c: what GNU libstdc++ (GCC 11 or newer) makes of mt19937, in C.
 *
 * Three layers, each with its source:
 *   mt19937         Matsumoto and Nishimura, ACM TOMACS 8 (1998); the C++ standard fixes it
 *   bounded draw    Lemire, ACM TOMACS 29 (2019), algorithm 5; libstdc++ uses it from GCC 11 on
 *   shuffle         libstdc++'s own: two swap positions from one draw while n * n fits a draw
 * The functions follow the order in which the library draws; that order is the whole contract. The library is compared
 * with element for element by tests/unit/test_libstdcxx.sh.
 *
 * Left out: seed sequences, discard, other distributions. Nothing here uses them.
 */
#include "random.h"

#include <math.h>

#define N 624
#define M 397

void lm_mt19937_seed(struct lm_mt19937 *generator, uint32_t seed)
{
    uint32_t *s = generator->state;

    s[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        s[i] = 1812433253u * (s[i - 1] ^ s[i - 1] >> 30) + i;
    generator->next = N;
}

/* The top bit of one word and the rest of the next, through the matrix. Without a branch: the bit is random. */
static inline uint32_t twist(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return y >> 1 ^ (0x9908b0dfu & -(y & 1));
}

static void refill(struct lm_mt19937 *generator)
{
    uint32_t *s = generator->state;
    int i;

    for (i = 0; i < N - M; i++)
        s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
    for (; i < N - 1; i++)
        s[i] = s[i + M - N] ^ twist(s[i], s[i + 1]);
    s[N - 1] = s[M - 1] ^ twist(s[N - 1], s[0]);
    generator->next = 0;
}

uint32_t lm_mt19937_next(struct lm_mt19937 *generator)
{
    if (generator->next >= N)
        refill(generator);

    uint32_t y = generator->state[generator->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

uint32_t lm_draw_below(struct lm_mt19937 *generator, uint32_t range)
{
    uint64_t product = (uint64_t)lm_mt19937_next(generator) * range;

    /* The remainder is taken only where the low half says that the draw may be one of the few too many. */
    if ((uint32_t)product < range) {
        uint32_t threshold = -range % range;
        while ((uint32_t)product < threshold)
            product = (uint64_t)lm_mt19937_next(generator) * range;
    }
    return (uint32_t)(product >> 32);
}

static inline void swap(uint32_t *order, size_t i, size_t j)
{
    uint32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
}

/* n <= 65535: (i + 1)(i + 2) is below 2^32 for every pair, so one draw gives both positions. */
static void shuffle_in_pairs(struct lm_mt19937 *generator, uint32_t *order, uint32_t n)
{
    uint32_t i = 1;

    if (n % 2 == 0) { /* an odd number of elements is left after the first: one goes alone, so that pairs remain */
        swap(order, 1, lm_draw_below(generator, 2));
        i = 2;
    }
    for (; i < n; i += 2) {
        uint32_t x = lm_draw_below(generator, (i + 1) * (i + 2));
        swap(order, i, x / (i + 2));
        swap(order, i + 1, x % (i + 2));
    }
}

void lm_shuffle(struct lm_mt19937 *generator, uint32_t *order, size_t n)
{
    if (n < 2)
        return; /* the library draws nothing either */
    if (UINT32_MAX / n >= n) {
        shuffle_in_pairs(generator, order, (uint32_t)n);
        return;
    }
    for (size_t i = 1; i < n; i++)
        swap(order, i, lm_draw_below(generator, (uint32_t)(i + 1)));
}

float lm_draw_uniform(struct lm_mt19937 *generator, float low, float high)
{
    /* The highest 128 draws round up to 2^32, which would be 1: the interval is open at that end. */
    float unit = (float)lm_mt19937_next(generator) / 4294967296.0f;
    if (unit >= 1.0f)
        unit = nextafterf(1.0f, 0.0f);

    float scaled = unit * (high - low); /* rounded here: never fused with the addition (-ffp-contract=off) */
    return scaled + low;
}
