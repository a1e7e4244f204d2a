// test_initial.c: consistent initial values against closed solutions, independent minimisation and the failures
// promised.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/initial.h>

#define GRAVITY 9.81
#define CHECK(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

// ---- helpers --------------------------------------------------------------------------------------------------------

static char message[640];

static kd_eom *make(const kd_eom_def *def)
{
    kd_eom *eom = NULL;
    char    why[256];
    if (kd_eom_create(def, &eom, why, sizeof why) != KD_OK) fail_msg("%s", why);
    return eom;
}

static kd_state *state_of(const kd_eom *eom)
{
    kd_state *x = NULL;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    return x;
}

static kd_status solve(const kd_eom *eom, const kd_initial_options *opt, kd_state *x)
{
    return kd_initial_consistent(eom, NULL, opt, x, message, sizeof message);
}

// All equations hold at x to the tolerance.
static void check_consistent(const kd_eom *eom, const kd_state *x, double tolerance)
{
    kd_consistency c;
    assert_int_equal(kd_initial_residuals(eom, NULL, x, &c), KD_OK);
    CHECK(c.position, 0.0, tolerance);
    CHECK(c.velocity, 0.0, tolerance);
    CHECK(c.acceleration, 0.0, 100.0 * tolerance);
    CHECK(c.dynamics, 0.0, 100.0 * tolerance);
    CHECK(c.auxiliary, 0.0, 100.0 * tolerance);
}

// A call that must fail: status, words in the message, state unchanged to the last bit.
static void check_failure(const kd_eom *eom, const kd_initial_options *opt, kd_state *x, kd_status expected,
                          const char *word1, const char *word2)
{
    kd_state *before = state_of(eom);
    kd_state_copy(x, before);
    kd_status st = solve(eom, opt, x);
    if (st != expected) fail_msg("%s instead of %s: %s", kd_status_name(st), kd_status_name(expected), message);
    if (word1 && !strstr(message, word1)) fail_msg("no '%s' in: %s", word1, message);
    if (word2 && !strstr(message, word2)) fail_msg("no '%s' in: %s", word2, message);
    assert_memory_equal(before->p, x->p, x->size * sizeof(double));
    kd_state_destroy(before);
}

static void finish(kd_eom *eom, kd_state *x)
{
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Minimum of a function of one variable near a and b, by golden sections.
static double minimise(double (*f)(double, const void *), const void *context, double a, double b)
{
    const double ratio = 0.5 * (sqrt(5.0) - 1.0);
    for (int k = 0; k < 120; k++) {
        double left = b - ratio * (b - a), right = a + ratio * (b - a);
        if (f(left, context) < f(right, context))
            b = right;
        else
            a = left;
    }
    return 0.5 * (a + b);
}

// ---- pendulum: S3 Examples 2.8 and 3.1 ------------------------------------------------------------------------------

typedef struct pendulum {
    double L, rate; // length L + rate t
    double m[2];
    int    stop_after; // g asks to stop at this call, 0: never
    int    calls;
    bool   nan;
    bool   refuse_far; // no value further than 3 L from the origin
} pendulum;

static kd_eval pendulum_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    const pendulum *c = context;
    M[0] = c->m[0], M[1] = M[2] = 0.0, M[3] = c->m[1];
    return KD_EVAL_OK;
}

static kd_eval pendulum_f(const kd_point *x, void *context, double *f)
{
    (void)x;
    const pendulum *c = context;
    f[0] = 0.0, f[1] = -c->m[1] * GRAVITY;
    return KD_EVAL_OK;
}

static kd_eval pendulum_g(const kd_point *x, void *context, double *g)
{
    pendulum *c = context;
    double    L = c->L + c->rate * x->t;
    if (c->stop_after && ++c->calls >= c->stop_after) return KD_EVAL_STOP;
    if (c->refuse_far && hypot(x->p[0], x->p[1]) > 3.0 * c->L) return KD_EVAL_RETRY;
    g[0] = c->nan ? NAN : x->p[0] * x->p[0] + x->p[1] * x->p[1] - L * L;
    return KD_EVAL_OK;
}

static const char *pendulum_name(kd_kind kind, int i, void *context)
{
    (void)context;
    static const char *const p[] = {"x", "y"}, *const v[] = {"vx", "vy"};
    if (kind == KD_NAME_P) return p[i];
    if (kind == KD_NAME_V) return v[i];
    return kind == KD_NAME_LAMBDA ? "rod length" : NULL;
}

static kd_eom_def pendulum_def(pendulum *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.context = c;
    def.M = pendulum_M;
    def.f = pendulum_f;
    def.g = pendulum_g;
    def.name = pendulum_name;
    return def;
}

static kd_eom *pendulum_eom(pendulum *c)
{
    kd_eom_def def = pendulum_def(c);
    return make(&def);
}

static pendulum unit_pendulum(void)
{
    return (pendulum){.L = 2.0, .m = {1.5, 1.5}};
}

typedef struct guess2 {
    double        x, y;
    const double *m;
    double        L;
} guess2;

static double circle_distance(double angle, const void *context)
{
    const guess2 *g = context;
    double        dx = g->L * cos(angle) - g->x, dy = g->L * sin(angle) - g->y;
    return g->m[0] * dx * dx + g->m[1] * dy * dy;
}

// With equal masses the closest point of the circle is the radial projection, from inside and from far outside.
static void test_closest_is_radial(void **unused)
{
    (void)unused;
    const double guesses[][2] = {{2.1, 0.3}, {0.1, -0.2}, {9.0, 4.0}, {-30.0, 10.0}};
    pendulum     c = unit_pendulum();
    kd_eom      *eom = pendulum_eom(&c);
    kd_state    *x = state_of(eom);
    for (size_t k = 0; k < sizeof guesses / sizeof *guesses; k++) {
        double r = hypot(guesses[k][0], guesses[k][1]);
        memcpy(x->p, guesses[k], sizeof guesses[k]);
        assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
        CHECK(x->p[0], c.L * guesses[k][0] / r, 1e-8);
        CHECK(x->p[1], c.L * guesses[k][1] / r, 1e-8);
        check_consistent(eom, x, 1e-10);
    }
    finish(eom, x);
}

// With different masses the answer is the minimum over the angle, not the radial projection.
static void test_closest_in_mass_norm(void **unused)
{
    (void)unused;
    const double guesses[][2] = {{2.3, 1.1}, {0.9, 0.5}, {4.0, 7.0}};
    pendulum     c = {.L = 2.0, .m = {1.0, 7.0}};
    kd_eom      *eom = pendulum_eom(&c);
    kd_state    *x = state_of(eom);
    for (size_t k = 0; k < sizeof guesses / sizeof *guesses; k++) {
        guess2 g = {guesses[k][0], guesses[k][1], c.m, c.L};
        double radial = atan2(g.y, g.x), angle = minimise(circle_distance, &g, radial - 0.8, radial + 0.8);
        memcpy(x->p, guesses[k], sizeof guesses[k]);
        assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
        CHECK(x->p[0], c.L * cos(angle), 1e-7); // golden sections are exact to sqrt(eps)
        CHECK(x->p[1], c.L * sin(angle), 1e-7);
        assert_true(fabs(angle - radial) > 1e-2);
        // Lagrange condition W (p - guess) parallel to G', exact to the tolerance
        double cross = c.m[0] * (x->p[0] - g.x) * x->p[1] - c.m[1] * (x->p[1] - g.y) * x->p[0];
        CHECK(cross, 0.0, 1e-7);
        kd_initial_options opt = kd_initial_options_default();
        opt.euclidean = true;
        memcpy(x->p, guesses[k], sizeof guesses[k]);
        assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
        CHECK(atan2(x->p[1], x->p[0]), radial, 1e-8);
    }
    finish(eom, x);
}

