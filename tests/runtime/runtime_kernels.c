// runtime_kernels.c: the runtime's own linear algebra on random matrices: residuals, orthogonality, known answers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <complex.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "math/dense.h"
#include "math/linsolve.h"

static uint32_t seed;

static double random_number(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)seed / 2147483648.0 - 1;
}

static int random_int(int most)
{
    return (int)((random_number() + 1) / 2 * most) % most;
}

static double *random_matrix(int m, int n)
{
    double *A = malloc((size_t)(m * n + 1) * sizeof *A);
    for (int i = 0; i < m * n; i++) A[i] = random_number();
    return A;
}

// A = U diag(sigma) V', U and V orthogonal, sigma falling, also of matrices without full rank and of zero
static void singular_values(void **state)
{
    (void)state;
    seed = test_seed(1);
    for (int trial = 0; trial < 300; trial++) {
        const int m = 1 + random_int(12), n = 1 + random_int(12), k = m < n ? m : n;
        const int rank = trial % 3 == 0 ? random_int(k + 1) : k;
        double   *A = calloc((size_t)(m * n), sizeof *A), *B, *C;
        B = random_matrix(m, rank);
        C = random_matrix(rank, n);
        const double size = trial % 7 == 0 ? 1e-150 : trial % 11 == 0 ? 1e150 : 1;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                for (int l = 0; l < rank; l++) A[i + m * j] += size * B[i + m * l] * C[l + rank * j];
        double *copy = malloc((size_t)(m * n) * sizeof *copy), U[144], Vt[144], sigma[12];
        double *work = malloc((size_t)kd_svd_work(m, n) * sizeof *work);
        memcpy(copy, A, (size_t)(m * n) * sizeof *copy);
        assert_int_equal(kd_svd(m, n, copy, U, sigma, Vt, work), 0);
        for (int i = 1; i < k; i++) assert_true(sigma[i] <= sigma[i - 1]);
        for (int i = rank; i < k; i++) assert_true(sigma[i] <= 1e-13 * (size + sigma[0]));
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int l = 0; l < k; l++) sum += U[i + m * l] * sigma[l] * Vt[l + n * j];
                assert_true(fabs(sum - A[i + m * j]) <= 1e-13 * (1e-300 + sigma[0]));
            }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) assert_true(fabs(kd_dot(m, U + m * i, U + m * j) - (i == j)) < 1e-13);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) assert_true(fabs(kd_dot(n, Vt + n * i, Vt + n * j) - (i == j)) < 1e-13);
        // the values alone
        double alone[12];
        memcpy(copy, A, (size_t)(m * n) * sizeof *copy);
        assert_int_equal(kd_svd(m, n, copy, NULL, alone, NULL, work), 0);
        for (int i = 0; i < k; i++) assert_true(fabs(alone[i] - sigma[i]) <= 1e-13 * sigma[0]);
        free(A), free(B), free(C), free(copy), free(work);
    }
}

// A v = lambda v for every pair; the sum of all values is the trace
static void eigenvalues(void **state)
{
    (void)state;
    seed = test_seed(2);
    for (int trial = 0; trial < 300; trial++) {
        const int n = 1 + random_int(9);
        double   *A = random_matrix(n, n), copy[81], V[81], re[9], im[9], trace = 0, sum = 0;
        double   *work = malloc((size_t)kd_eigen_work(n) * sizeof *work);
        if (trial % 5 == 0) // triangular, double values
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++) A[i + n * j] = i > j ? 0 : i == j ? 1 + i / 2 : A[i + n * j];
        memcpy(copy, A, (size_t)(n * n) * sizeof *copy);
        assert_int_equal(kd_eigen(n, copy, re, im, V, work), 0);
        for (int k = 0; k < n; k++) trace += A[k + n * k], sum += re[k];
        assert_true(fabs(trace - sum) < 1e-11);
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++) {
                // real: A v = re v; pair: A (x + i y) = (re + i im) (x + i y)
                double left = 0;
                for (int j = 0; j < n; j++) left += A[i + n * j] * V[j + n * k];
                double right = re[k] * V[i + n * k];
                if (im[k] > 0) right -= im[k] * V[i + n * (k + 1)];
                if (im[k] < 0) right += -im[k] * V[i + n * (k - 1)];
                assert_true(fabs(left - right) < (trial % 5 == 0 ? 1e-6 : 1e-9));
            }
        free(A), free(work);
    }
}

// A x = nu B x, x' B x = 1, values rising
static void symmetric_pencils(void **state)
{
    (void)state;
    seed = test_seed(3);
    for (int trial = 0; trial < 100; trial++) {
        const int n = 1 + random_int(20);
        double   *R = random_matrix(n, n), *S = random_matrix(n, n), A[400] = {0}, B[400] = {0}, X[400], L[400], nu[20];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                A[i + n * j] = R[i + n * j] + R[j + n * i];
                B[i + n * j] = i == j;
                for (int k = 0; k < n; k++) B[i + n * j] += S[k + n * i] * S[k + n * j];
            }
        memcpy(X, A, sizeof X);
        memcpy(L, B, sizeof L);
        assert_int_equal(kd_rt_dsygv(n, X, L, nu), 0);
        for (int k = 0; k < n; k++) {
            if (k > 0) assert_true(nu[k] >= nu[k - 1]);
            double norm = 0;
            for (int i = 0; i < n; i++) {
                double ax = 0, bx = 0;
                for (int j = 0; j < n; j++) ax += A[i + n * j] * X[j + n * k], bx += B[i + n * j] * X[j + n * k];
                assert_true(fabs(ax - nu[k] * bx) < 1e-11 * n);
                norm += X[i + n * k] * bx;
            }
            assert_true(fabs(norm - 1) < 1e-12 * n);
        }
        free(R), free(S);
    }
}

