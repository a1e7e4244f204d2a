// cvode.c: SUNDIALS CVODE (variable-order Adams and BDF, Hindmarsh et al., ACM TOMS 31, 2005) on the form ode.
//
// BDF solves by Newton's method, Adams by fixed-point iteration. Projection (S1 Eq. 36) goes through CVODE's own hook,
// which it has for BDF: after the corrector, the newest history entry is moved by the same correction, and the error is
// estimated without it.
#include <kardan/cvode.h>

#ifdef KD_WITH_SUNDIALS

#include "core/text.h"
#include "integrator/sundials.h"
#include <cvode/cvode.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

struct kd_cvode {
    kd_sundials        base; // first: the callbacks see it
    kd_cvode_options   opt;
    SUNNonlinearSolver fixed_point;
};

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
    N_VScale(1, x, correction);
    int answer = kd_sundials_correct(base, t, N_VGetArrayPointer(correction));
    N_VLinearSum(1, correction, -1, x, correction);
    return answer;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

kd_cvode_options kd_cvode_options_default(void)
{
    return (kd_cvode_options){.rtol = 1e-6, .atol = 1e-6, .max_steps = 100000};
}

bool kd_cvode_available(void)
{
    return true;
}

static kd_status check_options(const kd_dae *dae, const kd_cvode_options *o, char *message, size_t size)
{
    kd_status status = kd_sundials_check("CVODE", o->rtol, o->atol, o->h_first, o->h_max, o->max_steps, message, size);
    if (status >= 0) status = kd_sundials_check_ode("CVODE", dae, message, size);
    if (status < 0) return status;
    if (o->method != KD_CVODE_BDF && o->method != KD_CVODE_ADAMS) {
        kd_text(message, size, "CVODE: the method %d is none of bdf, adams", (int)o->method);
        return KD_ERR_ARGUMENT;
    }
    int most = o->method == KD_CVODE_BDF ? 5 : 12;
    if (o->order_max < 0 || o->order_max > most) {
        kd_text(message, size, "CVODE: order_max = %d must lie between 1 and %d (0: the largest)", o->order_max, most);
        return KD_ERR_ARGUMENT;
    }
    if (o->method == KD_CVODE_ADAMS && dae->methods->project) {
        kd_text(message, size, "CVODE projects with the method bdf only; use that, or arkode");
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

static void count(const kd_sundials *base, kd_sundials_counts *out)
{
    *out = (kd_sundials_counts){0};
    CVodeGetNumErrTestFails(base->memory, &out->error_failures);
    CVodeGetNumStepSolveFails(base->memory, &out->solve_failures);
    CVodeGetNumNonlinSolvIters(base->memory, &out->iterations);
    CVodeGetLastOrder(base->memory, &out->order);
}

static const kd_sundials_class cvode_class = {
    .name = "CVODE", .count = count, .local_errors = CVodeGetEstLocalErrors, .weights = CVodeGetErrWeights};

static bool set_options(kd_cvode *self)
{
    void                   *m = self->base.memory;
    const kd_cvode_options *o = &self->opt;
    bool                    projects = o->method == KD_CVODE_BDF && kd_sundials_corrects(self->base.dae);
    return CVodeSetUserData(m, self) == 0 && CVodeSStolerances(m, o->rtol, o->atol) == 0 &&
           CVodeSetMaxNumSteps(m, -1) == 0 && (o->order_max == 0 || CVodeSetMaxOrd(m, o->order_max) == 0) &&
           (o->h_max == 0 || CVodeSetMaxStep(m, o->h_max) == 0) &&
           (o->h_first == 0 || CVodeSetInitStep(m, o->h_first) == 0) &&
           (!projects || (CVodeSetProjFn(m, project) == 0 && CVodeSetProjErrEst(m, SUNFALSE) == 0));
}

static bool set_solver(kd_cvode *self)
{
    kd_sundials *base = &self->base;
    if (self->opt.method == KD_CVODE_ADAMS) {
        self->fixed_point = SUNNonlinSol_FixedPoint(base->x, 0, base->context);
        return self->fixed_point && CVodeSetNonlinearSolver(base->memory, self->fixed_point) == 0;
    }
    bool own = self->opt.own_linear_algebra;
    return kd_sundials_linear_solver(base, own) &&
           CVodeSetLinearSolver(base->memory, base->solver, base->matrix) == 0 &&
           (!own || CVodeSetLinSysFn(base->memory, linear_system) == 0);
}

static kd_status create_parts(kd_cvode *self, kd_dae *dae)
{
    kd_sundials *base = &self->base;
    kd_status    status = kd_sundials_open(base, &cvode_class, dae, self->opt.max_steps);
    if (status < 0) return status;
    base->memory = CVodeCreate(self->opt.method == KD_CVODE_BDF ? CV_BDF : CV_ADAMS, base->context);
    if (!base->memory || CVodeSetErrHandlerFn(base->memory, kd_sundials_keep_message, base) != 0 ||
        CVodeInit(base->memory, kd_sundials_rhs, 0, base->x) != 0 || !set_options(self) || !set_solver(self))
        return KD_ERR_MEMORY;
    return KD_OK;
}

kd_status kd_cvode_create(kd_dae *dae, const kd_cvode_options *opt, kd_cvode **cvode, char *message, size_t size)
{
    if (cvode) *cvode = NULL;
    if (!dae || !cvode) {
        kd_text(message, size, "CVODE needs a DAE");
        return KD_ERR_ARGUMENT;
    }
    kd_cvode_options options = opt ? *opt : kd_cvode_options_default();
    kd_status        status = check_options(dae, &options, message, size);
    if (status < 0) return status;
    kd_cvode *self = kd_alloc(sizeof *self);
    if (self) {
        self->opt = options;
        status = create_parts(self, dae);
    } else {
        status = KD_ERR_MEMORY;
    }
    if (status < 0) {
        kd_text(message, size, "CVODE: %s", kd_status_sentence(status));
        kd_cvode_destroy(self);
    } else {
        *cvode = self;
    }
    return status;
}

void kd_cvode_destroy(kd_cvode *self)
{
    if (!self) return;
    if (self->base.memory) CVodeFree(&self->base.memory);
    if (self->fixed_point) SUNNonlinSolFree(self->fixed_point);
    kd_sundials_close(&self->base);
    kd_free(self);
}

// ---- use ------------------------------------------------------------------------------------------------------------

kd_status kd_cvode_start(kd_cvode *self, double t, const double *x)
{
    if (!self) return KD_ERR_ARGUMENT;
    return kd_cvode_restart(self, t, x, KD_RESTART_FRESH);
}

kd_status kd_cvode_restart(kd_cvode *self, double t, const double *x, kd_restart mode)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    base->before = kd_cvode_stats(self);
    kd_status status = kd_sundials_begin_again(base, t, x, mode, NULL);
    if (status < 0) return status;
    double h = self->opt.h_first > 0 ? self->opt.h_first : base->h_again; // 0: CVODE's own
    if (CVodeReInit(base->memory, base->t, base->x) != 0 || CVodeSetInitStep(base->memory, h) != 0)
        return kd_sundials_no_start(base);
    base->started = true;
    return KD_OK;
}

// New coordinates of a state-space form: a new start at the same place
static kd_status relabel(kd_cvode *self)
{
    long      steps = self->base.steps;
    bool      changed;
    kd_status status = kd_sundials_relabel(&self->base, &changed);
    if (status < 0 || !changed) return status;
    status = kd_cvode_start(self, self->base.t, self->base.accepted);
    self->base.steps = steps;
    return status;
}

kd_status kd_cvode_step(kd_cvode *self, double t_end)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    bool         go;
    kd_status    status = kd_sundials_may_step(base, t_end, &go);
    if (!go) return status;
    status = relabel(self);
    if (status < 0) return status;
    double t = base->t;
    int    flag = CVodeSetStopTime(base->memory, t_end);
    if (self->opt.h_max > 0) CVodeSetMaxStep(base->memory, kd_sundials_limit(base, t_end, self->opt.h_max));
    if (flag == CV_SUCCESS) flag = CVode(base->memory, t_end, base->x, &t, CV_ONE_STEP);
    return kd_sundials_stepped(base, flag, t, t_end);
}

