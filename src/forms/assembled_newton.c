// assembled_newton.c: the Newton matrix gamma F_x' + F_x of the assembled forms, its scaling and factors.
//
// Scaling (docs/methods/assembled.md): with unknowns (gamma dp, dv, dlambda / gamma, deta) and rows (kinematic,
// dynamic / gamma, velocity level, gamma * position level) all blocks are O(1) as gamma = O(1/h) grows; unscaled the
// condition grows like h^-2, for index 3 like h^-3. Rows and columns are then brought to maximum 1, which removes the
// units of masses and multipliers. All factors are powers of 2 and add no rounding.
//
// The dense matrix of the forms whose rows are combined (psf1, SVD); the others have a sparse one (newton.c).
#include "forms/assembled_impl.h"
#include "math/dense.h"
#include <math.h>
#include <string.h>

// central differences: third root of the unit roundoff, relative to coordinates of size 1 (quaternions)
#define NORMAL_INCREMENT 6e-6

static const kd_var column_vars[] = {KD_P, KD_V, KD_A, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU};
enum { COLUMN_VARS = sizeof column_vars / sizeof *column_vars };

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void want_derivatives(kd_assembled *self, kd_fn fn)
{
    if (kd_eom_rows(self->eom, fn) == 0) return;
    for (int k = 0; k < COLUMN_VARS; k++) {
        kd_var   var = column_vars[k];
        double **block = &self->blocks.block[fn][var];
        if (*block || !kd_eom_depends(self->eom, fn, var)) continue;
        *block = kd_cut_double(&self->arena, kd_eom_rows(self->eom, fn) * kd_eom_columns(self->eom, var));
    }
}

static void want_blocks(kd_assembled *self)
{
    if (!self->position.identity) want_derivatives(self, KD_KINEMATICS);
    want_derivatives(self, KD_RESIDUAL);
    want_derivatives(self, KD_B);
    want_derivatives(self, KD_D);
    want_derivatives(self, KD_C);
    for (int k = 0; k < self->phi_rows.count; k++) want_derivatives(self, self->phi_rows.fn[k]);
    for (int k = 0; k < self->h_rows.count; k++) want_derivatives(self, self->h_rows.fn[k]);
    if (self->has_eta || self->has_selectors) want_derivatives(self, KD_G);
}

static void fill_powers(int *powers, int from, int count, int value)
{
    for (int i = from; i < from + count; i++) powers[i] = value;
}

// Powers of gamma of the unknowns; those of the rows follow when rows are brought to maximum 1.
static void set_powers(kd_assembled *self)
{
    kd_dims d = self->dims;
    int    *column = self->column_power;
    fill_powers(column, 0, d.np, -1);
    fill_powers(column, self->xv, d.nv + d.nr, 0);
    fill_powers(column, self->xw, d.nw, 1);
    fill_powers(column, self->xs, d.ns, -1);
    fill_powers(column, self->xl, self->nc, 1);
    if (self->has_eta) fill_powers(column, self->xe, d.nlambda, 0);
}

