// integrator/secants.h: what earlier iterations tell about the error of a Newton matrix (Anderson's method, type II).
//
//     z(x) = -J \ F(x) with a fixed J. Iterations give pairs dX, dZ = z(x + dX) - z(x).
//     dx = z - (dX + dZ) g,  g = argmin |z - dZ g|   is z itself where nothing is known.
#ifndef KD_INTEGRATOR_SECANTS_H
#define KD_INTEGRATOR_SECANTS_H

#include "core/memory.h"

enum { KD_SECANTS = 3 };

typedef struct kd_secants {
    int     n, count;
    double *dX[KD_SECANTS], *dZ[KD_SECANTS]; // (n) the newest first
    double *P[KD_SECANTS], *Q[KD_SECANTS];   // (n) combinations of them with orthogonal Q
    double *R[KD_SECANTS], *S[KD_SECANTS];   // (n) weight^2 Q / |Q|^2, P + Q
    int     used, known;                     // number of these; pairs that they are made of, -1: others
} kd_secants;

void kd_secants_cut(kd_secants *s, kd_arena *arena, int n);
// A new pair; the oldest is forgotten when there are too many. z: after the increment dx, z_old: before it
void kd_secants_add(kd_secants *s, const double *dx, const double *z, const double *z_old);
// dx from z; weight: (n) of the norm
void kd_secants_improve(kd_secants *s, const double *weight, const double *z, double *dx);

#endif
