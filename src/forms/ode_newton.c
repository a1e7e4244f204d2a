// ode_newton.c: Newton matrices gamma I - rhs_x of the form ode.
//
// (a, lambda, mu, w) solve Phi = (residual, gII, hI, d) = 0 and s follows p by c = 0, so that along increments of p and
// by v and r
//     (a, lambda, mu, w)_x = -Phi_y \ (Phi_x + Phi_s s_x),   s_p = -c_s \ c_p,
//     (r')_x = b_x + b_s s_x + b_y (a, lambda, mu, w)_x.
// Derivatives by coordinates p: D_p Z+, and differences along the normals of the manifold (quaternions). Where Phi_y is
// singular (redundant rows, SVD), rhs is differenced column by column. With p' = v the rows of p are eliminated:
//     (gamma I - a_v - a_p / gamma) dv = ...
// Large trees whose forces act inside of joints form no matrix: they are eliminated along the tree (kd_eom_implicit_set).
#include "core/archive.h"
#include "core/text.h"
#include "forms/ode_impl.h"
#include "math/dense.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define NORMAL_INCREMENT 6e-6 // central differences: third root of the unit roundoff, coordinates of size 1
#define SINGULAR 1e-13        // reciprocal condition of the scaled Phi_y
#define LEAST_TREE 24         // velocities from which on an elimination along the tree is used, where there is one

static const kd_var outer_vars[] = {KD_P, KD_V, KD_R};
static const kd_var inner_vars[] = {KD_A, KD_LAMBDA, KD_MU, KD_W};
static const kd_fn  inner_fns[] = {KD_RESIDUAL, KD_GII, KD_HI, KD_D};
enum { OUTER = 3, INNER = 4 };

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void want_blocks(kd_ode *self, kd_fn fn)
{
    kd_ode_newton *newton = &self->newton;
    if (kd_eom_rows(self->eom, fn) == 0) return;
    for (int var = 0; var < KD_VAR_COUNT; var++) {
        bool inside = var == KD_S;
        for (int k = 0; k < OUTER; k++) inside = inside || outer_vars[k] == (kd_var)var;
        for (int k = 0; k < INNER; k++) inside = inside || inner_vars[k] == (kd_var)var;
        if (!inside || !kd_eom_depends(self->eom, fn, (kd_var)var)) continue;
        newton->blocks.block[fn][var] =
            kd_cut_matrix(&newton->arena, kd_eom_rows(self->eom, fn), kd_eom_columns(self->eom, (kd_var)var));
    }
}

static void cut_newton(kd_ode *self)
{
    kd_ode_newton *newton = &self->newton;
    kd_arena      *arena = &newton->arena;
    kd_dims        d = self->dims;
    size_t         n = (size_t)self->n;
    // derivatives of all functions that the right-hand side reads
    kd_position_cut(&newton->position, arena, self->eom);
    for (int k = 0; k < INNER; k++) want_blocks(self, inner_fns[k]);
    want_blocks(self, KD_B);
    want_blocks(self, KD_C);
    if (!self->position.identity) want_blocks(self, KD_KINEMATICS);
    // the system of (a, lambda, mu, w), and its scaling
    newton->implicit = kd_cut_matrix(arena, newton->nf, newton->nf);
    newton->explicit_part = kd_cut_matrix(arena, newton->nf, newton->nx);
    newton->row = kd_cut_double(arena, newton->nf);
    newton->column = kd_cut_double(arena, newton->nf);
    newton->work = kd_cut_double(arena, 4 * newton->nf);
    newton->pivot = kd_cut_int(arena, newton->nf);
    newton->iwork = kd_cut_int(arena, newton->nf);
    // what contact coordinates do
    newton->s_p = kd_cut_matrix(arena, d.ns, d.nv);
    newton->pivot_s = kd_cut_int(arena, d.ns);
    // derivatives along increments, J of the right-hand side
    newton->along = kd_cut_matrix(arena, self->n, newton->nx);
    newton->J = kd_cut_matrix(arena, self->n, self->n);
    // workspace of differences, then the matrix for gamma
    newton->x = kd_cut_double(arena, self->n);
    newton->x_moved = kd_cut_double(arena, self->n);
    newton->base = kd_cut_double(arena, self->n);
    newton->plus = kd_cut_double(arena, self->n);
    newton->minus = kd_cut_double(arena, self->n);
    newton->A = kd_cut_matrix(arena, self->n, self->n);
    newton->A_complex = kd_arena_cut(arena, n * n, sizeof(double complex));
    newton->y_complex = kd_arena_cut(arena, n, sizeof(double complex));
}

