// Point 3: sizes. Models whose lengths and masses grow by the same power of two are the same models: the same ranks,
// redundant rows and degrees of freedom, the same steps, the same angles.
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
#include "trust/scaled_motion.h"

// Factors l of lengths, m of masses, T of times: forces grow by l m, torques by l^2 m; times stay where T is not given.
static const char four_bar[] =
    "kardan: 1\n"
    "parameters: {l: 1, m: 1, T: 1, a: 0.1*l, b: 0.35*l, c: 0.25*l, d: 0.3*l, w: 0.02*l, rho: 7800*m/l^3,\n"
    "  s: d - a, cx: a + (b^2 - c^2 + s^2)/(2*s), cy: \"sqrt(b^2 - (cx - a)^2)\"}\n"
    "gravity: [0, -9.81*l/T^2, 0]\n"
    "bodies:\n"
    "  crank: {position: [a/2, 0, 0], shape: {box: [a, w, w], density: rho}}\n"
    "  coupler: {position: [(a + cx)/2, cy/2, 0], orientation: {axis: [0, 0, 1], angle: \"atan2(cy, cx - a)\"},\n"
    "    shape: {box: [b, w, w], density: rho}}\n"
    "  rocker: {position: [(d + cx)/2, cy/2, 0], orientation: {axis: [0, 0, 1], angle: \"atan2(cy, cx - d)\"},\n"
    "    shape: {box: [c, w, w], density: rho}}\n"
    "joints:\n"
    "  motor: {type: revolute, from: ground, to: {body: crank, point: [-a/2, 0, 0]}, v: 3/T}\n"
    "  crank-pin: {type: revolute, bodies: [crank, coupler], point: [a, 0, 0], axis: [0, 0, 1]}\n"
    "  rocker-pin: {type: revolute, bodies: [coupler, rocker], point: [cx, cy, 0], axis: [0, 0, 1], cut: yes}\n"
    "  pivot: {type: revolute, from: {body: ground, point: [d, 0, 0]}, to: {body: rocker, point: [-c/2, 0, 0]}}\n"
    "forces:\n"
    "  spring: {type: joint_spring, joint: pivot, stiffness: 0.3*m*l^2/T^2}\n"
    "sensors:\n  x: {value: joint.motor.q}\n  y: {value: joint.pivot.q}\n";

static const char parallelogram[] =
    "kardan: 1\n"
    "parameters: {l: 1, m: 1, phi: 1.8, I: m*l^2/12}\n"
    "gravity: [0, -9.81*l, 0]\n"
    "bodies:\n"
    "  rod1: {position: [l*cos(phi)/2, l*sin(phi)/2, 0], orientation: {axis: [0, 0, 1], angle: phi}, mass: m,\n"
    "    inertia: [1e-3*m*l^2, I, I]}\n"
    "  coupler: {position: [l*cos(phi) + l/2, l*sin(phi), 0], mass: m, inertia: [1e-3*m*l^2, I, I]}\n"
    "  rod3: {position: [l + l*cos(phi)/2, l*sin(phi)/2, 0], orientation: {axis: [0, 0, 1], angle: phi}, mass: m,\n"
    "    inertia: [1e-3*m*l^2, I, I]}\n"
    "joints:\n"
    "  A: {type: revolute, from: ground, to: {body: rod1, point: [-l/2, 0, 0]}}\n"
    "  B: {type: revolute, bodies: [rod1, coupler], point: [l*cos(phi), l*sin(phi), 0], axis: [0, 0, 1]}\n"
    "  C: {type: revolute, bodies: [coupler, rod3], point: [l + l*cos(phi), l*sin(phi), 0], axis: [0, 0, 1]}\n"
    "  D: {type: revolute, from: {body: ground, point: [l, 0, 0]}, to: {body: rod3, point: [-l/2, 0, 0]}}\n"
    "forces:\n"
    "  diagonal: {type: tsda, from: ground, to: {body: rod3, point: [l/2, 0, 0]}, stiffness: 25*m, damping: m,\n"
    "    length: l*sqrt(2)}\n"
    "sensors:\n  x: {value: joint.A.q}\n  y: {value: joint.D.q}\n";

