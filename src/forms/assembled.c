// assembled.c: the forms index3, index2, index1, baumgarte1, baumgarte2, ggl and psf1 as a kd_dae.
//
//     p' = Z (v - U^2 (GZ)' D eta)           eta: ggl only; U: natural units of velocities, D = 1 / |rows of GZ U|
//     0  = residual(p, v, v', r, w, s, lambda, mu)
//     r' = b,  0 = d,  0 = c
//     0  = phi                               index3 g; index2, ggl, psf1 gI; index1 gII; baumgarte2 gI + alpha g;
//                                            baumgarte1 gII + 2 alpha gI + beta^2 g
//     0  = h                                 index1 hI; baumgarte1 hI + alpha h
//     0  = g                                 ggl; psf1 instead of dependent kinematic rows
//
// Method and references: docs/methods/assembled.md. Rows of F: assembled_rows.c; Newton matrices: assembled_newton.c.
#include "forms/assembled.h"
#include "core/text.h"
#include "forms/assembled_impl.h"
#include "math/dense.h"
#include "point/projection.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- faults ---------------------------------------------------------------------------------------------------------

kd_eval kd_assembled_note(kd_assembled *self, kd_eval answer)
{
    return kd_form_note_data(&self->fault, self->data, answer);
}

// The same for what the acceleration object did.
static kd_eval note_acceleration(kd_assembled *self, kd_eval answer)
{
    return kd_form_note(&self->fault, self->acceleration, answer, "");
}

static kd_status assembled_fault(void *impl, const char **message)
{
    kd_assembled *self = impl;
    if (message) *message = self->fault.message;
    return self->fault.status;
}

// ---- residual -------------------------------------------------------------------------------------------------------

static kd_eval at_time(kd_assembled *self, double t)
{
    if (self->dims.nu > 0) memset(self->u, 0, (size_t)self->dims.nu * sizeof *self->u);
    if (self->inputs.eval && self->dims.nu > 0) {
        kd_eval answer = self->inputs.eval(t, self->inputs.context, self->u, self->du, self->ddu);
        if (answer != KD_EVAL_OK) {
            kd_status status = answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
            kd_form_fail(&self->fault, status, "t = %.9g: the inputs have no value", t);
            return answer;
        }
    }
    for (int i = 0; i < self->dims.nu; i++) self->u[i] += self->u_shift[i];
    kd_eom_at_time(self->data, t, self->u, self->du, self->ddu, self->state->z);
    return KD_EVAL_OK;
}

kd_eval kd_assembled_at(kd_assembled *self, double t, const double *x, const double *xdot)
{
    kd_eval answer = at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_position(self->data, x, x + self->xs);
    kd_eom_at_velocity(self->data, x + self->xv, x + self->xr);
    kd_eom_at_acceleration(self->data, xdot + self->xv, x + self->xw, x + self->xl, x + self->xm);
    return KD_EVAL_OK;
}

// v - U^2 (GZ)' D eta, or v itself where eta = 0
static kd_eval stabilized_velocity(kd_assembled *self, const double *x, const double **v)
{
    kd_dims d = self->dims;
    *v = x + self->xv;
    if (!self->eta_in_x || kd_norm_max(d.nlambda, x + self->xe) == 0) return KD_EVAL_OK;
    // v - (GZ)' (D eta)
    memcpy(self->v_eta, x + self->xv, (size_t)d.nv * sizeof(double));
    for (int i = 0; i < d.nlambda; i++) self->eta[i] = self->scale_eta[i] * x[self->xe + i];
    *v = self->v_eta;
    if (self->newton) return kd_newton_stabilize(self->newton, true, self->eta, self->v_eta);
    kd_eval answer = kd_eom_constraint_matrices(self->data, self->GZ, NULL);
    for (int j = 0; j < d.nv && answer == KD_EVAL_OK; j++)
        self->v_eta[j] -= self->square[j] * kd_dot(d.nlambda, self->GZ + (ptrdiff_t)j * d.nlambda, self->eta);
    return answer;
}

