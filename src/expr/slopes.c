// expr/slopes.c: slopes m_i at rows (x_i, y_i), with h_i = x_i+1 - x_i and secants s_i = (y_i+1 - y_i)/h_i.
//
//   spline    continuous second derivative: h_i m_i-1 + 2 (h_i-1 + h_i) m_i + h_i-1 m_i+1 = 3 (h_i s_i-1 + h_i-1 s_i);
//             at the ends continuous third derivative at the second row and the last but one (not-a-knot; de Boor: A
//             Practical Guide to Splines, ch. IV), of a ring the same equation across the end
//   akima     weighted by the change of slope on the other side (Akima: J. ACM 17 (1970) 589)
//   monotone  weighted harmonic mean, 0 at a turn (Fritsch, Butland: SIAM J. Sci. Stat. Comput. 5 (1984) 300)
#include "expr/slopes.h"

#include <math.h>
#include <string.h>

// The derivative at the first or last row of the parabola through the three rows at that end.
static double end_slope(double h0, double h1, double s0, double s1)
{
    return s0 + (s0 - s1) * (h0 / (h0 + h1));
}

// Not-a-knot: tridiagonal equations for the slopes; c (n) is scratch for the upper diagonal.
static void spline_slopes(const kd_rows *r, double *m, double *c)
{
    const int n = r->n;
    if (n == 3) { // the parabola
        const double h0 = kd_rows_width(r, 0), h1 = kd_rows_width(r, 1), s0 = kd_rows_secant(r, 0),
                     s1 = kd_rows_secant(r, 1);
        m[0] = end_slope(h0, h1, s0, s1);
        m[1] = s0 + (s1 - s0) * (h0 / (h0 + h1));
        m[2] = end_slope(h1, h0, s1, s0);
        return;
    }
    // h1 m0 + (h0 + h1) m1 = ((3 h0 + 2 h1) h1 s0 + h0^2 s1)/(h0 + h1)
    double h0 = kd_rows_width(r, 0), h1 = kd_rows_width(r, 1), s0 = kd_rows_secant(r, 0), s1 = kd_rows_secant(r, 1),
           pivot = h1;
    c[0] = (h0 + h1) / pivot;
    m[0] = ((3.0 * h0 + 2.0 * h1) * h1 * s0 + h0 * h0 * s1) / (h0 + h1) / pivot;
    for (int i = 1; i < n - 1; i++) {
        // h_i m_i-1 + 2 (h_i-1 + h_i) m_i + h_i-1 m_i+1 = 3 (h_i s_i-1 + h_i-1 s_i)
        h0 = kd_rows_width(r, i - 1), h1 = kd_rows_width(r, i), s0 = kd_rows_secant(r, i - 1),
        s1 = kd_rows_secant(r, i);
        pivot = 2.0 * (h0 + h1) - h1 * c[i - 1];
        c[i] = h0 / pivot;
        m[i] = (3.0 * (h1 * s0 + h0 * s1) - h1 * m[i - 1]) / pivot;
    }
    // mirror image of the first; h0, s0: last but one, h1, s1: last
    pivot = h0 - (h0 + h1) * c[n - 2];
    m[n - 1] = (((3.0 * h1 + 2.0 * h0) * h0 * s1 + h1 * h1 * s0) / (h0 + h1) - (h0 + h1) * m[n - 2]) / pivot;
    // back substitution
    for (int i = n - 2; i >= 0; i--) m[i] -= c[i] * m[i + 1];
}

// The same equations around a ring of N = n - 1 rows: a tridiagonal matrix with two corners. It is T + u v' with u = (g, 0,
// .., 0, corner), v = (1, 0, .., 0, corner/g), so that m = a - b (v'a)/(1 + v'b), T a = right side, T b = u (Sherman,
// Morrison). Diagonally dominant. scratch (2 n)
static void ring_slopes(const kd_rows *r, double *m, double *scratch)
{
    const int N = r->n - 1;
    double   *c = scratch, *b = scratch + r->n;
    if (N == 2) { // both neighbours are the other row
        const double h0 = kd_rows_width(r, 0), h1 = kd_rows_width(r, 1), s0 = kd_rows_secant(r, 0),
                     s1 = kd_rows_secant(r, 1);
        m[0] = m[1] = m[2] = (h0 * s1 + h1 * s0) / (h0 + h1);
        return;
    }
    // elimination of T for both right sides
    const double first = kd_rows_width(r, 0), last = kd_rows_width(r, N - 1);
    const double low = kd_rows_width(r, N - 2); // lower left corner: of m_0 in the last row
    const double g = -2.0 * (last + first);
    for (int i = 0; i < N; i++) {
        const int    before = i > 0 ? i - 1 : N - 1;
        const double h0 = kd_rows_width(r, before), h1 = kd_rows_width(r, i), s0 = kd_rows_secant(r, before),
                     s1 = kd_rows_secant(r, i);
        double diagonal = 2.0 * (h0 + h1), right = 3.0 * (h1 * s0 + h0 * s1), u = i == 0 ? g : 0.0;
        if (i == 0) diagonal -= g;
        if (i == N - 1) { // upper right corner times lower left corner over g
            diagonal -= low * first / g;
            u = low;
        }
        const double pivot = i > 0 ? diagonal - h1 * c[i - 1] : diagonal;
        c[i] = h0 / pivot;
        m[i] = (right - (i > 0 ? h1 * m[i - 1] : 0.0)) / pivot;
        b[i] = (u - (i > 0 ? h1 * b[i - 1] : 0.0)) / pivot;
    }
    for (int i = N - 2; i >= 0; i--) {
        m[i] -= c[i] * m[i + 1];
        b[i] -= c[i] * b[i + 1];
    }
    // v' = (1, 0, .., 0, first/g): the upper right corner is h_0, of m_N-1 in the first row
    const double factor = (m[0] + first / g * m[N - 1]) / (1.0 + b[0] + first / g * b[N - 1]);
    for (int i = 0; i < N; i++) m[i] -= factor * b[i];
    m[N] = m[0];
}

