// point/acceleration_impl.h: the object behind acceleration.h and what its files share. Not for others.
//
// One matrix K = [M C'; C 0], C = [GZ; HZ], serves accelerations, projections and impulses. It is factored in one of
// several ways, each in a file of its own; kd_acceleration_apply uses whichever was made last:
//
//     by the definition   along the topology of the mechanism, for large systems      kd_eom_kkt_factor
//     definite            by Cholesky's method, where M is definite and C independent acceleration_definite.c
//     full, truncated     LU or SVD of the scaled matrix, with w and forces of lambda acceleration_full.c
#ifndef KD_POINT_ACCELERATION_IMPL_H
#define KD_POINT_ACCELERATION_IMPL_H

#include "point/acceleration.h"
#include "point/kkt.h"
#include "point/kkt_mixed.h"
#include "point/position.h"

#define KD_ACCELERATION_ITERATIONS 25   // of Newton's method
#define KD_ACCELERATION_CONVERGED 1e-13 // increment relative to the largest scaled unknown: rounding
#define KD_ACCELERATION_STAGNATED 1e-8  // accepted when increments no longer fall

typedef enum kd_factors { // which ones solve K x = b at present
    KD_FACTORS_NONE,
    KD_FACTORS_BY_DEFINITION,
    KD_FACTORS_DEFINITE,
    KD_FACTORS_FULL,
    KD_FACTORS_TRUNCATED
} kd_factors;

typedef struct kd_acceleration_blocks {
    double *M, *C_lambda, *C_mu, *R_w; // (nv x nv), (nv x nlambda), (nv x nmu), (nv x nw) of the residual
    double *GZ, *HZ;                   // (nlambda x nv), (nmu x nv)
    double *d_lambda, *d_mu, *d_w;     // (nw x ...)
    double *c_s, *c_p;                 // (ns x ns), (ns x nv)
    double *e_p, *e_v, *e_s;           // (ne x nv), (ne x nv), (ne x ns)
    double *gI_p, *gI_s, *h_p, *h_s;   // velocity levels by p and s
} kd_acceleration_blocks;

// acceleration_full.c: K with the columns of w, scaled
typedef struct kd_full_matrix {
    double *A;                     // (nf x nf) scaled, then its LU; NULL: not made yet
    double *U, *Vt, *sigma, *work; // its SVD
    double *row, *column;          // (nf) scale factors
    int    *pivot, *iwork;
} kd_full_matrix;

// acceleration_definite.c: K of the active rows at one point, which may serve others close by
typedef struct kd_definite {
    kd_kkt         kkt;
    int            npacked;  // C has these active rows only
    int           *packed;   // (nlambda + nmu) which
    double        *packed_b; // (nk)
    bool           known;    // the factors are those of (t, p) with these active rows
    unsigned char *active;   // (nlambda + nmu)
    double         t, *p;
    bool           solved;   // ... and this is its solution
    double        *solution; // (nk) a, lambda, mu there
    int            jumps;    // and differences that it has served
} kd_definite;

// acceleration_newton.c: the full matrix of an earlier point
typedef struct kd_kept_matrix {
    bool           usable;
    bool           of_stage; // ... by stages only
    double        *point;    // (nf) a, lambda, mu, w of the last solution
    double        *guess;    // (nf) lambda, mu, w that came as guess, behind nv places
    unsigned char *active;   // (nlambda + nmu) its rows
} kd_kept_matrix;

// acceleration_stage.c: the rows are those of another point, GZ a + rows = 0
typedef struct kd_stage_rows {
    bool         in_use; // instead of gII, hI
    kd_kkt_mixed mixed;
    double      *GZ, *HZ; // at the other point
    double      *rows;    // (nlambda + nmu) gI, h there over the factor of a
    // where the data are, as long as the stamp of their position is this one; once, for the next point that is asked for
    unsigned long stamp; // 0: nothing is known
    double        t, *p, *s;
    bool         *left_out; // (nlambda + nmu) not among the independent rows
    int          *row_order, *column_order;
} kd_stage_rows;

// acceleration_contacts.c: c_s of an earlier point
typedef struct kd_contact_matrix {
    bool    known;
    double *LU; // (ns x ns)
    int    *pivot;
    double *c; // (ns)
} kd_contact_matrix;

// acceleration_invariants.c
typedef struct kd_invariant_moves {
    double *gradient;              // (nv x ne) by p along the constraints
    double *along_p, *along_v;     // (nk x ne) directions in which they are projected, with multipliers
    double *p, *s, *v;             // where a move began
    double *e, *S;                 // (ne), (ne x ne) change of e by moves along the directions
    double *U, *sigma, *Vt, *work; // SVD of S
    int    *pivot;                 // (ns) of c_s
    double *by_s;                  // (ns)
} kd_invariant_moves;

struct kd_acceleration {
    kd_arena        arena, full_arena; // full_arena: the matrices of order nf, made by kd_acceleration_reserve
    const kd_eom   *eom;
    const kd_state *state;
    kd_inputs       inputs;
    kd_dims         dims;
    int             nk, nf; // nv + nlambda + nmu, the same + nw
    kd_eom_data    *data;
    bool            lent; // data is the caller's
    kd_position     position;
    double         *u, *du, *ddu;

    // what was asked for, and what the equations are
    bool   linear; // one solve is exact: no force and no d depends on multipliers
    bool   svd;    // redundant rows are expected
    double rank_tolerance;
    bool   least_change; // their multipliers closest to the guess instead of those of least norm
    bool   euclidean;    // projections in that norm instead of that of M
    bool   shares;       // a definite matrix may serve points close to its own

