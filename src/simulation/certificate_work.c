// certificate_work.c: the work of forces and drives along a run, for the energy balance of its certificate.
//
// The integral must be as accurate as the run. Each step is cut into segments (nearly always one); in each the
// powers are evaluated at the five Gauss-Lobatto points. The polynomial of degree 4 through them gives the work up to
// any time inside (local error h^6) and, at the end, the formula of degree 7. What that leaves out follows from how fast
// the Legendre coefficients of the power fall, c_k ~ rho^k: about c_3, c_4 times rho^4. A segment is halved where it is
// too much: mechanisms whose motion is prescribed make very long steps, of which nine or seventeen points (the extensions of
// Kronrod, Nodes and weights of quadrature formulas, 1965, and of Patterson, The optimum addition of points to quadrature
// formulae, Math. Comp. 22, 1968) take the whole. Behind a kink coefficients fall slowly.
//
// But that is the last resort. The polynomial through the powers at the ends of this step and of those before it costs
// nothing, and the middle of the step little: they do where the balance of the step agrees with them, within a part of
// what the quadrature may miss along the whole run.
//
// Powers of springs, dampers and forces depend on p, v and r only. Inside a step these are the polynomials of degree 5
// or 7 through values and rates (p' = Z v, v' = a, r' = b) at its ends and at the starts of the steps before (local error
// h^6, h^8), which cost nothing. Powers of drives depend on accelerations and multipliers: then, in the first steps, in
// long steps of high order, and where there are contact coordinates, states come from the dense output of the simulation.
#include "simulation/certificate_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "probe/probe.h"

static const double SMOOTH = 1e-9; // error of the work of a segment, relative to the energies, beyond which to halve,
static const double PART = 0.03;   // or this part of what errors of one tolerance explain
static const double CAUTION = 3;   // of the decay of Legendre coefficients over two pairs
// What a coarse look may miss along the run: so many times what errors of one tolerance explain, this part of the
// energies where that is not known (each 6 % of what the verdict allows), this part of what the caller allows the balance;
// in one step a part of what is left: less than the tolerance lets the step itself do
static const double MISSED = 30, MISSED_OF = 6e-5, OF_LIMIT = 0.1, OF_REST = 0.01;
static const double OF_ENDS = 0.03; // of that: for states by both ends of the step alone

static const double LEAP = 1e-5; // error of the balance in one step, relative to the energies: look for a leap,
static const double BEYOND = 10; // where errors of so many tolerances do not explain it
enum { LEAP_HALVES = 60 };       // of a step: then it is a unit of rounding
static const double COMPARABLE =
    0.1;                    // of a step: one before it that is shorter is no knot, its errors are extrapolated
enum { HERMITE_ORDER = 8 }; // steps of higher order are too long for polynomials through their ends

// Gauss-Lobatto points in [0, 1]: (1 - sqrt(3/7)) / 2 and its mirror image
static const double node[NODES] = {0, 0.17267316464601142810, 0.5, 0.82732683535398857190, 1};

// ---- powers ---------------------------------------------------------------------------------------------------------

// The point of evaluation is x; energies and powers there
static kd_status energies_here(kd_eom_data *data, kd_energies *e, double power[POWERS])
{
    *e = (kd_energies){0};
    if (kd_eom_energies(data, e) != KD_EVAL_OK) return kd_eom_data_fault(data).status;
    power[0] = e->dissipated;
    power[1] = e->supplied;
    return KD_OK;
}

// At a state of which nothing else is asked, in a point of its own: that of the probe stays at the end of the step
kd_status kd_certifier_energies_between(kd_certifier *c, const kd_state *x, kd_energies *e, double power[POWERS])
{
    if (kd_eom_at_state(c->between, &c->inputs, x, KD_STAGE_ACCELERATION) != KD_EVAL_OK)
        return kd_eom_data_fault(c->between).status;
    return energies_here(c->between, e, power);
}

// Powers of drives depend on accelerations and multipliers: those of the state are taken, a found where the state does
// not tell it. Without drives no accelerations are solved for.
static kd_status power_at(kd_certifier *c, kd_simulation *simulation, const kd_state *x, double power[POWERS],
                          double *energy)
{
    kd_energies e = {0};
    kd_status   status = KD_OK;
    if (!c->has_drives) {
        status = kd_certifier_energies_between(c, x, &e, power);
    } else {
        c->at_end = false;
        status = kd_certifier_go_to_judged(c, simulation, x);
        if (status >= 0) status = energies_here(c->data, &e, power);
    }
    *energy = e.kinetic + e.potential;
    return status;
}

