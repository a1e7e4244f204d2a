// statespace_point.c: the form statespace at one point: positions and velocities of independent coordinates, then
// accelerations and rates; points that are kept, and points of the past.
#include "forms/statespace_impl.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"

#define PATH_STEP 0.25  // part of a step beyond which positions are not followed: it had better be shorter
#define PATH_LEAST 0.01 // the same where it was not too long
#define PATH_PARTS 1e4  // of one step, at most: nothing that a step resolves turns more often in it
#define MOST_AHEAD 2    // steps by which the motion of the last one is taken to go on
#define FOLLOWED 0.2    // part of the size of positions by which prescribed ones may move at once

// Times before the last choice of coordinates belong to the ones before it: dense output of the step that led to it.
kd_chart *kd_statespace_chart_at(const kd_statespace *self, double t)
{
    return t < self->chart->t && self->previous->valid ? self->previous : self->chart;
}

// Does the point, known or not, belong to (t, x) and the present rows?
static bool is_point_of(const kd_statespace *self, const kd_statespace_point *point, double t, const double *x)
{
    kd_dims         d = self->dims;
    const kd_state *state = self->state;
    return point->t == t && point->chart == kd_statespace_chart_at(self, t) &&
           memcmp(point->x, x, (size_t)self->dae->n * sizeof *x) == 0 &&
           (d.nz == 0 || memcmp(point->z, state->z, (size_t)d.nz * sizeof *x) == 0) &&
           memcmp(point->active, state->active_lambda, (size_t)d.nlambda) == 0 &&
           memcmp(point->active + d.nlambda, state->active_mu, (size_t)d.nmu) == 0;
}

bool kd_statespace_same_point(const kd_statespace *self, const kd_statespace_point *point, double t, const double *x)
{
    return point->known && !point->unsettled && (!point->rough || self->dae->slack > 0) &&
           is_point_of(self, point, t, x);
}

void kd_statespace_set_point(const kd_statespace *self, kd_statespace_point *point, double t, const double *x)
{
    kd_dims         d = self->dims;
    const kd_state *state = self->state;
    point->known = point->looked_at = point->inside = point->rough = point->unsettled = false;
    point->t = t;
    point->chart = kd_statespace_chart_at(self, t);
    memmove(point->x, x, (size_t)self->dae->n * sizeof *x);
    if (d.nz > 0) memcpy(point->z, state->z, (size_t)d.nz * sizeof *x);
    memcpy(point->active, state->active_lambda, (size_t)d.nlambda);
    memcpy(point->active + d.nlambda, state->active_mu, (size_t)d.nmu);
}

double kd_statespace_reach(const kd_statespace *self, const double *p)
{
    double most = 0;
    for (int i = 0; i < self->dims.np; i++) {
        const double part = fabs(p[i]) * self->per_p[i];
        most = part > most ? part : most;
    }
    return most;
}

double kd_statespace_move(const kd_statespace *self, const double *e)
{
    double most = 0;
    for (int j = 0; j < self->dims.nv; j++) { // NaN stays NaN
        const double part = fabs(e[j]) * self->per_v[j];
        if (!(part <= most)) most = part;
    }
    return most;
}

static double largest_difference(int n, const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        const double part = fabs(a[i] - b[i]);
        most = part > most ? part : most;
    }
    return most;
}

// The point belongs to the past from now on; a second one at the same time replaces the first.
void kd_statespace_remember(kd_statespace *self, const kd_statespace_point *at)
{
    kd_statespace_past *past = &self->past;
    kd_dims             d = self->dims;
    if (past->count == 0 || past->t[past->newest] != at->t) {
        past->newest = (past->newest + 1) % KD_STATESPACE_PAST;
        if (past->count < KD_STATESPACE_PAST) past->count++;
    }
    past->t[past->newest] = self->reached = at->t;
    memcpy(past->point[past->newest], at->p, (size_t)(d.np + d.nv + d.nr + d.nw + d.ns) * sizeof *at->p);
}

