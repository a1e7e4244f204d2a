// formulation/kkt.h: small systems [M C'; C 0] with M positive definite and independent rows C, by two Cholesky
// factorisations: M = L L', W' = C inv(L'), W' W = R R'. The same with other rows below than beside M, [M C'; N 0]:
// with V' = N inv(L') an LU of V' W takes the place of the second one.
#ifndef KD_FORMULATION_KKT_H
#define KD_FORMULATION_KKT_H

#include "core/memory.h"

typedef struct kd_kkt {
    int     nv, nrows;
    double *L;       // (nv x nv)
    double *W;       // (nrows x nv) W'
    double *R;       // (nrows x nrows)
    double *inverse; // (nv + nrows) reciprocals of the diagonals of L and R
    double *V;       // (nrows x nv) V'
    double *length;  // (2 nrows) of the columns of W and V
    int    *pivot;   // (nrows) of the LU in R
    bool    mixed;   // [M C'; N 0] was factored last
} kd_kkt;

void kd_kkt_cut(kd_kkt *self, kd_arena *arena, int nv, int nrows);
// M (nv x nv), C in two parts of nlambda and nmu rows. false: M is not safely definite, or rows nearly depend on each
// other: not for this method.
bool kd_kkt_factor(kd_kkt *self, const double *M, int nlambda, const double *GZ, int nmu, const double *HZ);
// The same for [M C'; N 0], N in two parts as well.
bool kd_kkt_factor_mixed(kd_kkt *self, const double *M, int nlambda, const double *GZ, int nmu, const double *HZ,
                         const double *next_GZ, const double *next_HZ);
// (nv + nrows): b <- [M C'; C 0] \ b, or [M C'; N 0] \ b
void kd_kkt_solve(const kd_kkt *self, double *b);

#endif