// Does an elimination along the tree serve, and is it wanted? A decomposition that is asked for by its name is not it.
static bool takes_tree(const kd_ode *self)
{
    return kd_eom_definition(self->eom)->implicit_set && self->dims.nv >= LEAST_TREE && !self->opt.differential_qr &&
           self->opt.part == KD_PART_ALL;
}

kd_status kd_ode_newton_ready(kd_ode *self)
{
    kd_ode_newton *newton = &self->newton;
    kd_dims        d = self->dims;
    if (newton->ready) return KD_OK;
    if (takes_tree(self)) {
        newton->along_tree = newton->ready = kd_eom_implicit_reserve(kd_acceleration_data(self->acceleration));
        return newton->ready ? KD_OK : kd_ode_fail(self, KD_ERR_MEMORY, "the ode form: no memory for Newton matrices");
    }
    newton->nf = d.nv + d.nlambda + d.nmu + d.nw;
    newton->nx = 2 * d.nv + d.nr;
    newton->eliminated = self->position.identity ? d.np : 0;
    cut_newton(self);
    kd_status status = newton->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status >= 0)
        status = kd_linsolve_create(self->n - newton->eliminated,
                                    self->opt.differential_qr ? KD_LINEAR_QR : KD_LINEAR_LU, NULL, &newton->solver);
    newton->ready = status >= 0;
    if (newton->ready) return status;
    kd_ode_newton_release(newton);
    return kd_ode_fail(self, status, "the ode form: no memory for Newton matrices");
}

