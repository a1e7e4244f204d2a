// forms/newton.c: life of the sparse Newton matrix, its scaled factors, and solutions with elimination.
//
// Scaling (docs/methods/newton.md): with unknowns (gamma dp, dv, dlambda / gamma, deta) and rows (kinematic, dynamic /
// gamma, velocity level, gamma * position level) all blocks are O(1) as gamma = O(1/h) grows. Rows and columns are then
// brought to maximum 1. All factors are powers of 2 and add no rounding.
#include "forms/newton.h"
#include "forms/assembled_impl.h"
#include "math/dense.h"
#include <math.h>
#include <string.h>

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void set_powers(kd_newton *self)
{
    const kd_assembled *form = self->form;
    for (int j = 0; j < self->m; j++) {
        int x = j + self->np;
        self->power[j] = x < form->xw ? 0 : x < form->xs ? 1 : x < form->xl ? -1 : x < form->xe ? 1 : 0;
    }
}

static void cut_arrays(kd_newton *self)
{
    kd_arena *arena = &self->arena;
    self->power = kd_cut_int(arena, self->m);
    self->row = kd_cut_double(arena, self->m);
    self->column = kd_cut_double(arena, self->m);
    self->moving = kd_cut_double(arena, self->nmoving);
    self->old = kd_cut_double(arena, self->nmoving);
    self->drive = kd_cut_double(arena, 3 * self->ndrives);
    self->by_inputs = kd_cut_bool(arena, self->ndrives);
    self->rho = kd_cut_double(arena, 2 * self->nv);
    self->normal = kd_cut_double(arena, 2 * self->np);
    self->delta = kd_cut_double(arena, 2 * self->nv);
    self->turn = kd_cut_double(arena, 2 * self->nv);
    self->z = kd_arena_cut(arena, (size_t)self->m, sizeof *self->z);
    self->rows = kd_cut_double(arena, self->nv);
    self->F_normal = kd_cut_double(arena, (self->np + self->m) * self->normals);
    self->off = kd_cut_double(arena, self->normals + 3 * self->np);
    kd_increments_cut(&self->increments, arena, self->eom);
}

kd_status kd_newton_create(kd_assembled *form, kd_newton **newton)
{
    kd_newton *self = kd_alloc(sizeof *self);
    *newton = NULL;
    if (!self) return KD_ERR_MEMORY;
    const kd_dims d = form->dims;
    self->form = form;
    self->eom = form->eom;
    self->opt = form->opt;
    self->np = d.np;
    self->nv = d.nv;
    self->nlambda = d.nlambda;
    self->nmu = d.nmu;
    self->nu = form->opt.update == KD_UPDATE_EXTENDED ? d.nu : 0;
    self->ndrives = form->opt.update == KD_UPDATE_EXTENDED ? kd_eom_definition(form->eom)->ndrives : 0;
    self->nmoving = self->nu + self->ndrives;
    self->has_eta = form->has_eta;
    // rows and columns of F, the kinematic ones left out
    self->m = form->nraw - d.np;
    self->r = form->r - d.np;
    self->phi = form->phi - d.np;
    self->h = form->h - d.np;
    self->g = form->g - d.np;
    self->xl = form->xl - d.np;
    self->xm = form->xm - d.np;
    self->xe = form->xe - d.np;
    // where derivatives come from
    self->differenced = form->opt.derivatives != KD_DERIVATIVES_ANALYTIC;
    self->opt.estimated = form->opt.estimated && form->opt.derivatives == KD_DERIVATIVES_GROUPED;
    const kd_eom_def *def = kd_eom_definition(self->eom);
    if (!form->position.identity && !def->pattern) self->normals = form->position.nn;
    // blocks of F, then the patterns of F and A; an estimated one waits for the first matrix
    cut_arrays(self);
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : kd_newton_describe(self);
    if (status >= 0) set_powers(self);
    if (status >= 0) status = kd_newton_cut_differences(self);
    if (status >= 0 && !self->opt.estimated) status = kd_newton_set_pattern(self);
    if (status >= 0)
        *newton = self;
    else
        kd_newton_destroy(self);
    return status;
}

