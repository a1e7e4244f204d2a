// invert.c: inverses of small matrices. Where one matrix meets several right-hand sides one after the other, a product with the
// inverse costs its arithmetic only; a substitution waits for each unknown in turn. Order 6: LU and five substitutions 320 ns,
// the inverse and five products 190 ns; order 12: 800 and 1000 ns.
//
// Gauss and Jordan's elimination in place, with the largest entry of each column among the rows that have not been pivots. Rows
// stay where they are: with row r(k) the pivot of column k, inv(A)(k, r(j)) = W(r(k), j) in the end. What is a row here is a
// column in memory: inv(A') = inv(A)'.
#include "math/dense.h"
#include "math/kernel.h"
#include "math/small_order.h"

// The unused row with the largest entry in column k; -1: no pivot
static inline __attribute__((always_inline)) int find_pivot(const int n, const double *W, int k, const bool *used)
{
    int    row = -1;
    double most = -1;
    for (int i = 0; i < n; i++) {
        const double size = fabs(W[k + i * n]);
        if (used[i] || size <= most) continue; // NaN is taken, and refused
        most = size;
        row = i;
    }
    return kd_is_pivot(most) ? row : -1;
}

static inline __attribute__((always_inline)) bool invert(const int n, double *A)
{
    double W[KD_INVERT_MOST * KD_INVERT_MOST];
    int    order[KD_INVERT_MOST];
    bool   used[KD_INVERT_MOST] = {false};
    for (int i = 0; i < n * n; i++) W[i] = A[i];
    for (int k = 0; k < n; k++) {
        const int r = find_pivot(n, W, k, used);
        if (r < 0) return false;
        // row of the pivot
        double       row[KD_INVERT_MOST], *own = W + r * n;
        const double inverse = 1 / own[k];
        for (int j = 0; j < n; j++) row[j] = inverse * own[j];
        row[k] = inverse;
        // all others
        for (int i = 0; i < n; i++) {
            double      *other = W + i * n;
            const double factor = other[k];
            other[k] = 0;
            for (int j = 0; j < n; j++) other[j] -= factor * row[j];
        }
        for (int j = 0; j < n; j++) own[j] = row[j];
        order[k] = r;
        used[r] = true;
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) A[order[j] + k * n] = W[j + order[k] * n];
    return true;
}

// Order 2: by the determinant, whose error is that of rounding times the condition number, too
static bool invert_two(double *A)
{
    const double a = A[0], b = A[2], c = A[1], d = A[3], determinant = a * d - b * c;
    if (!kd_is_pivot(determinant)) return false;
    const double inverse = 1 / determinant;
    A[0] = d * inverse;
    A[1] = -c * inverse;
    A[2] = -b * inverse;
    A[3] = a * inverse;
    return true;
}

static inline __attribute__((always_inline)) void multiply(const int n, const double *A, double *b)
{
    double y[KD_INVERT_MOST] = {0};
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) y[i] += A[i + j * n] * b[j];
    for (int i = 0; i < n; i++) b[i] = y[i];
}

#define FOR_ORDER(n, call, ...) KD_FOR_SMALL_ORDER(n, call(n, __VA_ARGS__), call, __VA_ARGS__)

bool kd_invert(int n, double *A)
{
    if (n == 2) return invert_two(A);
    bool regular;
    FOR_ORDER(n, regular = invert, A)
    return regular;
}

void kd_multiply_few(int n, const double *A, double *b)
{
    FOR_ORDER(n, multiply, A, b)
}
