/* crc32c.h: CRC-32C (Castagnoli; RFC 3720, appendix B.4): finds damaged bytes; no protection from a forger. */
#ifndef LM_CRC32C_H
#define LM_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of the bytes taken so far (crc; 0 at the start) followed by these: a text in pieces has the sum of the whole. */
uint32_t lm_crc32c(uint32_t crc, const void *bytes, size_t n);

/* The two ways in which it is done, with the same result. For crc32c.c and its test. */
uint32_t lm_crc32c_plain(uint32_t crc, const void *bytes, size_t n);
/* By the processor's instructions. To be called only where lm_crc32c_has_x86() is not 0. */
int lm_crc32c_has_x86(void);
uint32_t lm_crc32c_x86(uint32_t crc, const void *bytes, size_t n);

#endif
