// plant_run.c: steps of co-simulation, states and instants of model exchange, derivatives along directions.
#include <float.h>
#include <math.h>
#include <string.h>

#include <kardan/results.h>

#include "fmi/plant_impl.h"

#define SAME 16 // [ulp] times that are so close are one
#define SHORTER 0.1
#define CURVED 1e-5
enum { MOST_SHORTER = 5 };
#define MOVE 1e-3 // part of the size of a number, for differences of fourth order: error and rounding are about 1e-12

// ---- co-simulation --------------------------------------------------------------------------------------------------

// What was set since the last step: inputs jump, parameters ask for consistent values again
static kd_status take_changes(kd_plant *p)
{
    const bool restart = p->new_theta;
    kd_status  status = kd_plant_apply(p);
    if (status < 0) return status;
    if (restart)
        status = kd_simulation_restart(p->simulation);
    else if (p->new_inputs)
        status = kd_simulation_resume(p->simulation);
    p->new_inputs = false;
    return kd_plant_refuse(p, status, "%s", kd_simulation_message(p->simulation));
}

kd_status kd_plant_step(kd_plant *p, double t, double h, bool to_event, kd_plant_outcome *out)
{
    *out = (kd_plant_outcome){.t = p->x->t};
    kd_status status = p->started ? KD_OK : kd_plant_start(p);
    if (status < 0) return status;
    // the step begins where the model is, but for rounding of the importer
    const double slack = SAME * DBL_EPSILON * fmax(fabs(t), fabs(p->x->t));
    if (!(h >= 0) || !isfinite(t + h)) return kd_plant_refuse(p, KD_ERR_TIME, "a step of length %g makes no sense", h);
    if (fabs(t - p->x->t) > slack)
        return kd_plant_refuse(p, KD_ERR_TIME, "the step begins at t = %.17g, but the model is at t = %.17g", t,
                               p->x->t);
    // changed inputs and parameters first
    status = take_changes(p);
    p->probed = p->event = p->asked = false;
    p->to_event = to_event;
    p->from = p->x->t;
    // nothing to do where it is there already
    if (status >= 0 && t + h > p->x->t) {
        status = kd_simulation_run(p->simulation, t + h);
        if (status < 0) (void)kd_plant_refuse(p, status, "%s", kd_simulation_message(p->simulation));
    }
    out->t = p->x->t;
    // stopped by the listener: an event; by the model: the end
    out->event = status == KD_STOPPED && p->event && to_event;
    out->asked = status == KD_STOPPED && p->asked && !out->event;
    out->stopped = status == KD_STOPPED && !out->event && !out->asked;
    if (out->stopped) (void)kd_plant_refuse(p, KD_ERR_CALLBACK_STOP, "%s", kd_simulation_message(p->simulation));
    return status < 0 ? status : KD_OK;
}

// ---- model exchange -------------------------------------------------------------------------------------------------

int kd_plant_states(const kd_plant *p)
{
    return p->dims.np + p->dims.nv + p->dims.nr;
}

int kd_plant_indicators(const kd_plant *p)
{
    kd_simulation_options options;
    char                  message[400];
    int                   count = 0;
    if (p->exchange) return kd_exchange_indicators(p->exchange);
    if (p->variable && p->first[KD_PLANT_LOCAL + 1] > 0) return p->first[KD_PLANT_LOCAL] - p->first[KD_PLANT_INDICATOR];
    const kd_inputs inputs = kd_plant_inputs((kd_plant *)p);
    if (kd_system_run_options(p->system, &options, message, sizeof message) < 0) return 0;
    options = kd_method_named(&options);
    if (kd_exchange_foresee(kd_system_eom(p->system), &inputs, &options, p->x, &count) < 0) return 0;
    return count;
}

static kd_status told(kd_plant *p, kd_status status)
{
    if (status >= 0) return KD_OK;
    return p->exchange ? kd_plant_refuse(p, status, "%s", kd_exchange_message(p->exchange)) : status;
}

static kd_status begin(kd_plant *p)
{
    const kd_status status = p->started ? KD_OK : kd_plant_start(p);
    if (status >= 0 && !p->exchange)
        return kd_plant_refuse(p, KD_ERR_UNSUPPORTED, "this is an instance for co-simulation, not for model exchange");
    return status;
}

void kd_plant_set_time(kd_plant *p, double t)
{
    if (begin(p) < 0) return;
    kd_exchange_set_time(p->exchange, t);
    p->probed = false;
}

