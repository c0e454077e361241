/* number.c: see number.h. The digits are converted by the C library under its "C" locale. */
#include "number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 63

int lm_read_real(const char *text, size_t n, double *out)
{
    char copy[LONGEST + 1];
    if (n == 0 || n > LONGEST || strspn(text, "0123456789.eE+-") < n)
        return 0;
    memcpy(copy, text, n);
    copy[n] = '\0';
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return 0;
    char *end;
    double value = strtod_l(copy, &end, c_locale);
    freelocale(c_locale);
    if (end != copy + n || !isfinite(value))
        return 0;
    *out = value;
    return 1;
}

int lm_read_whole(const char *text, size_t n, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (n == 0)
        return 0;
    for (size_t k = 0; k < n; k++) {
        unsigned digit = (unsigned)text[k] - '0';
        if (digit > 9 || value > (max - digit) / 10 || digit > max)
            return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}
