// common_fit.c: log-log interpolation and slopes.
#include "common_fit.h"
#include <math.h>
#include <stdbool.h>

static bool is_usable(double x, double y)
{
    return isfinite(x) && isfinite(y) && x > 0 && y > 0;
}

double bench_crossing(int n, const double *x, const double *y, double wanted)
{
    for (int i = 1; i < n; i++) {
        if (!is_usable(x[i - 1], y[i - 1]) || !is_usable(x[i], y[i])) continue;
        if (!(x[i - 1] > wanted && x[i] <= wanted)) continue;
        double part = log(wanted / x[i - 1]) / log(x[i] / x[i - 1]);
        return y[i - 1] * pow(y[i] / y[i - 1], part);
    }
    return NAN;
}

double bench_slope(int n, const double *x, const double *y)
{
    double count = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        if (!is_usable(x[i], y[i])) continue;
        double lx = log(x[i]), ly = log(y[i]);
        count++, sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
    }
    return count >= 2 ? (count * sxy - sx * sy) / (count * sxx - sx * sx) : NAN;
}

double bench_fitted(int n, const double *x, const double *y, double wanted)
{
    double count = 0, sx = 0, sy = 0;
    for (int i = 0; i < n; i++) {
        if (!is_usable(x[i], y[i])) continue;
        count++, sx += log(x[i]), sy += log(y[i]);
    }
    // through the mean point
    return exp(sy / count + bench_slope(n, x, y) * (log(wanted) - sx / count));
}
