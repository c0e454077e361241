/* large.c: see large.h. */
#include "large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LINE ((size_t)64)

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

void *lm_large(size_t bytes)
{
    if (bytes > SIZE_MAX - LM_HUGE_PAGE)
        return NULL;
    if (bytes < LM_LARGE_AT_LEAST)
        return aligned_alloc(LINE, round_up(bytes ? bytes : 1, LINE));
    bytes = round_up(bytes, LM_HUGE_PAGE);
    void *block = aligned_alloc(LM_HUGE_PAGE, bytes);
    if (block)
        (void)madvise(block, bytes, MADV_HUGEPAGE); /* a wish */
    return block;
}