void kd_ode_newton_release(kd_ode_newton *newton)
{
    kd_linsolve_destroy(newton->solver);
    kd_arena_release(&newton->arena);
    *newton = (kd_ode_newton){0};
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// X (ld rows, columns p v r) += derivatives of fn with s following p; Y (columns a lambda mu w, NULL: none) the others
static void add_rows(kd_ode *self, kd_fn fn, double *X, double *Y, int ld)
{
    kd_ode_newton *newton = &self->newton;
    int            rows = kd_eom_rows(self->eom, fn), ns = self->dims.ns, nv = self->dims.nv, column = 0;
    // by p, v, r
    for (int k = 0; k < OUTER; k++) {
        int           columns = kd_eom_columns(self->eom, outer_vars[k]);
        const double *block = newton->blocks.block[fn][outer_vars[k]];
        for (int j = 0; j < columns && block; j++)
            kd_axpy(rows, 1, block + (ptrdiff_t)j * rows, X + (ptrdiff_t)(column + j) * ld);
        column += columns;
    }
    // F_p += F_s s_p
    const double *by_s = newton->blocks.block[fn][KD_S];
    for (int j = 0; j < nv && by_s; j++)
        kd_gemv(rows, ns, 1, by_s, newton->s_p + (ptrdiff_t)j * ns, 1, X + (ptrdiff_t)j * ld);
    // by a, lambda, mu, w
    column = 0;
    for (int k = 0; k < INNER && Y; k++) {
        int           columns = kd_eom_columns(self->eom, inner_vars[k]);
        const double *block = newton->blocks.block[fn][inner_vars[k]];
        for (int j = 0; j < columns && block; j++)
            kd_axpy(rows, 1, block + (ptrdiff_t)j * rows, Y + (ptrdiff_t)(column + j) * ld);
        column += columns;
    }
}

// s_p = -c_s \ c_p
static bool contacts_follow(kd_ode *self)
{
    kd_ode_newton *newton = &self->newton;
    int            ns = self->dims.ns, nv = self->dims.nv;
    double        *c_s = newton->blocks.block[KD_C][KD_S], *c_p = newton->blocks.block[KD_C][KD_P];
    if (ns == 0) return true;
    if (!c_s || kd_lu_factor(ns, c_s, newton->pivot_s) != 0) return false;
    for (int i = 0; i < ns * nv; i++) newton->s_p[i] = c_p ? -c_p[i] : 0;
    kd_lu_solve(ns, c_s, newton->pivot_s, newton->s_p, nv);
    return true;
}

// inactive rows: lambda_i = 0
static void switch_off(kd_ode *self)
{
    kd_ode_newton *newton = &self->newton;
    kd_dims        d = self->dims;
    for (int k = 0; k < d.nlambda + d.nmu; k++) {
        bool active = k < d.nlambda ? self->state->active_lambda[k] : self->state->active_mu[k - d.nlambda];
        int  row = d.nv + k;
        if (active) continue;
        for (int j = 0; j < newton->nf; j++) newton->implicit[row + (ptrdiff_t)j * newton->nf] = j == row ? 1 : 0;
        for (int j = 0; j < newton->nx; j++) newton->explicit_part[row + (ptrdiff_t)j * newton->nf] = 0;
    }
}

// largest entries of columns, then of rows, to 1
static double scale_implicit(kd_ode_newton *newton)
{
    int     n = newton->nf;
    double *A = newton->implicit, norm = 0;
    // column factors, then row factors of what they leave
    for (int i = 0; i < n; i++) newton->row[i] = 0;
    for (int j = 0; j < n; j++) {
        double most = kd_norm_max(n, A + (ptrdiff_t)j * n);
        newton->column[j] = most > 0 ? 1 / most : 1;
        for (int i = 0; i < n; i++)
            newton->row[i] = fmax(newton->row[i], fabs(A[i + (ptrdiff_t)j * n]) * newton->column[j]);
    }
    for (int i = 0; i < n; i++) newton->row[i] = newton->row[i] > 0 ? 1 / newton->row[i] : 1;
    for (int j = 0; j < n; j++) {
        // R A C and its 1-norm
        double sum = 0;
        for (int i = 0; i < n; i++) {
            A[i + (ptrdiff_t)j * n] *= newton->row[i] * newton->column[j];
            sum += fabs(A[i + (ptrdiff_t)j * n]);
        }
        norm = fmax(norm, sum);
    }
    return norm;
}

// explicit_part <- -Phi_y \ explicit_part; false: Phi_y is singular
static bool solve_implicit(kd_ode_newton *newton)
{
    int    n = newton->nf;
    double norm = scale_implicit(newton);
    if (kd_lu_factor(n, newton->implicit, newton->pivot) != 0 ||
        kd_lu_rcond(n, newton->implicit, newton->pivot, norm, newton->work, newton->iwork) < SINGULAR)
        return false;
    // row and column factors: (R Phi_y C) (C \ y) = -R Phi_x
    for (int j = 0; j < newton->nx; j++)
        for (int i = 0; i < n; i++) newton->explicit_part[i + (ptrdiff_t)j * n] *= -newton->row[i];
    kd_lu_solve(n, newton->implicit, newton->pivot, newton->explicit_part, newton->nx);
    for (int j = 0; j < newton->nx; j++)
        for (int i = 0; i < n; i++) newton->explicit_part[i + (ptrdiff_t)j * n] *= newton->column[i];
    return true;
}

// along = derivatives of x' by increments of p, by v and by r, from those of (a, lambda, mu, w) in explicit_part
static void rows_of_rates(kd_ode *self)
{
    kd_ode_newton *newton = &self->newton;
    kd_dims        d = self->dims;
    int            n = self->n, nf = newton->nf;
    memset(newton->along, 0, (size_t)n * (size_t)newton->nx * sizeof(double));
    // p' = Z v
    if (self->position.identity) {
        for (int i = 0; i < d.nv; i++) newton->along[i + (ptrdiff_t)(d.nv + i) * n] = 1;
    } else {
        add_rows(self, KD_KINEMATICS, newton->along, NULL, n);
    }
    // v' = a
    for (int j = 0; j < newton->nx; j++)
        memcpy(newton->along + self->xv + (ptrdiff_t)j * n, newton->explicit_part + (ptrdiff_t)j * nf,
               (size_t)d.nv * sizeof(double));
    if (d.nr == 0) return;
    // r' = b
    add_rows(self, KD_B, newton->along + self->xr, NULL, n);
    int column = 0;
    for (int k = 0; k < INNER; k++) {
        int           columns = kd_eom_columns(self->eom, inner_vars[k]);
        const double *block = newton->blocks.block[KD_B][inner_vars[k]];
        for (int j = 0; j < newton->nx && block; j++)
            kd_gemv(d.nr, columns, 1, block, newton->explicit_part + column + (ptrdiff_t)j * nf, 1,
                    newton->along + self->xr + (ptrdiff_t)j * n);
        column += columns;
    }
}

// J += derivatives along the normals of the manifold of positions, by differences
static kd_eval add_normals(kd_ode *self, double t)
{
    kd_ode_newton     *newton = &self->newton;
    const kd_position *position = &self->newton.position;
    int                np = position->np, n = self->n;
    kd_eval            answer = KD_EVAL_OK;
    memcpy(newton->x_moved, newton->x, (size_t)n * sizeof(double));
    for (int k = 0; k < position->nn && answer == KD_EVAL_OK; k++) {
        const double *normal = position->N + (ptrdiff_t)k * np;
        // (rhs_p n) n', rhs_p n = (rhs(p + delta n) - rhs(p - delta n)) / (2 delta)
        for (int i = 0; i < np; i++) newton->x_moved[i] = newton->x[i] + NORMAL_INCREMENT * normal[i];
        answer = kd_ode_rhs(self, t, newton->x_moved, newton->plus);
        for (int i = 0; i < np; i++) newton->x_moved[i] = newton->x[i] - NORMAL_INCREMENT * normal[i];
        if (answer == KD_EVAL_OK) answer = kd_ode_rhs(self, t, newton->x_moved, newton->minus);
        for (int i = 0; i < n; i++) newton->plus[i] = (newton->plus[i] - newton->minus[i]) / (2 * NORMAL_INCREMENT);
        for (int j = 0; j < np; j++) kd_axpy(n, normal[j], newton->plus, newton->J + (ptrdiff_t)j * n);
    }
    self->counters.for_differences += 2 * position->nn;
    return answer;
}

// J from the derivatives of the equations of motion; *singular: they do not determine it
static kd_eval analytic_jacobian(kd_ode *self, double t, bool *singular)
{
    kd_ode_newton *newton = &self->newton;
    kd_ode_point  *at = &self->last;
    kd_eom_data   *data = kd_acceleration_data(self->acceleration);
    int            n = self->n, nf = newton->nf, nv = self->dims.nv, row = 0;
    *singular = false;
    // derivatives of the equations of motion at the point
    kd_eval answer = kd_acceleration_at(self->acceleration, t, at->x, at->s, at->x + self->xv, at->x + self->xr);
    if (answer != KD_EVAL_OK) return kd_ode_note(self, answer, "");
    kd_eom_at_acceleration(data, at->a, at->w, at->lambda, at->mu);
    answer = kd_position_update(&newton->position, data);
    if (answer == KD_EVAL_OK) answer = kd_eom_derivatives(data, self->opt.part, &newton->blocks);
    if (answer != KD_EVAL_OK) {
        kd_ode_fail(self, kd_eom_data_fault(data).status < 0 ? kd_eom_data_fault(data).status : KD_ERR_DECOMPOSITION,
                    kd_eom_data_message(data));
        return answer;
    }
    // Phi_y (a, lambda, mu, w)_x = -Phi_x
    memset(newton->implicit, 0, (size_t)nf * (size_t)nf * sizeof(double));
    memset(newton->explicit_part, 0, (size_t)nf * (size_t)newton->nx * sizeof(double));
    *singular = !contacts_follow(self);
    for (int k = 0; k < INNER && !*singular; k++) {
        add_rows(self, inner_fns[k], newton->explicit_part + row, newton->implicit + row, nf);
        row += kd_eom_rows(self->eom, inner_fns[k]);
    }
    switch_off(self);
    *singular = *singular || !solve_implicit(newton);
    if (*singular) return KD_EVAL_OK;
    // x' by increments of p, v, r; then by the coordinates p: D_p Z+
    rows_of_rates(self);
    memset(newton->J, 0, (size_t)n * (size_t)n * sizeof(double));
    kd_position_plain(&newton->position, n, 1, newton->along, newton->J, n);
    memcpy(newton->J + (ptrdiff_t)self->xv * n, newton->along + (ptrdiff_t)nv * n,
           (size_t)n * (size_t)(n - self->xv) * sizeof(double));
    return newton->position.nn > 0 ? add_normals(self, t) : KD_EVAL_OK;
}

// Smallest size of a component that a difference increment is taken of: natural ones of positions and velocities
static double least_size(const kd_ode *self, int j)
{
    const kd_eom *eom = self->eom;
    if (j < self->xv) return kd_eom_position_unit(eom, j);
    if (j < self->xr) return kd_eom_unit(eom, j - self->xv) / kd_eom_time(eom);
    return self->dae->unit ? self->dae->unit[j] : 1;
}

// J column by column from differences of rhs
static kd_eval difference_jacobian(kd_ode *self, double t)
{
    kd_ode_newton *newton = &self->newton;
    int            n = self->n;
    double         h = self->dae->h;
    kd_eval        answer = kd_ode_rhs(self, t, newton->x, newton->base);
    memcpy(newton->x_moved, newton->x, (size_t)n * sizeof(double));
    for (int j = 0; j < n && answer == KD_EVAL_OK; j++) {
        // increment along the motion, of the size of x_j or of its change in a step
        double size = fmax(fmax(fabs(newton->x[j]), fabs(h * newton->base[j])), least_size(self, j));
        double moved = newton->x[j] + copysign(sqrt(DBL_EPSILON) * size, newton->base[j]);
        double step = moved - newton->x[j];
        newton->x_moved[j] = moved;
        double *column = newton->J + (ptrdiff_t)j * n;
        answer = kd_ode_rhs(self, t, newton->x_moved, column);
        newton->x_moved[j] = newton->x[j];
        for (int i = 0; i < n; i++) column[i] = (column[i] - newton->base[i]) / step;
    }
    self->counters.for_differences += n;
    return answer;
}

// The derivatives at the point, for the elimination along the tree
static kd_eval tree_derivatives(kd_ode *self, double t)
{
    kd_ode_point *at = &self->last;
    kd_eom_data  *data = kd_acceleration_data(self->acceleration);
    kd_eval       answer = kd_acceleration_at(self->acceleration, t, at->x, at->s, at->x + self->xv, at->x + self->xr);
    if (answer != KD_EVAL_OK) return kd_ode_note(self, answer, "");
    kd_eom_at_acceleration(data, at->a, at->w, at->lambda, at->mu);
    answer = kd_eom_implicit_set(data);
    if (answer != KD_EVAL_OK)
        kd_ode_fail(self, kd_eom_data_fault(data).status < 0 ? kd_eom_data_fault(data).status : KD_ERR_DECOMPOSITION,
                    kd_eom_data_message(data));
    return answer;
}

kd_status kd_ode_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    kd_ode   *self = impl;
    bool      singular = self->opt.constraints == KD_DECOMPOSE_SVD; // redundant rows, probably
    kd_status status = kd_ode_newton_ready(self);
    (void)xdot, (void)restart;
    if (status < 0) return status;
    self->counters.jacobians++;
    self->counters.mass++;
    kd_eval answer = kd_ode_solve(self, t, x);
    if (self->newton.along_tree) {
        if (answer == KD_EVAL_OK) answer = tree_derivatives(self, t);
        return answer == KD_EVAL_OK ? KD_OK : self->fault.status < 0 ? self->fault.status : KD_ERR_RETRY_FAILED;
    }
    memcpy(self->newton.x, x, (size_t)self->n * sizeof *x);
    if (answer == KD_EVAL_OK && !singular) answer = analytic_jacobian(self, t, &singular);
    if (answer == KD_EVAL_OK && singular) answer = difference_jacobian(self, t);
    return answer == KD_EVAL_OK ? KD_OK : self->fault.status < 0 ? self->fault.status : KD_ERR_RETRY_FAILED;
}