// p' - Z (v - U^2 (GZ)' D eta)
static kd_eval kinematic_rows(kd_assembled *self, const double *x, const double *xdot)
{
    const double *v;
    kd_eval       answer = stabilized_velocity(self, x, &v);
    if (answer != KD_EVAL_OK) return answer;
    if (self->position.identity) {
        for (int i = 0; i < self->dims.np; i++) self->raw[i] = xdot[i] - v[i];
        return KD_EVAL_OK;
    }
    if (v == self->v_eta) kd_eom_at_velocity(self->data, v, x + self->xr);
    answer = kd_eom_eval(self->data, KD_KINEMATICS, self->raw);
    for (int i = 0; i < self->dims.np; i++) self->raw[i] = xdot[i] - self->raw[i];
    if (v == self->v_eta) kd_eom_at_velocity(self->data, x + self->xv, x + self->xr);
    return answer;
}

static kd_eval level_rows(kd_assembled *self, const kd_level_sum *sum, int rows, double *out)
{
    kd_eval answer = kd_eom_eval(self->data, sum->fn[0], out); // its factor is 1
    for (int k = 1; k < sum->count && answer == KD_EVAL_OK; k++) {
        answer = kd_eom_eval(self->data, sum->fn[k], self->value);
        kd_axpy(rows, sum->factor[k], self->value, out);
    }
    return answer;
}

// The residual (S0 Eq. 9), or v' - a with a from the explicit formalism (Eq. 10)
static kd_eval dynamic_rows(kd_assembled *self, const double *vdot, double *out)
{
    int nv = self->dims.nv;
    if (self->opt.explicit_form && !self->M) { // the definition has an explicit formalism
        kd_eval answer = kd_eom_acceleration(self->data, out);
        for (int i = 0; i < nv; i++) out[i] = vdot[i] - out[i];
        return answer;
    }
    kd_eval answer = kd_eom_eval(self->data, KD_RESIDUAL, out);
    if (!self->opt.explicit_form || answer != KD_EVAL_OK) return answer;
    answer = kd_eom_eval(self->data, KD_MASS, self->M); // v' - a = M^-1 residual
    if (answer == KD_EVAL_OK && kd_cholesky_factor(nv, self->M) != 0) answer = KD_EVAL_RETRY;
    if (answer == KD_EVAL_OK) kd_cholesky_solve(nv, self->M, out, 1);
    return answer;
}

static kd_eval optional_rows(kd_assembled *self, bool wanted, kd_fn fn, int row)
{
    return wanted ? kd_eom_eval(self->data, fn, self->raw + row) : KD_EVAL_OK;
}

kd_eval kd_assembled_raw(kd_assembled *self, double t, const double *x, const double *xdot)
{
    kd_dims d = self->dims;
    kd_eval answer = at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    // position and velocity stage; selectors and scales that belong to the active rows
    kd_eom_at_position(self->data, x, x + self->xs);
    kd_eom_at_velocity(self->data, x + self->xv, x + self->xr);
    if (kd_assembled_prepare(self) < 0)
        return self->fault.status == KD_ERR_CALLBACK_STOP ? KD_EVAL_STOP : KD_EVAL_RETRY;
    // p' - Z (v - (GZ)' D eta); M v' - f + ..; r' - b; d; c
    if (!self->without_kinematics) answer = kinematic_rows(self, x, xdot);
    kd_eom_at_acceleration(self->data, xdot + self->xv, x + self->xw, x + self->xl, x + self->xm);
    if (answer == KD_EVAL_OK) answer = dynamic_rows(self, xdot + self->xv, self->raw + self->dyn);
    if (answer == KD_EVAL_OK) answer = optional_rows(self, d.nr > 0, KD_B, self->r);
    for (int i = 0; i < d.nr; i++) self->raw[self->r + i] = xdot[self->xr + i] - self->raw[self->r + i];
    if (answer == KD_EVAL_OK) answer = optional_rows(self, d.nw > 0, KD_D, self->d);
    if (answer == KD_EVAL_OK) answer = optional_rows(self, d.ns > 0, KD_C, self->c);
    // phi, h | g, q
    if (answer == KD_EVAL_OK && d.nlambda > 0)
        answer = level_rows(self, &self->phi_rows, d.nlambda, self->raw + self->phi);
    if (answer == KD_EVAL_OK && d.nmu > 0) answer = level_rows(self, &self->h_rows, d.nmu, self->raw + self->h);
    bool position = (self->has_eta || self->has_selectors) && d.nlambda > 0;
    if (answer == KD_EVAL_OK) answer = optional_rows(self, position, KD_G, self->g);
    if (answer == KD_EVAL_OK) answer = optional_rows(self, self->has_selectors && d.nq > 0, KD_Q, self->q);
    return kd_assembled_note(self, answer);
}

