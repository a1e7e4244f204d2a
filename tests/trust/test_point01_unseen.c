// Point 1 (a), (b), (c): what happens inside of a step is seen: pulses in time, bands and bumps in coordinates, gaps
// that close and open, by every method, at every tolerance, in both coordinate sets; and ordinary laws cost no steps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "case.h"
#include "expr/symbols.h"

static const double pi = 3.14159265358979323846;

typedef struct method {
    kd_coordinates     coordinates;
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} method;

static const method methods[] = {
    {KD_JOINT, KD_PSF, KD_RADAU},        {KD_CARTESIAN, KD_PSF, KD_RADAU},        {KD_CARTESIAN, KD_PSF1, KD_RADAU},
    {KD_JOINT, KD_GGL, KD_BDF},          {KD_CARTESIAN, KD_GGL, KD_BDF},          {KD_CARTESIAN, KD_ODASSL, KD_BDF},
    {KD_JOINT, KD_STATESPACE, KD_SDIRK}, {KD_CARTESIAN, KD_STATESPACE, KD_SDIRK}, {KD_JOINT, KD_ODE, KD_DOPRI5},
    {KD_CARTESIAN, KD_ODE, KD_DOPRI5},   {KD_JOINT, KD_ODE, KD_DOP853},           {KD_JOINT, KD_GGL, KD_RADAU},
};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct outcome {
    kd_status status;
    double    x, v; // of the cart
    long      accepted, retracted;
    double    lost; // by kinks and jumps, in tolerances
    char      message[1000];
} outcome;

// 1 kg on a rail along x, started with a velocity, under what `rest` adds
static outcome run(const char *curves, const char *rest, double v, double t_end, double tolerance, const method *m)
{
    static char text[20000];
    outcome     out = {.status = KD_OK};
    snprintf(text, sizeof text,
             "kardan: 1\n%s"
             "bodies: {cart: {mass: 1, inertia: [1, 1, 1]}}\n"
             "joints: {rail: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0], v: %.17g}}\n"
             "%s",
             curves, v, rest);
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_system_options     options = kd_system_options_default();
    kd_simulation_options opt = kd_simulation_options_default();
    kd_stats              stats = {0};
    kd_simulation        *simulation = NULL;
    options.coordinates = m->coordinates;
    opt.formulation = m->formulation;
    opt.integrator = m->integrator;
    opt.rtol = opt.atol = tolerance;
    out.status = kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &model, out.message, sizeof out.message);
    if (out.status >= 0) out.status = kd_system_create(model, &options, &system, out.message, sizeof out.message);
    if (out.status >= 0) out.status = kd_state_create(kd_system_eom(system), &x);
    if (out.status >= 0) out.status = kd_system_start(system, x, out.message, sizeof out.message);
    if (out.status >= 0)
        out.status = kd_simulation_create(kd_system_eom(system), kd_system_inputs(system), &opt, x, &simulation,
                                          out.message, sizeof out.message);
    if (out.status >= 0) {
        out.status = kd_simulation_run(simulation, t_end);
        snprintf(out.message, sizeof out.message, "%s", kd_simulation_message(simulation));
        stats = kd_simulation_stats(simulation);
        out.lost = kd_simulation_verification(simulation).lost;
    }
    if (x) out.x = x->p[0], out.v = x->v[0];
    out.accepted = stats.accepted;
    out.retracted = stats.retracted;
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return out;
}

static const char *words(const method *m, double tolerance, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s coordinates, formulation %d, %s, %.0e",
             m->coordinates == KD_JOINT ? "joint" : "cartesian", (int)m->formulation, kd_integrator_word(m->integrator),
             tolerance);
    return buffer;
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

enum { GAUSS, RECTANGLE, STEPS, SECH, LORENTZ, TENT, SPLINE, SHAPES };

