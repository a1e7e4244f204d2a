// Tests of SDIRK 4/15, ESDIRK and RODAS as methods: coefficients against the conditions of order and stability,
// measured orders, stiff problems, dense output.
#include "case.h"
#include "forms/whole.h"
#include "integrator/sdirk_dense.h"
#include "integrator/sdirk_tableau.h"
#include "pendulum.h"
#include "trust/seeded.h"
#include <complex.h>
#include <kardan/integrator.h>

#define GRAVITY 13.75
#define SPEED 2.9

static const kd_sdirk_method METHODS[] = {KD_SDIRK_NEWTON, KD_SDIRK_ROSENBROCK, KD_SDIRK_STAGE_ORDER_2};

// ---- coefficients ---------------------------------------------------------------------------------------------------

// A Runge-Kutta or Rosenbrock method: alpha of the points, beta of the slopes (alpha + gamma), b of the result
typedef struct tableau {
    int    stages;
    double alpha[7][7], beta[7][7], b[7], embedded[7];
} tableau;

static tableau sdirk_as_tableau(void)
{
    tableau t = {.stages = 5};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) t.alpha[i][j] = t.beta[i][j] = sdirk_A[i][j];
        t.b[i] = sdirk_A[4][i];
        t.embedded[i] = sdirk_b3[i];
    }
    return t;
}

static tableau esdirk_as_tableau(void)
{
    tableau t = {.stages = 7};
    for (int i = 0; i < 7; i++) {
        for (int j = 0; j < 7; j++) t.alpha[i][j] = t.beta[i][j] = esdirk_A[i][j];
        t.b[i] = esdirk_A[6][i];
        t.embedded[i] = esdirk_b3[i];
    }
    return t;
}

// Gamma = inv(I / gamma - C), alpha = a Gamma (HW II, IV.7)
static tableau rodas_as_tableau(double Gamma[6][6])
{
    tableau t = {.stages = 6};
    for (int j = 0; j < 6; j++) // lower triangular, column by column
        for (int i = 0; i < 6; i++) {
            double sum = i == j;
            for (int k = j; k < i; k++) sum += rodas_C[i][k] * Gamma[k][j];
            Gamma[i][j] = i < j ? 0 : rodas_gamma * sum;
        }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            for (int k = 0; k < i; k++) t.alpha[i][j] += rodas_a[i][k] * Gamma[k][j];
            t.beta[i][j] = t.alpha[i][j] + Gamma[i][j];
        }
    for (int j = 0; j < 6; j++) {
        t.embedded[j] = t.alpha[5][j];
        t.b[j] = t.alpha[5][j] + Gamma[5][j];
    }
    return t;
}

// Largest violation of the conditions of the given order (HW II, IV.7) by the weights b
static double violation(const tableau *t, const double *b, int order)
{
    double a[7] = {0}, c[7] = {0}, most = 0, ac[7] = {0}, cc[7] = {0}, ca[7] = {0}, ccc[7] = {0};
    double sum[8] = {0};
    for (int i = 0; i < t->stages; i++)
        for (int j = 0; j < t->stages; j++) {
            a[i] += t->alpha[i][j];
            c[i] += t->beta[i][j];
        }
    for (int i = 0; i < t->stages; i++)
        for (int j = 0; j < t->stages; j++) {
            ac[i] += t->alpha[i][j] * c[j];
            cc[i] += t->beta[i][j] * c[j];
            ca[i] += t->beta[i][j] * a[j] * a[j];
        }
    for (int i = 0; i < t->stages; i++)
        for (int j = 0; j < t->stages; j++) ccc[i] += t->beta[i][j] * cc[j];
    for (int i = 0; i < t->stages; i++) {
        const double term[8] = {1, c[i], a[i] * a[i], cc[i], a[i] * a[i] * a[i], a[i] * ac[i], ca[i], ccc[i]};
        for (int k = 0; k < 8; k++) sum[k] += b[i] * term[k];
    }
    const double wanted[8] = {1, 1.0 / 2, 1.0 / 3, 1.0 / 6, 1.0 / 4, 1.0 / 8, 1.0 / 12, 1.0 / 24};
    const int    count[5] = {0, 1, 2, 4, 8};
    for (int k = 0; k < count[order]; k++) most = fmax(most, fabs(sum[k] - wanted[k]));
    return most;
}

