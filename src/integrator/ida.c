// ida.c: SUNDIALS IDA (variable-order BDF, Hindmarsh et al., ACM TOMS 31, 2005) on a kd_dae, the standing comparison.
//
// Index 3 is kept alive by the usual remedy: velocities and multipliers out of the error test, and their increments
// weighted with h and h^2 in the convergence test, since Newton's method cannot see them better than that.
#include <kardan/ida.h>

#ifdef KD_WITH_SUNDIALS

#include "core/text.h"
#include "integrator/attempt.h"
#include "integrator/sundials.h"
#include <ida/ida.h>
#include <math.h>
#include <string.h>

#define FORMS "ggl, index2, index1, baumgarte2, baumgarte1, ode, statespace or index3" // that IDA can integrate
#define INTERNAL_FLOOR 1e-8 // smallest atol of internal components
#define NEWTON_PART 1e-3    // of a tolerance, that Newton's method may leave (IDA: 0.33)
#define NEWTON_MOST 0.33
#define NEWTON_NOISE                                                                                                   \
    1e-11 // .. but not less than the rounding of multipliers, whose increments are c_j^2 times that of x

struct kd_ida {
    kd_sundials    base; // first: the callbacks see it
    kd_ida_options opt;
    N_Vector       xdot, id;
};

// ---- callbacks ------------------------------------------------------------------------------------------------------

static int residual(double t, N_Vector x, N_Vector xdot, N_Vector F, void *user_data)
{
    kd_sundials *base = user_data;
    double      *f = N_VGetArrayPointer(F);
    kd_sundials_at(base, t);
    kd_eval answer =
        base->dae->methods->residual(base->dae->impl, t, N_VGetArrayPointer(x), N_VGetArrayPointer(xdot), f);
    if (base->dae->n == 0) f[0] = N_VGetArrayPointer(xdot)[0];
    return answer == KD_EVAL_OK ? kd_sundials_finite(base, f, "residual") : kd_sundials_note(base, answer);
}

static int own_jacobian(double t, double cj, N_Vector x, N_Vector xdot, N_Vector F, SUNMatrix J, void *user_data,
                        N_Vector w1, N_Vector w2, N_Vector w3)
{
    kd_sundials        *base = user_data;
    const kd_dae_class *methods = base->dae->methods;
    (void)F, (void)J, (void)w1, (void)w2, (void)w3;
    base->dae->gamma = cj;
    kd_status status = methods->linearize(base->dae->impl, t, N_VGetArrayPointer(x), N_VGetArrayPointer(xdot), false);
    if (status >= 0) status = methods->factor(base->dae->impl, cj, cj, 0);
    base->news = KD_MATRIX_EVALUATED;
    return kd_sundials_note_linear(base, status);
}

