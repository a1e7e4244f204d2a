// Tests of the sparse Newton matrix: cheap updates, patterns that grow, structure; motions with every strategy.
#include "case.h"
#include "core/failing_allocator.h"
#include "forms/assembled_impl.h"
#include "forms/newton.h"
#include "forms/whole.h"
#include "gallery.h"
#include "math/random.h"
#include <kardan/kardan.h>

static kd_newton *newton_of(const kd_dae *dae)
{
    return ((kd_assembled *)dae->impl)->newton;
}

// ---- a small system whose stiffness depends on an input and on a contact that wakes up ------------------------------
//
//     p0'' = -(2 + 3 u) p0 - k max(0, p0 - 1)^2 (1 + p1) - n,   p1'' = -5 p1,   p2'' = -7 p2 + p1 - n
//
// with a stop between p0 and p2, n = S max(0, p0 + p2 - 1.2), where the context gives S.

enum { SPRINGS = 3 };
static const double CONTACT = 40;

// What the forces refuse, with KD_EVAL_RETRY, and the stiffness of the stop
typedef struct refusals {
    int    call;  // this call, counted down to 0
    double input; // inputs above this one; 0: none
    double stop;  // S
} refusals;

static kd_eval springs_f(const kd_point *x, void *context, double *f)
{
    double    depth = x->p[0] > 1 ? x->p[0] - 1 : 0;
    refusals *refused = context;
    if (refused && refused->call > 0 && --refused->call == 0) return KD_EVAL_RETRY;
    if (refused && refused->input > 0 && x->u[0] > refused->input) return KD_EVAL_RETRY;
    double stop = refused ? refused->stop * fmax(0, x->p[0] + x->p[2] - 1.2) : 0;
    f[0] = -(2 + 3 * x->u[0]) * x->p[0] - CONTACT * depth * depth * (1 + x->p[1]) - stop;
    f[1] = -5 * x->p[1];
    f[2] = -7 * x->p[2] + x->p[1] - stop;
    return KD_EVAL_OK;
}

static kd_eval springs_M(const kd_point *x, void *context, double *M)
{
    (void)context;
    for (int i = 0; i < SPRINGS; i++) M[i + i * SPRINGS] = 1 + (i == 1 ? 0.5 * x->p[1] * x->p[1] : 0);
    return KD_EVAL_OK;
}

static kd_eval springs_input(double t, void *context, double *u, double *du, double *ddu)
{
    (void)context;
    u[0] = sin(t), du[0] = cos(t), ddu[0] = -sin(t);
    return KD_EVAL_OK;
}
static const kd_inputs springs_inputs = {.eval = springs_input};

static kd_eom *springs(refusals *refused)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "springs";
    def.context = refused;
    def.dims = (kd_dims){.np = SPRINGS, .nv = SPRINGS, .nu = 1};
    def.M = springs_M;
    def.f = springs_f;
    return make(&def);
}

typedef struct fixture {
    kd_eom   *eom;
    kd_state *x;
    kd_dae   *dae;
    double    y[16], ydot[16];
} fixture;

static fixture open_refusing(const kd_formulation_options *opt, const double *p, refusals *refused)
{
    fixture f = {.eom = springs(refused)};
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    memcpy(f.x->p, p, SPRINGS * sizeof *p);
    f.dae = make_dae(f.eom, &springs_inputs, f.x, KD_GGL, opt);
    kd_formulation_pack(f.dae, f.x, f.y);
    return f;
}

static fixture open_springs(const kd_formulation_options *opt, const double *p)
{
    return open_refusing(opt, p, NULL);
}

static void close_fixture(fixture *f)
{
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static double entry(const kd_newton *newton, const double *values, int row, int column)
{
    int e = kd_columns_find(&newton->F, row, column);
    return e < 0 ? 0 : values[e];
}

// A partitioned update (S0 Eq. 25) takes the new mass matrix and keeps the derivatives by x.
static void partitioned_update_takes_the_mass_matrix(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    opt.update = KD_UPDATE_PARTITIONED;
    double  p[SPRINGS] = {0.5, 0.2, 0.1};
    fixture f = open_springs(&opt, p);
    assert_non_null(f.dae->methods->update);
    assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, true), KD_OK);
    const kd_newton *newton = newton_of(f.dae);
    double           before = entry(newton, newton->K, 0, 0);
    assert_close(before, 2, 1e-6);
    f.y[1] = 0.8;
    assert_int_equal(f.dae->methods->update(f.dae->impl, 0.7, f.y, f.ydot), KD_OK);
    assert_close(entry(newton, newton->E, 1, SPRINGS + 1), 1 + 0.5 * 0.64, 1e-12);
    assert_close(entry(newton, newton->K, 0, 0), before, 0); // though the input changed
    kd_dae_counters counters = f.dae->methods->counters(f.dae->impl);
    assert_int_equal(counters.jacobians, 1);
    assert_int_equal(counters.updates, 1);
    close_fixture(&f);
}

