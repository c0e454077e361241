/* test_results.c: what is written to a results file is what is read from it, to the bit, whatever it is. Damaged files
 * are test_results_damage.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "h5util.h"
#include "results_rows.h"
#include "sample_results.h"
#include "scratch.h"
#include "utf8.h"

static char *dir, *path;

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    assert_true(asprintf(&path, "%s/São João 1.h5", dir) > 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(path);
    scratch_remove(dir);
    return 0;
}

static void must(int status, const struct lm_error *err)
{
    if (status != LM_OK)
        fail_msg("%s", err->text);
}

#define SAME(a, b, n) assert_memory_equal((a), (b), (n) * sizeof *(a))

static void same_trials(const struct lm_results *a, const struct lm_results *b)
{
    assert_int_equal(a->n_trials, b->n_trials);
    assert_int_equal(a->max_epochs, b->max_epochs);
    /* the structs' padding is nobody's */
    for (uint64_t t = 0; t < a->n_trials; t++) {
        const struct lm_outcome *x = &a->outcome[t], *y = &b->outcome[t];
        SAME(&a->trial[t], &b->trial[t], 1);
        assert_int_equal(x->status, y->status);
        assert_int_equal(x->epochs_run, y->epochs_run);
        SAME(&x->train_loss, &y->train_loss, 5);
        SAME(x->digest, y->digest, sizeof x->digest);
        SAME(x->reason, y->reason, sizeof x->reason);
        SAME(&a->execution[t].seconds, &b->execution[t].seconds, 1);
        assert_int_equal(a->execution[t].rank, b->execution[t].rank);
        assert_string_equal(a->execution[t].device, b->execution[t].device);
        assert_string_equal(a->execution[t].variant, b->execution[t].variant);
    }
}

static void same_dataset(const struct lm_results *a, const struct lm_results *b)
{
    SAME(a->count, b->count, LM_CLASSES);
    SAME(&a->scaler, &b->scaler, 1);
    SAME(&a->holdout, &b->holdout, 1);
    assert_int_equal(a->split, b->split);
    assert_int_equal(a->split_seed, b->split_seed);
    assert_string_equal(a->data_path, b->data_path);
    assert_string_equal(a->data_digest, b->data_digest);
    assert_int_equal(a->n_train, b->n_train);
    assert_int_equal(a->n_validation, b->n_validation);
    assert_int_equal(a->n_test, b->n_test);
    SAME(a->train_index, b->train_index, a->n_train);
    SAME(a->validation_index, b->validation_index, a->n_validation);
    SAME(a->test_index, b->test_index, a->n_test);
}

