// expr/curve.c: a table y(x) as piecewise cubics.
//
// On [x_i, x_i+1] with h = x_i+1 - x_i, s = (y_i+1 - y_i)/h and slopes m_i the cubic of Hermite is
//     f = y_i + u (m_i + u (b + u c)),   u = x - x_i,   b = (3 s - 2 m_i - m_i+1)/h,   c = (m_i + m_i+1 - 2 s)/h^2
// The kinds differ in their slopes (slopes.c). Before the first and behind the last row the curve is the tangent there,
// stays at its last value, has no value, or begins anew: f(x + P) = f(x) with P = x_n - x_1.
#include "expr/curve.h"

#include "core/memory.h"
#include "core/text.h"
#include "expr/slopes.h"
#include "expr/table.h"

#include <float.h>
#include <math.h>
#include <string.h>

// f = a + u (b + u (c + u d)), u = x - start
typedef struct piece {
    double a, b, c, d;
} piece;

struct kd_curve {
    kd_arena        arena;
    int             n;
    double         *x;      // (n) rows
    piece          *piece;  // (n + 1) before the first row, behind row i - 1
    double          scale;  // (n - 1)/(x[n-1] - x[0]): equal parts of the length per x
    int            *rows;   // (n) rows before part i of the n - 1 equal parts
    kd_interval    *range;  // (2 n - 2) a tree: of piece i at n - 1 + i, of k together those of 2 k and 2 k + 1
    int            *breaks; // (n + 1) at or before row i - 1
    double         *work;   // (3 n)
    kd_outside      outside;
    const kd_track *track; // in place of the rows; NULL: none
    kd_track_part   part;
    kd_table       *table; // in place of the rows, own; NULL: none
};

static const double slack = 1e-12; // of the length of the rows: so far outside is rounding

// ---- pieces ---------------------------------------------------------------------------------------------------------

static void linear_pieces(const kd_rows *r, piece *inner)
{
    for (int i = 0; i < r->n - 1; i++) inner[i] = (piece){r->y[i], kd_rows_secant(r, i), 0.0, 0.0};
}

static void cubic_pieces(const kd_rows *r, const double *m, piece *inner)
{
    for (int i = 0; i < r->n - 1; i++) {
        const double h = kd_rows_width(r, i), s = kd_rows_secant(r, i);
        inner[i] = (piece){r->y[i], m[i], (3.0 * s - 2.0 * m[i] - m[i + 1]) / h, (m[i] + m[i + 1] - 2.0 * s) / h / h};
    }
}

// Tangents: the slope of an end is that of its piece there; constants; or the pieces of the neighbouring period
static void end_pieces(const kd_rows *r, kd_outside outside, piece *all)
{
    const int n = r->n;
    if (outside == KD_OUTSIDE_REPEAT || outside == KD_OUTSIDE_HOLD) {
        const bool held = outside == KD_OUTSIDE_HOLD;
        all[0] = held ? (piece){r->y[0], 0.0, 0.0, 0.0} : all[n - 1];
        all[n] = held ? (piece){r->y[n - 1], 0.0, 0.0, 0.0} : all[1];
        return;
    }
    const double h = kd_rows_width(r, n - 2);
    const piece  last = all[n - 1];
    all[0] = (piece){r->y[0], all[1].b, 0.0, 0.0};
    all[n] = (piece){r->y[n - 1], last.b + h * (2.0 * last.c + 3.0 * h * last.d), 0.0, 0.0};
}

static bool is_finite_piece(const piece *p)
{
    return isfinite(p->a) && isfinite(p->b) && isfinite(p->c) && isfinite(p->d);
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static kd_status check_rows(int n, kd_outside outside, const double *x, const double *y, char *message, size_t size)
{
    if (n < 2) {
        kd_text(message, size, "a curve needs at least 2 rows, not %d", n);
        return KD_ERR_MODEL;
    }
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            kd_text(message, size, "row %d of the curve is not finite", i + 1);
            return KD_ERR_MODEL;
        }
        if (i > 0 && x[i] <= x[i - 1]) {
            kd_text(message, size, "x of the curve must increase, but row %d has %.15g behind %.15g", i + 1, x[i],
                    x[i - 1]);
            return KD_ERR_MODEL;
        }
    }
    // the last row stands for the first of the next turn
    if (outside == KD_OUTSIDE_REPEAT && y[0] != y[n - 1]) {
        kd_text(message, size,
                "a curve that repeats must end as it begins, but its first y is %.15g and its last %.15g", y[0],
                y[n - 1]);
        return KD_ERR_MODEL;
    }
    return KD_OK;
}

