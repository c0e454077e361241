/* stop.c: see stop.h. A handler sees only what lies at file scope. */
#include "stop.h"

#include <signal.h>
#include <stddef.h>

#include "ending.h"

static volatile sig_atomic_t stop_signal, word_wanted;

static void ask_for_stop(int number)
{
    if (stop_signal && number != SIGUSR1) {
        lm_ending_remove();
        signal(number, SIG_DFL);
        raise(number);
    }
    stop_signal = number;
}

static void ask_for_word(int number)
{
    (void)number;
    word_wanted = 1;
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void lm_stop_begin(void)
{
    handle(SIGUSR1, ask_for_stop);
    handle(SIGTERM, ask_for_stop);
    handle(SIGINT, ask_for_stop);
    handle(SIGUSR2, ask_for_word);
}

int lm_stop_asked(void)
{
    return stop_signal;
}

int lm_stop_word_wanted(void)
{
    int wanted = word_wanted;
    word_wanted = 0;
    return wanted;
}