// The solver starts again at the start of the step, with order 1 where it has several.
kd_status kd_cvode_retract(kd_cvode *self, double h)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    if (!kd_sundials_may_retract(base, h)) return KD_ERR_STAGE;
    long      steps = base->steps - 1;
    kd_status status = kd_cvode_restart(self, base->t_old, base->previous, KD_RESTART_SAME_ROWS);
    kd_sundials_retracted(base, steps);
    base->h_again = h;
    if (status == KD_OK && CVodeSetInitStep(base->memory, h) != 0) status = kd_sundials_no_start(base);
    return status;
}

bool kd_cvode_ends(kd_cvode *self, kd_step_ends *ends)
{
    if (!self || !ends) return false;
    return kd_sundials_ends(&self->base, CVodeGetDky, ends);
}

kd_status kd_cvode_dense(kd_cvode *self, double t, double *x)
{
    if (!self) return KD_ERR_ARGUMENT;
    return kd_sundials_dense(&self->base, CVodeGetDky, t, x);
}

// ---- queries --------------------------------------------------------------------------------------------------------

double kd_cvode_time(const kd_cvode *self)
{
    if (!self) return 0;
    return self->base.t;
}

double kd_cvode_time_old(const kd_cvode *self)
{
    if (!self) return 0;
    return self->base.t_old;
}

const double *kd_cvode_x(const kd_cvode *self)
{
    if (!self) return NULL;
    return self->base.accepted;
}

const char *kd_cvode_message(const kd_cvode *self)
{
    return self ? self->base.message : "";
}

// CVODE counts from its last start; earlier ones are added.
kd_stats kd_cvode_stats(const kd_cvode *self)
{
    if (!self) return (kd_stats){0};
    kd_stats stats = self->base.before;
    void    *m = self->base.memory;
    long     steps = 0, evaluations = 0, setups = 0, error_failures = 0, solve_failures = 0;
    long     iterations = 0, jacobians = 0, differences = 0;
    int      order = 0, next_order;
    double   h_first, h_last = 0, h_next, t;
    if (!self->base.started) return stats;
    if (CVodeGetIntegratorStats(m, &steps, &evaluations, &setups, &error_failures, &order, &next_order, &h_first,
                                &h_last, &h_next, &t) != 0 ||
        CVodeGetNumNonlinSolvIters(m, &iterations) != 0 || CVodeGetNumStepSolveFails(m, &solve_failures) != 0)
        return stats;
    if (self->opt.method == KD_CVODE_BDF) {
        (void)CVodeGetNumJacEvals(m, &jacobians);
        (void)CVodeGetNumLinRhsEvals(m, &differences);
    }
    stats.accepted += steps;
    stats.rejected_error += error_failures;
    stats.rejected_newton += solve_failures;
    stats.steps += steps + error_failures + solve_failures;
    stats.residuals += evaluations;
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

kd_cvode_options kd_cvode_options_default(void)
{
    return (kd_cvode_options){.rtol = 1e-6, .atol = 1e-6, .max_steps = 100000};
}

KD_SUNDIALS_ABSENT(cvode, "CVODE")

#endif
