// Rigid joints between systems: a link between two masses against one mass of both, divergence without and convergence with
// preconditioning, index 1 and 2; a pendulum of two links in two systems against the whole.
#include <kardan/cosim.h>
#include <kardan/results.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FILE_NAME KD_SOURCE_DIR "/models/systems/test.yaml" // beside the models, not on disk

static kd_cosim *open_text(const char *text)
{
    kd_cosim *c;
    char      message[4000];
    if (kd_cosim_read_text(FILE_NAME, text, strlen(text), &c, message, sizeof message) < 0) fail_msg("%s", message);
    return c;
}

// Two masses on springs of their own that a rigid link joins: they move as one.
static kd_cosim *link_of(double ratio, int index, const char *precondition, double H)
{
    char text[1000];
    snprintf(text, sizeof text,
             "systems:\n  a: {model: point.yaml, set: {m: %g, k: 10}}\n  b: {model: point.yaml, set: {m: 1, k: 30}}\n"
             "joints: {link: {type: spherical, frames: [a.end, b.end]}}\n"
             "master: {step: %g, degree: 0, index: %d, precondition: %s, threads: 1}\nrun: {t_end: 0.2}\n",
             ratio, H, index, precondition);
    return open_text(text);
}

static double error_of(kd_cosim *c, double ratio)
{
    const double w = sqrt(40 / (1 + ratio)), t = kd_cosim_time(c);
    return fmax(fabs(kd_cosim_read_value(c, "a.x") - cos(w * t)), fabs(kd_cosim_read_value(c, "b.x") - cos(w * t)));
}

// A heavy first system: the contraction is the ratio of the masses. Without preconditioning it diverges and says so, with all blocks it
// converges; left to itself it chooses.
static void mass_ratio(void **state)
{
    (void)state;
    for (int index = 1; index <= 2; index++) {
        char                 message[1000];
        kd_cosim_certificate z;
        kd_cosim            *c = link_of(10, index, "no", 1e-3);
        assert_int_equal(kd_cosim_run(c, message, sizeof message), KD_ERR_NEWTON);
        assert_non_null(strstr(message, "without preconditioning"));
        kd_cosim_destroy(c);
        for (int k = 0; k < 2; k++) {
            c = link_of(10, index, k == 0 ? "yes" : "auto", 1e-3);
            if (kd_cosim_run(c, message, sizeof message) != KD_OK) fail_msg("index %d: %s", index, message);
            kd_cosim_certify(c, &z);
            assert_true(z.preconditioned && fabs(z.contraction - 10) < 1e-6);
            if (!(error_of(c, 10) < 2e-3)) fail_msg("index %d: error %g", index, error_of(c, 10));
            if (!(z.joint_position < 1e-5)) fail_msg("index %d: %g apart", index, z.joint_position);
            kd_cosim_destroy(c);
        }
    }
}

// A light first system: no preconditioning is needed, and the motion is the same.
static void light_first(void **state)
{
    (void)state;
    char                 message[1000];
    kd_cosim_certificate z;
    kd_cosim            *c = link_of(0.1, 2, "auto", 1e-3);
    if (kd_cosim_run(c, message, sizeof message) != KD_OK) fail_msg("%s", message);
    kd_cosim_certify(c, &z);
    assert_true(!z.preconditioned && fabs(z.contraction - 0.1) < 1e-6);
    assert_true(error_of(c, 0.1) < 5e-3);
    kd_cosim_destroy(c);
}

// Half the macro step, half the error, as multipliers are held over a step; with index 2 it is far smaller.
static void first_order(void **state)
{
    (void)state;
    for (int index = 1; index <= 2; index++) {
        double error[2];
        for (int k = 0; k < 2; k++) {
            char      message[1000];
            kd_cosim *c = link_of(3, index, "yes", k == 0 ? 2e-3 : 1e-3);
            if (kd_cosim_run(c, message, sizeof message) != KD_OK) fail_msg("%s", message);
            error[k] = error_of(c, 3);
            kd_cosim_destroy(c);
        }
        const double order = log2(error[0] / error[1]);
        if (!(index == 1 ? order > 0.8 : fmax(error[0], error[1]) < 5e-5))
            fail_msg("index %d: errors %g, %g", index, error[0], error[1]);
    }
}

// What is wrong with a joint is told with its line.
static void wrong_joints(void **state)
{
    (void)state;
    static const char *const text[] = {
        "systems: {a: {model: point.yaml}, b: {model: point.yaml}}\njoints: {link: {type: hinge, frames: [a.end, "
        "b.end]}}\n",
        "systems: {a: {model: point.yaml}, b: {model: point.yaml}}\njoints: {link: {frames: [a.nose, b.end]}}\n",
        "systems: {a: {model: point.yaml}, b: {model: point.yaml}}\njoints: {link: {frames: [a.end]}}\n",
        "systems: {a: {model: point.yaml}, b: {model: point.yaml}}\njoints: {link: {frames: [a.end, a.end]}}\n"};
    for (int i = 0; i < 4; i++) {
        kd_cosim *c;
        char      message[2000];
        assert_true(kd_cosim_read_text(FILE_NAME, text[i], strlen(text[i]), &c, message, sizeof message) < 0);
        if (i < 3 && !strstr(message, "test.yaml:2:")) fail_msg("%s", message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mass_ratio), cmocka_unit_test(light_first),
                                       cmocka_unit_test(first_order), cmocka_unit_test(wrong_joints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