static const char chain[] = "kardan: 1\n"
                            "parameters: {l: 1, m: 1, I: m*l^2/12}\n"
                            "gravity: [0, 0, -9.81*l]\n"
                            "bodies:\n"
                            "  one: {position: [l/2, 0, 0], mass: m, inertia: [I/9, I, I]}\n"
                            "  two: {position: [3*l/2, 0, 0], mass: m, inertia: [I/9, I, I]}\n"
                            "joints:\n"
                            "  j1: {type: universal, from: ground, to: {body: one, point: [-l/2, 0, 0]}}\n"
                            "  j2: {type: revolute, bodies: [one, two], point: [l, 0, 0], axis: [0, 1, 0], v: 1}\n"
                            "forces:\n"
                            "  spring: {type: joint_spring, joint: j2, stiffness: 4*m*l^2, damping: 0.2*m*l^2}\n"
                            "sensors:\n  x: {value: joint.j1.q1}\n  y: {value: joint.j2.q}\n";

typedef struct outcome {
    kd_status status;
    int       dof, redundant, constraints;
    long      steps, rejected;
    double    y[2];
    char      message[600];
} outcome;

static unsigned long long seed = 3;

static int exponent(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((seed >> 33) % 41) - 20;
}

static void read_sensors(const kd_eom *eom, const kd_state *x, double *y)
{
    kd_eom_data *d;
    assert_int_equal(kd_eom_data_create(eom, &d), KD_OK);
    kd_eom_at_time(d, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(d);
}

static outcome run(const char *text, int l, int m, kd_coordinates coordinates, kd_formulation form,
                   kd_integrator_kind integrator)
{
    outcome           out = {0};
    char              value[2][40];
    kd_setting        setting[2] = {{"l", value[0]}, {"m", value[1]}};
    kd_model         *model;
    kd_system        *system = NULL;
    kd_state         *x;
    kd_stats          stats;
    kd_system_options so = kd_system_options_default();
    snprintf(value[0], sizeof value[0], "%.17g", ldexp(1, l));
    snprintf(value[1], sizeof value[1], "%.17g", ldexp(1, m));
    if (kd_model_read_text("model", text, strlen(text), setting, 2, &model, out.message, sizeof out.message) < 0)
        fail_msg("%s", out.message);
    so.coordinates = coordinates;
    assert_true(kd_system_create(model, &so, &system, out.message, sizeof out.message) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    out.status = kd_system_start(system, x, out.message, sizeof out.message);
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = form;
    o.integrator = integrator;
    o.formulation_options.constraints = KD_DECOMPOSE_SVD;
    o.rtol = 1e-7;
    o.atol = coordinates == KD_JOINT ? 1e-7 : 1e-7 * fmin(1, ldexp(1, l));
    if (out.status >= 0)
        out.status = kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, 0.5, &stats, out.message,
                                 sizeof out.message);
    kd_system_info info = kd_system_info_of(system);
    out.dof = info.dof;
    out.constraints = info.nconstraints;
    out.steps = out.status >= 0 ? stats.accepted : 0;
    out.rejected = out.status >= 0 ? stats.rejected_error + stats.rejected_newton : 0;
    if (out.status >= 0) read_sensors(kd_system_eom(system), x, out.y);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return out;
}

static const char *const models[] = {four_bar, parallelogram, chain};
static const char *const names[] = {"four-bar", "parallelogram", "chain"};
enum { MODELS = 3, TRIALS = 4 };

// counted: multipliers take part in the test of convergence, beside the one absolute tolerance: steps may differ
static const struct {
    kd_formulation     form;
    kd_integrator_kind integrator;
    bool               counted;
} method[] = {{KD_PSF, KD_RADAU, false},        {KD_GGL, KD_BDF, true},      {KD_ODE, KD_DOPRI5, false},
              {KD_ODE, KD_DOP853, false},       {KD_ODE, KD_RADAU, false},   {KD_STATESPACE, KD_RADAU, false},
              {KD_STATESPACE, KD_SDIRK, false}, {KD_INDEX2, KD_RADAU, true}, {KD_PSF1, KD_SDIRK, true}};
enum { METHODS = (int)(sizeof method / sizeof *method) };

// Angles alone: nothing but the size differs, so not even a step may.
static void joint_coordinates_step_alike(void **state)
{
    (void)state;
    for (int k = 0; k < MODELS; k++)
        for (int i = 0; i < METHODS; i++) {
            outcome one = run(models[k], 0, 0, KD_JOINT, method[i].form, method[i].integrator);
            assert_true(one.status >= 0);
            for (int trial = 0; trial < TRIALS; trial++) {
                int     l = exponent(), m = exponent();
                outcome two = run(models[k], l, m, KD_JOINT, method[i].form, method[i].integrator);
                if (two.status != one.status || two.dof != one.dof || two.constraints != one.constraints)
                    fail_msg("%s 2^%d m 2^%d kg: status %d, %d degrees of freedom, not %d, %d: %s", names[k], l, m,
                             (int)two.status, two.dof, (int)one.status, one.dof, two.message);
                if (!method[i].counted && (two.steps != one.steps || two.rejected != one.rejected))
                    fail_msg("%s %s 2^%d m 2^%d kg: %ld + %ld steps, not %ld + %ld", names[k],
                             kd_formulation_word(method[i].form), l, m, two.steps, two.rejected, one.steps,
                             one.rejected);
                for (int j = 0; j < 2; j++)
                    if (fabs(two.y[j] - one.y[j]) > (method[i].counted ? 1e-4 : 1e-9))
                        fail_msg("%s %s: %.15g, not %.15g", names[k], kd_formulation_word(method[i].form), two.y[j],
                                 one.y[j]);
            }
        }
}

// One absolute tolerance for lengths and angles: steps differ, decisions and digits do not.
static void cartesian_coordinates_decide_alike(void **state)
{
    (void)state;
    for (int k = 0; k < MODELS; k++)
        for (int i = 0; i < METHODS; i++) {
            outcome one = run(models[k], 0, 0, KD_CARTESIAN, method[i].form, method[i].integrator);
            assert_true(one.status >= 0);
            int     l = exponent() / 2, m = exponent();
            outcome two = run(models[k], l, m, KD_CARTESIAN, method[i].form, method[i].integrator);
            if (two.status < 0 || two.dof != one.dof || two.constraints != one.constraints)
                fail_msg("%s %s 2^%d m 2^%d kg: status %d, %d degrees of freedom, not %d: %s", names[k],
                         kd_formulation_word(method[i].form), l, m, (int)two.status, two.dof, one.dof, two.message);
            for (int j = 0; j < 2; j++)
                if (fabs(two.y[j] - one.y[j]) > 1e-4)
                    fail_msg("%s %s: %.15g, not %.15g", names[k], kd_formulation_word(method[i].form), two.y[j],
                             one.y[j]);
        }
}

// Steel four-bars from 0.35 um to 350 km, sizes that are no powers of two
static void every_size_starts(void **state)
{
    (void)state;
    char      message[600];
    kd_model *model;
    for (double size = 1e-6; size < 2e6; size *= 3.7)
        for (int c = 0; c < 2; c++) {
            char              l[40], m[40];
            kd_setting        setting[2] = {{"l", l}, {"m", m}};
            kd_system        *system;
            kd_state         *x;
            kd_system_options so = kd_system_options_default();
            so.coordinates = c ? KD_CARTESIAN : KD_JOINT;
            snprintf(l, sizeof l, "%.17g", size);
            snprintf(m, sizeof m, "%.17g", size * size * size);
            assert_true(kd_model_read_text("model", four_bar, strlen(four_bar), setting, 2, &model, message,
                                           sizeof message) >= 0);
            assert_true(kd_system_create(model, &so, &system, message, sizeof message) >= 0);
            assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
            kd_status status = kd_system_start(system, x, message, sizeof message);
            if (status < 0) fail_msg("%g: %s", size, message);
            assert_int_equal(kd_system_info_of(system).dof, 1);
            kd_state_destroy(x);
            kd_system_destroy(system);
            kd_model_destroy(model);
        }
}

// ---- models of the gallery ------------------------------------------------------------------------------------------

// Those without laws, tables, inputs and states of their own: every number has a unit
static const char *const gallery[] = {"pendulum",
                                      "double-pendulum",
                                      "four-bar",
                                      "four-bar-spring",
                                      "heavy-top",
                                      "trammel",
                                      "n-four-bar",
                                      "cardan-shaft",
                                      "ladder",
                                      "spatial-slider-crank",
                                      "stiff-double-pendulum"};
enum { GALLERY = (int)(sizeof gallery / sizeof *gallery) };

static void gallery_models_step_alike(void **state)
{
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
    } way[] = {{KD_PSF, KD_RADAU}, {KD_ODE, KD_DOPRI5},   {KD_ODE, KD_DOP853},
               {KD_ODE, KD_RADAU}, {KD_INDEX2, KD_RADAU}, {KD_INDEX1, KD_RADAU},
               {KD_GGL, KD_RADAU}, {KD_ODASSL, KD_RADAU}, {KD_STATESPACE, KD_RADAU}};
    enum { WAYS = (int)(sizeof way / sizeof *way) };
    (void)state;
    for (int k = 0; k < GALLERY; k++) {
        kd_model *source = read_gallery(gallery[k]);
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < WAYS; i++) {
                char          what[100];
                const scaling none = {0, 0, 0}, s = {exponent(), exponent(), exponent()};
                const motion  one = move(source, none, (kd_coordinates)c, way[i].form, way[i].integrator, 0.05);
                const motion  two = move(source, s, (kd_coordinates)c, way[i].form, way[i].integrator, 0.05);
                snprintf(what, sizeof what, "%s %s %s 2^(%d %d %d)", gallery[k], c ? "cartesian" : "joint",
                         kd_formulation_word(way[i].form), s.length, s.mass, s.time);
                assert_alike(what, &one, &two);
            }
        kd_model_destroy(source);
    }
}

