// Tests of the weights of increments: powers of the step for components of higher index, and velocities of index 3 forms
// that keep a weight in the shortest steps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "case.h"
#include "integrator/attempt.h"
#include "integrator/dense_dae.h"
#include "integrator/one_step.h"
#include "trust/seeded.h"

// 0 for index 0, then 1, min(h, 1), min(h^2, 1) in natural units of time; velocities of index 2 at least
// min(1e-3, 0.03 longest)
static void weights_are_powers_of_the_step(void **state)
{
    uint64_t seed = test_seed(1);
    (void)state;
    for (int k = 0; k < 200; k++) {
        const double h = seeded_log(&seed, 1e-9, 10), longest = k % 3 == 0 ? 0 : h * seeded_log(&seed, 1, 1e6);
        const double unit = k % 2 == 0 ? 0 : seeded_log(&seed, 1e-3, 1e3), time = unit > 0 ? unit : 1;
        kd_component component[] = {KD_COMPONENT_POSITION, KD_COMPONENT_VELOCITY, KD_COMPONENT_POSITION,
                                    KD_COMPONENT_VELOCITY, KD_COMPONENT_MULTIPLIER};
        int          index[] = {0, 1, 2, 2, 3};
        kd_dae       dae = {.n = 5, .component = component, .index = index, .time = unit};
        double       weight[5], out[5];
        for (int i = 0; i < 5; i++) weight[i] = seeded_log(&seed, 1e-3, 1e3);
        kd_attempt_weights(&dae, h, longest, weight, out);
        const double step = h / time, least = fmin(1e-3, 0.03 * longest / time);
        const double factor[] = {0, 1, fmin(step, 1), fmax(fmin(step, 1), least), fmin(step * step, 1)};
        for (int i = 0; i < 5; i++) assert_true(fabs(out[i] - factor[i] * weight[i]) <= 1e-14 * weight[i] * factor[i]);
    }
}

// In a run: tiny steps between long ones are weighed by the longest step since the start, a fresh start forgets it, a
// jump of x does not.
static void the_longest_step_counts_in_tiny_ones(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    dense_dae             d;
    kd_integrator        *it;
    double                x[2], longest = 0;
    dense_make(&d, &waves);
    d.index[1] = 2;
    d.component[1] = KD_COMPONENT_VELOCITY;
    opt.rtol = 1e-9;
    opt.atol = 1e-3;
    opt.h_first = 1e-3;
    waves.solution(0, x);
    assert_int_equal(kd_integrator_create(&d.dae, KD_SDIRK, &opt, &it, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(it, 0, x), KD_OK);
    const kd_one_step *s = (const kd_one_step *)it;
    for (int k = 0; k < 40; k++) {
        const double t = kd_integrator_time(it);
        if (k % 10 == 9) { // fresh at 9 and 29
            waves.solution(t, x);
            assert_int_equal(kd_integrator_restart(it, t, x, k % 20 == 9 ? KD_RESTART_FRESH : KD_RESTART_SAME_ROWS),
                             KD_OK);
            if (k % 20 == 9) longest = 0;
        }
        assert_int_equal(kd_integrator_step(it, k % 3 == 2 || k % 10 == 9 ? t + 1e-6 : INFINITY), KD_OK);
        const double h = kd_integrator_time(it) - t, part = s->newton_weight[1] * 1e-3;
        const double wanted = fmax(fmin(h, 1), fmin(1e-3, 0.03 * longest));
        if (!(fabs(part - wanted) <= 1e-5 * wanted))
            fail_msg("step %d of %g: weight %g instead of %g", k, h, part, wanted);
        longest = fmax(longest, h);
    }
    assert_true(longest > 1e-2);
    kd_integrator_destroy(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_powers_of_the_step),
        cmocka_unit_test(the_longest_step_counts_in_tiny_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
