/* results_read.c: opens a results file, and reads what streams: losses and weights. The rest is results_load.c.
 *
 * The data sets that stream stay open from the first call to the last: to open one costs more than to read a row.
 */
#include <stdlib.h>
#include <string.h>

#include "h5util.h"
#include "results_reader.h"

#define PIECE_BYTES ((size_t)1 << 20)

/* ---- open ---- */

static int check_format(struct lm_results_reader *reader, struct lm_error *err)
{
    hid_t file = reader->source.file;
    char *format;
    int status = lm_h5_get_text_attribute(&reader->source, file, "format", &format, err);
    if (status != LM_OK)
        return lm_fail_within(err, "it is an HDF5 file, but not a results file: ");
    if (strcmp(format, LM_FORMAT_NAME) != 0)
        status = lm_fail(err, LM_BAD_INPUT, "its format is '%.40s', not '%s'", format, LM_FORMAT_NAME);
    free(format);
    if (status == LM_OK)
        status = lm_h5_get_number_attribute(file, "format_version", &reader->format_version, err);
    if (status == LM_OK)
        status = lm_h5_get_number_attribute(file, "arithmetic_version", &reader->arithmetic_version, err);
    if (status != LM_OK)
        return status;
    if (reader->format_version > LM_FORMAT_VERSION)
        return lm_fail(err, LM_BAD_INPUT, "its format version is %u, and this program reads up to %d: use a newer one",
                       (unsigned)reader->format_version, LM_FORMAT_VERSION);
    if (reader->format_version == 0)
        return lm_fail(err, LM_BAD_INPUT, "its format version is 0, which there never was");
    return LM_OK;
}

static int open_loss(struct lm_results_reader *reader, struct lm_error *err)
{
    hid_t group;
    uint64_t dims[2] = {LM_H5_ANY, LM_H5_ANY};
    int status = lm_h5_open_group(reader->source.file, "trials", &group, err);
    if (status == LM_OK)
        status = lm_h5_open_array(&reader->source, group, "loss", LM_KIND_F64, 2, dims, &reader->loss, err);
    /* With no epochs, loss takes no bytes, and says nothing about the trials: the scale does. */
    if (status == LM_OK) {
        hid_t scale;
        status = lm_h5_open_array(&reader->source, group, "trial", LM_KIND_I64, 1, dims, &scale, err);
        status = lm_h5_close(scale, status, err);
    }
    reader->n_trials = dims[0];
    reader->max_epochs = dims[1];
    return lm_h5_close(group, status, err);
}

/* ---- the groups of weights ---- */

static int read_trials(struct lm_results_reader *reader, hid_t id, struct lm_stored_group *group, struct lm_error *err)
{
    uint64_t rows = LM_H5_ANY;
    hid_t scale;
    int status = lm_h5_open_array(&reader->source, id, "trial", LM_KIND_I64, 1, &rows, &scale, err);
    if (status != LM_OK)
        return status;
    group->rows = rows;
    group->trial = malloc(rows * sizeof *group->trial + 1);
    if (!group->trial)
        status = lm_fail_memory(err, rows * sizeof *group->trial, "the trials of the kept weights");
    else if (rows > 0 && H5Dread(scale, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, group->trial) < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, scale, NULL, "cannot read");
    /* A negative number is a very large one here. */
    for (uint64_t row = 0; row < rows && status == LM_OK; row++) {
        if (group->trial[row] >= reader->n_trials || (row > 0 && group->trial[row] <= group->trial[row - 1]))
            status = lm_fail(err, LM_BAD_INPUT, "damaged: trial number %lld in row %llu", (long long)group->trial[row],
                             (unsigned long long)row);
    }
    return lm_h5_close(scale, status, err);
}

static int open_parts(struct lm_results_reader *reader, hid_t id, struct lm_stored_group *group, struct lm_error *err)
{
    int status = LM_OK;
    for (int p = 0; p < LM_PARTS && status == LM_OK; p++) {
        struct lm_part_layout layout;
        lm_layout_part(group->shape, group->rows, p, &layout);
        status = lm_h5_open_array(&reader->source, id, layout.name, LM_KIND_F32, layout.rank, layout.dims,
                                  &group->part[p], err);
    }
    return status;
}

