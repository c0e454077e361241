/* progress.c: see progress.h. On stderr, from rank 0 alone. */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SECONDS_ON_TERMINAL 0.2
#define SECONDS_IN_LOG      30.0
#define BAR                 30

void lm_progress_begin(struct lm_progress *progress, const struct lm_world *world, const char *what, uint64_t total)
{
    double t = lm_now();
    *progress = (struct lm_progress){
        .world = world, .what = what, .total = total, .start = t, .last = t, .terminal = isatty(STDERR_FILENO)};
}

static void time_left(const struct lm_progress *progress, uint64_t done, char *text, size_t size)
{
    double passed = lm_now() - progress->start;
    uint64_t now = done > progress->before ? done - progress->before : 0;
    unsigned long left =
        now ? (unsigned long)(passed * (double)(done < progress->total ? progress->total - done : 0) / (double)now +
                              0.5)
            : 0;
    if (now == 0)
        snprintf(text, size, "?");
    else if (left < 3600)
        snprintf(text, size, "%lu:%02lu", left / 60, left % 60);
    else
        snprintf(text, size, "%lu:%02lu:%02lu", left / 3600, left / 60 % 60, left % 60);
}

static void draw_bar(uint64_t done, uint64_t total, char bar[BAR + 1])
{
    size_t full = (size_t)(BAR * (double)done / (double)total);
    memset(bar, '#', full);
    memset(bar + full, '.', BAR - full);
    bar[BAR] = '\0';
}

void lm_progress_show(struct lm_progress *progress, uint64_t done)
{
    double t = lm_now();
    char left[32], bar[BAR + 1], line[300], whole[320];
    const char *comma = progress->more[0] ? "; " : "";
    if (progress->world->rank != 0 || progress->world->quiet || progress->total == 0 ||
        t - progress->last < (progress->terminal ? SECONDS_ON_TERMINAL : SECONDS_IN_LOG))
        return;
    progress->last = t;
    time_left(progress, done, left, sizeof left);
    if (!progress->terminal) {
        lm_note(progress->world, "%llu of %llu %s, %.1f a second, time left %s%s%s", (unsigned long long)done,
                (unsigned long long)progress->total, progress->what,
                (double)(done - progress->before) / (t - progress->start), left, comma, progress->more);
        return;
    }
    draw_bar(done, progress->total, bar);
    struct winsize window = {0};
    size_t width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 20 ? window.ws_col : 80;
    int n = snprintf(line, sizeof line, "[%s] %llu/%llu %s, left %s%s%s", bar, (unsigned long long)done,
                     (unsigned long long)progress->total, progress->what, left, comma, progress->more);
    size_t shown = (size_t)n < width - 1 ? (size_t)n : width - 1; /* one that wraps would scroll */
    n = snprintf(whole, sizeof whole, "\r%.*s\033[K", (int)(shown < sizeof line ? shown : sizeof line - 1), line);
    if (write(STDERR_FILENO, whole, (size_t)n) == n)
        progress->shown = 1;
}

void lm_progress_end(struct lm_progress *progress)
{
    static const char clear[] = "\r\033[K";
    if (progress->shown && write(STDERR_FILENO, clear, sizeof clear - 1) > 0)
        progress->shown = 0;
}
