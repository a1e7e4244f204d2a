// study/distribution.h: what a parameter of a study may be.
#ifndef KD_STUDY_DISTRIBUTION_H
#define KD_STUDY_DISTRIBUTION_H

#include <kardan/base.h>

typedef enum kd_distribution_kind {
    KD_UNIFORM,   // range: a .. b
    KD_NORMAL,    // mean a, standard deviation b
    KD_LOGNORMAL, // median a, b the standard deviation of the logarithm
    KD_DISCRETE,  // one of several values, all alike
} kd_distribution_kind;

typedef struct kd_distribution {
    kd_distribution_kind kind;
    double               a, b;
    int                  n;     // discrete
    const double        *value; // (n)
} kd_distribution;

// The value below which the share u lies, 0 < u < 1.
double kd_distribution_quantile(const kd_distribution *d, double u);
// Level i of n of a grid: both ends of a range, the values of a discrete one, middles of equal shares otherwise.
double kd_distribution_level(const kd_distribution *d, int i, int n);

#endif
