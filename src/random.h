/* random.h: the generator, shuffle and uniform numbers of GNU libstdc++ (GCC 11 or newer), in C.
 *
 * The lab's programs use std::mt19937, std::shuffle and std::uniform_real_distribution<float>; what these return is not
 * fixed by the C++ standard except for the first, so the answer would change with the library. These functions are that
 * one library's, bit for bit (tests/ compares them with the real one), on every machine and compiler.
 */
#ifndef LM_RANDOM_H
#define LM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct lm_mt19937 {
    uint32_t state[624];
    unsigned next; /* index of the next word of state to be given out; 624: make new ones first */
};

/* Matsumoto and Nishimura, ACM TOMACS 8 (1998), with the 2002 initialisation that std::mt19937 uses. */
void lm_mt19937_seed(struct lm_mt19937 *generator, uint32_t seed);
uint32_t lm_mt19937_next(struct lm_mt19937 *generator);

/* A whole number in [0, range), range >= 1, by Lemire's nearly divisionless method (ACM TOMACS 29 (2019), algorithm 5)
 * on 32-bit draws, as libstdc++'s uniform_int_distribution does on mt19937. */
uint32_t lm_draw_below(struct lm_mt19937 *generator, uint32_t range);

/* std::shuffle(order, order + n, generator). n < 2^32. */
void lm_shuffle(struct lm_mt19937 *generator, uint32_t *order, size_t n);

/* std::uniform_real_distribution<float>(low, high)(generator): unfused multiply and add. */
float lm_draw_uniform(struct lm_mt19937 *generator, float low, float high);

#endif
