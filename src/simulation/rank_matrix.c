// rank_matrix.c: the matrix of the watch of ranks, by the entries that its rows may have: evaluation, rows that do not depend
// on each other, least singular value.
#include "simulation/rank_matrix.h"

#include <math.h>

#include "math/dense.h"

#define INDEPENDENT 1e-12 // square of the sine of the angle between a row and those before it
#define ITERATIONS 3      // of inverse iteration, the vector of the last time is a good guess

// The point of a state
static bool go_to(kd_rank_watch *w, const kd_state *x)
{
    return kd_eom_at_state(w->data, &w->inputs, x, KD_STAGE_POSITION) == KD_EVAL_OK;
}

// Columns of the entries of active row k
const int *kd_rank_columns(const kd_rank_watch *w, int k, int *count)
{
    return kd_rank_rows_at(&w->rows, w->active[k], count);
}

// A function that asks to stop is obeyed, others that cannot be evaluated are left to the integrator.
bool kd_rank_is_good(kd_rank_watch *w, kd_eval answer)
{
    w->stopped = w->stopped || answer == KD_EVAL_STOP;
    return answer == KD_EVAL_OK;
}

// C of the active rows at the point, without their scales. false: not to be had
bool kd_rank_read(kd_rank_watch *w)
{
    kd_dims d = w->dims;
    double *GZ = d.nlambda > 0 ? w->GZ : NULL, *HZ = d.nmu > 0 ? w->HZ : NULL;
    // columns in natural units: comparable for shifts and turns
    if (!kd_rank_is_good(w, kd_eom_constraint_matrices(w->data, GZ, HZ))) return false;
    if (d.nlambda > 0 && !kd_rank_is_good(w, kd_eom_eval(w->data, KD_G, w->g))) return false;
    for (int k = 0; k < w->nactive; k++) {
        int           i = w->active[k], rows = i < d.nlambda ? d.nlambda : d.nmu;
        const double *from = i < d.nlambda ? w->GZ + i : w->HZ + (i - d.nlambda);
        double       *row = w->C + (ptrdiff_t)k * d.nv;
        int           count;
        const int    *column = kd_rank_columns(w, k, &count);
        for (int e = 0; e < count; e++) row[column[e]] = from[(ptrdiff_t)column[e] * rows] * w->D[column[e]];
    }
    return true;
}

// The same at a state
bool kd_rank_evaluate(kd_rank_watch *w, const kd_state *x)
{
    return go_to(w, x) && kd_rank_read(w);
}

void kd_rank_scale(kd_rank_watch *w)
{
    for (int k = 0; k < w->nactive; k++) {
        int        count;
        const int *column = kd_rank_columns(w, k, &count);
        for (int e = 0; e < count; e++) w->C[(ptrdiff_t)k * w->dims.nv + column[e]] *= w->R[k];
    }
}

// Of two rows, by the entries of the one that has fewer: two bodies' in Cartesian coordinates, however many there are
double kd_rank_product(const kd_rank_watch *w, int i, int k)
{
    const double *a = w->C + (ptrdiff_t)i * w->dims.nv, *b = w->C + (ptrdiff_t)k * w->dims.nv;
    int           count, other;
    const int    *column = kd_rank_columns(w, i, &count), *others = kd_rank_columns(w, k, &other);
    double        sum = 0;
    if (other < count) column = others, count = other;
    for (int e = 0; e < count; e++) sum += a[column[e]] * b[column[e]];
    return sum;
}

// Rows to watch: Cholesky's method with diagonal pivoting on C C', most independent rows first, in their order then.
// Up to `most` of them; returns their number.
int kd_rank_choose(kd_rank_watch *w, int most)
{
    int     m = w->nactive, rank = 0;
    double *left = w->pivot; // what is left of the squares of the lengths
    double *L = w->L;
    // lengths of the rows, of which each pivot takes away its part
    for (int i = 0; i < m; i++) left[i] = kd_rank_product(w, i, i);
    // the row that is most independent of those taken so far; -1 marks one that was taken
    while (rank < most) {
        int best = 0;
        for (int i = 1; i < m; i++)
            if (left[i] > left[best]) best = i;
        if (!(left[best] > INDEPENDENT)) break;
        double root = sqrt(left[best]);
        for (int i = 0; i < m; i++) {
            double sum = left[i] > 0 ? kd_rank_product(w, i, best) : 0;
            for (int k = 0; k < rank && left[i] > 0; k++) sum -= L[(ptrdiff_t)i * m + k] * L[(ptrdiff_t)best * m + k];
            L[(ptrdiff_t)i * m + rank] = sum / root;
            if (i != best) left[i] -= sum / root * (sum / root);
        }
        left[best] = -1;
        rank++;
    }
    // in the order of the equations, whose envelope is narrow
    int count = 0;
    for (int i = 0; i < m; i++)
        if (left[i] == -1) w->kept[count++] = i;
    return rank;
}