// A bump of the variable `of` at c with the width w and the height A: text, a curve that it needs; its whole integral
static double shape(int kind, const char *of, double A, double c, double w, char *text, char *curves, size_t size)
{
    curves[0] = '\0';
    switch (kind) {
    case GAUSS:
        snprintf(text, size, "%.17g*exp(-((%s - %.17g)/%.17g)^2)", A, of, c, w);
        return A * w * sqrt(pi);
    case RECTANGLE:
        snprintf(text, size, "if(%s > %.17g and %s < %.17g, %.17g, 0)", of, c, of, c + w, A);
        return A * w;
    case STEPS:
        snprintf(text, size, "%.17g*(step(%s - %.17g) - step(%s - %.17g))", A, of, c, of, c + w);
        return A * w;
    case SECH:
        snprintf(text, size, "%.17g/cosh((%s - %.17g)/%.17g)^2", A, of, c, w);
        return 2.0 * A * w;
    case LORENTZ:
        snprintf(text, size, "%.17g/(1 + ((%s - %.17g)/%.17g)^2)^4", A, of, c, w);
        return 5.0 / 16.0 * pi * A * w;
    case TENT:
        snprintf(text, size, "%.17g*max(0, 1 - abs(%s - %.17g)/%.17g)", A, of, c, w);
        return A * w;
    default:
        snprintf(curves, size,
                 "curves: {bump: {form: linear, x: [-1e3, %.17g, %.17g, %.17g, 1e3], y: [0, 0, %.17g, 0, 0]}}\n", c - w,
                 c, c + w, A);
        snprintf(text, size, "bump(%s)", of);
        return A * w;
    }
}

// What a method may be away from the truth: far more than its tolerance, far less than the bump
static bool is_near(double value, double reference, double tolerance)
{
    return fabs(value - reference) <= 1000.0 * tolerance * (1.0 + fabs(reference));
}

// Pulses in time of 1e-4 .. 1e-1 of the run, alone and beside a law that is larger than they are.
static void pulses_in_time_are_seen(void **state)
{
    unsigned seed = test_seed(1);
    (void)state;
    for (int k = 0; k < 150; k++) {
        char         text[600], curves[600], rest[900], name[100];
        const double t_end = random_between(&seed, 1.0, 20.0);
        const double w = t_end * pow(10.0, random_between(&seed, -4.0, -1.3)),
                     c = random_between(&seed, 0.3, 0.7) * t_end;
        const double tolerance = pow(10.0, random_between(&seed, -9.0, -4.0)),
                     impulse = random_between(&seed, 0.8, 2.0);
        const method *m = &methods[k % METHODS];
        const double  whole = shape(k % SHAPES, "t", impulse / w, c, w, text, curves, sizeof text);
        const bool    beside = k % 3 == 0;
        snprintf(rest, sizeof rest, "forces: {f: {type: applied, body: cart, force: [\"%s%s\", null, null]}}\n", text,
                 beside ? " + 3*cos(2*t)" : "");
        const outcome out = run(curves, rest, 0.0, t_end, tolerance, m);
        const double  v = whole + (beside ? 1.5 * sin(2.0 * t_end) : 0.0);
        if (out.status < 0 || !is_near(out.v, v, fmax(tolerance, 1e-8)))
            fail_msg("%s of %.2e of the run (%s): %.9g instead of %.9g, %ld steps, status %d %s", text, w / t_end,
                     words(m, tolerance, name, sizeof name), out.v, v, out.accepted, out.status, out.message);
    }
}

