// ode.c: the underlying ordinary differential equation of the equations of motion, x = [p v r]:
//
//     p' = Z v,   v' = a,   r' = b     with (a, lambda, mu, w, s) from residual = 0, gII = 0, hI = 0, d = 0, c = 0
//
// Constraints hold on acceleration level only: positions and velocities drift unless they are projected (S1 Eq. 36).
// Without constraints and auxiliary variables a comes from the explicit formalism of the definition, where it has one.
// Newton matrices for implicit integrators: ode_newton.c. Method: docs/methods/projection.md
#include "forms/ode.h"
#include "core/archive.h"
#include "core/text.h"
#include "forms/archive.h"
#include "forms/ode_impl.h"
#include "math/dense.h"
#include "point/projection.h"
#include <string.h>

#define RESERVED 600 // size of x up to which Newton matrices are allocated at creation

// ---- faults ---------------------------------------------------------------------------------------------------------

kd_status kd_ode_fail(kd_ode *self, kd_status status, const char *what)
{
    return kd_form_fail(&self->fault, status, "%s", what);
}

kd_eval kd_ode_note(kd_ode *self, kd_eval answer, const char *what)
{
    return kd_form_note(&self->fault, self->acceleration, answer, what);
}

// The same for what the evaluation point refused.
static kd_eval note_data(kd_ode *self, kd_eval answer)
{
    return kd_form_note_data(&self->fault, kd_acceleration_data(self->acceleration), answer);
}

static kd_status ode_fault(void *impl, const char **message)
{
    kd_ode *self = impl;
    if (message) *message = self->fault.message;
    return self->fault.status;
}

// ---- the point ------------------------------------------------------------------------------------------------------

static bool same_point(const kd_ode *self, const kd_ode_point *point, double t, const double *x)
{
    kd_dims         d = self->dims;
    const kd_state *state = self->state;
    return point->known && point->t == t && memcmp(point->x, x, (size_t)self->n * sizeof *x) == 0 &&
           (d.nz == 0 || memcmp(point->z, state->z, (size_t)d.nz * sizeof *x) == 0) &&
           memcmp(point->active, state->active_lambda, (size_t)d.nlambda) == 0 &&
           memcmp(point->active + d.nlambda, state->active_mu, (size_t)d.nmu) == 0;
}

static void set_point(const kd_ode *self, kd_ode_point *point, double t, const double *x)
{
    kd_dims         d = self->dims;
    const kd_state *state = self->state;
    point->known = false;
    point->t = t;
    memmove(point->x, x, (size_t)self->n * sizeof *x);
    memcpy(point->w, self->guess, (size_t)(self->nwhole - self->n) * sizeof *x);
    if (d.nz > 0) memcpy(point->z, state->z, (size_t)d.nz * sizeof *x);
    memcpy(point->active, state->active_lambda, (size_t)d.nlambda);
    memcpy(point->active + d.nlambda, state->active_mu, (size_t)d.nmu);
}

// a of the explicit formalism, for equations without multipliers and auxiliary variables
static kd_eval explicit_acceleration(kd_ode *self, kd_ode_point *at)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eval answer = kd_acceleration_at(self->acceleration, at->t, at->x, at->s, at->x + self->xv, at->x + self->xr);
    if (answer != KD_EVAL_OK) return kd_ode_note(self, answer, "");
    kd_eom_at_acceleration(data, self->zero, at->w, at->lambda, at->mu);
    return note_data(self, kd_eom_acceleration(data, at->a));
}

static kd_eval solve_accelerations(kd_ode *self, kd_ode_point *at)
{
    kd_eval answer = kd_ode_note(self, kd_acceleration_contacts(self->acceleration, at->t, at->x, at->s), "");
    if (answer != KD_EVAL_OK) return answer;
    if (self->direct) {
        answer = explicit_acceleration(self, at);
        if (answer != KD_EVAL_RETRY) return answer; // M singular for the recursion: once more with all equations
    }
    return kd_ode_note(self,
                       kd_acceleration_solve(self->acceleration, at->t, at->x, at->s, at->x + self->xv,
                                             at->x + self->xr, at->a, at->w, at->lambda, at->mu),
                       "");
}

// p' = Z v; the data are at the point
static kd_eval position_rate(kd_ode *self, kd_ode_point *at)
{
    if (!self->position.identity)
        return note_data(self, kd_eom_eval(kd_acceleration_data(self->acceleration), KD_KINEMATICS, at->xdot));
    memcpy(at->xdot, at->x + self->xv, (size_t)self->dims.np * sizeof *at->x);
    return KD_EVAL_OK;
}

