/* test_filter_report.c: who was right about a tile, and what it cost, on points made up so that the answers are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter_report.h"

/* Predicted and measured times without and with a tile, in us; counts: the criterion's answer. */
static struct filter_point made(int counts, double refined, double refined_tile, double bound, double bound_tile,
                                double measured, double measured_tile)
{
    struct filter_point p = {.f = {3, 3, 9, 4}, .tile = {10, 34}, .rows = 8, .columns = 32, .same_bits = 1};
    p.criterion.why = counts ? LM_CACHING_PAYS : LM_CACHING_TOO_FEW;
    p.refined[FILTER_GLOBAL] = refined;
    p.refined[FILTER_TILE] = refined_tile;
    p.bound[FILTER_GLOBAL] = bound;
    p.bound[FILTER_TILE] = bound_tile;
    p.measured[FILTER_GLOBAL] = measured;
    p.measured[FILTER_TILE] = measured_tile;
    p.cpu_elements = p.cpu_predicted = p.cpu_measured = 1.0;
    return p;
}

/* Five points: a tile twice as fast, one half as fast, two ties, and one 1.25 times as fast. */
static void make(struct filter_point point[5])
{
    point[0] = made(1, 2.0, 1.0, 9.0, 5.0, 2.0, 1.0);
    point[1] = made(1, 1.0, 2.0, 9.0, 5.0, 1.0, 2.0);
    point[2] = made(1, 2.0, 1.0, 9.0, 5.0, 100.0, 105.0);
    point[3] = made(0, 1.0, 1.0, 5.0, 9.0, 104.0, 100.0);
    point[4] = made(0, 1.0, 2.0, 9.0, 5.0, 1.25, 1.0);
}

static int near(double x, double y)
{
    return fabs(x - y) < 1e-12;
}

static void test_points(void **state)
{
    (void)state;
    struct filter_point p[5];
    make(p);
    static const int tie[] = {0, 0, 1, 1, 0}, tile[] = {1, 0, 0, 1, 1};
    static const int counts[] = {1, 1, 1, 0, 0}, times[] = {1, 0, 1, 0, 0}, bound[] = {1, 1, 1, 0, 1};
    for (int k = 0; k < 5; k++) {
        assert_int_equal(filter_is_tie(&p[k]), tie[k]);
        assert_int_equal(filter_faster(&p[k]), tile[k] ? FILTER_TILE : FILTER_GLOBAL);
        assert_int_equal(filter_choice(&p[k], FILTER_BY_COUNTS) == FILTER_TILE, counts[k]);
        assert_int_equal(filter_choice(&p[k], FILTER_BY_TIMES) == FILTER_TILE, times[k]);
        assert_int_equal(filter_choice(&p[k], FILTER_BY_BOUND) == FILTER_TILE, bound[k]);
        assert_int_equal(filter_choice(&p[k], FILTER_NEVER_TILE), FILTER_GLOBAL);
        assert_int_equal(filter_choice(&p[k], FILTER_ALWAYS_TILE), FILTER_TILE);
    }
    struct filter_point apart = made(1, 1, 1, 1, 1, 100.0, 105.1);
    assert_false(filter_is_tie(&apart));
}

static void check(enum filter_judge judge, int right, int missed, int useless, double mean, double worst)
{
    struct filter_point p[5];
    make(p);
    struct filter_score s = filter_score_of(p, 5, judge);
    assert_int_equal(s.points, 3);
    assert_int_equal(s.right, right);
    assert_int_equal(s.missed, missed);
    assert_int_equal(s.useless, useless);
    assert_true(near(s.mean_regret, mean) && near(s.worst_regret, worst));
}

