// certificate.c: the figures of a run certificate.
//
// At each state: the residuals of the constraints on three levels, of the norm equations and of the invariants, all
// evaluated from the equations of motion and not taken from the integrator. The energy balance
//
//     B(t) = [kinetic + potential](t) - [kinetic + potential](0) + integral of (dissipated - supplied power) dt
//
// with the work of the steps from certificate_work.c.
//
// At an instant of hybrid equations two states of the same time are seen. What their energies differ by counts as
// dissipated (impacts) or supplied there, and the interpolation starts again.
#include "simulation/certificate_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"
#include "probe/probe.h"

// States whose slopes are looked at: the first ones, every eighth, and every sixteenth of long runs,
enum { EVERY_SLOPE = 4, SLOPE_EACH = 8, LONG_RUN = 64, SLOPE_LATER = 16 };
static const double OUTGROWN = 2; // and where the kinetic energy has grown by so much since

static const double ROUNDING = 100; // [ulp] of all terms of the energy, times the root of the number of states

static const double EXPLODED = 1e8; // growth of positions or velocities that no mechanism has: the run lost its track

kd_limits kd_limits_none(void)
{
    return (kd_limits){NAN, NAN, NAN, NAN};
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// What is looked at: functions with the names of their rows, and where the largest one counts, a level or one of these
enum { AS_NORM = KD_LEVEL_COUNT, AS_INVARIANT };
static const struct {
    kd_fn   fn;
    kd_kind kind;
    int     as;
} MEASURED[MEASURES] = {
    {KD_G, KD_NAME_LAMBDA, KD_LEVEL_POSITION},
    {KD_C, KD_NAME_S, KD_LEVEL_POSITION},
    {KD_GI, KD_NAME_LAMBDA, KD_LEVEL_VELOCITY},
    {KD_H, KD_NAME_MU, KD_LEVEL_VELOCITY},
    {KD_GII, KD_NAME_LAMBDA, KD_LEVEL_ACCELERATION},
    {KD_HI, KD_NAME_MU, KD_LEVEL_ACCELERATION},
    {KD_Q, KD_NAME_Q, AS_NORM},
    {KD_E, KD_NAME_E, AS_INVARIANT},
};

// Those that the equations have
static void choose_measures(kd_certifier *c)
{
    for (int i = 0; i < MEASURES; i++)
        if (kd_eom_rows(c->eom, MEASURED[i].fn) > 0) c->measured[c->nmeasured++] = i;
}

static int largest_rows(const kd_eom *eom)
{
    int rows = 0;
    for (int fn = 0; fn <= KD_E; fn++)
        if (kd_eom_rows(eom, (kd_fn)fn) > rows) rows = kd_eom_rows(eom, (kd_fn)fn);
    return rows;
}

static bool has_instants(const kd_eom *eom)
{
    const kd_eom_def *def = kd_eom_definition(eom);
    return def->switching || def->discrete || def->next_break || def->restitution || def->friction;
}

// Energies, powers and words of motion alone, no rows of accelerations: those of a step need not be known
static bool is_plain(const kd_eom *eom)
{
    const kd_dims     d = kd_eom_dims(eom);
    const kd_eom_def *def = kd_eom_definition(eom);
    return def->energies && def->energies_of_motion && def->acceleration && !def->caution &&
           d.nlambda + d.nmu + d.ns + d.nw == 0;
}

static kd_status create(kd_probe *probe, bool owns_probe, kd_certifier **certifier)
{
    kd_certifier *c = kd_alloc(sizeof *c);
    if (!c) {
        if (owns_probe) kd_probe_destroy(probe);
        return KD_ERR_MEMORY;
    }
    c->probe = probe;
    c->owns_probe = owns_probe;
    c->data = kd_probe_data(probe);
    c->eom = kd_probe_eom(probe);
    c->inputs = *kd_probe_inputs(probe);
    kd_dims D = c->dims = kd_eom_dims(c->eom);
    // largest rows of a function; accelerations; errors of slopes
    c->value = kd_cut_double(&c->arena, largest_rows(c->eom));
    c->solved = kd_cut_double(&c->arena, D.nv);
    c->judged = kd_cut_double(&c->arena, D.nv);
    c->errors = kd_cut_double(&c->arena, D.nv + 2 * D.ne);
    for (int k = 0; k < KNOTS; k++) {
        c->knot[k].x = kd_cut_double(&c->arena, D.np + D.nv + D.nr);
        c->knot[k].rate = kd_cut_double(&c->arena, D.np + D.nv + D.nr);
    }
    kd_status status = c->arena.failed ? KD_ERR_MEMORY : kd_state_create(c->eom, &c->inside);
    if (status >= 0 && kd_eom_definition(c->eom)->energies) status = kd_eom_data_create(c->eom, &c->between);
    if (status >= 0 && has_instants(c->eom)) status = kd_state_create(c->eom, &c->last);
    if (status < 0) {
        kd_certifier_destroy(c);
        return status;
    }
    // scales begin with 1: violations of small motions are absolute
    for (int level = 0; level < KD_LEVEL_COUNT; level++) c->certificate.scale[level] = 1;
    c->certificate.has_constraints = D.nlambda + D.nmu + D.ns > 0;
    c->certificate.has_norms = D.nq > 0;
    c->certificate.has_invariants = D.ne > 0;
    c->certificate.has_energy = kd_eom_definition(c->eom)->energies != NULL;
    c->certificate.limits = c->limits = kd_limits_none();
    c->plain = is_plain(c->eom);
    choose_measures(c);
    c->findings.a = c->a = kd_probe_accelerations(probe);
    c->findings.probe = probe;
    *certifier = c;
    return KD_OK;
}

kd_status kd_certifier_create_by(kd_probe *probe, kd_certifier **certifier)
{
    if (certifier) *certifier = NULL;
    return probe && certifier ? create(probe, false, certifier) : KD_ERR_ARGUMENT;
}

kd_status kd_certifier_create(const kd_eom *eom, const kd_inputs *inputs, kd_certifier **certifier)
{
    kd_probe *probe;
    if (certifier) *certifier = NULL;
    if (!eom || !certifier) return KD_ERR_ARGUMENT;
    kd_status status = kd_probe_create_nameless(eom, inputs, &probe);
    return status < 0 ? status : create(probe, true, certifier);
}

void kd_certifier_ask(kd_certifier *c, kd_certificate_kind kind, const kd_limits *limits)
{
    if (!c) return;
    c->certificate.kind = kind;
    c->certificate.has_energy = kind == KD_CERTIFICATE_FULL && kd_eom_definition(c->eom)->energies != NULL;
    c->limits = limits ? *limits : kd_limits_none();
}

void kd_certifier_destroy(kd_certifier *c)
{
    if (!c) return;
    if (c->owns_probe) kd_probe_destroy(c->probe);
    kd_eom_data_destroy(c->between);
    kd_state_destroy(c->inside);
    kd_state_destroy(c->last);
    kd_arena_release(&c->arena);
    kd_free(c);
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

kd_status kd_certifier_fault(const kd_certifier *c)
{
    return kd_eom_data_fault(c->data).status;
}

// Leave the point at x with the acceleration that is judged: that of x if it belongs to its forces and multipliers,
// else the one that those give. Where M does not determine it, the simulation that has shown x solves for it.
kd_status kd_certifier_go_to_judged(kd_certifier *c, kd_simulation *simulation, const kd_state *x)
{
    // the probe decides which acceleration belongs to the state
    kd_status status = kd_probe_set(c->probe, x);
    if (status >= 0) status = kd_probe_reach(c->probe, KD_STAGE_ACCELERATION);
    if (status != KD_ERR_SINGULAR_MASS || !x->unsolved || !simulation) return status;
    status = kd_simulation_accelerations(simulation, x, c->solved);
    if (status >= 0) status = kd_probe_set_with(c->probe, x, c->solved);
    return status < 0 ? status : kd_probe_reach(c->probe, KD_STAGE_ACCELERATION);
}

// ---- residuals ------------------------------------------------------------------------------------------------------

static void note(const kd_certifier *c, kd_largest *largest, double value, double t, kd_kind kind, int row)
{
    if (!(value > largest->value)) return;
    largest->value = value;
    largest->t = t;
    kd_eom_name(c->eom, kind, row, largest->name, sizeof largest->name);
}

// Largest |row| of a function, of active rows only, in *found and, with its name, in *largest
static kd_status measure(kd_certifier *c, int which, const kd_state *x, double *found, kd_largest *largest)
{
    const kd_fn          fn = MEASURED[which].fn;
    const kd_kind        kind = MEASURED[which].kind;
    const unsigned char *active = kind == KD_NAME_LAMBDA ? x->active_lambda : kind == KD_NAME_MU ? x->active_mu : NULL;
    const int            rows = kd_eom_rows(c->eom, fn);
    int                  worst = -1;
    if (kd_eom_eval(c->data, fn, c->value) != KD_EVAL_OK) return kd_certifier_fault(c);
    for (int i = 0; i < rows; i++)
        if ((!active || active[i]) && (worst < 0 || fabs(c->value[i]) > fabs(c->value[worst]))) worst = i;
    if (worst < 0) return KD_OK;
    double value = fabs(c->value[worst]);
    *found = fmax(*found, value);
    note(c, largest, value, x->t, kind, worst);
    return KD_OK;
}

static kd_status measure_all(kd_certifier *c, const kd_state *x)
{
    kd_certificate *r = &c->certificate;
    kd_findings    *f = &c->findings;
    double          ignored = 0;
    // findings are of this state, the certificate keeps the largest of all
    for (int level = 0; level < KD_LEVEL_COUNT; level++) f->violation[level] = 0;
    f->norm = 0;
    for (int i = 0; i < c->nmeasured; i++) {
        const int   which = c->measured[i], as = MEASURED[which].as;
        double     *found = as < KD_LEVEL_COUNT ? &f->violation[as] : as == AS_NORM ? &f->norm : &ignored;
        kd_largest *largest = as < KD_LEVEL_COUNT ? &r->level[as] : as == AS_NORM ? &r->norm : &r->invariant;
        kd_status   status = measure(c, which, x, found, largest);
        if (status < 0) return status;
    }
    return KD_OK;
}

// Largest components so far: violations are judged relative to them
static void widen_scale(kd_certifier *c, const kd_state *x)
{
    double *scale = c->certificate.scale;
    // positions and velocities as scales, at least 1, and as sizes, from 0
    const double p = kd_norm_max(c->dims.np, x->p), v = kd_norm_max(c->dims.nv, x->v);
    scale[KD_LEVEL_POSITION] = fmax(scale[KD_LEVEL_POSITION], p);
    scale[KD_LEVEL_VELOCITY] = fmax(scale[KD_LEVEL_VELOCITY], v);
    if (!c->unjudged[0])
        scale[KD_LEVEL_ACCELERATION] = fmax(scale[KD_LEVEL_ACCELERATION], kd_norm_max(c->dims.nv, c->a));
    c->certificate.position_size = fmax(c->certificate.position_size, p);
    c->certificate.velocity_size = fmax(c->certificate.velocity_size, v);
    // eight powers of ten beyond the start no figure means anything
    for (int level = 0; level < 2; level++) {
        if (c->certificate.states == 0) c->start[level] = scale[level];
        if (scale[level] > EXPLODED * c->start[level]) c->certificate.exploded = true;
    }
}

// What the violation of the accelerations does to velocities in a step
static void note_step(kd_certifier *c, const kd_simulation *simulation)
{
    double      *largest = &c->certificate.acceleration_step;
    const double h = kd_simulation_state(simulation)->t - kd_simulation_step_start(simulation);
    *largest = fmax(*largest, c->findings.violation[KD_LEVEL_ACCELERATION] * h);
}

// ---- balance --------------------------------------------------------------------------------------------------------

static void note_energies(kd_certifier *c, double t, const kd_energies *e)
{
    kd_certificate *r = &c->certificate;
    kd_findings    *f = &c->findings;
    f->kinetic = e->kinetic;
    f->potential = e->potential;
    // work up to t, plus what instants and leaps gave and took
    f->dissipated = kd_certifier_work_at(c, t, 0) + c->jumps[0];
    f->supplied = kd_certifier_work_at(c, t, 1) + c->jumps[1];
    if (t >= c->t_leap) *(c->leap > 0 ? &f->supplied : &f->dissipated) += fabs(c->leap);
    double sum = e->kinetic + e->potential + f->dissipated - f->supplied;
    // the balance is zero at the first state
    if (r->states == 0) {
        c->energy_start = sum;
        c->potential_low = c->potential_high = e->potential;
    }
    c->potential_low = fmin(c->potential_low, e->potential);
    c->potential_high = fmax(c->potential_high, e->potential);
    // sizes of all terms: rounding of the balance is relative to these
    c->terms =
        fmax(c->terms, e->size + fabs(e->kinetic) + fabs(e->potential) + fabs(f->dissipated) + fabs(f->supplied));
    f->balance = sum - c->energy_start;
    // not a number is the largest error of all
    if (fabs(f->balance) > r->energy.value || isnan(f->balance)) {
        r->energy.value = fabs(f->balance);
        r->energy.t = t;
    }
    // energy that was in motion, whatever the origin of the potential
    const double size[] = {e->kinetic, c->potential_high - c->potential_low, fabs(f->dissipated), fabs(f->supplied)};
    for (int i = 0; i < 4; i++) r->energy_scale = fmax(r->energy_scale, size[i]);
    r->kinetic = f->kinetic;
    r->potential = f->potential;
    r->dissipated = f->dissipated;
    r->supplied = f->supplied;
}

// Is x the limit from the right of an instant whose limit from the left was seen last? At breaks of functions of time
// the left side ends a few units of rounding before.
static bool is_jump(const kd_certifier *c, const kd_state *x)
{
    const kd_state *last = c->last;
    const double    near = 16.0 * DBL_EPSILON * fabs(x->t);
    if (!last || c->certificate.states == 0) return false;
    // times of one instant differ by rounding: breaks, and wanted times
    if (!(fabs(last->t - c->t_known) <= near && fabs(x->t - last->t) <= near)) return false;
    if (x->t > c->t_known) return true;
    return memcmp(last->p, x->p, x->size * sizeof(double)) != 0 ||
           memcmp(last->active_lambda, x->active_lambda, (size_t)(c->dims.nlambda + c->dims.nmu)) != 0;
}

// Is this the end of a step, whose energies are known?
static bool is_known_end(const kd_certifier *c, const kd_state *x)
{
    const size_t motion = (size_t)(c->dims.np + c->dims.nv + c->dims.nr) * sizeof(double);
    const knot  *k = &c->knot[KNOTS - 1];
    return c->nknots > 0 && k->t == x->t && memcmp(k->x, x->p, motion) == 0;
}

// Energies of the last state and of x, and work that goes on from x
static kd_status jump(kd_certifier *c, kd_simulation *simulation, const kd_state *x)
{
    kd_energies before = c->end;
    double      power[POWERS];
    kd_status   status = KD_OK;
    if (!is_known_end(c, c->last)) status = kd_certifier_energies_between(c, c->last, &before, power);
    c->nknots = c->nsegments = c->npast = 0;
    // the other side; gains count as supplied, losses as dissipated; polynomials start again
    if (status >= 0) status = kd_certifier_start_work(c, simulation, x);
    const double gain = c->energy_end - before.kinetic - before.potential;
    if (status >= 0) c->jumps[gain > 0] += fabs(gain);
    return status;
}

// The state that was seen last, shown without a simulation: inputs may have jumped there, and with them powers and energies
static kd_status meet_inputs(kd_certifier *c, const kd_state *x)
{
    const double before = c->energy_end;
    c->nknots = c->nsegments = c->npast = 0;
    const kd_status status = kd_certifier_start_work(c, NULL, x);
    const double    gain = c->energy_end - before;
    if (status >= 0) c->jumps[gain > 0] += fabs(gain);
    return status;
}

// Slopes at x by relative or by absolute errors. Where it cannot be evaluated next to x, those of other states do
static void widen_slopes(kd_certifier *c, kd_eom_data *data, const kd_state *x, const kd_energies *here,
                         const double *a, bool relative)
{
    const long    states = c->certificate.states;
    double       *until = &c->t_slopes[relative ? 0 : 1];
    kd_slope_kind kind = {
        .relative = relative, .passed = states > 0 ? x->t - *until : 0, .seed = (unsigned)states, .a = a};
    (void)kd_slopes_widen(data, c->eom, x, here, kind, c->inside, c->errors, c->errors + c->dims.nv, &c->slopes);
    *until = x->t;
}

// What errors of a tolerance explain, by relative or by absolute errors, or both. here: the energies of x with accelerations
// a, which powers of drives depend on; NULL: not known
static kd_status look_for_slopes(kd_certifier *c, const kd_state *x, const kd_energies *here, const double *a,
                                 bool relative, bool absolute)
{
    kd_certificate *r = &c->certificate;
    kd_eom_data    *data = c->between ? c->between : c->data;
    if (kd_eom_at_state(data, &c->inputs, x, KD_STAGE_TIME) != KD_EVAL_OK) return kd_eom_data_fault(data).status;
    if (relative) widen_slopes(c, data, x, here, a, true);
    if (absolute) widen_slopes(c, data, x, here, a, false);
    if (here) c->energy_slopes = fmax(c->energy_slopes, here->kinetic);
    memcpy(r->energy_by_rtol, c->slopes.energy_by_rtol, sizeof r->energy_by_rtol);
    memcpy(r->energy_by_atol, c->slopes.energy_by_atol, sizeof r->energy_by_atol);
    r->work_by_rtol = c->slopes.work_by_rtol;
    r->work_by_atol = c->slopes.work_by_atol;
    r->invariant_by_rtol = c->slopes.invariant_by_rtol;
    r->invariant_by_atol = c->slopes.invariant_by_atol;
    return KD_OK;
}

// Both at the first state, then in turns, at the next few and at each eighth or sixteenth
static kd_status measure_slopes(kd_certifier *c, const kd_state *x, const kd_energies *here)
{
    const kd_certificate *r = &c->certificate;
    const long            each = r->states < EVERY_SLOPE ? 1 : r->states < LONG_RUN ? SLOPE_EACH : SLOPE_LATER;
    const bool            looks = r->states % each == 0, odd = r->states / each % 2 != 0;
    if (!looks || (!r->has_energy && !r->has_invariants)) return KD_OK;
    // renewed at this very state: the same errors would be drawn again
    if (r->states > 0 && c->t_slopes[odd] == x->t) return KD_OK;
    return look_for_slopes(c, x, here, c->a, !odd, odd || r->states == 0);
}

kd_status kd_certifier_renew_slopes(kd_certifier *c, const kd_state *x)
{
    const double large = fmax(OUTGROWN * c->energy_slopes, c->certificate.energy_rounding);
    return c->end.kinetic > large ? look_for_slopes(c, x, &c->end, c->judged, true, true) : KD_OK;
}

// A coordinate of size 1 m or 1 rad carries the rounding of 1, whatever the origin of potential energy
static void note_rounding(kd_certifier *c)
{
    kd_certificate *r = &c->certificate;
    const double    terms = c->terms + r->energy_by_atol[KD_SLOPE_POSITION] * fmax(1, r->position_size);
    r->energy_rounding = ROUNDING * DBL_EPSILON * sqrt((double)r->states) * terms;
}

// Is x the end of the step that was seen last?
static bool is_end(const kd_certifier *c, const kd_simulation *simulation, const kd_state *x)
{
    return simulation && x == kd_simulation_state(simulation) && is_known_end(c, x);
}

// The point at x, the last thing that is looked at. At the end of a step it may be there already; drives have moved it,
// but its accelerations are known
static kd_status go_to_end(kd_certifier *c, kd_simulation *simulation, const kd_state *x)
{
    kd_status status = KD_OK;
    if (!is_end(c, simulation, x)) {
        c->unjudged[0] = false;
        return kd_certifier_go_to_judged(c, simulation, x);
    }
    c->unjudged[0] = c->unjudged[1];
    if (c->unjudged[0]) {
        if (!c->at_end) status = kd_probe_set(c->probe, x);
        return status < 0 ? status : kd_probe_reach(c->probe, KD_STAGE_VELOCITY);
    }
    if (!c->at_end) status = kd_probe_set_with(c->probe, x, c->judged);
    return status < 0 ? status : kd_probe_reach(c->probe, KD_STAGE_ACCELERATION);
}

// The work up to x, then the point of evaluation at x with the acceleration that is judged, then the energies there
static kd_status measure_energies(kd_certifier *c, kd_simulation *simulation, const kd_state *x, kd_energies *energies)
{
    kd_status status = KD_OK;
    // first state, behind an instant, or a step
    if (c->certificate.has_energy)
        status = c->certificate.states == 0          ? kd_certifier_start_work(c, simulation, x)
                 : is_jump(c, x)                     ? jump(c, simulation, x)
                 : !simulation && x->t == c->t_known ? meet_inputs(c, x)
                                                     : kd_certifier_follow_steps(c, simulation, x);
    if (status >= 0) status = go_to_end(c, simulation, x);
    if (status < 0 || !c->certificate.has_energy) return status;
    // those of the end of a step are known
    if (is_end(c, simulation, x))
        *energies = c->end;
    else if (kd_eom_energies(c->data, energies) != KD_EVAL_OK)
        return kd_certifier_fault(c);
    note_energies(c, x->t, energies);
    return KD_OK;
}

// ---- looking --------------------------------------------------------------------------------------------------------

// Laws that no longer hold: their first time, and how often
static void look_for_cautions(kd_certifier *c, const kd_state *x)
{
    kd_certificate *k = &c->certificate;
    char            text[sizeof k->caution];
    if (!kd_eom_caution(c->data, text, sizeof text)) return;
    if (k->cautions++ > 0) return;
    k->caution_time = x->t;
    memcpy(k->caution, text, sizeof text);
}

// What is worth a word: the first time
static void look_for_notices(kd_certifier *c, const kd_state *x)
{
    kd_certificate *k = &c->certificate;
    char            text[sizeof k->notice];
    if (k->noticed || !kd_eom_notice(c->data, text, sizeof text)) return;
    k->noticed = true;
    k->notice_time = x->t;
    memcpy(k->notice, text, sizeof text);
}

kd_status kd_certifier_see(kd_certifier *c, kd_simulation *simulation, const kd_state *x)
{
    if (!c || !kd_state_fits(c->eom, x)) return KD_ERR_ARGUMENT;
    // nothing of a state that is no number would mean anything
    for (int i = 0; i < x->n; i++)
        if (!isfinite(x->p[i])) return KD_ERR_NOT_FINITE;
    kd_energies energies = {0};
    c->at_end = false;
    kd_status status = measure_energies(c, simulation, x, &energies);
    for (int i = 0; status >= 0 && !c->unjudged[0] && i < c->dims.nv; i++)
        if (!isfinite(c->a[i])) status = KD_ERR_NOT_FINITE;
    if (status >= 0) status = measure_all(c, x);
    if (status < 0) return status;
    widen_scale(c, x);
    look_for_cautions(c, x);
    look_for_notices(c, x);
    // slopes last: without energies they move the point
    status = measure_slopes(c, x, c->certificate.has_energy ? &energies : NULL);
    if (status < 0) return status;
    if (simulation) note_step(c, simulation);
    if (c->certificate.states == 0) c->certificate.t_start = x->t;
    c->certificate.t_end = x->t;
    if (c->last) kd_state_copy(x, c->last);
    c->certificate.states++;
    note_rounding(c);
    return KD_OK;
}

kd_findings kd_certifier_findings(const kd_certifier *c)
{
    if (!c) return (kd_findings){0};
    kd_findings found = c->findings;
    // accelerations that nothing was judged by are found for who asks; not a number where there are none
    if (c->unjudged[0] && kd_probe_reach(c->probe, KD_STAGE_ACCELERATION) < 0) {
        for (int i = 0; i < c->dims.nv; i++) c->solved[i] = NAN;
        found.a = c->solved;
    }
    return found;
}

kd_certificate kd_certifier_certificate(const kd_certifier *c)
{
    if (!c) return (kd_certificate){0};
    return c->certificate;
}