// v' = a and r' = b of the accelerations that were found
static kd_eval other_rates(kd_ode *self, kd_ode_point *at)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eom_at_acceleration(data, at->a, at->w, at->lambda, at->mu);
    kd_eval answer = self->dims.nr > 0 ? note_data(self, kd_eom_eval(data, KD_B, at->xdot + self->xr)) : KD_EVAL_OK;
    memcpy(at->xdot + self->xv, at->a, (size_t)self->dims.nv * sizeof *at->x);
    return answer;
}

// out = Z dp, in coordinates of x, which leaves norms of quaternions alone, as a step does
static kd_eval carry_increment(kd_ode *self, const double *dp, double *out)
{
    const kd_dims d = self->dims;
    if (self->position.identity) memcpy(out, dp, (size_t)d.nv * sizeof *out);
    if (self->position.identity) return KD_EVAL_OK;
    kd_eval answer = kd_eom_Z(kd_acceleration_data(self->acceleration), self->normal_Z);
    memset(out, 0, (size_t)d.np * sizeof *out);
    for (int j = 0; j < d.nv; j++) kd_axpy(d.np, dp[j], self->normal_Z + (ptrdiff_t)j * d.np, out);
    return answer;
}

// x' -= gamma F h(x) (S2 Eq. 9), h = (g; gI, h), F = inv(M) C' inv(C inv(M) C') on both levels: h' = -gamma h
static kd_eval stabilise(kd_ode *self, kd_ode_point *at)
{
    const kd_dims d = self->dims;
    const double  gamma = self->opt.stabilisation, *v = at->x + self->xv, *r = at->x + self->xr;
    double       *rows = self->stable_rows, *dp = self->stable_increment, *dv = dp + d.nv, *carried = dv + d.nv;
    kd_eval       answer = kd_acceleration_violations(self->acceleration, at->t, at->x, at->s, v, r, rows);
    if (answer == KD_EVAL_OK)
        answer = kd_acceleration_normal(self->acceleration, at->t, at->x, at->s, v, r, rows, dp, dv);
    if (answer == KD_EVAL_OK) answer = carry_increment(self, dp, carried);
    if (answer != KD_EVAL_OK) return kd_ode_note(self, answer, "stabilisation: ");
    kd_axpy(d.np, -gamma, carried, at->xdot);
    kd_axpy(d.nv, -gamma, dv, at->xdot + self->xv);
    return KD_EVAL_OK;
}

kd_eval kd_ode_solve(kd_ode *self, double t, const double *x)
{
    kd_ode_point *at = &self->last;
    if (same_point(self, at, t, x)) return KD_EVAL_OK;
    // s, then a, lambda, mu, w, then x'
    set_point(self, at, t, x);
    kd_eval answer = solve_accelerations(self, at);
    if (answer == KD_EVAL_OK) answer = other_rates(self, at);
    if (answer == KD_EVAL_OK) answer = position_rate(self, at);
    if (answer == KD_EVAL_OK && self->stable_rows) answer = stabilise(self, at);
    if (answer != KD_EVAL_OK) return answer;
    memcpy(self->guess, at->w, (size_t)(self->nwhole - self->n) * sizeof *x);
    at->known = true;
    return KD_EVAL_OK;
}

// ---- right-hand side ------------------------------------------------------------------------------------------------

kd_eval kd_ode_rhs(void *impl, double t, const double *x, double *xdot)
{
    kd_ode *self = impl;
    kd_eval answer = kd_ode_solve(self, t, x);
    if (answer == KD_EVAL_OK) memcpy(xdot, self->last.xdot, (size_t)self->n * sizeof *x);
    return answer;
}

static kd_eval ode_rhs(void *impl, double t, const double *x, double *xdot)
{
    ((kd_ode *)impl)->counters.residuals++;
    return kd_ode_rhs(impl, t, x, xdot);
}

