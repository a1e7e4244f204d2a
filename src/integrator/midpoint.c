// midpoint.c: implicit midpoint rule, order 2, symmetric, for x' = f(t, x) (Hairer, Lubich, Wanner, Geometric Numerical
// Integration (2nd ed.), II.1.1, V.2, IV.4).
//
//     X = x_0 + Z,   Z = (h/2) f(t_0 + h/2, X) + d,   x_1 = x_0 + 2 Z
//
// Without constraints d = 0. With them d is along the constraint forces at X, such that x_1 satisfies the constraints of
// positions and velocities: x_0 and x_1 are moved by the same d in the normal directions of the middle of the step, and
// exchanging them changes nothing (a symmetric projection, V.4.1).
//
// One stage, solved as those of SDIRK (sdirk_stages.c), in the frame of one_step.c. Made for constant steps
// (steps.h_fixed): errors of the energy of a conservative motion stay bounded instead of growing with time.
//
// Variable steps: the error of a step is h^3 (f_xx(f, f) / 24 - f_x x'' / 12) (II.1, trees of order 3). The trapezoidal
// rule sees the first part only, (h/2) (f_0 + f_1) - h f(X) = h^3 / 8 f_xx(f, f), as X is the mean of the ends: where f
// is linear both rules are one. f at X - h^2 x'' / 8, a point of the motion, sees the second. Errors of this size add up
// over tol^(-1/3) steps: they are kept below 30 tol^(3/2), so that their sum is of the size of the tolerance.
// Method: docs/methods/midpoint.md
#include "integrator/sdirk_impl.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/attempt.h"

static const double NEWTON_STOP = 0.01;   // of the tolerance
static const double NEWTON_FIXED = 1e-12; // relative, in steps of a fixed size: what is left of it makes energy drift

static const double INNER = 30;          // errors of steps are kept below INNER tol^(3/2), and below tol
static const double NORMAL_STOP = 1e-14; // relative, of the move onto the constraints
static const int    MOST_TURNS = 30;     // of stage and move

static const double midpoint_c[] = {0.5}, midpoint_A[] = {0.5};

static const kd_option options[] = {
    KD_ONE_STEP_OPTIONS("midpoint", midpoint, 0,
                        "the Jacobian is kept while Newton contracts faster; below 0: never; 0: 0.1", 5),
};
static const double KEEP = 0.1; // theta: the matrix is cheap to factor beside a new Jacobian

static double least_rtol(const kd_integrator_options *o)
{
    return kd_one_step_least_rtol(&o->midpoint);
}

static kd_status check(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)
{
    (void)o;
    if (dae->methods->rhs) return KD_OK;
    kd_text(message, size, "midpoint integrates x' = f(t, x), which the form %s is not; ode works", dae->methods->name);
    return KD_ERR_UNSUPPORTED;
}

// ---- for the frame --------------------------------------------------------------------------------------------------

static void end_point(kd_one_step *self)
{
    const kd_sdirk *s = (const kd_sdirk *)self;
    for (int k = 0; k < self->n; k++) self->X[k] = self->base.x[k] + 2 * s->Z[0][k];
    memcpy(self->Xdot, self->xdot, (size_t)self->n * sizeof(double)); // a guess; f of the end follows
}

// d <- (I - h/2 f_x) \ d: stiff components are damped
static void filter(kd_sdirk *s, double *d)
{
    const kd_dae_class *f = s->s.dae->methods;
    for (int k = 0; k < s->s.n; k++) s->s.F[k] = -2 / s->s.h * d[k];
    f->reduce(s->s.dae->impl, s->s.F, s->part, s->y);
    f->solve_real(s->s.dae->impl, s->y);
    f->expand(s->s.dae->impl, s->part, s->y, d);
}

// Part of the tolerance that one step may use
static double inner(const kd_integrator *base)
{
    double tightest = 1;
    for (int i = 0; i < base->n; i++) tightest = fmin(tightest, base->rtol[i]);
    return fmin(1, INNER * sqrt(tightest));
}

