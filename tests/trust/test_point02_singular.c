// Point 2: motions through singular positions go on smoothly, on the right branch, or end with KD_ERR_RANK_CHANGE that
// names a joint and the time, whatever the formulation, the integrator and the coordinates; explicit methods project.
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
#include <string.h>

#include "case.h"

// A parallelogram: where all rods are in line it could go on as an antiparallelogram.
static const char parallelogram[] =
    "kardan: 1\n"
    "parameters: {L: 1, D: 1, m1: 1, m2: 1, m3: 1, phi: 1, w: 5, grav: 0}\n"
    "gravity: [0, -grav, 0]\n"
    "bodies:\n"
    "  rod1: {position: [L*cos(phi)/2, L*sin(phi)/2, 0], orientation: {axis: [0, 0, 1], angle: phi}, mass: m1,\n"
    "    inertia: [m1*L^2/100, m1*L^2/12, m1*L^2/12]}\n"
    "  coupler: {position: [L*cos(phi) + D/2, L*sin(phi), 0], mass: m2, inertia: [m2*D^2/100, m2*D^2/12, m2*D^2/12]}\n"
    "  rod3: {position: [D + L*cos(phi)/2, L*sin(phi)/2, 0], orientation: {axis: [0, 0, 1], angle: phi}, mass: m3,\n"
    "    inertia: [m3*L^2/100, m3*L^2/12, m3*L^2/12]}\n"
    "joints:\n"
    "  A: {type: revolute, from: ground, to: {body: rod1, point: [-L/2, 0, 0]}, v: w}\n"
    "  B: {type: revolute, bodies: [rod1, coupler], point: [L*cos(phi), L*sin(phi), 0], axis: [0, 0, 1], v: -w}\n"
    "  C: {type: revolute, bodies: [coupler, rod3], point: [D + L*cos(phi), L*sin(phi), 0], axis: [0, 0, 1], v: w}\n"
    "  D: {type: revolute, from: {body: ground, point: [D, 0, 0]}, to: {body: rod3, point: [-L/2, 0, 0]}, v: w}\n"
    "sensors:\n  a: {value: joint.A.q}\n  d: {value: joint.D.q}\n";

static unsigned long long seed = 20;

static double uniform(double a, double b)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return a + (b - a) * (double)(seed >> 11) / 9007199254740992.0;
}

#define MOST_ATTEMPTS 20000 // of steps: far more than any motion here needs

typedef struct problem {
    double    L, D, m1, m2, m3, phi, w, g, t_end;
    kd_model *model;
    double    angle; // at t_end
} problem;

// (m1/3 + m3/3 + m2) L^2 phi'' = -g (m1/2 + m3/2 + m2) L cos(phi): the coupler does not turn
static double closed_form(const problem *p)
{
    const int    n = 20000;
    const double h = p->t_end / n, inertia = ((p->m1 + p->m3) / 3 + p->m2) * p->L;
    const double c = -p->g * ((p->m1 + p->m3) / 2 + p->m2) / inertia;
    double       q = p->phi, u = p->w;
    for (int i = 0; i < n; i++) { // the classical method of order 4
        double l1 = c * cos(q), k2 = u + h / 2 * l1, l2 = c * cos(q + h / 2 * u), k3 = u + h / 2 * l2;
        double l3 = c * cos(q + h / 2 * k2), k4 = u + h * l3, l4 = c * cos(q + h * k3);
        q += h / 6 * (u + 2 * k2 + 2 * k3 + k4);
        u += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
    }
    return q;
}

static problem make_problem(int k)
{
    problem p = {.L = uniform(0.2, 2), .m1 = uniform(0.2, 3), .m2 = uniform(0.2, 3), .m3 = uniform(0.2, 3)};
    p.D = k % 2 ? p.L : uniform(0.3, 2);
    p.phi = uniform(0.3, 2.8);
    p.w = uniform(4, 9) * (k % 3 == 2 ? -1 : 1);
    p.g = k % 2 ? 0 : 9.81 * p.L;
    p.t_end = uniform(0.8, 1.6);
    p.angle = closed_form(&p);
    const char  *name[] = {"L", "D", "m1", "m2", "m3", "phi", "w", "grav"};
    const double value[] = {p.L, p.D, p.m1, p.m2, p.m3, p.phi, p.w, p.g};
    char         text[8][40], message[400] = "";
    kd_setting   setting[8];
    for (int i = 0; i < 8; i++) {
        snprintf(text[i], sizeof text[i], "%.17g", value[i]);
        setting[i] = (kd_setting){name[i], text[i]};
    }
    if (kd_model_read_text("parallelogram", parallelogram, strlen(parallelogram), setting, 8, &p.model, message,
                           sizeof message) < 0)
        fail_msg("%s", message);
    return p;
}