static kd_eval assembled_residual(void *impl, double t, const double *x, const double *xdot, double *F)
{
    kd_assembled *self = impl;
    self->between = false;
    self->counters.residuals++;
    kd_eval answer = kd_assembled_raw(self, t, x, xdot);
    if (answer == KD_EVAL_OK) kd_assembled_combine(self, self->raw, x, F);
    return answer;
}

// ---- ends of steps --------------------------------------------------------------------------------------------------

// Keep the acceleration of an accepted point.
static void keep_acceleration(kd_assembled *self, double t, const double *a)
{
    double *oldest = self->a_kept[0];
    self->a_kept[0] = self->a_kept[1];
    self->t_kept[0] = self->t_kept[1];
    self->a_kept[1] = oldest;
    self->t_kept[1] = t;
    memcpy(oldest, a, (size_t)self->dims.nv * sizeof *a);
}

// psf1: all constraint levels and invariants at the new point; other forms: quaternion norms only
static kd_eval assembled_correct(void *impl, double t, double *x, const double *xdot)
{
    kd_assembled *self = impl;
    kd_eval       answer = KD_EVAL_OK;
    if (self->has_selectors) {
        answer = note_acceleration(self, kd_acceleration_project(self->acceleration, t, x, x + self->xs, x + self->xv,
                                                                 x + self->xr, self->opt.invariants));
    } else if (self->dims.nq > 0) {
        answer = at_time(self, t);
        if (answer == KD_EVAL_OK)
            answer = kd_assembled_note(self, kd_position_normalise(&self->position, self->data, x + self->xs, x));
    }
    if (answer == KD_EVAL_OK) keep_acceleration(self, t, xdot + self->xv);
    return answer;
}

// a, w, lambda, mu from the equations of motion at (t, x)
static kd_eval solve_accelerations(kd_assembled *self, double t, const double *x)
{
    const kd_dims d = self->dims;
    self->between = false;
    memcpy(self->w, x + self->xw, (size_t)d.nw * sizeof *x);
    memcpy(self->lambda, x + self->xl, (size_t)d.nlambda * sizeof *x);
    memcpy(self->mu, x + self->xm, (size_t)d.nmu * sizeof *x);
    return note_acceleration(self, kd_acceleration_solve(self->acceleration, t, x, x + self->xs, x + self->xv,
                                                         x + self->xr, self->a, self->w, self->lambda, self->mu));
}

// p' = Z v, v' = a, r' = b
static kd_eval assembled_start(void *impl, double t, const double *x, double *xdot)
{
    kd_assembled *self = impl;
    kd_dims       d = self->dims;
    kd_eom_data  *data = kd_acceleration_data(self->acceleration);
    memset(xdot, 0, (size_t)self->n * sizeof *xdot);
    kd_eval answer = solve_accelerations(self, t, x);
    if (answer != KD_EVAL_OK) return answer;
    memcpy(xdot + self->xv, self->a, (size_t)d.nv * sizeof *x);
    kd_eom_at_acceleration(data, self->a, self->w, self->lambda, self->mu);
    if (d.nr > 0) answer = kd_eom_eval(data, KD_B, xdot + self->xr);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(data, KD_KINEMATICS, xdot);
    if (answer != KD_EVAL_OK)
        kd_form_fail(&self->fault, kd_eom_data_fault(data).status, "%s", kd_eom_data_message(data));
    return answer;
}

