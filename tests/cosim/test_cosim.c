// Co-simulation: limits of stability, orders, tolerances and iteration against numbers from elsewhere; the same bits for any number of
// threads; samples and events; what is wrong with a file in words.
#include <kardan/cosim.h>
#include <kardan/model.h>
#include <kardan/results.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../bench/coupling_map.h"
#include "core/failing_allocator.h"

#define FILE_NAME KD_SOURCE_DIR "/models/systems/test.yaml" // beside the models, not on disk

static const char ENERGY[] = "energy: [[left.F, right.v]]\n";

// The two masses, the first pulled away by 1 m
static const char *masses(const char *form, const char *more)
{
    static char text[2000];
    snprintf(text, sizeof text, form, 1.0, 0.0, 0.0, 0.0);
    strcat(text, more);
    return text;
}

static kd_cosim *open_text(const char *text, const kd_cosim_options *opt)
{
    kd_cosim *c;
    char      message[4000];
    if (kd_cosim_read_text(FILE_NAME, text, strlen(text), &c, message, sizeof message) < 0) fail_msg("%s", message);
    if (opt && kd_cosim_set_options(c, opt, message, sizeof message) < 0) fail_msg("%s", message);
    return c;
}

static void run_well(kd_cosim *c)
{
    char message[1000];
    if (kd_cosim_run(c, message, sizeof message) != KD_OK) fail_msg("%s", message);
}

static kd_cosim_options options(double t_end, double step, int degree)
{
    kd_cosim_options o = kd_cosim_options_default();
    o.t_end = t_end, o.step = step, o.degree = degree, o.threads = 1, o.intervals = 0;
    return o;
}

// ---- stability ------------------------------------------------------------------------------------------------------

// Limits by tests/cosim/stability_limits.py: 1 % below them the map that the master makes is stable, 1 % above it is not.
static void limits_of_stability(void **state)
{
    (void)state;
    const struct {
        const char     *text;
        kd_cosim_master master;
        bool            held;
        double          limit;
    } cases[] = {{MAP_FORCE_DISPLACEMENT, KD_COSIM_JACOBI, false, 0.0280162},
                 {MAP_FORCE_DISPLACEMENT, KD_COSIM_JACOBI, true, 0.00400173},
                 {MAP_FORCE_DISPLACEMENT, KD_COSIM_GAUSS_SEIDEL, false, 0.0040026},
                 {MAP_DISPLACEMENTS, KD_COSIM_JACOBI, false, 0.0423667}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int side = 0; side < 2; side++) {
            kd_cosim_options o = options(1, (side == 0 ? 0.99 : 1.01) * cases[i].limit, 0);
            o.master = cases[i].master, o.held = cases[i].held;
            const double radius = map_radius(cases[i].text, &o, cases[i].held);
            if (!(side == 0 ? radius < 1 : radius > 1)) fail_msg("case %zu, side %d: %.12g", i, side, radius);
        }
}

// Converged, with the force of the end of the step held over it: stable far above the limits of the others, with the spectral radius
// that stability_limits.py has.
static void forces_of_the_end_are_stable(void **state)
{
    (void)state;
    for (double H = 0.03; H < 3; H *= 4) {
        kd_cosim_options o = options(1, H, 0);
        o.master = KD_COSIM_ITERATION, o.convergence = 1e-7;
        const double radius = map_radius(MAP_FORCES, &o, false);
        if (!(radius < 1)) fail_msg("H = %g: %g", H, radius);
    }
}

// ---- accuracy -------------------------------------------------------------------------------------------------------

// Sum and difference of both masses are oscillators of their own, which begin with 1 at rest
static void exact(double t, double x[4])
{
    double mode[2][2];
    for (int i = 0; i < 2; i++) {
        const double k = i == 0 ? 10 : 210, d = i == 0 ? 0.1 : 2.1, a = d / 2, w = sqrt(k - a * a), e = exp(-a * t);
        mode[i][0] = e * (cos(w * t) + a / w * sin(w * t));
        mode[i][1] = -e * k / w * sin(w * t);
    }
    for (int j = 0; j < 2; j++) {
        x[j] = 0.5 * (mode[0][j] + mode[1][j]);
        x[2 + j] = 0.5 * (mode[0][j] - mode[1][j]);
    }
}

