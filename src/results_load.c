/* results_load.c: everything of a results file but losses and weights, into a struct lm_results, and the checks that
 * make it safe to use: whoever has loaded a file may index by what it says. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "h5util.h"
#include "results_reader.h"

/* ---- helpers ---- */

int lm_results_get_table(struct lm_h5_source *source, hid_t group, const struct lm_table *table, void *rows, uint64_t n,
                         struct lm_error *err)
{
    int status = LM_OK;
    for (size_t i = 0; i < table->n && status == LM_OK; i++)
        status = lm_h5_get_column(source, group, &table->column[i], rows, table->stride, n, err);
    return status;
}

int lm_results_check_table(struct lm_h5_source *source, const char *group_name, const struct lm_table *table,
                           uint64_t n, struct lm_error *err)
{
    hid_t group;
    int status = lm_h5_open_group(source->file, group_name, &group, err);
    for (size_t i = 0; i < table->n && status == LM_OK; i++) {
        hid_t data_set;
        status = lm_h5_open_array(source, group, table->column[i].name, table->column[i].kind, 1, &n, &data_set, err);
        status = lm_h5_close(data_set, status, err);
    }
    return lm_h5_close(group, status, err);
}

int lm_results_get_length(struct lm_h5_source *source, hid_t group, const char *scale, uint64_t *n,
                          struct lm_error *err)
{
    hid_t data_set;
    *n = LM_H5_ANY;
    int status = lm_h5_open_array(source, group, scale, LM_KIND_I64, 1, n, &data_set, err);
    return lm_h5_close(data_set, status, err);
}

static void *zeros(uint64_t n, size_t size)
{
    return calloc(n ? n : 1, size);
}

/* ---- /, /provenance ---- */

static int load_root(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t file = reader->source.file;
    char *created;
    out->format_version = reader->format_version;
    out->arithmetic_version = reader->arithmetic_version;
    int status = lm_h5_get_text_attribute(&reader->source, file, "title", &out->title, err);
    if (status == LM_OK)
        status = lm_h5_get_text_attribute(&reader->source, file, "created", &created, err);
    if (status != LM_OK)
        return status;
    if (strlen(created) < sizeof out->created)
        strcpy(out->created, created);
    else
        status = lm_fail(err, LM_BAD_INPUT, "attribute created: '%.40s' is no time", created);
    free(created);
    return status;
}

struct note_names {
    size_t n, room;
    char **name;
};

static herr_t add_name(hid_t object, const char *name, const H5A_info_t *info, void *into)
{
    (void)object, (void)info;
    struct note_names *names = into;
    if (names->n == names->room) {
        size_t room = names->room ? 2 * names->room : 32;
        char **bigger = realloc(names->name, room * sizeof *bigger);
        if (!bigger)
            return -1;
        names->name = bigger;
        names->room = room;
    }
    names->name[names->n] = strdup(name);
    return names->name[names->n++] ? 0 : -1;
}

static int load_note(struct lm_results_reader *reader, hid_t group, const char *name, struct lm_results *out,
                     struct lm_error *err)
{
    char *value;
    int status = lm_h5_get_text_attribute(&reader->source, group, name, &value, err);
    if (status != LM_OK)
        return status;
    status = lm_results_note(out, name, value, err);
    free(value);
    return status;
}

static int load_provenance(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    struct note_names names = {0};
    int status = lm_h5_open_group(reader->source.file, "provenance", &group, err);
    if (status != LM_OK)
        return status;
    /* By creation order; a file copied by another tool may have lost it. */
    hsize_t from = 0;
    if (H5Aiterate2(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, &from, add_name, &names) < 0) {
        while (names.n > 0)
            free(names.name[--names.n]);
        from = 0;
        if (H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &from, add_name, &names) < 0)
            status = lm_h5_fail(err, LM_BAD_INPUT, -1, NULL, "cannot list its attributes");
    }
    for (size_t i = 0; i < names.n; i++) {
        if (status == LM_OK)
            status = load_note(reader, group, names.name[i], out, err);
        free(names.name[i]);
    }
    free(names.name);
    if (status != LM_OK)
        lm_fail_within(err, "/provenance: ");
    return lm_h5_close(group, status, err);
}

/* ---- /dataset ---- */

static int total_samples(const struct lm_results *results, uint64_t *total, struct lm_error *err)
{
    *total = 0;
    for (int c = 0; c < LM_CLASSES; c++) {
        if (results->count[c] > UINT32_MAX)
            return lm_fail(err, LM_BAD_INPUT, "/dataset/counts: more samples of a letter than can be numbered");
        *total += results->count[c];
    }
    return LM_OK;
}