static void same_rest(const struct lm_results *a, const struct lm_results *b)
{
    assert_string_equal(a->created, b->created);
    assert_string_equal(a->title, b->title);
    assert_int_equal(a->format_version, b->format_version);
    assert_int_equal(a->arithmetic_version, b->arithmetic_version);
    assert_int_equal(a->n_notes, b->n_notes);
    for (size_t i = 0; i < a->n_notes; i++) {
        assert_string_equal(a->notes[i].name, b->notes[i].name);
        assert_string_equal(a->notes[i].value, b->notes[i].value);
    }
    assert_true(a->inference_trial == b->inference_trial);
    assert_int_equal(a->n_scores, b->n_scores);
    SAME(a->scores, b->scores, a->n_scores * LM_CLASSES);
    SAME(a->expected, b->expected, a->n_scores);
    SAME(a->predicted, b->predicted, a->n_scores);
    SAME(a->sample_rank, b->sample_rank, a->n_scores);
    SAME(a->confusion, b->confusion, 1);
    assert_int_equal(a->n_checks, b->n_checks);
    for (size_t i = 0; i < a->n_checks; i++) {
        assert_string_equal(a->checks[i].name, b->checks[i].name);
        SAME(&a->checks[i].compared, &b->checks[i].compared, 2);
        SAME(&a->checks[i].max_abs_error, &b->checks[i].max_abs_error, 1);
        assert_int_equal(a->checks[i].result, b->checks[i].result);
    }
    assert_int_equal(a->n_ranks, b->n_ranks);
    for (size_t i = 0; i < a->n_ranks; i++) {
        assert_string_equal(a->ranks[i].host, b->ranks[i].host);
        assert_string_equal(a->ranks[i].device, b->ranks[i].device);
        assert_string_equal(a->ranks[i].uuid, b->ranks[i].uuid);
        assert_string_equal(a->ranks[i].pci, b->ranks[i].pci);
        assert_int_equal(a->ranks[i].shared, b->ranks[i].shared);
        SAME(a->ranks[i].seconds, b->ranks[i].seconds, LM_PHASES);
    }
    assert_int_equal(a->n_model, b->n_model);
    assert_string_equal(a->decided_by, b->decided_by);
    assert_string_equal(a->decision, b->decision);
    for (size_t i = 0; i < a->n_model; i++) {
        assert_string_equal(a->model[i].phase, b->model[i].phase);
        assert_string_equal(a->model[i].device, b->model[i].device);
        assert_string_equal(a->model[i].where, b->model[i].where);
        assert_int_equal(a->model[i].chosen, b->model[i].chosen);
        SAME(&a->model[i].predicted, &b->model[i].predicted, 1);
        SAME(&a->model[i].bound, &b->model[i].bound, 1);
        SAME(&a->model[i].measured, &b->model[i].measured, 1);
        SAME(&a->model[i].regret, &b->model[i].regret, 1);
        SAME(&a->model[i].size, &b->model[i].size, 1);
        SAME(&a->model[i].factor, &b->model[i].factor, 1);
    }
}

static void same_sweep(struct lm_results_reader *reader, const struct lm_results *a, const struct lm_results *b)
{
    struct lm_error err;
    assert_int_equal(a->is_sweep, b->is_sweep);
    assert_int_equal(a->rung == NULL, b->rung == NULL);
    if (a->rung)
        SAME(a->rung, b->rung, a->n_trials);
    assert_string_equal(a->objective, b->objective);
    assert_string_equal(a->search, b->search);
    assert_string_equal(a->specification ? a->specification : "", b->specification ? b->specification : "");
    assert_int_equal(a->n_configurations, b->n_configurations);
    for (uint64_t k = 0; k < a->n_configurations; k++) { /* the padding is nobody's */
        SAME(&a->configuration[k].first, &b->configuration[k].first, 5);
        SAME(&a->configuration[k].loss_mean, &b->configuration[k].loss_mean, 8);
        assert_int_equal(a->configuration[k].rung, b->configuration[k].rung);
    }
    assert_int_equal(a->n_leaders, b->n_leaders);
    SAME(a->leader, b->leader, a->n_leaders);
    if (!a->is_sweep) {
        assert_int_equal(lm_results_get_leaders(reader, 0, NULL, &err), LM_BAD_INPUT);
        assert_non_null(strstr(err.text, path));
        return;
    }
    struct lm_leader *leaders = sample_room(a->n_leaders, sizeof *leaders);
    struct lm_trial *parameters = sample_room(a->n_configurations, sizeof *parameters);
    must(lm_results_get_leaders(reader, a->n_leaders, leaders, &err), &err);
    must(lm_results_get_parameters(reader, a->n_configurations, parameters, &err), &err);
    for (uint64_t k = 0; k < a->n_leaders; k++) {
        assert_int_equal(leaders[k].trial, a->leader[k]);
        SAME(&leaders[k].validation_loss, &a->outcome[a->leader[k]].validation_loss, 4);
    }
    for (uint64_t k = 0; k < a->n_configurations; k++) {
        struct lm_trial first = a->trial[a->configuration[k].first];
        first.seed = 0;
        SAME(&parameters[k], &first, 1);
    }
    assert_int_equal(lm_results_get_leaders(reader, a->n_leaders + 1, leaders, &err), LM_BAD_INPUT);
    free(leaders);
    free(parameters);
}

