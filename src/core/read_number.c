// read_number.c: strtod in the C locale: a program that speaks German must read what one that speaks English has
// written.
#define _POSIX_C_SOURCE 200809L
#include "core/read_number.h"

#include <locale.h>
#include <stdlib.h>
#include <threads.h>

static locale_t plain;

static void make_plain(void)
{
    plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

double kd_read_number(const char *text, char **end)
{
    static once_flag made = ONCE_FLAG_INIT;
    call_once(&made, make_plain);
    // of this thread alone, and put back
    const locale_t before = plain ? uselocale(plain) : (locale_t)0;
    const double   value = strtod(text, end);
    if (plain) (void)uselocale(before);
    return value;
}
