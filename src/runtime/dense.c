// runtime/dense.c: what the runtime needs of LAPACK beyond the kernels of math/: condition numbers, symmetric
// eigenvalues.
//
// Condition: |inv(A)|_1 from below by Hager's method as Higham (1988) gives it, with the alternating vector as a second
// guess. Symmetric: Jacobi's method in cyclic order (Golub, Van Loan, 8.5), which is accurate and short; matrices are those
// of flexible parts, some hundred rows, at the start only.
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stddef.h>

#include "core/memory.h"
#include "math/dense.h"
#include "math/kernel.h"

enum { TURNS = 5, SWEEPS = 60 };

static double at(int n, const double *A, int i, int j)
{
    return A[i + (ptrdiff_t)n * j];
}

// ---- condition ------------------------------------------------------------------------------------------------------

// x = inv(U) inv(L) x
static void solve(int n, const double *LU, double *x)
{
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++) x[i] -= at(n, LU, i, j) * x[j];
    for (int j = n - 1; j >= 0; j--) {
        x[j] /= at(n, LU, j, j);
        for (int i = 0; i < j; i++) x[i] -= at(n, LU, i, j) * x[j];
    }
}

// x = inv(L)' inv(U)' x
static void solve_transposed(int n, const double *LU, double *x)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < j; i++) x[j] -= at(n, LU, i, j) * x[i];
        x[j] /= at(n, LU, j, j);
    }
    for (int j = n - 1; j >= 0; j--)
        for (int i = j + 1; i < n; i++) x[j] -= at(n, LU, i, j) * x[i];
}

static double norm1(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += fabs(x[i]);
    return sum;
}

int kd_rt_dgecon(int n, const double *LU, double norm, double *rcond, double *work)
{
    double *x = work, *sign = work + n, best = 0;
    int     place = -1;
    for (int i = 0; i < n; i++) x[i] = 1.0 / n;
    for (int turn = 0; turn < TURNS; turn++) {
        // |inv(A) x|, and where it grows fastest
        solve(n, LU, x);
        const double size = norm1(n, x);
        if (!(size <= DBL_MAX)) {
            *rcond = 0;
            return 0;
        }
        if (turn > 0 && size <= best) break;
        best = size;
        for (int i = 0; i < n; i++) sign[i] = x[i] >= 0 ? 1 : -1;
        solve_transposed(n, LU, sign);
        int largest = 0;
        for (int i = 1; i < n; i++)
            if (fabs(sign[i]) > fabs(sign[largest])) largest = i;
        if (largest == place) break;
        place = largest;
        for (int i = 0; i < n; i++) x[i] = i == place;
    }
    // a second guess, for matrices that deceive the first
    for (int i = 0; i < n; i++) x[i] = (i % 2 == 0 ? 1 : -1) * (1 + (n > 1 ? (double)i / (n - 1) : 0));
    solve(n, LU, x);
    best = fmax(best, 2 * norm1(n, x) / (3.0 * n));
    *rcond = best > 0 ? 1 / (best * norm) : 0;
    return 0;
}

// ---- symmetric eigenvalues ------------------------------------------------------------------------------------------

// Rows and columns p, q turned so that A_pq = 0; V follows
static void turn_symmetric(int n, double *A, double *V, int p, int q)
{
    const double apq = at(n, A, p, q);
    if (apq == 0) return;
    const double theta = (at(n, A, q, q) - at(n, A, p, p)) / (2 * apq);
    const double t = copysign(1, theta) / (fabs(theta) + hypot(1, theta));
    const double c = 1 / hypot(1, t), s = t * c;
    for (int k = 0; k < n; k++) {
        const double akp = at(n, A, k, p), akq = at(n, A, k, q);
        A[k + (ptrdiff_t)n * p] = c * akp - s * akq;
        A[k + (ptrdiff_t)n * q] = s * akp + c * akq;
    }
    for (int k = 0; k < n; k++) {
        const double apk = at(n, A, p, k), aqk = at(n, A, q, k);
        A[p + (ptrdiff_t)n * k] = c * apk - s * aqk;
        A[q + (ptrdiff_t)n * k] = s * apk + c * aqk;
    }
    A[p + (ptrdiff_t)n * q] = A[q + (ptrdiff_t)n * p] = 0;
    for (int k = 0; k < n; k++) {
        const double vkp = at(n, V, k, p), vkq = at(n, V, k, q);
        V[k + (ptrdiff_t)n * p] = c * vkp - s * vkq;
        V[k + (ptrdiff_t)n * q] = s * vkp + c * vkq;
    }
}