// A point inside a step has just been solved for
static kd_eval assembled_acceleration(void *impl, double t, const double *x, double *a)
{
    kd_assembled *self = impl;
    const bool    known =
        self->between && self->t_between == t && memcmp(self->x_between, x, (size_t)self->n * sizeof *x) == 0;
    kd_eval answer = known ? KD_EVAL_OK : solve_accelerations(self, t, x);
    if (answer == KD_EVAL_OK) memcpy(a, self->a, (size_t)self->dims.nv * sizeof *a);
    return answer;
}

// x and x' behind a jump of z, from the equations of motion alone
static kd_eval solve_jump(kd_assembled *self, double t, double *x, double *xdot, bool *done)
{
    kd_dims       d = self->dims;
    const double *k = self->k_jump;
    kd_eval       answer =
        kd_acceleration_jump(self->acceleration, t, x, x + self->xs, x + self->xv, x + self->xr, xdot + self->xv,
                             x + self->xw, x + self->xl, x + self->xm, self->k_jump, done);
    if (answer != KD_EVAL_OK || !*done) return note_acceleration(self, answer);
    // v' and multipliers by their jumps, r' = b behind it
    for (int i = 0; i < d.nv; i++) xdot[self->xv + i] += k[i];
    for (int i = 0; i < self->nc; i++) x[self->xl + i] += k[d.nv + i];
    if (d.nr == 0) return KD_EVAL_OK;
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eom_at_acceleration(data, xdot + self->xv, x + self->xw, x + self->xl, x + self->xm);
    answer = kd_eom_eval(data, KD_B, xdot + self->xr);
    if (answer != KD_EVAL_OK)
        kd_form_fail(&self->fault, kd_eom_data_fault(data).status, "%s", kd_eom_data_message(data));
    return answer;
}

static void assembled_forget(void *impl)
{
    kd_dense_output_forget(((kd_assembled *)impl)->dense);
}

// Accelerations jump, and so do v' and, along Z, p''; those that were kept for extrapolation move along.
static kd_eval assembled_resolve(void *impl, double t, double *x, double *xdot, double *jump, double *bend)
{
    kd_assembled *self = impl;
    kd_dims       d = self->dims;
    bool          done = false;
    self->between = false;
    for (int i = 0; i < self->n; i++) jump[i] = self->xv <= i && i < self->xw ? -xdot[i] : 0;
    memset(bend, 0, (size_t)self->n * sizeof *bend);
    // v' and lambda of index 3 satisfy the equations of motion too loosely for a difference
    kd_eval answer = self->form == KD_INDEX3 ? KD_EVAL_OK : solve_jump(self, t, x, xdot, &done);
    if (answer == KD_EVAL_OK && !done) {
        answer = assembled_start(impl, t, x, xdot);
        if (answer != KD_EVAL_OK) return answer;
        memcpy(x + self->xw, self->w, (size_t)d.nw * sizeof *x);
        memcpy(x + self->xl, self->lambda, (size_t)d.nlambda * sizeof *x);
        memcpy(x + self->xm, self->mu, (size_t)d.nmu * sizeof *x);
    }
    if (answer != KD_EVAL_OK) return answer;
    // what v' and r' have changed by; where p' = v, p'' by as much
    for (int i = self->xv; i < self->xw; i++) jump[i] += xdot[i];
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < d.nv; i++) self->a_kept[k][i] += jump[self->xv + i];
    if (self->position.identity) memcpy(bend, jump + self->xv, (size_t)d.nv * sizeof *bend);
    return KD_EVAL_OK;
}

// self->a belongs to (t, x), a point inside a step
static void keep_between(kd_assembled *self, bool solved, double t, const double *x)
{
    self->between = solved;
    self->t_between = t;
    if (solved) memcpy(self->x_between, x, (size_t)self->n * sizeof *x);
}

