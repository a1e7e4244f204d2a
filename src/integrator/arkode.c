// arkode.c: SUNDIALS ARKODE on forms with a right-hand side (ode, statespace): explicit Runge-Kutta methods (ERKStep)
// and diagonally implicit ones (ARKStep) with the tables that ARKODE has for each order. Projection (S1 Eq. 36) after
// every accepted step, by ARKODE's own hook: the error has been estimated before, and the next step starts from the
// projected point.
#include "integrator/sundials.h"

static const char *const METHODS[] = {"erk", "dirk", NULL};
#define O kd_integrator_options
// clang-format off
static const kd_option options[] = {
    {KD_WORD("arkode.method", O, arkode.method, KD_ARKODE_ERK, METHODS, "explicit Runge-Kutta, or diagonally implicit Runge-Kutta with Newton's method")},
    {KD_WHOLE("arkode.order", O, arkode.order, 5, 2, 8, "order: 2 to 6 or 8 of erk, 2 to 5 of dirk")},
    {.name = "arkode.table", .type = KD_OPTION_TEXT, .sentence = "dirk: ARKODE's name of a table, ARKODE_ARK437L2SA_DIRK_7_3_4, instead of the order", .offset = offsetof(O, arkode.table)},
    {KD_SWITCH("arkode.extrapolate", O, arkode.extrapolate, 0, "dirk: stages begin on the polynomial of the last step, their slopes are taken from Newton's solution; ARKODE by itself does neither")},
    {KD_SWITCH("arkode.own_linear_algebra", O, arkode.own_linear_algebra, 0, "dirk: Newton matrices of the formulation instead of ARKODE's dense differences")},
};
// clang-format on
#undef O

#ifdef KD_WITH_SUNDIALS

#include "core/text.h"
#include <math.h>
#include <string.h>

#define MAXIMUM_ORDER_PREDICTOR 1 // ARKODE's number
#define FIXED_ITERATIONS 12       // of Newton's method in constant steps; ARKODE's 3 otherwise
#define REFUSED_SHRINK 0.25       // of a step that a function refused
#define LEAST_STEP 1e-15          // beside t

// The same function of ERKStep or ARKStep
#define STEPPER(self, function) (is_explicit(self) ? ERKStep##function : ARKStep##function)

static bool is_explicit(const kd_sundials *self)
{
    return self->rule->method == KD_ARKODE_ERK;
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
    // loaded once to learn its order q, which statistics tell
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(known[k].name, name) == 0) {
            ARKodeButcherTable table = ARKodeButcherTable_LoadDIRK(known[k].id);
            const bool         found = table != NULL;
            *order = found ? table->q : 0;
            ARKodeButcherTable_Free(table);
            return found ? known[k].id : ARKODE_DIRK_NONE;
        }
    return ARKODE_DIRK_NONE;
}

static kd_status check(const kd_dae *dae, const kd_integrator_options *opt, char *message, size_t size)
{
    const kd_sundials_options *o = &opt->arkode;
    const bool                 is_erk = o->method == KD_ARKODE_ERK;
    kd_status                  status = kd_sundials_check_ode("ARKODE", dae, message, size);
    if (status < 0) return status;
    // orders for which ARKODE has tables
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
    return KD_OK;
}

// The table of that name, which has its order, or ARKODE's table of that order
static bool set_method(kd_sundials *self)
{
    kd_sundials_options *o = &self->base.opt.arkode;
    if (is_explicit(self) || !o->table) return STEPPER(self, SetOrder)(self->memory, o->order) == 0;
    const ARKODE_DIRKTableID table = find_table(o->table, &o->order);
    o->table = NULL; // the name is the caller's
    return ARKStepSetTableNum(self->memory, table, ARKODE_ERK_NONE) == 0;
}

