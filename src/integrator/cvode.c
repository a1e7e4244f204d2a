// cvode.c: SUNDIALS CVODE (variable-order Adams and BDF, Hindmarsh et al., ACM TOMS 31, 2005) on forms with a
// right-hand side: ode, statespace.
//
// BDF solves by Newton's method, Adams by fixed-point iteration. Projection (S1 Eq. 36) goes through CVODE's own hook,
// which it has for BDF: after the corrector, the newest history entry is moved by the same correction, and the error is
// estimated without it. At every step: a bound must lie well below the tolerances, or what it moves looks like an
// error.
#include "integrator/sundials.h"

static const char *const METHODS[] = {"bdf", "adams", NULL};
#define O kd_integrator_options
// clang-format off
static const kd_option options[] = {
    {KD_WORD("cvode.method", O, cvode.method, KD_CVODE_BDF, METHODS, "BDF with Newton's method, which can project, or Adams-Moulton with fixed-point iteration, for motions that are not stiff")},
    {KD_WHOLE("cvode.order_max", O, cvode.order_max, 0, 0, 12, "highest order, of bdf up to 5; 0: the largest")},
    {KD_SWITCH("cvode.own_linear_algebra", O, cvode.own_linear_algebra, 0, "bdf: Newton matrices of the formulation instead of CVODE's dense differences")},
};
// clang-format on
#undef O

#ifdef KD_WITH_SUNDIALS

#include "core/text.h"
#include <string.h>

// Every step of BDF may err by a tolerance, and in one direction: errors add up to several times those of kardan's own bdf at the same
// tolerance (slider-crank with nearly equal rods, 1e-8, 2054 steps: 1852 tolerances beside 443). With a quarter of it they are
// alike (348).
#define SHARPER 4

typedef struct kd_cvode {
    kd_sundials        base; // first: the callbacks see it
    SUNNonlinearSolver fixed_point;
} kd_cvode;

// ---- callbacks ------------------------------------------------------------------------------------------------------

static int linear_system(double t, N_Vector x, N_Vector xdot, SUNMatrix A, int keep, int *renewed, double gamma,
                         void *user_data, N_Vector w1, N_Vector w2, N_Vector w3)
{
    (void)A, (void)w1, (void)w2, (void)w3;
    return kd_sundials_linear_system(user_data, t, x, xdot, keep, renewed, gamma);
}

