/* output.c: see output.h.
 *
 * Three names lie side by side in one folder, since only there a rename is one step:
 *   FILE       the old results, or the whole new ones; nothing else, at any moment
 *   FILE.part  what is being written
 *   FILE.lock  locked as long as somebody writes FILE.part; its text says who
 *
 * The lock is fcntl's (F_SETLK): of all kinds it is the one that network file systems carry to the other hosts, and
 * the death of its process frees it, so that a killed run needs no cleaning up. Its two traps: (1) FILE.lock is removed
 * at the end, so a run may lock a file whose name is gone already; hence the comparison of inodes after locking. (2) A
 * process holds it as a whole, and loses it when it closes any descriptor of the file; hence one descriptor only.
 *
 * Left out: waiting for a lock (a second run of the same file is a mistake, and should be told at once), and a choice
 * of another name when FILE is taken (the user's scripts look for FILE).
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filesystem.h"

#define LOCK_TRIES  100
#define HOLDER_TEXT 400

/* Where the user's choice of a name is at fault, another name helps, and the run is badly used rather than broken. */
static int code_of(int number)
{
    switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
        return LM_BAD_INPUT;
    default:
        return LM_FAILED;
    }
}

static int fail_folder(const char *folder, int number, struct lm_error *err)
{
    return lm_fail(err, code_of(number), "cannot write in folder '%s': %s; choose another place with --out", folder,
                   strerror(number));
}

/* ---- names ---- */

/* The first `length` bytes of a, and b, joined. NULL without memory. */
static char *join(const char *a, size_t length, const char *b)
{
    char *text = malloc(length + strlen(b) + 1);
    if (text) {
        memcpy(text, a, length);
        strcpy(text + length, b);
    }
    return text;
}

static char *absolute(const char *path)
{
    if (path[0] == '/')
        return strdup(path);
    char *here = getcwd(NULL, 0);
    if (!here)
        return NULL;
    size_t length = strlen(here);
    char *base = join(here, length, length > 1 ? "/" : "");
    char *whole = base ? join(base, strlen(base), path) : NULL;
    free(here);
    free(base);
    return whole;
}

/* The folder of an absolute path, as a new string: "/" for "/x". */
static char *folder_of(const char *path)
{
    size_t length = (size_t)(strrchr(path, '/') - path);
    return join(path, length ? length : 1, "");
}

/* mkdir -p. folder is absolute; its bytes are changed and put back. */
static int make_folders(char *folder, struct lm_error *err)
{
    for (char *end = folder + 1;; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        struct stat about;
        /* Made first and looked at afterwards: two runs may make the same folder at the same time. */
        int failed = mkdir(folder, 0777) == 0 ? 0 : errno;
        if (failed && stat(folder, &about) == 0)
            failed = S_ISDIR(about.st_mode) ? 0 : ENOTDIR;
        if (failed == ENOTDIR)
            return lm_fail(err, LM_BAD_INPUT, "'%s' is no folder: no file can be made below it; choose another --out",
                           folder);
        if (failed)
            return lm_fail(err, code_of(failed), "cannot make folder '%s': %s; choose another place with --out", folder,
                           strerror(failed));
        *end = kept;
        if (kept == '\0')
            return LM_OK;
    }
}

/* A symbolic link to a file stands for that file: to rename over it would replace the link. */
static int follow_link(struct lm_output *out, struct lm_error *err)
{
    struct stat about;
    if (lstat(out->path, &about) != 0 || !S_ISLNK(about.st_mode))
        return LM_OK;
    char *target = realpath(out->path, NULL);
    if (!target)
        return lm_fail(err, LM_BAD_INPUT, "'%s' is a symbolic link to nothing (%s); remove it, or choose another --out",
                       out->path, strerror(errno));
    free(out->path);
    out->path = target;
    return LM_OK;
}

static int choose_names(const char *path, struct lm_output *out, struct lm_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    if (path[0] == '\0')
        return lm_fail(err, LM_BAD_INPUT, "--out: the name of the file is empty");
    if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return lm_fail(err, LM_BAD_INPUT, "--out: '%s' names a folder; add the name of a file, such as results.h5",
                       path);
    out->path = absolute(path);
    if (!out->path)
        return lm_fail(err, LM_FAILED, "cannot tell the absolute name of '%s': %s", path, strerror(errno));
    int status = follow_link(out, err);
    if (status != LM_OK)
        return status;
    out->part = join(out->path, strlen(out->path), ".part");
    out->lock = join(out->path, strlen(out->path), ".lock");
    return out->part && out->lock ? LM_OK : lm_fail_memory(err, 2 * strlen(out->path), "the names of the output");
}

/* ---- the lock ---- */

