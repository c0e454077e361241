/* number.c: see number.h. */
#include "number.h"

#include <math.h>

#include "decimal.h"

int lm_read_real(const char *text, size_t n, double *out)
{
    double value;
    if (n == 0 || lm_decimal_read(text, text + n, &value) != text + n || !isfinite(value))
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