static bool set_options(kd_sundials *self)
{
    void                        *m = self->memory;
    const kd_integrator_options *o = &self->base.opt;
    // the limit of steps is ours (kd_sundials_step); projection after the error estimate
    return STEPPER(self, SetUserData)(m, self) == 0 && STEPPER(self, WFtolerances)(m, kd_sundials_weights) == 0 &&
           STEPPER(self, SetMaxNumSteps)(m, -1) == 0 && set_method(self) &&
           (o->h_max == 0 || STEPPER(self, SetMaxStep)(m, o->h_max) == 0) &&
           (o->h_first == 0 || STEPPER(self, SetInitStep)(m, o->h_first) == 0) &&
           (o->h_fixed == 0 || STEPPER(self, SetFixedStep)(m, o->h_fixed) == 0) &&
           (!kd_sundials_corrects(self->dae) || STEPPER(self, SetPostprocessStepFn)(m, project) == 0);
}

static bool set_solver(kd_sundials *self)
{
    if (is_explicit(self)) return true;
    // constant steps cannot be made shorter when Newton's method is slow
    if (self->base.opt.h_fixed > 0 && ARKStepSetMaxNonlinIters(self->memory, FIXED_ITERATIONS) != 0) return false;
    // stages start on the polynomial of the last step, and their slopes are not evaluated
    if (self->rule->extrapolate && (ARKStepSetPredictorMethod(self->memory, MAXIMUM_ORDER_PREDICTOR) != 0 ||
                                    ARKStepSetDeduceImplicitRhs(self->memory, 1) != 0))
        return false;
    return kd_sundials_linear_solver(self) && ARKStepSetLinearSolver(self->memory, self->solver, self->matrix) == 0 &&
           (!self->rule->own_linear_algebra || ARKStepSetLinSysFn(self->memory, linear_system) == 0);
}

// ---- the solver's calls ---------------------------------------------------------------------------------------------

static bool count(const kd_sundials *self, kd_sundials_counts *out)
{
    void  *m = self->memory;
    long   implicit = 0;
    double h_first, h_next, t;
    // sums since the last start; those of Newton's method exist for dirk only
    *out = (kd_sundials_counts){.order = self->rule->order};
    STEPPER(self, GetNumErrTestFails)(m, &out->error_failures);
    if (is_explicit(self)) {
        (void)ERKStepGetNumRhsEvals(m, &out->evaluations);
    } else {
        (void)ARKStepGetNumStepSolveFails(m, &out->solve_failures);
        (void)ARKStepGetNumNonlinSolvIters(m, &out->iterations);
        (void)ARKStepGetNumRhsEvals(m, &out->evaluations, &implicit);
        (void)ARKStepGetNumLinSolvSetups(m, &out->setups);
        (void)ARKStepGetNumJacEvals(m, &out->jacobians);
        (void)ARKStepGetNumLinRhsEvals(m, &out->differences);
        out->evaluations += implicit;
    }
    return STEPPER(self, GetStepStats)(m, &out->steps, &h_first, &out->h_last, &h_next, &t) == 0;
}

// One-step methods keep their step over a restart
static double step_in_use(const kd_sundials *self)
{
    double h = 0;
    (void)STEPPER(self, GetCurrentStep)(self->memory, &h);
    return h;
}

static int start(kd_sundials *self)
{
    return is_explicit(self) ? ERKStepReInit(self->memory, kd_sundials_rhs, self->base.t, self->x)
                             : ARKStepReInit(self->memory, NULL, kd_sundials_rhs, self->base.t, self->x);
}

// ERKStep gives up when a function asks for a smaller step. Start again at the last accepted point with one; false: it
// cannot be smaller, or that was not the reason.
static bool start_smaller(kd_sundials *self, int flag)
{
    // refused by a function, in a way that a smaller step may cure
    double h = 0;
    bool   asked = flag <= ARK_RHSFUNC_FAIL && flag >= ARK_UNREC_RHSFUNC_ERR && self->fault < 0 &&
                 self->fault != KD_ERR_CALLBACK_STOP && self->fault != KD_ERR_MEMORY;
    if (!asked || !is_explicit(self) || self->base.opt.h_fixed > 0) return false;
    if (ERKStepGetCurrentStep(self->memory, &h) != 0) return false;
    h *= REFUSED_SHRINK;
    if (!(h > LEAST_STEP * fabs(self->base.t))) return false;
    return kd_sundials_start_again(self) >= 0 && ERKStepSetInitStep(self->memory, h) == 0;
}