// Do powers change with accelerations, auxiliary variables and multipliers? A drive that stands still does not tell, and
// one that begins with a kink must be known before its step is integrated: asked at every state until one is found.
// The point is at x, and is there again afterwards: positions, velocities and forces are not evaluated anew.
static kd_status look_for_drives(kd_certifier *c, const kd_state *x, const double here[POWERS])
{
    double      moved[POWERS] = {0};
    kd_energies e;
    kd_state   *y = c->inside;
    if (c->has_drives || kd_eom_definition(c->eom)->energies_of_motion) return KD_OK;
    // the same state with other accelerations and multipliers: do powers notice?
    kd_state_copy(x, y);
    for (int i = 0; i < c->dims.nv; i++) y->a[i] += 1 + 0.1 * i;
    for (int i = 0; i < c->dims.nw; i++) y->w[i] += 1 + 0.1 * i;
    for (int i = 0; i < c->dims.nlambda; i++) y->lambda[i] += 1 + 0.1 * i;
    for (int i = 0; i < c->dims.nmu; i++) y->mu[i] += 1 + 0.1 * i;
    kd_eom_at_acceleration(c->data, y->a, y->w, y->lambda, y->mu);
    if (energies_here(c->data, &e, moved) >= 0) // otherwise such accelerations do not occur
        c->has_drives = here[0] != moved[0] || here[1] != moved[1];
    return kd_probe_reach(c->probe, KD_STAGE_ACCELERATION);
}

// ---- states inside a step -------------------------------------------------------------------------------------------

// Rates at a point that is there: p' = Z v, v' = a, r' = b
static kd_eval rate_knot(kd_certifier *c, kd_eom_data *data, const double *a, knot *k)
{
    const kd_dims d = c->dims;
    memcpy(k->rate + d.np, a, (size_t)d.nv * sizeof(double));
    kd_eval answer = kd_eom_eval(data, KD_KINEMATICS, k->rate);
    if (answer == KD_EVAL_OK && d.nr > 0) answer = kd_eom_eval(data, KD_B, k->rate + d.np + d.nv);
    k->rated = answer == KD_EVAL_OK;
    return answer;
}

// The end of a step, where the point is, as a knot of the interpolation; the oldest one is dropped. Rates of a state that
// is judged without accelerations wait until somebody looks inside
static kd_status add_knot(kd_certifier *c, const kd_state *x)
{
    kd_dims d = c->dims;
    knot    old = c->knot[0];
    // pointers go round: the oldest gets the new content
    memmove(c->knot, c->knot + 1, (KNOTS - 1) * sizeof *c->knot);
    c->knot[KNOTS - 1] = old;
    knot *k = &c->knot[KNOTS - 1];
    k->t = x->t;
    memcpy(k->x, x->p, (size_t)(d.np + d.nv + d.nr) * sizeof(double)); // p, v and r are neighbours in a state
    k->rated = false;
    if (!c->unjudged[1] && rate_knot(c, c->data, x->unsolved ? c->a : x->a, k) != KD_EVAL_OK)
        return kd_certifier_fault(c);
    if (c->nknots < KNOTS) c->nknots++;
    return KD_OK;
}

// All that is asked of the last n knots; false: accelerations cannot be solved for at one of them
static bool rate_knots(kd_certifier *c, const kd_simulation *simulation, int n)
{
    const kd_dims d = c->dims;
    kd_state     *y = c->inside;
    bool          good = true;
    c->peeks = true;
    for (knot *k = &c->knot[KNOTS - n]; good && k < c->knot + KNOTS; k++) {
        if (k->rated) continue;
        // inputs and discrete states do not change between knots
        kd_state_copy(kd_simulation_state(simulation), y);
        y->t = k->t;
        memcpy(y->p, k->x, (size_t)(d.np + d.nv + d.nr) * sizeof(double));
        good = kd_eom_at_state(c->between, &c->inputs, y, KD_STAGE_VELOCITY) == KD_EVAL_OK;
        if (!good) break;
        kd_eom_at_acceleration(c->between, NULL, y->w, y->lambda, y->mu);
        good = kd_eom_acceleration(c->between, c->solved) == KD_EVAL_OK &&
               rate_knot(c, c->between, c->solved, k) == KD_EVAL_OK;
    }
    return good;
}

// Is the end of a step judged without accelerations? Where nothing depends on them but the rates of knots, and no knot
// was asked for in the step before
static bool leaves_accelerations(const kd_certifier *c, const kd_simulation *simulation, const kd_state *x)
{
    return c->plain && !c->peeks && simulation && x == kd_simulation_state(simulation);
}

// All that is asked of the end of a step, with one evaluation: powers, energies, rates
static kd_status see_end(kd_certifier *c, kd_simulation *simulation, const kd_state *x, double power[POWERS])
{
    kd_energies e = {0};
    c->unjudged[1] = leaves_accelerations(c, simulation, x);
    kd_status status = c->unjudged[1] ? kd_probe_set(c->probe, x) : kd_certifier_go_to_judged(c, simulation, x);
    if (status >= 0 && c->unjudged[1]) status = kd_probe_reach(c->probe, KD_STAGE_VELOCITY);
    if (status >= 0) status = energies_here(c->data, &e, power);
    c->energy_end = e.kinetic + e.potential;
    c->end = e;
    if (status >= 0 && !c->unjudged[1]) memcpy(c->judged, c->a, (size_t)c->dims.nv * sizeof *c->a);
    if (status >= 0 && simulation) status = add_knot(c, x);
    if (status >= 0 && simulation) status = look_for_drives(c, x, power);
    c->at_end = status >= 0;
    return status;
}