// Columns of V and values in rising order, V into A
static void put_in_order(int n, const double *V, double *A, double *nu)
{
    for (int k = 0; k < n; k++) nu[k] = at(n, A, k, k);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) A[i + (ptrdiff_t)n * j] = at(n, V, i, j);
    for (int k = 0; k < n; k++) {
        int least = k;
        for (int j = k + 1; j < n; j++)
            if (nu[j] < nu[least]) least = j;
        if (least == k) continue;
        const double value = nu[k];
        nu[k] = nu[least];
        nu[least] = value;
        for (int i = 0; i < n; i++) {
            const double a = at(n, A, i, k);
            A[i + (ptrdiff_t)n * k] = at(n, A, i, least);
            A[i + (ptrdiff_t)n * least] = a;
        }
    }
}

int kd_rt_dsyev(int n, double *A, double *nu)
{
    kd_arena scratch = {0};
    double  *V = kd_cut_matrix(&scratch, n, n);
    int      info = V ? 0 : -1;
    // the lower triangle and the upper one are the same
    for (int j = 0; j < n && V; j++) {
        for (int i = 0; i < n; i++) V[i + (ptrdiff_t)n * j] = i == j;
        for (int i = 0; i < j; i++) A[i + (ptrdiff_t)n * j] = at(n, A, j, i);
    }
    bool done = false;
    for (int sweep = 0; sweep < SWEEPS && V && !done; sweep++) {
        // entries beside the diagonal that rounding would leave do not count
        done = true;
        for (int q = 1; q < n; q++)
            for (int p = 0; p < q; p++) {
                const double size = sqrt(fabs(at(n, A, p, p))) * sqrt(fabs(at(n, A, q, q)));
                if (fabs(at(n, A, p, q)) <= DBL_EPSILON * size && size > 0) continue;
                if (fabs(at(n, A, p, q)) <= DBL_MIN) continue;
                done = false;
                turn_symmetric(n, A, V, p, q);
            }
    }
    if (V) put_in_order(n, V, A, nu);
    kd_arena_release(&scratch);
    return info;
}

// A x = nu B x with B = L L': the matrix inv(L) A inv(L)', then x = inv(L)' y; x' B x = 1
int kd_rt_dsygv(int n, double *A, double *B, double *nu)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < j; i++) A[i + (ptrdiff_t)n * j] = at(n, A, j, i);
    if (kd_kernel_cholesky_factor(n, B) != 0) return n + 1;
    // columns, then rows
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < n; j++) {
            double *a = A + (ptrdiff_t)n * j;
            for (int k = 0; k < n; k++) {
                a[k] /= at(n, B, k, k);
                for (int i = k + 1; i < n; i++) a[i] -= at(n, B, i, k) * a[k];
            }
        }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < j; i++) {
                const double a = at(n, A, i, j);
                A[i + (ptrdiff_t)n * j] = at(n, A, j, i);
                A[j + (ptrdiff_t)n * i] = a;
            }
    }
    const int info = kd_rt_dsyev(n, A, nu);
    for (int j = 0; j < n && info == 0; j++) {
        double *x = A + (ptrdiff_t)n * j;
        for (int k = n - 1; k >= 0; k--) {
            for (int i = k + 1; i < n; i++) x[k] -= at(n, B, i, k) * x[i];
            x[k] /= at(n, B, k, k);
        }
    }
    return info;
}
