// signals.c: Ctrl-C and SIGTERM are noted, so that a run can end at its next step with the results so far.
#define _POSIX_C_SOURCE 200809L
#include <signal.h>

#include "cli/cli.h"

static volatile sig_atomic_t interrupted; // the one thing that a signal handler may set

static void note(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void kd_cli_watch_signals(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND}; // the second one is not ours
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool kd_cli_is_interrupted(void)
{
    return interrupted != 0;
}
