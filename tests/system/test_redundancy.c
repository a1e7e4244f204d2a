// test_redundancy.c: redundant everywhere, redundant in one position, not redundant: mechanisms whose answer is known.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include <kardan/initial.h>

#include "core/failing_allocator.h"
#include "system/redundancy.h"
#include "systems/rotation.h"
#include "systems/systems.h"

static char message[512];

// ---- helpers -------------------------------------------------------------------------------------------------------

typedef struct finding {
    kd_redundancy result;
    kd_arena      arena;
    kd_eom       *eom;
    kd_state     *x;
} finding;

static kd_eval unit_mass(const kd_point *x, void *context, double *M)
{
    (void)x;
    int n = *(const int *)context;
    for (int i = 0; i < n; i++) M[i * (n + 1)] = 1;
    return KD_EVAL_OK;
}

static kd_eval no_force(const kd_point *x, void *context, double *f)
{
    (void)x;
    memset(f, 0, (size_t) * (const int *)context * sizeof *f);
    return KD_EVAL_OK;
}

// Equations with n coordinates and m constraints; the context begins with n.
static kd_eom *equations(int n, int m, kd_function g, void *context)
{
    kd_eom_def def = kd_eom_def_default();
    kd_eom    *eom = NULL;
    def.dims = (kd_dims){.np = n, .nv = n, .nlambda = m};
    def.context = context;
    def.M = unit_mass;
    def.f = no_force;
    def.g = g;
    if (kd_eom_create(&def, &eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return eom;
}

static finding find_in(kd_eom *eom, kd_state *x)
{
    finding   f = {.eom = eom, .x = x};
    kd_status status = kd_redundancy_find(eom, NULL, NULL, x, &f.arena, &f.result, message, sizeof message);
    if (status != KD_OK) fail_msg("%s: %s", kd_status_name(status), message);
    int kept = 0;
    for (int i = 0; i < kd_eom_dims(eom).nlambda; i++) kept += f.result.keep[i];
    assert_int_equal(kept, f.result.rank);
    return f;
}

static finding find(kd_eom *eom, const double *p)
{
    kd_state *x = NULL;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    memcpy(x->p, p, (size_t)kd_eom_dims(eom).np * sizeof *p);
    return find_in(eom, x);
}

static void release(finding *f)
{
    kd_arena_release(&f->arena);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static void expect(const finding *f, int rank, int start_rank, bool certain)
{
    const kd_redundancy *r = &f->result;
    if (r->rank != rank || r->start_rank != start_rank || r->certain != certain)
        fail_msg("rank %d, at the start %d, %s (%s) instead of %d, %d, %s", r->rank, r->start_rank,
                 r->certain ? "certain" : "not certain", message, rank, start_rank,
                 certain ? "certain" : "not certain");
}

// ---- rods in the plane ---------------------------------------------------------------------------------------------
//
// Points (x, y); those with number >= nfree are fixed. Rods between two points: g = factor (|d|^2 - L^2) / 2, with L as
// in the start position.

enum { MAX_POINTS = 64, MAX_RODS = 64 };

typedef struct rods {
    int    n, nfree, nrods; // n = 2 nfree first, for the mass matrix
    double start[MAX_POINTS][2];
    int    rod[MAX_RODS][2];
    double factor[MAX_RODS]; // 0: 1
    double growth;           // rod 0 has L^2 + growth t
    long   calls, stop_at;   // g asks to stop at this call; 0: never
    bool   nan;
} rods;

static const double *point_of(const rods *c, const double *p, int i)
{
    return i < c->nfree ? p + 2 * i : c->start[i];
}

static double half_square(const rods *c, const double *p, int k)
{
    const double *a = point_of(c, p, c->rod[k][0]), *b = point_of(c, p, c->rod[k][1]);
    return 0.5 * ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]));
}

