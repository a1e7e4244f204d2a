// The stiff part of the residual's derivatives: what the loads marked stiff give, and nothing else.
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

#include "system/system.h"
#include "systems/random_model.h"
#include "tree/work.h"

static const char text[] =
    "kardan: 1\n"
    "bodies:\n"
    "  a: {mass: 1, inertia: [0.1, 0.2, 0.2], position: [0.5, 0, 0]}\n"
    "  b: {mass: 2, inertia: [0.1, 0.2, 0.2], position: [1.5, 0, 0]}\n"
    "joints:\n"
    "  one: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0], q: 0.3, v: 1}\n"
    "  two: {type: revolute, bodies: [a, b], point: [1, 0, 0], axis: [0, 1, 0], q: 0.2, v: -2}\n"
    "forces:\n"
    "  soft: {type: joint_spring, joint: one, stiffness: 3, damping: 0.5, stiff: false}\n"
    "  hard: {type: joint_spring, joint: two, stiffness: 700, damping: 11}\n";

static void check_stiff_loads(bool all_before)
{
    char       message[400];
    kd_model  *model;
    kd_system *system;
    assert_int_equal(kd_model_read_text("text", text, strlen(text), NULL, 0, &model, message, sizeof message), KD_OK);
    assert_int_equal(kd_system_create(model, NULL, &system, message, sizeof message), KD_OK);
    const kd_eom *eom = kd_system_eom(system);
    kd_state     *x;
    kd_eom_data  *data;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    kd_eom_at_time(data, 0.0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(data, x->p, NULL);
    kd_eom_at_velocity(data, x->v, NULL);
    kd_eom_at_acceleration(data, x->a, NULL, NULL, NULL);
    double    K[4], D[4], all[4], again[4];
    kd_blocks wanted = {0}, whole = {0};
    wanted.block[KD_RESIDUAL][KD_P] = K;
    wanted.block[KD_RESIDUAL][KD_V] = D;
    whole.block[KD_RESIDUAL][KD_P] = all;
    if (all_before) assert_int_equal(kd_eom_derivatives(data, KD_PART_ALL, &whole), KD_EVAL_OK);
    assert_int_equal(kd_eom_derivatives(data, KD_PART_STIFF, &wanted), KD_EVAL_OK);
    const double stiffness[4] = {0, 0, 0, 700}, damping[4] = {0, 0, 0, 11};
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(K[i] - stiffness[i]) <= 1e-12 * (1 + fabs(stiffness[i])));
        assert_true(fabs(D[i] - damping[i]) <= 1e-12 * (1 + fabs(damping[i])));
    }
    whole.block[KD_RESIDUAL][KD_P] = again;
    assert_int_equal(kd_eom_derivatives(data, KD_PART_ALL, &whole), KD_EVAL_OK);
    if (all_before) assert_memory_equal(all, again, sizeof all);
    assert_true(fabs(again[0]) > 1.0); // gravity and the soft spring are in it
    kd_eom_data_destroy(data);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// With KD_PART_STIFF only the spring that is marked stiff is differentiated, whether or not KD_PART_ALL was ever asked
// for; with KD_PART_ALL, asked before and after, all is.
static void stiff_loads_only(void **unused)
{
    (void)unused;
    check_stiff_loads(false);
    check_stiff_loads(true);
}

// ---- against the assembly of all derivatives ------------------------------------------------------------------------
static int different(const kd_matrix_values *a, const kd_matrix_values *b)
{
    int    n = a->plan->column[a->plan->columns], wrong = 0;
    double largest = 0.0;
    for (int k = 0; k < n; k++) largest = fmax(largest, fabs(a->value[k]));
    for (int k = 0; k < n; k++) wrong += !(fabs(a->value[k] - b->value[k]) <= 1e-12 * largest);
    return wrong;
}

// (n x n) += values of a pattern
static void spread_values(int n, const int *column, const int *row, const double *values, double *out)
{
    for (int j = 0; j < n; j++)
        for (int k = column[j]; k < column[j + 1]; k++) out[row[k] + n * j] += values[k];
}

