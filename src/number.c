/* number.c: see number.h. */
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* printf's decimal point is the locale's: whatever it is, it becomes one point. */
static void set_point(char *text)
{
    size_t at = strspn(text, "-0123456789");
    size_t wide = strcspn(text + at, "e0123456789");
    if (text[at] == '\0' || text[at] == 'e')
        return;
    text[at] = '.';
    memmove(text + at + 1, text + at + wide, strlen(text + at + wide) + 1);
}

const char *lm_float_text(float value, char text[LM_FLOAT_TEXT])
{
    double back = 0.0;
    for (int digits = 6; digits <= 9; digits++) { /* 9 always do */
        snprintf(text, LM_FLOAT_TEXT, "%.*g", digits, (double)value);
        set_point(text);
        lm_decimal_read(text, text + strlen(text), &back);
        if ((float)back == value)
            break;
    }
    return text;
}
