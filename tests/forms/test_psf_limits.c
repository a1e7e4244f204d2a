// The projected strangeness-free form where things nearly go wrong: functions that refuse in the first linearisation,
// forces that see positions only through contact coordinates, shared multipliers, singular positions, overflow.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pendulum.h"

// ---- helpers --------------------------------------------------------------------------------------------------------

static kd_simulation_options with_tolerance(double tolerance)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = tolerance;
    return opt;
}

static kd_eom *make(const kd_eom_def *def)
{
    kd_eom *eom;
    char    message[300];
    if (kd_eom_create(def, &eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return eom;
}

static kd_state *make_state(const kd_eom *eom)
{
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    return x;
}

// M = I of any size; context is not used
static kd_eval unit_M(int n, double *M)
{
    memset(M, 0, (size_t)(n * n) * sizeof *M);
    for (int i = 0; i < n; i++) M[i * (n + 1)] = 1;
    return KD_EVAL_OK;
}
static kd_eval unit_M1(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    return unit_M(1, M);
}
static kd_eval unit_M2(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    return unit_M(2, M);
}
static kd_eval unit_M3(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    return unit_M(3, M);
}

// ---- contact coordinates --------------------------------------------------------------------------------------------

// A stiff spring and damper that see the position through s: a = -1e4 s - 100 v + cos t, 0 = s - p
static kd_eval feeler_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -1e4 * x->s[0] - 100 * x->v[0] + cos(x->t);
    return KD_EVAL_OK;
}
static kd_eval feeler_c(const kd_point *x, void *context, double *c)
{
    (void)context;
    c[0] = x->s[0] - x->p[0];
    return KD_EVAL_OK;
}

// A force that depends on p through s alone costs as many steps with zero[KD_RESIDUAL] containing KD_P as without.
static void force_through_contact(void **state)
{
    (void)state;
    kd_stats stats[2];
    double   end[2];
    for (int declared = 0; declared < 2; declared++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .ns = 1};
        def.M = unit_M1;
        def.f = feeler_f;
        def.c = feeler_c;
        def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
        if (declared) def.zero[KD_RESIDUAL] = def.zero[KD_FORCE] = KD_BIT(KD_P);
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        kd_simulation_options opt = with_tolerance(1e-6);
        char                  message[600];
        x->p[0] = x->s[0] = 1e-4;
        if (kd_simulate(eom, NULL, &opt, x, 10, &stats[declared], message, sizeof message) != KD_OK)
            fail_msg("%s", message);
        end[declared] = x->p[0];
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    assert_true(labs(stats[1].steps - stats[0].steps) <= 3);
    assert_true(stats[1].solves <= 1.2 * (double)stats[0].solves + 3);
    assert_true(fabs(end[0] - end[1]) < 1e-9);
}

// ---- a pendulum with derivatives that refuse once -------------------------------------------------------------------

typedef struct refusing {
    int calls, refuse_at; // call of the derivative function that answers RETRY
} refusing;

static kd_eval rod_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0, f[1] = -13.75;
    return KD_EVAL_OK;
}
static kd_eval rod_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    return KD_EVAL_OK;
}
static kd_eval rod_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 2 * (x->p[0] * x->v[0] + x->p[1] * x->v[1]);
    return KD_EVAL_OK;
}
static kd_eval rod_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 2 * (x->p[0] * x->a[0] + x->p[1] * x->a[1] + x->v[0] * x->v[0] + x->v[1] * x->v[1]);
    return KD_EVAL_OK;
}
static kd_eval rod_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    refusing *k = context;
    (void)part;
    if (++k->calls == k->refuse_at) return KD_EVAL_RETRY;
    const double *by = fn == KD_G ? x->p : fn == KD_GI || var == KD_V ? x->v : x->a;
    if (fn == KD_RESIDUAL) {
        out[0] = out[3] = 2 * x->lambda[0], out[1] = out[2] = 0;
        return KD_EVAL_OK;
    }
    for (int j = 0; j < 2; j++) out[j] = (fn == KD_GII && var == KD_V ? 4 : 2) * by[j];
    return KD_EVAL_OK;
}
static kd_eom_def rod_definition(refusing *k)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "rod";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.context = k;
    def.M = unit_M2;
    def.f = rod_f;
    def.g = rod_g;
    def.gI = rod_gI;
    def.gII = rod_gII;
    def.derivative = rod_derivative;
    def.given[KD_G] = def.given[KD_GI] = def.given[KD_RESIDUAL] = KD_BIT(KD_P);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V);
    return def;
}