static kd_eval assembled_interpolate(void *impl, double t0, const double *x0, double t1, const double *x1, double t,
                                     double *x)
{
    kd_assembled *self = impl;
    if (self->eta_in_x) memset(x + self->xe, 0, (size_t)self->dims.nlambda * sizeof *x);
    kd_eval answer = kd_dense_output_eval(self->dense, t0, x0, t1, x1, t, x, t == t0 || t == t1 ? NULL : self->a);
    keep_between(self, answer == KD_EVAL_OK && t != t0 && t != t1, t, x);
    return note_acceleration(self, answer);
}

static kd_eval assembled_between(void *impl, double t, double *x)
{
    kd_assembled *self = impl;
    kd_eval       answer = kd_dense_output_settle(self->dense, t, x, self->a);
    keep_between(self, answer == KD_EVAL_OK && self->on_constraints, t, x);
    return note_acceleration(self, answer);
}

// p: the quintic Hermite polynomial of (p, v, v') at both ends, v its derivative; only for p' = v
static void assembled_extrapolate(void *impl, double t0, const double *x0, double t1, const double *x1, double t,
                                  double *x)
{
    kd_assembled *self = impl;
    const double *v0 = x0 + self->xv, *v1 = x1 + self->xv;
    if (!self->position.identity || self->t_kept[0] != t0 || self->t_kept[1] != t1) return;
    for (int i = 0; i < self->dims.nv; i++)
        kd_quintic(t0, t1, t, x0[i], v0[i], self->a_kept[0][i], x1[i], v1[i], self->a_kept[1][i], &x[i],
                   &x[self->xv + i]);
}

// ---- names and numbers ----------------------------------------------------------------------------------------------

static const char *assembled_component_name(void *impl, int i, char *buffer, size_t size)
{
    kd_assembled *self = impl;
    const struct {
        const char *word;
        kd_kind     kind;
        int         first;
    } part[] = {
        {"position", KD_NAME_P, 0},
        {"velocity", KD_NAME_V, self->xv},
        {"inner state", KD_NAME_R, self->xr},
        {"auxiliary variable", KD_NAME_W, self->xw},
        {"contact coordinate", KD_NAME_S, self->xs},
        {"multiplier of", KD_NAME_LAMBDA, self->xl},
        {"multiplier of", KD_NAME_MU, self->xm},
        {"eta of", KD_NAME_LAMBDA, self->xe},
    };
    int k = (int)(sizeof part / sizeof *part) - 1;
    while (k > 0 && i < part[k].first) k--;
    return kd_form_component(self->eom, part[k].word, part[k].kind, i - part[k].first, buffer, size);
}

