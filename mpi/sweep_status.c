/* sweep_status.c: following a sweep: FILE.status, one line, made anew four times a second; and the same in more words
 * on USR2.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sweep.h"

#define LINE 400

static double rate(const struct lm_sweep *sweep)
{
    double seconds = lm_now() - sweep->began;
    return sweep->began > 0.0 && seconds > 0.0 ? (double)(sweep->done - sweep->before) / seconds : 0.0;
}

static void time_left(const struct lm_sweep *sweep, char *text, size_t size)
{
    double a_second = rate(sweep),
           left =
               a_second > 0.0 ? (double)(sweep->done < sweep->total ? sweep->total - sweep->done : 0) / a_second : NAN;
    if (isnan(left) || left > 1e8)
        snprintf(text, size, "?");
    else
        snprintf(text, size, "%.0f:%02.0f:%02.0f", floor(left / 3600.0), floor(fmod(left / 60.0, 60.0)),
                 floor(fmod(left, 60.0)));
}

/* The best of what has come in; NULL: nothing yet. */
static const struct lm_rating *best_of(const struct lm_sweep *sweep)
{
    const struct lm_rating *best = NULL;
    for (uint64_t k = 0; k < sweep->best.n; k++)
        if (!best || lm_rating_better(sweep->best.by_accuracy, &sweep->best.entry[k].rating, best))
            best = &sweep->best.entry[k].rating;
    return best;
}

int lm_sweep_best_text(const struct lm_sweep *sweep, char *text, size_t size)
{
    const struct lm_rating *best = best_of(sweep);
    if (!best)
        return snprintf(text, size, "no trial has ended yet");
    return snprintf(text, size, "best trial %" PRIu64 ": validation loss %.6g, accuracy %.2f %%", best->trial,
                    best->loss, 100.0 * best->accuracy);
}

static void make_line(const struct lm_sweep *sweep, const char *state, char line[LINE])
{
    char left[40], best[120], when[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    time_left(sweep, left, sizeof left);
    lm_sweep_best_text(sweep, best, sizeof best);
    snprintf(line, LINE,
             "%s %s: %" PRIu64 " of %" PRIu64 " trainings (%" PRIu64 " diverged, %" PRIu64
             " failed), %.1f a second, time left %s; %s\n",
             when, state, sweep->done, sweep->total, sweep->diverged, sweep->failed, rate(sweep), left, best);
}

/* In one write, over the older line: who reads it sees one of both. That it cannot be written is no reason to stop. */
void lm_sweep_status(struct lm_sweep *sweep, const char *state)
{
    char line[LINE];
    sweep->shown = lm_now();
    if (!sweep->status_path)
        return;
    make_line(sweep, state, line);
    int fd = open(sweep->status_path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return;
    ssize_t n = pwrite(fd, line, strlen(line), 0);
    if (n < 0 || ftruncate(fd, n) != 0)
        lm_detail(sweep->job.call->world, "%s: cannot be written", sweep->status_path);
    close(fd);
}

static void say_rung(const struct lm_sweep *sweep)
{
    if (sweep->spec.n_rungs)
        lm_say(sweep->job.call->world, "rung %zu of %zu: %" PRIu64 " trials up to epoch %" PRIu32, sweep->rung + 1,
               sweep->spec.n_rungs, sweep->n_alive, sweep->spec.rung[sweep->rung]);
}

void lm_sweep_word(struct lm_sweep *sweep)
{
    char line[LINE];
    const struct lm_world *world = sweep->job.call->world;
    struct lm_checkpoint_facts facts = lm_checkpoint_facts(sweep->checkpoint);
    make_line(sweep, "running", line);
    line[strcspn(line, "\n")] = '\0';
    lm_say(world, "%s", line);
    say_rung(sweep);
    lm_say(world, "checkpoint: %s, %" PRIu64 " trials and %" PRIu64 " states in %.1f MB, on disk %.1f s ago",
           sweep->checkpoint_path, facts.ended, facts.states, 1e-6 * (double)facts.bytes, lm_now() - sweep->flushed);
}
