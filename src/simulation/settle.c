// settle.c: which one-sided rows hold and which friction sticks, at given positions and velocities:
//
//     one-sided, g_i = 0, gI_i = 0:   it holds with -lambda_i >= 0, or is off with gII_i >= 0
//     dry friction, h_i = 0:          it sticks with |mu_i| <= limit_i, or slides along d with d hI_i >= 0
//
// Other rows have no choice. The first row that contradicts its state changes it, and accelerations and multipliers are
// solved for again: Murty's principal pivoting by least index. For one-sided rows alone this is a linear
// complementarity problem with the matrix GZ inv(M) (GZ)' on the constraints, positive definite for independent rows,
// for which the method ends after finitely many changes. With friction there may be no solution or several (Painleve):
// a bound ends the search.
//
// A row that others imply, as the fourth leg of a table, stays off: its force is taken to be zero.
//
// Friction that does not stick slides where mu_i pushed it: the force of the row on the motion is -(HZ)' mu.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"
#include "simulation/rows_internal.h"

#define TOUCHES 1e-11 // g_i, relative to the positions
#define SLOW 1e-11    // gI_i, h_i, relative to the velocities
#define PULLS 1e-11   // lambda_i, relative to forces and multipliers
#define SINKS 1e-10   // gII_i, hI_i, relative to the accelerations
#define LOOSE 1e-6    // the same for rows that were just seen to leave
#define AT_REST 2.0   // h_i of a row that came to rest, in errors of the velocities: it was found at one of them
#define ASIDE 1e-7    // part of the acceleration across the direction in which a plane begins to slide
#define FOLLOWS 1e-9  // part of a row that may be independent of the others

// ---- rows -----------------------------------------------------------------------------------------------------------

// the other row of a plane; -1: a line
static int across(const kd_event_rows *self, int i)
{
    return kd_eom_definition(self->eom)->friction_across[i];
}

static double *direction(const kd_event_rows *self, const kd_state *x, int i)
{
    return x->z + kd_eom_definition(self->eom)->friction[i];
}

bool kd_rows_slides(const kd_event_rows *self, const kd_state *x, int i)
{
    const int j = across(self, i);
    return *direction(self, x, i) != 0 || (j >= 0 && *direction(self, x, j) != 0);
}

double kd_rows_size(const kd_event_rows *self, int i, const double *a)
{
    const int j = across(self, i);
    return j < 0 ? fabs(a[i]) : hypot(a[i], a[j]);
}

double kd_rows_along(const kd_event_rows *self, const kd_state *x, int i, const double *a)
{
    const int j = across(self, i);
    return *direction(self, x, i) * a[i] + (j < 0 ? 0 : *direction(self, x, j) * a[j]);
}

bool kd_rows_sticks(const kd_event_rows *self, const kd_state *x, int i)
{
    const int j = across(self, i);
    return x->active_mu[i] || self->held_by[i] || (j >= 0 && (x->active_mu[j] || self->held_by[j]));
}

static void set(kd_event_rows *self, int i, bool sticks, double d_i, double d_j)
{
    const int j = across(self, i);
    self->held_by[i] = false;
    if (j >= 0) self->held_by[j] = false;
    self->x->active_mu[i] = sticks;
    *direction(self, self->x, i) = d_i;
    if (j < 0) return;
    self->x->active_mu[j] = sticks;
    *direction(self, self->x, j) = d_j;
}

void kd_rows_slide(kd_event_rows *self, int i, const double *a)
{
    const int    j = across(self, i);
    const double size = kd_rows_size(self, i, a);
    if (j < 0)
        set(self, i, false, a[i] < 0 ? -1 : 1, 0);
    else
        set(self, i, false, size > 0 ? a[i] / size : 1, size > 0 ? a[j] / size : 0);
}

void kd_rows_stick(kd_event_rows *self, int i)
{
    set(self, i, true, 0, 0);
}

void kd_rows_open(kd_event_rows *self, int i)
{
    set(self, i, false, 0, 0);
}

