// arkode.c: SUNDIALS ARKODE on the form ode: explicit Runge-Kutta methods (ERKStep) and diagonally implicit ones
// (ARKStep) with the tables that ARKODE has for each order. Projection (S1 Eq. 36) after every accepted step, by
// ARKODE's own hook: the error has been estimated before, and the next step starts from the projected point.
#include <kardan/arkode.h>

#ifdef KD_WITH_SUNDIALS

#include "core/text.h"
#include "integrator/sundials.h"
#include <arkode/arkode_arkstep.h>
#include <arkode/arkode_erkstep.h>
#include <math.h>
#include <string.h>

#define MAXIMUM_ORDER_PREDICTOR 1 // ARKODE's number
#define FIXED_ITERATIONS 12       // of Newton's method in constant steps; ARKODE's 3 otherwise
#define REFUSED_SHRINK 0.25       // of a step that a function refused
#define LEAST_STEP 1e-15          // beside t

struct kd_arkode {
    kd_sundials       base; // first: the callbacks see it
    kd_arkode_options opt;
};

// The same function of ERKStep or ARKStep
#define STEPPER(self, function) (is_explicit(self) ? ERKStep##function : ARKStep##function)

static bool is_explicit(const kd_arkode *self)
{
    return self->opt.method == KD_ARKODE_ERK;
}

// ---- callbacks ------------------------------------------------------------------------------------------------------

static int linear_system(double t, N_Vector x, N_Vector xdot, SUNMatrix A, SUNMatrix M, int keep, int *renewed,
                         double gamma, void *user_data, N_Vector w1, N_Vector w2, N_Vector w3)
{
    (void)A, (void)M, (void)w1, (void)w2, (void)w3;
    return kd_sundials_linear_system(user_data, t, x, xdot, keep, renewed, gamma);
}

static int project(double t, N_Vector x, void *user_data)
{
    return kd_sundials_correct(user_data, t, N_VGetArrayPointer(x));
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

kd_arkode_options kd_arkode_options_default(void)
{
    return (kd_arkode_options){.rtol = 1e-6, .atol = 1e-6, .max_steps = 100000, .order = 5};
}

bool kd_arkode_available(void)
{
    return true;
}

// ARKODE's implicit tables by name: it knows them itself, but prints where it does not
#define TABLES(X)                                                                                                      \
    X(SDIRK_2_1_2)                                                                                                     \
    X(BILLINGTON_3_3_2)                                                                                                \
    X(TRBDF2_3_3_2)                                                                                                    \
    X(KVAERNO_4_2_3)                                                                                                   \
    X(ARK324L2SA_DIRK_4_2_3)                                                                                           \
    X(CASH_5_2_4)                                                                                                      \
    X(CASH_5_3_4)                                                                                                      \
    X(SDIRK_5_3_4)                                                                                                     \
    X(KVAERNO_5_3_4)                                                                                                   \
    X(ARK436L2SA_DIRK_6_3_4)                                                                                           \
    X(KVAERNO_7_4_5)                                                                                                   \
    X(ARK548L2SA_DIRK_8_4_5)                                                                                           \
    X(ARK437L2SA_DIRK_7_3_4)                                                                                           \
    X(ARK548L2SAb_DIRK_8_4_5)                                                                                          \
    X(ESDIRK324L2SA_4_2_3)                                                                                             \
    X(ESDIRK325L2SA_5_2_3)                                                                                             \
    X(ESDIRK32I5L2SA_5_2_3)                                                                                            \
    X(ESDIRK436L2SA_6_3_4)                                                                                             \
    X(ESDIRK43I6L2SA_6_3_4)                                                                                            \
    X(QESDIRK436L2SA_6_3_4)                                                                                            \
    X(ESDIRK437L2SA_7_3_4)                                                                                             \
    X(ESDIRK547L2SA_7_4_5)                                                                                             \
    X(ESDIRK547L2SA2_7_4_5)

// The table of that name and its order; ARKODE_DIRK_NONE: there is none
static ARKODE_DIRKTableID find_table(const char *name, int *order)
{
#define TABLE_ENTRY(table) {"ARKODE_" #table, ARKODE_##table},
    static const struct {
        const char        *name;
        ARKODE_DIRKTableID id;
    } known[] = {TABLES(TABLE_ENTRY)};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(known[k].name, name) == 0) {
            ARKodeButcherTable table = ARKodeButcherTable_LoadDIRK(known[k].id);
            *order = table ? table->q : 0;
            ARKodeButcherTable_Free(table);
            return table ? known[k].id : ARKODE_DIRK_NONE;
        }
    return ARKODE_DIRK_NONE;
}

