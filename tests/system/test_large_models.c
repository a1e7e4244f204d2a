// Large models in Cartesian coordinates: memory grows with the number of bodies, not with its square, and the numbers
// are those of the general way.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <kardan/kardan.h>

#include "point/acceleration.h"
#include "point/dense_output.h"

// A chain of N links that hang at an angle from the ground; a spring and sensors at the tip and at every joint's angle.
static const char text[] =
    "kardan: 1\n"
    "parameters: {N: 4, J: 0.1, q: 0.3, v: 0.2}\n"
    "gravity: [0, -9.81, 0]\n"
    "bodies:\n"
    "  link(i):\n"
    "    for: i = 1..N\n"
    "    position: [0, -(i - 1), 0]\n"
    "    mass: 1\n"
    "    centre: [0, -1, 0]\n"
    "    inertia: [J, J, J]\n"
    "joints:\n"
    "  hinge(1): {type: revolute, from: ground, to: link(1), q: q, v: v}\n"
    "  hinge(i): {for: i = 2..N, type: revolute, from: {body: link(i-1), point: [0, -1, 0]}, to: "
    "link(i)}\n"
    "forces:\n"
    "  damper(i): {for: i = 1..N, type: joint_spring, joint: hinge(i), stiffness: 1, damping: 1}\n"
    "sensors:\n"
    "  x: {value: body.link(N).com.x}\n"
    "  pull(i): {for: i = 1..N, value: joint.hinge(i).force.y}\n";

// N four-bars beside each other: each has three rows that follow from the others.
static const char loops[] = "kardan: 1\n"
                            "parameters: {N: 3, J: 0.1}\n"
                            "gravity: [0, -9.81, 0]\n"
                            "bodies:\n"
                            "  a(i): {for: i = 1..N, position: [i, 0.25, 0], mass: 1, inertia: [J, J, J]}\n"
                            "  b(i): {for: i = 1..N, position: [i + 0.25, 0.5, 0], mass: 1, inertia: [J, J, J]}\n"
                            "  c(i): {for: i = 1..N, position: [i + 0.5, 0.25, 0], mass: 1, inertia: [J, J, J]}\n"
                            "joints:\n"
                            "  o(i): {for: i = 1..N, type: revolute, bodies: [ground, a(i)], point: [i, 0, 0]}\n"
                            "  p(i): {for: i = 1..N, type: revolute, bodies: [a(i), b(i)], point: [i, 0.5, 0]}\n"
                            "  q(i): {for: i = 1..N, type: revolute, bodies: [b(i), c(i)], point: [i + 0.5, 0.5, 0]}\n"
                            "  r(i): {for: i = 1..N, type: revolute, bodies: [c(i), ground], point: [i + 0.5, 0, 0]}\n";

// ---- memory ---------------------------------------------------------------------------------------------------------

static void *count_allocate(size_t size, void *context)
{
    *(size_t *)context += size;
    return malloc(size);
}

static void count_release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

// ---- a model --------------------------------------------------------------------------------------------------------

typedef struct fixture {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
    kd_dims      n;
} fixture;

static void start_text(fixture *f, const char *model, int N, const char *inertia, kd_coordinates coordinates)
{
    char              message[600], number[16];
    kd_system_options options = kd_system_options_default();
    options.coordinates = coordinates;
    snprintf(number, sizeof number, "%d", N);
    const kd_setting settings[] = {{"N", number}, {"J", inertia}};
    assert_int_equal(kd_model_read_text("text", model, strlen(model), settings, 2, &f->model, message, sizeof message),
                     KD_OK);
    assert_int_equal(kd_system_create(f->model, &options, &f->system, message, sizeof message), KD_OK);
    const kd_eom *eom = kd_system_eom(f->system);
    assert_int_equal(kd_state_create(eom, &f->x), KD_OK);
    assert_int_equal(kd_system_start(f->system, f->x, message, sizeof message), KD_OK);
    assert_int_equal(kd_eom_data_create(eom, &f->data), KD_OK);
    f->n = kd_eom_dims(eom);
}

static void start(fixture *f, int N, const char *inertia, kd_coordinates coordinates)
{
    start_text(f, text, N, inertia, coordinates);
}

