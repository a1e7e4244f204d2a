// expr/table.h: a table z(x, y) on a grid as a function with partial derivatives up to the third order.
#ifndef KD_EXPR_TABLE_H
#define KD_EXPR_TABLE_H

#include "expr/curve.h"

typedef struct kd_table kd_table;

// Values z[i ny + j] at (x[i], y[j]), at least 2 x 2, x and y increasing, all finite; copied. Kinds as of curves: each
// line of the grid is a curve of that kind (straight lines: bilinear; spline: bicubic, two continuous derivatives).
// Outside of the grid as of curves, in each argument; a table cannot repeat. KD_OK, KD_ERR_MODEL (message says where and
// why), KD_ERR_MEMORY. On failure *table is NULL.
kd_status kd_table_create(kd_curve_kind kind, kd_outside outside, int nx, int ny, const double *x, const double *y,
                          const double *z, kd_table **table, char *message, size_t size) KD_NODISCARD;
// Other numbers, as many as before. Does not allocate. After KD_ERR_MODEL it must be updated again.
kd_status  kd_table_update(kd_table *table, kd_curve_kind kind, const double *x, const double *y, const double *z,
                           char *message, size_t size) KD_NODISCARD;
void       kd_table_destroy(kd_table *table); // NULL is fine
kd_outside kd_table_outside(const kd_table *table);

// Partial derivatives: f[i][j] = d^(i+j) f/dx^i dy^j for i + j <= 3; NaN where there is no value.
void   kd_table_eval(const kd_table *table, double x, double y, double f[4][4]);
double kd_table_value(const kd_table *table, double x, double y);
// Bounds of f for all x and y of their ranges, rounding included
kd_interval kd_table_bounds(const kd_table *table, kd_interval x, kd_interval y);
// A number that is the same for two points between the same breaks: lines of a bilinear table, ends of the others
double kd_table_breaks_before(const kd_table *table, double x, double y);
bool   kd_table_is_one_piece(const kd_table *table, kd_interval x, kd_interval y);
bool   kd_table_is_outside(const kd_table *table, double x, double y); // by more than rounding
void   kd_table_ends(const kd_table *table, double x[2], double y[2]);

#endif
