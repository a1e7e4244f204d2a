// elimination_kernels.h: the loops over numbers of elimination.c, compiled twice on x86-64: as they are (variant base)
// and, in elimination_avx2.c, for processors with AVX2 and FMA.
#ifndef KD_MATH_ELIMINATION_KERNELS_H
#define KD_MATH_ELIMINATION_KERNELS_H

#include <stdbool.h>

#define KD_ELIMINATION_LANES 4 // numbers per vector

typedef struct kd_front {
    int first, pivots, order; // places first .. first + pivots - 1; order = pivots + border
    int above;                // front that takes the border; -1: none
    int start, ld,
        stride;  // number (i, j) lives at start + (i ld + j) stride; the right-hand side behind the last column
    int *place;  // (order) places of its unknowns
    int *target; // (border x (border + 1)) where the border's numbers go in the front above
    // where both have their numbers in a row: columns of the border, with the right-hand side, that stand in a row there, too
    int nruns;
    struct kd_front_run {
        int from, to, n; // columns here and above
    } * run;
    int *row;         // (border) where each row begins above
    bool sees_marked; // a right-hand side of marked unknowns alone is not zero here
} kd_front;

// Fronts that are eliminated together: one, whose rows are padded to whole vectors, or as many of the same shape as a
// vector has numbers, none of which waits for another: their numbers at (i, j) are one vector (stride KD_ELIMINATION_LANES).
typedef struct kd_batch {
    const kd_front *front[KD_ELIMINATION_LANES]; // [1] NULL: one
    bool            together;                    // their borders go to the same places
    bool            sees_marked;                 // one of them does
} kd_batch;

// The loops over numbers, in variants for processors. values: of all fronts; inverse, x: of all places.
typedef struct kd_elimination_kernels {
    void (*eliminate)(const kd_batch *b, double *restrict values, double *restrict inverse);
    void (*lower)(const kd_batch *b, const double *restrict values, double *restrict x, double *restrict work);
    void (*upper)(const kd_batch *b, const double *restrict values, const double *restrict inverse, double *restrict x,
                  double *restrict work);
    void (*give)(const kd_front *f, double *restrict values); // the border to the front above, run by run
} kd_elimination_kernels;

extern const kd_elimination_kernels kd_elimination_base, kd_elimination_avx2;

#ifdef KD_VARIANT

typedef double lanes __attribute__((vector_size(8 * KD_ELIMINATION_LANES), aligned(8), may_alias));

// macros, because functions that return vectors have another calling convention on every processor
#define LOAD(x) (*(const lanes *)(x))
#define ALL(x) ((lanes){x, x, x, x})
#define EACH(b, value) ((lanes){value((b)->front[0]), value((b)->front[1]), value((b)->front[2]), value((b)->front[3])})

// ---- one front ------------------------------------------------------------------------------------------------------

// Rows i >= k + 2 of a front: y -= l a + m b with the rows a and b of the pivots k, k + 1. n vectors behind these, which stay in
// registers where the compiler knows n
__attribute__((always_inline)) static inline void subtract_pair(const kd_front *f, double *F, int k, double ra,
                                                                double rb, const int n, const bool fixed)
{
    const double *restrict a = F + k * f->ld, *restrict b = a + f->ld;
    lanes as[4], bs[4];
    for (int j = 0; fixed && j < n; j++) as[j] = LOAD(a + k + 2 + KD_ELIMINATION_LANES * j);
    for (int j = 0; fixed && j < n; j++) bs[j] = LOAD(b + k + 2 + KD_ELIMINATION_LANES * j);
    for (int i = k + 2; i < f->order; i++) {
        double *restrict y = F + i * f->ld;
        const double l = y[k] * ra, m = (y[k + 1] - l * a[k + 1]) * rb;
        const lanes  ls = ALL(l), ms = ALL(m);
        y[k] = l;
        y[k + 1] = m;
        y += k + 2;
        for (int j = 0; fixed && j < n; j++, y += KD_ELIMINATION_LANES) *(lanes *)y = LOAD(y) - ls * as[j] - ms * bs[j];
        for (int j = 0; !fixed && j < n; j++, y += KD_ELIMINATION_LANES)
            *(lanes *)y = LOAD(y) - ls * LOAD(a + k + 2 + KD_ELIMINATION_LANES * j) -
                          ms * LOAD(b + k + 2 + KD_ELIMINATION_LANES * j);
    }
}