/* In one piece, and row by row. */
static void same_losses(struct lm_results_reader *reader, const struct sample *s)
{
    const uint64_t trials = s->results.n_trials, epochs = s->results.max_epochs;
    struct lm_error err;
    double *loss = sample_room(trials * epochs, sizeof *loss);
    must(lm_results_get_loss(reader, 0, trials, loss, &err), &err);
    SAME(loss, s->loss, trials * epochs);
    for (uint64_t t = 0; t < trials; t++) {
        must(lm_results_get_loss(reader, t, 1, loss, &err), &err);
        SAME(loss, s->loss + t * epochs, epochs);
    }
    assert_int_equal(lm_results_get_loss(reader, trials, 1, loss, &err), LM_FAILED);
    assert_int_equal(lm_results_get_loss(reader, 1, UINT64_MAX, loss, &err), LM_FAILED);
    free(loss);
}

static void same_weights(struct lm_results_reader *reader, const struct lm_results *r, const struct sample *s)
{
    struct lm_error err;
    assert_int_equal(r->n_kept, SAMPLE_SHAPES);
    uint64_t *list = sample_room(r->n_trials, sizeof *list), *trial = sample_room(r->n_trials, sizeof *trial);
    for (size_t g = 0; g < r->n_kept; g++) {
        uint64_t rows = sample_of_shape(s, sample_shape[g], list);
        size_t floats = lm_network_floats(sample_shape[g]);
        assert_true(lm_shape_equal(r->kept[g].shape, sample_shape[g]));
        assert_int_equal(r->kept[g].rows, rows);
        float *weights = sample_room(rows * floats, sizeof *weights);
        must(lm_results_get_weights(reader, g, 0, rows, weights, trial, &err), &err);
        for (uint64_t i = 0; i < rows; i++) {
            assert_int_equal(trial[i], list[i]);
            SAME(weights + i * floats, s->weights + s->offset[list[i]], floats);
            must(lm_results_get_weights(reader, g, i, 1, weights + i * floats, NULL, &err), &err);
            SAME(weights + i * floats, s->weights + s->offset[list[i]], floats);
        }
        assert_int_equal(lm_results_get_weights(reader, g, rows, 1, weights, trial, &err), LM_FAILED);
        free(weights);
    }
    assert_int_equal(lm_results_get_weights(reader, r->n_kept, 0, 0, NULL, NULL, &err), LM_FAILED);
    free(list);
    free(trial);
}

enum kind { RUN, SWEEP, HALVING };

static void round_trip_of(enum kind kind, uint64_t seed, uint64_t trials, uint64_t epochs, size_t scores,
                          int validation)
{
    struct sample s;
    struct lm_error err = {0, ""};
    struct lm_results_reader *reader;
    struct lm_results read;
    sample_make(seed, trials, epochs, scores, validation, &s);
    if (kind != RUN)
        sample_sweep(&s, kind == HALVING);
    must(sample_write(&s, path, &err), &err);
    must(lm_results_open(path, &reader, &err), &err);
    must(lm_results_load(reader, &read, &err), &err);
    same_trials(&s.results, &read);
    same_dataset(&s.results, &read);
    same_rest(&s.results, &read);
    same_sweep(reader, &s.results, &read);
    same_losses(reader, &s);
    same_weights(reader, &read, &s);
    lm_results_free(&read);
    lm_results_close(reader);
    sample_free(&s);
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0); /* nothing is left open */
}

static void round_trip(uint64_t seed, uint64_t trials, uint64_t epochs, size_t scores, int validation)
{
    round_trip_of(RUN, seed, trials, epochs, scores, validation);
}

static void test_sweeps(void **state)
{
    (void)state;
    for (int kind = SWEEP; kind <= HALVING; kind++) {
        round_trip_of(kind, 1, 0, 1, 0, 0);
        round_trip_of(kind, 2, 1, 1, 1, 0);
        for (uint64_t seed = 6; seed < 20; seed++)
            round_trip_of(kind, seed, seed * 5, seed % 5 + 1, seed, (int)seed % 2);
        round_trip_of(kind, 21, 3000, 7, 20, 1);
    }
}

