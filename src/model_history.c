/* model_history.c: see model_history.h.
 *
 * Nothing here may cost a run anything: what cannot be read is an empty past, what cannot be written is left out by the
 * caller. The file is never locked: a line is one write, and a file that is begun afresh by two at once is one of the
 * two.
 */
#include "model_history.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_read.h"
#include "number.h"

#define MOST_BYTES ((size_t)4 * LM_HISTORY_BYTES) /* a larger file is none of ours */
#define FIELDS     7
#define LINE       512 /* the key's texts and a digest together have 321 bytes, a phase's line less */

const char *lm_history_phase_name(enum lm_history_phase phase)
{
    static const char *const name[LM_HISTORY_PHASES] = {"train", "infer"};
    return name[phase];
}

void lm_machine_digest(const struct lm_machine *machine, char hex[LM_SHA256_HEX])
{
    struct lm_sha256 hash;
    char number[LM_FLOAT_TEXT];
    lm_sha256_begin(&hash);
    for (size_t k = 0; k < lm_machine_values; k++) { /* as the file has them: in float32's digits */
        lm_float_text((float)lm_machine_value_of(machine, &lm_machine_table[k]), number);
        lm_sha256_add(&hash, lm_machine_table[k].name, strlen(lm_machine_table[k].name) + 1);
        lm_sha256_add(&hash, number, strlen(number) + 1);
    }
    lm_sha256_end(&hash, hex);
}

/* The first line, without its end. */
static void make_head(const struct lm_machine *machine, char head[LINE])
{
    char digest[LM_SHA256_HEX];
    const struct lm_machine_key *key = &machine->key;
    lm_machine_digest(machine, digest);
    snprintf(head, LINE, "%s|%s|%s|%s|%s|%s", LM_HISTORY_MAGIC, key->gpu, key->driver, key->cpu, key->build, digest);
    for (char *c = head; *c; c++)
        if ((unsigned char)*c < ' ') /* a key made by hand stays one line */
            *c = ' ';
}

/* ---- reading ---- */

/* Cuts a line at its tabs, in place. 1: it has as many fields as it should. */
static int cut(char *line, char *field[FIELDS])
{
    int n = 0;
    for (char *next = line; next; n++) {
        if (n == FIELDS)
            return 0;
        field[n] = next;
        if ((next = strchr(next, '\t')))
            *next++ = '\0';
    }
    return n == FIELDS;
}

static int number_of(const char *text, double *value)
{
    return lm_read_real(text, strlen(text), value) && *value > 0.0;
}

/* 1: the line was one. */
static int take_line(char *line, struct lm_past *past)
{
    char *field[FIELDS];
    double size, predicted, measured;
    const struct lm_history_class *c = past->phase[0].entry; /* for the lengths of its texts */
    int phase = 0;
    if (!cut(line, field))
        return 0;
    while (phase < LM_HISTORY_PHASES && strcmp(field[0], lm_history_phase_name((enum lm_history_phase)phase)) != 0)
        phase++;
    if (phase == LM_HISTORY_PHASES || !field[1][0] || strlen(field[1]) >= sizeof c->device ||
        strlen(field[2]) >= sizeof c->where || !number_of(field[3], &size) || size < 1.0 ||
        !number_of(field[4], &predicted) || !number_of(field[5], &measured) || strcmp(field[6], "s") != 0)
        return 0;
    const struct lm_prediction p = {.device = field[1], .where = field[2], .seconds = predicted};
    lm_history_add(&past->phase[phase], &p, size, measured);
    return 1;
}

static void take_lines(char *text, size_t n, const char *head, struct lm_past *past)
{
    int first = 1;
    for (char *line = text, *next; line < text + n && !past->foreign; line = next, first = 0) {
        char *end = memchr(line, '\n', (size_t)(text + n - line));
        next = end ? end + 1 : text + n;
        *(end ? end : text + n) = '\0'; /* there is room for one behind the last */
        if (first)
            past->foreign = strcmp(line, head) != 0;
        else if (strlen(line) != (size_t)((end ? end : text + n) - line) || (*line && !take_line(line, past)))
            past->bad++;
        else if (*line)
            past->lines++;
    }
}

int lm_history_read(const char *path, const struct lm_machine *machine, struct lm_past *past, struct lm_error *err)
{
    char head[LINE];
    uint8_t *bytes = NULL;
    size_t n;
    memset(past, 0, sizeof *past);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return LM_OK;
    int code = lm_file_read(path, MOST_BYTES, &bytes, &n, err);
    if (code != LM_OK)
        return code;
    make_head(machine, head);
    past->foreign = n == 0;
    take_lines((char *)bytes, n, head, past);
    free(bytes);
    return LM_OK;
}

