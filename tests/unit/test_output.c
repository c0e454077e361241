/* test_output.c: FILE is the old one or a whole new one; one run at a time; and what is said when that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filesystem.h"
#include "output.h"
#include "scratch.h"

/* ---- a kernel that refuses ---- */

static int lock_errno; /* what fcntl(F_SETLK) and link() fail with, 0: they work */
static int link_errno;

/* The program's own definition comes before libc's. */
int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    if (command == F_SETLK && lock_errno) {
        errno = lock_errno;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int link(const char *from, const char *to)
{
    if (link_errno) {
        errno = link_errno;
        return -1;
    }
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- helpers ---- */

static char *dir; /* of the test that runs */

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lock_errno = link_errno = 0;
    scratch_remove(dir);
    return 0;
}

/* dir/name, until the next but three calls. */
static const char *in_dir(const char *name)
{
    static char path[4][8192];
    static int next;
    char *text = path[next++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", dir, name);
    return text;
}

static const char *content(const char *path)
{
    static char text[200];
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct lm_output reserve(const char *path, int force)
{
    struct lm_output out;
    struct lm_error err = {0, ""};
    if (lm_output_reserve(path, force, &out, &err) != LM_OK)
        fail_msg("%s", err.text);
    return out;
}

/* Refused with that code, saying that. Leaves nothing behind. */
static void refused(const char *path, int force, int code, const char *text)
{
    struct lm_output out;
    struct lm_error err = {0, ""};
    assert_int_equal(lm_output_reserve(path, force, &out, &err), code);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    assert_null(strchr(err.text, '\n'));
    assert_null(out.path);
    lm_output_abandon(&out); /* harmless */
}

static void commit(struct lm_output *out)
{
    struct lm_error err = {0, ""};
    if (lm_output_commit(out, &err) != LM_OK)
        fail_msg("%s", err.text);
    assert_null(out->path);
}

static void only_file(const char *name)
{
    char other[300];
    assert_true(scratch_exists(dir, name));
    snprintf(other, sizeof other, "%s.part", name);
    assert_false(scratch_exists(dir, other));
    snprintf(other, sizeof other, "%s.lock", name);
    assert_false(scratch_exists(dir, other));
}

/* ---- it works ---- */

static void test_new_file(void **state)
{
    (void)state;
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    assert_string_equal(out.path, in_dir("r.h5"));
    assert_string_equal(out.part, in_dir("r.h5.part"));
    assert_int_equal(out.found_stray, 0);
    assert_false(scratch_exists(dir, "r.h5"));
    char host[256], holder[300];
    assert_int_equal(gethostname(host, sizeof host), 0);
    snprintf(holder, sizeof holder, "host %s, pid %d\n", host, (int)getpid());
    assert_string_equal(content(out.lock), holder);
    write_text(out.part, "new");
    commit(&out);
    only_file("r.h5");
    assert_string_equal(content(in_dir("r.h5")), "new");
}

static void test_permissions_follow_umask(void **state)
{
    (void)state;
    mode_t old = umask(0027);
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    commit(&out);
    umask(old);
    struct stat about;
    assert_int_equal(stat(in_dir("r.h5"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

static void test_names(void **state)
{
    (void)state;
    /* bytes and spaces pass through, in folders that are made */
    struct lm_output out = reserve(in_dir("saída/São João/a  b/r 1.h5"), 0);
    commit(&out);
    assert_true(scratch_exists(dir, "saída/São João/a  b/r 1.h5"));
    out = reserve(in_dir("saída//São João/\xff.h5"), 0); /* not UTF-8: a name all the same */
    commit(&out);
    assert_true(scratch_exists(dir, "saída/São João/\xff.h5"));
    /* relative, from another folder */
    char *here = getcwd(NULL, 0);
    assert_int_equal(chdir(in_dir("saída")), 0);
    out = reserve("x/r.h5", 0);
    assert_int_equal(chdir("/"), 0);
    write_text(out.part, "relative");
    commit(&out);
    assert_string_equal(content(in_dir("saída/x/r.h5")), "relative");
    assert_int_equal(chdir(here), 0);
    free(here);
}

static void test_force(void **state)
{
    (void)state;
    write_text(in_dir("r.h5"), "old");
    refused(in_dir("r.h5"), 0, LM_BAD_INPUT, "--force");
    only_file("r.h5");
    struct lm_output out = reserve(in_dir("r.h5"), 1);
    assert_string_equal(content(in_dir("r.h5")), "old");
    write_text(out.part, "half");
    lm_output_abandon(&out);
    assert_string_equal(content(in_dir("r.h5")), "old");
    only_file("r.h5");
    out = reserve(in_dir("r.h5"), 1);
    write_text(out.part, "new");
    commit(&out);
    assert_string_equal(content(in_dir("r.h5")), "new");
    only_file("r.h5");
}

static void test_abandon(void **state)
{
    (void)state;
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    lm_output_abandon(&out);
    lm_output_abandon(&out);
    assert_false(scratch_exists(dir, "r.h5"));
    assert_false(scratch_exists(dir, "r.h5.part"));
    assert_false(scratch_exists(dir, "r.h5.lock"));
    struct lm_output zero = {0};
    lm_output_abandon(&zero);
}

static void test_stray(void **state)
{
    (void)state;
    write_text(in_dir("r.h5.part"), "of a killed run");
    write_text(in_dir("r.h5.lock"), "host x, pid 1\n");
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    assert_int_equal(out.found_stray, 1);
    assert_string_equal(content(out.part), "");
    commit(&out);
    only_file("r.h5");
}

static void test_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_dir("store"), 0777), 0);
    write_text(in_dir("store/real.h5"), "old");
    assert_int_equal(symlink("store/real.h5", in_dir("latest.h5")), 0);
    refused(in_dir("latest.h5"), 0, LM_BAD_INPUT, "exists");
    struct lm_output out = reserve(in_dir("latest.h5"), 1);
    write_text(out.part, "new");
    commit(&out);
    struct stat about;
    assert_int_equal(lstat(in_dir("latest.h5"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_string_equal(content(in_dir("store/real.h5")), "new");
    assert_int_equal(symlink("nowhere", in_dir("dangling.h5")), 0);
    refused(in_dir("dangling.h5"), 1, LM_BAD_INPUT, "link to nothing");
}

/* ---- it is refused ---- */

static void test_bad_paths(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_dir("folder"), 0777), 0);
    write_text(in_dir("file"), "x");
    refused("", 0, LM_BAD_INPUT, "empty");
    refused(in_dir("folder"), 0, LM_BAD_INPUT, "is a folder");
    refused(in_dir("folder"), 1, LM_BAD_INPUT, "is a folder");
    refused(in_dir("folder/"), 0, LM_BAD_INPUT, "names a folder");
    refused(in_dir("new/"), 0, LM_BAD_INPUT, "names a folder");
    refused(in_dir("folder/.."), 0, LM_BAD_INPUT, "names a folder");
    refused(".", 0, LM_BAD_INPUT, "names a folder");
    refused(in_dir("file/r.h5"), 0, LM_BAD_INPUT, "is no folder");
    refused(in_dir("file/deeper/r.h5"), 0, LM_BAD_INPUT, "is no folder");
    assert_int_equal(mkfifo(in_dir("pipe"), 0666), 0);
    refused(in_dir("pipe"), 1, LM_BAD_INPUT, "no plain file");
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refused(in_dir(name), 0, LM_BAD_INPUT, "too long");
    assert_int_equal(mkdir(in_dir("r.h5.part"), 0777), 0);
    refused(in_dir("r.h5"), 0, LM_BAD_INPUT, "in the way");
    assert_int_equal(mkdir(in_dir("s.h5.lock"), 0777), 0);
    refused(in_dir("s.h5"), 0, LM_BAD_INPUT, "in the way");
    assert_false(scratch_exists(dir, "r.h5.lock"));
}

/* Whoever is root can write everywhere: the test is somebody else for a while. */
static void test_read_only_folder(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_dir("mine"), 0755), 0);
    assert_int_equal(chmod(dir, 0755), 0);
    uid_t me = geteuid();
    if (me == 0)
        assert_int_equal(seteuid(65534), 0);
    else
        assert_int_equal(chmod(in_dir("mine"), 0555), 0);
    refused(in_dir("mine/r.h5"), 0, LM_BAD_INPUT, "Permission denied; choose another place");
    refused(in_dir("mine/new/r.h5"), 0, LM_BAD_INPUT, "cannot make folder");
    refused("/proc/libras/r.h5", 0, LM_FAILED, "cannot make folder");
    assert_int_equal(seteuid(me), 0);
}

static void test_lock_of_another_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(dir, 0777), 0);
    write_text(in_dir("r.h5.lock"), "host x, pid 1\n");
    assert_int_equal(chmod(in_dir("r.h5.lock"), 0644), 0);
    assert_int_equal(seteuid(65534), 0);
    refused(in_dir("r.h5"), 0, LM_BAD_INPUT, "belongs to another user (uid 0)");
    assert_int_equal(seteuid(0), 0);
}

static void test_no_locks(void **state)
{
    (void)state;
    static const int code[] = {ENOLCK, ENOSYS, EOPNOTSUPP, 524};
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) {
        lock_errno = code[i];
        refused(in_dir("r.h5"), 0, LM_FAILED, "no file locks: choose an --out on another file system");
        refused(in_dir("r.h5"), 0, LM_FAILED, dir);
    }
    lock_errno = EIO;
    refused(in_dir("r.h5"), 0, LM_FAILED, "Input/output error");
    char name[32], wanted[40];
    lm_filesystem_name(dir, name, sizeof name);
    snprintf(wanted, sizeof wanted, "(%s)", name);
    lock_errno = ENOLCK;
    refused(in_dir("r.h5"), 0, LM_FAILED, wanted);
    assert_false(scratch_exists(dir, "r.h5"));
    assert_false(scratch_exists(dir, "r.h5.part"));
}