// The extended update (S0 Eq. 26) moves the derivatives with the inputs: here they are linear in u, and it is exact.
static void extended_update_follows_the_inputs(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kd_formulation_options opt = kd_formulation_options_default();
        opt.update = KD_UPDATE_EXTENDED;
        opt.derivatives = (kd_derivatives)k;
        double  p[SPRINGS] = {0.5, 0.2, 0.1};
        fixture f = open_springs(&opt, p);
        assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, true), KD_OK);
        const kd_newton *newton = newton_of(f.dae);
        for (double t = 0.5; t < 3; t += 0.5) {
            assert_int_equal(f.dae->methods->update(f.dae->impl, t, f.y, f.ydot), KD_OK);
            assert_close(entry(newton, newton->K, 0, 0), 2 + 3 * sin(t), 1e-3); // differences of differences
            assert_close(entry(newton, newton->K, 1, 1), 5, 1e-3);
        }
        assert_int_equal(f.dae->methods->counters(f.dae->impl).jacobians, 1);
        close_fixture(&f);
    }
}

// An input at rest until t = 1
static kd_eval late_input(double t, void *context, double *u, double *du, double *ddu)
{
    (void)context;
    u[0] = 0.2 + fmax(0, t - 1), du[0] = t > 1, ddu[0] = 0;
    return KD_EVAL_OK;
}

// Second derivatives by inputs cost as many evaluations as the matrix itself: they wait until an input moves, are made
// once, and are exact then.
static void second_derivatives_wait_for_inputs_that_move(void **state)
{
    (void)state;
    const kd_inputs        inputs = {.eval = late_input};
    const double           p[SPRINGS] = {0.5, 0.2, 0.1};
    kd_formulation_options opt = kd_formulation_options_default();
    opt.update = KD_UPDATE_EXTENDED;
    opt.derivatives = KD_DERIVATIVES_DENSE;
    fixture f = {.eom = springs(NULL)};
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    memcpy(f.x->p, p, sizeof p);
    f.dae = make_dae(f.eom, &inputs, f.x, KD_GGL, &opt);
    kd_formulation_pack(f.dae, f.x, f.y);
    // evaluations of four linearisations: at rest, at rest, moving, moving
    static const double t[4] = {0, 0.5, 1.25, 1.5};
    long                spent[4], before = 0;
    for (int k = 0; k < 4; k++) {
        assert_int_equal(f.dae->methods->linearize(f.dae->impl, t[k], f.y, f.ydot, true), KD_OK);
        const long now = f.dae->methods->counters(f.dae->impl).for_differences;
        spent[k] = now - before, before = now;
    }
    assert_int_equal(spent[0], 1 + 2 * SPRINGS);
    assert_int_equal(spent[1], spent[0]);
    assert_int_equal(spent[2], 2 * spent[0]);
    assert_int_equal(spent[3], spent[0]);
    assert_int_equal(f.dae->methods->update(f.dae->impl, 2, f.y, f.ydot), KD_OK);
    assert_close(entry(newton_of(f.dae), newton_of(f.dae)->K, 0, 0), 2 + 3 * 1.2, 1e-3);
    close_fixture(&f);
}

// An arm with a spring to the ground on a driven crank: its stiffness depends on the prescribed angle alone
static const char driven_arm[] =
    "kardan: 1\n"
    "gravity: [0, 0, 0]\n"
    "bodies:\n"
    "  crank: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [0.5, 0, 0]}\n"
    "  arm: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [1.5, 0, 0]}\n"
    "joints:\n"
    "  drive: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], motion: 0.1*sin(t)}\n"
    "  elbow: {type: revolute, bodies: [crank, arm], point: [1, 0, 0], axis: [0, 0, 1]}\n"
    "forces:\n"
    "  spring: {type: tsda, from: {body: ground, point: [3, 1, 0]}, to: {body: arm, point: [0.5, 0, 0]}, stiffness: "
    "100, "
    "length: 0.5}\n";

