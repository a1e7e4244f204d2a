// fmu_continuous.c: an FMU of model exchange whose states are states of the model (foreign/continuous.h).
//
// Between events an FMU is a function of (t, x, u): each evaluation sets all three, in one call. The last one is kept, so that rates,
// outputs and indicators of one point cost one call.
#include "foreign/continuous.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "fmi/fmu_unit.h"

enum { MOST_STATES = 2000 };
static const double SAME_TIME = 1e-12; // of a time that was told and its root, [s] beside 1 s

// The FMU behind an event, as it was saved
typedef struct kept {
    bool     full;
    kd_epoch epoch;
    double   next;
} kept;

typedef struct exchange {
    kd_continuous             base;
    kd_fmu_unit              *unit;
    const kd_fmi_description *about;
    int                       nx, nz, nu, ny, nparameters;
    double                    t_start, next;
    kd_epoch                  epoch;
    kept                      kept[KD_GUEST_SLOTS];
    uint32_t                 *u_reference, *y_reference, *x_reference, *dx_reference;
    double                   *u_start, *x_start, *parameter;
    // the last evaluation, the last slopes: where (t, u, x), then what
    bool    is_known, is_sloped;
    bool    is_completed; // the end of a step there was told
    double *at, *sloped;  // (1 + nu + nx)
    double *dx, *z, *y, *J;
    // the last event: where, what it answered in front of it, then the states behind it
    bool     has_passed, stop;
    kd_epoch before;
    double  *passed, *left_dx, *left_z, *left_y, *x_behind;
    kd_arena arena;
} exchange;

static exchange *of(kd_continuous *unit)
{
    return (exchange *)unit;
}

static kd_status told(exchange *c, kd_status status)
{
    c->base.is_broken = status < 0;
    if (status >= 0) return KD_OK;
    kd_guest *guest = kd_fmu_unit_guest(c->unit);
    kd_text(c->base.message, sizeof c->base.message, "%s",
            guest ? kd_guest_message(guest) : kd_status_sentence(status));
    return status;
}

static bool is_same(kd_epoch a, kd_epoch b)
{
    return a.count == b.count && a.t == b.t;
}

// ---- where it is ----------------------------------------------------------------------------------------------------

static void note(const exchange *c, const kd_unit_point *p, double *at)
{
    at[0] = p->t;
    if (c->nu > 0) memcpy(at + 1, p->u, (size_t)c->nu * sizeof *at);
    if (c->nx > 0) memcpy(at + 1 + c->nu, p->x, (size_t)c->nx * sizeof *at);
}

static bool is_at(const exchange *c, const kd_unit_point *p, const double *at)
{
    return at[0] == p->t && (c->nu == 0 || memcmp(at + 1, p->u, (size_t)c->nu * sizeof *at) == 0) &&
           (c->nx == 0 || memcmp(at + 1 + c->nu, p->x, (size_t)c->nx * sizeof *at) == 0);
}

static void forget(exchange *c)
{
    c->is_known = c->is_sloped = false;
}

// Saved where that is possible, so that the epoch can be gone back to
static kd_status keep(exchange *c)
{
    const int slot = (int)fmod(c->epoch.count, KD_GUEST_SLOTS);
    if (!kd_fmu_unit_saves(c->unit)) return KD_OK;
    c->kept[slot] = (kept){true, c->epoch, c->next};
    return told(c, kd_guest_save(kd_fmu_unit_guest(c->unit), slot));
}

static kd_status begin(exchange *c)
{
    forget(c);
    c->has_passed = c->base.has_started = c->stop = false;
    for (int i = 0; i < KD_GUEST_SLOTS; i++) c->kept[i].full = false;
    kd_foreign_change(kd_fmu_unit_base(c->unit), 1, c->parameter);
    const kd_status status = kd_fmu_unit_start(c->unit, c->t_start, c->u_start);
    c->base.is_broken = status < 0;
    if (status < 0) {
        kd_text(c->base.message, sizeof c->base.message, "%s", kd_foreign_message(kd_fmu_unit_base(c->unit)));
        return status;
    }
    c->base.has_started = true;
    c->epoch = (kd_epoch){0, 0};
    c->next = kd_fmu_unit_next(c->unit);
    return keep(c);
}