static kd_status check_options(const kd_dae *dae, const kd_arkode_options *o, char *message, size_t size)
{
    kd_status status = kd_sundials_check("ARKODE", o->rtol, o->atol, o->h_first, o->h_max, o->max_steps, message, size);
    if (status >= 0) status = kd_sundials_check_ode("ARKODE", dae, message, size);
    if (status < 0) return status;
    if (o->method != KD_ARKODE_ERK && o->method != KD_ARKODE_DIRK) {
        kd_text(message, size, "ARKODE: the method %d is none of erk, dirk", (int)o->method);
        return KD_ERR_ARGUMENT;
    }
    bool is_erk = o->method == KD_ARKODE_ERK;
    if (o->order < 2 || o->order > (is_erk ? 8 : 5) || o->order == 7) {
        kd_text(message, size, "ARKODE: order = %d must be %s", o->order,
                is_erk ? "2 to 6 or 8 for erk" : "2 to 5 for dirk");
        return KD_ERR_ARGUMENT;
    }
    int order;
    if (o->table && !is_erk && find_table(o->table, &order) == ARKODE_DIRK_NONE) {
        kd_text(message, size, "ARKODE has no implicit table of the name %s", o->table);
        return KD_ERR_ARGUMENT;
    }
    if (!(o->h_fixed >= 0) || !isfinite(o->h_fixed)) {
        kd_text(message, size, "ARKODE: h_fixed must not be negative");
        return KD_ERR_ARGUMENT;
    }
    return KD_OK;
}

static void count(const kd_sundials *base, kd_sundials_counts *out)
{
    const kd_arkode *self = (const kd_arkode *)base;
    *out = (kd_sundials_counts){.order = self->opt.order};
    STEPPER(self, GetNumErrTestFails)(base->memory, &out->error_failures);
    if (is_explicit(self)) return;
    ARKStepGetNumStepSolveFails(base->memory, &out->solve_failures);
    ARKStepGetNumNonlinSolvIters(base->memory, &out->iterations);
}

static const kd_sundials_class erk_class = {
    .name = "ARKODE", .count = count, .local_errors = ERKStepGetEstLocalErrors, .weights = ERKStepGetErrWeights};
static const kd_sundials_class dirk_class = {
    .name = "ARKODE", .count = count, .local_errors = ARKStepGetEstLocalErrors, .weights = ARKStepGetErrWeights};

// The table of that name, which has its order, or ARKODE's table of that order
static bool set_method(kd_arkode *self)
{
    kd_arkode_options *o = &self->opt;
    if (is_explicit(self) || !o->table) return STEPPER(self, SetOrder)(self->base.memory, o->order) == 0;
    const ARKODE_DIRKTableID table = find_table(o->table, &o->order);
    o->table = NULL; // the name is the caller's
    return ARKStepSetTableNum(self->base.memory, table, ARKODE_ERK_NONE) == 0;
}

static bool set_options(kd_arkode *self)
{
    void                    *m = self->base.memory;
    const kd_arkode_options *o = &self->opt;
    return STEPPER(self, SetUserData)(m, self) == 0 && STEPPER(self, SStolerances)(m, o->rtol, o->atol) == 0 &&
           STEPPER(self, SetMaxNumSteps)(m, -1) == 0 && set_method(self) &&
           (o->h_max == 0 || STEPPER(self, SetMaxStep)(m, o->h_max) == 0) &&
           (o->h_first == 0 || STEPPER(self, SetInitStep)(m, o->h_first) == 0) &&
           (o->h_fixed == 0 || STEPPER(self, SetFixedStep)(m, o->h_fixed) == 0) &&
           (!kd_sundials_corrects(self->base.dae) || STEPPER(self, SetPostprocessStepFn)(m, project) == 0);
}

static bool set_solver(kd_arkode *self)
{
    kd_sundials *base = &self->base;
    bool         own = self->opt.own_linear_algebra;
    if (is_explicit(self)) return true;
    // constant steps cannot be made shorter when Newton's method is slow
    if (self->opt.h_fixed > 0 && ARKStepSetMaxNonlinIters(base->memory, FIXED_ITERATIONS) != 0) return false;
    if (self->opt.extrapolate && (ARKStepSetPredictorMethod(base->memory, MAXIMUM_ORDER_PREDICTOR) != 0 ||
                                  ARKStepSetDeduceImplicitRhs(base->memory, 1) != 0))
        return false;
    return kd_sundials_linear_solver(base, own) &&
           ARKStepSetLinearSolver(base->memory, base->solver, base->matrix) == 0 &&
           (!own || ARKStepSetLinSysFn(base->memory, linear_system) == 0);
}

