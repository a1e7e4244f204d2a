// ida.c: SUNDIALS IDA (variable-order BDF, Hindmarsh et al., ACM TOMS 31, 2005) on a kd_dae, the standing comparison.
// It runs on the formulations ggl, index2, index1, baumgarte2, baumgarte1, ode and, with velocities and multipliers of
// less accuracy, index3; forms with selectors (psf) and projection are refused with KD_ERR_UNSUPPORTED.
//
// Index 3 is kept alive by the usual remedy: velocities and multipliers out of the error test, and their increments
// weighted with h and h^2 in the convergence test, since Newton's method cannot see them better than that.
#include "integrator/sundials.h"

#define O kd_integrator_options
// clang-format off
static const kd_option options[] = {
    {KD_SWITCH("ida.suppress_algebraic", O, ida.suppress_algebraic, 1, "multipliers and auxiliary variables stay out of the error test")},
    {KD_SWITCH("ida.own_linear_algebra", O, ida.own_linear_algebra, 0, "Newton matrices of the formulation instead of IDA's dense differences")},
};
// clang-format on
#undef O

#ifdef KD_WITH_SUNDIALS

#include "core/text.h"
#include "integrator/attempt.h"
#include <math.h>

#define FORMS "ggl, index2, index1, baumgarte2, baumgarte1, ode, statespace or index3" // that IDA can integrate
#define INTERNAL_FLOOR 1e-8 // smallest atol of internal components
#define NEWTON_PART 1e-3    // of a tolerance, that Newton's method may leave (IDA: 0.33)
#define NEWTON_MOST 0.33
#define NEWTON_NOISE 1e-11 // but not less: rounding of multipliers, whose increments are c_j^2 times that of x

typedef struct kd_ida {
    kd_sundials base; // first: the callbacks see it
    N_Vector    id;
} kd_ida;

// ---- callbacks ------------------------------------------------------------------------------------------------------