// The first columns of F (row-major) are eliminated. Row i: l = F_ik / F_kk, F_ij -= l F_kj for j > k up to the
// right-hand side, two pivots at a time; reading and writing goes on into the padding.
static inline void eliminate_one(const kd_front *f, double *restrict F, double *restrict inverse)
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
        // all rows below
        const int n = (columns - k - 2 + KD_ELIMINATION_LANES - 1) / KD_ELIMINATION_LANES;
        if (n == 1)
            subtract_pair(f, F, k, ra, rb, 1, true);
        else if (n == 2)
            subtract_pair(f, F, k, ra, rb, 2, true);
        else if (n == 3)
            subtract_pair(f, F, k, ra, rb, 3, true);
        else if (n == 4)
            subtract_pair(f, F, k, ra, rb, 4, true);
        else
            subtract_pair(f, F, k, ra, rb, n, false);
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

// Four numbers of x at places; behind the last one zeros
#define GATHER(x, place, left)                                                                                         \
    ((lanes){(x)[(place)[0]], (left) > 1 ? (x)[(place)[1]] : 0.0, (left) > 2 ? (x)[(place)[2]] : 0.0,                  \
             (left) > 3 ? (x)[(place)[3]] : 0.0})
#define SUM(a) (((a)[0] + (a)[1]) + ((a)[2] + (a)[3]))

// x = inv(L) x. What was found last stays in a register: who reads it back from memory waits.
static inline void lower_one(const kd_front *f, const double *restrict F, double *restrict x, double *restrict work)
{
    const int w = f->pivots, border = f->order - w;
    double   *y = x + f->first, last = y[0];
    for (int i = 1; i < w; i++) {
        // pivots: x_i -= sum_j L_ij x_j
        const double *row = F + i * f->ld;
        double        sum = y[i];
        for (int j = 0; j < i - 1; j++) sum -= row[j] * y[j];
        last = y[i] = sum - row[i - 1] * last;
    }
    // border: x -= L x of the pivots, four pivots at a time
    lanes *sums = (lanes *)work;
    for (int j = 0; j < w; j += KD_ELIMINATION_LANES) {
        const int     left = w - j;
        const lanes   v = {y[j], left > 1 ? y[j + 1] : 0.0, left > 2 ? y[j + 2] : 0.0, left > 3 ? y[j + 3] : 0.0};
        const double *row = F + w * f->ld + j;
        for (int i = 0; i < border; i++, row += f->ld) sums[i] = j == 0 ? LOAD(row) * v : sums[i] + LOAD(row) * v;
    }
    for (int i = 0; i < border; i++) x[f->place[w + i]] -= SUM(sums[i]);
}

// x = inv(U) x: first the border's part of all rows, which does not wait for anything.
static inline void upper_one(const kd_front *f, const double *restrict F, const double *restrict inverse,
                             double *restrict x, double *restrict work)
{
    const int w = f->pivots, border = f->order - w;
    double   *y = x + f->first;
    // x -= U x of the border, four of its unknowns at a time
    lanes *sums = (lanes *)work;
    for (int j = 0; j < border; j += KD_ELIMINATION_LANES) {
        const lanes   v = GATHER(x, f->place + w + j, border - j);
        const double *row = F + w + j;
        for (int i = 0; i < w; i++, row += f->ld) sums[i] = j == 0 ? LOAD(row) * v : sums[i] + LOAD(row) * v;
    }
    for (int i = 0; i < w && border > 0; i++) y[i] -= SUM(sums[i]);
    // U x = rest, backwards
    double last = y[w - 1] = y[w - 1] * inverse[w - 1];
    for (int i = w - 2; i >= 0; i--) {
        const double *row = F + i * f->ld;
        double        sum = y[i];
        for (int j = w - 1; j > i + 1; j--) sum -= row[j] * y[j];
        last = y[i] = sum * inverse[i] - row[i + 1] * inverse[i] * last;
    }
}