bool kd_rows_is_open(const kd_event_rows *self, const kd_state *x, int i)
{
    const int normal = kd_eom_definition(self->eom)->friction_normal[i];
    return normal >= 0 && !x->active_lambda[normal];
}

double kd_rows_length(const kd_event_rows *self)
{
    return 1 + kd_norm_max(self->dims.np, self->x->p);
}

double kd_rows_speed(const kd_event_rows *self)
{
    // of models that are slow as a whole, less: a natural velocity
    double usual = 0;
    for (int j = 0; j < self->dims.nv; j++) usual = fmax(usual, kd_eom_unit(self->eom, j) / kd_eom_time(self->eom));
    return fmin(1, usual) + kd_norm_max(self->dims.nv, self->x->v);
}

double kd_rows_slow(const kd_event_rows *self)
{
    return SLOW * kd_rows_speed(self);
}

bool kd_rows_touches(const kd_event_rows *self, int i)
{
    return self->g[i] <= TOUCHES * kd_rows_length(self);
}

// Rest is known up to the errors of the velocities: what they explain moves no row that sticks, and turns none that
// slides. In a plane the direction follows the motion.
void kd_rows_directions(kd_event_rows *self)
{
    for (int k = 0; k < self->nfriction; k++) {
        // at rest the bound is wider than on the move, so that rest is not left by what rest was found with
        const int    i = self->friction[k];
        const bool   slides = kd_rows_slides(self, self->x, i);
        const double least = fmax(kd_rows_slow(self), (slides ? 1 : AT_REST) * self->noise[i]);
        if (kd_rows_is_open(self, self->x, i)) {
            kd_rows_open(self, i);
            continue;
        }
        const bool turns = slides && across(self, i) < 0 ? kd_rows_along(self, self->x, i, self->h) < -least
                                                         : kd_rows_size(self, i, self->h) > least;
        if (turns) kd_rows_slide(self, i, self->h);
    }
}

// ---- values ---------------------------------------------------------------------------------------------------------

kd_eval kd_rows_levels(kd_event_rows *self)
{
    kd_state    *x = self->x;
    kd_eom_data *d = kd_acceleration_data(self->solver);
    kd_eval      answer = kd_acceleration_at(self->solver, x->t, x->p, x->s, x->v, x->r);
    self->of_solver = answer != KD_EVAL_OK;
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_G, self->g);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_GI, self->gI);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_H, self->h);
    return answer;
}

// Scales of what counts as rounding
static void enlarge(kd_event_rows *self)
{
    kd_dims         n = self->dims;
    const kd_state *x = self->x;
    self->largest_acceleration = fmax(self->largest_acceleration, kd_norm_max(n.nv, x->a));
    self->largest_force = fmax(self->largest_force, kd_norm_max(n.nv, self->force));
    self->largest_force = fmax(self->largest_force, kd_norm_max(n.nlambda, x->lambda));
    self->largest_force = fmax(self->largest_force, kd_norm_max(n.nmu, x->mu));
}

kd_eval kd_rows_solve(kd_event_rows *self)
{
    kd_state    *x = self->x;
    kd_eom_data *d = kd_acceleration_data(self->solver);
    // a, lambda, mu with the rows that are active on trial
    kd_eval answer = kd_acceleration_solve(self->solver, x->t, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu);
    self->of_solver = answer != KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    x->unsolved = false;
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    // second derivatives, limits of friction, forces for the scales
    answer = kd_eom_eval(d, KD_GII, self->gII);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_HI, self->hI);
    if (answer == KD_EVAL_OK) answer = kd_eom_breakaway(d, self->limit);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_FORCE, self->force);
    if (answer == KD_EVAL_OK) enlarge(self);
    return answer;
}

// ---- rows that others imply -----------------------------------------------------------------------------------------

