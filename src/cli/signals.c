// signals.c: Ctrl-C and SIGTERM are noted, so that a run can end at its next step with the results so far.
//
// timeout(1) and terminals send a signal to the process and to its group: what comes within a second is one wish. A
// later one ends the program at once. A write beyond the limit of file sizes is an error like a full disk, not the end.
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <time.h>

#include "cli/cli.h"

static const double SAME_WISH = 1; // [s]

// the things that a signal handler sets
static volatile sig_atomic_t interrupted;
static struct timespec       first; // when; valid if interrupted

static void note(int signal_number)
{
    // clock_gettime may be called in a handler
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (!interrupted) {
        first = now;
        interrupted = 1;
        return;
    }
    // twice by one wish, or a second wish
    const double since = (double)(now.tv_sec - first.tv_sec) + 1e-9 * (double)(now.tv_nsec - first.tv_nsec);
    if (since < SAME_WISH) return;
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

void kd_cli_watch_signals(void)
{
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT); // one at a time
    sigaddset(&action.sa_mask, SIGTERM);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

// else the program ends without a word
void kd_cli_survive_limits(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

bool kd_cli_is_interrupted(void)
{
    return interrupted != 0;
}