// Weights at t of the values and rates at n knots, whose polynomial of degree 2 n - 1 they make (Hermite): with
// Lagrange's L_k, (1 - 2 (t - t_k) L_k'(t_k)) L_k^2 and (t - t_k) L_k^2
static void hermite_weights(const knot *k, int n, double t, double *value, double *rate)
{
    for (int i = 0; i < n; i++) {
        double L = 1, slope = 0;
        for (int j = 0; j < n; j++) {
            if (j == i) continue;
            L *= (t - k[j].t) / (k[i].t - k[j].t);
            slope += 1 / (k[i].t - k[j].t);
        }
        value[i] = (1 - 2 * (t - k[i].t) * slope) * L * L;
        rate[i] = (t - k[i].t) * L * L;
    }
}

// Knots that a polynomial goes through, the last ones: all, or three, whose steps are long enough that errors are not
// extrapolated. 0: there are not so many, or steps are of an order that is too high for them
static int useful_knots(const kd_certifier *c, const kd_simulation *simulation)
{
    const knot  *end = &c->knot[KNOTS - 1];
    const double least = COMPARABLE * (end[0].t - end[-1].t);
    if (c->nknots < 3 || kd_simulation_stats(simulation).order_last > HERMITE_ORDER) return 0;
    int n = 2;
    while (n < c->nknots && end[1 - n].t - end[-n].t >= least) n++;
    return n < 3 ? 0 : n;
}

// The state at a time in the last step by the last n knots: what powers of motion need
static void interpolate_state(kd_certifier *c, const kd_simulation *simulation, int n, double t)
{
    kd_dims d = c->dims;
    kd_state_copy(kd_simulation_state(simulation), c->inside);
    c->inside->t = t;
    c->inside->unsolved = true;
    // values as changes from the end: large coordinates keep their digits
    const knot *k = &c->knot[KNOTS - n], *end = &c->knot[KNOTS - 1];
    double      value[KNOTS], rate[KNOTS];
    hermite_weights(k, n, t, value, rate);
    const int     count = d.np + d.nv + d.nr;
    const double *last = end->x;
    double *restrict x = c->inside->p;
    memset(x, 0, (size_t)count * sizeof *x);
    for (int j = 0; j < n; j++) {
        const double *at = k[j].x, *slope = k[j].rate;
        const double  by_value = value[j], by_rate = rate[j];
        for (int i = 0; i < count; i++) x[i] += by_value * (at[i] - last[i]) + by_rate * slope[i];
    }
    for (int i = 0; i < count; i++) x[i] += last[i];
}

// No polynomial knows contact coordinates, accelerations and multipliers
static bool is_of_motion(const kd_certifier *c)
{
    return !c->has_drives && c->dims.ns == 0;
}

// Are accelerations all that powers depend on beside motion, which they follow from?
static bool is_solved(const kd_certifier *c)
{
    const kd_dims d = c->dims;
    return c->has_drives && d.nlambda + d.nmu + d.nw + d.ns == 0 && kd_eom_definition(c->eom)->acceleration;
}

// The state at a time in the last step, as far as powers need it
static kd_status go_inside(kd_certifier *c, kd_simulation *simulation, double t)
{
    // no polynomial where it would extrapolate errors, or does not know what powers need
    const int n = is_of_motion(c) ? useful_knots(c, simulation) : 0;
    if (n == 0 || !rate_knots(c, simulation, n)) return kd_simulation_inside(simulation, t, c->inside);
    interpolate_state(c, simulation, n, t);
    return KD_OK;
}

// ---- work -----------------------------------------------------------------------------------------------------------

// Integral from 0 to theta of the polynomial through the powers at the nodes: Lagrange's form, three Gauss points
static double work_up_to(const segment *s, double theta, int which)
{
    static const double gauss[3] = {-0.77459666924148337704, 0, 0.77459666924148337704}, weight[3] = {5, 8, 5};
    double              sum = 0;
    // three Gauss points integrate degree 4 exactly; their weights sum up to 18
    for (int g = 0; g < 3; g++) {
        double at = 0.5 * theta * (1 + gauss[g]);
        for (int j = 0; j < NODES; j++) {
            double L = 1;
            for (int k = 0; k < NODES; k++)
                if (k != j) L *= (at - node[k]) / (node[j] - node[k]);
            sum += weight[g] * L * s->power[j][which];
        }
    }
    return (s->t1 - s->t0) * theta * sum / 18 + theta * s->more[which];
}

// The whole of a segment: the formula itself (weights 9, 49 and 64 of 180), and what closer looks add to it
static double work_of(const segment *s, int which)
{
    const double *first = s->power[0], *second = s->power[1], *fourth = s->power[3], *fifth = s->power[4];
    const double  sum =
        9 * (first[which] + fifth[which]) + 49 * (second[which] + fourth[which]) + 64 * s->power[2][which];
    return (s->t1 - s->t0) * sum / 180 + s->more[which];
}