// The corrected velocity is the projection in the M-norm; a and lambda are those of the closed solution.
static void test_velocity_and_multiplier(void **unused)
{
    (void)unused;
    pendulum  c = {.L = 1.0, .m = {2.0, 5.0}};
    kd_eom   *eom = pendulum_eom(&c);
    kd_state *x = state_of(eom);
    double    px = 0.6, py = -0.8, v0[] = {1.0, 2.0};
    x->p[0] = px, x->p[1] = py, x->v[0] = v0[0], x->v[1] = v0[1];
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    assert_true(x->p[0] == px && x->p[1] == py);
    double G[] = {2 * px, 2 * py}, S = G[0] * G[0] / c.m[0] + G[1] * G[1] / c.m[1], Gv = G[0] * v0[0] + G[1] * v0[1];
    CHECK(x->v[0], v0[0] - G[0] / c.m[0] * Gv / S, 1e-12);
    CHECK(x->v[1], v0[1] - G[1] / c.m[1] * Gv / S, 1e-12);
    double lambda = (-G[1] * GRAVITY + 2 * (x->v[0] * x->v[0] + x->v[1] * x->v[1])) / S;
    CHECK(x->lambda[0], lambda, 1e-6);
    CHECK(x->a[0], -G[0] * lambda / c.m[0], 1e-6);
    CHECK(x->a[1], -GRAVITY - G[1] * lambda / c.m[1], 1e-6);
    finish(eom, x);
}

// A consistent guess keeps p, v to the last bit, also where it satisfies the equations to the tolerance only; a second
// call after a correction changes nothing more.
static void test_do_no_harm(void **unused)
{
    (void)unused;
    pendulum  c = unit_pendulum();
    kd_eom   *eom = pendulum_eom(&c);
    kd_state *x = state_of(eom), *before = state_of(eom);
    x->p[0] = 2.0 * cos(0.3) * (1.0 + 1e-10), x->p[1] = 2.0 * sin(0.3);
    x->v[0] = -sin(0.3), x->v[1] = cos(0.3);
    kd_state_copy(x, before);
    assert_int_equal(solve(eom, NULL, x), KD_OK);
    assert_memory_equal(x->p, before->p, 4 * sizeof(double));
    assert_true(x->lambda[0] != 0.0 && message[0] == '\0');

    x->p[0] = 3.0, x->v[1] = 5.0;
    kd_state_copy(x, before);
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    int  i = fabs(x->p[1] - before->p[1]) > fabs(x->p[0] - before->p[0]); // what moved most, in words
    int  j = fabs(x->v[1] - before->v[1]) > fabs(x->v[0] - before->v[0]);
    char expected[200], name[2][40];
    (void)snprintf(expected, sizeof expected,
                   "initial position '%s' moved by %.3g, velocity '%s' by %.3g to satisfy the constraints",
                   kd_eom_name(eom, KD_NAME_P, i, name[0], sizeof name[0]), fabs(x->p[i] - before->p[i]),
                   kd_eom_name(eom, KD_NAME_V, j, name[1], sizeof name[1]), fabs(x->v[j] - before->v[j]));
    assert_string_equal(message, expected);
    kd_state_copy(x, before);
    assert_int_equal(solve(eom, NULL, x), KD_OK);
    assert_memory_equal(x->p, before->p, 4 * sizeof(double));
    kd_state_destroy(before);
    finish(eom, x);
}

// A point of the caller to work at: the same bits, wherever it was before; one of other equations is refused.
static void test_point_of_the_caller(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    kd_eom            *eom = pendulum_eom(&c), *others = pendulum_eom(&c);
    kd_state          *x = state_of(eom), *y = state_of(eom);
    kd_initial_options opt = kd_initial_options_default();
    kd_eom_data       *point;
    x->p[0] = 3.0, x->p[1] = 0.4, x->v[1] = 5.0;
    kd_state_copy(x, y);
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    assert_int_equal(kd_eom_data_create(eom, &point), KD_OK);
    assert_int_equal(kd_eom_at_state(point, NULL, x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    opt.point = point;
    assert_int_equal(solve(eom, &opt, y), KD_CORRECTED);
    assert_memory_equal(y->p, x->p, x->size * sizeof(double));
    kd_state *z = state_of(others);
    check_failure(others, &opt, z, KD_ERR_ARGUMENT, "evaluation point", "other equations");
    kd_state_destroy(z);
    kd_eom_data_destroy(point);
    kd_state_destroy(y);
    kd_eom_destroy(others);
    finish(eom, x);
}

// Held components stay; the others bear the correction. With all held there is nothing to correct.
static void test_held_components(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = kd_initial_options_default();
    bool               hold[2] = {true, false}, hold_v[2] = {false, true}, all[2] = {true, true};
    opt.hold_p = hold, opt.hold_v = hold_v;
    x->p[0] = 1.2, x->p[1] = -1.0, x->v[0] = 0.0, x->v[1] = 0.7;
    assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
    assert_true(x->p[0] == 1.2 && x->v[1] == 0.7);
    CHECK(x->p[1], -1.6, 1e-12);
    CHECK(x->v[0], 0.7 * 1.6 / 1.2, 1e-12);

    x->p[0] = 2.5; // out of reach for y alone
    check_failure(eom, &opt, x, KD_ERR_IV_CONTRADICTORY, "rod length", "held");
    opt.hold_p = all;
    check_failure(eom, &opt, x, KD_ERR_INCONSISTENT, "rod length", "held");
    finish(eom, x);
}

// A length that grows with time: gI and gII contain the explicit time derivative.
static void test_rheonomic(void **unused)
{
    (void)unused;
    pendulum  c = {.L = 1.0, .rate = 0.5, .m = {1.0, 1.0}};
    kd_eom   *eom = pendulum_eom(&c);
    kd_state *x = state_of(eom);
    x->t = 2.0;
    x->p[0] = 0.0, x->p[1] = -1.0, x->v[0] = 3.0, x->v[1] = 0.0;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->p[1], -2.0, 1e-10);
    CHECK(x->v[0], 3.0, 1e-10);
    CHECK(x->v[1], -0.5, 1e-9);
    // |p| = L(t), L'' = 0: radial acceleration = -vt^2/L, m ay = -m g - 2 py lambda
    CHECK(x->a[1], 4.5, 1e-5);
    CHECK(x->lambda[0], (4.5 + GRAVITY) / 4.0, 1e-5);
    finish(eom, x);
}

// ---- user conditions ------------------------------------------------------------------------------------------------

typedef struct conditions {
    double      L, omega, force;
    int         count, stop_after, calls;
    const char *names[4];
} conditions;

static const char *condition_name(int i, void *context)
{
    return ((const conditions *)context)->names[i];
}

static kd_eval deviation_and_speed(const kd_point *x, void *context, double *out)
{
    conditions *c = context;
    if (c->stop_after && ++c->calls >= c->stop_after) return KD_EVAL_STOP;
    out[0] = x->p[0] - c->L / sqrt(2.0);
    out[1] = hypot(x->v[0], x->v[1]) / c->L - c->omega;
    if (c->count > 2) out[2] = x->p[0] + x->p[1];
    return KD_EVAL_OK;
}

static kd_initial_options with_conditions(kd_function f, int n, conditions *c)
{
    kd_initial_options opt = kd_initial_options_default();
    opt.nconditions = c->count = n;
    opt.conditions = f;
    opt.context = c;
    opt.condition_name = condition_name;
    return opt;
}

// S3 Example 3.1: p1 = L / sqrt 2 and an angular velocity determine the start, from a guess at rest too, where the
// condition on the speed has no derivative; p1 + p2 = 0 in addition is one condition too many, but no contradiction.
static void test_example_3_1(void **unused)
{
    (void)unused;
    pendulum   c = unit_pendulum();
    conditions w = {.L = c.L, .omega = 1.7, .names = {"start angle", "speed", "diagonal"}};
    kd_eom    *eom = pendulum_eom(&c);
    kd_state  *x = state_of(eom);
    for (int n = 2; n <= 3; n++) {
        for (int rest = 0; rest < 2; rest++) {
            kd_initial_options opt = with_conditions(deviation_and_speed, n, &w);
            x->p[0] = 1.0, x->p[1] = -1.9, x->v[0] = rest ? 0.0 : 1.0, x->v[1] = 0.0;
            assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
            CHECK(x->p[0], c.L / sqrt(2.0), 1e-10);
            CHECK(x->p[1], -c.L / sqrt(2.0), 1e-10);
            CHECK(hypot(x->v[0], x->v[1]), 1.7 * c.L, 1e-8);
            CHECK(x->v[0] * x->p[0] + x->v[1] * x->p[1], 0.0, 1e-9);
            if (!rest) assert_true(x->v[0] > 0.0); // the solution on the side of the guess
            check_consistent(eom, x, 1e-8);
        }
    }
    finish(eom, x);
}

static kd_eval diagonal(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] + x->p[1];
    return KD_EVAL_OK;
}