static kd_status create_parts(kd_arkode *self, kd_dae *dae)
{
    kd_sundials *base = &self->base;
    kd_status status = kd_sundials_open(base, is_explicit(self) ? &erk_class : &dirk_class, dae, self->opt.max_steps);
    if (status < 0) return status;
    base->memory = is_explicit(self) ? ERKStepCreate(kd_sundials_rhs, 0, base->x, base->context)
                                     : ARKStepCreate(NULL, kd_sundials_rhs, 0, base->x, base->context);
    if (!base->memory || STEPPER(self, SetErrHandlerFn)(base->memory, kd_sundials_keep_message, base) != 0 ||
        !set_options(self) || !set_solver(self))
        return KD_ERR_MEMORY;
    return KD_OK;
}

kd_status kd_arkode_create(kd_dae *dae, const kd_arkode_options *opt, kd_arkode **arkode, char *message, size_t size)
{
    if (arkode) *arkode = NULL;
    if (!dae || !arkode) {
        kd_text(message, size, "ARKODE needs a DAE");
        return KD_ERR_ARGUMENT;
    }
    kd_arkode_options options = opt ? *opt : kd_arkode_options_default();
    kd_status         status = check_options(dae, &options, message, size);
    if (status < 0) return status;
    kd_arkode *self = kd_alloc(sizeof *self);
    if (self) {
        self->opt = options;
        status = create_parts(self, dae);
    } else {
        status = KD_ERR_MEMORY;
    }
    if (status < 0) {
        kd_text(message, size, "ARKODE: %s", kd_status_sentence(status));
        kd_arkode_destroy(self);
    } else {
        *arkode = self;
    }
    return status;
}

void kd_arkode_destroy(kd_arkode *self)
{
    if (!self) return;
    if (self->base.memory) STEPPER(self, Free)(&self->base.memory);
    kd_sundials_close(&self->base);
    kd_free(self);
}

// ---- use ------------------------------------------------------------------------------------------------------------

kd_status kd_arkode_start(kd_arkode *self, double t, const double *x)
{
    if (!self) return KD_ERR_ARGUMENT;
    return kd_arkode_restart(self, t, x, KD_RESTART_FRESH);
}

kd_status kd_arkode_restart(kd_arkode *self, double t, const double *x, kd_restart mode)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    double       h_last = 0;
    base->before = kd_arkode_stats(self);
    if (base->started && base->steps > 0 && mode != KD_RESTART_FRESH)
        (void)STEPPER(self, GetCurrentStep)(base->memory, &h_last);
    kd_status status = kd_sundials_begin_again(base, t, x, mode, NULL);
    if (status < 0) return status;
    int    flag = is_explicit(self) ? ERKStepReInit(base->memory, kd_sundials_rhs, base->t, base->x)
                                    : ARKStepReInit(base->memory, NULL, kd_sundials_rhs, base->t, base->x);
    double h = self->opt.h_first > 0 ? self->opt.h_first : fmax(base->h_again, h_last); // 0: ARKODE's own
    if (flag == 0 && self->opt.h_fixed == 0) flag = STEPPER(self, SetInitStep)(base->memory, h);
    if (flag != 0) return kd_sundials_no_start(base);
    base->started = true;
    return KD_OK;
}

// New coordinates of a state-space form: a new start at the same place
static kd_status relabel(kd_arkode *self)
{
    long      steps = self->base.steps;
    bool      changed;
    kd_status status = kd_sundials_relabel(&self->base, &changed);
    if (status < 0 || !changed) return status;
    status = kd_arkode_start(self, self->base.t, self->base.accepted);
    self->base.steps = steps;
    return status;
}

// ERKStep gives up when a function asks for a smaller step. Start again at the last accepted point with one; false: it
// cannot be smaller, or that was not the reason.
static bool start_smaller(kd_arkode *self, int flag)
{
    kd_sundials *base = &self->base;
    double       h = 0;
    long         steps = base->steps;
    bool         asked = flag <= ARK_RHSFUNC_FAIL && flag >= ARK_UNREC_RHSFUNC_ERR && base->fault < 0 &&
                 base->fault != KD_ERR_CALLBACK_STOP && base->fault != KD_ERR_MEMORY;
    if (!asked || !is_explicit(self) || self->opt.h_fixed > 0) return false;
    if (ERKStepGetCurrentStep(base->memory, &h) != 0) return false;
    h *= REFUSED_SHRINK;
    if (!(h > LEAST_STEP * fabs(base->t))) return false;
    kd_status fault = base->fault;
    char      reason[sizeof base->reason];
    memcpy(reason, base->reason, sizeof reason);
    bool again = kd_arkode_start(self, base->t, base->accepted) >= 0 && ERKStepSetInitStep(base->memory, h) == 0;
    base->steps = steps;
    base->fault = fault; // the reason, if it was the last attempt
    memcpy(base->reason, reason, sizeof reason);
    return again;
}

