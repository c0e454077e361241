/* model_accuracy.c: the performance model against the machine: predicted and measured, point by point, and what the
 * decisions were worth. `make bench-model` builds and calls it.
 *
 *   model_accuracy [--csv FILE] [MACHINE]
 *
 *   MACHINE      a file of `libras_mpi calibrate`; without one this machine is calibrated first
 *   --csv FILE   a line a point, besides: what results/report.py makes pictures of
 *
 * No point is one of calibration's: those were one training of some epochs and one batch size. Points: (variant, size)
 * for training (samples, epochs, replicas, shapes, blocks) and for a batch from host memory (1 to 4 Mi samples). Each
 * is measured until it has taken a share of a second, 3 to 11 times after some that do not count; the median
 * stands. The history's error is that of a last measurement after ten that it learned from.
 *
 * On a machine that others use at the same time neither calibration nor measurement is its own: what share of their
 * time the points on one core had a core is said.
 *
 * Decisions, over batches and replica counts: what the model chose, what it cost against the better of CPU and GPU, and
 * what always the CPU, always the GPU and a plain roofline would have cost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate.h"
#include "cpu_backend.h"
#include "model_decide.h"
#include "split.h"
#include "synth.h"
#ifdef LM_HAVE_CUDA
#include "gpu.h"
#endif

#define MOST_POINTS  400
#define MOST_REPEATS 11
#define SECONDS      0.3   /* a point */
#define WARM_UP      0.003 /* calls before it: a core needs some microseconds to give wide vectors their full speed */
#define MOST_ROWS    ((size_t)4 << 20)

struct point {
    char what[72];
    struct lm_prediction predicted;
    double size, measured, history; /* history: the relative error with it */
    double lowest, highest;         /* of the measurements that count */
    int group;                      /* points of one group are the candidates of one decision */
};

struct bench {
    struct lm_machine machine;
    struct lm_problem problem; /* all samples; train.n is changed for a point */
    size_t samples;
    float *x, *scores, *parameters;
    struct point point[MOST_POINTS];
    int n, groups;
    struct lm_history history;
    double wall,
        processor; /* s of all points on one core: less processor than wall is a machine that others use, too */
};

