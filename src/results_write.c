/* results_write.c: a results file while the trials come in: losses and weights. The rest, which is there when the run
 * ends, is results_finish.c.
 *
 * The groups are made at the start, in the order in which a reader should meet them, and so are the data sets that
 * stream, whose shapes are known: a folder where HDF5 cannot work (no locks, no room) is found in the first second.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filesystem.h"
#include "h5util.h"
#include "results_layout.h"
#include "results_writer.h"

#define ROOM_FOR_HDF5 ((size_t)16 << 20)

/* A group of weights is one of many, and its rows are long. Losses are one array of short rows, with gaps where trials
 * failed; the longer the buffer, the likelier the gap's row is in it too. */
#define WEIGHTS_BUFFER ((size_t)1 << 20)
#define LOSS_BUFFER    ((size_t)8 << 20)

/* ---- the file ---- */

static int fail_create(struct lm_results_writer *writer, struct lm_error *err)
{
    int number = lm_h5_lock_failure();
    int status = lm_h5_fail(err, LM_FAILED, -1, NULL, "cannot make the file");
    if (lm_filesystem_lacks_locks(number)) {
        char name[32];
        lm_filesystem_name(writer->path, name, sizeof name);
        status = lm_fail(err, LM_FAILED,
                         "HDF5 cannot lock it: %s; its file system (%s) has no file locks: set "
                         "HDF5_USE_FILE_LOCKING=FALSE (nobody else uses this temporary file), or choose an --out on "
                         "another file system",
                         strerror(number), name);
    } else if (number == EAGAIN) {
        status = lm_fail(err, LM_FAILED,
                         "another program has it open, or its file system's locks do not work: if none has, set "
                         "HDF5_USE_FILE_LOCKING=FALSE");
    }
    return status;
}

static int make_file(struct lm_results_writer *writer, struct lm_error *err)
{
    hid_t create;
    int status = lm_h5_order_properties(H5P_FILE_CREATE, &create, err);
    if (status != LM_OK)
        return status;
    /* Default bounds of the format's version: superblock 0, which HDF5 1.8 reads. */
    writer->file = H5Fcreate(writer->path, H5F_ACC_TRUNC, create, H5P_DEFAULT);
    if (writer->file < 0)
        status = fail_create(writer, err);
    return lm_h5_close(create, status, err);
}

static int make_groups(struct lm_results_writer *writer, struct lm_error *err)
{
    static const char *const name[LM_GROUPS] = {"provenance", "dataset",    "trials",   "weights",
                                                "inference",  "validation", "execution"};
    int status = LM_OK;
    for (int i = 0; i < LM_GROUPS && status == LM_OK; i++)
        status = lm_h5_make_group(writer->file, name[i], &writer->group[i], err);
    return status;
}

/* ---- losses ---- */

static int make_loss(struct lm_results_writer *writer, struct lm_error *err)
{
    hid_t group = writer->group[LM_GROUP_TRIALS];
    const uint64_t trials = writer->n_trials, epochs = writer->max_epochs;
    const struct lm_h5_array array = {.name = "loss",
                                      .long_name = "mean training loss of each epoch, NaN where not run",
                                      .type = H5T_IEEE_F64LE,
                                      .rank = 2,
                                      .dims = {trials, epochs},
                                      .axis = {"trial", "epoch"},
                                      .fill = &lm_f64_nan};
    int status = lm_h5_put_scale(group, "trial", "number of the trial", 0, trials, err);
    if (status == LM_OK)
        status = lm_h5_put_scale(group, "epoch", "number of the epoch, from 1", 1, epochs, err);
    if (status == LM_OK)
        status = lm_rows_begin(&writer->loss, trials, (size_t)epochs * sizeof(double), LOSS_BUFFER, err);
    if (status != LM_OK)
        return status;
    struct lm_rows_part *part = &writer->loss.part[0];
    *part = (struct lm_rows_part){.memory = H5T_NATIVE_DOUBLE, .rank = 2, .dims = {trials, epochs}};
    part->bytes = writer->loss.row_bytes;
    writer->loss.n_parts = 1;
    return lm_h5_make_array(group, &array, &part->data_set, err);
}