// S3 Remark 3.2: conditions dominate a consistent guess. Velocities that are consistent are kept without conditions.
static void test_conditions_dominate(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .names = {"diagonal"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(diagonal, 1, &w);
    x->p[0] = 2.0;
    assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
    CHECK(x->p[0], sqrt(2.0), 1e-10);
    CHECK(x->p[1], -sqrt(2.0), 1e-10);
    assert_int_equal(solve(eom, &opt, x), KD_OK);
    opt.assume = true; // no check at all
    x->p[0] = 5.0, x->v[0] = 1.0;
    assert_int_equal(solve(eom, &opt, x), KD_OK);
    assert_true(x->p[0] == 5.0 && x->v[0] == 1.0 && isfinite(x->lambda[0]));
    finish(eom, x);
}

static kd_eval impossible(const kd_point *x, void *context, double *out)
{
    const conditions *c = context;
    out[0] = x->p[0] - 2.0 * c->L;
    return KD_EVAL_OK;
}

static kd_eval two_speeds(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] - 1.0;
    out[1] = x->v[0] - 1.0;
    out[2] = x->v[0] - 2.0;
    return KD_EVAL_OK;
}

// A contradiction is named on both sides: condition against constraint, condition against condition.
static void test_contradictory(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .names = {"start angle", "slow", "fast"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(impossible, 1, &w);
    x->p[0] = 1.5, x->p[1] = -1.4;
    check_failure(eom, &opt, x, KD_ERR_IV_CONTRADICTORY, "condition 'start angle' contradicts constraint 'rod length'",
                  NULL);
    opt = with_conditions(two_speeds, 3, &w);
    check_failure(eom, &opt, x, KD_ERR_IV_CONTRADICTORY, "condition 'slow' and condition 'fast' contradict each other",
                  "velocity level");
    opt.condition_name = NULL;
    check_failure(eom, &opt, x, KD_ERR_IV_CONTRADICTORY, "condition[1]", "condition[2]");
    finish(eom, x);
}

static kd_eval speed_only(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->v[0] - 1.0;
    return KD_EVAL_OK;
}

// Too few conditions: an inconsistent guess is refused with the names of what is open; a guess that satisfies
// everything is taken; without require_unique the closest point is.
static void test_undetermined(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .names = {"speed"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(speed_only, 1, &w);
    x->p[0] = 0.1, x->p[1] = -2.2, x->v[0] = 1.0;
    check_failure(eom, &opt, x, KD_ERR_IV_UNDETERMINED, "'x', 'y'", "position level");
    opt.require_unique = false;
    double r = hypot(0.1, 2.2);
    assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
    CHECK(x->p[0], 0.1 * c.L / r, 1e-8);
    CHECK(x->v[0], 1.0, 1e-9);
    opt.require_unique = true;
    assert_int_equal(solve(eom, &opt, x), KD_OK);
    finish(eom, x);
}

static kd_eval energy_and_place(const kd_point *x, void *context, double *out)
{
    const conditions *c = context;
    out[0] = 0.5 * (x->v[0] * x->v[0] + x->v[1] * x->v[1]) + GRAVITY * x->p[1] - c->omega; // per mass
    out[1] = x->p[0] - 1.0;
    return KD_EVAL_OK;
}

static kd_eval energy_only(const kd_point *x, void *context, double *out)
{
    double both[2];
    (void)energy_and_place(x, context, both);
    out[0] = both[0];
    return KD_EVAL_OK;
}

// A condition on the energy ties positions and velocities together.
static void test_condition_on_energy(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .omega = -5.0, .names = {"energy", "place"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(energy_and_place, 2, &w);
    x->p[0] = 0.8, x->p[1] = -1.7, x->v[0] = 1.0, x->v[1] = 0.1;
    assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
    CHECK(x->p[0], 1.0, 1e-10);
    CHECK(x->p[1], -sqrt(3.0), 1e-10);
    CHECK(x->v[0] * x->v[0] + x->v[1] * x->v[1], 2.0 * (-5.0 + GRAVITY * sqrt(3.0)), 1e-8);
    check_consistent(eom, x, 1e-8);

    opt = with_conditions(energy_only, 1, &w);
    x->p[0] = 0.8, x->p[1] = -1.7, x->v[0] = 1.0, x->v[1] = 0.1;
    check_failure(eom, &opt, x, KD_ERR_IV_UNDETERMINED, "'vx'", "together");
    opt.require_unique = false;
    assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
    double   energy;
    kd_point at = {.p = x->p, .v = x->v};
    (void)energy_only(&at, &w, &energy);
    CHECK(energy, 0.0, 1e-8);
    check_consistent(eom, x, 1e-8);
    finish(eom, x);
}

static kd_eval rod_force(const kd_point *x, void *context, double *out)
{
    const conditions *c = context;
    out[0] = 2.0 * c->L * x->lambda[0] - c->force; // force in the rod
    out[1] = x->p[0];
    return KD_EVAL_OK;
}

// A condition on the multiplier is met by the velocity: at the lowest point, force = m g + m v^2 / L.
static void test_condition_on_multiplier(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .force = 20.0, .names = {"rod force", "below"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(rod_force, 2, &w);
    x->p[0] = 0.1, x->p[1] = -1.9, x->v[0] = 1.5;
    assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
    CHECK(x->p[0], 0.0, 1e-9);
    CHECK(x->p[1], -c.L, 1e-9);
    CHECK(x->v[0], sqrt((20.0 / c.m[0] - GRAVITY) * c.L), 1e-6);
    CHECK(2.0 * c.L * x->lambda[0], 20.0, 1e-6);
    kd_state *before = state_of(eom);
    kd_state_copy(x, before);
    x->lambda[0] = 0.0, x->a[0] = 3.0; // only the state part of the guess counts
    assert_int_equal(solve(eom, &opt, x), KD_OK);
    assert_memory_equal(x->p, before->p, 4 * sizeof(double));
    kd_state_destroy(before);
    finish(eom, x);
}

// ---- loops, redundancy, inactive rows -------------------------------------------------------------------------------

typedef struct loop {
    double l[3], d;
    int    copies; // how often the closure is written down
} loop;

static kd_eval loop_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    memset(M, 0, 9 * sizeof *M);
    M[0] = 2.0, M[4] = 0.5, M[8] = 1.0;
    return KD_EVAL_OK;
}

static kd_eval loop_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    for (int i = 0; i < 3; i++) f[i] = -GRAVITY * cos(x->p[i]);
    return KD_EVAL_OK;
}

static kd_eval loop_g(const kd_point *x, void *context, double *g)
{
    const loop *c = context;
    for (int k = 0; k < c->copies; k++) {
        g[2 * k] = (k + 1.0) * (c->l[0] * cos(x->p[0]) + c->l[1] * cos(x->p[1]) - c->l[2] * cos(x->p[2]) - c->d);
        g[2 * k + 1] = (k + 1.0) * (c->l[0] * sin(x->p[0]) + c->l[1] * sin(x->p[1]) - c->l[2] * sin(x->p[2]));
    }
    return KD_EVAL_OK;
}

static kd_eom *loop_eom(loop *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 2 * c->copies};
    def.context = c;
    def.M = loop_M;
    def.f = loop_f;
    def.g = loop_g;
    return make(&def);
}

static const double loop_start[] = {1.2, 0.1, 1.4};

// Distance of the pose with crank angle p0 from the start, in the M-norm; the branch near the start.
static double loop_distance(double crank, const void *context)
{
    const loop *c = context;
    double      dx = c->l[0] * cos(crank) - c->d, dy = c->l[0] * sin(crank), r = hypot(dx, dy);
    // l1 (cos, sin)(p1) = l2 (cos, sin)(p2) - (dx, dy)
    double base = atan2(dy, dx), u = (c->l[2] * c->l[2] + r * r - c->l[1] * c->l[1]) / (2.0 * c->l[2] * r);
    double p2 = base - acos(u), p1 = atan2(c->l[2] * sin(p2) - dy, c->l[2] * cos(p2) - dx);
    double e0 = crank - loop_start[0], e1 = p1 - loop_start[1], e2 = p2 - loop_start[2];
    return 2.0 * e0 * e0 + 0.5 * e1 * e1 + e2 * e2;
}

// Four-bar loop: the pose is the closest of the one-parameter family of closed poses.
static void test_four_bar(void **unused)
{
    (void)unused;
    loop      c = {{1.0, 2.0, 1.5}, 2.2, 1};
    kd_eom   *eom = loop_eom(&c);
    kd_state *x = state_of(eom);
    memcpy(x->p, loop_start, sizeof loop_start);
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    check_consistent(eom, x, 1e-10);
    double crank = minimise(loop_distance, &c, 0.8, 1.6);
    CHECK(x->p[0], crank, 1e-6);
    finish(eom, x);
}

// Redundant closures change neither the motion nor the status; the multipliers are those of least norm.
static void test_redundant(void **unused)
{
    (void)unused;
    loop      one = {{1.0, 2.0, 1.5}, 2.2, 1}, two = {{1.0, 2.0, 1.5}, 2.2, 2};
    kd_eom   *eom1 = loop_eom(&one), *eom2 = loop_eom(&two);
    kd_state *x1 = state_of(eom1), *x2 = state_of(eom2);
    memcpy(x1->p, loop_start, sizeof loop_start);
    memcpy(x2->p, loop_start, sizeof loop_start);
    x1->v[0] = x2->v[0] = 1.0;
    for (int i = 0; i < 4; i++) x2->lambda[i] = 100.0 * i; // must not show in the result
    assert_int_equal(solve(eom1, NULL, x1), KD_CORRECTED);
    assert_int_equal(solve(eom2, NULL, x2), KD_CORRECTED);
    for (int i = 0; i < 3; i++) {
        CHECK(x2->p[i], x1->p[i], 1e-8);
        CHECK(x2->v[i], x1->v[i], 1e-8);
        CHECK(x2->a[i], x1->a[i], 1e-5);
    }
    for (int i = 0; i < 2; i++) { // lambda + 2 lambda2 = lambda1, least norm: (1, 2) lambda1 / 5
        CHECK(x2->lambda[i], x1->lambda[i] / 5.0, 1e-5);
        CHECK(x2->lambda[i + 2], 2.0 * x1->lambda[i] / 5.0, 1e-5);
    }
    assert_non_null(strstr(message, "2 of 4 constraints are redundant")); // beside what moved
    assert_int_equal(solve(eom2, NULL, x2), KD_REDUNDANT);
    assert_true(strncmp(message, "2 of 4 constraints are redundant", 32) == 0);
    assert_int_equal(solve(eom1, NULL, x1), KD_OK);
    assert_string_equal(message, "");
    finish(eom1, x1);
    finish(eom2, x2);
}

// An inactive row is no equation, and its multiplier is 0.
static void test_inactive_row(void **unused)
{
    (void)unused;
    pendulum  c = unit_pendulum();
    kd_eom   *eom = pendulum_eom(&c);
    kd_state *x = state_of(eom);
    x->p[0] = 9.0, x->lambda[0] = 3.0, x->active_lambda[0] = 0;
    assert_int_equal(solve(eom, NULL, x), KD_OK);
    assert_true(x->p[0] == 9.0 && x->lambda[0] == 0.0);
    CHECK(x->a[1], -GRAVITY, 1e-12);
    finish(eom, x);
}

// ---- contact coordinates --------------------------------------------------------------------------------------------

typedef struct parabola {
    double curvature;
    bool   singular; // c does not contain s
} parabola;

static kd_eval contact_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1.0, M[1] = M[2] = 0.0, M[3] = 3.0;
    return KD_EVAL_OK;
}

