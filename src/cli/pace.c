// pace.c: absolute times on the monotonic clock: a late step does not shift those that follow.
#define _POSIX_C_SOURCE 200809L
#include "cli/pace.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cli/cli.h"
#include "core/text.h"

// step n is due at start + n h: rounding does not add up
void kd_pace_start(kd_pace *p, bool on, double h)
{
    *p = (kd_pace){.on = on, .h = h, .start = kd_cli_seconds()};
}

double kd_pace_time(const kd_pace *p, long n)
{
    return p->start + (double)n * p->h;
}

void kd_pace_wait(const kd_pace *p, long n)
{
    // absolute time: a late wake-up does not shift the next one
    double          time = kd_pace_time(p, n), whole = floor(time);
    struct timespec until = {.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (time - whole))};
    if (!p->on) return;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR && !kd_cli_is_interrupted()) {
    }
}

// before other programs, with no page that could be missing
kd_status kd_pace_priority(int priority, char *message, size_t size)
{
    struct sched_param wanted = {.sched_priority = priority};
    if (sched_setscheduler(0, SCHED_FIFO, &wanted) != 0) {
        kd_text(message, size,
                "real-time priority %d is not permitted: %s (allow it as root, or by 'rtprio' in "
                "/etc/security/limits.conf)",
                priority, strerror(errno));
        return KD_ERR_UNAVAILABLE;
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0) return KD_OK;
    kd_text(message, size,
            "memory cannot be held in place: %s (allow it as root, or by 'memlock' in /etc/security/limits.conf)",
            strerror(errno));
    return KD_ERR_UNAVAILABLE;
}

// results are written behind it: as any other program
void kd_pace_relax(void)
{
    const struct sched_param none = {.sched_priority = 0};
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
    (void)munlockall();
}
