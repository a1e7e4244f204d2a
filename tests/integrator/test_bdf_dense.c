// Dense output of bdf between steps lies on the constraints in the forms that hold them, in joint and Cartesian
// coordinates, and is as accurate as the steps.
#include "eom/systems.h" // cmocka
#include <kardan/kardan.h>

#include <stdio.h>
#include <string.h>

enum { TIMES = 150 };

// A crank and a slider on two axes in space, with a rod of given length between them
static const char linkage[] =
    "kardan: 1\n"
    "parameters: {m: 1, k: 30}\n"
    "gravity: [0, -9.81, 0]\n"
    "bodies:\n"
    "  crank: {mass: m, inertia: [0.02, 0.03, 0.02], position: [0.25, 0, 0]}\n"
    "  slider: {mass: 1.5, inertia: [0.01, 0.01, 0.01], position: [1.1, 0, 0.3]}\n"
    "joints:\n"
    "  pin: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], v: 2}\n"
    "  rail: {type: prismatic, bodies: [ground, slider], point: [1.1, 0, 0.3], axis: [1, 0, 0]}\n"
    "constraints:\n"
    "  rod: {type: distance, from: {body: crank, point: [0.25, 0, 0]}, to: slider}\n"
    "forces:\n"
    "  spring: {type: joint_spring, joint: rail, stiffness: k}\n";

typedef struct watch {
    const kd_eom *eom;
    double        position, velocity;
    int           seen;
    double        x[TIMES]; // a coordinate at the wanted times
} watch;

static kd_eval watch_times(const kd_state *x, bool at_time, void *context)
{
    watch         *w = context;
    kd_consistency c;
    if (!at_time || w->seen == TIMES) return KD_EVAL_OK;
    assert_true(kd_initial_residuals(w->eom, NULL, x, &c) >= 0);
    w->position = fmax(w->position, c.position);
    w->velocity = fmax(w->velocity, c.velocity);
    w->x[w->seen++] = x->p[0];
    return KD_EVAL_OK;
}

typedef struct method {
    kd_formulation     form;
    kd_projection      projection;
    kd_integrator_kind integrator;
    double             tolerance;
} method;

static watch run(kd_coordinates coordinates, double mass, double stiffness, const method *m)
{
    char              message[600], text[2][40];
    kd_setting        setting[] = {{"m", text[0]}, {"k", text[1]}};
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    double            times[TIMES];
    kd_system_options so = kd_system_options_default();
    so.coordinates = coordinates;
    snprintf(text[0], sizeof text[0], "%.17g", mass);
    snprintf(text[1], sizeof text[1], "%.17g", stiffness);
    kd_status status =
        kd_model_read_text("linkage", linkage, strlen(linkage), setting, 2, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, &so, &system, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    status = kd_system_start(system, x, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    for (int i = 0; i < TIMES; i++) times[i] = 0.5 * (i + 1.0 / 3) / TIMES;
    watch                 w = {.eom = kd_system_eom(system)};
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = m->form;
    opt.integrator = m->integrator;
    opt.formulation_options.projection = m->projection;
    opt.rtol = opt.atol = m->tolerance;
    opt.times = times;
    opt.ntimes = TIMES;
    opt.output = watch_times;
    opt.context = &w;
    status = kd_simulate(w.eom, NULL, &opt, x, 0.5, NULL, message, sizeof message);
    if (status < 0) fail_msg("form %d: %s", m->form, message);
    assert_int_equal(w.seen, TIMES);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return w;
}

static void on_the_constraints(void **state)
{
    (void)state;
    static const method methods[] = {
        {KD_GGL, KD_PROJECT_AUTO, KD_BDF, 1e-6},      {KD_ODASSL, KD_PROJECT_AUTO, KD_BDF, 1e-6},
        {KD_PSF, KD_PROJECT_AUTO, KD_BDF, 1e-6},      {KD_PSF1, KD_PROJECT_AUTO, KD_BDF, 1e-6},
        {KD_INDEX2, KD_PROJECT_ALWAYS, KD_BDF, 1e-6}, {KD_INDEX1, KD_PROJECT_ALWAYS, KD_BDF, 1e-6},
        {KD_ODE, KD_PROJECT_ALWAYS, KD_BDF, 1e-6},
    };
    const double mass[] = {1, 0.3, 40}, stiffness[] = {30, 400, 5};
    for (int c = 0; c < 2; c++) {
        kd_coordinates coordinates = c ? KD_CARTESIAN : KD_JOINT;
        for (int k = 0; k < 3; k++) {
            const method reference = {KD_PSF, KD_PROJECT_AUTO, KD_RADAU, 1e-10};
            watch        right = run(coordinates, mass[k], stiffness[k], &reference);
            for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
                watch  w = run(coordinates, mass[k], stiffness[k], &methods[i]);
                double error = 0;
                for (int j = 0; j < TIMES; j++) error = fmax(error, fabs(w.x[j] - right.x[j]));
                if (w.position > 1e-11 || w.velocity > 1e-10 || error > 1e-3)
                    fail_msg("coordinates %d, form %d: |g| = %.1e, |gI| = %.1e, error %.1e", c, methods[i].form,
                             w.position, w.velocity, error);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_the_constraints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
