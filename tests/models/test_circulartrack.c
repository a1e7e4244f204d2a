// The mass on a circular track: exact motion, and drift of the constraint as S1 Eq. 35 and the text below it say.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "circulartrack.h"
#include "gallery.h"
#include "integrator/euler.h"

typedef struct fixture {
    kd_eom   *eom;
    kd_state *x;
    kd_inputs inputs;
} fixture;

static fixture open_track(void)
{
    fixture f;
    assert_int_equal(kd_gallery_find("circulartrack")->create(&f.eom, &f.x, &f.inputs), KD_OK);
    return f;
}

// At its final speed from the start: uniform rotation, so that nothing but the drift happens
static fixture open_uniform(void)
{
    fixture f = open_track();
    f.x->v[1] = 1;
    f.x->lambda[0] = 1;
    f.x->a[0] = -1;
    f.x->a[1] = 0;
    return f;
}

static void close_track(fixture *f)
{
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

// ---- motion ---------------------------------------------------------------------------------------------------------

// The exact motion satisfies the equations: its velocity is the derivative of its position, and residual, b and all
// constraint levels vanish.
static void exact_motion_satisfies_the_equations(void **state)
{
    (void)state;
    fixture      f = open_track();
    kd_eom_data *d;
    const double h = 1e-5;
    assert_int_equal(kd_eom_data_create(f.eom, &d), KD_OK);
    for (double t = 0.1; t < 5; t += 0.7) {
        double p[3][2], v[3][2], zeta[3], lambda[3], a[2], rate, out[2];
        for (int k = 0; k < 3; k++) kd_circulartrack_exact(t + (k - 1) * h, p[k], v[k], &zeta[k], &lambda[k]);
        for (int i = 0; i < 2; i++) {
            assert_true(fabs((p[2][i] - p[0][i]) / (2 * h) - v[1][i]) < 1e-8);
            a[i] = (v[2][i] - v[0][i]) / (2 * h);
        }
        kd_eom_at_time(d, t, NULL, NULL, NULL, NULL);
        kd_eom_at_position(d, p[1], NULL);
        kd_eom_at_velocity(d, v[1], &zeta[1]);
        kd_eom_at_acceleration(d, a, NULL, &lambda[1], NULL);
        assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, out), KD_EVAL_OK);
        assert_true(fabs(out[0]) + fabs(out[1]) < 1e-8);
        assert_int_equal(kd_eom_eval(d, KD_B, &rate), KD_EVAL_OK);
        assert_true(fabs((zeta[2] - zeta[0]) / (2 * h) - rate) < 1e-8);
        assert_int_equal(kd_eom_eval(d, KD_GII, out), KD_EVAL_OK);
        assert_true(fabs(out[0]) < 1e-8);
    }
    kd_eom_data_destroy(d);
    close_track(&f);
}

// Integration follows the exact motion, while the controller works and long after.
static void integration_follows_the_exact_motion(void **state)
{
    (void)state;
    fixture               f = open_track();
    kd_simulation_options opt = kd_simulation_options_default();
    kd_simulation        *simulation;
    opt.rtol = opt.atol = 1e-10;
    assert_int_equal(kd_simulation_create(f.eom, &f.inputs, &opt, f.x, &simulation, NULL, 0), KD_OK);
    for (double t = 0.25; t < 300; t *= 2) {
        double p[2], v[2], zeta, lambda;
        assert_int_equal(kd_simulation_run(simulation, t), KD_OK);
        kd_circulartrack_exact(t, p, v, &zeta, &lambda);
        for (int i = 0; i < 2; i++) {
            assert_true(fabs(f.x->p[i] - p[i]) < 1e-7);
            assert_true(fabs(f.x->v[i] - v[i]) < 1e-7);
        }
        assert_true(fabs(f.x->r[0] - zeta) < 1e-8);
        assert_true(fabs(f.x->lambda[0] - lambda) < 1e-6);
    }
    kd_simulation_destroy(simulation);
    close_track(&f);
}

// ---- drift ----------------------------------------------------------------------------------------------------------

enum { SAMPLES = 21 };

typedef struct drift {
    double t[SAMPLES], g[SAMPLES], gI[SAMPLES];
} drift;

// |g| and |gI| at times from 10 to 1000 [s], equally spaced in the logarithm. Constant steps of 1/8 (the times are
// multiples) and a fixed bound of Newton's error, so that each step adds the same.
static drift measure(kd_formulation form, kd_integrator_kind integrator, kd_projection projection)
{
    fixture               f = open_uniform();
    kd_simulation_options opt = kd_simulation_options_default();
    kd_simulation        *simulation;
    drift                 out;
    opt.formulation = form;
    opt.integrator = integrator;
    opt.formulation_options.projection = projection;
    opt.integrator_options.rtol = opt.integrator_options.atol = 1e-6;
    opt.integrator_options.radau.newton_stop = 1e-4;
    opt.integrator_options.h_first = opt.integrator_options.h_max = 0.125;
    opt.integrator_options.rtol = opt.integrator_options.atol = 1e-6;
    assert_int_equal(kd_simulation_create(f.eom, &f.inputs, &opt, f.x, &simulation, NULL, 0), KD_OK);
    for (int i = 0; i < SAMPLES; i++) {
        out.t[i] = floor(8 * 10 * pow(100, (double)i / (SAMPLES - 1))) / 8;
        assert_int_equal(kd_simulation_run(simulation, out.t[i]), KD_OK);
        const double *p = f.x->p, *v = f.x->v;
        out.g[i] = fabs(p[0] * p[0] + p[1] * p[1] - 1);
        out.gI[i] = fabs(2 * (p[0] * v[0] + p[1] * v[1]));
    }
    if (integrator == KD_RADAU) assert_int_equal(kd_simulation_stats(simulation).rejected_newton, 0);
    kd_simulation_destroy(simulation);
    close_track(&f);
    return out;
}

