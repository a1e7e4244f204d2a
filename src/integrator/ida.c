// ida.c: SUNDIALS IDA (variable-order BDF, Hindmarsh et al., ACM TOMS 31, 2005) on a kd_dae, the standing comparison.
//
// IDA's own dense difference Jacobian and LU by default. With own_linear_algebra the formulation linearises and
// factors: a "Jacobian function" that fills no matrix calls linearize and factor for gamma = c_j, and a small linear
// solver calls reduce, solve and expand. Every object has its own SUNContext; nothing is printed.
#include <kardan/ida.h>

#ifdef KD_WITH_SUNDIALS

#include "core/memory.h"
#include "core/text.h"
#include <float.h>
#include <ida/ida.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sundials/sundials_linearsolver.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#define FORMS "ggl, index2, index1, baumgarte2 or baumgarte1" // that IDA can integrate
#define INTERNAL_FLOOR 1e-8                                   // smallest atol of internal components

struct kd_ida {
    kd_arena        arena;
    kd_dae         *dae;
    kd_ida_options  opt;
    SUNContext      context;
    void           *memory; // IDA's
    N_Vector        x, xdot, error, weight, id;
    SUNMatrix       matrix;
    SUNLinearSolver solver;
    double          t, t_old;
    double         *accepted; // (n)
    double         *F, *part, *y;
    long            steps;  // since start
    kd_stats        before; // statistics of earlier starts
    kd_status       fault;  // of the last function that did not answer OK
    bool            started;
    char            reason[256]; // in IDA's words
    char            message[600];
};

// ---- callbacks ------------------------------------------------------------------------------------------------------

// Keep the reason; > 0 recoverable (a smaller step), < 0 not.
static int note(kd_ida *self, kd_eval answer)
{
    const char *text = "";
    if (answer == KD_EVAL_OK) return 0;
    self->fault = self->dae->methods->fault ? self->dae->methods->fault(self->dae->impl, &text) : KD_OK;
    if (answer == KD_EVAL_STOP && self->fault >= 0) self->fault = KD_ERR_CALLBACK_STOP;
    if (self->fault >= 0) self->fault = KD_ERR_RETRY_FAILED;
    kd_text(self->reason, sizeof self->reason, "%s", text);
    return answer == KD_EVAL_STOP ? -1 : 1;
}

static int residual(double t, N_Vector x, N_Vector xdot, N_Vector F, void *user_data)
{
    kd_ida *self = user_data;
    double *f = N_VGetArrayPointer(F);
    kd_eval answer =
        self->dae->methods->residual(self->dae->impl, t, N_VGetArrayPointer(x), N_VGetArrayPointer(xdot), f);
    if (answer != KD_EVAL_OK) return note(self, answer);
    for (int i = 0; i < self->dae->n; i++) {
        if (isfinite(f[i])) continue;
        self->fault = KD_ERR_NOT_FINITE;
        kd_text(self->reason, sizeof self->reason, "row %d of the residual is not finite", i);
        return 1;
    }
    return 0;
}

// IDA's messages are kept, not printed.
static void keep_message(int code, const char *module, const char *function, char *text, void *user_data)
{
    kd_ida *self = user_data;
    (void)code, (void)module, (void)function;
    if (self->reason[0] == '\0') kd_text(self->reason, sizeof self->reason, "%s", text);
}

// ---- linear algebra of the formulation ------------------------------------------------------------------------------

static int own_jacobian(double t, double cj, N_Vector x, N_Vector xdot, N_Vector F, SUNMatrix J, void *user_data,
                        N_Vector w1, N_Vector w2, N_Vector w3)
{
    kd_ida             *self = user_data;
    const kd_dae_class *methods = self->dae->methods;
    (void)F, (void)J, (void)w1, (void)w2, (void)w3;
    kd_status status = methods->linearize(self->dae->impl, t, N_VGetArrayPointer(x), N_VGetArrayPointer(xdot), false);
    if (status >= 0) status = methods->factor(self->dae->impl, cj, cj, 0);
    if (status >= 0) return 0;
    const char *text = "";
    methods->fault(self->dae->impl, &text);
    self->fault = status;
    kd_text(self->reason, sizeof self->reason, "%s", text);
    return status == KD_ERR_CALLBACK_STOP || status == KD_ERR_MEMORY ? -1 : 1;
}