// ---- factors --------------------------------------------------------------------------------------------------------

// A = gamma I - J, where p' = v: gamma I - J_22 - J_21 / gamma for (v, r)
static void real_matrix(const kd_ode *self, int m, double gamma)
{
    const kd_ode_newton *newton = &self->newton;
    int                  skip = newton->eliminated;
    for (int j = 0; j < m; j++) {
        const double *J = newton->J + skip + (ptrdiff_t)(skip + j) * self->n;
        double       *A = newton->A + (ptrdiff_t)j * m;
        for (int i = 0; i < m; i++) A[i] = -J[i];
        if (j < skip) kd_axpy(m, -1 / gamma, newton->J + skip + (ptrdiff_t)j * self->n, A);
        A[j] += gamma;
    }
}

static void complex_matrix(const kd_ode *self, int m, double complex gamma)
{
    const kd_ode_newton *newton = &self->newton;
    int                  skip = newton->eliminated;
    double complex       inverse = 1 / gamma;
    for (int j = 0; j < m; j++) {
        const double   *J = newton->J + skip + (ptrdiff_t)(skip + j) * self->n;
        const double   *J_p = newton->J + skip + (ptrdiff_t)j * self->n;
        double complex *A = newton->A_complex + (ptrdiff_t)j * m;
        for (int i = 0; i < m; i++) A[i] = -J[i] - (j < skip ? inverse * J_p[i] : 0);
        A[j] += gamma;
    }
}