// Secant i of -2 .. n: beyond the ends they go on by their last difference, of a ring around it.
static double akima_secant(const kd_rows *r, int i)
{
    const int last = r->n - 2, N = r->n - 1;
    if (r->ring) return kd_rows_secant(r, (i % N + N) % N);
    const double first = kd_rows_secant(r, 0), end = kd_rows_secant(r, last);
    if (i < 0) return first + i * (kd_rows_secant(r, 1) - first);
    if (i > last) return end + (i - last) * (end - kd_rows_secant(r, last - 1));
    return kd_rows_secant(r, i);
}

// m = (|s_i+1 - s_i| s_i-1 + |s_i-1 - s_i-2| s_i) / (their sum), the mean where both vanish
static void akima_slopes(const kd_rows *r, double *m)
{
    for (int i = 0; i < r->n; i++) {
        const double a = akima_secant(r, i - 2), b = akima_secant(r, i - 1), c = akima_secant(r, i),
                     d = akima_secant(r, i + 1);
        const double left = fabs(d - c), right = fabs(b - a), sum = left + right;
        m[i] = sum > 0.0 ? (left / sum) * b + (right / sum) * c : 0.5 * (b + c);
    }
}

// End slopes are kept between 0 and three secants, which suffices for a monotone piece.
static double monotone_end(double h0, double h1, double s0, double s1)
{
    const double m = end_slope(h0, h1, s0, s1);
    if (s0 == 0.0 || (m < 0.0) != (s0 < 0.0)) return 0.0;
    return fabs(m) > 3.0 * fabs(s0) ? 3.0 * s0 : m;
}

// 1/m = share/s_i-1 + (1 - share)/s_i
static double monotone_slope(const kd_rows *r, int before, int i)
{
    const double h0 = kd_rows_width(r, before), h1 = kd_rows_width(r, i), s0 = kd_rows_secant(r, before),
                 s1 = kd_rows_secant(r, i);
    const double share = (h0 + 2.0 * h1) / (3.0 * (h0 + h1));
    const bool   turns = s0 == 0.0 || s1 == 0.0 || (s0 < 0.0) != (s1 < 0.0);
    return turns ? 0.0 : 1.0 / (share / s0 + (1.0 - share) / s1);
}

static void monotone_slopes(const kd_rows *r, double *m)
{
    const int n = r->n;
    for (int i = 1; i < n - 1; i++) m[i] = monotone_slope(r, i - 1, i);
    if (r->ring) {
        m[0] = m[n - 1] = monotone_slope(r, n - 2, 0);
        return;
    }
    m[0] = monotone_end(kd_rows_width(r, 0), kd_rows_width(r, 1), kd_rows_secant(r, 0), kd_rows_secant(r, 1));
    m[n - 1] = monotone_end(kd_rows_width(r, n - 2), kd_rows_width(r, n - 3), kd_rows_secant(r, n - 2),
                            kd_rows_secant(r, n - 3));
}

void kd_rows_slopes(const kd_rows *r, kd_curve_kind kind, double *m, double *scratch)
{
    memset(m, 0, (size_t)r->n * sizeof *m);
    if (kind == KD_CURVE_KIND_LINEAR) return;
    if (r->n == 2) {
        m[0] = m[1] = kd_rows_secant(r, 0);
    } else if (kind == KD_CURVE_KIND_AKIMA) {
        akima_slopes(r, m);
    } else if (kind == KD_CURVE_KIND_MONOTONE) {
        monotone_slopes(r, m);
    } else if (r->ring) {
        ring_slopes(r, m, scratch);
    } else {
        spline_slopes(r, m, scratch);
    }
}