static kd_eval contact_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0.0, f[1] = -3.0 * GRAVITY;
    return KD_EVAL_OK;
}

// (p - X(s)) . X'(s) = 0,  X(s) = (s, k s^2 / 2)
static kd_eval contact_c(const kd_point *x, void *context, double *c)
{
    const parabola *k = context;
    double          s = x->s[0], n = x->p[1] - 0.5 * k->curvature * s * s;
    c[0] = k->singular ? x->p[0] : x->p[0] - s + n * k->curvature * s;
    return KD_EVAL_OK;
}

// distance along the normal
static kd_eval contact_g(const kd_point *x, void *context, double *g)
{
    const parabola *k = context;
    double          s = x->s[0], n = x->p[1] - 0.5 * k->curvature * s * s;
    g[0] = n - k->curvature * s * (x->p[0] - s);
    return KD_EVAL_OK;
}

static const char *contact_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_S ? "foot" : kind == KD_NAME_LAMBDA ? "touch" : NULL;
}

static kd_eom *contact_eom(parabola *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .ns = 1, .nlambda = 1};
    def.context = c;
    def.M = contact_M;
    def.f = contact_f;
    def.c = contact_c;
    def.g = contact_g;
    def.name = contact_name;
    return make(&def);
}

static double parabola_distance(double s, const void *context)
{
    const double *at = context; // x, y, curvature
    double        dx = s - at[0], dy = 0.5 * at[2] * s * s - at[1];
    return dx * dx + 3.0 * dy * dy;
}