static double error_of(const char *text, const kd_cosim_options *o)
{
    static const char *names[4] = {"left.x", "left.v", "right.x", "right.v"};
    double             x[4], error = 0;
    kd_cosim          *c = open_text(text, o);
    run_well(c);
    exact(o->t_end, x);
    for (int i = 0; i < 4; i++) error = fmax(error, fabs(kd_cosim_read_value(c, names[i]) - x[i]));
    kd_cosim_destroy(c);
    return error;
}

// Errors fall with H^(degree + 1), whatever the master and the coupling.
static void orders(void **state)
{
    (void)state;
    const char *const text[] = {MAP_FORCE_DISPLACEMENT, MAP_DISPLACEMENTS, MAP_FORCES};
    for (int kind = 0; kind < 3; kind++)
        for (int master = 0; master < KD_COSIM_MASTER_COUNT; master++)
            for (int degree = 0; degree <= 2; degree++) {
                kd_cosim_options o = options(0.4, 2e-3, degree);
                o.master = (kd_cosim_master)master, o.convergence = 1e-9;
                const double coarse = error_of(masses(text[kind], ""), &o);
                o.step = 1e-3;
                const double fine = error_of(masses(text[kind], ""), &o), order = log2(coarse / fine);
                if (!(order > degree + 0.8) || !(coarse < 0.2))
                    fail_msg("coupling %d, master %d, degree %d: errors %g, %g, order %g", kind, master, degree, coarse,
                             fine, order);
            }
}

// The error at the end follows the tolerance.
static void tolerances(void **state)
{
    (void)state;
    for (int control = KD_COSIM_EXTRAPOLATION; control < KD_COSIM_CONTROL_COUNT; control++) {
        kd_cosim_options o = options(0.5, 1e-3, 2);
        o.control = (kd_cosim_control)control;
        o.rtol = 1e-2;
        const double coarse = error_of(masses(MAP_FORCE_DISPLACEMENT, ""), &o);
        o.rtol = 1e-4;
        const double fine = error_of(masses(MAP_FORCE_DISPLACEMENT, ""), &o), slope = log10(coarse / fine) / 2;
        if (!(slope > 0.6 && slope < 1.4))
            fail_msg("control %d: errors %g, %g, slope %g", control, coarse, fine, slope);
    }
}

// Energy that the coupling creates: that of the coupled masses against what their dampers have taken, by quadrature of the rows.
static void coupling_energy(void **state)
{
    (void)state;
    kd_cosim_options     o = options(1, 2e-3, 0);
    kd_cosim_certificate z;
    kd_cosim            *c = open_text(masses(MAP_FORCE_DISPLACEMENT, ENERGY), &o);
    double               lost = 0, before = 0;
    run_well(c);
    const int x1 = kd_cosim_find(c, "left.x"), v1 = kd_cosim_find(c, "left.v"), x2 = kd_cosim_find(c, "right.x"),
              v2 = kd_cosim_find(c, "right.v"), n = kd_cosim_rows(c);
    double E[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        const double a = kd_cosim_row_value(c, i, x1), b = kd_cosim_row_value(c, i, v1),
                     d = kd_cosim_row_value(c, i, x2), e = kd_cosim_row_value(c, i, v2),
                     power = 0.1 * (b * b + e * e) + (b - e) * (b - e);
        if (i > 0) lost += 0.5 * (power + before) * o.step;
        before = power;
        E[i == 0 ? 0 : 1] = 0.5 * (10 * (a * a + d * d) + 100 * (a - d) * (a - d) + b * b + e * e);
    }
    kd_cosim_certify(c, &z);
    const double made = E[1] + lost - E[0];
    assert_true(z.has_energy && made > 0.5);
    if (fabs(z.energy - z.energy_lost - made) > 0.5 * made)
        fail_msg("%g J created, %g J lost, but the masses have %g J more", z.energy, z.energy_lost, made);
    assert_false(z.clean);
    kd_cosim_destroy(c);
}

