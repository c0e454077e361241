/* fast.c: the host's side of many trainings in one launch (replica_kernel.cuh).
 *
 * A group of trials stays on the device from its first weights to its last. Its epochs are done in windows: the orders
 * of some epochs are made, then trained through, then the losses come back and the trials that have ended or diverged
 * are struck off. The window is as long as memory for the orders allows and a launch of a second and a half does: so
 * long nobody is heard, and the driver of a GPU with a screen would kill longer ones. What an epoch costs is assumed to
 * be twice an H200's time, not measured: on a GPU that is slower than that a launch takes longer.
 */
#include "fast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "course.h"
#include "crew.h"

#define SECONDS_A_LAUNCH 1.5
/* A step of one warp when all are at work. An H200 takes 0.75 us. */
#define SECONDS_A_STEP 1.5e-6
/* Turns of all warps in one group: the last turn is the only one with warps that have nothing left. */
#define TURNS 13
/* The kernels index the samples' floats with 32 bits. */
#define MOST_SAMPLES (UINT32_MAX / LM_PIXELS)

struct fast_run {
    struct lm_gpu_session *session;
    struct lm_gpu_ticker *ticker;
    struct lm_gpu_replicas r; /* the device's */
    size_t count;
    const struct lm_trial **trial;      /* owned, (count) */
    struct lm_training_result **result; /* owned, (count) */
    struct lm_gpu_replica *replica;     /* owned, (count): as on the device */
    double *loss;                       /* owned, (count, window) */
};

static int takes(const struct lm_gpu_session *s, const struct lm_trial *trial)
{
    return lm_gpu_check_block(trial->block, NULL) == LM_OK && lm_replica_fits(trial->shape) &&
           s->problem->train.n > 0 && s->problem->train.n < MOST_SAMPLES;
}

size_t lm_gpu_fast_turn(const void *session)
{
    const struct lm_gpu_session *s = session;
    return (size_t)s->multiprocessors * LM_REPLICA_MANY;
}

size_t lm_gpu_fast_capacity(const void *session)
{
    return lm_gpu_fast_turn(session) * TURNS;
}

/* ---- memory ---- */

static size_t order_bytes(const struct fast_run *run, size_t window)
{
    return (run->count * window * run->r.n + LM_REPLICA_ORDER_SPARE) * sizeof(uint32_t);
}

/* How many epochs' orders: what half of the device's free memory holds, and no more than the longest trial. */
static int choose_window(struct fast_run *run, struct lm_error *err)
{
    size_t free_bytes = 0, total = 0, longest = 0;
    cudaError_t result = cudaMemGetInfo(&free_bytes, &total);
    if (result != cudaSuccess)
        return lm_fail(err, LM_FAILED, "GPU: cudaMemGetInfo: %s", cudaGetErrorString(result));
    for (size_t k = 0; k < run->count; k++)
        longest = run->trial[k]->epochs > longest ? run->trial[k]->epochs : longest;
    size_t have = run->session->buffer[LM_GPU_ORDERS].bytes;
    size_t fit = (free_bytes / 2 + have) / order_bytes(run, 1);
    size_t turn = lm_gpu_fast_turn(run->session), turns = (run->count + turn - 1) / turn;
    double seconds = SECONDS_A_STEP * (double)run->r.n * (double)turns; /* of an epoch */
    size_t quick = seconds < SECONDS_A_LAUNCH ? (size_t)(SECONDS_A_LAUNCH / seconds) : 1;
    size_t window = longest < fit ? longest : fit;
    window = window < quick ? window : quick;
    run->r.window = (uint32_t)(window > 0 ? window : 1);
    return LM_OK;
}

