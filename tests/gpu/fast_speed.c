/* fast_speed.c: the figures of gpu:fast beside their floors (floor.h). `make bench-gpu` builds and calls it.
 *
 *   fast_speed [REPEATS [DATA]]     DATA: a folder of CSV files; else the built-in synthetic set
 *
 * 1. one full training (51 epochs), from the call to the weights in the host's memory, orders included
 * 2. full trainings a second, as many at once as the backend asks for, each with its own seed and learning rate; 16 of
 *    them are compared with the CPU's bits
 * 3. samples a second that lie on the device, 4 Mi of them, distinct, scores written, one launch; compared with the
 * CPU's bits
 * 4. a batch of the test set's size, from the host's memory to the host's memory, pinned and not
 * 5. 4 Mi samples, floats and 8-bit pixels, from the host's memory to the host's memory: beside the time that the same
 *    bytes take, copied in and out at once by chunks, measured just before
 * Medians of REPEATS (default 20; a quarter of it for 2, 15 times as many for 4), with the least and the largest. Ends
 * 1 if a bit differs.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "dataset.h"
#include "floor.h"
#include "gpu.h"
#include "launch.h"
#include "random.h"
#include "split.h"
#include "synth.h"

#define EPOCHS   51
#define MILLIONS ((size_t)4 << 20)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char *what, const struct lm_error *err)
{
    fprintf(stderr, "fast_speed: %s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        stop("out of memory", NULL);
    return memory;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing {
    double median, least, largest;
};

static struct timing summary(double *seconds, size_t n)
{
    qsort(seconds, n, sizeof *seconds, ascending);
    return (struct timing){n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2, seconds[0],
                           seconds[n - 1]};
}

/* ---- the work ---- */

static void make_problem(const char *dir, struct lm_problem *problem)
{
    struct lm_error err;
    struct lm_dataset data;
    struct lm_split split;
    struct lm_scaler scaler;
    int code =
        dir ? lm_dataset_load(dir, &data, &err) : lm_synth(lm_synth_default_count, LM_SYNTH_DEFAULT_SEED, &data, &err);
    if (code != LM_OK || (code = lm_split_make(data.count, 1337, 0.0, &split, &err)) != LM_OK)
        stop("data", &err);
    lm_scaler_fit(&data, split.train, split.n_train, &scaler);
    if (lm_problem_make(&data, &split, &scaler, problem, &err) != LM_OK)
        stop("data", &err);
    lm_split_free(&split);
    lm_dataset_free(&data);
}

struct batch {
    size_t n;
    struct lm_trial *trial;
    struct lm_training_result *result;
};

static struct batch make_batch(size_t n)
{
    struct batch b = {n, room(n * sizeof *b.trial), room(n * sizeof *b.result)};
    for (size_t k = 0; k < n; k++) {
        float rate = n == 1 ? 0.02f : 0.001f + 0.019f * (float)k / (float)n;
        b.trial[k] = (struct lm_trial){rate, 1.0f, 0.05f, EPOCHS, (uint32_t)(1337 + k), 128, {32, 16}};
        memset(&b.result[k], 0, sizeof b.result[k]);
        b.result[k].loss = room(EPOCHS * sizeof(double));
        b.result[k].parameters = room(lm_network_floats(b.trial[k].shape) * sizeof(float));
    }
    return b;
}

static void free_batch(struct batch *b)
{
    for (size_t k = 0; k < b->n; k++) {
        free(b->result[k].loss);
        free(b->result[k].parameters);
    }
    free(b->trial);
    free(b->result);
}

static void train(const struct lm_backend *backend, void *session, struct batch *b)
{
    struct lm_error err;
    struct lm_tick none = {0};
    if (backend->train(session, b->trial, b->n, b->result, none, &err) != LM_OK)
        stop(backend->name, &err);
}

/* How many of `tries` trials of b, chosen at random, have other bits than the CPU's. */
static size_t compare(const struct lm_problem *problem, const struct batch *b, size_t tries)
{
    const struct lm_backend *cpu;
    struct lm_mt19937 random;
    struct lm_error err;
    struct batch one = make_batch(1);
    void *session;
    size_t differ = 0;
    if (lm_backend_find("cpu", &cpu, &err) != LM_OK || cpu->open(problem, &session, &err) != LM_OK)
        stop("the CPU backend", &err);
    lm_mt19937_seed(&random, 1);
    for (size_t k = 0; k < tries; k++) {
        size_t which = lm_draw_below(&random, (uint32_t)b->n);
        one.trial[0] = b->trial[which];
        train(cpu, session, &one);
        const struct lm_training_result *a = &one.result[0], *r = &b->result[which];
        differ += a->status != r->status || a->epochs_run != r->epochs_run ||
                  memcmp(a->loss, r->loss, a->epochs_run * sizeof(double)) != 0 ||
                  memcmp(a->parameters, r->parameters, lm_network_floats(one.trial[0].shape) * sizeof(float)) != 0;
    }
    cpu->close(session);
    free_batch(&one);
    return differ;
}

