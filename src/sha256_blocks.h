/* sha256_blocks.h: the inner loop of SHA-256, in two ways with the same result. For sha256.c and its test. */
#ifndef LM_SHA256_BLOCKS_H
#define LM_SHA256_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

extern const uint32_t lm_sha256_constant[64];

/* Takes n blocks of 64 bytes into the state. */
void lm_sha256_blocks_plain(uint32_t state[8], const unsigned char *block, size_t n);

/* The same by the processor's SHA instructions. To be called only where lm_sha256_has_x86() is not 0. */
int lm_sha256_has_x86(void);
void lm_sha256_blocks_x86(uint32_t state[8], const unsigned char *block, size_t n);

#endif