void kd_newton_destroy(kd_newton *self)
{
    if (!self) return;
    kd_newton_release_pattern(self);
    kd_arena_release(&self->arena);
    kd_free(self);
}

kd_dae_counters kd_newton_counters(const kd_newton *self, kd_dae_counters counters)
{
    counters.jacobians = self->evaluations;
    counters.updates = self->updates;
    counters.pattern_changes = self->pattern_changes;
    if (self->colouring) {
        counters.groups = kd_colouring_groups(self->colouring);
        counters.fullest_row = kd_colouring_fullest_row(self->colouring);
    }
    counters.factorizations = self->earlier_factorizations;
    if (self->lu) counters.factorizations += kd_sparse_lu_full_factorizations(self->lu);
    if (!self->dense) counters.refactorizations = self->refactorizations - counters.factorizations;
    return counters;
}

// ---- elimination ----------------------------------------------------------------------------------------------------

// W = K_p B
void kd_newton_eliminate(const kd_newton *self, const double *K_p, double *W)
{
    const double *D = self->form->scale_eta;
    // columns of dv: K_p I
    memset(W, 0, (size_t)kd_columns_count(&self->A) * sizeof *W);
    for (int e = 0; e < self->F.column[self->nv]; e++) W[self->to_A[e]] += K_p[e];
    // columns of deta: -K_p (GZ)' D
    for (int k = 0; k < self->nlambda && self->has_eta; k++)
        for (int l = self->row_start[k]; l < self->row_start[k + 1]; l++) {
            double factor = D[k] * self->form->square[self->row_column[l]] * self->GZ[self->row_value[l]];
            for (int q = self->product_start[l]; q < self->product_start[l + 1]; q++)
                W[self->product[q]] -= factor * K_p[self->factor[q]];
        }
}

// out += factor K_p T; the columns of a block have the same rows
static void add_product(const kd_newton *self, double factor, const double *K_p, const double *T, double *out)
{
    const kd_increments *inc = &self->increments;
    const int           *column = self->F.column;
    for (int b = 0; b < inc->nblocks; b++) {
        int           n = inc->v_start[b + 1] - inc->v_start[b];
        const int    *v = inc->v_of + inc->v_start[b];
        const double *block = T + inc->s_start[b];
        for (int l = 0; l < n; l++)
            for (int k = 0; k < n; k++) {
                double value = factor * block[k + l * n];
                if (value == 0) continue;
                kd_axpy(column[v[k] + 1] - column[v[k]], value, K_p + column[v[k]], out + column[v[l]]);
            }
    }
}

// W = (K_p + K_normal / gamma) T B for quaternions; gamma real: W_im is left alone
static bool eliminate_turning(kd_newton *self, double complex gamma)
{
    size_t         bytes = (size_t)self->F.column[self->nv] * sizeof *self->KT;
    bool           is_complex = cimag(gamma) != 0;
    double complex inverse = 1 / gamma;
    double         re = creal(inverse), im = cimag(inverse);
    double        *T_im = is_complex ? self->T_im : NULL;
    // T = (gamma I - S)^-1
    if (!kd_increments_resolvent(&self->increments, creal(gamma), cimag(gamma), self->T, T_im)) return false;
    // real part of (K_p + K_normal / gamma) T
    memset(self->KT, 0, bytes);
    add_product(self, 1, self->K, self->T, self->KT);
    if (self->normals > 0) add_product(self, re, self->K_normal, self->T, self->KT);
    if (self->normals > 0 && is_complex) add_product(self, -im, self->K_normal, self->T_im, self->KT);
    kd_newton_eliminate(self, self->KT, self->W);
    if (!is_complex) return true;
    // imaginary part
    memset(self->KT_im, 0, bytes);
    add_product(self, 1, self->K, self->T_im, self->KT_im);
    if (self->normals > 0) add_product(self, im, self->K_normal, self->T, self->KT_im);
    if (self->normals > 0) add_product(self, re, self->K_normal, self->T_im, self->KT_im);
    kd_newton_eliminate(self, self->KT_im, self->W_im);
    return true;
}

