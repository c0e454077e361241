/* model_machine.c: the machine's file and its key. Every line is looked at: a file that is half understood would give
 * half a prediction. */
#include "model_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_read.h"
#include "nearest.h"
#include "number.h"

#define MOST_BYTES      ((size_t)1 << 20)
#define MOST_PARAMETERS 128
#define KEYS            4

void lm_machine_clear(struct lm_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->error = 0.2;
}

int lm_machine_has_gpu(const struct lm_machine *machine)
{
    return machine->gpu.multiprocessors > 0.0;
}

/* ---- the key ---- */

struct key_text {
    const char *name, *what;
    char *text;
    size_t size;
};

static void key_texts(struct lm_machine_key *key, struct key_text text[KEYS])
{
    text[0] = (struct key_text){"key.gpu", "the GPU", key->gpu, sizeof key->gpu};
    text[1] = (struct key_text){"key.driver", "the GPU's driver", key->driver, sizeof key->driver};
    text[2] = (struct key_text){"key.cpu", "the processor", key->cpu, sizeof key->cpu};
    text[3] = (struct key_text){"key.build", "the program", key->build, sizeof key->build};
}

int lm_machine_check(const struct lm_machine *machine, const struct lm_machine_key *key, int may_lack_gpu,
                     const char *name, struct lm_error *err)
{
    struct lm_machine_key is = machine->key, here = *key;
    struct key_text a[KEYS], b[KEYS];
    key_texts(&is, a);
    key_texts(&here, b);
    for (int k = 0; k < KEYS; k++) {
        if (strcmp(a[k].text, b[k].text) == 0 || (k < 2 && may_lack_gpu && is.gpu[0] == '\0'))
            continue;
        return lm_fail(err, LM_BAD_INPUT, "%s: not of this machine: %s is '%s' there and '%s' here; calibrate again",
                       name, a[k].what, a[k].text[0] ? a[k].text : "none", b[k].text[0] ? b[k].text : "none");
    }
    return LM_OK;
}

void lm_machine_cpu_name(char *text, size_t size)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(text, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (f)
        fclose(f);
}

/* ---- reading ---- */

struct reading {
    const char *name;
    size_t line;
    struct lm_machine *machine;
    char seen[MOST_PARAMETERS + KEYS];
    struct lm_error *err;
};

static int bad(struct reading *r, const char *what, const char *key)
{
    return lm_fail(r->err, LM_BAD_INPUT, "%s:%zu: %s: %s", r->name, r->line, key, what);
}

