/* filesystem.c: see filesystem.h.
 *
 * A cluster's user meets "Function not implemented" at the end of a day's run and cannot know that it speaks of the
 * locks of one mount. The kind of file system is what the administrator needs to hear. The numbers are those of
 * statfs(2); the parallel file systems' are in no system header.
 */
#include "filesystem.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>

/* What Linux answers (as 524, which has no name outside the kernel) where a network file system has no locks. */
#define KERNEL_ENOTSUPP 524

static const struct {
    uint32_t type;
    const char *name;
} known[] = {
    {0x6969, "nfs"},      {0x0BD00BD0, "lustre"},  {0x47504653, "gpfs"},  {0x19830326, "beegfs"},
    {0x00C36400, "ceph"}, {0xAAD7AAEA, "panfs"},   {0xFF534D42, "cifs"},  {0xFE534D42, "smb2"},
    {0x65735546, "fuse"}, {0x794C7630, "overlay"}, {0x01021994, "tmpfs"}, {0xEF53, "ext4"},
    {0x58465342, "xfs"},  {0x9123683E, "btrfs"},   {0x2FC12FC1, "zfs"},   {0x5346544E, "ntfs"},
    {0x4D44, "vfat"},     {0x2011BAB0, "exfat"},   {0x01021997, "9p"},    {0x20030528, "orangefs"},
};

void lm_filesystem_name(const char *path, char *text, size_t size)
{
    struct statfs about;
    if (statfs(path, &about) != 0) {
        snprintf(text, size, "unknown");
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].type == (uint32_t)about.f_type) {
            snprintf(text, size, "%s", known[i].name);
            return;
        }
    }
    snprintf(text, size, "type 0x%x", (unsigned)(uint32_t)about.f_type);
}

int lm_filesystem_lacks_locks(int code)
{
    return code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP || code == ENOTSUP || code == KERNEL_ENOTSUPP;
}