// err = ((h/2) (f_0 + f_1) - h f(X)) / 3 + 2/3 h (f(X - w/8) - f(X)), w = h^2 x'' = 2 h (f(X) - f_0); w and err are
// filtered. That is Simpson's rule less this one.
static kd_status estimate(kd_sdirk *s, double *norm)
{
    const kd_dae_class *f = s->s.dae->methods;
    const double        h = s->s.h, *f0 = s->s.xdot, *fX = s->K[0];
    double             *w = s->s.dx, *err = s->s.err;
    // the middle of the motion instead of that of the chord, and the slope there
    for (int k = 0; k < s->s.n; k++) w[k] = 2 * h * (fX[k] - f0[k]);
    filter(s, w);
    for (int k = 0; k < s->s.n; k++) s->s.X[k] = s->s.base.x[k] + s->Z[0][k] - w[k] / 8;
    kd_eval answer = f->rhs(s->s.dae->impl, s->s.base.t + h / 2, s->s.X, s->s.Xdot);
    if (answer != KD_EVAL_OK) return kd_one_step_eval_cause(&s->s, answer);
    for (int k = 0; k < s->s.n; k++) err[k] = 2 * h / 3 * (s->s.Xdot[k] - fX[k]);
    // x_1 and f there: the trapezoidal rule needs the slopes of both ends
    end_point(&s->s);
    answer = f->rhs(s->s.dae->impl, s->s.base.t + h, s->s.X, s->s.Xdot);
    if (answer != KD_EVAL_OK) return kd_one_step_eval_cause(&s->s, answer);
    for (int k = 0; k < s->s.n; k++) err[k] += (h / 2 * (f0[k] + s->s.Xdot[k]) - h * fX[k]) / 3;
    filter(s, err);
    *norm = kd_one_step_error_norm(&s->s, err) / inner(&s->s.base);
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

// d, and the stage that belongs to it, by turns: each turn leaves a part of the order of h of what is violated
static kd_status onto_constraints(kd_sdirk *s, double *shrink)
{
    kd_one_step        *self = &s->s;
    const kd_dae_class *f = self->dae->methods;
    const double        t = self->base.t, t1 = self->to_end ? self->t_end : t + self->h;
    double             *end = self->Xdot, *d = self->dx;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        // the stage x + Z and the end x + 2 Z; d takes away at the stage what is violated at the end
        for (int k = 0; k < self->n; k++) {
            self->X[k] = self->base.x[k] + s->Z[0][k];
            end[k] = self->base.x[k] + 2 * s->Z[0][k];
        }
        kd_eval answer = f->normal(self->dae->impl, t + self->h / 2, self->X, t1, end, d);
        if (answer != KD_EVAL_OK) return kd_one_step_eval_cause(self, answer);
        // Z moves with d
        double change = 0;
        for (int k = 0; k < self->n; k++) {
            const double size = kd_attempt_unit(self->dae, k) + fabs(self->base.x[k]);
            change = fmax(change, fabs(d[k] - s->shift[k]) / size);
            s->Z[0][k] += d[k] - s->shift[k];
            s->shift[k] = d[k];
        }
        if (change <= NORMAL_STOP) return KD_OK;
        if (!isfinite(change)) break;
        // the stage once more, from where it is
        s->goes_on = true;
        const kd_status status = kd_sdirk_solve(s, shrink);
        s->goes_on = false;
        if (status < 0) return status;
    }
    memset(s->shift, 0, (size_t)self->n * sizeof *s->shift);
    return KD_ERR_NEWTON;
}

static kd_status attempt(kd_one_step *self, double *shrink, double *norm)
{
    kd_sdirk *s = (kd_sdirk *)self;
    kd_status status = kd_sdirk_solve(s, shrink);
    if (status == KD_OK && s->shift) status = onto_constraints(s, shrink);
    return status == KD_OK && !(self->base.opt.h_fixed > 0) ? estimate(s, norm) : status;
}

static bool keeps(const kd_one_step *self)
{
    return self->rule->theta >= 0 && self->theta <= self->rule->theta;
}

static bool end_slope(const kd_one_step *self)
{
    (void)self;
    return true;
}

// The deviation of the stage from the smooth motion predicts the next one
static void accepted(kd_one_step *self)
{
    kd_sdirk_remember((kd_sdirk *)self);
}

static const kd_one_step_class midpoint_method = {.order = 2,
                                                  .exponent = 1.0 / 3,
                                                  .attempt = attempt,
                                                  .end_point = end_point,
                                                  .keeps = keeps,
                                                  .end_slope = end_slope,
                                                  .accepted = accepted,
                                                  .forget = kd_sdirk_forget,
                                                  .interpolate = kd_one_step_hermite};

static kd_status init(kd_integrator *base)
{
    kd_sdirk            *s = (kd_sdirk *)base;
    kd_implicit_options *o = &base->opt.midpoint;
    kd_one_step_init(&s->s, &midpoint_method, o);
    // one stage as a table of SDIRK: c = A = gamma = 1/2; no embedded formula
    s->table = (kd_sdirk_table){.stages = 1, .width = 1, .gamma = 0.5, .c = midpoint_c, .A = midpoint_A, .b3 = NULL};
    kd_sdirk_cut(s, 1);
    // steps of a fixed size are symmetric as a whole; others end with a projection of x_1 alone
    if (base->opt.h_fixed > 0 && base->dae->methods->normal) s->shift = kd_cut_double(&base->arena, base->n);
    double tightest = 1;
    for (int i = 0; i < base->n; i++) tightest = fmin(tightest, base->rtol[i]);
    // constant steps: Newton to 1e-12 of x, whatever the tolerance; else a part of the tolerance
    const double stop = base->opt.h_fixed > 0 ? NEWTON_FIXED / tightest : NEWTON_STOP;
    s->s.newton_stop = o->newton_stop > 0 ? o->newton_stop : stop;
    if (o->theta == 0) o->theta = KEEP;
    return KD_OK;
}

const kd_integrator_class kd_midpoint_class = {
    .info = {.word = "midpoint",
             .own_word = "midpoint",
             .sentence = "implicit midpoint rule of order 2, symmetric, for constant steps, on the formulation ode",
             .available = true,
             .needs = KD_INTEGRATES_RHS,
             .one_step = true,
             .projected = KD_CONTINUES,
             .projects = true,
             .index_max = 1,
             .own_matrices = true,
             .fixed_steps = true,
             .order = 2,
             .order_dense = 3,
             .turns = 3,
             .nnodes = 1,
             .nodes = midpoint_c,
             .check_period = 16,
             .compared = "ode*"},
    .title = "midpoint",
    .size = sizeof(kd_sdirk),
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .least_rtol = least_rtol,
    .check = check,
    .init = init,
    KD_ONE_STEP_CALLS,
    .archive = kd_sdirk_archive,
};
