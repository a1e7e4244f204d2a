// Point 4, steep drives: a prescribed motion that rises so fast that no node of a step sees its acceleration must not
// carry its load along rigidly.
#include "case.h"
#include "certified_run.h"

// A load m on a spring k and a damper c, whose base rises by 2 a around t0 as a tanh((t - t0)/w): for w -> 0 the load
// stays where it is and gets the impulse 2 a c. Position of the load relative to its base at the end.
static double closed_form(double m, double k, double c, double a, double t)
{
    const double d = c / (2.0 * m), w = sqrt(k / m - d * d), z = -2.0 * a, v = 2.0 * a * c / m;
    return exp(-d * t) * (z * cos(w * t) + (v + d * z) / w * sin(w * t));
}

// A tanh drive that rises in w, the load and its base as model text
static void shaker(char *text, size_t size, double m, double k, double c, double a, double t0, double w)
{
    snprintf(text, size,
             "kardan: 1\ngravity: [0, 0, 0]\n"
             "bodies:\n  base: {mass: 1, inertia: [1, 1, 1]}\n  load: {mass: %.17g, inertia: [1, 1, 1]}\n"
             "joints:\n  drive: {type: prismatic, bodies: [ground, base], point: [0, 0, 0], axis: [1, 0, 0], "
             "motion: \"%.17g*tanh((t - %.17g)/%.17g)\"}\n"
             "  slide: {type: prismatic, bodies: [base, load], point: [0, 0, 0], axis: [1, 0, 0]}\n"
             "forces: {s: {type: joint_spring, joint: slide, stiffness: %.17g, damping: %.17g}}\n",
             m, a, t0, w, k, c);
}

// Drives a million times faster than their load: relative velocities reach 1e5 m/s for less than a microsecond, and what
// a relative tolerance allows there must not stay in the motion: error below a hundredth of the rise, a tenth and more
// where tolerances are relative to the peak.
static void nothing_of_a_peak_stays(void **state)
{
    static const kd_integrator_kind method[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5, KD_DOP853, KD_BDF};
    (void)state;
    srand(test_seed(15));
    for (int i = 0; i < 10; i++) {
        const double m = of_order(10, 300), k = m * of_order(30, 300), c = 2 * sqrt(k * m) * between(0.05, 0.4);
        const double a = between(0.01, 0.05), t0 = between(0.2, 0.4), w = of_order(1e-7, 1e-6), t_end = 0.6;
        const double expected = closed_form(m, k, c, a, t_end - t0);
        char         text[1500];
        certified    r;
        shaker(text, sizeof text, m, k, c, a, t0, w);
        certify_text(text, KD_JOINT, t_end, with_method(method[i % 5], 1e-6), &r);
        assert_true(r.status >= 0);
        if (!(fabs(r.p[0] - expected) < 1e-2 * a))
            fail_msg("method %d, width %g: %.9g, expected %.9g; %s", i % 5, w, r.p[0], expected, r.verdict.sentence);
    }
}

// Steps are as long as the time that passes between their rounded ends: otherwise a drive of 4 cm in 2e-8 s would leave
// 1e-3 m (errors grow with 1 / w^2).
static void steps_end_at_exact_times(void **state)
{
    const double m = 100, k = 1e4, c = 200, a = 0.02, t0 = 0.3, t_end = 0.6;
    (void)state;
    for (double w = 1e-7; w > 1.9e-8; w *= 0.5) {
        static const kd_integrator_kind method[] = {KD_RADAU, KD_DOPRI5};
        char                            text[1500];
        certified                       r;
        shaker(text, sizeof text, m, k, c, a, t0, w);
        for (int i = 0; i < 2; i++) {
            certify_text(text, KD_JOINT, t_end, with_method(method[i], i == 0 ? 1e-9 : 1e-8), &r);
            const double expected = closed_form(m, k, c, a, t_end - t0);
            assert_true(r.status >= 0);
            if (!(fabs(r.p[0] - expected) < 1e-20 / (w * w)))
                fail_msg("method %d, width %g: %.9g, expected %.9g", i, w, r.p[0], expected);
        }
    }
}