static int evolve(kd_sundials *self, double t_end, double *t)
{
    const double t_old = self->base.t_old;
    int          flag, smaller = 0;
    // one step, never beyond t_end; again with smaller ones where ERKStep gives up
    do {
        flag = STEPPER(self, SetStopTime)(self->memory, t_end);
        if (flag == ARK_SUCCESS) flag = STEPPER(self, Evolve)(self->memory, t_end, self->x, t, ARK_ONE_STEP);
    } while (flag < 0 && start_smaller(self, flag) && ++smaller);
    if (smaller > 0) (void)ERKStepSetInitStep(self->memory, self->base.opt.h_first); // of later starts
    // a start sets t_old to t: back to that of the last step
    if (flag < 0) self->base.t_old = t_old;
    return flag;
}

static void release(kd_sundials *self)
{
    if (self->memory) STEPPER(self, Free)(&self->memory);
}

#define CALLS(S)                                                                                                       \
    {                                                                                                                  \
        .steps_go_on = true, .count = count, .local_errors = S##GetEstLocalErrors, .weights = S##GetErrWeights,        \
        .derivative = S##GetDky, .set_first = S##SetInitStep, .step_in_use = step_in_use, .start = start,              \
        .evolve = evolve, .release = release                                                                           \
    }

static kd_status init(kd_integrator *integrator)
{
    kd_sundials               *self = (kd_sundials *)integrator;
    const kd_sundials_options *o = &integrator->opt.arkode;
    // functions of a library that is loaded now: no constants
    const kd_sundials_calls erk = CALLS(ERKStep), dirk = CALLS(ARKStep);
    kd_status               status = kd_sundials_open(self, o->method == KD_ARKODE_ERK ? &erk : &dirk, o);
    if (status < 0) return status;
    // ARKStep gets the right-hand side as its implicit part, and no explicit one
    self->memory = is_explicit(self) ? ERKStepCreate(kd_sundials_rhs, 0, self->x, self->context)
                                     : ARKStepCreate(NULL, kd_sundials_rhs, 0, self->x, self->context);
    if (!self->memory || STEPPER(self, SetErrHandlerFn)(self->memory, kd_sundials_keep_message, self) != 0 ||
        !set_options(self) || !set_solver(self))
        return KD_ERR_MEMORY;
    return KD_OK;
}

#endif

// ---- the class ------------------------------------------------------------------------------------------------------

// nodes of dopri5, which stand for those of all tables
static const double nodes[] = {0.0, 0.3, 0.8, 8.0 / 9.0};

#define INFO(variant_, own_word_, is_explicit_, order_, gap_)                                                          \
    {                                                                                                                  \
        .word = "arkode", .variant = variant_, .own_word = own_word_,                                                  \
        .sentence = "SUNDIALS ARKODE, explicit or diagonally implicit Runge-Kutta, on the formulation ode",            \
        .available = KD_SUNDIALS_AVAILABLE, .needs = KD_INTEGRATES_RHS, .projected = KD_CONTINUES,                     \
        .projects = is_explicit_, .index_max = 1, .is_explicit = is_explicit_, .one_step = true, .fixed_steps = true,  \
        .order = order_, .order_least = 2, .order_gap = gap_, .order_option = "arkode.order", .order_dense = 5,        \
        .turns = 4, .nnodes = sizeof nodes / sizeof *nodes, .nodes = nodes, .check_period = 4, .compared = "ode*"      \
    }

static const kd_integrator_info variants[KD_ARKODE_METHOD_COUNT] = {
    [KD_ARKODE_ERK] = INFO("erk", "arkode-erk", true, 8, 7),
    [KD_ARKODE_DIRK] = INFO("dirk", "arkode-dirk", false, 5, 0),
};

static const kd_integrator_info *about(const kd_integrator_options *o)
{
    return o->arkode.method >= 0 && o->arkode.method < KD_ARKODE_METHOD_COUNT ? &variants[o->arkode.method] : NULL;
}

const kd_integrator_class kd_arkode_class = {
    .info = INFO("erk", "arkode-erk", true, 8, 7),
    .title = "ARKODE",
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .about = about,
#ifdef KD_WITH_SUNDIALS
    .size = sizeof(kd_sundials),
    .check = check,
    .init = init,
    KD_SUNDIALS_CALLS,
#endif
};
