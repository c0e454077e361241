/* large.h: memory for many rows.
 *
 * A row of samples is 256 bytes, so a page of 4 KiB holds 16 of them, and a processor must look up a page's place for
 * every 16. Where rows have not been used for some time, and on virtual machines above all (a look-up there is two, one
 * within the other), that takes longer than to score them: 1.8 M rows a second for 15 M (tests/perf/cpu_speed.c
 * measures both). In pages of 2 MiB there is one look-up for 8,192 rows.
 */
#ifndef LM_LARGE_H
#define LM_LARGE_H

#include <stddef.h>

#define LM_HUGE_PAGE      ((size_t)2 << 20)
#define LM_LARGE_AT_LEAST ((size_t)512 << 10) /* from here on a block is whole huge pages; the rest stays untouched */

/* A block for `bytes` bytes, not initialised, at the beginning of a cache line. From LM_LARGE_AT_LEAST on it begins at
 * a huge page, is rounded up to whole ones, and the system is asked for them; where it has none, all is slower and the
 * same. free() takes it back. NULL: no memory. 0 bytes are a block, too. */
void *lm_large(size_t bytes);

#endif
