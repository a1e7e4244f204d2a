// acceleration_stage.c: half-explicit stages. The accelerations of a stage satisfy, instead of gII = 0 and hI = 0, the
// velocity level at another point (t+, p+), where the velocity is v+ + factor a:
//
//     residual(a, lambda, mu) = 0,   N a + (gI, h)(t+, p+, v+) / factor = 0,   N = [GZ; HZ](t+, p+)
//
// Large systems correct with K at the first point, factored along the topology; otherwise the rows of the other point
// stand in the matrix: of small linear systems with definite M (kkt_mixed.c), or of the full one.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define BY_TOPOLOGY 25 // corrections of a stage with the factors of the definition

// ---- the point ------------------------------------------------------------------------------------------------------

// The data to (t, p, s), which is remembered
static kd_eval settle(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                      const double *r)
{
    kd_stage_rows *stage = &self->stage;
    stage->stamp = 0;
    stage->t = t;
    memcpy(stage->p, p, (size_t)self->dims.np * sizeof *p);
    if (self->dims.ns > 0) memmove(stage->s, s, (size_t)self->dims.ns * sizeof *s);
    kd_eval answer = kd_acceleration_at(self, t, stage->p, stage->s, v, r);
    if (answer == KD_EVAL_OK) stage->stamp = kd_eom_point(self->data)->position_stamp;
    return answer;
}

// Are they there? Asked for once: inputs and z may change until the next time
static bool is_there(kd_acceleration *self, double t, const double *p, const double *s)
{
    kd_stage_rows *stage = &self->stage;
    const kd_dims  d = self->dims;
    const bool there = stage->stamp > 0 && stage->stamp == kd_eom_point(self->data)->position_stamp && t == stage->t &&
                       memcmp(p, stage->p, (size_t)d.np * sizeof *p) == 0 &&
                       (d.ns == 0 || memcmp(s, stage->s, (size_t)d.ns * sizeof *s) == 0);
    stage->stamp = 0;
    return there;
}

kd_eval kd_stage_at(kd_acceleration *self, double t, const double *p, const double *s, const double *v, const double *r)
{
    if (!is_there(self, t, p, s)) return kd_acceleration_at(self, t, p, s, v, r);
    kd_eom_at_velocity(self->data, v, r);
    return KD_EVAL_OK;
}

kd_eval kd_acceleration_stage_at(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                 const double *r)
{
    if (!is_there(self, t, p, s)) return settle(self, t, p, s, v, r);
    self->stage.stamp = kd_eom_point(self->data)->position_stamp;
    kd_eom_at_velocity(self->data, v, r);
    return KD_EVAL_OK;
}

// ---- rows of the other point ----------------------------------------------------------------------------------------

// N and (gI, h) / factor there
static kd_eval evaluate_next(kd_acceleration *self, const kd_next *next, const double *s, const double *r)
{
    const kd_dims  d = self->dims;
    kd_stage_rows *stage = &self->stage;
    double        *y = stage->rows;
    if (d.ns > 0) memmove(stage->s, s, (size_t)d.ns * sizeof *s);
    kd_eval answer = kd_acceleration_contacts(self, next->t, next->p, stage->s);
    if (answer == KD_EVAL_OK) answer = settle(self, next->t, next->p, stage->s, next->v, r);
    if (answer != KD_EVAL_OK) return answer;
    answer = kd_eom_constraint_matrices(self->data, stage->GZ, stage->HZ);
    if (answer == KD_EVAL_OK && d.nlambda > 0) answer = kd_eom_eval(self->data, KD_GI, y);
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, y + d.nlambda);
    for (int i = 0; i < d.nlambda + d.nmu; i++) y[i] /= next->factor;
    return kd_acceleration_note(self, answer);
}

void kd_stage_evaluate(kd_acceleration *self, double *y)
{
    const kd_dims        d = self->dims;
    const kd_stage_rows *stage = &self->stage;
    const double        *a = kd_eom_point(self->data)->a;
    memcpy(y, stage->rows, (size_t)(d.nlambda + d.nmu) * sizeof *y);
    // the first solution starts from a = 0
    for (int j = 0; j < d.nv; j++) {
        const double *g = stage->GZ + (ptrdiff_t)j * d.nlambda, *h = stage->HZ + (ptrdiff_t)j * d.nmu;
        if (a[j] == 0) continue;
        for (int i = 0; i < d.nlambda; i++) y[i] += g[i] * a[j];
        for (int i = 0; i < d.nmu; i++) y[d.nlambda + i] += h[i] * a[j];
    }
}

// ---- three ways -----------------------------------------------------------------------------------------------------

