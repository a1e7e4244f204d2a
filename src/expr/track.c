// expr/track.c: a level line by its curvature.
//
// On each piece, with tau in [-1, 1], the curvature is the polynomial of degree 5 through its values at six Chebyshev
// points; the heading is its integral; x and y are integrals of the polynomials of degree 7 through the cosine and the
// sine of the heading at eight points. Derivatives come from the heading and the curvature themselves, so that
// x' = cos heading holds to rounding. Points inside of the pieces: a corner of the curvature at the end of a piece is
// not smoothed.
#include "expr/track.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/pi.h"

enum { NK = 6, NX = 8 }; // points of the curvature, of cosine and sine

typedef struct piece {
    double kappa[NK];       // coefficients of tau^k
    double heading[NK + 1]; // with the value at tau = -1 included
    double x[NX + 1], y[NX + 1];
} piece;

struct kd_track {
    double   start, end, half; // half a piece
    int      n;
    piece   *piece;
    double   last[KD_TRACK_PARTS]; // at the end
    kd_arena arena;
};

static double polynomial(const double *c, int n, double tau)
{
    double sum = 0.0;
    for (int k = n - 1; k >= 0; k--) sum = sum * tau + c[k];
    return sum;
}

static double chebyshev_point(int i, int n)
{
    return -cos(KD_PI * (2 * i + 1) / (2 * n));
}

// Coefficients of the polynomial through the values at the n points: Newton's divided differences, multiplied out.
static void interpolate(int n, const double *value, double *c)
{
    double d[NX];
    memcpy(d, value, (size_t)n * sizeof *d);
    for (int k = 1; k < n; k++)
        for (int i = n - 1; i >= k; i--) d[i] = (d[i] - d[i - 1]) / (chebyshev_point(i, n) - chebyshev_point(i - k, n));
    for (int k = 0; k < n; k++) c[k] = 0.0;
    for (int k = n - 1; k >= 0; k--) { // c := c (tau - point k) + d_k
        for (int i = n - 1; i > 0; i--) c[i] = c[i - 1] - chebyshev_point(k, n) * c[i];
        c[0] = d[k] - chebyshev_point(k, n) * c[0];
    }
}

// The integral with the given value at tau = -1, scaled by ds/dtau = half.
static void integrate(int n, const double *c, double half, double first, double *out)
{
    out[0] = 0.0;
    for (int k = 0; k < n; k++) out[k + 1] = half * c[k] / (k + 1);
    out[0] = first - polynomial(out, n + 1, -1.0);
}

// Piece i from where the last one ended
static bool fill_piece(kd_track *t, int i, double at[KD_TRACK_PARTS], double (*curvature)(double, void *),
                       void *context)
{
    piece *p = &t->piece[i];
    double value[NX], cosine[NX], sine[NX], c[NX];
    double middle = t->start + (2 * i + 1) * t->half;
    // kappa at the points, its polynomial, and the integral of that: the heading
    for (int k = 0; k < NK; k++) {
        value[k] = curvature(middle + t->half * chebyshev_point(k, NK), context);
        if (!isfinite(value[k])) return false;
    }
    interpolate(NK, value, p->kappa);
    integrate(NK, p->kappa, t->half, at[KD_TRACK_HEADING], p->heading);
    // x' = cos(heading), y' = sin(heading), integrated in the same way
    for (int k = 0; k < NX; k++) {
        double heading = polynomial(p->heading, NK + 1, chebyshev_point(k, NX));
        cosine[k] = cos(heading), sine[k] = sin(heading);
    }
    interpolate(NX, cosine, c);
    integrate(NX, c, t->half, at[KD_TRACK_X], p->x);
    interpolate(NX, sine, c);
    integrate(NX, c, t->half, at[KD_TRACK_Y], p->y);
    // the end, where the next piece begins
    at[KD_TRACK_HEADING] = polynomial(p->heading, NK + 1, 1.0);
    at[KD_TRACK_X] = polynomial(p->x, NX + 1, 1.0);
    at[KD_TRACK_Y] = polynomial(p->y, NX + 1, 1.0);
    return true;
}

