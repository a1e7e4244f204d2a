// kkt_few.c: the part of kkt.c that belongs to the constraints, for few rows: the number of rows is known to the
// compiler, all loops over rows are unrolled, and C inv(M) C' does not leave the registers until it is factored. For
// systems of this size loops cost more than their arithmetic.
#include "math/kernel.h"
#include "point/kkt_impl.h"

enum { PAIRS = (KD_KKT_FEW + 1) / 2 };

KD_KKT_INLINE double entry(const kd_two *x, int i)
{
    return x[i / 2][i % 2];
}

// column i of C = [GZ; HZ], an odd last row with a zero below
KD_KKT_INLINE void load_column(const int m, int nlambda, const double *GZ, int nmu, const double *HZ, int i, kd_two *c)
{
    const double *g = GZ + i * nlambda, *h = HZ + i * nmu;
    for (int j = 0; j < m; j += 2) {
        if (nmu == 0)
            c[j / 2] = j + 1 < m ? kd_two_load(g + j) : (kd_two){g[j], 0};
        else
            c[j / 2] = (kd_two){j < nlambda ? g[j] : h[j - nlambda], j + 1 >= m        ? 0
                                                                     : j + 1 < nlambda ? g[j + 1]
                                                                                       : h[j + 1 - nlambda]};
    }
}

// S = R E R', S by columns of its lower triangle
KD_KKT_INLINE bool eliminate(const int m, double least, kd_two S[][PAIRS], kd_kkt_factors *out)
{
    double diagonal[KD_KKT_FEW];
#pragma GCC unroll 8
    for (int k = 0; k < m; k++) diagonal[k] = entry(S[k], k);
#pragma GCC unroll 8
    for (int k = 0; k < m; k++) {
        const double pivot = entry(S[k], k), inverse = 1 / pivot;
        if (!(pivot > least * diagonal[k])) return false;
        out->inverse[k] = inverse;
#pragma GCC unroll 8
        for (int j = k + 1; j < m; j++) {
            const double l = -entry(S[k], j) * inverse;
            out->rows[k + j * m] = l;
#pragma GCC unroll 8
            for (int i = j / 2; i < (m + 1) / 2; i++) S[j][i] += kd_two_both(l) * S[k][i];
        }
    }
    return true;
}

KD_KKT_INLINE bool factor(const int m, kd_kkt *self, double least, int nlambda, const double *GZ, int nmu,
                          const double *HZ)
{
    const kd_kkt_factors *M = &self->mass;
    const int             n = (m + 1) / 2, ld = 2 * n, nv = self->nv;
    kd_two                S[KD_KKT_FEW][PAIRS];
#pragma GCC unroll 8
    for (int j = 0; j < m; j++)
#pragma GCC unroll 8
        for (int i = 0; i < n; i++) S[j][i] = kd_two_both(0);
    for (int i = 0; i < nv; i++) {
        const double *row = M->rows + i * nv;
        kd_two        w[PAIRS], v[PAIRS];
        // w = column of C inv(L'), v = w inv(D)
        load_column(m, nlambda, GZ, nmu, HZ, i, w);
        for (int k = M->first[i]; k < i; k++)
            for (int j = 0; j < n; j++) w[j] += kd_two_both(row[k]) * kd_two_load(self->W + k * ld + 2 * j);
        for (int j = 0; j < n; j++) {
            v[j] = kd_two_both(M->inverse[i]) * w[j];
            kd_two_store(self->W + i * ld + 2 * j, w[j]);
            kd_two_store(self->V + i * ld + 2 * j, v[j]);
        }
#pragma GCC unroll 8
        for (int j = 0; j < m; j++)
#pragma GCC unroll 8
            for (int k = j / 2; k < n; k++) S[j][k] += kd_two_both(entry(v, j)) * w[k];
    }
    return eliminate(m, least, S, &self->schur);
}

bool kd_kkt_few_factor(kd_kkt *self, double least, int nlambda, const double *GZ, int nmu, const double *HZ)
{
    bool safe = false;
    KD_KKT_FOR_FEW(self->nrows, safe = factor, self, least, nlambda, GZ, nmu, HZ);
    return safe;
}

// x = inv(R E R') x
KD_KKT_INLINE void solve_schur(const int m, const kd_kkt_factors *self, double *x)
{
    for (int k = 1; k < m; k++)
        for (int j = 0; j < k; j++) x[k] += self->rows[j + k * m] * x[j];
    for (int k = 0; k < m; k++) x[k] *= self->inverse[k];
    for (int k = m - 1; k > 0; k--)
        for (int j = 0; j < k; j++) x[j] += self->rows[j + k * m] * x[k];
}

KD_KKT_INLINE void solve(const int m, const kd_kkt *self, double *b)
{
    const int     n = (m + 1) / 2, nv = self->nv;
    const double *v = self->V, *c = b + nv;
    double        x[KD_KKT_FEW + 1] = {0};
    kd_two        y[PAIRS];
    // V'z - c, two rows at a time
    for (int j = 0; j < n; j++) y[j] = (kd_two){-c[2 * j], 2 * j + 1 < m ? -c[2 * j + 1] : 0};
    for (int i = 0; i < nv; i++, v += 2 * n)
        for (int j = 0; j < n; j++) y[j] += kd_two_both(b[i]) * kd_two_load(v + 2 * j);
    // lambda by the factors of the Schur complement
    for (int j = 0; j < m; j++) x[j] = entry(y, j);
    solve_schur(m, &self->schur, x);
    for (int j = 0; j < m; j++) b[nv + j] = x[j];
    for (int j = 0; j < n; j++) y[j] = (kd_two){x[2 * j], x[2 * j + 1]};
    // the scaled z less the part of lambda, two rows at a time
    v = self->V;
    for (int i = 0; i < nv; i++, v += 2 * n) {
        kd_two sum = y[0] * kd_two_load(v);
        for (int j = 1; j < n; j++) sum += y[j] * kd_two_load(v + 2 * j);
        b[i] = b[i] * self->mass.inverse[i] - (sum[0] + sum[1]);
    }
}

void kd_kkt_few_solve(const kd_kkt *self, double *b)
{
    KD_KKT_FOR_FEW(self->nrows, solve, self, b);
}