int lm_results_put_loss(struct lm_results_writer *writer, uint64_t trial, const double *loss, uint64_t epochs,
                        struct lm_error *err)
{
    if (trial >= writer->n_trials || epochs > writer->max_epochs)
        return lm_fail(err, LM_FAILED, "'%s' has no room for the losses of trial %llu, %llu epochs", writer->path,
                       (unsigned long long)trial, (unsigned long long)epochs);
    void *slot;
    int status = lm_rows_slot(&writer->loss, trial, &slot, err);
    if (status != LM_OK)
        return lm_fail_within(err, "cannot write '%s': ", writer->path);
    double *row = slot;
    lm_store_f64(row, loss, epochs);
    for (uint64_t e = epochs; e < writer->max_epochs; e++)
        memcpy(row + e, &lm_f64_nan, sizeof lm_f64_nan);
    return LM_OK;
}

/* ---- weights ---- */

/* The scales of a group of weights. Its trial numbers are written at the end, when they are known. */
static int make_axes(struct lm_kept_group *kept, struct lm_error *err)
{
    const struct lm_h5_array trial = {.name = "trial",
                                      .long_name = "number of the trial",
                                      .type = H5T_STD_I64LE,
                                      .rank = 1,
                                      .dims = {kept->rows.total},
                                      .axis = {"trial"}};
    int status = lm_h5_make_array(kept->group, &trial, &kept->trial_set, err);
    if (status == LM_OK)
        status = lm_h5_put_scale(kept->group, "pixel", "grey value, row by row", 0, LM_PIXELS, err);
    if (status == LM_OK)
        status = lm_h5_put_scale(kept->group, "hidden1", "first hidden neuron", 0, kept->shape.hidden1, err);
    if (status == LM_OK)
        status = lm_h5_put_scale(kept->group, "hidden2", "second hidden neuron", 0, kept->shape.hidden2, err);
    return status == LM_OK ? lm_results_put_classes(kept->group, "classes", "letter", err) : status;
}

static int make_parts(struct lm_kept_group *kept, struct lm_error *err)
{
    int status = LM_OK;
    for (int p = 0; p < LM_PARTS && status == LM_OK; p++) {
        struct lm_part_layout layout;
        lm_layout_part(kept->shape, kept->rows.total, p, &layout);
        struct lm_h5_array array = {.name = layout.name,
                                    .long_name = layout.long_name,
                                    .type = H5T_IEEE_F32LE,
                                    .rank = layout.rank,
                                    .fill = &lm_f32_nan};
        struct lm_rows_part *part = &kept->rows.part[p];
        *part = (struct lm_rows_part){.data_set = -1,
                                      .memory = H5T_NATIVE_FLOAT,
                                      .rank = layout.rank,
                                      .offset = layout.offset * sizeof(float),
                                      .bytes = layout.floats * sizeof(float)};
        for (int d = 0; d < layout.rank; d++) {
            array.dims[d] = part->dims[d] = layout.dims[d];
            array.axis[d] = layout.axis[d];
        }
        kept->rows.n_parts = (size_t)p + 1;
        status = lm_h5_make_array(kept->group, &array, &part->data_set, err);
    }
    return status;
}

static int begin_kept(struct lm_results_writer *writer, struct lm_kept_group *kept, uint64_t rows, struct lm_error *err)
{
    char name[LM_SHAPE_TEXT];
    lm_shape_text(kept->shape, name);
    int status = lm_rows_begin(&kept->rows, rows, lm_network_floats(kept->shape) * sizeof(float), WEIGHTS_BUFFER, err);
    if (status != LM_OK)
        return status;
    kept->trial = malloc((rows ? rows : 1) * sizeof *kept->trial);
    if (!kept->trial)
        return lm_fail_memory(err, rows * sizeof *kept->trial, "the trials of the kept weights");
    status = lm_h5_make_group(writer->group[LM_GROUP_WEIGHTS], name, &kept->group, err);
    if (status == LM_OK)
        status = make_axes(kept, err);
    return status == LM_OK ? make_parts(kept, err) : status;
}

