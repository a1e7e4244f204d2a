// analysis/chart.h: independent columns of linear equations J x + b = 0: the others follow from them.
#ifndef KD_ANALYSIS_CHART_H
#define KD_ANALYSIS_CHART_H

#include "core/memory.h"

typedef struct kd_linear_chart {
    int     m, n; // J (m x n)
    int     rank;
    int    *row;         // (rank) rows of J that hold the others
    int    *dependent;   // (rank) columns
    int    *independent; // (n - rank) columns, rising
    double *J;           // (rank x n) chosen rows
    double *LU;          // (rank x rank) of the dependent columns of J
    int    *pivot;
    double *b; // (rank) workspace
} kd_linear_chart;

// active: (m) rows that hold. unit: (n) natural sizes of the components of x. weight: (n) columns of large weight are rather dependent ones. false: no memory.
bool kd_linear_chart_create(kd_linear_chart *chart, kd_arena *arena, int m, int n, const double *J,
                            const unsigned char *active, const double *unit, const double *weight, double tolerance);
// The dependent components of x (n), the independent ones given; b (m).
void kd_linear_chart_complete(const kd_linear_chart *chart, const double *b, double *x);

#endif