static kd_status check_pieces(const kd_curve *c, char *message, size_t size)
{
    for (int i = 0; i <= c->n; i++) {
        if (!is_finite_piece(&c->piece[i])) {
            kd_text(message, size, "the curve is too steep at row %d", i > 0 ? i : 1);
            return KD_ERR_MODEL;
        }
    }
    return KD_OK;
}

// slope (n) and scratch (2 n) are work space
static void make_pieces(kd_curve *c, kd_curve_kind kind, const double *y, double *slope, double *scratch)
{
    const kd_rows r = {c->n, c->x, y, c->outside == KD_OUTSIDE_REPEAT};
    if (kind == KD_CURVE_KIND_LINEAR || c->n == 2) {
        linear_pieces(&r, c->piece + 1);
    } else {
        kd_rows_slopes(&r, kind, slope, scratch);
        cubic_pieces(&r, slope, c->piece + 1);
    }
    end_pieces(&r, c->outside, c->piece);
}

// ---- ranges ---------------------------------------------------------------------------------------------------------

static kd_interval hull(kd_interval a, kd_interval b)
{
    return (kd_interval){fmin(a.lower, b.lower), fmax(a.upper, b.upper)};
}

static double at_piece(const piece *p, double u)
{
    return p->a + u * (p->b + u * (p->c + u * p->d));
}

// Values of a piece at u, with the rounding error of the polynomial. A straight line is not infinitely high where it is
// flat.
static kd_interval range_at(const piece *p, double u)
{
    if (p->b == 0.0 && p->c == 0.0 && p->d == 0.0) return (kd_interval){p->a, p->a};
    const double f = isinf(u) && p->c == 0.0 && p->d == 0.0 ? u * p->b : at_piece(p, u), size = fabs(u);
    const double sum = fabs(p->a) + size * (fabs(p->b) + size * (fabs(p->c) + size * fabs(p->d)));
    const double error = isinf(u) || (u == 0.0 && p->a == f) ? 0.0 : 4.0 * DBL_EPSILON * sum;
    return (kd_interval){f - error, f + error};
}

// Of a piece for u0 <= u <= u1: at the ends and where b + 2 c u + 3 d u^2 = 0
static kd_interval range_of_piece(const piece *p, double u0, double u1)
{
    kd_interval range = hull(range_at(p, u0), range_at(p, u1));
    double      root[2];
    int         roots = 0;
    if (p->d == 0.0) {
        if (p->c != 0.0) root[roots++] = -0.5 * p->b / p->c;
    } else {
        // the root of larger magnitude first, the other one by their product, without cancellation
        const double inside = p->c * p->c - 3.0 * p->b * p->d;
        const double q = -(p->c + copysign(sqrt(fmax(inside, 0.0)), p->c));
        if (inside >= 0.0) root[roots++] = q / (3.0 * p->d);
        if (inside >= 0.0 && q != 0.0) root[roots++] = p->b / q;
    }
    for (int i = 0; i < roots; i++)
        if (root[i] > u0 && root[i] < u1) range = hull(range, range_at(p, root[i]));
    return range;
}

// Leaves are pieces, each node holds its two children
static void make_ranges(kd_curve *c)
{
    const int m = c->n - 1;
    for (int i = 0; i < m; i++) c->range[m + i] = range_of_piece(&c->piece[i + 1], 0.0, c->x[i + 1] - c->x[i]);
    for (int k = m - 1; k > 0; k--) c->range[k] = hull(c->range[2 * k], c->range[2 * k + 1]);
}

static bool is_straight(const piece *p)
{
    return p->c == 0.0 && p->d == 0.0;
}

// Corners of straight lines, and where a straight line becomes a curve or the other way round
static void make_breaks(kd_curve *c)
{
    c->breaks[0] = 0;
    for (int i = 0; i < c->n; i++) {
        const piece *left = &c->piece[i], *right = &c->piece[i + 1];
        const bool   bent = fabs(right->b - left->b) > 1e-12 * (fabs(left->b) + fabs(right->b));
        const bool   corner = is_straight(left) && is_straight(right) && bent;
        c->breaks[i + 1] = c->breaks[i] + (corner || is_straight(left) != is_straight(right));
    }
}

// ---- creation -------------------------------------------------------------------------------------------------------

// Equal parts of the length, as many as pieces, so that a search looks at few rows. Rounding does not matter: the part
// grows with x, and rows are asked in the same way.
static int part_of(const kd_curve *c, double x)
{
    const double part = (x - c->x[0]) * c->scale; // not a number: 0 times infinity of rows that are very close
    return part < c->n - 1 ? (int)part : c->n - 2;
}

static void count_rows(kd_curve *c)
{
    c->scale = (c->n - 1) / (c->x[c->n - 1] - c->x[0]);
    for (int part = 0, row = 0; part < c->n; part++) {
        while (row < c->n && part_of(c, c->x[row]) < part) row++;
        c->rows[part] = row;
    }
}

