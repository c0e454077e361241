/* schedule_worker.c: the worker's half of the schedule (schedule.c): it asks, trains, and hands in.
 *
 * A message with the last result of its tasks is also its request for more. A message holds all results of a few
 * milliseconds: those of a GPU come by the thousand, and one message each would be most of rank 0's time.
 */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "best.h"
#include "schedule_messages.h"
#include "stop.h"

/* There is a message so often at most, unless it has so many bytes already. */
#define SECONDS_A_MESSAGE 5e-3
#define BYTES_A_MESSAGE   ((size_t)256 << 10)

#define SECONDS_BETWEEN_LOOKS 3e-4

/* What has begun may end within this time, once there is a stop. */
#define SECONDS_OF_GRACE 2.0

struct worker {
    const struct lm_schedule *schedule;
    struct lm_work work;
    struct lm_task *task; /* (work.count) */
    uint64_t cursor;      /* the task of the last report */
    struct lm_best best;  /* of this worker's: what is not among them is not among everybody's */
    struct lm_message message;
    double sent, looked; /* lm_now() of the last message, and of the last look at the network */
    int has_asked;       /* for a stop */
    double stop;         /* lm_now() of rank 0's word; 0: none */
};

/* ---- results ---- */

static void send_results(struct worker *worker)
{
    if (worker->message.used > 0)
        lm_message_send(worker->schedule->world, &worker->message, 0, LM_TAG_RESULTS);
    worker->message.used = 0;
    worker->sent = lm_now();
}

/* The task of a report. They come nearly in order: the next one is looked at first. */
static const struct lm_task *task_of(struct worker *worker, uint64_t number)
{
    while (worker->task[worker->cursor].number != number)
        worker->cursor = (worker->cursor + 1) % worker->work.count;
    return &worker->task[worker->cursor];
}

static int is_best(struct worker *worker, const struct lm_report *report)
{
    struct lm_error err;
    const struct lm_rating rating = {.trial = report->trial,
                                     .loss = report->outcome.validation_loss,
                                     .accuracy = report->outcome.validation_accuracy};
    return lm_best_wants(&worker->best, &rating) && lm_best_put(&worker->best, &rating, NULL, 0, &err) == LM_OK;
}

static int wants_parameters(struct worker *worker, const struct lm_report *report, const struct lm_task *task)
{
    const struct lm_schedule *schedule = worker->schedule;
    if (!report->parameters)
        return 0;
    if (report->outcome.status == LM_TRIAL_NOT_RUN)
        return 1;
    int best = is_best(worker, report); /* asked first: it also takes note */
    return best || schedule->all_parameters || task->wanted ||
           (schedule->lowest && report->trial <= worker->work.lowest_ok);
}

static int send_result(void *context, const struct lm_report *report, struct lm_error *err)
{
    struct worker *worker = context;
    const struct lm_task *task = task_of(worker, report->trial);
    uint64_t floats = wants_parameters(worker, report, task) ? lm_network_floats(task->trial.shape) : 0;
    if (worker->message.used + lm_message_report_bytes(report, floats) > BYTES_A_MESSAGE)
        send_results(worker);
    if (lm_message_add_report(&worker->message, report, floats, err) != LM_OK)
        return err->code;
    if (lm_now() - worker->sent > SECONDS_A_MESSAGE)
        send_results(worker);
    return LM_OK;
}

/* ---- a stop ---- */

static void ask_for_stop(struct worker *worker)
{
    if (!worker->schedule->may_stop || worker->has_asked || !lm_stop_asked())
        return;
    worker->has_asked = 1;
    lm_message_send(worker->schedule->world, NULL, 0, LM_TAG_ASK_STOP);
}

/* While it trains, it hears a stop; the next tasks may be there too, if it has just sent the last result. */
static int tick(void *context)
{
    struct worker *worker = context;
    const struct lm_world *world = worker->schedule->world;
    MPI_Status status;
    double t = lm_now();
    if (!worker->schedule->may_stop || t - worker->looked < SECONDS_BETWEEN_LOOKS)
        return 0;
    worker->looked = t;
    ask_for_stop(worker);
    if (worker->stop == 0.0 && lm_message_there(world, 0, LM_TAG_STOP, &status)) {
        LM_MPI(world, MPI_Recv(NULL, 0, MPI_BYTE, 0, LM_TAG_STOP, world->comm, MPI_STATUS_IGNORE));
        worker->stop = t;
    }
    return worker->stop > 0.0 && t - worker->stop > SECONDS_OF_GRACE;
}

/* ---- work ---- */

/* The next word of rank 0's; its tag. */
static int hear(struct worker *worker)
{
    const struct lm_world *world = worker->schedule->world;
    MPI_Status status;
    unsigned looks = 0;
    while (!lm_message_there(world, 0, MPI_ANY_TAG, &status)) {
        ask_for_stop(worker);
        lm_message_pause(&looks);
    }
    lm_message_receive(world, &worker->message, &status);
    return status.MPI_TAG;
}

static int train(struct worker *worker, struct lm_error *err)
{
    const struct lm_schedule *schedule = worker->schedule;
    const struct lm_tick look = {tick, worker};
    size_t capacity = schedule->backend->capacity(schedule->session);
    int code = LM_OK;
    for (uint64_t done = 0; done < worker->work.count && code == LM_OK;) {
        uint64_t n = worker->work.count - done < capacity ? worker->work.count - done : capacity;
        code = lm_train_batch(schedule, worker->task + done, n, look, send_result, worker, err);
        done += n;
        if (worker->stop > 0.0 && code == LM_OK && done < worker->work.count)
            code = LM_STOPPED;
    }
    return code;
}

static int do_work(struct worker *worker, double *seconds)
{
    struct lm_error err;
    if (lm_message_get_work(&worker->message, &worker->work, &worker->task, &err) != LM_OK)
        lm_abort(worker->schedule->world, &err);
    worker->message.used = worker->cursor = 0;
    double start = lm_now();
    int code = train(worker, &err);
    if (code != LM_OK && code != LM_STOPPED)
        lm_abort(worker->schedule->world, &err);
    send_results(worker);
    *seconds += lm_now() - start;
    lm_tasks_free(worker->task, worker->work.count);
    free(worker->task);
    return code;
}

int lm_schedule_work(const struct lm_schedule *schedule, double *seconds)
{
    struct worker worker = {.schedule = schedule};
    struct lm_error err;
    int tag = LM_TAG_WORK;
    if (lm_best_begin(&worker.best, schedule->best, schedule->by_accuracy, &err) != LM_OK)
        lm_abort(schedule->world, &err);
    lm_message_send(schedule->world, NULL, 0, LM_TAG_READY);
    while (worker.stop == 0.0 && (tag = hear(&worker)) == LM_TAG_WORK) {
        struct lm_work work;
        memcpy(&work, worker.message.bytes, sizeof work);
        if (work.count == 0)
            break;
        do_work(&worker, seconds);
    }
    int stopped = worker.stop > 0.0 || tag == LM_TAG_STOP;
    if (stopped)
        lm_message_send(schedule->world, NULL, 0, LM_TAG_STOPPED);
    lm_message_end(&worker.message);
    lm_best_end(&worker.best);
    return stopped ? LM_STOPPED : LM_OK;
}