/* What is not asked for is not there: the file of a run has nothing of a sweep's, that of a grid no rungs. */
static void test_groups_of_a_sweep(void **state)
{
    (void)state;
    for (int kind = RUN; kind <= HALVING; kind++) {
        struct sample s;
        struct lm_error err = {0, ""};
        sample_make(31, 20, 5, 20, 1, &s);
        if (kind != RUN)
            sample_sweep(&s, kind == HALVING);
        must(sample_write(&s, path, &err), &err);
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        assert_int_equal(H5Lexists(file, "sweep", H5P_DEFAULT), kind != RUN);
        assert_int_equal(H5Lexists(file, "configurations", H5P_DEFAULT), kind != RUN);
        assert_int_equal(H5Lexists(file, "trials/rung", H5P_DEFAULT), kind == HALVING);
        if (kind != RUN)
            assert_int_equal(H5Lexists(file, "configurations/rung", H5P_DEFAULT), kind == HALVING);
        assert_true(H5Fclose(file) >= 0);
        sample_free(&s);
    }
}

static void test_round_trips(void **state)
{
    (void)state;
    round_trip(1, 0, 0, 0, 0);
    round_trip(2, 1, 1, 1, 0);
    round_trip(3, 1, 7, 0, 1);
    round_trip(4, 2, 1, 30, 1);
    round_trip(5, 500, 3, 40, 0);
    for (uint64_t seed = 6; seed < 20; seed++)
        round_trip(seed, seed * 3, seed % 5 + 1, seed, (int)seed % 2);
}

/* More rows than a buffer holds, so that it is emptied in the middle, and chunks of more than one. */
static void test_many_rows(void **state)
{
    (void)state;
    round_trip(21, 3000, 700, 20000, 1);
}

