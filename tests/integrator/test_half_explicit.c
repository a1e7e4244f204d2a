// Tests of the half-explicit method: measured orders on systems with everything, constraints on velocity level by
// construction, gallery models with loops beside psf with radau, refusals.
#include "forms/whole.h"
#include "pendulum.h"
#include "systems/systems.h"
#include <kardan/integrator.h>
#include <kardan/kardan.h>

enum { MOST = 120 };

static kd_integrator *make_solver(kd_dae *dae, double h, double tol)
{
    kd_integrator_options opt = kd_integrator_options_default();
    kd_integrator        *solver;
    char                  message[200] = "";
    opt.h_fixed = h;
    if (tol > 0) opt.rtol = opt.atol = tol;
    if (kd_integrator_create(dae, KD_HALF_EXPLICIT, &opt, &solver, message, sizeof message) < 0)
        fail_msg("%s", message);
    return solver;
}

// ---- orders ---------------------------------------------------------------------------------------------------------

// What is integrated with constant steps: a test system, or the system with everything of whole.h
typedef struct subject {
    const kd_test_system *system; // NULL: whole.h
    double                t_end;
} subject;

static void create_subject(const subject *s, kd_eom **eom, kd_state **x)
{
    if (s->system) {
        assert_int_equal(s->system->create(eom, x), KD_OK);
        return;
    }
    kd_eom_def def = whole();
    *eom = make(&def);
    *x = state_at(*eom, &whole_place);
    make_consistent(*eom, &whole_inputs, *x);
}

static kd_dae *create_dae(const subject *s, const kd_eom *eom, const kd_state *x, kd_projection projection)
{
    kd_formulation_options form = kd_formulation_options_default();
    form.projection = projection;
    if (s->system && s->system->redundant) form.constraints = KD_DECOMPOSE_SVD;
    return make_dae(eom, s->system ? NULL : &whole_inputs, x, KD_ODE, &form);
}

// x at t_end: known, or by psf with a tight tolerance
static void reference(const subject *s, kd_state *x)
{
    kd_eom   *eom;
    kd_state *start;
    create_subject(s, &eom, &start);
    if (s->system) {
        s->system->solution(s->t_end, x);
    } else {
        kd_dae *dae = make_dae(eom, &whole_inputs, start, KD_PSF, NULL);
        integrate(dae, 1e-13, s->t_end, start, NULL);
        memcpy(x->p, start->p, (size_t)start->n * sizeof *x->p);
        kd_dae_destroy(dae);
    }
    kd_state_destroy(start);
    kd_eom_destroy(eom);
}

// Largest errors of p and of v after constant steps
static void errors_of(const subject *s, kd_projection projection, int steps, double error[2])
{
    kd_eom   *eom;
    kd_state *x, *exact;
    double    y[MOST];
    create_subject(s, &eom, &x);
    assert_int_equal(kd_state_create(eom, &exact), KD_OK);
    reference(s, exact);
    kd_dae        *dae = create_dae(s, eom, x, projection);
    kd_integrator *solver = make_solver(dae, s->t_end / steps, 0);
    kd_dims        d = kd_eom_dims(eom);
    assert_true(dae->n <= MOST);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(kd_integrator_start(solver, 0, y), KD_OK);
    while (kd_integrator_time(solver) < s->t_end)
        if (kd_integrator_step(solver, s->t_end) < 0) fail_msg("%s", kd_integrator_message(solver));
    error[0] = error[1] = 0;
    for (int i = 0; i < d.np + d.nv; i++)
        error[i >= d.np] = fmax(error[i >= d.np], fabs(kd_integrator_x(solver)[i] - exact->p[i]));
    kd_integrator_destroy(solver);
    kd_dae_destroy(dae);
    kd_state_destroy(exact);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Order 5 in p and v: nonholonomic, redundant (SVD) and rheonomic constraints, contact coordinates, inner states,
// auxiliary variables, forces that depend on multipliers, unit quaternions; projected or not.
static void order_is_five(void **state)
{
    (void)state;
    const int coarse[KD_TEST_SYSTEM_COUNT + 1] = {16, 8, 64, 16, 32, 64, 32, 32, 64, 8};
    for (int k = 0; k < 2 * (KD_TEST_SYSTEM_COUNT + 1); k++) {
        int           number = k / 2;
        subject       s = {number < KD_TEST_SYSTEM_COUNT ? &kd_test_systems[number] : NULL, 1};
        kd_projection projection = k % 2 ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER;
        double        before[2], after[2];
        if (s.system) s.t_end = fmin(1, s.system->t_end);
        errors_of(&s, projection, coarse[number], before);
        errors_of(&s, projection, 2 * coarse[number], after);
        for (int level = 0; level < 2; level++) {
            double order = log2(before[level] / after[level]);
            if (!(order > 4.6))
                fail_msg("%s, %s: order %.2f (%.2g, %.2g)", s.system ? s.system->name : "system with everything",
                         level ? "velocities" : "positions", order, before[level], after[level]);
        }
    }
}

// A pendulum whose support pushes it with a force of first order behind its motion
static kd_eval lag_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1;
    return KD_EVAL_OK;
}
static kd_eval lag_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = 2 * x->r[0];
    f[1] = -9.81;
    return KD_EVAL_OK;
}
static kd_eval lag_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    return KD_EVAL_OK;
}
static kd_eval lag_b(const kd_point *x, void *context, double *b)
{
    (void)context;
    b[0] = 3 * (x->p[0] * x->v[1] + cos(2 * x->t) - x->r[0]);
    return KD_EVAL_OK;
}