// correction = projected point - x
static int project(double t, N_Vector x, N_Vector correction, double tolerance, N_Vector error, void *user_data)
{
    kd_sundials *base = user_data;
    (void)tolerance, (void)error;
    // a copy of the point is projected, then the difference is taken
    N_VScale(1, x, correction);
    int answer = kd_sundials_correct(base, t, N_VGetArrayPointer(correction));
    N_VLinearSum(1, correction, -1, x, correction);
    return answer;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static kd_status check(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)
{
    kd_status status = kd_sundials_check_ode("CVODE", dae, message, size);
    if (status < 0) return status;
    // BDF is stable up to order 5, Adams-Moulton is offered up to 12
    int most = o->cvode.method == KD_CVODE_BDF ? 5 : 12;
    if (o->cvode.order_max > most) {
        kd_text(message, size, "CVODE: order_max = %d must lie between 1 and %d (0: the largest)", o->cvode.order_max,
                most);
        return KD_ERR_ARGUMENT;
    }
    if (o->cvode.method == KD_CVODE_ADAMS && dae->methods->project) {
        kd_text(message, size, "CVODE projects with the method bdf only; use that, or arkode");
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

static bool set_options(kd_cvode *self)
{
    void                        *m = self->base.memory;
    const kd_integrator_options *o = &self->base.base.opt;
    bool                         projects = o->cvode.method == KD_CVODE_BDF && kd_sundials_corrects(self->base.dae);
    // the limit of steps is ours (kd_sundials_step); projection without influence on the error estimate
    return CVodeSetUserData(m, self) == 0 && CVodeWFtolerances(m, kd_sundials_weights) == 0 &&
           CVodeSetMaxNumSteps(m, -1) == 0 && (o->cvode.order_max == 0 || CVodeSetMaxOrd(m, o->cvode.order_max) == 0) &&
           (o->h_max == 0 || CVodeSetMaxStep(m, o->h_max) == 0) &&
           (o->h_first == 0 || CVodeSetInitStep(m, o->h_first) == 0) &&
           (!projects || (CVodeSetProjFn(m, project) == 0 && CVodeSetProjErrEst(m, SUNFALSE) == 0));
}

static bool set_solver(kd_cvode *self)
{
    kd_sundials *base = &self->base;
    // Adams: fixed-point iteration without acceleration; BDF: Newton with our matrix or CVODE's
    if (base->rule->method == KD_CVODE_ADAMS) {
        self->fixed_point = SUNNonlinSol_FixedPoint(base->x, 0, base->context);
        return self->fixed_point && CVodeSetNonlinearSolver(base->memory, self->fixed_point) == 0;
    }
    return kd_sundials_linear_solver(base) && CVodeSetLinearSolver(base->memory, base->solver, base->matrix) == 0 &&
           (!base->rule->own_linear_algebra || CVodeSetLinSysFn(base->memory, linear_system) == 0);
}

// ---- the solver's calls ---------------------------------------------------------------------------------------------

static bool count(const kd_sundials *base, kd_sundials_counts *out)
{
    void  *m = base->memory;
    int    next_order;
    double h_first, h_next, t;
    *out = (kd_sundials_counts){0};
    // Adams has no Jacobian: asking for its counter would be an error
    if (base->rule->method == KD_CVODE_BDF) {
        (void)CVodeGetNumJacEvals(m, &out->jacobians);
        (void)CVodeGetNumLinRhsEvals(m, &out->differences);
    }
    return CVodeGetIntegratorStats(m, &out->steps, &out->evaluations, &out->setups, &out->error_failures, &out->order,
                                   &next_order, &h_first, &out->h_last, &h_next, &t) == 0 &&
           CVodeGetNumNonlinSolvIters(m, &out->iterations) == 0 &&
           CVodeGetNumStepSolveFails(m, &out->solve_failures) == 0;
}

static int start(kd_sundials *base)
{
    return CVodeReInit(base->memory, base->base.t, base->x);
}

static int evolve(kd_sundials *base, double t_end, double *t)
{
    // never beyond t_end: functions may jump there
    const int flag = CVodeSetStopTime(base->memory, t_end);
    return flag == CV_SUCCESS ? CVode(base->memory, t_end, base->x, t, CV_ONE_STEP) : flag;
}

static void release(kd_sundials *base)
{
    kd_cvode *self = (kd_cvode *)base;
    if (base->memory) CVodeFree(&base->memory);
    if (self->fixed_point) SUNNonlinSolFree(self->fixed_point);
}

static kd_status init(kd_integrator *integrator)
{
    kd_cvode    *self = (kd_cvode *)integrator;
    kd_sundials *base = &self->base;
    // functions of a library that is loaded now: no constants
    const kd_sundials_calls calls = {.steps_go_on = true,
                                     .count = count,
                                     .local_errors = CVodeGetEstLocalErrors,
                                     .weights = CVodeGetErrWeights,
                                     .derivative = CVodeGetDky,
                                     .set_first = CVodeSetInitStep,
                                     .set_longest = CVodeSetMaxStep,
                                     .start = start,
                                     .evolve = evolve,
                                     .release = release};
    kd_status               status = kd_sundials_open(base, &calls, &integrator->opt.cvode);
    if (status < 0) return status;
    if (base->rule->method == KD_CVODE_BDF && base->dae->methods->relabel) base->sharper = SHARPER;
    // memory, equations, options, nonlinear solver
    base->memory = CVodeCreate(base->rule->method == KD_CVODE_BDF ? CV_BDF : CV_ADAMS, base->context);
    if (!base->memory || CVodeSetErrHandlerFn(base->memory, kd_sundials_keep_message, base) != 0 ||
        CVodeInit(base->memory, kd_sundials_rhs, 0, base->x) != 0 || !set_options(self) || !set_solver(self))
        return KD_ERR_MEMORY;
    return KD_OK;
}

#endif

// ---- the class ------------------------------------------------------------------------------------------------------

static const double nodes[] = {0.0};

#define INFO(variant_, own_word_, projected_, is_explicit_, order_, compared_)                                         \
    {                                                                                                                  \
        .word = "cvode", .variant = variant_, .own_word = own_word_,                                                   \
        .sentence = "SUNDIALS CVODE, variable-order BDF or Adams methods, on the formulation ode",                     \
        .available = KD_SUNDIALS_AVAILABLE, .needs = KD_INTEGRATES_RHS, .projected = projected_, .index_max = 1,       \
        .is_explicit = is_explicit_, .order = order_, .order_least = 1, .order_option = "cvode.order_max",             \
        .order_dense = order_, .turns = 4, .nnodes = 1, .nodes = nodes, .check_period = 32, .compared = compared_      \
    }

static const kd_integrator_info variants[KD_CVODE_METHOD_COUNT] = {
    [KD_CVODE_BDF] = INFO("bdf", "cvode-bdf", KD_CONTINUES_ALWAYS, false, 5, "ode* statespace"),
    [KD_CVODE_ADAMS] = INFO("adams", "cvode-adams", KD_CONTINUES_NEVER, true, 12, "ode*- statespace"),
};

static const kd_integrator_info *about(const kd_integrator_options *o)
{
    return o->cvode.method >= 0 && o->cvode.method < KD_CVODE_METHOD_COUNT ? &variants[o->cvode.method] : NULL;
}

const kd_integrator_class kd_cvode_class = {
    .info = INFO("bdf", "cvode-bdf", KD_CONTINUES_ALWAYS, false, 5, "ode* statespace"),
    .title = "CVODE",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .about = about,
#ifdef KD_WITH_SUNDIALS
    .size = sizeof(kd_cvode),
    .check = check,
    .init = init,
    KD_SUNDIALS_CALLS,
#endif
};