static int load_split_part(struct lm_results_reader *reader, hid_t group, const struct lm_split_part *part,
                           uint64_t total, struct lm_results *out, struct lm_error *err)
{
    uint64_t n;
    int status = lm_results_get_length(&reader->source, group, part->axis, &n, err);
    if (status != LM_OK)
        return status;
    if (n > total)
        return lm_fail(err, LM_BAD_INPUT, "/dataset/%s: more samples than the data set has", part->axis);
    uint32_t *index = zeros(n, sizeof *index);
    if (!index)
        return lm_fail_memory(err, n * sizeof *index, part->column.name);
    size_t size = (size_t)n;
    memcpy((char *)out + part->n_offset, &size, sizeof size);
    memcpy((char *)out + part->index_offset, &index, sizeof index); /* owned by *out from here on */
    status = lm_h5_get_column(&reader->source, group, &part->column, index, sizeof *index, n, err);
    for (uint64_t i = 0; i < n && status == LM_OK; i++) {
        if (index[i] >= total)
            status = lm_fail(err, LM_BAD_INPUT, "/dataset/%s[%llu]: there is no sample %lu", part->column.name,
                             (unsigned long long)i, (unsigned long)index[i]);
    }
    return status;
}

static int load_split_kind(struct lm_results_reader *reader, hid_t group, struct lm_results *out, struct lm_error *err)
{
    out->split = LM_SPLIT_RANDOM;
    htri_t there = H5Lexists(group, lm_layout_split_kind.name, H5P_DEFAULT);
    if (there < 0)
        return lm_fail(err, LM_BAD_INPUT, "/dataset/%s: cannot be looked for", lm_layout_split_kind.name);
    return there ? lm_h5_get_column(&reader->source, group, &lm_layout_split_kind, out, 0, 1, err) : LM_OK;
}

static int load_dataset(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    int status = lm_h5_open_group(reader->source.file, "dataset", &group, err);
    for (int i = 0; i < LM_DATASET_FIELDS && status == LM_OK; i++) {
        const struct lm_field *field = &lm_layout_dataset[i];
        status = lm_h5_get_column(&reader->source, group, &field->column, out, lm_kind_bytes(field->column.kind),
                                  field->n, err);
    }
    uint64_t total = 0;
    if (status == LM_OK)
        status = total_samples(out, &total, err);
    if (status == LM_OK)
        status = lm_h5_get_text(&reader->source, group, "path", &out->data_path, err);
    if (status == LM_OK)
        status = load_split_kind(reader, group, out, err);
    for (int i = 0; i < LM_SPLIT_PARTS && status == LM_OK; i++)
        status = load_split_part(reader, group, &lm_layout_split[i], total, out, err);
    return lm_h5_close(group, status, err);
}

/* ---- /trials, /weights ---- */

/* A trial that failed may have failed for its values: only one that was trained must have values one can train with. */
static const char *trial_fault(const struct lm_trial *trial, const struct lm_outcome *outcome, uint64_t max_epochs)
{
    if (outcome->epochs_run > trial->epochs)
        return "more epochs run than asked for";
    if (outcome->epochs_run > max_epochs)
        return "more epochs run than there are losses";
    if (outcome->status != LM_TRIAL_OK && outcome->status != LM_TRIAL_DIVERGED)
        return NULL;
    if (trial->epochs > max_epochs)
        return "more epochs than there are losses";
    if (trial->shape.hidden1 < 1 || trial->shape.hidden1 > LM_MAX_HIDDEN || trial->shape.hidden2 < 1 ||
        trial->shape.hidden2 > LM_MAX_HIDDEN)
        return "no such network";
    if (trial->epochs < 1)
        return "no epochs";
    if (trial->block < 32 || trial->block > 1024 || trial->block % 32 != 0)
        return "no such block";
    if (!isfinite(trial->learning_rate) || !isfinite(trial->decay) || !isfinite(trial->initial_range))
        return "a value that is not finite";
    return NULL;
}

static int load_trials(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    const uint64_t n = out->n_trials;
    int status = lm_h5_open_group(reader->source.file, "trials", &group, err);
    if (status == LM_OK)
        status = lm_results_get_table(&reader->source, group, &lm_layout_trial, out->trial, n, err);
    if (status == LM_OK)
        status = lm_results_get_table(&reader->source, group, &lm_layout_outcome, out->outcome, n, err);
    for (uint64_t t = 0; t < n && status == LM_OK; t++) {
        const char *fault = trial_fault(&out->trial[t], &out->outcome[t], reader->max_epochs);
        if (fault)
            status = lm_fail(err, LM_BAD_INPUT, "/trials: trial %llu: %s", (unsigned long long)t, fault);
    }
    return lm_h5_close(group, status, err);
}

