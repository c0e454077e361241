/* test_photo_list.c: which photographs a folder holds, their order, and one of them with its box. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_pictures.h"
#include "photo.h"
#include "photo_list.h"
#include "scratch.h"

/* ---- the order ---- */

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

static void test_order(void **state)
{
    /* Ascending. */
    static const char *const name[] = {"A0.jpg",
                                       "A000.jpg",
                                       "A1.jpg",
                                       "B1.jpg",
                                       "a01.jpg",
                                       "1-2.jpg",
                                       "A2.PNG",
                                       "A2.jpg",
                                       "A2.jpg.jpg", /* the last dot ends the name: the number is 2 */
                                       "mão2.jpg",
                                       "A10.jpg",
                                       "2020-01-01 b 11 (copy).jpg",
                                       "A99999999999999999999.jpg",
                                       "A100000000000000000000.jpg",
                                       "Z.jpg"};
    const size_t n = sizeof name / sizeof *name;
    (void)state;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            int expected = (a > b) - (a < b), got = sign(lm_photo_order(name[a], name[b]));
            if (got != expected)
                fail_msg("%s and %s: %d", name[a], name[b], got);
        }
    assert_true(lm_photo_order("a.mp3.jpg", "A2.jpg") > 0 && lm_photo_order("a.mp3.jpg", "A10.jpg") < 0);
}

/* ---- the list ---- */

static void put(const char *dir, const char *name)
{
    scratch_write(dir, name, "x", 1);
}

static void make(const char *dir, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0777), 0);
}

static void expect_photo(const struct lm_photo_list *list, size_t i, const char *picture, const char *voc, char letter)
{
    assert_true(i < list->n);
    assert_string_equal(list->names + list->photo[i].picture, picture);
    if (voc)
        assert_string_equal(list->names + list->photo[i].voc, voc);
    else
        assert_true(list->photo[i].voc == LM_NO_NAME);
    assert_int_equal(LM_LETTERS[list->photo[i].label], letter);
}

static int has_stray(const struct lm_photo_list *list, const char *beginning)
{
    for (uint64_t k = 0; k < list->n_strays; k++)
        if (strncmp(list->names + list->stray[k], beginning, strlen(beginning)) == 0)
            return 1;
    return 0;
}

static void test_list(void **state)
{
    static const char *const files[] = {"W/W3.jpg",   "W/W3.xml",  "A/A10.jpg", "A/A10.xml",      "A/A9.JPEG",
                                        "A/A9.XML",   "A/A1.png",  "A/A1.jpg",  "A/A1.xml",       "A/.hidden.jpg",
                                        "A/notes",    "A/A7.xml",  "A/x.y.ppm", "A/x.xml",        "b/ã 2.pgm",
                                        "README.txt", "loose.jpg", ".hidden",   "A/A2.jpg.partly"};
    char *dir = scratch_make();
    struct lm_photo_list list;
    struct lm_error err;

    (void)state;
    make(dir, "A"), make(dir, "b"), make(dir, "W"), make(dir, "F"), make(dir, "letters"), make(dir, "C");
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        put(dir, files[k]);
    assert_int_equal(lm_photo_list_make(dir, &list, &err), LM_OK);
    assert_int_equal(list.n, 7);
    expect_photo(&list, 0, "A/A1.jpg", "A/A1.xml", 'A');
    expect_photo(&list, 1, "A/A1.png", "A/A1.xml", 'A');
    expect_photo(&list, 2, "A/A9.JPEG", "A/A9.XML", 'A');
    expect_photo(&list, 3, "A/A10.jpg", "A/A10.xml", 'A');
    expect_photo(&list, 4, "A/x.y.ppm", NULL, 'A');
    expect_photo(&list, 5, "b/ã 2.pgm", NULL, 'B');
    expect_photo(&list, 6, "W/W3.jpg", "W/W3.xml", 'W');
    assert_true(has_stray(&list, "A/notes: no .jpg"));
    assert_true(has_stray(&list, "A/A2.jpg.partly: no .jpg"));
    assert_true(has_stray(&list, "A/A7.xml: no picture of this name"));
    assert_true(has_stray(&list, "A/x.xml: no picture of this name"));
    assert_true(has_stray(&list, "F: a folder that is named by none of the letters"));
    assert_true(has_stray(&list, "letters: a folder"));
    assert_true(has_stray(&list, "loose.jpg: not in a letter's folder"));
    assert_int_equal(list.n_strays, 7);
    lm_photo_list_free(&list);
    scratch_remove(dir);
}