// Pulses A (1 - u^2)^n that begin and end at breaks: bdf starts at their foot without a past, and a first step to their other
// foot finds no force at either end. Integrals over -1 < u < 1
static void pulses_between_breaks_are_seen_by_bdf(void **state)
{
    static const method forms[] = {
        {KD_JOINT, KD_ODE, KD_BDF},     {KD_CARTESIAN, KD_ODE, KD_BDF},        {KD_JOINT, KD_STATESPACE, KD_BDF},
        {KD_CARTESIAN, KD_GGL, KD_BDF}, {KD_CARTESIAN, KD_STATESPACE, KD_BDF}, {KD_CARTESIAN, KD_ODASSL, KD_BDF}};
    static const double integral[] = {16.0 / 15.0, 32.0 / 35.0, 256.0 / 315.0};
    unsigned            seed = test_seed(1);
    (void)state;
    for (int k = 0; k < 120; k++) {
        char         rest[900], law[400], name[100];
        const double t_end = random_between(&seed, 1.0, 20.0), c = random_between(&seed, 0.05, 0.7) * t_end;
        const double w = t_end * pow(10.0, random_between(&seed, -4.3, -2.0)), A = random_between(&seed, 0.1, 3.0) / w;
        const double v0 = k % 3 ? 0.0 : random_between(&seed, -1.0, 1.0);
        const double tolerance = pow(10.0, random_between(&seed, -7.0, -4.0));
        const int    n = k / 6 % 3;
        const bool   by_input = k % 4 == 0;
        snprintf(law, sizeof law, "%.17g*if(abs((t - %.17g)/%.17g) < 1, (1 - ((t - %.17g)/%.17g)^2)^%d, 0)", A, c, w, c,
                 w, n + 2);
        snprintf(rest, sizeof rest, "%s%s%sforces: {f: {type: applied, body: cart, force: [\"%s\", null, null]}}\n",
                 by_input ? "inputs: {push: {value: \"" : "", by_input ? law : "", by_input ? "\"}}\n" : "",
                 by_input ? "input.push" : law);
        const outcome out = run("", rest, v0, t_end, tolerance, &forms[k % 6]);
        const double  v = v0 + integral[n] * A * w;
        // what is left of a pulse is far less than its tenth
        if (out.status < 0 || !(fabs(out.v - v) <= 200.0 * tolerance * (1.0 + fabs(v))))
            fail_msg("run %d, %s of %.2e of the run (%s): %.9g instead of %.9g, %ld steps, status %d %s", k, law,
                     w / t_end, words(&forms[k % 6], tolerance, name, sizeof name), out.v, v, out.accepted, out.status,
                     out.message);
    }
}

// Bumps of a coordinate that the cart runs over: its kinetic energy changes by their integral.
static void bumps_in_coordinates_are_seen(void **state)
{
    unsigned seed = test_seed(2);
    (void)state;
    for (int k = 0; k < 150; k++) {
        char         text[600], curves[600], rest[900], name[100];
        const double v0 = random_between(&seed, 1.0, 3.0), c = random_between(&seed, 1.0, 2.0);
        const double w = pow(10.0, random_between(&seed, -3.0, -1.3)),
                     work = random_between(&seed, -0.3, 0.9) * v0 * v0 / 2;
        const double  tolerance = pow(10.0, random_between(&seed, -9.0, -4.0));
        const method *m = &methods[k % METHODS];
        const double  whole = shape(k % SHAPES, "joint.rail.q", work / w, c, w, text, curves, sizeof text);
        snprintf(rest, sizeof rest, "forces: {f: {type: applied, body: cart, force: [\"%s\", null, null]}}\n", text);
        if (v0 * v0 + 2.0 * whole < 0.2) continue; // it may turn back
        const double  v = sqrt(v0 * v0 + 2.0 * whole);
        const outcome out = run(curves, rest, v0, 4.0 / fmin(v0, v) + 1.0, tolerance, m);
        if (out.status < 0 || !is_near(out.v, v, fmax(tolerance, 1e-7)))
            fail_msg("%s (%s) at %.3g m/s: %.9g instead of %.9g, %ld steps, status %d %s", text,
                     words(m, tolerance, name, sizeof name), v0, out.v, v, out.accepted, out.status, out.message);
    }
}

