/* schedule.c: see schedule.h.
 *
 * Rank 0 hands out runs of consecutive trials, large ones first, single ones near the end, so that neither many short
 * trials nor a few long ones leave anybody idle; and it trains trials itself. While it trains, the backend calls its
 * tick every few hundred samples, and there it takes results and hands out work: no thread, no waiting.
 * A worker's message with the last result of its run is also its request for the next one. A message holds all results
 * of a few milliseconds: those of a GPU come by the thousand, and one message each would be most of rank 0's time.
 *
 * Nothing here decides an answer: a trial is a function of its number, and results are stored by number.
 */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "progress.h"
#include "replica_choice.h"

enum { TAG_READY = 1, TAG_WORK, TAG_RESULT };

/* How many consecutive trials are handed out at once to a rank that trains one after the other. */
#define LONGEST_RUN 64

#define SECONDS_BETWEEN_LOOKS 3e-4

/* There is a message so often at most, unless it has so many bytes already. */
#define SECONDS_A_MESSAGE 5e-3
#define BYTES_A_MESSAGE   ((size_t)256 << 10)

/* Rank 0 -> worker. count 0: there is no more. */
struct work {
    uint64_t first, count;
    uint64_t lowest_ok; /* the lowest trial known to have parameters */
};

/* Worker -> rank 0, followed by the losses and the parameters, and so on for each result of the message; each begins at
 * a multiple of 8 bytes. The same program runs on all ranks, so it is sent as it lies in memory. */
struct result_head {
    uint64_t trial;
    struct lm_outcome outcome;
    struct lm_trial_execution execution;
    uint64_t losses, parameters; /* how many follow */
};

/* ---- worker ---- */

struct worker {
    const struct lm_schedule *schedule;
    struct work work;
    unsigned char *message; /* grows to the longest */
    size_t room, used;
    double sent; /* lm_now() of the last message: after a slow trial a result goes at once */
};

static size_t result_bytes(const struct result_head *head)
{
    return (sizeof *head + head->losses * sizeof(double) + head->parameters * sizeof(float) + 7) / 8 * 8;
}

static int grow(unsigned char **bytes, size_t *room, size_t wanted, struct lm_error *err)
{
    if (wanted <= *room)
        return LM_OK;
    unsigned char *more = realloc(*bytes, wanted);
    if (!more)
        return lm_fail_memory(err, wanted, "a message");
    *bytes = more;
    *room = wanted;
    return LM_OK;
}

static int wants_parameters(const struct worker *worker, const struct lm_report *report)
{
    const struct lm_schedule *schedule = worker->schedule;
    return report->parameters && (schedule->all_parameters || report->trial <= worker->work.lowest_ok ||
                                  lm_replica_is(lm_grid_size(schedule->grid), schedule->replicas, report->trial));
}

static void send_results(struct worker *worker)
{
    const struct lm_world *world = worker->schedule->world;
    if (worker->used > 0)
        LM_MPI(world, MPI_Send(worker->message, (int)worker->used, MPI_BYTE, 0, TAG_RESULT, world->comm));
    worker->used = 0;
    worker->sent = lm_now();
}

static int send_result(void *context, const struct lm_report *report, struct lm_error *err)
{
    struct worker *worker = context;
    struct lm_trial trial = lm_grid_trial(worker->schedule->grid, report->trial);
    struct result_head head = {.trial = report->trial, .outcome = report->outcome, .execution = report->execution};
    head.losses = report->outcome.epochs_run;
    head.parameters = wants_parameters(worker, report) ? lm_network_floats(trial.shape) : 0;
    size_t size = result_bytes(&head), loss_bytes = head.losses * sizeof(double);
    if (worker->used + size > BYTES_A_MESSAGE)
        send_results(worker);
    if (grow(&worker->message, &worker->room, worker->used + size, err) != LM_OK)
        return err->code;
    unsigned char *to = worker->message + worker->used;
    memset(to + size - 8, 0, 8);
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, report->loss, loss_bytes);
    if (head.parameters)
        memcpy(to + sizeof head + loss_bytes, report->parameters, head.parameters * sizeof(float));
    worker->used += size;
    if (lm_now() - worker->sent > SECONDS_A_MESSAGE)
        send_results(worker);
    return LM_OK;
}

