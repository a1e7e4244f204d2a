// integrator/bdf_history.h: the past of a multistep method as divided differences; coefficients of the BDF with fixed
// leading coefficient (BCP 5.2). Method: docs/methods/bdf.md
//
//     D_j = [x_n, x_(n-1), ..., x_(n-j)],  nodes t_n, t_(n-1), ...; equal nodes stand for derivatives (x'(t_0), ...)
//     predictor: P(t) = sum_(j=0)^k pi_j(t) D_j,  pi_j(t) = (t - t_n) ... (t - t_(n-j+1))
#ifndef KD_INTEGRATOR_BDF_HISTORY_H
#define KD_INTEGRATOR_BDF_HISTORY_H

#include "core/memory.h"

enum { KD_BDF_ORDER_MAX = 5, KD_BDF_TERMS = KD_BDF_ORDER_MAX + 2 };

typedef struct kd_bdf_history {
    int     n;
    int     terms;           // D_0 .. D_(terms-1) are known
    double  t[KD_BDF_TERMS]; // nodes, the newest first
    double *D[KD_BDF_TERMS]; // (n)
} kd_bdf_history;

// For one step from t_n to t with order k
typedef struct kd_bdf_coefficients {
    int    order;
    double t, h;
    double psi[KD_BDF_TERMS];   // t - t_(n-j)
    double pi[KD_BDF_TERMS];    // pi_j(t)
    double slope[KD_BDF_TERMS]; // pi_j'(t)
    double sigma[KD_BDF_TERMS]; // sigma_j |pi_j [x, x_n .. x_(n+1-j)]| = |h^j x^(j)| / j
    double cj;                  // x' = P' + cj (x - P)
    double error;               // local error = error |x - P|
} kd_bdf_coefficients;

void kd_bdf_history_cut(kd_bdf_history *history, kd_arena *arena, int n);
// x and x' at t
void kd_bdf_history_start(kd_bdf_history *history, double t, const double *x, const double *xdot);
// After a start: x'' at the same time, too
void kd_bdf_history_curvature(kd_bdf_history *history, const double *xddot);
// Values X_0, X_1, .. at different times, the newest first; count <= KD_BDF_TERMS
void kd_bdf_history_points(kd_bdf_history *history, int count, const double *t, double *const *X);
// The same for values that stand in D_0 .. D_(count-1) already, at the different times t[0] .. t[count-1]
void kd_bdf_history_rebuild(kd_bdf_history *history, int count);
// The past of another motion, by (t - t_n)^j / j! times the jumps x, x', x'' away from this one (kink.h)
void kd_bdf_history_bend(kd_bdf_history *history, const double *x, const double *xdot, const double *xddot);
// How many of the newest nodes are different times
int kd_bdf_history_distinct(const kd_bdf_history *history);
// 1 <= order <= KD_BDF_ORDER_MAX, history.terms > order
void kd_bdf_history_coefficients(const kd_bdf_history *history, double t, int order, kd_bdf_coefficients *c);
// x = P(t), xdot = P'(t)
void kd_bdf_history_predict(const kd_bdf_history *history, const kd_bdf_coefficients *c, double *x, double *xdot);
// x(t) = P(t) + e is the newest point now
void kd_bdf_history_accept(kd_bdf_history *history, const kd_bdf_coefficients *c, const double *e);
// The other way round, right after it: the newest point is gone. x is that of before it; D of the highest order of
// before is not known any more, which the order of the step did not need.
void kd_bdf_history_retract(kd_bdf_history *history, const kd_bdf_coefficients *c, const double *x);
// The polynomial of the given degree through the newest points
void kd_bdf_history_interpolate(const kd_bdf_history *history, int degree, double t, double *x);

#endif