static void list_refused(const char *dir, const char *part)
{
    struct lm_photo_list list;
    struct lm_error err;
    assert_int_equal(lm_photo_list_make(dir, &list, &err), LM_BAD_INPUT);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
    assert_true(!list.photo && !list.names && !list.stray);
}

static void test_list_faults(void **state)
{
    char *dir = scratch_make(), path[300];
    struct lm_photo_list list;
    struct lm_error err;

    (void)state;
    list_refused("/nonexistent/x", "/nonexistent/x: No such file");
    list_refused(dir, "no folder here is named by a letter (ABCDEILMNORSUVW)");
    put(dir, "A"); /* a file, not a folder */
    list_refused(dir, "no folder here is named by a letter");
    make(dir, "inner"), make(dir, "inner/A");
    list_refused(dir, "inner has such folders");
    scratch_delete(dir, "A");
    make(dir, "A");
    assert_int_equal(lm_photo_list_make(dir, &list, &err), LM_OK);
    assert_int_equal(list.n, 0);
    lm_photo_list_free(&list);
    make(dir, "a");
    list_refused(dir, "both A and a are there");
    snprintf(path, sizeof path, "%s/file", dir);
    put(dir, "file");
    list_refused(path, "no folder");
    scratch_remove(dir);
}

/* Thousands of names, in whatever order the file system gives them. */
static void test_many(void **state)
{
    char *dir = scratch_make(), name[64];
    struct lm_photo_list list;
    struct lm_error err;

    (void)state;
    make(dir, "A");
    for (unsigned k = 0; k < 1500; k++) {
        snprintf(name, sizeof name, "A/x%u.jpg", k * 7919 % 1500);
        put(dir, name);
        snprintf(name, sizeof name, "A/x%u.xml", k * 104729 % 1500);
        put(dir, name);
    }
    assert_int_equal(lm_photo_list_make(dir, &list, &err), LM_OK);
    assert_int_equal(list.n, 1500);
    assert_int_equal(list.n_strays, 0);
    for (unsigned k = 0; k < 1500; k++) {
        char voc[64];
        snprintf(name, sizeof name, "A/x%u.jpg", k);
        snprintf(voc, sizeof voc, "A/x%u.xml", k);
        expect_photo(&list, k, name, voc, 'A');
    }
    lm_photo_list_free(&list);
    scratch_remove(dir);
}

/* ---- a photograph ---- */

static void save(const char *dir, const char *name, struct made made)
{
    scratch_write(dir, name, made.bytes, made.n);
    free(made.bytes);
}

static int load(const char *dir, const char *picture, int boxed, struct lm_photo *photo, struct lm_error *err)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, picture);
    char *voc;
    assert_int_equal(lm_photo_find_voc(path, &voc, err), LM_OK);
    int code = lm_photo_load(path, boxed ? voc : NULL, photo, err);
    free(voc);
    return code;
}

/* The XML file beside a picture, whatever its capitals; one that cannot be read is there all the same. */
static void test_find_voc(void **state)
{
    static const char *const pair[][2] = {{"A7.jpg", "A7.xml"}, {"x.y.png", "x.y.XML"}, {"B7", "B7.Xml"},
                                          {".jpg", ".jpg.xmL"}, {"none.jpg", NULL},     {"other.jpg", NULL}};
    (void)state;
    char *dir = scratch_make(), *link;
    scratch_write(dir, "other.xmlx", "", 0);
    assert_true(asprintf(&link, "%s/B7.Xml", dir) > 0);
    assert_int_equal(symlink("nowhere", link), 0);
    free(link);
    for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
        struct lm_error err;
        char *picture, *found;
        if (pair[k][1] && strcmp(pair[k][1], "B7.Xml") != 0)
            scratch_write(dir, pair[k][1], "", 0);
        assert_true(asprintf(&picture, "%s/%s", dir, pair[k][0]) > 0);
        assert_int_equal(lm_photo_find_voc(picture, &found, &err), LM_OK);
        if (pair[k][1])
            assert_string_equal(found + strlen(dir) + 1, pair[k][1]);
        else
            assert_null(found);
        free(found);
        free(picture);
    }
    scratch_remove(dir);
}

