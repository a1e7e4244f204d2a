// Materials: numbers under one name, which shapes, bodies and contacts take over; in includes, subsystems and what is written.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "modelfile/subject.h"

static const double PI = 3.14159265358979323846;

static double mass_of(const kd_model *m, const char *body)
{
    const int i = kd_model_find(m, KD_SECTION_BODY, body);
    assert_true(i >= 0);
    return m->body[i].def.mass;
}

static void assert_about(const char *what, double right, double value, double tolerance)
{
    if (!(fabs(value - right) <= tolerance * fabs(right))) fail_msg("%s is %.17g, not %.17g", what, value, right);
}

// Shapes have their own material, that of the body, or a density; with units and in the short form.
static void masses_are_those_of_the_volumes(void **state)
{
    static const char text[] =
        "kardan: 1\nparameters: {rho: 7850}\n"
        "materials: {steel: {density: rho, E: 210 GPa, nu: 0.3}, lead: {density: 11.3 g/cm^3}, oak: 700}\n"
        "bodies:\n"
        "  mixed: {position: [1, 0, 0], material: steel, shape: [{box: [0.1, 0.2, 0.3]}, {sphere: 0.1, material: "
        "lead},\n"
        "      {cylinder: [0.2, 0.5], density: 1000}]}\n"
        "  ball(i): {for: i = 1..3, position: [i, 0, 1], shape: {sphere: 0.1*i, material: oak}}\n"
        "joints: {a: {type: fixed, bodies: [ground, mixed], point: [0, 0, 0]},\n"
        "  b(i): {for: i = 1..3, type: fixed, bodies: [ground, ball(i)], point: [0, 0, 0]}}\n";
    (void)state;
    for (int k = 0; k < 3; k++) {
        char         number[40];
        const double rho[] = {7850, 7700, 123.5};
        kd_setting   setting = {"rho", number};
        snprintf(number, sizeof number, "%.17g", rho[k]);
        kd_model *m = model_of_settings(text, &setting, k > 0);
        assert_about("mixed", rho[k] * 0.006 + 11300 * 4.0 / 3.0 * PI * 1e-3 + 1000 * PI * 0.04 * 0.5,
                     mass_of(m, "mixed"), 1e-14);
        assert_about("ball(3)", 700 * 4.0 / 3.0 * PI * 0.027, mass_of(m, "ball(3)"), 1e-14);
        kd_model_destroy(m);
    }
}

// The same accelerations at random states, from one model to the other
static void assert_same_motion(kd_model *first, kd_model *second)
{
    subject a = subject_of(first, KD_JOINT), b = subject_of(second, KD_JOINT);
    random_word = 5;
    for (int trial = 0; trial < 5; trial++) {
        set_random_state(&a, &b);
        assert_true(evaluate(&a) && evaluate(&b));
        for (int i = 0; i < a.n.nv; i++)
            if (!(fabs(a.x->a[i] - b.x->a[i]) <= 1e-12 * (1.0 + fabs(a.x->a[i]))))
                fail_msg("acceleration %d: %.17g and %.17g", i, a.x->a[i], b.x->a[i]);
    }
    subject_release(&a);
    subject_release(&b);
}

#define PENDULUM                                                                                                       \
    "  arm:\n    parameters: {rho: 2700, l: 0.4}\n    materials: {stuff: {density: rho}, end: 7850}\n"                 \
    "    bodies: {rod: {position: [l/2, 0, 0], material: stuff, shape: [{box: [l, 0.02, 0.03]},\n"                     \
    "        {sphere: 0.05, position: [l/2, 0.01, 0], material: end}]}}\n"                                             \
    "    joints: {pin: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0.1, 1, 0]}}\n"                \
    "    forces: {spring: {type: joint_spring, joint: pin, stiffness: 3}}\n"

// A density of parameters lives: changed without reading again, in a mirrored instance, too.
static void densities_live(void **state)
{
    static const char text[] =
        "kardan: 1\nparameters: {heavy: 3000}\ndefinitions:\n" PENDULUM
        "subsystems:\n  left: {of: arm, parameters: {rho: heavy}}\n"
        "  right: {of: arm, parameters: {rho: heavy/2}, mirror: [0, 1, 0], position: [1, 0, 0]}\n";
    const kd_setting setting = {"heavy", "4321"};
    char             message[1000];
    const double     theta[] = {4321};
    (void)state;
    subject a = subject_of(model_of(text), KD_JOINT), b = subject_of(model_of_settings(text, &setting, 1), KD_JOINT);
    double *all = malloc((size_t)kd_model_parameters(a.model, NULL, 0) * sizeof *all);
    assert_non_null(all);
    memcpy(all, kd_system_parameters(a.system), (size_t)kd_model_parameters(a.model, NULL, 0) * sizeof *all);
    all[kd_model_parameter_index(a.model, "heavy")] = theta[0];
    random_word = 9;
    set_random_state(&a, &b);
    assert_true(evaluate(&a) && evaluate(&b));
    assert_true(fabs(a.x->a[0] - b.x->a[0]) > 1e-3); // before, or nothing is shown
    if (kd_system_set_parameters(a.system, all, message, sizeof message) < 0) fail_msg("%s", message);
    assert_true(evaluate(&a) && evaluate(&b));
    for (int i = 0; i < a.n.nv; i++) assert_about("acceleration", b.x->a[i], a.x->a[i], 1e-13);
    free(all);
    subject_release(&a);
    subject_release(&b);
}

