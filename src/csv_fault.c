/* csv_fault.c: why a line could not be read, in one sentence that helps to mend the file.
 *
 * The parser hands over the place where it had to stop. The likely cause is looked for in three rings, the widest
 * first, because a wide cause (the encoding, a header) makes many narrow ones (a strange byte, a text):
 *
 *   the file     UTF-16, line ends of CR alone
 *   the line     a mark of some dialect: sep=, a comment, semicolons, tabs, quotes
 *   the field    missing, too many, empty, nan, hexadecimal, out of range, half a number, text
 *
 * Bytes of the file are shown quoted, cut short and made printable: a message is one line of text.
 */
#include "csv_fault.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csv.h"

#define SHOWN 40

static const char *line_end(const struct lm_csv_fault *f)
{
    const char *newline = memchr(f->start, '\n', (size_t)(f->end - f->start));
    const char *stop = newline ? newline : f->end;
    int with_cr = stop > f->start && stop[-1] == '\r' && (newline || f->line > 1); /* as in csv.c */
    return with_cr ? stop - 1 : stop;
}

static size_t count_bytes(const char *p, const char *end, char byte)
{
    size_t n = 0;
    for (; p < end; p++)
        n += *p == byte;
    return n;
}

/* Letters of ASCII only: what ctype.h calls a letter depends on the locale. */
static int is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* Whether the text begins with the word, in capitals or not. word: small letters, signs and bytes above 127. */
static int begins(const char *p, const char *end, const char *word)
{
    for (; *word; word++, p++)
        if (p >= end || (is_letter(*p) ? *p | 0x20 : *p) != *word)
            return 0;
    return 1;
}

/* The field's text up to the next separator, for a message: at most 32 bytes, and no byte that is not ASCII. */
static void show_field(const char *p, const char *end, char text[SHOWN])
{
    size_t n = 0;
    const char *stop = p;

    while (stop < end && *stop != ',' && *stop != ';' && *stop != '\r')
        stop++;
    while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    for (; p < stop && n < 32; p++)
        text[n++] = *p >= ' ' && *p <= '~' ? *p : '?';
    snprintf(text + n, SHOWN - n, "%s", p < stop ? "..." : "");
}

/* "path:line:column: 64 comma-separated numbers were expected: ", and then the reason. */
static int report(const struct lm_csv_fault *f, struct lm_error *err, const char *reason)
{
    return lm_fail(err, LM_BAD_INPUT, "%s:%llu:%zu: %d comma-separated numbers were expected: %s", f->path,
                   (unsigned long long)f->line, (size_t)(f->at - f->start) + 1, LM_CSV_FIELDS, reason);
}

/* Ring 1. A text in UTF-16 begins with its own byte order mark, or has a NUL beside every digit. */
static const char *fault_of_file(const struct lm_csv_fault *f, const char *stop)
{
    const unsigned char *b = (const unsigned char *)f->text;
    size_t n = (size_t)(f->end - f->text);

    if (n >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff)))
        return "the file is in UTF-16: save it as plain text (CSV, UTF-8)";
    if (f->first && n >= 4 && ((b[0] == 0 && b[2] == 0) || (b[1] == 0 && b[3] == 0)))
        return "NUL bytes between the characters: is the file in UTF-16? Save it as plain text (CSV, UTF-8)";
    if (f->at < stop && *f->at == '\r')
        return memchr(f->text, '\n', n) ? "a carriage return (CR) that is not followed by a line feed (LF)"
                                        : "the lines end in carriage returns (CR) alone, as on old Macintoshes: save "
                                          "the file with LF or CR LF line ends";
    return NULL;
}

/* Ring 2, by the byte that could not be read. */
static const char *fault_of_byte(const struct lm_csv_fault *f, const char *stop)
{
    if (f->at >= stop)
        return NULL;
    if (begins(f->at, stop, "\xEF\xBB\xBF"))
        return "a UTF-8 byte order mark that is not at the beginning of the file: were files joined?";
    if (begins(f->at, stop, "\xE2\x88\x92"))
        return "a typographic minus sign (U+2212): write -";
    if (begins(f->at, stop, "\xC2\xA0"))
        return "a no-break space (U+00A0): use plain spaces, or none";
    switch (*f->at) {
    case '\0':
        return "a NUL byte: is the file damaged, or not a text?";
    case '"':
    case '\'':
        return "values in quotes: write plain numbers";
    case '#':
    case '%':
        return "a comment: only numbers are accepted";
    }
    return begins(f->at, stop, "//") ? "a comment: only numbers are accepted" : NULL;
}

/* Ring 2, by separators other than the comma. text: room for a reason with figures in it. */
static const char *fault_of_dialect(const struct lm_csv_fault *f, const char *stop, char *text, size_t size)
{
    size_t semicolons = count_bytes(f->start, stop, ';'), commas = count_bytes(f->start, stop, ',');
    size_t tabs = count_bytes(f->start, stop, '\t');

    if (begins(f->start, stop, "sep="))
        return "a line that names the separator (Excel's sep=): remove it, and separate the values by commas";
    if (semicolons > 0) {
        snprintf(text, size, "%zu semicolon%s%s: separate the values by commas%s", semicolons,
                 semicolons == 1 ? "" : "s", commas ? " beside commas (decimal commas?)" : " as separators",
                 commas ? " and write decimal points" : "");
        return text;
    }
    if (commas == 0 && tabs > 0 && f->complete && f->at < stop)
        return "tabs as separators: separate the values by commas";
    if (f->complete && f->at < stop && (f->at[-1] == ' ' || f->at[-1] == '\t')) {
        snprintf(text, size, "field %d: a space inside a value, or a missing comma", f->field);
        return text;
    }
    return NULL;
}