static kd_eval rods_g(const kd_point *x, void *context, double *g)
{
    rods *c = context;
    if (c->stop_at && ++c->calls >= c->stop_at) return KD_EVAL_STOP;
    for (int k = 0; k < c->nrods; k++)
        g[k] = (c->factor[k] != 0 ? c->factor[k] : 1) *
               (half_square(c, x->p, k) - half_square(c, c->start[0], k) - (k == 0 ? 0.5 * c->growth * x->t : 0));
    if (c->nan) g[0] = NAN;
    return KD_EVAL_OK;
}

static kd_eom *rods_equations(rods *c)
{
    c->n = 2 * c->nfree;
    return equations(c->n, c->nrods, rods_g, c);
}

static finding find_rods(rods *c)
{
    return find(rods_equations(c), c->start[0]);
}

// Four-bar with points B, C free, A and D fixed
static rods four_bar(void)
{
    return (rods){
        .nfree = 2, .nrods = 3, .start = {{0.3, 1.1}, {2.2, 1.4}, {0, 0}, {2.5, 0}}, .rod = {{0, 2}, {0, 1}, {1, 3}}};
}

// A four-bar has independent rows: nothing is dropped, forces are unique, and other positions were reached.
static void test_independent(void **state)
{
    (void)state;
    rods    c = four_bar();
    finding f = find_rods(&c);
    expect(&f, 3, 3, true);
    assert_int_equal(f.result.nsamples, 4);
    for (int i = 0; i < 3; i++) assert_true(f.result.keep[i] && !f.result.shares[i]);
    assert_non_null(strstr(message, "none of the 3"));
    release(&f);
}

// A flat four-bar is in a singular position; its rows are independent everywhere else, and all are kept.
static void test_flat_four_bar(void **state)
{
    (void)state;
    rods c = four_bar();
    c.start[0][0] = 1, c.start[0][1] = 0, c.start[1][0] = 3, c.start[1][1] = 0, c.start[3][0] = 2;
    finding f = find_rods(&c);
    expect(&f, 3, 2, true);
    assert_true(f.result.nsamples > 0);
    assert_non_null(strstr(message, "singular: rank 2 there, 3"));
    release(&f);
}

// A rod twice: the later one is dropped, both share their force, the others do not. Its factor does not matter.
static void test_duplicate(void **state)
{
    (void)state;
    for (int k = -5; k <= 5; k += 5) {
        rods c = four_bar();
        c.rod[3][0] = 0, c.rod[3][1] = 1, c.nrods = 4;
        c.factor[3] = pow(10, k);
        finding f = find_rods(&c);
        expect(&f, 3, 3, true);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(f.result.keep[i], i < 3);
            assert_int_equal(f.result.shares[i], i == 1 || i == 3);
        }
        assert_non_null(strstr(message, "1 of 4 constraints is redundant: 'lambda[3]'"));
        release(&f);
    }
}

// A parallelogram with a third crank at the coupler moves only because of its lengths: triangle of points on three
// parallel cranks.
static rods three_cranks(double length)
{
    rods         c = {.nfree = 3, .nrods = 6, .rod = {{0, 3}, {1, 4}, {2, 5}, {0, 1}, {1, 2}, {2, 0}}};
    const double foot[3][2] = {{0, 0}, {1, 0}, {0.4, 0.3}}, angle = 1.0;
    for (int i = 0; i < 3; i++) {
        double L = i == 2 ? length : 1;
        c.start[3 + i][0] = foot[i][0] + (1 - L) * cos(angle), c.start[3 + i][1] = foot[i][1] + (1 - L) * sin(angle);
        c.start[i][0] = foot[i][0] + cos(angle), c.start[i][1] = foot[i][1] + sin(angle);
    }
    return c;
}

// One row of the parallelogram with three cranks is redundant, certainly so by finite motion; all six rows share.
static void test_parallelogram(void **state)
{
    (void)state;
    rods    c = three_cranks(1);
    finding f = find_rods(&c);
    expect(&f, 5, 5, true);
    assert_int_equal(f.result.nsamples, 4);
    assert_false(f.result.keep[5]);
    release(&f);
}