static kd_status factor_tree(kd_ode *self, bool real)
{
    const kd_ode_newton *newton = &self->newton;
    kd_eom_data         *data = kd_acceleration_data(self->acceleration);
    const double         re = creal(newton->gamma_complex), im = cimag(newton->gamma_complex);
    bool                 regular = !real || kd_eom_implicit_factor(data, newton->gamma, 0);
    if (regular && im != 0) regular = kd_eom_implicit_factor(data, re, im);
    return regular ? KD_OK : KD_ERR_DECOMPOSITION;
}

kd_status kd_ode_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
{
    kd_ode        *self = impl;
    kd_ode_newton *newton = &self->newton;
    int            m = self->n - newton->eliminated;
    const bool     real = gamma_real != 0;
    kd_status      status = KD_OK;
    if (real) newton->gamma = gamma_real;
    newton->gamma_complex = newton->gamma_pair[newton->pair] = gamma_re + gamma_im * I;
    self->counters.decompositions += real;
    if (newton->along_tree) {
        status = factor_tree(self, real);
    } else if (real) {
        real_matrix(self, m, gamma_real);
        status = kd_linsolve_factor(newton->solver, m, newton->A);
    }
    if (status >= 0 && gamma_im != 0 && !newton->along_tree) {
        complex_matrix(self, m, newton->gamma_complex);
        status = kd_linsolve_factor_complex(newton->solver, m, newton->A_complex);
    }
    return status < 0 ? kd_ode_fail(self, status, "the Newton matrix of the ode form is singular") : status;
}

