/* schedule.c: see schedule.h. Rank 0's half; the worker's is schedule_worker.c, what they say schedule_messages.h.
 *
 * Rank 0 hands out runs of tasks, large ones first, single ones near the end, so that neither many short trials nor a
 * few long ones leave anybody idle; and it trains trials itself. While it trains, the backend calls its tick every few
 * hundred samples, and there it takes results and hands out work: no thread, no waiting.
 *
 * Nothing here decides an answer: a trial is a function of its parameters, and results are stored by number.
 *
 * A stop begins when rank 0 or a worker has been told so by a signal. Nobody gets new tasks; what has begun may end
 * within a grace, or leaves its last snapshot; every worker that was not at its end yet says a last word.
 */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "schedule_messages.h"
#include "stop.h"

/* How many tasks are handed out at once to a rank that trains one after the other. */
#define LONGEST_RUN 64

#define SECONDS_BETWEEN_LOOKS 3e-4
#define SECONDS_OF_GRACE      2.0

/* A rank that trains many at once gets so many that they take about this long: they come back together, and until then
 * nobody has them but that rank. What a step of all at once costs is an H200's, a guess on other GPUs. */
#define SECONDS_A_SHARE 3.0
#define SECONDS_A_STEP  0.75e-6

struct lead {
    const struct lm_schedule *schedule;
    const struct lm_sink *sink;
    struct lm_task *task; /* (most): the ones that are handed out next */
    size_t most;
    uint64_t left;      /* tasks that the source has at most */
    uint64_t lowest_ok; /* the lowest trial that has parameters */
    double looked;      /* lm_now() of the last look at what has come in */
    uint64_t *owed;     /* (size): results that a rank still owes */
    int *is_active;     /* (size): it has not been told that there is no more */
    int active;
    double stop; /* lm_now() of the stop; 0: none */
    struct lm_message message;
    struct lm_error err;
};

/* ---- how many at once ---- */

static uint64_t divided_up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by;
}

/* In whole turns, of trials of so many epochs. */
static uint64_t quick(const struct lead *lead, uint64_t capacity, uint64_t turn)
{
    uint32_t epochs = lead->task[0].trial.epochs;
    double seconds = SECONDS_A_STEP * (double)lead->schedule->problem->train.n * (double)epochs;
    uint64_t turns = seconds * (double)(capacity / turn) > SECONDS_A_SHARE ? (uint64_t)(SECONDS_A_SHARE / seconds) : 0;
    return turns > 0 ? turns * turn : seconds > SECONDS_A_SHARE ? turn : capacity;
}

/* For a rank that trains many at once: an equal share of all, in one call. Halves of what is left, and halves of those,
 * would be most of the time: a turn of a few trials takes as long as a full one. Only where a share is more than a rank
 * takes at once, the last ones are divided up once more, in whole turns. */
static uint64_t many_at_once(const struct lead *lead, uint64_t ranks, uint64_t capacity)
{
    const struct lm_schedule *schedule = lead->schedule;
    uint64_t turn = schedule->backend->turn ? schedule->backend->turn(schedule->session) : 1;
    uint64_t share = divided_up(schedule->source->total, ranks);
    if (schedule->may_stop)
        capacity = quick(lead, capacity, turn);
    if (share > capacity)
        share = divided_up(divided_up(lead->left, ranks), turn) * turn;
    share = share < lead->left ? share : lead->left;
    return share < capacity ? share : capacity;
}

/* The next tasks for anyone, in lead->task: see the head of this file. The first one is looked at to tell how many. */
static struct lm_work take_work(struct lead *lead)
{
    const struct lm_schedule *schedule = lead->schedule;
    const struct lm_task_source *source = schedule->source;
    struct lm_work work = {0, lead->lowest_ok};
    uint64_t ranks = (uint64_t)schedule->world->size, capacity = schedule->backend->capacity(schedule->session);
    if (lead->left == 0 || source->take(source->context, 1, lead->task) == 0) {
        lead->left = 0;
        return work;
    }
    uint64_t count = lead->left / (4 * ranks);
    count = count < LONGEST_RUN ? count : LONGEST_RUN;
    if (capacity > 1)
        count = many_at_once(lead, ranks, capacity);
    count = count < lead->most ? count : lead->most;
    work.count = 1;
    while (work.count < count) {
        size_t n = source->take(source->context, (size_t)(count - work.count), lead->task + work.count);
        if (n == 0)
            break;
        work.count += n;
    }
    lead->left -= work.count < lead->left ? work.count : lead->left;
    return work;
}

static void hand_out(struct lead *lead, int rank)
{
    const struct lm_world *world = lead->schedule->world;
    struct lm_work work = take_work(lead);
    lead->owed[rank] = work.count;
    if (lm_message_put_work(&lead->message, &work, lead->task, &lead->err) != LM_OK)
        lm_abort(world, &lead->err);
    lm_message_send(world, &lead->message, rank, LM_TAG_WORK);
    lm_tasks_free(lead->task, work.count);
    if (work.count == 0) {
        lead->is_active[rank] = 0;
        lead->active--;
    }
}

/* ---- what comes in ---- */

static int take_report(void *context, const struct lm_report *report, struct lm_error *err)
{
    struct lead *lead = context;
    if (report->outcome.status == LM_TRIAL_OK && report->trial < lead->lowest_ok)
        lead->lowest_ok = report->trial;
    return lead->sink->take(lead->sink->context, report, err);
}

static void take_results(struct lead *lead, int rank)
{
    struct lm_error err;
    for (size_t at = 0; at < lead->message.used;) {
        struct lm_report report = lm_message_next_report(&lead->message, &at);
        if (take_report(lead, &report, &err) != LM_OK)
            lm_abort(lead->schedule->world, &err);
        lead->owed[rank] -= report.outcome.status != LM_TRIAL_NOT_RUN;
    }
    if (lead->owed[rank] == 0 && lead->stop == 0.0)
        hand_out(lead, rank);
}