int lm_results_add_kept(struct lm_results_writer *writer, struct lm_shape shape, uint64_t rows, size_t *group,
                        struct lm_error *err)
{
    struct lm_kept_group *kept = realloc(writer->kept, (writer->n_kept + 1) * sizeof *kept);
    if (!kept)
        return lm_fail_memory(err, (writer->n_kept + 1) * sizeof *kept, "the kept weights");
    writer->kept = kept;
    *group = writer->n_kept;
    kept += writer->n_kept++;
    *kept = (struct lm_kept_group){.shape = shape, .group = -1, .trial_set = -1};
    if (begin_kept(writer, kept, rows, err) != LM_OK)
        return lm_fail_within(err, "cannot write '%s': ", writer->path);
    return LM_OK;
}

int lm_results_put_weights(struct lm_results_writer *writer, size_t group, uint64_t row, uint64_t trial,
                           const float *parameters, struct lm_error *err)
{
    if (group >= writer->n_kept || row >= writer->kept[group].rows.total || trial >= writer->n_trials)
        return lm_fail(err, LM_FAILED, "'%s' has no room for the weights of trial %llu", writer->path,
                       (unsigned long long)trial);
    struct lm_kept_group *kept = &writer->kept[group];
    size_t floats = lm_network_floats(kept->shape);
    void *slot;
    int status = lm_rows_slot(&kept->rows, row, &slot, err);
    if (status != LM_OK)
        return lm_fail_within(err, "cannot write '%s': ", writer->path);
    kept->trial[row] = trial;
    if (parameters) {
        lm_store_f32(slot, parameters, floats);
        return LM_OK;
    }
    for (size_t i = 0; i < floats; i++)
        memcpy((float *)slot + i, &lm_f32_nan, sizeof lm_f32_nan);
    return LM_OK;
}

/* ---- begin and end ---- */

int lm_results_create(const char *path, uint64_t n_trials, uint64_t max_epochs, struct lm_results_writer **out,
                      struct lm_error *err)
{
    *out = NULL;
    /* HDF5 1.10 does not look whether it got the memory of a new file's cache, and crashes: better to fail here. */
    void *room = malloc(ROOM_FOR_HDF5);
    if (!room)
        return lm_fail_memory(err, ROOM_FOR_HDF5, "the results file");
    free(room);
    struct lm_results_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return lm_fail_memory(err, sizeof *writer, "the results file");
    writer->file = -1;
    for (int i = 0; i < LM_GROUPS; i++)
        writer->group[i] = -1;
    for (int i = 0; i < LM_SCORE_SETS; i++)
        writer->scores.set[i] = -1;
    writer->n_trials = n_trials;
    writer->max_epochs = max_epochs;
    writer->path = strdup(path);
    int status = writer->path ? make_file(writer, err) : lm_fail_memory(err, strlen(path), "a name");
    if (status == LM_OK)
        status = make_groups(writer, err);
    if (status == LM_OK)
        status = make_loss(writer, err);
    if (status != LM_OK) {
        lm_fail_within(err, "cannot write '%s': ", path);
        return lm_results_close_writer(writer, status, err);
    }
    *out = writer;
    return LM_OK;
}

int lm_results_close_writer(struct lm_results_writer *writer, int status, struct lm_error *err)
{
    status = lm_rows_end(&writer->loss, status, err);
    status = lm_results_close_scores(writer, status, err);
    for (size_t i = 0; i < writer->n_kept; i++) {
        struct lm_kept_group *kept = &writer->kept[i];
        status = lm_rows_end(&kept->rows, status, err);
        status = lm_h5_close(kept->trial_set, status, err);
        status = lm_h5_close(kept->group, status, err);
        free(kept->trial);
    }
    for (int i = 0; i < LM_GROUPS; i++)
        status = lm_h5_close(writer->group[i], status, err);
    status = lm_h5_close(writer->file, status, err);
    free(writer->kept);
    free(writer->path);
    free(writer);
    return status;
}

void lm_results_abandon(struct lm_results_writer *writer)
{
    struct lm_error ignored;
    if (writer)
        lm_results_close_writer(writer, LM_FAILED, &ignored);
}
