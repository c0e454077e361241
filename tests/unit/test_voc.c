/* test_voc.c: labelled boxes from Pascal VOC files, and files that are none, or mean harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_pictures.h"
#include "scratch.h"
#include "voc.h"

#ifdef LM_HAVE_EXPAT

#define BOX  "<bndbox><xmin>49</xmin><ymin>27</ymin><xmax>143</xmax><ymax>200</ymax></bndbox>"
#define BODY "<annotation><object>" BOX "</object></annotation>"

static int parse(const char *text, size_t n, struct lm_voc *voc, struct lm_error *err)
{
    uint8_t *copy = malloc(n + 1); /* of its own size: a sanitizer sees what is read behind it */
    memcpy(copy, text, n);
    int code = lm_voc_parse(copy, n, voc, err);
    free(copy);
    return code;
}

static struct lm_voc accept(const char *text)
{
    struct lm_voc voc;
    struct lm_error err;
    if (parse(text, strlen(text), &voc, &err) != LM_OK)
        fail_msg("%s", err.text);
    return voc;
}

static void refuse(const char *text, const char *part)
{
    struct lm_voc voc;
    struct lm_error err;
    if (parse(text, strlen(text), &voc, &err) != LM_BAD_INPUT)
        fail_msg("accepted; wanted: %s", part);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static void same_box(struct lm_voc voc)
{
    assert_true(voc.box.xmin == 49 && voc.box.ymin == 27 && voc.box.xmax == 143 && voc.box.ymax == 200);
}

static void test_box(void **state)
{
    (void)state;
    same_box(accept(BODY));
    struct made made = made_voc(320, 240, 1, 2, 30, 40);
    struct lm_voc voc;
    struct lm_error err;
    assert_int_equal(lm_voc_parse(made.bytes, made.n, &voc, &err), LM_OK);
    assert_true(voc.width == 320 && voc.height == 240 && voc.box.xmin == 1 && voc.box.ymax == 40);
    for (size_t n = 0; n < made.n - 1; n++) /* without the last line's end it is whole */
        assert_int_equal(parse((char *)made.bytes, n, &voc, &err), LM_BAD_INPUT);
    free(made.bytes);
}

static void test_accepted(void **state)
{
    (void)state;
    same_box(accept("\xEF\xBB\xBF<?xml version='1.0' encoding='UTF-8'?>\r\n<!-- > -->\r\n" BODY));
    same_box(accept("<annotation><object><bndbox>\n <ymax> 200\n</ymax> <xmin><!--0-->4<!--0-->9</xmin>"
                    "<ymin>0027</ymin><xmax a='1'>143</xmax></bndbox></object></annotation>"));
    /* What stands elsewhere is not ours: parts, other elements of the names, a name longer than any of ours. */
    same_box(
        accept("<annotation><xmin>1</xmin><object><part>" BOX "</part><name>a</name>" BOX "</object>"
               "<nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_"
               "nonsense_nonsense_nonsense><annotation><object>" BOX "</object></annotation>"
               "</nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_nonsense_"
               "nonsense_nonsense_nonsense></annotation>"));
    same_box(accept("<!DOCTYPE annotation><annotation><object>" BOX "</object></annotation>"));
    assert_int_equal(
        accept("<annotation><size><width>0</width><height>0</height></size><object>" BOX "</object></annotation>")
            .width,
        0);
}

static void test_refused(void **state)
{
    char deep[2000] = "", large[3000];
    (void)state;
    refuse("", "no element found");
    refuse("hello", "line 1: no well-formed XML");
    refuse("<annotation>\n<object></annotation>", "line 2: no well-formed XML: mismatched tag");
    refuse("<annotation/>", "no box");
    refuse("<other><object>" BOX "</object></other>", "no box");
    refuse("<annotation><object>" BOX "</object>\n<object>" BOX "</object></annotation>", "line 2: a second box");
    refuse("<annotation><object><bndbox><xmin>1</xmin></bndbox></object></annotation>", "the box has no ymin");
    refuse("<annotation><object><bndbox><xmin>1</xmin><xmin>1</xmin></bndbox></object></annotation>", "a second xmin");
    refuse("<annotation><object><bndbox><xmin>1 41</xmin></bndbox></object></annotation>",
           "a number was expected in xmin");
    refuse("<annotation><object><bndbox><xmin>2\n1</xmin></bndbox></object></annotation>", "line 2: a number");
    refuse("<annotation><object><bndbox><xmin>9<b/>38</xmin></bndbox></object></annotation>", "an element within xmin");
    static const char *const numbers[] = {"", "-1", "1.5", "x", "4294967296", "99999999999999999999", "1e2", "0x10"};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        snprintf(large, sizeof large, "<annotation><object><bndbox>\n\n<xmin>%s</xmin></bndbox></object></annotation>",
                 numbers[k]);
        refuse(large, "line 3: a whole number from 0 was expected in xmin");
    }
    snprintf(large, sizeof large, "<annotation><object><bndbox><ymax>%030d</ymax></bndbox></object></annotation>", 7);
    refuse(large, "a number was expected in ymax");
    for (int k = 0; k < 40; k++)
        strcat(deep, "<annotation>");
    refuse(deep, "elements within elements");
    refuse("<annotation>&lol;</annotation>", "undefined entity");
}

/* The bomb, its quadratic kin, and files that would have others read. */
static void test_harm(void **state)
{
    (void)state;
    refuse("<?xml version='1.0'?>\n<!DOCTYPE a [\n<!ENTITY lol 'lol'>\n<!ENTITY lol1 "
           "'&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;'>\n]>\n<annotation>&lol1;</annotation>",
           "line 3: it declares entities");
    refuse("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><annotation><object><bndbox><xmin>&x;</xmin></bndbox>"
           "</object></annotation>",
           "it declares entities");
    refuse("<!DOCTYPE a [<!ENTITY % x '<!ENTITY y \"1\">'> %x;]><annotation/>", "it declares entities");
    /* Another file's declarations are not fetched, and then there are none. */
    same_box(accept("<!DOCTYPE annotation SYSTEM 'file:///etc/passwd'>" BODY));
}

static void test_files(void **state)
{
    char *dir = scratch_make(), path[300];
    struct lm_voc voc;
    struct lm_error err;

    (void)state;
    scratch_write(dir, "a.xml", BODY, strlen(BODY));
    snprintf(path, sizeof path, "%s/a.xml", dir);
    assert_int_equal(lm_voc_load(path, &voc, &err), LM_OK);
    same_box(voc);
    assert_int_equal(truncate(path, (1 << 20) + 1), 0);
    assert_int_equal(lm_voc_load(path, &voc, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "1048577 bytes; at most 1048576 are read"));
    scratch_write(dir, "a.xml", "<x>", 3);
    assert_int_equal(lm_voc_load(path, &voc, &err), LM_BAD_INPUT);
    assert_true(strncmp(err.text, path, strlen(path)) == 0 && strstr(err.text, "a.xml: line 1: no well-formed XML"));
    snprintf(path, sizeof path, "%s/b.xml", dir);
    assert_int_equal(lm_voc_load(path, &voc, &err), LM_BAD_INPUT);
    assert_non_null(strstr(err.text, "No such file"));
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),  cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_harm), cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_without_expat(void **state)
{
    struct made made = made_voc(320, 240, 1, 2, 30, 40);
    struct lm_voc voc;
    struct lm_error err;
    (void)state;
    assert_int_equal(lm_voc_parse(made.bytes, made.n, &voc, &err), LM_UNAVAILABLE);
    assert_non_null(strstr(err.text, "without expat"));
    free(made.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_expat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