// All methods have order 4, their embedded formulas order 3 and no more; nodes are the sums of the rows.
static void coefficients_satisfy_order_conditions(void **state)
{
    (void)state;
    double        Gamma[6][6] = {{0}};
    const tableau sdirk = sdirk_as_tableau(), rodas = rodas_as_tableau(Gamma);
    assert_true(violation(&sdirk, sdirk.b, 4) < 1e-14);
    assert_true(violation(&sdirk, sdirk.embedded, 3) < 1e-14);
    assert_true(violation(&sdirk, sdirk.embedded, 4) > 1e-3);
    assert_true(violation(&rodas, rodas.b, 4) < 1e-13);
    assert_true(violation(&rodas, rodas.embedded, 3) < 1e-13);
    assert_true(violation(&rodas, rodas.embedded, 4) > 1e-3);
    for (int i = 0; i < 6; i++) {
        double a = 0, g = 0, c = 0;
        for (int j = 0; j < 6; j++) {
            a += rodas.alpha[i][j];
            g += Gamma[i][j];
            if (i < 5 && j < 5) c += sdirk_A[i][j];
        }
        assert_close(a, rodas_c[i], 1e-14);
        assert_close(g, rodas_d[i], 1e-13);
        if (i < 5) assert_close(c, sdirk_c[i], 1e-15);
        if (i < 5) assert_close(sdirk_A[i][i], sdirk_gamma, 0);
    }
}

// ESDIRK: order 4 with an embedded formula of order 3 and no more; stages of order 2: sum_j A_ij c_j = c_i^2 / 2.
static void esdirk_has_stage_order_2(void **state)
{
    (void)state;
    const tableau t = esdirk_as_tableau();
    assert_true(violation(&t, t.b, 4) < 1e-14);
    assert_true(violation(&t, t.embedded, 3) < 1e-14);
    assert_true(violation(&t, t.embedded, 4) > 1e-5);
    for (int i = 0; i < 7; i++) {
        double c = 0, cc = 0;
        for (int j = 0; j < 7; j++) {
            c += esdirk_A[i][j];
            cc += esdirk_A[i][j] * esdirk_c[j];
        }
        assert_close(c, esdirk_c[i], 1e-15);
        assert_close(cc, esdirk_c[i] * esdirk_c[i] / 2, 1e-15);
        if (i > 0) assert_close(esdirk_A[i][i], esdirk_gamma, 0);
    }
}

// R(z) = 1 + z b' inv(I - z beta) 1
static double complex stability(const tableau *t, double complex z)
{
    double complex k[7], R = 1;
    for (int i = 0; i < t->stages; i++) {
        k[i] = 1;
        for (int j = 0; j < i; j++) k[i] += z * t->beta[i][j] * k[j];
        k[i] /= 1 - z * t->beta[i][i];
        R += z * t->b[i] * k[i];
    }
    return R;
}

// |R| <= 1 on the imaginary axis and R -> 0 far to the left: L-stable; R is exp(z) near 0.
static void methods_are_L_stable(void **state)
{
    (void)state;
    double        Gamma[6][6] = {{0}};
    const tableau all[] = {sdirk_as_tableau(), rodas_as_tableau(Gamma), esdirk_as_tableau()};
    for (int k = 0; k < 3; k++) {
        assert_true(cabs(stability(&all[k], -1e6)) < 1e-4);
        assert_true(cabs(stability(&all[k], 1e6 * I)) < 1e-4);
        for (double y = 1e-3; y < 1e4; y *= 1.1) assert_true(cabs(stability(&all[k], y * I)) <= 1 + 1e-12);
        assert_true(cabs(stability(&all[k], -0.01) - exp(-0.01)) < 1e-11);
    }
}