static struct timing time_training(const struct lm_backend *backend, void *session, struct batch *b, size_t repeats)
{
    double *seconds = room(repeats * sizeof *seconds);
    train(backend, session, b);
    for (size_t k = 0; k < repeats; k++) {
        double start = now();
        train(backend, session, b);
        seconds[k] = now() - start;
    }
    struct timing t = summary(seconds, repeats);
    free(seconds);
    return t;
}

/* ---- inference ---- */

struct scoring {
    size_t n;
    float *x, *scores;
    float *parameters;
    uint8_t *pixel; /* or NULL: x is what these stand for */
    float (*grey)[256];
    int pinned;
};

static void *pin(size_t bytes)
{
    void *memory = lm_gpu_pinned(bytes);
    if (!memory)
        stop("pinned memory", NULL);
    return memory;
}

static struct scoring make_scoring(const struct lm_problem *problem, const struct batch *trained, size_t n, int pinned)
{
    struct scoring s = {.n = n,
                        .x = pinned ? pin(n * LM_PIXELS * sizeof(float)) : room(n * LM_PIXELS * sizeof(float)),
                        .scores = pinned ? pin(n * LM_CLASSES * sizeof(float)) : room(n * LM_CLASSES * sizeof(float)),
                        .parameters = trained->result[0].parameters,
                        .pinned = pinned};
    struct lm_mt19937 random;
    lm_mt19937_seed(&random, 2);
    for (size_t k = 0; k < n * LM_PIXELS; k++)
        s.x[k] = problem->test.x[k % (problem->test.n * LM_PIXELS)] +
                 (n > problem->test.n ? (float)lm_mt19937_next(&random) * 1e-11f : 0.0f);
    return s;
}

/* The same with pixels of 8 bits: x becomes what they stand for. */
static void make_grey(struct scoring *s)
{
    struct lm_mt19937 random;
    lm_mt19937_seed(&random, 3);
    s->pixel = pin(s->n * LM_PIXELS);
    s->grey = room(LM_PIXELS * sizeof *s->grey);
    for (size_t p = 0; p < LM_PIXELS; p++)
        for (size_t v = 0; v < 256; v++)
            s->grey[p][v] = ((float)v - 100.0f - (float)p) / 61.0f;
    for (size_t k = 0; k < s->n * LM_PIXELS; k++) {
        s->pixel[k] = (uint8_t)lm_mt19937_next(&random);
        s->x[k] = s->grey[k % LM_PIXELS][s->pixel[k]];
    }
}

static void free_scoring(struct scoring *s)
{
    void (*free_it)(void *) = s->pinned ? lm_gpu_unpin : free;
    free_it(s->x);
    free_it(s->scores);
    lm_gpu_unpin(s->pixel);
    free(s->grey);
}

static void infer(const struct lm_backend *backend, void *session, struct scoring *s)
{
    struct lm_error err;
    struct lm_shape lab = {32, 16};
    if (s->pixel && backend->infer_grey) {
        if (backend->infer_grey(session, lab, s->parameters, (const float(*)[256])s->grey, s->pixel, s->n, s->scores,
                                &err) != LM_OK)
            stop(backend->name, &err);
    } else if (backend->infer(session, lab, s->parameters, s->x, s->n, s->scores, &err) != LM_OK)
        stop(backend->name, &err);
}

static int same_scores(const struct lm_problem *problem, struct scoring *s)
{
    const struct lm_backend *cpu;
    struct lm_error err;
    void *session;
    struct scoring again = *s;
    again.scores = room(s->n * LM_CLASSES * sizeof(float));
    if (lm_backend_find("cpu", &cpu, &err) != LM_OK || cpu->open(problem, &session, &err) != LM_OK)
        stop("the CPU backend", &err);
    infer(cpu, session, &again);
    cpu->close(session);
    int same = memcmp(again.scores, s->scores, s->n * LM_CLASSES * sizeof(float)) == 0;
    free(again.scores);
    return same;
}

static struct timing time_scoring(const struct lm_backend *backend, void *session, struct scoring *s, size_t repeats)
{
    double *seconds = room(repeats * sizeof *seconds);
    infer(backend, session, s);
    memset(s->scores, 0xff, s->n * LM_CLASSES * sizeof(float));
    for (size_t k = 0; k < repeats; k++) {
        double start = now();
        infer(backend, session, s);
        seconds[k] = now() - start;
    }
    struct timing t = summary(seconds, repeats);
    free(seconds);
    return t;
}

