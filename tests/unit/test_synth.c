/* test_synth.c: the synthetic data set is the same bytes everywhere, and a set of fifteen different hands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "synth.h"

/* What every figure in the documentation that comes from synthetic data rests on. A change of the drawing, of its
 * ranges or of the generator changes this, and then all those figures have to be measured again. */
#define DEFAULT_DIGEST                                                                                                 \
    "0d5f7b7501547086"                                                                                                 \
    "53429fdd7a74293e"                                                                                                 \
    "e45fcf3c90bd58ea"                                                                                                 \
    "12b8781685e893c0"

/* Means are compared over this many images a half, not over the default set: there, light and skin vary so much that
 * two halves of one letter differ by up to 4 grey levels (mean over the 64 pixels), more than M and N do. Here two
 * halves of a letter differ by 0.54 at most. The closest letters are M and N, near 1; the next, R and U, near 4. */
#define HALF             4000
#define LEAST_DIFFERENCE 0.75

static int make_default(void **state)
{
    static struct lm_dataset data;
    struct lm_error err;
    if (lm_synth(lm_synth_default_count, LM_SYNTH_DEFAULT_SEED, &data, &err) != LM_OK)
        return -1;
    *state = &data;
    return 0;
}

static int free_default(void **state)
{
    lm_dataset_free(*state);
    return 0;
}

static void the_default_set_has_its_fixed_digest(void **state)
{
    const struct lm_dataset *data = *state;
    assert_string_equal(data->digest, DEFAULT_DIGEST);
    assert_string_equal(data->path, "synthetic:seed=1");
}

static void the_default_set_has_the_real_ones_counts(void **state)
{
    const struct lm_dataset *data = *state;
    uint64_t test = 0, sum = 0;
    assert_int_equal(data->samples, 4410);
    for (int c = 0; c < LM_CLASSES; c++) {
        assert_int_equal(data->count[c], lm_synth_default_count[c]);
        for (uint64_t k = 0; k < data->count[c]; k++)
            assert_int_equal(data->label[sum++], c);
        test += data->count[c] / 5;
    }
    assert_int_equal(test, 878);
}

static void values_are_whole_greys(void **state)
{
    const struct lm_dataset *data = *state;
    double least = 255, most = 0;
    for (size_t i = 0; i < data->samples * LM_PIXELS; i++) {
        double value = data->pixel[i];
        assert_true(value >= 0 && value <= 255 && value == (double)(int)value);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    assert_true(most - least > 200); /* the range is used, not only kept */
}

/* Image k of a letter is the same in a small set, in the default one and beside other counts of other letters. */
static void an_image_does_not_depend_on_the_counts(void **state)
{
    const struct lm_dataset *data = *state;
    uint64_t count[LM_CLASSES];
    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = 2 + (uint64_t)(7 * c) % 11;

    struct lm_dataset few;
    struct lm_error err;
    assert_int_equal(lm_synth(count, LM_SYNTH_DEFAULT_SEED, &few, &err), LM_OK);
    const double *large = data->pixel, *small = few.pixel;
    for (int c = 0; c < LM_CLASSES; c++) {
        assert_memory_equal(large, small, count[c] * LM_PIXELS * sizeof *small);
        large += data->count[c] * LM_PIXELS;
        small += count[c] * LM_PIXELS;
    }
    assert_string_not_equal(few.digest, data->digest);
    lm_dataset_free(&few);
}

static void the_same_seed_gives_the_same_and_another_another(void **state)
{
    const struct lm_dataset *data = *state;
    static const uint32_t seeds[] = {LM_SYNTH_DEFAULT_SEED, 0, 2, 4294967295u};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct lm_dataset other;
        struct lm_error err;
        assert_int_equal(lm_synth(lm_synth_default_count, seeds[i], &other, &err), LM_OK);
        assert_int_equal(strcmp(other.digest, data->digest) == 0, seeds[i] == LM_SYNTH_DEFAULT_SEED);
        if (i == 3)
            assert_string_equal(other.path, "synthetic:seed=4294967295");
        lm_dataset_free(&other);
    }
}

static void no_image_comes_twice(void **state)
{
    const struct lm_dataset *data = *state;
    for (size_t i = 0; i < data->samples; i++)
        for (size_t j = 0; j < i; j++)
            if (!memcmp(data->pixel + i * LM_PIXELS, data->pixel + j * LM_PIXELS, LM_PIXELS * sizeof(double)))
                fail_msg("images %zu and %zu are the same", j, i);
}

static double difference(const double a[LM_PIXELS], const double b[LM_PIXELS])
{
    double sum = 0;
    for (int p = 0; p < LM_PIXELS; p++)
        sum += a[p] < b[p] ? b[p] - a[p] : a[p] - b[p];
    return sum / LM_PIXELS;
}

/* By a stated amount, and by more than chance makes of two halves of one letter. */
static void letters_differ_in_their_mean_images(void **state)
{
    (void)state;
    static double mean[LM_CLASSES][2][LM_PIXELS];
    uint64_t count[LM_CLASSES];
    for (int c = 0; c < LM_CLASSES; c++)
        count[c] = 2 * HALF;
    struct lm_dataset many;
    struct lm_error err;
    assert_int_equal(lm_synth(count, LM_SYNTH_DEFAULT_SEED, &many, &err), LM_OK);
    for (size_t i = 0; i < many.samples; i++)
        for (int p = 0; p < LM_PIXELS; p++)
            mean[many.label[i]][i / HALF % 2][p] += many.pixel[i * LM_PIXELS + p] / HALF;
    lm_dataset_free(&many);

    double chance = 0;
    for (int c = 0; c < LM_CLASSES; c++) {
        double halves = difference(mean[c][0], mean[c][1]);
        chance = halves > chance ? halves : chance;
    }
    for (int a = 0; a < LM_CLASSES; a++)
        for (int b = 0; b < a; b++)
            for (int half = 0; half < 2; half++) {
                double apart = difference(mean[a][half], mean[b][half]);
                if (apart < LEAST_DIFFERENCE || apart <= chance)
                    fail_msg("%c and %c differ by %g grey levels, two halves of one letter by up to %g", LM_LETTERS[a],
                             LM_LETTERS[b], apart, chance);
            }
}

static void a_count_below_two_is_refused_by_its_letter(void **state)
{
    (void)state;
    for (int c = 0; c < LM_CLASSES; c++)
        for (uint64_t bad = 0; bad < 2; bad++) {
            uint64_t count[LM_CLASSES];
            memcpy(count, lm_synth_default_count, sizeof count);
            count[c] = bad;
            struct lm_dataset none;
            struct lm_error err;
            assert_int_equal(lm_synth(count, LM_SYNTH_DEFAULT_SEED, &none, &err), LM_BAD_INPUT);
            assert_int_equal(err.code, LM_BAD_INPUT);
            char named[] = "letter ?";
            named[7] = LM_LETTERS[c];
            assert_non_null(strstr(err.text, named));
            assert_null(none.pixel);
            assert_null(none.path);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_set_has_its_fixed_digest),
        cmocka_unit_test(the_default_set_has_the_real_ones_counts),
        cmocka_unit_test(values_are_whole_greys),
        cmocka_unit_test(an_image_does_not_depend_on_the_counts),
        cmocka_unit_test(the_same_seed_gives_the_same_and_another_another),
        cmocka_unit_test(no_image_comes_twice),
        cmocka_unit_test(letters_differ_in_their_mean_images),
        cmocka_unit_test(a_count_below_two_is_refused_by_its_letter),
    };
    return cmocka_run_group_tests(tests, make_default, free_default);
}