static int load_kept(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    out->kept = zeros(reader->n_groups, sizeof *out->kept);
    if (!out->kept)
        return lm_fail_memory(err, reader->n_groups * sizeof *out->kept, "the groups of weights");
    out->n_kept = reader->n_groups;
    for (size_t g = 0; g < reader->n_groups; g++) {
        const struct lm_stored_group *group = &reader->group[g];
        out->kept[g] = (struct lm_kept){.shape = group->shape, .rows = group->rows};
        for (uint64_t row = 0; row < group->rows; row++) {
            if (!lm_shape_equal(out->trial[group->trial[row]].shape, group->shape))
                return lm_fail(err, LM_BAD_INPUT, "/weights: trial %llu is stored under another shape than its own",
                               (unsigned long long)group->trial[row]);
        }
    }
    return LM_OK;
}

/* ---- /inference ---- */

static int load_scores(struct lm_results_reader *reader, hid_t group, struct lm_results *out, struct lm_error *err)
{
    struct lm_h5_source *source = &reader->source;
    uint64_t n, dims[2] = {LM_H5_ANY, LM_CLASSES};
    static const uint64_t square[2] = {LM_CLASSES, LM_CLASSES};
    hid_t scores;
    int status = lm_results_get_length(source, group, "sample", &n, err);
    if (status != LM_OK)
        return status;
    dims[0] = n;
    status = lm_h5_open_array(source, group, "scores", LM_KIND_F32, 2, dims, &scores, err); /* before the room for it */
    status = lm_h5_close(scores, status, err);
    if (status != LM_OK)
        return status;
    out->n_scores = (size_t)n;
    out->scores = zeros(n, LM_CLASSES * sizeof *out->scores);
    out->expected = zeros(n, 1);
    out->predicted = zeros(n, 1);
    if (!out->scores || !out->expected || !out->predicted)
        return lm_fail_memory(err, n * LM_CLASSES * sizeof *out->scores, "the scores");
    status = lm_h5_get_array(source, group, "scores", LM_KIND_F32, 2, dims, out->scores, err);
    if (status == LM_OK)
        status = lm_h5_get_column(source, group, &lm_layout_expected, out->expected, 1, n, err);
    if (status == LM_OK)
        status = lm_h5_get_column(source, group, &lm_layout_predicted, out->predicted, 1, n, err);
    for (uint64_t i = 0; i < n && status == LM_OK; i++) {
        if (out->expected[i] >= LM_CLASSES || out->predicted[i] >= LM_CLASSES)
            status = lm_fail(err, LM_BAD_INPUT, "/inference: sample %llu has no such class", (unsigned long long)i);
    }
    if (status == LM_OK)
        status = lm_h5_get_array(source, group, "confusion", LM_KIND_U64, 2, square, out->confusion, err);
    return status;
}

/* A file whose scores stream says so by having scores, and no list of the samples that they belong to. */
static int load_streamed(struct lm_results_reader *reader, hid_t group, struct lm_results *out, struct lm_error *err)
{
    static const uint64_t square[2] = {LM_CLASSES, LM_CLASSES};
    int status = lm_results_open_scores(reader, err);
    if (status != LM_OK)
        return status;
    out->streamed = 1;
    out->unlabelled = reader->scores.unlabelled;
    out->n_scores = (size_t)reader->scores.n;
    out->metrics = (struct lm_metrics){.n = out->n_scores, .loss = NAN, .accuracy = NAN};
    if (out->unlabelled)
        return LM_OK;
    return lm_h5_get_array(&reader->source, group, "confusion", LM_KIND_U64, 2, square, out->confusion, err);
}

static int load_any_scores(struct lm_results_reader *reader, hid_t group, struct lm_results *out, struct lm_error *err)
{
    uint64_t n;
    int status = lm_results_get_length(&reader->source, group, "sample", &n, err);
    if (status != LM_OK)
        return status;
    if (n > 0 && out->n_test == 0)
        return load_streamed(reader, group, out, err);
    return load_scores(reader, group, out, err);
}

static int load_inference(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    int status = lm_h5_open_group(reader->source.file, "inference", &group, err);
    if (status == LM_OK)
        status = lm_h5_get_column(&reader->source, group, &lm_layout_inference_trial, out, 0, 1, err);
    if (status == LM_OK &&
        (out->inference_trial < -1 || (out->inference_trial >= 0 && (uint64_t)out->inference_trial >= out->n_trials)))
        status =
            lm_fail(err, LM_BAD_INPUT, "/inference/trial: there is no trial %lld", (long long)out->inference_trial);
    htri_t there = status == LM_OK ? H5Lexists(group, "sample", H5P_DEFAULT) : 0;
    if (there < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, group, "sample", "damaged");
    else if (there > 0)
        status = load_any_scores(reader, group, out, err);
    return lm_h5_close(group, status, err);
}

