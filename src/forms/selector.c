// Selectors from LU with full pivoting, QR with column pivoting, or SVD (S3 options DECOMPC, Algorithm 2.6).
//
// LU, QR: columns of C are split into dependent ones d (the pivots) and independent ones i, C = [C_d C_i]. Then S picks
// the independent coordinates, N = [-C_d \ C_i; I], P = [inv(C_d); 0]. S changes only when the set of pivot columns
// does. SVD: C = U1 Sigma1 V1', S = V2', N = V2, P = V1 inv(Sigma1) U1'; the rank found at the start is kept, since off
// the constraint manifold "zero" singular values are as large as the constraint error.
#include "forms/selector.h"

#include "core/archive.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

// A pivot below this fraction of the first one (rows scaled to maximum 1) means dependent rows.
#define PIVOT_TOLERANCE 1e-9
// SVD: a singular value that was zero at the start and rises above this fraction of the largest is a change of rank.
#define RANK_RISE 1e-4

void kd_selector_init(kd_selector *s, int m, int n, kd_decomposition kind, double rank_tolerance, kd_arena *arena)
{
    bool svd = kind == KD_DECOMPOSE_SVD;
    bool qr = kind == KD_DECOMPOSE_QR;
    // workspace that LAPACK asks for
    int lwork = qr ? kd_qr_work(m, n) : 0;
    for (int rows = 1; svd && rows <= m; rows++) { // LAPACK's wish does not grow with the rows alone
        int wish = kd_svd_work(rows, n);
        if (wish > lwork) lwork = wish;
    }

    *s = (kd_selector){.m = m, .n = n, .rank = -1, .kind = kind, .rank_tolerance = rank_tolerance, .unit = !svd};
    // dependent and independent directions, and what rows are left
    s->independent = kd_cut_int(arena, n);
    s->N = kd_cut_matrix(arena, n, n);
    s->P = kd_cut_matrix(arena, n, m);
    s->C = kd_cut_matrix(arena, m, n);
    s->scale = kd_cut_double(arena, m);
    s->left = kd_cut_double(arena, m);
    s->row = kd_cut_int(arena, m);
    s->column = kd_cut_int(arena, n);
    s->sorted = kd_cut_int(arena, n);
    s->work = kd_cut_double(arena, lwork + m);
    // of the chosen decomposition
    if (qr) s->tau = kd_cut_double(arena, m < n ? m : n);
    if (svd) {
        s->S = kd_cut_matrix(arena, n, n);
        s->U = kd_cut_matrix(arena, m, m);
        s->Vt = kd_cut_matrix(arena, n, n);
        s->sigma = kd_cut_double(arena, m < n ? m : n);
    }
}

static double column_size(const kd_selector *s, int j)
{
    return s->size ? s->size[j] : 1;
}

// s->C = rows of C D scaled to maximum 1, D: natural sizes of the columns
static void scale_rows(kd_selector *s, const double *C)
{
    int m = s->rows;
    // 1 / max_j |C_ij| D_j
    for (int i = 0; i < m; i++) s->scale[i] = 0;
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < m; i++) s->scale[i] = fmax(s->scale[i], fabs(C[i + j * m]) * column_size(s, j));
    for (int i = 0; i < m; i++) s->scale[i] = s->scale[i] > 0 ? 1 / s->scale[i] : 1;
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < m; i++) s->C[i + j * m] = C[i + j * m] * column_size(s, j) * s->scale[i];
}

// N, S, P of C D to those of C: D N, S inv(D), D P; where S picks coordinates, D N inv(D_i)
static void unscale_columns(kd_selector *s)
{
    int n = s->n, nfree = n - s->rank;
    for (int j = 0; j < n; j++) {
        double D = s->size[j];
        for (int i = 0; i < s->rows; i++) s->P[j + i * n] *= D;
        for (int k = 0; k < nfree; k++) s->N[j + k * n] *= s->unit ? D / s->size[s->independent[k]] : D;
        for (int k = 0; k < nfree && !s->unit; k++) s->S[k + j * nfree] /= D;
    }
}