// A derivative function that refuses once, at any of its first calls, is gone around: a constant mass matrix that was
// not reached then is not taken for known.
static void derivative_that_refuses_once(void **state)
{
    (void)state;
    double p[2];
    kd_pendulum_exact(13.75, false, 2.8, 0.5, p, NULL, NULL);
    for (int structure = KD_MASS_FULL; structure <= KD_MASS_DIAGONAL_CONSTANT; structure++) {
        int runs = 0;
        for (int at = 1; at <= 25; at++) {
            refusing       k = {.refuse_at = at};
            kd_eom_def     def = rod_definition(&k);
            kd_simulation *s;
            def.mass_structure = (kd_mass_structure)structure;
            kd_eom               *eom = make(&def);
            kd_state             *x = make_state(eom);
            kd_simulation_options opt = with_tolerance(1e-7);
            x->p[1] = -1;
            x->v[0] = 2.8;
            kd_status status = kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0);
            if (status < 0) {
                assert_int_equal(status, KD_ERR_IV_CALLBACK); // refused while initial values were computed
            } else {
                status = kd_simulation_run(s, 0.5);
                if (status != KD_OK) fail_msg("structure %d, call %d: %s", structure, at, kd_simulation_message(s));
                assert_true(fabs(x->p[0] - p[0]) < 1e-5 && fabs(x->p[1] - p[1]) < 1e-5);
                runs++;
                kd_simulation_destroy(s);
            }
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
        assert_true(runs > 15);
    }
}

// ---- selectors in every step ----------------------------------------------------------------------------------------

// selectors_each_step determines selectors in every accepted step, also where matrices would be kept or belong to
// stages.
static void selectors_in_every_step(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        for (int each = 0; each < 2; each++) {
            kd_eom   *eom;
            kd_state *x;
            kd_stats  stats;
            double    p[2];
            assert_int_equal(kd_pendulum_create(13.75, (double[]){0, -1}, (double[]){2.8, 0}, false, &eom, &x), KD_OK);
            kd_simulation_options opt = with_tolerance(1e-7);
            opt.formulation_options.selectors_each_step = each;
            if (k == 1) opt.integrator_options.radau.theta = 0.1;
            if (k == 2) opt.integrator_options.radau.reference = 2;
            assert_int_equal(kd_simulate(eom, NULL, &opt, x, 3, &stats, NULL, 0), KD_OK);
            kd_pendulum_exact(13.75, false, 2.8, 3, p, NULL, NULL);
            assert_true(fabs(x->p[0] - p[0]) < 1e-5 && fabs(x->p[1] - p[1]) < 1e-5);
            assert_true(each ? stats.selectors >= stats.accepted : 3 * stats.selectors < stats.accepted);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
    }
}

// ---- multipliers of redundant rows ----------------------------------------------------------------------------------

// The rod of the pendulum in two rows: g = |p|^2 - 1 and weight(x) g, the second one multiplied out. Weight 2 or 2 + x.
typedef struct doubled {
    double slope; // weight = 2 + slope x
} doubled;

static kd_eval doubled_g(const kd_point *x, void *context, double *g)
{
    const doubled *k = context;
    rod_g(x, NULL, g);
    g[1] = (2 + k->slope * x->p[0]) * ((x->p[0] - 1) * (x->p[0] + 1) + x->p[1] * x->p[1]);
    return KD_EVAL_OK;
}
static kd_eval doubled_gI(const kd_point *x, void *context, double *g)
{
    const doubled *k = context;
    const double  *p = x->p, *v = x->v;
    rod_gI(x, NULL, g);
    g[1] = (4 + 2 * k->slope * p[0]) * (p[0] * v[0] + p[1] * v[1]) +
           k->slope * v[0] * ((p[0] - 1) * (p[0] + 1) + p[1] * p[1]);
    return KD_EVAL_OK;
}
static kd_eval doubled_gII(const kd_point *x, void *context, double *g)
{
    const doubled *k = context;
    const double  *p = x->p, *v = x->v, *a = x->a;
    rod_gII(x, NULL, g);
    g[1] = (4 + 2 * k->slope * p[0]) * (p[0] * a[0] + p[1] * a[1] + v[0] * v[0] + v[1] * v[1]) +
           4 * k->slope * v[0] * (p[0] * v[0] + p[1] * v[1]) +
           k->slope * a[0] * ((p[0] - 1) * (p[0] + 1) + p[1] * p[1]);
    return KD_EVAL_OK;
}

