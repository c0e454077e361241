/* ending.c: see ending.h. A handler sees only what lies at file scope: the one place of the program with such state. */
#include "ending.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "status.h"

/* MPI starts within seconds; a rank that lacks memory in that moment can make all wait for ever. */
#define SECONDS_TO_START 300.0

static char part_file[PATH_MAX], lock_file[PATH_MAX];
static volatile sig_atomic_t has_files, has_started;

static void say(const char *line)
{
    (void)!write(STDERR_FILENO, line, strlen(line));
}

static void remove_files(void)
{
    if (!has_files)
        return;
    unlink(part_file);
    unlink(lock_file);
}

static void time_is_over(int signal_number)
{
    (void)signal_number;
    remove_files();
    say(has_started
            ? "libras_mpi: the time given by --timeout is over; nothing was written\n"
            : "libras_mpi: MPI did not start in time: is there too little memory, or a host that does not answer?\n");
    _exit(LM_FAILED);
}

static void stopped_by_signal(int signal_number)
{
    remove_files();
    if (has_files)
        say("libras_mpi: stopped by a signal; nothing was written\n");
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void set_timer(double seconds)
{
    struct itimerval timer = {0};
    timer.it_value.tv_sec = (time_t)seconds;
    timer.it_value.tv_usec = (suseconds_t)(999999.0 * (seconds - (double)(time_t)seconds));
    if (seconds > 0.0 && timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
        timer.it_value.tv_usec = 1;
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void handle(int signal_number, void (*handler)(int))
{
    struct sigaction before, action = {.sa_handler = handler};
    if (sigaction(signal_number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(signal_number, &action, NULL); /* one that is ignored (nohup) stays so */
}

void lm_ending_begin(double seconds, int rank)
{
    handle(SIGALRM, time_is_over);
    handle(SIGTERM, stopped_by_signal);
    handle(SIGINT, stopped_by_signal);
    handle(SIGHUP, stopped_by_signal);
    set_timer((seconds > 0.0 ? seconds : SECONDS_TO_START) + (rank == 0 ? 0.0 : 2.0));
}

void lm_ending_started(double seconds)
{
    has_started = 1;
    if (seconds <= 0.0)
        set_timer(0.0);
}

void lm_ending_files(const char *part, const char *lock)
{
    has_files = 0;
    if (part && lock && strlen(part) < sizeof part_file && strlen(lock) < sizeof lock_file) {
        strcpy(part_file, part);
        strcpy(lock_file, lock);
        has_files = 1;
    }
}

static void stopped_after_checkpoint(int signal_number)
{
    (void)signal_number;
    if (has_files)
        say("libras_mpi: stopped after the training, which is all in the checkpoint; the same command with --resume "
            "goes on\n");
    remove_files();
    _exit(LM_STOPPED);
}

void lm_ending_after_checkpoint(void)
{
    handle(SIGUSR1, stopped_after_checkpoint);
    handle(SIGTERM, stopped_after_checkpoint);
    handle(SIGINT, stopped_after_checkpoint);
}

void lm_ending_remove(void)
{
    remove_files();
}
