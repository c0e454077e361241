/* nearest.c: optimal string alignment distance (Damerau 1964; Wagner and Fischer 1974 with swaps of neighbours). */
#include "nearest.h"

#include <string.h>

#define LONGEST 63

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

static int distance(const char *a, size_t n, const char *b, size_t m)
{
    int d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = (int)i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[n][m];
}

const char *lm_nearest(const char *word, const char *const *name, size_t n)
{
    const char *best = NULL;
    size_t length = strlen(word);
    int least = LONGEST;
    if (length == 0 || length > LONGEST)
        return NULL;
    for (size_t k = 0; k < n; k++) {
        size_t m = strlen(name[k]);
        if (m > LONGEST)
            continue;
        int d = distance(word, length, name[k], m);
        if (d < least && 3 * (size_t)d <= m + 2) {
            least = d;
            best = name[k];
        }
    }
    return best;
}