static int unknown_key(struct reading *r, const char *key)
{
    const char *name[MOST_PARAMETERS + KEYS];
    struct key_text text[KEYS];
    key_texts(&r->machine->key, text);
    for (size_t k = 0; k < lm_machine_values; k++)
        name[k] = lm_machine_table[k].name;
    for (int k = 0; k < KEYS; k++)
        name[lm_machine_values + (size_t)k] = text[k].name;
    const char *nearest = lm_nearest(key, name, lm_machine_values + KEYS);
    return lm_fail(r->err, LM_BAD_INPUT, "%s:%zu: '%s' is no key of a machine%s%s%s", r->name, r->line, key,
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int take_text(struct reading *r, int k, const char *value, const char *unit)
{
    struct key_text text[KEYS];
    key_texts(&r->machine->key, text);
    if (strcmp(unit, "text") != 0)
        return bad(r, "its unit is text", text[k].name);
    if (strlen(value) >= text[k].size)
        return bad(r, "the text is too long", text[k].name);
    memcpy(text[k].text, value, strlen(value) + 1);
    return LM_OK;
}

static int take_number(struct reading *r, const struct lm_machine_value *p, const char *value, const char *unit)
{
    double number;
    if (strcmp(unit, p->unit) != 0)
        return lm_fail(r->err, LM_BAD_INPUT, "%s:%zu: %s: its unit is %s, not '%s'", r->name, r->line, p->name, p->unit,
                       unit);
    if (!lm_read_real(value, strlen(value), &number) || number < p->least || number > p->most)
        return lm_fail(r->err, LM_BAD_INPUT, "%s:%zu: %s: '%s' is no number from %g to %g", r->name, r->line, p->name,
                       value, p->least, p->most);
    lm_machine_value_set(r->machine, p, number);
    return LM_OK;
}

/* key, value and unit of a line, cut in place: the first word, the last one, and what stands between. */
static int take_line(struct reading *r, char *line)
{
    struct key_text text[KEYS];
    size_t end = strlen(line);
    while (end > 0 && strchr(" \t\r", line[end - 1]))
        line[--end] = '\0';
    char *key = line + strspn(line, " \t");
    if (*key == '\0' || *key == '#')
        return LM_OK;
    char *value = key + strcspn(key, " \t"), *unit = line + end;
    while (unit > value && !strchr(" \t", unit[-1]))
        unit--;
    if (unit <= value)
        return lm_fail(r->err, LM_BAD_INPUT, "%s:%zu: a line is `key value unit`, not '%s'", r->name, r->line, key);
    unit[-1] = '\0';
    *value++ = '\0';
    value = value < unit ? value + strspn(value, " \t") : unit - 1;
    for (size_t n = strlen(value); n > 0 && strchr(" \t", value[n - 1]);)
        value[--n] = '\0';
    if (*value == '\0')
        return bad(r, "there is no value", key);
    size_t k = 0;
    while (k < lm_machine_values && strcmp(key, lm_machine_table[k].name) != 0)
        k++;
    key_texts(&r->machine->key, text);
    if (k == lm_machine_values)
        while (k < lm_machine_values + KEYS && strcmp(key, text[k - lm_machine_values].name) != 0)
            k++;
    if (k == lm_machine_values + KEYS)
        return unknown_key(r, key);
    if (r->seen[k]++)
        return bad(r, "it stands there twice", key);
    if (k >= lm_machine_values)
        return take_text(r, (int)(k - lm_machine_values), value, unit);
    return take_number(r, &lm_machine_table[k], value, unit);
}

/* What must be there is; a machine has all of a GPU or nothing of it. */
static int check_complete(struct reading *r)
{
    size_t of_gpu = 0;
    for (size_t k = 0; k < lm_machine_values; k++)
        of_gpu += lm_machine_table[k].need == LM_FOR_GPU && r->seen[k];
    for (size_t k = 0; k < lm_machine_values; k++) {
        const struct lm_machine_value *p = &lm_machine_table[k];
        if (!r->seen[k] && p->least > 0.0 && (p->need == LM_FOR_CPU || (p->need == LM_FOR_GPU && of_gpu > 0)))
            return lm_fail(r->err, LM_BAD_INPUT, "%s: %s is missing (%s, %s)", r->name, p->name, p->what, p->unit);
    }
    return LM_OK;
}

static int parse_lines(struct reading *r, char *text, size_t n)
{
    int code = LM_OK;
    for (char *line = text, *next; line < text + n && code == LM_OK; line = next) {
        char *end = memchr(line, '\n', (size_t)(text + n - line));
        next = end ? end + 1 : text + n;
        *(end ? end : text + n) = '\0'; /* there is room for one behind the last */
        r->line++;
        if (strlen(line) != (size_t)((end ? end : text + n) - line))
            return lm_fail(r->err, LM_BAD_INPUT, "%s:%zu: a byte 0", r->name, r->line);
        if (r->line == 1) {
            line[strcspn(line, "\r")] = '\0';
            if (strcmp(line, LM_MACHINE_MAGIC) != 0)
                code = lm_fail(r->err, LM_BAD_INPUT, "%s: no machine's file: it does not begin with '%s'", r->name,
                               LM_MACHINE_MAGIC);
        } else
            code = take_line(r, line);
    }
    return code;
}

int lm_machine_parse(const char *name, const char *text, size_t n, struct lm_machine *out, struct lm_error *err)
{
    struct reading r = {.name = name, .machine = out, .err = err};
    lm_machine_clear(out);
    char *copy = malloc(n + 1);
    if (!copy)
        return lm_fail_memory(err, n + 1, "a machine's file");
    memcpy(copy, text, n);
    int code = parse_lines(&r, copy, n);
    if (code == LM_OK && r.line == 0)
        code = lm_fail(err, LM_BAD_INPUT, "%s: no machine's file: it is empty", name);
    if (code == LM_OK)
        code = check_complete(&r);
    free(copy);
    return code;
}

int lm_machine_read(const char *path, struct lm_machine *out, struct lm_error *err)
{
    uint8_t *bytes = NULL;
    size_t n;
    int code = lm_file_read(path, MOST_BYTES, &bytes, &n, err);
    if (code == LM_OK)
        code = lm_machine_parse(path, (const char *)bytes, n, out, err);
    free(bytes);
    return code;
}

/* ---- writing ---- */

int lm_machine_print(const struct lm_machine *machine, FILE *f)
{
    struct lm_machine_key copy = machine->key;
    struct key_text text[KEYS];
    char number[LM_FLOAT_TEXT];
    int good = fprintf(f, "%s\n", LM_MACHINE_MAGIC) > 0;
    key_texts(&copy, text);
    for (int k = 0; k < KEYS; k++)
        if (text[k].text[0])
            good = fprintf(f, "%s %s text\n", text[k].name, text[k].text) > 0 && good;
    for (size_t k = 0; k < lm_machine_values; k++) {
        const struct lm_machine_value *p = &lm_machine_table[k];
        double value = lm_machine_value_of(machine, p);
        if (value != 0.0)
            good = fprintf(f, "%s %s %s\n", p->name, lm_float_text((float)value, number), p->unit) > 0 && good;
    }
    return fflush(f) == 0 && good;
}

/* What would not be read again is not written. */
static int check_numbers(const struct lm_machine *machine, const char *path, struct lm_error *err)
{
    for (size_t k = 0; k < lm_machine_values; k++) {
        const struct lm_machine_value *p = &lm_machine_table[k];
        double value = lm_machine_value_of(machine, p);
        if (value != 0.0 && !(value >= p->least && value <= p->most))
            return lm_fail(err, LM_FAILED, "%s: not written: %s is %g, which no machine has (was it too busy?)", path,
                           p->name, value);
    }
    return LM_OK;
}

int lm_machine_write(const struct lm_machine *machine, const char *path, struct lm_error *err)
{
    if (check_numbers(machine, path, err) != LM_OK)
        return err->code;
    size_t size = strlen(path) + 32;
    char *part = malloc(size);
    if (!part)
        return lm_fail_memory(err, size, "a file's name");
    snprintf(part, size, "%s.%ld.part", path, (long)getpid());
    FILE *f = fopen(part, "w");
    int good = f && lm_machine_print(machine, f) && fsync(fileno(f)) == 0, number = errno;
    if (f && fclose(f) != 0 && good) {
        good = 0;
        number = errno;
    }
    if (good && rename(part, path) != 0) {
        good = 0;
        number = errno;
    }
    int code = good ? LM_OK : lm_fail(err, LM_FAILED, "%s: cannot be written: %s", path, strerror(number));
    if (!good && f)
        unlink(part);
    free(part);
    return code;
}
