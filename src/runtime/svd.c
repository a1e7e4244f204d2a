// runtime/svd.c: singular values by one-sided rotations (Hestenes 1958; Demmel, Veselic 1992): columns of A are turned
// in pairs until all are orthogonal, A V = U diag(sigma). In place of math/svd.c where there is no LAPACK.
//
// A matrix with more columns than rows is treated by its transpose. What is missing in U (zero singular values, more
// rows than columns) comes from Householder's Q of the columns that are there.
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/dense.h"

enum { SWEEPS = 80 };

static int larger(int m, int n)
{
    return m > n ? m : n;
}

static int smaller(int m, int n)
{
    return m < n ? m : n;
}

// W (l x k), V (k x k), QR (l x k), tau (k), columns (k), work of the QR
int kd_svd_work(int m, int n)
{
    const int l = larger(m, n), k = smaller(m, n);
    return 2 * l * k + k * k + 2 * k + 2 * l + kd_qr_work(l, k) + l + 1;
}

// Columns p, q of W (l rows) orthogonal by one turn; V follows. false: they are already
static bool turn(int l, int k, double *W, double *V, int p, int q)
{
    double      *x = W + (ptrdiff_t)l * p, *y = W + (ptrdiff_t)l * q;
    const double a = kd_dot(l, x, x), b = kd_dot(l, y, y), c = kd_dot(l, x, y);
    if (fabs(c) <= DBL_EPSILON * sqrt(a) * sqrt(b) || c == 0) return false;
    const double zeta = (b - a) / (2 * c);
    const double t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta));
    const double cosine = 1 / hypot(1, t), sine = t * cosine;
    for (int pass = 0; pass < 2; pass++) {
        double   *u = pass ? V + (ptrdiff_t)k * p : x, *w = pass ? V + (ptrdiff_t)k * q : y;
        const int rows = pass ? k : l;
        for (int i = 0; i < rows; i++) {
            const double ui = u[i], wi = w[i];
            u[i] = cosine * ui - sine * wi;
            w[i] = sine * ui + cosine * wi;
        }
    }
    return true;
}

static void swap_columns(int n, double *A, int i, int j)
{
    for (int r = 0; r < n && i != j; r++) {
        const double a = A[r + (ptrdiff_t)n * i];
        A[r + (ptrdiff_t)n * i] = A[r + (ptrdiff_t)n * j];
        A[r + (ptrdiff_t)n * j] = a;
    }
}

// Lengths of the columns, falling
static void order(int l, int k, double *W, double *V, double *sigma)
{
    for (int j = 0; j < k; j++) sigma[j] = sqrt(kd_dot(l, W + (ptrdiff_t)l * j, W + (ptrdiff_t)l * j));
    for (int j = 0; j < k; j++) {
        int most = j;
        for (int i = j + 1; i < k; i++)
            if (sigma[i] > sigma[most]) most = i;
        const double s = sigma[j];
        sigma[j] = sigma[most];
        sigma[most] = s;
        swap_columns(l, W, j, most);
        swap_columns(k, V, j, most);
    }
}

// U (l x l): the first columns from W, the others orthogonal to them
static void complete(int l, int k, double *W, const double *sigma, double *U, double *work)
{
    double *QR = work, *tau = QR + (ptrdiff_t)l * k, *apply = tau + k;
    int    *column = (int *)(void *)(apply + l);
    double *qr = apply + l + k;
    int     rank = 0;
    while (rank < k && sigma[rank] > 4 * l * DBL_EPSILON * sigma[0] && sigma[rank] >= DBL_MIN) rank++;
    for (int j = 0; j < rank; j++)
        for (int i = 0; i < l; i++) QR[i + (ptrdiff_t)l * j] = W[i + (ptrdiff_t)l * j] / sigma[j];
    memcpy(U, QR, (size_t)l * (size_t)rank * sizeof *U);
    if (rank > 0) (void)kd_qr_pivot(l, rank, QR, column, tau, 0, qr);
    for (int j = rank; j < l; j++) {
        for (int i = 0; i < l; i++) U[i + (ptrdiff_t)l * j] = i == j;
        if (rank > 0) kd_qr_apply(l, rank, QR, tau, U + (ptrdiff_t)l * j, 1, apply);
    }
}

int kd_svd(int m, int n, double *A, double *U, double *sigma, double *Vt, double *work)
{
    const int l = larger(m, n), k = smaller(m, n);
    double    largest = 0;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)m * n; i++) {
        if (!isfinite(A[i])) return 1;
        largest = fmax(largest, fabs(A[i]));
    }
    const bool   vectors = U && Vt, tall = m >= n;
    const double scale = largest > 0 ? kd_power_of_2(largest) : 1;
    double      *W = work, *V = W + (ptrdiff_t)l * k, *rest = V + (ptrdiff_t)k * k;
    // A, or its transpose, with entries of order 1
    for (int j = 0; j < k; j++)
        for (int i = 0; i < l; i++)
            W[i + (ptrdiff_t)l * j] = (tall ? A[i + (ptrdiff_t)m * j] : A[j + (ptrdiff_t)m * i]) / scale;
    for (int j = 0; j < k; j++)
        for (int i = 0; i < k; i++) V[i + (ptrdiff_t)k * j] = i == j;
    bool turned = true;
    int  sweep = 0;
    for (; turned && sweep < SWEEPS; sweep++) {
        turned = false;
        for (int q = 1; q < k; q++)
            for (int p = 0; p < q; p++) turned = turn(l, k, W, V, p, q) || turned;
    }
    order(l, k, W, V, sigma);
    if (vectors) {
        // of the transpose: U and V change places
        double *left = tall ? U : Vt;
        complete(l, k, W, sigma, left, rest);
        if (tall) {
            for (int j = 0; j < k; j++)
                for (int i = 0; i < k; i++) Vt[i + (ptrdiff_t)k * j] = V[j + (ptrdiff_t)k * i];
        } else {
            memcpy(U, V, (size_t)k * (size_t)k * sizeof *U);
            for (int j = 0; j < l; j++) // in place
                for (int i = 0; i < j; i++) {
                    const double a = Vt[i + (ptrdiff_t)l * j];
                    Vt[i + (ptrdiff_t)l * j] = Vt[j + (ptrdiff_t)l * i];
                    Vt[j + (ptrdiff_t)l * i] = a;
                }
        }
    }
    for (int j = 0; j < k; j++) sigma[j] *= scale;
    return 0;
}
