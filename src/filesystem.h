/* filesystem.h: what kind of file system a folder lies on, for messages about locks and full disks. */
#ifndef LM_FILESYSTEM_H
#define LM_FILESYSTEM_H

#include <stddef.h>

/* "nfs", "lustre", "ext4", ...; "type 0x1234" for one without a name here; "unknown" if path cannot be asked. */
void lm_filesystem_name(const char *path, char *text, size_t size);

/* Was the failure errno `code` of a locking call "this file system has no locks", and not "somebody holds it"? */
int lm_filesystem_lacks_locks(int code);

#endif
