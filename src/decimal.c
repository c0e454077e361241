/* decimal.c: correctly rounded decimal numbers.
 *
 * A number is taken apart into a sign, its significant digits and a power of ten. Then one of two ways:
 *
 *   exact  The digits make a whole number of at most 2^53 and the power is within 10^-22 ... 10^22. Both are exact
 *          doubles, so that one division or multiplication, rounded once, is the answer (Clinger, PLDI 1990). Grey
 *          values, and nearly all that people write, go this way.
 *   strtod Otherwise the number is written anew as DIGITSe EXPONENT, and the C library, whose strtod rounds correctly,
 *          reads that. As there is no decimal point in it, the locale has nothing to change.
 *
 * A double depends on no more than 768 significant digits, and on whether anything but zeros follows them: longer
 * numbers are cut there, with a 1 put behind where something did.
 *
 * Left out: the method of Eisel and Lemire, which would make 17 digits as fast as 15. Data of that kind are rare here.
 */
#include "decimal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_DIGITS 800 /* kept for strtod */
#define MOST_EXPONENT                                                                                                  \
    1000000000L /* a written exponent is held at this: no text has as many digits to bring it back                     \
                 */

struct number {
    int negative;
    int digits;     /* significant ones kept in digit[]: no leading zeros */
    int sticky;     /* a digit that was not kept is not zero */
    long exponent;  /* value = digit[] as a whole number, times 10^exponent */
    uint64_t whole; /* digit[] as a whole number, where digits <= 19 */
    char digit[MOST_DIGITS];
};

static inline int is_digit(const char *p, const char *end)
{
    return p < end && (unsigned char)(*p - '0') < 10;
}

/* One run of digits. Those behind the point lower the power of ten; those dropped before it raise it. */
static const char *take_digits(const char *p, const char *end, int behind_point, struct number *n)
{
    for (; is_digit(p, end); p++) {
        if (n->digits == 0 && *p == '0') {
            n->exponent -= behind_point;
        } else if (n->digits < MOST_DIGITS) {
            if (n->digits < 19)
                n->whole = n->whole * 10 + (uint64_t)(*p - '0');
            n->digit[n->digits++] = *p;
            n->exponent -= behind_point;
        } else {
            n->sticky |= *p != '0';
            n->exponent += !behind_point;
        }
    }
    return p;
}

/* An e without digits behind it is no part of the number. */
static const char *take_exponent(const char *p, const char *end, struct number *n)
{
    const char *q = p;
    long value = 0;
    int negative = 0;

    if (q == end || (*q | 0x20) != 'e')
        return p;
    q++;
    if (q < end && (*q == '+' || *q == '-'))
        negative = *q++ == '-';
    if (!is_digit(q, end))
        return p;
    for (; is_digit(q, end); q++)
        if (value < MOST_EXPONENT)
            value = value * 10 + (*q - '0');
    n->exponent += negative ? -value : value;
    return q;
}

static double by_strtod(const struct number *n)
{
    char text[MOST_DIGITS + 32];
    int used = 0;
    long exponent = n->exponent;

    for (; used < n->digits; used++)
        text[used] = n->digit[used];
    if (n->sticky) {
        text[used++] = '1';
        exponent--;
    }
    snprintf(text + used, sizeof text - (size_t)used, "e%ld", exponent);
    return strtod(text, NULL);
}

static double value_of(const struct number *n)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value;

    if (n->digits == 0)
        value = 0;
    else if (n->digits > 19 || n->whole > 1ull << 53 || n->exponent < -22 || n->exponent > 22)
        value = by_strtod(n);
    else if (n->exponent < 0)
        value = (double)n->whole / power[-n->exponent];
    else
        value = (double)n->whole * power[n->exponent];
    return n->negative ? -value : value;
}

const char *lm_decimal_read(const char *p, const char *end, double *value)
{
    struct number n; /* digit[] is not worth clearing */
    const char *q = p, *first;

    n.negative = n.digits = n.sticky = 0;
    n.exponent = 0;
    n.whole = 0;
    if (q < end && (*q == '+' || *q == '-'))
        n.negative = *q++ == '-';
    first = q;
    q = take_digits(q, end, 0, &n);
    if (q < end && *q == '.' && (q > first || is_digit(q + 1, end)))
        q = take_digits(q + 1, end, 1, &n);
    if (q == first)
        return p;
    q = take_exponent(q, end, &n);
    *value = value_of(&n);
    return q;
}