// ---- runs -----------------------------------------------------------------------------------------------------------

// Constant steps: the error test lets everything pass, Newton's method nothing
static kd_integrator_options constant_steps(kd_sdirk_method method, double h)
{
    kd_integrator_options opt = kd_integrator_options_default();
    opt.sdirk.method = method;
    opt.rtol = 0.5, opt.atol = 1;
    opt.sdirk.newton_stop = 1e-14;
    opt.sdirk.max_newton = 30;
    opt.h_first = opt.h_max = h;
    return opt;
}

static void run(kd_integrator *sdirk, double t_end)
{
    while (kd_integrator_time(sdirk) < t_end)
        if (kd_integrator_step(sdirk, t_end) != KD_OK) fail_msg("%s", kd_integrator_message(sdirk));
}

// Errors of p and v of the pendulum at 1.5 s with steps h
static void pendulum_errors(kd_formulation form, kd_sdirk_method method, double h, double error[2])
{
    const double           p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    double                 y[30], exact[5];
    kd_formulation_options fo = kd_formulation_options_default();
    kd_integrator_options  opt = constant_steps(method, h);
    kd_eom                *eom;
    kd_state              *x;
    kd_integrator         *sdirk;
    assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &eom, &x), KD_OK);
    kd_dae *dae = make_dae(eom, NULL, x, form, &fo);
    assert_true(dae->n <= 30);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(kd_integrator_create(dae, KD_SDIRK, &opt, &sdirk, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(sdirk, 0, y), KD_OK);
    run(sdirk, 1.5);
    kd_stats st = kd_integrator_stats(sdirk);
    if (fabs((double)st.accepted - 1.5 / h) > 0.1)
        fail_msg("form %d: %ld steps, %ld rejected, %ld by Newton", (int)form, st.accepted, st.rejected_error,
                 st.rejected_newton);
    kd_pendulum_exact(GRAVITY, false, SPEED, 1.5, exact, exact + 2, exact + 4);
    for (int k = 0; k < 2; k++)
        error[k] =
            hypot(kd_integrator_x(sdirk)[2 * k] - exact[2 * k], kd_integrator_x(sdirk)[2 * k + 1] - exact[2 * k + 1]);
    kd_integrator_destroy(sdirk);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// The slope of the errors of p and v over constant steps: 4 on the forms of index 1, 2 where multipliers have index 2.
static void orders_are_measured(void **state)
{
    (void)state;
    static const struct {
        kd_formulation  form;
        kd_sdirk_method method;
        double          order;
    } runs[] = {
        {KD_ODE, KD_SDIRK_NEWTON, 4},        {KD_ODE, KD_SDIRK_ROSENBROCK, 4}, {KD_PSF, KD_SDIRK_NEWTON, 4},
        {KD_INDEX1, KD_SDIRK_NEWTON, 4},     {KD_INDEX2, KD_SDIRK_NEWTON, 2},  {KD_GGL, KD_SDIRK_NEWTON, 2},
        {KD_ODE, KD_SDIRK_STAGE_ORDER_2, 4},
    };
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        double coarse[2], fine[2];
        pendulum_errors(runs[k].form, runs[k].method, 1.5 / 120, coarse);
        pendulum_errors(runs[k].form, runs[k].method, 1.5 / 240, fine);
        for (int i = 0; i < 2; i++) {
            double slope = log2(coarse[i] / fine[i]);
            if (fabs(slope - runs[k].order) > 0.2)
                fail_msg("form %d, method %d, %s: slope %.2f, errors %.2e %.2e", (int)runs[k].form, (int)runs[k].method,
                         i == 0 ? "p" : "v", slope, coarse[i], fine[i]);
        }
    }
}

