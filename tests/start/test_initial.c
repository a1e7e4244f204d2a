// test_initial.c: consistent initial values against closed solutions, independent minimisation and the failures
// promised.
#include "start/initial_cases.h"

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

static kd_eval length_before_angle(const kd_point *x, void *context, double *out)
{
    const conditions *c = context;
    out[0] = hypot(x->p[0], x->p[1]) - c->L;
    out[1] = x->p[0] - c->L / sqrt(2.0);
    out[2] = hypot(x->v[0], x->v[1]) / c->L - c->omega;
    return KD_EVAL_OK;
}

// One condition too many is called by its name: the one that follows from constraints and the conditions before it, not the last.
static void test_spare_conditions_are_named(void **unused)
{
    (void)unused;
    pendulum           c = unit_pendulum();
    conditions         w = {.L = c.L, .omega = 1.7, .names = {"same length", "start angle", "speed"}};
    kd_eom            *eom = pendulum_eom(&c);
    kd_state          *x = state_of(eom);
    kd_initial_options opt = with_conditions(length_before_angle, 3, &w);
    x->p[0] = 1.0, x->p[1] = -1.9, x->v[0] = 1.0;
    assert_int_equal(kd_initial_consistent(eom, NULL, &opt, x, message, sizeof message), KD_CORRECTED);
    if (!strstr(message, "same length") || strstr(message, "speed") || strstr(message, "angle"))
        fail_msg("%s", message);
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
    assert_int_equal(kd_initial_residuals_at(eom, NULL, NULL, x, NULL), KD_ERR_ARGUMENT);
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
        cmocka_unit_test(test_spare_conditions_are_named),
        cmocka_unit_test(test_conditions_dominate),
        cmocka_unit_test(test_contradictory),
        cmocka_unit_test(test_undetermined),
        cmocka_unit_test(test_condition_on_energy),
        cmocka_unit_test(test_condition_on_multiplier),
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
