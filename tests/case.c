// case.c: part of every test program: the environment variable CASE chooses test functions by name, with * and ?.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_cases(void)
{
    const char *pattern = getenv("CASE");
    if (pattern && pattern[0]) cmocka_set_test_filter(pattern);
}
