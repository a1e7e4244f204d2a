// trust_case.c: what all random models share: text of the file, judged times, condition of the motion.
#include "trust.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DELTA 1e-7 // part by which the start is moved to find the condition

void trust_write(trust_case *c, const char *format, ...)
{
    size_t  used = strlen(c->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->text + used, sizeof c->text - used, format, arguments);
    va_end(arguments);
}

static double distance(const double *a, const double *b)
{
    return hypot(a[0] - b[0], hypot(a[1] - b[1], a[2] - b[2]));
}

// How much an error of the start grows is no fault of a run: errors are compared with what such an error becomes.
void trust_case_solve(trust_case *c, double t_end, trust_motion motion, const void *numbers)
{
    double moved[TRUST_TIMES][3];
    for (int i = 0; i < TRUST_TIMES; i++) c->times[i] = t_end * (i + 1) / TRUST_TIMES;
    motion(numbers, 0, c->times, c->r);
    motion(numbers, DELTA, c->times, moved);
    for (int i = 0; i < TRUST_TIMES; i++) c->condition[i] = fmax(1, distance(moved[i], c->r[i]) / (DELTA * c->length));
    trust_write(c, "run: {t_end: %.17g}\n", t_end);
}
