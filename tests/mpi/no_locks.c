/* no_locks.c: a library for LD_PRELOAD: a file system without locks. NO_LOCKS_ERRNO: how fcntl's locks fail;
 * NO_FLOCK_ERRNO: how flock fails, by which HDF5 locks. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refused(const char *variable)
{
    const char *text = getenv(variable);
    if (text)
        errno = atoi(text);
    return text != NULL;
}

int flock(int fd, int operation)
{
    return refused("NO_FLOCK_ERRNO") ? -1 : (int)syscall(SYS_flock, fd, operation);
}

static int control(int fd, int command, void *argument)
{
    if ((command == F_SETLK || command == F_SETLKW) && refused("NO_LOCKS_ERRNO"))
        return -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control(fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control(fd, command, argument);
}