// Half-explicit stage: the multipliers are those with which base + factor x' satisfies gI = 0 and h = 0 at t_next. What
// is left in self->last is no solution at (t, x).
static kd_eval ode_stage(void *impl, double t, const double *x, double t_next, const double *base, double factor,
                         double *xdot)
{
    kd_ode       *self = impl;
    kd_ode_point *at = &self->last;
    if (self->dims.nlambda + self->dims.nmu == 0) return ode_rhs(impl, t, x, xdot);
    self->counters.residuals++;
    set_point(self, at, t, x);
    // s and p' at (t, x)
    kd_acceleration *acceleration = self->acceleration;
    kd_eval          answer = kd_ode_note(self, kd_acceleration_contacts(acceleration, t, at->x, at->s), "");
    if (answer == KD_EVAL_OK && !self->position.identity)
        answer = kd_ode_note(
            self, kd_acceleration_stage_at(acceleration, t, at->x, at->s, at->x + self->xv, at->x + self->xr), "");
    if (answer == KD_EVAL_OK) answer = position_rate(self, at);
    if (answer != KD_EVAL_OK) return answer;
    // p at t_next; multipliers with which gI = 0, h = 0 hold there
    for (int i = 0; i < self->dims.np; i++) self->next[i] = base[i] + factor * at->xdot[i];
    const kd_next next = {.t = t_next, .p = self->next, .v = base + self->xv, .factor = factor};
    answer = kd_ode_note(self,
                         kd_acceleration_stage(acceleration, &next, t, at->x, at->s, at->x + self->xv, at->x + self->xr,
                                               at->a, at->w, at->lambda, at->mu),
                         "");
    if (answer == KD_EVAL_OK) answer = other_rates(self, at);
    if (answer == KD_EVAL_OK) memcpy(xdot, at->xdot, (size_t)self->n * sizeof *x);
    return answer;
}

// v of dx such that gI = 0 and h = 0 at x - dx
static kd_eval ode_neighbour(void *impl, double t, const double *x, double *dx)
{
    kd_ode       *self = impl;
    const double *s = self->guess + self->dims.nw;
    if (self->dims.nlambda + self->dims.nmu == 0) return KD_EVAL_OK;
    return kd_ode_note(
        self, kd_acceleration_neighbour(self->acceleration, t, x, s, x + self->xv, x + self->xr, dx, dx + self->xv),
        "error estimate: ");
}

// x' - rhs
static kd_eval ode_residual(void *impl, double t, const double *x, const double *xdot, double *F)
{
    kd_ode *self = impl;
    self->counters.residuals++;
    kd_eval answer = kd_ode_rhs(impl, t, x, F);
    for (int i = 0; i < self->n && answer == KD_EVAL_OK; i++) F[i] = xdot[i] - F[i];
    return answer;
}

static kd_eval ode_complete(void *impl, double t, const double *x, double *rest)
{
    kd_ode *self = impl;
    kd_eval answer = kd_ode_solve(self, t, x);
    if (answer == KD_EVAL_OK)
        memcpy(rest, self->last.w, (size_t)(self->nwhole - self->n + self->dims.nv) * sizeof *rest);
    return answer;
}

// The state of the caller has been made consistent and is the best guess.
static kd_eval ode_start(void *impl, double t, const double *x, double *xdot)
{
    kd_ode *self = impl;
    if (!same_point(self, &self->last, t, x))
        memcpy(self->guess, self->state->w, (size_t)(self->nwhole - self->n) * sizeof *x);
    kd_eval answer = kd_ode_check_rank(self, t, x);
    if (answer == KD_EVAL_OK) answer = kd_ode_rhs(impl, t, x, xdot);
    if (answer == KD_EVAL_OK)
        answer = kd_ode_note(self, kd_acceleration_select(self->acceleration, t, x, self->last.s), "");
    return answer;
}

static void ode_forget(void *impl)
{
    kd_ode *self = impl;
    self->last.known = self->ends[0].known = self->ends[1].known = false;
    kd_dense_output_forget(self->dense);
}

// Nothing but x' changes; where p' = v, p'' changes by as much as v'.
static kd_eval ode_resolve(void *impl, double t, double *x, double *xdot, double *jump, double *bend)
{
    kd_ode *self = impl;
    for (int i = 0; i < self->n; i++) jump[i] = -xdot[i];
    memset(bend, 0, (size_t)self->n * sizeof *bend);
    kd_eval answer = ode_rhs(impl, t, x, xdot);
    for (int i = 0; i < self->n; i++) jump[i] += xdot[i];
    for (int i = 0; i < self->xv; i++) jump[i] = 0;
    if (self->position.identity) memcpy(bend, jump + self->xv, (size_t)self->dims.nv * sizeof *bend);
    return answer;
}

// ---- ends of steps --------------------------------------------------------------------------------------------------

