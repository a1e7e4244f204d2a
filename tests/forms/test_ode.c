// Tests of the form ode: right-hand side against the equations it solves, Newton matrices against differences, motions
// against known ones, drift, completed states, failures.
#include "core/failing_allocator.h"
#include "forms/ode_impl.h"
#include "forms/whole.h"
#include "gallery.h"
#include "pendulum.h"
#include "systems/systems.h"

// rhs is (Z v, a, b) of a consistent solve, and the completed state satisfies residual, gII, hI, d and c.
static void rhs_solves_all_equations(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    make_consistent(eom, &whole_inputs, x);
    kd_dae *dae = make_dae(eom, &whole_inputs, x, KD_ODE, NULL);
    double  y[9], ydot[9], value[4], u[1], du[1], ddu[1];
    assert_int_equal(dae->n, 9);
    assert_int_equal(dae->nstate, 9);
    kd_formulation_pack(dae, x, y);
    y[0] += 0.1; // anywhere, also off the constraints of positions
    y[5] -= 0.2;
    assert_int_equal(dae->methods->rhs(dae->impl, 0.4, y, ydot), KD_EVAL_OK);
    kd_formulation_unpack(dae, 0.4, y, x);

    kd_eom_data *data = make_data(eom);
    whole_input(0.4, NULL, u, du, ddu);
    kd_eom_at_time(data, 0.4, u, du, ddu, NULL);
    kd_eom_at_position(data, x->p, x->s);
    kd_eom_at_velocity(data, x->v, x->r);
    kd_eom_at_acceleration(data, x->a, x->w, x->lambda, x->mu);
    const kd_fn zero[] = {KD_RESIDUAL, KD_GII, KD_HI, KD_D, KD_C};
    for (int k = 0; k < 5; k++) {
        assert_int_equal(kd_eom_eval(data, zero[k], value), KD_EVAL_OK);
        for (int i = 0; i < kd_eom_rows(eom, zero[k]); i++) assert_close(value[i], 0, 1e-11);
    }
    assert_int_equal(kd_eom_eval(data, KD_B, value), KD_EVAL_OK);
    assert_close(ydot[8], value[0], 1e-12);
    for (int i = 0; i < 4; i++) {
        assert_close(ydot[i], y[4 + i], 0);
        assert_close(ydot[4 + i], x->a[i], 0);
    }
    kd_eom_data_destroy(data);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- Newton matrices ------------------------------------------------------------------------------------------------

// (gamma I - rhs_x) dx, rhs_x dx by a central difference, solved gives dx again, real and complex.
static void check_newton(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                         const kd_formulation_options *opt, double tolerance)
{
    kd_dae             *dae = make_dae(eom, inputs, x, KD_ODE, opt);
    const kd_dae_class *f = dae->methods;
    enum { MAX = 80 };
    double         y[MAX], ydot[MAX], moved[MAX], plus[MAX], minus[MAX], dx[2][MAX], F[2][MAX], Jdx[2][MAX], part[MAX];
    double         t = 0.4, e = 1e-6, gamma = 30;
    double complex gamma_complex = 20 + 25 * I;
    int            n = dae->n;
    unsigned       seed = 3;
    assert_true(n <= MAX);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(f->start(dae->impl, t, y, ydot), KD_EVAL_OK);
    assert_int_equal(f->linearize(dae->impl, t, y, ydot, true), KD_OK);
    assert_int_equal(f->factor(dae->impl, gamma, creal(gamma_complex), cimag(gamma_complex)), KD_OK);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n; i++) dx[k][i] = scatter(&seed);
        for (int i = 0; i < n; i++) moved[i] = y[i] + e * dx[k][i];
        assert_int_equal(f->rhs(dae->impl, t, moved, plus), KD_EVAL_OK);
        for (int i = 0; i < n; i++) moved[i] = y[i] - e * dx[k][i];
        assert_int_equal(f->rhs(dae->impl, t, moved, minus), KD_EVAL_OK);
        for (int i = 0; i < n; i++) Jdx[k][i] = (plus[i] - minus[i]) / (2 * e);
    }
    for (int i = 0; i < n; i++) F[0][i] = -(gamma * dx[0][i] - Jdx[0][i]);
    f->reduce(dae->impl, F[0], part, F[1]);
    f->solve_real(dae->impl, F[1]);
    f->expand(dae->impl, part, F[1], moved);
    for (int i = 0; i < n; i++)
        if (fabs(moved[i] - dx[0][i]) > tolerance)
            fail_msg("%s: component %d is %g, not %g", kd_eom_title(eom), i, moved[i], dx[0][i]);
    for (int i = 0; i < n; i++) {
        double complex value = gamma_complex * (dx[0][i] + I * dx[1][i]) - (Jdx[0][i] + I * Jdx[1][i]);
        F[0][i] = creal(value);
        F[1][i] = cimag(value);
    }
    f->solve_complex(dae->impl, F[0], F[1]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++) assert_close(F[k][i], dx[k][i], tolerance);
    kd_dae_destroy(dae);
}