// Cranks in the same directions, one shorter: dependent in this position to first order only. Nothing may be dropped.
static void test_infinitesimal(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        rods    c = three_cranks(k == 0 ? 0.8 : 0.99);
        finding f = find_rods(&c);
        expect(&f, 6, 5, true);
        assert_int_equal(f.result.nsamples, 0);
        for (int i = 0; i < 6; i++) assert_true(f.result.keep[i] && !f.result.shares[i]);
        release(&f);
    }
}

// A point between two rods in one line can move to first order only: both rods are kept, also when a pendulum beside it
// moves.
static void test_shaky_point(void **state)
{
    (void)state;
    rods    c = {.nfree = 1, .nrods = 2, .start = {{1, 0}, {0, 0}, {2.5, 0}}, .rod = {{0, 1}, {0, 2}}};
    finding f = find_rods(&c);
    expect(&f, 2, 1, true);
    assert_int_equal(f.result.nsamples, 0);
    release(&f);
    rods d = {
        .nfree = 2, .nrods = 3, .start = {{1, 0}, {4, 1}, {0, 0}, {2.5, 0}, {4, 2}}, .rod = {{0, 2}, {0, 3}, {1, 4}}};
    f = find_rods(&d);
    expect(&f, 3, 2, true);
    assert_int_equal(f.result.nsamples, 4);
    release(&f);
}

// A point on three rods cannot move: one rod too much, judged in the start position, and that is said.
static void test_no_mobility(void **state)
{
    (void)state;
    rods c = {.nfree = 1, .nrods = 3, .start = {{1, 1}, {0, 0}, {2.5, 0}, {0.7, 3}}, .rod = {{0, 1}, {0, 2}, {0, 3}}};
    finding f = find_rods(&c);
    expect(&f, 2, 2, false);
    assert_int_equal(f.result.nsamples, 0);
    assert_true(f.result.keep[0] && f.result.keep[1]);
    for (int i = 0; i < 3; i++) assert_true(f.result.shares[i]);
    assert_non_null(strstr(message, "nothing can move"));
    release(&f);
}

static kd_eval square_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0];
    return KD_EVAL_OK;
}

// A row whose gradient vanishes in the start position says nothing to first order, and is kept.
static void test_vanishing_gradient(void **state)
{
    (void)state;
    int     n = 2;
    finding f = find(equations(n, 1, square_g, &n), (double[]){0, 0});
    expect(&f, 1, 0, true);
    release(&f);
}

// The answer does not depend on the unit of length, on the place in the world, or on the order of magnitude of rows.
static void test_units(void **state)
{
    (void)state;
    const double unit[] = {1e-5, 1e-3, 1, 1e3, 1e5}, shift[] = {0, 1, 100};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++) {
            rods c = three_cranks(1);
            for (int k = 0; k < 6; k++) {
                c.start[k][0] = unit[i] * (c.start[k][0] + shift[j]);
                c.start[k][1] = unit[i] * (c.start[k][1] - shift[j]);
                c.factor[k] = pow(10, k - 3);
            }
            finding f = find_rods(&c);
            expect(&f, 5, 5, true);
            assert_int_equal(f.result.nsamples, 4);
            assert_false(f.result.keep[5]);
            release(&f);
            c.start[4][0] += unit[i] * 0.1 * cos(1.0), c.start[4][1] += unit[i] * 0.1 * sin(1.0);
            f = find_rods(&c);
            expect(&f, 6, 5, true);
            release(&f);
        }
}

