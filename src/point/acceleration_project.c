// acceleration_project.c: projection onto g = 0, then onto gI = 0 and h = 0, to the closest point in the norm of M (or
// in the Euclidean one), by Newton's method with one matrix:
//
//     [M C'; C 0] [dp; .] = -[0; g],   p <- p oplus dp,        [M C'; C 0] [dv; .] = -[0; gI, h],   v <- v + dv
//
// What an iteration leaves is bilinear in its increment and the distance from the point of the matrix: at the end of an
// integration step one is enough.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define PROJECTIONS 4 // largest number of iterations of one projection

// ---- the matrix -----------------------------------------------------------------------------------------------------

kd_eval kd_project_factor(kd_acceleration *self, double t, const double *p, double *far)
{
    const bool by_mass = !self->euclidean;
    bool       done = false;
    kd_eval    answer = KD_EVAL_OK;

    // the matrix of a point close by
    if (by_mass && kd_definite_is_near(self, t, p, far)) return KD_EVAL_OK;
    *far = 0;
    self->definite.known = self->kept.usable = false;

    // large systems: along the topology
    if (by_mass && kd_acceleration_has_own_solution(self) && kd_eom_kkt_factor(self->data) == KD_EVAL_OK) {
        self->factors = KD_FACTORS_BY_DEFINITION;
        return KD_EVAL_OK;
    }
    self->factors = KD_FACTORS_NONE;
    if (!kd_acceleration_reserve(self)) return kd_acceleration_no_room(self, kd_eom_point(self->data)->t);

    // definite ones: by Cholesky's method
    kd_eom_at_acceleration(self->data, self->zero, self->zero, self->zero, self->zero);
    if (by_mass) answer = kd_definite_factor(self, t, p, &done);
    if (answer != KD_EVAL_OK || done) return answer;

    // all others
    answer = kd_full_evaluate_projector(self);
    if (answer != KD_EVAL_OK || kd_full_factor(self, self->nk)) return answer;
    return kd_acceleration_no_solution(self, KD_ERR_SINGULAR_MASS, t, kd_status_sentence(KD_ERR_SINGULAR_MASS));
}

// ---- one iteration --------------------------------------------------------------------------------------------------

// Rows of rhs that do not hold are 0
static void clear_inactive(kd_acceleration *self)
{
    double *y = self->rhs + self->dims.nv;
    for (int i = 0; i < self->dims.nlambda; i++)
        if (!self->state->active_lambda[i]) y[i] = 0;
    for (int i = 0; i < self->dims.nmu; i++)
        if (!self->state->active_mu[i]) y[self->dims.nlambda + i] = 0;
}

// Largest entry of an increment, in natural units
static double natural_norm(const kd_acceleration *self, const double *y)
{
    double most = 0;
    for (int j = 0; j < self->dims.nv; j++) most = kd_larger(most, fabs(y[j]) / kd_eom_unit(self->eom, j));
    return most;
}

kd_eval kd_project_move(kd_acceleration *self, double t, double *p, double *s)
{
    kd_eval answer = kd_acceleration_note(self, kd_eom_oplus(self->data, p, self->e_moved, self->p_moved));
    if (answer != KD_EVAL_OK) return answer;
    memcpy(p, self->p_moved, (size_t)self->dims.np * sizeof(double));
    answer = kd_acceleration_note(self, kd_position_normalise(&self->position, self->data, s, p));
    return answer == KD_EVAL_OK ? kd_acceleration_contacts(self, t, p, s) : answer;
}

// p <- p oplus -P g; *moved = size of the increment
static kd_eval project_position(kd_acceleration *self, double t, double *p, double *s, double *moved)
{
    const kd_dims d = self->dims;
    double       *y = self->rhs;
    memset(y, 0, (size_t)self->nk * sizeof *y);
    kd_eval answer = kd_eom_eval(self->data, KD_G, y + d.nv);
    if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);
    for (int i = 0; i < d.nlambda; i++) y[d.nv + i] = -y[d.nv + i];
    clear_inactive(self);
    kd_acceleration_apply(self, self->nk, y);
    memcpy(self->e_moved, y, (size_t)d.nv * sizeof(double));
    *moved = natural_norm(self, y);
    return kd_project_move(self, t, p, s);
}

kd_eval kd_project_rows(kd_acceleration *self, const double *momentum)
{
    const kd_dims d = self->dims;
    double       *y = self->rhs;
    memset(y, 0, (size_t)self->nk * sizeof *y);
    kd_eval answer = d.nlambda > 0 ? kd_eom_eval(self->data, KD_GI, y + d.nv) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, y + d.nv + d.nlambda);
    if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);
    if (momentum) memcpy(y, momentum, (size_t)d.nv * sizeof *y);
    for (int i = momentum ? 0 : d.nv; i < self->nk; i++) y[i] = -y[i];
    clear_inactive(self);
    return KD_EVAL_OK;
}

// v <- v - P (gI, h); *moved = size of the increment
static kd_eval project_velocity(kd_acceleration *self, double *v, double *moved)
{
    double *y = self->rhs;
    kd_eval answer = kd_project_rows(self, NULL);
    if (answer != KD_EVAL_OK) return answer;
    kd_acceleration_apply(self, self->nk, y);
    kd_axpy(self->dims.nv, 1, y, v);
    *moved = natural_norm(self, y) * kd_eom_time(self->eom);
    return KD_EVAL_OK;
}

