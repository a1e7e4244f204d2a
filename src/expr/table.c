// expr/table.c: a table z(x, y) on a grid as bicubic patches.
//
// Along each axis a value is a sum of four weights times the data of a cell: values and slopes at its two ends,
//     f(x) = w_0 z_i + w_1 z'_i + w_2 z_i+1 + w_3 z'_i+1,   w_m(u) = sum_k P_mk u^k,   u = x - x_i
// with the cubics of Hermite (straight lines: 1 - u/h and u/h). A patch is the product of two such sums,
//     f(x, y) = sum_m sum_l w_m(x) w_l(y) Z_ml,   Z_ml of z, z_x, z_y, z_xy at the four corners
// Slopes z_x and z_y are those of the curves along the lines of the grid, z_xy those of z_y along x. With splines this is
// the tensor product of splines without a knot at the second line and the last but one (de Boor: A Practical Guide to
// Splines, ch. XVII), which is RectBivariateSpline of SciPy without smoothing. Outside, w goes on along its tangent or
// stays.
//
// Bounds: a cubic in each argument lies within the hull of its coefficients in Bernstein's form over the range, which
// are its polar form at the ends of the range (Farin: Curves and Surfaces for CAGD, ch. 4).
#include "expr/table.h"

#include "core/memory.h"
#include "core/text.h"
#include "expr/slopes.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { CELLS = 64 };               // of a range that are looked at one by one
static const double slack = 1e-12; // of the length of an axis: so far outside is rounding

typedef struct axis {
    int     n;
    double *x; // (n)
} axis;

typedef struct corner {
    double by[4]; // z, z_x, z_y, z_xy
} corner;

struct kd_table {
    kd_arena      arena;
    kd_curve_kind kind;
    kd_outside    outside;
    axis          along[2];
    corner       *corner; // (nx ny)
    kd_interval   all;    // range over the whole grid
    double       *work;   // (4 max(nx, ny))
};

// ---- one axis -------------------------------------------------------------------------------------------------------

typedef struct weights {
    double P[4][4]; // w_m(u) = sum_k P[m][k] u^k
    int    cell;
    double start; // u = x - start
    bool   flat;  // w does not depend on u
} weights;