// Legendre coefficients of the polynomial through the powers at -1, -z, 0, z, 1, z^2 = 3/7: sums with the weights of the
// formula, 9, 49 and 64 parts of 90, over the square of P_k, of which the formula makes 2, 2/3, 2/5, 2/7 and 1/2
static void find_coefficients(const segment *s, int which, double c[5])
{
    const double z = 0.65465367070797714380;
    const double odd[2] = {s->power[4][which] - s->power[0][which], s->power[3][which] - s->power[1][which]};
    const double even[2] = {s->power[4][which] + s->power[0][which], s->power[3][which] + s->power[1][which]};
    const double middle = s->power[2][which];
    c[0] = (9 * even[0] + 49 * even[1] + 64 * middle) / 180;
    c[1] = 3 * (9 * odd[0] + 49 * z * odd[1]) / 180;
    c[2] = 5 * (9 * even[0] + 49 * even[1] / 7 - 32 * middle) / 180;
    c[3] = 7 * (9 * odd[0] - 49 * 3 * z / 7 * odd[1]) / 180;
    c[4] = (9 * even[0] - 49 * 3 * even[1] / 7 + 24 * middle) / 45;
}

// [J] the error of the work of a step that is small enough for a coarse look, beside rounding and what is left of all
// that may be missed
static double enough_of(const kd_certifier *c)
{
    return OF_REST * fmax(c->most - kd_missed_total(&c->missed), c->certificate.energy_rounding);
}

// [J] what the balance of a segment lacks
static double missing_of(const segment *s)
{
    return s->energy[NODES - 1] - s->energy[0] + work_of(s, 0) - work_of(s, 1);
}

// [J] the error of the work of a segment that is small enough, beside the energies of the run and beside what its tolerance
// lets them be
static double agreement_of(const kd_certifier *c)
{
    return fmax(fmax(SMOOTH * c->certificate.energy_scale, c->explained), enough_of(c));
}

// Is the error of the work so small?
static bool is_smooth(kd_certifier *c, const segment *s)
{
    const double enough = agreement_of(c);
    double       most = 0;
    for (int which = 0; which < POWERS; which++) {
        double k[5];
        find_coefficients(s, which, k);
        // rho^2 from pairs of coefficients: even or odd ones alone may vanish. The formula misses those behind degree 7,
        // two pairs further. The decay of two pairs says little where steps are long beside the motion, as those of
        // drives are: one pair is counted only then (a driven cam: 7e-7 J missed with both)
        const double last = fmax(fabs(k[3]), fabs(k[4])), first = fmax(fabs(k[1]), fabs(k[2]));
        const double pair = last < first ? last / first : 1, h = s->t1 - s->t0;
        const double fall = c->has_drives ? pair : fmin(pair, CAUTION * pair * pair);
        if (h * last * fall > fmax(enough, SMOOTH * h * fabs(k[0]))) return false;
        most = fmax(most, h * last * fall);
    }
    kd_missed_add(&c->missed, missing_of(s), most);
    return true;
}

// Work of a segment that is ready; its end is the start of the next
static void close_segment(kd_certifier *c, segment *s)
{
    memcpy(s->work, c->work, sizeof s->work);
    for (int which = 0; which < POWERS; which++) c->work[which] += work_of(s, which);
    memcpy(c->power, s->power[NODES - 1], sizeof c->power);
    c->t_known = s->t1;
    c->segment[c->nsegments++] = *s;
}

// Does the work fit the energies at both ends, within this part of what is enough? Then nothing is gained by a closer look
static bool fits_energies(kd_certifier *c, const segment *s, double part)
{
    const double missing = missing_of(s);
    if (!(fabs(missing) <= part * enough_of(c))) return false;
    kd_missed_add(&c->missed, missing, INFINITY);
    return true;
}

// From t_known to t1, with the powers at both ends, linear in between
static segment open_segment(const kd_certifier *c, double t1, const double end[POWERS])
{
    segment s = {.t0 = c->t_known, .t1 = t1};
    s.energy[0] = c->energy_known;
    s.energy[NODES - 1] = c->energy_end;
    for (int j = 0; j < NODES; j++)
        for (int which = 0; which < POWERS; which++)
            s.power[j][which] = c->power[which] + node[j] * (end[which] - c->power[which]);
    return s;
}

// ---- work by the steps before ---------------------------------------------------------------------------------------
//
// Where steps are short beside what powers do, the polynomial of degree 4 through the powers at the ends of this step and
// of three before it has them inside, too (implicit Adams formula of order 5 with variable steps).

static void keep_moment(kd_certifier *c, double t, const double power[POWERS])
{
    // the oldest one goes
    if (c->npast == PAST) memmove(c->past, c->past + 1, (PAST - 1) * sizeof *c->past);
    if (c->npast < PAST) c->npast++;
    moment *m = &c->past[c->npast - 1];
    m->t = t;
    memcpy(m->power, power, sizeof m->power);
}