static int fitting; // models whose stiff part fits into M

// M + by_p residual_p + by_v residual_v in the pattern of M is the sum of both matrices
static int wrong_sum(kd_work *w, const kd_point *point)
{
    const kd_system *s = w->system;
    const int        n = s->nv, in_M = s->tree.column[n], in_p = s->residual_p.column[n];
    double          *M = calloc((size_t)in_M + 1, sizeof *M), *sum = calloc((size_t)in_M + 1, sizeof *sum);
    double          *p = calloc((size_t)in_p + 1, sizeof *p), *apart = calloc((size_t)(n * n), sizeof *apart);
    double          *together = calloc((size_t)(n * n), sizeof *together), largest = 0.0;
    int              wrong = 0;
    assert_true(M && sum && p && apart && together);
    assert_int_equal(kd_work_stiff_sum(w, point, 1e-4, 1e-2, 0, 1, p), KD_EVAL_OK);
    kd_tree_mass(&s->tree, &w->motion, M);
    assert_int_equal(kd_work_mass_and_stiff(w, point, 1e-4, 1e-2, 0, 1, sum), KD_EVAL_OK);
    spread_values(n, s->tree.column, s->tree.row, M, apart);
    spread_values(n, s->residual_p.column, s->residual_p.row, p, apart);
    spread_values(n, s->tree.column, s->tree.row, sum, together);
    for (int k = 0; k < n * n; k++) largest = fmax(largest, fabs(apart[k]));
    for (int k = 0; k < n * n; k++) wrong += !(fabs(apart[k] - together[k]) <= 1e-13 * largest);
    free(M), free(sum), free(p), free(apart), free(together);
    fitting++;
    return wrong;
}

static int summing; // models that keep sums of their blocks

// One part renewed after the other while the motion goes on: with sums of the blocks of each part, and without
static int wrong_parts(kd_work *w, kd_point *point, kd_state *x)
{
    const kd_system *s = w->system;
    const int        n = s->tree.column[s->nv], parts[] = {4, 4, 4, 4, 4, 3, 3, 3, 1, 4, 2, 5, 4, 4};
    kd_work         *other = kd_work_create(s);
    double          *a = calloc((size_t)n + 1, sizeof *a), *b = calloc((size_t)n + 1, sizeof *b);
    int              wrong = 0;
    assert_true(other && a && b);
    other->motion.work->avx2 = w->motion.work->avx2;
    other->stiff.sum[0] = NULL;
    other->stiff.blocks_known = w->stiff.blocks_known = false;
    for (int k = 0; k < 14; k++) {
        double largest = 0.0;
        for (int i = 0; i < s->nv; i++) x->v[i] *= 1.05;
        point->velocity_stamp++, point->acceleration_stamp++;
        assert_int_equal(kd_work_mass_and_stiff(w, point, 1e-4, 1e-2, k % parts[k], parts[k], a), KD_EVAL_OK);
        assert_int_equal(kd_work_mass_and_stiff(other, point, 1e-4, 1e-2, k % parts[k], parts[k], b), KD_EVAL_OK);
        for (int i = 0; i < n; i++) largest = fmax(largest, fabs(b[i]));
        for (int i = 0; i < n; i++) wrong += !(fabs(a[i] - b[i]) <= 1e-13 * largest);
    }
    free(a), free(b);
    kd_work_destroy(other);
    summing++;
    return wrong;
}