// ---- factors --------------------------------------------------------------------------------------------------------

// Row and column factors of A: powers of gamma first, then rows and columns to maximum about 1.
static void set_scales(kd_newton *self, double gamma)
{
    double       *row = self->row, *column = self->column, base = kd_power_of_2(fabs(gamma));
    const double *A = self->value;
    const int    *start = self->A.column, *number = self->A.row;
    // columns by their power of gamma, rows by what remains
    memset(row, 0, (size_t)self->m * sizeof *row);
    for (int j = 0; j < self->m; j++) {
        double factor = self->power[j] == 0 ? 1 : self->power[j] > 0 ? base : 1 / base;
        for (int e = start[j]; e < start[j + 1]; e++) {
            double entry = fabs(A[e]) * factor;
            if (entry > row[number[e]]) row[number[e]] = entry;
        }
        column[j] = factor;
    }
    for (int i = 0; i < self->m; i++) row[i] = row[i] > 0 ? 1 / kd_power_of_2(row[i]) : 1;
    // columns once more
    for (int j = 0; j < self->m; j++) {
        double most = 0;
        for (int e = start[j]; e < start[j + 1]; e++) {
            double entry = fabs(A[e]) * row[number[e]];
            if (entry > most) most = entry;
        }
        if (most > 0) column[j] = 1 / kd_power_of_2(most);
    }
}

// A = gamma E + K + K_p T B, scaled; K_p T B = W / gamma where p' = v
static void real_values(kd_newton *self, double gamma)
{
    double        factor = self->increments.identity ? 1 / gamma : 1, *A = self->value;
    const double *E = self->A_E, *K = self->A_K, *W = self->W;
    int           count = kd_columns_count(&self->A);
    for (int e = 0; e < count; e++) A[e] = gamma * E[e] + K[e] + factor * W[e];
    set_scales(self, gamma);
    for (int j = 0; j < self->m; j++)
        for (int e = self->A.column[j]; e < self->A.column[j + 1]; e++)
            A[e] *= self->row[self->A.row[e]] * self->column[j];
}

// The same for a complex gamma of about the size of the real one, with its scales
static void complex_values(kd_newton *self, double complex gamma)
{
    double complex *A = self->value_complex, factor = 1 / gamma;
    const double   *E = self->A_E, *K = self->A_K, *W = self->W, *W_im = self->W_im;
    for (int j = 0; j < self->m; j++)
        for (int e = self->A.column[j]; e < self->A.column[j + 1]; e++) {
            double complex eliminated = self->increments.identity ? factor * W[e] : W[e] + W_im[e] * I;
            A[e] = (gamma * E[e] + K[e] + eliminated) * (self->row[self->A.row[e]] * self->column[j]);
        }
}

static kd_status factor_real(kd_newton *self)
{
    const size_t m = (size_t)self->m;
    if (!self->dense) return kd_sparse_lu_factor(self->lu, self->value);
    memset(self->full_A, 0, m * m * sizeof *self->full_A);
    for (int j = 0; j < self->m; j++)
        for (int e = self->A.column[j]; e < self->A.column[j + 1]; e++)
            self->full_A[self->A.row[e] + (ptrdiff_t)j * self->m] = self->value[e];
    return kd_linsolve_factor(self->solver, self->m, self->full_A);
}

static kd_status factor_complex(kd_newton *self)
{
    const size_t m = (size_t)self->m;
    if (!self->dense) return kd_sparse_lu_factor_complex(self->lu, self->value_complex);
    memset(self->full_complex, 0, m * m * sizeof *self->full_complex);
    for (int j = 0; j < self->m; j++)
        for (int e = self->A.column[j]; e < self->A.column[j + 1]; e++)
            self->full_complex[self->A.row[e] + (ptrdiff_t)j * self->m] = self->value_complex[e];
    return kd_linsolve_factor_complex(self->solver, self->m, self->full_complex);
}

static kd_status choose_pair(kd_newton *self, int k)
{
    if (self->lu) return kd_sparse_lu_pair(self->lu, k);
    return self->solver ? kd_linsolve_pair(self->solver, k) : KD_OK;
}

