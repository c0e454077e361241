/* packed_bytes.h: what the files of packed.h share; nobody else's. */
#ifndef LM_PACKED_BYTES_H
#define LM_PACKED_BYTES_H

#include <stdint.h>

#define LM_PACKED_TRAILER 8 /* behind a block: its sum and four zeros */

/* Whole numbers of so many bytes, least significant first. */
void lm_put_little(unsigned char *at, uint64_t value, int bytes);
uint64_t lm_get_little(const unsigned char *at, int bytes);

#endif