// quaternion norms
static kd_eval ode_correct(void *impl, double t, double *x, const double *xdot)
{
    kd_ode *self = impl;
    (void)xdot;
    double *s = self->guess + self->dims.nw;
    kd_eval answer = kd_acceleration_at(self->acceleration, t, x, s, x + self->xv, x + self->xr);
    if (answer != KD_EVAL_OK) return kd_ode_note(self, answer, "");
    return note_data(self, kd_position_normalise(&self->position, kd_acceleration_data(self->acceleration), s, x));
}

static kd_eval ode_project(void *impl, double t, double *x, bool *moved)
{
    kd_ode *self = impl;
    double *s = self->last.s;
    self->last.known = false;
    memcpy(s, self->guess + self->dims.nw, (size_t)self->dims.ns * sizeof *s);
    kd_eval answer = kd_project(self->acceleration, &self->opt, t, x, s, x + self->xv, x + self->xr, self->rows, moved);
    if (answer == KD_EVAL_OK) self->counters.projections += *moved;
    return kd_ode_note(self, answer, "projection: ");
}

// Half of what is violated at x_1 is taken away at x, which moves x_1 by twice as much; what was taken away before stays
static kd_eval ode_normal(void *impl, double t, const double *x, double t1, const double *x1, double *dx)
{
    kd_ode       *self = impl;
    const kd_dims d = self->dims;
    const double *s = self->guess + d.nw;
    double       *now = self->normal_rows + 2 * d.nlambda + d.nmu, *dp = self->normal_increment;
    self->last.known = false;
    memset(dx, 0, (size_t)self->n * sizeof *dx);
    kd_eval answer = kd_acceleration_violations(self->acceleration, t1, x1, s, x1 + self->xv, x1 + self->xr, now);
    for (int i = 0; i < 2 * d.nlambda + d.nmu; i++) self->normal_rows[i] -= 0.5 * now[i];
    if (answer == KD_EVAL_OK)
        answer = kd_acceleration_normal(self->acceleration, t, x, s, x + self->xv, x + self->xr, self->normal_rows, dp,
                                        dx + self->xv);
    if (answer == KD_EVAL_OK) answer = carry_increment(self, dp, dx);
    return kd_ode_note(self, answer, "projection: ");
}

// The same for points between two steps, which are not counted
static kd_eval ode_between(void *impl, double t, double *x)
{
    kd_ode *self = impl;
    double *s = self->last.s;
    if (!self->methods.project || self->opt.projection != KD_PROJECT_ALWAYS) return KD_EVAL_OK;
    self->last.known = false;
    kd_eval answer = self->position.identity ? KD_EVAL_OK : ode_correct(impl, t, x, NULL);
    if (answer != KD_EVAL_OK) return answer;
    memcpy(s, self->guess + self->dims.nw, (size_t)self->dims.ns * sizeof *s);
    return kd_ode_note(self, kd_acceleration_project(self->acceleration, t, x, s, x + self->xv, x + self->xr, false),
                       "projection: ");
}

// ends[k] = (t, x) with all that belongs to it
static kd_eval set_end(kd_ode *self, kd_ode_point *end, double t, const double *x)
{
    if (same_point(self, end, t, x)) return KD_EVAL_OK;
    kd_eval answer = kd_ode_solve(self, t, x);
    if (answer != KD_EVAL_OK) return answer;
    set_point(self, end, t, x);
    memcpy(end->x, self->last.x, (size_t)(self->nwhole + self->dims.nv) * sizeof *x);
    end->known = true;
    return KD_EVAL_OK;
}

static kd_eval ode_interpolate(void *impl, double t0, const double *x0, double t1, const double *x1, double t,
                               double *x)
{
    kd_ode *self = impl;
    if (!same_point(self, &self->ends[0], t0, x0) && same_point(self, &self->ends[1], t0, x0)) {
        kd_ode_point other = self->ends[0]; // the end of the last interval is often the start of this one
        self->ends[0] = self->ends[1];
        self->ends[1] = other;
    }
    // whole states at both ends, dense output between them
    kd_eval answer = set_end(self, &self->ends[0], t0, x0);
    if (answer == KD_EVAL_OK) answer = set_end(self, &self->ends[1], t1, x1);
    if (answer == KD_EVAL_OK)
        answer = kd_ode_note(
            self, kd_dense_output_motion(self->dense, t0, self->ends[0].x, t1, self->ends[1].x, t, self->whole), "");
    if (answer == KD_EVAL_OK) memcpy(x, self->whole, (size_t)self->n * sizeof *x);
    return answer;
}