static int rows_before(const axis *a, double x)
{
    if (!(x >= a->x[0])) return 0;
    if (x >= a->x[a->n - 1]) return a->n;
    int low = 0, high = a->n - 1; // x[low] <= x < x[high]
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (a->x[middle] <= x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low + 1;
}

static bool is_outside(const axis *a, double x)
{
    const double far = slack * (a->x[a->n - 1] - a->x[0]);
    return x < a->x[0] - far || x > a->x[a->n - 1] + far;
}

static double derivative(const double P[4], double u, int order)
{
    switch (order) {
    case 0:
        return P[0] + u * (P[1] + u * (P[2] + u * P[3]));
    case 1:
        return P[1] + u * (2.0 * P[2] + 3.0 * u * P[3]);
    case 2:
        return 2.0 * P[2] + 6.0 * u * P[3];
    default:
        return 6.0 * P[3];
    }
}

static void fill_cell(const kd_table *t, const axis *a, int cell, double P[4][4])
{
    const double h = a->x[cell + 1] - a->x[cell], r = 1.0 / h;
    const double line[4][4] = {{1.0, -r}, {0.0}, {0.0, r}, {0.0}};
    const double cubic[4][4] = {{1.0, 0.0, -3.0 * r * r, 2.0 * r * r * r},
                                {0.0, 1.0, -2.0 * r, r * r},
                                {0.0, 0.0, 3.0 * r * r, -2.0 * r * r * r},
                                {0.0, 0.0, -r, r * r}};
    memcpy(P, t->kind == KD_CURVE_KIND_LINEAR ? line : cubic, sizeof line);
}

// Of the piece behind row k - 1; 0: before the first row
static weights weights_of(const kd_table *t, const axis *a, int k)
{
    weights w = {.cell = k == 0 ? 0 : k < a->n ? k - 1 : a->n - 2};
    fill_cell(t, a, w.cell, w.P);
    w.start = a->x[w.cell];
    if (k > 0 && k < a->n) return w;
    // outside: value and slope at the end, or the value alone
    const double end = a->x[k == 0 ? 0 : a->n - 1], u = end - w.start;
    w.flat = t->outside == KD_OUTSIDE_HOLD;
    for (int m = 0; m < 4; m++) {
        const double value = derivative(w.P[m], u, 0), slope = derivative(w.P[m], u, 1);
        memset(w.P[m], 0, sizeof w.P[m]);
        w.P[m][0] = value;
        w.P[m][1] = w.flat ? 0.0 : slope;
    }
    w.start = end;
    return w;
}

// Weights at x and their derivatives; answers the cell
static int weights_at(const kd_table *t, const axis *a, double x, double out[4][4])
{
    const weights w = weights_of(t, a, rows_before(a, x));
    const bool    none = isnan(x) || (t->outside == KD_OUTSIDE_ERROR && is_outside(a, x));
    const double  u = none ? NAN : w.flat ? 0.0 : x - w.start;
    for (int order = 0; order < 4; order++)
        for (int m = 0; m < 4; m++) out[order][m] = derivative(w.P[m], u, order);
    return w.cell;
}

// Z_ml of the cell (i, j)
static double datum(const kd_table *t, int i, int j, int m, int l)
{
    return t->corner[(size_t)(i + m / 2) * (size_t)t->along[1].n + (size_t)(j + l / 2)].by[m % 2 + 2 * (l % 2)];
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

void kd_table_eval(const kd_table *table, double x, double y, double f[4][4])
{
    double    wx[4][4], wy[4][4], half[4][4];
    const int i = weights_at(table, &table->along[0], x, wx), j = weights_at(table, &table->along[1], y, wy);
    // along x first, then along y
    for (int order = 0; order < 4; order++)
        for (int l = 0; l < 4; l++) {
            half[order][l] = 0.0;
            for (int m = 0; m < 4; m++) half[order][l] += wx[order][m] * datum(table, i, j, m, l);
        }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            f[a][b] = 0.0;
            for (int l = 0; l < 4 && a + b < 4; l++) f[a][b] += half[a][l] * wy[b][l];
        }
}

double kd_table_value(const kd_table *table, double x, double y)
{
    double f[4][4];
    kd_table_eval(table, x, y, f);
    return f[0][0];
}

// ---- ranges ---------------------------------------------------------------------------------------------------------

// Polar form of sum_k P_k u^k as a cubic at u0 (3 - k times) and u1 (k times)
static double polar(const double P[4], double u0, double u1, int k)
{
    const double a = k > 0 ? u1 : u0, b = k > 1 ? u1 : u0, c = k > 2 ? u1 : u0;
    return P[0] + P[1] * (a + b + c) / 3.0 + P[2] * (a * b + b * c + c * a) / 3.0 + P[3] * a * b * c;
}

// Bernstein's coefficients of the four weights over a range
static void coefficients(const weights *w, kd_interval x, double out[4][4])
{
    const double u0 = w->flat ? 0.0 : x.lower - w->start, u1 = w->flat ? 0.0 : x.upper - w->start;
    for (int k = 0; k < 4; k++)
        for (int m = 0; m < 4; m++) out[k][m] = polar(w->P[m], u0, u1, k);
}

static kd_interval range_of_patch(const kd_table *t, const weights *wx, const weights *wy, kd_interval x, kd_interval y)
{
    double      cx[4][4], cy[4][4];
    kd_interval range = {INFINITY, -INFINITY};
    // bicubic in Bernstein's form over the part: the range lies between its coefficients
    coefficients(wx, x, cx);
    coefficients(wy, y, cy);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            double sum = 0.0, size = 0.0;
            for (int m = 0; m < 4; m++)
                for (int l = 0; l < 4; l++) {
                    const double part = cx[a][m] * cy[b][l] * datum(t, wx->cell, wy->cell, m, l);
                    sum += part;
                    size += fabs(part);
                }
            // rounding of the sums must not hide a value
            const double error = 64.0 * DBL_EPSILON * size;
            if (isnan(sum)) return (kd_interval){-INFINITY, INFINITY};
            range.lower = fmin(range.lower, sum - error);
            range.upper = fmax(range.upper, sum + error);
        }
    return range;
}

// The part of a range that belongs to the piece behind row k - 1
static kd_interval part_of(const axis *a, kd_interval x, int k)
{
    return (kd_interval){k > 0 ? fmax(x.lower, a->x[k - 1]) : x.lower, k < a->n ? fmin(x.upper, a->x[k]) : x.upper};
}

