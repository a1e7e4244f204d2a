// Point 9: clean is a list of checks; the energy is judged by what the tolerance explains, above a floor of rounding;
// errors that are planted into equations are noticed.
#include "case.h"
#include "trust/certified_run.h"

// ---- energy ---------------------------------------------------------------------------------------------------------

static const char *hanging(double m, double g, double length, double q, double v, double x0)
{
    static char text[1500];
    snprintf(
        text, sizeof text,
        "kardan: 1\ntitle: pendulum\ngravity: [0, 0, %.17g]\nbodies:\n"
        "  rod: {position: [%.17g, 0, %.17g], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n"
        "joints:\n  hinge: {type: revolute, bodies: [ground, rod], point: [%.17g, 0, 0], axis: [0, 1, 0], q: %.17g, v: "
        "%.17g}\n",
        -g, x0, -length, m, m * length * length, m * length * length, m * length * length, x0, q, v);
    return text;
}

// At rest, wherever the origin is and however heavy it is: what rounding makes of the energy is no error.
static void rest_is_balanced(void **state)
{
    (void)state;
    srand(test_seed(90));
    for (int k = 0; k < 30; k++) {
        certified r;
        certify_text(hanging(of_order(1e-4, 1e6), 9.81, of_order(1e-3, 100), 0, 0, between(-100, 100)),
                     k % 2 ? KD_CARTESIAN : KD_JOINT, of_order(0.1, 100), with_method(KD_RADAU, of_order(1e-10, 1e-3)),
                     &r);
        if (!r.verdict.clean)
            print_error("%s: %g J, rounding %g\n", r.verdict.sentence, r.certificate.energy.value,
                        r.certificate.energy_rounding);
        assert_true(r.status >= 0 && r.verdict.clean && r.verdict.nnot_searched == 0);
    }
}

// A pendulum that swings is clean at all sizes, tolerances and with all good methods; the energy has the size that
// errors of a few tolerances explain.
static void swinging_is_balanced(void **state)
{
    (void)state;
    static const kd_integrator_kind METHOD[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5, KD_DOP853, KD_BDF};
    srand(test_seed(91));
    for (int k = 0; k < 30; k++) {
        const double          length = of_order(0.01, 100), rtol = of_order(1e-9, 1e-5);
        kd_simulation_options opt = with_method(METHOD[k % 5], rtol);
        certified             r;
        opt.atol = rtol * fmin(1, length);
        certify_text(hanging(of_order(1e-3, 1e3), 9.81, length, between(0.3, 2.5), 0, between(-3, 3)), KD_JOINT,
                     6 * sqrt(length), opt, &r);
        const double explained = kd_certificate_energy_explained(&r.certificate);
        if (!r.verdict.clean)
            print_error("method %d, rtol %g: %s, %g times\n", k % 5, rtol, r.verdict.sentence,
                        r.certificate.energy.value / explained);
        assert_true(r.status >= 0 && r.verdict.clean && explained > 0);
    }
}