// Order of columns: independent ones increasing (first n - rank), then the dependent ones in pivot order. True if the
// set is another one than before.
static bool take_columns(kd_selector *s, int rank)
{
    int  n = s->n, free_columns = n - rank;
    bool same = true;
    int *mark = s->sorted; // 1: dependent
    memset(mark, 0, (size_t)n * sizeof *mark);
    for (int k = 0; k < rank; k++) mark[s->column[k]] = 1;
    for (int j = 0, k = 0; j < n; j++) {
        if (mark[j]) continue;
        same = same && s->independent[k] == j;
        s->independent[k++] = j;
    }
    for (int k = 0; k < rank; k++) s->independent[free_columns + k] = s->column[k];
    return !same;
}

// R x = b for the upper triangle of the leading n x n block of A (m rows)
static void solve_upper(int n, const double *A, int m, double *b)
{
    for (int j = n - 1; j >= 0; j--) {
        b[j] /= A[j + j * m];
        for (int i = 0; i < j; i++) b[i] -= A[i + j * m] * b[j];
    }
}

// N from the triangular factor T = [T1 T2] of the pivoted matrix: N(dependent) = -T1 \ T2, N(independent) = I
static void put_null_space(kd_selector *s)
{
    int m = s->rank, n = s->n;
    memset(s->N, 0, (size_t)n * (size_t)(n - m) * sizeof *s->N);
    for (int j = m; j < n; j++) { // pivoted column j is the coordinate column[j], the k-th independent one
        double *x = s->work;
        int     k = 0;
        while (s->independent[k] != s->column[j]) k++;
        memcpy(x, s->C + j * m, (size_t)m * sizeof *x);
        solve_upper(m, s->C, m, x);
        s->N[s->column[j] + k * n] = 1;
        for (int i = 0; i < m; i++) s->N[s->column[i] + k * n] = -x[i];
    }
}

// A failed rank: the combination of rows that vanishes, left' C = 0, from L of the full-pivot LU: left = inv(L)' e_k
static void left_null_lu(kd_selector *s, int rank)
{
    int     m = s->rows;
    double *l = s->work;
    memset(l, 0, (size_t)m * sizeof *l);
    l[rank] = 1;
    for (int j = rank - 1; j >= 0; j--) {
        for (int i = j + 1; i <= rank; i++) l[j] -= s->C[i + j * m] * l[i];
    }
    for (int i = 0; i < m; i++) s->left[s->row[i]] = i <= rank ? l[i] : 0;
}

static kd_status rank_failure(kd_selector *s)
{
    return s->rank < 0 ? KD_ERR_REDUNDANT : KD_ERR_RANK_CHANGE;
}

static kd_status update_lu(kd_selector *s, bool *changed)
{
    int m = s->rows, n = s->n;
    // L U of the scaled C; a missing pivot: dependent rows
    int rank = kd_lu_full(m, n, s->C, s->row, s->column, PIVOT_TOLERANCE);
    if (rank < m) {
        left_null_lu(s, rank);
        return rank_failure(s);
    }
    s->rank = m;
    *changed = take_columns(s, m);

    // N = [-U1 \ U2; I]
    put_null_space(s);

    // P = inv(C_d) = inv(U1) inv(L) in pivoted order
    double *x = s->work;
    memset(s->P, 0, (size_t)n * (size_t)m * sizeof *s->P);
    for (int j = 0; j < m; j++) { // column j of inv(U1) inv(L), which belongs to constraint row[j]
        memset(x, 0, (size_t)m * sizeof *x);
        x[j] = s->scale[s->row[j]];
        for (int k = j; k < m; k++)
            for (int i = k + 1; i < m; i++) x[i] -= s->C[i + k * m] * x[k];
        solve_upper(m, s->C, m, x);
        for (int i = 0; i < m; i++) s->P[s->column[i] + s->row[j] * n] = x[i];
    }
    return KD_OK;
}

