// enclosure.c: ranges of what expressions read, along the motion between two points of a step.
// Method: docs/methods/intervals.md
//
// Of a quantity s with known s, s', s'' at both ends the motion is the quintic of Hermite, with known s, s' the cubic;
// polynomials in Bernstein's form lie within the hull of their coefficients, and so do their derivatives (Farin: Curves
// and Surfaces for CAGD, ch. 5). The motion is not a polynomial: ranges are widened by the difference to the polynomial
// of the next lower order in the middle, which is 0 for cubics.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/pi.h"
#include "element/touch.h"
#include "math/space.h"
#include "system/unseen.h"

#define TURNED 1.0 // [rad] farther joints show nothing of where bodies have been by what is known at the ends

static const kd_interval all = {-INFINITY, INFINITY};

// range of all coefficients, wider by margin; a NaN among them makes it everything
static kd_interval hull(const double *c, int n, double margin)
{
    kd_interval range = {c[0], c[0]};
    for (int i = 1; i < n; i++) {
        range.lower = fmin(range.lower, c[i]);
        range.upper = fmax(range.upper, c[i]);
    }
    // rounding of the coefficients, where they are not all the same
    if (range.lower < range.upper) margin += 8.0 * 2.2e-16 * fmax(fabs(range.lower), fabs(range.upper));
    range = (kd_interval){range.lower - margin, range.upper + margin};
    return range.lower <= range.upper ? range : all;
}

// ---- polynomials ----------------------------------------------------------------------------------------------------

// One value of a quantity and how it moves, at both ends of a step h
typedef struct ends {
    double h, s[2], v[2], a[2];
} ends;

// coefficients of Bernstein: value, slope and curvature at both ends
static void quintic(const ends *e, double b[6])
{
    const double h = e->h;
    b[0] = e->s[0];
    b[1] = e->s[0] + h * e->v[0] / 5.0;
    b[2] = e->s[0] + h * (2.0 * e->v[0] / 5.0 + h * e->a[0] / 20.0);
    b[3] = e->s[1] - h * (2.0 * e->v[1] / 5.0 - h * e->a[1] / 20.0);
    b[4] = e->s[1] - h * e->v[1] / 5.0;
    b[5] = e->s[1];
}

// s: the cubic differs in the middle by h/64 (2 (v0 - v1) + h (a0 + a1))
static kd_interval range_of_value(const ends *e)
{
    double b[6];
    quintic(e, b);
    return hull(b, 6, fabs(e->h / 64.0 * (2.0 * (e->v[0] - e->v[1]) + e->h * (e->a[0] + e->a[1]))));
}

// s': the cubic of s', s''. Its mean is (s1 - s0)/h up to its error, which has the shape x^2 (1 - x)^2: at most 15/8 of
// its mean.
static kd_interval range_of_rate(const ends *e)
{
    const double h = e->h;
    const double b[4] = {e->v[0], e->v[0] + h * e->a[0] / 3.0, e->v[1] - h * e->a[1] / 3.0, e->v[1]};
    const double mean = (b[0] + b[1] + b[2] + b[3]) / 4.0;
    return hull(b, 4, h > 0.0 ? 15.0 / 8.0 * fabs((e->s[1] - e->s[0]) / h - mean) : 0.0);
}

// s'': the second derivative of the quintic; it moves away from a straight line as that of the cubic of s' does, by
// h a'. Second differences of b lose digits by 1 / h^2
static kd_interval range_of_acceleration(const ends *e)
{
    double b[6], d[4] = {e->a[0], 0.0, 0.0, e->a[1]}, largest = 0.0;
    quintic(e, b);
    for (int i = 0; i < 6; i++) largest = fmax(largest, fabs(b[i]));
    // inner coefficients by second differences of those of s
    for (int i = 1; i < 3 && e->h > 0.0; i++) d[i] = 20.0 * (b[i + 2] - 2.0 * b[i + 1] + b[i]) / (e->h * e->h);
    const double bend = fmax(fabs(d[1] - (2.0 * d[0] + d[3]) / 3.0), fabs(d[2] - (d[0] + 2.0 * d[3]) / 3.0));
    return e->h > 0.0 ? hull(d, 4, 0.25 * bend + 80.0 * 2.2e-16 * largest / (e->h * e->h)) : hull(d, 4, 0.0);
}

// The same where s itself is not known (inner states with their rates, angular velocities): v, a hold value and slope
static kd_interval range_with_slope(const ends *e)
{
    const double h = e->h, bend = h * (e->a[0] - e->a[1]) / 8.0;
    const double b[4] = {e->v[0], e->v[0] + h * e->a[0] / 3.0, e->v[1] - h * e->a[1] / 3.0, e->v[1]};
    return hull(b, 4, 0.25 * fabs(bend));
}