// A point on a curve whose parameter s is a contact coordinate: closest point of the curve, s = its parameter, and the
// multiplier of a bead on a wire.
static void test_contact_coordinates(void **unused)
{
    (void)unused;
    parabola  c = {.curvature = 0.8};
    kd_eom   *eom = contact_eom(&c);
    kd_state *x = state_of(eom);
    double    at[] = {0.9, 1.6, c.curvature}, s = minimise(parabola_distance, at, 0.0, 4.0);
    x->p[0] = at[0], x->p[1] = at[1], x->s[0] = 0.2, x->v[0] = 1.0;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->p[0], s, 1e-7);
    CHECK(x->p[1], 0.5 * c.curvature * s * s, 1e-7);
    CHECK(x->s[0], x->p[0], 1e-9);
    CHECK(x->v[1], c.curvature * s * x->v[0], 1e-6);
    check_consistent(eom, x, 1e-8);
    CHECK(x->a[1], c.curvature * (x->v[0] * x->v[0] + s * x->a[0]), 1e-4); // y'' of y = k x^2 / 2
    double p[] = {x->p[0], x->p[1]};
    x->s[0] += 0.3; // s alone is wrong: p stays where it is, to the tolerance
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->s[0], p[0], 1e-9);
    CHECK(x->p[0], p[0], 1e-9);
    finish(eom, x);

    parabola flat = {.curvature = 0.8, .singular = true};
    eom = contact_eom(&flat);
    x = state_of(eom);
    x->p[0] = 0.1, x->p[1] = 0.5, x->s[0] = 0.5;
    check_failure(eom, NULL, x, KD_ERR_SINGULAR_CS, "foot", NULL);
    finish(eom, x);
}

// ---- quaternions ----------------------------------------------------------------------------------------------------

// Body with centre r (world) and orientation q (scalar first), v = (r', omega in the body). One body point is fixed.
static const double lever[] = {0.3, -0.2, 0.5}, inertia[] = {2.0, 2.0, 2.0, 0.3, 0.5, 0.1};

static void rotate(const double *q, const double *a, double *out)
{
    double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    double w[] = {q[2] * a[2] - q[3] * a[1], q[3] * a[0] - q[1] * a[2], q[1] * a[1] - q[2] * a[0]};
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[i] + 2.0 / n * (q[0] * w[i] + q[j + 1] * w[k] - q[k + 1] * w[j]);
    }
}

static kd_eval body_Z(const kd_point *x, void *context, double *Z)
{
    (void)context;
    const double *q = x->p + 3;
    memset(Z, 0, 42 * sizeof *Z);
    for (int i = 0; i < 3; i++) Z[i + 7 * i] = 1.0;
    const double E[4][3] = {{-q[1], -q[2], -q[3]}, {q[0], -q[3], q[2]}, {q[3], q[0], -q[1]}, {-q[2], q[1], q[0]}};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 4; i++) Z[3 + i + 7 * (3 + j)] = 0.5 * E[i][j];
    return KD_EVAL_OK;
}

// q <- q exp(e / 2)
static kd_eval body_oplus(const double *p, const double *e, void *context, double *out)
{
    (void)context;
    double angle = sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5]), k = angle > 1e-12 ? sin(0.5 * angle) / angle : 0.5;
    double d[] = {cos(0.5 * angle), k * e[3], k * e[4], k * e[5]}, q[4];
    memcpy(q, p + 3, sizeof q);
    for (int i = 0; i < 3; i++) out[i] = p[i] + e[i];
    out[3] = q[0] * d[0] - q[1] * d[1] - q[2] * d[2] - q[3] * d[3];
    out[4] = q[0] * d[1] + q[1] * d[0] + q[2] * d[3] - q[3] * d[2];
    out[5] = q[0] * d[2] - q[1] * d[3] + q[2] * d[0] + q[3] * d[1];
    out[6] = q[0] * d[3] + q[1] * d[2] - q[2] * d[1] + q[3] * d[0];
    return KD_EVAL_OK;
}

static kd_eval body_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    memset(M, 0, 36 * sizeof *M);
    for (int i = 0; i < 6; i++) M[i + 6 * i] = inertia[i];
    return KD_EVAL_OK;
}

static kd_eval body_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    const double *o = x->v + 3, *J = inertia + 3;
    memset(f, 0, 6 * sizeof *f);
    f[2] = -2.0 * GRAVITY;
    f[3] = (J[1] - J[2]) * o[1] * o[2];
    f[4] = (J[2] - J[0]) * o[2] * o[0];
    f[5] = (J[0] - J[1]) * o[0] * o[1];
    return KD_EVAL_OK;
}

static kd_eval body_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    rotate(x->p + 3, lever, g);
    for (int i = 0; i < 3; i++) g[i] += x->p[i];
    return KD_EVAL_OK;
}

static kd_eval body_q(const kd_point *x, void *context, double *out)
{
    (void)context;
    const double *q = x->p + 3;
    out[0] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0;
    return KD_EVAL_OK;
}