/* Who holds it: what it wrote into its lock file; failing that, the process id (which F_GETLK tells on one host). */
static int fail_held(const struct lm_output *out, struct lm_error *err)
{
    char holder[HOLDER_TEXT] = "";
    ssize_t n = pread(out->lock_fd, holder, sizeof holder - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (holder[0] == '\0' && fcntl(out->lock_fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
        snprintf(holder, sizeof holder, "pid %ld", (long)lock.l_pid);
    return lm_fail(err, LM_FAILED,
                   "another run (%s) is writing '%s'; wait for it, stop it, or choose another name with --out",
                   holder[0] ? holder : "unknown", out->path);
}

static int fail_locking(const struct lm_output *out, int number, struct lm_error *err)
{
    if (!lm_filesystem_lacks_locks(number))
        return lm_fail(err, LM_FAILED, "cannot lock '%s': %s", out->lock, strerror(number));
    char name[32];
    lm_filesystem_name(out->lock, name, sizeof name);
    unlink(out->lock); /* nobody can hold it; after another error somebody may */
    return lm_fail(err, LM_FAILED,
                   "cannot lock '%s': %s; its file system (%s) has no file locks: choose an --out on another file "
                   "system (home or local scratch), or ask for this one to be mounted with locks (Lustre: -o flock)",
                   out->lock, strerror(number), name);
}

static int open_lock(struct lm_output *out, struct lm_error *err)
{
    out->lock_fd = open(out->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (out->lock_fd >= 0)
        return LM_OK;
    int number = errno;
    struct stat about;
    if (number == EACCES && lstat(out->lock, &about) == 0 && S_ISREG(about.st_mode))
        return lm_fail(err, LM_BAD_INPUT,
                       "'%s' belongs to another user (uid %lu): choose another --out; or remove it if no run writes "
                       "that file",
                       out->lock, (unsigned long)about.st_uid);
    if (number == ELOOP || number == EISDIR)
        return lm_fail(err, LM_BAD_INPUT, "'%s' is in the way (it is no plain file): remove it", out->lock);
    char *folder = folder_of(out->path);
    int status = folder ? fail_folder(folder, number, err) : lm_fail_memory(err, strlen(out->path), "a name");
    free(folder);
    return status;
}

/* 1 if the file that is locked is still the one that has the name. */
static int still_named(const struct lm_output *out)
{
    struct stat held, named;
    return fstat(out->lock_fd, &held) == 0 && stat(out->lock, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

static int take_lock(struct lm_output *out, struct lm_error *err)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        int status = open_lock(out, err);
        if (status != LM_OK)
            return status;
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(out->lock_fd, F_SETLK, &lock) != 0)
            status = errno == EACCES || errno == EAGAIN ? fail_held(out, err) : fail_locking(out, errno, err);
        else if (still_named(out))
            return LM_OK;
        close(out->lock_fd);
        out->lock_fd = -1;
        if (status != LM_OK)
            return status;
    }
    return lm_fail(err, LM_FAILED, "cannot lock '%s': other runs make and remove it all the time", out->lock);
}

/* Best effort is not enough here: the first bytes on a full disk are the first chance to say so. */
static int sign_lock(const struct lm_output *out, struct lm_error *err)
{
    char host[256] = "unknown", text[HOLDER_TEXT];
    gethostname(host, sizeof host);
    host[sizeof host - 1] = '\0';
    int n = snprintf(text, sizeof text, "host %s, pid %ld\n", host, (long)getpid());
    if (ftruncate(out->lock_fd, 0) != 0 || pwrite(out->lock_fd, text, (size_t)n, 0) != n)
        return lm_fail(err, LM_FAILED, "cannot write '%s': %s", out->lock, strerror(errno));
    return LM_OK;
}

/* ---- reserve ---- */

static int check_target(const struct lm_output *out, struct lm_error *err)
{
    struct stat about;
    if (lstat(out->path, &about) != 0)
        return errno == ENOENT ? LM_OK
                               : lm_fail(err, code_of(errno), "cannot write '%s': %s; choose another --out", out->path,
                                         strerror(errno));
    if (S_ISDIR(about.st_mode))
        return lm_fail(err, LM_BAD_INPUT, "--out: '%s' is a folder; add the name of a file, such as results.h5",
                       out->path);
    if (!S_ISREG(about.st_mode))
        return lm_fail(err, LM_BAD_INPUT, "--out: '%s' is no plain file; choose another name", out->path);
    if (!out->force)
        return lm_fail(err, LM_BAD_INPUT, "'%s' exists; choose another --out, or replace it with --force", out->path);
    return LM_OK;
}

static int make_part(struct lm_output *out, struct lm_error *err)
{
    struct stat about;
    if (lstat(out->part, &about) == 0) {
        if (unlink(out->part) != 0)
            return lm_fail(err, code_of(errno), "'%s' is in the way and cannot be removed: %s", out->part,
                           strerror(errno));
        out->found_stray = 1;
    }
    int fd = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int failed = fd < 0 || close(fd) != 0 ? errno : 0;
    if (failed && fd >= 0)
        unlink(out->part);
    if (failed)
        return lm_fail(err, code_of(failed), "cannot make '%s': %s; choose another --out", out->part, strerror(failed));
    return LM_OK;
}

static void release(struct lm_output *out)
{
    if (out->lock && out->lock_fd >= 0) {
        unlink(out->lock); /* before the lock is lost: afterwards it may be another run's */
        close(out->lock_fd);
    }
    free(out->path);
    free(out->part);
    free(out->lock);
    free(out->later[0]);
    free(out->later[1]);
    *out = (struct lm_output){.lock_fd = -1};
}

static int reserve_steps(const char *path, struct lm_output *out, struct lm_error *err)
{
    int status = choose_names(path, out, err);
    if (status != LM_OK)
        return status;
    char *folder = folder_of(out->path);
    if (!folder)
        return lm_fail_memory(err, strlen(out->path), "the name of a folder");
    status = make_folders(folder, err);
    free(folder);
    /* Twice: the first time so that a plain mistake leaves no lock file behind for a moment, nor waits for a lock; the
     * second time because another run may have finished in between. */
    if (status == LM_OK)
        status = check_target(out, err);
    if (status == LM_OK)
        status = take_lock(out, err);
    if (status == LM_OK)
        status = check_target(out, err);
    if (status == LM_OK)
        status = sign_lock(out, err);
    if (status == LM_OK)
        status = make_part(out, err);
    return status;
}

int lm_output_reserve(const char *path, int force, struct lm_output *out, struct lm_error *err)
{
    *out = (struct lm_output){.lock_fd = -1, .force = force};
    int status = reserve_steps(path, out, err);
    if (status != LM_OK)
        release(out);
    return status;
}

/* ---- commit ---- */

static int flush(const char *path, int flags, struct lm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return lm_fail(err, LM_FAILED, "cannot open '%s': %s", path, strerror(errno));
    /* EINVAL: some file systems have no fsync for folders; their rename is as safe as they make it. */
    int failed = fsync(fd) != 0 && !(errno == EINVAL && (flags & O_DIRECTORY)) ? errno : 0;
    if (close(fd) != 0 && !failed)
        failed = errno;
    return failed ? lm_fail(err, LM_FAILED, "cannot write '%s' to disk: %s", path, strerror(failed)) : LM_OK;
}

/* link() makes the final name only if it is free, in one step. Where a file system has no hard links, the lock still
 * keeps other runs away, and a look before the rename keeps the rest. */
static int name_without_replacing(const struct lm_output *out)
{
    if (link(out->part, out->path) == 0) {
        unlink(out->part); /* if that fails, a second name stays, which the next run removes as a stray */
        return 0;
    }
    if (errno != EPERM && errno != ENOSYS && errno != EOPNOTSUPP && errno != EMLINK)
        return errno;
    struct stat about;
    if (lstat(out->path, &about) == 0)
        return EEXIST;
    return rename(out->part, out->path) == 0 ? 0 : errno;
}

static int name_it(const struct lm_output *out, struct lm_error *err)
{
    int failed = out->force ? (rename(out->part, out->path) == 0 ? 0 : errno) : name_without_replacing(out);
    if (failed == 0)
        return LM_OK;
    /* A day's work is in the part by now, and complete: it stays, and the user is told where. */
    if (failed == EEXIST)
        return lm_fail(err, LM_FAILED,
                       "'%s' has appeared during the run and was left alone; the new results are complete in '%s': "
                       "rename that file",
                       out->path, out->part);
    return lm_fail(err, LM_FAILED, "cannot make '%s': %s; the results are complete in '%s': rename that file",
                   out->path, strerror(failed), out->part);
}

int lm_output_commit(struct lm_output *out, struct lm_error *err)
{
    int status = flush(out->part, 0, err);
    if (status != LM_OK) {
        lm_output_abandon(out);
        return status;
    }
    status = name_it(out, err);
    for (int k = 0; k < 2 && status == LM_OK; k++)
        if (out->later[k])
            unlink(out->later[k]);
    if (status == LM_OK) {
        char *folder = folder_of(out->path);
        status = folder ? flush(folder, O_DIRECTORY, err) : lm_fail_memory(err, strlen(out->path), "a name");
        free(folder);
    }
    release(out);
    return status;
}

int lm_output_remove_later(struct lm_output *out, const char *a, const char *b, struct lm_error *err)
{
    out->later[0] = strdup(a);
    out->later[1] = strdup(b);
    return out->later[0] && out->later[1] ? LM_OK : lm_fail_memory(err, strlen(a) + strlen(b), "a path");
}

void lm_output_abandon(struct lm_output *out)
{
    if (out->part)
        unlink(out->part);
    release(out);
}