/* ---- writing ---- */

static int write_all(int fd, const char *bytes, size_t n)
{
    ssize_t done = write(fd, bytes, n); /* a rest written later might stand behind another program's line */
    if (done >= 0 && (size_t)done < n)
        errno = ENOSPC;
    return done >= 0 && (size_t)done == n;
}

static int cannot(const char *path, struct lm_error *err)
{
    return lm_fail(err, LM_FAILED, "%s: cannot be written: %s", path, strerror(errno));
}

/* A whole new file: the head, kept lines (n bytes), the line. */
static int begin_afresh(const char *path, const char *head, const char *kept, size_t n, const char *line,
                        struct lm_error *err)
{
    char *part = NULL;
    if (asprintf(&part, "%s.%ld.part", path, (long)getpid()) < 0)
        return lm_fail_memory(err, strlen(path) + 32, "a file's name");
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int good = fd >= 0 && write_all(fd, head, strlen(head)) && write_all(fd, "\n", 1) && write_all(fd, kept, n) &&
               write_all(fd, line, strlen(line));
    if (fd >= 0 && close(fd) != 0)
        good = 0;
    good = good && rename(part, path) == 0;
    int code = good ? LM_OK : cannot(path, err);
    if (!good && fd >= 0)
        unlink(part);
    free(part);
    return code;
}

/* The file's last lines: a pointer to the first of those that stay. */
static const char *last_lines(const char *text, size_t n)
{
    const char *from = text + n - LM_HISTORY_BYTES / 2, *line = memchr(from, '\n', LM_HISTORY_BYTES / 2);
    return line ? line + 1 : text + n;
}

static int shorten(const char *path, const char *head, const char *line, struct lm_error *err)
{
    uint8_t *bytes = NULL;
    size_t n;
    int code = lm_file_read(path, MOST_BYTES, &bytes, &n, err);
    if (code != LM_OK) /* so large that it is none of ours */
        return begin_afresh(path, head, "", 0, line, err);
    const char *text = (const char *)bytes, *from = n > LM_HISTORY_BYTES / 2 ? last_lines(text, n) : text + n;
    code = begin_afresh(path, head, from, (size_t)(text + n - from), line, err);
    free(bytes);
    return code;
}

enum kind { OURS, FOREIGN, UNENDED };

static enum kind kind_of(int fd, off_t size, const char *head)
{
    char begin[LINE + 1] = "", last = '\n';
    size_t n = strlen(head);
    ssize_t got = pread(fd, begin, n + 1, 0);
    if (got != (ssize_t)(n + 1) || memcmp(begin, head, n) != 0 || begin[n] != '\n')
        return FOREIGN;
    return pread(fd, &last, 1, size - 1) == 1 && last != '\n' ? UNENDED : OURS;
}

/* line: an end of line, which is left out unless the file lacks one, and the line. (Where another program is just
 * writing, it may seem to lack one: an empty line more.) */
static int append(const char *path, const char *head, const char *line, struct lm_error *err)
{
    struct stat status;
    const char *own = line + 1;
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? begin_afresh(path, head, "", 0, own, err) : cannot(path, err);
    int code = LM_OK, regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    enum kind kind = regular ? kind_of(fd, status.st_size, head) : FOREIGN;
    const char *text = kind == UNENDED ? line : own;
    if (!regular)
        code = lm_fail(err, LM_FAILED, "%s: cannot be written: it is no file", path);
    else if (kind == FOREIGN)
        code = begin_afresh(path, head, "", 0, own, err);
    else if (status.st_size > LM_HISTORY_BYTES)
        code = shorten(path, head, own, err);
    else if (!write_all(fd, text, strlen(text)))
        code = cannot(path, err);
    close(fd);
    return code;
}

int lm_history_append(const char *path, const struct lm_machine *machine, enum lm_history_phase phase,
                      const struct lm_prediction *candidate, double size, double measured, struct lm_error *err)
{
    char head[LINE], line[LINE], number[3][LM_FLOAT_TEXT];
    const double value[3] = {size, candidate->seconds, measured};
    for (int k = 0; k < 3; k++) {
        if (!(value[k] > 0.0) || !((float)value[k] > 0.0f) || !isfinite((float)value[k]))
            return LM_OK;
        lm_float_text((float)value[k], number[k]);
    }
    if (size < 1.0)
        return LM_OK;
    make_head(machine, head);
    snprintf(line, sizeof line, "\n%s\t%s\t%s\t%s\t%s\t%s\ts\n", lm_history_phase_name(phase), candidate->device,
             candidate->where, number[0], number[1], number[2]);
    return append(path, head, line, err);
}