// Coordinates of the whole truck at t
static void whole_truck(double t, int n, const char *const *names, double *value)
{
    kd_model             *model;
    kd_system            *system;
    kd_state             *x;
    kd_simulation        *simulation;
    kd_simulation_options o;
    char                  message[1000];
    assert_true(kd_model_read(KD_SOURCE_DIR "/models/truck5.yaml", NULL, 0, &model, message, sizeof message) >= 0);
    assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
    assert_true(kd_system_run_options(system, &o, message, sizeof message) >= 0);
    assert_true(kd_state_create(kd_system_eom(system), &x) >= 0);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_true(kd_simulation_create(kd_system_eom(system), kd_system_inputs(system), &o, x, &simulation, message,
                                     sizeof message) >= 0);
    assert_true(kd_simulation_run(simulation, t) >= 0);
    for (int i = 0; i < n; i++) value[i] = kd_simulation_output(simulation, names[i]);
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// The whole truck beside its two halves, while the front axle climbs the hump; a clean certificate.
static void truck_in_two(void **state)
{
    (void)state;
    static const char *const whole[] = {"p2", "p3", "p5", "p6"};
    static const char *const split[] = {"chassis.p2", "chassis.p3", "cabin.p5", "cabin.p6"};
    kd_cosim                *c;
    kd_cosim_certificate     z;
    char                     message[2000];
    double                   value[4], start[4];
    if (kd_cosim_read(KD_SOURCE_DIR "/models/systems/truck-split.yaml", &c, message, sizeof message) < 0)
        fail_msg("%s", message);
    kd_cosim_options o = kd_cosim_options_of(c);
    o.t_end = 2.5;
    assert_int_equal(kd_cosim_set_options(c, &o, message, sizeof message), KD_OK);
    assert_int_equal(kd_cosim_start(c, message, sizeof message), KD_OK);
    for (int i = 0; i < 4; i++) start[i] = kd_cosim_read_value(c, split[i]);
    if (kd_cosim_advance(c, o.t_end, message, sizeof message) != KD_OK) fail_msg("%s", message);
    whole_truck(o.t_end, 4, whole, value);
    for (int i = 0; i < 4; i++) {
        const double moved = fabs(value[i] - start[i]), error = fabs(kd_cosim_read_value(c, split[i]) - value[i]);
        assert_true(moved > 1e-4);
        if (error > 10 * o.rtol * moved) fail_msg("%s: error %g, moved %g", split[i], error, moved);
    }
    kd_cosim_certify(c, &z);
    for (int i = 0; i < z.nchecks; i++)
        if (z.check[i].verdict == KD_CHECK_BAD) fail_msg("%s: %s", z.check[i].name, z.check[i].sentence);
    kd_cosim_destroy(c);
}

// ---- contracts ------------------------------------------------------------------------------------------------------

// One, two and all threads, and halves with many ways back: the same rows to the last bit.
static void same_bits_for_all_threads(void **state)
{
    (void)state;
    for (int control = 0; control < KD_COSIM_CONTROL_COUNT; control++) {
        kd_cosim *c[2];
        for (int i = 0; i < 2; i++) {
            kd_cosim_options o = options(0.2, 2e-3, 2);
            o.control = (kd_cosim_control)control, o.threads = i == 0 ? 1 : 2, o.rtol = 1e-3;
            c[i] = open_text(masses(MAP_FORCE_DISPLACEMENT, ""), &o);
            run_well(c[i]);
        }
        assert_int_equal(kd_cosim_rows(c[0]), kd_cosim_rows(c[1]));
        for (int row = 0; row < kd_cosim_rows(c[0]); row++)
            for (int k = 0; k < kd_cosim_channels(c[0]); k++)
                assert_true(kd_cosim_row_value(c[0], row, k) == kd_cosim_row_value(c[1], row, k));
        for (int i = 0; i < 2; i++) kd_cosim_destroy(c[i]);
    }
}

// A system that tells nobody anything is read for rows only; who asks behind a part of the run gets the values of that point, the same
// bits as with a row at every point and as in one thread.
static void silent_systems_are_read(void **state)
{
    (void)state;
    kd_cosim *c[3];
    char      message[1000];
    for (int i = 0; i < 3; i++) {
        kd_cosim_options o = options(0.2, 2e-3, 1);
        o.threads = i == 0 ? 1 : 2, o.intervals = i == 1 ? 0 : 1;
        c[i] = open_text("systems:\n  left: {model: mass.yaml}\n  right: {model: mass.yaml}\n"
                         "connections: {right.F: {from: left.x, factor: 10}}\n",
                         &o);
        assert_true(kd_cosim_start(c[i], message, sizeof message) >= 0);
        assert_true(kd_cosim_advance(c[i], 0.1, message, sizeof message) >= 0);
    }
    const double x = kd_cosim_read_value(c[0], "right.x"),
                 first = kd_cosim_row_value(c[0], 0, kd_cosim_find(c[0], "right.x"));
    assert_true(isfinite(x) && fabs(x - first) > 1e-6);
    for (int i = 1; i < 3; i++) assert_true(kd_cosim_read_value(c[i], "right.x") == x);
    for (int i = 0; i < 3; i++) kd_cosim_destroy(c[i]);
}

// What fails at the start of a system in a thread is told with its name
static void start_in_a_thread_fails(void **state)
{
    (void)state;
    char             message[1000];
    kd_cosim_options o = options(0.2, 2e-3, 1);
    o.threads = 2;
    kd_cosim *c = open_text("systems:\n  left: {model: mass.yaml}\n  right: {model: mass.yaml, run: {integrator: "
                            "dopri5, formulation: index3}}\n"
                            "connections: {right.F: {from: left.x, factor: 10}}\n",
                            &o);
    assert_true(kd_cosim_start(c, message, sizeof message) < 0);
    assert_non_null(strstr(message, "'right'"));
    kd_cosim_destroy(c);
}

// Two formulas that read each other: y = 1 + 0.5 z, z = 2 - 3 y has one solution, which is found at the start and kept.
static void algebraic_loop(void **state)
{
    (void)state;
    kd_cosim_options     o = options(0.01, 1e-3, 0);
    kd_cosim_certificate z;
    kd_cosim            *c = open_text(
                   "systems:\n  a: {inputs: {u: 1}, outputs: {y: 1 + 0.5*u}}\n  b: {inputs: {u: 1}, outputs: {z: 2 - 3*u}}\n"
                              "connections: {a.u: b.z, b.u: a.y}\n",
                   &o);
    run_well(c);
    kd_cosim_certify(c, &z);
    assert_true(fabs(kd_cosim_read_value(c, "a.y") - 0.8) < 1e-12);
    assert_true(fabs(kd_cosim_read_value(c, "b.z") + 0.4) < 1e-12);
    assert_true(z.loops > 0);
    kd_cosim_destroy(c);
}

// A ball that bounces beside a mass that its height pushes: impacts inside of macro steps end them, and the mass moves as with tiny steps.
static void events_are_met(void **state)
{
    (void)state;
    static const char TEXT[] =
        "systems:\n  ball: {model: ../impact-ball.yaml}\n  mass: {model: mass.yaml, set: {start: 0}}\n"
        "connections: {mass.F: {from: ball.body.ball.vel.z, factor: 1}}\n";
    double x[2];
    for (int i = 0; i < 2; i++) {
        kd_cosim_options     o = options(1.5, i == 0 ? 0.02 : 0.0005, 2);
        kd_cosim_certificate z;
        kd_cosim            *c = open_text(TEXT, &o);
        run_well(c);
        kd_cosim_certify(c, &z);
        if (i == 0) assert_true(z.events > 0);
        x[i] = kd_cosim_read_value(c, "mass.x");
        kd_cosim_destroy(c);
    }
    if (!(fabs(x[0] - x[1]) < 1e-4 && fabs(x[0]) > 1e-3)) fail_msg("%.9g, %.9g", x[0], x[1]);
}

// A system that cannot go back takes part in what does not need that, and is refused by name where it is needed.
static void systems_that_cannot_go_back(void **state)
{
    (void)state;
    static const char TEXT[] =
        "systems:\n  left: {model: mass.yaml, run: {integrator: cvode}}\n  right: {model: tied-mass.yaml}\n"
        "connections:\n  left.F: right.F\n  right.x: left.x\n  right.v: left.v\n";
    kd_cosim_options o = options(0.05, 1e-3, 1);
    char             message[1000];
    kd_cosim        *c = open_text(TEXT, &o);
    const kd_status  status = kd_cosim_run(c, message, sizeof message);
    kd_cosim_destroy(c);
    if (status == KD_ERR_UNAVAILABLE) skip();
    if (status != KD_OK) fail_msg("%s", message);
    o.master = KD_COSIM_ITERATION;
    c = open_text(TEXT, &o);
    assert_int_equal(kd_cosim_run(c, message, sizeof message), KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "system 'left' cannot go back"));
    kd_cosim_destroy(c);
}