// ---- fronts side by side --------------------------------------------------------------------------------------------
// The loops of above, every number a vector.

#define AT_PIVOT(front) x[(front)->first + i]
#define AT_PLACE(front) x[(front)->place[j]]
#define INVERSE(front) inverse[(front)->first + i]

// b -= l a over n vectors
static inline void subtract(int n, const lanes *l, const lanes *restrict a, lanes *restrict b)
{
    for (int j = 0; j < n; j++) b[j] -= *l * a[j];
}

static inline void keep_inverse(const kd_batch *b, int k, const lanes *value, double *inverse)
{
    for (int i = 0; i < KD_ELIMINATION_LANES; i++) inverse[b->front[i]->first + k] = (*value)[i];
}

static inline void eliminate_side_by_side(const kd_batch *batch, double *restrict values, double *restrict inverse)
{
    const kd_front *f = batch->front[0];
    const int       rows = f->order, columns = f->order + 1, w = f->pivots;
    lanes          *F = (lanes *)(values + f->start);
    int             k = 0;
    for (; k + 2 <= w; k += 2) {
        // second row of the pair: b -= (b_k / a_k) a
        const lanes *a = F + k * columns;
        lanes       *b = F + (k + 1) * columns;
        const lanes  ra = ALL(1.0) / a[k], lb = b[k] * ra;
        b[k] = lb;
        subtract(columns - k - 1, &lb, a + k + 1, b + k + 1);
        const lanes rb = ALL(1.0) / b[k + 1];
        keep_inverse(batch, k, &ra, inverse);
        keep_inverse(batch, k + 1, &rb, inverse);
        for (int i = k + 2; i < rows; i++) {
            // all rows below: y -= l a + m b
            lanes      *y = F + i * columns;
            const lanes l = y[k] * ra, m = (y[k + 1] - l * a[k + 1]) * rb;
            y[k] = l;
            y[k + 1] = m;
#pragma GCC unroll 4
            for (int j = k + 2; j < columns; j++) y[j] = y[j] - l * a[j] - m * b[j];
        }
    }
    // the last pivot alone
    if (k == w) return;
    const lanes *a = F + k * columns;
    const lanes  ra = ALL(1.0) / a[k];
    keep_inverse(batch, k, &ra, inverse);
    for (int i = k + 1; i < rows; i++) {
        lanes *y = F + i * columns;
        y[k] *= ra;
        subtract(columns - k - 1, &y[k], a + k + 1, y + k + 1);
    }
}

// x = inv(L) x; fronts may share unknowns of their borders
static inline void lower_side_by_side(const kd_batch *batch, const double *restrict values, double *restrict x,
                                      double *restrict work)
{
    const kd_front *f = batch->front[0];
    const int       w = f->pivots, columns = f->order + 1;
    const lanes    *F = (const lanes *)(values + f->start);
    lanes          *y = (lanes *)work;
    lanes           last = ALL(0.0);
    for (int i = 0; i < w; i++) {
        // pivots: x_i -= sum_j L_ij x_j; the last one is still at hand
        lanes sum = EACH(batch, AT_PIVOT);
#pragma GCC unroll 4
        for (int j = 0; j < i - 1; j++) sum -= F[i * columns + j] * y[j];
        if (i > 0) sum -= F[i * columns + i - 1] * last;
        y[i] = last = sum;
        for (int l = 0; l < KD_ELIMINATION_LANES; l++) AT_PIVOT(batch->front[l]) = sum[l];
    }
    for (int i = w; i < f->order; i++) {
        // border: x -= L x of the pivots
        lanes sum = ALL(0.0);
#pragma GCC unroll 4
        for (int j = 0; j < w; j++) sum += F[i * columns + j] * y[j];
        for (int l = 0; l < KD_ELIMINATION_LANES; l++) x[batch->front[l]->place[i]] -= sum[l];
    }
}

