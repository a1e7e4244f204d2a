// Tests of accelerations, multipliers and projection at a point.
#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "math/dense.h"
#include "pendulum.h"
#include "trust/seeded.h"

static kd_acceleration *make_acceleration(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                          kd_decomposition kind)
{
    kd_formulation_options opt = kd_formulation_options_default();
    kd_acceleration       *acceleration;
    opt.constraints = kind;
    assert_int_equal(kd_acceleration_create(eom, inputs, x, &opt, &acceleration), KD_OK);
    return acceleration;
}

// The pendulum: lambda and a in closed form, by LU and by SVD.
static void pendulum_in_closed_form(void **state)
{
    (void)state;
    const double p0[2] = {0.6, -0.8}, v0[2] = {1.6, 1.2}, gravity = 9.81;
    kd_eom      *eom;
    kd_state    *x;
    assert_int_equal(kd_pendulum_create(gravity, p0, v0, false, &eom, &x), KD_OK);
    double lambda = 0.5 * (4 - gravity * p0[1]); // 2 p.a + 2 |v|^2 = 0, a = -gravity e_y - 2 p lambda, |v| = 2
    for (int kind = KD_DECOMPOSE_LU; kind <= KD_DECOMPOSE_SVD; kind++) {
        kd_acceleration *acceleration = make_acceleration(eom, NULL, x, (kd_decomposition)kind);
        double           a[2], found = -3;
        assert_int_equal(kd_acceleration_solve(acceleration, 0, x->p, NULL, x->v, NULL, a, NULL, &found, NULL),
                         KD_EVAL_OK);
        assert_close(found, lambda, 1e-14);
        assert_close(a[0], -2 * p0[0] * lambda, 1e-14);
        assert_close(a[1], -gravity - 2 * p0[1] * lambda, 1e-14);
        kd_acceleration_destroy(acceleration);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A point of the caller: the same bits as with a point of its own, whoever moves it between two calls, and whatever
// parameters he leaves there.
static void a_point_of_the_caller(void **state)
{
    (void)state;
    const double p0[2] = {0.6, -0.8}, v0[2] = {1.6, 1.2}, usual = 9.81, moon[2] = {1.62, 0};
    kd_eom      *eom;
    kd_state    *x, *theirs;
    double       a[2][2], lambda[2];
    assert_int_equal(kd_pendulum_create(usual, p0, v0, false, &eom, &x), KD_OK);
    assert_int_equal(kd_state_create(eom, &theirs), KD_OK);
    theirs->p[0] = 1;
    theirs->theta = moon;
    kd_eom_data           *point = make_data(eom);
    kd_formulation_options opt = kd_formulation_options_default();
    for (int k = 0; k < 2; k++) {
        kd_acceleration *acceleration;
        opt.point = k == 0 ? NULL : point;
        assert_int_equal(kd_acceleration_create(eom, NULL, x, &opt, &acceleration), KD_OK);
        assert_int_equal(kd_eom_at_state(point, NULL, theirs, KD_STAGE_ACCELERATION), KD_EVAL_OK);
        assert_int_equal(kd_acceleration_solve(acceleration, 0, x->p, NULL, x->v, NULL, a[k], NULL, &lambda[k], NULL),
                         KD_EVAL_OK);
        kd_acceleration_destroy(acceleration);
    }
    assert_memory_equal(a[0], a[1], sizeof a[0]);
    assert_memory_equal(&lambda[0], &lambda[1], sizeof lambda[0]);
    assert_close(a[1][1], -usual - 2 * p0[1] * lambda[1], 1e-14);
    // it is still there
    assert_int_equal(kd_eom_at_state(point, NULL, x, KD_STAGE_POSITION), KD_EVAL_OK);
    kd_eom_data_destroy(point);
    kd_state_destroy(theirs);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// How far given accelerations are from right, by the matrix of a neighbour: exact where that is the matrix of the point,
// about right close by, and not answered far away, without a solution before, or by SVD.
static void differences_by_the_matrix_of_a_neighbour(void **state)
{
    (void)state;
    const double p0[2] = {0.6, -0.8}, v0[2] = {1.6, 1.2}, wrong[2] = {0.7, -0.4};
    kd_eom      *eom;
    kd_state    *x;
    assert_int_equal(kd_pendulum_create(9.81, p0, v0, false, &eom, &x), KD_OK);
    for (int kind = KD_DECOMPOSE_LU; kind <= KD_DECOMPOSE_SVD; kind++) {
        kd_acceleration *acceleration = make_acceleration(eom, NULL, x, (kd_decomposition)kind);
        double           a[2], right[2], difference[2], lambda = 1;
        bool             done;
        assert_int_equal(kd_acceleration_difference(acceleration, 0, p0, NULL, v0, NULL, wrong, NULL, &lambda, NULL,
                                                    difference, &done),
                         KD_EVAL_OK);
        assert_false(done);
        assert_int_equal(kd_acceleration_solve(acceleration, 0, p0, NULL, v0, NULL, a, NULL, &lambda, NULL),
                         KD_EVAL_OK);
        for (int k = 0; k < 3; k++) { // turned by 0, 0.005 and 2 rad
            const double turn = k == 0 ? 0 : k == 1 ? 0.005 : 2, c = cos(turn), z = sin(turn);
            const double p[2] = {c * p0[0] - z * p0[1], z * p0[0] + c * p0[1]};
            const double v[2] = {c * v0[0] - z * v0[1], z * v0[0] + c * v0[1]};
            double       force = lambda;
            assert_int_equal(kd_acceleration_difference(acceleration, 0, p, NULL, v, NULL, wrong, NULL, &force, NULL,
                                                        difference, &done),
                             KD_EVAL_OK);
            assert_int_equal(done, kind != KD_DECOMPOSE_SVD && k < 2);
            if (!done) continue;
            kd_acceleration *other = make_acceleration(eom, NULL, x, KD_DECOMPOSE_LU);
            assert_int_equal(kd_acceleration_solve(other, 0, p, NULL, v, NULL, right, NULL, &force, NULL), KD_EVAL_OK);
            const double size = hypot(right[0] - wrong[0], right[1] - wrong[1]), least = k == 0 ? 1e-13 : 0.02 * size;
            for (int i = 0; i < 2; i++) assert_true(fabs(wrong[i] + difference[i] - right[i]) <= least);
            kd_acceleration_destroy(other);
        }
        kd_acceleration_destroy(acceleration);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Forces that depend on multipliers and auxiliary variables: Newton's method meets all rows to rounding.
static void all_rows_are_met(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    for (int off = 0; off < 3; off++) {
        x->active_lambda[0] = off != 1;
        x->active_mu[0] = off != 2;
        kd_acceleration *acceleration = make_acceleration(eom, &whole_inputs, x, KD_DECOMPOSE_LU);
        assert_int_equal(kd_acceleration_solve(acceleration, 0.3, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu),
                         KD_EVAL_OK);
        kd_eom_data *data = make_data(eom);
        double       u, du, ddu, out[4];
        whole_input(0.3, NULL, &u, &du, &ddu);
        kd_eom_at_time(data, 0.3, &u, &du, &ddu, NULL);
        kd_eom_at_position(data, x->p, x->s);
        kd_eom_at_velocity(data, x->v, x->r);
        kd_eom_at_acceleration(data, x->a, x->w, x->lambda, x->mu);
        assert_int_equal(kd_eom_eval(data, KD_RESIDUAL, out), KD_EVAL_OK);
        for (int i = 0; i < 4; i++) assert_close(out[i], 0, 1e-13);
        assert_int_equal(kd_eom_eval(data, KD_D, out), KD_EVAL_OK);
        assert_close(out[0], 0, 1e-13);
        assert_int_equal(kd_eom_eval(data, KD_GII, out), KD_EVAL_OK);
        if (x->active_lambda[0])
            assert_close(out[0], 0, 1e-13);
        else
            assert_close(x->lambda[0], 0, 1e-15);
        assert_int_equal(kd_eom_eval(data, KD_HI, out), KD_EVAL_OK);
        if (x->active_mu[0])
            assert_close(out[0], 0, 1e-13);
        else
            assert_close(x->mu[0], 0, 1e-15);
        kd_eom_data_destroy(data);
        kd_acceleration_destroy(acceleration);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Rows of a half-explicit stage: residual and d hold here, gI and h at another point for the velocity v + factor a, or
// the multiplier vanishes.
static void stages_meet_rows_elsewhere(void **state)
{
    (void)state;
    const double p[4] = {0.63, 0.37, 0.4, 0.22}, v[4] = {0.4, 0.3, 0.6, 0.5};
    kd_eom_def   def = whole();
    kd_eom      *eom = make(&def);
    kd_state    *x = state_at(eom, &whole_place);
    for (int off = 0; off < 3; off++) {
        x->active_lambda[0] = off != 1;
        x->active_mu[0] = off != 2;
        kd_acceleration *acceleration = make_acceleration(eom, &whole_inputs, x, KD_DECOMPOSE_LU);
        const kd_next    next = {.t = 0.35, .p = p, .v = v, .factor = 0.02};
        assert_int_equal(kd_acceleration_contacts(acceleration, 0.3, x->p, x->s), KD_EVAL_OK);
        assert_int_equal(
            kd_acceleration_stage(acceleration, &next, 0.3, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu),
            KD_EVAL_OK);
        kd_eom_data *data = make_data(eom);
        double       u, du, ddu, out[4], s = p[0] * p[1], moved[4];
        whole_input(0.3, NULL, &u, &du, &ddu);
        kd_eom_at_time(data, 0.3, &u, &du, &ddu, NULL);
        kd_eom_at_position(data, x->p, x->s);
        kd_eom_at_velocity(data, x->v, x->r);
        kd_eom_at_acceleration(data, x->a, x->w, x->lambda, x->mu);
        assert_int_equal(kd_eom_eval(data, KD_RESIDUAL, out), KD_EVAL_OK);
        for (int i = 0; i < 4; i++) assert_close(out[i], 0, 1e-12);
        assert_int_equal(kd_eom_eval(data, KD_D, out), KD_EVAL_OK);
        assert_close(out[0], 0, 1e-12);
        for (int i = 0; i < 4; i++) moved[i] = v[i] + next.factor * x->a[i];
        whole_input(next.t, NULL, &u, &du, &ddu);
        kd_eom_at_time(data, next.t, &u, &du, &ddu, NULL);
        kd_eom_at_position(data, p, &s);
        kd_eom_at_velocity(data, moved, x->r);
        assert_int_equal(kd_eom_eval(data, KD_GI, out), KD_EVAL_OK);
        assert_close(x->active_lambda[0] ? out[0] : x->lambda[0], 0, 1e-14);
        assert_int_equal(kd_eom_eval(data, KD_H, out), KD_EVAL_OK);
        assert_close(x->active_mu[0] ? out[0] : x->mu[0], 0, 1e-14);
        kd_eom_data_destroy(data);
        kd_acceleration_destroy(acceleration);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A circle, twice, with a force that depends on both multipliers
static kd_eval twice_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1;
    return KD_EVAL_OK;
}
static kd_eval twice_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = 0.1 * (x->lambda[0] + 2 * x->lambda[1]);
    f[1] = -9.81;
    return KD_EVAL_OK;
}
static kd_eval twice_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    g[1] = 2 * g[0];
    return KD_EVAL_OK;
}

// Redundant rows and friction: after a stage, which leaves one of them out, multipliers are again those of minimum
// norm, whatever they come as.
static void stages_leave_no_matrix_behind(void **state)
{
    (void)state;
    const double  p[2] = {0.6, -0.8}, v[2] = {1.6, 1.2}, p_next[2] = {0.602, -0.7985};
    const kd_next next = {.t = 0.01, .p = p_next, .v = v, .factor = 0.02};
    kd_eom_def    def = kd_eom_def_default();
    kd_state     *x;
    double        a[2], lambda[2][2] = {{0}};
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 2};
    def.M = twice_M;
    def.f = twice_f;
    def.g = twice_g;
    def.force_of_multipliers = true;
    kd_eom *eom = make(&def);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    for (int k = 0; k < 2; k++) {
        kd_acceleration *acceleration = make_acceleration(eom, NULL, x, KD_DECOMPOSE_SVD);
        assert_int_equal(kd_acceleration_select(acceleration, 0, p, NULL), KD_EVAL_OK);
        if (k > 0)
            assert_int_equal(kd_acceleration_stage(acceleration, &next, 0, p, NULL, v, NULL, a, NULL, lambda[k], NULL),
                             KD_EVAL_OK);
        assert_int_equal(kd_acceleration_solve(acceleration, 0, p, NULL, v, NULL, a, NULL, lambda[k], NULL),
                         KD_EVAL_OK);
        kd_acceleration_destroy(acceleration);
    }
    assert_true(fabs(lambda[0][0]) > 0.1);
    for (int i = 0; i < 2; i++) assert_close(lambda[1][i], lambda[0][i], 1e-10);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A stage with the same numbers behind an acceleration whose matrix may be shared; that acceleration is found again.
static void stages_next_to_a_point_leave_it_alone(void **state)
{
    (void)state;
    const double     p0[2] = {0.6, -0.8}, v0[2] = {1.6, 1.2}, next_p[2] = {0.600003, -0.799998};
    kd_eom          *eom;
    kd_state        *x;
    double           a[2][2], lambda[2], first[2], again[2];
    const kd_next    next = {.t = 0, .p = next_p, .v = v0, .factor = 1e-3};
    kd_acceleration *acceleration[2];
    assert_int_equal(kd_pendulum_create(9.81, p0, v0, false, &eom, &x), KD_OK);
    for (int k = 0; k < 2; k++) {
        acceleration[k] = make_acceleration(eom, NULL, x, KD_DECOMPOSE_LU);
        if (k) kd_acceleration_share(acceleration[k]);
        lambda[k] = 0;
        assert_int_equal(kd_acceleration_solve(acceleration[k], 0, p0, NULL, v0, NULL, first, NULL, lambda + k, NULL),
                         KD_EVAL_OK);
        assert_int_equal(
            kd_acceleration_stage(acceleration[k], &next, 0, p0, NULL, v0, NULL, a[k], NULL, lambda + k, NULL),
            KD_EVAL_OK);
        double gI = next_p[0] * (v0[0] + 1e-3 * a[k][0]) + next_p[1] * (v0[1] + 1e-3 * a[k][1]), other = 0;
        assert_close(gI, 0, 1e-15);
        assert_int_equal(kd_acceleration_solve(acceleration[k], 0, p0, NULL, v0, NULL, again, NULL, &other, NULL),
                         KD_EVAL_OK);
        for (int i = 0; i < 2; i++) assert_close(again[i], first[i], 1e-14);
        kd_acceleration_destroy(acceleration[k]);
    }
    assert_close(lambda[0], lambda[1], 1e-11);
    for (int i = 0; i < 2; i++) assert_close(a[0][i], a[1][i], 1e-11);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A neighbour meets gI = 0 and h = 0 by the shortest way in the metric of M, as far as the matrix here can tell.
static void neighbours_meet_the_velocity_level(void **state)
{
    (void)state;
    const double     p[2] = {0.6, -0.8}, v[2] = {1.6, 1.2}, dp[2] = {2e-5, 1e-5}, before[2] = {3e-5, -4e-5};
    kd_eom          *eom;
    kd_state        *x;
    double           a[2], lambda = 0;
    kd_acceleration *acceleration;
    assert_int_equal(kd_pendulum_create(9.81, p, v, false, &eom, &x), KD_OK);
    for (int k = 0; k < 2; k++) { // with the matrix of an acceleration, or its own
        double dv[2] = {before[0], before[1]};
        acceleration = make_acceleration(eom, NULL, x, KD_DECOMPOSE_LU);
        kd_acceleration_share(acceleration);
        if (k)
            assert_int_equal(kd_acceleration_solve(acceleration, 0, p, NULL, v, NULL, a, NULL, &lambda, NULL),
                             KD_EVAL_OK);
        assert_int_equal(kd_acceleration_neighbour(acceleration, 0, p, NULL, v, NULL, dp, dv), KD_EVAL_OK);
        // what is left is the correction, 1e-5, times the distance
        assert_close((p[0] - dp[0]) * (v[0] - dv[0]) + (p[1] - dp[1]) * (v[1] - dv[1]), 0, 3e-9);
        assert_true(fabs(dv[0] - before[0]) > 1e-5);
        assert_close((dv[0] - before[0]) * p[1] - (dv[1] - before[1]) * p[0], 0, 1e-16);
        kd_acceleration_destroy(acceleration);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A point at a circle that is pushed by an input
static kd_eval pushed_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = x->u[0];
    f[1] = x->z[0];
    return KD_EVAL_OK;
}
static kd_eval counted_g(const kd_point *x, void *context, double *g)
{
    (*(int *)context)++;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    return KD_EVAL_OK;
}
static kd_eval push(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t;
    *u = *(double *)context;
    *du = *ddu = 0;
    return KD_EVAL_OK;
}

// What a stage evaluated at the point of its rows serves the acceleration there that is asked for next, and none behind
// it: inputs and z may have changed.
static void the_point_of_rows_serves_once(void **state)
{
    (void)state;
    const double  p[2] = {0.6, -0.8}, v[2] = {1.6, 1.2}, p_next[2] = {0.61, -0.79};
    const kd_next next = {.t = 0.01, .p = p_next, .v = v, .factor = 0.02};
    int           calls = 0, used[3];
    double        force = 1, a[4][2], lambda = 0;
    kd_eom_def    def = kd_eom_def_default();
    kd_state     *x;
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .nu = 1, .nz = 1};
    def.context = &calls;
    def.M = twice_M;
    def.f = pushed_f;
    def.g = counted_g;
    kd_eom   *eom = make(&def);
    kd_inputs inputs = {.eval = push, .context = &force};
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    kd_acceleration *acceleration = make_acceleration(eom, &inputs, x, KD_DECOMPOSE_LU);
    assert_int_equal(kd_acceleration_stage(acceleration, &next, 0, p, NULL, v, NULL, a[3], NULL, &lambda, NULL),
                     KD_EVAL_OK);
    for (int k = 0; k < 3; k++) {
        calls = 0;
        assert_int_equal(kd_acceleration_solve(acceleration, 0.01, p_next, NULL, v, NULL, a[k], NULL, &lambda, NULL),
                         KD_EVAL_OK);
        used[k] = calls;
        if (k == 1) force = 2, x->z[0] = 3;
    }
    assert_true(used[0] < used[1]);
    for (int i = 0; i < 2; i++) {
        assert_close(a[0][i], a[1][i], 1e-15);
        assert_true(fabs(a[2][i] - a[1][i]) > 0.1);
    }
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Projection meets all constraint levels; repeated it changes nothing any more; the velocity moves orthogonally to the
// constraint surface in the metric of M.
static void projection_meets_constraints(void **state)
{
    (void)state;
    kd_eom_def       def = whole();
    kd_eom          *eom = make(&def);
    kd_state        *x = state_at(eom, &whole_place);
    kd_acceleration *acceleration = make_acceleration(eom, &whole_inputs, x, KD_DECOMPOSE_LU);
    for (int k = 0; k < 8; k++)
        assert_int_equal(kd_acceleration_project(acceleration, 0, x->p, x->s, x->v, x->r, false), KD_EVAL_OK);
    double v0[4] = {0.9, -0.3, 0.2, 0.6}, v[4], p[4], M[16], GZ[4], HZ[4], u, du, ddu, out[1];
    memcpy(p, x->p, sizeof p);
    memcpy(v, v0, sizeof v);
    assert_int_equal(kd_acceleration_project(acceleration, 0, p, x->s, v, x->r, false), KD_EVAL_OK);
    for (int i = 0; i < 4; i++) assert_close(p[i], x->p[i], 1e-15);

    kd_eom_data *data = make_data(eom);
    whole_input(0, NULL, &u, &du, &ddu);
    kd_eom_at_time(data, 0, &u, &du, &ddu, NULL);
    kd_eom_at_position(data, p, x->s);
    kd_eom_at_velocity(data, v, x->r);
    for (int fn = KD_C; fn <= KD_H; fn++) {
        if (fn == KD_GII) continue;
        assert_int_equal(kd_eom_eval(data, (kd_fn)fn, out), KD_EVAL_OK);
        assert_close(out[0], 0, 1e-14);
    }
    // M (v - v0) lies in the range of [GZ' HZ']: it does no work on a direction that both annihilate
    assert_int_equal(kd_eom_constraint_matrices(data, GZ, HZ), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(data, KD_MASS, M), KD_EVAL_OK);
    double force[4] = {0};
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) force[i] += M[i + 4 * j] * (v[j] - v0[j]);
    // directions: any vector minus its components along GZ and HZ (Gram-Schmidt)
    double hg = 0, gg = 0, h[4];
    for (int i = 0; i < 4; i++) gg += GZ[i] * GZ[i], hg += GZ[i] * HZ[i];
    for (int i = 0; i < 4; i++) h[i] = HZ[i] - hg / gg * GZ[i];
    unsigned seed = 5;
    for (int k = 0; k < 3; k++) {
        double z[4], zg = 0, zh = 0, hh = 0, work = 0;
        for (int i = 0; i < 4; i++) z[i] = scatter(&seed);
        for (int i = 0; i < 4; i++) zg += z[i] * GZ[i], zh += z[i] * h[i], hh += h[i] * h[i];
        for (int i = 0; i < 4; i++) work += force[i] * (z[i] - zg / gg * GZ[i] - zh / hh * h[i]);
        assert_close(work, 0, 1e-14);
    }
    kd_eom_data_destroy(data);
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A wrong energy of the pendulum is corrected by the shortest move of angle and speed, at a turning point by the angle
// alone; at the equilibrium, where all its gradients vanish, nothing happens.
static void projection_onto_energy(void **state)
{
    (void)state;
    const double p0[2] = {0.6, -0.8}, v0[2] = {1.6, 1.2}, gravity = 9.81, energy = 2 + gravity * p0[1];
    kd_eom      *eom;
    kd_state    *x;
    assert_int_equal(kd_pendulum_create(gravity, p0, v0, true, &eom, &x), KD_OK);
    kd_acceleration *acceleration = make_acceleration(eom, NULL, x, KD_DECOMPOSE_LU);
    // angle from the vertical, speed: d energy = gravity sin(angle) d angle + speed d speed
    double angle = atan2(0.6, 0.8), speed = 2 + 1e-5;
    for (int k = 0; k < 2; k++) {
        double p[2] = {sin(angle), -cos(angle)}, v[2] = {speed * cos(angle), speed * sin(angle)};
        assert_int_equal(kd_acceleration_project(acceleration, 0, p, NULL, v, NULL, true), KD_EVAL_OK);
        assert_close(0.5 * (v[0] * v[0] + v[1] * v[1]) + gravity * p[1], energy, 1e-15);
        assert_close(hypot(p[0], p[1]), 1, 1e-15);
        assert_true(fabs(p[0] * v[0] + p[1] * v[1]) < 1e-15);
        double turned = atan2(p[0], -p[1]) - angle, faster = hypot(v[0], v[1]) - speed;
        assert_true(turned != 0);
        assert_true(fabs(faster * gravity * sin(angle) - turned * speed) < 1e-4 * fabs(turned));
        angle = acos(-energy / gravity) + 1e-4; // too high, at rest
        speed = 0;
    }
    double p[2] = {0, -1}, v[2] = {0, 0};
    assert_int_equal(kd_acceleration_project(acceleration, 0, p, NULL, v, NULL, true), KD_EVAL_OK);
    assert_true(p[0] == 0 && p[1] == -1 && v[0] == 0 && v[1] == 0);
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static kd_eval some_invariants(const kd_point *x, void *context, double *e)
{
    const double *p = x->p, *v = x->v, *zero = context;
    e[0] = v[0] * v[0] + v[1] * v[2] + p[2] * v[3] - zero[0];
    e[1] = sin(p[0]) * v[2] + x->s[0] * p[1] + p[3] * p[3] - zero[1];
    return KD_EVAL_OK;
}

// With contact coordinates, nonholonomic and moving constraints the gradients along the constraints are exact: what one
// move leaves of e is quadratic.
static void projection_onto_invariants(void **state)
{
    (void)state;
    double     zero[2] = {0}, size = 1e-9, out[2];
    kd_eom_def def = whole();
    def.dims.ne = 2;
    def.e = some_invariants;
    def.context = zero;
    kd_eom          *eom = make(&def);
    kd_state        *x = state_at(eom, &whole_place);
    kd_acceleration *acceleration = make_acceleration(eom, &whole_inputs, x, KD_DECOMPOSE_LU);
    for (int k = 0; k < 8; k++)
        assert_int_equal(kd_acceleration_project(acceleration, 0, x->p, x->s, x->v, x->r, false), KD_EVAL_OK);
    kd_eom_data *data = kd_acceleration_data(acceleration);
    assert_int_equal(kd_acceleration_at(acceleration, 0, x->p, x->s, x->v, x->r), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(data, KD_E, out), KD_EVAL_OK);
    zero[0] = out[0] + size;
    zero[1] = out[1] - size;
    assert_int_equal(kd_acceleration_project(acceleration, 0, x->p, x->s, x->v, x->r, true), KD_EVAL_OK);
    assert_int_equal(kd_acceleration_at(acceleration, 0, x->p, x->s, x->v, x->r), KD_EVAL_OK);
    static const kd_fn met[] = {KD_C, KD_G, KD_GI, KD_H, KD_E};
    for (size_t k = 0; k < sizeof met / sizeof *met; k++) {
        assert_int_equal(kd_eom_eval(data, met[k], out), KD_EVAL_OK);
        assert_true(fabs(out[0]) < 1e-15);
        if (met[k] == KD_E) assert_true(fabs(out[1]) < 1e-15);
    }
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Contact coordinates are found from a poor guess.
static void contacts_are_found(void **state)
{
    (void)state;
    kd_eom_def       def = contact();
    kd_eom          *eom = make(&def);
    place            at = contact_place();
    kd_state        *x = state_at(eom, &at);
    kd_acceleration *acceleration = make_acceleration(eom, NULL, x, KD_DECOMPOSE_LU);
    double           s[4], c[4];
    int              ns = kd_eom_dims(eom).ns;
    for (int i = 0; i < ns; i++) s[i] = x->s[i] + 0.1;
    assert_int_equal(kd_acceleration_contacts(acceleration, at.t, x->p, s), KD_EVAL_OK);
    kd_eom_data *data = kd_acceleration_data(acceleration);
    assert_int_equal(kd_eom_eval(data, KD_C, c), KD_EVAL_OK);
    for (int i = 0; i < ns; i++) assert_close(c[i], 0, 1e-14);
    kd_acceleration_destroy(acceleration);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static kd_eval nan_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = f[1] = f[2] = NAN;
    return KD_EVAL_OK;
}

// Functions that fail give words, not numbers; every allocation may fail.
static void failures_have_words(void **state)
{
    (void)state;
    kd_eom_def def = skate();
    def.f = nan_force;
    kd_eom          *eom = make(&def);
    kd_state        *x = state_at(eom, &skate_place);
    kd_acceleration *acceleration = make_acceleration(eom, NULL, x, KD_DECOMPOSE_LU);
    const char      *message;
    assert_int_equal(kd_acceleration_solve(acceleration, 0, x->p, NULL, x->v, NULL, x->a, NULL, NULL, x->mu),
                     KD_EVAL_RETRY);
    assert_int_equal(kd_acceleration_fault(acceleration, &message), KD_ERR_NOT_FINITE);
    assert_true(strlen(message) > 10);
    kd_acceleration_destroy(acceleration);

    kd_formulation_options opt = kd_formulation_options_default();
    for (long fail_at = 1;; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        failing_allocator_use(&f);
        kd_status status = kd_acceleration_create(eom, NULL, x, &opt, &acceleration);
        kd_acceleration_destroy(acceleration);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- rows that are switched off: six unknowns, four rows of g, two of h, all linear ---------------------------------

enum { LINEAR_V = 6, LINEAR_G = 4, LINEAR_H = 2 };

static double row_entry(int row, int j)
{
    return sin(1.0 + 2.7 * row + 1.3 * j * (row + 1));
}

static kd_eval linear_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    for (int i = 0; i < LINEAR_V; i++) {
        M[i + i * LINEAR_V] = 2 + 0.3 * i;
        if (i > 0) M[i + (i - 1) * LINEAR_V] = M[i - 1 + i * LINEAR_V] = 0.5;
    }
    return KD_EVAL_OK;
}

static kd_eval linear_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    for (int i = 0; i < LINEAR_V; i++) f[i] = cos(i + x->p[i]) - 0.2 * x->v[i];
    return KD_EVAL_OK;
}

static kd_eval rows_of(const double *q, int first, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        for (int j = 0; j < LINEAR_V; j++) out[i] += row_entry(first + i, j) * q[j];
    }
    return KD_EVAL_OK;
}

static kd_eval linear_g(const kd_point *x, void *context, double *out)
{
    (void)context;
    return rows_of(x->p, 0, LINEAR_G, out);
}
static kd_eval linear_gI(const kd_point *x, void *context, double *out)
{
    (void)context;
    return rows_of(x->v, 0, LINEAR_G, out);
}
static kd_eval linear_gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    return rows_of(x->a, 0, LINEAR_G, out);
}
static kd_eval linear_h(const kd_point *x, void *context, double *out)
{
    (void)context;
    return rows_of(x->v, LINEAR_G, LINEAR_H, out);
}
static kd_eval linear_hI(const kd_point *x, void *context, double *out)
{
    (void)context;
    return rows_of(x->a, LINEAR_G, LINEAR_H, out);
}

// Any set of active rows, one after the other at one point with shared matrices: accelerations, multipliers and
// projections as by SVD, multipliers of the other rows 0.
static void any_rows_may_be_off(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = LINEAR_V, .nv = LINEAR_V, .nlambda = LINEAR_G, .nmu = LINEAR_H};
    def.M = linear_M;
    def.f = linear_f;
    def.g = linear_g;
    def.gI = linear_gI;
    def.gII = linear_gII;
    def.h = linear_h;
    def.hI = linear_hI;
    kd_eom   *eom = make(&def);
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    for (int i = 0; i < LINEAR_V; i++) x->p[i] = 0.1 * i, x->v[i] = 0.3 - 0.1 * i;
    kd_acceleration *by_svd = make_acceleration(eom, NULL, x, KD_DECOMPOSE_SVD);
    kd_acceleration *packed = make_acceleration(eom, NULL, x, KD_DECOMPOSE_LU);
    kd_acceleration_share(packed);
    for (int set = 0; set < 1 << (LINEAR_G + LINEAR_H); set++) {
        kd_acceleration *both[] = {by_svd, packed};
        double           a[2][LINEAR_V], y[2][LINEAR_G + LINEAR_H] = {{0}}, p[2][LINEAR_V], v[2][LINEAR_V];
        for (int i = 0; i < LINEAR_G; i++) x->active_lambda[i] = set >> i & 1;
        for (int i = 0; i < LINEAR_H; i++) x->active_mu[i] = set >> (LINEAR_G + i) & 1;
        for (int k = 0; k < 2; k++) {
            memcpy(p[k], x->p, sizeof p[k]);
            memcpy(v[k], x->v, sizeof v[k]);
            assert_int_equal(
                kd_acceleration_solve(both[k], 0, x->p, NULL, x->v, NULL, a[k], NULL, y[k], y[k] + LINEAR_G),
                KD_EVAL_OK);
            assert_int_equal(kd_acceleration_project(both[k], 0, p[k], NULL, v[k], NULL, false), KD_EVAL_OK);
        }
        for (int i = 0; i < LINEAR_V; i++) {
            assert_close(a[1][i], a[0][i], 1e-11);
            assert_close(p[1][i], p[0][i], 1e-11);
            assert_close(v[1][i], v[0][i], 1e-11);
        }
        for (int i = 0; i < LINEAR_G + LINEAR_H; i++) {
            assert_close(y[1][i], y[0][i], 1e-10);
            if (!(set >> i & 1)) assert_close(y[1][i], 0, 0);
        }
    }
    kd_acceleration_destroy(by_svd);
    kd_acceleration_destroy(packed);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- redundant rows -------------------------------------------------------------------------------------------------

enum { SPACE = 4, DOUBLED = 5 };

// g = B N p with two rows of N: of five rows two are independent; M = 1 - d d', N d = 0: nothing has a mass along d
typedef struct massless {
    double d[SPACE], N[2][SPACE], B[DOUBLED][2];
} massless;

static kd_eval massless_M(const kd_point *x, void *context, double *M)
{
    const massless *m = context;
    (void)x;
    for (int j = 0; j < SPACE; j++)
        for (int i = 0; i < SPACE; i++) M[i + SPACE * j] = (i == j) - m->d[i] * m->d[j];
    return KD_EVAL_OK;
}

static kd_eval massless_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    memset(f, 0, SPACE * sizeof *f);
    return KD_EVAL_OK;
}

static kd_eval massless_g(const kd_point *x, void *context, double *g)
{
    const massless *m = context;
    for (int i = 0; i < DOUBLED; i++)
        g[i] = m->B[i][0] * kd_dot(SPACE, m->N[0], x->p) + m->B[i][1] * kd_dot(SPACE, m->N[1], x->p);
    return KD_EVAL_OK;
}

static massless random_massless(uint64_t *seed)
{
    massless m;
    for (int i = 0; i < SPACE; i++) m.d[i] = seeded_between(seed, -1, 1);
    const double length = sqrt(kd_dot(SPACE, m.d, m.d));
    for (int i = 0; i < SPACE; i++) m.d[i] /= length;
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < SPACE; i++) m.N[j][i] = seeded_between(seed, -1, 1);
        kd_axpy(SPACE, -kd_dot(SPACE, m.d, m.N[j]), m.d, m.N[j]);
    }
    for (int i = 0; i < DOUBLED; i++)
        for (int j = 0; j < 2; j++) m.B[i][j] = seeded_between(seed, -3, 3);
    return m;
}

// Multipliers of least norm with the same forces, B (B'B)^-1 B' lambda, where null vectors of all unknowns mix those of the
// multipliers with a direction without mass: there is one more of them than multipliers have.
static void least_norm_beside_a_direction_without_mass(void **state)
{
    uint64_t seed = 31;
    (void)state;
    for (int k = 0; k < 200; k++) {
        massless   m = random_massless(&seed);
        kd_eom_def def = kd_eom_def_default();
        kd_eom    *eom;
        kd_state  *x;
        double     BB[3] = {0}, base[2] = {0}, any[DOUBLED];
        def.dims = (kd_dims){.np = SPACE, .nv = SPACE, .nlambda = DOUBLED};
        def.context = &m;
        def.M = massless_M;
        def.f = massless_f;
        def.g = massless_g;
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        for (int i = 0; i < DOUBLED; i++) {
            const double *b = m.B[i];
            any[i] = x->lambda[i] = seeded_between(&seed, -10, 10);
            BB[0] += b[0] * b[0], BB[1] += b[0] * b[1], BB[2] += b[1] * b[1];
            base[0] += b[0] * any[i], base[1] += b[1] * any[i];
        }
        const double     det = BB[0] * BB[2] - BB[1] * BB[1];
        const double     y[2] = {(BB[2] * base[0] - BB[1] * base[1]) / det, (BB[0] * base[1] - BB[1] * base[0]) / det};
        kd_acceleration *acceleration = make_acceleration(eom, NULL, x, KD_DECOMPOSE_SVD);
        assert_int_equal(
            kd_acceleration_least_norm(acceleration, 0, x->p, NULL, x->v, NULL, x->a, NULL, x->lambda, NULL),
            KD_EVAL_OK);
        for (int i = 0; i < DOUBLED; i++) assert_close(x->lambda[i], m.B[i][0] * y[0] + m.B[i][1] * y[1], 1e-9);
        kd_acceleration_destroy(acceleration);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pendulum_in_closed_form),
        cmocka_unit_test(least_norm_beside_a_direction_without_mass),
        cmocka_unit_test(a_point_of_the_caller),
        cmocka_unit_test(differences_by_the_matrix_of_a_neighbour),
        cmocka_unit_test(all_rows_are_met),
        cmocka_unit_test(any_rows_may_be_off),
        cmocka_unit_test(projection_meets_constraints),
        cmocka_unit_test(projection_onto_energy),
        cmocka_unit_test(projection_onto_invariants),
        cmocka_unit_test(contacts_are_found),
        cmocka_unit_test(failures_have_words),
        cmocka_unit_test(stages_meet_rows_elsewhere),
        cmocka_unit_test(stages_next_to_a_point_leave_it_alone),
        cmocka_unit_test(neighbours_meet_the_velocity_level),
        cmocka_unit_test(the_point_of_rows_serves_once),
        cmocka_unit_test(stages_leave_no_matrix_behind),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
