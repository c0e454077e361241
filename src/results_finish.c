/* results_finish.c: the second half of the writer: all that is known when the run ends, a function a group. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5util.h"
#include "results_layout.h"
#include "results_writer.h"

/* ---- helpers ---- */

int lm_results_put_table(hid_t group, const struct lm_table *table, const void *rows, uint64_t n, struct lm_error *err)
{
    int status = LM_OK;
    for (size_t i = 0; i < table->n && status == LM_OK; i++)
        status = lm_h5_put_column(group, &table->column[i], rows, table->stride, n, err);
    return status;
}

int lm_results_put_classes(hid_t group, const char *name, const char *long_name, struct lm_error *err)
{
    char text[LM_CLASSES][2];
    for (int c = 0; c < LM_CLASSES; c++)
        lm_layout_class(c, text[c]);
    const struct lm_column column = {name, name, long_name, .kind = LM_KIND_CHARS, .size = sizeof text[0]};
    return lm_h5_put_column(group, &column, text, sizeof text[0], LM_CLASSES, err);
}

static int put_whole(hid_t group, const struct lm_h5_array *array, hid_t memory, const void *values,
                     struct lm_error *err)
{
    hid_t data_set;
    int status = lm_h5_make_array(group, array, &data_set, err);
    if (status == LM_OK && H5Dwrite(data_set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = lm_h5_fail(err, LM_FAILED, group, array->name, "cannot write");
    return lm_h5_close(data_set, status, err);
}

/* ---- a function a group ---- */

static int put_root(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err)
{
    int status = lm_h5_put_text_attribute(writer->file, "format", LM_FORMAT_NAME, err);
    if (status == LM_OK)
        status = lm_h5_put_number_attribute(writer->file, "format_version", LM_FORMAT_VERSION, err);
    if (status == LM_OK)
        status = lm_h5_put_number_attribute(writer->file, "arithmetic_version", results->arithmetic_version, err);
    if (status == LM_OK)
        status = lm_h5_put_text_attribute(writer->file, "created", results->created, err);
    if (status == LM_OK)
        status = lm_h5_put_text_attribute(writer->file, "title", results->title ? results->title : "", err);
    return status;
}

static int put_provenance(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    int status = LM_OK;
    for (size_t i = 0; i < results->n_notes && status == LM_OK; i++)
        status = lm_h5_put_text_attribute(group, results->notes[i].name, results->notes[i].value, err);
    return status;
}

static int put_split(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    int status = LM_OK;
    for (int i = 0; i < LM_SPLIT_PARTS && status == LM_OK; i++) {
        const struct lm_split_part *part = &lm_layout_split[i];
        size_t n;
        const uint32_t *index;
        memcpy(&n, (const char *)results + part->n_offset, sizeof n);
        memcpy(&index, (const char *)results + part->index_offset, sizeof index);
        status = lm_h5_put_scale(group, part->axis, part->axis_long_name, 0, n, err);
        if (status == LM_OK)
            status = lm_h5_put_column(group, &part->column, index, sizeof *index, n, err);
    }
    return status;
}

static int put_dataset(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    static const struct lm_column path = {"path", NULL, "where the data were read", .kind = LM_KIND_TEXT,
                                          .offset = offsetof(struct lm_results, data_path)};
    int status = lm_results_put_classes(group, "classes", "letter", err);
    if (status == LM_OK)
        status = lm_h5_put_scale(group, "pixel", "grey value, row by row", 0, LM_PIXELS, err);
    for (int i = 0; i < LM_DATASET_FIELDS && status == LM_OK; i++) {
        const struct lm_field *field = &lm_layout_dataset[i];
        status = lm_h5_put_column(group, &field->column, results, lm_kind_bytes(field->column.kind), field->n, err);
    }
    if (status == LM_OK)
        status = lm_h5_put_column(group, &path, results, 0, 1, err);
    if (status == LM_OK)
        status = lm_h5_put_column(group, &lm_layout_split_kind, results, 0, 1, err);
    return status == LM_OK ? put_split(group, results, err) : status;
}

static int put_trials(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    int status = lm_results_put_table(group, &lm_layout_trial, results->trial, results->n_trials, err);
    return status == LM_OK ? lm_results_put_table(group, &lm_layout_outcome, results->outcome, results->n_trials, err)
                           : status;
}

static int put_scores(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    const struct lm_h5_array array = {.name = "scores",
                                      .long_name = "output of the network for each class",
                                      .type = H5T_IEEE_F32LE,
                                      .rank = 2,
                                      .dims = {results->n_scores, LM_CLASSES},
                                      .axis = {"sample", "classes"},
                                      .fill = &lm_f32_nan};
    size_t n = results->n_scores * LM_CLASSES;
    float *stored = malloc(n * sizeof *stored);
    if (!stored)
        return lm_fail_memory(err, n * sizeof *stored, "the scores");
    lm_store_f32(stored, results->scores, n);
    int status = put_whole(group, &array, H5T_NATIVE_FLOAT, stored, err);
    free(stored);
    return status;
}

static int put_confusion(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    /* Two scales of the same letters: two axes of one data set cannot share one (xarray refuses). */
    const struct lm_h5_array array = {.name = "confusion",
                                      .long_name = "samples by right and predicted class",
                                      .type = H5T_STD_U64LE,
                                      .rank = 2,
                                      .dims = {LM_CLASSES, LM_CLASSES},
                                      .axis = {"expected_class", "predicted_class"}};
    int status = lm_results_put_classes(group, "expected_class", "right letter", err);
    if (status == LM_OK)
        status = lm_results_put_classes(group, "predicted_class", "predicted letter", err);
    return status == LM_OK ? put_whole(group, &array, H5T_NATIVE_UINT64, results->confusion, err) : status;
}

static int put_inference(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    const uint64_t n = results->n_scores;
    int status = lm_h5_put_column(group, &lm_layout_inference_trial, results, 0, 1, err);
    if (n == 0 || status != LM_OK)
        return status;
    if (results->streamed)
        return results->unlabelled ? LM_OK : put_confusion(group, results, err);
    status = lm_h5_put_scale(group, "sample", "position among the scored samples", 0, n, err);
    if (status == LM_OK)
        status = lm_results_put_classes(group, "classes", "letter", err);
    if (status == LM_OK)
        status = put_scores(group, results, err);
    if (status == LM_OK)
        status = lm_h5_put_column(group, &lm_layout_expected, results->expected, 1, n, err);
    if (status == LM_OK)
        status = lm_h5_put_column(group, &lm_layout_predicted, results->predicted, 1, n, err);
    return status == LM_OK ? put_confusion(group, results, err) : status;
}

static int put_validation(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    int status = lm_h5_put_scale(group, "check", "number of the check", 0, results->n_checks, err);
    return status == LM_OK ? lm_results_put_table(group, &lm_layout_check, results->checks, results->n_checks, err)
                           : status;
}

static int put_ranks(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    static const struct lm_column phase = {"phase", "phase", "part of the run", .kind = LM_KIND_TEXT};
    const struct lm_h5_array array = {.name = "rank_seconds",
                                      .long_name = "wall time of each part of the run",
                                      .units = "s",
                                      .type = H5T_IEEE_F64LE,
                                      .rank = 2,
                                      .dims = {results->n_ranks, LM_PHASES},
                                      .axis = {"rank", "phase"}};
    int status = lm_h5_put_scale(group, "rank", "MPI rank", 0, results->n_ranks, err);
    if (status == LM_OK)
        status = lm_h5_put_column(group, &phase, lm_phase_name, sizeof lm_phase_name[0], LM_PHASES, err);
    if (status == LM_OK)
        status = lm_results_put_table(group, &lm_layout_rank, results->ranks, results->n_ranks, err);
    if (status != LM_OK)
        return status;
    double *seconds = malloc((results->n_ranks + 1) * sizeof results->ranks->seconds);
    if (!seconds)
        return lm_fail_memory(err, results->n_ranks * sizeof results->ranks->seconds, "the times of the ranks");
    for (size_t r = 0; r < results->n_ranks; r++)
        lm_store_f64(seconds + r * LM_PHASES, results->ranks[r].seconds, LM_PHASES);
    status = put_whole(group, &array, H5T_NATIVE_DOUBLE, seconds, err);
    free(seconds);
    return status;
}

static int put_execution(hid_t group, const struct lm_results *results, struct lm_error *err)
{
    const uint64_t n = results->n_scores;
    int status = lm_h5_put_scale(group, "trial", "number of the trial", 0, results->n_trials, err);
    if (status == LM_OK)
        status = lm_results_put_table(group, &lm_layout_execution, results->execution, results->n_trials, err);
    if (status == LM_OK && results->streamed)
        return put_ranks(group, results, err);
    if (status == LM_OK)
        status = lm_h5_put_scale(group, "sample", "position among the scored samples", 0, n, err);
    if (status == LM_OK)
        status = lm_h5_put_column(group, &lm_layout_sample_rank, results->sample_rank, sizeof(int32_t), n, err);
    return status == LM_OK ? put_ranks(group, results, err) : status;
}

/* ---- the end of the streams ---- */

static int complete_loss(struct lm_results_writer *writer, struct lm_error *err)
{
    double *filling = malloc((size_t)writer->max_epochs * sizeof *filling + 1);
    if (!filling)
        return lm_fail_memory(err, writer->max_epochs * sizeof *filling, "a row of losses");
    for (uint64_t e = 0; e < writer->max_epochs; e++)
        memcpy(filling + e, &lm_f64_nan, sizeof lm_f64_nan);
    int status = lm_rows_complete(&writer->loss, filling, err);
    free(filling);
    return status;
}

/* A reader looks for a trial's weights by its number, so each row must have one, and they must ascend. */
static int check_kept(const struct lm_kept_group *kept, struct lm_error *err)
{
    char name[LM_SHAPE_TEXT];
    lm_shape_text(kept->shape, name);
    for (uint64_t row = 0; row < kept->rows.total; row++) {
        if (!lm_rows_has(&kept->rows, row))
            return lm_fail(err, LM_FAILED, "/weights/%s: row %llu was never put", name, (unsigned long long)row);
        if (row > 0 && kept->trial[row - 1] >= kept->trial[row])
            return lm_fail(err, LM_FAILED, "/weights/%s: trial %llu of row %llu is not greater than the row before it",
                           name, (unsigned long long)kept->trial[row], (unsigned long long)row);
    }
    return LM_OK;
}

static int complete_kept(struct lm_kept_group *kept, struct lm_error *err)
{
    int status = check_kept(kept, err);
    if (status == LM_OK)
        status = lm_rows_complete(&kept->rows, NULL, err); /* no row is missing */
    if (status == LM_OK && kept->rows.total > 0 &&
        H5Dwrite(kept->trial_set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, kept->trial) < 0)
        status = lm_h5_fail(err, LM_FAILED, kept->trial_set, NULL, "cannot write");
    return status;
}

/* ---- finish ---- */

static int put_all(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err)
{
    if (results->n_trials != writer->n_trials || results->max_epochs != writer->max_epochs)
        return lm_fail(err, LM_FAILED, "it was made for other trials than it is finished with");
    int status = put_root(writer, results, err);
    if (status == LM_OK)
        status = put_provenance(writer->group[LM_GROUP_PROVENANCE], results, err);
    if (status == LM_OK)
        status = put_dataset(writer->group[LM_GROUP_DATASET], results, err);
    if (status == LM_OK)
        status = complete_loss(writer, err);
    if (status == LM_OK)
        status = put_trials(writer->group[LM_GROUP_TRIALS], results, err);
    for (size_t i = 0; i < writer->n_kept && status == LM_OK; i++)
        status = complete_kept(&writer->kept[i], err);
    if (status == LM_OK)
        status = lm_results_end_scores(writer, results, err);
    if (status == LM_OK)
        status = put_inference(writer->group[LM_GROUP_INFERENCE], results, err);
    if (status == LM_OK)
        status = put_validation(writer->group[LM_GROUP_VALIDATION], results, err);
    if (status == LM_OK)
        status = put_execution(writer->group[LM_GROUP_EXECUTION], results, err);
    if (status == LM_OK)
        status = lm_results_put_model(writer, results, err);
    return status == LM_OK ? lm_results_put_sweep(writer, results, err) : status;
}

static int flush_to_disk(const char *path, struct lm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return lm_fail(err, LM_FAILED, "cannot open it again: %s", strerror(errno));
    int failed = fsync(fd) != 0 ? errno : 0;
    if (close(fd) != 0 && !failed)
        failed = errno;
    return failed ? lm_fail(err, LM_FAILED, "cannot flush it to disk: %s", strerror(failed)) : LM_OK;
}

int lm_results_finish(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err)
{
    char *path = strdup(writer->path);
    int status = path ? put_all(writer, results, err) : lm_fail_memory(err, strlen(writer->path), "a name");
    status = lm_results_close_writer(writer, status, err);
    if (status == LM_OK)
        status = flush_to_disk(path, err);
    if (status != LM_OK)
        lm_fail_within(err, "cannot write '%s': ", path ? path : "results");
    free(path);
    return status;
}