enum { MOST_STEPS = 200 };

typedef struct ends {
    int    n;
    double t[MOST_STEPS], lambda[MOST_STEPS][2]; // at step ends, or at wanted times
    bool   wanted;
    double slope;
    double worst_force; // largest relative error of the force along the rod
} ends;

static kd_eval note_end(const kd_state *x, bool at_time, void *context)
{
    ends  *k = context;
    double exact, force = x->lambda[0] + (2 + k->slope * x->p[0]) * x->lambda[1]; // (GZ)' lambda = 2 p force
    kd_pendulum_exact(13.75, false, 2.8, x->t, NULL, NULL, &exact);
    k->worst_force = fmax(k->worst_force, fabs(force - exact) / fabs(exact));
    if (at_time != k->wanted) return KD_EVAL_OK;
    assert_true(k->n < MOST_STEPS);
    k->t[k->n] = x->t;
    memcpy(k->lambda[k->n++], x->lambda, 2 * sizeof(double));
    return KD_EVAL_OK;
}

static void swing(ends *k, const double *times, int ntimes)
{
    doubled    context = {k->slope};
    kd_eom_def def = kd_eom_def_default();
    char       message[600] = "";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 2};
    def.context = &context;
    def.M = unit_M2;
    def.f = rod_f;
    def.g = doubled_g;
    def.gI = doubled_gI;
    def.gII = doubled_gII;
    kd_eom               *eom = make(&def);
    kd_state             *x = make_state(eom);
    kd_simulation_options opt = with_tolerance(1e-8);
    opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
    opt.output = note_end;
    opt.context = k;
    opt.times = times;
    opt.ntimes = ntimes;
    x->p[1] = -1;
    x->v[0] = 2.8;
    if (kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message) < 0) fail_msg("%s", message);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Multipliers of redundant rows do not jump between dense output and the ends of steps, and their forces add up to that
// of the single rod.
static void multipliers_of_redundant_rows(void **state)
{
    (void)state;
    const double near = 1e-9;
    for (int k = 0; k < 2; k++) {
        ends   at = {.slope = k}, around = {.slope = k, .wanted = true};
        double times[2 * MOST_STEPS];
        swing(&at, NULL, 0);
        assert_true(at.n > 20 && 2 * at.n < MOST_STEPS);
        int n = 0;
        for (int i = 1; i + 1 < at.n; i++) {
            times[n++] = at.t[i] - near;
            times[n++] = at.t[i] + near;
        }
        swing(&around, times, n);
        assert_int_equal(around.n, n);
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < 2; j++) {
                double jump = fabs(around.lambda[i][j] - at.lambda[1 + i / 2][j]);
                if (!(jump < 1e-5)) fail_msg("weight 2 + %d x: lambda[%d] jumps by %g at %g", k, j, jump, times[i]);
            }
        }
        if (!(at.worst_force < 1e-5 && around.worst_force < 1e-5))
            fail_msg("weight 2 + %d x: force %g %g", k, at.worst_force, around.worst_force);
    }
}

// ---- a singular position --------------------------------------------------------------------------------------------

// Slides along x with speed 1 from x = -1; 0 = y, 0 = y + x z: dependent at x = 0, that is t = 1
static kd_eval wedge_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = f[1] = f[2] = 0;
    return KD_EVAL_OK;
}
static kd_eval wedge_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1];
    g[1] = x->p[1] + x->p[0] * x->p[2];
    return KD_EVAL_OK;
}
static kd_eval wedge_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->v[1];
    g[1] = x->v[1] + x->v[0] * x->p[2] + x->p[0] * x->v[2];
    return KD_EVAL_OK;
}
static kd_eval wedge_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->a[1];
    g[1] = x->a[1] + x->a[0] * x->p[2] + 2 * x->v[0] * x->v[2] + x->p[0] * x->a[2];
    return KD_EVAL_OK;
}
static const char *wedge_name(kd_kind kind, int i, void *context)
{
    static const char *const names[] = {"floor", "wedge"};
    (void)context;
    return kind == KD_NAME_LAMBDA ? names[i] : NULL;
}