// ---- steel, on earth ------------------------------------------------------------------------------------------------

// Steel four-bars of size l that swing under 9.81 m/s^2: times grow by sqrt(l), masses by l^3, springs by l^4. No
// number is a power of two of another size's: they differ by rounding.
static motion swing(double l, kd_coordinates coordinates, kd_formulation form, kd_integrator_kind integrator)
{
    char             value[3][40];
    const kd_setting setting[3] = {{"l", value[0]}, {"m", value[1]}, {"T", value[2]}};
    char             message[400] = "";
    kd_model        *model;
    snprintf(value[0], sizeof value[0], "%.17g", l);
    snprintf(value[1], sizeof value[1], "%.17g", l * l * l);
    snprintf(value[2], sizeof value[2], "%.17g", sqrt(l));
    if (kd_model_read_text("model", four_bar, strlen(four_bar), setting, 3, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    return move_to_state(model, coordinates, form, integrator, 0.5 * sqrt(l));
}

// Every size decides alike. With one-step methods it also steps alike; bdf, and sdirk with its many rejections, turn
// rounding into other steps at times.
static void steel_of_any_size_steps_alike(void **state)
{
    static const double size[] = {1e7, 3e-3, 1e-3, 1e-4, 2.3e-6};
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
        bool               alike;
    } way[] = {{KD_PSF, KD_RADAU, true},    {KD_PSF, KD_SDIRK, false},       {KD_PSF1, KD_RADAU, true},
               {KD_GGL, KD_RADAU, true},    {KD_GGL, KD_BDF, false},         {KD_ODASSL, KD_RADAU, true},
               {KD_ODASSL, KD_BDF, false},  {KD_INDEX1, KD_RADAU, true},     {KD_INDEX2, KD_RADAU, true},
               {KD_INDEX3, KD_RADAU, true}, {KD_INDEX3, KD_BDF, false},      {KD_ODE, KD_DOPRI5, true},
               {KD_ODE, KD_DOP853, true},   {KD_STATESPACE, KD_RADAU, true}, {KD_STATESPACE, KD_SDIRK, true}};
    enum { SIZES = (int)(sizeof size / sizeof *size), WAYS = (int)(sizeof way / sizeof *way) };
    (void)state;
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < WAYS; i++) {
            const motion one = swing(1, (kd_coordinates)c, way[i].form, way[i].integrator);
            if (one.status < 0) fail_msg("%s: %s", kd_formulation_word(way[i].form), one.message);
            for (int k = 0; k < SIZES; k++) {
                const motion two = swing(size[k], (kd_coordinates)c, way[i].form, way[i].integrator);
                const double error = distance(&one, &two);
                char         what[120];
                snprintf(what, sizeof what, "%g m, %s %s %s", size[k], c ? "cartesian" : "joint",
                         kd_formulation_word(way[i].form), kd_integrator_word(way[i].integrator));
                assert_same_decisions(what, &one, &two);
                // factors that are no powers of two round otherwise, which may decide on a single rejection
                if (way[i].alike && (labs(one.steps - two.steps) > 2 || labs(one.rejected - two.rejected) > 4))
                    fail_msg("%s: %ld + %ld steps, not %ld + %ld", what, two.steps, two.rejected, one.steps,
                             one.rejected);
                const bool   same = one.steps == two.steps && one.rejected == two.rejected;
                const double limit = !way[i].alike ? 1e-3 : same ? 1e-9 : 1e-7;
                if (!(error <= limit)) fail_msg("%s: error %g", what, error);
            }
        }
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint_coordinates_step_alike),
        cmocka_unit_test(cartesian_coordinates_decide_alike),
        cmocka_unit_test(every_size_starts),
        cmocka_unit_test(gallery_models_step_alike),
        cmocka_unit_test(steel_of_any_size_steps_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