kd_status kd_arkode_step(kd_arkode *self, double t_end)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    bool         go;
    kd_status    status = kd_sundials_may_step(base, t_end, &go);
    if (!go) return status;
    status = relabel(self);
    if (status < 0) return status;
    double t = base->t, t_old = base->t_old;
    int    flag, smaller = 0;
    do {
        flag = STEPPER(self, SetStopTime)(base->memory, t_end);
        if (flag == ARK_SUCCESS) flag = STEPPER(self, Evolve)(base->memory, t_end, base->x, &t, ARK_ONE_STEP);
    } while (flag < 0 && start_smaller(self, flag) && ++smaller);
    if (smaller > 0) (void)ERKStepSetInitStep(base->memory, self->opt.h_first); // of later starts
    if (flag < 0) base->t_old = t_old;
    return kd_sundials_stepped(base, flag, t, t_end);
}

// The solver starts again at the start of the step, with order 1 where it has several.
kd_status kd_arkode_retract(kd_arkode *self, double h)
{
    if (!self) return KD_ERR_ARGUMENT;
    kd_sundials *base = &self->base;
    if (!kd_sundials_may_retract(base, h) || self->opt.h_fixed > 0) return KD_ERR_STAGE;
    long      steps = base->steps - 1;
    kd_status status = kd_arkode_restart(self, base->t_old, base->previous, KD_RESTART_SAME_ROWS);
    kd_sundials_retracted(base, steps);
    base->h_again = h;
    if (status == KD_OK && STEPPER(self, SetInitStep)(base->memory, h) != 0) status = kd_sundials_no_start(base);
    return status;
}

bool kd_arkode_ends(kd_arkode *self, kd_step_ends *ends)
{
    if (!self || !ends) return false;
    return kd_sundials_ends(&self->base, STEPPER(self, GetDky), ends);
}

kd_status kd_arkode_dense(kd_arkode *self, double t, double *x)
{
    if (!self) return KD_ERR_ARGUMENT;
    return kd_sundials_dense(&self->base, STEPPER(self, GetDky), t, x);
}

// ---- queries --------------------------------------------------------------------------------------------------------

double kd_arkode_time(const kd_arkode *self)
{
    if (!self) return 0;
    return self->base.t;
}

double kd_arkode_time_old(const kd_arkode *self)
{
    if (!self) return 0;
    return self->base.t_old;
}

const double *kd_arkode_x(const kd_arkode *self)
{
    if (!self) return NULL;
    return self->base.accepted;
}

const char *kd_arkode_message(const kd_arkode *self)
{
    return self ? self->base.message : "";
}

// ARKODE counts from its last start; earlier ones are added.
kd_stats kd_arkode_stats(const kd_arkode *self)
{
    if (!self) return (kd_stats){0};
    kd_stats           stats = self->base.before;
    void              *m = self->base.memory;
    long               steps = 0, evaluations = 0, implicit = 0, setups = 0, jacobians = 0, differences = 0;
    double             h_first, h_last = 0, h_next, t;
    kd_sundials_counts now;
    if (!self->base.started || STEPPER(self, GetStepStats)(m, &steps, &h_first, &h_last, &h_next, &t) != 0)
        return stats;
    count(&self->base, &now);
    if (is_explicit(self)) {
        (void)ERKStepGetNumRhsEvals(m, &evaluations);
    } else {
        (void)ARKStepGetNumRhsEvals(m, &evaluations, &implicit);
        (void)ARKStepGetNumLinSolvSetups(m, &setups);
        (void)ARKStepGetNumJacEvals(m, &jacobians);
        (void)ARKStepGetNumLinRhsEvals(m, &differences);
    }
    stats.accepted += steps;
    stats.rejected_error += now.error_failures;
    stats.rejected_newton += now.solve_failures;
    stats.steps += steps + now.error_failures + now.solve_failures;
    stats.residuals += evaluations + implicit;
    stats.for_differences += differences;
    stats.jacobians += jacobians;
    stats.decompositions += setups;
    stats.solves += now.iterations;
    kd_sundials_formulation_stats(&self->base, self->opt.own_linear_algebra, &stats);
    stats.order_last = self->opt.order;
    stats.h_last = h_last;
    return stats;
}

#else // without SUNDIALS

#include "integrator/sundials_absent.h"

kd_arkode_options kd_arkode_options_default(void)
{
    return (kd_arkode_options){.rtol = 1e-6, .atol = 1e-6, .max_steps = 100000, .order = 5};
}

KD_SUNDIALS_ABSENT(arkode, "ARKODE")

#endif