// An elastic stop, from soft to hard: the cart goes back and forth between two of them and keeps its energy.
static void stops_are_met(void **state)
{
    unsigned seed = test_seed(3);
    (void)state;
    for (int k = 0; k < 60; k++) {
        char          rest[600], name[100];
        const double  stiffness = pow(10.0, random_between(&seed, 4.0, 12.0)), v0 = random_between(&seed, 0.5, 3.0);
        const double  tolerance = pow(10.0, random_between(&seed, -9.0, -5.0)), gap = random_between(&seed, 0.5, 2.0);
        const method *m = &methods[k % METHODS];
        snprintf(rest, sizeof rest,
                 "forces: {s: {type: joint_stop, joint: rail, lower: %.17g, upper: %.17g, stiffness: %.17g}}\n", -gap,
                 gap, stiffness);
        // free flight 2 gap / v0, contact half a period of the spring
        const double  contact = pi / sqrt(stiffness), flight = 2.0 * gap / v0;
        const double  t_end = 0.5 * flight + 3.0 * contact + 2.5 * flight; // behind the third stop, in the middle
        const outcome out = run("", rest, v0, t_end, tolerance, m);
        const bool    good =
            fabs(out.x) <= 1000.0 * tolerance * 10.0 + 1e-6 && is_near(out.v, -v0, tolerance * 10.0 + 1e-9);
        if (out.status < 0 || !good)
            fail_msg("stop of %.3g N/m (%s): x = %.9g instead of 0, v = %.9g instead of %.9g, %ld steps, status %d %s",
                     stiffness, words(m, tolerance, name, sizeof name), out.x, out.v, -v0, out.accepted, out.status,
                     out.message);
    }
}

// A cusp of a force in a coordinate is stepped to: what the cart gains is the work of the force, at all tolerances.
static void cusps_in_coordinates_are_met(void **state)
{
    unsigned seed = test_seed(5);
    (void)state;
    for (int k = 0; k < 120; k++) {
        char         rest[900], name[100];
        const double v = random_between(&seed, 0.5, 2.0), t_end = 4.0, w = pow(10.0, random_between(&seed, -2.5, -0.5));
        const double c = random_between(&seed, 0.3, 0.6) * v * t_end,
                     tolerance = pow(10.0, random_between(&seed, -9.0, -4.0));
        const double  A = random_between(&seed, 0.2, 2.0) * v * v / w;
        const method *m = &methods[k % METHODS];
        snprintf(
            rest, sizeof rest,
            "forces: {f: {type: applied, body: cart, force: [\"%.17g*exp(-abs(joint.rail.q - %.17g)/%.17g)\", null, "
            "null]}}\n",
            A, c, w);
        const outcome out = run("", rest, v, t_end, tolerance, m);
        const double  work = A * w * (2.0 - exp(-c / w) - exp(-fabs(out.x - c) / w)), right = sqrt(v * v + 2.0 * work);
        if (out.status < 0 || !(out.x > c) || !is_near(out.v, right, tolerance))
            fail_msg("cusp of width %.2g (%s): %.12g instead of %.12g, %ld steps, status %d %s", w,
                     words(m, tolerance, name, sizeof name), out.v, right, out.accepted, out.status, out.message);
    }
}

// Many jumps of a force in a coordinate: the energy is right, or what is lost at them is told and is more than a clean run
// may lose.
static void teeth_are_summed_up(void **state)
{
    unsigned seed = test_seed(6);
    (void)state;
    for (int k = 0; k < 60; k++) {
        char         rest[900], name[100];
        const double v = random_between(&seed, 0.5, 2.0), t_end = 2.0,
                     teeth = pow(10.0, random_between(&seed, 0.7, 2.2));
        const double  pitch = v * t_end / teeth, tolerance = pow(10.0, random_between(&seed, -8.0, -4.0));
        const double  A = random_between(&seed, 0.1, 1.0) * v * v / pitch;
        const method *m = &methods[k % METHODS];
        snprintf(rest, sizeof rest,
                 "forces: {f: {type: joint_spring, joint: rail, law: \"%.17g*(mod(q, %.17g)/%.17g - 0.5)\"}}\n", A,
                 pitch, pitch);
        const outcome out = run("", rest, v, t_end, tolerance, m);
        const double  u = out.x / pitch - floor(out.x / pitch), right = sqrt(v * v - A * pitch * u * (1.0 - u));
        if (out.status < 0 || (!is_near(out.v, right, tolerance) && !(out.lost > 300.0)))
            fail_msg("%.0f teeth (%s): %.12g instead of %.12g, lost %.3g, %ld steps, status %d %s", teeth,
                     words(m, tolerance, name, sizeof name), out.v, right, out.lost, out.accepted, out.status,
                     out.message);
    }
}

