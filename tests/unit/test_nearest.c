/* test_nearest.c: the name that was probably meant, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

static const char *const option[] = {"data",       "out",     "device", "learning-rate", "epochs",  "hidden", "seed",
                                     "split-seed", "holdout", "block",  "force",         "dry-run", "format", "help"};

static void expect(const char *word, const char *meant)
{
    const char *found = lm_nearest(word, option, sizeof option / sizeof *option);
    if (!meant && found)
        fail_msg("'%s': nobody meant '%s'", word, found);
    if (meant && (!found || strcmp(found, meant) != 0))
        fail_msg("'%s': '%s' was meant, not '%s'", word, meant, found ? found : "(none)");
}

static void test_slips(void **state)
{
    (void)state;
    expect("epochs", "epochs");
    expect("epoch", "epochs");   /* a letter is missing */
    expect("epochss", "epochs"); /* one too many */
    expect("epockhs", "epochs"); /* one slipped in */
    expect("eqochs", "epochs");  /* another one */
    expect("peochs", "epochs");  /* two changed places */
    expect("learning_rate", "learning-rate");
    expect("learnig-rat", "learning-rate");
    expect("lerning-reta", "learning-rate");
    expect("splitseed", "split-seed");
    expect("uot", "out"); /* a swap costs one: two of three letters would be too many */
    expect("formt", "format");
    expect("balck", "block"); /* two letters of five are a third, rounded up */
}

static void test_far(void **state)
{
    (void)state;
    expect("", NULL);
    expect("x", NULL);
    expect("momentum", NULL);
    expect("epochs-per-second", NULL);
    expect("eqxxhs", NULL); /* three of six */
    expect("EPOCHS", NULL);
    char word[200];
    memset(word, 'a', sizeof word);
    word[199] = '\0';
    expect(word, NULL);
    word[64] = '\0';
    expect(word, NULL);
    word[63] = '\0';
    expect(word, NULL);
}

/* Swapped neighbours cost one, as a missing letter does; the smallest distance wins, and the first of equals. */
static void test_choice(void **state)
{
    static const char *const name[] = {"abcdef", "abcdxx", "abcdxy"};
    static const char *const equal[] = {"aacd", "abcc"};

    (void)state;
    assert_string_equal(lm_nearest("abdcef", name, 3), "abcdef");
    assert_string_equal(lm_nearest("abcdx", name, 3), "abcdxx");
    assert_string_equal(lm_nearest("abcdy", name, 3), "abcdxy");
    assert_string_equal(lm_nearest("abcd", equal, 2), "aacd");
    assert_null(lm_nearest("abcd", equal, 0));
}

/* Names and words as long as the tables allow, at their edges. */
static void test_long_names(void **state)
{
    char longest[64], longer[65], word[64];
    const char *name[] = {longer, longest};

    (void)state;
    memset(longest, 'q', 63);
    longest[63] = '\0';
    memset(longer, 'q', 64);
    longer[64] = '\0';
    strcpy(word, longest);
    word[40] = 'r';
    assert_ptr_equal(lm_nearest(word, name, 2), longest);
    assert_null(lm_nearest(word, name, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
