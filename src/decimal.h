/* decimal.h: a decimal number in text, as the double nearest to it, whatever the locale. */
#ifndef LM_DECIMAL_H
#define LM_DECIMAL_H

/* Reads the longest number that begins at p and ends before end:
 *     [+-] (digits [. [digits]] | . digits) [(e|E) [+-] digits]
 * and stores the nearest double (ties to even; infinity beyond the largest one: the caller decides). Returns the first
 * byte after the number, or p where none begins there. No spaces, no hexadecimal, no nan or inf, no separators of
 * thousands. Any number of digits is read exactly. Never reads *end. */
const char *lm_decimal_read(const char *p, const char *end, double *value);

#endif