// Units are converted, and refused where they do not fit.
static void units(void **state)
{
    (void)state;
    kd_cosim_options o = options(0.01, 1e-3, 0);
    kd_cosim        *c =
        open_text("systems:\n  a: {outputs: {y: {value: 5, unit: mm}}}\n  b: {inputs: {u: m}, outputs: {z: u}}\n"
                  "connections: {b.u: a.y}\n",
                  &o);
    run_well(c);
    assert_true(fabs(kd_cosim_read_value(c, "b.z") - 0.005) < 1e-17);
    kd_cosim_destroy(c);
}

// What is wrong is told with its line, and with what was probably meant.
static void wrong_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"sistems: {}\n", ":1:1: there is no key 'sistems'; did you mean 'systems'?"},
        {"systems:\n  a: {model: nowhere.yaml}\n", ":2:14: the model cannot be read"},
        {"systems:\n  left: {model: mass.yaml}\nconnections: {left.G: left.x}\n", "system 'left' has no input 'G'"},
        {"systems:\n  left: {model: mass.yaml}\nconnections: {left.F: lift.x}\n",
         "there is no system 'lift'; did you mean 'left'?"},
        {"systems:\n  left: {model: mass.yaml}\nconnections: {left.F: left.xx}\n", "system 'left' has no output 'xx'"},
        {"systems:\n  left: {model: mass.yaml, units: {F: N}}\nconnections: {left.F: left.x}\n",
         "the output is in m, the input 'left.F' in N"},
        {"systems:\n  left: {model: mass.yaml}\nmaster: {type: jakobi}\n",
         ":3:16: there is no master 'jakobi'; did you mean 'jacobi'?"},
        {"systems:\n  left: {model: mass.yaml}\nmaster: {degree: 3}\n", ":3:18: a whole number from 0 to 2"},
        {"systems:\n  left: {model: mass.yaml}\nmaster: {step: 5 kg}\n", ":3:16:"},
        {"systems:\n  a: {inputs: {u: m}, outputs: {y: 2*v}}\n", ":2:36:"},
        {"systems:\n  left: {model: mass.yaml}\nenergy: [[left.F, left.F]]\n", "nothing is connected"},
        {"systems:\n  left: {model: mass.yaml}\nmaster: {order: [left, left]}\n", ":3:17:"},
        {"systems:\n  left: {model: mass.yaml}\nrun: {t_end: -1}\n", "t_end is above 0"},
        {"systems:\n  left: 3\n", "a system has a model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kd_cosim *c;
        char      message[4000];
        assert_true(kd_cosim_read_text(FILE_NAME, cases[i].text, strlen(cases[i].text), &c, message, sizeof message) <
                    0);
        assert_null(c);
        if (!strstr(message, cases[i].says)) fail_msg("case %zu: %s", i, message);
    }
}

