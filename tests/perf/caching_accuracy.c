/* caching_accuracy.c: does a tile in shared memory pay? The caching criterion and the model's times against the clock,
 * on the window filter of filter.h, over window, number of references and size of an element. `make bench-caching`.
 *
 *   caching_accuracy [MACHINE] [--csv FILE] [--rows N] [--columns N] [--shared BYTES]
 *
 * MACHINE is a file of `libras_mpi calibrate`. Without one a GPU here is calibrated first; where there is no GPU, it is
 * a machine near an NVIDIA H200, and the table has predictions alone (of that machine) and the CPU's rows. --shared:
 * what a block may have for its tile (49,152), M_s of the criterion. The result has rows x columns elements; the source
 * is larger than the L2 cache, so that each launch finds it in memory.
 *
 * Three answers a point: the criterion's (by counts alone, caching.h), the refined times' and the dissertation's form's
 * (model_phases.h, model_time.h). Right is who chose what was measured to be faster; where the two ways lie within 5 %
 * of each other the point is a tie, which is counted apart. Medians of 7 measurements, of both ways by turns. On each
 * point the first rows of both results are compared with the plain loop's bits; that loop, on the CPU, is the third
 * way: in processor time of this thread, and its rate S_cpu is measured on a window that is no point; so are, on a GPU,
 * the costs that a machine's file does not have (filter_gauge.h). Without a GPU these are an H200's.
 *
 * The last line is the verdict: VALID if all bits are right (exit 0, else 1), and the share of right choices.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter_gauge.h"
#include "filter_report.h"
#include "made_machine.h"
#include "model_time.h"
#include "number.h"
#ifdef LM_HAVE_CUDA
#include "calibrate.h"
#include "filter_gpu.h"
#include "gpu.h"
#include "split.h"
#include "synth.h"
#endif

#define REPEATS   7
#define SECONDS   0.002 /* of launches in a row: one measurement */
#define LAUNCHES  50
#define CPU_TERMS 4e6 /* references of the CPU's rows */
#define CPU_ROWS  256
#define WINDOWS   100 /* the largest window's side */

/* Windows and, for each, numbers of references: few, some, all that there are, or that there is room for. */
static const uint32_t sweep[][5] = {
    {1, 1, 1},        {2, 2, 2, 4},         {3, 3, 2, 5, 9},      {1, 9, 3, 9},         {9, 1, 3, 9},
    {5, 5, 2, 8, 25}, {9, 9, 2, 9, 81},     {1, 65, 5, 65},       {65, 1, 5, 65},       {3, 31, 8, 93},
    {31, 3, 8, 93},   {15, 15, 2, 25, 225}, {31, 31, 2, 31, 961}, {64, 64, 3, 40, 400}, {100, 100, 2, 64, 900},
};

struct bench {
    struct lm_machine machine;
    struct lm_phase_costs costs;
    int gpu; /* 1: there is one, and it is measured */
    uint32_t rows, columns;
    uint64_t shared;
    double rate; /* S_cpu */
    void *source, *cpu_result, *gpu_result;
    FILE *csv;
    struct filter_point point[4 * sizeof sweep / sizeof *sweep * 3];
    int n;
#ifdef LM_HAVE_CUDA
    struct filter_gpu *device;
#endif
};

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "caching_accuracy: %s: %s\n", what, why);
    exit(1);
}

/* Of this thread alone: others on this machine count for nothing. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double second[REPEATS])
{
    qsort(second, REPEATS, sizeof *second, ascending);
    return second[REPEATS / 2];
}

/* ---- the CPU ---- */

/* The plain loop on the first rows, as many as CPU_TERMS allow. */
static double measure_cpu(struct bench *b, const struct filter *f, uint32_t *rows)
{
    struct filter_term term[FILTER_TERMS_MOST];
    double second[REPEATS], most = CPU_TERMS / ((double)f->references * b->columns);
    *rows = most < 1.0 ? 1 : most > CPU_ROWS ? CPU_ROWS : (uint32_t)most;
    *rows = *rows < b->rows ? *rows : b->rows;
    filter_terms(f, term);
    for (int r = 0; r < REPEATS; r++) {
        double start = now();
        filter_apply(f, term, b->source, b->columns + f->b - 1, *rows, b->columns, b->cpu_result);
        second[r] = now() - start;
    }
    return median(second);
}