// Laws that methods follow well are left alone: no step is taken back.
static void ordinary_laws_cost_no_steps(void **state)
{
    static const char *const laws[] = {"100*sin(10*t)",
                                       "-40*joint.rail.q - 30*joint.rail.q^3",
                                       "-100*sin(3*joint.rail.q) - 0.1*joint.rail.v",
                                       "5*tanh(joint.rail.v) - 20*joint.rail.q",
                                       "20*exp(-t)*cos(15*t) - 3*joint.rail.q",
                                       "-30*joint.rail.q/(1 + joint.rail.q^2)",
                                       "10*sin(t^2)",
                                       "-20*joint.rail.q - joint.rail.v*abs(joint.rail.v)"};
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        for (int k = 0; k < METHODS; k++)
            for (double tolerance = 1e-4; tolerance > 1e-9; tolerance *= 1e-2) {
                char rest[600], name[100];
                snprintf(rest, sizeof rest, "forces: {f: {type: applied, body: cart, force: [\"%s\", null, null]}}\n",
                         laws[i]);
                const outcome out = run("", rest, 1.0, 5.0, tolerance, &methods[k]);
                if (out.status < 0 || out.retracted > 1 + out.accepted / 100)
                    fail_msg("%s (%s): %ld of %ld steps taken back, status %d %s", laws[i],
                             words(&methods[k], tolerance, name, sizeof name), out.retracted, out.accepted, out.status,
                             out.message);
            }
}

// Methods with a memory start again behind each of many jumps, however short the step was that passed it, and lose little
// there: square teeth, whose motion is made of parabolas, all alike. Going on with the past of before costs up to 500
// tolerances here: steps of order 1, of which each takes a little energy.
static void many_jumps_cost_bdf_little(void **state)
{
    static const method with_memory[] = {
        {KD_JOINT, KD_ODE, KD_BDF}, {KD_CARTESIAN, KD_GGL, KD_BDF}, {KD_JOINT, KD_ODASSL, KD_BDF}};
    unsigned seed = test_seed(8);
    (void)state;
    for (int k = 0; k < 12; k++) {
        char          rest[900], name[100];
        const double  v = random_between(&seed, 0.5, 2.0), t_end = 2.0, teeth = random_between(&seed, 60.0, 120.0);
        const double  pitch = v * t_end / teeth, A = random_between(&seed, 0.3, 1.0) * v * v / pitch;
        const double  tolerance = pow(10.0, random_between(&seed, -7.0, -4.5));
        const method *m = &with_memory[k % 3];
        snprintf(rest, sizeof rest,
                 "forces: {f: {type: joint_spring, joint: rail, law: \"%.17g*if(mod(q, %.17g) < %.17g, 1, -1)\"}}\n", A,
                 pitch, 0.5 * pitch);
        const outcome out = run("", rest, v, t_end, tolerance, m);
        const double  half = (sqrt(v * v + A * pitch) - v) / A, passed = floor(t_end / (2.0 * half));
        const double  left = t_end - 2.0 * half * passed, to = 2.0 * half - left;
        const double  way = left < half ? v * left + 0.5 * A * left * left : pitch - (v * to + 0.5 * A * to * to);
        const double  right = pitch * passed + way, error = fabs(out.x - right) / (tolerance * (1.0 + fabs(right)));
        if (out.status < 0 || !(error <= fmax(100.0, out.lost))) // or what it says itself
            fail_msg("%.0f teeth (%s): %.3g tolerances off, lost %.3g, %ld steps, status %d %s", teeth,
                     words(m, tolerance, name, sizeof name), error, out.lost, out.accepted, out.status, out.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pulses_in_time_are_seen),       cmocka_unit_test(pulses_between_breaks_are_seen_by_bdf),
        cmocka_unit_test(bumps_in_coordinates_are_seen), cmocka_unit_test(stops_are_met),
        cmocka_unit_test(cusps_in_coordinates_are_met),  cmocka_unit_test(teeth_are_summed_up),
        cmocka_unit_test(many_jumps_cost_bdf_little),    cmocka_unit_test(ordinary_laws_cost_no_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
