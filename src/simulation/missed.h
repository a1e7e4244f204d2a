// simulation/missed.h: what many quadratures may have missed together, of which each is known by an estimate with a sign.
//
// Errors of one sign add up, those of any sign like a random walk: |sum|, but not less than the root of the sum of squares.
#ifndef KD_SIMULATION_MISSED_H
#define KD_SIMULATION_MISSED_H

#include <math.h>

typedef struct kd_missed {
    double sum, squares;
} kd_missed;

// A step lacks so much, and its quadrature may be the reason for at most this of it
static inline void kd_missed_add(kd_missed *m, double lacks, double most)
{
    const double missed = copysign(fmin(fabs(lacks), most), lacks);
    m->sum += missed;
    m->squares += missed * missed;
}

static inline double kd_missed_total(const kd_missed *m)
{
    return fmax(fabs(m->sum), sqrt(m->squares));
}

#endif