// Solvers of an estimated pattern come and go: all complex matrices that were ever asked for get their memory
kd_status kd_newton_pair(kd_newton *self, int k)
{
    if (k >= self->npairs) self->npairs = k + 1;
    self->pair = k;
    self->gamma_complex = self->gamma_pair[k];
    self->T = self->T_pair[k];
    self->T_im = self->T_im_pair[k];
    kd_status status = choose_pair(self, self->npairs - 1);
    return status == KD_OK ? choose_pair(self, k) : status;
}

kd_status kd_newton_factor(kd_newton *self, double gamma_real, double gamma_re, double gamma_im)
{
    kd_status status = KD_OK;
    bool      real = gamma_real != 0, turning = !self->increments.identity;
    if (real) self->gamma = gamma_real;
    self->gamma_complex = self->gamma_pair[self->pair] = gamma_re + gamma_im * I;
    self->refactorizations += (gamma_im != 0) + real;
    // real gamma: W, A, L U
    if (real && turning && !eliminate_turning(self, gamma_real)) return KD_ERR_DECOMPOSITION;
    if (real && turning)
        memcpy(self->T_real, self->T,
               (size_t)self->increments.s_start[self->increments.nblocks] * sizeof *self->T_real);
    if (real) real_values(self, gamma_real);
    if (real) status = factor_real(self);
    if (status < 0 || gamma_im == 0) return status;
    // complex gamma, with the real one's scales
    if (turning && !eliminate_turning(self, self->gamma_complex)) return KD_ERR_DECOMPOSITION;
    complex_values(self, self->gamma_complex);
    return factor_complex(self);
}

// ---- solutions ------------------------------------------------------------------------------------------------------

// Explicit form with analytic derivatives: M (v' - a) is the residual, so that its matrix serves both (S0 Eq. 9, 10).
static void multiply_mass(kd_newton *self, double *z)
{
    const kd_block_source *M = &self->source[self->mass];
    memcpy(self->rows, z, (size_t)self->nv * sizeof *z);
    memset(z, 0, (size_t)self->nv * sizeof *z);
    for (int j = 0; j < self->nv; j++)
        for (int k = M->pattern.column[j]; k < M->pattern.column[j + 1]; k++)
            z[M->pattern.row[k]] += M->value[k] * self->rows[j];
}

// rho (nv) and what is normal to the manifold, from the kinematic rows
static void split_kinematic_rows(kd_newton *self, const double *y, double *rho, double *normal)
{
    if (self->increments.identity)
        memcpy(rho, y, (size_t)self->nv * sizeof *y);
    else
        kd_increments_split(&self->increments, y, rho, normal);
}

// rho += Z+ (Z v)_p n: a move off the manifold changes the rates along it, too
static void turn_normal(kd_newton *self, const double *n, double *rho)
{
    double *rate = self->off + self->normals + 2 * self->np;
    kd_gemv_t(self->np, self->normals, 1, self->form->position.N, n, 0, self->off);
    memset(rate, 0, (size_t)self->np * sizeof *rate);
    for (int k = 0; k < self->normals; k++)
        kd_axpy(self->np, -self->off[k], self->F_normal + (ptrdiff_t)k * (self->np + self->m), rate);
    kd_increments_split(&self->increments, rate, self->turn, self->off + self->normals);
    kd_axpy(self->nv, 1, self->turn, rho);
}

// z -= K_p delta; columns of the same rows together: each row is found once for all of them
static void move_known(const kd_newton *self, const double *delta, double *z)
{
    for (int j = 0; j < self->nv; j += self->alike[j]) {
        const int     count = self->F.column[j + 1] - self->F.column[j], *row = self->F.row + self->F.column[j];
        const double *K = self->K + self->F.column[j], *d = delta + j;
        if (self->alike[j] == 3)
            for (int e = 0; e < count; e++) z[row[e]] -= K[e] * d[0] + K[e + count] * d[1] + K[e + 2 * count] * d[2];
        else
            for (int e = 0; e < count; e++) z[row[e]] -= K[e] * d[0];
    }
}

