// The systems of the tests: their two descriptions belong to one motion, so that other tests can rely on them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "math/dense.h"
#include "systems/systems.h"

static const char *under_test = "";

#define assert_small(a, tolerance) small((a), (tolerance), #a, __LINE__)
static void small(double a, double tolerance, const char *what, int line)
{
    if (fabs(a) <= tolerance) return;
    print_error("%s, line %d, %s: %.3g, more than %.3g\n", under_test, line, what, a, tolerance);
    fail();
}

enum { MANY = 40 }; // no system has more of anything

typedef struct fixture {
    const kd_test_system *system;
    kd_eom               *eom;
    kd_state             *x;
    kd_eom_data          *d;
    kd_dims               n;
} fixture;

static fixture open_system(const kd_test_system *system)
{
    fixture f = {.system = system};
    assert_int_equal(system->create(&f.eom, &f.x), KD_OK);
    assert_int_equal(kd_eom_data_create(f.eom, &f.d), KD_OK);
    f.n = kd_eom_dims(f.eom);
    return f;
}

static void close_system(fixture *f)
{
    kd_eom_data_destroy(f->d);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static void for_all(void (*test)(fixture *f))
{
    for (int i = 0; i < KD_TEST_SYSTEM_COUNT; i++) {
        fixture f = open_system(&kd_test_systems[i]);
        under_test = f.system->name;
        test(&f);
        close_system(&f);
    }
}

static void go_to(fixture *f)
{
    const kd_state *x = f->x;
    kd_eom_at_time(f->d, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(f->d, x->p, x->s);
    kd_eom_at_velocity(f->d, x->v, x->r);
    kd_eom_at_acceleration(f->d, x->a, x->w, x->lambda, x->mu);
}

// v' of the solution by differences of order six; leaves the solution at t in f->x
static void solution_with_a(fixture *f, double t)
{
    static const double weight[3] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    const double        h = 1e-4 + 1e-3 * (f->system->t_end > 1); // the heavy top turns fast
    double              a[MANY] = {0};
    for (int m = 3; m >= 1; m--)
        for (int side = -1; side <= 1; side += 2) {
            f->system->solution(t + side * m * h, f->x);
            for (int i = 0; i < f->n.nv; i++) a[i] += side * weight[m - 1] * f->x->v[i] / h;
        }
    f->system->solution(t, f->x);
    memcpy(f->x->a, a, (size_t)f->n.nv * sizeof *a);
    go_to(f);
}

static double largest(fixture *f, kd_fn fn)
{
    double out[MANY];
    assert_int_equal(kd_eom_eval(f->d, fn, out), KD_EVAL_OK);
    return kd_norm_max(kd_eom_rows(f->eom, fn), out);
}

// Rows of (GZ, HZ) made orthonormal; returns the rank.
static int orthonormal_rows(fixture *f, double rows[MANY][MANY])
{
    double    GZ[MANY * MANY], HZ[MANY * MANY];
    const int nc = f->n.nlambda + f->n.nmu, nv = f->n.nv;
    int       rank = 0;
    assert_int_equal(kd_eom_constraint_matrices(f->d, f->n.nlambda ? GZ : NULL, f->n.nmu ? HZ : NULL), KD_EVAL_OK);
    for (int i = 0; i < nc; i++) {
        double *row = rows[rank], before = 0, after = 0;
        for (int j = 0; j < nv; j++) {
            row[j] = i < f->n.nlambda ? GZ[j * f->n.nlambda + i] : HZ[j * f->n.nmu + i - f->n.nlambda];
            before += row[j] * row[j];
        }
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < rank; k++) kd_axpy(nv, -kd_dot(nv, rows[k], row), rows[k], row);
        after = kd_dot(nv, row, row);
        if (after < 1e-14 * before) continue; // depends on those before
        for (int j = 0; j < nv; j++) row[j] /= sqrt(after);
        rank++;
    }
    return rank;
}

static void check_constraints(fixture *f)
{
    for (int k = 0; k <= 4; k++) {
        solution_with_a(f, 0.25 * k * f->system->t_end);
        const double size = 1 + kd_norm_max(f->n.nv, f->x->v) + kd_norm_max(f->n.nv, f->x->a);
        assert_small(largest(f, KD_G), 1e-12);
        assert_small(largest(f, KD_C), 1e-12);
        assert_small(largest(f, KD_Q), 1e-12);
        assert_small(largest(f, KD_E), 1e-10);
        assert_small(largest(f, KD_D), 1e-12);
        assert_small(largest(f, KD_GI), 1e-12 * size);
        assert_small(largest(f, KD_H), 1e-12 * size);
        assert_small(largest(f, KD_GII), 1e-7 * size);
        assert_small(largest(f, KD_HI), 1e-7 * size);
    }
}

// The solution satisfies the constraints on all levels, and the equations for s and w.
static void solutions_satisfy_constraints(void **state)
{
    (void)state;
    for_all(check_constraints);
}

// M a - f with the known multipliers, or without its part in the range of (GZ, HZ)', vanishes.
static void check_dynamics(fixture *f)
{
    for (int k = 0; k <= 4; k++) {
        double rows[MANY][MANY], residual[MANY];
        solution_with_a(f, 0.25 * k * f->system->t_end);
        const int rank = orthonormal_rows(f, rows);
        assert_int_equal(f->n.nv - rank, f->system->dof);
        assert_true((rank < f->n.nlambda + f->n.nmu) == f->system->redundant);
        assert_int_equal(kd_eom_eval(f->d, KD_RESIDUAL, residual), KD_EVAL_OK);
        if (!f->system->multipliers)
            for (int i = 0; i < rank; i++) kd_axpy(f->n.nv, -kd_dot(f->n.nv, rows[i], residual), rows[i], residual);
        assert_small(kd_norm_max(f->n.nv, residual), 1e-7 * (1 + kd_norm_max(f->n.nv, f->x->a)));
    }
}

// The solution satisfies the equations of motion, and the rank of the constraints is what the system says.
static void solutions_satisfy_dynamics(void **state)
{
    (void)state;
    for_all(check_dynamics);
}

// p' = Z v and r' = b hold along the solution.
static void check_rates(fixture *f)
{
    const double h = 1e-4, t = 0.4 * f->system->t_end;
    double       left[MANY], right[MANY], r_left[MANY], r_right[MANY], rate[MANY], b[MANY];
    f->system->solution(t - h, f->x);
    memcpy(left, f->x->p, (size_t)f->n.np * sizeof *left);
    memcpy(r_left, f->x->r, (size_t)f->n.nr * sizeof *left);
    f->system->solution(t + h, f->x);
    memcpy(right, f->x->p, (size_t)f->n.np * sizeof *right);
    memcpy(r_right, f->x->r, (size_t)f->n.nr * sizeof *right);
    f->system->solution(t, f->x);
    go_to(f);
    assert_int_equal(kd_eom_eval(f->d, KD_KINEMATICS, rate), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(f->d, KD_B, b), KD_EVAL_OK);
    const double size = 1 + pow(kd_norm_max(f->n.nv, f->x->v), 3); // third derivative
    for (int i = 0; i < f->n.np; i++) assert_small(rate[i] - (right[i] - left[i]) / (2 * h), 1e-7 * size);
    for (int i = 0; i < f->n.nr; i++) assert_small(b[i] - (r_right[i] - r_left[i]) / (2 * h), 1e-6);
}

static void solutions_satisfy_kinematics(void **state)
{
    (void)state;
    for_all(check_rates);
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

static double *variable(kd_state *x, kd_var var)
{
    return var == KD_V    ? x->v
           : var == KD_R  ? x->r
           : var == KD_W  ? x->w
           : var == KD_S  ? x->s
           : var == KD_A  ? x->a
           : var == KD_MU ? x->mu
                          : x->lambda;
}

// Value of fn with component j of var moved by h; positions move along increments.
static void moved_value(fixture *f, kd_fn fn, kd_var var, int j, double h, double *out)
{
    double e[MANY] = {0}, p[MANY], kept = 0;
    if (var == KD_P) {
        memcpy(p, f->x->p, (size_t)f->n.np * sizeof *p);
        e[j] = h;
        assert_int_equal(kd_eom_oplus(f->d, p, e, f->x->p), KD_EVAL_OK);
    } else {
        kept = variable(f->x, var)[j];
        variable(f->x, var)[j] += h;
    }
    go_to(f);
    assert_int_equal(kd_eom_eval(f->d, fn, out), KD_EVAL_OK);
    if (var == KD_P)
        memcpy(f->x->p, p, (size_t)f->n.np * sizeof *p);
    else
        variable(f->x, var)[j] = kept;
}

static void check_block(fixture *f, kd_fn fn, kd_var var)
{
    static double block[MANY * MANY];
    const int     rows = kd_eom_rows(f->eom, fn), columns = kd_eom_columns(f->eom, var);
    kd_blocks     wanted = {0};
    double        right[MANY], left[MANY];
    wanted.block[fn][var] = block;
    go_to(f);
    assert_int_equal(kd_eom_derivatives(f->d, KD_PART_ALL, &wanted), KD_EVAL_OK);
    const double size = 1 + kd_norm_max(rows * columns, block);
    for (int j = 0; j < columns; j++) {
        const double h = 1e-5;
        moved_value(f, fn, var, j, h, right);
        moved_value(f, fn, var, j, -h, left);
        for (int i = 0; i < rows; i++) assert_small(block[j * rows + i] - (right[i] - left[i]) / (2 * h), 1e-6 * size);
    }
}

static void check_derivatives(fixture *f)
{
    static const kd_fn  fns[] = {KD_RESIDUAL, KD_B, KD_D, KD_C, KD_G, KD_GI, KD_GII, KD_H, KD_HI, KD_E};
    static const kd_var vars[] = {KD_P, KD_V, KD_A, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU};
    f->system->solution(0.3 * f->system->t_end, f->x);
    for (int i = 0; i < f->n.nv; i++) f->x->a[i] = 0.7 - 0.1 * i; // the solution's is not needed
    for (int i = 0; i < f->n.nlambda; i++) f->x->lambda[i] += 0.2 + 0.1 * i;
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
        for (size_t j = 0; j < sizeof vars / sizeof *vars; j++)
            if (kd_eom_rows(f->eom, fns[i]) > 0 && kd_eom_columns(f->eom, vars[j]) > 0 &&
                kd_eom_depends(f->eom, fns[i], vars[j]))
                check_block(f, fns[i], vars[j]);
}

// Derivatives, supplied or filled in by the library, agree with central differences.
static void derivatives_agree_with_differences(void **state)
{
    (void)state;
    for_all(check_derivatives);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

static void check_run(fixture *f)
{
    char                  message[500] = "";
    double                end[2 * MANY];
    const int             motion = f->n.np + f->n.nv;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = opt.atol = 1e-7;
    if (f->system->redundant) opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
    const kd_status status = kd_simulate(f->eom, NULL, &opt, f->x, f->system->t_end, NULL, message, sizeof message);
    if (status < 0) print_error("%s: %s\n", f->system->name, message);
    assert_int_equal(status, f->system->redundant ? KD_REDUNDANT : KD_OK);
    memcpy(end, f->x->p, (size_t)motion * sizeof *end);
    f->system->solution(f->system->t_end, f->x);
    for (int i = 0; i < motion; i++) assert_small(end[i] - f->x->p[i], 1e-5);
}

// The library integrates every system to its solution.
static void every_system_reaches_its_solution(void **state)
{
    (void)state;
    for_all(check_run);
}

static void check_with_library(fixture *f)
{
    char report[2000] = "";
    f->system->solution(0.3 * f->system->t_end, f->x);
    const kd_status status = kd_eom_check(f->eom, NULL, f->x, NULL, report, sizeof report);
    if (status != KD_OK) print_error("%s:\n%s\n", f->system->name, report);
    assert_int_equal(status, KD_OK);
}

// The library's checker finds nothing to complain about.
static void checker_accepts_every_system(void **state)
{
    (void)state;
    for_all(check_with_library);
}

// Angular momentum, energy and momentum of the free body are constant.
static void free_body_keeps_its_constants(void **state)
{
    (void)state;
    fixture f = open_system(&kd_test_systems[6]);
    double  first[7], later[7];
    kd_test_free_body_constants(f.x, first);
    f.system->solution(2, f.x);
    kd_test_free_body_constants(f.x, later);
    for (int i = 0; i < 7; i++) assert_small(later[i] - first[i], 1e-11);
    close_system(&f);
}

// The heavy top agrees with the trajectory computed in quadruple precision.
static void heavy_top_agrees_with_file(void **state)
{
    (void)state;
    fixture f = open_system(&kd_test_systems[8]);
    char    line[1000];
    int     rows = 0;
    FILE   *in = fopen(KD_SOURCE_DIR "/models/reference/heavytop.csv", "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        double t, q[4], omega[3], p[3];
        if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &t, q, q + 1, q + 2, q + 3, omega, omega + 1,
                   omega + 2, p, p + 1, p + 2) != 11 ||
            t > 0.5)
            continue;
        f.system->solution(t, f.x);
        for (int i = 0; i < 3; i++) assert_small(f.x->p[i] - p[i], 1e-11);
        for (int i = 0; i < 4; i++) assert_small(f.x->p[3 + i] - q[i], 1e-10);
        for (int i = 0; i < 3; i++) assert_small(f.x->v[3 + i] - omega[i], 1e-10);
        rows++;
    }
    fclose(in);
    assert_true(rows == 11);
    close_system(&f);
}

// The point P3 of the Bricard mechanism moves within its known bounds, and energy stays what it was.
static void bricard_moves_as_known(void **state)
{
    (void)state;
    fixture     f = open_system(&kd_test_systems[3]);
    kd_energies first, later;
    double      lowest = 0;
    go_to(&f);
    assert_int_equal(kd_eom_energies(f.d, &first), KD_EVAL_OK);
    for (int k = 1; k <= 8; k++) {
        f.system->solution(0.3 * k, f.x);
        go_to(&f);
        assert_int_equal(kd_eom_energies(f.d, &later), KD_EVAL_OK);
        assert_small(later.kinetic + later.potential - first.kinetic - first.potential, 1e-10);
        const double P2 = 2 * f.x->p[2],
                     z = 2 * f.x->p[9] - P2; // heights from the centres of the rods; P1 is the origin
        assert_true(z < 1e-12 && z > -0.5 - 1e-12);
        lowest = fmin(lowest, z);
    }
    assert_true(lowest < -0.45);
    close_system(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_satisfy_constraints),
        cmocka_unit_test(solutions_satisfy_dynamics),
        cmocka_unit_test(solutions_satisfy_kinematics),
        cmocka_unit_test(every_system_reaches_its_solution),
        cmocka_unit_test(derivatives_agree_with_differences),
        cmocka_unit_test(checker_accepts_every_system),
        cmocka_unit_test(free_body_keeps_its_constants),
        cmocka_unit_test(heavy_top_agrees_with_file),
        cmocka_unit_test(bricard_moves_as_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