// 1 / (rtol |x| + atol). Internal components (eta) vanish in the solution; at small steps they hold c_j times the
// rounding of positions, and their increments are seen in the positions anyway. Index 3: with powers of h.
static int weights(N_Vector x, N_Vector weight, void *user_data)
{
    kd_sundials          *base = user_data;
    const kd_ida_options *o = &((kd_ida *)user_data)->opt;
    const double         *y = N_VGetArrayPointer(x);
    double               *w = N_VGetArrayPointer(weight), h = 0;
    bool                  index3 = false;
    if (base->dae->n == 0) w[0] = 1;
    for (int i = 0; i < base->dae->n; i++) index3 = index3 || base->dae->index[i] == 3;
    if (index3 && (IDAGetCurrentStep(base->memory, &h) != 0 || h <= 0)) h = o->h_first;
    for (int i = 0; i < base->dae->n; i++) {
        bool internal = base->dae->component[i] == KD_COMPONENT_INTERNAL;
        w[i] = 1 / (o->rtol * fabs(y[i]) +
                    (internal ? fmax(o->atol, INTERNAL_FLOOR) : o->atol) * kd_attempt_unit(base->dae, i));
        if (index3 && h > 0) w[i] *= pow(fmin(h / kd_attempt_time(base->dae), 1), fmax(base->dae->index[i] - 1, 0));
    }
    return 0;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

kd_ida_options kd_ida_options_default(void)
{
    return (kd_ida_options){.rtol = 1e-6, .atol = 1e-6, .max_steps = 100000, .suppress_algebraic = true};
}

bool kd_ida_available(void)
{
    return true;
}

static kd_status check_options(const kd_dae *dae, const kd_ida_options *o, char *message, size_t size)
{
    kd_status status = kd_sundials_check("IDA", o->rtol, o->atol, o->h_first, o->h_max, o->max_steps, message, size);
    if (status < 0) return status;
    bool selectors =
        strncmp(dae->methods->name, "psf", 3) == 0; // change between steps, which a multistep method cannot see
    if (selectors || dae->nrows != dae->n) {
        kd_text(message, size, "IDA does not integrate the %s form, %s; use " FORMS, dae->methods->name,
                selectors ? "whose selectors change" : "which is not square");
        return KD_ERR_UNSUPPORTED;
    }
    if (dae->methods->project) {
        kd_text(
            message, size,
            "IDA gives no access to its history, so that a projected state cannot be continued from; project with bdf "
            "or radau, or with cvode or arkode on the formulation ode");
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

// id: 1 differential; index-2 velocities of index 3 count as algebraic
static void describe(kd_ida *self)
{
    const kd_dae *dae = self->base.dae;
    if (dae->n == 0) N_VConst(1, self->id);
    for (int i = 0; i < dae->n; i++) {
        kd_component kind = dae->component[i];
        bool differential = kind == KD_COMPONENT_POSITION || (kind == KD_COMPONENT_VELOCITY && dae->index[i] < 2) ||
                            kind == KD_COMPONENT_INNER;
        N_VGetArrayPointer(self->id)[i] = differential ? 1 : 0;
        self->base.measured[i] = differential || !self->opt.suppress_algebraic;
    }
}

// What Newton's method leaves in directions of stiff forces looks like high derivatives: with IDA's own 0.33 the order
// falls to 3 or less and errors add up. Cartesian governor at 1e-6: 2186 steps and an error of 1 J, now 658 and 0.02 J.
static double newton_part(const kd_ida_options *o)
{
    return fmin(fmax(NEWTON_PART, NEWTON_NOISE / fmin(o->rtol, o->atol)), NEWTON_MOST);
}

static bool set_options(kd_ida *self)
{
    void                 *m = self->base.memory;
    const kd_ida_options *o = &self->opt;
    return IDASetUserData(m, self) == 0 && IDAWFtolerances(m, weights) == 0 && IDASetId(m, self->id) == 0 &&
           IDASetSuppressAlg(m, o->suppress_algebraic) == 0 && IDASetMaxNumSteps(m, -1) == 0 &&
           IDASetNonlinConvCoef(m, newton_part(o)) == 0 && (o->h_max == 0 || IDASetMaxStep(m, o->h_max) == 0) &&
           (o->h_first == 0 || IDASetInitStep(m, o->h_first) == 0);
}

static void count(const kd_sundials *base, kd_sundials_counts *out)
{
    *out = (kd_sundials_counts){0};
    IDAGetNumErrTestFails(base->memory, &out->error_failures);
    IDAGetNumStepSolveFails(base->memory, &out->solve_failures);
    IDAGetNumNonlinSolvIters(base->memory, &out->iterations);
    IDAGetLastOrder(base->memory, &out->order);
}

static const kd_sundials_class ida_class = {
    .name = "IDA", .count = count, .local_errors = IDAGetEstLocalErrors, .weights = IDAGetErrWeights};

static kd_status create_parts(kd_ida *self, kd_dae *dae)
{
    kd_sundials *base = &self->base;
    kd_status    status = kd_sundials_open(base, &ida_class, dae, self->opt.max_steps);
    if (status < 0) return status;
    bool own = self->opt.own_linear_algebra;
    base->memory = IDACreate(base->context);
    if (!base->memory || IDASetErrHandlerFn(base->memory, kd_sundials_keep_message, base) != 0 ||
        !kd_sundials_vector(base, &self->xdot) || !kd_sundials_vector(base, &self->id))
        return KD_ERR_MEMORY;
    describe(self);
    if (IDAInit(base->memory, residual, 0, base->x, self->xdot) != 0 || !set_options(self) ||
        !kd_sundials_linear_solver(base, own) || IDASetLinearSolver(base->memory, base->solver, base->matrix) != 0 ||
        (own && IDASetJacFn(base->memory, own_jacobian) != 0))
        return KD_ERR_MEMORY;
    return KD_OK;
}

kd_status kd_ida_create(kd_dae *dae, const kd_ida_options *opt, kd_ida **ida, char *message, size_t size)
{
    if (ida) *ida = NULL;
    if (!dae || !ida) {
        kd_text(message, size, "IDA needs a DAE");
        return KD_ERR_ARGUMENT;
    }
    kd_ida_options options = opt ? *opt : kd_ida_options_default();
    kd_status      status = check_options(dae, &options, message, size);
    if (status < 0) return status;
    kd_ida *self = kd_alloc(sizeof *self);
    if (self) {
        self->opt = options;
        status = create_parts(self, dae);
    } else {
        status = KD_ERR_MEMORY;
    }
    if (status < 0) {
        kd_text(message, size, "IDA: %s", kd_status_sentence(status));
        kd_ida_destroy(self);
    } else {
        *ida = self;
    }
    return status;
}

void kd_ida_destroy(kd_ida *self)
{
    if (!self) return;
    if (self->base.memory) IDAFree(&self->base.memory);
    if (self->xdot) N_VDestroy(self->xdot);
    if (self->id) N_VDestroy(self->id);
    kd_sundials_close(&self->base);
    kd_free(self);
}

// ---- use ------------------------------------------------------------------------------------------------------------

kd_status kd_ida_start(kd_ida *self, double t, const double *x)
{
    if (!self) return KD_ERR_ARGUMENT;
    return kd_ida_restart(self, t, x, KD_RESTART_FRESH);
}

kd_status kd_ida_restart(kd_ida *self, double t, const double *x, kd_restart mode)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    base->before = kd_ida_stats(self);
    kd_status status = kd_sundials_begin_again(base, t, x, mode, N_VGetArrayPointer(self->xdot));
    if (status < 0) return status;
    if (IDAReInit(base->memory, base->t, base->x, self->xdot) != 0 ||
        (self->opt.h_first > 0 && IDASetInitStep(base->memory, self->opt.h_first) != 0))
        return kd_sundials_no_start(base);
    base->started = true;
    return KD_OK;
}

// First step. IDA takes h |x'| = tolerance, for stiffly started systems so short that c_j times the rounding of x
// exceeds the tolerance of multipliers. A thousandth of the time in which x changes by its own size is safe, and errors
// shrink it.
static double first_step(const kd_ida *self, double span)
{
    const double *x = self->base.accepted, *xdot = N_VGetArrayPointer(self->xdot), *id = N_VGetArrayPointer(self->id);
    double        size = 0, rate = 0;
    for (int i = 0; i < self->base.dae->n; i++) {
        double weight = 1 / (self->opt.rtol * fabs(x[i]) + self->opt.atol * kd_attempt_unit(self->base.dae, i));
        if (id[i] == 0) continue;
        size = fmax(size, fabs(x[i]) * weight);
        rate = fmax(rate, fabs(xdot[i]) * weight);
    }
    return rate > 0 ? fmin(fmax(1e-2 * size, 0.5) / rate, 1e-3 * span) : 1e-3 * span;
}

// New coordinates of a state-space form: a new start at the same place
static kd_status relabel(kd_ida *self)
{
    bool      changed;
    kd_status status = kd_sundials_relabel(&self->base, &changed);
    return status < 0 || !changed ? status : kd_ida_start(self, self->base.t, self->base.accepted);
}

kd_status kd_ida_step(kd_ida *self, double t_end)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    bool         go;
    kd_status    status = kd_sundials_may_step(base, t_end, &go);
    if (!go) return status;
    status = relabel(self);
    if (status < 0) return status;
    double t = base->t;
    int    flag = IDASetStopTime(base->memory, t_end);
    if (self->opt.h_max > 0) IDASetMaxStep(base->memory, kd_sundials_limit(base, t_end, self->opt.h_max));
    if (base->steps == 0 && self->opt.h_first == 0)
        IDASetInitStep(base->memory, fmin(base->h_again > 0 ? base->h_again : first_step(self, t_end - t),
                                          self->opt.h_max > 0 ? self->opt.h_max : INFINITY));
    if (flag == IDA_SUCCESS) flag = IDASolve(base->memory, t_end, &t, base->x, self->xdot, IDA_ONE_STEP);
    return kd_sundials_stepped(base, flag, t, t_end);
}

// The solver starts again at the start of the step, with order 1 where it has several.
kd_status kd_ida_retract(kd_ida *self, double h)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    if (!kd_sundials_may_retract(base, h)) return KD_ERR_STAGE;
    kd_status status = kd_ida_restart(self, base->t_old, base->previous, KD_RESTART_SAME_ROWS);
    kd_sundials_retracted(base, 0);
    base->h_again = h;
    if (status == KD_OK && IDASetInitStep(base->memory, h) != 0) status = kd_sundials_no_start(base);
    return status;
}

