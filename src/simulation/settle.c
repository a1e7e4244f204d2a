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
#define FOLLOWS 1e-9  // part of a row that may be independent of the others

// ---- rows -----------------------------------------------------------------------------------------------------------

int kd_rows_direction(const kd_event_rows *self, const kd_state *x, int i)
{
    double z = x->z[kd_eom_definition(self->eom)->friction[i]];
    return (z > 0) - (z < 0);
}

void kd_rows_slide(kd_event_rows *self, int i, int direction)
{
    self->x->active_mu[i] = direction == 0;
    self->x->z[kd_eom_definition(self->eom)->friction[i]] = direction;
}

double kd_rows_length(const kd_event_rows *self)
{
    return 1 + kd_norm_max(self->dims.np, self->x->p);
}

double kd_rows_slow(const kd_event_rows *self)
{
    return SLOW * (1 + kd_norm_max(self->dims.nv, self->x->v));
}

bool kd_rows_touches(const kd_event_rows *self, int i)
{
    return self->g[i] <= TOUCHES * kd_rows_length(self);
}

void kd_rows_directions(kd_event_rows *self)
{
    for (int k = 0; k < self->nfriction; k++) {
        int    i = self->friction[k];
        double h = self->h[i];
        if (fabs(h) > kd_rows_slow(self)) kd_rows_slide(self, i, h < 0 ? -1 : 1);
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
    kd_eval answer = kd_acceleration_solve(self->solver, x->t, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu);
    self->of_solver = answer != KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
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
    for (int j = 0; j < n.nv; j++) {
        row[j] = k < n.nlambda ? self->GZ[k + j * n.nlambda] : self->HZ[k - n.nlambda + j * n.nmu];
        before += row[j] * row[j];
    }
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
    for (int k = 0; k < n.nlambda + n.nmu && count < n.nv; k++) {
        bool active = k < n.nlambda ? self->x->active_lambda[k] : self->x->active_mu[k - n.nlambda];
        if (!active || independent_part(self, k, count) <= FOLLOWS) continue;
        double *q = self->Q + count++ * n.nv, length = sqrt(kd_dot(n.nv, self->row, self->row));
        for (int j = 0; j < n.nv; j++) q[j] = self->row[j] / length;
    }
    return count;
}

kd_eval kd_rows_follows(kd_event_rows *self, int i, bool *follows)
{
    kd_eval answer = KD_EVAL_OK;
    if (!self->matrices_known)
        answer = kd_eom_constraint_matrices(kd_acceleration_data(self->solver), self->GZ, self->HZ);
    self->matrices_known = answer == KD_EVAL_OK;
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

// ---- settling -------------------------------------------------------------------------------------------------------

// One-sided row i: change it if its state is a contradiction; *changed.
static kd_eval change_one_sided(kd_event_rows *self, int i, bool *changed)
{
    unsigned char *active = self->x->active_lambda + i;
    double         sinks = (self->leaves[i] ? LOOSE : SINKS) * self->largest_acceleration;
    bool           at_rest = kd_rows_touches(self, i) && fabs(self->gI[i]) <= kd_rows_slow(self), follows = false;
    *changed = *active ? self->x->lambda[i] > PULLS * self->largest_force : at_rest && self->gII[i] < -sinks;
    if (*changed && !*active) {
        kd_eval answer = kd_rows_follows(self, i, &follows);
        if (answer != KD_EVAL_OK) return answer;
        *changed = !follows;
    }
    if (*changed) *active = !*active;
    return KD_EVAL_OK;
}

// Friction row i: the same.
static bool change_friction(kd_event_rows *self, int i)
{
    double mu = self->x->mu[i];
    int    direction = kd_rows_direction(self, self->x, i);
    double back = (self->leaves[self->dims.nlambda + i] ? LOOSE : SINKS) * self->largest_acceleration;
    if (self->x->active_mu[i]) {
        if (fabs(mu) <= self->limit[i] * (1 + PULLS) + DBL_EPSILON * self->largest_force) return false;
        kd_rows_slide(self, i, mu < 0 ? -1 : 1);
        return true;
    }
    if (fabs(self->h[i]) > kd_rows_slow(self) || direction * self->hI[i] >= -back) return false;
    kd_rows_slide(self, i, 0);
    return true;
}

// The function whose row was changed, -1: none
static kd_eval change_one(kd_event_rows *self, int *which)
{
    *which = -1;
    for (int k = 0; k < self->none_sided; k++) {
        bool    changed;
        kd_eval answer = change_one_sided(self, self->one_sided[k], &changed);
        if (changed) *which = k;
        if (changed || answer != KD_EVAL_OK) return answer;
    }
    for (int k = 0; k < self->nfriction && *which < 0; k++)
        if (change_friction(self, self->friction[k])) *which = self->none_sided + k;
    return KD_EVAL_OK;
}

// Velocities of the rows that now hold: what is left of gI_i and h_i is small, but not rounding.
static kd_status meet_rows(kd_event_rows *self)
{
    kd_state *x = self->x;
    memset(self->hit, 0, (size_t)self->dims.nlambda);
    if (kd_rows_levels(self) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
    kd_status status =
        kd_eom_impact(kd_acceleration_data(self->solver), x->active_lambda, x->active_mu, self->hit, x->v, NULL);
    if (status < 0) return status;
    bool done =
        kd_rows_levels(self) == KD_EVAL_OK && find_implied(self) == KD_EVAL_OK && kd_rows_solve(self) == KD_EVAL_OK;
    return done ? KD_OK : KD_ERR_CALLBACK_STOP;
}

kd_status kd_rows_settle(kd_event_rows *self)
{
    char name[128];
    int  last = -1, most = 50 + 20 * (self->none_sided + self->nfriction);
    for (int turn = 0; turn < most; turn++) {
        int changed;
        if (kd_rows_solve(self) != KD_EVAL_OK || change_one(self, &changed) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
        if (changed < 0) return meet_rows(self);
        last = changed;
    }
    kd_text(self->unsettled, sizeof self->unsettled,
            "one-sided rows and dry friction find no common state, most of all %s; friction may be too large for its "
            "normal force to exist",
            kd_event_rows_name(self, last, name, sizeof name));
    return KD_ERR_CHATTER;
}
