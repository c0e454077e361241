/* test_split.c: the lab's split of the lab's counts, and hold-outs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "split.h"

static const uint64_t real[LM_CLASSES] = {540, 589, 500, 504, 609, 260, 150, 197, 156, 150, 154, 151, 150, 150, 150};

static size_t total(const uint64_t count[LM_CLASSES])
{
    size_t n = 0;
    for (int c = 0; c < LM_CLASSES; c++)
        n += count[c];
    return n;
}

static int letter_of(const uint64_t count[LM_CLASSES], uint32_t index)
{
    int c = 0;
    while (index >= count[c])
        index -= (uint32_t)count[c++];
    return c;
}

static struct lm_split make(const uint64_t count[LM_CLASSES], uint32_t seed, double holdout)
{
    struct lm_split split;
    struct lm_error err;

    assert_int_equal(lm_split_make(count, seed, holdout, &split, &err), LM_OK);
    return split;
}

/* Every index is in one part, once; each part is ordered by letter; each letter has the right number in each. */
static void check_parts(const uint64_t count[LM_CLASSES], const struct lm_split *split, double holdout)
{
    const uint32_t *part[3] = {split->train, split->validation, split->test};
    const size_t size[3] = {split->n_train, split->n_validation, split->n_test};
    unsigned char *seen = calloc(total(count), 1);
    size_t found[3][LM_CLASSES] = {0};

    assert_non_null(seen);
    assert_int_equal(size[0] + size[1] + size[2], total(count));
    for (int k = 0; k < 3; k++) {
        int last = 0;
        for (size_t i = 0; i < size[k]; i++) {
            assert_true(part[k][i] < total(count));
            assert_int_equal(seen[part[k][i]]++, 0);
            int c = letter_of(count, part[k][i]);
            assert_true(c >= last);
            last = c;
            found[k][c]++;
        }
    }
    for (int c = 0; c < LM_CLASSES; c++) {
        size_t test = count[c] / 5 ? count[c] / 5 : 1, left = count[c] - test;
        size_t held = (size_t)floor(holdout * (double)left);
        held = holdout == 0 ? 0 : held ? held : 1;
        assert_int_equal(found[2][c], test);
        assert_int_equal(found[1][c], held);
        assert_int_equal(found[0][c], left - held);
    }
    free(seen);
}

static void test_lab(void **state)
{
    struct lm_split split = make(real, 1337, 0);

    (void)state;
    assert_int_equal(split.n_train, 3532);
    assert_int_equal(split.n_test, 878);
    assert_int_equal(split.n_validation, 0);
    check_parts(real, &split, 0);

    /* One generator for all letters: made here once more, by the definition. */
    struct lm_mt19937 generator;
    uint32_t order[1000], first = 0;
    size_t train = 0, test = 0;
    lm_mt19937_seed(&generator, 1337);
    for (int c = 0; c < LM_CLASSES; c++) {
        for (uint32_t i = 0; i < real[c]; i++)
            order[i] = first + i;
        lm_shuffle(&generator, order, real[c]);
        for (uint32_t i = 0; i < real[c]; i++)
            if (i < real[c] / 5)
                assert_int_equal(split.test[test++], order[i]);
            else
                assert_int_equal(split.train[train++], order[i]);
        first += (uint32_t)real[c];
    }
    lm_split_free(&split);
    assert_null(split.train);
}

/* The test part stays; train and validation together are the training part without a hold-out, letter by letter. */
static void test_holdout(void **state)
{
    static const double holdouts[] = {0.1, 0.25, 0.5, 0.001, 0.9};
    struct lm_split plain = make(real, 1337, 0);

    (void)state;
    for (size_t h = 0; h < sizeof holdouts / sizeof *holdouts; h++) {
        struct lm_split held = make(real, 1337, holdouts[h]);
        size_t at = 0, train = 0, validation = 0;

        check_parts(real, &held, holdouts[h]);
        assert_int_equal(held.n_test, plain.n_test);
        assert_memory_equal(held.test, plain.test, plain.n_test * sizeof *plain.test);
        for (int c = 0; c < LM_CLASSES; c++) {
            while (train < held.n_train && letter_of(real, held.train[train]) == c)
                assert_int_equal(plain.train[at++], held.train[train++]);
            while (validation < held.n_validation && letter_of(real, held.validation[validation]) == c)
                assert_int_equal(plain.train[at++], held.validation[validation++]);
        }
        assert_int_equal(at, plain.n_train);
        lm_split_free(&held);
    }
    lm_split_free(&plain);
}

