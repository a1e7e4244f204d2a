// secants.c: Anderson acceleration of a simplified Newton iteration (Anderson 1965; Walker and Ni, SIAM J. Numer. Anal.
// 49, 2011). Pairs of earlier steps are of use as long as the matrix and cj are the same, as the error of the matrix
// changes slowly.
#include "integrator/secants.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

static const double PARALLEL = 1e-2; // a pair that keeps less than this of |dZ|^2 beside newer ones says nothing new

void kd_secants_cut(kd_secants *s, kd_arena *arena, int n)
{
    s->n = n;
    for (int k = 0; k < KD_SECANTS; k++) {
        s->dX[k] = kd_cut_double(arena, n);
        s->dZ[k] = kd_cut_double(arena, n);
        s->P[k] = kd_cut_double(arena, n);
        s->Q[k] = kd_cut_double(arena, n);
        s->R[k] = kd_cut_double(arena, n);
        s->S[k] = kd_cut_double(arena, n);
    }
}

void kd_secants_add(kd_secants *s, const double *dx, const double *z, const double *z_old)
{
    // the oldest pair is overwritten: only pointers move
    int     last = KD_SECANTS - 1;
    double *dX = s->dX[last], *dZ = s->dZ[last];
    for (int k = last; k > 0; k--) {
        s->dX[k] = s->dX[k - 1];
        s->dZ[k] = s->dZ[k - 1];
    }
    // what dX changed of z = -J \ F; it would be -dX if J were the true matrix
    s->dX[0] = dX;
    s->dZ[0] = dZ;
    for (int i = 0; i < s->n; i++) {
        dX[i] = dx[i];
        dZ[i] = z[i] - z_old[i];
    }
    if (s->count < KD_SECANTS) s->count++;
    // P .. S belong to other pairs now
    s->known = -1;
}

// R = weight^2 Q; the answer is |Q|^2
static double weigh(int n, const double *weight, const double *Q, double *R)
{
    for (int i = 0; i < n; i++) R[i] = weight[i] * weight[i] * Q[i];
    return kd_dot(n, R, Q);
}

// (p, q) -= g (P, Q)
static void take_away(int n, double g, const double *P, const double *Q, double *p, double *q)
{
    for (int i = 0; i < n; i++) {
        p[i] -= g * P[i];
        q[i] -= g * Q[i];
    }
}

// Gram and Schmidt, the newest pair first: combinations of pairs are pairs, too.
static void orthogonalise(kd_secants *s, const double *weight)
{
    int    n = s->n;
    size_t bytes = (size_t)n * sizeof *weight;
    s->used = 0;
    s->known = s->count;
    // (P, Q) = (dX, dZ) minus its parts along the pairs before
    for (int k = 0; k < s->count; k++) {
        int     m = s->used;
        double *P = s->P[m], *Q = s->Q[m], *R = s->R[m], *S = s->S[m];
        memcpy(P, s->dX[k], bytes);
        memcpy(Q, s->dZ[k], bytes);
        double before = weigh(n, weight, Q, R);
        for (int j = 0; j < m; j++) take_away(n, kd_dot(n, s->R[j], Q), s->P[j], s->Q[j], P, Q);
        double size = m > 0 ? weigh(n, weight, Q, R) : before;
        // what is nearly a combination of newer pairs would divide by rounding: left out
        if (!(size > PARALLEL * before) || !isfinite(size)) continue;
        // R: the row that measures z along Q; S = P + Q: what dx is improved by
        double inverse = 1 / size;
        for (int i = 0; i < n; i++) {
            R[i] *= inverse;
            S[i] = P[i] + Q[i];
        }
        s->used++;
    }
}

// The least squares problem. Weights change slowly: those of the time when the newest pair came are good enough.
void kd_secants_improve(kd_secants *s, const double *weight, const double *z, double *dx)
{
    // dx = z - sum (R_k . z) S_k; without pairs the plain Newton increment
    memcpy(dx, z, (size_t)s->n * sizeof *z);
    if (s->known != s->count) orthogonalise(s, weight);
    for (int k = 0; k < s->used; k++) kd_axpy(s->n, -kd_dot(s->n, s->R[k], z), s->S[k], dx);
}