// The extended update moves the derivatives with prescribed coordinates, too: what is left is of second order in their
// change, while the old matrix is off by the first order.
static void extended_update_follows_the_drives(void **state)
{
    (void)state;
    char      message[400];
    kd_model *model;
    for (int k = 0; k < 2; k++) {
        kd_system             *system;
        kd_state              *x;
        kd_formulation_options opt = kd_formulation_options_default();
        opt.update = KD_UPDATE_EXTENDED;
        opt.derivatives = k == 0 ? KD_DERIVATIVES_ANALYTIC : KD_DERIVATIVES_GROUPED;
        if (kd_model_read_text("arm", driven_arm, strlen(driven_arm), NULL, 0, &model, message, sizeof message) < 0)
            fail_msg("%s", message);
        assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
        const kd_eom *eom = kd_system_eom(system);
        assert_int_equal(kd_eom_definition(eom)->ndrives, 1);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
        kd_dae          *dae = make_dae(eom, kd_system_inputs(system), x, KD_GGL, &opt);
        const kd_newton *newton = newton_of(dae);
        double           y[4] = {0}, ydot[4] = {0};
        kd_formulation_pack(dae, x, y);
        assert_int_equal(dae->methods->linearize(dae->impl, 0, y, ydot, true), KD_OK);
        const double first = entry(newton, newton->K, 0, 0);
        for (double t = 0.1; t < 0.45; t += 0.1) {
            assert_int_equal(dae->methods->update(dae->impl, t, y, ydot), KD_OK);
            const double updated = entry(newton, newton->K, 0, 0);
            kd_dae      *fresh = make_dae(eom, kd_system_inputs(system), x, KD_GGL, &opt);
            assert_int_equal(fresh->methods->linearize(fresh->impl, t, y, ydot, true), KD_OK);
            const double right = entry(newton_of(fresh), newton_of(fresh)->K, 0, 0);
            if (!(fabs(updated - right) < 0.25 * fabs(first - right)))
                fail_msg("t = %g: %.6g after the update, %.6g before it, right is %.6g", t, updated, first, right);
            kd_dae_destroy(fresh);
        }
        assert_int_equal(dae->methods->counters(dae->impl).jacobians, 1);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

// ---- counted angles -------------------------------------------------------------------------------------------------

// Two bodies, springs between them and a coupling of their angles, which are counted over full turns
static const char counted_arms[] =
    "kardan: 1\n"
    "bodies:\n"
    "  crank: {mass: 1.5, inertia: [0.1, 0.2, 0.3], position: [0.5, 0, 0]}\n"
    "  arm: {mass: 0.7, inertia: [0.05, 0.1, 0.12], position: [1.5, 0, 0]}\n"
    "joints:\n"
    "  drive: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1]}\n"
    "  elbow: {type: revolute, bodies: [crank, arm], point: [1, 0, 0], axis: [0, 0.6, 0.8]}\n"
    "forces:\n"
    "  first: {type: rsda, joint: drive, stiffness: 70, damping: 3}\n"
    "  second: {type: rsda, joint: elbow, stiffness: 400, damping: 0.5}\n";

enum { ROOM = 80 }; // unknowns of two bodies and two joints

// The next of a fixed row of numbers between low and high
static double random_between(double low, double high)
{
    static uint64_t number;
    return low + (high - low) * kd_uniform(test_seed(20), 7, number++);
}

// d: any change of x but for lengths of quaternions, which are no part of the matrix (4 numbers behind 3 of each body)
static void draw_change(const kd_dae *dae, const double *x, int nbodies, double *d)
{
    for (int i = 0; i < dae->n; i++) d[i] = random_between(-1, 1);
    for (int b = 0; b < nbodies; b++) {
        const double *q = x + 7 * b + 3;
        double       *e = d + 7 * b + 3, along = 0, square = 0;
        for (int k = 0; k < 4; k++) along += q[k] * e[k], square += q[k] * q[k];
        for (int k = 0; k < 4; k++) e[k] -= along / square * q[k];
    }
}

// r = (gamma F_x' + F_x) d by a central difference
static void difference_along(const kd_dae *dae, double gamma, const double *x, const double *xdot, const double *d,
                             double *r)
{
    const double eps = 1e-5;
    double       F[2][ROOM], moved[ROOM], moving[ROOM];
    for (int side = 0; side < 2; side++) {
        const double step = side == 0 ? eps : -eps;
        for (int i = 0; i < dae->n; i++) moved[i] = x[i] + step * d[i], moving[i] = xdot[i] + step * gamma * d[i];
        assert_int_equal(dae->methods->residual(dae->impl, 0, moved, moving, F[side]), KD_EVAL_OK);
    }
    for (int i = 0; i < dae->nrows; i++) r[i] = (F[0][i] - F[1][i]) / (2 * eps);
}

// J \ (J d) = d wherever angles and their counts stand: a count that is off turns no body. Z+ with the rows of counts had it turn
// them by a part of that, and Newton's method on ggl needed the third iteration where one is enough.
static void counted_angles_turn_nothing(void **state)
{
    (void)state;
    char                   message[400];
    kd_model              *model;
    kd_system             *system;
    kd_state              *x;
    kd_formulation_options opt = kd_formulation_options_default();
    kd_system_options      how = kd_system_options_default();
    how.coordinates = KD_CARTESIAN;
    if (kd_model_read_text("arms", counted_arms, strlen(counted_arms), NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    if (kd_system_create(model, &how, &system, message, sizeof message) < 0) fail_msg("%s", message);
    const kd_eom *eom = kd_system_eom(system);
    const int     np = kd_eom_dims(eom).np, nv = kd_eom_dims(eom).nv, ncounted = kd_eom_definition(eom)->ncounted;
    assert_int_equal(ncounted, 2);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    for (int k = 0; k < 60; k++) {
        kd_dae      *dae = make_dae(eom, NULL, x, k % 2 == 0 ? KD_GGL : KD_INDEX2, &opt);
        const double gamma = pow(10, random_between(0, 3));
        double       y[ROOM] = {0}, ydot[ROOM], d[ROOM], r[ROOM], z[ROOM], dx[ROOM];
        assert_true(dae->n <= ROOM && dae->nrows <= ROOM);
        // bodies and counts off their places, any velocities and rates
        kd_formulation_pack(dae, x, y);
        for (int i = 0; i < np; i++) y[i] += random_between(-0.05, 0.05);
        for (int i = np; i < np + nv; i++) y[i] = random_between(-3, 3);
        for (int i = 0; i < dae->n; i++) ydot[i] = random_between(-1, 1);
        draw_change(dae, y, 2, d);
        difference_along(dae, gamma, y, ydot, d, r);
        assert_int_equal(dae->methods->linearize(dae->impl, 0, y, ydot, true), KD_OK);
        assert_int_equal(dae->methods->factor(dae->impl, gamma, gamma, 0), KD_OK);
        dae->methods->reduce(dae->impl, r, NULL, z);
        dae->methods->solve_real(dae->impl, z);
        dae->methods->expand(dae->impl, NULL, z, dx);
        for (int i = 0; i < np + nv; i++)
            if (!(fabs(dx[i] + d[i]) < 1e-4))
                fail_msg("run %d, gamma %.3g: component %d is %.6g, not %.6g", k, gamma, i, -dx[i], d[i]);
        kd_dae_destroy(dae);
    }
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// An estimated pattern lacks what sleeps at the start and gains it when the integrator asks for more.
static void estimated_pattern_grows(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    opt.derivatives = KD_DERIVATIVES_GROUPED;
    opt.estimated = true;
    double  p[SPRINGS] = {0.5, 0.2, 0.1};
    fixture f = open_springs(&opt, p);
    assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, true), KD_OK);
    const kd_newton *newton = newton_of(f.dae);
    assert_int_equal(kd_columns_find(&newton->F, 0, 1), -1);
    int groups = (int)f.dae->methods->counters(f.dae->impl).groups;

    f.y[0] = 1.5; // the contact is awake
    assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, false), KD_OK);
    assert_int_equal(kd_columns_find(&newton->F, 0, 1), -1); // but nobody looked
    f.dae->widen = true;
    const long before = f.dae->methods->counters(f.dae->impl).for_differences;
    assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, false), KD_OK);
    assert_false(f.dae->widen);
    // the full matrix that shows the pattern is the one that is taken: once each column, no groups behind it
    assert_int_equal(f.dae->methods->counters(f.dae->impl).for_differences - before, 1 + 2 * SPRINGS);
    assert_close(entry(newton, newton->K, 0, 1), CONTACT * 0.25, 1e-5);
    kd_dae_counters counters = f.dae->methods->counters(f.dae->impl);
    assert_int_equal(counters.pattern_changes, 1);
    assert_true(counters.groups >= groups && counters.groups >= counters.fullest_row);
    f.dae->widen = true; // nothing new to be seen
    assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, false), KD_OK);
    assert_int_equal(f.dae->methods->counters(f.dae->impl).pattern_changes, 1);
    close_fixture(&f);
}