// Difference of the angles of both cranks from the closed form
static double error_of(const kd_system *system, const kd_state *x, double angle)
{
    kd_eom_data *d;
    double       y[2] = {0};
    assert_int_equal(kd_eom_data_create(kd_system_eom(system), &d), KD_OK);
    kd_eom_at_time(d, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(d);
    const double turn = 2 * acos(-1);
    return fmax(fabs(remainder(y[0] - angle, turn)), fabs(remainder(y[1] - angle, turn)));
}

static long passed, ended, noisy;

static void one_run(const problem *p, kd_coordinates coordinates, kd_formulation form, kd_integrator_kind integrator,
                    kd_projection projection, kd_decomposition decomposition, double tol)
{
    char                  message[1000] = "";
    kd_system            *system;
    kd_state             *x;
    kd_system_options     so = kd_system_options_default();
    kd_simulation_options o = kd_simulation_options_default();
    so.coordinates = coordinates;
    assert_true(kd_system_create(p->model, &so, &system, message, sizeof message) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    o.formulation = form;
    o.integrator = integrator;
    o.formulation_options.constraints = decomposition;
    o.formulation_options.projection = projection;
    o.rtol = o.atol = tol;
    o.integrator_options.max_steps = MOST_ATTEMPTS;
    kd_status status =
        kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, p->t_end, NULL, message, sizeof message);
    if (status != KD_ERR_UNSUPPORTED && status != KD_ERR_ARGUMENT) {
        double error = status >= 0 ? error_of(system, x, p->angle) : 0;
        // another branch is apart by the order of 1; accuracy is the subject of other tests
        if (error > fmax(0.02, 1000 * tol))
            fail_msg("%s %s %s projection %d, L %g D %g: error %g at status %d",
                     coordinates == KD_JOINT ? "joint" : "cartesian", kd_formulation_word(form),
                     kd_integrator_word(integrator), (int)projection, p->L, p->D, error, (int)status);
        if (status < 0 && status != KD_ERR_STEP_TOO_SMALL && status != KD_ERR_RANK_CHANGE)
            fail_msg("%s %s: %s: %s", kd_formulation_word(form), kd_integrator_word(integrator),
                     kd_status_sentence(status), message);
        if (status == KD_ERR_RANK_CHANGE && (!strstr(message, "joint '") || !strstr(message, "t = ")))
            fail_msg("%s %s names no joint or time: %s", kd_formulation_word(form), kd_integrator_word(integrator),
                     message);
        passed += status >= 0;
        ended += status == KD_ERR_RANK_CHANGE;
        noisy += status == KD_ERR_RANK_CHANGE && strstr(message, "rounding of the positions") != NULL;
    }
    kd_state_destroy(x);
    kd_system_destroy(system);
}

static bool takes(kd_formulation form, kd_integrator_kind i)
{
    if ((i == KD_IDA || i == KD_CVODE || i == KD_ARKODE) && !kd_integrator_about(KD_CVODE, NULL)->available)
        return false;
    if (form == KD_ODE) return true;
    if (form == KD_STATESPACE) return i != KD_HALF_EXPLICIT;
    if (form == KD_PSF || form == KD_PSF1) return i == KD_RADAU || i == KD_SDIRK || i == KD_BDF;
    if (form == KD_INDEX3) return i == KD_RADAU; // multistep methods lose digits of the velocities there
    return i == KD_RADAU || i == KD_BDF || i == KD_SDIRK || i == KD_IDA;
}

// Every form with every integrator: right, or told; the sizes of steps and of drift differ by the tolerance. Some of
// both kinds occur.
static void every_form_knows_its_branch(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        problem p = make_problem(k);
        for (int c = 0; c < 2; c++)
            for (int f = 0; f < KD_FORMULATION_COUNT; f++)
                for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) {
                    kd_formulation form = (kd_formulation)f;
                    if (!takes(form, (kd_integrator_kind)i) || (c == 1 && (f + i + k) % 4)) continue;
                    one_run(&p, c ? KD_CARTESIAN : KD_JOINT, form, (kd_integrator_kind)i,
                            (f + i + k) % 2 ? KD_PROJECT_NEVER : KD_PROJECT_AUTO, KD_DECOMPOSE_SVD,
                            k % 2 ? 1e-4 : 1e-6);
                }
        kd_model_destroy(p.model);
    }
    assert_true(passed > 20 && ended > 20);
}