static void at_state(fixture *f)
{
    kd_eom_at_time(f->data, 0.0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(f->data, f->x->p, NULL);
    kd_eom_at_velocity(f->data, f->x->v, NULL);
    kd_eom_at_acceleration(f->data, f->x->a, NULL, f->x->lambda, NULL);
}

static void stop(fixture *f)
{
    kd_eom_data_destroy(f->data);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static double largest(const double *x, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

// Everything that a simulation does with the equations, without a formulation.
static void live(int N, const char *inertia)
{
    fixture f = {0};
    start(&f, N, inertia, KD_CARTESIAN);
    const kd_eom          *eom = kd_system_eom(f.system);
    kd_formulation_options options = kd_formulation_options_default();
    kd_acceleration       *acceleration;
    kd_dense_output       *dense;
    double                *out = calloc((size_t)(60 * f.n.np), sizeof *out);
    assert_int_equal(kd_acceleration_create(eom, NULL, f.x, &options, &acceleration), KD_OK);
    assert_int_equal(kd_dense_output_create(acceleration, true, &dense), KD_OK);
    at_state(&f);
    for (int fn = 0; fn < KD_MASS; fn++)
        if (fn != KD_FORCE) assert_int_equal(kd_eom_eval(f.data, (kd_fn)fn, out), KD_EVAL_OK);
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        for (int var = 0; var < KD_VAR_COUNT; var++) {
            kd_pattern pattern;
            if (!kd_eom_pattern(eom, (kd_fn)fn, (kd_var)var, &pattern)) continue;
            assert_true(pattern.column[pattern.columns] <= 60 * f.n.np);
            assert_int_equal(kd_eom_sparse(f.data, (kd_fn)fn, (kd_var)var, KD_PART_ALL, out), KD_EVAL_OK);
        }
    f.x->p[3] += 1e-5; // off the constraints
    assert_int_equal(kd_acceleration_project(acceleration, 0.0, f.x->p, f.x->s, f.x->v, f.x->r, false), KD_EVAL_OK);
    assert_int_equal(kd_dense_output_eval(dense, 0.0, f.x->p, 1e-3, f.x->p, 5e-4, out, NULL), KD_EVAL_OK);
    free(out);
    kd_dense_output_destroy(dense);
    kd_acceleration_destroy(acceleration);
    stop(&f);
}

static size_t bytes_of(int N, const char *inertia)
{
    size_t             bytes = 0;
    const kd_allocator counting = {count_allocate, count_release, &bytes};
    kd_set_allocator(&counting);
    live(N, inertia);
    kd_set_allocator(NULL);
    return bytes;
}

// Twice the bodies take twice the memory, all allocations of creation, start and evaluation summed up.
static void linear_memory(void **unused)
{
    (void)unused;
    const char *inertia[] = {"0.1", "0"}; // elimination along the topology; sparse LU
    for (int k = 0; k < 2; k++) {
        double small = (double)bytes_of(200, inertia[k]), large = (double)bytes_of(400, inertia[k]);
        assert_true(large < 2.1 * small);
    }
}

// Creation and start of a model with many loops: redundant rows are found with memory in proportion to the loops.
static void linear_memory_of_loops(void **unused)
{
    (void)unused;
    double bytes[2];
    for (int k = 0; k < 2; k++) {
        size_t             sum = 0;
        const kd_allocator counting = {count_allocate, count_release, &sum};
        fixture            f = {0};
        int                N = k == 0 ? 100 : 200;
        kd_set_allocator(&counting);
        start_text(&f, loops, N, "0.1", KD_CARTESIAN);
        assert_int_equal(kd_system_info_of(f.system).nredundant, 3 * N);
        assert_int_equal(kd_system_info_of(f.system).dof, N);
        stop(&f);
        kd_set_allocator(NULL);
        bytes[k] = (double)sum;
    }
    assert_true(bytes[1] < 2.1 * bytes[0]);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// The start of a large model fulfils the equations on all levels, with and without inertia of the links.
static void start_is_consistent(void **unused)
{
    (void)unused;
    const char *inertia[] = {"0.1", "0"};
    for (int k = 0; k < 2; k++) {
        fixture f = {0};
        start(&f, 150, inertia[k], KD_CARTESIAN);
        double *out = calloc((size_t)f.n.np, sizeof *out), size = largest(f.x->lambda, f.n.nlambda);
        at_state(&f);
        const kd_fn fn[] = {KD_G, KD_GI, KD_GII, KD_RESIDUAL, KD_Q};
        for (int i = 0; i < 5; i++) {
            assert_int_equal(kd_eom_eval(f.data, fn[i], out), KD_EVAL_OK);
            assert_true(largest(out, kd_eom_rows(kd_system_eom(f.system), fn[i])) < 1e-11 * fmax(1.0, size));
        }
        assert_true(size > 100.0); // it carries the weight
        free(out);
        stop(&f);
    }
}

// Cartesian and joint coordinates see the same accelerations of the tip: outputs x and the pull in all joints.
static void same_as_joint_coordinates(void **unused)
{
    (void)unused;
    const char *inertia[] = {"0.1", "0"};
    for (int k = 0; k < 2; k++) {
        fixture cartesian = {0}, joint = {0};
        start(&cartesian, 80, inertia[k], KD_CARTESIAN);
        start(&joint, 80, inertia[k], KD_JOINT);
        double y[2][100];
        at_state(&cartesian);
        at_state(&joint);
        assert_int_equal(kd_eom_eval(cartesian.data, KD_Y, y[0]), KD_EVAL_OK);
        assert_int_equal(kd_eom_eval(joint.data, KD_Y, y[1]), KD_EVAL_OK);
        for (int i = 0; i < cartesian.n.ny; i++) assert_true(fabs(y[0][i] - y[1][i]) < 1e-8 * (1.0 + fabs(y[1][i])));
        stop(&cartesian);
        stop(&joint);
    }
}

// A tree that is too large for the pattern of M: accelerations of the articulated bodies satisfy the recursive
// Newton-Euler equations, and the default and bdf on ode, both without a matrix, make the same motion.
static void trees_without_a_pattern(void **unused)
{
    (void)unused;
    fixture f = {0};
    start(&f, 2100, "0.1", KD_JOINT);
    const kd_eom *eom = kd_system_eom(f.system);
    double       *r = calloc(2 * (size_t)f.n.nv, sizeof *r), *rest = r + f.n.nv;
    assert_true(kd_eom_definition(eom)->accelerations && !kd_eom_definition(eom)->kkt_factor);
    memset(f.x->a, 0, (size_t)f.n.nv * sizeof *f.x->a);
    at_state(&f);
    assert_int_equal(kd_eom_eval(f.data, KD_RESIDUAL, rest), KD_EVAL_OK);
    assert_int_equal(kd_eom_accelerations(f.data, f.x->a, f.x->lambda, f.x->mu), KD_EVAL_OK);
    assert_true(largest(f.x->a, f.n.nv) > 0.1);
    at_state(&f);
    assert_int_equal(kd_eom_eval(f.data, KD_RESIDUAL, r), KD_EVAL_OK);
    assert_true(largest(r, f.n.nv) < 1e-9 * largest(rest, f.n.nv));
    free(r);
    // two motions from the same start
    kd_state *other;
    assert_int_equal(kd_state_create(eom, &other), KD_OK);
    kd_state_copy(f.x, other);
    kd_simulation_options opt = kd_simulation_options_default();
    char                  message[600] = "";
    opt.rtol = opt.atol = 1e-6;
    assert_true(kd_simulate(eom, kd_system_inputs(f.system), &opt, f.x, 0.005, NULL, message, sizeof message) >= 0);
    opt.formulation = KD_ODE;
    opt.integrator = KD_BDF;
    assert_true(kd_simulate(eom, kd_system_inputs(f.system), &opt, other, 0.005, NULL, message, sizeof message) >= 0);
    for (int i = 0; i < f.n.np; i++) assert_true(fabs(f.x->p[i] - other->p[i]) < 1e-5);
    kd_state_destroy(other);
    stop(&f);
}

// A tree in between has the pattern of M, but no factors of it: the articulated bodies solve for its accelerations, too.
static void trees_without_factors(void **unused)
{
    (void)unused;
    for (int N = 500; N <= 530; N += 30) { // 512^2 entries are the limit
        fixture f = {0};
        start(&f, N, "0.1", KD_JOINT);
        const kd_eom *eom = kd_system_eom(f.system);
        double       *r = calloc((size_t)f.n.nv, sizeof *r);
        assert_true(kd_eom_definition(eom)->accelerations);
        assert_int_equal(kd_eom_definition(eom)->kkt_factor != NULL, N == 500);
        at_state(&f);
        assert_int_equal(kd_eom_accelerations(f.data, f.x->a, f.x->lambda, f.x->mu), KD_EVAL_OK);
        assert_true(largest(f.x->a, f.n.nv) > 0.1);
        at_state(&f);
        assert_int_equal(kd_eom_eval(f.data, KD_RESIDUAL, r), KD_EVAL_OK);
        assert_true(largest(r, f.n.nv) < 1e-6);
        free(r);
        stop(&f);
    }
}

// Positions and velocities of a large model that do not fit are corrected by the smallest move; held ones are refused
// by the general way, so that they are not tried here.
static void large_guess_is_corrected(void **unused)
{
    (void)unused;
    fixture f = {0};
    start(&f, 60, "0.1", KD_CARTESIAN);
    double            *p = calloc((size_t)f.n.np, sizeof *p);
    char               message[400];
    kd_initial_options options = kd_initial_options_default();
    memcpy(p, f.x->p, (size_t)f.n.np * sizeof *p);
    for (int i = 0; i < f.n.np; i++) f.x->p[i] += 1e-3 * sin(3.0 * i);
    for (int i = 0; i < f.n.nv; i++) f.x->v[i] += 1e-3 * sin(5.0 * i);
    assert_int_equal(kd_initial_consistent(kd_system_eom(f.system), NULL, &options, f.x, message, sizeof message),
                     KD_CORRECTED);
    kd_consistency now;
    assert_int_equal(kd_initial_residuals(kd_system_eom(f.system), NULL, f.x, &now), KD_OK);
    assert_true(now.position < 1e-9 && now.velocity < 1e-8 && now.acceleration < 1e-7 && now.dynamics < 1e-7);
    for (int i = 0; i < f.n.np; i++) assert_true(fabs(f.x->p[i] - p[i]) < 0.02);
    free(p);
    stop(&f);
}

// Full matrices of a large model can still be had, at once or at the first request, and are those of the sparse blocks.
static void full_matrices_on_request(void **unused)
{
    (void)unused;
    fixture f = {0};
    start(&f, 100, "0.1", KD_CARTESIAN); // np nv = 700 x 600
    size_t             bytes = 0;
    const kd_allocator counting = {count_allocate, count_release, &bytes};
    const size_t       entries = (size_t)f.n.np * (size_t)f.n.nv;
    double            *Z = calloc(entries, sizeof *Z), *values = calloc((size_t)(20 * f.n.np), sizeof *values);
    kd_pattern         pattern;
    kd_eom_data       *lazy;
    kd_set_allocator(&counting);
    assert_int_equal(kd_eom_data_create(kd_system_eom(f.system), &lazy), KD_OK);
    assert_true(bytes < entries * sizeof(double) * 6);
    size_t before = bytes;
    assert_int_equal(kd_eom_data_reserve(lazy), KD_OK);
    assert_true(bytes - before > entries * sizeof(double));
    before = bytes;
    kd_eom_at_time(lazy, 0.0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(lazy, f.x->p, NULL);
    assert_int_equal(kd_eom_Z(lazy, Z), KD_EVAL_OK);
    assert_int_equal(bytes, before);
    kd_eom_data_destroy(lazy);
    kd_set_allocator(NULL);
    at_state(&f);
    assert_true(kd_eom_pattern(kd_system_eom(f.system), KD_KINEMATICS, KD_V, &pattern));
    assert_int_equal(kd_eom_sparse(f.data, KD_KINEMATICS, KD_V, KD_PART_ALL, values), KD_EVAL_OK);
    for (int j = 0; j < pattern.columns; j++)
        for (int k = pattern.column[j]; k < pattern.column[j + 1]; k++) {
            assert_true(Z[(size_t)j * (size_t)f.n.np + (size_t)pattern.row[k]] == values[k]);
            Z[(size_t)j * (size_t)f.n.np + (size_t)pattern.row[k]] = 0.0;
        }
    for (size_t i = 0; i < entries; i++) assert_true(Z[i] == 0.0);
    free(Z);
    free(values);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_memory),
        cmocka_unit_test(linear_memory_of_loops),
        cmocka_unit_test(start_is_consistent),
        cmocka_unit_test(same_as_joint_coordinates),
        cmocka_unit_test(large_guess_is_corrected),
        cmocka_unit_test(full_matrices_on_request),
        cmocka_unit_test(trees_without_a_pattern),
        cmocka_unit_test(trees_without_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