// Powers at the inner nodes by the polynomial through n moments, both ends of the segment among them: Newton's divided
// differences from the latest one back, so that the last term is what the oldest one changes. *by_oldest: [J] that it
// changes the work by
static void interpolate_powers(const moment *m, int n, segment *s, double *by_oldest)
{
    static const double weight[NODES] = {9, 49, 64, 49, 9};
    double              t[PAST + 2], c[PAST + 2][POWERS], oldest[POWERS] = {0};
    for (int i = 0; i < n; i++) {
        t[i] = m[n - 1 - i].t;
        memcpy(c[i], m[n - 1 - i].power, sizeof c[i]);
    }
    for (int k = 1; k < n; k++)
        for (int i = n - 1; i >= k; i--)
            for (int which = 0; which < POWERS; which++)
                c[i][which] = (c[i][which] - c[i - 1][which]) / (t[i] - t[i - k]);
    for (int j = 1; j < NODES - 1; j++) {
        const double at = s->t0 + node[j] * (s->t1 - s->t0);
        double       product = 1;
        for (int i = 0; i < n - 1; i++) product *= at - t[i];
        for (int which = 0; which < POWERS; which++) {
            double sum = c[n - 1][which];
            for (int i = n - 2; i >= 0; i--) sum = c[i][which] + (at - t[i]) * sum;
            s->power[j][which] = sum;
            oldest[which] += weight[j] * c[n - 1][which] * product;
        }
    }
    *by_oldest = (s->t1 - s->t0) / 180 * (fabs(oldest[0]) + fabs(oldest[1]));
}

// The segment by n moments: is its work accurate enough, by what the oldest of them changes, and do the energies say no more
// than what the integrator may have done to them?
static bool is_settled(kd_certifier *c, const moment *m, int n, segment *s)
{
    double differ;
    interpolate_powers(m, n, s, &differ);
    const double missing = missing_of(s);
    if (!(differ <= enough_of(c) && fabs(missing) <= fmax(enough_of(c), c->explained / PART))) return false;
    kd_missed_add(&c->missed, missing, differ);
    return true;
}

// The step from t_known to t1 without any evaluation inside; false: that is not accurate enough, by what the oldest
// moment changes, or does not fit the energies
static bool add_by_past(kd_certifier *c, double t1, const double end[POWERS], bool whole)
{
    moment    m[PAST + 1];
    segment   s = open_segment(c, t1, end);
    const int n = c->npast;
    if (n == 0 || c->past[n - 1].t != c->t_known || (n < PAST && !whole)) return false;
    memcpy(m, c->past, (size_t)n * sizeof *m);
    m[n].t = t1;
    memcpy(m[n].power, end, sizeof m[n].power);
    if (n < PAST) interpolate_powers(m, n + 1, &s, &(double){0});
    if (!(n == PAST && is_settled(c, m, n + 1, &s)) && !(whole && fits_energies(c, &s, n < PAST ? OF_ENDS : 1)))
        return false;
    close_segment(c, &s);
    return true;
}

// ---- work by a look inside ------------------------------------------------------------------------------------------

// The powers at node j of a segment
static kd_status look_inside(kd_certifier *c, kd_simulation *simulation, segment *s, int j)
{
    kd_status status = go_inside(c, simulation, s->t0 + node[j] * (s->t1 - s->t0));
    return status < 0 ? status : power_at(c, simulation, c->inside, s->power[j], &s->energy[j]);
}

// Moments before a segment that go on to its start at distances that are not short beside it
static int useful_moments(const kd_certifier *c, const segment *s)
{
    const double  least = 0.5 * COMPARABLE * (s->t1 - s->t0);
    const moment *last = c->past + c->npast - 1;
    int           n = 0;
    if (c->npast > 0 && last->t == s->t0) n = 1;
    while (n > 0 && n < c->npast && last[1 - n].t - last[-n].t >= least) n++;
    return n;
}

// The middle of the step is known: powers at the other nodes by the polynomial through both ends, the middle and what was
// seen before, a parabola at least. true: that is accurate enough; inside: for times before the end, too, where a parabola
// is not (h^4)
static bool fill_by_middle(kd_certifier *c, segment *s, double part, bool inside)
{
    const int before = useful_moments(c, s);
    moment    m[PAST + 2], *next = m;
    // from the oldest one to the start, the middle, the end
    if (before > 0) memcpy(m, c->past + c->npast - before, (size_t)before * sizeof *m);
    next += before;
    if (before == 0) {
        next->t = s->t0;
        memcpy(next++->power, s->power[0], sizeof m->power);
    }
    next->t = s->t0 + 0.5 * (s->t1 - s->t0);
    memcpy(next->power, s->power[2], sizeof m->power);
    c->middle = *next++;
    next->t = s->t1;
    memcpy(next++->power, s->power[NODES - 1], sizeof m->power);
    const int n = (int)(next - m);
    if (n >= NODES && is_settled(c, m, n, s)) return true;
    if (n < NODES) interpolate_powers(m, n, s, &(double){0});
    return (!inside || n > NODES) && fits_energies(c, s, part);
}

