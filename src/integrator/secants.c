// secants.c: Anderson acceleration of a simplified Newton iteration (Anderson 1965; Walker and Ni, SIAM J. Numer. Anal.
// 49, 2011). Pairs of earlier steps are of use as long as the matrix and cj are the same, as the error of the matrix
// changes slowly.
#include "integrator/secants.h"

#include <math.h>
#include <string.h>

static const double PARALLEL = 1e-2; // a pair that keeps less than this of |dZ|^2 beside newer ones says nothing new

void kd_secants_cut(kd_secants *s, kd_arena *arena, int n)
{
    s->n = n;
    for (int k = 0; k < KD_SECANTS; k++) {
        s->dX[k] = kd_cut_double(arena, n);
        s->dZ[k] = kd_cut_double(arena, n);
        s->P[k] = kd_cut_double(arena, n);
        s->Q[k] = kd_cut_double(arena, n);
    }
}

void kd_secants_add(kd_secants *s, const double *dx, const double *z, const double *z_old)
{
    int     last = KD_SECANTS - 1;
    double *dX = s->dX[last], *dZ = s->dZ[last];
    for (int k = last; k > 0; k--) {
        s->dX[k] = s->dX[k - 1];
        s->dZ[k] = s->dZ[k - 1];
    }
    s->dX[0] = dX;
    s->dZ[0] = dZ;
    for (int i = 0; i < s->n; i++) {
        dX[i] = dx[i];
        dZ[i] = z[i] - z_old[i];
    }
    if (s->count < KD_SECANTS) s->count++;
}

static double product(const kd_secants *s, const double *weight, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += a[i] * b[i] * weight[i] * weight[i];
    return sum;
}

// (p, q) -= g (P, Q)
static void take_away(int n, double g, const double *P, const double *Q, double *p, double *q)
{
    for (int i = 0; i < n; i++) {
        p[i] -= g * P[i];
        q[i] -= g * Q[i];
    }
}

// The least squares problem by Gram and Schmidt, the newest pair first: combinations of pairs are pairs, too.
void kd_secants_improve(kd_secants *s, const double *weight, const double *z, double *dx)
{
    int    n = s->n, used = 0;
    size_t bytes = (size_t)n * sizeof *z;
    double size[KD_SECANTS];
    memcpy(dx, z, bytes);
    for (int k = 0; k < s->count; k++) {
        double *P = s->P[used], *Q = s->Q[used];
        memcpy(P, s->dX[k], bytes);
        memcpy(Q, s->dZ[k], bytes);
        double before = product(s, weight, Q, Q);
        for (int j = 0; j < used; j++) take_away(n, product(s, weight, s->Q[j], Q) / size[j], s->P[j], s->Q[j], P, Q);
        size[used] = product(s, weight, Q, Q);
        if (!(size[used] > PARALLEL * before) || !isfinite(size[used])) continue;
        double g = product(s, weight, Q, z) / size[used];
        for (int i = 0; i < n; i++) dx[i] -= g * (P[i] + Q[i]);
        used++;
    }
}