// Iterates that led nowhere are no guess, and factors made on their way no factors: back to the last accepted point. A
// function that asked to stop is left alone.
static void go_home(kd_statespace *self, kd_chart *chart, kd_statespace_point *at, bool stopped)
{
    const kd_statespace_past *past = &self->past;
    kd_dims                   d = self->dims;
    bool                      regular;
    const double             *home = past->count > 0 ? past->point[past->newest] : NULL;
    kd_near_forget(self);
    memset(at->v, 0, (size_t)d.nv * sizeof *at->v);
    memcpy(at->p, home ? home : chart->position, (size_t)d.np * sizeof *at->p);
    if (!home) return;
    self->guess_t = past->t[past->newest];
    memcpy(at->s, home + d.np + d.nv + d.nr + d.nw, (size_t)d.ns * sizeof *at->s);
    if (!stopped) (void)!kd_chart_factor(self, chart, past->t[past->newest], at->p, at->s, &regular);
}

// Where Newton's method for the positions starts: the last solution or the point of the factors, whichever is nearer.
// Where time goes back, as in another attempt of a step, the last accepted point instead of the latter, which an
// attempt that was given up may have left on another branch.
static void guess_position(kd_statespace *self, kd_chart *chart, bool back, const double *y, kd_statespace_point *at)
{
    const kd_statespace_past *past = &self->past;
    kd_dims                   d = self->dims;
    int                       nind = chart->p.nind;
    const double             *home = back && past->count > 0 ? past->point[past->newest] : NULL;
    // |y - S p| of the last solution and of the other candidate
    kd_chart_pick(&chart->p, at->p, self->rind);
    double from_last = largest_difference(nind, y, self->rind);
    if (home) kd_chart_pick(&chart->p, home, self->rind);
    if (from_last <= largest_difference(nind, y, home ? self->rind : chart->y)) return;
    memcpy(at->p, home ? home : chart->position, (size_t)d.np * sizeof *at->p);
    if (home) memcpy(at->s, home + d.np + d.nv + d.nr + d.nw, (size_t)d.ns * sizeof *at->s);
}

// From the last solution to time t: p + v tau + a tau^2/2, v + a tau, unless that is far
static kd_eval predict(kd_statespace *self, kd_statespace_point *at, double t)
{
    const double tau = t - self->guess_t;
    const int    nv = self->dims.nv;
    for (int i = 0; i < nv; i++) self->e[i] = tau * (at->v[i] + 0.5 * tau * at->a[i]);
    if (tau == 0 || !(kd_statespace_move(self, self->e) <= FOLLOWED * self->scale)) return KD_EVAL_OK;
    kd_axpy(nv, tau, at->a, at->v);
    if (!self->identity) kd_eom_at_position(kd_acceleration_data(self->acceleration), at->p, at->s);
    return kd_chart_move(self, at->p);
}

// Where the motion of the last step goes on: at is set to the start of the present one, and p to the polynomial of degree 5
// that has p, v and a of both ends of the last step, with u = tau/H
//
//     p0 + tau v0 + tau^2/2 a0 - u^3 ((10 + 15 u + 6 u^2) A + (4 + 7 u + 3 u^2) B + (1 + u)^2/2 C)
//
// where A, B / H, C / H^2 are what p, v, a of the point before differ by from those of the first three terms. false: there is no such
// motion, or it would lead far
static bool guess_ahead(kd_statespace *self, kd_statespace_point *at, double t)
{
    const kd_statespace_point *start = &self->accepted.point, *before = &self->accepted.before;
    if (!self->identity || self->accepted.count < 2) return false;
    const double H = start->t - before->t, tau = t - start->t, u = tau / H, cube = u * u * u;
    if (!(u > 0 && u <= MOST_AHEAD)) return false;
    const double wA = -cube * (10 + u * (15 + 6 * u)), wB = -cube * (4 + u * (7 + 3 * u)) * H;
    const double wC = -0.5 * cube * (1 + u) * (1 + u) * H * H;
    for (int i = 0; i < self->dims.nv; i++) {
        const double v = start->v[i], a = start->a[i];
        const double A = before->p[i] - (start->p[i] - H * (v - 0.5 * H * a)), B = before->v[i] - (v - H * a);
        self->e[i] = tau * (v + 0.5 * tau * a) + wA * A + wB * B + wC * (before->a[i] - a);
    }
    if (!(kd_statespace_move(self, self->e) <= FOLLOWED * self->scale)) return false;
    for (int i = 0; i < self->dims.nv; i++) {
        at->p[i] = start->p[i] + self->e[i];
        at->v[i] = start->v[i] + tau * start->a[i];
    }
    memcpy(at->a, start->a, (size_t)self->dims.nv * sizeof *at->a);
    self->guess_t = start->t;
    return true;
}

