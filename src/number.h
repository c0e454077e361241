/* number.h: numbers in text, read strictly: the whole text, decimal, finite, in range; and floats as text. The same in
 * every locale. */
#ifndef LM_NUMBER_H
#define LM_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Each returns 1, or 0 if text[0..n) is no such number. */

/* A decimal number such as 1, .5, 1e-3: no hexadecimal, nan, inf, blanks; finite as a double. */
int lm_read_real(const char *text, size_t n, double *out);
/* Digits alone, at most max. */
int lm_read_whole(const char *text, size_t n, uint64_t max, uint64_t *out);

/* A finite float32 with as few digits as read back to it: 0.02, not 0.0199999996. */
#define LM_FLOAT_TEXT 24
const char *lm_float_text(float value, char text[LM_FLOAT_TEXT]);

#endif
