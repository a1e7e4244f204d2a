// point/kkt_mixed.h: small systems [M C'; N 0] with M positive definite and rows N close to C, as those of
// half-explicit stages: M = L D L', W' = [C; N] inv(L'), LU of N inv(M) C'.
#ifndef KD_POINT_KKT_MIXED_H
#define KD_POINT_KKT_MIXED_H

#include "core/memory.h"
#include "point/kkt.h"

typedef struct kd_kkt_mixed {
    int            nv, nrows;
    kd_kkt_factors mass;
    double        *W, *V; // (2 nrows x nv) [C; N] inv(L'), the same times inv(D)
    double        *S;     // (nrows x nrows) N inv(M) C', scaled; its LU
    double        *scale; // (nrows)
    int           *pivot; // (nrows)
} kd_kkt_mixed;

void kd_kkt_mixed_cut(kd_kkt_mixed *self, kd_arena *arena, int nv, int nrows);
// M (nv x nv), C and N in two parts of nlambda and nmu rows. false: M is not safely definite, or rows nearly depend on
// each other: not for this method.
bool kd_kkt_mixed_factor(kd_kkt_mixed *self, const double *M, int nlambda, const double *GZ, const double *next_GZ,
                         int nmu, const double *HZ, const double *next_HZ);
// (nv + nrows): b <- [M C'; N 0] \ b
void kd_kkt_mixed_solve(const kd_kkt_mixed *self, double *b);

#endif