// Every allocation of reading, starting and stepping fails once: a status, no crash, nothing left.
static void failing_memory(void **state)
{
    (void)state;
    const char *text = masses(MAP_FORCE_DISPLACEMENT, ENERGY);
    kd_status   status = KD_ERR_MEMORY;
    for (long n = 1; status != KD_OK && n < 1000000; n += 1 + n / 20) {
        failing_allocator f = {.fail_at = n};
        kd_cosim         *c = NULL;
        char              message[1000];
        kd_cosim_options  o = options(2e-3, 1e-3, 1);
        failing_allocator_use(&f);
        status = kd_cosim_read_text(FILE_NAME, text, strlen(text), &c, message, sizeof message);
        if (status >= 0) status = kd_cosim_set_options(c, &o, message, sizeof message);
        if (status >= 0) status = kd_cosim_run(c, message, sizeof message);
        kd_cosim_destroy(c);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (f.calls < n) break;
    }
    assert_int_equal(status, KD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_stability),
        cmocka_unit_test(forces_of_the_end_are_stable),
        cmocka_unit_test(orders),
        cmocka_unit_test(tolerances),
        cmocka_unit_test(coupling_energy),
        cmocka_unit_test(truck_in_two),
        cmocka_unit_test(same_bits_for_all_threads),
        cmocka_unit_test(silent_systems_are_read),
        cmocka_unit_test(start_in_a_thread_fails),
        cmocka_unit_test(algebraic_loop),
        cmocka_unit_test(units),
        cmocka_unit_test(events_are_met),
        cmocka_unit_test(systems_that_cannot_go_back),
        cmocka_unit_test(wrong_files),
        cmocka_unit_test(failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
