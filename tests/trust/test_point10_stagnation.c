// Point 10: a run whose progress collapses ends with the cause, and its results stay; legitimate runs are not stopped.
#include "case.h"
#include "trust/certified_run.h"

static const kd_integrator_kind METHOD[] = {KD_RADAU, KD_BDF, KD_SDIRK, KD_DOPRI5, KD_DOP853};
enum { METHODS = sizeof METHOD / sizeof *METHOD };

// A block of mass m on a rail with a force by a law
static const char *block(double m, double v, const char *law, const char *more)
{
    static char text[2000];
    snprintf(text, sizeof text,
             "kardan: 1\ntitle: block\ngravity: [0, 0, 0]\nbodies:\n  block: {mass: %.17g, inertia: [1, 1, 1]}\n"
             "joints:\n  j: {type: prismatic, bodies: [ground, block], axis: [1, 0, 0], point: [0, 0, 0], v: %.17g}\n"
             "forces:\n  motor: {type: joint_spring, joint: j, %s}\n%s",
             m, v, law, more);
    return text;
}

// Laws that jump with the velocity and drive it back, of many sizes, with all methods, in both coordinate sets: the run
// ends within some thousand attempts where the block comes to rest, and the message names force, law and velocity.
static void sliding_is_told(void **state)
{
    (void)state;
    int stopped = 0;
    srand(test_seed(10));
    for (int k = 0; k < 20; k++) {
        const double m = of_order(1e-2, 1e3), v = of_order(0.05, 20), F = m * of_order(0.5, 50);
        const int    kind = k % 3;
        char         law[300];
        certified    r;
        if (kind == 0) snprintf(law, sizeof law, "law: \"if(joint.j.v > 0, %.17g, %.17g)\"", -F, F);
        if (kind == 1) snprintf(law, sizeof law, "law: \"-%.17g*sign(joint.j.v)\"", F);
        if (kind == 2)
            snprintf(law, sizeof law, "law: \"%.17g*(1 - 2*step(v)) - %.17g*q\"", F, 0.1 * F * F / (m * v * v));
        const double t_rest = kind == 2 ? NAN : v * m / F;
        certify_text(block(m, v, law, ""), k % 2 ? KD_CARTESIAN : KD_JOINT, 100 * v * m / F,
                     with_method(METHOD[k % METHODS], 1e-6), &r);
        if (r.status == KD_OK && fabs(r.v[0]) < 1e-4) continue; // the tolerance let it slide to the end
        if (r.status != KD_ERR_STAGNATION) print_error("%d: %s: %d %s\n", k, law, (int)r.status, r.message);
        assert_int_equal(r.status, KD_ERR_STAGNATION);
        stopped++;
        assert_true(r.stats.steps < 60000 && fabs(r.v[0]) < 1e-3 * v);
        if (kind < 2 && !(r.t > 0.98 * t_rest && r.t < 10 * t_rest))
            fail_msg("%d: %s on %g kg at %g m/s: ends at %g s, at rest since %g s", k, law, m, v, r.t, t_rest);
        assert_non_null(strstr(r.message, "force 'motor'"));
        assert_non_null(strstr(r.message, "velocity '"));
        assert_non_null(strstr(r.message, kind == 0 ? "if(joint.j.v > 0" : kind == 1 ? "sign(joint.j.v)" : "step(v)"));
        assert_non_null(strstr(r.message, "slides along the jump"));
        assert_non_null(strstr(r.message, "joint_friction"));
        assert_false(r.verdict.clean);
        assert_int_equal(check_of(&r.verdict, "run")->verdict, KD_CHECK_BAD);
        assert_true(r.certificate.states > 5 && r.certificate.t_end == r.t); // what was reached is kept
    }
    assert_true(stopped >= 15);
}