// Everything that follows from the rows
static kd_status fill_rows(kd_curve *c, kd_curve_kind kind, const double *x, const double *y, char *message,
                           size_t size)
{
    memcpy(c->x, x, (size_t)c->n * sizeof *x);
    count_rows(c);
    make_pieces(c, kind, y, c->work, c->work + c->n);
    const kd_status status = check_pieces(c, message, size);
    if (status != KD_OK) return status;
    make_ranges(c);
    make_breaks(c);
    return KD_OK;
}

kd_status kd_curve_update(kd_curve *curve, kd_curve_kind kind, const double *x, const double *y, char *message,
                          size_t size)
{
    const kd_status status = check_rows(curve->n, curve->outside, x, y, message, size);
    return status == KD_OK ? fill_rows(curve, kind, x, y, message, size) : status;
}

kd_status kd_curve_create(kd_curve_kind kind, kd_outside outside, int n, const double *x, const double *y,
                          kd_curve **curve, char *message, size_t size)
{
    *curve = NULL;
    kd_status status = check_rows(n, outside, x, y, message, size);
    if (status != KD_OK) return status;

    kd_curve *c = kd_alloc(sizeof *c);
    // rows, polynomials, ranges and breaks
    if (c) {
        c->x = kd_cut_double(&c->arena, n);
        c->piece = kd_arena_cut(&c->arena, (size_t)n + 1, sizeof *c->piece);
        c->range = kd_arena_cut(&c->arena, 2 * (size_t)n - 2, sizeof *c->range);
        c->breaks = kd_cut_int(&c->arena, n + 1);
        c->rows = kd_cut_int(&c->arena, n);
        c->work = kd_cut_double(&c->arena, 3 * n);
    }
    if (!c || c->arena.failed) {
        kd_text(message, size, "out of memory");
        status = KD_ERR_MEMORY;
        goto done;
    }
    // polynomials of the pieces
    c->n = n;
    c->outside = outside;
    status = fill_rows(c, kind, x, y, message, size);
done:
    if (status != KD_OK) kd_curve_destroy(c);
    *curve = status == KD_OK ? c : NULL;
    return status;
}

kd_curve *kd_curve_of_track(const kd_track *track, kd_track_part part)
{
    kd_curve *c = kd_alloc(sizeof *c);
    if (!c) return NULL;
    c->track = track;
    c->part = part;
    return c;
}

kd_curve *kd_curve_of_table(kd_table *table)
{
    kd_curve *c = kd_alloc(sizeof *c);
    if (!c) kd_table_destroy(table);
    if (!c) return NULL;
    c->table = table;
    c->outside = kd_table_outside(table);
    return c;
}

kd_table *kd_curve_table(const kd_curve *curve)
{
    return curve ? curve->table : NULL;
}

