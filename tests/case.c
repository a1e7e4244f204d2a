// case.c: part of every test program: the environment variable CASE chooses test functions by name, with * and ?, and SEED
// other random numbers; TEST_TIMEOUT ends it.
#define _POSIX_C_SOURCE 200809L // alarm
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "case.h"

__attribute__((constructor)) static void choose_cases(void)
{
    const char *pattern = getenv("CASE");
    if (pattern && pattern[0]) cmocka_set_test_filter(pattern);
}

// Every program ends. A crash inside of malloc is no exception: the handler of cmocka prints, printing allocates, and where there
// are threads it waits for the lock that malloc holds. The alarm needs neither.
__attribute__((constructor)) static void end_some_time(void)
{
    const char *limit = getenv("TEST_TIMEOUT");
    const long  seconds = limit ? strtol(limit, NULL, 10) : 0;
    (void)alarm(seconds > 0 ? (unsigned)seconds : 900);
}

uint32_t test_seed(uint32_t own)
{
    const char *other = getenv("SEED");
    return own + 1000003u * (other ? (uint32_t)strtoul(other, NULL, 10) : 0u);
}

int test_often(int full, int brief)
{
    return getenv("KARDAN_FULL") ? full : brief;
}