// The FMU in this epoch
static kd_status go_to(exchange *c, kd_epoch epoch)
{
    if (c->base.has_started && is_same(c->epoch, epoch)) return KD_OK;
    if (c->base.is_broken && !c->base.has_started) return KD_ERR_STAGE; // with the words of before
    // an epoch that was saved: events behind it are undone
    for (int i = 0; i < KD_GUEST_SLOTS && c->base.has_started; i++) {
        if (!c->kept[i].full || !is_same(c->kept[i].epoch, epoch)) continue;
        forget(c);
        c->epoch = epoch;
        c->next = c->kept[i].next;
        return told(c, kd_guest_restore(kd_fmu_unit_guest(c->unit), i));
    }
    // the first one can always be begun again; any other is lost
    if (epoch.count == 0) return begin(c);
    c->base.is_broken = true;
    kd_text(c->base.message, sizeof c->base.message,
            "it keeps what its events have changed to itself: it is behind event %.0f and cannot go on behind event "
            "%.0f (a run cannot be "
            "continued from its middle)",
            c->epoch.count, epoch.count);
    return KD_ERR_UNSUPPORTED;
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

static kd_guest_point point_of(const exchange *c, const kd_unit_point *p)
{
    return (kd_guest_point){p->t, p->x, p->u, c->u_reference, c->y_reference, c->nu, c->ny};
}

static kd_status start(kd_continuous *unit, double t, const double *u, double *x)
{
    exchange    *c = of(unit);
    const size_t bytes = (size_t)c->nu * sizeof *u;
    kd_status    status = KD_OK;
    if (!c->base.has_started || c->epoch.count != 0 || c->t_start != t ||
        (bytes > 0 && memcmp(u, c->u_start, bytes) != 0)) {
        c->t_start = t;
        if (bytes > 0) memcpy(c->u_start, u, bytes);
        status = begin(c);
        if (status >= 0) status = told(c, kd_guest_get_states(kd_fmu_unit_guest(c->unit), c->x_start));
    }
    if (status >= 0 && c->nx > 0) memcpy(x, c->x_start, (size_t)c->nx * sizeof *x);
    return status;
}

static kd_status values_at(exchange *c, const kd_unit_point *p, kd_unit_values *out)
{
    // in front of the last event once more
    if (c->has_passed && is_same(c->before, p->epoch) && is_at(c, p, c->passed)) {
        *out = (kd_unit_values){c->left_dx, c->left_z, c->left_y};
        return KD_OK;
    }
    kd_status status = go_to(c, p->epoch);
    *out = (kd_unit_values){c->dx, c->z, c->y};
    if (status < 0 || (c->is_known && is_at(c, p, c->at))) return status;
    const kd_guest_point at = point_of(c, p);
    status = told(c, kd_guest_evaluate(kd_fmu_unit_guest(c->unit), &at, c->dx, c->z, c->y));
    c->is_known = status >= 0;
    c->is_completed = false;
    note(c, p, c->at);
    return status;
}

static kd_status values(kd_continuous *unit, const kd_unit_point *p, kd_unit_values *out)
{
    return values_at(of(unit), p, out);
}

static kd_status slopes(kd_continuous *unit, const kd_unit_point *p, const double **J)
{
    exchange *c = of(unit);
    kd_status status = go_to(c, p->epoch);
    *J = c->J;
    if (status < 0 || (c->is_sloped && is_at(c, p, c->sloped))) return status;
    const kd_guest_point at = point_of(c, p);
    status = told(c, kd_guest_slopes(kd_fmu_unit_guest(c->unit), &at, c->base.has_slopes ? c->x_reference : NULL,
                                     c->dx_reference, c->J));
    c->is_sloped = status >= 0;
    note(c, p, c->sloped);
    return status;
}

static kd_status next(kd_continuous *unit, kd_epoch epoch, double *t)
{
    exchange       *c = of(unit);
    const kd_status status = go_to(c, epoch);
    *t = c->next;
    return status;
}

// ---- events ---------------------------------------------------------------------------------------------------------

// Behind evaluations at other points: the FMU at this one
static kd_status place(exchange *c, const kd_unit_point *p)
{
    kd_unit_values values;
    c->is_known = false;
    return values_at(c, p, &values);
}

// The FMU, which stands at the end of a step, is told
static kd_status complete(exchange *c, bool *event)
{
    bool      stop = false;
    kd_status status = KD_OK;
    *event = false;
    if (c->about->exchange.needs_completed_step)
        status = told(c, kd_guest_completed(kd_fmu_unit_guest(c->unit), event, &stop));
    // the end of the run is told by the event
    *event = *event || stop;
    c->stop = c->stop || stop;
    c->is_completed = status >= 0;
    return status;
}

static kd_status completed(kd_continuous *unit, const kd_unit_point *p, bool *event)
{
    exchange *c = of(unit);
    *event = false;
    if (!c->about->exchange.needs_completed_step) return KD_OK;
    const kd_status status = place(c, p);
    return status < 0 ? status : complete(c, event);
}

static void keep_left(exchange *c)
{
    memcpy(c->left_dx, c->dx, ((size_t)c->nx + 1) * sizeof *c->dx);
    memcpy(c->left_z, c->z, ((size_t)c->nz + 1) * sizeof *c->z);
    memcpy(c->left_y, c->y, ((size_t)c->ny + 1) * sizeof *c->y);
}

static kd_status event(kd_continuous *unit, const kd_unit_point *p, kd_epoch *epoch, double *x, bool *stop)
{
    exchange      *c = of(unit);
    kd_guest_event news = {0};
    kd_status      status = KD_OK;
    const size_t   bytes = (size_t)c->nx * sizeof *x;
    // the same event once more
    if (!(c->has_passed && is_same(c->before, p->epoch) && is_at(c, p, c->passed))) {
        // a time that was told is met exactly, however its root was located
        kd_unit_point exact = *p;
        const bool    is_told = c->is_completed && is_at(c, p, c->at);
        bool          asks;
        c->has_passed = false;
        // to the state before, at the exact time; what holds on its left is kept
        status = go_to(c, p->epoch);
        if (fabs(c->next - p->t) <= SAME_TIME * fmax(fabs(p->t), 1)) exact.t = c->next;
        if (status >= 0) status = place(c, &exact);
        if (status >= 0) keep_left(c);
        // a step that the FMU has not heard of is completed before its event
        if (status >= 0 && !is_told) status = complete(c, &asks);
        if (status >= 0) status = told(c, kd_guest_update(kd_fmu_unit_guest(c->unit), true, &news));
        // states behind: those of before, unless the FMU has changed them
        if (status >= 0 && bytes > 0) memcpy(c->x_behind, p->x, bytes);
        if (status >= 0 && news.changed) status = told(c, kd_guest_get_states(kd_fmu_unit_guest(c->unit), c->x_behind));
        if (status < 0) return status;
        // the event is remembered under the epoch that it begins
        c->has_passed = true;
        c->before = p->epoch;
        note(c, p, c->passed);
        c->epoch = (kd_epoch){p->epoch.count + 1, p->t};
        // when the next one is due, and whether there shall be none
        c->next = news.next;
        c->stop = c->stop || news.stop;
        forget(c);
        status = keep(c);
    }
    *epoch = (kd_epoch){p->epoch.count + 1, p->t};
    *stop = c->stop;
    if (bytes > 0) memcpy(x, c->x_behind, bytes);
    return status;
}

// ---- life -----------------------------------------------------------------------------------------------------------

static const char *state_name(const kd_continuous *unit, int i)
{
    const kd_fmi_description *about = ((const exchange *)unit)->about;
    return about->variable[about->variable[about->rate[i]].derivative].name;
}

static void change(kd_continuous *unit, const double *parameter)
{
    exchange *c = of(unit);
    if (c->nparameters == 0) return;
    const size_t bytes = (size_t)c->nparameters * sizeof *parameter;
    if (memcmp(c->parameter, parameter, bytes) == 0) return;
    memcpy(c->parameter, parameter, bytes);
    c->base.has_started = false;
}

static void destroy(kd_continuous *unit)
{
    exchange *c = of(unit);
    if (c->unit) kd_foreign_close(kd_fmu_unit_base(c->unit));
    kd_arena_release(&c->arena);
    kd_free(c);
}

static const kd_continuous_class CLASS = {state_name, start, values, slopes, next, completed, event, change, destroy};

// ---- opening --------------------------------------------------------------------------------------------------------

// Signals between two samples are real numbers
static kd_status check_signal(const kd_fmi_variable *v, bool input, char *message, size_t size)
{
    if (v->type == KD_FMI_FLOAT64 && (!input || v->variability == KD_VARIABILITY_CONTINUOUS)) return KD_OK;
    kd_text(message, size, "'%s' is no continuous Float64, as signals of a block without period are; give it a period",
            v->name);
    return KD_ERR_MODEL;
}

static kd_status check_states(const exchange *c, char *message, size_t size)
{
    if (c->nx > MOST_STATES || c->nz > MOST_STATES) {
        kd_text(message, size,
                "the FMU has %d states and %d event indicators; at most %d of each can be part of a model", c->nx,
                c->nz, MOST_STATES);
        return KD_ERR_UNSUPPORTED;
    }
    for (int i = 0; i < c->nx; i++) {
        const int rate = c->about->rate[i];
        if (rate >= 0 && c->about->variable[rate].derivative >= 0 && !c->about->variable[rate].is_array) continue;
        kd_text(message, size, "the FMU has a derivative that is of no state, or an array");
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

static kd_status cut(exchange *c)
{
    kd_arena *a = &c->arena;
    // references by which variables are read and written
    c->u_reference = kd_arena_cut(a, (size_t)c->nu + 1, sizeof *c->u_reference);
    c->y_reference = kd_arena_cut(a, (size_t)c->ny + 1, sizeof *c->y_reference);
    c->x_reference = kd_arena_cut(a, (size_t)c->nx + 1, sizeof *c->x_reference);
    c->dx_reference = kd_arena_cut(a, (size_t)c->nx + 1, sizeof *c->dx_reference);
    // what it starts with
    c->u_start = kd_cut_double(a, c->nu + 1);
    c->x_start = kd_cut_double(a, c->nx + 1);
    c->parameter = kd_cut_double(a, c->nparameters + 1);
    // the points where it was last asked
    c->at = kd_cut_double(a, 1 + c->nu + c->nx);
    c->sloped = kd_cut_double(a, 1 + c->nu + c->nx);
    c->passed = kd_cut_double(a, 1 + c->nu + c->nx);
    c->x_behind = kd_cut_double(a, c->nx + 1);
    // values left of an event
    c->left_dx = kd_cut_double(a, c->nx + 1);
    c->left_z = kd_cut_double(a, c->nz + 1);
    c->left_y = kd_cut_double(a, c->ny + 1);
    // rates, indicators, outputs and their slopes
    c->dx = kd_cut_double(a, c->nx + 1);
    c->z = kd_cut_double(a, c->nz + 1);
    c->y = kd_cut_double(a, c->ny + 1);
    c->J = kd_cut_matrix(a, c->nx + c->ny + 1, c->nx + c->nu + 1);
    return a->failed ? KD_ERR_MEMORY : KD_OK;
}

// References, and whether directional derivatives exist of all that is read
static kd_status prepare_exchange(exchange *c, const kd_foreign_setup *setup, char *message, size_t size)
{
    kd_status status = check_states(c, message, size);
    if (status >= 0) status = cut(c);
    c->base.has_slopes = c->about->exchange.directional;
    // states by their rates, which point at them
    for (int i = 0; i < c->nx && status >= 0; i++) {
        const kd_fmi_variable *rate = &c->about->variable[c->about->rate[i]];
        c->dx_reference[i] = rate->reference;
        c->x_reference[i] = c->about->variable[rate->derivative].reference;
    }
    for (int i = 0; i < c->nu && status >= 0; i++) {
        const kd_fmi_variable *v = kd_fmu_unit_input(c->unit, i);
        c->u_reference[i] = v->reference;
        status = check_signal(v, true, message, size);
    }
    // derivatives are promised of outputs and states only
    for (int i = 0; i < c->ny && status >= 0; i++) {
        const kd_fmi_variable *v = kd_fmu_unit_output(c->unit, i);
        bool                   state = false;
        for (int k = 0; k < c->nx; k++) state = state || c->x_reference[k] == v->reference;
        c->y_reference[i] = v->reference;
        c->base.has_slopes = c->base.has_slopes && (state || v->causality == KD_CAUSALITY_OUTPUT);
        status = check_signal(v, false, message, size);
    }
    if (status >= 0 && c->nparameters > 0)
        memcpy(c->parameter, setup->parameter, (size_t)c->nparameters * sizeof *c->parameter);
    return status;
}

kd_status kd_continuous_open(const kd_foreign_setup *setup, kd_continuous **unit, char *message, size_t size)
{
    kd_foreign_setup own = *setup;
    *unit = NULL;
    if (setup->cosimulation) {
        kd_text(message, size, "a unit of co-simulation has no continuous states: give it a period");
        return KD_ERR_MODEL;
    }
    exchange *c = kd_alloc(sizeof *c);
    if (!c) return KD_ERR_MEMORY;
    c->base.class = &CLASS;
    // the same unit as a sampled one, but asked at any time
    own.exchange = true;
    own.period = 1;
    kd_status status = kd_fmu_unit_open(&own, &c->unit, message, size);
    // counts as the description and the file of the model tell them
    if (status >= 0) {
        c->about = kd_fmu_unit_about(c->unit);
        c->nx = c->about->nstates;
        c->nz = c->about->nindicators;
        c->nu = setup->ninputs;
        c->ny = setup->noutputs;
        c->nparameters = setup->nparameters;
        c->next = HUGE_VAL;
        c->base.nstates = c->nx, c->base.nindicators = c->nz, c->base.ninputs = c->nu, c->base.noutputs = c->ny;
        // references and start values need the open FMU
        status = prepare_exchange(c, setup, message, size);
    }
    if (status < 0)
        destroy(&c->base);
    else
        *unit = &c->base;
    return status < 0 ? status : KD_OK;
}