// Every other load, all, or those that are stiff by themselves, at the start moved by random increments and velocities.
static int wrong_entries(const kd_model *model, kd_coordinates coordinates, uint64_t seed)
{
    char              message[400];
    kd_system        *s = NULL;
    kd_state         *x = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    assert_int_equal(kd_system_create(model, &opt, &s, message, sizeof message), KD_OK);
    for (int i = 0; seed % 6 < 4 && i < kd_system_loads_count(s); i++)
        kd_system_set_stiff(s, i, seed % 3 == 0 || i % 2 == 0); // otherwise those that the model says
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    (void)!kd_system_start(s, x, message, sizeof message);
    kd_work *w = kd_work_create(s);
    double  *u = calloc(3 * (size_t)model->ninputs + 1, sizeof *u);
    assert_true(w && u);
    w->motion.work->avx2 = w->motion.work->avx2 && seed % 4 < 2; // the other half: the variant for all processors
    assert_int_equal(s->inputs.eval(x->t, s->inputs.context, u, u + model->ninputs, u + 2 * model->ninputs),
                     KD_EVAL_OK);
    for (int i = 0; i < s->nv; i++) {
        x->v[i] += 0.3 * mechanism_random(&seed);
        x->a[i] = mechanism_random(&seed);
    }
    kd_point point = kd_point_of(x, u, model->ninputs);
    int      wrong = 0;
    if (kd_work_derivatives(w, &point, KD_PART_STIFF) == KD_EVAL_OK) { // otherwise a tyre lies on its side
        assert_int_equal(kd_work_stiff(w, &point), KD_EVAL_OK);
        wrong = different(&w->residual_p, &w->stiff.p) + different(&w->residual_v, &w->stiff.v);
        const kd_matrix_values *const of_states[KD_STIFF_STATES] = {&w->residual_r, &w->b_p, &w->b_v, &w->b_r};
        assert_int_equal(kd_work_stiff_states(w, &point), KD_EVAL_OK);
        for (int k = 0; k < KD_STIFF_STATES; k++) wrong += different(of_states[k], &w->stiff_states.matrix[k]);
        if (w->stiff.fits_mass && w->stiff.npaths > 0) wrong += wrong_sum(w, &point);
        if (w->stiff.sum[0]) wrong += wrong_parts(w, &point, x);
    }
    free(u);
    kd_work_destroy(w);
    kd_state_destroy(x);
    kd_system_destroy(s);
    return wrong;
}

// Matrices of order 6 along the paths give what the assembly of all derivatives gives for the same loads: every kind of
// force on random mechanisms, some with flexible bodies, prescribed coordinates, states, both coordinate sets.
static void same_as_assembly(void **unused)
{
    (void)unused;
    for (int i = 0; i < 120; i++) {
        static mechanism  m;
        mechanism_options opt = {.bodies = 1 + i % 5,
                                 .loops = i % 3,
                                 .constraints = i % 2,
                                 .forces = 4 + i % 6,
                                 .driven = i % 4 == 2,
                                 .flexible = i % 4 == 1,
                                 .states = i % 3 == 0};
        mechanism_variant plain = {0};
        mechanism_make(&m, 7000 + (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &plain);
        assert_non_null(model);
        for (int k = 0; k < 2; k++)
            if (wrong_entries(model, k == 0 ? KD_JOINT : KD_CARTESIAN, (uint64_t)i) > 0)
                fail_msg("mechanism %d, %d", i, k);
        kd_model_destroy(model);
    }
    assert_true(fitting > 2);
}

// The same for vehicles: tyres with and without slip, anti-roll bars between joints, wheels on rails.
static void same_as_assembly_for_vehicles(void **unused)
{
    static const char *const names[] = {
        "passenger-car",       "hmmwv",    "carriage",       "truck7", "hunting-wheelset", "bouncing-ball",
        "tractor-semitrailer", "truck-41", "closed-loop-car"};
    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char      path[300], message[400];
        kd_model *model;
        (void)snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", names[i]);
        assert_int_equal(kd_model_read(path, NULL, 0, &model, message, sizeof message), KD_OK);
        fitting = 0;
        for (int k = 0; k < 6; k++)
            if (wrong_entries(model, k % 2 == 0 ? KD_JOINT : KD_CARTESIAN, (uint64_t)k) > 0)
                fail_msg("%s, %d", names[i], k);
        kd_model_destroy(model);
        // the last one in joint coordinates, whichever loads are stiff; the steering of the train reads its frame
        if (strcmp(names[i], "tractor-semitrailer") == 0) assert_true(fitting > 0 && summing > 0);
    }
    assert_int_equal(fitting, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stiff_loads_only), cmocka_unit_test(same_as_assembly),
                                       cmocka_unit_test(same_as_assembly_for_vehicles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