/* ---- without the backend: samples on the device, and copies alone ---- */

static void cuda(cudaError_t result, const char *what)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "fast_speed: %s: %s\n", what, cudaGetErrorString(result));
    exit(1);
}

static void *device_room(size_t bytes)
{
    void *memory = NULL;
    cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
}

/* One launch for all samples, by events; the scores come back to s. */
static struct timing time_on_device(const struct lm_gpu_device *device, struct scoring *s, size_t repeats)
{
    const struct lm_shape lab = {32, 16};
    struct lm_gpu_tile t = {.layout = lm_gpu_layout_of(lab), .n = s->n};
    const size_t in = s->n * LM_PIXELS * sizeof(float), out = s->n * LM_CLASSES * sizeof(float),
                 network = t.layout.floats * sizeof(float);
    double *seconds = room(repeats * sizeof *seconds);
    float *packed = room(network), *x = device_room(in), *parameters = device_room(network);
    cudaEvent_t begin, end;
    t.scores = device_room(out);
    t.x = x;
    t.parameters = parameters;
    lm_gpu_pack(lab, s->parameters, packed);
    cuda(cudaMemcpy(parameters, packed, network, cudaMemcpyHostToDevice), "a copy");
    cuda(cudaMemcpy(x, s->x, in, cudaMemcpyHostToDevice), "a copy");
    cuda(cudaEventCreate(&begin), "an event");
    cuda(cudaEventCreate(&end), "an event");
    for (size_t k = 0; k < repeats + 3; k++) {
        float milliseconds = 0.0f;
        cuda(cudaEventRecord(begin, 0), "an event");
        cuda(lm_launch_tile(t, (size_t)device->block_shared, (unsigned)device->multiprocessors, 0), "tile");
        cuda(cudaEventRecord(end, 0), "an event");
        cuda(cudaEventSynchronize(end), "tile");
        cuda(cudaEventElapsedTime(&milliseconds, begin, end), "an event");
        seconds[k < 3 ? 0 : k - 3] = 1e-3 * (double)milliseconds;
    }
    cuda(cudaMemcpy(s->scores, t.scores, out, cudaMemcpyDeviceToHost), "a copy");
    cudaFree(x);
    cudaFree(parameters);
    cudaFree(t.scores);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    free(packed);
    struct timing summed = summary(seconds, repeats);
    free(seconds);
    return summed;
}

/* `bytes` a sample in, scores out, both at once, by chunks of 64 Ki samples: pinned memory, nothing else done. */
static struct timing time_copies(const struct scoring *s, const void *from, size_t bytes, size_t repeats)
{
    const size_t chunk = 65536, score = LM_CLASSES * sizeof(float);
    char *in = device_room(s->n * bytes), *out = device_room(s->n * score);
    double *seconds = room(repeats * sizeof *seconds);
    cudaStream_t a, b;
    cuda(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), "a stream");
    cuda(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), "a stream");
    for (size_t k = 0; k < repeats + 1; k++) {
        double start = now();
        for (size_t first = 0, n; first < s->n; first += n) {
            n = s->n - first < chunk ? s->n - first : chunk;
            cuda(cudaMemcpyAsync(in + first * bytes, (const char *)from + first * bytes, n * bytes,
                                 cudaMemcpyHostToDevice, a),
                 "a copy");
            cuda(cudaMemcpyAsync((char *)s->scores + first * score, out + first * score, n * score,
                                 cudaMemcpyDeviceToHost, b),
                 "a copy");
        }
        cuda(cudaStreamSynchronize(a), "copies");
        cuda(cudaStreamSynchronize(b), "copies");
        seconds[k > 0 ? k - 1 : 0] = now() - start;
    }
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaFree(in);
    cudaFree(out);
    struct timing t = summary(seconds, repeats);
    free(seconds);
    return t;
}

/* ---- the table ---- */

static struct gpu_machine machine_of(const struct lm_gpu_device *device)
{
    int clock = 0, memory_clock = 0, bus = 0;
    if (cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, device->ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, device->ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&bus, cudaDevAttrGlobalMemoryBusWidth, device->ordinal) != cudaSuccess)
        stop("cudaDeviceGetAttribute", NULL);
    return (struct gpu_machine){device->multiprocessors, 1e3 * clock, 2e3 * memory_clock * bus / 8.0};
}

