/* schedule_messages.c: see schedule_messages.h. */
#include "schedule_messages.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Followed by the losses and the parameters. */
struct report_head {
    uint64_t trial;
    struct lm_outcome outcome;
    struct lm_trial_execution execution;
    uint64_t losses, floats;
    uint64_t begun;
};

void lm_message_end(struct lm_message *message)
{
    free(message->bytes);
    *message = (struct lm_message){.used = 0};
}

static size_t whole_words(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static int grow(struct lm_message *message, size_t more, struct lm_error *err)
{
    size_t wanted = message->used + more;
    if (wanted <= message->room)
        return LM_OK;
    if (wanted > INT_MAX)
        return lm_fail(err, LM_FAILED, "a message of %zu bytes between ranks: MPI counts them up to %d", wanted,
                       INT_MAX);
    size_t room = wanted + message->room / 2;
    unsigned char *bytes = realloc(message->bytes, room);
    if (!bytes)
        return lm_fail_memory(err, room, "a message");
    message->bytes = bytes;
    message->room = room;
    return LM_OK;
}

/* There is room for it. What fills it up to a whole word is 0. */
static void add(struct lm_message *message, const void *bytes, size_t n)
{
    size_t whole = whole_words(n);
    unsigned char *to = message->bytes + message->used;
    if (whole > 0)
        memset(to + whole - 8, 0, 8);
    if (n > 0)
        memcpy(to, bytes, n);
    message->used += whole;
}

/* ---- results ---- */

size_t lm_message_report_bytes(const struct lm_report *report, uint64_t floats)
{
    return whole_words(sizeof(struct report_head)) + report->outcome.epochs_run * sizeof(double) +
           whole_words(floats * sizeof(float));
}

int lm_message_add_report(struct lm_message *message, const struct lm_report *report, uint64_t floats,
                          struct lm_error *err)
{
    struct report_head head;
    memset(&head, 0, sizeof head); /* what lies between the members is sent, too */
    head.trial = report->trial;
    head.outcome = report->outcome;
    head.execution = report->execution;
    head.losses = report->outcome.epochs_run;
    head.floats = floats;
    head.begun = report->begun;
    if (grow(message, lm_message_report_bytes(report, floats), err) != LM_OK)
        return err->code;
    add(message, &head, sizeof head);
    add(message, report->loss, head.losses * sizeof(double));
    add(message, report->parameters, floats * sizeof(float));
    return LM_OK;
}

struct lm_report lm_message_next_report(const struct lm_message *message, size_t *at)
{
    struct report_head head;
    memcpy(&head, message->bytes + *at, sizeof head);
    const unsigned char *loss = message->bytes + *at + whole_words(sizeof head);
    const unsigned char *parameters = loss + head.losses * sizeof(double);
    *at = (size_t)(parameters - message->bytes) + whole_words(head.floats * sizeof(float));
    struct lm_report report = {.trial = head.trial, .outcome = head.outcome, .execution = head.execution};
    report.begun = (uint32_t)head.begun;
    report.loss = (const double *)(const void *)loss; /* aligned: see the head of schedule_messages.h */
    report.parameters = head.floats ? (const float *)(const void *)parameters : NULL;
    return report;
}

/* ---- work ---- */

int lm_message_put_work(struct lm_message *message, const struct lm_work *work, const struct lm_task *task,
                        struct lm_error *err)
{
    size_t bytes = whole_words(sizeof *work);
    for (uint64_t k = 0; k < work->count; k++)
        bytes += whole_words(sizeof *task) + (task[k].begun ? whole_words(lm_task_start_bytes(&task[k])) : 0);
    message->used = 0;
    if (grow(message, bytes, err) != LM_OK)
        return err->code;
    add(message, work, sizeof *work);
    for (uint64_t k = 0; k < work->count; k++) {
        add(message, &task[k], sizeof task[k]);
        if (task[k].begun)
            add(message, task[k].start, lm_task_start_bytes(&task[k]));
    }
    return LM_OK;
}

int lm_message_get_work(const struct lm_message *message, struct lm_work *work, struct lm_task **task,
                        struct lm_error *err)
{
    const unsigned char *at = message->bytes + whole_words(sizeof *work);
    memcpy(work, message->bytes, sizeof *work);
    *task = NULL;
    if (work->count == 0)
        return LM_OK;
    if (!(*task = calloc(work->count, sizeof **task)))
        return lm_fail_memory(err, work->count * sizeof **task, "tasks");
    for (uint64_t k = 0; k < work->count; k++) {
        struct lm_task *t = &(*task)[k];
        memcpy(t, at, sizeof *t);
        t->start = NULL;
        at += whole_words(sizeof *t);
        if (t->begun == 0)
            continue;
        if (!(t->start = malloc(lm_task_start_bytes(t)))) {
            lm_fail_memory(err, lm_task_start_bytes(t), "a trial's state");
            lm_tasks_free(*task, k);
            free(*task);
            return err->code;
        }
        memcpy(t->start, at, lm_task_start_bytes(t));
        at += whole_words(lm_task_start_bytes(t));
    }
    return LM_OK;
}

/* ---- between ranks ---- */

void lm_message_send(const struct lm_world *world, const struct lm_message *message, int to, int tag)
{
    LM_MPI(world,
           MPI_Send(message ? message->bytes : NULL, message ? (int)message->used : 0, MPI_BYTE, to, tag, world->comm));
}

void lm_message_receive(const struct lm_world *world, struct lm_message *message, const MPI_Status *status)
{
    int size = 0;
    struct lm_error err;
    LM_MPI(world, MPI_Get_count(status, MPI_BYTE, &size));
    message->used = 0;
    if (grow(message, (size_t)size, &err) != LM_OK)
        lm_abort(world, &err);
    LM_MPI(world, MPI_Recv(message->bytes, size, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, world->comm,
                           MPI_STATUS_IGNORE));
    message->used = (size_t)size;
}

int lm_message_there(const struct lm_world *world, int from, int tag, MPI_Status *status)
{
    int there = 0;
    LM_MPI(world, MPI_Iprobe(from, tag, world->comm, &there, status));
    return there;
}

void lm_message_pause(unsigned *looks)
{
    static const struct timespec short_time = {0, 100000};
    if (++*looks < 50)
        sched_yield();
    else
        nanosleep(&short_time, NULL);
}