// A step that must end where rows become dependent, with matrices evaluated there, ends the run with the change of
// rank, the names of the rows and the last good state, from which nothing has been lost.
static void rank_lost_at_the_end_of_a_step(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        kd_eom_def def = kd_eom_def_default();
        char       message[600] = "";
        kd_stats   stats;
        def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 2};
        def.M = unit_M3;
        def.f = wedge_f;
        def.g = wedge_g;
        def.gI = wedge_gI;
        def.gII = wedge_gII;
        def.name = wedge_name;
        kd_eom               *eom = make(&def);
        kd_state             *x = make_state(eom);
        kd_simulation_options opt = with_tolerance(1e-8);
        opt.formulation_options.constraints = (kd_decomposition)(k % 3);
        opt.integrator_options.radau.theta = -1; // fresh matrices at the end of every step
        if (k >= 3) opt.integrator_options.h_first = 1;
        x->p[0] = -1;
        x->v[0] = 1;
        kd_status status = kd_simulate(eom, NULL, &opt, x, 1, &stats, message, sizeof message);
        if (status != KD_ERR_RANK_CHANGE) fail_msg("%s at %g: %s", kd_status_name(status), x->t, message);
        if (!strstr(message, "floor") || !strstr(message, "wedge")) fail_msg("%s", message);
        assert_true(x->t < 1 && x->t > 1 - 1e-6);
        assert_true(fabs(x->p[0] - (x->t - 1)) < 1e-12 && fabs(x->v[0] - 1) < 1e-12);
        assert_true(fabs(x->p[1]) < 1e-12 && fabs(x->v[1]) < 1e-12);
        for (size_t i = 0; i < x->size; i++) assert_true(isfinite(x->p[i]));
        assert_int_equal(stats.accepted + stats.rejected_error + stats.rejected_newton, stats.steps);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- overflow -------------------------------------------------------------------------------------------------------

// 0 = g = 1e-200 p: a constraint in units that nobody would choose
static kd_eval tiny_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    return KD_EVAL_OK;
}
static kd_eval tiny_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 1e-200 * x->p[0];
    return KD_EVAL_OK;
}
static kd_eval tiny_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 1e-200 * x->v[0];
    return KD_EVAL_OK;
}
static kd_eval tiny_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 1e-200 * x->a[0];
    return KD_EVAL_OK;
}

// A correction that is not a number (lambda by gII overflows, and gII is zero) is a failure, not a small correction.
static void correction_that_is_not_a_number(void **state)
{
    (void)state;
    kd_eom_def  def = kd_eom_def_default();
    kd_dae     *dae;
    const char *text = "";
    double      x[4] = {0}, xdot[4] = {0}; // p, v, lambda, a
    def.dims = (kd_dims){.np = 1, .nv = 1, .nlambda = 1};
    def.M = unit_M1;
    def.f = tiny_f;
    def.g = tiny_g;
    def.gI = tiny_gI;
    def.gII = tiny_gII;
    kd_eom   *eom = make(&def);
    kd_state *at = make_state(eom);
    assert_int_equal(kd_formulation_create(eom, NULL, at, KD_PSF, NULL, &dae, NULL, 0), KD_OK);
    assert_int_equal(dae->n, 4);
    dae->keep = false;
    assert_int_equal(dae->methods->correct(dae->impl, 0.1, x, xdot), KD_EVAL_RETRY);
    assert_true(dae->methods->fault(dae->impl, &text) < 0);
    kd_dae_destroy(dae);
    kd_state_destroy(at);
    kd_eom_destroy(eom);
}