// z -= F_n n, n the known move off the manifold
static void move_normal(kd_newton *self, const double *n, double *z)
{
    const kd_position *position = &self->form->position;
    kd_gemv_t(self->np, self->normals, 1, position->N, n, 0, self->off);
    for (int k = 0; k < self->normals; k++)
        kd_axpy(self->m, -self->off[k], self->F_normal + self->np + (ptrdiff_t)k * (self->np + self->m), z);
}

// n = normal + the normal part of D_p(Z v) delta
static void known_normal(kd_newton *self, const double *normal, const double *delta, double *n)
{
    memcpy(n, normal, (size_t)self->np * sizeof *n);
    kd_increments_apply(&self->increments, self->increments.S, delta, self->turn);
    kd_increments_join(&self->increments, delta, self->turn, n, self->off + self->normals + 2 * self->np);
}

// rho += dv - U^2 (GZ)' D deta
static void add_velocity(const kd_newton *self, const double *z, double *rho)
{
    for (int j = 0; j < self->nv; j++) rho[j] += z[j];
    if (!self->has_eta) return;
    const kd_pattern *G = &self->source[self->gz].pattern;
    const double     *D = self->form->scale_eta, *eta = z + self->xe;
    for (int j = 0; j < self->nv; j++)
        for (int k = G->column[j]; k < G->column[j + 1]; k++)
            rho[j] -= self->form->square[j] * self->GZ[k] * D[G->row[k]] * eta[G->row[k]];
}

// delta = T rho
static void apply_T(kd_newton *self, const double *rho, double *delta)
{
    double inverse = 1 / self->gamma;
    if (self->increments.identity) {
        for (int j = 0; j < self->nv; j++) delta[j] = inverse * rho[j];
        return;
    }
    kd_increments_apply(&self->increments, self->T_real, rho, delta);
}

void kd_newton_solve(kd_newton *self, double *y)
{
    double *z = y + self->np;
    // kinematic rows: along the manifold, rho, and normal to it
    if (self->opt.explicit_form && !self->differenced) multiply_mass(self, z);
    split_kinematic_rows(self, y, self->rho, self->normal);
    if (self->normals > 0) {
        double *n = self->off + self->normals + self->np;
        for (int i = 0; i < self->np; i++) n[i] = self->normal[i] / self->gamma;
        turn_normal(self, n, self->rho);
    }
    // known part delta = T rho of the increments to the right-hand side: z -= K_p delta
    apply_T(self, self->rho, self->delta);
    move_known(self, self->delta, z);
    if (self->normals > 0) {
        double *n = self->off + self->normals;
        known_normal(self, self->normal, self->delta, n);
        for (int i = 0; i < self->np; i++) n[i] /= self->gamma;
        move_normal(self, n, z);
    }
    // A z = rhs: (dv, .., deta)
    for (int i = 0; i < self->m; i++) z[i] *= self->row[i];
    if (self->dense)
        kd_linsolve_solve(self->solver, z);
    else
        kd_sparse_lu_solve(self->lu, z, 1);
    for (int i = 0; i < self->m; i++) z[i] *= self->column[i];
    // delta = T (rho + dv - (GZ)' D deta), dp = Z delta + normal part
    add_velocity(self, z, self->rho);
    apply_T(self, self->rho, self->delta);
    if (self->increments.identity) {
        memcpy(y, self->delta, (size_t)self->nv * sizeof *y);
        return;
    }
    kd_increments_apply(&self->increments, self->increments.S, self->delta, self->turn);
    kd_increments_join(&self->increments, self->delta, self->turn, self->normal, y);
    kd_axpy(self->np, 1 / self->gamma, self->normal, y);
}

