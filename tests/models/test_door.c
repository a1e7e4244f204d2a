// Pulses that come while nothing moves: the door of the gallery against its closed solution, and a mechanism with
// waves, tables and conditions of time against runs with short steps.
#include "gallery_run.h"

static table result; // of the last run

typedef struct pulse {
    double start, width, torque;
} pulse;

static const double inertia = 20.0 * 0.9 * 0.9 / 3.0;
static const pulse  pulses[2] = {{0.5, 0.3, 12.0}, {2.0, 0.001, -900.0}};

static void door_at(double t, double *angle, double *speed)
{
    *angle = *speed = 0.0;
    for (int k = 0; k < 2; k++) {
        const double since = fmax(t - pulses[k].start, 0.0), on = fmin(since, pulses[k].width);
        const double gained = pulses[k].torque / inertia * on;
        *speed += gained;
        *angle += 0.5 * gained * on + gained * (since - on);
    }
}

// At all times, in both coordinate sets.
static void door(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("door", NULL, BOTH[c], 3, 60, &result);
        for (int k = 0; k <= 60; k++) {
            double angle, speed;
            door_at(result.t[k], &angle, &speed);
            assert_close(at(&result, k, "angle"), angle, c ? 2e-5 : 1e-12);
            assert_close(at(&result, k, "speed"), speed, c ? 2e-5 : 1e-12);
        }
        assert_close(at(&result, 40, "torque"), -900, 1e-9); // at 2 s: already the right side
    }
}

static void run_to(const kd_system *s, kd_integrator_kind integrator, double tolerance, double h_max, double t_end,
                   kd_state *x, kd_stats *stats)
{
    char                  message[1000] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    opt.integrator = integrator;
    opt.rtol = opt.atol = tolerance;
    if (h_max > 0.0) opt.integrator_options.h_max = h_max;
    const bool explicit =
        integrator != KD_RADAU && integrator != KD_BDF && integrator != KD_IDA && integrator != KD_SDIRK;
    if (explicit) opt.formulation = KD_ODE;
    x->t = 0.0;
    assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
    kd_status status =
        kd_simulate(kd_system_eom(s), kd_system_inputs(s), &opt, x, t_end, stats, message, sizeof message);
    if (status < 0) print_error("%s: %s\n", kd_integrator_word(integrator), message);
    assert_true(status >= 0);
}

// Every integrator meets both pulses, in few steps.
static void all_integrators(void **state)
{
    static const kd_integrator_kind all[] = {KD_RADAU,  KD_BDF,           KD_SDIRK,        KD_DOPRI5,
                                             KD_DOP853, KD_HALF_EXPLICIT, KD_EXTRAPOLATION};
    kd_model                       *model = read_gallery("door", NULL);
    kd_system                      *s = NULL;
    kd_state                       *x = NULL;
    double                          angle, speed;
    (void)state;
    door_at(3.0, &angle, &speed);
    assert_int_equal(kd_system_create(model, NULL, &s, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        kd_stats stats;
        run_to(s, all[k], 1e-8, 0.0, 3.0, x, &stats);
        assert_close(x->p[0], angle, 1e-7);
        assert_close(x->v[0], speed, 1e-7);
        assert_true(stats.steps < 1000);
    }
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(model);
}

static const char mixed[] =
    "kardan: 1\n"
    "curves: {way: {x: [0, 0.7, 0.9, 1.3, 9], y: [0, 0, 0.3, 0.3, 0.3]}}\n"
    "inputs: {square: \"step(sin(9*t)) - 0.5\", saw: \"mod(t, 0.4)\"}\n"
    "bodies:\n"
    "  a: {mass: 1, inertia: [0.1, 0.2, 0.2], position: [0.5, 0, 0]}\n"
    "  b: {mass: 2, inertia: [0.1, 0.2, 0.2], position: [1.5, 0, 0]}\n"
    "joints:\n"
    "  one: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  two: {type: revolute, bodies: [a, b], point: [1, 0, 0], axis: [0, 1, 0]}\n"
    "states:\n"
    "  lag: {type: lag, input: \"if(t < 1.1, input.saw, -joint.one.q)\", time_constant: 0.2}\n"
    "forces:\n"
    "  motor: {type: joint_spring, joint: one, law: 20*input.square - v}\n"
    "  servo: {type: joint_spring, joint: two, law: 50*(way(t) + state.lag - q) - 3*v + 5*abs(t - 0.6)*joint.one.v}\n";

// What is found with long steps is what short steps find, to the tolerance; steps that end anywhere cannot do better
// than the jumps let them.
static void long_steps_are_as_good_as_short_ones(void **state)
{
    kd_model *model = NULL;
    char      message[1000] = "";
    kd_state *x = NULL, *y = NULL;
    kd_stats  stats;
    (void)state;
    assert_int_equal(kd_model_read_text("mixed", mixed, strlen(mixed), NULL, 0, &model, message, sizeof message),
                     KD_OK);
    for (int c = 0; c < 2; c++) {
        kd_system        *s = NULL;
        kd_system_options options = kd_system_options_default();
        options.coordinates = BOTH[c];
        assert_int_equal(kd_system_create(model, &options, &s, message, sizeof message), KD_OK);
        assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
        assert_int_equal(kd_state_create(kd_system_eom(s), &y), KD_OK);
        run_to(s, KD_RADAU, 1e-9, 0.0, 2.0, x, &stats);
        run_to(s, KD_RADAU, 1e-11, 1e-3, 2.0, y, &stats);
        for (int i = 0; i < kd_eom_dims(kd_system_eom(s)).nv; i++) assert_close(x->v[i], y->v[i], 1e-6);
        run_to(s, KD_BDF, 1e-10, 0.0, 2.0, y, &stats);
        for (int i = 0; i < kd_eom_dims(kd_system_eom(s)).nv; i++) assert_close(x->v[i], y->v[i], 1e-6);
        kd_state_destroy(x);
        kd_state_destroy(y);
        kd_system_destroy(s);
    }
    kd_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(door),
        cmocka_unit_test(all_integrators),
        cmocka_unit_test(long_steps_are_as_good_as_short_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