// A point of the same time that this step has solved already, if it is nearer than the last accepted one
static bool guess_near(kd_statespace *self, const kd_chart *chart, kd_statespace_point *at)
{
    const kd_statespace_past *past = &self->past;
    const kd_near_point      *point = kd_near_find(self, chart, at->t);
    const int                 nind = chart->p.nind;
    if (!point || past->count == 0) return false;
    kd_chart_pick(&chart->p, past->point[past->newest], self->rind);
    const double from_home = largest_difference(nind, at->x, self->rind);
    kd_chart_pick(&chart->p, point->p, self->rind);
    if (!(largest_difference(nind, at->x, self->rind) <= from_home)) return false;
    memcpy(at->p, point->p, (size_t)self->dims.np * sizeof *at->p);
    memcpy(at->v, point->v, (size_t)self->dims.nv * sizeof *at->v);
    self->guess_t = at->t;
    return true;
}

// The start of the step, where that is nearer in time than the last solution, as when a step is tried again
static bool guess_start(kd_statespace *self, kd_statespace_point *at, double t)
{
    const kd_statespace_point *start = &self->accepted.point;
    if (!start->known || !(fabs(t - start->t) < fabs(t - self->guess_t))) return false;
    memcpy(at->p, start->p, (size_t)self->dims.np * sizeof *at->p);
    memcpy(at->v, start->v, (size_t)self->dims.nv * sizeof *at->v);
    memcpy(at->a, start->a, (size_t)self->dims.nv * sizeof *at->a);
    self->guess_t = start->t;
    return true;
}

// Time that the fastest coordinate needs for a part of the size of positions
static double followed_time(const kd_statespace *self)
{
    const kd_statespace_past *past = &self->past;
    if (past->count == 0) return INFINITY;
    return FOLLOWED * self->scale / kd_statespace_move(self, past->point[past->newest] + self->dims.np);
}

static kd_eval tell_far(kd_statespace *self, double t)
{
    kd_form_fail(&self->fault, KD_ERR_RETRY_FAILED, "t = %.9g: the prescribed motion is too far away to be followed",
                 t);
    return KD_EVAL_RETRY;
}

// Inside a step: from the interpolated position, if it is near. Prescribed coordinates, which no error control sees, may
// go round several times in one step, and their polynomial says nothing then: along a path from the last accepted point.
static kd_eval solve_inside(kd_statespace *self, kd_chart *chart, kd_statespace_point *at)
{
    const kd_statespace_past *past = &self->past;
    const double              longest = followed_time(self);
    kd_eval answer = kd_chart_positions(self, chart, at->t, at->x, FOLLOWED * self->scale, at->p, at->s);
    if (answer != KD_EVAL_RETRY || past->count == 0) return answer;
    go_home(self, chart, at, false);
    const double t_home = past->t[past->newest], most = fmin(1, longest / fabs(at->t - t_home));
    if (!(most * PATH_PARTS > 1)) return tell_far(self, at->t);
    return kd_chart_follow(self, chart, t_home, at->t, at->x, at->p, at->s, fmin(PATH_LEAST, PATH_STEP * most), most);
}

// p and s: directly or, where that leads astray, along a path from the last accepted point. Where everything is
// prescribed, no error makes the integrator choose its steps: it goes as far as it can be followed.
static kd_eval solve_positions(kd_statespace *self, kd_chart *chart, kd_statespace_point *at)
{
    const kd_statespace_past *past = &self->past;
    double                    longest = self->dae->n > 0 ? INFINITY : followed_time(self),
           least = at->t <= self->reached ? PATH_LEAST : PATH_STEP;
    guess_position(self, chart, at->t < self->guess_t, at->x, at);
    // directly, from the guess
    if (past->count == 0 || fabs(at->t - self->guess_t) <= longest) {
        kd_eval answer = kd_chart_positions(self, chart, at->t, at->x, INFINITY, at->p, at->s);
        if (answer != KD_EVAL_RETRY || past->count == 0) return answer;
    }
    // along a path, in parts of `least` at least
    double t_home = past->t[past->newest], most = longest / fabs(at->t - t_home);
    go_home(self, chart, at, false);
    return most >= least ? kd_chart_follow(self, chart, t_home, at->t, at->x, at->p, at->s, least, most)
                         : tell_far(self, at->t);
}

