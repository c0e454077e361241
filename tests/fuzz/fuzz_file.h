/* fuzz_file.h: what the fuzz targets share: bytes as a file with a name, and what must hold of every message.
 *
 * A target breaks a promise by ending the process (abort): libFuzzer, and replay.c, then name the input.
 */
#ifndef TEST_FUZZ_FILE_H
#define TEST_FUZZ_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_demand(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

enum { FUZZ_NAME = 64 };

static inline void fuzz_remove(void)
{
    char name[FUZZ_NAME];
    snprintf(name, sizeof name, "/dev/shm/libras-fuzz-%ld", (long)getpid());
    unlink(name);
}

/* The bytes as a file, this process's only one: the next call replaces it. In memory, but with a name in a folder,
 * since HDF5 looks for the folder. */
static inline void fuzz_file(const uint8_t *data, size_t size, char name[FUZZ_NAME])
{
    static int is_first = 1;
    if (is_first)
        atexit(fuzz_remove);
    is_first = 0;
    snprintf(name, FUZZ_NAME, "/dev/shm/libras-fuzz-%ld", (long)getpid());
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_demand(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0, "a file in memory");
}

/* The promises of status.h: a known code, and one line of text that says something and names the input. With
 * FUZZ_GOOD=1 in the environment every input must be accepted: else a target that refuses all would prove nothing. */
static inline void fuzz_message(int code, const struct lm_error *err, const char *name)
{
    if (code == LM_OK)
        return;
    if (getenv("FUZZ_GOOD"))
        fuzz_demand(0, err->text);
    fuzz_demand(code == LM_BAD_INPUT || code == LM_FAILED, "a failure has a code of its own");
    fuzz_demand(code == err->code, "the code returned is the code stored");
    fuzz_demand(memchr(err->text, '\0', sizeof err->text) != NULL && err->text[0] != '\0', "a message");
    fuzz_demand(strpbrk(err->text, "\n\r") == NULL, "a message is one line");
    fuzz_demand(!name || strstr(err->text, name) != NULL, "a message names the file");
}

#endif
