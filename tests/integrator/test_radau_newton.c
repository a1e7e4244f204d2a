// When Newton's method of Radau IIa ends: what is known of its rate, and when nothing is. One linear equation, whose matrix
// may be wrong by a factor, so that the rate and what is left of an iteration are known.
#include "integrator/radau_cases.h"

// x' = -K (x - s), the matrix takes K for K spoil
static struct {
    double K, s, spoil;
} decay;

static kd_eval decay_residual(double t, const double *x, const double *xdot, double *F)
{
    (void)t;
    F[0] = xdot[0] + decay.K * (x[0] - decay.s);
    return KD_EVAL_OK;
}
static void decay_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = decay.K * decay.spoil;
    F_xdot[0] = 1;
}
static void decay_solution(double t, double *x)
{
    (void)t;
    x[0] = decay.s + 1e-3;
}
static const problem decaying = {"decay", 1, false, decay_residual, decay_derivatives, decay_solution};

// x_1 of three stages from x_0: Pade's (2, 3) of exp, the stability function
static double exact_step(double h, double x0)
{
    const double z = -h * decay.K;
    const double over = 1 + z * (2.0 / 5 + z / 20), under = 1 - z * (3.0 / 5 - z * (3.0 / 20 - z / 60));
    return decay.s + (x0 - decay.s) * over / under;
}

static kd_integrator *make(const kd_integrator_options *opt)
{
    kd_integrator *radau;
    double         x;
    dense_init(&shared, &decaying);
    decay_solution(0, &x);
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, opt, &radau, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(radau, 0, &x), KD_OK);
    return radau;
}

// Steps of a motion that dies out have one increment, as the matrix is right. Then the place of rest jumps by less than a tolerance: first increments of more
// than a tenth of it surprise, nothing is known of the rate, and a second one tells. Smaller ones surprise nobody.
static void surprises_have_no_rate(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double          h = 1e-3 * pow(1000, fmod(0.618033988749895 * k, 1)), tolerance = pow(10, -4 - k % 3);
        const bool            surprises = k % 2 == 0;
        kd_integrator_options opt = with_tolerance(tolerance);
        long                  solves[2] = {0};
        opt.h_fixed = h;
        opt.radau.newton_stop = 0.09;
        opt.radau.order_max = 5;
        decay.K = (4 + 16 * fmod(0.7548776662466927 * k, 1)) / h;
        decay.s = 2 * fmod(0.5698402909980532 * k, 1) - 1;
        decay.spoil = 1;
        kd_integrator *radau = make(&opt);
        for (int i = 0; i < 9; i++) {
            const long before = kd_integrator_stats(radau).solves;
            // components of three stages have tolerances of their own, finer than those that were asked for
            if (i == 8) decay.s += (surprises ? 0.5 : 1e-4) * tolerance * pow(tolerance, -1.0 / 3) * 0.1;
            if (kd_integrator_step(radau, 40 * h) != KD_OK) fail_msg("%s", kd_integrator_message(radau));
            solves[i == 8] = kd_integrator_stats(radau).solves - before;
        }
        kd_integrator_destroy(radau);
        if (solves[0] != 1 || solves[1] != (surprises ? 2 : 1))
            fail_msg("trial %d: %ld at rest, %ld behind the jump", k, solves[0], solves[1]);
    }
}

// A matrix that is wrong by a factor makes increments fall at a constant rate, up to 0.9: what is left when they end is
// theta / (1 - theta) times the last one, below the limit, and not theta times it.
static void slow_rates_leave_more(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double          h = 1e-3 * pow(1000, fmod(0.618033988749895 * k, 1)), tolerance = 1e-4, stop = 0.01;
        kd_integrator_options opt = with_tolerance(tolerance);
        opt.h_fixed = h;
        opt.radau.newton_stop = stop;
        opt.radau.max_newton = 200;
        opt.radau.order_max = 5;
        decay.K = 100 / h;
        decay.s = 1;
        decay.spoil = 4 + 6 * fmod(0.7548776662466927 * k, 1); // theta = 1 - 1 / spoil
        kd_integrator *radau = make(&opt);
        for (int i = 0; i < 3; i++) {
            const double x = kd_integrator_x(radau)[0], inner = 0.1 * pow(tolerance, 2.0 / 3);
            decay.s += 100 * inner;
            if (kd_integrator_step(radau, 40 * h) != KD_OK) fail_msg("%s", kd_integrator_message(radau));
            const double error = (kd_integrator_x(radau)[0] - exact_step(h, x)) / (inner * (1 + fabs(x)));
            if (!(fabs(error) < 2 * stop))
                fail_msg("trial %d, step %d: %g of what Newton may leave", k, i, error / stop);
        }
        kd_integrator_destroy(radau);
    }
}

int main(void)
{
    (void)&one, (void)&two;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(surprises_have_no_rate),
        cmocka_unit_test(slow_rates_leave_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