// Back home, with the reason of the failure
static void give_up(kd_statespace *self, kd_chart *chart, kd_statespace_point *at, bool stopped)
{
    const kd_form_fault fault = self->fault;
    go_home(self, chart, at, stopped);
    self->fault = fault;
}

// p, s and v at (t, x); the data are left there, at the velocity stage. *here: the point of a position that was carried along
static kd_eval solve_positions_and_velocities(kd_statespace *self, kd_chart *chart, kd_statespace_point *at,
                                              bool inside, kd_near_point **here)
{
    const double *v_ind = at->x + chart->p.nind;
    *here = NULL;
    self->there = false;
    kd_eval answer = inside ? KD_EVAL_OK : kd_near_positions(self, chart, at, here);
    at->rough = *here != NULL;
    at->unsettled = *here && self->dae->unsettled;
    if (answer == KD_EVAL_OK && !*here)
        answer = inside ? solve_inside(self, chart, at) : solve_positions(self, chart, at);
    if (answer != KD_EVAL_OK) return answer;
    return kd_chart_velocities(self, chart, at->t, v_ind, at->p, at->s, at->r, at->v, *here);
}

// a of the explicit formalism, for equations without multipliers and auxiliary variables
static kd_eval explicit_acceleration(kd_statespace *self, kd_statespace_point *at)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eom_at_acceleration(data, self->zero, at->w, at->lambda, at->mu);
    return kd_statespace_note_data(self, kd_eom_acceleration(data, at->a));
}

static kd_eval solve_accelerations(kd_statespace *self, kd_statespace_point *at, kd_near_point *here)
{
    if (here) {
        bool          done;
        const kd_eval answer = kd_along_accelerations(self, here, at, &done);
        if (answer != KD_EVAL_OK || done) return answer;
    }
    if (self->direct) {
        kd_eval answer = explicit_acceleration(self, at);
        if (answer != KD_EVAL_RETRY) return answer; // M singular for the recursion: once more with all equations
    }
    return kd_statespace_note(self, kd_acceleration_solve_here(self->acceleration, at->a, at->w, at->lambda, at->mu),
                              "");
}

// p' and r' of the accelerations that were found; the data are at the point
static kd_eval other_rates(kd_statespace *self, kd_statespace_point *at)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eval      answer = KD_EVAL_OK;
    kd_eom_at_acceleration(data, at->a, at->w, at->lambda, at->mu);
    if (self->dims.nr > 0) answer = kd_eom_eval(data, KD_B, at->rdot);
    if (answer == KD_EVAL_OK && !self->identity) answer = kd_eom_eval(data, KD_KINEMATICS, at->pdot);
    if (self->identity) memcpy(at->pdot, at->v, (size_t)self->dims.nv * sizeof *at->v);
    return kd_statespace_note_data(self, answer);
}

