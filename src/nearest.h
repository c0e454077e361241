/* nearest.h: the name that was probably meant. */
#ifndef LM_NEAREST_H
#define LM_NEAREST_H

#include <stddef.h>

/* The entry of name[0..n) with the smallest edit distance to word (insert, delete, replace, swap of neighbours), or
 * NULL if none is near: more than a third of its letters, rounded up, would have to change. The first of equals. */
const char *lm_nearest(const char *word, const char *const *name, size_t n);

#endif
