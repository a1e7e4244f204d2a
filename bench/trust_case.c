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

double trust_fork = 0;

// What an error of the start becomes, moved by a part of it
static void grow(trust_case *c, trust_motion motion, const void *numbers, double part)
{
    double moved[TRUST_TIMES][3];
    motion(numbers, part, c->times, moved);
    for (int i = 0; i < TRUST_TIMES; i++)
        c->condition[i] = fmax(c->condition[i], distance(moved[i], c->r[i]) / (fabs(part) * c->length));
}

// How much an error of the start grows is no fault of a run: errors are compared with what such an error becomes. Where two
// ways part (a tooth that the motion just passes, or does not) the tangent does not tell: errors up to trust_fork are tried.
void trust_case_solve(trust_case *c, double t_end, trust_motion motion, const void *numbers)
{
    for (int i = 0; i < TRUST_TIMES; i++) {
        c->times[i] = t_end * (i + 1) / TRUST_TIMES;
        c->condition[i] = 1;
    }
    motion(numbers, 0, c->times, c->r);
    grow(c, motion, numbers, DELTA);
    for (double part = trust_fork; part > 0.09 * trust_fork; part *= 0.5) {
        grow(c, motion, numbers, part);
        grow(c, motion, numbers, -part);
    }
    trust_write(c, "run: {t_end: %.17g}\n", t_end);
}
