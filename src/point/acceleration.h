// point/acceleration.h: accelerations and multipliers at a point, and projection onto the constraints.
//
//     solve:   residual(a, lambda, mu, w) = 0, gII(a) = 0, hI(a) = 0, d(w, lambda, mu) = 0; inactive: lambda_i = 0
//     project: p, s, then v to the closest point with g = 0, c = 0, q = 0, gI = 0, h = 0 (in the norm of M, or Euclidean)
#ifndef KD_POINT_ACCELERATION_H
#define KD_POINT_ACCELERATION_H

#include <kardan/formulation.h>

typedef struct kd_acceleration kd_acceleration;

// inputs may be NULL; x gives discrete states and active rows and stays the caller's. opt->constraints == SVD:
// multipliers of redundant rows by minimum norm with opt->rank_tolerance; otherwise only where the matrix is
// numerically singular. opt->point: the evaluation point to work at, which each call moves and finds anywhere; it stays
// the caller's. NULL: one of its own.
kd_status kd_acceleration_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                 const kd_formulation_options *opt, kd_acceleration **acceleration) KD_NODISCARD;
void      kd_acceleration_destroy(kd_acceleration *self);                // NULL is fine
void      kd_acceleration_archive(kd_acceleration *self, kd_archive *a); // save or restore

// Multipliers of redundant rows: from now on those closest to the guess instead of those of minimum norm.
void kd_acceleration_least_change(kd_acceleration *self);

// Projections: the closest point from now on in the Euclidean norm of the increments instead of that of M.
void kd_acceleration_euclidean(kd_acceleration *self);

// Accelerations and projections close to a point, at the same time, with the matrix of that point from now on,
// corrected to rounding: a step ends with one factorisation. Last bits then depend on what was asked before.
void kd_acceleration_share(kd_acceleration *self);

// a, w, lambda, mu at (t, p, s, v, r); w, lambda, mu come as guess. The arrays must stay unchanged during the call only.
kd_eval kd_acceleration_solve(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                              const double *r, double *a, double *w, double *lambda, double *mu) KD_NODISCARD;
// The same at the velocity stage of the data (kd_acceleration_at).
kd_eval kd_acceleration_solve_here(kd_acceleration *self, double *a, double *w, double *lambda,
                                   double *mu) KD_NODISCARD;
// How far the accelerations at (t, p, s, v, r) are from a, about: difference (nv) with the matrix of the last point that
// was solved, w, lambda, mu as guesses. *done false: there is no such matrix, or it is that of a point far away.
kd_eval kd_acceleration_difference(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r, const double *a, const double *w, const double *lambda,
                                   const double *mu, double *difference, bool *done) KD_NODISCARD;
// Where rows are redundant (SVD): lambda, mu to those of least norm with the same forces.
kd_eval kd_acceleration_least_norm(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r, const double *a, const double *w, double *lambda,
                                   double *mu) KD_NODISCARD;
// z or an input has jumped at (t, p, s, v, r), where a, lambda, mu satisfied the equations of motion before: their
// jumps to jump (nv + nlambda + nmu), [M C'; C 0] jump = -(residual, 0). The matrix may be that of a point close by, so
// that a jump is known to about three digits. *done false: the equations are not of that kind, solve them.
kd_eval kd_acceleration_jump(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                             const double *r, const double *a, const double *w, const double *lambda, const double *mu,
                             double *jump, bool *done) KD_NODISCARD;
// Half-explicit stages: rows that the accelerations of a stage satisfy instead of gII and hI: gI = 0 and h = 0 at
// another point (t, p), where the velocity is v + factor a.
typedef struct kd_next {
    double        t;
    const double *p, *v;
    double        factor;
} kd_next;
// a, w, lambda, mu at (t, p, s, v, r) with these rows; s is the guess of the contact coordinates of both points. The data
// stay at the other point where the equations have no inner states: the next stage may be there, or the end of the step.
kd_eval kd_acceleration_stage(kd_acceleration *self, const kd_next *next, double t, const double *p, const double *s,
                              const double *v, const double *r, double *a, double *w, double *lambda,
                              double *mu) KD_NODISCARD;
// kd_acceleration_at for the point of a stage, before it
kd_eval kd_acceleration_stage_at(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                 const double *r) KD_NODISCARD;
// Where rows are redundant (SVD): the independent ones of (t, p, s), a point on the constraints, stand for all others
// in stages from now on. Stages leave the constraints a little, where redundant rows contradict each other.
kd_eval kd_acceleration_select(kd_acceleration *self, double t, const double *p, const double *s) KD_NODISCARD;
// Newton onto the position level, then onto the velocity level, all with the matrix of (t, p, v): one step each where
// that is enough for rounding, as at the end of an integration step. invariants: then onto 0 = e by the shortest move
// of (p, v) along the constraints; left as it is where no such move exists (equilibrium).
kd_eval kd_acceleration_project(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                                bool invariants) KD_NODISCARD;
// dv (nv) such that p - dp, v - dv, close to (t, p, s, v, r), satisfy gI = 0 and h = 0 as far as the matrix of (t, p) can
// tell: the shortest change of the given one. That of an acceleration at (t, p) serves.
kd_eval kd_acceleration_neighbour(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                  const double *r, const double *dp, double *dv) KD_NODISCARD;
// Constraint values (g; gI, h) at (t, p, s, v, r) to rows (2 nlambda + nmu), 0 where a row does not hold.
kd_eval kd_acceleration_violations(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r, double *rows) KD_NODISCARD;
// The shortest increments dp, dv (nv) with C dp = rows of g, C dv = rows of gI and h: along constraint forces at that
// point, whose matrix is evaluated.
kd_eval kd_acceleration_normal(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                               const double *r, const double *rows, double *dp, double *dv) KD_NODISCARD;
// Impulses at an instant: v jumps to the one with gI = 0 and h = 0 at (t, p, s), by
//     M (v+ - v) + momentum + (GZ)' Lambda + (HZ)' Pi = 0,
// always with M; impulse (nlambda + nmu): those of the active rows. momentum (nv) NULL: none.
kd_eval kd_acceleration_impulse(kd_acceleration *self, double t, const double *p, const double *s, double *v,
                                const double *r, const double *momentum, double *impulse) KD_NODISCARD;
// s from 0 = c(p, s) by Newton's method, starting at the given s.
kd_eval kd_acceleration_contacts(kd_acceleration *self, double t, const double *p, double *s) KD_NODISCARD;

// The evaluation point that the functions above use; kd_acceleration_at sets it up to the velocity stage, _at_time up to
// the time stage, with the inputs there.
kd_eom_data    *kd_acceleration_data(kd_acceleration *self);
kd_eval         kd_acceleration_at_time(kd_acceleration *self, double t) KD_NODISCARD;
kd_eval         kd_acceleration_at(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r) KD_NODISCARD;
const kd_eom   *kd_acceleration_eom(const kd_acceleration *self);
const kd_state *kd_acceleration_state(const kd_acceleration *self);
// Why the last call did not answer KD_EVAL_OK.
kd_status kd_acceleration_fault(const kd_acceleration *self, const char **message);

#endif