kd_eval kd_statespace_solve(kd_statespace *self, double t, const double *x)
{
    kd_statespace_point *at = &self->last;
    kd_chart            *chart = kd_statespace_chart_at(self, t);
    const kd_dims        d = self->dims;
    const int            nip = chart->p.nind, niv = kd_chart_velocity(self, chart)->nind;
    if (!chart->valid) return KD_EVAL_RETRY; // pack has said why
    // known already, here or put aside
    if (kd_statespace_same_point(self, at, t, x)) return KD_EVAL_OK;
    if (kd_statespace_same_point(self, &self->kept, t, x)) {
        kd_statespace_point other = self->kept;
        self->kept = self->last;
        self->last = other;
        self->guess_t = t;
        return KD_EVAL_OK;
    }
    // guesses of w, s, lambda, mu; r as it is
    const bool inside = at->inside && is_point_of(self, at, t, x), solved = at->known;
    kd_statespace_set_point(self, at, t, x);
    memcpy(at->w, self->guess, (size_t)d.nw * sizeof *x);
    if (!inside) memcpy(at->s, self->guess + d.nw, (size_t)d.ns * sizeof *x);
    memcpy(at->lambda, self->guess + d.nw + d.ns, (size_t)(d.nlambda + d.nmu) * sizeof *x);
    memcpy(at->r, at->x + nip + niv, (size_t)d.nr * sizeof *x);
    // p, s, v, then a, lambda, mu, w, then p' and r'
    const bool     near = !inside && guess_near(self, chart, at);
    const bool     ahead = !inside && !near && guess_ahead(self, at, t);
    const bool     begun = !inside && !near && !ahead && guess_start(self, at, t);
    kd_eval        answer = (solved && !inside && !near && !ahead) || begun ? predict(self, at, t) : KD_EVAL_OK;
    kd_near_point *here = NULL;
    if (answer == KD_EVAL_OK) answer = solve_positions_and_velocities(self, chart, at, inside, &here);
    if (answer == KD_EVAL_OK) answer = solve_accelerations(self, at, here);
    if (answer == KD_EVAL_OK) answer = other_rates(self, at);
    if (answer != KD_EVAL_OK) {
        give_up(self, chart, at, answer == KD_EVAL_STOP);
        return answer;
    }
    // a solution, which is the next guess
    memcpy(self->guess, at->w, (size_t)(self->nwhole - d.np - d.nv - d.nr) * sizeof *x);
    at->known = true;
    self->guess_t = t;
    self->reached = fmax(self->reached, t);
    return KD_EVAL_OK;
}

// Keep the end of a step while times inside of it are looked at: it will be wanted again, and near a singular position
// it may be hard to find again.
void kd_statespace_step_aside(kd_statespace *self)
{
    kd_statespace_point *last = &self->last, *kept = &self->kept, other = *kept;
    if (!last->known || last->looked_at || last->rough) return;
    *kept = *last;
    *last = other;
    memcpy(last->p, kept->p, (size_t)(self->nwhole + self->dims.nv) * sizeof *last->p); // the guess
    last->known = false;
}

// self->last at a time between steps
kd_eval kd_statespace_look_at(kd_statespace *self, double t, const double *x)
{
    const bool rough = self->last.known && self->last.rough && is_point_of(self, &self->last, t, x);
    if (rough || kd_statespace_same_point(self, &self->last, t, x) || kd_statespace_same_point(self, &self->kept, t, x))
        return kd_statespace_solve(self, t, x);
    kd_statespace_step_aside(self);
    self->looking = true;
    kd_eval answer = kd_statespace_solve(self, t, x);
    self->looking = false;
    self->last.looked_at = true;
    return answer;
}

// x of a whole state [p v r ..] in the coordinates of a chart
void kd_statespace_encode(const kd_statespace *self, const kd_chart *chart, const double *p, const double *v,
                          const double *r, double *x)
{
    int nip = chart->p.nind, niv = kd_chart_velocity(self, chart)->nind, nr = self->dims.nr;
    kd_chart_pick(&chart->p, p, x);
    kd_chart_pick(kd_chart_velocity(self, chart), v, x + nip);
    memcpy(x + nip + niv, r, (size_t)nr * sizeof *x);
    for (int i = nip + niv + nr; i < self->dae->n; i++) x[i] = 0;
}

// ---- the past -------------------------------------------------------------------------------------------------------

// Every coordinate of a past point is known, so that new independent ones need only be picked.
bool kd_statespace_recall(void *impl, double t, double *x)
{
    kd_statespace            *self = impl;
    const kd_statespace_past *past = &self->past;
    for (int k = 0; k < past->count; k++) {
        int           i = (past->newest + KD_STATESPACE_PAST - k) % KD_STATESPACE_PAST;
        const double *p = past->point[i], *v = p + self->dims.np;
        if (past->t[i] != t) continue;
        kd_statespace_encode(self, self->chart, p, v, v + self->dims.nv, x);
        return true;
    }
    return false;
}
