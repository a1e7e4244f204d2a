// Tests of the motion between two points.
#include "case.h"
#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "pendulum.h"
#include "point/dense_output.h"
#include "trust/seeded.h"

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

// ---- coordinates that move by themselves ----------------------------------------------------------------------------

// A point that falls, seen from a frame that turns by phi(t) = turn t + 0.2 sin t: y = R(phi)' X, v = R' X', p = C y;
// p' = C v + phi' C K C^-1 p, v' = phi' K v + R' g, K = [0 1; -1 0]
typedef struct turning {
    double turn, C[4], X[2], V[2], g[2];
} turning;

static double turning_rate(const turning *s, double t)
{
    return s->turn + 0.2 * cos(t);
}

// out = R(phi)' x
static void turn_back(const turning *s, double t, const double *x, double *out)
{
    const double phi = s->turn * t + 0.2 * sin(t), c = cos(phi), si = sin(phi);
    out[0] = c * x[0] + si * x[1];
    out[1] = c * x[1] - si * x[0];
}

static void times_C(const turning *s, const double *y, double *p)
{
    p[0] = s->C[0] * y[0] + s->C[2] * y[1];
    p[1] = s->C[1] * y[0] + s->C[3] * y[1];
}

static kd_eval turning_kinematics(const kd_point *x, void *context, double *rate)
{
    const turning *s = context;
    const double   det = s->C[0] * s->C[3] - s->C[1] * s->C[2], dphi = turning_rate(s, x->t);
    const double y[2] = {(s->C[3] * x->p[0] - s->C[2] * x->p[1]) / det, (s->C[0] * x->p[1] - s->C[1] * x->p[0]) / det};
    const double moved[2] = {x->v[0] + dphi * y[1], x->v[1] - dphi * y[0]};
    times_C(s, moved, rate);
    return KD_EVAL_OK;
}

static kd_eval turning_Z(const kd_point *x, void *context, double *Z)
{
    (void)x;
    memcpy(Z, ((const turning *)context)->C, 4 * sizeof *Z);
    return KD_EVAL_OK;
}

static kd_eval turning_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1;
    M[1] = M[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval turning_f(const kd_point *x, void *context, double *f)
{
    const turning *s = context;
    const double   dphi = turning_rate(s, x->t);
    turn_back(s, x->t, s->g, f);
    f[0] += dphi * x->v[1];
    f[1] -= dphi * x->v[0];
    return KD_EVAL_OK;
}

// p, v at t
static void turning_exact(const turning *s, double t, double *x)
{
    double at[2], speed[2], y[2];
    for (int i = 0; i < 2; i++) {
        at[i] = s->X[i] + t * (s->V[i] + 0.5 * t * s->g[i]);
        speed[i] = s->V[i] + t * s->g[i];
    }
    turn_back(s, t, at, y);
    times_C(s, y, x);
    turn_back(s, t, speed, x + 2);
}

static void errors_of_turning(kd_dense_output *dense, const turning *s, double h, double *error)
{
    const double t0 = 0.4, t = t0 + 0.37 * h;
    double       x0[4], x1[4], y[4], exact[4];
    turning_exact(s, t0, x0);
    turning_exact(s, t0 + h, x1);
    turning_exact(s, t, exact);
    assert_int_equal(kd_dense_output_eval(dense, t0, x0, t0 + h, x1, t, y, NULL), KD_EVAL_OK);
    for (int k = 0; k < 2; k++) error[k] = hypot(y[2 * k] - exact[2 * k], y[2 * k + 1] - exact[2 * k + 1]);
}

// Against the motion in closed form: p with h^6, v with h^5 where coordinates move by themselves as well.
static void order_of_coordinates_that_move_by_themselves(void **state)
{
    uint64_t seed = test_seed(3);
    (void)state;
    for (int k = 0; k < 10; k++) {
        turning s = {.turn = seeded_between(&seed, 1, 3),
                     .C = {seeded_between(&seed, 1, 2), seeded_between(&seed, -0.5, 0.5),
                           seeded_between(&seed, -0.5, 0.5), seeded_between(&seed, 1, 2)}};
        for (int i = 0; i < 2; i++) {
            s.X[i] = seeded_between(&seed, -2, 2);
            s.V[i] = seeded_between(&seed, -2, 2);
            s.g[i] = seeded_between(&seed, -5, 5);
        }
        kd_eom_def             def = kd_eom_def_default();
        kd_formulation_options opt = kd_formulation_options_default();
        kd_acceleration       *acceleration;
        kd_dense_output       *dense;
        double                 error[2][2];
        place                  at = {0};
        def.dims = (kd_dims){.np = 2, .nv = 2};
        def.context = &s;
        def.kinematics = turning_kinematics;
        def.Z = turning_Z;
        def.M = turning_M;
        def.f = turning_f;
        turning_exact(&s, 0, at.p);
        kd_eom   *eom = make(&def);
        kd_state *x = state_at(eom, &at);
        assert_int_equal(kd_acceleration_create(eom, NULL, x, &opt, &acceleration), KD_OK);
        assert_int_equal(kd_dense_output_create(acceleration, false, &dense), KD_OK);
        for (int i = 0; i < 2; i++) errors_of_turning(dense, &s, 0.2 / (1 + i), error[i]);
        for (int i = 0; i < 2; i++) {
            const double slope = log2(error[0][i] / error[1][i]);
            if (!(slope > 5.5 - i && error[0][i] < 1e-3))
                fail_msg("%s: errors %g, %g, slope %.2f", i == 0 ? "p" : "v", error[0][i], error[1][i], slope);
        }
        kd_dense_output_destroy(dense);
        kd_acceleration_destroy(acceleration);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
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
        cmocka_unit_test(order_of_the_pendulum),  cmocka_unit_test(ends_come_back),
        cmocka_unit_test(order_of_other_systems), cmocka_unit_test(order_of_coordinates_that_move_by_themselves),
        cmocka_unit_test(ends_are_kept),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