// Separate mechanisms are judged each for itself: redundant, singular, rigid and regular ones side by side.
static void test_side_by_side(void **state)
{
    (void)state;
    rods part[4] = {three_cranks(1), four_bar(), three_cranks(0.8), four_bar()};
    part[1].start[0][0] = 1, part[1].start[0][1] = 0, part[1].start[1][0] = 3, part[1].start[1][1] = 0;
    part[1].start[3][0] = 2;
    rods all = {0};
    for (int k = 0; k < 4; k++) all.nfree += part[k].nfree;
    int free_point = 0, fixed_point = all.nfree;
    for (int k = 0; k < 4; k++) {
        int number[MAX_POINTS], npoints = k % 2 == 0 ? 6 : 4;
        for (int i = 0; i < npoints; i++) {
            number[i] = i < part[k].nfree ? free_point++ : fixed_point++;
            all.start[number[i]][0] = part[k].start[i][0] + 0.1 * k, all.start[number[i]][1] = part[k].start[i][1];
        }
        for (int i = 0; i < part[k].nrods; i++, all.nrods++)
            for (int j = 0; j < 2; j++) all.rod[all.nrods][j] = number[part[k].rod[i][j]];
    }
    finding f = find_rods(&all);
    expect(&f, 5 + 3 + 6 + 3, 5 + 2 + 5 + 3, true);
    assert_false(f.result.keep[5]);
    for (int i = 0; i < all.nrods; i++) assert_int_equal(f.result.shares[i], i < 6);
    release(&f);
}

// Time stands still: a rod that grows is judged at its length of the start time.
static void test_rheonomic(void **state)
{
    (void)state;
    rods c = four_bar();
    c.growth = 0.7;
    c.start[0][0] *= 0.9; // assembled for t = 0; then moved to t = 1 by the assembly below
    kd_eom   *eom = rods_equations(&c);
    kd_state *x = NULL;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    memcpy(x->p, c.start, 4 * sizeof(double));
    x->t = 1;
    kd_initial_options opt = kd_initial_options_default();
    assert_true(kd_initial_consistent(eom, NULL, &opt, x, message, sizeof message) >= 0);
    finding f = find_in(eom, x);
    expect(&f, 3, 3, true);
    release(&f);
}

// ---- loops of revolute joints --------------------------------------------------------------------------------------
//
// Product of rotations about axes (at points, as in the start position): X -> A_1(angle_1) .. A_n(angle_n) X. The loop
// is closed if that is the identity: six rows, the displacement of a point and the antisymmetric part of the rotation.

enum { MAX_JOINTS = 8, MAX_LOOPS = 12 };

typedef struct loop {
    int    n, nloops, njoints; // n = nloops njoints
    double axis[MAX_JOINTS][3], point[MAX_JOINTS][3];
    double end[3]; // point whose displacement is measured
    bool   driven; // one more row: the first angle is speed t
    double speed;
} loop;

static kd_eval loop_g(const kd_point *x, void *context, double *g)
{
    const loop *c = context;
    for (int l = 0; l < c->nloops; l++) {
        double R[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, at[3] = {0};
        memcpy(at, c->end, sizeof at);
        for (int k = c->njoints - 1; k >= 0; k--) {
            double half = 0.5 * x->p[l * c->njoints + k], s = sin(half), A[3][3], d[3], old[3][3];
            matrix_of((double[]){cos(half), s * c->axis[k][0], s * c->axis[k][1], s * c->axis[k][2]}, A);
            for (int i = 0; i < 3; i++) d[i] = at[i] - c->point[k][i];
            rotate(A, d, at);
            for (int i = 0; i < 3; i++) at[i] += c->point[k][i];
            memcpy(old, R, sizeof old);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) R[i][j] = A[i][0] * old[0][j] + A[i][1] * old[1][j] + A[i][2] * old[2][j];
        }
        for (int i = 0; i < 3; i++) {
            g[6 * l + i] = at[i] - c->end[i];
            g[6 * l + 3 + i] = R[(i + 2) % 3][(i + 1) % 3] - R[(i + 1) % 3][(i + 2) % 3];
        }
    }
    if (c->driven) g[6 * c->nloops] = x->p[0] - c->speed * x->t;
    return KD_EVAL_OK;
}

