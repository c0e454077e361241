/* sha256.h: SHA-256 (FIPS 180-4), for digests of data sets and weights. */
#ifndef LM_SHA256_H
#define LM_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define LM_SHA256_HEX 65 /* 64 hexadecimal digits and a NUL */

struct lm_sha256 {
    uint32_t state[8];
    uint64_t length;         /* bytes taken so far */
    unsigned char block[64]; /* the part of them that is not yet a whole block */
};

void lm_sha256_begin(struct lm_sha256 *hash);
void lm_sha256_add(struct lm_sha256 *hash, const void *bytes, size_t n);
void lm_sha256_end(struct lm_sha256 *hash, char hex[LM_SHA256_HEX]);

#endif
