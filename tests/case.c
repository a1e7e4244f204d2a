// case.c: part of every test program: the environment variable CASE chooses test functions by name, with * and ?, and SEED
// other random numbers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "case.h"

__attribute__((constructor)) static void choose_cases(void)
{
    const char *pattern = getenv("CASE");
    if (pattern && pattern[0]) cmocka_set_test_filter(pattern);
}

uint32_t test_seed(uint32_t own)
{
    const char *other = getenv("SEED");
    return own + 1000003u * (other ? (uint32_t)strtoul(other, NULL, 10) : 0u);
}
