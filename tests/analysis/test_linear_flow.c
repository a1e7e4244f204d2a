// Closed-loop linear equations against the flow of the nonlinear ones: difference quotients of simulations over their
// start.
#include <math.h>

#include "analysis/linear_subject.h"

// The difference of two positions near p as an increment: least squares of Z e = dp
static void increment(const subject *s, const kd_state *base, const double *dp, double *e)
{
    const int    np = s->n.np, nv = s->n.nv;
    double      *Z = calloc((size_t)(np * nv), sizeof *Z), *ZZ = calloc((size_t)(nv * nv), sizeof *ZZ);
    kd_eom_data *d;
    must(kd_eom_data_create(s->eom, &d), "");
    kd_eom_at_time(d, base->t, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, base->p, base->s);
    assert_int_equal(kd_eom_Z(d, Z), KD_EVAL_OK);
    kd_gemm_tn(nv, nv, np, 1, Z, Z, 0, ZZ);
    kd_gemm_tn(nv, 1, np, 1, Z, dp, 0, e);
    assert_int_equal(kd_cholesky_factor(nv, ZZ), 0);
    kd_cholesky_solve(nv, ZZ, e, 1);
    kd_eom_data_destroy(d);
    free(Z);
    free(ZZ);
}

// Column k of the flow over the time t: the states after it, differenced over state k at the start
static void flow_column(subject *s, int k, double step, double t, double *column)
{
    const kd_linear *l = s->linear;
    kd_state        *x[2];
    double          *dp = calloc((size_t)s->n.np, sizeof *dp), *e = calloc((size_t)s->n.nv, sizeof *e);
    for (int side = 0; side < 2; side++) {
        must(kd_state_create(s->eom, &x[side]), "");
        move_state(s, k, side ? -step : step, x[side]);
        run(s, x[side], t);
    }
    for (int i = 0; i < s->n.np; i++) dp[i] = (x[0]->p[i] - x[1]->p[i]) / (2 * step);
    increment(s, s->x, dp, e);
    for (int i = 0; i < l->nposition; i++) column[i] = e[l->position[i]];
    for (int i = 0; i < l->nvelocity; i++)
        column[l->nposition + i] = (x[0]->v[l->velocity[i]] - x[1]->v[l->velocity[i]]) / (2 * step);
    for (int side = 0; side < 2; side++) kd_state_destroy(x[side]);
    free(dp);
    free(e);
}

// Closed loops at rest, planar and spatial with redundant rows: the flow over a short time, differenced over its start,
// is exp(A t) to 1e-7 in both coordinate sets.
static void closed_loop_flow_is_the_exponential(void **state)
{
    (void)state;
    static const char *const model[] = {"four-bar-spring.yaml", "bricard.yaml"};
    static const double      time[] = {0.1, 0.1};
    for (int k = 0; k < 4; k++) {
        subject          s = open_model(model[k / 2], NULL, 0, BOTH[k & 1], false);
        char             message[1000] = "";
        const kd_inputs *inputs = kd_system_inputs(s.system);
        must(kd_equilibrium(s.eom, inputs, NULL, s.x, NULL, message, sizeof message), message);
        make_consistent(&s);
        linearize(&s);
        const int nx = s.linear->nx;
        double    At[64], flow[64], column[8];
        assert_true(nx >= 2 && nx <= 8);
        for (int i = 0; i < nx * nx; i++) At[i] = time[k / 2] * s.linear->A[i];
        exponential(nx, At, flow);
        for (int j = 0; j < nx; j++) {
            flow_column(&s, j, 1e-4, time[k / 2], column);
            for (int i = 0; i < nx; i++) assert_close(column[i], flow[i + j * nx], 1e-7);
        }
        close_model(&s);
    }
}

// A tumbling top with quaternions: over a short time the flow of increments is exp of Magnus' series of order 4 with A
// at the two Gauss points, which needs the turning of the frame of the increments in A.
static void flow_on_quaternions(void **state)
{
    (void)state;
    static const kd_setting settings[] = {{"spin", "3"}};
    const double            h = 0.01, step = 1e-4, root = sqrt(3);
    subject                 s = open_model("heavy-top.yaml", settings, 1, KD_JOINT, false);
    make_consistent(&s);
    double    A[2][36], omega[36], AB[36], BA[36], flow[36], Z[12], ZZ[9], e[3], dp[4];
    kd_state *x[3];
    for (int i = 0; i < 3; i++) must(kd_state_create(s.eom, &x[i]), "");
    for (int g = 0; g < 2; g++) {
        kd_linear *l;
        kd_state_copy(s.x, x[0]);
        run(&s, x[0], h * (0.5 + (g ? root : -root) / 6));
        must(kd_linearize(s.eom, NULL, NULL, x[0], &l, NULL, 0), "");
        assert_int_equal(l->nx, 6);
        memcpy(A[g], l->A, sizeof A[g]);
        kd_linear_destroy(l);
    }
    kd_gemm(6, 6, 6, 1, A[1], A[0], 0, BA);
    kd_gemm(6, 6, 6, 1, A[0], A[1], 0, AB);
    for (int i = 0; i < 36; i++) omega[i] = h / 2 * (A[0][i] + A[1][i]) + h * h * root / 12 * (BA[i] - AB[i]);
    exponential(6, omega, flow);
    linearize(&s);
    kd_state_copy(s.x, x[2]);
    run(&s, x[2], h);
    kd_eom_data *d;
    must(kd_eom_data_create(s.eom, &d), "");
    kd_eom_at_time(d, h, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, x[2]->p, x[2]->s);
    assert_int_equal(kd_eom_Z(d, Z), KD_EVAL_OK);
    for (int k = 0; k < 6; k++) {
        for (int side = 0; side < 2; side++) {
            move_state(&s, k, side ? -step : step, x[side]);
            run(&s, x[side], h);
        }
        for (int i = 0; i < 4; i++) dp[i] = (x[0]->p[i] - x[1]->p[i]) / (2 * step);
        kd_gemm_tn(3, 3, 4, 1, Z, Z, 0, ZZ);
        kd_gemm_tn(3, 1, 4, 1, Z, dp, 0, e);
        assert_int_equal(kd_cholesky_factor(3, ZZ), 0);
        kd_cholesky_solve(3, ZZ, e, 1);
        for (int i = 0; i < 3; i++) {
            assert_close(flow[i + 6 * k], e[i], 3e-8);
            assert_close(flow[3 + i + 6 * k], (x[0]->v[i] - x[1]->v[i]) / (2 * step), 3e-7);
        }
    }
    for (int i = 0; i < 3; i++) kd_state_destroy(x[i]);
    kd_eom_data_destroy(d);
    close_model(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_loop_flow_is_the_exponential),
        cmocka_unit_test(flow_on_quaternions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