static const char resting_blocks[] =
    "kardan: 1\n"
    "title: two blocks in rubber, at rest\n"
    "gravity: [0, 0, 0]\n"
    "bodies:\n"
    "  a: {mass: 2, inertia: [0.1, 0.2, 0.3], position: [0, 0, 0]}\n"
    "  b: {mass: 1, inertia: [0.2, 0.1, 0.2], position: [1, 0, 0]}\n"
    "joints:\n"
    "  a: {type: free, bodies: [ground, a]}\n"
    "  b: {type: free, bodies: [ground, b]}\n"
    "forces:\n"
    "  mount: {type: bushing, bodies: [a, b], point: [0.5, 0, 0], stiffness: [1e3, 2e3, "
    "3e3, 10, 20, 30], damping: [1, 1, 1, 0.1, 0.1, 0.1]}\n";

// At rest in line with the axes most entries of the matrix vanish. What one coordinate of a joint touches, all of it may: the
// pattern of the start then has what a motion in all directions shows, and a look there finds nothing new.
static void estimate_at_rest_knows_the_joints(void **state)
{
    (void)state;
    kd_model              *model = NULL;
    kd_system             *system = NULL;
    kd_state              *x = NULL;
    kd_dae                *dae = NULL;
    char                   message[300] = "";
    kd_formulation_options opt = kd_formulation_options_default();
    opt.derivatives = KD_DERIVATIVES_GROUPED;
    opt.estimated = opt.estimated_at_start = opt.sparse = true;
    kd_system_options joint = kd_system_options_default();
    joint.coordinates = KD_JOINT;
    if (kd_model_read_text("blocks", resting_blocks, strlen(resting_blocks), NULL, 0, &model, message, sizeof message) <
        0)
        fail_msg("%s", message);
    assert_int_equal(kd_system_create(model, &joint, &system, message, sizeof message), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_int_equal(kd_system_start(system, x, message, sizeof message), KD_OK);
    dae = make_dae(kd_system_eom(system), kd_system_inputs(system), x, KD_ODASSL, &opt);
    double y[64] = {0}, ydot[64] = {0};
    assert_true(dae->n <= 64);
    kd_formulation_pack(dae, x, y);
    assert_int_equal(dae->methods->linearize(dae->impl, 0, y, ydot, true), KD_OK);
    const int before = kd_columns_count(&newton_of(dae)->F);
    for (int i = 0; i < dae->n; i++) y[i] += 0.1 * sin(1.7 * i + 0.3), ydot[i] += cos(2.3 * i);
    dae->widen = true;
    assert_int_equal(dae->methods->linearize(dae->impl, 0, y, ydot, false), KD_OK);
    assert_int_equal(kd_columns_count(&newton_of(dae)->F), before);
    assert_int_equal(dae->methods->counters(dae->impl).pattern_changes, 0);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// A look that is broken off loses nothing: what it found by then is in the pattern after the next one.
static void interrupted_look_loses_nothing(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    opt.derivatives = KD_DERIVATIVES_GROUPED;
    opt.estimated = true;
    for (int call = 1;; call++) {
        double   p[SPRINGS] = {0.5, 0.2, 0.1};
        refusals refused = {0};
        fixture  f = open_refusing(&opt, p, &refused);
        assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, true), KD_OK);
        f.y[0] = 1.5;
        f.dae->widen = true;
        refused.call = call;
        kd_status status = f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, false);
        if (status < 0) {
            assert_int_equal(status, KD_ERR_RETRY_FAILED);
            f.dae->widen = true;
            assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, false), KD_OK);
        }
        const kd_newton *newton = newton_of(f.dae);
        assert_close(entry(newton, newton->K, 0, 1), CONTACT * 0.25, 1e-5);
        close_fixture(&f);
        if (status >= 0) break;
    }
}