static finding find_loop(loop *c)
{
    double p[MAX_JOINTS * MAX_LOOPS] = {0};
    if (c->nloops == 0) c->nloops = 1;
    c->n = c->nloops * c->njoints;
    return find(equations(c->n, 6 * c->nloops + c->driven, loop_g, c), p);
}

// Turn the whole loop in space.
static void tilt(loop *c)
{
    double q[4] = {0.7, 0.3, -0.5, 0.4}, length = sqrt(0.49 + 0.09 + 0.25 + 0.16), R[3][3];
    for (int i = 0; i < 4; i++) q[i] /= length;
    matrix_of(q, R);
    for (int k = 0; k < c->njoints; k++) {
        rotate(R, c->axis[k], c->axis[k]);
        rotate(R, c->point[k], c->point[k]);
    }
}

static loop planar_loop(const double corner[4][2])
{
    loop c = {.njoints = 4, .end = {0.3, 0.2, 0.1}};
    for (int k = 0; k < 4; k++) {
        memcpy(c.axis[k], (double[]){0, 0, 1}, sizeof c.axis[k]);
        memcpy(c.point[k], (double[]){corner[k][0], corner[k][1], 0}, sizeof c.point[k]);
    }
    return c;
}

// A planar four-bar as a spatial loop: three of six rows are redundant. In the coordinate plane those are the rows out
// of it; in a tilted plane any three.
static void test_planar_loop(void **state)
{
    (void)state;
    const double corner[4][2] = {{0, 0}, {0.3, 1.1}, {2.2, 1.4}, {2.5, 0}};
    const bool   in_plane[6] = {true, true, false, false, false, true};
    loop         c = planar_loop(corner);
    finding      f = find_loop(&c);
    expect(&f, 3, 3, true);
    assert_int_equal(f.result.nsamples, 4);
    for (int i = 0; i < 6; i++) assert_int_equal(f.result.keep[i], in_plane[i]);
    for (int i = 0; i < 6; i++) assert_int_equal(f.result.shares[i], !in_plane[i]);
    release(&f);
    tilt(&c);
    f = find_loop(&c);
    expect(&f, 3, 3, true);
    release(&f);
}

// The flat loop: three rows are redundant everywhere, a fourth one in the start position only.
static void test_flat_loop(void **state)
{
    (void)state;
    const double corner[4][2] = {{0, 0}, {1, 0}, {3, 0}, {2, 0}};
    loop         c = planar_loop(corner);
    for (int k = 0; k < 2; k++) {
        finding f = find_loop(&c);
        expect(&f, 3, 2, true);
        assert_non_null(strstr(message, "3 of 6 constraints are redundant"));
        assert_non_null(strstr(message, "singular: rank 2 there, 3"));
        release(&f);
        tilt(&c);
    }
}

static loop bricard(void)
{
    return (loop){.njoints = 6,
                  .axis = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
                  .point = {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}}};
}

// Bricard's and Sarrus' linkages move with six joints: five of six rows count. Turning one axis a little makes them
// rigid, with independent rows.
static void test_overconstrained_loops(void **state)
{
    (void)state;
    loop sarrus = {.njoints = 6,
                   .axis = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}},
                   .point = {{0, 1, 0}, {0, 1.6, 0.7}, {0, 1, 1.5}, {1, 0, 1.5}, {1.8, 0, 0.8}, {1, 0, 0}}};
    for (int k = 0; k < 2; k++) {
        loop    c = k == 0 ? bricard() : sarrus;
        finding f = find_loop(&c);
        expect(&f, 5, 5, true);
        assert_true(f.result.nsamples > 0);
        release(&f);
        tilt(&c);
        f = find_loop(&c);
        expect(&f, 5, 5, true);
        release(&f);
        c.axis[1][0] += 0.1;
        double length = sqrt(dot(c.axis[1], c.axis[1]));
        for (int i = 0; i < 3; i++) c.axis[1][i] /= length;
        f = find_loop(&c);
        expect(&f, 6, 6, true);
        assert_int_equal(f.result.nsamples, 0);
        release(&f);
    }
}

