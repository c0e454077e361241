/* test_model_choice.c: what a program does where it runs: candidates for its threads, ranks and GPUs, those that every
 * rank can run, what was asked for, what earlier runs say, and the rows of /model. The machine has a GPU that this one
 * need not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_machine.h"
#include "model_choice.h"

#define SAMPLES 3500.0

static const struct lm_shape lab = {32, 16};
static const char *const all[] = {
    "gpu:fast",  "gpu:whole+fused", "gpu:whole+shared", "gpu:whole+global", "gpu:whole", "gpu:batch", "gpu:resident",
    "gpu:naive", "cpu:avx512",      "cpu:avx2",         "cpu:portable",     "cpu-ref",   NULL};
static const char *const cpus[] = {"cpu:avx512", "cpu:avx2", "cpu:portable", "cpu-ref", NULL};

static struct lm_work trainings(double n)
{
    struct lm_work work = {0};
    struct lm_error err;
    const struct lm_trial trial = {.learning_rate = 0.02f,
                                   .decay = 1.0f,
                                   .initial_range = 0.05f,
                                   .epochs = 51,
                                   .seed = 1,
                                   .block = 128,
                                   .shape = lab};
    assert_int_equal(lm_work_add(&work, &trial, 51.0, &err), LM_OK);
    work.kind[0].replicas = n;
    work.kind[0].epochs = 51.0 * n;
    lm_work_end(&work, SAMPLES, 1.0);
    return work;
}

static struct lm_choice train(const struct lm_machine *m, struct lm_place place, double n)
{
    struct lm_work work = trainings(n);
    struct lm_choice choice;
    lm_choice_train(m, &place, &work, 878.0, &choice);
    assert_true(choice.size == n * 51.0 * SAMPLES);
    lm_work_free(&work);
    return choice;
}

static struct lm_choice infer(const struct lm_machine *m, struct lm_place place, double n, double batch)
{
    struct lm_choice choice;
    lm_choice_infer(m, &place, lab, n, batch, &choice);
    assert_true(choice.size == n);
    return choice;
}

/* The seconds of a candidate; fails if there is none. */
static double of(const struct lm_choice *choice, const char *device, const char *where)
{
    for (int k = 0; k < choice->n; k++)
        if (strcmp(choice->candidate[k].device, device) == 0 && strcmp(choice->candidate[k].where, where) == 0)
            return choice->candidate[k].seconds;
    fail_msg("no %s, %s", device, where);
    return 0.0;
}

