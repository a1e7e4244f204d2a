// elimination_kernels.h: the loops over numbers of elimination.c, compiled twice on x86-64: as they are (variant base)
// and, in elimination_avx2.c, for processors with AVX2 and FMA.
#ifndef KD_MATH_ELIMINATION_KERNELS_H
#define KD_MATH_ELIMINATION_KERNELS_H

#define KD_ELIMINATION_LANES 4 // numbers per vector

typedef struct kd_front {
    int  first, pivots, order; // places first .. first + pivots - 1; order = pivots + border
    int  above;                // front that takes the border; -1: none
    int  row, ld;              // numbers between rows: a right-hand side behind the last column, then padding
    int *place;                // (order) places of its unknowns
    int *target;               // (border x (border + 1)) where the border's numbers go in the front above
} kd_front;

// The loops over numbers, in variants for processors.
typedef struct kd_elimination_kernels {
    void (*eliminate)(const kd_front *f, double *restrict F, double *restrict inverse);
    void (*lower)(const kd_front *f, const double *restrict F, double *restrict x, double *restrict work);
    void (*upper)(const kd_front *f, const double *restrict F, const double *restrict inverse, double *restrict x,
                  double *restrict work);
} kd_elimination_kernels;

extern const kd_elimination_kernels kd_elimination_base, kd_elimination_avx2;

#ifdef KD_VARIANT

typedef double lanes __attribute__((vector_size(8 * KD_ELIMINATION_LANES), aligned(8), may_alias));

// macros, because functions that return vectors have another calling convention on every processor
#define LOAD(x) (*(const lanes *)(x))
#define ALL(x) ((lanes){x, x, x, x})

// The first columns of F (row-major) are eliminated. Row i: l = F_ik / F_kk, F_ij -= l F_kj for j > k up to the
// right-hand side, two pivots at a time; reading and writing goes on into the padding.
static inline void eliminate(const kd_front *f, double *restrict F, double *restrict inverse)
{
    const int rows = f->order, columns = f->order + 1, w = f->pivots, ld = f->ld;
    int       k = 0;
    for (; k + 2 <= w; k += 2) {
        // second row of the pair: b -= (b_k / a_k) a
        const double *a = F + k * ld;
        double       *b = F + (k + 1) * ld;
        const double  ra = inverse[k] = 1.0 / a[k], lb = b[k] *= ra;
        const lanes   lbs = ALL(lb);
        b[k + 1] -= lb * a[k + 1];
        for (int j = k + 2; j < columns; j += KD_ELIMINATION_LANES) *(lanes *)(b + j) -= lbs * LOAD(a + j);
        const double rb = inverse[k + 1] = 1.0 / b[k + 1];
        for (int i = k + 2; i < rows; i++) {
            // all rows below: y -= l a + m b
            double      *y = F + i * ld;
            const double l = y[k] * ra, m = (y[k + 1] - l * a[k + 1]) * rb;
            const lanes  ls = ALL(l), ms = ALL(m);
            y[k] = l;
            y[k + 1] = m;
            for (int j = k + 2; j < columns; j += KD_ELIMINATION_LANES)
                *(lanes *)(y + j) = LOAD(y + j) - ls * LOAD(a + j) - ms * LOAD(b + j);
        }
    }
    // the last pivot alone
    if (k == w) return;
    const double *a = F + k * ld;
    const double  ra = inverse[k] = 1.0 / a[k];
    for (int i = k + 1; i < rows; i++) {
        double      *y = F + i * ld;
        const double l = y[k] *= ra;
        const lanes  ls = ALL(l);
        for (int j = k + 1; j < columns; j += KD_ELIMINATION_LANES) *(lanes *)(y + j) -= ls * LOAD(a + j);
    }
}

// Sum of products; n is rounded up to whole vectors, where one of the factors must be zero.
static inline double dot(int n, const double *x, const double *y)
{
    lanes sum = ALL(0.0);
    for (int j = 0; j < n; j += KD_ELIMINATION_LANES) sum += LOAD(x + j) * LOAD(y + j);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// x = inv(L) x. Pivots one number at a time: a vector that contains a number just written has to wait for it.
static inline void lower(const kd_front *f, const double *restrict F, double *restrict x, double *restrict work)
{
    const int w = f->pivots;
    for (int i = 0; i < w; i++) {
        // pivots: x_i -= sum_j L_ij x_j
        const double *row = F + i * f->ld;
        double        sum = x[f->first + i];
        for (int j = 0; j < i; j++) sum -= row[j] * work[j];
        work[i] = x[f->first + i] = sum;
    }
    // border: x -= L x of the pivots
    for (int j = w; j < w + KD_ELIMINATION_LANES; j++) work[j] = 0.0;
    for (int i = w; i < f->order; i++) x[f->place[i]] -= dot(w, F + i * f->ld, work);
}

// x = inv(U) x: first the border's part of all rows, which does not wait for anything.
static inline void upper(const kd_front *f, const double *restrict F, const double *restrict inverse,
                         double *restrict x, double *restrict work)
{
    const int w = f->pivots, border = f->order - w;
    double   *y = x + f->first;
    // x -= U x of the border
    for (int j = 0; j < border; j++) work[j] = x[f->place[w + j]];
    for (int j = border; j < border + KD_ELIMINATION_LANES; j++) work[j] = 0.0;
    for (int i = 0; i < w && border > 0; i++) y[i] -= dot(border, F + i * f->ld + w, work);
    // U x = rest, backwards
    for (int i = w - 1; i >= 0; i--) {
        const double *row = F + i * f->ld;
        double        sum = y[i];
        for (int j = w - 1; j > i; j--) sum -= row[j] * y[j];
        y[i] = sum * inverse[i];
    }
}

const kd_elimination_kernels KD_VARIANT = {eliminate, lower, upper};

#endif
#endif