static int open_stored_group(struct lm_results_reader *reader, hid_t weights, const char *name, struct lm_error *err)
{
    struct lm_stored_group *group = &reader->group[reader->n_groups];
    *group = (struct lm_stored_group){.rows = 0};
    for (int p = 0; p < LM_PARTS; p++)
        group->part[p] = -1;
    if (!lm_shape_parse(name, &group->shape))
        return lm_fail(err, LM_BAD_INPUT, "/weights/%.40s is named after no network that this program knows", name);
    reader->n_groups++;
    hid_t id;
    int status = lm_h5_open_group(weights, name, &id, err);
    if (status == LM_OK)
        status = read_trials(reader, id, group, err);
    if (status == LM_OK)
        status = open_parts(reader, id, group, err);
    if (status != LM_OK)
        lm_fail_within(err, "/weights/%s: ", name);
    return lm_h5_close(id, status, err);
}

/* In the order in which they were made; in a file that another tool has copied without it, in that of their names. */
static int listing_order(hid_t group, H5_index_t *order, struct lm_error *err)
{
    unsigned flags = 0;
    int status = LM_OK;
    hid_t properties = H5Gget_create_plist(group);
    if (properties < 0 || H5Pget_link_creation_order(properties, &flags) < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, group, NULL, "damaged");
    *order = flags & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    return lm_h5_close(properties, status, err);
}