// ---- names and numbers ----------------------------------------------------------------------------------------------

static const char *ode_component_name(void *impl, int i, char *buffer, size_t size)
{
    kd_ode     *self = impl;
    const char *word = i < self->xv ? "position" : i < self->xr ? "velocity" : "inner state";
    kd_kind     kind = i < self->xv ? KD_NAME_P : i < self->xr ? KD_NAME_V : KD_NAME_R;
    const int   first = i < self->xv ? 0 : i < self->xr ? self->xv : self->xr;
    return kd_form_component(self->eom, word, kind, i - first, buffer, size);
}

static kd_dae_counters ode_counters(void *impl)
{
    kd_ode         *self = impl;
    kd_dae_counters counters = self->counters;
    counters.for_differences += kd_eom_data_counters(kd_acceleration_data(self->acceleration)).for_differences;
    return counters;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void archive_point(kd_archive *a, kd_ode *self, kd_ode_point *point)
{
    kd_archive_bool(a, &point->known);
    kd_archive_real(a, &point->t);
    kd_archive_flags(a, point->active, (size_t)(self->dims.nlambda + self->dims.nmu));
}

static void archive_rank(kd_archive *a, kd_ode *self)
{
    kd_ode_rank *rank = &self->rank;
    const int    m = self->dims.nlambda + self->dims.nmu;
    if (!rank->watched) return;
    kd_archive_bool(a, &rank->known);
    kd_archive_flags(a, rank->active, (size_t)m);
    kd_archive_ints(a, rank->rows, (size_t)m, 0, m - 1);
    kd_selector_archive(&rank->selector, a);
}

static void ode_archive(void *impl, kd_archive *a)
{
    kd_ode *self = impl;
    kd_acceleration_archive(self->acceleration, a);
    kd_dense_output_archive(self->dense, a);
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    archive_point(a, self, &self->last);
    for (int k = 0; k < 2; k++) archive_point(a, self, &self->ends[k]);
    archive_rank(a, self);
    kd_ode_newton_archive(self, a);
    kd_counters_archive(&self->counters, a);
}

static void ode_destroy(void *impl)
{
    kd_ode *self = impl;
    if (!self) return;
    kd_ode_newton_release(&self->newton);
    kd_dense_output_destroy(self->dense);
    kd_acceleration_destroy(self->acceleration);
    kd_arena_release(&self->arena);
    kd_free(self);
}

static const kd_dae_class ode_class = {
    .name = "ode",
    .residual = ode_residual,
    .linearize = kd_ode_linearize,
    .factor = kd_ode_factor,
    .reduce = kd_ode_reduce,
    .solve_real = kd_ode_solve_real,
    .pair = kd_ode_pair,
    .solve_complex = kd_ode_solve_complex,
    .expand = kd_ode_expand,
    .interpolate = ode_interpolate,
    .between = ode_between,
    .rhs = ode_rhs,
    .stage = ode_stage,
    .neighbour = ode_neighbour,
    .complete = ode_complete,
    .start = ode_start,
    .resolve = ode_resolve,
    .forget = ode_forget,
    .component_name = ode_component_name,
    .fault = ode_fault,
    .counters = ode_counters,
    .archive = ode_archive,
    .destroy = ode_destroy,
};

static void cut_point(kd_ode *self, kd_ode_point *point)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    point->x = kd_cut_double(arena, self->nwhole + d.nv);
    point->xdot = kd_cut_double(arena, self->n);
    point->z = kd_cut_double(arena, d.nz);
    point->active = kd_arena_cut(arena, (size_t)(d.nlambda + d.nmu), 1);
    if (arena->failed) return;
    point->w = point->x + self->n;
    point->s = point->w + d.nw;
    point->lambda = point->s + d.ns;
    point->mu = point->lambda + d.nlambda;
    point->a = point->mu + d.nmu;
}