// With r, w, s, lambda, mu: analytic, with an inactive row, and differenced (SVD).
static void newton_matrix_of_everything(void **state)
{
    (void)state;
    kd_eom_def             def = whole();
    kd_eom                *eom = make(&def);
    kd_state              *x = state_at(eom, &whole_place);
    kd_formulation_options opt = kd_formulation_options_default();
    make_consistent(eom, &whole_inputs, x);
    check_newton(eom, &whole_inputs, x, &opt, 1e-7);
    x->active_mu[0] = 0;
    check_newton(eom, &whole_inputs, x, &opt, 1e-7);
    x->active_mu[0] = 1;
    opt.constraints = KD_DECOMPOSE_SVD;
    check_newton(eom, &whole_inputs, x, &opt, 1e-6);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Quaternions (Z not I, normals by differences), contact coordinates, auxiliary variables, redundant rows
// (differences).
static void newton_matrices_of_the_systems(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        kd_eom               *eom;
        kd_state             *x;
        assert_int_equal(system->create(&eom, &x), KD_OK);
        kd_formulation_options opt = kd_formulation_options_default();
        if (system->redundant) { // moved positions do not fit together: their rank must not count
            opt.constraints = KD_DECOMPOSE_SVD;
            opt.rank_tolerance = 1e-6;
        }
        check_newton(eom, NULL, x, &opt, system->redundant ? 1e-4 : 5e-6);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- motions --------------------------------------------------------------------------------------------------------

// Every test system moves as its solution by Radau, and its multipliers are right where they are known.
static void systems_move_as_known(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        kd_eom               *eom;
        kd_state             *x, *exact;
        assert_int_equal(system->create(&eom, &x), KD_OK);
        assert_int_equal(kd_state_create(eom, &exact), KD_OK);
        system->solution(system->t_end, exact);
        kd_formulation_options opt = kd_formulation_options_default();
        if (system->redundant) opt.constraints = KD_DECOMPOSE_SVD;
        kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, &opt);
        kd_dims d = kd_eom_dims(eom);
        integrate(dae, 1e-9, system->t_end, x, NULL);
        int count = system->multipliers ? x->n : x->n - d.nlambda - d.nmu;
        for (int i = 0; i < count; i++)
            if (fabs(x->p[i] - exact->p[i]) > 2e-5 * fmax(1, fabs(exact->p[i])))
                fail_msg("%s: component %d is %.12g, not %.12g", system->name, i, x->p[i], exact->p[i]);
        kd_dae_destroy(dae);
        kd_state_destroy(exact);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Explicit formalism and equations with a mass matrix give one motion: a model without loops, in both ways.
static kd_eval swing_acceleration(const kd_point *x, void *context, double *a)
{
    (void)context;
    a[0] = -9.81 * sin(x->p[0]) - 0.1 * x->v[0];
    return KD_EVAL_OK;
}
static kd_eval swing_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 2;
    return KD_EVAL_OK;
}
static kd_eval swing_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = 2 * (-9.81 * sin(x->p[0]) - 0.1 * x->v[0]);
    return KD_EVAL_OK;
}
static void explicit_formalism_is_used(void **state)
{
    (void)state;
    double p[2];
    for (int with = 0; with < 2; with++) {
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1};
        def.M = swing_M;
        def.f = swing_f;
        def.acceleration = with ? swing_acceleration : NULL;
        kd_eom   *eom = make(&def);
        kd_state *x;
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->p[0] = 1;
        kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, NULL);
        assert_int_equal(((kd_ode *)dae->impl)->direct, with);
        integrate(dae, 1e-10, 2, x, NULL);
        p[with] = x->p[0];
        assert_close(x->a[0], -9.81 * sin(x->p[0]) - 0.1 * x->v[0], 1e-13);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    assert_close(p[0], p[1], 1e-12);
}