// A road with a step lifts the end of a spring in no time: the energy that its spring gets, and loses where the road
// falls back, comes from outside, as much as it is, and the run is clean.
static void leaps_are_supplied(void **state)
{
    (void)state;
    static const kd_integrator_kind METHOD[] = {KD_RADAU, KD_DOPRI5, KD_DOP853};
    srand(test_seed(94));
    for (int k = 0; k < 12; k++) {
        const double m = of_order(0.1, 100), w = of_order(2, 20), stiffness = m * w * w, height = of_order(0.1, 3);
        const double speed = of_order(0.3, 3), begin = between(0.3, 0.5) * speed, end = between(0.8, 1.2) * speed;
        char         text[1600];
        certified    r;
        snprintf(text, sizeof text,
                 "kardan: 1\ntitle: road\ngravity: [0, 0, 0]\nbodies:\n  trolley: {mass: 1, inertia: [1, 1, 1]}\n"
                 "  wheel: {mass: %.17g, inertia: [1, 1, 1]}\njoints:\n"
                 "  way: {type: prismatic, bodies: [ground, trolley], point: [0, 0, 0], axis: [1, 0, 0], motion: "
                 "%.17g*t}\n  guide: {type: prismatic, bodies: [trolley, wheel], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                 "forces:\n  tyre: {type: tyre, body: wheel, radius: 0, stiffness: %.17g, lifts_off: false, road: "
                 "\"if(x > %.17g, if(x < %.17g, %.17g, 0), 0)\"}\n",
                 m, speed, stiffness, begin, end, height);
        certify_text(text, k % 2 ? KD_CARTESIAN : KD_JOINT, 1.5, with_method(METHOD[k % 3], of_order(1e-8, 1e-6)), &r);
        // z = height (1 - cos w t) on the step; its end has the energies of z and z' around zero
        const double phi = w * (end - begin) / speed, up = 0.5 * stiffness * height * height;
        const double down = up * (pow(1 - cos(phi), 2) - pow(cos(phi), 2));
        const double supplied = up + fmax(down, 0), dissipated = fmax(-down, 0);
        if (!r.verdict.clean) print_error("%d: %s\n", k, r.verdict.sentence);
        assert_true(r.status >= 0 && r.verdict.clean);
        if (fabs(r.certificate.supplied - supplied) > 1e-3 * up ||
            fabs(r.certificate.dissipated - dissipated) > 1e-3 * up)
            fail_msg("%d: supplied %g instead of %g, dissipated %g instead of %g", k, r.certificate.supplied, supplied,
                     r.certificate.dissipated, dissipated);
    }
}

// Errors are not hidden by large terms: the same absolute error of the balance is judged by what errors of the
// tolerance make of the energy. 2.8e8 J beside 3e11 J at a tolerance of 1e-6 is not balanced; 1e5 J is.
static void verdict_is_by_the_tolerance(void **state)
{
    (void)state;
    kd_certificate c = {.states = 1000,
                        .has_energy = true,
                        .energy_scale = 3e11,
                        .position_size = 1e4,
                        .rtol = 1e-6,
                        .atol = 1e-6,
                        .energy_by_rtol = {6e11, 6e11},
                        .energy_by_atol = {1e6, 1e6}};
    c.limits = kd_limits_none();
    for (int level = 0; level < KD_LEVEL_COUNT; level++) c.scale[level] = 1;
    const double explained = kd_certificate_energy_explained(&c);
    assert_true(explained > 6e5 && explained < 1.3e6);
    c.energy.value = 1000 * explained;
    assert_false(kd_certificate_energy(&c).good);
    c.energy.value = 10 * explained;
    assert_true(kd_certificate_energy(&c).good);
    c.rtol = c.atol = 1e-9; // tighter: the same error is unexplained
    c.energy.value = 2.8e8;
    assert_false(kd_certificate_energy(&c).good);
    c.energy_rounding = 3e8;
    assert_true(kd_certificate_energy(&c).good);
}

// ---- the list -------------------------------------------------------------------------------------------------------

// Checks that are added count: bad ones spoil, those not searched are named, a name comes once.
static void checks_are_a_list(void **state)
{
    (void)state;
    kd_certificate c = {.states = 3, .limits = kd_limits_none(), .has_energy = true, .energy_scale = 1};
    kd_clean       v;
    for (int level = 0; level < KD_LEVEL_COUNT; level++) c.scale[level] = 1;
    kd_certificate_verdict(&c, &v);
    assert_true(v.clean && v.nnot_searched == 0);
    assert_string_equal(v.sentence, "clean");
    kd_certificate_add(&c, "valve", KD_CHECK_NOT_SEARCHED, NAN, "a function in C");
    kd_certificate_verdict(&c, &v);
    assert_true(v.clean && v.nnot_searched == 1);
    assert_string_equal(v.sentence, "clean, but not searched: valve");
    kd_certificate_add(&c, "oil", KD_CHECK_BAD, -17, "%d bar", -17);
    kd_certificate_add(&c, "oil", KD_CHECK_BAD, -18, "%d bar", -18);
    kd_certificate_verdict(&c, &v);
    assert_string_equal(v.sentence, "not clean: oil; not searched: valve");
    assert_string_equal(check_of(&v, "oil")->sentence, "-18 bar");
    for (int i = 0; i < 2 * KD_MOST_ADDED; i++) {
        char name[30];
        snprintf(name, sizeof name, "good %d", i);
        kd_certificate_add(&c, name, KD_CHECK_GOOD, 0, "fine");
    }
    kd_certificate_add(&c, "late", KD_CHECK_BAD, 0, "bad"); // takes the place of a good one
    kd_certificate_verdict(&c, &v);
    assert_true(v.nbad == 2 && v.nnot_searched == 1);
    char json[40000];
    assert_true(kd_certificate_json(&c, json, sizeof json) < sizeof json);
    assert_non_null(strstr(json, "\"clean\": false"));
    assert_non_null(strstr(json, "\"not_searched\": [\"valve\"]"));
    assert_non_null(
        strstr(json, "{\"name\": \"oil\", \"verdict\": \"bad\", \"figure\": -18, \"sentence\": \"-18 bar\"}"));
}

// Constant steps have no error control: that is said.
static void constant_steps_are_not_searched(void **state)
{
    (void)state;
    kd_simulation_options opt = with_method(KD_BDF, 1e-6);
    certified             r;
    opt.integrator_options.h_fixed = 1e-3;
    certify_text(hanging(1, 9.81, 1, 0.5, 0, 0), KD_JOINT, 0.5, opt, &r);
    assert_true(r.status >= 0);
    assert_int_equal(check_of(&r.verdict, "errors of steps")->verdict, KD_CHECK_NOT_SEARCHED);
}

// Index 3: velocities off their constraints by many tolerances are a bad check of their own.
static void index_3_is_warned_of(void **state)
{
    (void)state;
    kd_simulation_options opt = with_method(KD_BDF, 1e-8);
    certified             r;
    opt.formulation = KD_INDEX3;
    certify_text(hanging(1, 9.81, 1, 2, 0, 0), KD_CARTESIAN, 2, opt, &r);
    assert_true(r.status >= 0);
    const kd_check *check = check_of(&r.verdict, "tolerance against index");
    assert_true((check->figure > 1000) == (check->verdict == KD_CHECK_BAD));
    assert_false(r.verdict.clean && check->figure > 100);
    opt.formulation = KD_GGL;
    certify_text(hanging(1, 9.81, 1, 2, 0, 0), KD_CARTESIAN, 2, opt, &r);
    for (int i = 0; i < r.verdict.nchecks; i++)
        assert_string_not_equal(r.verdict.check[i].name, "tolerance against index");
    if (!r.verdict.clean) print_error("%s\n", r.verdict.sentence);
    assert_true(r.verdict.clean);
}

// ---- planted errors -------------------------------------------------------------------------------------------------

// A mass on a rod of length 1 with damping, p = (x, y), and what is wrong in it
typedef enum plant { NOTHING, FORCE_SIGN, POTENTIAL, POWER, ROW_GI, ROW_GII, DERIVATIVE, PLANTS } plant;
static const double DAMPING = 0.3;

static kd_eval rod_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    return KD_EVAL_OK;
}
static kd_eval rod_force(const kd_point *x, void *context, double *out)
{
    const plant wrong = *(const plant *)context;
    for (int i = 0; i < 2; i++) out[i] = (wrong == FORCE_SIGN ? 1 : -1) * DAMPING * x->v[i] - (i == 1 ? 9.81 : 0);
    return KD_EVAL_OK;
}
static kd_eval rod_g(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1);
    return KD_EVAL_OK;
}
static kd_eval rod_gI(const kd_point *x, void *context, double *out)
{
    out[0] = x->p[0] * x->v[0] + (*(const plant *)context == ROW_GI ? 0.9 : 1) * x->p[1] * x->v[1];
    return KD_EVAL_OK;
}
static kd_eval rod_gII(const kd_point *x, void *context, double *out)
{
    out[0] = x->p[0] * x->a[0] + x->p[1] * x->a[1] +
             (*(const plant *)context == ROW_GII ? 0.5 : 1) * (x->v[0] * x->v[0] + x->v[1] * x->v[1]);
    return KD_EVAL_OK;
}
static kd_eval rod_energies(const kd_point *x, void *context, kd_energies *out)
{
    const plant  wrong = *(const plant *)context;
    const double v2 = x->v[0] * x->v[0] + x->v[1] * x->v[1];
    out->kinetic = 0.5 * v2;
    out->potential = (wrong == POTENTIAL ? 9.7 : 9.81) * x->p[1];
    out->dissipated = (wrong == POWER ? 0.9 : 1) * DAMPING * v2;
    return KD_EVAL_OK;
}
static kd_eval rod_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    (void)x, (void)fn, (void)var, (void)part;
    out[0] = out[3] = *(const plant *)context == DERIVATIVE ? -DAMPING : DAMPING; // residual by v
    return KD_EVAL_OK;
}