kd_status kd_track_update(kd_track *t, double start, double end, double (*curvature)(double s, void *context),
                          void *context)
{
    if (!(end > start)) return KD_ERR_ARGUMENT;
    t->start = start;
    t->end = end;
    t->half = 0.5 * (end - start) / t->n;
    for (int k = 0; k < KD_TRACK_PARTS; k++) t->last[k] = 0.0;
    for (int i = 0; i < t->n; i++)
        if (!fill_piece(t, i, t->last, curvature, context)) return KD_ERR_MODEL;
    return KD_OK;
}

kd_status kd_track_create(double start, double end, int pieces, double (*curvature)(double s, void *context),
                          void *context, kd_track **track)
{
    *track = NULL;
    if (!(end > start) || pieces < 1) return KD_ERR_ARGUMENT;
    kd_track *t = kd_alloc(sizeof *t);
    if (!t) return KD_ERR_MEMORY;
    t->n = pieces;
    t->piece = kd_arena_cut(&t->arena, (size_t)pieces, sizeof *t->piece);
    const kd_status status = t->piece ? kd_track_update(t, start, end, curvature, context) : KD_ERR_MEMORY;
    if (status != KD_OK) {
        kd_track_destroy(t);
        return status;
    }
    *track = t;
    return KD_OK;
}

int kd_track_pieces(const kd_track *track)
{
    return track->n;
}

void kd_track_destroy(kd_track *track)
{
    if (!track) return;
    kd_arena_release(&track->arena);
    kd_free(track);
}

// kappa and two derivatives by s
static void curvature_at(const piece *p, double tau, double half, double out[3])
{
    double d[3] = {0.0, 0.0, 0.0};
    // Horner's scheme, with the derivatives by tau
    for (int k = NK - 1; k >= 0; k--) {
        d[2] = d[2] * tau + d[1];
        d[1] = d[1] * tau + d[0];
        d[0] = d[0] * tau + p->kappa[k];
    }
    out[0] = d[0], out[1] = d[1] / half, out[2] = 2.0 * d[2] / (half * half);
}

// f' = direction, f'' = its turn: x'' = -kappa sin, x''' = -kappa' sin - kappa^2 cos, and so on
static void put_part(kd_track_part part, double value, double heading, const double kappa[3], double out[4])
{
    double c = cos(heading), s = sin(heading);
    double x1 = part == KD_TRACK_X ? c : s, x2 = part == KD_TRACK_X ? -s : c;
    out[0] = value;
    if (part == KD_TRACK_HEADING)
        out[1] = kappa[0], out[2] = kappa[1], out[3] = kappa[2];
    else
        out[1] = x1, out[2] = kappa[0] * x2, out[3] = kappa[1] * x2 - kappa[0] * kappa[0] * x1;
}

void kd_track_eval(const kd_track *t, kd_track_part part, double s, double out[4])
{
    double kappa[3] = {0.0, 0.0, 0.0}, heading = 0.0, value = 0.0;
    if (s < t->start || s > t->end) { // straight on
        double beyond = s < t->start ? s - t->start : s - t->end;
        heading = s < t->start ? 0.0 : t->last[KD_TRACK_HEADING];
        double first = s < t->start ? 0.0 : t->last[part];
        value = part == KD_TRACK_X ? first + beyond * cos(heading) : first + beyond * sin(heading);
        if (part == KD_TRACK_HEADING) value = heading;
        if (part == KD_TRACK_CURVATURE) value = 0.0;
    } else {
        // piece i, tau in [-1, 1] on it
        int i = (int)((s - t->start) / (2.0 * t->half));
        if (i >= t->n) i = t->n - 1;
        const piece *p = &t->piece[i];
        double       tau = (s - t->start) / t->half - (2 * i + 1);
        curvature_at(p, tau, t->half, kappa);
        heading = polynomial(p->heading, NK + 1, tau);
        value = part == KD_TRACK_X   ? polynomial(p->x, NX + 1, tau)
                : part == KD_TRACK_Y ? polynomial(p->y, NX + 1, tau)
                                     : heading;
    }
    if (part == KD_TRACK_CURVATURE) // the third derivative is that of no function that is needed
        out[0] = kappa[0], out[1] = kappa[1], out[2] = kappa[2], out[3] = 0.0;
    else
        put_part(part, value, heading, kappa, out);
    if (isnan(s)) out[0] = out[1] = out[2] = out[3] = s;
}