// Dense output of Radau is as accurate as its steps.
static void dense_output_is_accurate(void **state)
{
    (void)state;
    const double          p0[2] = {0, -1}, v0[2] = {2.9, 0};
    kd_eom               *eom;
    kd_state             *x;
    kd_integrator        *radau;
    kd_integrator_options opt = kd_integrator_options_default();
    char                  message[100];
    double                y[4], inside[4], exact[4], most = 0, most_inside = 0;
    opt.rtol = opt.atol = 1e-7;
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, NULL);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(kd_integrator_create(dae, KD_RADAU, &opt, &radau, message, sizeof message), KD_OK);
    assert_int_equal(kd_integrator_start(radau, 0, y), KD_OK);
    while (kd_integrator_time(radau) < 3) {
        assert_int_equal(kd_integrator_step(radau, 3), KD_OK);
        double t1 = kd_integrator_time(radau), t = 0.6 * t1 + 0.4 * kd_integrator_time_old(radau);
        kd_pendulum_exact(13.75, false, 2.9, t1, exact, exact + 2, NULL);
        for (int i = 0; i < 4; i++) most = fmax(most, fabs(kd_integrator_x(radau)[i] - exact[i]));
        assert_int_equal(kd_integrator_dense(radau, t, inside), KD_OK);
        kd_pendulum_exact(13.75, false, 2.9, t, exact, exact + 2, NULL);
        for (int i = 0; i < 4; i++) most_inside = fmax(most_inside, fabs(inside[i] - exact[i]));
    }
    assert_true(most_inside < 3 * most + 1e-9);
    kd_integrator_destroy(radau);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- stabilisation --------------------------------------------------------------------------------------------------

// x' = f + gamma (what stabilises) at a point
static void rates_at(const kd_eom *eom, const kd_state *x, double gamma, double *y, double *ydot)
{
    kd_formulation_options opt = kd_formulation_options_default();
    opt.stabilisation = gamma;
    kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, &opt);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(dae->methods->rhs(dae->impl, 0, y, ydot), KD_EVAL_OK);
    kd_dae_destroy(dae);
}