// Seven joints in general position: independent.
static void test_seven_joints(void **state)
{
    (void)state;
    loop c = {.njoints = 7};
    for (int k = 0; k < 7; k++) {
        double q[3] = {sin(1 + 2.0 * k), cos(3 + 5.0 * k), sin(0.3 + k * k)}, length = sqrt(dot(q, q));
        for (int i = 0; i < 3; i++) c.axis[k][i] = q[i] / length, c.point[k][i] = cos(i + 4.0 * k + 0.2 * k * k);
    }
    finding f = find_loop(&c);
    expect(&f, 6, 6, true);
    assert_int_equal(f.result.nsamples, 4);
    release(&f);
}

// A motor at one joint takes the last freedom of Bricard's linkage. While it turns, the time shows that one row follows
// from the others; at rest, nothing does.
static void test_driven_loop(void **state)
{
    (void)state;
    loop c = bricard();
    c.driven = true;
    for (int k = 0; k < 2; k++) {
        c.speed = k == 0 ? 2 : 0;
        finding f = find_loop(&c);
        expect(&f, 6, 6, k == 0);
        assert_int_equal(f.result.nsamples, 0);
        assert_true(f.result.keep[6] && !f.result.shares[6]); // the motor has no part in it
        release(&f);
    }
}

// Many loops: the same rows are dropped in each.
static void test_many_loops(void **state)
{
    (void)state;
    const double corner[4][2] = {{0, 0}, {0.3, 1.1}, {2.2, 1.4}, {2.5, 0}};
    loop         c = planar_loop(corner);
    tilt(&c);
    c.nloops = MAX_LOOPS;
    finding f = find_loop(&c);
    expect(&f, 3 * MAX_LOOPS, 3 * MAX_LOOPS, true);
    for (int i = 6; i < 6 * MAX_LOOPS; i++) assert_int_equal(f.result.keep[i], f.result.keep[i % 6]);
    release(&f);
}

// ---- systems with a second description -----------------------------------------------------------------------------

// Cartesian coordinates with quaternions, contact coordinates, a plate on three links: the degrees of freedom are those
// of the second description, and the start is not changed.
static void test_systems(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        kd_eom               *eom;
        kd_state             *x, *before;
        assert_int_equal(system->create(&eom, &x), KD_OK);
        assert_int_equal(kd_state_create(eom, &before), KD_OK);
        kd_state_copy(x, before);
        finding f = find_in(eom, x);
        kd_dims n = kd_eom_dims(eom);
        expect(&f, n.nv - n.nmu - system->dof, n.nv - n.nmu - system->dof, true);
        assert_int_equal(f.result.rank < n.nlambda, system->redundant);
        assert_memory_equal(before->p, x->p, x->size * sizeof(double));
        kd_state_destroy(before);
        release(&f);
    }
}

// ---- contracts and failures ----------------------------------------------------------------------------------------

// Two calls answer the same.
static void test_repeatable(void **state)
{
    (void)state;
    rods    c = three_cranks(1), d = three_cranks(1);
    finding f = find_rods(&c), g = find_rods(&d);
    assert_memory_equal(f.result.keep, g.result.keep, 6 * sizeof(bool));
    assert_memory_equal(f.result.shares, g.result.shares, 6 * sizeof(bool));
    release(&f);
    release(&g);
}

// Without constraints there is nothing to find.
static void test_no_constraints(void **state)
{
    (void)state;
    int     n = 3;
    finding f = find(equations(3, 0, NULL, &n), (double[]){1, 2, 3});
    expect(&f, 0, 0, true);
    release(&f);
}