// Slope of log y over log t by least squares
static double slope(const double *t, const double *y)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const double a = log(t[i]), b = log(y[i]);
        sx += a, sy += b, sxx += a * a, sxy += a * b;
    }
    return (SAMPLES * sxy - sx * sy) / (SAMPLES * sxx - sx * sx);
}

// In the index-2 form |g| grows like t: the error of each step stays (S1 Eq. 35).
static void index_2_drifts_linearly(void **state)
{
    (void)state;
    const drift d = measure(KD_INDEX2, KD_RADAU, KD_PROJECT_NEVER);
    assert_true(fabs(slope(d.t, d.g) - 1) < 0.05);
    assert_true(d.g[SAMPLES - 1] > 1e-6);
}

// In the index-1 form the velocity constraint drifts like t and the position constraint like t^2.
static void index_1_drifts_quadratically(void **state)
{
    (void)state;
    const drift d = measure(KD_INDEX1, KD_RADAU, KD_PROJECT_NEVER);
    assert_true(fabs(slope(d.t, d.gI) - 1) < 0.1);
    assert_true(fabs(slope(d.t, d.g) - 2) < 0.15);
    assert_true(d.g[SAMPLES - 1] > 1e-3);
}

// The Gear-Gupta-Leimkuhler form and psf do not drift.
static void ggl_and_psf_do_not_drift(void **state)
{
    (void)state;
    const drift d = measure(KD_GGL, KD_RADAU, KD_PROJECT_NEVER);
    const drift e = measure(KD_PSF, KD_RADAU, KD_PROJECT_NEVER), b = measure(KD_GGL, KD_BDF, KD_PROJECT_NEVER);
    assert_true(fabs(slope(d.t, d.g)) < 0.1);
    for (int i = 0; i < SAMPLES; i++) assert_true(d.g[i] < 1e-8 && e.g[i] < 1e-13 && b.g[i] < 1e-5);
}

// Projection takes the drift away, in both forms, with both integrators, in every step or beyond a bound (1e-8).
static void projection_takes_the_drift_away(void **state)
{
    (void)state;
    static const kd_formulation     forms[] = {KD_INDEX2, KD_INDEX1};
    static const kd_integrator_kind integrators[] = {KD_RADAU, KD_BDF};
    for (int k = 0; k < 4; k++) {
        const drift always = measure(forms[k / 2], integrators[k % 2], KD_PROJECT_ALWAYS);
        const drift bound = measure(forms[k / 2], integrators[k % 2], KD_PROJECT_BOUND);
        for (int i = 0; i < SAMPLES; i++) {
            assert_true(always.g[i] < 1e-13 && always.gI[i] < 1e-13);
            assert_true(bound.g[i] <= 1e-8 && bound.gI[i] <= 1e-8);
        }
    }
}

// Linear-implicit Euler steps move the mass along the tangent: |q|^2 changes by -h^2 |u|^2 in each, so g = -h t in the
// index-2 form, and it stays at h^2 |u|^2 in the GGL form.
static void linear_implicit_euler_drifts_as_computed(void **state)
{
    (void)state;
    static const kd_formulation forms[] = {KD_INDEX2, KD_GGL};
    const double                h = 1e-3;
    for (int k = 0; k < 2; k++) {
        fixture f = open_uniform();
        euler   e = {0};
        assert_int_equal(kd_formulation_create(f.eom, NULL, f.x, forms[k], NULL, &e.dae, NULL, 0), KD_OK);
        kd_formulation_pack(e.dae, f.x, e.x);
        for (int n = 0; n < 20000; n++) assert_int_equal(euler_step(&e, h, 1), KD_OK);
        const double g = e.x[0] * e.x[0] + e.x[1] * e.x[1] - 1;
        if (forms[k] == KD_INDEX2)
            assert_true(fabs(g + h * e.t) < 1e-2 * h * e.t);
        else
            assert_true(fabs(g - h * h) < 1e-2 * h * h);
        kd_dae_destroy(e.dae);
        close_track(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_motion_satisfies_the_equations),
        cmocka_unit_test(integration_follows_the_exact_motion),
        cmocka_unit_test(index_2_drifts_linearly),
        cmocka_unit_test(index_1_drifts_quadratically),
        cmocka_unit_test(ggl_and_psf_do_not_drift),
        cmocka_unit_test(projection_takes_the_drift_away),
        cmocka_unit_test(linear_implicit_euler_drifts_as_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
