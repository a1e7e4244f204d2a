// acceleration_invariants.c: the shortest move (dp, dv) in the norm of M, with 1 s as unit of time, along the
// constraints back to 0 = e. A move dp carries v along by V_p dp, where GZ V_p = -gI_p and HZ V_p = -h_p, so that
//
//     e_p dp + e_v (V_p dp + dv) = -e,   GZ dp = 0, HZ dp = 0,   GZ dv = 0, HZ dv = 0.
//
// With K [b; nu] = [e_v'; 0] symmetry of K gives e_v V_p = -nu' [gI_p; h_p]. It is well determined where e_v vanishes
// but e_p does not, as the energy at a turning point.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define DEPENDENT 1e-10 // singular value of invariants, relative to the largest, of those that depend on others
#define MOVES 16        // with the matrix of where they began: a long one converges linearly
#define REDUCTION 0.5   // a move is kept if it leaves at most this fraction of e: at an equilibrium none does

// ---- directions -----------------------------------------------------------------------------------------------------

// out += factor A' y, A (rows x columns) or NULL: zero
static void add_product(int rows, int columns, double factor, const double *y, const double *A, double *out)
{
    if (A) kd_gemv_t(rows, columns, factor, A, y, 1, out);
}

// gradient of invariant k by p along the constraints, e_p - nu' [gI_p; h_p], where s follows p by c_s ds = -c_p dp
static void reduced_gradient(kd_acceleration *self, int k)
{
    const kd_dims                 d = self->dims;
    const kd_acceleration_blocks *b = &self->block;
    kd_invariant_moves           *m = &self->invariant;
    const double                 *nu = m->along_v + k * self->nk + d.nv;
    double                       *out = m->gradient + k * d.nv, *by_s = m->by_s;
    // direct part, then what moves with the velocities that keep the hidden constraints
    for (int i = 0; i < d.nv; i++) out[i] = b->e_p ? b->e_p[k + i * d.ne] : 0;
    add_product(d.nlambda, d.nv, -1, nu, b->gI_p, out);
    add_product(d.nmu, d.nv, -1, nu + d.nlambda, b->h_p, out);
    // contact coordinates follow the positions: adjoint of c_s ds = -c_p dp
    if (d.ns == 0) return;
    for (int i = 0; i < d.ns; i++) by_s[i] = b->e_s ? b->e_s[k + i * d.ne] : 0;
    add_product(d.nlambda, d.ns, -1, nu, b->gI_s, by_s);
    add_product(d.nmu, d.ns, -1, nu + d.nlambda, b->h_s, by_s);
    kd_lu_solve_t(d.ns, b->c_s, m->pivot, by_s, 1);
    add_product(d.ns, d.nv, -1, by_s, b->c_p, out);
}

// K \ [force; 0]
static void tangent_direction(kd_acceleration *self, const double *force, int stride, double *out)
{
    memset(out, 0, (size_t)self->nk * sizeof *out);
    for (int i = 0; i < self->dims.nv; i++) out[i] = force[i * stride];
    kd_acceleration_apply(self, self->nk, out);
}

// Directions at the present point and S = change of e by them, its SVD; not regular: nothing can be projected
static kd_eval invariant_directions(kd_acceleration *self, bool *regular)
{
    const kd_dims                 d = self->dims;
    const kd_acceleration_blocks *b = &self->block;
    kd_invariant_moves           *m = &self->invariant;
    kd_eval answer = kd_acceleration_note(self, kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_e));
    *regular = false;
    if (answer != KD_EVAL_OK) return answer;
    if (d.ns > 0 && kd_lu_factor(d.ns, b->c_s, m->pivot) != 0) return KD_EVAL_OK;
    // directions of v, then, with their multipliers, of p
    for (int k = 0; k < d.ne; k++) {
        tangent_direction(self, b->e_v + k, d.ne, m->along_v + k * self->nk);
        reduced_gradient(self, k);
        tangent_direction(self, m->gradient + k * d.nv, 1, m->along_p + k * self->nk);
    }
    // what they do to e
    for (int k = 0; k < d.ne; k++) {
        kd_gemv(d.ne, d.nv, 1, b->e_v, m->along_v + k * self->nk, 0, m->S + k * d.ne);
        kd_gemv_t(d.nv, d.ne, 1, m->gradient, m->along_p + k * self->nk, 1, m->S + k * d.ne);
    }
    *regular = kd_svd(d.ne, d.ne, m->S, m->U, m->sigma, m->Vt, m->work) == 0 && m->sigma[0] > DBL_MIN;
    return KD_EVAL_OK;
}