// Memory that is short while the pattern grows: an error, and the next attempt finds everything in order.
static void growing_without_memory(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    opt.derivatives = KD_DERIVATIVES_GROUPED;
    opt.estimated = true;
    opt.update = KD_UPDATE_EXTENDED;
    for (int fail_at = 1;; fail_at++) {
        double            p[SPRINGS] = {0.5, 0.2, 0.1};
        fixture           f = open_springs(&opt, p);
        failing_allocator a = {.fail_at = fail_at};
        const char       *message;
        assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, true), KD_OK);
        f.y[0] = 1.5;
        f.dae->widen = true;
        failing_allocator_use(&a);
        kd_status status = f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, false);
        kd_set_allocator(NULL);
        if (status < 0) {
            assert_int_equal(status, KD_ERR_MEMORY);
            assert_int_equal(f.dae->methods->fault(f.dae->impl, &message), KD_ERR_MEMORY);
            assert_string_equal(message, kd_status_sentence(KD_ERR_MEMORY));
            (void)f.dae->methods->counters(f.dae->impl);
            assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, false), KD_OK);
        }
        const kd_newton *newton = newton_of(f.dae);
        assert_close(entry(newton, newton->K, 0, 1), CONTACT * 0.25, 1e-5);
        close_fixture(&f);
        if (status >= 0) break;
    }
}

