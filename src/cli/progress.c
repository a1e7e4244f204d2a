// progress.c: how far a run is, how fast, and how long it will take, on one line of a terminal.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static const double INTERVAL = 0.1; // [s] between two lines
static const double PATIENCE = 0.3; // [s] before the first one: short runs show nothing

double kd_cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// tenths below 10 s, then whole seconds, minutes, hours
const char *kd_progress_duration(double seconds, char *buffer, size_t size)
{
    double whole = floor(seconds + 0.5);
    if (!(seconds < 1e8))
        snprintf(buffer, size, "years");
    else if (seconds < 9.95)
        snprintf(buffer, size, "%.1f s", seconds);
    else if (whole < 60)
        snprintf(buffer, size, "%.0f s", whole);
    else if (whole < 3600)
        snprintf(buffer, size, "%.0f min %.0f s", floor(whole / 60), fmod(whole, 60));
    else
        snprintf(buffer, size, "%.0f h %.0f min", floor(whole / 3600), floor(fmod(whole, 3600) / 60));
    return buffer;
}

// only for somebody who watches
void kd_progress_start(kd_progress *p, bool wanted, double t_start, double t_end)
{
    *p = (kd_progress){.on = wanted && isatty(STDERR_FILENO), .t_start = t_start, .t_end = t_end};
    p->started = kd_cli_seconds();
}

void kd_progress_show(kd_progress *p, double t, long steps)
{
    // not before PATIENCE, not more often than INTERVAL
    double now = p->on ? kd_cli_seconds() : 0, elapsed = now - p->started;
    if (!p->on || elapsed < PATIENCE || now - p->shown_at < INTERVAL) return;
    p->shown_at = now;
    // seconds of motion for each second of the clock
    double done = t - p->t_start, rate = done / elapsed;
    char   left[40];
    fprintf(stderr, "\r  t = %.4g of %.4g s  %3.0f %%  %ld steps  %.3g s per s", t, p->t_end,
            100 * done / fmax(p->t_end - p->t_start, 1e-300), steps, rate);
    if (rate > 0) fprintf(stderr, "  %s left", kd_progress_duration((p->t_end - t) / rate, left, sizeof left));
    fputs("\x1b[K", stderr); // the rest of a longer line before
    fflush(stderr);
}

void kd_progress_end(kd_progress *p)
{
    if (p->on && p->shown_at > 0) fputs("\r\x1b[K", stderr);
    p->on = false;
}