// ---- moves ----------------------------------------------------------------------------------------------------------

// One move towards 0 = e from the point where directions and e belong; *moved = its size
static kd_eval move_along(kd_acceleration *self, double t, double *p, double *s, double *v, double *moved)
{
    const kd_dims       d = self->dims;
    kd_invariant_moves *m = &self->invariant;
    double             *y = m->e, *dp = self->e_moved;
    // y = S \ e; dependent invariants: the shortest move for all
    kd_gemv_t(d.ne, d.ne, 1, m->U, y, 0, m->work);
    for (int k = 0; k < d.ne; k++) m->work[k] *= m->sigma[k] > DEPENDENT * m->sigma[0] ? 1 / m->sigma[k] : 0;
    kd_gemv_t(d.ne, d.ne, 1, m->Vt, m->work, 0, y);
    // along the directions
    *moved = 0;
    memset(dp, 0, (size_t)d.nv * sizeof *dp);
    for (int k = 0; k < d.ne; k++) {
        kd_axpy(d.nv, -y[k], m->along_p + k * self->nk, dp);
        kd_axpy(d.nv, -y[k], m->along_v + k * self->nk, v);
        *moved += fabs(y[k]) * kd_norm_max(d.nv, m->along_v + k * self->nk);
    }
    *moved += kd_norm_max(d.nv, dp);
    return kd_project_move(self, t, p, s);
}

// size of e at the present point
static kd_eval invariant_size(kd_acceleration *self, const double *p, const double *s, const double *v, const double *r,
                              double *size)
{
    kd_eom_at_position(self->data, p, s);
    kd_eom_at_velocity(self->data, v, r);
    kd_eval answer = kd_acceleration_note(self, kd_eom_eval(self->data, KD_E, self->invariant.e));
    *size = kd_norm_max(self->dims.ne, self->invariant.e);
    return answer;
}

kd_eval kd_project_invariants(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                              double *far)
{
    const kd_dims       d = self->dims;
    kd_invariant_moves *m = &self->invariant;
    double              size, left, moved;
    kd_eval             answer = invariant_size(self, p, s, v, r, &size);
    for (int k = 0; k < MOVES && answer == KD_EVAL_OK && size > 0; k++) {
        bool regular;
        answer = invariant_directions(self, &regular);
        if (answer != KD_EVAL_OK || !regular) return answer;
        memcpy(m->p, p, (size_t)d.np * sizeof *p);
        memcpy(m->v, v, (size_t)d.nv * sizeof *v);
        if (d.ns > 0) memcpy(m->s, s, (size_t)d.ns * sizeof *s);

        // move, and back onto the constraints
        answer = move_along(self, t, p, s, v, &moved);
        *far += moved;
        if (answer == KD_EVAL_OK) answer = kd_project_levels(self, t, p, s, v, r, far);
        if (answer == KD_EVAL_OK) answer = invariant_size(self, p, s, v, r, &left);

        // a move that does not help is taken back
        if (answer != KD_EVAL_OK || !(left <= REDUCTION * size)) {
            memcpy(p, m->p, (size_t)d.np * sizeof *p);
            memcpy(v, m->v, (size_t)d.nv * sizeof *v);
            if (d.ns > 0) memcpy(s, m->s, (size_t)d.ns * sizeof *s);
            return answer == KD_EVAL_STOP ? answer : KD_EVAL_OK;
        }
        size = left;
        if (moved * *far <= DBL_EPSILON) break;
    }
    return answer;
}