// Without a look inside
static void add_line(kd_certifier *c, double t1, const double end[POWERS])
{
    segment s = open_segment(c, t1, end);
    close_segment(c, &s);
}

// Both halves of a segment with the powers at their nodes; their work is that of the whole within the error: true
static bool halves_agree(const kd_certifier *c, const segment *s, const segment half[2])
{
    double differ = 0;
    for (int which = 0; which < POWERS; which++)
        differ += fabs(work_of(&half[0], which) + work_of(&half[1], which) - work_of(s, which));
    return differ <= agreement_of(c);
}

// ---- work by more nodes ---------------------------------------------------------------------------------------------
//
// The five points of Gauss and Lobatto can be extended twice so that all of them count again: by four (Kronrod's way,
// exact to degree 13) and by eight more (Patterson's, to degree 25). Where steps are long beside a motion that is smooth,
// as those of drives are, that is far less than what halves need.

enum { PAIRS = 9, MORE_NODES = 3 }; // the whole step, its halves and quarters: behind that there is a kink
// Nodes in the left half of [0, 1] in the order in which they come, the middle third, and the weights of both formulas:
// made with 50 digits from the conditions that q E x^k has no integral, q the polynomial of the nodes that are known, E
// that of the new ones, k below its degree
// clang-format off
static const double further_node[PAIRS] = {
    0, 0.17267316464601142810, 0.5, 0.054797236243665606715, 0.32950886704450351424, 0.016900068453146073831,
    0.10879197943976922961, 0.24554939936530273343, 0.41783128041760753802};
static const double further_weight[2][PAIRS] = {
    {0.015321869488536155203, 0.14198938902406055691, 0.17188104360518153622, 0.089631349776603677990,
     0.16711686990820884179, 0, 0, 0, 0},
    {0.0046657035198742488916, 0.067801437802545282612, 0.079443959392825370454, 0.046990759114075110184,
     0.088082559871010541443, 0.028000190391696647781, 0.059812584159555470853, 0.078618522342789699383,
     0.086306263102040313625}};
// clang-format on

// The powers at both nodes of pair k
static kd_status look_at_pair(kd_certifier *c, kd_simulation *simulation, const segment *s, int k, double sum[POWERS])
{
    kd_status status = KD_OK;
    for (int side = 0; side < 2 && status >= 0; side++) {
        double       power[POWERS] = {0}, energy;
        const double theta = side == 0 ? further_node[k] : 1 - further_node[k];
        status = go_inside(c, simulation, s->t0 + theta * (s->t1 - s->t0));
        if (status >= 0) status = power_at(c, simulation, c->inside, power, &energy);
        for (int which = 0; which < POWERS; which++) sum[which] += power[which];
    }
    return status;
}

// A segment with the powers at its nodes by nine, then by seventeen of them. *good: they agree with those before, or fit the
// energies at the ends within this part of what is enough
static kd_status add_nodes(kd_certifier *c, kd_simulation *simulation, segment *s, double part, bool *good)
{
    static const int known[3] = {3, 5, PAIRS};
    double           pair[PAIRS][POWERS] = {{0}};
    *good = false;
    for (int which = 0; which < POWERS; which++) {
        pair[0][which] = s->power[0][which] + s->power[4][which];
        pair[1][which] = s->power[1][which] + s->power[3][which];
        pair[2][which] = s->power[2][which];
    }
    for (int rule = 0; rule < 2 && !*good; rule++) {
        const double before = fabs(missing_of(s));
        double       differ = 0;
        for (int k = known[rule]; k < known[rule + 1]; k++) {
            const kd_status status = look_at_pair(c, simulation, s, k, pair[k]);
            if (status < 0) return status;
        }
        for (int which = 0; which < POWERS; which++) {
            double sum = 0;
            for (int k = 0; k < known[rule + 1]; k++) sum += further_weight[rule][k] * pair[k][which];
            const double change = (s->t1 - s->t0) * sum - work_of(s, which);
            s->more[which] += change;
            differ += fabs(change);
        }
        *good = differ <= agreement_of(c);
        if (*good)
            kd_missed_add(&c->missed, missing_of(s), differ);
        else
            *good = fits_energies(c, s, part);
        // what the balance lacks falls with the degree (7, 13, 25): too slowly for seventeen of them?
        const double missing = fabs(missing_of(s)), ratio = missing / before;
        if (!(missing * ratio * ratio <= part * enough_of(c))) break;
    }
    if (!*good) memset(s->more, 0, sizeof s->more);
    return KD_OK;
}

static kd_status split(kd_certifier *c, kd_simulation *simulation, const segment *s, int depth, bool whole);