// Drives within 1e-8 to 1e-7 s: where the last digit of t counts all the same the run is not clean.
static void rounding_of_time_is_told(void **state)
{
    static const kd_integrator_kind method[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5, KD_DOP853, KD_BDF};
    int                             clean = 0, told = 0;
    (void)state;
    srand(test_seed(16));
    for (int i = 0; i < 15; i++) {
        const double m = of_order(10, 300), k = m * of_order(30, 300), c = 2 * sqrt(k * m) * between(0.05, 0.4);
        const double a = between(0.01, 0.05), t0 = between(0.2, 0.4), w = of_order(1e-8, 1e-7), t_end = 0.6;
        const double rtol = i % 3 ? 1e-6 : 1e-8, expected = closed_form(m, k, c, a, t_end - t0);
        char         text[1500];
        certified    r;
        if (method[i % 5] == KD_DOP853 && rtol < 1e-6) continue; // many steps
        shaker(text, sizeof text, m, k, c, a, t0, w);
        certify_text(text, KD_JOINT, t_end, with_method(method[i % 5], rtol), &r);
        assert_true(r.status >= 0);
        const double most = method[i % 5] == KD_RADAU || method[i % 5] == KD_DOPRI5 ? 100 : 1000;
        if (r.verdict.clean && !(fabs(r.p[0] - expected) < most * rtol))
            fail_msg("method %d, width %g: %.9g, expected %.9g; %s", i % 5, w, r.p[0], expected, r.verdict.sentence);
        clean += r.verdict.clean;
        told += strstr(r.verdict.sentence, "rounding of time") != NULL;
    }
    assert_true(clean >= 5 && told >= 2);
}

static void steep_drives_are_seen(void **state)
{
    static const kd_integrator_kind method[] = {KD_RADAU, KD_SDIRK, KD_DOPRI5, KD_DOP853, KD_BDF};
    static const char *const        form[] = {"%.17g*tanh((t - %.17g)/%.17g)", "input.way"};
    (void)state;
    srand(test_seed(14));
    for (int i = 0; i < 20; i++) {
        const double m = of_order(0.1, 100), k = m * of_order(10, 1000), c = 2 * sqrt(k * m) * between(0.02, 0.4);
        const double a = of_order(0.01, 1), t0 = between(0.3, 1.5), w = of_order(1e-5, 1e-3) / sqrt(k / m), t_end = 2.5;
        const double expected = closed_form(m, k, c, a, t_end - t0);
        char         text[1500], way[200];
        certified    r;
        snprintf(way, sizeof way, form[0], a, t0, w);
        snprintf(text, sizeof text,
                 "kardan: 1\ngravity: [0, 0, 0]\ninputs: {way: \"%s\"}\n"
                 "bodies:\n  base: {mass: 1, inertia: [1, 1, 1]}\n  load: {mass: %.17g, inertia: [1, 1, 1]}\n"
                 "joints:\n  drive: {type: prismatic, bodies: [ground, base], point: [0, 0, 0], axis: [1, 0, 0], "
                 "motion: \"%s\"}\n"
                 "  slide: {type: prismatic, bodies: [base, load], point: [0, 0, 0], axis: [1, 0, 0]}\n"
                 "forces: {s: {type: joint_spring, joint: slide, stiffness: %.17g, damping: %.17g}}\n",
                 way, m, i % 2 ? form[1] : way, k, c);
        certify_text(text, KD_JOINT, t_end, with_method(method[i % 5], 1e-7), &r);
        assert_true(r.status >= 0);
        if (!(fabs(r.p[0] - expected) < 1e-3 * a))
            fail_msg("method %d, width %g: %.9g, expected %.9g; %s", i % 5, w, r.p[0], expected, r.verdict.sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steep_drives_are_seen),
        cmocka_unit_test(nothing_of_a_peak_stays),
        cmocka_unit_test(steps_end_at_exact_times),
        cmocka_unit_test(rounding_of_time_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
