// math/least_distance.h: the shortest y with w_i' y = c_i (equations) and w_i' y >= c_i (one-sided rows).
#ifndef KD_MATH_LEAST_DISTANCE_H
#define KD_MATH_LEAST_DISTANCE_H

#include "core/memory.h"

typedef struct kd_least_distance {
    int     n, most; // unknowns; largest number of independent rows
    int     rank;    // rows in use
    int    *set;     // (most) which
    double *Q, *R;   // (n x most), (most x most) columns of the rows in use: W = Q R
    double *z;       // (n) part of a row that is new
    double *along;   // (most) the rest of it: Q along
    double *r;       // (most) how the rows in use take part in it
} kd_least_distance;

typedef struct kd_least_rows {
    int           count;
    const double *W;         // (n x count) column i: w_i
    const double *c;         // (count)
    const bool   *one_sided; // (count)
    double        scale;     // size of y below which a contradiction is rounding
} kd_least_rows;

typedef enum kd_least_answer { KD_LEAST_DONE, KD_LEAST_CONTRADICTION, KD_LEAST_NO_END } kd_least_answer;

void kd_least_distance_cut(kd_least_distance *self, kd_arena *arena, int n, int rows);
// y (n) = sum u_i w_i; u (rows) is not negative in one-sided rows and 0 where w_i' y > c_i or where row i depends on
// others. *dependent: equations that were left out; *worst: the row at fault, -1: none.
kd_least_answer kd_least_distance_solve(kd_least_distance *self, const kd_least_rows *rows, double *y, double *u,
                                        int *dependent, int *worst);

#endif