// g, gI and h at p + size dp, v + size dv
static void violations_at(kd_eom_data *data, const kd_state *x, const double *change, double size, double *g,
                          double *gI)
{
    const kd_dims d = kd_eom_dims(kd_eom_data_eom(data));
    double        p[40], v[40];
    for (int i = 0; i < d.np; i++) p[i] = x->p[i] + size * change[i];
    kd_eom_at_time(data, 0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(data, p, x->s);
    if (d.nlambda > 0) assert_int_equal(kd_eom_eval(data, KD_G, g), KD_EVAL_OK);
    for (int i = 0; i < d.nv; i++) v[i] = x->v[i] + size * change[d.np + i];
    kd_eom_at_position(data, x->p, x->s);
    kd_eom_at_velocity(data, v, x->r);
    if (d.nlambda > 0) assert_int_equal(kd_eom_eval(data, KD_GI, gI), KD_EVAL_OK);
    if (d.nmu > 0) assert_int_equal(kd_eom_eval(data, KD_H, gI + d.nlambda), KD_EVAL_OK);
}

// Off the constraints the stabilised rates differ from the others by -gamma F h, with H F = I on each level: along that
// difference g falls by gamma g, gI and h by gamma times themselves. On the constraints nothing changes.
static void violations_decay(void **state)
{
    (void)state;
    const double gamma = 7;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        kd_eom   *eom;
        kd_state *x;
        double    y[90], plain[90], stable[90], g[3][30], gI[3][30];
        assert_int_equal(kd_test_systems[k].create(&eom, &x), KD_OK);
        const kd_dims d = kd_eom_dims(eom);
        if (!kd_test_systems[k].redundant && d.ns == 0 && d.nlambda + d.nmu > 0) {
            rates_at(eom, x, 0, y, plain);
            rates_at(eom, x, gamma, y, stable);
            for (int i = 0; i < d.np + d.nv; i++) assert_close(stable[i], plain[i], 1e-9 * (1 + fabs(plain[i])));
            // off the constraints, norms of quaternions as they are
            for (int i = 0; i < d.np && d.nq == 0; i++) x->p[i] += 1e-3 * (i + 1);
            for (int i = 0; i < 3 && d.nq > 0; i++) x->p[i] += 1e-3 * (i + 1);
            for (int i = 0; i < d.nv; i++) x->v[i] += 1e-2 * (i + 1);
            rates_at(eom, x, 0, y, plain);
            rates_at(eom, x, gamma, y, stable);
            for (int i = 0; i < d.np + d.nv; i++) stable[i] -= plain[i];
            kd_eom_data *data = make_data(eom);
            const double step[3] = {-1e-3, 0, 1e-3};
            for (int i = 0; i < 3; i++) violations_at(data, x, stable, step[i], g[i], gI[i]);
            for (int i = 0; i < d.nlambda; i++) assert_close((g[2][i] - g[0][i]) / 2e-3, -gamma * g[1][i], 1e-5);
            for (int i = 0; i < d.nlambda + d.nmu; i++)
                assert_close((gI[2][i] - gI[0][i]) / 2e-3, -gamma * gI[1][i], 1e-7);
            kd_eom_data_destroy(data);
        }
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Largest |g| of the pendulum over 50 s by dopri5 without projection
static double drift_of(double gamma)
{
    const double           p0[2] = {0, -1}, v0[2] = {2.9, 0};
    kd_eom                *eom;
    kd_state              *x;
    kd_integrator         *dopri5;
    kd_integrator_options  opt = kd_integrator_options_default();
    kd_formulation_options form = kd_formulation_options_default();
    char                   message[200];
    double                 y[4], most = 0;
    opt.rtol = opt.atol = 1e-6;
    form.projection = KD_PROJECT_NEVER;
    form.stabilisation = gamma;
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, &form);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(kd_integrator_create(dae, KD_DOPRI5, &opt, &dopri5, message, sizeof message), KD_OK);
    assert_int_equal(kd_integrator_start(dopri5, 0, y), KD_OK);
    while (kd_integrator_time(dopri5) < 50) {
        assert_int_equal(kd_integrator_step(dopri5, 50), KD_OK);
        const double *p = kd_integrator_x(dopri5);
        most = fmax(most, fabs(hypot(p[0], p[1]) - 1));
    }
    kd_integrator_destroy(dopri5);
    // half-explicit stages have multipliers of their own
    if (gamma > 0) assert_true(kd_integrator_create(dae, KD_HALF_EXPLICIT, &opt, &dopri5, message, sizeof message) < 0);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return most;
}

// Drift that grows over the whole time stays at what a step leaves; other forms refuse
static void stabilised_motion_does_not_drift(void **state)
{
    (void)state;
    const double free_drift = drift_of(0), stable = drift_of(10);
    assert_true(free_drift > 1e-5);
    assert_true(stable < 0.05 * free_drift);
    kd_formulation_options opt = kd_formulation_options_default();
    const double           p0[2] = {0, -1}, v0[2] = {1, 0};
    kd_eom                *eom;
    kd_state              *x;
    kd_dae                *dae;
    char                   message[300];
    opt.stabilisation = 1;
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_GGL, &opt, &dae, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "ode"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- failures -------------------------------------------------------------------------------------------------------

static kd_eval refusing_f(const kd_point *x, void *context, double *f)
{
    kd_eval *answer = context;
    if (x->t > 0.5) return *answer;
    f[0] = f[1] = f[2] = f[3] = 0;
    return KD_EVAL_OK;
}

// A function that refuses is reported with its words; the rest of a state that cannot be completed stays.
static void failures_have_words(void **state)
{
    (void)state;
    kd_eval    answer = KD_EVAL_RETRY;
    kd_eom_def def = whole();
    def.f = refusing_f;
    def.context = &answer;
    kd_eom     *eom = make(&def);
    kd_state   *x = state_at(eom, &whole_place);
    kd_dae     *dae = make_dae(eom, &whole_inputs, x, KD_ODE, NULL);
    double      y[9], ydot[9];
    const char *message;
    kd_formulation_pack(dae, x, y);
    x->lambda[0] = 77;
    assert_int_equal(dae->methods->rhs(dae->impl, 0.6, y, ydot), KD_EVAL_RETRY);
    assert_true(dae->methods->fault(dae->impl, &message) < 0);
    assert_true(strlen(message) > 5);
    kd_formulation_unpack(dae, 0.6, y, x);
    assert_close(x->lambda[0], 77, 0);
    assert_true(dae->methods->linearize(dae->impl, 0.6, y, ydot, true) < 0);
    answer = KD_EVAL_STOP;
    assert_int_equal(dae->methods->rhs(dae->impl, 0.6, y, ydot), KD_EVAL_STOP);
    assert_int_equal(dae->methods->fault(dae->impl, &message), KD_ERR_CALLBACK_STOP);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Redundant rows are refused at the start, by name, unless the SVD treats them; switched off they do not matter.
static void redundant_rows_are_named(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        kd_eom               *eom;
        kd_state             *x;
        double                y[100], ydot[100];
        const char           *message;
        assert_int_equal(system->create(&eom, &x), KD_OK);
        kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, NULL);
        assert_true(dae->n <= 100);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(dae->methods->start(dae->impl, 0, y, ydot), system->redundant ? KD_EVAL_RETRY : KD_EVAL_OK);
        if (system->redundant) {
            assert_int_equal(dae->methods->fault(dae->impl, &message), KD_ERR_REDUNDANT);
            assert_non_null(strstr(message, "lambda["));
            for (int i = 0; i < kd_eom_dims(eom).nlambda; i++) x->active_lambda[i] = 0;
            assert_int_equal(dae->methods->start(dae->impl, 0, y, ydot), KD_EVAL_OK);
        }
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Components have names.
static void components_have_names(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    kd_dae    *dae = make_dae(eom, &whole_inputs, x, KD_ODE, NULL);
    char       name[64];
    assert_string_equal(dae->methods->component_name(dae->impl, 1, name, sizeof name), "position 'y'");
    assert_string_equal(dae->methods->component_name(dae->impl, 4, name, sizeof name), "velocity rate of 'x'");
    assert_string_equal(dae->methods->component_name(dae->impl, 8, name, sizeof name), "inner state 'r[0]'");
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A failed allocation, at creation or at the first linearisation, leaves nothing behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    double     y[9], ydot[9];
    make_consistent(eom, &whole_inputs, x);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_dae           *dae;
        failing_allocator_use(&a);
        kd_status status = kd_formulation_create(eom, &whole_inputs, x, KD_ODE, NULL, &dae, NULL, 0);
        if (status >= 0) {
            kd_formulation_pack(dae, x, y);
            assert_int_equal(dae->methods->start(dae->impl, 0, y, ydot), KD_EVAL_OK);
            status = dae->methods->linearize(dae->impl, 0, y, ydot, true);
        }
        kd_dae_destroy(dae);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rhs_solves_all_equations),
        cmocka_unit_test(newton_matrix_of_everything),
        cmocka_unit_test(newton_matrices_of_the_systems),
        cmocka_unit_test(systems_move_as_known),
        cmocka_unit_test(explicit_formalism_is_used),
        cmocka_unit_test(dense_output_is_accurate),
        cmocka_unit_test(violations_decay),
        cmocka_unit_test(stabilised_motion_does_not_drift),
        cmocka_unit_test(failures_have_words),
        cmocka_unit_test(redundant_rows_are_named),
        cmocka_unit_test(components_have_names),
        cmocka_unit_test(failed_allocation_leaves_nothing),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
