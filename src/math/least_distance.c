// least_distance.c: min |y|^2 / 2 with w_i' y = c_i or w_i' y >= c_i, by the dual method of Goldfarb and Idnani.
//
// Start at y = 0, which solves the problem without rows. Take in a violated row w: with the rows in use W = Q R,
//
//     z = w - Q Q' w,  r = R \ Q' w,      y += t z,  u -= t r,  u_new += t
//
// keeps y = W u + u_new w. t2 = (c - w' y) / z' z meets the row; before that, at t1 = min u_k / r_k, a one-sided row in
// use would pull: it goes, and the row is tried again. Where w depends on the rows in use, z = 0 and t2 = infinity; if
// no row can go either, no y satisfies all rows. |y| grows with each row that is taken in, so that no set of rows in
// use comes back: the method ends after at most as many rows as there are sets, in practice after about one per row.
#include "math/least_distance.h"
#include "math/dense.h"
#include <math.h>
#include <string.h>

#define INDEPENDENT 1e-9 // part of a row that must be new, relative
#define VIOLATED 1e-13   // relative to |w| and the size of y
#define CONTRADICTS 1e-6 // the same of an equation that depends on others

void kd_least_distance_cut(kd_least_distance *self, kd_arena *arena, int n, int rows)
{
    self->n = n;
    self->most = rows < n ? rows : n;
    self->set = kd_cut_int(arena, self->most);
    self->Q = kd_cut_matrix(arena, n, self->most);
    self->R = kd_cut_matrix(arena, self->most, self->most);
    self->z = kd_cut_double(arena, n);
    self->along = kd_cut_double(arena, self->most);
    self->r = kd_cut_double(arena, self->most);
}

// z = w - Q Q' w, by Gram-Schmidt twice; along = Q' w. Answers |z|^2, 0 where w depends on the rows in use.
static double new_part(kd_least_distance *self, const double *w)
{
    const int n = self->n;
    double    before = kd_dot(n, w, w);
    // z -= q_k (q_k' z), twice against rounding
    memcpy(self->z, w, (size_t)n * sizeof *w);
    for (int k = 0; k < self->rank; k++) self->along[k] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < self->rank; k++) {
            const double *q = self->Q + k * n;
            double        along = kd_dot(n, q, self->z);
            kd_axpy(n, -along, q, self->z);
            self->along[k] += along;
        }
    }
    double after = kd_dot(n, self->z, self->z);
    return self->rank < self->most && after > INDEPENDENT * INDEPENDENT * before ? after : 0;
}

// The row whose new part was just computed, as the last one in use
static void take_in(kd_least_distance *self, int row, double new_square)
{
    const int k = self->rank, n = self->n;
    double    length = sqrt(new_square), *q = self->Q + k * n;
    double   *R = self->R + k * self->most;
    for (int j = 0; j < k; j++) R[j] = self->along[j];
    R[k] = length;
    for (int i = 0; i < n; i++) q[i] = self->z[i] / length;
    self->set[k] = row;
    self->rank = k + 1;
}

// Row k in use goes; those behind it are orthogonalised again. They are independent still.
static void drop_row(kd_least_distance *self, const double *W, int k)
{
    int last = self->rank;
    self->rank = k;
    for (int j = k + 1; j < last; j++) {
        int    row = self->set[j];
        double square = new_part(self, W + row * self->n);
        if (square > 0) take_in(self, row, square);
    }
}

// r = R \ Q' w
static void solve_R(kd_least_distance *self)
{
    for (int k = 0; k < self->rank; k++) self->r[k] = self->along[k];
    for (int k = self->rank - 1; k >= 0; k--) {
        const double *R = self->R + k * self->most;
        self->r[k] /= R[k];
        for (int j = 0; j < k; j++) self->r[j] -= R[j] * self->r[k];
    }
}

// Largest step that keeps the one-sided rows in use from pulling; *which: the one that then goes
static double least_step(const kd_least_distance *self, const kd_least_rows *rows, const double *u, int *which)
{
    double least = HUGE_VAL;
    for (int k = 0; k < self->rank; k++) {
        int row = self->set[k];
        if (!rows->one_sided[row] || self->r[k] <= 0) continue;
        double t = u[row] / self->r[k];
        if (t < least) {
            least = t;
            *which = k;
        }
    }
    return least;
}

