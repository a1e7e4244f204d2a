// kkt.c: [M C'; C 0] [a; lambda] = [f; c] with definite M, for small dense systems:
//
//     M = L D L',  W = inv(L) C',  V = inv(D) W,  S = W' V = R E R'
//     z = inv(L) f,  lambda = inv(S) (V' z - c),  a = inv(L') (inv(D) z - V lambda)
//
// Half the operations of an LU of the whole, without a search for pivots and without scaling: Cholesky's method does
// not depend on the scales of rows. What it cannot do safely is left to the LU: pivots that cancel. Without roots each
// pivot costs one division. Masses of different bodies often do not meet: rows of L begin where those of M do.
//
// Not math/cholesky.c: that one is for any matrix and takes roots, begins every row in the first column, knows a pivot that
// is not positive, but none that has cancelled, and gives W and V no form that products of pairs can use.
#include "point/kkt.h"
#include "math/kernel.h"
#include "point/kkt_impl.h"
#include <string.h>

#define DEFINITE 1e-12   // smallest part that is left of a diagonal entry of M
#define INDEPENDENT 1e-8 // ... of C inv(M) C': squares of sines of angles between rows

void kd_kkt_factors_cut(kd_kkt_factors *self, kd_arena *arena, int n)
{
    self->n = n;
    self->LD = kd_cut_matrix(arena, n, n);
    self->rows = kd_cut_matrix(arena, n, n);
    self->inverse = kd_cut_double(arena, n);
    self->first = kd_cut_int(arena, n);
}

void kd_kkt_cut(kd_kkt *self, kd_arena *arena, int nv, int nrows)
{
    self->nv = nv;
    self->nrows = nrows;
    kd_kkt_factors_cut(&self->mass, arena, nv);
    kd_kkt_factors_cut(&self->schur, arena, nrows);
    self->W = kd_cut_matrix(arena, nrows + nrows % 2, nv);
    self->V = kd_cut_matrix(arena, nrows + nrows % 2, nv);
}

// ---- kernel ---------------------------------------------------------------------------------------------------------

// y = x + sum_k l_k x_k over count columns x_k, ld apart; factors l_k stride apart
typedef struct columns {
    int           count, stride, ld;
    const double *l, *X;
} columns;

// m <= 8 rows, m known to the compiler: the sums stay in registers. x NULL: zero
static inline void add_rows(const int m, const columns *c, int from, const double *x, double *y)
{
    const double *X = c->X + from, *l = c->l;
    kd_two        sum[4];
    double        last = m % 2 && x ? x[from + m - 1] : 0;
    for (int i = 0; i < m / 2; i++) sum[i] = x ? kd_two_load(x + from + 2 * i) : kd_two_both(0);
    for (int k = c->count; k > 0; k--, X += c->ld, l += c->stride) {
        const kd_two both = kd_two_both(*l);
        for (int i = 0; i < m / 2; i++) sum[i] += both * kd_two_load(X + 2 * i);
        if (m % 2) last += *l * X[m - 1];
    }
    for (int i = 0; i < m / 2; i++) kd_two_store(y + from + 2 * i, sum[i]);
    if (m % 2) y[from + m - 1] = last;
}

// m rows. All factors below are made of it. A pair must be loaded as it was stored, or the load waits: callers begin at
// even rows.
static inline void add(int m, const columns *c, const double *x, double *y)
{
    int i = 0;
    for (; m - i > 8; i += 8) add_rows(8, c, i, x, y);
    switch (m - i) {
    case 1:
        add_rows(1, c, i, x, y);
        break;
    case 2:
        add_rows(2, c, i, x, y);
        break;
    case 3:
        add_rows(3, c, i, x, y);
        break;
    case 4:
        add_rows(4, c, i, x, y);
        break;
    case 5:
        add_rows(5, c, i, x, y);
        break;
    case 6:
        add_rows(6, c, i, x, y);
        break;
    case 7:
        add_rows(7, c, i, x, y);
        break;
    default:
        add_rows(8, c, i, x, y);
    }
}

// y = factor x
static inline void scale(int m, double factor, const double *x, double *y)
{
    const kd_two both = kd_two_both(factor);
    int          i = 0;
    for (; i + 2 <= m; i += 2) kd_two_store(y + i, both * kd_two_load(x + i));
    if (i < m) y[i] = factor * x[i];
}

// ---- factors --------------------------------------------------------------------------------------------------------

