// glue.c: see glue.h. Functions kdpy_input, kdpy_tick, .. are written in Python (extern "Python" in build_kardan.py).
#define _POSIX_C_SOURCE 200809L
#include "glue.h"

#include <string.h>
#include <time.h>

// written in Python
int kdpy_input(void *handle, int i, double t, double *u);
int kdpy_tick(void *handle, double t);
int kdpy_function(void *handle, int slot, const kd_point *x, double *out);
int kdpy_energies(void *handle, const kd_point *x, kd_energies *out);
int kdpy_derivative(void *handle, const kd_point *x, int fn, int var, double *out);

// ---- inputs ---------------------------------------------------------------------------------------------------------

// The last row at or before t, by bisection; 0 <= t - t[i], i <= n - 2
static int row_before(const kdpy_signal *s, double t)
{
    int low = 0, high = s->n - 1;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (s->t[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void eval_table(const kdpy_signal *s, double t, double *u)
{
    u[1] = u[2] = 0;
    // outside of the rows the value at the end
    if (s->n == 1 || t < s->t[0] || t > s->t[s->n - 1]) {
        u[0] = s->n == 1 || t < s->t[0] ? s->y[0] : s->y[s->n - 1];
        return;
    }
    const int    i = row_before(s, t);
    const double h = s->t[i + 1] - s->t[i], b = (t - s->t[i]) / h, a = 1 - b;
    u[0] = a * s->y[i] + b * s->y[i + 1];
    u[1] = (s->y[i + 1] - s->y[i]) / h;
    if (s->kind == KDPY_LINEAR) return;
    // cubic by its second derivatives at both ends
    u[0] += ((a * a * a - a) * s->bend[i] + (b * b * b - b) * s->bend[i + 1]) * h * h / 6;
    u[1] += ((3 * b * b - 1) * s->bend[i + 1] - (3 * a * a - 1) * s->bend[i]) * h / 6;
    u[2] = a * s->bend[i] + b * s->bend[i + 1];
}

kd_eval kdpy_inputs_eval(double t, void *context, double *u, double *du, double *ddu)
{
    kdpy_inputs *self = context;
    // those of the model first; others replace them
    for (int i = 0; i < self->nu; i++) u[i] = du[i] = ddu[i] = 0;
    if (self->model && self->model->eval) {
        const kd_eval answer = self->model->eval(t, self->model->context, u, du, ddu);
        if (answer != KD_EVAL_OK) return answer;
    }
    for (int i = 0; i < self->nu; i++) {
        const kdpy_signal *s = &self->signal[i];
        double             value[3] = {s->value, 0, 0};
        if (s->kind == KDPY_OF_MODEL) continue;
        if (s->kind == KDPY_LINEAR || s->kind == KDPY_SPLINE) eval_table(s, t, value);
        if (s->kind == KDPY_CALL && kdpy_input(self->handle, i, t, value) != 0) return KD_EVAL_STOP;
        u[i] = value[0], du[i] = value[1], ddu[i] = value[2];
    }
    return KD_EVAL_OK;
}

// h_i-1 m_i-1 + 2 (h_i-1 + h_i) m_i + h_i m_i+1 = 6 (slope_i - slope_i-1), inside; at the ends the third derivative does not
// jump over the first and the last inner row: m_0 and m_n-1 follow from their two neighbours
void kdpy_spline(int n, const double *t, const double *y, double *bend, double *work)
{
    memset(bend, 0, (size_t)n * sizeof *bend);
    if (n < 3) return;
    const bool   knots = n > 3;
    const double r0 = knots ? (t[1] - t[0]) / (t[2] - t[1]) : 0,
                 r1 = knots ? (t[n - 1] - t[n - 2]) / (t[n - 2] - t[n - 3]) : 0;
    // forward: work holds the upper diagonal over the pivot
    for (int i = 1; i < n - 1; i++) {
        const double h0 = t[i] - t[i - 1], h1 = t[i + 1] - t[i];
        double       lower = i > 1 ? h0 : 0, middle = 2 * (h0 + h1), upper = i < n - 2 ? h1 : 0;
        // m_0 = (1 + r0) m_1 - r0 m_2, m_n-1 = (1 + r1) m_n-2 - r1 m_n-3
        if (knots && i == 1) middle += h0 * (1 + r0), upper -= h0 * r0;
        if (knots && i == n - 2) middle += h1 * (1 + r1), lower -= h1 * r1;
        const double right = 6 * ((y[i + 1] - y[i]) / h1 - (y[i] - y[i - 1]) / h0);
        const double pivot = middle - (i > 1 ? lower * work[i - 1] : 0);
        work[i] = upper / pivot;
        bend[i] = (right - (i > 1 ? lower * bend[i - 1] : 0)) / pivot;
    }
    for (int i = n - 3; i >= 1; i--) bend[i] -= work[i] * bend[i + 1];
    if (!knots) return;
    bend[0] = (1 + r0) * bend[1] - r0 * bend[2];
    bend[n - 1] = (1 + r1) * bend[n - 2] - r1 * bend[n - 3];
}

// ---- looks ----------------------------------------------------------------------------------------------------------

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Is it time to ask Python, and does it want to go on?
static bool goes_on(kdpy_watch *w, double t)
{
    const double now = seconds();
    if (w->next == 0) w->next = now + w->every;
    if (now < w->next) return true;
    const bool goes = kdpy_tick(w->handle, t) == 0;
    w->next = seconds() + w->every;
    return goes;
}

kd_eval kdpy_look(const kd_state *x, bool at_time, void *watch)
{
    (void)at_time;
    return goes_on(watch, x->t) ? KD_EVAL_OK : KD_EVAL_STOP;
}

bool kdpy_go_on(const kd_compare_progress *progress, void *watch)
{
    return goes_on(watch, progress->t);
}

// ---- equations ------------------------------------------------------------------------------------------------------

static kd_eval to_eval(int answer)
{
    return answer == 0 ? KD_EVAL_OK : answer > 0 ? KD_EVAL_RETRY : KD_EVAL_STOP;
}

// one C function for each slot: kd_function knows its context only
// clang-format off
#define KDPY_LIST(X) \
    X(KDPY_Z, Z) X(KDPY_Q, q) X(KDPY_RESIDUAL, residual) X(KDPY_M, M) X(KDPY_F, f) X(KDPY_B, b) X(KDPY_D, d) X(KDPY_C, c) \
    X(KDPY_G, g) X(KDPY_GI, gI) X(KDPY_GII, gII) X(KDPY_H, h) X(KDPY_HI, hI) X(KDPY_E, e) X(KDPY_Y, y)
// clang-format on

#define KDPY_CALLER(slot, name)                                                                                        \
    static kd_eval call_##name(const kd_point *x, void *context, double *out)                                          \
    {                                                                                                                  \
        return to_eval(kdpy_function(context, slot, x, out));                                                          \
    }
KDPY_LIST(KDPY_CALLER)

static kd_eval call_energies(const kd_point *x, void *context, kd_energies *out)
{
    return to_eval(kdpy_energies(context, x, out));
}

static kd_eval call_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    (void)part;
    return to_eval(kdpy_derivative(context, x, (int)fn, (int)var, out));
}

void kdpy_define(kd_eom_def *def, unsigned slots, bool energies, bool derivative, void *handle)
{
    def->context = handle;
#define KDPY_SET(slot, name)                                                                                           \
    if (slots & (1u << slot)) def->name = call_##name;
    KDPY_LIST(KDPY_SET)
    if (energies) def->energies = call_energies;
    if (derivative) def->derivative = call_derivative;
}
