// The steps of the linear-implicit Euler methods: stability, order, drift; every kind of equation.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "realtime/stepping.h"
#include "systems/systems.h"

// ---- the scalar test equation q'' = -a q - b q' ---------------------------------------------------------------------
typedef struct oscillator {
    double a, b;
} oscillator;

static kd_eval oscillator_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1.0;
    return KD_EVAL_OK;
}

static kd_eval oscillator_force(const kd_point *x, void *context, double *out)
{
    const oscillator *o = context;
    out[0] = -o->a * x->p[0] - o->b * x->v[0];
    return KD_EVAL_OK;
}

static kd_eval oscillator_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const oscillator *o = context;
    (void)x, (void)part, (void)fn;
    out[0] = var == KD_P ? -o->a : -o->b;
    return KD_EVAL_OK;
}

typedef enum way { POSITIONS_FIRST, VELOCITIES_FIRST, AHEAD } way;

// Does the motion stay bounded over many steps of length 1 from q = 1?
static bool is_bounded(oscillator o, kd_realtime_jacobian jacobian, way order)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims.np = def.dims.nv = 1;
    def.context = &o;
    def.M = oscillator_mass;
    def.f = oscillator_force;
    def.derivative = oscillator_derivative;
    def.given[KD_FORCE] = KD_BIT(KD_P) | KD_BIT(KD_V);
    kd_eom   *eom;
    kd_state *x;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->p[0] = 1.0;
    kd_realtime_options opt = kd_realtime_options_default();
    opt.h = 1.0;
    opt.jacobian = jacobian;
    opt.stabilisation = KD_REALTIME_NONE;
    opt.velocities_first = order == VELOCITIES_FIRST;
    opt.ahead = order == AHEAD;
    kd_realtime *rt = start_stepper(eom, NULL, &opt, x);
    double       most = 0.0;
    for (int i = 0; i < 4000 && most < 1e8; i++) {
        make_steps(rt, 1);
        most = fmax(most, fabs(kd_realtime_state(rt)->p[0]));
    }
    kd_realtime_destroy(rt);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return most < 1e4;
}

// S4 section 2: J1 is stable for h^2 a <= 2 h b + 4, J3 for h^2 a <= 4 - 2 h b, within one percent on either side.
static void limits_of_stability(void **state)
{
    (void)state;
    for (double b = 0.0; b < 2.0; b += 0.4) {
        assert_true(is_bounded((oscillator){0.99 * (2 * b + 4), b}, KD_REALTIME_J1, POSITIONS_FIRST));
        assert_false(is_bounded((oscillator){1.01 * (2 * b + 4), b}, KD_REALTIME_J1, POSITIONS_FIRST));
        assert_true(is_bounded((oscillator){0.99 * (2 * b + 4), b}, KD_REALTIME_J1, AHEAD));
        assert_false(is_bounded((oscillator){1.01 * (2 * b + 4), b}, KD_REALTIME_J1, AHEAD));
        assert_true(is_bounded((oscillator){0.99 * (4 - 2 * b), b}, KD_REALTIME_J3, POSITIONS_FIRST));
        assert_false(is_bounded((oscillator){1.01 * (4 - 2 * b), b}, KD_REALTIME_J3, POSITIONS_FIRST));
    }
}

// J2, in either order, and the exact Jacobian have no limit; the explicit method cannot even do without damping.
static void stable_without_limit(void **state)
{
    (void)state;
    for (double a = 0.01; a < 1e9; a *= 20)
        for (double b = 0.0; b < 1e6; b = b * 50 + 0.1) {
            assert_true(is_bounded((oscillator){a, b}, KD_REALTIME_J2, POSITIONS_FIRST));
            assert_true(is_bounded((oscillator){a, b}, KD_REALTIME_J2, VELOCITIES_FIRST));
            assert_true(is_bounded((oscillator){a, b}, KD_REALTIME_J2, AHEAD));
            assert_true(is_bounded((oscillator){a, b}, KD_REALTIME_EXACT, POSITIONS_FIRST));
        }
    assert_false(is_bounded((oscillator){0.01, 0.0}, KD_REALTIME_EXPLICIT, POSITIONS_FIRST));
    assert_true(is_bounded((oscillator){0.01, 0.1}, KD_REALTIME_EXPLICIT, POSITIONS_FIRST));
}

