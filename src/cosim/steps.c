// steps.c: the systems over one macro step: courses of the inputs, Jacobi and Gauss-Seidel, going back.
//
// An input is a polynomial of degree k through its last k + 1 values (extrapolation), or through its last k values and one at the
// end of the step (interpolation; degree 0: the value of the end all the time).
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "cosim/cosim.h"

static const double NOISES =
    10; // differences that are no more times what tolerances of the source explain tell nothing

kd_status kd_cosim_fail(kd_cosim *c, int system, kd_status status)
{
    const kd_cosim_system *s = c->system[system];
    kd_text(c->why, sizeof c->why, "system '%s' at t = %.9g s: %s", s->name, s->t,
            s->message[0] ? s->message : kd_status_sentence(status));
    return status;
}

// ---- going back -----------------------------------------------------------------------------------------------------

bool kd_cosim_all_restore(const kd_cosim *c)
{
    for (int s = 0; s < c->nsystems; s++)
        if (!kd_cosim_restores(c->system[s])) return false;
    return true;
}

static void save_one(kd_cosim *c, int s, double t)
{
    (void)t;
    c->status[s] = c->system[s]->class->save(c->system[s], c->present_slot);
}

static void restore_one(kd_cosim *c, int s, double t)
{
    kd_cosim_system *system = c->system[s];
    c->status[s] = system->class->restore(system, c->present_slot);
    if (system->algebraic) system->t = t;
    c->y_known[s] = c->next_known[s] = false;
}

kd_status kd_cosim_save_all(kd_cosim *c, int slot)
{
    c->present_slot = slot;
    kd_cosim_each(c, save_one, c->T);
    return kd_cosim_look(c);
}

kd_status kd_cosim_restore_all(kd_cosim *c, int slot)
{
    c->present_slot = slot;
    kd_cosim_each(c, restore_one, c->T);
    return kd_cosim_look(c);
}

// ---- courses of inputs ----------------------------------------------------------------------------------------------