static kd_dae_counters assembled_counters(void *impl)
{
    kd_assembled   *self = impl;
    kd_dae_counters counters = self->counters;
    counters.for_differences += kd_eom_data_counters(self->data).for_differences + self->normal_differences;
    return self->newton ? kd_newton_counters(self->newton, counters) : counters;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void assembled_destroy(void *impl)
{
    kd_assembled *self = impl;
    if (!self) return;
    kd_newton_destroy(self->newton);
    kd_linsolve_destroy(self->solver);
    kd_dense_output_destroy(self->dense);
    kd_acceleration_destroy(self->acceleration);
    kd_eom_data_destroy(self->data);
    kd_arena_release(&self->arena);
    kd_free(self);
}

// one table for each form; they differ in the name only
#define KD_ASSEMBLED_CLASS(form, word, sentence, cheap)                                                                \
    [form] = {                                                                                                         \
        .name = word,                                                                                                  \
        .residual = assembled_residual,                                                                                \
        .linearize = kd_assembled_linearize,                                                                           \
        .update = cheap,                                                                                               \
        .factor = kd_assembled_factor,                                                                                 \
        .reduce = kd_assembled_reduce,                                                                                 \
        .solve_real = kd_assembled_solve_real,                                                                         \
        .pair = kd_assembled_pair,                                                                                     \
        .solve_complex = kd_assembled_solve_complex,                                                                   \
        .expand = kd_assembled_expand,                                                                                 \
        .correct = assembled_correct,                                                                                  \
        .extrapolate = assembled_extrapolate,                                                                          \
        .interpolate = assembled_interpolate,                                                                          \
        .between = assembled_between,                                                                                  \
        .start = assembled_start,                                                                                      \
        .acceleration = assembled_acceleration,                                                                        \
        .resolve = assembled_resolve,                                                                                  \
        .forget = assembled_forget,                                                                                    \
        .component_name = assembled_component_name,                                                                    \
        .fault = assembled_fault,                                                                                      \
        .counters = assembled_counters,                                                                                \
        .archive = kd_assembled_archive,                                                                               \
        .destroy = assembled_destroy,                                                                                  \
    },
#define KD_EVALUATING_CLASS(form, word, sentence) KD_ASSEMBLED_CLASS(form, word, sentence, NULL)
#define KD_UPDATING_CLASS(form, word, sentence) KD_ASSEMBLED_CLASS(form, word, sentence, kd_assembled_update)
static const kd_dae_class evaluating[KD_FORMULATION_COUNT] = {KD_FORMULATION_LIST(KD_EVALUATING_CLASS)};
static const kd_dae_class updating[KD_FORMULATION_COUNT] = {KD_FORMULATION_LIST(KD_UPDATING_CLASS)};

const kd_newton *kd_assembled_newton(const kd_dae *dae)
{
    if (dae->methods->residual != assembled_residual) return NULL;
    return ((const kd_assembled *)dae->impl)->newton;
}

static void set_levels(kd_assembled *self)
{
    double       alpha = self->opt.baumgarte_alpha, beta = self->opt.baumgarte_beta;
    kd_level_sum velocity = {.count = 1, .fn = {KD_GI}, .factor = {1}};
    self->phi_rows = velocity;
    self->h_rows = (kd_level_sum){.count = 1, .fn = {KD_H}, .factor = {1}};
    switch (self->form) {
    case KD_INDEX3:
        self->phi_rows = (kd_level_sum){.count = 1, .fn = {KD_G}, .factor = {1}};
        break;
    case KD_INDEX1:
        self->phi_rows = (kd_level_sum){.count = 1, .fn = {KD_GII}, .factor = {1}};
        self->h_rows = (kd_level_sum){.count = 1, .fn = {KD_HI}, .factor = {1}};
        break;
    case KD_BAUMGARTE2:
        self->phi_rows = (kd_level_sum){.count = 2, .fn = {KD_GI, KD_G}, .factor = {1, alpha}};
        break;
    case KD_BAUMGARTE1:
        self->phi_rows = (kd_level_sum){.count = 3, .fn = {KD_GII, KD_GI, KD_G}, .factor = {1, 2 * alpha, beta * beta}};
        self->h_rows = (kd_level_sum){.count = 2, .fn = {KD_HI, KD_H}, .factor = {1, alpha}};
        break;
    default:
        break;
    }
}

static void set_layout(kd_assembled *self)
{
    kd_dims d = self->dims;
    self->nc = d.nlambda + d.nmu;
    self->has_eta = (self->form == KD_GGL || self->form == KD_ODASSL) && d.nlambda > 0;
    // the SVD combines the rows of g with eta: odassl is then the same as ggl
    self->eta_in_x = self->has_eta && (self->form == KD_GGL || self->opt.constraints == KD_DECOMPOSE_SVD);
    self->has_selectors = self->form == KD_PSF1;
    kd_mass_structure structure = kd_eom_definition(self->eom)->mass_structure;
    self->constant_mass = structure == KD_MASS_FULL_CONSTANT || structure == KD_MASS_DIAGONAL_CONSTANT;
    // x = [p v r w s lambda mu | eta]
    self->xv = d.np;
    self->xr = self->xv + d.nv;
    self->xw = self->xr + d.nr;
    self->xs = self->xw + d.nw;
    self->xl = self->xs + d.ns;
    self->xm = self->xl + d.nlambda;
    self->xe = self->xm + d.nmu;
    self->n = self->xe + (self->eta_in_x ? d.nlambda : 0);

    // raw rows: kinematic, dynamic, r, d, c, phi, h | g, q
    self->dyn = d.np;
    self->r = self->dyn + d.nv;
    self->d = self->r + d.nr;
    self->c = self->d + d.nw;
    self->phi = self->c + d.ns;
    self->h = self->phi + d.nlambda;
    self->g = self->h + d.nmu;
    self->q = self->g + (self->has_eta || self->has_selectors ? d.nlambda : 0);
    self->nraw = self->q + (self->has_selectors ? d.nq : 0);
}

// kind, index and error control of each component
static void describe_components(kd_assembled *self)
{
    kd_dims d = self->dims;
    bool    constrained = self->nc > 0;
    bool    index1 = self->form == KD_INDEX1 || self->form == KD_BAUMGARTE1 || !constrained;
    bool    index3 = self->form == KD_INDEX3 && d.nlambda > 0;
    bool    all = self->opt.control_multipliers;
    // forces act through velocities: unless they are controlled themselves, their Newton increments count h times
    int of_velocity = index3 ? 2 : 1, of_multiplier = index1 ? (all ? 1 : 2) : index3 ? 3 : 2;
    struct {
        kd_component kind;
        int          count, index;
        bool         controlled;
    } part[] = {
        {KD_COMPONENT_POSITION, d.np, 1, true},
        {KD_COMPONENT_VELOCITY, d.nv, of_velocity, true},
        {KD_COMPONENT_INNER, d.nr, 1, true},
        {KD_COMPONENT_AUXILIARY, d.nw, of_multiplier, all},
        {KD_COMPONENT_CONTACT, d.ns, 1, true},
        {KD_COMPONENT_MULTIPLIER, self->nc, of_multiplier, all},
        {KD_COMPONENT_INTERNAL, self->eta_in_x ? d.nlambda : 0, 2, false},
    };
    for (size_t k = 0, i = 0; k < sizeof part / sizeof *part; k++) {
        for (int j = 0; j < part[k].count; j++, i++) {
            self->component[i] = part[k].kind;
            self->index[i] = part[k].index;
            self->controlled[i] = part[k].controlled;
        }
    }
}

// Are the rows of F combinations of raw rows?
static bool is_combined(const kd_assembled *self)
{
    return self->has_selectors || self->opt.constraints == KD_DECOMPOSE_SVD;
}

static void cut_arrays(kd_assembled *self)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    // inputs, residuals as they come, and their combinations
    self->u = kd_cut_double(arena, d.nu);
    self->du = kd_cut_double(arena, d.nu);
    self->u_shift = kd_cut_double(arena, d.nu);
    self->drive_shift = kd_cut_double(arena, kd_eom_definition(self->eom)->ndrives);
    self->ddu = kd_cut_double(arena, d.nu);
    self->raw = kd_cut_double(arena, self->nraw);
    self->value = kd_cut_double(arena, self->nc);
    // velocities and accelerations between steps
    self->v_eta = kd_cut_double(arena, d.nv);
    self->square = kd_cut_double(arena, d.nv);
    self->a = kd_cut_double(arena, d.nv);
    // accepted accelerations, for the next guess
    for (int k = 0; k < 2; k++) {
        self->a_kept[k] = kd_cut_double(arena, d.nv);
        self->t_kept[k] = NAN;
    }
    // jumps, and the point between steps
    self->k_jump = kd_cut_double(arena, d.nv + self->nc);
    self->x_between = kd_cut_double(arena, self->n);
    self->w = kd_cut_double(arena, d.nw);
    self->lambda = kd_cut_double(arena, d.nlambda);
    self->mu = kd_cut_double(arena, d.nmu);
    // what the integrator is told
    self->component = kd_arena_cut(arena, (size_t)self->n, sizeof *self->component);
    self->index = kd_cut_int(arena, self->n);
    self->controlled = kd_cut_bool(arena, self->n);
    // derivatives of positions, mass matrix, rows, Newton matrices
    kd_position_cut(&self->position, arena, self->eom);
    if (self->opt.explicit_form && !kd_eom_definition(self->eom)->acceleration)
        self->M = kd_cut_double(arena, d.nv * d.nv);
    kd_assembled_cut_rows(self);
    if (is_combined(self)) kd_assembled_cut_newton(self);
}