// ---- drift ----------------------------------------------------------------------------------------------------------
static double slope(const char *name, kd_realtime_options opt, bool optimal, double h, double t_end)
{
    double defect[2];
    for (int i = 0; i < 2; i++) {
        opt.h = h / (1 << (2 * i));
        if (optimal) opt.alpha = 1.0 / opt.h, opt.beta = opt.alpha * opt.alpha;
        defect[i] = largest_defect(name, &opt, t_end);
    }
    return log2(defect[0] / defect[1]) / 2.0;
}

// S4 figure 6 on the car axis: h without stabilisation, h^2 with Baumgarte's, h^3 after one projection step, h^4 with
// the matrix of the predicted point.
static void drift_falls_with_the_step(void **state)
{
    (void)state;
    static const struct {
        kd_realtime_stabilisation stabilisation;
        kd_realtime_projector     projector;
        int                       index;
        double                    slope;
        bool                      ahead;
    } cases[] = {
        {KD_REALTIME_NONE, KD_REALTIME_PROJECTOR_STEP, 2, 1.0, false},
        {KD_REALTIME_BAUMGARTE, KD_REALTIME_PROJECTOR_STEP, 2, 2.0, false},
        {KD_REALTIME_BAUMGARTE, KD_REALTIME_PROJECTOR_STEP, 1, 2.0, false},
        {KD_REALTIME_PROJECTION, KD_REALTIME_PROJECTOR_START, 2, 3.0, false},
        {KD_REALTIME_PROJECTION, KD_REALTIME_PROJECTOR_START, 1, 3.0, false},
        {KD_REALTIME_PROJECTION, KD_REALTIME_PROJECTOR_STEP, 1, 3.0, false},
        {KD_REALTIME_PROJECTION, KD_REALTIME_PROJECTOR_PREDICTED, 1, 4.0, false},
        {KD_REALTIME_GGL, KD_REALTIME_PROJECTOR_START, 2, 3.0, false},
        {KD_REALTIME_GGL, KD_REALTIME_PROJECTOR_STEP, 2, 3.0, false},
        {KD_REALTIME_GGL, KD_REALTIME_PROJECTOR_PREDICTED, 2, 4.0, false},
        {KD_REALTIME_NONE, KD_REALTIME_PROJECTOR_STEP, 2, 1.0, true},
        {KD_REALTIME_BAUMGARTE, KD_REALTIME_PROJECTOR_STEP, 2, 2.0, true},
        {KD_REALTIME_PROJECTION, KD_REALTIME_PROJECTOR_START, 2, 3.0, true},
        {KD_REALTIME_GGL, KD_REALTIME_PROJECTOR_START, 2, 3.0, true},
        {KD_REALTIME_GGL, KD_REALTIME_PROJECTOR_STEP, 2, 3.0, true},
        {KD_REALTIME_GGL, KD_REALTIME_PROJECTOR_PREDICTED, 2, 4.0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kd_realtime_options opt = kd_realtime_options_default();
        opt.index = cases[i].index;
        opt.stabilisation = cases[i].stabilisation;
        opt.projector = cases[i].projector;
        opt.ahead = cases[i].ahead;
        double s = slope("caraxis", opt, cases[i].stabilisation == KD_REALTIME_BAUMGARTE, 2e-3, 1.0);
        if (fabs(s - cases[i].slope) > 0.2) fail_msg("case %zu: slope %.3f instead of %.1f", i, s, cases[i].slope);
    }
}

// S4 figure 3 on the circular track: index 1 drifts away faster than index 2, projection stays.
static void long_runs_stay_on_the_track(void **state)
{
    (void)state;
    kd_realtime_options opt = kd_realtime_options_default();
    opt.h = 1e-2;
    opt.ahead = false;
    opt.stabilisation = KD_REALTIME_NONE;
    double index2 = largest_defect("circulartrack", &opt, 60.0);
    opt.index = 1;
    double index1 = largest_defect("circulartrack", &opt, 60.0);
    assert_true(index2 > 0.1 && index1 > 1.3 * index2);
    opt.stabilisation = KD_REALTIME_PROJECTION;
    double first = largest_defect("circulartrack", &opt, 10.0), all = largest_defect("circulartrack", &opt, 200.0);
    assert_true(first < 1e-6 && all <= first * 1.0001);
}

// ---- order on every kind of equation --------------------------------------------------------------------------------
static double error_at_end(const kd_test_system *system, kd_realtime_options opt, long n, double t_end)
{
    kd_eom   *eom;
    kd_state *x;
    assert_int_equal(system->create(&eom, &x), KD_OK);
    opt.h = t_end / (double)n;
    kd_realtime *rt = start_stepper(eom, NULL, &opt, x);
    make_steps(rt, n);
    system->solution(t_end, x);
    kd_dims n_of = kd_eom_dims(eom);
    double  error = distance(x->p, kd_realtime_state(rt)->p, n_of.np);
    kd_realtime_destroy(rt);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return error;
}

static void check_order(const kd_test_system *system, const kd_realtime_options *opt)
{
    double t = fmin(system->t_end, 1.0);
    double coarse = error_at_end(system, *opt, 800, t), fine = error_at_end(system, *opt, 1600, t);
    // a system whose motion the method meets nearly exactly has no slope
    if (coarse > 2e-5 && (coarse > 1.5 || log2(coarse / fine) < 0.7))
        fail_msg("%s, jacobian %d, stabilisation %d, index %d: errors %.3g, %.3g", system->name, (int)opt->jacobian,
                 (int)opt->stabilisation, opt->index, coarse, fine);
}

// Contact coordinates, inner states, implicit drag, friction by multipliers, nonholonomic constraints, quaternions: all
// methods converge to the known motion with order 1.
static void order_is_one(void **state)
{
    (void)state;
    for (int i = 0; i < KD_TEST_SYSTEM_COUNT; i++) {
        const kd_test_system *system = &kd_test_systems[i];
        kd_realtime_options   opt = kd_realtime_options_default();
        opt.part = KD_PART_ALL;
        if (system->redundant) opt.stabilisation = KD_REALTIME_REGULARISATION;
        for (int j = 0; j < KD_REALTIME_JACOBIAN_COUNT; j++) {
            opt.jacobian = (kd_realtime_jacobian)j;
            if (!system->redundant)
                opt.stabilisation = j == KD_REALTIME_EXACT ? KD_REALTIME_PROJECTION : KD_REALTIME_GGL;
            check_order(system, &opt);
        }
    }
}

// The other ways to hold the constraints, in both orders and indices.
static void order_is_one_in_every_form(void **state)
{
    (void)state;
    for (int i = 0; i < KD_TEST_SYSTEM_COUNT; i++) {
        const kd_test_system *system = &kd_test_systems[i];
        if (system->redundant) continue;
        kd_realtime_options opt = kd_realtime_options_default();
        opt.part = KD_PART_ALL;
        for (int s = 0; s < KD_REALTIME_STABILISATION_COUNT; s++)
            for (int form = 0; form < 6; form++) {
                opt.stabilisation = (kd_realtime_stabilisation)s;
                opt.index = 1 + form % 2;
                opt.velocities_first = form == 2 || form == 3;
                opt.ahead = form < 2;
                if (s == KD_REALTIME_GGL && (opt.index == 1 || opt.velocities_first)) continue;
                check_order(system, &opt);
            }
    }
}

// ---- rows that move -------------------------------------------------------------------------------------------------
static kd_eval no_force(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 0.0;
    return KD_EVAL_OK;
}
static kd_eval wave(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] - sin(5.0 * x->t);
    return KD_EVAL_OK;
}
static kd_eval wave_rate(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->v[0] - 5.0 * cos(5.0 * x->t);
    return KD_EVAL_OK;
}
static kd_eval wave_acceleration(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->a[0] + 25.0 * sin(5.0 * x->t);
    return KD_EVAL_OK;
}