// Small linear systems with definite M, all rows: forces, M and C here, rows there, one elimination
static kd_eval solve_mixed(kd_acceleration *self, const kd_next *next, double t, const double *p, const double *s,
                           const double *v, const double *r, bool *done)
{
    const kd_dims                 d = self->dims;
    const kd_acceleration_blocks *b = &self->block;
    kd_stage_rows                *stage = &self->stage;
    double                       *x = self->definite.solution;
    *done = false;
    if (!self->linear || !b->M || !kd_acceleration_all_active(self)) return KD_EVAL_OK;
    kd_eval answer = kd_stage_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    // -f and rows at a = 0, w = 0, lambda = 0: the system is linear in all of them
    kd_eom_at_acceleration(self->data, self->zero, self->zero, self->zero, self->zero);
    answer = kd_definite_matrices(self);
    if (answer == KD_EVAL_OK) answer = kd_acceleration_note(self, kd_eom_eval(self->data, KD_RESIDUAL, x));
    if (answer == KD_EVAL_OK) answer = evaluate_next(self, next, s, r);
    if (answer != KD_EVAL_OK) return answer;
    // M and forces of this point, rows of the next one
    memcpy(x + d.nv, stage->rows, (size_t)(d.nlambda + d.nmu) * sizeof *x);
    for (int i = 0; i < self->nk; i++) x[i] = -x[i];
    self->definite.solved = false;
    *done = kd_kkt_mixed_solve(&stage->mixed, b->M, d.nlambda, b->GZ, stage->GZ, d.nmu, b->HZ, stage->HZ, x);
    return d.nr > 0 ? kd_acceleration_at(self, t, p, s, v, r) : KD_EVAL_OK; // r' is asked for there
}

// -(gI, h) / factor at the other point for the velocity v
static kd_eval rows_elsewhere(kd_acceleration *self, const kd_next *next, const double *v, const double *r, double *y)
{
    const kd_dims d = self->dims;
    kd_eom_at_velocity(self->data, v, r);
    kd_eval answer = d.nlambda > 0 ? kd_eom_eval(self->data, KD_GI, y) : KD_EVAL_OK;
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(self->data, KD_H, y + d.nlambda);
    for (int i = 0; i < d.nlambda + d.nmu; i++) y[i] /= -next->factor;
    return kd_acceleration_note(self, answer);
}

// Large systems: K at (t, p), factored along the topology, corrects the rows of the other point until the velocity
// there no longer moves; each correction is smaller by the distance of the two points. Not done where that is too far.
static kd_eval solve_by_corrections(kd_acceleration *self, const kd_next *next, double t, const double *p,
                                    const double *s, const double *v, const double *r, bool *done)
{
    const kd_dims d = self->dims;
    double       *y = self->rhs, *x = self->definite.solution, *moved = self->e_moved, last = INFINITY;
    *done = false;
    if (!kd_acceleration_has_own_solution(self)) return KD_EVAL_OK;

    // K and the forces at the first point
    kd_eval answer = kd_stage_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK || kd_eom_kkt_factor(self->data) != KD_EVAL_OK) return answer;
    kd_eom_at_acceleration(self->data, self->zero, self->zero, self->zero, self->zero);
    answer = kd_acceleration_note(self, kd_eom_eval(self->data, KD_RESIDUAL, y));
    for (int i = 0; i < d.nv; i++) y[i] = -y[i];

    // x += K \ (forces at first, rows at the other point)
    if (answer == KD_EVAL_OK) answer = settle(self, next->t, next->p, s, next->v, r);
    self->definite.solved = false;
    memset(x, 0, (size_t)self->nk * sizeof *x);
    memcpy(moved, next->v, (size_t)d.nv * sizeof *moved);
    for (int k = 0; k < BY_TOPOLOGY && answer == KD_EVAL_OK && !*done; k++) {
        answer = rows_elsewhere(self, next, moved, r, y + d.nv);
        if (answer != KD_EVAL_OK) break;
        kd_eom_kkt_solve(self->data, y);
        kd_axpy(self->nk, 1, y, x);
        kd_axpy(d.nv, next->factor, y, moved);
        const double step = fabs(next->factor) * kd_norm_max(d.nv, y), size = kd_norm_max(d.nv, moved);
        *done = step * (k > 0 ? step / last : 1) <= DBL_EPSILON * size;
        if (!(k == 0 || step < 0.5 * last)) break;
        last = step;
        memset(y, 0, (size_t)d.nv * sizeof *y);
    }
    return answer == KD_EVAL_OK && d.nr > 0 ? kd_acceleration_at(self, t, p, s, v, r) : answer;
}

kd_eval kd_acceleration_stage(kd_acceleration *self, const kd_next *next, double t, const double *p, const double *s,
                              const double *v, const double *r, double *a, double *w, double *lambda, double *mu)
{
    bool done;

    // large systems
    kd_eval answer = solve_by_corrections(self, next, t, p, s, v, r, &done);
    if (answer != KD_EVAL_OK) return answer;
    if (done) {
        kd_definite_take(self, a, lambda, mu);
        return KD_EVAL_OK;
    }

    // small ones
    if (!kd_acceleration_reserve(self)) return kd_acceleration_no_room(self, t);
    answer = solve_mixed(self, next, t, p, s, v, r, &done);
    if (answer != KD_EVAL_OK) return answer;
    if (done) {
        kd_definite_take(self, a, lambda, mu);
        return KD_EVAL_OK;
    }

    // all others: the rows of the other point in the full matrix, which serves no one else
    answer = evaluate_next(self, next, s, r);
    if (answer == KD_EVAL_OK) answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    self->stage.in_use = true;
    answer = kd_acceleration_solve_here(self, a, w, lambda, mu);
    self->stage.in_use = self->definite.solved = false;
    return answer;
}