// Row k of [GZ; HZ] less its part along the basis, by Gram-Schmidt twice; the part that is left, relative
static double independent_part(kd_event_rows *self, int k, int nbasis)
{
    const kd_dims n = self->dims;
    double       *row = self->row, before = 0;
    // row k in columns of GZ or HZ
    for (int j = 0; j < n.nv; j++) {
        row[j] = k < n.nlambda ? self->GZ[k + j * n.nlambda] : self->HZ[k - n.nlambda + j * n.nmu];
        before += row[j] * row[j];
    }
    // twice: the second pass removes what rounding left of the first
    for (int b = 0; b < 2 * nbasis; b++) {
        const double *q = self->Q + (b % nbasis) * n.nv;
        kd_axpy(n.nv, -kd_dot(n.nv, q, row), q, row);
    }
    return before > 0 ? sqrt(kd_dot(n.nv, row, row) / before) : 0;
}

// Basis of the rows that hold; its size
static int find_basis(kd_event_rows *self)
{
    const kd_dims n = self->dims;
    int           count = 0;
    // rows that hold, one after the other; those that follow from the basis add nothing
    for (int k = 0; k < n.nlambda + n.nmu && count < n.nv; k++) {
        bool active = k < n.nlambda ? self->x->active_lambda[k] : self->x->active_mu[k - n.nlambda];
        if (!active || independent_part(self, k, count) <= FOLLOWS) continue;
        double *q = self->Q + count++ * n.nv, length = sqrt(kd_dot(n.nv, self->row, self->row));
        for (int j = 0; j < n.nv; j++) q[j] = self->row[j] / length;
    }
    return count;
}

kd_eval kd_rows_matrices(kd_event_rows *self)
{
    kd_eval answer = KD_EVAL_OK;
    if (!self->matrices_known)
        answer = kd_eom_constraint_matrices(kd_acceleration_data(self->solver), self->GZ, self->HZ);
    self->matrices_known = answer == KD_EVAL_OK;
    return answer;
}

kd_eval kd_rows_follows(kd_event_rows *self, int i, bool *follows)
{
    kd_eval answer = kd_rows_matrices(self);
    if (answer == KD_EVAL_OK) *follows = independent_part(self, i, find_basis(self)) <= FOLLOWS;
    return answer;
}

// Rows at rest that are off as others hold them
static kd_eval find_implied(kd_event_rows *self)
{
    for (int k = 0; k < self->none_sided; k++) {
        int  i = self->one_sided[k];
        bool at_rest = kd_rows_touches(self, i) && fabs(self->gI[i]) <= kd_rows_slow(self);
        self->implied[i] = false;
        if (self->x->active_lambda[i] || !at_rest) continue;
        kd_eval answer = kd_rows_follows(self, i, &self->implied[i]);
        if (answer != KD_EVAL_OK) return answer;
    }
    return KD_EVAL_OK;
}

// Of friction that sticks only rows hold that do not follow from others: with three feet that stick a block has six rows
// for three freedoms. Which of them carry is not unique; the motion is.
static kd_eval leave_out_followers(kd_event_rows *self)
{
    kd_eval answer = self->nfriction > 0 ? kd_rows_matrices(self) : KD_EVAL_OK;
    // all that stick are out, then come back one by one
    for (int k = 0; k < self->dims.nmu && answer == KD_EVAL_OK; k++) {
        if (!kd_eom_is_friction(self->eom, k)) continue;
        self->held_by[k] = self->held_by[k] || self->x->active_mu[k];
        self->x->active_mu[k] = 0;
    }
    for (int k = 0; k < self->dims.nmu && answer == KD_EVAL_OK; k++) {
        bool follows = true;
        if (!self->held_by[k]) continue;
        answer = kd_rows_follows(self, self->dims.nlambda + k, &follows);
        self->held_by[k] = follows;
        self->x->active_mu[k] = !follows;
    }
    return answer;
}

// ---- settling -------------------------------------------------------------------------------------------------------

