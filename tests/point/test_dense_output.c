// Tests of the motion between two points.
#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "pendulum.h"
#include "point/dense_output.h"

static void exact_pendulum(double t, double *x)
{
    kd_pendulum_exact(13.75, false, 2.9, t, x, x + 2, x + 4);
}

// On the exact pendulum the error in p falls with h^6 (with h^8 or more where symmetry helps), that in v with h^5;
// lambda follows. Without projection, so that the polynomial itself is seen.
static void order_of_the_pendulum(void **state)
{
    (void)state;
    const double           p0[2] = {0, -1}, v0[2] = {2.9, 0};
    kd_formulation_options opt = kd_formulation_options_default();
    kd_eom                *eom;
    kd_state              *x;
    kd_acceleration       *acceleration;
    kd_dense_output       *dense;
    double                 error[2][3];
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    assert_int_equal(kd_acceleration_create(eom, NULL, x, &opt, &acceleration), KD_OK);
    assert_int_equal(kd_dense_output_create(acceleration, false, &dense), KD_OK);
    for (int k = 0; k < 2; k++) {
        double h = 0.1 / (1 + k), t0 = 0.3, x0[5], x1[5], y[5], exact[5], a[2];
        exact_pendulum(t0, x0);
        exact_pendulum(t0 + h, x1);
        exact_pendulum(t0 + 0.37 * h, exact);
        assert_int_equal(kd_dense_output_eval(dense, t0, x0, t0 + h, x1, t0 + 0.37 * h, y, a), KD_EVAL_OK);
        error[k][0] = fmax(fabs(y[0] - exact[0]), fabs(y[1] - exact[1]));
        error[k][1] = fmax(fabs(y[2] - exact[2]), fabs(y[3] - exact[3]));
        error[k][2] = fabs(y[4] - exact[4]);
        assert_close(a[1], -13.75 - 2 * y[1] * y[4], 1e-13);
    }
    assert_true(error[0][0] < 2e-6);
    assert_true(log2(error[0][0] / error[1][0]) > 5.7);
    assert_true(log2(error[0][1] / error[1][1]) > 4.7);
    assert_true(log2(error[0][2] / error[1][2]) > 4.7);
    kd_dense_output_destroy(dense);
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// At the ends the points themselves come back, to the last bit.
static void ends_come_back(void **state)
{
    (void)state;
    const double           p0[2] = {0, -1}, v0[2] = {2.9, 0};
    kd_formulation_options opt = kd_formulation_options_default();
    kd_eom                *eom;
    kd_state              *x;
    kd_acceleration       *acceleration;
    kd_dense_output       *dense;
    double                 x0[5], x1[5], y[5];
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    assert_int_equal(kd_acceleration_create(eom, NULL, x, &opt, &acceleration), KD_OK);
    assert_int_equal(kd_dense_output_create(acceleration, true, &dense), KD_OK);
    exact_pendulum(0.2, x0);
    exact_pendulum(0.3, x1);
    assert_int_equal(kd_dense_output_eval(dense, 0.2, x0, 0.3, x1, 0.2, y, NULL), KD_EVAL_OK);
    assert_memory_equal(y, x0, sizeof y);
    assert_int_equal(kd_dense_output_eval(dense, 0.2, x0, 0.3, x1, 0.3, y, NULL), KD_EVAL_OK);
    assert_memory_equal(y, x1, sizeof y);
    // projected: the constraint holds in between
    assert_int_equal(kd_dense_output_eval(dense, 0.2, x0, 0.3, x1, 0.26, y, NULL), KD_EVAL_OK);
    assert_true(fabs(y[0] * y[0] + y[1] * y[1] - 1) < 1e-12);
    assert_true(fabs(y[0] * y[2] + y[1] * y[3]) < 1e-12);
    kd_dense_output_destroy(dense);
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Largest difference of p, v, r, s between dense output over one interval of length h and short steps to its middle.
static double difference_from_short_steps(kd_eom_def def, const kd_inputs *inputs, const place *at, double h)
{
    kd_eom   *eom = make(&def);
    kd_state *x = state_at(eom, at), *middle = state_at(eom, at), *last = state_at(eom, at);
    double    most = 0, y[64];
    make_consistent(eom, inputs, x);
    kd_state_copy(x, middle);
    kd_state_copy(x, last);
    kd_dae *dae = make_dae(eom, inputs, x, KD_PSF1, NULL);
    integrate(dae, 1e-12, 0.4 * h, middle, NULL);
    integrate(dae, 1e-12, h, last, NULL);
    assert_int_equal(dae->methods->interpolate(dae->impl, 0, x->p, h, last->p, 0.4 * h, y), KD_EVAL_OK);
    kd_dims d = kd_eom_dims(eom);
    for (int i = 0; i < x->n; i++) {
        int  j = i - d.np - d.nv - d.nr;
        bool solved = j >= 0 && !(j >= d.nw && j < d.nw + d.ns);
        if (!solved) most = fmax(most, fabs(y[i] - middle->p[i]));
        // the solved ones satisfy the equations at the interpolated point, which is as close
        if (solved) assert_true(fabs(y[i] - middle->p[i]) < 0.05 * fmax(1, fabs(middle->p[i])));
    }
    kd_dae_destroy(dae);
    kd_state_destroy(last);
    kd_state_destroy(middle);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return most;
}

// Quaternions, contact coordinates, inner states: the error falls at least with h^4 (r is a cubic) or h^5 (p, v).
static void order_of_other_systems(void **state)
{
    (void)state;
    double e0 = difference_from_short_steps(body(), NULL, &body_place, 0.2);
    double e1 = difference_from_short_steps(body(), NULL, &body_place, 0.1);
    assert_true(e0 < 1e-2 && log2(e0 / e1) > 4.5);
    e0 = difference_from_short_steps(whole(), &whole_inputs, &whole_place, 0.4);
    e1 = difference_from_short_steps(whole(), &whole_inputs, &whole_place, 0.2);
    assert_true(e0 < 1e-3 && log2(e0 / e1) > 3.5);
}

// The end of one interval serves the next: a second evaluation costs less than the first.
static void ends_are_kept(void **state)
{
    (void)state;
    const double           p0[2] = {0, -1}, v0[2] = {2.9, 0};
    kd_formulation_options opt = kd_formulation_options_default();
    kd_eom                *eom;
    kd_state              *x;
    kd_acceleration       *acceleration;
    kd_dense_output       *dense;
    double                 xs[3][5], y[5], again[5];
    long                   calls[4];
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    assert_int_equal(kd_acceleration_create(eom, NULL, x, &opt, &acceleration), KD_OK);
    assert_int_equal(kd_dense_output_create(acceleration, true, &dense), KD_OK);
    for (int k = 0; k < 3; k++) exact_pendulum(0.1 * k, xs[k]);
    for (int k = 0; k < 4; k++) {
        int  i = k / 2;
        long before = kd_eom_data_counters(kd_acceleration_data(acceleration)).fn[KD_RESIDUAL];
        assert_int_equal(kd_dense_output_eval(dense, 0.1 * i, xs[i], 0.1 * (i + 1), xs[i + 1], 0.1 * i + 0.03,
                                              k == 0 ? y : again, NULL),
                         KD_EVAL_OK);
        calls[k] = kd_eom_data_counters(kd_acceleration_data(acceleration)).fn[KD_RESIDUAL] - before;
        if (k == 1) assert_memory_equal(y, again, sizeof y);
    }
    assert_true(calls[0] > calls[1]); // both ends, none
    assert_true(calls[2] > calls[3]); // one end, none
    assert_int_equal(calls[0] - calls[1], 2 * (calls[2] - calls[3]));
    kd_dense_output_destroy(dense);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        failing_allocator_use(&f);
        kd_status status = kd_dense_output_create(acceleration, true, &dense);
        kd_dense_output_destroy(dense);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_the_pendulum),
        cmocka_unit_test(ends_come_back),
        cmocka_unit_test(order_of_other_systems),
        cmocka_unit_test(ends_are_kept),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