/* The training samples, once a session: each by partial sums, as the kernel's lanes want it. */
static int bring_samples(struct fast_run *run, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    const struct lm_samples *samples = &s->problem->train;
    size_t bytes = samples->n * LM_PIXELS * sizeof(float);
    void *x, *label;
    int code = lm_gpu_reserve(s, LM_GPU_FAST_X, bytes, &x, err);
    if (code == LM_OK)
        code = lm_gpu_reserve(s, LM_GPU_TRAIN_LABEL, samples->n, &label, err);
    if (code != LM_OK)
        return code;
    run->r.x = x;
    run->r.label = label;
    if (s->has_fast_samples)
        return LM_OK;
    float *ordered = malloc(bytes);
    if (!ordered)
        return lm_fail_memory(err, bytes, "the samples by partial sums");
    for (size_t k = 0; k < samples->n * LM_PIXELS; k++)
        ordered[k / LM_PIXELS * LM_PIXELS + k % 4 * 16 + k % LM_PIXELS / 4] = samples->x[k];
    code = lm_gpu_copy_in(s, x, ordered, bytes, err);
    if (code == LM_OK)
        code = lm_gpu_copy_in(s, label, samples->label, samples->n, err);
    if (code == LM_OK)
        code = lm_gpu_wait(s, run->ticker, "the samples", err); /* before `ordered` is freed */
    free(ordered);
    s->has_fast_samples = code == LM_OK;
    return code;
}

/* Orders are read ahead beyond their end: whatever lies there must be some sample's. */
static int reserve_orders(struct fast_run *run, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    size_t bytes = order_bytes(run, run->r.window), had = s->buffer[LM_GPU_ORDERS].bytes;
    void *memory;
    int code = lm_gpu_reserve(s, LM_GPU_ORDERS, bytes, &memory, err);
    if (code == LM_OK && s->buffer[LM_GPU_ORDERS].bytes != had)
        code = lm_gpu_clear(s, memory, bytes, err);
    run->r.order = memory;
    return code;
}

static int reserve(struct fast_run *run, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    struct lm_gpu_replicas *r = &run->r;
    const struct {
        enum lm_gpu_buffer_name name;
        size_t bytes;
        void **to;
    } buffer[] = {
        {LM_GPU_REPLICAS, run->count * sizeof *r->replica, (void **)&r->replica},
        {LM_GPU_PACKED, run->count * LM_REPLICA_PACKED * sizeof(float), (void **)&r->packed},
        {LM_GPU_LOSS, run->count * r->window * sizeof(double), (void **)&r->loss},
        {LM_GPU_WORDS, run->count * LM_MT_WORDS * sizeof(uint32_t), (void **)&r->words},
        {LM_GPU_USED, run->count * sizeof(uint32_t), (void **)&r->used},
        {LM_GPU_NEXT, sizeof(uint32_t), (void **)&r->next},
    };
    int code = LM_OK;
    for (size_t k = 0; k < sizeof buffer / sizeof *buffer && code == LM_OK; k++)
        code = lm_gpu_reserve(s, buffer[k].name, buffer[k].bytes, buffer[k].to, err);
    return code == LM_OK ? reserve_orders(run, err) : code;
}

/* ---- replicas that go on ---- */

static uint32_t longest_begun(const struct fast_run *run)
{
    uint32_t most = 0;
    for (size_t k = 0; k < run->count; k++)
        most = run->replica[k].epoch > most ? run->replica[k].epoch : most;
    return most;
}

/* Their networks, so that the kernel that begins finds them. */
static int send_starts(struct fast_run *run, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    const size_t bytes = LM_REPLICA_FLOATS * sizeof(float);
    void *start;
    if (longest_begun(run) == 0)
        return LM_OK;
    int code = lm_gpu_reserve(s, LM_GPU_STARTS, run->count * bytes, &start, err);
    run->r.start = start;
    for (size_t k = 0; k < run->count && code == LM_OK; k++)
        if (run->replica[k].epoch > 0)
            code = lm_gpu_copy_in(s, (char *)start + k * bytes, run->result[k]->parameters, bytes, err);
    return code;
}

/* Orders are a small part of an epoch's time: of these, so many fit a launch. */
#define WINDOWS_A_PASS 16