// ---- hand-made equations --------------------------------------------------------------------------------------------

// Equations that depend on time: order 4 with the derivative by time of the Rosenbrock method; index 1 for SDIRK.
static void order_holds_with_time(void **state)
{
    (void)state;
    const dense_problem *problems[] = {&waves, &waves, &waves, &index1};
    for (int k = 0; k < 4; k++) {
        double error[2] = {0};
        for (int i = 0; i < 2; i++) {
            kd_integrator_options opt = constant_steps(METHODS[k % 3], 0.02 / (i + 1));
            dense_dae             d;
            kd_integrator        *sdirk = make_sdirk(&d, problems[k], &opt);
            while (kd_integrator_time(sdirk) < 2) {
                assert_int_equal(kd_integrator_step(sdirk, 2), KD_OK);
                error[i] = fmax(error[i], error_of(sdirk, problems[k]));
            }
            kd_integrator_destroy(sdirk);
        }
        double slope = log2(error[0] / error[1]);
        if (fabs(slope - 4) > 0.3) fail_msg("problem %d: slope %.2f, %.2e %.2e", k, slope, error[0], error[1]);
    }
}

// A component of rate -1e6 that starts beside its solution falls onto it within a step of 1e5 time constants.
static void stiff_components_fall_onto_the_solution(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kd_integrator_options opt = constant_steps(METHODS[k], 0.1);
        dense_dae             d;
        double                x[2] = {2, 1};
        kd_integrator        *sdirk = make_sdirk(&d, &stiff, &opt);
        assert_int_equal(kd_integrator_start(sdirk, 0, x), KD_OK);
        assert_int_equal(kd_integrator_step(sdirk, 1), KD_OK);
        assert_close(kd_integrator_time(sdirk), 0.1, 0);
        assert_true(fabs(kd_integrator_x(sdirk)[0] - cos(0.1)) < 5e-4);
        run(sdirk, 1);
        assert_true(error_of(sdirk, &stiff) < 1e-5);
        kd_integrator_destroy(sdirk);
    }
}

// The error follows the tolerance; steps grow by 10^(1/2) for two decades, more where the stages of order 1 show: on a
// stiff component whose error counts.
static void error_follows_the_tolerance(void **state)
{
    (void)state;
    const dense_problem *problems[] = {&waves, &stiff, &index1};
    for (int p = 0; p < 3; p++) {
        for (int k = 0; k < (p < 2 ? 3 : 1); k++) {
            long few = 0;
            for (double tol = 1e-3; tol > 1e-10; tol /= 100) {
                kd_integrator_options opt = kd_integrator_options_default();
                dense_dae             d;
                opt.sdirk.method = METHODS[k];
                opt.rtol = opt.atol = tol;
                kd_integrator *sdirk = make_sdirk(&d, problems[p], &opt);
                run(sdirk, 2);
                double error = error_of(sdirk, problems[p]);
                long   steps = kd_integrator_stats(sdirk).accepted;
                if (!(error < 20 * tol) || steps > (few > 0 ? (p == 1 ? 30 : 5) * few : 100))
                    fail_msg("%s, method %d, tol %.0e: error %.2e, %ld steps", problems[p]->name, k, tol, error, steps);
                few = steps;
                kd_integrator_destroy(sdirk);
            }
        }
    }
}

// Predicted stages save Newton iterations beside zero.
static void prediction_saves_iterations(void **state)
{
    (void)state;
    long solves[2];
    for (int m = 0; m < 3; m += 2) {
        for (int k = 0; k < 2; k++) {
            kd_integrator_options opt = kd_integrator_options_default();
            dense_dae             d;
            opt.sdirk.method = METHODS[m];
            opt.sdirk.start_zero = k == 1;
            kd_integrator *sdirk = make_sdirk(&d, &waves, &opt);
            run(sdirk, 5);
            solves[k] = kd_integrator_stats(sdirk).solves;
            kd_integrator_destroy(sdirk);
        }
        assert_true(solves[0] < 0.8 * (double)solves[1]);
    }
}

