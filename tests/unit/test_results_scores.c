/* test_results_scores.c: scores that stream into a results file and out of it, in slabs of any size; sums over pieces;
 * and which samples are chosen for a check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arithmetic.h"
#include "evaluate.h"
#include "h5util.h"
#include "results.h"
#include "scratch.h"
#include "shard.h"

#define N 20000 /* more than one slab of the writer's */

struct stream {
    struct lm_results results;
    float *scores;
    uint8_t *expected, *predicted;
    int32_t *rank;
};

static struct stream stream_of(int unlabelled)
{
    struct stream s = {.scores = malloc(N * LM_CLASSES * sizeof(float)),
                       .expected = malloc(N),
                       .predicted = malloc(N),
                       .rank = malloc(N * sizeof(int32_t))};
    struct lm_error err;
    uint32_t x = 3;
    assert_int_equal(lm_results_allocate(1, &s.results, &err), LM_OK);
    s.results.trial[0] = (struct lm_trial){0.02f, 1.0f, 0.05f, 2, 1337, 32, {4, 3}};
    s.results.outcome[0] = (struct lm_outcome){.status = LM_TRIAL_OK, .epochs_run = 2};
    s.results.max_epochs = 2;
    s.results.inference_trial = 0;
    s.results.arithmetic_version = LM_ARITHMETIC_VERSION;
    strcpy(s.results.created, "2026-11-30T12:00:00Z");
    s.results.n_scores = N;
    s.results.streamed = 1;
    s.results.unlabelled = unlabelled;
    for (size_t i = 0; i < N * LM_CLASSES; i++) {
        x = x * 1664525u + 1013904223u;
        s.scores[i] = (float)(int32_t)x * 1e-9f;
    }
    for (size_t i = 0; i < N; i++) {
        s.expected[i] = (uint8_t)(i % LM_CLASSES);
        s.predicted[i] = (uint8_t)lm_predict(s.scores + i * LM_CLASSES);
        s.rank[i] = (int32_t)(i / 777 % 3);
        s.results.confusion[s.expected[i]][s.predicted[i]] += !unlabelled;
        s.results.count[s.expected[i]] += !unlabelled;
    }
    return s;
}

static void free_stream(struct stream *s)
{
    free(s->scores);
    free(s->expected);
    free(s->predicted);
    free(s->rank);
    lm_results_free(&s->results);
}

static int put(struct lm_results_writer *writer, const struct stream *s, uint64_t first, uint64_t n,
               struct lm_error *err)
{
    return lm_results_put_scores(writer, n, s->scores + first * LM_CLASSES, s->expected + first, s->predicted + first,
                                 s->rank + first, err);
}

static int write_stream(const struct stream *s, const char *path, uint64_t slab, uint64_t samples, struct lm_error *err)
{
    struct lm_results_writer *writer;
    int code = lm_results_create(path, 1, 2, &writer, err);
    assert_int_equal(code, LM_OK);
    assert_int_equal(lm_results_add_scores(writer, N, s->results.unlabelled, err), LM_OK);
    assert_int_equal(lm_results_add_scores(writer, N, s->results.unlabelled, err), LM_FAILED);
    for (uint64_t first = 0; first < samples; first += slab)
        assert_int_equal(put(writer, s, first, samples - first < slab ? samples - first : slab, err), LM_OK);
    assert_int_equal(put(writer, s, 0, N + 1 - samples, err), LM_FAILED);
    return lm_results_finish(writer, &s->results, err);
}

static void check_slabs(const struct stream *s, struct lm_results_reader *reader, uint64_t slab)
{
    float *scores = malloc(slab * LM_CLASSES * sizeof *scores);
    uint8_t *expected = malloc(slab), *predicted = malloc(slab);
    int32_t *rank = malloc(slab * sizeof *rank);
    struct lm_error err;
    for (uint64_t first = 0; first < N; first += slab) {
        size_t n = N - first < slab ? (size_t)(N - first) : (size_t)slab;
        memset(expected, 99, n);
        assert_int_equal(lm_results_get_scores(reader, first, n, scores, expected, predicted, rank, &err), LM_OK);
        assert_memory_equal(scores, s->scores + first * LM_CLASSES, n * LM_CLASSES * sizeof *scores);
        assert_memory_equal(predicted, s->predicted + first, n);
        assert_memory_equal(rank, s->rank + first, n * sizeof *rank);
        if (s->results.unlabelled)
            assert_int_equal(expected[0], 99);
        else
            assert_memory_equal(expected, s->expected + first, n);
    }
    assert_int_equal(lm_results_get_scores(reader, N, 0, scores, NULL, NULL, NULL, &err), LM_OK);
    assert_int_equal(lm_results_get_scores(reader, N, 1, scores, NULL, NULL, NULL, &err), LM_FAILED);
    assert_int_equal(lm_results_get_scores(reader, UINT64_MAX, 2, scores, NULL, NULL, NULL, &err), LM_FAILED);
    free(scores);
    free(expected);
    free(predicted);
    free(rank);
}