/* ---- the GPU ---- */

#ifdef LM_HAVE_CUDA
static void run(struct bench *b, const struct filter_point *p, const struct filter_term *term, int way, int launches,
                double *seconds)
{
    struct lm_error err;
    if (filter_gpu_run(b->device, &p->f, term, b->rows, b->columns, way == FILTER_TILE ? &p->tile : NULL, launches,
                       seconds, &err) != LM_OK)
        stop("GPU", err.text);
}

/* The first rows of a result against the CPU's, which measure_cpu left. */
static int same_bits(struct bench *b, const struct filter_point *p, uint32_t rows)
{
    struct lm_error err;
    size_t bytes = (size_t)rows * b->columns * filter_result_bytes(&p->f);
    if (filter_gpu_result(b->device, b->gpu_result, bytes, &err) != LM_OK)
        stop("GPU", err.text);
    return memcmp(b->gpu_result, b->cpu_result, bytes) == 0;
}

/* How many launches in a row make one measurement, if one took so long. */
static int launches_of(double first)
{
    return first > SECONDS ? 1 : first * LAUNCHES < SECONDS ? LAUNCHES : (int)(SECONDS / first);
}

/* A first launch of each way warms up and is compared. */
static void measure_gpu(struct bench *b, struct filter_point *p, uint32_t cpu_rows)
{
    struct filter_term term[FILTER_TERMS_MOST];
    double second[FILTER_WAYS][REPEATS];
    int launches[FILTER_WAYS];
    filter_terms(&p->f, term);
    p->same_bits = 1;
    for (int way = 0; way < FILTER_WAYS; way++) {
        struct lm_error err;
        double first;
        if (filter_gpu_wipe(b->device, &err) != LM_OK)
            stop("GPU", err.text);
        run(b, p, term, way, 1, &first);
        p->same_bits &= same_bits(b, p, cpu_rows);
        run(b, p, term, way, 1, &first);
        launches[way] = launches_of(first);
    }
    for (int r = 0; r < REPEATS; r++)
        for (int way = 0; way < FILTER_WAYS; way++)
            run(b, p, term, way, launches[way], &second[way][r]);
    for (int way = 0; way < FILTER_WAYS; way++)
        p->measured[way] = median(second[way]);
}

/* The source has floats: filter_probe's. */
static void measure_costs(struct bench *b)
{
    struct filter_term term[FILTER_TERMS_MOST];
    double second[REPEATS], seconds[FILTER_PROBES], first;
    for (int k = 0; k < FILTER_PROBES; k++) {
        const struct filter_point p = {.f = filter_probe[k]};
        filter_terms(&p.f, term);
        for (int warm = 0; warm < 2; warm++)
            run(b, &p, term, FILTER_GLOBAL, 1, &first);
        for (int r = 0; r < REPEATS; r++)
            run(b, &p, term, FILTER_GLOBAL, launches_of(first), &second[r]);
        seconds[k] = median(second);
    }
    b->costs = filter_costs(&b->machine, b->rows, b->columns, seconds);
}

static void send_source(struct bench *b, uint32_t bytes, size_t elements)
{
    struct lm_error err;
    if (b->gpu && filter_gpu_source(b->device, b->source, elements * bytes, &err) != LM_OK)
        stop("GPU", err.text);
}

/* The GPU's numbers alone, as `libras_mpi calibrate` makes them. */
static void calibrate(struct bench *b)
{
    static struct lm_calibration c;
    struct lm_error err;
    struct lm_dataset data;
    struct lm_split split;
    struct lm_scaler scaler;
    struct lm_problem problem;
    if (lm_synth(lm_synth_default_count, LM_SYNTH_DEFAULT_SEED, &data, &err) != LM_OK ||
        lm_split_make(data.count, 1337, 0.0, &split, &err) != LM_OK)
        stop("data", err.text);
    lm_scaler_fit(&data, split.train, split.n_train, &scaler);
    if (lm_problem_make(&data, &split, &scaler, &problem, &err) != LM_OK)
        stop("data", err.text);
    lm_machine_clear(&c.machine);
    if (lm_gpu_calibrate(&problem, &c, &err) != LM_OK)
        stop("calibration", err.text);
    b->machine = c.machine;
    lm_split_free(&split);
    lm_dataset_free(&data);
    lm_problem_free(&problem);
}