/* By hand: regrets 0, 1, 0.05, 0.04 and 0.25, where that point's choice is the slower one. */
static void test_scores(void **state)
{
    (void)state;
    check(FILTER_BY_COUNTS, 1, 1, 1, (0.0 + 1.0 + 0.05 + 0.04 + 0.25) / 5.0, 1.0);
    check(FILTER_BY_TIMES, 2, 1, 0, (0.0 + 0.0 + 0.05 + 0.04 + 0.25) / 5.0, 0.25);
    check(FILTER_BY_BOUND, 2, 0, 1, (0.0 + 1.0 + 0.05 + 0.04 + 0.0) / 5.0, 1.0);
    check(FILTER_NEVER_TILE, 1, 2, 0, (1.0 + 0.0 + 0.0 + 0.04 + 0.25) / 5.0, 1.0);
    check(FILTER_ALWAYS_TILE, 2, 0, 1, (0.0 + 1.0 + 0.05 + 0.0 + 0.0) / 5.0, 1.0);
    struct filter_score none = filter_score_of(NULL, 0, FILTER_BY_TIMES);
    assert_true(none.points == 0 && none.right == 0 && none.mean_regret == 0.0);
}

/* Standard output goes to file; what it was before. */
static int turned_to(FILE *file)
{
    int before = dup(STDOUT_FILENO);
    assert_true(file && before >= 0);
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    return before;
}

static void turn_back(int before)
{
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
}

/* What is printed, in text[0..size); the return value of filter_show_summary. */
static int said(const struct filter_point *point, int n, int gpu, char *text, size_t size)
{
    FILE *file = tmpfile();
    int out = turned_to(file);
    int status = filter_show_summary(point, n, gpu);
    turn_back(out);
    rewind(file);
    size_t got = fread(text, 1, size - 1, file);
    fclose(file);
    assert_true(got > 0);
    text[got] = '\0';
    return status;
}

/* The last line, and that wrong bits, or no points, are no success. */
static void test_verdict(void **state)
{
    (void)state;
    struct filter_point p[5];
    static char text[8192];
    make(p);
    assert_int_equal(said(p, 5, 1, text, sizeof text), 0);
    assert_non_null(strstr(text, "caching points=5 ties=2 refined_right=0.667 criterion_right=0.333 bound_right=0.667 "
                                 "goal=0.900 wrong_bits=0 status=VALID\n"));
    p[3].same_bits = 0;
    assert_int_equal(said(p, 5, 1, text, sizeof text), 1);
    assert_non_null(strstr(text, "wrong_bits=1 status=INVALID\n"));
    p[3].same_bits = -1; /* not looked at */
    assert_int_equal(said(p, 5, 1, text, sizeof text), 1);
    assert_int_equal(said(p, 5, 0, text, sizeof text), 0);
    assert_non_null(strstr(text, "refined_right=n/a criterion_right=n/a bound_right=n/a status=NO_GPU\n"));
    assert_non_null(strstr(text, "a tile is chosen at 3 by the criterion, at 2 by the refined times, at 4 by"));
    assert_int_equal(said(p, 0, 1, text, sizeof text), 1);
}

/* As many fields in a line of the CSV as in its head, with a GPU and without. */
static void test_csv(void **state)
{
    (void)state;
    struct filter_point p[5];
    make(p);
    for (int gpu = 0; gpu < 2; gpu++) {
        char *text = NULL, *save = NULL;
        size_t size = 0;
        FILE *csv = open_memstream(&text, &size), *table = tmpfile();
        assert_non_null(csv);
        int out = turned_to(table);
        filter_show_head(csv, gpu);
        filter_show(&p[1], csv, gpu);
        turn_back(out);
        fclose(table);
        fclose(csv);
        int fields[2] = {0};
        char *line = strtok_r(text, "\n", &save);
        for (int k = 0; k < 2; k++, line = strtok_r(NULL, "\n", &save)) {
            assert_non_null(line);
            for (const char *c = line; *c; c++)
                fields[k] += *c == ',';
            if (k == 1)
                assert_non_null(strstr(line, gpu ? ",1,0,1,1,2,9,5,1,2,0,0,1," : ",1,0,1,1,2,9,5,,,,,,"));
        }
        assert_true(fields[0] == 24 && fields[1] == 24);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_verdict),
        cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