// Without forces the directional difference of J3 changes nothing: its rows are those of the explicit method, where the
// step starts.
static void rows_of_j3(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nlambda = 1};
    def.M = oscillator_mass;
    def.f = no_force;
    def.g = wave;
    def.gI = wave_rate;
    def.gII = wave_acceleration;
    kd_eom      *eom;
    kd_state    *x;
    kd_realtime *rt[2];
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->v[0] = 5.0;
    for (int i = 0; i < 2; i++) {
        kd_realtime_options opt = kd_realtime_options_default();
        opt.jacobian = i == 0 ? KD_REALTIME_EXPLICIT : KD_REALTIME_J3;
        opt.index = 1;
        opt.stabilisation = KD_REALTIME_BAUMGARTE;
        rt[i] = start_stepper(eom, NULL, &opt, x);
        make_steps(rt[i], 100);
    }
    assert_true(fabs(kd_realtime_state(rt[0])->p[0] - kd_realtime_state(rt[1])->p[0]) < 1e-14);
    for (int i = 0; i < 2; i++) kd_realtime_destroy(rt[i]);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static kd_eval follow(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] - x->u[0];
    return KD_EVAL_OK;
}
static kd_eval follow_rate(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->v[0] - x->du[0];
    return KD_EVAL_OK;
}
static kd_eval follow_acceleration(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->a[0] - x->ddu[0];
    return KD_EVAL_OK;
}