bool kd_ida_ends(kd_ida *self, kd_step_ends *ends)
{
    if (!self || !ends) return false;
    return kd_sundials_ends(&self->base, IDAGetDky, ends);
}

kd_status kd_ida_dense(kd_ida *self, double t, double *x)
{
    if (!self) return KD_ERR_ARGUMENT;
    return kd_sundials_dense(&self->base, IDAGetDky, t, x);
}

// ---- queries --------------------------------------------------------------------------------------------------------

double kd_ida_time(const kd_ida *self)
{
    if (!self) return 0;
    return self->base.t;
}

double kd_ida_time_old(const kd_ida *self)
{
    if (!self) return 0;
    return self->base.t_old;
}

const double *kd_ida_x(const kd_ida *self)
{
    if (!self) return NULL;
    return self->base.accepted;
}

const char *kd_ida_message(const kd_ida *self)
{
    return self ? self->base.message : "";
}

// IDA counts from its last start; earlier ones are added.
kd_stats kd_ida_stats(const kd_ida *self)
{
    if (!self) return (kd_stats){0};
    kd_stats stats = self->base.before;
    void    *m = self->base.memory;
    long     steps = 0, residuals = 0, setups = 0, error_failures = 0, solve_failures = 0;
    long     iterations = 0, jacobians = 0, differences = 0;
    int      order = 0, next_order;
    double   h_first, h_last = 0, h_next, t;
    if (!self->base.started) return stats;
    if (IDAGetIntegratorStats(m, &steps, &residuals, &setups, &error_failures, &order, &next_order, &h_first, &h_last,
                              &h_next, &t) != 0 ||
        IDAGetNumNonlinSolvIters(m, &iterations) != 0 || IDAGetNumStepSolveFails(m, &solve_failures) != 0 ||
        IDAGetNumJacEvals(m, &jacobians) != 0 || IDAGetNumLinResEvals(m, &differences) != 0)
        return stats;
    stats.accepted += steps;
    stats.rejected_error += error_failures;
    stats.rejected_newton += solve_failures;
    stats.steps += steps + error_failures + solve_failures;
    stats.residuals += residuals;
    stats.for_differences += differences;
    stats.jacobians += jacobians;
    stats.decompositions += setups;
    stats.solves += iterations;
    kd_sundials_formulation_stats(&self->base, self->opt.own_linear_algebra, &stats);
    stats.order_last = order;
    stats.h_last = h_last;
    return stats;
}

#else // without SUNDIALS

#include "integrator/sundials_absent.h"

kd_ida_options kd_ida_options_default(void)
{
    return (kd_ida_options){.rtol = 1e-6, .atol = 1e-6, .max_steps = 100000, .suppress_algebraic = true};
}

KD_SUNDIALS_ABSENT(ida, "IDA")

#endif
