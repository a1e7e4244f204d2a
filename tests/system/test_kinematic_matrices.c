// Z and (Z v)_p of models, sparse: against unit velocities and against differences of Z v along increments.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <kardan/kardan.h>

// A spherical joint, counted angles (springs on revolute joints, in Cartesian coordinates) and a prescribed coordinate.
static const char text[] =
    "kardan: 1\n"
    "bodies:\n"
    "  a: {mass: 1, inertia: [0.1, 0.2, 0.2], position: [0.5, 0, 0]}\n"
    "  b: {mass: 2, inertia: [0.1, 0.2, 0.2], position: [1.5, 0, 0]}\n"
    "  c: {mass: 2, inertia: [0.1, 0.2, 0.2], position: [2.5, 0, 0]}\n"
    "  d: {mass: 2, inertia: [0.1, 0.2, 0.2], position: [0, 3, 0]}\n"
    "joints:\n"
    "  one: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0], q: 0.3, v: 1}\n"
    "  two: {type: revolute, bodies: [a, b], point: [1, 0, 0], axis: [0, 0.6, 0.8], q: 0.2, v: -2}\n"
    "  ball: {type: spherical, bodies: [b, c], point: [2, 0, 0]}\n"
    "  drive: {type: revolute, bodies: [ground, d], point: [0, 3, 0], axis: [0, 0, 1], motion: \"2*sin(t)\"}\n"
    "forces:\n"
    "  soft: {type: joint_spring, joint: one, stiffness: 3, damping: 0.5}\n"
    "  hard: {type: joint_spring, joint: two, stiffness: 700, damping: 11}\n";

typedef struct fixture {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
    kd_dims      n;
} fixture;

static void start(fixture *f, kd_coordinates coordinates)
{
    char              message[400];
    kd_system_options options = kd_system_options_default();
    options.coordinates = coordinates;
    assert_int_equal(kd_model_read_text("text", text, strlen(text), NULL, 0, &f->model, message, sizeof message),
                     KD_OK);
    assert_int_equal(kd_system_create(f->model, &options, &f->system, message, sizeof message), KD_OK);
    const kd_eom *eom = kd_system_eom(f->system);
    assert_int_equal(kd_state_create(eom, &f->x), KD_OK);
    assert_true(kd_system_start(f->system, f->x, message, sizeof message) >= 0);
    assert_int_equal(kd_eom_data_create(eom, &f->data), KD_OK);
    f->n = kd_eom_dims(eom);
}

static void stop(fixture *f)
{
    kd_eom_data_destroy(f->data);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static void values_at(fixture *f, const double *p, const double *v, double *out)
{
    kd_eom_at_time(f->data, 0.0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(f->data, p, NULL);
    kd_eom_at_velocity(f->data, v, NULL);
    assert_int_equal(kd_eom_eval(f->data, KD_KINEMATICS, out), KD_EVAL_OK);
}

// The block at the point that is set, spread over a full matrix.
static double *block_of(fixture *f, kd_var var)
{
    kd_pattern pattern;
    assert_true(kd_eom_pattern(kd_system_eom(f->system), KD_KINEMATICS, var, &pattern));
    assert_int_equal(pattern.rows, f->n.np);
    assert_int_equal(pattern.columns, f->n.nv);
    double *values = calloc((size_t)pattern.column[pattern.columns], sizeof *values);
    double *full = calloc((size_t)(f->n.np * f->n.nv), sizeof *full);
    assert_int_equal(kd_eom_sparse(f->data, KD_KINEMATICS, var, KD_PART_ALL, values), KD_EVAL_OK);
    for (int j = 0; j < pattern.columns; j++)
        for (int k = pattern.column[j]; k < pattern.column[j + 1]; k++) full[j * f->n.np + pattern.row[k]] = values[k];
    free(values);
    return full;
}

// Column j of Z is Z e_j, and the sparse Z needs the position only; (Z v)_p is the slope of Z v along p oplus h e_j.
static void compare(kd_coordinates coordinates)
{
    fixture f = {0};
    start(&f, coordinates);
    const int np = f.n.np, nv = f.n.nv;
    double   *v = calloc((size_t)nv, sizeof *v), *e = calloc((size_t)nv, sizeof *e);
    double   *left = calloc((size_t)np, sizeof *left), *right = calloc((size_t)np, sizeof *right);
    double   *p = calloc((size_t)np, sizeof *p);
    for (int i = 0; i < nv; i++) v[i] = sin(1.0 + i);
    kd_eom_at_time(f.data, 0.0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(f.data, f.x->p, NULL);
    double *Z = block_of(&f, KD_V);
    kd_eom_at_velocity(f.data, v, NULL);
    double *Z_p = block_of(&f, KD_P);
    values_at(&f, f.x->p, e, left); // prescribed motion alone
    for (int j = 0; j < nv; j++) {
        e[j] = 1.0;
        values_at(&f, f.x->p, e, right);
        for (int i = 0; i < np; i++) assert_true(fabs(Z[j * np + i] - (right[i] - left[i])) <= 1e-13);
        e[j] = 0.0;
    }
    for (int j = 0; j < nv; j++) {
        const double h = 1e-5;
        e[j] = h;
        assert_int_equal(kd_eom_oplus(f.data, f.x->p, e, p), KD_EVAL_OK);
        values_at(&f, p, v, right);
        e[j] = -h;
        assert_int_equal(kd_eom_oplus(f.data, f.x->p, e, p), KD_EVAL_OK);
        values_at(&f, p, v, left);
        for (int i = 0; i < np; i++) assert_true(fabs(Z_p[j * np + i] - (right[i] - left[i]) / (2.0 * h)) <= 1e-8);
        e[j] = 0.0;
    }
    free(v);
    free(e);
    free(left);
    free(right);
    free(p);
    free(Z);
    free(Z_p);
    stop(&f);
}

static void joint_coordinates(void **unused)
{
    (void)unused;
    compare(KD_JOINT);
}

static void cartesian_coordinates(void **unused)
{
    (void)unused;
    compare(KD_CARTESIAN);
}

// A block that needs more than is set is refused with the stage; GZ and M are given at the position already.
static void stages(void **unused)
{
    fixture    f = {0};
    kd_pattern pattern;
    double     values[4000];
    (void)unused;
    start(&f, KD_CARTESIAN);
    kd_eom_at_time(f.data, 0.0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(f.data, f.x->p, NULL);
    assert_int_equal(kd_eom_sparse(f.data, KD_GI, KD_V, KD_PART_ALL, values), KD_EVAL_OK);
    assert_int_equal(kd_eom_sparse(f.data, KD_RESIDUAL, KD_A, KD_PART_ALL, values), KD_EVAL_OK);
    assert_int_equal(kd_eom_sparse(f.data, KD_KINEMATICS, KD_P, KD_PART_ALL, values), KD_EVAL_STOP);
    assert_int_equal(kd_eom_data_fault(f.data).status, KD_ERR_STAGE);
    assert_true(kd_eom_pattern(kd_system_eom(f.system), KD_KINEMATICS, KD_V, &pattern));
    assert_true(pattern.column[pattern.columns] < pattern.rows * pattern.columns / 3);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joint_coordinates), cmocka_unit_test(cartesian_coordinates),
                                       cmocka_unit_test(stages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
