// point/kkt_impl.h: the variant of kkt.c for few rows. Not for others.
#ifndef KD_POINT_KKT_IMPL_H
#define KD_POINT_KKT_IMPL_H

#include "point/kkt.h"

enum { KD_KKT_FEW = 6 }; // most rows

// W, V and the factors of S, from those of M
bool kd_kkt_few_factor(kd_kkt *self, double least, int nlambda, const double *GZ, int nmu, const double *HZ);
// b = [z; c] <- [inv(D) z - V lambda; lambda]
void kd_kkt_few_solve(const kd_kkt *self, double *b);

#endif