void kd_assembled_cut_newton(kd_assembled *self)
{
    kd_arena *arena = &self->arena;
    size_t    n = (size_t)self->n, nraw = (size_t)self->nraw;
    want_blocks(self);
    self->E = kd_cut_numbers(arena, n * n);
    self->K = kd_cut_numbers(arena, n * n);
    self->raw_E = self->E;
    self->raw_K = self->K;
    if (self->has_selectors || self->opt.constraints == KD_DECOMPOSE_SVD) { // rows are combined
        self->raw_E = kd_cut_numbers(arena, nraw * n);
        self->raw_K = kd_cut_numbers(arena, nraw * n);
    }
    self->A = kd_cut_numbers(arena, n * n);
    self->A_complex = kd_arena_cut(arena, n * n, sizeof *self->A_complex);
    self->column_power = kd_cut_int(arena, self->n);
    self->x_moved = kd_cut_double(arena, self->n);
    self->raw_plus = kd_cut_double(arena, self->nraw);
    self->row = kd_cut_double(arena, self->n);
    self->column = kd_cut_double(arena, self->n);
    self->y_complex = kd_arena_cut(arena, n, sizeof *self->y_complex);
    if (!arena->failed) set_powers(self);
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

static int column_of(const kd_assembled *self, kd_var var)
{
    switch (var) {
    case KD_V:
        return self->xv;
    case KD_A:
        return self->xv; // of E
    case KD_R:
        return self->xr;
    case KD_W:
        return self->xw;
    case KD_S:
        return self->xs;
    case KD_LAMBDA:
        return self->xl;
    case KD_MU:
        return self->xm;
    default:
        return 0;
    }
}

// raw rows from row on += factor * derivatives of fn
static void add_fn(kd_assembled *self, int row, kd_fn fn, double factor)
{
    int rows = kd_eom_rows(self->eom, fn), ld = self->nraw;
    for (int k = 0; k < COLUMN_VARS; k++) {
        kd_var        var = column_vars[k];
        const double *block = self->blocks.block[fn][var];
        if (!block) continue;
        double *out = (var == KD_A ? self->raw_E : self->raw_K) + row + (ptrdiff_t)column_of(self, var) * ld;
        if (var == KD_P) {
            kd_position_plain(&self->position, rows, factor, block, out, ld);
            continue;
        }
        for (int j = 0; j < kd_eom_columns(self->eom, var); j++)
            for (int i = 0; i < rows; i++) out[i + (ptrdiff_t)j * ld] += factor * block[i + j * rows];
    }
}

static void add_levels(kd_assembled *self, int row, const kd_level_sum *sum)
{
    for (int k = 0; k < sum->count; k++) add_fn(self, row, sum->fn[k], sum->factor[k]);
}

// Columns of p: derivatives of all rows along the normals N, by differences, times N'.
static kd_eval add_normals(kd_assembled *self, double t, const double *x, const double *xdot)
{
    const kd_position *position = &self->position;
    int                np = position->np;
    kd_eval            answer = KD_EVAL_OK;
    memcpy(self->x_moved, x, (size_t)self->n * sizeof *x);
    for (int k = 0; k < position->nn && answer == KD_EVAL_OK; k++) {
        // (F_p n) n', F_p n = (F(p + delta n) - F(p - delta n)) / (2 delta)
        const double *n = position->N + k * np;
        for (int i = 0; i < np; i++) self->x_moved[i] = x[i] + NORMAL_INCREMENT * n[i];
        answer = kd_assembled_raw(self, t, self->x_moved, xdot);
        memcpy(self->raw_plus, self->raw, (size_t)self->nraw * sizeof *x);
        for (int i = 0; i < np; i++) self->x_moved[i] = x[i] - NORMAL_INCREMENT * n[i];
        if (answer == KD_EVAL_OK) answer = kd_assembled_raw(self, t, self->x_moved, xdot);
        for (int i = 0; i < self->nraw; i++)
            self->raw_plus[i] = (self->raw_plus[i] - self->raw[i]) / (2 * NORMAL_INCREMENT);
        for (int j = 0; j < np; j++) kd_axpy(self->nraw, n[j], self->raw_plus, self->raw_K + (ptrdiff_t)j * self->nraw);
    }
    self->normal_differences += 2 * position->nn;
    return answer;
}

// p' - Z v + Z U^2 (GZ)' D eta
static void add_kinematic(kd_assembled *self)
{
    kd_dims            d = self->dims;
    const kd_position *position = &self->position;
    size_t             ld = (size_t)self->nraw;
    // p' - Z v
    for (int i = 0; i < d.np; i++) self->raw_E[(size_t)i + (size_t)i * ld] = 1;
    if (position->identity) {
        for (int i = 0; i < d.nv; i++) self->raw_K[(size_t)i + (size_t)(self->xv + i) * ld] = -1;
    } else {
        add_fn(self, 0, KD_KINEMATICS, -1);
    }
    if (!self->has_eta) return;
    // Z (GZ)' D
    const double *GZ = self->blocks.block[KD_GI][KD_V];
    for (int k = 0; GZ && k < d.nlambda; k++) {
        double *column = self->raw_K + (size_t)(self->xe + k) * ld;
        for (int j = 0; j < d.nv; j++) {
            double force = self->square[j] * GZ[k + j * d.nlambda] * self->scale_eta[k];
            if (position->identity)
                column[j] += force;
            else
                kd_axpy(d.np, force, position->Z + j * d.np, column);
        }
    }
}

static kd_eval assemble_matrices(kd_assembled *self, double t, const double *x, const double *xdot)
{
    kd_dims d = self->dims;
    size_t  bytes = (size_t)self->nraw * (size_t)self->n * sizeof(double);
    memset(self->raw_E, 0, bytes);
    memset(self->raw_K, 0, bytes);
    // raw rows: E = F_x', K = F_x
    add_kinematic(self);
    add_fn(self, self->dyn, KD_RESIDUAL, 1);
    for (int i = 0; i < d.nr; i++) self->raw_E[self->r + i + (ptrdiff_t)(self->xr + i) * self->nraw] = 1;
    add_fn(self, self->r, KD_B, -1);
    add_fn(self, self->d, KD_D, 1);
    add_fn(self, self->c, KD_C, 1);
    add_levels(self, self->phi, &self->phi_rows);
    add_levels(self, self->h, &self->h_rows);
    if (self->has_eta || self->has_selectors) add_fn(self, self->g, KD_G, 1);
    // across the manifold of the positions
    kd_eval answer = self->position.nn > 0 ? add_normals(self, t, x, xdot) : KD_EVAL_OK;
    // rows of F: combined as the residual's
    bool as_they_are = self->raw_K == self->K && self->multipliers.count == self->multipliers.rows;
    for (int j = 0; j < self->n && !as_they_are; j++) {
        size_t from = (size_t)j * (size_t)self->nraw, to = (size_t)j * (size_t)self->n;
        kd_assembled_combine(self, self->raw_E + from, NULL, self->E + to);
        kd_assembled_combine(self, self->raw_K + from, NULL, self->K + to);
    }
    if (!as_they_are) kd_assembled_multiplier_columns(self, self->K);
    return answer;
}

kd_status kd_assembled_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    kd_assembled *self = impl;
    kd_blocks     wanted = self->blocks;
    kd_eval       answer = kd_assembled_at(self, t, x, xdot);
    self->counters.mass += !self->mass_known;
    // sparse: newton.c
    if (self->newton) {
        kd_status ready = answer == KD_EVAL_OK ? kd_assembled_select(self, restart) : self->fault.status;
        return ready < 0 ? ready : kd_newton_linearize(self->newton, t, x, xdot);
    }
    // dense: Z+, derivatives, selectors, then E and K
    if (self->mass_known) wanted.block[KD_RESIDUAL][KD_A] = NULL;
    if (answer == KD_EVAL_OK) answer = kd_position_update(&self->position, self->data);
    if (answer == KD_EVAL_OK) answer = kd_eom_derivatives(self->data, self->opt.part, &wanted);
    self->mass_known = self->constant_mass && answer == KD_EVAL_OK;
    self->counters.jacobians++;
    if (answer != KD_EVAL_OK) {
        kd_assembled_note(self, answer);
        return self->fault.status;
    }
    kd_status status = kd_assembled_select(self, restart);
    if (status < 0) return status;
    return assemble_matrices(self, t, x, xdot) == KD_EVAL_OK ? status : self->fault.status;
}

