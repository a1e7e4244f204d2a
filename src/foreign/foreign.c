// unit.c: samples of foreign code in their order: the first one starts it, others go on from the one before.
#include "foreign/foreign.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kd_status kd_foreign_init(kd_foreign *u, const kd_foreign_class *class, const kd_foreign_setup *setup)
{
    u->class = class;
    u->ninputs = setup->ninputs;
    u->noutputs = setup->noutputs;
    u->u = kd_cut_double(&u->arena, u->ninputs);
    u->y = kd_cut_double(&u->arena, u->noutputs);
    u->count = -1;
    return u->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

void kd_foreign_close(kd_foreign *u)
{
    if (!u) return;
    if (u->class && u->class->destroy) u->class->destroy(u);
    kd_arena_release(&u->arena);
    kd_free(u);
}

const char *kd_foreign_message(const kd_foreign *u)
{
    return u->message;
}

kd_status kd_foreign_refuse(kd_foreign *u, kd_status status, const char *format, ...)
{
    if (status >= 0) return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(u->message, sizeof u->message, format, arguments);
    va_end(arguments);
    return status;
}

static bool is_last(const kd_foreign *u, double count, double t, const double *input)
{
    return u->count == count && u->t == t && memcmp(u->u, input, (size_t)u->ninputs * sizeof *input) == 0;
}

// Where the sample is: the start of a run, or one behind the last one
static kd_status go_there(kd_foreign *u, double count, double t, const double *input)
{
    if (count == 0) {
        u->broken = false;
        u->t = t;
        return u->class->start(u, t, input);
    }
    if (u->broken) return KD_ERR_STAGE; // with the words of before
    if (count != u->count + 1 || !(t >= u->t))
        return kd_foreign_refuse(
            u, KD_ERR_UNSUPPORTED,
            "it keeps its states to itself: it is behind sample %.0f and cannot make sample %.0f (a run "
            "cannot be continued or repeated from its middle)",
            u->count, count);
    const kd_status status = u->class->advance(u, t);
    if (status >= 0) u->t = t;
    return status;
}

// Everything that a sample needs and gives is a finite number
static kd_status check_numbers(kd_foreign *u, const char *what, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return kd_foreign_refuse(u, KD_ERR_NOT_FINITE, "its %s %d is no finite number", what, i + 1);
    return KD_OK;
}

kd_status kd_foreign_sample(kd_foreign *u, double count, double t, const double *input, double *y)
{
    const size_t inputs = (size_t)u->ninputs * sizeof *input, outputs = (size_t)u->noutputs * sizeof *y;
    if (count > 0 && !u->broken && is_last(u, count, t, input)) {
        memcpy(y, u->y, outputs);
        return KD_OK;
    }
    kd_status status = check_numbers(u, "input", input, u->ninputs);
    if (status >= 0) status = go_there(u, count, t, input);
    if (status >= 0) status = u->class->answer(u, input, u->y);
    if (status >= 0) status = check_numbers(u, "output", u->y, u->noutputs);
    u->broken = status < 0;
    if (status < 0) return status;
    u->count = count;
    memcpy(u->u, input, inputs);
    memcpy(y, u->y, outputs);
    return KD_OK;
}

void kd_foreign_change(kd_foreign *u, double period, const double *parameter)
{
    if (u && u->class->change) u->class->change(u, period, parameter);
}