static kd_status update_qr(kd_selector *s, bool *changed)
{
    int m = s->rows, n = s->n;
    int rank = kd_qr_pivot(m, n, s->C, s->column, s->tau, PIVOT_TOLERANCE, s->work);
    if (rank < m) { // left null vector: Q e_rank
        memset(s->left, 0, (size_t)m * sizeof *s->left);
        s->left[rank] = 1;
        kd_qr_apply(m, m < n ? m : n, s->C, s->tau, s->left, 1, s->work);
        return rank_failure(s);
    }
    // N = [-R1 \ R2; I]
    s->rank = m;
    *changed = take_columns(s, m);
    put_null_space(s);

    // P = inv(R1) Q' in pivoted order
    memset(s->P, 0, (size_t)n * (size_t)m * sizeof *s->P);
    for (int j = 0; j < m; j++) { // R1 \ Q' e_j
        double *y = s->left;
        memset(y, 0, (size_t)m * sizeof *y);
        y[j] = s->scale[j];
        kd_qr_apply_t(m, m, s->C, s->tau, y, 1, s->work);
        solve_upper(m, s->C, m, y);
        for (int i = 0; i < m; i++) s->P[s->column[i] + j * n] = y[i];
    }
    return KD_OK;
}

// rank of the singular values, by the tolerance at the start, kept afterwards; -1: it changed
static int svd_rank(const kd_selector *s, int most)
{
    const double *sigma = s->sigma;
    int           rank = 0;
    while (rank < most && sigma[rank] > s->rank_tolerance * sigma[0]) rank++;
    if (s->rank < 0) return rank;
    if (rank < s->rank) return -1;
    if (s->rank < most && sigma[s->rank] > RANK_RISE * sigma[0]) return -1;
    return s->rank;
}

static kd_status update_svd(kd_selector *s, bool *changed)
{
    int m = s->rows, n = s->n, most = m < n ? m : n;
    // C = U Sigma V'; the rank is that of the start
    if (kd_svd(m, n, s->C, s->U, s->sigma, s->Vt, s->work) != 0) return KD_ERR_DECOMPOSITION;
    int rank = m == 0 ? 0 : svd_rank(s, most);
    if (rank < 0) {
        int k = s->rank > 0 ? s->rank - 1 : 0;
        memcpy(s->left, s->U + k * m, (size_t)m * sizeof *s->left);
        return KD_ERR_RANK_CHANGE;
    }
    s->rank = rank;
    *changed = true;
    // N = V2, S = V2'
    for (int k = 0; k < n - rank; k++) {
        for (int j = 0; j < n; j++) {
            double v = s->Vt[(rank + k) + j * n];
            s->N[j + k * n] = v;
            s->S[k + j * (n - rank)] = v;
        }
    }
    // P = V1 inv(Sigma1) U1'
    memset(s->P, 0, (size_t)n * (size_t)m * sizeof *s->P);
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < rank; k++) {
            double f = s->U[i + k * m] / s->sigma[k] * s->scale[i];
            for (int j = 0; j < n; j++) s->P[j + i * n] += s->Vt[k + j * n] * f;
        }
    }
    return rank < m ? KD_REDUNDANT : KD_OK;
}

kd_status kd_selector_update(kd_selector *s, int rows, const double *C, bool reset, bool *changed)
{
    if (rows != s->rows) s->rank = -1; // other active rows: a new question
    bool      first = s->rank < 0;
    bool      other = false;
    kd_status status;
    s->rows = rows;
    // decompose C D with scaled rows, go back to C
    scale_rows(s, C);
    switch (s->kind) {
    case KD_DECOMPOSE_QR:
        status = update_qr(s, &other);
        break;
    case KD_DECOMPOSE_SVD:
        status = update_svd(s, &other);
        break;
    default:
        status = update_lu(s, &other);
        break;
    }
    if (s->size && status >= 0) unscale_columns(s);
    *changed = first || reset || other;
    return status;
}

void kd_selector_pick(const kd_selector *s, const double *x, double *y)
{
    int k = s->n - s->rank;
    if (s->unit) {
        for (int i = 0; i < k; i++) y[i] = x[s->independent[i]];
    } else {
        kd_gemv(k, s->n, 1, s->S, x, 0, y);
    }
}

void kd_selector_archive(kd_selector *s, kd_archive *a)
{
    kd_archive_int(a, &s->rows, 0, s->m);
    kd_archive_int(a, &s->rank, -1, s->m < s->n ? s->m : s->n);
    int *column[] = {s->independent, s->column};
    for (int k = 0; s->independent && k < 2; k++) kd_archive_ints(a, column[k], (size_t)s->n, 0, s->n - 1);
    if (s->row) kd_archive_ints(a, s->row, (size_t)s->m, 0, s->m - 1);
}