static int find_gpu(char *name, size_t size)
{
    struct lm_gpu_device device;
    struct lm_error err;
    if (lm_gpu_select(0, &device, &err) != LM_OK) {
        snprintf(name, size, "%s", err.text);
        return 0;
    }
    snprintf(name, size, "%s, %s", device.name, device.uuid);
    return 1;
}

static void open_gpu(struct bench *b, size_t source_bytes)
{
    struct lm_error err;
    if (b->gpu && filter_gpu_open(source_bytes, (size_t)b->rows * b->columns * 8, &b->device, &err) != LM_OK)
        stop("GPU", err.text);
}
#else
static void measure_gpu(struct bench *b, struct filter_point *p, uint32_t cpu_rows)
{
    (void)b, (void)p, (void)cpu_rows;
}

static void measure_costs(struct bench *b)
{
    (void)b;
}

static void send_source(struct bench *b, uint32_t bytes, size_t elements)
{
    (void)b, (void)bytes, (void)elements;
}

static void calibrate(struct bench *b)
{
    (void)b;
}

static int find_gpu(char *name, size_t size)
{
    snprintf(name, size, "this build has no GPU backend");
    return 0;
}

static void open_gpu(struct bench *b, size_t source_bytes)
{
    (void)b, (void)source_bytes;
}
#endif

/* ---- a point ---- */

static void predict(struct bench *b, struct filter_point *p)
{
    const struct lm_kernel global = filter_kernel_global(&p->f, b->rows, b->columns);
    struct lm_kernel tile[FILTER_PHASES];
    filter_kernel_tile(&p->f, p->tile, b->rows, b->columns, tile);
    p->refined[FILTER_GLOBAL] = lm_time_phases(&b->machine, &b->costs, &global, 1);
    p->refined[FILTER_TILE] = lm_time_phases(&b->machine, &b->costs, tile, FILTER_PHASES);
    p->bound[FILTER_GLOBAL] = lm_time_stage(&b->machine, &global);
    for (int way = 0; way < FILTER_WAYS; way++)
        p->refined[way] = lm_time_launches(&b->machine, 1.0, p->refined[way]);
    for (int k = 0; k < FILTER_PHASES; k++)
        p->bound[FILTER_TILE] += lm_time_stage(&b->machine, &tile[k]);
    p->criterion = lm_caching_best(filter_window(&p->f), b->shared);
}

static void do_point(struct bench *b, const struct filter *f)
{
    struct filter_point *p = &b->point[b->n];
    uint32_t cpu_rows;
    memset(p, 0, sizeof *p);
    p->f = *f;
    p->rows = b->rows;
    p->columns = b->columns;
    p->same_bits = -1;
    p->tile = filter_tile_of(f, b->rows, b->columns, b->shared);
    if (p->tile.a == 0)
        return; /* one window is larger than the memory: there is nothing to choose */
    predict(b, p);
    p->cpu_measured = measure_cpu(b, f, &cpu_rows);
    p->cpu_elements = (double)cpu_rows * b->columns;
    p->cpu_predicted = lm_time_sequential(filter_operations(f, p->cpu_elements), b->rate);
    if (b->gpu)
        measure_gpu(b, p, cpu_rows);
    filter_show(p, b->csv, b->gpu);
    b->n++;
}

/* ---- the work ---- */

struct choices {
    const char *machine, *csv;
};

static uint64_t whole(const char *option, const char *text, uint64_t least, uint64_t most)
{
    uint64_t value;
    if (!text || !lm_read_whole(text, strlen(text), most, &value) || value < least) {
        fprintf(stderr, "caching_accuracy: %s: a whole number from %llu to %llu\n", option, (unsigned long long)least,
                (unsigned long long)most);
        exit(2);
    }
    return value;
}

static struct choices read_options(struct bench *b, int argc, char **argv)
{
    struct choices c = {NULL, NULL};
    for (int k = 1; k < argc; k++) {
        const char *name = argv[k], *value = k + 1 < argc ? argv[k + 1] : NULL;
        if (name[0] != '-' && !c.machine) {
            c.machine = name;
            continue;
        }
        if (strcmp(name, "--csv") == 0 && value)
            c.csv = value;
        else if (strcmp(name, "--rows") == 0)
            b->rows = (uint32_t)whole(name, value, 1, 20000);
        else if (strcmp(name, "--columns") == 0)
            b->columns = (uint32_t)whole(name, value, 1, 20000);
        else if (strcmp(name, "--shared") == 0)
            b->shared = whole(name, value, 1024, 1 << 20);
        else {
            fprintf(stderr,
                    "usage: caching_accuracy [MACHINE] [--csv FILE] [--rows N] [--columns N] [--shared BYTES]\n");
            exit(2);
        }
        k++;
    }
    return c;
}