static SUNLinearSolver_Type own_type(SUNLinearSolver solver)
{
    (void)solver;
    return SUNLINEARSOLVER_DIRECT;
}

static int own_setup(SUNLinearSolver solver, SUNMatrix A)
{
    (void)solver, (void)A;
    return SUNLS_SUCCESS; // factored in own_jacobian
}

// x = (c_j F_x' + F_x) \ b
static int own_solve(SUNLinearSolver solver, SUNMatrix A, N_Vector x, N_Vector b, double tolerance)
{
    kd_ida             *self = solver->content;
    kd_dae             *dae = self->dae;
    const kd_dae_class *methods = dae->methods;
    const double       *rhs = N_VGetArrayPointer(b);
    (void)A, (void)tolerance;
    for (int i = 0; i < dae->n; i++) self->F[i] = -rhs[i]; // the right-hand side of reduce is -F
    methods->reduce(dae->impl, self->F, self->part, self->y);
    methods->solve_real(dae->impl, self->y);
    methods->expand(dae->impl, self->part, self->y, N_VGetArrayPointer(x));
    return SUNLS_SUCCESS;
}

static int own_free(SUNLinearSolver solver)
{
    SUNLinSolFreeEmpty(solver);
    return SUNLS_SUCCESS;
}

static SUNLinearSolver own_solver(kd_ida *self)
{
    SUNLinearSolver solver = SUNLinSolNewEmpty(self->context);
    if (!solver) return NULL;
    solver->ops->gettype = own_type;
    solver->ops->setup = own_setup;
    solver->ops->solve = own_solve;
    solver->ops->free = own_free;
    solver->content = self;
    return solver;
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
    if (!(o->rtol > 0) || !(o->atol > 0) || !isfinite(o->rtol) || !isfinite(o->atol)) {
        kd_text(message, size, "rtol = %g, atol = %g: tolerances must be positive", o->rtol, o->atol);
        return KD_ERR_TOLERANCE;
    }
    if (!(o->h_first >= 0) || !(o->h_max >= 0) || o->max_steps < 1) {
        kd_text(message, size, "IDA: h_first and h_max must not be negative, max_steps must be at least 1");
        return KD_ERR_ARGUMENT;
    }
    bool selectors =
        strncmp(dae->methods->name, "psf", 3) == 0; // change between steps, which a multistep method cannot see
    if (selectors || dae->nrows != dae->n) {
        kd_text(message, size, "IDA does not integrate the %s form, whose selectors change; use " FORMS,
                dae->methods->name);
        return KD_ERR_UNSUPPORTED;
    }
    for (int i = 0; i < dae->n; i++) {
        if (dae->index[i] < 3) continue;
        kd_text(message, size, "IDA fails on the %s form, which has index 3; use " FORMS, dae->methods->name);
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

static void cut_arrays(kd_ida *self)
{
    int n = self->dae->n;
    self->accepted = kd_cut_double(&self->arena, n);
    self->F = kd_cut_double(&self->arena, n);
    self->part = kd_cut_double(&self->arena, n);
    self->y = kd_cut_double(&self->arena, self->dae->nreduced_max);
}

static bool create_vectors(kd_ida *self)
{
    sunindextype n = self->dae->n;
    N_Vector    *vectors[] = {&self->x, &self->xdot, &self->error, &self->weight, &self->id};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
        *vectors[k] = N_VNew_Serial(n, self->context);
        if (!*vectors[k]) return false;
        N_VConst(0, *vectors[k]);
    }
    for (int i = 0; i < self->dae->n; i++) { // 1: differential
        kd_component kind = self->dae->component[i];
        bool         differential =
            kind == KD_COMPONENT_POSITION || kind == KD_COMPONENT_VELOCITY || kind == KD_COMPONENT_INNER;
        N_VGetArrayPointer(self->id)[i] = differential ? 1 : 0;
    }
    return true;
}

static bool create_solver(kd_ida *self)
{
    sunindextype n = self->opt.own_linear_algebra ? 1 : self->dae->n;
    self->matrix = SUNDenseMatrix(n, n, self->context);
    if (!self->matrix) return false;
    self->solver =
        self->opt.own_linear_algebra ? own_solver(self) : SUNLinSol_Dense(self->x, self->matrix, self->context);
    if (!self->solver || IDASetLinearSolver(self->memory, self->solver, self->matrix) != 0) return false;
    return !self->opt.own_linear_algebra || IDASetJacFn(self->memory, own_jacobian) == 0;
}

static bool set_options(kd_ida *self)
{
    void                 *m = self->memory;
    const kd_ida_options *o = &self->opt;
    // Internal components (eta) vanish in the solution; at small steps they hold c_j times the rounding of positions,
    // and their increments are seen in the positions anyway.
    for (int i = 0; i < self->dae->n; i++)
        N_VGetArrayPointer(self->weight)[i] =
            self->dae->component[i] == KD_COMPONENT_INTERNAL ? fmax(o->atol, INTERNAL_FLOOR) : o->atol;
    return IDASetUserData(m, self) == 0 && IDASVtolerances(m, o->rtol, self->weight) == 0 &&
           IDASetId(m, self->id) == 0 && IDASetSuppressAlg(m, o->suppress_algebraic) == 0 &&
           IDASetMaxNumSteps(m, -1) == 0 && (o->h_max == 0 || IDASetMaxStep(m, o->h_max) == 0) &&
           (o->h_first == 0 || IDASetInitStep(m, o->h_first) == 0);
}

static kd_status create_parts(kd_ida *self)
{
    cut_arrays(self);
    if (self->arena.failed || SUNContext_Create(NULL, &self->context) != 0) return KD_ERR_MEMORY;
    self->memory = IDACreate(self->context);
    if (!self->memory || IDASetErrHandlerFn(self->memory, keep_message, self) != 0 || !create_vectors(self))
        return KD_ERR_MEMORY;
    if (IDAInit(self->memory, residual, 0, self->x, self->xdot) != 0 || !set_options(self) || !create_solver(self))
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
        self->dae = dae;
        self->opt = options;
        status = create_parts(self);
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
    if (self->memory) IDAFree(&self->memory);
    if (self->solver) SUNLinSolFree(self->solver);
    if (self->matrix) SUNMatDestroy(self->matrix);
    N_Vector vectors[] = {self->x, self->xdot, self->error, self->weight, self->id};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        if (vectors[k]) N_VDestroy(vectors[k]);
    if (self->context) SUNContext_Free(&self->context);
    kd_arena_release(&self->arena);
    kd_free(self);
}

// ---- use ------------------------------------------------------------------------------------------------------------

static void clear_fault(kd_ida *self)
{
    self->fault = KD_OK;
    self->reason[0] = '\0';
    self->message[0] = '\0';
}

kd_status kd_ida_start(kd_ida *self, double t, const double *x)
{
    const kd_dae_class *methods = self->dae->methods;
    size_t              bytes = (size_t)self->dae->n * sizeof *x;
    clear_fault(self);
    self->before = kd_ida_stats(self);
    memcpy(self->accepted, x, bytes);
    memcpy(N_VGetArrayPointer(self->x), x, bytes);
    N_VConst(0, self->xdot);
    self->t = self->t_old = t;
    self->steps = 0;
    if (methods->start) {
        kd_eval answer = methods->start(self->dae->impl, t, x, N_VGetArrayPointer(self->xdot));
        if (answer != KD_EVAL_OK) {
            note(self, answer);
            kd_text(self->message, sizeof self->message, "t = %.9g: no start: %s", t, self->reason);
            return self->fault;
        }
    }
    if (IDAReInit(self->memory, t, self->x, self->xdot) != 0) {
        kd_text(self->message, sizeof self->message, "t = %.9g: no start: %s", t, self->reason);
        return KD_ERR_ARGUMENT;
    }
    self->started = true;
    return KD_OK;
}

// First step. IDA takes h |x'| = tolerance, for stiffly started systems so short that c_j times the rounding of x
// exceeds the tolerance of multipliers. A thousandth of the time in which x changes by its own size is safe, and errors
// shrink it.
static double first_step(const kd_ida *self, double span)
{
    const double *x = self->accepted, *xdot = N_VGetArrayPointer(self->xdot), *id = N_VGetArrayPointer(self->id);
    double        size = 0, rate = 0;
    for (int i = 0; i < self->dae->n; i++) {
        double weight = 1 / (self->opt.rtol * fabs(x[i]) + self->opt.atol);
        if (id[i] == 0) continue;
        size = fmax(size, fabs(x[i]) * weight);
        rate = fmax(rate, fabs(xdot[i]) * weight);
    }
    return rate > 0 ? fmin(fmax(1e-2 * size, 0.5) / rate, 1e-3 * span) : 1e-3 * span;
}

// component with the largest weighted local error, -1: unknown
static int worst_component(kd_ida *self)
{
    if (IDAGetEstLocalErrors(self->memory, self->error) != 0 || IDAGetErrWeights(self->memory, self->weight) != 0)
        return -1;
    const double *e = N_VGetArrayPointer(self->error), *w = N_VGetArrayPointer(self->weight);
    const double *id = N_VGetArrayPointer(self->id);
    double        most = 0;
    int           worst = -1;
    for (int i = 0; i < self->dae->n; i++) {
        double size = fabs(e[i] * w[i]);
        if (self->opt.suppress_algebraic && id[i] == 0) size = 0;
        if (size > most) {
            most = size;
            worst = i;
        }
    }
    return worst;
}

static kd_status status_of(const kd_ida *self, int flag)
{
    switch (flag) {
    case IDA_TOO_MUCH_WORK:
        return KD_ERR_TOO_MANY_STEPS;
    case IDA_TOO_MUCH_ACC:
        return KD_ERR_TOLERANCE;
    case IDA_ERR_FAIL:
        return KD_ERR_STEP_TOO_SMALL;
    case IDA_CONV_FAIL:
        return self->fault < 0 ? self->fault : KD_ERR_NEWTON;
    case IDA_MEM_FAIL:
        return KD_ERR_MEMORY;
    case IDA_ILL_INPUT:
        return KD_ERR_ARGUMENT;
    default:
        break;
    }
    return self->fault < 0 ? self->fault : flag == IDA_LSETUP_FAIL ? KD_ERR_DECOMPOSITION : KD_ERR_NEWTON;
}

static kd_status fail(kd_ida *self, kd_status status)
{
    char name[160];
    int  worst = status == KD_ERR_NEWTON || status == KD_ERR_STEP_TOO_SMALL ? worst_component(self) : -1;
    kd_text(self->message, sizeof self->message, "t = %.9g: IDA: %s", self->t, kd_status_sentence(status));
    if (self->reason[0]) kd_text_append(self->message, sizeof self->message, "; %s", self->reason);
    if (worst >= 0 && self->dae->methods->component_name)
        kd_text_append(self->message, sizeof self->message, "; worst component: %s",
                       self->dae->methods->component_name(self->dae->impl, worst, name, sizeof name));
    if (status == KD_ERR_TOO_MANY_STEPS)
        kd_text_append(self->message, sizeof self->message, "; raise max_steps or loosen the tolerances");
    return status;
}

kd_status kd_ida_step(kd_ida *self, double t_end)
{
    clear_fault(self);
    if (!self->started) {
        kd_text(self->message, sizeof self->message, "IDA: kd_ida_start comes before kd_ida_step");
        return KD_ERR_STAGE;
    }
    if (!(t_end >= self->t)) return fail(self, KD_ERR_TIME);
    if (t_end == self->t) return KD_OK;
    if (self->steps >= self->opt.max_steps) return fail(self, KD_ERR_TOO_MANY_STEPS);
    double t = self->t;
    int    flag = IDASetStopTime(self->memory, t_end);
    if (self->steps == 0 && self->opt.h_first == 0)
        IDASetInitStep(self->memory,
                       fmin(first_step(self, t_end - t), self->opt.h_max > 0 ? self->opt.h_max : INFINITY));
    if (flag == IDA_SUCCESS) flag = IDASolve(self->memory, t_end, &t, self->x, self->xdot, IDA_ONE_STEP);
    if (flag < 0) return fail(self, status_of(self, flag));
    memcpy(self->accepted, N_VGetArrayPointer(self->x), (size_t)self->dae->n * sizeof(double));
    self->t_old = self->t;
    self->t = flag == IDA_TSTOP_RETURN ? t_end : t;
    self->steps++;
    // a function that refuses to be evaluated beyond some time would be approached for ever
    if (self->t < t_end && self->t - self->t_old <= 8 * DBL_EPSILON * fabs(self->t))
        return fail(self, self->fault < 0 ? self->fault : KD_ERR_STEP_TOO_SMALL);
    return KD_OK;
}

kd_status kd_ida_dense(kd_ida *self, double t, double *x)
{
    if (!(t >= self->t_old && t <= self->t)) {
        kd_text(self->message, sizeof self->message, "t = %.9g lies outside of the last step", t);
        return KD_ERR_TIME;
    }
    if (t == self->t || self->steps == 0) {
        memcpy(x, self->accepted, (size_t)self->dae->n * sizeof *x);
        return KD_OK;
    }
    clear_fault(self);
    if (IDAGetDky(self->memory, t, 0, self->error) != 0) {
        kd_text(self->message, sizeof self->message, "t = %.9g: no dense output: %s", t, self->reason);
        return KD_ERR_TIME;
    }
    memcpy(x, N_VGetArrayPointer(self->error), (size_t)self->dae->n * sizeof *x);
    return KD_OK;
}

// ---- queries --------------------------------------------------------------------------------------------------------

double kd_ida_time(const kd_ida *self)
{
    return self->t;
}

double kd_ida_time_old(const kd_ida *self)
{
    return self->t_old;
}

const double *kd_ida_x(const kd_ida *self)
{
    return self->accepted;
}

const char *kd_ida_message(const kd_ida *self)
{
    return self->message;
}

// IDA counts from its last start; earlier ones are added.
kd_stats kd_ida_stats(const kd_ida *self)
{
    kd_stats stats = self->before;
    void    *m = self->memory;
    long     steps = 0, residuals = 0, setups = 0, error_failures = 0, solve_failures = 0;
    long     iterations = 0, jacobians = 0, differences = 0;
    int      order, next_order;
    double   h_first, h_last = 0, h_next, t;
    if (!self->started) return stats;
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
    stats.h_last = h_last;
    return stats;
}

#else // without SUNDIALS

#include "core/text.h"

kd_ida_options kd_ida_options_default(void)
{
    return (kd_ida_options){.rtol = 1e-6, .atol = 1e-6, .max_steps = 100000, .suppress_algebraic = true};
}

bool kd_ida_available(void)
{
    return false;
}

kd_status kd_ida_create(kd_dae *dae, const kd_ida_options *opt, kd_ida **ida, char *message, size_t size)
{
    (void)dae, (void)opt;
    if (ida) *ida = NULL;
    kd_text(message, size, "IDA: %s", kd_status_sentence(KD_ERR_UNAVAILABLE));
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_ida_start(kd_ida *ida, double t, const double *x)
{
    (void)ida, (void)t, (void)x;
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_ida_step(kd_ida *ida, double t_end)
{
    (void)ida, (void)t_end;
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_ida_dense(kd_ida *ida, double t, double *x)
{
    (void)ida, (void)t, (void)x;
    return KD_ERR_UNAVAILABLE;
}

double kd_ida_time(const kd_ida *ida)
{
    (void)ida;
    return 0;
}

double kd_ida_time_old(const kd_ida *ida)
{
    (void)ida;
    return 0;
}

const double *kd_ida_x(const kd_ida *ida)
{
    (void)ida;
    return NULL;
}

kd_stats kd_ida_stats(const kd_ida *ida)
{
    (void)ida;
    return (kd_stats){0};
}

const char *kd_ida_message(const kd_ida *ida)
{
    (void)ida;
    return kd_status_sentence(KD_ERR_UNAVAILABLE);
}

void kd_ida_destroy(kd_ida *ida)
{
    (void)ida;
}

#endif