static void check_loaded(const struct stream *s, struct lm_results_reader *reader)
{
    struct lm_results loaded;
    struct lm_error err;
    assert_int_equal(lm_results_load(reader, &loaded, &err), LM_OK);
    assert_true(loaded.streamed && !loaded.scores && !loaded.expected && !loaded.predicted && !loaded.sample_rank);
    assert_int_equal(loaded.unlabelled, s->results.unlabelled);
    assert_int_equal(loaded.n_scores, N);
    assert_int_equal(loaded.n_test, 0);
    assert_memory_equal(loaded.confusion, s->results.confusion, sizeof loaded.confusion);
    assert_int_equal(lm_results_measure(reader, &loaded, &err), LM_OK);
    struct lm_metrics m = lm_results_metrics(&loaded), whole = lm_evaluate(s->scores, s->expected, N);
    assert_int_equal(m.n, N);
    if (s->results.unlabelled) {
        assert_true(isnan(m.loss) && isnan(m.accuracy));
    } else {
        assert_memory_equal(&m.loss, &whole.loss, sizeof m.loss);
        assert_int_equal(m.hits, whole.hits);
    }
    lm_results_free(&loaded);
}

static void test_round_trip(void **state)
{
    char *dir = scratch_make(), *path;
    struct lm_error err;
    (void)state;
    assert_true(asprintf(&path, "%s/r.h5", dir) > 0);
    for (int unlabelled = 0; unlabelled < 2; unlabelled++) {
        struct stream s = stream_of(unlabelled);
        const uint64_t slab[] = {N, 17000, 4096, 1000, 333};
        for (size_t k = 0; k < sizeof slab / sizeof *slab; k++) {
            struct lm_results_reader *reader;
            assert_int_equal(write_stream(&s, path, slab[k], N, &err), LM_OK);
            assert_int_equal(lm_results_open(path, &reader, &err), LM_OK);
            check_slabs(&s, reader, slab[4 - k]); /* before it is loaded, and after */
            check_loaded(&s, reader);
            check_slabs(&s, reader, slab[k]);
            lm_results_close(reader);
        }
        free_stream(&s);
    }
    free(path);
    scratch_remove(dir);
}

static void test_incomplete(void **state)
{
    char *dir = scratch_make(), *path;
    struct stream s = stream_of(0);
    struct lm_error err;
    (void)state;
    assert_true(asprintf(&path, "%s/r.h5", dir) > 0);
    assert_int_equal(write_stream(&s, path, 1000, 19000, &err), LM_FAILED);
    assert_non_null(strstr(err.text, "19000 of 20000"));
    free_stream(&s);
    free(path);
    scratch_remove(dir);
}

/* Without a data set that belongs to them, the file is damaged; without `expected`, it is one without labels. */
static void test_missing(void **state)
{
    static const char *const name[] = {"/inference/scores", "/inference/predicted", "/inference/confusion",
                                       "/execution/sample_rank"};
    char *dir = scratch_make(), *path;
    struct stream s = stream_of(0);
    struct lm_error err;
    (void)state;
    assert_true(asprintf(&path, "%s/r.h5", dir) > 0);
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        struct lm_results_reader *reader;
        struct lm_results loaded;
        assert_int_equal(write_stream(&s, path, 5000, N, &err), LM_OK);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(file >= 0 && H5Ldelete(file, name[k], H5P_DEFAULT) >= 0 && H5Fclose(file) >= 0);
        assert_int_equal(lm_results_open(path, &reader, &err), LM_OK);
        assert_int_equal(lm_results_load(reader, &loaded, &err), LM_BAD_INPUT);
        assert_non_null(strstr(err.text, strrchr(name[k], '/') + 1));
        lm_results_close(reader);
    }
    free_stream(&s);
    free(path);
    scratch_remove(dir);
}

static void test_tally(void **state)
{
    struct stream s = stream_of(0);
    struct lm_metrics whole = lm_evaluate(s.scores, s.expected, N);
    (void)state;
    for (size_t piece = 1; piece <= N; piece = piece * 3 + 1) {
        struct lm_tally tally = {0};
        for (size_t i = 0; i < N; i += piece)
            lm_tally_add(&tally, s.scores + i * LM_CLASSES, s.expected + i, N - i < piece ? N - i : piece);
        struct lm_metrics m = lm_tally_end(&tally);
        assert_memory_equal(&m, &whole, sizeof m);
    }
    free_stream(&s);
}

static void test_spread(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 200; n++)
        for (uint64_t chosen = 1; chosen <= n; chosen++) {
            uint64_t before = 0;
            for (uint64_t j = 0; j < chosen; j++) {
                uint64_t sample = lm_spread(n, chosen, j);
                assert_int_equal(sample, j * n / chosen);
                assert_true(j == 0 ? sample == 0 : sample > before && sample < n);
                assert_int_equal(lm_spread_from(n, chosen, sample), j);
                assert_int_equal(lm_spread_from(n, chosen, sample + 1), j + 1);
                before = sample;
            }
        }
    const uint64_t large = UINT64_C(1) << 40;
    assert_true(lm_spread(large, large, large - 1) == large - 1);
    assert_true(lm_spread(large, UINT32_MAX, UINT32_MAX - 1) == large - 257); /* floor(2^40 - 2^40 / (2^32 - 1)) */
    assert_true(lm_spread_from(large, 100000, large - 1) == 100000);
}

int main(void)
{
    lm_hdf5_setup();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_incomplete),
                                       cmocka_unit_test(test_missing), cmocka_unit_test(test_tally),
                                       cmocka_unit_test(test_spread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