kd_status kd_assembled_update(void *impl, double t, const double *x, const double *xdot)
{
    kd_assembled *self = impl;
    self->counters.mass += !self->mass_known;
    return kd_assembled_at(self, t, x, xdot) == KD_EVAL_OK ? kd_newton_update(self->newton) : self->fault.status;
}

// ---- factors --------------------------------------------------------------------------------------------------------

// Row and column factors of A (m x m) for gamma: powers of gamma first, then rows and columns to maximum about 1.
static void set_scales(kd_assembled *self, int m, double gamma)
{
    const int    *power = self->column_power;
    double       *row = self->row, *column = self->column, base = kd_power_of_2(gamma);
    const double *A = self->A;
    // columns by their power of gamma, rows by what remains
    for (int i = 0; i < m; i++) row[i] = 0;
    for (int j = 0; j < m; j++) {
        column[j] = power[j] == 0 ? 1 : power[j] > 0 ? base : 1 / base;
        for (int i = 0; i < m; i++) {
            double entry = fabs(A[i + j * m]) * column[j];
            if (entry > row[i]) row[i] = entry;
        }
    }
    for (int i = 0; i < m; i++) row[i] = row[i] > 0 ? 1 / kd_power_of_2(row[i]) : 1;
    // columns once more
    for (int j = 0; j < m; j++) {
        double most = 0;
        for (int i = 0; i < m; i++) {
            double entry = fabs(A[i + j * m]) * row[i];
            if (entry > most) most = entry;
        }
        if (most > 0) column[j] = 1 / kd_power_of_2(most);
    }
}

