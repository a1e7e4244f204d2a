// expr/curve.h: a table y(x) as a function with three derivatives.
#ifndef KD_EXPR_CURVE_H
#define KD_EXPR_CURVE_H

#include <kardan/base.h>

#include "expr/track.h"

typedef struct kd_curve kd_curve;
struct kd_table; // expr/table.h

// How the rows are joined, in the order of kd_curve_form (kardan/model.h). Where a derivative jumps (linear: at each row; akima, monotone: the second, spline: the
// third) it is the one from the right.
typedef enum kd_curve_kind {
    KD_CURVE_KIND_LINEAR,   // straight lines
    KD_CURVE_KIND_SPLINE,   // cubic spline, two continuous derivatives, without a knot at the second row and the last
                            // but one: cubics are met exactly
    KD_CURVE_KIND_AKIMA,    // cubics with slopes of Akima: one continuous derivative, calm beside jumps
    KD_CURVE_KIND_MONOTONE, // cubics with slopes of Fritsch and Butland: one continuous derivative, no overshoot
} kd_curve_kind;

// What the curve is before its first and behind its last row, in the order of kd_curve_outside (kardan/model.h).
typedef enum kd_outside {
    KD_OUTSIDE_TANGENT, // goes on along the tangent at its end
    KD_OUTSIDE_HOLD,    // stays at its last value
    KD_OUTSIDE_ERROR,   // has no value (NaN) but for rounding
    KD_OUTSIDE_REPEAT,  // begins anew: periodic; its last row must be its first one, shifted
} kd_outside;

// Rows (x[i], y[i]), i < n, n >= 2, x increasing, all finite; copied. KD_OK, KD_ERR_MODEL (message, size bytes, may be
// NULL, says which row and why), KD_ERR_MEMORY. On failure *curve is NULL.
kd_status kd_curve_create(kd_curve_kind kind, kd_outside outside, int n, const double *x, const double *y,
                          kd_curve **curve, char *message, size_t size) KD_NODISCARD;
// Other rows, as many as before. Does not allocate. As kd_curve_create; after KD_ERR_MODEL it must be updated again.
kd_status kd_curve_update(kd_curve *curve, kd_curve_kind kind, const double *x, const double *y, char *message,
                          size_t size) KD_NODISCARD;
// One of the functions of a track, which must outlive the curve. NULL: out of memory.
kd_curve *kd_curve_of_track(const kd_track *track, kd_track_part part);
// A table z(x, y) in place of rows, which belongs to the curve then, also on failure. NULL: out of memory.
kd_curve *kd_curve_of_table(struct kd_table *table);
void      kd_curve_destroy(kd_curve *curve); // NULL is fine

struct kd_table *kd_curve_table(const kd_curve *curve); // NULL: a function of one argument, as all below

// out = f, f', f'', f''' at x; NaN for NaN. Does not allocate and keeps nothing, so that threads can share a curve.
void   kd_curve_eval(const kd_curve *curve, double x, double out[4]);
double kd_curve_value(const kd_curve *curve, double x); // f alone
// Bounds of f for all x of a range, rounding included; costs the logarithm of the number of rows.
kd_interval kd_curve_bounds(const kd_curve *curve, kd_interval x);
// The number of breaks at or before x: corners of straight lines, and rows at which a straight line (outside of the
// rows, flat parts) becomes a curve or the other way round. Other inner rows, with their jumps of the second or third
// derivative, are no breaks: a table has many, and the error control of integrators meets them well.
double kd_curve_breaks_before(const kd_curve *curve, double x);
// Is the function one polynomial along the range? Those of tracks are not known to be.
bool kd_curve_is_one_piece(const kd_curve *curve, kd_interval x);
// Is x before the first or behind the last row, by more than rounding? Never of tracks and where the curve begins anew.
bool       kd_curve_is_outside(const kd_curve *curve, double x);
kd_outside kd_curve_rule(const kd_curve *curve); // of tables as well
void       kd_curve_ends(const kd_curve *curve, double *first, double *last);

#endif
