// expr/slopes.h: slopes at the rows of a table, for cubics of Hermite through them.
#ifndef KD_EXPR_SLOPES_H
#define KD_EXPR_SLOPES_H

#include "expr/curve.h"

typedef struct kd_rows {
    int           n; // at least 2
    const double *x, *y;
    bool          ring; // the last row is the first one of the next period
} kd_rows;

static inline double kd_rows_width(const kd_rows *r, int i)
{
    return r->x[i + 1] - r->x[i];
}

static inline double kd_rows_secant(const kd_rows *r, int i)
{
    return (r->y[i + 1] - r->y[i]) / kd_rows_width(r, i);
}

// m (n): the slopes of a kind; straight lines: 0. scratch (2 n)
void kd_rows_slopes(const kd_rows *r, kd_curve_kind kind, double *m, double *scratch);

#endif