// slope of that cubic: a parabola, which differs from the straight line by its middle coefficient
static kd_interval range_of_slope(const ends *e)
{
    const double h = e->h;
    if (!(h > 0.0)) return hull(e->a, 2, 0.0);
    const double middle = 3.0 * (e->v[1] - e->v[0]) / h - e->a[0] - e->a[1];
    const double d[3] = {e->a[0], middle, e->a[1]};
    const double noise = 12.0 * 2.2e-16 * fmax(fabs(e->v[0]), fabs(e->v[1])) / h;
    return hull(d, 3, 0.25 * fabs(middle - 0.5 * (e->a[0] + e->a[1])) + noise);
}

// ---- variables ------------------------------------------------------------------------------------------------------

static kd_interval range_of_measure(const kd_measure *m, const ends *e, int level)
{
    const double pi = KD_PI;
    // angular velocities have no value, only rates
    if (!kd_measure_has_value(m) && level == 0) return (kd_interval){0.0, 0.0};
    if (!kd_measure_has_value(m)) return level == 1 ? range_with_slope(e) : range_of_slope(e);
    // an angle that is not counted jumps by 2 pi: its range is all of them then, that of its rates not known
    const bool wraps =
        (m->kind == KD_MEASURE_ANGLE && m->turns < 0) || m->kind == KD_MEASURE_ROTATION || m->kind == KD_MEASURE_BEND;
    if (wraps && // jumped over pi
        fabs(e->s[1] - e->s[0] - 0.5 * e->h * (e->v[0] + e->v[1])) > pi)
        return level == 0 ? (kd_interval){-pi, pi} : all;
    return level == 0 ? range_of_value(e) : level == 1 ? range_of_rate(e) : range_of_acceleration(e);
}

// Of a body that joints have turned far in the step: it may have gone round, and be at the end what it was at the start. It is
// as fast as that everywhere, in any direction; parts of the step will tell more.
static kd_interval widened_by_turns(kd_interval a, const ends *e, int level)
{
    const double v = fabs(e->v[0]) + fabs(e->v[1]), b = fabs(e->a[0]) + fabs(e->a[1]), h = e->h;
    const double more = level == 0 ? h * (v + h * b) : level == 1 ? v + h * b : b;
    return (kd_interval){a.lower - more, a.upper + more};
}

static bool has_turned(const kd_work *w, const kd_measure *m, const kd_point *x0, const kd_point *x1)
{
    return m->kind != KD_MEASURE_DOF && (x1->t - x0->t) * kd_turning(w, m->pair, x0->v, x1->v) > TURNED;
}

// |d| has a kink where d goes through zero: points that fly past each other are far apart at both ends of a step. Its vector
// moves as coordinates do, component by component.
static kd_interval range_of_distance(const double *a, const double *b, double h, bool turned, int level)
{
    kd_interval  d[3], rate[3], bend[3];
    const double speed = hypot(hypot(a[3], a[4]), a[5]) + hypot(hypot(b[3], b[4]), b[5]);
    const double force = hypot(hypot(a[6], a[7]), a[8]) + hypot(hypot(b[6], b[7]), b[8]);
    for (int i = 0; i < 3; i++) {
        const ends e = {h, {a[i], b[i]}, {a[3 + i], b[3 + i]}, {a[6 + i], b[6 + i]}};
        // of a body that went round any direction is as likely
        const ends any = {h, {0}, {speed, 0}, {force, 0}};
        d[i] = range_of_value(&e), rate[i] = range_of_rate(&e), bend[i] = range_of_acceleration(&e);
        if (!turned) continue;
        d[i] = widened_by_turns(d[i], &any, 0), rate[i] = widened_by_turns(rate[i], &any, 1);
        bend[i] = widened_by_turns(bend[i], &any, 2);
    }
    if (level < 2) return level == 0 ? kd_range_of_length(d) : kd_range_of_length_rate(d, rate);
    // |d|'' = n . d'' + (|d'|^2 - (n . d')^2) / |d|
    const double l = kd_range_of_length(d).lower, v = kd_range_of_length(rate).upper;
    const double most = kd_range_of_length(bend).upper;
    return l > 0.0 ? (kd_interval){-most, most + v * v / l} : all;
}

// d, d', d'' of all distances that variables read
static void take_ways(const kd_work *w, kd_extent extent, double *way)
{
    const kd_system    *s = w->system;
    const kd_enclosure *e = &w->enclosure;
    for (int i = 0; i < s->upto[extent].measures && e->nlengths > 0; i++) {
        if (e->length[i] < 0) continue;
        const kd_relative *rel = &w->rel[s->measure[i].pair];
        double            *at = way + 9 * e->length[i];
        kd_vec_to(rel->d, at);
        kd_vec_to(rel->dd, at + 3);
        kd_vec_to(rel->ddd, at + 6);
    }
}

