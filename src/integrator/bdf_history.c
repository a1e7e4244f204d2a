// bdf_history.c: divided differences, predictor, coefficients of the BDF with fixed leading coefficient, interpolation.
//
// The corrector polynomial C of degree k satisfies F at t, and equals the predictor polynomial P at t - h, .., t - k h
// (BCP Eq. 5.2.5), which gives x' = P' + cj (x - P) with cj = (1 + 1/2 + .. + 1/k) / h whatever the past steps were.
// The differences are not scaled by step sizes: a rejected step changes nothing, and a node may be double or triple, so
// that a start with known x' and x'' is an ordinary history.
#include "integrator/bdf_history.h"

#include <math.h>
#include <string.h>

void kd_bdf_history_cut(kd_bdf_history *history, kd_arena *arena, int n)
{
    history->n = n;
    for (int j = 0; j < KD_BDF_TERMS; j++) history->D[j] = kd_cut_double(arena, n);
}

void kd_bdf_history_start(kd_bdf_history *history, double t, const double *x, const double *xdot)
{
    // D_0 = x, D_1 = x': the divided difference of a double node is the derivative
    size_t bytes = (size_t)history->n * sizeof *x;
    history->terms = 2;
    history->t[0] = history->t[1] = t;
    memcpy(history->D[0], x, bytes);
    memcpy(history->D[1], xdot, bytes);
}

void kd_bdf_history_curvature(kd_bdf_history *history, const double *xddot)
{
    // a triple node: D_2 = x'' / 2
    history->terms = 3;
    history->t[2] = history->t[0];
    for (int i = 0; i < history->n; i++) history->D[2][i] = 0.5 * xddot[i];
}

void kd_bdf_history_points(kd_bdf_history *history, int count, const double *t, double *const *X)
{
    for (int j = 0; j < count; j++) {
        history->t[j] = t[j];
        memcpy(history->D[j], X[j], (size_t)history->n * sizeof(double));
    }
    kd_bdf_history_rebuild(history, count);
}

void kd_bdf_history_rebuild(kd_bdf_history *history, int count)
{
    const double *t = history->t;
    history->terms = count;
    for (int level = 1; level < count; level++)
        for (int j = count - 1; j >= level; j--) // D[j] = [x_(j-level), .., x_j]
            for (int i = 0; i < history->n; i++)
                history->D[j][i] = (history->D[j - 1][i] - history->D[j][i]) / (t[j - level] - t[j]);
}

// Divided differences of q(t): [t_n] x, [t_n, t_(n-1)] x' + (t_(n-1) - t_n) x'' / 2, [t_n .. t_(n-2)] x'' / 2, then 0
void kd_bdf_history_bend(kd_bdf_history *history, const double *x, const double *xdot, const double *xddot)
{
    const double half = 0.5 * (history->t[1] - history->t[0]);
    for (int i = 0; i < history->n; i++) {
        history->D[0][i] += x[i];
        history->D[1][i] += xdot[i] + half * xddot[i];
        if (history->terms > 2) history->D[2][i] += 0.5 * xddot[i];
    }
}

int kd_bdf_history_distinct(const kd_bdf_history *history)
{
    int count = history->terms > 0 ? 1 : 0;
    while (count > 0 && count < history->terms && history->t[count] < history->t[count - 1]) count++;
    return count;
}