static void test_photo(void **state)
{
    char *dir = scratch_make();
    struct lm_photo photo, whole;
    struct lm_error err;

    (void)state;
    save(dir, "a.pgm", made_pnm(5, 64, 48, 0));
    save(dir, "a.xml", made_voc(64, 48, 10, 4, 58, 44));
    assert_int_equal(load(dir, "a.pgm", 0, &whole, &err), LM_OK);
    assert_true(!whole.boxed && !*whole.note);
#ifdef LM_HAVE_EXPAT
    assert_int_equal(load(dir, "a.pgm", 1, &photo, &err), LM_OK);
    assert_true(photo.boxed && !*photo.note);
    assert_memory_not_equal(photo.pixel, whole.pixel, LM_PIXELS);
    /* The whole picture as a box is the whole picture. */
    save(dir, "a.xml", made_voc(0, 0, 0, 0, 64, 48));
    assert_int_equal(load(dir, "a.pgm", 1, &photo, &err), LM_OK);
    assert_memory_equal(photo.pixel, whole.pixel, LM_PIXELS);
    save(dir, "a.xml", made_voc(64, 48, 10, 4, 65, 44));
    assert_int_equal(load(dir, "a.pgm", 1, &photo, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "a.pgm: the box x 10 to 65, y 4 to 44 is not inside the picture of 64 x 48"));
    save(dir, "a.xml", made_voc(128, 96, 10, 4, 50, 44));
    assert_int_equal(load(dir, "a.pgm", 1, &photo, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "a.pgm: it has 64 x 48 pixels, and a.xml speaks of one of 128 x 96"));
    save(dir, "a.xml", made_voc(64, 48, 10, 4, 17, 44));
    assert_int_equal(load(dir, "a.pgm", 1, &photo, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "7 x 40 pixels are too few"));
#else
    assert_int_equal(load(dir, "a.pgm", 1, &photo, &err), LM_UNAVAILABLE);
    assert_non_null(strstr(err.text, "without expat"));
#endif
    assert_int_equal(load(dir, "b.pgm", 0, &photo, &err), LM_BAD_INPUT);
    scratch_remove(dir);
}

static void test_photo_notes(void **state)
{
    char *dir = scratch_make();
    struct lm_photo photo;
    struct lm_error err;

    (void)state;
#ifdef LM_HAVE_PNG
    save(dir, "a.png", made_png((struct made_png){64, 48, 6, 8, 0, MADE_OPAQUE, 0}));
    assert_int_equal(load(dir, "a.png", 0, &photo, &err), LM_OK);
    assert_string_equal(photo.note, "alpha channel dropped: it is opaque throughout");
#endif
#ifdef LM_HAVE_JPEG
    save(dir, "r.jpg", made_jpeg((struct made_jpeg){64, 48, 1, 0, 6, 0}));
    save(dir, "r.xml", made_voc(64, 48, 10, 4, 50, 44));
    assert_int_equal(load(dir, "r.jpg", 0, &photo, &err), LM_OK);
    assert_string_equal(photo.note, "turned upright as EXIF says (orientation 6)");
#ifdef LM_HAVE_EXPAT
    assert_int_equal(load(dir, "r.jpg", 1, &photo, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "r.jpg: EXIF turns this picture (orientation 6), and nobody says which way up the "
                                     "box of r.xml was drawn"));
#endif
#endif
    (void)photo, (void)err;
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),       cmocka_unit_test(test_list),     cmocka_unit_test(test_list_faults),
        cmocka_unit_test(test_many),        cmocka_unit_test(test_find_voc), cmocka_unit_test(test_photo),
        cmocka_unit_test(test_photo_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
