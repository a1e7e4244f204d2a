// common_fit.h: log-log interpolation and slopes of measured curves.
#ifndef KD_BENCH_FIT_H
#define KD_BENCH_FIT_H

// y where the curve of points (x_i, y_i), i = 0 .. n-1, first falls from above x to x or below, interpolated linearly
// in the logarithms. Points with a value that is not finite and positive interrupt the curve. NaN: never.
double bench_crossing(int n, const double *x, const double *y, double wanted);

// y at x = wanted on the line of least squares through the logarithms: for curves that do not fall evenly. Points as below.
double bench_fitted(int n, const double *x, const double *y, double wanted);

// Slope of log y over log x by least squares. Points with a value that is not finite and positive are left out; NaN if
// fewer than two remain.
double bench_slope(int n, const double *x, const double *y);

#endif
