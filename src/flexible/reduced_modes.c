// reduced_modes.c: natural modes of a reduced structure, and the error that is to be expected of them.
//
// A reduced mode x = V q with omega^2 = lambda leaves the forces r = K x - lambda M x on the inner nodes (on everything that V can
// do they are zero). Nodes with held interfaces answer with D = inv(K_ii) r_i, then with inv(K_ii) M_ii D: what the shapes lack, to
// second order in lambda over the square of the lowest frequency that was left out. The same structure reduced by [V D] has
// frequencies that are nearer to the true ones by that order; the difference is the error that is told.
#include <float.h>
#include <math.h>
#include <string.h>

#include "flexible/reduction_parts.h"
#include "math/blas.h"
#include "math/dense.h"

enum { WORK = 40, TERMS = 2 };                   // of the series in lambda
static const double TWINS = 1e-8, LEADING = 0.8; // parts of a value, of the largest square of a row

// Columns c and d turned so that X_id = 0 and X_ic > 0
static void turn_columns(int n, double *X, int i, int c, int d)
{
    double      *x = X + (size_t)c * (size_t)n, *y = X + (size_t)d * (size_t)n;
    const double size = hypot(x[i], y[i]), cosine = size > 0 ? x[i] / size : 1, sine = size > 0 ? y[i] / size : 0;
    for (int k = 0; k < n; k++) {
        const double at = x[k];
        x[k] = cosine * at + sine * y[k];
        y[k] = cosine * y[k] - sine * at;
    }
}

// The first row whose entries in columns c .. end - 1 are together almost as large as in any: turns of the columns do not change that
static int leading_row(int n, const double *X, int c, int end)
{
    double most = 0;
    int    row = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = n - 1; i >= 0; i--) {
            double square = 0;
            for (int k = c; k < end; k++) square += pow(X[(size_t)i + (size_t)k * (size_t)n], 2);
            if (pass == 0) most = fmax(most, square);
            if (pass == 1 && square >= LEADING * most) row = i;
        }
    return row;
}

void kd_settle_modes(int n, const double *value, double *X)
{
    double largest = 0;
    for (int k = 0; k < n; k++) largest = fmax(largest, fabs(value[k]));
    for (int first = 0, end; first < n; first = end) {
        // equal up to what an eigenvalue solver can tell
        end = first + 1;
        while (end < n && fabs(value[end] - value[end - 1]) <= TWINS * fabs(value[end]) + 4 * n * DBL_EPSILON * largest)
            end++;
        // an echelon form: column c has the leading row to itself
        for (int c = first; c + 1 < end; c++) {
            const int i = leading_row(n, X, c, end);
            for (int d = c + 1; d < end; d++) turn_columns(n, X, i, c, d);
        }
    }
}

kd_status kd_symmetric_pencil(int n, double *A, double *B, double *nu)
{
    kd_arena  scratch = {0};
    double   *scale = kd_cut_double(&scratch, n), *work = kd_cut_double(&scratch, WORK * n);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK && n > 0) {
        // shifts and turns have different units: B gets a diagonal of ones
        for (int i = 0; i < n; i++) scale[i] = 1 / sqrt(B[(size_t)i * (size_t)(n + 1)]);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                A[(size_t)i + (size_t)j * (size_t)n] *= scale[i] * scale[j];
                B[(size_t)i + (size_t)j * (size_t)n] *= scale[i] * scale[j];
            }
        if (KD_BLAS(LAPACKE_dsygv_work(LAPACK_COL_MAJOR, 1, 'V', 'L', n, A, n, B, n, nu, work, WORK * n)) != 0)
            status = KD_ERR_DECOMPOSITION;
        if (status == KD_OK) kd_settle_modes(n, nu, A);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) A[(size_t)i + (size_t)j * (size_t)n] *= scale[i];
    }
    kd_arena_release(&scratch);
    return status;
}

void kd_reduction_project(const kd_sparse_matrix *A, int m, const double *X, int k, const double *Y, double *work,
                          double *out)
{
    kd_sparse_apply(A, k, Y, work);
    kd_gemm_tn(m, k, A->rows, 1, X, work, 0, out);
}

// ---- what held interfaces leave free --------------------------------------------------------------------------------