// In place of the lower triangle; first is known. false: a pivot below least times the entry that it was
static bool factor(kd_kkt_factors *self, double least)
{
    const int n = self->n;
    double   *A = self->LD;
    for (int k = 0; k < n; k++) {
        const int first = self->first[k], even = k & ~1;
        double   *row = self->rows + k * n, *pivot = A + k + k * n, entry = *pivot;
        for (int j = first; j < k; j++) row[j] = -A[k + j * n] * self->inverse[j];
        if (first < k)
            add(n - even, &(columns){k - first, 1, n, row + first, A + even + first * n}, A + even + k * n,
                A + even + k * n);
        if (!(*pivot > least * entry)) return false;
        self->inverse[k] = 1 / *pivot;
    }
    return true;
}

// M, and where its rows begin
static void take_mass(kd_kkt_factors *self, const double *M)
{
    const int n = self->n;
    memcpy(self->LD, M, (size_t)n * (size_t)n * sizeof *M);
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < k && M[k + i * n] == 0) i++;
        self->first[k] = i;
    }
}

bool kd_kkt_mass_factor(kd_kkt_factors *self, const double *M)
{
    take_mass(self, M);
    return factor(self, DEFINITE);
}

// W' = C inv(L'), column by column: w_i = c_i - sum_k<i l_ik w_k; V
static void reduce_rows(kd_kkt *self, int nlambda, const double *GZ, int nmu, const double *HZ)
{
    const kd_kkt_factors *M = &self->mass;
    const int             nv = self->nv, m = self->nrows;
    for (int i = 0; i < nv; i++) {
        const int first = M->first[i];
        double   *w = self->W + i * m;
        memcpy(w, GZ + i * nlambda, (size_t)nlambda * sizeof *w);
        for (int j = 0; j < nmu; j++) w[nlambda + j] = HZ[j + i * nmu];
        if (first < i) add(m, &(columns){i - first, 1, m, M->rows + first + i * nv, self->W + first * m}, w, w);
        scale(m, M->inverse[i], w, self->V + i * m);
    }
}

// lower triangle of S = W' V
static void multiply_rows(kd_kkt *self)
{
    const int nv = self->nv, m = self->nrows;
    for (int j = 0; j < m; j++) {
        const int even = j & ~1;
        add(m - even, &(columns){nv, m, m, self->V + j, self->W + even}, NULL, self->schur.LD + even + j * m);
    }
}

bool kd_kkt_factor(kd_kkt *self, const double *M, int nlambda, const double *GZ, int nmu, const double *HZ)
{
    if (!kd_kkt_mass_factor(&self->mass, M)) return false;
    if (self->nrows == 0) return true;
    if (self->nrows <= KD_KKT_FEW) return kd_kkt_few_factor(self, INDEPENDENT, nlambda, GZ, nmu, HZ);
    reduce_rows(self, nlambda, GZ, nmu, HZ);
    multiply_rows(self);
    return factor(&self->schur, INDEPENDENT);
}

// ---- solution -------------------------------------------------------------------------------------------------------

void kd_kkt_forward(const kd_kkt_factors *self, double *x)
{
    const double *row = self->rows + self->n;
    for (int k = 1; k < self->n; k++, row += self->n) {
        double sum = x[k];
        for (int j = self->first[k]; j < k; j++) sum += row[j] * x[j];
        x[k] = sum;
    }
}

void kd_kkt_backward(const kd_kkt_factors *self, double *x)
{
    const double *row = self->rows + (self->n - 1) * self->n;
    for (int k = self->n - 1; k > 0; k--, row -= self->n) {
        const double xk = x[k];
        for (int j = self->first[k]; j < k; j++) x[j] += row[j] * xk;
    }
}

// b = [z; c] <- [inv(D) z - V lambda; lambda]
static void solve_rows(const kd_kkt *self, double *b)
{
    const int     nv = self->nv, m = self->nrows;
    const double *v = self->V;
    double       *lambda = b + nv;
    for (int j = 0; j < m; j++) lambda[j] = -lambda[j];
    add(m, &(columns){nv, 1, m, b, self->V}, lambda, lambda); // V' z - c
    kd_kkt_forward(&self->schur, lambda);
    for (int j = 0; j < m; j++) lambda[j] *= self->schur.inverse[j];
    kd_kkt_backward(&self->schur, lambda);
    for (int i = 0; i < nv; i++, v += m) b[i] = b[i] * self->mass.inverse[i] - kd_kernel_dot(m, v, lambda);
}

void kd_kkt_solve(const kd_kkt *self, double *b)
{
    kd_kkt_forward(&self->mass, b);
    if (self->nrows > KD_KKT_FEW)
        solve_rows(self, b);
    else if (self->nrows > 0)
        kd_kkt_few_solve(self, b);
    else
        for (int i = 0; i < self->nv; i++) b[i] *= self->mass.inverse[i];
    kd_kkt_backward(&self->mass, b);
}