// Without an error the run is clean; each planted one is noticed by the certificate or by the checker of the equations.
static void planted_errors_are_noticed(void **state)
{
    (void)state;
    for (plant wrong = NOTHING; wrong < PLANTS; wrong++) {
        kd_eom_def def = kd_eom_def_default();
        kd_eom    *eom;
        kd_state  *x;
        certified  r;
        char       report[4000] = "";
        def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
        def.context = &wrong;
        def.M = rod_mass, def.f = rod_force, def.g = rod_g, def.gI = rod_gI, def.gII = rod_gII;
        def.energies = rod_energies;
        def.derivative = rod_derivative;
        def.given[KD_RESIDUAL] = KD_BIT(KD_V);
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->p[0] = 0.8, x->p[1] = -0.6;
        x->v[0] = 0.6, x->v[1] = 0.8;
        const kd_status checked = kd_eom_check(eom, NULL, x, NULL, report, sizeof report);
        certify_equations(eom, NULL, x, 3, with_method(KD_RADAU, 1e-6), &r);
        const bool noticed = checked < 0 || r.status < 0 || !r.verdict.clean;
        if (noticed != (wrong != NOTHING))
            print_error("plant %d: check %d, run %d, %s\n%s\n", wrong, checked, r.status, r.verdict.sentence, report);
        assert_int_equal(noticed, wrong != NOTHING);
        if (wrong == FORCE_SIGN || wrong == POTENTIAL || wrong == POWER)
            assert_int_equal(check_of(&r.verdict, "energy balance")->verdict, KD_CHECK_BAD);
        if (wrong == ROW_GI || wrong == ROW_GII || wrong == DERIVATIVE) assert_int_equal(checked, KD_ERR_CHECK);
        assert_true(check_of(&r.verdict, "inside of steps")->verdict == KD_CHECK_NOT_SEARCHED); // written in C
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A motion that is not that of the equations, as where steps go over something: states with a kick of a thousand
// tolerances between them.
static void kicks_are_noticed(void **state)
{
    (void)state;
    srand(test_seed(92));
    for (int k = 0; k < 20; k++) {
        const double      m = of_order(1e-2, 1e2), rtol = of_order(1e-8, 1e-5), size = k % 2 ? 5000 : 3;
        kd_model         *model = model_of(hanging(m, 9.81, 1, 1.5, 0, 0));
        kd_system        *system;
        kd_state         *x;
        certified_context c = {0};
        assert_true(kd_system_create(model, NULL, &system, NULL, 0) >= 0);
        const kd_eom *eom = kd_system_eom(system);
        assert_true(kd_state_create(eom, &x) >= 0);
        assert_true(kd_system_start(system, x, NULL, 0) >= 0);
        kd_simulation_options opt = with_method(KD_RADAU, rtol);
        opt.output = certified_output;
        opt.context = &c;
        assert_int_equal(kd_certifier_create(eom, NULL, &c.certifier), KD_OK);
        assert_true(kd_simulation_create(eom, NULL, &opt, x, &c.simulation, NULL, 0) >= 0);
        assert_true(kd_simulation_run(c.simulation, 0.5) >= 0);
        x->v[0] *= 1 + size * rtol;
        x->v[0] += (x->v[0] > 0 ? 1 : -1) * size * rtol;
        assert_true(kd_simulation_restart(c.simulation) >= 0);
        assert_true(kd_simulation_run(c.simulation, 1) >= 0);
        kd_certificate certificate = kd_certifier_certificate(c.certifier);
        kd_certificate_take(&certificate, c.simulation);
        if (kd_certificate_energy(&certificate).good != (size < 100))
            print_error("kick of %g tolerances: %g times\n", size,
                        certificate.energy.value / kd_certificate_energy_explained(&certificate));
        assert_int_equal(kd_certificate_energy(&certificate).good, size < 100);
        kd_simulation_destroy(c.simulation);
        kd_certifier_destroy(c.certifier);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

// A force with teeth along the way of a mass: what steps may lose at its jumps is summed up, and a sum beyond 300
// tolerances is a bad check that names the law; a few teeth are none.
static void many_jumps_are_told(void **state)
{
    (void)state;
    bool seen[2] = {false, false};
    srand(test_seed(91));
    for (int k = 0; k < 4; k++) {
        certified    r;
        char         text[800];
        const double teeth = k % 2 ? between(500, 700) : between(2, 6), size = between(0.1, 0.3);
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies:\n  cart: {mass: 1, inertia: [1, 1, 1]}\n"
                 "joints:\n  way: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0], v: 1}\n"
                 "forces:\n  rack: {type: applied, to: cart, force: [%.17g*sign(sin(%.17g*joint.way.q)), 0, 0]}\n",
                 size, acos(-1) * teeth);
        certify_text(text, KD_JOINT, 1, with_method(KD_RADAU, 1e-7), &r);
        assert_true(r.status >= 0);
        const kd_check *check = check_of(&r.verdict, "kinks and jumps of laws");
        const bool      good = check->figure <= 300;
        assert_int_equal(check->verdict, good ? KD_CHECK_GOOD : KD_CHECK_BAD);
        if (!good) assert_false(r.verdict.clean);
        if (!good) assert_non_null(strstr(check->sentence, "rack"));
        seen[good] = true;
    }
    assert_true(seen[0] && seen[1]);
}

// A verdict counts in tolerances: one of some percent and more explains everything, so that nothing is clean then.
static void loose_tolerances_are_no_verdict(void **state)
{
    static const char TEXT[] =
        "kardan: 1\nbodies: {b: {mass: 1, inertia: [1, 1, 1], position: [0, 0, -1]}}\n"
        "joints: {j: {type: revolute, bodies: [ground, b], point: [0, 0, 0], axis: [0, 1, 0], q: 0.3}}\n";
    static const kd_integrator_kind METHOD[] = {KD_RADAU, KD_BDF, KD_SDIRK, KD_DOPRI5, KD_DOP853};
    (void)state;
    srand(test_seed(92));
    for (int k = 0; k < 15; k++) {
        const bool   loose = k % 3 != 0;
        const double rtol = loose ? of_order(0.011, 3) : of_order(1e-8, 9e-3);
        certified    r;
        certify_text(TEXT, KD_JOINT, 5, with_method(METHOD[k / 3], rtol), &r);
        if (loose != !r.verdict.clean) fail_msg("rtol %g: %s", rtol, r.verdict.sentence);
        if (loose) assert_int_equal(check_of(&r.verdict, "tolerance")->verdict, KD_CHECK_BAD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_is_balanced),
        cmocka_unit_test(swinging_is_balanced),
        cmocka_unit_test(leaps_are_supplied),
        cmocka_unit_test(verdict_is_by_the_tolerance),
        cmocka_unit_test(checks_are_a_list),
        cmocka_unit_test(constant_steps_are_not_searched),
        cmocka_unit_test(index_3_is_warned_of),
        cmocka_unit_test(planted_errors_are_noticed),
        cmocka_unit_test(kicks_are_noticed),
        cmocka_unit_test(many_jumps_are_told),
        cmocka_unit_test(loose_tolerances_are_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