// Laws that are smooth, but rise within far less than a tolerance: a run that gets nowhere there says so, and speaks of
// no jump; the way of the rise is told.
static void steep_laws_are_no_jumps(void **state)
{
    (void)state;
    int stopped = 0;
    srand(test_seed(14));
    for (int k = 0; k < 12; k++) {
        const double m = of_order(0.1, 10), v = of_order(0.2, 5), F = m * of_order(1, 20),
                     w = v * of_order(1e-10, 1e-9);
        char      law[300];
        certified r;
        snprintf(law, sizeof law, k % 2 ? "law: \"-%.17g*tanh(joint.j.v/%.17g)\"" : "law: \"-%.17g*atan(v/%.17g)\"", F,
                 w);
        certify_text(block(m, v, law, ""), KD_JOINT, 100 * v * m / F, with_method(METHOD[k % 3], 1e-6), &r);
        assert_null(strstr(r.message, "in a jump"));
        if (r.status != KD_ERR_STAGNATION) continue;
        stopped++;
        const char *way = strstr(r.message, "not by a jump: within ");
        if (!way) fail_msg("%s: %s", law, r.message);
        const double rise = strtod(way + strlen("not by a jump: within "), NULL);
        if (!(rise > 0.1 * w && rise < 1e3 * w)) fail_msg("%s: %s", law, r.message);
    }
    assert_true(stopped >= 2);
}

// A jump with the position under damping: the block ends on the jump, and the message says position.
static void chatter_about_a_position_is_told(void **state)
{
    (void)state;
    int stopped = 0;
    srand(test_seed(11));
    for (int k = 0; k < METHODS; k++) {
        const double F = of_order(2, 20), c = of_order(0.5, 2);
        char         law[200];
        certified    r;
        snprintf(law, sizeof law, "law: \"if(q > 0, %.17g, %.17g) - %.17g*v\"", -F, F, c);
        certify_text(block(1, 1, law, ""), KD_JOINT, 2000, with_method(METHOD[k], 1e-7), &r);
        assert_true(r.status == KD_ERR_STAGNATION || r.status == KD_OK || r.status == KD_ERR_TOO_MANY_STEPS);
        if (r.status != KD_ERR_STAGNATION) continue;
        stopped++;
        assert_true(fabs(r.p[0]) < 1e-3);
        assert_non_null(strstr(r.message, "'motor'"));
    }
    assert_true(stopped >= 2);
}