// Dense output without help of the formulation: exact at the ends, order 3 (errors h^4) inside, for all methods, also
// where nobody gives the derivative at the start.
static void dense_output_has_its_order(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        double worst[2] = {0}, y[2], exact[2];
        for (int i = 0; i < 2; i++) {
            kd_integrator_options opt = constant_steps(METHODS[k % 3], 0.02 / (i + 1));
            dense_dae             d;
            kd_integrator        *sdirk = make_sdirk(&d, &waves, &opt);
            if (k >= 3) d.methods.start = NULL;
            waves.solution(0, y);
            assert_int_equal(kd_integrator_start(sdirk, 0, y), KD_OK);
            while (kd_integrator_time(sdirk) < 2) {
                double before[2] = {kd_integrator_x(sdirk)[0], kd_integrator_x(sdirk)[1]};
                assert_int_equal(kd_integrator_step(sdirk, 2), KD_OK);
                double t0 = kd_integrator_time_old(sdirk), t1 = kd_integrator_time(sdirk);
                assert_int_equal(kd_integrator_dense(sdirk, t0, y), KD_OK);
                for (int j = 0; j < 2; j++) assert_close(y[j], before[j], 1e-15);
                assert_int_equal(kd_integrator_dense(sdirk, t1, y), KD_OK);
                for (int j = 0; j < 2; j++) assert_close(y[j], kd_integrator_x(sdirk)[j], 0);
                for (int m = 1; m < 8; m++) {
                    double t = t0 + (t1 - t0) * m / 8;
                    assert_int_equal(kd_integrator_dense(sdirk, t, y), KD_OK);
                    waves.solution(t, exact);
                    for (int j = 0; j < 2; j++) worst[i] = fmax(worst[i], fabs(y[j] - exact[j]));
                }
            }
            kd_integrator_destroy(sdirk);
        }
        double slope = log2(worst[0] / worst[1]);
        if (!(slope > 3.6 && slope < 4.5)) fail_msg("case %d: slope %.2f", k, slope);
    }
}

// Without x' at the start the polynomial of the first step is the quadratic one through both ends and x' at the end:
// its error falls with h^3.
static void dense_output_without_slope_at_the_start(void **state)
{
    (void)state;
    const dense_problem *problems[] = {&waves, &index1};
    for (int k = 0; k < 2; k++) {
        double worst[2] = {0}, y[2], exact[2];
        for (int i = 0; i < 2; i++) {
            const double          h = 0.02 / (i + 1), t0 = 0.3;
            kd_integrator_options opt = constant_steps(KD_SDIRK_NEWTON, h);
            dense_dae             d;
            kd_integrator        *sdirk = make_sdirk(&d, problems[k], &opt);
            d.methods.start = NULL;
            d.methods.rhs = NULL;
            problems[k]->solution(t0, y);
            assert_int_equal(kd_integrator_start(sdirk, t0, y), KD_OK);
            assert_int_equal(kd_integrator_step(sdirk, t0 + h), KD_OK);
            for (int m = 1; m < 8; m++) {
                assert_int_equal(kd_integrator_dense(sdirk, t0 + h * m / 8, y), KD_OK);
                problems[k]->solution(t0 + h * m / 8, exact);
                worst[i] = fmax(worst[i], fabs(y[0] - exact[0]));
            }
            kd_integrator_destroy(sdirk);
        }
        double slope = log2(worst[0] / worst[1]);
        if (!(slope > 2.7 && slope < 3.3)) fail_msg("problem %d: slope %.2f", k, slope);
    }
}

// ---- a matrix that does not know what has happened ------------------------------------------------------------------