void kd_curve_destroy(kd_curve *curve)
{
    if (!curve) return;
    kd_table_destroy(curve->table);
    kd_arena_release(&curve->arena);
    kd_free(curve);
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

// The number of rows at or before x: bisection among those of its part.
static int rows_before(const kd_curve *c, double x)
{
    if (!(x >= c->x[0])) return 0;
    if (x >= c->x[c->n - 1]) return c->n;
    // x[low] <= x < x[high]: rows of earlier parts are before x, those of later parts behind it
    const int part = part_of(c, x);
    int       low = c->rows[part] > 0 ? c->rows[part] - 1 : 0, high = c->rows[part + 1];
    if (high > c->n - 1) high = c->n - 1;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (c->x[middle] <= x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low + 1;
}

static double period(const kd_curve *c)
{
    return c->x[c->n - 1] - c->x[0];
}

// x within the rows of a curve that repeats
static double reduced(const kd_curve *c, double x)
{
    const double first = c->x[0], last = c->x[c->n - 1];
    if (x >= first && x < last) return x;
    double rest = fmod(x - first, last - first);
    if (rest < 0.0) rest += last - first;
    return rest < last - first ? first + rest : first;
}

bool kd_curve_is_outside(const kd_curve *curve, double x)
{
    if (curve->track || curve->table || curve->outside == KD_OUTSIDE_REPEAT) return false;
    const double far = slack * period(curve);
    return x < curve->x[0] - far || x > curve->x[curve->n - 1] + far;
}

kd_outside kd_curve_rule(const kd_curve *curve)
{
    return curve->outside;
}

void kd_curve_ends(const kd_curve *curve, double *first, double *last)
{
    *first = curve->x[0];
    *last = curve->x[curve->n - 1];
}

// The piece at x and the place in it
static const piece *piece_at(const kd_curve *c, double x, double *u)
{
    if (c->outside == KD_OUTSIDE_REPEAT) x = reduced(c, x);
    if (c->outside == KD_OUTSIDE_ERROR && kd_curve_is_outside(c, x)) x = NAN;
    const int k = rows_before(c, x);
    *u = x - c->x[k > 0 ? k - 1 : 0];
    return &c->piece[k];
}

void kd_curve_eval(const kd_curve *curve, double x, double out[4])
{
    if (curve->track) {
        kd_track_eval(curve->track, curve->part, x, out);
        return;
    }
    // the value and three derivatives of the piece at u
    double       u;
    const piece *p = piece_at(curve, x, &u);
    out[0] = at_piece(p, u);
    out[1] = p->b + u * (2.0 * p->c + 3.0 * u * p->d);
    out[2] = 2.0 * p->c + 6.0 * u * p->d;
    out[3] = 6.0 * p->d;
}

double kd_curve_value(const kd_curve *curve, double x)
{
    double out[4], u;
    if (curve->track) {
        kd_track_eval(curve->track, curve->part, x, out);
        return out[0];
    }
    const piece *p = piece_at(curve, x, &u);
    return at_piece(p, u);
}

// Of the pieces first .. end - 1 between the rows, from the tree.
static kd_interval range_of_pieces(const kd_curve *c, int first, int end)
{
    kd_interval range = {INFINITY, -INFINITY};
    for (first += c->n - 1, end += c->n - 1; first < end; first /= 2, end /= 2) {
        if (first % 2 == 1) range = hull(range, c->range[first++]);
        if (end % 2 == 1) range = hull(range, c->range[--end]);
    }
    return range;
}

// Of one period, or where nothing repeats
static kd_interval range_of_rows(const kd_curve *curve, kd_interval x)
{
    const int   n = curve->n, first = rows_before(curve, x.lower), last = rows_before(curve, x.upper);
    kd_interval range = range_of_pieces(curve, first, last - 1); // the whole pieces in between: first + 1 .. last - 1
    for (int k = first; k <= last; k += last > first ? last - first : 1) { // those at the ends
        const double start = curve->x[k > 0 ? k - 1 : 0];
        const double end = k > 0 && k < n ? curve->x[k] : k == 0 ? curve->x[0] : INFINITY;
        const double u0 = k == first ? x.lower - start : 0.0, u1 = k == last ? x.upper - start : end - start;
        range = hull(range, range_of_piece(&curve->piece[k], u0, u1));
    }
    return range;
}

// Of a curve that repeats: the range of x, a little wider for its rounding, in the first period, perhaps across its end
static kd_interval range_of_ring(const kd_curve *curve, kd_interval x)
{
    const double first = curve->x[0], last = curve->x[curve->n - 1];
    const double wider = 4.0 * DBL_EPSILON * (fabs(x.lower) + fabs(x.upper) + fabs(first) + fabs(last));
    const double width = x.upper - x.lower + 2.0 * wider;
    if (!(width < last - first)) return range_of_rows(curve, (kd_interval){first, last});
    const double low = reduced(curve, x.lower - wider), high = low + width;
    if (high <= last) return range_of_rows(curve, (kd_interval){low, high});
    return hull(range_of_rows(curve, (kd_interval){low, last}),
                range_of_rows(curve, (kd_interval){first, first + (high - last)}));
}

kd_interval kd_curve_bounds(const kd_curve *curve, kd_interval x)
{
    if (curve->track) return kd_track_bounds(curve->track, curve->part, x);
    if (curve->outside == KD_OUTSIDE_REPEAT) return range_of_ring(curve, x);
    if (curve->outside == KD_OUTSIDE_ERROR &&
        (kd_curve_is_outside(curve, x.lower) || kd_curve_is_outside(curve, x.upper)))
        return (kd_interval){-INFINITY, INFINITY};
    return range_of_rows(curve, x);
}

double kd_curve_breaks_before(const kd_curve *curve, double x)
{
    double start, end;
    if (curve->track) {
        kd_track_ends(curve->track, &start, &end);
        return (x >= start) + (x >= end);
    }
    if (curve->outside != KD_OUTSIDE_REPEAT) return curve->breaks[rows_before(curve, x)];
    // those of whole periods, and those of this one
    const double at = reduced(curve, x), periods = nearbyint((x - at) / period(curve));
    return periods * curve->breaks[curve->n - 1] + curve->breaks[rows_before(curve, at)];
}

bool kd_curve_is_one_piece(const kd_curve *curve, kd_interval x)
{
    if (curve->track) return false;
    const bool ring = curve->outside == KD_OUTSIDE_REPEAT;
    if (ring && !(x.upper - x.lower < period(curve))) return false;
    const double low = ring ? reduced(curve, x.lower) : x.lower, high = ring ? reduced(curve, x.upper) : x.upper;
    return low <= high && rows_before(curve, low) == rows_before(curve, high);
}