// Equations written in C: the force and the variable are named as far as the equations can.
static kd_eval jumping_force(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->v[0] > 0 ? -3 : 3;
    out[1] = -x->p[1];
    return KD_EVAL_OK;
}
static kd_eval unit_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    return KD_EVAL_OK;
}
static void equations_in_c_are_told(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    kd_eom    *eom;
    kd_state  *x;
    certified  r;
    def.dims.np = def.dims.nv = 2;
    def.M = unit_mass;
    def.f = jumping_force;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->v[0] = x->v[1] = 1;
    certify_equations(eom, NULL, x, 50, with_method(KD_DOPRI5, 1e-6), &r);
    assert_int_equal(r.status, KD_ERR_STAGNATION);
    assert_non_null(strstr(r.message, "v[0]"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Called again, a run that was ended goes on until it is found once more.
static void runs_can_go_on(void **state)
{
    (void)state;
    kd_model  *model = model_of(block(1, 1, "law: \"-5*sign(v)\"", ""));
    kd_system *system;
    kd_state  *x;
    char       message[2000];
    assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
    assert_true(kd_state_create(kd_system_eom(system), &x) >= 0);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    kd_simulation_options opt = with_method(KD_DOPRI5, 1e-6);
    kd_simulation        *s;
    assert_true(kd_simulation_create(kd_system_eom(system), NULL, &opt, x, &s, NULL, 0) >= 0);
    assert_int_equal(kd_simulation_run(s, 10), KD_ERR_STAGNATION);
    const double t = x->t;
    assert_int_equal(kd_simulation_run(s, 10), KD_ERR_STAGNATION);
    assert_true(x->t > t);
    assert_true(kd_simulation_run(s, x->t + 1e-4) >= 0); // not far: as many steps as it takes
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// ---- legitimate runs ------------------------------------------------------------------------------------------------

// Fast vibration that goes on for tens of thousands of steps, regularised friction at rest, a relay with a band and
// bang-bang oscillation about a jump reach their end.
static void legitimate_runs_are_not_stopped(void **state)
{
    (void)state;
    srand(test_seed(12));
    for (int k = 0; k < 15; k++) {
        const double m = of_order(0.1, 10);
        char         law[300], more[300] = "";
        double       t_end = 1;
        certified    r;
        switch (k % 5) {
        case 0: // 5000 periods
            snprintf(law, sizeof law, "stiffness: %.17g", m * 1e9);
            break;
        case 1: // the same with a soft jump that it passes all the time
            snprintf(law, sizeof law, "stiffness: %.17g, law: \"-%.17g*sign(q)\"", m * 1e6, m * of_order(1, 100));
            t_end = 0.3;
            break;
        case 2: // regularised
            snprintf(law, sizeof law, "law: \"-%.17g*tanh(v/1e-4)\"", m * 5);
            t_end = 5;
            break;
        case 3: // bang-bang
            snprintf(law, sizeof law, "law: \"if(q > 0, %.17g, %.17g)\"", -10 * m, 10 * m);
            t_end = 5;
            break;
        default: // relay with a band, by events
            snprintf(law, sizeof law, "damping: %.17g, law: \"%.17g*variable.on\"", m, 5 * m);
            snprintf(
                more, sizeof more,
                "variables: {on: 1}\nevents:\n  off: {when: joint.j.v - 1.01, crossing: rising, set: {variable.on: "
                "-1}}\n  on: {when: joint.j.v - 0.99, crossing: falling, set: {variable.on: 1}}\n");
            t_end = 2;
        }
        certify_text(block(m, 1, law, more), KD_JOINT, t_end,
                     with_method(k % 5 == 2 ? KD_RADAU
                                 : k % 2    ? KD_DOP853
                                            : KD_RADAU,
                                 1e-6),
                     &r);
        if (r.status < 0) print_error("%d: %s: %s\n", k, law, r.message);
        assert_true(r.status >= 0 && r.t == t_end);
        if (k % 5 == 4) assert_true(r.v[0] > 0.989 && r.v[0] < 1.011 && r.verdict.clean); // it has switched to the end
    }
}

// ---- blow-up --------------------------------------------------------------------------------------------------------

// Negative damping, of a damper and by a law, random sizes: the run ends, the element is named with its power.
static void blow_up_is_told(void **state)
{
    (void)state;
    srand(test_seed(13));
    for (int k = 0; k < 20; k++) {
        const double m = of_order(0.01, 100), w = of_order(0.5, 30), d = of_order(0.05, 1) * w;
        char         law[300];
        certified    r;
        if (k % 2)
            snprintf(law, sizeof law, "stiffness: %.17g, damping: %.17g", m * w * w, -m * d);
        else
            snprintf(law, sizeof law, "stiffness: %.17g, law: \"%.17g*joint.j.v\"", m * w * w, m * d);
        certify_text(block(m, of_order(0.01, 10), law, ""), k % 3 ? KD_JOINT : KD_CARTESIAN, 400 / d,
                     with_method(METHOD[k % METHODS], 1e-6), &r);
        if (r.status != KD_ERR_BLOW_UP) print_error("%d: %s: %d %s\n", k, law, (int)r.status, r.message);
        assert_int_equal(r.status, KD_ERR_BLOW_UP);
        assert_non_null(strstr(r.message, "force 'motor'"));
        assert_non_null(strstr(r.message, k % 2 ? "negative damping" : "joint.j.v"));
        assert_false(r.verdict.clean);
    }
}

// Unstable motion over a short time, self-excited vibration with a limit, a pendulum that tumbles, steady acceleration
// for a long time: not stopped, and clean.
static void legitimate_growth_is_not_stopped(void **state)
{
    (void)state;
    static const struct {
        const char *law;
        double      v, t_end;
    } CASE[] = {
        {"stiffness: -4", 0.1, 4},                          // exp(2 t) to 3000
        {"damping: -1", 0.01, 8},                           // exp(t)
        {"stiffness: 1, law: \"3*(1 - q^2)*v\"", 1e-6, 40}, // van der Pol
        {"law: \"50\"", 0, 1000},                           // 50 km/s
        {"law: \"-9.81*sin(q)\"", 6.3, 50},
        {"law: \"5*t\"", 0, 100},
    };
    for (size_t k = 0; k < sizeof CASE / sizeof *CASE; k++) {
        certified r;
        certify_text(block(1, CASE[k].v, CASE[k].law, ""), KD_JOINT, CASE[k].t_end, with_method(KD_RADAU, 1e-7), &r);
        if (r.status < 0 || !r.verdict.clean) print_error("%s: %s %s\n", CASE[k].law, r.message, r.verdict.sentence);
        assert_true(r.status >= 0 && r.verdict.clean);
    }
}

// Slider-cranks whose crank is as long as the rod, through positions where branches cross, with a tolerance near rounding: steps
// that find no solution there end the run within some thousand attempts, by the constraints; what reaches the end is clean.
static void steps_without_solution_end(void **state)
{
    (void)state;
    int stopped = 0;
    srand(test_seed(15));
    for (int k = 0; k < 12; k++) {
        const double r = between(0.1, 2), q = between(0.3, 1.2), v = between(3, 9), x = r * cos(q), y = r * sin(q);
        char         text[2000];
        certified    out;
        kd_simulation_options opt = with_method(KD_SDIRK, 1e-9);
        opt.formulation = KD_STATESPACE;
        opt.integrator_options.max_steps = 30000;
        snprintf(
            text, sizeof text,
            "kardan: 1\ngravity: [%g, %g, 0]\nbodies:\n"
            "  crank: {position: [%.17g, %.17g, 0], orientation: {axis: [0, 0, 1], angle: %.17g}, mass: 1, "
            "inertia: [1e-3, 0.1, 0.1]}\n"
            "  rod: {position: [%.17g, %.17g, 0], orientation: {axis: [0, 0, 1], angle: %.17g}, mass: 2, "
            "inertia: [1e-3, 0.1, 0.1]}\n"
            "  block: {position: [%.17g, 0, 0], mass: 1, inertia: [1e-3, 1e-3, 1e-3]}\njoints:\n"
            "  a: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], v: %.17g, hold: true}\n"
            "  b: {type: revolute, bodies: [crank, rod], point: [%.17g, %.17g, 0], axis: [0, 0, 1]}\n"
            "  c: {type: revolute, bodies: [rod, block], point: [%.17g, 0, 0], axis: [0, 0, 1]}\n"
            "  d: {type: prismatic, bodies: [ground, block], point: [%.17g, 0, 0], axis: [1, 0, 0]}\n",
            between(-9, 9), between(-9, 9), x / 2, y / 2, q, 1.5 * x, y / 2, -q, 2 * x, v, x, y, 2 * x, 2 * x);
        certify_text(text, k % 2 ? KD_CARTESIAN : KD_JOINT, 10 / v, opt, &out);
        if (out.status >= 0) {
            assert_true(out.verdict.clean);
            continue;
        }
        if (out.status != KD_ERR_RANK_CHANGE && out.status != KD_ERR_STAGNATION)
            fail_msg("%d: %s: %s", k, kd_status_sentence(out.status), out.message);
        stopped += strstr(out.message, "found no solution, however short") != NULL;
        assert_false(out.verdict.clean);
    }
    assert_true(stopped > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sliding_is_told),
        cmocka_unit_test(steep_laws_are_no_jumps),
        cmocka_unit_test(chatter_about_a_position_is_told),
        cmocka_unit_test(equations_in_c_are_told),
        cmocka_unit_test(steps_without_solution_end),
        cmocka_unit_test(runs_can_go_on),
        cmocka_unit_test(legitimate_runs_are_not_stopped),
        cmocka_unit_test(blow_up_is_told),
        cmocka_unit_test(legitimate_growth_is_not_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