// Output of a controller, kp x + ki r
void kd_range_output(kd_work *w, int load, kd_interval *range)
{
    const kd_system *s = w->system;
    const kd_load   *pi = &s->load[load];
    // nothing is known of a block without period
    for (int slot = pi->unit ? s->out_slot[load] : -1; slot >= 0; slot = s->next_slot[slot]) range[slot] = all;
    if (pi->unit) return;
    // corners of the box of x and r; c = kp x + ki r is monotone in both
    const kd_interval x = kd_expr_bounds(pi->law[0], range, w->breaks.work), r = w->enclosure.state[pi->state];
    const double      kp = pi->feed[0], ki = pi->feed[1];
    const double      c[4] = {kp * x.lower + ki * r.lower, kp * x.lower + ki * r.upper, kp * x.upper + ki * r.lower,
                              kp * x.upper + ki * r.upper};
    const kd_interval out = isfinite(c[0]) && isfinite(c[1]) && isfinite(c[2]) && isfinite(c[3])
                                ? hull(c, 4, 1e-15 * (fabs(kp * x.lower) + fabs(kp * x.upper)))
                                : all;
    for (int slot = s->out_slot[load]; slot >= 0; slot = s->next_slot[slot]) range[slot] = out;
}

// All of them, in the order in which they read each other
void kd_range_outputs(kd_work *w, kd_interval *range)
{
    const kd_system *s = w->system;
    for (int k = 0; k < s->ncontrollers; k++)
        if (s->out_slot[s->state_order[k]] >= 0) kd_range_output(w, s->state_order[k], range);
}

// Sensors, the same
static void range_sensors(kd_work *w, kd_interval *range)
{
    const kd_system *s = w->system;
    for (int k = 0; k < s->nsensors; k++) {
        const int i = s->sensor_order[k];
        if (s->sensor_slot[i] < 0) continue;
        const kd_interval y = kd_expr_bounds(s->sensor[i], range, w->breaks.work);
        for (int slot = s->sensor_slot[i]; slot >= 0; slot = s->next_slot[slot]) range[slot] = y;
    }
}

// What the points say, kept of one of them
static kd_eval sample(kd_work *w, const kd_point *x, kd_extent extent, kd_sample *out)
{
    const kd_system *s = w->system;
    const size_t     size = (size_t)s->upto[extent].measures * sizeof *out->value;
    kd_work_acceleration(w, x, extent);
    memcpy(out->value, w->value, size);
    memcpy(out->rate, w->rate, size);
    memcpy(out->acceleration, w->acceleration, size);
    take_ways(w, extent, out->way);
    kd_eval answer = s->nr > 0 ? kd_work_loads(w, x) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK) memcpy(out->b, w->b, (size_t)s->nr * sizeof *out->b);
    return answer;
}

// The points are not those of the work object, and their stamps are their owner's.
static kd_eval sample_other(kd_work *w, const kd_point *x, kd_extent extent, int k)
{
    kd_enclosure *to = &w->enclosure;
    kd_point      own = *x;
    own.time_stamp = own.position_stamp = own.velocity_stamp = own.acceleration_stamp = --w->enclosure.stamp;
    kd_work_forget(w);
    const kd_eval answer = sample(w, &own, extent, &to->end[k]);
    if (answer == KD_EVAL_OK) kd_touch_take_end(w, to->pass + k * w->system->ntouches);
    kd_work_forget(w);
    return answer;
}

// Distances that variables read, counted
static void list_lengths(const kd_system *s, kd_enclosure *e)
{
    for (int i = 0; i < s->nmeasures; i++) e->length[i] = -1;
    for (int i = 0; i < s->nslots; i++) {
        const kd_slot at = s->slot[i];
        if (at.kind != KD_SLOT_MEASURE || s->measure[at.index].kind != KD_MEASURE_LENGTH) continue;
        if (e->length[at.index] < 0) e->length[at.index] = e->nlengths++;
    }
}

bool kd_enclosure_create(const kd_system *s, kd_arena *arena, kd_enclosure *e)
{
    e->nlengths = 0;
    e->length = kd_cut_int(arena, s->nmeasures);
    e->pass = kd_arena_cut(arena, 2 * (size_t)s->ntouches, sizeof *e->pass);
    if (arena->failed) return false;
    list_lengths(s, e);
    for (int i = 0; i < 2; i++) {
        e->end[i].value = kd_cut_double(arena, s->nmeasures);
        e->end[i].rate = kd_cut_double(arena, s->nmeasures);
        e->end[i].acceleration = kd_cut_double(arena, s->nmeasures);
        e->end[i].b = kd_cut_double(arena, s->nr);
        e->end[i].way = kd_cut_double(arena, 9 * e->nlengths);
    }
    e->stamp = ULONG_MAX; // stamps of others count up, these down
    e->state = kd_arena_cut(arena, (size_t)s->nr, sizeof *e->state);
    e->slot = kd_arena_cut(arena, (size_t)s->nslots, sizeof *e->slot);
    return !arena->failed;
}