kd_status kd_plant_set_states(kd_plant *p, const double *y)
{
    const kd_status status = begin(p);
    if (status < 0) return status;
    for (int i = 0; i < kd_plant_states(p); i++)
        if (!isfinite(y[i]))
            return kd_plant_refuse(p, KD_ERR_NOT_FINITE, "state %s: %g is not a finite number",
                                   p->variable[p->first[KD_PLANT_STATE] + i].name, y[i]);
    kd_exchange_set_states(p->exchange, y);
    p->probed = false;
    return KD_OK;
}

kd_status kd_plant_get_states(kd_plant *p, double *y)
{
    const kd_status status = begin(p);
    if (status >= 0) kd_exchange_states(p->exchange, y);
    return status;
}

kd_status kd_plant_derivatives(kd_plant *p, double *dy)
{
    const kd_status status = begin(p);
    return status < 0 ? status : told(p, kd_exchange_derivatives(p->exchange, dy));
}

kd_status kd_plant_events(kd_plant *p, double *indicators)
{
    const kd_status status = begin(p);
    return status < 0 ? status : told(p, kd_exchange_values(p->exchange, indicators));
}

void kd_plant_nominals(const kd_plant *p, double *nominal)
{
    const kd_eom *eom = kd_system_eom(p->system);
    for (int i = 0; i < p->dims.np; i++) nominal[i] = kd_eom_position_unit(eom, i);
    for (int i = 0; i < p->dims.nv; i++) nominal[p->dims.np + i] = kd_eom_unit(eom, i) / kd_eom_time(eom);
    for (int i = 0; i < p->dims.nr; i++) nominal[p->dims.np + p->dims.nv + i] = 1;
}

kd_status kd_plant_completed(kd_plant *p, bool *instant)
{
    *instant = false;
    const kd_status status = begin(p);
    return status < 0 ? status : told(p, kd_exchange_completed(p->exchange, instant));
}

kd_status kd_plant_instant(kd_plant *p, bool *changed, bool *stop)
{
    *changed = *stop = false;
    kd_status status = begin(p);
    if (status >= 0 && p->new_theta) {
        status = kd_plant_apply(p);
        kd_exchange_touch(p->exchange);
    }
    p->new_inputs = p->probed = false;
    return status < 0 ? status : told(p, kd_exchange_instant(p->exchange, changed, stop));
}

double kd_plant_next_time(const kd_plant *p)
{
    return p->exchange ? kd_exchange_next_time(p->exchange) : HUGE_VAL;
}

// ---- derivatives along a direction ----------------------------------------------------------------------------------

// One known number moved by d
static kd_status move_known(kd_plant *p, const kd_plant_variable *v, double d, double *y)
{
    if (v->kind == KD_PLANT_INPUT) {
        p->u[v->index] += d;
        return KD_OK;
    }
    if (v->kind == KD_PLANT_STATE && p->exchange) {
        y[v->index] += d;
        return KD_OK;
    }
    return kd_plant_refuse(p, KD_ERR_UNSUPPORTED, "%s: derivatives by it are not known here", v->name);
}

// The unknowns with the knowns moved by step times their direction
static kd_status moved_values(kd_plant *p, double step, const unsigned *unknown, size_t nu, const unsigned *known,
                              size_t nk, const double *dknown, const double *y0, double *y, double *out)
// from where all directions begin
{
    const int n = kd_plant_states(p);
    kd_status status = KD_OK;
    if (p->exchange && n > 0) memcpy(y, y0, (size_t)n * sizeof *y);
    for (size_t k = 0; k < nk && status >= 0; k++)
        // the moved states are asked by the unknowns; accelerations follow from them
        status = known[k] < (unsigned)p->count
                     ? move_known(p, p->variable + known[k], step * dknown[k], y)
                     : kd_plant_refuse(p, KD_ERR_ARGUMENT, "there is no variable %u", known[k]);
    if (status >= 0 && p->exchange) {
        kd_exchange_set_states(p->exchange, y);
        kd_exchange_touch(p->exchange);
    } else if (status >= 0) {
        p->x->unsolved = true; // accelerations of these inputs
    }
    p->probed = false;
    for (size_t i = 0; i < nu && status >= 0; i++) status = kd_plant_get(p, unknown[i], out + i);
    return status;
}

// Size of a known number, that moves are relative to
static double size_of(kd_plant *p, unsigned reference, const double *y)
{
    const kd_plant_variable *v = reference < (unsigned)p->count ? p->variable + reference : NULL;
    if (v && v->kind == KD_PLANT_STATE && p->exchange) return fmax(1, fabs(y[v->index]));
    return v && v->kind == KD_PLANT_INPUT ? fmax(1, fabs(p->u[v->index])) : 1;
}

