// Every test program ends: also one that waits for ever, and one whose heap is broken while it has threads, where the handler of
// cmocka waits for a lock that malloc holds.
#define _XOPEN_SOURCE 700 // popen, pause
#pragma GCC diagnostic ignored "-Wuse-after-free"
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "project/command.h"

static void *wait_for_ever(void *unused)
{
    for (;;) pause();
    return unused;
}

// Nothing, unless TEST_TRAP says so
static void falls_into_a_trap(void **state)
{
    const char *trap = getenv("TEST_TRAP");
    (void)state;
    if (!trap) return;
    if (strcmp(trap, "waits") == 0) (void)wait_for_ever(NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, NULL), 0);
    // a large block that was given back is written to: malloc follows what it finds there, with its lock taken
    void *volatile block = malloc(3000);
    void *volatile fence = malloc(16);
    free(block);
    for (int i = 0; i < 16; i++) ((volatile char *)block)[i] = 0x41;
    void *volatile next = malloc(5000);
    free(next);
    free(fence);
    fail();
}

// By its time limit at the latest, and never with success
static void every_program_ends(void **state)
{
    static const char *const traps[] = {"waits", "heap"};
    char                     self[1000] = "", command[1200];
    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "TEST_TRAP=%s TEST_TIMEOUT=2 CASE=falls_into_a_trap timeout -s KILL 60 '%s'",
                 traps[i], self);
        const command_result run = run_command(command);
        if (run.status == 0 || run.status == 128 + SIGKILL)
            fail_msg("%s: status %d\n%s", traps[i], run.status, run.text);
        if (i == 0) assert_int_equal(run.status, 128 + SIGALRM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(falls_into_a_trap),
        cmocka_unit_test(every_program_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