static void work_for_rank_0(const struct lm_schedule *schedule, double *seconds)
{
    const struct lm_world *world = schedule->world;
    struct worker worker = {.schedule = schedule};
    struct lm_tick no_tick = {0};
    struct lm_error err;
    LM_MPI(world, MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_READY, world->comm));
    for (;;) {
        LM_MPI(world,
               MPI_Recv(&worker.work, sizeof worker.work, MPI_BYTE, 0, TAG_WORK, world->comm, MPI_STATUS_IGNORE));
        if (worker.work.count == 0)
            break;
        size_t capacity = schedule->backend->capacity(schedule->session);
        double start = lm_now();
        for (uint64_t done = 0; done < worker.work.count;) {
            uint64_t n = worker.work.count - done < capacity ? worker.work.count - done : capacity;
            if (lm_train_batch(schedule, worker.work.first + done, n, no_tick, send_result, &worker, &err) != LM_OK)
                lm_abort(world, &err);
            done += n;
        }
        send_results(&worker);
        *seconds += lm_now() - start;
    }
    free(worker.message);
}

/* ---- rank 0 ---- */

struct master {
    const struct lm_schedule *schedule;
    const struct lm_sink *sink;
    uint64_t next, total, finished, lowest_ok;
    double looked;  /* lm_now() of the last look at what has come in */
    uint64_t *owed; /* (size): results that a rank still owes */
    int active;     /* workers that have not been told that there is no more */
    unsigned char *message;
    size_t room;
    struct lm_progress progress;
    struct lm_error err;
};

static uint64_t divided_up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by;
}

/* For a rank that trains many at once: an equal share of all, in one call. Halves of what is left, and halves of those,
 * would be most of the time: a turn of a few trials takes as long as a full one. Only where a share is more than a rank
 * takes at once, the last ones are divided up once more, in whole turns. */
static uint64_t many_at_once(const struct master *m, uint64_t left, uint64_t ranks, uint64_t capacity)
{
    const struct lm_backend *backend = m->schedule->backend;
    uint64_t turn = backend->turn ? backend->turn(m->schedule->session) : 1, share = divided_up(m->total, ranks);
    if (share > capacity)
        share = divided_up(divided_up(left, ranks), turn) * turn;
    share = share < left ? share : left;
    return share < capacity ? share : capacity;
}

/* The next run of trials for anyone: see the head of this file. */
static struct work take_work(struct master *m)
{
    uint64_t left = m->total - m->next, ranks = (uint64_t)m->schedule->world->size;
    uint64_t capacity = m->schedule->backend->capacity(m->schedule->session);
    uint64_t count = left / (4 * ranks);
    count = count < LONGEST_RUN ? count : LONGEST_RUN;
    if (capacity > 1)
        count = many_at_once(m, left, ranks, capacity);
    if (count == 0 && left > 0)
        count = 1;
    struct work work = {m->next, count, m->lowest_ok};
    m->next += count;
    return work;
}

static void hand_out(struct master *m, int rank)
{
    const struct lm_world *world = m->schedule->world;
    struct work work = take_work(m);
    m->owed[rank] = work.count;
    if (work.count == 0)
        m->active--;
    LM_MPI(world, MPI_Send(&work, sizeof work, MPI_BYTE, rank, TAG_WORK, world->comm));
}

static int take_report(void *context, const struct lm_report *report, struct lm_error *err)
{
    struct master *m = context;
    if (report->outcome.status == LM_TRIAL_OK && report->trial < m->lowest_ok)
        m->lowest_ok = report->trial;
    m->finished++;
    return m->sink->take(m->sink->context, report, err);
}