// A constraint that an input moves: the rate of the input is that of the step, also in the first one after it stopped.
static void input_that_stops(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nlambda = 1, .nu = 1};
    def.M = oscillator_mass;
    def.f = no_force;
    def.g = follow;
    def.gI = follow_rate;
    def.gII = follow_acceleration;
    kd_eom             *eom;
    kd_state           *x;
    kd_realtime_options opt = kd_realtime_options_default();
    opt.jacobian = KD_REALTIME_EXPLICIT;
    opt.index = 1;
    opt.stabilisation = KD_REALTIME_BAUMGARTE;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    kd_realtime *rt = start_stepper(eom, NULL, &opt, x);
    double       u[1] = {0.0}, alpha = 0.1 / opt.h, rate = 1.0;
    for (int i = 0; i < 30; i++) {
        const double p = kd_realtime_state(rt)->p[0], v = kd_realtime_state(rt)->v[0],
                     du = i > 0 && i < 20 ? rate : 0.0;
        if (i > 0) u[0] += opt.h * du;
        assert_int_equal(kd_realtime_step(rt, u, NULL), KD_OK);
        const double expected = v - opt.h * (2.0 * alpha * (v - du) + alpha * alpha * (p - u[0]));
        if (fabs(kd_realtime_state(rt)->v[0] - expected) > 1e-12)
            fail_msg("step %d: v = %.15g, not %.15g", i, kd_realtime_state(rt)->v[0], expected);
    }
    kd_realtime_destroy(rt);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_stability),
        cmocka_unit_test(stable_without_limit),
        cmocka_unit_test(drift_falls_with_the_step),
        cmocka_unit_test(long_runs_stay_on_the_track),
        cmocka_unit_test(order_is_one),
        cmocka_unit_test(order_is_one_in_every_form),
        cmocka_unit_test(rows_of_j3),
        cmocka_unit_test(input_that_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