static int there(const struct lm_choice *choice, const char *device, const char *where)
{
    int count = 0;
    for (int k = 0; k < choice->n; k++)
        count += strcmp(choice->candidate[k].device, device) == 0 && strcmp(choice->candidate[k].where, where) == 0;
    return count;
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void chose(const struct lm_choice *choice, const char *device, const char *where)
{
    assert_true(choice->chosen >= 0);
    assert_string_equal(choice->candidate[choice->chosen].device, device);
    assert_string_equal(choice->candidate[choice->chosen].where, where);
}

/* A step takes a core 15 kFLOP / 73 GFLOP/s = 0.2 us, 16 cores 0.013 us; 1,584 warps 0.8 / 1,584 us, 25 times less. */
static void test_gpu(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_place one = {1, 1, 16, 1};
    char text[300];
    (void)state;
    struct lm_choice c = train(&m, one, 15840.0);
    lm_choice_decide(&c, all, m.error);
    chose(&c, "gpu:fast", "weights in registers");
    assert_true(c.decision.offload && c.decision.gain > 15.0 && c.decision.gain < 40.0);
    lm_choice_text(&c, text, sizeof text);
    assert_int_equal(strncmp(text, "gpu:fast (weights in registers): ", 33), 0);
    assert_non_null(strstr(text, "times as fast as cpu:avx512 (all cores)"));
    c = train(&m, one, 1.0); /* one replica: a core is faster than a warp, and others have nothing to do */
    lm_choice_decide(&c, all, m.error);
    chose(&c, "cpu:avx512", "one core");
    m.cpu.infer_all = 1.0; /* a large batch of a single core's goes to the GPU */
    c = infer(&m, one, 4e6, 0.0);
    lm_choice_decide(&c, all, m.error);
    assert_true(c.chosen >= 0 && c.decision.offload && c.candidate[c.chosen].gpu);
    c = infer(&m, one, 8.0, 0.0); /* eight samples do not */
    lm_choice_decide(&c, all, m.error);
    chose(&c, "cpu:avx512", "one core");
}

/* Only what every rank can run is chosen; what cannot is a candidate all the same. */
static void test_able(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_place one = {1, 1, 1, 1};
    static const char *const old[] = {"cpu:avx2", "cpu-ref", NULL}, *const none[] = {NULL},
                             *const slow[] = {"gpu:whole", "cpu-ref", NULL};
    (void)state;
    struct lm_choice c = train(&m, one, 15840.0);
    int n = c.n;
    lm_choice_decide(&c, cpus, m.error);
    chose(&c, "cpu:avx512", "one core");
    assert_true(!c.decision.offload && c.n == n && there(&c, "gpu:fast", "weights in registers") == 1);
    lm_choice_decide(&c, old, m.error);
    chose(&c, "cpu:avx2", "one core");
    assert_int_equal(lm_choice_decide(&c, none, m.error), -1);
    assert_false(lm_choice_known(&c));
    lm_choice_decide(&c, slow, m.error); /* 1.24 us by a block against 5 us by the reference */
    chose(&c, "gpu:whole", "weights in shared memory");
}

/* Many equal trainings on T threads take a core's time over T, where all 16 cores are 16 times as fast as one. */
static void test_threads(void **state)
{
    struct lm_machine m = made_machine();
    static const struct {
        struct lm_place place;
        double faster;
    } each[] = {{{1, 1, 16, 0}, 16}, {{4, 1, 4, 0}, 4},   {{2, 1, 8, 0}, 8},
                {{1, 1, 32, 0}, 32}, {{2, 2, 32, 0}, 32}, {{64, 4, 64, 0}, 64}};
    (void)state;
    struct lm_choice one = train(&m, (struct lm_place){1, 1, 1, 0}, 6400.0);
    double core = of(&one, "cpu:avx512", "one core"), ref = of(&one, "cpu-ref", "one core");
    assert_int_equal(there(&one, "cpu:avx512", "all cores"), 0); /* there is but one */
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        struct lm_choice c = train(&m, each[k].place, 6400.0);
        assert_true(near(of(&c, "cpu:avx512", "all cores"), core / each[k].faster));
        assert_true(near(of(&c, "cpu:avx2", "all cores"), of(&one, "cpu:avx2", "one core") / each[k].faster));
        assert_int_equal(there(&c, "cpu:avx512", "one core"), 0); /* no thread is held back */
        const char *where = each[k].place.ranks > each[k].place.nodes ? "all cores" : "one core";
        assert_true(near(of(&c, "cpu-ref", where), ref / each[k].place.ranks)); /* one thread a rank */
    }
    m.cpu.train_all = 8.5; /* half as many are worth (8.5 - 1) / 15 each beside the first: 1 + 7 x 0.5 */
    struct lm_choice c = train(&m, (struct lm_place){1, 1, 8, 0}, 6400.0);
    assert_true(near(of(&c, "cpu:avx512", "all cores"), core / 4.5));
    m.cpu.cores = m.cpu.train_all = 1.0; /* measured while bound to one core */
    c = train(&m, (struct lm_place){1, 1, 4, 0}, 6400.0);
    assert_true(near(of(&c, "cpu:avx512", "all cores"), core / 4.0));
    c = train(&m, (struct lm_place){1, 1, 16, 0}, 1.0); /* nothing for the others to do */
    assert_true(there(&c, "cpu:avx512", "one core") == 1 && there(&c, "cpu:avx512", "all cores") == 0);
}

/* GPUs share the trainings; ranks on one GPU do not make it two. */
static void test_gpus(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    (void)state;
    struct lm_work work = trainings(63360.0);
    for (int gpus = 0; gpus <= 4; gpus += 2) {
        struct lm_choice c = train(&m, (struct lm_place){4, 1, 16, gpus}, 63360.0);
        int n = lm_predict_train(&m, work.kind, work.kinds, 878.0, gpus ? gpus : 1.0, p), k = 0;
        while (k < n && strcmp(p[k].device, "gpu:fast") != 0)
            k++;
        assert_true(near(of(&c, "gpu:fast", "weights in registers"), p[k].seconds));
    }
    lm_work_free(&work);
}

