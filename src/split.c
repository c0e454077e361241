/* split.c: which samples train, which are held out, which test.
 *
 * One generator serves all letters in turn, so a letter's share depends on the counts of the letters before it and on
 * the seed, and on nothing else: no file order, no rank, no hold-out. The three parts are carved out of one array that
 * holds the current letter's shuffled indices:
 *
 *     | test: max(1, n/5) | train | validation: the last max(1, floor(holdout * m)) of the m left |
 *
 * A split by position (tail) has no generator: its three parts are | train | validation | test |.
 *
 * Left out: splits by groups of images of one hand (the data do not say whose hand it is).
 */
#include "split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

struct share {
    size_t test, train, validation;
};

/* The sizes for a letter of n samples; train is 0 where the hold-out leaves nothing to learn from. */
static struct share share_of(uint64_t n, double holdout)
{
    struct share s = {0};

    s.test = n / 5 > 1 ? n / 5 : 1;
    s.train = n - s.test;
    if (holdout > 0) {
        size_t held = (size_t)floor(holdout * (double)s.train);
        s.validation = held > 1 ? held : 1;
        if (s.validation > s.train)
            s.validation = s.train;
        s.train -= s.validation;
    }
    return s;
}

/* Checks the counts and adds up the sizes of the three parts; *largest: of one letter. */
static int measure(const uint64_t count[LM_CLASSES], double holdout, struct lm_split *out, size_t *largest,
                   struct lm_error *err)
{
    uint64_t total = 0;

    if (!(holdout >= 0 && holdout < 1))
        return lm_fail(err, LM_BAD_INPUT, "holdout: %g is not a fraction of at least 0 and below 1", holdout);
    for (int c = 0; c < LM_CLASSES; c++) {
        unsigned long long n = count[c];

        if (n < 2)
            return lm_fail(err, LM_BAD_INPUT, "letter %c: %llu sample%s; a split needs at least 2", LM_LETTERS[c], n,
                           n == 1 ? "" : "s");
        if (n > UINT32_MAX || (total += n) > UINT32_MAX)
            return lm_fail(err, LM_BAD_INPUT, "letter %c: more than %lu samples in all", LM_LETTERS[c],
                           (unsigned long)UINT32_MAX);
        struct share s = share_of(n, holdout);
        if (s.train == 0)
            return lm_fail(err, LM_BAD_INPUT,
                           "letter %c: of %llu samples, %zu for the test and %zu held out leave none to train on",
                           LM_LETTERS[c], n, s.test, s.validation);
        out->n_test += s.test;
        out->n_train += s.train;
        out->n_validation += s.validation;
        *largest = n > *largest ? n : *largest;
    }
    return LM_OK;
}

static int allocate(struct lm_split *out, size_t largest, uint32_t **order, struct lm_error *err)
{
    /* An empty validation part keeps a pointer that may be passed on. */
    out->train = malloc(sizeof(uint32_t) * out->n_train);
    out->validation = malloc(sizeof(uint32_t) * (out->n_validation + 1));
    out->test = malloc(sizeof(uint32_t) * out->n_test);
    *order = malloc(sizeof(uint32_t) * largest);
    if (out->train && out->validation && out->test && *order)
        return LM_OK;

    free(*order);
    size_t words = out->n_train + out->n_validation + 1 + out->n_test + largest;
    return lm_fail_memory(err, sizeof(uint32_t) * (unsigned long long)words, "the split");
}

static void append(uint32_t **end, const uint32_t *from, size_t n)
{
    memcpy(*end, from, sizeof(uint32_t) * n);
    *end += n;
}

/* The empty split of the right sizes. */
static int begin(const uint64_t count[LM_CLASSES], double holdout, struct lm_split *made, uint32_t **order,
                 struct lm_error *err)
{
    size_t largest = 0;
    *made = (struct lm_split){0};
    int code = measure(count, holdout, made, &largest, err);
    if (code == LM_OK)
        code = allocate(made, largest, order, err);
    if (code != LM_OK)
        lm_split_free(made);
    return code;
}

int lm_split_make(const uint64_t count[LM_CLASSES], uint32_t split_seed, double holdout, struct lm_split *out,
                  struct lm_error *err)
{
    struct lm_split made;
    uint32_t *order = NULL;

    memset(out, 0, sizeof *out);
    int code = begin(count, holdout, &made, &order, err);
    if (code != LM_OK)
        return code;

    uint32_t *train = made.train, *validation = made.validation, *test = made.test, first = 0;
    struct lm_mt19937 generator;
    lm_mt19937_seed(&generator, split_seed);
    for (int c = 0; c < LM_CLASSES; c++) {
        uint32_t n = (uint32_t)count[c];
        struct share s = share_of(n, holdout);

        for (uint32_t i = 0; i < n; i++)
            order[i] = first + i;
        lm_shuffle(&generator, order, n);
        append(&test, order, s.test);
        append(&train, order + s.test, s.train);
        append(&validation, order + s.test + s.train, s.validation);
        first += n;
    }
    free(order);
    *out = made;
    return LM_OK;
}

int lm_split_make_tail(const uint64_t count[LM_CLASSES], double holdout, struct lm_split *out, struct lm_error *err)
{
    struct lm_split made;
    uint32_t *order = NULL;

    memset(out, 0, sizeof *out);
    int code = begin(count, holdout, &made, &order, err);
    if (code != LM_OK)
        return code;

    uint32_t *train = made.train, *validation = made.validation, *test = made.test, first = 0;
    for (int c = 0; c < LM_CLASSES; c++) {
        struct share s = share_of(count[c], holdout);

        for (uint32_t i = 0; i < count[c]; i++)
            order[i] = first++;
        append(&train, order, s.train);
        append(&validation, order + s.train, s.validation);
        append(&test, order + s.train + s.validation, s.test);
    }
    free(order);
    *out = made;
    return LM_OK;
}

int lm_split_make_kind(enum lm_split_kind kind, const uint64_t count[LM_CLASSES], uint32_t split_seed, double holdout,
                       struct lm_split *out, struct lm_error *err)
{
    return kind == LM_SPLIT_TAIL ? lm_split_make_tail(count, holdout, out, err)
                                 : lm_split_make(count, split_seed, holdout, out, err);
}

const char *lm_split_text(int kind)
{
    return kind == LM_SPLIT_TAIL ? "tail" : "random";
}

void lm_split_free(struct lm_split *split)
{
    free(split->train);
    free(split->validation);
    free(split->test);
    memset(split, 0, sizeof *split);
}