// One-sided row i: change it if its state is a contradiction; *changed.
static kd_eval change_one_sided(kd_event_rows *self, int i, bool *changed)
{
    unsigned char *active = self->x->active_lambda + i;
    double         sinks = (self->leaves[i] ? LOOSE : SINKS) * self->largest_acceleration;
    bool           at_rest = kd_rows_touches(self, i) && fabs(self->gI[i]) <= kd_rows_slow(self), follows = false;
    // holds but pulls, or is off but sinks: a contradiction. A row that was seen to leave must sink clearly
    *changed = *active ? self->x->lambda[i] > PULLS * self->largest_force : at_rest && self->gII[i] < -sinks;
    // a row that the others imply stays off
    if (*changed && !*active) {
        kd_eval answer = kd_rows_follows(self, i, &follows);
        if (answer != KD_EVAL_OK) return answer;
        *changed = !follows;
    }
    if (*changed) *active = !*active;
    return KD_EVAL_OK;
}

// What the friction of a row that begins to slide does to its acceleration: hI with friction along the motion less hI
// with friction against it.
static kd_eval friction_of(kd_event_rows *self, int i, double *acceleration)
{
    // hI with friction in both directions, then the one of before again
    const int    j = across(self, i);
    double      *d[2] = {direction(self, self->x, i), j < 0 ? NULL : direction(self, self->x, j)};
    const double against = kd_rows_along(self, self->x, i, self->hI);
    for (int k = 0; k < 2 && d[k]; k++) *d[k] = -*d[k];
    kd_eval answer = kd_rows_solve(self);
    *acceleration = fabs(kd_rows_along(self, self->x, i, self->hI) + against);
    for (int k = 0; k < 2 && d[k]; k++) *d[k] = -*d[k];
    return answer == KD_EVAL_OK ? kd_rows_solve(self) : answer;
}

// Does a row that slides along d, without velocity, come back? At a breakaway force and friction are equal: that hI is
// not positive there is rounding of forces, and accelerations of a system at rest are no measure for it.
static kd_eval comes_back(kd_event_rows *self, int i, bool *back)
{
    double  friction = 0;
    kd_eval answer = KD_EVAL_OK;
    // slides without velocity and is accelerated backwards: beyond rounding, or clearly if it just broke loose
    *back = kd_rows_size(self, i, self->h) <= fmax(kd_rows_slow(self), self->noise[i]) &&
            kd_rows_along(self, self->x, i, self->hI) < -SINKS * self->largest_acceleration;
    if (!*back || !self->leaves[self->dims.nlambda + i]) return answer;
    answer = friction_of(self, i, &friction);
    *back = kd_rows_along(self, self->x, i, self->hI) < -LOOSE * fmax(self->largest_acceleration, friction);
    return answer;
}

// In a plane that begins to slide the acceleration tells the direction, which friction then follows.
static bool turns_away(kd_event_rows *self, int i)
{
    const int j = across(self, i);
    if (j < 0 || kd_rows_size(self, i, self->h) > fmax(kd_rows_slow(self), self->noise[i])) return false;
    const double *d = direction(self, self->x, i), *e = direction(self, self->x, j);
    const double  aside = *d * self->hI[j] - *e * self->hI[i];
    return fabs(aside) > fmax(ASIDE * kd_rows_size(self, i, self->hI), SINKS * self->largest_acceleration);
}