static kd_eom *body_eom(bool own_oplus)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 7, .nv = 6, .nlambda = 3, .nq = 1};
    def.Z = body_Z;
    def.M = body_M;
    def.f = body_f;
    def.g = body_g;
    def.q = body_q;
    if (own_oplus) def.oplus = body_oplus;
    return make(&def);
}

static const double body_start[] = {-0.1, 0.3, -0.9, 0.8, 0.2, -0.4, 0.4};

// Distance |e|_M of the pose with rotation increment phi and the body point at the origin.
static double body_distance(const double *start, const double *phi, double *p)
{
    double e[6] = {0, 0, 0, phi[0], phi[1], phi[2]}, arm[3], sum = 0.0;
    (void)body_oplus(start, e, NULL, p);
    rotate(p + 3, lever, arm);
    for (int i = 0; i < 3; i++) e[i] = -arm[i] - start[i];
    memcpy(p, (double[]){-arm[0], -arm[1], -arm[2]}, 3 * sizeof *p);
    for (int i = 0; i < 6; i++) sum += inertia[i] * e[i] * e[i];
    return sum;
}

// Body hinged at a point: closest pose against a pattern search over the three rotation increments; the quaternion of
// the guess is not normalised. The built-in move of positions finds a consistent pose nearby as well.
static void test_quaternion_body(void **unused)
{
    (void)unused;
    kd_eom   *eom = body_eom(true);
    kd_state *x = state_of(eom);
    memcpy(x->p, body_start, sizeof body_start);
    for (int i = 0; i < 6; i++) x->v[i] = 0.3 * i - 0.5;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    check_consistent(eom, x, 1e-9);

    double start[7], norm = 0.0, phi[3] = {0}, best, p[7];
    memcpy(start, body_start, sizeof start);
    for (int i = 3; i < 7; i++) norm += start[i] * start[i];
    for (int i = 3; i < 7; i++) start[i] /= sqrt(norm);
    best = body_distance(start, phi, p);
    for (double step = 0.1; step > 1e-10; step *= 0.5)
        for (bool better = true; better;) {
            better = false;
            for (int k = 0; k < 6; k++) {
                double old = phi[k / 2];
                phi[k / 2] += k % 2 ? step : -step;
                double d = body_distance(start, phi, p);
                if (d < best - 1e-16)
                    best = d, better = true;
                else
                    phi[k / 2] = old;
            }
        }
    (void)body_distance(start, phi, p);
    for (int i = 0; i < 7; i++) CHECK(x->p[i], p[i], 2e-6);
    assert_true(fabs(phi[0]) + fabs(phi[1]) + fabs(phi[2]) > 0.1); // far enough that the turning chart matters
    finish(eom, x);

    eom = body_eom(false);
    x = state_of(eom);
    memcpy(x->p, body_start, sizeof body_start);
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    check_consistent(eom, x, 1e-9);
    for (int i = 0; i < 7; i++) CHECK(x->p[i], p[i], 0.1);
    memset(x->p + 3, 0, 4 * sizeof(double)); // no rotation at all
    check_failure(eom, NULL, x, KD_ERR_IV_NO_CONVERGENCE, "norm equation", NULL);
    finish(eom, x);
}

// ---- skate, friction ------------------------------------------------------------------------------------------------

static kd_eval skate_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    memset(M, 0, 9 * sizeof *M);
    M[0] = M[4] = 2.0, M[8] = 0.3;
    return KD_EVAL_OK;
}

static kd_eval skate_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 1.0, f[1] = -2.0, f[2] = 0.1;
    return KD_EVAL_OK;
}

static kd_eval skate_h(const kd_point *x, void *context, double *h)
{
    (void)context;
    h[0] = -sin(x->p[2]) * x->v[0] + cos(x->p[2]) * x->v[1];
    return KD_EVAL_OK;
}

// A skate does not slide sideways: the sideways velocity is removed, the rest kept; a and mu of the closed solution.
static void test_skate(void **unused)
{
    (void)unused;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nmu = 1};
    def.M = skate_M;
    def.f = skate_f;
    def.h = skate_h;
    kd_eom   *eom = make(&def);
    kd_state *x = state_of(eom);
    double    angle = 0.7, along[] = {cos(angle), sin(angle)}, side[] = {-sin(angle), cos(angle)};
    x->p[2] = angle;
    x->v[0] = 3.0 * along[0] + 0.5 * side[0], x->v[1] = 3.0 * along[1] + 0.5 * side[1], x->v[2] = 0.4;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->v[0], 3.0 * along[0], 1e-10);
    CHECK(x->v[1], 3.0 * along[1], 1e-10);
    CHECK(x->v[2], 0.4, 1e-12);
    // hI = side . a - omega (along . v) = 0;  m side . a = side . f - mu
    CHECK(x->mu[0], side[0] - 2.0 * side[1] - 2.0 * 0.4 * 3.0, 1e-6);
    CHECK(side[0] * x->a[0] + side[1] * x->a[1], 0.4 * 3.0, 1e-6);
    x->active_mu[0] = 0;
    x->v[1] += 1.0;
    assert_int_equal(solve(eom, NULL, x), KD_OK);
    assert_true(x->mu[0] == 0.0);
    finish(eom, x);
}

typedef struct block {
    double friction, force;
    bool   singular; // d does not contain w
} block;

static kd_eval block_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 2.0, M[1] = M[2] = 0.0;
    return KD_EVAL_OK;
}

static kd_eval block_f(const kd_point *x, void *context, double *f)
{
    const block *c = context;
    f[0] = c->force - x->w[0];
    f[1] = -2.0 * GRAVITY + 0.3 * c->force;
    return KD_EVAL_OK;
}

static kd_eval block_d(const kd_point *x, void *context, double *d)
{
    const block *c = context;
    d[0] = (c->singular ? 0.0 : x->w[0]) - c->friction * sqrt(1e-12 + x->lambda[0] * x->lambda[0]);
    return KD_EVAL_OK;
}

static kd_eval block_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1];
    return KD_EVAL_OK;
}

static const char *block_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_W ? "dry friction" : NULL;
}

static kd_eom *block_eom(block *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nw = 1, .nlambda = 1};
    def.context = c;
    def.M = block_M;
    def.f = block_f;
    def.d = block_d;
    def.g = block_g;
    def.name = block_name;
    return make(&def);
}

// Block sliding on the ground: lambda = -(weight - lift), friction w = coefficient |lambda|, nonlinear in lambda.
static void test_friction(void **unused)
{
    (void)unused;
    block     c = {.friction = 0.4, .force = 30.0};
    kd_eom   *eom = block_eom(&c);
    kd_state *x = state_of(eom);
    x->p[1] = 0.2, x->v[0] = 1.0, x->v[1] = -0.3;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    double normal = 2.0 * GRAVITY - 9.0;
    CHECK(x->lambda[0], -normal, 1e-9);
    CHECK(x->w[0], 0.4 * normal, 1e-9);
    CHECK(x->a[0], (30.0 - 0.4 * normal) / 2.0, 1e-9);
    kd_initial_options opt = kd_initial_options_default();
    opt.compute_multipliers = false;
    x->w[0] = 77.0;
    assert_int_equal(solve(eom, &opt, x), KD_OK);
    assert_true(x->w[0] == 77.0);
    finish(eom, x);

    block without = {.friction = 0.4, .force = 30.0, .singular = true};
    eom = block_eom(&without);
    x = state_of(eom);
    check_failure(eom, NULL, x, KD_ERR_SINGULAR_DW, "dry friction", NULL);
    finish(eom, x);
}