// A segment with the powers at its nodes: smooth, as its energies want it where only its end is asked for, or halved often
// enough, its work counts
static kd_status add_segment(kd_certifier *c, kd_simulation *simulation, segment *s, int depth, bool whole)
{
    bool good =
        depth >= MAX_DEPTH || is_smooth(c, s) || ((whole || depth == 0) && fits_energies(c, s, ldexp(1, -depth)));
    if (!good && whole && depth < MORE_NODES) {
        const kd_status status = add_nodes(c, simulation, s, ldexp(1, -depth), &good);
        if (status < 0) return status;
    }
    if (!good) return split(c, simulation, s, depth, whole);
    close_segment(c, s);
    return KD_OK;
}

// Two halves, the first one ends with the power in the middle
static kd_status split(kd_certifier *c, kd_simulation *simulation, const segment *s, int depth, bool whole)
{
    segment half[2] = {{.t0 = s->t0, .t1 = s->t0 + 0.5 * (s->t1 - s->t0)}};
    half[1].t0 = half[0].t1;
    half[1].t1 = s->t1;
    for (int k = 0; k < 2; k++) {
        memcpy(half[k].power[0], s->power[2 * k], sizeof s->power[0]);
        memcpy(half[k].power[NODES - 1], s->power[2 * k + 2], sizeof s->power[0]);
        half[k].energy[0] = s->energy[2 * k];
        half[k].energy[NODES - 1] = s->energy[2 * k + 2];
        for (int j = 1; j < NODES - 1; j++) {
            kd_status status = look_inside(c, simulation, &half[k], j);
            if (status < 0) return status;
        }
    }
    // what they change is more than what they miss
    if (halves_agree(c, s, half)) depth = MAX_DEPTH - 1;
    kd_status status = add_segment(c, simulation, &half[0], depth + 1, whole);
    return status < 0 ? status : add_segment(c, simulation, &half[1], depth + 1, whole);
}

// The dense output of a step costs as much as the step. Behind an instant there are no steps before this one: its middle
// by the cubic polynomial through values and rates at both ends. With drives, whose motion may be anything but a polynomial
// through ends of steps: by all of these. false: that does not fit the energies, and says nothing
static bool add_by_ends(kd_certifier *c, kd_simulation *simulation, double t1, const double end[POWERS])
{
    const knot *k = &c->knot[KNOTS - 2];
    const int   useful = useful_knots(c, simulation), n = is_solved(c) && useful > 0 ? useful : 2;
    segment     s = open_segment(c, t1, end);
    if (!is_of_motion(c) && !is_solved(c)) return false;
    if (c->nknots < 2 || k[0].t != s.t0 || k[1].t != t1 || useful > n || !rate_knots(c, simulation, n)) return false;
    interpolate_state(c, simulation, n, s.t0 + 0.5 * (s.t1 - s.t0));
    if (power_at(c, simulation, c->inside, s.power[2], &s.energy[2]) < 0) return false;
    if (!fill_by_middle(c, &s, n > 2 ? 1 : OF_ENDS, false)) return false;
    close_segment(c, &s);
    return true;
}

// The work of a step: by its middle where that is enough; by all nodes, by halves
static kd_status add_step(kd_certifier *c, kd_simulation *simulation, double t1, const double end[POWERS], bool whole)
{
    segment s = open_segment(c, t1, end);
    if (whole && add_by_ends(c, simulation, t1, end)) return KD_OK;
    kd_status status = look_inside(c, simulation, &s, 2);
    if (status < 0) return status;
    const bool good = fill_by_middle(c, &s, 1, !whole);
    for (int j = 1; j < NODES - 1 && !good; j += 2) {
        status = look_inside(c, simulation, &s, j);
        if (status < 0) return status;
    }
    if (!good) return add_segment(c, simulation, &s, 0, whole);
    close_segment(c, &s);
    return KD_OK;
}

// ---- leaps of the potential energy ----------------------------------------------------------------------------------
//
// A spring whose end jumps with a law (a road with a step) gets energy from outside in no time, without an impulse: p
// and v go on. No power tells it, and no instant.

static kd_status potential_inside(kd_certifier *c, kd_simulation *simulation, double t, double *potential)
{
    double      power[POWERS];
    kd_energies e = {0};
    kd_status   status = kd_simulation_inside(simulation, t, c->inside);
    if (status >= 0) status = kd_certifier_energies_between(c, c->inside, &e, power);
    *potential = e.potential;
    return status;
}

// Halves of the step in which the potential energy changes more, as long as it is most of what the balance misses
static kd_status find_leap(kd_certifier *c, kd_simulation *simulation, double t0, double t1, double missing)
{
    double    a = t0, b = t1, at[3] = {0};
    kd_status status = potential_inside(c, simulation, a, &at[0]);
    if (status >= 0) status = potential_inside(c, simulation, b, &at[2]);
    for (int k = 0; k < LEAP_HALVES && status >= 0; k++) {
        // the half with the larger change; when it has lost half of what is missing it was no leap
        const double t = a + 0.5 * (b - a);
        if (!(t > a && t < b)) break;
        status = potential_inside(c, simulation, t, &at[1]);
        const bool left = fabs(at[1] - at[0]) > fabs(at[2] - at[1]);
        *(left ? &b : &a) = t;
        at[left ? 2 : 0] = at[1];
        if (!(fabs(at[2] - at[0]) > 0.5 * fabs(missing))) return status;
    }
    c->leap = at[2] - at[0];
    c->t_leap = b;
    return status;
}