// ---- projection -----------------------------------------------------------------------------------------------------

kd_eval kd_project_levels(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                          double *far)
{
    double  step = 0;
    kd_eval answer = KD_EVAL_OK;
    // positions by Newton's method; quadratic convergence: the next step would be about step * far
    for (int k = 0; k < PROJECTIONS && self->dims.nlambda > 0; k++) {
        kd_eom_at_position(self->data, p, s);
        answer = project_position(self, t, p, s, &step);
        if (answer != KD_EVAL_OK) return answer;
        *far += step;
        if (step * *far <= DBL_EPSILON) break;
    }
    // velocities at these positions: linear but for the rounding of the first solution
    for (int k = 0; k < PROJECTIONS; k++) {
        kd_eom_at_position(self->data, p, s);
        kd_eom_at_velocity(self->data, v, r);
        answer = project_velocity(self, v, &step);
        if (answer != KD_EVAL_OK || step * *far <= DBL_EPSILON) break;
    }
    return answer;
}

kd_eval kd_acceleration_project(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                                bool invariants)
{
    const kd_dims d = self->dims;
    double        far = 0;

    // quaternion norms and contact coordinates
    kd_eval answer = kd_acceleration_at_time(self, t);
    if (answer == KD_EVAL_OK)
        answer = kd_acceleration_note(self, kd_position_normalise(&self->position, self->data, s, p));
    if (answer == KD_EVAL_OK) answer = kd_acceleration_contacts(self, t, p, s);
    invariants = invariants && self->block.e_v;
    if (answer != KD_EVAL_OK || (d.nlambda + d.nmu == 0 && !invariants)) return answer;

    // constraints, then invariants along them, all with the matrix of where that begins
    kd_eom_at_position(self->data, p, s);
    kd_eom_at_velocity(self->data, v, r);
    answer = kd_project_factor(self, t, p, &far);
    if (answer == KD_EVAL_OK) answer = kd_project_levels(self, t, p, s, v, r, &far);
    return answer == KD_EVAL_OK && invariants ? kd_project_invariants(self, t, p, s, v, r, &far) : answer;
}

kd_eval kd_acceleration_neighbour(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                  const double *r, const double *dp, double *dv)
{
    const kd_dims d = self->dims;
    double       *other_p = self->p_moved, *other_s = self->stage.s, *other_v = self->e_moved, far;
    // the matrix here
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer == KD_EVAL_OK) answer = kd_project_factor(self, t, p, &far);
    if (answer != KD_EVAL_OK) return answer;
    // the rows there
    for (int i = 0; i < d.np; i++) other_p[i] = p[i] - dp[i];
    for (int i = 0; i < d.nv; i++) other_v[i] = v[i] - dv[i];
    if (d.ns > 0) memcpy(other_s, s, (size_t)d.ns * sizeof *s);
    answer = kd_acceleration_contacts(self, t, other_p, other_s);
    if (answer == KD_EVAL_OK) answer = kd_acceleration_at(self, t, other_p, other_s, other_v, r);
    if (answer == KD_EVAL_OK) answer = kd_project_rows(self, NULL);
    if (answer != KD_EVAL_OK) return answer;
    kd_acceleration_apply(self, self->nk, self->rhs);
    kd_axpy(d.nv, -1, self->rhs, dv);
    return KD_EVAL_OK;
}

// ---- symmetric projection -------------------------------------------------------------------------------------------

kd_eval kd_acceleration_violations(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r, double *rows)
{
    const kd_dims d = self->dims;
    kd_eval       answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer == KD_EVAL_OK && d.nlambda > 0) answer = kd_eom_eval(self->data, KD_G, rows);
    if (answer == KD_EVAL_OK && d.nlambda > 0) answer = kd_eom_eval(self->data, KD_GI, rows + d.nlambda);
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, rows + 2 * d.nlambda);
    for (int i = 0; i < d.nlambda; i++)
        if (!self->state->active_lambda[i]) rows[i] = rows[d.nlambda + i] = 0;
    for (int i = 0; i < d.nmu; i++)
        if (!self->state->active_mu[i]) rows[2 * d.nlambda + i] = 0;
    return kd_acceleration_note(self, answer);
}

kd_eval kd_acceleration_normal(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                               const double *r, const double *rows, double *dp, double *dv)
{
    const kd_dims d = self->dims;
    double       *y = self->rhs, far = 0;
    // the matrix of this very point: one close by has other normal directions
    self->definite.known = self->kept.usable = false;
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer == KD_EVAL_OK) answer = kd_project_factor(self, t, p, &far);
    if (answer != KD_EVAL_OK) return answer;
    // positions by rows of g, velocities by those of gI and h
    memset(y, 0, (size_t)self->nk * sizeof *y);
    memcpy(y + d.nv, rows, (size_t)d.nlambda * sizeof *y);
    kd_acceleration_apply(self, self->nk, y);
    memcpy(dp, y, (size_t)d.nv * sizeof *dp);
    memset(y, 0, (size_t)self->nk * sizeof *y);
    memcpy(y + d.nv, rows + d.nlambda, (size_t)(d.nlambda + d.nmu) * sizeof *y);
    kd_acceleration_apply(self, self->nk, y);
    memcpy(dv, y, (size_t)d.nv * sizeof *dv);
    return KD_EVAL_OK;
}