static int pass_orders(struct fast_run *run, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    uint32_t begun = longest_begun(run);
    int code = LM_OK;
    run->r.pass = run->r.window < UINT32_MAX / WINDOWS_A_PASS ? run->r.window * WINDOWS_A_PASS : UINT32_MAX;
    for (run->r.passed = 0; run->r.passed < begun && code == LM_OK;) {
        code = LM_GPU_LAUNCH(s, lm_launch_pass(run->r, s->block_shared, s->stream), "pass", err);
        if (code == LM_OK)
            code = lm_gpu_wait(s, run->ticker, "the orders of epochs that are done", err);
        if (code == LM_OK && run->ticker->stop)
            code = lm_fail(err, LM_STOPPED, "stopped before %zu trials went on", run->count);
        run->r.passed = begun - run->r.passed > run->r.pass ? run->r.passed + run->r.pass : begun;
    }
    return code;
}

/* ---- a group's way ---- */

static int send_replicas(struct fast_run *run, struct lm_error *err)
{
    return lm_gpu_copy_in(run->session, run->r.replica, run->replica, run->count * sizeof *run->replica, err);
}

static int begin(struct fast_run *run, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    int code = choose_window(run, err);
    if (code != LM_OK || (code = bring_samples(run, err)) != LM_OK || (code = reserve(run, err)) != LM_OK)
        return code;
    run->loss = malloc(run->count * run->r.window * sizeof *run->loss);
    if (!run->loss)
        return lm_fail_memory(err, run->count * run->r.window * sizeof *run->loss, "the losses of a window");
    code = send_replicas(run, err);
    if (code == LM_OK)
        code = send_starts(run, err);
    if (code == LM_OK)
        code = LM_GPU_LAUNCH(s, lm_launch_begin(run->r, s->stream), "begin", err);
    return code == LM_OK ? pass_orders(run, err) : code;
}

/* One window of all replicas; what came of it is in run->replica and run->loss. */
static int train_window(struct fast_run *run, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    size_t few = (size_t)s->multiprocessors * LM_REPLICA_FEW, many = lm_gpu_fast_turn(s);
    size_t blocks = run->count < many ? run->count : many;
    int code = LM_GPU_LAUNCH(s, lm_launch_orders(run->r, s->block_shared, s->stream), "orders", err);
    if (code != LM_OK || (code = lm_gpu_clear(s, run->r.next, sizeof *run->r.next, err)) != LM_OK ||
        (code = lm_gpu_clear(s, run->r.loss, run->count * run->r.window * sizeof *run->loss, err)) != LM_OK)
        return code;
    code =
        LM_GPU_LAUNCH(s, lm_launch_replicas(run->r, (unsigned)blocks, run->count <= few, s->stream), "replicas", err);
    if (code == LM_OK)
        code = lm_gpu_wait(s, run->ticker, "training", err);
    if (code == LM_OK)
        code = lm_gpu_copy_out(s, run->replica, run->r.replica, run->count * sizeof *run->replica, err);
    if (code == LM_OK)
        code = lm_gpu_copy_out(s, run->loss, run->r.loss, run->count * run->r.window * sizeof *run->loss, err);
    return code;
}

/* Takes one replica's losses of a window that began at epoch `begun`; 1 if it goes on. */
static int take_losses(struct fast_run *run, size_t k, uint32_t begun)
{
    struct lm_gpu_replica *replica = &run->replica[k];
    struct lm_training_result *result = run->result[k];
    for (uint32_t epoch = begun; epoch < replica->epoch; epoch++) {
        double loss = run->loss[k * run->r.window + (epoch - begun)] / (double)run->r.n;
        if (!isfinite(loss)) {
            lm_training_diverged(result, epoch);
            replica->epochs = replica->epoch; /* struck off */
            return 0;
        }
        result->loss[epoch] = loss;
        result->epochs_run = epoch + 1;
    }
    return replica->epoch < replica->epochs;
}

/* What is done with a network that has come back. */
typedef void (*take_network)(struct fast_run *run, size_t k, const float *parameters);

static void take_result(struct fast_run *run, size_t k, const float *parameters)
{
    struct lm_training_result *result = run->result[k];
    memcpy(result->parameters, parameters, LM_REPLICA_FLOATS * sizeof(float));
    if (result->status != LM_TRIAL_DIVERGED)
        lm_training_finished(run->trial[k], result);
}