// Explicit methods that hold the positions, with tolerances so tight that rounding next to the singular position is seen:
// no step stands there, and before the reason was known they went on in steps of 1e-10 of the time for ever.
static void tight_explicit_runs_end(void **state)
{
    (void)state;
    const kd_integrator_kind list[] = {KD_DOPRI5, KD_DOP853, KD_HALF_EXPLICIT, KD_EXTRAPOLATION, KD_ADAMS};
    passed = ended = noisy = 0;
    for (int k = 0; k < 10; k++) {
        problem p = make_problem(k);
        for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
            const double tol = pow(10, uniform(-9.5, -7.5));
            one_run(&p, (k + (int)i) % 3 ? KD_CARTESIAN : KD_JOINT, k % 4 == 3 ? KD_STATESPACE : KD_ODE, list[i],
                    KD_PROJECT_AUTO, k % 2 ? KD_DECOMPOSE_QR : KD_DECOMPOSE_LU, tol);
        }
        kd_model_destroy(p.model);
    }
    assert_true(passed > 5 && noisy > 5);
}

// The form ode with an explicit method holds its constraints by default, and drifts when it is told not to project.
static void explicit_methods_project(void **state)
{
    (void)state;
    const kd_integrator_kind list[] = {KD_DOPRI5, KD_DOP853, KD_HALF_EXPLICIT, KD_EXTRAPOLATION, KD_ADAMS};
    problem                  p = make_problem(2);
    char                     message[1000] = "";
    kd_system               *system;
    kd_state                *x;
    kd_consistency           found[2];
    kd_system_options        so = kd_system_options_default();
    so.coordinates = KD_CARTESIAN;
    assert_true(kd_system_create(p.model, &so, &system, message, sizeof message) >= 0);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        for (int never = 0; never < 2; never++) {
            kd_simulation_options o = kd_simulation_options_default();
            o.formulation = KD_ODE;
            o.integrator = list[i];
            o.rtol = o.atol = 1e-4;
            o.formulation_options.constraints = KD_DECOMPOSE_SVD;
            if (never) o.formulation_options.projection = KD_PROJECT_NEVER;
            assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
            assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
            (void)!kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, 0.1 / fabs(p.w), NULL, message,
                               sizeof message);
            assert_true(kd_initial_residuals(kd_system_eom(system), NULL, x, &found[never]) >= 0);
            kd_state_destroy(x);
        }
        assert_true(found[0].position < 1e-12);
        assert_true(found[1].position > found[0].position);
    }
    kd_system_destroy(system);
    kd_model_destroy(p.model);
}

// A car over a bump, in steps of explicit methods: rows of its axles turn with the wheels, but have no entry for that.
// No singular position is near.
static void cars_go_on(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        const char  *name[] = {"speed", "bump", "across", "reach"};
        const double value[] = {uniform(12, 28), uniform(0.03, 0.1), uniform(0.7, 2), 0.1};
        char         text[4][40], message[1000] = "";
        kd_setting   setting[4];
        kd_model    *model;
        kd_system   *system;
        kd_state    *x;
        for (int i = 0; i < 4; i++) {
            snprintf(text[i], sizeof text[i], "%.17g", value[i]);
            setting[i] = (kd_setting){name[i], text[i]};
        }
        kd_system_options     so = kd_system_options_default();
        kd_simulation_options o = kd_simulation_options_default();
        so.coordinates = KD_CARTESIAN;
        o.formulation = KD_ODE;
        o.integrator = k % 3 == 2 ? KD_DOPRI5 : KD_DOP853;
        o.rtol = o.atol = pow(10, uniform(-7, -5.5));
        if (kd_model_read(KD_SOURCE_DIR "/models/closed-loop-car.yaml", setting, 4, &model, message, sizeof message) <
            0)
            fail_msg("%s", message);
        assert_true(kd_system_create(model, &so, &system, message, sizeof message) >= 0);
        assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
        assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
        if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, 0.45, NULL, message, sizeof message) <
            0)
            fail_msg("speed %g, bump %g over %g, tolerance %g: %s", value[0], value[1], value[2], o.rtol, message);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_knows_its_branch),
        cmocka_unit_test(tight_explicit_runs_end),
        cmocka_unit_test(explicit_methods_project),
        cmocka_unit_test(cars_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