// x' = -K (x - s), K and s jump at a time
static struct {
    double at, K[2], s[2];
} jump;

static kd_eval jump_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] + jump.K[t > jump.at] * (x[0] - jump.s[t > jump.at]);
    return KD_EVAL_OK;
}
static void jump_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)x;
    F_x[0] = jump.K[t > jump.at];
    F_xdot[0] = 1;
}
static void jump_solution(double t, double *x)
{
    (void)t;
    x[0] = jump.s[0] + 1e-3;
}
static const dense_problem jumping = {"jump", 1, 1, jump_residual, jump_derivatives, jump_solution};

// x_1 of SDIRK from x_0, its stages solved by hand
static double exact_step(double t, double h, double x0)
{
    double K[5], base = x0;
    for (int i = 0; i < 5; i++) {
        const int side = t + sdirk_c[i] * h > jump.at;
        base = x0;
        for (int j = 0; j < i; j++) base += h * sdirk_A[i][j] * K[j];
        K[i] = -jump.K[side] * (base - jump.s[side]) / (1 + h * sdirk_gamma * jump.K[side]);
    }
    return base + h * sdirk_gamma * K[4];
}

// Stages are solved to a part of the tolerance in the steps in which the equations become others as well: the rate of
// Newton's method of before, which was perfect, is not believed.
static void stages_are_solved_where_equations_change(void **state)
{
    uint64_t seed = test_seed(5);
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double          h = seeded_log(&seed, 1e-3, 1);
        kd_integrator_options opt = kd_integrator_options_default();
        dense_dae             d;
        opt.rtol = opt.atol = seeded_log(&seed, 1e-7, 1e-3);
        opt.h_fixed = h;
        opt.sdirk.max_newton = 40;
        jump.at = (5 + seeded_between(&seed, 0.01, 0.99)) * h;
        jump.K[0] = seeded_between(&seed, 0.5, 1) / h;
        jump.K[1] = jump.K[0] + seeded_between(&seed, -0.5, 1) / h;
        for (int i = 0; i < 2; i++) jump.s[i] = seeded_between(&seed, -2, 2);
        kd_integrator *sdirk = make_sdirk(&d, &jumping, &opt);
        for (int i = 0; i < 9; i++) {
            const double t = kd_integrator_time(sdirk), x = kd_integrator_x(sdirk)[0];
            if (kd_integrator_step(sdirk, 9 * h) != KD_OK) fail_msg("%s", kd_integrator_message(sdirk));
            const double h_made = kd_integrator_time(sdirk) - t, exact = exact_step(t, h_made, x);
            const double error = (kd_integrator_x(sdirk)[0] - exact) / (opt.atol + opt.rtol * fabs(exact));
            if (!(fabs(error) < 0.3)) fail_msg("trial %d, step %d: %g tolerances", k, i, error);
        }
        kd_integrator_destroy(sdirk);
    }
}

// The same where the jump moves solutions by up to so many tolerances only and motion has not died out: steps of 2000 jumps
// that are off by more than a limit
static int missed_behind_jumps(uint64_t seed, double newton_stop, double largest, double limit)
{
    int missed = 0;
    for (int k = 0; k < 2000; k++) {
        const double          h = seeded_log(&seed, 1e-3, 1);
        const int             before = 8 + k % 6; // steps in which motion dies out, more or less
        kd_integrator_options opt = kd_integrator_options_default();
        dense_dae             d;
        opt.rtol = opt.atol = seeded_log(&seed, 1e-6, 1e-3);
        opt.h_fixed = h;
        opt.sdirk.max_newton = 40;
        opt.sdirk.newton_stop = newton_stop;
        jump.at = (before + seeded_between(&seed, 0.01, 0.99)) * h;
        jump.K[0] = seeded_between(&seed, 0.5, 1) / h;
        jump.K[1] = jump.K[0] + seeded_between(&seed, 1, 2) / h;
        jump.s[0] = seeded_between(&seed, -2, 2);
        jump.s[1] = jump.s[0] + opt.atol * seeded_log(&seed, 0.1, largest);
        kd_integrator *sdirk = make_sdirk(&d, &jumping, &opt);
        for (int i = 0; i < before + 3; i++) {
            const double t = kd_integrator_time(sdirk), x = kd_integrator_x(sdirk)[0];
            if (kd_integrator_step(sdirk, (before + 3) * h) != KD_OK) fail_msg("%s", kd_integrator_message(sdirk));
            const double h_made = kd_integrator_time(sdirk) - t, exact = exact_step(t, h_made, x);
            const double error = (kd_integrator_x(sdirk)[0] - exact) / (opt.atol + opt.rtol * fabs(exact));
            missed += !(fabs(error) < limit);
        }
        kd_integrator_destroy(sdirk);
    }
    return missed;
}