/* The order of calls leaves no trace in the bytes of the file. */
static void test_reproducible(void **state)
{
    (void)state;
    struct sample s;
    struct lm_error err = {0, ""};
    size_t n[2];
    char *bytes[2];
    sample_make(30, 50, 5, 20, 1, &s);
    for (int i = 0; i < 2; i++) {
        must(sample_write(&s, path, &err), &err); /* another order each time */
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        bytes[i] = malloc(1 << 24);
        assert_non_null(bytes[i]);
        n[i] = fread(bytes[i], 1, 1 << 24, file);
        fclose(file);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    /* HDF5 1.8 reads superblocks 0 and 2 */
    assert_true(bytes[0][8] == 0 || bytes[0][8] == 2);
    free(bytes[0]);
    free(bytes[1]);
    sample_free(&s);
}

/* There is one NaN in a file, and one '?' for each byte that is no UTF-8. */
static void test_normal_forms(void **state)
{
    (void)state;
    struct sample s;
    struct lm_error err = {0, ""};
    struct lm_results_reader *reader;
    struct lm_results read;
    const uint32_t nans[] = {0xFFC00000u, 0x7FFFFFFFu, 0x7F800001u};
    const uint32_t stored = LM_NAN_BITS;
    sample_make(40, 3, 2, 10, 0, &s);
    for (uint64_t t = 0; t < 3; t++) {
        s.results.outcome[t].status = LM_TRIAL_OK;
        s.results.trial[t].block = 32;
        memcpy(s.weights + s.offset[t], &nans[t], 4);
        memcpy(s.results.scores + t, &nans[t], 4);
        s.results.outcome[t].test_loss = -NAN;
        memset(s.results.outcome[t].reason, 0xC3, 159);
    }
    must(sample_write(&s, path, &err), &err);
    must(lm_results_open(path, &reader, &err), &err);
    must(lm_results_load(reader, &read, &err), &err);
    for (uint64_t t = 0; t < 3; t++) {
        static const uint64_t nan = UINT64_C(0x7FF8000000000000);
        char marks[160] = "";
        assert_memory_equal(read.scores + t, &stored, 4);
        assert_memory_equal(&read.outcome[t].test_loss, &nan, 8);
        memset(marks, '?', 159);
        assert_string_equal(read.outcome[t].reason, marks);
    }
    for (size_t g = 0; g < read.n_kept; g++) {
        float *weights = sample_room(read.kept[g].rows * lm_network_floats(read.kept[g].shape), sizeof *weights);
        must(lm_results_get_weights(reader, g, 0, read.kept[g].rows, weights, NULL, &err), &err);
        for (uint64_t i = 0; i < read.kept[g].rows; i++)
            assert_memory_equal(weights + i * lm_network_floats(read.kept[g].shape), &stored, 4);
        free(weights);
    }
    lm_results_free(&read);
    lm_results_close(reader);
    sample_free(&s);
}

static void test_utf8(void **state)
{
    (void)state;
    static const char *const fine[] = {"", "a", "é", "日本", "😀", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"};
    static const struct {
        const char *from, *to;
    } mended[] = {{"\xff", "?"},           {"a\xc3", "a?"},         {"\xc0\x80", "??"},
                  {"\xe0\x9f\xbf", "???"}, {"\xed\xa0\x80", "???"}, {"\xf4\x90\x80\x80", "????"},
                  {"\xe6\x97", "??"},      {"\x80x", "?x"}};
    char text[20];
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        strcpy(text, fine[i]);
        assert_true(lm_utf8_ok(text));
        assert_int_equal(lm_utf8_mend(text), 0);
        assert_string_equal(text, fine[i]);
    }
    for (size_t i = 0; i < sizeof mended / sizeof mended[0]; i++) {
        strcpy(text, mended[i].from);
        assert_false(lm_utf8_ok(text));
        assert_true(lm_utf8_mend(text) > 0);
        assert_string_equal(text, mended[i].to);
    }
}

static void test_notes(void **state)
{
    (void)state;
    struct lm_results r;
    struct lm_error err;
    assert_int_equal(lm_results_allocate(2, &r, &err), LM_OK);
    assert_int_equal(r.outcome[1].status, LM_TRIAL_NOT_RUN);
    assert_true(r.inference_trial == -1);
    assert_null(lm_results_find_note(&r, "a"));
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(lm_results_note(&r, name, "old", &err), LM_OK);
        assert_int_equal(lm_results_note(&r, name, name, &err), LM_OK); /* the last word counts */
    }
    assert_int_equal(r.n_notes, 20);
    assert_string_equal(lm_results_find_note(&r, "n7"), "n7");
    lm_results_free(&r);
    lm_results_free(&r);
    assert_string_equal(lm_check_text(LM_CHECK_PASSED), "passed");
    assert_string_equal(lm_check_text(99), "not run");
}

static void test_chunks(void **state)
{
    (void)state;
    static const struct {
        int rank;
        hsize_t dims[3];
        size_t bytes;
    } some[] = {{2, {1, 64}, 4},
                {2, {70000000, 64}, 4},
                {1, {1}, 8},
                {2, {1, 70000000}, 8},
                {3, {20000, 32, 64}, 4},
                {3, {20000, 128, 1}, 4},
                {2, {4097, 64}, 4},
                {3, {7, 5000, 5000}, 8},
                {1, {5000000000}, 1},
                {2, {3, 3}, (size_t)1 << 24},
                {2, {UINT32_MAX, UINT32_MAX}, 4}};
    static const hsize_t empty[] = {0, 64}, also[] = {64, 0};
    hsize_t chunk[3] = {7, 7, 7};
    assert_int_equal(lm_chunk(2, empty, 4, chunk), 0);
    assert_int_equal(lm_chunk(2, also, 4, chunk), 0);
    assert_int_equal(lm_chunk(0, NULL, 4, chunk), 0);
    assert_int_equal(chunk[0], 7);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        hsize_t elements = 1, all = 1;
        assert_int_equal(lm_chunk(some[i].rank, some[i].dims, some[i].bytes, chunk), 1);
        for (int d = 0; d < some[i].rank; d++) {
            assert_true(chunk[d] >= 1 && chunk[d] <= some[i].dims[d]);
            elements *= chunk[d];
            all *= some[i].dims[d];
        }
        assert_true(elements == 1 || elements * some[i].bytes <= 1 << 20);
        assert_true(elements == 1 || elements == all || elements * some[i].bytes >= 1 << 19);
    }
    lm_chunk(2, (hsize_t[]){70000000, 64}, 4, chunk);
    assert_true(chunk[0] > 4000 && chunk[0] <= 4096 && chunk[1] == 64);
}

