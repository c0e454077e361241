/* import_report.c: see import.h. */
#include <string.h>

#include "import.h"

void lm_import_count(struct lm_import *import)
{
    for (uint64_t i = 0; i < import->list.n; i++)
        import->count[import->list.photo[i].label][import->state[i]]++;
    for (int c = 0; c < LM_CLASSES; c++) {
        import->taken[c] = import->count[c][LM_IMPORT_BOXED] + import->count[c][LM_IMPORT_WHOLE];
        import->n_taken += import->taken[c];
        import->letters += import->taken[c] > 0;
    }
}

static void report_row(const char *name, const uint64_t count[LM_IMPORT_STATES], FILE *f)
{
    uint64_t out = count[LM_IMPORT_LEFT_OUT] + count[LM_IMPORT_NOT_BUILT_IN];
    uint64_t taken = count[LM_IMPORT_BOXED] + count[LM_IMPORT_WHOLE];
    fprintf(f, "%-9s %9llu %9llu %9llu %9llu %9llu\n", name, (unsigned long long)(taken + out),
            (unsigned long long)taken, (unsigned long long)count[LM_IMPORT_BOXED],
            (unsigned long long)count[LM_IMPORT_WHOLE], (unsigned long long)out);
}

static void report_letters(const struct lm_import *import, FILE *f)
{
    uint64_t total[LM_IMPORT_STATES] = {0};
    fprintf(f, "%-9s %9s %9s %9s %9s %9s\n", "letter", "pictures", "taken", "by box", "whole", "left out");
    for (int c = 0; c < LM_CLASSES; c++) {
        char name[2] = {LM_LETTERS[c], '\0'};
        report_row(name, import->count[c], f);
        for (int s = 0; s < LM_IMPORT_STATES; s++)
            total[s] += import->count[c][s];
    }
    report_row("total", total, f);
}

static void report_remarks(const struct lm_import *import, int taken, const char *head, FILE *f)
{
    for (uint64_t i = 0; i < import->list.n; i++)
        if (import->remark[i] && (import->state[i] >= LM_IMPORT_BOXED) == taken)
            fprintf(f, "%-11s %s\n", head, import->remark[i]);
}

void lm_import_report(const struct lm_import *import, FILE *f)
{
    struct lm_error line;
    report_letters(import, f);
    fputc('\n', f);
    report_remarks(import, 0, "left out", f);
    report_remarks(import, 1, "taken", f);
    for (uint64_t k = 0; k < import->list.n_strays; k++) {
        lm_fail(&line, LM_OK, "%s", import->list.names + import->list.stray[k]); /* one line of UTF-8 */
        fprintf(f, "%-11s %s\n", "passed over", line.text);
    }
}

static uint64_t in_state(const struct lm_import *import, int state)
{
    uint64_t n = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        n += import->count[c][state];
    return n;
}

int lm_import_enough(const struct lm_import *import, struct lm_error *err)
{
    const struct lm_options *options = import->call->options;
    uint64_t not_built_in = in_state(import, LM_IMPORT_NOT_BUILT_IN), out = in_state(import, LM_IMPORT_LEFT_OUT);
    char few[LM_CLASSES + 1] = "";
    for (int c = 0; c < LM_CLASSES; c++)
        if (import->taken[c] < 2)
            few[strlen(few)] = LM_LETTERS[c];
    if (not_built_in)
        return lm_fail(
            err, LM_UNAVAILABLE,
            "%llu pictures need a library that this program was built without (`libras_mpi info` names them); "
            "nothing was written",
            (unsigned long long)not_built_in);
    if (import->n_taken == 0)
        return lm_fail(err, LM_BAD_INPUT, "%s: no picture could be taken; nothing was written", options->operand[0]);
    if (options->packed == LM_PACKING_NONE && *few)
        return lm_fail(
            err, LM_BAD_INPUT,
            "%s: fewer than 2 pictures of %s could be taken, and training needs 2 of each letter; nothing was "
            "written (--packed u8 FILE takes any number, for infer)",
            options->operand[0], few);
    if (out && options->quiet)
        lm_say(import->call->world, "%llu pictures were left out; without -q each is named", (unsigned long long)out);
    return LM_OK;
}