/* The tail: each letter's samples in their order, training first, then validation, then the test. */
static void test_tail(void **state)
{
    static const double holdouts[] = {0, 0.1, 0.9};
    struct lm_split split, same;
    struct lm_error err;

    (void)state;
    for (size_t h = 0; h < 3; h++) {
        assert_int_equal(lm_split_make_tail(real, holdouts[h], &split, &err), LM_OK);
        check_parts(real, &split, holdouts[h]);
        size_t train = 0, validation = 0, test = 0;
        uint32_t next = 0;
        for (int c = 0; c < LM_CLASSES; c++) {
            uint32_t end = next + (uint32_t)real[c];
            while (train < split.n_train && split.train[train] < end)
                assert_int_equal(split.train[train++], next++);
            while (validation < split.n_validation && split.validation[validation] < end)
                assert_int_equal(split.validation[validation++], next++);
            while (test < split.n_test && split.test[test] < end)
                assert_int_equal(split.test[test++], next++);
            assert_int_equal(next, end);
        }
        /* By its kind: the seed has no part in it. */
        assert_int_equal(lm_split_make_kind(LM_SPLIT_TAIL, real, 77, holdouts[h], &same, &err), LM_OK);
        assert_memory_equal(split.train, same.train, split.n_train * sizeof *split.train);
        assert_memory_equal(split.test, same.test, split.n_test * sizeof *split.test);
        lm_split_free(&same);
        lm_split_free(&split);
    }
    split = make(real, 77, 0.1);
    assert_int_equal(lm_split_make_kind(LM_SPLIT_RANDOM, real, 77, 0.1, &same, &err), LM_OK);
    assert_memory_equal(split.train, same.train, split.n_train * sizeof *split.train);
    lm_split_free(&same);
    lm_split_free(&split);
    assert_int_equal(lm_split_make_tail(real, 1.0, &split, &err), LM_BAD_INPUT);
    assert_null(split.train);
}

static void test_seed(void **state)
{
    struct lm_split a = make(real, 1337, 0.1), b = make(real, 1337, 0.1), c = make(real, 1338, 0.1);

    (void)state;
    assert_memory_equal(a.train, b.train, a.n_train * sizeof *a.train);
    assert_memory_equal(a.validation, b.validation, a.n_validation * sizeof *a.train);
    assert_memory_not_equal(a.test, c.test, a.n_test * sizeof *a.test);
    lm_split_free(&a);
    lm_split_free(&b);
    lm_split_free(&c);
}

static void refused(const uint64_t count[LM_CLASSES], double holdout, const char *cause)
{
    struct lm_split split;
    struct lm_error err;

    assert_int_equal(lm_split_make(count, 1, holdout, &split, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, cause));
    assert_null(split.train);
}

static void test_smallest(void **state)
{
    uint64_t count[LM_CLASSES];

    (void)state;
    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = 2 + (uint64_t)c % 3;
    struct lm_split split = make(count, 9, 0);
    check_parts(count, &split, 0);
    lm_split_free(&split);
    refused(count, 0.1, "letter A");
    count[0] = count[3] = count[6] = count[9] = 3; /* M, the 13th, has 2 */
    count[12] = 2;
    refused(count, 0.1, "letter U");
    count[12] = 3;
    split = make(count, 9, 0.1);
    check_parts(count, &split, 0.1);
    lm_split_free(&split);
    count[4] = 1;
    refused(count, 0, "letter E: 1 sample");
    count[4] = 0;
    refused(count, 0, "letter E: 0 samples");
    count[4] = 5000000000u;
    refused(count, 0, "letter E");
}

static void test_bad_holdout(void **state)
{
    (void)state;
    refused(real, 1.0, "holdout");
    refused(real, -0.1, "holdout");
    refused(real, NAN, "holdout");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lab),  cmocka_unit_test(test_holdout),  cmocka_unit_test(test_seed),
        cmocka_unit_test(test_tail), cmocka_unit_test(test_smallest), cmocka_unit_test(test_bad_holdout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