kd_status kd_ode_pair(void *impl, int k)
{
    kd_ode        *self = impl;
    kd_ode_newton *newton = &self->newton;
    kd_status      status = kd_ode_newton_ready(self);
    if (status < 0) return status;
    newton->pair = k;
    newton->gamma_complex = newton->gamma_pair[k];
    if (!newton->along_tree) return kd_linsolve_pair(newton->solver, k);
    return kd_eom_implicit_pair(kd_acceleration_data(self->acceleration), k);
}

void kd_ode_reduce(void *impl, const double *F, double *part, double *y)
{
    (void)part;
    for (int i = 0; i < ((kd_ode *)impl)->n; i++) y[i] = -F[i];
}

void kd_ode_expand(void *impl, const double *part, const double *y, double *dx)
{
    (void)part;
    memcpy(dx, y, (size_t)((kd_ode *)impl)->n * sizeof *dx);
}

// z += J_21 q, q = r_p / gamma the known part of dp
static void move_known(const kd_ode *self, double *y)
{
    const kd_ode_newton *newton = &self->newton;
    int                  np = newton->eliminated, m = self->n - np;
    for (int j = 0; j < np; j++) kd_axpy(m, y[j], newton->J + np + (ptrdiff_t)j * self->n, y + np);
}

void kd_ode_solve_real(void *impl, double *y)
{
    kd_ode        *self = impl;
    kd_ode_newton *newton = &self->newton;
    int            np = newton->eliminated;
    self->counters.solves++;
    if (newton->along_tree) {
        kd_eom_implicit_solve(kd_acceleration_data(self->acceleration), y, NULL);
        return;
    }
    // p eliminated: (gamma I - J_22 - J_21 / gamma) (dv, dr) = r_2 + J_21 r_p / gamma
    // dp = (r_p + dv) / gamma
    for (int i = 0; i < np; i++) y[i] /= newton->gamma;
    move_known(self, y);
    kd_linsolve_solve(newton->solver, y + np);
    for (int i = 0; i < np; i++) y[i] += y[np + i] / newton->gamma;
}