static kd_linear_kind linear_kind(const kd_formulation_options *opt)
{
    return opt->sparse ? KD_LINEAR_SPARSE : opt->differential_qr ? KD_LINEAR_QR : KD_LINEAR_LU;
}

static kd_status create_parts(kd_assembled *self)
{
    cut_arrays(self);
    if (self->arena.failed) return KD_ERR_MEMORY;
    describe_components(self);
    for (int j = 0; j < self->dims.nv; j++) self->square[j] = kd_eom_unit(self->eom, j) * kd_eom_unit(self->eom, j);
    bool projects = kd_projects(self->eom, self->form, &self->opt) && self->opt.projection == KD_PROJECT_ALWAYS;
    self->on_constraints = self->has_eta || self->form == KD_PSF1 || projects;
    kd_status status = kd_eom_data_create(self->eom, &self->data);
    if (status >= 0) kd_eom_at_parameters(self->data, self->state->theta);
    if (status >= 0)
        status = kd_acceleration_create(self->eom, &self->inputs, self->state, &self->opt, &self->acceleration);
    if (status >= 0 && !self->opt.project_mass) kd_acceleration_euclidean(self->acceleration);
    if (status >= 0) status = kd_dense_output_create(self->acceleration, self->on_constraints, &self->dense);
    if (status < 0) return status;
    if (!is_combined(self)) return kd_newton_create(self, &self->newton);
    return kd_linsolve_create(self->n, linear_kind(&self->opt), NULL, &self->solver);
}