// x at t = 1 with the given method and constant steps, or a tolerance
static void lagging_pendulum(kd_integrator_kind kind, double h, double x_end[5])
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nr = 1, .nlambda = 1};
    def.M = lag_M;
    def.f = lag_f;
    def.g = lag_g;
    def.b = lag_b;
    kd_eom                *eom = make(&def);
    kd_state              *x;
    kd_integrator         *solver;
    double                 y[5];
    kd_formulation_options form = kd_formulation_options_default();
    kd_integrator_options  opt = kd_integrator_options_default();
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    memcpy(x->p, (double[]){0.6, -0.8}, 2 * sizeof(double));
    memcpy(x->v, (double[]){1.6, 1.2}, 2 * sizeof(double));
    x->r[0] = 0.5;
    form.projection = KD_PROJECT_ALWAYS;
    opt.h_fixed = h;
    opt.rtol = opt.atol = 1e-13;
    kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, &form);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(kd_integrator_create(dae, kind, &opt, &solver, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(solver, 0, y), KD_OK);
    while (kd_integrator_time(solver) < 1) assert_int_equal(kd_integrator_step(solver, 1), KD_OK);
    memcpy(x_end, kd_integrator_x(solver), 5 * sizeof *x_end);
    kd_integrator_destroy(solver);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Order 5 of inner states as well, whose rates belong to the points of stages, not to those of their constraints.
static void order_of_inner_states_is_five(void **state)
{
    (void)state;
    double exact[5], coarse[5], fine[5], error[2] = {0};
    lagging_pendulum(KD_DOP853, 0, exact);
    lagging_pendulum(KD_HALF_EXPLICIT, 1.0 / 32, coarse);
    lagging_pendulum(KD_HALF_EXPLICIT, 1.0 / 64, fine);
    for (int i = 0; i < 5; i++) {
        error[0] = fmax(error[0], fabs(coarse[i] - exact[i]));
        error[1] = fmax(error[1], fabs(fine[i] - exact[i]));
    }
    double order = log2(error[0] / error[1]);
    if (!(order > 4.6 && order < 5.7)) fail_msg("order %.2f (%.2g, %.2g)", order, error[0], error[1]);
}

// ---- error estimate -------------------------------------------------------------------------------------------------

static void keep_first_error(const kd_attempt_report *report, void *context)
{
    double *error = context;
    if (*error == 0) *error = report->error;
}

// estimate of the first step, of size h
static double estimate_of(const subject *s, double h)
{
    kd_eom               *eom;
    kd_state             *x;
    kd_integrator        *solver;
    double                y[MOST], error = 0;
    kd_integrator_options opt = kd_integrator_options_default();
    create_subject(s, &eom, &x);
    kd_dae *dae = create_dae(s, eom, x, KD_PROJECT_ALWAYS);
    opt.h_first = h;
    dae->observe = keep_first_error;
    dae->observer = &error;
    kd_formulation_pack(dae, x, y);
    assert_int_equal(kd_integrator_create(dae, KD_HALF_EXPLICIT, &opt, &solver, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(solver, 0, y), KD_OK);
    assert_true(kd_integrator_step(solver, s->t_end) >= 0);
    kd_integrator_destroy(solver);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return error;
}

// The estimate goes with h^5 as the embedded solution does that satisfies the constraints; with the multipliers of the
// step itself it leaves them by h^4.
static void estimate_is_of_order_five(void **state)
{
    (void)state;
    for (int number = 0; number <= KD_TEST_SYSTEM_COUNT; number++) {
        subject s = {number < KD_TEST_SYSTEM_COUNT ? &kd_test_systems[number] : NULL, 1};
        double  h = 1.0 / 16, coarse, fine, slope;
        while ((coarse = estimate_of(&s, h)) > 1e-2) h /= 2; // far above rounding
        fine = estimate_of(&s, h / 2);
        slope = log2(coarse / fine);
        if (!(slope > 4.6))
            fail_msg("%s: slope %.2f (%.2g, %.2g)", s.system ? s.system->name : "system with everything", slope, coarse,
                     fine);
    }
}

// ---- inside of steps ------------------------------------------------------------------------------------------------

// Inside of steps: order 4 with projection, errors of order 5.
static void dense_output_is_of_order_four(void **state)
{
    (void)state;
    double error[2] = {0};
    for (int k = 0; k < 2; k++) {
        subject   s = {&kd_test_systems[2], 1}; // redundant links
        kd_eom   *eom;
        kd_state *x, *exact;
        double    y[MOST];
        create_subject(&s, &eom, &x);
        assert_int_equal(kd_state_create(eom, &exact), KD_OK);
        kd_dae        *dae = create_dae(&s, eom, x, KD_PROJECT_ALWAYS);
        kd_integrator *solver = make_solver(dae, s.t_end / (32 << k), 0);
        kd_dims        d = kd_eom_dims(eom);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_start(solver, 0, y), KD_OK);
        while (kd_integrator_time(solver) < s.t_end) {
            assert_int_equal(kd_integrator_step(solver, s.t_end), KD_OK);
            double t0 = kd_integrator_time_old(solver), h = kd_integrator_time(solver) - t0;
            for (int part = 1; part < 4; part++) {
                assert_int_equal(kd_integrator_dense(solver, t0 + part * h / 4, y), KD_OK);
                s.system->solution(t0 + part * h / 4, exact);
                for (int i = 0; i < d.np + d.nv; i++) error[k] = fmax(error[k], fabs(y[i] - exact->p[i]));
            }
        }
        kd_integrator_destroy(solver);
        kd_dae_destroy(dae);
        kd_state_destroy(exact);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    double slope = log2(error[0] / error[1]);
    if (!(slope > 4.5)) fail_msg("slope %.2f (%.2g, %.2g)", slope, error[0], error[1]);
}

// ---- constraints ----------------------------------------------------------------------------------------------------

// Without projection the velocity level holds to rounding, the position level drifts; dopri5 loses both.
static void velocity_level_holds_by_construction(void **state)
{
    (void)state;
    double worst[2][2] = {{0}};
    for (int k = 0; k < 2; k++) {
        const double   p0[2] = {0, -1}, v0[2] = {2.9, 0};
        kd_eom        *eom;
        kd_state      *x;
        kd_integrator *solver;
        double         y[4];
        assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
        kd_dae               *dae = make_dae(eom, NULL, x, KD_ODE, NULL);
        kd_integrator_options opt = kd_integrator_options_default();
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_create(dae, k ? KD_DOPRI5 : KD_HALF_EXPLICIT, &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, y), KD_OK);
        while (kd_integrator_time(solver) < 5) {
            assert_int_equal(kd_integrator_step(solver, 5), KD_OK);
            const double *z = kd_integrator_x(solver);
            worst[k][0] = fmax(worst[k][0], fabs(z[0] * z[0] + z[1] * z[1] - 1));
            worst[k][1] = fmax(worst[k][1], fabs(z[0] * z[2] + z[1] * z[3]));
        }
        kd_integrator_destroy(solver);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    assert_true(worst[0][0] > 1e-10 && worst[0][1] < 1e-13);
    assert_true(worst[1][0] > 1e-10 && worst[1][1] > 1e-10);
}

// ---- gallery --------------------------------------------------------------------------------------------------------

typedef struct motion {
    double t_end, p[MOST], v[MOST], violation;
    int    np, nv;
    long   steps;
} motion;

// largest |g| and |gI|
static double violation_of(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x)
{
    kd_eom_data *data = make_data(eom);
    kd_dims      d = kd_eom_dims(eom);
    double       u[3][16] = {{0}}, rows[MOST], most = 0;
    assert_true(d.nu <= 16 && d.nlambda <= MOST);
    if (inputs && inputs->eval) assert_int_equal(inputs->eval(x->t, inputs->context, u[0], u[1], u[2]), KD_EVAL_OK);
    kd_eom_at_time(data, x->t, u[0], u[1], u[2], x->z);
    kd_eom_at_position(data, x->p, x->s);
    kd_eom_at_velocity(data, x->v, x->r);
    for (int level = 0; level < 2; level++) {
        assert_int_equal(kd_eom_eval(data, level ? KD_GI : KD_G, rows), KD_EVAL_OK);
        for (int i = 0; i < d.nlambda; i++) most = fmax(most, fabs(rows[i]));
    }
    kd_eom_data_destroy(data);
    return most;
}

static motion run(const char *name, kd_coordinates coordinates, double t_end, bool half, double tol)
{
    char              path[400], message[400] = "";
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_stats          stats;
    kd_system_options options = kd_system_options_default();
    motion            m = {.t_end = t_end};
    snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, name);
    assert_int_equal(kd_model_read(path, NULL, 0, &model, message, sizeof message), KD_OK);
    options.coordinates = coordinates;
    if (kd_system_create(model, &options, &system, message, sizeof message) < 0) fail_msg("%s: %s", name, message);
    const kd_eom *eom = kd_system_eom(system);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    if (kd_system_start(system, x, message, sizeof message) < 0) fail_msg("%s: %s", name, message);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = opt.atol = tol;
    if (half) {
        opt.formulation = KD_ODE;
        opt.integrator = KD_HALF_EXPLICIT;
        opt.formulation_options.projection = KD_PROJECT_ALWAYS;
    }
    if (kd_simulate(eom, kd_system_inputs(system), &opt, x, t_end, &stats, message, sizeof message) < 0)
        fail_msg("%s: %s", name, message);
    kd_dims d = kd_eom_dims(eom);
    assert_true(d.np <= MOST);
    m.np = d.np;
    m.nv = d.nv;
    m.steps = stats.accepted;
    memcpy(m.p, x->p, (size_t)d.np * sizeof *m.p);
    memcpy(m.v, x->v, (size_t)d.nv * sizeof *m.v);
    m.violation = violation_of(eom, kd_system_inputs(system), x);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return m;
}

// Mechanisms with loops, plane and spatial, driven and free, in both coordinate sets: the motion of psf with radau to
// 1e-8, constraints to 1e-11.
static void loops_move_as_with_psf(void **state)
{
    (void)state;
    const struct {
        const char *name;
        double      t_end;
    } list[] = {{"four-bar", 0.7},     {"four-bar-spring", 1},        {"andrews", 0.01},
                {"slider-crank", 0.4}, {"spatial-slider-crank", 0.5}, {"bricard", 1},
                {"stewart", 0.3}};
    for (size_t k = 0; k < 2 * sizeof list / sizeof *list; k++) {
        const char    *name = list[k / 2].name;
        kd_coordinates c = k % 2 ? KD_CARTESIAN : KD_JOINT;
        motion m = run(name, c, list[k / 2].t_end, true, 1e-11), n = run(name, c, list[k / 2].t_end, false, 1e-11);
        assert_true(m.steps > 3);
        if (!(m.violation < 1e-11)) fail_msg("%s: constraints violated by %.2g", name, m.violation);
        for (int i = 0; i < m.np; i++)
            if (fabs(m.p[i] - n.p[i]) > 1e-8 * fmax(1, fabs(n.p[i])))
                fail_msg("%s, %zu: position %d is %.12g, not %.12g", name, k % 2, i, m.p[i], n.p[i]);
        for (int i = 0; i < m.nv; i++)
            if (fabs(m.v[i] - n.v[i]) > 1e-8 * fmax(1, fabs(n.v[i])))
                fail_msg("%s, %zu: velocity %d is %.12g, not %.12g", name, k % 2, i, m.v[i], n.v[i]);
    }
}

// ---- refusals -------------------------------------------------------------------------------------------------------

// Forms without its stages are refused with a sentence that names one that has them.
static void other_forms_are_refused(void **state)
{
    (void)state;
    const double         p0[2] = {0, -1}, v0[2] = {2.9, 0};
    const kd_formulation forms[] = {KD_PSF, KD_GGL, KD_INDEX2, KD_STATESPACE};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        kd_eom               *eom;
        kd_state             *x;
        kd_integrator        *solver;
        char                  message[300] = "";
        kd_integrator_options opt = kd_integrator_options_default();
        assert_int_equal(kd_pendulum_create(9.81, p0, v0, false, &eom, &x), KD_OK);
        kd_dae *dae = make_dae(eom, NULL, x, forms[k], NULL);
        assert_int_equal(kd_integrator_create(dae, KD_HALF_EXPLICIT, &opt, &solver, message, sizeof message),
                         KD_ERR_UNSUPPORTED);
        assert_null(solver);
        assert_non_null(strstr(message, "half-explicit"));
        assert_non_null(strstr(message, "use the formulation ode"));
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_five),
        cmocka_unit_test(order_of_inner_states_is_five),
        cmocka_unit_test(estimate_is_of_order_five),
        cmocka_unit_test(dense_output_is_of_order_four),
        cmocka_unit_test(velocity_level_holds_by_construction),
        cmocka_unit_test(loops_move_as_with_psf),
        cmocka_unit_test(other_forms_are_refused),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