// ---- inputs, inner states -------------------------------------------------------------------------------------------

static kd_eval driven_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] - x->u[0];
    return KD_EVAL_OK;
}

static kd_eval driven_b(const kd_point *x, void *context, double *b)
{
    (void)context;
    b[0] = -x->r[0];
    return KD_EVAL_OK;
}

typedef struct drive {
    kd_eval answer;
    double  factor;
} drive;

static kd_eval drive_input(double t, void *context, double *u, double *du, double *ddu)
{
    const drive *d = context;
    u[0] = d->factor * sin(t);
    du[0] = d->factor * cos(t);
    ddu[0] = -d->factor * sin(t);
    return d->answer;
}

// A coordinate that follows an input takes over u, u' and u'' on the three levels; inputs may fail.
static void test_inputs(void **unused)
{
    (void)unused;
    pendulum   c = unit_pendulum();
    drive      d = {KD_EVAL_OK, 3.0};
    kd_inputs  in = {drive_input, &d};
    kd_eom_def def = pendulum_def(&c);
    def.dims.nu = 1;
    def.g = driven_g;
    kd_eom   *eom = make(&def);
    kd_state *x = state_of(eom);
    x->t = 0.4;
    assert_int_equal(kd_initial_consistent(eom, &in, NULL, x, message, sizeof message), KD_CORRECTED);
    CHECK(x->p[0], 3.0 * sin(0.4), 1e-12);
    CHECK(x->v[0], 3.0 * cos(0.4), 1e-9);
    CHECK(x->a[0], -3.0 * sin(0.4), 1e-5);
    CHECK(x->lambda[0], 1.5 * 3.0 * sin(0.4), 1e-5);
    d.answer = KD_EVAL_STOP;
    assert_int_equal(kd_initial_consistent(eom, &in, NULL, x, message, sizeof message), KD_ERR_IV_CALLBACK);
    d.answer = KD_EVAL_OK, d.factor = NAN;
    assert_int_equal(kd_initial_consistent(eom, &in, NULL, x, message, sizeof message), KD_ERR_NOT_FINITE);
    finish(eom, x);
}

static kd_eval inner_state(const kd_point *x, void *context, double *out)
{
    const conditions *c = context;
    out[0] = x->p[0] - 1.0;
    out[1] = x->v[1] - 1.0;
    if (c->count > 2) out[2] = x->r[0] * x->r[0] - c->omega;
    return KD_EVAL_OK;
}

// Inner states are determined by conditions alone; without one they are named as open.
static void test_inner_states(void **unused)
{
    (void)unused;
    pendulum   c = unit_pendulum();
    conditions w = {.L = c.L, .omega = 9.0, .names = {"place", "speed", "inner"}};
    kd_eom_def def = pendulum_def(&c);
    def.dims.nr = 1;
    def.b = driven_b;
    kd_eom            *eom = make(&def);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(inner_state, 2, &w);
    x->p[0] = 1.0, x->p[1] = -1.5, x->r[0] = 2.0;
    check_failure(eom, &opt, x, KD_ERR_IV_UNDETERMINED, "r[0]", "velocity level");
    opt = with_conditions(inner_state, 3, &w);
    assert_int_equal(solve(eom, &opt, x), KD_CORRECTED);
    CHECK(x->r[0], 3.0, 1e-9);
    CHECK(x->v[0], sqrt(3.0), 1e-9);
    finish(eom, x);
}

// ---- failures -------------------------------------------------------------------------------------------------------

static kd_eval massless_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1.0, M[1] = M[2] = M[3] = 0.0;
    return KD_EVAL_OK;
}

// A direction without mass is fine where a constraint holds it, and named where none does.
static void test_singular_mass(void **unused)
{
    (void)unused;
    pendulum   c = unit_pendulum();
    kd_eom_def def = pendulum_def(&c);
    def.M = massless_M;
    kd_eom   *eom = make(&def);
    kd_state *x = state_of(eom);
    x->p[0] = 1.9, x->p[1] = -0.9;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->p[0], 1.9, 1e-4); // the massless direction moves first
    check_consistent(eom, x, 1e-9);
    x->p[0] = 2.0, x->p[1] = 0.0, x->v[0] = x->v[1] = 0.0;
    check_failure(eom, NULL, x, KD_ERR_SINGULAR_MASS, "'vy'", NULL);
    finish(eom, x);
}

static kd_eval two_lines(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] - 1.0;
    g[1] = x->p[0] - 2.0;
    return KD_EVAL_OK;
}

static const char *two_lines_name(kd_kind kind, int i, void *context)
{
    (void)context;
    return kind == KD_NAME_LAMBDA ? (i ? "right wall" : "left wall") : NULL;
}

// Constraints that contradict each other are named without any user condition.
static void test_contradictory_constraints(void **unused)
{
    (void)unused;
    pendulum   c = unit_pendulum();
    kd_eom_def def = pendulum_def(&c);
    def.dims.nlambda = 2;
    def.g = two_lines;
    def.name = two_lines_name;
    kd_eom   *eom = make(&def);
    kd_state *x = state_of(eom);
    check_failure(eom, NULL, x, KD_ERR_IV_CONTRADICTORY, "'left wall'", "'right wall'");
    finish(eom, x);
}

static kd_eval lame_Z(const kd_point *x, void *context, double *Z)
{
    (void)x, (void)context;
    Z[0] = 1.0, Z[1] = Z[2] = Z[3] = 0.0;
    return KD_EVAL_OK;
}

// A velocity that moves no coordinate: Z has a zero column, the chart of the positions is singular.
static void test_singular_kinematics(void **unused)
{
    (void)unused;
    pendulum   c = unit_pendulum();
    kd_eom_def def = pendulum_def(&c);
    def.Z = lame_Z;
    kd_eom   *eom = make(&def);
    kd_state *x = state_of(eom);
    x->p[0] = 1.0;
    check_failure(eom, NULL, x, KD_ERR_IV_DECOMPOSITION, "Z(p)", NULL);
    finish(eom, x);
}