// kd_dae_class.project
static kd_eval project_state(void *impl, double t, double *x, bool *moved)
{
    kd_assembled *self = impl;
    kd_eval       answer =
        kd_project(self->acceleration, &self->opt, t, x, x + self->xs, x + self->xv, x + self->xr, self->value, moved);
    if (answer == KD_EVAL_OK) {
        self->counters.projections += *moved;
    } else {
        const char *message;
        kd_status   status = kd_acceleration_fault(self->acceleration, &message);
        kd_form_fail(&self->fault, status, "projection: %s", message);
    }
    return answer;
}

kd_status kd_assembled_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_formulation form,
                              const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size)
{
    kd_status     status = KD_ERR_MEMORY;
    kd_assembled *self = kd_alloc(sizeof *self);
    kd_dae       *object = kd_alloc(sizeof *object);
    *dae = NULL;
    if (!self || !object) goto done;
    // what it is made of
    self->eom = eom;
    self->state = x;
    self->form = form;
    self->opt = *opt;
    self->dims = kd_eom_dims(eom);
    self->dae = object;
    if (inputs) self->inputs = *inputs;
    // unknowns, rows, constraint levels of the form
    set_layout(self);
    set_levels(self);
    status = create_parts(self);
    if (status < 0) goto done;
    // what the integrator sees
    int nrows = self->has_selectors ? self->n : self->nraw;
    self->methods = self->newton && opt->update != KD_UPDATE_FULL ? updating[form] : evaluating[form];
    if (kd_projects(eom, form, opt)) self->methods.project = project_state;
    *object = (kd_dae){
        .methods = &self->methods,
        .impl = self,
        .n = self->n,
        .nrows = nrows,
        .nreduced = nrows,
        .nreduced_max = nrows,
        .ndifferential = is_combined(self) ? 0 : self->d,
        .component = self->component,
        .index = self->index,
        .controlled = self->controlled,
        .nstate = self->xe,
    };
    *dae = object;
done:
    if (status < 0) {
        kd_text(message, size, "the %s form: %s", kd_formulation_word(form), kd_status_sentence(status));
        assembled_destroy(self);
        kd_free(object);
    }
    return status;
}
