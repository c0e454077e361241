/* fuzz_csv.c: any bytes as a letter's file. What is accepted is read once more, field by field, by strtod. */
#include <math.h>

#include "csv.h"
#include "fuzz_file.h"

/* A text that was accepted is lines of 64 fields of plain numbers, and blank lines. */
static void check_values(const char *text, size_t size, const double *row, size_t n)
{
    const char *p = text, *end = text + size;
    char field[4096];
    if (size >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    for (size_t k = 0; k < n; k++) {
        while (p < end && strchr(" \t\r\n", *p))
            p++;
        size_t length = 0;
        while (p + length < end && !strchr(",\r\n", p[length]))
            length++;
        if (length < sizeof field) {
            memcpy(field, p, length);
            field[length] = '\0';
            double value = strtod(field, NULL);
            fuzz_demand(memcmp(&value, &row[k], sizeof value) == 0, "a value is the double nearest to its text");
        }
        p += length + (p + length < end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lm_csv_count count = {0};
    struct lm_error err = {0, ""};
    char *text = malloc(size ? size : 1); /* of exactly that size: a byte beyond it is seen */
    double *row = malloc(lm_csv_room(size) * LM_CSV_FIELDS * sizeof *row);
    fuzz_demand(text && row, "memory");
    if (size)
        memcpy(text, data, size);
    int code = lm_csv_parse("x/A.csv", text, size, row, &count, &err);
    fuzz_message(code, &err, "x/A.csv");
    fuzz_demand(code != LM_FAILED, "a text is good or bad");
    if (code == LM_OK) {
        fuzz_demand(count.rows > 0 && count.rows <= lm_csv_room(size) && count.rows <= count.lines, "counts");
        for (size_t k = 0; k < count.rows * LM_CSV_FIELDS; k++)
            fuzz_demand(isfinite(row[k]) != 0, "all values are finite");
        check_values(text, size, row, (size_t)count.rows * LM_CSV_FIELDS);
    }
    free(text);
    free(row);
    return 0;
}