// A start off the constraints is refused, with the name of the row.
static void test_not_assembled(void **state)
{
    (void)state;
    rods          c = four_bar();
    kd_eom       *eom = rods_equations(&c);
    kd_state     *x = NULL;
    kd_arena      arena = {0};
    kd_redundancy r;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    memcpy(x->p, c.start, 4 * sizeof(double));
    x->p[2] += 0.01;
    assert_int_equal(kd_redundancy_find(eom, NULL, NULL, x, &arena, &r, message, sizeof message), KD_ERR_INCONSISTENT);
    assert_non_null(strstr(message, "lambda["));
    assert_int_equal(kd_redundancy_find(NULL, NULL, NULL, x, &arena, &r, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_redundancy_find(eom, NULL, NULL, NULL, &arena, &r, NULL, 0), KD_ERR_ARGUMENT);
    kd_arena_release(&arena);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A function that asks to stop at its n-th call stops the search, and NaN at the start is reported.
static void test_functions_that_fail(void **state)
{
    (void)state;
    rods          c = three_cranks(1);
    kd_eom       *eom = rods_equations(&c);
    kd_state     *x = NULL;
    kd_redundancy r;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    memcpy(x->p, c.start, 6 * sizeof(double));
    kd_status status = KD_ERR_CALLBACK_STOP;
    for (c.stop_at = 1; status != KD_OK; c.stop_at += 1 + c.stop_at / 10) {
        kd_arena arena = {0};
        c.calls = 0;
        status = kd_redundancy_find(eom, NULL, NULL, x, &arena, &r, message, sizeof message);
        if (status != KD_OK) assert_int_equal(status, KD_ERR_CALLBACK_STOP);
        kd_arena_release(&arena);
    }
    assert_true(c.stop_at > 100);
    c.stop_at = 0, c.nan = true;
    kd_arena arena = {0};
    assert_int_equal(kd_redundancy_find(eom, NULL, NULL, x, &arena, &r, message, sizeof message), KD_ERR_NOT_FINITE);
    kd_arena_release(&arena);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Whichever allocation fails: out of memory is reported, and nothing is leaked.
static void test_memory(void **state)
{
    (void)state;
    rods              c = three_cranks(1);
    kd_eom           *eom = rods_equations(&c);
    kd_state         *x = NULL;
    kd_redundancy     r;
    failing_allocator memory = {0};
    kd_status         status = KD_ERR_MEMORY;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    memcpy(x->p, c.start, 6 * sizeof(double));
    failing_allocator_use(&memory);
    for (memory.fail_at = 1; status != KD_OK && memory.fail_at < 1000; memory.fail_at++) {
        kd_arena arena = {0};
        memory.calls = 0;
        status = kd_redundancy_find(eom, NULL, NULL, x, &arena, &r, message, sizeof message);
        kd_arena_release(&arena);
        if (status != KD_OK && status != KD_ERR_MEMORY) break;
        if (memory.live != 0) break;
    }
    kd_set_allocator(NULL);
    assert_int_equal(status, KD_OK);
    assert_int_equal(memory.live, 0);
    assert_true(memory.fail_at > 4);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_independent),   cmocka_unit_test(test_flat_four_bar),
        cmocka_unit_test(test_duplicate),     cmocka_unit_test(test_parallelogram),
        cmocka_unit_test(test_infinitesimal), cmocka_unit_test(test_shaky_point),
        cmocka_unit_test(test_no_mobility),   cmocka_unit_test(test_vanishing_gradient),
        cmocka_unit_test(test_units),         cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_rheonomic),     cmocka_unit_test(test_planar_loop),
        cmocka_unit_test(test_flat_loop),     cmocka_unit_test(test_overconstrained_loops),
        cmocka_unit_test(test_seven_joints),  cmocka_unit_test(test_driven_loop),
        cmocka_unit_test(test_many_loops),    cmocka_unit_test(test_systems),
        cmocka_unit_test(test_repeatable),    cmocka_unit_test(test_no_constraints),
        cmocka_unit_test(test_not_assembled), cmocka_unit_test(test_functions_that_fail),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