static int residual(double t, N_Vector x, N_Vector xdot, N_Vector F, void *user_data)
{
    kd_sundials *base = user_data;
    double      *f = N_VGetArrayPointer(F);
    // the observer hears of a failed attempt when the next evaluation begins
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
    // IDA would fill the matrix here: derivatives and factors of the formulation instead
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
    kd_sundials  *base = user_data;
    const kd_dae *dae = base->dae;
    const double *y = N_VGetArrayPointer(x), *atol = base->base.atol;
    double       *w = N_VGetArrayPointer(weight), h = 0;
    bool          index3 = false;
    if (dae->n == 0) w[0] = 1;
    // powers of h only where there is index 3; before the first step h is what was asked for
    for (int i = 0; i < dae->n; i++) index3 = index3 || dae->index[i] == 3;
    if (index3 && (IDAGetCurrentStep(base->memory, &h) != 0 || h <= 0)) h = base->base.opt.h_first;
    for (int i = 0; i < dae->n; i++) {
        bool         internal = dae->component[i] == KD_COMPONENT_INTERNAL;
        const double absolute = (internal ? fmax(atol[i], INTERNAL_FLOOR) : atol[i]) * kd_attempt_unit(dae, i);
        w[i] = 1 / kd_integrator_tolerance(&base->base, i, absolute, y[i]);
        if (index3 && h > 0) w[i] *= pow(fmin(h / kd_attempt_time(dae), 1), fmax(dae->index[i] - 1, 0));
    }
    return 0;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static kd_status check(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)
{
    (void)o;
    const kd_status status = kd_sundials_check("IDA", message, size);
    if (status < 0) return status;
    if (dae->selectors || dae->nrows != dae->n) {
        kd_text(message, size, "IDA does not integrate the %s form, %s; use " FORMS, dae->methods->name,
                dae->selectors ? "whose selectors change" : "which is not square");
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
    // without components: the one that stands in is differential
    if (dae->n == 0) N_VConst(1, self->id);
    for (int i = 0; i < dae->n; i++) {
        kd_component kind = dae->component[i];
        bool differential = kind == KD_COMPONENT_POSITION || (kind == KD_COMPONENT_VELOCITY && dae->index[i] < 2) ||
                            kind == KD_COMPONENT_INNER;
        N_VGetArrayPointer(self->id)[i] = differential ? 1 : 0;
        self->base.measured[i] = differential || !self->base.rule->suppress_algebraic;
    }
}

// What Newton's method leaves in directions of stiff forces looks like high derivatives: with IDA's own 0.33 the order
// falls to 3 or less and errors add up. Cartesian governor at 1e-6: 2186 steps and an error of 1 J, now 658 and 0.02 J.
static double newton_part(const kd_integrator_options *o)
{
    return fmin(fmax(NEWTON_PART, NEWTON_NOISE / fmin(o->rtol, o->atol)), NEWTON_MOST);
}

static bool set_options(kd_ida *self)
{
    void                        *m = self->base.memory;
    const kd_integrator_options *o = &self->base.base.opt;
    return IDASetUserData(m, self) == 0 && IDAWFtolerances(m, weights) == 0 && IDASetId(m, self->id) == 0 &&
           IDASetSuppressAlg(m, o->ida.suppress_algebraic) == 0 && IDASetMaxNumSteps(m, -1) == 0 &&
           IDASetNonlinConvCoef(m, newton_part(o)) == 0 && (o->h_max == 0 || IDASetMaxStep(m, o->h_max) == 0) &&
           (o->h_first == 0 || IDASetInitStep(m, o->h_first) == 0);
}

// ---- the solver's calls ---------------------------------------------------------------------------------------------

static bool count(const kd_sundials *base, kd_sundials_counts *out)
{
    void  *m = base->memory;
    int    next_order;
    double h_first, h_next, t;
    // sums since the last start
    *out = (kd_sundials_counts){0};
    return IDAGetIntegratorStats(m, &out->steps, &out->evaluations, &out->setups, &out->error_failures, &out->order,
                                 &next_order, &h_first, &out->h_last, &h_next, &t) == 0 &&
           IDAGetNumNonlinSolvIters(m, &out->iterations) == 0 &&
           IDAGetNumStepSolveFails(m, &out->solve_failures) == 0 && IDAGetNumJacEvals(m, &out->jacobians) == 0 &&
           IDAGetNumLinResEvals(m, &out->differences) == 0;
}

// First step. IDA takes h |x'| = tolerance, for stiffly started systems so short that c_j times the rounding of x
// exceeds the tolerance of multipliers. A thousandth of the time in which x changes by its own size is safe, and errors
// shrink it.
static double first_step(const kd_sundials *base, double span)
{
    const double *x = base->base.x, *xdot = N_VGetArrayPointer(base->xdot);
    const double *id = N_VGetArrayPointer(((const kd_ida *)base)->id);
    double        size = 0, rate = 0;
    // largest |x| and |x'| in tolerances, differential components only: the others have no x' yet
    for (int i = 0; i < base->dae->n; i++) {
        double weight = 1 / (base->base.rtol[i] * fabs(x[i]) + base->base.atol[i] * kd_attempt_unit(base->dae, i));
        if (id[i] == 0) continue;
        size = fmax(size, fabs(x[i]) * weight);
        rate = fmax(rate, fabs(xdot[i]) * weight);
    }
    return rate > 0 ? fmin(fmax(1e-2 * size, 0.5) / rate, 1e-3 * span) : 1e-3 * span;
}

static int start(kd_sundials *base)
{
    return IDAReInit(base->memory, base->base.t, base->x, base->xdot);
}

static int evolve(kd_sundials *base, double t_end, double *t)
{
    // never beyond t_end: functions may jump there
    const int flag = IDASetStopTime(base->memory, t_end);
    return flag == IDA_SUCCESS ? IDASolve(base->memory, t_end, t, base->x, base->xdot, IDA_ONE_STEP) : flag;
}

static void release(kd_sundials *base)
{
    kd_ida *self = (kd_ida *)base;
    if (base->memory) IDAFree(&base->memory);
    if (self->id) N_VDestroy(self->id);
}

static kd_status init(kd_integrator *integrator)
{
    kd_ida      *self = (kd_ida *)integrator;
    kd_sundials *base = &self->base;
    const bool   own = integrator->opt.ida.own_linear_algebra;
    // functions of a library that is loaded now: no constants
    const kd_sundials_calls calls = {.count = count,
                                     .local_errors = IDAGetEstLocalErrors,
                                     .weights = IDAGetErrWeights,
                                     .derivative = IDAGetDky,
                                     .set_first = IDASetInitStep,
                                     .set_longest = IDASetMaxStep,
                                     .first_step = first_step,
                                     .start = start,
                                     .evolve = evolve,
                                     .release = release};
    kd_status               status = kd_sundials_open(base, &calls, &integrator->opt.ida);
    if (status < 0) return status;
    // memory, vectors, equations, options, linear solver: any failure is one of memory
    base->memory = IDACreate(base->context);
    if (!base->memory || IDASetErrHandlerFn(base->memory, kd_sundials_keep_message, base) != 0 ||
        !kd_sundials_vector(base, &base->xdot) || !kd_sundials_vector(base, &self->id))
        return KD_ERR_MEMORY;
    describe(self);
    if (IDAInit(base->memory, residual, 0, base->x, base->xdot) != 0 || !set_options(self) ||
        !kd_sundials_linear_solver(base) || IDASetLinearSolver(base->memory, base->solver, base->matrix) != 0 ||
        (own && IDASetJacFn(base->memory, own_jacobian) != 0))
        return KD_ERR_MEMORY;
    return KD_OK;
}

#endif

static const double nodes[] = {0.0};

const kd_integrator_class kd_ida_class = {
    .info = {.word = "ida",
             .own_word = "ida",
             .sentence = "SUNDIALS IDA, variable-order BDF",
             .available = KD_SUNDIALS_AVAILABLE,
             .needs = KD_INTEGRATES_RESIDUAL,
             .projected = KD_CONTINUES_NEVER,
             .index_max = 3,
             .order = 5,
             .order_dense = 5,
             .least_rtol = 1e-12, // a four-bar with ggl starts at 1e-12, not at 1e-13
             .turns = 4,
             .nnodes = 1,
             .nodes = nodes,
             .check_period = 32,
             .compared = "ggl*"},
    .title = "IDA",
    .options = options,
    .noptions = sizeof options / sizeof *options,
#ifdef KD_WITH_SUNDIALS
    .size = sizeof(kd_ida),
    .check = check,
    .init = init,
    KD_SUNDIALS_CALLS,
#endif
};
