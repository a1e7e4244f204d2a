// point/kkt.h: small systems [M C'; C 0] with M positive definite and independent rows C, by two factorisations
// of Cholesky's kind without roots: M = L D L', W' = C inv(L'), W' inv(D) W = R E R'.
#ifndef KD_POINT_KKT_H
#define KD_POINT_KKT_H

#include "core/memory.h"

// A = L D L' of order n, L unit lower: lower triangle of LD by columns, rows of -L one after the other
typedef struct kd_kkt_factors {
    int     n;
    double *LD;      // (n x n) its upper triangle is of no meaning
    double *rows;    // (n x n) column k: row k of -L left of its diagonal
    double *inverse; // (n) of D
    int    *first;   // (n) place of the first entry of row k of L that may differ from 0
} kd_kkt_factors;

typedef struct kd_kkt {
    int            nv, nrows;
    kd_kkt_factors mass, schur;
    double        *W, *V; // (nrows x nv) W', W' inv(D); with few rows rounded up to an even number of them
} kd_kkt;

void kd_kkt_cut(kd_kkt *self, kd_arena *arena, int nv, int nrows);
// M (nv x nv), C in two parts of nlambda and nmu rows. false: M is not safely definite, or rows nearly depend on each
// other: not for this method.
bool kd_kkt_factor(kd_kkt *self, const double *M, int nlambda, const double *GZ, int nmu, const double *HZ);
// (nv + nrows): b <- [M C'; C 0] \ b
void kd_kkt_solve(const kd_kkt *self, double *b);

#endif