static kd_interval range_of_cells(const kd_table *t, kd_interval x, kd_interval y, const int i[2], const int j[2])
{
    kd_interval range = {INFINITY, -INFINITY};
    for (int a = i[0]; a <= i[1]; a++) {
        const weights     wx = weights_of(t, &t->along[0], a);
        const kd_interval px = part_of(&t->along[0], x, a);
        for (int b = j[0]; b <= j[1]; b++) {
            const weights     wy = weights_of(t, &t->along[1], b);
            const kd_interval one = range_of_patch(t, &wx, &wy, px, part_of(&t->along[1], y, b));
            range = (kd_interval){fmin(range.lower, one.lower), fmax(range.upper, one.upper)};
        }
    }
    return range;
}

kd_interval kd_table_bounds(const kd_table *table, kd_interval x, kd_interval y)
{
    const axis *ax = &table->along[0], *ay = &table->along[1];
    const int   i[2] = {rows_before(ax, x.lower), rows_before(ax, x.upper)},
              j[2] = {rows_before(ay, y.lower), rows_before(ay, y.upper)};
    const bool leaves =
        is_outside(ax, x.lower) || is_outside(ax, x.upper) || is_outside(ay, y.lower) || is_outside(ay, y.upper);
    if (leaves && table->outside == KD_OUTSIDE_ERROR) return (kd_interval){-INFINITY, INFINITY};
    if ((int64_t)(i[1] - i[0] + 1) * (j[1] - j[0] + 1) <= CELLS) return range_of_cells(table, x, y, i, j);
    return leaves && table->outside == KD_OUTSIDE_TANGENT ? (kd_interval){-INFINITY, INFINITY} : table->all;
}

static int breaks_along(const kd_table *t, const axis *a, double x)
{
    const int k = rows_before(a, x);
    return t->kind == KD_CURVE_KIND_LINEAR ? k : (k > 0) + (k == a->n);
}

double kd_table_breaks_before(const kd_table *table, double x, double y)
{
    const axis *ax = &table->along[0], *ay = &table->along[1];
    return breaks_along(table, ax, x) * (ay->n + 1.0) + breaks_along(table, ay, y);
}

bool kd_table_is_one_piece(const kd_table *table, kd_interval x, kd_interval y)
{
    const axis *ax = &table->along[0], *ay = &table->along[1];
    return rows_before(ax, x.lower) == rows_before(ax, x.upper) && rows_before(ay, y.lower) == rows_before(ay, y.upper);
}

bool kd_table_is_outside(const kd_table *table, double x, double y)
{
    return is_outside(&table->along[0], x) || is_outside(&table->along[1], y);
}

void kd_table_ends(const kd_table *table, double x[2], double y[2])
{
    const axis *ax = &table->along[0], *ay = &table->along[1];
    x[0] = ax->x[0], x[1] = ax->x[ax->n - 1];
    y[0] = ay->x[0], y[1] = ay->x[ay->n - 1];
}

kd_outside kd_table_outside(const kd_table *table)
{
    return table->outside;
}

// ---- creation -------------------------------------------------------------------------------------------------------

static kd_status check_axis(const char *name, int n, const double *x, char *message, size_t size)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            kd_text(message, size, "number %d of '%s' of the table is not finite", i + 1, name);
            return KD_ERR_MODEL;
        }
        if (i > 0 && x[i] <= x[i - 1]) {
            kd_text(message, size, "'%s' of the table must increase, but number %d is %.15g behind %.15g", name, i + 1,
                    x[i], x[i - 1]);
            return KD_ERR_MODEL;
        }
    }
    return KD_OK;
}

static kd_status check_grid(kd_outside outside, int nx, int ny, const double *x, const double *y, const double *z,
                            char *message, size_t size)
{
    if (nx < 2 || ny < 2)
        return kd_refuse(KD_ERR_MODEL, message, size, "a table needs at least 2 numbers of 'x' and 2 of 'y'");
    if (outside == KD_OUTSIDE_REPEAT)
        return kd_refuse(KD_ERR_MODEL, message, size,
                         "a table of two arguments cannot repeat; write mod(x, period) as its argument");
    kd_status status = check_axis("x", nx, x, message, size);
    if (status == KD_OK) status = check_axis("y", ny, y, message, size);
    for (int i = 0; i < nx && status == KD_OK; i++)
        for (int j = 0; j < ny && status == KD_OK; j++) {
            if (isfinite(z[(size_t)i * (size_t)ny + (size_t)j])) continue;
            kd_text(message, size, "number %d in row %d of 'z' of the table is not finite", j + 1, i + 1);
            status = KD_ERR_MODEL;
        }
    return status;
}