/* Each rank its shard on its own threads; a stream in chunks, one after the other. */
static void test_shards(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_prediction p[LM_PREDICTIONS];
    (void)state;
    struct lm_choice c = infer(&m, (struct lm_place){4, 1, 4, 0}, 100000.0, 0.0);
    lm_predict_score(&m, lab, 25000.0, 0, p);
    assert_true(strcmp(p[LM_CPU_AVX512].device, "cpu:avx512") == 0);
    assert_true(near(of(&c, "cpu:avx512", "one core"), p[LM_CPU_AVX512].seconds));
    c = infer(&m, (struct lm_place){2, 1, 2, 0}, 10.0 * 16384.0, 16384.0); /* five chunks each */
    lm_predict_score(&m, lab, 16384.0, 0, p);
    assert_true(near(of(&c, "cpu:avx512", "one core"), 5.0 * p[LM_CPU_AVX512].seconds));
    c = infer(&m, (struct lm_place){2, 1, 2, 0}, 1000.0, 16384.0); /* a single small one */
    lm_predict_score(&m, lab, 1000.0, 0, p);
    assert_true(near(of(&c, "cpu:avx512", "one core"), p[LM_CPU_AVX512].seconds));
    c = infer(&m, (struct lm_place){1, 1, 1, 0}, 0.0, 0.0); /* none */
    assert_true(of(&c, "cpu:avx512", "one core") == 0.0);
    /* eight ranks on two cores have a quarter of one each */
    struct lm_choice crowd = infer(&m, (struct lm_place){8, 1, 2, 0}, 80000.0, 0.0);
    lm_predict_score(&m, lab, 10000.0, 0, p);
    assert_true(near(of(&crowd, "cpu-ref", "one core"), 4.0 * p[LM_CPU_REF].seconds));
}

static void test_asked(void **state)
{
    struct lm_machine m = made_machine();
    (void)state;
    struct lm_choice c = train(&m, (struct lm_place){1, 1, 16, 1}, 6400.0);
    lm_choice_ask(&c, "cpu:avx2");
    chose(&c, "cpu:avx2", "all cores");
    lm_choice_ask(&c, "cpu-ref");
    chose(&c, "cpu-ref", "one core");
    lm_choice_ask(&c, "cpu:portable"); /* however slow */
    chose(&c, "cpu:portable", "all cores");
}