static bool is_held(const kd_reduction *r, const bool *held, int coordinate)
{
    return held && coordinate < r->nb && held[coordinate / 6];
}

// N (n x *columns): an orthonormal basis of the combinations of shapes that do not move the held interfaces
static kd_status free_combinations(const kd_reduction *r, const bool *held, double *N, int *columns)
{
    kd_arena scratch = {0};
    int      rows = 0;
    for (int i = 0; i < r->nb; i++) rows += is_held(r, held, i);
    double   *B = kd_cut_matrix(&scratch, r->n, rows), *tau = kd_cut_double(&scratch, rows);
    double   *work = kd_cut_double(&scratch, kd_qr_work(r->n, rows) + r->n);
    int      *order = kd_cut_int(&scratch, rows);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK) {
        // B' = Q R: the columns of Q behind the rank of B are not moved
        for (int i = 0, k = 0; i < r->nb; i++) {
            if (!is_held(r, held, i)) continue;
            for (int j = 0; j < r->n; j++)
                B[(size_t)j + (size_t)k * (size_t)r->n] = r->V[(size_t)i + (size_t)j * (size_t)r->nz];
            k++;
        }
        const int rank = rows > 0 ? kd_qr_pivot(r->n, rows, B, order, tau, 1e-10, work) : 0;
        *columns = r->n - rank;
        memset(N, 0, (size_t)r->n * (size_t)*columns * sizeof *N);
        for (int j = 0; j < *columns; j++) N[(size_t)(rank + j) + (size_t)j * (size_t)r->n] = 1;
        if (rank > 0) kd_qr_apply(r->n, rows < r->n ? rows : r->n, B, tau, N, *columns, work);
    }
    kd_arena_release(&scratch);
    return status;
}

// ---- modes ----------------------------------------------------------------------------------------------------------

// A of order n between combinations N (n x m): N' A N
static void restrict_to(int n, int m, const double *A, const double *N, double *work, double *out)
{
    kd_gemm(n, m, n, 1, A, N, 0, work);
    kd_gemm_tn(m, m, n, 1, N, work, 0, out);
}

kd_status kd_reduction_modes(const kd_reduction *r, const bool *held, double *omega, double *q, int *count)
{
    kd_arena  scratch = {0};
    const int n = r->n;
    double   *N = kd_cut_matrix(&scratch, n, n), *K = kd_cut_matrix(&scratch, n, n), *M = kd_cut_matrix(&scratch, n, n);
    double   *work = kd_cut_matrix(&scratch, n, n), *value = kd_cut_double(&scratch, n);
    int       m = 0;
    kd_status status = scratch.failed ? KD_ERR_MEMORY : free_combinations(r, held, N, &m);
    if (status == KD_OK) {
        restrict_to(n, m, r->Kr, N, work, K);
        restrict_to(n, m, r->Mr, N, work, M);
        status = kd_symmetric_pencil(m, K, M, value);
    }
    if (status == KD_OK) {
        const int rigid = held ? 0 : 6;
        *count = m - rigid;
        for (int k = 0; k < *count; k++) omega[k] = sqrt(fmax(value[rigid + k], 0));
        if (q) kd_gemm(n, *count, m, 1, N, K + (size_t)rigid * (size_t)m, 0, q);
    }
    kd_arena_release(&scratch);
    return status;
}

// ---- their error ----------------------------------------------------------------------------------------------------

// D of a mode on all coordinates z (nz x TERMS), which are zero at first
static kd_status lacking_motion(const kd_reduction *r, double lambda, const double *x, double *Kx, double *Mx,
                                double *D)
{
    kd_sparse_apply(&r->K, 1, x, Kx);
    kd_sparse_apply(&r->M, 1, x, Mx);
    for (int i = r->nb; i < r->nz; i++) D[i] = Kx[i] - lambda * Mx[i];
    kd_status status = kd_factor_solve(r->inner, D + r->nb, 1);
    for (int k = 1; status == KD_OK && k < TERMS; k++) {
        double *before = D + (size_t)(k - 1) * (size_t)r->nz + r->nb, *next = before + r->nz;
        kd_sparse_apply(&r->Mii, 1, before, next);
        status = kd_factor_solve(r->inner, next, 1);
    }
    return status;
}