static void book_leap(kd_certifier *c)
{
    c->jumps[c->leap > 0] += fabs(c->leap);
    c->leap = 0;
}

// The step from t0 with the end x, whose work is known: does its balance miss a leap?
static kd_status look_for_leap(kd_certifier *c, kd_simulation *simulation, double t0, const double before[POWERS])
{
    const kd_state *x = kd_simulation_state(simulation);
    // what the balance of this step lacks
    const double missing = c->energy_end - c->energy_known + c->work[0] - before[0] - (c->work[1] - before[1]);
    c->energy_known = c->energy_end;
    const double noise = fmax(c->certificate.energy_rounding, BEYOND / PART * c->explained);
    if (!(fabs(missing) > fmax(LEAP * c->certificate.energy_scale, noise))) return KD_OK;
    return find_leap(c, simulation, fmax(t0, kd_simulation_step_start(simulation)), x->t, missing);
}

// What the tolerance of the simulation explains, as far as slopes are known
static void note_tolerance(kd_certifier *c, const kd_simulation *simulation)
{
    const kd_tolerances tolerances = kd_simulation_tolerances(simulation);
    if (!simulation) return;
    c->certificate.rtol = tolerances.rtol;
    c->certificate.atol = tolerances.atol;
    const double explained = kd_certificate_energy_explained(&c->certificate), scale = c->certificate.energy_scale;
    c->explained = explained > 0 ? PART * explained : 0;
    c->most = isnan(explained) ? MISSED_OF * scale : MISSED * explained;
    // a limit of the caller counts, too
    if (!isnan(c->limits.energy)) c->most = fmin(c->most, OF_LIMIT * c->limits.energy * scale);
}

// The step of the simulation that x lies in. A step without power at both ends is not looked into: what little could
// happen there would show in the balance.
kd_status kd_certifier_follow_steps(kd_certifier *c, kd_simulation *simulation, const kd_state *x)
{
    const kd_state *last = simulation ? kd_simulation_state(simulation) : x;
    double          start = simulation ? kd_simulation_step_start(simulation) : c->t_known, end[POWERS] = {0};
    kd_status       status = KD_OK;
    // the same step once more: its work is known
    if (last->t <= c->t_known) return KD_OK;
    // a new step: leaps of the last one are booked for good
    const double t0 = c->t_known, before[POWERS] = {c->work[0], c->work[1]};
    c->nsegments = 0;
    c->middle.t = t0;
    book_leap(c);
    // a driver may show only some states: work of the steps between is a trapezoid
    if (start > c->t_known) { // steps that were not shown
        status = kd_simulation_inside(simulation, start, c->inside);
        if (status >= 0) status = power_at(c, simulation, c->inside, end, &(double){0});
        if (status >= 0) add_line(c, start, end);
        c->nsegments = c->nknots = c->npast = 0;
    }
    // the end with its rates; what errors explain, where the energies have outgrown what it was found with
    if (status >= 0) status = see_end(c, simulation, last, end);
    if (status >= 0 && simulation) status = kd_certifier_renew_slopes(c, last);
    if (status < 0) return status;
    note_tolerance(c, simulation);
    c->peeks = false;
    // then the powers of all nodes
    bool has_power = c->power[0] != 0 || c->power[1] != 0 || end[0] != 0 || end[1] != 0;
    if (!has_power)
        c->t_known = last->t;
    else if (!simulation)
        add_line(c, last->t, end);
    else if (!add_by_past(c, last->t, end, x->t >= last->t))
        status = add_step(c, simulation, last->t, end, x->t >= last->t);
    if (status >= 0 && simulation && c->middle.t > t0) keep_moment(c, c->middle.t, c->middle.power);
    if (status >= 0 && simulation) keep_moment(c, last->t, end);
    return status >= 0 && simulation ? look_for_leap(c, simulation, t0, before) : status;
}

// Work from the start of the run to a time that is known
double kd_certifier_work_at(const kd_certifier *c, double t, int which)
{
    int i = 0;
    if (t >= c->t_known || c->nsegments == 0) return c->work[which];
    // the segment that t lies in
    while (i + 1 < c->nsegments && t > c->segment[i].t1) i++;
    const segment *s = &c->segment[i];
    return s->work[which] + work_up_to(s, (t - s->t0) / (s->t1 - s->t0), which);
}

kd_status kd_certifier_start_work(kd_certifier *c, kd_simulation *simulation, const kd_state *x)
{
    // knots, drives and powers of the first state; the balance starts with its energies
    kd_status status = see_end(c, simulation, x, c->power);
    c->npast = 0;
    if (status >= 0 && simulation) keep_moment(c, x->t, c->power);
    c->t_known = x->t;
    c->energy_known = c->energy_end;
    book_leap(c);
    return status;
}