// x = inv(U) x, backwards
static inline void upper_side_by_side(const kd_batch *batch, const double *restrict values,
                                      const double *restrict inverse, double *restrict x, double *restrict work)
{
    const kd_front *f = batch->front[0];
    const int       w = f->pivots, order = f->order, columns = order + 1;
    const lanes    *F = (const lanes *)(values + f->start);
    lanes          *y = (lanes *)work;
    for (int j = w; j < order; j++) y[j] = EACH(batch, AT_PLACE);
    lanes last = ALL(0.0);
    for (int i = w - 1; i >= 0; i--) {
        // x_i = (x_i - sum_j U_ij x_j) / U_ii; the last one is still at hand
        // two sums, as each waits for its number before
        const lanes *row = F + i * columns, scale = EACH(batch, INVERSE);
        const int    own = i < w - 1 ? i + 1 : i; // the last one: behind this
        lanes        sum = EACH(batch, AT_PIVOT), rest = ALL(0.0);
        int          j = order - 1;
#pragma GCC unroll 4
        for (; j > own + 1; j -= 2) {
            rest -= row[j] * y[j];
            sum -= row[j - 1] * y[j - 1];
        }
        if (j > own) rest -= row[j] * y[j];
        sum += rest;
        last = own > i ? sum * scale - row[own] * scale * last : sum * scale;
        y[i] = last;
        for (int l = 0; l < KD_ELIMINATION_LANES; l++) AT_PIVOT(batch->front[l]) = last[l];
    }
}

// ---- either ---------------------------------------------------------------------------------------------------------
static void eliminate(const kd_batch *b, double *restrict values, double *restrict inverse)
{
    const kd_front *f = b->front[0];
    if (b->front[1])
        eliminate_side_by_side(b, values, inverse);
    else
        eliminate_one(f, values + f->start, inverse + f->first);
}

static void lower(const kd_batch *b, const double *restrict values, double *restrict x, double *restrict work)
{
    const kd_front *f = b->front[0];
    if (b->front[1])
        lower_side_by_side(b, values, x, work);
    else
        lower_one(f, values + f->start, x, work);
}

static void upper(const kd_batch *b, const double *restrict values, const double *restrict inverse, double *restrict x,
                  double *restrict work)
{
    const kd_front *f = b->front[0];
    if (b->front[1])
        upper_side_by_side(b, values, inverse, x, work);
    else
        upper_one(f, values + f->start, inverse + f->first, x, work);
}

// The last run ends with the right-hand side: whole vectors, which add zeros of the padding to padding
static void give(const kd_front *f, double *restrict values)
{
    const int last = f->nruns - 1;
    for (int i = 0; i < f->order - f->pivots; i++) {
        const double *restrict from = values + f->start + (f->pivots + i) * f->ld;
        double *restrict to = values + f->row[i];
        for (int r = 0; r < last; r++)
            for (int k = 0; k < f->run[r].n; k++) to[f->run[r].to + k] += from[f->run[r].from + k];
        from += f->run[last].from;
        to += f->run[last].to;
        for (int k = 0; k < f->run[last].n; k += KD_ELIMINATION_LANES) *(lanes *)(to + k) += LOAD(from + k);
    }
}

const kd_elimination_kernels KD_VARIANT = {eliminate, lower, upper, give};

#endif
#endif