/* ---- two runs ---- */

/* A child that reserves, says so, and waits until it is told to go on or is killed. */
static pid_t start_holder(int to_child[2])
{
    int from_child[2];
    char ready = 0;
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(from_child), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lm_output out;
        struct lm_error err;
        close(to_child[1]);
        ready = lm_output_reserve(in_dir("r.h5"), 0, &out, &err) == LM_OK ? 'y' : 'n';
        if (write(from_child[1], &ready, 1) != 1 || read(to_child[0], &ready, 1) < 0)
            _exit(1);
        _exit(lm_output_commit(&out, &err));
    }
    close(to_child[0]);
    close(from_child[1]);
    assert_int_equal(read(from_child[0], &ready, 1), 1);
    assert_int_equal(ready, 'y');
    close(from_child[0]);
    return child;
}

static void test_held(void **state)
{
    (void)state;
    int go[2], status;
    pid_t child = start_holder(go);
    char pid[40];
    snprintf(pid, sizeof pid, ", pid %d)", (int)child);
    refused(in_dir("r.h5"), 0, LM_FAILED, pid);
    refused(in_dir("r.h5"), 1, LM_FAILED, "another run (host ");
    assert_true(scratch_exists(dir, "r.h5.part")); /* still the child's */
    assert_true(scratch_exists(dir, "r.h5.lock"));
    assert_int_equal(truncate(in_dir("r.h5.lock"), 0), 0);
    snprintf(pid, sizeof pid, "(pid %d)", (int)child);
    refused(in_dir("r.h5"), 0, LM_FAILED, pid); /* the kernel knows it too */
    close(go[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    only_file("r.h5");
    refused(in_dir("r.h5"), 0, LM_BAD_INPUT, "exists");
}

static void test_killed(void **state)
{
    (void)state;
    int go[2], status;
    pid_t child = start_holder(go);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(go[1]);
    assert_true(scratch_exists(dir, "r.h5.part"));
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    assert_int_equal(out.found_stray, 1);
    commit(&out);
    only_file("r.h5");
}

/* Many at once, over and over: never are two inside, which an exclusive file checks. */
static void crowd_member(void)
{
    struct lm_error err;
    alarm(60);
    for (int won = 0; won < 100; won++) {
        struct lm_output out;
        while (lm_output_reserve(in_dir("r.h5"), 1, &out, &err) != LM_OK)
            usleep(50);
        if (mkdir(in_dir("inside"), 0777) != 0 || rmdir(in_dir("inside")) != 0)
            _exit(2);
        if (won % 2 == 0)
            lm_output_abandon(&out);
        else if (lm_output_commit(&out, &err) != LM_OK)
            _exit(3);
    }
    _exit(0);
}

static void test_crowd(void **state)
{
    (void)state;
    pid_t child[4];
    for (int i = 0; i < 4; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            crowd_member();
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    only_file("r.h5");
}

/* ---- the end of a run ---- */

static void appeared_meanwhile(void)
{
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    struct lm_error err = {0, ""};
    write_text(out.part, "mine");
    write_text(in_dir("r.h5"), "somebody's");
    assert_int_equal(lm_output_commit(&out, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "has appeared"));
    assert_non_null(strstr(err.text, "r.h5.part"));
    assert_null(out.path);
    assert_string_equal(content(in_dir("r.h5")), "somebody's");
    assert_string_equal(content(in_dir("r.h5.part")), "mine"); /* a day's work is not thrown away */
    assert_false(scratch_exists(dir, "r.h5.lock"));
    scratch_delete(dir, "r.h5");
    scratch_delete(dir, "r.h5.part");
}

static void test_appeared(void **state)
{
    (void)state;
    appeared_meanwhile();
    link_errno = EPERM; /* a file system without hard links */
    appeared_meanwhile();
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    write_text(out.part, "new");
    commit(&out);
    assert_string_equal(content(in_dir("r.h5")), "new");
    only_file("r.h5");
}

static void test_part_is_gone(void **state)
{
    (void)state;
    struct lm_output out = reserve(in_dir("r.h5"), 0);
    struct lm_error err = {0, ""};
    assert_int_equal(unlink(out.part), 0);
    assert_int_equal(lm_output_commit(&out, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "No such file"));
    assert_false(scratch_exists(dir, "r.h5"));
    assert_false(scratch_exists(dir, "r.h5.lock"));
}

static void test_no_room(void **state)
{
    (void)state;
    struct rlimit old, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    refused(in_dir("r.h5"), 0, LM_FAILED, "File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(scratch_exists(dir, "r.h5.lock"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_new_file),
        T(test_permissions_follow_umask),
        T(test_names),
        T(test_force),
        T(test_abandon),
        T(test_stray),
        T(test_links),
        T(test_bad_paths),
        T(test_read_only_folder),
        T(test_lock_of_another_user),
        T(test_no_locks),
        T(test_held),
        T(test_killed),
        T(test_crowd),
        T(test_appeared),
        T(test_part_is_gone),
        T(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