// Friction row i: the same.
static kd_eval change_friction(kd_event_rows *self, int i, bool *changed)
{
    const bool sticks = kd_rows_sticks(self, self->x, i), slides = kd_rows_slides(self, self->x, i);
    kd_eval    answer = KD_EVAL_OK;
    *changed = false;
    // open with its contact; a contact that has closed sticks if it can
    if (kd_rows_is_open(self, self->x, i)) {
        *changed = sticks || slides;
        kd_rows_open(self, i);
        return answer;
    }
    if (!sticks && !slides) {
        *changed = true;
        if (kd_rows_size(self, i, self->h) > fmax(kd_rows_slow(self), self->noise[i]))
            kd_rows_slide(self, i, self->h);
        else
            kd_rows_stick(self, i);
        return answer;
    }
    // sticks beyond its limit: it slides where mu pushed it
    if (sticks) {
        *changed =
            kd_rows_size(self, i, self->x->mu) > self->limit[i] * (1 + PULLS) + DBL_EPSILON * self->largest_force;
        if (*changed) kd_rows_slide(self, i, self->x->mu);
        return answer;
    }
    answer = comes_back(self, i, changed);
    if (*changed) {
        kd_rows_stick(self, i);
    } else if (answer == KD_EVAL_OK && turns_away(self, i)) {
        *changed = true;
        kd_rows_slide(self, i, self->hI);
    }
    return answer;
}

// The function whose row was changed, -1: none
static kd_eval change_one(kd_event_rows *self, int *which)
{
    *which = -1;
    // least index: one-sided rows first, then friction
    for (int k = 0; k < self->none_sided; k++) {
        bool    changed;
        kd_eval answer = change_one_sided(self, self->one_sided[k], &changed);
        if (changed) *which = k;
        if (changed || answer != KD_EVAL_OK) return answer;
    }
    for (int k = 0; k < self->nfriction; k++) {
        bool    changed;
        kd_eval answer = change_friction(self, self->friction[k], &changed);
        if (changed) *which = self->none_sided + k;
        if (changed || answer != KD_EVAL_OK) return answer;
    }
    return KD_EVAL_OK;
}

static bool holds_more(const kd_event_rows *self)
{
    bool more = false;
    for (int i = 0; i < self->dims.nlambda; i++) more = more || (self->x->active_lambda[i] && !self->held[i]);
    for (int i = 0; i < self->dims.nmu; i++)
        more = more || (self->x->active_mu[i] && !self->held[self->dims.nlambda + i]);
    return more;
}

// Velocities of rows that hold from now on: what is left of gI_i and h_i is small, but not rounding. Positions stay.
static kd_status meet_rows(kd_event_rows *self)
{
    kd_state *x = self->x;
    kd_eval   answer = KD_EVAL_OK;
    // new rows hold: their velocities must vanish exactly, in the norm of the mass matrix
    if (holds_more(self)) {
        memcpy(self->p, x->p, (size_t)self->dims.np * sizeof *x->p);
        if (self->dims.ns > 0) memcpy(self->s, x->s, (size_t)self->dims.ns * sizeof *x->s);
        answer = kd_acceleration_project(self->solver, x->t, self->p, self->s, x->v, x->r, false);
        self->of_solver = answer != KD_EVAL_OK;
    }
    // levels at the final velocities, rows that others imply, forces of the final set
    if (answer == KD_EVAL_OK) answer = kd_rows_levels(self);
    if (answer == KD_EVAL_OK) answer = find_implied(self);
    if (answer == KD_EVAL_OK) answer = kd_rows_solve(self);
    return answer == KD_EVAL_OK ? KD_OK : KD_ERR_CALLBACK_STOP;
}

kd_status kd_rows_settle(kd_event_rows *self)
{
    // least index ends for one-sided rows; with friction there may be no solution: a bound on the turns
    char name[128];
    int  last = -1, most = 50 + 20 * (self->none_sided + self->nfriction);
    // solve, change the first contradiction, again
    for (int turn = 0; turn < most; turn++) {
        int changed;
        if (leave_out_followers(self) != KD_EVAL_OK || kd_rows_solve(self) != KD_EVAL_OK ||
            change_one(self, &changed) != KD_EVAL_OK)
            return KD_ERR_CALLBACK_STOP;
        if (changed < 0) return meet_rows(self);
        last = changed;
    }
    kd_text(self->unsettled, sizeof self->unsettled,
            "one-sided rows and dry friction find no common state, most of all %s; friction may be too large for its "
            "normal force to exist",
            kd_event_rows_name(self, last, name, sizeof name));
    return KD_ERR_CHATTER;
}