static void cut_arrays(kd_ode *self)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    cut_point(self, &self->last);
    for (int k = 0; k < 2; k++) cut_point(self, &self->ends[k]);
    self->guess = kd_cut_double(arena, self->nwhole - self->n);
    self->zero = kd_cut_double(arena, d.nv);
    self->rows = kd_cut_double(arena, d.nlambda + d.nmu);
    self->normal_rows = kd_cut_double(arena, 2 * (2 * d.nlambda + d.nmu));
    self->normal_increment = kd_cut_double(arena, d.nv);
    const bool stable = self->opt.stabilisation > 0 && d.nlambda + d.nmu > 0;
    if (stable) self->stable_rows = kd_cut_double(arena, 2 * d.nlambda + d.nmu);
    if (stable) self->stable_increment = kd_cut_double(arena, 2 * d.nv + d.np);
    self->whole = kd_cut_double(arena, self->nwhole);
    self->next = kd_cut_double(arena, d.np);
    self->component = kd_arena_cut(arena, (size_t)self->n, sizeof *self->component);
    self->index = kd_cut_int(arena, self->n);
    self->controlled = kd_cut_bool(arena, self->n);
    kd_position_cut_norms(&self->position, arena, self->eom);
    if (!self->position.identity && (self->methods.normal || stable)) self->normal_Z = kd_cut_matrix(arena, d.np, d.nv);
    kd_ode_cut_rank(self);
}

static void describe_components(kd_ode *self)
{
    for (int i = 0; i < self->n; i++) {
        self->component[i] = i < self->xv   ? KD_COMPONENT_POSITION
                             : i < self->xr ? KD_COMPONENT_VELOCITY
                                            : KD_COMPONENT_INNER;
        self->index[i] = 1;
        self->controlled[i] = true;
    }
}

static kd_status create_parts(kd_ode *self, const kd_inputs *inputs)
{
    cut_arrays(self);
    if (self->arena.failed) return KD_ERR_MEMORY;
    describe_components(self);
    bool projects = self->methods.project && self->opt.projection == KD_PROJECT_ALWAYS;
    // factors of Newton matrices stay at the point, which nobody else may move then
    if (!self->opt.without_matrices) self->opt.point = NULL;
    kd_status status = kd_acceleration_create(self->eom, inputs, self->state, &self->opt, &self->acceleration);
    if (status >= 0 && !self->opt.project_mass) kd_acceleration_euclidean(self->acceleration);
    if (status >= 0) kd_acceleration_share(self->acceleration);
    if (status >= 0) status = kd_dense_output_create(self->acceleration, projects, &self->dense);
    if (status >= 0 && self->nwhole > self->n)
        memcpy(self->guess, self->state->w, (size_t)(self->nwhole - self->n) * sizeof *self->guess);
    if (status >= 0 && self->n <= RESERVED && !self->opt.without_matrices) status = kd_ode_newton_ready(self);
    return status;
}

static void set_layout(kd_ode *self)
{
    kd_dims d = self->dims;
    self->xv = d.np;
    self->xr = self->xv + d.nv;
    self->n = self->xr + d.nr;
    self->nwhole = self->n + d.nw + d.ns + d.nlambda + d.nmu;
    self->direct = d.nw + d.nlambda + d.nmu == 0 && kd_eom_definition(self->eom)->acceleration;
    self->methods = ode_class;
    if (d.nq > 0) self->methods.correct = ode_correct;
    if (kd_projects(self->eom, KD_ODE, &self->opt)) self->methods.project = ode_project;
    if (self->opt.stabilisation > 0) self->methods.stage = NULL; // stages of index 2 have no such term
    // contact coordinates belong to x_1 and to x in different ways
    if (self->methods.project && d.ns == 0) self->methods.normal = ode_normal;
}

kd_status kd_ode_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                        const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size)
{
    kd_status status = KD_ERR_MEMORY;
    kd_ode   *self = kd_alloc(sizeof *self);
    kd_dae   *object = kd_alloc(sizeof *object);
    *dae = NULL;
    if (!self || !object) goto done;
    self->eom = eom;
    self->state = x;
    self->opt = *opt;
    self->dims = kd_eom_dims(eom);
    self->dae = object;
    // x = [p v r], then memory and the solver of accelerations
    set_layout(self);
    status = create_parts(self, inputs);
    if (status < 0) goto done;
    // what the integrator sees
    *object = (kd_dae){
        .methods = &self->methods,
        .impl = self,
        .n = self->n,
        .nrows = self->n,
        .nreduced = self->n,
        .nreduced_max = self->n,
        .component = self->component,
        .index = self->index,
        .controlled = self->controlled,
        .ndifferential = self->n,
        .nstate = self->n,
    };
    *dae = object;
done:
    if (status < 0) {
        kd_text(message, size, "the ode form: %s", kd_status_sentence(status));
        ode_destroy(self);
        kd_free(object);
    }
    return status;
}