/* Ring 3, all that could be read being numbers: a count that is not 64. */
static const char *fault_of_count(const struct lm_csv_fault *f, const char *stop, char *text, size_t size)
{
    size_t found = count_bytes(f->start, stop, ',') + 1;
    const char *last = stop, *hint = "";

    while (last > f->start && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    if (last > f->start && last[-1] == ',')
        snprintf(text, size, "%zu fields found, the last one empty: a trailing comma?", found);
    else {
        if (found == 2 * LM_CSV_FIELDS)
            hint = ": decimal commas? Write decimal points";
        else if (found > LM_CSV_FIELDS + 1)
            hint = ": decimal commas in some of the values, or two lines joined?";
        snprintf(text, size, "%zu field%s found%s", found, found == 1 ? "" : "s", hint);
    }
    return text;
}

/* Ring 3, something follows a number that was read: "12abc", "1.2.3", "0x1A", "1e". */
static const char *fault_of_tail(const struct lm_csv_fault *f, const char *stop, char *text, size_t size)
{
    const char *field = f->at;
    char shown[SHOWN];
    int hexadecimal;

    while (field > f->start && field[-1] != ',')
        field--;
    while (field < f->at && (*field == ' ' || *field == '\t'))
        field++;
    show_field(field, stop, shown);
    hexadecimal = (*f->at | 0x20) == 'x' && f->at[-1] == '0';
    if (hexadecimal)
        snprintf(text, size, "field %d: '%s' is hexadecimal: write decimal numbers", f->field, shown);
    else if (*f->at == '.')
        snprintf(text, size, "field %d: '%s' has a second decimal point", f->field, shown);
    else if ((*f->at | 0x20) == 'e')
        snprintf(text, size, "field %d: '%s' has no digits in its exponent", f->field, shown);
    else
        snprintf(text, size, "field %d: '%s' is not a number: '%.1s' follows its digits", f->field, shown,
                 *f->at >= ' ' && *f->at <= '~' ? f->at : "?");
    return text;
}

static int is_word(const char *p, const char *stop, const char *word)
{
    const char *next = p + strlen(word);
    return begins(p, stop, word) && (next == stop || !is_letter(*next));
}

/* Ring 3, no number could be read at all, or one that is too large for a double. */
static const char *fault_of_value(const struct lm_csv_fault *f, const char *stop, char *text, size_t size)
{
    const char *p = f->at, *bare = p;
    char shown[SHOWN];

    show_field(p, stop, shown);
    if (p < stop && (*p == '+' || *p == '-'))
        bare = p + 1;
    if (p == stop || *p == ',')
        snprintf(text, size, "field %d is empty", f->field);
    else if (is_word(bare, stop, "nan") || is_word(bare, stop, "inf") || is_word(bare, stop, "infinity") ||
             is_word(bare, stop, "na"))
        snprintf(text, size, "field %d: '%s' is not a finite number", f->field, shown);
    else if (isinf(f->value))
        snprintf(text, size, "field %d: '%s' is beyond the range of a double, so not finite", f->field, shown);
    else if (f->first && is_letter(*p))
        snprintf(text, size, "field %d: '%s' is not a number: a header line? Remove it", f->field, shown);
    else
        snprintf(text, size, "field %d: '%s' is not a number", f->field, shown);
    return text;
}

int lm_csv_explain(const struct lm_csv_fault *f, struct lm_error *err)
{
    const char *stop = line_end(f), *reason;
    char text[300];

    reason = fault_of_file(f, stop);
    if (!reason)
        reason = fault_of_byte(f, stop);
    if (!reason)
        reason = fault_of_dialect(f, stop, text, sizeof text);
    if (!reason && f->at >= stop && count_bytes(f->start, stop, ',') + 1 != LM_CSV_FIELDS)
        reason = fault_of_count(f, stop, text, sizeof text);
    if (!reason && f->complete && *f->at == ',')
        reason = fault_of_count(f, stop, text, sizeof text);
    if (!reason && f->complete)
        reason = fault_of_tail(f, stop, text, sizeof text);
    if (!reason)
        reason = fault_of_value(f, stop, text, sizeof text);
    return report(f, err, reason);
}

int lm_csv_explain_empty(const char *path, const char *text, const char *end, uint64_t lines, struct lm_error *err)
{
    if (text == end)
        return lm_fail(err, LM_BAD_INPUT, "%s: the file is empty: %d comma-separated numbers a line were expected",
                       path, LM_CSV_FIELDS);
    if (lines == 0)
        return lm_fail(err, LM_BAD_INPUT,
                       "%s: the file has a byte order mark and nothing else: %d comma-separated numbers a line were "
                       "expected",
                       path, LM_CSV_FIELDS);
    return lm_fail(err, LM_BAD_INPUT,
                   "%s: %llu line%s, all of them blank: %d comma-separated numbers a line were expected", path,
                   (unsigned long long)lines, lines == 1 ? "" : "s", LM_CSV_FIELDS);
}