// A = gamma E + K, scaled
static void real_matrix(kd_assembled *self, int m, double gamma)
{
    double       *A = self->A;
    const double *E = self->E, *K = self->K;
    ptrdiff_t     count = (ptrdiff_t)m * m;
    for (ptrdiff_t k = 0; k < count; k++) A[k] = gamma * E[k] + K[k];
    set_scales(self, m, fabs(gamma));
    for (int j = 0; j < m; j++)
        for (int i = 0; i < m; i++) A[i + (ptrdiff_t)j * m] *= self->row[i] * self->column[j];
}

// The same for a complex gamma of about the size of the real one, with its scales
static void complex_matrix(kd_assembled *self, int m, double complex gamma)
{
    for (int j = 0; j < m; j++) {
        const double   *E = self->E + (ptrdiff_t)j * m, *K = self->K + (ptrdiff_t)j * m;
        double complex *A = self->A_complex + (ptrdiff_t)j * m;
        for (int i = 0; i < m; i++) A[i] = (gamma * E[i] + K[i]) * (self->row[i] * self->column[j]);
    }
}

static kd_status factor_dense(kd_assembled *self, double gamma_real, double gamma_re, double gamma_im)
{
    int       m = self->n;
    kd_status status = KD_OK;
    if (gamma_real != 0) {
        real_matrix(self, m, gamma_real);
        status = kd_linsolve_factor(self->solver, m, self->A);
    }
    if (status < 0 || gamma_im == 0) return status;
    complex_matrix(self, m, gamma_re + gamma_im * I);
    return kd_linsolve_factor_complex(self->solver, m, self->A_complex);
}

kd_status kd_assembled_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
{
    kd_assembled *self = impl;
    self->counters.decompositions += gamma_real != 0;
    kd_status status = self->newton ? kd_newton_factor(self->newton, gamma_real, gamma_re, gamma_im)
                                    : factor_dense(self, gamma_real, gamma_re, gamma_im);
    if (status == KD_ERR_MEMORY) return kd_form_fail(&self->fault, status, "%s", kd_status_sentence(status));
    if (status < 0)
        return kd_form_fail(&self->fault, status,
                            "the Newton matrix of the %s form is singular: redundant constraints need the SVD "
                            "decomposition, a singular position cannot be passed",
                            kd_formulation_word(self->form));
    return status;
}

kd_status kd_assembled_pair(void *impl, int k)
{
    kd_assembled *self = impl;
    return self->newton ? kd_newton_pair(self->newton, k) : kd_linsolve_pair(self->solver, k);
}

void kd_assembled_reduce(void *impl, const double *F, double *part, double *y)
{
    kd_assembled *self = impl;
    (void)part;
    for (int i = 0; i < self->dae->nrows; i++) y[i] = -F[i];
}

void kd_assembled_solve_real(void *impl, double *y)
{
    kd_assembled *self = impl;
    self->counters.solves++;
    if (self->newton) {
        kd_newton_solve(self->newton, y);
        return;
    }
    // (R A C) (C \ y) = R rhs
    for (int i = 0; i < self->n; i++) y[i] *= self->row[i];
    kd_linsolve_solve(self->solver, y);
    for (int i = 0; i < self->n; i++) y[i] *= self->column[i];
}

void kd_assembled_solve_complex(void *impl, double *y_re, double *y_im)
{
    kd_assembled   *self = impl;
    double complex *z = self->y_complex;
    if (self->newton) {
        kd_newton_solve_complex(self->newton, y_re, y_im);
        return;
    }
    for (int i = 0; i < self->n; i++) z[i] = (y_re[i] + y_im[i] * I) * self->row[i];
    kd_linsolve_solve_complex(self->solver, z);
    for (int i = 0; i < self->n; i++) {
        y_re[i] = creal(z[i]) * self->column[i];
        y_im[i] = cimag(z[i]) * self->column[i];
    }
}

void kd_assembled_expand(void *impl, const double *part, const double *y, double *dx)
{
    kd_assembled *self = impl;
    (void)part;
    memcpy(dx, y, (size_t)self->n * sizeof *dx);
}
