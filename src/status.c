/* status.c: see status.h. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

/* A cut text ends in "...", and not within a character: the bytes of a UTF-8 character after its first are 10xxxxxx. */
static void mark_cut(char *text, size_t size, int wanted)
{
    if (wanted < 0 || (size_t)wanted < size)
        return;
    size_t end = size - 4;
    for (int k = 0; k < 3 && ((unsigned char)text[end] & 0xC0) == 0x80; k++)
        end--;
    memcpy(text + end, "...", 4);
}

/* What the user gave (a path, a value) may hold line breaks and bytes that are no UTF-8; a message is one line of it.
 */
static void keep_to_one_line(char *text)
{
    lm_utf8_mend(text);
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7F)
            *text = ' ';
}

int lm_fail(struct lm_error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    mark_cut(err->text, sizeof err->text, wanted);
    keep_to_one_line(err->text);
    err->code = code;
    return code;
}

int lm_fail_memory(struct lm_error *err, unsigned long long bytes, const char *what)
{
    return lm_fail(err, LM_FAILED, "out of memory: %llu bytes for %s", bytes, what);
}

int lm_fail_within(struct lm_error *err, const char *format, ...)
{
    char whole[sizeof err->text];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(whole, sizeof whole, format, args);
    va_end(args);
    if (used < 0 || (size_t)used >= sizeof whole)
        return err->code;
    int rest = snprintf(whole + used, sizeof whole - (size_t)used, "%s", err->text);
    mark_cut(whole, sizeof whole, used + rest);
    keep_to_one_line(whole);
    memcpy(err->text, whole, sizeof whole);
    return err->code;
}