static void stop(const char *what, const struct lm_error *err)
{
    fprintf(stderr, "model_accuracy: %s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- measuring ---- */

struct job {
    const struct lm_backend *backend;
    void *session;
    size_t rows; /* a batch; 0: a training */
    struct lm_trial *trial;
    struct lm_training_result *result;
    size_t trials;
    const struct bench *bench;
};

static double do_it(const struct job *job)
{
    struct lm_error err;
    struct lm_tick nobody = {0};
    const struct lm_shape lab = {32, 16};
    double start = now();
    int code = job->rows ? job->backend->infer(job->session, lab, job->bench->parameters, job->bench->x, job->rows,
                                               job->bench->scores, &err)
                         : job->backend->train(job->session, job->trial, job->trials, job->result, nobody, &err);
    if (code != LM_OK)
        stop(job->backend->name, &err);
    return now() - start;
}

/* The median; the last ten and one more teach and test the history. */
static void measure(struct bench *b, const struct job *job, struct point *p)
{
    double second[MOST_REPEATS];
    double first = do_it(job);
    int n = first > 0.0 && SECONDS / first < 3.0 ? 3 : MOST_REPEATS;
    for (double begun = now(); now() - begun < WARM_UP;)
        do_it(job);
    double wall = now(), had = processor();
    for (int r = 0; r < n; r++)
        second[r] = do_it(job);
    if (strcmp(p->predicted.where, "one core") == 0) {
        b->wall += now() - wall;
        b->processor += processor() - had;
    }
    p->history = NAN;
    if (n == MOST_REPEATS) {
        struct lm_history *h = &b->history;
        memset(h, 0, sizeof *h);
        for (int r = 0; r < LM_HISTORY_RUNS; r++)
            lm_history_add(h, &p->predicted, p->size, second[r]);
        p->history = p->predicted.seconds * lm_history_factor(h, &p->predicted, p->size) / second[n - 1] - 1.0;
    }
    qsort(second, (size_t)n, sizeof *second, ascending);
    p->measured = second[n / 2];
    p->lowest = second[0];
    p->highest = second[n - 1];
}

static void keep_point(struct bench *b, const struct job *job, const struct lm_prediction *predicted, const char *what,
                       double size)
{
    struct point *p = &b->point[b->n];
    if (b->n == MOST_POINTS || !predicted->fits)
        return;
    snprintf(p->what, sizeof p->what, "%s", what);
    p->predicted = *predicted;
    p->size = size;
    p->group = b->groups;
    measure(b, job, p);
    printf("%-13s %-10.10s %-34s %11.4g %11.4g %8.1f %8.1f %11.4g %11.4g\n", predicted->device, predicted->where, what,
           p->measured, predicted->seconds, 100.0 * (predicted->seconds / p->measured - 1.0), 100.0 * p->history,
           predicted->bound, predicted->roofline);
    fflush(stdout);
    b->n++;
}

/* Opens the backend of a candidate with its threads; NULL: not here. */
static void *open_for(struct bench *b, const struct lm_prediction *p, const struct lm_backend **backend)
{
    struct lm_error err;
    void *session = NULL;
    *backend = lm_calibrate_backend(p->device);
    b->problem.threads = p->gpu || strcmp(p->where, "all cores") == 0 ? (int)b->machine.cpu.cores : 1;
    if (!*backend || (*backend)->probe(&err) != LM_OK)
        return NULL;
    if ((*backend)->open(&b->problem, &session, &err) != LM_OK)
        stop(p->device, &err);
    return session;
}

/* All candidates of a batch whose prediction is short enough. */
static void batch_points(struct bench *b, size_t rows)
{
    struct lm_prediction p[LM_PREDICTIONS];
    char what[64];
    int n = lm_predict_score(&b->machine, (struct lm_shape){32, 16}, (double)rows, 0, p);
    snprintf(what, sizeof what, "batch of %zu", rows);
    for (int k = 0; k < n; k++) {
        struct job job = {.rows = rows, .bench = b};
        if (p[k].seconds > 1.0 || strcmp(p[k].device, "cpu:portable") == 0)
            continue;
        job.session = open_for(b, &p[k], &job.backend);
        if (!job.session)
            continue;
        keep_point(b, &job, &p[k], what, (double)rows);
        job.backend->close(job.session);
    }
    b->groups++;
}

/* All candidates of some trainings that are predicted to take no longer than `most`. */
static void training_points(struct bench *b, struct lm_shape shape, size_t samples, uint32_t epochs, size_t replicas,
                            uint32_t block, double most)
{
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = {shape, (double)samples, epochs, (double)replicas, block, 0.0, 0.0, 0};
    char what[64], network[LM_SHAPE_TEXT];
    size_t floats = lm_network_floats(shape), all = b->problem.train.n;
    struct job job = {.trials = replicas, .bench = b};
    int n = lm_predict_train(&b->machine, &w, 1, 0.0, 1.0, p);
    lm_shape_text(shape, network);
    snprintf(what, sizeof what, "%zux %ue %zus b%u %s", replicas, epochs, samples, block, network);
    job.trial = calloc(replicas, sizeof *job.trial);
    job.result = calloc(replicas, sizeof *job.result);
    double *loss = malloc(replicas * epochs * sizeof *loss);
    float *parameters = malloc(replicas * floats * sizeof *parameters);
    if (!job.trial || !job.result || !loss || !parameters)
        stop("out of memory", NULL);
    for (size_t k = 0; k < replicas; k++) {
        job.trial[k] = (struct lm_trial){0.02f, 1.0f, 0.05f, epochs, (uint32_t)(1 + k), block, shape};
        job.result[k].loss = loss + k * epochs;
        job.result[k].parameters = parameters + k * floats;
    }
    b->problem.train.n = samples;
    for (int k = 0; k < n; k++) {
        if (p[k].seconds > most || strcmp(p[k].device, "cpu:portable") == 0)
            continue;
        job.session = open_for(b, &p[k], &job.backend);
        if (!job.session)
            continue;
        keep_point(b, &job, &p[k], what, w.samples * epochs * (double)replicas);
        job.backend->close(job.session);
    }
    b->problem.train.n = all;
    b->groups++;
    free(job.trial);
    free(job.result);
    free(loss);
    free(parameters);
}

/* ---- what it comes to ---- */

static void show_errors(const struct bench *b, int gpu)
{
    double error[MOST_POINTS], history[MOST_POINTS];
    int n = 0, m = 0;
    for (int k = 0; k < b->n; k++)
        if (b->point[k].predicted.gpu == gpu) {
            error[n++] = fabs(b->point[k].predicted.seconds / b->point[k].measured - 1.0);
            if (!isnan(b->point[k].history))
                history[m++] = fabs(b->point[k].history);
        }
    if (n == 0)
        return;
    qsort(error, (size_t)n, sizeof *error, ascending);
    qsort(history, (size_t)m, sizeof *history, ascending);
    printf("%-4s %4d points: median error %.1f %%, 90th percentile %.1f %%, largest %.1f %%; with history (%d points) "
           "median %.1f %%\n",
           gpu ? "GPU" : "CPU", n, 100.0 * error[n / 2], 100.0 * error[n * 9 / 10], 100.0 * error[n - 1], m,
           m ? 100.0 * history[m / 2] : NAN);
}

/* Kendall's tau of a group's candidates, predicted against measured order, without pairs that were measured within 5 %
 * of each other: which of them is faster changes from run to run. 2: no pair. */
static double tau(const struct bench *b, int group)
{
    int same = 0, pairs = 0;
    for (int i = 0; i < b->n; i++)
        for (int j = 0; j < i; j++) {
            const struct point *p = &b->point[i], *q = &b->point[j];
            if (p->group != group || q->group != group)
                continue;
            if (fabs(p->measured / q->measured - 1.0) < 0.05)
                continue;
            pairs++;
            same += (p->predicted.seconds < q->predicted.seconds) == (p->measured < q->measured) ? 1 : -1;
        }
    return pairs ? (double)same / pairs : 2.0;
}

/* Of a group: the fastest measured of the CPU's and of the GPU's points by which prediction orders them. */
enum chooser { BY_MODEL, ALWAYS_CPU, ALWAYS_GPU, BY_ROOFLINE, CHOOSERS };

static const struct point *choose(const struct bench *b, int group, enum chooser how)
{
    const struct point *best[2] = {NULL, NULL};
    for (int k = 0; k < b->n; k++) {
        const struct point *p = &b->point[k], **at = &best[p->predicted.gpu];
        if (p->group != group)
            continue;
        double mine = how == BY_ROOFLINE ? p->predicted.roofline : p->predicted.seconds;
        if (!*at || mine < (how == BY_ROOFLINE ? (*at)->predicted.roofline : (*at)->predicted.seconds))
            *at = p;
    }
    if (!best[0] || !best[1])
        return NULL;
    switch (how) {
    case ALWAYS_CPU:
        return best[0];
    case ALWAYS_GPU:
        return best[1];
    case BY_ROOFLINE:
        return best[1]->predicted.roofline < best[0]->predicted.roofline ? best[1] : best[0];
    default:
        return best[1]->predicted.seconds * (1.0 + b->machine.error) < best[0]->predicted.seconds ? best[1] : best[0];
    }
}

static void show_decisions(const struct bench *b)
{
    static const char *const name[] = {"the model", "always the CPU", "always the GPU", "a plain roofline"};
    for (int how = 0; how < CHOOSERS; how++) {
        double sum = 0.0, worst = 0.0;
        int n = 0, right = 0;
        for (int g = 0; g < b->groups; g++) {
            const struct point *chosen = choose(b, g, (enum chooser)how);
            double least = HUGE_VAL;
            for (int k = 0; k < b->n; k++)
                if (b->point[k].group == g && b->point[k].measured < least)
                    least = b->point[k].measured;
            if (!chosen)
                continue;
            double regret = lm_regret(chosen->measured, least);
            sum += regret;
            worst = regret > worst ? regret : worst;
            right += regret < 0.02;
            n++;
        }
        if (n)
            printf("%-17s %3d decisions: mean regret %.1f %%, worst %.1f %%, within 2 %% of the best %d\n", name[how],
                   n, 100.0 * sum / n, 100.0 * worst, right);
    }
}

static void show_order(const struct bench *b)
{
    double sum = 0.0, least = 1.0;
    int n = 0;
    for (int g = 0; g < b->groups; g++) {
        double t = tau(b, g);
        if (t > 1.0)
            continue;
        sum += t;
        least = t < least ? t : least;
        n++;
    }
    if (n)
        printf("order of the variants at %d sizes: Kendall's tau %.2f on the average, %.2f at least\n", n, sum / n,
               least);
}

static void show_speed(struct bench *b)
{
    struct lm_prediction p[LM_PREDICTIONS];
    struct lm_training_work w = {{32, 16}, 3532.0, 51.0, 1000.0, 128.0, 0.0, 0.0, 1};
    const int calls = 20000;
    int n = 0, sum = 0;
    double start = now();
    for (int k = 0; k < calls; k++)
        n = lm_predict_score(&b->machine, w.shape, 1.0 + k, 0, p);
    double score = now() - start;
    start = now();
    for (int k = 0; k < calls; k++) {
        w.replicas = 1.0 + k;
        n = lm_predict_train(&b->machine, &w, 1, 0.0, 1.0, p);
    }
    double train = now() - start;
    start = now();
    for (int k = 0; k < calls; k++) {
        lm_history_refine(&b->history, 1.0 + k, p, n);
        sum += lm_decide(p, n, 0.2).chosen;
    }
    double decide = now() - start;
    printf(
        "a decision from predictions %.2f us; predictions of a batch %.2f us, of trainings %.2f us (%d candidates)%s\n",
        1e6 * decide / calls, 1e6 * score / calls, 1e6 * train / calls, n, sum < 0 ? "!" : "");
}

/* ---- the work ---- */

static void make_bench(struct bench *b)
{
    struct lm_error err;
    struct lm_dataset data;
    struct lm_split split;
    struct lm_scaler scaler;
    if (lm_synth(lm_synth_default_count, LM_SYNTH_DEFAULT_SEED, &data, &err) != LM_OK ||
        lm_split_make(data.count, 1337, 0.0, &split, &err) != LM_OK)
        stop("data", &err);
    lm_scaler_fit(&data, split.train, split.n_train, &scaler);
    if (lm_problem_make(&data, &split, &scaler, &b->problem, &err) != LM_OK)
        stop("data", &err);
    lm_split_free(&split);
    lm_dataset_free(&data);
    b->samples = b->problem.train.n;
    b->x = aligned_alloc(64, MOST_ROWS * LM_PIXELS * sizeof *b->x);
    b->scores = malloc(MOST_ROWS * LM_CLASSES * sizeof *b->scores);
    b->parameters = malloc(lm_network_floats((struct lm_shape){32, 16}) * sizeof *b->parameters);
    if (!b->x || !b->scores || !b->parameters)
        stop("out of memory", NULL);
    for (size_t k = 0; k < MOST_ROWS; k++)
        memcpy(b->x + k * LM_PIXELS, b->problem.train.x + k % b->samples * LM_PIXELS, LM_PIXELS * sizeof *b->x);
    memset(b->scores, 0, MOST_ROWS * LM_CLASSES * sizeof *b->scores);
    lm_network_initialise((struct lm_shape){32, 16}, 1337, 0.05f, b->parameters);
}

static struct lm_calibration calibration;

#ifdef LM_HAVE_CUDA
static int calibrate_gpu(void *context, struct lm_error *err)
{
    const struct bench *b = context;
    struct lm_gpu_device device;
    return lm_gpu_select(0, &device, err) == LM_OK ? lm_gpu_calibrate(&b->problem, &calibration, err) : LM_OK;
}
#else
#define calibrate_gpu NULL
#endif

static void make_machine(struct bench *b, const char *path)
{
    struct lm_error err;
    struct lm_calibration *c = &calibration;
    lm_machine_clear(&c->machine);
    double start = now();
    if (path) {
        if (lm_machine_read(path, &b->machine, &err) != LM_OK)
            stop("machine", &err);
        return;
    }
    if (lm_calibrate_cpu(&b->problem, lm_cpu_threads(1), calibrate_gpu, b, c, &err) != LM_OK)
        stop("calibration", &err);
    b->machine = c->machine;
    printf("calibrated in %.1f s; one core's part had it for %.0f %% of its time\n", now() - start, 100.0 * c->had);
}

/* Texts have commas in them, and no quotes. */
static void write_csv(const struct bench *b, FILE *f)
{
    fprintf(f, "work,device,where,size,predicted,bound,roofline,measured,lowest,highest,group\n");
    for (int k = 0; k < b->n; k++) {
        const struct point *p = &b->point[k];
        const struct lm_prediction *q = &p->predicted;
        fprintf(f, "\"%s\",\"%s\",\"%s\",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%d\n", p->what, q->device, q->where,
                p->size, q->seconds, q->bound, q->roofline, p->measured, p->lowest, p->highest, p->group);
    }
    int lost = ferror(f);
    if (fclose(f) != 0 || lost)
        stop("the CSV file could not be written whole", NULL);
}

/* ---- the command ---- */

struct arguments {
    const char *machine, *csv; /* NULL: none */
};

static struct arguments read_arguments(int argc, char **argv)
{
    struct arguments a = {NULL, NULL};
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--csv") == 0 && k + 1 < argc && !a.csv)
            a.csv = argv[++k];
        else if (argv[k][0] != '-' && !a.machine)
            a.machine = argv[k];
        else {
            fprintf(stderr, "usage: model_accuracy [--csv FILE] [MACHINE]\n");
            exit(2);
        }
    }
    return a;
}

int main(int argc, char **argv)
{
    static struct bench b;
    static const size_t batch[] = {1, 16, 128, 878, 3000, 10000, 40000, 200000, 1000000, MOST_ROWS};
    const struct lm_shape lab = {32, 16};
    const struct arguments arguments = read_arguments(argc, argv);
    FILE *csv = arguments.csv ? fopen(arguments.csv, "w") : NULL;
    if (arguments.csv && !csv) /* before minutes of measuring */
        stop(arguments.csv, NULL);
    make_bench(&b);
    make_machine(&b, arguments.machine);
    const int gpu = lm_machine_has_gpu(&b.machine);
    printf("%-13s %-10s %-34s %11s %11s %8s %8s %11s %11s\n", "device", "where", "what", "measured s", "predicted",
           "error %", "hist. %", "bound", "roofline");
    for (size_t k = 0; k < sizeof batch / sizeof *batch; k++)
        batch_points(&b, batch[k]);
    training_points(&b, lab, 500, 3, 1, 128, 2.0);
    training_points(&b, lab, 3532, 20, 1, 64, 1.0);
    training_points(&b, lab, 3532, 51, 1, 256, 1.0);
    training_points(&b, (struct lm_shape){16, 8}, 3532, 10, 1, 128, 1.0);
    training_points(&b, (struct lm_shape){64, 32}, 3532, 10, 1, 128, 1.0);
    training_points(&b, lab, 3532, 7, 4, 1024, 0.5);
    training_points(&b, lab, 2000, 5, 33, 32, 1.0);
    training_points(&b, lab, 3532, 5, 500, 128, gpu ? 2.5 : 1.0);
    training_points(&b, lab, 3532, 5, 1056, 128, gpu ? 3.0 : 0.1);
    training_points(&b, lab, 3532, 5, 5000, 128, gpu ? 3.0 : 0.1);
    printf("\npoints on one core had it for %.0f %% of their time\n", 100.0 * b.processor / b.wall);
    show_errors(&b, 0);
    show_errors(&b, 1);
    show_order(&b);
    show_decisions(&b);
    show_speed(&b);
    if (csv)
        write_csv(&b, csv);
    lm_problem_free(&b.problem);
    free(b.x);
    free(b.scores);
    free(b.parameters);
    return 0;
}
