/* results_model.c: the group /model of a results file: what a run predicted of its times, what it chose and why, and
 * what it then took. Optional: older files lack it, and nobody's answer depends on it.
 */
#include <stdlib.h>
#include <string.h>

#include "h5util.h"
#include "results_reader.h"
#include "results_writer.h"

#define MOST_ROWS 4096 /* a file has tens */

static int put_rows(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    int status = lm_h5_put_text_attribute(group, "decided_by", results->decided_by, err);
    if (status == LM_OK)
        status = lm_h5_put_text_attribute(group, "decision", results->decision, err);
    if (status == LM_OK)
        status = lm_h5_put_scale(group, "candidate", "number of the candidate", 0, results->n_model, err);
    return status == LM_OK ? lm_results_put_table(group, &lm_layout_model, results->model, results->n_model, err)
                           : status;
}

int lm_results_put_model(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err)
{
    hid_t group;
    if (results->n_model == 0)
        return LM_OK;
    int status = lm_h5_make_group(writer->file, "model", &group, err);
    if (status == LM_OK)
        status = put_rows(group, results, err);
    return lm_h5_close(group, status, err);
}

static int load_text(struct lm_h5_source *source, hid_t group, const char *name, char *text, size_t size,
                     struct lm_error *err)
{
    char *found;
    int status = lm_h5_get_text_attribute(source, group, name, &found, err);
    if (status != LM_OK)
        return lm_fail_within(err, "/model: ");
    if (strlen(found) < size)
        strcpy(text, found);
    else
        status = lm_fail(err, LM_BAD_INPUT, "/model: attribute %s: a text of %zu bytes; at most %zu are allowed", name,
                         strlen(found), size - 1);
    free(found);
    return status;
}

static int load_rows(struct lm_results_reader *reader, hid_t group, struct lm_results *out, struct lm_error *err)
{
    uint64_t n = 0;
    int status = lm_results_get_length(&reader->source, group, "candidate", &n, err);
    if (status == LM_OK && n > MOST_ROWS)
        status = lm_fail(err, LM_BAD_INPUT, "/model: %llu candidates; at most %d are allowed", (unsigned long long)n,
                         MOST_ROWS);
    if (status == LM_OK)
        status = lm_results_check_table(&reader->source, "model", &lm_layout_model, n, err);
    if (status != LM_OK)
        return status;
    out->model = calloc(n + 1, sizeof *out->model);
    if (!out->model)
        return lm_fail_memory(err, n * sizeof *out->model, "the predictions");
    out->n_model = (size_t)n;
    return lm_results_get_table(&reader->source, group, &lm_layout_model, out->model, n, err);
}

int lm_results_load_model(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    struct lm_h5_source *source = &reader->source;
    htri_t there = H5Lexists(source->file, "model", H5P_DEFAULT);
    if (there <= 0)
        return there < 0 ? lm_h5_fail(err, LM_BAD_INPUT, source->file, "model", "cannot be looked for") : LM_OK;
    int status = lm_h5_open_group(source->file, "model", &group, err);
    if (status == LM_OK)
        status = load_text(source, group, "decided_by", out->decided_by, sizeof out->decided_by, err);
    if (status == LM_OK)
        status = load_text(source, group, "decision", out->decision, sizeof out->decision, err);
    if (status == LM_OK)
        status = load_rows(reader, group, out, err);
    return lm_h5_close(group, status, err);
}