void kd_bdf_history_coefficients(const kd_bdf_history *history, double t, int order, kd_bdf_coefficients *c)
{
    double h = t - history->t[0], gamma = 0, alpha_s = 0, alpha_0 = 0;
    int    known = history->terms;
    c->order = order;
    c->t = t;
    c->h = h;
    // pi_j = psi_0 .. psi_(j-1), pi_j' = pi_j sum_(l<j) 1/psi_l, sigma_j = (j-1) sigma_(j-1) h / psi_(j-1)
    for (int j = 0; j < KD_BDF_TERMS; j++) {
        if (j < known) c->psi[j] = t - history->t[j];
        if (j > known) break; // D_known becomes known with this step
        c->pi[j] = j == 0 ? 1 : c->pi[j - 1] * c->psi[j - 1];
        c->slope[j] = c->pi[j] * gamma;
        c->sigma[j] = j == 0 ? 1 : j == 1 ? 1 : (j - 1) * c->sigma[j - 1] * h / c->psi[j - 1];
        if (j < known) gamma += 1 / c->psi[j];
    }
    // alpha_s = -(1 + .. + 1/k), alpha_0 = -(h/psi_0 + .. + h/psi_(k-1)) of BCP, here with the sign changed
    for (int j = 0; j < order; j++) {
        alpha_s += 1.0 / (j + 1);
        alpha_0 += h / c->psi[j];
    }
    double last = h / c->psi[order];
    c->cj = alpha_s / h;
    c->error = fmax(last, fabs(last + alpha_0 - alpha_s)); // of interpolation, of the method (BCP Eq. 5.2.11)
}

void kd_bdf_history_predict(const kd_bdf_history *history, const kd_bdf_coefficients *c, double *x, double *xdot)
{
    memcpy(x, history->D[0], (size_t)history->n * sizeof *x);
    memset(xdot, 0, (size_t)history->n * sizeof *xdot);
    // P = sum pi_j D_j, P' = sum pi_j' D_j; D_0 has no slope
    for (int j = 1; j <= c->order; j++) {
        const double *D = history->D[j];
        double        pi = c->pi[j], slope = c->slope[j];
        for (int i = 0; i < history->n; i++) {
            x[i] += pi * D[i];
            xdot[i] += slope * D[i];
        }
    }
}

// phi_j = pi_j D_j of the new point is the old pi_j D_j + phi_(j+1), starting from phi_(k+1) = e
void kd_bdf_history_accept(kd_bdf_history *history, const kd_bdf_coefficients *c, const double *e)
{
    int     n = history->n, k = c->order;
    double *last = history->D[k + 1];
    // phi_(k+1) first; going down, phi_j is complete before it is divided by pi_j into D_j
    memcpy(last, e, (size_t)n * sizeof *e);
    for (int j = k; j >= 0; j--) {
        double *D = history->D[j], *above = history->D[j + 1];
        double  pi = c->pi[j], inverse = 1 / c->pi[j + 1];
        for (int i = 0; i < n; i++) {
            D[i] = pi * D[i] + above[i];
            above[i] *= inverse;
        }
    }
    // k + 2 nodes from here on: the new one and t_n .. t_(n-k)
    memmove(history->t + 1, history->t, (KD_BDF_TERMS - 1) * sizeof *history->t);
    history->t[0] = c->t;
    history->terms = k + 2;
}

// old pi_j D_j = phi_j - phi_(j+1)
void kd_bdf_history_retract(kd_bdf_history *history, const kd_bdf_coefficients *c, const double *x)
{
    int n = history->n, k = c->order;
    // D_j of before from phi_j and phi_(j+1), which are pi_j D_j of now
    for (int j = 1; j <= k; j++) {
        double *D = history->D[j], *above = history->D[j + 1], ratio = c->pi[j + 1] / c->pi[j];
        for (int i = 0; i < n; i++) D[i] -= ratio * above[i];
    }
    memcpy(history->D[0], x, (size_t)n * sizeof *x);
    memmove(history->t, history->t + 1, (KD_BDF_TERMS - 1) * sizeof *history->t);
    history->terms = k + 1;
}

void kd_bdf_history_interpolate(const kd_bdf_history *history, int degree, double t, double *x)
{
    // Horner's scheme: D_0 + (t - t_n) (D_1 + (t - t_(n-1)) (D_2 + ..))
    memcpy(x, history->D[degree], (size_t)history->n * sizeof *x);
    for (int j = degree - 1; j >= 0; j--) {
        const double *D = history->D[j];
        double        s = t - history->t[j];
        for (int i = 0; i < history->n; i++) x[i] = D[i] + s * x[i];
    }
}
