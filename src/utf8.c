/* utf8.c: see utf8.h. Well-formed is as in table 3-7 of the Unicode standard: shortest forms, no surrogates, up to
 * U+10FFFF. */
#include "utf8.h"

/* The number of bytes of the character at c, 0 if it is none. The NUL at the end of the text is no continuation. */
static size_t character(const unsigned char *c)
{
    unsigned char low = 0x80, high = 0xBF; /* of the second byte */
    size_t n;
    if (c[0] < 0x80)
        return 1;
    if (c[0] >= 0xC2 && c[0] <= 0xDF)
        n = 2;
    else if (c[0] >= 0xE0 && c[0] <= 0xEF)
        n = 3;
    else if (c[0] >= 0xF0 && c[0] <= 0xF4)
        n = 4;
    else
        return 0;
    if (c[0] == 0xE0)
        low = 0xA0;
    else if (c[0] == 0xED)
        high = 0x9F;
    else if (c[0] == 0xF0)
        low = 0x90;
    else if (c[0] == 0xF4)
        high = 0x8F;
    if (c[1] < low || c[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++) {
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    }
    return n;
}

size_t lm_utf8_mend(char *text)
{
    size_t replaced = 0;
    unsigned char *c = (unsigned char *)text;
    while (*c) {
        size_t n = character(c);
        if (n == 0) {
            *c = '?';
            n = 1;
            replaced++;
        }
        c += n;
    }
    return replaced;
}

int lm_utf8_ok(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    while (*c) {
        size_t n = character(c);
        if (n == 0)
            return 0;
        c += n;
    }
    return 1;
}