    kd_factors             factors;
    kd_acceleration_blocks block;
    kd_blocks              wanted, wanted_mass, wanted_c, wanted_e;
    kd_full_matrix         full;
    kd_definite            definite;
    kd_kept_matrix         kept;
    kd_stage_rows          stage;
    kd_contact_matrix      contact;
    kd_invariant_moves     invariant;

    double   *rhs, *zero; // (nf)
    double   *e_moved;    // (nv) an increment
    double   *p_moved;    // (np)
    kd_status fault;
    char      message[256];
};

static inline double kd_larger(double x, double y)
{
    return x > y ? x : y;
}

// Row k of [g; h] holds. In stages those that depend on others are left out.
static inline bool kd_acceleration_is_active(const kd_acceleration *self, int k)
{
    const int nlambda = self->dims.nlambda;
    if (self->stage.in_use && self->stage.left_out[k]) return false;
    return k < nlambda ? self->state->active_lambda[k] : self->state->active_mu[k - nlambda];
}

// ---- acceleration.c -------------------------------------------------------------------------------------------------

// The full matrices; false: out of memory.
bool kd_acceleration_reserve(kd_acceleration *self);
// Can the definition solve for a, lambda, mu itself, with the rows that are active now?
bool kd_acceleration_has_own_solution(const kd_acceleration *self);
bool kd_acceleration_all_active(const kd_acceleration *self);
// Keep the words of an answer that was not OK; the answer.
kd_eval kd_acceleration_note(kd_acceleration *self, kd_eval answer);
kd_eval kd_acceleration_no_solution(kd_acceleration *self, kd_status status, double t, const char *what); // RETRY
kd_eval kd_acceleration_no_room(kd_acceleration *self, double t);                                         // STOP
// rhs = -(residual, gII, hI, d) at the acceleration stage of the data, inactive rows -lambda_i
kd_eval kd_acceleration_rows(kd_acceleration *self, const double *lambda, const double *mu);
// b (n) <- K \ b with the factors in use; n = nk, or nf where the full matrix has the columns of w
void kd_acceleration_apply(kd_acceleration *self, int n, double *b);

// ---- acceleration_full.c --------------------------------------------------------------------------------------------

// A = the matrix of a, lambda, mu, w at the acceleration stage of the data
kd_eval kd_full_evaluate(kd_acceleration *self);
// A = [M C'; C 0] at the position stage of the data, with I for M where the norm is Euclidean
kd_eval kd_full_evaluate_projector(kd_acceleration *self);
// LU of the scaled matrix of order n, or its SVD where rows are redundant. false: neither.
bool kd_full_factor(kd_acceleration *self, int n);
void kd_full_solve(kd_acceleration *self, int n, double *b);

// ---- acceleration_definite.c ----------------------------------------------------------------------------------------

// M and C at the present point; the acceleration must be set.
kd_eval kd_definite_matrices(kd_acceleration *self);
// Factors at the present point, where that is safe; *done tells. The acceleration must be set.
kd_eval kd_definite_factor(kd_acceleration *self, double t, const double *p, bool *done);
void    kd_definite_solve(kd_acceleration *self, double *b);
// Does the matrix in use serve (t, p) as well? *far: largest distance of a coordinate
bool kd_definite_is_near(const kd_acceleration *self, double t, const double *p, double *far);
// ... and a jump at p, of which a few digits are enough?
bool kd_definite_serves_jump(const kd_acceleration *self, const double *p);
// definite.solution += K \ -(residual, gII, hI) at the present point; *step, *size: largest parts of a
kd_eval kd_definite_improve(kd_acceleration *self, const double *w, double *step, double *size);
// Linear equations with definite M and independent rows, to definite.solution; *done false: not of that kind
kd_eval kd_definite_accelerations(kd_acceleration *self, double t, const double *p, const double *w, bool *done);
void    kd_definite_take(const kd_acceleration *self, double *a, double *lambda, double *mu);

// ---- acceleration_newton.c ------------------------------------------------------------------------------------------

// Newton's method with full matrices; one iteration where the equations are linear
kd_eval kd_newton_accelerations(kd_acceleration *self, double t, double *a, double *w, double *lambda, double *mu);
// ... with the matrix of an earlier point; *done false: it did not converge, all is as before
kd_eval kd_newton_with_kept(kd_acceleration *self, double *a, double *w, double *lambda, double *mu, bool *done);

// ---- acceleration_redundant.c ---------------------------------------------------------------------------------------

// lambda, mu <- those of least norm with the same forces; the factors are those of a truncated SVD
void kd_redundant_least_norm(kd_acceleration *self, double *lambda, double *mu);

// ---- acceleration_stage.c -------------------------------------------------------------------------------------------

// kd_acceleration_at for the next point after a stage: where that is the point of its rows, the data are there
kd_eval kd_stage_at(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                    const double *r);
// y = the rows of the stage for the acceleration of the data
void kd_stage_evaluate(kd_acceleration *self, double *y);

// ---- acceleration_project.c -----------------------------------------------------------------------------------------

// K at (t, p) for projections, by the cheapest factors there are; *far: distance from its point
kd_eval kd_project_factor(kd_acceleration *self, double t, const double *p, double *far);
// p <- p oplus e_moved, with q and s
kd_eval kd_project_move(kd_acceleration *self, double t, double *p, double *s);
// Onto g, then onto gI and h
kd_eval kd_project_levels(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                          double *far);
// rhs = -(momentum or 0, gI, h) at the velocity stage of the data, inactive rows 0
kd_eval kd_project_rows(kd_acceleration *self, const double *momentum);

// ---- acceleration_invariants.c --------------------------------------------------------------------------------------

kd_eval kd_project_invariants(kd_acceleration *self, double t, double *p, double *s, double *v, const double *r,
                              double *far);

#endif