static int is_due(const struct fast_run *run, size_t k, double t)
{
    const struct lm_snapshot *snapshot = run->result[k]->snapshot;
    return snapshot && run->replica[k].epoch < run->replica[k].epochs && t >= snapshot->due &&
           !__atomic_load_n(&snapshot->full, __ATOMIC_ACQUIRE);
}

static void take_snapshot(struct fast_run *run, size_t k, const float *parameters)
{
    struct lm_snapshot *snapshot = run->result[k]->snapshot;
    double t = lm_gpu_now();
    if (!is_due(run, k, t))
        return;
    memcpy(snapshot->parameters, parameters, LM_REPLICA_FLOATS * sizeof(float));
    snapshot->epochs = run->replica[k].epoch;
    snapshot->due = t + snapshot->every;
    __atomic_store_n(&snapshot->full, 1, __ATOMIC_RELEASE);
}

/* A thread takes so many at a time: 0.7 MB. */
#define NETWORKS_A_PART 64

struct taking {
    struct fast_run *run;
    take_network take;
    size_t first;
    const float *here;
};

static void take_some(void *context, size_t first, size_t last)
{
    const struct taking *t = context;
    for (size_t k = first; k < last; k++)
        t->take(t->run, t->first + k, t->here + k * LM_REPLICA_FLOATS);
}

/* The networks, a thousand at a time. Taken by all cores of the rank: one alone does not copy as fast as the link. */
static int take_networks(struct fast_run *run, take_network take, struct lm_error *err)
{
    struct lm_gpu_session *s = run->session;
    size_t most = run->count < LM_NETWORKS_AT_ONCE ? run->count : LM_NETWORKS_AT_ONCE,
           bytes = LM_REPLICA_FLOATS * sizeof(float);
    void *parameters;
    float *here = NULL;
    int code = lm_gpu_reserve(s, LM_GPU_NETWORKS, most * bytes, &parameters, err);
    if (code == LM_OK)
        code = lm_gpu_reserve_pinned(s, most * bytes, (void **)&here, err);
    for (size_t first = 0, count; first < run->count && code == LM_OK; first += count) {
        count = run->count - first < most ? run->count - first : most;
        code = LM_GPU_LAUNCH(
            s, lm_launch_unpack(run->r.packed + first * LM_REPLICA_PACKED, parameters, (unsigned)count, s->stream),
            "unpack", err);
        if (code == LM_OK)
            code = lm_gpu_copy_out(s, here, parameters, count * bytes, err);
        struct taking taking = {run, take, first, here};
        if (code == LM_OK)
            lm_crew(lm_gpu_host_threads(s), count, NETWORKS_A_PART, take_some, &taking);
        lm_gpu_tick(run->ticker);
    }
    return code;
}

/* States of trainings that go on: all of the window, where any is due. */
static int leave_snapshots(struct fast_run *run, struct lm_error *err)
{
    double t = lm_gpu_now();
    for (size_t k = 0; k < run->count; k++)
        if (is_due(run, k, t))
            return take_networks(run, take_snapshot, err);
    return LM_OK;
}

static int train_all(struct fast_run *run, struct lm_error *err)
{
    uint32_t *begun = malloc(run->count * sizeof *begun);
    size_t going = run->count;
    int code = begun ? LM_OK : lm_fail_memory(err, run->count * sizeof *begun, "a group of trials");
    while (code == LM_OK && going > 0) {
        for (size_t k = 0; k < run->count; k++)
            begun[k] = run->replica[k].epoch;
        code = train_window(run, err);
        if (code == LM_OK && run->ticker->stop)
            code = lm_fail(err, LM_STOPPED, "stopped while %zu trials were trained together", run->count);
        going = 0;
        for (size_t k = 0; k < run->count && code == LM_OK; k++)
            going += (size_t)take_losses(run, k, begun[k]);
        if (code == LM_OK && going > 0)
            code = send_replicas(run, err);
        if (code == LM_OK && going > 0)
            code = leave_snapshots(run, err);
    }
    free(begun);
    return code;
}

