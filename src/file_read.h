/* file_read.h: a whole file in memory, of a size that is known to be bearable. */
#ifndef LM_FILE_READ_H
#define LM_FILE_READ_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* *bytes: (*n), owned by the caller; a 0 stands behind it. The message begins with the path. LM_BAD_INPUT: it is not
 * there, no file (a folder, a pipe: never waited for), may not be read, or has more than `most` bytes. LM_FAILED: it
 * cannot be read to its end, or there is no memory. */
int lm_file_read(const char *path, size_t most, uint8_t **bytes, size_t *n, struct lm_error *err);

#endif
