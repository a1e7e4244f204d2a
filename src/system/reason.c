// reason.c: why the equations of a model cannot be evaluated at a point: which load has no force there.
//
// Looked for only after a function has refused or answered no number, for its message.
#include <math.h>

#include "core/text.h"
#include "element/force.h"

static bool all_finite(const double *x, int n)
{
    bool finite = true;
    for (int i = 0; i < n; i++) finite = finite && isfinite(x[i]);
    return finite;
}

// What it reads are numbers: the reason is its own.
static bool has_numbers(const kd_load *load, const double *x)
{
    bool finite = true;
    for (int i = 0; i < load->nvariables; i++) finite = finite && isfinite(x[load->variable[i]]);
    return finite;
}

// Does it refuse, or is its force no number?
static bool fails(const kd_load *load, kd_work *w, double *force, double *rate, char *text, size_t size)
{
    if (!has_numbers(load, w->slot)) return false;
    const kd_eval answer = load->class->eval(load, w->slot, w, force, rate);
    if (answer == KD_EVAL_OK && all_finite(force, load->nchannels) && all_finite(rate, load->nstates)) return false;
    kd_text(text, size, "force '%s': ", load->name);
    if (answer != KD_EVAL_OK && load->class->reason)
        load->class->reason(load, w->slot, text, size);
    else
        kd_text_append(text, size, answer == KD_EVAL_OK ? "it is no number here" : "it has no value here");
    return true;
}

static bool has_no_direction(const kd_load *load, const kd_work *w)
{
    for (int k = 0; k < load->nchannels; k++) {
        const int m = load->channel[k];
        if (w->system->measure[m].kind == KD_MEASURE_LENGTH && w->value[m] == 0.0) return true;
    }
    return false;
}

void kd_work_reason(const kd_point *x, void *context, char *text, size_t size)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_work_velocity(w, x, KD_FOR_LOADS);
    for (int i = 0; i < s->nloads; i++)
        if (!s->load[i].state_def &&
            fails(&s->load[i], w, w->force + w->force_at[i], w->b + s->load[i].state, text, size))
            return;
    for (int i = 0; i < s->nloads; i++)
        if (has_no_direction(&s->load[i], w)) {
            kd_text(text, size, "force '%s': its two points coincide, so that it has no direction", s->load[i].name);
            return;
        }
}

void kd_work_caution(const kd_point *x, void *context, char *text, size_t size)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    char             words[160] = "";
    kd_work_velocity(w, x, KD_FOR_LOADS);
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *load = &s->load[i];
        if (!load->class->caution || !load->class->caution(load, w->slot, words, sizeof words)) continue;
        kd_text(text, size, "force '%s': %s", load->name, words);
        return;
    }
}
