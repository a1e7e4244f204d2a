// formulation/kkt.h: small systems [M C'; C 0] with M positive definite and independent rows C, by two Cholesky
// factorisations: M = L L', W' = C inv(L'), W' W = R R'.
#ifndef KD_FORMULATION_KKT_H
#define KD_FORMULATION_KKT_H

#include "core/memory.h"

typedef struct kd_kkt {
    int     nv, nrows;
    double *L;       // (nv x nv)
    double *W;       // (nrows x nv) W'
    double *R;       // (nrows x nrows)
    double *inverse; // (nv + nrows) reciprocals of the diagonals of L and R
} kd_kkt;

void kd_kkt_cut(kd_kkt *self, kd_arena *arena, int nv, int nrows);
// M (nv x nv), C in two parts of nlambda and nmu rows. false: M is not safely definite, or rows nearly depend on each
// other: not for this method.
bool kd_kkt_factor(kd_kkt *self, const double *M, int nlambda, const double *GZ, int nmu, const double *HZ);
// (nv + nrows): b <- [M C'; C 0] \ b
void kd_kkt_solve(const kd_kkt *self, double *b);

#endif