// An instance puts another material in place of one of its file.
static void instances_replace_materials(void **state)
{
    static const char text[] = "kardan: 1\ndefinitions:\n" PENDULUM
                               "subsystems:\n  a: {of: arm}\n  b: {of: arm, replace: {end: {density: 1000}}}\n";
    (void)state;
    kd_model    *m = model_of(text);
    const double rod = 2700 * 0.4 * 0.02 * 0.03, ball = 4.0 / 3.0 * PI * 0.05 * 0.05 * 0.05;
    assert_about("a", rod + 7850 * ball, mass_of(m, "a.rod"), 1e-14);
    assert_about("b", rod + 1000 * ball, mass_of(m, "b.rod"), 1e-14);
    kd_model_destroy(m);
}

// What is written keeps the materials, with subsystems and without; dissolved it has their numbers.
static void written_models_keep_them(void **state)
{
    static const char *const text[] = {
        "kardan: 1\nparameters: {rho: 2700}\nexpressions: {pull: 2*sin(3*t)}\n"
        "materials: {stuff: {density: rho, E: 70 GPa, nu: 0.33}, unused: 1}\n"
        "bodies: {rod: {position: [0.2, 0, 0], shape: {box: [0.4, 0.02, 0.03], material: stuff}}}\n"
        "joints: {pin: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0.1, 1, 0]}}\n"
        "forces: {motor: {type: joint_spring, joint: pin, rest: 0, law: pull}}\n",
        "kardan: 1\ndefinitions:\n" PENDULUM "subsystems: {a: {of: arm, parameters: {rho: 1234}}}\n",
    };
    char message[1000], *content;
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int flat = 0; flat < 2; flat++) {
            const char *const path = KD_BINARY_DIR "/test-material.yaml";
            kd_model         *m = model_of(text[k]), *again = NULL;
            const kd_status   status = flat ? kd_model_write_flat(m, path, message, sizeof message)
                                            : kd_model_write(m, path, message, sizeof message);
            if (status < 0) fail_msg("%s", message);
            if (kd_model_read(path, NULL, 0, &again, message, sizeof message) < 0) fail_msg("%s", message);
            content = file_content(path, NULL);
            assert_true((strstr(content, "material: stuff") != NULL) == !flat);
            assert_true((strstr(content, "materials:") != NULL) == !flat);
            free(content);
            assert_same_motion(m, again);
        }
}

// Wheel and rail: modulus of shear and Poisson's ratio of a material are those that are written out, and they live.
static void wheels_on_rails_have_them(void **state)
{
    static const char head[] = "kardan: 1\nparameters: {soft: 1}\nmaterials: {steel: {E: 190e9*soft, nu: 0.27}}\n"
                               "bodies: {axle: {position: [0, 0, 0.46], mass: 1500, inertia: [900, 90, 900]}}\n"
                               "joints: {axle: {type: cardan, from: {body: ground, point: [0, 0, 0.46]}, to: axle, v: "
                               "[20.1, 0, null, 0, null, "
                               "43]}}\n"
                               "constraints:\n";
    static const char wheel[] =
        "  %s: {type: wheel_rail, from: ground, to: axle, side: %s, radius: 0.46, spacing: 0.75, "
        "load: 7e3, conicity: 0.05, %s}\n";
    char text[3000], own[200];
    (void)state;
    for (int k = 0; k < 2; k++) {
        const kd_setting setting = {"soft", k > 0 ? "0.7" : "1"};
        subject          s[2];
        for (int by_hand = 0; by_hand < 2; by_hand++) {
            snprintf(own, sizeof own, "shear: %.17g, poisson: 0.27", 190e9 * (k > 0 ? 0.7 : 1.0) / (2.0 * 1.27));
            size_t n = (size_t)snprintf(text, sizeof text, "%s", head);
            for (int side = 0; side < 2; side++)
                n += (size_t)snprintf(text + n, sizeof text - n, wheel, side ? "l" : "r", side ? "left" : "right",
                                      by_hand ? own : "material: steel");
            s[by_hand] = subject_of(model_of_settings(text, &setting, 1), KD_JOINT);
            assert_true(s[by_hand].assembled); // consistent values have accelerations
        }
        for (int i = 0; i < s[0].n.nv; i++)
            if (!(fabs(s[0].x->a[i] - s[1].x->a[i]) <= 1e-11 * (1.0 + fabs(s[1].x->a[i]))))
                fail_msg("%d: %.17g and %.17g", i, s[0].x->a[i], s[1].x->a[i]);
        subject_release(&s[0]);
        subject_release(&s[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_are_those_of_the_volumes), cmocka_unit_test(densities_live),
        cmocka_unit_test(instances_replace_materials),     cmocka_unit_test(written_models_keep_them),
        cmocka_unit_test(wheels_on_rails_have_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
