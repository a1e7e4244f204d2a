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
    return answer;
}

// ---- settling -------------------------------------------------------------------------------------------------------

typedef struct scales {
    double force, acceleration; // the largest so far
} scales;

static void enlarge(const kd_event_rows *self, scales *s)
{
    kd_dims n = self->dims;
    s->acceleration = fmax(s->acceleration, kd_norm_max(n.nv, self->x->a));
    s->force = fmax(s->force, kd_norm_max(n.nv, self->force));
    s->force = fmax(s->force, kd_norm_max(n.nlambda, self->x->lambda));
    s->force = fmax(s->force, kd_norm_max(n.nmu, self->x->mu));
}

// One-sided row i: change it if its state is a contradiction.
static bool change_one_sided(kd_event_rows *self, int i, const scales *s)
{
    unsigned char *active = self->x->active_lambda + i;
    double         sinks = (self->leaves[i] ? LOOSE : SINKS) * s->acceleration;
    bool           at_rest = kd_rows_touches(self, i) && fabs(self->gI[i]) <= kd_rows_slow(self);
    if (*active && self->x->lambda[i] <= PULLS * s->force) return false;
    if (!*active && (!at_rest || self->gII[i] >= -sinks)) return false;
    *active = !*active;
    return true;
}

// Friction row i: the same.
static bool change_friction(kd_event_rows *self, int i, const scales *s)
{
    double mu = self->x->mu[i];
    int    direction = kd_rows_direction(self, self->x, i);
    double back = (self->leaves[self->dims.nlambda + i] ? LOOSE : SINKS) * s->acceleration;
    if (self->x->active_mu[i]) {
        if (fabs(mu) <= self->limit[i] * (1 + PULLS) + DBL_EPSILON * s->force) return false;
        kd_rows_slide(self, i, mu < 0 ? -1 : 1);
        return true;
    }
    if (fabs(self->h[i]) > kd_rows_slow(self) || direction * self->hI[i] >= -back) return false;
    kd_rows_slide(self, i, 0);
    return true;
}

// The function whose row was changed, -1: none
static int change_one(kd_event_rows *self, const scales *s)
{
    for (int k = 0; k < self->none_sided; k++)
        if (change_one_sided(self, self->one_sided[k], s)) return k;
    for (int k = 0; k < self->nfriction; k++)
        if (change_friction(self, self->friction[k], s)) return self->none_sided + k;
    return -1;
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
    bool done = kd_rows_levels(self) == KD_EVAL_OK && kd_rows_solve(self) == KD_EVAL_OK;
    return done ? KD_OK : KD_ERR_CALLBACK_STOP;
}

kd_status kd_rows_settle(kd_event_rows *self)
{
    scales s = {0, 0};
    char   name[128];
    int    last = -1, most = 50 + 20 * (self->none_sided + self->nfriction);
    for (int turn = 0; turn < most; turn++) {
        if (kd_rows_solve(self) != KD_EVAL_OK) return KD_ERR_CALLBACK_STOP;
        enlarge(self, &s);
        int changed = change_one(self, &s);
        if (changed < 0) return meet_rows(self);
        last = changed;
    }
    kd_text(self->unsettled, sizeof self->unsettled,
            "one-sided rows and dry friction find no common state, most of all %s; friction may be too large for its "
            "normal force to exist",
            kd_event_rows_name(self, last, name, sizeof name));
    return KD_ERR_CHATTER;
}
