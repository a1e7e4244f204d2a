// Stops and contacts with restitution as one-sided rows: their places and names, derivatives, start values, impacts in
// both coordinate sets, what the analyses make of them.
#include "model/build_helpers.h"

#include <kardan/kardan.h>

#include "core/failing_allocator.h"

#define assert_near(a, b, tolerance) near_to((a), (b), (tolerance), __LINE__)
static void near_to(double a, double b, double tolerance, int line)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("line %d: %.15g and %.15g", line, a, b);
}

// A closed loop with stops in the tree and at the cut, a wheel on a plane, a compliant stop beside them.
static const char linkage[] =
    "kardan: 1\n"
    "title: Linkage with stops\n"
    "gravity: [0, -9.81, 0]\n"
    "bodies:\n"
    "  crank: {position: [0.5, 0, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "  rod: {position: [1, 0.5, 0], mass: 2, inertia: [0.2, 0.2, 0.2]}\n"
    "  rocker: {position: [0.5, 1, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "  slider: {position: [1, 2, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "joints:\n"
    "  a: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], v: 2}\n"
    "  b: {type: revolute, bodies: [crank, rod], point: [1, 0, 0], axis: [0, 0, 1]}\n"
    "  c: {type: revolute, bodies: [rod, rocker], point: [1, 1, 0], axis: [0, 0, 1], cut: yes}\n"
    "  d: {type: revolute, bodies: [ground, rocker], point: [0, 1.2, 0], axis: [0, 0, 1]}\n"
    "  e: {type: planar, bodies: [rod, slider], point: [1, 2, 0], axis: [0, 0, 1]}\n"
    "forces:\n"
    "  soft: {type: joint_stop, joint: d, upper: 1, stiffness: 100}\n"
    "  cut: {type: joint_stop, joint: c, lower: -0.5, upper: 0.5, restitution: 0.4}\n"
    "  tree: {type: joint_stop, joint: e, coordinate: 2, upper: 0.3, restitution: 1}\n"
    "  floor: {type: contact, from: {body: ground, point: [0, -1, 0], axis: [0, 1, 0]}, to: {body: crank, point: [0.5, "
    "0, 0]}, "
    "radius: 0.1, restitution: 0}\n"
    "sensors:\n"
    "  cut: force.cut.force\n"
    "  tree: force.tree.force\n"
    "  floor: force.floor.fz\n";

static kd_model *read_text(const char *text)
{
    char      message[900] = "";
    kd_model *model = NULL;
    if (kd_model_read_text("text", text, strlen(text), NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    return model;
}

static kd_system *system_of(const kd_model *m, kd_coordinates coordinates)
{
    kd_system_options opt = kd_system_options_default();
    kd_system        *s = NULL;
    char              message[400] = "";
    opt.coordinates = coordinates;
    if (kd_system_create(m, &opt, &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

static const kd_coordinates both[] = {KD_JOINT, KD_CARTESIAN};

// The rows stand behind all others, with names and restitutions; they begin inactive and take no freedom away.
static void test_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"joint 'c' lower stop", "joint 'c' upper stop", "joint 'e' upper stop of q2",
                                        "contact 'floor' distance"};
    static const double      e[] = {0.4, 0.4, 1, 0};
    kd_model                *m = read_text(linkage);
    for (int k = 0; k < 2; k++) {
        kd_system    *s = system_of(m, both[k]);
        const kd_eom *eom = kd_system_eom(s);
        kd_dims       n = kd_eom_dims(eom);
        kd_state     *x = NULL;
        char          message[400] = "", text[2000];
        int           first = n.nlambda - 4;
        CHECK(kd_state_create(eom, &x));
        assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
        for (int i = 0; i < n.nlambda; i++) {
            assert_int_equal(kd_eom_one_sided(eom, i), i >= first);
            assert_int_equal(x->active_lambda[i], i < first);
            if (i < first) continue;
            assert_string_equal(kd_eom_name(eom, KD_NAME_LAMBDA, i, text, sizeof text), names[i - first]);
            assert_near(kd_eom_definition(eom)->restitution[i], e[i - first], 0);
            assert_near(x->lambda[i], 0, 0);
        }
        assert_int_equal(kd_system_info_of(s).dof, 4);
        assert_int_equal(kd_system_info_of(s).nconstraints, first + n.nmu);
        kd_system_describe(s, text, sizeof text);
        assert_non_null(strstr(text, "4 one-sided constraints"));
        kd_state_destroy(x);
        kd_system_destroy(s);
    }
    kd_model_destroy(m);
}

// Levels and derivatives of all rows agree with differences.
static void test_derivatives(void **state)
{
    (void)state;
    kd_model *m = read_text(linkage);
    for (int k = 0; k < 2; k++) {
        kd_system *s = system_of(m, both[k]);
        kd_state  *x = NULL;
        char       message[400] = "", report[2000] = "";
        CHECK(kd_state_create(kd_system_eom(s), &x));
        assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
        for (int i = 0; i < kd_eom_dims(kd_system_eom(s)).nlambda; i++) x->lambda[i] = 0.3 + 0.1 * i;
        if (kd_eom_check(kd_system_eom(s), kd_system_inputs(s), x, NULL, report, sizeof report) != KD_OK)
            fail_msg("%s", report);
        kd_state_destroy(x);
        kd_system_destroy(s);
    }
    kd_model_destroy(m);
}

// What an impact on one row leaves: the rate reversed, loops closed; T - T+ = (1 - e)/(2 (1 + e)) |v+ - v|^2 in the
// norm of M, and the same energy in both coordinate sets.
static void test_impacts(void **state)
{
    (void)state;
    static const double e[] = {0.4, 0.4, 1, 0};
    kd_model           *m = read_text(linkage);
    double              lost[2][4];
    for (int k = 0; k < 2; k++) {
        kd_system    *s = system_of(m, both[k]);
        const kd_eom *eom = kd_system_eom(s);
        kd_dims       n = kd_eom_dims(eom);
        kd_state     *x = NULL;
        kd_eom_data  *d = NULL;
        char          message[400] = "";
        double        M[900], v[30], sum[30], gI[40], after[40];
        unsigned char hit[40];
        assert_true(n.nv <= 30 && n.nlambda <= 40);
        CHECK(kd_state_create(eom, &x));
        CHECK(kd_eom_data_create(eom, &d));
        assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
        for (int row = 0; row < 4; row++) {
            int i = n.nlambda - 4 + row;
            kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
            kd_eom_at_position(d, x->p, NULL);
            kd_eom_at_velocity(d, x->v, NULL);
            assert_int_equal(kd_eom_eval(d, KD_GI, gI), KD_EVAL_OK);
            assert_int_equal(kd_eom_eval(d, KD_MASS, M), KD_EVAL_OK);
            memcpy(v, x->v, (size_t)n.nv * sizeof *v);
            for (int j = 0; gI[i] > 0 && j < n.nv; j++) v[j] = -v[j];
            memcpy(sum, v, sizeof sum);
            memset(hit, 0, sizeof hit);
            hit[i] = 1;
            assert_true(kd_eom_impact(d, x->active_lambda, x->active_mu, hit, v, NULL) >= 0);
            kd_eom_at_velocity(d, v, NULL);
            assert_int_equal(kd_eom_eval(d, KD_GI, after), KD_EVAL_OK);
            for (int j = 0; j < n.nlambda - 4; j++) assert_near(after[j], 0, 1e-12);
            assert_near(after[i], e[row] * fabs(gI[i]), 1e-12);
            double before = 0, behind = 0, jump = 0;
            for (int a = 0; a < n.nv; a++)
                for (int b = 0; b < n.nv; b++) {
                    before += 0.5 * sum[a] * M[a + b * n.nv] * sum[b];
                    behind += 0.5 * v[a] * M[a + b * n.nv] * v[b];
                    jump += (v[a] - sum[a]) * M[a + b * n.nv] * (v[b] - sum[b]);
                }
            lost[k][row] = before - behind;
            assert_near(lost[k][row], (1 - e[row]) / (2 * (1 + e[row])) * jump, 1e-12);
        }
        kd_eom_data_destroy(d);
        kd_state_destroy(x);
        kd_system_destroy(s);
    }
    for (int row = 0; row < 4; row++) assert_near(lost[0][row], lost[1][row], 1e-11);
    assert_true(lost[0][0] > 1e-3 && lost[0][3] > 1e-3);
    kd_model_destroy(m);
}

// Sensors read the forces of rows: along the coordinate, along the normal.
static void test_sensors(void **state)
{
    (void)state;
    kd_model *m = read_text(linkage);
    for (int k = 0; k < 2; k++) {
        kd_system   *s = system_of(m, both[k]);
        kd_dims      n = kd_eom_dims(kd_system_eom(s));
        kd_state    *x = NULL;
        kd_eom_data *d = NULL;
        char         message[400] = "";
        double       y[3];
        CHECK(kd_state_create(kd_system_eom(s), &x));
        CHECK(kd_eom_data_create(kd_system_eom(s), &d));
        assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
        double *lambda = x->lambda + n.nlambda - 4;
        lambda[0] = -3, lambda[1] = 0, lambda[2] = -5, lambda[3] = -7;
        for (int upper = 0; upper < 2; upper++) {
            kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
            kd_eom_at_position(d, x->p, NULL);
            kd_eom_at_velocity(d, x->v, NULL);
            kd_eom_at_acceleration(d, x->a, NULL, x->lambda, x->mu);
            assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
            assert_near(y[0], upper ? -3 : 3, 1e-14); // the lower stop pushes up, the upper one down
            assert_near(y[1], -5, 1e-14);
            assert_near(y[2], 7, 1e-14);
            lambda[0] = 0, lambda[1] = -3;
        }
        kd_eom_data_destroy(d);
        kd_state_destroy(x);
        kd_system_destroy(s);
    }
    kd_model_destroy(m);
}

// Steps of fixed work refuse them, in words.
static void test_realtime_refuses(void **state)
{
    (void)state;
    kd_model    *m = read_text(linkage);
    kd_system   *s = system_of(m, KD_JOINT);
    kd_state    *x = NULL;
    kd_realtime *rt = NULL;
    char         message[400] = "";
    CHECK(kd_state_create(kd_system_eom(s), &x));
    assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
    assert_int_equal(kd_realtime_create(kd_system_eom(s), NULL, NULL, x, &rt, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "'restitution'"));
    assert_null(rt);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(m);
}

// A pendulum on its stop: a row that holds is part of an equilibrium and of the equations linearised there.
static void test_equilibrium(void **state)
{
    (void)state;
    static const char text[] =
        "kardan: 1\n"
        "title: Pendulum\n"
        "gravity: [0, -9.81, 0]\n"
        "bodies: {bob: {position: [0, -1, 0], mass: 1, inertia: [0, 0, 0]}}\n"
        "joints: {hinge: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 0, 1], q: 0.4}}\n"
        "forces: {bumper: {type: joint_stop, joint: hinge, lower: 0.3, restitution: 0.5}}\n";
    kd_model *m = read_text(text);
    for (int k = 0; k < 2; k++)
        for (int held = 0; held < 2; held++) {
            kd_system *s = system_of(m, both[k]);
            kd_dims    n = kd_eom_dims(kd_system_eom(s));
            kd_state  *x = NULL;
            char       message[600] = "";
            CHECK(kd_state_create(kd_system_eom(s), &x));
            assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
            x->active_lambda[n.nlambda - 1] = (unsigned char)held;
            if (kd_equilibrium(kd_system_eom(s), kd_system_inputs(s), NULL, x, NULL, message, sizeof message) < 0)
                fail_msg("%s", message);
            assert_near(x->lambda[n.nlambda - 1], held ? -9.81 * sin(0.3) : 0, 1e-7);
            kd_state_destroy(x);
            kd_system_destroy(s);
        }
    kd_model_destroy(m);
}

// What contradicts: nothing to be stiff or rigid by, both, damping or friction beside restitution, limits that cross.
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *words;
    } cases[] = {
        {"upper: 1", "'stiffness' is missing"},
        {"upper: 1, restitution: 0.5, stiffness: 10", "'stiffness' has no meaning beside 'restitution'"},
        {"upper: 1, restitution: 0.5, damping: 10", "'damping' has no meaning beside 'restitution'"},
        {"upper: 1, restitution: 1.5", "restitution"},
        {"upper: 1, restitution: -0.1", "restitution"},
        {"lower: 2, upper: 1, restitution: 0.1", "the lower limit 2 must be below the upper one, 1"},
    };
    char text[1000], message[900];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_model *m = NULL;
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
                 "joints: {j: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1]}}\n"
                 "forces:\n  stop: {type: joint_stop, joint: j, %s}\n",
                 cases[i].fields);
        assert_int_equal(kd_model_read_text("text", text, strlen(text), NULL, 0, &m, message, sizeof message),
                         KD_ERR_MODEL);
        if (!strstr(message, cases[i].words) || !strstr(message, "text:5:")) fail_msg("%s", message);
    }
    kd_model *m = NULL;
    snprintf(text, sizeof text,
             "kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 1]}}\n"
             "forces: {floor: {type: contact, from: ground, to: a, radius: 0.1, restitution: 0.5, friction: 0.1}}\n");
    assert_int_equal(kd_model_read_text("text", text, strlen(text), NULL, 0, &m, message, sizeof message),
                     KD_ERR_MODEL);
    assert_non_null(strstr(message, "has no friction"));
}

// Whatever allocation fails while the system is made, nothing is lost.
static void test_memory(void **state)
{
    (void)state;
    kd_model         *m = read_text(linkage);
    failing_allocator f = {0};
    failing_allocator_use(&f);
    kd_status status = KD_ERR_MEMORY;
    for (long at = 1; status != KD_OK; at += 1 + at / 20) {
        kd_system *s = NULL;
        char       message[400];
        f.calls = 0;
        f.fail_at = at;
        status = kd_system_create(m, NULL, &s, message, sizeof message);
        kd_system_destroy(s);
        if (f.calls < at) break;
        assert_int_equal(f.live, 0);
        if (status != KD_OK) assert_int_equal(status, KD_ERR_MEMORY);
        status = KD_ERR_MEMORY;
    }
    kd_set_allocator(NULL);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_derivatives),      cmocka_unit_test(test_impacts),
        cmocka_unit_test(test_sensors), cmocka_unit_test(test_realtime_refuses), cmocka_unit_test(test_equilibrium),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