static void receive_results(struct master *m, int rank, int size)
{
    const struct lm_world *world = m->schedule->world;
    struct lm_error err;
    struct result_head head;
    if (grow(&m->message, &m->room, (size_t)size, &err) != LM_OK)
        lm_abort(world, &err);
    LM_MPI(world, MPI_Recv(m->message, size, MPI_BYTE, rank, TAG_RESULT, world->comm, MPI_STATUS_IGNORE));
    for (const unsigned char *at = m->message; at < m->message + size; at += result_bytes(&head)) {
        memcpy(&head, at, sizeof head);
        /* The losses follow the head, whose size is a multiple of a double's: both are aligned. */
        struct lm_report report = {.trial = head.trial, .outcome = head.outcome, .execution = head.execution};
        report.loss = (const double *)(const void *)(at + sizeof head);
        if (head.parameters)
            report.parameters = (const float *)(const void *)(at + sizeof head + head.losses * sizeof(double));
        if (take_report(m, &report, &err) != LM_OK)
            lm_abort(world, &err);
        m->owed[rank]--;
    }
    if (m->owed[rank] == 0)
        hand_out(m, rank);
}

static void serve(struct master *m, const MPI_Status *status)
{
    const struct lm_world *world = m->schedule->world;
    int size = 0;
    if (status->MPI_TAG == TAG_READY) {
        LM_MPI(world, MPI_Recv(NULL, 0, MPI_BYTE, status->MPI_SOURCE, TAG_READY, world->comm, MPI_STATUS_IGNORE));
        hand_out(m, status->MPI_SOURCE);
        return;
    }
    LM_MPI(world, MPI_Get_count(status, MPI_BYTE, &size));
    receive_results(m, status->MPI_SOURCE, size);
}

/* Whatever has come in, without waiting. The fast kernels call it every few dozen microseconds, MPI's look at the
 * network costs one: so it looks a few times a millisecond. */
static int tick(void *context)
{
    struct master *m = context;
    const struct lm_world *world = m->schedule->world;
    double t = lm_now();
    if (t - m->looked < SECONDS_BETWEEN_LOOKS)
        return 0;
    m->looked = t;
    int there = m->active > 0;
    while (there) {
        MPI_Status status;
        LM_MPI(world, MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world->comm, &there, &status));
        if (there)
            serve(m, &status);
    }
    lm_progress_show(&m->progress, m->finished);
    return 0;
}

/* Rank 0 has nothing left to train: it waits for the others. */
static void wait_for_others(struct master *m)
{
    const struct lm_world *world = m->schedule->world;
    while (m->active > 0) {
        MPI_Status status;
        LM_MPI(world, MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world->comm, &status));
        serve(m, &status);
        lm_progress_show(&m->progress, m->finished);
    }
}

static void lead(const struct lm_schedule *schedule, const struct lm_sink *sink, double *seconds)
{
    const struct lm_world *world = schedule->world;
    uint64_t total = lm_grid_size(schedule->grid);
    struct master m = {.schedule = schedule, .sink = sink, .total = total, .lowest_ok = UINT64_MAX};
    m.active = world->size - 1;
    m.owed = calloc((size_t)world->size, sizeof *m.owed);
    if (!m.owed) {
        lm_fail_memory(&m.err, (uint64_t)world->size * sizeof *m.owed, "the schedule");
        lm_abort(world, &m.err);
    }
    lm_progress_begin(&m.progress, world, "trials", total);
    while (m.next < m.total) {
        struct lm_tick serve_others = {tick, &m};
        /* At least a moment for the others before each batch, and single trials for itself: it also has them to serve.
         */
        tick(&m);
        if (m.next == m.total)
            break;
        struct work work = take_work(&m);
        size_t capacity = schedule->backend->capacity(schedule->session);
        double start = lm_now();
        for (uint64_t done = 0; done < work.count;) {
            uint64_t n = work.count - done < capacity ? work.count - done : capacity;
            if (lm_train_batch(schedule, work.first + done, n, serve_others, take_report, &m, &m.err) != LM_OK)
                lm_abort(world, &m.err);
            done += n;
        }
        *seconds += lm_now() - start;
    }
    wait_for_others(&m);
    lm_progress_end(&m.progress);
    free(m.message);
    free(m.owed);
}

void lm_schedule_run(const struct lm_schedule *schedule, const struct lm_sink *sink, double *seconds)
{
    *seconds = 0.0;
    if (schedule->world->rank == 0)
        lead(schedule, sink, seconds);
    else
        work_for_rank_0(schedule, seconds);
}
