// Points 1 and 2: the form index3 has no derivatives of velocities to check steps with, but laws of time are searched
// for it as for every other form, and tiny steps do not change its velocities at will.
//
// A pendulum without weight, in Cartesian coordinates, gets a pulse of moment: its impulse J turns it faster by J / I.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "case.h"
#include "certified_run.h"
#include "seeded.h"

static uint64_t seed;

typedef struct pulse {
    double L, m, w, J, tau, t0, t_end;
} pulse;

static pulse random_pulse(double shortest, double longest)
{
    pulse p = {.L = seeded_log(&seed, 0.3, 3), .m = seeded_log(&seed, 0.3, 3)};
    p.w = seeded_between(&seed, 0.5, 2);
    p.J = p.m * p.L * p.L * seeded_between(&seed, 0.5, 2);
    p.tau = seeded_log(&seed, shortest, longest);
    p.t0 = seeded_between(&seed, 0.2, 0.5);
    p.t_end = p.t0 + seeded_between(&seed, 0.3, 0.6);
    return p;
}

// Speed at the end beside that of the impulse
static double error_of_speed(const pulse *p, kd_integrator_kind integrator, double tol, certified *found)
{
    char text[1000];
    snprintf(text, sizeof text,
             "kardan: 1\n"
             "gravity: [0, 0, 0]\n"
             "bodies:\n"
             "  rod: {position: [%.17g, 0, 0], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n"
             "joints:\n"
             "  A: {type: revolute, from: ground, to: {body: rod, point: [%.17g, 0, 0]}, v: %.17g}\n"
             "forces:\n"
             "  f: {type: applied, body: rod, torque: [0, 0, %.17g*exp(-((t - %.17g)/%.17g)^2)]}\n",
             p->L, p->m, p->m * p->L * p->L / 100, p->m * p->L * p->L / 100, p->m * p->L * p->L / 100, -p->L, p->w,
             p->J / (p->tau * sqrt(acos(-1))), p->t0, p->tau);
    kd_simulation_options opt = with_method(integrator, tol);
    opt.formulation = KD_INDEX3;
    certify_text(text, KD_CARTESIAN, p->t_end, opt, found);
    const double speed = p->w + p->J / (1.01 * p->m * p->L * p->L);
    return fabs(found->v[5] - speed) / speed; // v: shifts, then turns
}

// No pulse is stepped over: that would leave an error of J / I. Behind pulses of 1e-5 to 1e-4 s bdf may be wrong by a good
// part of that (27 % were seen), but is not called clean: see below.
static void pulses_are_seen(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        const pulse              p = random_pulse(1e-5, 1e-2);
        const kd_integrator_kind integrator = k % 2 ? KD_RADAU : KD_BDF;
        certified                found;
        const double             error = error_of_speed(&p, integrator, 1e-5, &found);
        const bool               is_told = integrator == KD_BDF && p.tau < 1e-4 && !found.verdict.clean;
        if (found.status >= 0 && error > (is_told ? 0.5 : 0.05))
            fail_msg("%s, pulse of %g s: the speed is wrong by %g; %s", kd_integrator_word(integrator), p.tau, error,
                     found.verdict.sentence);
    }
}

// Steps of 1e-7 s and less, in which errors of velocities once counted 1e-7 times. In bdf they still count h times (the
// wheelset finds no step with more): behind such a pulse it may be wrong by some percent, but is not called clean. The same
// holds for radau behind pulses below 1e-5 s.
static void tiny_steps_keep_velocities(void **state)
{
    (void)state;
    for (int k = 0; k < 16; k++) {
        const pulse              p = random_pulse(3e-7, 3e-5);
        const kd_integrator_kind integrator = k % 2 ? KD_RADAU : KD_BDF;
        certified                found;
        const double             error = error_of_speed(&p, integrator, 1e-6, &found);
        const bool               resolved = integrator == KD_RADAU && p.tau > 1e-5;
        if (found.status >= 0 && error > 0.02 && (resolved || found.verdict.clean))
            fail_msg("%s, pulse of %g s: the speed is wrong by %g; %s", kd_integrator_word(integrator), p.tau, error,
                     found.verdict.sentence);
    }
}

int main(void)
{
    seed = test_seed(141);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pulses_are_seen),
        cmocka_unit_test(tiny_steps_keep_velocities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