void kd_ode_solve_complex(void *impl, double *y_re, double *y_im)
{
    kd_ode         *self = impl;
    kd_ode_newton  *newton = &self->newton;
    int             np = newton->eliminated, m = self->n - np;
    double complex *z = newton->y_complex, inverse = 1 / newton->gamma_complex;
    if (newton->along_tree) {
        kd_eom_implicit_solve(kd_acceleration_data(self->acceleration), y_re, y_im);
        return;
    }
    // the same with complex gamma
    for (int i = 0; i < np; i++) {
        double complex q = inverse * (y_re[i] + I * y_im[i]);
        y_re[i] = creal(q);
        y_im[i] = cimag(q);
    }
    move_known(self, y_re);
    move_known(self, y_im);
    for (int i = 0; i < m; i++) z[i] = y_re[np + i] + I * y_im[np + i];
    kd_linsolve_solve_complex(newton->solver, z);
    for (int i = 0; i < m; i++) {
        y_re[np + i] = creal(z[i]);
        y_im[np + i] = cimag(z[i]);
    }
    for (int i = 0; i < np; i++) {
        double complex dp = inverse * z[i];
        y_re[i] += creal(dp);
        y_im[i] += cimag(dp);
    }
}

// ---- saved matrices -------------------------------------------------------------------------------------------------

void kd_ode_newton_archive(kd_ode *self, kd_archive *a)
{
    kd_ode_newton *newton = &self->newton;
    bool           ready = newton->ready;
    kd_archive_bool(a, &ready);
    if (!kd_archive_good(a) || !ready) return;
    if (kd_ode_newton_ready(self) < 0) {
        kd_archive_fail(a, KD_ERR_MEMORY, "no memory for Newton matrices");
        return;
    }
    kd_archive_real(a, &newton->gamma);
    kd_archive_doubles(a, (double *)&newton->gamma_complex, 2);
    kd_archive_doubles(a, (double *)newton->gamma_pair, 2 * KD_LINEAR_PAIRS);
    if (newton->along_tree) return; // the equations have them
    kd_position_archive(&newton->position, a);
    kd_archive_arrays(a, &newton->arena, newton, sizeof *newton);
    kd_archive_pivots(a, newton->pivot, newton->nf);
    kd_archive_pivots(a, newton->pivot_s, self->dims.ns);
    kd_linsolve_archive(a, newton->solver);
}