// The same with complex gamma: real and imaginary parts one after the other in rho, delta, turn, normal
static void apply_T_complex(kd_newton *self)
{
    int            nv = self->nv;
    double        *rho = self->rho, *delta = self->delta, *turn = self->turn;
    double complex inverse = 1 / self->gamma_complex;
    if (self->increments.identity) {
        for (int j = 0; j < nv; j++) {
            double complex value = inverse * (rho[j] + rho[nv + j] * I);
            delta[j] = creal(value);
            delta[nv + j] = cimag(value);
        }
        return;
    }
    // (T + i T_im) (rho_re + i rho_im)
    kd_increments_apply(&self->increments, self->T, rho, delta);
    kd_increments_apply(&self->increments, self->T_im, rho + nv, turn);
    for (int j = 0; j < nv; j++) delta[j] -= turn[j];
    kd_increments_apply(&self->increments, self->T, rho + nv, delta + nv);
    kd_increments_apply(&self->increments, self->T_im, rho, turn);
    for (int j = 0; j < nv; j++) delta[nv + j] += turn[j];
}

static void move_normal_complex(kd_newton *self, double *z_re, double *z_im)
{
    int            np = self->np;
    double complex inverse = 1 / self->gamma_complex;
    double        *re = self->off + self->normals, *im = re + np;
    known_normal(self, self->normal, self->delta, re);
    known_normal(self, self->normal + np, self->delta + self->nv, im);
    for (int i = 0; i < np; i++) {
        double complex value = inverse * (re[i] + im[i] * I);
        re[i] = creal(value);
        im[i] = cimag(value);
    }
    move_normal(self, re, z_re);
    move_normal(self, im, z_im);
}

static void turn_normal_complex(kd_newton *self)
{
    int            np = self->np;
    double        *n = self->off + self->normals + np;
    double complex inverse = 1 / self->gamma_complex;
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < np; i++) {
            double complex value = inverse * (self->normal[i] + self->normal[np + i] * I);
            n[i] = part == 0 ? creal(value) : cimag(value);
        }
        turn_normal(self, n, self->rho + part * self->nv);
    }
}

static void join_complex(kd_newton *self, double *y_re, double *y_im)
{
    int            np = self->np, nv = self->nv;
    double complex inverse = 1 / self->gamma_complex;
    if (self->increments.identity) {
        memcpy(y_re, self->delta, (size_t)nv * sizeof *y_re);
        memcpy(y_im, self->delta + nv, (size_t)nv * sizeof *y_im);
        return;
    }
    // dp = Z delta + normal / gamma, real and imaginary part
    double *parts[2] = {y_re, y_im};
    for (int part = 0; part < 2; part++) {
        kd_increments_apply(&self->increments, self->increments.S, self->delta + part * nv, self->turn + part * nv);
        kd_increments_join(&self->increments, self->delta + part * nv, self->turn + part * nv, self->normal + part * np,
                           parts[part]);
    }
    for (int i = 0; i < np; i++) {
        double complex normal = inverse * (self->normal[i] + self->normal[np + i] * I);
        y_re[i] += creal(normal);
        y_im[i] += cimag(normal);
    }
}

void kd_newton_solve_complex(kd_newton *self, double *y_re, double *y_im)
{
    int             np = self->np, nv = self->nv;
    double         *parts[2] = {y_re, y_im};
    double complex *z = self->z;
    // as above, by real and imaginary parts
    for (int part = 0; part < 2; part++) {
        if (self->opt.explicit_form && !self->differenced) multiply_mass(self, parts[part] + np);
        split_kinematic_rows(self, parts[part], self->rho + part * nv, self->normal + part * np);
    }
    if (self->normals > 0) turn_normal_complex(self);
    apply_T_complex(self);
    for (int part = 0; part < 2; part++) move_known(self, self->delta + part * nv, parts[part] + np);
    if (self->normals > 0) move_normal_complex(self, y_re + np, y_im + np);
    // A z = rhs
    for (int i = 0; i < self->m; i++) z[i] = (y_re[np + i] + y_im[np + i] * I) * self->row[i];
    if (self->dense)
        kd_linsolve_solve_complex(self->solver, z);
    else
        kd_sparse_lu_solve_complex(self->lu, z, 1);
    for (int i = 0; i < self->m; i++) {
        y_re[np + i] = creal(z[i]) * self->column[i];
        y_im[np + i] = cimag(z[i]) * self->column[i];
    }
    // increments of the positions
    for (int part = 0; part < 2; part++) add_velocity(self, parts[part] + np, self->rho + part * nv);
    apply_T_complex(self);
    join_complex(self, y_re, y_im);
}