// A row that no longer holds when accelerations jump is out of them, though the matrices of the last step have it: the bob
// of a pendulum whose line is cut falls freely.
static void cut_line_is_no_row_any_more(void **state)
{
    (void)state;
    const double g = 13.75, root = sqrt(0.5);
    for (int k = 0; k < 2; k++) {
        kd_eom      *eom;
        kd_state    *x;
        kd_dae      *dae;
        double       y[20], ydot[20], jump[20], bend[20];
        const double p[] = {k * root, k ? -root : -1}, v[] = {k ? 2 * root : 2.9, k ? 2 * root : 0};
        assert_int_equal(kd_pendulum_create(g, p, v, false, &eom, &x), KD_OK);
        assert_int_equal(kd_initial_consistent(eom, NULL, NULL, x, NULL, 0), KD_OK);
        assert_int_equal(kd_formulation_create(eom, NULL, x, KD_PSF, NULL, &dae, NULL, 0), KD_OK);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(dae->methods->start(dae->impl, 0, y, ydot), KD_EVAL_OK);
        dae->h = 1e-3;
        assert_true(dae->methods->linearize(dae->impl, 0, y, ydot, true) >= 0);
        // with the line nothing jumps
        assert_int_equal(dae->methods->resolve(dae->impl, 0, y, ydot, jump, bend), KD_EVAL_OK);
        assert_true(fabs(jump[2]) + fabs(jump[3]) < 1e-8);
        // without: the acceleration towards the pivot, v^2 and the part of g along the line, is gone
        x->active_lambda[0] = false;
        const double pull = v[0] * v[0] + v[1] * v[1] - g * p[1];
        assert_int_equal(dae->methods->resolve(dae->impl, 0, y, ydot, jump, bend), KD_EVAL_OK);
        assert_true(fabs(ydot[2]) < 1e-9 && fabs(ydot[3] + g) < 1e-9);
        for (int i = 0; i < 2; i++) assert_true(fabs(jump[2 + i] - pull * p[i]) < 1e-8);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- several inner states -------------------------------------------------------------------------------------------

enum { INNER = 3 };

static const double chain[INNER][INNER] = {{-800, 700, 0}, {0, -1500, 900}, {200, 0, -400}};

// r' = A r + (v, p, 0): each of them acts upon others in its own way, fast beside the motion
static kd_eval chain_b(const kd_point *x, void *context, double *b)
{
    (void)context;
    for (int i = 0; i < INNER; i++) {
        b[i] = i == 0 ? x->v[0] : i == 1 ? x->p[0] : 0;
        for (int j = 0; j < INNER; j++) b[i] += chain[i][j] * x->r[j];
    }
    return KD_EVAL_OK;
}
static kd_eval chain_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -9 * x->p[0] + x->r[2];
    return KD_EVAL_OK;
}

// Linear equations, whose Newton matrix is exact: one increment tells that the next is zero, whatever the stiffness; the form ode
// comes to the same motion.
static void several_inner_states(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_PSF, KD_ODE};
    double               end[2][INNER + 2];
    kd_stats             stats[2];
    for (int k = 0; k < 2; k++) {
        kd_eom_def            def = kd_eom_def_default();
        kd_simulation_options opt = with_tolerance(1e-8);
        char                  message[300];
        def.dims = (kd_dims){.np = 1, .nv = 1, .nr = INNER};
        def.M = unit_M1;
        def.f = chain_f;
        def.b = chain_b;
        opt.formulation = forms[k];
        kd_eom   *eom = make(&def);
        kd_state *x = make_state(eom);
        x->p[0] = 0.5;
        for (int i = 0; i < INNER; i++) x->r[i] = 1 - 0.8 * i;
        if (kd_simulate(eom, NULL, &opt, x, 2, &stats[k], message, sizeof message) < 0) fail_msg("%s", message);
        memcpy(end[k], x->p, sizeof end[k]); // p, v and r are neighbours
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    for (int i = 0; i < INNER + 2; i++) assert_true(fabs(end[0][i] - end[1][i]) < 1e-6);
    assert_int_equal(stats[0].rejected_newton, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_line_is_no_row_any_more),     cmocka_unit_test(force_through_contact),
        cmocka_unit_test(derivative_that_refuses_once),    cmocka_unit_test(selectors_in_every_step),
        cmocka_unit_test(multipliers_of_redundant_rows),   cmocka_unit_test(rank_lost_at_the_end_of_a_step),
        cmocka_unit_test(correction_that_is_not_a_number), cmocka_unit_test(several_inner_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