// The estimate is a bound from above of 1/cond, and within a factor of the true one
static void conditions(void **state)
{
    (void)state;
    seed = test_seed(4);
    int close = 0;
    for (int trial = 0; trial < 200; trial++) {
        const int n = 2 + random_int(20);
        double   *A = random_matrix(n, n), LU[484], work[4 * 22], column[22], norm = 0, inverse = 0, rcond;
        int       pivot[22], iwork[22];
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int i = 0; i < n; i++) sum += fabs(A[i + n * j]);
            norm = fmax(norm, sum);
        }
        memcpy(LU, A, (size_t)(n * n) * sizeof *LU);
        assert_int_equal(kd_lu_factor(n, LU, pivot), 0);
        rcond = kd_lu_rcond(n, LU, pivot, norm, work, iwork);
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int i = 0; i < n; i++) column[i] = i == j;
            kd_lu_solve(n, LU, pivot, column, 1);
            for (int i = 0; i < n; i++) sum += fabs(column[i]);
            inverse = fmax(inverse, sum);
        }
        const double true_value = 1 / (norm * inverse);
        assert_true(rcond >= true_value * (1 - 1e-9) && rcond <= 10 * true_value);
        close += rcond < 1.01 * true_value;
        free(A);
    }
    assert_true(close > 150);
}

// ---- sparse ---------------------------------------------------------------------------------------------------------

typedef struct sparse {
    int            n, column[61], row[3600];
    double         value[3600];
    double complex z[3600];
} sparse;

// Random, or with a block of zeros on the diagonal as matrices of constraints have
static void random_sparse(sparse *s, bool kkt)
{
    s->n = 2 + random_int(58);
    const int split = kkt ? s->n / 2 + 1 : s->n;
    int       k = 0;
    for (int j = 0; j < s->n; j++) {
        s->column[j] = k;
        for (int i = 0; i < s->n; i++) {
            const bool diagonal = i == j && i < split, coupling = kkt && (i == j + split || j == i + split);
            const bool zero = kkt && i >= split && j >= split;
            if (zero || !(diagonal || coupling || random_number() > 0.85)) continue;
            s->row[k] = i;
            s->value[k] = random_number() * pow(10, 3 * random_number()) + (diagonal ? 1 : 0);
            s->z[k] = s->value[k] + I * random_number();
            k++;
        }
    }
    s->column[s->n] = k;
}

static void check_solution(const sparse *s, kd_sparse_lu *lu)
{
    double         b[60], x[60], most = 0;
    double complex bz[60], xz[60];
    for (int i = 0; i < s->n; i++) x[i] = b[i] = random_number(), xz[i] = bz[i] = b[i] - I * b[i] * b[i];
    kd_sparse_lu_solve(lu, x, 1);
    kd_sparse_lu_solve_complex(lu, xz, 1);
    for (int j = 0; j < s->n; j++) most = fmax(most, fmax(fabs(x[j]), cabs(xz[j])));
    for (int j = 0; j < s->n; j++)
        for (int k = s->column[j]; k < s->column[j + 1]; k++) {
            b[s->row[k]] -= s->value[k] * x[j];
            bz[s->row[k]] -= s->z[k] * xz[j];
        }
    for (int i = 0; i < s->n; i++) {
        assert_true(fabs(b[i]) < 1e-9 * (1 + 1000 * most));
        assert_true(cabs(bz[i]) < 1e-9 * (1 + 1000 * most));
    }
}

// A x = b, real and complex, also with zeros on the diagonal, with new values and after bad pivots; a singular one is refused
static void sparse_systems(void **state)
{
    (void)state;
    seed = test_seed(5);
    int solved = 0;
    for (int trial = 0; trial < 300; trial++) {
        static sparse s;
        kd_sparse_lu *lu;
        random_sparse(&s, trial % 2 == 1);
        assert_int_equal(kd_sparse_lu_create(s.n, s.column, s.row, &lu), KD_OK);
        for (int round = 0; round < 3; round++) {
            if (round > 0) // other values, some of them zero: pivots of before may be bad
                for (int k = 0; k < s.column[s.n]; k++) {
                    s.value[k] = round == 2 && random_int(10) == 0 ? 0 : s.value[k] * (1 + random_number());
                    s.z[k] = s.value[k] + I * random_number();
                }
            if (kd_sparse_lu_factor(lu, s.value) == KD_OK && kd_sparse_lu_factor_complex(lu, s.z) == KD_OK &&
                kd_sparse_lu_rcond(lu) > 1e-10) {
                check_solution(&s, lu);
                solved++;
            }
        }
        for (int k = s.column[0]; k < s.column[1]; k++) s.value[k] = 0;
        assert_int_equal(kd_sparse_lu_factor(lu, s.value), KD_ERR_DECOMPOSITION);
        kd_sparse_lu_destroy(lu);
    }
    assert_true(solved > 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_values), cmocka_unit_test(eigenvalues),    cmocka_unit_test(symmetric_pencils),
        cmocka_unit_test(conditions),      cmocka_unit_test(sparse_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