// An increment of up to ten times that of before, or of a tenth of the tolerance, is believed: hardly ever the wrong one.
static void stages_are_solved_behind_small_jumps(void **state)
{
    (void)state;
    const int missed = missed_behind_jumps(test_seed(6), 0, 1e4, 0.3);
    if (missed > 5) fail_msg("%d steps of 2000 jumps are off by more than 0.3 tolerances", missed);
}

// At rest every stage has one increment, of zero. Then the place of rest jumps by less than a tolerance: first increments of
// more than a tenth of it surprise, nothing is known of the rate, and a second one tells: four of five stages, mostly. If their
// rate were taken for 0.1 in place of 1, it would be two of them.
static void surprises_have_no_rate(void **state)
{
    uint64_t seed = test_seed(7);
    long     whole = 0;
    (void)state;
    for (int k = 0; k < 100; k++) {
        const double          h = seeded_log(&seed, 1e-3, 1);
        kd_integrator_options opt = kd_integrator_options_default();
        dense_dae             d;
        long                  made[2] = {0};
        opt.rtol = opt.atol = seeded_log(&seed, 1e-6, 1e-3);
        opt.h_fixed = h;
        opt.sdirk.newton_stop = 0.09;
        jump.at = INFINITY;
        jump.K[0] = seeded_between(&seed, 4, 20) / h;
        jump.s[0] = seeded_between(&seed, -2, 2);
        kd_integrator *sdirk = make_sdirk(&d, &jumping, &opt);
        for (int i = 0; i < 30; i++) {
            const long before = kd_integrator_stats(sdirk).solves;
            if (i == 29) jump.s[0] += seeded_between(&seed, 0.5, 0.8) * opt.atol * (1 + fabs(jump.s[0]));
            if (kd_integrator_step(sdirk, 40 * h) != KD_OK) fail_msg("%s", kd_integrator_message(sdirk));
            made[i == 29] = kd_integrator_stats(sdirk).solves - before;
        }
        assert_int_equal(made[0], 6); // one for each stage and one for the error
        whole += made[1];
        kd_integrator_destroy(sdirk);
    }
    if (whole < 900) fail_msg("%ld increments in 100 steps behind jumps", whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coefficients_satisfy_order_conditions),
        cmocka_unit_test(esdirk_has_stage_order_2),
        cmocka_unit_test(methods_are_L_stable),
        cmocka_unit_test(orders_are_measured),
        cmocka_unit_test(order_holds_with_time),
        cmocka_unit_test(stiff_components_fall_onto_the_solution),
        cmocka_unit_test(error_follows_the_tolerance),
        cmocka_unit_test(prediction_saves_iterations),
        cmocka_unit_test(dense_output_has_its_order),
        cmocka_unit_test(dense_output_without_slope_at_the_start),
        cmocka_unit_test(stages_are_solved_where_equations_change),
        cmocka_unit_test(stages_are_solved_behind_small_jumps),
        cmocka_unit_test(surprises_have_no_rate),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
