/* csv.c: the reader of one letter's file.
 *
 * One pass over the bytes, straight into rows of doubles; nothing is copied, nothing allocated, and no byte beyond the
 * end is read. Nearly every field of real data is a whole number of one to three digits right before a comma, and
 * small_number() reads such a field from one 32-bit word without a branch on its length. Whatever it declines (signs,
 * points, exponents, spaces, the last bytes of a file) goes through lm_decimal_read, so that both ways accept the same
 * language.
 *
 * The parser only finds out where it cannot go on. Why is a question for csv_fault.c, which may look at the line again
 * at leisure: a file is refused once.
 *
 * Left out: quotes, escapes, other separators, headers, comments. A file that has them was not made for this program,
 * and a reader that guesses turns a header into a black image.
 */
#include "csv.h"

#include <math.h>
#include <string.h>

#include "csv_fault.h"
#include "decimal.h"

size_t lm_csv_room(size_t n)
{
    return n / (2 * LM_CSV_FIELDS) + 1;
}

static inline const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* The first byte after the end of line at p, or NULL where p is at no end of line. */
static inline const char *end_of_line(const char *p, const char *end, uint64_t line)
{
    if (p == end)
        return p;
    if (*p == '\n')
        return p + 1;
    if (*p != '\r')
        return NULL;
    if (p + 1 < end)
        return p[1] == '\n' ? p + 2 : NULL;
    /* A CR as the last byte is a CR LF that lost its last byte, as long as lines before it ended in LF. */
    return line > 1 ? end : NULL;
}

static inline uint32_t load_little_endian(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* One to three digits and then a comma, LF or CR at p, where 4 bytes can be read: returns the separator's place, else
 * NULL. The bytes are taken as four numbers, less '0' each; those not in 0 ... 9 leave a bit in their high half. (A sum
 * may carry into the next byte, but only from a byte that is no digit, and only the first of these counts.) */
static inline const char *small_number(const char *p, double *value)
{
    uint32_t w = load_little_endian(p) ^ 0x30303030u;
    uint32_t other = ((w + 0x06060606u) | w) & 0xf0f0f0f0u;

    if (other == 0 || (other & 0xffu) != 0)
        return NULL;
    unsigned bits = (unsigned)__builtin_ctz(other) & 24u; /* 8, 16 or 24: of the digits */
    w <<= 32 - bits;                                      /* they end in the top byte, zeros before them */
    *value = (double)(int)((w >> 8 & 0xff) * 100 + (w >> 16 & 0xff) * 10 + (w >> 24));
    p += bits / 8;
    return *p == ',' || *p == '\n' || *p == '\r' ? p : NULL;
}

/* Any accepted field at p: returns the first byte after it and the blanks round it, or NULL with *fault filled in. */
static const char *any_number(const char *p, const char *end, double *value, struct lm_csv_fault *fault)
{
    const char *q;

    fault->complete = 0;
    fault->at = p = skip_blanks(p, end);
    q = lm_decimal_read(p, end, value);
    if (q == p)
        return NULL;
    fault->value = *value;
    if (!isfinite(*value))
        return NULL;
    fault->complete = 1;
    return fault->at = skip_blanks(q, end);
}

/* One line that is not blank. Returns the next line's first byte, or NULL with *fault filled in. */
static const char *read_row(const char *p, const char *end, double *row, struct lm_csv_fault *fault)
{
    for (int i = 0; i < LM_CSV_FIELDS; i++) {
        const char *q = end - p >= 4 ? small_number(p, &row[i]) : NULL;
        if (!q) {
            fault->field = i + 1;
            q = any_number(p, end, &row[i], fault);
            if (!q)
                return NULL;
        }
        p = q;
        if (i < LM_CSV_FIELDS - 1) {
            if (p == end || *p != ',') {
                fault->field = i + 1, fault->complete = 1, fault->at = p;
                return NULL;
            }
            p++;
        }
    }

    const char *next = end_of_line(p, end, fault->line);
    if (!next)
        fault->field = LM_CSV_FIELDS, fault->complete = 1, fault->at = p;
    return next;
}

int lm_csv_parse(const char *path, const char *text, size_t n, double *row, struct lm_csv_count *count,
                 struct lm_error *err)
{
    const char *end = text + n, *p = text;
    struct lm_csv_fault fault = {.path = path, .text = text, .end = end};

    count->rows = 0;
    count->lines = 0;
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    while (p < end) {
        const char *next;

        fault.line = ++count->lines;
        if ((unsigned char)*p <= ' ' && (next = end_of_line(skip_blanks(p, end), end, fault.line))) {
            p = next;
            continue;
        }
        fault.start = p;
        fault.first = count->rows == 0;
        p = read_row(p, end, row, &fault);
        if (!p)
            return lm_csv_explain(&fault, err);
        row += LM_CSV_FIELDS;
        count->rows++;
    }
    if (count->rows == 0)
        return lm_csv_explain_empty(path, text, end, count->lines, err);
    return LM_OK;
}