/* ---- /validation, /execution ---- */

static int load_validation(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    uint64_t n = 0;
    int status = lm_h5_open_group(reader->source.file, "validation", &group, err);
    if (status == LM_OK)
        status = lm_results_get_length(&reader->source, group, "check", &n, err);
    if (status == LM_OK)
        status = lm_results_check_table(&reader->source, "validation", &lm_layout_check, n, err);
    if (status == LM_OK) {
        out->checks = zeros(n, sizeof *out->checks);
        out->n_checks = out->checks ? (size_t)n : 0;
        status = out->checks ? lm_results_get_table(&reader->source, group, &lm_layout_check, out->checks, n, err)
                             : lm_fail_memory(err, n * sizeof *out->checks, "the checks");
    }
    return lm_h5_close(group, status, err);
}

static int load_ranks(struct lm_results_reader *reader, hid_t group, struct lm_results *out, struct lm_error *err)
{
    uint64_t dims[2] = {LM_H5_ANY, LM_PHASES};
    int status = lm_results_get_length(&reader->source, group, "rank", &dims[0], err);
    if (status != LM_OK)
        return status;
    const uint64_t n = dims[0];
    status = lm_results_check_table(&reader->source, "execution", &lm_layout_rank, n, err);
    if (status != LM_OK)
        return status;
    out->ranks = zeros(n, sizeof *out->ranks);
    double *seconds = zeros(n, sizeof out->ranks->seconds);
    if (!out->ranks || !seconds)
        status = lm_fail_memory(err, n * sizeof *out->ranks, "the ranks");
    else
        status = lm_results_get_table(&reader->source, group, &lm_layout_rank, out->ranks, n, err);
    if (status == LM_OK)
        status = lm_h5_get_array(&reader->source, group, "rank_seconds", LM_KIND_F64, 2, dims, seconds, err);
    for (uint64_t r = 0; r < n && status == LM_OK; r++)
        memcpy(out->ranks[r].seconds, seconds + r * LM_PHASES, sizeof out->ranks[r].seconds);
    out->n_ranks = status == LM_OK ? (size_t)n : 0;
    free(seconds);
    return status;
}

static int load_execution(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    hid_t group;
    const uint64_t n = out->n_scores;
    int status = lm_h5_open_group(reader->source.file, "execution", &group, err);
    if (status == LM_OK)
        status = lm_results_get_table(&reader->source, group, &lm_layout_execution, out->execution, out->n_trials, err);
    if (status == LM_OK && !out->streamed) {
        out->sample_rank = zeros(n, sizeof *out->sample_rank);
        status = out->sample_rank ? lm_h5_get_column(&reader->source, group, &lm_layout_sample_rank, out->sample_rank,
                                                     sizeof *out->sample_rank, n, err)
                                  : lm_fail_memory(err, n * sizeof *out->sample_rank, "the ranks of the samples");
    }
    if (status == LM_OK)
        status = load_ranks(reader, group, out, err);
    return lm_h5_close(group, status, err);
}

/* ---- */

static int load_steps(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    static int (*const step[])(struct lm_results_reader *, struct lm_results *, struct lm_error *) = {
        load_root,      load_provenance, load_dataset,   load_trials,           load_kept,
        load_inference, load_validation, load_execution, lm_results_load_model, lm_results_load_sweep};
    int status = LM_OK;
    for (size_t i = 0; i < sizeof step / sizeof step[0] && status == LM_OK; i++)
        status = step[i](reader, out, err);
    return status;
}

int lm_results_load(struct lm_results_reader *reader, struct lm_results *out, struct lm_error *err)
{
    struct lm_h5_source *source = &reader->source;
    const uint64_t n = reader->n_trials;
    int status = lm_results_check_table(source, "trials", &lm_layout_trial, n, err);
    if (status == LM_OK)
        status = lm_results_check_table(source, "trials", &lm_layout_outcome, n, err);
    if (status == LM_OK)
        status = lm_results_check_table(source, "execution", &lm_layout_execution, n, err);
    if (status != LM_OK)
        return lm_fail_within(err, "cannot read '%s': ", reader->path);
    status = lm_results_allocate(n, out, err);
    if (status != LM_OK)
        return status;
    out->max_epochs = reader->max_epochs;
    status = load_steps(reader, out, err);
    if (status != LM_OK) {
        lm_results_free(out);
        lm_fail_within(err, "cannot read '%s': ", reader->path);
    }
    return status;
}
