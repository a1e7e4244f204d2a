// Point 1: methods that start again with order 1 behind every jump of a law. Errors of these steps point the same way: behind
// many teeth the motion is off by thousands of tolerances, and the verdict must not be clean then.
#include "case.h"
#include "trust/certified_run.h"
#include "trust/seeded.h"

// A block over teeth: force +F on the first half of each, -F on the second. m v^2 / 2 - U(q) stays, U = F min(x, P - x).
static double speed_at(double q, double m, double F, double P, double v0)
{
    const double x = q - P * floor(q / P);
    return sqrt(v0 * v0 + 2 * F * fmin(x, P - x) / m);
}

static void clean_runs_over_teeth_are_right(void **state)
{
    uint64_t seed = 41 + (uint64_t)test_seed(0);
    int      wrong = 0, clean = 0, silent = 0;
    (void)state;
    if (!kd_integrator_about(KD_CVODE, NULL)->available) skip();
    for (int trial = 0; trial < 24; trial++) {
        const double          m = seeded_log(&seed, 0.1, 10), P = seeded_log(&seed, 0.003, 0.02);
        const double          v0 = seeded_log(&seed, 0.03, 0.5), F = seeded_between(&seed, 0.3, 3) * m * v0 * v0 / P;
        const double          teeth = trial < 4 ? 1 : seeded_log(&seed, 20, 150);
        char                  text[800];
        certified             run;
        kd_simulation_options o = kd_simulation_options_default();
        o.formulation = KD_ODE;
        o.integrator = trial % 2 ? KD_CVODE : KD_IDA;
        o.rtol = o.atol = seeded_log(&seed, 1e-8, 1e-5);
        snprintf(text, sizeof text,
                 "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  block: {mass: %.17g, inertia: [1, 1, 1]}\njoints:\n"
                 "  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], v: %.17g}\n"
                 "forces:\n  teeth: {type: joint_spring, joint: slide, rest: 0, law: \"%.17g*if(mod(q, %.17g) < "
                 "0.5*%.17g, 1, -1)\"}\n",
                 m, v0, F, P, P);
        certify_text(text, KD_JOINT, teeth * P / v0, o, &run);
        assert_true(run.status >= 0);
        const double right = speed_at(run.p[0], m, F, P, v0);
        const double error = fabs(run.v[0] - right) / (o.atol + o.rtol * right);
        wrong += error > 1000;
        clean += run.verdict.clean;
        silent += error > 1000 && run.verdict.clean;
        // where v is small a tolerance of q weighs many of v: one run of 24 may be a little beyond
        if (run.verdict.clean && (error > 3000 || silent > 1))
            fail_msg("%s, rtol %g, %.0f teeth: clean, but v is off by %.0f tolerances",
                     kd_integrator_word(o.integrator), o.rtol, teeth, error);
        if (trial < 4) assert_true(run.verdict.clean); // one tooth costs next to nothing
    }
    assert_true(wrong >= 6 && clean >= 4); // or nothing was tried
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clean_runs_over_teeth_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