static void make_machine(struct bench *b, const char *path)
{
    char name[1000];
    struct lm_error err;
    b->gpu = find_gpu(name, sizeof name);
    if (path && lm_machine_read(path, &b->machine, &err) != LM_OK)
        stop("machine", err.text);
    if (path && !lm_machine_has_gpu(&b->machine))
        path = NULL; /* calibrated without its GPU */
    if (!path && b->gpu)
        calibrate(b);
    else if (!path)
        b->machine = made_machine();
    printf("measured on   %s\n", b->gpu ? name : "the CPU alone");
    if (!b->gpu)
        printf("no GPU here   %s: what follows of a GPU is predicted, none of it measured\n", name);
    printf("predicted for %s, %.0f multiprocessors, %.2f GHz\n",
           path || b->gpu ? b->machine.key.gpu : "a described machine near an NVIDIA H200",
           b->machine.gpu.multiprocessors, 1e-9 * b->machine.gpu.clock);
}

/* The source's memory, for the widest filter; without a GPU the CPU's rows alone. */
static void make_room(struct bench *b, size_t *elements)
{
    size_t rows = b->gpu || b->rows < CPU_ROWS ? b->rows : CPU_ROWS;
    *elements = (rows + WINDOWS - 1) * (b->columns + WINDOWS - 1);
    b->source = malloc(*elements * 8);
    b->cpu_result = malloc((size_t)CPU_ROWS * b->columns * 8);
    b->gpu_result = malloc((size_t)CPU_ROWS * b->columns * 8);
    if (!b->source || !b->cpu_result || !b->gpu_result)
        stop("memory", "there is not enough");
    open_gpu(b, *elements * 8);
}

static void do_sweep(struct bench *b, size_t elements)
{
    const struct filter known = {7, 7, 49, 4}; /* whose rate is S_cpu */
    uint32_t rows;
    filter_fill(b->source, known.bytes, elements, 1);
    send_source(b, known.bytes, elements);
    b->costs = filter_costs_known();
    if (b->gpu)
        measure_costs(b);
    double seconds = measure_cpu(b, &known, &rows);
    b->rate = filter_operations(&known, (double)rows * b->columns) / seconds;
    printf("result        %u x %u elements; a tile has at most %llu bytes; S_cpu %.3g FLOP/s\n", b->rows, b->columns,
           (unsigned long long)b->shared, b->rate);
    printf(
        "a GPU's costs %s: a block's turn %.0f cycles; constants at hand %.0f bytes, a load of others %.1f cycles\n\n",
        b->gpu ? "as measured" : "an H200's", b->costs.turn, b->costs.constant_near, b->costs.constant_miss);
    filter_show_head(b->csv, b->gpu);
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        filter_fill(b->source, bytes, elements, bytes);
        send_source(b, bytes, elements);
        for (size_t w = 0; w < sizeof sweep / sizeof *sweep; w++)
            for (int k = 2; k < 5 && sweep[w][k]; k++) {
                const struct filter f = {sweep[w][0], sweep[w][1], sweep[w][k], bytes};
                do_point(b, &f);
            }
    }
}

int main(int argc, char **argv)
{
    static struct bench b = {.rows = 8209, .columns = 8219, .shared = 48 * 1024};
    struct choices c = read_options(&b, argc, argv);
    size_t elements;
    make_machine(&b, c.machine);
    if (c.csv && !(b.csv = fopen(c.csv, "w")))
        stop(c.csv, "cannot be written");
    make_room(&b, &elements);
    do_sweep(&b, elements);
    if (b.csv && fclose(b.csv) != 0)
        stop(c.csv, "not all of it was written");
    int status = filter_show_summary(b.point, b.n, b.gpu);
#ifdef LM_HAVE_CUDA
    filter_gpu_close(b.device);
#endif
    free(b.source);
    free(b.cpu_result);
    free(b.gpu_result);
    return status;
}