// Gap of two surfaces that may have flown past each other
static kd_interval range_of_passing(const kd_work *w, const kd_measure *m, double h, kd_interval smooth)
{
    const kd_system *s = w->system;
    for (int i = 0; i < s->ntouches; i++) {
        if (s->touch[i].pair != m->pair || s->touch[i].kept) continue;
        const kd_touch_pass at[2] = {w->enclosure.pass[i], w->enclosure.pass[s->ntouches + i]};
        const kd_interval   range = kd_range_of_gap(&s->touch[i], at, h, smooth);
        return range.lower <= range.upper ? range : all;
    }
    return smooth;
}

// as much as is known of a variable at both ends
static kd_interval range_of_slot(const kd_work *w, kd_slot at, const kd_point *x0, const kd_point *x1)
{
    const kd_sample *c0 = &w->enclosure.end[0], *c1 = &w->enclosure.end[1];
    const double     h = x1->t - x0->t;
    const int        k = at.index;
    ends             e = {.h = h};
    switch (at.kind) {
    case KD_SLOT_TIME:
        return (kd_interval){x0->t, x1->t};
    case KD_SLOT_INPUT:
        e = (ends){h, {x0->u[k], x1->u[k]}, {x0->du[k], x1->du[k]}, {x0->ddu[k], x1->ddu[k]}};
        return range_of_value(&e);
    case KD_SLOT_STATE:
        return w->enclosure.state[k];
    case KD_SLOT_DISCRETE: // constant between instants
        return (kd_interval){fmin(x0->z[k], x1->z[k]), fmax(x0->z[k], x1->z[k])};
    case KD_SLOT_MEASURE: {
        e = (ends){
            h, {c0->value[k], c1->value[k]}, {c0->rate[k], c1->rate[k]}, {c0->acceleration[k], c1->acceleration[k]}};
        const kd_measure *m = &w->system->measure[k];
        const bool        turned = has_turned(w, m, x0, x1);
        if (m->kind == KD_MEASURE_LENGTH) {
            const int place = 9 * w->enclosure.length[k];
            return range_of_distance(c0->way + place, c1->way + place, h, turned, at.level);
        }
        const kd_interval range = range_of_measure(m, &e, at.level);
        if (m->kind == KD_MEASURE_GAP && at.level == 0) return range_of_passing(w, m, h, range);
        return turned ? widened_by_turns(range, &e, at.level) : range;
    }
    default: // forces and what is made of them: not known in between
        return all;
    }
}

kd_eval kd_work_enclose(kd_work *w, const kd_point *x0, const kd_point *x1, kd_extent extent)
{
    const kd_system *s = w->system;
    kd_enclosure    *to = &w->enclosure;
    // both ends, then inner states (controllers read them), all variables, outputs, sensors
    kd_eval answer = sample_other(w, x0, extent, 0);
    if (answer == KD_EVAL_OK) answer = sample_other(w, x1, extent, 1);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < s->nr; i++) {
        const ends e = {.h = x1->t - x0->t, .v = {x0->r[i], x1->r[i]}, .a = {to->end[0].b[i], to->end[1].b[i]}};
        to->state[i] = range_with_slope(&e);
    }
    for (int i = 0; i < s->upto[extent].slots; i++) to->slot[i] = range_of_slot(w, s->slot[i], x0, x1);
    kd_range_outputs(w, to->slot);
    if (extent == KD_FOR_ALL) range_sensors(w, to->slot);
    return KD_EVAL_OK;
}

kd_eval kd_work_switch_bounds(const kd_point *x0, const kd_point *x1, void *context, double *lower, double *upper)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    // conditions of events read sensors or not: no further than they need
    const kd_eval answer = kd_work_enclose(w, x0, x1, s->at_switches.sensors ? KD_FOR_ALL : KD_FOR_INSTANTS);
    for (int i = 0; i < s->model->nevents && answer == KD_EVAL_OK; i++) {
        const kd_interval range = kd_expr_bounds(s->event[i].when, w->enclosure.slot, w->breaks.work);
        lower[i] = range.lower;
        upper[i] = range.upper;
    }
    for (int i = s->model->nevents; i < s->nfunctions; i++) lower[i] = -HUGE_VAL, upper[i] = HUGE_VAL;
    return answer;
}