// Newton's polynomial through n + 1 points (t, w), by powers of (time - t[0])
static kd_signal through(int n, const double *t, const double *w)
{
    kd_signal s = {t[0], {w[0], 0, 0}};
    if (n < 1) return s;
    const double first = (w[1] - w[0]) / (t[1] - t[0]);
    s.c[1] = first;
    if (n < 2) return s;
    const double second = ((w[2] - w[1]) / (t[2] - t[1]) - first) / (t[2] - t[0]);
    s.c[1] += second * (t[0] - t[1]);
    s.c[2] = second;
    return s;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

void kd_cosim_extrapolate(kd_cosim *c, int k)
{
    const int n = least(c->opt.degree, c->connection[k].past - 1);
    double    w[KD_COSIM_PAST] = {0};
    for (int i = 0; i <= n; i++) w[i] = c->w_past[i][k];
    c->course[k] = through(n, c->t_past, w);
}

void kd_cosim_interpolate(kd_cosim *c, int k, double H, double w_end)
{
    const int    n = least(c->opt.degree, c->connection[k].past);
    const double t[3] = {c->T, c->T + H, c->t_past[1]};
    const double w[3] = {c->w_past[0][k], w_end, c->w_past[1][k]};
    c->course[k] = n == 0 ? (kd_signal){c->T, {w_end, 0, 0}} : through(n, t, w);
}

kd_signal kd_cosim_smooth(const kd_cosim *c, int k, double t_end)
{
    const double t[3] = {c->T, t_end, c->t_past[1]}, w[3] = {c->w_past[0][k], c->w[k], c->w_past[1][k]};
    return through(least(2, c->connection[k].past), t, w);
}

void kd_cosim_set_courses(kd_cosim *c, int s)
{
    for (int k = 0; k < c->nconnections; k++)
        if (c->connection[k].to == s) c->signal[s][c->connection[k].input] = c->course[k];
    c->system[s]->class->set_inputs(c->system[s], c->signal[s]);
}

void kd_cosim_note_size(kd_cosim *c, int k, double value)
{
    kd_connection *l = &c->connection[k], *leader = &c->connection[l->leader];
    if (!isfinite(value)) return;
    l->largest = fmax(l->largest, fabs(value));
    leader->shared = fmax(leader->shared, l->largest);
}

double kd_cosim_scale(const kd_cosim *c, int k)
{
    const kd_connection *l = &c->connection[k];
    return fmax(c->connection[l->leader].shared, (c->opt.atol + NOISES * l->noise) / c->opt.rtol);
}

// ---- values at an end -----------------------------------------------------------------------------------------------

void kd_cosim_take_inputs(kd_cosim *c, int s)
{
    for (int k = 0; k < c->nconnections; k++)
        if (c->connection[k].to == s) c->u[s][c->connection[k].input] = c->w[k];
}

bool kd_cosim_is_read(const kd_cosim *c, int s)
{
    return c->y_known[s] && memcmp(c->u[s], c->u_seen[s], (size_t)c->system[s]->ninputs * sizeof(double)) == 0;
}

kd_status kd_cosim_read_one(kd_cosim *c, int s)
{
    kd_cosim_system *system = c->system[s];
    if (kd_cosim_is_read(c, s)) return KD_OK;
    const kd_status status = system->class->outputs(system, c->u[s], c->y[s]);
    if (status < 0) return status;
    memcpy(c->u_seen[s], c->u[s], (size_t)system->ninputs * sizeof(double));
    c->y_known[s] = true;
    return KD_OK;
}

kd_status kd_cosim_read_outputs(kd_cosim *c, int s)
{
    const kd_status status = kd_cosim_read_one(c, s);
    return status < 0 ? kd_cosim_fail(c, s, status) : KD_OK;
}

void kd_cosim_read_task(kd_cosim *c, int s, double t)
{
    (void)t;
    kd_cosim_take_inputs(c, s);
    c->status[s] = kd_cosim_read_one(c, s);
}

double kd_cosim_next_event(kd_cosim *c, int s)
{
    kd_cosim_system *system = c->system[s];
    if (!c->next_known[s]) c->next[s] = system->class->next_event ? system->class->next_event(system) : INFINITY;
    c->next_known[s] = true;
    return c->next[s];
}

bool kd_cosim_take_outputs(kd_cosim *c, int s)
{
    bool changed = false;
    for (int k = 0; k < c->nconnections; k++) {
        const kd_connection *l = &c->connection[k];
        if (l->from != s) continue;
        const double value = l->factor * c->y[s][l->output];
        changed = changed || value != c->w[k];
        c->w[k] = value;
    }
    return changed;
}

// ---- steps ----------------------------------------------------------------------------------------------------------

kd_status kd_cosim_step_one(kd_cosim *c, int s, double t_end)
{
    kd_cosim_system *system = c->system[s];
    c->event[s] = INFINITY;
    c->y_known[s] = c->next_known[s] = false;
    return c->status[s] = system->class->step(system, t_end, &c->event[s]);
}

// The first that failed, or asks to end the run, is told
kd_status kd_cosim_look(kd_cosim *c)
{
    kd_status answer = KD_OK;
    for (int s = 0; s < c->nsystems; s++) {
        if (c->status[s] < 0) return kd_cosim_fail(c, s, c->status[s]);
        if (c->status[s] == KD_STOPPED && answer == KD_OK) answer = kd_cosim_fail(c, s, KD_STOPPED);
    }
    return answer;
}

// A step and all that follows from this system alone: when it wants to be sampled, and outputs that the communication point begins
// with, which are read with inputs that are known already
static void step_task(kd_cosim *c, int s, double t_end)
{
    const bool first = c->heard[s] && (c->opt.held || c->wave[s] == 0);
    kd_cosim_set_courses(c, s);
    if (kd_cosim_step_one(c, s, t_end) != KD_OK) return;
    (void)kd_cosim_next_event(c, s);
    if (first && c->opt.master == KD_COSIM_JACOBI) kd_cosim_read_task(c, s, t_end);
}

static kd_status all_at_once(kd_cosim *c, double t_end)
{
    kd_cosim_each(c, step_task, t_end);
    return kd_cosim_look(c);
}

// Each with the values at the end that those before it have told
static kd_status one_by_one(kd_cosim *c, double t_end)
{
    bool done[KD_COSIM_MOST_SYSTEMS] = {false};
    for (int i = 0; i < c->nsystems; i++) {
        const int s = c->order[i];
        for (int k = 0; k < c->nconnections; k++)
            if (c->connection[k].to == s && done[c->connection[k].from])
                kd_cosim_interpolate(c, k, t_end - c->T, c->w[k]);
        kd_cosim_set_courses(c, s);
        if (kd_cosim_step_one(c, s, t_end) < 0) return kd_cosim_fail(c, s, c->status[s]);
        kd_cosim_take_inputs(c, s);
        const kd_status status = kd_cosim_read_outputs(c, s);
        if (status < 0) return status;
        (void)kd_cosim_take_outputs(c, s);
        done[s] = true;
    }
    return kd_cosim_look(c);
}

kd_status kd_cosim_step_systems(kd_cosim *c, double t_end, const double *w_end)
{
    for (int k = 0; k < c->nconnections; k++) {
        if (w_end)
            kd_cosim_interpolate(c, k, t_end - c->T, w_end[k]);
        else
            kd_cosim_extrapolate(c, k);
        c->w[k] = kd_signal_at(&c->course[k], t_end);
    }
    return c->opt.master == KD_COSIM_GAUSS_SEIDEL ? one_by_one(c, t_end) : all_at_once(c, t_end);
}