/* The writer refuses what would not be a results file. */
static void test_misuse(void **state)
{
    (void)state;
    struct lm_results r;
    struct lm_results_writer *writer;
    struct lm_error err;
    size_t group;
    double loss[3] = {0};
    float weights[20000] = {0};
    const struct lm_shape shape = {32, 16};
    must(lm_results_allocate(4, &r, &err), &err);
    r.max_epochs = 2;
    must(lm_results_create(path, 4, 2, &writer, &err), &err);
    assert_int_equal(lm_results_put_loss(writer, 4, loss, 2, &err), LM_FAILED);
    assert_int_equal(lm_results_put_loss(writer, 0, loss, 3, &err), LM_FAILED);
    assert_int_equal(lm_results_put_weights(writer, 0, 0, 0, weights, &err), LM_FAILED);
    must(lm_results_add_kept(writer, shape, 2, &group, &err), &err);
    assert_int_equal(lm_results_add_kept(writer, shape, 2, &(size_t){0}, &err), LM_FAILED); /* twice */
    assert_int_equal(lm_results_put_weights(writer, group, 2, 0, weights, &err), LM_FAILED);
    assert_int_equal(lm_results_put_weights(writer, group, 0, 4, weights, &err), LM_FAILED);
    lm_results_abandon(writer);
    lm_results_abandon(NULL);
    for (int missing = 0; missing < 2; missing++) {
        must(lm_results_create(path, 4, 2, &writer, &err), &err);
        must(lm_results_add_kept(writer, shape, 2, &group, &err), &err);
        must(lm_results_put_weights(writer, group, 0, 3, weights, &err), &err);
        if (!missing)
            must(lm_results_put_weights(writer, group, 1, 1, weights, &err), &err);
        assert_int_equal(lm_results_finish(writer, &r, &err), LM_FAILED);
        assert_non_null(strstr(err.text, missing ? "never put" : "not greater"));
        assert_non_null(strstr(err.text, "64-32-16-15"));
        assert_non_null(strstr(err.text, path));
    }
    must(lm_results_create(path, 3, 2, &writer, &err), &err);
    assert_int_equal(lm_results_finish(writer, &r, &err), LM_FAILED);
    for (int leader = 0; leader < 2; leader++) { /* numbers that are no trials */
        r.is_sweep = 1;
        must(lm_results_summarise(&r, 3, &err), &err);
        assert_true(r.n_configurations == 1 && r.n_leaders == 0); /* nothing was run */
        r.leader[0] = 4;
        r.n_leaders = (uint64_t)leader;
        r.configuration[0].first += 4;
        must(lm_results_create(path, 4, 2, &writer, &err), &err);
        assert_int_equal(lm_results_finish(writer, &r, &err), LM_FAILED);
        assert_non_null(strstr(err.text, leader ? "/sweep: place 1: there is no trial 4" : "there is no trial 4"));
    }
    lm_results_free(&r);
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int main(void)
{
    lm_hdf5_setup();
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_round_trips),       T(test_many_rows), T(test_reproducible), T(test_normal_forms), T(test_sweeps),
        T(test_groups_of_a_sweep), T(test_utf8),      T(test_notes),        T(test_chunks),       T(test_misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
