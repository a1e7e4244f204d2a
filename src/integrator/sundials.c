// sundials.c: what the adapters to IDA, CVODE and ARKODE share (Hindmarsh et al., ACM TOMS 31, 2005).
//
// SUNDIALS' own dense difference Jacobian and LU by default. With the linear algebra of the formulation the "matrix" is
// a dummy: the function that would fill it calls linearize and factor, and a small linear solver calls reduce, solve
// and expand.
#include "integrator/sundials.h"

#ifdef KD_WITH_SUNDIALS

#include "core/text.h"
#include "integrator/attempt.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { HIGH = 4 };                    // orders whose errors have both signs; below it they point the same way
static const double ONE_WAY = 3;      // what such errors count: those at kinks themselves may have either sign
static const double GROW_AGAIN = 1.5; // first step over that of the last start

// Answers that IDA, CVODE and ARKODE have in common
enum {
    TSTOP_RETURN = 1,
    WARNING = 99,
    TOO_MUCH_WORK = -1,
    TOO_MUCH_ACCURACY = -2,
    ERROR_FAILURE = -3,
    CONVERGENCE_FAILURE = -4,
    SETUP_FAILURE = -6,
    ILLEGAL_INPUT = -22
};

kd_status kd_sundials_check(const char *what, char *message, size_t size)
{
    char why[300];
    if (kd_sundials_load(why, sizeof why)) return KD_OK;
    kd_text(message, size, "%s: %s; install SUNDIALS, or take an integrator of kardan's own", what, why);
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_sundials_check_ode(const char *what, const kd_dae *dae, char *message, size_t size)
{
    if (dae->methods->rhs) return kd_sundials_check(what, message, size);
    kd_text(message, size,
            "%s integrates ordinary differential equations, which the %s form is not; use the formulation ode", what,
            dae->methods->name);
    return KD_ERR_UNSUPPORTED;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// vectors that any of the solvers has at the same time, at most; what it allocates besides
enum { MOST_VECTORS = 80, SURROUNDINGS = 1 << 20 /* bytes */ };

kd_status kd_sundials_open(kd_sundials *self, const kd_sundials_calls *calls, const kd_sundials_options *rule)
{
    kd_arena *arena = &self->base.arena;
    int       n = self->base.n;
    self->calls = *calls;
    self->rule = rule;
    self->dae = self->base.dae;
    self->base.x = kd_cut_double(arena, n);
    self->previous = kd_cut_double(arena, n);
    self->slope_old = kd_cut_double(arena, n);
    self->slope = kd_cut_double(arena, n);
    self->F = kd_cut_double(arena, n);
    self->part = kd_cut_double(arena, n);
    self->y = kd_cut_double(arena, self->dae->nreduced_max);
    self->share = kd_cut_double(arena, n);
    kd_kink_cut(&self->kink, arena, n);
    self->measured = kd_cut_bool(arena, n);
    // SUNDIALS copies vectors without looking whether there was memory for them: there must be some for all
    const size_t vectors = MOST_VECTORS * sizeof(double) * (size_t)(n > 0 ? n : 1);
    if (arena->failed || !kd_memory_offers(vectors + SURROUNDINGS)) return KD_ERR_MEMORY;
    if (SUNContext_Create(NULL, &self->context) != 0) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) self->measured[i] = true;
    if (!kd_sundials_vector(self, &self->x) || !kd_sundials_vector(self, &self->error) ||
        !kd_sundials_vector(self, &self->weight))
        return KD_ERR_MEMORY;
    return KD_OK;
}

// SUNDIALS has no vectors without components: where every coordinate is prescribed, one that rests stands in.
bool kd_sundials_vector(kd_sundials *self, N_Vector *vector)
{
    *vector = N_VNew_Serial(self->dae->n > 0 ? self->dae->n : 1, self->context);
    if (*vector) N_VConst(0, *vector);
    return *vector;
}

void kd_sundials_release(kd_integrator *base)
{
    kd_sundials *self = (kd_sundials *)base;
    // the solver first: it refers to vectors, matrix and context
    if (self->calls.release) self->calls.release(self);
    if (self->solver) SUNLinSolFree(self->solver);
    if (self->matrix) SUNMatDestroy(self->matrix);
    N_Vector vectors[] = {self->x, self->error, self->weight, self->xdot};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        if (vectors[k]) N_VDestroy(vectors[k]);
    if (self->context) SUNContext_Free(&self->context);
}

// ---- linear algebra of the formulation ------------------------------------------------------------------------------

static SUNLinearSolver_Type own_type(SUNLinearSolver solver)
{
    (void)solver;
    return SUNLINEARSOLVER_DIRECT;
}

static int own_setup(SUNLinearSolver solver, SUNMatrix A)
{
    (void)solver, (void)A;
    return SUNLS_SUCCESS; // factored where the matrix would have been filled
}

// x = factor (gamma F_x' + F_x) \ b
static int own_solve(SUNLinearSolver solver, SUNMatrix A, N_Vector x, N_Vector b, double tolerance)
{
    kd_sundials        *self = solver->content;
    const kd_dae_class *methods = self->dae->methods;
    void               *impl = self->dae->impl;
    const double       *rhs = N_VGetArrayPointer(b);
    (void)A, (void)tolerance;
    for (int i = 0; i < self->dae->n; i++) self->F[i] = -self->solution_factor * rhs[i]; // reduce takes -F
    methods->reduce(impl, self->F, self->part, self->y);
    methods->solve_real(impl, self->y);
    methods->expand(impl, self->part, self->y, N_VGetArrayPointer(x));
    if (self->dae->n == 0) N_VConst(0, x);
    return SUNLS_SUCCESS;
}

static int own_free(SUNLinearSolver solver)
{
    SUNLinSolFreeEmpty(solver);
    return SUNLS_SUCCESS;
}

static SUNLinearSolver own_solver(kd_sundials *self)
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

bool kd_sundials_linear_solver(kd_sundials *self)
{
    const bool   own = self->rule->own_linear_algebra;
    sunindextype n = own || self->dae->n == 0 ? 1 : self->dae->n;
    // with own linear algebra the matrix has one entry that nobody fills
    self->solution_factor = 1;
    self->matrix = SUNDenseMatrix(n, n, self->context);
    if (!self->matrix) return false;
    self->solver = own ? own_solver(self) : SUNLinSol_Dense(self->x, self->matrix, self->context);
    return self->solver;
}

// gamma (1/gamma I - rhs_x): linearised unless kept, factored for 1/gamma
int kd_sundials_linear_system(kd_sundials *self, double t, N_Vector x, N_Vector xdot, bool keep, int *renewed,
                              double gamma)
{
    const kd_dae_class *methods = self->dae->methods;
    void               *impl = self->dae->impl;
    kd_status           status = KD_OK;
    // CVODE and ARKODE solve (I - gamma f_x) x = b; the formulation has 1/gamma F_x' + F_x, hence the factor
    self->dae->gamma = 1 / gamma;
    if (!keep) status = methods->linearize(impl, t, N_VGetArrayPointer(x), N_VGetArrayPointer(xdot), false);
    if (status >= 0) status = methods->factor(impl, 1 / gamma, 1 / gamma, 0);
    *renewed = !keep;
    self->solution_factor = 1 / gamma;
    self->news = keep && self->news != KD_MATRIX_EVALUATED ? KD_MATRIX_FACTORED : KD_MATRIX_EVALUATED;
    return kd_sundials_note_linear(self, status);
}

// ---- callbacks ------------------------------------------------------------------------------------------------------

void kd_sundials_keep_message(int code, const char *module, const char *function, char *text, void *user_data)
{
    kd_sundials *self = user_data;
    (void)module, (void)function;
    if (code != WARNING && self->reason[0] == '\0') kd_text(self->reason, sizeof self->reason, "%s", text);
}

int kd_sundials_note(kd_sundials *self, kd_eval answer)
{
    const char *text = "";
    if (answer == KD_EVAL_OK) return 0;
    // the formulation's reason, or the answer itself; positive: a smaller step, negative: the end
    self->fault = self->dae->methods->fault ? self->dae->methods->fault(self->dae->impl, &text) : KD_OK;
    if (answer == KD_EVAL_STOP && self->fault >= 0) self->fault = KD_ERR_CALLBACK_STOP;
    if (self->fault >= 0) self->fault = KD_ERR_RETRY_FAILED;
    kd_text(self->reason, sizeof self->reason, "%s", text);
    return answer == KD_EVAL_STOP ? -1 : 1;
}

int kd_sundials_note_linear(kd_sundials *self, kd_status status)
{
    const char *text = "";
    if (status >= 0) return 0;
    // linear algebra may recover with a smaller step, lack of memory may not
    self->dae->methods->fault(self->dae->impl, &text);
    self->fault = status;
    kd_text(self->reason, sizeof self->reason, "%s", text);
    return status == KD_ERR_CALLBACK_STOP || status == KD_ERR_MEMORY ? -1 : 1;
}

int kd_sundials_finite(kd_sundials *self, const double *F, const char *what)
{
    for (int i = 0; i < self->dae->n; i++) {
        if (isfinite(F[i])) continue;
        self->fault = KD_ERR_NOT_FINITE;
        kd_text(self->reason, sizeof self->reason, "row %d of the %s is not finite", i, what);
        return 1;
    }
    return 0;
}

int kd_sundials_rhs(double t, N_Vector x, N_Vector xdot, void *user_data)
{
    kd_sundials *self = user_data;
    double      *f = N_VGetArrayPointer(xdot);
    // a new evaluation: if attempts have failed since the last one, the observer hears of it now
    kd_sundials_at(self, t);
    kd_eval answer = self->dae->methods->rhs(self->dae->impl, t, N_VGetArrayPointer(x), f);
    if (self->dae->n == 0) f[0] = 0;
    return answer == KD_EVAL_OK ? kd_sundials_finite(self, f, "right-hand side") : kd_sundials_note(self, answer);
}

int kd_sundials_weights(N_Vector x, N_Vector weight, void *user_data)
{
    const kd_sundials *self = user_data;
    const double      *y = N_VGetArrayPointer(x), *atol = self->base.atol;
    double            *w = N_VGetArrayPointer(weight);
    const double       factor = self->sharper > 0 ? self->sharper : 1;
    // without components: the one that stands in rests
    if (self->dae->n == 0) w[0] = 1;
    for (int i = 0; i < self->dae->n; i++)
        w[i] = factor / kd_integrator_tolerance(&self->base, i, atol[i] * kd_attempt_unit(self->dae, i), y[i]);
    return 0;
}

bool kd_sundials_corrects(const kd_dae *dae)
{
    return dae->methods->correct || dae->methods->project;
}

int kd_sundials_correct(kd_sundials *self, double t, double *x)
{
    const kd_dae_class *methods = self->dae->methods;
    bool                moved = false;
    kd_eval             answer = KD_EVAL_OK;
    // norms of quaternions, then the projection
    self->dae->keep = true;
    if (methods->correct) answer = methods->correct(self->dae->impl, t, x, NULL);
    if (methods->project && answer == KD_EVAL_OK) answer = methods->project(self->dae->impl, t, x, &moved);
    return kd_sundials_note(self, answer);
}

// ---- reports of attempts --------------------------------------------------------------------------------------------

static void report(kd_sundials *self, kd_attempt outcome, double t, double h, double error, const double *share)
{
    kd_sundials_counts now;
    (void)self->calls.count(self, &now);
    // counters of the solver are running sums: differences belong to this attempt
    const kd_attempt_report told = {
        .t = t,
        .h = h,
        .order = now.order,
        .iterations = (int)(now.iterations - self->told.iterations),
        .outcome = outcome,
        .matrix = self->news,
        .error = error,
        .share = share,
    };
    self->told = now;
    self->news = KD_MATRIX_KEPT;
    self->dae->observe(&told, self->dae->observer);
}

// Attempts that failed since the last report. Their errors are gone by now.
static void report_failures(kd_sundials *self)
{
    kd_sundials_counts now;
    (void)self->calls.count(self, &now);
    // how many failed, by which test; h is how far the attempt got
    long errors = now.error_failures - self->told.error_failures;
    long solves = now.solve_failures - self->told.solve_failures;
    if (errors + solves <= 0) return;
    double h = self->t_tried > self->base.t ? self->t_tried - self->base.t : 0;
    report(self,
           errors > 0        ? KD_ATTEMPT_ERROR
           : self->fault < 0 ? KD_ATTEMPT_EVALUATE
                             : KD_ATTEMPT_NEWTON,
           self->base.t, h, 0, NULL);
    self->t_tried = self->base.t;
}

void kd_sundials_at(kd_sundials *self, double t)
{
    if (!self->dae->observe) return;
    report_failures(self);
    self->t_tried = fmax(self->t_tried, t);
}

// share = parts of the components in the square of the norm of the local error, which is returned; < 0: unknown
static double error_shares(kd_sundials *self)
{
    // local errors and weights of the solver's own test, in vectors of ours
    if (self->calls.local_errors(self->memory, self->error) != 0 ||
        self->calls.weights(self->memory, self->weight) != 0)
        return -1;
    const double *e = N_VGetArrayPointer(self->error), *w = N_VGetArrayPointer(self->weight);
    double        sum = 0;
    int           n = self->dae->n;
    for (int i = 0; i < n; i++) {
        self->share[i] = self->measured[i] ? e[i] * e[i] * w[i] * w[i] : 0;
        sum += self->share[i];
    }
    if (!(sum > 0) || !isfinite(sum)) return -1;
    for (int i = 0; i < n; i++) self->share[i] /= sum;
    return sqrt(sum / n);
}

static void report_accepted(kd_sundials *self)
{
    if (!self->dae->observe) return;
    double error = error_shares(self);
    report(self, KD_ATTEMPT_ACCEPTED, self->base.t_old, self->base.t - self->base.t_old, fmax(error, 0),
           error >= 0 ? self->share : NULL);
    self->t_tried = self->base.t;
}

// ---- steps ----------------------------------------------------------------------------------------------------------

static void clear(kd_sundials *self)
{
    self->fault = KD_OK;
    self->reason[0] = '\0';
    self->base.message[0] = '\0';
}

static kd_status no_start(kd_sundials *self)
{
    kd_text(self->base.message, sizeof self->base.message, "t = %.9g: no start: %s", self->base.t, self->reason);
    return self->fault < 0 ? self->fault : KD_ERR_ARGUMENT;
}

// Nothing has been done since the start at (t, x)
static void set_start(kd_sundials *self, double t, const double *x)
{
    // x may be base.x itself
    size_t bytes = (size_t)self->dae->n * sizeof *x;
    memmove(self->base.x, x, bytes);
    memcpy(N_VGetArrayPointer(self->x), x, bytes);
    self->base.t = self->base.t_old = self->t_tried = t;
    self->steps = 0;
    self->told = (kd_sundials_counts){0};
}

static kd_status begin(kd_sundials *self, double t, const double *x, double *xdot)
{
    const kd_dae_class *methods = self->dae->methods;
    clear(self);
    set_start(self, t, x);
    // ODE solvers have no x': what the start computes goes to a scratch array
    if (!xdot) xdot = self->F;
    memset(xdot, 0, (size_t)self->dae->n * sizeof *x);
    self->h_again = 0;
    if (methods->start && kd_sundials_note(self, methods->start(self->dae->impl, t, x, xdot)) != 0)
        return no_start(self);
    return KD_OK;
}

// The solvers have no way into their past: they begin again with order 1, but with the step with which they began last,
// and a little more, instead of a guess.
static kd_status begin_again(kd_sundials *self, double t, const double *x, kd_restart mode, double *xdot)
{
    kd_status status = KD_OK;
    double    h = mode != KD_RESTART_FRESH && self->started ? GROW_AGAIN * self->h_begun : 0;
    // a new start, or the same point with x' from behind a kink
    if (mode != KD_RESTART_SMOOTH || !self->started) {
        status = begin(self, t, x ? x : self->base.x, xdot);
    } else {
        clear(self);
        if (kd_sundials_note(
                self, kd_kink_solve(&self->kink, self->dae, self->base.t, self->base.x, xdot ? xdot : self->F)) != 0)
            return no_start(self);
        set_start(self, self->base.t, self->base.x);
    }
    self->h_again = h;
    return status;
}

// component with the largest weighted local error, -1: unknown
static int worst_component(kd_sundials *self)
{
    int worst = 0;
    if (error_shares(self) < 0) return -1;
    for (int i = 1; i < self->dae->n; i++)
        if (self->share[i] > self->share[worst]) worst = i;
    return worst;
}

static kd_status status_of(const kd_sundials *self, int flag)
{
    switch (flag) {
    case TOO_MUCH_WORK:
        return KD_ERR_TOO_MANY_STEPS;
    case TOO_MUCH_ACCURACY:
        return KD_ERR_TOLERANCE;
    case ERROR_FAILURE:
        return KD_ERR_STEP_TOO_SMALL;
    case CONVERGENCE_FAILURE:
        return self->fault < 0 ? self->fault : KD_ERR_NEWTON;
    case ILLEGAL_INPUT:
        return KD_ERR_ARGUMENT;
    default:
        break;
    }
    // a refused function explains more than the solver's flag
    return self->fault < 0 ? self->fault : flag == SETUP_FAILURE ? KD_ERR_DECOMPOSITION : KD_ERR_NEWTON;
}

static kd_status explain_end(kd_sundials *self, kd_status status)
{
    // components are named where the error or Newton's method was the reason
    const char *advice = status == KD_ERR_TOO_MANY_STEPS ? "raise max_steps or loosen the tolerances" : "";
    int         worst = status == KD_ERR_NEWTON || status == KD_ERR_STEP_TOO_SMALL ? worst_component(self) : -1;
    char        head[500];
    kd_text(head, sizeof head, "t = %.9g: %s: %s", self->base.t, self->base.how->title, kd_status_sentence(status));
    if (self->reason[0]) kd_text_append(head, sizeof head, "; %s", self->reason);
    self->base.message[0] = '\0';
    kd_attempt_explain(self->dae, head, worst, advice, self->base.message, sizeof self->base.message);
    return status;
}

static kd_status may_step(kd_sundials *self, double t_end, bool *go)
{
    *go = false;
    clear(self);
    // no start; time backwards; there already; too many
    if (!self->started) {
        kd_text(self->base.message, sizeof self->base.message, "%s: start comes before step", self->base.how->title);
        return KD_ERR_STAGE;
    }
    if (!(t_end >= self->base.t)) return explain_end(self, KD_ERR_TIME);
    if (kd_integrator_is_there(&self->base, t_end)) {
        self->base.t = t_end;
        return KD_OK;
    }
    if (self->steps >= self->base.opt.max_steps) return explain_end(self, KD_ERR_TOO_MANY_STEPS);
    *go = true;
    return KD_OK;
}

static double limit(const kd_sundials *self, double t_end, double h_max)
{
    return kd_attempt_landing(self->base.t, t_end, h_max, 0, 0);
}

static kd_status relabel(kd_sundials *self, bool *changed)
{
    const kd_dae_class *methods = self->dae->methods;
    *changed = false;
    if (!methods->relabel || self->steps == 0) return KD_OK;
    kd_eval answer = methods->relabel(self->dae->impl, self->base.t, self->base.x, changed);
    if (answer == KD_EVAL_OK) return KD_OK;
    (void)kd_sundials_note(self, answer);
    return explain_end(self, self->fault < 0 ? self->fault : KD_ERR_RETRY_FAILED);
}

static bool may_retract(const kd_sundials *self, double h)
{
    return self->started && self->steps > 0 && self->base.t > self->base.t_old && h > 0;
}

static void retracted(kd_sundials *self, long steps)
{
    self->steps = steps;
    self->before.accepted--;
    self->before.retracted++;
    self->lost -= self->lost_last;
    self->lost_last = 0;
}

// Errors of steps with less than the order of before the restart, or a low one. One-step methods have but one order.
static void count_lost(kd_sundials *self)
{
    kd_sundials_counts now;
    self->lost_last = 0;
    if (self->order_before == 0) return;
    const int wanted = self->order_before > HIGH ? self->order_before : HIGH;
    if (self->calls.step_in_use || !self->calls.count(self, &now) || now.order >= wanted) {
        self->order_before = 0;
        return;
    }
    self->lost_last = ONE_WAY * fmax(error_shares(self), 0);
    self->lost += self->lost_last;
}

double kd_sundials_lost(const kd_integrator *base)
{
    return ((const kd_sundials *)base)->lost;
}

static kd_status stepped(kd_sundials *self, int flag, double t, double t_end)
{
    // what failed on the way, then the point, then the report of the step
    if (self->dae->observe) report_failures(self);
    if (flag < 0) return explain_end(self, status_of(self, flag));
    memcpy(self->previous, self->base.x, (size_t)self->dae->n * sizeof(double));
    memcpy(self->base.x, N_VGetArrayPointer(self->x), (size_t)self->dae->n * sizeof(double));
    self->base.t_old = self->base.t;
    self->base.t = flag == TSTOP_RETURN ? t_end : t;
    if (self->steps++ == 0) self->h_begun = self->base.t - self->base.t_old;
    report_accepted(self);
    count_lost(self);
    // a function that refuses to be evaluated beyond some time would be approached for ever
    if (self->base.t < t_end && self->base.t - self->base.t_old <= 8 * DBL_EPSILON * fabs(self->base.t))
        return explain_end(self, self->fault < 0 ? self->fault : KD_ERR_STEP_TOO_SMALL);
    return KD_OK;
}

// First step of a start: the one that was asked for, that of before, the solver's own (0)
static int set_first(kd_sundials *self, double h)
{
    const kd_integrator_options *o = &self->base.opt;
    if (o->h_fixed > 0) return 0;
    return self->calls.set_first(self->memory, o->h_first > 0 ? o->h_first : h);
}

kd_status kd_sundials_restart(kd_integrator *base, double t, const double *x, kd_restart mode)
{
    kd_sundials       *self = (kd_sundials *)base;
    const bool         goes_on = self->started && self->steps > 0 && mode != KD_RESTART_FRESH;
    double            *xdot = self->xdot ? N_VGetArrayPointer(self->xdot) : NULL;
    kd_sundials_counts now;
    // the order that it had is to be reached again
    const bool known = goes_on && mode == KD_RESTART_BEHIND && self->dae->jumped && self->calls.count(self, &now);
    self->order_before = known && now.order > self->order_before ? now.order : goes_on ? self->order_before : 0;
    // counters of this start are kept: the solver begins to count at zero
    self->before = kd_sundials_stats(base);
    // one-step methods go on with their step; multistep ones begin with the last first step (h_again)
    const double h_last = goes_on && self->calls.step_in_use ? self->calls.step_in_use(self) : 0;
    kd_status    status = begin_again(self, t, x, mode, xdot);
    if (status < 0) return status;
    if (self->calls.start(self) != 0 || set_first(self, fmax(self->h_again, h_last)) != 0) return no_start(self);
    self->started = true;
    return KD_OK;
}

kd_status kd_sundials_start_again(kd_sundials *self)
{
    // a restart clears fault and reason, which still have to be told if this does not help either
    const long      steps = self->steps;
    const kd_status fault = self->fault; // the reason, if it was the last attempt
    char            reason[sizeof self->reason];
    memcpy(reason, self->reason, sizeof reason);
    kd_status status = kd_sundials_restart(&self->base, self->base.t, self->base.x, KD_RESTART_FRESH);
    if (self->calls.steps_go_on) self->steps = steps;
    self->fault = fault;
    memcpy(self->reason, reason, sizeof reason);
    return status;
}

kd_status kd_sundials_step(kd_integrator *base, double t_end)
{
    kd_sundials                 *self = (kd_sundials *)base;
    const kd_integrator_options *o = &base->opt;
    bool                         go, changed = false;
    kd_status                    status = may_step(self, t_end, &go);
    if (!go) return status;
    status = relabel(self, &changed); // new coordinates of a state-space form: a new start at the same place
    if (status >= 0 && changed) status = kd_sundials_start_again(self);
    if (status < 0) return status;
    double t = base->t;
    // h_max divides what is left into equal parts, so that the last step is not tiny
    if (o->h_max > 0 && self->calls.set_longest) self->calls.set_longest(self->memory, limit(self, t_end, o->h_max));
    // the solver's own guess of a first step is replaced where it is known to be bad (IDA)
    if (self->steps == 0 && o->h_first == 0 && self->calls.first_step) {
        double h = self->h_again > 0 ? self->h_again : self->calls.first_step(self, t_end - t);
        self->calls.set_first(self->memory, fmin(h, o->h_max > 0 ? o->h_max : INFINITY));
    }
    int flag = self->calls.evolve(self, t_end, &t);
    return stepped(self, flag, t, t_end);
}

// The solver starts again at the start of the step, with order 1 where it has several.
kd_status kd_sundials_retract(kd_integrator *base, double h)
{
    kd_sundials *self = (kd_sundials *)base;
    if (!may_retract(self, h)) return KD_ERR_STAGE;
    // the restart begins at the kept start of the step; CVODE and ARKODE count on
    const long steps = self->calls.steps_go_on ? self->steps - 1 : 0;
    kd_status  status = kd_sundials_restart(base, base->t_old, self->previous, KD_RESTART_SAME_ROWS);
    retracted(self, steps);
    self->h_again = h;
    if (status == KD_OK && self->calls.set_first(self->memory, h) != 0) status = no_start(self);
    return status;
}

kd_status kd_sundials_dense(kd_integrator *base, double t, double *x)
{
    kd_sundials *self = (kd_sundials *)base;
    size_t       bytes = (size_t)self->dae->n * sizeof *x;
    if (!(t >= self->base.t_old && t <= self->base.t)) {
        kd_text(self->base.message, sizeof self->base.message, "t = %.9g lies outside of the last step", t);
        return KD_ERR_TIME;
    }
    // the end itself is exact; before a step there is nothing else
    if (t == self->base.t || self->steps == 0) {
        memcpy(x, self->base.x, bytes);
        return KD_OK;
    }
    clear(self);
    if (self->calls.derivative(self->memory, t, 0, self->error) != 0) {
        kd_text(self->base.message, sizeof self->base.message, "t = %.9g: no dense output: %s", t, self->reason);
        return self->fault < 0 ? self->fault : KD_ERR_TIME;
    }
    // the polynomial leaves the constraints: back onto them
    memcpy(x, N_VGetArrayPointer(self->error), bytes);
    if (self->dae->methods->rhs && kd_sundials_correct(self, t, x) != 0) {
        kd_text(self->base.message, sizeof self->base.message, "t = %.9g: no dense output: %s", t, self->reason);
        return self->fault;
    }
    return KD_OK;
}

// x' of the solver's own polynomial
bool kd_sundials_ends(kd_integrator *base, kd_step_ends *ends)
{
    kd_sundials  *self = (kd_sundials *)base;
    const double  t[2] = {self->base.t_old, self->base.t};
    double *const slope[2] = {self->slope_old, self->slope};
    if (!self->started || self->steps == 0 || !(self->base.t > self->base.t_old)) return false;
    for (int k = 0; k < 2; k++) {
        if (self->calls.derivative(self->memory, t[k], 1, self->error) != 0) return false;
        memcpy(slope[k], N_VGetArrayPointer(self->error), (size_t)self->dae->n * sizeof(double));
    }
    *ends = (kd_step_ends){t[0], t[1], self->previous, self->slope_old, self->base.x, self->slope, false};
    return true;
}

static void formulation_stats(const kd_sundials *self, bool own, kd_stats *stats)
{
    const kd_dae_class *methods = self->dae->methods;
    if (!methods->counters) return;
    kd_dae_counters c = methods->counters(self->dae->impl);
    stats->projections = c.projections;
    stats->selectors = c.selectors;
    // what only the formulation counts where its own linear algebra is used
    if (!own) return;
    stats->for_differences = c.for_differences;
    stats->mass = c.mass;
    stats->pattern_changes = c.pattern_changes;
    stats->groups = c.groups;
    stats->fullest_row = c.fullest_row;
    stats->factorizations = c.factorizations;
    stats->refactorizations = c.refactorizations;
}

// The solvers count from their last start; earlier ones are added.
kd_stats kd_sundials_stats(const kd_integrator *base)
{
    const kd_sundials *self = (const kd_sundials *)base;
    kd_stats           stats = self->before;
    kd_sundials_counts now;
    if (!self->started || !self->calls.count(self, &now)) return stats;
    // the solver's counters in the words of kd_stats
    stats.accepted += now.steps;
    stats.rejected_error += now.error_failures;
    stats.rejected_newton += now.solve_failures;
    stats.steps += now.steps + now.error_failures + now.solve_failures;
    stats.residuals += now.evaluations;
    stats.for_differences += now.differences;
    stats.jacobians += now.jacobians;
    stats.decompositions += now.setups;
    stats.solves += now.iterations;
    formulation_stats(self, self->rule->own_linear_algebra, &stats);
    stats.order_last = now.order;
    stats.h_last = now.h_last;
    return stats;
}

#else

typedef int kd_without_sundials; // a translation unit must not be empty

#endif