static int open_stored_groups(struct lm_results_reader *reader, hid_t weights, struct lm_error *err)
{
    H5G_info_t info;
    H5_index_t order;
    int status = listing_order(weights, &order, err);
    if (status != LM_OK)
        return status;
    if (H5Gget_info(weights, &info) < 0)
        return lm_h5_fail(err, LM_BAD_INPUT, weights, NULL, "damaged");
    const hsize_t most = (hsize_t)LM_MAX_HIDDEN * LM_MAX_HIDDEN; /* as many as there are shapes */
    if (info.nlinks > most)
        return lm_fail(err, LM_BAD_INPUT, "/weights has more groups than there are shapes of networks");
    reader->group = calloc((size_t)info.nlinks + 1, sizeof *reader->group);
    if (!reader->group)
        return lm_fail_memory(err, info.nlinks * sizeof *reader->group, "the groups of weights");
    for (hsize_t i = 0; i < info.nlinks && status == LM_OK; i++) {
        char name[LM_SHAPE_TEXT] = "";
        ssize_t n = H5Lget_name_by_idx(weights, ".", order, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        if (n < 0)
            status = lm_h5_fail(err, LM_BAD_INPUT, weights, NULL, "damaged");
        else
            status = open_stored_group(reader, weights, name, err);
    }
    return status;
}

static int open_steps(struct lm_results_reader *reader, struct lm_error *err)
{
    hid_t weights;
    int status = check_format(reader, err);
    if (status == LM_OK)
        status = open_loss(reader, err);
    if (status != LM_OK)
        return status;
    status = lm_h5_open_group(reader->source.file, "weights", &weights, err);
    if (status == LM_OK)
        status = open_stored_groups(reader, weights, err);
    return lm_h5_close(weights, status, err);
}

int lm_results_open(const char *path, struct lm_results_reader **out, struct lm_error *err)
{
    *out = NULL;
    struct lm_results_reader *reader = calloc(1, sizeof *reader);
    char *copy = strdup(path);
    if (!reader || !copy) {
        free(reader);
        free(copy);
        return lm_fail_memory(err, sizeof *reader + strlen(path), "a results file");
    }
    reader->path = copy;
    reader->loss = -1;
    int status = lm_h5_source_open(path, &reader->source, err);
    if (status != LM_OK) {
        free(copy);
        free(reader);
        return lm_fail_within(err, "cannot read '%s': ", path);
    }
    status = open_steps(reader, err);
    if (status != LM_OK) {
        lm_fail_within(err, "cannot read '%s': ", path);
        lm_results_close(reader);
        return status;
    }
    *out = reader;
    return LM_OK;
}

void lm_results_close(struct lm_results_reader *reader)
{
    struct lm_error ignored; /* nothing was written: a close that fails loses nothing */
    if (!reader)
        return;
    lm_h5_close(reader->loss, LM_FAILED, &ignored);
    lm_results_close_stored_scores(reader);
    for (size_t g = 0; g < reader->n_groups; g++) {
        for (int p = 0; p < LM_PARTS; p++)
            lm_h5_close(reader->group[g].part[p], LM_FAILED, &ignored);
        free(reader->group[g].trial);
    }
    lm_h5_source_close(&reader->source);
    free(reader->group);
    free(reader->path);
    free(reader);
}

/* ---- rows ---- */

/* Rows first ... first + n - 1 of a data set of shape dims. */
static int read_rows(hid_t data_set, hid_t memory_type, int rank, const uint64_t *dims, uint64_t first, uint64_t n,
                     void *values, struct lm_error *err)
{
    const hsize_t whole[3] = {dims[0], dims[1], dims[2]}, start[3] = {first, 0, 0}, count[3] = {n, dims[1], dims[2]};
    int status = LM_OK;
    hid_t file = H5Screate_simple(rank, whole, NULL), memory = H5Screate_simple(rank, count, NULL);
    if (file < 0 || memory < 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        H5Dread(data_set, memory_type, memory, file, H5P_DEFAULT, values) < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, data_set, NULL, "cannot read");
    status = lm_h5_close(memory, status, err);
    return lm_h5_close(file, status, err);
}

static int fail_range(const struct lm_results_reader *reader, const char *what, uint64_t first, uint64_t n,
                      struct lm_error *err)
{
    return lm_fail(err, LM_FAILED, "'%s' has no %s %llu to %llu", reader->path, what, (unsigned long long)first,
                   (unsigned long long)(first + n));
}

int lm_results_get_loss(struct lm_results_reader *reader, uint64_t first, uint64_t n, double *loss,
                        struct lm_error *err)
{
    if (first > reader->n_trials || n > reader->n_trials - first)
        return fail_range(reader, "losses of trials", first, n, err);
    if (n == 0 || reader->max_epochs == 0)
        return LM_OK;
    const uint64_t dims[3] = {reader->n_trials, reader->max_epochs, 1};
    if (read_rows(reader->loss, H5T_NATIVE_DOUBLE, 2, dims, first, n, loss, err) != LM_OK)
        return lm_fail_within(err, "cannot read '%s': ", reader->path);
    return LM_OK;
}

/* n rows of one part, by way of `piece`, into their place in the parameter arrays. */
static int get_part(const struct lm_stored_group *group, int p, uint64_t first, uint64_t n, float *piece,
                    float *parameters, struct lm_error *err)
{
    struct lm_part_layout layout;
    lm_layout_part(group->shape, group->rows, p, &layout);
    int status = read_rows(group->part[p], H5T_NATIVE_FLOAT, layout.rank, layout.dims, first, n, piece, err);
    const size_t floats = lm_network_floats(group->shape);
    for (uint64_t i = 0; i < n && status == LM_OK; i++)
        memcpy(parameters + i * floats + layout.offset, piece + i * layout.floats, layout.floats * sizeof(float));
    return status;
}

static int get_parameters(const struct lm_stored_group *group, uint64_t first, uint64_t n, float *parameters,
                          struct lm_error *err)
{
    const size_t floats = lm_network_floats(group->shape);
    uint64_t most = PIECE_BYTES / (floats * sizeof(float)) + 1;
    float *piece = malloc(most * floats * sizeof *piece);
    if (!piece)
        return lm_fail_memory(err, most * floats * sizeof *piece, "a piece of the weights");
    int status = LM_OK;
    for (uint64_t done = 0; done < n && status == LM_OK; done += most) {
        uint64_t now = n - done < most ? n - done : most;
        for (int p = 0; p < LM_PARTS && status == LM_OK; p++)
            status = get_part(group, p, first + done, now, piece, parameters + done * floats, err);
    }
    free(piece);
    return status;
}

int lm_results_get_weights(struct lm_results_reader *reader, size_t group, uint64_t first, uint64_t n,
                           float *parameters, uint64_t *trial, struct lm_error *err)
{
    if (group >= reader->n_groups || first > reader->group[group].rows || n > reader->group[group].rows - first)
        return fail_range(reader, "weights in rows", first, n, err);
    const struct lm_stored_group *stored = &reader->group[group];
    if (trial)
        memcpy(trial, stored->trial + first, n * sizeof *trial);
    if (parameters && get_parameters(stored, first, n, parameters, err) != LM_OK)
        return lm_fail_within(err, "cannot read '%s': ", reader->path);
    return LM_OK;
}
