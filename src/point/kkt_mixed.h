// point/kkt_mixed.h: small systems [M C'; N 0] with M positive definite and rows N close to C, as those of
// half-explicit stages: M = L D L', [Y z] = inv(M) [C' f], elimination of N Y.
#ifndef KD_POINT_KKT_MIXED_H
#define KD_POINT_KKT_MIXED_H

#include "core/memory.h"
#include "point/kkt.h"

typedef struct kd_kkt_mixed {
    int            nv, nrows;
    kd_kkt_factors mass;
    double        *Y;      // (ld x nv) column i: row i of inv(M) [C' f]; ld = nrows + 1, rounded up
    double        *S;      // (ld x nrows) column k: row k of N inv(M) [C' f] - [0 c]
    double        *LU;     // (nrows x nrows) of N inv(M) C', scaled
    double        *lambda; // (nrows)
    double        *scale;  // (nrows)
    int           *pivot;  // (nrows)
} kd_kkt_mixed;

void kd_kkt_mixed_cut(kd_kkt_mixed *self, kd_arena *arena, int nv, int nrows);
// (nv + nrows): b <- [M C'; N 0] \ b with M (nv x nv), C and N in two parts of nlambda and nmu rows. false: M is not
// safely definite, or rows nearly depend on each other: not for this method, b is as before.
bool kd_kkt_mixed_solve(kd_kkt_mixed *self, const double *M, int nlambda, const double *GZ, const double *next_GZ,
                        int nmu, const double *HZ, const double *next_HZ, double *b);

#endif