// Slopes along one axis of the entries `from` of the corners go to the entries `to`
static void make_slopes(kd_table *t, int along, int from, int to)
{
    const int nx = t->along[0].n, ny = t->along[1].n, n = along == 0 ? nx : ny, lines = along == 0 ? ny : nx;
    double   *line = t->work, *slope = line + n, *scratch = slope + n;
    for (int k = 0; k < lines; k++) {
        corner      *first = t->corner + (along == 0 ? (size_t)k : (size_t)k * (size_t)ny);
        const size_t step = along == 0 ? (size_t)ny : 1;
        for (int i = 0; i < n; i++) line[i] = first[(size_t)i * step].by[from];
        kd_rows_slopes(&(kd_rows){n, t->along[along].x, line, false}, t->kind, slope, scratch);
        for (int i = 0; i < n; i++) first[(size_t)i * step].by[to] = slope[i];
    }
}

// Everything that follows from the numbers
static kd_status fill_grid(kd_table *t, kd_curve_kind kind, const double *x, const double *y, const double *z,
                           char *message, size_t size)
{
    const int nx = t->along[0].n, ny = t->along[1].n;
    t->kind = kind;
    memcpy(t->along[0].x, x, (size_t)nx * sizeof *x);
    memcpy(t->along[1].x, y, (size_t)ny * sizeof *y);
    for (size_t k = 0; k < (size_t)nx * (size_t)ny; k++) t->corner[k] = (corner){{z[k], 0.0, 0.0, 0.0}};
    make_slopes(t, 0, 0, 1);
    make_slopes(t, 1, 0, 2);
    make_slopes(t, 0, 2, 3);
    for (size_t k = 0; k < (size_t)nx * (size_t)ny; k++)
        for (int m = 0; m < 4; m++)
            if (!isfinite(t->corner[k].by[m])) return kd_refuse(KD_ERR_MODEL, message, size, "the table is too steep");
    t->all = range_of_cells(t, (kd_interval){x[0], x[nx - 1]}, (kd_interval){y[0], y[ny - 1]}, (int[]){1, nx - 1},
                            (int[]){1, ny - 1});
    return KD_OK;
}

kd_status kd_table_update(kd_table *table, kd_curve_kind kind, const double *x, const double *y, const double *z,
                          char *message, size_t size)
{
    const int       nx = table->along[0].n, ny = table->along[1].n;
    const kd_status status = check_grid(table->outside, nx, ny, x, y, z, message, size);
    return status == KD_OK ? fill_grid(table, kind, x, y, z, message, size) : status;
}

kd_status kd_table_create(kd_curve_kind kind, kd_outside outside, int nx, int ny, const double *x, const double *y,
                          const double *z, kd_table **table, char *message, size_t size)
{
    *table = NULL;
    kd_status status = check_grid(outside, nx, ny, x, y, z, message, size);
    if (status != KD_OK) return status;
    kd_table *t = kd_alloc(sizeof *t);
    if (t) {
        t->outside = outside;
        t->along[0] = (axis){nx, kd_cut_double(&t->arena, nx)};
        t->along[1] = (axis){ny, kd_cut_double(&t->arena, ny)};
        t->corner = kd_arena_cut(&t->arena, (size_t)nx * (size_t)ny, sizeof *t->corner);
        t->work = kd_cut_double(&t->arena, 4 * (nx > ny ? nx : ny));
    }
    if (!t || t->arena.failed) {
        kd_text(message, size, "out of memory");
        status = KD_ERR_MEMORY;
    } else {
        status = fill_grid(t, kind, x, y, z, message, size);
    }
    if (status != KD_OK) kd_table_destroy(t);
    *table = status == KD_OK ? t : NULL;
    return status;
}

void kd_table_destroy(kd_table *table)
{
    if (!table) return;
    kd_arena_release(&table->arena);
    kd_free(table);
}