static int train_group(struct fast_run *run, struct lm_error *err)
{
    double start = lm_gpu_now();
    for (size_t k = 0; k < run->count; k++) {
        const struct lm_trial *trial = run->trial[k];
        run->replica[k] = (struct lm_gpu_replica){.rate = trial->learning_rate,
                                                  .decay = trial->decay,
                                                  .range = trial->initial_range,
                                                  .seed = trial->seed,
                                                  .epoch = run->result[k]->begun,
                                                  .epochs = trial->epochs};
        for (uint32_t epoch = 0; epoch < run->replica[k].epoch; epoch++)
            run->replica[k].rate *= trial->decay;
    }
    int code = begin(run, err);
    if (code == LM_OK)
        code = train_all(run, err);
    if (code == LM_OK)
        code = take_networks(run, take_result, err);
    /* Trained together: each has its share of the time. */
    for (size_t k = 0; k < run->count; k++)
        run->result[k]->seconds = (lm_gpu_now() - start) / (double)run->count;
    return code;
}

/* ---- a call ---- */

static void free_run(struct fast_run *run)
{
    free(run->trial);
    free(run->result);
    free(run->replica);
    free(run->loss);
}

/* The trials that warps take. */
static int gather(struct fast_run *run, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                  struct lm_error *err)
{
    const struct lm_problem *problem = run->session->problem;
    run->trial = malloc((n + 1) * sizeof *run->trial);
    run->result = malloc((n + 1) * sizeof *run->result);
    run->replica = malloc((n + 1) * sizeof *run->replica);
    if (!run->trial || !run->result || !run->replica)
        return lm_fail_memory(err, n * sizeof *run->replica, "a group of trials");
    for (size_t k = 0; k < n; k++)
        if (takes(run->session, &trial[k])) {
            lm_training_begin(&trial[k], result[k].begun < trial[k].epochs ? result[k].begun : 0, &result[k]);
            run->trial[run->count] = &trial[k];
            run->result[run->count++] = &result[k];
        }
    run->r.n = (uint32_t)problem->train.n;
    run->r.count = (uint32_t)run->count;
    for (int c = 0; c < LM_CLASSES; c++)
        run->r.letters[c] = (uint32_t)problem->count[c];
    return LM_OK;
}

/* The device ran out of memory for so many at once, and lives: half of them, and then the others. */
static int train_halves(struct lm_gpu_session *s, const struct lm_trial *trial, size_t n,
                        struct lm_training_result *result, struct lm_tick tick, struct lm_error *err);

static int train_together(struct lm_gpu_session *s, const struct lm_trial *trial, size_t n,
                          struct lm_training_result *result, struct lm_tick tick, struct lm_error *err)
{
    struct lm_gpu_ticker ticker = {tick, lm_gpu_now(), 0};
    struct fast_run run = {.session = s, .ticker = &ticker};
    int code = gather(&run, trial, n, result, err);
    if (code == LM_OK && run.count > 0)
        code = train_group(&run, err);
    size_t count = run.count;
    free_run(&run);
    if (code == LM_FAILED && count > 1 && lm_gpu_alive())
        return train_halves(s, trial, n, result, tick, err);
    return code;
}

static int train_halves(struct lm_gpu_session *s, const struct lm_trial *trial, size_t n,
                        struct lm_training_result *result, struct lm_tick tick, struct lm_error *err)
{
    lm_gpu_release_all(s);
    int code = train_together(s, trial, n / 2, result, tick, err);
    return code == LM_OK ? train_together(s, trial + n / 2, n - n / 2, result + n / 2, tick, err) : code;
}

int lm_gpu_train_fast(void *session, const struct lm_trial *trial, size_t n, struct lm_training_result *result,
                      struct lm_tick tick, struct lm_error *err)
{
    struct lm_gpu_session *s = session;
    int code = train_together(s, trial, n, result, tick, err);
    if (code == LM_FAILED && lm_gpu_alive())
        code = LM_OK; /* one that nobody could train is that trial's failure: the loop below names it */
    for (size_t k = 0; k < n && code == LM_OK; k++)
        if (!takes(s, &trial[k]) || result[k].status == LM_TRIAL_FAILED)
            code = lm_gpu_train(session, &trial[k], 1, &result[k], tick, err);
    return code;
}
