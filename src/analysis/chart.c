// chart.c: independent columns by elimination with full pivoting (S2, coordinate partitioning): the pivots choose the
// dependent columns, for which J is best conditioned, and the rows that are not redundant.
#include "analysis/chart.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

// Columns by the natural sizes of their coordinates, rows of length 1, so that units do not matter; rows that do not
// hold are 0.
static void scale_rows(int m, int n, const double *J, const unsigned char *active, const double *unit,
                       const double *weight, double *scaled)
{
    for (int i = 0; i < m; i++) {
        double length = 0;
        for (int j = 0; j < n; j++) length = hypot(length, J[(size_t)i + (size_t)j * (size_t)m] * unit[j]);
        for (int j = 0; j < n; j++) {
            size_t k = (size_t)i + (size_t)j * (size_t)m;
            scaled[k] = active[i] && length > 0 ? J[k] * unit[j] / length * weight[j] : 0;
        }
    }
}

static void sort_ints(int n, int *list)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && list[j - 1] > list[j]; j--) {
            int kept = list[j];
            list[j] = list[j - 1];
            list[j - 1] = kept;
        }
}

bool kd_linear_chart_create(kd_linear_chart *chart, kd_arena *arena, int m, int n, const double *J,
                            const unsigned char *active, const double *unit, const double *weight, double tolerance)
{
    double *scaled = kd_cut_matrix(arena, m, n);
    int    *row = kd_cut_int(arena, m), *column = kd_cut_int(arena, n);
    if (arena->failed) return false;
    // J[row, column] = L U: the first rank columns are dependent, the others independent
    scale_rows(m, n, J, active, unit, weight, scaled);
    for (int j = 0; j < n; j++) column[j] = j;
    bool any = m > 0 && kd_norm_max(m * n, scaled) > 0;
    int  rank = any ? kd_lu_full(m, n, scaled, row, column, tolerance) : 0;
    *chart =
        (kd_linear_chart){.m = m, .n = n, .rank = rank, .row = row, .dependent = column, .independent = column + rank};
    chart->J = kd_cut_matrix(arena, rank, n);
    chart->LU = kd_cut_matrix(arena, rank, rank);
    chart->pivot = kd_cut_int(arena, rank);
    chart->b = kd_cut_double(arena, rank);
    if (arena->failed) return false;
    // independent ones in their own order
    sort_ints(n - rank, chart->independent);
    // J of the rows that are not redundant, and the LU factors of its dependent columns
    for (int j = 0; j < n; j++)
        for (int i = 0; i < rank; i++)
            chart->J[(size_t)i + (size_t)j * (size_t)rank] = J[(size_t)row[i] + (size_t)j * (size_t)m];
    for (int j = 0; j < rank; j++)
        memcpy(chart->LU + (size_t)j * (size_t)rank, chart->J + (size_t)column[j] * (size_t)rank,
               (size_t)rank * sizeof(double));
    return kd_lu_factor(rank, chart->LU, chart->pivot) == 0;
}

void kd_linear_chart_complete(const kd_linear_chart *chart, const double *b, double *x)
{
    const int rank = chart->rank;
    // J_d x_d = -b - J_i x_i
    for (int i = 0; i < rank; i++) chart->b[i] = -b[chart->row[i]];
    for (int k = 0; k < chart->n - rank; k++) {
        const int j = chart->independent[k];
        kd_axpy(rank, -x[j], chart->J + (size_t)j * (size_t)rank, chart->b);
    }
    kd_lu_solve(rank, chart->LU, chart->pivot, chart->b, 1);
    for (int i = 0; i < rank; i++) x[chart->dependent[i]] = chart->b[i];
}
