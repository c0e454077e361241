/* schedule_messages.h: what rank 0 and the workers say to each other; for schedule.c and schedule_worker.c alone.
 *
 *   worker -> rank 0   READY    nothing to do yet
 *                      RESULTS  results and states; the one with the last result owed is also the request for more
 *                      ASK_STOP it was told to stop, by a signal
 *                      STOPPED  its last word
 *   rank 0 -> worker   WORK     tasks; none: there are no more
 *                      STOP     stop soon
 *
 * The same program runs on all ranks, so that all is sent as it lies in memory. Every part of a message begins at a
 * multiple of 8 bytes.
 */
#ifndef LM_SCHEDULE_MESSAGES_H
#define LM_SCHEDULE_MESSAGES_H

#include "schedule.h"

enum { LM_TAG_READY = 1, LM_TAG_WORK, LM_TAG_RESULTS, LM_TAG_ASK_STOP, LM_TAG_STOP, LM_TAG_STOPPED };

struct lm_message {
    unsigned char *bytes; /* owned; grows to the longest */
    size_t room, used;
};
void lm_message_end(struct lm_message *message);

/* ---- results ---- */

int lm_message_add_report(struct lm_message *message, const struct lm_report *report, uint64_t floats,
                          struct lm_error *err);
size_t lm_message_report_bytes(const struct lm_report *report, uint64_t floats);
/* The report at *at, which is moved behind it. Its arrays lie in the message. */
struct lm_report lm_message_next_report(const struct lm_message *message, size_t *at);

/* ---- work ---- */

struct lm_work {
    uint64_t count;
    uint64_t lowest_ok; /* the lowest trial known to have parameters */
};
int lm_message_put_work(struct lm_message *message, const struct lm_work *work, const struct lm_task *task,
                        struct lm_error *err);
/* *task: owned by the caller, with the starts (lm_tasks_free); NULL if there is none. */
int lm_message_get_work(const struct lm_message *message, struct lm_work *work, struct lm_task **task,
                        struct lm_error *err);

/* ---- between ranks ---- */

void lm_message_send(const struct lm_world *world, const struct lm_message *message, int to, int tag);
void lm_message_receive(const struct lm_world *world, struct lm_message *message, const MPI_Status *status);
/* Is anything there, from this rank (or MPI_ANY_SOURCE), with this tag (or MPI_ANY_TAG)? */
int lm_message_there(const struct lm_world *world, int from, int tag, MPI_Status *status);
/* A pause between two looks: none at first, then 0.1 ms. looks counts them. */
void lm_message_pause(unsigned *looks);

/* Which worker's half this is. */
int lm_schedule_work(const struct lm_schedule *schedule, double *seconds);

#endif
