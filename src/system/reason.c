// reason.c: why the equations of a model cannot be evaluated at a point: which load has no force there.
//
// Curves that are read outside of their rows are worth a word, or are the reason.
//
// Looked for only after a function has refused or answered no number, for its message.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/force.h"
#include "expr/table.h"
#include "foreign/continuous.h"

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
    // the first that has numbers to work with and no answer is the culprit
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

// a length of 0: the direction of its force is not defined
static bool has_no_direction(const kd_load *load, const kd_work *w)
{
    for (int k = 0; k < load->nchannels; k++) {
        const int m = load->channel[k];
        if (w->system->measure[m].kind == KD_MEASURE_LENGTH && w->value[m] == 0.0) return true;
    }
    return false;
}

// ---- curves ---------------------------------------------------------------------------------------------------------

static const char *name_of(const kd_model *m, const kd_curve *curve)
{
    for (int i = 0; i < m->ncurves; i++)
        if (m->curve[i].curve == curve) return m->curve[i].name;
    return "?";
}

// "curve 'road' is read at x = 12, but its rows end at 10"
static void say_outside(const kd_model *m, const kd_curve *curve, const double at[2], char *text, size_t size)
{
    const kd_table *table = kd_curve_table(curve);
    double          x[2], y[2] = {0.0, 0.0};
    kd_text(text, size, "curve '%s' is read at x = %.6g", name_of(m, curve), at[0]);
    if (table) {
        kd_table_ends(table, x, y);
        kd_text_append(text, size, ", y = %.6g, but its grid goes from %.6g to %.6g and from %.6g to %.6g", at[1], x[0],
                       x[1], y[0], y[1]);
    } else {
        kd_curve_ends(curve, &x[0], &x[1]);
        // just behind an end: with all digits
        if (fmin(fabs(at[0] - x[0]), fabs(at[0] - x[1])) < 1e-5 * (x[1] - x[0]))
            kd_text(text, size, "curve '%s' is read at x = %.17g", name_of(m, curve), at[0]);
        kd_text_append(text, size, ", but its rows go from %.6g to %.6g", x[0], x[1]);
    }
}

// The first joint by tables that has left its rows
static bool find_joint_outside(const kd_work *w, bool only_errors, char *text, size_t size)
{
    const kd_system *s = w->system;
    for (int j = 0; j < s->model->njoints; j++) {
        const int dof = kd_joint_form_of(s->model->joint[j].def.kind).curved ? kd_edge_dof(s, j, 0) : -1;
        if (dof < 0) continue;
        const double    q = w->x[s->tree.link[s->edge[j].link].position], at[2] = {q, 0.0};
        const kd_curve *curve = kd_joint_table_outside(&s->edge[j].table, q);
        if (!curve || (only_errors && kd_curve_rule(curve) != KD_OUTSIDE_ERROR)) continue;
        kd_text(text, size, "joint '%s': ", s->model->joint[j].name);
        say_outside(s->model, curve, at, text + strlen(text), size - strlen(text));
        return true;
    }
    return false;
}

// The first curve that is read outside of its rows, with its rule; false: none. only_errors: that has no value there
static bool find_outside(kd_work *w, const kd_point *x, bool only_errors, char *text, size_t size)
{
    const kd_system *s = w->system;
    double           at[2];
    if (find_joint_outside(w, only_errors, text, size)) return true;
    for (int i = 0; i < s->model->ninputs + s->nmotion; i++) {
        const bool      input = i < s->model->ninputs;
        const kd_expr  *e = input ? s->input[i] : s->expr[i - s->model->ninputs];
        const kd_curve *curve =
            e && kd_expr_has_curves(e) ? kd_expr_outside(e, input ? &x->t : w->slot, w->expr_work, at) : NULL;
        if (!curve || (only_errors && kd_curve_rule(curve) != KD_OUTSIDE_ERROR)) continue;
        say_outside(s->model, curve, at, text, size);
        return true;
    }
    return false;
}

void kd_work_notice(const kd_point *x, void *context, char *text, size_t size)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    char             words[160] = "";
    kd_work_velocity(w, x, KD_FOR_LOADS);
    if (find_outside(w, x, false, text, size)) return;
    // the first load that has something to say
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *load = &s->load[i];
        if (!load->class->notice || !load->class->notice(load, w->slot, w, words, sizeof words)) continue;
        kd_text(text, size, "%s '%s': %s", load->unit ? "block" : "force", load->name, words);
        return;
    }
}

// ---- reasons --------------------------------------------------------------------------------------------------------

void kd_work_reason(const kd_point *x, void *context, char *text, size_t size)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    // foreign code that has failed
    for (int i = 0; i < s->model->nblocks; i++) {
        const kd_foreign *unit = s->block[i].unit;
        if (!unit || !unit->broken) continue;
        kd_text(text, size, "block '%s': %s", s->model->block[i].name, kd_foreign_message(unit));
        return;
    }
    // continuous code of others
    for (int i = 0; i < s->model->nblocks; i++) {
        const kd_continuous *unit = s->block[i].continuous;
        if (!unit || !unit->is_broken) continue;
        kd_text(text, size, "block '%s': %s", s->model->block[i].name, unit->message);
        return;
    }
    // curves that were left
    kd_work_velocity(w, x, KD_FOR_LOADS);
    if (find_outside(w, x, true, text, size)) {
        kd_text_append(text, size, ", and it says 'outside: error'");
        return;
    }
    // surfaces that have leapt, or lost each other
    if (w->leapt > 0) {
        kd_text(text, size,
                "contact '%s': its place leaps to another one: on the way the surfaces osculate or touch along a line, "
                "which is an impact that a kept contact does not describe",
                s->touch[w->leapt - 1].name);
        return;
    }
    for (int i = 0; i < s->ntouches; i++)
        if (!w->touch[i].found) {
            kd_text(text, size, "contact '%s': %s", s->touch[i].name, kd_touch_reason(&w->touch[i]));
            return;
        }
    // a force without value; then one without direction
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
    // the first that warns
    for (int i = 0; i < s->nloads; i++) {
        const kd_load *load = &s->load[i];
        if (!load->class->caution || !load->class->caution(load, w->slot, words, sizeof words)) continue;
        kd_text(text, size, "force '%s': %s", load->name, words);
        return;
    }
    if (s->tree.nwide > 0) (void)kd_flexible_caution(w, x, text, size);
}
