// point/kkt_impl.h: the variant of kkt.c for few rows, and what kkt_mixed.c shares with it. Not for others.
#ifndef KD_POINT_KKT_IMPL_H
#define KD_POINT_KKT_IMPL_H

#include "math/small_order.h"
#include "point/kkt.h"

enum { KD_KKT_FEW = KD_SMALL_ORDER }; // most rows

#define KD_KKT_INLINE static inline __attribute__((always_inline))

// call(m, ...) with m = 1 .. KD_KKT_FEW as a constant
#define KD_KKT_FOR_FEW(m, call, ...) KD_FOR_SMALL_ORDER(m, (void)0, call, __VA_ARGS__)               // m is not larger
#define KD_KKT_FOR_ROWS(m, call, ...) KD_FOR_SMALL_ORDER(m, call(m, __VA_ARGS__), call, __VA_ARGS__) // or m as it is

void kd_kkt_factors_cut(kd_kkt_factors *self, kd_arena *arena, int n);
bool kd_kkt_mass_factor(kd_kkt_factors *self, const double *M); // false: not safely definite
void kd_kkt_forward(const kd_kkt_factors *self, double *x);     // x = inv(L) x
void kd_kkt_backward(const kd_kkt_factors *self, double *x);    // x = inv(L') x

// W, V and the factors of S, from those of M
bool kd_kkt_few_factor(kd_kkt *self, double least, int nlambda, const double *GZ, int nmu, const double *HZ);
// b = [z; c] <- [inv(D) z - V lambda; lambda]
void kd_kkt_few_solve(const kd_kkt *self, double *b);

#endif