int kd_reduction_orthonormalise(const kd_reduction *r, int count, double *X, double *MX)
{
    const size_t nz = (size_t)r->nz;
    int          kept = 0;
    for (int k = 0; k < count; k++) {
        double *x = X + nz * (size_t)kept, *Mx = MX + nz * (size_t)kept;
        if (kept != k) memcpy(x, X + nz * (size_t)k, nz * sizeof *x);
        kd_sparse_apply(&r->M, 1, x, Mx);
        const double before = kd_dot(r->nz, x, Mx);
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < kept; j++)
                kd_axpy(r->nz, -kd_dot(r->nz, MX + nz * (size_t)j, x), X + nz * (size_t)j, x);
        kd_sparse_apply(&r->M, 1, x, Mx);
        const double square = kd_dot(r->nz, x, Mx);
        if (!(square > 1e-14 * before) || !(square > 0)) continue;
        for (size_t i = 0; i < nz; i++) {
            x[i] /= sqrt(square);
            Mx[i] /= sqrt(square);
        }
        kept++;
    }
    return kept;
}

kd_status kd_reduction_expect(const kd_reduction *r, const bool *held, int wanted, double *omega, double *error)
{
    kd_arena  scratch = {0};
    const int n = r->n;
    // modes above those wanted may come down between them
    const int    enriched = wanted + r->nb < n ? wanted + r->nb : n;
    const size_t nz = (size_t)r->nz;
    double *q = kd_cut_matrix(&scratch, n, n), *N = kd_cut_matrix(&scratch, n, n), *all = kd_cut_double(&scratch, n);
    double *X = kd_cut_matrix(&scratch, r->nz, n + TERMS * enriched),
           *MX = kd_cut_matrix(&scratch, r->nz, n + TERMS * enriched);
    const int most = n + TERMS * enriched;
    double   *K = kd_cut_matrix(&scratch, most, most), *M = kd_cut_matrix(&scratch, most, most),
           *value = kd_cut_double(&scratch, most);
    double   *x = kd_cut_double(&scratch, r->nz), *work = kd_cut_matrix(&scratch, r->nz, most);
    int       count = 0, m = 0;
    kd_status status = scratch.failed ? KD_ERR_MEMORY : kd_reduction_modes(r, held, all, q, &count);
    if (status == KD_OK && count < wanted) status = KD_ERR_ARGUMENT;
    if (status == KD_OK) status = free_combinations(r, held, N, &m);
    if (status == KD_OK) kd_gemm(r->nz, m, n, 1, r->V, N, 0, X);
    for (int k = 0; status == KD_OK && k < enriched && k < count; k++) {
        kd_gemv(r->nz, n, 1, r->V, q + (size_t)k * (size_t)n, 0, x);
        status = lacking_motion(r, all[k] * all[k], x, work, work + nz, X + nz * (size_t)(m + TERMS * k));
    }
    if (status == KD_OK) {
        const int columns = kd_reduction_orthonormalise(r, m + TERMS * (enriched < count ? enriched : count), X, MX);
        kd_reduction_project(&r->K, columns, X, columns, X, work, K);
        kd_reduction_project(&r->M, columns, X, columns, X, work, M);
        status = kd_symmetric_pencil(columns, K, M, value);
    }
    for (int k = 0; status == KD_OK && k < wanted; k++) {
        omega[k] = all[k];
        error[k] = 1 - sqrt(fmax(value[k + (held ? 0 : 6)], 0)) / all[k];
    }
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_reduction_exact(const kd_reduction *r, const bool *held, int count, double *omega, char *message,
                             size_t size)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix K, M;
    bool            *keep = kd_cut_bool(&scratch, r->nz);
    double          *Phi = kd_cut_matrix(&scratch, r->nz, count);
    kd_status        status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int i = 0; status == KD_OK && i < r->nz; i++) keep[i] = !is_held(r, held, i);
    if (status == KD_OK) status = kd_reduction_part(r, &r->K, keep, keep, &scratch, &K);
    if (status == KD_OK) status = kd_reduction_part(r, &r->M, keep, keep, &scratch, &M);
    if (status == KD_OK) status = kd_natural_modes(&K, &M, held ? NULL : r->rigid, 6, count, omega, Phi, message, size);
    kd_arena_release(&scratch);
    return status;
}
