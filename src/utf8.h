/* utf8.h: text from outside (paths, host names, cut reasons) made safe to be called UTF-8. */
#ifndef LM_UTF8_H
#define LM_UTF8_H

#include <stddef.h>

/* Each byte that is no part of well-formed UTF-8 becomes '?', in place; the length stays. Text of the results file is
 * declared as UTF-8, and some readers refuse a whole group where it is not. Returns the number of bytes replaced. */
size_t lm_utf8_mend(char *text);
int lm_utf8_ok(const char *text); /* 1 if mending would change nothing */

#endif