// ---- ranges ---------------------------------------------------------------------------------------------------------

// Of a polynomial for |tau - middle| <= half: its value in the middle, and slopes by the sum of their terms for the
// largest |tau| there is, which may be a little more than 1
static kd_interval range_of_polynomial(const double *c, int n, double middle, double half)
{
    const double largest = fabs(middle) + half, value = polynomial(c, n, middle);
    double       slope = 0.0, sum = 0.0;
    // |p(tau) - p(middle)| <= half max |p'|, and rounding
    for (int k = n - 1; k >= 1; k--) slope = slope * largest + k * fabs(c[k]);
    for (int k = n - 1; k >= 0; k--) sum = sum * largest + fabs(c[k]);
    const double reach = half * slope + 32.0 * DBL_EPSILON * sum;
    return (kd_interval){value - reach, value + reach};
}

static kd_interval range_of_piece(const kd_track *t, kd_track_part part, int i, double s0, double s1)
{
    const piece *p = &t->piece[i];
    const double tau0 = (s0 - t->start) / t->half - (2 * i + 1), tau1 = (s1 - t->start) / t->half - (2 * i + 1);
    const double middle = 0.5 * (tau0 + tau1), half = 0.5 * (tau1 - tau0) + 8.0 * DBL_EPSILON * (2 * i + 2);
    switch (part) {
    case KD_TRACK_X:
        return range_of_polynomial(p->x, NX + 1, middle, half);
    case KD_TRACK_Y:
        return range_of_polynomial(p->y, NX + 1, middle, half);
    case KD_TRACK_HEADING:
        return range_of_polynomial(p->heading, NK + 1, middle, half);
    default:
        return range_of_polynomial(p->kappa, NK, middle, half);
    }
}

// Straight on, from s0 to s1 outside of the pieces
static kd_interval range_of_straight(const kd_track *t, kd_track_part part, double s0, double s1)
{
    double out0[4], out1[4];
    kd_track_eval(t, part, s0, out0);
    kd_track_eval(t, part, s1, out1);
    const double lower = fmin(out0[0], out1[0]), upper = fmax(out0[0], out1[0]);
    if (isnan(out0[0]) || isnan(out1[0])) return (kd_interval){-INFINITY, INFINITY};
    return (kd_interval){lower - 8.0 * DBL_EPSILON * (1.0 + fabs(lower)),
                         upper + 8.0 * DBL_EPSILON * (1.0 + fabs(upper))};
}

static void join(kd_interval *a, kd_interval b)
{
    a->lower = fmin(a->lower, b.lower);
    a->upper = fmax(a->upper, b.upper);
}

kd_interval kd_track_bounds(const kd_track *t, kd_track_part part, kd_interval s)
{
    kd_interval range = {INFINITY, -INFINITY};
    if (s.lower < t->start) join(&range, range_of_straight(t, part, s.lower, fmin(s.upper, t->start)));
    if (s.upper > t->end) join(&range, range_of_straight(t, part, fmax(s.lower, t->end), s.upper));
    const double first = fmax(s.lower, t->start), last = fmin(s.upper, t->end);
    // one piece more on each side: the evaluation may round into it
    for (int i = 0; i < t->n && first <= last; i++) {
        const double start = t->start + 2 * i * t->half, end = start + 2 * t->half, near = 1e-9 * t->half;
        if (end < first - near || start > last + near) continue;
        join(&range, range_of_piece(t, part, i, fmax(first, start), fmin(last, end)));
    }
    return range;
}

void kd_track_ends(const kd_track *track, double *start, double *end)
{
    *start = track->start;
    *end = track->end;
}