// Every strategy: an allocation that fails while the form is created leaks nothing.
static void creation_without_memory(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    for (int k = 0; k < 4; k++) {
        kd_formulation_options opt = kd_formulation_options_default();
        opt.derivatives = k < 1 ? KD_DERIVATIVES_DENSE : KD_DERIVATIVES_GROUPED;
        opt.estimated = k == 2;
        opt.explicit_form = k == 1;
        opt.sparse = k == 3;
        opt.update = KD_UPDATE_EXTENDED;
        for (int fail_at = 1;; fail_at++) {
            failing_allocator a = {.fail_at = fail_at};
            kd_dae           *dae;
            failing_allocator_use(&a);
            kd_status status = kd_formulation_create(eom, &whole_inputs, x, KD_GGL, &opt, &dae, NULL, 0);
            if (status == KD_OK) kd_dae_destroy(dae);
            kd_set_allocator(NULL);
            assert_int_equal(a.live, 0);
            if (status == KD_OK) break;
            assert_int_equal(status, KD_ERR_MEMORY);
        }
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static kd_eval decay(const kd_point *x, void *context, double *b)
{
    (void)context;
    b[0] = -x->r[0] + x->u[0];
    return KD_EVAL_OK;
}

// Equations without bodies: inner states alone, in every form and with every strategy.
static void inner_states_alone(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.nr = 1, .nu = 1};
    def.b = decay;
    kd_eom *eom = make(&def);
    for (int k = 0; k < KD_FORMULATION_COUNT * 4; k++) {
        kd_simulation_options   opt = kd_simulation_options_default();
        kd_formulation_options *o = &opt.formulation_options;
        kd_state               *x;
        kd_stats                stats;
        char                    message[600] = "";
        opt.formulation = (kd_formulation)(k / 4);
        bool choice = opt.formulation != KD_PSF && opt.formulation != KD_PSF1 && opt.formulation != KD_ODE &&
                      opt.formulation != KD_STATESPACE;
        opt.integrator = opt.formulation == KD_PSF || opt.formulation == KD_PSF1 || k % 4 == 3 ? KD_RADAU : KD_BDF;
        opt.rtol = opt.atol = 1e-8;
        if (choice && k % 4 == 1) o->derivatives = KD_DERIVATIVES_DENSE;
        if (choice && k % 4 == 2) o->derivatives = KD_DERIVATIVES_GROUPED, o->estimated = true;
        if (choice && k % 4 == 2) o->update = KD_UPDATE_EXTENDED, o->explicit_form = true;
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->r[0] = 1;
        if (kd_simulate(eom, &springs_inputs, &opt, x, 2, &stats, message, sizeof message) < 0)
            fail_msg("%s, %d: %s", kd_formulation_word(opt.formulation), k % 4, message);
        assert_close(x->r[0], 1.5 * exp(-2) + 0.5 * (sin(2) - cos(2)), 1e-6);
        kd_state_destroy(x);
    }
    kd_eom_destroy(eom);
}

// An input that cannot be shifted has no second derivatives; the others are not in the way of a linearization.
static void inputs_at_their_limit(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    opt.update = KD_UPDATE_EXTENDED;
    double   p[SPRINGS] = {0.5, 0.2, 0.1};
    refusals refused = {.input = 1e-6};
    fixture  f = open_refusing(&opt, p, &refused);
    assert_int_equal(f.dae->methods->linearize(f.dae->impl, 0, f.y, f.ydot, true), KD_OK);
    const kd_newton *newton = newton_of(f.dae);
    assert_close(entry(newton, newton->K, 0, 0), 2, 1e-6);
    refused.input = 0;
    assert_int_equal(f.dae->methods->update(f.dae->impl, 0.5, f.y, f.ydot), KD_OK);
    assert_close(entry(newton, newton->K, 0, 0), 2, 1e-6);
    close_fixture(&f);
}

// ---- motions --------------------------------------------------------------------------------------------------------

// With an estimated pattern the motion is that of the known one, also when a stiff stop wakes up in mid-run; the
// pattern grows on the way.
static void estimated_pattern_gives_the_same_motion(void **state)
{
    (void)state;
    double   end[3][2 * SPRINGS];
    refusals with_stop = {.stop = 1e6};
    long     changes = 0;
    for (int k = 0; k < 3; k++) {
        kd_simulation_options opt = kd_simulation_options_default();
        opt.integrator = KD_BDF;
        opt.formulation = KD_GGL;
        opt.rtol = opt.atol = 1e-7;
        if (k > 0) opt.formulation_options.derivatives = KD_DERIVATIVES_GROUPED;
        opt.formulation_options.estimated = k == 2;
        kd_eom   *eom = springs(&with_stop);
        kd_state *x;
        kd_stats  stats;
        char      message[600] = "";
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->p[0] = 0.2, x->v[0] = 2.5, x->p[1] = 0.9, x->p[2] = 0.3;
        if (kd_simulate(eom, &springs_inputs, &opt, x, 6, &stats, message, sizeof message) < 0) fail_msg("%s", message);
        memcpy(end[k], x->p, 2 * SPRINGS * sizeof(double));
        if (k == 2) changes = stats.pattern_changes;
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    for (int k = 1; k < 3; k++)
        for (int i = 0; i < 2 * SPRINGS; i++) assert_close(end[k][i], end[0][i], 2e-5);
    assert_true(changes > 0); // without the entries of the stop Newton's method would be slow
}

// Every strategy brings bdf and radau to the reference, in the residual and in the explicit form.
static void all_strategies_reach_the_reference(void **state)
{
    (void)state;
    const kd_example    *example = kd_gallery_find("caraxis");
    const kd_formulation forms[] = {KD_GGL, KD_ODASSL};
    for (int k = 0; k < 3 * 3 * 2 * 2 * 2; k++) {
        int                     q = k;
        kd_simulation_options   opt = kd_simulation_options_default();
        kd_formulation_options *o = &opt.formulation_options;
        o->derivatives = (kd_derivatives)(q % 3), q /= 3;
        o->update = (kd_update)(q % 3), q /= 3;
        o->explicit_form = q % 2, q /= 2;
        opt.formulation = forms[q % 2], q /= 2;
        opt.integrator = q % 2 ? KD_BDF : KD_RADAU;
        opt.rtol = opt.atol = 1e-7;
        kd_eom   *eom;
        kd_state *x;
        kd_inputs inputs = {0};
        kd_stats  stats;
        char      message[600] = "";
        assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
        kd_status status = kd_simulate(eom, &inputs, &opt, x, example->t_end, &stats, message, sizeof message);
        if (status < 0) fail_msg("%d: %s", k, message);
        for (int i = 0; i < kd_eom_dims(eom).np; i++) assert_close(x->p[i], example->reference[i], 2e-5);
        assert_true((stats.updates > 0) == (o->update != KD_UPDATE_FULL));
        assert_true((stats.for_differences > 0) == (o->derivatives != KD_DERIVATIVES_ANALYTIC));
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- structure ------------------------------------------------------------------------------------------------------

// The structure has the kinematic rows, the blocks have their sizes, groups are consistent.
static void structure_is_consistent(void **state)
{
    (void)state;
    kd_eom_def    def = whole();
    kd_eom       *eom = make(&def);
    kd_state     *x = state_at(eom, &whole_place);
    kd_dae       *dae = make_dae(eom, &whole_inputs, x, KD_GGL, NULL);
    kd_dims       d = kd_eom_dims(eom);
    kd_structure *s;
    assert_int_equal(kd_formulation_structure(dae, &s), KD_OK);
    int n = 2 * d.nv + d.nr + d.nw + d.ns + 2 * d.nlambda + d.nmu;
    assert_int_equal(s->pattern.rows, n);
    assert_int_equal(s->block_column[KD_STRUCTURE_BLOCKS], n);
    int *seen = calloc((size_t)(n * n), sizeof *seen), at = d.nv;
    for (int j = 0; j < n; j++)
        for (int k = s->pattern.column[j]; k < s->pattern.column[j + 1]; k++) {
            int group = s->group[j], row = s->pattern.row[k];
            if (j < d.nv && row == j) at--;
            if (group < 0 || row < d.nv) continue;
            assert_int_equal(seen[row + group * n]++, 0);
        }
    assert_int_equal(at, 0); // p' is in all kinematic rows
    assert_true(s->groups >= s->fullest_row);
    free(seen);
    kd_structure_destroy(s);
    kd_dae_destroy(dae);
    dae = make_dae(eom, &whole_inputs, x, KD_PSF1, NULL);
    assert_int_equal(kd_formulation_structure(dae, &s), KD_ERR_UNSUPPORTED);
    assert_null(s);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Entries of the Newton matrix of a rope whose joints have springs, in Cartesian coordinates
static int rope_entries(int n)
{
    char              text[600], message[400];
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_structure     *s;
    kd_system_options how = kd_system_options_default();
    how.coordinates = KD_CARTESIAN;
    snprintf(text, sizeof text,
             "kardan: 1\nbodies:\n  link(i): {for: i = 1..%d, position: [i - 0.5, 0, 0], mass: 1, inertia: [1, 1, 1]}\n"
             "joints:\n  hinge(1): {type: revolute, bodies: [ground, link(1)], point: [0, 0, 0], axis: [0, 1, 0]}\n"
             "  hinge(i): {for: i = 2..%d, type: revolute, bodies: [link(i-1), link(i)], point: [i - 1, 0, 0], axis: "
             "[0, 1, 0]}\nforces:\n  bend(i): {for: i = 1..%d, type: joint_spring, joint: hinge(i), stiffness: 10}\n",
             n, n, n);
    if (kd_model_read_text("rope", text, strlen(text), NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    if (kd_system_create(model, &how, &system, message, sizeof message) < 0) fail_msg("%s", message);
    const kd_eom *eom = kd_system_eom(system);
    assert_int_equal(kd_eom_definition(eom)->ncounted, n);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    kd_dae *dae = make_dae(eom, NULL, x, KD_GGL, NULL);
    assert_int_equal(kd_formulation_structure(dae, &s), KD_OK);
    const int entries = s->pattern.column[s->pattern.columns];
    kd_structure_destroy(s);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return entries;
}

// Angles that are counted read two bodies each and fill nothing: the matrix of a rope grows as the rope does.
static void counted_angles_fill_nothing(void **state)
{
    (void)state;
    const int few = rope_entries(10), many = rope_entries(40);
    assert_in_range(many, 3 * few, 5 * few);
}

// psf, psf1, ode and SVD have one way of derivatives; asking for another is refused in words.
static void strategies_are_refused_where_they_do_not_exist(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_PSF, KD_PSF1, KD_ODE, KD_GGL};
    kd_eom_def           def = whole();
    kd_eom              *eom = make(&def);
    kd_state            *x = state_at(eom, &whole_place);
    for (int k = 0; k < 12; k++) {
        kd_formulation_options opt = kd_formulation_options_default();
        char                   message[200] = "";
        kd_dae                *dae;
        if (k % 3 == 0) opt.derivatives = KD_DERIVATIVES_GROUPED;
        if (k % 3 == 1) opt.update = KD_UPDATE_PARTITIONED;
        if (k % 3 == 2) opt.explicit_form = true;
        if (forms[k / 3] == KD_GGL) opt.constraints = KD_DECOMPOSE_SVD;
        assert_int_equal(
            kd_formulation_create(eom, &whole_inputs, x, forms[k / 3], &opt, &dae, message, sizeof message),
            KD_ERR_UNSUPPORTED);
        assert_non_null(strstr(message, "use ggl"));
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitioned_update_takes_the_mass_matrix),
        cmocka_unit_test(extended_update_follows_the_inputs),
        cmocka_unit_test(second_derivatives_wait_for_inputs_that_move),
        cmocka_unit_test(extended_update_follows_the_drives),
        cmocka_unit_test(counted_angles_turn_nothing),
        cmocka_unit_test(estimated_pattern_grows),
        cmocka_unit_test(estimate_at_rest_knows_the_joints),
        cmocka_unit_test(interrupted_look_loses_nothing),
        cmocka_unit_test(growing_without_memory),
        cmocka_unit_test(creation_without_memory),
        cmocka_unit_test(inner_states_alone),
        cmocka_unit_test(inputs_at_their_limit),
        cmocka_unit_test(estimated_pattern_gives_the_same_motion),
        cmocka_unit_test(all_strategies_reach_the_reference),
        cmocka_unit_test(structure_is_consistent),
        cmocka_unit_test(counted_angles_fill_nothing),
        cmocka_unit_test(strategies_are_refused_where_they_do_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