static void begin_stop(struct lead *lead)
{
    const struct lm_world *world = lead->schedule->world;
    if (lead->stop > 0.0)
        return;
    lead->stop = lm_now();
    for (int rank = 1; rank < world->size; rank++)
        if (lead->is_active[rank])
            lm_message_send(world, NULL, rank, LM_TAG_STOP);
}

static void serve(struct lead *lead, const MPI_Status *status)
{
    int rank = status->MPI_SOURCE;
    lm_message_receive(lead->schedule->world, &lead->message, status);
    switch (status->MPI_TAG) {
    case LM_TAG_READY:
        if (lead->stop == 0.0)
            hand_out(lead, rank);
        break;
    case LM_TAG_RESULTS:
        take_results(lead, rank);
        break;
    case LM_TAG_ASK_STOP:
        begin_stop(lead);
        break;
    case LM_TAG_STOPPED:
        lead->is_active[rank] = 0;
        lead->active--;
        break;
    default:
        break;
    }
}

/* Whatever has come in, without waiting; 1 if anything had. */
static int look(struct lead *lead)
{
    MPI_Status status;
    int any = 0;
    while (lead->active > 0 && lm_message_there(lead->schedule->world, MPI_ANY_SOURCE, MPI_ANY_TAG, &status)) {
        serve(lead, &status);
        any = 1;
    }
    if (lead->schedule->may_stop && lm_stop_asked())
        begin_stop(lead);
    if (lead->sink->pulse && lead->sink->pulse(lead->sink->context, &lead->err) != LM_OK)
        lm_abort(lead->schedule->world, &lead->err);
    return any;
}

/* The fast kernels call it every few dozen microseconds, MPI's look at the network costs one: so it looks a few times a
 * millisecond. */
static int tick(void *context)
{
    struct lead *lead = context;
    double t = lm_now();
    if (t - lead->looked >= SECONDS_BETWEEN_LOOKS) {
        lead->looked = t;
        look(lead);
    }
    return lead->stop > 0.0 && t - lead->stop > SECONDS_OF_GRACE;
}

/* ---- the lead ---- */

/* Rank 0's own tasks are as large as anybody's: but it has a task array of its own, since it hands out while it trains.
 */
static void train_own(struct lead *lead, double *seconds)
{
    const struct lm_schedule *schedule = lead->schedule;
    const struct lm_tick serve_others = {tick, lead};
    size_t capacity = schedule->backend->capacity(schedule->session);
    struct lm_error err;
    struct lm_work work = take_work(lead);
    struct lm_task *task = malloc((work.count + 1) * sizeof *task);
    if (!task) {
        lm_fail_memory(&err, work.count * sizeof *task, "tasks");
        lm_abort(schedule->world, &err);
    }
    memcpy(task, lead->task, work.count * sizeof *task);
    double start = lm_now();
    for (uint64_t done = 0; done < work.count && lead->stop == 0.0;) {
        uint64_t n = work.count - done < capacity ? work.count - done : capacity;
        int code = lm_train_batch(schedule, task + done, n, serve_others, take_report, lead, &err);
        if (code != LM_OK && code != LM_STOPPED)
            lm_abort(schedule->world, &err);
        done += n;
    }
    *seconds += lm_now() - start;
    lm_tasks_free(task, work.count);
    free(task);
}

static void begin(struct lead *lead)
{
    const struct lm_schedule *schedule = lead->schedule;
    size_t size = (size_t)schedule->world->size, capacity = schedule->backend->capacity(schedule->session);
    lead->most = capacity > LONGEST_RUN ? capacity : LONGEST_RUN;
    lead->left = schedule->source->total;
    lead->lowest_ok = UINT64_MAX;
    lead->active = schedule->world->size - 1;
    lead->task = malloc(lead->most * sizeof *lead->task);
    lead->owed = calloc(size, sizeof *lead->owed);
    lead->is_active = calloc(size, sizeof *lead->is_active);
    if (!lead->task || !lead->owed || !lead->is_active) {
        lm_fail_memory(&lead->err, lead->most * sizeof *lead->task, "the schedule");
        lm_abort(schedule->world, &lead->err);
    }
    for (size_t rank = 1; rank < size; rank++)
        lead->is_active[rank] = 1;
}

static int lead_all(const struct lm_schedule *schedule, const struct lm_sink *sink, double *seconds)
{
    struct lead lead = {.schedule = schedule, .sink = sink};
    unsigned looks = 0;
    begin(&lead);
    while (lead.left > 0 && lead.stop == 0.0) {
        look(&lead); /* at least a moment for the others before each run of its own */
        if (lead.left > 0 && lead.stop == 0.0)
            train_own(&lead, seconds);
    }
    while (lead.active > 0) { /* nothing left to train: it waits for the others */
        if (look(&lead))
            looks = 0;
        else
            lm_message_pause(&looks);
    }
    int stopped = lead.stop > 0.0;
    lm_message_end(&lead.message);
    free(lead.task);
    free(lead.owed);
    free(lead.is_active);
    return stopped ? LM_STOPPED : LM_OK;
}

int lm_schedule_run(const struct lm_schedule *schedule, const struct lm_sink *sink, double *seconds)
{
    int code;
    *seconds = 0.0;
    if (schedule->world->rank == 0)
        code = lead_all(schedule, sink, seconds);
    else
        code = lm_schedule_work(schedule, seconds);
    lm_broadcast(schedule->world, &code, sizeof code); /* a worker may have been at its end before the stop */
    return code;
}