// Functions that stop, refuse or answer NaN; too few iterations; wrong arguments.
static void test_failures(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .omega = 1.0, .names = {"start angle", "speed", "diagonal"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = kd_initial_options_default();
    x->p[0] = 1.0, x->p[1] = -1.9, x->v[0] = 1.0;
    for (c.stop_after = 1; c.stop_after < 30; c.stop_after += 4) {
        c.calls = 0;
        check_failure(eom, NULL, x, KD_ERR_IV_CALLBACK, "constraint", NULL);
    }
    c.stop_after = 0;
    c.nan = true;
    check_failure(eom, NULL, x, KD_ERR_NOT_FINITE, "rod length", NULL);
    c.nan = false;

    opt = with_conditions(deviation_and_speed, 2, &w);
    for (w.stop_after = 1; w.stop_after < 60; w.stop_after += 7) {
        w.calls = 0;
        check_failure(eom, &opt, x, KD_ERR_IV_CONDITION, "conditions", NULL);
    }
    w.stop_after = 0, w.omega = NAN;
    check_failure(eom, &opt, x, KD_ERR_NOT_FINITE, "speed", NULL);
    w.omega = 1.0;
    opt = with_conditions(deviation_and_speed, 3, &w);
    w.count = 2; // sets two of three
    check_failure(eom, &opt, x, KD_ERR_DEFINITION, "diagonal", "was not set");

    opt = kd_initial_options_default();
    opt.max_iterations = 1;
    x->p[0] = 0.01, x->p[1] = 0.02;
    check_failure(eom, &opt, x, KD_ERR_IV_NO_CONVERGENCE, "rod length", "max_iterations");
    opt.max_iterations = 0;
    check_failure(eom, &opt, x, KD_ERR_ARGUMENT, NULL, NULL);
    opt.max_iterations = 50, opt.tolerance = 0.0;
    check_failure(eom, &opt, x, KD_ERR_TOLERANCE, NULL, NULL);
    opt.tolerance = 1e-9, opt.nconditions = 1;
    check_failure(eom, &opt, x, KD_ERR_ARGUMENT, NULL, NULL);
    assert_int_equal(kd_initial_consistent(NULL, NULL, NULL, x, NULL, 0), KD_ERR_ARGUMENT);
    x->v[1] = INFINITY;
    check_failure(eom, NULL, x, KD_ERR_NOT_FINITE, "vy", NULL);
    finish(eom, x);
}

// Steps into a region where a function cannot be evaluated are shortened; a guess at a singular point is left.
static void test_difficult_guesses(void **unused)
{
    (void)unused;
    pendulum  c = unit_pendulum();
    kd_eom   *eom = pendulum_eom(&c);
    kd_state *x = state_of(eom);
    c.refuse_far = true;
    x->p[0] = 0.02, x->p[1] = 0.01; // the full step goes to 80
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->p[0], 2.0 * x->p[1], 1e-7);
    c.refuse_far = false;
    x->p[0] = x->p[1] = 0.0; // G = 0
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(hypot(x->p[0], x->p[1]), c.L, 1e-9);
    finish(eom, x);
}

// ---- residuals, memory ----------------------------------------------------------------------------------------------

// The residual report finds the worst rows and all kinds of equations.
static void test_residuals(void **unused)
{
    (void)unused;
    pendulum       c = unit_pendulum();
    kd_eom        *eom = pendulum_eom(&c);
    kd_state      *x = state_of(eom);
    kd_consistency r;
    x->p[0] = 3.0, x->v[0] = 0.5, x->a[0] = 1.0;
    assert_int_equal(kd_initial_residuals(eom, NULL, x, &r), KD_OK);
    CHECK(r.position, 5.0, 1e-12);
    CHECK(r.velocity, 3.0, 1e-7);
    CHECK(r.acceleration, 2.0 * 0.25 + 6.0, 1e-3);
    CHECK(r.dynamics, 1.5 * GRAVITY, 1e-9);
    assert_true(r.worst_position == 0 && r.worst_velocity == 0 && r.auxiliary == 0.0);
    x->active_lambda[0] = 0;
    assert_int_equal(kd_initial_residuals(eom, NULL, x, &r), KD_OK);
    assert_true(r.position == 0.0 && r.worst_position == -1);
    assert_int_equal(kd_initial_residuals(eom, NULL, x, NULL), KD_ERR_ARGUMENT);
    c.nan = true;
    assert_int_equal(kd_initial_residuals(eom, NULL, x, &r), KD_ERR_NOT_FINITE);
    finish(eom, x);
}

typedef struct failing {
    long count, fail_at, open;
} failing;

static void *failing_allocate(size_t size, void *context)
{
    failing *f = context;
    if (++f->count == f->fail_at) return NULL;
    f->open++;
    return malloc(size);
}

static void failing_release(void *memory, void *context)
{
    ((failing *)context)->open--;
    free(memory);
}

// Whichever allocation fails, the answer is KD_ERR_MEMORY, x is as before and nothing stays allocated.
static void test_failing_allocator(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .omega = 1.0, .names = {"start angle", "speed", "diagonal"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(deviation_and_speed, 3, &w);
    kd_state          *start = state_of(eom);
    start->p[0] = 1.0, start->p[1] = -1.9, start->v[0] = 1.0;
    for (int kind = 0; kind < 2; kind++) {
        failing      f = {.count = 0};
        kd_allocator allocator = {failing_allocate, failing_release, &f};
        kd_status    st = KD_ERR_MEMORY;
        for (f.fail_at = 1; st == KD_ERR_MEMORY; f.fail_at++) {
            assert_true(f.fail_at < 2000);
            kd_state_copy(start, x);
            f.count = 0;
            kd_set_allocator(&allocator);
            st = solve(eom, kind ? &opt : NULL, x);
            kd_set_allocator(NULL);
            assert_int_equal(f.open, 0);
            if (st == KD_ERR_MEMORY) assert_memory_equal(x->p, start->p, x->size * sizeof(double));
        }
        assert_int_equal(st, KD_CORRECTED);
        assert_true(f.fail_at > 5);
    }
    kd_state_destroy(start);
    finish(eom, x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closest_is_radial),
        cmocka_unit_test(test_closest_in_mass_norm),
        cmocka_unit_test(test_velocity_and_multiplier),
        cmocka_unit_test(test_do_no_harm),
        cmocka_unit_test(test_point_of_the_caller),
        cmocka_unit_test(test_held_components),
        cmocka_unit_test(test_rheonomic),
        cmocka_unit_test(test_example_3_1),
        cmocka_unit_test(test_conditions_dominate),
        cmocka_unit_test(test_contradictory),
        cmocka_unit_test(test_undetermined),
        cmocka_unit_test(test_condition_on_energy),
        cmocka_unit_test(test_condition_on_multiplier),
        cmocka_unit_test(test_four_bar),
        cmocka_unit_test(test_redundant),
        cmocka_unit_test(test_inactive_row),
        cmocka_unit_test(test_contact_coordinates),
        cmocka_unit_test(test_quaternion_body),
        cmocka_unit_test(test_skate),
        cmocka_unit_test(test_friction),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_inner_states),
        cmocka_unit_test(test_singular_mass),
        cmocka_unit_test(test_singular_kinematics),
        cmocka_unit_test(test_contradictory_constraints),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_difficult_guesses),
        cmocka_unit_test(test_residuals),
        cmocka_unit_test(test_failing_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
