/* results_scores.c: scores that stream: those of a packed file's samples, which may be more than fit in memory.
 *
 * Written in slabs, in the order of the samples, into data sets made at the start; read in slabs of any size. A sample
 * takes 60 bytes of scores, 6 of labels and ranks, and 16 of its number in two scales: the scales are the format's rule
 * (results_layout.c), and they are written slab by slab, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "h5util.h"
#include "results_layout.h"
#include "results_reader.h"
#include "results_writer.h"

#define SLAB ((uint64_t)1 << 14) /* samples at once where we choose */

/* ---- slabs ---- */

struct slab {
    uint64_t total, first, n;
    hsize_t width; /* 0: the data set has one dimension */
};

/* The data set's file space with the slab selected, and the memory's. */
static int select_slab(const struct slab *slab, hid_t *file, hid_t *memory, struct lm_error *err)
{
    const hsize_t whole[2] = {slab->total, slab->width}, start[2] = {slab->first, 0}, count[2] = {slab->n, slab->width};
    const int rank = slab->width ? 2 : 1;
    *file = H5Screate_simple(rank, whole, NULL);
    *memory = H5Screate_simple(rank, count, NULL);
    if (*file >= 0 && *memory >= 0 && H5Sselect_hyperslab(*file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0)
        return LM_OK;
    return lm_h5_fail(err, LM_FAILED, -1, NULL, "cannot select samples");
}

static int write_slab(hid_t data_set, hid_t type, const struct slab *slab, const void *values, struct lm_error *err)
{
    hid_t file, memory;
    int status = select_slab(slab, &file, &memory, err);
    if (status == LM_OK && H5Dwrite(data_set, type, memory, file, H5P_DEFAULT, values) < 0)
        status = lm_h5_fail(err, LM_FAILED, data_set, NULL, "cannot write");
    status = lm_h5_close(memory, status, err);
    return lm_h5_close(file, status, err);
}

static int read_slab(hid_t data_set, hid_t type, const struct slab *slab, void *values, struct lm_error *err)
{
    hid_t file, memory;
    int status = select_slab(slab, &file, &memory, err);
    if (status == LM_OK && H5Dread(data_set, type, memory, file, H5P_DEFAULT, values) < 0)
        status = lm_h5_fail(err, LM_BAD_INPUT, data_set, NULL, "cannot read");
    status = lm_h5_close(memory, status, err);
    return lm_h5_close(file, status, err);
}

/* ---- declaring ---- */

static int fill_scale(hid_t data_set, uint64_t total, struct lm_error *err)
{
    int64_t *value = malloc(SLAB * sizeof *value);
    int status = value ? LM_OK : lm_fail_memory(err, SLAB * sizeof *value, "a scale");
    for (uint64_t first = 0; first < total && status == LM_OK; first += SLAB) {
        struct slab slab = {total, first, total - first < SLAB ? total - first : SLAB, 0};
        for (uint64_t i = 0; i < slab.n; i++)
            value[i] = (int64_t)(first + i);
        status = write_slab(data_set, H5T_NATIVE_INT64, &slab, value, err);
    }
    free(value);
    return status;
}

/* lm_h5_put_scale would hold all numbers in memory. */
static int put_sample_scale(hid_t group, uint64_t total, struct lm_error *err)
{
    const struct lm_h5_array array = {.name = "sample",
                                      .long_name = "position among the scored samples",
                                      .type = H5T_STD_I64LE,
                                      .rank = 1,
                                      .dims = {total},
                                      .axis = {"sample"}};
    hid_t data_set;
    int status = lm_h5_make_array(group, &array, &data_set, err);
    if (status == LM_OK)
        status = fill_scale(data_set, total, err);
    return lm_h5_close(data_set, status, err);
}

static int make_column(hid_t group, const struct lm_column *column, uint64_t total, hid_t *out, struct lm_error *err)
{
    const struct lm_h5_array array = {.name = column->name,
                                      .long_name = column->long_name,
                                      .type = lm_kind_in_file(column->kind),
                                      .rank = 1,
                                      .dims = {total},
                                      .axis = {column->axis}};
    return lm_h5_make_array(group, &array, out, err);
}

static int make_sets(struct lm_results_writer *writer, struct lm_error *err)
{
    struct lm_score_stream *stream = &writer->scores;
    const hid_t inference = writer->group[LM_GROUP_INFERENCE], execution = writer->group[LM_GROUP_EXECUTION];
    const struct lm_h5_array scores = {.name = "scores",
                                       .long_name = "output of the network for each class",
                                       .type = H5T_IEEE_F32LE,
                                       .rank = 2,
                                       .dims = {stream->total, LM_CLASSES},
                                       .axis = {"sample", "classes"},
                                       .fill = &lm_f32_nan};
    int status = put_sample_scale(inference, stream->total, err);
    if (status == LM_OK)
        status = lm_results_put_classes(inference, "classes", "letter", err);
    if (status == LM_OK)
        status = lm_h5_make_array(inference, &scores, &stream->set[LM_SET_SCORES], err);
    if (status == LM_OK && !stream->unlabelled)
        status = make_column(inference, &lm_layout_expected, stream->total, &stream->set[LM_SET_EXPECTED], err);
    if (status == LM_OK)
        status = make_column(inference, &lm_layout_predicted, stream->total, &stream->set[LM_SET_PREDICTED], err);
    if (status == LM_OK)
        status = put_sample_scale(execution, stream->total, err);
    return status == LM_OK
               ? make_column(execution, &lm_layout_sample_rank, stream->total, &stream->set[LM_SET_RANK], err)
               : status;
}

int lm_results_add_scores(struct lm_results_writer *writer, uint64_t n, int unlabelled, struct lm_error *err)
{
    struct lm_score_stream *stream = &writer->scores;
    if (stream->declared || n == 0)
        return lm_fail(err, LM_FAILED, "'%s': scores are declared once, and not for nothing", writer->path);
    stream->declared = 1;
    stream->unlabelled = unlabelled;
    stream->total = n;
    return make_sets(writer, err) == LM_OK ? LM_OK : lm_fail_within(err, "cannot write '%s': ", writer->path);
}

/* ---- writing ---- */

/* The stored form: one NaN (arithmetic.h, 6), by way of a piece of the slab. */
static int write_scores(const struct lm_score_stream *stream, const struct slab *whole, const float *scores,
                        struct lm_error *err)
{
    float *stored = malloc(SLAB * LM_CLASSES * sizeof *stored);
    int status = stored ? LM_OK : lm_fail_memory(err, SLAB * LM_CLASSES * sizeof *stored, "scores");
    for (uint64_t done = 0; done < whole->n && status == LM_OK; done += SLAB) {
        struct slab slab = {whole->total, whole->first + done, whole->n - done < SLAB ? whole->n - done : SLAB,
                            LM_CLASSES};
        lm_store_f32(stored, scores + done * LM_CLASSES, (size_t)slab.n * LM_CLASSES);
        status = write_slab(stream->set[LM_SET_SCORES], H5T_NATIVE_FLOAT, &slab, stored, err);
    }
    free(stored);
    return status;
}

int lm_results_put_scores(struct lm_results_writer *writer, uint64_t n, const float *scores, const uint8_t *expected,
                          const uint8_t *predicted, const int32_t *sample_rank, struct lm_error *err)
{
    struct lm_score_stream *stream = &writer->scores;
    const struct slab slab = {stream->total, stream->done, n, 0};
    if (!stream->declared || n > stream->total - stream->done)
        return lm_fail(err, LM_FAILED, "'%s' has no room for %llu more scored samples", writer->path,
                       (unsigned long long)n);
    if (n == 0)
        return LM_OK;
    int status = write_scores(stream, &slab, scores, err);
    if (status == LM_OK && !stream->unlabelled)
        status = write_slab(stream->set[LM_SET_EXPECTED], H5T_NATIVE_UINT8, &slab, expected, err);
    if (status == LM_OK)
        status = write_slab(stream->set[LM_SET_PREDICTED], H5T_NATIVE_UINT8, &slab, predicted, err);
    if (status == LM_OK)
        status = write_slab(stream->set[LM_SET_RANK], H5T_NATIVE_INT32, &slab, sample_rank, err);
    stream->done += n;
    return status == LM_OK ? LM_OK : lm_fail_within(err, "cannot write '%s': ", writer->path);
}

int lm_results_end_scores(struct lm_results_writer *writer, const struct lm_results *results, struct lm_error *err)
{
    const struct lm_score_stream *stream = &writer->scores;
    if (!stream->declared && !results->streamed)
        return LM_OK;
    if (!stream->declared || !results->streamed || stream->total != results->n_scores || results->n_test != 0 ||
        stream->done != stream->total || stream->unlabelled != results->unlabelled)
        return lm_fail(err, LM_FAILED, "its scores are not those that were announced: %llu of %llu were put",
                       (unsigned long long)stream->done, (unsigned long long)stream->total);
    return LM_OK;
}

int lm_results_close_scores(struct lm_results_writer *writer, int status, struct lm_error *err)
{
    for (int i = 0; i < LM_SCORE_SETS; i++)
        status = lm_h5_close(writer->scores.set[i], status, err);
    return status;
}

/* ---- reading ---- */

static int open_column(struct lm_results_reader *reader, hid_t group, const struct lm_column *column, int place,
                       struct lm_error *err)
{
    uint64_t n = reader->scores.n;
    return lm_h5_open_array(&reader->source, group, column->name, column->kind, 1, &n, &reader->scores.set[place], err);
}

static int open_length(struct lm_results_reader *reader, hid_t group, struct lm_error *err)
{
    hid_t scale;
    uint64_t n = LM_H5_ANY;
    int status = lm_h5_open_array(&reader->source, group, "sample", LM_KIND_I64, 1, &n, &scale, err);
    reader->scores.n = status == LM_OK ? n : 0;
    return lm_h5_close(scale, status, err);
}

static int open_inference(struct lm_results_reader *reader, struct lm_error *err)
{
    struct lm_stored_scores *scores = &reader->scores;
    hid_t group;
    int status = lm_h5_open_group(reader->source.file, "inference", &group, err);
    if (status != LM_OK)
        return status;
    if (H5Lexists(group, "sample", H5P_DEFAULT) > 0) {
        status = open_length(reader, group, err);
        uint64_t dims[2] = {scores->n, LM_CLASSES};
        if (status == LM_OK)
            status = lm_h5_open_array(&reader->source, group, "scores", LM_KIND_F32, 2, dims,
                                      &scores->set[LM_STORED_SCORES], err);
        if (status == LM_OK)
            status = open_column(reader, group, &lm_layout_predicted, LM_STORED_PREDICTED, err);
        scores->unlabelled = H5Lexists(group, "expected", H5P_DEFAULT) == 0;
        if (status == LM_OK && !scores->unlabelled)
            status = open_column(reader, group, &lm_layout_expected, LM_STORED_EXPECTED, err);
    }
    return lm_h5_close(group, status, err);
}

int lm_results_open_scores(struct lm_results_reader *reader, struct lm_error *err)
{
    if (reader->scores.opened)
        return LM_OK;
    reader->scores = (struct lm_stored_scores){.opened = 1, .set = {-1, -1, -1, -1}};
    hid_t group = -1;
    int status = open_inference(reader, err);
    if (status == LM_OK && reader->scores.n > 0) {
        status = lm_h5_open_group(reader->source.file, "execution", &group, err);
        if (status == LM_OK)
            status = open_column(reader, group, &lm_layout_sample_rank, LM_STORED_RANK, err);
    }
    status = lm_h5_close(group, status, err);
    if (status != LM_OK)
        lm_results_close_stored_scores(reader);
    return status;
}

void lm_results_close_stored_scores(struct lm_results_reader *reader)
{
    struct lm_error ignored; /* nothing was written: a close that fails loses nothing */
    for (int i = 0; i < LM_STORED_SETS && reader->scores.opened; i++)
        lm_h5_close(reader->scores.set[i], LM_FAILED, &ignored);
    reader->scores.opened = 0;
}

static int read_letters(struct lm_results_reader *reader, int place, const struct slab *slab, uint8_t *letter,
                        struct lm_error *err)
{
    int status = read_slab(reader->scores.set[place], H5T_NATIVE_UINT8, slab, letter, err);
    for (uint64_t i = 0; i < slab->n && status == LM_OK; i++)
        if (letter[i] >= LM_CLASSES)
            status = lm_fail(err, LM_BAD_INPUT, "/inference: sample %llu has no such class",
                             (unsigned long long)(slab->first + i));
    return status;
}

int lm_results_get_scores(struct lm_results_reader *reader, uint64_t first, uint64_t n, float *scores,
                          uint8_t *expected, uint8_t *predicted, int32_t *sample_rank, struct lm_error *err)
{
    int status = lm_results_open_scores(reader, err);
    const struct lm_stored_scores *stored = &reader->scores;
    if (status == LM_OK && (first > stored->n || n > stored->n - first))
        return lm_fail(err, LM_FAILED, "'%s' has no scores of samples %llu to %llu", reader->path,
                       (unsigned long long)first, (unsigned long long)(first + n));
    const struct slab column = {stored->n, first, n, 0}, row = {stored->n, first, n, LM_CLASSES};
    if (status == LM_OK && n > 0 && scores)
        status = read_slab(stored->set[LM_STORED_SCORES], H5T_NATIVE_FLOAT, &row, scores, err);
    if (status == LM_OK && n > 0 && expected && !stored->unlabelled)
        status = read_letters(reader, LM_STORED_EXPECTED, &column, expected, err);
    if (status == LM_OK && n > 0 && predicted)
        status = read_letters(reader, LM_STORED_PREDICTED, &column, predicted, err);
    if (status == LM_OK && n > 0 && sample_rank)
        status = read_slab(stored->set[LM_STORED_RANK], H5T_NATIVE_INT32, &column, sample_rank, err);
    return status == LM_OK ? LM_OK : lm_fail_within(err, "cannot read '%s': ", reader->path);
}

int lm_results_measure(struct lm_results_reader *reader, struct lm_results *results, struct lm_error *err)
{
    if (!results->streamed || results->unlabelled)
        return LM_OK;
    float *scores = malloc(SLAB * LM_CLASSES * sizeof *scores);
    uint8_t *expected = malloc(SLAB);
    int status = scores && expected ? LM_OK : lm_fail_memory(err, SLAB * (LM_CLASSES * sizeof *scores + 1), "scores");
    struct lm_tally tally = {0};
    for (uint64_t first = 0; first < results->n_scores && status == LM_OK; first += SLAB) {
        uint64_t n = results->n_scores - first < SLAB ? results->n_scores - first : SLAB;
        status = lm_results_get_scores(reader, first, n, scores, expected, NULL, NULL, err);
        if (status == LM_OK)
            lm_tally_add(&tally, scores, expected, (size_t)n);
    }
    if (status == LM_OK)
        results->metrics = lm_tally_end(&tally);
    free(scores);
    free(expected);
    return status;
}