static void step_along(const kd_least_distance *self, double t, int row, bool moves, double *y, double *u)
{
    for (int k = 0; k < self->rank; k++) u[self->set[k]] -= t * self->r[k];
    u[row] += t;
    if (moves) kd_axpy(self->n, t, self->z, y);
}

// By how much row i is violated
static double lacks(const kd_least_distance *self, const kd_least_rows *rows, int i, const double *y)
{
    return rows->c[i] - kd_dot(self->n, rows->W + i * self->n, y);
}

// |w_i| (scale + |y|), which a violation is compared with
static double row_size(const kd_least_distance *self, const kd_least_rows *rows, int i, const double *y)
{
    const double *w = rows->W + i * self->n;
    return sqrt(kd_dot(self->n, w, w)) * (rows->scale + sqrt(kd_dot(self->n, y, y)));
}

// false: contradicts the equations before it
static bool take_equation(kd_least_distance *self, const kd_least_rows *rows, int i, double *y, double *u,
                          int *dependent)
{
    double square = new_part(self, rows->W + i * self->n), lack = lacks(self, rows, i, y);
    // depends on those before: redundant, or contradictory
    if (square == 0) {
        ++*dependent;
        return fabs(lack) <= CONTRADICTS * row_size(self, rows, i, y);
    }
    // a full step meets it: w' (y + t z) = c
    solve_R(self);
    step_along(self, lack / square, i, true, y, u);
    take_in(self, i, square);
    return true;
}

// false: no y satisfies the rows
static bool take_one_sided(kd_least_distance *self, const kd_least_rows *rows, int i, double *y, double *u)
{
    for (;;) {
        // t2: the row is met; t1: one in use would pull
        int    which = -1;
        double square = new_part(self, rows->W + i * self->n);
        double full = square > 0 ? lacks(self, rows, i, y) / square : HUGE_VAL;
        solve_R(self);
        double first = least_step(self, rows, u, &which);
        if (full == HUGE_VAL && first == HUGE_VAL) return false;
        // the shorter step; then the row is in use, or that one goes
        bool meets = full <= first;
        step_along(self, meets ? full : first, i, square > 0, y, u);
        if (meets) {
            take_in(self, i, square);
            return true;
        }
        u[self->set[which]] = 0;
        drop_row(self, rows->W, which);
    }
}

static bool in_use(const kd_least_distance *self, int row)
{
    for (int k = 0; k < self->rank; k++)
        if (self->set[k] == row) return true;
    return false;
}

// The one-sided row that is violated most, -1: none
static int most_violated(const kd_least_distance *self, const kd_least_rows *rows, const double *y)
{
    int    found = -1;
    double most = VIOLATED;
    for (int i = 0; i < rows->count; i++) {
        if (!rows->one_sided[i] || in_use(self, i)) continue;
        double lack = lacks(self, rows, i, y), size = row_size(self, rows, i, y);
        if (lack <= most * size || lack <= 0) continue;
        if (size == 0) return i;
        most = lack / size;
        found = i;
    }
    return found;
}

kd_least_answer kd_least_distance_solve(kd_least_distance *self, const kd_least_rows *rows, double *y, double *u,
                                        int *dependent, int *worst)
{
    self->rank = 0;
    *dependent = 0;
    *worst = -1;
    // y = 0, no row in use
    memset(y, 0, (size_t)self->n * sizeof *y);
    for (int i = 0; i < rows->count; i++) u[i] = 0;
    // equations
    for (int i = 0; i < rows->count; i++) {
        if (rows->one_sided[i] || take_equation(self, rows, i, y, u, dependent)) continue;
        *worst = i;
        return KD_LEAST_CONTRADICTION;
    }
    // one-sided rows, the most violated first
    for (int turn = 0; turn < 100 + 20 * rows->count; turn++) {
        int i = most_violated(self, rows, y);
        if (i < 0) return KD_LEAST_DONE;
        *worst = i;
        if (!take_one_sided(self, rows, i, y, u)) return KD_LEAST_CONTRADICTION;
        *worst = -1;
    }
    return KD_LEAST_NO_END;
}
