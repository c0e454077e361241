/* libstdcxx_ours.c: the same numbers as libstdcxx_reference.cpp, by our C. See there for the lines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define BEGIN        14695981039346656037u

static uint64_t add(uint64_t digest, uint32_t word)
{
    for (int i = 0; i < 4; i++, word >>= 8)
        digest = (digest ^ (word & 0xff)) * 1099511628211u;
    return digest;
}

static void shuffles(uint32_t seed, uint32_t n, int rounds)
{
    struct lm_mt19937 generator;
    uint32_t *order = malloc(n * sizeof *order);

    if (!order)
        exit(1);
    lm_mt19937_seed(&generator, seed);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (int round = 1; round <= rounds; round++) {
        uint64_t digest = BEGIN;
        lm_shuffle(&generator, order, n);
        for (uint32_t i = 0; i < n; i++)
            digest = add(digest, order[i]);
        printf("shuffle %" PRIu32 " %" PRIu32 " %d %016" PRIx64 "\n", seed, n, round, digest);
    }
    printf("drawn %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", seed, n, lm_mt19937_next(&generator));
    free(order);
}

static void below(uint32_t seed, uint32_t range)
{
    struct lm_mt19937 generator;
    uint64_t digest = BEGIN;

    lm_mt19937_seed(&generator, seed);
    for (int i = 0; i < 10000; i++)
        digest = add(digest, lm_draw_below(&generator, range));
    printf("below %" PRIu32 " %" PRIu32 " %016" PRIx64 " %" PRIu32 "\n", seed, range, digest,
           lm_mt19937_next(&generator));
}

static uint32_t uniform_bits(struct lm_mt19937 *generator, float low, float high)
{
    float x = lm_draw_uniform(generator, low, high);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void uniform(uint32_t seed, float low, float high)
{
    struct lm_mt19937 generator;
    uint64_t digest = BEGIN;

    lm_mt19937_seed(&generator, seed);
    for (int i = 0; i < 100000; i++)
        digest = add(digest, uniform_bits(&generator, low, high));
    printf("uniform %" PRIu32 " %.9g %.9g %016" PRIx64 "\n", seed, (double)low, (double)high, digest);
}

/* A generator whose next word is the largest: tempering is linear, and this is the word of state that it takes there.
 */
static void nearly_one(void)
{
    struct lm_mt19937 generator = {.next = 0};
    uint32_t word = 0;

    /* Solve bit by bit: temper(word) is a bijection that is linear over bits, so each output bit can be reached by
     * elimination. 32 basis vectors, kept with what makes them. */
    uint32_t made[32] = {0}, from[32] = {0}, want = 0xffffffffu;
    for (int i = 0; i < 32; i++) {
        uint32_t x = 1u << i, source = x;
        generator.state[0] = x, generator.next = 0;
        x = lm_mt19937_next(&generator);
        for (int bit = 31; bit >= 0; bit--) {
            if (!(x >> bit & 1))
                continue;
            if (!made[bit]) {
                made[bit] = x, from[bit] = source;
                break;
            }
            x ^= made[bit], source ^= from[bit];
        }
    }
    for (int bit = 31; bit >= 0; bit--)
        if (want >> bit & 1)
            want ^= made[bit], word ^= from[bit];
    generator.state[0] = word, generator.next = 0;
    printf("nearly_one %08" PRIx32 "\n", uniform_bits(&generator, -0.05f, 0.05f));
}

int main(void)
{
    static const uint32_t seeds[] = {0, 1, 1337, 5489, 123456789, 4294967295u};
    static const uint32_t sizes[] = {1000, 3532, 65534, 65535, 65536, 65537, 70000, 200000};
    static const uint32_t ranges[] = {1,     2,       3,           5,           255,         256,
                                      65537, 1000003, 2147483648u, 2147483649u, 3000000000u, 4294967295u};

    for (size_t s = 0; s < COUNT(seeds); s++) {
        for (uint32_t n = 1; n <= 40; n++)
            shuffles(seeds[s], n, 5);
        for (size_t i = 0; i < COUNT(sizes); i++)
            shuffles(seeds[s], sizes[i], sizes[i] < 10000 ? 51 : 3);
        for (size_t i = 0; i < COUNT(ranges); i++)
            below(seeds[s], ranges[i]);
        uniform(seeds[s], -0.05f, 0.05f);
        uniform(seeds[s], 0.0f, 1.0f);
        uniform(seeds[s], -3.0f, 100.1f);
    }
    nearly_one();
    return 0;
}