// The first kept row with an entry in one of the columns of kept row i, i itself at the latest: rows before it are
// orthogonal. Rows are asked for in their order
static int first_neighbour(kd_rank_watch *w, int i)
{
    int        count, first = i;
    const int *column = kd_rank_columns(w, w->kept[i], &count);
    for (int e = 0; e < count; e++) {
        if (w->top[column[e]] > i) w->top[column[e]] = i;
        if (w->top[column[e]] < first) first = w->top[column[e]];
    }
    return first;
}

// C C' = L L' of the kept rows, each row of L from its first entry on. false: not positive definite
static bool factor(kd_rank_watch *w)
{
    int m = w->rank;
    for (int j = 0; j < w->dims.nv; j++) w->top[j] = m;
    // row by row; entries left of the first are zero and stay so (envelope)
    for (int i = 0; i < m; i++) {
        double *row = w->L + (ptrdiff_t)i * m;
        w->first[i] = first_neighbour(w, i);
        for (int k = w->first[i]; k <= i; k++) {
            const double *other = w->L + (ptrdiff_t)k * m;
            double        sum = kd_rank_product(w, w->kept[i], w->kept[k]);
            for (int l = w->first[i] > w->first[k] ? w->first[i] : w->first[k]; l < k; l++) sum -= row[l] * other[l];
            if (k < i) row[k] = sum / other[k];
            if (k == i && !(sum > 0)) return false;
            if (k == i) row[i] = sqrt(sum);
        }
    }
    return true;
}

// y = inv(C C') y
static void solve(const kd_rank_watch *w, double *y)
{
    int m = w->rank;
    // forward with L, then back with L'
    for (int i = 0; i < m; i++) {
        const double *row = w->L + (ptrdiff_t)i * m;
        for (int k = w->first[i]; k < i; k++) y[i] -= row[k] * y[k];
        y[i] /= row[i];
    }
    for (int i = m - 1; i >= 0; i--) {
        const double *row = w->L + (ptrdiff_t)i * m;
        y[i] /= row[i];
        for (int k = w->first[i]; k < i; k++) y[k] -= row[k] * y[i];
    }
}

// sigma of the kept rows; vector is its left singular vector, nearly
double kd_rank_least(kd_rank_watch *w)
{
    int    m = w->rank;
    double growth = 0;
    if (m == 0) return 1;
    // not positive definite: dependent rows, sigma is zero up to rounding
    if (!factor(w)) return 0;
    // inverse iteration: (C C')^-1 blows up the vector of the least singular value by 1 / sigma^2
    for (int k = 0; k < ITERATIONS; k++) {
        double length = sqrt(kd_dot(m, w->vector, w->vector));
        for (int i = 0; i < m; i++) // a guess that has a part of every vector
            w->vector[i] = length > 0 ? w->vector[i] / length + 1e-3 * (1 + 0.1 * i) / m : 1 + 0.1 * i;
        length = sqrt(kd_dot(m, w->vector, w->vector));
        solve(w, w->vector);
        growth = sqrt(kd_dot(m, w->vector, w->vector)) / length;
    }
    return 1 / sqrt(growth);
}

// |C - other|
double kd_rank_difference(const kd_rank_watch *w, const double *other)
{
    double sum = 0;
    for (int k = 0; k < w->nactive; k++) {
        const double *row = w->C + (ptrdiff_t)k * w->dims.nv, *last = other + (ptrdiff_t)k * w->dims.nv;
        int           count;
        const int    *column = kd_rank_columns(w, k, &count);
        for (int e = 0; e < count; e++) sum += (row[column[e]] - last[column[e]]) * (row[column[e]] - last[column[e]]);
    }
    return sqrt(sum);
}