static void row(const char *what, const char *unit, double value, double least, double largest, double floor,
                double share, const char *bits)
{
    printf("%-44s %12.4g [%10.4g %10.4g] %-12s floor %10.4g %5.1f %%  %s\n", what, value, least, largest, unit, floor,
           100 * share, bits);
    fflush(stdout);
}

static void host_row(const char *what, const char *unit, struct timing t, double by, double floor, int same)
{
    row(what, unit, by * t.median, by * t.least, by * t.largest, by * floor, floor / t.median,
        same ? "same bits" : "DIFFERENT BITS");
}

/* Rows 3 to 5; how many of them have other bits. */
static size_t report_batches(const struct lm_gpu_device *device, struct gpu_machine m, const struct lm_problem *problem,
                             const struct lm_backend *backend, void *session, const struct batch *trained,
                             size_t repeats)
{
    struct scoring s = make_scoring(problem, trained, MILLIONS, 1);
    struct timing t = time_on_device(device, &s, repeats);
    double floor = floor_inference(m), link;
    size_t differ = 0;
    int same = same_scores(problem, &s);
    differ += !same;
    row("inference, 4 Mi samples on the device", "samples/s", (double)MILLIONS / t.median, (double)MILLIONS / t.largest,
        (double)MILLIONS / t.least, floor, (double)MILLIONS / t.median / floor, same ? "same bits" : "DIFFERENT BITS");

    link = time_copies(&s, s.x, LM_PIXELS * sizeof(float), repeats).median;
    t = time_scoring(backend, session, &s, repeats);
    differ += !(same = same_scores(problem, &s));
    host_row("4 Mi samples, host to host, floats", "ms", t, 1e3, link, same);
    make_grey(&s);
    floor = time_copies(&s, s.pixel, LM_PIXELS, repeats).median;
    t = time_scoring(backend, session, &s, repeats);
    differ += !(same = same_scores(problem, &s));
    host_row("4 Mi samples, host to host, 8-bit pixels", "ms", t, 1e3, floor, same);
    free_scoring(&s);

    for (int pinned = 1; pinned >= 0; pinned--) {
        char what[64];
        struct scoring few = make_scoring(problem, trained, problem->test.n, pinned);
        t = time_scoring(backend, session, &few, 15 * repeats);
        differ += !(same = same_scores(problem, &few));
        snprintf(what, sizeof what, "%zu samples, host to host%s", few.n, pinned ? "" : ", not pinned");
        host_row(what, "us", t, 1e6, link * (double)few.n / (double)MILLIONS, same);
        free_scoring(&few);
    }
    return differ;
}

int main(int argc, char **argv)
{
    size_t repeats = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
    struct lm_error err;
    struct lm_gpu_device device;
    struct lm_problem problem;
    const struct lm_backend *backend;
    void *session;
    if (repeats < 1)
        repeats = 1;
    if (lm_gpu_select(0, &device, &err) != LM_OK || lm_backend_find("gpu:fast", &backend, &err) != LM_OK)
        stop("gpu:fast", &err);
    make_problem(argc > 2 ? argv[2] : NULL, &problem);
    if (backend->open(&problem, &session, &err) != LM_OK)
        stop("gpu:fast", &err);
    struct gpu_machine m = machine_of(&device);
    const double steps = (double)problem.train.n * EPOCHS;
    printf("%s, %d multiprocessors at %.0f MHz, %.0f GB/s; %zu training samples; medians of %zu [least largest]\n",
           device.name, device.multiprocessors, m.clock / 1e6, m.bandwidth / 1e9, problem.train.n, repeats);

    struct batch one = make_batch(1);
    struct timing t = time_training(backend, session, &one, repeats);
    size_t differ = compare(&problem, &one, 1), differ_all = differ;
    double floor = floor_one_training(m, steps);
    row("one full training", "ms", 1e3 * t.median, 1e3 * t.least, 1e3 * t.largest, 1e3 * floor, floor / t.median,
        differ ? "DIFFERENT BITS" : "same bits");

    struct batch many = make_batch(backend->capacity(session));
    char what[64];
    t = time_training(backend, session, &many, repeats / 4 + 1);
    differ = compare(&problem, &many, 16);
    differ_all += differ;
    floor = floor_trainings(m, steps);
    snprintf(what, sizeof what, "full trainings, %zu at once", many.n);
    row(what, "a second", (double)many.n / t.median, (double)many.n / t.largest, (double)many.n / t.least, floor,
        (double)many.n / t.median / floor, differ ? "DIFFERENT BITS" : "same bits (16 of them)");

    differ_all += report_batches(&device, m, &problem, backend, session, &one, repeats);
    backend->close(session);
    free_batch(&many);
    free_batch(&one);
    lm_problem_free(&problem);
    return differ_all != 0;
}