// What is asked for: unknowns by knowns along a direction
typedef struct asked {
    const unsigned *unknown, *known;
    size_t          nu, nk;
    const double   *dknown;
} asked;

// (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / (12 h) in fourth and (f(h) - f(-h)) / (2 h) in second; inputs are u again afterwards
static kd_status take_differences(kd_plant *p, const asked *a, double h, const double *y0, const double *u, double *out,
                                  double *fourth, double *second)
{
    static const double PART[] = {1, -1, 2, -2}, WEIGHT[] = {8, -8, -1, 1};
    double             *y = p->work + 2 * kd_plant_states(p);
    kd_status           status = KD_OK;
    for (size_t i = 0; i < a->nu; i++) fourth[i] = second[i] = 0;
    for (int part = 0; part < 4 && status >= 0; part++) {
        status = moved_values(p, PART[part] * h, a->unknown, a->nu, a->known, a->nk, a->dknown, y0, y, out);
        for (size_t i = 0; i < a->nu && status >= 0; i++) {
            fourth[i] += WEIGHT[part] * out[i] / (12 * h);
            if (part < 2) second[i] += PART[part] * out[i] / (2 * h);
        }
        if (p->dims.nu > 0) memcpy(p->u, u, (size_t)p->dims.nu * sizeof *u);
    }
    return status;
}

// How far differences of second order are from those of fourth order, relative: those are wrong by about its square
static double bend(size_t n, const double *fourth, const double *second)
{
    double size = 0, e = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(fourth[i])), e = fmax(e, fabs(fourth[i] - second[i]));
    return e > 0 ? e / size : 0;
}

// Shorter steps where nothing can be evaluated so far away, or where the function bends on the way; the straightest counts
static kd_status straightest(kd_plant *p, const asked *a, double h, const double *y0, const double *u, double *work,
                             double *best)
{
    double *out = work, *fourth = out + a->nu, *second = fourth + a->nu, least = INFINITY;
    for (int tries = 0; tries <= MOST_SHORTER; tries++, h *= SHORTER) {
        const kd_status status = take_differences(p, a, h, y0, u, out, fourth, second);
        const bool      wrong = status == KD_ERR_ARGUMENT || status == KD_ERR_UNSUPPORTED;
        if (status < 0 && (wrong || (tries == MOST_SHORTER && !isfinite(least)))) return status;
        if (status < 0) continue;
        const double e = bend(a->nu, fourth, second);
        // a bend that comes near may grow before it is left behind; in the end rounding grows
        if (!(e < least)) continue;
        least = e;
        memcpy(best, fourth, a->nu * sizeof *best);
        if (e <= CURVED) break;
    }
    return KD_OK;
}

// Along the whole direction, with a step that moves no number by more than its part
kd_status kd_plant_directional(kd_plant *p, const unsigned *unknown, size_t nu, const unsigned *known, size_t nk,
                               const double *dknown, double *dunknown)
{
    kd_status status = p->started ? KD_OK : kd_plant_start(p);
    if (status < 0) return status;
    const asked a = {unknown, known, nu, nk, dknown};
    double     *y0 = p->work + kd_plant_states(p), *out = kd_alloc((3 * nu + 1) * sizeof *out),
           *u = kd_alloc(((size_t)p->dims.nu + 1) * sizeof *u);
    kd_state *kept = p->moved;
    if (!out || !u) status = KD_ERR_MEMORY;
    if (status >= 0) {
        if (p->exchange) kd_exchange_states(p->exchange, y0);
        // no known moves by more than a small part of its size
        if (p->dims.nu > 0) memcpy(u, p->u, (size_t)p->dims.nu * sizeof *u);
        status = kd_state_copy(p->x, kept);
    }
    double step = HUGE_VAL;
    for (size_t k = 0; k < nk; k++)
        if (dknown[k] != 0) step = fmin(step, MOVE * size_of(p, known[k], y0) / fabs(dknown[k]));
    for (size_t i = 0; i < nu; i++) dunknown[i] = 0;
    if (status >= 0 && isfinite(step)) status = straightest(p, &a, step, y0, u, out, dunknown);
    // back
    if (p->exchange && y0) kd_exchange_set_states(p->exchange, y0);
    if (p->exchange) kd_exchange_touch(p->exchange);
    if (out && u && !p->exchange) kd_state_copy(kept, p->x);
    p->probed = false;
    kd_free(out);
    kd_free(u);
    return status;
}
