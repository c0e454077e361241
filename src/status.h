/* status.h: how a library function says that it failed.
 *
 * Every function that can fail returns an int: LM_OK, or the exit code with which the program should end if nobody
 * can do better. The last parameter, `struct lm_error *err`, receives one line of text: what went wrong, where, and
 * what to do. The library never prints, exits or aborts: only the program decides to stop, on all ranks alike.
 */
#ifndef LM_STATUS_H
#define LM_STATUS_H

enum lm_code {
    LM_OK = 0,
    LM_FAILED = 1,      /* failed while running */
    LM_BAD_INPUT = 2,   /* bad usage, bad data, bad file */
    LM_MISMATCH = 3,    /* a validation found other bits */
    LM_UNAVAILABLE = 4, /* a device or another resource that was asked for is not there */
    LM_STOPPED = 75     /* stopped by a signal, at a point from which the work can go on */
};

struct lm_error {
    int code;        /* an lm_code */
    char text[1000]; /* UTF-8, one line: control characters become blanks; cut with "..." where it is longer */
};

/* Fills *err and returns code, so that a caller can write `return lm_fail(err, LM_BAD_INPUT, "...", ...)`. */
int lm_fail(struct lm_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The failure that has one text everywhere: "out of memory: SIZE bytes for WHAT". Returns LM_FAILED. */
int lm_fail_memory(struct lm_error *err, unsigned long long bytes, const char *what);

/* Puts a prefix before the text already in *err ("trial 7: ") and returns err->code. */
int lm_fail_within(struct lm_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