/* As the backends of cuda/backend.c are made of their two parts. */
static void test_asked_gpu(void **state)
{
    struct lm_machine m = made_machine();
    static const char *const each[][3] = {
        {"gpu:fast", "gpu:fast", "gpu:fast"},
        {"gpu:naive", "gpu:naive", "gpu:naive"},
        {"gpu:resident", "gpu:resident", "gpu:resident"},
        {"gpu:batch", "gpu:batch", "gpu:whole+global"},
        {"gpu:whole", "gpu:whole", "gpu:whole+global"},
        {"gpu:naive+shared", "gpu:naive", "gpu:whole+shared"},
        {"gpu:resident+fused", "gpu:resident", "gpu:whole+fused"},
        {"gpu:whole+global", "gpu:whole", "gpu:whole+global"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        struct lm_choice c = train(&m, (struct lm_place){1, 1, 1, 1}, 4.0);
        lm_choice_ask(&c, each[k][0]);
        assert_true(lm_choice_known(&c));
        assert_string_equal(c.candidate[c.chosen].device, each[k][1]);
        c = infer(&m, (struct lm_place){1, 1, 1, 1}, 878.0, 0.0);
        lm_choice_ask(&c, each[k][0]);
        assert_true(lm_choice_known(&c));
        assert_string_equal(c.candidate[c.chosen].device, each[k][2]);
    }
}

/* What the calibration does not have has a row without a prediction. */
static void test_unknown(void **state)
{
    struct lm_machine m = made_machine();
    struct lm_model_row row;
    (void)state;
    m.gpu.multiprocessors = 0.0;
    struct lm_choice c = train(&m, (struct lm_place){1, 1, 1, 1}, 4.0);
    int n = c.n;
    lm_choice_ask(&c, "gpu:fast");
    assert_true(c.n == n + 1 && c.chosen == n && !lm_choice_known(&c));
    lm_choice_row(&c, c.chosen, 2.0, &row);
    assert_true(isnan(row.predicted) && isnan(row.bound) && row.measured == 2.0 && row.chosen == 1);
    assert_true(!isnan(row.regret)); /* the CPU's prediction is there */
    lm_choice_unknown(LM_HISTORY_INFER, 878.0, "gpu:whole", &c);
    lm_choice_ask(&c, "gpu:whole"); /* asked for or not, one row */
    assert_true(c.n == 1 && c.chosen == 0 && !lm_choice_known(&c));
    lm_choice_row(&c, 0, 0.5, &row);
    assert_string_equal(row.phase, "infer");
    assert_string_equal(row.device, "gpu:whole");
    assert_string_equal(row.where, "");
    assert_true(isnan(row.predicted) && isnan(row.regret) && row.size == 878.0 && row.factor == 1.0);
}

/* Ten runs in which the GPU took a hundred times as long: the CPU is chosen, and it is said why. */
static void test_history(void **state)
{
    static struct lm_history history;
    struct lm_machine m = made_machine();
    struct lm_place one = {1, 1, 16, 1};
    struct lm_model_row row;
    char text[300];
    (void)state;
    struct lm_choice c = train(&m, one, 15840.0);
    lm_choice_refine(&c, &history); /* nothing is known */
    lm_choice_decide(&c, all, m.error);
    chose(&c, "gpu:fast", "weights in registers");
    assert_false(c.refined);
    double alone = c.candidate[c.chosen].seconds;
    for (int k = 0; k < LM_HISTORY_RUNS; k++) {
        const struct lm_prediction p = lm_choice_alone(&c);
        lm_history_add(&history, &p, c.size, 100.0 * p.seconds);
    }
    c = train(&m, one, 15840.0);
    lm_choice_refine(&c, &history);
    assert_true(near(of(&c, "gpu:fast", "weights in registers"), 100.0 * alone));
    struct lm_choice before = train(&m, one, 15840.0); /* what was never tried is no better for that */
    assert_true(near(of(&c, "gpu:whole", "weights in shared memory"),
                     100.0 * of(&before, "gpu:whole", "weights in shared memory")));
    assert_true(near(of(&c, "cpu:avx2", "all cores"), of(&before, "cpu:avx2", "all cores")));
    lm_choice_decide(&c, all, m.error);
    chose(&c, "cpu:avx512", "all cores");
    assert_true(c.refined);
    lm_choice_text(&c, text, sizeof text);
    assert_non_null(strstr(text, " (with earlier runs' times)"));
    lm_choice_ask(&c, "gpu:fast");
    const struct lm_prediction p = lm_choice_alone(&c);
    assert_true(near(p.seconds, alone)); /* what the history takes is the machine's alone */
    lm_choice_row(&c, c.chosen, 3.0, &row);
    assert_true(near(row.predicted, 100.0 * alone) && near(row.factor, 100.0));
}

static void test_regret(void **state)
{
    struct lm_choice c = {.phase = LM_HISTORY_TRAIN, .size = 7.0, .n = 5, .chosen = 1};
    static const struct {
        const char *device, *where;
        double seconds;
        int fits;
    } each[] = {{"a", "one", 9.0, 1}, {"b", "one", 1.0, 1}, {"b", "all", 0.5, 1}, {"c", "", 0.1, 0}, {"d", "", 0.1, 1}};
    struct lm_model_row row;
    (void)state;
    for (int k = 0; k < 5; k++) {
        c.candidate[k] = (struct lm_prediction){.device = each[k].device,
                                                .where = each[k].where,
                                                .seconds = each[k].seconds,
                                                .bound = 10.0,
                                                .fits = each[k].fits};
        c.factor[k] = 1.0;
        c.able[k] = k != 4;
    }
    assert_true(
        near(lm_choice_regret(&c, 12.0), 1.0 / 3.0)); /* over a's 9: b elsewhere is b, c does not fit, no rank has d */
    assert_true(lm_choice_regret(&c, 2.0) == 0.0);
    assert_true(isnan(lm_choice_regret(&c, NAN)));
    lm_choice_row(&c, 1, 12.0, &row);
    assert_true(row.predicted == 1.0 && row.bound == 10.0 && row.measured == 12.0 && row.chosen == 1 &&
                near(row.regret, 1.0 / 3.0) && row.size == 7.0);
    assert_string_equal(row.phase, "train");
    assert_string_equal(row.where, "one");
    lm_choice_row(&c, 0, 12.0, &row);
    assert_true(row.predicted == 9.0 && isnan(row.measured) && row.chosen == 0 && isnan(row.regret));
    lm_choice_row(&c, 3, 12.0, &row);
    assert_true(isnan(row.predicted) && isnan(row.bound));
    c.chosen = -1;
    assert_true(isnan(lm_choice_regret(&c, 12.0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu),       cmocka_unit_test(test_able),    cmocka_unit_test(test_threads),
        cmocka_unit_test(test_gpus),      cmocka_unit_test(test_shards),  cmocka_unit_test(test_asked),
        cmocka_unit_test(test_asked_gpu), cmocka_unit_test(test_unknown), cmocka_unit_test(test_history),
        cmocka_unit_test(test_regret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
